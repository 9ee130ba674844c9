"""Read documents of word processors: DOCX and ODT, which are zip archives with XML, and
RTF."""

import re
from collections.abc import Iterator, Mapping
from io import BytesIO
from pathlib import Path
from typing import Any

from pretrace.documents.layout import LaidOutText, count_words
from pretrace.documents.readers.encodings import BROKEN
from pretrace.documents.readers.limits import check_members, check_pieces, open_zip
from pretrace.documents.readers.notes import (
    DELETED,
    GAP,
    NOTES,
    READINGS,
    UNSEEN,
    close_gaps,
)
from pretrace.runtime.errors import InputError
from pretrace.runtime.files import writable

CONTENTS = "contents"


# DOCX

_W = "{http://schemas.openxmlformats.org/wordprocessingml/2006/main}"
_FALLBACK = "{http://schemas.openxmlformats.org/markup-compatibility/2006}Fallback"
"""The tag of what repeats the text before it, for programs that cannot show that."""

_PARAGRAPH, _RUN, _TEXT, _FIELD = f"{_W}p", f"{_W}r", f"{_W}t", f"{_W}sdt"
_SIGNS = {
    f"{_W}tab": "\t",
    f"{_W}br": "\n",
    f"{_W}cr": "\n",
    f"{_W}noBreakHyphen": "-",
    f"{_W}softHyphen": "\xad",
}
_LEFT_OUT = {f"{_W}moveFrom": DELETED, f"{_W}del": DELETED, f"{_W}rt": READINGS}
"""Tags whose text is left out: deleted text, where moved text was; readings of
characters."""

_WRITTEN = {_TEXT, f"{_W}delText", *_SIGNS}
"""Tags of strings and signs, in runs."""

_STRIKES = (f"{_W}strike", f"{_W}dstrike")
_PLACEHOLDER = f"{_W}sdtPr/{_W}showingPlcHdr"
"""What a field of a form has that nobody filled in."""
_GOES_ON = (
    f"{_W}pPr/{_W}rPr/{_W}del",
    f"{_W}pPr/{_W}rPr/{_W}moveFrom",
    f"{_W}pPr/{_W}framePr[@{_W}dropCap]",
)
"""What a paragraph has that goes on in the next: its end is deleted, or it is the first
letter of a chapter, larger than others."""

_OF_NOTES = (
    f"{_W}footnoteReference",
    f"{_W}endnoteReference",
    f"{_W}footnoteRef",
    f"{_W}endnoteRef",
)
_HIDDEN = f"{_W}vanish"
_OFF = {"0", "false", "off"}


def read_docx(data: bytes, path: Path) -> LaidOutText:
    """Read a DOCX as it is with all its tracked changes accepted."""
    if not data.startswith(b"PK"):
        raise InputError(
            f"{path}: the file is encrypted or of an older Word; save it as DOCX "
            "without a password."
        )
    with open_zip(data, path) as archive:
        check_members(archive, path)
    import docx

    document = docx.Document(BytesIO(data))
    # python-docx would look through all styles for each paragraph
    styles = document.styles.element.style_lst
    left_as_by_style = {}
    for style in styles:
        if (style.name_val or "").lower().startswith("toc"):
            left_as_by_style[style.styleId] = CONTENTS
        elif _has(style, _HIDDEN):
            left_as_by_style[style.styleId] = UNSEEN
        elif _is_struck(style):
            left_as_by_style[style.styleId] = DELETED
    about = document.core_properties
    reading = LaidOutText(
        "", "DOCX", title=about.title or "", author=about.author or ""
    )
    blocks: dict[Any, list[str]] = {}
    body = document.element.body
    if body.find(f".//{_W}altChunk") is not None:
        raise InputError(
            f"{path}: the file holds others in formats of their own; open it in a word "
            "processor, and save it again."
        )
    for paragraph, string, left_as in _strings_of_docx(body, left_as_by_style):
        if left_as is None:
            blocks.setdefault(paragraph, []).append(string)
            continue
        blocks.setdefault(paragraph, []).append(GAP)
        if left_as != UNSEEN:
            reading.left_out[left_as] += count_words(string)
    texts = []
    begun = ""  # of paragraphs that the next one goes on
    for paragraph, strings in blocks.items():
        block = begun + "".join(strings)
        goes_on = any(paragraph.find(mark) is not None for mark in _GOES_ON)
        begun = block if goes_on else ""
        if not goes_on:
            texts.append(close_gaps(block).strip())
    texts.append(close_gaps(begun).strip())
    for part in document.part.package.iter_parts():
        if part.partname.endswith(("/footnotes.xml", "/endnotes.xml")):
            notes = re.sub(r"<[^<>]*>", "", part.blob.decode("utf-8", "replace"))
            reading.left_out[NOTES] += count_words(notes)
    reading.text = "\n\n".join(filter(None, texts))
    return reading


