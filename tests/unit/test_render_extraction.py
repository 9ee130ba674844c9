"""The map of extraction: which window colours a token, how wide a passage is drawn, which words are printed."""

import re

import made_up_results as made_up
import numpy as np
import pandas as pd
import pytest
import test_render_golden as golden
from matplotlib.figure import Figure
from test_extraction import texts_of

from pretrace.render.figures.extraction import (
    GROUND,
    NARROWEST,
    NONE,
    covering,
    draw_stretches,
    excerpts_of,
)


def test_a_short_passage_of_a_book_is_drawn_wide_enough_to_be_seen():
    stretches = pd.DataFrame(
        {"start": [0, 5_000, 9_990], "end": [10_000, 5_001, 10_000], "log_p_top": [np.nan, -1.0, np.nan], "row": 1,
         "label": 1, "document": "book"}
    )  # fmt: skip
    axis = Figure().add_subplot()
    draw_stretches(axis, stretches)
    widths = [path.get_extents().width for path in axis.collections[0].get_paths()]
    assert widths == pytest.approx([10_000, 10, 10_000 / NARROWEST])


def test_the_colour_of_a_token_is_that_of_the_likeliest_window_that_covers_it():
    random = np.random.default_rng(0)
    for size, stride in ((4, 1), (4, 3), (3, 5), (1, 1)):
        places = np.arange(3, 40 - size, stride)
        log_p = np.where(random.random(len(places)) < 0.3, np.nan, -20 * random.random(len(places)))
        text = pd.DataFrame({"at": places, "log_p_top": log_p, "suffix": size, "tokens": 40})
        ground = -6 * np.log(10)
        for token, place in enumerate(covering(text)):
            over = text[(text["at"] <= token) & (token < text["at"] + size)]
            likely = over[over["log_p_top"] > ground]
            expected = (
                NONE
                if over.empty
                else GROUND
                if likely.empty
                else likely.loc[likely["log_p_top"].idxmax(), "at"]
            )
            assert place == expected


def every_token(tokens: list[str], likeliest: int, label: int | None = 1, size: int = 5) -> pd.DataFrame:
    """Windows at every token of a text of words; one has a probability of one half, the others of 1e-9."""
    places = range(2, len(tokens) - size + 1)
    rows = [
        {
            "subset": "", "length": pd.NA, "document": "book", "label": label, "text_id": "t", "tokens": len(tokens),
            "at": place, "suffix": size, "log_p": -30.0, "log_p_top": np.log(0.5 if place == likeliest else 1e-9),
            "greedy": False, "repeats": False, "token": f" {tokens[place]}",
            "passage": " ".join(tokens[place : place + size]) if place == likeliest else "",
        }
        for place in places
    ]  # fmt: skip
    return pd.DataFrame(rows).astype({"label": "Int64", "length": "Int64"})


def test_a_map_on_which_no_window_is_likely_has_no_excerpt(tmp_path):
    windows = every_token([f"word{number}" for number in range(80)], likeliest=50).assign(log_p_top=np.nan)
    results = golden.results_of(tmp_path, {"windows": windows, "benchmarks": texts_of(windows)})
    files = made_up.render(made_up.artifact("extraction_map", panels=[golden.OWN]), results, tmp_path)
    assert list(excerpts_of(files["csv"])) == []


def test_an_excerpt_shows_the_words_around_the_likeliest_passage_and_colours_its_tokens(tmp_path):
    words = [f"word{number}" for number in range(80)]
    words[50:53] = ["=1+1", "NA", "a\n\tb"]  # a CSV alone would change them
    windows = every_token(words, likeliest=50)
    windows.loc[windows["at"] == 20, "repeats"] = True
    results = golden.results_of(tmp_path, {"windows": windows, "benchmarks": texts_of(windows)})
    artifact = made_up.artifact("extraction_map", panels=[golden.OWN])
    files = made_up.render(artifact, results, tmp_path)
    (excerpt,) = excerpts_of(files["csv"])
    assert excerpt.title == "members: book (likeliest passage: token 50, probability 0.5)"
    around, likeliest, after = excerpt.stretches
    assert around == ("".join(f" {word}" for word in words[21:50]), "", "below 1 in 1,000,000"), (
        "it does not go over a window that is left out"
    )
    assert likeliest[0] == "".join(f" {word}" for word in words[50:55])
    assert re.fullmatch("#[0-9a-f]{6}", likeliest[1])
    assert likeliest[2] == "probability 0.5"
    assert after[0] == "".join(f" {word}" for word in words[55:76])
