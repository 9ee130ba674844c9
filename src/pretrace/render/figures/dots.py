"""Dots on level lines, with intervals: documents by accuracy, methods among their
placebos, a study's main result."""

from collections.abc import Mapping, Sequence
from textwrap import wrap
from typing import Any

import numpy as np
import pandas as pd
from matplotlib.axes import Axes

from pretrace.evaluation.averages import Record, estimate, number
from pretrace.evaluation.metrics import FEW_DOCUMENTS, marks_in
from pretrace.evaluation.placebos import ends_of_time, first_of_any
from pretrace.questions.method_facts import is_control
from pretrace.render.artifact import Artifact, Panel
from pretrace.render.estimates import beside_controls, for_the_best, is_another
from pretrace.render.figures.bars import EVEN, SHARE_RIGHT, of_document
from pretrace.render.figures.drawing import (
    BLUE,
    COLUMNS,
    ESTIMATE,
    GREY,
    MEMBER,
    NONMEMBER,
    VERMILION,
    Drawing,
    Facet,
    Handles,
    LineStyle,
    Values,
    chance_of,
    draw_facets,
    draw_intervals,
    name_points,
    tell_values,
    value_text,
)
from pretrace.render.frames import of_panels, records_of
from pretrace.render.names import (
    BLIND,
    CLASSES,
    join_words,
    marked_label,
    method_label,
    metric_label,
)
from pretrace.render.phrases import (
    exceeding_placebos,
    false_alarms,
    other_texts_note,
    with_interval,
)
from pretrace.render.results import Results
from pretrace.render.splits import beside_other_splits, over_splits, splits_by_label
from pretrace.render.tables.table import Cell


def draw_dots(facets: Sequence[Facet], styles: Mapping[str, LineStyle]) -> Any:
    """Return the figure: a colour and marker a series, a line a place, from the top.

    Rows of a facet's frame are dots `line, series, value, low, high`, and `told` names
    each.
    """

    def draw(axis: Axes, facet: Facet) -> Handles:
        place = {line: number for number, line in enumerate(facet.ticks)}
        handles = {}
        for series, style in styles.items():
            dots = facet.frame[facet.frame["series"] == series]
            if dots.empty:
                continue
            y = dots["line"].map(place) + style.shift
            draw_intervals(axis, y, dots, style.color, level=True)
            look = style.marked | {"markeredgewidth": 1.0 if style.hollow else 0.0}
            if style.hollow:
                look["markerfacecolor"] = "none"
            [handle] = axis.plot(dots["value"], y, **look, zorder=4)
            tell_values(axis, y, dots, facet.quantity, level=True)
            handles[series] = handle
        axis.set_yticks([*place.values()], [*facet.ticks.values()])
        axis.set_ylim(len(place) - 0.4, -0.6)
        axis.tick_params(labelbottom=True)  # of axes above others, too
        return handles

    # one column, which can be read on a screen of 390 pixels
    return draw_facets(facets, draw, level=True, widths=COLUMNS[:1])


CONTROL_STYLES = {
    "longest_option": LineStyle(GREY, (0, (4, 2)), 0.9),
    "odd_one_out": LineStyle(GREY, (0, (1, 1.5)), 0.9),
}


DOCUMENT_STYLES = {
    1: LineStyle(MEMBER, "", size=2.5),
    0: LineStyle(NONMEMBER, "", marker="s", size=2.5),
}
ACCURACY_COLUMNS = ["document", "label", "n", "answers", "value", "low", "high"]
BETWEEN = 0.05  # of the width of both columns is between them


