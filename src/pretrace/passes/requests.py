"""Pass requests -> passes over slices -> chunks of exact requests, token by token, and
the chunks' keys."""

import hashlib
import json
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain, islice
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from pretrace.benchmarks.slices import Slice, chosen_slices, slices_of
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
Tokenized = tuple[str, int, np.ndarray]  # text id, variant, int32 token ids
_TEXTS_KEPT = 50_000  # tokenised texts that are kept for the next pass over them
# the tokenizer's own records take 20 times the room of the ids
_TOKENIZED_AT_ONCE = 2_000


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
        return self.tokens[max(self.given, 0 if prompt_prefix.ids else 1) :]

    def skip_reason(self, prompt_prefix: PromptPrefix) -> str | None:
        """Return why no token is scored, or None."""
        if self.n_tokens == 0:
            return "no tokens"
        if prompt_prefix.shots_used == 0:
            return NO_SHOT
        return (
            "one token and no start token"
            if len(self.scored_tokens(prompt_prefix)) == 0
            else None
        )


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
    every = _by_slice(benchmark)
    of_draws: dict[int, dict[Slice, tuple[list[str], list[str]]]] = {}
    passes: dict[PassKey, Pass] = {}
    for request in requests:
        shots = request.reading.shots
        texts, statistics = every, request.statistics
        if shots:
            statistics = "logprobs"
        if shots and evaluated is not None:
            if shots.draw not in of_draws:
                is_evaluated = benchmark["text_id"].isin(set(evaluated(shots.draw)))
                of_draws[shots.draw] = _by_slice(benchmark[is_evaluated])
            texts = of_draws[shots.draw]
        for slice in chosen_slices(every, request.subsets, request.lengths):
            key = PassKey(request.reading, slice)
            stored = 0
            if key in passes:
                stored = len(TOKEN_STATISTICS[passes[key].statistics])
            if slice in texts and len(TOKEN_STATISTICS[statistics]) > stored:
                passes[key] = Pass(key, statistics, *texts[slice], views)

    def order(key: PassKey) -> list[tuple[bool, Any]]:
        return [(value is not None, value) for value in key.to_json().values()]

    return [passes[key] for key in sorted(passes, key=order)]


def _by_slice(benchmark: pd.DataFrame) -> dict[Slice, tuple[list[str], list[str]]]:
    """Return slice -> text ids in order, and their texts."""
    ordered = benchmark.sort_values("text_id")
    texts = {}
    for slice in slices_of(benchmark):
        frame = ordered[slice.rows(ordered)]
        texts[slice] = frame["text_id"].tolist(), frame["text"].tolist()
    return texts


class TokenisedTexts:
    """The texts of passes, tokenised: (text id, variant, token ids), without special
    tokens.

    The last pass's are kept, up to `_TEXTS_KEPT`: passes that differ only in the prompt
    prefix should follow each other. `check` is called with the texts of each view and
    slice, and their ids, when they are read first.
    """

    def __init__(self, tokenizer: Any, check: Check | None = None) -> None:
        self._tokenizer, self._check = tokenizer, check
        self._checked: set[Any] = set()
        self._kept: tuple[Any, list[Tokenized]] = (None, [])

    def of(self, read: Pass) -> Iterator[Tokenized]:
        """Yield the texts of the pass in its order."""
        key = read.sent_texts, read.text_ids
        if self._kept[0] == key:
            return iter(self._kept[1])
        self._kept = (None, [])
        # after a prefix there may be fewer texts
        part = read.sent_texts, len(read.text_ids)
        view, altered, _ = read.sent_texts
        texts = rendered_texts(
            read.text_ids, read.texts, view=view, altered=altered, stored=read.views
        )
        encoded = self._encoded(texts, None if part in self._checked else self._check)
        self._checked.add(part)
        first = list(islice(encoded, _TEXTS_KEPT + 1))
        if len(first) <= _TEXTS_KEPT:
            self._kept = (key, first)
        return chain(first, encoded)

    def _encoded(
        self, texts: Iterator[tuple[str, int, str]], check: Check | None
    ) -> Iterator[Tokenized]:
        while some := list(islice(texts, _TOKENIZED_AT_ONCE)):
            ids_alone = {
                "return_attention_mask": False,
                "return_token_type_ids": False,
                "verbose": False,
            }
            bare = [text for _, _, text in some]
            encoded = self._tokenizer(bare, add_special_tokens=False, **ids_alone)[
                "input_ids"
            ]
            if check:
                check(some, encoded)
            for (text_id, variant, _), ids in zip(some, encoded, strict=True):
                yield text_id, variant, np.asarray(ids, dtype=np.int32)


