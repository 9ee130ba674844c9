"""Where along its documents a model gives a text back."""

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import count
from math import exp, log
from operator import itemgetter
from pathlib import Path
from textwrap import shorten
from typing import Any

import matplotlib as mpl
import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.cm import ScalarMappable
from matplotlib.collections import PatchCollection
from matplotlib.colors import ListedColormap, Normalize, to_hex
from matplotlib.patches import Rectangle
from matplotlib.text import Text
from matplotlib.ticker import StrMethodFormatter
from numpy.lib.stride_tricks import sliding_window_view

from pretrace.evaluation.averages import Record
from pretrace.render.artifact import ACROSS, Artifact, Panel
from pretrace.render.figures.drawing import (
    GREY,
    LINE,
    PAGE,
    Drawing,
    Look,
    Values,
    letter,
    set_title_at_edge,
    sheet,
    wrap_title,
)
from pretrace.render.frames import of_panels, records_of
from pretrace.render.names import CLASSES
from pretrace.render.results import Results
from pretrace.render.tables.extraction import given_back

# of each class: those with the windows that are likeliest to be emitted
MOST_DOCUMENTS = 12
PASSAGES = 3  # printed under the figure, of each panel and class
LEAST = -6  # the power of ten of the probability at which colour begins
GROUPS = {1: CLASSES[1], -1: "in question", 0: CLASSES[0]}
# the probability above which a passage is named, and is called given back
GIVEN_BACK = 0.001
NONE_LIKELY = f"no passage above {GIVEN_BACK:g}"
NARROWEST = 400  # a coloured stretch takes at least one in this many parts of the axis
NEAR = 0.03  # of the axis: numbers of passages that are nearer would overlap
UNLIKELY = "#E6E6E6"
COLORS = ListedColormap(mpl.colormaps["YlOrRd"](np.linspace(0.05, 0.75, 256)))
"""Without the darkest reds: black words can be read on it."""

NORM = Normalize(LEAST, 0)
BEFORE, AFTER = 30, 50  # tokens of an excerpt around the likeliest passage
ITEM = "- "  # begins a line of a reading that is an item of the sentence before it
_ROW = 0.14  # inches of a document's bar
NAME_SHOWN = 50  # characters of a document's name, for which a figure has room
_RAISED = str.maketrans("-0123456789", "\N{SUPERSCRIPT MINUS}⁰¹²³⁴⁵⁶⁷⁸⁹")

NONE, GROUND = -2, -1
"""In place of a window: none covers the token; none that is likely enough for a
colour."""


@dataclass(frozen=True)
class Excerpt:
    """The surroundings of a class's likeliest passage: `stretches` are its words, each
    with a colour of CSS or "" and what a reader is told who points at it.
    """

    title: str
    stretches: list[tuple[str, str, str]]


def extraction_map(artifact: Artifact, results: Results) -> Drawing:
    """Draw bars of the documents of each panel; the likeliest passages are the reading.

    In the data, the stretches around the likeliest passage of each class have their
    `words`: see `excerpts_of`.
    """
    panels = results.panels(artifact)
    frames = []
    passages: list[list[Record]] = []
    lines = []
    numbers = count(1)
    for panel in panels:
        windows = shown_documents(results.rows(artifact, panel, "windows"))
        if windows.empty:
            raise artifact.empty(
                "no text has a window that does not repeat the text", panel
            )
        frames.append(_stretches(windows))
        place = f"{panel.name}, " if len(panels) > 1 else ""
        passages.append([])
        for label, title in GROUPS.items():
            own = windows[windows["label"].eq(label)]
            is_likely = own["log_p_top"].gt(log(GIVEN_BACK))
            if len(own) and not is_likely.any():
                lines.append(f"{ITEM}{place}{title}: {NONE_LIKELY}")
            for row in _likeliest(own[is_likely]):
                number = next(numbers)
                lines.append(f"{ITEM}({number}) {place}{title}, {_passage(row)}")
                start = row["offset"] + row["at"]
                passages[-1].append(row | {"number": number, "start": start})
    reading = []
    for panel in panels:
        extracted = results.rows(artifact, panel, "extraction")
        reading.append(given_back(panel.title_of(panel.model), extracted))
    frame = of_panels(frames, panels)
    if frame["log_p_top"].gt(log(GIVEN_BACK)).any():
        reading.append("The passages that are likeliest to be emitted:")
        reading += lines
    else:
        reading.append(f"There is {NONE_LIKELY}.")
    reading += results.cautions(panels)
    figure = _figure(panels, frames, passages)
    return Drawing(figure, frame, "\n".join(filter(None, reading)))


