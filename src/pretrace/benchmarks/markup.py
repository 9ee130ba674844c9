"""Read HTML and XML as a stream of tags and strings, in a time that grows with their length, whatever is damaged.

Python's own parser needs a time that grows with the square of the length of some damaged files, and a tree of tags
takes hundreds of times the memory of the file. Entities of the file's own are not read.
"""

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from html import unescape

_MARK = re.compile(r"<(?=[a-zA-Z/!?])")
_TAG = re.compile(r"<(/?)([a-zA-Z][^\s/>]*)")
_ATTRIBUTE = re.compile(r"""[\s/]*([^\s/>][^\s/>=]*)(?:\s*=\s*(?:"([^"]*)"|'([^']*)'|([^\s>]*)))?""")
_TAG_END = re.compile(r"[\s/]*>")
_DECLARATIONS = (("<!--", "-->"), ("<![CDATA[", "]]>"), ("<!", ">"), ("<?", ">"), ("</", ">"))
"""Beginnings and ends of what is no text; the first that fits. "</" is here the end of a tag without a name."""

EMPTY_TAGS = {
    "area", "base", "basefont", "bgsound", "br", "col", "command", "embed", "frame", "hr", "image", "img", "input",
    "isindex", "keygen", "link", "menuitem", "meta", "nextid", "param", "source", "spacer", "track", "wbr",
}  # fmt: skip
"""Tags of HTML that hold nothing and are not closed."""

MOST_ATTRIBUTES = 1000
"""Attributes of a tag that are read; further ones say nothing of a text."""

_CODE = {name: re.compile(rf"</{name}(?![^\s/>])", re.IGNORECASE) for name in ("script", "style")}
"""Tags that hold no text, and what ends them."""


@dataclass(frozen=True)
class Tag:
    """A tag: its name in small letters, its attributes, whether it begins or ends what it holds.

    It does both if it is empty.
    """

    name: str
    attributes: Mapping[str, str] = field(default_factory=dict)
    begins: bool = False
    ends: bool = False


def read_markup(text: str) -> Iterator[Tag | str]:
    """Yield the tags of a text and the strings between them, whose characters are no longer escaped.

    Comments, declarations, CDATA and code are left out. What is not closed is text.
    """
    last = {end: text.rfind(end) for _, end in _DECLARATIONS}
    position = 0
    while mark := _MARK.search(text, position, max(0, last[">"])):
        begin = mark.start()
        tag, end = _tag_at(text, begin) or _declaration_at(text, begin, last)
        if end > len(text):
            break
        if begin > position:
            yield unescape(text[position:begin])
        if tag.name:
            yield tag
        position = end
        if tag.name in _CODE and tag.begins and not tag.ends:
            closing = _CODE[tag.name].search(text, position)
            position = closing.start() if closing else len(text)
    if position < len(text):
        yield unescape(text[position:])


def _tag_at(text: str, begin: int) -> tuple[Tag, int] | None:
    """Return the tag at a "<", and where it ends: after the text if it does not. None if it is no tag."""
    named = _TAG.match(text, begin)
    if named is None:
        return None
    closes, name = named.groups()
    position = named.end()
    attributes: dict[str, str] = {}
    while (ending := _TAG_END.match(text, position)) is None:
        attribute = _ATTRIBUTE.match(text, position)
        if attribute is None:
            return Tag(""), len(text) + 1
        key, *values = attribute.groups()
        if len(attributes) < MOST_ATTRIBUTES:
            attributes[key.lower()] = unescape(next((value for value in values if value is not None), ""))
        position = attribute.end()
    end = ending.end()
    name = name.lower()
    if closes:
        return Tag(name, ends=True), end
    is_empty = name in EMPTY_TAGS or text[end - 2] == "/"
    return Tag(name, attributes, begins=True, ends=is_empty), end


def _declaration_at(text: str, begin: int, last: Mapping[str, int]) -> tuple[Tag, int]:
    """Return a tag without a name, and where what begins at a "<" and is no tag ends.

    `last` is where each end comes last, so that a missing one is not searched from each beginning.
    """
    for opening, end in _DECLARATIONS:
        if text.startswith(opening, begin) and begin < last[end]:
            return Tag(""), text.find(end, begin + 2) + len(end)
    return Tag(""), len(text) + 1
