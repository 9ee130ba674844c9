"""Several splits: the mean of each method over them, beside models of the other splits
and one that read neither class."""

from itertools import permutations
from pathlib import Path
from typing import Any

import made_up_results as made_up
import numpy as np
import pytest
from scipy.stats import t as student
from scipy.stats import ttest_1samp

from pretrace.evaluation.averages import mean_over_splits, p_over_splits
from pretrace.render.figures.dots import headline_lines
from pretrace.render.results import Results
from pretrace.runtime.files import write_parquet

NULL = "tiny-null"
SPLITS = ["split-a", "split-b", "split-c"]
SEPARATIONS = (1.45, 1.5, 1.55)
BY_CHANCE = (0.05, -0.05, 0.0)
METHODS = ["loss", "min_k_pp", "blind"]
TRAINED_LABEL = "splits, trained on the members"
NULL_LABEL = "splits, read by neither"


@pytest.fixture(scope="module")
def splits(tmp_path_factory: pytest.TempPathFactory) -> Results:
    """Three splits with a model each, and a null model that reads all of them."""
    folder = tmp_path_factory.mktemp("splits")
    kinds = ("metrics", "tests", "scores", "benchmarks")
    paths: dict[str, dict[Any, Path]] = {kind: {} for kind in kinds}
    for number, (benchmark, found, chance) in enumerate(
        zip(SPLITS, SEPARATIONS, BY_CHANCE, strict=True)
    ):
        for model, separation in ((f"tiny-{benchmark}", found), (NULL, chance)):
            separations = {"loss": separation / 2, "min_k_pp": separation, "blind": 0.0}
            scores = made_up.scores_frame(made_up.SEPARATION | separations, number)
            metrics = made_up.metrics_frame(scores)
            tests = made_up.tests_frame(metrics)
            frames = {"metrics": metrics, "tests": tests, "scores": scores}
            for kind, frame in frames.items():
                path = folder / kind / f"{model}-{benchmark}.parquet"
                write_parquet(path, made_up.typed(frame))
                paths[kind][model, benchmark] = path
        drawn = np.random.default_rng(number).permutation(2 * made_up.MEMBERS + 150)
        table = made_up.texts_frame()
        table["text"] = [f"snippet {place}" for place in drawn[: len(table)]]
        paths["benchmarks"][benchmark] = folder / f"{benchmark}.parquet"
        write_parquet(paths["benchmarks"][benchmark], table)
    return Results(paths, dict.fromkeys(SPLITS, made_up.ABOUT))


def artifact_of(renderer: str) -> dict[str, Any]:
    panels = []
    for benchmark in SPLITS:
        place = {"benchmark": benchmark, "length": made_up.LENGTH}
        trained = {"model": f"tiny-{benchmark}", "label": TRAINED_LABEL}
        panels += [place | trained, place | {"model": NULL, "label": NULL_LABEL}]
    options = {"splits": True} if renderer == "headline" else {}
    return made_up.artifact(
        renderer, panels=panels, methods=METHODS, null_models=[NULL], options=options
    )


def values_of(results: Results, method: str) -> tuple[np.ndarray, np.ndarray]:
    """The held-out values of the trained models and of the null model, by split."""
    values = []
    for models in ([f"tiny-{benchmark}" for benchmark in SPLITS], [NULL] * len(SPLITS)):
        own = []
        for model, benchmark in zip(models, SPLITS, strict=True):
            rows = results.read("metrics", (model, benchmark))
            is_wanted = (
                rows["method"].eq(method)
                & rows["metric"].eq("auc")
                & rows["selection"].eq("held_out")
            )
            own.append(float(rows.loc[is_wanted, "value"].iloc[0]))
        values.append(np.array(own))
    return values[0], values[1]


def on_shared_texts(results: Results, method: str) -> tuple[np.ndarray, np.ndarray]:
    """What the models of the other splits find by the labels of each split, and how far
    its own model lies above: counted pair by pair among shared texts with one label in
    the other split."""
    texts = {}
    for benchmark in SPLITS:
        table = results.read("benchmarks", benchmark)
        scores = results.read("scores", (f"tiny-{benchmark}", benchmark))
        own = scores[scores["method"].eq(method)].set_index("id")["score"]
        table = table.assign(score=table["text_id"].map(own))
        texts[benchmark] = table.set_index("text")[["label", "score"]]
    found, above = [], []
    for benchmark in SPLITS:
        shares = []
        for other in set(SPLITS) - {benchmark}:
            there = texts[other].add_suffix("_there")
            shared = texts[benchmark].join(there).dropna().astype(float)
            wins = []
            for first, second in permutations(shared.to_numpy(), 2):
                if first[2] == second[2] and first[0] > second[0]:
                    wins.append([first[1] > second[1], first[3] > second[3]])
            shares.append(np.mean(wins, axis=0))
        own_share, other_share = np.mean(shares, axis=0)
        found.append(other_share)
        above.append(own_share - other_share)
    return np.array(found), np.array(above)


