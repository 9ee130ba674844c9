"""An API's echo of a prompt: its tokens as text, their log-probabilities, and the position of the prompt's own
tokens."""

import math
import re
from collections.abc import Mapping
from dataclasses import dataclass
from itertools import accumulate
from typing import Any

from pretrace.models.api.client import MalformedAnswerError
from pretrace.runtime.errors import InputError

_BYTES = re.compile(r"\\x([0-9a-f]{2})")
_GARBLED = "\ufffd"  # what servers put for a token that is a part of a character


@dataclass(frozen=True)
class Echo:
    """`pieces`: the tokens as text; `logprobs` in nats, NaN where there is none (the first token)."""

    pieces: list[str]
    logprobs: list[float]


def echo_of(body: Mapping[str, Any]) -> Echo:
    """The log-probabilities of an answer of the completions endpoint.

    Raises:
        MalformedAnswerError: they are not there, or one but the first is not a number.
    """
    try:
        found = body["choices"][0]["logprobs"]
        pieces, logprobs = list(found["tokens"]), found["token_logprobs"]
        values = [math.nan if value is None else float(value) for value in logprobs]
    except (KeyError, IndexError, TypeError, ValueError) as error:
        raise MalformedAnswerError("no log-probabilities of the prompt's tokens") from error
    if len(values) != len(pieces) or not all(isinstance(piece, str) for piece in pieces):
        raise MalformedAnswerError("tokens and log-probabilities do not pair")
    if not all(map(math.isfinite, values[1:])):
        raise MalformedAnswerError("a token after the first has no log-probability")
    return Echo(pieces, values)


def span_of(echo: Echo, text: str, *, tokens: int | None = None) -> slice | None:
    """The tokens that spell `text`, without a start token before it and the one token generated after it.

    `tokens`: how many they must be, where that is known. None where they do not spell it.
    """
    size = len(echo.pieces)
    for first in (0, 1):
        for stop in (size - 1, size):
            counted = tokens is None or stop - first == tokens
            if counted and first <= stop and _spell(echo.pieces[first:stop], text):
                return slice(first, stop)
    return None


def _spell(pieces: list[str], text: str) -> bool:
    """Up to the space that some tokenizers put first; where characters are garbled, by all others."""
    if any(_GARBLED in piece for piece in pieces) or _GARBLED in text:
        return _ascii("".join(pieces)) == _ascii(text)
    spelled = b"".join(map(_as_bytes, pieces))
    return spelled in (text.encode(), b" " + text.encode())


def _ascii(text: str) -> str:
    return "".join(character for character in text if character.isascii()).lstrip(" ")


def _as_bytes(piece: str) -> bytes:
    """A piece that is not text by itself is written as `bytes:\\xe2\\x80`."""
    if piece.startswith("bytes:\\x"):
        return bytes(int(value, 16) for value in _BYTES.findall(piece))
    return piece.encode()


def after(echo: Echo, span: slice, text: str) -> int:
    """The first token that holds a character of `text`, with which what the tokens of the span spell ends.

    Raises:
        InputError: characters are garbled, so that no token's place is known.
    """
    pieces = echo.pieces[span]
    if any(_GARBLED in piece for piece in pieces):
        raise InputError(
            "the API garbles tokens that are a part of a character, so that the border between a prefix and its "
            "text is unclear; name the model's tokenizer in its entry, or leave out methods with a prefix."
        )
    ends = list(accumulate(len(_as_bytes(piece)) for piece in pieces))
    opened = ends[-1] - len(
        text.encode()
    )  # a space that the tokenizer puts first belongs to the prompt prefix
    return span.start + sum(end <= opened for end in ends)
