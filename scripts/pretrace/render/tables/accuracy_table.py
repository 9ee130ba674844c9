"""Share of right answers, of members and of non-members: DE-COP table 3."""

from collections.abc import Iterable
from typing import Any

import pandas as pd

from pretrace.evaluation.averages import difference
from pretrace.evaluation.documents import MEAN_SCORE
from pretrace.evaluation.metrics import ACCURACIES
from pretrace.methods import parse_setting
from pretrace.questions.known import is_control
from pretrace.questions.methods import CONTROLS, QUESTION_METHODS
from pretrace.render.names import row_label
from pretrace.render.phrases import INTERVALS, conditions
from pretrace.render.records import (
    STAR_LEVEL,
    estimate,
    long_frame,
    multiplicity_note,
    number_record,
)
from pretrace.render.registry import Artifact, table
from pretrace.render.results import Results
from pretrace.render.selecting import Panel, Record, named_variant, records_of
from pretrace.render.tables.estimates import column_of, grouped, keys_of, with_averages
from pretrace.render.tables.table import Place, Placed, Table, best, cell_of, lay_out, table_of
from pretrace.runtime.errors import InputError

METRICS = [*ACCURACIES, "gap"]


@table("accuracy_table", needs=("metrics", "tests"), optional=("average",))
def render(artifact: Artifact, results: Results) -> Table:
    """A row a question method and setting; of each panel the accuracy of members, of non-members, and the gap.

    A star says that the two differ by Welch's test on the documents, Holm-corrected p <= 0.05. Bold is the
    widest gap. `options.average: panel` adds the means over the panels.
    """
    panels = results.panels(artifact)
    records = [row for at, panel in enumerate(panels) for row in _of_panel(artifact, results, panel, at)]
    if not records:
        raise InputError(f"artifact {artifact['artifact']}: its panels have no answers to questions")
    records.sort(key=_order)
    frame = long_frame(records)
    over = artifact["options"].get("average", "")
    frame = with_averages(frame, panels, over, by=("method", "setting")).assign(sd=None)
    gap = (frame["metric"] == "gap") & (frame["value"].round(3) > 0)
    frame["bold"] = best(frame, ["panel", "average", "metric"]) & gap
    lines = list(dict.fromkeys((row["method"], row["setting"]) for row in records))
    cells = [
        Placed(
            "",
            Place(lines.index((row["method"], row["setting"])), (_label(row["method"], row["setting"]),)),
            column_of(row, panels, METRICS),
            cell_of(row, signed=row["metric"] == "gap"),
            row["control"],
        )
        for row in records_of(frame)
    ]
    notes = [
        *conditions(
            {**artifact, "options": {"metrics": ACCURACIES}},
            [row for row in records if row["metric"] != "gap"],
        ),
        f"{INTERVALS} Gap: members minus non-members; bold is the widest, * is one that Welch's test on the "
        f"documents finds, Holm-corrected over the methods, p ≤ {STAR_LEVEL:g}. Chance is no fixed share: what the "
        "controls reach without a model is what the options give away.",
        *multiplicity_note(len(panels), "panel"),
        *without_controls(frame["method"]),
        *results.cautions(panels),
    ]
    return table_of(artifact, lay_out(cells), notes, frame)


def _of_panel(artifact: Artifact, results: Results, panel: Panel, at: int) -> Iterable[dict[str, Any]]:
    """The accuracies of each method and setting, and their difference as the metric `gap`."""
    rows = pd.concat([results.rows({**artifact, "metric": metric}, panel) for metric in ACCURACIES])
    rows = rows[(rows["selection"] == "grid") & rows["method"].isin(list(QUESTION_METHODS))]
    records = records_of(
        rows.assign(
            method=[named_variant(*pair) for pair in zip(rows["method"], rows["setting"], strict=True)]
        )
    )
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
    """What a table of questions says where nobody could tell what its options give away."""
    if any(method in CONTROLS for method in methods):
        return []
    return [
        "No control stands here: longest option and odd one out need the texts of the options, which these answers "
        "do not bring. How much of an accuracy the options give away is unknown."
    ]


def _order(record: Record) -> tuple[Any, ...]:
    """In the order of the registry, controls last; the method as it is before its variants."""
    method = record["method"].split(";")[0]
    values = [str(value) for value in parse_setting(method, record["setting"]).values()]
    return is_control(method), list(QUESTION_METHODS).index(method), record["method"] != method, values


def _label(method: str, setting: str) -> str:
    given = parse_setting(method.split(";")[0], setting).get("k")
    return f"{row_label(method)}, {given} tokens given" if given else row_label(method)
