"""The questions of one benchmark, put to one model: the table of its answers."""

import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import groupby, permutations
from typing import Any

import pandas as pd
import pyarrow as pa

from pretrace.benchmarks.slices import Slice, chosen_slices, whole_numbers
from pretrace.questions.answering import LETTERS, Answerer, Letters, Prompt, Reply
from pretrace.questions.cloze import UNITS, mask, matches
from pretrace.questions.completion import similar
from pretrace.questions.controls import CHOICES
from pretrace.questions.methods import QUESTION_METHODS
from pretrace.questions.prompts import Wording
from pretrace.runtime.errors import InputError
from pretrace.runtime.logs import Progress, log
from pretrace.views import PARAPHRASES
from pretrace.views.stored import StoredView

ORDERS = tuple(permutations(range(1 + PARAPHRASES)))
"""Letter i shows option ORDERS[permutation][i]; option 0 is the true passage."""
WINDOW = 32
"""Passages whose prompts are alive at a time; those of one document share their header."""

Row = dict[str, Any]
TextQuestion = tuple[Prompt, str]
"""A prompt, and the words that answer it."""


@dataclass(frozen=True, slots=True)
class Passage:
    """A text of the benchmark, and what a row of answers says of it (`about`)."""

    text_id: str
    text: str
    title: str
    author: str
    about: Row


@dataclass(frozen=True, slots=True)
class Task:
    """One method, setting and paraphraser ("" without), and the passages that it asks about."""

    method: str
    parameters: Mapping[str, Any]
    setting: str
    paraphraser: str
    passages: list[Passage]

    @property
    def about(self) -> Row:
        return {"task": self.method, "setting": self.setting, "paraphraser": self.paraphraser}


def answer_questions(
    requests: Sequence[Mapping[str, Any]],
    *,
    benchmark: pd.DataFrame,
    kind: str,
    views: Mapping[str, StoredView],
    answerer: Answerer,
    wording: Wording,
    name: str,
) -> tuple[pa.Table, list[Row]]:
    """Ask the questions in `requests` (`studies.plan.answer_requests`): the table of answers, sorted, and the times.

    The times have a row for each task, subset and length: `task, setting, paraphraser, subset, length, documents,
    passages, seconds`. Answers that were already stored take no time.

    `kind` is the wording of the benchmark's question; `views` has the paraphrasers. Passages that a task cannot ask
    about have a row with a reason, and the log counts them. Raises `InputError` if the benchmark has no such
    passages or no paraphrases.
    """
    from pretrace.questions.table import SCHEMA

    wording.require(kind)
    asking = _Asking(answerer, wording, kind, views)
    tasks = _tasks(requests, benchmark)
    rows: list[Row] = []
    times: list[Row] = []
    with Progress(name, total=sum(map(asking.prompts, tasks)), unit="prompts") as progress:
        for task in tasks:
            asked: list[Row] = []
            for part in _by_length(task):
                start = time.monotonic()
                asked += asking.rows(part, progress.update)
                seconds = time.monotonic() - start
                about = part.passages[0].about
                documents = len({one.about["document"] for one in part.passages})
                took = {"documents": documents, "passages": len(part.passages), "seconds": seconds}
                times.append(part.about | {key: about[key] for key in ("subset", "length")} | took)
            _log_skipped(name, task, asked)
            rows += asked
    return pa.Table.from_pylist(rows, schema=SCHEMA), times


def _by_length(task: Task) -> Iterator[Task]:
    """The task in parts of one subset and length, in the order of its passages."""
    for _, passages in groupby(task.passages, key=_slice):
        yield replace(task, passages=list(passages))


def _log_skipped(name: str, task: Task, rows: list[Row]) -> None:
    skipped: dict[str, set[tuple[Any, ...]]] = {}
    for row in rows:
        if row["correct"] is None:
            of = skipped.setdefault(row["reason"], set())
            of.add((row["subset"], row["length"], row["document"], row["passage"]))
    for reason, passages in skipped.items():
        what = " ".join(filter(None, (task.method, task.setting)))
        log.info(
            "%s: %s: %d of %d passages skipped: %s", name, what, len(passages), len(task.passages), reason
        )


