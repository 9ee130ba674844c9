"""Read the text of a document as people have it: EPUB, DOCX, PDF, HTML, Markdown, or text in any encoding.

Files are untrusted: nothing is unpacked to the disk, what is unpacked in memory is bounded by `LARGEST`, XML is read
without entities, and what cannot be read is an `InputError` that names the file.
"""

import logging
import posixpath
import re
import unicodedata
import zipfile
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from io import BytesIO
from itertools import pairwise
from pathlib import Path
from typing import Any
from urllib.parse import unquote

from pretrace.benchmarks.rows import opened, unpacked_name
from pretrace.runtime.errors import InputError

LARGEST = 1 << 28
"""Bytes that a document, packed or unpacked, may have."""

FEWEST_WORDS_OF_A_PAGE = 10  # a PDF with fewer on average is a scan
PAGES_REPEATED = (
    3  # pages that have the same first or last line, digits aside, from which on it is a page header
)
EDGE = 3  # lines at the top and at the bottom of a page that may be headers and page numbers
DIVIDED = 0.02  # share of lines that end with a hyphen from which on words are divided at line ends
WRAPPED = 0.8  # share of the line ends within sentences that come where the line is full, in a wrapped text
NARROWEST = 30  # characters of a full line, at least
INNER = 0.2  # share of a wrapped text's line ends that are within sentences, at least
BOOK = 5000  # words of a text from which on a copyright notice at its beginning is front matter, and not its subject
FRONT = 0.1  # share of a text's beginning in which its front matter ends


@dataclass
class Reading:
    """What was read: the text; its encoding; how many headers, numbers and hyphens were `removed`; the words that were
    `left_out`."""

    text: str
    encoding: str
    removed: Counter[str] = field(default_factory=Counter)
    left_out: Counter[str] = field(default_factory=Counter)


def is_document(name: str) -> bool:
    """Tell whether a file of this name is read here."""
    return Path(unpacked_name(name)).suffix in _READERS


def read_document(path: Path) -> Reading:
    """Read a file. Raises `InputError` if it is damaged, encrypted, too large, or without text."""
    kind = Path(unpacked_name(path.name)).suffix
    try:
        with opened(path) as file:
            data = file.read(LARGEST + 1)
        if len(data) > LARGEST:
            raise _too_large(path)
        reading = _READERS[kind](data, path)
    except (InputError, MemoryError):
        raise
    except ModuleNotFoundError as error:
        raise InputError(
            f"{path}: to read {kind[1:].upper()} needs the module {error.name}; install the extra 'documents': pip "
            "install pypdf python-docx beautifulsoup4 charset-normalizer"
        ) from error
    except Exception as error:  # what a damaged file makes of a reader is not known before
        raise InputError(
            f"{path} cannot be read as {kind[1:].upper()} ({type(error).__name__}: {error!s:.100}). Is it whole? Open "
            "it, and save it again or as text (.txt)."
        ) from error
    text, hyphens = joined_hyphens(reading.text.replace("\0", "").encode(errors="ignore").decode())
    reading.text = (unwrapped(text, "\n\n") if kind == ".pdf" else text).strip("\n")
    reading.removed["hyphens at line ends"] = hyphens
    return reading


def _too_large(path: Path) -> InputError:
    return InputError(f"{path}: the document is larger than {LARGEST >> 20} MB, unpacked; divide it.")


def _count(text: str) -> int:
    return len(text.split())


# text


def _plain(data: bytes, path: Path) -> Reading:
    text, encoding = _decoded(data, path)
    reading = _without_page_edges(re.sub(r"\r\n?", "\n", text).split("\f"))
    reading.encoding = encoding
    return reading


def _markdown(data: bytes, path: Path) -> Reading:
    """Read Markdown as it is written, without a header of YAML."""
    reading = _plain(data, path)
    if header := re.match(r"---\n.*?\n(?:---|\.\.\.)\n", reading.text, re.DOTALL):
        reading.text = reading.text[header.end() :]
        reading.left_out["front matter"] = _count(header[0])
    return reading


