"""The tables of metrics and tests: what enters, how it is marked, and that they are the
same every time."""

import numpy as np
import pandas as pd
import pytest
from evaluation_tables import LABEL, auc, noise, only, run, scores, texts

from pretrace.evaluation.scores import EvaluationSet, scores_of
from pretrace.methods.settings import Column
from pretrace.questions import method_facts
from pretrace.runtime.errors import InputError
from pretrace.runtime.files import write_parquet


@pytest.mark.parametrize("rows", [37, 400, 10_000])
def test_scores_are_each_labelled_texts_own_wherever_the_parts_end(rows):
    benchmark = texts(np.where(np.arange(200) == 5, np.nan, LABEL))
    some = np.where(np.arange(200) < 9, np.nan, noise(200))
    own = {("plain", ""): some}
    for k in (1, 2, 3):
        own["tuned", f"k={k}"] = noise(200, seed=k)
    plain = scores(benchmark, own)
    altered = scores(benchmark, {("plain", ""): noise(200, seed=9)}, view="delete-10")
    drawn = scores(benchmark, {("other", ""): noise(200, seed=8)}, draw=1)
    table = pd.concat([plain, altered, drawn], ignore_index=True)
    table = table.sample(frac=1, random_state=0)
    parts = [table[start : start + rows] for start in range(0, len(table), rows)]
    units, columns, _ = scores_of(parts, benchmark)["text"]
    numbered = table.assign(draw=table["draw"].fillna(-1))
    keys = list(Column._fields)
    wide = numbered.pivot(index="id", columns=keys, values="score")
    assert set(columns) == set(map(Column._make, wide.columns))
    for column, values in columns.items():
        expected = wide[tuple(column)].reindex(units["id"])
        np.testing.assert_array_equal(values, expected)
    assert benchmark["text_id"][5] not in set(units["id"])


FOREIGN = scores(texts(LABEL, subset="x"), {("plain", ""): noise(200)})


@pytest.mark.parametrize(
    ("given", "label", "says"),
    [
        *(({("plain", ""): noise(20)}, label,
           r"'benchmark' has \d+ members .* need both classes. Add")
          for label in (np.ones(20), np.zeros(20), np.full(20, np.nan))),
        (FOREIGN, LABEL, "no score of model belongs to a labelled text of 'benchmark'"),
    ],
)  # fmt: skip
def test_one_class_alone_and_scores_of_another_benchmark_are_errors_with_a_remedy(
    given, label, says
):
    with pytest.raises(InputError, match=says):
        run(given, texts(label))


def test_a_subset_of_one_class_is_left_out_and_logged(caplog):
    benchmark = pd.concat(
        [texts(LABEL, subset="both"), texts(np.ones(20), subset="lone")],
        ignore_index=True,
    )
    metrics, tests = run({("plain", ""): noise(220)}, benchmark)
    assert set(metrics["subset"]) == set(tests["subset"]) == {"both"}
    assert (
        "text/lone/64/all, view original: no metrics, because one class is missing"
        in caplog.text
    )


def test_tests_rest_on_the_texts_that_both_methods_score(log_lines):
    full = noise(200) + LABEL
    partial = noise(200, seed=1)
    partial[:50] = np.nan
    metrics, tests = run({("plain", ""): full, ("other", ""): partial}, resamples=200)
    assert (
        only(metrics, method="other", selection="default", metric="auc")["n_members"]
        == 75
    )
    assert (
        only(metrics, method="plain", selection="default", metric="auc")["n_members"]
        == 100
    )
    both = slice(50, None)
    expected = auc(full[both], LABEL[both]) - auc(partial[both], LABEL[both])
    keys = {"method": "plain", "selection": "default", "metric": "auc"}
    row = only(tests, **keys, baseline="other", test="bootstrap")
    assert row["difference"] == pytest.approx(expected)
    assert row["low"] < expected < row["high"]
    alone = only(tests, **keys, baseline="chance", test="bootstrap")
    assert alone["difference"] == pytest.approx(auc(full, LABEL) - 0.5)
    assert "use only the texts that both methods score" in log_lines.text


def test_marks():
    benchmark = texts(LABEL[:60])
    surprised = noise(60)
    surprised[:4] = 0.0
    columns = {
        ("surprised", "k=1"): surprised,
        ("surprised", "k=2"): noise(60),
        ("plain", ""): noise(60, seed=4),
    }
    metrics, _ = run(columns, benchmark)
    rows = metrics.set_index(["method", "selection", "metric", "setting"])["marks"]
    assert (
        rows["surprised", "default", "auc", "k=1"]
        == "convention_default;over_5_percent_empty"
    )
    assert rows["surprised", "grid", "auc", "k=1"] == "over_5_percent_empty"
    assert rows["surprised", "grid", "auc", "k=2"] == ""
    assert rows["plain", "default", "tpr_at_1_fpr", ""] == "level_below_resolution"
    assert rows["plain", "default", "tpr_at_5_fpr", ""] == ""  # 1/30 is below 5 %


def test_intervals_of_true_positive_rates_cover_their_mean_over_test_sets():
    """Resamples as they are lie too high: 14 % of the intervals would lie above at 1 %,
    and 19 % below 5 %."""
    label = np.arange(200) < 100
    sets = []
    for seed in range(60):
        sets.append(
            run(
                {("plain", ""): noise(200, seed=seed) + label / 2},
                texts(label),
                resamples=200,
            )[0]
        )
    metrics = pd.concat(sets)
    rates = metrics[metrics["selection"].eq("held_out") & metrics["metric"].ne("auc")]
    for metric, rows in rates.groupby("metric"):
        mean = rows["value"].mean()
        assert (rows["low"] > mean).mean() <= 0.08, metric
        assert (rows["high"] < mean).mean() <= 0.08, metric


