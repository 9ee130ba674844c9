"""Several splits of one kind: the mean of each method, and its distance to a model that
read neither class."""

from collections.abc import Sequence

import numpy as np
import pandas as pd

from pretrace.evaluation.averages import (
    Estimate,
    EstimateRow,
    Record,
    group_records,
    marks_of_all,
    mean_over_splits,
    p_over_splits,
    settings_of_all,
)
from pretrace.render.artifact import Panel
from pretrace.render.estimates import above_baseline, with_stars
from pretrace.render.frames import estimate_rows, long_frame

SPLIT = "split"
"""What the column `average` says of a mean over splits."""

_TEXTS = ["benchmark", "subset", "length", "method"]


def beside_null(frame: pd.DataFrame) -> pd.DataFrame:
    """Return estimates with `null_value`, what the method reaches on the same texts in
    a model that read neither class, and `less_null`, the value less that.

    Both are NaN for controls and null models, and where no null model read the texts.
    Each row is of one of the `splits`, and `less_null` has no ends.
    """
    nulls = frame[frame["null_model"]].drop_duplicates(_TEXTS)
    reached = nulls.set_index(_TEXTS)["value"].astype(float)
    same_texts = pd.MultiIndex.from_frame(frame[_TEXTS])
    has_none = frame["null_model"] | frame["control"].astype(bool)
    null_value = reached.reindex(same_texts).set_axis(frame.index).mask(has_none)
    less_null = frame["value"].astype(float) - null_value
    frame = frame.assign(splits=1, null_value=null_value, less_null=less_null)
    return frame.assign(less_null_low=np.nan, less_null_high=np.nan)


def over_splits(frame: pd.DataFrame, panels: Sequence[Panel]) -> pd.DataFrame:
    """Return estimates `beside_null` in which panels of one label, which are splits,
    have one row a method: its mean.

    A mean has Student's interval over the splits. Its `best_low` and `best_high`, and
    the ends of `less_null`, pay for the choice among methods. A method that one of the
    splits lacks has no mean.
    """
    labelled: dict[str, list[int]] = {}
    for place, panel in enumerate(panels):
        if panel.label is not None:
            labelled.setdefault(panel.label, []).append(place)
    means = []
    averaged = set()
    for places in labelled.values():
        if len(places) > 1:
            means += split_means(frame[frame["panel"].isin(places)], len(places))
            averaged.update(places)
    if not means:
        return frame
    others = estimate_rows(frame[~frame["panel"].isin(averaged)])
    shown = with_stars(long_frame([*others, *means]))
    shown = shown.assign(beats_blind=above_baseline(shown))
    return shown.sort_values("panel", kind="stable", ignore_index=True)


def split_means(frame: pd.DataFrame, splits: int) -> list[EstimateRow]:
    """Return the mean over the splits of each method that all of them have."""
    of_methods = []
    for rows in group_records(estimate_rows(frame), "method"):
        if len(rows) == splits:
            of_methods.append(rows)
    chosen_among = sum(not rows[0]["control"] for rows in of_methods)
    return [_mean(rows, chosen_among) for rows in of_methods]


def _mean(rows: Sequence[EstimateRow], chosen_among: int) -> EstimateRow:
    records: list[Record] = [{**row} for row in rows]

    def over(key: str, methods: int = 1) -> Estimate:
        values = [record[key] for record in records]
        return mean_over_splits(values, methods)

    value, low, high = over("value")
    _, best_low, best_high = over("value", chosen_among)
    null_value, _, _ = over("null_value")
    less_null, less_low, less_high = over("less_null", chosen_among)
    difference, _, _ = over("difference")
    mean: EstimateRow = {
        **rows[0],
        "average": SPLIT,
        "bold": False,
        "star": False,
        "splits": len(rows),
        "setting": settings_of_all(rows),
        "marks": marks_of_all(rows),
        "value": value,
        "low": low,
        "high": high,
        "best_low": best_low,
        "best_high": best_high,
        "null_value": null_value,
        "less_null": less_null,
        "less_null_low": less_low,
        "less_null_high": less_high,
        "difference": difference,
        "p": p_over_splits([record["difference"] for record in records]),
    }
    if len({row["model"] for row in rows}) > 1:
        mean["model"] = "average"
    if len({row["benchmark"] for row in rows}) > 1:
        mean["benchmark"] = "average"
    return mean