def document_accuracies(artifact: Artifact, results: Results) -> Drawing:
    """Draw a facet a panel: a dot a document by rising accuracy, in a column a class.

    The highest document of each class and `options.document` are named; the latter is
    read. Level lines are what the controls reach over the same documents.
    """
    panels = results.panels(artifact)
    facets = []
    frames = []
    readings = []
    for panel in panels:
        rows = results.rows(artifact, panel, "accuracy")
        frame = rows[rows["document"] != ""].sort_values(
            ["label", "value", "document"],
            ascending=[False, True, True],
            ignore_index=True,
        )
        frames.append(frame[ACCURACY_COLUMNS])
        levels = rows[rows["document"] == ""].set_index("method")["value"]
        across = dict(EVEN)
        for control, style in CONTROL_STYLES.items():
            if control in levels:
                across[marked_label(control)] = float(levels[control]), style
        place = frame.index + BETWEEN * len(frame) * frame["label"].eq(0)
        told = frame["document"].str.replace("_", " ")
        dots = frame.assign(x=place, told=told)
        named = dots.groupby("label").tail(1)
        if artifact.options.document:
            asked = of_document(artifact, panel, dots)
            named = pd.concat([named, asked])
            row = records_of(asked)[0]
            value = with_interval(estimate(row))
            about = f"{panel.name}, right answers about {row['told']}"
            readings.append(f"{about}: {value}.")
        dots = dots.assign(is_named=dots["told"].isin(named["told"]))
        facet = Facet(panel.name, dots, SHARE_RIGHT, across=across, height=2.9)
        facets.append(facet)
    figure = draw_facets(facets, _draw_documents, widths=COLUMNS[1:2])
    data = of_panels(frames, panels).rename(columns={"n": "passages"})
    return Drawing(figure, data, " ".join([*readings, *results.cautions(panels)]))


def _draw_documents(axis: Axes, facet: Facet) -> Handles:
    ticks = {}
    named = []
    for label, style in DOCUMENT_STYLES.items():
        dots = facet.frame[facet.frame["label"] == label]
        if dots.empty:
            continue
        draw_intervals(axis, dots["x"], dots, style.color)
        axis.plot(dots["x"], dots["value"], **style.marked, markeredgewidth=0, zorder=4)
        # side by side, where one document is next to the other
        sides = dots["x"] - 0.5, dots["x"] + 0.5
        ends = dots[ESTIMATE].astype(float)
        heights = ends.min(axis=1) - 0.01, ends.max(axis=1) + 0.01
        texts = [value_text(row, facet.quantity) for row in records_of(dots)]
        axis.add_artist(Values(sides, heights, texts))
        ticks[dots["x"].mean()] = f"{len(dots)} {CLASSES[label]}"
        for row in records_of(dots[dots["is_named"]]):
            value = with_interval(estimate(row))
            name = f"{row['told']}\n{value}"
            named.append(row | {"name": name, "color": style.color})
    axis.set_xticks(list(ticks), list(ticks.values()))
    axis.tick_params(axis="x", length=0)
    axis.set_ylim(0, 1)
    name_points(axis, named)
    return {}


PLACEBO, OWN = "a member document as the non-members", "the non-members"
ENDS = "the first and the last member document"
RANK_STYLES = {
    PLACEBO: LineStyle("#A6A6A6", "", size=3),
    ENDS: LineStyle(GREY, "", marker="s", size=4, hollow=True),
    OWN: LineStyle(VERMILION, "", marker="D", size=4.5),
}


PLACEBO_COLUMNS = [
    "method",
    "document",
    "placebo",
    "n_members",
    "n_nonmembers",
    "value",
    "rank",
]


def placebo_ranks(artifact: Artifact, results: Results) -> Drawing:
    """Draw a facet a panel, a line a method: dots for placebos, a diamond for the
    benchmark's own non-members.

    Beside a name, the diamond's rank from the top. The reading says which methods
    exceed all placebos.
    """
    metric = artifact.metric
    panels = results.panels(artifact)
    facets = []
    frames = []
    readings = []
    for panel in panels:
        frame = _placebos(artifact, results, panel)
        frames.append(frame[PLACEBO_COLUMNS])
        is_placebo = frame["placebo"].astype(bool)
        control = frame["method"].map(is_control).astype(bool)
        own = frame[~is_placebo].assign(control=control)
        seeing = frame[~control]
        first, documents = first_of_any(seeing)
        ends = ends_of_time(frame.loc[is_placebo, "document"])
        readings.append(exceeding_placebos(panel, own))
        readings.append(_chance_of_first(seeing, first, documents, ends))
        series = frame["placebo"].map({True: PLACEBO, False: OWN})
        series = series.mask(frame["document"].isin(ends), ENDS)
        told = frame["method"].map(marked_label) + ", "
        told += frame["document"].where(is_placebo, OWN) + " as the non-members"
        dots = frame.assign(line=frame["method"], series=series, told=told)
        dots = dots.assign(low=np.nan, high=np.nan)
        ticks = {}
        for row in records_of(own):
            rank = f"{row['rank']:.0f}/{row['placebos'] + 1:.0f}"
            ticks[row["method"]] = f"{marked_label(row['method'])}  {rank}"
        facet = Facet(
            f"{panel.name}\nsome method is first by chance: {first}/{documents}",
            dots,
            metric_label(metric),
            ticks=ticks,
            across=chance_of(metric),
            height=0.75 + 0.17 * len(own),
        )
        facets.append(facet)
    figure = draw_dots(facets, RANK_STYLES)
    return Drawing(figure, of_panels(frames, panels), " ".join(readings))


