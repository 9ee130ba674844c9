"""Read the text of a document as people have it: EPUB, DOCX, PDF, HTML, Markdown, or text in any encoding.

Files are untrusted: nothing is unpacked to the disk, what is unpacked in memory is bounded by `LARGEST_DOCUMENT`, XML
is read without entities, and what cannot be read is an `InputError` that names the file.
"""

import logging
import posixpath
import re
import unicodedata
import zipfile
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from io import BytesIO, StringIO
from itertools import islice
from pathlib import Path
from typing import Any
from urllib.parse import unquote

from pretrace.benchmarks.layout import (
    PAGE_NUMBER,
    LaidOutText,
    count_words,
    joined_hyphens,
    unwrap_lines,
    without_page_edges,
)
from pretrace.benchmarks.markup import Tag, read_markup
from pretrace.benchmarks.opening import open_bytes, unpacked_name
from pretrace.runtime.errors import InputError

LARGEST_DOCUMENT = 1 << 28
"""Bytes that a document, packed or unpacked, may have."""

PACKAGES = ("charset-normalizer", "lxml", "pypdf", "python-docx")
"""What the readers need, the extra 'documents'."""

FEWEST_WORDS_OF_A_PAGE = 10  # a PDF with fewer on average is a scan


def is_document(name: str) -> bool:
    """Tell whether a file of this name is read here."""
    return Path(unpacked_name(name)).suffix in _READERS


def read_document(path: Path) -> LaidOutText:
    """Read a file. Raises `InputError` if it is damaged, encrypted, too large, or without text."""
    kind = Path(unpacked_name(path.name)).suffix
    try:
        with open_bytes(path) as file:
            data = file.read(LARGEST_DOCUMENT + 1)
        if len(data) > LARGEST_DOCUMENT:
            raise _too_large(path)
        reading = _READERS[kind](data, path)
    except (InputError, MemoryError):
        raise
    except ModuleNotFoundError as error:
        raise InputError(
            f"{path}: to read {kind[1:].upper()} needs the module {error.name}; install the extra 'documents': pip "
            f"install {' '.join(PACKAGES)}"
        ) from error
    except Exception as error:  # what a damaged file makes of a reader is not known before
        raise InputError(
            f"{path} cannot be read as {kind[1:].upper()} ({type(error).__name__}: {error!s:.100}). Is it whole? Open "
            "it, and save it again or as text (.txt)."
        ) from error
    text, hyphens = joined_hyphens(reading.text.replace("\0", "").encode(errors="ignore").decode())
    reading.text = (unwrap_lines(text, "\n\n") if kind == ".pdf" else text).strip("\n")
    reading.removed["hyphens at line ends"] = hyphens
    reading.title, reading.author = map(_one_line, (reading.title, reading.author))
    return reading


def _one_line(text: str) -> str:
    """Return metadata as it can be printed; at most 200 characters."""
    return " ".join(re.sub(r"[\x00-\x1f\x7f\ud800-\udfff]", " ", text).split())[:200]


def _too_large(path: Path) -> InputError:
    return InputError(
        f"{path}: the document is larger than {LARGEST_DOCUMENT >> 20} MB, unpacked; divide it."
    )


# text


def _plain(data: bytes, path: Path) -> LaidOutText:
    text, encoding = _decode(data, path)
    reading = without_page_edges(re.sub(r"\r\n?", "\n", text).split("\f"))
    reading.encoding = encoding
    return reading


def _read_markdown(data: bytes, path: Path) -> LaidOutText:
    """Read Markdown as it is written, without a header of YAML."""
    reading = _plain(data, path)
    if header := re.match(r"---\n(?=[\w-]+:).*?\n(?:---|\.\.\.)\n", reading.text, re.DOTALL):
        reading.text = reading.text[header.end() :]
        reading.left_out["front matter"] = count_words(header[0])
    return reading


_MARKS = {b"\xef\xbb\xbf": "UTF-8-SIG", b"\xff\xfe": "UTF-16", b"\xfe\xff": "UTF-16"}


