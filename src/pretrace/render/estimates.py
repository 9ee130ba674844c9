"""The estimates that tables and figures show: a row for each panel, metric, selection and
method, with its test, its star and its place among placebos."""

from collections.abc import Iterator, Sequence
from typing import Any

import pandas as pd

from pretrace.evaluation.averages import (
    Record,
    averages_of,
    number,
    over_draws,
    test_record,
)
from pretrace.evaluation.metrics import RANKS_AS, marks_in
from pretrace.evaluation.significance import holm, simultaneous
from pretrace.questions.method_facts import is_control
from pretrace.render.artifact import Artifact, Panel
from pretrace.render.frames import long_frame, number_record, records_of
from pretrace.render.names import BLIND, PUBLISHED_TEST, join_words
from pretrace.render.results import Results

STAR_LEVEL = 0.05

CONDITIONS = ("unit", "start_token", "evaluation_set", "reference")
"""Further columns that identify an estimate; notes name them once."""


def estimates(
    artifact: Artifact,
    results: Results,
    selections: Sequence[str],
    *,
    placebos: bool = False,
) -> pd.DataFrame:
    """Return a row a panel (`panel`, its number), metric, selection and method, with
    its test against the baseline.

    `star`: above the artifact's `baseline` by the paired bootstrap on held-out settings
    (`with_stars`). Of `options.draws` each row is the mean over draws of shots; of
    `options.average` there are means over panels (`average`). Methods come in their
    order, panels in theirs.
    """
    options = artifact.options
    panels = results.panels(artifact)
    records: list[Record] = []
    for place, panel in enumerate(panels):
        drawn = [panel.replaced(draw=draw) for draw in options.draws]
        for metric in artifact.metrics:
            own = artifact.replaced(metric=metric)
            for of_draw in drawn or [panel]:
                records += _tested_rows(
                    own, results, place, of_draw, selections, placebos
                )
    if not records:
        raise artifact.empty(
            f"no method has a value at {join_words(selections)} settings"
        )
    if options.draws:
        records = over_draws(records, len(options.draws))
    records += averages_of(records, panels, options.average, options.blocks)
    frame = with_stars(long_frame(records))
    order = artifact.order_methods(frame["method"])
    return frame.sort_values(
        "method",
        key=lambda methods: methods.map(order.index),
        kind="stable",
        ignore_index=True,
    )


def _tested_rows(
    artifact: Artifact,
    results: Results,
    place: int,
    panel: Panel,
    selections: Sequence[str],
    placebos: bool,
) -> Iterator[Record]:
    """Yield a panel's estimates, each with its test against the baseline."""

    def tests_against(test: str, selection: str) -> dict[str, Record]:
        keys = {"test": test, "selection": selection, "baseline": artifact.baseline}
        return results.by("method", artifact, panel, "tests", **keys)

    tests = {}
    published = {}
    if artifact.baseline:
        tests = tests_against("bootstrap", "held_out")
    if artifact.options.published_test:
        published = tests_against(PUBLISHED_TEST, "default")
    for selection in selections:
        rows = results.by("method", artifact, panel, selection=selection)
        for method, row in rows.items():
            test = tests.get(method) if selection == "held_out" else None
            record = estimate_record(
                place, panel, row, selection=selection, metric=artifact.metric
            )
            record |= {"sd": None, **test_record(test), "star": False}
            if selection == "default" and method in published:
                test = published[method]
                marks = marks_in(row["marks"])
                if test["difference"] > 0 and test["p"] < STAR_LEVEL:
                    marks.append(PUBLISHED_TEST)
                marks_of_both = ";".join(sorted(marks))
                record |= {"p_as_published": test["p"], "marks": marks_of_both}
            if placebos:
                record |= _among_placebos(results.like("placebos", panel, row))
            yield record


def _among_placebos(placebos: pd.DataFrame) -> Record:
    """Return mean and SD of a row's placebos, its rank among them, and their
    number, else None."""
    real = {}
    for row in records_of(placebos):
        if not row["placebo"]:
            real = row
            break
    return {
        "placebo_mean": number(real.get("mean")),
        "placebo_sd": number(real.get("sd")),
        "rank": number(real.get("rank")),
        "placebos": number(real.get("placebos")),
    }


