"""Read HTML: a saved page, or a file of an EPUB, without what is no text of its
author."""

import re
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from io import StringIO
from operator import attrgetter
from pathlib import Path
from typing import NamedTuple

from pretrace.documents.layout import BOOK, LaidOutText, count_words
from pretrace.documents.markup import Tag, read_markup
from pretrace.documents.readers import limits
from pretrace.documents.readers.encodings import (
    decode,
    encoding_told,
    has_mark,
    shown_encoding,
)
from pretrace.documents.readers.notes import (
    BRACKETED_MARK,
    DELETED,
    EQUATIONS,
    NOTE_MARK,
    NOTE_NAME,
    NOTE_TYPE,
    NOTES,
    READINGS,
    UNSEEN,
)
from pretrace.runtime.errors import InputError

_BLOCKS = {
    "address", "article", "aside", "blockquote", "body", "dd", "div", "dl", "dt",
    "figcaption", "figure", "h1", "h2",
    "h3", "h4", "h5", "h6", "header", "hr", "li", "main", "ol", "p", "pre", "section",
    "table", "td", "th", "tr", "ul",
}  # fmt: skip
"""Tags that are paragraphs, or around them; a cell of a table is one, as in documents
of word processors."""

_HEADINGS = {"h1", "h2", "h3", "h4", "h5", "h6"}
_OF_TEXT = {
    "blockquote", "dd", "dl", "dt", "figcaption", "figure", "hr", "li", "ol", "p", "pre",
    "td", "th", "tr", "ul", *_HEADINGS,
}  # fmt: skip
"""Blocks that stand beside each other in a text; others are around parts of a page."""

NAVIGATION = "navigation"
"""Menus, banners and forms."""

_PART_OF_TAG = dict.fromkeys(
    ("head", "script", "style", "template", "noscript", "svg", "button",
     "select", "datalist", "textarea", "iframe", "object", "audio", "video", "canvas",
     "epub:case"), UNSEEN
) | {"nav": NAVIGATION, "footer": NAVIGATION, "form": NAVIGATION, "dialog": NAVIGATION,
     "aside": NOTES,
     "math": EQUATIONS, "rt": READINGS, "rp": READINGS,
     "del": DELETED, "s": DELETED, "strike": DELETED}  # fmt: skip
"""Tags whose text is left out, and as what. An aside is a note in a book, and beside
the text of a page."""

_STRUCK = "line-through"
"""The word of styles for text that is struck through."""

_CHANGING = {*_BLOCKS, *_PART_OF_TAG, "pre", "sup"}
"""Tags without which a place changes only by an attribute."""

_ROLES_OF_NAVIGATION = {
    "navigation", "banner", "contentinfo", "complementary", "search", "dialog",
    "alertdialog", "menu", "menubar",
}  # fmt: skip
_NAME_OF_NAVIGATION = re.compile(
    r"(?!(?:has|with|without|no|is|not)[-_])(?:.*[-_])?(?:cookies?|consent|gdpr|onetrust|nav|navbar|navigation|menu"
    r"|breadcrumbs?|sidebar|share|sharing|social|newsletter|subscribe|advert|adverts|advertisement|popup|modal|related"
    r"|toolbar|pagination|masthead|skip|skiplink|editsection|comments|disqus|site-?header|(?:site-?)?footer"
    r"|recommended|recommendations|trending|taboola|outbrain|ads?|promo|sponsored|signup|login|paywall|donate|respond"
    r"|comment-?list|byline|copyright|author[-_]*(?:bio|info|box))"
    r"(?:[-_].*|banner|bar|box|notice|list|links?|overlay|area)?"
    r"|no-?print|d-print-none|catlinks"
    r"|.*(?:cookieb|cookiec|cookien|cookiep|usercentrics|didomi|truste|iubenda|cmplz).*"
)
"""Classes and names of what surrounds the text of a saved page, or is not printed with
it; the last are those of programs that ask for consent."""

_LABEL_OF_NAVIGATION = re.compile(
    r"\b(?:cookies?|consent|breadcrumbs?|navigation|menu|share|search)\b",
    re.IGNORECASE,
)
"""Words of a label, which is read aloud, of what surrounds the text."""

_EDGES_OF_PRINT = {"header", "footer"}
"""Titles of the parts that word processors write for the edges of pages."""

