"""The standard table of a benchmark: one row a text, with its label and fold."""

from collections import Counter, defaultdict
from collections.abc import Mapping
from typing import Any

import pandas as pd
import pyarrow as pa

from pretrace.benchmarks.folds import assign_folds
from pretrace.benchmarks.sources import Text
from pretrace.benchmarks.texts import check_slices, in_one_form
from pretrace.runtime.errors import InputError
from pretrace.runtime.logs import log

TEXT_SCHEMA = pa.schema({
    "text_id": pa.string(), "text": pa.string(), "label": pa.int64(),
    "subset": pa.string(), "length": pa.int64(),
    "document": pa.string(), "fold": pa.int64(),
})  # fmt: skip

QUESTION_COLUMNS = (
    ("title", pa.string()),
    ("author", pa.string()),
    ("passage", pa.int64()),
)
"""Further columns of a benchmark of questions; `passage` numbers a document's passages
of one length."""


DOSE_COLUMN = ("repetitions", pa.int64())
"""How often a text occurs in the training stream, for a benchmark with repeated
members."""


def schema_of(table: pd.DataFrame) -> pa.Schema:
    """Return `TEXT_SCHEMA`, and the further columns that the table has."""
    further = []
    for column in (*QUESTION_COLUMNS, DOSE_COLUMN):
        if column[0] in table:
            further.append(column)
    return pa.schema([*TEXT_SCHEMA, *further])


def finish(texts: list[Text], *, name: str, seed: int) -> pd.DataFrame:
    """Return the texts of any source as a table with folds, sorted by subset, length
    and text_id.

    Columns as in `TEXT_SCHEMA`: `label` (1, 0, missing) and `length` (words, or
    missing) are `Int64`, `fold` (0..4) is int64. Texts that are passages have the
    columns of questions too, others `title` and `author` if any has one, and there is
    `repetitions` if members are repeated in training. Names are in their one form
    (`columns.one_form`). Raises `InputError` if there is no text, if one is empty, if
    two have one text_id, or if lengths leave nothing to compare.
    """
    texts = [in_one_form(text) for text in texts]
    _check(texts, name)
    check_slices(texts, f"benchmark {name}")
    folds = assign_folds(texts, seed)
    _log_counts(texts, folds.unit, name)
    further = _further_columns(texts)
    columns: dict[str, list[Any]] = {"fold": folds.numbers}
    for column in (*TEXT_SCHEMA.names, *further):
        if column != "fold":
            columns[column] = [getattr(text, column) for text in texts]
    frame = pd.DataFrame(columns)[[*TEXT_SCHEMA.names, *further]]
    kinds = {"fold": "int64"}
    for column in ("label", "length", "passage"):
        if column in frame:
            kinds[column] = "Int64"
    return frame.astype(kinds).sort_values(
        ["subset", "length", "text_id"], ignore_index=True
    )


def _further_columns(texts: list[Text]) -> list[str]:
    """Return the columns beyond `TEXT_SCHEMA` that the texts have."""
    further = []
    if any(text.passage is not None for text in texts):
        further += [column for column, _ in QUESTION_COLUMNS]
    elif any(text.title or text.author for text in texts):
        further += ["title", "author"]
    if any(text.repetitions > 1 for text in texts):
        further.append(DOSE_COLUMN[0])
    return further


def warn_of_counts(texts: list[Text], expected: Mapping[str, int], name: str) -> None:
    """Warn of each published number of rows (by length, subset, subset/length, or all)
    that is not met."""
    counts = Counter[str]()
    for text in texts:
        keys = {"all", str(text.length), text.subset, f"{text.subset}/{text.length}"}
        counts.update(keys - {"", "None"})
    for key, count in expected.items():
        if surplus := counts[key] - count:
            told = (counts[key], key, count, surplus)
            log.warning("%s: %d texts of %s, where %d are published: %+d", name, *told)


def _check(texts: list[Text], name: str) -> None:
    if not texts:
        raise InputError(f"benchmark {name} has no texts.")
    text_id, count = Counter(text.text_id for text in texts).most_common(1)[0]
    if count > 1:
        given = f"the id '{text_id}' is given to {count} texts"
        raise InputError(f"benchmark {name}: {given}; ids must be unique.")
    for text in texts:
        if not text.text.strip():
            raise InputError(f"benchmark {name}: the text '{text.text_id}' is empty.")
        if text.label not in (0, 1, None):
            raise InputError(
                f"benchmark {name}: '{text.text_id}' has label {text.label!r}, not 0, "
                "1 or null."
            )


def _log_counts(texts: list[Text], unit: str, name: str) -> None:
    labels = Counter(text.label for text in texts)
    log.info(
        "%s: %d texts: %d members, %d non-members, %d unlabelled; folds by %s",
        name, len(texts), labels[1], labels[0], labels[None], unit,
    )  # fmt: skip
    labels_of: dict[str, set[int | None]] = defaultdict(set)
    for text in texts:
        labels_of[text.text].add(text.label)
    if repeated := len(texts) - len(labels_of):
        log.info(
            "%s: %d texts equal an earlier one; equal texts share a fold",
            name,
            repeated,
        )
    if contradictory := sum({0, 1} <= own for own in labels_of.values()):
        log.warning(
            "%s: %d texts are labelled both member and non-member; all are kept",
            name,
            contradictory,
        )
