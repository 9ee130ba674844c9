"""A table: cells laid out in blocks, and written as CSV, Markdown, LaTeX and HTML."""

import html
import math
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import groupby
from pathlib import Path

import pandas as pd

from pretrace.evaluation.averages import Record, group_records, number
from pretrace.evaluation.metrics import FEW_TEXTS, marks_in
from pretrace.evaluation.selection import SAME_RANKS
from pretrace.evaluation.significance import chance
from pretrace.render.artifact import Artifact, Panel
from pretrace.render.estimates import STAR_LEVEL, for_the_best, is_another
from pretrace.render.frames import csv_text, records_of
from pretrace.render.names import (
    BLIND,
    FALSE_ALARM,
    MARK_NOTES,
    MARK_SIGNS,
    chance_level,
    mark_sign,
    marked_label,
    metric_label,
)
from pretrace.render.phrases import DASH, decimals, false_alarms, format_signed, is_wide
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
        return self._written(self.value, self.digits)

    def _written(self, value: float, digits: int) -> str:
        if self.signed:
            return format_signed(value, digits)
        return f"{value:.{digits}f}"

    @property
    def rest(self) -> str:
        """Return what follows the number: `* (a) [0.56, 0.69]`."""
        text = "*" if self.star else ""
        for sign in self.signs:
            text += f" ({sign})"
        if self.sd is not None:
            return f"{text} ± {self.sd:.{self.digits}f}"
        if self.value is None or self.low is None or self.high is None:
            return text
        return f"{text} [{self._written(self.low, 2)}, {self._written(self.high, 2)}]"


