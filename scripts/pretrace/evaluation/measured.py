"""One measured number by all its keys, of a study's metrics, tests and benchmarks."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from statistics import mean
from typing import Any, Protocol

import pandas as pd

from pretrace.evaluation.averages import average
from pretrace.evaluation.grids import variant
from pretrace.evaluation.metrics import EACH
from pretrace.methods.settings import written_parameters
from pretrace.questions.known import METHODS

Pair = tuple[str, str]
"""A model and a benchmark."""

COUNTS = ("n_texts", "member_ratio", "nonmember_ratio")
BEST = {"best_eps_e": "eps", "best_k": "percentile"}
"""Metrics that name the best value of a parameter, by AUC."""

SELECTIONS = ("default", "best_on_test", "grid")
_KEYS = ["unit", "method", "view", "start_token", "subset", "length", "evaluation_set", "metric"]
_NO_LENGTH = -1
_NOTHING = pd.DataFrame(columns=["setting", "draw", "reference", "value", "low", "high"])


class Evaluated(Protocol):
    """A study's results: files by pair, by benchmark and by paper, and how they are read."""

    @property
    def metrics(self) -> Mapping[Pair, Path]: ...
    @property
    def tests(self) -> Mapping[Pair, Path]: ...
    @property
    def benchmarks(self) -> Mapping[str, Path]: ...
    @property
    def published(self) -> Mapping[str, Path]: ...
    @property
    def entries(self) -> Mapping[str, Mapping[str, Any]]: ...

    def read(self, kind: str, key: Pair | str, /) -> pd.DataFrame: ...


@dataclass(frozen=True)
class Lookup:
    """Say where to find one of our numbers. Among the settings with the `fixed` parameters and without the values in
    `without`, the best is taken. `reference` "" matches any single reference; `subset` "*" is the mean over all
    subsets.

    A published number of the same texts may differ by `tolerance` if nothing is drawn. `unjudged`: why agreement
    cannot be judged.
    """

    model: str
    benchmarks: tuple[str, ...]
    subset: str
    length: int | None
    method: str
    metric: str
    tolerance: float
    variant: str = ""
    view: str = "original"
    start_token: str = "tokenizer"
    reference: str = ""
    evaluation_set: str = "all"
    unit: str = "text"
    fixed: Mapping[str, Any] = field(default_factory=dict)
    without: Mapping[str, Sequence[Any]] = field(default_factory=dict)
    unjudged: str = ""


@dataclass(frozen=True)
class Found:
    """A number with its 95 % interval, where it has one, and the setting and benchmark that it is of.

    Where shots are drawn it is the mean over `draws`, the numbers of the single draws.
    """

    value: float
    low: float | None = None
    high: float | None = None
    setting: str = ""
    benchmark: str = ""
    reference: str = ""
    draws: tuple[float, ...] = ()

    @property
    def sd(self) -> float | None:
        """Return the standard deviation over draws; None with fewer than two."""
        return average([(draw, None, None) for draw in self.draws], "draw")[1] if self.draws else None


def mean_of(parts: Sequence[Found], benchmark: str) -> Found:
    """Return the mean of numbers, without an interval, draw by draw if all are means over draws."""
    draws = tuple(map(mean, zip(*(part.draws for part in parts), strict=False)))
    return Found(mean(part.value for part in parts), benchmark=benchmark, draws=draws)


