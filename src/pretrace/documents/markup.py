"""Read HTML and XML as a stream of tags and strings, in a time that grows with their
length, whatever is damaged.

lxml's parser of HTML reads both, as browsers do. It makes no tree here, which would
take hundreds of times the memory of the file. Entities of the file's own are not read.
"""

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

_STEP = 1 << 16
"""Bytes that are parsed at a time."""

_OWN_ENTITIES = re.compile(r"<!DOCTYPE[^\[<>]*\[", re.IGNORECASE)
_END_OF_ENTITIES = re.compile(r"\]\s*>")


@dataclass(frozen=True, slots=True)
class Tag:
    """A tag: its name in small letters, its attributes, whether it begins or ends what
    it holds."""

    name: str
    attributes: Mapping[str, str] = field(default_factory=dict)
    begins: bool = False


def read_markup(text: str) -> Iterator[Tag | str]:
    """Yield the tags of a text and the strings between them, whose characters are no
    longer escaped.

    Each tag that begins also ends, later: missing ends are put where browsers put them.
    Comments and declarations are left out.
    """
    from lxml.etree import HTMLParser

    if "<![CDATA[" in text:  # XML's way to write text, which HTML takes for a comment
        text = text.replace("<![CDATA[", "").replace("]]>", "")
    # what a file declares of its own, of which lxml would take the end for text
    declared = _OWN_ENTITIES.search(text)
    end = _END_OF_ENTITIES.search(text, declared.end()) if declared else None
    if declared and end:
        text = f"{text[: declared.start()]}<!DOCTYPE html>{text[end.end() :]}"
    parts = _Parts()
    parser = HTMLParser(target=parts, encoding="utf-8", huge_tree=True)
    data = text.replace("\0", "").encode("utf-8", "replace")
    for begin in range(0, len(data), _STEP):
        parser.feed(data[begin : begin + _STEP])
        yield from parts.taken()
    if data:  # a parser that was given nothing cannot be closed
        parser.close()
    parts.end_string()
    yield from parts.taken()


class _Parts:
    """What lxml tells of a text that it parses; a string comes in pieces, which are
    joined."""

    def __init__(self) -> None:
        self._parts: list[Tag | str] = []
        self._pieces: list[str] = []

    def start(self, name: str, attributes: Mapping[str, str]) -> None:
        self.end_string()
        self._parts.append(Tag(name, dict(attributes), begins=True))

    def end(self, name: str) -> None:
        self.end_string()
        self._parts.append(Tag(name))

    def data(self, piece: str) -> None:
        self._pieces.append(piece)

    def close(self) -> None:
        """Do nothing: lxml asks for this method."""

    def end_string(self) -> None:
        """Take the pieces until here as one string."""
        if self._pieces:
            self._parts.append("".join(self._pieces))
            self._pieces.clear()

    def taken(self) -> list[Tag | str]:
        """Return the parts since the last call."""
        parts = self._parts
        self._parts = []
        return parts
