"""Answers collected elsewhere: a file with one row for each answer, or the files that
DE-COP's authors released.

A row has `document`, `label` (1 suspect or member, 0 clean, null unknown), `passage`,
`permutation`, `true_answer`, and `answer` or `p_a` to `p_d`; optional `task` (default,
de_cop), `setting`, `subset`, `length`, `paraphraser`, `correct` (of completion and
name_cloze, whose `answer` is text) and `reason`. Others are ignored.

The released answers have one row for each question: `book`, `suspect` (the label),
`passage`, `order` and `answer` (the true letter). `MODEL:A` to `MODEL:D` are a model's
probabilities of the letters; a column MODEL has the letters of a model without
probabilities. The released scores have one row for each book: `book` (its title) and
`MODEL:METHOD`.

Reading needs no pandas, because files are checked while a study is planned.
"""

import math
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal, NamedTuple

from pydantic import Field

from pretrace.benchmarks.columns import (
    Columns,
    Label,
    Length,
    Name,
    Named,
    WholeNumber,
    checked_row,
    is_missing,
    only_of,
)
from pretrace.benchmarks.rows import LocatedRow, Row, only_columns, opened_parquet, rows
from pretrace.benchmarks.subsets_and_lengths import Slice
from pretrace.questions.answering import (
    OPTION_LETTERS,
    ORDERS,
    PROBABILITIES,
    letter_in,
)
from pretrace.questions.method_facts import QUESTION_METHODS
from pretrace.runtime.errors import InputError, nearest, require_name
from pretrace.runtime.logs import log

if TYPE_CHECKING:
    import pyarrow as pa

_QUESTION = ("document", "label", "passage", "permutation", "true_answer")
"""Our names of the columns of a `Question`."""
_KEY = [
    "task",
    "setting",
    "paraphraser",
    "subset",
    "length",
    "document",
    "passage",
    "permutation",
]
ROUNDING = 0.02
"""How much above 1 the probabilities of a question may sum to: what rounding to two
digits can add."""
SCORES = {
    "perplexity": ("loss", "form=perplexity"),
    # of the logarithm of the perplexity, not of the perplexity as the paper says
    "zlib": ("zlib", ""),
    "lowercase": ("lowercase", ""),  # likewise
    "min_k": ("min_k", "k=0.2"),  # k is not stated
}
"""The method in the released scores -> ours, and its setting. Theirs are lower for
members, ours higher."""


def check_answers(path: Path, model: str | None = None, *, metrics: bool) -> set[Slice]:
    """Read the answers and return their slices; raise `InputError` (file, row, column,
    remedy) at the first mistake.

    With `model`, the file is the released one. With `metrics`, it needs documents of
    both labels.
    """
    answers = _answers(path, model)
    labelled = answers.group_by(["document", "label"]).aggregate([])
    documents = Counter(labelled["label"].to_pylist())
    if metrics and not (documents[0] and documents[1]):
        raise InputError(
            f"{path}: metrics need documents of both labels, but it has {documents[1]} "
            f"with label 1 and {documents[0]} with label 0. Add those that are missing."
        )
    if answers["answer"].null_count == len(answers):
        raise InputError(
            f"{path}: no answer is usable; 'answer' must hold a letter, A, B, C or D."
        )
    slices = answers.group_by(["subset", "length"]).aggregate([]).to_pylist()
    return {Slice(part["subset"], part["length"]) for part in slices}


def read_answers(path: Path, model: str | None = None) -> "pa.Table":
    """Read the answers as an Arrow table of `table.ANSWER_SCHEMA`, sorted by its keys;
    the log says what it holds.

    With `model`, they are that model's of the released file, in its order.
    """
    answers = _answers(path, model)
    tasks = Counter(answers["task"].to_pylist())
    counts = ", ".join(f"{count} {task}" for task, count in tasks.items())
    log.info("%s: %d answers (%s)", path, len(answers), counts)
    unusable = Counter(answers["reason"].drop_null().to_pylist())
    # a released file cannot be mended
    tell = log.warning if model is None else log.info
    for reason, count in sorted(unusable.items()):
        tell("%s: %d answers are unusable: %s", path, count, reason)
    passages = answers.group_by(_KEY[:-1]).aggregate([([], "count_all")])
    incomplete = 0
    for passage in passages.to_pylist():
        has_options = QUESTION_METHODS[passage["task"]].options
        incomplete += has_options and passage["count_all"] < len(ORDERS)
    if incomplete:
        log.warning(
            "%s: %d passages lack some of the %d orders of options",
            path,
            incomplete,
            len(ORDERS),
        )
    keys = [(key, "ascending", "at_start") for key in _KEY]
    return answers if model else answers.sort_by(keys)


