"""The papers' numbers, each with what this study measured in its place under each
protocol, and whether they agree.

Where a benchmark was released, both numbers are of the same texts and share their
sampling error, so they must coincide but for number formats and kernels (a fixed
tolerance) or for what is drawn (the draws' standard deviation). Where it was rebuilt,
the texts are others, and our 95 % interval decides.
"""

import csv
import math
import re
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from statistics import mean, median
from typing import Any, NamedTuple

import pandas as pd

from pretrace.evaluation.averages import Record, average, number
from pretrace.evaluation.metrics import EACH
from pretrace.methods.settings import written_parameters
from pretrace.render.artifact import PairSlugs
from pretrace.render.results import Results
from pretrace.runtime.errors import InputError
from pretrace.runtime.schema import Keys, Some, parse, read_yaml

PAPERS_FILE = "papers"
"""The key of config/published/papers.yaml among the published files, whose others are
papers."""

CRITERIA = {
    "tolerance": "fixed tolerance",
    "draws": "SD of draws",
    "interval": "our interval",
}
"""By their name in the long data, what they are called in print."""

RATES = ("auc", "tpr_at_", "accuracy")
"""Metrics from 0 to 1, whose differences have one scale."""

PUBLISHED_KEYS = (
    "paper",
    "artifact",
    "benchmark",
    "subset",
    "length",
    "model",
    "method",
    "setting",
    "metric",
)
"""The columns that identify a published number."""

_OUR_KEYS = (
    "unit", "our_method", "view", "start_token", "our_subset", "our_length",
    "evaluation_set", "our_metric",
)  # fmt: skip
_COLUMNS = (
    *PUBLISHED_KEYS, "value", "std", "protocol", *_OUR_KEYS, "our_model",
    "our_benchmark", "our_setting", "reference",
    "unjudged", "skip",
)  # fmt: skip
_AVERAGE = "average"
_COUNTS = ("n_texts", "member_ratio", "nonmember_ratio")
_BEST = {"best_eps_e": "eps", "best_k": "percentile"}
"""Metrics that name the best value of a parameter, by AUC."""
_SELECTIONS = ("default", "best_on_test", "grid")
_TOLERANCE = 0.005  # for number formats and kernels
_EXACT = 1e-9  # floating-point error in a difference of printed digits

PublishedRow = Mapping[str, str]
"""A row of config/published/{paper}.csv by column."""


class Paper(Keys):
    """A paper's name in print, and its protocols, each with a sentence that is printed
    under the table.

    `own_draw`: protocol -> the benchmarks whose shots and evaluated texts are draw 0's,
    so that nothing is drawn anew.
    """

    title: str
    protocols: Some[dict[str, str]]
    own_draw: dict[str, list[str]] = {}


def read_papers(results: Results) -> dict[str, Paper]:
    """Return the papers of config/published/papers.yaml by id."""
    path = results.path("published", PAPERS_FILE)
    return parse(read_yaml(path), dict[str, Paper], str(path))


def read_published(path: Path) -> Sequence[PublishedRow]:
    """Read the rows of a paper's file. Raises `InputError` if a column is missing or a
    value is not a number."""
    # not by pandas, which fills up short lines, and takes the first cell of long ones
    # for an index
    with Path(path).open(encoding="utf-8", newline="") as file:
        rows = list(csv.DictReader(file))
    for line, row in enumerate(rows, start=2):
        for column in _COLUMNS:
            if row.get(column) is None:
                raise InputError(f"{path}, line {line}: column '{column}' is missing.")
        try:
            float(row["value"])
        except ValueError:
            raise InputError(
                f"{path}, line {line}: value '{row['value']}' is not a number."
            ) from None
    return rows


@dataclass(frozen=True)
class Number:
    """One of our numbers, with its 95 % interval, if it has one, and its setting,
    benchmark and reference.

    If shots are drawn, it is the mean over `draws`, the numbers of the single draws.
    """

    value: float = math.nan
    low: float | None = None
    high: float | None = None
    setting: str = ""
    benchmark: str = ""
    reference: str = ""
    draws: tuple[float, ...] = ()

    @property
    def sd(self) -> float | None:
        """Return the standard deviation over draws; None with fewer than two."""
        if not self.draws:
            return None
        _, sd = average([(draw, None, None) for draw in self.draws], "draw")
        return sd


