"""BookMIA as it is on the hub: `book_data.jsonl` with `book_id`, `snippet_id`, `snippet` and `label`.

Shi et al., Detecting Pretraining Data from Large Language Models, ICLR 2024. Snippets of 512 words, 100 books.
"""

import unicodedata
from collections import Counter
from pathlib import Path

from pretrace.benchmarks.rows import rows, single_file
from pretrace.benchmarks.sources import FromHub, Text, loader
from pretrace.runtime.errors import InputError
from pretrace.runtime.logs import log

_NEEDED = ("snippet", "label", "book_id")


@loader("bookmia", entry=FromHub)
def load(entry: FromHub, sources: list[Path], seed: int) -> list[Text]:
    """The snippets, in the file's order, without the control characters that some hold; a book is a document."""
    path = single_file(sources[0], (".jsonl", ".parquet"), "book_data")
    length = entry.lengths[0] if entry.lengths else None
    numbers: Counter[str] = Counter()
    found, stripped = [], 0
    for where, row in rows(path):
        if lacking := [name for name in _NEEDED if row.get(name) is None]:
            raise InputError(f"{where}: there is no {lacking[0]!r}; found: {', '.join(map(str, row))}.")
        if row["label"] not in (0, 1):
            raise InputError(f"{where}: label is {row['label']!r}; it must be 1 (member) or 0 (non-member).")
        text, book = printable(row["snippet"]), str(row["book_id"])
        stripped += text != row["snippet"]
        found.append(Text(f"{book}-{numbers[book]:04d}", text, row["label"], length=length, document=book))
        numbers[book] += 1
    log.info("%s: control characters taken out of %d of %d snippets", path, stripped, len(found))
    return found


def printable(text: str) -> str:
    """The text without control characters (Unicode class Cc) other than tab and line ends."""
    return "".join(
        character for character in text if character in "\t\n\r" or unicodedata.category(character) != "Cc"
    )
