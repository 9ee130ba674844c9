"""Read an EPUB: the files of its spine in order, without front matter, contents, notes
and index."""

import posixpath
import re
import unicodedata
import zipfile
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from urllib.parse import unquote

from pretrace.documents.layout import LaidOutText, count_words
from pretrace.documents.markup import Tag, read_markup
from pretrace.documents.readers.html import (
    MOST,
    LaidOutMarkup,
    Leaving,
    NotePlaces,
    StyledClasses,
    decode_markup,
    lay_out,
    styled_classes,
    styles_in,
)
from pretrace.documents.readers.limits import check_pieces, open_zip
from pretrace.runtime.errors import InputError, first_names

CONTENTS, FRONT, BACK = "contents", "front matter", "back matter"

_TYPES = {
    CONTENTS: "toc contents landmarks loi lot page-list",
    FRONT: (
        "cover titlepage halftitlepage title-page copyright-page imprint dedication "
        "frontmatter"
    ),
    BACK: "index colophon backmatter",
}
_PART_OF_TYPE: dict[str, str] = {}
for _part, _types in _TYPES.items():
    _PART_OF_TYPE |= dict.fromkeys(_types.split(), _part)
"""Types of an EPUB's sections that are left out, and what they are."""

_PARTS_OF_NAMES = {
    CONTENTS: r"toc|nav|contents|landmarks|loi|lot",
    FRONT: r"cover|(?:half-?)?title(?:-?page)?|copyright(?:-?page)?|imprint|dedication|frontmatter",
    BACK: r"index|colophon|backmatter|also-?by|about(?:-?the)?-?author",
}
"""Names of files, and types of a guide's entries, of what is left out. A name alone may
be wrong: see `FEW`."""

_HAS_PICTURE = re.compile(r"<(?:img|image|svg:image)\b", re.IGNORECASE)

FEW, FEW_WORDS = 0.1, 300
"""Share of a book's words, and words, one of which a file may have that is left out
because of its name alone."""


@dataclass
class _Package:
    """What an EPUB says of itself: titles, authors, its items by id, the types of
    files, and its items in order."""

    titles: list[str] = field(default_factory=list)
    authors: list[str] = field(default_factory=list)
    items: dict[str, Mapping[str, str]] = field(default_factory=dict)
    references: list[Mapping[str, str]] = field(default_factory=list)
    spine: list[Mapping[str, str]] = field(default_factory=list)


@dataclass(frozen=True)
class _File:
    """A file of the spine: its name and markup, as what it is left out by its name (""
    if it is not), and its reading."""

    name: str
    markup: str
    part: str
    reading: LaidOutMarkup

    @property
    def words(self) -> int:
        return count_words(self.reading.text) + self.reading.left_out.total()


def read_epub(data: bytes, path: Path) -> LaidOutText:
    with open_zip(data, path) as archive:
        book = _Book(archive, path)
        book.refuse_encrypted()
        reading = LaidOutText("", "EPUB")
        reading.title = next(iter(book.package.titles), "")
        reading.author = ", ".join(book.package.authors)
        book.refuse_missing()
        reading.removed["chapters named twice"] = len(book.named) - len(book.items)
        if book.missing:
            names = ", ".join(book.missing)
            reading.removed[f"missing chapters ({names})"] = len(book.missing)
        pictures = [name for name, item in book.items.items() if _is_picture(item)]
        reading.removed["pages that are pictures"] = len(pictures)
        files = [book.file(name) for name in book.items if name not in pictures]
    for name, encoding in book.encodings.items():
        reading.encoding += f"; {posixpath.basename(name)}: {encoding}"
    for file in files:
        if not file.words and _HAS_PICTURE.search(file.markup):
            pictures.append(file.name)
    if pictures and not any(file.words for file in files if not file.part):
        raise InputError(
            f"{path}: the pages of the EPUB are pictures ({pictures[0]} and so on); "
            "recognise their text first, as by: ebook-convert IN.epub OUT.pdf; "
            "ocrmypdf OUT.pdf TEXT.pdf"
        )
    words = sum(file.words for file in files)
    texts = []
    for file in files:
        if file.part and file.words <= min(MOST * words, max(FEW * words, FEW_WORDS)):
            reading.left_out[file.part] += file.words
            continue
        leaving = book.leaving_of(file.markup).without(file.reading, words)
        own = file.reading
        if leaving.stays:
            own = lay_out(file.markup, path, leaving, book.notes_of(file.name))
        texts.append(own.text)
        reading.removed += own.removed
        reading.left_out += own.left_out
    reading.text = "\n\n".join(filter(None, texts))
    return reading


