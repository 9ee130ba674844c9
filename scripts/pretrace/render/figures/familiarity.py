"""Texts ranked by how well a model predicts them, with their names: what has it met most often?"""

from collections.abc import Sequence
from typing import Any

import numpy as np
import pandas as pd
from matplotlib.axes import Axes

from pretrace.evaluation.averages import Record
from pretrace.evaluation.metrics import rows_like
from pretrace.evaluation.significance import AtTop, at_top
from pretrace.methods.settings import Column
from pretrace.questions.known import is_control
from pretrace.render.figures.drawing import (
    BLUE,
    CHANCE,
    GREY,
    PAGE,
    Drawing,
    chance_of,
    draw_intervals,
    letter,
    sheet,
)
from pretrace.render.names import BLIND, CLASSES, joined, marked_label, method_label
from pretrace.render.phrases import with_interval
from pretrace.render.registry import Artifact, Panel
from pretrace.render.results import Results
from pretrace.render.rows import in_print, records_of

RANKED_BY = "loss"
TOP_SHARE = 10  # the first of this many equal parts of the ranking counts as its top: a tenth
LISTED = 20  # texts that are listed by name, from the top


def familiar_texts(artifact: Artifact, results: Results) -> Drawing:
    """Rank the texts of one panel by Loss: the first by name, where those of label 1 are, every method's AUC.

    The data hold a row a text (`kind` text: rank, name, group, class, scores of every method at its default setting)
    and a row a method (`kind` method: AUC with interval). A group is a name without its last word, as a book without
    the number of the chapter.
    """
    panels = results.panels(artifact)
    if len(panels) != 1:
        raise artifact.error(f"it shows one panel, not {len(panels)}; give one.")
    panel = panels[0]
    rows = results.selected(artifact, panel, "default")
    if RANKED_BY not in rows:
        raise artifact.error(f"texts are ranked by {RANKED_BY}; add it to the run's methods.", panel)
    classes = results.entries[panel.benchmark].get("classes", list(CLASSES.values()))
    texts = _texts(panel, results, rows, classes)
    names = artifact.ordered(rows)
    values = [{key: rows[method][key] for key in ("value", "low", "high")} for method in names]
    methods = pd.DataFrame({"kind": "method", "method": names}).join(pd.DataFrame(values))
    frame = pd.concat([texts, methods], ignore_index=True).assign(model=panel.model)
    frame = frame.astype({"rank": "Int64", "label": "Int64"})
    with sheet(PAGE, 4.1) as figure:
        first, right = figure.subfigures(1, 2, squeeze=False, width_ratios=[1, 1.15])[0]
        _draw_first(first.subplots(), texts, classes)
        tenths, aucs = right.subplots(2, 1, height_ratios=[1, 1.1])
        _draw_tenths(tenths, texts, classes)
        _draw_aucs(aucs, methods, classes)
    return Drawing(
        figure, frame, "\n".join([reading(in_print(frame, artifact.names)), *results.cautions(panels)])
    )


def _texts(panel: Panel, results: Results, rows: Record, classes: Sequence[str]) -> pd.DataFrame:
    """Return the ranked texts: `rank` 1 is the text that the model predicts best; equal scores by name."""
    texts = results.every_text(panel)
    texts = texts[texts["label"].notna()].set_index("text_id")
    scores = results.read("scores", panel.pair)
    label = texts["label"].to_numpy(int)
    columns: dict[str, Any] = {
        "kind": "text",
        "name": texts.index.to_numpy(),
        "group": [name.rpartition(" ")[0] or name for name in texts.index],
        "label": label,
        "class": np.where(label == 1, classes[0], classes[1]).astype(object),
    }
    for method, row in rows.items():
        # a method without shots has no draw in the scores, though its row of metrics may carry one
        keys = [key for key in Column._fields if key != "draw"]
        own = rows_like(scores, {**row, "method": method.split(";")[0]}, keys)
        columns[method] = own.set_index("id")["score"].reindex(texts.index).to_numpy()
    frame = pd.DataFrame(columns).dropna(subset=[RANKED_BY])
    frame = frame.sort_values([RANKED_BY, "name"], ascending=[False, True], ignore_index=True)
    frame.insert(1, "rank", np.arange(1, len(frame) + 1))
    return frame


