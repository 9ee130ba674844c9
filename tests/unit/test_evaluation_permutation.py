"""Relabelling within documents: by brute force, of exact size, and only where the split was drawn so."""

from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pytest
from evaluation_tables import LABEL, SETTINGS, noise, only, run, texts

from pretrace.benchmarks.slices import Slice
from pretrace.evaluation import resampling
from pretrace.evaluation.permutation import relabelled_aucs, relabellings
from pretrace.evaluation.scores import RankedUnits
from pretrace.evaluation.selection import Rankings, choose
from pretrace.evaluation.significance import permutation_test
from pretrace.methods.settings import Column

DOCUMENT = np.arange(200) // 8
"""25 documents of eight texts."""


def units_of(columns, label, document=DOCUMENT):
    names = [Column(method, setting, "", "", -1, "") for method, setting in columns]
    fold = document % 5
    return RankedUnits(
        "text", Slice("", None), "all", None, label == 1, fold, tuple(range(5)), np.arange(len(label)), document,
        tuple(names), np.stack(list(columns.values())),
    )  # fmt: skip


def method_of(estimate, units):
    return estimate.selection, units.columns[estimate.rankings[0].column].method


def all_relabellings(label, document, count=400, seed=0):
    return np.concatenate(list(relabellings(label == 1, document, count, seed)), axis=1)


def test_each_document_keeps_its_number_of_members_and_any_of_its_texts_may_be_one():
    label = np.where(DOCUMENT < 2, DOCUMENT, np.arange(200) % 4 == 0)
    labels = all_relabellings(label, DOCUMENT)
    assert (labels[:, 0] == label).all()
    for document in range(25):
        rows = document == DOCUMENT
        assert (labels[rows].sum(axis=0) == label[rows].sum()).all()
        means = labels[rows, 1:].mean(axis=1)
        assert means == pytest.approx(np.full(8, label[rows].mean()), abs=0.12)
    assert (labels[DOCUMENT < 2] == label[DOCUMENT < 2, None]).all()


def test_texts_without_a_document_exchange_their_labels():
    labels = all_relabellings(LABEL, np.full(200, -1))
    assert (labels.sum(axis=0) == 100).all()
    assert labels[:, 1:].mean(axis=1) == pytest.approx(np.full(200, 0.5), abs=0.12)


def test_relabellings_do_not_depend_on_the_parts_they_come_in(monkeypatch):
    whole = all_relabellings(LABEL, DOCUMENT, count=100)
    monkeypatch.setattr(resampling, "_CHUNK_BYTES", 8 * 200 * 9)
    parts = list(relabellings(LABEL == 1, DOCUMENT, 100, 0))
    assert max(part.shape[1] for part in parts) == 9
    assert (np.concatenate(parts, axis=1) == whole).all()


def test_every_relabelling_is_evaluated_as_those_labels_would_be():
    """Ties, texts without a score, and held-out settings that are chosen again: all by `choose` itself."""
    rounded = {("tuned", f"k={k}"): np.round(noise(200, seed=k), 1) for k in range(1, 8)}
    some = np.where(np.arange(200) % 7 == 0, np.nan, noise(200, seed=9))
    units = units_of({**rounded, ("plain", ""): some}, LABEL)
    aucs_of = relabelled_aucs(units, choose(units, Rankings(units), SETTINGS), SETTINGS, 12, 3)
    assert {method_of(estimand, units) for estimand in aucs_of} == {
        (selection, method) for selection in ("default", "held_out") for method in ("tuned", "plain")
    }
    settings_chosen = set()
    for number, label in enumerate(all_relabellings(LABEL, DOCUMENT, 12, 3).T):
        other = replace(units, label=label == 1)
        rankings = Rankings(other)
        expected = [
            estimand for estimand in choose(other, rankings, SETTINGS).estimands if estimand.metric == 0
        ]
        values = rankings.values(expected, np.ones((200, 1)))[:, 0]
        by_key = {method_of(estimand, units): value for estimand, value in zip(expected, values, strict=True)}
        for estimand, aucs in aucs_of.items():
            assert aucs[number] == pytest.approx(by_key[method_of(estimand, units)])
        settings_chosen.update(estimand.rankings for estimand in expected if estimand.selection == "held_out")
    assert len(settings_chosen) > 12


def test_p_counts_the_labels_as_they_are_and_both_sides():
    aucs = np.array([[0.6, 0.5, 0.55, 0.35, 0.5], [0.5, 0.5, 0.5, 0.5, 0.5]])
    difference, result = permutation_test(aucs)
    assert difference == pytest.approx([0.1, 0])
    assert result.p.tolist() == [2 / 5, 1]


def test_only_a_randomised_split_has_permutation_tests_and_learned_scores_have_none():
    document = [f"d{number:02d}" for number in DOCUMENT]
    benchmark = texts(LABEL, document=document, fold=DOCUMENT % 5)
    columns = {("plain", ""): LABEL * 0.4 + noise(200)}
    columns |= {("other", ""): noise(200, seed=1), ("tuned", "k=2"): noise(200, seed=2)}
    learned = SimpleNamespace(**vars(SETTINGS) | {"cross_fitted": lambda method: method == "tuned"})
    metrics, tests = run(columns, benchmark, settings=learned, randomised=True)
    rows = tests[tests["test"] == "permutation"]
    keys = map(tuple, rows[["method", "selection", "baseline", "metric"]].values)
    assert sorted(keys) == [
        (method, selection, "chance", "auc")
        for method in ("other", "plain") for selection in ("default", "held_out")
    ]  # fmt: skip
    assert (rows["p"] * 51).tolist() == pytest.approx((rows["p"] * 51).round().tolist())
    assert (rows["p_holm"] >= rows["p"]).all()
    row = only(rows, method="plain", selection="default")
    value = only(metrics, method="plain", selection="default", metric="auc")["value"]
    assert row["difference"] == pytest.approx(value - 0.5, abs=0.02)
    assert row["low"] < row["difference"] < row["high"]
    assert "permutation" not in set(run(columns, benchmark, settings=learned)[1]["test"])
