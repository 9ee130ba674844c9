"""How figures look and how they are written: sizes, palette, fonts, and bytes that do
not change."""

import logging
import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from functools import cache, partial
from itertools import cycle
from operator import itemgetter
from pathlib import Path
from textwrap import wrap
from typing import Any

import matplotlib as mpl
import numpy as np
import pandas as pd
from matplotlib import font_manager
from matplotlib.artist import Artist
from matplotlib.axes import Axes
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure
from matplotlib.font_manager import FontProperties
from matplotlib.lines import Line2D
from matplotlib.text import Text
from matplotlib.textpath import text_to_path
from matplotlib.transforms import Bbox, blended_transform_factory
from numpy.typing import ArrayLike

from pretrace.evaluation.averages import Record, estimate
from pretrace.questions.method_facts import is_control
from pretrace.render.frames import csv_text, records_of
from pretrace.render.names import METHOD_LABELS, chance_level
from pretrace.render.phrases import with_interval
from pretrace.runtime.files import atomic_path, write_text

# widths in inches of one column and of the whole line of a two-column page
COLUMN, PAGE = 3.3, 6.8
COLUMNS = (4.4, PAGE, PAGE)
"""Widths of figures with one, two and three columns of axes (inches)."""

Look = dict[str, Any]
"""How something looks, as arguments of matplotlib."""

Handles = dict[str, Any]
"""The samples of a legend, by label."""

Sides = tuple[ArrayLike, ArrayLike]
"""Where something begins and where it ends, of each of several."""

BLACK, ORANGE, SKY, GREEN, BLUE, VERMILION, PURPLE = (
    "#000000", "#E69F00", "#56B4E9", "#009E73", "#0072B2", "#D55E00", "#CC79A7",
)  # fmt: skip
"""M. Okabe and K. Ito's palette, which colour-blind readers can tell apart, but for its
yellow."""
GREY = "#6B6B6B"
MEMBER, NONMEMBER = BLUE, VERMILION

STYLE = {
    "font.size": 7.5,
    "axes.titlesize": 7,
    "axes.titlelocation": "left",
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
    "text.parse_math": False,  # a title is the user's, and may have dollars in it
    "svg.hashsalt": "pretrace",
    "figure.constrained_layout.use": True,
    # text is a little wider in files than where it is laid out
    "figure.constrained_layout.w_pad": 0.07,
}
DPI = {"pdf": 300, "png": 300, "svg": 120}
"""Of pixels; those in an SVG are a part of the report's page."""
FONTS = (
    # comes with matplotlib, so that Latin text looks the same on every machine
    "DejaVu Sans",
    "Noto Sans CJK SC", "Noto Sans CJK JP", "Noto Sans SC", "WenQuanYi Zen Hei",
    "WenQuanYi Micro Hei",
    "Noto Sans KR", "NanumGothic", "Noto Sans Devanagari", "Noto Sans Thai",
    "Noto Emoji", "Symbola",
)  # fmt: skip
"""A character is drawn by the first of these fonts that the machine has and that holds
it."""


_METADATA: dict[str, Look] = {
    "pdf": {"CreationDate": None, "Creator": None, "Producer": None},
    "png": {"Software": None},
    "svg": {"Date": None, "Creator": None},
}


# a font of another weight needs no warning
logging.getLogger("matplotlib.font_manager").setLevel(logging.ERROR)


@cache
def fonts() -> tuple[str, ...]:
    """Return those of `FONTS` that this machine has."""
    there = set(font_manager.get_font_names())
    return tuple(name for name in FONTS if name in there)


def undrawable(figure: Figure) -> str:
    """Return the characters of a figure that no font of this machine has; matplotlib
    draws boxes in their place."""
    written: set[str] = set()
    for text in figure.findobj(Text):
        written.update(text.get_text())
    faces = [font_manager.get_font(font_manager.findfont(name)) for name in fonts()]
    lacking = ""
    for character in sorted(written):
        has_glyph = any(face.get_char_index(ord(character)) for face in faces)
        if not character.isspace() and not has_glyph:
            lacking += character
    return lacking