def _answers(path: Path, model: str | None) -> "pa.Table":
    import pyarrow as pa

    from pretrace.questions.table import ANSWER_SCHEMA

    if model is not None:
        return _read_released(path, model)
    read = list(_read_rows(path))
    if not read:
        raise InputError(f"{path} holds no rows; it needs at least one answer.")
    answers = pa.Table.from_pylist([row for _, row in read], ANSWER_SCHEMA)
    _check_questions(answers, lambda row: read[row][0])
    return answers


def _check_questions(questions: "pa.Table", place: Callable[[int], str]) -> None:
    """Check that a document has one label and a question one answer; `place` tells
    where a row comes from."""
    numbered = questions.append_column("row", [range(len(questions))])
    labels = numbered.group_by(["document", "label"]).aggregate([("row", "min")])
    first: dict[str, Row] = {}
    for group in labels.sort_by("row_min").to_pylist():
        before = first.setdefault(group["document"], group)
        if group is not before:
            raise InputError(
                f"{place(group['row_min'])}: label of document '{group['document']}' "
                f"is {_shown(group['label'])}, and was {_shown(before['label'])} at "
                f"{place(before['row_min'])}; a document has one label."
            )
    keys = [key for key in _KEY if key in questions.column_names]
    answered = numbered.group_by(keys).aggregate([("row", "min"), ("row", "max")])
    if len(answered) < len(questions):
        twice = (row for row in answered.to_pylist() if row["row_min"] < row["row_max"])
        question = min(twice, key=lambda row: row["row_min"])
        raise InputError(
            f"{place(question['row_max'])}: this question was answered before, at "
            f"{place(question['row_min'])} (document '{question['document']}', passage "
            f"{question['passage']}, permutation {question['permutation']}); give one "
            "answer each."
        )


def _shown(label: int | None) -> str:
    return "null" if label is None else str(label)


Passage = Annotated[int, WholeNumber, Field(ge=0, le=10**9)]
Order = Annotated[int, WholeNumber, Field(ge=0, lt=len(ORDERS))]
Probability = Annotated[float, WholeNumber, Field(ge=0, le=1)] | None


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
    passage: Passage
    """a whole number, 0 to 1,000,000,000"""
    paraphraser: Name = None
    """a name, in quotes, or null"""


class Choice(Collected):
    """An answer to a multiple-choice question: its order, its right letter,
    probabilities and the letter chosen."""

    permutation: Order
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


class Question(Columns):
    """A question of the released answers."""

    book: Named
    """the name of a book"""
    suspect: Label
    """1 (suspect), 0 (clean) or, where unknown, null"""
    passage: Passage
    """a whole number, 0 to 1,000,000,000"""
    order: Order
    """a whole number, 0 to 23"""
    answer: Literal["A", "B", "C", "D"]
    """A, B, C or D"""


class ReleasedBook(Columns):
    """A row of the released scores."""

    book: Named
    """the title of a book"""


_NOTHING: Row = dict.fromkeys(("setting", "subset", "paraphraser"), "") | dict.fromkeys(
    (
        "length",
        "permutation",
        "true_answer",
        *PROBABILITIES,
        "answer",
        "correct",
        "reason",
    )
)


def _read_rows(path: Path) -> Iterator[LocatedRow]:
    """Yield each row with its place as a row of the answers table
    (`table.ANSWER_SCHEMA`), checked."""
    for where, row in rows(path, only_of(Choice, Written)):
        given = row.get("task")
        task = "de_cop" if given == "" or is_missing(given) else str(given)
        require_name(task, QUESTION_METHODS, f"{where}: unknown task '{task}'")
        if QUESTION_METHODS[task].options:
            yield where, _NOTHING | _choice(where, row) | {"task": task}
        else:
            answer = _NOTHING | checked_row(where, row, Written) | {"task": task}
            no_answer = "no answer" if answer["answer"] is None else None
            answer["reason"] = answer["reason"] or no_answer
            yield where, answer


