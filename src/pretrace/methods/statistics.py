"""The input of a method: the token statistics of one text, or the labelled texts of a
benchmark."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from math import floor
from typing import Annotated, Any, Literal

import numpy as np
import numpy.typing as npt

Floats = npt.NDArray[np.float64]

# Ranges of parameters, as (above, at most): a configuration outside them is an error.
Share = Annotated[float, (0, 1)]
Percent = Annotated[int, (0, 100)]
Positive = Annotated[float, (0, 1e6)]
Natural = Annotated[int, (0, 10_000)]
Weight = Annotated[float, (-100, 100)]

TENTHS = tuple(i / 10 for i in range(1, 11))
"""The grid of a share of the tokens, and of a weight."""

Form = Literal["log_perplexity", "perplexity"]
"""Whether a score is of mean log-probabilities, or of perplexities as some papers'
code."""

Separator = Literal["none", "space", "newline", "start_token"]
"""What joins the shots of a prefix; the start token is also put between the last shot
and the text."""

SMALLEST_LOSS = 1e-12
"""Floor (nats) of a loss that a ratio divides by: a text predicted with certainty has
loss 0."""

ABSENT: Any = None
"""In place of what is not available: no method is called without what it needs."""


@dataclass(frozen=True, eq=False)
class TokenStatistics:
    """One text as one model read it: n >= 1 scored tokens, without the start token.

    text            the text that was scored
    token_ids       [n] int, ids of the model's tokenizer
    logprobs        [n] float64, l_i = ln p(x_i | x_<i), nats, <= 0
    entropies       [n] float64, H_i, entropy of p(. | x_<i), nats, >= 0; so mu_i = -H_i
    variances       [n] float64, var_i, variance of ln p(v | x_<i) over v ~ p(. | x_<i),
                    nats squared, >= 0
    highest         [n] float64, max_v ln p(v | x_<i), nats, l_i <= highest <= 0
    ranks           [n] float64, how many tokens the model found likelier than x_i, 0
                    for the likeliest
    top40           [n] float64, ln of the summed p of the 40 likeliest tokens and all
                    that tie with the last, nats
    lowercase       [m] float64, log-probabilities of the lower-cased text's own m
                    tokens
    reference       [m] float64, log-probabilities under the reference model, by its own
                    m tokens
    aligned_reference [n] float64, log-probabilities of these same tokens under the
                    reference model; None where its tokens are others
    log_frequencies [n] float64, ln q(x_i), q the frequency of the token in the
                    reference corpus
    neighbours      one array for each neighbour of the text, in order: its own tokens'
                    log-probabilities
    given_nonmember [n] or, without a start token, [n + 1] float64: log-probabilities of
                    all of the text's tokens, the first too, after a prefix of
                    non-members
    given_member    the same after a prefix of members
    inputs          further kinds of input, by the word that a method needs them by
    shots_used      number of shots that fitted into the model's context; of two
                    prefixes the smaller
    """

    text: str
    token_ids: npt.NDArray[np.int64]
    logprobs: Floats
    entropies: Floats = ABSENT
    variances: Floats = ABSENT
    highest: Floats = ABSENT
    ranks: Floats = ABSENT
    top40: Floats = ABSENT
    lowercase: Floats = ABSENT
    reference: Floats = ABSENT
    aligned_reference: Floats = ABSENT
    log_frequencies: Floats = ABSENT
    neighbours: tuple[Floats, ...] = ABSENT
    given_nonmember: Floats = ABSENT
    given_member: Floats = ABSENT
    inputs: Mapping[str, Any] = field(default_factory=dict)
    shots_used: int | None = None

    @cached_property
    def log_likelihood(self) -> float:
        """Return LL(x), mean log-probability of a token (nats); loss L(x) = -LL(x),
        perplexity exp(L(x))."""
        return mean(self.logprobs)

    @cached_property
    def sorted_logprobs(self) -> Floats:
        """Return the log-probabilities [n], ascending."""
        return np.sort(self.logprobs)

    @cached_property
    def first_occurrences(self) -> npt.NDArray[np.intp]:
        """Return the positions at which a token id occurs for the first time,
        ascending."""
        _, first = np.unique(self.token_ids, return_index=True)
        return np.sort(first)

    @cached_property
    def percentiles(self) -> list[float]:
        """Return the 0th to 100th percentile of the log-probabilities, by numpy's
        linear rule."""
        every = np.arange(101)
        return np.percentile(self.sorted_logprobs, every).tolist()


@dataclass(frozen=True)
class LabelledTexts:
    """The texts of a slice of a benchmark; labels: 1 member, 0 non-member, None
    unknown.

    given_nonmember, given_member: the shots of one draw, for a method that needs
    prefixes. stream: the whole benchmark's members, each as often as a controlled model
    reads it in an epoch.
    """

    ids: list[str]
    texts: list[str]
    labels: list[int | None]
    folds: list[int]
    language: str
    given_nonmember: tuple[str, ...] = ()
    given_member: tuple[str, ...] = ()
    stream: tuple[str, ...] = ()


def mean(values: Floats) -> float:
    return float(np.add.reduce(values)) / len(values)


def mean_of_lowest(ascending: Floats, share: float) -> float:
    """Return the mean of the lowest `share` of the values, at least one."""
    # the 1e-9 mends 0.29 * 100 = 28.999...
    count = floor(share * len(ascending) + 1e-9)
    return mean(ascending[: max(1, count)])


def window_means(values: Floats, window: int) -> Floats:
    """Return [n - window + 1], the mean of each window of successive values; fewer
    values are returned as they are."""
    if window > len(values):
        return values
    return np.convolve(values, np.ones(window) / window, mode="valid")


def loss_ratio(log_likelihood: float, other: float) -> float:
    """Return L / L' from two log-likelihoods; never divides by 0."""
    return max(-log_likelihood, SMALLEST_LOSS) / max(-other, SMALLEST_LOSS)
