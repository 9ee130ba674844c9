"""The rows of metrics that an artifact shows, tidy: a row an estimate with its panel, metric, selection and method."""

from collections.abc import Callable, Iterable, Sequence
from typing import Any

import pandas as pd

from pretrace.evaluation.averages import average
from pretrace.questions.known import is_control
from pretrace.render.names import ordered
from pretrace.render.phrases import joined
from pretrace.render.registry import Artifact
from pretrace.render.results import Results
from pretrace.render.rows import (
    STAR_LEVEL,
    Panel,
    Record,
    estimate,
    grouped,
    is_starred,
    long_frame,
    number_record,
    panel_record,
    records_of,
    test_record,
)
from pretrace.runtime.errors import InputError

PANEL_KEYS = ("model", "benchmark", "subset", "length", "view", "draw", "reference")
CONDITIONS = ("unit", "start_token", "evaluation_set", "reference")
"""What an estimate rests on beside its panel; notes say it once."""

Beside = Callable[[Panel, Record], dict[str, Any]]
"""Further columns of a panel's row of metrics."""


def metrics_of(artifact: Artifact) -> list[str]:
    """The metrics shown side by side, or the artifact's one."""
    return list(artifact.get("options", {}).get("metrics", [artifact.get("metric", "auc")]))


def estimates(
    artifact: Artifact, results: Results, selections: Sequence[str], beside: Beside = lambda panel, row: {}
) -> pd.DataFrame:
    """A row a panel (`panel`, its number), metric, selection and method, with its test against the baseline.

    `star`: above the artifact's `baseline` by the paired bootstrap on held-out settings, Holm-corrected p <= 0.05.
    Of `options.draws` each row is the mean over draws of shots. Methods come in their order, panels in theirs.
    """
    draws = artifact.get("options", {}).get("draws")
    panels = results.panels(artifact)
    records = [
        record
        for number, panel in enumerate(panels)
        for metric in metrics_of(artifact)
        for shown in ([{**panel, "draw": draw} for draw in draws] if draws else [panel])
        for record in _of_panel({**artifact, "metric": metric}, results, shown, selections, number, beside)
    ]
    if not records:
        raise InputError(
            f"artifact {artifact['artifact']}: no method has a value at {joined(selections)} settings"
        )
    frame = long_frame(over_draws(records, len(draws)) if draws else records)
    order = {method: at for at, method in enumerate(ordered(artifact, frame["method"]))}
    return frame.sort_values(
        "method", key=lambda methods: methods.map(order), kind="stable", ignore_index=True
    )


def above_baseline(frame: pd.DataFrame) -> "pd.Series[bool]":
    """Whether each estimate is above the baseline, as of `rows.is_starred`; missing where there is no test."""
    above = (frame["difference"] > 0) & (frame["p_holm"] <= STAR_LEVEL)
    return above.astype("boolean").mask(frame["p_holm"].isna())


def keys_of(number: int, panel: Panel, row: Record) -> dict[str, Any]:
    """The coordinates of a row of metrics or tests: its panel with its number, conditions and method."""
    about = {"method": row["method"], "control": is_control(row["method"])}
    return {"panel": number} | {key: row[key] for key in CONDITIONS} | panel_record(panel) | about


def _of_panel(
    artifact: Artifact,
    results: Results,
    panel: Panel,
    selections: Sequence[str],
    number: int,
    beside: Beside,
) -> Iterable[dict[str, Any]]:
    baseline = artifact.get("baseline")
    tests = results.held_out_tests(artifact, panel, baseline) if baseline else {}
    for selection in selections:
        tested = tests if selection == "held_out" else {}
        for method, row in results.selected(artifact, panel, selection).items():
            yield (
                keys_of(number, panel, row)
                | {"average": "", "selection": selection}
                | {"metric": artifact.get("metric", "auc"), **number_record(row), "sd": None}
                | test_record(tested.get(method))
                | {"star": is_starred(tested, method) and not is_control(method)}
                | beside(panel, row)
            )


def over_draws(records: Sequence[Record], draws: int) -> list[dict[str, Any]]:
    """The mean over draws of what every draw has, with its standard deviation as `sd`.

    Its test is that of the draw which says least for the method, so that a star holds in every draw.
    """
    found = []
    for rows in grouped(records, "panel", "metric", "selection", "method"):
        if len(rows) < draws:
            continue
        tested = all(row["p_holm"] is not None for row in rows)
        worst = max(rows, key=lambda row: (row["difference"] <= 0, row["p_holm"])) if tested else None
        found.append(
            {key: known for key, known in rows[0].items() if key != "draw"}
            | _averaged(rows, "draw")
            | {"setting": " / ".join(dict.fromkeys(row["setting"] for row in rows))}
            | {**test_record(worst), "star": all(row["star"] for row in rows)}
        )
    return found


def with_averages(
    frame: pd.DataFrame, panels: Sequence[Panel], over: str, block: str = "", by: Sequence[str] = ("method",)
) -> pd.DataFrame:
    """The rows, and of each two or more panels that differ in `over` alone, in one `block`, their mean (`average`).

    `over` is one of `registry.CHOICES["average"]`. What agrees in `by` has a mean if all panels of the group have it.
    """
    if not over:
        return frame
    keys = () if over == "panel" else tuple(key for key in PANEL_KEYS if key != over)
    groups = [tuple(panel.get(key) for key in (*keys, block)) for panel in panels]
    records = records_of(frame.assign(group=[groups[number] for number in frame["panel"]]))
    found = []
    for rows in grouped(records, "group", "metric", "selection", *by):
        if len(rows) > 1 and len(rows) == groups.count(rows[0]["group"]):
            found.append(
                {**rows[0], **dict.fromkeys(("n_members", "n_nonmembers")), **test_record(None)}
                | ({} if over in ("panel", "length") else {over: "average"})
                | {"panel": max(row["panel"] for row in rows), "average": over, "star": False}
                | ({} if "setting" in by else {"setting": ""})
                | _averaged(rows, over)
            )
    return long_frame([*records, *found]).drop(columns="group")


def _averaged(rows: Sequence[Record], over: str) -> dict[str, Any]:
    """The mean of rows that differ in `over`, and the marks that all of them carry."""
    (value, low, high), sd = average([estimate(row) for row in rows], over)
    marks = set.intersection(*(set(row["marks"].split(";")) for row in rows))
    return {"value": value, "low": low, "high": high, "sd": sd, "marks": ";".join(sorted(marks))}