@contextmanager
def glyphs_unwarned() -> Iterator[None]:
    """Ignore characters without a font: `Drawing.write` says so under the figure."""
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", "Glyph .* missing from font")
        yield


@contextmanager
def style() -> Iterator[None]:
    """Set the style while a figure is drawn or saved; a user's matplotlibrc is
    ignored."""
    with mpl.rc_context():
        mpl.rcdefaults()
        mpl.rcParams.update(STYLE)
        mpl.rcParams["font.family"] = fonts()
        with glyphs_unwarned():
            yield


@contextmanager
def sheet(width: float, height: float) -> Iterator[Figure]:
    """Give an empty figure (inches) in the style; it is laid out once it is drawn, so
    that all formats are alike."""
    with style():
        figure = Figure(figsize=(width, height))
        FigureCanvasAgg(figure)
        yield figure
        figure.draw_without_rendering()
        figure.set_layout_engine("none")
        for axes in figure.axes:
            # last bits of these sums differ between runs, and an SVG's names by them
            place = axes.get_position(original=True).get_points().round(9)
            axes.set_position(Bbox(place))
        for legend in figure.legends:
            # of the figure, not of what is saved, which may have reasons below it
            legend.set_bbox_to_anchor((0, 0, 1, 1), figure.transFigure)


LINE, EDGE, AROUND = 0.11, 0.45, 0.7
"""Inches: the height of a title's line, and the usual size of what is left of axes, and
of what is above and below them: titles, labels and the numbers of the scale."""


@cache
def text_width(text: str) -> float:
    """Return how wide a line of text is drawn (inches)."""
    font = FontProperties(family=fonts(), size=7)
    with glyphs_unwarned():
        width, *_ = text_to_path.get_text_width_height_descent(text, font, ismath=False)
    return width / 72


def axes_width(axis: Axes) -> float:
    """Return about how wide axes will be (inches), which is known exactly once the
    figure is laid out."""
    place = axis.get_subplotspec()
    columns = place.get_gridspec().ncols if place else 1
    figure = axis.get_figure(root=True)
    width = figure.get_figwidth() if figure else PAGE
    return width / columns - EDGE


def wrap_title(title: str, width: float) -> str:
    """Return a title with further line breaks, so that no line is wider than `width`
    inches, and lines equally long."""
    parts = []
    for line in title.split("\n"):
        letters = max(len(line), SHORTEST)
        while (
            letters > SHORTEST and max(map(text_width, broken(line, letters))) > width
        ):
            letters -= 1
        fewest = len(broken(line, letters))
        while letters > SHORTEST and len(broken(line, letters - 1)) == fewest:
            letters -= 1
        parts += broken(line, letters)
    return "\n".join(parts)


def set_title_at_edge(figure: Figure, axis: Axes, title: str) -> None:
    """Write a title above the only axes of a row, from the figure's edge on, where it
    has the most room."""
    text = axis.set_title(title, x=0.01)
    of_edge = blended_transform_factory(figure.transFigure, text.get_transform())
    text.set_transform(of_edge)


broken = partial(wrap, break_on_hyphens=False)
SHORTEST = 12
"""Letters of a line of a title, at least."""


def legend_columns(labels: Sequence[str], width: float) -> int:
    """Return how many entries of a legend fit next to each other in a figure of this
    width (inches)."""
    widths = np.array([text_width(label) + 0.65 for label in labels])
    for columns in range(len(labels), 1, -1):
        parts = np.array_split(widths, columns)
        if sum(part.max() for part in parts) <= width:
            return columns
    return 1


def draw_legend(figure: Figure, handles: Mapping[str, Any]) -> None:
    """Draw the one legend of a figure under it; `handles` by label."""
    columns = legend_columns(list(handles), figure.get_figwidth())
    place = {"loc": "outside lower center", "ncols": columns, "handlelength": 3.5}
    figure.legend(handles.values(), handles.keys(), **place)


