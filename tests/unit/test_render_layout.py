"""How tables are laid out and written: what is bold, what is said once, each format,
names in print.

`golden/formats.txt` holds three small tables in each format; `PYTHONPATH=src python
tests/unit/test_render_layout.py` writes it again.
"""

from pathlib import Path

import numpy as np
import pandas as pd
from scipy.stats import norm

from pretrace.render.estimates import for_the_best
from pretrace.render.phrases import format_signed
from pretrace.render.tables.table import (
    Block,
    Cell,
    Row,
    Table,
    best,
    beyond_chance,
    latex,
    markdown,
    page,
    runner_up,
)

HOSTILE = r"a_b & c|d * <e> [f] \g {h} ~^ $# 5 %"
GOLDEN = Path(__file__).parent / "golden" / "formats.txt"


def formats() -> str:
    """Markup in every text; headers of which all columns share one or two; a long
    table, which is folded."""
    cells = (Cell(0.626, 0.561, 0.689, bold=True, star=True), Cell(words=HOSTILE))
    blind = (Cell(-0.03, -0.1, 0.02, signed=True, signs=("a", "b")), Cell())
    hostile = (Row(HOSTILE, cells), Row("Blind", blind, control=True))
    titles = (("model", "64 words"), (HOSTILE,))
    titled = (Block("", "Method", titles, hostile),)
    columns = (
        ("m", "b", "32 words"),
        ("n", "b", "32 words"),
        ("m", "b", "64 words"),
        ("n", "b", "64 words"),
    )
    four = Row("loss", (Cell(0.5),) * 4)
    two = (Row("loss", (Cell(0.5),) * 2),)
    full = Block("", "Method", columns, (four,))
    shared = Block("shared", "Method", columns[:2], two)
    uneven = Block("uneven", "Method", (("m", "AUC"), ("m", "b", "AUC")), two)
    long = tuple(Row(f"{number}", (Cell(0.5),)) for number in range(8))
    folded = tuple(Block(f"block {n}", "Method", (("x",),), long) for n in range(3))
    headed = (full, shared, uneven)
    empty = pd.DataFrame()
    tables = [
        Table("a title", "label", titled, (HOSTILE,), empty),
        Table("headers", "headers", headed, ("* a star",), empty),
        Table("long", "long", folded, (), empty),
    ]
    pages = []
    for table in tables:
        for written in (markdown, latex, page):
            pages.append(written(table))
    return "\n".join(pages)


def test_every_format_is_as_it_was():
    assert formats() == GOLDEN.read_text(encoding="utf-8")


def test_what_an_interval_does_not_tell_from_chance_is_not_beyond_it():
    rows = [
        ("auc", 0.51, 100, "", True),
        ("auc", 0.5, 100, "", False),
        ("auc", None, None, "", True),
        ("auc", None, 4, "few_texts", False),
        ("tpr_at_5_fpr", 0.06, 100, "", True),  # of 100 non-members the level is 6/101
        ("tpr_at_5_fpr", 0.055, 100, "", False),
        ("tpr_at_5_fpr", 0.055, 1000, "", True),
        ("accuracy", 0.1, 100, "", True),
    ]
    frame = pd.DataFrame(
        rows, columns=["metric", "low", "n_nonmembers", "marks", "beyond"]
    )
    frame = frame.assign(value=0.7, high=0.9, control=False, row=frame.index)
    assert beyond_chance(frame, ["row"]).tolist() == frame["beyond"].tolist()


def test_the_interval_of_the_best_of_several_is_bonferronis():
    draws = np.random.default_rng(0).normal(0.5, 0.05, (20_000, 8))
    half = 0.05 * norm.ppf(0.975)
    values = draws[0]
    low = values - half
    high = values + half
    frame = pd.DataFrame({"value": values, "low": low, "high": high, "panel": 0})
    ends = for_the_best(frame.assign(control=False), ["panel"])
    wider_half = 0.05 * norm.ppf(1 - 0.05 / 16)
    expected = np.stack([values - wider_half, values + wider_half], axis=1)
    np.testing.assert_allclose(ends, expected)
    missed = np.abs(draws.max(axis=1) - 0.5) > wider_half
    assert missed.mean() < 0.05
    alone = for_the_best(frame.assign(control=[False] + 7 * [True]), ["panel"])
    np.testing.assert_allclose(
        alone, frame[["low", "high"]], err_msg="of one method and controls"
    )


def test_bold_is_the_highest_printed_value_of_a_column_and_never_a_control():
    methods = {
        "a": (0.6204, None),
        "b": (0.6196, 0.4),
        "c": (0.5, 0.3),
        "blind": (0.9, 0.9),
    }
    rows = []
    for name, values in methods.items():
        for panel in (0, 1):
            rows.append((name, panel, values[panel], name == "blind"))
    frame = pd.DataFrame(rows, columns=["method", "panel", "value", "control"])
    frame = frame.assign(marks="")
    is_best = best(frame.dropna(), ["panel"])
    bold = frame[is_best.reindex(frame.index, fill_value=False)]
    expected = [["a", 0], ["b", 0], ["b", 1]]
    assert bold[["method", "panel"]].values.tolist() == expected
    alone = frame[frame["method"].isin(["a", "blind"])].dropna()
    assert not best(alone, ["panel"]).any(), (
        "nothing is bold where one row alone competes"
    )
    second = frame[runner_up(frame.fillna({"value": 0.1}), ["panel"])]
    assert second[["method", "panel"]].values.tolist() == [["c", 1]], (
        "two share the first place, and one alone is no second"
    )


def test_signed_numbers_have_a_true_minus_and_zero_no_sign():
    assert [format_signed(value, 2) for value in (0.031, -0.026, -0.001)] == [
        "+0.03",
        "\N{MINUS SIGN}0.03",
        "0.00",
    ]


if __name__ == "__main__":
    GOLDEN.write_text(formats(), encoding="utf-8")
