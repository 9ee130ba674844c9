"""A table before it is written: cells in stacked blocks, notes, the long data, and its reading."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import groupby
from pathlib import Path

import pandas as pd

from pretrace.render.names import MARK_NOTES, MARK_SIGNS
from pretrace.render.phrases import DASH, signed
from pretrace.render.records import csv_text
from pretrace.runtime.files import write_text


@dataclass(frozen=True)
class Cell:
    """A number with its interval, or words; neither is a dash: missing is missing, never zero.

    `signs` are the letters of notes (marks); `star` says significantly better than the baseline; `spread` is a
    standard deviation, in place of an interval.
    """

    value: float | None = None
    low: float | None = None
    high: float | None = None
    words: str | None = None
    bold: bool = False
    star: bool = False
    signs: tuple[str, ...] = ()
    signed: bool = False
    spread: float | None = None

    @property
    def number(self) -> str:
        if self.words is not None:
            return self.words
        if self.value is None:
            return DASH
        return signed(self.value, 3) if self.signed else f"{self.value:.3f}"

    @property
    def interval(self) -> str:
        if self.spread is not None:
            return f"± {self.spread:.3f}"
        if self.value is None or self.low is None or self.high is None:
            return ""
        low, high = (signed(end, 2) if self.signed else f"{end:.2f}" for end in (self.low, self.high))
        return f"[{low}, {high}]"


Columns = tuple[tuple[str, ...], ...]
"""Header lines per column; neighbours share what they begin with."""


@dataclass(frozen=True)
class Row:
    label: str
    cells: tuple[Cell, ...]
    control: bool = False


@dataclass(frozen=True)
class Block:
    """Rows under a heading of their own; an empty title has no heading.

    `columns` and `stub` are its own where it has others than the table.
    """

    title: str
    rows: tuple[Row, ...]
    columns: Columns | None = None
    stub: str | None = None


@dataclass(frozen=True)
class Table:
    """`columns` are header lines per column; `frame` is the long form, every number once."""

    caption: str
    label: str
    stub: str
    columns: Columns
    blocks: tuple[Block, ...]
    notes: tuple[str, ...]
    frame: pd.DataFrame
    reading: str

    def columns_of(self, block: Block) -> Columns:
        return self.columns if block.columns is None else block.columns

    def stub_of(self, block: Block) -> str:
        return self.stub if block.stub is None else block.stub

    def noted(self, notes: Sequence[str]) -> "Table":
        """The table with further notes, and these in its reading."""
        return replace(self, notes=(*self.notes, *notes), reading=" ".join([self.reading, *notes]))

    def write(self, files: dict[str, Path]) -> None:
        """Write csv, md, tex and the reading, each atomically."""
        from pretrace.render.tables.latex import latex
        from pretrace.render.tables.markdown import markdown

        write_text(files["csv"], csv_text(self.frame))
        write_text(files["md"], markdown(self))
        write_text(files["tex"], latex(self))
        write_text(files["reading"], self.reading + "\n")


def header_rows(columns: Columns) -> list[list[tuple[str, int]]]:
    """Header lines, each as (text, number of columns it spans), as many to every column.

    Neighbours share a cell where they agree so far; in the last line each column has its own. What changes least from
    column to column stands first. A column of fewer lines has empty ones before its last.
    """
    depth = max(map(len, columns))
    padded = [(*lines[:-1], *[""] * (depth - len(lines)), *lines[-1:]) for lines in columns]
    if set(map(len, columns)) == {depth}:
        order = sorted(
            range(depth), key=lambda level: sum(1 for _ in groupby(line[level] for line in padded))
        )
        padded = [tuple(lines[level] for level in order) for lines in padded]
    rows = []
    for level in range(depth):
        last = level == depth - 1
        groups = groupby(enumerate(padded), key=lambda item: (item[1][: level + 1], item[0] if last else 0))
        rows.append([(key[0][level], len(list(members))) for key, members in groups])
    return rows


def shared_lines(columns: Columns) -> tuple[tuple[str, ...], Columns]:
    """The header lines that every one of two or more columns has, and the columns without them."""
    depth = len(columns[0]) if columns else 0
    if len(columns) < 2 or {*map(len, columns)} != {depth}:
        return (), columns
    shared = [level for level in range(depth) if len({lines[level] for lines in columns}) == 1]
    if len(shared) == depth:
        return (), columns
    rest = [level for level in range(depth) if level not in shared]
    return tuple(columns[0][level] for level in shared), tuple(
        tuple(lines[level] for level in rest) for lines in columns
    )


def bold_best(rows: Sequence[Row]) -> tuple[Row, ...]:
    """Mark each column's highest value, as printed, among two or more rows that are no controls; equals share it."""
    if not rows:
        return ()
    best = [_highest(rows, at) for at in range(len(rows[0].cells))]
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


def _highest(rows: Sequence[Row], at: int) -> float | None:
    values = [round(row.cells[at].value or 0.0, 3) for row in rows if _counts(row, at)]
    return max(values) if len(values) > 1 else None


def _counts(row: Row, at: int) -> bool:
    return not row.control and row.cells[at].value is not None


def signs_of(marks: str, *shown: str) -> tuple[str, ...]:
    """Letters of a `;`-joined list of marks, in order; only of those `shown`, where any is named."""
    given = [mark for mark in marks.split(";") if mark and (not shown or mark in shown)]
    return tuple(sorted(MARK_SIGNS.get(mark, mark) for mark in given))


def said_once(blocks: Sequence[Block]) -> tuple[tuple[Block, ...], list[str]]:
    """Signs where they are read once, and the notes on all signs.

    What every number of the table carries is a note without a sign; what every number of a column carries
    stands in its header (of a block with columns of its own).
    """
    cells = [cell for block in blocks for row in block.rows for cell in row.cells if cell.value is not None]
    shared = set.intersection(*(set(cell.signs) for cell in cells)) if len(cells) > 1 else set()
    marks = {sign: MARK_NOTES[mark] for mark, sign in MARK_SIGNS.items()}
    notes = [f"Of every number: {marks[sign]}." for sign in sorted(shared & marks.keys())]
    shown = {sign for cell in cells for sign in cell.signs} - shared
    notes += [f"{sign}: {marks[sign]}." for sign in sorted(shown & marks.keys())]
    return tuple(_signs_raised(block, shared) for block in blocks), notes


def _signs_raised(block: Block, said: set[str]) -> Block:
    """The block without the signs in `said`, those of whole columns in the headers."""
    raised = []
    for cells in zip(*(row.cells for row in block.rows), strict=True):
        signs = [set(cell.signs) - said for cell in cells if cell.value is not None]
        raised.append(set.intersection(*signs) if len(signs) > 1 and block.columns else set())
    rows = tuple(
        replace(
            row,
            cells=tuple(
                replace(cell, signs=tuple(sign for sign in cell.signs if sign not in said | of))
                for cell, of in zip(row.cells, raised, strict=True)
            ),
        )
        for row in block.rows
    )
    columns = block.columns and tuple(
        (*lines[:-1], " ".join([lines[-1], *(f"({sign})" for sign in sorted(of))]))
        for lines, of in zip(block.columns, raised, strict=True)
    )
    return replace(block, rows=rows, columns=columns)