ESTIMATE = ["value", "low", "high"]


def draw_intervals(
    axis: Axes,
    places: Any,
    frame: pd.DataFrame,
    color: str,
    *,
    level: bool = False,
    ground: bool = False,
) -> None:
    """Draw a bar for each 95 % interval (`low`, `high`) of values at their places on
    the other axis, if it is there.

    `level`: values are on the x axis. `ground`: on white, to be told from what is under
    them.
    """
    has_interval = frame["low"].notna() & frame["high"].notna()
    value, low, high = frame.loc[has_interval, ESTIMATE].to_numpy(float).T
    sides = np.maximum(0, [value - low, high - value])
    places = np.asarray(places, float)[has_interval.to_numpy()]
    bars: dict[str, Any] = {"x": places, "y": value, "yerr": sides}
    if level:
        bars = {"x": value, "y": places, "xerr": sides}

    looks = [(color, 0.8, 1.6 if ground else 0.0)]
    if ground:
        looks.insert(0, ("white", 2.4, 2.4))
    for shade, width, cap in looks:
        look: Look = {"ecolor": shade, "elinewidth": width, "capthick": width}
        axis.errorbar(**bars, **look, capsize=cap, fmt="none", zorder=3.5)


REACH = 3.0
"""Points around a point or an interval within which a pointer is on it."""


class Values(Artist):
    """Rectangles of axes with a text each, which a browser shows where a reader points.

    `x` and `y`: their sides (from, to) in data; a pointer is on them within `reach`
    (points). An SVG alone has them.
    """

    def __init__(
        self, x: Sides, y: Sides, texts: Sequence[str], reach: float = 0.0
    ) -> None:
        super().__init__()
        self.set_zorder(10)
        self.set_in_layout(False)
        corners = np.broadcast_arrays(x[0], y[0], x[1], y[1])
        self.corners = np.stack(corners, axis=-1).reshape(-1, 2)
        self.texts = texts
        self.reach = reach

    def draw(self, renderer: Any) -> None:
        writer = getattr(renderer, "writer", None)
        if writer is None or self.axes is None or not self.texts:
            return
        points = self.axes.transData.transform(self.corners)
        points = np.clip(points, *self.axes.bbox.get_points()).reshape(-1, 2, 2)
        starts = points.min(axis=1) - self.reach
        sizes = np.ptp(points, axis=1) + 2 * self.reach
        writer.start("g", fill="none", attrib={"pointer-events": "all"})
        for text, (x, y), (width, height) in zip(
            self.texts, starts, sizes, strict=True
        ):
            box = {"x": x, "y": renderer.height - y - height}
            box |= {"width": width, "height": height}
            writer.start("rect", {side: f"{size:.1f}" for side, size in box.items()})
            writer.element("title", text)
            writer.end("rect")
        writer.end("g")


def value_text(row: Record, quantity: str) -> str:
    """Return `Min-K%, 64 words: AUC 0.73 [0.71, 0.76]` of a row with its `told`."""
    return f"{row['told']}: {quantity} {with_interval(estimate(row))}"


def tell_values(
    axis: Axes, places: Any, frame: pd.DataFrame, quantity: str, *, level: bool = False
) -> None:
    """Tell each value with its interval where both are drawn; arguments as of
    `draw_intervals`."""
    ends = frame[ESTIMATE].astype(float)
    values = ends.min(axis=1), ends.max(axis=1)
    x, y = (values, (places, places)) if level else ((places, places), values)
    texts = [value_text(row, quantity) for row in records_of(frame)]
    axis.add_artist(Values(x, y, texts, REACH))


NAME_LINE = 0.06
"""Of the height of axes: a line of a name beside a point."""


LEADER = {"arrowstyle": "-", "linewidth": 0.4, "color": GREY, "relpos": (0, 0.5)}


