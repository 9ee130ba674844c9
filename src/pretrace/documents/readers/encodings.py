"""Tell the encoding of a text by its mark, by its bytes, or else by the letters that it
would have."""

import codecs
import re
from collections import Counter
from pathlib import Path

from pretrace.documents.languages import is_latin
from pretrace.runtime.errors import InputError

BROKEN = "\ufffd"
"""What stands in place of bytes that are no character."""

FEW_BROKEN = 0.25
"""Damaged characters for each right one beyond ASCII, at most, in a text that has the
encoding all the same."""

# words with letters or signs beyond ASCII that a guessed encoding is shown by
ODD_WORDS = 3

LATIN = (
    "cp1252", "mac_roman", "cp850",
    "iso8859_2", "cp1250", "mac_latin2", "cp852",
    "cp1254", "cp1257",
)  # fmt: skip
"""Encodings in which texts in Latin letters were written before UTF-8, of Windows, the
Macintosh and DOS: Western, Central European, Turkish and Baltic ones. The commonest
first: texts look alike in several."""

_LETTERS = {
    "French": "àâæçéèêëîïôœùûüÿ", "German": "äöüß", "Spanish": "áéíñóúü",
    "Catalan": "àçèéíïòóúü", "Portuguese": "àáâãçéêíòóôõúü", "Italian": "àèéìíîòóùú",
    "Dutch": "áéèëïíóöúü", "Nordic": "åäöéæøàü", "Icelandic": "áðéíóúýþæö",
    "Estonian": "äöüõšž", "Czech": "áčďéěíňóřšťúůýž", "Slovak": "áäčďéíĺľňóôŕšťúýž",
    "Polish": "ąćęłńóśźż", "Hungarian": "áéíóöőúüű", "Croatian": "čćđšž",
    "Romanian": "ăâîşţșț", "Turkish": "çğ\u0131öşüâîûi\u0307", "Latvian": "āčēģīķļņšūž",
    "Lithuanian": "ąčęėįšųūž",
}  # fmt: skip
"""Letters beyond ASCII of languages in Latin letters."""

FEW_ZEROS = 0.1
"""Share of zero bytes below which a text that can be UTF-8 is not taken for UTF-16."""

SAMPLE = 1_000_000
"""Characters of a text, at most, by which its encoding is guessed."""

FEWEST_OF_UTF_7 = 3
"""Characters beyond ASCII from which on a text in ASCII is told to be UTF-7."""

_MARKS = {
    # longer marks first: that of UTF-32 begins with that of UTF-16
    b"\xff\xfe\0\0": "UTF-32",
    b"\0\0\xfe\xff": "UTF-32",
    b"\xef\xbb\xbf": "UTF-8-SIG",
    b"\xff\xfe": "UTF-16",
    b"\xfe\xff": "UTF-16",
}


_AS_BROWSERS = {
    "ascii": "cp1252", "iso8859-1": "cp1252", "iso8859-9": "cp1254",
    "iso8859-11": "cp874", "tis-620": "cp874", "shift_jis": "cp932",
    "gb2312": "gb18030", "gbk": "gb18030", "euc_kr": "cp949", "johab": "cp949",
    "big5": "big5hkscs", "unicode": "utf-16", "x-cp1250": "cp1250",
    "x-cp1251": "cp1251", "x-cp1252": "cp1252", "x-gbk": "gb18030",
    "x-mac-cyrillic": "mac_cyrillic", "x-mac-roman": "mac_roman", "x-sjis": "cp932",
    "x-euc-jp": "euc_jp", "x-x-big5": "big5hkscs", "windows-949": "cp949",
    "windows-31j": "cp932",
    "iso-8859-8-i": "iso8859_8", "dos-874": "cp874", "windows-874": "cp874",
}  # fmt: skip
"""Encodings that pages name -> what browsers read them as, which has more characters
(encoding.spec.whatwg.org)."""


def encoding_told(label: str) -> str:
    """Return Python's name of the encoding that a page names, as browsers take it; ""
    of an unknown one."""
    name = label.lower()
    try:
        name = codecs.lookup(_AS_BROWSERS.get(name, name)).name
    except (LookupError, ValueError):
        return ""
    return _AS_BROWSERS.get(name, name)


def has_mark(data: bytes) -> bool:
    return data.startswith(tuple(_MARKS))


