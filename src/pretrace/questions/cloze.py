"""Name cloze: a passage with all occurrences of one name masked, and whether an answer gives that name.

Chang et al., Speak, Memory: An Archaeology of Books Known to ChatGPT/GPT-4, EMNLP 2023, as DE-COP modifies it (section
5.1.1): every occurrence of a repeated proper name is masked, or a common noun without a name. No name
tagger ships its model in its own package, so a rule finds names, and every machine masks the same word.
"""

import re
import unicodedata
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal

from pretrace.views.wordnet import function_words
from pretrace.views.words import replace_spans

MASK = "[MASK]"
ANSWER_UNITS = 16
"""Tokens or words that an answer may take: `<name>Ponyboy</name>` and a little more."""

_WORD = re.compile(r"[^\W\d_]+(?:[-'\u2019][^\W\d_]+)*")
_POSSESSIVE = re.compile(r"['\u2019]s$")
_TITLES = frozenset({"mr", "mrs", "ms", "miss", "dr", "sir", "lady", "lord", "mister", "madam"})
_DETERMINERS = frozenset(
    ["the", "a", "an", "this", "that", "my", "our", "your", "his", "her", "its", "their", "every"]
)
_ABBREVIATED = re.compile(r"\b(?:[A-Z]|Mr|Mrs|Ms|Dr|St)\.$")
"""Abbreviations whose full stop does not end a sentence."""
_SENTENCE_ENDS = "\n.!?:;]\u2026\u2014"
_OPENING = " \t\"'\u201c\u2018([*-"


@dataclass(frozen=True, slots=True)
class Cloze:
    """`masked`: the passage with every occurrence of `word` replaced by MASK."""

    masked: str
    word: str
    kind: Literal["name", "noun"]


@dataclass(frozen=True, slots=True)
class _Word:
    start: int
    end: int
    text: str
    opens: bool
    """Whether it opens a sentence; its capital then says nothing."""


def mask(text: str) -> Cloze | None:
    """Mask the passage's most frequent name, otherwise a common noun; None if it has neither.

    A name is a word with a capital letter inside a sentence (not a function word, nor a form of address) that the
    passage never has in lower case. A noun, without a name, is a word in lower case of three letters or more
    between a determiner and a function word or a mark of punctuation ("the house of"). The most frequent is taken; of
    equally frequent ones, the first.
    """
    words = list(_words(text))
    counts = Counter(word.text for word in words)
    names = _names(words, counts)
    if not (candidates := names or _nouns(words, text)):
        return None
    chosen = max(dict.fromkeys(candidates), key=lambda word: counts[word])
    masks = {(word.start, word.end): MASK for word in words if word.text == chosen}
    return Cloze(replace_spans(text, masks), chosen, "name" if names else "noun")


def _words(text: str) -> Iterator[_Word]:
    for match in _WORD.finditer(text):
        word = _POSSESSIVE.sub("", match[0])
        before = text[: match.start()].rstrip(_OPENING)
        opens = not before or (before[-1] in _SENTENCE_ENDS and not _ABBREVIATED.search(before))
        yield _Word(match.start(), match.start() + len(word), word, opens)


def _names(words: list[_Word], counts: Counter[str]) -> list[str]:
    return [
        word.text
        for word in words
        if word.text[0].isupper()
        and not word.opens
        and len(word.text) > 1
        and word.text.lower() not in function_words() | _TITLES
        and word.text.lower().split("'")[0].split("\u2019")[0] != "i"
        and not counts[word.text.lower()]
    ]


def _nouns(words: list[_Word], text: str) -> list[str]:
    nouns = []
    for before, word, after in zip(words, words[1:], [*words[2:], None], strict=False):
        between = text[word.end : after.start] if after else "."
        ends = between.strip(" ") != "" or (after is not None and after.text.lower() in function_words())
        if before.text.lower() in _DETERMINERS and ends and len(word.text) >= 3 and word.text.islower():
            nouns.append(word.text)
    return [word for word in nouns if word not in function_words()]


_NAMED = re.compile(r"<name>(.*?)(?:</name>|$)", re.DOTALL | re.IGNORECASE)


def name_given(reply: str) -> str:
    """Return the word that an answer gives: the text in <name> tags, otherwise the first line."""
    match = _NAMED.search(reply)
    lines = (match[1] if match else reply).strip().splitlines()
    return lines[0].strip() if lines else ""


def matches(reply: str, word: str) -> bool:
    """Compare answer and word but for case, accents' encoding, punctuation around them and a possessive."""
    return _normal(name_given(reply)) == _normal(word)


def _normal(text: str) -> str:
    plain = unicodedata.normalize("NFKC", text).casefold().strip()
    return _POSSESSIVE.sub("", re.sub(r"^[\W_]+|[\W_]+$", "", plain))
