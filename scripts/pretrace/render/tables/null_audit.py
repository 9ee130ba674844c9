"""Where there is nothing to find: how many intervals miss chance, and what chance allows."""

from collections.abc import Iterable
from typing import Any

import numpy as np
import pandas as pd

from pretrace.evaluation.null import LEVEL, Misses, misses
from pretrace.render.names import chance_level, method_label, panel_label
from pretrace.render.phrases import conditions, with_interval
from pretrace.render.records import estimate, long_frame, number_record
from pretrace.render.registry import Artifact, table
from pretrace.render.results import Results
from pretrace.render.selecting import records_of
from pretrace.render.tables.estimates import keys_of
from pretrace.render.tables.table import Cell, Placed, Table, lay_out, rows_of, table_of
from pretrace.runtime.errors import InputError

CONTROLS = "Controls, which see no model"


@table("null_audit", needs=("metrics", "tests"))
def render(artifact: Artifact, results: Results) -> Table:
    """A row a panel and one for all: 95 % intervals of held-out metrics that do not hold chance.

    Methods that see a model are counted; controls have rows of their own below. Chance allows what a binomial
    count with 5 % a row reaches in 5 % of all tables; Holm's correction is over the whole table. Beside them stand
    the permutation tests of the rows that have one.
    """
    panels = results.panels(artifact)
    frame = _frame(artifact, results)
    models = frame[~frame["control"]]
    counted = _counted(artifact, models)
    for name in ("p_holm", "p_permutation_holm"):
        frame[name] = pd.Series(getattr(counted, name), index=models.index)

    def block(title: str, rows: Iterable[tuple[str, pd.DataFrame]]) -> list[Placed]:
        shown = [(label, _cells(artifact, own), title == CONTROLS) for label, own in rows if len(own)]
        return rows_of(title, shown)

    by_panel = [(panel_label(panel), frame[frame["panel"] == at]) for at, panel in enumerate(panels)]
    cells = block("Methods that see a model", ((label, own[~own["control"]]) for label, own in by_panel))
    cells += block("All panels together", [("all", frame[~frame["control"]])])
    cells += block(CONTROLS, ((label, own[own["control"]]) for label, own in by_panel))
    reading = _reading(artifact, frame[~frame["control"]], counted)
    return table_of(artifact, lay_out(cells, "Panel"), _notes(artifact, frame), frame, reading)


def _frame(artifact: Artifact, results: Results) -> pd.DataFrame:
    """A row a panel and method that has an interval, with whether it misses chance and its permutation test."""
    chance = _chance(artifact)
    records: list[dict[str, Any]] = []
    for at, panel in enumerate(results.panels(artifact)):
        exact = results.permutation_tests(artifact, panel)
        for method, row in results.selected(artifact, panel, "held_out").items():
            if pd.notna(row["low"]):
                records.append(
                    keys_of(at, panel, row) | {"metric": artifact.get("metric", "auc")} | number_record(row)
                    | {"chance": chance, "missed": bool(row["low"] > chance or row["high"] < chance)}
                    | {"p_permutation": exact[method]["p"] if method in exact else np.nan}
                )  # fmt: skip
    return long_frame(records)


def _chance(artifact: Artifact) -> float:
    chance = chance_level(artifact.get("metric", "auc"))
    if chance is None:
        raise InputError(
            f"artifact {artifact['artifact']}: {artifact['metric']} has no level that chance reaches"
        )
    return chance


def _counted(artifact: Artifact, of: pd.DataFrame) -> Misses:
    columns = (of[name].to_numpy(np.float64) for name in ("value", "low", "high", "p_permutation"))
    return misses(*columns, chance=_chance(artifact))


def _cells(artifact: Artifact, of: pd.DataFrame) -> Iterable[tuple[str, Cell]]:
    counted = _counted(artifact, of)
    far = records_of(of)[int((of["value"] - _chance(artifact)).abs().to_numpy().argmax())]
    least, least_exact = of[["p_holm", "p_permutation_holm"]].min()
    yield "Methods", Cell(words=f"{len(of)}")
    yield "Intervals that miss", Cell(words=f"{counted.count}", bold=counted.count > counted.most_allowed)
    yield "Expected", Cell(words=f"{LEVEL * len(of):.1f}")
    yield "Allowed", Cell(words=f"{counted.most_allowed}")
    yield "p of as many", Cell(words=f"{counted.p_count:.3f}")
    yield "Least Holm p", Cell() if pd.isna(least) else Cell(words=f"{least:.3f}")
    yield "of permutation", Cell() if pd.isna(least_exact) else Cell(words=f"{least_exact:.3f}")
    yield "Farthest", Cell(words=f"{method_label(far['method'])} {with_interval(estimate(far))}")


def _notes(artifact: Artifact, frame: pd.DataFrame) -> list[str]:
    return [
        *conditions(artifact, records_of(frame)),
        f"Held-out settings. Intervals that miss: 95 % intervals without {_chance(artifact):g}; bold where chance "
        "allows fewer. Expected: 5 % of the intervals. Allowed: the largest count with a chance of 5 % or more. p of "
        "as many: the chance of so many or more. Both take methods as independent; on the same texts they are not, so "
        "that counts scatter more than that.",
        "Least Holm p: of a normal error as wide as each interval, corrected over every method and panel of the table.",
        "Of permutation: the same of an exact test, for which the texts of each document exchange labels at random and "
        "held-out settings are chosen again. A dash: not tested, because the split was not drawn at random within "
        "documents, or because the score is learned from labels.",
    ]


def _reading(artifact: Artifact, of: pd.DataFrame, counted: Misses) -> str:
    allowed, chance = counted.most_allowed, _chance(artifact)
    verdict = "no more than" if counted.count <= allowed else f"more than the {allowed} that"
    start = (
        f"{counted.count} of {len(of)} intervals {'misses' if counted.count == 1 else 'miss'} {chance:g}, {verdict} "
        "chance allows "
        f"({LEVEL * len(of):.1f} are expected)"
    )
    by_interval = _leaks(of, "p_holm")
    corrected = (
        f"there is something to find: {by_interval}"
        if by_interval
        else f"no method differs from chance (least p {of['p_holm'].min():.2f})"
    )
    return f"{start}. Corrected over the table, {corrected}.{_permutation_reading(of)}"


def _permutation_reading(of: pd.DataFrame) -> str:
    tested = of["p_permutation_holm"].dropna()
    if tested.empty:
        return ""
    found = _leaks(of, "p_permutation_holm")
    verdict = (
        f"find a difference: {found}" if found else f"find no difference (least Holm p {tested.min():.2f})"
    )
    return f" {len(tested)} exact permutation tests within documents {verdict}."


def _leaks(of: pd.DataFrame, p: str) -> str:
    """The methods whose corrected p is significant, the first four by name; empty where there is none."""
    leaks = of[of[p] <= LEVEL].sort_values(p, kind="stable")
    named = "; ".join(
        f"{method_label(row['method'])} on {row['model']}, {row['benchmark']} ({with_interval(estimate(row))})"
        for row in records_of(leaks.head(4))
    )
    return f"{named}{f' and {len(leaks) - 4} more' if len(leaks) > 4 else ''}"