_MARKS = {b"\xef\xbb\xbf": "UTF-8-SIG", b"\xff\xfe": "UTF-16", b"\xfe\xff": "UTF-16"}


def _decoded(data: bytes, path: Path) -> tuple[str, str]:
    """Return a text and its encoding: by its byte-order mark, UTF-8, or else the likeliest."""
    marked = next((name for mark, name in _MARKS.items() if data.startswith(mark)), "")
    if (
        not marked and b"\0" in data[:1000]
    ):  # UTF-16 without a mark: European letters leave every other byte empty
        marked = "UTF-16-LE" if data[1:1000:2].count(0) > data[:1000:2].count(0) else "UTF-16-BE"
    try:
        return data.decode(marked or "UTF-8"), (marked or "UTF-8").removesuffix("-SIG")
    except UnicodeDecodeError as error:
        if not marked:
            from charset_normalizer import from_bytes

            guesses = from_bytes(data)
            names = [name for guess in guesses for name in (guess.encoding, *guess.could_be_from_charset)]
            if (
                names
            ):  # Western texts look right in several encodings: this one is by far the commonest
                name = "cp1252" if "cp1252" in names else names[0]
                return data.decode(name), _shown(name)
        raise InputError(
            f"{path}: the file is not text in an encoding that can be told ({error.reason} at byte {error.start}); "
            "save it as UTF-8."
        ) from error


def _shown(encoding: str) -> str:
    return encoding.replace("cp125", "Windows-125").replace("utf_", "utf-").replace("utf", "UTF")


# pages


def _without_page_edges(pages: list[str]) -> Reading:
    """Join pages without the lines at their edges that are page numbers, or that several pages have."""
    removed: Counter[str] = Counter()
    lines = [page.split("\n") for page in pages]
    written = ([_digitless(line) for line in page if line.strip()] for page in lines)
    edges = Counter(line for page in written for line in {*page[:EDGE], *page[-EDGE:]})

    def is_edge(line: str) -> str:
        if len(lines) > 1 and _PAGE_NUMBER.fullmatch(line.strip()):
            return "page numbers"
        return "page headers" if edges[_digitless(line)] >= PAGES_REPEATED and line.strip() else ""

    for page in lines:
        for end in (0, -1):
            for _ in range(EDGE):
                while page and not page[end].strip() and len(lines) > 1:
                    page.pop(end)
                if not page or not (kind := is_edge(page[end])):
                    break
                removed[kind] += 1
                page.pop(end)
    return Reading("\n".join(line for page in lines for line in page), "", removed)


_ROMAN = r"(?=[ivxlc])c{0,3}(?:xc|xl|l?x{0,3})(?:ix|iv|v?i{0,3})"
_PAGE_NUMBER = re.compile(
    rf"(?:page\s+|p\.\s*|[-\u2013\u2014\[(|]\s*)?(?:\d{{1,4}}|{_ROMAN})(?:\s*(?:/|of)\s*\d+)?"
    r"(?:\s*[-\u2013\u2014\])|])?",
    re.IGNORECASE,
)


def _digitless(line: str) -> str:
    return re.sub(r"\d+", "#", " ".join(line.split()))


