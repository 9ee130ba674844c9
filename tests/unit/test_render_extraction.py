"""The table and the map of extraction: what is printed, and which passages stand under the map."""

from pathlib import Path

import made_up_results
import numpy as np
import pandas as pd
import pytest
from matplotlib.colors import Normalize
from matplotlib.figure import Figure
from test_extraction import EXTRACTION, texts_of, windows_table

from pretrace.evaluation.extraction import summary
from pretrace.render.figures.extraction import GROUND, NARROWEST, NONE, _chosen, _draw, _excerpts, covering
from pretrace.render.phrases import DASH
from pretrace.render.results import Results
from pretrace.runtime.files import write_parquet

DOCUMENTS = [("book", 1, [0.9, 0.0, 0.02, 1e-5]), ("other book", 1, [0.0, 0.0]), ("draft", 0, [0.0, 1e-8])]
PANEL = {"model": "tiny", "benchmark": "books"}


@pytest.fixture
def rendered(tmp_path):
    """Renders the artifact of a renderer from windows (default, those of `DOCUMENTS`); the folder with its files."""

    def draw(
        renderer: str, windows: pd.DataFrame | None = None, *short: tuple[str, int], **settings
    ) -> dict[str, Path]:
        if windows is None:
            windows = windows_table(*DOCUMENTS)
            windows["passage"] = [f"passage  {number}\n" for number in range(len(windows))]
        texts = texts_of(windows, *short)
        measured = summary(windows, texts, EXTRACTION | settings)
        frames = {"windows": windows, "extraction": measured, "benchmarks": texts}
        for name, frame in frames.items():
            write_parquet(tmp_path / f"{name}.parquet", frame)
        pair = ("tiny", "books")
        paths = {
            name: {pair if name != "benchmarks" else "books": tmp_path / f"{name}.parquet"} for name in frames
        }
        entries = {"books": {"caution": "all books were read"}}
        artifact = {"artifact": renderer, "renderer": renderer, "title": "Extraction", "panels": [PANEL]}
        return made_up_results.render(artifact | {"options": {}}, Results(**paths, entries=entries), tmp_path)

    return draw


def test_the_table_has_classes_and_the_documents_those_with_most_first(rendered):
    files = rendered("extraction")
    printed = files["md"].read_text(encoding="utf-8")
    assert "| tiny on books: members     |         6 |         0 |            0.333 |" in printed
    assert "Documents, 3: tiny on books" in printed
    assert "- books: all books were read." in printed
    assert printed.index("| book, members") < printed.index("| other book, members")
    table = pd.read_csv(files["csv"])
    assert table["document"].dropna().tolist() == ["book", "other book", "draft"]
    assert table.loc[table["document"] == "book", "extractable"].tolist() == [0.5]


def test_documents_are_left_out_where_none_has_an_extractable_window(rendered):
    printed = rendered("extraction", windows_table(("book", 1, [0.0]), ("draft", 0, [1e-4])))["md"].read_text(
        "utf-8"
    )
    assert "Classes" in printed
    assert "Documents" not in printed


def test_without_known_non_members_the_table_says_so(rendered):
    printed = rendered("extraction", windows_table(("book", None, [0.9])))["md"].read_text("utf-8")
    assert "There are no known non-members to compare with." in printed
    assert "A p takes" not in printed


def test_the_table_says_what_a_window_is_and_what_was_left_out(rendered):
    windows = windows_table(*DOCUMENTS)
    windows["repeats"] = [True] + [False] * 7
    printed = rendered("extraction", windows, ("other book", 1), threshold=0.01)["md"].read_text("utf-8")
    assert (
        "A window is 50 tokens, which the model emits with some probability after all tokens before it"
        in printed
    )
    assert "a probability above 0.01. In n tries: windows that come at least once in 100 samples" in printed
    assert "Repeats: windows that are left out" in printed
    assert "tiny on books: 1 of 4 texts are too short for a window." in printed
    cut = rendered("extraction", prefix=50)["md"].read_text("utf-8")
    assert "after 50 tokens of prefix alone" in cut
    assert "Repeats:" not in cut
    assert "too short" not in cut


