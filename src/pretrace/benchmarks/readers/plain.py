"""Read text and Markdown in any encoding."""

import re
from pathlib import Path

from pretrace.benchmarks.languages import is_latin
from pretrace.benchmarks.layout import LaidOutText, count_words, without_page_edges
from pretrace.benchmarks.readers.limits import check_pieces
from pretrace.benchmarks.readers.notes import NOTES
from pretrace.runtime.errors import InputError

BROKEN = "\ufffd"
"""What stands in place of bytes that are no character."""

FEW_BROKEN = 0.25
"""Damaged characters for each right one beyond ASCII, at most, in a text that has the
encoding all the same."""

# words with letters or signs beyond ASCII that a guessed encoding is shown by
ODD_WORDS = 3

WESTERN = ("cp1252", "mac_roman")
"""Encodings in which Western texts were written before UTF-8: of Windows, and of the
Macintosh."""

_MARKS = {
    # longer marks first: that of UTF-32 begins with that of UTF-16
    b"\xff\xfe\0\0": "UTF-32",
    b"\0\0\xfe\xff": "UTF-32",
    b"\xef\xbb\xbf": "UTF-8-SIG",
    b"\xff\xfe": "UTF-16",
    b"\xfe\xff": "UTF-16",
}


def read_plain(data: bytes, path: Path) -> LaidOutText:
    text, encoding = decode(data, path)
    text = re.sub(r"\r\n?", "\n", text)
    check_pieces(text.count("\n") + text.count("\f"), "lines", path)
    reading = without_page_edges(text.split("\f"))
    reading.encoding = encoding
    return reading


_HEADER = re.compile(r"---\n(?=[\w-]+:).*?\n(?:---|\.\.\.)\n", re.DOTALL)
_NOTE_OF_MARKDOWN = re.compile(
    r"^\[\^[^\]\n]+\]:.*(?:\n(?:[ \t]+\S.*|[ \t]*(?=\n[ \t]+\S)))*\n?", re.MULTILINE
)
_NUMBER_OF_MARKDOWN = re.compile(r"\[\^[^\]\n]+\]")


def read_markdown(data: bytes, path: Path) -> LaidOutText:
    """Read Markdown as it is written, without a header of YAML and without notes."""
    reading = read_plain(data, path)
    if header := _HEADER.match(reading.text):
        reading.text = reading.text[header.end() :]
        reading.left_out["front matter"] = count_words(header[0])
    for pattern in (_NOTE_OF_MARKDOWN, _NUMBER_OF_MARKDOWN):
        reading.left_out[NOTES] += sum(
            count_words(note) for note in pattern.findall(reading.text)
        )
        reading.text = pattern.sub("", reading.text)
    return reading


def decode(data: bytes, path: Path) -> tuple[str, str]:
    """Return a text and its encoding: by its byte-order mark, UTF-8, or else the
    likeliest, and what was guessed."""
    encoding = _marked(data)
    try:
        return data.decode(encoding), encoding.removesuffix("-SIG")
    except UnicodeDecodeError as error:
        read = _mended(data, encoding) or (
            _guessed(data) if encoding == "UTF-8" else None
        )
        if read is None:
            raise InputError(
                f"{path}: the file is not text in an encoding that can be told "
                f"({error.reason} at byte {error.start}); save it as UTF-8."
            ) from error
        return read


def _marked(data: bytes) -> str:
    """Return the encoding that the first bytes show, UTF-8 without a sign."""
    for mark, name in _MARKS.items():
        if data.startswith(mark):
            return name
    if b"\0" not in data[:1000]:
        return "UTF-8"
    # the bytes of one place in each letter name the alphabet, and vary least
    four = [len({*data[place:10_000:4]}) for place in range(4)]
    if four[1:3] == [1, 1] or four[2:] == [1, 1] or four[:2] == [1, 1]:
        return "UTF-32-LE" if four[0] > four[3] else "UTF-32-BE"
    is_little = len({*data[1:10_000:2]}) < len({*data[:10_000:2]})
    return "UTF-16-LE" if is_little else "UTF-16-BE"