def _pdf(data: bytes, path: Path) -> Reading:
    from pypdf import PdfReader
    from pypdf.errors import DependencyError

    logging.getLogger("pypdf").setLevel(logging.ERROR)
    file = PdfReader(BytesIO(data))
    try:
        locked = file.is_encrypted and not file.decrypt("")
    except DependencyError:
        locked = True
    if locked:
        raise InputError(f"{path}: the PDF is encrypted; save a copy without a password.")
    pages, characters = [], 0
    for page in file.pages:
        pages.append(page.extract_text())
        characters += len(pages[-1])
        if characters > LARGEST:
            raise _too_large(path)
    empty = sum(not page.strip() for page in pages)
    if sum(map(_count, pages)) < FEWEST_WORDS_OF_A_PAGE * len(pages):
        raise InputError(
            f"{path}: {empty} of {len(pages)} pages of the PDF have no text; it is probably scanned. Read its text "
            "first, as by: ocrmypdf IN.pdf OUT.pdf"
        )
    reading = _without_page_edges([page for page in pages if page.strip()])
    reading.text = re.sub(
        "[\ufb00-\ufb06]", lambda ligature: unicodedata.normalize("NFKC", ligature[0]), reading.text
    )
    reading.encoding = "PDF"
    reading.removed["pages without text"] = empty
    return reading


# markup

_BLOCKS = {
    "address", "article", "aside", "blockquote", "body", "dd", "div", "dl", "dt", "figcaption", "figure", "h1", "h2",
    "h3", "h4", "h5", "h6", "header", "hr", "main", "ol", "p", "pre", "section", "table", "ul",
}  # fmt: skip
_LINES = {"li", "tr"}
_UNSEEN = {"head", "script", "style", "template", "noscript", "svg", "math", "button", "select", "textarea"}
_NAVIGATION = {"nav", "footer", "form"}
_PAGE_MARK = re.compile(r"page-?(?:break|num|no)", re.IGNORECASE)


def _html(data: bytes, path: Path) -> Reading:
    soup, encoding = _soup(data, path)
    return _of_soup(soup, encoding)


def _soup(data: bytes, path: Path) -> tuple[Any, str]:
    """Parse HTML, or XML, by Python's own parser of HTML, which knows no entities but those of characters."""
    from bs4 import BeautifulSoup

    told = re.search(rb"""(?:charset|encoding)\s*=\s*["']?\s*([\w.:-]+)""", data[:2000])
    try:
        name = told[1].decode().lower() if told else "utf-8"
        name = "cp1252" if name in ("iso-8859-1", "us-ascii") else name  # as browsers read them
        return BeautifulSoup(data.decode(name), "html.parser"), _shown(name)
    except (UnicodeDecodeError, LookupError):
        text, encoding = _decoded(data, path)
        return BeautifulSoup(text, "html.parser"), encoding


@dataclass(frozen=True)
class _Place:
    """What holds for the strings in a tag, by the tags around it: `part` says whether they are of the text."""

    block: Any = None
    part: str = ""
    marks_page: bool = False
    keeps_lines: bool = False

    def inside(self, tag: Any) -> "_Place":
        part = "unseen" if tag.name in _UNSEEN else "navigation" if tag.name in _NAVIGATION else ""
        about = " ".join([*tag.get("class", []), tag.get("epub:type") or "", tag.get("role") or ""])
        return _Place(
            tag if tag.name in _BLOCKS | _LINES else self.block,
            self.part or part,
            self.marks_page or bool(_PAGE_MARK.search(about)),
            self.keeps_lines or tag.name == "pre",
        )


def _of_soup(soup: Any, encoding: str) -> Reading:
    from bs4 import Tag
    from bs4.element import PreformattedString

    reading = Reading("", encoding)
    pieces: list[str] = []
    places, block = {id(soup): _Place()}, None
    for (
        element
    ) in soup.descendants:  # from outer tags to inner ones; the tree is not changed, which takes far longer
        place = places[id(element.parent)]
        if isinstance(element, Tag):
            places[id(element)] = place.inside(element)
            pieces += {"br": "\n", "td": " ", "th": " "}.get(element.name, "")
        elif place.part == "navigation":
            reading.left_out["navigation"] += _count(element)
        elif place.marks_page and _PAGE_NUMBER.fullmatch(element.strip()):
            reading.removed["page numbers"] += 1
        elif not (
            place.part or isinstance(element, PreformattedString)
        ):  # those are comments and declarations
            if place.block is not block and element.strip():
                names = {getattr(own, "name", "") for own in (block, place.block)}
                pieces.append("\n" if names <= _LINES else "\n\n")
                block = place.block
            pieces.append(element if place.keeps_lines else re.sub(r"\s+", " ", element))
    text = re.sub(r" *\n *", "\n", re.sub(r"[^\S\n]+", " ", "".join(pieces)))
    reading.text = re.sub(r"\n{3,}", "\n\n", text).strip()
    return reading


