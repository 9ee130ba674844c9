"""The AUC under relabellings within documents: an exact test where the split was drawn at random within them."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from pretrace.evaluation.cells import RankedUnits
from pretrace.evaluation.metrics import METRICS
from pretrace.evaluation.resampling import columns_at_once
from pretrace.evaluation.roc import Flags, Floats, Whole
from pretrace.evaluation.selection import Choices, Estimate, Settings

_SELECTIONS = ("default", "held_out")


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
    cell: RankedUnits, choices: Choices, settings: Settings, count: int, seed: int
) -> dict[Estimate, Floats]:
    """Return each default and held-out AUC of a cell, shape (1 + count,): as it is, then under each of `relabellings`.

    Held-out settings are chosen again under each relabelling, as `selection.choose` chooses them; folds hold whole
    documents and stay. A score that is learned from labels would have to be learned again, too, and has no entry.
    """
    auc: dict[Estimate, Callable[[Floats], Floats]] = {}
    for estimate in choices.estimates:
        key = cell.columns[estimate.parts[0].column]._replace(setting="")
        if METRICS[estimate.metric] != "auc" or settings.cross_fitted(key.method):
            continue
        if estimate.selection in _SELECTIONS:
            among = choices.candidates[key]
            auc[estimate] = _held_out(cell, among) if len(estimate.parts) > 1 else _default(cell, among[0])
    parts = [
        [auc_of(labels) for auc_of in auc.values()]
        for labels in relabellings(cell.label, cell.document, count, seed)
    ]
    return {
        estimate: np.concatenate(aucs) for estimate, aucs in zip(auc, zip(*parts, strict=True), strict=True)
    }


@dataclass(frozen=True)
class _Midranks:
    """Midranks of some columns' scores among the texts `rows`: float32 (columns, rows), exact up to 2**23 texts."""

    rows: Whole
    ranks: NDArray[np.float32]

    @classmethod
    def of(cls, cell: RankedUnits, columns: Sequence[int], rows: Flags) -> "_Midranks":
        taken = np.flatnonzero(rows & cell.scored[columns[0]])
        scores = cell.scores[np.asarray(columns)[:, None], taken]
        return cls(taken, np.stack([_midranks(row) for row in scores]).astype(np.float32))

    def counts(self, labels: Floats) -> tuple[Floats, Floats]:
        """Count pairs in which the member scores higher, ties by half (columns, relabellings), and all pairs
        (relabellings,).

        Mann and Whitney, 1947: the sum of the members' ranks, less what it is at least.
        """
        of_rows = labels[self.rows]
        members = of_rows.sum(axis=0)
        return self.ranks.astype(np.float64) @ of_rows - members * (members + 1) / 2, members * (
            len(self.rows) - members
        )


def _midranks(scores: Floats) -> Floats:
    """1 for the least; equal scores share the mean of their ranks. scipy.stats takes a second to import."""
    ascending = np.sort(scores)
    return (ascending.searchsorted(scores, "left") + ascending.searchsorted(scores, "right") + 1) / 2


def _default(cell: RankedUnits, column: int) -> Callable[[Floats], Floats]:
    ranks = _Midranks.of(cell, [column], np.ones(len(cell.label), dtype=bool))

    def auc(labels: Floats) -> Floats:
        higher, pairs = ranks.counts(labels)
        return _share(higher[0], pairs)

    return auc


def _held_out(cell: RankedUnits, among: Sequence[int]) -> Callable[[Floats], Floats]:
    """`among`: the columns to choose from, the most preferred first."""
    folds = [
        (_Midranks.of(cell, among, cell.fold == fold), _Midranks.of(cell, among, cell.fold != fold))
        for fold in cell.folds
    ]

    def auc(labels: Floats) -> Floats:
        everywhere, all_pairs = np.zeros((2, labels.shape[1]))
        for inside, outside in folds:
            best = outside.counts(labels)[0].argmax(axis=0)
            higher, pairs = inside.counts(labels)
            everywhere += higher[best, np.arange(len(best))]
            all_pairs += pairs
        return _share(everywhere, all_pairs)

    return auc


def _share(higher: Floats, pairs: Floats) -> Floats:
    """0.5 where a relabelling leaves no pair among the scored texts."""
    return np.divide(higher, pairs, out=np.full(len(pairs), 0.5), where=pairs > 0)