def _mean(parts: Sequence[Number | None]) -> Number | None:
    """Return the mean of numbers, without an interval, draw by draw if all are means
    over draws; None if one lacks."""
    numbers = [part for part in parts if part is not None]
    if not numbers or len(numbers) < len(parts):
        return None
    by_draw = zip(*(part.draws for part in numbers), strict=False)
    draws = tuple(map(mean, by_draw))
    value = mean(part.value for part in numbers)
    return Number(value, benchmark=numbers[0].benchmark, draws=draws)


class Numbers:
    """A study's numbers by the keys of config/published/, each table indexed once."""

    def __init__(self, results: Results) -> None:
        self._results = results
        self._tables: dict[PairSlugs, tuple[pd.DataFrame, Mapping[Any, Any]]] = {}

    def find(self, row: PublishedRow) -> Number | None:
        """Return our number for a published one, None if the study has none.

        Of the settings that match the regular expression `our_setting`, the best
        counts. Without a `reference`, there must be only one. Subset `*` is the mean
        over all subsets. A row with a `draw` is of this draw alone.
        """
        pair = row["our_model"], row["our_benchmark"]
        if row["our_metric"] in _COUNTS:
            return self._count(row)
        if not self._results.has("metrics", pair):
            return None
        if row["our_subset"] != EACH:
            return self._best(pair, row)
        frame, _ = self._table(pair)
        subsets = sorted(set(frame["subset"]) - {""})
        parts = [self._best(pair, {**row, "our_subset": subset}) for subset in subsets]
        return _mean(parts)

    def why_not(self, row: PublishedRow) -> str:
        """Return why the study has no such number."""
        if _AVERAGE in (row["model"], row["subset"]):
            return "a part of the average is missing"
        if row["our_metric"] in _COUNTS:
            if self._results.has("benchmarks", row["our_benchmark"]):
                return "the benchmark has no such texts"
            return "no model that can be asked reads the benchmark"
        if row["our_metric"] == "p_value" and self.find({**row, "our_metric": "auc"}):
            return "every score is the same, so there is nothing to test"
        return "not measured in this study"

    def _best(self, pair: PairSlugs, row: PublishedRow) -> Number | None:
        """Return the best setting's number; if shots are drawn, the mean of the best of
        each draw, or of the row's."""
        metric = "auc" if row["our_metric"] in _BEST else row["our_metric"]
        frame, places = self._table(pair)
        *keys, _ = _OUR_KEYS
        of_row = (*(row[key] for key in keys), metric)
        rows = frame.iloc[places.get(of_row, [])]
        rows = rows[rows["setting"].str.fullmatch(row["our_setting"])]
        if row["reference"]:
            rows = rows[rows["reference"] == row["reference"]]
        own_draw = row.get("draw", "")
        if own_draw:
            is_own = rows["draw"].isna() | rows["draw"].eq(int(own_draw))
            rows = rows[is_own].assign(draw=None)
        if rows.empty or rows["reference"].nunique() > 1:
            return None
        if rows["draw"].isna().any():
            return _best_of(rows, pair, row)
        bests = [_best_of(drawn, pair, row) for _, drawn in rows.groupby("draw")]
        draws = tuple(best.value for best in bests)
        if len(draws) == 1:
            return replace(bests[0], draws=draws)
        return replace(bests[0], draws=draws, value=mean(draws), low=None, high=None)

    def _table(self, pair: PairSlugs) -> tuple[pd.DataFrame, Mapping[Any, Any]]:
        """Return a pair's metrics and Welch's p-values, chosen settings first, and the
        rows' places by `_OUR_KEYS`."""
        if pair not in self._tables:
            frames = [self._results.read("metrics", pair)]
            if self._results.has("tests", pair):
                tests = self._results.read("tests", pair)
                welch = tests[tests["test"] == "welch"]
                about = welch.assign(metric="p_value", value=welch["p"])
                frames.append(about.assign(low=None, high=None))
            if self._results.has("letters", pair):
                frames.append(_in_range(self._results.read("letters", pair)))
            frame = pd.concat(frames)
            frame = frame[frame["selection"].isin(_SELECTIONS)]
            length = frame["length"].astype("Int64").astype("string").fillna("")
            order = frame["selection"].map(_SELECTIONS.index)
            frame = frame.assign(length=length, order=order)
            frame = frame.sort_values("order", kind="stable")
            keys = [key.removeprefix("our_") for key in _OUR_KEYS]
            self._tables[pair] = frame, frame.groupby(keys).indices
        return self._tables[pair]

    def _count(self, row: PublishedRow) -> Number | None:
        if not self._results.has("benchmarks", row["our_benchmark"]):
            return None
        texts = self._results.read("benchmarks", row["our_benchmark"])
        if row["our_subset"]:
            texts = texts[texts["subset"] == row["our_subset"]]
        if row["our_length"] and texts["length"].notna().any():
            is_as_long = texts["length"].eq(int(row["our_length"])).fillna(False)
            texts = texts[is_as_long.astype(bool)]
        if texts.empty:
            return None
        share = float(texts["label"].eq(1).mean())
        values = {
            "n_texts": float(len(texts)),
            "member_ratio": share,
            "nonmember_ratio": 1 - share,
        }
        return Number(values[row["our_metric"]], benchmark=row["our_benchmark"])


