"""The scores table: which rows it has, from which statistics, and what is said about
those it lacks."""

import shutil

import numpy as np
import pandas as pd
import pytest
from made_up_stores import (
    VOCABULARY,
    Store,
    a_run,
    counts_file,
    made_up_benchmark,
    mean_logprob,
    score_of,
    statistics_of,
)

from pretrace.methods import METHODS
from pretrace.methods.scoring import SCORE_COLUMNS
from pretrace.runtime.errors import InputError


def test_every_text_has_a_row_a_method_and_setting_in_the_contracts_columns(store):
    scores = score_of(
        store, a_run("loss", "zlib", "min_k", "min_k_pp", "surp", "lowercase", "blind")
    )
    assert list(scores.columns) == SCORE_COLUMNS
    expected = {
        "blind": 20,
        "loss": 20,
        "lowercase": 20,
        "min_k": 200,
        "min_k_pp": 200,
        "surp": 4000,
        "zlib": 20,
    }
    assert scores.groupby("method").size().to_dict() == expected
    same = scores[["unit", "view", "start_token", "reference"]].drop_duplicates()
    assert same.values.tolist() == [["text", "original", "none", ""]]
    assert scores[["draw", "shots_used"]].isna().all(axis=None)
    assert str(scores["draw"].dtype) == "Int64"
    assert np.isfinite(scores["score"]).all()


def test_each_score_is_the_methods_own_of_the_stored_statistics(store):
    scores = score_of(
        store, a_run("zlib", "min_k_pp", {"method": "surp", "parameters": {"eps": 3}})
    )
    for row in scores.itertuples():
        params = dict(part.split("=") for part in row.setting.split(";") if part)
        typed = {}
        for name, value in params.items():
            typed[name] = int(value) if name == "percentile" else float(value)
        expected = METHODS[row.method].function(statistics_of(store, row.id), **typed)
        assert row.score == pytest.approx(expected, abs=1e-12)


def test_lowercase_reads_the_altered_pass(store):
    scores = score_of(store, a_run("lowercase")).set_index("id")["score"]
    for id, value in scores.items():
        assert value == pytest.approx(
            -mean_logprob(store, id) / mean_logprob(store, id, "lowercase")
        )


def test_ref_has_a_row_for_each_reference_model(store):
    others = {}
    for name in ("small", "other"):
        others[name] = Store(store.folder, name, store.benchmark).add()
    references = {name: other.manifest_file() for name, other in others.items()}
    scores = score_of(
        store,
        a_run("ref", "loss", references=list(others)),
        files={"reference": references},
    )
    ref = scores[scores["method"] == "ref"].set_index(["reference", "id"])["score"]
    assert len(ref) == 40
    for (reference, id), value in ref.items():
        assert value == pytest.approx(
            mean_logprob(store, id) - mean_logprob(others[reference], id)
        )
    assert set(scores[scores["method"] == "loss"]["reference"]) == {""}


def test_dc_pdd_has_a_row_for_each_corpus_with_its_smoothed_frequencies(
    store, tmp_path
):
    counted = {"web": {0: 5, 3: 2}, "books": {7: 100}}
    counts = {}
    for corpus, numbers in counted.items():
        counts[corpus] = counts_file(tmp_path / f"{corpus}.parquet", numbers)
    run = a_run({"method": "dc_pdd", "parameters": {"a": 10}}, corpora=["web", "books"])
    scores = score_of(store, run, files={"frequencies": counts}).set_index(
        ["reference", "id"]
    )["score"]
    assert len(scores) == 40
    for (corpus, id), value in scores.items():
        numbers = counted[corpus]
        text = statistics_of(store, id)
        seen = set()
        alphas = []
        for token, logprob in zip(text.token_ids.tolist(), text.logprobs, strict=True):
            q = (numbers.get(token, 0) + 1) / (sum(numbers.values()) + VOCABULARY)
            if token not in seen:
                alphas.append(min(10, -np.exp(logprob) * np.log(q)))
            seen.add(token)
        assert value == pytest.approx(np.mean(alphas))


def test_overlapping_runs_give_each_score_once(tmp_path):
    store = Store(tmp_path, "tiny", made_up_benchmark(lengths=(32, 64))).add()
    narrow = a_run(
        {"method": "min_k", "parameters": {"k": [0.2, 0.25]}}, "loss", lengths=[32]
    )
    scores = score_of(store, narrow, a_run("min_k", "loss"))
    keys = SCORE_COLUMNS[:-1]
    assert not scores.duplicated(keys).any()
    of_min_k = scores[scores["method"] == "min_k"]
    assert of_min_k.groupby(of_min_k["id"].str[:2])["setting"].nunique().to_dict() == {
        "32": 11,
        "64": 10,
    }


def test_the_table_does_not_depend_on_the_order_of_runs_methods_or_texts(tmp_path):
    table = made_up_benchmark(lengths=(32, 64))
    store = Store(tmp_path, "tiny", table).add().add(altered="lowercase")
    runs = [a_run("loss", "surp", lengths=[64]), a_run("zlib", "lowercase", "loss")]
    straight = score_of(store, *runs)
    store.benchmark = table.iloc[::-1].reset_index(drop=True)
    turned = score_of(
        store, *[run | {"methods": run["methods"][::-1]} for run in runs[::-1]]
    )
    pd.testing.assert_frame_equal(straight, turned)


def test_a_length_that_the_benchmark_lacks_is_an_error(store):
    with pytest.raises(InputError, match=r"the benchmark has no length '33'.*'32'"):
        score_of(store, a_run("loss", lengths=[33]))


