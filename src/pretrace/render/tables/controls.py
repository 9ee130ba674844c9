"""Methods against what finds nothing about training: controls, placebos, models that
saw neither class."""

from collections.abc import Iterable, Mapping

import numpy as np
import pandas as pd

from pretrace.evaluation.averages import Record, estimate, number
from pretrace.questions.method_facts import is_control
from pretrace.render.artifact import Artifact, Panel
from pretrace.render.estimates import (
    STAR_LEVEL,
    beside_controls,
    estimates,
    for_the_best,
    is_another,
)
from pretrace.render.frames import long_frame, records_of
from pretrace.render.names import BLIND, join_words, marked_label, method_label
from pretrace.render.phrases import (
    brackets_and_dashes,
    conditions,
    exceeding_placebos,
    multiplicity_note,
    other_texts_note,
    with_interval,
)
from pretrace.render.results import Results
from pretrace.render.splits import beside_other_splits, split_means
from pretrace.render.tables.table import (
    Cell,
    Table,
    best,
    beyond_chance,
    by_method,
    cell_of,
    false_alarms_of,
    rows_of,
    table_of,
    with_false_alarms,
    words_tell_apart,
)


def blind_audit(artifact: Artifact, results: Results) -> Table:
    """Lay out a block a panel with placebos, a row a method: its value, the placebos',
    its rank, if it beats words.

    Panels without placebos are columns of one block.
    """
    panels = results.panels(artifact)
    frame = beside_controls(artifact, results)
    frame["null_model"] = frame["model"].isin(artifact.null_models)
    blocks = []
    reading = []
    with_placebos = set()
    for place, panel in enumerate(panels):
        own = frame[frame["panel"] == place]
        if own["rank"].isna().all():
            continue
        with_placebos.add(place)
        rows = []
        for row in records_of(own):
            rows.append((marked_label(row["method"]), _cells(row), row["control"]))
        blocks += rows_of(panel.name, rows)
        reading.append(_read_controls(panel, own[~is_another(own)]))
    families = " ".join(multiplicity_note(len(panels), "panel"))
    told = brackets_and_dashes(frame)
    more = ["Held-out settings.", told, *other_texts_note(panels, frame)]
    notes = [
        conditions(artifact, frame, " ".join(more)),
        "Placebos: each document of the members in turn plays the non-members, against "
        "the other members; mean ± standard deviation of the values. Rank: its "
        "place among them from the top. If the non-members' document "
        "were like the members', every rank would be equally likely.",
        "Beats words? (*): above the bag of words by the paired bootstrap, "
        f"Holm-corrected over the panel's methods, p ≤ {STAR_LEVEL:g}. No test: of a "
        f"control, and where a class has fewer than ten documents. {families}".rstrip(),
    ]
    without = frame[~frame["panel"].isin(with_placebos)]
    if len(without):
        starred = with_false_alarms(artifact, without.assign(bold=False))
        title = "Without placebos" if blocks else ""
        blocks += by_method(starred, panels, ["auc"], title=title)
        reading += _read_without_placebos(starred)
    return table_of(artifact, blocks, notes, frame, " ".join(reading))


def _read_without_placebos(frame: pd.DataFrame) -> Iterable[str]:
    """Count the panels on which a method beats the bag of words, and false alarms."""
    own = frame[~frame["null_model"]]
    count = own["panel"].nunique()
    if count:
        beaten = own.loc[own["star"], "panel"].nunique() or "none"
        yield (
            f"Of {count} panels without placebos, a method beats the bag of words on "
            f"{beaten}."
        )
    yield from false_alarms_of(frame)


def _cells(record: Record) -> Iterable[tuple[str, Cell]]:
    rank = number(record["rank"])
    beats = record["beats_blind"]
    beating = "no"
    if pd.isna(beats):
        beating = "no test"
    elif beats:
        beating = "yes: a false alarm" if record["null_model"] else "yes"
    placebos = {"value": record["placebo_mean"], "sd": record["placebo_sd"]}
    place = Cell()
    if rank:
        among = 1 + (record["placebos"] or 0)
        words = f"{rank:.0f} of {among:.0f}"
        place = Cell(words=words)
    yield "Benchmark", cell_of({**record, "star": False})
    yield "Placebos", cell_of(placebos)
    yield "Rank", place
    yield "Beats words?", Cell(words=beating, bold=beating == "yes")


