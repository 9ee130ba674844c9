"""The statistics beside metrics and tests: each is a tidy table of its own for a model
and a benchmark.

A statistic depends on the runs of its pair alone. Figures and tables select rows of it.
Light to import: planning looks up here which files a statistic reads.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from pretrace.evaluation.metrics import METRIC_KEYS

if TYPE_CHECKING:
    import pandas as pd

    from pretrace.evaluation.scores import EvaluationSet, Scores
    from pretrace.evaluation.tokens import Passes

PLACE = ["subset", "length"]
READINGS = [*PLACE, "view", "start_token"]
ANSWERED = ["reference", *PLACE, "method", "document", "label"]
INTERVAL = ["value", "low", "high"]
"""An estimate and its 95 % interval, missing where none is drawn."""

_WHOLE = {"draw", "length", "label", "order", "shots", "n", "answers"}
_NUMBERS = {*INTERVAL, "distance", "x", "y", "weight", "fpr", "tpr"}

Rows = Iterable[Mapping[str, Any]]
Compute = Callable[["StatisticInputs"], "Rows | pd.DataFrame"]


@dataclass(frozen=True)
class StatisticInputs:
    """Hold the inputs of a pair's statistic: the pair's `files` by kind, and the facts
    of its runs and benchmark.

    `draws`: the draws of shots. `resamples`: of each interval.
    """

    model: str
    benchmark_name: str
    files: Mapping[str, str]
    store: Path
    draws: Sequence[int]
    resamples: int
    pooled: bool
    language: str

    def table(self, kind: str) -> "pd.DataFrame":
        from pretrace.runtime.files import read_parquet

        return read_parquet(self.files[kind])

    @cached_property
    def benchmark(self) -> "pd.DataFrame":
        return self.table("benchmark")

    @cached_property
    def prefixes(self) -> "pd.DataFrame | None":
        return self.table("prefixes") if "prefixes" in self.files else None

    @cached_property
    def sets(self) -> "list[EvaluationSet]":
        """Return the evaluation sets of the pair's draws, without those of placebos."""
        from pretrace.evaluation.scores import evaluation_sets

        sets = evaluation_sets(self.benchmark, self.prefixes, self.draws)
        return [chosen for chosen in sets if not chosen.nonmembers]

    @cached_property
    def scores(self) -> "Scores":
        from pretrace.evaluation.scores import scores_of
        from pretrace.runtime.files import read_parquet_parts

        return scores_of(read_parquet_parts(self.files["scores"]), self.benchmark)

    @cached_property
    def passes(self) -> "Passes":
        from pretrace.evaluation.tokens import Passes
        from pretrace.passes.index import PassIndex
        from pretrace.runtime.files import read_json

        manifest: dict[str, Any] = {"views": []}
        if "passes" in self.files:
            manifest = read_json(self.files["passes"])
        index = PassIndex(manifest, self.store)
        name = f"{self.model} on {self.benchmark_name}"
        return Passes(index, self.benchmark, self.sets, self.resamples, name)


class Statistic(NamedTuple):
    """`reads`: kinds of a pair's files beside the benchmark. `compute` gives rows or a
    table with the `columns`."""

    reads: tuple[str, ...]
    columns: list[str]
    compute: Compute

    def table(self, inputs: StatisticInputs) -> "pd.DataFrame":
        """Compute the statistic as the table of `columns`, in their types."""
        import pandas as pd

        computed = self.compute(inputs)
        if not isinstance(computed, pd.DataFrame):
            computed = pd.DataFrame(list(computed))
        return typed_columns(computed, self.columns)


STATISTICS: dict[str, Statistic] = {}


def statistic(
    *, reads: tuple[str, ...], columns: list[str]
) -> Callable[[Compute], Compute]:
    """Register a statistic by its function's name; its table is
    results/{study}/{name}/{model}/{benchmark}.parquet."""

    def register(compute: Compute) -> Compute:
        STATISTICS[compute.__name__] = Statistic(reads, columns, compute)
        return compute

    return register


