"""Who is compared with whom, on which texts, and with which resamples; sets of prefix
draws; distances."""

import numpy as np
import pandas as pd
import pytest
from evaluation_tables import LABEL, auc, noise, only, run, scores, texts

from pretrace.evaluation.comparison import partner
from pretrace.evaluation.scores import EvaluationSet, evaluation_sets
from pretrace.evaluation.tokens import signed_wasserstein
from pretrace.methods.settings import Column


def test_every_method_against_every_other_and_chance():
    columns = {}
    for number, m in enumerate(("plain", "other", "third")):
        columns[m, ""] = noise(200, seed=number) + number * LABEL / 4
    metrics, tests = run(columns, resamples=300)
    count = tests.groupby(["selection", "test", "metric"]).size().to_dict()
    four = ("auc", "tpr_at_1_fpr", "tpr_at_5_fpr", "tpr_at_10_fpr")
    expected = {}
    for s in ("default", "held_out"):
        for m in four:
            expected[s, "bootstrap", m] = 9
    expected |= {("default", "t_as_published", m): 9 for m in four}
    assert count == expected
    held = {}
    for m in ("plain", "third"):
        held[m] = only(metrics, method=m, selection="held_out", metric="auc")["value"]
    forth = only(
        tests, method="third", baseline="plain", selection="held_out", metric="auc"
    )
    back = only(
        tests, method="plain", baseline="third", selection="held_out", metric="auc"
    )
    assert forth["difference"] == pytest.approx(held["third"] - held["plain"])
    assert back["difference"] == pytest.approx(-forth["difference"])
    assert back["low"] == pytest.approx(-forth["high"])
    assert back["high"] == pytest.approx(-forth["low"])
    assert back["p"] == pytest.approx(forth["p"])


def test_the_same_resamples_serve_every_method():
    values = noise(200) + LABEL
    columns = {
        ("plain", ""): values,
        ("other", ""): 3 * values - 7,
        ("third", ""): noise(200, seed=5),
    }
    metrics, tests = run(columns)
    rows = metrics[metrics["selection"] == "default"].set_index(["method", "metric"])[
        ["value", "low", "high"]
    ]
    pd.testing.assert_frame_equal(rows.loc["plain"], rows.loc["other"])
    pair = tests[(tests["method"] == "plain") & (tests["baseline"] == "other")]
    assert (pair[["difference", "low", "high"]] == 0).all(axis=None)
    assert (pair["p"] == 1).all()


def test_cells_are_separate():
    parts = []
    for s in ("a", "b"):
        for length in (32, None):
            parts.append(texts(LABEL, subset=s, length=length))
    benchmark = pd.concat(parts, ignore_index=True)
    metrics, tests = run({("plain", ""): noise(800)}, benchmark)
    for frame in (metrics, tests):
        assert frame.groupby(["subset", "length"], dropna=False).ngroups == 4
    alone, _ = run({("plain", ""): noise(800)[400:600]}, parts[2])
    same = metrics[(metrics["subset"] == "b") & (metrics["length"] == 32)].reset_index(
        drop=True
    )
    pd.testing.assert_frame_equal(same, alone)


def test_a_set_of_a_draw_holds_its_texts_and_methods_without_prefix_carry_its_draw():
    benchmark = texts(LABEL)
    tables = [scores(benchmark, {("plain", ""): noise(200)})]
    sets = [EvaluationSet()]
    for draw in (0, 1):
        values = noise(200, seed=1 + draw)
        tables.append(scores(benchmark, {("other", ""): values}, draw=draw))
        left = set(benchmark["text_id"][10 * (draw + 1) :])
        sets.append(EvaluationSet("without_prefixes", draw, left))
    metrics, tests = run(pd.concat(tables), benchmark, evaluation_sets=sets)
    is_default = metrics["selection"] == "default"
    members = {}
    areas = {}
    for row in metrics[is_default & (metrics["metric"] == "auc")].itertuples():
        draw = None if pd.isna(row.draw) else row.draw
        members[row.evaluation_set, row.method, draw] = row.n_members
        areas[row.evaluation_set, row.method, draw] = row.value
    assert members == {
        ("all", "plain", None): 100,
        ("without_prefixes", "plain", 0): 95, ("without_prefixes", "other", 0): 95,
        ("without_prefixes", "plain", 1): 90, ("without_prefixes", "other", 1): 90,
    }  # fmt: skip
    expected = auc(noise(200)[20:], LABEL[20:])
    assert areas["without_prefixes", "plain", 1] == pytest.approx(expected)
    pairs = tests[(tests["baseline"] == "other") & (tests["test"] == "t_as_published")]
    numbers = set(zip(pairs["evaluation_set"], pairs["draw"], strict=True))
    assert numbers == {("without_prefixes", 0), ("without_prefixes", 1)}


