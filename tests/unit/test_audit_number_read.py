"""How many documents in question were read at least: closed testing by brute force, and
how often the number is too high."""

from dataclasses import replace
from itertools import combinations

import numpy as np
import pytest
from scipy.stats import binom

from pretrace.audit.exchange_test import Units
from pretrace.audit.number_read import MOST_COUNTED, read_at_least


def documents(values: np.ndarray, ours: int) -> Units:
    """Documents of one text each, the first `ours` in question."""
    count = len(values)
    zeros = np.zeros(count, dtype=int)
    return Units(
        mean=values,
        texts=np.ones(count),
        suspect=np.arange(count) < ours,
        stratum=zeros,
        document=np.arange(count),
        within=0.0,
    )


def p_of(ours: np.ndarray, known: np.ndarray) -> float:
    """Of all ways to choose as many documents, the share with as high a sum."""
    every = np.concatenate([ours, known])
    sums = [sum(chosen) for chosen in combinations(every.tolist(), len(ours))]
    return float(np.mean(np.array(sums) >= ours.sum() - 1e-9))


def counted(values: np.ndarray, ours: int, level: float) -> int:
    units = documents(values, ours)
    p = p_of(values[:ours], values[ours:])
    number = read_at_least(units, p, level, seed=1)
    assert number is not None
    return number


@pytest.mark.parametrize("level", [0.05, 0.5])
@pytest.mark.parametrize("shift", [0.0, 1.5, 4.0])
def test_it_is_what_closed_testing_of_every_set_leaves(shift, level):
    """Every set of documents in question is tested against the known ones; as many were
    read as the largest set that is not rejected lacks."""
    for seed in range(4):
        values = np.random.default_rng(seed).normal(size=11)
        values[:3] += shift
        accepted = [0]
        for size in range(1, 6):
            for chosen in combinations(range(5), size):
                if p_of(values[[*chosen]], values[5:]) > level:
                    accepted.append(size)
        assert counted(values, 5, level) == 5 - max(accepted)


def test_it_is_rarely_more_than_were_read():
    rng = np.random.default_rng(5)
    too_many = {0.05: 0, 0.5: 0}
    found = 0
    for _ in range(120):
        values = rng.normal(size=12)
        values[:3] += 3.0
        for level in too_many:
            number = counted(values, 5, level)
            too_many[level] += number > 3
            found += number
    for level, count in too_many.items():
        assert count <= binom.ppf(0.999, 120, level)
    assert found / 240 > 1.5, "and yet most are counted"


def test_it_is_not_counted_where_sets_have_no_lowest_one_or_are_too_many():
    values = np.random.default_rng(0).normal(size=12)
    units = documents(values, 5)
    assert read_at_least(units, 0.3, 0.05, seed=1) == 0
    two_kinds = replace(units, stratum=np.arange(12) % 2)
    assert read_at_least(two_kinds, 0.01, 0.05, seed=1) is None
    many = documents(np.zeros(MOST_COUNTED + 30), MOST_COUNTED + 1)
    assert read_at_least(many, 0.01, 0.05, seed=1) is None
