"""How long a document takes by each method, as measured: DE-COP tables 13 and 14."""

from collections.abc import Sequence
from typing import Any

from pretrace.methods import METHODS, companions, parse_setting
from pretrace.questions.known import is_control
from pretrace.questions.methods import QUESTION_METHODS
from pretrace.render.names import panel_lines, row_label
from pretrace.render.records import long_frame, panel_record
from pretrace.render.registry import Artifact, table
from pretrace.render.results import Results
from pretrace.render.selecting import Panel
from pretrace.render.tables.table import Cell, Place, Placed, Table, lay_out, table_of
from pretrace.runtime.errors import InputError

Line = tuple[str, str]
"""A method, and a setting of it that is timed apart."""

Times = dict[Line, float]
"""Seconds a document."""


@table("document_times", needs=("passes", "times", "benchmarks"))
def render(artifact: Artifact, results: Results) -> Table:
    """A row a method of the artifact, a column a panel: seconds a document.

    A method of token statistics takes as long as the passes that it reads, shared ones in full, as if it alone
    were run; scoring itself takes no time that matters.
    """
    panels = results.panels(artifact)
    times = [
        _of_passes(artifact, results, panel) | _of_questions(artifact, results, panel) for panel in panels
    ]
    there = {line for of in times for line in of}
    lines = sorted(there, key=lambda line: (artifact["methods"].index(line[0]), line[1]))
    if not lines:
        raise InputError(f"artifact {artifact['artifact']}: none of its methods was timed on its panels")
    cells = [
        Placed(
            "",
            Place(lines.index(line), (_label(line),)),
            Place(at, (*panel_lines(panel), "seconds a document")),
            Cell(words=f"{seconds:.2f}"),
            is_control(line[0]),
        )
        for at, (panel, of) in enumerate(zip(panels, times, strict=True))
        for line, seconds in of.items()
    ]
    notes = [
        "Measured on one machine, on the run that computed each answer and pass: not reproducible to the byte. "
        "A method of token statistics takes as long as the passes that it reads; several share them.",
        *results.cautions(panels),
    ]
    records = [
        panel_record(panel) | {"method": method, "setting": setting, "seconds": seconds}
        for panel, of in zip(panels, times, strict=True)
        for (method, setting), seconds in of.items()
    ]
    return table_of(artifact, lay_out(cells), notes, long_frame(records))


def _of_passes(artifact: Artifact, results: Results, panel: Panel) -> Times:
    """The seconds of the passes that each method reads over the panel's texts, by its number of documents."""
    methods = [
        method for method in artifact["methods"] if method in METHODS and METHODS[method].scope == "text"
    ]
    if not methods or not results.has_passes(panel):
        return {}
    views = results.manifest(panel)["views"]
    documents = results.every_text(panel)["document"].nunique()
    found = {}
    for method in methods:
        read = [_seconds(views, panel, companion) for companion in ("", *sorted(companions([method])))]
        if not set(METHODS[method].needs) - BY_ITSELF and None not in read:
            found[method, ""] = sum(one for one in read if one is not None) / documents
    return found


BY_ITSELF = {"text", "token_ids", "logprobs", "entropies", "variances", "lowercase"}
"""What the passes over a text and its lower-cased form answer."""


def _seconds(views: Sequence[dict[str, Any]], panel: Panel, companion: str) -> float | None:
    """The seconds of the passes over the panel's original texts, or over a companion of them."""
    own = [
        view["seconds"]
        for view in views
        if view["view"] == "original" and view["companion"] == companion and not view["prefix"]
        if view.get("length") in (panel["length"], None) and view.get("subset") in (panel["subset"], "", None)
    ]
    return float(sum(own)) if own else None


def _of_questions(artifact: Artifact, results: Results, panel: Panel) -> Times:
    methods = [method for method in artifact["methods"] if method in QUESTION_METHODS]
    return {
        (one["task"], one["setting"]): one["seconds"] / one["documents"]
        for one in results.times_of(panel)
        if one["task"] in methods and one["length"] == panel["length"] and one["subset"] == panel["subset"]
        if one["paraphraser"] in ("", *panel.get("references", [one["paraphraser"]]))
    }


def _label(line: Line) -> str:
    method, setting = line
    given = parse_setting(method, setting).get("k") if method in QUESTION_METHODS else None
    return f"{row_label(method)}, {given} tokens given" if given else row_label(method)
