"""The test of an audit: texts in question and known ones exchange their labels, whole
documents at a time.

If the model read none of them, and they are of the same kind, each way to share the
labels out is as likely. p is the share of these ways in which the texts in question
score at least as high as they do. It is exact for scores of any distribution.
docs/size_and_power.md has its false alarms and its power in simulations.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from pretrace.audit.design import FEWEST_WAYS, detectable_effect
from pretrace.evaluation.resampling import DRAWN, relabellings, ways
from pretrace.evaluation.roc import Flags, Floats, Whole, ratio

SUMMING = 1e-9
"""Sums that differ by less are equal."""

FEWEST_FREEDOM = 5
"""Degrees of freedom of a side from which on its own variance is estimated: fewer are
too uncertain."""


@dataclass(frozen=True)
class AuditedTexts:
    """Texts with `scores` (texts, methods), NaN where a method has none; codes of their
    `document` and `slice`.

    `suspect`: the text is in question. `within`: labels were drawn at random within
    documents, which hold both kinds. All but `scores` have shape (texts,).
    """

    scores: Floats
    document: Whole
    slice: Whole
    suspect: Flags
    within: bool = False

    def where(self, rows: Flags | Whole) -> "AuditedTexts":
        return replace(
            self,
            scores=self.scores[rows],
            document=self.document[rows],
            slice=self.slice[rows],
            suspect=self.suspect[rows],
        )

    def ranks(self, combined: Sequence[int]) -> Floats:
        """Return normal scores of each method within each slice, and in a last column
        their mean over `combined`."""
        ranks = np.full_like(self.scores, np.nan)
        for code in np.unique(self.slice):
            is_here = self.slice == code
            for column, scores in enumerate(self.scores.T):
                rows = np.flatnonzero(is_here & ~np.isnan(scores))
                documents = self.document[rows]
                texts = np.bincount(documents, minlength=1)
                weights = 1 / texts[documents]
                ranks[rows, column] = normal_scores(scores[rows], weights)
        chosen = ranks[:, list(combined)]
        scored = ~np.isnan(chosen)
        sums = np.where(scored, chosen, 0.0).sum(axis=1)
        mean = ratio(sums, scored.sum(axis=1))
        return np.concatenate([ranks, mean[:, None]], axis=1)


def normal_scores(scores: Floats, weights: Floats) -> Floats:
    """Return normal quantiles of weighted ranks, shape (texts,); equal scores share
    theirs.

    With `weights` 1 / (texts of a document) every document counts as much as any other.
    """
    from scipy.special import ndtri

    order = np.argsort(scores, kind="stable")
    ordered = scores[order]
    cumulative = np.concatenate([[0.0], np.cumsum(weights[order])])
    below = cumulative[np.searchsorted(ordered, scores, "left")]
    upto = cumulative[np.searchsorted(ordered, scores, "right")]
    quantiles = (below + upto) / (2 * cumulative[-1])
    return ndtri(quantiles)


@dataclass(frozen=True)
class Units:
    """What exchanges labels with others of its stratum: documents or, where labels were
    drawn within them, texts.

    `mean` of the unit's normal scores, of `texts` texts; `suspect`, `stratum` and
    `document` as codes; all of shape (units,). `within`: the variance of texts within a
    unit; 0 where each has one.
    """

    mean: Floats
    texts: Floats
    suspect: Flags
    stratum: Whole
    document: Whole
    within: float

    @cached_property
    def ways(self) -> int:
        return ways(self.suspect, self.stratum)

    @cached_property
    def shared(self) -> Floats:
        """Return each stratum's weight n1 n0 / (n1 + n0), of n1 suspect and n0 known
        units."""
        n0 = np.bincount(self.stratum, ~self.suspect)
        n1 = np.bincount(self.stratum, self.suspect)
        return n0 * n1 / np.maximum(n0 + n1, 1)

    @property
    def effect(self) -> float:
        """Return how much higher suspects lie than known units of their stratum, in
        standard deviations of a text."""
        weights = self.shared.sum()
        if not weights:
            return np.nan
        sign = np.where(self.suspect, 1.0, -1.0)
        side = 2 * self.stratum + self.suspect
        sizes = np.bincount(side)
        weight = sign * self.shared[self.stratum] / sizes[side]
        return float(weight @ self.mean / weights)

    def _between(self, means: Floats) -> float:
        """Return the variance of units' `means` about those of their strata, less what
        texts within units add to it."""
        of_strata = np.bincount(self.stratum, means) / np.bincount(self.stratum)
        left = means - of_strata[self.stratum]
        strata = len(np.unique(self.stratum))
        degrees = max(1, len(left) - strata)
        of_texts = self.within * float((1 / self.texts).mean())
        variance = float(left @ left) / degrees
        return max(0.0, variance - of_texts)

    @cached_property
    def _unread(self) -> Floats:
        """Return the means as they would be without the effect."""
        return self.mean - np.where(self.suspect, np.nan_to_num(self.effect), 0)

    @property
    def icc(self) -> float:
        """Return the share of the variance of texts that lies between documents; NaN
        where each has one text."""
        if not self.within:
            return np.nan
        between = self._between(self._unread)
        return between / (between + self.within)

    @cached_property
    def standardised(self) -> Floats:
        """Return means less that of the stratum, in standard deviations of a mean of as
        many texts.

        A mean of few texts varies more than one of many. The variance between documents
        is that of all of them, of whichever label, so that the numbers do not depend on
        labels and can be exchanged.
        """
        variance = self._between(self.mean) + self.within / self.texts
        precision = ratio(np.ones_like(variance), variance, empty=1.0)
        weighted = np.bincount(self.stratum, precision * self.mean)
        of_strata = weighted / np.bincount(self.stratum, precision)
        centred = self.mean - of_strata[self.stratum]
        return centred * np.sqrt(precision)

    def p(self, seed: int, drawn: int = DRAWN) -> float:
        """Return the share of relabellings whose suspects lie at least as high as
        these, which are one of them."""
        return exchanged_p(self.standardised, self.suspect, self.stratum, seed, drawn)

    @property
    def conformal_p(self) -> Floats:
        """Return (1 + known units of its stratum that lie as high) / (1 + known ones)
        of each suspect; else NaN.

        At most `level` of suspects that are exchangeable with known units have p <=
        level, whatever the distribution: V. Vovk, A. Gammerman and G. Shafer,
        Algorithmic Learning in a Random World, 2005, section 2.2.
        """
        p = np.full(len(self.mean), np.nan)
        for suspects, known in self._with_known():
            ordered = np.sort(self.standardised[known])
            least = self.standardised[suspects] - SUMMING
            as_high = len(known) - np.searchsorted(ordered, least, side="left")
            p[suspects] = (1 + as_high) / (1 + len(known))
        return p

    @property
    def above_known(self) -> Floats:
        """Return how much higher each suspect lies than the known units of its stratum;
        else NaN."""
        above = np.full(len(self.mean), np.nan)
        for suspects, known in self._with_known():
            above[suspects] = self.mean[suspects] - self.mean[known].mean()
        return above

    def _with_known(self) -> Iterator[tuple[Whole, Whole]]:
        """Yield the suspects of each stratum with its known units, if there are any."""
        for code in np.unique(self.stratum[self.suspect]):
            here = self.stratum == code
            known = np.flatnonzero(here & ~self.suspect)
            if len(known):
                yield np.flatnonzero(here & self.suspect), known

    def smallest_effect(self) -> float:
        """Return the effect that is found at `LEVEL` with probability `POWER`; infinite
        where no p is low enough."""
        if self.ways < FEWEST_WAYS:
            return np.inf
        suspect = self.suspect
        variance = self._between(self._unread) + self.within / self.texts
        ours = suspect.sum()
        theirs = len(suspect) - ours
        # the variance of each side counts by the number of the other one
        of_ours = variance[suspect].mean() * theirs
        of_theirs = variance[~suspect].mean() * ours
        mean = (of_ours + of_theirs) / (ours + theirs)
        strata = len(np.unique(self.stratum))
        degrees = max(1, len(suspect) - strata - 1)
        return detectable_effect(mean / self.shared.sum(), degrees)


def exchanged_p(
    values: Floats, suspect: Flags, stratum: Whole, seed: int, drawn: int = DRAWN
) -> float:
    """Return the share of relabellings within strata whose suspects' values (units,)
    lie at least as high."""
    lying = above if _differ_in_number(suspect, stratum) else summed
    parts = []
    for labels in relabellings(suspect, stratum, seed, drawn):
        parts.append(lying(values, labels, stratum))
    return share_as_high(np.concatenate(parts))


def share_as_high(values: Floats) -> float:
    """Return the share of `values` (relabellings,) that are at least as high as the
    first, which is of the labels."""
    return float((values >= values[0] - SUMMING).mean())


def summed(values: Floats, labels: Floats, stratum: Whole) -> Floats:
    """Return the sum of suspects' values, shape (relabellings,)."""
    return values @ labels


