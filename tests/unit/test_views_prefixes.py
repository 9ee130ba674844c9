"""Prefix draws: nested, seeded, within a class; and nothing that overlaps the pool is
evaluated."""

import random
from typing import Any

import pandas as pd
import pytest

from pretrace.benchmarks.subsets_and_lengths import Slice
from pretrace.runtime.errors import InputError
from pretrace.runtime.files import write_parquet
from pretrace.seeds import seed_of
from pretrace.views import VIEWS
from pretrace.views.prefixes import (
    PREFIX_COLUMNS,
    balanced_ids,
    draw_prefixes,
    evaluated_ids,
    excluded_ids,
    overlapping_ids,
    shot_texts,
    shots_reader,
)
from pretrace.views.readings import SEPARATORS, PassKey, Prefix, Reading, Shots


def benchmark_of(rows: list[dict[str, Any]]) -> pd.DataFrame:
    plain = {"subset": "", "length": None, "document": "", "label": 1, "fold": 0}
    return pd.DataFrame([plain | row for row in rows]).astype(
        {"length": "Int64", "label": "Int64"}
    )


def nested(*, documents: int = 6, count: int = 8,
           lengths: tuple[int, ...] = (32, 64, 128), subset: str = "",
           joined: str = " ") -> pd.DataFrame:  # fmt: skip
    """Consecutive texts of `count` longest lengths a document and class, every shorter
    length cut from them."""
    rows = []
    for label in (0, 1):
        for number in range(documents):
            document = f"{'am'[label]}{subset}{number}"
            words = [f"{document}w{i}" for i in range(count * max(lengths))]
            for length in lengths:
                for start in range(0, len(words), length):
                    rows.append(
                        {
                            "text_id": f"{document}-{length:03d}-{start // length:04d}",
                            "text": joined.join(words[start : start + length]),
                            "label": label,
                            "subset": subset,
                            "length": length,
                            "document": document,
                        }
                    )
    return benchmark_of(rows).sort_values("text_id", ignore_index=True)


TABLE = nested()
PREFIXES = draw_prefixes(TABLE, pool=7, draws=3, seed=0)


def test_each_draw_has_a_pool_of_distinct_texts_of_each_class_subset_and_length():
    table = pd.concat([nested(subset="old"), nested(subset="new")], ignore_index=True)
    prefixes = draw_prefixes(table, pool=7, draws=3, seed=0)
    assert list(prefixes.columns) == PREFIX_COLUMNS
    texts = table.set_index("text_id")
    assert len(prefixes) == 3 * 2 * 3 * 2 * 7
    for (_, subset, length, kind), pool in prefixes.groupby(
        ["draw", "subset", "length", "kind"]
    ):
        assert pool["position"].tolist() == list(range(7))
        own = texts.loc[pool["text_id"]]
        assert own["text"].is_unique
        assert set(own["subset"]) == {subset}
        assert set(own["length"]) == {length}
        assert set(own["label"]) == {int(kind == "member")}


def test_shorter_lengths_use_the_leading_words_of_the_longest():
    text = TABLE.set_index("text_id")["text"]
    pools = PREFIXES.set_index(["draw", "kind", "length", "position"])["text_id"]
    for draw, kind, position in {(d, k, p) for d, k, _, p in pools.index}:
        longest = text[pools[draw, kind, 128, position]].split()
        for length in (32, 64):
            assert text[pools[draw, kind, length, position]].split() == longest[:length]


def test_draws_and_seeds_differ_and_the_order_of_rows_does_not_matter():
    pools = []
    for draw in range(3):
        pools.append(frozenset(PREFIXES.loc[PREFIXES["draw"].eq(draw), "text_id"]))
    assert len(set(pools)) == 3
    assert set(draw_prefixes(TABLE, pool=7, draws=1, seed=1)["text_id"]) != pools[0]
    pd.testing.assert_frame_equal(
        draw_prefixes(TABLE.iloc[::-1], pool=7, draws=3, seed=0), PREFIXES
    )


def create_dataset(
    data: list[tuple[str, int]], num_shots: int
) -> tuple[list[str], list[str], list[str]]:
    """Return the evaluated texts and the shots of members and of non-members, as
    Con-ReCall's process_data.py has it.

    Its run.py calls random.seed(42) once before it, in a run for each length.
    """
    random.seed(42)
    member_data = [text for text, label in data if label == 1]
    nonmember_data = [text for text, label in data if label == 0]
    random.shuffle(member_data)
    random.shuffle(nonmember_data)
    pairs = zip(nonmember_data[num_shots:], member_data[num_shots:], strict=False)
    full_data = []
    for pair in pairs:
        full_data += pair
    return full_data, member_data[:num_shots], nonmember_data[:num_shots]


