"""Views that a model writes: three paraphrases of each passage.

Duarte et al., DE-COP: Detecting Copyrighted Content in Language Models Training Data,
ICML 2024, appendix B; answers are parsed strictly, and malformed ones asked for again.
"""

import re
from typing import Annotated

import pandas as pd
from pydantic import Field

from pretrace.questions.answering import CUT, Answerer, Prompt
from pretrace.runtime.errors import InputError, first_names
from pretrace.runtime.logs import Progress, log
from pretrace.runtime.schema import Keys
from pretrace.views.stored import view_table

PARAPHRASE_TEMPERATURE = 0.1
ROUNDS = 5  # how often a passage is asked for at the most

_FORM = re.compile(
    r"(?:^|\n)[ \t]*Example B:(?P<b>.+)\n[ \t]*Example C:(?P<c>.+)\n[ \t]*Example D:(?P<d>.+)",
    re.DOTALL,
)
_LABEL = re.compile(r"\bExample [A-D]:")


class ParaphrasePrompts(Keys):
    """What a model is asked for paraphrases."""

    short: Annotated[str, Field(pattern="{text}")]
    """A text with {text} where the passage goes."""
    long: Annotated[str, Field(pattern="{text}")]
    """The same for a passage of `long_from` words or more."""
    long_from: int
    """A whole number of words."""

    def prompt(self, text: str) -> Prompt:
        """Ask for three paraphrases of a passage."""
        chosen = self.long if len(text.split()) >= self.long_from else self.short
        return Prompt(chosen.replace("{text}", text))


def paraphrases_in(answer: str, text: str) -> tuple[str, ...] | None:
    """Parse the three paraphrases of `text` in an answer; None if it lacks the form
    that the prompts ask for.

    The text before `Example B:` is ignored. If `text` has no empty lines, neither have
    its paraphrases, so that a closing remark does not become part of one. No paraphrase
    equals the text or another paraphrase.
    """
    match = _FORM.search(answer)
    if match is None:
        return None
    paraphrases = []
    different = {_folded(text)}
    for part in match.groups():
        bare = re.sub(r"^<(.*)>$", r"\1", part.strip(), flags=re.DOTALL)
        paraphrase = bare.strip()
        has_remark = "\n\n" in paraphrase and "\n\n" not in text
        if not paraphrase or _LABEL.search(paraphrase) or has_remark:
            return None
        paraphrases.append(paraphrase)
        different.add(_folded(paraphrase))
    return tuple(paraphrases) if len(different) == 1 + len(paraphrases) else None


def _folded(text: str) -> str:
    return " ".join(text.casefold().split())


def paraphrase(
    benchmark: pd.DataFrame, answerer: Answerer, prompts: ParaphrasePrompts, name: str
) -> pd.DataFrame:
    """Have a model paraphrase each text; the view: text_id, variant 0 to 2, text,
    sorted.

    Equal texts are asked for once. A passage without a usable answer in ROUNDS rounds
    has no rows, and is named in a warning. Raises `InputError` if none has one.
    """
    text_of = dict(zip(benchmark["text_id"], benchmark["text"], strict=True))
    different = sorted(set(text_of.values()))
    paraphrases = _paraphrases(different, answerer, prompts, name)
    variants = {id: paraphrases.get(text, ()) for id, text in text_of.items()}
    if not paraphrases:
        raise InputError(
            f"{name}: no answer in {ROUNDS} rounds had the form 'Example B: ... "
            "Example C: ... Example D: ...'. Use a model that follows instructions, or "
            "paraphrases in a file of the benchmark."
        )
    without = sorted(id for id, of_text in variants.items() if not of_text)
    if without:
        log.warning(
            "%s: %d of %d passages have no three paraphrases after %d rounds and are "
            "skipped: %s",
            name,
            len(without),
            len(variants),
            ROUNDS,
            first_names(without),
        )
    return view_table(variants)


def _paraphrases(
    texts: list[str], answerer: Answerer, prompts: ParaphrasePrompts, name: str
) -> dict[str, tuple[str, ...]]:
    """Return text -> its three paraphrases, where usable; malformed answers are asked
    for again, and those that were cut with twice the tokens."""
    usable = {}
    # three paraphrases take fewer tokens in any language
    most = {text: 64 + 2 * len(text.encode()) for text in texts}
    for again in range(ROUNDS):
        left = [text for text in texts if text not in usable]
        if not left:
            break
        if again:
            log.info(
                "%s: %d malformed answers are asked for again (round %d)",
                name,
                len(left),
                again + 1,
            )
        requests = [prompts.prompt(text) for text in left]
        tokens = [most[text] for text in left]
        with Progress(name, total=len(left), unit="passages") as progress:
            replies = answerer.write(requests, tokens, again, progress.update)
        for text, reply in zip(left, replies, strict=True):
            paraphrases = paraphrases_in(reply.text or "", text)
            if paraphrases:
                usable[text] = paraphrases
            if reply.reason == CUT:
                most[text] *= 2
    return usable
