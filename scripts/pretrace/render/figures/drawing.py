"""How figures look and how they are written: sizes, palette, fonts, and bytes that do not change."""

import hashlib
import tempfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import cache
from importlib.resources import files
from pathlib import Path
from typing import Any

import matplotlib as mpl
import numpy as np
import pandas as pd
from matplotlib import font_manager
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.text import Text

from pretrace.questions.known import is_control
from pretrace.render.names import METHOD_LABELS, chance_level
from pretrace.render.phrases import is_wide
from pretrace.render.rows import csv_text
from pretrace.runtime.files import atomic_path, write_text
from pretrace.runtime.logs import log

COLUMN, PAGE = 3.3, 6.8
"""Widths in inches of one column and of the whole line of a two-column page."""

BLACK, ORANGE, SKY, GREEN, BLUE, VERMILION, PURPLE = (
    "#000000", "#E69F00", "#56B4E9", "#009E73", "#0072B2", "#D55E00", "#CC79A7",
)  # fmt: skip
"""M. Okabe and K. Ito's palette, which colour-blind readers can tell apart, but for its yellow."""
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
FONT = "DejaVu Sans"
"""Comes with matplotlib; `sheet` gives it another for the Chinese characters that it lacks."""

_METADATA: dict[str, dict[str, Any]] = {
    "pdf": {"CreationDate": None, "Creator": None, "Producer": None},
    "png": {"Software": None},
    "svg": {"Date": None, "Creator": None},
}


CHINESE_FONT = files("justmytype_intl_cjk") / "fonts/ofl/notosanssc/NotoSansSC[wght].ttf"
"""Noto Sans SC (SIL Open Font License), the same on every machine."""

_REGULAR = 400  # of the font's weights, 100 to 900; matplotlib can draw the first alone
_FAMILY, _FULL_NAME, _POSTSCRIPT_NAME, _TYPOGRAPHIC_FAMILY = 1, 4, 6, 16


@cache
def chinese_family(characters: str) -> str:
    """Register a font that holds these characters with matplotlib and give the name of its family.

    The name is that of the characters, so that no other font, nor that of another figure, is taken for it. About
    a second, most of it to read the whole font. Characters that the font lacks are logged; they show as boxes.
    """
    from fontTools.subset import Options, Subsetter
    from fontTools.ttLib import TTFont
    from fontTools.varLib.instancer import instantiateVariableFont

    name = f"Noto Sans SC {hashlib.sha256(characters.encode()).hexdigest()[:12]}"
    with CHINESE_FONT.open("rb") as file:
        font = TTFont(file, lazy=True, recalcTimestamp=False)
        subsetter = Subsetter(Options(layout_features=[], notdef_outline=True, name_IDs=[1, 2, 4, 6]))
        subsetter.populate(text=characters)
        subsetter.subset(font)
        if lacking := sorted(set(map(ord, characters)) - set(font.getBestCmap())):
            log.warning("Noto Sans SC lacks %s, which show as boxes", "".join(map(chr, lacking)))
        instantiateVariableFont(font, {"wght": _REGULAR}, inplace=True)
        for number in (_FAMILY, _FULL_NAME, _TYPOGRAPHIC_FAMILY):
            font["name"].setName(name, number, 3, 1, 0x409)
        font["name"].setName(name.replace(" ", ""), _POSTSCRIPT_NAME, 3, 1, 0x409)
        path = Path(_folder().name) / f"{name.replace(' ', '')}.ttf"
        font.save(path)
    font_manager.fontManager.addfont(path)
    return name


@cache
def _folder() -> "tempfile.TemporaryDirectory[str]":
    """Removed when the process ends; figures are written before."""
    return tempfile.TemporaryDirectory(prefix="pretrace-fonts-")


@contextmanager
def style() -> Iterator[None]:
    """The style while a figure is drawn or saved; whatever a user's matplotlibrc says has no part in it."""
    with mpl.rc_context():
        mpl.rcdefaults()
        mpl.rcParams.update(STYLE)
        mpl.rcParams["font.family"] = FONT
        yield


