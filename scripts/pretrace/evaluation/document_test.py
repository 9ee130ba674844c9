"""The test of an audit: does a document score higher than exchangeable documents that the model cannot have read?

Texts of a document are alike, so that documents are compared, not texts. Scores become normal scores: the ranks of
known and suspect texts together, where every known document counts as much as any other (`normal_scores`). Then the
mean of the suspect's n texts is compared with the means of the K known documents by a prediction t-test with variance
components (`Comparison`). docs/size_and_power.md has its false alarms and its power in simulations.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from pretrace.evaluation.resampling import LEAST_DOCUMENTS
from pretrace.evaluation.roc import Flags, Floats, Whole, ratio
from pretrace.evaluation.significance import LEVEL

DETECTED = 0.8
"""How often the smallest effect is found."""


def normal_scores(known: Floats, weights: Floats, suspect: Floats, weight: float) -> tuple[Floats, Floats]:
    """Return normal quantiles of the ranks of known (N,) and suspect (n,) scores together; equal scores share theirs.

    A known text counts as `weights` (N,), a suspect text as `weight`.
    """
    from scipy.special import ndtri

    ascending = np.argsort(known, kind="stable")
    ordered, cumulative = known[ascending], np.concatenate([[0.0], np.cumsum(weights[ascending])])
    suspects = np.sort(suspect)
    total = cumulative[-1] + weight * len(suspect)

    def quantiles(scores: Floats) -> Floats:
        below, upto = (
            cumulative[np.searchsorted(ordered, scores, side)]
            + weight * np.searchsorted(suspects, scores, side)
            for side in ("left", "right")
        )
        return np.asarray(ndtri((below + upto) / (2 * total)))

    return quantiles(known), quantiles(suspect)


@dataclass(frozen=True)
class Comparison:
    """A group of G documents against K `known` ones, in normal scores: what a p and a smallest effect follow from.

    `effect` is the mean of the group's document means less that of the known ones, in standard deviations of a text.
    `between` is the variance of the known documents' means (S²), `within` that of texts within them (W, of `freedom`
    degrees; 0 where each has one text); `known_inverse` and `group_inverse` are the means of 1 / (texts of a document).
    """

    effect: float
    known: int
    groups: int
    between: float
    within: float
    freedom: int
    known_inverse: float
    group_inverse: float

    @property
    def _error(self) -> tuple[float, float]:
        """Return the standard error of the effect under the null, and its degrees of freedom, by Satterthwaite.

        sqrt(S² (1 + 1/K) (1/G + 1/K) + W (h_G - h_K) / G). The factor 1 + 1/K pays for scores that are ranked among few
        documents. Where the documents' own variance is estimated as less than none, it is taken as none. Where the
        group's documents have more texts, W is subtracted and the degrees of freedom can fall below one. Without it the
        error is too large rather than too small, with K - 1 degrees: that is taken if it finds smaller effects.
        """
        from scipy.special import stdtrit

        first = self.between * (1 + 1 / self.known) * (1 / self.groups + 1 / self.known)
        if not self.freedom:
            return float(np.sqrt(first)), self.known - 1
        second = self.within * (self.group_inverse - self.known_inverse) / self.groups
        least = self.within * (self.group_inverse / self.groups + self.known_inverse / self.known)
        if first + second < least:
            errors = [(float(np.sqrt(least)), float(self.freedom))]
        else:
            degrees = (first + second) ** 2 / (first**2 / (self.known - 1) + second**2 / self.freedom)
            errors = [(float(np.sqrt(first + second)), float(degrees))]
        if second < 0:
            errors.append((float(np.sqrt(first)), self.known - 1))
        return min(errors, key=lambda error: error[0] * stdtrit(error[1], 1 - LEVEL))

    @property
    def icc(self) -> float:
        """Return the share of the variance that lies between known documents, 0 to 1; NaN if each has one text."""
        if not self.freedom:
            return np.nan
        own = max(0.0, self.between - self.within * self.known_inverse)
        return own / (own + self.within)

    @property
    def p(self) -> float:
        """Return the one-sided p-value of a group that does not score higher."""
        from scipy.special import stdtr

        error, degrees = self._error
        return float(stdtr(degrees, -self.effect / error))

    @property
    def two_sided(self) -> float:
        """Return the p-value of a group that scores neither higher nor lower."""
        return min(1.0, 2 * min(self.p, 1 - self.p))

    def smallest_effect(self, level: float) -> float:
        """Return the effect, in standard deviations of a text, that is found at `level` with probability `DETECTED`."""
        from scipy.special import stdtrit

        error, degrees = self._error
        return float((stdtrit(degrees, 1 - level) + stdtrit(degrees, DETECTED)) * error)

    def texts_needed(self, effect: float, level: float) -> int | None:
        """Return how many texts a document of the group needs for this smallest effect; None if 1,000 are too few."""
        numbers = (
            n for n in range(1, 1001) if replace(self, group_inverse=1 / n).smallest_effect(level) <= effect
        )
        return next(numbers, None)


def compare(known: Floats, of_known: Whole, group: Floats, of_group: Whole) -> Comparison:
    """Compare normal scores of a group's texts with those of known texts; `of_*` are the codes of their documents."""
    texts, means = _document_means(known, of_known)
    group_texts, group_means = _document_means(group, of_group)
    there, group_there = texts > 0, group_texts > 0
    documents = int(there.sum())
    freedom = len(known) - documents
    within = ((known - means[of_known]) ** 2).sum() / freedom if freedom else 0.0
    return Comparison(
        effect=float(group_means[group_there].mean() - means[there].mean()),
        known=documents,
        groups=int(group_there.sum()),
        between=float(means[there].var(ddof=1)),
        within=float(within),
        freedom=freedom,
        known_inverse=float((1 / texts[there]).mean()),
        group_inverse=float((1 / group_texts[group_there]).mean()),
    )


