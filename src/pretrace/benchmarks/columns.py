"""What the columns of a file must be, for texts, answers and views alike: one form of
names, and of missing values."""

import re
import unicodedata
from decimal import Decimal
from numbers import Real
from typing import Annotated, Any

from pydantic import (
    AfterValidator,
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Field,
    Strict,
    ValidationError,
)

from pretrace.benchmarks.rows import Choice, Row, only_columns
from pretrace.runtime.errors import InputError
from pretrace.runtime.schema import key_texts


class Columns(BaseModel):
    """The columns of a file: a subclass's fields; the text under one says what it must
    be. Others are ignored."""

    model_config = ConfigDict(
        coerce_numbers_to_str=True, allow_inf_nan=False, defer_build=True
    )


def is_missing(value: object) -> bool:
    """Return whether a cell has no value: null, NaN, or what pandas writes for them."""
    is_nan = isinstance(value, Real) and value != value
    return value is None or is_nan or type(value).__name__ in ("NAType", "NaTType")


_WRITTEN_MISSING = {"nan", "NaN", "<NA>", "NaT"}
"""What a missing name becomes where a table is written as strings."""


_UNSEEN = re.compile("[\u00ad\u200b\u200e\u200f\u202a-\u202e\u2060\u2066-\u2069\ufeff]")
"""Soft hyphens, blanks of no width, byte-order marks, marks of direction. Joiners stay:
some scripts need them."""


def one_form(name: str) -> str:
    """Return a name in the one form of its spellings: NFC, what nobody sees and blanks
    around it removed, white space within as one blank, 7 for 7.0.

    7.0 is how a column of numbers with gaps writes 7.
    """
    name = " ".join(_UNSEEN.sub("", unicodedata.normalize("NFC", name)).split())
    return name.removesuffix(".0") if _WHOLE.fullmatch(name) else name


_WHOLE = re.compile(r"-?\d+\.0", re.ASCII)


def _one_name(value: Any) -> Any:
    """Return a name in its one form, None without one; values of other types than
    strings and numbers as they are, for pydantic to judge.

    False is the name `false`, as in JSON and CSV.
    """
    if isinstance(value, bool):
        value = str(value).lower()
    elif isinstance(value, float) and value.is_integer():
        value = int(value)
    if isinstance(value, int | float | Decimal):
        value = str(value)
    if not isinstance(value, str):
        return value
    name = one_form(value)
    return None if name in _WRITTEN_MISSING else name


def _optional_name(value: Any) -> Any:
    name = _one_name(value)
    return None if name == "" else name  # 0 is a name


def _number(value: Any) -> Any:
    if isinstance(value, bool | bytes):
        raise ValueError
    return value


def _words(text: str) -> str:
    if not text.strip():
        raise ValueError("is empty; fill it, or drop the row")
    if "\0" in text:
        raise ValueError("holds a NUL character (U+0000), which is not text; remove it")
    if text.encode(errors="ignore").decode() != text:
        raise ValueError(
            "holds half a surrogate pair, which is not text; encode it as UTF-8"
        )
    if all(
        character.isspace() or unicodedata.category(character) in ("Cc", "Cf")
        for character in text
    ):
        raise ValueError(
            "shows nothing, it holds control or zero-width characters; fill it, or "
            "drop the row"
        )
    return text


# characters; a longer id, document or subset is a text in the wrong column
LONGEST_NAME = 500


def _short(name: str) -> str:
    if len(name) > LONGEST_NAME:
        told = f"has {len(name)} characters, more than {LONGEST_NAME}"
        raise ValueError(f"{told}; is it a text? Give a short name")
    return name


WholeNumber = BeforeValidator(_number)
KnownLabel = Annotated[int, WholeNumber, Field(ge=0, le=1)]
Label = KnownLabel | None
Length = Annotated[int, WholeNumber, Field(ge=1, le=10**9)] | None
Words = Annotated[str, Strict(), AfterValidator(_words)]
"""A text with at least one word and without NUL characters."""
Named = Annotated[
    str, BeforeValidator(_one_name), AfterValidator(_words), AfterValidator(_short)
]
"""A name, or a number that is one."""
Name = Annotated[
    Named | None,
    BeforeValidator(_optional_name),
    AfterValidator(lambda name: name or ""),
]
"""The same, "" without one."""


def checked_row(where: str, row: Row, kind: type[Columns]) -> Row:
    """Return the columns of a row that `kind` has, each in its type; a missing value is
    None or the column's empty one.

    Raises `InputError` with the first column that is missing or wrong, and what it must
    be.
    """
    given = {}
    for column, value in row.items():
        given[column] = None if is_missing(value) else value
    try:
        parsed = kind.model_validate(given)
        checked = {}
        for column in row:
            if column in parsed.model_fields_set:
                checked[column] = getattr(parsed, column)
        return checked
    except ValidationError as error:
        mistake = error.errors()[0]
    column = str(mistake["loc"][0])
    said = str(mistake.get("ctx", {}).get("error", ""))
    must_be = key_texts(kind)[column]
    if column not in row:
        columns = ", ".join(map(str, row)) or "none"
        raise InputError(
            f"{where}: there is no column '{column}'; found: {columns}. Give {must_be}."
        )
    value = "empty" if given[column] is None else f"{given[column]!r:.60}"
    raise InputError(
        f"{where}: {column} {said or f'is {value}; it must be {must_be}'}."
    )


def only_of(*kinds: type[Columns]) -> Choice:
    """Return the choice of those of a file's columns that one of `kinds` has."""
    needed = set()
    for kind in kinds:
        needed |= {*kind.model_fields}
    return only_columns(*needed)
