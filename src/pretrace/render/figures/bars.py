"""Bars side by side, with intervals: a method by its parts, answers by calibration,
place and letter."""

from collections.abc import Mapping, Sequence

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.patches import Patch

from pretrace.evaluation.documents import ACCURACIES
from pretrace.methods import parse_setting
from pretrace.questions.method_facts import QUESTION_CONTROLS
from pretrace.render.artifact import Artifact, Panel
from pretrace.render.figures.drawing import (
    CHANCE_STYLE,
    ESTIMATE,
    PAGE,
    Drawing,
    Facet,
    Handles,
    LineStyle,
    Values,
    axes_width,
    chance_of,
    draw_facets,
    draw_intervals,
    nth_fill,
    value_text,
)
from pretrace.render.frames import number_record, of_panels, records_of
from pretrace.render.names import (
    CALIBRATION_LABELS,
    CLASSES,
    chance_level,
    marked_label,
    method_label,
    metric_label,
)
from pretrace.render.results import Results
from pretrace.runtime.errors import nearest

# all of four options are chosen equally often
EVEN = {"one in four": (0.25, CHANCE_STYLE)}
SHARE_RIGHT = "share of right answers"
# inches that a value takes over its bar; over a narrower one it is turned
WRITTEN = 0.22


def draw_bars(
    results: Results,
    panels: Sequence[Panel],
    frames: Sequence[pd.DataFrame],
    quantity: str,
    across: Mapping[str, tuple[float, LineStyle]] = EVEN,
    *,
    subject: str = "",
    label: str = "",
    base: float = 0.0,
) -> Drawing:
    """Return groups of bars from `base`: a facet a panel, a fill a series. `across`:
    levels by name.

    Rows of a frame are bars `group, series, value, low, high`; without series, a bar a
    group. `subject` is added to the title of every facet.
    """
    frame = pd.concat(frames)
    series = list(dict.fromkeys(frame["series"])) if "series" in frame else []
    facets = []
    for panel, own in zip(panels, frames, strict=True):
        title = f"{panel.name}\n{subject}".replace("_", " ").strip()
        told = own["group"]
        if series:
            told = told + ", " + own["series"]
        facet = Facet(title, own.assign(told=told), quantity, label, across=across)
        facets.append(facet)

    def draw(axis: Axes, facet: Facet) -> Handles:
        frame = facet.frame
        groups = list(dict.fromkeys(frame["group"]))
        own = [name for name in series if frame["series"].eq(name).any()]
        width = 0.8 / max(1, len(own))
        is_narrow = axes_width(axis) * width / (len(groups) + 0.2) < WRITTEN
        lefts, texts = [], []
        for row in records_of(frame):
            number = groups.index(row["group"])
            place: float = number
            if series:
                number = series.index(row["series"])
                from_middle = own.index(row["series"]) - (len(own) - 1) / 2
                place += from_middle * width
            lefts.append(place - width / 2)
            texts.append(value_text(row, facet.quantity))
            look = {"width": width * 0.94, "bottom": base, **nth_fill(number)}
            axis.bar(place, row["value"] - base, **look)
            bar = pd.DataFrame([row])[ESTIMATE].astype(float)
            draw_intervals(axis, [place], bar, "black", ground=True)
            top = bar[["value", "high"]].max(axis=1).iloc[0]
            axis.annotate(
                f"{row['value']:.2f}",
                (place, top),
                (0, 2.5),
                ha="center",
                textcoords="offset points",
                va="bottom",
                rotation=90 if is_narrow else 0,
                fontsize=6,
                zorder=5,
                bbox={"facecolor": "white", "edgecolor": "none", "pad": 0.4},
            )
        sides = lefts, np.add(lefts, width)
        ends = frame[ESTIMATE].astype(float).assign(base=base)
        heights = ends.min(axis=1), ends.max(axis=1)
        axis.add_artist(Values(sides, heights, texts))
        axis.set_xticks(range(len(groups)), groups)
        axis.set_xlim(-0.6, len(groups) - 0.4)
        axis.margins(y=0.12)  # values are above bars
        handles = {}
        for place, name in enumerate(series):
            handles[name] = Patch(**nth_fill(place))
        return handles

    figure = draw_facets(facets, draw, widths=(3.6, PAGE * 2 / 3, PAGE))
    data = of_panels(frames, panels)
    return Drawing(figure, data, " ".join(results.cautions(panels)))


