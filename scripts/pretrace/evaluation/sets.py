"""The evaluation sets of a benchmark: all of it, and what is left for each draw of prefixes."""

from typing import TYPE_CHECKING

from pretrace.evaluation.cells import EvaluationSet
from pretrace.runtime.logs import log
from pretrace.views.prefixes import balanced, excluded

if TYPE_CHECKING:
    import pandas as pd


def evaluation_sets(benchmark: "pd.DataFrame", prefixes: "pd.DataFrame | None" = None) -> list[EvaluationSet]:
    """`all`; and, for each draw of `prefixes` (`views.prefixes.draw_prefixes`), its other two sets.

    `without_prefixes` leaves out the draw's whole pool and what overlaps it; `balanced` then keeps as many of
    each class.
    """
    sets = [EvaluationSet()]
    if prefixes is None:
        return sets
    for draw in sorted(map(int, prefixes["draw"].unique())):
        left = frozenset(benchmark["text_id"]) - excluded(prefixes, benchmark, draw)
        equal = frozenset(balanced(prefixes, benchmark, draw))
        sets += [EvaluationSet("without_prefixes", draw, left), EvaluationSet("balanced", draw, equal)]
        log.info(
            "draw %d: of %d texts, %d stand without its prefixes, %d balanced",
            draw,
            len(benchmark),
            len(left),
            len(equal),
        )
    return sets