def _in_range(letters: pd.DataFrame) -> pd.DataFrame:
    """Return the share of non-members that are well calibrated as rows of metrics,
    named `proportion`."""
    is_class = (letters["label"] == 0) & (letters["document"] == "")
    own = letters[(letters["quantity"] == "in_range") & is_class]
    return own.assign(
        unit="document",
        method="de_cop",
        view="",
        start_token="",
        evaluation_set="all",
        setting="calibration=" + own["calibration"],
        metric="proportion",
        selection="grid",
        draw=None,
    )


def _best_of(rows: pd.DataFrame, pair: PairSlugs, row: PublishedRow) -> Number:
    ranked = rows.sort_values("value", ascending=False, kind="stable")
    ranked = ranked[ranked["setting"] == ranked["setting"].iloc[0]]
    intervals_first = ranked["low"].isna().sort_values(kind="stable").index
    best = ranked.loc[intervals_first].iloc[0]
    value = best["value"]
    low = number(best["low"])
    high = number(best["high"])
    parameter = _BEST.get(row["our_metric"])
    if parameter:
        value = written_parameters(best["setting"])[parameter]
        low = high = None
    _, benchmark = pair
    setting = best["setting"]
    return Number(float(value), low, high, setting, benchmark, best["reference"])


def compare_published(
    results: Results, artifacts: Iterable[str], gone: Mapping[str, str]
) -> pd.DataFrame:
    """Return a row for each published number of these artifacts (`{paper}_{artifact}`)
    and of their papers' text, by protocol: ours, the difference, the criterion, whether
    they agree, else a `reason`; `skip`: it is not compared.

    `gone`: models and benchmarks that the study leaves out -> why. Averages over models
    or subsets are those of the measured numbers behind them, and have no interval.
    """
    wanted = set(artifacts)
    numbers = Numbers(results)
    compared = []
    for paper, about in read_papers(results).items():
        is_wanted = any(slug.startswith(f"{paper}_") for slug in wanted)
        if not is_wanted or not results.has("published", paper):
            continue
        rows = []
        for row in read_published(results.path("published", paper)):
            if row["artifact"] == "text" or f"{paper}_{row['artifact']}" in wanted:
                rows.append(row)
        for protocol in about.protocols:
            own_draw = about.own_draw.get(protocol, ())
            own = []
            for row in rows:
                protocols = row["protocol"] or protocol
                if protocol in protocols.split(";"):
                    draw = "0" if row["benchmark"] in own_draw else ""
                    own.append({**row, "draw": draw})
            ours = [numbers.find(row) for row in own]
            for over in ("subset", "model"):
                ours = _fill_averages(own, ours, over)
            for row, measured in zip(own, ours, strict=True):
                record = _record(row, protocol, measured, results)
                record["reason"] = row["skip"]
                if not (row["skip"] or measured):
                    left_out = gone.get(row["our_model"])
                    left_out = left_out or gone.get(row["our_benchmark"])
                    record["reason"] = left_out or numbers.why_not(row)
                compared.append(record)
    return pd.DataFrame(compared)


def _fill_averages(
    rows: Sequence[PublishedRow], ours: Sequence[Number | None], over: str
) -> list[Number | None]:
    """Fill in the averages: means over the models or subsets that the paper prints
    beside them."""
    keys = [key for key in PUBLISHED_KEYS if key not in (over, "setting")]
    parts = defaultdict(list)
    filled = list(ours)
    averages = {}
    for place, row in enumerate(rows):
        if row["skip"]:
            continue
        group = tuple(row[key] for key in keys)
        if row[over] == _AVERAGE:
            averages[place] = group
        else:
            parts[group].append(ours[place])
    for place, group in averages.items():
        filled[place] = _mean(parts[group])
    return filled


