"""Read text and Markdown in any encoding."""

import re
from pathlib import Path

from pretrace.documents.layout import LaidOutText, count_words, without_page_edges
from pretrace.documents.readers.encodings import decode
from pretrace.documents.readers.limits import check_pieces
from pretrace.documents.readers.notes import DELETED, NOTES


def read_plain(data: bytes, path: Path) -> LaidOutText:
    text, encoding = decode(data, path)
    text = re.sub(r"\r\n?", "\n", text)
    check_pieces(text.count("\n") + text.count("\f"), "lines", path)
    reading = without_page_edges(text.split("\f"))
    reading.encoding = encoding
    return reading


_HEADER = re.compile(r"---\n(?=[\w-]+:).*?\n(?:---|\.\.\.)\n", re.DOTALL)
_COMMENT = re.compile(r"<!--(?:(?!<!--).)*?-->\n?", re.DOTALL)
_NOTE_OF_MARKDOWN = re.compile(
    r"^\[\^[^\]\n]+\]:.*(?:\n(?:[ \t]+\S.*|[ \t]*(?=\n[ \t]+\S)))*\n?", re.MULTILINE
)
_NUMBER_OF_MARKDOWN = re.compile(r"\[\^[^\]\n]+\]")
_STRUCK = r"~~(?=[^\s~])[^~\n]*(?:\n[^~\n]+)*~~"
# with one of the two blanks that it stands between
_STRUCK_IN_MARKDOWN = re.compile(rf"(?<= ){_STRUCK} |(?<!~){_STRUCK}(?!~)")
_LEFT_OUT_OF_MARKDOWN = (
    (_NOTE_OF_MARKDOWN, NOTES),
    (_NUMBER_OF_MARKDOWN, NOTES),
    (_STRUCK_IN_MARKDOWN, DELETED),
)


def read_markdown(data: bytes, path: Path) -> LaidOutText:
    """Read Markdown as it is written, without a header of YAML, comments, notes and
    text that is struck through."""
    reading = read_plain(data, path)
    if header := _HEADER.match(reading.text):
        reading.text = reading.text[header.end() :]
        reading.left_out["front matter"] = count_words(header[0])
    text = _COMMENT.sub("", reading.text)
    for pattern, part in _LEFT_OUT_OF_MARKDOWN:
        for string in pattern.findall(text):
            reading.left_out[part] += count_words(string)
        text = pattern.sub("", text)
    if text != reading.text:
        reading.text = re.sub(r"\n{3,}", "\n\n", text)
    return reading