def split_table(artifact: Artifact, results: Results) -> Table:
    """Lay out a row a method: its mean over splits in models trained on the members, in
    the models of the other splits, the difference, and the mean in a null model.

    A panel is one split of one model. Two more blocks have each split. Held-out
    settings.
    """
    panels = results.panels(artifact)
    metrics = [artifact.metric]
    shown = _of_splits(artifact, results)
    trained = shown[~shown["null_model"]]
    null = shown[shown["null_model"]]
    means = {TRAINED: _means_of(trained), NULL: _means_of(null)}
    rows = []
    for method in artifact.order_methods(shown["method"]):
        cells = _mean_cells(method, means)
        if cells:
            rows.append((marked_label(method), cells, is_control(method)))
    count = trained["panel"].nunique()
    blocks = [
        *rows_of(f"Mean over {count} splits", rows),
        *by_method(trained, panels, metrics, title=f"Single splits, {TRAINED}"),
        *by_method(null, panels, metrics, title=f"Single splits, {NULL}"),
    ]
    told = brackets_and_dashes(shown)
    notes = [
        conditions(artifact, shown, f"Held-out settings. {told}"),
        "A split draws its texts anew, says by a coin which of them are members, and "
        "has a training of its own. Models of the other splits know nothing of its "
        "coin: by its labels, they and its own model are compared on the texts that "
        "both splits have, and the mean is over these models. The difference is of "
        "the same texts, and not of the columns beside it. One model "
        "that read neither class reads the texts of all splits. Means have Student's "
        "95 % interval over the splits, whose spread is that of the draw, the coin and "
        "the training. Intervals of the difference pay for the choice among methods "
        "(Bonferroni).",
    ]
    reading = [*_read_splits(means, null, count), *false_alarms_of(shown)]
    averages = [*means[TRAINED].values(), *means[NULL].values()]
    frame = long_frame([*records_of(shown), *averages])
    return table_of(artifact, blocks, notes, frame, " ".join(reading))


TRAINED, NULL = "trained here on the members", "a model that read neither class"
OTHERS = "the models of the other splits"
LESS_NULL = "difference on the same texts"


def _of_splits(artifact: Artifact, results: Results) -> pd.DataFrame:
    """Return the held-out estimates of every split, beside what models of the other
    splits reach."""
    shown = estimates(artifact, results, ["held_out"])
    column = ["panel", "metric"]
    shown["bold"] = best(shown, column) & beyond_chance(shown, column)
    shown["bold"] &= ~words_tell_apart(shown)
    shown = shown.join(for_the_best(shown, ["panel"]))
    panels = results.panels(artifact)
    is_trained = [panel.model not in artifact.null_models for panel in panels]
    trained = np.flatnonzero(is_trained).tolist()
    marked = with_false_alarms(artifact, shown)
    return beside_other_splits(marked, [trained], panels, results)


def _means_of(frame: pd.DataFrame) -> dict[str, Record]:
    """Return the mean over the panels of each method that all of them have."""
    return {row["method"]: row for row in split_means(frame, frame["panel"].nunique())}


def _mean_cells(
    method: str, means: Mapping[str, Mapping[str, Record]]
) -> list[tuple[str, Cell]]:
    """Return the means of trained models, of other splits' models and of the null
    model as far as they are known, and the difference of the first two."""
    cells = []
    trained = means[TRAINED].get(method)
    if trained:
        cells.append((TRAINED, cell_of(trained)))
    above = number(trained["less_null"]) if trained else None
    if trained and above is not None:
        low, high = trained["less_null_low"], trained["less_null_high"]
        cells.append((OTHERS, Cell(trained["null_value"], digits=2)))
        cells.append((LESS_NULL, Cell(above, low, high, signed=True, digits=2)))
    if method in means[NULL]:
        cells.append((NULL, cell_of(means[NULL][method])))
    return cells


def _read_splits(
    means: Mapping[str, Mapping[str, Record]], null: pd.DataFrame, count: int
) -> Iterable[str]:
    """Say what the best method reaches over the splits, and in the null model."""
    seeing = [row for row in means[TRAINED].values() if not row["control"]]
    if not seeing:
        return
    row = max(seeing, key=lambda row: row["value"])
    method = row["method"]
    value = with_interval((row["value"], row["best_low"], row["best_high"]))
    yield f"Over {count} splits {method_label(method)} is highest: {value}."
    if method in means[NULL]:
        mean = means[NULL][method]["value"]
        singles = null.loc[null["method"] == method, "value"]
        yield (
            f"In the model that read neither class it has {mean:.2f} on the same texts "
            f"({singles.min():.2f} to {singles.max():.2f} in single splits)."
        )


def _read_controls(panel: Panel, frame: pd.DataFrame) -> str:
    """Name the methods that exceed every placebo, and those that beat the bag of
    words."""
    sentences = [exceeding_placebos(panel, frame)]
    tested = frame[~frame["control"] & frame["beats_blind"].notna()]
    winners = tested.loc[tested["beats_blind"], "method"].map(method_label).tolist()
    for blind in records_of(frame[frame["method"] == BLIND]):
        verdict = "none could be tested"
        if winners:
            verdict = join_words(winners)
        elif len(tested):
            verdict = f"none of the {len(tested)} tested"
        if winners and blind["null_model"]:
            verdict += " (false alarms: the model read neither class)"
        value = with_interval(estimate(blind))
        sentences.append(
            f"The bag of words reaches {value} there; methods that beat it: {verdict}."
        )
    return " ".join(sentences)
