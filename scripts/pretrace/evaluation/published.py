"""The papers' numbers, each with what this study measured in its place under each protocol, and whether they agree.

Where a benchmark was released, both numbers are of the same texts and share their sampling error, so they must
coincide but for number formats and kernels (a fixed tolerance) or for what is drawn (the draws' standard deviation).
Where it was rebuilt, the texts are others, and our 95 % interval decides.
"""

import csv
import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from statistics import median
from typing import Any

import pandas as pd

from pretrace.evaluation.measured import Evaluated, Found, Lookup, Measured, mean_of
from pretrace.evaluation.published_names import NamesFile
from pretrace.questions.known import METHODS
from pretrace.runtime.errors import InputError
from pretrace.runtime.schema import parse, read_yaml

CRITERIA = {"tolerance": "fixed tolerance", "draws": "SD of draws", "interval": "our interval"}
"""By their name in the long data, what they are called in print."""

_EXACT = 1e-9
"""Tolerance for floating-point error in a difference of printed digits."""


@dataclass(frozen=True)
class Agreement:
    """`criterion` is a key of `CRITERIA`, `tolerance` the largest difference it allows (none for an interval).

    Without a criterion `agrees` is None, and `unjudged` says why.
    """

    criterion: str = ""
    tolerance: float | None = None
    agrees: bool | None = None
    unjudged: str = ""


def judge(published: str, printed_sd: str, ours: Found, lookup: Lookup, *, rebuilt: bool) -> Agreement:
    """Judge the agreement of a number as printed with ours, to its last digit.

    `printed_sd`: the standard deviation over resamples that the paper prints beside it, "" without one.
    """
    rounding = 0.5 * 10.0 ** -len(published.partition(".")[2]) + _EXACT
    apart = abs(ours.value - float(published))
    if lookup.unjudged:
        return Agreement(unjudged=lookup.unjudged)
    if rebuilt:
        if ours.low is None or ours.high is None:
            return Agreement(unjudged="of a rebuilt benchmark, and without an interval")
        inside = ours.low - rounding <= float(published) <= ours.high + rounding
        return Agreement("interval", None, inside)
    if len(ours.draws) == 1 and not printed_sd:
        return Agreement(
            unjudged="shots are drawn, and this study has one draw: no standard deviation of draws"
        )
    drawn = float(printed_sd) if printed_sd else ours.sd
    allowed = max(lookup.tolerance, drawn or 0.0) + rounding
    return Agreement("tolerance" if drawn is None else "draws", allowed, apart <= allowed)


NAMES = "names"
"""The key of config/published/names.yaml among the published files, whose others are papers."""

RATES = ("auc", "tpr_at_")
"""Metrics from 0 to 1, whose differences have one scale."""

AVERAGE = "average"
COLUMNS = (
    "paper", "artifact", "benchmark", "subset", "length", "model", "method", "setting", "metric", "value",
)  # fmt: skip

Row = Mapping[str, str]
"""A row of config/published/{paper}.csv by column."""


@dataclass(frozen=True)
class Compared:
    """A published number under one protocol; without `found` there is a `reason`, without `lookup` it is skipped."""

    row: Row
    protocol: str
    lookup: Lookup | None = None
    found: Found | None = None
    reason: str = ""
    agreement: Agreement = field(default_factory=Agreement)

    @property
    def skipped(self) -> bool:
        return self.lookup is None

    @property
    def inferred(self) -> str:
        """Return the columns that the paper does not state and that are guessed: `model`, `length`."""
        guessed = (key for key, value in _settings_of(self.row).items() if value == "inferred")
        return ", ".join(sorted(key.removesuffix("_source") for key in guessed))

    @property
    def published(self) -> float:
        return float(self.row["value"])

    @property
    def difference(self) -> float | None:
        """Return measured less published; for p-values in decades, the logarithm of their ratio."""
        if self.found is None:
            return None
        if self.row["metric"] != "p_value":
            return self.found.value - self.published
        return math.log10(max(self.found.value, 1e-300) / self.published)


@dataclass(frozen=True)
class Names:
    """config/published/names.yaml."""

    rules: Sequence[Mapping[str, Any]]
    parameters: Mapping[str, Mapping[str, Mapping[str, Any]]]
    papers: Mapping[str, Mapping[str, Any]]


