"""A made-up study on disk in the contract's columns, for the tests of the render
room."""

from collections import defaultdict
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
from evaluation_tables import texts

from pretrace.evaluation.curves import roc_curves
from pretrace.evaluation.placebos import PLACEBO_COLUMNS as PLACEBO_COLUMNS
from pretrace.evaluation.placebos import PLACEBO_KEYS as PLACEBO_KEYS
from pretrace.evaluation.scores import EvaluationSet, scores_of
from pretrace.evaluation.statistics import STATISTICS
from pretrace.evaluation.statistics import typed_columns as typed_statistic
from pretrace.evaluation.tokens import Passes, token_curves
from pretrace.passes.index import PassIndex
from pretrace.render import rendering
from pretrace.render.artifact import SUFFIXES, Artifact
from pretrace.render.catalogue import check
from pretrace.render.results import Results
from pretrace.render.tables.table import Row, Table
from pretrace.runtime.files import write_json, write_parquet
from pretrace.views.readings import PassKey, Reading

MODEL = "tiny-135m"
BENCHMARK = "speeches"
OTHER = "other_speeches"
LENGTH = 64
TOKEN = "<|endoftext|>"
MEMBERS = NONMEMBERS = 160
SEPARATION = {
    "loss": 0.33,
    "zlib": 0.18,
    "lowercase": 0.05,
    "min_k": 0.36,
    "min_k_pp": 0.42,
    "surp": 0.30,
    "dc_pdd": 0.47,
    "blind": 2.1,
}
"""Distance of the class means in standard deviations: AUC = Phi(d / sqrt 2)."""

ABOUT = {"source": "speeches", "language": "en"}
ENTRIES = {
    BENCHMARK: {"title": "Speeches, new against old"} | ABOUT,
    OTHER: {"title": "Speeches, one old against others"} | ABOUT,
}
PANEL = {"model": MODEL, "benchmark": BENCHMARK, "length": LENGTH}
OTHER_PANEL = {"model": MODEL, "benchmark": OTHER, "length": LENGTH}

VIEW = dict.fromkeys(("altered", "prefix", "subset"), "") | {
    "view": "original",
    "statistics": "full",
}
VIEW |= {
    "start_token": TOKEN,
    "inner_start": False,
    "past_context": False,
    "length": LENGTH,
}

A_GRID = (0.001, 0.01, 0.1, 1, 10)
EPS_GRID = tuple(step / 2 for step in range(1, 7))
PERCENTILES = tuple(range(10, 51, 10))
TPR = "tpr_at_5_fpr"


def keys(method: str, setting: str, selection: str, **other: Any) -> dict[str, Any]:
    """The keys of metrics and tests, as the blind classifier and the others have
    them."""
    reading = (
        {"view": "", "start_token": ""}
        if method == "blind"
        else {"view": "original", "start_token": TOKEN}
    )
    about = {
        "unit": "text",
        "method": method,
        "setting": setting,
        **reading,
        "draw": pd.NA,
    }
    about |= {
        "reference": "old_speeches" if method == "dc_pdd" else "",
        "subset": "",
        "length": LENGTH,
    }
    return about | {"evaluation_set": "all", "selection": selection} | other


def metric_row(
    method: str, setting: str, selection: str, value: float, *, metric: str = "auc",
    interval: bool = True,
    marks: str = "", **other: Any,
) -> dict[str, Any]:  # fmt: skip
    half = 1.96 * 0.28 / np.sqrt(MEMBERS / 4) / np.sqrt(4) * 1.4
    return keys(method, setting, selection, **other) | {
        "n_members": MEMBERS,
        "n_nonmembers": NONMEMBERS,
        "metric": metric,
        "value": value,
        "low": max(0.0, value - half) if interval else np.nan,
        "high": min(1.0, value + half) if interval else np.nan,
        "marks": marks,
    }


def default_of(method: str) -> str:
    return {
        "min_k": "k=0.2",
        "min_k_pp": "k=0.2",
        "surp": "eps=2;percentile=40",
        "dc_pdd": "a=0.01",
    }.get(method, "")


def scores_frame(separation: dict[str, float], seed: int) -> pd.DataFrame:
    rng = np.random.default_rng(seed)
    ids = [f"t{i:04d}" for i in range(MEMBERS + NONMEMBERS)]
    frames = []
    for method, distance in separation.items():
        score = (
            rng.normal(size=len(ids))
            + np.r_[np.full(MEMBERS, distance), np.zeros(NONMEMBERS)]
        )
        row = keys(method, default_of(method), "")
        frame = pd.DataFrame({"id": ids, "score": score})
        for key in ("unit", "method", "setting", "view", "start_token", "reference"):
            frame[key] = row[key]
        frames.append(
            frame.assign(draw=pd.array([pd.NA] * len(ids), "Int64"), shots_used=pd.NA)
        )
    return pd.concat(frames, ignore_index=True)


def auc_of(scores: pd.DataFrame, method: str) -> float:
    values = scores[scores["method"] == method].sort_values("id")["score"].to_numpy()
    return float((values[:MEMBERS, None] > values[None, MEMBERS:]).mean())


