"""Scores of documents: the share of right answers, and the mean over passages of a
score of texts."""

from collections.abc import Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from pretrace.methods import Inputs, score, setting_name
from pretrace.methods.scoring import SCORE_COLUMNS
from pretrace.methods.settings import Column
from pretrace.questions.answering import OPTION_LETTERS, PROBABILITIES
from pretrace.questions.calibration import DELTAS
from pretrace.questions.documents import document_units, unit_ids, wanted_answers
from pretrace.runtime.errors import count_noun
from pretrace.runtime.files import JsonObject
from pretrace.runtime.logs import log

if TYPE_CHECKING:
    from pretrace.questions.collected import ReleasedScore


def scores_of_model(
    runs: Sequence[JsonObject],
    inputs: Inputs,
    *,
    answers: pd.DataFrame | None,
    calibrations: pd.DataFrame | None,
    released: "Sequence[ReleasedScore] | None",
    where: str,
) -> Iterator[pd.DataFrame]:
    """Yield the scores table of a model on a benchmark in parts: of texts, of
    documents, and as others released them.

    `answers`, `calibrations` and `where` as `with_documents` takes them; `released`:
    None without such scores.
    """
    yield from with_documents(
        score(runs, inputs),
        inputs.benchmark,
        runs,
        answers=answers,
        calibrations=calibrations,
        where=where,
    )
    if released is not None:
        yield titled_scores(released, document_units(inputs.benchmark)["id"])


def with_documents(
    scores: Iterable[pd.DataFrame],
    benchmark: pd.DataFrame,
    runs: Sequence[JsonObject],
    *,
    answers: pd.DataFrame | None,
    calibrations: pd.DataFrame | None,
    where: str = "answers",
) -> Iterator[pd.DataFrame]:
    """Yield the scores of texts unchanged and, if the benchmark's texts are passages,
    documents' scores after them.

    `scores` comes in parts, as from `methods.score`. `answers` and `calibrations` are
    the tables of one model and benchmark; `where` begins errors and log lines.
    """
    if "passage" not in benchmark:
        yield from scores
        return
    units = document_units(benchmark)
    frames = []
    for part in scores:
        frames.append(mean_scores(part, benchmark, units))
        if len(part):
            yield part
    if answers is not None and calibrations is not None:
        wanted = wanted_answers(answers, runs)
        frames.append(document_scores(wanted, units, calibrations, where))
    # pandas would take the types of a frame without rows
    filled = [frame for frame in frames if len(frame)]
    whole = pd.concat(filled or frames[:1])
    yield whole.sort_values([*Column._fields, "id"])


def document_scores(
    answers: pd.DataFrame, units: pd.DataFrame, calibrations: pd.DataFrame, where: str
) -> pd.DataFrame:
    """Compute each document's accuracy by each task, columns as the scores table's;
    de_cop also by each calibration.

    `units` as `documents.document_units`; `calibrations` as `calibration.calibrate`
    gives them. An unusable answer is wrong; a passage that a task skipped leaves its
    accuracy, and the log counts both.
    """
    answers = answers.assign(id=unit_ids(answers, units, where).to_numpy(object))
    skipped = answers["correct"].isna()
    for (task, setting), rows in answers[skipped].groupby(["task", "setting"]):
        reasons = rows["reason"].value_counts(sort=False).sort_index()
        counts = "; ".join([f"{count} {reason}" for reason, count in reasons.items()])
        of_task = f"{task} {setting}".strip()
        passages = count_noun(len(rows), "passage")
        log.info("%s: %s skips %s (%s)", where, of_task, passages, counts)
    answers = answers[~skipped]
    frames = [_accuracies(answers, answers["setting"])]
    multiple_choice = answers[answers["task"] == "de_cop"]
    calibrated = calibrations[calibrations["calibration"] != "none"]
    for name, deltas in calibrated.groupby("calibration"):
        setting = setting_name("de_cop", {"calibration": str(name)})
        corrected = _calibrate(multiple_choice, deltas)
        frames.append(_accuracies(corrected, setting))
    return _sorted(pd.concat(frames, ignore_index=True))


