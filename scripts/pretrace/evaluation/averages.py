"""Means and differences of estimates, with what may be said of their error."""

import math
from collections.abc import Sequence
from statistics import mean, stdev

Estimate = tuple[float, float | None, float | None]
"""A value with the ends of its 95 % interval, None where no interval was drawn."""

REPEATED = ("draw", "panel")
"""Averages over draws, and over panels that are repetitions with another seed, show their spread."""


def average(values: Sequence[Estimate], over: str) -> tuple[Estimate, float | None]:
    """The mean of a group that differs in `over` alone, its interval, and its standard deviation.

    Subsets hold different texts, so their errors are independent and the interval is that of a mean of
    independent estimates (method of variance estimates recovery: Zou and Donner, Statistics in Medicine 27,
    2008). Repetitions have a standard deviation instead; what shares its texts has neither. NaN if a value is missing.
    """
    if any(math.isnan(one[0]) for one in values):
        return (math.nan, None, None), None
    value = mean(one[0] for one in values)
    if over in REPEATED:
        return (value, None, None), stdev(one[0] for one in values) if len(values) > 1 else None
    below = [one[0] - one[1] for one in values if one[1] is not None]
    above = [one[2] - one[0] for one in values if one[2] is not None]
    if over != "subset" or len(below) < len(values) or len(above) < len(values):
        return (value, None, None), None
    count = len(values)
    return (value, value - math.hypot(*below) / count, value + math.hypot(*above) / count), None


def difference(first: Estimate, second: Estimate) -> Estimate:
    """first - second, with an interval combined from the two as if they were independent.

    Method of variance estimates recovery: G. Y. Zou and A. Donner, Construction of confidence limits about
    effect measures, Statistics in Medicine 27 (2008); no interval where either has none.
    """
    (a, a_low, a_high), (b, b_low, b_high) = first, second
    if a_low is None or a_high is None or b_low is None or b_high is None:
        return a - b, None, None
    low = a - b - math.hypot(a - a_low, b_high - b)
    high = a - b + math.hypot(a_high - a, b - b_low)
    return a - b, low, high