def _decode(data: bytes, path: Path) -> tuple[str, str]:
    """Return a text and its encoding: by its byte-order mark, UTF-8, or else the likeliest."""
    marked = next((name for mark, name in _MARKS.items() if data.startswith(mark)), "")
    if not marked and b"\0" in data[:1000]:  # UTF-16, whose every other byte is mostly empty
        marked = "UTF-16-LE" if data[1:1000:2].count(0) > data[:1000:2].count(0) else "UTF-16-BE"
    try:
        return data.decode(marked or "UTF-8"), (marked or "UTF-8").removesuffix("-SIG")
    except UnicodeDecodeError as error:
        if not marked:
            from charset_normalizer import from_bytes

            guesses = from_bytes(data)
            names = [name for guess in guesses for name in (guess.encoding, *guess.could_be_from_charset)]
            if names:
                # Western texts look right in several encodings: this one is by far the commonest
                name = "cp1252" if "cp1252" in names else names[0]
                return data.decode(name), _shown(name)
        raise InputError(
            f"{path}: the file is not text in an encoding that can be told ({error.reason} at byte {error.start}); "
            "save it as UTF-8."
        ) from error


def _shown(encoding: str) -> str:
    return encoding.replace("cp125", "Windows-125").replace("utf_", "utf-").replace("utf", "UTF")


def _pdf(data: bytes, path: Path) -> LaidOutText:
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
        if characters > LARGEST_DOCUMENT:
            raise _too_large(path)
    empty = sum(not page.strip() for page in pages)
    if sum(map(count_words, pages)) < FEWEST_WORDS_OF_A_PAGE * len(pages):
        raise InputError(
            f"{path}: {empty} of {len(pages)} pages of the PDF have no text; it is probably scanned. Read its text "
            "first, as by: ocrmypdf IN.pdf OUT.pdf"
        )
    reading = without_page_edges([page for page in pages if page.strip()])
    reading.text = re.sub(
        "[\ufb00-\ufb06]", lambda ligature: unicodedata.normalize("NFKC", ligature[0]), reading.text
    )
    reading.encoding = "PDF"
    reading.title, reading.author = _text_about(file, "/Title"), _text_about(file, "/Author")
    reading.removed["pages without text"] = empty
    return reading


def _text_about(file: Any, key: str) -> str:
    """Return a text of a PDF's metadata, "" without one: some programs write null, a number or an array there."""
    from pypdf.generic import ByteStringObject, DictionaryObject, TextStringObject

    value: Any = file.trailer
    for name in ("/Info", key):
        if not isinstance(value, DictionaryObject) or name not in value:
            return ""
        value = value[name]
    return str(value) if isinstance(value, TextStringObject | ByteStringObject) else ""


# markup

_BLOCKS = {
    "address", "article", "aside", "blockquote", "body", "dd", "div", "dl", "dt", "figcaption", "figure", "h1", "h2",
    "h3", "h4", "h5", "h6", "header", "hr", "main", "ol", "p", "pre", "section", "table", "ul",
}  # fmt: skip
_LINES = {"li", "tr"}
_UNSEEN = {"head", "script", "style", "template", "noscript", "svg", "math", "button", "select", "textarea"}
_NAVIGATION = {"nav", "footer", "form"}
_CHANGING = _BLOCKS | _LINES | _UNSEEN | _NAVIGATION
"""Tags without which a place changes only by an attribute."""

_PAGE_MARK = re.compile(r"page-?(?:break|num|no)", re.IGNORECASE)


MOST_OPEN = 1_000_000
"""Tags that may be open at once."""

MOST_TAGS = 5_000_000
"""Tags that a document may have: they take up to 40 seconds. A long book has some 100,000."""


def _html(data: bytes, path: Path) -> LaidOutText:
    markup, encoding = _decode_markup(data, path)
    _check_tags(markup.count("<"), path)
    return _of_markup(markup, encoding, path)


def _check_tags(tags: int, path: Path) -> None:
    if tags > MOST_TAGS:
        raise InputError(
            f"{path}: the document has more than {MOST_TAGS:,} tags; divide it, or save it as text."
        )


def _decode_markup(data: bytes, path: Path) -> tuple[str, str]:
    """Return HTML, or XML, and its encoding: by what it says, or else as other texts."""
    told = re.search(rb"""(?:charset|encoding)\s*=\s*["']?\s*([\w.:-]+)""", data[:2000])
    try:
        name = told[1].decode().lower() if told else "utf-8"
        name = "cp1252" if name in ("iso-8859-1", "us-ascii") else name  # as browsers read them
        return data.decode(name), _shown(name)
    except (UnicodeDecodeError, LookupError):
        return _decode(data, path)


