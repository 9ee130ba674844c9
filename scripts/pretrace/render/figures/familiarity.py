"""Texts ranked by how well a model predicts them, with their names: what has it met most often?"""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import pandas as pd

from pretrace.evaluation.ranking import AtTop, at_top
from pretrace.questions.known import is_control
from pretrace.render.figures.drawing import (
    BLUE,
    CHANCE,
    GREY,
    PAGE,
    VERMILION,
    Drawing,
    draw_intervals,
    letter,
    sheet,
)
from pretrace.render.names import CLASSES, marked_label, method_label, ordered, where
from pretrace.render.phrases import joined, with_interval
from pretrace.render.registry import Artifact, figure
from pretrace.render.results import Results, pair_of
from pretrace.render.rows import Panel, records_of
from pretrace.runtime.errors import InputError

RANKED_BY = "loss"
TOP_SHARE = 10
"""The first of so many equal parts of the ranking counts as its top: a tenth."""
LISTED = 20
"""So many texts are listed by name from the top."""
NAMED = 3
"""Of these, the terminal is told so many."""


@figure("familiar_texts", needs=("metrics", "scores", "benchmarks"))
def render(artifact: Artifact, results: Results) -> Drawing:
    """Rank the texts of one panel by Loss: the first by name, where those of label 1 stand, every method's AUC.

    The data hold a row a text (`kind` text: rank, name, group, class, scores of every method at its default setting)
    and a row a method (`kind` method: AUC with interval). A group is a name without its last word, as a book without
    the number of the chapter.
    """
    panels = results.panels(artifact)
    if len(panels) != 1:
        raise InputError(f"artifact {artifact['artifact']}: it shows one panel, not {len(panels)}; give one.")
    panel = panels[0]
    rows = results.selected(artifact, panel, "default")
    if RANKED_BY not in rows:
        raise InputError(
            f"{where(artifact, panel)}: texts are ranked by {RANKED_BY}; add it to the run's methods."
        )
    classes = results.entries[panel["benchmark"]].get("classes", list(CLASSES.values()))
    texts = _texts(panel, results, rows, classes)
    methods = pd.DataFrame(
        [
            {
                "kind": "method",
                "method": method,
                **{key: rows[method][key] for key in ("value", "low", "high")},
            }
            for method in ordered(artifact, rows)
        ]
    )
    frame = pd.concat([texts, methods], ignore_index=True).assign(model=panel["model"])
    frame = frame.astype({"rank": "Int64", "label": "Int64"})
    return Drawing(_figure(frame, classes), frame, "\n".join([reading(frame), *results.cautions(panels)]))


def _texts(panel: Panel, results: Results, rows: Mapping[str, Any], classes: Sequence[str]) -> pd.DataFrame:
    """The ranked texts: `rank` 1 is the text that the model predicts best; equal scores by name."""
    texts = results.every_text(panel)
    texts = texts[texts["label"].notna()].set_index("text_id")
    scores = results.read("scores", pair_of(panel))
    found: dict[str, Any] = {}
    for method, row in rows.items():
        own = scores[scores["method"].eq(method.split(";")[0])]
        for key in ("setting", "view", "start_token", "reference"):
            own = own[own[key].eq(row[key])]
        found[method] = own.set_index("id")["score"].reindex(texts.index).to_numpy()
    names = texts["document"].where(texts["document"].ne(""), texts.index.to_series())
    label = texts["label"].astype(int)
    frame = pd.DataFrame(
        {
            "kind": "text",
            "name": names.to_numpy(),
            "group": [name.rpartition(" ")[0] or name for name in names],
            "label": label.to_numpy(),
            "class": [classes[0] if one else classes[1] for one in label],
            **found,
        }
    ).dropna(subset=[RANKED_BY])
    frame = frame.sort_values([RANKED_BY, "name"], ascending=[False, True], ignore_index=True)
    frame.insert(1, "rank", np.arange(1, len(frame) + 1))
    return frame


