"""Are texts in question surely higher once what tells the sides apart is taken off
their scores?"""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np

from pretrace.audit.controls import (
    RELABELLINGS,
    all_relabellings,
    leave_one_out,
    single_word,
)
from pretrace.audit.design import LEVEL, checks_can_fail
from pretrace.audit.documents import FORM_FEATURES, Documents, as_normal_scores
from pretrace.audit.exchange_test import SUMMING, exchanged_p, share_as_high
from pretrace.audit.own_features import ORDER
from pretrace.audit.rows import AuditRow
from pretrace.evaluation.roc import Flags, Floats
from pretrace.seeds import seed_of

EXPLAINED = "explained"
"""The check that sees scores: what is left of them once form is taken off."""

ALL_FORM = "all of it together"

RARE = 0.1
"""Share of relabellings that have a word which differs as much, up to which this word
is taken off."""


class Counts(NamedTuple):
    """Numbers of main components that are taken off together."""

    words: int
    letters: int
    form: int


COMPONENTS = (
    Counts(1, 1, 1),
    Counts(2, 2, 2),
    Counts(3, 3, 3),
    Counts(4, 4, 4),
    Counts(5, 5, 0),
    Counts(0, 5, 0),
    Counts(0, 8, 0),
)
"""In which components two kinds of texts differ is not known before: scores are to
survive each of these (docs/size_and_power.md)."""

KINDS = "kinds of texts"
GROUPED = 3
"""Components of each of these whose two groups of documents are asked alone."""

HALF_CHANCE, LEAST_RELIABLE = 860, 0.4
"""Words of a document by which half of the variance of their order is chance: few words
show an order that scores follow closely. The reliability counts as the second number at
least, because with less hardly anything is evidence (docs/size_and_power.md)."""

BETWEEN, CUE_GAP = 0.75, 0.3
"""A feature or a word makes two groups of documents: the share of its variance between
them at least, and how much larger a share of texts has a word in one than in the other.
What differs by degrees is taken off alone."""

FEWEST_OF_GROUP = 3
"""Documents of each group that a cue makes, at least."""

MOST_CUES = 20

LITTLE = 1e-6
"""Share of the labels' variance that a feature leaves: with less it is the labels."""


@dataclass(frozen=True)
class Column:
    """A number of each document (documents,), or several of them (documents, numbers),
    which are taken off the scores; `name` says what they measure, and `reliability`
    which share of their variance is no chance."""

    name: str
    values: Floats
    reliability: float = 1.0


class Groups(NamedTuple):
    """Two groups of documents that a feature makes: those in which it is high
    (documents,), and the others."""

    name: str
    is_high: Flags


@dataclass(frozen=True)
class Left:
    """The p that is left once `feature` is taken off."""

    feature: str
    p: float


def explained(documents: Documents, scores: Floats, *, kinds: bool = False) -> AuditRow:
    """Return the row of `EXPLAINED` for documents in question with higher `scores`
    (documents,), as they are exchanged.

    p is the greatest that is left after the ways to take off what texts look like, and
    `id` names the feature. All features together: kernel ridge regression predicts each
    document's score from all others. Each alone: as normal scores, and as two groups of
    documents, within which labels are exchanged. So what a few works look like, which
    the means of sides hardly show, does not make a score surely higher. The word that
    tells the sides apart most is taken off, too, where it is rare that one does so as
    much. With `kinds` so are words and letters (`_kinds`). The check fails where p is
    above `LEVEL`.
    """
    compared = documents.compared
    documents, scores = documents.where(compared), scores[compared]
    seed = seed_of("explained", *documents.names)
    by_form = documents.form @ documents.form.T
    ways = [_left_by_others(ALL_FORM, by_form, documents, scores, seed)]
    ours = int(documents.suspect.sum())
    theirs = len(documents.names) - ours
    # fewer documents are never evidence, and leave too few ways to exchange labels
    # within a group
    if checks_can_fail(ours, theirs):
        ways += _each_alone(documents, scores, seed)
        ways += in_groups(documents, scores, seed)
        if kinds:
            ways += _kinds(documents, scores, seed)
    most = max(ways, key=lambda left: left.p)
    return AuditRow(
        "control", most.feature, method=EXPLAINED, p=most.p, flagged=most.p > LEVEL
    )