def shown_documents(windows: pd.DataFrame) -> pd.DataFrame:
    """Return the windows of the drawn documents that do not repeat their text.

    Adds the document's `row` in the figure and where in the document the text begins
    (`offset`, tokens).
    """
    windows = windows[~windows["repeats"]].drop(columns=["subset", "length"])
    windows = windows.assign(label=windows["label"].fillna(-1).astype(int))
    keys = ["label", "document"]
    likeliest = windows.groupby(keys)["log_p_top"].max().sort_values(ascending=False)
    chosen = records_of(likeliest.groupby("label").head(MOST_DOCUMENTS).reset_index())
    places = []
    row = 0
    for label in GROUPS:
        own = {}
        for entry in chosen:
            if entry["label"] == label:
                own[entry["document"]] = entry["log_p_top"]
        row += bool(own)  # a line for the name of the group
        for document in sorted(own, key=partial(_order, own)):
            places.append({"label": label, "document": document, "row": row})
            row += 1
    rows = pd.DataFrame(places, columns=[*keys, "row"])
    windows = windows.merge(rows.astype({"label": int, "row": int}), on=keys)
    texts = windows.drop_duplicates("text_id").set_index("text_id")
    before = texts.groupby(keys)["tokens"].cumsum() - texts["tokens"]
    return windows.assign(offset=windows["text_id"].map(before))


def _order(likeliest: Mapping[str, float], document: str) -> tuple[Any, ...]:
    """Return what a document is ordered by: its likeliest window, of those that have a
    colour, then its name.

    Numbers in names are ordered as such: `draft 2` comes before `draft 10`.
    """
    named = []
    for part in re.split(r"(\d+)", document):
        named.append((0, int(part), "") if part.isdecimal() else (1, 0, part))
    ground = LEAST * log(10)
    value = likeliest[document]  # missing where nothing is measured
    return -value if value > ground else -ground, named


def _stretches(windows: pd.DataFrame) -> pd.DataFrame:
    """Return a row for each run of tokens of a document with the same likeliest window.

    It goes from `start` to `end` (tokens of the document) and has ln of the window's
    probability, and its passage. `words` is the text of the run's tokens that are in an
    excerpt, as JSON; "" if there are none.
    """
    tokens: dict[Any, str] = {}
    for label in GROUPS:
        near = _near_likeliest(windows[windows["label"].eq(label)])
        tokens |= near.set_index(["text_id", "at"])["token"].to_dict()
    frames = []
    for _, text in windows.groupby(["row", "text_id"], sort=True):
        frames.append(_stretches_of_text(text, tokens))
    return pd.concat(frames, ignore_index=True) if frames else pd.DataFrame()


def _stretches_of_text(text: pd.DataFrame, tokens: Mapping[Any, str]) -> pd.DataFrame:
    first = text.iloc[0]
    which = likeliest_windows(text)
    starts = np.flatnonzero(np.diff(which, prepend=NONE - 1))
    ends = np.append(starts[1:], len(which))
    runs = pd.DataFrame({"at": which[starts], "start": starts, "end": ends})
    probabilities = text[["at", "log_p_top", "passage"]]
    runs = runs[runs["at"] != NONE].merge(probabilities, on="at", how="left")
    words = []
    for start, end in zip(runs["start"], runs["end"], strict=True):
        run = ""
        for place in range(start, end):
            run += tokens.get((first["text_id"], place), "")
        # JSON keeps what a CSV would change: line breaks, NA, a first character that a
        # spreadsheet runs
        words.append(json.dumps(run, ensure_ascii=False) if run else "")
    for key in ("document", "label", "row", "text_id"):
        runs[key] = first[key]
    runs["start"] += first["offset"]
    runs["end"] += first["offset"]
    return runs.assign(words=words)


def _near_likeliest(windows: pd.DataFrame) -> pd.DataFrame:
    """Return the windows that begin at the tokens around the likeliest passage, if
    windows begin at every token."""
    own = windows[windows["log_p_top"].notna() & windows["token"].ne("")]
    if own.empty:
        return own
    top = records_of(own.nlargest(1, "log_p_top"))[0]
    text = windows[windows["text_id"].eq(top["text_id"])].sort_values("at")
    places = text["at"].to_numpy(int)
    without_gap = np.cumsum(np.diff(places, prepend=places[0]) > 1)
    is_after = places >= top["at"] - BEFORE
    is_before = places <= top["at"] + top["suffix"] + AFTER
    is_joined = without_gap == without_gap[places == top["at"]]
    text = text[is_after & is_before & is_joined]
    # no window begins at a text's last tokens: the end of the passage that is missing
    # follows the last one
    shown = "".join(text.loc[text["at"] >= top["at"], "token"]).lstrip()
    passage = top["passage"].lstrip()
    if not passage.startswith(shown):
        return text
    is_last = text["at"].eq(text["at"].max())
    whole = text["token"] + passage[len(shown) :]
    return text.assign(token=text["token"].where(~is_last, whole))


