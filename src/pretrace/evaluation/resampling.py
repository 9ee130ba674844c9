"""Stratified bootstrap of documents or texts, as whole-number weights shared by every
method; exchanges of labels."""

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import chain, combinations, islice, product
from math import comb

import numpy as np
import pandas as pd

from pretrace.evaluation.metrics import FEWEST_DOCUMENTS
from pretrace.evaluation.roc import Flags, Floats, Weights, Whole

LEAST_DOCUMENTS = 10
"""Fewer documents of a class are too few for tests between methods, and for settings
chosen on other documents."""

BOTH = 2
"""The stratum of groups with texts of both classes; those of one class are in the
stratum 1 (members) or 0."""

DRAWN = 19_999
"""Relabellings that are drawn where there are more."""

_CHUNK_BYTES = 1 << 24
"""Of one matrix of weights or labels; a handful of that size are in memory at once."""

_FEWEST_AT_ONCE = 8


def too_few(document: Whole) -> bool:
    """Tell whether texts of a class (the codes of their documents, -1: none) come from
    fewer than `LEAST_DOCUMENTS`.

    A text without a document is one of its own.
    """
    named = len(np.unique(document[document >= 0]))
    unnamed = int((document < 0).sum())
    return named + unnamed < LEAST_DOCUMENTS


@dataclass(frozen=True)
class Groups:
    """Hold the groups that are drawn: `of_text[i]` is the group of text i, counted from
    0 within its `stratum[i]`.

    `conditional` says that a class has too few documents, so that its texts stand for
    themselves.
    """

    of_text: Whole
    stratum: Whole
    conditional: bool

    @property
    def least(self) -> int:
        """Return the number of groups in the smallest stratum."""
        sizes = []
        for kind in np.unique(self.stratum):
            numbers = self.of_text[self.stratum == kind]
            sizes.append(int(numbers.max()) + 1)
        return min(sizes)


def resampling_groups(text: Whole, document: Whole, label: Flags) -> Groups:
    """Group the texts of a cell: by document where texts share one, and equal texts
    always together.

    `text` and `document` are codes (equal texts have equal codes; document -1: none),
    `label` is True for members; all of shape (texts,). Documents that hold an equal
    text are one group.

    A document with texts of both classes is one group: what its members and non-members
    have in common cancels in the difference between the classes, and would count twice
    if these were drawn apart. Such groups, and those of either class alone, are three
    strata; where both kinds are there and one has fewer than `FEWEST_DOCUMENTS` groups,
    all are one stratum, because a stratum of few groups scatters too little (one of a
    single group, not at all). Where a class has too few groups, its texts stand for
    themselves and the classes are drawn apart.
    """
    few = []
    conditional = False
    for kind in (True, False):
        own = label == kind
        groups = _components([text[own], document[own]])
        if len(np.unique(groups)) < FEWEST_DOCUMENTS:
            few.append(kind)
            named = document[own & (document >= 0)]
            conditional |= len(np.unique(named)) < len(named)
    if few:
        for_themselves = (document < 0) | np.isin(label, few)
        document = np.where(for_themselves, -1, 2 * document + label)
        text = 2 * text + label
    groups = _components([text, document])
    has_members = np.bincount(groups, label) > 0
    has_nonmembers = np.bincount(groups, ~label) > 0
    stratum = has_members.astype(np.intp)
    stratum[has_members & has_nonmembers] = BOTH
    sizes = np.bincount(stratum, minlength=3)
    if sizes[BOTH] and (sizes[sizes > 0] < FEWEST_DOCUMENTS).any():
        stratum[:] = BOTH
    number = np.empty(len(stratum), dtype=np.intp)
    for kind in np.unique(stratum):
        is_in = stratum == kind
        number[is_in] = np.arange(is_in.sum())
    return Groups(number[groups], stratum[groups], conditional)


def _components(shared: list[Whole]) -> Whole:
    """Number the groups of rows linked by equal codes, by their first row; a code of -1
    links none."""
    first = np.arange(len(shared[0]))
    while True:
        before = first
        for codes in shared:
            lowest = np.full(codes.max(initial=-1) + 1, len(codes))
            known = codes >= 0
            np.minimum.at(lowest, codes[known], first[known])
            if len(lowest):
                lowered = np.minimum(first, lowest[codes])
                first = np.where(known, lowered, first)
        if (first == before).all():
            _, numbers = np.unique(first, return_inverse=True)
            return numbers


