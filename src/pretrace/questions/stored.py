"""The answers of a checkpoint, by what was asked, in the chunks of the store of passes.

A chunk holds the answers of some seconds' work, whatever they are about: no answer
depends on the others beside it, so each is found by itself, whichever job asked for it.
"""

import hashlib
import json
import time
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import astuple, dataclass
from functools import cached_property
from itertools import chain
from pathlib import Path
from typing import Any, Generic, Self, TypeVar

import pyarrow as pa

from pretrace.benchmarks.rows import Row
from pretrace.passes.store import Store
from pretrace.questions.answering import (
    PROBABILITIES,
    Advance,
    Letters,
    Question,
    Reply,
)
from pretrace.runtime.files import JsonObject, digest, read_table
from pretrace.runtime.logs import log

# raise when the same question would be answered otherwise: all are then asked again
ANSWERS_VERSION = 1

SECONDS_OF_A_CHUNK = 10
"""A killed job loses so much, and the question that it was asking: about as much as of
passes on a GPU."""

CHUNK_SCHEMA = pa.schema({
    "question": pa.string(), **dict.fromkeys(PROBABILITIES, pa.float64()),
    "answer": pa.string(), "reason": pa.string(), "skipped": pa.bool_(),
    "seconds": pa.float64(),
})  # fmt: skip
"""A row for each prompt of a question, in their order. `question`: its key; `seconds`:
of the whole question."""

Answer = TypeVar("Answer", Letters, Reply)
Missing = Mapping[str, Question]
"""Questions to ask, by their keys."""
Answered = Iterator[tuple[str, list[Answer]]]
"""The answers of one question after the other, by its key."""


@dataclass(frozen=True, slots=True)
class Kind(Generic[Answer]):
    """What is asked for: `name` and the `options` that answers depend on beside the
    prompts.

    `read` makes an answer of a row of a chunk.
    """

    name: str
    read: Callable[[Row], Answer]
    options: tuple[float, ...] = ()

    def key_of(self, question: Question) -> str:
        """Return the hex SHA-256 of all that was asked, to the letter."""
        parts: list[Any] = [(self.name, *self.options)]
        for prompt in (question.frame, *question.prompts):
            parts.append(None if prompt is None else astuple(prompt))
        hasher = hashlib.sha256()
        for part in parts:
            hasher.update(json.dumps(part).encode() + b"\n")
        return hasher.hexdigest()


@dataclass(frozen=True, slots=True)
class _Place:
    """The rows of a question in a chunk."""

    chunk: pa.Table
    first: int
    count: int

    def rows(self) -> list[Row]:
        return self.chunk.slice(self.first, self.count).to_pylist()


class StoredAnswers:
    """Use as a context manager: at its end, what is not in the store yet is written.

    `how`: all that answers depend on beside the questions (the checkpoint, its type
    ...); `name` begins log lines. `seconds`: what the answers that were given took to
    compute, now or when they were stored.
    """

    def __init__(self, folder: Path, how: JsonObject, name: str) -> None:
        self.seconds = 0.0
        self._how = {"version": ANSWERS_VERSION, **how}
        self._name = name
        self._store = Store(folder / digest(self._how))
        self._unwritten: dict[str, list[Row]] = {}
        self._written_at = time.monotonic()
        self._tally: Counter[str] = Counter()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *error: object) -> None:
        self._write()
        log.info(
            "%s: %d answers were stored before, %d were asked for",
            self._name,
            self._tally["stored"],
            self._tally["asked"],
        )

    def of(
        self,
        kind: Kind[Answer],
        questions: Sequence[Question],
        ask: Callable[[Missing], Answered[Answer]],
        progress: Advance,
    ) -> list[list[Answer]]:
        """Return the answers of each question; those that are not stored come from
        `ask`, and are stored.

        Equal questions are asked once. `ask` gets ready before it returns its iterator.
        `progress` is told of prompts.
        """
        keys = []
        question_of = {}
        for question in questions:
            key = kind.key_of(question)
            keys.append(key)
            question_of[key] = question
        copies = Counter(keys)
        answers = {}
        missing = {}
        for key, question in question_of.items():
            rows = self._rows_of(key)
            if rows is None:
                missing[key] = question
                continue
            answers[key] = [kind.read(row) for row in rows]
            self._count("stored", rows)
            progress(copies[key] * len(rows))
        answered = ask(missing) if missing else iter(())
        begin = time.monotonic()  # weights are loaded
        for key, own_answers in answered:
            now = time.monotonic()
            self._add(key, own_answers, now - begin)
            begin = now
            answers[key] = own_answers
            progress(copies[key] * len(own_answers))
        return [answers[key] for key in keys]

    def _rows_of(self, key: str) -> list[Row] | None:
        if key in self._unwritten:
            return self._unwritten[key]
        place = self._places.get(key)
        return None if place is None else place.rows()

    def _count(self, what: str, rows: Sequence[Row]) -> None:
        self.seconds += rows[0]["seconds"]
        self._tally[what] += len(rows)

    def _add(
        self, key: str, answers: Sequence[Letters | Reply], seconds: float
    ) -> None:
        rows = [_row(key, answer, seconds) for answer in answers]
        self._count("asked", rows)
        self._unwritten[key] = rows
        if time.monotonic() - self._written_at >= SECONDS_OF_A_CHUNK:
            self._write()

    def _write(self) -> None:
        if self._unwritten:
            rows = [*chain.from_iterable(self._unwritten.values())]
            chunk = pa.Table.from_pylist(rows, schema=CHUNK_SCHEMA)
            key = digest(sorted(self._unwritten))
            self._store.write(key, chunk, {"answers": len(rows), **self._how})
            self._places.update(_places_in(chunk))
        self._unwritten = {}
        self._written_at = time.monotonic()

    @cached_property
    def _places(self) -> dict[str, _Place]:
        """Return where the stored answers are, by question; damaged chunks are removed,
        and their questions asked again."""
        self._store.remove_abandoned()
        places = {}
        for key in self._store.stored():
            if self._store.record(key) is not None:
                places.update(_places_in(read_table(self._store.file(key))))
        return places


def _places_in(chunk: pa.Table) -> dict[str, _Place]:
    counts = Counter(chunk["question"].to_pylist())
    places = {}
    first = 0
    for question, count in counts.items():
        places[question] = _Place(chunk, first, count)
        first += count
    return places


def _row(key: str, answer: Letters | Reply, seconds: float) -> Row:
    row = dict.fromkeys(CHUNK_SCHEMA.names)
    row["question"] = key
    row["reason"] = answer.reason
    row["skipped"] = answer.skipped
    row["seconds"] = seconds
    if isinstance(answer, Reply):
        row["answer"] = answer.text
        return row
    row["answer"] = answer.answer
    if answer.probabilities is not None:
        row |= zip(PROBABILITIES, answer.probabilities, strict=True)
    return row


def letters_of_row(row: Row) -> Letters:
    """Return the letters that a row of a chunk holds."""
    probabilities = None
    if row["p_a"] is not None:
        probabilities = (row["p_a"], row["p_b"], row["p_c"], row["p_d"])
    return Letters(probabilities, row["answer"], row["reason"], row["skipped"])


def reply_of_row(row: Row) -> Reply:
    """Return the text that a row of a chunk holds."""
    return Reply(row["answer"], row["reason"], row["skipped"])
