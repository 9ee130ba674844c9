"""How a server takes requests: the first one finds it out, and it is kept beside the
server's answers.

Newer models take `max_completion_tokens` in place of `max_tokens` and no temperature,
other servers give no log-probabilities, and what a reasoning model thinks counts as
tokens of its answer.
"""

from itertools import product
from typing import Any, NamedTuple

from pretrace.runtime.files import JsonObject

LETTER_TOKENS = 16
"""Tokens of an answer in text: "The correct answer is B.\""""

ROOMS = (0, 4_096, 32_768)
"""Tokens added for thoughts: more where an answer had no word yet when its tokens were
used up."""

_LEAST_ROOM = 256  # below it a request was refused for another reason

_LIMITS = ("max_tokens", "max_completion_tokens")
_OF_LOGPROBS = ("logprobs", "top_logprobs", "logit_bias")


class Dialect(NamedTuple):
    """What the answer's tokens are called, whether a temperature and log-probabilities
    are taken, room for thoughts, whether the answer comes as a `stream` alone, whether
    the server has refused more room; whether it is told to read every prompt whole
    (`uncached`), as what llama.cpp's server keeps of others changes its numbers."""

    limit: str = _LIMITS[0]
    temperature: bool = True
    logprobs: bool = True
    room: int = ROOMS[0]
    stream: bool = False
    is_full: bool = False
    uncached: bool = False

    def spoken(self, body: JsonObject) -> dict[str, Any]:
        """Return the body of a request as the server takes it."""
        spoken = dict(body)
        tokens = spoken.pop("max_tokens")
        if not self.temperature:
            spoken.pop("temperature", None)
        if not self.logprobs and "logprobs" in spoken:
            for key in _OF_LOGPROBS:
                spoken.pop(key, None)
            tokens = LETTER_TOKENS
        if "logit_bias" in spoken:
            # a whole number is an error of `transformers serve`
            biases = spoken["logit_bias"].items()
            spoken["logit_bias"] = {token: float(bias) for token, bias in biases}
        extra = dict(spoken.pop("extra_body", {}))
        if self.stream:
            # the client's own way to ask for a stream does not read all of it
            extra["stream"] = True
        if self.uncached:
            extra["cache_prompt"] = False
        if extra:
            spoken["extra_body"] = extra
        return spoken | {self.limit: tokens + self.room}

    def alternatives(self) -> "list[Dialect]":
        """Return this dialect and all others with its room and stream, the most alike
        first."""
        dialects = []
        both = (True, False)
        for limit, temperature, logprobs in product(_LIMITS, both, both):
            other = self._replace(
                limit=limit, temperature=temperature, logprobs=logprobs
            )
            dialects.append(other)
        return sorted(dialects, key=self._distance)

    def _distance(self, other: "Dialect") -> int:
        """Return in how many ways another dialect differs."""
        return sum(own != theirs for own, theirs in zip(self, other, strict=True))

    def with_more_room(self) -> "Dialect | None":
        """Return the dialect with the next of `ROOMS`, None if it has the most."""
        larger = [room for room in ROOMS if room > self.room and not self.is_full]
        return self._replace(room=larger[0]) if larger else None

    def with_less_room(self) -> "list[Dialect]":
        """Return the dialect with a quarter less room, and less again, most first."""
        smaller = []
        room = self.room * 3 // 4
        while room >= _LEAST_ROOM:
            smaller.append(self._replace(room=room, is_full=True))
            room = room * 3 // 4
        return smaller
