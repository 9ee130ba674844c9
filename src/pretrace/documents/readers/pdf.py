"""Read the text of a PDF without what print adds: line ends, headers, page numbers,
notes."""

import json
import re
import subprocess
import sys
import unicodedata
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from importlib.util import find_spec
from itertools import chain, pairwise
from pathlib import Path
from statistics import median
from typing import Any, NamedTuple

from pretrace.documents.layout import (
    PAGE_NUMBER,
    PAGES_REPEATED,
    LaidOutText,
    count_words,
    without_page_edges,
)
from pretrace.documents.readers import limits
from pretrace.documents.readers.notes import NOTE_MARK, NOTES
from pretrace.runtime.errors import InputError

FEWEST_WORDS_OF_A_PAGE = 10  # a PDF with fewer on average is a scan
MOST_LETTERS = 15  # of a word, on average: five in English, seven in Finnish
RAISED = 0.8  # size of a note's number, in sizes of the text, at most
LOWERED = 0.05  # depth of an index below the line, in sizes of the text, at least
SMALL = 0.95  # size of a note, at most
GAP = 1.2  # distance of lines, in usual ones, from which on a paragraph begins
# sizes of a letter by which the first line of a paragraph is indented
INDENT, MOST_INDENT = 0.7, 6


class _Piece(NamedTuple):
    """A piece of a line, with the size and the height of its letters, in points."""

    text: str
    size: float
    height: float


@dataclass
class _Line:
    """A line of a page, and where its first piece is, in points."""

    pieces: list[_Piece] = field(default_factory=list)
    left: float = 0.0
    height: float = 0.0

    @property
    def text(self) -> str:
        return "".join(piece.text for piece in self.pieces)

    @property
    def size(self) -> float:
        """The size of the largest letters."""
        sizes = [piece.size for piece in self.pieces if piece.text.strip()]
        return max(sizes, default=0.0)


def read_pdf(data: bytes, path: Path) -> LaidOutText:
    file = _letters_of(data, path)
    pages = []
    for page in file["pages"]:
        pages.append([_line(pieces) for pieces in page])
    words, empty = _check_has_words(pages, path)
    size = _usual_size(pages)
    texts = []
    words_of_texts = 0
    for page in pages:
        kept = _without_notes(page, size)
        words_of_texts += _words_of(kept)
        texts.append(_with_paragraphs(kept))
    reading = without_page_edges([text for text in texts if text.strip()])
    reading.text = re.sub(
        "[\ufb00-\ufb06]",
        lambda ligature: unicodedata.normalize("NFKC", ligature[0]),
        reading.text,
    )
    reading.encoding = "PDF"
    reading.title, reading.author = file["title"], file["author"]
    reading.removed["pages without text"] = empty
    reading.left_out[NOTES] = words - words_of_texts
    return reading


def _letters_of(data: bytes, path: Path) -> dict[str, Any]:
    """Return the letters of a PDF as `pdf_letters` writes them."""
    if find_spec("pypdfium2") is None:
        raise ModuleNotFoundError(name="pypdfium2")
    # PDFium mends the end of a file, and may read half of one as a whole
    _, mark, after = data.rpartition(b"%%EOF")
    if b"%PDF-" in data[:1024] and (not mark or re.search(rb"\d obj\b", after)):
        raise InputError(
            f"{path} cannot be read as PDF: the file is cut off, because its end mark "
            "(%%EOF) is missing; take a whole copy."
        )
    program = Path(__file__).with_name("pdf_letters.py")
    most = (limits.LARGEST_DOCUMENT, limits.MEMORY_OF_A_PDF, limits.SECONDS_OF_A_PDF)
    # -P: else the files beside the program would hide those of Python
    command = [sys.executable, "-P", str(program), *map(str, most)]
    process = subprocess.run(command, input=data, capture_output=True)
    if process.returncode < 0 or b"MemoryError" in process.stderr:
        raise InputError(
            f"{path}: to read the PDF takes more than {most[1] >> 20:,} MB of memory or "
            f"{most[2]:,} seconds, or ends the program that reads it; print it anew, or "
            "save it as plain text."
        )
    if process.returncode:
        raise RuntimeError(process.stderr.decode(errors="replace").split("\n")[-2])
    file: dict[str, Any] = json.loads(process.stdout)
    if "pages" in file:
        return file
    remedy = _REMEDIES.get(file["error"])
    if remedy is None:
        raise ValueError(file["said"])
    raise InputError(f"{path}: the PDF is encrypted{remedy}.")


# by the errors of PDFium: a password is missing, or another handler than the standard's
_REMEDIES = {
    4: "; save a copy without a password",
    5: " (DRM); take a copy without protection",
}


def _line(pieces: Sequence[Sequence[Any]]) -> _Line:
    own = []
    for text, size, _, height in pieces:
        own.append(_Piece(text, size, height))
    _, _, left, height = pieces[0] if pieces else ("", 0.0, 0.0, 0.0)
    return _Line(own, float(left), float(height))


def _words_of(page: Sequence[_Line]) -> int:
    return sum(count_words(line.text) for line in page)


