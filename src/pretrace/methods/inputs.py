"""The inputs of scores: the model's passes, the benchmark, its views and shots, further
inputs by kind; and from them the statistics of each text."""

from bisect import bisect_right
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import groupby
from operator import attrgetter
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple, TypeVar

import numpy as np

from pretrace.methods.registry import ALTERED_VIEWS, FULL_VOCABULARY, Method
from pretrace.methods.statistics import ABSENT, Floats, TokenStatistics
from pretrace.passes.index import PassIndex
from pretrace.runtime.errors import InputError
from pretrace.views.prefixes import shot_texts
from pretrace.views.readings import PassKey, Prefix, Shots
from pretrace.views.stored import ViewTexts, view_texts

if TYPE_CHECKING:
    import pandas as pd
    import pyarrow as pa

ROWS_AT_ONCE = 5_000  # texts whose statistics are alive at a time

TextStatistics = TokenStatistics | str
"""The statistics of one text of a pass, or why it has no scored token."""

Complete = Callable[[str, TokenStatistics], TextStatistics]
"""(text id, statistics) -> the statistics with a further input, if the text has it, or
why it cannot be scored."""

Opened = TypeVar("Opened")

FIELDS = {
    "frequencies": "log_frequencies",
    "nonmember_prefix": "given_nonmember",
    "member_prefix": "given_member",
}
"""Needs -> the field of TokenStatistics or LabelledTexts, where it has another name."""


class ScoreKey(NamedTuple):
    """A method, the reference it uses ("" without) and the draw of its shots (-1
    without), as in a `Column`.

    `inner_start`: the start token is repeated between shots and text, and is scored.
    """

    method: str
    reference: str
    draw: int
    inner_start: bool = False


class _PassRow(NamedTuple):
    """A row of a pass: the statistics of one variant of a text."""

    id: str
    variant: int
    statistics: TextStatistics


class PassReader(dict[str, list[TextStatistics]]):
    """Text id -> the rows of its variants, in order, of some of a slice's texts at a
    time; see `step`.

    A pass of 10^6 texts is never in memory as a whole. Its file is ordered by text id.
    """

    def __init__(self, batches: "Iterator[pa.RecordBatch]") -> None:
        self._batches = batches
        self._ahead: list[_PassRow] = []

    def step(self, last: str) -> None:
        """Go on to the texts after the last step's, up to the id `last`."""
        while not self._ahead or self._ahead[-1].id <= last:
            batch = next(self._batches, None)
            if batch is None:
                break
            for row in _rows(batch):
                if self._ahead and row.id < self._ahead[-1].id:
                    raise ValueError("a pass is not ordered by text id")
                self._ahead.append(row)
        by_id = attrgetter("id")
        reached = bisect_right(self._ahead, last, key=by_id)
        self.clear()
        for id, of_text in groupby(self._ahead[:reached], key=by_id):
            variants = sorted(of_text, key=attrgetter("variant"))
            self[id] = [row.statistics for row in variants]
        del self._ahead[:reached]

    def only(self, id: str) -> TextStatistics | None:
        """Return the row of a text, in a pass over the texts themselves; None if it has
        none."""
        rows = self.get(id, [])
        if len(rows) > 1:
            raise ValueError(
                f"{id}: more than one variant of a text in a pass over the text itself"
            )
        return rows[0] if rows else None

    def logprobs(self, id: str) -> Floats:
        row = self.only(id)
        return row.logprobs if isinstance(row, TokenStatistics) else ABSENT


def _rows(batch: "pa.RecordBatch") -> list[_PassRow]:
    token_ids = _arrays(batch, "token_ids", np.int64)
    numbers = {}
    for name in ("logprobs", *FULL_VOCABULARY):
        numbers[name] = _arrays(batch, name, np.float64)
    rows = []
    others = batch.select(["text_id", "variant", "skipped", "shots_used"])
    for i, row in enumerate(others.to_pylist()):
        statistics = row["skipped"] or "no scored token"
        if not row["skipped"] and len(token_ids[i]):
            of_text = {name: arrays[i] for name, arrays in numbers.items()}
            statistics = TokenStatistics(
                ABSENT, token_ids[i], **of_text, shots_used=row["shots_used"]
            )
        rows.append(_PassRow(row["text_id"], row["variant"], statistics))
    return rows


def _arrays(batch: "pa.RecordBatch", column: str, dtype: Any) -> list[Any]:
    """Return the lists of a column as arrays; None for each row if the pass did not
    store the column."""
    lists = batch[column]
    if len(lists) == lists.null_count:
        return [None] * len(lists)
    flat = lists.flatten().to_numpy(zero_copy_only=False).astype(dtype)
    lengths = lists.value_lengths().fill_null(0)
    ends = np.cumsum(lengths.to_numpy(zero_copy_only=False))
    bad = np.flatnonzero(~np.isfinite(flat))
    if len(bad):
        row = int(np.searchsorted(ends, bad[0], side="right"))
        id = batch["text_id"][row]
        raise InputError(
            f"the model gave {column} of text '{id}' that are {flat[bad[0]]}. Run the "
            "model with dtype: float32."
        )
    return np.split(flat, ends[:-1])


