"""Synonyms from WordNet's own files (wndb(5WN)), as NLTK's data or the system's package
install them."""

import os
import sys
import zipfile
from functools import cache
from pathlib import Path

from pretrace.runtime.errors import InputError

_POS = ("noun", "verb", "adj", "adv")
_SYSTEM = (Path("/usr/share/wordnet"), Path("/usr/local/share/wordnet"))

# fmt: off
_ENDINGS = {
    "noun": (("s", ""), ("ses", "s"), ("ves", "f"), ("xes", "x"), ("zes", "z"), ("ches", "ch"),
             ("shes", "sh"),
             ("men", "man"), ("ies", "y")),
    "verb": (("s", ""), ("ies", "y"), ("es", "e"), ("es", ""), ("ed", "e"), ("ed", ""),
             ("ing", "e"),
             ("ing", "")),
    "adj": (("er", ""), ("est", ""), ("er", "e"), ("est", "e")),
    "adv": (),
}
"""Rules of detachment of morphy(7WN), with one of NLTK's (ves): what an inflected form
ends in, and what the base form has there."""
# fmt: on


class WordNet:
    """An index of lemmas and their synsets; synonyms are read when they are looked
    up."""

    def __init__(self, files: dict[str, bytes]) -> None:
        self._data: dict[str, bytes] = {}
        self._index: dict[str, dict[str, tuple[int, ...]]] = {}
        self._exceptions: dict[str, dict[str, list[str]]] = {}
        for pos in _POS:
            self._data[pos] = files[f"data.{pos}"]
            self._index[pos] = _index(files[f"index.{pos}"])
            self._exceptions[pos] = _exceptions(files.get(f"{pos}.exc", b""))
        self._known: dict[str, list[str]] = {}

    def synonyms(self, word: str) -> list[str]:
        """Look up single words that share a sense with `word` in any part of speech,
        sorted, in lower case.

        Empty for function words, for anything but letters and for words that WordNet
        does not have. An inflected form has those of its base forms too, and these
        forms themselves, uninflected, as NLTK 3.9 and later, which public code asks.
        """
        word = word.lower()
        if not word.isalpha() or word in function_words():
            return []
        if word not in self._known:
            lemmas = set()
            for pos in _POS:
                for base in self._bases(word, pos):
                    for offset in self._index[pos][base]:
                        lemmas.update(self._lemmas(pos, offset))
            self._known[word] = sorted(filter(str.isalpha, lemmas - {word}))
        return self._known[word]

    def _bases(self, word: str, pos: str) -> list[str]:
        """Return `word` and its base forms, those of both that the index has: by the
        list of exceptions, or by rules that are applied until a form is found."""
        index = self._index[pos]
        exceptions = self._exceptions[pos].get(word)
        if exceptions is not None:
            return [form for form in [word, *exceptions] if form in index]
        shorter = [word]
        known: list[str] = []
        while shorter and not known:
            forms = shorter
            shorter = []
            for form in forms:
                for end, base in _ENDINGS[pos]:
                    if form.endswith(end):
                        shorter.append(form[: -len(end)] + base)
            known = [form for form in [word, *shorter] if form in index]
        return known

    def _lemmas(self, pos: str, offset: int) -> list[str]:
        """Read a line of data.pos: offset, file, type, hexadecimal count of words, then
        each word and its id."""
        data = self._data[pos]
        end = data.index(b"\n", offset)
        fields = data[offset:end].decode().split(" ")
        count = int(fields[3], 16)
        words = fields[4 : 4 + 2 * count : 2]
        # an adjective may have its position behind it: galore(ip)
        return [word.partition("(")[0].lower() for word in words]


def _index(content: bytes) -> dict[str, tuple[int, ...]]:
    """Read lemma -> offsets of its synsets; a line ends in as many offsets as its third
    field says."""
    index = {}
    for line in content.decode().splitlines():
        if line and not line.startswith(" "):  # the licence is in indented lines
            fields = line.split()
            count = int(fields[2])
            index[fields[0]] = tuple(map(int, fields[-count:]))
    return index


def _exceptions(content: bytes) -> dict[str, list[str]]:
    exceptions = {}
    for line in content.decode().splitlines():
        form, *bases = line.split()
        exceptions[form] = bases
    return exceptions


@cache
def function_words() -> frozenset[str]:
    """Return English words that carry grammar: WordNet has some of them as units or
    elements (a, in, will)."""
    from sklearn.feature_extraction.text import ENGLISH_STOP_WORDS

    return frozenset(ENGLISH_STOP_WORDS)


@cache
def installed_wordnet() -> WordNet:
    """Read the WordNet of this machine: NLTK's data, then the system's. `InputError`
    without one."""
    return WordNet(_files(require_wordnet()))


def require_wordnet() -> Path:
    """Return the folder or archive of this machine's WordNet. `InputError` without
    one."""
    for place in synonym_places():
        if place.is_file() or (place / "data.noun").is_file():
            return place
    raise InputError(
        "the synonym views need WordNet's data, and it is not on this machine. Install "
        "it (python -m nltk.downloader wordnet, or the system's package wordnet-base), "
        "or use synonym_by_MODEL-PERCENT, which takes the nearest words in a model's "
        "embedding table."
    )


def synonym_places() -> list[Path]:
    """List the folders and archives where WordNet may be, in the order they are
    tried."""
    named = os.environ.get("NLTK_DATA", "").split(os.pathsep)
    roots = [Path(folder) for folder in named if folder]
    roots.append(Path.home() / "nltk_data")
    for folder in ("nltk_data", "share/nltk_data", "lib/nltk_data"):
        roots.append(Path(sys.prefix, folder))
    for folder in ("/usr/share", "/usr/local/share", "/usr/lib", "/usr/local/lib"):
        roots.append(Path(folder, "nltk_data"))
    places = []
    for root in roots:
        places += [root / "corpora/wordnet", root / "corpora/wordnet.zip"]
    return [*places, *_SYSTEM]


def _files(place: Path) -> dict[str, bytes]:
    wanted = set()
    for pos in _POS:
        wanted |= {f"data.{pos}", f"index.{pos}", f"{pos}.exc"}
    files = {}
    if place.is_dir():
        for path in place.iterdir():
            if path.name in wanted:
                files[path.name] = path.read_bytes()
        return files
    with zipfile.ZipFile(place) as archive:
        for member in archive.namelist():
            name = Path(member).name
            if name in wanted:
                files[name] = archive.read(member)
    return files