_PARTS = {
    "contents": r"toc|nav|contents|landmarks|loi|lot",
    "front matter": r"cover|(?:half-?)?title(?:-?page)?|copyright(?:-?page)?|imprint|dedication|frontmatter",
    "back matter": r"index|colophon|backmatter|also-?by|about(?:-?the)?-?author",
}
"""Parts of an EPUB that are left out, by their types and by the names of their files."""


def _epub(data: bytes, path: Path) -> Reading:
    reading, texts = Reading("", "EPUB"), []
    with _unpacked(data, path) as book:

        def soup_of(name: str) -> Any:
            return _soup(book.read(name), path)[0]

        def member(href: str) -> str:
            return posixpath.normpath(posixpath.join(folder, unquote(href.partition("#")[0])))

        root = soup_of("META-INF/container.xml").find("rootfile")["full-path"]
        folder, package = posixpath.dirname(root), soup_of(root)
        items = {item["id"]: item for item in package.find_all("item")}
        guide = {member(tag["href"]): tag.get("type", "") for tag in package.find_all("reference")}
        spine = [
            (member(items[tag["idref"]]["href"]), tag)
            for tag in package.find_all("itemref")
            if tag["idref"] in items
        ]
        if "META-INF/encryption.xml" in book.namelist():
            locked = {
                unquote(tag["uri"]) for tag in soup_of("META-INF/encryption.xml").find_all("cipherreference")
            }
            if locked & {name for name, _ in spine}:  # other files are fonts, which are often scrambled
                raise InputError(f"{path}: the EPUB is encrypted (DRM); take a copy without protection.")
        for name, tag in spine:
            soup = soup_of(name)
            sections = soup.find_all(["body", "section"], limit=2)
            types = [section.get("epub:type") or "" for section in sections]
            part = _part_of(name, [*types, guide.get(name, ""), items[tag["idref"]].get("properties", "")])
            if part or tag.get("linear") == "no":
                reading.left_out[part or "front matter"] += _count(soup.get_text(" "))
                continue
            own = _of_soup(soup, "")
            texts.append(own.text)
            reading.removed += own.removed
            reading.left_out += own.left_out
    reading.text = "\n\n".join(filter(None, texts))
    return reading


def _unpacked(data: bytes, path: Path) -> zipfile.ZipFile:
    """Open a zip archive whose members are as large as they say, which Python sees to, and not too large together."""
    archive = zipfile.ZipFile(BytesIO(data))
    if sum(member.file_size for member in archive.infolist()) > LARGEST:
        raise _too_large(path)
    return archive


def _part_of(name: str, types: Iterable[str]) -> str:
    """Return the part of a book that a file of an EPUB is, "" if it is of the text."""
    stem = re.sub(r"[\d_]+", "", posixpath.basename(name).partition(".")[0])
    words = [word.removeprefix("other.") for type in types for word in type.lower().split()]
    for part, pattern in _PARTS.items():
        if any(re.fullmatch(pattern, word) for word in [stem.lower(), *words]):
            return part
    return ""


_FALLBACK = (
    "{http://schemas.openxmlformats.org/markup-compatibility/2006}Fallback"  # repeats what is before it
)