@dataclass(frozen=True)
class _Place:
    """What holds for the strings in a tag, by the tags around it: `part` says whether they are of the text.

    `block` numbers the innermost block, which `is_line` if it is a line of a list or a table.
    """

    block: int = 0
    is_line: bool = False
    part: str = ""
    marks_page: bool = False
    keeps_lines: bool = False

    def inside(self, tag: Tag, number: int) -> "_Place":
        if not tag.attributes and tag.name not in _CHANGING:
            return self
        is_line = tag.name in _LINES
        is_block = is_line or tag.name in _BLOCKS
        part = "unseen" if tag.name in _UNSEEN else "navigation" if tag.name in _NAVIGATION else ""
        about = " ".join(tag.attributes.get(key, "") for key in ("class", "epub:type", "role"))
        return _Place(
            block=number if is_block else self.block,
            is_line=is_line if is_block else self.is_line,
            part=self.part or part,
            marks_page=self.marks_page or bool(_PAGE_MARK.search(about)),
            keeps_lines=self.keeps_lines or tag.name == "pre",
        )


_SIGNS = {"br": "\n", "td": " ", "th": " "}
"""What a tag is in the text."""


def _of_markup(markup: str, encoding: str, path: Path) -> LaidOutText:
    reading = LaidOutText("", encoding)
    written = StringIO()
    around = [_Place()]  # of the tags that are open, from the outermost on
    last = _Place()
    for number, part in enumerate(read_markup(markup), start=1):
        place = around[-1]
        if isinstance(part, Tag):
            if part.begins:
                written.write(_SIGNS.get(part.name, ""))
                around.append(place.inside(part, number))
            else:
                around.pop()
            if len(around) > MOST_OPEN:
                raise InputError(
                    f"{path}: more than {MOST_OPEN:,} tags are open at once; close them, or save it as text."
                )
        elif place.part == "navigation":
            reading.left_out["navigation"] += count_words(part)
        elif place.marks_page and PAGE_NUMBER.fullmatch(part.strip()):
            reading.removed["page numbers"] += 1
        elif not place.part:
            if place.block != last.block and part.strip():
                written.write("\n" if place.is_line and last.is_line else "\n\n")
                last = place
            written.write(part if place.keeps_lines else re.sub(r"\s+", " ", part))
    text = re.sub(r" *\n *", "\n", re.sub(r"[^\S\n]+", " ", written.getvalue()))
    reading.text = re.sub(r"\n{3,}", "\n\n", text).strip()
    return reading


_PARTS = {
    "contents": r"toc|nav|contents|landmarks|loi|lot",
    "front matter": r"cover|(?:half-?)?title(?:-?page)?|copyright(?:-?page)?|imprint|dedication|frontmatter",
    "back matter": r"index|colophon|backmatter|also-?by|about(?:-?the)?-?author",
}
"""Parts of an EPUB that are left out, by their types and by the names of their files."""


@dataclass
class _Package:
    """What an EPUB says of itself: titles, authors, its items by id, the types of files, and its items in order."""

    titles: list[str] = field(default_factory=list)
    authors: list[str] = field(default_factory=list)
    items: dict[str, Mapping[str, str]] = field(default_factory=dict)
    references: list[Mapping[str, str]] = field(default_factory=list)
    spine: list[Mapping[str, str]] = field(default_factory=list)


def _package_of(markup: str) -> _Package:
    package = _Package()
    texts = {"dc:title": package.titles, "dc:creator": package.authors}
    inside: list[str] = []
    for part in read_markup(markup):
        if isinstance(part, str):
            if inside:
                inside[-1] += part
        elif part.name in texts:
            inside = texts[part.name] if part.begins else []
            if part.begins:
                inside.append("")
        elif part.begins and part.name == "item":
            package.items[part.attributes["id"]] = part.attributes
        elif part.begins and part.name == "reference":
            package.references.append(part.attributes)
        elif part.begins and part.name == "itemref":
            package.spine.append(part.attributes)
    return package


