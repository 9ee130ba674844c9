"""Where along its documents a model gives a text back."""

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from math import exp, log
from pathlib import Path
from typing import Any

import matplotlib as mpl
import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.cm import ScalarMappable
from matplotlib.collections import PatchCollection
from matplotlib.colors import ListedColormap, Normalize, to_hex
from matplotlib.patches import Rectangle
from matplotlib.ticker import StrMethodFormatter
from numpy.lib.stride_tricks import sliding_window_view

from pretrace.render.artifact import ACROSS, Artifact, Panel
from pretrace.render.figures.drawing import (
    GREY,
    PAGE,
    Drawing,
    letter,
    sheet,
    wrap_title,
)
from pretrace.render.names import CLASSES
from pretrace.render.results import Results, of_panels, records_of
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
UNLIKELY = "#E6E6E6"
COLORS = ListedColormap(mpl.colormaps["YlOrRd"](np.linspace(0.05, 0.75, 256)))
"""Without the darkest reds: black words can be read on it."""

NORM = Normalize(LEAST, 0)
BEFORE, AFTER = 30, 50  # tokens of an excerpt around the likeliest passage
ITEM = "- "  # begins a line of a reading that is an item of the sentence before it
_ROW = 0.14  # inches of a document's bar
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
    windows = [
        shown_documents(results.rows(artifact, panel, "windows")) for panel in panels
    ]
    for panel, frame in zip(panels, windows, strict=True):
        if frame.empty:
            raise artifact.empty(
                "no text has a window that does not repeat the text", panel
            )
    frames = [_stretches(frame) for frame in windows]
    passages = []
    for panel, frame in zip(panels, windows, strict=True):
        place = f"{panel.name}, " if len(panels) > 1 else ""
        for line in _passages(frame):
            passages.append(f"{ITEM}{place}{line}")
    frame = of_panels(frames, panels)
    extracted = [results.rows(artifact, panel, "extraction") for panel in panels]
    reading = [
        given_back(panel.title_of(panel.model), own)
        for panel, own in zip(panels, extracted, strict=True)
    ]
    given = frame["log_p_top"].gt(log(GIVEN_BACK)).any()
    reading += (
        ["The passages that are likeliest to be emitted:", *passages]
        if given
        else [f"There is {NONE_LIKELY}."]
    )
    reading += results.cautions(panels)
    return Drawing(_figure(panels, frames), frame, "\n".join(filter(None, reading)))


def shown_documents(windows: pd.DataFrame) -> pd.DataFrame:
    """Return the windows of the drawn documents that do not repeat their text.

    Adds the document's `row` in the figure and where in the document the text begins
    (`offset`, tokens).
    """
    windows = windows[~windows["repeats"]].drop(columns=["subset", "length"])
    windows = windows.assign(label=windows["label"].fillna(-1).astype(int))
    likeliest = (
        windows.groupby(["label", "document"])["log_p_top"]
        .max()
        .sort_values(ascending=False)
    )
    chosen = records_of(likeliest.groupby("label").head(MOST_DOCUMENTS).reset_index())
    places = []
    row = 0
    for label in GROUPS:
        own = {
            entry["document"]: entry["log_p_top"]
            for entry in chosen
            if entry["label"] == label
        }
        row += bool(own)  # a line for the name of the group
        for document in sorted(own, key=partial(_order, own)):
            places.append({"label": label, "document": document, "row": row})
            row += 1
    keys = ["label", "document"]
    rows = pd.DataFrame(places, columns=[*keys, "row"]).astype(
        {"label": int, "row": int}
    )
    windows = windows.merge(rows, on=keys)
    texts = windows.drop_duplicates("text_id").set_index("text_id")
    before = texts.groupby(["label", "document"])["tokens"].cumsum() - texts["tokens"]
    return windows.assign(offset=windows["text_id"].map(before))


def _order(likeliest: Mapping[str, float], document: str) -> tuple[Any, ...]:
    """Return what a document is ordered by: its likeliest window, of those that have a
    colour, then its name.

    Numbers in names are ordered as such: `draft 2` comes before `draft 10`.
    """
    parts = re.split(r"(\d+)", document)
    named = [(0, int(part), "") if part.isdecimal() else (1, 0, part) for part in parts]
    ground = LEAST * log(10)
    value = likeliest[document]  # missing where nothing is measured
    return -value if value > ground else -ground, named


