"""Evaluation sets of prefix draws, pooled subsets, and signed Wasserstein distances."""

import numpy as np
import pandas as pd
import pytest
from evaluation_tables import LABEL, auc, noise, run, texts

from pretrace.evaluation.scores import EvaluationSet, evaluation_sets
from pretrace.evaluation.tokens import resampled_distances, signed_wasserstein


@pytest.fixture(scope="module")
def benchmark() -> pd.DataFrame:
    words = [f"text {number} of its own words {number * 7} and {number * 11}" for number in range(30)]
    label = np.r_[np.ones(20), np.zeros(10)]
    return texts(label, text=words, document=[f"d{number}" for number in range(30)])


@pytest.fixture(scope="module")
def prefixes(benchmark: pd.DataFrame) -> pd.DataFrame:
    shots = ((0, "member", 0), (0, "nonmember", 20), (1, "member", 5), (1, "nonmember", 21))
    rows = [{"draw": draw, "kind": kind, "text_id": f"64-{number:05d}"} for draw, kind, number in shots]
    frame = pd.DataFrame(rows).assign(nonmembers="", subset="", length=64, position=0)
    return frame.astype({"length": "Int64"})


def test_prefix_texts_leave_their_own_draw_alone_and_balanced_cuts_the_larger_class(benchmark, prefixes):
    sets = {
        (chosen.name, chosen.draw): set(chosen.ids or ()) for chosen in evaluation_sets(benchmark, prefixes)
    }
    everything = set(benchmark["text_id"])
    assert sets["without_prefixes", 0] == everything - {"64-00000", "64-00020"}
    assert sets["without_prefixes", 1] == everything - {"64-00005", "64-00021"}
    for draw in (0, 1):
        assert sets["balanced", draw] < sets["without_prefixes", draw]
    assert set(sets) == {("all", None)} | {
        (name, draw) for name in ("without_prefixes", "balanced") for draw in (0, 1)
    }


def test_the_sets_are_those_of_the_draws_of_the_runs(benchmark, prefixes):
    sets = [(texts.name, texts.draw) for texts in evaluation_sets(benchmark, prefixes, [1])]
    assert sets == [("all", None), ("without_prefixes", 1), ("balanced", 1)]
    assert evaluation_sets(benchmark) == [EvaluationSet()]


def test_pooled_ranks_the_subsets_together_beside_each_alone():
    parts = [texts(LABEL, subset=name) for name in ("early", "late")]
    both = pd.concat(parts, ignore_index=True)
    values = noise(400) + 0.5 * both["label"].to_numpy(dtype=float)
    metrics, tests = run({("plain", ""): values}, both, pooled=True)
    rows = metrics[(metrics["selection"] == "default") & (metrics["metric"] == "auc")].set_index("subset")
    assert set(rows.index) == set(tests["subset"]) == {"", "early", "late"}
    assert rows.loc["", "value"] == pytest.approx(auc(values, both["label"].to_numpy(dtype=int)))
    assert (rows.loc["", "n_members"], rows.loc["early", "n_members"]) == (200, 100)


@pytest.mark.parametrize("shift", [0.7, -0.7])
def test_a_shift_has_its_own_length_and_direction(shift):
    values = noise(50)
    assert signed_wasserstein(values + shift, values) == pytest.approx(shift)


def test_resampled_distances_are_those_of_the_texts_that_are_drawn():
    values, reference = noise(40) * 2 + 0.3, noise(40, seed=1)
    weights = np.random.default_rng(3).integers(4, size=(40, 5)).astype(float)
    rows = [np.repeat(np.arange(40), times.astype(int)) for times in weights.T]
    expected = [signed_wasserstein(values[drawn], reference[drawn]) for drawn in rows]
    assert resampled_distances(values, reference, weights) == pytest.approx(expected)
