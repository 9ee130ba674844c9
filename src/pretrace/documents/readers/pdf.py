"""Read the text of a PDF without what print adds: line ends, headers, page numbers,
notes."""

import logging
import re
import unicodedata
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from io import BytesIO
from itertools import pairwise
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
    is_blank: bool = True

    @property
    def text(self) -> str:
        return "".join(piece.text for piece in self.pieces)

    @property
    def size(self) -> float:
        """The size of the largest letters."""
        sizes = [piece.size for piece in self.pieces if piece.text.strip()]
        return max(sizes, default=0.0)


def read_pdf(data: bytes, path: Path) -> LaidOutText:
    from pypdf import PdfReader
    from pypdf.errors import DependencyError

    # else one line for each page, of 1,000 letters
    logging.getLogger("pypdf").setLevel(logging.CRITICAL)
    try:
        file = PdfReader(BytesIO(data))
    except NotImplementedError as error:  # another handler than the one of the format
        raise InputError(
            f"{path}: the PDF is encrypted (DRM); take a copy without protection."
        ) from error
    try:
        is_locked = file.is_encrypted and not file.decrypt("")
    except DependencyError as error:
        raise ModuleNotFoundError(name="cryptography") from error
    if is_locked:
        raise InputError(
            f"{path}: the PDF is encrypted; save a copy without a password."
        )
    strings = sum(_strings_of(page, path) for page in file.pages)
    limits.check_pieces(strings, "strings", path)
    pages = []
    characters = 0
    for own in file.pages:
        pages.append(_lines_of(own))
        characters += sum(len(line.text) for line in pages[-1])
        if characters > limits.LARGEST_DOCUMENT:
            raise limits.document_too_large(path)
    words, empty = _check_not_scanned(pages, path)
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
    reading.title = _text_about(file, "/Title")
    reading.author = _text_about(file, "/Author")
    reading.removed["pages without text"] = empty
    reading.left_out[NOTES] = words - words_of_texts
    return reading


def _words_of(page: Sequence[_Line]) -> int:
    return sum(count_words(line.text) for line in page)


def _check_not_scanned(pages: Sequence[Sequence[_Line]], path: Path) -> tuple[int, int]:
    """Return the number of words, and of pages without text; raises if the file is
    probably scanned."""
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


def _strings_of(page: Any, path: Path) -> int:
    """Return about how many strings the streams of a page have. Raises `InputError` if
    it has too many."""
    streams = [page.get_contents()]
    holders = [page]
    seen: set[int] = set()
    while holders:
        forms = _dictionary(_dictionary(holders.pop(), "/Resources"), "/XObject")
        for name in forms:
            form = forms[name]
            is_form = isinstance(form, Mapping) and form.get("/Subtype") == "/Form"
            if is_form and id(form) not in seen:
                seen.add(id(form))
                streams.append(form)
                holders.append(form)
    strings = 0
    for stream in streams:
        data = b"" if stream is None else stream.get_data()
        strings += data.count(b"(") + data.count(b"<")
    if strings > limits.MOST_STRINGS_OF_A_PAGE:
        raise InputError(
            f"{path}: page {page.page_number + 1} of the PDF has more than "
            f"{limits.MOST_STRINGS_OF_A_PAGE:,} strings; print it anew, or save it as "
            "plain text."
        )
    return strings


def _dictionary(holder: Any, key: str) -> Mapping[str, Any]:
    """Return a dictionary in an object of a PDF, an empty one without."""
    value = holder[key] if isinstance(holder, Mapping) and key in holder else None
    return value if isinstance(value, Mapping) else {}


def _lines_of(page: Any) -> list[_Line]:
    """Return the lines of a page with the sizes and places of what is in them."""
    lines = [_Line()]

    def add(
        text: str,
        outer: Sequence[float],
        inner: Sequence[float],
        font: Any,
        size: float,
    ) -> None:
        scale = abs(inner[3] or inner[1] or 1) * abs(outer[3] or outer[1] or 1)
        first, *others = text.split("\n")
        for number, string in enumerate([first, *others]):
            if number:
                lines.append(_Line())
            if lines[-1].is_blank and string.strip():
                lines[-1].left, lines[-1].height = inner[4], inner[5]
                lines[-1].is_blank = False
            if string:
                piece = _Piece(string, round(size * scale, 1), inner[5])
                lines[-1].pieces.append(piece)

    page.extract_text(visitor_text=add)
    return lines


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


def _text_about(file: Any, key: str) -> str:
    """Return a text of a PDF's metadata, "" without one: some programs write null, a
    number or an array there."""
    from pypdf.generic import ByteStringObject, DictionaryObject, TextStringObject

    value: Any = file.trailer
    for name in ("/Info", key):
        if not isinstance(value, DictionaryObject) or name not in value:
            return ""
        value = value[name]
    return str(value) if isinstance(value, TextStringObject | ByteStringObject) else ""