def read_names(path: Path) -> Names:
    """Read the file and check it against its schema."""
    given = read_yaml(path)
    parse(given, NamesFile, str(path))
    return Names(**given)


def compare(results: Evaluated, artifacts: Iterable[str], gone: Mapping[str, str]) -> list[Compared]:
    """Compare every published number of these artifacts (`{paper}_{artifact}`), and of their papers' text, by protocol.

    `gone`: models and benchmarks that the study leaves out -> why. Averages over models or subsets are those of the
    measured numbers behind them, and have no interval.
    """
    names = read_names(results.published[NAMES])
    wanted = set(artifacts)
    measured = Measured(results)
    compared: list[Compared] = []
    for paper, about in names.papers.items():
        if paper not in results.published or not any(slug.startswith(f"{paper}_") for slug in wanted):
            continue
        rows = [
            row
            for row in read_published(results.published[paper])
            if row["artifact"] == "text" or f"{paper}_{row['artifact']}" in wanted
        ]
        for protocol, its in about["protocols"].items():
            rules = [*names.rules, *its["rules"]]
            numbers = [_compared(row, protocol, rules, names, measured, gone) for row in rows]
            compared += _averaged(numbers)
    return [_judged(number, results) for number in compared]


def read_published(path: Path) -> list[Row]:
    """Read the rows of a paper's file. Raises `InputError` if a column is missing or a value is not a number."""
    with Path(path).open(encoding="utf-8", newline="") as file:
        rows: list[Row] = list(csv.DictReader(file))
    for number, row in enumerate(rows, start=2):
        if missing := [column for column in COLUMNS if row.get(column) is None]:
            raise InputError(f"{path}, line {number}: column '{missing[0]}' is missing.")
        try:
            float(row["value"])
        except ValueError:
            raise InputError(f"{path}, line {number}: value '{row['value']}' is not a number.") from None
    return rows


def _settings_of(row: Row) -> dict[str, str]:
    return dict(part.split("=", 1) for part in row["setting"].split(";") if part)


def looked_up(row: Row, rules: Iterable[Mapping[str, Any]], parameters: Mapping[str, Any]) -> Lookup | str:
    """Return the lookup of a row, or the reason why it has none."""
    settings = _settings_of(row)
    facts = {**{key: row[key] for key in COLUMNS}, **settings}
    use: dict[str, Any] = {key: row[key] for key in ("model", "subset", "method", "metric")}
    use |= {"benchmark": [row["benchmark"]], "length": int(row["length"]) if row["length"] else None}
    for rule in rules:
        wanted = {key: [words] if isinstance(words, str) else words for key, words in rule["where"].items()}
        if all(facts.get(key, "") in values for key, values in wanted.items()):
            use |= rule["use"]
    if "skip" in use:
        return str(use["skip"])
    if use.pop("strict", False) and use["metric"].startswith("tpr_at"):
        use["metric"] += "_strict"
    fixed, tuned = dict(use.get("fixed", {})), use.pop("tuned", False)
    free = set()
    for key, parameter in parameters.get(use["method"], {}).items():
        if settings.get(key) == "tuned":
            fixed.pop(parameter["is"], None)
            free.add(parameter["is"])
        elif key in settings:
            fixed[parameter["is"]] = round(float(settings[key]) * parameter.get("times", 1), 9)
    method = METHODS.get(use["method"])
    if method is not None and not tuned:
        fixed = {name: method.defaults[name] for name in method.grid if name not in free} | fixed
    use["benchmarks"] = tuple(benchmark.format(**facts) for benchmark in use.pop("benchmark"))
    use["reference"] = use.get("reference", "").format(**facts)
    return Lookup(**use | {"fixed": fixed})


def _compared(
    row: Row,
    protocol: str,
    rules: Sequence[Mapping[str, Any]],
    names: Names,
    measured: Measured,
    gone: Mapping[str, str],
) -> Compared:
    lookup = looked_up(row, rules, names.parameters)
    if isinstance(lookup, str):
        return Compared(row, protocol, reason=lookup)
    if AVERAGE in (row["model"], row["subset"]):
        return Compared(row, protocol, lookup, reason="a part of the average is missing")
    ours = measured.find(lookup)
    if ours is not None:
        return Compared(row, protocol, lookup, ours)
    reasons = [gone[name] for name in (lookup.model, *lookup.benchmarks) if name in gone]
    return Compared(row, protocol, lookup, reason=reasons[0] if reasons else measured.why_not(lookup))


