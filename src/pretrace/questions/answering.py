"""Questions to a model and its answers, whether it runs here or behind an API."""

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import permutations
from typing import Any, Protocol

OPTION_LETTERS = ("A", "B", "C", "D")
PROBABILITIES = ["p_a", "p_b", "p_c", "p_d"]
"""Columns of the letters' probabilities in the table of answers."""
ORDERS = tuple(permutations(range(len(OPTION_LETTERS))))
"""Letter i shows option ORDERS[permutation][i]; option 0 is the true passage."""

REFUSED, FILTERED = "the model refused", "filtered by the API"
NO_TEXT, IN_THOUGHTS = "no text in the answer", "its tokens were used up in thoughts"
CUT = "cut at the highest number of tokens"
"""Why an answer of an API has no text, or of a paraphrase none that is whole."""
WITHOUT_TEXT = (REFUSED, FILTERED, NO_TEXT, IN_THOUGHTS)
MOST_WITHOUT_TEXT = 0.05
"""Share of answers that may have no text: with more there is no result."""
NO_RESULT = "too many other answers have no text"
"""Why an answer with a text is not judged."""

Advance = Callable[[int], None]
"""Takes how many more prompts are answered."""


@dataclass(frozen=True, slots=True)
class Prompt:
    """One question. A chat model gets `system` (unless "") and `user` as messages and
    answers them; any other model gets one text, `system`, an empty line and `user`, and
    continues it.

    With `written`, the letter is the token after that many written tokens, in one
    spelling: DE-COP's code reads open models this way, because it asks them to put the
    letter between other signs. A prompt that is `templated` has the signs of a chat in
    its text, which any model continues.
    """

    user: str
    system: str = ""
    written: int = 0
    templated: bool = False

    @property
    def plain(self) -> str:
        return f"{self.system}\n\n{self.user}" if self.system else self.user


@dataclass(frozen=True, slots=True)
class Question:
    """Prompts that are answered together: a passage's in every order of its options, or
    some passages' of a document.

    What a model answers depends on the question alone, not on those that are asked
    before or beside it.

    prompts  each has an answer of its own
    frame    the prompt with other options in place of the passage's, if it has options:
             what both begin with is read once for all questions with this frame
    """

    prompts: Sequence[Prompt]
    frame: Prompt | None = None


@dataclass(frozen=True, slots=True)
class Letters:
    """The answer to a multiple-choice question.

    probabilities  of A, B, C, D at the answer position, among these four (they sum to
                   1); None if the model gave text alone
    answer         the most probable letter, else the one in the model's text; None:
                   unusable
    reason         why it is unusable, else None
    skipped        whether it could not be asked: no answer then, rather than a wrong
                   one
    """

    probabilities: tuple[float, float, float, float] | None
    answer: str | None
    reason: str | None = None
    skipped: bool = False


@dataclass(frozen=True, slots=True)
class Reply:
    """A text that a model wrote; None, with a reason, if it wrote none (a refusal by a
    filter, say).

    `skipped` as in `Letters`.
    """

    text: str | None
    reason: str | None = None
    skipped: bool = False


class Answerer(Protocol):
    """A model that answers and writes: `local.LocalAnswerer`, a checkpoint, or
    `over_api.ApiAnswerer`.

    Answers have the order of the questions and of their prompts. A killed method is
    called again with the same questions, so an implementation keeps its answers.
    """

    @property
    def seconds(self) -> float:
        """Return the seconds that all answers so far took. An answer that was stored
        counts with the seconds that it took then."""

    @property
    def chat(self) -> bool:
        """Return whether prompts are sent as messages; questions are worded for it."""

    @property
    def tokenizer(self) -> Any:
        """Return the model's own tokenizer, None if it is unknown: texts are then split,
        and answers cut, in words."""

    def letters(
        self, questions: Sequence[Question], progress: Advance
    ) -> list[list[Letters]]:
        """Return for each multiple-choice question the letters that answer its
        prompts."""

    def replies(
        self, questions: Sequence[Question], units: int, progress: Advance
    ) -> list[list[Reply]]:
        """Return for each question the texts that the model writes to its prompts,
        greedily.

        Each has at most this many units of `split_units`.
        """

    def write(
        self,
        prompts: Sequence[Prompt],
        most: Sequence[int],
        again: int,
        progress: Advance,
    ) -> list[Reply]:
        """Sample a text of at most `most` tokens for each prompt, at
        PARAPHRASE_TEMPERATURE.

        `again` counts the rounds, and each round gives other answers.
        """


def split_units(text: str, units: int, tokenizer: Any = None) -> tuple[str, str] | None:
    """Return the first `units` of a text and the next `units`; None if it has fewer
    than twice as many.

    Units are tokens, or words without a `tokenizer`.
    """
    first = slice(units)
    second = slice(units, 2 * units)
    if tokenizer is None:
        words = text.split()
        if len(words) < 2 * units:
            return None
        return " ".join(words[first]), " ".join(words[second])
    ids = tokenizer(text, add_special_tokens=False, verbose=False)["input_ids"]
    if len(ids) < 2 * units:
        return None
    plain = {"skip_special_tokens": True, "clean_up_tokenization_spaces": False}
    return tokenizer.decode(ids[first], **plain), tokenizer.decode(ids[second], **plain)


_LETTER = re.compile(
    r"\W*(?:(?:the )?(?:correct )?answer(?: is)?\W+)?([A-D])(?!\w|['\u2019]\w)",
    re.IGNORECASE,
)


def letter_in(text: str) -> str | None:
    """Return the letter that an answer in words opens with (`B`, `B. It was`, `'b'`,
    `Answer: B`), or None.

    A lower-case letter counts alone: "a passage" chooses nothing.
    """
    match = _LETTER.match(text)
    if match is None:
        return None
    letter = match[1]
    rest = text[match.end() :]
    if letter.islower() and re.match(r"\s*\w", rest):
        return None
    # the article: "A passage like this"
    if letter == "A" and re.match(r" [a-z]", rest):
        return None
    return letter.upper()
