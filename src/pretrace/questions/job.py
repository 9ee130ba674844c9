"""The questions of one benchmark, put to one model: the table of its answers."""

import time
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import chain, groupby
from typing import Any, NamedTuple

import pandas as pd
import pyarrow as pa

from pretrace.benchmarks.rows import Row
from pretrace.benchmarks.subsets_and_lengths import Slice, chosen_slices
from pretrace.passes.shares import WHOLE, JobShare
from pretrace.questions.answering import (
    MOST_WITHOUT_TEXT,
    NO_RESULT,
    OPTION_LETTERS,
    ORDERS,
    PROBABILITIES,
    WITHOUT_TEXT,
    Advance,
    Answerer,
    Letters,
    Prompt,
    Question,
    split_units,
)  # fmt: skip
from pretrace.questions.cloze import ANSWER_UNITS, mask, matches
from pretrace.questions.controls import CHOICES
from pretrace.questions.method_facts import QUESTION_METHODS
from pretrace.questions.prompts import Wording
from pretrace.questions.table import ANSWER_SCHEMA, TIMES_SCHEMA
from pretrace.runtime import logs
from pretrace.runtime.errors import InputError
from pretrace.runtime.files import JsonObject
from pretrace.runtime.logs import log
from pretrace.views import PARAPHRASES
from pretrace.views.stored import ViewTexts

PASSAGES_AT_ONCE = 32
"""Passages whose prompts are alive at a time, and the most of a document whose texts
are written as one question."""
SIMILAR = 80
"""Similarity, of 100, that a continuation must exceed."""


@dataclass(frozen=True, slots=True)
class Task:
    """One method, setting and paraphraser ("" without), and the passages that it asks
    about."""

    method: str
    setting: str
    paraphraser: str
    parameters: JsonObject
    passages: list[Row]

    @property
    def about(self) -> Row:
        return {
            "task": self.method,
            "setting": self.setting,
            "paraphraser": self.paraphraser,
        }

    @property
    def has_options(self) -> bool:
        return QUESTION_METHODS[self.method].options

    @property
    def is_control(self) -> bool:
        return self.method in CHOICES

    def parts(self) -> "list[Part]":
        """Return the passages of each question, in order: one with options, else
        neighbours of a document."""
        if self.has_options:
            return [Part(self, [passage]) for passage in self.passages]
        parts = []
        for _, group in groupby(
            self.passages, lambda passage: (_slice(passage), passage["document"])
        ):
            passages = list(group)
            for start in range(0, len(passages), PASSAGES_AT_ONCE):
                parts.append(Part(self, passages[start : start + PASSAGES_AT_ONCE]))
        return parts

    def row(self, passage: Row, **answer: Any) -> Row:
        """Make a row of the table of answers; a column that neither passage nor
        `answer` has is null."""
        row = {name: passage.get(name) for name in ANSWER_SCHEMA.names}
        return row | self.about | answer


@dataclass(frozen=True, slots=True)
class Part:
    """The passages of a task that one question is about."""

    task: Task
    passages: list[Row]

    @property
    def slice(self) -> Slice:
        return _slice(self.passages[0])

    @property
    def prompts(self) -> int:
        """Return the most prompts that it has: one that is skipped counts as done at
        once."""
        if self.task.is_control:
            return 0
        return len(self.passages) * (len(ORDERS) if self.task.has_options else 1)

    @property
    def size(self) -> int:
        """Return about how many letters a model reads for it, by which jobs share the
        questions."""
        return self.prompts * sum(len(passage["text"]) for passage in self.passages)


