"""MIMIR's construction on docstrings: classes split at random, which share many
n-grams, as code and prose do not.

Duan et al., Do Membership Inference Attacks Work on Large Language Models?, COLM 2024.
The docstrings are those of installed packages, whose functions describe the same
parameters in the same words.
"""

import random
from collections.abc import Sequence
from itertools import chain
from pathlib import Path
from typing import Annotated

from pydantic import Field

from pretrace.benchmarks.loaders.sotu import part_size
from pretrace.benchmarks.ngrams import within
from pretrace.benchmarks.packages import docstrings_of
from pretrace.benchmarks.sources import Text, TwoDraws, loader
from pretrace.runtime.errors import InputError
from pretrace.runtime.schema import Count, Keys, Maybe, Some, Unique

DocstringWords = tuple[str, int, tuple[str, ...]]
"""(module, place of its first word among the words of the module's docstrings, the
words)."""


class MaxOverlap(Keys):
    """Which non-members share few n-grams with the members."""

    ngram: Count
    """Words of an n-gram."""
    share: Annotated[float, Field(ge=0, le=1)]
    """Share of a text's n-grams, 0 to 1."""


class DocstringsSplit(TwoDraws):
    """Docstrings of installed packages, split at random, as MIMIR."""

    packages: Some[Unique[str]]
    """Import names of installed packages. Each is a subset; its modules are the
    documents."""
    max_overlap: Maybe[MaxOverlap] = None
    """`{ngram: n, share: s}` keeps only the non-members that share at most s of their
    n-grams of words with the members."""


@loader("docstrings_split")
def load(entry: DocstringsSplit, sources: list[Path], seed: int) -> list[Text]:
    """Return `texts` snippets of each class, split at random, equally many from each of
    `packages`; subset = package.

    A snippet has the longest length in consecutive words of a docstring. Snippets do
    not overlap. A shorter text is the beginning of a snippet. Documents are modules;
    each is drawn whole, half of them to either class, until there are enough snippets.
    A snippet that occurs in several docstrings is taken once.
    """
    rng = random.Random(seed)
    seen: set[tuple[str, ...]] = set()
    snippets: list[Sequence[Text]] = []
    for number, package in enumerate(entry.packages):
        quota = part_size(entry.texts, number, len(entry.packages))
        modules = _stretches(package, max(entry.lengths), seen)
        for label, stretches in _split(modules, quota, package, rng).items():
            for module, start, words in stretches:
                snippet = []
                for length in entry.lengths:
                    text_id = f"{module}-{length:03d}-{start:06d}"
                    text = " ".join(words[:length])
                    span = start, start + length
                    snippet.append(
                        Text(text_id, text, label, package, length, module, span)
                    )
                snippets.append(snippet)
    if entry.max_overlap is not None:
        snippets = within(snippets, **entry.max_overlap.set_fields())
    return list(chain.from_iterable(snippets))


def _stretches(
    package: str, length: int, seen: set[tuple[str, ...]]
) -> list[list[DocstringWords]]:
    """Cut each module's docstrings into stretches of `length` words, without those
    `seen` before, and add to `seen`."""
    modules = []
    for module, docstrings in docstrings_of(package).items():
        stretches: list[DocstringWords] = []
        before = 0
        for words in map(str.split, docstrings):
            for start in range(0, len(words) - length + 1, length):
                run = tuple(words[start : start + length])
                if run not in seen:
                    seen.add(run)
                    stretches.append((module, before + start, run))
            before += len(words)
        modules.append(stretches)
    return modules


def _split(
    modules: list[list[DocstringWords]], quota: int, package: str, rng: random.Random
) -> dict[int, list[DocstringWords]]:
    """Return label -> `quota` stretches; half of each drawn module's go to either
    class."""
    split: dict[int, list[DocstringWords]] = {1: [], 0: []}
    for module in rng.sample(modules, len(modules)):
        own = rng.sample(module, len(module))
        half = (len(own) + rng.randrange(2)) // 2
        split[1] += own[:half]
        split[0] += own[half:]
        if min(map(len, split.values())) >= quota:
            return {1: sorted(split[1][:quota]), 0: sorted(split[0][:quota])}
    raise InputError(
        f"packages: {package} holds {min(map(len, split.values()))} snippets of one "
        f"class where {quota} are asked for; give more packages or fewer texts."
    )
