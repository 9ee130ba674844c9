"""Calibration of the letters: what is added to their probabilities, so that clean
documents choose evenly.

Duarte et al., DE-COP, ICML 2024, section 4.1 and appendix E: delta_letter = 0.25 - the
mean over clean documents of the document's mean probability of the letter, added before
the most probable letter is chosen.
"""

from collections.abc import Mapping, Sequence

import numpy as np
import pandas as pd

from pretrace.methods.statistics import Floats
from pretrace.questions.answering import OPTION_LETTERS, PROBABILITIES
from pretrace.questions.documents import document_units, unit_ids, wanted_answers
from pretrace.runtime.errors import InputError
from pretrace.runtime.files import JsonObject
from pretrace.runtime.logs import log

DELTAS = ["delta_a", "delta_b", "delta_c", "delta_d"]
MEANS = ["mean_a", "mean_b", "mean_c", "mean_d"]
CALIBRATION_COLUMNS = [
    "calibration",
    "paraphraser",
    "subset",
    "length",
    "id",
    "label",
    "n_answers",
    *MEANS,
    *DELTAS,
]

RANGE = (0.15, 0.35)
"""A document whose every letter has a mean probability in this range is well calibrated
(table 12)."""


def calibrate(
    answers: pd.DataFrame,
    benchmark: pd.DataFrame,
    runs: Sequence[JsonObject],
    *,
    given: Mapping[str, float] | None = None,
    held: pd.DataFrame | None = None,
    held_benchmark: pd.DataFrame | None = None,
    where: str = "answers",
) -> pd.DataFrame:
    """Calibrate the answers that the runs want: one row for each document and
    calibration, sorted.

    Columns: `CALIBRATION_COLUMNS`. `mean_*` are a document's mean probabilities before
    calibration, `delta_*` what is added to them: nothing (`none`), the `given` deltas,
    deltas of the clean documents in the `held` answers of another benchmark, or,
    without either, deltas of the clean documents in the other folds (`cross_fitted`).
    Answers without probabilities have no row. `where` begins errors.
    """
    wanted = wanted_answers(answers, runs)
    means = _letter_means(wanted, document_units(benchmark), where)
    if means.empty:
        return pd.DataFrame(columns=CALIBRATION_COLUMNS)
    deltas_of = {"none": np.zeros((len(means), len(OPTION_LETTERS)))}
    if given is not None:
        of_letters = [given[letter] for letter in OPTION_LETTERS]
        deltas_of["given"] = np.tile(of_letters, (len(means), 1))
    if held is not None and held_benchmark is not None:
        held_means = _letter_means(held, document_units(held_benchmark), where)
        deltas_of["held"] = _held(means, held_means)
    if len(deltas_of) == 1:
        deltas_of["cross_fitted"] = _cross_fitted(means)
    frames = []
    for name, deltas in deltas_of.items():
        frame = means.assign(calibration=name)
        frame[DELTAS] = deltas
        frames.append(frame[~np.isnan(deltas).any(axis=1)])
    table = pd.concat(frames)[CALIBRATION_COLUMNS]
    return table.sort_values(CALIBRATION_COLUMNS[:5], ignore_index=True)


def _letter_means(
    answers: pd.DataFrame, units: pd.DataFrame, where: str
) -> pd.DataFrame:
    """Average the letters' probabilities over each document's answers to de_cop, with
    its label and fold."""
    is_answered = (answers["task"] == "de_cop") & answers["correct"].notna()
    rows = answers[is_answered]
    rows = rows.assign(id=unit_ids(rows, units, where).to_numpy(object))
    has_probabilities = rows[PROBABILITIES].notna().all(axis=1)
    grouped = rows[has_probabilities].groupby(["paraphraser", "id"], sort=True)
    means = grouped[PROBABILITIES].mean()
    means.columns = pd.Index(MEANS)
    means["n_answers"] = grouped.size()
    of_units = units[["id", "subset", "length", "label", "fold"]]
    return means.reset_index().merge(of_units, on="id")


def _deltas(clean: pd.DataFrame) -> Floats:
    """Return a quarter minus the documents' mean probabilities, shape (4,); not a
    number without documents."""
    if clean.empty:
        return np.full(len(OPTION_LETTERS), np.nan)
    # a quarter: an unbiased reader of unknown texts gives four letters equal
    # probabilities
    return 0.25 - clean[MEANS].to_numpy(np.float64).mean(axis=0)


def _cross_fitted(means: pd.DataFrame) -> Floats:
    """Return for each document the deltas of the clean documents in other folds, of its
    paraphraser and length."""
    deltas = np.full((len(means), len(OPTION_LETTERS)), np.nan)
    for (paraphraser, length), rows in means.groupby(["paraphraser", "length"]):
        for fold in rows["fold"].unique():
            is_inside = rows["fold"] == fold
            clean = rows[rows["label"].eq(0) & ~is_inside]
            places = means.index.get_indexer(rows.index[is_inside])
            deltas[places] = _deltas(clean)
            if clean.empty:
                log.warning(
                    "%s, length %s: no clean document outside fold %d to calibrate its "
                    "%d documents on",
                    paraphraser,
                    length,
                    fold,
                    len(places),
                )
    return deltas


def _held(means: pd.DataFrame, held: pd.DataFrame) -> Floats:
    """Return the deltas of another benchmark's clean documents of the length, and of
    the paraphraser if it has that."""
    deltas = np.full((len(means), len(OPTION_LETTERS)), np.nan)
    clean = held[held["label"].eq(0)]
    for (paraphraser, length), rows in means.groupby(["paraphraser", "length"]):
        of_length = clean[clean["length"] == length]
        if of_length.empty:
            raise InputError(
                f"calibrate_on: no clean document (label 0) of length {length} there "
                "has answers with probabilities; lengths: "
                f"{sorted(set(clean['length'])) or 'none'}."
            )
        same = of_length[of_length["paraphraser"] == paraphraser]
        if same.empty:
            log.warning(
                "calibrate_on: no clean document there is paraphrased by %s; its "
                "answers of length %s are calibrated on those of %s",
                paraphraser,
                length,
                ", ".join(sorted(set(of_length["paraphraser"]))),
            )
        places = means.index.get_indexer(rows.index)
        deltas[places] = _deltas(of_length if same.empty else same)
    return deltas


def well_calibrated(table: pd.DataFrame) -> "pd.Series[bool]":
    """Return which rows of `calibrate`'s table have every letter's calibrated mean
    probability in `RANGE`."""
    after = table[MEANS].to_numpy(np.float64) + table[DELTAS].to_numpy(np.float64)
    lowest, highest = RANGE
    inside = (after >= lowest) & (after <= highest)
    return pd.Series(inside.all(axis=1), index=table.index)
