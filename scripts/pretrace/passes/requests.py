"""Pass requests -> parts of one subset and length -> exact requests, token by token, and their key."""

import hashlib
import json
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain, islice
from typing import TYPE_CHECKING, Any, Final, Literal, TypedDict

import numpy as np
import pandas as pd

from pretrace.benchmarks.sources import Part as BenchmarkPart
from pretrace.benchmarks.sources import chosen_parts
from pretrace.passes.prompt_prefix import PromptPrefix
from pretrace.runtime.errors import InputError
from pretrace.views.stored import StoredView, rendered_texts

if TYPE_CHECKING:
    from pretrace.models.api.target import ApiTarget
    from pretrace.models.target import Target

ENGINE_VERSION = 2  # raise when the same request would give other numbers: all is then computed again
_FULL = ("logprobs", "entropies", "variances", "highest", "ranks")
TOP = 40
"""Tokens whose probability together is the number `top40`."""
STATISTICS = {"logprobs": ("logprobs",), "full": _FULL, "top40": (*_FULL, "top40")}
"""The kinds of statistics, the smallest first -> the numbers that a pass stores for each token."""

PAST_CONTEXT: Final = "past_context"
"""The `windows` of a pass over what a plain pass cuts off: the tokens past the model's context, in stretches."""

WINDOW = 50_000  # requests that are alive at one time
Tokenized = tuple[str, int, np.ndarray]  # text id, variant, int32 token ids
_TOKENIZED_AT_ONCE = 2_000  # the tokenizer's own records take 20 times the room of the ids


class PassRequest(TypedDict):
    """The passes that a study asks for over a benchmark: how its texts are sent, and what is stored of each token.

    `altered`: the name of an altered form of the view's texts, or "". `prefix`: the name of a `views.prefixes.Prefix`,
    or "", with its draw and its number of shots. `windows`: tokens of the prefix, the suffix and the stride of an
    extraction; `PAST_CONTEXT`; or None for the texts from their beginning. `statistics`: a key of `STATISTICS`.
    `subsets`, `lengths`: None for every one.
    """

    view: str
    altered: str
    prefix: str
    draw: int | None
    shots: int | None
    start_token: str
    inner_start: bool
    windows: list[int] | Literal["past_context"] | None
    statistics: str
    subsets: list[str] | None
    lengths: list[int] | None


_ASKED = ("view", "altered", "prefix", "draw", "shots", "start_token", "inner_start", "windows")
COORDINATES = (*_ASKED, "subset", "length")


@dataclass(frozen=True, slots=True)
class Part:
    """The texts of one subset and length under one request: an entry of the manifest, a file of the store."""

    coordinates: dict[str, Any]
    statistics: str
    text_ids: list[str]
    texts: list[str]
    views: Mapping[str, StoredView]

    @property
    def sent_texts(self) -> tuple[str, str, str, int | None]:
        """How texts are sent: view, altered, subset and length."""
        at = self.coordinates
        return at["view"], at["altered"], at["subset"], at["length"]

    @property
    def name(self) -> str:
        """As in a log: `lowercase(original), start token <s>, main, 64 words`."""
        at = self.coordinates
        parts = [f"{at['altered']}({at['view']})" if at["altered"] else at["view"]]
        if at["prefix"]:
            parts.append(f"{at['shots']} shots of {at['prefix']}, draw {at['draw']}")
        inner = ", again before the text" if at["inner_start"] else ""
        parts.append(f"start token {at['start_token']}{inner}")
        parts += [_windows_name(at["windows"])] if at["windows"] else []
        parts += [at["subset"]] if at["subset"] else []
        parts += [] if at["length"] is None else [f"{at['length']} words"]
        return ", ".join(parts)


def _windows_name(cut: list[int] | str) -> str:
    return "past the context" if isinstance(cut, str) else f"windows of {cut[0]} + {cut[1]} tokens"


