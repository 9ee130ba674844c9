"""A table: cells laid out in blocks, and written as CSV, Markdown, LaTeX and HTML."""

import html
import math
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import compress, groupby
from pathlib import Path

import pandas as pd

from pretrace.evaluation.averages import Record, group_records, number
from pretrace.evaluation.metrics import FEW_TEXTS
from pretrace.evaluation.significance import chance
from pretrace.render.artifact import Artifact, Panel
from pretrace.render.names import (
    FALSE_ALARM,
    MARK_NOTES,
    MARK_SIGNS,
    chance_level,
    marked_label,
    metric_label,
)
from pretrace.render.phrases import DASH, decimals, false_alarms, format_signed, is_wide
from pretrace.render.results import STAR_LEVEL, csv_text, for_the_best, records_of
from pretrace.runtime.files import write_text

SMALLEST_WRITTEN = 1e-6  # a smaller p is written with an exponent
LONG = 20  # rows of a table that the report shows unfolded
LINE_BREAK = " · "  # between the header lines of a column in Markdown, which has one
Head = str | tuple[str, ...]
"""The header lines of a column."""


@dataclass(frozen=True)
class Cell:
    """A number with its interval, or words; neither is a dash.

    `signs`: letters of notes (marks). `star`: significantly better than the baseline.
    `sd`: a standard deviation, in place of an interval. `underlined`: second to a bold
    one. `digits`: decimals of the number and its SD.
    """

    value: float | None = None
    low: float | None = None
    high: float | None = None
    words: str | None = None
    bold: bool = False
    star: bool = False
    signs: tuple[str, ...] = ()
    signed: bool = False
    sd: float | None = None
    underlined: bool = False
    digits: int = 3

    @property
    def number(self) -> str:
        if self.words is not None:
            return self.words
        if self.value is None or math.isnan(self.value):
            return DASH
        return (
            format_signed(self.value, self.digits)
            if self.signed
            else f"{self.value:.{self.digits}f}"
        )

    @property
    def rest(self) -> str:
        """Return what follows the number: `* (a) [0.56, 0.69]`."""
        text = ("*" if self.star else "") + "".join(f" ({sign})" for sign in self.signs)
        if self.sd is not None:
            return f"{text} ± {self.sd:.{self.digits}f}"
        if self.value is None or self.low is None or self.high is None:
            return text
        low, high = (
            format_signed(end, 2) if self.signed else f"{end:.2f}"
            for end in (self.low, self.high)
        )
        return f"{text} [{low}, {high}]"


def cell_of(record: Record) -> Cell:
    """Return a row of metrics as a cell with its `bold`, `star`, `runner_up` and its
    marks' signs; a gap is signed."""
    value, low, high, sd = (
        number(record.get(key)) for key in ("value", "low", "high", "sd")
    )
    bold, star = (bool(record.get(key, False)) for key in ("bold", "star"))
    if record.get("metric") == "p_value":
        return p_cell(value, star=star)
    marks = filter(None, (record.get("marks") or "").split(";"))
    signs = tuple(sorted(MARK_SIGNS.get(mark, mark) for mark in marks))
    signed, underlined = (
        record.get("metric") == "gap",
        bool(record.get("runner_up", False)),
    )
    return Cell(
        value,
        low,
        high,
        None,
        bold,
        star,
        signs,
        signed,
        sd,
        underlined,
        decimals(low, high, sd),
    )


def p_cell(p: float | None, *, star: bool = False) -> Cell:
    """Return a p-value as a cell; a dash if there is none."""
    return Cell() if p is None or pd.isna(p) else Cell(words=p_text(p), star=star)


def p_text(p: float) -> str:
    """Return a p-value with two digits after the point, below 0.1 with two significant
    ones.

    It has no exponent, whose hyphen would break over two lines, unless it is below a
    millionth.
    """
    if p >= 0.1:
        return f"{p:.2f}"
    if p < SMALLEST_WRITTEN:
        return f"{p:.2g}"
    rounded = f"{p:.2g}"
    return f"{float(rounded):.10f}".rstrip("0")


@dataclass(frozen=True)
class Block:
    """Rows under a heading of their own; an empty title has no heading. `stub` is the
    header of the labels."""

    title: str
    stub: str
    columns: tuple[tuple[str, ...], ...]
    rows: tuple["Row", ...]


@dataclass(frozen=True)
class Row:
    """`detail` is a text that the report shows when a reader opens the label."""

    label: str
    cells: tuple[Cell, ...]
    control: bool = False
    detail: str = ""


