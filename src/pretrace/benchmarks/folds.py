"""Five folds that share nothing: no document, or no block of a document, no equal text
and no matched pair.

Hyperparameters are chosen on the other folds, so a text that shares words with theirs
would leak the choice; and whatever learns from them would learn the opposite of a label
where they hold the other one of a matched pair.
"""

import bisect
import random
import unicodedata
from collections import Counter, defaultdict
from collections.abc import Hashable, Iterable, Sequence
from itertools import accumulate
from typing import Literal, NamedTuple

from pretrace.benchmarks.sources import Text

FOLDS = 5
DOCUMENTS_NEEDED = FOLDS  # of a class, so that each fold can hold one


class Folds(NamedTuple):
    """`numbers[i]` is the fold (0..4) of text i; whole documents stay together, or
    blocks of them: `unit`."""

    numbers: list[int]
    unit: Literal["document", "block"]


class _Groups:
    """Groups of the numbers 0..n-1, merged pair by pair.

    Not scipy's, whose import takes a second of every benchmark's job.
    """

    def __init__(self, n: int) -> None:
        self._parents = list(range(n))

    def merge(self, i: int, j: int) -> None:
        self._parents[self._root(i)] = self._root(j)

    def subsets(self) -> list[list[int]]:
        """Return the groups, each in ascending order."""
        groups: dict[int, list[int]] = defaultdict(list)
        for i in range(len(self._parents)):
            groups[self._root(i)].append(i)
        return list(groups.values())

    def _root(self, i: int) -> int:
        parents = self._parents
        while parents[i] != i:
            parents[i] = parents[parents[i]]  # shorter for the next who asks
            i = parents[i]
        return i


def classes_with_few_documents(
    labels: Iterable[int | None], documents: Iterable[str]
) -> set[int]:
    """Return the classes (1, 0) with texts from fewer than 5 documents; a text without
    one is its own document.

    What is measured on such a class is conditional on its documents: it says nothing
    about other ones.
    """
    named: dict[int, set[str]] = {0: set(), 1: set()}
    unnamed = Counter[int]()
    for label, document in zip(labels, documents, strict=True):
        if label in named:
            named[label].add(document) if document else unnamed.update([label])
    sizes = {label: len(names) + unnamed[label] for label, names in named.items()}
    return {label for label, size in sizes.items() if 0 < size < DOCUMENTS_NEEDED}


def assign_folds(texts: Sequence[Text], seed: int) -> Folds:
    """Assign five folds, stratified by label and subset, and within them by length
    where the units allow it.

    Texts of one document stay together if each class has at least 5 documents;
    otherwise each document is cut into at most 5 contiguous blocks that do. Equal texts
    share a fold, whatever their documents. Texts of a block that overlap share it: by
    their spans, or, if the source gives none, because one contains the other. Matched
    documents share a fold, and if these are cut, their blocks of the same place do.
    """
    few = classes_with_few_documents(
        (text.label for text in texts), (text.document for text in texts)
    )
    units: list[Hashable] = (
        _blocks(texts)
        if few
        else [text.document or (i,) for i, text in enumerate(texts)]
    )
    matched: list[Hashable] = [
        (text.matched, unit[1] if isinstance(unit, tuple) and text.document else None)
        if text.matched
        else (i,)
        for i, (text, unit) in enumerate(zip(texts, units, strict=True))
    ]
    joined = _Groups(len(texts))
    for values in (
        units,
        [unicodedata.normalize("NFC", text.text) for text in texts],
        matched,
    ):
        first: dict[Hashable, int] = {}
        for i, value in enumerate(values):
            joined.merge(i, first.setdefault(value, i))
    return Folds(_deal(texts, joined, seed), "block" if few else "document")


def _deal(texts: Sequence[Text], units: _Groups, seed: int) -> list[int]:
    """Assign units to folds, the largest unit first, each to the fold with the smallest
    share of the unit's strata.

    Units of one size are ordered by the seed and their ids, not by the order of the
    texts.
    """
    members = sorted(map(sorted, units.subsets()))
    strata = [[(t.label, t.subset), (t.label, t.subset, t.length)] for t in texts]
    sizes = Counter(stratum for pair in strata for stratum in pair)
    loads: list[Counter[Hashable]] = [Counter() for _ in range(FOLDS)]
    folds = [0] * len(texts)
    members.sort(key=lambda unit: min(texts[i].text_id for i in unit))
    random.Random(seed).shuffle(members)
    for unit in sorted(members, key=len, reverse=True):
        counts = Counter(stratum for i in unit for stratum in strata[i])
        shares = [
            sum(load[key] * count / sizes[key] for key, count in counts.items())
            for load in loads
        ]
        fold = min(range(FOLDS), key=lambda f: (shares[f], loads[f].total()))
        loads[fold].update(counts)
        for i in unit:
            folds[i] = fold
    return folds


def _blocks(texts: Sequence[Text]) -> list[Hashable]:
    """Return each text's block: (document, 0..4), or the text itself if it has no
    document."""
    blocks: list[Hashable] = [(i,) for i in range(len(texts))]
    documents: dict[str, list[int]] = defaultdict(list)
    for i, text in enumerate(texts):
        if text.document:
            documents[text.document].append(i)
    for document, indices in documents.items():
        before = 0
        for piece in _pieces([texts[i] for i in indices]):
            block = int(FOLDS * (before + len(piece) / 2) / len(indices))
            before += len(piece)
            for place in piece:
                blocks[indices[place]] = (document, block)
    return blocks


def _pieces(texts: list[Text]) -> list[list[int]]:
    """Cut one document's texts, in its order, into runs of texts that overlap."""
    groups = _Groups(len(texts))
    spans = [text.span for text in texts if text.span is not None]
    if len(spans) == len(texts):
        position = [float(start) for start, _ in spans]
        order = sorted(range(len(spans)), key=lambda i: spans[i])
        reach = order[0]  # the text so far that ends last
        for i in order[1:]:
            if spans[i][0] < spans[reach][1]:
                groups.merge(i, reach)
            if spans[i][1] > spans[reach][1]:
                reach = i
    else:  # the place of a text among the document's texts of its length, 0 to 1
        totals, seen, position = (
            Counter(text.length for text in texts),
            Counter[int | None](),
            [],
        )
        for text in texts:
            position.append(seen[text.length] / totals[text.length])
            seen[text.length] += 1
        _join_containing(groups, texts)
    return sorted(
        map(sorted, groups.subsets()), key=lambda piece: min(position[i] for i in piece)
    )


def _join_containing(groups: _Groups, texts: list[Text]) -> None:
    """Join each text with one of every greater length that contains it."""
    by_length: dict[int | None, list[int]] = defaultdict(list)
    for i, text in enumerate(texts):
        by_length[text.length].append(i)
    longest = [
        (max(len(texts[i].text) for i in indices), indices)
        for indices in by_length.values()
    ]
    for size, longer in longest:
        together = "\0".join(texts[i].text for i in longer)
        ends = list(accumulate(len(texts[i].text) + 1 for i in longer))
        for shorter in (indices for other, indices in longest if other < size):
            start = 0
            for i in shorter:  # most often just after the one before
                place = together.find(texts[i].text, start)
                place = together.find(texts[i].text) if place < 0 else place
                if place >= 0:
                    start = place
                    groups.merge(i, longer[bisect.bisect_right(ends, place)])
