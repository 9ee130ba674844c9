"""A statistic is a table of its own, made of a pair's files alone."""

import made_up_prefixes as made_up
import numpy as np
import pytest

from pretrace.evaluation.evaluate import evaluate
from pretrace.evaluation.roc import Ranking
from pretrace.evaluation.scores import evaluation_sets, scores_of
from pretrace.evaluation.statistics import STATISTICS, StatisticInputs
from pretrace.runtime.files import read_parquet, write_json, write_parquet
from pretrace.views.prefixes import draw_prefixes


@pytest.fixture(scope="module")
def inputs(tmp_path_factory) -> StatisticInputs:
    folder = tmp_path_factory.mktemp("pair")
    benchmark = made_up.texts()
    table = made_up.scores(made_up.texts())
    prefixes = draw_prefixes(benchmark, pool=made_up.POOL, draws=2, seed=3)
    names = {
        "study": "made_up",
        "model": made_up.MODEL,
        "benchmark_name": made_up.BENCHMARK,
    }
    sets = evaluation_sets(benchmark, prefixes, [0])
    metrics, _ = evaluate(
        scores_of([table], benchmark),
        benchmark,
        resamples=20,
        evaluation_sets=sets,
        **names,
    )
    frames = {
        "benchmark": benchmark,
        "scores": table,
        "prefixes": prefixes,
        "metrics": metrics,
    }
    for kind, frame in frames.items():
        write_parquet(folder / f"{kind}.parquet", frame)
    write_json(folder / "passes.json", made_up.manifest(folder, benchmark))
    files = {kind: str(folder / f"{kind}.parquet") for kind in frames} | {
        "passes": str(folder / "passes.json")
    }
    return StatisticInputs(
        model=made_up.MODEL,
        benchmark_name=made_up.BENCHMARK,
        files=files,
        store=folder / "store",
        draws=[0],
        resamples=20,
        pooled=False,
        language="en",
    )


@pytest.mark.parametrize("name", ["roc", "density", "shift"])
def test_a_statistic_has_the_columns_that_it_registers_and_reads_back_the_same(
    name, inputs, tmp_path
):
    table = STATISTICS[name].table(inputs)
    assert len(table)
    assert list(table) == STATISTICS[name].columns
    write_parquet(tmp_path / "table.parquet", table)
    again = read_parquet(tmp_path / "table.parquet")
    assert (
        again.astype(object)
        .where(again.notna(), None)
        .equals(table.astype(object).where(table.notna(), None))
    )


def test_curves_are_of_every_set_of_the_draws_at_default_and_best_settings(inputs):
    points = STATISTICS["roc"].table(inputs)
    assert set(points["selection"]) == {"default", "best_on_test"}
    assert set(points["evaluation_set"]) == {"all", "without_prefixes", "balanced"}
    assert set(points["draw"].dropna()) == {0}, "the draws of the runs"


@pytest.mark.parametrize("texts", [40, 3000, 20_000])
def test_weights_of_half_the_memory_give_the_same_metrics(texts):
    rng = np.random.default_rng(texts)
    scores = rng.integers(0, texts // 2, texts).astype(float)
    label = rng.random(texts) < 0.4
    weights = rng.poisson(1.0, (texts, 30)).astype(np.float64)
    ranking = Ranking.of(scores, label, np.arange(texts))
    whole = ranking.counts(weights)
    shared = ranking.counts(weights.astype(np.float32))
    for of_whole, of_shared in zip(whole, shared, strict=True):
        assert np.array_equal(of_whole, of_shared)
