"""What stands beside a group of columns: their mean, with what may be said of its error."""

import math
from collections.abc import Sequence
from statistics import mean, stdev
from typing import Any

from pretrace.render.phrases import Estimate
from pretrace.render.selecting import Panel

REPEATED = ("draw", "panel")
"""Averages over draws, and over panels that are repetitions with another seed, show their spread."""


def group_key(panel: Panel, over: str) -> tuple[Any, ...]:
    """What panels that are averaged together have in common."""
    if over == "panel":
        return ()
    keys = ("model", "benchmark", "subset", "length", "view", "draw", "reference")
    return tuple(panel.get(key) for key in keys if key != over)


def average(values: Sequence[Estimate | None], over: str) -> tuple[Estimate, float | None] | None:
    """The mean of a group, its interval, and its standard deviation; None where one of the group is missing.

    Subsets hold different texts, so their errors are independent and the interval is that of a mean of
    independent estimates (method of variance estimates recovery: Zou and Donner, Statistics in Medicine 27,
    2008). Repetitions have a standard deviation instead; what shares its texts has neither.
    """
    known = [value for value in values if value is not None]
    if not known or len(known) < len(values):
        return None
    value = mean(one[0] for one in known)
    if over in REPEATED:
        return (value, None, None), stdev(one[0] for one in known) if len(known) > 1 else None
    if over == "subset":
        return (value, *_ends(value, known)), None
    return (value, None, None), None


def _ends(value: float, known: Sequence[Estimate]) -> tuple[float | None, float | None]:
    below = [one[0] - one[1] for one in known if one[1] is not None]
    above = [one[2] - one[0] for one in known if one[2] is not None]
    if len(below) < len(known) or len(above) < len(known):
        return None, None
    return value - math.hypot(*below) / len(known), value + math.hypot(*above) / len(known)


def note(over: str) -> str:
    """What a table says of its averages."""
    if over in REPEATED:
        what = "draws of prefixes" if over == "draw" else "columns"
        return f"Average: mean and standard deviation over the {what}."
    if over == "subset":
        return (
            "Average: over the subsets, which share no text; its interval takes their errors as independent."
        )
    return f"Average: mean over the {over}s, which share their texts, and therefore without an interval."


def labels(over: str) -> dict[str, str]:
    """What an average's record says in place of the key it is taken over."""
    return {over: "average"} if over not in ("panel", "length") else {}
