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
        if label not in named:
            continue
        if document:
            named[label].add(document)
        else:
            unnamed[label] += 1
    few = set()
    for label, names in named.items():
        if 0 < len(names) + unnamed[label] < DOCUMENTS_NEEDED:
            few.add(label)
    return few


def assign_folds(texts: Sequence[Text], seed: int) -> Folds:
    """Assign five folds, stratified by label and subset, and within them by length
    where the units allow it.

    Texts of one document stay together if each class has at least 5 documents;
    otherwise each document is cut into at most 5 contiguous blocks that do. Equal texts
    share a fold, whatever their documents. Texts of a block that overlap share it: by
    their spans, or, if the source gives none, because one contains the other. Matched
    documents share a fold, and if these are cut, their blocks of the same place do.
    """
    labels = [text.label for text in texts]
    few = classes_with_few_documents(labels, [text.document for text in texts])
    units = []
    if few:
        units = _blocks(texts)
    else:
        units = [text.document or (i,) for i, text in enumerate(texts)]
    contents = [unicodedata.normalize("NFC", text.text) for text in texts]
    joined = _Groups(len(texts))
    for keys in (units, contents, _matched(texts, units)):
        first: dict[Hashable, int] = {}
        for i, key in enumerate(keys):
            joined.merge(i, first.setdefault(key, i))
    return Folds(_deal(texts, joined, seed), "block" if few else "document")


def _matched(texts: Sequence[Text], units: Sequence[Hashable]) -> list[Hashable]:
    """Return for each text what its matched pair shares: its name, and the place of the
    block in its document; the text itself without a pair."""
    matched: list[Hashable] = []
    for i, (text, unit) in enumerate(zip(texts, units, strict=True)):
        if not text.matched:
            matched.append((i,))
            continue
        block = unit[1] if isinstance(unit, tuple) and text.document else None
        matched.append((text.matched, block))
    return matched


def _strata(text: Text) -> tuple[Hashable, Hashable]:
    """Return what a text counts for when folds are dealt."""
    return (text.label, text.subset), (text.label, text.subset, text.length)


def _deal(texts: Sequence[Text], units: _Groups, seed: int) -> list[int]:
    """Assign units to folds, the largest unit first, each to the fold with the smallest
    share of the unit's strata.

    Units of one size are ordered by the seed and their ids, not by the order of the
    texts.
    """
    members = sorted(units.subsets())
    members.sort(key=lambda unit: min(texts[i].text_id for i in unit))
    random.Random(seed).shuffle(members)
    sizes = Counter[Hashable]()
    for text in texts:
        sizes.update(_strata(text))
    loads: list[Counter[Hashable]] = [Counter() for _ in range(FOLDS)]
    folds = [0] * len(texts)
    for unit in sorted(members, key=len, reverse=True):
        counts = Counter[Hashable]()
        for i in unit:
            counts.update(_strata(texts[i]))
        lightest = []
        for fold, load in enumerate(loads):
            share = sum(load[key] * count / sizes[key] for key, count in counts.items())
            lightest.append((share, load.total(), fold))
        _, _, fold = min(lightest)
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
        _join_overlapping(groups, spans)
    else:
        position = _places(texts)
        _join_containing(groups, texts)
    pieces = groups.subsets()
    return sorted(pieces, key=lambda piece: min(position[i] for i in piece))


def _places(texts: list[Text]) -> list[float]:
    """Return the place of each text among the texts of its length, 0 to 1."""
    totals = Counter(text.length for text in texts)
    seen = Counter[int | None]()
    places = []
    for text in texts:
        places.append(seen[text.length] / totals[text.length])
        seen[text.length] += 1
    return places


def _join_overlapping(groups: _Groups, spans: list[tuple[int, int]]) -> None:
    first, *others = sorted(range(len(spans)), key=lambda i: spans[i])
    reach = first  # the text so far that ends last
    for i in others:
        start, end = spans[i]
        if start < spans[reach][1]:
            groups.merge(i, reach)
        if end > spans[reach][1]:
            reach = i


def _join_containing(groups: _Groups, texts: list[Text]) -> None:
    """Join each text with one of every greater length that contains it."""
    by_length: dict[int | None, list[int]] = defaultdict(list)
    for i, text in enumerate(texts):
        by_length[text.length].append(i)
    longest = {}
    for length, indices in by_length.items():
        longest[length] = max(len(texts[i].text) for i in indices)
    for length, longer in by_length.items():
        together = "\0".join(texts[i].text for i in longer)
        ends = list(accumulate(len(texts[i].text) + 1 for i in longer))
        for other, shorter in by_length.items():
            if longest[other] >= longest[length]:
                continue
            start = 0
            for i in shorter:
                # most often just after the one before
                place = together.find(texts[i].text, start)
                if place < 0:
                    place = together.find(texts[i].text)
                if place >= 0:
                    start = place
                    groups.merge(i, longer[bisect.bisect_right(ends, place)])
