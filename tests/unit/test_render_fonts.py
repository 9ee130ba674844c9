"""Names in any script: figures draw what the machine has fonts for, and say what it has
none for."""

import logging
import warnings

import made_up_results as made_up
import pandas as pd
import pytest

from pretrace.render.figures import drawing
from pretrace.render.figures.drawing import Drawing, sheet
from pretrace.render.tables.table import Block, Cell, Row, Table, latex

LACKED = "가🙂人"  # DejaVu Sans has none of them
SCRIPT_A = (
    # STIX, which comes with matplotlib, has it; DejaVu Sans does not
    "\N{MATHEMATICAL SCRIPT CAPITAL A}"
)


def written(folder, *labels: str) -> dict[str, bytes]:
    with sheet(4, 3) as figure:
        axis = figure.subplots()
        axis.bar(list(labels), range(1, len(labels) + 1))
        axis.set_title(labels[0])
    return made_up.written(
        Drawing(figure, pd.DataFrame({"x": [1]}), "Reading."), folder
    )


@pytest.fixture(autouse=True)
def _fonts_of_matplotlib(monkeypatch):
    monkeypatch.setattr(
        drawing, "FONTS", ("Not Installed", "DejaVu Sans", "STIXGeneral")
    )
    drawing.fonts.cache_clear()
    yield
    drawing.fonts.cache_clear()


def test_what_no_font_has_is_said_under_the_figure_and_nowhere_else(
    tmp_path, caplog, capfd
):
    caplog.set_level(logging.WARNING)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        files = written(tmp_path, f"in {LACKED}", f"مرحبا é {SCRIPT_A}")
    said = (
        f"Reading. This machine has no font for {''.join(sorted(LACKED))}: the figure "
        "shows boxes"
    )
    assert files["txt"].decode().startswith(said)
    assert not caplog.records
    assert capfd.readouterr() == ("", "")
    assert written(tmp_path, f"in {LACKED}", f"مرحبا é {SCRIPT_A}") == files, (
        "equal data give equal bytes"
    )


def test_a_title_that_no_font_has_is_broken_without_a_warning():
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert drawing.wrap_title(f"{LACKED} " * 20, 2).count("\n") > 1


def test_a_second_font_draws_what_the_first_one_lacks_and_nothing_else(tmp_path):
    assert b"STIX" in written(tmp_path, f"in {SCRIPT_A}")["pdf"]
    latin = written(tmp_path, "Members ≥ 5 %")
    assert b"STIX" not in latin["pdf"]
    assert latin["txt"] == b"Reading.\n"


def test_dollars_in_a_name_are_dollars(tmp_path):
    assert written(tmp_path, r"$5 and $6, \frac{1} $\bad$")["txt"] == b"Reading.\n"


def table(caption: str) -> Table:
    block = Block("", "Method", (("AUC",),), (Row("loss", (Cell(0.5),)),))
    return Table(caption, "news", (block,), (), pd.DataFrame())


def test_a_latex_table_with_chinese_says_what_it_needs():
    written = latex(table("人民日报"))
    assert r"\usepackage{ctex}" in written
    assert r"\caption{人民日报}" in written
    assert "ctex" not in latex(table("News"))