class _Asking:
    def __init__(
        self, answerer: Answerer, wording: Wording, kind: str, views: Mapping[str, StoredView]
    ) -> None:
        self._answerer, self._wording, self._kind, self._views = answerer, wording, kind, views

    def prompts(self, task: Task) -> int:
        """How many prompts a task has at the most: one that is skipped counts as done at once."""
        if task.method in CHOICES:
            return 0
        return len(task.passages) * (len(ORDERS) if QUESTION_METHODS[task.method].options else 1)

    def rows(self, task: Task, progress: Callable[[int], None]) -> Iterator[Row]:
        if not QUESTION_METHODS[task.method].options:
            yield from self._texts(task, progress)
            return
        for at in range(0, len(task.passages), WINDOW):
            yield from self._choices(task, task.passages[at : at + WINDOW], progress)

    def _choices(self, task: Task, passages: list[Passage], progress: Callable[[int], None]) -> Iterator[Row]:
        if task.paraphraser not in self._views:
            raise InputError(
                f"view '{task.paraphraser}' is not among this job's inputs; it has the paraphrases."
            )
        sources = {}
        for one in passages:
            others = self._views[task.paraphraser].get(one.text_id, ())
            if len(others) >= PARAPHRASES:
                sources[one.text_id] = [one.text, *others[:PARAPHRASES]]
        answers = self._chosen(task, [one for one in passages if one.text_id in sources], sources, progress)
        if task.method not in CHOICES:
            progress(len(ORDERS) * (len(passages) - len(sources)))
        for one in passages:
            if one.text_id not in sources:
                yield _row(task, one, reason=f"fewer than {PARAPHRASES} paraphrases")
                continue
            for permutation, order in enumerate(ORDERS):
                true = LETTERS[order.index(0)]
                yield _row(
                    task, one, permutation=permutation, true_answer=true, **_judged(next(answers), true)
                )

    def _chosen(
        self,
        task: Task,
        passages: list[Passage],
        sources: Mapping[str, list[str]],
        progress: Callable[[int], None],
    ) -> Iterator[Letters]:
        """The answer to each passage in each order."""
        options = [
            (one, [sources[one.text_id][place] for place in order]) for one in passages for order in ORDERS
        ]
        if choose := CHOICES.get(task.method):
            return (Letters(None, LETTERS[choose(texts)]) for _, texts in options)
        prompts = [self._wording.choice(self._kind, one.title, one.author, texts) for one, texts in options]
        return iter(self._answerer.letters(prompts, progress) if prompts else [])

    def _texts(self, task: Task, progress: Callable[[int], None]) -> Iterator[Row]:
        """One row a passage: the words that were asked for, the model's, and whether they agree."""
        if task.method == "completion":
            agree: Callable[[str, str], bool] = similar
            units = int(task.parameters["k"])
            questions, reason = self._continuations(task, units), f"fewer than {2 * units} tokens"
        else:
            agree, units = matches, UNITS
            questions, reason = self._clozes(task), "no name or noun to mask"
        prompts = [question[0] for question in questions if question]
        progress(len(questions) - len(prompts))
        replies = iter(self._answerer.replies(prompts, units, progress) if prompts else [])
        for one, question in zip(task.passages, questions, strict=True):
            if question is None:
                yield _row(task, one, reason=reason)
            else:
                yield _row(task, one, true_answer=question[1], **_compared(next(replies), question[1], agree))

    def _continuations(self, task: Task, units: int) -> list[TextQuestion | None]:
        halves = [self._answerer.split(one.text, units) for one in task.passages]
        chat = self._answerer.chat
        return [half and (self._wording.completion(half[0], chat=chat), half[1]) for half in halves]

    def _clozes(self, task: Task) -> list[TextQuestion | None]:
        clozes = [mask(one.text) for one in task.passages]
        return [None if one is None else (self._wording.cloze(one), one.word) for one in clozes]


def _judged(found: Letters, true: str) -> Row:
    p: Sequence[float | None] = found.probabilities or (None,) * len(LETTERS)
    return {
        **{f"p_{letter.lower()}": value for letter, value in zip(LETTERS, p, strict=True)},
        "answer": found.answer,
        "correct": None if found.skipped else found.answer == true,
        "reason": found.reason,
    }


def _compared(reply: Reply, true: str, agree: Callable[[str, str], bool]) -> Row:
    correct = reply.text is not None and agree(reply.text, true)
    return {"answer": reply.text, "correct": None if reply.skipped else correct, "reason": reply.reason}


def _row(task: Task, passage: Passage, **answer: Any) -> Row:
    empty = dict.fromkeys(
        ("permutation", "true_answer", "p_a", "p_b", "p_c", "p_d", "answer", "correct", "reason")
    )
    return {**empty, **task.about, **passage.about, **answer}


def _tasks(requests: Sequence[Mapping[str, Any]], benchmark: pd.DataFrame) -> list[Task]:
    """The tasks, each once, in the order of the registry; passages by subset, length, document and number."""
    if "passage" not in benchmark:
        raise InputError("the benchmark has no passages; its entry needs the key question.")
    passages = _passages(benchmark)
    wanted: dict[tuple[str, str, str], tuple[Mapping[str, Any], set[str]]] = {}
    for request in requests:
        key = request["method"], request["setting"], request["paraphraser"]
        ids = wanted.setdefault(key, (request["parameters"], set()))[1]
        chosen = chosen_slices(set(map(_slice, passages)), request["subsets"], request["lengths"])
        ids |= {passage.text_id for passage in passages if _slice(passage) in chosen}
    order = list(QUESTION_METHODS)
    return [
        Task(method, parameters, setting, paraphraser, [one for one in passages if one.text_id in ids])
        for (method, setting, paraphraser), (parameters, ids) in sorted(
            wanted.items(), key=lambda item: (order.index(item[0][0]), item[0])
        )
    ]


def _slice(passage: Passage) -> Slice:
    return Slice(passage.about["subset"], passage.about["length"])


def _passages(benchmark: pd.DataFrame) -> list[Passage]:
    ordered = benchmark.sort_values(["subset", "length", "document", "passage"], kind="stable")
    numbers = ("label", "length", "passage")
    columns = {
        name: whole_numbers(ordered[name]) if name in numbers else ordered[name].tolist()
        for name in ("text_id", "text", "title", "author", "document", "subset", *numbers)
    }
    rows = (dict(zip(columns, values, strict=True)) for values in zip(*columns.values(), strict=True))
    return [
        Passage(row.pop("text_id"), row.pop("text"), row.pop("title"), row.pop("author"), about=row)
        for row in rows
    ]
