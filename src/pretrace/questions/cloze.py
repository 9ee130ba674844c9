"""Name cloze: a passage with all occurrences of one name masked, and whether an answer
gives that name.

Chang et al., Speak, Memory: An Archaeology of Books Known to ChatGPT/GPT-4, EMNLP 2023,
as DE-COP modifies it (section 5.1.1): every occurrence of a repeated proper name is
masked, or a common noun without a name. No name tagger ships its model in its own
package, so a rule finds names, and every machine masks the same word.
"""

import re
import unicodedata
from collections import Counter
from collections.abc import Iterator
from typing import Literal, NamedTuple

from pretrace.views.wordnet import function_words
from pretrace.views.words import replace_spans

MASK = "[MASK]"
ANSWER_UNITS = 16
"""Tokens or words that an answer may take: `<name>Ponyboy</name>` and a little more."""

_WORD = re.compile(r"[^\W\d_]+(?:[-'\u2019][^\W\d_]+)*")
_POSSESSIVE = re.compile(r"['\u2019]s$")
_TITLES = {"mr", "mrs", "ms", "miss", "dr", "sir", "lady", "lord", "mister", "madam"}
_DETERMINERS = {
    "the", "a", "an", "this", "that", "my", "our", "your", "his", "her", "its", "their",
    "every",
}  # fmt: skip
_ABBREVIATED = re.compile(r"\b(?:[A-Z]|Mr|Mrs|Ms|Dr|St)\.$")
"""Abbreviations whose full stop does not end a sentence."""
_SENTENCE_ENDS = "\n.!?:;]\u2026\u2014"
_OPENING = " \t\"'\u201c\u2018([*-"


class Cloze(NamedTuple):
    """`masked`: the passage with every occurrence of `word` replaced by MASK."""

    masked: str
    word: str
    kind: Literal["name", "noun"]


class _Word(NamedTuple):
    start: int
    end: int
    text: str
    opens: bool
    """Whether it opens a sentence; its capital then says nothing."""


def mask(text: str) -> Cloze | None:
    """Mask the passage's most frequent name, otherwise a common noun; None if it has
    neither.

    A name is a word with a capital letter inside a sentence (not a function word, nor a
    form of address) that the passage never has in lower case. A noun, without a name,
    is a word in lower case of three letters or more between a determiner and a function
    word or a mark of punctuation ("the house of"). The most frequent is taken; of
    equally frequent ones, the first.
    """
    words = list(_words(text))
    counts = Counter(word.text for word in words)
    names = _names(words, counts)
    candidates = names or _nouns(words, text)
    if not candidates:
        return None
    chosen = max(dict.fromkeys(candidates), key=lambda word: counts[word])
    masks = {(word.start, word.end): MASK for word in words if word.text == chosen}
    return Cloze(replace_spans(text, masks), chosen, "name" if names else "noun")


def _words(text: str) -> Iterator[_Word]:
    for match in _WORD.finditer(text):
        word = _POSSESSIVE.sub("", match[0])
        before = text[: match.start()].rstrip(_OPENING)
        ends_a_sentence = before[-1:] in _SENTENCE_ENDS
        if ends_a_sentence and _ABBREVIATED.search(before):
            ends_a_sentence = False
        opens = not before or ends_a_sentence
        start = match.start()
        yield _Word(start, start + len(word), word, opens)


def _names(words: list[_Word], counts: Counter[str]) -> list[str]:
    no_names = function_words() | _TITLES
    names = []
    for word in words:
        lower = word.text.lower()
        is_capital = word.text[0].isupper() and not word.opens
        is_i = re.split("['\u2019]", lower)[0] == "i"
        is_common = lower in no_names or counts[lower] > 0
        if is_capital and len(lower) > 1 and not is_i and not is_common:
            names.append(word.text)
    return names


def _nouns(words: list[_Word], text: str) -> list[str]:
    nouns = []
    for place, word in enumerate(words[1:], start=1):
        follows_determiner = words[place - 1].text.lower() in _DETERMINERS
        is_function_word = word.text in function_words()
        is_plain = len(word.text) >= 3 and word.text.islower() and not is_function_word
        if follows_determiner and is_plain and _ends_a_phrase(words, place, text):
            nouns.append(word.text)
    return nouns


def _ends_a_phrase(words: list[_Word], place: int, text: str) -> bool:
    """Return whether a function word, a mark of punctuation or nothing follows the word
    at a place."""
    if place + 1 == len(words):
        return True
    after = words[place + 1]
    between = text[words[place].end : after.start]
    return between.strip(" ") != "" or after.text.lower() in function_words()


_NAMED = re.compile(r"<name>(.*?)(?:</name>|$)", re.DOTALL | re.IGNORECASE)


def name_given(reply: str) -> str:
    """Return the word that an answer gives: the text in <name> tags, otherwise the
    first line."""
    match = _NAMED.search(reply)
    lines = (match[1] if match else reply).strip().splitlines()
    return lines[0].strip() if lines else ""


def matches(reply: str, word: str) -> bool:
    """Compare answer and word but for case, accents' encoding, punctuation around them
    and a possessive."""
    return _normal(name_given(reply)) == _normal(word)


def _normal(text: str) -> str:
    plain = unicodedata.normalize("NFKC", text).casefold().strip()
    return _POSSESSIVE.sub("", re.sub(r"^[\W_]+|[\W_]+$", "", plain))
