"""Cut documents into passages of one length, for audits."""

from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any

from pretrace.benchmarks.languages import language_of, spans, unit_of
from pretrace.benchmarks.rows import PLAIN, format_of, lines, rows, stem_of
from pretrace.runtime.errors import InputError

Document = tuple[str, str]
"""A document's name and its text."""


def passages(text: str, size: int, most: int | None = None, unit: str = "words") -> list[tuple[int, str]]:
    """Return (number of its first word, passage) of each passage of `size` words, or characters.

    A passage has the text's own characters from the first word to the last, line breaks and indentation too. The text
    is cut from its beginning into passages that follow each other; a rest that is shorter is left out. With `most`, at
    most this many of them are taken, the middle one of each of `most` equal parts of the text.
    """
    places = spans(text, unit)
    count = len(places) // size
    taken = count if most is None else min(most, count)
    starts = [(2 * part + 1) * count // (2 * taken) * size for part in range(taken)]
    return [(start, text[places[start][0] : places[start + size - 1][1]]) for start in starts]


def files_in(paths: Sequence[Path]) -> tuple[list[tuple[str, Path]], list[str]]:
    """Return the files to read, each with a name, and what is left out of folders.

    Of a folder and the folders in it, text files (.txt, in any case) are read, in the order of their names. A file is
    named by its path in the folder, without its ending. Hidden files and other formats are left out.
    """
    files: list[tuple[str, Path]] = []
    left_out: list[str] = []
    for path in paths:
        if not path.is_dir():
            files.append((stem_of(path), path))
            continue
        inside = [file for file in sorted(path.rglob("*")) if file.is_file()]
        names = {file: file.relative_to(path) for file in inside}
        texts = [
            file for file, name in names.items()
            if format_of(file.name) == PLAIN and not any(part.startswith(".") for part in name.parts)
        ]  # fmt: skip
        if not texts:
            others = f"; it has {first_names([str(name) for name in names.values()])}" if names else ""
            raise InputError(
                f"{path}: the folder has no .txt file{others}; give files or a folder with .txt files."
            )
        files += [((names[file].parent / stem_of(file)).as_posix(), file) for file in texts]
        left_out += [str(path / name) for file, name in names.items() if file not in texts]
    return files, left_out


def documents(files: Sequence[tuple[str, Path]]) -> Iterator[Document]:
    """Yield the documents of files, each with its name.

    A text file is a document with the file's name. A row of another file is one, named by its column `document` or
    `id`, else by its place; its text is in `text` or `input`. Raises `InputError` at a file that is missing, empty or
    not UTF-8, and at two documents of one name.
    """
    seen: dict[str, str] = {}
    for file_name, path in files:
        for where, name, text in _of_file(file_name, path):
            if not text.strip():
                raise InputError(f"{where}: the document has no words; fill it, or leave it out.")
            if name in seen:
                raise InputError(
                    f"{where}: the document '{name}' was given before, at {seen[name]}; rename one of the two."
                )
            seen[name] = where
            yield name, text


def _of_file(file_name: str, path: Path) -> Iterator[tuple[str, str, str]]:
    """Yield (where, name, text) of each document of a file."""
    if format_of(path.name) == PLAIN and path.is_file():
        yield str(path), file_name, "".join(lines(path))
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
    given: Iterable[Document], size: int, label: int | None, most: int | None = None, unit: str = "words"
) -> tuple[list[dict[str, Any]], list[str]]:
    """Return passages of documents as rows of a `local` benchmark, and the names of documents shorter than a passage.

    A row's id is the document's name and the number of its first word, or character. Raises `InputError` if every
    document is shorter, or if words are asked for of a document that is written without spaces.
    """
    cut: list[dict[str, Any]] = []
    short: list[str] = []
    for name, text in given:
        if unit == "words" and unit_of(language := language_of(text)) != unit:
            raise InputError(
                f"{name}: the document has no spaces between words (language {language}), so its words cannot be "
                f"counted; give --characters {2 * size} in place of --words {size}."
            )
        own = passages(text, size, most, unit)
        if not own:
            short.append(f"{name} ({len(spans(text, unit))} {unit})")
        cut += [
            {"id": f"{name}-{start:06d}", "text": passage, "label": label, "document": name, "length": size}
            for start, passage in own
        ]
    if not cut:
        which = "the document" if len(short) == 1 else f"each of the {len(short)} documents"
        raise InputError(
            f"{which} is shorter than a passage of {size} {unit}: {first_names(short)}. Give "
            f"a smaller --{unit}, or longer documents."
        )
    return cut, short


def first_names(names: Sequence[str]) -> str:
    """Return the first five names, and how many more there are."""
    more = len(names) - 5
    return ", ".join(names[:5]) + (f" and {more} more" if more > 0 else "")
