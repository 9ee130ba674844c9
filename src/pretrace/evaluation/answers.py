"""Results from answers to questions: by document, order of the options, and letter."""

from collections.abc import Iterator

import numpy as np
import pandas as pd

from pretrace.evaluation.averages import Record
from pretrace.evaluation.roc import Floats
from pretrace.evaluation.significance import interval, wilson_row
from pretrace.questions.answering import OPTION_LETTERS
from pretrace.questions.calibration import DELTAS, MEANS, well_calibrated
from pretrace.questions.known import QUESTION_CONTROLS
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
        own = answered[(answered["task"] == "de_cop") & answered["label"].notna()]
        for document, rows in own.groupby("document"):
            named = {
                "method": "de_cop",
                "document": document,
                "label": int(rows["label"].iloc[0]),
            }
            yield (
                keys
                | named
                | _accuracy(rows, "passage", resamples, seed_of(*names, document))
            )
        for control in QUESTION_CONTROLS:
            rows = answered[answered["task"] == control]
            if len(rows):
                mean = float(rows.groupby("document")["correct"].mean().mean())
                yield keys | {
                    "method": control,
                    "n": rows["document"].nunique(),
                    "value": mean,
                }


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
            for (order, label), rows in chosen.groupby(["permutation", "label"]):
                letter = "".join(sorted(rows["true_answer"].unique()))
                named = {
                    "document": document,
                    "label": label,
                    "order": order,
                    "letter": letter,
                }
                seed = seed_of(*names, int(str(order)), int(str(label)))
                accuracy = _accuracy(
                    rows, "passage" if document else "document", resamples, seed
                )
                yield keys | {"method": "de_cop"} | named | accuracy


def letter_probabilities(
    calibrations: pd.DataFrame, model: str, resamples: int, pooled: bool
) -> Iterator[Record]:
    """Yield by `calibration`, of each class (document "") and document:

    letter_probability  of each letter, by bootstrap of the documents
    letter_added        what the calibration adds to it, mean over documents; of classes
    in_range            share of documents whose letters all are in `calibration.RANGE`,
                        Wilson's interval; of classes
    """
    lengths = (
        calibrations["length"].where(calibrations["length"] >= 0, None).astype("Int64")
    )
    for keys, rows in _by_paraphraser(calibrations.assign(length=lengths), pooled):
        yield from (keys | row for row in _letters(rows, model, resamples))


def _judged_answers(answers: pd.DataFrame) -> pd.DataFrame:
    """Return the answers that are right or wrong."""
    return answers[answers["correct"].notna()].assign(
        length=answers["length"].astype("Int64")
    )


def _by_paraphraser(
    frame: pd.DataFrame, pooled: bool
) -> Iterator[tuple[Record, pd.DataFrame]]:
    """Yield the rows of each paraphraser (`reference`), subset and length; `pooled`:
    and of all subsets ("")."""
    wholes = (
        [frame, frame.assign(subset="")]
        if pooled and frame["subset"].ne("").any()
        else [frame]
    )
    for whole in wholes:
        groups = whole.groupby(
            ["paraphraser", "subset", "length"], dropna=False, sort=True
        )
        for (paraphraser, subset, length), rows in groups:
            yield {"reference": paraphraser, "subset": subset, "length": length}, rows


def _letters(
    calibrations: pd.DataFrame, model: str, resamples: int
) -> Iterator[Record]:
    classes = [("", label, rows) for label, rows in calibrations.groupby("label")]
    names = calibrations["id"].str.split("|").str[0]
    documents = [
        (str(name), rows["label"].iloc[0], rows)
        for name, rows in calibrations.groupby(names)
    ]
    for document, label, chosen in [*classes, *documents]:
        for calibration, rows in chosen.groupby("calibration"):
            keys = {"document": document, "label": label, "calibration": calibration}
            deltas = rows[DELTAS].to_numpy(np.float64)
            after = rows[MEANS].to_numpy(np.float64) + deltas
            for letter, values, added in zip(
                OPTION_LETTERS, after.T, deltas.T, strict=True
            ):
                seed = seed_of(model, calibration, letter)
                mean = mean_of_groups(values, rows["id"].to_numpy(str), resamples, seed)
                yield {"quantity": "letter_probability", "letter": letter} | keys | mean
                if not document:
                    mean_added = {"n": len(rows), "value": float(added.mean())}
                    yield (
                        {"quantity": "letter_added", "letter": letter}
                        | keys
                        | mean_added
                    )
            if not document:
                yield (
                    {"quantity": "in_range"}
                    | wilson_row(int(well_calibrated(rows).sum()), len(rows))
                    | keys
                )


def _accuracy(answers: pd.DataFrame, groups: str, resamples: int, seed: int) -> Record:
    correct, names = answers["correct"].to_numpy(np.float64), answers[groups].to_numpy()
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
    row = {"n": len(means), "answers": len(values), "value": float(means.mean())}
    if len(means) < 2:
        return row
    drawn = np.random.default_rng(seed).integers(
        len(means), size=(resamples, len(means))
    )
    return row | interval(means[drawn].mean(axis=1))
