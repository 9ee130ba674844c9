"""Write the letters of a PDF as JSON: from the standard input to the standard output.

This file runs as a process of its own, because memory and time of PDFium can be bounded
in no other way. It imports nothing of this package.
"""

import ctypes
import json
import math
import resource
import sys
from collections import defaultdict
from collections.abc import Iterator
from dataclasses import astuple, dataclass
from typing import Any, NamedTuple

import pypdfium2 as pdfium
import pypdfium2.raw as raw

# distance of two copies of a letter, in sizes of the letter, at most: bold print by
# drawing twice. Two narrow letters are further apart
SAME_PLACE = 0.1
# heights and places that two letters of a line are apart, in sizes of the larger one, at
# most; a wider gap than the last is a blank
RAISED, NEXT, BLANK = 0.6, 1.0, 0.15
# share of a page that pictures cover, at least, if it is a scan
SCANNED = 0.5
# the mode of text that is neither filled nor outlined, as OCR adds to a scan
INVISIBLE = 3
# what PDFium makes of a hyphen at the end of a line, whose end it leaves out
HYPHEN = "\x02"


def letters_of(data: bytes, most: int) -> dict[str, Any]:
    """Return title, author and pages of a PDF.

    A page is a list of lines, and a line a list of pieces: [text, size, place along the
    line, height], in points. Raises `MemoryError` at more than `most` letters.
    """
    document = pdfium.PdfDocument(data)
    pages = []
    count = 0
    for page in document:
        _hide_unseen(page)
        lines = _lines_of(page)
        pages.append([[astuple(piece) for piece in line] for line in lines])
        for line in lines:
            count += sum(len(piece.text) for piece in line)
        if count > most:
            raise MemoryError
        page.close()
    about = document.get_metadata_dict()
    return {"title": about["Title"], "author": about["Author"], "pages": pages}


def _hide_unseen(page: Any) -> None:
    """Take texts that nobody sees out of a page.

    Without texts of a layer that is off, or white ones on white, the page looks the
    same. Invisible text stays if it is all of a page, or most of a scan: it is of OCR.
    """
    groups = defaultdict(list)
    invisible = []
    for text in page.get_objects(filter=[raw.FPDF_PAGEOBJ_TEXT]):
        if raw.FPDFTextObj_GetTextRenderMode(text) == INVISIBLE:
            invisible.append(text)
            continue
        for group in _groups_of(text):
            groups[group].append(text)
    look = _look_of(page) if groups else b""
    for texts in groups.values():
        _show(texts, False)
        if _look_of(page) != look:
            _show(texts, True)
    if invisible:
        both = page.get_textpage().count_chars()
        _show(invisible, False)
        visible = page.get_textpage().count_chars()
        if not visible or (both > 2 * visible and _is_scan(page)):
            _show(invisible, True)


def _show(texts: list[Any], is_shown: bool) -> None:
    for text in texts:
        raw.FPDFPageObj_SetIsActive(text, is_shown)


def _groups_of(text: Any) -> Iterator[int]:
    """Yield the addresses of the layers and forms that a text is in, and 0 if it is
    white or transparent."""
    colors = [ctypes.c_uint() for _ in range(4)]
    raw.FPDFPageObj_GetFillColor(text, *colors)
    *parts, opacity = [color.value for color in colors]
    if min(parts) == 255 or not opacity:
        yield 0
    holder = text
    while holder is not None:
        for number in range(raw.FPDFPageObj_CountMarks(holder)):
            mark = raw.FPDFPageObj_GetMark(holder, number)
            name = (ctypes.c_ushort * 8)()
            raw.FPDFPageObjMark_GetName(mark, name, 16, ctypes.c_ulong())
            if bytes(name).decode("utf-16-le", "replace").startswith("OC\0"):
                yield ctypes.addressof(mark.contents)
        holder = holder.container
        if holder is not None:
            yield ctypes.addressof(holder.raw.contents)


def _look_of(page: Any) -> bytes:
    """Return the pixels of a page, one for two points."""
    return bytes(page.render(scale=0.5, grayscale=True, may_draw_forms=False).buffer)


def _is_scan(page: Any) -> bool:
    """Return whether pictures cover most of a page."""
    covered = 0.0
    for picture in page.get_objects(filter=[raw.FPDF_PAGEOBJ_IMAGE]):
        left, bottom, right, top = picture.get_bounds()
        covered += (right - left) * (top - bottom)
    width, height = page.get_size()
    return bool(covered > SCANNED * width * height)


class _Letter(NamedTuple):
    """A letter, its place along its line, its height and size, in points; its text
    object, its number, and what PDFium adds before it: a blank, or the end of a
    line."""

    sign: str
    place: float
    height: float
    size: float
    text: Any
    number: int
    added: str