def _placebos(artifact: Artifact, results: Results, panel: Panel) -> pd.DataFrame:
    """Return the placebos of a panel's methods at the artifact's first selection;
    raises if there are none."""
    chosen = results.by("method", artifact, panel, selection=artifact.selections[0])
    rows = []
    for method in artifact.order_methods(chosen):
        placebos = results.like("placebos", panel, chosen[method])
        rows.append(placebos.assign(method=method))
    frame = pd.concat(rows, ignore_index=True)
    if frame.empty:
        hint = "set `placebos: true` in its entry, or leave the panel out."
        raise artifact.error(f"the benchmark has no placebos; {hint}", panel)
    return frame


def _chance_of_first(
    frame: pd.DataFrame, first: int, documents: int, ends: Sequence[str]
) -> str:
    """Say how often some method is first by chance, and how often the documents at both
    ends of time are first."""
    most = frame.groupby("method")["value"].transform("max")
    highest = frame.loc[frame["value"] >= most, "document"]
    methods = frame["method"].nunique()
    firsts = []
    for name in ends:
        firsts.append(f"{name} for {int(highest.eq(name).sum())}")
    at_ends = join_words(firsts)
    return (
        f"Some method is first more often than one of them: {first} of the {documents} "
        f"documents are first for at least one of {methods} methods, which is the "
        "chance if all documents are alike. Where scores drift, the documents at both "
        f"ends of time are first more often: {at_ends} of {methods} methods."
    )


METHOD, CONTROL = "method", "control"
ON_PLACEBOS = "the same on the placebos, mean and SD"
HEADLINE_STYLES = {
    METHOD: LineStyle(BLUE, "", size=4, shift=-0.12),
    CONTROL: LineStyle(GREY, "", size=4, shift=-0.12),
    ON_PLACEBOS: LineStyle(VERMILION, "", marker="D", size=3, hollow=True, shift=0.2),
}


def headline(artifact: Artifact, results: Results) -> Drawing:
    """Draw axes a panel, a line a method: its held-out value with interval, grey for
    controls, and its placebos.

    With `options.splits` panels of one label share axes: each number is their mean.
    The reading says on which panels a method is above chance, the bag of words, every
    placebo and a model that read neither class. `best`: the highest method of a panel;
    `best_low` and `best_high` pay for that choice.
    """
    panels = results.panels(artifact)
    frame = _headline_frame(artifact, results, panels)
    own = frame.assign(series=frame["control"].map({True: CONTROL, False: METHOD}))
    mean = frame["placebo_mean"].astype(float)
    sd = frame["placebo_sd"].astype(float)
    placebos = frame.assign(series=ON_PLACEBOS, value=mean)
    placebos = placebos.assign(low=mean - sd, high=mean + sd)
    dots = pd.concat([own, placebos.dropna(subset="value")])
    told = dots["method"].map(method_label)
    told += dots["series"].map({ON_PLACEBOS: f", {ON_PLACEBOS}"}).fillna("")
    dots = dots.assign(line=dots["method"], told=told)
    facets = []
    for place, panel in enumerate(panels):
        shown = dots[dots["panel"] == place]
        if shown.empty:  # a further split of a panel before it
            continue
        methods = sorted(shown["method"].unique(), key=is_control)
        settings = "held-out"
        for marks in shown["marks"].fillna(""):
            if FEW_DOCUMENTS in marks_in(marks):
                settings = "default"
        facet = Facet(
            panel.heading,
            shown,
            f"{metric_label(artifact.metric)} at {settings} settings",
            ticks={method: method_label(method) for method in methods},
            across=chance_of(artifact.metric),
            height=0.6 + 0.125 * len(methods),
        )
        facets.append(facet)
    figure = draw_dots(facets, HEADLINE_STYLES)
    reading = [_headline_reading(panels, frame), *other_texts_note(panels, frame)]
    return Drawing(figure, frame, "\n".join(reading))