def _left_by_others(
    name: str, likeness: Floats, documents: Documents, scores: Floats, seed: int
) -> Left:
    """Return p of what each document's score leaves once kernel ridge regression has
    predicted it from all others; `likeness` is the kernel."""
    hat, leverage = leave_one_out(likeness, documents.stratum)
    left = (scores - hat @ scores) / (1 - leverage)
    return Left(name, exchanged_p(left, documents.suspect, documents.stratum, seed))


def _kinds(documents: Documents, scores: Floats, seed: int) -> Iterator[Left]:
    """Yield p of what kinds of texts leave: all words, all letters, and the components
    of words, letters and form in which documents differ most.

    A model that was tuned on other texts of one side's kind finds this side more
    familiar than its base does. Components are taken off together, and each is taken as
    two groups of documents, within which labels are exchanged: sides of two kinds
    without anything between them have nothing to exchange there.
    """
    words = documents.words.likeness
    letters = documents.letters.likeness
    yield _left_by_others("words", words, documents, scores, seed)
    yield _left_by_others("letters", letters, documents, scores, seed)

    labels = all_relabellings(documents, seed)
    of_words = _components(words, documents)
    of_letters = _components(letters, documents)
    of_form = _components(documents.form @ documents.form.T, documents)

    def main(counts: Counts) -> Floats:
        columns = (
            of_words[:, : counts.words],
            of_letters[:, : counts.letters],
            of_form[:, : counts.form],
        )
        return np.concatenate(columns, axis=1)

    for counts in COMPONENTS:
        kinds = main(counts)
        if kinds.shape[1] <= len(scores) / 2:
            yield alone(Column(KINDS, kinds), documents, scores, labels)
    each = main(Counts(GROUPED, GROUPED, GROUPED))
    groups = [Groups(KINDS, two_groups(values)) for values in each.T]
    yield from _in_groups_of(groups, documents, scores, seed)


def _components(likeness: Floats, documents: Documents) -> Floats:
    """Return the components of documents in which they differ, the main ones first,
    shape (documents, documents)."""
    centred = documents.centred(documents.centred(likeness).T)
    lengths, directions = np.linalg.eigh(centred)
    return (directions * lengths)[:, ::-1]


def _columns_of_form(values: Floats) -> list[Column]:
    """Return the columns of `values` (documents, features) by the features' names."""
    return list(map(Column, FORM_FEATURES, values.T))


def _each_alone(documents: Documents, scores: Floats, seed: int) -> Iterator[Left]:
    """Yield p of what each feature leaves, and of what the word leaves that tells the
    sides apart most, if few relabellings have a word that does."""
    labels = all_relabellings(documents, seed)
    columns = _columns_of_form(as_normal_scores(documents.measured_form))
    order = columns[FORM_FEATURES.index(ORDER)]
    if may_explain(order.values, documents, scores):
        columns.append(replace(order, reliability=reliability_of_order(documents)))
    word = single_word(documents, labels)
    if word.shares[0] <= RARE:
        presence = documents.words.presence_of(word.feature)
        columns.append(Column(f"the word '{word.feature}'", presence))
    for column in columns:
        yield alone(column, documents, scores, labels)


def may_explain(order: Floats, documents: Documents, scores: Floats) -> bool:
    """Return whether an unusual order (documents,) may be why known documents score
    lower: theirs is less usual, and scores rise with a usual one, as in any language
    model."""
    order = documents.centred(order[:, None])[:, 0]
    return bool(order @ documents.suspect > 0 and order @ scores > 0)


def reliability_of_order(documents: Documents) -> float:
    """Return the share of the variance of the documents' order that is no chance, by
    their numbers of words."""
    # chance falls with 1 / words, so that the harmonic mean of their numbers counts
    words = 1 / float(np.mean(1 / documents.number_of_words))
    return max(words / (words + HALF_CHANCE), LEAST_RELIABLE)