@dataclass(frozen=True)
class Box:
    """An answer before the table: a question, the answer, its `kind` (a style of the
    report), lines with headings."""

    question: str
    answer: str
    kind: str
    lines: tuple[tuple[str, str], ...]


def rows_of(
    title: str,
    rows: Iterable[tuple[str, Iterable[tuple[Head, Cell]], bool]],
    stub: str = "Method",
) -> list[Block]:
    """Return a block of rows, each a label, cells by header, and whether it is a
    control's; no block without rows.

    Rows and columns keep their order; a row has a dash where it has no cell.
    """
    given = [(label, dict(cells), control) for label, cells, control in rows]
    heads = list(dict.fromkeys(head for _, cells, _ in given for head in cells))
    columns = tuple((head,) if isinstance(head, str) else head for head in heads)
    laid = tuple(
        Row(label, tuple(cells.get(head, Cell()) for head in heads), control)
        for label, cells, control in given
    )
    return [Block(title, stub, columns, laid)] if laid else []


def by_method(
    frame: pd.DataFrame,
    panels: Sequence[Panel],
    metrics: Sequence[str],
    *,
    title: str = "",
    block: str = "",
    label: Callable[[Record], str] = lambda row: marked_label(row["method"]),
    by: Sequence[str] = ("method",),
) -> list[Block]:
    """Return a block with methods down, or what differs in `by`, in the order of the
    frame; panels and metrics across.

    An average comes after the last panel of its mean. No block without rows.
    """
    rows = group_records(records_of(frame), *by)

    def place(row: Record) -> tuple[int, bool, int]:
        return row["panel"], bool(row["average"]), metrics.index(row["metric"])

    heads = {
        place(row): _head(row, panels, metrics, block) for own in rows for row in own
    }
    laid = []
    for own in rows:
        cells = {place(row): cell_of(row) for row in own}
        ordered = tuple(cells.get(column, Cell()) for column in sorted(heads))
        laid.append(Row(label(own[0]), ordered, bool(own[0]["control"])))
    columns = tuple(heads[column] for column in sorted(heads))
    return [Block(title, "Method", columns, tuple(laid))] if laid else []


def _head(
    record: Record, panels: Sequence[Panel], metrics: Sequence[str], block: str
) -> tuple[str, ...]:
    """Return the header of an estimate: its panel or average, without what `block`
    says; its metric, of several."""
    panel = panels[record["panel"]]
    over = record["average"]
    if over and over != "panel":
        panel = panel.replaced(label=None, **{over: "average"})
    if block:
        panel = panel.replaced(**{block: None})
    lines = ("average",) if over == "panel" else panel.lines
    return lines + (metric_label(record["metric"]),) * (len(metrics) > 1)


def best(frame: pd.DataFrame, by: Sequence[str]) -> "pd.Series[bool]":
    """Mark the highest value, as printed, of each group; never a control, nor a group's
    only value; equals share it."""
    shown = as_printed(frame).where(~frame["control"].astype(bool))
    groups = shown.groupby([frame[key] for key in by], dropna=False)
    return shown.eq(groups.transform("max")) & groups.transform("count").gt(1)


def as_printed(frame: pd.DataFrame) -> "pd.Series[float]":
    """Return the values of estimates, rounded to the decimals that are printed."""
    noise = (
        frame.reindex(columns=["low", "high", "sd"]).map(number).itertuples(index=False)
    )
    shown = [
        round(value, decimals(*ends))
        for value, ends in zip(frame["value"], noise, strict=True)
    ]
    return pd.Series(shown, frame.index, dtype=float)


def beyond_chance(frame: pd.DataFrame, by: Sequence[str]) -> "pd.Series[bool]":
    """Tell which values lie above chance, by an interval that pays for the choice of
    the best of their group.

    Also means without an interval, and metrics without a level of chance.
    """
    levels = [
        chance(metric, int(nonmembers))
        if chance_level(metric) and pd.notna(nonmembers)
        else chance_level(metric)
        for metric, nonmembers in zip(
            frame["metric"], frame["n_nonmembers"], strict=True
        )
    ]
    few = frame["marks"].fillna("").str.contains(FEW_TEXTS)
    return (
        ~for_the_best(frame, by)["low"].le(pd.Series(levels, frame.index, dtype=float))
        & ~few
    )


def runner_up(frame: pd.DataFrame, by: Sequence[str]) -> "pd.Series[bool]":
    """Mark the highest value below those that `best` marks, in the same way."""
    return best(
        frame.assign(control=frame["control"].astype(bool) | best(frame, by)), by
    )


