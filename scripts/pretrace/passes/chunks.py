"""The chunks of a pass: the requests that are computed and stored together, chosen and found again by their content.

Numbers depend on the batch that a text is in, in the last digits. So what a chunk holds follows from the texts alone:
neither their ids nor their order, nor what the store holds already, changes a number.
"""

import hashlib
import json
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from itertools import groupby
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from pretrace.passes.prompt_prefix import PromptPrefix
from pretrace.passes.requests import Pass, Request, Texts, requests_of
from pretrace.views.readings import PAST_CONTEXT

if TYPE_CHECKING:
    from pretrace.models.api.target import ApiTarget
    from pretrace.models.target import Target

ENGINE_VERSION = 5  # raise when the same request would give other numbers: all is then computed again

CHUNK_TOKENS = 1 << 18
"""Tokens of a chunk, about: a killed job loses at most two of these, which takes seconds on a GPU and minutes on a CPU.
Eight full batches of a GPU, so that the last and smaller one costs little."""

_DIGEST = 16  # bytes


class _Unit(NamedTuple):
    """Requests of one text that stay together, `first` to `stop` of them: all, if they are not many.

    text    place of the text in the pass
    tokens  of the requests, and one for each
    """

    text: int
    first: int
    stop: int
    tokens: int
    digest: bytes


@dataclass(frozen=True, slots=True)
class Chunk:
    """A chunk of a pass.

    content  hex SHA-256 of all that its numbers depend on: the model, how it reads, and the requests as a set
    ids      a digest of the ids, each with the content of its text
    tokens   of its requests, and one for each
    parts    int32 [n, 3], in the pass's order: place of a text, its first request, one behind its last
    """

    content: str
    ids: str
    tokens: int
    parts: np.ndarray

    @property
    def key(self) -> str:
        """Return the name of the chunk's file."""
        return f"{self.content}-{self.ids}"

    @property
    def requests(self) -> int:
        return int((self.parts[:, 2] - self.parts[:, 1]).sum())


def chunks_of(
    read: Pass,
    texts: Texts,
    prompt_prefix: PromptPrefix,
    *,
    target: "Target | ApiTarget",
    batch_tokens: int,
    threads: int,
    tokens: int = CHUNK_TOKENS,
) -> list[Chunk]:
    """Return the chunks of a pass, of about `tokens` to twice as many; a text that is added changes one of them.

    The token budget and the threads count below float32 only, where a number depends on its batch and on the
    order of a sum. Raises `InputError` where the windows of a text are longer than the context.
    """
    how = {
        "engine": ENGINE_VERSION,
        "checkpoint": target.digest,
        "dtype": target.dtype,
        "batches": None if target.dtype == "float32" else [batch_tokens, threads],
        "statistics": read.statistics,
        "start": prompt_prefix.start,
        "shots": prompt_prefix.shots,
        "inner": prompt_prefix.inner,
    }
    if cut := read.key.reading.windows:
        how["windows"] = [cut, target.context] if cut == PAST_CONTEXT else cut
    of_pass = json.dumps(how, sort_keys=True).encode()
    requests = requests_of(read, texts.of(read), prompt_prefix, target.context)
    units = list(_units(read, requests, tokens))
    return [_chunk(leaf, of_pass, read.text_ids) for leaf in _leaves(units, 2 * tokens)]


def chunk_requests(
    chunk: Chunk, read: Pass, texts: Texts, prompt_prefix: PromptPrefix, context: int | None
) -> list[Request]:
    """Return the requests of a chunk of the pass, by text id and variant."""
    spans: dict[str, list[range]] = {}
    for place, first, stop in chunk.parts.tolist():
        spans.setdefault(read.text_ids[place], []).append(range(first, stop))
    requests = requests_of(read, texts.of(read, spans.keys()), prompt_prefix, context)
    return [
        request
        for text_id, of_text in groupby(requests, key=lambda request: request.text_id)
        for number, request in enumerate(of_text)
        if any(number in span for span in spans[text_id])
    ]


def content_digest(request: Request) -> bytes:
    """Return the digest by which a stored chunk knows a request under another id."""
    return hashlib.blake2b(request.content, digest_size=_DIGEST).digest()


def _units(read: Pass, requests: Iterable[Request], tokens: int) -> Iterator[_Unit]:
    """Yield the requests as units of at most `tokens` tokens, or of one request."""
    places = {id: place for place, id in enumerate(read.text_ids)}
    for text_id, of_text in groupby(requests, key=lambda request: request.text_id):
        place = places[text_id]
        first, number, size, hasher = 0, 0, 0, hashlib.blake2b(digest_size=_DIGEST)
        for number, request in enumerate(of_text):
            cost = 1 + len(request.tokens)
            if size and size + cost > tokens:
                yield _Unit(place, first, number, size, hasher.digest())
                first, size, hasher = number, 0, hashlib.blake2b(digest_size=_DIGEST)
            hasher.update(request.content)
            size += cost
            del request  # the next is made when it is gone
        yield _Unit(place, first, number + 1, size, hasher.digest())


def _leaves(units: list[_Unit], most: int, bit: int = 0) -> Iterator[list[_Unit]]:
    """Yield the units in groups of at most `most` tokens: halved by the next bit of their digests where they are more.

    Equal units stay together.
    """
    if bit == 8 * _DIGEST or len(units) == 1 or sum(unit.tokens for unit in units) <= most:
        if units:
            yield units
        return
    for side in (0, 1):
        yield from _leaves(
            [unit for unit in units if unit.digest[bit // 8] >> (7 - bit % 8) & 1 == side], most, bit + 1
        )


def _chunk(units: list[_Unit], of_pass: bytes, text_ids: list[str]) -> Chunk:
    hasher = hashlib.sha256(of_pass)
    for digest in sorted(unit.digest for unit in units):
        hasher.update(digest)
    ids = json.dumps([(text_ids[unit.text], unit.first, unit.digest.hex()) for unit in units]).encode()
    return Chunk(
        hasher.hexdigest(),
        hashlib.blake2b(ids, digest_size=8).hexdigest(),
        sum(unit.tokens for unit in units),
        np.array([(unit.text, unit.first, unit.stop) for unit in units], dtype=np.int32),
    )
