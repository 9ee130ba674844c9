"""Several splits of one kind: the mean of each method, and its distance to what models
of the other splits find."""

from collections.abc import Sequence

import numpy as np
import pandas as pd

from pretrace.evaluation.averages import (
    Estimate,
    Record,
    group_records,
    marks_of_all,
    mean_over_splits,
    p_over_splits,
    settings_of_all,
)
from pretrace.evaluation.other_splits import areas_on_shared_texts
from pretrace.render.artifact import Panel
from pretrace.render.estimates import above_baseline, with_stars
from pretrace.render.frames import long_frame, records_of
from pretrace.render.results import Results

SPLIT = "split"
"""What the column `average` says of a mean over splits."""


def splits_by_label(panels: Sequence[Panel], nulls: Sequence[str]) -> list[list[int]]:
    """Return the numbers of panels of one label, which are splits of one kind, without
    those of null models."""
    labelled: dict[str, list[int]] = {}
    for place, panel in enumerate(panels):
        if panel.label is not None and panel.model not in nulls:
            labelled.setdefault(panel.label, []).append(place)
    return [places for places in labelled.values() if len(places) > 1]


def beside_other_splits(
    frame: pd.DataFrame,
    splits: Sequence[Sequence[int]],
    panels: Sequence[Panel],
    results: Results,
) -> pd.DataFrame:
    """Return estimates with `null_value`, what the method reaches by the labels of the
    split in the models of the other splits, on average, and `less_null`, how far the
    split's own model lies above them.

    Both are of the texts that two splits share, of which another coin chose the other
    one's members (`areas_on_shared_texts`): so what the texts themselves differ in falls
    out. NaN for controls, and where panels are no `splits` (their numbers, by kind).
    Each row is of one of the `splits`, and `less_null` has no ends.
    """
    frame = frame.assign(splits=1, null_value=np.nan, less_null=np.nan)
    for places in splits:
        is_own = frame["panel"].isin(places) & ~frame["control"].astype(bool)
        for _, rows in frame[is_own].groupby("method"):
            texts = {}
            for place, row in zip(rows.index, records_of(rows), strict=True):
                texts[place] = _scored_texts(panels[row["panel"]], results, row)
            for place in texts:
                areas = []
                for other in texts:
                    if rows["model"][other] != rows["model"][place]:
                        areas.append(areas_on_shared_texts(texts[place], texts[other]))
                if areas:
                    reached, null = np.mean(areas, axis=0)
                    frame.loc[place, "null_value"] = null
                    frame.loc[place, "less_null"] = reached - null
    return frame.assign(less_null_low=np.nan, less_null_high=np.nan)


def _scored_texts(panel: Panel, results: Results, row: Record) -> pd.DataFrame:
    """Return the `text, label, score` of a panel's texts at the setting that an
    estimate has in most folds."""
    scores = results.read("scores", panel.pair)
    settings = row["setting"].split("|")
    is_own = scores["method"].eq(row["method"].split(";")[0])
    is_own &= scores["setting"].eq(max(settings, key=settings.count))
    for key in ("start_token", "reference"):
        is_own &= scores[key].eq(row[key])
    own = scores[is_own & scores["unit"].eq("text") & scores["view"].eq("original")]
    texts = results.texts(panel)
    score = texts["text_id"].map(own.set_index("id")["score"])
    return texts[["text", "label"]].assign(score=score)


def over_splits(frame: pd.DataFrame, panels: Sequence[Panel]) -> pd.DataFrame:
    """Return estimates `beside_other_splits` in which panels of one label, which are
    splits, have one row a method: its mean.

    A mean has Student's interval over the splits. Its `best_low` and `best_high`, and
    the ends of `less_null`, pay for the choice among methods. A method that one of the
    splits lacks has no mean.
    """
    means = []
    averaged = set()
    for places in splits_by_label(panels, ()):
        means += split_means(frame[frame["panel"].isin(places)], len(places))
        averaged.update(places)
    if not means:
        return frame
    others = records_of(frame[~frame["panel"].isin(averaged)])
    shown = with_stars(long_frame([*others, *means]))
    shown = shown.assign(beats_blind=above_baseline(shown))
    return shown.sort_values("panel", kind="stable", ignore_index=True)


def split_means(frame: pd.DataFrame, splits: int) -> list[Record]:
    """Return the mean over the splits of each method that all of them have."""
    of_methods = []
    for rows in group_records(records_of(frame), "method"):
        if len(rows) == splits:
            of_methods.append(rows)
    chosen_among = sum(not rows[0]["control"] for rows in of_methods)
    return [_mean(rows, chosen_among) for rows in of_methods]


def _mean(rows: Sequence[Record], chosen_among: int) -> Record:
    def over(key: str, methods: int = 1) -> Estimate:
        return mean_over_splits([row[key] for row in rows], methods)

    value, low, high = over("value")
    _, best_low, best_high = over("value", chosen_among)
    null_value, _, _ = over("null_value")
    less_null, less_low, less_high = over("less_null", chosen_among)
    difference, _, _ = over("difference")
    mean = {
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
        "p": p_over_splits([row["difference"] for row in rows]),
    }
    if len({row["model"] for row in rows}) > 1:
        mean["model"] = "average"
    if len({row["benchmark"] for row in rows}) > 1:
        mean["benchmark"] = "average"
    return mean