def name_points(axis: Axes, points: Sequence[Record]) -> None:
    """Write the `name` of points (`x`, `value`) in their `color` right of the axes, each
    with a line to its point, none over another. The limits of the axes are final."""
    low, high = axis.get_ylim()
    points = sorted(points, key=itemgetter("value"), reverse=True)
    places = []
    end = 1.0  # of the name above, as part of the axes' height
    for row in points:
        half = NAME_LINE * (1 + row["name"].count("\n")) / 2
        places.append(min((row["value"] - low) / (high - low), end - half))
        end = places[-1] - half
    for row, place in zip(points, places, strict=True):
        axis.annotate(
            row["name"],
            (row["x"], row["value"]),
            (1.02, place - min(end, 0)),
            textcoords="axes fraction",
            va="center",
            fontsize=6,
            color=row["color"],
            arrowprops=LEADER,
            annotation_clip=False,
        )


def letter(number: int, axes: int) -> str:
    """Return `(a) ` for the first of several axes of a figure (0), `(b) ` for the
    second, and `(aa) ` after `(z) `; "" for axes alone."""
    if axes < 2:
        return ""
    alphabet = "abcdefghijklmnopqrstuvwxyz"
    rounds, place = divmod(number, len(alphabet))
    return f"({alphabet[rounds - 1] if rounds else ''}{alphabet[place]}) "


@dataclass(frozen=True)
class Drawing:
    """A figure, the data that it shows, and sentences to read with it: a verdict, or
    notes alone."""

    figure: Figure
    frame: pd.DataFrame
    reading: str = ""

    def with_notes(self, notes: Sequence[str]) -> "Drawing":
        """Return the figure with further sentences in its reading."""
        return replace(self, reading=" ".join(filter(None, [self.reading, *notes])))

    def with_missing(self, reasons: Sequence[str]) -> "Drawing":
        """Return the figure with the reasons why panels are missing, under the others
        and in its reading."""
        if not reasons:
            return self
        width = self.figure.get_figwidth()
        words = "\n".join(wrap_title(reason, width) for reason in reasons)
        self.figure.text(0.01, 0, words, va="top", fontsize=7, color=VERMILION)
        return self.with_notes(reasons)

    def write(self, files: dict[str, Path]) -> None:
        """Write pdf, png, svg, csv and the reading, each atomically; equal data give
        equal bytes."""
        # reasons are below the edge of the figure
        is_below = any(text.get_position()[1] <= 0 for text in self.figure.texts)
        box = "tight" if is_below else None
        with style():
            for suffix, metadata in _METADATA.items():
                with atomic_path(files[suffix]) as part:
                    look: Look = {"dpi": DPI[suffix], "bbox_inches": box}
                    self.figure.savefig(part, format=suffix, metadata=metadata, **look)
        notes = []
        lacking = undrawable(self.figure)
        if lacking:
            notes.append(
                f"This machine has no font for {lacking}: the figure shows boxes, the "
                "data have the names."
            )
        write_text(files["csv"], csv_text(self.frame))
        write_text(files["txt"], self.with_notes(notes).reading + "\n")


@dataclass(frozen=True)
class LineStyle:
    """A colour, a dash pattern, and a marker of a `size` (points). `shift` moves dots
    down."""

    color: str
    dashes: Any
    width: float = 1.2
    marker: str = "o"
    hollow: bool = False
    shift: float = 0.0
    size: float = 3.6

    @property
    def line(self) -> Look:
        return {"color": self.color, "linestyle": self.dashes, "linewidth": self.width}

    @property
    def marked(self) -> Look:
        """Return the style of a line with markers."""
        return self.line | {"marker": self.marker, "markersize": self.size}

    def handle(self) -> Line2D:
        """Return the line's sample in a legend."""
        return Line2D([], [], **self.marked)


CHANCE_STYLE = LineStyle("black", (0, (4, 2)), 0.8, "")
LEVEL_STYLE = LineStyle(GREY, "-", 0.7)
UPRIGHT_STYLE = LineStyle(GREY, (0, (1, 1.5)), 0.7)
CLASS_STYLES = {
    1: LineStyle(MEMBER, "-", size=4),
    0: LineStyle(NONMEMBER, (0, (4, 1.5)), marker="^", size=4),
}


