"""The map of extraction: which window colours a token, how wide a passage is drawn,
which words are printed."""

import re

import made_up_results as made_up
import numpy as np
import pandas as pd
import pytest
import test_render_golden as golden
from matplotlib.figure import Figure
from test_extraction import EXTRACTION, texts_of, windows_table

from pretrace.evaluation.extraction import summarise
from pretrace.render.figures.extraction import (
    GROUND,
    NARROWEST,
    NONE,
    draw_stretches,
    excerpts_of,
    likeliest_windows,
    shown_documents,
)
from pretrace.render.tables.extraction import given_back


def test_a_short_passage_of_a_book_is_drawn_wide_enough_to_be_seen():
    stretches = pd.DataFrame(
        {
            "start": [0, 5_000, 9_990],
            "end": [10_000, 5_001, 10_000],
            "log_p_top": [np.nan, -1.0, np.nan],
            "row": 1,
            "label": 1,
            "document": "book",
            "text_id": "book-160-0035-100x",
            "passage": "",
        }
    )
    axis = Figure().add_subplot()
    draw_stretches(axis, stretches)
    widths = [path.get_extents().width for path in axis.collections[0].get_paths()]
    assert widths == pytest.approx([10_000, 10, 10_000 / NARROWEST])
    names = [name.get_text() for name in axis.get_yticklabels()]
    assert names == ["members", "book, passage 35"]


def test_the_colour_of_a_token_is_that_of_the_likeliest_window_that_covers_it():
    random = np.random.default_rng(0)
    for size, stride in ((4, 1), (4, 3), (3, 5), (1, 1)):
        places = np.arange(3, 40 - size, stride)
        is_left_out = random.random(len(places)) < 0.3
        log_p = np.where(is_left_out, np.nan, -20 * random.random(len(places)))
        text = pd.DataFrame(
            {"at": places, "log_p_top": log_p, "suffix": size, "tokens": 40}
        )
        ground = -6 * np.log(10)
        for token, place in enumerate(likeliest_windows(text)):
            over = text[(text["at"] <= token) & (token < text["at"] + size)]
            likely = over[over["log_p_top"] > ground]
            if over.empty:
                expected = NONE
            elif likely.empty:
                expected = GROUND
            else:
                expected = likely.loc[likely["log_p_top"].idxmax(), "at"]
            assert place == expected


def test_documents_are_ordered_by_their_likeliest_coloured_window_then_by_their_names():
    """Probabilities below the first colour are not seen, and a name's numbers are
    numbers."""
    documents = ["draft 10", "draft 2", "draft 30", "draft 3"]
    windows = pd.DataFrame(
        {
            "document": documents,
            "text_id": documents,
            "log_p_top": [-20.0, -30.0, -2.0, np.nan],
        }
    )
    windows = windows.assign(label=0, repeats=False, subset="", length=pd.NA, tokens=9)
    shown = shown_documents(windows).sort_values("row")
    assert shown["document"].tolist() == ["draft 30", "draft 2", "draft 3", "draft 10"]
    assert shown["row"].tolist() == [1, 2, 3, 4]


def every_token(
    tokens: list[str], likeliest: int, label: int | None = 1, size: int = 5
) -> pd.DataFrame:
    """Windows at every token of a text of words; one has a probability of one half, the
    others of 1e-9."""
    places = range(2, len(tokens) - size + 1)
    rows = []
    for place in places:
        passage = " ".join(tokens[place : place + size])
        rows.append(
            {
                "subset": "",
                "length": pd.NA,
                "document": "book",
                "label": label,
                "text_id": "t",
                "tokens": len(tokens),
                "at": place,
                "suffix": size,
                "log_p": -30.0,
                "log_p_top": np.log(0.5 if place == likeliest else 1e-9),
                "greedy": False,
                "log_p_fifty": np.nan,
                "repeats": False,
                "token": f" {tokens[place]}",
                "passage": passage if place == likeliest else "",
            }
        )
    return pd.DataFrame(rows).astype({"label": "Int64", "length": "Int64"})


def test_a_map_on_which_no_window_is_likely_has_no_excerpt(tmp_path):
    windows = every_token(
        [f"word{number}" for number in range(80)], likeliest=50
    ).assign(log_p_top=np.nan)
    results = golden.mapped(tmp_path, windows)
    files = made_up.render(
        made_up.artifact("extraction_map", panels=[golden.OWN]), results, tmp_path
    )
    assert list(excerpts_of(files["csv"])) == []


def test_an_excerpt_shows_the_words_around_the_likeliest_passage_and_colours_its_tokens(
    tmp_path,
):
    words = [f"word{number}" for number in range(80)]
    words[50:53] = ["=1+1", "NA", "a\n\tb"]  # a CSV alone would change them
    windows = every_token(words, likeliest=50)
    windows.loc[windows["at"] == 20, "repeats"] = True
    results = golden.mapped(tmp_path, windows)
    artifact = made_up.artifact("extraction_map", panels=[golden.OWN])
    files = made_up.render(artifact, results, tmp_path)
    (excerpt,) = excerpts_of(files["csv"])
    assert (
        excerpt.title == "members: book (likeliest passage: token 50, probability 0.5)"
    )
    around, likeliest, after = excerpt.stretches
    assert around == (
        "".join(f" {word}" for word in words[21:50]),
        "",
        "below 1 in 1,000,000",
    ), "it does not go over a window that is left out"
    assert likeliest[0] == "".join(f" {word}" for word in words[50:55])
    assert re.fullmatch("#[0-9a-f]{6}", likeliest[1])
    assert likeliest[2] == "probability 0.5"
    assert after[0] == "".join(f" {word}" for word in words[55:76])


def said(*documents, short=(), **settings) -> str:
    """The sentence on made-up windows: the works' names, labels and probabilities of
    windows of 50 of 500 tokens."""
    windows = windows_table(*documents)
    return given_back(
        "M", summarise(windows, texts_of(windows, *short), EXTRACTION | settings)
    )


def test_a_sentence_says_what_is_given_back_and_what_is_not_measurable():
    book = ("book", None, [0.9, 0.002, 1e-9, 0, 0])
    draft = ("draft", 0, [0, 0])
    assert said(book, draft) == (
        "M gives back 20 % of 'book' word for word (above a probability of 0.001; "
        "greedy decoding: 10 %; 50 tokens after 50: 10 %), and 0 % of 1 known work."
    )
    assert "'book', the most of 2 works, word for word" in said(
        book, ("other", 1, [0] * 5), draft
    )
    assert said(book, short=[("pamphlet", None)]).endswith(
        "; 50 tokens after 50: 10 %), and there is no known work beside it. Not "
        "measurable: 1 of the works."
    )
    assert said(("book", None, [0.9])).endswith(
        " 90 % of its tokens are not measurable."
    )
    assert said(draft, short=[("pamphlet", None)]) == (
        "What M gives back of 'pamphlet' is not measurable: shorter than 70 tokens."
    )
    assert said(draft) == "", "only known works"


def test_the_box_of_an_audit_says_what_is_given_back(tmp_path):
    results = golden.STUDIES["audit_none"](tmp_path / "audit")
    extracted = golden.extracted(tmp_path / "extraction", *golden.BOOKS)
    artifact = made_up.artifact("audit", panels=[golden.OWN])
    plain = dict(made_up.draw(artifact, results).boxes[0].lines)
    beside = dict(
        made_up.draw(
            artifact,
            made_up.beside(results, "extraction", extracted.paths["extraction"]),
        )
        .boxes[0]
        .lines
    )
    assert beside.pop("Given back").startswith("tiny-135m gives back 20 % of 'book'")
    assert beside == plain
