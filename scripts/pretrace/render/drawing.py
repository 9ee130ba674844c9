"""How figures look and how they are written: sizes, palette, fonts, and bytes that do not change."""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import matplotlib as mpl
import numpy as np
import pandas as pd
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure

from pretrace.render.names import METHOD_LABELS, is_control
from pretrace.render.table import csv_text
from pretrace.runtime.files import atomic_path, write_text

COLUMN, PAGE = 3.3, 6.8
"""Widths in inches of one column and of the whole line of a two-column page."""

BLACK, ORANGE, SKY, GREEN, YELLOW, BLUE, VERMILION, PURPLE = (
    "#000000", "#E69F00", "#56B4E9", "#009E73", "#F0E442", "#0072B2", "#D55E00", "#CC79A7",
)  # fmt: skip
"""M. Okabe and K. Ito's palette, which colour-blind readers can tell apart."""
GREY = "#6B6B6B"
MEMBER, NONMEMBER = BLUE, VERMILION

STYLE = {
    "font.family": "DejaVu Sans",
    "font.size": 7.5,
    "axes.titlesize": 8,
    "axes.labelsize": 7.5,
    "xtick.labelsize": 7,
    "ytick.labelsize": 7,
    "legend.fontsize": 7,
    "axes.linewidth": 0.6,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "xtick.major.width": 0.6,
    "ytick.major.width": 0.6,
    "xtick.major.size": 2.5,
    "ytick.major.size": 2.5,
    "lines.linewidth": 1.2,
    "hatch.linewidth": 0.5,
    "legend.frameon": False,
    "savefig.facecolor": "white",
    "pdf.fonttype": 42,
    "ps.fonttype": 42,
    "svg.fonttype": "path",
    "svg.hashsalt": "pretrace",
    "figure.constrained_layout.use": True,
}
DPI = 300

_METADATA: dict[str, dict[str, Any]] = {
    "pdf": {"CreationDate": None, "Creator": None, "Producer": None},
    "png": {"Software": None},
    "svg": {"Date": None, "Creator": None},
}


@contextmanager
def style() -> Iterator[None]:
    """The style while a figure is drawn or saved; whatever a user's matplotlibrc says has no part in it."""
    with mpl.rc_context():
        mpl.rcdefaults()
        mpl.rcParams.update(STYLE)
        yield


def new_figure(width: float, height: float) -> Figure:
    """An empty figure in inches, without a window."""
    figure = Figure(figsize=(width, height))
    FigureCanvasAgg(figure)
    return figure


def lay_out(figure: Figure) -> None:
    """Place everything once, so that each file format shows the same and none computes it again."""
    figure.draw_without_rendering()
    figure.set_layout_engine("none")


@dataclass(frozen=True)
class Drawing:
    """A figure, the data that it shows, and its reading."""

    figure: Figure
    frame: pd.DataFrame
    reading: str

    def write(self, files: dict[str, Path]) -> None:
        """Write pdf, png, svg, csv and the reading, each atomically; equal data give equal bytes."""
        with style():
            for suffix, metadata in _METADATA.items():
                with atomic_path(files[suffix]) as part:
                    self.figure.savefig(part, format=suffix, dpi=DPI, metadata=metadata)
        write_text(files["csv"], csv_text(self.frame))
        write_text(files["reading"], self.reading + "\n")


@dataclass(frozen=True)
class LineStyle:
    """A colour and a dash pattern, so that a line is told apart without colour too."""

    color: str
    dashes: Any
    width: float = 1.2


_COLORS = (BLUE, VERMILION, GREEN, ORANGE, PURPLE, SKY, BLACK, "#8C6D1F")
_DASHES = ("-", (0, (5, 1.5)), (0, (1.5, 1.2)), (0, (6, 1.5, 1.5, 1.5)))


def line_styles(methods: Sequence[str]) -> dict[str, LineStyle]:
    """A line style each: a method has the same one in every figure; controls are grey."""
    places = [method for method in METHOD_LABELS if not is_control(method)]
    unknown = sorted(set(methods) - set(METHOD_LABELS))
    order = {
        method: place
        for place, method in enumerate(
            [*_CONTRASTING, *(m for m in places if m not in _CONTRASTING), *unknown]
        )
    }
    return {
        method: LineStyle(GREY, (0, (1, 1)), 1.4) if is_control(method) else _style_at(order[method])
        for method in methods
    }


_CONTRASTING = ("dc_pdd", "surp", "min_k_pp", "min_k", "loss", "zlib", "ref", "lowercase")
"""Methods that most often share a figure; their styles come first."""


def _style_at(place: int) -> LineStyle:
    colors = len(_COLORS)
    return LineStyle(_COLORS[place % colors], _DASHES[(place + place // colors) % len(_DASHES)])


def interval_of(values: np.ndarray) -> tuple[float, float]:
    """The middle 95 % of bootstrap values."""
    low, high = np.quantile(values, [0.025, 0.975])
    return float(low), float(high)