def _letters_of(page: Any) -> Iterator[_Letter]:
    """Yield the letters of a page's text, but for copies at the same place."""
    matrix = raw.FS_MATRIX()
    x, y = ctypes.c_double(), ctypes.c_double()
    # letters, their sizes and places -> the text that they are of
    texts: dict[tuple[str, float, int, int], int] = {}
    text = 0
    added = ""
    for number in range(page.count_chars()):
        sign = chr(raw.FPDFText_GetUnicode(page, number))
        holder = raw.FPDFText_GetTextObject(page, number)
        if not holder:
            added += sign
            continue
        if ctypes.addressof(holder.contents) != text:
            text = ctypes.addressof(holder.contents)
            raw.FPDFText_GetMatrix(page, number, matrix)
            # the direction in which the text goes, which may be turned
            stretch = math.hypot(matrix.a, matrix.b) or 1.0
            right, up = matrix.a / stretch, matrix.b / stretch
            tall = abs(matrix.a * matrix.d - matrix.b * matrix.c) / stretch
            size = round(raw.FPDFText_GetFontSize(page, number) * tall, 1)
        raw.FPDFText_GetCharOrigin(page, number, x, y)
        place = right * x.value + up * y.value
        height = right * y.value - up * x.value
        step = SAME_PLACE * size or 1.0
        across, along = place / step, height / step
        same = texts.get((sign, size, round(across), round(along)), text)
        for column in (math.floor(across), math.ceil(across)):
            for row in (math.floor(along), math.ceil(along)):
                texts[sign, size, column, row] = text
        if same == text:
            yield _Letter(sign, place, height, size, holder, number, added)
        added = ""


@dataclass
class _Piece:
    """Letters of a line that have one size and one height; where they begin, as of a
    letter."""

    text: str
    size: float
    place: float
    height: float


def _lines_of(page: Any) -> list[list[_Piece]]:
    """Return the lines of a page."""
    lines: list[list[_Piece]] = [[]]
    hyphens = []
    before = _Letter("\n", 0.0, 0.0, 0.0, None, 0, "")
    text = page.get_textpage()
    for letter in _letters_of(text):
        added = letter.added
        if before.sign == HYPHEN:
            hyphens.append((lines[-1][-1], before.text))
            lines.append([])
        elif "\n" in added:
            gap = letter.place - before.place - _advance_of(text, before.number)
            if _is_raised(letter, before, gap):
                added = " " if gap > BLANK * max(letter.size, before.size) else ""
            else:
                lines.append([])
        _add_letter(lines[-1], letter, added)
        before = letter
    _add_blanks(page, hyphens)
    return lines


def _is_raised(letter: _Letter, before: _Letter, gap: float) -> bool:
    """Return whether a letter goes on in the line of the one before, from which a gap
    parts it: PDFium ends a line after a raised number, too."""
    size = max(letter.size, before.size)
    rise = abs(letter.height - before.height)
    return rise < RAISED * size and abs(gap) < NEXT * size


def _add_letter(line: list[_Piece], letter: _Letter, added: str) -> None:
    """Add a letter to its line, after what stands before it there."""
    string = letter.sign.replace(HYPHEN, "-")
    if not line:
        line.append(_Piece(string, letter.size, letter.place, letter.height))
        return
    last = line[-1]
    # a blank is one of the larger letters, because the number of a note may go
    if letter.size >= last.size:
        string = added + string
    else:
        last.text += added
    if last.size == letter.size and last.height == letter.height:
        last.text += string
    else:
        line.append(_Piece(string, letter.size, letter.place, letter.height))


def _add_blanks(page: Any, hyphens: list[tuple[_Piece, Any]]) -> None:
    """Add the blank after a hyphen, as in `pre- and post-war`, that PDFium leaves out
    at the end of a line; a text alone has it. The page has no text then."""
    _show([*page.get_objects(filter=[raw.FPDF_PAGEOBJ_TEXT])] if hyphens else [], False)
    for piece, text in hyphens:
        _show([text], True)
        if page.get_textpage().get_text_range().endswith(" "):
            piece.text += " "
        _show([text], False)


def _advance_of(page: Any, number: int) -> float:
    """Return how far after a letter the next one begins, in points."""
    box = raw.FS_RECTF()
    raw.FPDFText_GetLooseCharBox(page, number, box)
    return float(box.right - box.left)


def main() -> None:
    most, memory, seconds = map(int, sys.argv[1:])
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    resource.setrlimit(resource.RLIMIT_CPU, (seconds, seconds))
    if sys.platform == "linux":
        resource.setrlimit(resource.RLIMIT_AS, (memory, memory))
    try:
        told = letters_of(sys.stdin.buffer.read(), most)
    except pdfium.PdfiumError as error:
        told = {"error": error.err_code, "said": str(error)}
    json.dump(told, sys.stdout)


if __name__ == "__main__":
    main()