def _stretches(windows: pd.DataFrame) -> pd.DataFrame:
    """Return a row for each run of tokens of a document with the same likeliest window.

    It goes from `start` to `end` (tokens of the document) and has ln of the window's
    probability, and its passage. `words` is the text of the run's tokens that are in an
    excerpt, as JSON; "" if there are none.
    """
    near = [_near_likeliest(windows[windows["label"].eq(label)]) for label in GROUPS]
    tokens = (
        pd.concat([windows.iloc[:0], *near])
        .set_index(["text_id", "at"])["token"]
        .to_dict()
    )
    frames = [
        _stretches_of_text(text, tokens)
        for _, text in windows.groupby(["row", "text_id"], sort=True)
    ]
    return pd.concat(frames, ignore_index=True) if frames else pd.DataFrame()


def _stretches_of_text(text: pd.DataFrame, tokens: Mapping[Any, str]) -> pd.DataFrame:
    first = text.iloc[0]
    which = likeliest_windows(text)
    starts = np.flatnonzero(np.diff(which, prepend=NONE - 1))
    runs = pd.DataFrame(
        {"at": which[starts], "start": starts, "end": [*starts[1:], len(which)]}
    )
    runs = runs[runs["at"] != NONE].merge(
        text[["at", "log_p_top", "passage"]], on="at", how="left"
    )
    words = [
        "".join(
            tokens.get((first["text_id"], place), "") for place in range(start, end)
        )
        for start, end in zip(runs["start"], runs["end"], strict=True)
    ]
    about = {key: first[key] for key in ("document", "label", "row", "text_id")}
    places = {key: runs[key] + first["offset"] for key in ("start", "end")}
    # JSON keeps what a CSV would change: line breaks, NA, a first character that a
    # spreadsheet runs
    return runs.assign(
        **about,
        **places,
        words=[json.dumps(run, ensure_ascii=False) if run else "" for run in words],
    )


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
    near = (places >= top["at"] - BEFORE) & (
        places <= top["at"] + top["suffix"] + AFTER
    )
    text = text[near & (without_gap == without_gap[places == top["at"]])]
    # no window begins at a text's last tokens: the end of the passage that is missing
    # follows the last one
    shown = "".join(text.loc[text["at"] >= top["at"], "token"]).lstrip()
    passage = top["passage"].lstrip()
    if passage.startswith(shown):
        last = text["at"].eq(text["at"].max())
        text["token"] = text["token"].where(
            ~last, text["token"] + passage[len(shown) :]
        )
    return text


def likeliest_windows(text: pd.DataFrame) -> np.ndarray:
    """Return the place of the likeliest window that covers each token of a text,
    `GROUND` or `NONE`."""
    size = int(text["suffix"].iloc[0])
    ground = LEAST * log(10)
    begins = np.full(int(text["tokens"].iloc[0]), -np.inf)
    begins[text["at"]] = text["log_p_top"].fillna(ground).clip(ground)
    reaching = sliding_window_view(
        np.concatenate([np.full(size - 1, -np.inf), begins]), size
    )
    likeliest = reaching.argmax(axis=1)
    highest = reaching[np.arange(len(begins)), likeliest]
    places = np.arange(len(begins)) - size + 1 + likeliest
    return np.select([highest == -np.inf, highest <= ground], [NONE, GROUND], places)


def excerpts_of(csv: Path) -> Iterator[Excerpt]:
    """Yield the surroundings of the likeliest passage of each panel and class from the
    data of `extraction_map`."""
    frame = pd.read_csv(
        csv, keep_default_na=False, dtype={"document": str, "words": str}
    )
    frame = frame.assign(log_p_top=pd.to_numeric(frame["log_p_top"], errors="coerce"))
    frame = frame[frame["words"] != ""]
    panel = frame.columns.intersection(
        ["model", "benchmark", "subset", "length", *ACROSS]
    )
    for _, own in frame.groupby([*panel, "label", "text_id"], sort=False, dropna=False):
        rows = records_of(own.sort_values("start"))
        top = max(
            rows,
            key=lambda row: (
                -np.inf if pd.isna(row["log_p_top"]) else float(row["log_p_top"])
            ),
        )
        p = float(np.exp(top["log_p_top"]))  # missing below the first colour
        likeliest = f"likeliest passage: token {top['start']:,}, probability {p:.2g}"
        title = (
            f"{GROUPS[top['label']]}: {top['document']} "
            f"({likeliest if p > GIVEN_BACK else NONE_LIKELY})"
        )
        yield Excerpt(
            title,
            [(json.loads(row["words"]), *_heat(row["log_p_top"])) for row in rows],
        )


