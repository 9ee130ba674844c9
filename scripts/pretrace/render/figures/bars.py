"""Bars side by side, with intervals: a method by its parts, answers by calibration, place and letter."""

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import pandas as pd
from matplotlib.patches import Patch

from pretrace.evaluation.documents import ACCURACIES
from pretrace.methods import parse_setting
from pretrace.render.figures.drawing import (
    CHANCE,
    GREEN,
    ORANGE,
    PAGE,
    SKY,
    Drawing,
    chance_of,
    draw_facets,
    draw_intervals,
)
from pretrace.render.names import (
    CALIBRATION_LABELS,
    CLASSES,
    marked_label,
    method_label,
    metric_label,
    panel_lines,
    where,
)
from pretrace.render.registry import Artifact, figure
from pretrace.render.results import Results
from pretrace.render.rows import Panel, number_record, of_panels, records_of
from pretrace.runtime.errors import InputError, nearest

FILLS = (("#DDDDDD", ""), (SKY, "///"), (ORANGE, "\\\\\\"), (GREEN, "..."), ("#FFFFFF", "xxx"))

EVEN = {"one in four": 0.25}
"""Where all of four options are chosen equally often."""

SHARE_RIGHT = "share of right answers, 95 % interval"
CONTROLS = ("longest_option", "odd_one_out")


class Facet(NamedTuple):
    """Axes of bars: rows of `frame` are bars `group, series, value, low, high`; without series, a bar a group."""

    title: str
    frame: pd.DataFrame


def draw_bars(
    results: Results,
    panels: Sequence[Panel],
    frames: Sequence[pd.DataFrame],
    y_label: str,
    across: Mapping[str, float],
    *,
    subject: str = "",
    x_label: str = "",
) -> Drawing:
    """Groups of bars from zero, a facet for each panel, a fill for each series; `across` are levels by name.

    `subject` is what every facet is of, beside its panel.
    """
    frame = pd.concat(frames)
    series = list(dict.fromkeys(frame["series"])) if "series" in frame else []
    highest = max([*frame[["value", "high"]].astype(float).max(), *across.values()])
    subjects = [subject.replace("_", " ")] if subject else []
    titles = ["\n".join([*panel_lines(panel), *subjects]) for panel in panels]

    def draw(axis: Any, facet: Facet) -> dict[str, Any]:
        _draw(axis, facet.frame, series)
        axis.set(xlabel=x_label, ylim=(0, min(1.12, highest * 1.18)))
        handles: dict[str, Any] = {name: Patch(**_fill(at)) for at, name in enumerate(series)}
        return handles | {name: axis.axhline(level, **CHANCE.line) for name, level in across.items()}

    facets, widths = list(map(Facet, titles, frames)), (3.6, PAGE * 2 / 3, PAGE)
    drawn = draw_facets(facets, draw, row=2.4, y_labels=[y_label] * len(facets), widths=widths)
    return Drawing(drawn, of_panels(frames, panels), " ".join(results.cautions(panels)))


def _draw(axis: Any, frame: pd.DataFrame, series: Sequence[str]) -> None:
    groups = list(dict.fromkeys(frame["group"]))
    width = 0.8 / max(1, len(series))
    for row in records_of(frame):
        at = series.index(row["series"]) if series else groups.index(row["group"])
        place = groups.index(row["group"]) + ((at - (len(series) - 1) / 2) * width if series else 0.0)
        axis.bar(place, row["value"], width=width * 0.94, **_fill(at))
        one = pd.DataFrame([row])[["value", "low", "high"]].astype(float)
        draw_intervals(axis, [place], one, "black", ground=True)
        axis.annotate(f"{row['value']:.3f}", (place, one[["value", "high"]].max(axis=1).iloc[0]), (0, 2.5), ha="center",
                      textcoords="offset points", va="bottom", fontsize=6, zorder=5,
                      bbox={"facecolor": "white", "edgecolor": "none", "pad": 0.4})  # fmt: skip
    axis.set_xticks(range(len(groups)), groups)
    axis.set_xlim(-0.6, len(groups) - 0.4)


def _fill(place: int) -> dict[str, Any]:
    """How the bars of a series look."""
    color, hatch = FILLS[place % len(FILLS)]
    return {"facecolor": color, "hatch": hatch, "hatchcolor": "white", "edgecolor": "black", "linewidth": 0.6}