def metrics_frame(scores: pd.DataFrame) -> pd.DataFrame:
    rows = []
    for method in scores["method"].unique():
        rows += _rows(scores, str(method))
    return pd.DataFrame(rows)


def _rows(scores: pd.DataFrame, method: str) -> Iterator[dict[str, Any]]:
    auc = auc_of(scores, method)
    default = default_of(method)
    marks = "convention_default" if method == "surp" else ""
    gain = 0.012 if default else 0.0
    chosen = "|".join([default] * 5) if default else ""
    for metric, value in (("auc", auc), (TPR, 0.05 + (auc - 0.5) * 0.5)):
        yield metric_row(method, default, "default", value, metric=metric, marks=marks)
        yield metric_row(method, default, "best_on_test", value + gain, metric=metric)
        yield metric_row(method, chosen, "held_out", value - gain / 3, metric=metric)
    if method in ("min_k", "min_k_pp"):
        for step in range(1, 11):
            yield metric_row(
                method,
                f"k={step / 10:g}",
                "grid",
                auc + 0.01 - abs(step - 3) * 0.005,
                interval=False,
            )
    if method == "dc_pdd":
        for a, change in zip(A_GRID, (-0.05, 0, 0.011, -0.02, -0.036), strict=True):
            yield metric_row(method, f"a={a:g}", "grid", auc + change)
        yield metric_row(
            method,
            "a=0.01;upper_bound=false;first_occurrence=false",
            "grid",
            auc - 0.06,
        )
        yield metric_row(method, "a=0.01;first_occurrence=false", "grid", auc - 0.02)
    if method == "surp":
        for eps in EPS_GRID:
            for percentile in PERCENTILES:
                value = (
                    auc + 0.05 - 0.009 * abs(eps - 2.5) - 0.0011 * abs(percentile - 40)
                )
                empty = "over_5_percent_empty" if eps <= 1 and percentile <= 30 else ""
                yield metric_row(
                    method,
                    f"eps={eps:g};percentile={percentile}",
                    "grid",
                    value,
                    interval=False,
                    marks=empty,
                )


def tests_frame(metrics: pd.DataFrame) -> pd.DataFrame:
    """Bootstrap tests on held-out settings of every method against min_k and against
    blind."""
    held = metrics[metrics["selection"] == "held_out"]
    frames = []
    for baseline in ("min_k", "blind"):
        own = held[held["method"] != baseline]
        against = held[held["method"] == baseline].set_index("metric")["value"]
        gain = own["value"] - own["metric"].map(against)
        p = np.exp(-gain.abs() * 90)
        tests = own[[*keys("", "", ""), "metric"]].assign(
            baseline=baseline, test="bootstrap", difference=gain
        )
        frames.append(tests.assign(low=gain - 0.02, high=gain + 0.02, p=p))
    return pd.concat(frames, ignore_index=True).dropna(subset="difference")


def texts_frame() -> pd.DataFrame:
    count = MEMBERS + NONMEMBERS
    document = [f"d{i % 8 if i < MEMBERS else 8}" for i in range(count)]
    words = " ".join(["word"] * LENGTH)
    table = texts(
        np.arange(count) < MEMBERS, document=document, length=LENGTH, text=words
    )
    return table.assign(text_id=[f"t{i:04d}" for i in range(count)])


def pass_table(seed: int = 5) -> "pd.DataFrame":
    """Token statistics of every text: members' surprising tokens are a little
    likelier."""
    rng = np.random.default_rng(seed)
    rows = []
    for i in range(MEMBERS + NONMEMBERS):
        entropies = rng.gamma(2.2, 1.25, size=80).clip(0.01, 9)
        logprobs = -rng.gamma(1.1, 0.25 + entropies * 0.85)
        surprised = (rng.random(80) < 0.12) & (entropies < 2)
        logprobs[surprised] -= rng.gamma(
            3, 1.0 if i < MEMBERS else 1.25, size=int(surprised.sum())
        )
        rows.append(
            {
                "text_id": f"t{i:04d}",
                "variant": 0,
                "logprobs": logprobs,
                "entropies": entropies,
            }
        )
    return pd.DataFrame(rows)


READING = Reading("original", TOKEN)


def statistic(name: str, rows: Any) -> pd.DataFrame:
    """The table of a statistic as its job writes it."""
    frame = rows if isinstance(rows, pd.DataFrame) else pd.DataFrame(list(rows))
    return typed_statistic(frame, STATISTICS[name].columns)


class IndexOf(PassIndex):
    """A pass index whose passes a function reads."""

    def __init__(
        self, manifest: dict[str, Any], read: Callable[[PassKey], pa.Table]
    ) -> None:
        super().__init__(manifest, Path())
        self.__dict__["read"] = read


def passes(table: pd.DataFrame) -> Passes:
    """The passes whose one stored table is this."""
    index = IndexOf({"views": [VIEW]}, lambda _: pa.Table.from_pandas(table))
    return Passes(index, texts_frame(), [EvaluationSet()], 200, "made up")