@dataclass
class Inputs:
    """The inputs of a model's scores on a benchmark, and the number of texts without a
    needed input."""

    passes: PassIndex
    """The passes of the model."""
    benchmark: "pd.DataFrame"
    files: Mapping[str, Mapping[str, Path]] = field(default_factory=dict)
    """The files of further inputs by kind (`registry.INPUTS`) and by the name that runs
    have for them."""
    prefixes: "pd.DataFrame | None" = None
    """The shots drawn from the benchmark."""
    views: Mapping[str, ViewTexts] = field(default_factory=dict)
    """The stored views among the views of the texts, by name."""
    language: str = ""
    """The benchmark's language tag."""
    unscored: Counter[tuple[str, str]] = field(default_factory=Counter)
    _opened: dict[Path, Any] = field(default_factory=dict)
    _readers: dict[tuple[int, PassKey], PassReader] = field(default_factory=dict)
    _texts: dict[PassKey, "pd.DataFrame"] = field(default_factory=dict)

    def statistics(
        self, plain: PassKey, methods: Sequence[Method]
    ) -> Iterator[dict[str, TextStatistics]]:
        """Yield some texts at a time by id: their statistics with altered texts, or the
        reason why they have none.

        Every open pass goes along.
        """
        if not methods:
            return
        frame = self.texts(plain)
        rows = self.rows(plain)
        needs: set[str] = set()
        for method in methods:
            needs.update(method.needs)
        reads_pass = bool(needs & {"logprobs", *FULL_VOCABULARY})
        if plain not in self.passes.rows and len(frame) and reads_pass:
            raise InputError(
                f"the passes of {self.passes.name} lack '{plain.name}', which methods "
                "of the run need. Delete their manifest in results/passes/ and run the "
                "same command again."
            )
        altered = {}
        for need, view in ALTERED_VIEWS.items():
            if need in needs:
                altered[need] = self.rows(plain.with_changes(altered=view))
        absent = (
            f"no pass over view {plain.reading.view}, start token "
            f"{plain.reading.start_token}"
        )
        for start in range(0, len(frame), ROWS_AT_ONCE):
            part = frame.iloc[start : start + ROWS_AT_ONCE]
            for reader in self._readers.values():
                reader.step(part["text_id"].iloc[-1])
            texts: dict[str, TextStatistics] = {}
            for id, text in zip(part["text_id"], part["text"], strict=True):
                row = rows.only(id) or absent
                if isinstance(row, TokenStatistics):
                    logprobs: dict[str, Any] = {}
                    for need, reader in altered.items():
                        logprobs[need] = reader.logprobs(id)
                    row = replace(row, text=text or ABSENT, **logprobs)
                texts[id] = row
            yield texts
        self._readers.clear()

    def completion(
        self,
        method: Method,
        plain: PassKey,
        key: ScoreKey,
        passes: Mapping[str, tuple[Prefix, int]],
    ) -> Complete:
        """Return what adds a method's further inputs to a text's statistics; `passes`
        as `needs.prefix_passes`."""
        if method.input:
            return method.input.complete(self, plain, key.reference)
        readers = {}
        for need, (prefix, count) in passes.items():
            shots = Shots(prefix, key.draw, count, key.inner_start)
            readers[FIELDS[need]] = self.rows(plain.with_changes(shots=shots))

        def after_prefixes(id: str, text: TokenStatistics) -> TextStatistics:
            logprobs: dict[str, Any] = {}
            used: list[int] = []
            for name, reader in readers.items():
                row = reader.only(id)
                if isinstance(row, str):
                    return row
                if row is None:
                    continue
                logprobs[name] = row.logprobs
                if row.shots_used is not None:
                    used.append(row.shots_used)
            return replace(text, shots_used=min(used, default=None), **logprobs)

        return after_prefixes

    def rows(self, key: PassKey, index: PassIndex | None = None) -> PassReader:
        """Return the one reader of a pass by the model, or of another `index`; empty
        without such a pass."""
        index = self.passes if index is None else index
        place = id(index), key
        if place not in self._readers:
            batches = iter(())
            if key in index.rows:
                batches = index.batches(key, ROWS_AT_ONCE)
            self._readers[place] = PassReader(batches)
        return self._readers[place]

    def opened(
        self, need: str, name: str, read: Callable[[Path], Opened]
    ) -> Opened | None:
        """Return what `read` makes of the file of an input, once a job; None if the job
        has no such file."""
        path = self.files.get(need, {}).get(name)
        if path is None:
            return None
        if path not in self._opened:
            self._opened[path] = read(path)
        return self._opened[path]

    def texts(self, plain: PassKey) -> "pd.DataFrame":
        """Return a slice's rows of the benchmark by text id; `text` as the view has it,
        "" where it has none."""
        if plain in self._texts:
            return self._texts[plain]
        rows = plain.slice.rows(self.benchmark)
        table = self.benchmark[rows].sort_values("text_id")
        view = plain.reading.view
        if view != "original":
            ids, originals = table["text_id"].tolist(), table["text"].tolist()
            seen = dict(view_texts(view, ids, originals, self.views))
            table = table.assign(text=[seen.get(id, "") for id in ids])
        self._texts[plain] = table
        return table

    def shot_texts(self, plain: PassKey, shots: Shots) -> tuple[str, ...]:
        """Return the texts of shots that are drawn from the benchmark."""
        return tuple(shot_texts(shots, plain.slice, self.benchmark, self.prefixes))

    def stream(self) -> tuple[str, ...]:
        """Return the texts that a model trained on the benchmark's members reads in an
        epoch."""
        from pretrace.models.training.stream import training_stream

        return tuple(training_stream(self.benchmark))
