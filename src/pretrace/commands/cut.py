"""Cut documents into passages of one length, as JSON lines for an audit.

pretrace cut --words 64 --most 20 --label none books/ > texts.jsonl
pretrace cut --words 64 --most 20 --label 0 drafts/ >> texts.jsonl

A document in a folder is a work, and so is a folder in it, whose documents are the
parts of one. A passage has the work's own characters, line breaks too. Languages
without spaces are cut with --characters.
"""

import argparse
import json
import sys
from collections.abc import Sequence
from pathlib import Path

from pretrace.benchmarks.cut_documents import Document, cut_documents, documents
from pretrace.commands.numbers import count
from pretrace.documents.formats import DOCUMENT_FORMATS, not_read
from pretrace.documents.layout import without_lines
from pretrace.documents.typesetting import ALL_KINDS, write_alike
from pretrace.runtime.errors import InputError, first_names


def main(arguments: Sequence[str]) -> None:
    """Print the passages as JSON lines, and on stderr how many there are and what was
    left out."""
    parser = argparse.ArgumentParser(
        prog="pretrace cut",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    length = parser.add_mutually_exclusive_group(required=True)
    length.add_argument("--words", type=count, help="length of a passage, in words")
    length.add_argument(
        "--characters",
        type=count,
        help="length of a passage, in characters without white space",
    )
    parser.add_argument(
        "--most",
        type=count,
        help="passages of a document at most, evenly spread, without its first and "
        "last tenth (default, all)",
    )
    parser.add_argument(
        "--label",
        choices=["none", "0", "1"],
        required=True,
        help="none: texts in question; 0: texts that the model cannot have read; 1: "
        "as none, in a "
        "file that has no text without a label",
    )
    parser.add_argument(
        "--document",
        action="store_true",
        help="each FOLDER is one work, whose documents are its parts",
    )
    parser.add_argument(
        "--alike",
        action="store_true",
        help="write quotes, dashes, dots and blanks as people type them, and each "
        "passage in one line",
    )
    parser.add_argument(
        "files",
        type=Path,
        nargs="+",
        metavar="FILE",
        help=f"documents ({DOCUMENT_FORMATS}), folders with them, or JSONL, CSV, TSV "
        f"or Parquet files with a document "
        "in each row (columns text, document)",
    )
    options = parser.parse_args(arguments)
    label = None if options.label == "none" else int(options.label)
    unit = "words" if options.words else "characters"
    size = options.words or options.characters
    try:
        works, left_out = documents(options.files, whole=options.document)
        if options.alike:
            works = map(_written_alike, works)
        rows, short = cut_documents(works, size, label, options.most, unit)
    except InputError as error:
        sys.exit(f"error: {error}")
    for row in rows:
        print(json.dumps(row))
    texts = len({row["document"] for row in rows})
    what = "document" if texts == 1 else "documents"
    print(f"{len(rows)} passages of {size} {unit} from {texts} {what}", file=sys.stderr)
    for line in not_read(map(str, left_out)):
        print(f"left out of folders: {line}", file=sys.stderr)
    if short:
        which = "documents are shorter and have"
        if len(short) == 1:
            which = "document is shorter and has"
        print(f"{len(short)} {which} no passage: {first_names(short)}", file=sys.stderr)


def _written_alike(document: Document) -> Document:
    """Return a document in one line, its quotes and dashes as people type them."""
    text = write_alike(without_lines(document.text), ALL_KINDS)
    return document._replace(text=text)
