"""The road from rows to texts, the same for files, works, data sets and a caller's
list: checks, names, numbers.

Needs neither pandas nor torch, because the files of a study are checked while it is
planned.
"""

from collections import Counter, defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import replace

from pretrace.benchmarks.columns import (
    Columns,
    Label,
    Length,
    Name,
    Named,
    Words,
    checked_row,
    one_form,
)
from pretrace.benchmarks.rows import LocatedRow, Row
from pretrace.benchmarks.sources import Text
from pretrace.benchmarks.subsets_and_lengths import Slice
from pretrace.runtime.errors import InputError, first_names
from pretrace.runtime.logs import tell


class TextColumns(Columns):
    """A text of a user's own, or of a data set."""

    input: Words = ""
    """a text with at least one word and without NUL characters"""
    text: Words = ""
    """a text with at least one word and without NUL characters"""
    label: Label = None
    """1 (member), 0 (non-member) or, where unknown, null (in CSV: empty)"""
    subset: Name = None
    """a name, in quotes, or null"""
    length: Length = None
    """a whole number of words, 1 to 10^9, or null"""
    document: Name = None
    """a name, in quotes, or null"""
    id: Named = ""
    """a name of its own in every row; or leave the column out"""
    title: Name = None
    """a title, in quotes, or null"""
    author: Name = None
    """a name, in quotes, or null"""


TEXT_COLUMNS = tuple(TextColumns.model_fields)
_TEXT = ("input", "text")
"""The two names of the column with the texts."""


def columns_of_texts(where: str, names: Sequence[str]) -> list[str]:
    """Return the columns of a file that are read.

    Raises `InputError` unless one holds the texts, and at names such as `Label`,
    `labels` or ` label`: columns of other names are ignored.
    """
    known = {*TEXT_COLUMNS}
    if {*_TEXT} & {*names}:
        known -= {*_TEXT}
    for name in names:
        meant = str(name).strip().casefold()
        meant = meant if meant in known else meant.removesuffix("s")
        if meant in known and meant != name and meant not in names:
            raise InputError(
                f"{where}: the column {name!r} would be ignored; name it '{meant}'."
            )
    if len({*_TEXT} & {*names}) != 1:
        there = ", ".join(map(str, names)) or "none"
        needed = "one column must be 'input' or 'text', the one that holds the texts"
        raise InputError(f"{where}: {needed}; found: {there}.")
    return [name for name in names if name in TEXT_COLUMNS]


LARGEST_TEXTS = 1 << 31
"""Characters that texts which are read together may have; a file of 1 KB may unpack to
more than a machine's memory."""


def texts_of_rows(
    given: Iterable[LocatedRow], source: str, prefix: str = ""
) -> list[Text]:
    """Return rows, each with its place, as checked texts; without a column `id` a
    text_id is the number and a prefix.

    Raises `InputError` at the first bad row, or if `source` has none.
    """
    texts: dict[str, Text] = {}
    columns: set[str] = set()
    characters = 0
    for number, (where, row) in enumerate(given, start=1):
        if not columns.issuperset(row) or not {*_TEXT} & row.keys():
            is_csv = source.lower().endswith(".csv")
            columns_of_texts(
                f"{source}, header" if is_csv and not columns else where, list(row)
            )
            columns.update(row)
        known: Row = {"id": f"{prefix}{number:06d}", "label": None} | checked_row(
            where, row, TextColumns
        )
        text = known.pop("input", None) or known.pop("text")
        text_id = known.pop("id")
        characters += len(text)
        if characters > LARGEST_TEXTS:
            raise InputError(
                f"{where}: the texts until here have more than {LARGEST_TEXTS:,} "
                f"characters; divide {source}."
            )
        if text_id in texts:
            before = f"the id '{text_id}' was given before, at {texts[text_id].where}"
            raise InputError(f"{where}: {before}; ids must be unique.")
        texts[text_id] = Text(text_id, text, **known, where=where)
    if not texts:
        raise InputError(f"{source} holds no rows; it needs at least one text.")
    return list(texts.values())


def tell_left_out(source: str, places: Sequence[str], count: int) -> None:
    """Say on the terminal how many of `count` rows have no words and take no part, with
    the places of the first."""
    if places:
        tell(
            "%s: %d of %d rows have no words: left out (%s)",
            source,
            len(places),
            count,
            first_names(places),
        )


_NAMES = ("text_id", "subset", "document", "matched", "title", "author")


def in_one_form(text: Text) -> Text:
    """Return a text with its names in their one form, whichever loader gave it."""
    forms = {key: one_form(getattr(text, key)) for key in _NAMES}
    changed = {key: name for key, name in forms.items() if name != getattr(text, key)}
    return replace(text, **changed) if changed else text  # type: ignore[arg-type]


def number_passages(given: Iterable[Text]) -> list[Text]:
    """Return the texts as passages: `passage` counts the texts of one document and
    length, in their order."""
    numbers: Counter[tuple[str, int | None]] = Counter()
    passages = []
    for text in given:
        key = text.document, text.length
        passages.append(replace(text, passage=numbers[key]))
        numbers[key] += 1
    return passages


def check_classes(texts: Iterable[Text], source: str) -> None:
    """Raise `InputError` unless there are members and non-members, which metrics and
    shots need."""
    counts = Counter(text.label for text in texts)
    if not (counts[0] and counts[1]):
        raise InputError(
            f"{source}: metrics and shots need members (label 1) and non-members "
            f"(label 0), but it has {counts[1]} members, {counts[0]} non-members and "
            f"{counts[None]} unlabelled texts. Add the missing class, or, to audit "
            "texts without a label, name artifacts: [audit] in the study "
            "(docs/audit.md)."
        )


MOST_LENGTHS = 5
"""More lengths than a benchmark has by design, where slices lack a class."""


def check_slices(texts: Sequence[Text], source: str) -> None:
    """Refuse a column `length` that cuts texts of both classes into slices too small to
    evaluate.

    Each text's number of characters does so.
    """
    classes: dict[Slice, set[int]] = defaultdict(set)
    labels = set()
    for text in texts:
        if text.label is not None:
            classes[text.slice].add(text.label)
            labels.add(text.label)
    if len(labels) < 2:
        return
    lengths = {part.length for part in classes} - {None}
    lacking = sum(len(own) < 2 for own in classes.values())
    if len(lengths) > MOST_LENGTHS and lacking > len(classes) / 4:
        raise InputError(
            f"{source}: the column length has {len(lengths)} values for {len(texts)} "
            f"texts, and {lacking} of {len(classes)} slices (texts of one length and "
            "subset) have one class alone. Is it each text's number of characters, "
            "words or tokens? Leave the column out, or give texts that are compared "
            "the same length."
        )
