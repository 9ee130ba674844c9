"""Where along its documents a model gives a text back."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from math import exp, log
from typing import Any

import matplotlib as mpl
import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.cm import ScalarMappable
from matplotlib.collections import PatchCollection
from matplotlib.colors import ListedColormap, Normalize
from matplotlib.patches import Rectangle
from matplotlib.ticker import StrMethodFormatter
from numpy.lib.stride_tricks import sliding_window_view

from pretrace.render.figures.drawing import GREY, PAGE, Drawing, letter, sheet, wrapped
from pretrace.render.names import CLASSES
from pretrace.render.phrases import is_wide
from pretrace.render.registry import Artifact, Panel
from pretrace.render.results import Results
from pretrace.render.rows import in_print, of_panels, records_of

MOST_DOCUMENTS = 12  # of each class: those with the windows that are likeliest to be emitted
PASSAGES = 3  # printed under the figure, of each panel and class
LEAST = -6  # the power of ten of the probability at which colour begins
GROUPS = {1: CLASSES[1], -1: "unlabelled", 0: CLASSES[0]}
GIVEN_BACK = 0.001  # the probability above which a passage is named, and is called given back
NONE_LIKELY = f"no passage above {GIVEN_BACK:g}"
NARROWEST = 400  # a coloured stretch takes at least one in this many parts of the axis
UNLIKELY = "#E6E6E6"
COLORS = ListedColormap(mpl.colormaps["YlOrRd"](np.linspace(0.05, 0.75, 256)))
"""Without the darkest reds: black words can be read on it."""

COLUMNS, LINES, BEFORE = 104, 3, 30
"""Characters and lines of an excerpt, and the tokens of it before the likeliest passage."""
MONOSPACE, CHARACTER = "DejaVu Sans Mono", 0.602  # the width of its characters in units of the font size
_ROW, _LINE = 0.14, 0.125  # inches of a document's bar and of a line of words

NONE, GROUND = -2, -1
"""In place of a window: none covers the token; none that is likely enough for a colour."""


@dataclass(frozen=True)
class Excerpt:
    """The surroundings of the likeliest passage of a class: a title, and its tokens with ln of their probabilities."""

    title: str
    tokens: list[tuple[str, float]]


def extraction_map(artifact: Artifact, results: Results) -> Drawing:
    """Draw bars of the documents of each panel, and excerpts; the likeliest passages are the reading."""
    panels = results.panels(artifact)
    windows = [shown_documents(results.in_panel("windows", panel)) for panel in panels]
    if not any(map(len, windows)):
        raise artifact.error("none of its panels has a window")
    frames = [_stretches(frame) for frame in windows]
    excerpts = [list(excerpts_of(frame)) for frame in windows]
    passages = [
        (f"{panel.name}, " if len(panels) > 1 else "") + line
        for panel, frame in zip(panels, windows, strict=True)
        for line in _passages(frame)
    ]
    frame = of_panels(frames, panels)
    reading = [f"No passage has a probability above {GIVEN_BACK:g} with top-40 sampling."]
    if frame["log_p_top"].gt(log(GIVEN_BACK)).any():
        reading = [
            *lines(in_print(frame, artifact.names)),
            "The passages that are likeliest to be emitted:",
            *passages,
        ]
    reading += results.cautions(panels)
    return Drawing(_figure(panels, frames, excerpts), frame, "\n".join(reading))


def lines(frame: pd.DataFrame) -> list[str]:
    """Say for a terminal, of `extraction_map`'s data, how much of its best document a model gives back."""
    frame = frame.assign(tokens=frame["end"] - frame["start"], given=frame["log_p_top"] > np.log(GIVEN_BACK))
    frame["back"] = frame["tokens"] * frame["given"]
    sums = frame.groupby(["model", "label", "document"])[["back", "tokens"]].sum().reset_index()
    shares = sums.assign(share=sums["back"] / sums["tokens"])
    best = shares.sort_values("share", ascending=False, kind="stable").iloc[0]
    unread = shares[(shares["label"] == 0) & (shares["model"] == best["model"])]
    beside = "".join(
        f", and {100 * row['share']:.0f} % of {_with_article(row['document'])}, which it cannot have read"
        for row in records_of(unread.head(1))
    )
    return [
        f"{best['model']} gives back {100 * best['share']:.0f} % of {_with_article(best['document'])} word for word"
        f"{beside} (each token is in a passage that it writes in more than 1 of 1,000 tries)."
    ]


def _with_article(document: str) -> str:
    """Return `the MIT licence`, but an identifier such as `1932-Hoover-1` as it is."""
    return f"the {document}" if " " in document else document


