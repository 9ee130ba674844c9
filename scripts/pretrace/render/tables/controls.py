"""Methods against what finds nothing about training: controls, placebos, models that saw neither class."""

from collections import Counter
from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np
import pandas as pd

from pretrace.evaluation.null import LEVEL, Misses, misses
from pretrace.render.names import AT_EDGE, BLIND, chance_level, method_label, ordered, panel_label, row_label
from pretrace.render.phrases import INTERVALS, conditions, joined, signed, with_interval
from pretrace.render.registry import Artifact, table
from pretrace.render.results import Results
from pretrace.render.rows import (
    STAR_LEVEL,
    Panel,
    Record,
    estimate,
    is_starred,
    long_frame,
    multiplicity_note,
    number,
    number_record,
    other_texts_note,
    records_of,
)
from pretrace.render.tables.estimates import keys_of
from pretrace.render.tables.table import Cell, Placed, Table, by_panel, cell_of, lay_out, rows_of, table_of
from pretrace.runtime.errors import InputError

FEW = 4
"""Up to so many panels have a block each."""


@table("blind_audit", needs=("metrics", "tests", "placebos"))
def blind_audit(artifact: Artifact, results: Results) -> Table:
    """A block a panel, a row a method: its value, that of the placebos, its rank among them, whether it beats blind.

    The placebos are those of `evaluation.placebos`. Of more than `FEW` panels, those without placebos are rows of
    one block.
    """
    panels = results.panels(artifact)
    frame = long_frame(
        [row for at, panel in enumerate(panels) for row in _audit(artifact, results, panel, at)]
    )
    by_number = {at: frame[frame["panel"] == at] for at in range(len(panels))}
    apart = [at for at, own in by_number.items() if own["rank"].notna().any() or len(panels) <= FEW]
    together = frame[~frame["panel"].isin(apart)]
    cells = [
        one
        for at in apart
        for one in rows_of(
            panel_label(panels[at]),
            ((row_label(row["method"]), _cells(row), row["control"]) for row in records_of(by_number[at])),
        )
    ]
    blocks = lay_out(cells)
    reading = [_reading(panels[at], by_number[at]) for at in apart]
    if len(together):
        title = "Without placebos" if apart else ""
        blocks += lay_out(by_panel(artifact, panels, records_of(together), title, _value), "Panel")
        reading.append(_reading_of_many([own for at, own in by_number.items() if at not in apart]))
    notes = _notes(artifact, panels, frame, many=len(together) > 0)
    return table_of(artifact, blocks, notes, frame, " ".join(reading))


def _audit(artifact: Artifact, results: Results, panel: Panel, at: int) -> Iterable[dict[str, Any]]:
    """A row a method: its value beside the placebos' and its test against blind; `beats_blind` is empty without one."""
    found = results.selected(artifact, panel, "held_out")
    tests = results.bootstrap_tests(artifact, panel, BLIND)
    for method in ordered(artifact, found):
        row, test = found[method], tests.get(method)
        verdict = ("yes" if is_starred(tests, method) else "no") if test else ""
        yield (
            keys_of(at, panel, row)
            | {"metric": artifact.get("metric", "auc"), "selection": "held_out"} | number_record(row)
            | results.among_placebos(panel, row)
            | {"difference_to_blind": test["difference"] if test else None}
            | {key: test[key] if test else None for key in ("p", "p_holm")} | {"beats_blind": verdict}
        )  # fmt: skip


def _value(record: Record) -> Cell:
    return cell_of({**record, "star": record["beats_blind"] == "yes"}, AT_EDGE)


def _cells(record: Record) -> Iterable[tuple[str, Cell]]:
    z, rank, beats = number(record["z"]), number(record["rank"]), record["beats_blind"]
    first = rank == 1 and not record["control"]
    yield "Benchmark", cell_of(record, AT_EDGE)
    yield "Placebos", Cell(number(record["placebo_mean"]), sd=number(record["placebo_sd"]))
    yield "z", Cell() if z is None else Cell(words=signed(z, 1))
    yield "Rank", Cell(words=f"{rank:.0f} of {record['placebos'] + 1:.0f}", bold=first) if rank else Cell()
    yield "Beats blind?", Cell(words=beats, bold=beats == "yes") if beats else Cell()


