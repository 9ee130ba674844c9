"""Texts of your own: JSONL (also gzipped), CSV or Parquet, one row per text; or a text file, which is one text.

Columns: `input` or `text`; `label` (1 member, 0 non-member, null or empty where unknown); optional `subset`,
`length` (words), `document`, `id`, and for questions `title`, `author`. Others are ignored. Rows of a document are
taken to be in its order.
Reading and checking need neither pandas nor, but for Parquet, pyarrow.
"""

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from pretrace.benchmarks.rows import Row, rows
from pretrace.benchmarks.sources import Text, loader
from pretrace.runtime.errors import InputError


@loader("local", needs=["path"])
def load(entry: Mapping[str, Any], sources: list[Path], seed: int) -> list[Text]:
    """Every row of the file, in its order. Raises `InputError` with file and line of the first bad row.

    With the entry's key `question`, the texts are passages, numbered within each document and length.
    """
    found = texts(sources[0])
    return numbered(found) if "question" in entry else list(found)


def numbered(found: Iterable[Text]) -> list[Text]:
    """The texts as passages: `passage` counts those of one document and length, in their order."""
    numbers: Counter[tuple[str, int | None]] = Counter()
    passages = []
    for text in found:
        of = text.document, text.length
        passages.append(replace(text, passage=numbers[of]))
        numbers[of] += 1
    return passages


def check(path: Path, *, metrics: bool) -> None:
    """Read the whole file and raise `InputError` (file, line, remedy) at the first thing wrong in it.

    With `metrics`, both classes must be there; without, texts may all be of one class, or of none.
    """
    found = Counter(text.label for text in texts(path))
    if metrics and not (found[0] and found[1]):
        raise InputError(
            f"{path}: metrics and shots need members (label 1) and non-members (label 0), but it has {found[1]} "
            f"members, {found[0]} non-members and {found[None]} unlabelled texts. Add the missing class, or, to audit "
            "texts without a label, name artifacts: [audit] in the study (docs/audit.md)."
        )


def texts(path: Path) -> Iterator[Text]:
    """The rows of the file as texts, each checked. Without a column `id` the text_id is the row's number."""
    return checked(rows(path), str(path))


def checked(given: Iterable[tuple[str, Row]], source: str) -> Iterator[Text]:
    """Rows, each with its position in the file, as texts. Raises `InputError` at the first bad row, or if `source`
    has none."""
    seen: dict[str, str] = {}
    for number, (where, row) in enumerate(given, start=1):
        text_id = _id(where, row, number)
        if text_id in seen:
            raise InputError(
                f"{where}: the id '{text_id}' was given before, at {seen[text_id]}; ids must be unique."
            )
        seen[text_id] = where
        yield Text(
            text_id=text_id,
            text=_text(where, row),
            label=_label(where, row),
            subset=_name(where, row, "subset"),
            length=_length(where, row),
            document=_name(where, row, "document"),
            title=_name(where, row, "title"),
            author=_name(where, row, "author"),
        )
    if not seen:
        raise InputError(f"{source} holds no rows; it needs at least one text.")


def _text(where: str, row: Mapping[str, Any]) -> str:
    given = [column for column in ("input", "text") if column in row]
    if not given:
        raise InputError(
            f"{where}: there is no column 'input' or 'text'; found: {', '.join(map(str, row)) or 'none'}. "
            f"Rename the one that holds the texts."
        )
    if len(given) == 2:
        raise InputError(
            f"{where}: there are both 'input' and 'text'; leave only the one that holds the texts."
        )
    return _string(
        where, given[0], row[given[0]], empty="a text needs at least one word; fill it or drop the row"
    )


def _label(where: str, row: Mapping[str, Any]) -> int | None:
    if "label" not in row:
        raise InputError(
            f"{where}: there is no 'label'; found: {', '.join(map(str, row))}. "
            f"Give 1 (member), 0 (non-member) or, where unknown, null (in CSV: empty)."
        )
    value = row["label"]
    if value is None:
        return None
    if isinstance(value, (int, float)) and not isinstance(value, bool) and value in (0, 1):
        return int(value)
    hint = f" without quotes: {value}" if value in ("0", "1") else ""
    raise InputError(
        f"{where}: label is {value!r}; it must be 1 (member), 0 (non-member) or, where unknown, "
        f"null (in CSV: 0, 1 or empty){hint}."
    )


def _length(where: str, row: Mapping[str, Any]) -> int | None:
    value = row.get("length")
    if value is None:
        return None
    whole = isinstance(value, int) or (isinstance(value, float) and value.is_integer())
    if whole and not isinstance(value, bool) and value >= 1:
        return int(value)
    raise InputError(f"{where}: length is {value!r}; it must be a whole number of words, 1 or more, or null.")


def _id(where: str, row: Mapping[str, Any], number: int) -> str:
    if "id" not in row:
        return f"{number:06d}"
    name = _name(where, row, "id")
    if not name:
        raise InputError(f"{where}: id is empty; give every row its own, or none by leaving the column out.")
    return name


def _name(where: str, row: Mapping[str, Any], column: str) -> str:
    value = row.get(column)
    if value is None or value == "":
        return ""
    if isinstance(value, int) and not isinstance(value, bool):
        return str(value)
    return _string(where, column, value, empty="leave it out or give it a name")


def _string(where: str, column: str, value: Any, *, empty: str) -> str:
    if value is None or (isinstance(value, str) and not value.strip()):
        raise InputError(f"{where}: {column} is empty; {empty}.")
    if not isinstance(value, str):
        raise InputError(f"{where}: {column} is {value!r}, not a string; write it in quotes.")
    if "\0" in value:
        raise InputError(f"{where}: {column} holds a NUL character (U+0000), which is not text; remove it.")
    if any("\ud800" <= character <= "\udfff" for character in value):
        raise InputError(
            f"{where}: {column} holds half a surrogate pair, which is not text; encode it as UTF-8."
        )
    return value
