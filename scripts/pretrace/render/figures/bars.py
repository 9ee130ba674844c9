"""Bars side by side, with intervals: a method by its parts, answers by calibration, place and letter."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import pandas as pd
from matplotlib.patches import Patch

from pretrace.evaluation.documents import ACCURACIES
from pretrace.methods import parse_setting
from pretrace.render.figures.drawing import (
    CHANCE,
    CLASSES,
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
    legend_label,
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

CONTROLS = ("longest_option", "odd_one_out")


@dataclass(frozen=True)
class Facet:
    """Axes of bars: rows of `frame` are bars `group, series, value, low, high`; without series, a bar a group."""

    title: str
    frame: pd.DataFrame


def draw_bars(facets: Sequence[Facet], y_label: str, across: Mapping[str, float], x_label: str = "") -> Any:
    """The figure: groups of bars from zero, a fill a series; `across` are levels drawn across, by name."""
    frame = pd.concat([one.frame for one in facets])
    series = list(dict.fromkeys(frame["series"])) if "series" in frame else []
    highest = max([*frame[["value", "high"]].astype(float).max(), *across.values()])

    def draw(axis: Any, facet: Facet) -> dict[str, Any]:
        _draw(axis, facet.frame, series)
        axis.set(xlabel=x_label, ylim=(0, min(1.12, highest * 1.18)))
        handles: dict[str, Any] = {name: _key(*FILLS[at % len(FILLS)]) for at, name in enumerate(series)}
        return handles | {name: axis.axhline(level, **CHANCE.line) for name, level in across.items()}

    widths = (3.6, PAGE * 2 / 3, PAGE)
    return draw_facets(facets, draw, row=2.4, y_labels=[y_label] * len(facets), widths=widths)


def _draw(axis: Any, frame: pd.DataFrame, series: Sequence[str]) -> None:
    groups = list(dict.fromkeys(frame["group"]))
    width = 0.8 / max(1, len(series))
    for row in records_of(frame):
        at = series.index(row["series"]) if series else groups.index(row["group"])
        place = groups.index(row["group"]) + ((at - (len(series) - 1) / 2) * width if series else 0.0)
        color, hatch = FILLS[at % len(FILLS)]
        axis.bar(
            place, row["value"], width=width * 0.94, color=color, hatch=hatch, edgecolor="white", linewidth=0
        )
        axis.bar(place, row["value"], width=width * 0.94, facecolor="none", edgecolor="black", linewidth=0.6)
        one = pd.DataFrame([row])[["value", "low", "high"]].astype(float)
        draw_intervals(axis, [place], one, "black", ground=True)
        axis.annotate(f"{row['value']:.3f}", (place, one[["value", "high"]].max(axis=1).iloc[0]), (0, 2.5), ha="center",
                      textcoords="offset points", va="bottom", fontsize=6, zorder=5,
                      bbox={"facecolor": "white", "edgecolor": "none", "pad": 0.4})  # fmt: skip
    axis.set_xticks(range(len(groups)), groups)
    axis.set_xlim(-0.6, len(groups) - 0.4)


def _key(color: str, hatch: str) -> Any:
    """A bar as the legend shows it."""
    return (
        Patch(facecolor=color, hatch=hatch, edgecolor="white", linewidth=0),
        Patch(facecolor="none", edgecolor="black", linewidth=0.6),
    )


def _title(panel: Panel, subject: str = "") -> str:
    return "\n".join([*panel_lines(panel), *([subject.replace("_", " ")] if subject else [])])


def _drawing(
    results: Results,
    panels: Sequence[Panel],
    facets: Sequence[Facet],
    y_label: str,
    across: Mapping[str, float],
    x_label: str = "",
) -> Drawing:
    frame = of_panels([facet.frame for facet in facets], panels)
    return Drawing(draw_bars(facets, y_label, across, x_label), frame, " ".join(results.cautions(panels)))


@figure("ablation_bars", needs=("metrics",), required=("method", "settings"))
def by_part(artifact: Artifact, results: Results) -> Drawing:
    """One facet for each panel, one bar for each setting in `options.settings` (label -> setting): a method's parts,
    one by one.

    A panel's own `settings` replace these.
    """
    panels, method = results.panels(artifact), artifact["options"]["method"]
    metric = artifact.get("metric", "auc")
    facets = []
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
        rows = [
            {"group": label} | about | number_record(grid[setting]) for label, setting in settings.items()
        ]
        facets.append(Facet(_title(panel), pd.DataFrame(rows)))
    y_label = f"{metric_label(metric)}, with 95 % interval"
    return _drawing(results, panels, facets, y_label, chance_of(metric), f"parts of {method_label(method)}")


@figure("calibration_bars", needs=("metrics",))
def by_calibration(artifact: Artifact, results: Results) -> Drawing:
    """A facet a panel: the share of right answers, a group of bars a class, a bar a calibration, and the controls."""
    panels = results.panels(artifact)
    order = [*CALIBRATION_LABELS.values(), *map(legend_label, CONTROLS)]
    facets = []
    for panel in panels:
        rows = []
        for metric, group in zip(ACCURACIES, CLASSES.values(), strict=True):
            wanted = {**artifact, "methods": ["de_cop", *CONTROLS], "metric": metric}
            every = results.rows(wanted, panel)
            found = {_series(row): row for row in records_of(every[every["selection"] == "grid"])}
            rows += [
                {"group": group, "series": name, "metric": metric} | number_record(found[name])
                for name in order
                if name in found
            ]
        facets.append(Facet(_title(panel), pd.DataFrame(rows)))
    return _drawing(results, panels, facets, "share of right answers, 95 % interval", EVEN)


def _series(row: Mapping[str, Any]) -> str:
    if row["method"] in CONTROLS:
        return legend_label(row["method"])
    return CALIBRATION_LABELS[str(parse_setting("de_cop", row["setting"])["calibration"])]


@figure(
    "position_bars",
    needs=("metrics", "estimates"),
    required=("permutations",),
    optional=("document",),
    statistic="accuracy_by_order",
)
def by_place(artifact: Artifact, results: Results) -> Drawing:
    """One facet for each panel: accuracy of each class in each of the orders `options.permutations`, one bar each.

    Every bar has the same passages. With `options.document`, the bars show one document.
    """
    panels, orders = results.panels(artifact), artifact["options"]["permutations"]
    document = artifact["options"].get("document", "")
    facets = []
    for panel in panels:
        rows = _of_document(artifact, results, panel, document, "accuracy_by_order")
        for order in orders:
            letters = sorted(set("".join(rows.loc[rows["order"] == order, "letter"])))
            if len(letters) != 1:
                raise InputError(
                    f"{where(artifact, panel)}: in permutation {order} the true text has "
                    f"{', '.join(letters) or 'no letter'}; it must have one"
                )
        rows = rows[rows["order"].isin(orders)]
        place = {order: at for at, order in enumerate(orders)}
        rows = rows.sort_values(
            ["order", "label"], key=lambda of: of.map(place) if of.name == "order" else -of
        )
        frame = rows[["value", "low", "high"]].assign(
            series="true text at " + rows["letter"], group=rows["label"].map(CLASSES)
        )
        facets.append(Facet(_title(panel, document), frame))
    return _drawing(results, panels, facets, "share of right answers, 95 % interval", EVEN)


@figure("letter_bars", needs=("metrics", "estimates"), optional=("document",))
def by_letter(artifact: Artifact, results: Results) -> Drawing:
    """A facet a panel: mean probability of each letter, of one document (`options.document`) or of all non-members."""
    panels, document = results.panels(artifact), artifact["options"].get("document", "")
    facets = []
    for panel in panels:
        rows = _of_document(artifact, results, panel, document, "letter_probability")
        rows = rows if document else rows[rows["label"].eq(0).fillna(False)]
        if rows.empty:
            raise InputError(f"{where(artifact, panel)}: no non-member has answers with probabilities")
        place = {name: at for at, name in enumerate(CALIBRATION_LABELS)}
        rows = rows.assign(place=rows["calibration"].map(place)).sort_values(["place", "letter"])
        series = rows["calibration"].map(CALIBRATION_LABELS)
        frame = rows[["value", "low", "high"]].assign(document=document, group=rows["letter"], series=series)
        facets.append(Facet(_title(panel, document or "non-members"), frame))
    y_label = f"mean probability of the letter{'' if document else ', 95 % interval'}"
    return _drawing(results, panels, facets, y_label, EVEN)


def _of_document(
    artifact: Artifact, results: Results, panel: Panel, document: str, quantity: str
) -> pd.DataFrame:
    """A panel's rows of one document, or of classes (""); raises with the nearest name where there are none."""
    rows = results.estimates_of(artifact, panel, quantity, "accuracy")
    of = rows[(rows["quantity"] == quantity) & (rows["document"] == document)]
    if document and of.empty:
        hint = nearest(document, set(rows["document"]) - {""})
        raise InputError(f"{where(artifact, panel)}: unknown options.document '{document}': {hint}")
    return of