def _accuracies(answers: pd.DataFrame, setting: Any) -> pd.DataFrame:
    rows = answers.assign(setting=setting, correct=answers["correct"].astype(float))
    keys = ["task", "setting", "paraphraser", "id"]
    scores = rows.groupby(keys, sort=True)["correct"].mean().reset_index()
    return scores.rename(
        columns={"task": "method", "paraphraser": "reference", "correct": "score"}
    )


def _calibrate(answers: pd.DataFrame, calibration: pd.DataFrame) -> pd.DataFrame:
    """Calibrate `correct` of de_cop's answers; those without probabilities stay as they
    are."""
    deltas = calibration[["paraphraser", "id", *DELTAS]]
    rows = answers.merge(deltas, on=["paraphraser", "id"], how="inner")
    has_probabilities = rows[PROBABILITIES].notna().all(axis=1).to_numpy(bool)
    calibrated = rows[has_probabilities]
    probabilities = calibrated[PROBABILITIES].to_numpy(np.float64)
    added = calibrated[DELTAS].to_numpy(np.float64)
    # equals go to the first letter
    likeliest = (probabilities + added).argmax(axis=1)
    chosen = np.array(OPTION_LETTERS, dtype=object)[likeliest]
    correct = rows["correct"].to_numpy(bool, copy=True)
    correct[has_probabilities] = chosen == calibrated["true_answer"].to_numpy(object)
    return rows.assign(correct=correct)


def mean_scores(
    scores: pd.DataFrame, benchmark: pd.DataFrame, units: pd.DataFrame
) -> pd.DataFrame:
    """Average every score of texts over each document's passages; passages without a
    score do not count."""
    passages = benchmark[benchmark["document"] != ""]
    unit_of_text = unit_ids(passages, units, "benchmark")
    unit_of_text.index = pd.Index(passages["text_id"])
    rows = scores.assign(id=scores["id"].map(unit_of_text))
    rows = rows.dropna(subset="id")
    grouped = rows.groupby([*Column._fields, "id"], sort=True, dropna=False)
    means = grouped.agg(score=("score", "mean"), shots_used=("shots_used", "min"))
    return _sorted(means.reset_index())


def _sorted(rows: pd.DataFrame) -> pd.DataFrame:
    return score_table(rows).sort_values([*Column._fields, "id"], ignore_index=True)


def score_table(rows: pd.DataFrame) -> pd.DataFrame:
    """Return scores of documents with the columns of the scores table; keys that they
    lack are empty."""
    rows = rows.copy()
    empty = Column()._asdict()
    empty |= {"draw": pd.NA, "shots_used": pd.NA, "unit": "document"}
    for name, value in empty.items():
        if name not in rows:
            rows[name] = value
    return rows.astype({"draw": "Int64", "shots_used": "Int64"})[SCORE_COLUMNS]


def titled_scores(
    scores: "Sequence[ReleasedScore]", documents: "pd.Series[str]"
) -> pd.DataFrame:
    """Return scores of titles as scores of the documents "Title - Author", as a scores
    table."""
    rows = pd.DataFrame(scores, columns=["title", "method", "setting", "score"])
    titles = documents.str.partition(" - ")[0]
    frames = []
    for (method, setting), own in rows.groupby(["method", "setting"], sort=False):
        frame = documents.to_frame("id")
        frame["method"] = str(method)
        frame["setting"] = str(setting)
        frame["score"] = titles.map(own.set_index("title")["score"])
        frames.append(frame)
    frame = pd.concat(frames) if frames else rows.rename(columns={"title": "id"})
    scored = frame.dropna(subset="score")
    return score_table(scored.assign(view="original"))
