"""Named files of downloaded archives as texts: a file of a wheel, such as a package's
licence, is one text."""

import re
import zipfile
from itertools import islice
from pathlib import Path
from typing import Annotated, Literal

from pydantic import Field

from pretrace.benchmarks.packages import reading_archive
from pretrace.benchmarks.sources import BenchmarkEntry, Text, loader
from pretrace.runtime.errors import InputError, require_name
from pretrace.runtime.schema import Count, Keys, Maybe, Some


class ArchivedText(Keys):
    """A file of an archive."""

    download: str
    """A slug of `downloads.yaml`, a wheel or zip archive."""
    file: Some[str]
    """The file's path in the archive. It is UTF-8 text."""
    document: Some[str]
    """The text's name."""
    label: Literal[0, 1] | None = None
    """1 member, 0 non-member, null unknown (default, null)."""
    words: Maybe[Count] = None
    """Only this many words from the beginning (default, all)."""


class Archives(BenchmarkEntry):
    """Files of downloaded archives."""

    files: Annotated[list[ArchivedText], Field(min_length=1)]
    """The texts, each with `download` (a slug of `downloads.yaml`, a wheel or zip
    archive), `file` (its path in the archive, UTF-8), `document` (its name) and
    optionally `label` (1, 0 or null) and `words` (the number of words to take from its
    beginning)."""


@loader("archives")
def load(entry: Archives, sources: list[Path], seed: int) -> list[Text]:
    """Return a text for each of the entry's `files`; `sources` are their archives, in
    the order of their first names.

    Raises `InputError` for a file that an archive does not have, or that is not UTF-8.
    """
    names = dict.fromkeys(file.download for file in entry.files)
    archives = dict(zip(names, sources, strict=True))
    texts = []
    for file in entry.files:
        text = _text(archives[file.download], file)
        texts.append(Text(file.document, text, file.label, document=file.document))
    return texts


def _text(archive: Path, file: ArchivedText) -> str:
    """Read the file's words from its beginning, with the white space between them."""
    with (
        reading_archive(archive, "a wheel or zip archive"),
        zipfile.ZipFile(archive) as opened,
    ):
        require_name(
            file.file,
            opened.namelist(),
            f"files: {archive.name} has no file {file.file!r}",
        )
        content = opened.read(file.file)
    try:
        text = content.decode("utf-8")
    except UnicodeDecodeError as error:
        raise InputError(
            f"files: {file.file} of {archive.name} is not UTF-8 text ({error})."
        ) from error
    ends = [word.end() for word in islice(re.finditer(r"\S+", text), file.words)]
    return text[: ends[-1]] if ends else ""