def _strings_of_docx(
    body: Any, left_as_by_style: Mapping[str, str]
) -> Iterator[tuple[Any, str, str | None]]:
    """Yield (paragraph, string, as what it is left out) in the order of the text: in
    tables and text boxes, too."""
    paragraphs: list[Any] = []
    left_as: list[str] = []
    skipped = None
    from lxml import etree

    for event, element in etree.iterwalk(body, events=("start", "end")):
        tag = element.tag
        if skipped is not None:
            skipped = None if event == "end" and element is skipped else skipped
        elif event == "start":
            is_unseen = tag == _RUN and not _is_shown(element)
            is_unfilled = tag == _FIELD and element.find(_PLACEHOLDER) is not None
            if tag == _FALLBACK or is_unseen or is_unfilled:
                skipped = element
                if paragraphs:
                    yield paragraphs[-1], "", UNSEEN
            elif tag == _PARAGRAPH:
                paragraphs.append(element)
            elif tag in _LEFT_OUT:
                left_as.append(_LEFT_OUT[tag])
            elif paragraphs and tag in _WRITTEN and element.getparent().tag == _RUN:
                run, paragraph = element.getparent(), paragraphs[-1]
                part = left_as_by_style.get(run.style)
                if part is None:
                    part = left_as_by_style.get(paragraph.style)
                if left_as:
                    part = left_as[-1]
                elif part is None and _is_struck(run):
                    part = DELETED
                yield paragraph, _SIGNS.get(tag, element.text or ""), part
        elif tag == _PARAGRAPH:
            paragraphs.pop()
        elif tag in _LEFT_OUT:
            left_as.pop()


def _is_shown(run: Any) -> bool:
    """Return whether a run is text: neither hidden nor the number of a note."""
    if any(child.tag in _OF_NOTES for child in run):
        return False
    return not _has(run, _HIDDEN)


def _is_struck(holder: Any) -> bool:
    """Return whether a run or a style strikes its text through."""
    return any(_has(holder, strike) for strike in _STRIKES)


def _has(holder: Any, name: str) -> bool:
    """Return whether a run or a style has a property that is on."""
    own = holder.find(f"{_W}rPr/{name}")
    return own is not None and own.get(f"{_W}val") not in _OFF


# ODT

_ODT_NS = "{{urn:oasis:names:tc:opendocument:xmlns:{}:1.0}}"
_TEXT_NS = _ODT_NS.format("text")
_OFFICE_NS = _ODT_NS.format("office")
_SVG_NS = _ODT_NS.format("svg-compatible")
_STYLE_NS = _ODT_NS.format("style")
_ODT_PARAGRAPHS = {f"{_TEXT_NS}p", f"{_TEXT_NS}h"}
_ODT_SIGNS = {f"{_TEXT_NS}tab": "\t", f"{_TEXT_NS}line-break": "\n"}
_BLANKS, _SECTION = f"{_TEXT_NS}s", f"{_TEXT_NS}section"
_ODT_LEFT_OUT = {
    f"{_TEXT_NS}note": NOTES, f"{_OFFICE_NS}annotation": UNSEEN,
    f"{_TEXT_NS}tracked-changes": DELETED,
    f"{_TEXT_NS}ruby-text": READINGS, f"{_TEXT_NS}hidden-text": UNSEEN,
    f"{_TEXT_NS}hidden-paragraph": UNSEEN,
    f"{_SVG_NS}title": UNSEEN, f"{_SVG_NS}desc": UNSEEN,
    f"{_TEXT_NS}table-of-content": CONTENTS,
    f"{_TEXT_NS}alphabetical-index": "back matter",
    f"{_TEXT_NS}illustration-index": CONTENTS, f"{_TEXT_NS}table-index": CONTENTS,
}  # fmt: skip
"""Tags whose text is left out, and as what."""