def test_the_authors_draw_is_that_of_their_code_and_the_other_draws_stay():
    # as WikiMIA: no documents, more texts of one class, shorter texts that begin longer
    # ones, some equal ones
    table = TABLE[TABLE["label"].eq(1) | TABLE["document"].ne("a0")]
    table = table.assign(document="").reset_index(drop=True)
    table.loc[[0, 1, 2], "text"] = table["text"].iloc[3]
    plain = draw_prefixes(table, pool=7, draws=3, seed=0)
    prefixes = draw_prefixes(table, pool=7, draws=3, seed=0, authors_draw=True)
    others = prefixes[prefixes["draw"] > 0].reset_index(drop=True)
    plain_others = plain[plain["draw"] > 0].reset_index(drop=True)
    pd.testing.assert_frame_equal(others, plain_others)
    first = prefixes[prefixes["draw"].eq(0)]
    drawn = first.groupby(["length", "kind"])["text_id"].agg(list)
    left = evaluated_ids(prefixes, table, 0)
    pairs = balanced_ids(prefixes, table, 0, left)
    for length in (32, 64, 128):
        data = table[table["length"].eq(length)].sort_values("text_id")
        labelled = [*zip(data["text_id"], data["label"], strict=True)]
        full_data, members, nonmembers = create_dataset(labelled, 7)
        assert drawn[length, "member"] == members
        assert drawn[length, "nonmember"] == nonmembers
        ids = set(data["text_id"])
        assert left & ids == ids.difference(members, nonmembers)
        assert pairs & ids == set(full_data)
    assert pairs < left
    small = nested(documents=1, count=2, lengths=(32, 128))
    with pytest.raises(
        InputError, match="a pool of 9 member texts leaves none of the 8 of length 32"
    ):
        draw_prefixes(small, pool=9, draws=1, seed=0, authors_draw=True)


def test_equal_texts_are_one_shot_and_unlabelled_ones_none():
    rows = [
        {"text_id": f"{i}", "text": f"text {i // 4}", "label": 1} for i in range(16)
    ]
    rows += [{"text_id": f"n{i}", "text": f"other {i}", "label": 0} for i in range(4)]
    rows += [
        {"text_id": f"u{i}", "text": f"unknown {i}", "label": None} for i in range(4)
    ]
    table = benchmark_of(rows)
    prefixes = draw_prefixes(table, pool=3, draws=4, seed=0)
    for draw in range(4):
        assert (
            len(
                set(
                    shot_texts(
                        Shots(Prefix("member"), draw, 3),
                        Slice("", None),
                        table,
                        prefixes,
                    )
                )
            )
            == 3
        )
        # every copy of a drawn text leaves the evaluation
        assert len(excluded_ids(prefixes, table, draw)) == 3 * 4 + 3
    assert not prefixes["text_id"].str.startswith("u").any()
    assert prefixes["length"].isna().all()


@pytest.mark.parametrize("pool", [8, 9])
def test_a_pool_that_leaves_nothing_to_evaluate_is_an_error(pool):
    says = rf"a pool of {pool} member texts leaves none of the 8 of length 128.*`pool`"
    with pytest.raises(InputError, match=says):
        draw_prefixes(nested(documents=1), pool=pool, draws=1, seed=0)


def test_without_a_class_there_is_no_prefix():
    members = benchmark_of([{"text_id": f"{i}", "text": f"text {i}"} for i in range(9)])
    with pytest.raises(InputError, match="there are no nonmember texts"):
        draw_prefixes(members, pool=1, draws=1, seed=0)


def test_shots_nest_and_stand_in_drawn_order_for_a_pass_too(tmp_path):
    write_parquet(tmp_path / "prefixes.parquet", PREFIXES)
    read = shots_reader(TABLE, tmp_path / "prefixes.parquet", None, {})
    drawn = PREFIXES[
        PREFIXES["draw"].eq(1)
        & PREFIXES["kind"].eq("nonmember")
        & PREFIXES["length"].eq(64)
    ]
    text_of = TABLE.set_index("text_id")["text"]
    seven = text_of[drawn.sort_values("position")["text_id"]].tolist()
    place = Slice("", 64)
    for count in range(1, 8):
        shots = Shots(Prefix("nonmember"), draw=1, count=count)
        assert shot_texts(shots, place, TABLE, PREFIXES) == seven[:count]
        key = PassKey(Reading("original", "none", shots=shots), place)
        assert read(key) == seven[:count]
    eight = Shots(Prefix("nonmember"), draw=1, count=8)
    with pytest.raises(
        InputError,
        match="8 nonmember shots of length 64 are asked for, and draw 1 has 7",
    ):
        shot_texts(eight, place, TABLE, PREFIXES)


def test_no_word_of_the_pool_stays_in_the_evaluation_of_its_draw():
    """The words of the made-up texts are unique, so any shared word is an overlap."""
    out = [excluded_ids(PREFIXES, TABLE, draw) for draw in range(3)]
    for draw in range(3):
        words = TABLE.set_index("text_id")["text"].str.split().map(set)
        drawn = set().union(*words[PREFIXES.loc[PREFIXES["draw"].eq(draw), "text_id"]])
        assert out[draw] == {id for id, own in words.items() if drawn & own}
        assert len(out[draw]) == 2 * 7 * (1 + 2 + 4), (
            "each text, and what its longest text holds"
        )
    assert out[0] != out[1]