@pytest.mark.parametrize(("known", "expected"), [(18, DASH), (19, "0.05")])
def test_a_p_is_printed_where_it_can_be_small(rendered, known, expected):
    drafts = [(f"draft {number}", 0, [0.0]) for number in range(known)]
    printed = rendered("extraction", windows_table(("book", 1, [0.9]), *drafts))["md"].read_text("utf-8")
    [row] = [line for line in printed.splitlines() if line.startswith("| book, members")]
    assert row.split("|")[-2].strip() == expected
    assert ("A p takes 19 documents" in printed) == (expected == DASH or known == 19), (
        "a non-member has one fewer"
    )


def test_under_the_map_are_the_likeliest_passages_of_each_class(rendered):
    files = rendered("extraction_map")
    said = files["txt"].read_text(encoding="utf-8").splitlines()
    assert said.pop(0).startswith(
        "tiny gives back 50 % of the book word for word, and 0 % of the draft, which it cannot have read"
    )
    assert said[0] == "The passages that are likeliest to be emitted:"
    assert said.pop() == "books: all books were read."
    assert said[1] == "tiny on books, members, book, token 50, probability 0.9: passage 0"
    assert [line.split("probability ")[1] for line in said[1:]] == [
        "0.9: passage 0", "0.02: passage 2", "1e-05: passage 3"
    ]  # fmt: skip


def test_a_map_without_a_likely_passage_says_so(rendered):
    said = rendered("extraction_map", windows_table(("book", None, [0.0])))["txt"].read_text(encoding="utf-8")
    assert said.startswith("No passage has a probability above 1 in a million")


def test_a_short_passage_of_a_book_is_drawn_wide_enough_to_be_seen():
    stretches = pd.DataFrame(
        {"start": [0, 5_000, 9_990], "end": [10_000, 5_001, 10_000], "log_p_top": [np.nan, -1.0, np.nan], "row": 1,
         "label": 1, "document": "book"}
    )  # fmt: skip
    axis = Figure().add_subplot()
    _draw(axis, stretches, Normalize(-6, 0))
    widths = [path.get_extents().width for path in axis.collections[0].get_paths()]
    assert widths == pytest.approx([10_000, 10, 10_000 / NARROWEST])


def test_the_map_has_a_row_a_document_below_the_name_of_its_class(rendered):
    table = pd.read_csv(rendered("extraction_map")["csv"])
    assert table.groupby(["document"])["row"].first().to_dict() == {"book": 1, "other book": 2, "draft": 4}
    book = table[table["document"] == "book"]
    assert book[["start", "end"]].to_numpy().tolist() == [[50, 100], [100, 150], [150, 200], [200, 250]]
    assert np.exp(book["log_p_top"]).round(6).tolist()[::2] == [0.9, 0.02]
    assert book["log_p_top"].isna().tolist() == [False, True, False, False]


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


def every_token(words: str, likeliest: int, label: int | None = 1, size: int = 5) -> pd.DataFrame:
    """Windows at every token of a text of words; one has a probability of one half, the others of 1e-9."""
    tokens = words.split()
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


def test_an_excerpt_shows_the_words_around_the_likeliest_passage_and_colours_its_tokens(rendered):
    windows = every_token(" ".join(f"word{number}" for number in range(80)), likeliest=50)
    windows.loc[windows["at"] == 20, "repeats"] = True
    excerpts = list(_excerpts(_chosen(windows)))
    assert [excerpt.title for excerpt in excerpts] == [
        "members: book, from token 21 (likeliest passage: probability 0.5)"
    ]
    tokens = [token.strip() for token, _ in excerpts[0].tokens]
    assert tokens == [f"word{number}" for number in range(21, 76)], (
        "it does not go over a window that is left out"
    )
    coloured = [token.strip() for token, power in excerpts[0].tokens if power > -10]
    assert coloured == [f"word{number}" for number in range(50, 55)]
    drawn = rendered("extraction_map", windows)["svg"].read_text(encoding="utf-8")
    assert "<!-- word53 -->" in drawn or "<!--  word53 -->" in drawn