def make_study(folder: Path, *, separation: dict[str, float] | None = None) -> Results:
    """Write one model on two benchmarks, the first with placebos, and give the results
    that read them."""
    benchmark_separation = separation or SEPARATION
    weaker = {
        method: min(value * 0.7, 1.5) for method, value in benchmark_separation.items()
    }
    paths: dict[str, dict[Any, Path]] = defaultdict(dict)
    for seed, (benchmark, separated) in enumerate(
        [(BENCHMARK, benchmark_separation), (OTHER, weaker)]
    ):
        scores = scores_frame(separated, seed + 1)
        metrics = metrics_frame(scores)
        frames = {"metrics": metrics, "tests": tests_frame(metrics)}
        curves = roc_curves(
            typed(metrics), scores_of([scores], texts_frame()), [EvaluationSet()]
        )
        frames["roc"] = statistic("roc", curves)
        frames["tokens"] = statistic("tokens", token_curves(passes(pass_table())))
        if benchmark == BENCHMARK:
            frames["placebos"] = placebos_frame(metrics)
        for kind, frame in frames.items():
            path = folder / kind / f"{benchmark}.parquet"
            paths[kind][MODEL, benchmark] = path
            write_parquet(path, typed(frame))
        paths["benchmarks"][benchmark] = folder / "benchmarks" / f"{benchmark}.parquet"
        write_parquet(paths["benchmarks"][benchmark], texts_frame())
        paths["passes"][MODEL, benchmark] = folder / "passes" / f"{benchmark}.json"
        write_json(paths["passes"][MODEL, benchmark], {"views": [VIEW]})
    return Results(paths, ENTRIES)


PLACEBO_VALUES = (0.45, 0.55, 0.62, 0.58)


def placebos_frame(metrics: pd.DataFrame) -> pd.DataFrame:
    """Four placebos of each chosen setting, with the same values for all methods."""
    chosen = metrics[metrics["selection"] != "grid"].drop_duplicates(PLACEBO_KEYS)
    mean = np.mean(PLACEBO_VALUES)
    sd = np.std(PLACEBO_VALUES, ddof=1)
    own = chosen.assign(document="new", placebo=False, mean=mean, sd=sd)
    higher = own["value"].to_numpy() <= np.array(PLACEBO_VALUES)[:, None]
    own["rank"] = 1 + higher.sum(axis=0)
    own["placebos"] = len(PLACEBO_VALUES)
    alone = dict.fromkeys(("mean", "sd", "rank", "placebos"), np.nan)
    alone["placebo"] = True
    others = []
    for number, value in enumerate(PLACEBO_VALUES):
        others.append(chosen.assign(document=f"old{number}", value=value, **alone))
    return pd.concat([own, *others], ignore_index=True)[PLACEBO_COLUMNS]


def typed(frame: pd.DataFrame) -> pd.DataFrame:
    """Nullable whole numbers as the contract has them."""
    whole = frame.columns.intersection(
        ["draw", "length", "shots_used", "n_members", "n_nonmembers"]
    )
    return frame.astype(dict.fromkeys(whole, "Int64"))


def artifact(renderer: str, **other: Any) -> dict[str, Any]:
    named = {
        "slug": f"a_{renderer}",
        "title": f"Made up for {renderer}",
        "renderer": renderer,
    }
    return (
        named
        | {"metric": "auc", "evaluation_set": "all", "panels": [PANEL], "options": {}}
        | other
    )


def draw(written: dict[str, Any], results: Results) -> Any:
    """What the artifact's renderer gives, before anything is written."""
    artifact = Artifact.model_validate(written)
    return check(artifact.renderer, artifact.options, artifact.metric).function()(
        artifact, results
    )


def render(written: dict[str, Any], results: Results, folder: Path) -> dict[str, Path]:
    """The files of the artifact with these keys."""
    return rendering.render(Artifact.model_validate(written), results, folder)


def written(drawing: Any, folder: Path) -> dict[str, bytes]:
    """The files of a figure."""
    files = {suffix: folder / f"figure.{suffix}" for suffix in SUFFIXES["figure"]}
    drawing.write(files)
    return {suffix: path.read_bytes() for suffix, path in files.items()}


def changed(
    results: Results,
    folder: Path,
    kind: str,
    change: Callable[[pd.DataFrame], pd.DataFrame],
) -> Results:
    """The same results with the benchmark's metrics or tests changed."""
    path = folder / f"{kind}.parquet"
    write_parquet(path, change(results.read(kind, (MODEL, BENCHMARK))))
    return beside(results, kind, {(MODEL, BENCHMARK): path})


def beside(results: Results, kind: str, files: dict[Any, Path]) -> Results:
    """The same results with further files of a kind, or others in their place."""
    return Results(
        {**results.paths, kind: {**results.paths.get(kind, {}), **files}},
        results.entries,
    )


def row_of(table: Table, label: str, block: int = 0) -> Row:
    return next(row for row in table.blocks[block].rows if row.label == label)
