"""The bootstrap: what is drawn, that memory is bounded, and that its intervals cover
what they should."""

import numpy as np
import pytest
from evaluation_tables import LABEL
from scipy.special import ndtr
from scipy.stats import binom

from pretrace.evaluation import resampling
from pretrace.evaluation.resampling import relabellings, resample, resampling_groups
from pretrace.evaluation.roc import Ranking
from pretrace.evaluation.significance import percentile_interval

NO_DOCUMENT = -1


def groups_of(text=None, document=None, members=6, nonmembers=6):
    n = members + nonmembers
    text = np.arange(n) if text is None else np.asarray(text)
    document = np.full(n, NO_DOCUMENT) if document is None else np.asarray(document)
    return resampling_groups(text, document, np.arange(n) < members)


def all_weights(groups, resamples=200, seed=1):
    return np.concatenate(list(resample(groups, resamples, seed)), axis=1)


def test_every_class_keeps_its_size_and_draws_are_binomial():
    weights = all_weights(groups_of(members=7, nonmembers=10), resamples=4000)
    members, nonmembers = weights[:7], weights[7:]
    assert set(members.sum(axis=0)) == {7}
    assert set(nonmembers.sum(axis=0)) == {10}
    # Of a binomial of ten draws with probability 1/10.
    assert nonmembers[0].var() == pytest.approx(0.9, rel=0.1)
    correlation = np.corrcoef(members[0], nonmembers[0])[0, 1]
    assert abs(correlation) < 0.06


TEN = [0, 0, 1, 1, 2, 2, 3, 3, 4, 4]


@pytest.mark.parametrize(
    ("groups", "together", "apart"),
    [
        pytest.param({"document": [*TEN, *range(5, 11)], "members": 10}, (0, 1), (0, 2),
                     id="a document"),
        pytest.param({"text": [0, 0, 1, 2, 3, 4, *range(5, 11)]}, (0, 1), (1, 2),
                     id="equal texts"),
        pytest.param({"document": [*TEN, 5, 5, *range(6, 12)], "members": 12,
                      "text": [0, 1, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, *range(11, 17)]},
                     (0, 1, 2, 3), (0, 4), id="documents of an equal text"),
        pytest.param({"document": [*range(6), *range(6)]}, (2, 8), (2, 7),
                     id="a document of both classes"),
        pytest.param({"text": [*range(6), 0, *range(6, 11)]}, (0, 6), (1, 7),
                     id="equal texts of both classes"),
    ],
)  # fmt: skip
def test_what_shares_a_document_or_a_text_is_drawn_together(groups, together, apart):
    weights = all_weights(groups_of(**groups))
    assert (weights[list(together)] == weights[together[0]]).all()
    assert (weights[apart[0]] != weights[apart[1]]).any()


def test_documents_of_one_class_alone_are_drawn_within_it():
    """Five documents of both classes, five of members, six of non-members: each kind
    keeps its number."""
    document = [*range(10), *range(5), *range(10, 16)]
    groups = groups_of(document=document, members=10, nonmembers=11)
    weights = all_weights(groups)
    assert (weights[:5] == weights[10:15]).all()
    for kind in (weights[:5], weights[5:10], weights[15:]):
        assert set(kind.sum(axis=0)) == {len(kind)}


def test_few_documents_of_one_class_alone_are_drawn_with_those_of_both():
    """A single document in a stratum of its own would be drawn once in every
    resample."""
    document = [*range(6), *range(7)]
    weights = all_weights(groups_of(document=document, members=6, nonmembers=7))
    assert weights[12].var() > 0.5
    assert (weights[:6] == weights[6:12]).all()
    assert set(weights[6:].sum(axis=0)) == {7}


def test_a_class_of_few_documents_is_drawn_apart_from_the_other():
    """Members of three documents by text; the non-members of these and twenty more by
    document."""
    document = [0, 0, 1, 1, 2, 2, *range(23), *range(23)]
    groups = groups_of(document=document, members=6, nonmembers=46)
    weights = all_weights(groups)
    assert groups.conditional
    assert (weights[0] != weights[1]).any()
    assert (weights[0] != weights[6]).any()
    assert (weights[6:29] == weights[29:]).all()
    assert set(weights[:6].sum(axis=0)) == {6}


def test_a_class_of_few_documents_is_drawn_by_text_and_marked():
    few = groups_of(document=[0, 0, 1, 1, 2, 3, *range(4, 10)])
    assert few.conditional
    assert len(set(few.of_text[:6])) == 6
    enough = groups_of(document=[0, 0, 1, 2, 3, 4, *range(5, 11)])
    assert not enough.conditional
    assert len(set(enough.of_text[:6])) == 5