def read_odt(data: bytes, path: Path) -> LaidOutText:
    """Read an OpenDocument text as it is with all its tracked changes accepted."""
    from lxml import etree

    parser = etree.XMLParser(
        resolve_entities=False, no_network=True, remove_comments=True, remove_pis=True
    )
    with open_zip(data, path) as archive:
        check_members(archive, path)
        if b"encryption-data" in archive.read("META-INF/manifest.xml"):
            raise InputError(
                f"{path}: the document is encrypted; save a copy without a password."
            )
        root = etree.fromstring(archive.read("content.xml"), parser)
        left_as_by_style = _left_out_by_style(root)
        if "styles.xml" in archive.namelist():
            styles = etree.fromstring(archive.read("styles.xml"), parser)
            # its automatic styles are of headers, and called as those of the text
            for named in styles.iter(f"{_OFFICE_NS}styles"):
                left_as_by_style |= _left_out_by_style(named)
        about = {}
        if "meta.xml" in archive.namelist():
            meta = etree.fromstring(archive.read("meta.xml"), parser)
            for element in meta.iter("{*}title", "{*}initial-creator"):
                about[etree.QName(element).localname] = element.text or ""
    reading = LaidOutText(
        "", "ODT", title=about.get("title", ""), author=about.get("initial-creator", "")
    )
    blocks: dict[Any, list[str]] = {}
    body = root.find(f"{_OFFICE_NS}body")
    for paragraph, string, left_as in _strings_of_odt(body, left_as_by_style):
        if left_as is None:
            blocks.setdefault(paragraph, []).append(string)
            continue
        blocks.setdefault(paragraph, []).append(GAP)
        if left_as != UNSEEN:
            reading.left_out[left_as] += count_words(string)
    texts = []
    for strings in blocks.values():
        block = close_gaps("".join(strings))
        texts.append(re.sub(r" *\n *", "\n", block).strip())
    reading.text = "\n\n".join(filter(None, texts))
    return reading


def _left_out_by_style(root: Any) -> dict[str, str]:
    """Return the names of the styles in a part of a file that strike their text through
    or hide it -> as what it is left out."""
    left_as = {}
    for style in root.iter(f"{_STYLE_NS}style"):
        name = style.get(f"{_STYLE_NS}name", "")
        for properties in style.iter(f"{_STYLE_NS}text-properties"):
            lines = {properties.get(f"{_STYLE_NS}{key}") for key in _STRIKES_ODT}
            if properties.get(_DISPLAY) == "none":
                left_as[name] = UNSEEN
            elif lines - {None} and "none" not in lines:
                left_as[name] = DELETED
    return left_as


_STRIKES_ODT = ("text-line-through-style", "text-line-through-type")
_DISPLAY = f"{_TEXT_NS}display"


def _strings_of_odt(
    body: Any, left_as_by_style: Mapping[str, str]
) -> Iterator[tuple[Any, str, str | None]]:
    """Yield (paragraph, string, as what it is left out) in the order of the text."""
    from lxml import etree

    paragraphs: list[Any] = []
    left_as: list[str] = []
    for event, element in etree.iterwalk(body, events=("start", "end")):
        tag = element.tag
        part = _ODT_LEFT_OUT.get(tag)
        if part is None:
            part = left_as_by_style.get(element.get(f"{_TEXT_NS}style-name"))
        if tag == _SECTION and element.get(_DISPLAY) == "none":
            part = UNSEEN
        if event == "start":
            if part is not None:
                left_as.append(part)
                if paragraphs:  # which the left-out text may have of its own
                    yield paragraphs[-1], "", part
            if tag in _ODT_PARAGRAPHS:
                paragraphs.append(element)
            count = int(element.get(f"{_TEXT_NS}c", 1)) if tag == _BLANKS else 0
            sign = _ODT_SIGNS.get(tag, " " * min(count, 100))
            string = sign + _collapsed(element.text)
        else:
            if tag in _ODT_PARAGRAPHS:
                paragraphs.pop()
            if part is not None:
                left_as.pop()
            string = _collapsed(element.tail)
        if paragraphs and string:
            yield paragraphs[-1], string, left_as[-1] if left_as else None


def _collapsed(string: str | None) -> str:
    return re.sub(r"[ \t\r\n]+", " ", string or "")