def above(values: Floats, labels: Floats, stratum: Whole) -> Floats:
    """Return how much higher suspects' values lie, in standard errors, shape
    (relabellings,).

    Each side has a variance of its own: where one side has fewer units and these
    scatter more, a plain sum is often high by chance. Welch's t keeps its level there:
    A. Janssen, Studentized permutation tests for non-i.i.d. hypotheses, Statistics &
    Probability Letters 1997. `labels` has shape (units, relabellings).
    """
    is_in = (stratum == np.unique(stratum)[:, None]).astype(np.float64)
    number = is_in.sum(axis=1, keepdims=True)
    ours = is_in @ labels[:, :1]
    theirs = number - ours
    means = (is_in @ values) / number[:, 0]
    values = values - means @ is_in
    sums = is_in @ (values[:, None] * labels)
    squares = (values**2) @ labels
    # values are centred, so that both sides of a stratum sum to 0
    between_ours = (sums**2 / np.maximum(ours, 1)).sum(axis=0)
    between_theirs = (sums**2 / np.maximum(theirs, 1)).sum(axis=0)
    within_ours = squares - between_ours
    within_theirs = values @ values - squares - between_theirs
    variance_ours = within_ours / _freedom(ours)
    variance_theirs = within_theirs / _freedom(theirs)
    weight_ours = (theirs**2 * ours / number**2).sum()
    weight_theirs = (ours**2 * theirs / number**2).sum()
    variance = weight_ours * variance_ours + weight_theirs * variance_theirs
    errors = np.sqrt(np.maximum(variance, SUMMING**2))
    return sums.sum(axis=0) / errors