def answer_questions(
    requests: Sequence[JsonObject],
    *,
    benchmark: pd.DataFrame,
    kind: str,
    views: Mapping[str, ViewTexts],
    answerer: Answerer,
    wording: Wording,
    name: str,
    share: JobShare = WHOLE,
    note_left: Callable[[float], None] = lambda left: None,
) -> tuple[pa.Table, pa.Table]:
    """Ask the questions in `requests` (`studies.plan.answer_requests`); return the
    sorted answers, and their times.

    Both are tables, of `table.ANSWER_SCHEMA` and `TIMES_SCHEMA`. Answers of an API that
    were already stored take no time.

    `kind` is the wording of the benchmark's question; `views` has the paraphrasers.
    With a `share`, only its questions are asked. `note_left` is told which share of the
    prompts is left. Passages that a task cannot ask about have a row with a reason, and
    the log counts them. Raises `InputError` if the benchmark has no such passages or no
    paraphrases.
    """
    wording.de_cop.require(kind)
    questions = _Questions(answerer, wording, kind, views)
    parts = []
    for task in _tasks(requests, benchmark):
        parts += task.parts()
    own = share.of(parts, lambda part: part.size)
    rows: list[Row] = []
    times = []
    total = sum(part.prompts for part in own)
    with logs.Progress(name, total=total, unit="prompts") as progress:

        def advance(prompts: int) -> None:
            progress.update(prompts)
            note_left(1 - progress.done / total)

        for task, of_task in groupby(own, key=lambda part: part.task):
            first = len(rows)
            for place, group in groupby(of_task, key=lambda part: part.slice):
                of_place = list(group)
                start = time.monotonic()
                seconds = answerer.seconds
                for some in _at_once(of_place):
                    rows += questions.rows(task, some, advance)
                took = answerer.seconds - seconds
                if task.is_control:
                    took = time.monotonic() - start
                times.append(_time_of(task, place, of_place, took))
            _judge(name, task, rows[first:])
            _log_skipped(name, task, rows[first:])
    answers = pa.Table.from_pylist(rows, schema=ANSWER_SCHEMA)
    return answers, pa.Table.from_pylist(times, schema=TIMES_SCHEMA)


def _at_once(parts: Sequence[Part]) -> Iterator[list[Part]]:
    """Yield neighbours with `PASSAGES_AT_ONCE` passages or a few more, whose prompts
    are alive together."""
    some = []
    for part in parts:
        some.append(part)
        if sum(len(part.passages) for part in some) >= PASSAGES_AT_ONCE:
            yield some
            some = []
    if some:
        yield some


def _time_of(task: Task, place: Slice, parts: Sequence[Part], seconds: float) -> Row:
    documents = set()
    passages = 0
    for part in parts:
        documents |= {passage["document"] for passage in part.passages}
        passages += len(part.passages)
    row = task.about
    row |= {"subset": place.subset, "length": place.length}
    row |= {"documents": len(documents), "passages": passages, "seconds": seconds}
    return row


def _judge(name: str, task: Task, rows: list[Row]) -> None:
    """Leave answers without a text unjudged, rather than wrong, and all of the task if
    too many have none; the terminal shows how many."""
    without = [row for row in rows if row["reason"] in WITHOUT_TEXT]
    if not without:
        return
    asked = sum(row["correct"] is not None for row in rows)
    is_result = len(without) <= MOST_WITHOUT_TEXT * asked
    for row in rows if not is_result else without:
        row["correct"] = None
        row["reason"] = row["reason"] or NO_RESULT
    reasons = Counter(row["reason"] for row in without)
    counts = "; ".join(f"{count} {reason}" for reason, count in sorted(reasons.items()))
    logs.tell(
        "%s: %s: %d of %d answers have no text (%s). %s",
        name,
        f"{task.method} {task.setting}".strip(),
        len(without),
        asked,
        counts,
        "They are not judged." if is_result else "That is no result.",
    )


def _log_skipped(name: str, task: Task, rows: list[Row]) -> None:
    skipped: dict[str, set[tuple[Any, ...]]] = {}
    for row in rows:
        if row["correct"] is None:
            passage = (row["subset"], row["length"], row["document"], row["passage"])
            skipped.setdefault(row["reason"], set()).add(passage)
    what = f"{task.method} {task.setting}".strip()
    for reason, passages in skipped.items():
        counts = f"{len(passages)} of {len(task.passages)}"
        log.info("%s: %s: %s passages skipped: %s", name, what, counts, reason)


