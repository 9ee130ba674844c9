"""The list of single texts: one score a method, ranks within a slice, and how each text
begins."""

import pandas as pd
import pytest

from pretrace.render.phrases import DASH
from pretrace.render.tables import texts as listed
from pretrace.render.tables.table import page
from pretrace.render.tables.texts import single_texts

TEXTS = pd.DataFrame(
    {
        "text_id": ["a", "b", "c", "d"],
        "text": ["<b>one</b>", "two", "three " * 40, "four"],
        "label": pd.array([1, 0, None, 1], "Int64"),
        "subset": "",
        "length": pd.array([32, 32, 32, 64], "Int64"),
    }
)
SCORES = [
    ("loss", "", "a", -2.5),
    ("loss", "", "b", -1.5),
    ("loss", "", "c", -3.5),
    ("loss", "", "d", -1.25),
    ("min_k", "k=0.1", "a", 9.0),
    ("min_k", "k=0.2", "a", -4.0),
    ("min_k", "k=0.2", "b", -5.0),
]


def scores(rows=SCORES, **other) -> pd.DataFrame:
    frame = pd.DataFrame(rows, columns=["method", "setting", "id", "score"])
    return frame.assign(**{"unit": "text", "view": "original"} | other)


def listing(parts, **other):
    return single_texts(parts, TEXTS, "Tiny on Texts", **{"quoted": True} | other)


def shown(table) -> list[list[str]]:
    rows = []
    for row in table.blocks[0].rows:
        rows.append([row.label, *(cell.number + cell.rest for cell in row.cells)])
    return rows


def test_texts_have_the_default_setting_and_their_rank_within_length_highest_first():
    documents = scores(unit="document")
    deleted = scores(view="delete-10")
    table = listing([documents, scores(SCORES[:5]), deleted, scores(SCORES[5:])])
    assert table.blocks[0].columns == (
        ("class",),
        ("length",),
        ("Loss",),
        ("Min-K%",),
    )
    assert shown(table) == [
        ["d", "member", "64", "-1.25 (1)", DASH],
        ["b", "non-member", "32", "-1.5 (1)", "-5 (2)"],
        ["a", "member", "32", "-2.5 (2)", "-4 (1)"],
        ["c", "unlabelled", "32", "-3.5 (3)", DASH],
    ]
    assert table.frame["rank_loss"].tolist() == [1, 1, 2, 3]


def test_a_method_without_its_default_has_its_first_setting():
    off = [("min_k", "k=0.1", "a", 9.0), ("min_k", "k=0.3", "a", 8.0)]
    assert shown(listing([scores(off)])) == [["a", "member", "9 (1)"]]


def test_a_text_is_quoted_by_its_beginning_or_not_at_all(monkeypatch):
    quoted = page(listing([scores()]))
    assert "&lt;b&gt;one&lt;/b&gt;" in quoted
    assert "three " * 20 + "..." in quoted.replace("  ", " ")
    assert "three " * 21 not in quoted
    assert "three" not in page(listing([scores()], quoted=False))
    monkeypatch.setattr(listed, "MOST_TEXTS", 2)
    short = listing([scores()])
    assert [row[0] for row in shown(short)] == ["d", "b"]
    assert short.notes[-1] == "The 2 texts with the highest Loss of 4."


@pytest.mark.parametrize("parts", [[], [scores(unit="document")]])
def test_a_benchmark_without_scores_of_texts_has_no_list(parts):
    assert listing(parts) is None
