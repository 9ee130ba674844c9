"""Answers of a made-up model that prefers B and knows the members, and the files that a
study makes of them."""

from itertools import permutations
from pathlib import Path
from typing import Any

import made_up_results
import numpy as np
import pandas as pd

from pretrace.evaluation.answers import (
    accuracies,
    accuracies_by_order,
    letter_probabilities,
)
from pretrace.evaluation.evaluate import evaluate
from pretrace.evaluation.scores import scores_of
from pretrace.questions.calibration import calibrate
from pretrace.questions.collected import read_answers
from pretrace.questions.documents import benchmark_of_answers
from pretrace.questions.scoring import SCORE_COLUMNS, with_documents
from pretrace.render.results import Results
from pretrace.runtime.files import read_parquet, write_parquet, write_parquet_parts

MODEL = "oracle"
BENCHMARK = "released"
LETTERS = "ABCD"
PREFERENCE = np.array([-0.1, 0.2, 0.0, -0.1])
CAUTION = "Sections of one speech are not independent."


def rows(
    documents: int = 8, passages: int = 3, length: int | None = 64, seed: int = 0
) -> list[dict[str, Any]]:
    """Answers to 24 orders of each passage of `documents` documents a class,
    probabilities among the letters."""
    rng = np.random.default_rng(seed)
    rows = []
    for number in range(2 * documents):
        label = int(number < documents)
        for passage in range(passages):
            for permutation, order in enumerate(permutations(range(4))):
                place = order.index(0)
                p = (
                    rng.dirichlet(np.ones(4)) * 0.4
                    + 0.15
                    + 0.6 * PREFERENCE
                    + 0.25 * (np.arange(4) == place) * label
                )
                p = np.clip(p, 0.001, None)
                p /= p.sum()
                rows.append(
                    {
                        "document": f"d{number:02d}",
                        "label": label,
                        "passage": passage,
                        "length": length,
                    }
                    | {
                        "permutation": permutation,
                        "true_answer": LETTERS[place],
                        "paraphraser": "paraphrase",
                    }
                    | dict(
                        zip(("p_a", "p_b", "p_c", "p_d"), map(float, p), strict=True)
                    )
                )
    return rows


def other_tasks(documents: int = 8) -> list[dict[str, Any]]:
    """Of each document one passage: two completions, a name cloze, and the two controls
    in every order."""
    rows = []
    for number in range(2 * documents):
        label = int(number < documents)
        about = {
            "document": f"d{number:02d}",
            "label": label,
            "passage": 0,
            "length": 64,
        }
        for task, setting, right in (("completion", "k=32", number % 3 == 0),
                                     ("completion", "k=50", False),
                                     ("name_cloze", "", bool(label))):  # fmt: skip
            rows.append(
                about
                | {
                    "task": task,
                    "setting": setting,
                    "answer": "some words",
                    "correct": right,
                }
            )
        for permutation, order in enumerate(permutations(range(4))):
            right = LETTERS[order.index(0)]
            keys = about | {
                "permutation": permutation,
                "true_answer": right,
                "paraphraser": "paraphrase",
            }
            rows.append(
                keys
                | {"task": "longest_option", "answer": right if number % 2 else "A"}
            )
            rows.append(keys | {"task": "odd_one_out", "answer": "B"})
    return rows


def run(**keys: Any) -> dict[str, Any]:
    questions = ("de_cop", "completion", "name_cloze", "longest_option", "odd_one_out")
    asked = [{"method": name, "parameters": {}} for name in questions]
    return {
        "questions": asked,
        "paraphraser": None,
        "subsets": None,
        "lengths": None,
    } | keys


def answers_of(folder: Path, rows: list[dict[str, Any]]) -> pd.DataFrame:
    """Rows that were collected, as the table of answers; written to the folder, which
    is made."""
    folder.mkdir(parents=True, exist_ok=True)
    pd.DataFrame(rows).to_parquet(folder / "collected.parquet")
    write_parquet(
        folder / "answers.parquet", read_answers(folder / "collected.parquet")
    )
    return read_parquet(folder / "answers.parquet")


def no_scores() -> pd.DataFrame:
    return pd.DataFrame({name: [] for name in SCORE_COLUMNS})


def make_study(folder: Path, *, more: bool = True, **calibration: Any) -> Results:
    """Every file of one model's answers, as the rules write them; `calibration` as
    `calibrate` takes it."""
    answers = answers_of(folder, rows() + (other_tasks() if more else []))
    benchmark = benchmark_of_answers({MODEL: answers}, BENCHMARK, seed=0)
    write_parquet(folder / "benchmark.parquet", benchmark)
    calibrated = calibrate(answers, benchmark, [run()], **calibration)
    write_parquet(folder / "calibration.parquet", calibrated)
    calibrations = read_parquet(folder / "calibration.parquet")
    scores = with_documents(
        [no_scores()], benchmark, [run()], answers=answers, calibrations=calibrations
    )
    write_parquet_parts(folder / "scores.parquet", scores)
    given = scores_of([read_parquet(folder / "scores.parquet")], benchmark)
    names = {"study": "s", "model": MODEL, "benchmark_name": BENCHMARK}
    metrics, tests = evaluate(given, benchmark, resamples=200, **names)
    pair = (MODEL, BENCHMARK)
    statistics = {
        "accuracy": accuracies(answers, pair, 200, False),
        "accuracy_by_order": accuracies_by_order(answers, pair, 200, False),
        "letters": letter_probabilities(calibrations, MODEL, 200, False),
    }
    frames = {"metrics": metrics, "tests": tests}
    for name, rows_of_it in statistics.items():
        frames[name] = made_up_results.statistic(name, rows_of_it)
    paths = {"benchmarks": {BENCHMARK: folder / "benchmark.parquet"}}
    for name, frame in frames.items():
        paths[name] = {pair: folder / f"{name}.parquet"}
        write_parquet(paths[name][pair], frame)
    entry = {"source": "answers", "caution": CAUTION}
    return Results(paths, {BENCHMARK: entry})