# how often the interval that pays for the choice among methods lies above 0.5 by
# chance, at most
ONE_SIDED = 0.025
MOST_NAMED = 3  # panels that the reading names; of more it counts


def _headline_frame(
    artifact: Artifact, results: Results, panels: Sequence[Panel]
) -> pd.DataFrame:
    """Return the data of `headline`: held-out estimates, with what each method is
    above, and which is the `best` of its panel."""
    frame = beside_controls(artifact, results)
    frame = frame.sort_values("panel", kind="stable", ignore_index=True)
    frame["label"] = [panels[place].heading for place in frame["panel"]]
    frame = frame.join(for_the_best(frame, ["panel"]))
    frame["null_model"] = frame["model"].isin(artifact.null_models)
    splits = []
    if artifact.options.splits:
        splits = splits_by_label(panels, artifact.null_models)
    frame = beside_other_splits(frame, splits, panels, results)
    if artifact.options.splits:
        frame = over_splits(frame, panels)
    models = frame[~frame["control"] & ~is_another(frame)]
    best = models.groupby("panel")["value"].idxmax()
    frame["best"] = frame.index.isin(best)
    frame["above_chance"] = frame["best_low"] > artifact.chance
    rank = frame["rank"]
    is_first = rank.eq(1).astype("boolean")
    frame["above_placebos"] = is_first.mask(rank.isna())
    less_null = frame["less_null_low"]
    is_above = less_null.gt(0).astype("boolean")
    frame["above_null"] = is_above.mask(less_null.isna())
    return frame


def _headline_reading(panels: Sequence[Panel], frame: pd.DataFrame) -> str:
    """Name the best method of each panel among those above chance, and above blind,
    placebos and models of other splits, if there are any."""
    models = frame[~frame["control"] & ~is_another(frame)]
    with_blind = models["panel"].isin(frame.loc[frame["method"] == BLIND, "panel"])
    beaten = models["beats_blind"].fillna(~with_blind)
    for control in ("above_placebos", "above_null"):
        beaten &= models[control].fillna(True)
    clear = models[models["above_chance"] & beaten]
    best = clear.loc[clear.groupby("panel")["value"].idxmax()]
    found = records_of(best[~best["null_model"]])
    shown = []
    for row in found[:MOST_NAMED]:
        panel = panels[row["panel"]].heading
        shown.append(f"{method_label(row['method'])} {best_text(row)} on {panel}")
    if len(found) > MOST_NAMED:
        shown.append(f"and {len(found) - MOST_NAMED} more")
    is_null = models["null_model"]
    tests = models.loc[~is_null, "panel"].nunique()
    sentence = "In no test did a method find training that no control explains."
    if found:
        sentence = (
            f"In {len(found)} of {tests} tests a method found training that no control "
            "explains (it is above chance, the bag of words, every placebo and models "
            f"of other splits, where these are shown): {'; '.join(shown)}."
        )
    nulls = models["panel"].nunique() - tests
    if not nulls:
        return sentence
    alarms = models.loc[is_null & models["above_chance"], "panel"].nunique()
    return f"{sentence} {false_alarms(alarms, nulls, 'tests', ONE_SIDED)}"


def best_text(row: Record) -> str:
    """Return the value of the best method with the interval that pays for the choice,
    or the SD over its draws."""
    if row["draws"] > 1:
        return f"{row['value']:.2f} ± {row['sd']:.2f} over {row['draws']} draws"
    best = row["value"], number(row["best_low"]), number(row["best_high"])
    several = f" (mean of {row['splits']} splits)" if row["splits"] > 1 else ""
    return with_interval(best) + several


LINES = 7  # panels of the headline on a terminal
TERMINAL = 60  # columns that its lines fit in
INDENT = 2
NO_BREAK = "\N{NO-BREAK SPACE}"


