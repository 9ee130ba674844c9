"""Pass requests -> passes over slices -> chunks of exact requests, token by token, and
the chunks' keys."""

import hashlib
import json
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from itertools import chain, islice
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import pandas as pd

from pretrace.benchmarks.subsets_and_lengths import Slice, chosen_slices, slices_of
from pretrace.passes.prompt_prefix import NO_SHOT, PromptPrefix
from pretrace.views.readings import PassKey, PassRequest
from pretrace.views.stored import ViewTexts, rendered_texts

if TYPE_CHECKING:
    from pretrace.models.api.target import ApiTarget
    from pretrace.models.target import Target

# raise when the same request would give other numbers: all is then computed again
ENGINE_VERSION = 6
# raise when it would below float32 on a GPU alone, as with another kernel
GPU_VERSION = 1
BATCH_TOKENS = {"cuda": 8192}
"""Device -> tokens of a batch where none are set: fewer leave a GPU waiting. A CPU's
other batches fit its cache."""
_BATCH_TOKENS_ELSEWHERE = 2048
_FULL = ("logprobs", "entropies", "variances", "highest", "ranks")
TOP = 40
"""Tokens whose probability together is the number `top40`."""
TOKEN_STATISTICS = {
    "logprobs": ("logprobs",),
    "likeliest": ("logprobs", "highest", "ranks", "top40"),
    "full": _FULL,
    "top40": (*_FULL, "top40"),
}
"""The kinds of statistics, the smallest first -> the numbers that a pass stores for
each token; `likeliest` is what a server can give that returns the 40 likeliest
tokens."""

CHUNK_TOKENS = 1 << 18
"""Tokens of a chunk: a killed job loses at most one, which takes seconds on a GPU and
minutes on a CPU. It is 32 full batches of a GPU, so that the last and smaller one costs
little."""

Check = Callable[[Sequence[tuple[str, int, str]], Sequence[Sequence[int]]], None]
_TEXTS_KEPT = 50_000  # tokenised texts that are kept for the next pass over them
# the tokenizer's own records take 20 times the room of the ids
_TOKENIZED_AT_ONCE = 2_000


class Tokenized(NamedTuple):
    """A text's int32 token `ids`, all of them, without special tokens."""

    text_id: str
    variant: int
    ids: np.ndarray


@dataclass(frozen=True, slots=True)
class Pass:
    """A reading of the texts of a slice: a row of the manifest. `views`: the stored
    views."""

    key: PassKey
    statistics: str
    text_ids: list[str]
    texts: list[str]
    views: Mapping[str, ViewTexts]

    @property
    def sent_texts(self) -> tuple[str, str, Slice]:
        """Return the key of the texts that are sent: view, altered form and slice."""
        return self.key.reading.view, self.key.reading.altered, self.key.slice

    @property
    def numbers(self) -> int:
        """Return how many numbers are stored for each token."""
        return len(TOKEN_STATISTICS[self.statistics])


@dataclass(frozen=True, slots=True)
class Request:
    """One text as the model is asked.

    tokens     int32, all ids after the prompt prefix: its inner start token, if any,
               then the text's tokens, cut to the context; or the ids of one stretch,
               `variant` the place of the first scored one
    n_tokens   of the text, before it was cut
    given      of `tokens`, how many at the beginning of a stretch are only read
    """

    text_id: str
    variant: int
    tokens: np.ndarray
    n_tokens: int
    truncated: bool = False
    given: int = 0

    def scored_tokens(self, prompt_prefix: PromptPrefix) -> np.ndarray:
        """Return the tokens with a probability: all after a prompt prefix, else all but
        the first; or a stretch's second half.

        None after a prefix that lost all its shots.
        """
        if prompt_prefix.shots_used == 0:
            return self.tokens[:0]
        unpredicted = 0 if prompt_prefix.ids else 1
        return self.tokens[max(self.given, unpredicted) :]

    def skip_reason(self, prompt_prefix: PromptPrefix) -> str | None:
        """Return why no token is scored, or None."""
        if self.n_tokens == 0:
            return "no tokens"
        if prompt_prefix.shots_used == 0:
            return NO_SHOT
        if len(self.scored_tokens(prompt_prefix)) == 0:
            return "one token and no start token"
        return None


Evaluated = Callable[[int], Collection[str]]
"""Draw -> the ids of the texts that it is evaluated on."""