SECTIONS = Leaving(sections=_PART_OF_TYPE)


class _Book:
    """An open EPUB: its package, and the files that its spine has `named`, in order."""

    def __init__(self, archive: zipfile.ZipFile, path: Path) -> None:
        self.archive = archive
        self.path = path
        self.names: dict[str, str] = {}
        for name in archive.namelist():
            self.names.setdefault(_folded(name), name)
        self.folder = ""
        root = self._package_file()
        self.folder = posixpath.dirname(root)
        self.package = _package_of(self.markup_of(root))
        self.guide: dict[str, str] = {}
        for tag in self.package.references:
            href = tag.get("href", "")
            if "#" not in href:  # a place in a file says nothing of the whole file
                self.guide[self.file_at(href)] = tag.get("type", "")
        self.named: list[str] = []
        self.missing: list[str] = []
        self.items: dict[str, Mapping[str, str]] = {}
        self.set_apart: set[str] = set()
        self.tags = 0
        self.places_of_notes: set[str] = set()
        self.encodings: dict[str, str] = {}
        self.styled = self._styled_classes()
        for tag in self.package.spine:
            identity = tag.get("idref", "")
            item = self.package.items.get(identity, {})
            fallback = self.package.items.get(item.get("fallback", ""))
            if fallback is not None and _is_picture(item):
                item = fallback
            href = item.get("href", "")
            name = self.file_at(href)
            if _is_picture(item):  # which is named, and not read
                name = _file_at(unquote(href), self.folder)
            if not name:
                self.missing.append(href or identity or "without a name")
                continue
            self.named.append(name)
            self.items[name] = item
            if tag.get("linear") == "no":
                self.set_apart.add(name)

    def markup_of(self, name: str) -> str:
        markup, encoding = decode_markup(self.archive.read(name), self.path)
        # a name alone was told by the file; what was guessed or mended is told
        if "(" in encoding:
            self.encodings[name] = encoding
        return markup

    def leaving_of(self, markup: str) -> Leaving:
        """Return what is left out of a file's markup, by the styles of the book and its
        own."""
        styled = self.styled | styled_classes(styles_in(markup))
        return replace(SECTIONS, styled=styled)

    def _styled_classes(self) -> StyledClasses:
        """Return the classes that the style sheets of the book strike through or
        hide."""
        styled = StyledClasses()
        for item in self.package.items.values():
            name = self.file_at(item.get("href", ""))
            if name and item.get("media-type") == "text/css":
                styles = self.archive.read(name).decode("utf-8", "replace")
                styled |= styled_classes(styles)
        return styled

    def notes_of(self, name: str) -> NotePlaces:
        """Return the places of notes that files of the book lead to, as links of a file
        name them."""

        def resolve(href: str) -> str:
            address, _, place = href.partition("#")
            folder = posixpath.dirname(name)
            file = _file_at(unquote(address), folder) if address else name
            return f"{file}#{place}"

        return NotePlaces(self.places_of_notes, resolve)

    def _package_file(self) -> str:
        """Return the name of the package: as the container says, or else by its
        ending."""
        named = []
        if "META-INF/container.xml" in self.names.values():
            container = self.markup_of("META-INF/container.xml")
            named = _values(container, "rootfile", "full-path")
        ending = [name for name in self.names.values() if name.endswith(".opf")]
        for name in [*map(self.file_at, named), *ending]:
            if name:
                return name
        raise InputError(
            f"{self.path}: the EPUB has no list of its chapters (.opf); save it again "
            "in the program that wrote it."
        )

    def file_at(self, href: str) -> str:
        """Return the name of the file that an address leads to, as the archive has it;
        "" without one.

        A place in the file and a question to a server (`#s2`, `?v=2`) are no part of
        its name, if it has none with them.
        """
        address = href.replace("\\", "/")
        path = address.partition("#")[0].partition("?")[0]
        for known in (address, unquote(address), unquote(path)):
            name = self.names.get(_folded(_file_at(known, self.folder)), "")
            if known and name:
                return name
        return ""

    def refuse_missing(self) -> None:
        """Raise `InputError` if most of the chapters are missing."""
        if self.missing and len(self.missing) >= len(self.named):
            of = len(self.missing) + len(self.named)
            raise InputError(
                f"{self.path}: {len(self.missing)} of {of} chapters that the EPUB "
                f"names are not in it: {first_names(self.missing)}; take a whole copy."
            )

    def refuse_encrypted(self) -> None:
        """Raise `InputError` if a file of the spine is encrypted; other files are
        fonts, which are often scrambled."""
        if "META-INF/encryption.xml" not in self.archive.namelist():
            return
        encryption = self.markup_of("META-INF/encryption.xml")
        locked = set()
        for address in _values(encryption, "cipherreference", "uri"):
            locked.add(_file_at(unquote(address), ""))
        if locked & self.items.keys():
            raise InputError(
                f"{self.path}: the EPUB is encrypted (DRM); take a copy without "
                "protection."
            )

    def file(self, name: str) -> _File:
        markup = self.markup_of(name)
        self.tags += markup.count("<")
        check_pieces(self.tags, "tags", self.path)
        types = [self.guide.get(name, ""), self.items[name].get("properties", "")]
        part = _part_of(name, types) or (FRONT if name in self.set_apart else "")
        leaving = self.leaving_of(markup)
        reading = lay_out(markup, self.path, leaving, self.notes_of(name))
        return _File(name, markup, part, reading)