def _top(texts: pd.DataFrame) -> AtTop:
    top = max(1, len(texts) // TOP_SHARE)
    return at_top(texts["rank"].tolist(), texts["label"].eq(1).tolist(), texts["group"].tolist(), top)


def reading(frame: pd.DataFrame) -> str:
    """Say in sentences, a line each, what the data of `render` show."""
    return "\n".join([_verdict(frame), _first(frame, 5), _aucs(frame)])


def lines(frame: pd.DataFrame) -> list[str]:
    """Say it in two sentences for a terminal, of `render`'s data."""
    return [_verdict(frame), _first(frame, NAMED)]


def _verdict(frame: pd.DataFrame) -> str:
    texts = frame[frame["kind"] == "text"]
    of_class = texts.loc[texts["label"].eq(1), "class"].iloc[0]
    found = _top(texts)
    return (
        f"{found.hits} of the {int(texts['label'].eq(1).sum())} {of_class} are among the {found.top:,} of "
        f"{len(texts):,} texts that {frame['model'].iloc[0]} predicts best; by chance {found.expected:.1f} would be, "
        f"and {found.expected_in_groups:.1f} if as many were drawn from the same books (exact p = {found.p:.2g})."
    )


def _first(frame: pd.DataFrame, count: int) -> str:
    texts = frame[frame["kind"] == "text"].sort_values("rank")
    return f"Best predicted: {joined(texts['name'].head(count).tolist())}."


def _aucs(frame: pd.DataFrame) -> str:
    rows = records_of(frame[frame["kind"] == "method"])
    seeing = [row for row in rows if not is_control(row["method"])]
    blind = [row for row in rows if is_control(row["method"])]
    told = "; ".join(
        f"{method_label(row['method'])} {with_interval((row['value'], row['low'], row['high']), 2)}"
        for row in [next(row for row in seeing if row["method"] == RANKED_BY), *blind]
    )
    return f"AUC: {told}."


def _figure(frame: pd.DataFrame, classes: Sequence[str]) -> Any:
    """(a) the first texts by name, (b) every text by rank with those of label 1 named, (c) AUCs of the methods."""
    texts = frame[frame["kind"] == "text"].assign(
        percent=lambda rows: 100 * np.exp(rows[RANKED_BY].astype(float))
    )
    methods = frame[frame["kind"] == "method"]
    with sheet(PAGE, 4.6) as drawing:
        grid = drawing.add_gridspec(2, 2, width_ratios=[1, 1.75], height_ratios=[1.35, 1])
        _draw_first(drawing.add_subplot(grid[:, 0]), texts, classes)
        _draw_ranks(drawing.add_subplot(grid[0, 1]), texts, classes)
        _draw_aucs(drawing.add_subplot(grid[1, 1]), methods, classes)
    return drawing


CHANCES = "chance that the model gives to\nthe next token, geometric mean (%)"


def _draw_first(axis: Any, texts: pd.DataFrame, classes: Sequence[str]) -> None:
    rows = texts.head(LISTED)
    places = np.arange(len(rows))
    famous = rows["label"].eq(1).to_numpy()
    axis.barh(places, rows["percent"], height=0.68, color=[BLUE if one else "#C9CDD2" for one in famous])
    axis.set_yticks(
        places, [f"{name}  {rank}" for name, rank in zip(rows["name"], rows["rank"], strict=True)]
    )
    for label, one in zip(axis.get_yticklabels(), famous, strict=True):
        label.set(color=BLUE if one else "black", fontweight="bold" if one else "normal")
    axis.set(ylim=(len(rows) - 0.4, -0.6), xlabel=CHANCES)
    axis.tick_params(axis="y", length=0)
    axis.set_title(f"{letter(0)}the {len(rows)} that the model predicts best", loc="left", fontsize=7)


def _draw_ranks(axis: Any, texts: pd.DataFrame, classes: Sequence[str]) -> None:
    famous = texts[texts["label"].eq(1)]
    top = _top(texts)
    axis.axvspan(0.5, top.top + 0.5, color=VERMILION, alpha=0.10, linewidth=0)
    axis.fill_between(texts["rank"], texts["percent"], color="#C9CDD2", linewidth=0)
    axis.plot(famous["rank"], famous["percent"], "o", color=BLUE, markersize=3.5, zorder=4, clip_on=False)
    highest = float(texts["percent"].max())
    spread = _spread(famous["rank"].to_numpy(float), 0.052 * len(texts), len(texts))
    for name, rank, value, x in zip(famous["name"], famous["rank"], famous["percent"], spread, strict=True):
        axis.annotate(
            name, (rank, value), (x, 1.02 * highest), rotation=60, ha="left", va="bottom", color=BLUE, fontsize=6.5,
            rotation_mode="anchor", arrowprops={"arrowstyle": "-", "color": BLUE, "linewidth": 0.4, "shrinkB": 2},
            annotation_clip=False,
        )  # fmt: skip
    axis.set(
        xlim=(0, len(texts) + 1),
        ylim=(0, highest),
        xlabel=f"rank among all {len(texts):,}",
        ylabel="the same (%)",
    )


def _spread(places: Any, gap: float, end: float) -> Any:
    """Move ascending places apart until neighbours differ by `gap`, none beyond `end`: where labels go."""
    moved = np.array(places, dtype=float)
    for i in range(1, len(moved)):
        moved[i] = max(moved[i], moved[i - 1] + gap)
    for i in range(len(moved) - 1, -1, -1):
        limit = end if i == len(moved) - 1 else moved[i + 1] - gap
        moved[i] = min(moved[i], limit)
    return moved


def _draw_aucs(axis: Any, methods: pd.DataFrame, classes: Sequence[str]) -> None:
    places = np.arange(len(methods))
    for control, color, marker in ((False, BLUE, "o"), (True, GREY, "s")):
        own = methods["method"].map(is_control).eq(control).to_numpy()
        draw_intervals(axis, places[own], methods[own], color, level=True)
        axis.plot(
            methods.loc[own, "value"], places[own], linestyle="none", marker=marker, color=color, markersize=4
        )
    axis.axvline(0.5, **CHANCE.line, zorder=0)
    axis.set_yticks(places, [marked_label(method) for method in methods["method"]])
    axis.set(ylim=(len(places) - 0.4, -0.6), xlabel=f"AUC: {classes[0]} against {classes[1]} (0.5 is chance)")
