"""Where there is nothing to find, the blind control finds nothing: by simulation of whole benchmarks.

Words and labels are drawn apart, so every true AUC is 0.5; folds, scores and intervals are the project's own.
"""

from collections.abc import Callable
from types import SimpleNamespace

import evaluation_tables
import numpy as np
import pandas as pd
import pytest
from evaluation_tables import LABEL, SETTINGS, auc, noise, only, run
from scipy.stats import binom, sem

from pretrace.benchmarks.folds import assign_folds
from pretrace.benchmarks.sources import Text
from pretrace.evaluation.cells import scores_of
from pretrace.evaluation.evaluate import evaluate
from pretrace.evaluation.significance import CROSS_FITTED
from pretrace.methods import METHODS, LabelledTexts

WORDS = np.array([f"w{number}" for number in range(150)])
COMMON = 1 / np.arange(3, len(WORDS) + 3)


def speech(draw: np.random.Generator, own: np.ndarray | float = 1.0, words: int = 15) -> str:
    """Words of which a document uses some more than others do."""
    weights = COMMON * own
    return " ".join(draw.choice(WORDS, words, p=weights / weights.sum()))


def with_whole_documents(draw: np.random.Generator) -> list[Text]:
    """Three documents of non-members alone, and twelve that give to both classes what makes these equal."""
    labels = [[0] * 24] * 3 + [[1] * 9 + [0] * 3] * 12
    return [
        Text(f"t{document:02d}-{at:02d}", speech(draw), label, document=f"d{document:02d}")
        for document, of_document in enumerate(labels)
        for at, label in enumerate(of_document)
    ]


def halves_of_documents(draw: np.random.Generator) -> list[Text]:
    """Twenty documents with words of their own; half of the eight texts of each are members."""
    texts = []
    for document in range(20):
        own = np.exp(0.7 * draw.normal(size=len(WORDS)))
        texts += [
            Text(f"t{document:02d}-{at}", speech(draw, own), int(label), document=f"d{document:02d}")
            for at, label in enumerate(draw.permutation([0, 1] * 4))
        ]
    return texts


def drawn(
    make: Callable[[np.random.Generator], list[Text]], seed: int
) -> tuple[list[Text], list[int], list[float]]:
    """One benchmark: texts, folds and scores."""
    texts = make(np.random.default_rng([7, seed]))
    folds = assign_folds(texts, seed).of
    ids = [text.text_id for text in texts]
    labelled = LabelledTexts(ids, [text.text for text in texts], [text.label for text in texts], folds, "en")
    scores = METHODS["blind"].function(labelled)
    return texts, folds, [scores[id] for id in ids]


@pytest.mark.full
def test_the_mean_auc_is_one_half() -> None:
    """Decision values of several classifiers, ranked as they are, would lie far below."""
    benchmarks = [drawn(with_whole_documents, seed) for seed in range(80)]
    values = [auc(scores, np.array([text.label for text in texts])) for texts, _, scores in benchmarks]
    assert abs(np.mean(values) - 0.5) < 3 * sem(values)
    assert sem(values) < 0.015


@pytest.mark.full
def test_no_more_intervals_miss_one_half_than_may() -> None:
    """5 % of the default rows may; taken from the bootstrap as it is, one in five would."""
    rows = pd.DataFrame([auc_row(*drawn(halves_of_documents, seed), seed) for seed in range(80)])
    assert set(rows["marks"]) == {"cross_fitted"}
    allowed = binom.ppf(0.99, len(rows), 0.05)
    assert missed(rows).sum() <= allowed
    ends = rows[["low", "high"]].astype(float)
    rows[["low", "high"]] = ends.sub(rows["value"], axis=0).div(CROSS_FITTED).add(rows["value"], axis=0)
    assert missed(rows).sum() > allowed


def missed(rows: pd.DataFrame) -> pd.Series:
    return (rows["low"] > 0.5) | (rows["high"] < 0.5)


def auc_row(texts: list[Text], folds: list[int], scores: list[float], seed: int) -> pd.Series:
    """The row of the metrics table with the AUC of the default."""
    ids = [text.text_id for text in texts]
    benchmark = evaluation_tables.texts(
        [text.label for text in texts], fold=folds, document=[text.document for text in texts]
    ).assign(text_id=ids)
    table = evaluation_tables.scores(benchmark, {("blind", ""): scores})
    names = {"study": "s", "model": "m", "benchmark_name": f"b{seed}"}
    metrics, _ = evaluate(scores_of([table], benchmark), benchmark, resamples=200, **names)
    return only(metrics, selection="default", metric="auc")


def test_intervals_and_tests_of_a_learned_score_are_wider_and_no_others() -> None:
    columns = {("plain", ""): LABEL + noise(200), ("other", ""): noise(200, seed=1)}
    learned = SimpleNamespace(**vars(SETTINGS) | {"cross_fitted": lambda method: method == "plain"})
    given, wider = (run(columns, resamples=300, settings=known) for known in (SETTINGS, learned))
    for method, factor in (("plain", CROSS_FITTED), ("other", 1)):
        row = {"method": method, "selection": "default", "metric": "auc"}
        before, after = only(given[0], **row), only(wider[0], **row)
        assert before["value"] == after["value"]
        assert ("cross_fitted" in after["marks"]) == (method == "plain")
        for end in ("low", "high"):
            assert after[end] - after["value"] == pytest.approx(factor * (before[end] - before["value"]))
        tested = row | {"test": "delong", "baseline": "chance"}
        before, after = only(given[1], **tested), only(wider[1], **tested)
        assert after["high"] - after["low"] == pytest.approx(factor * (before["high"] - before["low"]))
