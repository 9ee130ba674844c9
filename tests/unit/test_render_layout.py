"""How tables are laid out and written: what is bold, headers, what is said once, each format, names in print."""

import re

import pandas as pd

from pretrace.render.names import method_label, view_label
from pretrace.render.phrases import signed
from pretrace.render.registry import Artifact
from pretrace.render.tables.table import (
    Block,
    Cell,
    Row,
    Table,
    best,
    latex,
    levelled,
    markdown,
    page,
    rows_of,
    table_of,
)

HOSTILE = r"a_b & c|d * <e> [f] \g 5 %"


def a_table(*rows: Row, columns=(("model", "bench"),), notes=("a note",)) -> Table:
    return Table("a title", "label", (Block("", "Method", columns, rows),), notes, pd.DataFrame())


def test_bold_is_the_highest_printed_value_of_a_column_and_never_a_control():
    methods = {"a": (0.6204, None), "b": (0.6196, 0.4), "c": (0.5, 0.3), "blind": (0.9, 0.9)}
    frame = pd.DataFrame(
        [
            (name, panel, values[panel], name == "blind")
            for name, values in methods.items()
            for panel in (0, 1)
        ],
        columns=["method", "panel", "value", "control"],
    )
    bold = frame[best(frame.dropna(), ["panel"]).reindex(frame.index, fill_value=False)]
    assert list(zip(bold["method"], bold["panel"], strict=True)) == [("a", 0), ("b", 0), ("b", 1)]
    alone = frame[frame["method"].isin(["a", "blind"])].dropna()
    assert not best(alone, ["panel"]).any(), "nothing is bold where one row alone competes"


def test_rows_and_columns_keep_their_order_and_a_dash_is_where_nothing_is():
    rows = [("late", [("x", Cell(0.1))], False), ("early", [("x", Cell(0.2)), ("y", Cell(0.3))], True)]
    (block,) = rows_of("block", rows, "Stub")
    assert (block.stub, block.columns) == ("Stub", (("x",), ("y",)))
    assert [(row.label, row.control) for row in block.rows] == [("late", False), ("early", True)]
    assert [cell.value for cell in block.rows[0].cells] == [0.1, None]
    assert rows_of("block", []) == []


def test_every_format_shows_the_same_and_escapes_what_would_be_markup():
    table = a_table(
        Row(HOSTILE, (Cell(0.626, 0.561, 0.689, bold=True, star=True), Cell(words=HOSTILE))),
        Row("Blind", (Cell(-0.03, -0.1, 0.02, signed=True, signs=("a", "b")), Cell()), control=True),
        columns=(("model", "64 words"), (HOSTILE,)),
        notes=(HOSTILE, "* a star"),
    )
    rows = [line for line in markdown(table).splitlines() if line.startswith("|")]
    assert {len(re.findall(r"(?<!\\)\|", row)) for row in rows} == {4}
    assert r"**0.626**\* \[0.56, 0.69\]" in rows[2]
    assert "_Blind_" in rows[3]
    assert "−0.030 (a) (b)" in rows[3]  # noqa: RUF001
    assert "- \\* a star" in markdown(table)
    written = page(table)
    assert '<b>0.626</b><span class="rest">* [0.56, 0.69]</span>' in written
    assert "<th ><i>Blind</i></th>" in written
    assert "<e>" not in written
    assert r"\textit{Blind} & \ensuremath{-}0.030{\scriptsize  (a) (b)" in latex(table)


def test_latex_escapes_what_would_break_it():
    text = latex(a_table(Row("a_b & 5% {x} <y> ~^\\ $#", (Cell(0.626, 0.561, 0.689, bold=True, star=True),))))
    line = next(line for line in text.splitlines() if line.startswith("a"))
    assert line == (
        r"a\_b \& 5\% \{x\} \textless{}y\textgreater{} \textasciitilde{}\textasciicircum{}"
        r"\textbackslash{} \$\# & \textbf{0.626}{\scriptsize * {[}0.56, 0.69]} \\"
    )
    for begin, end in ((r"\begin{tabular}", r"\end{tabular}"), (r"\toprule", r"\bottomrule")):
        assert text.count(begin) == text.count(end) == 1
    assert text.count("{") == text.count("}") + text.count(r"\{") - text.count(r"\}")