def _mended(data: bytes, encoding: str) -> tuple[str, str] | None:
    """Return a text of which few characters are damaged, which `BROKEN` replaces; None
    if many are."""
    text = data.decode(encoding, "replace")
    beyond = sum(not character.isascii() for character in text)
    broken = text.count(BROKEN) - data.count(
        BROKEN.encode(encoding.removesuffix("-SIG"))
    )
    if broken > FEW_BROKEN * (beyond - broken):
        return None
    first = text[max(0, text.index(BROKEN) - 20) : text.index(BROKEN) + 10]
    told = (
        f"{broken:,} damaged character{'s' * (broken != 1)} replaced, the first in "
        f"'{' '.join(first.split())}'"
    )
    return text, f"{encoding.removesuffix('-SIG')} ({told})"


def _guessed(data: bytes) -> tuple[str, str] | None:
    """Return a text in the likeliest encoding, None without one; with the first words
    that the guess shows in."""
    from charset_normalizer import from_bytes

    names: list[str] = []
    for guess in from_bytes(data):
        names += [guess.encoding, *guess.could_be_from_charset]
    if not names:
        return None
    # Western texts look right in several encodings: the first of these is by far the
    # commonest
    first = "cp1252" if "cp1252" in names else names[0]
    candidates = dict.fromkeys(
        [first, *WESTERN, names[0]] if _is_latin(data.decode(first)) else [first]
    )
    read = {
        name: text for name in candidates if (text := _decoded(data, name)) is not None
    }
    name = min(read, key=lambda name: _oddness(read[name]))  # the first of equal ones
    odd_words = [word[:20] for word in read[name].split() if not word.isascii()]
    shown = ", ".join([*dict.fromkeys(odd_words)][:ODD_WORDS])
    return read[name], f"{shown_encoding(name)} (guessed; read as: {shown})"


def _decoded(data: bytes, encoding: str) -> str | None:
    try:
        return data.decode(encoding)
    except UnicodeDecodeError:
        return None


def _is_latin(text: str) -> bool:
    """Return whether most letters beyond ASCII are Latin ones, or there are none."""
    letters = []
    for character in text:
        if character.isalpha() and not character.isascii():
            letters.append(character)
    return is_latin(letters[:1000])


_BEYOND_ASCII = re.compile(r"[^\x00-\x7f]")
_WITHIN_WORDS = "\u2019\u2010\u2011\u2013\u2014\u2026\xad\xb7\xa0\xb0\xba\xaa"


def _oddness(text: str) -> int:
    """Return how many characters beyond ASCII are where none belongs, if the encoding
    is the right one."""
    return sum(_is_odd(text, match.start()) for match in _BEYOND_ASCII.finditer(text))


def _is_odd(text: str, place: int) -> bool:
    """Return whether a character is a capital after a small letter, a letter after a
    full stop, or a stray sign."""
    character = text[place]
    before, after = text[place - 1 : place], text[place + 1 : place + 2]
    if character.isalpha():
        return (character.isupper() and before.islower()) or before in (
            ".",
            ",",
            "!",
            "?",
        )
    is_in_word = before.isalpha() and after.isalpha()
    is_control = "\x80" <= character <= "\x9f"
    is_frame = "\u2500" <= character <= "\u259f"  # as DOS drew them
    return is_control or is_frame or (is_in_word and character not in _WITHIN_WORDS)


def shown_encoding(encoding: str) -> str:
    """Return the name of an encoding as people write it."""
    if encoding == "mac_roman":
        return "Mac Roman"
    return (
        encoding.replace("cp125", "Windows-125")
        .replace("utf_", "utf-")
        .replace("utf", "UTF")
    )