def _epub(data: bytes, path: Path) -> LaidOutText:
    reading, texts, tags = LaidOutText("", "EPUB"), [], 0
    with _open_zip(data, path) as book:

        def markup_of(name: str) -> str:
            return _decode_markup(book.read(name), path)[0]

        def member(href: str) -> str:
            return posixpath.normpath(posixpath.join(folder, unquote(href.partition("#")[0])))

        root = _values(markup_of("META-INF/container.xml"), "rootfile", "full-path")[0]
        folder, package = posixpath.dirname(root), _package_of(markup_of(root))
        reading.title, reading.author = next(iter(package.titles), ""), ", ".join(package.authors)
        guide = {member(tag["href"]): tag.get("type", "") for tag in package.references}
        spine: dict[str, Mapping[str, str]] = {}
        for tag in package.spine:
            if tag["idref"] in package.items:
                name = member(package.items[tag["idref"]]["href"])
                reading.removed["chapters named twice"] += name in spine
                spine.setdefault(name, tag)
        if "META-INF/encryption.xml" in book.namelist():
            locked = set(
                map(unquote, _values(markup_of("META-INF/encryption.xml"), "cipherreference", "uri"))
            )
            if locked & spine.keys():  # other files are fonts, which are often scrambled
                raise InputError(f"{path}: the EPUB is encrypted (DRM); take a copy without protection.")
        for name, tag in spine.items():
            markup = markup_of(name)
            tags += markup.count("<")
            _check_tags(tags, path)
            properties = package.items[tag["idref"]].get("properties", "")
            part = _part_of(name, [*_types_of_sections(markup), guide.get(name, ""), properties])
            own = _of_markup(markup, "", path)
            if part or tag.get("linear") == "no":
                reading.left_out[part or "front matter"] += count_words(own.text) + own.left_out.total()
                continue
            texts.append(own.text)
            reading.removed += own.removed
            reading.left_out += own.left_out
    reading.text = "\n\n".join(filter(None, texts))
    return reading


def _values(markup: str, name: str, key: str) -> list[str]:
    """Return an attribute of all tags of a name."""
    tags = (part for part in read_markup(markup) if isinstance(part, Tag) and part.begins)
    return [tag.attributes[key] for tag in tags if tag.name == name]


def _types_of_sections(markup: str) -> list[str]:
    """Return the types of the body and of its first section."""
    parts = read_markup(markup)
    tags = (part for part in parts if isinstance(part, Tag) and part.begins)
    sections = (tag for tag in tags if tag.name in ("body", "section"))
    return [tag.attributes.get("epub:type", "") for tag in islice(sections, 2)]


def _open_zip(data: bytes, path: Path) -> zipfile.ZipFile:
    """Open a zip archive whose members are as large as they say, which Python sees to, and not too large together."""
    archive = zipfile.ZipFile(BytesIO(data))
    if sum(member.file_size for member in archive.infolist()) > LARGEST_DOCUMENT:
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


_FALLBACK = "{http://schemas.openxmlformats.org/markup-compatibility/2006}Fallback"
"""The tag of what repeats the text before it, for programs that cannot show that."""


def _docx(data: bytes, path: Path) -> LaidOutText:
    if not zipfile.is_zipfile(BytesIO(data)):
        raise InputError(
            f"{path}: the file is encrypted or of an older Word; save it as DOCX without a password."
        )
    _open_zip(data, path).close()
    import docx
    from docx.oxml.ns import qn

    document = docx.Document(BytesIO(data))
    signs = {qn("w:tab"): "\t", qn("w:br"): "\n", qn("w:cr"): "\n", qn("w:noBreakHyphen"): "-"}
    of_paragraph, text = qn("w:p"), qn("w:t")
    # python-docx would look through all styles for each paragraph
    styles = document.styles.element.style_lst
    contents = {style.styleId for style in styles if (style.name_val or "").lower().startswith("toc")}
    about = document.core_properties
    reading, blocks = LaidOutText("", "DOCX", title=about.title or "", author=about.author or ""), []
    # also in tables, fields, text boxes and tracked insertions; tracked deletions have no w:t
    for element in document.element.body.iter(of_paragraph):
        if next(element.iterancestors(_FALLBACK), None) is not None:
            continue
        own = [
            node for node in element.iter(text, *signs) if next(node.iterancestors(of_paragraph)) is element
        ]
        block = "".join(signs.get(node.tag, node.text or "") for node in own).strip()
        if element.style in contents:
            reading.left_out["contents"] += count_words(block)
        else:
            blocks.append(block)
    for part in document.part.package.iter_parts():
        if part.partname.endswith(("/footnotes.xml", "/endnotes.xml")):
            notes = re.sub(r"<[^<>]*>", "", part.blob.decode("utf-8", "replace"))
            reading.left_out["notes"] += count_words(notes)
    reading.text = "\n\n".join(filter(None, blocks))
    return reading


_READERS: dict[str, Callable[[bytes, Path], LaidOutText]] = {
    ".epub": _epub, ".docx": _docx, ".pdf": _pdf, ".html": _html, ".htm": _html, ".xhtml": _html, ".md": _read_markdown,
    ".markdown": _read_markdown, ".txt": _plain,
}  # fmt: skip
DOCUMENT_FORMATS = ", ".join(_READERS)