def test_few_texts_without_a_document_are_not_marked():
    assert not groups_of(members=3, nonmembers=3).conditional
    document = [0, 1, 2, 3, 4, 5]
    assert not groups_of(document=document, members=3, nonmembers=3).conditional


def test_memory_is_bounded_for_very_many_texts(monkeypatch):
    monkeypatch.setattr(resampling, "_CHUNK_BYTES", 2**16)
    text = np.arange(4000)
    groups = resampling.Groups(text // 2, text % 2, False)
    first_part = next(resample(groups, 2000, 1))
    assert first_part.shape == (4000, 8)


def aucs(scores, label, groups, resamples, seed):
    """The AUC under each resample."""
    ranking = Ranking.of(scores, label, np.arange(len(label)))
    parts = []
    for weights in resample(groups, resamples, seed):
        numerators, pairs = ranking.counts(weights)
        parts.append(numerators[0] / pairs)
    return np.concatenate(parts)


def covered(texts, documents, shift, repetitions, share, *, both=False):
    """How often the AUC's interval holds the true value; documents, of one class or of
    `both`, make `share` of the variance.
    """
    rng = np.random.default_rng([texts, documents])
    label = np.arange(texts) < texts // 2
    document = np.full(texts, NO_DOCUMENT)
    if documents:
        document = np.where(label | both, 0, documents) + np.arange(texts) % documents
    true_auc = ndtr(shift / np.sqrt(2))
    hits = 0
    for seed in range(repetitions):
        scores = np.sqrt(1 - share) * rng.normal(size=texts) + shift * label
        if documents:
            scores += np.sqrt(share) * rng.normal(size=2 * documents)[document]
        groups = resampling_groups(np.arange(texts), document, label)
        resampled = aucs(scores, label, groups, 400, seed)
        low, high = percentile_interval(resampled[None])
        hits += bool(low[0] <= true_auc <= high[0])
    return hits


@pytest.mark.parametrize(
    ("texts", "documents", "shift", "both"),
    [
        (100, 0, 0.5, False),
        (400, 0, 0.0, False),
        (400, 25, 0.5, False),
        (400, 40, 0.0, True),
    ],
)
def test_intervals_cover_in_95_percent(texts, documents, shift, both):
    """Neither less nor more: documents of both classes, drawn apart, would have
    intervals that never miss."""
    share = 0.4 if documents else 0.0
    hits = covered(texts, documents, shift, 300, share, both=both)
    low, high = binom.interval(0.999, 300, 0.94)
    assert low <= hits <= high


DOCUMENT = np.arange(200) // 8
"""25 documents of eight texts."""


def all_relabellings(label, document, count=400, seed=0):
    return np.concatenate(list(relabellings(label == 1, document, seed, count)), axis=1)


def test_each_document_keeps_its_number_of_members_and_any_of_its_texts_may_be_one():
    label = np.where(DOCUMENT < 2, DOCUMENT, np.arange(200) % 4 == 0)
    labels = all_relabellings(label, DOCUMENT)
    assert (labels[:, 0] == label).all()
    for document in range(25):
        rows = document == DOCUMENT
        drawn, given = labels[rows], label[rows]
        assert set(drawn.sum(axis=0)) == {given.sum()}
        share_of_members = drawn[:, 1:].mean(axis=1)
        np.testing.assert_allclose(share_of_members, given.mean(), atol=0.12, rtol=0)
        if document < 2:  # all its texts are of one class
            assert (drawn == given[0]).all()


def test_texts_without_a_document_exchange_their_labels():
    labels = all_relabellings(LABEL, np.full(200, NO_DOCUMENT))
    assert set(labels.sum(axis=0)) == {100}
    share_of_members = labels[:, 1:].mean(axis=1)
    np.testing.assert_allclose(share_of_members, 0.5, atol=0.12, rtol=0)


@pytest.mark.parametrize(
    "drawn",
    [
        lambda: resample(groups_of(members=80, nonmembers=120), 100, 1),
        lambda: relabellings(LABEL == 1, DOCUMENT, 0, 100),
    ],
    ids=["resamples", "relabellings"],
)
def test_draws_do_not_depend_on_the_parts_they_come_in(monkeypatch, drawn):
    whole = np.concatenate(list(drawn()), axis=1)
    monkeypatch.setattr(resampling, "_CHUNK_BYTES", 8 * 200 * 9)
    parts = list(drawn())
    widest = max(part.shape[1] for part in parts)
    assert widest in (9, 18)
    assert (np.concatenate(parts, axis=1) == whole).all()
