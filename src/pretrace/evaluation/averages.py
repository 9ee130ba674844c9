"""Means and differences of estimates, with what may be said of their error."""

import math
from collections.abc import Callable, Iterable, Sequence
from statistics import mean, stdev
from typing import Any

import pandas as pd

Record = dict[str, Any]
"""A row of a table by column; which columns, the function says that gives it.

A row of a table's or figure's data, an estimate, is one value of a method on a panel:

panel               the panel's number in its artifact; of a mean, that of its last one
model, benchmark, subset, length, view, draw (of shots), separator, unit, start_token,
evaluation_set, reference, method, setting, metric
selection           how the setting was chosen: `default`, `best_on_test`, `held_out`
control             the method does not see the model
average             what the row is a mean over (`panel`, `subset`, `split`, ...), or ""
n_members, n_nonmembers
value, low, high    with the ends of the 95 % interval
marks               what restricts the value, joined by semicolons (`metrics.marks_in`)
sd                  standard deviation over draws or repetitions, without an interval
baseline            the method that the next three compare with; "" without a test
difference, p, p_holm (after Holm's correction within the column)
star                significantly above the baseline

Where what is shown needs them, there are also:

bold, runner_up     the highest and the second highest value of its group, as printed
null_model          the model read neither class; false_alarm: something is found in it
draws, splits       how many draws of shots, or splits, the row is a mean over
rank, placebos      place among placebos (1 is above all), and their number
placebo_mean, placebo_sd, p_as_published
beats_blind         significantly above the bag of words; missing without a test
label               the panel's heading
best                the best method of its panel
best_low, best_high ends of the interval that pays for the choice of the best
null_value          what models of the other splits reach by the labels of this one
less_null           how far the split's own model lies above those on the same texts
above_chance, above_placebos, above_null
parameter, parameter_value  what the rows vary; "" for a method without it
default             the setting is the default
test                what p is of: `bootstrap`, `welch`, ...
"""

Estimate = tuple[float, float | None, float | None]
"""A value with the ends of its 95 % interval, None where no interval was drawn."""

REPEATED = ("draw", "panel")
"""Averages over draws, and over panels that are repetitions with another seed, show
their spread."""


def average(values: Sequence[Estimate], over: str) -> tuple[Estimate, float | None]:
    """Return the mean of a group that differs in `over` alone, its interval, and its
    standard deviation.

    Subsets hold different texts, so their errors are independent and the interval is
    that of a mean of independent estimates (method of variance estimates recovery: Zou
    and Donner, Statistics in Medicine 27, 2008). Repetitions have a standard deviation
    instead; what shares its texts has neither. NaN if a value is missing.
    """
    centres = [centre for centre, _, _ in values]
    if any(map(math.isnan, centres)):
        return (math.nan, None, None), None
    value = mean(centres)
    if over in REPEATED:
        sd = stdev(centres) if len(centres) > 1 else None
        return (value, None, None), sd
    below, above = [], []
    for centre, low, high in values:
        if over != "subset" or low is None or high is None:
            return (value, None, None), None
        below.append(centre - low)
        above.append(high - centre)
    low = value - math.hypot(*below) / len(values)
    high = value + math.hypot(*above) / len(values)
    return (value, low, high), None


def difference(first: Estimate, second: Estimate) -> Estimate:
    """Return first - second, with an interval combined from the two as if they were
    independent.

    Method of variance estimates recovery: G. Y. Zou and A. Donner, Construction of
    confidence limits about effect measures, Statistics in Medicine 27 (2008); no
    interval where either has none.
    """
    a, a_low, a_high = first
    b, b_low, b_high = second
    value = a - b
    if a_low is None or a_high is None or b_low is None or b_high is None:
        return value, None, None
    below = math.hypot(a - a_low, b_high - b)
    above = math.hypot(a_high - a, b - b_low)
    return value, value - below, value + above


def mean_over_splits(values: Sequence[float], methods: int = 1) -> Estimate:
    """Return the mean over splits with Student's 95 % interval, which holds for
    `methods` at once (Bonferroni's).

    A split is a draw of members and non-members, with a training of its own. So the
    spread of the values is that of the texts, of who is a member, and of the training.
    NaN if a value is missing; one split has no interval.
    """
    from scipy.special import stdtrit

    centre, count = mean(values), len(values)
    if math.isnan(centre) or count < 2:
        return centre, None, None
    errors = float(stdtrit(count - 1, 1 - 0.025 / methods))
    half = errors * stdev(values) / math.sqrt(count)
    return centre, centre - half, centre + half


def p_over_splits(differences: Sequence[float]) -> float:
    """Return the two-sided p of Student's test that differences, one a split, are 0 on
    average.

    NaN for one split, and where a difference is missing. Equal differences have p 0, or
    1 if they are 0.
    """
    from scipy.special import stdtr

    centre, count = mean(differences), len(differences)
    if math.isnan(centre) or count < 2:
        return math.nan
    error = stdev(differences) / math.sqrt(count)
    if error == 0:
        return 1.0 if centre == 0 else 0.0
    return float(2 * stdtr(count - 1, -abs(centre) / error))


