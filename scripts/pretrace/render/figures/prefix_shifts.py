"""How far prefixes shift log-likelihoods, by number of shots: Con-ReCall figure 5."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import pandas as pd

from pretrace.evaluation.resampling import text_weights
from pretrace.evaluation.wasserstein import resampled_distances, signed_wasserstein
from pretrace.render.figures.drawing import (
    GREY,
    MEMBER,
    NONMEMBER,
    Drawing,
    facet_grid,
    interval_of,
    lay_out,
    letter,
    style,
)
from pretrace.render.figures.log_likelihoods import Reader, log_likelihoods, shots_of
from pretrace.render.names import panel_label
from pretrace.render.phrases import Estimate, contains, joined, signed_interval
from pretrace.render.records import long_frame, number, panel_record
from pretrace.render.registry import Artifact, figure
from pretrace.render.results import Results
from pretrace.render.selecting import Panel, draw_of
from pretrace.runtime.files import seed_of
from pretrace.views import Prefix

RESAMPLES = 1000
KINDS = {"member": "members", "nonmember": "non-members"}
SERIES = (
    (1, "member", MEMBER, "-", "o"),
    (1, "nonmember", MEMBER, (0, (4, 1.5)), "s"),
    (0, "member", NONMEMBER, "-", "^"),
    (0, "nonmember", NONMEMBER, (0, (4, 1.5)), "D"),
)
"""Label of the texts, kind of the prefix, colour, dashes, marker."""


@figure("prefix_shifts", needs=("passes", "benchmarks", "prefixes"))
def render(artifact: Artifact, results: Results, read: Reader | None = None) -> Drawing:
    """A facet a panel: signed Wasserstein distances between log-likelihoods with a prefix and without.

    Log-likelihoods are means over a text's tokens, in nats; texts are those of the artifact's evaluation set.
    Intervals resample texts (documents where texts share one), both of a text's log-likelihoods together. With
    `options.across.separator` a panel stands once for each of these separators between shots.
    `read` stands for `pretrace.passes.read`.
    """
    panels = results.panels(artifact)
    frames = [_distances(artifact, results, panel, read) for panel in panels]
    return Drawing(
        figure=_figure(panels, frames),
        frame=pd.concat(frames, ignore_index=True),
        reading=" ".join(_reading(panel, of) for panel, of in zip(panels, frames, strict=True)),
    )


def _distances(artifact: Artifact, results: Results, panel: Panel, read: Reader | None) -> pd.DataFrame:
    """One row a class of texts, kind of prefix and number of shots."""
    texts = results.evaluated(artifact, panel)
    weights = text_weights(
        texts, RESAMPLES, seed_of(artifact["artifact"], panel["model"], panel["benchmark"])
    )
    plain = log_likelihoods(artifact, results, panel, read, prefix="", draw=None, shots=None)
    records = []
    draw = draw_of(artifact, panel)
    for prefix in KINDS:
        name = Prefix(prefix, panel.get("separator", "none")).name
        for shots in shots_of(artifact, results, panel, name, draw):
            given = log_likelihoods(artifact, results, panel, read, prefix=name, draw=draw, shots=shots)
            scored = texts["text_id"].isin(plain.index.intersection(given.index))
            for label in (1, 0):
                of = (scored & texts["label"].eq(label)).to_numpy(dtype=bool)
                ids = texts.loc[of, "text_id"]
                values, before = (np.asarray(one[ids], np.float64) for one in (given, plain))
                value = signed_wasserstein(values, before)
                low, high = interval_of(resampled_distances(values, before, weights[of]))
                at = {"label": label, "prefix": prefix, "draw": draw, "shots": shots, "n_texts": len(ids)}
                records.append(panel_record(panel) | at | {"value": value, "low": low, "high": high})
    return long_frame(records)


def _figure(panels: Sequence[Panel], frames: Sequence[pd.DataFrame]) -> Any:
    with style():
        figure, grid = facet_grid(len(panels), row=2.4, rest=0.45)
        for at, axis in enumerate(grid.flat[: len(panels)]):
            _draw(axis, frames[at])
            lettered = letter(at) if len(panels) > 1 else ""
            title = panel_label(panels[at]).replace(", separator ", ",\nseparator ")
            axis.set_title(lettered + title, loc="left", fontsize=7)
        for axis in grid[:, 0]:
            axis.set_ylabel("signed Wasserstein distance\n(nats a token), with 95 % interval")
        handles, labels = grid[0, 0].get_legend_handles_labels()
        figure.legend(handles, labels, loc="outside lower center", ncols=2, handlelength=3.5)
        lay_out(figure)
    return figure


def _draw(axis: Any, frame: pd.DataFrame) -> None:
    axis.axhline(0, color=GREY, linewidth=0.7)
    single = frame["shots"].nunique() == 1
    for at, (label, prefix, color, dashes, marker) in enumerate(SERIES):
        of = frame[(frame["label"] == label) & (frame["prefix"] == prefix)].sort_values("shots")
        texts = "members" if label else "non-members"
        shots = of["shots"] + (
            at - (len(SERIES) - 1) / 2 if single else 0
        )  # one number of shots: side by side
        if single:
            axis.vlines(shots, of["low"], of["high"], color=color, linewidth=0.7)
        else:
            axis.fill_between(shots, of["low"], of["high"], color=color, alpha=0.12, linewidth=0)
        axis.plot(shots, of["value"], color=color, linestyle=dashes, marker=marker, markersize=3.6,
                  markeredgecolor="white", markeredgewidth=0.4,
                  label=f"texts: {texts}; prefix: {KINDS[prefix]}")  # fmt: skip
    axis.set_xticks(sorted(frame["shots"].unique()))
    if single:
        axis.margins(x=0.3)
    axis.set_xlabel("shots in the prefix")


def _reading(panel: Panel, frame: pd.DataFrame) -> str:
    """The four shifts at the most shots, and whether the classes are told apart by either prefix."""
    last = frame[frame["shots"] == frame["shots"].max()]
    found = {
        (int(row["label"]), str(row["prefix"])): (
            float(row["value"]),
            number(row["low"]),
            number(row["high"]),
        )
        for _, row in last.iterrows()
    }
    parts = [
        f"{'members' if label else 'non-members'} by {signed_interval(found[label, prefix], 3)}"
        for prefix in KINDS
        for label in (1, 0)
        if (label, prefix) in found
    ]
    half = len(parts) // 2
    text = (
        f"On {panel_label(panel)}, {int(frame['shots'].max())} member shots shift the log-likelihood of "
        f"{joined(parts[:half])}, as many non-member shots that of {joined(parts[half:])} (nats a token)."
    )
    return f"{text} {_asymmetry(found)}"


def _asymmetry(found: Mapping[tuple[int, str], Estimate]) -> str:
    """Whether the intervals of the two classes lie apart, for each kind of prefix."""
    apart = [
        kind for prefix, kind in KINDS.items() if not _overlap(found[1, prefix], found[0, prefix])
    ]  # fmt: skip
    still = [estimate for estimate in found.values() if contains(estimate, 0.0)]
    text = (
        f"The two classes shift apart, beyond their intervals, under a prefix of {joined(apart)}"
        if apart
        else "Under either prefix the shifts of the two classes lie within overlapping intervals"
    )
    return f"{text}; {len(still)} of the {len(found)} shifts may be none." if still else f"{text}."


def _overlap(first: Estimate, second: Estimate) -> bool:
    (_, a_low, a_high), (_, b_low, b_high) = first, second
    if a_low is None or a_high is None or b_low is None or b_high is None:
        return True
    return a_low <= b_high and b_low <= a_high