def ablation_bars(artifact: Artifact, results: Results) -> Drawing:
    """Draw the parts of a method: a facet a panel, a bar for each setting in
    `options.settings` (label -> setting).

    A panel's own `settings` replace these.
    """
    options = artifact.options
    metric = artifact.metric
    method = options.method
    panels = results.panels(artifact)
    frames = []
    for panel in panels:
        grid = results.grid(artifact, panel, method)
        rows = []
        for label, setting in (panel.settings or options.settings).items():
            if setting not in grid:
                raise artifact.error(
                    f"{label} has no row, because the run does not score {method} with "
                    f"{setting}; it scores: {', '.join(sorted(grid))}",
                    panel,
                )
            about = {"group": label, "method": method, "metric": metric}
            rows.append(about | number_record(grid[setting]))
        frames.append(pd.DataFrame(rows))
    label = f"parts of {method_label(method)}"
    quantity, across = metric_label(metric), chance_of(metric)
    base = chance_level(metric) or 0.0
    drawn = draw_bars(results, panels, frames, quantity, across, label=label, base=base)
    settings = []
    shown = pd.concat(frames).drop_duplicates(["group", "setting"])
    for row in records_of(shown):
        settings.append(f"{row['group']} {row['setting'].replace(';', ', ')}")
    note = f"Fixed settings, not chosen on other folds: {'; '.join(settings)}."
    return drawn.with_notes([note])


def calibration_bars(artifact: Artifact, results: Results) -> Drawing:
    """Draw the share of right answers: a facet a panel, a group a class, a bar a
    calibration, and the controls."""
    panels = results.panels(artifact)
    order = [*CALIBRATION_LABELS.values(), *map(marked_label, QUESTION_CONTROLS)]
    methods = ["de_cop", *QUESTION_CONTROLS]
    frames = []
    for panel in panels:
        rows = []
        for metric, group in zip(ACCURACIES, CLASSES.values(), strict=True):
            own = artifact.replaced(methods=methods, metric=metric)
            bars = []
            for row in records_of(results.rows(own, panel, selection="grid")):
                series = marked_label(row["method"])
                setting = parse_setting(row["method"], row["setting"])
                if setting.get("calibration"):
                    series = CALIBRATION_LABELS[str(setting["calibration"])]
                bar = {"group": group, "metric": metric, "series": series}
                bars.append(bar | {**number_record(row)})
            rows += sorted(bars, key=lambda bar: order.index(bar["series"]))
        frames.append(pd.DataFrame(rows))
    return draw_bars(results, panels, frames, SHARE_RIGHT)


# of the options: the true text first, and third, with options A and C swapped
SHOWN_ORDERS = (0, 14)


def position_bars(artifact: Artifact, results: Results) -> Drawing:
    """Draw the accuracy of each class, or of `options.document`, in each of the two
    `SHOWN_ORDERS`: a facet a panel.

    Every bar has the same passages.
    """
    panels = results.panels(artifact)
    frames = []
    for panel in panels:
        rows = results.rows(artifact, panel, "accuracy_by_order")
        rows = of_document(artifact, panel, rows)
        rows = rows[rows["order"].isin(SHOWN_ORDERS)]
        rows = rows.sort_values(["order", "label"], ascending=[True, False])
        series = "true text at " + rows["letter"]
        group = rows["label"].map(CLASSES)
        bars = rows[ESTIMATE]
        frames.append(bars.assign(series=series, group=group))
    subject = artifact.options.document
    return draw_bars(results, panels, frames, SHARE_RIGHT, subject=subject)


def letter_bars(artifact: Artifact, results: Results) -> Drawing:
    """Draw the mean probability of each letter, of `options.document` or of all
    non-members: a facet a panel."""
    panels = results.panels(artifact)
    document = artifact.options.document
    frames = []
    for panel in panels:
        rows = results.rows(artifact, panel, "letters", quantity="letter_probability")
        rows = of_document(artifact, panel, rows)
        if not document:
            rows = rows[rows["label"].eq(0).fillna(False)]
        if rows.empty:
            raise artifact.empty("no non-member has answers with probabilities", panel)
        calibration = pd.Categorical(rows["calibration"], list(CALIBRATION_LABELS))
        rows = rows.assign(calibration=calibration)
        rows = rows.sort_values(["calibration", "letter"])
        series = rows["calibration"].astype(object).map(CALIBRATION_LABELS)
        bars = rows[ESTIMATE].assign(document=document)
        frames.append(bars.assign(group=rows["letter"], series=series))
    quantity = "mean probability of the letter"
    subject = document or "non-members"
    return draw_bars(results, panels, frames, quantity, subject=subject)


def of_document(artifact: Artifact, panel: Panel, rows: pd.DataFrame) -> pd.DataFrame:
    """Return the rows of `options.document`, or of classes (""); an unknown name is an
    error with the nearest."""
    document = artifact.options.document
    # BookTection writes ids with underscores
    own = rows[rows["document"].str.replace("_", " ") == document.replace("_", " ")]
    if document and own.empty:
        hint = nearest(document, set(rows["document"]) - {""})
        raise artifact.error(f"unknown options.document '{document}': {hint}", panel)
    return own