def decode(data: bytes, path: Path) -> tuple[str, str]:
    """Return a text and its encoding: by its byte-order mark, UTF-8, or else the
    likeliest, and what was guessed."""
    encoding = _marked(data)
    if (text := _decoded_utf_7(data)) is not None:
        return text, _told_guess("UTF-7", text)
    try:
        return data.decode(encoding), encoding.removesuffix("-SIG")
    except UnicodeDecodeError as error:
        read = _mended(data, encoding)
        if read is None and encoding == "UTF-8":
            read = _guessed(data)
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
    sample = data[:1000]
    # a stray zero is one of a damaged file
    is_damaged = sample.count(0) < FEW_ZEROS * len(sample)
    if b"\0" not in sample or (is_damaged and _decoded(data, "utf-8") is not None):
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
    name = encoding.removesuffix("-SIG")
    beyond = sum(not character.isascii() for character in text)
    broken = text.count(BROKEN) - data.count(BROKEN.encode(name))
    if broken > FEW_BROKEN * (beyond - broken):
        return None
    first = text[max(0, text.index(BROKEN) - 20) : text.index(BROKEN) + 10]
    told = (
        f"{broken:,} damaged character{'s' * (broken != 1)} replaced, the first in "
        f"'{' '.join(first.split())}'"
    )
    return text, f"{name} ({told})"


def _guessed(data: bytes) -> tuple[str, str] | None:
    """Return a text in the likeliest encoding, None without one; with the first words
    that the guess shows in."""
    from charset_normalizer import from_bytes

    names: list[str] = []
    for guess in from_bytes(data):
        names += [guess.encoding, *guess.could_be_from_charset]
    if not names:
        return None
    first = "cp1252" if "cp1252" in names else names[0]
    candidates = [first]
    if _is_latin(data.decode(first)):
        candidates = [*dict.fromkeys([*LATIN, names[0]])]
    read = {}
    for name in candidates:
        text = _decoded(data, name)
        if text is not None:
            read[name] = text
    name = min(read, key=lambda name: _oddness(read[name]))  # the first of equal ones
    return read[name], _told_guess(shown_encoding(name), read[name])


def _told_guess(encoding: str, text: str) -> str:
    """Return an encoding that was guessed, with the first words that show whether it is
    right."""
    odd_words = [word[:20] for word in text.split() if not word.isascii()]
    shown = ", ".join([*dict.fromkeys(odd_words)][:ODD_WORDS])
    return f"{encoding} (guessed; read as: {shown})"


def _decoded_utf_7(data: bytes) -> str | None:
    """Return a text in ASCII that is one in UTF-7: +AOk- and such are letters of its
    own alphabet. None of another text."""
    if b"+" not in data or not data.isascii():
        return None
    text = _decoded(data, "utf-7")
    if text is None:
        return None
    text = text.removeprefix("\ufeff")
    beyond = "".join(_BEYOND_ASCII.findall(text))
    of_text = sum(map(str.isalpha, text))
    of_ascii = sum(letter.isascii() for letter in text if letter.isalpha())
    is_own = _is_latin(beyond) or 2 * of_ascii < of_text
    return text if len(beyond) >= FEWEST_OF_UTF_7 and is_own else None


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
_STOPS = (".", ",", "!", "?")


def _oddness(text: str) -> int:
    """Return how many characters beyond ASCII are where none belongs, if the encoding
    is the right one, or are letters that the likeliest language has not."""
    misplaced = 0
    letters: Counter[str] = Counter()
    for match in _BEYOND_ASCII.finditer(text, 0, SAMPLE):
        misplaced += _is_odd(text, match.start())
        if match[0].isalpha() and match[0] not in _WITHIN_WORDS:
            letters[match[0].lower()] += 1
    strange = []
    for own in _LETTERS.values():
        strange.append(sum(letters[letter] for letter in letters if letter not in own))
    return misplaced + min(strange)


def _is_odd(text: str, place: int) -> bool:
    """Return whether a character is a capital after a small letter, a letter after a
    full stop, or a stray sign."""
    character = text[place]
    before, after = text[place - 1 : place], text[place + 1 : place + 2]
    if character.isalpha():
        is_capital_within = character.isupper() and before.islower()
        return is_capital_within or before in _STOPS
    is_before_odd = after not in _WITHIN_WORDS and not after.isascii()
    is_in_word = before.isalpha() and (after.isalpha() or is_before_odd)
    is_control = "\x80" <= character <= "\x9f"
    is_frame = "\u2500" <= character <= "\u25ff"  # as DOS drew them
    return is_control or is_frame or (is_in_word and character not in _WITHIN_WORDS)


def shown_encoding(encoding: str) -> str:
    """Return the name of an encoding as people write it."""
    if encoding == "mac_roman":
        return "Mac Roman"
    return (
        encoding.replace("cp125", "Windows-125")
        .replace("iso8859_", "ISO 8859-")
        .replace("utf_", "utf-")
        .replace("utf", "UTF")
    )
