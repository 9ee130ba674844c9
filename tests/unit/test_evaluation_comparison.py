"""Who is compared with whom, on which texts, and with which resamples."""

import numpy as np
import pandas as pd
import pytest
from evaluation_tables import LABEL, auc, noise, only, run, scores, texts

from pretrace.evaluation.comparison import partner
from pretrace.evaluation.scores import EvaluationSet
from pretrace.evaluation.significance import holm
from pretrace.methods.settings import Column


def test_every_method_against_every_other_and_chance():
    columns = {
        (m, ""): noise(200, seed=number) + number * LABEL / 4
        for number, m in enumerate(("plain", "other", "third"))
    }
    metrics, tests = run(columns, resamples=300)
    count = tests.groupby(["selection", "test", "metric"]).size().to_dict()
    four = ("auc", "tpr_at_1_fpr", "tpr_at_5_fpr", "tpr_at_10_fpr")
    expected = {(s, "bootstrap", m): 9 for s in ("default", "held_out") for m in four}
    expected |= {("default", "t_as_published", m): 9 for m in four}
    assert count == expected
    held = {
        m: only(metrics, method=m, selection="held_out", metric="auc")["value"] for m in ("plain", "third")
    }
    forth = only(tests, method="third", baseline="plain", selection="held_out", metric="auc")
    back = only(tests, method="plain", baseline="third", selection="held_out", metric="auc")
    assert forth["difference"] == pytest.approx(held["third"] - held["plain"])
    assert (back["difference"], back["low"], back["high"], back["p"]) == pytest.approx(
        (-forth["difference"], -forth["high"], -forth["low"], forth["p"])
    )
    family = tests[(tests["baseline"] == "chance") & (tests["test"] == "bootstrap")]
    family = family[(family["selection"] == "default") & (family["metric"] == "auc")]
    assert family["p_holm"].to_numpy() == pytest.approx(holm(family["p"].to_numpy()))


def test_the_same_resamples_serve_every_method():
    values = noise(200) + LABEL
    columns = {("plain", ""): values, ("other", ""): 3 * values - 7, ("third", ""): noise(200, seed=5)}
    metrics, tests = run(columns)
    rows = metrics[metrics["selection"] == "default"].set_index(["method", "metric"])[
        ["value", "low", "high"]
    ]
    pd.testing.assert_frame_equal(rows.loc["plain"], rows.loc["other"])
    pair = tests[(tests["method"] == "plain") & (tests["baseline"] == "other")]
    assert (pair[["difference", "low", "high"]] == 0).all(axis=None)
    assert (pair["p"] == 1).all()


def test_the_interval_of_a_lead_over_chance_is_that_of_the_metric():
    metrics, tests = run({("plain", ""): noise(200) + LABEL}, resamples=200)
    keys = ["selection", "metric"]
    for row in tests[tests["test"].eq("bootstrap")].to_dict("records"):
        metric = only(metrics, **{key: row[key] for key in keys})
        chance = metric["value"] - row["difference"]
        assert (row["low"] + chance, row["high"] + chance) == pytest.approx((metric["low"], metric["high"]))


def test_cells_are_separate():
    parts = [texts(LABEL, subset=s, length=length) for s in ("a", "b") for length in (32, None)]
    benchmark = pd.concat(parts, ignore_index=True)
    metrics, tests = run({("plain", ""): noise(800)}, benchmark)
    for frame in (metrics, tests):
        assert frame.groupby(["subset", "length"], dropna=False).ngroups == 4
    alone, _ = run({("plain", ""): noise(800)[400:600]}, parts[2])
    same = metrics[(metrics["subset"] == "b") & (metrics["length"] == 32)].reset_index(drop=True)
    pd.testing.assert_frame_equal(same, alone)


def test_a_set_of_a_draw_holds_its_texts_and_methods_without_prefix_carry_its_draw():
    benchmark = texts(LABEL)
    table = pd.concat([scores(benchmark, {("plain", ""): noise(200)})] + [
        scores(benchmark, {("other", ""): noise(200, seed=1 + draw)}, draw=draw) for draw in (0, 1)
    ])  # fmt: skip
    sets = [EvaluationSet()] + [
        EvaluationSet("without_prefixes", draw, set(benchmark["text_id"][10 * (draw + 1) :]))
        for draw in (0, 1)
    ]
    metrics, tests = run(table, benchmark, evaluation_sets=sets)
    default = metrics[(metrics["selection"] == "default") & (metrics["metric"] == "auc")]
    numbers = {
        (row.evaluation_set, row.method, None if pd.isna(row.draw) else row.draw): (row.n_members, row.value)
        for row in default.itertuples()
    }
    assert {key: n for key, (n, _) in numbers.items()} == {
        ("all", "plain", None): 100,
        ("without_prefixes", "plain", 0): 95, ("without_prefixes", "other", 0): 95,
        ("without_prefixes", "plain", 1): 90, ("without_prefixes", "other", 1): 90,
    }  # fmt: skip
    assert numbers["without_prefixes", "plain", 1][1] == pytest.approx(auc(noise(200)[20:], LABEL[20:]))
    pairs = tests[(tests["baseline"] == "other") & (tests["test"] == "t_as_published")]
    numbers = set(zip(pairs["evaluation_set"], pairs["draw"], strict=True))
    assert numbers == {("without_prefixes", 0), ("without_prefixes", 1)}


def test_views_start_tokens_and_references_keep_apart():
    def key(start_token="", draw=-1, reference=""):
        return Column("m", "", "original", start_token, draw, reference)

    bos, none, blank = key("bos"), key("none"), key("")
    assert partner(bos, [none, bos]) == bos
    assert partner(bos, [none]) is None
    assert partner(bos, [blank]) == blank
    assert partner(blank, [bos]) == bos
    assert partner(blank, [bos, none]) is None
    assert partner(key(draw=1), [key(draw=0), key(draw=1)]) == key(draw=1)
    assert partner(key(draw=1), [key(draw=0)]) is None
    web, code, small = (key(reference=reference) for reference in ("web", "code", "small-model"))
    assert partner(web, [web, code]) == web
    assert partner(web, [small]) == small
    assert partner(key(), [web, code]) is None


def test_a_method_that_scores_one_class_alone_differs_from_none():
    members = np.where(LABEL == 1, noise(200), np.nan)
    _, tests = run({("plain", ""): noise(200, seed=1), ("other", ""): members})
    lame = tests[(tests["method"] == "other") | (tests["baseline"] == "other")]
    assert len(lame)
    assert lame[["difference", "p", "p_holm"]].isna().all(axis=None)
    sound = tests[(tests["method"] == "plain") & (tests["baseline"] == "chance")]
    assert sound[["difference", "p", "p_holm"]].notna().all(axis=None)
