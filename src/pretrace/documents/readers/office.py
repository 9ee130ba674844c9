"""Read documents of word processors: DOCX and ODT, which are zip archives with XML, and
RTF."""

import re
from collections.abc import Iterator, Mapping, Sequence
from io import BytesIO
from pathlib import Path
from typing import Any

from pretrace.documents.layout import LaidOutText, count_words
from pretrace.documents.readers.encodings import BROKEN
from pretrace.documents.readers.limits import check_members, check_pieces, open_zip
from pretrace.documents.readers.notes import (
    DELETED,
    EQUATIONS,
    GAP,
    NOTES,
    READINGS,
    UNSEEN,
    close_gaps,
)
from pretrace.runtime.errors import InputError
from pretrace.runtime.files import writable

CONTENTS, OTHER_SIGNS = "contents", "signs of other fonts"


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

_SYMBOL = f"{_W}sym"
_EQUATION = "{http://schemas.openxmlformats.org/officeDocument/2006/math}oMath"
_WRITTEN = {_TEXT, f"{_W}delText", _SYMBOL, *_SIGNS}
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
        if b"purl.oclc.org/ooxml" in archive.read("_rels/.rels"):
            raise InputError(
                f"{path}: the file is of the kind Strict Open XML; save it as Word "
                "document (.docx)."
            )
    import docx

    document = docx.Document(BytesIO(data))
    styles = _DocxStyles(document.styles.element.style_lst)
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
    for paragraph, string, left_as in _strings_of_docx(body, styles):
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
    body: Any, styles: "_DocxStyles"
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
            around = paragraphs[-1] if paragraphs else None
            is_unseen = tag == _RUN and not styles.shows(element, around)
            is_unfilled = tag == _FIELD and element.find(_PLACEHOLDER) is not None
            if tag == _FALLBACK or is_unseen or is_unfilled:
                skipped = element
                if paragraphs:
                    yield paragraphs[-1], "", UNSEEN
            elif tag == _PARAGRAPH:
                paragraphs.append(element)
            elif tag == _EQUATION and paragraphs:
                skipped = element
                yield around, " ".join(element.itertext()) or "?", EQUATIONS
            elif tag in _LEFT_OUT:
                left_as.append(_LEFT_OUT[tag])
            elif paragraphs and tag in _WRITTEN and element.getparent().tag == _RUN:
                part = styles.part_of(element.getparent(), around)
                string = _SIGNS.get(tag, element.text or "")
                if tag == _SYMBOL:
                    string = _sign_of(element)
                    if not string:
                        string, part = "?", OTHER_SIGNS
                yield around, string, left_as[-1] if left_as else part
        elif tag == _PARAGRAPH:
            paragraphs.pop()
        elif tag in _LEFT_OUT:
            left_as.pop()


class _DocxStyles:
    """The styles of a DOCX by their ids: whether text in them is hidden, struck through
    or of the contents."""

    def __init__(self, styles: Any) -> None:
        self._styles = {style.styleId: style for style in styles}
        self._known: dict[tuple[str | None, str], bool] = {}

    def shows(self, run: Any, paragraph: Any) -> bool:
        """Return whether a run is text: neither hidden nor the number of a note."""
        if any(child.tag in _OF_NOTES for child in run):
            return False
        return not self._has(run, paragraph, _HIDDEN)

    def part_of(self, run: Any, paragraph: Any) -> str | None:
        """Return what a run that is shown is left out as, None if it is text."""
        for identity in (run.style, paragraph.style):
            style = self._styles.get(identity)
            if style is not None and (style.name_val or "").lower().startswith("toc"):
                return CONTENTS
        is_struck = any(self._has(run, paragraph, strike) for strike in _STRIKES)
        return DELETED if is_struck else None

    def _has(self, run: Any, paragraph: Any, name: str) -> bool:
        """Return whether a run has a property: of its own, or by one of the styles of
        the run and the paragraph. Both together put it off (ISO 29500-1, 17.7.3)."""
        own = _property(run, name)
        if own is not None:
            return own
        of_paragraph = paragraph is not None and self._by_style(paragraph.style, name)
        return of_paragraph != self._by_style(run.style, name)

    def _by_style(self, identity: str | None, name: str) -> bool:
        """Return whether a style has a property, or else the nearest of its parents
        that puts it on or off."""
        key = (identity, name)
        if key not in self._known:
            self._known[key] = False  # for styles that are their own parents
            style = self._styles.get(identity)
            if style is not None:
                own = _property(style, name)
                parent = style.find(f"{_W}basedOn")
                if own is None and parent is not None:
                    own = self._by_style(parent.get(f"{_W}val"), name)
                self._known[key] = bool(own)
        return self._known[key]


def _property(holder: Any, name: str) -> bool | None:
    """Return whether a run or a style puts a property on or off; None if neither."""
    own = holder.find(f"{_W}rPr/{name}")
    return None if own is None else own.get(f"{_W}val") not in _OFF


