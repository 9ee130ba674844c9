"""The first half of each text as a model goes on from there, sampled: what `samia` and `ngram_coverage` read.

Temperature 1, as both papers; the 50 likeliest tokens, as SaMIA's code, where the model runs here (APIs differ in
whether they take such a number). A sample ends where the text does, in words: SaMIA's code lets it go on to 1,024
tokens in all, which finds more of any text and takes up to thirty times as long.
"""

import pandas as pd

from pretrace.questions.answering import Answerer
from pretrace.questions.prompts import Wording
from pretrace.runtime.errors import InputError
from pretrace.runtime.logs import Progress, log

TEMPERATURE = 1.0
TOP_K = 50


def continue_texts(
    benchmark: pd.DataFrame, answerer: Answerer, samples: int, wording: Wording, name: str
) -> pd.DataFrame:
    """Sample `samples` continuations of each text; the view: text_id, variant (from 0), text, sorted.

    A text is int(half of the words) of its own, then the sample. Equal texts are continued once. A text of one word, or
    one that the model cannot continue, has no rows; the log counts both. Raises `InputError` if no text is
    continued.
    """
    halves = {text: _halves(text) for text in sorted(set(benchmark["text"])) if len(text.split()) > 1}
    openings, rests = [first for first, _ in halves.values()], [rest for _, rest in halves.values()]
    prompts = [wording.completion(opening, chat=answerer.chat) for opening in openings]
    with Progress(name, total=len(halves), unit="texts") as progress:
        continuations = answerer.continuations(openings, prompts, rests, samples, progress.update)
    samples_of = dict(zip(halves, continuations, strict=True))
    rows = [
        (id, variant, " ".join(f"{halves[text][0]}{sample}".split()[: len(text.split())]))
        for id, text in zip(benchmark["text_id"], benchmark["text"], strict=True)
        for variant, sample in enumerate(samples_of.get(text, ()))
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