def likeliest_windows(text: pd.DataFrame) -> np.ndarray:
    """Return the place of the likeliest window that covers each token of a text,
    `GROUND` or `NONE`."""
    size = int(text["suffix"].iloc[0])
    ground = LEAST * log(10)
    begins = np.full(int(text["tokens"].iloc[0]), -np.inf)
    begins[text["at"]] = text["log_p_top"].fillna(ground).clip(ground)
    before = np.full(size - 1, -np.inf)
    reaching = sliding_window_view(np.concatenate([before, begins]), size)
    likeliest = reaching.argmax(axis=1)
    highest = reaching[np.arange(len(begins)), likeliest]
    places = np.arange(len(begins)) - size + 1 + likeliest
    places = np.where(highest <= ground, GROUND, places)
    return np.where(highest == -np.inf, NONE, places)


def excerpts_of(csv: Path) -> Iterator[Excerpt]:
    """Yield the surroundings of the likeliest passage of each panel and class from the
    data of `extraction_map`."""
    frame = pd.read_csv(
        csv, keep_default_na=False, dtype={"document": str, "words": str}
    )
    log_p = pd.to_numeric(frame["log_p_top"], errors="coerce")
    frame = frame.assign(log_p_top=log_p, height=log_p.fillna(-np.inf))
    frame = frame[frame["words"] != ""]
    panel = frame.columns.intersection(
        ["model", "benchmark", "subset", "length", *ACROSS]
    )
    for _, own in frame.groupby([*panel, "label", "text_id"], sort=False, dropna=False):
        rows = records_of(own.sort_values("start"))
        top = max(rows, key=itemgetter("height"))
        p = float(np.exp(top["log_p_top"]))  # missing below the first colour
        found = NONE_LIKELY
        if p > GIVEN_BACK:
            found = f"likeliest passage: token {top['start']:,}, probability {p:.2g}"
        title = f"{GROUPS[top['label']]}: {top['document']} ({found})"
        stretches = []
        for row in rows:
            stretches.append((json.loads(row["words"]), *_heat(row["log_p_top"])))
        yield Excerpt(title, stretches)


def _heat(log_p: float) -> tuple[str, str]:
    """Return the colour of CSS of a stretch, "" if it is grey in the figure, and its
    probability in words."""
    power = log_p / log(10)
    if pd.isna(power) or power <= LEAST:
        return "", f"below 1 in {10**-LEAST:,}"
    return to_hex(COLORS(NORM(power))), f"probability {exp(log_p):.2g}"


def _figure(
    panels: Sequence[Panel],
    frames: Sequence[pd.DataFrame],
    passages: Sequence[Sequence[Record]],
) -> Any:
    """Draw each panel's bars with the numbers of its passages, and at the bottom the
    scale of colours."""
    heights = [_ROW * (int(frame["row"].max()) + 1.5) for frame in frames]
    around = 0.58 * len(panels) + 0.6  # titles and axes' labels, the colour bar
    with sheet(PAGE, sum(heights) + around) as figure:
        grid = figure.subplots(len(heights), 1, squeeze=False, height_ratios=heights)
        for number, panel in enumerate(panels):
            bars = grid[number, 0]
            draw_stretches(bars, frames[number])
            _draw_numbers(bars, passages[number])
            title = letter(number, len(panels)) + panel.name
            set_title_at_edge(figure, bars, wrap_title(title, PAGE - LINE))
        colors = ScalarMappable(NORM, COLORS)
        place: Look = {"location": "bottom", "shrink": 0.5, "aspect": 40}
        scale = figure.colorbar(colors, ax=figure.axes, **place, pad=0.02)
        scale.set_label(
            "probability that the model emits the passage which a token is part of"
        )
        labels = [f"10{str(power).translate(_RAISED)}" for power in range(LEAST, 0, 2)]
        scale.set_ticks(range(LEAST, 1, 2), labels=[*labels, "1"])
        scale.outline.set_linewidth(0.5)
    return figure


def _row_name(stretches: pd.DataFrame) -> str:
    """Return what a document's row is called: its name without what a figure has no
    room for, and the number of its only passage, if texts are numbered."""
    first = stretches.iloc[0]
    name = first["document"]
    numbers = re.findall(r"\d{4,}", first["text_id"].removeprefix(name))
    if len(name) > NAME_SHOWN:
        name = f"{name[: NAME_SHOWN - 3]}..."
    if numbers and stretches["text_id"].nunique() == 1:
        name += f", passage {int(numbers[-1])}"
    return name


