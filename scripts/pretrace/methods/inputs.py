"""What scores are made of: passes of the model and of reference models, the benchmark, its views and prefixes,
corpus counts; and from them the statistics of each text."""

from bisect import bisect_right
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import groupby, pairwise
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from pretrace.methods.needs import ALTERED_VIEWS, FULL_VOCABULARY
from pretrace.methods.plan import Key, TextGroup
from pretrace.methods.registry import Method
from pretrace.methods.statistics import ABSENT, Floats, TokenStatistics
from pretrace.runtime.errors import InputError
from pretrace.runtime.files import read_parquet
from pretrace.runtime.logs import log
from pretrace.views.prefixes import of_length, shots
from pretrace.views.stored import StoredView, viewed

if TYPE_CHECKING:
    import pandas as pd
    import pyarrow as pa

ROWS_AT_ONCE = 5_000

Row = TokenStatistics | str
"""The statistics of one text of a pass, or why it has no scored token."""

Complete = Callable[[str, Any], TokenStatistics]
"""Adds to a text's statistics, by its id, what a method needs besides, if it is there; for methods that read no pass,
makes them."""

_NO_IDS, _NO_VALUES = np.empty(0, dtype=np.int64), np.empty(0)

FIELDS = {
    "frequencies": "log_frequencies",
    "nonmember_prefix": "given_nonmember",
    "member_prefix": "given_member",
}
"""Needs -> the field of TokenStatistics or LabelledTexts, where it has another name."""


class PassReader(dict[str, list[Row]]):
    """Text id -> the rows of its variants, in order, of some of a cell's texts at a time; see `step`.

    A pass of 10^6 texts is never in memory as a whole. Its file is ordered by text id.
    """

    def __init__(self, batches: "Iterator[pa.RecordBatch]") -> None:
        self._batches = batches
        self._ahead: list[tuple[str, int, Row]] = []

    def step(self, last: str) -> None:
        """Go on to the texts up to the id `last`: to those that follow the last step's."""
        while not self._ahead or self._ahead[-1][0] <= last:
            batch = next(self._batches, None)
            if batch is None:
                break
            rows = _rows(batch)
            if any(row[0] > following[0] for row, following in pairwise([*self._ahead[-1:], *rows])):
                raise ValueError("a pass is not ordered by text id")
            self._ahead += rows
        reached = bisect_right(self._ahead, last, key=lambda row: row[0])
        self.clear()
        for id, of_text in groupby(self._ahead[:reached], key=lambda row: row[0]):
            self[id] = [row for _, _, row in sorted(of_text, key=lambda row: row[1])]
        del self._ahead[:reached]

    def only(self, id: str) -> Row | None:
        """The row of a text, in a pass over the texts themselves; None where it has none."""
        rows = self.get(id, [])
        if len(rows) > 1:
            raise ValueError(f"{id}: more than one variant of a text in a pass over the text itself")
        return rows[0] if rows else None

    def logprobs(self, id: str) -> Floats:
        row = self.only(id)
        return row.logprobs if isinstance(row, TokenStatistics) else ABSENT


def _rows(batch: "pa.RecordBatch") -> list[tuple[str, int, Row]]:
    token_ids = _arrays(batch, "token_ids", np.int64)
    numbers = {name: _arrays(batch, name, np.float64) for name in ("logprobs", *FULL_VOCABULARY)}
    ids, variants, reasons, shots_used = (
        batch[column].to_pylist() for column in ("text_id", "variant", "skipped", "shots_used")
    )
    rows: list[tuple[str, int, Row]] = []
    for i, reason in enumerate(reasons):
        statistics: Row = reason or "no scored token"
        if not reason and len(token_ids[i]):
            of_text = {name: arrays[i] for name, arrays in numbers.items()}
            statistics = TokenStatistics(ABSENT, token_ids[i], **of_text, shots_used=shots_used[i])
        rows.append((ids[i], variants[i], statistics))
    return rows


def _arrays(batch: "pa.RecordBatch", column: str, dtype: Any) -> list[Any]:
    """The lists of a column as arrays; None for each row where the pass did not store the column."""
    lists = batch[column]
    if len(lists) == lists.null_count:
        return [None] * len(lists)
    flat = lists.flatten().to_numpy(zero_copy_only=False).astype(dtype)
    ends = np.cumsum(lists.value_lengths().fill_null(0).to_numpy(zero_copy_only=False))
    for bad in np.flatnonzero(~np.isfinite(flat))[:1]:
        id = batch["text_id"][int(np.searchsorted(ends, bad, side="right"))]
        raise InputError(
            f"the model gave {column} of text '{id}' that are {flat[bad]}. Run the model with dtype: float32."
        )
    return np.split(flat, ends[:-1])