# tags whose classes say what a page has, and not what they are
_WHOLE = {"html", "body", "main", "article"}
_NUMBERING_MARK = re.compile(r"(page|line)-?(?:break|num|no)", re.IGNORECASE)
_PLACE_OF_PAGE = re.compile(r"(?:page|pg)[-_]?(\d+|[ivxlc]+)", re.IGNORECASE)
_PAGE_LABEL = re.compile(r"\W*(?:(?:page|pg|p)\b\.?\s*)?(?:\d{1,4}|[ivxlc]+)\W*", re.I)
_DECORATION = "text-decoration"
_PUTS = re.compile(
    rf"(?<![\w-])(display|visibility|{_DECORATION}(?:-line)?)\s*:([^;]*)"
)
_OFF = re.compile(r"\b(?:none|hidden|collapse)\b")
_NAME_OF_HIDDEN = re.compile(
    r"sr-only|visually-?hidden|screen-?reader(?:-?(?:text|only))?"
)
"""Classes of what is read aloud, and not shown."""

_LISTS = {"ul", "ol", "dl", "menu"}
LINKED = 0.9
"""Share of the words of a list that are links, at least, if the list surrounds the text
of a page."""

SENTENCE = 10
"""Words of a paragraph, at least, that shows where the text of a page is."""

FEW_LINKED = 0.1
"""Share of its words that are links, at most."""

LEAST_OF_PAGE = 0.25
"""Share of the words that is left of a page, at least, between its first and its last
such paragraph; if less is, all stay."""

MOST = 0.5
"""Share of the words of a file, or a book, that is never left out, whatever its tags
are called."""


def read_html(data: bytes, path: Path) -> LaidOutText:
    """Read a saved page: its main part, if it has one with most of the words."""
    markup, encoding = decode_markup(data, path)
    limits.check_pieces(markup.count("<"), "tags", path)
    leaving = Leaving(of_page=True, styles=rules_of(styles_in(markup), {}))
    reading = lay_out(markup, path, leaving)
    if reading.lists_of_links:
        leaving = replace(leaving, lists=reading.lists_of_links)
        reading = lay_out(markup, path, leaving)
    words = count_words(reading.text) + reading.left_out.total()
    # in a form around the whole page may be a column that is called a side bar
    while most := reading.parts_with_most(words):
        leaving = replace(leaving, stays_at=leaving.stays_at | most)
        reading = lay_out(markup, path, leaving)
    if reading.words_of_main > MOST * count_words(reading.text):
        reading = lay_out(markup, path, replace(leaving, around_main=True))
    reading.leave_out_surroundings()
    reading.encoding = encoding
    return reading


def decode_markup(data: bytes, path: Path) -> tuple[str, str]:
    """Return HTML, or XML, and its encoding: by its mark, by what it says, or else as
    other texts."""
    head = re.sub(rb"<!--.*?(?:-->|\Z)", b"", data[:2000], flags=re.DOTALL)
    labels = []
    for pattern in (_XML_ENCODING, _CHARSET):
        told = pattern.search(head)
        labels.append(told[1].decode("ascii", "replace") if told else "")
    if ".htm" in path.name.lower():
        labels.reverse()  # browsers take HTML by its own words first
    elif not labels[0] and b"\0" not in head:
        labels[0] = "utf-8"
    for label in labels:
        name = encoding_told(label)
        # a mark says more, and what can be read to here is no UTF-16
        if not name or has_mark(data) or name.startswith(("utf-16", "utf-32")):
            continue
        try:
            return data.decode(name), shown_encoding(name)
        except (UnicodeError, LookupError):  # such as of idna, and of hex
            continue
    return decode(data, path)


_CHARSET = re.compile(
    rb"""<meta\b[^>]*?\bcharset\s*=\s*["']?\s*([\w.:-]+)""", re.IGNORECASE
)
_XML_ENCODING = re.compile(rb"""\A\s*<\?xml[^>]*?\bencoding\s*=\s*["']([\w.:-]+)""")


def styles_in(markup: str) -> str:
    """Return the styles that markup has in tags of their own."""
    styles = []
    for piece in markup.lower().split("<style")[1:]:
        styles.append(piece.partition(">")[2].partition("</style")[0])
    return "\n".join(styles)


Puts = dict[str, bool]
"""What styles (CSS) put on or off: `display` and `visibility` hide text, and
`text-decoration` strikes it through."""


def _puts(declared: str) -> Puts:
    """Return what styles in small letters put on or off."""
    puts = {}
    for name, value in _PUTS.findall(declared):
        if name.startswith(_DECORATION):
            puts[_DECORATION] = _STRUCK in value
        else:
            puts[name] = _OFF.search(value) is not None
    return puts


