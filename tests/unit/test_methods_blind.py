"""The blind control: out-of-fold, against a plain scikit-learn loop, and without
anything to learn from."""

from dataclasses import replace
from typing import Any

import jieba
import numpy as np
import pytest
from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.linear_model import LogisticRegression

from pretrace.methods import METHODS, LabelledTexts

WORDS = [
    "liberty",
    "economy",
    "Congress",
    "peace",
    "Taxes",
    "schools",
    "oil",
    "farms",
    "trade",
    "jobs",
]


def made_up(count: int = 60, *, language: str = "en", seed: int = 0) -> LabelledTexts:
    """Members speak rather of the first half of the words."""
    rng = np.random.default_rng(seed)
    texts = []
    labels = []
    for i in range(count):
        label = i % 2
        weights = np.ones(len(WORDS)) + 2 * label * (
            np.arange(len(WORDS)) < len(WORDS) // 2
        )
        texts.append(" ".join(rng.choice(WORDS, size=12, p=weights / weights.sum())))
        labels.append(label)
    folds = [int(fold) for fold in rng.permutation(np.arange(count) % 5)]
    return LabelledTexts(
        [f"t{i}" for i in range(count)], texts, labels, folds, language
    )


def blind(texts: LabelledTexts) -> dict[str, float]:
    scores = METHODS["blind"].function(texts)
    assert isinstance(scores, dict)
    return scores


def decisions(
    texts: LabelledTexts, test: list[int], train: list[int], **cut: Any
) -> np.ndarray:
    """Plainly by scikit-learn: decision values of the texts at `test` by a classifier
    of those at `train`."""
    weights = TfidfVectorizer(ngram_range=(1, 2), sublinear_tf=True, **cut)
    matrix = weights.fit_transform([texts.texts[i] for i in train])
    model = LogisticRegression(C=10, max_iter=2000).fit(
        matrix, [texts.labels[i] for i in train]
    )
    return model.decision_function(weights.transform([texts.texts[i] for i in test]))


def fold_of(texts: LabelledTexts, fold: int) -> tuple[list[int], list[int]]:
    """Places of the texts inside the fold, and outside."""
    here = [i for i, other in enumerate(texts.folds) if other == fold]
    return here, [i for i in range(len(texts.folds)) if i not in here]


def test_scores_are_those_of_a_classifier_fitted_without_the_fold_around_the_folds_mean():
    texts = made_up()
    expected = {}
    for fold in range(5):
        here, train = fold_of(texts, fold)
        values = decisions(texts, here, train)
        for i, value in zip(here, values - values.mean(), strict=True):
            expected[f"t{i}"] = value
    assert blind(texts) == pytest.approx(expected, abs=1e-9)


def test_unlabelled_texts_teach_nothing_and_are_scored_by_all_labelled_ones():
    texts = made_up()
    labelled = blind(texts)
    extra = LabelledTexts(
        [*texts.ids, "u1", "u2"], [*texts.texts, texts.texts[1], "liberty peace"],
        [*texts.labels, None, None], [*texts.folds, 0, 3], "en",
    )  # fmt: skip
    scores = blind(extra)
    assert {id: scores[id] for id in texts.ids} == labelled
    folds = [decisions(texts, *fold_of(texts, fold)) for fold in range(5)]
    mean = np.concatenate(folds).mean()
    count = len(texts.ids)
    first, second = decisions(extra, [count, count + 1], list(range(count)))
    assert scores["u1"] == pytest.approx(first - mean, abs=1e-9)
    assert scores["u2"] == pytest.approx(second - mean, abs=1e-9)


def test_a_fold_without_both_classes_to_learn_from_has_no_score_and_is_logged(
    log_lines,
):
    """All members sit in fold 0: nothing can be learned for it, the others are
    scored."""
    texts = made_up(20)
    folds = [0 if label else 1 + i % 4 for i, label in enumerate(texts.labels)]
    scores = blind(replace(texts, folds=folds))
    assert set(scores) == {
        id for id, fold in zip(texts.ids, folds, strict=True) if fold
    }
    assert (
        "no score for 10 texts: the texts to learn from are of one class"
        in log_lines.text
    )


def test_one_class_alone_or_no_word_to_learn_from_has_no_score(log_lines):
    texts = made_up(10)
    assert blind(replace(texts, labels=[1] * 10)) == {}
    assert blind(replace(texts, labels=[None] * 10)) == {}
    assert blind(replace(texts, texts=["!?"] * 10)) == {}
    assert "hold no word" in log_lines.text


def test_chinese_words_are_cut_by_jieba():
    phrases = ("人民生活水平提高", "国际新闻报道", "经济体制改革", "北京今天下雪")
    texts = made_up(40, language="zh")
    repeated = []
    for i, label in enumerate(texts.labels):
        repeated.append(phrases[2 * label + i // 2 % 2] + phrases[i % 4])
    texts = replace(texts, texts=repeated)
    here, train = fold_of(texts, texts.folds[0])
    values = decisions(texts, here, train, tokenizer=jieba.lcut, token_pattern=None)
    expected = values[0] - values.mean()
    assert blind(texts)["t0"] == pytest.approx(expected, abs=1e-9)
    assert blind(replace(texts, language="zh-Hans")) == blind(texts)
    assert blind(replace(texts, language="en"))["t0"] != pytest.approx(
        expected, abs=1e-3
    )
