"""Methods against what finds nothing about training: controls, placebos, models that saw neither class."""

from collections import Counter
from collections.abc import Iterable, Sequence

import numpy as np
import pandas as pd

from pretrace.evaluation.averages import Record, estimate, number
from pretrace.evaluation.null import LEVEL, Misses, misses
from pretrace.render.names import AT_EDGE, BLIND, chance_level, method_label, panel_label, row_label
from pretrace.render.phrases import (
    INTERVALS,
    conditions,
    joined,
    multiplicity_note,
    other_texts_note,
    signed,
    with_interval,
)
from pretrace.render.registry import Artifact, table
from pretrace.render.results import Results, above_baseline, estimates
from pretrace.render.rows import STAR_LEVEL, Panel, records_of
from pretrace.render.tables.table import Cell, Placed, Table, by_panel, cell_of, lay_out, rows_of, table_of
from pretrace.runtime.errors import InputError

FEW = 4
"""Up to this many panels have their own block."""


@table("blind_audit", needs=("metrics", "tests", "placebos"))
def blind_audit(artifact: Artifact, results: Results) -> Table:
    """A block a panel, a row a method: its value, that of the placebos, its rank among them, whether it beats blind.

    The placebos are those of `evaluation.placebos`. Of more than `FEW` panels, those without placebos are rows of
    one block.
    """
    panels = results.panels(artifact)
    frame = estimates({**artifact, "baseline": BLIND}, results, ["held_out"], results.among_placebos)
    frame["beats_blind"] = above_baseline(frame)
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
        starred = together.assign(star=together["beats_blind"].fillna(False))
        blocks += lay_out(by_panel(panels, starred, title, lambda row: cell_of(row, AT_EDGE)), "Panel")
        reading.append(_reading_of_many([own for at, own in by_number.items() if at not in apart]))
    notes = _notes(artifact, panels, frame, many=len(together) > 0)
    return table_of(artifact, blocks, notes, frame, " ".join(reading))


def _cells(record: Record) -> Iterable[tuple[str, Cell]]:
    z, rank, beats = number(record["z"]), number(record["rank"]), record["beats_blind"]
    first = rank == 1 and not record["control"]
    yield "Benchmark", cell_of({**record, "star": False}, AT_EDGE)
    yield "Placebos", Cell(number(record["placebo_mean"]), sd=number(record["placebo_sd"]))
    yield "z", Cell() if z is None else Cell(words=signed(z, 1))
    yield "Rank", Cell(words=f"{rank:.0f} of {record['placebos'] + 1:.0f}", bold=first) if rank else Cell()
    yield "Beats blind?", Cell() if pd.isna(beats) else Cell(words="yes" if beats else "no", bold=beats)


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
    methods, place = frame[~frame["control"]], f"on {panel_label(panel)}"
    ranked, tested = methods[methods["rank"].notna()], methods[methods["beats_blind"].notna()]
    sentences = []
    if not ranked.empty:
        first = [method_label(method) for method in ranked.loc[ranked["rank"] == 1, "method"]]
        who = f"{joined(first)} {'exceed' if len(first) > 1 else 'exceeds'}" if first else "no method exceeds"
        placebos = f"all of the {ranked['placebos'].max():.0f} placebos"
        sentences.append(f"On {panel_label(panel)}, {who} {placebos}.")
        place = "there"
    for blind in records_of(frame[frame["method"] == BLIND]):
        winners = [method_label(method) for method in tested.loc[tested["beats_blind"], "method"]]
        if tested.empty:
            verdict = "; no method was tested against it"
        elif winners:
            verdict = f", and {joined(winners)} {'beat' if len(winners) > 1 else 'beats'} it"
        elif len(tested) == 1:
            verdict = "; the method does not beat it"
        else:
            verdict = f"; none of the {len(tested)} methods beats it"
        sentences.append(f"The blind classifier reaches {with_interval(estimate(blind))} {place}{verdict}.")
    return (
        " ".join(sentences) or f"On {panel_label(panel)} there are neither placebos nor a blind classifier."
    )


def _reading_of_many(frames: Sequence[pd.DataFrame]) -> str:
    """On how many panels a method beats the blind classifier, and which methods do most often."""
    winners = [list(of.loc[of["beats_blind"].fillna(False), "method"]) for of in frames]
    beaten = sum(map(bool, winners))
    text = f"Of {len(frames)} panels without placebos, a method beats the blind classifier on {beaten}"
    counts = Counter(method_label(method) for methods in winners for method in methods).most_common(3)
    if counts:
        text += f", most often {joined([f'{method} ({count})' for method, count in counts])}"
    return f"{text}."


CONTROLS = "Controls, which see no model"