def chance_of(metric: str) -> dict[str, tuple[float, LineStyle]]:
    """Return the level that a score reaches by chance, by its name in the legend; empty
    if there is none."""
    level = chance_level(metric)
    return {} if level is None else {"chance": (level, CHANCE_STYLE)}


@dataclass(frozen=True)
class Facet:
    """Axes of a figure: rows of `frame` are what is drawn, each with a `series` and
    `value, low, high`.

    `quantity`: what the values are. `label`: of the axis of places; `ticks` name places
    that are not numbers. `across` are lines through all places at a value, by their
    names in the legend; `upright` dotted ones at a place. `height`: of the axes with
    their title (inches).
    """

    title: str
    frame: pd.DataFrame
    quantity: str
    label: str = ""
    ticks: Mapping[Any, str] = field(default_factory=dict)
    across: Mapping[str, tuple[float, LineStyle]] = field(default_factory=dict)
    upright: Mapping[str, float] = field(default_factory=dict)
    height: float = 2.4

    @property
    def value_label(self) -> str:
        """Return the label of the axis of values."""
        has_interval = "low" in self.frame and self.frame["low"].notna().any()
        return f"{self.quantity}, 95 % interval" if has_interval else self.quantity

    def draw_levels(self, axis: Axes, *, level: bool) -> dict[str, Line2D]:
        """Draw `across` and `upright` and return them by name. `level`: values are on
        the x axis."""
        line = partial(axis.axvline, zorder=0) if level else axis.axhline
        drawn = {}
        for name, (value, style) in self.across.items():
            drawn[name] = line(value, **style.line)
        for name, x in self.upright.items():
            drawn[name] = axis.axvline(x, **UPRIGHT_STYLE.line)
        return drawn


