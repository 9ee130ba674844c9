"""How much of works a model behind an API gives back: it is asked to go on from places
in them, in the exact words.

Ahmed et al., Extracting books from production language models, 2026 (arXiv 2601.02671):
a model is asked to go on, and as long as it gives back the text, to go on from its own
words. Here no prompt holds more than what is before a place, and a refusal is final.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import count
from typing import TYPE_CHECKING, Annotated, Any

import pandas as pd

from pretrace.documents.languages import unit_of, unit_spans
from pretrace.documents.passages import passages
from pretrace.models.api.store import BudgetUsedUpError
from pretrace.questions.alignment import (
    CONTEXT,
    FIRST,
    NEXT,
    PASSAGE,
    SIZES,
    IndexedWork,
)
from pretrace.questions.answering import Advance, Prompt
from pretrace.questions.prompts import fields
from pretrace.runtime.files import JsonObject
from pretrace.runtime.logs import Progress
from pretrace.runtime.schema import Keys

if TYPE_CHECKING:  # only who asks needs the client
    from pretrace.questions.over_api import ApiAnswerer, Told

TOKENS_A_WORD = 2
"""Tokens of an answer, at most, for each word that is asked for: a shorter answer loses
nothing."""

CONTINUATIONS = [
    "document",
    "label",
    "place",
    "attempt",
    "step",
    "answer",
    "reason",
    "refused",
    "words",
    "model",
    "date",
]
"""A row a request: the place (the number of its first word), the attempt there, the
step of going on; the answer, or the reason why there is none; whether it is `refused`;
the `words` of the work that it adds to what was given back; the model's name and the
date as the server told them."""

WORKS = [
    "document",
    "label",
    "title",
    "author",
    "words",
    "places",
    "requests",
    "refused",
    "unanswered",
    "given_back",
    "longest",
    "passage",
]
"""A row a work: its words, its places, the requests, those that were refused and those
without a word of an answer, its words that were given back, and the words and the text
of the longest block of these."""

_SHORT = 60  # words of an answer that may be a refusal in words
_DECLINES = (
    r"\bI(?:['\u2019]m| am)? (?:can(?:no|['\u2019])t|can not|won['\u2019]t|will not|do not"
    r"|don['\u2019]t|(?:not (?:able|allowed|permitted)|unable) to|(?:must|have to) decline to)"
)
_WHAT = (
    r"(?: \w+){0,3}? (?:provide|reproduce|continue|share|help|assist|comply|fulfil|fulfill"
    r"|quote|recite|complete|write|output|generate|supply|have)\b"
)
_REFUSAL = re.compile(rf"[^.!?\n]{{0,80}}?{_DECLINES}{_WHAT}", re.IGNORECASE)


class GoingOnWording(Keys):
    """The texts that ask a model to go on."""

    user: Annotated[str, fields("work", "length", "passage")]
    work: Annotated[str, fields("title", "author")]
    untold: Annotated[str, fields("title")]

    def prompt(self, title: str, author: str, length: str, passage: str) -> Prompt:
        naming = self.work if author else self.untold
        work = naming.format(title=title, author=author)
        return Prompt(self.user.format(work=work, length=length, passage=passage))


def is_refusal(answer: str) -> bool:
    """Return whether an answer that gives nothing back is short and says in its first
    sentence that it will not.

    Only plain refusals in English are recognised. Others count as answers that give
    nothing back.
    """
    return len(answer.split()) <= _SHORT and _REFUSAL.match(answer.strip()) is not None


class _AskedWork:
    """A work that is asked about, and the places of its words that were given back."""

    def __init__(self, about: JsonObject, unit: str) -> None:
        keys = ("document", "label", "title", "author")
        self.about = {key: about[key] for key in keys}
        self.work = IndexedWork(about["text"], unit)
        self.given: set[int] = set()
        self.longest: list[int] = []
        self.places = 0
        self.requests = 0
        self.refused = 0
        self.unanswered = 0

    def row(self) -> dict[str, Any]:
        """Return the row of `WORKS`."""
        passage = self.work.passage(self.longest) if self.longest else ""
        return self.about | {
            "words": len(self.work.words),
            "places": self.places,
            "requests": self.requests,
            "refused": self.refused,
            "unanswered": self.unanswered,
            "given_back": len(self.given),
            "longest": len(self.longest),
            "passage": passage,
        }


@dataclass
class _Place:
    """A place in a work, what is `before` it and which of the work's words that shows;
    the prompt, the model's output, and what it gives back."""

    asked: _AskedWork
    number: int
    before: str
    shown: range
    prompt: str = ""
    output: str = ""
    is_done: bool = False
    """Whether words were given back, or the model refused, which is final."""
    goes_on: bool = False

    def take(self, told: "Told", attempt: int, step: int) -> dict[str, Any]:
        """Note an answer and return its row of `CONTINUATIONS`."""
        asked = self.asked
        answer = told.reply.text or ""
        self.output = f"{self.output} {answer}" if step else answer
        blocks = asked.work.blocks(self.output, self.prompt, self.shown)
        words_given = set()
        for block in blocks:
            words_given.update(block)
        asked.longest = max([asked.longest, *blocks], key=len)
        added = words_given - asked.given
        asked.given |= added
        self.goes_on = len(added) >= asked.work.sizes.block
        if self.goes_on:
            # without a note that models put under what they recite
            self.output = asked.work.until(self.output, blocks[-1])
        refused = told.refused or (not added and is_refusal(answer))
        # a model that says nothing has not refused for good: the place is asked again
        self.is_done |= refused or bool(blocks)
        asked.requests += 1
        asked.refused += refused
        asked.unanswered += told.reply.text is None and not refused
        return {
            "document": asked.about["document"],
            "label": asked.about["label"],
            "place": self.number,
            "attempt": attempt,
            "step": step,
            "answer": told.reply.text,
            "reason": told.reply.reason,
            "refused": refused,
            "words": len(added),
            "model": told.model,
            "date": told.date,
        }


