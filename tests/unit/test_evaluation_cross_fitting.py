"""Where there is nothing to find, the blind control finds nothing: by simulation of
whole benchmarks."""

from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest
from evaluation_tables import LABEL, SETTINGS, noise, only, run, texts
from scipy.stats import binom

from pretrace.evaluation.significance import CROSS_FITTED
from pretrace.methods import LabelledTexts
from pretrace.methods.blind import blind
from pretrace.questions import method_facts

WORDS = np.array([f"w{number}" for number in range(150)])
COMMON = 1 / np.arange(3, len(WORDS) + 3)


def auc_of_blind(seed: int) -> pd.Series:
    """The row of its default on twenty documents with words of their own; half of the
    eight texts of each are members.

    Words and labels are drawn apart, so the true AUC is 0.5.
    """
    rng = np.random.default_rng([7, seed])
    document = np.arange(160) // 8
    labels = []
    words = []
    for _ in range(20):
        weights = COMMON * np.exp(0.7 * rng.normal(size=len(WORDS)))
        words += [
            " ".join(rng.choice(WORDS, 15, p=weights / weights.sum())) for _ in range(8)
        ]
        labels += rng.permutation([0, 1] * 4).tolist()
    fold = rng.permutation(20)[document] % 5
    benchmark = texts(
        labels,
        fold=fold,
        document=[f"d{number:02d}" for number in document],
        text=words,
    )
    scores = blind(
        LabelledTexts(benchmark["text_id"].tolist(), words, labels, fold.tolist(), "en")
    )
    columns = {("blind", ""): benchmark["text_id"].map(scores)}
    metrics, _ = run(columns, benchmark, resamples=200, settings=method_facts)
    return only(metrics, selection="default", metric="auc")


@pytest.mark.full
def test_no_more_intervals_miss_one_half_than_may():
    """5 % of the default rows may; taken from the bootstrap as it is, one in five
    would."""
    rows = pd.DataFrame([auc_of_blind(seed) for seed in range(80)])
    assert set(rows["marks"]) == {"cross_fitted"}
    allowed = binom.ppf(0.99, len(rows), 0.05)
    assert missed(rows).sum() <= allowed
    ends = rows[["low", "high"]].astype(float)
    rows[["low", "high"]] = (
        ends.sub(rows["value"], axis=0).div(CROSS_FITTED).add(rows["value"], axis=0)
    )
    assert missed(rows).sum() > allowed


def missed(rows: pd.DataFrame) -> pd.Series:
    return (rows["low"] > 0.5) | (rows["high"] < 0.5)


def test_intervals_and_tests_of_a_learned_score_are_wider_and_no_others():
    columns = {("plain", ""): LABEL + noise(200), ("other", ""): noise(200, seed=1)}
    learned = SimpleNamespace(
        **vars(SETTINGS) | {"cross_fitted": lambda method: method == "plain"}
    )
    given = run(columns, resamples=300, settings=SETTINGS)
    wider = run(columns, resamples=300, settings=learned)
    for method, factor in (("plain", CROSS_FITTED), ("other", 1)):
        row = {"method": method, "selection": "default", "metric": "auc"}
        before = only(given[0], **row)
        after = only(wider[0], **row)
        assert before["value"] == after["value"]
        assert ("cross_fitted" in after["marks"]) == (method == "plain")
        for end in ("low", "high"):
            assert after[end] - after["value"] == pytest.approx(
                factor * (before[end] - before["value"])
            )
        tested = row | {"test": "bootstrap", "baseline": "chance"}
        before = only(given[1], **tested)
        after = only(wider[1], **tested)
        assert after["high"] - after["low"] == pytest.approx(
            factor * (before["high"] - before["low"])
        )