def cell_of(record: Record) -> Cell:
    """Return a row of metrics as a cell with its `bold`, `star`, `runner_up` and its
    marks' signs; a gap is signed."""
    value = number(record.get("value"))
    star = bool(record.get("star"))
    metric = record.get("metric")
    if metric == "p_value":
        return p_cell(value, star=star)
    low = number(record.get("low"))
    high = number(record.get("high"))
    sd = number(record.get("sd"))
    signs = sorted(map(mark_sign, marks_in(record.get("marks"))))
    return Cell(
        value,
        low,
        high,
        bold=bool(record.get("bold")),
        star=star,
        signs=tuple(signs),
        signed=metric == "gap",
        sd=sd,
        underlined=bool(record.get("runner_up")),
        digits=decimals(low, high, sd),
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
    header of the labels. `most`: rows in Markdown and LaTeX; the report has all."""

    title: str
    stub: str
    columns: tuple[tuple[str, ...], ...]
    rows: tuple["Row", ...]
    most: int | None = None

    @property
    def cut(self) -> "Block":
        """Return the block with the rows that Markdown and LaTeX have."""
        if self.most is None or len(self.rows) <= self.most:
            return self
        title = f"{self.title}, the first {self.most} of {len(self.rows)}"
        return replace(self, title=title, rows=self.rows[: self.most])


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
    given = []
    heads: dict[Head, None] = {}
    for label, cells, control in rows:
        by_head = dict(cells)
        given.append((label, by_head, control))
        heads |= dict.fromkeys(by_head)
    if not given:
        return []
    laid = []
    for label, by_head, control in given:
        ordered = [by_head.get(head, Cell()) for head in heads]
        laid.append(Row(label, tuple(ordered), control))
    columns = [(head,) if isinstance(head, str) else head for head in heads]
    return [Block(title, stub, tuple(columns), tuple(laid))]


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

    heads = {}
    for own in rows:
        for row in own:
            heads[place(row)] = _head(row, panels, metrics, block)
    places = sorted(heads)
    laid = []
    for own in rows:
        cells = {place(row): cell_of(row) for row in own}
        ordered = tuple(cells.get(column, Cell()) for column in places)
        laid.append(Row(label(own[0]), ordered, bool(own[0]["control"])))
    if not laid:
        return []
    columns = tuple(heads[column] for column in places)
    return [Block(title, "Method", columns, tuple(laid))]


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
    lines = ["average"] if over == "panel" else [*panel.lines]
    if len(metrics) > 1:
        lines.append(metric_label(record["metric"]))
    return tuple(lines)


def best(frame: pd.DataFrame, by: Sequence[str]) -> "pd.Series[bool]":
    """Mark the highest value, as printed, of each group; never a control, another
    method by its ranks, nor a group's only value; equals share it."""
    is_out = frame["control"].astype(bool) | is_another(frame)
    shown = as_printed(frame).where(~is_out)
    groups = shown.groupby([frame[key] for key in by], dropna=False)
    return shown.eq(groups.transform("max")) & groups.transform("count").gt(1)


def as_printed(frame: pd.DataFrame) -> "pd.Series[float]":
    """Return the values of estimates, rounded to the decimals that are printed."""
    ends = frame.reindex(columns=["low", "high", "sd"]).map(number)
    noises = ends.itertuples(index=False)
    shown = []
    for value, noise in zip(frame["value"], noises, strict=True):
        shown.append(round(value, decimals(*noise)))
    return pd.Series(shown, frame.index, dtype=float)


def beyond_chance(frame: pd.DataFrame, by: Sequence[str]) -> "pd.Series[bool]":
    """Tell which values lie above chance, by an interval that pays for the choice of
    the best of their group.

    Also means without an interval, and metrics without a level of chance.
    """
    levels = []
    of_rows = zip(frame["metric"], frame["n_nonmembers"], strict=True)
    for metric, nonmembers in of_rows:
        level = chance_level(metric)
        if level and pd.notna(nonmembers):
            level = chance(metric, int(nonmembers))
        levels.append(level)
    few = [FEW_TEXTS in marks_in(marks) for marks in frame["marks"].fillna("")]
    by_chance = pd.Series(levels, frame.index, dtype=float)
    is_beyond = ~for_the_best(frame, by)["best_low"].le(by_chance)
    return is_beyond & ~pd.Series(few, frame.index, dtype=bool)


def words_tell_apart(frame: pd.DataFrame) -> "pd.Series[bool]":
    """Tell which estimates are in a column where the bag of words, which sees no model,
    is above chance too."""
    column = ["panel", "average", "metric"]
    blind = frame[frame["method"] == BLIND]
    is_above = beyond_chance(blind, [*column, "method"]) & blind["low"].notna()
    told = pd.MultiIndex.from_frame(blind.loc[is_above, column])
    is_told = pd.MultiIndex.from_frame(frame[column]).isin(told)
    return pd.Series(is_told, frame.index)


def runner_up(frame: pd.DataFrame, by: Sequence[str]) -> "pd.Series[bool]":
    """Mark the highest value below those that `best` marks, in the same way."""
    left_out = frame["control"].astype(bool) | best(frame, by)
    return best(frame.assign(control=left_out), by)


def with_false_alarms(artifact: Artifact, frame: pd.DataFrame) -> pd.DataFrame:
    """Return estimates in which a bold or starred value of a null model is marked as a
    false alarm instead.

    `null_model` tells which rows are of a model that read neither class, `false_alarm`
    which of them are marked.
    """
    null = frame["model"].isin(artifact.null_models)
    alarm = null & (frame["star"] | frame["bold"])
    marked = []
    for marks in frame.loc[alarm, "marks"]:
        marked.append(";".join(sorted([*marks_in(marks), FALSE_ALARM])))
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
    columns = len(null[column].drop_duplicates())
    if not columns:
        return []
    found = len(alarms[column].drop_duplicates())
    return [false_alarms(found, columns, "columns", STAR_LEVEL)]


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
        if not notes:
            return self
        return replace(self, notes=(*self.notes, " ".join(notes)))

    def with_missing(self, reasons: Sequence[str]) -> "Table":
        """Return the table with the reasons why panels are missing, before its other
        notes."""
        return replace(self, notes=(*reasons, *self.notes))

    def write(self, files: Mapping[str, Path]) -> None:
        """Write csv, md, tex and html, each atomically."""
        write_text(files["csv"], csv_text(self.frame))
        write_text(files["md"], markdown(self))
        write_text(files["tex"], latex(self))
        write_text(files["html"], page(self))


def table_of(
    artifact: Artifact,
    blocks: Sequence[Block],
    notes: Iterable[str],
    frame: pd.DataFrame,
    reading: str = "",
) -> Table:
    """Return an artifact's table; a mark on every number of a column moves to its
    header, and notes explain marks."""
    written = [note for note in notes if note]
    marks = _marks_told(blocks)
    if marks:
        written.append(f"Marks: {'; '.join(marks)}.")
    return Table(
        artifact.title,
        artifact.slug,
        tuple(_signs_raised(block) for block in blocks),
        tuple(written),
        frame,
        reading,
    )


def _marks_told(blocks: Iterable[Block]) -> list[str]:
    """Return what the signs in blocks mean."""
    signs: set[str] = set()
    for block in blocks:
        for row in block.rows:
            for cell in row.cells:
                signs.update(cell.signs)
    meanings = {sign: MARK_NOTES[mark] for mark, sign in MARK_SIGNS.items()}
    told = []
    for sign in sorted(signs & meanings.keys()):
        told.append(f"({sign}) {meanings[sign]}")
    others = signs - meanings.keys()
    same = sorted(sign for sign in others if sign.startswith("="))
    if same:
        told.append(
            f"({'), ('.join(same)}) the setting that was chosen, in most folds, ranks "
            "the texts as that method does at one of its own settings (Spearman's "
            f"correlation of {SAME_RANKS:g} or more), so it is no other finding, and "
            "never bold"
        )
    if others - {*same}:
        told.append(
            "(1 of 7 shots) only so many fit into the model's context beside the "
            "longest text"
        )
    return told


def _signs_raised(block: Block) -> Block:
    """Return the block with the signs that every number of a column carries in its
    header."""
    columns = []
    shared = []  # by column
    for place, lines in enumerate(block.columns):
        column = [row.cells[place] for row in block.rows]
        signs = [set(cell.signs) for cell in column if cell.value is not None]
        of_all = set.intersection(*signs) if len(signs) > 1 else set()
        last = lines[-1]
        for sign in sorted(of_all):
            last += f" ({sign})"
        columns.append((*lines[:-1], last))
        shared.append(of_all)
    rows = []
    for row in block.rows:
        cells = []
        for place, cell in enumerate(row.cells):
            left = sorted(set(cell.signs) - shared[place])
            cells.append(replace(cell, signs=tuple(left)))
        rows.append(replace(row, cells=tuple(cells)))
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
        heads = []
        for lines in level_heads(block.columns):
            heads.append([self.escape(line) for line in lines])
        levels = pd.MultiIndex.from_arrays([*zip(*heads, strict=True)])
        columns = levels if levels.nlevels > 1 else levels.get_level_values(0)
        names = [None] * (columns.nlevels - 1) + [self.escape(block.stub) or None]
        columns = columns.set_names(names)
        labels = []
        cells = []
        for row in block.rows:
            labels.append(self.label(row))
            cells.append([self.cell(cell) for cell in row.cells])
        return pd.DataFrame(cells, labels, columns)


def level_heads(columns: Sequence[tuple[str, ...]]) -> list[tuple[str, ...]]:
    """Return as many header lines for every column; the line that changes least between
    columns comes first.

    A column with fewer lines gets empty ones before its last.
    """
    depth = max(len(lines) for lines in columns)
    if min(len(lines) for lines in columns) < depth:
        filled = []
        for lines in columns:
            missing = [""] * (depth - len(lines))
            filled.append((*lines[:-1], *missing, *lines[-1:]))
        return filled

    def changes(level: int) -> int:
        return len([*groupby(lines[level] for lines in columns)])

    order = sorted(range(depth), key=changes)
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
    escape = MARKDOWN.escape
    parts = [f"**{escape(table.title)}**"]
    for box in table.boxes:
        said = [f"> _{escape(box.question)}_ **{escape(box.answer)}**"]
        for heading, text in box.lines:
            said.append(f"> _{escape(heading)}_ {escape(text)}")
        parts.append("\n>\n".join(said))
    for block in [block.cut for block in table.blocks]:
        if block.title:
            parts.append(f"**{escape(block.title)}**")
        parts += _pipe_table(block)
    parts.append(escape(table.reading))
    parts.append("\n".join(f"- {escape(note)}" for note in table.notes))
    return "\n\n".join(part for part in parts if part) + "\n"


def _pipe_table(block: Block) -> list[str]:
    """Return what all columns share, if anything, and the table without it."""
    frame = MARKDOWN.frame(block)
    columns = []
    for lines in level_heads(block.columns):
        columns.append(tuple(map(MARKDOWN.escape, lines)))
    first, *others = columns
    shared = []
    for level, line in enumerate(first):
        if others and all(lines[level] == line for lines in others):
            shared.append(level)
    if len(shared) == len(first):
        shared = []
    headers = [MARKDOWN.escape(block.stub)]
    for lines in columns:
        own = []
        for level, line in enumerate(lines):
            if line and level not in shared:
                own.append(line)
        headers.append(LINE_BREAK.join(own))
    text = frame.to_markdown(
        headers=headers,
        tablefmt="pipe",
        disable_numparse=True,
        colalign=("left", *["right"] * len(columns)),
    )
    if not shared:
        return [text]
    of_all = LINE_BREAK.join(first[level] for level in shared)
    return [f"All columns: {of_all}", text]


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


_TO_THE_LINE = r"\resizebox{\ifdim\width>\linewidth\linewidth\else\width\fi}{!}{%"
_FOR_CHINESE = r"% \usepackage{ctex}  for the Chinese in it, with XeLaTeX or LuaLaTeX"


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
        said = rf"{question} \textbf{{{answer}}}"
        lines.append(rf"\fbox{{\parbox{{0.95\linewidth}}{{{said}}}}}")
        lines.append(r"\par\smallskip")
    for block in [block.cut for block in table.blocks]:
        columns = "l" + "c" * len(block.columns)
        tabular = LATEX.frame(block).style.to_latex(
            hrules=True, multicol_align="c", column_format=columns
        )
        if block.title:
            title = LATEX.escape(block.title)
            lines.append(rf"\textit{{{title}}}\par")
        lines.append(_TO_THE_LINE)
        lines.append(tabular.rstrip() + "}")
        lines.append(r"\par\smallskip")
    notes = " ".join(LATEX.escape(note) for note in table.notes)
    lines.append(rf"\parbox{{\linewidth}}{{\footnotesize {notes}}}")
    lines.append(r"\end{table*}")
    if any(map(is_wide, "".join(lines))):
        lines.insert(1, _FOR_CHINESE)
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


_EMPTY_HEAD = re.compile(r"<th[^>]*>(&nbsp;)?</th>")
BOXED = "<!-- boxes end here -->"


def page(table: Table) -> str:
    """Write the table's part of the report: wide blocks scroll; all but the first block
    of a long table are folded.

    After boxes, which `BOXED` ends, only long blocks are folded.
    """
    is_long = sum(len(block.rows) for block in table.blocks) > LONG
    parts = [_boxed(box) for box in table.boxes]
    if table.boxes:
        parts.append(BOXED)
    for place, block in enumerate(table.blocks):
        is_later = bool(place) and not table.boxes
        is_folded = is_long and (len(block.rows) > LONG or is_later)
        parts.append(_laid_out(block, table.title, is_folded))
    if table.notes:
        notes = "\n".join(f"<li>{html.escape(note)}</li>" for note in table.notes)
        parts.append(f'<ul class="notes">\n{notes}\n</ul>')
    if table.reading:
        reading = f"<strong>Reading</strong>{html.escape(table.reading)}"
        parts.append(f'<p class="reading">{reading}</p>')
    return "\n".join(parts) + "\n"


def _laid_out(block: Block, of_table: str, is_folded: bool) -> str:
    """Return a block as HTML under its title; folded, with the title to open it."""
    title = html.escape(block.title)
    shown = HTML.frame(block).style.to_html(exclude_styles=True)
    shown = _EMPTY_HEAD.sub("<td></td>", shown).replace("%FPR", "%<wbr>FPR")
    named = f"{of_table}, {block.title}" if block.title else of_table
    kind = "scroll facts" if block.columns == (("",),) else "scroll"
    grid = (
        f'<div class="{kind}" tabindex="0" role="group" '
        f'aria-label="{html.escape(named)}">\n{shown}</div>'
    )
    if is_folded:
        opened = f"{title or 'The table'} ({len(block.rows)} rows)"
        summary = f"<summary>{opened}</summary>"
        return f'<details class="fold">\n{summary}\n{grid}\n</details>'
    return f"<h3>{title}</h3>\n{grid}" if title else grid


def _boxed(box: Box) -> str:
    question, answer = html.escape(box.question), html.escape(box.answer)
    lines = ""
    for heading, text in box.lines:
        lines += f"<dt>{html.escape(heading)}</dt><dd>{html.escape(text)}</dd>"
    answered = f'<p>{question}</p><p class="verdict">{answer}</p><dl>{lines}</dl>'
    return f'<div class="box {box.kind}">{answered}</div>'


def _one_line(text: str) -> str:
    return " ".join(text.splitlines())
