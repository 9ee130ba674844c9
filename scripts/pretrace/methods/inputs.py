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
from pretrace.methods.plan import Key
from pretrace.methods.registry import Method
from pretrace.methods.statistics import ABSENT, Floats, TokenStatistics
from pretrace.passes.index import PassIndex
from pretrace.runtime.errors import InputError
from pretrace.runtime.files import read_parquet
from pretrace.runtime.logs import log
from pretrace.views.prefixes import shot_texts
from pretrace.views.readings import PassKey, Prefix, Shots
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
    """Text id -> the rows of its variants, in order, of some of a slice's texts at a time; see `step`.

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

    passes: PassIndex
    """The passes of the model."""
    benchmark: "pd.DataFrame"
    references: Mapping[str, PassIndex] = field(default_factory=dict)
    """The passes of reference models by slug."""
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
    _open: dict[tuple[str, PassKey], PassReader] = field(default_factory=dict)
    _texts: dict[PassKey, "pd.DataFrame"] = field(default_factory=dict)

    def statistics(
        self, plain: PassKey, methods: Sequence[Method]
    ) -> Iterator[dict[str, TokenStatistics | str]]:
        """Text id -> its statistics, with those of the altered texts that the methods need, or why it has none.

        Some texts at a time, by id; every pass that is open goes along.
        """
        if not methods:
            return
        frame = self.texts(plain)
        rows = self.rows(plain)
        needs = {need for method in methods for need in method.needs}
        altered = {
            need: self.rows(plain.changed(altered=view))
            for need, view in ALTERED_VIEWS.items()
            if need in needs
        }
        absent = f"no pass over view {plain.reading.view}, start token {plain.reading.start_token}"
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
        self, method: Method, plain: PassKey, key: Key, passes: Mapping[str, tuple[Prefix, int]]
    ) -> Complete:
        """Adds a method's extra inputs to a text's statistics; `passes` as `needs.prefix_passes` gives them."""
        if "reference" in method.needs:
            rows = self.rows(plain, key.reference)
            return lambda id, text: replace(
                text, reference=rows.logprobs(id), aligned_reference=_aligned(text, rows.only(id))
            )
        if "neighbours" in method.needs:
            variants = self.rows(plain.changed(altered=key.reference))
            return lambda id, text: replace(text, neighbours=_all_logprobs(variants.get(id, [])))
        if "continuations" in method.needs:
            frame, samples = self.texts(plain), self.views.get(key.reference, {})
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
            FIELDS[need]: self.rows(plain.changed(shots=Shots(prefix, key.draw or 0, count, key.inner_start)))
            for need, (prefix, count) in passes.items()
        }
        return lambda id, text: _after_prefixes(id, text, given)

    def rows(self, key: PassKey, reference: str = "") -> PassReader:
        """Return the reader of a pass by the model or a reference; empty where there is no such pass.

        All who ask for a pass share one reader.
        """
        if (reference, key) not in self._open:
            index = self.references.get(reference) if reference else self.passes
            batches = index.batches(key, ROWS_AT_ONCE) if index and key in index.rows else iter(())
            self._open[reference, key] = PassReader(batches)
        return self._open[reference, key]

    def frequencies(self, corpus: str) -> Floats | None:
        """[V] ln q of each token id, V the size of the model's output layer; None without counts of that
        corpus."""
        from pretrace.corpora.counts import log_frequencies

        if corpus in self.counts and corpus not in self._frequencies:
            self._frequencies[corpus] = log_frequencies(
                self.counts[corpus], self.passes.manifest["vocabulary"]
            )
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

    def texts(self, plain: PassKey) -> "pd.DataFrame":
        """Return a slice's rows of the benchmark by text id; `text` as the view has it, "" where it has none."""
        if plain not in self._texts:
            frame = self.benchmark[plain.slice.rows(self.benchmark)].sort_values("text_id")
            view = plain.reading.view
            if view != "original":
                seen = dict(viewed(view, frame["text_id"].tolist(), frame["text"].tolist(), self.views))
                frame = frame.assign(text=[seen.get(id, "") for id in frame["text_id"]])
            self._texts[plain] = frame
        return self._texts[plain]

    def shot_texts(self, plain: PassKey, shots: Shots) -> tuple[str, ...]:
        """Return the texts of shots that are drawn from the benchmark."""
        return tuple(shot_texts(shots, plain.slice, self.benchmark, self.prefixes))

    def stream(self) -> tuple[str, ...]:
        """The texts that a model trained on the benchmark's members reads in an epoch."""
        from pretrace.models.training.stream import training_stream

        return tuple(training_stream(self.benchmark, {}))

    def log_unscored(self) -> None:
        for (method, reason), texts in sorted(self.unscored.items()):
            log.info(
                "%s: no score for %d texts of %s: %s",
                method,
                texts,
                self.passes.manifest["benchmark"],
                reason,
            )


def _after_prefixes(id: str, text: TokenStatistics, given: Mapping[str, PassReader]) -> TokenStatistics:
    rows = {
        field: row for field, reader in given.items() if isinstance(row := reader.only(id), TokenStatistics)
    }
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