def draw_facets(
    facets: Sequence[Facet],
    draw: Callable[[Axes, Facet], Handles],
    *,
    heading: str = "",
    widths: Sequence[float] = COLUMNS,
    level: bool = False,
) -> Figure:
    """Return a figure with axes for each facet, as many in a row as there are `widths`;
    two are stacked, four are in two rows.

    `draw(axis, facet)` fills one of them with lines, dots or bars and returns its
    handles for the legend.

    All values have one scale; `level`: on the x axis. A row is as high as its highest
    axes. `widths`: of a figure with one, two and three columns (inches). Several axes
    get letters. The first axis of a row has a y label, and so has an axis whose label
    differs from the one before. `heading`: above all axes. A title that is wider than
    its column gets more lines, and its row more height.
    """
    # two below each other can be read on a screen of 390 pixels
    columns = 1 if len(facets) == 2 else min(len(widths), len(facets))
    if len(facets) == 4:
        columns = min(2, columns)  # a square, with no row of one
    width = widths[columns - 1]
    room = width / columns - (EDGE if columns > 1 else LINE)
    texts = []
    rows = []
    for number, facet in enumerate(facets):
        title = letter(number, len(facets)) + facet.title
        texts.append(wrap_title(title, room))
        further_lines = texts[-1].count("\n") - facet.title.count("\n")
        height = facet.height + LINE * further_lines
        if number % columns == 0:
            rows.append(height)
        rows[-1] = max(rows[-1], height)
    total = sum(rows) + (0.2 if heading else 0.0)
    handles: Handles = {}
    with sheet(width, total) as figure:
        shape: Look = {"squeeze": False, "height_ratios": rows}
        grid = figure.subplots(
            len(rows), columns, sharex=level, sharey=not level, **shape
        )
        if heading:
            figure.suptitle(heading, fontsize=8)
        y_label = ""
        for number, facet in enumerate(facets):
            axis = grid.flat[number]
            levels = facet.draw_levels(axis, level=level)
            handles |= draw(axis, facet) | levels
            if columns == 1:
                set_title_at_edge(figure, axis, texts[number])
            else:
                axis.set_title(texts[number])
            labels = [facet.label, facet.value_label]
            x_label, own = reversed(labels) if level else labels
            axis.set_xlabel(x_label)
            if number % columns == 0 or own != y_label:
                axis.set_ylabel(wrap_title(own, facet.height - AROUND))
            y_label = own
        for axis in grid.flat[len(facets) :]:
            axis.set_visible(False)
        if handles:
            legend_rows = -(-len(handles) // legend_columns(list(handles), width))
            figure.set_size_inches(width, total + 0.16 * legend_rows + 0.2)
            draw_legend(figure, handles)
    return figure


INDIGO, WINE, BROWN, OLIVE = "#332288", "#882255", "#8C6D1F", "#668000"
_COLORS = (
    BLUE,
    VERMILION,
    GREEN,
    ORANGE,
    PURPLE,
    SKY,
    BLACK,
    BROWN,
    INDIGO,
    WINE,
    OLIVE,
)
_MARKERS = ("o", "s", "^", "D", "v", "P", "X")
_FURTHER_MARKERS = ("<", ">", "p", "*")
_DASHES = ("-", (0, (5, 1.5)), (0, (1.5, 1.2)), (0, (6, 1.5, 1.5, 1.5)))


def line_styles(methods: Sequence[str]) -> dict[str, LineStyle]:
    """Return the style of each method, the same in every figure; controls are grey.

    Of two methods of one colour or marker that are shown together, the second gets one
    that none of the others has, as long as there are any.
    """
    known = dict.fromkeys([*_CONTRASTING, *METHOD_LABELS, *sorted(methods)])
    dashes = cycle(_CONTROL_DASHES)
    markers = cycle(_MARKERS)
    controls = {}
    seeing: dict[str, LineStyle] = {}
    for method in known:
        if is_control(method):
            controls[method] = LineStyle(GREY, (0, next(dashes)), 1.4, next(markers))
        else:
            seeing[method] = nth_style(len(seeing))
    own = {method: seeing[method] for method in seeing if method in methods}
    own = _apart(own, "color", _COLORS)
    styles = controls | _apart(own, "marker", (*_MARKERS, *_FURTHER_MARKERS))
    return {method: styles[method] for method in methods}


def _apart(
    styles: Mapping[str, LineStyle], attribute: str, values: Sequence[str]
) -> dict[str, LineStyle]:
    """Return the styles with a free value of an attribute in place of one that an
    earlier style has."""
    used = {getattr(style, attribute) for style in styles.values()}
    free = iter([value for value in values if value not in used])
    apart = {}
    taken = set()
    for method, style in styles.items():
        value = getattr(style, attribute)
        if value in taken:
            value = next(free, value)
        taken.add(value)
        apart[method] = replace(style, **{attribute: value})
    return apart


_CONTROL_DASHES = ((1, 1), (4, 1), (1, 2.5), (4, 1, 1, 1), (8, 2), (8, 1, 1, 1), (2, 3))

_CONTRASTING = (
    "dc_pdd", "surp", "min_k_pp", "min_k", "loss", "zlib", "con_recall", "recall",
    "ref", "lowercase", "de_cop",
)  # fmt: skip
"""Methods that most often share a figure; their styles come first."""


def nth_style(number: int) -> LineStyle:
    """Return one of many styles that differ in colour or dashes."""
    # the number of colours is odd, so that a colour that comes again has other dashes
    color = _COLORS[number % len(_COLORS)]
    dashes = _DASHES[number % len(_DASHES)]
    return LineStyle(color, dashes, marker=_MARKERS[number % len(_MARKERS)])


FILLS = (
    ("#DDDDDD", ""),
    (SKY, "///"),
    (ORANGE, "\\\\\\"),
    (GREEN, "..."),
    ("#FFFFFF", "xxx"),
)


def nth_fill(number: int) -> Look:
    """Return how the bars of a series look."""
    color, hatch = FILLS[number % len(FILLS)]
    return {
        "facecolor": color,
        "hatch": hatch,
        "hatchcolor": "white",
        "edgecolor": "black",
        "linewidth": 0.6,
    }
