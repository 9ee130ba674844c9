"""Results from answers to questions: by document, order of the options, and letter."""

from collections.abc import Iterator
from typing import Any

import numpy as np
import pandas as pd

from pretrace.evaluation.significance import percentile_interval, wilson
from pretrace.questions.answering import LETTERS
from pretrace.questions.calibration import DELTAS, MEANS, well_calibrated
from pretrace.questions.known import CONTROLS
from pretrace.runtime.files import seed_of

Row = dict[str, Any]


def accuracies(answers: pd.DataFrame, names: tuple[str, str], resamples: int, pooled: bool) -> Iterator[Row]:
    """Yield the accuracy of de_cop on each document, by bootstrap of its passages, and each control's mean.

    A row for each paraphraser, subset and length; `pooled`: and of all subsets, as "". `names`: model and benchmark.
    """
    for place, answered in _places(_right_or_wrong(answers), pooled):
        own = answered[(answered["task"] == "de_cop") & answered["label"].notna()]
        for document, rows in own.groupby("document"):
            correct, passages = rows["correct"].to_numpy(np.float64), rows["passage"].to_numpy()
            about = {"method": "de_cop", "document": document, "label": int(rows["label"].iloc[0])}
            yield place | about | mean_of_groups(correct, passages, resamples, seed_of(*names, document))
        for control in CONTROLS:
            rows = answered[answered["task"] == control]
            if len(rows):
                mean = float(rows.groupby("document")["correct"].mean().mean())
                yield place | {"method": control, "n": rows["document"].nunique(), "value": mean}


def accuracies_by_order(
    answers: pd.DataFrame, names: tuple[str, str], resamples: int, pooled: bool
) -> Iterator[Row]:
    """Yield the accuracy of de_cop by the `order` of the options, with the true text at `letter`.

    Of each class (document "") by bootstrap of its documents, and of each document by bootstrap of its passages.
    """
    for place, answered in _places(_right_or_wrong(answers), pooled):
        own = answered[answered["task"] == "de_cop"]
        for document in ["", *sorted(own["document"].unique())]:
            chosen = own[own["document"] == document] if document else own
            for (order, label), rows in chosen.groupby(["permutation", "label"]):
                letters_of = "".join(sorted(rows["true_answer"].unique()))
                groups = rows["passage" if document else "document"].to_numpy(str)
                seed = seed_of(*names, int(str(order)), int(str(label)))
                about = {"method": "de_cop", "document": document, "label": label}
                mean = mean_of_groups(rows["correct"].to_numpy(np.float64), groups, resamples, seed)
                yield place | about | {"order": order, "letter": letters_of} | mean


def letters(calibrations: pd.DataFrame, model: str, resamples: int, pooled: bool) -> Iterator[Row]:
    """Yield by `calibration`, of each class (document "") and document:

    letter_probability  of each letter, by bootstrap of the documents
    letter_added        what the calibration adds to it, mean over documents; of classes
    in_range            share of documents whose letters all are in `calibration.RANGE`, Wilson's interval; of classes
    """
    lengths = calibrations["length"].where(calibrations["length"] >= 0, None).astype("Int64")
    for place, rows in _places(calibrations.assign(length=lengths), pooled):
        yield from (place | row for row in _letters(rows, model, resamples))


def _right_or_wrong(answers: pd.DataFrame) -> pd.DataFrame:
    return answers[answers["correct"].notna()].assign(length=answers["length"].astype("Int64"))


def _places(frame: pd.DataFrame, pooled: bool) -> Iterator[tuple[Row, pd.DataFrame]]:
    wholes = [frame, frame.assign(subset="")] if pooled and frame["subset"].ne("").any() else [frame]
    for whole in wholes:
        for (paraphraser, subset, length), rows in whole.groupby(
            ["paraphraser", "subset", "length"], dropna=False, sort=True
        ):
            yield {"reference": paraphraser, "subset": subset, "length": length}, rows


def _letters(calibrations: pd.DataFrame, model: str, resamples: int) -> Iterator[Row]:
    classes = [("", label, rows) for label, rows in calibrations.groupby("label")]
    names = calibrations["id"].str.split("|").str[0]
    documents = [(str(name), rows["label"].iloc[0], rows) for name, rows in calibrations.groupby(names)]
    for document, label, chosen in [*classes, *documents]:
        for calibration, rows in chosen.groupby("calibration"):
            about = {"document": document, "label": label, "calibration": calibration}
            deltas = rows[DELTAS].to_numpy(np.float64)
            after = rows[MEANS].to_numpy(np.float64) + deltas
            for letter, values, added in zip(LETTERS, after.T, deltas.T, strict=True):
                seed = seed_of(model, calibration, letter)
                mean = mean_of_groups(values, rows["id"].to_numpy(str), resamples, seed)
                yield {"quantity": "letter_probability", "letter": letter} | about | mean
                if not document:
                    mean_added = {"n": len(rows), "value": float(added.mean())}
                    yield {"quantity": "letter_added", "letter": letter} | about | mean_added
            if not document:
                in_range = wilson(int(well_calibrated(rows).sum()), len(rows))
                share = dict(zip(("value", "low", "high"), in_range, strict=True))
                yield {"quantity": "in_range", "n": len(rows)} | share | about


def mean_of_groups(values: np.ndarray, groups: np.ndarray, resamples: int, seed: int) -> Row:
    """Return `n` groups, the mean of their means (`value`), and its 95 % interval by bootstrap of the groups.

    `values` and `groups` (any labels) have shape (answers,); `answers` says how many. One group has no interval.
    """
    _, codes = np.unique(groups, return_inverse=True)
    means = np.bincount(codes, weights=values.astype(np.float64)) / np.bincount(codes)
    row = {"n": len(means), "answers": len(values), "value": float(means.mean())}
    if len(means) < 2:
        return row
    drawn = np.random.default_rng(seed).integers(len(means), size=(resamples, len(means)))
    low, high = percentile_interval(means[drawn].mean(axis=1)[None])
    return row | {"low": float(low[0]), "high": float(high[0])}
