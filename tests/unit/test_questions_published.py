"""Released answers and scores about BookTection give the numbers that were computed
from them."""

from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from made_up_answers import no_scores, run

from pretrace.evaluation.documents import youden_accuracy
from pretrace.evaluation.evaluate import evaluate
from pretrace.evaluation.scores import scores_of
from pretrace.questions.calibration import DELTAS as LETTER_DELTAS
from pretrace.questions.calibration import MEANS, calibrate, well_calibrated
from pretrace.questions.collected import check_answers, read_answers, released_scores
from pretrace.questions.documents import benchmark_of_answers, document_units
from pretrace.questions.scoring import titled_scores, with_documents
from pretrace.runtime.errors import InputError
from pretrace.runtime.files import read_parquet, write_parquet

RELEASED = Path("config/published/de_cop")
DELTAS = {"A": 0.176224, "B": -0.085704, "C": -0.010494, "D": -0.080027}
TOLERANCE = 3e-4  # probabilities are stored with four digits, so that a few answers tie


@pytest.fixture(scope="module")
def answers(tmp_path_factory: pytest.TempPathFactory) -> pd.DataFrame:
    path = tmp_path_factory.mktemp("answers") / "answers.parquet"
    write_parquet(
        path, read_answers(RELEASED / "answers.parquet", "gpt-3.5-turbo-instruct")
    )
    return read_parquet(path)


@pytest.fixture(scope="module")
def texts_table(answers: pd.DataFrame) -> pd.DataFrame:
    return benchmark_of_answers({"chatgpt": answers}, "booktection", seed=0)


@pytest.fixture(scope="module")
def calibration(answers: pd.DataFrame, texts_table: pd.DataFrame) -> pd.DataFrame:
    return calibrate(answers, texts_table, [run()], given=DELTAS)


def scored(
    answers: pd.DataFrame, benchmark: pd.DataFrame, calibrations: pd.DataFrame
) -> pd.DataFrame:
    given = {"answers": answers, "calibrations": calibrations}
    return pd.concat(with_documents([no_scores()], benchmark, [run()], **given))


@pytest.fixture(scope="module")
def scores(
    answers: pd.DataFrame, texts_table: pd.DataFrame, calibration: pd.DataFrame
) -> pd.DataFrame:
    return scored(answers, texts_table, calibration)


@pytest.fixture(scope="module")
def metrics(scores: pd.DataFrame, texts_table: pd.DataFrame) -> pd.DataFrame:
    read = scores_of([scores], texts_table)
    metrics, _ = evaluate(
        read, texts_table, study="s", model="m", benchmark_name="b", resamples=100
    )
    return metrics[
        (metrics["unit"] == "document") & (metrics["selection"] == "default")
    ]


@pytest.mark.parametrize(
    ("setting", "metric", "value"),
    [
        ("", "accuracy_members", 0.7228),
        ("calibration=given", "accuracy_members", 0.7707),
        ("", "accuracy_nonmembers", 0.3825),
        ("calibration=given", "accuracy_nonmembers", 0.4079),
        ("", "auc", 0.9905),
        ("calibration=given", "auc", 0.9897),
    ],
)
def test_accuracies_and_areas_are_the_published_ones(metrics, setting, metric, value):
    row = metrics[(metrics["setting"] == setting) & (metrics["metric"] == metric)]
    assert row["value"].item() == pytest.approx(value, abs=TOLERANCE)
    assert row["n_members"].item() == 105
    assert row["n_nonmembers"].item() == 60


@pytest.mark.parametrize(
    ("setting", "value"), [("", 0.9452), ("calibration=given", 0.9548)]
)
def test_binarised_at_the_best_threshold_the_area_is_the_published_one(
    scores, texts_table, setting, value
):
    label = document_units(texts_table).set_index("id")["label"]
    rows = scores[scores["setting"] == setting]
    members = rows["id"].map(label).to_numpy(int) == 1
    accuracy = youden_accuracy(
        rows["score"].to_numpy(), members, np.ones((len(rows), 1))
    )
    assert accuracy.item() == pytest.approx(value, abs=TOLERANCE)


