"""The wording of questions, which is configuration: config/prompts/de_cop.yaml."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from string import Formatter
from typing import Any

from pretrace.questions.answering import LETTERS, Prompt
from pretrace.questions.cloze import Cloze
from pretrace.runtime.errors import InputError, nearest
from pretrace.runtime.schema import read_yaml

_FIELDS = {
    ("de_cop", "system"): set(),
    ("de_cop", "user"): {"question", *LETTERS},
    ("completion", "system"): set(),
    ("completion", "chat"): {"prefix"},
    ("completion", "plain"): {"prefix"},
    ("name_cloze", "system"): set(),
    ("name_cloze", "user"): {"kind", "passage"},
    ("name_cloze", "name"): set(),
    ("name_cloze", "noun"): set(),
}
"""Every text of the file that is not a question's, and its placeholders."""


@dataclass(frozen=True)
class Wording:
    """The texts of a file of prompts, checked: section -> key -> text.

    `formats`: question -> the sentence that ends the system text, and how many tokens the model writes before its
    letter.
    """

    texts: Mapping[str, Mapping[str, str]]
    questions: Mapping[str, str]
    formats: Mapping[str, tuple[str, int]]

    def choice(self, kind: str, title: str, author: str, options: Sequence[str]) -> Prompt:
        """Word the multiple-choice question about a document, with its options at A to D."""
        question = self.questions[kind].format(title=title, author=author)
        own = self.texts["de_cop"]
        user = own["user"].format(question=question, **dict(zip(LETTERS, options, strict=True)))
        if kind not in self.formats:
            return Prompt(user, own["system"])
        sentence, written = self.formats[kind]
        return Prompt(user, f"{own['system']}\n\n{sentence}", written)

    def completion(self, prefix: str, *, chat: bool) -> Prompt:
        own = self.texts["completion"]
        return Prompt(own["chat" if chat else "plain"].format(prefix=prefix), own["system"])

    def cloze(self, cloze: Cloze) -> Prompt:
        own = self.texts["name_cloze"]
        return Prompt(own["user"].format(kind=own[cloze.kind], passage=cloze.masked), own["system"])

    def require(self, kind: str) -> str:
        """Return the kind of question, if it exists; `InputError` names the nearest."""
        if kind not in self.questions:
            raise InputError(f"there is no question '{kind}': {nearest(kind, self.questions)}")
        return kind


def read_wording(path: Path) -> Wording:
    """Read and check a file of prompts. Raises `InputError` naming the key that is missing or has a wrong field."""
    given = read_yaml(Path(path))
    texts: dict[str, dict[str, str]] = {}
    for (section, key), fields in _FIELDS.items():
        texts.setdefault(section, {})[key] = _text(path, given, section, key, fields)
    questions = (given["de_cop"] or {}).get("question")
    if not isinstance(questions, dict) or not questions:
        raise InputError(f"{path}: de_cop.question must map kinds of documents to questions.")
    for kind, text in questions.items():
        _check(f"{path}: de_cop.question.{kind}", text, {"title", "author"}, needed={"title"})
    return Wording(texts, questions, _formats(path, given["de_cop"].get("format", {}), questions))


def _formats(path: Path, given: Any, questions: Mapping[str, str]) -> dict[str, tuple[str, int]]:
    formats = {}
    for kind, own in (given if isinstance(given, dict) else {"": given}).items():
        where = f"{path}: de_cop.format.{kind}"
        if kind not in questions:
            raise InputError(f"{where}: there is no question '{kind}': {nearest(str(kind), questions)}")
        if not isinstance(own, dict) or set(own) != {"sentence", "written"}:
            raise InputError(f"{where} must have the keys sentence and written.")
        if type(own["written"]) is not int or own["written"] < 0:
            raise InputError(f"{where}.written must be a whole number, not {own['written']!r}.")
        formats[kind] = (_check(f"{where}.sentence", own["sentence"], set(), needed=set()), own["written"])
    return formats


def _text(path: Path, given: Mapping[str, Any], section: str, key: str, fields: set[str]) -> str:
    own = given.get(section)
    if not isinstance(own, dict) or key not in own:
        raise InputError(f"{path}: the key {section}.{key} is missing.")
    return _check(f"{path}: {section}.{key}", own[key], fields, needed=fields)


def _check(where: str, text: Any, fields: set[str], *, needed: set[str]) -> str:
    if not isinstance(text, str):
        raise InputError(f"{where} must be a text, not {text!r}.")
    try:
        fields_used = {name for _, name, _, _ in Formatter().parse(text) if name is not None}
    except ValueError as error:
        raise InputError(f"{where}: {error}; write a literal brace twice.") from error
    if wrong := sorted(fields_used - fields) or sorted(needed - fields_used):
        words = "is missing" if wrong[0] in needed else "is not a placeholder of this text"
        raise InputError(f"{where}: '{{{wrong[0]}}}' {words}; it takes {sorted(fields) or 'nothing'}.")
    return text
