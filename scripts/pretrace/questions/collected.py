"""Answers collected elsewhere: Parquet, CSV or JSONL, one row an answer. Reading needs no pandas.

Columns: `document`, `label` (1 suspect or member, 0 clean, null unknown), `passage`, `permutation`, `true_answer`,
and `answer` or `p_a` to `p_d`; optional `task` (default, de_cop), `setting`, `subset`, `length`, `paraphraser`,
`correct` (of completion and name_cloze, whose `answer` is text) and `reason`. Others are ignored.
"""

from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import Field

from pretrace.benchmarks.rows import Columns, Label, Length, Name, Named, Number, Row, checked_row, rows
from pretrace.questions.answering import LETTERS, ORDERS, PROBABILITIES, letter_in
from pretrace.questions.known import QUESTION_METHODS
from pretrace.runtime.errors import InputError, nearest
from pretrace.runtime.logs import log

_KEY = ("task", "setting", "paraphraser", "subset", "length", "document", "passage", "permutation")


def check_answers(path: Path, *, metrics: bool) -> None:
    """Read the whole file; raise `InputError` (file, row, column, remedy) at its first mistake.

    With `metrics`, it needs documents of both labels.
    """
    usable = False
    label_of: dict[str, int | None] = {}
    for answer in collected(path):
        usable |= answer["answer"] is not None
        label_of[answer["document"]] = answer["label"]
    documents = Counter(label_of.values())
    if metrics and not (documents[0] and documents[1]):
        raise InputError(
            f"{path}: metrics need documents of both labels, but it has {documents[1]} with label 1 and "
            f"{documents[0]} with label 0. Add those that are missing."
        )
    if not usable:
        raise InputError(f"{path}: no answer is usable; 'answer' must hold a letter, A, B, C or D.")


def collected(path: Path) -> Iterator[Row]:
    """Yield the rows of the file as rows of the answers table (`table.SCHEMA`), each checked."""
    seen: dict[tuple[Any, ...], str] = {}
    label_of: dict[str, tuple[int | None, str]] = {}
    for where, row in rows(path):
        answer = _answer(where, row)
        key = tuple(answer[name] for name in _KEY)
        if key in seen:
            raise InputError(
                f"{where}: this question was answered before, at {seen[key]} (document '{answer['document']}', "
                f"passage {answer['passage']}, permutation {answer['permutation']}); give one answer each."
            )
        seen[key] = where
        label, first = label_of.setdefault(answer["document"], (answer["label"], where))
        if label != answer["label"]:
            now, before = ("null" if value is None else value for value in (answer["label"], label))
            raise InputError(
                f"{where}: label of document '{answer['document']}' is {now}, and was {before} at {first}; a document "
                "has one label."
            )
        yield answer
    if not seen:
        raise InputError(f"{path} holds no rows; it needs at least one answer.")


def table_of(path: Path) -> Any:
    """Read the file as an Arrow table of `table.SCHEMA`, sorted by its keys; the log says what it holds."""
    import pyarrow as pa

    from pretrace.questions.table import SCHEMA

    answers = sorted(collected(path), key=_place)
    tasks = Counter(answer["task"] for answer in answers)
    log.info("%s: %d answers (%s)", path, len(answers), ", ".join(f"{n} {task}" for task, n in tasks.items()))
    unusable = Counter(answer["reason"] for answer in answers if answer["answer"] is None)
    for reason, count in sorted(unusable.items()):
        log.warning("%s: %d answers are unusable: %s", path, count, reason)
    orders = Counter(
        tuple(answer[name] for name in _KEY[:-1])
        for answer in answers
        if QUESTION_METHODS[answer["task"]].options
    )
    if incomplete := sum(count < len(ORDERS) for count in orders.values()):
        log.warning(
            "%s: %d passages lack some of the %d orders of their options", path, incomplete, len(ORDERS)
        )
    return pa.Table.from_pylist(answers, schema=SCHEMA)


def _place(answer: Row) -> tuple[Any, ...]:
    return tuple((answer[name] is not None, answer[name] or 0) if name in ("length", "permutation") else answer[name]
                 for name in _KEY)  # fmt: skip


class Collected(Columns):
    """An answer of any kind."""

    task: Name = None
    """a method that asks questions, or null: de_cop"""
    setting: Name = None
    """a setting, in quotes, or null"""
    document: Named
    """the name of a document"""
    label: Label
    """1 (suspect), 0 (clean) or, where unknown, null (in CSV: empty)"""
    subset: Name = None
    """a name, in quotes, or null"""
    length: Length = None
    """a whole number, 1 or more, or null"""
    passage: Annotated[int, Number, Field(ge=0)]
    """a whole number, 0 or more"""
    paraphraser: Name = None
    """a name, in quotes, or null"""


Probability = Annotated[float, Number, Field(ge=0, le=1)] | None


class Choice(Collected):
    """An answer to a multiple-choice question: its order, its right letter, probabilities and the letter chosen."""

    permutation: Annotated[int, Number, Field(ge=0, lt=len(ORDERS))]
    """a whole number, 0 to 23"""
    true_answer: Literal["A", "B", "C", "D"]
    """A, B, C or D"""
    answer: str | None = None
    """text, or null"""
    p_a: Probability = None
    """a probability, 0 to 1"""
    p_b: Probability = None
    """a probability, 0 to 1"""
    p_c: Probability = None
    """a probability, 0 to 1"""
    p_d: Probability = None
    """a probability, 0 to 1"""


class Written(Collected):
    """An answer in text, and whether it is right, as the file says."""

    true_answer: str | None = None
    """text, or null"""
    answer: str | None
    """text, or null"""
    correct: bool | None
    """true, false, or null (skipped)"""
    reason: str | None = None
    """text, or null"""


_NOTHING: Row = dict.fromkeys(("setting", "subset", "paraphraser"), "") | dict.fromkeys(
    ("length", "permutation", "true_answer", *PROBABILITIES, "answer", "correct", "reason")
)


def _answer(where: str, row: Row) -> Row:
    task = str(row.get("task") or "de_cop")
    if task not in QUESTION_METHODS:
        raise InputError(f"{where}: unknown task '{task}': {nearest(task, QUESTION_METHODS)}")
    if not QUESTION_METHODS[task].options:
        given = _NOTHING | checked_row(where, row, Written) | {"task": task}
        return given | {"reason": given["reason"] or ("no answer" if given["answer"] is None else None)}
    answer = _NOTHING | checked_row(where, row, Choice) | {"task": task}
    probabilities = [answer[name] for name in PROBABILITIES]
    has_probabilities = any(value is not None for value in probabilities)
    if "answer" not in row and not has_probabilities:
        raise InputError(f"{where}: there is neither 'answer' nor 'p_a' to 'p_d'; give one or both.")
    if has_probabilities and None in probabilities:
        column = PROBABILITIES[probabilities.index(None)]
        raise InputError(f"{where}: {column} is empty; give a probability, 0 to 1, as for the other letters.")
    written = answer["answer"]
    letter = letter_in(written) if written is not None else None
    if written is None and has_probabilities:
        letter = LETTERS[probabilities.index(max(probabilities))]
    missing = "no answer" if written is None else "no letter in the answer"
    chosen = {"answer": letter, "correct": letter == answer["true_answer"]}
    return answer | chosen | {"reason": None if letter else missing}
