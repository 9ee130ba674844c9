"""Dolma-Book as it is built: Dolma's books and those of Project Gutenberg, from a
server on loopback."""

import pytest
from test_benchmarks_hub import fetched

import hub_datasets as made
from pretrace.benchmarks import build
from pretrace.benchmarks.loaders.dolma_book import released_since, without_licence
from pretrace.runtime.errors import InputError

BOOKS = {"documents": 4, "lengths": [512, 1024]}


@pytest.fixture(autouse=True)
def quick(monkeypatch):
    monkeypatch.setattr("pretrace.benchmarks.loaders.dolma_book.PAUSE", 0)
    monkeypatch.setattr("pretrace.runtime.http.time.sleep", lambda seconds: None)


def test_dolma_book_is_built_of_later_books_and_dolmas(hub, tmp_path):
    made.gutenberg(hub, books=6, before=2, length=3700)
    made.dolma(hub, books=8, files=2, length=3700)
    entry, source = fetched("dolma_book", tmp_path, gutenberg=hub.url, **BOOKS)
    table = build("dolma_book", entry, [source])
    counts = table.groupby(["subset", "length", "label"]).size().to_dict()
    expected = {}
    for subset in ("head", "middle", "tail"):
        for length in (512, 1024):
            for label in (0, 1):
                expected[subset, length, label] = 8 if subset == "tail" else 4
    assert counts == expected
    assert (table["text"].str.split().str.len() == table["length"]).all()
    assert (
        not table["text"]
        .str.contains("Gutenberg|General Terms|STARTOF", regex=True)
        .any()
    )
    ids = (
        table.loc[table["label"] == 0, "document"]
        .str.removeprefix("nonmember-")
        .astype(int)
    )
    assert (ids >= 70002).all(), "books released before 2024 are not later ones"
    book = table[
        (table["document"] == table["document"].iloc[0]) & (table["subset"] == "tail")
    ]
    last = {}
    for length, own in book.groupby("length"):
        last[length] = own["text_id"].str[-5:].astype(int).tolist()
    assert last == {1024: [1, 2], 512: [5, 6]}, (
        "the last two of three segments, and of seven on a grid of their own"
    )
    texts = [
        path for _, path, _ in hub.asked if path.endswith(".txt") and "/epub/7" in path
    ]
    assert len(texts) == len(set(texts)) == 4, (
        "no more books are asked for than are needed, each once"
    )
    assert not (tmp_path / "texts" / "dolma").exists(), "Dolma's own files are not kept"


@pytest.mark.parametrize("breaks", ["books-0001.json.gz", "pg70005.txt"])
def test_dolma_book_goes_on_where_a_run_stopped(hub, tmp_path, breaks):
    """Whether Dolma or, long after, Project Gutenberg breaks off: nothing that came is
    asked for again."""
    made.gutenberg(hub)
    made.dolma(hub)
    every = BOOKS | {"documents": 6}
    hub.cut[breaks] = 5
    with pytest.raises(
        InputError, match=rf"{breaks}.*could not be fetched.*run again to continue"
    ):
        fetched("dolma_book", tmp_path, gutenberg=hub.url, **every)
    hub.cut.clear()
    before = list(hub.asked)
    entry, source = fetched("dolma_book", tmp_path, gutenberg=hub.url, **every)
    assert build("dolma_book", entry, [source])["document"].nunique() == 12
    again = []
    for _, path, span in hub.asked[len(before) :]:
        if not span and "/api/" not in path:
            again.append(path)
    came = {path for _, path, _ in before if not path.endswith(breaks)}
    assert not came & {path for path in again if path.endswith((".gz", ".txt", ".csv"))}
    assert any(
        span.startswith("bytes=")
        for _, path, span in hub.asked
        if path.endswith(breaks)
    )


def test_a_book_without_plain_text_is_passed_over_and_counted(hub, tmp_path, warnings):
    made.gutenberg(hub)
    made.dolma(hub)
    for number in (70003, 70005):
        del hub.pages[f"/cache/epub/{number}/pg{number}.txt"]
    entry, source = fetched(
        "dolma_book", tmp_path, gutenberg=hub.url, **BOOKS | {"documents": 6}
    )
    assert "2 books of the catalogue have no plain text: 7000" in warnings()
    assert "4 books of class 0 are long enough; 6 were asked for" in warnings()
    table = build("dolma_book", entry, [source])
    assert table.loc[table["label"] == 0, "document"].nunique() == 4


def test_header_and_licence_are_stripped_and_texts_without_marks_are_whole():
    marked = made.gutenberg_text("A Title", "It was\r\na dark night.").decode(
        "utf-8-sig"
    )
    assert without_licence(marked) == "It was\na dark night."
    old = (
        "Header\n***START OF THE PROJECT GUTENBERG EBOOK A***\nText.\n\nEnd of Project "
        "Gutenberg's A, by B\nmore"
    )
    assert without_licence(old) == "Text."
    assert without_licence("No marks.") == "No marks."


def test_a_table_that_is_not_gutenbergs_catalogue_is_refused(tmp_path):
    (tmp_path / "other.csv").write_text("a,b\n1,2\n")
    with pytest.raises(InputError, match="not Project Gutenberg's catalogue"):
        released_since(tmp_path / "other.csv", "2024-01-01")