def _freedom(side: Floats | Whole) -> float:
    """Return the degrees of freedom of a side's variance; `side`: its units in each
    stratum."""
    return float((side - 1).clip(0).sum())


def _differ_in_number(suspect: Flags, stratum: Whole) -> bool:
    """Return whether the sides of some stratum differ in number and both suffice to say
    how much they scatter.

    With equal numbers Welch's t orders relabellings as the sum does.
    """
    _, codes = np.unique(stratum, return_inverse=True)
    ours = np.bincount(codes, suspect)
    theirs = np.bincount(codes, ~suspect)
    freedom = min(_freedom(ours), _freedom(theirs))
    return freedom >= FEWEST_FREEDOM and bool((ours != theirs).any())


def units_of(texts: AuditedTexts, normal: Floats) -> Units:
    """Return the units of texts with these `normal` scores (texts,); texts without one
    take no part.

    Documents of the same slices are a stratum; where labels were drawn within
    documents, a document is one.
    """
    has_score = ~np.isnan(normal)
    texts, normal = texts.where(has_score), normal[has_score]
    unit = np.arange(len(normal)) if texts.within else texts.document
    _, first, of_unit = np.unique(unit, return_index=True, return_inverse=True)
    number = np.bincount(of_unit).astype(np.float64)
    mean = np.bincount(of_unit, normal) / np.maximum(number, 1)
    squares = float(((normal - mean[of_unit]) ** 2).sum())
    freedom = len(normal) - len(first)

    strata: list[int] = []
    numbers: dict[object, int] = {}
    document = texts.document[first]
    for place, slices in enumerate(_slices(texts, of_unit)):
        exchanged_with = (document[place] if texts.within else 0, slices)
        strata.append(numbers.setdefault(exchanged_with, len(numbers)))
    return Units(
        mean=mean,
        texts=number,
        suspect=texts.suspect[first],
        stratum=np.array(strata, dtype=np.intp),
        document=document,
        within=squares / freedom if freedom else 0.0,
    )


def _slices(texts: AuditedTexts, unit: Whole) -> list[frozenset[int]]:
    """Return the slices of each unit's texts."""
    slices: list[set[int]] = [set() for _ in range(int(unit.max(initial=-1)) + 1)]
    for row, code in zip(unit.tolist(), texts.slice.tolist(), strict=True):
        slices[row].add(code)
    return [frozenset(own) for own in slices]
