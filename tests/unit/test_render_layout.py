"""How tables are laid out and written: what is bold, headers, what is said once, Markdown, LaTeX, names in print."""

import pandas as pd

from pretrace.render.names import method_label, view_label
from pretrace.render.phrases import signed
from pretrace.render.tables.latex import latex
from pretrace.render.tables.markdown import markdown, parse
from pretrace.render.tables.table import (
    Block,
    Cell,
    Row,
    Table,
    bold_best,
    header_rows,
    said_once,
    shared_lines,
)


def a_table(*rows: Row, columns=(("model", "bench"),), notes=("a note",)) -> Table:
    return Table("a title", "label", "Method", columns, (Block("", rows),), notes, pd.DataFrame(), "")


def test_bold_is_the_highest_printed_value_of_a_column_and_never_a_control():
    rows = bold_best([
        Row("a", (Cell(0.6204), Cell())),
        Row("b", (Cell(0.6196), Cell(0.4))),
        Row("c", (Cell(0.5), Cell(0.3))),
        Row("blind", (Cell(0.9), Cell(0.9)), control=True),
    ])  # fmt: skip
    assert [[cell.bold for cell in row.cells] for row in rows] == [
        [True, False], [True, True], [False, False], [False, False],
    ]  # fmt: skip


def test_nothing_is_bold_where_one_row_alone_competes():
    rows = bold_best([
        Row("a", (Cell(0.6), Cell(0.7))),
        Row("b", (Cell(), Cell(0.4))),
        Row("blind", (Cell(0.9), Cell()), control=True),
    ])  # fmt: skip
    assert [[cell.bold for cell in row.cells] for row in rows] == [
        [False, True],
        [False, False],
        [False, False],
    ]


def test_markdown_reads_back_what_was_written():
    hostile = r"a_b & c|d * <e> [f] \g 5 %"
    table = a_table(
        Row(hostile, (Cell(0.626, 0.561, 0.689, bold=True, star=True), Cell(words=hostile))),
        Row("Blind", (Cell(-0.03, -0.1, 0.02, signed=True, signs=("a", "b")), Cell()), control=True),
        columns=(("model", "bench & co", "64 words"), (hostile,)),
        notes=(hostile, "* a star"),
    )
    shown = parse(markdown(table))
    (block,) = shown.blocks
    assert (block.stub, block.columns) == ("Method", (("model", "bench & co", "64 words"), (hostile,)))
    (first_control, first), (second_control, second) = block.rows
    assert (first_control, second_control) == (False, True)
    assert (first[0].main, first[2].main) == (hostile, hostile)
    assert (first[1].main, first[1].rest, first[1].bold) == ("0.626", "* [0.56, 0.69]", True)
    assert second[1].rest.startswith(" (a) (b) [")
    assert shown.notes == (hostile, "* a star")


def test_latex_escapes_what_would_break_it():
    text = latex(a_table(Row("a_b & 5% {x} <y> ~^\\ $#", (Cell(0.626, 0.561, 0.689, bold=True, star=True),))))
    line = next(line for line in text.splitlines() if line.startswith("a"))
    assert line == (
        r"a\_b \& 5\% \{x\} \textless{}y\textgreater{} \textasciitilde{}\textasciicircum{}"
        r"\textbackslash{} \$\# & "
        r"\textbf{0.626}\textsuperscript{*} {\scriptsize {[}0.56, 0.69]} \\"
    )
    for begin, end in ((r"\begin{tabular}", r"\end{tabular}"), (r"\toprule", r"\bottomrule")):
        assert text.count(begin) == text.count(end) == 1
    assert text.count("{") == text.count("}") + text.count(r"\{") - text.count(r"\}")


def test_signed_numbers_have_a_true_minus_and_zero_no_sign():
    assert [signed(value, 2) for value in (0.031, -0.026, -0.001)] == ["+0.03", "−0.03", "0.00"]  # noqa: RUF001


def test_what_every_number_carries_is_said_once():
    def row(*signs: tuple[str, ...]) -> Row:
        return Row("a", tuple(Cell(0.5, signs=of) for of in signs))

    columns = (("x",), ("y",))
    block = Block(
        "", (row(("a",), ("a", "d")), row(("a", "e"), ("a", "d")), Row("b", (Cell(), Cell()))), columns
    )
    (shown,), notes = said_once([block])
    assert [[cell.signs for cell in row.cells] for row in shown.rows[:2]] == [[(), ()], [("e",), ()]]
    assert shown.columns == (("x",), ("y (d)",))
    assert [note.split(":")[0] for note in notes] == ["Of every number", "d", "e"]


def test_headers_say_once_what_changes_least_and_the_last_line_stays_apart():
    columns = (("m", "b", "32 words"), ("n", "b", "32 words"), ("m", "b", "64 words"), ("n", "b", "64 words"))
    assert header_rows(columns) == [
        [("b", 4)], [("32 words", 2), ("64 words", 2)], [("m", 1), ("n", 1), ("m", 1), ("n", 1)],
    ]  # fmt: skip
    twice = (("m", "c"), ("m", "c"), ("n", "c"))
    assert header_rows(twice) == [[("c", 3)], [("m", 1), ("m", 1), ("n", 1)]]


def test_what_all_columns_share_stands_once_in_markdown_and_is_read_back():
    columns = (("m", "b", "32 words"), ("n", "b", "32 words"))
    assert shared_lines(columns) == (("b", "32 words"), (("m",), ("n",)))
    for alone in (columns[:1], (("m",), ("m",)), (("m", "b"), ("m",))):
        assert shared_lines(alone) == ((), alone)
    row = Row("loss", (Cell(0.5), Cell(0.6)))
    table = Table("caption", "label", "Method", columns, (Block("one", (row,)),), (), pd.DataFrame(), "")
    text = markdown(table)
    assert "All columns: b · 32 words\n\n| Method | m | n |" in text
    (block,) = parse(text).blocks
    assert block.header == [[("b", 2)], [("32 words", 2)], [("m", 1), ("n", 1)]]


def test_a_column_of_fewer_lines_has_its_last_line_beside_the_others():
    columns = (("m", "AUC"), ("m", "b", "32 words", "AUC"))
    assert header_rows(columns) == [
        [("m", 2)], [("", 1), ("b", 1)], [("", 1), ("32 words", 1)], [("AUC", 1), ("AUC", 1)],
    ]  # fmt: skip


def test_names_of_views_and_variants():
    assert view_label("delete-10") == "deletion 10 %"
    assert view_label("synonym_by_smollm2-135m-20") == "synonyms by smollm2-135m 20 %"
    assert view_label("neighbours_by_smollm2-135m-10") == "10 neighbours by smollm2-135m"
    assert view_label("sotu_historic-tenth") == "sotu_historic-tenth"
    assert view_label("original") == "original"
    assert method_label("con_recall;access=zero") == "Con-ReCall, zero access"
    assert method_label("recall;separator=space") == "ReCall, separator space"
