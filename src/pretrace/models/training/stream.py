"""Which texts a controlled model is trained on, and how they are packed into
windows."""

import random
from collections.abc import Iterator, Sequence
from itertools import accumulate

import pandas as pd

from pretrace.runtime.errors import InputError

HELD_OUT_TEXTS = 40
HELD_OUT_TOKENS = 4096
"""Of these texts at most, for each point of the curve; a window at least."""


def training_stream(
    benchmark: pd.DataFrame, other: Sequence[str] | None = None
) -> list[str]:
    """List the texts of one epoch, before they are shuffled and packed.

    The distinct members of the benchmark's longest length, sorted, each as often as the
    table's `repetitions` says (default 1). With `other`, documents of neither class,
    for a null model: as many passages of these, and as long in characters.
    """
    members = _longest(benchmark, label=1)
    if other is not None:
        return _passages(other, [len(text) for text in members])
    texts = []
    for text, times in members.items():
        texts += [text] * int(times)
    return texts


def held_out(benchmark: pd.DataFrame, seed: int) -> list[str]:
    """Draw at most 40 non-members of the longest length, whose loss is watched and
    never trained on."""
    texts = list(_longest(benchmark, label=0))
    return random.Random(seed).sample(texts, min(HELD_OUT_TEXTS, len(texts)))


def _longest(benchmark: pd.DataFrame, label: int) -> dict[str, int]:
    """Return the distinct texts of a class at the longest length, sorted, with the
    repetitions of each."""
    length = benchmark["length"].fillna(0)
    chosen = benchmark[(length == length.max()) & (benchmark["label"] == label)]
    times = chosen["repetitions"] if "repetitions" in chosen else [1] * len(chosen)
    return dict(sorted(zip(chosen["text"], times, strict=True)))


def _passages(documents: Sequence[str], sizes: Sequence[int]) -> list[str]:
    """Cut the documents into consecutive runs of `sizes` characters, white space as
    single spaces."""
    shuffled = random.Random(0).sample(documents, len(documents))
    lines = [" ".join(document.split()) for document in shuffled]
    text = " ".join(filter(None, lines))
    if len(text) < sum(sizes):
        raise InputError(
            f"members: false needs {sum(sizes)} characters, and tokenizer_corpus has "
            f"{len(text)}; name a larger tokenizer_corpus."
        )
    ends = list(accumulate(sizes))
    return [text[end - size : end] for size, end in zip(sizes, ends, strict=True)]


def windows(
    texts: Sequence[Sequence[int]], separator: int, window: int, epochs: int, seed: int
) -> Iterator[list[int]]:
    """Yield token windows of `epochs` epochs, each with every text in a new order and
    `separator` before each.

    A window holds `window` tokens to read and the one after them; the next begins at
    that one, so that each token but an epoch's first is predicted once. An epoch's last
    window is shorter.
    """
    order = random.Random(seed)
    for _ in range(epochs):
        shuffled = order.sample(texts, len(texts))
        stream = []
        for text in shuffled:
            stream.append(separator)
            stream += text
        for start in range(0, len(stream) - 1, window):
            yield stream[start : start + window + 1]