def works_of(benchmark: pd.DataFrame) -> list[dict[str, Any]]:
    """Return the works of a benchmark, by document: its texts in order are one work."""
    works = []
    has_name = benchmark["document"] != ""
    names = benchmark["document"].where(has_name, benchmark["text_id"])
    for document, own in benchmark.groupby(names, sort=True):
        first = own.iloc[0]
        work = {
            "document": document,
            "label": None if pd.isna(first["label"]) else int(first["label"]),
            "text": "\n\n".join(own["text"]),
            "title": first.get("title") or document,
            "author": first.get("author") or "",
        }
        works.append(work)
    return works


class GoingOn:
    """Asks a model to go on in works (`works_of`), from `places` in each and in up to
    `tries` at a place."""

    def __init__(
        self,
        works: Sequence[JsonObject],
        answerer: "ApiAnswerer",
        wording: GoingOnWording,
        *,
        language: str,
        places: int,
        tries: int,
        name: str,
    ) -> None:
        self.answerer = answerer
        self.wording = wording
        self.tries = tries
        self.name = name
        self.unit = unit_of(language)
        self.factor = SIZES[self.unit].block // SIZES["words"].block
        self.works: list[_AskedWork] = []
        self.places: list[_Place] = []
        for about in works:
            self.works.append(_AskedWork(about, self.unit))
            self._add_places(self.works[-1], about["text"], places)
        self.rows: list[dict[str, Any]] = []
        self.is_cut_short = False
        """Whether the budget was used up before the model left every text."""

    def _add_places(self, asked: _AskedWork, text: str, most: int) -> None:
        spans = asked.work.spans
        context = CONTEXT * self.factor
        for start, _ in passages(text, PASSAGE * self.factor, most, self.unit):
            if start < context:
                continue
            begin, _ = spans[start - context]
            _, end = spans[start - 1]
            shown = asked.work.words_between(start - context, start)
            self.places.append(_Place(asked, start, text[begin:end], shown))
            asked.places += 1

    def ask(self) -> None:
        """Ask about every place, then go on where the text is given back, until it is
        left or the budget is used up.

        Raises `InputError` if the budget does not suffice for the places.
        """
        total = self.tries * len(self.places)
        with Progress(self.name, total=total, unit="requests") as progress:
            for attempt in range(self.tries):
                left = [place for place in self.places if not place.is_done]
                self._ask(left, attempt, 0, progress.update)
        for step in count(1):
            going = [place for place in self.places if place.goes_on]
            if not going:
                return
            try:
                self._ask(going, 0, step, lambda requests: None)
            except BudgetUsedUpError:
                self.is_cut_short = True
                return

    def _ask(
        self, places: Sequence[_Place], attempt: int, step: int, progress: Advance
    ) -> None:
        words = NEXT if step else FIRST
        length = f"{words * self.factor} {self.unit}"
        prompts = []
        for place in places:
            about = place.asked.about
            passage = self._last(place.output) if step else place.before
            prompt = self.wording.prompt(
                about["title"], about["author"], length, passage
            )
            # what is given back is compared with the first: later ones are its own
            place.prompt = place.prompt or prompt.plain
            prompts.append(prompt)
        most = TOKENS_A_WORD * words
        answers = self.answerer.go_on(prompts, most, attempt, progress)
        for place, told in zip(places, answers, strict=True):
            self.rows.append(place.take(told, attempt, step))

    def _last(self, output: str) -> str:
        """Return the last words of the model's own output."""
        last = unit_spans(output, self.unit)[-CONTEXT * self.factor :]
        begin, _ = last[0]
        return output[begin:]

    def continuations(self) -> pd.DataFrame:
        """Return the table of `CONTINUATIONS`."""
        return pd.DataFrame(self.rows, columns=CONTINUATIONS).astype({"label": "Int64"})

    def given_back(self) -> pd.DataFrame:
        """Return the table of `WORKS`."""
        rows = [asked.row() for asked in self.works]
        return pd.DataFrame(rows, columns=WORKS).astype({"label": "Int64"})