class Rule(NamedTuple):
    """What styles put on or off at tags that have all of these names, such as `p`,
    `.class` and `#id`; a rule of higher rank wins."""

    rank: int
    names: frozenset[str]
    puts: Puts


Styles = dict[str, list[Rule]]
"""Rules, by the last of the names that a tag must have."""


def rules_of(styles: str, earlier: Mapping[str, Sequence[Rule]]) -> Styles:
    """Return the rules of a style sheet, after earlier ones, that hide text or strike
    it through.

    Text that is hidden only within other tags stays; what is shown or struck through
    there is so everywhere.
    """
    rules = {name: [*own] for name, own in earlier.items()}
    for rule in _NOT_FOR_SCREENS.sub("", styles.lower()).split("}"):
        selectors, _, declared = rule.rpartition("{")
        puts = _puts(declared)
        within_others = {
            name: is_off
            for name, is_off in puts.items()
            if is_off == (name == _DECORATION)
        }
        for selector in selectors.split(",") if puts else ():
            *around, last = _COMBINED.split(selector.strip())
            if _CLASSES_OF_TAG.fullmatch(last):
                names = _NAMES.findall(last)
                rank = len(names) + len(around)
                own = Rule(rank, frozenset(names), within_others if around else puts)
                rules.setdefault(names[-1], []).append(own)
    return rules


# comments, and rules for print or for some widths of a window
_NOT_FOR_SCREENS = re.compile(
    r"/\*.*?(?:\*/|\Z)|@[^@{};]*\{(?:[^{}]*\{[^{}]*\})*[^{}]*\}", re.DOTALL
)
_COMBINED = re.compile(r"[\s>+~]+")
# `p.gone` and `#gone`, not `a.gone:hover`
_CLASSES_OF_TAG = re.compile(r"[a-z0-9]*(?:[.#][\w-]+)+")
_NAMES = re.compile(r"[.#]?[\w-]+")


@dataclass(frozen=True)
class Leaving:
    """What is left out of markup besides notes and what nobody sees.

    `sections` are types of an EPUB's sections -> what they are; `of_page`, what
    surrounds the text of a saved page; `around_main`, all that is not in its main part.
    What `stays` is left in, whatever its tags are called, and so are the tags of a page
    with the numbers `stays_at`. `lists` are the numbers of
    lists of links, which surround the text, too. `styles` hide text or strike it
    through.
    """

    sections: Mapping[str, str] = field(default_factory=dict)
    of_page: bool = False
    around_main: bool = False
    stays: frozenset[str] = frozenset()
    stays_at: frozenset[int] = frozenset()
    lists: frozenset[int] = frozenset()
    styles: Mapping[str, Sequence[Rule]] = field(default_factory=dict)

    def without(self, reading: LaidOutText, words: int) -> "Leaving":
        """Leave in what was left out of a reading, if it is most of the `words` of the
        whole document. Readings, which may be longer than their characters, never are.
        """
        stays = {part for part, own in reading.left_out.items() if own > MOST * words}
        return replace(self, stays=self.stays | stays - {READINGS})

    def puts_at(self, tag: Tag) -> Puts:
        """Return what the styles put on or off at a tag."""
        attributes = tag.attributes
        names = [tag.name]
        for name in attributes.get("class", "").lower().split():
            names.append(f".{name}")
        names.append(f"#{attributes.get('id', '').lower()}")
        rules: list[Rule] = []
        for name in names:
            rules += self.styles.get(name, ())
        puts: Puts = {}
        for rule in sorted(rules, key=attrgetter("rank")):
            puts |= rule.puts if rule.names.issubset(names) else {}
        if "hidden" in attributes:
            puts["display"] = True
        return puts | _puts(attributes.get("style", "").lower())

    def part_of(self, tag: Tag, number: int, puts: Puts) -> str | None:
        """Return what the text in a tag, which is the part `number` of the markup, and
        at which styles put this on or off, is left out as; None if it stays."""
        part = self._named_part_of(tag, puts)
        if part is None and number in self.lists:
            part = NAVIGATION
        return None if part in self.stays or number in self.stays_at else part

    def _named_part_of(self, tag: Tag, puts: Puts) -> str | None:
        attributes = tag.attributes
        if tag.name == "aside" and self.of_page:
            return NAVIGATION
        # a template with this attribute is shown in place of what is around it
        if tag.name in _PART_OF_TAG and "shadowrootmode" not in attributes:
            return _PART_OF_TAG[tag.name]
        # others than these signs are seen, and read aloud from a text beside them
        is_sign = tag.name in ("a", "i") and attributes.get("aria-hidden") == "true"
        if is_sign or puts.get("display"):
            return UNSEEN
        if puts.get(_DECORATION):
            return DELETED
        role = attributes.get("role", "").lower()
        if role in _ROLES_OF_NAVIGATION:
            return NAVIGATION
        if attributes.get("title", "").lower() in _EDGES_OF_PRINT:
            return UNSEEN
        types = attributes.get("epub:type", "").lower().split()
        names = _names(attributes)
        if any(map(_NAME_OF_HIDDEN.fullmatch, names)):
            return UNSEEN
        is_named_note = any(map(NOTE_NAME.fullmatch, [role, *names]))
        if is_named_note or any(map(NOTE_TYPE.fullmatch, types)):
            return NOTES
        if self.of_page and tag.name not in _WHOLE and _is_around(tag, names):
            return NAVIGATION
        if tag.name in ("body", "section", "article", "div", "nav"):
            for own in types:
                if own in self.sections:
                    return self.sections[own]
        return None