def _judged(number: Compared, results: Evaluated) -> Compared:
    if number.found is None or number.lookup is None:
        return number
    rebuilt = bool(results.entries.get(number.found.benchmark, {}).get("rebuilt", False))
    agreement = judge(
        number.row["value"], number.row.get("std") or "", number.found, number.lookup, rebuilt=rebuilt
    )
    return replace(number, agreement=agreement)


def _averaged(compared: Sequence[Compared]) -> list[Compared]:
    """Fill in the averages: means over the models or subsets that the paper prints beside them."""
    filled = list(compared)
    for key in ("subset", "model"):
        parts: dict[tuple[str, ...], list[Compared]] = {}
        for number in filled:
            if number.row[key] != AVERAGE and not number.skipped:
                parts.setdefault(_beside(number.row, key), []).append(number)
        for index, number in enumerate(filled):
            averaged = parts.get(_beside(number.row, key), []) if number.row[key] == AVERAGE else []
            measured = [part.found for part in averaged if part.found is not None]
            if measured and len(measured) == len(averaged) and not number.skipped:
                filled[index] = replace(number, found=mean_of(measured, measured[0].benchmark), reason="")
    return filled


def _beside(row: Row, over: str) -> tuple[str, ...]:
    keys = ("artifact", "benchmark", "subset", "length", "model", "method", "metric")
    return tuple(row[key] for key in keys if key != over)


def frame_of(compared: Sequence[Compared]) -> pd.DataFrame:
    """Return every number once, in the papers' order."""
    return pd.DataFrame([_record(number) for number in compared])


def _record(number: Compared) -> dict[str, Any]:
    keys = ("paper", "artifact", "benchmark", "subset", "length", "model", "method", "setting", "metric")
    ours = number.found
    return {key: number.row[key] for key in keys} | {
        "inferred": number.inferred,
        "published": number.published,
        "published_std": number.row.get("std") or None,
        "protocol": number.protocol,
        "measured": ours.value if ours else None,
        "low": ours.low if ours else None,
        "high": ours.high if ours else None,
        "draws": len(ours.draws) if ours else None,
        "sd": ours.sd if ours else None,
        "difference": number.difference,
        "criterion": number.agreement.criterion,
        "tolerance": number.agreement.tolerance,
        "agrees": {True: "true", False: "false", None: ""}[number.agreement.agrees],
        "unjudged": number.agreement.unjudged,
        "our_benchmark": ours.benchmark if ours else "",
        "our_setting": ours.setting if ours else "",
        "our_reference": ours.reference if ours else "",
        "reason": number.reason,
    }


def rates(compared: Sequence[Compared]) -> list[Compared]:
    """Return the measured AUCs and rates, which have one scale."""
    return [
        number for number in compared if number.found is not None and number.row["metric"].startswith(RATES)
    ]


def judged(compared: Sequence[Compared]) -> list[bool]:
    """Tell whether each number agrees, for the numbers that can be judged."""
    return [number.agreement.agrees for number in compared if number.agreement.agrees is not None]


def summary(compared: Sequence[Compared]) -> dict[str, Any]:
    """Count the numbers, how many were `measured`, can be `judged` and `agree`, and by which `criteria`; give
    their rates' `median` difference, the `largest` and the median `distance` (None if none was measured).
    """
    apart = [number.difference for number in rates(compared) if number.difference is not None]
    criteria = {number.agreement.criterion for number in compared}
    return {
        "numbers": len(compared),
        "measured": sum(number.found is not None for number in compared),
        "judged": len(judged(compared)),
        "agree": sum(judged(compared)),
        "criteria": [words for criterion, words in CRITERIA.items() if criterion in criteria],
        "median": median(apart) if apart else None,
        "largest": max(apart, key=abs) if apart else None,
        "distance": median(map(abs, apart)) if apart else None,
    }