@figure("ablation_bars", needs=("metrics",), required=("method", "settings"))
def by_part(artifact: Artifact, results: Results) -> Drawing:
    """One facet for each panel, one bar for each setting in `options.settings` (label -> setting): a method's parts,
    one by one.

    A panel's own `settings` replace these.
    """
    panels, method = results.panels(artifact), artifact["options"]["method"]
    metric = artifact.get("metric", "auc")
    frames = []
    for panel in panels:
        grid = results.grid(artifact, panel, method)
        settings = panel.get("settings", artifact["options"]["settings"])
        for label, setting in settings.items():
            if setting not in grid:
                raise InputError(
                    f"{where(artifact, panel)}: {label} has no row, because the run "
                    f"does not score {method} with {setting}; it scores: {', '.join(sorted(grid))}"
                )
        about = {"method": method, "metric": metric}
        rows = [{"group": name} | about | number_record(grid[setting]) for name, setting in settings.items()]
        frames.append(pd.DataFrame(rows))
    y_label, x_label = f"{metric_label(metric)}, with 95 % interval", f"parts of {method_label(method)}"
    return draw_bars(results, panels, frames, y_label, chance_of(metric), x_label=x_label)


@figure("calibration_bars", needs=("metrics",))
def by_calibration(artifact: Artifact, results: Results) -> Drawing:
    """A facet a panel: the share of right answers, a group of bars a class, a bar a calibration, and the controls."""
    panels = results.panels(artifact)
    order = [*CALIBRATION_LABELS.values(), *map(marked_label, CONTROLS)]
    frames = []
    for panel in panels:
        rows = []
        for metric, group in zip(ACCURACIES, CLASSES.values(), strict=True):
            every = results.rows({**artifact, "methods": ["de_cop", *CONTROLS], "metric": metric}, panel)
            found = {_series(row): row for row in records_of(every[every["selection"] == "grid"])}
            there = [name for name in order if name in found]
            about = {"group": group, "metric": metric}
            rows += [about | {"series": name} | number_record(found[name]) for name in there]
        frames.append(pd.DataFrame(rows))
    return draw_bars(results, panels, frames, SHARE_RIGHT, EVEN)


def _series(row: Mapping[str, Any]) -> str:
    if row["method"] in CONTROLS:
        return marked_label(row["method"])
    return CALIBRATION_LABELS[str(parse_setting("de_cop", row["setting"])["calibration"])]


ORDERS = (0, 14)
"""Of the options: the true text first, and third, with options A and C swapped."""


@figure("position_bars", needs=("metrics", "accuracy_by_order"), optional=("document",))
def by_place(artifact: Artifact, results: Results) -> Drawing:
    """One facet for each panel: accuracy of each class in each of the two `ORDERS`, one bar each.

    Every bar has the same passages. With `options.document`, the bars show one document.
    """
    panels, document = results.panels(artifact), artifact["options"].get("document", "")
    frames = []
    for panel in panels:
        rows = results.estimates_of(artifact, panel, "accuracy_by_order")
        rows = _of_document(artifact, panel, rows, document)
        rows = rows[rows["order"].isin(ORDERS)]
        rows = rows.sort_values(["order", "label"], ascending=[True, False])
        series, groups = "true text at " + rows["letter"], rows["label"].map(CLASSES)
        frames.append(rows[["value", "low", "high"]].assign(series=series, group=groups))
    return draw_bars(results, panels, frames, SHARE_RIGHT, EVEN, subject=document)


@figure("letter_bars", needs=("metrics", "letters"), optional=("document",))
def by_letter(artifact: Artifact, results: Results) -> Drawing:
    """A facet a panel: mean probability of each letter, of one document (`options.document`) or of all non-members."""
    panels, document = results.panels(artifact), artifact["options"].get("document", "")
    frames = []
    for panel in panels:
        rows = results.estimates_of(artifact, panel, "letters", "letter_probability")
        rows = _of_document(artifact, panel, rows, document)
        rows = rows if document else rows[rows["label"].eq(0).fillna(False)]
        if rows.empty:
            raise InputError(f"{where(artifact, panel)}: no non-member has answers with probabilities")
        calibration = pd.Categorical(rows["calibration"], list(CALIBRATION_LABELS))
        rows = rows.assign(calibration=calibration).sort_values(["calibration", "letter"])
        series = rows["calibration"].astype(object).map(CALIBRATION_LABELS)
        frame = rows[["value", "low", "high"]].assign(document=document, group=rows["letter"], series=series)
        frames.append(frame)
    y_label = f"mean probability of the letter{'' if document else ', 95 % interval'}"
    return draw_bars(results, panels, frames, y_label, EVEN, subject=document or "non-members")


def _of_document(artifact: Artifact, panel: Panel, rows: pd.DataFrame, document: str) -> pd.DataFrame:
    """Return the rows of one document, or of classes (""); raises with the nearest name if there are none."""
    of = rows[rows["document"] == document]
    if document and of.empty:
        hint = nearest(document, set(rows["document"]) - {""})
        raise InputError(f"{where(artifact, panel)}: unknown options.document '{document}': {hint}")
    return of