def _is_around(tag: Tag, names: list[str]) -> bool:
    """Return whether a tag says by its names or its label that it surrounds the text of
    a page."""
    if any(map(_NAME_OF_NAVIGATION.fullmatch, names)):
        return True
    label = tag.attributes.get("aria-label", "")
    return _LABEL_OF_NAVIGATION.search(label) is not None


def _names(attributes: Mapping[str, str]) -> list[str]:
    named = f"{attributes.get('class', '')} {attributes.get('id', '')}"
    return named.lower().split()


@dataclass(frozen=True)
class _Place:
    """What holds for the strings in a tag, by the tags around it: `part` is what they
    are left out as, if they are.

    `part_number` is the number of the tag that is left out.
    `block` numbers the innermost block, `box` the innermost around paragraphs,
    `list_number` the outermost list; 0 for none.
    `numbering` is what a class says that numbers are of, `page` the number that an id
    has.
    """

    block: int = 0
    box: int = 0
    is_heading: bool = False
    part: str | None = None
    part_number: int = 0
    numbering: str = ""
    page: str = ""
    keeps_lines: bool = False
    is_raised: bool = False
    href: str = ""
    in_main: bool = False
    list_number: int = 0
    is_invisible: bool = False

    @property
    def left_as(self) -> str | None:
        """What a string here is left out as: a part, or what nobody sees, in which a
        tag may be seen again."""
        return UNSEEN if self.part is None and self.is_invisible else self.part

    def inside(self, tag: Tag, number: int, leaving: Leaving) -> "_Place":
        """Return the place in a tag, which is the part `number` of the markup."""
        if not tag.attributes and tag.name not in _CHANGING:
            return self
        about = " ".join(
            tag.attributes.get(key, "") for key in ("class", "epub:type", "role")
        )
        is_main = (
            tag.name in ("main", "article") or tag.attributes.get("role") == "main"
        )
        numbering = _NUMBERING_MARK.search(about)
        kind_of_number = numbering[1].lower() if numbering else ""
        place_of_page = _PLACE_OF_PAGE.fullmatch(tag.attributes.get("id", ""))
        page = place_of_page[1].lower() if place_of_page else self.page
        is_outer_list = tag.name in _LISTS and not self.list_number
        puts = leaving.puts_at(tag) if tag.attributes else {}
        part = leaving.part_of(tag, number, puts) if self.part is None else self.part
        return _Place(
            block=number if tag.name in _BLOCKS else self.block,
            box=number if tag.name in _BLOCKS - _OF_TEXT else self.box,
            is_heading=self.is_heading or tag.name in _HEADINGS,
            part=part,
            part_number=self.part_number if part == self.part else number,
            numbering=self.numbering or kind_of_number,
            page="" if tag.name in _BLOCKS else page,
            keeps_lines=self.keeps_lines or tag.name == "pre",
            is_raised=self.is_raised or tag.name == "sup",
            href=self.href or tag.attributes.get("href", ""),
            in_main=self.in_main or is_main,
            list_number=number if is_outer_list else self.list_number,
            is_invisible=puts.get("visibility", self.is_invisible),
        )

    def numbered_by(self, string: str) -> str:
        """Return what a string numbers, `page` or `line`; "" if it is text."""
        if not _PAGE_LABEL.fullmatch(string):
            return ""
        is_page = bool(self.page) and self.page in string.lower()
        return self.numbering or ("page" if is_page else "")

    def is_number_of_note(self, string: str) -> bool:
        """Return whether a string is the raised or bracketed number of a note, which
        leads to it."""
        mark = NOTE_MARK if self.is_raised else BRACKETED_MARK
        return "#" in self.href and mark.fullmatch(string.strip()) is not None