def test_a_prefix_that_lost_shots_is_marked_with_those_it_has():
    benchmark = pd.concat(
        [texts(LABEL, length=words) for words in (32, 64)], ignore_index=True
    )
    table = scores(benchmark, {("recall", "shots=7"): noise(400)}, draw=0)
    table["shots_used"] = np.where(benchmark["length"].eq(64), 1, 7)
    sets = [EvaluationSet("without_prefixes", 0)]
    metrics, _ = run(table, benchmark, settings=method_facts, evaluation_sets=sets)
    marks = metrics[metrics["metric"].eq("auc")].groupby("length")["marks"].agg(set)
    assert marks.to_dict() == {32: {""}, 64: {"1 of 7 shots"}}


@pytest.mark.parametrize("size", [1, 2, 4, 5, 9, 10])
def test_a_class_below_five_texts_has_no_interval_and_below_ten_no_test(size):
    label = np.arange(20 + size) < size
    metrics, tests = run(
        {("plain", ""): label * 2.0, ("other", ""): noise(20 + size)}, texts(label)
    )
    assert metrics["value"].notna().all()
    assert set(metrics[["low", "high"]].notna().all(axis=1)) == {size >= 5}
    assert metrics["marks"].str.contains("few_texts").eq(size < 5).all()
    assert set(tests["p"].notna()) == {size >= 10}
    assert ("bootstrap" in set(tests["test"])) == (size >= 10)
    if size >= 5:
        perfect = only(metrics, method="plain", selection="default", metric="auc")
        assert perfect["value"] == perfect["high"] == 1
        assert perfect["low"] < 0.9, "twenty-five texts do not show an AUC of exactly 1"


def test_intervals_of_few_documents_are_marked():
    document = np.where(
        LABEL == 1, [f"speech-{number % 20}" for number in range(200)], "address"
    )
    benchmark = texts(LABEL, document=document)
    metrics, _ = run({("plain", ""): noise(200)}, benchmark)
    auc_rows = metrics[metrics["metric"] == "auc"].set_index("selection")["marks"]
    assert auc_rows.pop("held_out") == "conditional_on_documents;few_documents"
    assert auc_rows.to_dict() == dict.fromkeys(
        ("grid", "default", "best_on_test"), "conditional_on_documents"
    )


def test_few_documents_have_default_settings_and_no_test_between_methods():
    """With ten of each class there are tests, and settings of other folds; with nine
    there are none."""
    columns = {("tuned", f"k={k}"): noise(200, seed=k) for k in (1, 2, 3)} | {
        ("plain", ""): noise(200)
    }
    for documents in (9, 10):
        names = [
            f"d{label}-{number // 2 % documents}" for number, label in enumerate(LABEL)
        ]
        metrics, tests = run(columns, texts(LABEL, document=names))
        rows = metrics[
            (metrics["metric"] == "auc") & (metrics["method"] == "tuned")
        ].set_index("selection")
        few = documents == 9
        assert ("few_documents" in rows["marks"]["held_out"]) == few
        assert (rows["setting"]["held_out"] == "k=2") == few, (
            "the default of this method"
        )
        assert ("bootstrap" not in set(tests["test"])) == few
    _, tests = run(columns, texts(LABEL))
    assert "bootstrap" in set(tests["test"]), (
        "texts without documents are their own units"
    )


def test_row_order_does_not_matter_and_equal_inputs_give_equal_bytes(tmp_path):
    document = [f"speech-{number % 17}" for number in range(200)]
    whole = texts(LABEL, document=document)
    short = texts(LABEL, length=32)
    unlabelled = texts([np.nan] * 5, length=16)
    benchmark = pd.concat([whole, short, unlabelled], ignore_index=True)
    some = np.where(np.arange(405) % 9 == 0, np.nan, noise(405, seed=8))
    columns = {}
    for k in (1, 2, 3):
        columns["tuned", f"k={k}"] = noise(405, seed=k)
    columns["plain", ""] = some
    table = scores(benchmark, columns)
    first = run(table, benchmark)
    mixed_scores = table.sample(frac=1, random_state=1)
    mixed_texts = benchmark.sample(frac=1, random_state=2)
    mixed = run(mixed_scores, mixed_texts)
    for frame, other in zip(first, mixed, strict=True):
        write_parquet(tmp_path / "a", frame)
        write_parquet(tmp_path / "b", other)
        assert (tmp_path / "a").read_bytes() == (tmp_path / "b").read_bytes()


def test_seed_comes_from_the_names_of_the_run():
    table = scores(texts(LABEL), {("plain", ""): noise(200)})
    low = []
    for changes in ({}, {}, {"subset": "x"}):
        low.append(
            only(
                run(table, texts(LABEL).assign(**changes))[0],
                selection="default",
                metric="auc",
            )["low"]
        )
    assert low[0] == low[1] != low[2]


def test_too_few_resamples_are_an_error():
    with pytest.raises(InputError, match="9 resamples are too few"):
        run({("plain", ""): noise(200)}, resamples=9)
