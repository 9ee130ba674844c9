"""Documents that are called parts of a work: chapters are not independent, and an audit counts whole works."""

import re
from collections.abc import Iterable

_PART = (
    r"(?:chapter|chap|part|section|canto|act|scene|volume|vol|kapitel|teil|abschnitt|chapitre|partie|cap[ií]tulo|capitolo"
    r"|глава|часть)"
)
_NUMBER = r"(?:\d+|[ivxlc]+|one|two|three|four|five|six|seven|eight|nine|ten)"
_NAMED = re.compile(rf"(?<![^\W\d_]){_PART}[\W_]*{_NUMBER}(?![^\W\d_])", re.IGNORECASE)
_HEADED = re.compile(rf"\W*{_PART}[\W_]+{_NUMBER}(?![^\W_])", re.IGNORECASE)


def names_of_parts(documents: Iterable[tuple[str, str]]) -> list[str]:
    """Return the names of the documents (name, first text) whose name or first words say that they are a chapter.

    Nothing if there is only one: a whole work may begin with its first chapter's heading.
    """
    named = [name for name, text in documents if _NAMED.search(name) or _HEADED.match(text)]
    return named if len(named) > 1 else []
