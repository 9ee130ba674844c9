"""What is reported of documents, against scikit-learn, scipy and counting by hand."""

import warnings
from types import SimpleNamespace

import made_up_answers as made_up
import numpy as np
import pandas as pd
import pytest
from evaluation_tables import auc, noise, only, run, scores, texts
from scipy import stats
from sklearn.metrics import roc_auc_score, roc_curve

from pretrace.evaluation.documents import welch_tests, youden_accuracy
from pretrace.evaluation.metrics import ACCURACIES
from pretrace.evaluation.selection import Estimand, RankingKey
from pretrace.render.results import Results
from pretrace.runtime.files import read_parquet

PAIR = (made_up.MODEL, made_up.BENCHMARK)


@pytest.fixture(scope="module")
def results(tmp_path_factory: pytest.TempPathFactory) -> Results:
    return made_up.make_study(tmp_path_factory.mktemp("study"))


def table(results: Results, kind: str) -> pd.DataFrame:
    return read_parquet(results.path("metrics", PAIR).parent / f"{kind}.parquet")


def scores_of(
    results: Results, method: str, setting: str = ""
) -> tuple[np.ndarray, np.ndarray]:
    """Scores of the members and of the non-members."""
    scores = read_parquet(results.path("metrics", PAIR).with_name("scores.parquet"))
    rows = scores[(scores["method"] == method) & (scores["setting"] == setting)]
    member = rows["id"].str[1:].astype(int) < 8
    return rows.loc[member, "score"].to_numpy(), rows.loc[~member, "score"].to_numpy()


@pytest.mark.parametrize("digits", [1, 6])
def test_balanced_accuracy_at_youdens_threshold_is_that_of_binarised_predictions(
    digits,
):
    rng = np.random.default_rng(0)
    for _ in range(20):
        label = rng.random(30) < 0.4
        scores = np.round(rng.normal(size=30) + label, digits)
        drawn = rng.multinomial(30, np.ones(30) / 30)
        label_of_drawn = np.repeat(label, drawn)
        scored = np.repeat(scores, drawn)
        if label_of_drawn.all() or not label_of_drawn.any():
            continue
        false, true, thresholds = roc_curve(
            label_of_drawn, scored, drop_intermediate=False
        )
        expected = roc_auc_score(
            label_of_drawn, scored >= thresholds[np.argmax(true - false)]
        )
        accuracy = youden_accuracy(scores, label, drawn[:, None].astype(float))
        assert accuracy.item() == pytest.approx(expected)


def test_auc_is_over_documents(results):
    expected = auc(np.concatenate(scores_of(results, "de_cop")), np.arange(16) < 8)
    row = only(
        table(results, "metrics"),
        metric="auc",
        method="de_cop",
        selection="default",
        setting="",
    )
    assert row["value"] == pytest.approx(expected)
    assert row["unit"] == "document"
    assert row["n_members"] == 8
    assert row["n_nonmembers"] == 8
    assert row["low"] <= expected <= row["high"]


def test_accuracies_are_means_over_documents_of_every_setting(results):
    rows = table(results, "metrics")
    grid = rows[rows["selection"] == "grid"].set_index(["method", "setting", "metric"])
    for method, setting in (("de_cop", ""), ("de_cop", "calibration=cross_fitted"),
                            ("completion", "k=32"),
                            ("completion", "k=50"), ("name_cloze", ""),
                            ("longest_option", "")):  # fmt: skip
        for metric, values in zip(
            ACCURACIES, scores_of(results, method, setting), strict=True
        ):
            row = grid.loc[(method, setting, metric)]
            assert row["value"] == pytest.approx(values.mean())
            assert row["low"] <= row["value"] <= row["high"]


def test_cross_fitted_calibration_is_marked_and_nothing_else_is(results):
    rows = table(results, "metrics")
    marked = rows["marks"].str.contains("cross_fitted")
    assert marked.any()
    assert (marked == rows["setting"].str.contains("cross_fitted")).all()


def test_what_is_published_of_documents_is_of_one_setting():
    benchmark = texts(np.arange(30) % 2)
    benchmark["document"] = benchmark["text_id"]
    columns = {}
    for number, method in enumerate(("plain", "other")):
        columns[method, ""] = noise(30, seed=number)
    rows, _ = run(scores(benchmark, columns).assign(unit="document"), benchmark)
    held_out = set(rows.loc[rows["selection"] == "held_out", "metric"])
    assert "auc" in held_out
    assert not held_out & {"auc_as_published", *ACCURACIES}


def test_welchs_test_is_scipys_on_the_documents(results):
    members, nonmembers = scores_of(results, "de_cop")
    welch = table(results, "tests").query("test == 'welch'")
    row = only(welch, method="de_cop", setting="")
    expected = stats.ttest_ind(members, nonmembers, equal_var=False)
    interval = expected.confidence_interval(0.95)
    assert row["p"] == pytest.approx(expected.pvalue)
    assert row["difference"] == pytest.approx(members.mean() - nonmembers.mean())
    assert row["low"] == pytest.approx(interval.low)
    assert row["high"] == pytest.approx(interval.high)
    assert row["baseline"] == "nonmembers"
    assert row["metric"] == "mean_score"
    assert "odd_one_out" not in set(welch["method"]), (
        "without any spread there is nothing to test"
    )


def test_a_class_of_equal_scores_is_tested_without_a_warning():
    """Welch's t-test is then that of the other class's mean against this score."""
    scores = np.array([0.1] * 5 + [0.2, 0.3, 0.5, 0.6, 0.7])
    scored = np.ones((1, 10), dtype=bool)
    units = SimpleNamespace(scores=scores[None], scored=scored, label=np.arange(10) < 5)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        [test] = welch_tests(units, [Estimand("default", 0, RankingKey((0,)))])
    assert test.p == pytest.approx(stats.ttest_1samp(scores[5:], 0.1).pvalue)
    assert test.difference == pytest.approx(0.1 - scores[5:].mean())