def with_false_alarms(artifact: Artifact, frame: pd.DataFrame) -> pd.DataFrame:
    """Return estimates in which a bold or starred value of a null model is marked as a
    false alarm instead.

    `null_model` tells which rows are of a model that read neither class, `false_alarm`
    which of them are marked.
    """
    null = frame["model"].isin(artifact.null_models)
    alarm = null & (frame["star"] | frame["bold"])
    marked = [
        ";".join(sorted([*filter(None, marks.split(";")), FALSE_ALARM]))
        for marks in frame.loc[alarm, "marks"]
    ]
    frame = frame.assign(star=frame["star"] & ~null, bold=frame["bold"] & ~null)
    frame = frame.assign(null_model=null, false_alarm=alarm)
    frame.loc[alarm, "marks"] = marked
    return frame


def false_alarms_of(frame: pd.DataFrame) -> list[str]:
    """Return the note that counts the columns of null models with a false alarm; none
    without such a column."""
    column = ["panel", "metric"]
    null = frame[frame["null_model"] & (frame["average"] == "")]
    alarms = null[null["false_alarm"]]
    columns, found = (len(own[column].drop_duplicates()) for own in (null, alarms))
    return [false_alarms(found, columns, "columns", STAR_LEVEL)] if columns else []


@dataclass(frozen=True)
class Table:
    """`frame` is what the CSV holds, every number once; `reading` what follows from it;
    `boxes` come first."""

    title: str
    slug: str
    blocks: tuple[Block, ...]
    notes: tuple[str, ...]
    frame: pd.DataFrame
    reading: str = ""
    boxes: tuple[Box, ...] = ()

    def with_notes(self, notes: Sequence[str]) -> "Table":
        """Return the table with these sentences as one more note."""
        return replace(self, notes=(*self.notes, *[" ".join(notes)] * bool(notes)))

    def with_missing(self, reasons: Sequence[str]) -> "Table":
        """Return the table with the reasons why panels are missing, before its other
        notes."""
        return replace(self, notes=(*reasons, *self.notes))

    def write(self, files: Mapping[str, Path]) -> None:
        """Write csv, md, tex and html, each atomically."""
        write_text(files["csv"], csv_text(self.frame))
        for suffix, written in (("md", markdown), ("tex", latex), ("html", page)):
            write_text(files[suffix], written(self))


def table_of(
    artifact: Artifact,
    blocks: Sequence[Block],
    notes: Iterable[str],
    frame: pd.DataFrame,
    reading: str = "",
) -> Table:
    """Return an artifact's table; a mark on every number of a column moves to its
    header, and notes explain marks."""
    signs = {
        sign
        for block in blocks
        for row in block.rows
        for cell in row.cells
        for sign in cell.signs
    }
    meanings = {sign: MARK_NOTES[mark] for mark, sign in MARK_SIGNS.items()}
    told = [f"({sign}) {meanings[sign]}" for sign in sorted(signs & meanings.keys())]
    if signs - meanings.keys():
        told.append(
            "(1 of 7 shots) only so many fit into the model's context beside the "
            "longest text"
        )
    marks = [f"Marks: {'; '.join(told)}."] * bool(told)
    raised = tuple(map(_signs_raised, blocks))
    return Table(
        artifact.title,
        artifact.slug,
        raised,
        (*filter(None, notes), *marks),
        frame,
        reading,
    )


def _signs_raised(block: Block) -> Block:
    """Return the block with the signs that every number of a column carries in its
    header."""
    columns, cells = [], []
    by_column = zip(*(row.cells for row in block.rows), strict=True)
    for lines, column in zip(block.columns, by_column, strict=True):
        signs = [set(cell.signs) for cell in column if cell.value is not None]
        shared = set.intersection(*signs) if len(signs) > 1 else set()
        columns.append(
            (
                *lines[:-1],
                " ".join([lines[-1], *(f"({sign})" for sign in sorted(shared))]),
            )
        )
        cells.append(
            [
                replace(cell, signs=tuple(sorted({*cell.signs} - shared)))
                for cell in column
            ]
        )
    rows = [
        replace(row, cells=own)
        for row, own in zip(block.rows, zip(*cells, strict=True), strict=True)
    ]
    return replace(block, rows=tuple(rows), columns=tuple(columns))