def _docx(data: bytes, path: Path) -> Reading:
    if not zipfile.is_zipfile(BytesIO(data)):
        raise InputError(
            f"{path}: the file is encrypted or of an older Word; save it as DOCX without a password."
        )
    _unpacked(data, path).close()
    import docx
    from docx.oxml.ns import qn
    from docx.text.paragraph import Paragraph

    document = docx.Document(BytesIO(data))
    signs = {qn("w:tab"): "\t", qn("w:br"): "\n", qn("w:cr"): "\n", qn("w:noBreakHyphen"): "-"}
    of_paragraph, text = qn("w:p"), qn("w:t")
    reading, blocks = Reading("", "DOCX"), []
    # also in tables, fields, text boxes and tracked insertions; tracked deletions have no w:t
    for element in document.element.body.iter(of_paragraph):
        if next(element.iterancestors(_FALLBACK), None) is not None:
            continue
        own = [
            node for node in element.iter(text, *signs) if next(node.iterancestors(of_paragraph)) is element
        ]
        block = "".join(signs.get(node.tag, node.text or "") for node in own).strip()
        style = Paragraph(element, document).style
        if style is not None and (style.name or "").lower().startswith("toc"):
            reading.left_out["contents"] += _count(block)
        else:
            blocks.append(block)
    for part in document.part.package.iter_parts():
        if part.partname.endswith(("/footnotes.xml", "/endnotes.xml")):
            notes = re.sub(r"<[^<>]*>", "", part.blob.decode("utf-8", "replace"))
            reading.left_out["notes"] += _count(notes)
    reading.text = "\n\n".join(filter(None, blocks))
    return reading


_READERS: dict[str, Callable[[bytes, Path], Reading]] = {
    ".epub": _epub, ".docx": _docx, ".pdf": _pdf, ".html": _html, ".htm": _html, ".xhtml": _html, ".md": _markdown,
    ".markdown": _markdown, ".txt": _plain,
}  # fmt: skip
DOCUMENTS = ", ".join(_READERS)


# of all formats


