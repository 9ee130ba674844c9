"""Chinese labels read as Chinese in every figure and table, and Latin ones look as they did."""

import logging
import warnings
from pathlib import Path

import pandas as pd
import pytest
from fontTools.ttLib import TTFont
from matplotlib import font_manager
from matplotlib.figure import Figure

from pretrace.render.figures.drawing import Drawing, chinese_family, sheet
from pretrace.render.tables.table import Block, Cell, Row, Table, latex

LABEL = "人民日报、１９９８年一月。「成员与非成员」 AUC"
ENDINGS = ("pdf", "png", "svg")


def titled(*labels: str) -> Figure:
    with sheet(4, 3) as figure:
        axis = figure.subplots()
        axis.bar(list(labels), range(1, len(labels) + 1))
        axis.set_title(labels[0])
    return figure


def written(figure: Figure, folder: Path) -> dict[str, bytes]:
    folder.mkdir()
    files = {ending: folder / f"figure.{ending}" for ending in (*ENDINGS, "csv", "txt")}
    Drawing(figure, pd.DataFrame({"x": [1]}), "Reading.").write(files)
    return {ending: files[ending].read_bytes() for ending in ENDINGS}


def test_every_character_of_a_chinese_label_is_drawn_in_every_format(tmp_path, caplog):
    caplog.set_level(logging.WARNING)
    with warnings.catch_warnings():
        warnings.simplefilter("error")  # a character without a glyph, a font without the weight
        files = written(titled(LABEL, "长度"), tmp_path / "first")
    assert not caplog.records
    assert b"NotoSansSC" in files["pdf"]
    assert written(titled(LABEL, "长度"), tmp_path / "second") == files, "equal data give equal bytes"


def test_the_font_is_of_regular_weight_and_holds_just_what_is_asked_for():
    file = font_manager.findfont(chinese_family("民人"), fallback_to_default=False)
    font = TTFont(file)
    assert set(map(ord, "民人")) <= set(font.getBestCmap())
    assert font["OS/2"].usWeightClass == 400
    assert "glyf" in font, "outlines of the other kind do not show in every PDF viewer"
    assert Path(file).stat().st_size < 10_000


def test_latin_labels_need_no_second_font(tmp_path, monkeypatch):
    import pretrace.render.figures.drawing as drawing

    monkeypatch.setattr(drawing, "chinese_family", lambda _: pytest.fail("asked for a Chinese font"))
    files = written(titled("Members", "\N{GREEK SMALL LETTER GAMMA} ≥ 5 %"), tmp_path / "latin")
    assert b"NotoSansSC" not in files["pdf"]


def test_latin_characters_beside_chinese_ones_keep_their_font():
    title = next(text for text in titled(LABEL).findobj() if getattr(text, "get_text", str)() == LABEL)
    assert title.get_fontfamily()[0] == "DejaVu Sans"


def test_a_character_that_the_font_lacks_is_said(caplog):
    caplog.set_level(logging.WARNING, "pretrace")
    chinese_family("人\N{HANGUL SYLLABLE GA}\U00030000")
    assert "lacks" in caplog.text
    assert "\U00030000" in caplog.text


def table(caption: str) -> Table:
    block = Block("", "Method", (("AUC",),), (Row("loss", (Cell(0.5),)),))
    return Table(caption, "news", (block,), (), pd.DataFrame())


def test_a_latex_table_with_chinese_says_what_it_needs():
    written = latex(table("人民日报"))
    assert r"\usepackage{ctex}" in written
    assert r"\caption{人民日报}" in written
    assert "ctex" not in latex(table("News"))
