"""The questions of one benchmark, put to one model: the table of its answers."""

import math
import time
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from itertools import groupby
from typing import Any

import pandas as pd
import pyarrow as pa

from pretrace.benchmarks.rows import Row
from pretrace.benchmarks.slices import Slice, chosen_slices, whole_numbers
from pretrace.questions.answering import (
    OPTION_LETTERS,
    ORDERS,
    PROBABILITIES,
    Advance,
    Answerer,
    Letters,
    Prompt,
    split_units,
)  # fmt: skip
from pretrace.questions.cloze import ANSWER_UNITS, mask, matches
from pretrace.questions.known import QUESTION_METHODS
from pretrace.questions.prompts import Wording
from pretrace.questions.table import ANSWER_SCHEMA
from pretrace.runtime import logs
from pretrace.runtime.errors import InputError
from pretrace.runtime.files import JsonObject
from pretrace.runtime.logs import log
from pretrace.views import PARAPHRASES
from pretrace.views.stored import ViewTexts
from pretrace.views.words import core, word_spans

PASSAGES_AT_ONCE = 32
"""Passages whose prompts are alive at a time; passages of one document share their header."""
SIMILAR = 80
"""Similarity, of 100, that a continuation must exceed."""

TextQuestion = tuple[Prompt, str]
"""A prompt, and the words that answer it."""


def longest_option(options: Sequence[str]) -> int:
    """Return the index of the option with the most words, the first of several.

    On arXivTection the true passage has the most words in over 40 % of the questions.
    """
    lengths = [len(_words(option)) for option in options]
    return lengths.index(max(lengths))


def odd_one_out(options: Sequence[str]) -> int:
    """Return the index of the option that is least like the others, the first of several.

    The likeness of two options is 2 |A and B| / (|A| + |B|) over their words, lower-cased and counted with
    repetitions. The likeness of an option is its mean with the three others.
    """
    words = [Counter(_words(option)) for option in options]
    likeness = [
        math.fsum(
            2 * (own & other).total() / (own.total() + other.total())
            for other in words[:place] + words[place + 1 :]
            if own or other
        )
        for place, own in enumerate(words)
    ]
    return likeness.index(min(likeness))


def _words(text: str) -> list[str]:
    return [word.lower() for span in word_spans(text) if (word := text[slice(*core(text, span))])]


CHOICES: dict[str, Callable[[Sequence[str]], int]] = {
    "longest_option": longest_option,
    "odd_one_out": odd_one_out,
}
"""Control -> function from the four options, in order, to the index of the option that it chooses."""


@dataclass(frozen=True, slots=True)
class Task:
    """One method, setting and paraphraser ("" without), and the passages that it asks about."""

    method: str
    setting: str
    paraphraser: str
    parameters: JsonObject
    passages: list[Row]

    @property
    def about(self) -> Row:
        return {"task": self.method, "setting": self.setting, "paraphraser": self.paraphraser}

    @property
    def has_options(self) -> bool:
        return QUESTION_METHODS[self.method].options

    @property
    def prompts(self) -> int:
        """The most prompts that the task has: one that is skipped counts as done at once."""
        return 0 if self.method in CHOICES else len(self.passages) * (len(ORDERS) if self.has_options else 1)

    def row(self, passage: Row, **answer: Any) -> Row:
        """Make a row of the table of answers; a column that neither passage nor `answer` has is null."""
        return {name: passage.get(name) for name in ANSWER_SCHEMA.names} | self.about | answer


def answer_questions(
    requests: Sequence[JsonObject],
    *,
    benchmark: pd.DataFrame,
    kind: str,
    views: Mapping[str, ViewTexts],
    answerer: Answerer,
    wording: Wording,
    name: str,
) -> tuple[pa.Table, list[Row]]:
    """Ask the questions in `requests` (`studies.plan.answer_requests`); return the sorted table of answers, and times.

    The times have a row for each task, subset and length: `task, setting, paraphraser, subset, length, documents,
    passages, seconds`. Answers that were already stored take no time.

    `kind` is the wording of the benchmark's question; `views` has the paraphrasers. Passages that a task cannot ask
    about have a row with a reason, and the log counts them. Raises `InputError` if the benchmark has no such
    passages or no paraphrases.
    """
    wording.de_cop.require(kind)
    questions = _Questions(answerer, wording, kind, views)
    tasks = _tasks(requests, benchmark)
    rows: list[Row] = []
    times: list[Row] = []
    with logs.Progress(name, total=sum(task.prompts for task in tasks), unit="prompts") as progress:
        for task in tasks:
            answers: list[Row] = []
            for place, group in groupby(task.passages, key=_slice):
                start, passages = time.monotonic(), list(group)
                answers += questions.rows(replace(task, passages=passages), progress.update)
                counts = {
                    "documents": len({passage["document"] for passage in passages}),
                    "passages": len(passages),
                    "seconds": time.monotonic() - start,
                }
                times.append(task.about | {"subset": place.subset, "length": place.length} | counts)
            _log_skipped(name, task, answers)
            rows += answers
    return pa.Table.from_pylist(rows, schema=ANSWER_SCHEMA), times


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


