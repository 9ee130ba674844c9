"""Accuracies of documents, calibration and means over passages, against counting by
hand."""

import made_up_answers as made_up
import numpy as np
import pandas as pd
import pytest
from made_up_answers import answers_of

from pretrace.questions.answering import PROBABILITIES as P
from pretrace.questions.calibration import DELTAS, calibrate
from pretrace.questions.documents import (
    benchmark_of_answers,
    document_units,
    wanted_answers,
)
from pretrace.questions.scoring import with_documents
from pretrace.runtime.errors import InputError


@pytest.fixture
def answers(tmp_path) -> pd.DataFrame:
    return answers_of(tmp_path, made_up.rows() + made_up.other_tasks())


@pytest.fixture
def texts_table(answers) -> pd.DataFrame:
    return released_benchmark(answers)


def released_benchmark(answers) -> pd.DataFrame:
    return benchmark_of_answers({"oracle": answers}, "released", seed=0)


def scored(answers, benchmark, *runs, **calibration) -> pd.DataFrame:
    runs = runs or (made_up.run(),)
    table = calibrate(answers, benchmark, runs, **calibration)
    frames = with_documents(
        [made_up.no_scores()], benchmark, runs, answers=answers, calibrations=table
    )
    return pd.concat(frames)


def by_hand(answers: pd.DataFrame, deltas: np.ndarray) -> dict[str, float]:
    accuracy = {}
    questions = answers[answers["task"] == "de_cop"]
    for document, rows in questions.groupby("document"):
        right = 0
        for p, true_answer in zip(rows[P].to_numpy(), rows["true_answer"], strict=True):
            chosen = (p + deltas).argmax()
            right += "ABCD"[chosen] == true_answer
        accuracy[document] = right / len(rows)
    return accuracy


def test_accuracy_is_the_share_of_right_answers_with_the_deltas_added_before_a_letter_is_chosen(
    answers, texts_table
):
    deltas = {"A": 0.1, "B": -0.2, "C": 0.02, "D": 0.08}
    scores = scored(answers, texts_table, given=deltas)
    of_de_cop = scores[scores["method"] == "de_cop"]
    added = {"": np.zeros(4), "calibration=given": np.array(list(deltas.values()))}
    assert set(of_de_cop["setting"]) == set(added)
    for setting, rows in of_de_cop.groupby("setting"):
        expected = by_hand(answers, added[setting])
        assert rows.set_index("id")["score"].to_dict() == pytest.approx(expected)
        assert set(rows["reference"]) == {"paraphrase"}
    assert set(scores["unit"]) == {"document"}


def held_benchmark_of(answers) -> pd.DataFrame:
    return benchmark_of_answers({"oracle": answers}, "held", seed=0)


def held_deltas(answers, benchmark, held, held_benchmark) -> np.ndarray:
    """[documents, 4] deltas by the answers `held` about another benchmark."""
    table = calibrate(
        answers, benchmark, [made_up.run()], held=held, held_benchmark=held_benchmark
    )
    return table.loc[table["calibration"] == "held", DELTAS].to_numpy()


def test_held_deltas_are_a_quarter_minus_the_clean_documents_means_of_documents(
    tmp_path, answers, texts_table
):
    # one document has a passage less
    other = answers_of(tmp_path, made_up.rows(documents=3, seed=7)[:-24])
    held = held_deltas(answers, texts_table, other, held_benchmark_of(other))
    clean = other[other["label"] == 0]
    means = clean.groupby("document")[P].mean().mean().to_numpy(float)
    np.testing.assert_allclose(held[0], 0.25 - means)
    assert len(held) == 16


def test_held_deltas_are_those_of_the_same_paraphraser_where_there_are_any(
    tmp_path, answers, texts_table, caplog
):
    same = answers_of(tmp_path, made_up.rows(documents=3, seed=7))
    other = same.assign(paraphraser="another")
    other[P] /= 2
    benchmark = held_benchmark_of(same)

    def deltas(held):
        return held_deltas(answers, texts_table, held, benchmark)

    both = pd.concat([same, other], ignore_index=True)
    np.testing.assert_allclose(deltas(both), deltas(same))
    assert "calibrate_on" not in caplog.text
    assert (deltas(other) > deltas(same)).all()
    assert "no clean document there is paraphrased by paraphrase" in caplog.text


