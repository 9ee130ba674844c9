"""A table before it is written: cells in stacked blocks, notes, the long data, and its reading."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import pandas as pd

from pretrace.render.names import MARK_NOTES, MARK_SIGNS
from pretrace.runtime.files import write_text

MINUS = "\N{MINUS SIGN}"
DASH = "\N{EN DASH}"


@dataclass(frozen=True)
class Cell:
    """A number with its interval, or words; neither is a dash: missing is missing, never zero.

    `signs` are the letters of notes (marks); `star` says significantly better than the baseline.
    """

    value: float | None = None
    low: float | None = None
    high: float | None = None
    words: str | None = None
    bold: bool = False
    star: bool = False
    signs: tuple[str, ...] = ()
    signed: bool = False

    @property
    def number(self) -> str:
        if self.words is not None:
            return self.words
        if self.value is None:
            return DASH
        return signed(self.value, 3) if self.signed else f"{self.value:.3f}"

    @property
    def interval(self) -> str:
        if self.value is None or self.low is None or self.high is None:
            return ""
        low, high = (signed(end, 2) if self.signed else f"{end:.2f}" for end in (self.low, self.high))
        return f"[{low}, {high}]"


def signed(value: float, digits: int) -> str:
    """`+0.031`, `-0.020` with a true minus, and 0 without a sign."""
    text = f"{value:+.{digits}f}"
    return text.lstrip("+-") if float(text) == 0 else text.replace("-", MINUS)


@dataclass(frozen=True)
class Row:
    label: str
    cells: tuple[Cell, ...]
    control: bool = False


@dataclass(frozen=True)
class Block:
    """Rows under a heading of their own; an empty title has no heading."""

    title: str
    rows: tuple[Row, ...]


@dataclass(frozen=True)
class Table:
    """`columns` are header lines per column; `frame` is the long form, every number once."""

    caption: str
    label: str
    stub: str
    columns: tuple[tuple[str, ...], ...]
    blocks: tuple[Block, ...]
    notes: tuple[str, ...]
    frame: pd.DataFrame
    reading: str

    def write(self, files: dict[str, Path]) -> None:
        """Write csv, md, tex and the reading, each atomically."""
        from pretrace.render.latex import latex
        from pretrace.render.markdown import markdown

        write_text(files["csv"], csv_text(self.frame))
        write_text(files["md"], markdown(self))
        write_text(files["tex"], latex(self))
        write_text(files["reading"], self.reading + "\n")


def csv_text(frame: pd.DataFrame) -> str:
    """Numbers in full (shortest form that reads back), booleans lower case, missing empty."""
    shown = frame.copy()
    for column in shown.columns[shown.dtypes.map(pd.api.types.is_bool_dtype)]:
        shown[column] = shown[column].map({True: "true", False: "false"})
    return str(shown.to_csv(index=False, lineterminator="\n"))


def bold_best(rows: Sequence[Row]) -> tuple[Row, ...]:
    """Mark each column's highest value, as printed, among rows that are no controls; equals share it."""
    if not rows:
        return ()
    best = [
        max((round(row.cells[at].value or 0.0, 3) for row in rows if _counts(row, at)), default=None)
        for at in range(len(rows[0].cells))
    ]
    return tuple(
        replace(
            row,
            cells=tuple(
                replace(cell, bold=_counts(row, at) and round(cell.value or 0.0, 3) == best[at])
                for at, cell in enumerate(row.cells)
            ),
        )
        for row in rows
    )


def _counts(row: Row, at: int) -> bool:
    return not row.control and row.cells[at].value is not None


def signs_of(marks: str) -> tuple[str, ...]:
    """Letters of a `;`-joined list of marks, in order."""
    return tuple(sorted(MARK_SIGNS.get(mark, mark) for mark in marks.split(";") if mark))


def mark_notes(rows: Sequence[Row]) -> list[str]:
    """A note for each sign that the rows show."""
    shown = {sign for row in rows for cell in row.cells for sign in cell.signs}
    by_sign = sorted((sign, mark) for mark, sign in MARK_SIGNS.items())
    return [f"{sign}: {MARK_NOTES[mark]}." for sign, mark in by_sign if sign in shown]
