"""Draw at random what a book publishes, canaries or wordings of passages, with a key
for a test that is exact by design.

Each canary among its private twins, and each wording among the others of its passage,
is published with equal probability. If a model has not read them, the published text
scores above a private one by chance alone: the corpus test of the key exchanges labels
within each document and assumes nothing else. Canaries in training data: Carlini et
al., The Secret Sharer, USENIX Security 2019; in texts of one's own: Meeus et al.,
Copyright Traps for Large Language Models, ICML 2024.
"""

import hashlib
import json
import os
import random
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from math import perm, prod
from pathlib import Path

from pretrace.audit.design import FEWEST_WAYS
from pretrace.benchmarks.columns import is_missing, one_form
from pretrace.benchmarks.rows import Row, rows
from pretrace.documents.unpacking import read_lines
from pretrace.runtime.errors import InputError

SLOT = "{word}"

TEMPLATE = " ".join([SLOT] * 12) + "."
"""Twelve words, which is about one line of a book."""

SHORTEST_WORD = 4
"""Letters of the shortest word that is taken from a text: shorter ones are mostly
function words."""

POSSIBLE = 1000
"""How many times as many texts as are drawn the words and a template must allow."""


@dataclass(frozen=True)
class Drawn:
    """The texts of one document in random order, and the index of the one that is
    published."""

    name: str
    texts: Sequence[str]
    published: int


def words_of_list(path: Path) -> list[str]:
    """Return the distinct words of a file with one word (or name, or phrase) a line, in
    its order."""
    words: dict[str, None] = {}
    for line in read_lines(path):
        if line.strip():
            words[" ".join(line.split())] = None
    if not words:
        raise InputError(f"{path} has no words; write one a line.")
    return list(words)


def words_of_text(path: Path) -> list[str]:
    """Return the distinct words in lower case of a text, sorted, of `SHORTEST_WORD`
    letters or more; hardly a name."""
    words = set()
    for line in read_lines(path):
        for word in re.findall(r"[^\W\d_]+", line):
            if len(word) >= SHORTEST_WORD and word.islower():
                words.add(word)
    if not words:
        raise InputError(
            f"{path} has no words of {SHORTEST_WORD} letters in lower case; give a "
            "list of words with --words."
        )
    return sorted(words)


def templates_of(path: Path) -> list[str]:
    """Return the templates of a file, one on each line. Raises `InputError` at a line
    without `SLOT`."""
    templates = []
    for number, line in enumerate(read_lines(path), start=1):
        if line.strip():
            if SLOT not in line:
                raise InputError(
                    f"{path}:{number}: the template has no {SLOT}; write {SLOT} for "
                    "each random word."
                )
            templates.append(line.strip())
    if not templates:
        raise InputError(
            f"{path} has no templates; write one a line, as: The {SLOT} of the {SLOT} "
            f"is {SLOT}."
        )
    return templates


def draw_canaries(
    words: Sequence[str],
    templates: Sequence[str],
    count: int,
    twins: int,
    rng: random.Random,
) -> list[Drawn]:
    """Draw `count` canaries, each among `twins` twins of the same template; all texts
    differ.

    The words of a text are drawn without replacement, and its first letter is made a
    capital. Templates take turns.
    """
    for template in templates:
        slots = template.count(SLOT)
        if perm(len(words), slots) < POSSIBLE * count * (twins + 1):
            raise InputError(
                f"{len(words)} words for the {slots} places of '{template}' are too "
                f"few for {count * (twins + 1)} different texts that nobody can guess; "
                "give more words, or a template with more places."
            )
    seen: set[str] = set()
    drawn = []
    for number in range(count):
        template = templates[number % len(templates)]
        texts = [_fill_template(template, words, rng, seen) for _ in range(twins + 1)]
        name = f"canary-{number + 1:03d}"
        drawn.append(Drawn(name, texts, rng.randrange(len(texts))))
    return _checked(drawn, "raise --count or --twins")


def _fill_template(
    template: str, words: Sequence[str], rng: random.Random, seen: set[str]
) -> str:
    """Fill a template with random words, so that the text differs from all that were
    `seen`."""
    parts = template.split(SLOT)
    while True:
        chosen = rng.sample(words, len(parts) - 1)
        text = parts[0]
        for word, part in zip(chosen, parts[1:], strict=True):
            text += word + part
        text = text[:1].upper() + text[1:]
        if text not in seen:
            seen.add(text)
            return text


