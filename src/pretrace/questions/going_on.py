"""How much of works a model behind an API gives back: it is asked to go on from places
in them, in the exact words.

Ahmed et al., Extracting books from production language models, 2026 (arXiv 2601.02671):
a model is asked to go on, and as long as it gives back the text, to go on from its own
words. Here no prompt holds more than what is before a place, and a refusal is final.
"""

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Annotated, Any

import pandas as pd

from pretrace.benchmarks.languages import unit_of, unit_spans
from pretrace.benchmarks.passages import passages
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
    "document", "label", "title", "author", "words", "places", "requests", "refused",
    "given_back", "longest", "passage",
]  # fmt: skip
"""A row a work: its words, its places, the requests, those that were refused, its words
that were given back, and the words and the text of the longest block of these."""

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
        work = (self.work if author else self.untold).format(title=title, author=author)
        return Prompt(self.user.format(work=work, length=length, passage=passage))


def is_refusal(answer: str) -> bool:
    """Return whether an answer that gives nothing back is short and says in its first
    sentence that it will not.

    Only plain refusals in English are recognised. Others count as answers that give
    nothing back.
    """
    return len(answer.split()) <= _SHORT and _REFUSAL.match(answer.strip()) is not None


@dataclass
class _Place:
    """A place in a work: what is before it, and what the model gave back from there."""

    number: int
    before: str
    shown: range
    prompt: str = ""
    output: str = ""
    blocks: list[list[int]] = field(default_factory=list)
    is_refused: bool = False
    goes_on: bool = False


class _AskedWork:
    """A work with its places, and the words of it that were given back."""

    def __init__(self, about: Mapping[str, Any], unit: str, places: int) -> None:
        self.about = {
            key: about[key] for key in ("document", "label", "title", "author")
        }
        self.work = IndexedWork(about["text"], unit)
        self.factor = SIZES[unit].block // SIZES["words"].block
        self.given: set[int] = set()
        self.places: list[_Place] = []
        self.requests = self.refused = 0
        spans = self.work.spans
        context = CONTEXT * self.factor
        for start, _ in passages(about["text"], PASSAGE * self.factor, places, unit):
            if start >= context:
                before = about["text"][spans[start - context][0] : spans[start - 1][1]]
                shown = self.work.words_between(start - context, start)
                self.places.append(_Place(start, before, shown))

    def take(self, place: _Place, told: "Told", step: int) -> tuple[int, bool]:
        """Note an answer; return how many words it adds to what is given back of the
        work, and whether it refuses."""
        answer = told.reply.text or ""
        place.output = f"{place.output} {answer}" if step else answer
        place.blocks = self.work.blocks(place.output, place.prompt, place.shown)
        added: set[int] = set()
        for block in place.blocks:
            added.update(block)
        added -= self.given
        self.given |= added
        place.goes_on = len(added) >= self.work.sizes.block
        refused = told.refused or (not added and is_refusal(answer))
        place.is_refused |= refused
        self.requests += 1
        self.refused += refused
        return len(added), refused

    def row(self) -> dict[str, Any]:
        """Return the row of `WORKS`."""
        longest: list[int] = []
        for place in self.places:
            longest = max([longest, *place.blocks], key=len)
        return self.about | {
            "words": len(self.work.words),
            "places": len(self.places),
            "requests": self.requests,
            "refused": self.refused,
            "given_back": len(self.given),
            "longest": len(longest),
            "passage": self.work.passage(longest) if longest else "",
        }


def works_of(benchmark: pd.DataFrame) -> list[dict[str, Any]]:
    """Return the works of a benchmark, by document: its texts in order are one work."""
    works = []
    named = benchmark.assign(
        document=benchmark["document"].where(
            benchmark["document"] != "", benchmark["text_id"]
        )
    )
    for document, own in named.groupby("document", sort=True):
        first = own.iloc[0]
        label = None if pd.isna(first["label"]) else int(first["label"])
        about = {key: first.get(key) or "" for key in ("title", "author")}
        about["title"] = about["title"] or document
        works.append(
            {
                "document": document,
                "label": label,
                "text": "\n\n".join(own["text"]),
                **about,
            }
        )
    return works