def test_every_clean_document_is_in_range_after_calibration_and_none_before(
    calibration,
):
    clean = calibration[calibration["label"] == 0]
    counts = well_calibrated(clean).groupby(clean["calibration"]).agg(["sum", "size"])
    assert counts.loc["none"].tolist() == [0, 60]
    assert counts.loc["given"].tolist() == [60, 60]


def test_cross_fitted_deltas_are_near_the_published_ones_and_a_documents_own_fold_has_no_part(
    answers, texts_table
):
    table = calibrate(answers, texts_table, [run()])
    fitted = table[table["calibration"] == "cross_fitted"]
    assert set(table["calibration"]) == {"none", "cross_fitted"}
    assert len(fitted) == 165
    units = document_units(texts_table).set_index("id")
    fold = fitted["id"].map(units["fold"])
    for number in sorted(set(fold)):
        clean = fitted[(fold != number) & (fitted["label"] == 0)]
        expected = 0.25 - clean[MEANS].mean().to_numpy()
        deltas = fitted.loc[fold == number, LETTER_DELTAS].to_numpy()
        np.testing.assert_allclose(
            deltas, np.tile(expected, (len(deltas), 1)), atol=1e-12
        )
        np.testing.assert_allclose(expected, list(DELTAS.values()), atol=0.03)
    accuracies = scored(answers, texts_table, table)
    rows = accuracies[accuracies["setting"] == "calibration=cross_fitted"]
    means = rows.groupby(rows["id"].map(units["label"]))["score"].mean()
    assert 0.3825 < means[0] < 0.4179
    assert 0.7228 < means[1] < 0.7807


@pytest.mark.parametrize(
    ("model", "members", "nonmembers"),
    [
        ("claude-2.1", 0.7360, 0.5283),
        ("claude-1.2", 0.7015, None),
        ("llama-2-13b", None, 0.2211),
        ("llama-2-70b", None, 0.3376),
    ],
)
def test_letters_and_probabilities_are_read_of_every_model(model, members, nonmembers):
    """A letter that was not given is a wrong answer; of the books, each counts once."""
    table = read_answers(RELEASED / "answers.parquet", model).to_pandas()
    assert len(table) == 131_880
    assert (table["reason"].isna() == table["answer"].notna()).all()
    share = (
        table.groupby(["label", "document"])["correct"].mean().groupby("label").mean()
    )
    for label, expected in ((1, members), (0, nonmembers)):
        if expected is not None:
            assert share[label] == pytest.approx(expected, abs=TOLERANCE)


def test_scores_of_other_methods_are_higher_for_members(texts_table):
    units = document_units(texts_table)
    scores = titled_scores(
        released_scores(RELEASED / "baselines.csv", "llama-2-70b"), units["id"]
    )
    assert set(scores["method"] + ";" + scores["setting"]) == {
        "loss;form=perplexity", "zlib;", "lowercase;", "min_k;k=0.2",
    }  # fmt: skip
    scores["label"] = scores["id"].map(units.set_index("id")["label"])
    areas = {}
    for method, rows in scores.groupby("method"):
        members = rows["score"][rows["label"] == 1].to_numpy()
        nonmembers = rows["score"][rows["label"] == 0].to_numpy()
        areas[method] = np.mean(members[:, None] > nonmembers)
    expected = {"loss": 0.934, "zlib": 0.778, "lowercase": 0.960, "min_k": 0.944}
    assert areas == pytest.approx(expected, abs=2e-3)
    of_claude = released_scores(RELEASED / "baselines.csv", "claude-2.1")
    assert titled_scores(of_claude, units["id"]).empty


def test_a_model_without_answers_is_named_with_the_nearest():
    check_answers(RELEASED / "answers.parquet", "llama-2-7b", metrics=True)
    with pytest.raises(InputError, match=r"no answers of 'llama-2-8b'.*llama-2-7b"):
        check_answers(RELEASED / "answers.parquet", "llama-2-8b", metrics=True)
