import numpy as np

from pretrace.methods.bag_of_words import word_weights
from pretrace.methods.registry import method
from pretrace.methods.statistics import LabelledTexts
from pretrace.runtime.logs import log


@method("blind", needs=("texts",))
def blind(texts: LabelledTexts) -> dict[str, float]:
    """Out-of-fold decision value of a bag-of-words classifier that sees no model: text id -> score.

    Logistic regression (C=10) on tf-idf of word 1-2-grams (lower-cased, sublinear; Chinese words by jieba),
    weights and vocabulary fitted on the labelled texts of the other folds, and for unlabelled texts on all
    labelled ones. Where those are of one class, or hold no word, nothing can be fitted and the texts have no
    score.
    Das, Zhang and Tramèr, Blind Baselines Beat Membership Inference Attacks for Foundation Models, 2024.
    """
    labelled = np.array([label is not None for label in texts.labels])
    folds = np.array(texts.folds)
    parts = [(labelled & (folds == fold), labelled & (folds != fold)) for fold in sorted(set(texts.folds))]
    scores: dict[str, float] = {}
    for test, train in [*parts, (~labelled, labelled)]:
        if test.any():
            scores |= _decisions(texts, np.flatnonzero(test), np.flatnonzero(train))
    return scores


def _decisions(texts: LabelledTexts, test: np.ndarray, train: np.ndarray) -> dict[str, float]:
    from sklearn.linear_model import LogisticRegression
    from sklearn.pipeline import make_pipeline
    from threadpoolctl import threadpool_limits  # type: ignore[import-untyped]

    labels = [texts.labels[i] for i in train]
    if len(set(labels)) < 2:
        log.info("blind: no score for %d texts: the texts to learn from are of one class", len(test))
        return {}
    words = word_weights(texts.language)
    if not any(map(words.build_analyzer(), (texts.texts[i] for i in train))):
        log.info("blind: no score for %d texts: the texts to learn from hold no word", len(test))
        return {}
    classifier = make_pipeline(words, LogisticRegression(C=10, max_iter=2000))
    with threadpool_limits(
        limits=1
    ):  # the same sums on every machine, and no threads that wait for each other
        classifier.fit([texts.texts[i] for i in train], labels)
        decisions = classifier.decision_function([texts.texts[i] for i in test])
    return {texts.ids[i]: float(decision) for i, decision in zip(test, decisions, strict=True)}