def _file_at(address: str, folder: str) -> str:
    """Return the name of the file that an address leads to from a folder."""
    return posixpath.normpath(posixpath.join(folder, address)).lstrip("/")


def _folded(name: str) -> str:
    """Return what is alike in two spellings of a file's name."""
    return unicodedata.normalize("NFC", name).casefold()


def _is_picture(item: Mapping[str, str]) -> bool:
    return item.get("media-type", "").startswith("image/")


def _local(name: str) -> str:
    """Return a name without its namespace, whatever prefix an EPUB gives it."""
    return name.rpartition(":")[2]


def _tags(markup: str) -> Iterator[Tag]:
    return (part for part in read_markup(markup) if isinstance(part, Tag))


def _values(markup: str, name: str, key: str) -> list[str]:
    """Return an attribute of all tags of a name."""
    values = []
    for tag in _tags(markup):
        if _local(tag.name) == name and tag.begins:
            values.append(tag.attributes.get(key, ""))
    return values


def _package_of(markup: str) -> _Package:
    package = _Package()
    texts = {"title": package.titles, "creator": package.authors}
    listed = {"reference": package.references, "itemref": package.spine}
    inside: list[str] = []
    for part in read_markup(markup):
        if isinstance(part, str):
            if inside:
                inside[-1] += part
            continue
        name = _local(part.name)
        if name in texts:
            inside = texts[name] if part.begins else []
            if part.begins:
                inside.append("")
        elif part.begins and name == "item":
            package.items[part.attributes.get("id", "")] = part.attributes
        elif part.begins and name in listed:
            listed[name].append(part.attributes)
    return package


def _part_of(name: str, types: Sequence[str]) -> str:
    """Return the part of a book that a file of an EPUB is by its name and types, "" if
    it is of the text."""
    stem = re.sub(r"[\d_]+", "", posixpath.basename(name).partition(".")[0])
    words = []
    for type in types:
        for word in type.lower().split():
            words.append(word.removeprefix("other."))
    for part, pattern in _PARTS_OF_NAMES.items():
        if any(re.fullmatch(pattern, word) for word in [stem.lower(), *words]):
            return part
    return ""
