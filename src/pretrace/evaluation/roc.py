"""Exact ROC AUC and true-positive rates of one score vector under many weightings of
its texts."""

from dataclasses import dataclass
from itertools import product
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from pretrace.evaluation.metrics import LEVELS, level_of
from pretrace.methods.statistics import Floats

Flags = NDArray[np.bool_]
Whole = NDArray[np.intp]
Weights = NDArray[np.floating[Any]]
"""How often each text is drawn: whole numbers, of float64 or float32."""


def ratio(numerator: Floats, denominator: Floats, empty: float = np.nan) -> Floats:
    """Return numerators by denominators, which broadcast against each other; `empty`
    where a denominator is 0."""
    shape = np.broadcast_shapes(np.shape(numerator), np.shape(denominator))
    quotients = np.full(shape, empty)
    is_known = np.asarray(denominator) != 0
    return np.divide(numerator, denominator, out=quotients, where=is_known)


def ranks_of(scores: Floats) -> Floats:
    """Return the rank of each score in its row, from 1: shape of `scores` (rows,
    texts).

    Equal scores share the mean of their ranks; NaN stays NaN.
    """
    # the import of scipy.stats takes as long as a small job
    return pd.DataFrame(scores).rank(axis=1).to_numpy()


def allowed_false(metric: str, nonmembers: int) -> int:
    """Return the largest number of false positives allowed: FPR <= level, or FPR <
    level for `_strict`."""
    level = level_of(metric)
    assert level is not None
    return (nonmembers * level - metric.endswith("_strict")) // 100


_OF_RATES = np.array([*product(LEVELS, (0, 1))], dtype=np.float32)
_LEVELS, _STRICT = _OF_RATES[:, :1], _OF_RATES[:, 1:]
"""`allowed_false` of all metrics at once."""


@dataclass(frozen=True)
class Ranking:
    """One score vector, sorted once; any weights of its texts then give every metric
    without sorting again.

    `members` and `nonmembers` are rows of the weight matrix, by descending score.
    `above[j]` and `at_least[j]` count the members that score higher than, and at least
    as high as, the j-th non-member.
    """

    members: Whole
    nonmembers: Whole
    above: Whole
    at_least: Whole

    @classmethod
    def of(cls, scores: Floats, label: Flags, rows: Whole) -> "Ranking":
        """Rank the texts `rows` of a cell; `scores`, `label` (True: member): shape
        (texts of the cell,)."""
        descending = rows[np.argsort(-scores[rows], kind="stable")]
        is_member = label[descending]
        members = descending[is_member]
        nonmembers = descending[~is_member]
        ascending = scores[members][::-1]
        values = scores[nonmembers]
        not_above = np.searchsorted(ascending, values, side="right")
        below = np.searchsorted(ascending, values, side="left")
        count = len(members)
        return cls(members, nonmembers, count - not_above, count - below)

    @property
    def key(self) -> bytes:
        """Return bytes that are equal for equal rankings."""
        parts = [[len(self.members)], self.members, self.nonmembers]
        return np.concatenate([*parts, self.above, self.at_least]).tobytes()

    def counts(self, weights: Weights) -> tuple[Floats, Floats]:
        """Return numerators (metrics, resamples) and pairs (resamples,): a metric is
        numerator / pairs.

        `weights` has shape (texts of the cell, resamples) and holds whole numbers;
        `pairs` is the weight of the members times that of the non-members. Averaging
        folds with weights n_members x n_nonmembers is therefore adding numerators and
        adding pairs, and a fold that lacks a class adds nothing. Exact while sums of
        weights are exact in their type and counts stay below 2**53.

        AUC: pairs in which the member scores higher, ties by half (Mann and Whitney,
        1947). TPR: the largest TPR whose FPR does not exceed the level (`_strict`: lies
        below it) over all thresholds, as `roc_curve(drop_intermediate=False)` lists
        them, without interpolation.
        """
        right = _cumulative(weights.take(self.members, axis=0))
        lower = weights.take(self.nonmembers, axis=0)
        nonmembers = lower.sum(axis=0)
        heaviest = (right[-1] + nonmembers).max()
        # twice the pairs, the largest number here, is at most heaviest ** 2 / 2;
        # float32, half the memory to move, holds whole numbers up to 2**24
        exact = weights.dtype if heaviest**2 / 2 <= 2**24 else np.float64
        area = np.einsum("jr,jr->r", lower, right.take(self.above, axis=0), dtype=exact)
        if (self.above != self.at_least).any():
            ties_too = right.take(self.at_least, axis=0)
            area = (area + np.einsum("jr,jr->r", lower, ties_too, dtype=exact)) / 2
        nonmembers = nonmembers.astype(exact)
        allowed = (nonmembers * _LEVELS - _STRICT) // 100
        # nearly always a quarter of the non-members holds all false positives that are
        # allowed
        wrong = _cumulative(lower[: 8 + len(lower) // 4])
        if (wrong[-1] <= allowed.max(axis=0)).any():
            wrong = _cumulative(lower)
        # the first non-member that is one too many lies below every threshold that is
        # allowed
        too_many = _count_at_most(wrong, allowed)
        above = np.append(self.above, len(self.members))[too_many]
        hits = np.take_along_axis(right, above, axis=0) * nonmembers
        numerators = np.concatenate([area[None], hits]).astype(np.float64)
        pairs = (right[-1] * nonmembers).astype(np.float64)
        return numerators, pairs


def _cumulative(weights: Weights) -> Floats:
    """Return sums of the first 0, 1, ... n rows: shape (n + 1, resamples).

    In square blocks of rows, because np.cumsum walks down one column at a time and is
    several times slower.
    """
    rows, resamples = weights.shape
    rows += 1
    size = max(1, int(np.sqrt(rows)))
    number = -(-rows // size)  # rounded up
    blocks = np.zeros((number, size, resamples), dtype=weights.dtype)
    flat = blocks.reshape(-1, resamples)
    flat[1:rows] = weights
    for row in range(1, size):
        blocks[:, row] += blocks[:, row - 1]
    for block in range(1, number):
        blocks[block] += blocks[block - 1, -1]
    return flat[:rows]


def _count_at_most(cumulative: Floats, limit: Floats) -> Whole:
    """Count by bisection the rows after the first that are <= limit, for limits of
    shape (limits, resamples)."""
    rows, resamples = cumulative.shape
    last = rows - 1
    flat = cumulative.reshape(-1)
    column = np.arange(resamples)
    count = np.zeros(limit.shape, dtype=np.intp)
    step = 1 << max(last, 1).bit_length()
    while step := step >> 1:
        further = np.minimum(count + step, last)
        reached = flat.take(further * resamples + column)
        count = np.where(reached <= limit, further, count)
    return count
