"""Read documents of word processors: DOCX and ODT, which are zip archives with XML, and
RTF."""

import posixpath
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
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

CONTENTS = "contents"

Puts = dict[str, bool]
"""What a style, or a text itself, puts on or off."""
Key = tuple[str, str | None]
"""Family and name of a style. None is the name of the family's default."""

Styles = dict[Key, tuple[str | None, Puts]]
"""The name of each style's parent, and what the style itself puts on or off."""


def _with_parents(styles: Styles) -> dict[Key, Puts]:
    """Return what each style puts on or off, by itself or the nearest of its parents,
    from the name of each one's parent and what it puts itself."""
    whole = {}
    for family, name in styles:
        puts: Puts = {}
        seen: set[Key] = set()
        key = (family, name)
        while key in styles and key not in seen:
            seen.add(key)
            parent, own = styles[key]
            puts = own | puts
            key = (family, parent)
        whole[family, name] = puts
    return whole


# signs of fonts

UNKNOWN_SIGN = "\uf000"
"""The first of the characters that fonts such as Wingdings have in their own way."""


def _is_symbol(font: str | None) -> bool:
    return (font or "").strip("'\"").lower().startswith("symbol")


def _in_font(text: str, is_symbol: bool) -> str:
    """Return a text with the signs of the font Symbol, if it is in it, as characters."""
    return text.translate(_SYMBOLS) if is_symbol else text


_SYMBOLS: dict[int, str] = {}
for _first, _signs in {
    0x20: " !∀#∃%&∋()∗+,−./0123456789:;<=>?≅ΑΒΧΔΕΦΓΗΙϑΚΛΜΝΟΠΘΡΣΤΥςΩΞΨΖ[∴]⊥_‾"  # noqa: RUF001
    "αβχδεφγηιϕκλμνοπθρστυϖωξψζ{|}∼",  # noqa: RUF001
    0xA0: "€ϒ′≤⁄∞ƒ♣♦♥♠↔←↑→↓°±″≥×∝∂•÷≠≡≈…⏐⎯↵ℵℑℜ℘⊗⊕∅∩∪⊃⊇⊄⊂⊆∈∉∠∇®©™∏√⋅¬∧∨⇔⇐⇑⇒⇓◊〈®©™∑",  # noqa: RUF001
}.items():
    _SYMBOLS |= dict(enumerate(_signs, 0xF000 + _first))
"""Signs of the font Symbol, by the numbers that word processors give them."""


# DOCX

_W = "{http://schemas.openxmlformats.org/wordprocessingml/2006/main}"
_FALLBACK = "{http://schemas.openxmlformats.org/markup-compatibility/2006}Fallback"
"""The tag of what repeats the text before it, for programs that cannot show that."""