def test_calibration_on_a_benchmark_of_another_length_is_refused(
    tmp_path, answers, texts_table
):
    other = answers_of(tmp_path, made_up.rows(length=32))
    benchmark = held_benchmark_of(other)
    with pytest.raises(InputError, match=r"no clean document .* of length 64"):
        held_deltas(answers, texts_table, other, benchmark)


def test_answers_in_text_alone_have_no_calibrated_score(tmp_path):
    rows = pd.DataFrame(made_up.rows()).drop(columns=P).assign(answer="B")
    answers = answers_of(tmp_path, rows.to_dict("records"))
    scores = scored(answers, released_benchmark(answers))
    assert set(scores["setting"]) == {""}
    np.testing.assert_allclose(scores["score"], 0.25)


def test_a_skipped_passage_leaves_the_accuracy_and_an_unusable_answer_does_not(
    tmp_path,
):
    base = {"document": "d", "label": 1, "task": "name_cloze", "setting": ""}
    rows = [
        base | {"passage": 0, "answer": "Ann", "correct": True, "reason": None},
        base | {"passage": 1, "answer": None, "correct": None, "reason": "no name"},
        base | {"passage": 2, "answer": None, "correct": False, "reason": "refused"},
    ]
    answers = answers_of(tmp_path, rows)
    scores = scored(answers, released_benchmark(answers))
    assert scores["score"].tolist() == [0.5]


def test_a_run_chooses_tasks_settings_lengths_and_paraphrasers(answers):
    def wanted(**run):
        return wanted_answers(answers, [made_up.run(**run)])

    completion = {"method": "completion", "parameters": {"k": [50]}}
    assert set(wanted(questions=[completion])["setting"]) == {"k=50"}
    assert wanted(lengths=[32]).empty
    assert len(wanted(lengths=[64])) == len(answers)
    # tasks without options have no paraphraser
    tasks = set(wanted(paraphraser="another")["task"])
    assert tasks == {"completion", "name_cloze"}


def test_documents_with_passages_of_two_lengths_are_units_of_their_own(tmp_path):
    answers = answers_of(tmp_path, made_up.rows() + made_up.rows(length=32, seed=1))
    benchmark = released_benchmark(answers)
    units = document_units(benchmark)
    assert len(units) == 32
    assert units["id"].is_unique
    assert {"d00|32", "d00|64"} <= set(units["id"])
    scores = scored(answers, benchmark)
    assert set(scores["id"]) == set(units["id"])


def test_two_models_must_agree_on_a_documents_label(tmp_path, answers):
    all_members = [row | {"label": 1} for row in made_up.rows()]
    other = answers_of(tmp_path / "other", all_members)
    says = "answers of one and two give the document 'd08' different labels"
    with pytest.raises(InputError, match=says):
        benchmark_of_answers({"one": answers, "two": other}, "released", seed=0)


def test_answers_about_strange_documents_are_refused(tmp_path, answers, texts_table):
    few = texts_table[texts_table["document"] != "d03"]
    says = "'d03', 64 words is not a document of the benchmark"
    with pytest.raises(InputError, match=says):
        scored(answers, few)


def test_a_score_of_texts_becomes_its_mean_over_the_passages(answers, texts_table):
    table = pd.DataFrame(
        {
            "unit": "text",
            "id": texts_table["text_id"],
            "method": "loss",
            "setting": "",
            "view": "original",
            "start_token": "none",
            "draw": None,
            "reference": "",
            "shots_used": None,
            "score": np.arange(len(texts_table)) / 7,
        }
    )
    texts = table.astype({"draw": "Int64", "shots_used": "Int64"})[1:]
    parts = [texts, texts.assign(method="zlib", score=-texts["score"])]
    runs = [made_up.run()]
    frames = with_documents(parts, texts_table, runs, answers=None, calibrations=None)
    every = pd.concat(frames)
    assert (every.groupby(["unit", "id"])["score"].sum() == 0).all()
    # those of documents come last
    assert every["unit"].tolist() == sorted(every["unit"], reverse=True)
    scores = every[every["method"] == "loss"]
    of_texts = scores[scores["unit"] == "text"].reset_index(drop=True)
    assert of_texts.equals(texts.reset_index(drop=True))
    document_of = texts_table.set_index("text_id")["document"]
    documents = texts["id"].map(document_of)
    expected = texts.groupby(documents)["score"].mean()
    means = scores[scores["unit"] == "document"].set_index("id")["score"]
    pd.testing.assert_series_equal(means, expected, check_names=False)
