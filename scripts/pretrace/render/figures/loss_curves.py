"""How the controlled models learned: training and held-out loss."""

from collections.abc import Sequence
from typing import Any

import pandas as pd

from pretrace.render.figures.drawing import GREY, Drawing, LineStyle, facet_grid, lay_out, nth_style, style
from pretrace.render.phrases import joined
from pretrace.render.registry import Artifact, figure
from pretrace.render.results import Results

SMOOTHING = 25
"""Training loss is drawn as a moving mean over this part of all steps."""


@figure("loss_curves", needs=("training",))
def render(artifact: Artifact, results: Results) -> Drawing:
    """A facet a benchmark, a line a model of the panels: loss (nats a token) against tokens seen.

    Training loss is a line, held-out loss its marked points; what is held out is text that the model is not
    trained on, so that the distance between the two is what the model knows of its members alone.
    """
    places = list(dict.fromkeys((panel["benchmark"], panel["model"]) for panel in artifact["panels"]))
    benchmarks = list(dict.fromkeys(benchmark for benchmark, _ in places))
    curves = {model: results.loss_curve(model) for _, model in places}
    facets = [[model for of, model in places if of == benchmark] for benchmark in benchmarks]
    return Drawing(
        figure=_figure(benchmarks, facets, curves),
        frame=_long(places, curves),
        reading=_reading(places, curves),
    )


def _figure(
    benchmarks: Sequence[str], facets: Sequence[Sequence[str]], curves: dict[str, pd.DataFrame]
) -> Any:
    with style():
        figure, grid = facet_grid(len(facets), row=3.0)
        for at, axis in enumerate(grid.flat[: len(facets)]):
            for place, model in enumerate(facets[at]):
                _draw(axis, model, curves[model], nth_style(place))
            axis.set_title(benchmarks[at], loc="left", fontsize=7)
            axis.set_xlabel("tokens seen (thousands)")
            axis.plot([], [], color=GREY, linestyle="", marker="o", markersize=3.6, label="held-out text")
            axis.legend(loc="upper right", handlelength=2.4, fontsize=6)
        for axis in grid[:, 0]:
            axis.set_ylabel("loss (nats a token)")
        _make_room(grid[0, 0], 1 + max(map(len, facets)))
        lay_out(figure)
    return figure


def _make_room(axis: Any, entries: int) -> None:
    """The facets' shared axis reaches so far up that no curve is under the longest legend."""
    low, high = axis.get_ylim()
    axis.set_ylim(low, high + (high - low) * 0.055 * entries)


def _draw(axis: Any, model: str, curve: pd.DataFrame, of: LineStyle) -> None:
    window = max(1, len(curve) // SMOOTHING)
    smooth = curve["loss"].rolling(window, center=True, min_periods=1).mean()
    axis.plot(curve["tokens"] / 1000, smooth, color=of.color, linestyle=of.dashes, linewidth=1.0, label=model)
    taken = curve.dropna(subset=["heldout_loss"])
    axis.plot(taken["tokens"] / 1000, taken["heldout_loss"], color=of.color, linestyle="", marker=of.marker,
              markersize=3.6, markeredgecolor="white", markeredgewidth=0.4)  # fmt: skip


def _long(places: Sequence[tuple[str, str]], curves: dict[str, pd.DataFrame]) -> pd.DataFrame:
    names = ["step", "tokens", "loss", "heldout_loss"]
    frames = [curves[model][names].assign(model=model, benchmark=benchmark) for benchmark, model in places]
    return pd.concat(frames, ignore_index=True)[["model", "benchmark", *names]]


def _reading(places: Sequence[tuple[str, str]], curves: dict[str, pd.DataFrame]) -> str:
    """Where each model ends in training and held-out loss, and whether held-out loss still fell."""
    parts, rising = [], []
    for _, model in places:
        curve = curves[model]
        held_out = curve["heldout_loss"].dropna()
        last = curve["loss"].tail(max(1, len(curve) // SMOOTHING)).mean()
        text = f"{model} {last:.2f}"
        if len(held_out):
            text += f" (held out {held_out.iloc[-1]:.2f})"
            rising += [model] if held_out.iloc[-1] > held_out.min() else []
        parts.append(text)
    sentences = [f"Mean training loss at the end, in nats a token: {joined(parts)}."]
    if rising:
        sentences.append(
            f"The held-out loss of {joined(rising)} ends above its lowest point: it overfits its members."
        )
    return " ".join(sentences)