def shown_documents(windows: pd.DataFrame) -> pd.DataFrame:
    """Return the windows of the drawn documents that do not repeat their text.

    Adds the document's `row` in the figure and where in the document the text begins (`offset`, tokens).
    """
    windows = windows[~windows["repeats"]].drop(columns=["subset", "length"])
    windows = windows.assign(label=windows["label"].fillna(-1).astype(int))
    likeliest = windows.groupby(["label", "document"])["log_p_top"].max().sort_values(ascending=False)
    chosen = likeliest.groupby("label").head(MOST_DOCUMENTS)
    groups = chosen.index.get_level_values("label").map([*GROUPS].index)
    ordered = chosen.iloc[np.argsort(groups, kind="stable")]
    # a line for the name of each group
    rows = np.arange(len(ordered)) + 1 + np.unique(np.sort(groups), return_inverse=True)[1]
    row = pd.Series(rows, ordered.index, name="row").reset_index()
    windows = windows.merge(row, on=["label", "document"])
    texts = windows.drop_duplicates("text_id").set_index("text_id")
    before = texts.groupby(["label", "document"])["tokens"].cumsum() - texts["tokens"]
    return windows.assign(offset=windows["text_id"].map(before))


def _stretches(windows: pd.DataFrame) -> pd.DataFrame:
    """Return a row for each run of tokens of a document with the same likeliest window.

    It goes from `start` to `end` (tokens of the document) and has ln of the window's probability, and its passage.
    """
    frames = [_stretches_of_text(text) for _, text in windows.groupby(["row", "text_id"], sort=True)]
    return pd.concat(frames, ignore_index=True) if frames else pd.DataFrame()


def _stretches_of_text(text: pd.DataFrame) -> pd.DataFrame:
    first = text.iloc[0]
    which = covering(text)
    starts = np.flatnonzero(np.diff(which, prepend=NONE - 1))
    runs = pd.DataFrame({"at": which[starts], "start": starts, "end": [*starts[1:], len(which)]})
    runs = runs[runs["at"] != NONE].merge(text[["at", "log_p_top", "passage"]], on="at", how="left")
    about = {key: first[key] for key in ("document", "label", "row", "text_id")}
    return runs.assign(**about, start=runs["start"] + first["offset"], end=runs["end"] + first["offset"])


def covering(text: pd.DataFrame) -> np.ndarray:
    """Return the place of the likeliest window that covers each token of a text, `GROUND` or `NONE`."""
    size = int(text["suffix"].iloc[0])
    ground = LEAST * log(10)
    begins = np.full(int(text["tokens"].iloc[0]), -np.inf)
    begins[text["at"]] = text["log_p_top"].fillna(ground).clip(ground)
    reaching = sliding_window_view(np.concatenate([np.full(size - 1, -np.inf), begins]), size)
    likeliest = reaching.argmax(axis=1)
    highest = reaching[np.arange(len(begins)), likeliest]
    places = np.arange(len(begins)) - size + 1 + likeliest
    return np.select([highest == -np.inf, highest <= ground], [NONE, GROUND], places)


def excerpts_of(windows: pd.DataFrame) -> Iterator[Excerpt]:
    """Yield the surroundings of each class's likeliest passage, if windows begin at every token."""
    for label in GROUPS:
        own = windows[windows["label"].eq(label) & windows["log_p_top"].notna() & windows["token"].ne("")]
        if own.empty:
            continue
        top = records_of(own.nlargest(1, "log_p_top"))[0]
        text = windows[windows["text_id"].eq(top["text_id"])].sort_values("at")
        places = text["at"].to_numpy()
        without_gap = np.cumsum(np.diff(places, prepend=places[0]) > 1)
        same = without_gap == without_gap[places == top["at"]]
        near = np.flatnonzero(same & (places >= top["at"] - BEFORE))[: COLUMNS * LINES]
        if len(near) < 2:
            continue
        which = covering(text)[places[near]]
        likely = dict(zip(places.tolist(), text["log_p_top"].tolist(), strict=True))
        powers = [likely.get(place, -np.inf) for place in which.tolist()]
        place = f"{GROUPS[label]}: {top['document']}, from token {places[near[0]]:,}"
        likeliest = f"likeliest passage: probability {exp(top['log_p_top']):.2g}"
        title = f"{place} ({likeliest if top['log_p_top'] > log(GIVEN_BACK) else NONE_LIKELY})"
        yield Excerpt(title, list(zip(text["token"].to_numpy()[near].tolist(), powers, strict=True)))