@dataclass(frozen=True)
class Markup:
    """How a format escapes text, and writes bold and underlined numbers, controls'
    labels, intervals, and labels with a detail."""

    escape: Callable[[str], str]
    bold: str
    underlined: str
    control: str
    rest: str
    detail: str = "{0}"

    def cell(self, cell: Cell) -> str:
        number, rest = self.escape(cell.number), self.escape(cell.rest)
        if cell.bold or cell.underlined:
            number = (self.bold if cell.bold else self.underlined).format(number)
        return number + (self.rest.format(rest) if rest else "")

    def label(self, row: Row) -> str:
        label = self.escape(row.label)
        if row.detail:
            label = self.detail.format(label, self.escape(row.detail))
        return self.control.format(label) if row.control else label

    def frame(self, block: Block) -> pd.DataFrame:
        """Return the block as text: labels as index, header lines as levels of columns,
        named by its stub."""
        columns = [
            tuple(map(self.escape, lines)) for lines in level_heads(block.columns)
        ]
        deep = len(columns[0]) > 1
        index = (
            pd.MultiIndex.from_tuples(columns)
            if deep
            else pd.Index([line for (line,) in columns])
        )
        index = index.set_names(
            [None] * (index.nlevels - 1) + [self.escape(block.stub) or None]
        )
        cells = [list(map(self.cell, row.cells)) for row in block.rows]
        return pd.DataFrame(cells, [self.label(row) for row in block.rows], index)


def level_heads(columns: Sequence[tuple[str, ...]]) -> list[tuple[str, ...]]:
    """Return as many header lines for every column; the line that changes least between
    columns comes first.

    A column with fewer lines gets empty ones before its last.
    """
    depth = max(map(len, columns))
    if {*map(len, columns)} != {depth}:
        return [
            (*lines[:-1], *[""] * (depth - len(lines)), *lines[-1:])
            for lines in columns
        ]
    order = sorted(
        range(depth),
        key=lambda level: sum(1 for _ in groupby(line[level] for line in columns)),
    )
    return [tuple(lines[level] for level in order) for lines in columns]


_SPECIAL = re.compile(r"([\\`*_\[\]<>|&#~$])")
MARKDOWN = Markup(
    lambda text: _SPECIAL.sub(r"\\\1", _one_line(text)),
    "**{}**",
    "<ins>{}</ins>",  # GitHub shows no <u>
    "_{}_",
    "{}",
)


def markdown(table: Table) -> str:
    """Write pipe tables under bold headings, then reading and notes; headers that all
    columns share come before."""
    parts = [f"**{MARKDOWN.escape(table.title)}**"]
    for box in table.boxes:
        said = [(box.question, f"**{MARKDOWN.escape(box.answer)}**")]
        said += [(heading, MARKDOWN.escape(text)) for heading, text in box.lines]
        parts.append(
            "\n>\n".join(
                f"> _{MARKDOWN.escape(heading)}_ {text}" for heading, text in said
            )
        )
    for block in table.blocks:
        parts += [f"**{MARKDOWN.escape(block.title)}**"] * bool(block.title)
        parts += _pipe_table(block)
    parts.append(MARKDOWN.escape(table.reading))
    parts.append("\n".join(f"- {MARKDOWN.escape(note)}" for note in table.notes))
    return "\n\n".join(part for part in parts if part) + "\n"


def _pipe_table(block: Block) -> list[str]:
    """Return what all columns share, if anything, and the table without it."""
    frame = MARKDOWN.frame(block)
    columns = [
        lines if isinstance(lines, tuple) else (lines,) for lines in frame.columns
    ]
    levels = [set(level) for level in zip(*columns, strict=True)]
    is_shared = [len(columns) > 1 and len(level) == 1 for level in levels]
    if all(is_shared):
        is_shared = [False] * len(levels)
    shared = list(compress(columns[0], is_shared))
    headers = [
        LINE_BREAK.join(
            line
            for line, known in zip(lines, is_shared, strict=True)
            if line and not known
        )
        for lines in columns
    ]
    alignment = ("left", *["right"] * len(headers))
    headers = [MARKDOWN.escape(block.stub), *headers]
    text = frame.to_markdown(
        headers=headers, tablefmt="pipe", disable_numparse=True, colalign=alignment
    )
    return [*[f"All columns: {LINE_BREAK.join(shared)}"] * bool(shared), text]


_LATEX = str.maketrans({
    "\\": r"\textbackslash{}", "{": r"\{", "}": r"\}", "$": r"\$", "&": r"\&",
    "#": r"\#", "%": r"\%", "_": r"\_",
    "~": r"\textasciitilde{}", "^": r"\textasciicircum{}", "<": r"\textless{}",
    ">": r"\textgreater{}",
    "|": r"\textbar{}", "[": "{[}", "\N{EN DASH}": "--",
    "\N{MINUS SIGN}": r"\ensuremath{-}",
    "≤": r"\ensuremath{\leq}", "≥": r"\ensuremath{\geq}",
    "\N{MULTIPLICATION SIGN}": r"\ensuremath{\times}",
    "·": r"\ensuremath{\cdot}", "±": r"\ensuremath{\pm}",
    "\N{GREEK SMALL LETTER GAMMA}": r"\ensuremath{\gamma}",
})  # fmt: skip
LATEX = Markup(
    lambda text: _one_line(text).translate(_LATEX),
    r"\textbf{{{}}}",
    r"\underline{{{}}}",
    r"\textit{{{}}}",
    r"{{\scriptsize {}}}",
)