def beside_controls(artifact: Artifact, results: Results) -> pd.DataFrame:
    """Return `estimates` at held-out settings, with each row's placebos and whether it
    beats the bag of words.

    Of methods with shots each row is the mean over the draws that were evaluated
    (`draws`, their number; else 1).
    """
    artifact = artifact.replaced(baseline=BLIND)
    frame = estimates(artifact, results, ["held_out"], placebos=True).assign(draws=1)
    panels = results.panels(artifact)
    rows = []
    for row in records_of(frame):
        rows.append(_over_all_draws(artifact, results, panels[row["panel"]], row))
    frame = with_stars(long_frame(rows))
    return frame.assign(beats_blind=above_baseline(frame))


def _over_all_draws(
    artifact: Artifact, results: Results, panel: Panel, row: Record
) -> Record:
    """Return a method's row as the mean over all draws of shots, with its place among
    the placebos of one draw each."""
    draws = results.draws_of(panel, row["method"])
    if len(draws) < 2 or row["average"]:
        return row
    options = artifact.options.replaced(draws=draws, average="")
    one = artifact.replaced(
        panels=[panel], methods=[row["method"]], metric=row["metric"], options=options
    )
    [mean] = records_of(estimates(one, results, ["held_out"]))
    averaged = row | mean | {"panel": row["panel"], "draws": len(draws)}
    if row["placebos"]:
        of_view = row | {"view": panel.view or "original"}
        placebos = results.like("placebos", panel, of_view)
        others = placebos.loc[placebos["placebo"].astype(bool), "value"]
        averaged["rank"] = 1 + int((others >= mean["value"]).sum())
    return averaged


COLUMN = ("panel", "metric", "selection", "average")
"""What the rows of one column of a table of methods have in common."""


def with_stars(frame: pd.DataFrame) -> pd.DataFrame:
    """Return estimates with the `p_holm` of their column, and `star` where a method
    with a model is above the baseline.

    Holm's family is what the column shows: a method that was evaluated and is not shown
    changes no star.
    """
    frame = frame.assign(p_holm=corrected(frame, COLUMN))
    return frame.assign(star=above_baseline(frame).fillna(False) & ~frame["control"])


def corrected(
    frame: pd.DataFrame, family: Sequence[str], p: str = "p"
) -> "pd.Series[float]":
    """Return the column `p` after Holm's correction over the rows that agree in
    `family`; NaN without a test."""
    tests = frame[p].astype(float).groupby([frame[key] for key in family], dropna=False)
    return tests.transform(lambda own: holm(own.to_numpy()))


def above_baseline(frame: pd.DataFrame) -> "pd.Series[bool]":
    """Tell whether each estimate is significantly above the baseline; missing without a
    test."""
    above = (frame["difference"] > 0) & (frame["p_holm"] <= STAR_LEVEL)
    return above.astype("boolean").mask(frame["p_holm"].isna())


def keys_of(place: int, panel: Panel, row: Record) -> Record:
    """Return the coordinates of a row of metrics or tests: its panel with its number,
    conditions and method."""
    record = {"panel": place}
    for key in CONDITIONS:
        record[key] = row[key]
    record |= panel.record
    record["method"] = row["method"]
    record["control"] = is_control(row["method"])
    return record


def estimate_record(place: int, panel: Panel, row: Record, **about: Any) -> Record:
    """Return a row of metrics as an estimate: its coordinates, what is said `about` it,
    its numbers."""
    return keys_of(place, panel, row) | {"average": "", **about} | number_record(row)


def is_another(frame: pd.DataFrame) -> "pd.Series[bool]":
    """Tell which estimates are at a setting that ranks the texts as another method."""
    return frame["marks"].astype(str).str.contains(RANKS_AS, regex=False)


def for_the_best(frame: pd.DataFrame, by: Sequence[str]) -> pd.DataFrame:
    """Return `best_low` and `best_high`, the ends of intervals that pay for the choice
    of the best method of a group, controls aside."""
    groups = [frame[key] for key in by]
    is_method = ~frame["control"].astype(bool)
    methods = is_method.groupby(groups, dropna=False).transform("sum").clip(lower=1)
    value = frame["value"].astype(float)
    ends = {}
    for end in ("low", "high"):
        ends[f"best_{end}"] = simultaneous(value, frame[end].astype(float), methods)
    return pd.DataFrame(ends, frame.index)