def _heat(log_p: float) -> tuple[str, str]:
    """Return the colour of CSS of a stretch, "" if it is grey in the figure, and its
    probability in words."""
    power = log_p / log(10)
    if pd.isna(power) or power <= LEAST:
        return "", f"below 1 in {10**-LEAST:,}"
    return to_hex(COLORS(NORM(power))), f"probability {exp(log_p):.2g}"


BESIDE = 1.0
"""Inches that the names of documents take beside the bars, above which titles stand."""


def _figure(panels: Sequence[Panel], frames: Sequence[pd.DataFrame]) -> Any:
    """Draw each panel's bars, and at the bottom the scale of colours."""
    heights = [_ROW * (int(frame["row"].max()) + 1.5) for frame in frames]
    around = 0.58 * len(panels) + 0.6  # titles and axes' labels, the colour bar
    with sheet(PAGE, sum(heights) + around) as figure:
        axes = figure.subplots(len(heights), 1, squeeze=False, height_ratios=heights)[
            :, 0
        ]
        for number, (bars, panel, frame) in enumerate(
            zip(axes, panels, frames, strict=True)
        ):
            draw_stretches(bars, frame)
            title = (letter(number) if len(panels) > 1 else "") + panel.name
            bars.set_title(wrap_title(title, PAGE - BESIDE), loc="left")
        bar = figure.colorbar(
            ScalarMappable(NORM, COLORS),
            ax=figure.axes,
            location="bottom",
            shrink=0.5,
            aspect=40,
            pad=0.02,
        )
        bar.set_label(
            "probability that the model emits the passage which a token is part of"
        )
        labels = [f"10{str(power).translate(_RAISED)}" for power in range(LEAST, 0, 2)]
        bar.set_ticks(range(LEAST, 1, 2), labels=[*labels, "1"])
        bar.outline.set_linewidth(0.5)
    return figure


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
    places = zip(frame["start"], widths, frame["row"], strict=True)
    boxes = [Rectangle((start, row - 0.4), width, 0.8) for start, width, row in places]
    fills = [UNLIKELY if np.isnan(power) else COLORS(NORM(power)) for power in powers]
    axis.add_collection(PatchCollection(boxes, facecolors=fills, linewidths=0))
    documents = frame.drop_duplicates("row").sort_values("row")
    ticks = dict(zip(documents["row"], documents["document"], strict=True))
    headings = {}  # the name of a class is above those of its documents
    for row in records_of(documents.drop_duplicates("label")):
        headings[row["row"] - 1] = GROUPS[row["label"]]
    ticks |= headings
    axis.set_yticks([*ticks], [*ticks.values()], fontsize=6)
    for place, label in zip(ticks, axis.get_yticklabels(), strict=True):
        if place in headings:
            label.set(color=GREY, fontstyle="italic")
    axis.tick_params(axis="y", length=0)
    axis.xaxis.set_major_formatter(StrMethodFormatter("{x:,.0f}"))
    axis.spines["left"].set_visible(False)
    axis.set(
        xlim=(0, longest), ylim=(documents["row"].max() + 0.6, -0.5), xlabel="token"
    )


def _passages(windows: pd.DataFrame) -> Iterator[str]:
    """Yield a line for each of the likeliest passages of each class; of windows that
    overlap, the likeliest."""
    for label, title in GROUPS.items():
        own = windows[windows["label"].eq(label)]
        if len(own) and not own["log_p_top"].gt(log(GIVEN_BACK)).any():
            yield f"{title}: {NONE_LIKELY}"
        own = own[own["log_p_top"].gt(log(GIVEN_BACK)) & own["passage"].ne("")]
        printed: list[tuple[str, int]] = []
        for row in records_of(
            own.sort_values("log_p_top", ascending=False, kind="stable")
        ):
            if any(
                id == row["text_id"] and abs(place - row["at"]) < row["suffix"]
                for id, place in printed
            ):
                continue
            if len(printed) == PASSAGES:
                break
            printed.append((row["text_id"], row["at"]))
            of_text = (
                f" of {row['text_id']}" if row["text_id"] != row["document"] else ""
            )
            place = f"{title}, {row['document']}, token {row['at']}{of_text}"
            words = " ".join(row["passage"].split())
            yield f"{place}, probability {exp(row['log_p_top']):.2g}: {words}"