def resample(groups: Groups, resamples: int, seed: int) -> Iterator[Weights]:
    """Yield weights of shape (texts, part of the resamples), part by part: how often
    each text was drawn.

    Each stratum draws as many groups as it has, with replacement. Memory is bounded: a
    part holds `_CHUNK_BYTES`, or `_FEWEST_AT_ONCE` resamples of very many texts; the
    parts put together do not depend on its size. float32, half the memory to move,
    holds whole numbers up to 2**24.
    """
    texts = len(groups.of_text)
    at_once = min(resamples, columns_at_once(texts, of_bytes=4))
    strata = []
    for kind in np.unique(groups.stratum):
        rows = np.flatnonzero(groups.stratum == kind)
        strata.append((rows, np.random.default_rng([seed, kind])))
    for start in range(0, resamples, at_once):
        part = min(at_once, resamples - start)
        weights = np.empty((texts, part), dtype=np.float32)
        for rows, stream in strata:
            count = int(groups.of_text[rows].max()) + 1
            drawn = stream.integers(count, size=(part, count))
            drawn += count * np.arange(part)[:, None]
            times = np.bincount(drawn.ravel(), minlength=part * count)
            of_group = times.reshape(part, count).T
            of_group = np.ascontiguousarray(of_group, dtype=np.float32)
            weights[rows] = of_group.take(groups.of_text[rows], axis=0)
        yield weights


def relabellings(
    label: Flags, stratum: Whole, seed: int, drawn: int = DRAWN
) -> Iterator[Floats]:
    """Yield labels (1 or 0) of shape (units, part of all relabellings), part by part;
    the first are the labels as they are.

    Units of a stratum exchange their labels (`label`, `stratum`: shape (units,)). Where
    there are at most as many ways to do so as would be `drawn`, each comes once;
    elsewhere that number is drawn at random.
    """
    yield label[:, None].astype(np.float64)
    _, codes = np.unique(stratum, return_inverse=True)
    units = len(label)
    at_once = columns_at_once(units)
    if ways(label, stratum) <= drawn + 1:
        others = _other_relabellings(label, codes)
        while part := list(islice(others, at_once)):
            ones = np.array(part, dtype=np.intp).T
            labels = np.zeros((units, len(part)))
            labels[ones, np.arange(len(part))] = 1
            yield labels
        return
    rng = np.random.default_rng(seed)
    by_stratum = label[np.argsort(codes, kind="stable")].astype(np.float64)
    for start in range(0, drawn, at_once):
        shape = (min(at_once, drawn - start), units)
        order = np.argsort(codes + rng.random(shape), axis=1)
        labels = np.empty(shape)
        np.put_along_axis(labels, order, by_stratum[None], axis=1)
        yield labels.T


def _other_relabellings(label: Flags, codes: Whole) -> Iterator[list[int]]:
    """Yield each choice of the units that are labelled 1, but for that of `label`
    itself; `codes`: the stratum of each unit, counted from 0."""
    choices = []
    for code in range(codes.max(initial=-1) + 1):
        rows = np.flatnonzero(codes == code)
        choices.append(combinations(rows.tolist(), int(label[rows].sum())))
    as_they_are = set(np.flatnonzero(label).tolist())
    for of_strata in product(*choices):
        ones = list(chain.from_iterable(of_strata))
        if set(ones) != as_they_are:
            yield ones


def ways(label: Flags, stratum: Whole) -> int:
    """Return in how many ways the units of each stratum can exchange their labels."""
    totals = Counter(stratum.tolist())
    ours = Counter(stratum[label].tolist())
    number = 1
    for code, total in totals.items():
        number *= comb(total, ours[code])
    return number


def columns_at_once(texts: int, of_bytes: int = 8) -> int:
    return max(_FEWEST_AT_ONCE, _CHUNK_BYTES // (of_bytes * max(texts, 1)))


def codes(texts: pd.DataFrame) -> tuple[Whole, Whole]:
    """Return text and document of each row of a benchmark table as `resampling_groups`
    takes them."""
    text, _ = pd.factorize(texts["text"].to_numpy(dtype=object))
    names = texts["document"].to_numpy(dtype=object)
    document, _ = pd.factorize(names)
    return text, np.where(names == "", -1, document)


def text_weights(texts: pd.DataFrame, resamples: int, seed: int) -> Floats:
    """Return weights of labelled texts of a benchmark table, or of one class of them:
    shape (texts, resamples)."""
    text, document = codes(texts)
    label = texts["label"].eq(1).to_numpy(dtype=bool)
    groups = resampling_groups(text, document, label)
    return whole_weights(groups, resamples, seed)


def whole_weights(groups: Groups, resamples: int, seed: int) -> Floats:
    """Return all parts of `resample` as one matrix of float64, shape (texts,
    resamples)."""
    parts = [*resample(groups, resamples, seed)]
    return np.concatenate(parts, axis=1, dtype=np.float64)