def test_signed_numbers_have_a_true_minus_and_zero_no_sign():
    assert [signed(value, 2) for value in (0.031, -0.026, -0.001)] == ["+0.03", "−0.03", "0.00"]  # noqa: RUF001


def test_a_mark_on_every_number_of_a_column_is_in_its_header():
    def row(*signs: tuple[str, ...]) -> Row:
        return Row("a", tuple(Cell(0.5, signs=letters) for letters in signs))

    rows = (row(("a",), ("a", "d")), row(("e",), ("a", "d")), Row("b", (Cell(), Cell())))
    artifact = Artifact(artifact="marked", title="Marked", renderer="method_table")
    table = table_of(artifact, [Block("", "", (("x",), ("y",)), rows)], ["first"], pd.DataFrame())
    (shown,) = table.blocks
    assert [[cell.signs for cell in row.cells] for row in shown.rows[:2]] == [[("a",), ()], [("e",), ()]]
    assert shown.columns == (("x",), ("y (a) (d)",))
    assert [note.split(":")[0] for note in table.notes] == ["first", "a", "d", "e"]


def test_headers_say_once_what_changes_least_and_the_last_line_stays_apart():
    columns = [("m", "b", "32 words"), ("n", "b", "32 words"), ("m", "b", "64 words"), ("n", "b", "64 words")]
    assert levelled(columns)[:2] == [("b", "32 words", "m"), ("b", "32 words", "n")]
    assert levelled([("m", "AUC"), ("m", "b", "AUC")]) == [("m", "", "AUC"), ("m", "b", "AUC")]
    row = Row("loss", tuple(Cell(0.5) for _ in columns))
    written = page(a_table(row, columns=tuple(columns)))
    assert re.findall(r'<th colspan="(\d)">(.*)</th>', written) == [
        ("4", "b"), ("2", "32 words"), ("2", "64 words"),
    ]  # fmt: skip


def test_what_all_columns_share_stands_once_in_markdown():
    row = Row("loss", (Cell(0.5), Cell(0.6)))
    text = markdown(a_table(row, columns=(("m", "b", "32 words"), ("n", "b", "32 words"))))
    assert "All columns: b · 32 words\n\n| Method   |" in text
    assert re.search(r"\| +m \| +n \|", text)
    equal = markdown(a_table(row, columns=(("m",), ("m",))))
    assert "All columns" not in equal


def test_a_long_table_is_folded_but_for_its_first_block():
    def blocks(rows: int) -> tuple[Block, ...]:
        shown = tuple(Row(f"{number}", (Cell(0.5),)) for number in range(rows))
        return tuple(Block(f"block {number}", "Method", (("x",),), shown) for number in range(3))

    assert page(Table("t", "t", blocks(8), (), pd.DataFrame())).count('class="fold"') == 2
    assert 'class="fold"' not in page(Table("t", "t", blocks(6), (), pd.DataFrame()))


def test_names_of_views_and_variants():
    assert view_label("delete-10") == "deletion 10 %"
    assert view_label("synonym_by_smollm2-135m-20") == "synonyms by smollm2-135m 20 %"
    assert view_label("neighbours_by_smollm2-135m-10") == "10 neighbours by smollm2-135m"
    assert view_label("sotu_historic-tenth") == "sotu_historic-tenth"
    assert view_label("original") == "original"
    assert method_label("con_recall;access=zero") == "Con-ReCall, zero access"
    assert method_label("recall;separator=space") == "ReCall, separator space"