def _document_means(scores: Floats, document: Whole) -> tuple[Floats, Floats]:
    """Return the number of texts and the mean score of each document by its code."""
    texts = np.bincount(document).astype(np.float64)
    return texts, np.bincount(document, scores) / np.maximum(texts, 1)


@dataclass(frozen=True)
class ScoredTexts:
    """Texts with their `scores` (texts, methods), NaN where a method has none.

    `document` and `slice` (texts,) are codes, counted from 0, that the texts compared with each other share.
    """

    scores: Floats
    document: Whole
    slice: Whole

    def where(self, rows: Flags | Whole) -> "ScoredTexts":
        return ScoredTexts(self.scores[rows], self.document[rows], self.slice[rows])


def comparisons(known: ScoredTexts, group: ScoredTexts, combined: Sequence[int]) -> list[Comparison | None]:
    """Compare a group with the known documents other than its own, by each method, then by those at `combined`.

    The latter by the mean of a text's normal scores, over the methods that score it. Texts are ranked within a slice. A
    method's texts without a score are left out. None where fewer than `LEAST_DOCUMENTS` known documents, or no suspect
    text, have a score.
    """
    own = np.zeros(1 + max(known.document.max(initial=0), group.document.max(initial=0)), dtype=bool)
    own[group.document] = True
    known = known.where(~own[known.document])
    theirs, ours = np.full_like(known.scores, np.nan), np.full_like(group.scores, np.nan)
    for code in np.unique(group.slice):
        there, here = known.slice == code, group.slice == code
        for method in range(known.scores.shape[1]):
            rows = np.flatnonzero(there & ~np.isnan(known.scores[:, method]))
            mine = np.flatnonzero(here & ~np.isnan(group.scores[:, method]))
            if len(rows) and len(mine):
                weights, weight = _weights(known.document[rows], group.document[mine])
                theirs[rows, method], ours[mine, method] = normal_scores(
                    known.scores[rows, method], weights, group.scores[mine, method], weight
                )
    columns = [*zip(theirs.T, ours.T, strict=True)]
    if len(combined):
        columns.append((_mean(theirs[:, combined]), _mean(ours[:, combined])))
    results: list[Comparison | None] = []
    for their_scores, our_scores in columns:
        rows, mine = np.flatnonzero(~np.isnan(their_scores)), np.flatnonzero(~np.isnan(our_scores))
        documents = np.count_nonzero(np.bincount(known.document[rows]))
        if documents < LEAST_DOCUMENTS or not len(mine) or np.ptp(their_scores[rows]) == 0:
            results.append(None)
        else:
            scores = (their_scores[rows], known.document[rows], our_scores[mine], group.document[mine])
            results.append(compare(*scores))
    return results


def _weights(known: Whole, group: Whole) -> tuple[Floats, float]:
    """Return the weights of known texts, equal for every document and 1 on average, and that of a suspect text.

    A suspect text counts 1, but a suspect document at most as much as a known one: a single text can exceed all,
    and a long document cannot make up the scale that it is measured by.
    """
    texts = np.bincount(known)
    share = len(known) / np.count_nonzero(texts)
    documents = np.count_nonzero(np.bincount(group))
    return share / texts[known], min(1.0, share * documents / len(group))


def _mean(scores: Floats) -> Floats:
    """Return the mean of each row's numbers, NaN if it has none."""
    scored = ~np.isnan(scores)
    return ratio(np.where(scored, scores, 0.0).sum(axis=1), scored.sum(axis=1))