@dataclass
class _Paragraph:
    """A paragraph that was read, and where: its text, words, and those in links."""

    place: _Place
    written: StringIO = field(default_factory=StringIO)
    words: int = 0
    linked: int = 0

    @property
    def is_of_text(self) -> bool:
        """Whether it is long enough, with few links, to be of the text of a page."""
        return self.words >= SENTENCE and self.linked <= FEW_LINKED * self.words

    @property
    def is_link(self) -> bool:
        return self.linked > MOST * self.words


@dataclass
class LaidOutMarkup(LaidOutText):
    """What was read of markup, and how many words of it are in its main part.

    `left_at` has the words that were left out, by the number of the tag. `in_lists` has
    the words of each list, by its number, and `linked_in_lists` those that are links.
    """

    paragraphs: list[_Paragraph] = field(default_factory=list)
    words_of_main: int = 0
    left_at: Counter[int] = field(default_factory=Counter)
    in_lists: Counter[int] = field(default_factory=Counter)
    linked_in_lists: Counter[int] = field(default_factory=Counter)

    def join_paragraphs(self) -> None:
        """Make the text of the paragraphs."""
        written = [paragraph.written.getvalue() for paragraph in self.paragraphs]
        text = re.sub(r"[^\S\n]+", " ", "\n\n".join(written))
        text = re.sub(r" *\n *", "\n", text)
        self.text = re.sub(r"\n{3,}", "\n\n", text).strip()

    def leave_out_surroundings(self) -> None:
        """Leave out what surrounds the text of a page without a name that says so:
        links, and what is before its first or after its last paragraph of text. What
        stands beside text in one box stays, and so does a headline. A page without
        menus and links, and a book, stay as they are."""
        boxes = set()
        has_links = self.left_out[NAVIGATION] > 0
        words = 0
        for paragraph in self.paragraphs:
            words += paragraph.words
            has_links = has_links or paragraph.is_link
            if paragraph.is_of_text:
                boxes.add(paragraph.place.box)
        if not (has_links and boxes) or words >= BOOK:
            return
        kept = []
        for paragraph in self.paragraphs:
            if paragraph.place.box in boxes or not paragraph.is_link:
                kept.append(paragraph)
        places = []
        for number, paragraph in enumerate(kept):
            if paragraph.is_of_text:
                places.append(number)
        begin, last = places[0], places[-1]
        while begin > 0 and kept[begin - 1].place.box == kept[begin].place.box:
            begin -= 1
        if begin > 0 and kept[begin - 1].place.is_heading:
            begin -= 1
        while last + 1 < len(kept) and kept[last + 1].place.box == kept[last].place.box:
            last += 1
        kept = kept[begin : last + 1]
        words_kept = sum(paragraph.words for paragraph in kept)
        if words_kept >= LEAST_OF_PAGE * words:
            self.paragraphs = kept
            self.left_out[NAVIGATION] += words - words_kept
            self.join_paragraphs()

    def parts_with_most(self, words: int) -> frozenset[int]:
        """Return the number of the tag that was left out with most of the `words`, if
        one was."""
        numbers = set()
        for number, own in self.left_at.items():
            if own > MOST * words:
                numbers.add(number)
        return frozenset(numbers)

    @property
    def lists_of_links(self) -> frozenset[int]:
        """The numbers of lists whose words are links, all but few."""
        numbers = set()
        for number, words in self.in_lists.items():
            if words and self.linked_in_lists[number] >= LINKED * words:
                numbers.add(number)
        return frozenset(numbers)


@dataclass
class NotePlaces:
    """The addresses that raised numbers of notes lead to: what is there is a note.

    Filled while a document is read, because notes stand after their numbers. `resolve`
    makes an address of a link's target.
    """

    places: set[str] = field(default_factory=set)
    resolve: Callable[[str], str] = str

    def add(self, href: str) -> None:
        self.places.add(self.resolve(href))

    def has(self, tag: Tag) -> bool:
        """Return whether a tag is the place of a note."""
        if not self.places:
            return False
        for key in ("id", "name"):
            name = tag.attributes.get(key)
            if name and self.resolve(f"#{name}") in self.places:
                return True
        return False