def _record(
    row: PublishedRow, protocol: str, ours: Number | None, results: Results
) -> Record:
    """Return a row of the long data."""
    number = ours or Number()
    entry = results.entries.get(number.benchmark, {})
    verdict = Agreement()
    if ours:
        verdict = judge(row, ours, rebuilt=bool(entry.get("rebuilt", False)))
    inferred = sorted(re.findall(r"(\w+)_source=inferred", row["setting"]))
    keys = {key: row[key] for key in PUBLISHED_KEYS}
    return keys | {
        "inferred": ", ".join(inferred),
        "published": row["value"],
        "published_std": row["std"] or None,
        "protocol": protocol,
        "measured": number.value,
        "low": number.low,
        "high": number.high,
        "draws": len(ours.draws) if ours else None,
        "sd": number.sd,
        "difference": _difference(row, ours.value) if ours else None,
        **verdict._asdict(),
        "our_benchmark": number.benchmark,
        "our_setting": number.setting,
        "our_reference": number.reference,
        "skipped": bool(row["skip"]),
    }


def _difference(row: PublishedRow, value: float) -> float:
    """Return measured less published; for p-values in decades, the logarithm of their
    ratio."""
    if row["metric"] == "p_value":
        return math.log10(max(value, 1e-300) / float(row["value"]))
    return value - float(row["value"])


class Agreement(NamedTuple):
    """Whether a number agrees, "true" or "false"; without a `criterion` it is "", and
    `unjudged` says why.

    `tolerance`: the largest difference that the criterion, a key of `CRITERIA`, allows;
    None for an interval.
    """

    criterion: str = ""
    tolerance: float | None = None
    agrees: str = ""
    unjudged: str = ""


def judge(row: PublishedRow, ours: Number, *, rebuilt: bool) -> Agreement:
    """Judge the agreement of a number as printed with ours, to its last digit.

    The standard deviation over resamples that a paper prints beside a number is its
    tolerance.
    """
    published = float(row["value"])
    rounding = 0.5 * 10.0 ** -len(row["value"].partition(".")[2]) + _EXACT
    if row["unjudged"]:
        return Agreement(unjudged=row["unjudged"])
    if rebuilt:
        if ours.low is None or ours.high is None:
            return Agreement(unjudged="of a rebuilt benchmark, and without an interval")
        agrees = ours.low - rounding <= published <= ours.high + rounding
        return Agreement("interval", None, str(agrees).lower())
    sd = float(row["std"]) if row["std"] else ours.sd
    if len(ours.draws) == 1 and sd is None:
        one_draw = "shots are drawn, and this study has one draw"
        return Agreement(unjudged=f"{one_draw}: no standard deviation of draws")
    least = 0.0 if row["metric"] in _COUNTS else _TOLERANCE
    tolerance = max(least, sd or 0.0) + rounding
    criterion = "tolerance" if sd is None else "draws"
    within = abs(ours.value - published) <= tolerance
    return Agreement(criterion, tolerance, str(within).lower())


def rates(compared: pd.DataFrame) -> pd.DataFrame:
    """Return the measured AUCs and rates, which have one scale."""
    is_rate = compared["metric"].str.startswith(RATES)
    return compared[compared["measured"].notna() & is_rate]


def summarise_comparison(compared: pd.DataFrame) -> dict[str, Any]:
    """Count the numbers, how many were `measured`, can be `judged` and `agree`, and by
    which `criteria`; give their rates' `median` difference, the `largest` and the
    median `distance` (None if none was measured).
    """
    apart = rates(compared)["difference"].tolist()
    criteria = set(compared["criterion"])
    return {
        "numbers": len(compared),
        "measured": int(compared["measured"].notna().sum()),
        "judged": int(compared["agrees"].ne("").sum()),
        "agree": int(compared["agrees"].eq("true").sum()),
        "criteria": [words for key, words in CRITERIA.items() if key in criteria],
        "median": median(apart) if apart else None,
        "largest": max(apart, key=abs) if apart else None,
        "distance": median(map(abs, apart)) if apart else None,
    }
