"""What an audit's documents allow, by their numbers and names: known while planning,
before any score."""

import re
from collections.abc import Iterable
from math import ceil, comb, sqrt

from pretrace.runtime.errors import count_noun

LEVEL = 0.05
"""The level of tests, and the false-discovery rate at which a unit is flagged."""

CHECK_LEVEL = 0.01
"""The level of the checks that see no scores: below it the sides surely differ in kind.

It is lower than `LEVEL`, because what differs a little is taken off the scores
(`audit/adjusted_scores.py`): of fair audits whose p is low a check at 0.05 called half
invalid. docs/size_and_power.md.
"""

FEWEST_WAYS = round(1 / LEVEL)
"""Ways to exchange labels from which on a p can be `LEVEL`.

Ways are whole numbers: those of 515 documents and 515 known ones are too many for a
float.
"""

POWER = 0.8
"""How often the smallest effect is found."""

WHOLE_WORKS = "Give all texts of one work, and copies of it, the same document."

LEAST_SHARED = 5
"""Documents in question times known ones, divided by their sum: with less, checks miss
another decade too often for a low p to be evidence. Ten of each side, or seven against
eighteen; docs/size_and_power.md."""


def has_p(documents: int, known: int) -> bool:
    """Return whether an exchange of so many documents can have a p of `LEVEL`."""
    # from one against `FEWEST_WAYS` on there are enough ways; those of 100,000
    # documents would take seconds to count
    documents, known = min(documents, FEWEST_WAYS), min(known, FEWEST_WAYS)
    return comb(documents + known, known) >= FEWEST_WAYS


def known_for_p(documents: int) -> str:
    """Say how many known documents let p be `LEVEL`."""
    needed = next(known for known in range(1, 100) if has_p(max(documents, 1), known))
    return f"at least {count_noun(needed, 'known document')}; more find smaller effects"


def checks_can_fail(documents: int, known: int) -> bool:
    """Return whether so many documents suffice to show another decade or genre."""
    return documents * known >= LEAST_SHARED * (documents + known)


def documents_for_checks(documents: int) -> str:
    """Say how many documents let the checks fail if the two sides are of different
    kinds."""
    own = max(documents, LEAST_SHARED + 1)
    known = ceil(LEAST_SHARED * own / (own - LEAST_SHARED))
    known_ones = count_noun(known, "known document")
    return (
        f"at least {count_noun(own, 'document')} in question, each a whole work, and "
        f"{known_ones}"
    )


TUNED = 0.5
"""How far texts lie above others that a model was tuned on once, gently and by LoRA, in
standard deviations of a text beside its base (docs/size_and_power.md)."""

TUNED_TOLD = (
    "Texts that a small model was tuned on once, gently, lay 0.5 (LoRA) to 1.2 (in "
    "full) standard deviations above others beside its base, and 0.0 to 0.4 without "
    "one (docs/size_and_power.md). Evidence would mean: tuned on these texts, or on "
    "copies or close paraphrases of them, which no p tells apart"
)

WITHOUT_OTHERS = (
    "No number of known ones makes it evidence with so few. What needs no known texts: "
    "extraction (docs/extraction.md), and canaries in your next book "
    "(docs/canaries.md)."
)
"""What whoever has too few works for an audit can do."""


def never_evidence(documents: int) -> bool:
    """Return whether no number of known documents lets so few in question be evidence
    together."""
    return documents <= LEAST_SHARED


def known_to_name(documents: int) -> int:
    """Return how many known documents let one of these `documents` be named alone: its
    q can then be `LEVEL`."""
    return round(documents / LEVEL) - 1


def detectable_effect(variance: float, degrees: int) -> float:
    """Return the effect that a one-sided test at `LEVEL` finds with probability
    `POWER`: of an estimate's variance."""
    from scipy.special import stdtrit

    return float(
        (stdtrit(degrees, 1 - LEVEL) + stdtrit(degrees, POWER)) * sqrt(variance)
    )


_NUMBER = r"(?:\d+|[ivxlc]+|one|two|three|four|five|six|seven|eight|nine|ten)"
_WITHIN_WORKS = r"(?:chapter|section|canto|act|scene|kapitel|abschnitt|chapitre|cap[ií]tulo|capitolo|глава)"
_OF_WORKS = r"(?:part|volume|vol|teil|partie|часть)"
"""Words that also end the titles of whole works, as `Henry IV Part 1`: alone, with a
number, they name a part."""

_NAMED = re.compile(
    rf".*(?<![^\W\d_]){_WITHIN_WORKS}[\W_]*{_NUMBER}(?![^\W\d_]).*"
    rf"|.*(?<![^\W\d_])ch(?:ap)?[\W_]*\d+\W*|\W*{_OF_WORKS}[\W_]*{_NUMBER}(?![^\W\d_]).*",
    re.IGNORECASE,
)
_HEADED = re.compile(
    rf"\W*(?:{_WITHIN_WORKS}|{_OF_WORKS})[\W_]+({_NUMBER})(?![^\W_])", re.IGNORECASE
)
_FIRST_NUMBERS = {"1", "i", "one"}


def names_of_parts(documents: Iterable[tuple[str, str]]) -> list[str]:
    """Return the names of the documents (name, first text) whose name or first words
    say that they are a chapter.

    One alone is not named, and none that begin with a first chapter's heading, as whole
    works do.
    """
    named = []
    for name, text in documents:
        heading = _HEADED.match(text)
        is_later = heading is not None and heading[1].lower() not in _FIRST_NUMBERS
        if is_later or _NAMED.fullmatch(name):
            named.append(name)
    return named if len(named) > 1 else []