def draw_wordings(path: Path, rng: random.Random) -> list[Drawn]:
    """Draw one of the wordings of each passage of a file as the published one.

    A row is a passage: `document`, its name, and two or more columns whose names begin
    with `wording`.
    """
    drawn = []
    seen: dict[str, str] = {}
    for where, row in rows(path, _columns_of_wordings):
        name, texts = _wordings(where, row)
        if name in seen:
            raise InputError(
                f"{where}: the passage '{name}' was given before, at {seen[name]}; "
                "rename one."
            )
        seen[name] = where
        rng.shuffle(texts)
        drawn.append(Drawn(name, texts, rng.randrange(len(texts))))
    if not drawn:
        raise InputError(f"{path} holds no rows; it needs at least five passages.")
    return _checked(drawn, "give more passages, or more wordings of each")


def _columns_of_wordings(where: str, names: Sequence[str]) -> list[str]:
    return [name for name in names if name == "document" or name.startswith("wording")]


def _wordings(where: str, row: Row) -> tuple[str, list[str]]:
    document = row.get("document")
    if document == "" or is_missing(document):
        raise InputError(
            f"{where}: there is no column 'document'; give each passage a name of its "
            "own."
        )
    given = []
    for column, value in row.items():
        if value not in (None, "") and str(column).startswith("wording"):
            given.append(value)
    texts = [" ".join(text.split()) for text in given if isinstance(text, str)]
    if len(texts) < 2 or len(set(texts)) < len(given):
        raise InputError(
            f"{where}: a passage needs two or more different texts, in columns whose "
            "names begin with 'wording' (wording_1, wording_2)."
        )
    if any(text.encode(errors="ignore").decode() != text for text in texts):
        raise InputError(
            f"{where}: a wording holds half a surrogate pair, which is not text; "
            "encode it as UTF-8."
        )
    return one_form(str(document)), list(map(str, given))


def _checked(drawn: list[Drawn], remedy: str) -> list[Drawn]:
    ways = prod(len(document.texts) for document in drawn)
    if ways < FEWEST_WAYS:
        raise InputError(
            f"the test of this key could have no p below 1/{ways}, so it could find "
            f"nothing; {remedy}."
        )
    return drawn


def write_key(drawn: Sequence[Drawn], folder: Path, places: Iterable[str]) -> str:
    """Write `publish.txt` and `key.jsonl` into the folder. Returns the SHA-256 of the
    key.

    The key is a `local` benchmark for an audit: label 1 for published texts, 0 for
    private ones. Only its owner may read it. `places` says where each text goes. Raises
    `InputError` if one of the files exists.
    """
    key, publish = folder / "key.jsonl", folder / "publish.txt"
    for path in (key, publish):
        if path.exists():
            raise InputError(
                f"{path} exists, and a key is drawn once: a second draw would make the "
                "first one worthless. Name another folder with --out."
            )
    content = ""
    published = []
    for document, place in zip(drawn, places, strict=True):
        for number, text in enumerate(document.texts):
            row = {
                "id": f"{document.name}-{number + 1:03d}",
                "text": text,
                "label": int(number == document.published),
                "document": document.name,
            }
            content += json.dumps(row) + "\n"
        published.append(f"[{place}]\n{document.texts[document.published]}\n")
    digest = hashlib.sha256(content.encode()).hexdigest()
    head = (
        "Publish each text below word for word, at the place that is named above it.\n"
        "Do not publish key.jsonl: it holds the private texts.\n"
        f"SHA-256 of key.jsonl: {digest}\n"
    )
    folder.mkdir(parents=True, exist_ok=True)
    _write_new(key, content, 0o600)
    _write_new(publish, "\n".join([head, *published]), 0o644)
    return digest


def _write_new(path: Path, content: str, mode: int) -> None:
    """Write a file that does not exist yet, and see it onto the disk."""
    created = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, mode)
    with os.fdopen(created, "w", encoding="utf-8") as file:
        file.write(content)
        file.flush()
        os.fsync(file.fileno())
