"""The AUC under relabellings within documents: an exact test where the split was drawn at random within them."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from pretrace.evaluation.metrics import METRICS
from pretrace.evaluation.resampling import columns_at_once
from pretrace.evaluation.roc import Flags, Floats, Whole, ratio
from pretrace.evaluation.scores import RankedUnits
from pretrace.evaluation.selection import Choices, Estimand, Settings


def relabellings(label: Flags, document: Whole, count: int, seed: int) -> Iterator[Floats]:
    """Yield labels (1 member, 0 non-member) of shape (texts, part of 1 + count), part by part.

    The first are the labels as they are. In the others the texts of each document exchange their labels at random, and
    so do the texts without a document (-1); the texts of a document of one class keep theirs. `label` (True: member)
    and `document` (codes) have shape (texts,).
    """
    yield label[:, None].astype(np.float64)
    rng, texts = np.random.default_rng(seed), len(label)
    codes = np.unique(document, return_inverse=True)[1]
    by_document = label[np.argsort(codes, kind="stable")].astype(np.float64)
    at_once = columns_at_once(texts)
    for start in range(0, count, at_once):
        order = np.argsort(codes + rng.random((min(at_once, count - start), texts)), axis=1)
        labels = np.empty(order.shape)
        np.put_along_axis(labels, order, by_document[None], axis=1)
        yield labels.T


def relabelled_aucs(
    units: RankedUnits, choices: Choices, settings: Settings, count: int, seed: int
) -> dict[Estimand, Floats]:
    """Return each default and held-out AUC, shape (1 + count,): as it is, then under each of `relabellings`.

    Held-out settings are chosen again under each relabelling, as `selection.choose` chooses them; folds hold whole
    documents and stay. A score that is learned from labels would have to be learned again, too, and has no entry.
    """
    auc_of: dict[Estimand, Callable[[_Labels], Floats]] = {}
    for estimand in choices.estimands:
        key = units.columns[estimand.rankings[0].column]._replace(setting="")
        tested = METRICS[estimand.metric] == "auc" and estimand.selection in ("default", "held_out")
        if tested and not settings.cross_fitted(key.method):
            among = choices.candidates[key]
            held_out = len(estimand.rankings) > 1
            auc_of[estimand] = _held_out(units, among) if held_out else _default(units, among[0])
    parts = []
    for drawn in relabellings(units.label, units.document, count, seed):
        labels = _Labels(drawn.astype(np.float32))
        parts.append([auc(labels) for auc in auc_of.values()])
    aucs = map(np.concatenate, zip(*parts, strict=True))
    return dict(zip(auc_of, aucs, strict=True))


@dataclass(frozen=True)
class _Labels:
    """A part of the relabellings, float32 (texts, relabellings): most scores rank the same texts, taken once."""

    labels: NDArray[np.float32]
    _taken: dict[bytes, tuple[NDArray[np.float32], Floats]] = field(default_factory=dict)

    def of(self, rows: Whole) -> tuple[NDArray[np.float32], Floats]:
        """Return the labels of some texts, and the number of members under each relabelling."""
        key = rows.tobytes()
        if key not in self._taken:
            own = self.labels[rows]
            self._taken[key] = own, own.sum(axis=0, dtype=np.float64)
        return self._taken[key]


@dataclass(frozen=True)
class _Midranks:
    """Midranks of some columns' scores among the texts `rows`: float32 (columns, rows), exact up to 2**23 texts."""

    rows: Whole
    ranks: NDArray[np.float32]

    @classmethod
    def of(cls, units: RankedUnits, columns: Sequence[int], rows: Flags) -> "_Midranks":
        taken = np.flatnonzero(rows & units.scored[columns[0]])
        scores = units.scores[np.asarray(columns)[:, None], taken]
        return cls(taken, np.stack([_midranks(row) for row in scores]).astype(np.float32))

    def counts(self, labels: _Labels) -> tuple[Floats, Floats]:
        """Count pairs in which the member scores higher, ties by half (columns, relabellings), and all pairs
        (relabellings,).

        Mann and Whitney, 1947: the sum of the members' ranks, less what it is at least.
        """
        of_rows, members = labels.of(self.rows)
        texts = len(self.rows)
        # float32 holds whole numbers up to 2**24: twice the sum of all ranks, which are whole or halves
        ranks = self.ranks if texts * (texts + 1) <= 2**24 else self.ranks.astype(np.float64)
        higher = (ranks @ of_rows).astype(np.float64) - members * (members + 1) / 2
        return higher, members * (texts - members)


def _midranks(scores: Floats) -> Floats:
    """Rank from 1 for the least; equal scores share their mean. `scipy.stats.rankdata` takes a second to import."""
    ascending = np.sort(scores)
    return (ascending.searchsorted(scores, "left") + ascending.searchsorted(scores, "right") + 1) / 2


def _default(units: RankedUnits, column: int) -> Callable[[_Labels], Floats]:
    ranks = _Midranks.of(units, [column], np.ones(len(units.label), dtype=bool))

    def auc(labels: _Labels) -> Floats:
        higher, pairs = ranks.counts(labels)
        return ratio(higher[0], pairs, empty=0.5)

    return auc


def _held_out(units: RankedUnits, among: Sequence[int]) -> Callable[[_Labels], Floats]:
    """Return the held-out AUC; `among`: the columns to choose from, the most preferred first."""
    folds = [
        (_Midranks.of(units, among, units.fold == fold), _Midranks.of(units, among, units.fold != fold))
        for fold in units.folds
    ]

    def auc(labels: _Labels) -> Floats:
        everywhere, all_pairs = np.zeros((2, labels.labels.shape[1]))
        for inside, outside in folds:
            best = outside.counts(labels)[0].argmax(axis=0)
            higher, pairs = inside.counts(labels)
            everywhere += higher[best, np.arange(len(best))]
            all_pairs += pairs
        return ratio(everywhere, all_pairs, empty=0.5)

    return auc