SPEECH = [f"s{i}" for i in range(60)]


@pytest.mark.parametrize(
    ("text", "document", "overlaps"),
    [
        (SPEECH[10:40], "a", True),
        (SPEECH[15:25], "a", True),  # contained
        (SPEECH[0:50], "a", True),  # contains
        (SPEECH[27:60], "a", True),  # 13 words shared
        (SPEECH[28:60], "a", False),  # 12
        (SPEECH[27:60], "b", False),  # another document
        (SPEECH[15:25], "b", False),
        (SPEECH[10:40], "b", True),  # equal
        (SPEECH[15:25], "", True),  # contained; the document unknown
        (SPEECH[0:50], "", True),
        (SPEECH[27:60], "", False),
    ],
)
def test_texts_overlap_where_they_share_the_words_of_a_document(
    text, document, overlaps
):
    table = benchmark_of([
        {"text_id": "pool", "text": " ".join(SPEECH[10:40]), "document": "a"},
        {"text_id": "other", "text": " ".join(text), "document": document},
    ])  # fmt: skip
    assert overlapping_ids(table, ["pool"]) == (
        {"pool", "other"} if overlaps else {"pool"}
    )


def test_words_are_compared_whole():
    table = benchmark_of(
        [
            {"text_id": "pool", "text": "this art works"},
            {"text_id": "other", "text": "his art"},
        ]
    )
    assert overlapping_ids(table, ["pool"]) == {"pool"}


def test_balanced_cuts_the_larger_class_and_keeps_nothing_excluded():
    rows = []
    for length in (32, 64):
        for label, n in ((0, 18), (1, 30)):
            for i in range(length, length + n):
                rows.append(
                    {
                        "text_id": f"{label}-{i}",
                        "text": f"{label} {i}",
                        "label": label,
                        "length": length,
                    }
                )
    table = benchmark_of(rows)
    prefixes = draw_prefixes(table, pool=7, draws=2, seed=0)
    left = []
    for draw in range(2):
        left.append(
            balanced_ids(prefixes, table, draw, evaluated_ids(prefixes, table, draw))
        )
    for draw in range(2):
        assert not left[draw] & excluded_ids(prefixes, table, draw)
        sizes = (
            table[table["text_id"].isin(left[draw])].groupby(["length", "label"]).size()
        )
        assert sizes.tolist() == [11] * 4
    assert left[0] != left[1]
    assert (
        balanced_ids(prefixes, table.iloc[::-1], 0, evaluated_ids(prefixes, table, 0))
        == left[0]
    )


def test_a_prefix_is_named_by_what_it_is():
    names = ["member", "nonmember", "zero_access", "member;separator=space",
             "member;separator=start_token",
             "nonmember;separator=newline;manipulate_prefix=true"]  # fmt: skip
    assert [Prefix.from_name(name).name for name in names] == names
    assert Prefix.from_name(names[-1]) == Prefix(
        "nonmember", "newline", manipulated=True
    )
    assert SEPARATORS == {"none": "", "space": " ", "newline": "\n"}
    for wrong in (
        "members",
        "member;separator=tab",
        "member;manipulate_prefix=yes",
        "member;separator=none",
    ):
        with pytest.raises(InputError, match="there is no prefix"):
            Prefix.from_name(wrong)


def test_shots_go_through_the_targets_view_only_where_the_prefix_is_manipulated():
    place = (Slice("", 32), TABLE, PREFIXES)
    two = Shots(Prefix("member"), 0, 2)
    plain = shot_texts(two, *place)
    assert shot_texts(two, *place, view="delete-10") == plain
    manipulated = (Shots(Prefix("member", manipulated=True), 0, 2), *place)
    drawn = PREFIXES[
        PREFIXES["draw"].eq(0)
        & PREFIXES["kind"].eq("member")
        & PREFIXES["length"].eq(32)
    ]
    expected = []
    for id, text in zip(drawn["text_id"][:2], plain, strict=True):
        expected.append(VIEWS["delete-10"].variants(text, seed_of("delete-10", id))[0])
    assert shot_texts(*manipulated, view="delete-10") == expected
    with pytest.raises(InputError, match=r"view .paraphrase. has no text of"):
        shot_texts(*manipulated, view="paraphrase", stored={"paraphrase": {}})


def test_zero_access_shots_are_the_models_completions_of_that_length():
    rows = []
    for n in (32, 64):
        for i in (1, 0, 2):
            rows.append({"length": n, "position": i, "text": f"event {i} in {n}"})
    made = pd.DataFrame(rows)
    shots = (Shots(Prefix("zero_access"), 0, 2), Slice("", 64), TABLE, PREFIXES)
    assert shot_texts(*shots, completions=made) == ["event 0 in 64", "event 1 in 64"]
    with pytest.raises(InputError, match="completions are not among the inputs"):
        shot_texts(*shots)
