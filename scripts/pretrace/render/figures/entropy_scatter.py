"""Token entropy against the log-probability of the true token, members and non-members: SURP figure 2."""

from collections.abc import Mapping, Sequence
from itertools import count
from typing import Any

import numpy as np
import pandas as pd
from matplotlib.colors import LogNorm
from matplotlib.lines import Line2D

from pretrace.render.figures.drawing import (
    MEMBER,
    NONMEMBER,
    PAGE,
    Drawing,
    lay_out,
    letter,
    new_figure,
    style,
)
from pretrace.render.figures.log_likelihoods import Reader
from pretrace.render.figures.surprising import Tokens, estimate_of, resampled_means, tokens_of
from pretrace.render.names import panel_label
from pretrace.render.phrases import Estimate, contains, signed_interval
from pretrace.render.records import long_frame, panel_record
from pretrace.render.registry import Artifact, figure
from pretrace.render.results import Results
from pretrace.render.selecting import Panel

CLASSES = ((1, "members", MEMBER, "o", "-"), (0, "non-members", NONMEMBER, "^", (0, (4, 1.5))))
BINS = 5
HEXAGONS = (34, 17)
LOGPROB = "log-probability of the token (nats)"

FEWEST = 20
"""A class of fewer surprising tokens has no mean."""

Panels = Sequence[tuple[Panel, Mapping[int, Tokens]]]


@figure("entropy_scatter", needs=("passes", "benchmarks"), optional=("eps", "percentile"))
def render(artifact: Artifact, results: Results, read: Reader | None = None) -> Drawing:
    """A row a panel: density of all tokens of each class; the surprising tokens with their mean by entropy.

    Options: `eps` (2 nats) and `percentile` (40), as SURP has them. `read` stands in for `passes.read`.
    """
    options = artifact.get("options", {})
    chosen = {"eps": float(options.get("eps", 2)), "percentile": float(options.get("percentile", 40))}
    panels = [
        (panel, tokens_of(artifact, results, panel, read, **chosen)) for panel in results.panels(artifact)
    ]
    means = [_means(tokens) for _, tokens in panels]
    figure, densities = _figure(panels, means, chosen)
    return Drawing(
        figure=figure,
        frame=_long(panels, means, densities),
        reading=" ".join(_reading(panel, tokens, chosen) for panel, tokens in panels),
    )


def _means(tokens: Mapping[int, Tokens]) -> pd.DataFrame:
    """Mean log-probability of surprising tokens in equally filled entropy bins, a row a class and bin."""
    tokens = {label: of for label, of in tokens.items() if len(of.surprising) >= FEWEST}
    if not tokens:
        return pd.DataFrame({"label": [], "entropy": [], "value": [], "low": [], "high": []})
    entropy = np.concatenate([of.surprising["entropy"].to_numpy() for of in tokens.values()])
    edges = np.quantile(entropy, np.linspace(0, 1, BINS + 1)[1:-1])
    centres = [
        float(np.median(entropy[np.searchsorted(edges, entropy, side="right") == at])) for at in range(BINS)
    ]
    records = []
    for label, of in tokens.items():
        groups = np.searchsorted(edges, of.surprising["entropy"].to_numpy(), side="right")
        means = resampled_means(of, groups, BINS)
        for at in range(BINS):
            value, low, high = estimate_of(means[:, at])
            records.append({"label": label, "entropy": centres[at], "value": value, "low": low, "high": high})
    return pd.DataFrame(records).dropna(subset=["value"])


def _figure(panels: Panels, means: Sequence[pd.DataFrame], chosen: Mapping[str, float]) -> tuple[Any, Any]:
    with style():
        figure = new_figure(PAGE, 2.6 * len(panels) + 0.25)
        grid = figure.subplots(len(panels), 3, squeeze=False, width_ratios=[1, 1, 1.15])
        densities = []
        letters = map(letter, count())
        for axes, (panel, tokens), of in zip(grid, panels, means, strict=True):
            densities.append(_densities(figure, axes, tokens, chosen["eps"]))
            _surprising(axes[2], tokens, of, chosen)
            axes[0].set_title(
                f"{next(letters)}{panel_label(panel)}\nall tokens of members", loc="left", fontsize=7
            )
            axes[1].set_title("\nall tokens of non-members", loc="left", fontsize=7)
            axes[2].set_title(f"{next(letters)}{_title(tokens)}", loc="left", fontsize=7)
        handles = [
            Line2D([], [], color=color, linestyle=dashes, marker=marker, markersize=4, label=name)
            for _, name, color, marker, dashes in CLASSES
        ]
        figure.legend(handles=handles, loc="outside lower right", ncols=2, handlelength=4)
        lay_out(figure)
    return figure, densities


def _title(tokens: Mapping[int, Tokens]) -> str:
    counts = {name: len(tokens[label].surprising) for label, name, *_ in CLASSES}
    if min(counts.values()) >= FEWEST:
        return "surprising tokens\nand their mean by entropy"
    return "surprising tokens\n" + ", ".join(f"{name}: {count or 'none'}" for name, count in counts.items())