def headline_lines(frame: pd.DataFrame) -> list[str]:
    """Return `headline`'s data for a terminal of `TERMINAL` columns: a panel's name,
    and below it what was found.

    A cell that does not fit beside those before it begins a line of its own, and is
    broken if it is longer than a line.
    """
    answers = headline_answers(frame)
    if not answers:
        return []
    best_of = next(iter(answers[0][1]))
    lines = [f"{best_of}:"]
    for name, cells in answers[:LINES]:
        lines += wrap(name, TERMINAL)
        shown = {head: cell for head, cell in cells.items() if cell}
        shown.pop(MEANING, None)
        method, value, *others = shown.items()
        row = f"{' ' * INDENT}{method[1]}: {value[0]} {value[1]}"
        for head, cell in others:
            part = f"{head} {cell}"
            if len(part) < TERMINAL - 2 * INDENT:
                part = part.replace(" ", NO_BREAK)
            row += f", {part}"
        for line in wrap(row, TERMINAL, subsequent_indent=" " * 2 * INDENT):
            lines.append(line.replace(NO_BREAK, " "))
    if len(answers) > LINES:
        lines.append(f"and {len(answers) - LINES} more, in the report")
    return lines


MEANING = "what it means"


def headline_answers(frame: pd.DataFrame) -> list[tuple[str, dict[str, str]]]:
    """Return of each panel of `headline`'s data its name, and its best method, controls
    and `MEANING` by header.

    A column that no panel fills is left out.
    """
    best = records_of(frame[frame["best"]])
    if not best:
        return []
    blind = {}
    for row in records_of(frame[frame["method"] == BLIND]):
        blind[row["model"], row["label"]] = row
    metrics = sorted({metric_label(row["metric"]) for row in best})
    counted = frame[~frame["control"] & ~is_another(frame)]
    methods = counted.groupby(["model", "label"])["method"].nunique()
    labels = []
    rows = []
    for row in best:
        own = blind.get((row["model"], row["label"]))
        labels.append(row["label"])
        cells = {
            f"best of up to {int(methods.max())} methods": method_label(row["method"]),
            join_words(metrics): best_text(row),
            "bag of words": with_interval(estimate(own)) if own else "",
            LESS_NULL: _less_null_text(row),
            "rank among placebos": _rank_text(row),
            MEANING: _meaning(row, own),
        }
        rows.append(cells)
    table = pd.DataFrame(rows)
    filled = table[table.columns[table.astype(bool).any()]]
    return list(zip(labels, records_of(filled), strict=True))


LESS_NULL = "less other splits' models"


def _rank_text(row: Record) -> str:
    """Return the place of a value among its placebos; empty without any."""
    rank = number(row["rank"])
    if not rank:
        return ""
    among = 1 + (row["placebos"] or 0)
    return f"{rank:.0f} of {among:.0f}, mean {row['placebo_mean']:.2f}"


def _less_null_text(row: Record) -> str:
    """Return how far a value lies above that of other splits' models, with its
    interval."""
    above = number(row["less_null"])
    ends = number(row["less_null_low"]), number(row["less_null_high"])
    cell = Cell(above, *ends, signed=True, digits=2)
    return "" if above is None else cell.number + cell.rest


def _meaning(row: Record, blind: Record | None) -> str:
    """Say in a sentence what the best method of a panel shows, given the bag of words
    and the placebos there."""
    if row["null_model"]:
        if row["above_chance"]:
            return "A false alarm: the model read neither class."
        return "Nothing is found, as it should be: the model read neither class."
    if blind and blind["value"] >= row["value"]:
        return (
            "Words alone tell the classes apart better, without the model: this does "
            "not show training."
        )
    if not row["above_chance"]:
        return "No method is surely above chance."
    if row["above_null"] is False:
        return "Models of other splits may do as well: this does not show training."
    if row["above_placebos"] is False:
        return (
            "Texts that the model knows alike are told apart as well: this does not "
            "show training."
        )
    if row["beats_blind"] is False:
        return "Words alone may do as well, without the model: this does not show training."
    return (
        "Members are found: the method is above chance and above what the controls "
        "reach without membership."
    )
