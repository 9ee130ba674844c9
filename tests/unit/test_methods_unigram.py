"""The control that is told the members: the log-likelihood of a unigram model of their
stream."""

from math import log

import pytest
from made_up_stores import a_run, score_of

from pretrace.methods import METHODS, LabelledTexts
from pretrace.models.training.stream import training_stream


def unigram(texts: list[str], stream: list[str], language: str = "en") -> list[float]:
    ids = [f"t{number}" for number in range(len(texts))]
    labels = [None] * len(texts)
    labelled = LabelledTexts(
        ids, texts, labels, [0] * len(texts), language, stream=tuple(stream)
    )
    scores = METHODS["unigram"].function(labelled)
    return [scores[id] for id in ids]


def test_the_score_is_the_mean_log_frequency_of_the_words_with_one_added():
    """The stream holds 5 words, a three times and b twice; so its unigram model divides
    by 5 + 2 + 1."""
    scores = unigram(["a b", "a a a b", "c"], ["a b", "a b a"])
    expected = [
        (log(4 / 8) + log(3 / 8)) / 2,
        (3 * log(4 / 8) + log(3 / 8)) / 4,
        log(1 / 8),
    ]
    assert scores == pytest.approx(expected)


def test_chinese_words_are_cut_by_jieba():
    assert (
        unigram(["中国人民", "北京"], ["中国人民", "中国"], "zh")[0]
        > unigram(["中国人民"], ["北京"], "zh")[0]
    )


def test_it_counts_every_subsets_members_as_often_as_they_are_trained_on_and_stands_where_it_is_named(
    store,
):
    table = store.benchmark
    half = table["text_id"].str[-1].astype(int) % 2 == 0
    subset = half.map({True: "1x", False: "3x"})
    repetitions = half.map({True: 1, False: 3})
    dosed = table.assign(subset=subset, repetitions=repetitions)
    dosed.loc[dosed["label"] == 0, "repetitions"] = 0
    stream = training_stream(dosed)
    assert len(stream) > len(set(stream))
    store.benchmark = dosed
    scores = score_of(store, a_run("unigram")).set_index("id")["score"]
    expected = dict(
        zip(dosed["text_id"], unigram(list(dosed["text"]), stream), strict=True)
    )
    assert scores.to_dict() == pytest.approx(expected)