@dataclass
class Inputs:
    """The inputs of a model's scores on a benchmark, and the number of texts without a needed input."""

    manifest: dict[str, Any]
    """The reader of the model's passes in `store`."""
    store: Path
    benchmark: "pd.DataFrame"
    references: Mapping[str, dict[str, Any]] = field(default_factory=dict)
    """The manifests of reference models by slug."""
    counts: Mapping[str, Path] = field(default_factory=dict)
    """Token counts of corpora by slug, by this model's tokenizer."""
    shadows: Mapping[str, Path] = field(default_factory=dict)
    """Tables of `models.training.train_shadows` by the slug of the model."""
    prefixes: "pd.DataFrame | None" = None
    """The shots drawn from the benchmark."""
    views: Mapping[str, StoredView] = field(default_factory=dict)
    """The stored views among the runs' target views, by name."""
    language: str = ""
    """The benchmark's language tag."""
    unscored: Counter[tuple[str, str]] = field(default_factory=Counter)
    _frequencies: dict[str, Floats] = field(default_factory=dict)
    _under_shadows: dict[str, dict[str, tuple[Floats, Floats]]] = field(default_factory=dict)
    _open: dict[tuple[Any, ...], PassReader] = field(default_factory=dict)
    _texts: dict[TextGroup, "pd.DataFrame"] = field(default_factory=dict)

    def statistics(
        self, cell: TextGroup, methods: Sequence[Method]
    ) -> Iterator[dict[str, TokenStatistics | str]]:
        """Text id -> its statistics, with those of the altered texts that the methods need, or why it has none.

        Some texts at a time, by id; every pass that is open goes along.
        """
        if not methods:
            return
        frame = self.texts(cell)
        rows = self.rows(cell)
        needs = {need for method in methods for need in method.needs}
        altered = {
            need: self.rows(cell, altered=view) for need, view in ALTERED_VIEWS.items() if need in needs
        }
        absent = f"no pass over view {cell.view}, start token {cell.start_token}"
        for start in range(0, len(frame), ROWS_AT_ONCE):
            part = frame.iloc[start : start + ROWS_AT_ONCE]
            for reader in self._open.values():
                reader.step(part["text_id"].iloc[-1])
            texts: dict[str, TokenStatistics | str] = {}
            for id, text in zip(part["text_id"], part["text"], strict=True):
                row = rows.only(id) or absent
                if isinstance(row, TokenStatistics):
                    beside: dict[str, Any] = {need: each.logprobs(id) for need, each in altered.items()}
                    row = replace(row, text=text or ABSENT, **beside)
                texts[id] = row
            yield texts
        self._open.clear()

    def completion(
        self, method: Method, cell: TextGroup, key: Key, passes: Mapping[str, tuple[str, int]]
    ) -> Complete:
        """Adds a method's extra inputs to a text's statistics; `passes` as `needs.prefix_passes` gives them."""
        if "reference" in method.needs:
            rows = self.rows(cell, reference=key.reference)
            return lambda id, text: replace(
                text, reference=rows.logprobs(id), aligned_reference=_aligned(text, rows.only(id))
            )
        if "neighbours" in method.needs:
            variants = self.rows(cell, altered=key.reference)
            return lambda id, text: replace(text, neighbours=_all_logprobs(variants.get(id, [])))
        if "continuations" in method.needs:
            frame, samples = self.texts(cell), self.views.get(key.reference, {})
            texts = dict(zip(frame["text_id"], frame["text"], strict=True))
            return lambda id, _: TokenStatistics(
                texts[id], _NO_IDS, _NO_VALUES, continuations=tuple(samples.get(id, ())) or ABSENT
            )
        if "frequencies" in method.needs and (frequencies := self.frequencies(key.reference)) is not None:
            return lambda id, text: replace(text, log_frequencies=frequencies[text.token_ids])
        if "shadows" in method.needs:
            under_shadows = self.under_shadows(key.reference)
            return lambda id, text: replace(text, shadows=under_shadows.get(id, ABSENT))
        given = {
            FIELDS[need]: self.rows(cell, prefix=prefix, draw=key.draw, shots=count)
            for need, (prefix, count) in passes.items()
        }
        return lambda id, text: _after_prefixes(id, text, given)

    def rows(self, cell: TextGroup, *, reference: str = "", **beside: Any) -> PassReader:
        """A pass over the cell's texts by the model or a reference; `beside`: what its coordinates have besides.

        One reader for all who ask for it, from the pass's start; an empty one where no manifest holds such a pass.
        """
        from pretrace.passes.manifest import PLAIN, read_batches

        named = {
            "view": cell.view,
            "start_token": cell.start_token,
            "subset": cell.subset,
            "length": cell.length,
        }
        at = PLAIN | named | {"inner_start": cell.inner_start and "prefix" in beside} | beside
        key = (reference, *at.values())
        if key not in self._open:
            manifest = self.references.get(reference, {"views": []}) if reference else self.manifest
            there = any(at.items() <= entry.items() for entry in manifest["views"])
            batches = read_batches(manifest, self.store, at, ROWS_AT_ONCE) if there else iter(())
            self._open[key] = PassReader(batches)
        return self._open[key]

    def frequencies(self, corpus: str) -> Floats | None:
        """[V] ln q of each token id, V the size of the model's output layer; None without counts of that
        corpus."""
        from pretrace.corpora.counts import log_frequencies

        if corpus in self.counts and corpus not in self._frequencies:
            self._frequencies[corpus] = log_frequencies(self.counts[corpus], self.manifest["vocabulary"])
        return self._frequencies.get(corpus)

    def under_shadows(self, model: str) -> dict[str, tuple[Floats, Floats]]:
        """Text id -> its log-likelihoods under the shadow models of a model: trained on it, and not."""
        if model in self.shadows and model not in self._under_shadows:
            table = read_parquet(self.shadows[model])
            within, without = (
                dict(table["log_likelihood"][table["in"].eq(side)].groupby(table["text_id"]).agg(np.array))
                for side in (True, False)
            )
            self._under_shadows[model] = {id: (within[id], without[id]) for id in within}
        return self._under_shadows.get(model, {})

    def texts(self, cell: TextGroup) -> "pd.DataFrame":
        """The benchmark's rows of a cell by text id; `text` as the cell's view has it, "" where it has none."""
        if cell not in self._texts:
            here = self.benchmark["subset"].eq(cell.subset) & of_length(self.benchmark, cell.length)
            frame = self.benchmark[here].sort_values("text_id")
            if cell.view != "original":
                seen = dict(viewed(cell.view, frame["text_id"].tolist(), frame["text"].tolist(), self.views))
                frame = frame.assign(text=[seen.get(id, "") for id in frame["text_id"]])
            self._texts[cell] = frame
        return self._texts[cell]

    def shots(self, cell: TextGroup, draw: int, prefix: str, count: int) -> tuple[str, ...]:
        """The texts of the first `count` shots of a draw."""
        return tuple(shots(self.prefixes, self.benchmark, draw, cell.subset, cell.length, prefix, count))

    def stream(self) -> tuple[str, ...]:
        """The texts that a model trained on the benchmark's members reads in an epoch."""
        from pretrace.models.training.stream import training_stream

        return tuple(training_stream(self.benchmark, {}))

    def log_unscored(self) -> None:
        for (method, reason), texts in sorted(self.unscored.items()):
            log.info("%s: no score for %d texts of %s: %s", method, texts, self.manifest["benchmark"], reason)


def _after_prefixes(id: str, text: TokenStatistics, given: Mapping[str, PassReader]) -> TokenStatistics:
    found = {field: reader.only(id) for field, reader in given.items()}
    rows = {field: row for field, row in found.items() if isinstance(row, TokenStatistics)}
    used = [row.shots_used for row in rows.values() if row.shots_used is not None]
    logprobs: dict[str, Any] = {field: row.logprobs for field, row in rows.items()}
    return replace(text, shots_used=min(used, default=None), **logprobs)


def _aligned(text: TokenStatistics, row: Row | None) -> Floats:
    """The log-probabilities of another model's row of the text, if its tokens are known to be the same."""
    if not isinstance(row, TokenStatistics) or not np.array_equal(row.token_ids, text.token_ids):
        return ABSENT
    return row.logprobs if np.all(row.token_ids >= 0) else ABSENT


def _all_logprobs(rows: Sequence[Row]) -> tuple[Floats, ...]:
    return tuple(row.logprobs for row in rows if isinstance(row, TokenStatistics)) or ABSENT
