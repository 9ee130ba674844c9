"""Take out of a text what print added: headers and numbers of pages, divided words,
wrapped lines, front matter."""

import math
import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Literal

from pretrace.documents.languages import SIGNS_OF_A_WORD, SPACELESS

# pages with the same line at an edge, digits aside, from which on it is a page header
PAGES_REPEATED = 3
# lines at the top and at the bottom of a page that may be headers and page numbers
EDGE_LINES = 3
# characters of a page header that no empty line sets apart from the text, at most
LONGEST_EDGE = 40
# share of lines that end with a hyphen from which on words are divided at line ends
DIVIDED = 0.02
# share of the line ends within sentences that come where the line is full, in a wrapped
# text
WRAPPED = 0.8
SHORTEST_FULL_LINE = 30  # characters of a full line, at least
# share of the lines of a PDF that end in the blank at which they were broken, at least
KEPT_BLANKS = 0.4
INNER = 0.2  # share of a wrapped text's line ends that are within sentences, at least
# words of a text from which on a copyright notice at its beginning is front matter, and
# not its subject
BOOK = 5000
FRONT = 0.1  # share of a text's beginning in which its front matter ends


@dataclass
class LaidOutText:
    """What was read: the text; its encoding; how many headers, numbers and hyphens were
    `removed`; the words that were `left_out`; title and author by the file's own
    metadata."""

    text: str
    encoding: str
    removed: Counter[str] = field(default_factory=Counter)
    left_out: Counter[str] = field(default_factory=Counter)
    title: str = ""
    author: str = ""


def count_words(text: str) -> int:
    """Return how many words a text has; two signs are one where a script has no
    spaces."""
    spaced, signs = SPACELESS.subn(" ", text)
    return len(spaced.split()) + math.ceil(signs / SIGNS_OF_A_WORD)


def without_page_edges(pages: list[str]) -> LaidOutText:
    """Join pages without the lines at their edges that are page numbers, or that
    several pages have."""
    removed: Counter[str] = Counter()
    lines = [page.split("\n") for page in pages]
    edges: Counter[str] = Counter()
    for page in lines:
        written = [_digitless(line) for line in page if line.strip()]
        edges.update({*written[:EDGE_LINES], *written[-EDGE_LINES:]})

    def kind_of_edge(page: list[str]) -> str:
        """Return what the last line is, "" if it is text."""
        line = page[-1].strip()
        if len(lines) > 1 and PAGE_NUMBER.fullmatch(line):
            return "page numbers"
        # a text that tells alike has such lines as well, but not apart from others
        is_apart = len(line) <= LONGEST_EDGE or not all(
            map(str.strip, page[-EDGE_LINES - 1 :])
        )
        is_repeated = edges[_digitless(line)] >= PAGES_REPEATED
        return "page headers" if line and is_repeated and is_apart else ""

    kept = []
    for page in lines:
        for _ in ("first lines", "last lines"):
            # lines are taken from the end, which takes the same time in long pages
            page.reverse()
            for _ in range(EDGE_LINES):
                while page and not page[-1].strip() and len(lines) > 1:
                    page.pop()
                kind = kind_of_edge(page) if page else ""
                if not kind:
                    break
                removed[kind] += 1
                page.pop()
        kept += page
    return LaidOutText("\n".join(kept), "", removed)


_ROMAN = r"(?=[ivxlc])c{0,3}(?:xc|xl|l?x{0,3})(?:ix|iv|v?i{0,3})"
PAGE_NUMBER = re.compile(
    rf"(?:page\s+|p\.\s*|[-\u2013\u2014\[(|]\s*)?(?:\d{{1,4}}|{_ROMAN})(?:\s*(?:/|of)\s*\d+)?"
    r"(?:\s*[-\u2013\u2014\])|])?",
    re.IGNORECASE,
)


def _digitless(line: str) -> str:
    return re.sub(r"\d+", "#", " ".join(line.split()))