def _sign_of(symbol: Any) -> str:
    """Return the character of a sign that is given with its font; "" of one that only
    the font knows."""
    try:
        code = int(symbol.get(f"{_W}char", ""), 16)
    except ValueError:
        return ""
    if not 0xF000 <= code <= 0xF0FF:
        return chr(code) if code < 0xD800 else ""
    if symbol.get(f"{_W}font", "").lower() != "symbol":
        return ""
    for first, signs in _SYMBOLS.items():
        if first <= code - 0xF000 < first + len(signs):
            return signs[code - 0xF000 - first]
    return ""


_SYMBOLS = {
    0x20: " !∀#∃%&∋()∗+,−./0123456789:;<=>?≅ΑΒΧΔΕΦΓΗΙϑΚΛΜΝΟΠΘΡΣΤΥςΩΞΨΖ[∴]⊥_‾"  # noqa: RUF001
    "αβχδεφγηιϕκλμνοπθρστυϖωξψζ{|}∼",  # noqa: RUF001
    0xA0: "€ϒ′≤⁄∞ƒ♣♦♥♠↔←↑→↓°±″≥×∝∂•÷≠≡≈…⏐⎯↵ℵℑℜ℘⊗⊕∅∩∪⊃⊇⊄⊂⊆∈∉∠∇®©™∏√⋅¬∧∨⇔⇐⇑⇒⇓◊〈®©™∑",  # noqa: RUF001
}
"""Code of the first sign -> signs of the font Symbol."""


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
    f"{_TEXT_NS}hidden-paragraph": UNSEEN, f"{_TEXT_NS}placeholder": UNSEEN,
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
        styles = _odt_styles(root)
        if "styles.xml" in archive.namelist():
            others = etree.fromstring(archive.read("styles.xml"), parser)
            # its automatic styles are of headers, and called as those of the text
            for named in others.iter(f"{_OFFICE_NS}styles"):
                styles = _odt_styles(named) | styles
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
    for paragraph, string, left_as in _strings_of_odt(body, styles):
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


def _odt_styles(root: Any) -> dict[str, tuple[str, dict[str, bool]]]:
    """Return the styles in a part of a file: name -> the name of its parent, and what
    it puts on or off, as which text is left out."""
    styles = {}
    for style in root.iter(f"{_STYLE_NS}style"):
        puts = {}
        for properties in style.iter(f"{_STYLE_NS}text-properties"):
            lines = {properties.get(f"{_STYLE_NS}{key}") for key in _STRIKES_ODT}
            display = properties.get(_DISPLAY)
            if display is not None:
                puts[UNSEEN] = display == "none"
            if lines - {None}:
                puts[DELETED] = "none" not in lines
        parent = style.get(f"{_STYLE_NS}parent-style-name", "")
        styles[style.get(f"{_STYLE_NS}name", "")] = (parent, puts)
    return styles


def _put_by_style(
    name: str, styles: Mapping[str, tuple[str, dict[str, bool]]]
) -> dict[str, bool]:
    """Return what a style puts on or off, by itself or the nearest of its parents."""
    puts: dict[str, bool] = {}
    seen = set()
    while name in styles and name not in seen:
        seen.add(name)
        name, own = styles[name]
        puts = own | puts
    return puts


_STRIKES_ODT = ("text-line-through-style", "text-line-through-type")
_DISPLAY = f"{_TEXT_NS}display"


def _strings_of_odt(
    body: Any, styles: Mapping[str, tuple[str, dict[str, bool]]]
) -> Iterator[tuple[Any, str, str | None]]:
    """Yield (paragraph, string, as what it is left out) in the order of the text."""
    from lxml import etree

    paragraphs: list[Any] = []
    # as what text is left out by the tags around it, and what their styles put on
    around: list[tuple[str | None, dict[str, bool]]] = [(None, {})]
    for event, element in etree.iterwalk(body, events=("start", "end")):
        tag = element.tag
        if event == "start":
            part, puts = around[-1]
            if part is None:
                part = _ODT_LEFT_OUT.get(tag)
            if tag == _SECTION and element.get(_DISPLAY) == "none":
                part = UNSEEN
            name = element.get(f"{_TEXT_NS}style-name")
            if name is not None:
                puts = puts | _put_by_style(name, styles)
            around.append((part, puts))
            if paragraphs and _left_as_in(around) is not None:
                yield paragraphs[-1], "", UNSEEN  # it may have no text of its own
            if tag in _ODT_PARAGRAPHS:
                paragraphs.append(element)
            count = int(element.get(f"{_TEXT_NS}c", 1)) if tag == _BLANKS else 0
            sign = _ODT_SIGNS.get(tag, " " * min(count, 100))
            string = sign + _collapsed(element.text)
        else:
            if tag in _ODT_PARAGRAPHS:
                paragraphs.pop()
            around.pop()
            string = _collapsed(element.tail)
        if paragraphs and string:
            yield paragraphs[-1], string, _left_as_in(around)


def _left_as_in(around: Sequence[tuple[str | None, dict[str, bool]]]) -> str | None:
    """Return as what text in the innermost tag is left out; None if it stays."""
    part, puts = around[-1]
    if part is None:
        part = next((own for own in (UNSEEN, DELETED) if puts.get(own)), None)
    return part


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