def chunks_of(
    read: Pass,
    texts: TokenisedTexts,
    prompt_prefix: PromptPrefix,
    context: int | None,
    tokens: int = CHUNK_TOKENS,
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
            chunk, size = [], 0
        chunk.append(request)
        size += cost
        # of a million texts only two chunks' are alive: this one, and the caller's last
        del request
    if chunk:
        yield chunk


def batch_tokens_of(asked: int | str, device: str) -> int:
    """Return the token budget of batches on a `device` (cuda, cuda:N, cpu, api) for the
    key `batch_tokens`."""
    if isinstance(asked, int):
        return asked
    return BATCH_TOKENS.get(device.partition(":")[0], _BATCH_TOKENS_ELSEWHERE)


def gpu_version_of(target: "Target | ApiTarget") -> int | None:
    """Return the version of what GPUs compute; None where it makes no difference that
    shows: on a CPU, in float32."""
    is_narrow_on_gpu = target.device.startswith("cuda") and target.dtype != "float32"
    return GPU_VERSION if is_narrow_on_gpu else None


def engine_of(target: "Target | ApiTarget") -> int | str:
    """Return the engine's version, as manifests and keys have it."""
    gpu_version = gpu_version_of(target)
    return (
        ENGINE_VERSION
        if gpu_version is None
        else f"{ENGINE_VERSION}, GPU {gpu_version}"
    )


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
    how: dict[str, Any] = {
        "engine": engine_of(target),
        "checkpoint": target.digest,
        "dtype": target.dtype,
        "batches": None if target.dtype == "float32" else [batch_tokens, threads],
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
        about = (
            request.text_id,
            request.variant,
            request.n_tokens,
            len(request.tokens),
        )
        hasher.update(
            json.dumps(about).encode() + request.tokens.astype("<i4").tobytes()
        )
    return hasher.hexdigest()


def _requests(
    read: Pass,
    texts: Iterable[Tokenized],
    prompt_prefix: PromptPrefix,
    context: int | None,
) -> Iterator[Request]:
    room = (
        None
        if context is None
        else context - len(prompt_prefix.ids) - len(prompt_prefix.inner)
    )
    if read.key.reading.past_context:
        return chain.from_iterable(_stretches(*text, room) for text in texts)
    return (_request(*text, prompt_prefix.inner, room) for text in texts)


def _request(
    text_id: str,
    variant: int,
    ids: np.ndarray,
    inner: tuple[int, ...],
    room: int | None,
) -> Request:
    fitting = ids[:room]
    tokens = (
        np.concatenate([np.asarray(inner, dtype=np.int32), fitting])
        if inner and len(ids)
        else fitting
    )
    return Request(text_id, variant, tokens, len(ids), len(fitting) < len(ids))


def _stretches(
    text_id: str, _: int, ids: np.ndarray, room: int | None
) -> Iterator[Request]:
    """Yield what a text has past the first `room` tokens, in stretches of `room` tokens
    at most.

    The first half of a stretch is only read, so that every token has at least half the
    context before it.
    """
    if room is None:
        return
    given = room // 2
    for place in range(room, len(ids), room - given):
        tokens = ids[place - given : place - given + room]
        yield Request(text_id, place, tokens, len(ids), given=given)


def longest_text(read: Pass, texts: TokenisedTexts) -> int:
    """Return the number of tokens of the pass's longest text, before it is cut."""
    return max((len(ids) for _, _, ids in texts.of(read)), default=0)