@dataclass(frozen=True, slots=True)
class Request:
    """One text as the model is asked.

    tokens     int32, all ids after the prompt prefix: its inner start token, if any, then the text's tokens,
               cut to the context; or the ids of one window or stretch, `variant` the place of the first scored one
    n_tokens   of the text, before it was cut
    given      of `tokens`, how many at the beginning are only read: the prefix of a window or stretch
    """

    text_id: str
    variant: int
    tokens: np.ndarray
    n_tokens: int
    truncated: bool = False
    given: int = 0

    def scored(self, prompt_prefix: PromptPrefix) -> np.ndarray:
        """The tokens with a probability: all after a prompt prefix, otherwise all but the first; a window's suffix."""
        return self.tokens[max(self.given, 0 if prompt_prefix.ids else 1) :]

    def skipped(self, prompt_prefix: PromptPrefix) -> str | None:
        """Why there is nothing to score, or None."""
        if self.n_tokens == 0:
            return "no tokens"
        return "one token and no start token" if len(self.scored(prompt_prefix)) == 0 else None


Evaluated = Callable[[int], Collection[str]]
"""Draw -> the ids of the texts that it is evaluated on."""


def expand(
    requests: Sequence[PassRequest],
    benchmark: pd.DataFrame,
    views: Mapping[str, StoredView],
    evaluated: Evaluated | None = None,
) -> list[Part]:
    """One part a request, subset and length, sorted; where two differ in statistics alone, the one with most.

    After a prefix there are log-probabilities alone, whatever the request says: no method reads more. Only the texts
    that its draw is evaluated on are read after a prefix (`evaluated` None: all of them).
    """
    groups = _groups(benchmark)
    after_prefix: dict[int | None, dict[BenchmarkPart, tuple[list[str], list[str]]]] = {
        draw: _groups(benchmark[benchmark["text_id"].isin(set(evaluated(draw)))])
        for draw in {request["draw"] for request in requests if request["prefix"]}
        if evaluated is not None and draw is not None
    }
    parts: dict[str, Part] = {}
    for request in requests:
        asked: Mapping[str, Any] = request
        read = after_prefix.get(request["draw"], groups) if request["prefix"] else groups
        for subset, length in chosen_parts(groups, request):
            if (subset, length) not in read:
                continue
            at = {**{key: asked[key] for key in _ASKED}, "subset": subset, "length": length}
            place = json.dumps(at)
            statistics = "logprobs" if request["prefix"] else request["statistics"]
            if place not in parts or len(STATISTICS[statistics]) > len(STATISTICS[parts[place].statistics]):
                parts[place] = Part(at, statistics, *read[subset, length], views)

    def order(part: Part) -> list[tuple[bool, Any]]:
        return [(part.coordinates[key] is not None, part.coordinates[key]) for key in COORDINATES]

    return sorted(parts.values(), key=order)


def _groups(benchmark: pd.DataFrame) -> dict[BenchmarkPart, tuple[list[str], list[str]]]:
    """(subset, length) -> text ids in order, and their texts."""
    ordered = benchmark.sort_values("text_id")
    lengths = ordered["length"].astype("Int64").astype(object).where(ordered["length"].notna(), None)
    groups: dict[BenchmarkPart, tuple[list[str], list[str]]] = {}
    for text_id, text, subset, length in zip(
        ordered["text_id"], ordered["text"], ordered["subset"], lengths, strict=True
    ):
        ids, texts = groups.setdefault((subset, length), ([], []))
        ids.append(text_id)
        texts.append(text)
    return groups


class Texts:
    """The texts of parts, tokenised: (text id, variant, token ids), without special tokens.

    The last part's are kept, up to a window: parts that differ only in the prompt prefix should follow each
    other.
    """

    def __init__(self, tokenizer: Any) -> None:
        self._tokenizer = tokenizer
        self._kept: tuple[Any, list[Tokenized]] = (None, [])

    def of(self, part: Part) -> Iterator[Tokenized]:
        at = part.sent_texts
        asked = at, part.text_ids
        if self._kept[0] == asked:
            return iter(self._kept[1])
        self._kept = (None, [])
        sending = rendered_texts(part.text_ids, part.texts, view=at[0], altered=at[1], stored=part.views)
        encoded = self._encoded(sending)
        first = list(islice(encoded, WINDOW + 1))
        if len(first) <= WINDOW:
            self._kept = (asked, first)
        return chain(first, encoded)

    def _encoded(self, texts: Iterable[tuple[str, int, str]]) -> Iterator[Tokenized]:
        texts = iter(texts)
        while some := list(islice(texts, _TOKENIZED_AT_ONCE)):
            encoded = self._tokenizer(
                [text for _, _, text in some],
                add_special_tokens=False,
                return_attention_mask=False,
                return_token_type_ids=False,
                verbose=False,
            )["input_ids"]
            for (text_id, variant, _), ids in zip(some, encoded, strict=True):
                yield text_id, variant, np.asarray(ids, dtype=np.int32)


