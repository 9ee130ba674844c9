"""Words for numbers: the pieces that readings and notes are made of."""

import unicodedata
from collections.abc import Mapping, Sequence
from statistics import mode
from typing import Any

import pandas as pd

from pretrace.evaluation.averages import Estimate
from pretrace.questions.known import is_question
from pretrace.render.names import (
    EVALUATION_SET_LABELS,
    METRIC_NOTES,
    method_label,
    metric_label,
    panel_label,
    view_label,
)
from pretrace.render.registry import Artifact
from pretrace.render.rows import STAR_LEVEL, Panel, records_of

MINUS = "\N{MINUS SIGN}"
DASH = "\N{EN DASH}"


def is_wide(character: str) -> bool:
    """Whether it is Chinese: a character as wide as high, or the punctuation that comes with these."""
    return unicodedata.east_asian_width(character) in "WF"


def signed(value: float, digits: int) -> str:
    """`+0.031`, `-0.020` with a true minus, and 0 without a sign."""
    text = f"{value:+.{digits}f}"
    return text.lstrip("+-") if float(text) == 0 else text.replace("-", MINUS)


def joined(parts: Sequence[str]) -> str:
    """`a`, `a and b`, `a, b and c`."""
    return parts[0] if len(parts) == 1 else ", ".join(parts[:-1]) + f" and {parts[-1]}"


def with_interval(estimate: Estimate, digits: int = 3) -> str:
    """A value with this many digits; its interval has two."""
    value, low, high = estimate
    interval = f" [{low:.2f}, {high:.2f}]" if low is not None and high is not None else ""
    return f"{value:.{digits}f}{interval}"


def multiplicity_note(families: int, what: str = "column") -> list[str]:
    """What Holm's correction inside each of several families leaves to chance."""
    if families < 2:
        return []
    return [
        f"The correction holds within a {what}, not over all of them: if nothing differed anywhere, up to "
        f"{STAR_LEVEL * families:.2g} of these {families} {what}s would be expected to have a star by chance."
    ]


def other_texts_note(panels: Sequence[Panel], frame: pd.DataFrame) -> list[str]:
    """A note on methods evaluated on another number of texts than most of their panel, if there are any."""
    found: dict[str, None] = {}
    counted = frame.assign(count=frame["n_members"] + frame["n_nonmembers"])
    for _, own in counted.groupby(["panel", "metric", "selection"], sort=False):
        usual = mode(own["count"])
        for row in records_of(own[own["count"] != usual]):
            name = f"{method_label(row['method'])} on {panel_label(panels[row['panel']])}"
            found[f"{name} ({row['count']:,}, not {usual:,})"] = None
    return [f"On another number of texts than most methods: {'; '.join(found)}."] if found else []


def conditions(artifact: Artifact, rows: Sequence[Mapping[str, Any]]) -> list[str]:
    """Notes on what every number of an artifact rests on: metric, texts, start token, reference."""
    metrics = artifact.get("options", {}).get("metrics", [artifact.get("metric", "auc")])
    named = joined([metric_label(metric) for metric in metrics])
    if rows and all(row.get("unit") == "document" for row in rows):
        notes = [f"{named}; {DOCUMENTS}"]
    else:
        notes = [f"{named}; {_evaluation_sets(artifact, rows)}."]
    notes += [
        f"{metric_label(metric)}: {METRIC_NOTES[metric]}." for metric in metrics if metric in METRIC_NOTES
    ]
    shown = sorted({row["start_token"] for row in rows} - {""})
    if shown:
        notes.append(f"Start token: {joined([_start_token(token) for token in shown])}.")
    asked = [row for row in rows if is_question(row["method"])]
    if paraphrasers := sorted({row["reference"] for row in asked} - {""}):
        notes.append(f"Wrong options: {joined([view_label(view) for view in paraphrasers])}.")
    if references := sorted({row["reference"] for row in rows} - {"", *paraphrasers}):
        notes.append(f"Reference corpus or model: {joined(references)}.")
    return notes


def _evaluation_sets(artifact: Artifact, rows: Sequence[Mapping[str, Any]]) -> str:
    """The evaluation sets in words; of several, each with its benchmarks."""
    sets = sorted({row["evaluation_set"] for row in rows} or {artifact.get("evaluation_set", "all")})
    texts = {name: f"{name} ({EVALUATION_SET_LABELS.get(name, name)})" for name in sets}
    if len(sets) == 1:
        return f"evaluation set {texts[sets[0]]}"
    benchmarks = {
        name: sorted({row["benchmark"] for row in rows if row["evaluation_set"] == name}) for name in sets
    }
    return "evaluation sets " + joined([f"{texts[name]} of {joined(benchmarks[name])}" for name in sets])


def _start_token(token: str) -> str:
    return {"none": "none", "tokenizer": "the tokenizer's own"}.get(token, token)


DASHES = "A dash means that a method does not apply or was not run there."
INTERVALS = f"Brackets hold 95 % intervals by stratified bootstrap. {DASHES}"
DOCUMENTS = (
    "over documents. A document's score is the share of its answers that are right (DE-COP: over 24 orders of the "
    "options of each passage), or the mean over its passages."
)
