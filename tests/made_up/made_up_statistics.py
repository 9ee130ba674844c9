"""Statistics of a text as a test makes them up, and the formulas of the methods in
plain Python."""

import math
from typing import Any

import numpy as np
from hypothesis import strategies as st

from pretrace.methods import METHODS, TokenStatistics

SPEECH = (
    "My fellow citizens, the state of our Union is strong. The state of our Union is "
    "strong."
)


def text_of(**statistics: Any) -> TokenStatistics:
    given: dict[str, Any] = {"text": SPEECH}
    given["token_ids"] = np.arange(len(statistics["logprobs"]))
    for name, values in statistics.items():
        if name == "text":
            given["text"] = values
        elif name == "token_ids":
            given["token_ids"] = np.array(values, dtype=int)
        elif name == "neighbours":
            given["neighbours"] = tuple(floats_of(copy) for copy in values)
        elif name == "shadows":
            given["inputs"] = {"shadows": [floats_of(side) for side in values]}
        else:
            given[name] = floats_of(values)
    return TokenStatistics(**given)


def floats_of(values: Any) -> np.ndarray:
    return np.array(values, dtype=float)


def score(id: str, text: TokenStatistics, **params: Any) -> float:
    return METHODS[id].function(text, **params)


@st.composite
def texts(draw: st.DrawFn) -> TokenStatistics:
    n = draw(st.integers(1, 16))
    m = draw(st.integers(1, 16))

    def floats(size: int, low: float, high: float) -> list[float]:
        number = st.floats(low, high, width=32)
        return draw(st.lists(number, min_size=size, max_size=size))

    neighbours = draw(st.integers(1, 3))
    return text_of(
        token_ids=draw(st.lists(st.integers(0, 9), min_size=n, max_size=n)),
        logprobs=floats(n, -40, 0),
        entropies=floats(n, 0, 12),
        variances=floats(n, 0, 50),
        lowercase=floats(m, -40, 0),
        highest=floats(n, -5, 0),
        reference=floats(m, -40, 0),
        aligned_reference=floats(n, -40, 0),
        log_frequencies=floats(n, -25, -0.125),
        neighbours=[floats(m, -40, 0) for _ in range(neighbours)],
        given_nonmember=floats(n + 1, -40, 0),
        given_member=floats(n + 1, -40, 0),
        shadows=[floats(2, -40, 0), floats(2, -40, 0)],
    )


def average(values: list[float]) -> float:
    return sum(values) / len(values)


def oracle_z(text: TokenStatistics) -> list[float]:
    z = []
    for logprob, entropy, variance in zip(
        text.logprobs, text.entropies, text.variances, strict=True
    ):
        mean = -entropy
        sigma = math.sqrt(max(variance, 1e-6))
        z.append((logprob - mean) / sigma)
    return z


def oracle_surp(text: TokenStatistics, eps: float, percent: int, empty: float) -> float:
    threshold = np.percentile(text.logprobs, percent)
    surprising = []
    for logprob, entropy in zip(text.logprobs, text.entropies, strict=True):
        if entropy < eps and logprob < threshold:
            surprising.append(logprob)
    return average(surprising) if surprising else empty


def oracle_dc_pdd(
    text: TokenStatistics, a: float, upper_bound: bool, first_occurrence: bool
) -> float:
    seen = set()
    alphas = []
    for token, logprob, log_q in zip(
        text.token_ids, text.logprobs, text.log_frequencies, strict=True
    ):
        if first_occurrence and token in seen:
            continue
        seen.add(token)
        alpha = -math.exp(logprob) * log_q
        alphas.append(min(a, alpha) if upper_bound else alpha)
    return average(alphas)