class _Choice(NamedTuple):
    """A passage and its four options, the passage's own text first; None if it lacks
    paraphrases."""

    passage: Row
    options: list[str] | None


class _Gap(NamedTuple):
    """A passage, the prompt that asks for words of it, and these words; no prompt if it
    has none to ask for."""

    passage: Row
    prompt: Prompt | None = None
    words: str = ""


@dataclass(frozen=True)
class _Questions:
    answerer: Answerer
    wording: Wording
    kind: str
    views: Mapping[str, ViewTexts]

    def rows(
        self, task: Task, parts: Sequence[Part], progress: Advance
    ) -> Iterator[Row]:
        """Ask about the parts of a task; yield their rows of the table."""
        if not task.has_options:
            yield from self._texts(task, parts, progress)
            return
        if task.paraphraser not in self.views:
            absent = f"view '{task.paraphraser}' is not among this job's inputs"
            raise InputError(f"{absent}; it has the paraphrases.")
        choices = []
        for part in parts:
            choices += [self._choice(task, passage) for passage in part.passages]
        yield from self._choices(task, choices, progress)

    def _choice(self, task: Task, passage: Row) -> _Choice:
        others = self.views[task.paraphraser].get(passage["text_id"], ())
        if len(others) < PARAPHRASES:
            return _Choice(passage, None)
        return _Choice(passage, [passage["text"], *others[:PARAPHRASES]])

    def _choices(
        self, task: Task, choices: Sequence[_Choice], progress: Advance
    ) -> Iterator[Row]:
        """Yield 24 rows of each passage, one an order of its options; one row if it
        lacks paraphrases."""
        letters = self._letters(task, choices, progress)
        for choice in choices:
            if choice.options is None:
                if not task.is_control:
                    progress(len(ORDERS))
                lacking = f"fewer than {PARAPHRASES} paraphrases"
                yield task.row(choice.passage, reason=lacking)
                continue
            for permutation, answer in enumerate(next(letters)):
                true = OPTION_LETTERS[ORDERS[permutation].index(0)]
                row = task.row(
                    choice.passage,
                    permutation=permutation,
                    true_answer=true,
                    answer=answer.answer,
                    correct=None if answer.skipped else answer.answer == true,
                    reason=answer.reason,
                )
                if answer.probabilities is not None:
                    row |= zip(PROBABILITIES, answer.probabilities, strict=True)
                yield row

    def _letters(
        self, task: Task, choices: Sequence[_Choice], progress: Advance
    ) -> Iterator[Sequence[Letters]]:
        """Return the letters for each passage with options, in every order of them."""
        answerable = [choice for choice in choices if choice.options is not None]
        if task.is_control:
            return (self._chosen(task, choice) for choice in answerable)
        questions = [self._question(choice) for choice in answerable]
        return iter(self.answerer.letters(questions, progress))

    def _chosen(self, task: Task, choice: _Choice) -> list[Letters]:
        letters = []
        for options in _ordered(choice):
            place = CHOICES[task.method](options)
            letters.append(Letters(None, OPTION_LETTERS[place]))
        return letters

    def _question(self, choice: _Choice) -> Question:
        passage = choice.passage
        ask = partial(
            self.wording.de_cop.prompt, self.kind, passage["title"], passage["author"]
        )
        prompts = [ask(options) for options in _ordered(choice)]
        return Question(prompts, frame=ask(OPTION_LETTERS))

    def _texts(
        self, task: Task, parts: Sequence[Part], progress: Advance
    ) -> Iterator[Row]:
        """Yield one row a passage: the words that were asked for, the model's, and
        whether they agree."""
        ask: Callable[[Row], _Gap]
        agree: Callable[[str, str], bool]
        if task.method == "completion":
            units = int(task.parameters["k"])
            ask = partial(self._continuation, units)
            agree = similar
            reason = f"fewer than {2 * units} tokens"
        else:
            units = ANSWER_UNITS
            ask = self._cloze
            agree = matches
            reason = "no name or noun to mask"
        gaps = []
        questions = []
        for part in parts:
            own = [ask(passage) for passage in part.passages]
            prompts = [gap.prompt for gap in own if gap.prompt is not None]
            progress(len(own) - len(prompts))
            if prompts:
                questions.append(Question(prompts))
            gaps += own
        replies = chain.from_iterable(self.answerer.replies(questions, units, progress))
        for gap in gaps:
            if gap.prompt is None:
                yield task.row(gap.passage, reason=reason)
                continue
            reply = next(replies)
            is_correct = reply.text is not None and agree(reply.text, gap.words)
            yield task.row(
                gap.passage,
                true_answer=gap.words,
                answer=reply.text,
                correct=None if reply.skipped else is_correct,
                reason=reply.reason,
            )

    def _continuation(self, units: int, passage: Row) -> _Gap:
        halves = split_units(passage["text"], units, self.answerer.tokenizer)
        if halves is None:
            return _Gap(passage)
        prompt = self.wording.completion.prompt(halves[0], chat=self.answerer.chat)
        return _Gap(passage, prompt, halves[1])

    def _cloze(self, passage: Row) -> _Gap:
        cloze = mask(passage["text"])
        if cloze is None:
            return _Gap(passage)
        return _Gap(passage, self.wording.name_cloze.prompt(cloze), cloze.word)