def _add_chinese(figure: Figure) -> None:
    """Give every text with Chinese in it a second font, which draws what the first one lacks."""
    for axes in figure.axes:
        axes.get_xticklabels(), axes.get_yticklabels()  # these are empty until somebody asks for them
    chinese = [text for text in figure.findobj(Text) if any(map(is_wide, text.get_text()))]
    if not chinese:
        return
    family = chinese_family(
        "".join(sorted({one for text in chinese for one in text.get_text() if is_wide(one)}))
    )
    for text in chinese:
        text.set_fontfamily([FONT, family])


@contextmanager
def sheet(width: float, height: float) -> Iterator[Figure]:
    """An empty figure in inches, in the style; laid out once it is drawn, so that each file format shows the same."""
    with style():
        figure = Figure(figsize=(width, height))
        FigureCanvasAgg(figure)
        yield figure
        _add_chinese(figure)
        figure.draw_without_rendering()
        figure.set_layout_engine("none")


def draw_facets(
    facets: Sequence[Any],
    draw: Callable[[Any, Any], Mapping[str, Any]],
    *,
    row: float,
    y_labels: Sequence[str] = (),
    widths: tuple[float, float, float] = (4.4, PAGE, PAGE),
    share_y: bool = True,
) -> Figure:
    """The figure of `facets`, which have a `title` each, up to three in a row: `draw(axis, facet)` returns its legend.

    In inches: `row` is the height of a row, `widths` are the widths for one, two and three columns. Several axes get
    letters. The first axis of a row has a y label, and so has an axis whose label differs from the one before.
    """
    columns = min(3, len(facets))
    rows, width = -(-len(facets) // columns), widths[columns - 1]
    handles: dict[str, Any] = {}
    with sheet(width, row * rows) as figure:
        grid = figure.subplots(rows, columns, sharey=share_y, squeeze=False)
        for at, axis in enumerate(grid.flat):
            if at >= len(facets):
                axis.set_visible(False)
                continue
            handles |= draw(axis, facets[at])
            title = (letter(at) if len(facets) > 1 else "") + facets[at].title
            axis.set_title(title, loc="left", fontsize=7)
            if y_labels and (at % columns == 0 or y_labels[at] != y_labels[at - 1]):
                axis.set_ylabel(y_labels[at])
        if handles:
            legend_rows = -(-len(handles) // legend_columns(list(handles), width))
            figure.set_size_inches(width, row * rows + 0.16 * legend_rows + 0.2)
            draw_legend(figure, handles)
    return figure


def legend_columns(labels: Sequence[str], width: float) -> int:
    """How many entries of a legend fit next to each other in a figure of this width (inches)."""
    for columns in range(len(labels), 1, -1):
        parts = np.array_split(np.array([len(label) for label in labels]), columns)
        if sum(0.055 * part.max() + 0.68 for part in parts) <= width:
            return columns
    return 1


def draw_legend(figure: Figure, handles: Mapping[str, Any]) -> None:
    """The one legend of a figure, under it: handles by label."""
    columns = legend_columns(list(handles), figure.get_figwidth())
    figure.legend(
        handles.values(), handles.keys(), loc="outside lower center", ncols=columns, handlelength=3.5
    )


def draw_intervals(
    axis: Any, places: Any, frame: pd.DataFrame, color: str, *, level: bool = False, ground: bool = False
) -> None:
    """The 95 % intervals (`low`, `high`) of values at their places on the other axis, a bar each; none where missing.

    `level`: bars lie level, as values do. `ground`: on white, to be told from what is under them.
    """
    drawn = frame["low"].notna().to_numpy() & frame["high"].notna().to_numpy()
    value, low, high = (frame[key].to_numpy(float)[drawn] for key in ("value", "low", "high"))
    ends = [np.maximum(0, value - low), np.maximum(0, high - value)]
    at = np.asarray(places, float)[drawn]
    along = {"x": value, "y": at, "xerr": ends} if level else {"x": at, "y": value, "yerr": ends}
    for shade, wider in (("white", 1.6), (color, 0.0)) if ground else ((color, 0.0),):
        width, cap = 0.8 + wider, 1.6 + wider / 2 if ground else 0
        axis.errorbar(
            **along, fmt="none", ecolor=shade, elinewidth=width, capthick=width, capsize=cap, zorder=3.5
        )


def letter(place: int) -> str:
    """`(a) ` for the first axes of a figure, `(b) ` for the second, and `(aa) ` after `(z) `."""
    round, at = divmod(place, 26)
    return f"({chr(ord('a') + round - 1) if round else ''}{chr(ord('a') + at)}) "


@dataclass(frozen=True)
class Drawing:
    """A figure, the data that it shows, and what must be read with it: a verdict, or nothing but notes."""

    figure: Figure
    frame: pd.DataFrame
    reading: str = ""

    def noted(self, notes: Sequence[str]) -> "Drawing":
        """The figure with further sentences in its reading."""
        return replace(self, reading=" ".join(filter(None, [self.reading, *notes])))

    def write(self, files: dict[str, Path]) -> None:
        """Write pdf, png, svg, csv and the reading, each atomically; equal data give equal bytes."""
        with style():
            for suffix, metadata in _METADATA.items():
                with atomic_path(files[suffix]) as part:
                    self.figure.savefig(part, format=suffix, dpi=DPI, metadata=metadata)
        write_text(files["csv"], csv_text(self.frame))
        write_text(files["txt"], self.reading + "\n")


@dataclass(frozen=True)
class LineStyle:
    """A colour, a dash pattern and a marker, so that lines differ without colour too.

    For dots, `width` is their size (points), and `shift` their distance below the line.
    """

    color: str
    dashes: Any
    width: float = 1.2
    marker: str = "o"
    alpha: float = 1.0
    hollow: bool = False
    shift: float = 0.0

    @property
    def line(self) -> dict[str, Any]:
        """The style as arguments of matplotlib."""
        return {"color": self.color, "linestyle": self.dashes, "linewidth": self.width}

    @property
    def marked(self) -> dict[str, Any]:
        """The style of a line with markers as arguments of matplotlib."""
        return self.line | {"marker": self.marker, "markersize": 3.6}

    def handle(self) -> Line2D:
        """Return the line's sample in a legend."""
        return Line2D([], [], **self.marked)


CHANCE = LineStyle("black", (0, (4, 2)), 0.8, "")


def chance_of(metric: str) -> dict[str, float]:
    """The level that a score reaches by chance, by its name; empty where there is none."""
    level = chance_level(metric)
    return {} if level is None else {"chance": level}


INDIGO, WINE, BROWN, OLIVE = "#332288", "#882255", "#8C6D1F", "#668000"
_COLORS = (BLUE, VERMILION, GREEN, ORANGE, PURPLE, SKY, BLACK, BROWN, INDIGO, WINE, OLIVE)
_MARKERS = ("o", "s", "^", "D", "v", "P", "X")
_DASHES = ("-", (0, (5, 1.5)), (0, (1.5, 1.2)), (0, (6, 1.5, 1.5, 1.5)))


def line_styles(methods: Sequence[str]) -> dict[str, LineStyle]:
    """A line style each: a method has the same one in every figure; controls are grey."""
    known = list(dict.fromkeys([*_CONTRASTING, *METHOD_LABELS, *sorted(methods)]))
    controls = [method for method in known if is_control(method)]
    seeing = [method for method in known if not is_control(method)]
    styles = {method: nth_style(at) for at, method in enumerate(seeing)}
    for at, method in enumerate(controls):
        dashes, marker = _CONTROL_DASHES[at % len(_CONTROL_DASHES)], _MARKERS[at % len(_MARKERS)]
        styles[method] = LineStyle(GREY, dashes, 1.4, marker)
    return {method: styles[method] for method in methods}


_CONTROL_DASHES = (
    (0, (1, 1)),
    (0, (4, 1)),
    (0, (1, 2.5)),
    (0, (4, 1, 1, 1)),
    (0, (8, 2)),
    (0, (8, 1, 1, 1)),
    (0, (2, 3)),
)

_CONTRASTING = (
    "dc_pdd", "surp", "min_k_pp", "min_k", "loss", "zlib", "con_recall", "recall", "ref", "lowercase", "de_cop",
)  # fmt: skip
"""Methods that most often share a figure; their styles come first."""


def nth_style(place: int) -> LineStyle:
    """One of many styles that differ in colour or dashes."""
    colors = len(_COLORS)  # odd, so that a colour that comes again has other dashes
    dashes = _DASHES[place % len(_DASHES)]
    return LineStyle(_COLORS[place % colors], dashes, marker=_MARKERS[place % len(_MARKERS)])