# RTF

_LINE_BREAK = "\v"
_UNTOLD = (
    # the signs before the lines of a list
    (re.compile(r"\\listtext(?![a-z])"), r"\\pntext"),
    (re.compile(r"HYPERLINK"), "LINK"),  # of which striprtf writes the address, too
    # a cell of a table is a paragraph
    (re.compile(r"\\(?:nest)?cell(?![a-z])"), r"\\par"),
    # of which striprtf makes a paragraph
    (re.compile(r"\\line(?![a-z]) ?"), _LINE_BREAK),
    (re.compile(r"\\_"), "-"),  # a hyphen at which no line ends
)
"""Words of RTF that striprtf takes for text -> words that it knows to be none."""

_ABOUT_RTF = r"\{{\\{} ([^{{}}]*)\}}"


def read_rtf(data: bytes, path: Path) -> LaidOutText:
    """Read RTF without notes, deleted, struck and hidden text, and signs of lists."""
    from striprtf.striprtf import rtf_to_text

    if not data.startswith(b"{\\rtf"):
        raise InputError(
            f"{path}: the file is no RTF; save it as RTF or DOCX, or name it by what "
            "it is."
        )
    source = data.decode("cp1252", "replace")
    check_pieces(source.count("\\"), "words of RTF", path)
    about = {}
    for key in ("title", "author"):
        if named := re.search(_ABOUT_RTF.format(key), source):
            told = rtf_to_text(rf"{{\rtf1\ansi {named[1]}}}", errors="replace")
            about[key] = writable(told)
    for pattern, word in _UNTOLD:
        source = pattern.sub(word, source)
    source, deleted = _seen_of_rtf(source)
    # RTF writes characters beyond 16 bits as two halves
    lines = writable(rtf_to_text(source, errors="replace")).split("\n")
    paragraphs = []
    for line in lines:
        if paragraph := close_gaps(line).strip():
            paragraphs.append(re.sub(rf" *{_LINE_BREAK} *", "\n", paragraph))
    reading = LaidOutText("\n\n".join(paragraphs), "RTF")
    reading.title, reading.author = about.get("title", ""), about.get("author", "")
    reading.removed["damaged characters"] = reading.text.count(BROKEN)
    told = rtf_to_text(rf"{{\rtf1\ansi {deleted}}}", errors="replace")
    reading.left_out[DELETED] += count_words(told)
    return reading


_PART_OF_RTF = re.compile(
    r"\\(?P<word>[a-z]+)(?P<number>-?\d*) ?|\\'[0-9a-f]{2}|\\.|[{}]|[^\\{}]+",
    re.IGNORECASE | re.DOTALL,
)
_UNTOLD_OF_RTF = {"v", "stylesheet"}
_UNSEEN_OF_RTF = {"deleted", "strike", "striked"} | _UNTOLD_OF_RTF
_SIGNS_OF_RTF = {
    "u", "tab", "emdash", "endash", "lquote", "rquote", "ldblquote", "rdblquote",
    "bullet",
}  # fmt: skip
"""Words of RTF that are characters."""


def _seen_of_rtf(source: str) -> tuple[str, str]:
    """Return RTF without text that is deleted, struck through or hidden, and the text
    that is deleted or struck through.

    A word of RTF holds until it is taken back, as by `\\strike0`, or its group ends.
    """
    seen: list[str] = []
    deleted: list[str] = []
    groups: list[frozenset[str]] = [frozenset()]
    for part in _PART_OF_RTF.finditer(source):
        word = part["word"]
        if part[0] == "{":
            groups.append(groups[-1])
        elif part[0] == "}" and len(groups) > 1:
            groups.pop()
        elif word == "plain":
            groups[-1] &= {"deleted"}
        elif word in _UNSEEN_OF_RTF:
            is_on = part["number"] != "0"
            groups[-1] = groups[-1] | {word} if is_on else groups[-1] - {word}
        is_text = part[0] not in "{}" and (word is None or word in _SIGNS_OF_RTF)
        if is_text and groups[-1]:
            seen.append(GAP)
            if groups[-1].isdisjoint(_UNTOLD_OF_RTF):
                deleted.append(part[0])
        else:
            seen.append(part[0])
            if is_text:
                # so that deleted words apart from each other stay so
                deleted.append(" ")
    return "".join(seen), "".join(deleted)
