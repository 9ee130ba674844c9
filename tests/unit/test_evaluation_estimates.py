"""What is shown beside metrics and tests: curves, tokens, shifts by a prefix, answers,
and averages."""

import made_up_prefixes
import made_up_results as made_up
import numpy as np
import pandas as pd
import pytest
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
    assert np.array_equal(np.stack(roc_points(scores, label)), np.stack([false, true]))


def test_densities_are_of_each_class_scaled_together():
    rng = np.random.default_rng(0)
    label = np.arange(400) % 2 == 0
    curves = densities(rng.normal(size=400) * 3 + label, label)
    members = curves[1]
    nonmembers = curves[0]
    for density in (members, nonmembers):
        assert 0.8 < np.trapezoid(density, DENSITY_GRID) <= 1.001
    assert np.average(DENSITY_GRID, weights=members) > np.average(
        DENSITY_GRID, weights=nonmembers
    )


def test_a_class_of_equal_scores_has_no_density():
    label = np.arange(20) < 10
    scores = np.where(label, np.arange(20.0), 0.0)
    assert densities(scores, label).keys() == {1}


@pytest.mark.parametrize(("successes", "trials"), [(0, 7), (3, 7), (7, 7), (120, 300)])
def test_the_interval_of_a_share_is_wilsons(successes, trials):
    interval = binomtest(successes, trials).proportion_ci(0.95, method="wilson")
    ends = wilson(np.array(successes / trials), np.array(trials))
    assert ends == pytest.approx((interval.low, interval.high))


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
    tokens = class_tokens(made_up.passes(table), made_up.texts_frame(), made_up.READING)
    assert list(tokens[1].frame["surprising"]) == [False, False, False, False, True]
    assert list(tokens[0].surprising["logprob"]) == [-9.0]
    means = resampled_means(tokens[1], np.zeros(1, dtype=int), 1)
    assert set(means[:, 0]) == {-5.0}


def test_shifts_are_signed_distances_of_every_set_and_place(tmp_path):
    benchmark = made_up_prefixes.texts()
    chosen_texts = benchmark["label"].eq(0) & benchmark["text_id"].str.endswith(
        ("1", "3", "5")
    )
    ids = set(benchmark.loc[chosen_texts | benchmark["label"].eq(1), "text_id"])
    sets = [
        EvaluationSet(),
        EvaluationSet("without_prefixes", 0, ids),
        EvaluationSet("balanced", 1, ids),
    ]
    manifest = made_up_prefixes.manifest(tmp_path, benchmark)
    passes = Passes(
        PassIndex(manifest, tmp_path / "store"), benchmark, sets, 100, "tiny on eras"
    )
    rows = pd.DataFrame(shifts(passes))
    assert set(rows["subset"]) == {"", "early", "late"}
    assert set(rows["evaluation_set"]) == {"all", "without_prefixes"}, (
        "no shots of the other draw"
    )
    here = chosen_texts.to_numpy(dtype=bool)
    plain = made_up_prefixes.log_likelihood(benchmark, "", 0)[here]
    given = made_up_prefixes.log_likelihood(benchmark, "nonmember", 5)[here]
    chosen = (
        "subset == '' and evaluation_set == 'without_prefixes' and label == 0 and "
        "shots == 5"
    )
    (row,) = rows.query(f"{chosen} and prefix == 'nonmember'").to_dict("records")
    assert row["n"] == chosen_texts.sum()
    assert row["value"] == pytest.approx(signed_wasserstein(given, plain))
    assert row["low"] < row["value"] < row["high"]


def test_a_pass_that_is_stored_twice_is_an_error(tmp_path):
    benchmark = made_up_prefixes.texts()
    manifest = made_up_prefixes.manifest(tmp_path, benchmark)
    twice = manifest | {"views": manifest["views"][:1] + manifest["views"]}
    with pytest.raises(InputError, match=r"have 'original, start token .* twice"):
        list(
            shifts(
                Passes(
                    PassIndex(twice, tmp_path),
                    benchmark,
                    [EvaluationSet()],
                    100,
                    "tiny on eras",
                )
            )
        )


def test_a_mean_over_documents_counts_each_once_and_one_alone_has_no_interval():
    values = np.array([1.0, 1.0, 1.0, 0.0])
    groups = np.array(["a", "a", "a", "b"])
    mean = mean_of_groups(values, groups, 200, seed=1)
    assert mean["n"] == 2
    assert mean["answers"] == 4
    assert mean["value"] == 0.5
    assert mean["low"] == 0
    assert mean["high"] == 1
    assert "low" not in mean_of_groups(values[:3], groups[:3], 200, seed=1)
