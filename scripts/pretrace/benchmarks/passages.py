"""Cut documents into passages of one length, for audits and corpus tests."""

from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any

from pretrace.benchmarks.rows import lines, rows
from pretrace.runtime.errors import InputError


def passages(text: str, words: int, most: int | None = None) -> list[tuple[int, str]]:
    """Return (number of its first word, passage) of each passage of `words` words, separated by white space.

    The text is cut from its beginning into passages that follow each other; a rest that is shorter is left out. With
    `most`, at most this many of them are taken, the middle one of each of `most` equal parts of the text.
    """
    units = text.split()
    count = len(units) // words
    taken = count if most is None else min(most, count)
    starts = [(2 * place + 1) * count // (2 * taken) * words for place in range(taken)]
    return [(start, " ".join(units[start : start + words])) for start in starts]


def documents(paths: Sequence[Path]) -> Iterator[tuple[str, str]]:
    """Yield (name, text) of each document of the files; of a folder, the .txt files in it by name.

    A .txt file is a document with the file's name. A row of a JSONL, CSV or Parquet file is one, named by its column
    `document` or `id`, else by its place; its text is in `text` or `input`. Raises `InputError` at a file that is
    missing, empty or not UTF-8, and at two documents of one name.
    """
    seen: dict[str, str] = {}
    for path in _files(paths):
        for where, name, text in _of_file(path):
            if not text.strip():
                raise InputError(f"{where}: the document has no words; fill it, or leave it out.")
            if name in seen:
                raise InputError(
                    f"{where}: the document '{name}' was given before, at {seen[name]}; rename one of the two."
                )
            seen[name] = where
            yield name, text


def _files(paths: Sequence[Path]) -> Iterator[Path]:
    for path in paths:
        if not path.is_dir():
            yield path
            continue
        inside = sorted(path.glob("*.txt"))
        if not inside:
            raise InputError(f"{path}: the folder has no .txt file; give files or a folder with .txt files.")
        yield from inside


def _of_file(path: Path) -> Iterator[tuple[str, str, str]]:
    """Yield (where, name, text) of each document of a file."""
    if path.name.lower().endswith(".txt") and path.is_file():
        yield str(path), path.stem, "".join(lines(path))
        return
    empty = True
    for where, row in rows(path):
        empty = False
        text = row.get("text", row.get("input"))
        if not isinstance(text, str):
            raise InputError(
                f"{where}: there is no text in a column 'text' or 'input'; give the document's text."
            )
        yield where, str(row.get("document") or row.get("id") or where), text
    if empty:
        raise InputError(f"{path} holds no rows; it needs at least one document.")


def cut_documents(
    given: Iterable[tuple[str, str]], words: int, label: int | None, most: int | None = None
) -> tuple[list[dict[str, Any]], list[str]]:
    """Return passages of documents as rows of a `local` benchmark, and the names of documents shorter than a passage.

    A row's id is the document's name and the number of its first word. Raises `InputError` if every document is
    shorter.
    """
    cut: list[dict[str, Any]] = []
    short: list[str] = []
    for name, text in given:
        own = passages(text, words, most)
        if not own:
            short.append(f"{name} ({len(text.split())} words)")
        cut += [
            {"id": f"{name}-{start:06d}", "text": passage, "label": label, "document": name, "length": words}
            for start, passage in own
        ]
    if not cut:
        which = "the document" if len(short) == 1 else f"each of the {len(short)} documents"
        raise InputError(
            f"{which} is shorter than a passage of {words} words: {first_names(short)}. Give "
            "a smaller --words, or longer documents; words are separated by white space."
        )
    return cut, short


def first_names(names: Sequence[str]) -> str:
    """Return the first five names, and how many more there are."""
    more = len(names) - 5
    return ", ".join(names[:5]) + (f" and {more} more" if more > 0 else "")