@pytest.mark.parametrize(
    ("method", "changes", "reason"),
    [
        ("ref", {}, "the run names no reference model"),
        ("dc_pdd", {}, "the run names no corpus"),
        ("rmia", {}, "the run names no model with shadow models"),
        ("neighbor", {}, "the run names no view of neighbours"),
        (
            "ref",
            {"references": ["small"]},
            "missing: log-probabilities of the text under the reference model",
        ),
        (
            "dc_pdd",
            {"corpora": ["web"]},
            "missing: token frequencies of the reference corpus",
        ),
        (
            "neighbor",
            {"neighbours": ["swaps"]},
            "missing: log-probabilities of the text's neighbours",
        ),
        ("recall", {}, "no prefixes are drawn from the benchmark"),
    ],
)
def test_a_method_without_its_needs_has_no_row_and_one_line_in_the_log(
    store, log_lines, method, changes, reason
):
    scores = score_of(store, a_run(method, **changes), a_run("loss"))
    assert set(scores["method"]) == {"loss"}
    [line] = [
        record.message for record in log_lines.records if "no score" in record.message
    ]
    assert line.startswith(method)
    assert f"made_up: {reason}" in line


def test_a_pass_of_log_probabilities_alone_scores_what_needs_no_more(
    tmp_path, benchmark_table, log_lines
):
    store = Store(tmp_path, "tiny", benchmark_table).add(full=False)
    assert set(
        score_of(store, a_run("loss", "min_k", "min_k_pp", "surp"))["method"]
    ) == {"loss", "min_k"}
    assert (
        "surp: no score for 20 texts of made_up: missing: the entropies"
        in log_lines.text
    )


def test_a_pass_of_the_likeliest_tokens_scores_the_settings_that_read_no_more(
    tmp_path, benchmark_table, log_lines
):
    """As a server's pass, which has neither entropies nor variances."""
    none = {"entropies": None, "variances": None}
    changes = dict.fromkeys(benchmark_table["text_id"], none)
    store = Store(tmp_path, "tiny", benchmark_table).add(changes=changes)
    store.manifest["views"][0]["statistics"] = "likeliest"
    run = a_run(
        {
            "method": "max_renyi",
            "parameters": {"k": 0.1, "entropy": ["shannon", "min"]},
        },
        "loss",
    )
    scores = score_of(store, run)
    assert set(scores.loc[scores["method"] == "max_renyi", "setting"]) == {
        "k=0.1;entropy=min"
    }
    assert (
        "max_renyi: no score for 20 texts of made_up: missing: the entropies"
        in log_lines.text
    )


def test_texts_without_scored_tokens_are_left_out_and_counted(
    tmp_path, benchmark_table, log_lines
):
    nothing = {name: [] for name in ("token_ids", "logprobs", "entropies", "variances")}
    skipped = nothing | {"skipped": "one token and no start token"}
    changes = {
        "32-03": skipped,
        "32-04": skipped,
        "32-05": nothing,
        "32-06": {"absent": True},
    }
    store = Store(tmp_path, "tiny", benchmark_table).add(changes=changes)
    store.add(altered="lowercase", changes={"32-07": nothing | {"skipped": "too long"}})
    scores = score_of(store, a_run("loss", "lowercase", "blind"))
    present = {method: set(ids) for method, ids in scores.groupby("method")["id"]}
    every = set(benchmark_table["text_id"])
    assert present["blind"] == every
    assert every - present["loss"] == set(changes)
    assert every - present["lowercase"] == {*changes, "32-07"}
    assert (
        "loss: no score for 2 texts of made_up: one token and no start token"
        in log_lines.text
    )
    assert "loss: no score for 1 texts of made_up: no scored token" in log_lines.text
    assert "loss: no score for 1 texts of made_up: no pass over" in log_lines.text
    assert (
        "lowercase: no score for 1 texts of made_up: missing: log-probabilities"
        in log_lines.text
    )


def test_a_pass_that_the_manifest_lacks_is_an_error_and_no_missing_row(store):
    with pytest.raises(
        InputError,
        match=r"the passes of tiny on made_up .* lack 'original, start token <s>",
    ):
        score_of(store, a_run("zlib", start_token="<s>"), a_run("loss"))


@pytest.mark.parametrize("value", [float("nan"), float("-inf")])
@pytest.mark.parametrize("column", ["logprobs", "entropies", "variances"])
def test_statistics_that_are_not_finite_are_an_error_that_names_the_text(
    tmp_path, benchmark_table, column, value
):
    """Not even surp, whose comparisons would pass over a NaN, scores them."""
    two = {
        "token_ids": [1, 2],
        "logprobs": [-1, -2],
        "entropies": [1, 1],
        "variances": [1, 1],
    }
    store = Store(tmp_path, "tiny", benchmark_table).add(
        changes={"32-05": two | {column: [1.0, value]}}
    )
    with pytest.raises(
        InputError, match=rf"{column} of text '32-05' that are (nan|-inf)"
    ):
        score_of(store, a_run("surp"))


def test_a_score_that_is_not_finite_names_method_setting_and_text(store):
    """Perplexity overflows where the mean surprise is absurd."""
    shutil.rmtree(store.folder)
    absurd = {
        "token_ids": [1, 2],
        "logprobs": [-1, -9999],
        "entropies": [1, 1],
        "variances": [1, 1],
    }
    store = Store(store.folder, "tiny", store.benchmark).add(changes={"32-05": absurd})
    with pytest.raises(
        InputError,
        match=r"loss \(setting 'form=perplexity'\): the score of text '32-05' is -inf",
    ):
        score_of(store, a_run({"method": "loss", "parameters": {"form": "perplexity"}}))