def windows(
    part: Part, texts: Texts, prompt_prefix: PromptPrefix, *, context: int | None, size: int = WINDOW
) -> Iterator[list[Request]]:
    """The part's exact requests, by text id and variant, at most `size` of them alive at a time.

    Raises `InputError` where the windows of a text are longer than the context.
    """
    room = None if context is None else context - len(prompt_prefix.ids) - len(prompt_prefix.inner)
    asked: Iterator[Request]
    cut = part.coordinates["windows"]
    if cut == PAST_CONTEXT:
        asked = chain.from_iterable(_stretches(*one, room) for one in texts.of(part))
    elif cut:
        if context is not None and sum(cut[:2]) > context:
            raise InputError(
                f"extraction: prefix and suffix are {sum(cut[:2])} tokens, and the model reads {context} at most."
            )
        every = (_windows(*one, cut, len(prompt_prefix.ids)) for one in texts.of(part))
        asked = chain.from_iterable(every)
    else:
        asked = (_request(*one, prompt_prefix.inner, room) for one in texts.of(part))
    while window := list(islice(asked, size)):
        yield window
        del window  # the next is made only when the last is gone: here, and where windows are used


def _request(
    text_id: str, variant: int, ids: np.ndarray, inner: tuple[int, ...], room: int | None
) -> Request:
    kept = ids[:room]
    tokens = np.concatenate([np.asarray(inner, dtype=np.int32), kept]) if inner and len(ids) else kept
    return Request(text_id, variant, tokens, len(ids), len(kept) < len(ids))


def _windows(text_id: str, _: int, ids: np.ndarray, cut: Sequence[int], before: int) -> Iterator[Request]:
    """Windows of a text that begin every `stride` tokens: the suffix is scored after the prefix alone.

    `cut` is prefix, suffix and stride in tokens. The `before` start tokens count among the prefix, as in
    github.com/pasta41/book-extraction-science. A window that the text ends in is left out.
    """
    prefix, suffix, stride = cut
    given = prefix - before
    for at in range(given, len(ids) - suffix + 1, stride):
        yield Request(text_id, at, ids[at - given : at + suffix], len(ids), given=given)


def _stretches(text_id: str, _: int, ids: np.ndarray, room: int | None) -> Iterator[Request]:
    """What a text has past the first `room` tokens, in stretches of `room` tokens at most.

    The first half of a stretch is only read, so that every token has at least half the context before it.
    """
    if room is None:
        return
    given = room // 2
    for at in range(room, len(ids), room - given):
        tokens = ids[at - given : at - given + room]
        yield Request(text_id, at, tokens, len(ids), given=given)


def longest_text(part: Part, texts: Texts) -> int:
    """Tokens of the part's longest text, before it is cut."""
    return max((len(ids) for _, _, ids in texts.of(part)), default=0)


def key_of(
    part: Part,
    asked: Iterable[list[Request]],
    *,
    target: "Target | ApiTarget",
    prompt_prefix: PromptPrefix,
    batch_tokens: int,
    threads: int,
) -> tuple[str, int]:
    """The key, hex SHA-256 of all that the numbers depend on, and how many requests it stands for.

    The token budget and the threads count below float32 only, where a number depends on its batch and on the
    order of a sum.
    """
    how = {
        "engine": ENGINE_VERSION,
        "checkpoint": target.digest,
        "dtype": target.dtype,
        "batches": None if target.dtype == "float32" else [batch_tokens, threads],
        "statistics": part.statistics,
        "start": prompt_prefix.start,
        "shots": prompt_prefix.shots,
        "inner": prompt_prefix.inner,
    }
    if cut := part.coordinates["windows"]:
        how["windows"] = [cut, target.context] if cut == PAST_CONTEXT else cut
    count = 0
    hasher = hashlib.sha256(json.dumps(how, sort_keys=True).encode())
    for window in asked:
        count += len(window)
        for request in window:
            about = (request.text_id, request.variant, request.n_tokens, len(request.tokens))
            hasher.update(json.dumps(about).encode() + request.tokens.astype("<i4").tobytes())
        del window, request
    return hasher.hexdigest(), count