def interval_of(values: np.ndarray, methods: int = 1) -> tuple[float, float]:
    """Student's interval of a mean, for several methods at once."""
    error = values.std(ddof=1) / np.sqrt(len(values))
    level = 1 - 0.05 / methods
    low, high = student.interval(level, len(values) - 1, values.mean(), error)
    return float(low), float(high)


def test_splits_of_one_label_are_one_row_of_the_headline_less_the_other_splits_models(
    splits,
):
    drawing = made_up.draw(artifact_of("headline"), splits)
    frame = drawing.frame
    assert list(frame["label"].unique()) == [TRAINED_LABEL, NULL_LABEL]
    row = frame[frame["label"].eq(TRAINED_LABEL) & frame["method"].eq("min_k_pp")]
    row = row.iloc[0]
    trained, _ = values_of(splits, "min_k_pp")
    others, differences = on_shared_texts(splits, "min_k_pp")
    assert np.ptp(others) > 0.005
    assert row["value"] == pytest.approx(trained.mean())
    assert (row["low"], row["high"]) == pytest.approx(interval_of(trained))
    # of two methods that see a model, one is chosen as the best
    assert (row["best_low"], row["best_high"]) == pytest.approx(interval_of(trained, 2))
    assert row["null_value"] == pytest.approx(others.mean())
    ends = (row["less_null_low"], row["less_null_high"])
    assert row["less_null"] == pytest.approx(differences.mean())
    assert ends == pytest.approx(interval_of(differences, 2))
    blind, _ = values_of(splits, "blind")
    assert row["p"] == pytest.approx(ttest_1samp(trained - blind, 0).pvalue)
    assert row["splits"] == 3
    assert row["model"] == "average"
    assert len(drawing.figure.axes) == 2
    assert max(map(len, headline_lines(frame))) <= 60
    told = " ".join(" ".join(headline_lines(frame)).split())
    above = differences.mean()
    assert f"AUC {trained.mean():.2f}" in told
    assert "(mean of 3 splits), bag of words" in told
    assert f"less other splits' models +{above:.2f} [" in told


def test_a_method_that_does_not_exceed_the_controls_found_no_training(splits):
    artifact = artifact_of("headline")
    assert "In 1 of 1 tests a method found training" in (
        made_up.draw(artifact, splits).reading
    )
    # the splits as the null model reads them, as if it had been trained on them
    own = {}
    for kind, files in splits.paths.items():
        own[kind] = dict(files)
        for benchmark in SPLITS if kind != "benchmarks" else []:
            own[kind][f"tiny-{benchmark}", benchmark] = files[NULL, benchmark]
    as_null = Results(own, splits.entries)
    assert made_up.draw(artifact, as_null).reading.startswith("In no test did")


def test_the_table_of_splits_has_means_of_all_models_and_a_difference(splits):
    table = made_up.draw(artifact_of("split_table"), splits)
    trained, null = values_of(splits, "min_k_pp")
    others, differences = on_shared_texts(splits, "min_k_pp")
    row = made_up.row_of(table, "Min-K%++")
    above = differences.mean()
    expected = [trained.mean(), others.mean(), above, null.mean()]
    assert [cell.value for cell in row.cells] == pytest.approx(expected)
    assert (row.cells[3].low, row.cells[3].high) == pytest.approx(interval_of(null))
    singles = [made_up.row_of(table, "Min-K%++", block) for block in (1, 2)]
    assert [cell.value for cell in singles[0].cells] == pytest.approx(list(trained))
    assert [cell.value for cell in singles[1].cells] == pytest.approx(list(null))
    assert f"it has {null.mean():.2f} on the same texts" in table.reading
    assert "columns (at most 0.15 expected)" in table.reading
    means = table.frame[table.frame["average"].eq("split")]
    assert sorted(means["method"]) == sorted(METHODS * 2)


def test_a_mean_over_one_split_or_of_a_missing_value_has_no_interval():
    assert mean_over_splits([0.6]) == (0.6, None, None)
    value, low, high = mean_over_splits([0.6, float("nan")])
    assert np.isnan(value)
    assert low is None
    assert high is None
    assert np.isnan(p_over_splits([0.1]))
    assert p_over_splits([0.0, 0.0]) == 1
    assert p_over_splits([0.1, 0.1]) == 0