def test_views_start_tokens_and_references_keep_apart():
    def key(start_token="", draw=-1, reference=""):
        return Column("m", "", "original", start_token, draw, reference)

    bos = key("bos")
    none = key("none")
    blank = key("")
    assert partner(bos, [none, bos]) == bos
    assert partner(bos, [none]) is None
    assert partner(bos, [blank]) == blank
    assert partner(blank, [bos]) == bos
    assert partner(blank, [bos, none]) is None
    assert partner(key(draw=1), [key(draw=0), key(draw=1)]) == key(draw=1)
    assert partner(key(draw=1), [key(draw=0)]) is None
    web = key(reference="web")
    code = key(reference="code")
    small = key(reference="small-model")
    assert partner(web, [web, code]) == web
    assert partner(web, [small]) == small
    assert partner(key(), [web, code]) is None


def test_a_method_that_scores_one_class_alone_differs_from_none():
    members = np.where(LABEL == 1, noise(200), np.nan)
    _, tests = run({("plain", ""): noise(200, seed=1), ("other", ""): members})
    lame = tests[(tests["method"] == "other") | (tests["baseline"] == "other")]
    assert len(lame)
    assert lame[["difference", "p"]].isna().all(axis=None)
    sound = tests[(tests["method"] == "plain") & (tests["baseline"] == "chance")]
    assert sound[["difference", "p"]].notna().all(axis=None)


@pytest.mark.parametrize(
    ("nonmembers", "tested"), [(19, {"auc"}), (20, {"auc", "rate"})]
)
def test_a_rate_of_fewer_than_20_nonmembers_has_no_p(nonmembers, tested):
    label = np.arange(60 + nonmembers) < 60
    columns = {}
    for seed, name in enumerate(("plain", "other")):
        columns[name, ""] = noise(len(label), seed=seed)
    _, tests = run(columns, texts(label.astype(int)))
    kinds = tests["metric"].where(tests["metric"] == "auc", "rate")
    bootstrap = tests["test"] == "bootstrap"
    assert set(kinds[bootstrap & tests["p"].notna()]) == tested


@pytest.fixture(scope="module")
def texts_table() -> pd.DataFrame:
    words = []
    for number in range(30):
        words.append(f"text {number} of its own words {number * 7} and {number * 11}")
    label = np.r_[np.ones(20), np.zeros(10)]
    return texts(label, text=words, document=[f"d{number}" for number in range(30)])


@pytest.fixture(scope="module")
def prefixes(texts_table: pd.DataFrame) -> pd.DataFrame:
    shots = (
        (0, "member", 0),
        (0, "nonmember", 20),
        (1, "member", 5),
        (1, "nonmember", 21),
    )
    rows = []
    for draw, kind, number in shots:
        rows.append({"draw": draw, "kind": kind, "text_id": f"64-{number:05d}"})
    frame = pd.DataFrame(rows).assign(nonmembers="", subset="", length=64, position=0)
    return frame.astype({"length": "Int64"})


def test_prefix_texts_leave_their_own_draw_alone_and_balanced_cuts_the_larger_class(
    texts_table, prefixes
):
    sets = {}
    for chosen in evaluation_sets(texts_table, prefixes):
        sets[chosen.name, chosen.draw] = set(chosen.ids or ())
    everything = set(texts_table["text_id"])
    assert sets["without_prefixes", 0] == everything - {"64-00000", "64-00020"}
    assert sets["without_prefixes", 1] == everything - {"64-00005", "64-00021"}
    for draw in (0, 1):
        assert sets["balanced", draw] < sets["without_prefixes", draw]
    assert set(sets) == {
        ("all", None),
        ("without_prefixes", 0),
        ("without_prefixes", 1),
        ("balanced", 0),
        ("balanced", 1),
    }


def test_the_sets_are_those_of_the_draws_of_the_runs(texts_table, prefixes):
    sets = []
    for chosen in evaluation_sets(texts_table, prefixes, [1]):
        sets.append((chosen.name, chosen.draw))
    assert sets == [("all", None), ("without_prefixes", 1), ("balanced", 1)]
    assert evaluation_sets(texts_table) == [EvaluationSet()]


def test_pooled_ranks_the_subsets_together_beside_each_alone():
    parts = [texts(LABEL, subset=name) for name in ("early", "late")]
    both = pd.concat(parts, ignore_index=True)
    values = noise(400) + 0.5 * both["label"].to_numpy(dtype=float)
    metrics, tests = run({("plain", ""): values}, both, pooled=True)
    rows = metrics[
        (metrics["selection"] == "default") & (metrics["metric"] == "auc")
    ].set_index("subset")
    assert set(rows.index) == set(tests["subset"]) == {"", "early", "late"}
    assert rows.loc["", "value"] == pytest.approx(
        auc(values, both["label"].to_numpy(dtype=int))
    )
    assert rows.loc["", "n_members"] == 200
    assert rows.loc["early", "n_members"] == 100


@pytest.mark.parametrize("shift", [0.7, -0.7])
def test_a_shift_has_its_own_length_and_direction(shift):
    values = noise(50)
    assert signed_wasserstein(values + shift, values) == pytest.approx(shift)
