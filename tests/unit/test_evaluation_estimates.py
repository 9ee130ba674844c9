"""What is shown beside metrics and tests: curves, tokens, shifts by a prefix, answers,
and averages."""

import made_up_prefixes
import made_up_results as made_up
import numpy as np
import pandas as pd
import pytest
from evaluation_tables import only
from matplotlib.figure import Figure
from scipy.stats import binomtest
from sklearn.metrics import roc_curve

from pretrace.evaluation.answers import mean_of_groups
from pretrace.evaluation.curves import DENSITY_GRID, densities, roc_points
from pretrace.evaluation.scores import EvaluationSet
from pretrace.evaluation.significance import wilson
from pretrace.evaluation.tokens import (
    HEXAGONS,
    Passes,
    class_tokens,
    hexagons,
    resampled_means,
    shifts,
    signed_wasserstein,
)
from pretrace.passes.index import PassIndex
from pretrace.runtime.errors import InputError


def test_roc_points_are_those_of_sklearn():
    rng = np.random.default_rng(0)
    scores = rng.integers(0, 9, 80).astype(float)
    label = rng.random(80) < 0.4
    false, true, _ = roc_curve(label, scores, drop_intermediate=False)
    np.testing.assert_array_equal(roc_points(scores, label).T, [false, true])


def test_densities_are_of_each_class_scaled_together():
    rng = np.random.default_rng(0)
    label = np.arange(400) % 2 == 0
    curves = densities(rng.normal(size=400) * 3 + label, label)
    means = {}
    for side in (0, 1):
        density = curves[side]
        assert 0.8 < np.trapezoid(density, DENSITY_GRID) <= 1.001
        means[side] = np.average(DENSITY_GRID, weights=density)
    assert means[1] > means[0]


def test_a_class_of_equal_scores_has_no_density():
    label = np.arange(20) < 10
    scores = np.where(label, np.arange(20.0), 0.0)
    assert densities(scores, label).keys() == {1}


@pytest.mark.parametrize(("successes", "trials"), [(0, 7), (3, 7), (7, 7), (120, 300)])
def test_the_interval_of_a_share_is_wilsons(successes, trials):
    interval = binomtest(successes, trials).proportion_ci(0.95, method="wilson")
    low, high = wilson(np.array(successes / trials), np.array(trials))
    assert low == pytest.approx(interval.low)
    assert high == pytest.approx(interval.high)


def test_hexagons_are_those_of_matplotlib():
    rng = np.random.default_rng(0)
    x = rng.gamma(2, 1, 500)
    y = -rng.gamma(2, 2, 500)
    extent = (0.0, float(x.max()), float(np.quantile(y, 0.01)), 0.0)
    drawn = Figure().subplots().hexbin(x, y, gridsize=HEXAGONS, extent=extent, mincnt=1)
    centres = np.stack(hexagons(x, y, extent), axis=1).round(9)
    ours = pd.DataFrame(centres).value_counts().to_dict()
    theirs = {}
    for centre, count in zip(drawn.get_offsets(), drawn.get_array(), strict=True):
        theirs[tuple(centre.round(9))] = count
    assert ours == theirs


def test_surprising_tokens_are_those_below_both_thresholds():
    rows = [
        ("t0000", [-1.0, -2.0, -3.0, -4.0, -5.0], [0.5, 0.5, 2.0, 3.0, 1.9]),
        ("t0200", [-1.0, -9.0], [0.1, 0.1]),
        ("unknown", [-1.0], [0.1]),
    ]
    table = pd.DataFrame(rows, columns=["text_id", "logprobs", "entropies"])
    passes = made_up.passes(table)
    tokens = class_tokens(passes, made_up.texts_frame(), made_up.READING)
    members, nonmembers = tokens[1], tokens[0]
    assert list(members.frame["surprising"]) == [False, False, False, False, True]
    assert list(nonmembers.surprising["logprob"]) == [-9.0]
    means = resampled_means(members, np.zeros(1, dtype=int), 1)
    assert set(means[:, 0]) == {-5.0}


def prefix_passes(folder, benchmark, sets, *, stored_twice=0):
    """The passes after a prefix; the manifest lists the first `stored_twice` of them
    again."""
    manifest = made_up_prefixes.manifest(folder, benchmark)
    manifest["views"] += manifest["views"][:stored_twice]
    index = PassIndex(manifest, folder / "store")
    return Passes(index, benchmark, sets, 100, "tiny on eras")


def test_shifts_are_mean_differences_of_every_set_and_place(tmp_path):
    benchmark = made_up_prefixes.texts()
    is_member = benchmark["label"].eq(1)
    is_odd = benchmark["text_id"].str.endswith(("1", "3", "5"))
    ids = set(benchmark.loc[is_member | is_odd, "text_id"])
    sets = [
        EvaluationSet(),
        EvaluationSet("without_prefixes", 0, ids),
        EvaluationSet("balanced", 1, ids),
    ]
    rows = pd.DataFrame(shifts(prefix_passes(tmp_path, benchmark, sets)))
    assert set(rows["subset"]) == {"", "early", "late"}
    sets_with_shots = set(rows["evaluation_set"])
    assert sets_with_shots == {"all", "without_prefixes"}, "no shots of the other draw"
    chosen = (is_odd & ~is_member).to_numpy(dtype=bool)
    plain = made_up_prefixes.log_likelihood(benchmark, "", 0)[chosen]
    given = made_up_prefixes.log_likelihood(benchmark, "nonmember", 5)[chosen]
    row = only(
        rows,
        subset="",
        evaluation_set="without_prefixes",
        label=0,
        shots=5,
        prefix="nonmember",
    )
    assert row["n"] == chosen.sum()
    assert row["value"] == pytest.approx((given - plain).mean())
    assert row["distance"] == pytest.approx(signed_wasserstein(given, plain))
    assert row["low"] < row["value"] < row["high"]


def test_a_pass_that_is_stored_twice_is_an_error(tmp_path):
    benchmark = made_up_prefixes.texts()
    passes = prefix_passes(tmp_path, benchmark, [EvaluationSet()], stored_twice=1)
    with pytest.raises(InputError, match=r"have 'original, start token .* twice"):
        list(shifts(passes))


def test_a_mean_over_documents_counts_each_once_and_one_alone_has_no_interval():
    values = np.array([1.0, 1.0, 1.0, 0.0])
    groups = np.array(["a", "a", "a", "b"])
    mean = mean_of_groups(values, groups, 200, seed=1)
    assert mean == {"value": 0.5, "low": 0, "high": 1, "n": 2, "answers": 4}
    assert "low" not in mean_of_groups(values[:3], groups[:3], 200, seed=1)
