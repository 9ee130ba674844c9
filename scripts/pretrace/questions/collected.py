"""Answers collected elsewhere: Parquet, CSV or JSONL, one row an answer. Reading needs no pandas.

Columns: `document`, `label` (1 suspect or member, 0 clean, null unknown), `passage`, `permutation`, `true_answer`,
and `answer` or `p_a` to `p_d`; optional `task` (default, de_cop), `setting`, `subset`, `length`, `paraphraser`,
`correct` (of completion and name_cloze, whose `answer` is text) and `reason`. Others are ignored.
"""

import math
from collections import Counter
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from pretrace.benchmarks.rows import rows
from pretrace.questions.answering import LETTERS, letter_in
from pretrace.questions.methods import QUESTION_METHODS
from pretrace.runtime.errors import InputError, nearest
from pretrace.runtime.logs import log

Answer = dict[str, Any]
"""A row of the answers table by column (`table.SCHEMA`)."""

PROBABILITIES = ("p_a", "p_b", "p_c", "p_d")
ORDERS = 24
_KEY = ("task", "setting", "paraphraser", "subset", "length", "document", "passage", "permutation")


def check(path: Path, *, metrics: bool) -> None:
    """Read the whole file; raise `InputError` (file, row, column, remedy) at the first thing wrong in it.

    With `metrics`, documents of both labels must be there.
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


def collected(path: Path) -> Iterator[Answer]:
    """The rows of the file as rows of the answers table, each checked."""
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
            raise InputError(
                f"{where}: label of document '{answer['document']}' is {_shown(answer['label'])}, and was "
                f"{_shown(label)} at {first}; a document has one label."
            )
        yield answer
    if not seen:
        raise InputError(f"{path} holds no rows; it needs at least one answer.")


def table_of(path: Path) -> Any:
    """The file as an Arrow table of `table.SCHEMA`, in the order of its keys; the log says what it holds."""
    import pyarrow as pa

    from pretrace.questions.table import SCHEMA

    answers = sorted(collected(path), key=_place)
    tasks = Counter(answer["task"] for answer in answers)
    log.info("%s: %d answers (%s)", path, len(answers), ", ".join(f"{n} {task}" for task, n in tasks.items()))
    unusable = Counter(answer["reason"] for answer in answers if answer["answer"] is None)
    for reason, count in sorted(unusable.items()):
        log.warning("%s: %d answers are unusable: %s", path, count, reason)
    if incomplete := _incomplete(answers):
        log.warning("%s: %d passages lack some of the %d orders of their options", path, incomplete, ORDERS)
    return pa.Table.from_pylist(answers, schema=SCHEMA)


def _place(answer: Answer) -> tuple[Any, ...]:
    return tuple((answer[name] is not None, answer[name] or 0) if name in ("length", "permutation") else answer[name]
                 for name in _KEY)  # fmt: skip


def _incomplete(answers: list[Answer]) -> int:
    """Passages whose options were not asked in every order."""
    orders = Counter(
        tuple(answer[name] for name in _KEY[:-1])
        for answer in answers
        if QUESTION_METHODS[answer["task"]].options
    )
    return sum(count < ORDERS for count in orders.values())


def _answer(where: str, row: Mapping[str, Any]) -> Answer:
    _require(where, row, "document", "label", "passage")
    task = _text(where, row, "task") or "de_cop"
    if task not in QUESTION_METHODS:
        raise InputError(f"{where}: unknown task '{task}': {nearest(task, QUESTION_METHODS)}")
    answer: Answer = {
        "task": task,
        "setting": _text(where, row, "setting"),
        "document": _text(where, row, "document"),
        "label": _whole(where, row, "label", most=1),
        "subset": _text(where, row, "subset"),
        "length": _whole(where, row, "length", least=1),
        "passage": _whole(where, row, "passage"),
        "paraphraser": _text(where, row, "paraphraser"),
    }
    if not answer["document"] or answer["passage"] is None:
        empty = "passage" if answer["document"] else "document"
        raise InputError(f"{where}: {empty} is empty; every answer belongs to a passage of a document.")
    of_task = _choice if QUESTION_METHODS[task].options else _reply
    return answer | of_task(where, row)


def _choice(where: str, row: Mapping[str, Any]) -> Answer:
    """The columns of a multiple-choice question: its order, its right letter, probabilities and the letter chosen."""
    _require(where, row, "permutation", "true_answer")
    permutation = _whole(where, row, "permutation", most=ORDERS - 1)
    if permutation is None or row["true_answer"] not in LETTERS:
        raise _wrong(where, row, "permutation" if permutation is None else "true_answer")
    probabilities = _probabilities(where, row)
    if "answer" not in row and probabilities is None:
        raise InputError(f"{where}: there is neither 'answer' nor 'p_a' to 'p_d'; give one or both.")
    given = row.get("answer")
    if given is None and probabilities is not None:
        letter: str | None = LETTERS[probabilities.index(max(probabilities))]
    else:
        letter = letter_in(str(given)) if given is not None else None
    missing = "no answer" if given is None else "no letter in the answer"
    return {
        "permutation": permutation,
        "true_answer": row["true_answer"],
        **dict(zip(PROBABILITIES, probabilities or (None,) * 4, strict=True)),
        "answer": letter,
        "correct": letter == row["true_answer"],
        "reason": None if letter else missing,
    }


def _reply(where: str, row: Mapping[str, Any]) -> Answer:
    """The columns of a question answered in text: the text, and whether it is right, as the file says."""
    _require(where, row, "answer", "correct")
    given, correct = row["answer"], row["correct"]
    named = {"true": True, "false": False, "1": True, "0": False}
    correct = named.get(correct.lower(), correct) if isinstance(correct, str) else correct
    if not isinstance(correct, bool | None):
        raise _wrong(where, row, "correct")
    reason = _text(where, row, "reason") or ("no answer" if given is None else "")
    return {
        "permutation": None,
        "true_answer": _text(where, row, "true_answer") or None,
        **dict.fromkeys(PROBABILITIES),
        "answer": None if given is None else str(given),
        "correct": correct,
        "reason": reason or None,
    }


_MUST_BE = {
    "label": "1 (suspect), 0 (clean) or, where unknown, null (in CSV: empty)",
    "length": "a whole number, 1 or more",
    "passage": "a whole number, 0 or more",
    "permutation": "a whole number, 0 to 23",
    "true_answer": "A, B, C or D",
    "correct": "true, false, or null (skipped)",
} | dict.fromkeys(PROBABILITIES, "a probability, 0 to 1")


def _wrong(where: str, row: Mapping[str, Any], column: str) -> InputError:
    return InputError(f"{where}: {column} is {row[column]!r}; it must be {_MUST_BE[column]}.")


def _require(where: str, row: Mapping[str, Any], *columns: str) -> None:
    for column in columns:
        if column not in row:
            there = ", ".join(map(str, row)) or "none"
            raise InputError(f"{where}: there is no column '{column}'; found: {there}.")


def _probabilities(where: str, row: Mapping[str, Any]) -> tuple[float, ...] | None:
    """The four letters' probabilities; None where the row has none of them."""
    given = {name: row.get(name) for name in PROBABILITIES}
    if all(value is None for value in given.values()):
        return None
    values = tuple(map(_number, given.values()))
    for name, value in zip(given, values, strict=True):
        if not 0 <= value <= 1:
            raise _wrong(where, given, name)
    return values


def _whole(
    where: str, row: Mapping[str, Any], column: str, *, least: int = 0, most: float = math.inf
) -> int | None:
    if row.get(column) is None:
        return None
    number = _number(row[column])
    if not (number.is_integer() and least <= number <= most):
        raise _wrong(where, row, column)
    return int(number)


def _number(value: Any) -> float:
    """A number, also one that is written as text; not a number where it is none."""
    try:
        return math.nan if isinstance(value, bool) else float(value)
    except (TypeError, ValueError, OverflowError):
        return math.nan


def _text(where: str, row: Mapping[str, Any], column: str) -> str:
    value = row.get(column)
    if isinstance(value, int) and not isinstance(value, bool):
        return str(value)
    if not isinstance(value, str | None):
        raise InputError(f"{where}: {column} is {value!r}, not a string; write it in quotes.")
    return value or ""


def _shown(label: int | None) -> str:
    return "null" if label is None else str(label)