def without_front_matter(reading: Reading) -> Reading:
    """Leave out the notices of Project Gutenberg, the copyright notice at a book's beginning, and its contents."""
    text, left_out = reading.text, Counter(reading.left_out)

    def leave(part: str, begin: int, end: int) -> None:
        nonlocal text
        left_out[part] += _count(text[begin:end])
        text = f"{text[:begin].rstrip()}\n\n{text[end:].lstrip(chr(10))}".strip("\n")

    if end := _GUTENBERG_END.search(text):
        leave("back matter", end.start(), len(text))
    if start := _GUTENBERG_START.search(text):
        leave("front matter", 0, start.end())
    notices = list(_NOTICE.finditer(text, 0, int(FRONT * len(text)))) if _count(text) >= BOOK else []
    if notices:
        paragraph = text.find("\n\n", notices[-1].end(), int(2 * FRONT * len(text)))
        leave("front matter", 0, max(paragraph, notices[-1].end()))
    if (heading := _CONTENTS.search(text, 0, len(text) // 4)) and (
        end_of_list := _end_of_contents(text, heading.end())
    ):
        leave("contents", heading.start(), end_of_list)
    return Reading(text, reading.encoding, Counter(reading.removed), left_out)


_GUTENBERG = r"\*\*\* ?{} OF TH(?:E|IS) PROJECT GUTENBERG EBOOK"
_GUTENBERG_START = re.compile(_GUTENBERG.format("START") + r".*?\*\*\*", re.DOTALL)
_GUTENBERG_END = re.compile(_GUTENBERG.format("END"))
_NOTICE = re.compile(
    r"©|\bcopyright\b|\bISBN\b|all rights reserved|^(?:first )?(?:published|printed) (?:by|in)\b", re.I | re.M
)
_CONTENTS = re.compile(
    r"^[ \t#*_]*(?:table of )?(?:contents|inhalt|inhaltsverzeichnis|sommaire|table des matières|índice|indice)"
    r"[ \t:.*_]*$", re.I | re.M)  # fmt: skip
_ENTRY = re.compile(
    r"(?:.*[\s.…](?:\d{1,4}|[ivxlc]+)$)|(?:(?:chapter|part|book|kapitel|teil|chapitre|partie|capítulo|parte)\b.*)"
    r"|(?:(?:\d{1,3}|[ivxlc]+)[.:)]?(?:\s.*)?$)", re.I)  # fmt: skip
_LONGEST_ENTRY, _FEWEST_ENTRIES, _MOST_ENTRIES = 15, 3, 1000  # words of an entry; entries


def _end_of_contents(text: str, begin: int) -> int:
    """Return where the list ends that follows the heading of a table of contents, 0 if there is none.

    A line of it has a number, or comes again as a heading; where an entry comes again, the text begins.
    """
    lines = Counter(line.strip().casefold() for line in text[begin:].split("\n"))
    entries: list[str] = []
    end = place = begin
    for line in text[begin:].split("\n"):
        place += len(line) + 1
        entry = line.strip().casefold()
        if not entry:
            continue
        if _count(entry) > _LONGEST_ENTRY or len(entries) == _MOST_ENTRIES:
            break
        if not (_ENTRY.fullmatch(entry) or lines[entry] > 1) or any(own.startswith(entry) for own in entries):
            break
        entries.append(entry)
        end = place
    return end if len(entries) >= _FEWEST_ENTRIES else 0


_DIVIDED = re.compile(r"(?<![^\W\d_])([^\W\d_]+)[-\u2010]\n[ \t]*([^\W\d_]+)(\S*)[ \t]*\n?")


def joined_hyphens(text: str) -> tuple[str, int]:
    """Join words that are divided at the end of a line, and return how many there were; the line ends after the word.

    The hyphen goes where the text has the whole word elsewhere. It stays in compounds: before a capital, after another
    hyphen, where the text has the word with it, or both parts as words, and where few lines end with one, as no words
    are divided then. Soft hyphens go.
    """
    text, soft = re.subn("\xad\n?", "", text)
    words = set(re.findall(r"[^\W\d_]+(?:-[^\W\d_]+)*", _DIVIDED.sub(" ", text).casefold()))
    few = len(_DIVIDED.findall(text)) < DIVIDED * text.count("\n")

    def whole(match: re.Match[str]) -> str:
        first, second, rest = match.groups()
        compound = (
            few or second[0].isupper() or text[match.start() - 1 : match.start()] == "-"
            or f"{first}-{second}".casefold() in words or {first.casefold(), second.casefold()} <= words
        )  # fmt: skip
        hyphen = "-" if compound and f"{first}{second}".casefold() not in words else ""
        return f"{first}{hyphen}{second}{rest}\n"

    text, hard = _DIVIDED.subn(whole, text)
    return text, hard + soft


def is_wrapped(text: str) -> bool:
    """Tell whether lines end because they are full, as in print, and not where the author ended them.

    Where the next line begins with a small letter, lines of prose are full, and those of verse and of lists are not.
    """
    pairs = _line_pairs(text)
    inner = [pair for pair in pairs if pair[1][:1].islower()]
    width = _width(pairs)
    full = sum(_is_full(pair, width) for pair in inner)
    return width >= NARROWEST and len(inner) >= INNER * len(pairs) and full >= WRAPPED * len(inner)


def _line_pairs(text: str) -> list[tuple[str, str]]:
    """Return each line of a paragraph with the next one."""
    return [(a, b) for a, b in pairwise(text.split("\n")) if a.strip() and b.strip()]


def _width(pairs: Sequence[tuple[str, str]]) -> float:
    """Return how many characters a full line has, about."""
    widths = sorted(len(first) for first, _ in pairs) or [0]
    return 0.9 * widths[int(0.9 * (len(widths) - 1))]


def _is_full(pair: tuple[str, str], width: float) -> bool:
    """Tell whether the first word of the second line would not fit into the first."""
    return len(pair[0]) + 1 + len(next(iter(pair[1].split()), "")) > width


def unwrapped(text: str, paragraph: str = "\n") -> str:
    """Return a wrapped text with one line a paragraph, `paragraph` where a line that is not full ends; others as they
    are."""
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