def _ordered(choice: _Choice) -> Iterator[list[str]]:
    """Yield the options of a choice in each of the 24 orders."""
    assert choice.options is not None
    for order in ORDERS:
        yield [choice.options[place] for place in order]


def similar(written: str, true: str) -> bool:
    """Compare a continuation with the true one by the Token Sort algorithm: words in
    lower case without punctuation, sorted, then the share of characters that need no
    edit.

    Duarte et al., DE-COP, ICML 2024, section 5.1.1, after Liu et al., LLM360, 2023.
    """
    from rapidfuzz import fuzz, utils

    ratio = fuzz.token_sort_ratio(written, true, processor=utils.default_process)
    return ratio > SIMILAR


def _tasks(requests: Sequence[JsonObject], benchmark: pd.DataFrame) -> list[Task]:
    """List the tasks, each once, in the order of the registry; passages by subset,
    length, document and number."""
    if "passage" not in benchmark:
        raise InputError(
            "the benchmark has no passages; its entry needs the key question."
        )
    passages = _passages(benchmark)
    slices = {_slice(passage) for passage in passages}
    tasks: dict[tuple[str, str, str], Task] = {}
    ids: dict[tuple[str, str, str], set[str]] = {}
    for request in requests:
        key = request["method"], request["setting"], request["paraphraser"]
        tasks.setdefault(key, Task(*key, request["parameters"], []))
        chosen = chosen_slices(slices, request["subsets"], request["lengths"])
        wanted = ids.setdefault(key, set())
        for passage in passages:
            if _slice(passage) in chosen:
                wanted.add(passage["text_id"])
    for key, task in tasks.items():
        for passage in passages:
            if passage["text_id"] in ids[key]:
                task.passages.append(passage)
    methods = list(QUESTION_METHODS)
    ordered = sorted(tasks, key=lambda key: (methods.index(key[0]), key))
    return [tasks[key] for key in ordered]


def _passages(benchmark: pd.DataFrame) -> list[Row]:
    order = ["subset", "length", "document", "passage"]
    ordered = benchmark.sort_values(order, kind="stable")
    columns = [*order, "text_id", "text", "title", "author", "label"]
    return pa.Table.from_pandas(ordered[columns], preserve_index=False).to_pylist()


def _slice(passage: Row) -> Slice:
    return Slice(passage["subset"], passage["length"])