def typed_columns(frame: "pd.DataFrame", columns: list[str]) -> "pd.DataFrame":
    """Return these columns of a table: whole numbers, numbers, and words ("" if
    missing)."""
    frame = frame.reindex(columns=columns)
    types = {}
    for name in columns:
        column = frame[name]
        if name in _WHOLE:
            types[name] = "Int64"
        elif name in _NUMBERS:
            types[name] = "float64"
        else:
            frame[name] = column.astype(object).where(column.notna(), "")
    return frame.astype(types)


@statistic(
    reads=("metrics", "scores", "prefixes"), columns=[*METRIC_KEYS, "fpr", "tpr"]
)
def roc(inputs: StatisticInputs) -> "pd.DataFrame":
    """Compute ROC points of each method: false and true positive rates at every
    threshold."""
    from pretrace.evaluation.curves import roc_curves

    return roc_curves(inputs.table("metrics"), inputs.scores, inputs.sets)


@statistic(
    reads=("metrics", "scores", "prefixes"),
    columns=[*METRIC_KEYS, "label", "x", "y"],
)
def density(inputs: StatisticInputs) -> "pd.DataFrame":
    """Compute densities `y` of each method's scores, scaled to `x` from 0 to 1 over
    both classes, by label."""
    from pretrace.evaluation.curves import density_curves

    return density_curves(inputs.table("metrics"), inputs.scores, inputs.sets)


@statistic(
    reads=("passes", "prefixes"),
    columns=[
        *READINGS, "evaluation_set", "draw", "separator", "prefix", "shots", "label",
        "n", *INTERVAL, "distance",
    ],
)  # fmt: skip
def shift(inputs: StatisticInputs) -> Rows:
    """Compute how far shots of each kind (`prefix`) shift the log-likelihoods (nats) of
    each class of texts."""
    from pretrace.evaluation.tokens import shifts

    return shifts(inputs.passes)


@statistic(
    reads=("passes",),
    columns=[*READINGS, "curve", "label", "x", "y", "low", "high", "weight"],
)
def tokens(inputs: StatisticInputs) -> "pd.DataFrame":
    """Compute which tokens are surprising, by entropy `x` and log-probability `y`: see
    `tokens.token_curves`."""
    from pretrace.evaluation.tokens import token_curves

    return token_curves(inputs.passes)


@statistic(reads=("answers",), columns=[*ANSWERED, "n", "answers", *INTERVAL])
def accuracy(inputs: StatisticInputs) -> Rows:
    """Compute the share of right answers about each document, and the mean of each
    control."""
    from pretrace.evaluation.answers import accuracies

    names = (inputs.model, inputs.benchmark_name)
    answers = inputs.table("answers")
    return accuracies(answers, names, inputs.resamples, inputs.pooled)


@statistic(
    reads=("answers",),
    columns=[*ANSWERED, "order", "letter", "n", "answers", *INTERVAL],
)
def accuracy_by_order(inputs: StatisticInputs) -> Rows:
    """Compute the share of right answers in each order of the options, of classes and
    of each document."""
    from pretrace.evaluation.answers import accuracies_by_order

    names = (inputs.model, inputs.benchmark_name)
    answers = inputs.table("answers")
    return accuracies_by_order(answers, names, inputs.resamples, inputs.pooled)


@statistic(
    reads=("calibration",),
    columns=[*ANSWERED, "quantity", "calibration", "letter", "n", "answers", *INTERVAL],
)
def letters(inputs: StatisticInputs) -> Rows:
    """Compute how likely each letter is, by calibration, of classes and documents
    (`letter_probabilities`)."""
    from pretrace.evaluation.answers import letter_probabilities

    calibrations = inputs.table("calibration")
    return letter_probabilities(
        calibrations, inputs.model, inputs.resamples, inputs.pooled
    )
