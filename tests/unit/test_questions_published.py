"""Released answers of ChatGPT to BookTection's questions give the numbers that were computed from them."""

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
from pretrace.questions.collected import table_of
from pretrace.questions.documents import benchmark_of_answers, document_units
from pretrace.questions.scoring import with_documents
from pretrace.runtime.files import read_parquet, write_parquet

ANSWERS = Path(__file__).parents[2] / ".." / "shared" / "data" / "booktection128_answers_chatgpt.parquet"
DELTAS = {"A": 0.176224, "B": -0.085704, "C": -0.010494, "D": -0.080027}
TOLERANCE = 1e-4

pytestmark = pytest.mark.skipif(not ANSWERS.exists(), reason=f"{ANSWERS} is not there")


@pytest.fixture(scope="module")
def answers(tmp_path_factory: pytest.TempPathFactory) -> pd.DataFrame:
    path = tmp_path_factory.mktemp("answers") / "answers.parquet"
    write_parquet(path, table_of(ANSWERS))
    return read_parquet(path)


@pytest.fixture(scope="module")
def benchmark(answers: pd.DataFrame) -> pd.DataFrame:
    return benchmark_of_answers({"chatgpt": answers}, "booktection", seed=0)


@pytest.fixture(scope="module")
def calibration(answers: pd.DataFrame, benchmark: pd.DataFrame) -> pd.DataFrame:
    return calibrate(answers, benchmark, [run()], given=DELTAS)


def scored(answers: pd.DataFrame, benchmark: pd.DataFrame, calibrations: pd.DataFrame) -> pd.DataFrame:
    given = {"answers": answers, "calibrations": calibrations}
    return pd.concat(with_documents([no_scores()], benchmark, [run()], **given))


@pytest.fixture(scope="module")
def scores(answers: pd.DataFrame, benchmark: pd.DataFrame, calibration: pd.DataFrame) -> pd.DataFrame:
    return scored(answers, benchmark, calibration)


@pytest.fixture(scope="module")
def metrics(scores: pd.DataFrame, benchmark: pd.DataFrame) -> pd.DataFrame:
    read = scores_of([scores], benchmark)
    metrics, _ = evaluate(read, benchmark, study="s", model="m", benchmark_name="b", resamples=100)
    return metrics[(metrics["unit"] == "document") & (metrics["selection"] == "default")]


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
    assert (row["n_members"].item(), row["n_nonmembers"].item()) == (105, 60)


@pytest.mark.parametrize(("setting", "value"), [("", 0.9452), ("calibration=given", 0.9548)])
def test_binarised_at_the_best_threshold_the_area_is_the_published_one(scores, benchmark, setting, value):
    label = document_units(benchmark).set_index("id")["label"]
    rows = scores[scores["setting"] == setting]
    members = rows["id"].map(label).to_numpy(int) == 1
    accuracy = youden_accuracy(rows["score"].to_numpy(), members, np.ones((len(rows), 1)))
    assert accuracy.item() == pytest.approx(value, abs=TOLERANCE)


@pytest.mark.parametrize("setting", ["", "calibration=given"])
def test_the_area_as_published_scatters_around_the_binarised_one(metrics, setting):
    row = metrics[(metrics["setting"] == setting) & (metrics["metric"] == "auc_as_published")]
    assert row["value"].item() == pytest.approx(0.955, abs=0.02)
    assert row["low"].item() < row["value"].item() < row["high"].item()


def test_every_clean_document_is_in_range_after_calibration_and_none_before(calibration):
    clean = calibration[calibration["label"] == 0]
    counts = well_calibrated(clean).groupby(clean["calibration"]).agg(["sum", "size"])
    assert counts.loc["none"].tolist() == [0, 60]
    assert counts.loc["given"].tolist() == [60, 60]


def test_cross_fitted_deltas_are_near_the_published_ones_and_a_documents_own_fold_has_no_part(
    answers, benchmark
):
    table = calibrate(answers, benchmark, [run()])
    fitted = table[table["calibration"] == "cross_fitted"]
    assert set(table["calibration"]) == {"none", "cross_fitted"}
    assert len(fitted) == 165
    units = document_units(benchmark).set_index("id")
    fold = fitted["id"].map(units["fold"])
    for number in sorted(set(fold)):
        clean = fitted[(fold != number) & (fitted["label"] == 0)]
        expected = 0.25 - clean[MEANS].mean().to_numpy()
        deltas = fitted.loc[fold == number, LETTER_DELTAS].to_numpy()
        np.testing.assert_allclose(deltas, np.tile(expected, (len(deltas), 1)), atol=1e-12)
        np.testing.assert_allclose(expected, list(DELTAS.values()), atol=0.03)
    accuracies = scored(answers, benchmark, table)
    rows = accuracies[accuracies["setting"] == "calibration=cross_fitted"]
    means = rows.groupby(rows["id"].map(units["label"]))["score"].mean()
    assert 0.3825 < means[0] < 0.4179
    assert 0.7228 < means[1] < 0.7807
