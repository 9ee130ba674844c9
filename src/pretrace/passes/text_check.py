"""What a tokenizer makes of a study's texts: characters it loses, special tokens that
texts spell, another reading."""

import unicodedata
from collections import Counter
from collections.abc import Collection, Iterable, Sequence
from typing import TYPE_CHECKING, Any

from pretrace.models.tokens import (
    bos_contradiction,
    decoder_of,
    special_tokens_in,
    start_in_words,
    witness_of,
)
from pretrace.runtime.errors import InputError

if TYPE_CHECKING:
    from pretrace.models.api.target import ApiTarget
    from pretrace.models.target import Target

MOST_LOST = 0.1
"""The share of a text's characters that a tokenizer may lose, and the share of such
texts that a pass may have."""
_NAMED = 3  # texts that a remark names
_NO_LETTERS = {"Mn", "Cc", "Cf", "Zs", "Zl", "Zp"}
"""Accents, control characters and white space, which tokenizers normalise."""


class TextCheck:
    """Collects what is remarkable about texts while they are encoded."""

    def __init__(self, target: "Target | ApiTarget") -> None:
        self._tokenizer = target.tokenizer
        self._vocabulary = target.vocabulary
        self._lost: dict[str, float] = {}
        """Text id -> share of its characters that no token holds."""
        self._unknown: Counter[str] = Counter()
        """Text id -> its unknown tokens."""
        self._changed: dict[str, None] = {}
        self._special: dict[str, str] = {}
        """Text id -> a special token that it spells."""
        self._witness, self._unwitnessed = witness_of(
            target.checkpoint, self._tokenizer, target.tokenizer_from
        )
        self._decoded = decoder_of(self._tokenizer)
        self._spelled = special_tokens_in(self._tokenizer)
        self._unknown_id = _unknown_id(self._tokenizer)

    def __call__(
        self, texts: Sequence[tuple[str, int, str]], encoded: Sequence[Sequence[int]]
    ) -> None:
        """Take note of texts (id, variant, text) and their token ids.

        Raises `InputError` for a text with a token that the model has no place for, and
        for one that the class which the checkpoint names would read differently.
        """
        self._compare(texts, encoded)
        all_decoded = self._decoded(encoded)
        for (text_id, _, text), ids, decoded in zip(
            texts, encoded, all_decoded, strict=True
        ):
            if ids and max(ids) >= self._vocabulary:
                token = self._tokenizer.convert_ids_to_tokens(max(ids))
                raise InputError(
                    f"text '{text_id}' holds '{token}', token {max(ids)} of the "
                    f"tokenizer, and the model's vocabulary has {self._vocabulary}: it "
                    "was added to the tokenizer alone. Set special_tokens: as_spelled "
                    "in the model's entry, remove the token from tokenizer.json, or "
                    "leave out the text."
                )
            spelled = self._spelled(text)
            if spelled:
                self._special[text_id] = spelled[0]
            if decoded != text:
                self._take_note(text_id, text, ids, decoded)

    def _take_note(
        self, text_id: str, text: str, ids: Sequence[int], decoded: str
    ) -> None:
        unknown = sum(id == self._unknown_id for id in ids)
        if unknown:
            self._unknown[text_id] = max(unknown, self._unknown[text_id])
        lost = self._lost_letters(text, ids).total()
        if lost:
            share = lost / _letters(text).total()
            self._lost[text_id] = max(share, self._lost.get(text_id, 0))
        elif _canonical(text) != _canonical(decoded):
            self._changed[text_id] = None

    def _lost_letters(self, text: str, ids: Sequence[int]) -> Counter[str]:
        """Count the letters of a text that no token covers but an unknown one.

        Decoding would not do: a tokenizer that loses nothing may have no decoder, or
        half of one.
        """
        backend = getattr(self._tokenizer, "backend_tokenizer", None)
        if backend is None:
            [decoded] = self._decoded([[id for id in ids if id != self._unknown_id]])
            return _letters(text) - _letters(decoded)
        encoding = backend.encode(text, add_special_tokens=False)
        is_covered = [False] * len(text)
        for id, (start, stop) in zip(encoding.ids, encoding.offsets, strict=True):
            if id != self._unknown_id:
                is_covered[start:stop] = [True] * (stop - start)
        uncovered = []
        for character, covered in zip(text, is_covered, strict=False):
            if not covered:
                uncovered.append(character)
        return _letters("".join(uncovered))

    def _compare(
        self, texts: Sequence[tuple[str, int, str]], encoded: Sequence[Sequence[int]]
    ) -> None:
        if self._witness is None:
            return
        others = self._witness.encode([text for _, _, text in texts])
        for (text_id, _, _), ids, other in zip(texts, encoded, others, strict=True):
            if list(ids) == list(other):
                continue
            place = _first_difference(ids, other)
            few = slice(place, place + 5)
            ours = self._tokenizer.convert_ids_to_tokens(list(ids[few]))
            theirs = self._witness.pieces(list(other[few]))
            raise InputError(
                f"{self._tokenizer.name_or_path}: text '{text_id}' has {len(ids)} "
                f"tokens by its tokenizer's file and {len(other)} by "
                f"{self._witness.name}; from token {place + 1} on "
                f"{' '.join(map(str, ours))} ... and {' '.join(map(str, theirs))} ... "
                f"{self._witness.remedy}"
            )

    def refuse(self, text_ids: Collection[str]) -> None:
        """Raise `InputError` if the model cannot read many of the texts of a pass."""
        unreadable = [id for id in text_ids if self._lost.get(id, 0) > MOST_LOST]
        if len(unreadable) > MOST_LOST * len(text_ids):
            raise InputError(
                f"{self._tokenizer.name_or_path}: the tokenizer does not know or drops "
                f"more than {MOST_LOST:.0%} of the characters of "
                f"{_name_texts(unreadable)}, {len(unreadable)} of {len(text_ids)}, "
                "whose scores would be about other texts. Leave them out, or choose a "
                "model that reads their script."
            )

    def facts(self, start_tokens: Iterable[str]) -> dict[str, Any]:
        """Return how texts were read, for the manifest: the start token of each run in
        words, and remarks."""
        starts = {}
        for name in sorted(set(start_tokens)):
            starts[name] = start_in_words(self._tokenizer, name)
        return {"starts": starts, "remarks": list(self._remarks(starts))}

    def _remarks(self, starts: Collection[str]) -> Iterable[str]:
        if self._unwitnessed:
            yield self._unwitnessed
        if "tokenizer" in starts:
            contradiction = bos_contradiction(self._tokenizer)
            if contradiction:
                yield contradiction
        if self._lost:
            worst = max(self._lost, key=lambda id: (self._lost[id], id))
            yield (
                "characters that the tokenizer does not know or drops in "
                f"{_name_texts(self._lost)}; unknown tokens: {self._unknown.total()}; "
                f"most in '{worst}', {self._lost[worst]:.0%} of its characters"
            )
        if self._changed:
            yield (
                "white space, case or letters that the tokenizer changes in "
                f"{_name_texts(self._changed)}"
            )
        if self._special:
            is_split = self._tokenizer.split_special_tokens
            way = "as they are spelled" if is_split else "as control tokens"
            first = next(iter(self._special.values()))
            yield (
                f"special tokens such as {first} in {_name_texts(self._special)}, read "
                f"{way}"
            )