_PARAGRAPH, _RUN, _TEXT, _FIELD = f"{_W}p", f"{_W}r", f"{_W}t", f"{_W}sdt"
_SIGNS = {
    f"{_W}tab": "\t",
    f"{_W}ptab": "\t",
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
_OLD_OBJECT = "{urn:schemas-microsoft-com:office:office}OLEObject"
_WRITTEN = {_TEXT, f"{_W}delText", _SYMBOL, *_SIGNS}
"""Tags of strings and signs, in runs."""

_PLACEHOLDER = f"{_W}sdtPr/{_W}showingPlcHdr"
"""What a field of a form has that nobody filled in."""
_ROW, _HIDDEN = f"{_W}tr", f"{_W}trPr/{_W}hidden"
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
_VALUE = f"{_W}val"
_OFF = {"0", "false", "off"}
_PARTS_OF_TAGS = {
    f"{_W}vanish": UNSEEN,
    CONTENTS: CONTENTS,
    f"{_W}strike": DELETED,
    f"{_W}dstrike": DELETED,
}
"""What styles put on or off -> what such text is left out as."""


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
    styles = _docx_styles(document.styles.element)
    about = document.core_properties
    reading = LaidOutText(
        "", "DOCX", title=about.title or "", author=about.author or ""
    )
    body = document.element.body
    if body.find(f".//{_W}altChunk") is not None:
        raise InputError(
            f"{path}: the file holds others in formats of their own; open it in a word "
            "processor, and save it again."
        )
    blocks = _blocks(_strings_of_docx(body, styles), reading)
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


def _blocks(
    strings: Iterable[tuple[Any, str, str | None]], reading: LaidOutText
) -> dict[Any, list[str]]:
    """Return the strings of each paragraph, with a gap for each that is left out; these
    are counted in `reading`."""
    blocks: dict[Any, list[str]] = {}
    for paragraph, string, left_as in strings:
        block = blocks.setdefault(paragraph, [])
        if left_as is None:
            block.append(string)
            continue
        block.append(GAP)
        if left_as != UNSEEN:
            reading.left_out[left_as] += count_words(string)
    return blocks


def _strings_of_docx(
    body: Any, styles: Mapping[Key, Puts]
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
            is_unseen = tag == _RUN and _left_as(element, around, styles) == UNSEEN
            is_hidden = tag == _ROW and element.find(_HIDDEN) is not None
            is_unfilled = tag == _FIELD and element.find(_PLACEHOLDER) is not None
            program = element.get("ProgID", "") if tag == _OLD_OBJECT else ""
            is_old_equation = program.startswith("Equation")
            if tag == _FALLBACK or is_unseen or is_hidden or is_unfilled:
                skipped = element
                if paragraphs:
                    yield paragraphs[-1], "", UNSEEN
            elif tag == _PARAGRAPH:
                paragraphs.append(element)
            elif tag == _EQUATION or is_old_equation:
                skipped = element
                string = " ".join(element.itertext()) or "?"
                yield element if around is None else around, string, EQUATIONS
            elif tag in _LEFT_OUT:
                left_as.append(_LEFT_OUT[tag])
            elif paragraphs and tag in _WRITTEN and element.getparent().tag == _RUN:
                run = element.getparent()
                part = _left_as(run, around, styles)
                string = _string_of(element, run)
                yield around, string, left_as[-1] if left_as else part
        elif tag == _PARAGRAPH:
            paragraphs.pop()
        elif tag in _LEFT_OUT:
            left_as.pop()


def _docx_styles(root: Any) -> dict[Key, Puts]:
    """Return what the styles of a DOCX put on or off; those of the family `document`
    are for all of it."""
    styles: Styles = {}
    for style in root.iter(f"{_W}style"):
        key = (style.get(f"{_W}type"), style.get(f"{_W}styleId"))
        parent = style.find(f"{_W}basedOn")
        name = style.find(f"{_W}name")
        puts = _puts(style)
        if name is not None and name.get(_VALUE, "").lower().startswith("toc"):
            puts[CONTENTS] = True
        styles[key] = (None if parent is None else parent.get(_VALUE, ""), puts)
    whole = _with_parents(styles)
    for style in root.iter(f"{_W}style"):
        if style.get(f"{_W}default", "0") not in _OFF:
            key = (style.get(f"{_W}type"), style.get(f"{_W}styleId"))
            whole[key[0], None] = whole[key]
    for defaults in root.iter(f"{_W}rPrDefault"):
        whole["document", None] = _puts(defaults)
    return whole


def _puts(holder: Any) -> Puts:
    """Return what a run or a style puts on or off itself, by tags."""
    puts = {}
    for own in holder.iterfind(f"{_W}rPr/*"):
        puts[own.tag] = own.get(_VALUE) not in _OFF
    return puts


def _left_as(run: Any, paragraph: Any, styles: Mapping[Key, Puts]) -> str | None:
    """Return what a run is left out as, None if it is text.

    What it does not put on or off itself, the styles of run and paragraph do; both
    together put it off, but not what all of the document has (ISO 29500-1, 17.7.3).
    """
    if any(child.tag in _OF_NOTES for child in run):
        return UNSEEN
    of_all = styles.get(("document", None), {})
    of_run = styles.get(("character", run.style), {})
    of_paragraph: Puts = {}
    if paragraph is not None:
        default = styles.get(("paragraph", None), {})
        of_paragraph = styles.get(("paragraph", paragraph.style), default)
    own = _puts(run)
    for tag, part in _PARTS_OF_TAGS.items():
        is_on = of_paragraph.get(tag, False) != of_run.get(tag, False)
        if own.get(tag, is_on or of_all.get(tag, False)):
            return part
    return None


def _string_of(element: Any, run: Any) -> str:
    """Return the text of a string or a sign in a run."""
    if element.tag == _SYMBOL:
        code = element.get(f"{_W}char", "")
        sign = chr(int(code, 16)) if _CODE.fullmatch(code) else UNKNOWN_SIGN
        return _in_font(sign, _is_symbol(element.get(f"{_W}font")))
    text = _SIGNS.get(element.tag, element.text or "")
    fonts = run.find(f"{_W}rPr/{_W}rFonts")
    return _in_font(text, fonts is not None and _is_symbol(fonts.get(f"{_W}ascii")))


_CODE = re.compile(r"[0-9A-Fa-f]{1,3}|[0-9A-CE-Fa-ce-f][0-9A-Fa-f]{3}")


# ODT

_ODT_NS = "{{urn:oasis:names:tc:opendocument:xmlns:{}:1.0}}"
_TEXT_NS = _ODT_NS.format("text")
_OFFICE_NS = _ODT_NS.format("office")
_SVG_NS = _ODT_NS.format("svg-compatible")
_STYLE_NS = _ODT_NS.format("style")
_DRAW_NS = _ODT_NS.format("drawing")
_ADDRESS = "{http://www.w3.org/1999/xlink}href"
_MATH = "{http://www.w3.org/1998/Math/MathML}math"
_ODT_PARAGRAPHS = {f"{_TEXT_NS}p", f"{_TEXT_NS}h"}
_ODT_SIGNS = {f"{_TEXT_NS}tab": "\t", f"{_TEXT_NS}line-break": "\n"}
_BLANKS, _SECTION = f"{_TEXT_NS}s", f"{_TEXT_NS}section"
_ODT_LEFT_OUT = {
    f"{_TEXT_NS}note": NOTES, f"{_OFFICE_NS}annotation": UNSEEN,
    f"{_TEXT_NS}tracked-changes": DELETED,
    f"{_TEXT_NS}ruby-text": READINGS, f"{_TEXT_NS}hidden-text": UNSEEN,
    f"{_TEXT_NS}hidden-paragraph": UNSEEN, f"{_TEXT_NS}placeholder": UNSEEN,
    f"{_SVG_NS}title": UNSEEN, f"{_SVG_NS}desc": UNSEEN,
    f"{_TEXT_NS}table-of-content": CONTENTS, _MATH: EQUATIONS,
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
        for holder in [*root.iter(f"{_DRAW_NS}object")]:
            name = posixpath.normpath(holder.get(_ADDRESS, "")) + "/content.xml"
            if name in archive.namelist():
                equation = etree.fromstring(archive.read(name), parser)
                etree.strip_elements(equation, "{*}annotation", with_tail=False)
                holder.extend([equation] if equation.tag == _MATH else [])
        about = {}
        if "meta.xml" in archive.namelist():
            meta = etree.fromstring(archive.read("meta.xml"), parser)
            for element in meta.iter("{*}title", "{*}initial-creator"):
                about[etree.QName(element).localname] = element.text or ""
    reading = LaidOutText(
        "", "ODT", title=about.get("title", ""), author=about.get("initial-creator", "")
    )
    body = root.find(f"{_OFFICE_NS}body")
    blocks = _blocks(_strings_of_odt(body, _with_parents(styles)), reading)
    texts = []
    for strings in blocks.values():
        block = close_gaps("".join(strings))
        texts.append(re.sub(r" *\n *", "\n", block).strip())
    reading.text = "\n\n".join(filter(None, texts))
    return reading


def _odt_styles(root: Any) -> Styles:
    """Return the styles in a part of a file: their parents' names, and what they put on
    or off, as which text is left out."""
    styles: Styles = {}
    for style in root.iter(f"{_STYLE_NS}style", f"{_STYLE_NS}default-style"):
        puts = {}
        for properties in style.iter(f"{_STYLE_NS}text-properties"):
            lines = {properties.get(f"{_STYLE_NS}{key}") for key in _STRIKES_ODT}
            display = properties.get(_DISPLAY)
            if display is not None:
                puts[UNSEEN] = display == "none"
            if lines - {None}:
                puts[DELETED] = "none" not in lines
            for font in filter(None, map(properties.get, _FONTS)):
                puts[_SYMBOL] = _is_symbol(font)
        key = (style.get(f"{_STYLE_NS}family"), style.get(f"{_STYLE_NS}name"))
        styles[key] = (style.get(f"{_STYLE_NS}parent-style-name"), puts)
    return styles


_FONTS = (f"{_STYLE_NS}font-name", f"{_ODT_NS.format('xsl-fo-compatible')}font-family")
_STRIKES_ODT = ("text-line-through-style", "text-line-through-type")
_DISPLAY = f"{_TEXT_NS}display"
_HIDES = f"{_TEXT_NS}hidden-paragraph[@{_TEXT_NS}is-hidden='true']"
_FAMILIES = dict.fromkeys(_ODT_PARAGRAPHS, "paragraph") | {f"{_TEXT_NS}span": "text"}


def _strings_of_odt(
    body: Any, styles: Mapping[Key, Puts]
) -> Iterator[tuple[Any, str, str | None]]:
    """Yield (paragraph, string, as what it is left out) in the order of the text."""
    from lxml import etree

    paragraphs: list[Any] = []
    # as what text is left out by the tags around it, and what their styles put on
    around: list[tuple[str | None, Puts]] = [(None, {})]
    for event, element in etree.iterwalk(body, events=("start", "end")):
        tag = element.tag
        if event == "start":
            part, puts = around[-1]
            is_hidden = element.get(f"{_TEXT_NS}is-hidden")
            if part is None and is_hidden != "false":
                part = _ODT_LEFT_OUT.get(tag)
            is_off = tag == _SECTION and element.get(_DISPLAY) == "none"
            if is_off or is_hidden == "true" or element.find(_HIDES) is not None:
                part = UNSEEN
            key = (_FAMILIES.get(tag, ""), element.get(f"{_TEXT_NS}style-name"))
            puts = puts | styles.get(key, {})
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
            string = _in_font(string, around[-1][1].get(_SYMBOL, False))
            yield paragraphs[-1], string, _left_as_in(around)


def _left_as_in(around: Sequence[tuple[str | None, Puts]]) -> str | None:
    """Return as what text in the innermost tag is left out; None if it stays."""
    part, puts = around[-1]
    if part is None:
        part = next((own for own in (UNSEEN, DELETED) if puts.get(own)), None)
    return part


def _collapsed(string: str | None) -> str:
    return re.sub(r"[ \t\r\n]+", " ", string or "")


# RTF

_LINE_BREAK = "\v"


def _sign_of_field(field: re.Match[str]) -> str:
    """Return a field of RTF that is a sign of a font, after the sign."""
    sign = _in_font(chr(0xF000 + int(field["code"])), _is_symbol(field["font"]))
    return rf"{{\uc1\u{ord(sign)}?}}{field[0]}"


_UNTOLD = (
    (
        re.compile(
            r"\{\\\*\\fldinst[^}]{0,200}?\bSYMBOL (?P<code>\d{1,2}|1\d\d|2[0-4]\d|25[0-5])\b"
            r'(?:[^}"]{0,100}"(?P<font>[^"]{0,100})")?'
        ),
        _sign_of_field,
    ),
    # the signs before the lines of a list
    (re.compile(r"\\listtext(?![a-z])"), r"\\pntext"),
    (re.compile(r"HYPERLINK"), "LINK"),  # of which striprtf writes the address, too
    # a cell of a table is a paragraph
    (re.compile(r"\\(?:nest)?cell(?![a-z])"), r"\\par"),
    # of which striprtf makes a paragraph
    (re.compile(r"\\line(?![a-z]) ?"), _LINE_BREAK),
    (re.compile(r"\\_"), "-"),  # a hyphen at which no line ends
)
"""Words of RTF that striprtf takes for text, or leaves out -> words that it knows."""

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
    source, deleted = _seen_of_rtf(source, _rtf_styles(source))
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


_STYLE_OF_RTF = re.compile(r"\s*\{([^{}]*(?:\{[^{}]*\}[^{}]*)*)\}")
_STYLES_OF_RTF = re.compile(rf"\{{\\stylesheet((?:{_STYLE_OF_RTF.pattern})*)")
_WORD_OF_RTF = re.compile(r"\\([a-z]+)(-?\d*)")


def _rtf_styles(source: str) -> dict[Key, Puts]:
    """Return what styles put on or off: of paragraphs, `s`, and of characters, `cs`,
    by numbers."""
    styles: Styles = {}
    sheet = _STYLES_OF_RTF.search(source)
    for style in _STYLE_OF_RTF.findall(sheet[1] if sheet else ""):
        words = dict(_WORD_OF_RTF.findall(style))
        puts = {word: words[word] != "0" for word in _UNSEEN_OF_RTF & words.keys()}
        family = next((own for own in ("cs", "ts", "ds") if own in words), "s")
        styles[family, words.get(family, "0")] = (words.get("sbasedon"), puts)
    return _with_parents(styles)


def _seen_of_rtf(source: str, styles: Mapping[Key, Puts]) -> tuple[str, str]:
    """Return RTF without text that is deleted, struck through or hidden, and the text
    that is deleted or struck through.

    A word of RTF holds until it is taken back, as by `\\strike0`, or its group ends.
    """
    seen: list[str] = []
    deleted: list[str] = []
    # what the style of the paragraph, and what other words put on or off
    groups: list[tuple[Puts, Puts]] = [(styles.get(("s", "0"), {}), {})]
    for part in _PART_OF_RTF.finditer(source):
        word = part["word"]
        of_paragraph, own = groups[-1]
        if part[0] == "{":
            groups.append(groups[-1])
        elif part[0] == "}" and len(groups) > 1:
            groups.pop()
        elif word in ("pard", "s"):
            groups[-1] = (styles.get(("s", part["number"] or "0"), {}), own)
        elif word == "plain":
            groups[-1] = (of_paragraph, {"deleted": own.get("deleted", False)})
        elif word == "cs":
            groups[-1] = (of_paragraph, own | styles.get(("cs", part["number"]), {}))
        elif word in _UNSEEN_OF_RTF:
            groups[-1] = (of_paragraph, own | {word: part["number"] != "0"})
        is_text = part[0] not in "{}" and (word is None or word in _SIGNS_OF_RTF)
        puts = of_paragraph | own if is_text else {}
        if any(puts.values()):
            seen.append(GAP)
            if not any(puts.get(untold) for untold in _UNTOLD_OF_RTF):
                deleted.append(part[0])
        else:
            seen.append(part[0])
            if is_text:
                # so that deleted words apart from each other stay so
                deleted.append(" ")
    return "".join(seen), "".join(deleted)
