"""Tables as LaTeX with booktabs."""

import re
from itertools import groupby

from pretrace.render.phrases import DASH, is_wide
from pretrace.render.tables.table import Block, Cell, Columns, Row, Table, header_rows

_ESCAPES = {
    "\\": r"\textbackslash{}",
    "{": r"\{",
    "}": r"\}",
    "$": r"\$",
    "&": r"\&",
    "#": r"\#",
    "%": r"\%",
    "_": r"\_",
    "~": r"\textasciitilde{}",
    "^": r"\textasciicircum{}",
    "<": r"\textless{}",
    ">": r"\textgreater{}",
    "|": r"\textbar{}",
    "[": "{[}",
    "\N{EN DASH}": "--",
    "\N{MINUS SIGN}": r"\ensuremath{-}",
    "≤": r"\ensuremath{\leq}",
    "≥": r"\ensuremath{\geq}",
    "\N{MULTIPLICATION SIGN}": r"\ensuremath{\times}",
    "·": r"\ensuremath{\cdot}",
    "±": r"\ensuremath{\pm}",
    "\N{GREEK SMALL LETTER GAMMA}": r"\ensuremath{\gamma}",
}
_SPECIAL = re.compile("|".join(map(re.escape, _ESCAPES)))


def escaped(text: str) -> str:
    """Text that LaTeX prints as it is."""
    return _SPECIAL.sub(lambda found: _ESCAPES[found.group()], " ".join(text.splitlines()))


def latex(table: Table) -> str:
    """A `table*` float, scaled down to the line where it is wider; its first line says which packages it needs."""
    lines = [
        r"% \usepackage{booktabs,graphicx}",
        r"\begin{table*}[t]",
        r"\centering",
        rf"\caption{{{escaped(table.caption)}}}",
        rf"\label{{tab:{table.label}}}",
    ]
    for (columns, stub), blocks in groupby(
        table.blocks, lambda block: (table.columns_of(block), table.stub_of(block))
    ):
        lines += _tabular(columns, stub, list(blocks))
    lines += [
        rf"\parbox{{\linewidth}}{{\footnotesize {' '.join(map(escaped, table.notes))}}}",
        r"\end{table*}",
    ]
    if any(map(is_wide, "".join(lines))):
        lines.insert(1, r"% \usepackage{ctex}  for the Chinese in it, with XeLaTeX or LuaLaTeX")
    return "\n".join(lines) + "\n"


def _tabular(columns: Columns, stub: str, blocks: list[Block]) -> list[str]:
    return [
        r"\resizebox{\ifdim\width>\linewidth\linewidth\else\width\fi}{!}{%",
        rf"\begin{{tabular}}{{l{'c' * len(columns)}}}",
        r"\toprule",
        *_header(columns, stub),
        *(line for block in blocks for line in _block(block, len(columns) + 1)),
        r"\bottomrule",
        r"\end{tabular}}",
        r"\par\smallskip",
    ]


def _header(columns: Columns, stub: str) -> list[str]:
    rows = header_rows(columns)
    stubs = [""] * (len(rows) - 1) + [escaped(stub)]
    return [
        " & ".join([first, *(_spanning(text, span) for text, span in row)]) + r" \\"
        for first, row in zip(stubs, rows, strict=True)
    ]


def _spanning(text: str, columns: int) -> str:
    return escaped(text) if columns == 1 else rf"\multicolumn{{{columns}}}{{c}}{{{escaped(text)}}}"


def _block(block: Block, width: int) -> list[str]:
    lines = [r"\midrule"]
    if block.title:
        lines += [rf"\multicolumn{{{width}}}{{l}}{{\textit{{{escaped(block.title)}}}}} \\", r"\midrule"]
    methods = [row for row in block.rows if not row.control]
    controls = [row for row in block.rows if row.control]
    lines += map(_row, methods)
    if methods and controls:
        lines.append(rf"\cmidrule{{1-{width}}}")
    return [*lines, *map(_row, controls)]


def _row(row: Row) -> str:
    label = rf"\textit{{{escaped(row.label)}}}" if row.control else escaped(row.label)
    return " & ".join([label, *map(_cell, row.cells)]) + r" \\"


def _cell(cell: Cell) -> str:
    if cell.number == DASH:
        return "--"
    number = rf"\textbf{{{escaped(cell.number)}}}" if cell.bold else escaped(cell.number)
    signs = ("*" if cell.star else "") + ",".join(cell.signs)
    raised = rf"\textsuperscript{{{escaped(signs)}}}" if signs else ""
    interval = rf" {{\scriptsize {escaped(cell.interval)}}}" if cell.interval else ""
    return f"{number}{raised}{interval}"
