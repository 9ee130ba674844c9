"""Results from answers to questions: by document, order of the options, and letter."""

from collections.abc import Collection, Iterator
from typing import Any

import numpy as np
import pandas as pd

from pretrace.evaluation.significance import percentile_interval, wilson
from pretrace.questions.answering import LETTERS
from pretrace.questions.calibration import DELTAS, MEANS, well_calibrated
from pretrace.questions.methods import CONTROLS
from pretrace.runtime.files import seed_of

Row = dict[str, Any]


def answer_estimates(
    answers: pd.DataFrame,
    calibrations: pd.DataFrame,
    *,
    model: str,
    benchmark: str,
    resamples: int,
    pooled: bool,
    orders_of: Collection[str] = (),
) -> list[Row]:
    """Rows of `estimates.COLUMNS` for each paraphraser, subset and length; `pooled`: and of all subsets, as "".

    accuracy            of de_cop on each document, by bootstrap of its passages; of controls the mean over documents
    accuracy_by_order   of a class by the order of the options (`order`, with the true text at `letter`), by bootstrap
                        of its documents; of one document, of its passages. Only of `orders_of`: "" for classes
    letter_probability  of a class or document by `calibration` and `letter`, by bootstrap of the documents
    letter_added        what the calibration adds to it, mean over documents
    in_range            share of documents whose letters all are in `calibration.RANGE`, with Wilson's interval
    """
    answers = answers[answers["correct"].notna()].assign(length=answers["length"].astype("Int64"))
    lengths = calibrations["length"].where(calibrations["length"] >= 0, None).astype("Int64")
    calibrations = calibrations.assign(length=lengths)
    rows: list[Row] = []
    for place, of in _places(answers, pooled):
        rows += [place | row for row in _accuracies(of, (model, benchmark), resamples)]
        rows += [place | row for row in _by_order(of, (model, benchmark), resamples, orders_of)]
    for place, of in _places(calibrations, pooled):
        rows += [place | row for row in _letters(of, model, resamples)]
    return rows


def _places(frame: pd.DataFrame, pooled: bool) -> Iterator[tuple[Row, pd.DataFrame]]:
    wholes = [frame, frame.assign(subset="")] if pooled and frame["subset"].ne("").any() else [frame]
    for whole in wholes:
        for (paraphraser, subset, length), of in whole.groupby(
            ["paraphraser", "subset", "length"], dropna=False, sort=True
        ):
            yield {"reference": paraphraser, "subset": subset, "length": length}, of


def _accuracies(answers: pd.DataFrame, names: tuple[str, str], resamples: int) -> Iterator[Row]:
    asked = answers[(answers["task"] == "de_cop") & answers["label"].notna()]
    for document, of in asked.groupby("document"):
        correct, passages = of["correct"].to_numpy(np.float64), of["passage"].to_numpy()
        about = {"method": "de_cop", "document": document, "label": int(of["label"].iloc[0])}
        found = mean_of_groups(correct, passages, resamples, seed_of(*names, document))
        yield {"quantity": "accuracy"} | about | found
    for control in CONTROLS:
        of = answers[answers["task"] == control]
        if len(of):
            mean = float(of.groupby("document")["correct"].mean().mean())
            yield {"quantity": "accuracy", "method": control, "n": of["document"].nunique(), "value": mean}


def _by_order(
    answers: pd.DataFrame, names: tuple[str, str], resamples: int, orders_of: Collection[str]
) -> Iterator[Row]:
    asked = answers[answers["task"] == "de_cop"]
    for document in orders_of:
        own = asked[asked["document"] == document] if document else asked
        for (order, label), of in own.groupby(["permutation", "label"]):
            letters = "".join(sorted(of["true_answer"].unique()))
            groups = of["passage" if document else "document"].to_numpy(str)
            seed = seed_of(*names, int(str(order)), int(str(label)))
            about = {"method": "de_cop", "document": document, "label": label}
            about |= {"order": order, "letter": letters}
            found = mean_of_groups(of["correct"].to_numpy(np.float64), groups, resamples, seed)
            yield {"quantity": "accuracy_by_order"} | about | found


def _letters(calibrations: pd.DataFrame, model: str, resamples: int) -> Iterator[Row]:
    classes = [("", label, of) for label, of in calibrations.groupby("label")]
    names = calibrations["id"].str.split("|").str[0]
    documents = [(str(name), of["label"].iloc[0], of) for name, of in calibrations.groupby(names)]
    for document, label, chosen in [*classes, *documents]:
        for calibration, of in chosen.groupby("calibration"):
            about = {"document": document, "label": label, "calibration": calibration}
            deltas = of[DELTAS].to_numpy(np.float64)
            after = of[MEANS].to_numpy(np.float64) + deltas
            for letter, values, added in zip(LETTERS, after.T, deltas.T, strict=True):
                seed = seed_of(model, calibration, letter)
                found = mean_of_groups(values, of["id"].to_numpy(str), resamples, seed)
                yield {"quantity": "letter_probability", "letter": letter} | about | found
                if not document:
                    mean = {"n": len(of), "value": float(added.mean())}
                    yield {"quantity": "letter_added", "letter": letter} | about | mean
            if not document:
                value, low, high = wilson(int(well_calibrated(of).sum()), len(of))
                yield {"quantity": "in_range", "n": len(of), "value": value, "low": low, "high": high} | about


def mean_of_groups(values: np.ndarray, groups: np.ndarray, resamples: int, seed: int) -> Row:
    """`n` groups, the mean over them of each one's mean (`value`), and its 95 % interval by bootstrap of the groups.

    `values` and `groups` (any labels) have shape (answers,); `answers` says how many. One group has no interval.
    """
    _, codes = np.unique(groups, return_inverse=True)
    means = np.bincount(codes, weights=values.astype(np.float64)) / np.bincount(codes)
    found = {"n": len(means), "answers": len(values), "value": float(means.mean())}
    if len(means) < 2:
        return found
    drawn = np.random.default_rng(seed).integers(len(means), size=(resamples, len(means)))
    low, high = percentile_interval(means[drawn].mean(axis=1)[None])
    return found | {"low": float(low[0]), "high": float(high[0])}
