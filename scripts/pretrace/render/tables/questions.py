"""Tables of answers to questions, over documents: DE-COP tables 1, 3, 4, 11 and 12."""

from collections.abc import Iterable, Mapping
from itertools import product
from typing import Any

import pandas as pd

from pretrace.evaluation.averages import Record, averages_of, difference, estimate, grouped
from pretrace.evaluation.documents import MEAN_SCORE
from pretrace.evaluation.metrics import ACCURACIES
from pretrace.methods import parse_setting
from pretrace.questions.answering import LETTERS
from pretrace.questions.calibration import DELTAS, MEANS, RANGE
from pretrace.questions.known import is_control
from pretrace.questions.methods import CONTROLS, QUESTION_METHODS
from pretrace.render.names import (
    CALIBRATION_LABELS,
    metric_label,
    ordered,
    panel_label,
    panel_lines,
    row_label,
)
from pretrace.render.phrases import DASHES, INTERVALS, MINUS, conditions, multiplicity_note
from pretrace.render.registry import Artifact, table
from pretrace.render.results import Results, keys_of
from pretrace.render.rows import (
    STAR_LEVEL,
    Panel,
    long_frame,
    named_variant,
    number_record,
    panel_record,
    records_of,
)
from pretrace.render.tables.table import (
    Cell,
    Placed,
    Table,
    best,
    by_method,
    cell_of,
    lay_out,
    rows_of,
    table_of,
)
from pretrace.runtime.errors import InputError

METRICS = [*ACCURACIES, "gap"]


@table("accuracy_table", needs=("metrics", "tests"), optional=("average",))
def accuracy_table(artifact: Artifact, results: Results) -> Table:
    """A row a question method and setting; of each panel the accuracy of members, of non-members, and the gap.

    A star says that the two differ by Welch's test on the documents, Holm-corrected p <= 0.05. Bold is the
    widest gap. `options.average: panel` adds the means over the panels.
    """
    panels = results.panels(artifact)
    records = [row for at, panel in enumerate(panels) for row in _of_panel(artifact, results, panel, at)]
    if not records:
        raise InputError(f"artifact {artifact['artifact']}: its panels have no answers to questions")
    records.sort(key=_order)
    over = artifact["options"].get("average", "")
    averages = averages_of(records, panels, over, by=("method", "setting"))
    frame = long_frame([*records, *averages]).assign(sd=None)
    gap = (frame["metric"] == "gap") & (frame["value"].round(3) > 0)
    frame["bold"] = best(frame, ["panel", "average", "metric"]) & gap
    cells = by_method(frame, panels, METRICS, label=setting_label, by=("method", "setting"))
    notes = [
        *conditions(
            {**artifact, "options": {"metrics": ACCURACIES}},
            [row for row in records if row["metric"] != "gap"],
        ),
        f"{INTERVALS} Gap: members minus non-members; bold is the widest, * is one that Welch's test on the "
        f"documents finds, Holm-corrected over the methods, p ≤ {STAR_LEVEL:g}. Chance is not a fixed share: the "
        "controls show how much the options give away without a model.",
        *multiplicity_note(len(panels), "panel"),
        *without_controls(frame["method"]),
        *results.cautions(panels),
    ]
    return table_of(artifact, lay_out(cells), notes, frame)


def _of_panel(artifact: Artifact, results: Results, panel: Panel, at: int) -> Iterable[dict[str, Any]]:
    """The accuracies of each method and setting, and their difference as the metric `gap`."""
    rows = pd.concat([results.rows({**artifact, "metric": metric}, panel) for metric in ACCURACIES])
    rows = rows[(rows["selection"] == "grid") & rows["method"].isin(list(QUESTION_METHODS))]
    records = [row | {"method": named_variant(row["method"], row["setting"])} for row in records_of(rows)]
    methods = sorted({row["method"] for row in records})
    tests = welch_tests_of({**artifact, "methods": methods}, results, panel)
    for own in grouped(records, "method", "setting"):
        method, setting = own[0]["method"], own[0]["setting"]
        test = tests.get(method)
        tested = test if test and test["setting"] == setting else None
        about = keys_of(at, panel, own[0]) | {"average": "", "selection": "grid"}
        about |= {key: tested[key] if tested else None for key in ("p", "p_holm")}
        for row in own:
            yield {**about, "metric": row["metric"], **number_record(row), "star": False}
        if len(own) == len(ACCURACIES):
            by_metric = {row["metric"]: estimate(row) for row in own}
            value, low, high = difference(*(by_metric[metric] for metric in ACCURACIES))
            numbers = {**number_record(None), "value": value, "low": low, "high": high, "setting": setting}
            star = bool(tested and tested["p_holm"] <= STAR_LEVEL)
            yield {**about, "metric": "gap", **numbers, "star": star}


