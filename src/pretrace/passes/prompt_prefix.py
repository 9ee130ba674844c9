"""The ids that a model reads before every text of a pass: the start token, then the
shots.

Xie et al., ReCaLL: Membership Inference via Relative Conditional Log-Likelihoods, EMNLP
2024.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import chain
from typing import Any

from pretrace.runtime.errors import InputError
from pretrace.runtime.logs import log
from pretrace.views.readings import SEPARATORS, START_TOKEN, Shots

Ids = tuple[int, ...]

NO_SHOT = "no shot of its prefix fits into the model's context"

_BORDERS = ("\n", "x", ".", "\t")
"""Texts that a shot may be put behind, so that it is tokenised as behind other text
where a tokenizer prepends a space: the first whose tokens stay as they are. Some
tokenizers have a token for several newlines."""


@dataclass(frozen=True)
class PromptPrefix:
    """The ids before a text; the same for all texts of a pass.

    start  ids of the start token, never scored
    shots  ids of each shot that is used, in order; None without a prefix
    inner  ids of the start token between prefix and text. They are scored, so each
           request's tokens begin with them
    """

    start: Ids = ()
    shots: tuple[Ids, ...] | None = None
    inner: Ids = ()

    @cached_property
    def parts(self) -> tuple[Ids, ...]:
        """Return the pieces that are encoded one after another; a prefix of fewer shots
        has the first of them."""
        return tuple(filter(None, (self.start, *(self.shots or ()))))

    @property
    def shots_used(self) -> int | None:
        return None if self.shots is None else len(self.shots)

    @cached_property
    def ids(self) -> Ids:
        return tuple(chain.from_iterable(self.parts))


def prompt_prefix_of(
    shots: Shots,
    start: Ids,
    *,
    tokenizer: Any,
    texts: Sequence[str],
    context: int | None,
    longest: int,
) -> PromptPrefix:
    """Return the ids of shots, given their `texts`; `longest`: tokens of the longest
    text that follows them.

    Each shot is tokenised separately, with the separator before it, and so is the text.
    If they were joined first, as in public code, a shot's last word and the next one's
    first could merge into one token; a prefix of more shots would then not begin with
    the text of fewer, and could not share its encoding. Draws cut shots between words,
    so tokenising them separately follows the borders of the texts.

    If a prefix and the longest text do not fit into the context, the first shots are
    dropped until they do. All texts of a pass have the same prefix, so their scores are
    comparable.
    """
    texts = list(texts)[: shots.count]
    inner = start if shots.inner_start else ()
    if shots.prefix.separator == START_TOKEN:
        encoded = _encode_with_end(texts, start, shots.prefix.name, tokenizer)
    else:
        encoded = _encode_suffixes(texts, SEPARATORS[shots.prefix.separator], tokenizer)
    room = math.inf if context is None else context
    for used in encoded:
        tokens = len(start) + len(inner) + sum(map(len, used)) + longest
        if tokens <= room:
            break
    if len(used) < len(texts):
        log.warning(
            "prefix '%s' (draw %s): %d of %d shots fit into the context of %s tokens "
            "beside texts of up to %d",
            shots.prefix.name,
            shots.draw,
            len(used),
            len(texts),
            context,
            longest,
        )
    return PromptPrefix(start, used, inner if used else ())


def _encode_with_end(
    texts: list[str], end: Ids, prefix: str, tokenizer: Any
) -> list[tuple[Ids, ...]]:
    """Return the same as `_encode_suffixes`, with `end`, which is never scored, after
    every shot."""
    if not end:
        raise InputError(
            f"prefix '{prefix}' puts the start token between shots, and the run has "
            "none: set start_token in the run, or choose another separator."
        )
    ids = []
    for shot in tokenizer(texts, add_special_tokens=False)["input_ids"]:
        ids.append((*shot, *end))
    return [tuple(ids[first:]) for first in range(len(ids) + 1)]


def _encode_suffixes(
    texts: list[str], separator: str, tokenizer: Any
) -> list[tuple[Ids, ...]]:
    """Return the token ids of every suffix of the shots, longest first.

    Tokenizers such as Llama's put a space before any text that they are given: only the
    first shot keeps it.
    """

    opening = _ids(texts, tokenizer)
    starts_alike = _ids(["x"], tokenizer) == _ids_behind_text(["x"], tokenizer)
    encoded = _ids if starts_alike else _ids_behind_text
    following = encoded([separator + text for text in texts], tokenizer)
    if separator == "\n":
        for before in ("", " "):
            if following == encoded([before + text for text in texts], tokenizer):
                raise InputError(
                    f"{tokenizer.name_or_path}: the tokenizer drops newlines, so that "
                    "separator: newline joins shots as another one does; choose "
                    "another separator."
                )
    suffixes = []
    for number, first in enumerate(opening, 1):
        suffixes.append((first, *following[number:]))
    return [*suffixes, ()]


def _ids(texts: list[str], tokenizer: Any) -> list[Ids]:
    encoded = tokenizer(
        texts, add_special_tokens=False, return_attention_mask=False, verbose=False
    )
    return [tuple(text) for text in encoded["input_ids"]]


def _ids_behind_text(texts: list[str], tokenizer: Any) -> list[Ids]:
    """Return the token ids that texts have behind other text."""
    for border in _BORDERS:
        [border_ids] = _ids([border], tokenizer)
        size = len(border_ids)
        joined = _ids([border + text for text in texts], tokenizer)
        if all(ids[:size] == border_ids for ids in joined):
            return [ids[size:] for ids in joined]
    raise InputError(
        f"{tokenizer.name_or_path}: the tokenizer joins shots with what is before "
        "them; choose another separator."
    )