@dataclass(frozen=True)
class _Questions:
    answerer: Answerer
    wording: Wording
    kind: str
    views: Mapping[str, ViewTexts]

    def rows(self, task: Task, progress: Advance) -> Iterator[Row]:
        if not task.has_options:
            yield from self._texts(task, progress)
            return
        if task.paraphraser not in self.views:
            absent = f"view '{task.paraphraser}' is not among this job's inputs"
            raise InputError(f"{absent}; it has the paraphrases.")
        for start in range(0, len(task.passages), PASSAGES_AT_ONCE):
            yield from self._choices(task, task.passages[start : start + PASSAGES_AT_ONCE], progress)

    def _choices(self, task: Task, passages: list[Row], progress: Advance) -> Iterator[Row]:
        """Yield 24 rows of each passage, one an order of its options; one row if it lacks paraphrases."""
        options = {}
        for passage in passages:
            others = self.views[task.paraphraser].get(passage["text_id"], ())
            if len(others) >= PARAPHRASES:
                options[passage["text_id"]] = [passage["text"], *others[:PARAPHRASES]]
        answers = self._letters(task, passages, options, progress)
        if task.method not in CHOICES:
            progress(len(ORDERS) * (len(passages) - len(options)))
        for passage in passages:
            if passage["text_id"] not in options:
                yield task.row(passage, reason=f"fewer than {PARAPHRASES} paraphrases")
                continue
            for permutation, order in enumerate(ORDERS):
                letters, true = next(answers), OPTION_LETTERS[order.index(0)]
                probabilities = letters.probabilities or (None,) * len(OPTION_LETTERS)
                yield task.row(
                    passage,
                    permutation=permutation,
                    true_answer=true,
                    **dict(zip(PROBABILITIES, probabilities, strict=True)),
                    answer=letters.answer,
                    correct=None if letters.skipped else letters.answer == true,
                    reason=letters.reason,
                )

    def _letters(
        self, task: Task, passages: list[Row], options: Mapping[str, list[str]], progress: Advance
    ) -> Iterator[Letters]:
        ordered = [
            (passage, [options[passage["text_id"]][place] for place in order])
            for passage in passages
            if passage["text_id"] in options
            for order in ORDERS
        ]
        if choose := CHOICES.get(task.method):
            return (Letters(None, OPTION_LETTERS[choose(texts)]) for _, texts in ordered)
        choice = partial(self.wording.de_cop.prompt, self.kind)
        prompts = [choice(passage["title"], passage["author"], texts) for passage, texts in ordered]
        return iter(self.answerer.letters(prompts, progress) if prompts else [])

    def _texts(self, task: Task, progress: Advance) -> Iterator[Row]:
        """Yield one row a passage: the words that were asked for, the model's, and whether they agree."""
        questions: list[TextQuestion | None]
        texts = [passage["text"] for passage in task.passages]
        if task.method == "completion":
            agree: Callable[[str, str], bool] = similar
            units, chat = int(task.parameters["k"]), self.answerer.chat
            halves = [split_units(text, units, self.answerer.tokenizer) for text in texts]
            ask = partial(self.wording.completion.prompt, chat=chat)
            questions = [half and (ask(half[0]), half[1]) for half in halves]
            reason = f"fewer than {2 * units} tokens"
        else:
            agree, units = matches, ANSWER_UNITS
            clozes, reason = map(mask, texts), "no name or noun to mask"
            ask_name = self.wording.name_cloze.prompt
            questions = [(ask_name(cloze), cloze.word) if cloze else None for cloze in clozes]
        prompts = [question[0] for question in questions if question]
        progress(len(questions) - len(prompts))
        replies = iter(self.answerer.replies(prompts, units, progress) if prompts else [])
        for passage, question in zip(task.passages, questions, strict=True):
            if question is None:
                yield task.row(passage, reason=reason)
                continue
            reply, true = next(replies), question[1]
            correct = None if reply.skipped else reply.text is not None and agree(reply.text, true)
            yield task.row(passage, true_answer=true, answer=reply.text, correct=correct, reason=reply.reason)


def similar(written: str, true: str) -> bool:
    """Compare a continuation with the true one by the Token Sort algorithm: words in lower case without punctuation,
    sorted, then the share of characters that need no edit.

    Duarte et al., DE-COP, ICML 2024, section 5.1.1, after Liu et al., LLM360, 2023.
    """
    from rapidfuzz import fuzz, utils

    return fuzz.token_sort_ratio(written, true, processor=utils.default_process) > SIMILAR


def _tasks(requests: Sequence[JsonObject], benchmark: pd.DataFrame) -> list[Task]:
    """List the tasks, each once, in the order of the registry; passages by subset, length, document and number."""
    if "passage" not in benchmark:
        raise InputError("the benchmark has no passages; its entry needs the key question.")
    passages = _passages(benchmark)
    wanted: dict[tuple[str, str, str], tuple[JsonObject, set[str]]] = {}
    for request in requests:
        key = request["method"], request["setting"], request["paraphraser"]
        ids = wanted.setdefault(key, (request["parameters"], set()))[1]
        chosen = chosen_slices(set(map(_slice, passages)), request["subsets"], request["lengths"])
        ids |= {passage["text_id"] for passage in passages if _slice(passage) in chosen}
    tasks = [
        Task(*key, parameters, [passage for passage in passages if passage["text_id"] in ids])
        for key, (parameters, ids) in sorted(wanted.items())
    ]
    return sorted(tasks, key=lambda task: list(QUESTION_METHODS).index(task.method))


def _passages(benchmark: pd.DataFrame) -> list[Row]:
    ordered = benchmark.sort_values(["subset", "length", "document", "passage"], kind="stable")
    numbers = ("label", "length", "passage")
    columns = {
        name: whole_numbers(ordered[name]) if name in numbers else ordered[name].tolist()
        for name in ("text_id", "text", "title", "author", "document", "subset", *numbers)
    }
    return [dict(zip(columns, values, strict=True)) for values in zip(*columns.values(), strict=True)]


def _slice(passage: Row) -> Slice:
    return Slice(passage["subset"], passage["length"])