def without_front_matter(reading: LaidOutText) -> LaidOutText:
    """Leave out the notices of Project Gutenberg, the copyright notice at a book's
    beginning, and its contents."""
    text, left_out = reading.text, Counter(reading.left_out)
    removed = Counter(reading.removed)
    text, removed_marks = _PAGE_MARK.subn("", text)
    removed["page numbers"] += removed_marks

    def leave(part: str, begin: int, end: int) -> None:
        nonlocal text
        left_out[part] += count_words(text[begin:end])
        text = f"{text[:begin].rstrip()}\n\n{text[end:].lstrip(chr(10))}".strip("\n")

    if end := _GUTENBERG_END.search(text):
        leave("back matter", end.start(), len(text))
    if start := _GUTENBERG_START.search(text):
        leave("front matter", 0, start.end())
    if notices := _repeated_notices(text):
        left_out["copyright notices"] += sum(map(count_words, notices))
        text = _NOTICE_LINE.sub(
            lambda line: "" if line[0] in notices else line[0], text
        )
        text = re.sub(r"\n{3,}", "\n\n", text).strip("\n")
    if end_of_notices := _end_of_notices(text):
        leave("front matter", 0, end_of_notices)
    if (heading := _CONTENTS.search(text, 0, len(text) // 4)) and (
        end_of_list := _end_of_contents(text, heading.end())
    ):
        leave("contents", heading.start(), end_of_list)
    return LaidOutText(text, reading.encoding, removed, left_out)


_MARK = r"[\[{](?:Pg|Page)\.? ?(?:\d{1,4}|[ivxlc]{1,7})[\]}]"
# with the blank, or the empty lines, after it, if it stands after such
_PAGE_MARK = re.compile(rf"(?<=[ \n]){_MARK}(?: |\n*)|{_MARK}")
_GUTENBERG = r"\*\*\* ?{} OF TH(?:E|IS) PROJECT GUTENBERG EBOOK"
# until 2003 the notice ended otherwise; who made the text is said after it
_GUTENBERG_START = re.compile(
    rf"(?:{_GUTENBERG.format('START')}.*?\*\*\*|\*END ?\*? ?THE SMALL PRINT!.{{0,200}}?\*END\*)"
    r"(?:\s*(?:(?:This )?E-?(?:text|book) (?:was )?)?(?:produced|prepared|transcribed) by"
    r"\b.*?\n[ \t]*\n)?",
    re.DOTALL | re.IGNORECASE,
)
_GUTENBERG_END = re.compile(
    rf"{_GUTENBERG.format('END')}|^[ \t]*(?:This is the )?End of (?:the |this )?Project Gutenberg",
    re.MULTILINE | re.IGNORECASE,
)
_NOTICE = re.compile(
    r"©|\bcopyright\b|\bISBN\b|all rights reserved|版[权權]所有|無断転載|저작권"
    r"|^(?:first )?(?:published|printed) (?:by|in)\b",
    re.I | re.M,
)
_NOTICE_LINE = re.compile(r"^.{0,120}(?:©|\bcopyright\b).{0,120}$", re.I | re.M)
# words before a notice, and between two, that are front matter with them
_BETWEEN_NOTICES = 300
_NOTICES_REPEATED = (
    # equal lines with a notice from which on each is the foot of a chapter, and none of
    # the text
    3
)


def _repeated_notices(text: str) -> list[str]:
    """Return the lines with a copyright notice that a text has again and again, each as
    often as it has it; notices of several years are one."""
    lines = _NOTICE_LINE.findall(text)
    counts = Counter(map(_digitless, lines))
    return [line for line in lines if counts[_digitless(line)] >= _NOTICES_REPEATED]


def _end_of_notices(text: str) -> int:
    """Return where the notices at the beginning of a book end with their paragraph, 0
    without one."""
    if count_words(text) < BOOK:
        return 0
    most = int(FRONT * len(text))
    end = 0
    for notice in _NOTICE.finditer(text, 0, most):
        if count_words(text[end : notice.start()]) > _BETWEEN_NOTICES:
            break
        end = notice.end()
    if not end:
        return 0
    for mark in ("\n\n", "\n"):
        place = text.find(mark, end, 2 * most)
        if place >= 0:
            return place
    return end


_CONTENTS = re.compile(
    r"^[ \t#*_]*(?:table of )?(?:contents|inhalt|inhaltsverzeichnis|sommaire|table des matières|índice|indice"
    r"|目[ \u3000]*[录錄次]|목차|차례)"
    r"[ \t:.*_]*$", re.I | re.M)  # fmt: skip
_ENTRY = re.compile(
    r"(?:.*[\s.…](?:\d{1,4}|[ivxlc]+)$)|(?:(?:chapter|part|book|kapitel|teil|chapitre|partie|capítulo|parte)\b.*)|(?:第.{1,6}[章回节節部卷編篇話].*)"
    r"|(?:(?:\d{1,3}|[ivxlc]+)[.:)]?(?:\s.*)?$)", re.I)  # fmt: skip
# words of an entry; entries
_LONGEST_ENTRY, _FEWEST_ENTRIES, _MOST_ENTRIES = 15, 3, 1000


def _end_of_contents(text: str, begin: int) -> int:
    """Return where the list ends that follows the heading of a table of contents, 0
    without a list.

    A line of it has a number, or comes again as a heading; where an entry comes again,
    the text begins.
    """
    lines = Counter(line.strip().casefold() for line in text[begin:].split("\n"))
    entries: list[str] = []
    end = place = begin
    for line in text[begin:].split("\n"):
        place += len(line) + 1
        # the dots before the number of a page
        entry = re.sub(r"(?:[.…] ?){2,}", " … ", line.strip().casefold())
        if not entry:
            continue
        if count_words(entry) > _LONGEST_ENTRY or len(entries) == _MOST_ENTRIES:
            break
        if not (_ENTRY.fullmatch(entry) or lines[entry] > 1):
            break
        if any(own.startswith(entry) for own in entries):
            break
        entries.append(entry)
        end = place
    return end if len(entries) >= _FEWEST_ENTRIES else 0


_DIVIDED = re.compile(
    r"(?<![^\W\d_])([^\W\d_]+)[-\u2010]\n[ \t]*([^\W\d_]+)(\S*)[ \t]*\n?"
)


def joined_hyphens(text: str) -> tuple[str, int]:
    """Join words that are divided at the end of a line, and return their number; the
    line ends after the word.

    The hyphen goes where the text has the whole word elsewhere. It stays in compounds:
    before a capital, after another hyphen, where the text has the word with it, or both
    parts as words, and where few lines end with one, as no words are divided then. Soft
    hyphens go.
    """
    text, soft = re.subn("\xad\n?", "", text)
    words = set(
        re.findall(r"[^\W\d_]+(?:-[^\W\d_]+)*", _DIVIDED.sub(" ", text).casefold())
    )
    few = len(_DIVIDED.findall(text)) < DIVIDED * text.count("\n")

    def whole(match: re.Match[str]) -> str:
        first, second, rest = match.groups()
        compound = (
            few
            or second[0].isupper()
            or text[match.start() - 1 : match.start()] == "-"
            or f"{first}-{second}".casefold() in words
            or {first.casefold(), second.casefold()} <= words
        )
        hyphen = "-" if compound and f"{first}{second}".casefold() not in words else ""
        return f"{first}{hyphen}{second}{rest}\n"

    text, hard = _DIVIDED.subn(whole, text)
    return text, hard + soft


def is_wrapped(text: str) -> bool:
    """Return whether lines end because they are full, as in print, and not where the
    author ended them.

    Where the next line begins with a small letter, lines of prose are full; lines of
    verse and of lists are not.
    """
    pairs = _line_pairs(text)
    inner = [pair for pair in pairs if pair[1][:1].islower()]
    width = _width(pairs)
    full = sum(_is_full(pair, width) for pair in inner)
    return (
        width >= SHORTEST_FULL_LINE
        and len(inner) >= INNER * len(pairs)
        and full >= WRAPPED * len(inner)
    )


LineEnds = Literal["print", "wrapped", "lines", "paragraphs"]
"""Where the lines of a text end: as on the pages of a PDF; where they were full; at the
end of each paragraph; there with an empty line after it."""


def line_ends_of(text: str) -> LineEnds:
    """Return where the lines of a text end that is of no PDF."""
    if is_wrapped(text):
        return "wrapped"
    empty = len(re.findall(r"\n{2,}", text))
    single = text.count("\n") - sum(map(len, re.findall(r"\n{2,}", text)))
    return "lines" if single > empty else "paragraphs"


_BETWEEN_SIGNS = re.compile(
    "(?<=[\u2e80-\u9fff\uf900-\ufaff\uff00-\uffef])\\s+(?=[\u2e80-\u9fff\uf900-\ufaff\uff00-\uffef])"
)


def without_lines(text: str) -> str:
    """Return a text in one line, with one blank wherever it has blanks or line ends;
    none between Chinese signs."""
    return re.sub(r"\s+", " ", _BETWEEN_SIGNS.sub("", text)).strip()


def _line_pairs(text: str) -> list[tuple[str, str]]:
    """Return each line of a paragraph with the next one."""
    return [(a, b) for a, b in pairwise(text.split("\n")) if a.strip() and b.strip()]


def _width(pairs: Sequence[tuple[str, str]]) -> float:
    """Return how many characters a full line has, about."""
    widths = sorted(len(first) for first, _ in pairs) or [0]
    # not the longest line: an unbroken word or a table may be longer than print; and
    # full lines are ragged
    return 0.9 * widths[int(0.9 * (len(widths) - 1))]


def _is_full(pair: tuple[str, str], width: float) -> bool:
    """Return whether the first word of the second line would not fit into the first."""
    return len(pair[0]) + 1 + len(next(iter(pair[1].split()), "")) > width


def unwrap_lines(text: str, paragraph: str = "\n") -> str:
    """Return a wrapped text with one line a paragraph, `paragraph` where a line that is
    not full ends; others as they are."""
    if not is_wrapped(text):
        return text
    lines = text.split("\n")
    width = _width(_line_pairs(text))
    parts = [lines[0]]
    for first, second in pairwise(lines):
        inner = first.strip() and second.strip()
        joined = " " if _is_full((first, second), width) else paragraph
        parts += [joined, second.lstrip()] if inner else ["\n", second]
    return re.sub(r"\n{3,}", "\n\n", "".join(parts))


_DASHES = ("\u2014", "\u2015", "\u2013", "-", "\u2010")


def unwrap_print(text: str) -> str:
    """Return the text of a PDF with one line a paragraph and empty lines between them.

    An empty line is where a gap or an indent shows that a paragraph begins. Most
    programs keep the blank at which they broke a line: then a line without one ends a
    paragraph, if it is not full. In other PDFs, and in verse, lines are full or not, as
    in print.
    """
    written = [line for line in text.split("\n") if line.strip()]
    if sum(line.endswith(" ") for line in written) < KEPT_BLANKS * len(written):
        return re.sub(r"[ \t]+(?=\n|$)", "", unwrap_lines(text, "\n\n"))
    widths = sorted(map(len, written)) or [0]
    full = 0.9 * widths[int(0.9 * (len(widths) - 1))]
    parts = []
    before = ""
    is_apart = False
    for line in text.split("\n"):
        if not line.strip():
            is_apart = bool(before)
            continue
        is_full = len(before) + len(line.split()[0]) > full
        is_at_dash = before.endswith(_DASHES) or line.lstrip().startswith(_DASHES[:2])
        if is_apart or not (before.endswith(" ") or is_full):
            parts.append("\n\n")
        elif not (before.endswith(" ") or is_at_dash):
            parts.append(" ")  # it did not fit into the line that it ends
        parts.append(line.lstrip())
        before = line
        is_apart = False
    return re.sub(r" +(?=\n|$)", "", "".join(parts)).strip("\n")