def _choice(where: str, row: Row) -> Row:
    """Return an answer to a multiple-choice question with the letter that was chosen,
    or why none was."""
    answer: Row = dict.fromkeys([*PROBABILITIES, "answer"])
    answer |= checked_row(where, row, Choice)
    probabilities: list[Any] = [answer[name] for name in PROBABILITIES]
    written = answer["answer"]
    has_probabilities = probabilities != [None] * len(OPTION_LETTERS)
    if "answer" not in row and not has_probabilities:
        raise InputError(
            f"{where}: there is neither 'answer' nor 'p_a' to 'p_d'; give one or both."
        )
    if has_probabilities:
        by_column = dict(zip(PROBABILITIES, probabilities, strict=True))
        _check_probabilities(where, by_column)
    letter = None
    if written is not None:
        letter = letter_in(written)
    elif has_probabilities:
        letter = OPTION_LETTERS[probabilities.index(max(probabilities))]
    missing = "no answer" if written is None else "no letter in the answer"
    answer["answer"] = letter
    answer["correct"] = letter == answer["true_answer"]
    answer["reason"] = None if letter else missing
    return answer


def _check_probabilities(where: str, probabilities: Row) -> None:
    """Raise `InputError` unless each column has a probability and they sum to at most
    1, or all are empty."""
    values: Row = {}
    for column, value in probabilities.items():
        values[column] = None if value != value else value
    if {*values.values()} == {None}:
        return
    for column, value in values.items():
        if value is None:
            raise InputError(
                f"{where}: {column} is empty; give a probability, as for the other "
                "letters."
            )
        try:
            is_probability = 0 <= float(value) <= 1
        except (TypeError, ValueError):
            is_probability = False
        if not is_probability:
            raise InputError(
                f"{where}: {column} is {value!r:.60}; it must be a probability, 0 to 1."
            )
    total = sum(map(float, values.values()))
    if total > 1 + ROUNDING:
        raise InputError(
            f"{where}: {', '.join(values)} sum to {total:.4g}; probabilities of the "
            "letters sum to at most 1."
        )


def _read_released(path: Path, model: str) -> "pa.Table":
    """Read a model's answers from the released file. Questions without its
    probabilities were not asked: left out."""
    import numpy as np
    import pyarrow as pa
    import pyarrow.compute as pc

    from pretrace.questions.table import ANSWER_SCHEMA

    if not path.is_file():
        raise InputError(
            f"{path} does not exist; give the Parquet file of released answers."
        )
    questions = _questions(path, path.stat().st_mtime_ns)
    names = [f"{model}:{letter}" for letter in OPTION_LETTERS]
    table = _read_columns(path, [*names, model])
    probabilities = {}
    if not table.column_names:
        with opened_parquet(path) as file:
            names = file.schema_arrow.names
        known = {name.partition(":")[0] for name in names}
        known -= Question.model_fields.keys()
        raise InputError(
            f"{path}: there are no answers of '{model}': {nearest(model, known)}"
        )
    if model in table.column_names:
        letters = table[model].cast("string")
        answer = pc.if_else(pc.is_in(letters, pa.array(OPTION_LETTERS)), letters, None)
    else:
        for name in names:
            if name not in table.column_names:
                raise InputError(
                    f"{path}: there is no column '{name}'; give the probabilities of "
                    "all four letters."
                )
        try:
            columns_given = [table[name].cast("float64").to_numpy() for name in names]
            shares = np.column_stack(columns_given)
        except pa.ArrowException:
            shares = np.full((1, 1), np.inf)
        is_asked = ~np.isnan(shares).all(axis=1)
        possible = (shares >= 0) & (shares.sum(axis=1, keepdims=True) <= 1 + ROUNDING)
        if not possible[is_asked].all():
            for row, values in enumerate(table.select(names).to_pylist(), start=1):
                _check_probabilities(f"{path}, row {row}", values)
        if not is_asked.any():
            raise InputError(
                f"{path}: all probabilities of '{model}' are empty; give at least one "
                "answer."
            )
        questions = questions.filter(is_asked)
        shares = shares[is_asked]
        answer = pa.array(np.array(OPTION_LETTERS)[shares.argmax(axis=1)])
        probabilities = dict(zip(PROBABILITIES, shares.T, strict=True))
    count = len(questions)
    columns = dict.fromkeys(ANSWER_SCHEMA.names, pa.nulls(count))
    columns["task"] = pa.repeat("de_cop", count)
    columns["paraphraser"] = pa.repeat("paraphrase", count)
    for name in ("setting", "subset"):
        columns[name] = pa.repeat("", count)
    for name in questions.column_names:
        columns[name] = questions[name]
    columns |= probabilities
    is_right = pc.equal(answer, questions["true_answer"])
    columns["answer"] = answer
    columns["correct"] = pc.fill_null(is_right, fill_value=False)
    columns["reason"] = pc.if_else(pc.is_valid(answer), None, "no letter")
    return pa.table(columns).cast(ANSWER_SCHEMA)


