"""Published against measured AUCs and true-positive rates, one point a number."""

from collections.abc import Sequence
from typing import Any

from pretrace.render.figures.drawing import BLUE, GREY, PAGE, VERMILION, Drawing, lay_out, new_figure, style
from pretrace.render.registry import Artifact, figure
from pretrace.render.results import Results
from pretrace.render.tables.published import NAMES, Compared, compared_of, frame_of, judged, rates, read_names
from pretrace.runtime.errors import InputError

COLORS = (BLUE, VERMILION)
MARKERS = ("o", "x")


@figure(
    "reproduction_scatter",
    needs=("metrics", "tests", "benchmarks", "published"),
    optional=("artifacts", "evaluation_sets"),
)
def render(artifact: Artifact, results: Results) -> Drawing:
    """A facet a paper, a colour and marker a protocol; on the dotted line a number is as published.

    Bars are our 95 % intervals, which decide about rebuilt benchmarks alone.
    """
    compared = rates(compared_of(artifact, results))
    if not compared:
        raise InputError(f"artifact {artifact['artifact']}: none of the published numbers was measured")
    names = read_names(results.published[NAMES])
    papers = list(dict.fromkeys(one.row["paper"] for one in compared))
    with style():
        figure = new_figure(PAGE, 0.55 + PAGE / max(len(papers), 2))
        axes = figure.subplots(1, len(papers), squeeze=False, sharex=True, sharey=True)[0]
        for place, paper in zip(axes, papers, strict=True):
            of = [one for one in compared if one.row["paper"] == paper]
            _facet(place, of, list(names.papers[paper]["protocols"]))
            place.set_title(f"{names.papers[paper]['title']} ({len({id(one.row) for one in of})} numbers)")
            place.set_xlabel("published")
        axes[0].set_ylabel("measured, 95 % interval")
        handles, labels = axes[0].get_legend_handles_labels()
        figure.legend(handles, labels, loc="outside lower center", ncols=len(labels))
        lay_out(figure)
    return Drawing(figure=figure, frame=frame_of(compared), reading=_reading(compared))


def _facet(axes: Any, compared: Sequence[Compared], protocols: Sequence[str]) -> None:
    axes.plot([0, 1], [0, 1], color=GREY, linewidth=0.8, linestyle=(0, (1, 2)))
    axes.set_aspect("equal")
    axes.set_xlim(0, 1)
    axes.set_ylim(0, 1)
    for protocol, color, marker in zip(protocols, COLORS, MARKERS, strict=False):
        of = [one for one in compared if one.protocol == protocol and one.found is not None]
        bars = [
            (one.published, one.found.low, one.found.high)
            for one in of
            if one.found and one.found.low is not None
        ]
        axes.vlines(*zip(*bars, strict=True), color=color, linewidth=0.4, alpha=0.4) if bars else None
        axes.plot(
            [one.published for one in of],
            [one.found.value for one in of if one.found],
            linestyle="none",
            marker=marker,
            markersize=2.5,
            markerfacecolor="none",
            markeredgewidth=0.6,
            color=color,
            label=f"as the {protocol}",
        )


def _reading(compared: Sequence[Compared]) -> str:
    agreeing = judged(compared)
    above = sum((one.difference or 0) > 0 for one in compared)
    return (
        f"Of {len(agreeing)} comparisons, {sum(agreeing)} agree by the criterion of their benchmark (table "
        f"reproduction); {above} of {len(compared)} measured ones are above the published ones."
    )