def alone(column: Column, documents: Documents, scores: Floats, labels: Floats) -> Left:
    """Return p of what a column, or several together, leaves: the partial t of labels
    (documents, relabellings) beside it is compared.

    A partial t allows for a column that goes with the labels: N. Draper and D.
    Stoneman, Technometrics 1966. What a column that is partly chance explains is
    divided by its reliability: W. Fuller, Measurement Error Models, 1987.
    """
    numbers = column.values.reshape(len(scores), -1)
    basis = _basis(documents.standardised(numbers))
    if not basis.size:
        return Left(column.name, 0.0)
    # basis and scores have no stratum means, so that those of the labels fall out of
    # every product with them
    scores = documents.centred(scores[:, None])[:, 0]
    # the same of all relabellings
    variance = (documents.centred(labels[:, :1]) ** 2).sum()
    of_labels = basis.T @ labels
    explained_of_labels = (of_labels**2).sum(axis=0) / column.reliability
    left_of_labels = variance - explained_of_labels
    has_left = left_of_labels > LITTLE * variance
    if not has_left[0]:
        return Left(column.name, 1.0)
    explained_of_scores = of_labels.T @ (basis.T @ scores) / column.reliability
    left = scores @ labels - explained_of_scores
    # rises with the partial t: what the column leaves of scores is the same for all
    t = np.where(
        has_left, left / np.sqrt(np.where(has_left, left_of_labels, 1)), -np.inf
    )
    return Left(column.name, share_as_high(t))


def _basis(values: Floats) -> Floats:
    """Return orthonormal columns that span those of `values` (documents, columns)."""
    directions, lengths, _ = np.linalg.svd(values, full_matrices=False)
    return directions[:, lengths > SUMMING]


def in_groups(documents: Documents, scores: Floats, seed: int) -> Iterator[Left]:
    """Yield p of an exchange within the two groups of documents that each feature, or
    cue, makes."""
    of_form = []
    for column in _columns_of_form(documents.measured_form):
        is_high = two_groups(column.values)
        if is_high.any() and _share_between(column.values, is_high) >= BETWEEN:
            of_form.append(Groups(column.name, is_high))
    return _in_groups_of([*of_form, *_cues(documents)], documents, scores, seed)


def _cues(documents: Documents) -> list[Groups]:
    """Return the words that some documents have all over and others hardly, such as a
    stage direction, the clearest first.

    Only a few works have a cue, so that as a word among thousands it need not tell the
    sides apart, and yet their scores follow it.
    """
    presence = documents.words.presence.tocsc()
    count = len(documents.names)
    between = FEWEST_OF_GROUP * (count - FEWEST_OF_GROUP) / count**2 * CUE_GAP**2
    scattered = np.flatnonzero(documents.scatter(presence) ** 2 >= between)
    cues: list[Groups] = []
    clear: dict[str, float] = {}
    for place in scattered.tolist():
        shares = presence[:, [place]].toarray()[:, 0]
        is_high = two_groups(shares)
        fewest = min(is_high.sum(), count - is_high.sum())
        if fewest < FEWEST_OF_GROUP:
            continue
        gap = shares[is_high].mean() - shares[~is_high].mean()
        share = _share_between(shares, is_high)
        if gap >= CUE_GAP and share >= BETWEEN:
            cue = Groups(f"the word '{documents.words.names[place]}'", is_high)
            cues.append(cue)
            clear[cue.name] = share
    cues.sort(key=lambda cue: (-clear[cue.name], cue.name))
    return cues[:MOST_CUES]


def _share_between(values: Floats, is_high: Flags) -> float:
    """Return the share of the variance of `values` (documents,) that lies between the
    two groups."""
    gap = values[is_high].mean() - values[~is_high].mean()
    return float(is_high.var() * gap**2 / values.var())


def _in_groups_of(
    groups: Iterable[Groups], documents: Documents, scores: Floats, seed: int
) -> Iterator[Left]:
    seen: set[bytes] = set()
    for name, is_high in groups:
        strata = 2 * documents.stratum + (is_high ^ is_high[0])
        # columns that go together make the same groups
        if strata.tobytes() not in seen:
            seen.add(strata.tobytes())
            p = exchanged_p(scores, documents.suspect, strata, seed, RELABELLINGS)
            yield Left(name, p)


def two_groups(values: Floats) -> Flags:
    """Mark the higher of two groups of `values` (documents,), as far apart as can be.

    The cut is the one with the greatest variance between groups: N. Otsu, A threshold
    selection method, 1979.
    """
    ordered = np.sort(values)
    below = np.arange(1, len(ordered))
    above = len(ordered) - below
    sums = np.cumsum(ordered)[:-1]
    mean_above = (ordered.sum() - sums) / above
    gap = sums / below - mean_above
    between = gap**2 * below * above
    is_equal = np.diff(ordered) <= SUMMING
    between[is_equal] = 0
    cut = ordered[int(between.argmax())] if len(between) else np.inf
    return values > cut