# the questions of all models: nine models have their answers in one file
@cache
def _questions(path: Path, changed: int) -> "pa.Table":
    """Read the questions of the released file in our names and types; a file of another
    time is read again."""
    import numpy as np
    import pyarrow as pa

    table = _read_columns(path, Question.model_fields)
    if not len(table):
        raise InputError(f"{path} holds no rows; it needs at least one answer.")
    [example] = table.slice(0, 1).to_pylist()
    columns = {}
    checked_row(f"{path}, row 1", example, Question)
    for name, ours in zip(Question.model_fields, _QUESTION, strict=True):
        # each different value is checked once, where it is first
        encoded = table[name].combine_chunks().dictionary_encode(null_encoding="encode")
        _, rows = np.unique(encoded.indices, return_index=True)
        values = []
        for value, row in zip(encoded.dictionary.to_pylist(), rows, strict=True):
            checked = checked_row(
                f"{path}, row {row + 1}", example | {name: value}, Question
            )
            values.append(checked[name])
        columns[ours] = pa.array(values).take(encoded.indices)
    questions = pa.table(columns)
    _check_questions(questions, lambda row: f"{path}, row {row + 1}")
    return questions


def _read_columns(path: Path, columns: Iterable[str]) -> "pa.Table":
    """Read the columns that a Parquet file has, each in one chunk of plain values."""
    import pyarrow as pa

    with opened_parquet(path) as file:
        table = file.read(list(columns))
        plain = []
        for column in table.schema:
            kind = column.type
            if pa.types.is_dictionary(kind):
                kind = kind.value_type
            if pa.types.is_nested(kind):
                raise InputError(
                    f"{path}: column '{column.name}' holds lists or structures; give "
                    "plain values."
                )
            plain.append((column.name, kind))
        return table.cast(pa.schema(plain)).combine_chunks()


class ReleasedScore(NamedTuple):
    """A score of the document with this title, of our method and setting."""

    title: str
    method: str
    setting: str
    score: float


def released_scores(path: Path, model: str) -> list[ReleasedScore]:
    """Read the scores of a model; empty if the released scores have none of it.

    Raises `InputError` at the first row that has no title, a title again, or a score
    that is not a number.
    """
    places: dict[str, str] = {}
    scores = []
    needed = only_columns("book", *(f"{model}:{name}" for name in SCORES))
    for where, row in rows(path, needed):
        title = checked_row(where, row, ReleasedBook)["book"]
        if title in places:
            before = f"'{title}' has scores before, at {places[title]}"
            raise InputError(f"{where}: {before}; give each book one row.")
        places[title] = where
        for name, (method, setting) in SCORES.items():
            value = row.get(f"{model}:{name}")
            try:
                score = math.nan if value is None else float(value)
            except (TypeError, ValueError):
                score = math.inf
            if math.isinf(score):
                raise InputError(
                    f"{where}: {model}:{name} is {value!r:.60}; it must be a number, "
                    "or empty."
                )
            if not math.isnan(score):
                scores.append(ReleasedScore(title, method, setting, -score))
    if not places:
        raise InputError(
            f"{path} holds no rows; it needs a row of scores for each book."
        )
    return scores
