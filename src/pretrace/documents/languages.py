"""In what a text's length is measured: words, or characters where a language has no
spaces between words."""

import re
import unicodedata
from collections.abc import Sequence
from functools import cache
from typing import Any

_SCRIPTS = {
    "ja": "\u3040-\u30ff", "th": "\u0e00-\u0e7f", "lo": "\u0e80-\u0eff",
    "my": "\u1000-\u109f", "km": "\u1780-\u17ff",
    "zh": "\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\U00020000-\U0003134f",
}  # fmt: skip
"""ISO 639-1 code of a language without spaces -> the characters that show it; Japanese
before Chinese, whose characters it has too."""

SPACELESS = re.compile(
    f"[{''.join(_SCRIPTS.values())}\u3000-\u303f\u3100-\u312f\uff00-\uff9f]"
)
"""A letter or sign of a script without spaces."""

SIGNS_OF_A_WORD = 2
"""Signs of a script without spaces that are as long as a word, about."""

KANA = 0.05
"""Share of a text's letters from which on kana say that its Chinese characters are
Japanese."""


def language_of(text: str) -> str:
    """Return the language without spaces that at least half of the letters are written
    in, else `en`."""
    letters = sum(map(str.isalpha, text))
    counts = {}
    for language, signs in _SCRIPTS.items():
        counts[language] = len(re.findall(f"[{signs}]", text))
    if not letters or sum(counts.values()) < letters / 2:
        return "en"
    if counts["ja"] > KANA * letters:
        return "ja"
    return max(counts, key=counts.__getitem__)


def is_latin(letters: Sequence[str]) -> bool:
    """Return whether at least half of the letters are Latin ones, or there are none."""
    latin = sum("LATIN" in unicodedata.name(letter, "") for letter in letters)
    return 2 * latin >= len(letters)


_COMMON_WORDS = {
    "en": "the of and to that it is was he his with for as had not on but be you she",
    "de": "der die das und zu den mit von ist nicht ein sich auf dem eine als auch war",
    "es": "el los y que las del por con una su para como pero al lo le se",
    "fr": "le les des et que qui dans une est pour pas du au il elle ne sur ce",
    "it": "il di che non per una con del la gli sono della ma come nel si",
    "nl": "het een en van dat op te niet zijn met voor hij er aan die ik",
    "pt": "os que do da em um uma com para mais se na por no ao dos",
}
"""The commonest words of languages in Latin letters, by which English is told from the
others."""

COMMON = 0.1
"""Share of a text's words that are among the commonest of another language from which
on it may be in that one."""

UNKNOWN = "und"
"""The code of a language that is not told (ISO 639-2)."""


def guessed_language(text: str) -> str:
    """Return the language without spaces that a text is in; `UNKNOWN` if it shows
    another one than English, or script.

    A text that shows neither is taken for English.
    """
    language = language_of(text)
    if language != "en":
        return language
    if not is_latin([*filter(str.isalpha, text)]):
        return UNKNOWN
    words = re.findall(r"[^\W\d_]+", text.lower())
    shares = {}
    for code, common in _COMMON_WORDS.items():
        own = set(common.split())
        shares[code] = sum(word in own for word in words) / max(1, len(words))
    likeliest = max(shares, key=shares.__getitem__)
    return "en" if likeliest == "en" or shares[likeliest] < COMMON else UNKNOWN


def unit_of(language: str) -> str:
    """Return `words`, or `characters` for a language without spaces."""
    return "characters" if language.lower()[:2] in _SCRIPTS else "words"


def unit_spans(text: str, unit: str) -> list[tuple[int, int]]:
    """Return where each word, or each character but white space, begins and ends in the
    text."""
    pattern = r"\S+" if unit == "words" else r"\S"
    return [match.span() for match in re.finditer(pattern, text)]


def units(text: str, unit: str) -> Sequence[str]:
    """Return the words or characters of a text in its composed form (NFC), to compare
    texts by."""
    words = unicodedata.normalize("NFC", text).split()
    return words if unit == "words" else "".join(words)


@cache
def jieba_tokenizer() -> Any:
    """Return a `jieba.Tokenizer` with the dictionary of jieba's package.

    jieba itself reads a file `jieba.cache` in the temporary folder in its place,
    whoever wrote it there.
    """
    import jieba

    tokenizer = jieba.Tokenizer()
    frequencies, total = tokenizer.gen_pfdict(tokenizer.get_dict_file())
    tokenizer.FREQ, tokenizer.total = frequencies, total
    tokenizer.initialized = True
    return tokenizer