def _figure(
    panels: Sequence[Panel], frames: Sequence[pd.DataFrame], excerpts: Sequence[Sequence[Excerpt]]
) -> Any:
    """Draw each panel's bars with its excerpts under them, and at the bottom the scale of colours."""
    norm = Normalize(LEAST, 0)
    heights: list[float] = []
    for frame, words in zip(frames, excerpts, strict=True):
        heights += [_ROW * (int(frame["row"].max()) + 1.5), *[_LINE * (LINES + 1)] * len(words)]
    around = 0.5 * len(panels) + 0.08 * len(heights) + 0.6  # titles and axes' labels, space, the colour bar
    with sheet(PAGE, sum(heights) + around) as figure:
        axes = iter(figure.subplots(len(heights), 1, squeeze=False, height_ratios=heights)[:, 0])
        drawn = []
        for number, (panel, frame, words) in enumerate(zip(panels, frames, excerpts, strict=True)):
            bars = next(axes)
            draw_stretches(bars, frame, norm)
            title = (letter(number) if len(panels) > 1 else "") + panel.name
            bars.set_title(wrapped(title, PAGE), loc="left")
            drawn += [(next(axes), excerpt) for excerpt in words]
        bar = figure.colorbar(
            ScalarMappable(norm, COLORS), ax=figure.axes, location="bottom", shrink=0.5, aspect=40, pad=0.02
        )
        bar.set_label("probability that the model emits the passage which a token is part of")
        labels = [f"$10^{{{power}}}$" for power in range(LEAST, 0, 2)]
        bar.set_ticks(range(LEAST, 1, 2), labels=[*labels, "1"])
        bar.outline.set_linewidth(0.5)
        for axis, _ in drawn:
            axis.set(xlim=(0, COLUMNS), ylim=(LINES, -1))
            axis.set_axis_off()
        figure.draw_without_rendering()  # the layout gives axes their width, and that the words their size
        for axis, excerpt in drawn:
            points = 72 * figure.get_figwidth() * axis.get_position().width
            _write(axis, excerpt, norm, size=points / COLUMNS / CHARACTER)
    return figure


def draw_stretches(axis: Axes, frame: pd.DataFrame, norm: Normalize) -> None:
    """Draw a bar a document under the name of its class: likely passages are coloured, others grey."""
    longest = float(frame["end"].max())
    frame = frame.sort_values("log_p_top", na_position="first", kind="stable")  # the likeliest on top
    powers = frame["log_p_top"].to_numpy(float) / log(10)
    # a passage of a book would be too narrow to be seen
    widths = frame["end"] - frame["start"]
    widths = widths.where(np.isnan(powers), widths.clip(longest / NARROWEST))
    places = zip(frame["start"], widths, frame["row"], strict=True)
    boxes = [Rectangle((start, row - 0.4), width, 0.8) for start, width, row in places]
    fills = [UNLIKELY if np.isnan(power) else COLORS(norm(power)) for power in powers]
    axis.add_collection(PatchCollection(boxes, facecolors=fills, linewidths=0))
    documents = frame.drop_duplicates("row").sort_values("row")
    for row in records_of(documents.drop_duplicates("label")):
        axis.text(0, row["row"] - 1, GROUPS[row["label"]], fontsize=6, color=GREY, va="center")
    axis.set_yticks(documents["row"], documents["document"], fontsize=6)
    axis.tick_params(axis="y", length=0)
    axis.xaxis.set_major_formatter(StrMethodFormatter("{x:,.0f}"))
    axis.spines["left"].set_visible(False)
    axis.set(xlim=(0, longest), ylim=(documents["row"].max() + 0.6, -0.5), xlabel="token")


def _write(axis: Axes, excerpt: Excerpt, norm: Normalize, size: float) -> None:
    """Write an excerpt line by line, each token on its colour; `size`: of the font (points)."""
    title = axis.text(0, -0.5, excerpt.title, fontsize=6, color=GREY, va="center", parse_math=False)
    title.set_in_layout(False)
    column = line = 0
    for token, power in excerpt.tokens:
        words = " ".join(f"x{token}x".split())[1:-1]  # one space for any white space, at the ends too
        width = _width(words)
        if column + width > COLUMNS:
            column, line = 0, line + 1
        if line == LINES:
            break
        if column == 0:
            words = words.lstrip()
            width = _width(words)
        if power > LEAST * log(10):
            color = COLORS(norm(power / log(10)))
            axis.add_patch(Rectangle((column, line), width, 1, facecolor=color, linewidth=0))
        text = axis.text(column, line + 0.5, words, fontsize=size, family=MONOSPACE, va="center_baseline",
                         parse_math=False)  # fmt: skip
        text.set_in_layout(False)
        column += width


def _width(words: str) -> int:
    """Return the columns that words take in a monospaced font."""
    return sum(2 if is_wide(character) else 1 for character in words)


def _passages(windows: pd.DataFrame) -> Iterator[str]:
    """Yield a line for each of the likeliest passages of each class; of windows that overlap, the likeliest."""
    for label, title in GROUPS.items():
        own = windows[windows["label"].eq(label)]
        if len(own) and not own["log_p_top"].gt(log(GIVEN_BACK)).any():
            yield f"{title}: {NONE_LIKELY}"
        own = own[own["log_p_top"].gt(log(GIVEN_BACK)) & own["passage"].ne("")]
        printed: list[tuple[str, int]] = []
        for row in records_of(own.sort_values("log_p_top", ascending=False, kind="stable")):
            if any(id == row["text_id"] and abs(place - row["at"]) < row["suffix"] for id, place in printed):
                continue
            if len(printed) == PASSAGES:
                break
            printed.append((row["text_id"], row["at"]))
            of_text = f" of {row['text_id']}" if row["text_id"] != row["document"] else ""
            place = f"{title}, {row['document']}, token {row['at']}{of_text}"
            words = " ".join(row["passage"].split())
            yield f"{place}, probability {exp(row['log_p_top']):.2g}: {words}"