@table("null_audit", needs=("metrics", "tests"))
def null_audit(artifact: Artifact, results: Results) -> Table:
    """One row for each panel and one for all: how many 95 % intervals of held-out metrics exclude chance.

    Methods that see a model are counted; controls have their own rows below. The number allowed by chance is the 95 %
    quantile of a binomial count at 5 % a row. Holm's correction is over the whole table. The permutation tests are
    shown for the rows that have one.
    """
    metric = artifact.get("metric", "auc")
    chance = chance_level(metric)
    if chance is None:
        raise InputError(f"artifact {artifact['artifact']}: {metric} has no chance level")
    panels = results.panels(artifact)
    frame = estimates(artifact, results, ["held_out"])
    frame = frame[frame["low"].notna()].sort_values("panel", kind="stable", ignore_index=True)
    missed = (frame["low"] > chance) | (frame["high"] < chance)
    tests = [results.held_out_tests(artifact, panel, "chance", "permutation") for panel in panels]
    pairs = zip(frame["panel"], frame["method"], strict=True)
    exact = [tests[panel].get(method, {"p": np.nan})["p"] for panel, method in pairs]
    frame = frame.assign(chance=chance, missed=missed, p_permutation=exact)
    models = frame[~frame["control"]]
    counted = _counted(models)
    for name in ("p_holm", "p_permutation_holm"):
        frame[name] = pd.Series(getattr(counted, name), index=models.index)

    def block(title: str, rows: Iterable[tuple[str, pd.DataFrame]]) -> list[Placed]:
        return rows_of(
            title, ((label, _null_cells(own), title == CONTROLS) for label, own in rows if len(own))
        )

    models = frame[~frame["control"]]
    by_panel = [(panel_label(panel), frame[frame["panel"] == at]) for at, panel in enumerate(panels)]
    cells = block("Methods that see a model", ((label, own[~own["control"]]) for label, own in by_panel))
    cells += block("All panels together", [("all", models)])
    cells += block(CONTROLS, ((label, own[own["control"]]) for label, own in by_panel))
    notes = [*conditions(artifact, records_of(frame)), *_null_notes(chance)]
    return table_of(artifact, lay_out(cells, "Panel"), notes, frame, _null_reading(models, counted))


def _counted(of: pd.DataFrame) -> Misses:
    columns = (of[name].to_numpy(np.float64) for name in ("value", "low", "high", "p_permutation"))
    return misses(*columns, chance=of["chance"].max())


def _null_cells(of: pd.DataFrame) -> Iterable[tuple[str, Cell]]:
    counted = _counted(of)
    far = records_of(of)[int((of["value"] - of["chance"]).abs().to_numpy().argmax())]
    yield "Methods", Cell(words=f"{len(of)}")
    yield "Intervals that miss", Cell(words=f"{counted.count}", bold=counted.count > counted.most_allowed)
    yield "Expected", Cell(words=f"{LEVEL * len(of):.1f}")
    yield "Allowed", Cell(words=f"{counted.most_allowed}")
    yield "p of as many", Cell(words=f"{counted.p_count:.3f}")
    for head, least in (
        ("Least Holm p", of["p_holm"].min()),
        ("of permutation", of["p_permutation_holm"].min()),
    ):
        yield head, Cell() if pd.isna(least) else Cell(words=f"{least:.3f}")
    yield "Farthest", Cell(words=f"{method_label(far['method'])} {with_interval(estimate(far))}")


def _null_notes(chance: float) -> list[str]:
    return [
        f"Held-out settings. Intervals that miss: 95 % intervals without {chance:g}; bold where chance "
        "allows fewer. Expected: 5 % of the intervals. Allowed: the largest count with a chance of 5 % or more. p of "
        "as many: the chance of this many or more. Both take the methods as independent. On the same texts they are "
        "not, so counts vary more than that.",
        "Least Holm p: of a normal error as wide as each interval, corrected over every method and panel of the table.",
        "Of permutation: the same of an exact test, for which the texts of each document exchange labels at random and "
        "held-out settings are chosen again. A dash: not tested, because the split was not drawn at random within "
        "documents, or because the score is learned from labels.",
    ]


def _null_reading(of: pd.DataFrame, counted: Misses) -> str:
    """Whether more intervals miss chance than chance allows, and what corrected tests find."""
    allowed, misses = counted.most_allowed, "misses" if counted.count == 1 else "miss"
    verdict = "no more than" if counted.count <= allowed else f"more than the {allowed} that"
    leaks, least = _leaks(of, "p_holm"), of["p_holm"].min()
    corrected = (
        f"there is something to find: {leaks}"
        if leaks
        else f"no method differs from chance (least p {least:.2f})"
    )
    text = (
        f"{counted.count} of {len(of)} intervals {misses} {of['chance'].max():g}, {verdict} chance allows "
        f"({LEVEL * len(of):.1f} are expected). Corrected over the table, {corrected}."
    )
    tested = of["p_permutation_holm"].dropna()
    if tested.empty:
        return text
    leaks = _leaks(of, "p_permutation_holm")
    found = (
        f"find a difference: {leaks}" if leaks else f"find no difference (least Holm p {tested.min():.2f})"
    )
    return f"{text} {len(tested)} exact permutation tests within documents {found}."


def _leaks(of: pd.DataFrame, p: str) -> str:
    """The methods whose corrected p is significant, the first four by name; empty where there is none."""
    leaks = of[of[p] <= LEVEL].sort_values(p, kind="stable")
    named = "; ".join(
        f"{method_label(row['method'])} on {row['model']}, {row['benchmark']} ({with_interval(estimate(row))})"
        for row in records_of(leaks.head(4))
    )
    return f"{named}{f' and {len(leaks) - 4} more' if len(leaks) > 4 else ''}"