PANEL_KEYS = ("model", "benchmark", "subset", "length", "view", "draw", "reference")


def number(value: Any) -> float | None:
    """Return a number of a frame as float, None if it is missing."""
    return None if value is None or pd.isna(value) else float(value)


def estimate(row: Record) -> Estimate:
    """Return the value of a row of metrics or estimates with its interval."""
    return float(row["value"]), number(row["low"]), number(row["high"])


def test_record(row: Record | None) -> Record:
    """Return the columns of a test against a baseline; empty without one. The table
    that shows it corrects its p."""
    test = {"baseline": "", "difference": None, "p": None, "p_holm": None}
    if row is not None:
        for key in ("baseline", "difference", "p"):
            test[key] = row[key]
    return test


def group_records(records: Iterable[Record], *keys: str) -> list[list[Record]]:
    """Return groups of records that agree in these keys, in the order of their first
    records."""
    groups: dict[tuple[Any, ...], list[Record]] = {}
    for record in records:
        values = tuple(record[key] for key in keys)
        groups.setdefault(values, []).append(record)
    return list(groups.values())


def over_draws(records: Sequence[Record], draws: int) -> list[Record]:
    """Return the mean over draws of the values that every draw has, with its standard
    deviation as `sd`.

    Its test is that of the draw which says least for the method, so that a star holds
    in every draw: Holm's correction of the highest p of each method is the strictest of
    those of the draws. Its interval reaches from the lowest to the highest end of those
    of the draws.
    """
    means = []
    for rows in group_records(records, "panel", "metric", "selection", "method"):
        if len(rows) < draws:
            continue
        mean_row = rows[0] | _mean_row(rows, "draw") | test_record(_least_sure(rows))
        mean_row["low"] = _end(rows, "low", min)
        mean_row["high"] = _end(rows, "high", max)
        mean_row["setting"] = settings_of_all(rows)
        mean_row.pop("draw", None)
        means.append(mean_row)
    return means


def _least_sure(rows: Sequence[Record]) -> Record | None:
    """Return the row whose test says least for its method; None if one has no test."""
    if any(number(row["p"]) is None for row in rows):
        return None

    def rank(row: Record) -> tuple[bool, float]:
        return row["difference"] <= 0, row["p"]

    return max(rows, key=rank)


def _end(
    rows: Sequence[Record], end: str, outer: Callable[[list[float]], float]
) -> float | None:
    """Return the outermost of the rows' ends; None if a row has none."""
    ends = []
    for row in rows:
        known = number(row[end])
        if known is None:
            return None
        ends.append(known)
    return outer(ends)


def averages_of(
    records: Sequence[Record],
    panels: Sequence[object],
    over: str,
    block: str = "",
    by: Sequence[str] = ("method",),
) -> list[Record]:
    """Return the means of two or more panels that differ in `over` alone, in one
    `block`; none if `over` is empty.

    Panels that differ in `over` "panel" may differ in anything. What agrees in `by` has
    a mean if all panels have it.
    """
    if not over:
        return []
    groups = averaged_groups(panels, over, block)
    by_group: dict[tuple[Any, ...], list[Record]] = {}
    for row in records:
        same = [row[key] for key in ("metric", "selection", *by)]
        by_group.setdefault((groups[row["panel"]], *same), []).append(row)
    means = []
    for rows in by_group.values():
        panels_of_group = groups.count(groups[rows[0]["panel"]])
        if len(rows) < 2 or len(rows) != panels_of_group:
            continue
        mean_row = rows[0] | test_record(None) | _mean_row(rows, over)
        mean_row |= {"n_members": None, "n_nonmembers": None, "star": False}
        mean_row["panel"] = max(row["panel"] for row in rows)
        mean_row["average"] = over
        if over not in ("panel", "length"):
            mean_row[over] = "average"
        if "setting" not in by:
            mean_row["setting"] = ""
        means.append(mean_row)
    return means


def averaged_groups(
    panels: Sequence[object], over: str, block: str
) -> list[tuple[Any, ...]]:
    """Return the group of each panel: those that `averages_of` takes a mean over have
    the same."""
    keys = [block]
    if over != "panel":
        keys += [key for key in PANEL_KEYS if key != over]
    groups = []
    for panel in panels:
        groups.append(tuple(getattr(panel, key, None) for key in keys))
    return groups


def _mean_row(rows: Sequence[Record], over: str) -> Record:
    """Return the mean of rows that differ in `over`, and the marks that all of them
    carry."""
    (value, low, high), sd = average([estimate(row) for row in rows], over)
    marks = marks_of_all(rows)
    return {"value": value, "low": low, "high": high, "sd": sd, "marks": marks}


def settings_of_all(rows: Sequence[Record]) -> str:
    """Return the settings of the rows, each once."""
    return " / ".join(dict.fromkeys(row["setting"] for row in rows))


def marks_of_all(rows: Sequence[Record]) -> str:
    """Return the marks that all rows carry."""
    marks_of_rows = [set(row["marks"].split(";")) for row in rows]
    marks = set.intersection(*marks_of_rows)
    return ";".join(sorted(marks))
