from typing import Any

import numpy as np

from pretrace.methods.bag_of_words import word_counts, word_weights
from pretrace.methods.registry import method
from pretrace.methods.statistics import LabelledTexts
from pretrace.runtime.logs import log


@method("blind", needs=("texts",), control="no model", cross_fitted=True)
def blind(texts: LabelledTexts) -> dict[str, float]:
    """Similarity of a text to the members, by a bag-of-words classifier that sees no
    model: id -> score.

    Logistic regression (C=10) on tf-idf of word 1-2-grams (lower-cased, sublinear;
    Chinese words by jieba), weights and vocabulary fitted on the labelled texts of the
    other folds, and for unlabelled texts on all labelled ones. The score is the
    decision value minus the mean over the fold's texts, and for unlabelled texts minus
    the mean over all labelled ones: each classifier has a threshold of its own, which
    is high where the other folds hold few members and this one therefore many, so that
    decision values compared across folds rank members too low (AUC 0.48 to 0.50 without
    a difference). Where the other folds are of one class, or hold no word, nothing can
    be fitted and the texts have no score.

    Das, Zhang and Tramèr, Blind Baselines Beat Membership Inference Attacks for
    Foundation Models, 2024.
    """
    labelled = np.array([label is not None for label in texts.labels])
    folds = np.array(texts.folds)
    counts = word_counts(texts.texts, texts.language)
    decisions: dict[str, float] = {}
    scores: dict[str, float] = {}
    for fold in sorted(set(texts.folds)):
        of_fold = labelled & (folds == fold)
        if not of_fold.any():
            continue
        test = np.flatnonzero(of_fold)
        train = np.flatnonzero(labelled & ~of_fold)
        values = decision_values(texts, counts, test, train)
        scores |= _less(values, values)
        decisions |= values
    if not labelled.all():
        test = np.flatnonzero(~labelled)
        train = np.flatnonzero(labelled)
        values = decision_values(texts, counts, test, train)
        scores |= _less(values, decisions)
    return scores


def _less(decisions: dict[str, float], others: dict[str, float]) -> dict[str, float]:
    """Return decision values minus the mean of the others, if any."""
    mean = float(np.mean([*others.values()])) if others else 0.0
    return {id: decision - mean for id, decision in decisions.items()}


def decision_values(
    texts: LabelledTexts, counts: Any, test: np.ndarray, train: np.ndarray
) -> dict[str, float]:
    """Return id -> decision value of the texts at `test`, by a classifier of the texts
    at `train`."""
    from sklearn.linear_model import LogisticRegression
    from threadpoolctl import threadpool_limits  # type: ignore[import-untyped]

    labels = [texts.labels[i] for i in train]
    of_train = counts[train]
    reason = ""
    if len(set(labels)) < 2:
        reason = "the texts to learn from are of one class"
    elif not of_train.nnz:
        reason = "the texts to learn from hold no word"
    if reason:
        log.info("blind: no score for %d texts: %s", len(test), reason)
        return {}
    learned, tested = word_weights(of_train, counts[test])
    # the same sums on every machine, and no threads that wait for each other
    with threadpool_limits(limits=1):
        classifier = LogisticRegression(C=10, max_iter=2000).fit(learned, labels)
        decisions = classifier.decision_function(tested).tolist()
    ids = [texts.ids[i] for i in test]
    return dict(zip(ids, decisions, strict=True))