class Measured:
    """The numbers of a study, indexed once."""

    def __init__(self, results: "Evaluated") -> None:
        self._results = results
        self._indexed: dict[Pair, dict[tuple[Any, ...], pd.DataFrame]] = {}

    def find(self, lookup: Lookup) -> Found | None:
        """Return the number, None if the study has none."""
        numbers = (self._of(benchmark, lookup) for benchmark in lookup.benchmarks)
        return next((number for number in numbers if number is not None), None)

    def why_not(self, lookup: Lookup) -> str:
        """Return why the study has no such number."""
        if lookup.metric in COUNTS:
            if any(benchmark in self._results.benchmarks for benchmark in lookup.benchmarks):
                return "the benchmark has no such texts"
            return "no model that can be asked reads the benchmark"
        if lookup.metric == "p_value" and any(
            not self._candidates((lookup.model, benchmark), lookup, lookup.subset, "auc").empty
            for benchmark in lookup.benchmarks
            if (lookup.model, benchmark) in self._results.metrics
        ):
            return "every score is the same, so there is nothing to test"
        return "not measured in this study"

    def _of(self, benchmark: str, lookup: Lookup) -> Found | None:
        if lookup.metric in COUNTS:
            return self._count(benchmark, lookup)
        pair = (lookup.model, benchmark)
        if pair not in self._results.metrics:
            return None
        if lookup.metric == "p_value":
            return self._p_value(pair, lookup)
        if lookup.subset == EACH:
            return self._mean(pair, lookup)
        return self._best(pair, lookup, lookup.subset)

    def _best(self, pair: Pair, lookup: Lookup, subset: str) -> Found | None:
        """Return the best setting's number; if shots are drawn, the mean of the best of each draw."""
        metric = "auc" if lookup.metric in BEST else lookup.metric
        rows = self._candidates(pair, lookup, subset, metric)
        if rows.empty or rows["reference"].nunique() > 1:
            return None
        of_draws = [
            self._best_of(draw_rows, pair, lookup)
            for _, draw_rows in rows.groupby("draw", dropna=False, sort=True)
        ]
        if rows["draw"].isna().any():
            return of_draws[0]
        draws = tuple(best.value for best in of_draws)
        first = replace(of_draws[0], draws=draws)
        return first if len(draws) == 1 else replace(first, value=mean(draws), low=None, high=None)

    def _best_of(self, rows: pd.DataFrame, pair: Pair, lookup: Lookup) -> Found:
        best = rows.sort_values("value", ascending=False, kind="stable").iloc[0].to_dict()
        with_interval = rows[(rows["setting"] == best["setting"]) & rows["low"].notna()]
        row = with_interval.iloc[0].to_dict() if len(with_interval) else best
        if lookup.metric in BEST:
            value = float(written_parameters(best["setting"])[BEST[lookup.metric]])
            return Found(value, None, None, best["setting"], pair[1], best["reference"])
        low, high = (None if pd.isna(row[end]) else float(row[end]) for end in ("low", "high"))
        return Found(float(row["value"]), low, high, row["setting"], pair[1], row["reference"])

    def _candidates(self, pair: Pair, lookup: Lookup, subset: str, metric: str) -> pd.DataFrame:
        """Return the rows of the settings from which the best is chosen."""
        length = _NO_LENGTH if lookup.length is None else lookup.length
        key = (
            lookup.unit, lookup.method, lookup.view, lookup.start_token, subset, length, lookup.evaluation_set, metric,
        )  # fmt: skip
        index = self._index(pair)
        # question methods read no view of a text and no start token
        rows = index.get(key, index.get((*key[:2], "", "", *key[4:]), _NOTHING))
        if lookup.reference:
            rows = rows[rows["reference"].isin([lookup.reference, ""])]  # what needs none has none
        chosen = [_is_meant(lookup, setting) for setting in rows["setting"]]
        return rows[chosen] if len(rows) else rows

    def _mean(self, pair: Pair, lookup: Lookup) -> Found | None:
        subsets = sorted({key[4] for key in self._index(pair)} - {""})
        numbers = [self._best(pair, lookup, subset) for subset in subsets]
        parts = [number for number in numbers if number is not None]
        return mean_of(parts, pair[1]) if parts and len(parts) == len(numbers) else None

    def _p_value(self, pair: Pair, lookup: Lookup) -> Found | None:
        if pair not in self._results.tests:
            return None
        tests = self._results.read("tests", pair)
        length = tests["length"].isna() if lookup.length is None else tests["length"].eq(lookup.length)
        rows = tests[
            (tests["test"] == "welch")
            & (tests["method"] == lookup.method)
            & (tests["unit"] == lookup.unit)
            & length.fillna(False).astype(bool)
            & tests["reference"].isin([lookup.reference, ""])
        ]
        rows = rows[[variant(lookup.method, setting) == lookup.variant for setting in rows["setting"]]]
        if len(rows) != 1:
            return None
        return Found(float(rows["p"].iloc[0]), setting=str(rows["setting"].iloc[0]), benchmark=pair[1])

    def _count(self, benchmark: str, lookup: Lookup) -> Found | None:
        if benchmark not in self._results.benchmarks:
            return None
        texts = self._results.read("benchmarks", benchmark)
        if lookup.subset:
            texts = texts[texts["subset"] == lookup.subset]
        if lookup.length is not None and texts["length"].notna().any():
            texts = texts[texts["length"].eq(lookup.length).fillna(False).astype(bool)]
        if texts.empty:
            return None
        share = float(texts["label"].eq(1).mean())
        values = {"n_texts": float(len(texts)), "member_ratio": share, "nonmember_ratio": 1 - share}
        return Found(values[lookup.metric], benchmark=benchmark)

    def _index(self, pair: Pair) -> dict[tuple[Any, ...], pd.DataFrame]:
        """Return the rows of a pair by `_KEYS`, of every draw, rows with a chosen setting first."""
        if pair not in self._indexed:
            frame = self._results.read("metrics", pair)
            frame = frame[frame["selection"].isin(SELECTIONS)]
            order = frame["selection"].map({name: place for place, name in enumerate(SELECTIONS)})
            frame = frame.assign(length=frame["length"].fillna(_NO_LENGTH).astype(int), order=order)
            grouped = frame.sort_values("order", kind="stable").groupby(_KEYS, sort=False)
            self._indexed[pair] = {tuple(key): rows for key, rows in grouped}
        return self._indexed[pair]


def _is_meant(lookup: Lookup, setting: str) -> bool:
    """Tell whether a setting is of the variant, has the fixed parameters, and has no excluded value."""
    if variant(lookup.method, setting) != lookup.variant:
        return False
    method = METHODS.get(lookup.method)
    given = {
        name: float(value)
        for name, value in written_parameters(setting).items()
        if method and name in method.grid
    }
    for name, value in given.items():
        if name in lookup.fixed:
            if abs(value - float(lookup.fixed[name])) > 1e-9:
                return False
        elif method and value not in [float(listed) for listed in method.grid[name]]:
            return False
        if any(abs(value - float(listed)) < 1e-9 for listed in lookup.without.get(name, ())):
            return False
    return True