def welch_tests_of(artifact: Artifact, results: Results, panel: Panel) -> dict[str, Record]:
    """Welch's test of each method's default setting, and of each variant's."""
    tests = results.rows({**artifact, "metric": MEAN_SCORE}, panel, what="tests")
    return {str(row["method"]): row for row in records_of(tests[tests["test"] == "welch"])}


def without_controls(methods: Iterable[str]) -> list[str]:
    """The note of a table of questions without controls on its options."""
    note = (
        "No control is shown: longest option and odd one out need the texts of the options, which these answers "
        "do not have. How much of an accuracy the options give away is unknown."
    )
    return [] if any(method in CONTROLS for method in methods) else [note]


def _order(record: Record) -> tuple[Any, ...]:
    """In the order of the registry, controls last; the method as it is before its variants."""
    method = record["method"].split(";")[0]
    values = [str(value) for value in parse_setting(method, record["setting"]).values()]
    return is_control(method), list(QUESTION_METHODS).index(method), record["method"] != method, values


def setting_label(row: Record) -> str:
    """A question method with how many tokens its setting gives, where it gives any."""
    method, label = row["method"].split(";")[0], row_label(row["method"])
    given = parse_setting(method, row["setting"]).get("k") if method in QUESTION_METHODS else None
    return f"{label}, {given} tokens given" if given else label


SMALLEST_P = 0.001
"""The smallest p that is printed; smaller ones are printed as below it."""

DIFFERENCE = "difference"
"""Difference of mean scores, shown next to the metrics."""


@table("welch_table", needs=("metrics", "tests"), optional=("metrics",))
def welch_table(artifact: Artifact, results: Results) -> Table:
    """A row a method at its default setting; of each panel `options.metrics`, the difference of means, its p.

    p is that of one test; a star says that it holds Holm's correction over the panel's methods.
    """
    metrics = list(artifact["options"].get("metrics", ()))
    panels = results.panels(artifact)
    records = [
        row
        for at, panel in enumerate(panels)
        for row in _welch_of_panel(artifact, results, panel, at, metrics)
    ]
    methods = ordered(artifact, (row["method"] for row in records))
    heads = [*metrics, DIFFERENCE, "p"]
    cells = [
        Placed(
            "",
            (methods.index(row["method"]), row_label(row["method"])),
            ((row["panel"], heads.index(head)), (*panel_lines(panels[row["panel"]]), metric_label(head))),
            cell,
            row["control"],
        )
        for row in records
        for head, cell in _cells(row)
    ]
    untested = any(row["metric"] == DIFFERENCE and row["value"] is None for row in records)
    shown = [row for row in records if row["value"] is not None]
    notes = [
        *conditions({**artifact, "options": {"metrics": [*metrics, "difference of mean scores"]}}, shown),
        INTERVALS if metrics else DASHES,
        "Default settings. Difference: mean score of members minus that of non-members, in the "
        "method's own unit, with the interval of Welch's t-test, which p is of (two-sided, uncorrected); * where "
        f"Holm's correction over the methods leaves p ≤ {STAR_LEVEL:g}.",
        *multiplicity_note(len(panels), "panel"),
        *["No difference is tested where every document has the same score."] * untested,
        *without_controls(methods),
        *results.cautions(panels),
    ]
    return table_of(artifact, lay_out(cells), notes, long_frame(shown))


def _welch_of_panel(
    artifact: Artifact, results: Results, panel: Panel, at: int, metrics: list[str]
) -> Iterable[dict[str, Any]]:
    """The metrics of each method, and of each that has scores the difference of means, empty where it has no test."""
    for metric in metrics:
        for row in results.selected({**artifact, "metric": metric}, panel, "default").values():
            yield keys_of(at, panel, row) | {"metric": metric} | number_record(row)
    tests = welch_tests_of(artifact, results, panel)
    scored = results.selected({**artifact, "metric": "auc"}, panel, "default")
    for method, row in (scored | tests).items():
        numbers = {**number_record(None), "setting": row["setting"]}
        if method in tests:
            numbers |= {key: row[key] for key in ("low", "high", "p", "p_holm")} | {
                "value": row["difference"]
            }
        yield keys_of(at, panel, row) | {"metric": DIFFERENCE} | numbers