def passes_of(
    requests: Sequence[PassRequest],
    benchmark: pd.DataFrame,
    views: Mapping[str, ViewTexts],
    evaluated: Evaluated | None = None,
) -> list[Pass]:
    """Return one pass for each reading and slice, sorted; of two that differ in
    statistics, the one with more.

    A pass after a prefix has log-probabilities alone, whatever the request says: no
    method reads more. Only the texts that its draw is evaluated on are read after a
    prefix (`evaluated` None: all of them).
    """
    all_texts = _by_slice(benchmark)

    @cache
    def texts_of_draw(draw: int) -> dict[Slice, "_SliceTexts"]:
        if evaluated is None:
            return all_texts
        is_evaluated = benchmark["text_id"].isin(set(evaluated(draw)))
        return _by_slice(benchmark[is_evaluated])

    passes: dict[PassKey, Pass] = {}
    for request in requests:
        statistics = request.statistics
        texts = all_texts
        if request.reading.shots:
            statistics = "logprobs"
            texts = texts_of_draw(request.reading.shots.draw)
        for slice in chosen_slices(all_texts, request.subsets, request.lengths):
            if slice not in texts:
                continue
            key = PassKey(request.reading, slice)
            numbers = len(TOKEN_STATISTICS[statistics])
            if key not in passes or numbers > passes[key].numbers:
                own = texts[slice]
                passes[key] = Pass(key, statistics, own.text_ids, own.texts, views)

    def order(key: PassKey) -> list[tuple[bool, Any]]:
        return [(value is not None, value) for value in key.to_json().values()]

    return [passes[key] for key in sorted(passes, key=order)]


class _SliceTexts(NamedTuple):
    """The texts of a slice, sorted by id; passes over it share these lists."""

    text_ids: list[str]
    texts: list[str]


def _by_slice(benchmark: pd.DataFrame) -> dict[Slice, _SliceTexts]:
    ordered = benchmark.sort_values("text_id")
    texts = {}
    for slice in slices_of(benchmark):
        rows = ordered[slice.rows(ordered)]
        texts[slice] = _SliceTexts(rows["text_id"].tolist(), rows["text"].tolist())
    return texts


class TokenisedTexts:
    """The texts of passes, tokenised.

    The last pass's are kept, up to `_TEXTS_KEPT`: passes that differ only in the prompt
    prefix should follow each other. `check` is called with the texts of each view and
    slice, and their ids, when they are read first.
    """

    def __init__(self, tokenizer: Any, check: Check) -> None:
        self._tokenizer = tokenizer
        self._check = check
        self._checked: set[Any] = set()
        self._kept_key: Any = None
        self._kept: list[Tokenized] = []

    def of(self, read: Pass) -> Iterator[Tokenized]:
        """Yield the texts of the pass in its order."""
        key = read.sent_texts, read.text_ids
        if self._kept_key == key:
            return iter(self._kept)
        self._kept_key = None
        self._kept = []
        # after a prefix there may be fewer texts
        part = read.sent_texts, len(read.text_ids)
        view, altered, _ = read.sent_texts
        texts = rendered_texts(
            read.text_ids, read.texts, view=view, altered=altered, stored=read.views
        )
        check = None if part in self._checked else self._check
        encoded = self._encoded(texts, check)
        self._checked.add(part)
        first = list(islice(encoded, _TEXTS_KEPT + 1))
        if len(first) <= _TEXTS_KEPT:
            self._kept_key = key
            self._kept = first
        return chain(first, encoded)

    def _encoded(
        self, texts: Iterator[tuple[str, int, str]], check: Check | None
    ) -> Iterator[Tokenized]:
        while some := list(islice(texts, _TOKENIZED_AT_ONCE)):
            # no name holds the tokenizer's records, which are freed at once
            encoded = self._tokenizer(
                [text for _, _, text in some],
                add_special_tokens=False,
                return_attention_mask=False,
                return_token_type_ids=False,
                verbose=False,
            )["input_ids"]
            if check:
                check(some, encoded)
            for (text_id, variant, _), ids in zip(some, encoded, strict=True):
                yield Tokenized(text_id, variant, np.asarray(ids, dtype=np.int32))


