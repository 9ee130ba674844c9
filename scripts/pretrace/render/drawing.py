"""How figures look and how they are written: sizes, palette, fonts, and bytes that do not change."""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import matplotlib as mpl
import numpy as np
import pandas as pd
from matplotlib import font_manager
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure
from matplotlib.text import Text

from pretrace.render.names import METHOD_LABELS, is_control
from pretrace.render.table import csv_text
from pretrace.runtime.files import atomic_path, write_text
from pretrace.runtime.logs import log
from pretrace.views.words import is_chinese

COLUMN, PAGE = 3.3, 6.8
"""Widths in inches of one column and of the whole line of a two-column page."""

BLACK, ORANGE, SKY, GREEN, YELLOW, BLUE, VERMILION, PURPLE = (
    "#000000", "#E69F00", "#56B4E9", "#009E73", "#F0E442", "#0072B2", "#D55E00", "#CC79A7",
)  # fmt: skip
"""M. Okabe and K. Ito's palette, which colour-blind readers can tell apart."""
GREY = "#6B6B6B"
MEMBER, NONMEMBER = BLUE, VERMILION

STYLE = {
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
FONTS = (
    "DejaVu Sans", "Noto Sans CJK SC", "Noto Sans SC", "Source Han Sans SC", "WenQuanYi Micro Hei",
    "WenQuanYi Zen Hei", "Droid Sans Fallback", "Microsoft YaHei", "PingFang SC", "SimHei", "Arial Unicode MS",
)  # fmt: skip
"""Where a font lacks a character, the next that is installed draws it; the first has no Chinese."""

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
        mpl.rcParams["font.family"] = installed_fonts()
        yield


@cache
def installed_fonts() -> list[str]:
    """`FONTS` as far as they are there; the first comes with matplotlib."""
    there = {font.name for font in font_manager.fontManager.ttflist}
    return [name for name in FONTS if name in there]


def _warn_of_missing_characters(figure: Figure) -> None:
    """Say which Chinese characters no installed font can draw: they would show as boxes."""
    written = "".join(text.get_text() for text in figure.findobj(Text))
    chinese = sorted(set(filter(is_chinese, written)))
    if chinese and len(installed_fonts()) == 1:
        log.warning(
            "no font for %s is installed, so they show as boxes; install one of: %s",
            "".join(chinese),
            ", ".join(FONTS[1:]),
        )


def new_figure(width: float, height: float) -> Figure:
    """An empty figure in inches, without a window."""
    figure = Figure(figsize=(width, height))
    FigureCanvasAgg(figure)
    return figure


def lay_out(figure: Figure) -> None:
    """Place everything once, so that each file format shows the same and none computes it again."""
    _warn_of_missing_characters(figure)
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
    marker: str = "o"


_COLORS = (BLUE, VERMILION, GREEN, ORANGE, PURPLE, SKY, BLACK, "#8C6D1F")
_MARKERS = ("o", "s", "^", "D", "v", "P", "X")
_DASHES = ("-", (0, (5, 1.5)), (0, (1.5, 1.2)), (0, (6, 1.5, 1.5, 1.5)))


def line_styles(methods: Sequence[str]) -> dict[str, LineStyle]:
    """A line style each: a method has the same one in every figure; controls are grey."""
    places = [method for method in METHOD_LABELS if not is_control(method)]
    unknown = sorted({method for method in methods if method not in METHOD_LABELS})
    order = {
        method: place
        for place, method in enumerate(
            [*_CONTRASTING, *(m for m in places if m not in _CONTRASTING), *unknown]
        )
    }
    return {
        method: LineStyle(GREY, (0, (1, 1)), 1.4) if is_control(method) else nth_style(order[method])
        for method in methods
    }


_CONTRASTING = (
    "dc_pdd",
    "surp",
    "min_k_pp",
    "min_k",
    "loss",
    "zlib",
    "con_recall",
    "recall",
    "ref",
    "lowercase",
)
"""Methods that most often share a figure; their styles come first."""


def nth_style(place: int) -> LineStyle:
    """One of many styles that differ in colour or dashes."""
    colors = len(_COLORS)
    dashes = _DASHES[(place + place // colors) % len(_DASHES)]
    return LineStyle(_COLORS[place % colors], dashes, marker=_MARKERS[place % len(_MARKERS)])


def interval_of(values: np.ndarray) -> tuple[float, float]:
    """The middle 95 % of bootstrap values."""
    low, high = np.quantile(values, [0.025, 0.975])
    return float(low), float(high)
