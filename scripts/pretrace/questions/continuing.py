"""The first half of each text as a model goes on from there, sampled: what `samia` and `ngram_coverage` read.

Temperature 1, as both papers; the 50 likeliest tokens, as SaMIA's code, where the model runs here (APIs differ in
whether they take such a number). A sample ends where the text does, in words: SaMIA's code lets it go on to 1,024
tokens in all, which finds more of any text and takes up to thirty times as long.
"""

from collections.abc import Callable, Sequence
from typing import Protocol

import pandas as pd

from pretrace.runtime.errors import InputError
from pretrace.runtime.logs import Progress, log

TEMPERATURE = 1.0
TOP_K = 50


class Continuer(Protocol):
    """Who continues texts: a checkpoint, or a model behind an API."""

    def continuations(
        self, openings: Sequence[str], rests: Sequence[str], samples: int, progress: Callable[[int], None]
    ) -> list[list[str]]:
        """`samples` samples of how each opening goes on, each about as long as the rest of its text or longer; none
        where the model cannot say.
        """
        ...


def continue_texts(benchmark: pd.DataFrame, continuer: Continuer, samples: int, name: str) -> pd.DataFrame:
    """The view: text_id, variant 0 to `samples` - 1, text, sorted: int(half of the words) of a text, then a sample.

    Equal texts are continued once. A text of one word has no rows, and neither has one that the model cannot continue;
    the log counts them. Raises `InputError` where none is left.
    """
    halves = {text: _halves(text) for text in sorted(set(benchmark["text"])) if len(text.split()) > 1}
    openings, rests = [first for first, _ in halves.values()], [rest for _, rest in halves.values()]
    with Progress(name, total=len(halves), unit="texts") as progress:
        found = dict(
            zip(halves, continuer.continuations(openings, rests, samples, progress.update), strict=True)
        )
    rows = [
        (id, variant, _ended(f"{halves[text][0]}{sample}", len(text.split())))
        for id, text in zip(benchmark["text_id"], benchmark["text"], strict=True)
        for variant, sample in enumerate(found.get(text, ()))
    ]
    frame = pd.DataFrame(rows, columns=["text_id", "variant", "text"]).astype({"variant": "int32"})
    if frame.empty:
        raise InputError(
            f"{name}: no text has two words or more and fits into the model's context with its rest."
        )
    log.info("%s: %d of %d texts continued", name, frame["text_id"].nunique(), len(benchmark))
    return frame.sort_values(["text_id", "variant"], ignore_index=True)


def _halves(text: str) -> tuple[str, str]:
    words = text.split()
    half = len(words) // 2
    return " ".join(words[:half]), " ".join(words[half:])


def _ended(text: str, words: int) -> str:
    return " ".join(text.split()[:words])