def _notes(artifact: Artifact, panels: Sequence[Panel], frame: pd.DataFrame, *, many: bool) -> list[str]:
    notes = [
        *conditions(artifact, records_of(frame)),
        f"Held-out settings. {INTERVALS}",
        "Placebos: each document of the members in turn plays the non-members, against the other members; mean ± "
        "standard deviation of the values. z: distance of the benchmark's value from their mean, in standard "
        "deviations. Rank: its place among them from the top; bold: the first. If the non-members' document were like "
        "the members', every rank would be equally likely. Only methods that rank first exceed the placebos.",
        f"Beats blind: above the bag-of-words classifier by the paired bootstrap, Holm-corrected p ≤ "
        f"{STAR_LEVEL:g}; a dash where no such test was made.",
        *multiplicity_note(len(panels), "panel"),
    ]
    if many:
        notes.append("* beats blind, in the same sense.")
    return [*notes, *other_texts_note(panels, frame)]


def _reading(panel: Panel, frame: pd.DataFrame) -> str:
    """Which methods rank first among the placebos, and which beat the blind classifier."""
    methods = frame[~frame["control"]]
    ranked = methods[methods["rank"].notna()]
    sentences = []
    if not ranked.empty:
        first = [method_label(method) for method in ranked.loc[ranked["rank"] == 1, "method"]]
        documents = f"the {ranked['placebos'].max():.0f} placebos"
        who = f"{joined(first)} {'exceed' if len(first) > 1 else 'exceeds'}" if first else "no method exceeds"
        sentences.append(f"On {panel_label(panel)}, {who} all of {documents}.")
    sentences += _blind_sentence(panel, frame, methods, bool(sentences))
    return (
        " ".join(sentences) or f"On {panel_label(panel)} there are neither placebos nor a blind classifier."
    )


def _reading_of_many(frames: Sequence[pd.DataFrame]) -> str:
    """On how many panels a method beats the blind classifier, and which methods do most often."""
    winners = [list(of.loc[of["beats_blind"] == "yes", "method"]) for of in frames]
    beaten = sum(map(bool, winners))
    text = f"Of {len(frames)} panels without placebos, a method beats the blind classifier on {beaten}"
    counts = Counter(method_label(method) for methods in winners for method in methods).most_common(3)
    if counts:
        text += f", most often {joined([f'{method} ({count})' for method, count in counts])}"
    return f"{text}."


def _blind_sentence(panel: Panel, frame: pd.DataFrame, methods: pd.DataFrame, placed: bool) -> Sequence[str]:
    blind = frame[frame["method"] == BLIND]
    if blind.empty:
        return []
    where = "there" if placed else f"on {panel_label(panel)}"
    start = f"The blind classifier reaches {with_interval(estimate(records_of(blind)[0]))} {where}"
    tested = methods[methods["beats_blind"] != ""]
    if tested.empty:
        return [f"{start}; no method was tested against it."]
    winners = [method_label(method) for method in tested.loc[tested["beats_blind"] == "yes", "method"]]
    if winners:
        return [f"{start}, and {joined(winners)} {'beat' if len(winners) > 1 else 'beats'} it."]
    none = "the method does not beat" if len(tested) == 1 else f"none of the {len(tested)} methods beats"
    return [f"{start}; {none} it."]


CONTROLS = "Controls, which see no model"


@table("null_audit", needs=("metrics", "tests"))
def null_audit(artifact: Artifact, results: Results) -> Table:
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
        shown = [(label, _null_cells(artifact, own), title == CONTROLS) for label, own in rows if len(own)]
        return rows_of(title, shown)

    by_panel = [(panel_label(panel), frame[frame["panel"] == at]) for at, panel in enumerate(panels)]
    cells = block("Methods that see a model", ((label, own[~own["control"]]) for label, own in by_panel))
    cells += block("All panels together", [("all", frame[~frame["control"]])])
    cells += block(CONTROLS, ((label, own[own["control"]]) for label, own in by_panel))
    reading = _null_reading(artifact, frame[~frame["control"]], counted)
    return table_of(artifact, lay_out(cells, "Panel"), _null_notes(artifact, frame), frame, reading)


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


def _null_cells(artifact: Artifact, of: pd.DataFrame) -> Iterable[tuple[str, Cell]]:
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


def _null_notes(artifact: Artifact, frame: pd.DataFrame) -> list[str]:
    return [
        *conditions(artifact, records_of(frame)),
        f"Held-out settings. Intervals that miss: 95 % intervals without {_chance(artifact):g}; bold where chance "
        "allows fewer. Expected: 5 % of the intervals. Allowed: the largest count with a chance of 5 % or more. p of "
        "as many: the chance of this many or more. Both take the methods as independent. On the same texts they are "
        "not, so counts vary more than that.",
        "Least Holm p: of a normal error as wide as each interval, corrected over every method and panel of the table.",
        "Of permutation: the same of an exact test, for which the texts of each document exchange labels at random and "
        "held-out settings are chosen again. A dash: not tested, because the split was not drawn at random within "
        "documents, or because the score is learned from labels.",
    ]


def _null_reading(artifact: Artifact, of: pd.DataFrame, counted: Misses) -> str:
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