def latex(table: Table) -> str:
    """Write a `table*` float, scaled down to the line if it is wider; its first line
    names the packages it needs."""
    lines = [
        r"% \usepackage{booktabs,graphicx}",
        r"\begin{table*}[t]",
        r"\centering",
        rf"\caption{{{LATEX.escape(table.title)}}}",
        rf"\label{{tab:{table.slug}}}",
    ]
    for box in table.boxes:
        question, answer = LATEX.escape(box.question), LATEX.escape(box.answer)
        lines += [
            rf"\fbox{{\parbox{{0.95\linewidth}}{{{question} \textbf{{{answer}}}}}}}",
            r"\par\smallskip",
        ]
    for block in table.blocks:
        columns = "l" + "c" * len(block.columns)
        tabular = LATEX.frame(block).style.to_latex(
            hrules=True, multicol_align="c", column_format=columns
        )
        lines += [rf"\textit{{{LATEX.escape(block.title)}}}\par"] * bool(block.title)
        lines += [r"\resizebox{\ifdim\width>\linewidth\linewidth\else\width\fi}{!}{%"]
        lines += [tabular.rstrip() + "}", r"\par\smallskip"]
    notes = " ".join(map(LATEX.escape, table.notes))
    lines += [rf"\parbox{{\linewidth}}{{\footnotesize {notes}}}", r"\end{table*}"]
    if any(map(is_wide, "".join(lines))):
        lines.insert(
            1, r"% \usepackage{ctex}  for the Chinese in it, with XeLaTeX or LuaLaTeX"
        )
    return "\n".join(lines) + "\n"


HTML = Markup(
    html.escape,
    "<b>{}</b>",
    "<u>{}</u>",
    "<i>{}</i>",
    '<span class="rest">{}</span>',
    '<details class="passage"><summary><bdi>{}</bdi></summary><p '
    'dir="auto">{}</p></details>',
)


BOXED = "<!-- boxes end here -->"


def page(table: Table) -> str:
    """Write the table's part of the report: wide blocks scroll; all but the first block
    of a long table are folded.

    After boxes, which `BOXED` ends, only long blocks are folded.
    """
    is_long = sum(len(block.rows) for block in table.blocks) > LONG
    parts = [*(_boxed(box) for box in table.boxes), *[BOXED] * bool(table.boxes)]
    for place, block in enumerate(table.blocks):
        title = html.escape(block.title)
        shown = HTML.frame(block).style.to_html(exclude_styles=True)
        named = html.escape(
            f"{table.title}, {block.title}" if block.title else table.title
        )
        kind = "scroll facts" if block.columns == (("",),) else "scroll"
        grid = (
            f'<div class="{kind}" tabindex="0" role="region" '
            f'aria-label="{named}">\n{shown}</div>'
        )
        if is_long and (len(block.rows) > LONG or (place and not table.boxes)):
            summary = (
                f"<summary>{title or 'The table'} ({len(block.rows)} rows)</summary>"
            )
            grid = f'<details class="fold">\n{summary}\n{grid}\n</details>'
        elif title:
            grid = f"<h3>{title}</h3>\n{grid}"
        parts.append(grid)
    if table.notes:
        notes = "\n".join(f"<li>{html.escape(note)}</li>" for note in table.notes)
        parts.append(f'<ul class="notes">\n{notes}\n</ul>')
    if table.reading:
        parts.append(
            f"<p "
            f'class="reading"><strong>Reading</strong>{html.escape(table.reading)}</p>'
        )
    return "\n".join(parts) + "\n"


def _boxed(box: Box) -> str:
    question, answer = html.escape(box.question), html.escape(box.answer)
    lines = [
        f"<dt>{html.escape(heading)}</dt><dd>{html.escape(text)}</dd>"
        for heading, text in box.lines
    ]
    answered = (
        f'<p>{question}</p><p class="verdict">{answer}</p><dl>{"".join(lines)}</dl>'
    )
    return f'<div class="box {box.kind}">{answered}</div>'


def _one_line(text: str) -> str:
    return " ".join(text.splitlines())
