"""The columns of a table of methods: panels by metric, and averages of neighbouring ones."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from statistics import mean, stdev
from typing import Any

import pandas as pd

from pretrace.questions.known import is_control
from pretrace.render.names import metric_label, panel_lines
from pretrace.render.phrases import Estimate
from pretrace.render.records import estimate, long_frame, number_record, panel_record, test_record
from pretrace.render.registry import Artifact
from pretrace.render.results import Results
from pretrace.render.selecting import EACH, Panel, Record
from pretrace.render.tables import averages
from pretrace.render.tables.table import Block, Columns


@dataclass(frozen=True)
class Column:
    """A panel and a metric: its metrics rows by selection and method, its tests against the baseline by method."""

    panel: Panel
    metric: str
    selected: Mapping[str, Mapping[str, Record]]
    tests: Mapping[str, Record]

    def group(self, over: str) -> tuple[Any, ...]:
        """What the columns have in common that are averaged with this one."""
        return averages.group_key(self.panel, over)

    def lines(self, without: str) -> tuple[str, ...]:
        return panel_lines(self.panel, without=without)


@dataclass(frozen=True)
class Average:
    """The mean of columns of one metric over `over` (`registry.CHOICES`)."""

    columns: tuple[Column, ...]
    over: str

    @property
    def metric(self) -> str:
        return self.columns[0].metric

    @property
    def selected(self) -> Mapping[str, Mapping[str, Record]]:
        return self.columns[0].selected

    def of(self, method: str, selection: str) -> tuple[Estimate, float | None] | None:
        rows = [column.selected[selection] for column in self.columns]
        values = [estimate(row[method]) if method in row else None for row in rows]
        return averages.average(values, self.over)

    def lines(self, without: str) -> tuple[str, ...]:
        """Those of its columns, with `average` in place of what it is taken over."""
        panel = self.columns[0].panel
        if self.over == "panel":
            return ("average",)
        if self.over in ("model", "subset"):
            named = {key: value for key, value in panel.items() if key != "label"}
            return panel_lines(named | {self.over: "average"}, without=without)
        others = {key: value for key, value in panel.items() if key != self.over}
        return (*panel_lines(others, without=without), "average")

    def marks(self, method: str, selection: str) -> str:
        """The marks that all its columns carry."""
        marks = [set(column.selected[selection][method]["marks"].split(";")) for column in self.columns]
        return ";".join(sorted(set.intersection(*marks)))


def headers(columns: Sequence[Column | Average], without: str) -> Columns:
    """The header lines of each column; the metric last, where there are several."""
    if len({column.metric for column in columns}) == 1:
        return tuple(column.lines(without) for column in columns)
    return tuple((*column.lines(without), metric_label(column.metric)) for column in columns)


def columns_of(artifact: Artifact, results: Results, selections: Sequence[str]) -> list[Column]:
    """A column for each panel and metric, in the order of the panels; over `options.draws`, where they are given."""
    options = artifact.get("options", {})
    metrics = options.get("metrics", [artifact.get("metric", "auc")])
    return [
        over_draws(
            [
                _column({**artifact, "metric": metric}, results, at, selections)
                for at in (
                    [{**panel, "draw": draw} for draw in options["draws"]] if "draws" in options else [panel]
                )
            ]
        )
        for panel in results.panels(artifact)
        for metric in metrics
    ]


def over_draws(columns: Sequence[Column]) -> Column:
    """One column of several draws of shots: each number is the mean, with its standard deviation as `sd`.

    A method's test is that of the draw which says least for it, so that a star holds in every draw.
    """
    first, *others = columns
    if not others:
        return first
    selected = {
        selection: {
            method: _mean_record([column.selected[selection][method] for column in columns])
            for method in rows
            if all(method in column.selected[selection] for column in others)
        }
        for selection, rows in first.selected.items()
    }
    tests = {
        method: max(
            (column.tests[method] for column in columns),
            key=lambda test: (test["difference"] <= 0, test["p_holm"]),
        )
        for method in first.tests
        if all(method in column.tests for column in others)
    }
    panel = {key: value for key, value in first.panel.items() if key != "draw"}
    return replace(first, panel=panel, selected=selected, tests=tests)


def _mean_record(rows: Sequence[Record]) -> Record:
    """The first draw's record with mean and standard deviation; the settings of all draws, where they differ."""
    values = [float(row["value"]) for row in rows]
    settings = " / ".join(dict.fromkeys(str(row["setting"]) for row in rows))
    marks = set.intersection(*(set(row["marks"].split(";")) for row in rows))
    numbers = {"value": mean(values), "low": None, "high": None, "sd": stdev(values)}
    return {**rows[0], **numbers, "setting": settings, "marks": ";".join(sorted(marks))}


def missing_columns(artifact: Artifact, selections: Sequence[str]) -> list[Column]:
    """A column without numbers for each panel and metric of a model that could not be asked."""
    metrics = artifact.get("options", {}).get("metrics", [artifact.get("metric", "auc")])
    panels = [
        {key: value for key, value in panel.items() if (key, value) != ("subset", EACH)}
        for panel in artifact.get("missing", ())
    ]
    return [
        Column(panel, metric, {selection: {} for selection in selections}, {})
        for panel in panels
        for metric in metrics
    ]


def _column(artifact: Artifact, results: Results, panel: Panel, selections: Sequence[str]) -> Column:
    return Column(
        panel=panel,
        metric=artifact["metric"],
        selected={selection: results.selected(artifact, panel, selection) for selection in selections},
        tests=results.bootstrap_tests(artifact, panel, artifact["baseline"])
        if "baseline" in artifact
        else {},
    )


def long_frame_of(
    blocks: Sequence[Block], shown: Sequence[tuple[str, Sequence[Column | Average], Sequence[str]]]
) -> pd.DataFrame:
    """Every number once: `shown` says the selection, columns and methods of each block."""
    records = [
        _record(column, method, selection) | {"star": cell.star, "bold": cell.bold}
        for block, (selection, columns, methods) in zip(blocks, shown, strict=True)
        for method, row in zip(methods, block.rows, strict=True)
        for column, cell in zip(columns, row.cells, strict=True)
    ]
    return long_frame(records)


def _record(column: Column | Average, method: str, selection: str) -> dict[str, Any]:
    keys = {"selection": selection, "method": method, "control": is_control(method), "metric": column.metric}
    if isinstance(column, Average):
        first = column.columns[0].panel
        found = column.of(method, selection)
        value, low, high = found[0] if found else (None, None, None)
        row = {"setting": "", "value": value, "low": low, "high": high, "marks": ""}
        start = panel_record(first) | averages.labels(column.over) | {"average": column.over}
        return start | keys | row | {"sd": found[1] if found else None} | test_record(None)
    tests = column.tests if selection == "held_out" else {}
    return (
        panel_record(column.panel)
        | {"average": ""}
        | keys
        | number_record(column.selected[selection].get(method))
        | {"sd": column.selected[selection].get(method, {}).get("sd")}
        | test_record(tests.get(method))
    )