def _cells(row: Record) -> Iterable[tuple[str, Cell]]:
    """A metric's cell; of a difference two, itself in the method's own unit, and p."""
    if row["metric"] != DIFFERENCE:
        yield row["metric"], cell_of(row)
    elif row["value"] is None:
        yield DIFFERENCE, Cell()
        yield "p", Cell()
    else:
        value, low, high = (_in_own_unit(row[key]) for key in ("value", "low", "high"))
        p = f"{row['p']:.3f}" if row["p"] >= SMALLEST_P else f"< {SMALLEST_P:g}"
        yield DIFFERENCE, Cell(words=f"{value} [{low}, {high}]")
        yield "p", Cell(words=p, star=bool(row["p_holm"] <= STAR_LEVEL))


def _in_own_unit(value: float) -> str:
    """Two significant digits: units of methods differ by orders of magnitude."""
    return f"{value:+#.2g}".rstrip(".").replace("-", MINUS) if value else "0.0"


CLASSES = {0: "non-members", 1: "members"}


@table("calibration_table", needs=("metrics", "estimates"))
def calibration_table(artifact: Artifact, results: Results) -> Table:
    """A row a panel, class and calibration: mean probability of each letter, what is added, share in range."""
    panels = results.panels(artifact)
    records, cells = [], []
    for panel in panels:
        own = _records(artifact, results, panel)
        records += own
        labels = [f"{row['class']}, {CALIBRATION_LABELS[row['calibration']]}" for row in own]
        rows = ((label, _calibration_cells(row), False) for label, row in zip(labels, own, strict=True))
        cells += rows_of(panel_label(panel), rows)
    notes = [
        f"In range: every letter's mean probability over the document's answers lies within {RANGE[0]:g} and "
        f"{RANGE[1]:g}. Brackets hold 95 % intervals of a share (Wilson). Added: mean over documents; "
        "cross-fitted, each gets what the non-members of other folds say. Longest option and odd one out choose "
        "without probabilities and are not shown here; their accuracies are next to DE-COP's.",
        *results.cautions(panels),
    ]
    return table_of(artifact, lay_out(cells, "Documents"), notes, long_frame(records))


def _records(artifact: Artifact, results: Results, panel: Panel) -> list[dict[str, Any]]:
    table = results.estimates_of(artifact, panel, "in_range", "letter_probability", "letter_added")
    table = table[table["label"].notna() & (table["document"] == "")]
    if not table["label"].eq(0).any():
        raise InputError(f"artifact {artifact['artifact']}, panel {panel_label(panel)}: no clean document")
    records = []
    for kind, name in product(CLASSES, CALIBRATION_LABELS):
        of = table[(table["label"] == kind) & (table["calibration"] == name)]
        if len(of):
            records.append(_record(of, kind, name) | panel_record(panel))
    return records


def _record(of: pd.DataFrame, kind: int, calibration: str) -> dict[str, Any]:
    values = of.set_index(["quantity", "letter"])["value"].to_dict()
    (share,) = records_of(of[of["quantity"] == "in_range"])
    return (
        {"class": CLASSES[kind], "calibration": calibration}
        | {mean: values["letter_probability", letter] for letter, mean in zip(LETTERS, MEANS, strict=True)}
        | {delta: values["letter_added", letter] for letter, delta in zip(LETTERS, DELTAS, strict=True)}
        | {"documents": share["n"], "in_range": round(share["value"] * share["n"])}
        | {key: share[key] for key in ("value", "low", "high")}
    )


def _calibration_cells(record: Mapping[str, Any]) -> Iterable[tuple[tuple[str, str], Cell]]:
    plain = record["calibration"] == "none"
    for letter, mean in zip(LETTERS, MEANS, strict=True):
        yield ("mean probability", letter), Cell(record[mean])
    for letter, delta in zip(LETTERS, DELTAS, strict=True):
        yield ("added", letter), Cell() if plain else Cell(record[delta], signed=True)
    yield ("in range", "documents"), Cell(words=f"{record['in_range']} of {record['documents']}")
    yield ("in range", "share"), cell_of(record)
