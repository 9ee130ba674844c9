"""Synonyms from WordNet's files: a small one in the files' own format (wndb(5WN)), as
folder and as archive."""

import zipfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from pretrace.runtime.errors import InputError
from pretrace.views import VIEWS, wordnet
from small_wordnet import write_wordnet


@pytest.fixture(autouse=True)
def no_other_wordnet(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Iterator[None]:
    """Only what NLTK_DATA names, so that a machine's own WordNet does not matter."""
    monkeypatch.setattr(wordnet, "_SYSTEM", ())
    monkeypatch.setattr(wordnet.sys, "prefix", str(tmp_path / "none"))
    monkeypatch.setattr(wordnet.Path, "home", lambda: tmp_path / "none")
    monkeypatch.setenv("NLTK_DATA", str(tmp_path / "nltk_data"))
    wordnet.installed_wordnet.cache_clear()
    yield
    wordnet.installed_wordnet.cache_clear()


@pytest.fixture
def installed(tmp_path: Path) -> None:
    write_wordnet(tmp_path / "nltk_data" / "corpora" / "wordnet")


@pytest.mark.parametrize(
    ("word", "expected"),
    [
        ("citizen", ["national", "subject"]),
        ("City", ["metropolis"]),  # not the two words urban_center
        ("cities", ["city", "metropolis"]),
        ("builds", ["build", "construct"]),
        ("building", ["build", "construct"]),
        ("ran", ["go", "operate", "run"]),
        ("men", ["chap", "man"]),
        # both the word and its base form have synonyms
        ("glasses", ["glass", "spectacles", "tumbler"]),
        ("big", ["large"]),  # the syntactic marker (a) is no part of the word
        ("hoping", ["hop", "hope", "jump", "trust"]),
        ("happily", ["merrily"]),
        ("a", []),  # the article, not the angstrom
        ("will", []),
        ("citizen's", []),
        ("unheard", []),
    ],
)
def test_synonyms_share_a_sense_of_a_base_form(installed, word, expected):
    assert wordnet.installed_wordnet().synonyms(word) == expected


def test_the_view_replaces_the_share_of_words_that_have_synonyms(installed):
    text = (
        "Big cities, and MEN will run; Citizen Jones ran happily away, he did build a "
        "house of his own there."
    )
    words = text.split()
    assert len(words) == 20
    for percent, count in ((10, 2), (15, 3), (20, 4)):
        for seed in range(10):
            [changed] = VIEWS[f"synonym-{percent}"].variants(text, seed)
            pairs = [
                (a, b) for a, b in zip(words, changed.split(), strict=True) if a != b
            ]
            assert len(pairs) == count
            for before, after in pairs:
                stem = before.rstrip(",;")
                mark = before[len(before.rstrip(",;")) :]
                expected = wordnet.installed_wordnet().synonyms(stem)
                assert after.removesuffix(mark).lower() in expected
                assert after.endswith(mark)
                assert after[0].isupper() == before[0].isupper()
                assert after.removesuffix(mark).isupper() == stem.isupper()
    assert VIEWS["synonym-20"].variants(text, 1) == VIEWS["synonym-20"].variants(
        text, 1
    )


def test_where_fewer_words_have_synonyms_all_of_them_are_replaced(installed):
    [changed] = VIEWS["synonym-90"].variants("A citizen of Zanzibar", 0)
    assert changed in ("A national of Zanzibar", "A subject of Zanzibar")


def test_nltks_archive_reads_as_its_folder_does(tmp_path):
    folder = write_wordnet(tmp_path / "elsewhere" / "wordnet")
    archive = tmp_path / "nltk_data" / "corpora" / "wordnet.zip"
    archive.parent.mkdir(parents=True)
    with zipfile.ZipFile(archive, "w") as out:
        for file in folder.iterdir():
            out.write(file, f"wordnet/{file.name}")
    assert wordnet.installed_wordnet().synonyms("cities") == ["city", "metropolis"]


def test_without_wordnet_the_error_says_how_to_get_it():
    with pytest.raises(
        InputError,
        match=r"need WordNet's data.*nltk\.downloader wordnet.*synonym_by_MODEL",
    ):
        VIEWS["synonym-10"].variants("A citizen", 0)
