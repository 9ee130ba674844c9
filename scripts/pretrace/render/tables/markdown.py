"""Tables as Markdown, and back: the report shows the very file that a reader downloads."""

import re
import string
from collections.abc import Sequence
from dataclasses import dataclass

from pretrace.render.phrases import MINUS
from pretrace.render.tables.table import Cell, Columns, Row, Table, header_rows, shared_lines

_SPECIAL = re.compile(r"([\\`*_\[\]<>|&#~$])")
_ESCAPED = re.compile(r"\\([" + re.escape(string.punctuation) + "])")
_STRONG = re.compile(r"^\*\*(.+?)\*\*(.*)$")
_CELL = re.compile(r"(?<!\\)\|")
LINE_BREAK = " · "
ALL_COLUMNS = "All columns: "


def escaped(text: str) -> str:
    """Text that Markdown shows as it is."""
    return _SPECIAL.sub(r"\\\1", " ".join(text.splitlines()))


def markdown(table: Table) -> str:
    """Stacked pipe tables under bold headings, then the notes as a list; header lines are parted by ` · `.

    What all columns of a table have in common stands before it.
    """
    parts = [f"**{escaped(table.caption)}**"]
    for block in table.blocks:
        shared, columns = shared_lines(table.columns_of(block))
        header = [table.stub_of(block), *map(LINE_BREAK.join, columns)]
        if block.title:
            parts.append(f"**{escaped(block.title)}**")
        if shared:
            parts.append(ALL_COLUMNS + escaped(LINE_BREAK.join(shared)))
        parts.append("\n".join([_line(map(escaped, header)), _rule(len(header)), *map(_row, block.rows)]))
    parts.append("\n".join(f"- {escaped(note)}" for note in table.notes))
    return "\n\n".join(part for part in parts if part) + "\n"


def _line(cells: "Sequence[str] | map[str]") -> str:
    return "| " + " | ".join(cells) + " |"


def _rule(columns: int) -> str:
    return "|:---|" + "---:|" * (columns - 1)


def _row(row: Row) -> str:
    label = f"_{escaped(row.label)}_" if row.control else escaped(row.label)
    return _line([label, *map(_cell, row.cells)])


def _cell(cell: Cell) -> str:
    number = f"**{escaped(cell.number)}**" if cell.bold else escaped(cell.number)
    tail = (r"\*" if cell.star else "") + ("".join(f" ({sign})" for sign in cell.signs))
    interval = f" {escaped(cell.interval)}" if cell.interval else ""
    return f"{number}{tail}{interval}"


@dataclass(frozen=True)
class Shown:
    """A cell as the report shows it."""

    main: str
    rest: str = ""
    bold: bool = False


@dataclass(frozen=True)
class ShownTable:
    """What `markdown` wrote: headings, header lines by column, rows (whether a control, cells) and notes."""

    blocks: tuple["ShownBlock", ...]
    notes: tuple[str, ...]


@dataclass(frozen=True)
class ShownBlock:
    title: str
    stub: str
    columns: Columns
    rows: tuple[tuple[bool, tuple[Shown, ...]], ...]

    @property
    def header(self) -> list[list[tuple[str, int]]]:
        return header_rows(self.columns)


def parse(text: str) -> ShownTable:
    """Read what `markdown` wrote; its first paragraph, the caption, is left to the report's own heading."""
    blocks: list[ShownBlock] = []
    notes: list[str] = []
    title = ""
    shared: tuple[str, ...] = ()
    for part in text.strip().split("\n\n")[1:]:
        if part.startswith("|"):
            header, _, *rows = [_split(line) for line in part.splitlines()]
            columns = tuple((*shared, *_plain(cell).split(LINE_BREAK)) for cell in header[1:])
            blocks.append(ShownBlock(title, _plain(header[0]), columns, tuple(map(_shown_row, rows))))
            title, shared = "", ()
        elif part.startswith(ALL_COLUMNS):
            shared = tuple(_plain(part.removeprefix(ALL_COLUMNS)).split(LINE_BREAK))
        elif part.startswith("- "):
            notes = [_plain(line.removeprefix("- ")) for line in part.splitlines()]
        else:
            title = _plain(part.strip("*"))
    return ShownTable(tuple(blocks), tuple(notes))


def _split(line: str) -> list[str]:
    return [cell.strip() for cell in _CELL.split(line)[1:-1]]


def _plain(text: str) -> str:
    return _ESCAPED.sub(r"\1", text)


def _shown_row(cells: list[str]) -> tuple[bool, tuple[Shown, ...]]:
    control = cells[0].startswith("_") and cells[0].endswith("_")
    label = Shown(_plain(cells[0].strip("_") if control else cells[0]))
    return control, (label, *map(_shown_cell, cells[1:]))


def _shown_cell(text: str) -> Shown:
    strong = _STRONG.match(text)
    plain, rest = (strong.group(1), strong.group(2)) if strong else _leading_number(text)
    return Shown(_plain(plain), _plain(rest), bold=bool(strong))


def _leading_number(text: str) -> tuple[str, str]:
    """Split `0.626\\* \\[0.56, 0.69\\]` behind the number, so that both kinds of cell read alike."""
    number = re.match(rf"^([+{MINUS}]?\d+\.\d+)(.*)$", text)
    return (number.group(1), number.group(2)) if number else (text, "")
