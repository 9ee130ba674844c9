"""Overlap of a text with the training stream, in n-grams of words.

Duan et al., Do Membership Inference Attacks Work on Large Language Models?, COLM 2024:
a non-member that shares most of its n-grams with members is hardly one.
"""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence

from pretrace.benchmarks.sources import Text
from pretrace.runtime.logs import log

NGram = tuple[str, ...]

RUN = {"words": 8, "characters": 16}
"""Length of the runs by which an audit compares two texts, by the unit of their
language."""

COPIED = 0.5
"""Share of a document's runs in another one from which on it is a copy."""


def ngrams(text: str, n: int) -> list[NGram]:
    """Return all runs of n words of a text (split at white space, case unchanged), with
    repetitions."""
    words = text.split()
    shifted = [words[start:] for start in range(n)]
    return list(zip(*shifted, strict=False))


def ngrams_of_all(texts: Iterable[str], n: int) -> set[NGram]:
    """Return the n-grams within the texts; none reaches from one text into the next."""
    of_all = set()
    for text in texts:
        of_all.update(ngrams(text, n))
    return of_all


def overlap(text: str, stream: set[NGram], n: int) -> float:
    """Return the share of the text's n-grams that occur in `stream`, 0 to 1; 0 for a
    text with fewer than n words."""
    own = ngrams(text, n)
    return sum(ngram in stream for ngram in own) / len(own) if own else 0.0


def near_copies(documents: Mapping[str, set[NGram]]) -> list[str]:
    """Return the names of the first two documents that share `COPIED` of the n-grams of
    either; nothing if none do."""
    holders: dict[NGram, list[str]] = {}
    for name, own in documents.items():
        shared = Counter[str]()
        for ngram in own:
            shared.update(holders.get(ngram, ()))
        for other, count in sorted(shared.items()):
            if count >= COPIED * min(len(own), len(documents[other])):
                return [other, name]
        for ngram in own:
            holders.setdefault(ngram, []).append(name)
    return []


def within(
    snippets: Sequence[Sequence[Text]], *, ngram: int, share: float
) -> list[Sequence[Text]]:
    """Return the snippets without the non-members that share too much with the members.

    `snippets`: the texts of one place, one of each length. A non-member stays if at
    every length at most `share` of its n-grams occur in the members' texts. The log
    says how many of each subset are removed.
    """
    members = []
    for snippet in snippets:
        members += [text.text for text in snippet if text.label == 1]
    stream = ngrams_of_all(members, ngram)

    kept = []
    nonmembers, removed = Counter[str](), Counter[str]()
    for snippet in snippets:
        first = snippet[0]
        nonmembers[first.subset] += first.label == 0
        near = (overlap(text.text, stream, ngram) > share for text in snippet)
        if first.label != 1 and any(near):
            removed[first.subset] += 1
        else:
            kept.append(snippet)
    for subset, count in sorted((+nonmembers).items()):
        told = (
            f"{removed[subset]} of {count} non-members share more than {share:g} of "
            f"their {ngram}-grams"
        )
        log.info("%s: %s with the members; left out", subset or "all", told)
    return kept