def _top(texts: pd.DataFrame) -> AtTop:
    top = max(1, len(texts) // TOP_SHARE)
    return at_top(texts["rank"].tolist(), texts["label"].eq(1).tolist(), texts["group"].tolist(), top)


def reading(frame: pd.DataFrame) -> str:
    """Say in sentences, a line each, what the data of `familiar_texts` show."""
    texts = frame[frame["kind"] == "text"].sort_values("rank")
    first = f"Best predicted: {joined(texts['name'].head(5).tolist())}."
    return "\n".join([_verdict(frame), first, _aucs(frame)])


def lines(frame: pd.DataFrame) -> list[str]:
    """Return the result and its controls for a terminal, of `familiar_texts`' data."""
    return [f"{_verdict(frame)} {_aucs(frame)}"]


def _verdict(frame: pd.DataFrame) -> str:
    texts = frame[frame["kind"] == "text"]
    members, top = texts.loc[texts["label"].eq(1), "class"], _top(texts)
    return (
        f"{top.hits} of the {len(members)} {members.iloc[0]} are among the {top.top:,} of "
        f"{len(texts):,} texts that {frame['model'].iloc[0]} predicts best; {top.expected:.1f} would be by chance, "
        f"if as many were drawn from the same books (exact p = {top.p:.2g})."
    )


def _aucs(frame: pd.DataFrame) -> str:
    rows = records_of(frame[frame["kind"] == "method"])
    seeing = [row for row in rows if not is_control(row["method"])]
    blind = [row for row in rows if is_control(row["method"])]
    ranking = next(row for row in seeing if row["method"] == RANKED_BY)
    told = "; ".join(
        f"{method_label(row['method'])} {with_interval((row['value'], row['low'], row['high']), 2)}"
        for row in [ranking, *blind]
    )
    reaching = [row["method"] for row in blind if row["value"] >= ranking["value"]]
    above = [method_label(method) + " (a bag of words)" * (method == BLIND) for method in reaching]
    if not above:
        return f"AUC: {told}. No control, which sees no model, reaches as much."
    return (
        f"AUC: {told}. {joined(above)} {'sees' if len(above) == 1 else 'see'} no model and "
        f"{'reaches' if len(above) == 1 else 'reach'} as much: the wording alone tells the two classes "
        "apart, so the AUC does not show what the model has read."
    )


REST = "#C9CDD2"  # the bars of texts of label 0


def _draw_first(axis: Axes, texts: pd.DataFrame, classes: Sequence[str]) -> None:
    """Draw the first texts by rank and name, with the chance that the model gives to their tokens."""
    rows = texts.sort_values("rank").head(LISTED)
    famous = rows["label"].eq(1).to_numpy()
    percent = 100 * np.exp(rows[RANKED_BY].astype(float))
    for shown, color, name in ((famous, BLUE, classes[0]), (~famous, REST, classes[1])):
        axis.barh(rows["rank"][shown], percent[shown], height=0.7, color=color, label=name)
    names = [f"{name}   {rank}" for name, rank in zip(rows["name"], rows["rank"], strict=True)]
    axis.set_yticks(rows["rank"].astype(int), names)
    for label, is_famous in zip(axis.get_yticklabels(), famous, strict=True):
        label.set(color=BLUE if is_famous else "black", fontweight="bold" if is_famous else "normal")
    x_label = "chance that the model gives to each next token\n(%, geometric mean)"
    axis.set(ylim=(len(rows) + 0.6, 0.4), xlabel=x_label)
    axis.tick_params(axis="y", length=0)
    axis.set_title(f"{letter(0)}the {len(rows)} best predicted of {len(texts):,}", loc="left", fontsize=7)
    axis.legend(loc="lower right")


def _draw_tenths(axis: Axes, texts: pd.DataFrame, classes: Sequence[str]) -> None:
    """Draw how many texts of label 1 each tenth of the ranking holds; by chance, all would hold as many."""
    ranks, size = texts.loc[texts["label"].eq(1), "rank"].to_numpy(float), _top(texts).top
    tenths = np.minimum((ranks - 1) // size, TOP_SHARE - 1).astype(int)
    counts = np.bincount(tenths, minlength=TOP_SHARE)
    axis.bar(np.arange(1, TOP_SHARE + 1), counts, width=0.8, color=BLUE)
    for tenth, count in enumerate(counts, start=1):
        axis.annotate(f"{count}", (tenth, count), (0, 2), textcoords="offset points", ha="center", fontsize=7,
                      bbox={"facecolor": "white", "edgecolor": "none", "pad": 0.5})  # fmt: skip
    expected = axis.axhline(len(ranks) * size / len(texts), **CHANCE.line, label="expected by chance")
    axis.set_xticks(range(1, TOP_SHARE + 1))
    axis.set_yticks([])
    axis.set(xlabel="tenth of the ranking (1: best predicted)", ylabel="number", ylim=(0, 1.2 * counts.max()))
    axis.legend(handles=[expected], loc="upper right")
    axis.set_title(f"{letter(1)}the {len(ranks)} {classes[0]} by rank", loc="left", fontsize=7)


def _draw_aucs(axis: Axes, methods: pd.DataFrame, classes: Sequence[str]) -> None:
    """Draw the AUC of every method, grey squares for controls."""
    places = np.arange(len(methods))
    for control, color, marker in ((False, BLUE, "o"), (True, GREY, "s")):
        own = methods["method"].map(is_control).eq(control).to_numpy()
        draw_intervals(axis, places[own], methods[own], color, level=True)
        values = methods.loc[own, "value"]
        axis.plot(values, places[own], linestyle="none", marker=marker, color=color, markersize=4)
    axis.axvline(chance_of("auc")["chance"], **CHANCE.line, zorder=0)
    axis.set_yticks(places, [marked_label(method) for method in methods["method"]])
    axis.set(ylim=(len(places) - 0.4, -0.6), xlabel="AUC (0.5 is chance, 1 is perfect)")
    axis.set_title(f"{letter(2)}{classes[0]} against {classes[1]}", loc="left", fontsize=7)
