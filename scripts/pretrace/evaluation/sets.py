"""The evaluation sets of a benchmark: all of it, and what is left for each draw of prefixes."""

from collections.abc import Collection, Mapping

import pandas as pd

from pretrace.evaluation.cells import EvaluationSet
from pretrace.runtime.logs import log
from pretrace.views.prefixes import balanced, evaluated


def evaluation_sets(
    benchmark: pd.DataFrame,
    prefixes: pd.DataFrame | None = None,
    asked: Mapping[str, Collection[int]] | None = None,
) -> list[EvaluationSet]:
    """`all`; and, for each draw of `prefixes` (`views.prefixes.draw_prefixes`), its other two sets.

    `without_prefixes` leaves out the draw's whole pool and what overlaps it, or holds the texts that the benchmark
    names for it; `balanced` then keeps as many of each class. `asked`: of these two only the named ones, for the
    draws that each names (default, every one).
    """
    sets = [EvaluationSet()]
    if prefixes is None:
        return sets
    for draw in sorted(map(int, prefixes["draw"].unique())):
        names = [
            name for name in ("without_prefixes", "balanced") if asked is None or draw in asked.get(name, ())
        ]
        if not names:
            continue
        ids = {
            "without_prefixes": frozenset(evaluated(prefixes, benchmark, draw)),
            "balanced": frozenset(balanced(prefixes, benchmark, draw)),
        }
        nonmembers = str(prefixes.loc[prefixes["draw"].eq(draw), "nonmembers"].iloc[0])
        sets += [EvaluationSet(name, draw, ids[name], nonmembers) for name in names]
        log.info("draw %d: %d texts, %d without its prefixes, %d balanced",
                 draw, len(benchmark), *map(len, ids.values()))  # fmt: skip
    return sets