def chunks_of(
    read: Pass,
    texts: TokenisedTexts,
    prompt_prefix: PromptPrefix,
    context: int | None,
    tokens: int,
) -> Iterator[list[Request]]:
    """Yield the pass's exact requests, by text id and variant, in chunks of at most
    `tokens` tokens.

    Each request counts as one token more. A chunk is as long as it can be; a longer
    request is a chunk alone. So a text that is added at the end changes the last chunk,
    and any other change those behind it, too.
    """
    chunk: list[Request] = []
    size = 0
    for request in _requests(read, texts.of(read), prompt_prefix, context):
        cost = 1 + len(request.tokens)
        if chunk and size + cost > tokens:
            yield chunk
            chunk = []
            size = 0
        chunk.append(request)
        size += cost
        # of a million texts only two chunks' are alive: this one, and the caller's last
        del request
    if chunk:
        yield chunk


def batch_tokens_of(batch_tokens: int | str, device: str) -> int:
    """Return the token budget of batches on a `device` (cuda, cuda:N, cpu, api) for the
    key `batch_tokens`."""
    if isinstance(batch_tokens, int):
        return batch_tokens
    return BATCH_TOKENS.get(device.partition(":")[0], _BATCH_TOKENS_ELSEWHERE)


def gpu_version_of(target: "Target | ApiTarget") -> int | None:
    """Return the version of what GPUs compute; None where it makes no difference that
    shows: on a CPU, in float32."""
    is_narrow_on_gpu = target.device.startswith("cuda") and target.dtype != "float32"
    return GPU_VERSION if is_narrow_on_gpu else None


def engine_of(target: "Target | ApiTarget") -> int | str:
    """Return the engine's version, as manifests and keys have it."""
    gpu_version = gpu_version_of(target)
    if gpu_version is None:
        return ENGINE_VERSION
    return f"{ENGINE_VERSION}, GPU {gpu_version}"


def chunk_key(
    chunk: Iterable[Request],
    read: Pass,
    prompt_prefix: PromptPrefix,
    *,
    target: "Target | ApiTarget",
    batch_tokens: int,
    threads: int,
) -> str:
    """Return the name of a chunk's file: hex SHA-256 of its requests, and of all that
    their numbers depend on.

    The ids of the texts count, because the file has them. The token budget and the
    threads count below float32 only, where a number depends on its batch and on the
    order of a sum.
    """
    is_exact = target.dtype == "float32"
    how: dict[str, Any] = {
        "engine": engine_of(target),
        "checkpoint": target.digest,
        "dtype": target.dtype,
        "batches": None if is_exact else [batch_tokens, threads],
        "statistics": read.statistics,
        "start": prompt_prefix.start,
        "shots": prompt_prefix.shots,
        "inner": prompt_prefix.inner,
    }
    # other numbers than in batches, which earlier versions stored
    if target.reads_alone:
        how["alone"] = True
    if read.key.reading.past_context:
        how["windows"] = ["past_context", target.context]
    hasher = hashlib.sha256(json.dumps(how, sort_keys=True).encode())
    for request in chunk:
        size = len(request.tokens)
        about = (request.text_id, request.variant, request.n_tokens, size)
        hasher.update(json.dumps(about).encode())
        hasher.update(request.tokens.astype("<i4").tobytes())
    return hasher.hexdigest()


def _requests(
    read: Pass,
    texts: Iterable[Tokenized],
    prompt_prefix: PromptPrefix,
    context: int | None,
) -> Iterator[Request]:
    room = None
    if context is not None:
        room = context - len(prompt_prefix.ids) - len(prompt_prefix.inner)
    for text in texts:
        if read.key.reading.past_context:
            yield from _stretches(text, room)
        else:
            yield _request(text, prompt_prefix.inner, room)


def _request(text: Tokenized, inner: tuple[int, ...], room: int | None) -> Request:
    n_tokens = len(text.ids)
    tokens = text.ids[:room]
    is_cut = len(tokens) < n_tokens
    if inner and n_tokens:
        tokens = np.concatenate([np.asarray(inner, dtype=np.int32), tokens])
    return Request(text.text_id, text.variant, tokens, n_tokens, is_cut)


def _stretches(text: Tokenized, room: int | None) -> Iterator[Request]:
    """Yield what a text has past the first `room` tokens, in stretches of `room` tokens
    at most.

    The first half of a stretch is only read, so that every token has at least half the
    context before it.
    """
    if room is None:
        return
    n_tokens = len(text.ids)
    given = room // 2
    for place in range(room, n_tokens, room - given):
        first = place - given
        tokens = text.ids[first : first + room]
        yield Request(text.text_id, place, tokens, n_tokens, given=given)


def longest_text(read: Pass, texts: TokenisedTexts) -> int:
    """Return the number of tokens of the pass's longest text, before it is cut."""
    return max((len(text.ids) for text in texts.of(read)), default=0)