def _check_has_words(pages: Sequence[Sequence[_Line]], path: Path) -> tuple[int, int]:
    """Return the number of words, and of pages without text; raises if the file is
    probably scanned, or without spaces."""
    words = sum(map(_words_of, pages))
    empty = 0
    for page in pages:
        if not any(line.text.strip() for line in page):
            empty += 1
    if words < FEWEST_WORDS_OF_A_PAGE * len(pages):
        raise InputError(
            f"{path}: {empty} of {len(pages)} pages of the PDF have no text; it is "
            "probably scanned. Read its text first, as by: ocrmypdf IN.pdf OUT.pdf"
        )
    text = " ".join(line.text for line in chain.from_iterable(pages))
    # the second is of Tibetan, which has signs between its words
    most = max(words, len(re.findall(r"\w+", text)), 1)
    letters = sum(map(str.isalpha, text)) / most
    if letters > MOST_LETTERS:
        raise InputError(
            f"{path}: the text of the PDF has no spaces between words, {letters:.0f} "
            "letters a word; print it anew, or save it as plain text."
        )
    distinct = {_digitless(page) for page in pages}
    if len(pages) >= PAGES_REPEATED and len(distinct) == 1:
        raise InputError(
            f"{path}: all {len(pages)} pages of the PDF have the same text: it is "
            "probably scanned, with a watermark. Read its text first, as by: ocrmypdf "
            "--force-ocr IN.pdf OUT.pdf"
        )
    return words, empty


def _digitless(page: Sequence[_Line]) -> str:
    """Return the text of a page without its number."""
    return re.sub(r"\d+", "", "\n".join(line.text for line in page))


def _usual_size(pages: Sequence[Sequence[_Line]]) -> float:
    """Return the size of most letters."""
    letters: Counter[float] = Counter()
    for page in pages:
        for line in page:
            for piece in line.pieces:
                letters[piece.size] += len(piece.text)
    return letters.most_common(1)[0][0] if letters else 0.0


def _without_notes(page: Sequence[_Line], size: float) -> list[_Line]:
    """Return the lines of a page without raised numbers of notes, and without the notes
    at its foot."""
    kept = []
    numbers: list[str] = []
    for line in page:
        pieces: list[_Piece] = []
        for piece in line.pieces:
            text = piece.text.strip()
            is_small = piece.size <= RAISED * size
            is_lowered = piece.height < line.height - LOWERED * size
            is_mark = is_small and not is_lowered and NOTE_MARK.fullmatch(text)
            if is_mark and any(before.text.strip() for before in pieces):
                numbers.append(text)
            else:
                pieces.append(piece)
        kept.append(_Line(pieces, line.left, line.height))
    first = _first_of_notes(kept, numbers, size)
    left = kept[:first]
    for line in kept[first:]:
        if PAGE_NUMBER.fullmatch(line.text.strip()):
            left.append(line)
    return left


def _first_of_notes(page: Sequence[_Line], numbers: Sequence[str], size: float) -> int:
    """Return which line of a page is the first of its notes: they have its numbers, or
    are in smaller letters."""
    first = len(page)
    sought = list(numbers)
    for place in reversed(range(len(page))):
        line = page[place]
        is_small = line.size <= SMALL * size
        is_page_number = PAGE_NUMBER.fullmatch(line.text.strip())
        number = _number_of_note(line.text, sought)
        if number is not None:
            first = place
            sought = sought[:number]  # later ones are of endnotes, on other pages
        elif is_small and first > place and not is_page_number:
            first = place if _SMALL_NOTE.match(line.text) else first
        elif not (is_small or sought):
            break
    return first


_SMALL_NOTE = re.compile(
    r"\s*[\[(]?(?:\d{1,3}|[*\u2020\u2021\u00a7])[\])]?\.?\s*[^\W\d_]"
)


_HAS_WORDS = re.compile(r"\w")


def _number_of_note(line: str, numbers: Sequence[str]) -> int | None:
    """Return which is the last of the `numbers` of notes that a line begins with, and
    goes on with words."""
    text = line.lstrip()
    for place in reversed(range(len(numbers))):
        number = numbers[place]
        if text.startswith(number) and _HAS_WORDS.search(text, len(number)):
            return place
    return None


def _with_paragraphs(lines: Sequence[_Line]) -> str:
    """Return the text of a page with an empty line where a gap or an indent shows that
    a paragraph begins."""
    written = [line for line in lines if line.text.strip()]
    if not written:
        return ""
    gaps = []
    for first, second in pairwise(written):
        if first.height > second.height:
            gaps.append(first.height - second.height)
    usual = median(gaps) if gaps else 0.0
    left = Counter(round(line.left) for line in written).most_common(1)[0][0]
    texts: list[str] = []
    before: _Line | None = None
    for line in written:
        if before is not None:
            is_apart = usual > 0 and before.height - line.height > GAP * usual
            indent = line.left - left
            is_indented = INDENT * line.size < indent < MOST_INDENT * line.size
            was_indented = before.left - left > INDENT * before.size
            if is_apart or (is_indented and not was_indented):
                texts.append("")
        texts.append(line.text)
        before = line
    return "\n".join(texts)