def draw_stretches(axis: Axes, frame: pd.DataFrame) -> None:
    """Draw a bar a document under the name of its class: likely passages are coloured,
    others grey."""
    longest = float(frame["end"].max())
    # the likeliest on top
    frame = frame.sort_values("log_p_top", na_position="first", kind="stable")
    powers = frame["log_p_top"].to_numpy(float) / log(10)
    # a passage of a book would be too narrow to be seen
    widths = frame["end"] - frame["start"]
    widths = widths.where(np.isnan(powers), widths.clip(longest / NARROWEST))
    boxes = []
    fills = []
    for row in records_of(frame.assign(width=widths, power=powers)):
        place = row["start"], row["row"] - 0.4
        boxes.append(Rectangle(place, row["width"], 0.8))
        is_grey = np.isnan(row["power"])
        fills.append(UNLIKELY if is_grey else COLORS(NORM(row["power"])))
    axis.add_collection(PatchCollection(boxes, facecolors=fills, linewidths=0))
    _tell(axis, frame.assign(end=frame["start"] + widths)[~np.isnan(powers)])
    documents = frame.drop_duplicates("row").sort_values("row")
    headings = {}  # the name of a class is above those of its documents
    for row in records_of(documents.drop_duplicates("label")):
        headings[row["row"] - 1] = GROUPS[row["label"]]
    names = {}
    for line in documents["row"]:
        names[line] = _row_name(frame[frame["row"] == line])
    ticks = headings | names
    axis.set_yticks([*ticks], [*ticks.values()], fontsize=6)
    for label in axis.get_yticklabels()[: len(headings)]:
        label.set(color=GREY, fontstyle="italic")
    axis.tick_params(axis="y", length=0)
    axis.xaxis.set_major_formatter(StrMethodFormatter("{x:,.0f}"))
    axis.spines["left"].set_visible(False)
    lowest = frame["row"].max() + 0.6
    axis.set(xlim=(0, longest), ylim=(lowest, -0.5), xlabel="token")


def _draw_numbers(axis: Axes, passages: Sequence[Record]) -> None:
    """Write the number of each passage left of it; those that are near one another
    stand together."""
    near = NEAR * axis.get_xlim()[1]
    look: Look = {"ha": "right", "va": "center_baseline", "fontsize": 5.5}
    look |= {"xytext": (-1.5, 0), "textcoords": "offset points"}
    last: dict[int, tuple[float, Text]] = {}
    for passage in sorted(passages, key=itemgetter("start")):
        line, start, number = passage["row"], passage["start"], passage["number"]
        if line in last and start - last[line][0] < near:
            text = last[line][1]
            text.set_text(f"{text.get_text()},{number}")
            continue
        text = axis.annotate(f"{number}", (start, line), **look)
        last[line] = start, text


def _tell(axis: Axes, stretches: pd.DataFrame) -> None:
    """Tell the place, the probability and the words of each coloured stretch."""
    texts = []
    for row in records_of(stretches):
        words = shorten(row["passage"], 80, placeholder=" ...")
        p = exp(row["log_p_top"])
        place = f"{row['document']}, token {row['start']:,}"
        texts.append(f"{place}: probability {p:.2g}. {words}".removesuffix(". "))
    x = stretches["start"], stretches["end"]
    y = stretches["row"] - 0.4, stretches["row"] + 0.4
    axis.add_artist(Values(x, y, texts))


def _likeliest(windows: pd.DataFrame) -> list[Record]:
    """Return the likeliest passages of a class from its likely windows; of windows
    that overlap, the likeliest."""
    own = windows[windows["passage"].ne("")]
    own = own.sort_values("log_p_top", ascending=False, kind="stable")
    likeliest: list[Record] = []
    for row in records_of(own):
        if any(_overlap(row, other) for other in likeliest):
            continue
        if len(likeliest) == PASSAGES:
            break
        likeliest.append(row)
    return likeliest


def _passage(row: Record) -> str:
    """Return where a passage is, its probability and its words."""
    place = f"{row['document']}, token {row['at']}"
    if row["text_id"] != row["document"]:
        place += f" of {row['text_id']}"
    words = " ".join(row["passage"].split())
    return f"{place}, probability {exp(row['log_p_top']):.2g}: {words}"


def _overlap(window: Record, other: Record) -> bool:
    """Tell whether two windows of one text share a token."""
    is_same_text = window["text_id"] == other["text_id"]
    return is_same_text and abs(window["at"] - other["at"]) < window["suffix"]