def _leads_to_note(tag: Tag) -> bool:
    """Return whether a tag says that it is the number of a note, and where that is."""
    attributes = tag.attributes
    about = attributes.get("epub:type", "") + attributes.get("role", "")
    return "noteref" in about.lower() and "#" in attributes.get("href", "")


def lay_out(
    markup: str, path: Path, leaving: Leaving, notes: NotePlaces | None = None
) -> LaidOutMarkup:
    """Return the text of markup, a block a paragraph; `notes` are the places of notes
    that earlier files lead to."""
    notes = notes or NotePlaces()
    last = _Place()
    reading = LaidOutMarkup("", "", paragraphs=[_Paragraph(last)])
    note = 0  # the block of the note that is being read
    for part, place in _placed(markup, path, leaving, notes):
        if isinstance(part, Tag):
            if part.name == "br" and part.begins and place.left_as is None:
                reading.paragraphs[-1].written.write("\n")
            # an anchor with which a block begins
            if part.begins and place.block != last.block and notes.has(part):
                note = place.block
            if part.begins and _leads_to_note(part):
                notes.add(part.attributes["href"])
            continue
        left_as = place.left_as
        if left_as is None and place.block == note and NOTES not in leaving.stays:
            left_as = NOTES
        if left_as is None and place.is_number_of_note(part):
            left_as = NOTES
            if place.is_raised:
                notes.add(place.href)
        if left_as is None and leaving.around_main and not place.in_main:
            left_as = NAVIGATION
        if left_as is not None:
            reading.left_out[left_as] += count_words(part)
            if left_as != UNSEEN and place.part_number:
                reading.left_at[place.part_number] += count_words(part)
        elif numbered := place.numbered_by(part):
            reading.removed[f"{numbered} numbers"] += 1
        else:
            if place.block != last.block and part.strip():
                last = place
                reading.paragraphs.append(_Paragraph(place))
            paragraph = reading.paragraphs[-1]
            paragraph.written.write(
                part if place.keeps_lines else part.replace("\n", " ")
            )
            words = count_words(part)
            paragraph.words += words
            if place.href:
                paragraph.linked += words
            if place.in_main:
                reading.words_of_main += words
            if place.list_number:
                reading.in_lists[place.list_number] += words
            if place.list_number and place.href:
                reading.linked_in_lists[place.list_number] += words
    del reading.left_out[UNSEEN]
    reading.join_paragraphs()
    return reading


def _placed(
    markup: str, path: Path, leaving: Leaving, notes: NotePlaces
) -> Iterator[tuple[Tag | str, _Place]]:
    """Yield tags and strings of markup, each with the place that it is in."""
    around = [_Place()]  # of the tags that are open, from the outermost on
    quotes = 0
    for number, part in enumerate(read_markup(markup), start=1):
        yield part, around[-1]
        if isinstance(part, str):
            continue
        if part.begins:
            place = around[-1].inside(part, number, leaving)
            is_note = part.name in _BLOCKS and notes.has(part)
            if is_note and place.part is None and NOTES not in leaving.stays:
                place = replace(place, part=NOTES)
            around.append(place)
        string = _string_of(part, quotes)
        if string and around[-1].left_as is None:
            yield string, around[-1]
        if not part.begins:
            around.pop()
        if part.name == "q":
            quotes += 1 if part.begins else -1
        if len(around) > limits.MOST_OPEN:
            raise InputError(
                f"{path}: more than {limits.MOST_OPEN:,} tags are open at once; close "
                "them, or save it as text."
            )


def _string_of(tag: Tag, quotes: int) -> str:
    """Return what a tag itself shows: a quote, within so many others, or a letter that
    is a picture, as the first one of a chapter may be. "" of other tags."""
    if tag.name == "q":
        return ("\u201c\u201d", "\u2018\u2019")[(quotes - (not tag.begins)) % 2][
            not tag.begins
        ]
    if tag.name != "img" or not tag.begins:
        return ""
    text = tag.attributes.get("alt", "").strip()
    is_letter = len(text) == 1 and text.isalpha()
    is_named_so = re.search(r"drop-?cap", tag.attributes.get("class", "").lower())
    return text if is_letter or is_named_so else ""