def _densities(figure: Any, axes: Any, tokens: Mapping[int, Tokens], eps: float) -> dict[int, Any]:
    """Hexagons coloured by the share of a class's tokens in them, on one scale; a line at the threshold."""
    everything = pd.concat([of.frame for of in tokens.values()])
    extent = (0, float(everything["entropy"].max()), float(everything["logprob"].quantile(0.0005)), 0)
    hexagons = {}
    for axis, (label, *_) in zip(axes, CLASSES, strict=False):
        of = tokens[label].frame
        hexagons[label] = axis.hexbin(
            of["entropy"], of["logprob"], C=np.full(len(of), 100 / len(of)), reduce_C_function=np.sum,
            mincnt=1, gridsize=HEXAGONS, extent=extent, cmap="YlGnBu", linewidths=0.1,
        )  # fmt: skip
        axis.axvline(eps, color="black", linewidth=0.8, linestyle=(0, (3, 2)))
        axis.set(xlim=extent[:2], ylim=extent[2:], xlabel="entropy (nats)")
    axes[0].set_ylabel(LOGPROB)
    axes[1].tick_params(labelleft=False)
    shares = np.concatenate([of.get_array().compressed() for of in hexagons.values()])
    norm = LogNorm(shares.min(), shares.max())
    for of in hexagons.values():
        of.set_norm(norm)
    bar = figure.colorbar(hexagons[0], ax=list(axes[:2]), fraction=0.035, pad=0.015, aspect=26)
    bar.set_label("share of tokens (%, log)")
    bar.outline.set_linewidth(0.5)
    return hexagons


def _surprising(
    axis: Any, tokens: Mapping[int, Tokens], means: pd.DataFrame, chosen: Mapping[str, float]
) -> None:
    for label, _, color, marker, dashes in CLASSES:
        of, mean = tokens[label].surprising, means[means["label"] == label]
        size, alpha = (3, 0.25) if len(of) >= FEWEST else (14, 1)
        axis.scatter(of["entropy"], of["logprob"], s=size, marker=marker, color=color, alpha=alpha, linewidths=0,
                     rasterized=True, zorder=1)  # fmt: skip
        _mean_line(axis, mean, 0.012 * chosen["eps"] * (1 if label else -1), color, marker, dashes)
    axis.margins(y=0.06)
    axis.set(xlim=(0, chosen["eps"]), xlabel="entropy (nats)")
    axis.set_ylabel(LOGPROB)


def _mean_line(axis: Any, mean: pd.DataFrame, shift: float, color: str, marker: str, dashes: Any) -> None:
    """Means joined by a line, their intervals on a white ground so that they stand out of the points."""
    drawn = mean.dropna(subset=["low", "high"])
    ends = [drawn["value"] - drawn["low"], drawn["high"] - drawn["value"]]
    for ground, width, order in (("white", 2.6, 3), (color, 1.0, 4)):
        axis.errorbar(drawn["entropy"] + shift, drawn["value"], ends, fmt="none", ecolor=ground,
                      elinewidth=width, capsize=2, capthick=width, zorder=order)  # fmt: skip
    axis.plot(mean["entropy"] + shift, mean["value"], color=color, linestyle=dashes, marker=marker,
              markersize=4, markeredgecolor="white", markeredgewidth=0.5, zorder=5)  # fmt: skip


def _long(
    panels: Panels, means: Sequence[pd.DataFrame], densities: Sequence[Mapping[int, Any]]
) -> pd.DataFrame:
    """What is drawn: `share` of tokens (%) by hexagon, `token` points of (b), `mean` with its interval."""
    frames = []
    for (panel, tokens), mean, hexagons in zip(panels, means, densities, strict=True):
        for label, of in tokens.items():
            x, y = hexagons[label].get_offsets().T
            share = pd.DataFrame(
                {"drawn": "share", "entropy": x, "logprob": y, "value": hexagons[label].get_array()}
            )
            token = of.surprising[["entropy", "logprob"]].assign(drawn="token")
            line = mean[mean["label"] == label].drop(columns="label").assign(drawn="mean")
            part = pd.concat([share, token, line], ignore_index=True).assign(
                **panel_record(panel), label=label
            )
            frames.append(part)
    names = [
        "model",
        "benchmark",
        "subset",
        "length",
        "label",
        "drawn",
        "entropy",
        "logprob",
        "value",
        "low",
        "high",
    ]
    return long_frame(pd.concat(frames, ignore_index=True)[names])


def _reading(panel: Panel, tokens: Mapping[int, Tokens], chosen: Mapping[str, float]) -> str:
    """The difference of the classes in mean log-probability, of surprising tokens and of all."""
    start = (
        f"On {panel_label(panel)}, {_share(tokens[1])} of members and {_share(tokens[0])} of non-members are "
        f"surprising (entropy below {chosen['eps']:g} nats, log-probability below the text's own "
        f"{chosen['percentile']:g}th percentile)"
    )
    if any(len(of.surprising) < FEWEST for of in tokens.values()):
        return f"{start}: too few to compare the classes."
    found = _difference(tokens)
    direction = "higher" if found[0] > 0 else "lower"
    text = (
        f"{start}. The mean log-probability of members' surprising tokens is {direction} than that of "
        f"non-members' by {signed_interval(found)} nats (95 % interval by stratified bootstrap)"
    )
    return f"{text}, an interval that includes 0." if contains(found, 0.0) else f"{text}."


def _share(of: Tokens) -> str:
    count, total = len(of.surprising), len(of.frame)
    percent = f"{100 * count / total:#.2g}".rstrip(".")
    return f"{count:,} of {total:,} tokens ({percent} %)" if count else f"none of {total:,} tokens"


def _difference(tokens: Mapping[int, Tokens]) -> Estimate:
    means = {
        label: resampled_means(of, np.zeros(len(of.surprising), dtype=int), 1) for label, of in tokens.items()
    }
    return estimate_of((means[1] - means[0])[:, 0])