class GoingOn:
    """Asks a model to go on in works (`works_of`), from `places` in each and in up to
    `tries` at a place."""

    def __init__(
        self,
        works: Sequence[Mapping[str, Any]],
        answerer: "ApiAnswerer",
        wording: GoingOnWording,
        *,
        language: str,
        places: int,
        tries: int,
        name: str,
    ) -> None:
        self.answerer, self.wording, self.tries, self.name = (
            answerer,
            wording,
            tries,
            name,
        )
        self.unit = unit_of(language)
        self.works = [_AskedWork(work, self.unit, places) for work in works]
        self.rows: list[dict[str, Any]] = []
        self.is_cut_short = False
        """Whether the budget was used up before the model left every text."""

    def ask(self) -> None:
        """Ask about every place, then go on where the text is given back, until it is
        left or the budget is used up.

        Raises `InputError` if the budget does not suffice for the places.
        """
        total = self.tries * sum(len(work.places) for work in self.works)
        with Progress(self.name, total=total, unit="requests") as progress:
            for attempt in range(self.tries):
                self._ask([*self._open()], attempt, 0, progress.update)
        step = 1
        while going := [pair for pair in self._all() if pair[1].goes_on]:
            try:
                self._ask(going, 0, step, lambda requests: None)
            except BudgetUsedUpError:
                self.is_cut_short = True
                return
            step += 1

    def _all(self) -> Iterator[tuple[_AskedWork, _Place]]:
        for work in self.works:
            for place in work.places:
                yield work, place

    def _open(self) -> Iterator[tuple[_AskedWork, _Place]]:
        """Yield the places that are asked again: a refusal is final, and so is what was
        given back."""
        for work, place in self._all():
            if not (place.is_refused or place.blocks):
                yield work, place

    def _ask(
        self,
        asked: Sequence[tuple[_AskedWork, _Place]],
        attempt: int,
        step: int,
        progress: Advance,
    ) -> None:
        prompts = []
        for work, place in asked:
            length = (NEXT if step else FIRST) * work.factor
            passage = self._last(place.output) if step else place.before
            about = work.about
            prompt = self.wording.prompt(
                about["title"], about["author"], f"{length} {self.unit}", passage
            )
            place.prompt = place.prompt or prompt.plain
            prompts.append(prompt)
        most = TOKENS_A_WORD * (NEXT if step else FIRST)
        answers = self.answerer.go_on(prompts, most, attempt, progress)
        for (work, place), told in zip(asked, answers, strict=True):
            words, refused = work.take(place, told, step)
            about = {
                "document": work.about["document"],
                "label": work.about["label"],
                "place": place.number,
            }
            reply = {
                "answer": told.reply.text,
                "reason": told.reply.reason,
                "refused": refused,
                "words": words,
            }
            asked_as = {
                "attempt": attempt,
                "step": step,
                "model": told.model,
                "date": told.date,
            }
            self.rows.append(about | asked_as | reply)

    def _last(self, output: str) -> str:
        """Return the last words of the model's own output."""
        spans = unit_spans(output, self.unit)
        context = CONTEXT * SIZES[self.unit].block // SIZES["words"].block
        return output[spans[-context:][0][0] :]

    def continuations(self) -> pd.DataFrame:
        """Return the table of `CONTINUATIONS`."""
        return pd.DataFrame(self.rows, columns=CONTINUATIONS).astype({"label": "Int64"})

    def given_back(self) -> pd.DataFrame:
        """Return the table of `WORKS`."""
        return pd.DataFrame([work.row() for work in self.works], columns=WORKS).astype(
            {"label": "Int64"}
        )