def _first_difference(ids: Sequence[int], others: Sequence[int]) -> int:
    """Return the first place where two texts' ids differ; 0 if one only goes on."""
    for place, (id, other) in enumerate(zip(ids, others, strict=False)):
        if id != other:
            return place
    return 0


def _name_texts(text_ids: Collection[str]) -> str:
    """Return `3 texts ('a', 'b', 'c')`, the first few of them named."""
    names = ", ".join(f"'{id}'" for id in list(text_ids)[:_NAMED])
    more = ", ..." if len(text_ids) > _NAMED else ""
    return f"{len(text_ids)} text{'s' * (len(text_ids) != 1)} ({names}{more})"


def _unknown_id(tokenizer: Any) -> int | None:
    """Return the id for what the vocabulary lacks; None if nothing stands for it,
    though an end token may be named."""
    backend = getattr(tokenizer, "backend_tokenizer", None)
    if backend is None or not hasattr(backend.model, "unk_token"):
        ends = tokenizer.unk_token in (tokenizer.bos_token, tokenizer.eos_token)
        return None if ends else tokenizer.unk_token_id
    unknown = backend.model.unk_token
    return None if unknown is None else backend.token_to_id(unknown)


def _letters(text: str) -> Counter[str]:
    """Count a text's characters without case, accents and white space, so that only
    lost ones differ."""
    letters = unicodedata.normalize("NFKD", text.casefold())
    return Counter(
        letter for letter in letters if unicodedata.category(letter) not in _NO_LETTERS
    )


def _canonical(text: str) -> str:
    return unicodedata.normalize("NFC", text).strip()
