"""Where there is nothing to find: how many intervals miss chance, and what chance allows."""

from collections.abc import Sequence

import numpy as np
import pandas as pd

from pretrace.evaluation.null import LEVEL, Misses, misses
from pretrace.questions.known import is_control
from pretrace.render.names import chance_level, method_label, panel_label
from pretrace.render.phrases import conditions, with_interval
from pretrace.render.records import estimate, long_frame, number_record, panel_record
from pretrace.render.registry import Artifact, table
from pretrace.render.results import Results
from pretrace.render.selecting import Panel, Record, records_of
from pretrace.render.tables.table import Block, Cell, Row, Table
from pretrace.runtime.errors import InputError

COLUMNS = (
    "Methods",
    "Intervals that miss",
    "Expected",
    "Allowed",
    "p of as many",
    "Least Holm p",
    "of permutation",
    "Farthest",
)


@table("null_audit", needs=("metrics", "tests"))
def render(artifact: Artifact, results: Results) -> Table:
    """A row a panel and one for all: 95 % intervals of held-out metrics that do not hold chance.

    Methods that see a model are counted; controls have rows of their own below. Chance allows what a binomial
    count with 5 % a row reaches in 5 % of all tables; Holm's correction is over the whole table. Beside them stand
    the permutation tests of the rows that have one.
    """
    panels = results.panels(artifact)
    selected = [results.selected(artifact, panel, "held_out") for panel in panels]
    exact = [results.permutation_tests(artifact, panel) for panel in panels]
    frame = _frame(artifact, panels, selected, exact)
    models = frame[~frame["control"]]
    counted = _counted(artifact, models)
    for name in ("p_holm", "p_permutation_holm"):
        frame[name] = pd.Series(getattr(counted, name), index=models.index)
    rows = [_row(artifact, panel_label(panel), of) for panel, of in _by_panel(panels, frame, control=False)]
    blocks = [
        Block("Methods that see a model", tuple(rows)),
        Block("All panels together", (_row(artifact, "all", frame[~frame["control"]]),)),
    ]
    controls = [
        _row(artifact, panel_label(panel), of, control=True)
        for panel, of in _by_panel(panels, frame, control=True)
        if len(of)
    ]
    if controls:
        blocks.append(Block("Controls, which see no model", tuple(controls)))
    return Table(
        caption=artifact["title"],
        label=artifact["artifact"],
        stub="Panel",
        columns=tuple((column,) for column in COLUMNS),
        blocks=tuple(blocks),
        notes=tuple(_notes(artifact, [row for of in selected for row in of.values()])),
        frame=frame,
        reading=_reading(artifact, frame[~frame["control"]], counted),
    )


def _frame(
    artifact: Artifact,
    panels: Sequence[Panel],
    selected: Sequence[dict[str, Record]],
    exact: Sequence[dict[str, Record]],
) -> pd.DataFrame:
    chance = _chance(artifact)
    records = [
        panel_record(panel)
        | {
            "panel": at,
            "method": method,
            "control": is_control(method),
            "metric": artifact.get("metric", "auc"),
        }
        | number_record(row)
        | {"chance": chance, "missed": bool(row["low"] > chance or row["high"] < chance)}
        | {"p_permutation": tests[method]["p"] if method in tests else np.nan}
        for at, (panel, of, tests) in enumerate(zip(panels, selected, exact, strict=True))
        for method, row in of.items()
        if pd.notna(row["low"])
    ]
    return long_frame(records)


def _chance(artifact: Artifact) -> float:
    chance = chance_level(artifact.get("metric", "auc"))
    if chance is None:
        raise InputError(
            f"artifact {artifact['artifact']}: {artifact['metric']} has no level that chance reaches"
        )
    return chance


def _by_panel(
    panels: Sequence[Panel], frame: pd.DataFrame, *, control: bool
) -> list[tuple[Panel, pd.DataFrame]]:
    return [
        (panel, frame[(frame["panel"] == at) & (frame["control"] == control)])
        for at, panel in enumerate(panels)
    ]


def _counted(artifact: Artifact, of: pd.DataFrame) -> Misses:
    columns = (of[name].to_numpy(np.float64) for name in ("value", "low", "high", "p_permutation"))
    return misses(*columns, chance=_chance(artifact))


def _row(artifact: Artifact, label: str, of: pd.DataFrame, *, control: bool = False) -> Row:
    if of.empty:
        return Row(label, tuple(Cell() for _ in COLUMNS), control=control)
    counted = _counted(artifact, of)
    far = records_of(of)[int((of["value"] - _chance(artifact)).abs().to_numpy().argmax())]
    words = (
        f"{len(of)}",
        f"{counted.count}",
        f"{LEVEL * len(of):.1f}",
        f"{counted.most_allowed}",
        f"{counted.p_count:.3f}",
        *(None if pd.isna(p) else f"{p:.3f}" for p in of[["p_holm", "p_permutation_holm"]].min()),
        f"{method_label(far['method'])} {with_interval(estimate(far))}",
    )
    too_many = counted.count > counted.most_allowed
    cells = tuple(Cell(words=word, bold=too_many and at == 1) for at, word in enumerate(words))
    return Row(label, cells, control=control)


def _notes(artifact: Artifact, rows: Sequence[Record]) -> list[str]:
    return [
        *conditions(artifact, rows),
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
