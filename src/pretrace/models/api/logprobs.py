"""Whether a server's numbers can be log-probabilities: raw logits and other scores have
been given for them; and how servers name the tokens."""

import math
from collections.abc import Collection, Iterable, Sequence

from pretrace.models.api.answers import ImpossibleAnswerError

# nats above 0 that a log-probability, or the sum of several probabilities, may be
_ROUNDING = 0.01
# nats that a value asked again may be off, or its share; and their mean: precision
# differs by batch
_OFF, _SHARE_OFF, _MEAN_OFF = 0.5, 0.1, 0.1
_LOOSE = 0.1  # nats that reduced precision may be off
STALE = "is its prefix cache stale? vLLM: --no-enable-prefix-caching"
BLANKS = str.maketrans("\u0120\u010a\u2581", "   ")
"""Blanks as vocabularies spell them: two of byte-level ones, and SentencePiece's."""
BY_ID = "token_id:"  # vLLM names tokens so with --return-tokens-as-token-ids
# more than any model has, where its vocabulary is not known
_LARGEST_VOCABULARY = 10_000_000


def check_logprobs(values: Iterable[float]) -> None:
    """Raise `ImpossibleAnswerError` if a value (nats) is above 0 or not a number."""
    for value in values:
        if not (math.isfinite(value) and value <= _ROUNDING):
            raise ImpossibleAnswerError(
                f"a log-probability is {value:g}, and none is above 0"
            )


def check_own(own: float, likeliest: Collection[float]) -> None:
    """Raise `ImpossibleAnswerError` if a text's own token is likelier (nats) than the
    likeliest told for its place.

    A server that gives numbers of a stale cache, or zeros, is seen by nothing else.
    """
    if own > max(likeliest) + _LOOSE:
        raise ImpossibleAnswerError(
            f"a text's own token has log-probability {own:.2f}, and the likeliest "
            f"token of its place {max(likeliest):.2f} ({STALE})"
        )


def check_likeliest(values: Collection[float], vocabulary: int | None = None) -> None:
    """Raise `ImpossibleAnswerError` if these values (nats) are not of different tokens
    at a place, the likeliest too.

    The likeliest of `vocabulary` tokens is not below chance, and the probabilities sum
    to no more than 1.
    """
    check_logprobs(values)
    highest = max(values)
    chance = -math.log(vocabulary or _LARGEST_VOCABULARY)
    total = math.fsum(map(math.exp, values))
    if total > math.exp(_ROUNDING):
        raise ImpossibleAnswerError(
            f"the probabilities of {len(values)} tokens sum to {total:.2f}"
        )
    if highest < chance - _LOOSE:
        raise ImpossibleAnswerError(
            f"the likeliest token has log-probability {highest:.2f}, less than chance "
            f"({chance:.2f})"
        )


def agree(values: Sequence[float], others: Sequence[float]) -> bool:
    """Return whether two lists of log-probabilities (nats) differ no more than by the
    order of sums."""
    if len(values) != len(others):
        return False
    differences = []
    for value, other in zip(values, others, strict=True):
        difference = abs(value - other)
        if difference > max(_OFF, _SHARE_OFF * abs(value)):
            return False
        differences.append(difference)
    return sum(differences) <= _MEAN_OFF * len(differences)
