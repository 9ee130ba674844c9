"""Results from answers to questions: by document, order of the options, and letter."""

from collections.abc import Iterator
from typing import Any

import numpy as np
import pandas as pd

from pretrace.evaluation.averages import Record
from pretrace.evaluation.roc import Floats
from pretrace.evaluation.significance import interval, wilson_row
from pretrace.questions.answering import OPTION_LETTERS
from pretrace.questions.calibration import DELTAS, MEANS, well_calibrated
from pretrace.questions.method_facts import QUESTION_CONTROLS
from pretrace.seeds import seed_of


def accuracies(
    answers: pd.DataFrame, names: tuple[str, str], resamples: int, pooled: bool
) -> Iterator[Record]:
    """Yield the accuracy of de_cop on each document, by bootstrap of its passages, and
    each control's mean.

    A row for each paraphraser, subset and length; `pooled`: and of all subsets, as "".
    `names`: model and benchmark.
    """
    for keys, answered in _by_paraphraser(_judged_answers(answers), pooled):
        is_labelled = answered["label"].notna()
        own = answered[answered["task"].eq("de_cop") & is_labelled]
        for document, rows in own.groupby("document"):
            label = int(rows["label"].iloc[0])
            about = {"method": "de_cop", "document": document, "label": label}
            seed = seed_of(*names, document)
            yield keys | about | _accuracy(rows, "passage", resamples, seed)
        for control in QUESTION_CONTROLS:
            rows = answered[answered["task"] == control]
            if rows.empty:
                continue
            of_documents = rows.groupby("document")["correct"].mean()
            count, mean = len(of_documents), float(of_documents.mean())
            yield keys | {"method": control, "n": count, "value": mean}


def accuracies_by_order(
    answers: pd.DataFrame, names: tuple[str, str], resamples: int, pooled: bool
) -> Iterator[Record]:
    """Yield the accuracy of de_cop by the `order` of the options, with the true text at
    `letter`.

    Of each class (document "") by bootstrap of its documents, and of each document by
    bootstrap of its passages.
    """
    for keys, answered in _by_paraphraser(_judged_answers(answers), pooled):
        own = answered[answered["task"] == "de_cop"]
        for document in ["", *sorted(own["document"].unique())]:
            chosen = own[own["document"] == document] if document else own
            resampled = "passage" if document else "document"
            for (order, label), rows in chosen.groupby(["permutation", "label"]):
                letters = sorted(rows["true_answer"].unique())
                about = {
                    "method": "de_cop",
                    "document": document,
                    "label": label,
                    "order": order,
                    "letter": "".join(letters),
                }
                seed = seed_of(*names, int(str(order)), int(str(label)))
                yield keys | about | _accuracy(rows, resampled, resamples, seed)


def letter_probabilities(
    calibrations: pd.DataFrame, model: str, resamples: int, pooled: bool
) -> Iterator[Record]:
    """Yield by `calibration`, of each class (document "") and document:

    letter_probability  of each letter, by bootstrap of the documents
    letter_added        what the calibration adds to it, mean over documents; of classes
    in_range            share of documents whose letters all are in `calibration.RANGE`,
                        Wilson's interval; of classes
    """
    lengths = calibrations["length"].where(calibrations["length"] >= 0, None)
    calibrations = calibrations.assign(length=lengths.astype("Int64"))
    for keys, rows in _by_paraphraser(calibrations, pooled):
        for row in _letters(rows, model, resamples):
            yield keys | row


def _judged_answers(answers: pd.DataFrame) -> pd.DataFrame:
    """Return the answers that are right or wrong."""
    judged = answers[answers["correct"].notna()]
    return judged.assign(length=judged["length"].astype("Int64"))


def _by_paraphraser(
    table: pd.DataFrame, pooled: bool
) -> Iterator[tuple[Record, pd.DataFrame]]:
    """Yield the rows of each paraphraser (`reference`), subset and length; `pooled`:
    and of all subsets ("")."""
    wholes = [table]
    if pooled and table["subset"].ne("").any():
        wholes.append(table.assign(subset=""))
    by = ["paraphraser", "subset", "length"]
    for whole in wholes:
        groups = whole.groupby(by, dropna=False, sort=True)
        for (paraphraser, subset, length), rows in groups:
            yield {"reference": paraphraser, "subset": subset, "length": length}, rows


def _letters(
    calibrations: pd.DataFrame, model: str, resamples: int
) -> Iterator[Record]:
    for document, label, of_document in _classes_and_documents(calibrations):
        for calibration, rows in of_document.groupby("calibration"):
            keys = {"document": document, "label": label, "calibration": calibration}
            ids = rows["id"].to_numpy(str)
            deltas = rows[DELTAS].to_numpy(np.float64)
            after = rows[MEANS].to_numpy(np.float64) + deltas
            for place, letter in enumerate(OPTION_LETTERS):
                seed = seed_of(model, calibration, letter)
                mean = mean_of_groups(after[:, place], ids, resamples, seed)
                of_letter = keys | {"letter": letter}
                yield of_letter | {"quantity": "letter_probability"} | mean
                if not document:
                    added = float(deltas[:, place].mean())
                    mean = {"n": len(rows), "value": added}
                    yield of_letter | {"quantity": "letter_added"} | mean
            if not document:
                in_range = int(well_calibrated(rows).sum())
                share = wilson_row(in_range, len(rows))
                yield keys | {"quantity": "in_range"} | share


def _classes_and_documents(
    calibrations: pd.DataFrame,
) -> Iterator[tuple[str, Any, pd.DataFrame]]:
    """Yield the rows of each class (document ""), then those of each document, with
    their label."""
    for label, rows in calibrations.groupby("label"):
        yield "", label, rows
    documents = calibrations["id"].str.split("|").str[0]
    for document, rows in calibrations.groupby(documents):
        yield str(document), rows["label"].iloc[0], rows


def _accuracy(answers: pd.DataFrame, groups: str, resamples: int, seed: int) -> Record:
    """Return the share of right answers; `groups`: the column whose groups are
    resampled."""
    correct = answers["correct"].to_numpy(np.float64)
    names = answers[groups].to_numpy()
    return mean_of_groups(correct, names, resamples, seed)


def mean_of_groups(
    values: Floats, groups: np.ndarray, resamples: int, seed: int
) -> Record:
    """Return `n` groups, the mean of their means (`value`), and its 95 % interval by
    bootstrap of the groups.

    `values` and `groups` (any labels) have shape (answers,); `answers` says how many.
    One group has no interval.
    """
    _, codes = np.unique(groups, return_inverse=True)
    means = np.bincount(codes, weights=values) / np.bincount(codes)
    count = len(means)
    row = {"n": count, "answers": len(values), "value": float(means.mean())}
    if count < 2:
        return row
    rng = np.random.default_rng(seed)
    drawn = rng.integers(count, size=(resamples, count))
    return row | interval(means[drawn].mean(axis=1))
