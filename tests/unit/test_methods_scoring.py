"""The scores table: which rows it has, from which statistics, and what is said about those it lacks."""

import logging
import shutil
import zlib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest

from pretrace.methods import METHODS, TokenStatistics, score
from pretrace.runtime.errors import InputError
from pretrace.runtime.files import seed_of, sha256_file, write_parquet
from pretrace.views import VIEWS
from pretrace.views.prefixes import draw_prefixes

COLUMNS = [
    "unit",
    "id",
    "method",
    "setting",
    "view",
    "start_token",
    "draw",
    "reference",
    "shots_used",
    "score",
]
VOCABULARY = 20


def made_up_benchmark(count: int = 20, *, lengths: tuple[int | None, ...] = (32,)) -> pd.DataFrame:
    rows = [
        {"text_id": f"{length or 'x'}-{i:02d}", "text": f"Text {i} says {('nay', 'aye')[i % 2]} {length}.",
         "label": i % 2, "subset": "", "length": length, "document": "", "fold": i // 2 % 5}
        for length in lengths for i in range(count)
    ]  # fmt: skip
    return pd.DataFrame(rows).astype({"length": "Int64", "label": "Int64"})


class Store:
    """Pass files as the engine writes them, with made-up statistics drawn from the text id."""

    def __init__(self, folder: Path, model: str, benchmark: pd.DataFrame) -> None:
        self.folder, self.model, self.benchmark = folder, model, benchmark
        self.manifest: dict[str, Any] = {
            "study": "test", "model": model, "benchmark": "made_up", "vocabulary": VOCABULARY, "views": []
        }  # fmt: skip

    def row(self, id: str, companion: str = "", variant: int = 0) -> dict[str, Any]:
        rng = np.random.default_rng([*id.encode(), *self.model.encode(), *companion.encode(), variant])
        n = int(rng.integers(5, 12))
        return {
            "text_id": id, "variant": variant, "token_ids": rng.integers(VOCABULARY, size=n).tolist(),
            "logprobs": (-rng.exponential(3, n)).tolist(), "entropies": rng.gamma(2, 1, n).tolist(),
            "variances": rng.gamma(3, 1, n).tolist(), "n_tokens": n, "truncated": False,
            "shots_used": None, "skipped": None,
        }  # fmt: skip

    def add(self, *, companion: str = "", start_token: str = "none", view: str = "original",
            changes: dict[str, dict[str, Any]] | None = None, variants: int = 1, prefix: str = "",
            draw: int | None = None, shots: int | None = None, inner_start: bool = False) -> "Store":  # fmt: skip
        """A pass over every cell of the benchmark; `changes` overwrites columns by text id."""
        beside = companion or (f"{prefix} {draw} {shots}" if prefix else "")
        full = not beside
        for length, texts in self.benchmark.groupby("length", dropna=False):
            at = None if pd.isna(length) else int(length)
            rows = [
                self.row(id, beside, variant) | {"shots_used": shots} | (changes or {}).get(id, {})
                for id in texts["text_id"] for variant in reversed(range(variants))
            ]  # fmt: skip
            file = f"{self.model}-{view}-{beside}-{start_token.strip('<|>')}-{at}.parquet"
            write_parquet(self.folder / file, _table([row for row in rows if "absent" not in row], full))
            self.manifest["views"].append({
                "view": view, "companion": companion, "prefix": prefix, "draw": draw, "shots": shots,
                "start_token": start_token, "inner_start": inner_start, "subset": "", "length": at,
                "statistics": "full" if full else "logprobs", "file": file,
                "sha256": sha256_file(self.folder / file),
            })  # fmt: skip
        return self


def _table(rows: list[dict[str, Any]], full: bool) -> pa.Table:
    floats = pa.list_(pa.float32())
    types = {"text_id": pa.string(), "variant": pa.int32(), "token_ids": pa.list_(pa.int32()),
             "logprobs": floats, "entropies": floats, "variances": floats, "n_tokens": pa.int32(),
             "truncated": pa.bool_(), "shots_used": pa.int32(), "skipped": pa.string()}  # fmt: skip
    hidden = set() if full else {"entropies", "variances"}
    return pa.table({name: pa.array([None if name in hidden else row[name] for row in rows], type=kind)
                     for name, kind in types.items()})  # fmt: skip


def a_run(*methods: str | dict[str, Any], **changes: Any) -> dict[str, Any]:
    asked = [{"method": one, "parameters": {}} if isinstance(one, str) else one for one in methods]
    return {"model": "tiny", "benchmark": "made_up", "subsets": None, "lengths": None, "start_token": "none",
            "inner_start": False, "views": ["original"], "draws": [0], "corpora": [], "references": [],
            "methods": asked} | changes  # fmt: skip


@pytest.fixture
def benchmark_table() -> pd.DataFrame:
    return made_up_benchmark()


@pytest.fixture
def store(tmp_path: Path, benchmark_table: pd.DataFrame) -> Store:
    return Store(tmp_path, "tiny", benchmark_table).add().add(companion="lowercase")


@pytest.fixture
def log_lines(caplog: pytest.LogCaptureFixture) -> Iterator[pytest.LogCaptureFixture]:
    with caplog.at_level(logging.INFO, logger="pretrace"):
        yield caplog


def score_of(store: Store, *runs: dict[str, Any], **more: Any) -> pd.DataFrame:
    parts = score(list(runs), manifest=store.manifest, store=store.folder, benchmark=store.benchmark, **more)
    return pd.concat(parts, ignore_index=True)


def statistics_of(store: Store, id: str, **more: Any) -> TokenStatistics:
    """What the store holds of a text, in float32 as written."""
    row = store.row(id)
    arrays = {name: np.float32(row[name]).astype(float) for name in ("logprobs", "entropies", "variances")}
    text = store.benchmark.set_index("text_id")["text"][id]
    return TokenStatistics(text=text, token_ids=np.array(row["token_ids"]), **arrays, **more)


def counts_file(path: Path, counts: dict[int, int]) -> Path:
    write_parquet(path, pa.table({"token_id": list(counts), "count": list(counts.values())}))
    return path


def test_every_text_has_a_row_a_method_and_setting_in_the_contracts_columns(store: Store) -> None:
    scores = score_of(store, a_run("loss", "zlib", "min_k", "min_k_pp", "surp", "lowercase", "blind"))
    assert list(scores.columns) == COLUMNS
    assert scores.groupby("method").size().to_dict() == {
        "blind": 20, "loss": 20, "lowercase": 20, "min_k": 200, "min_k_pp": 200, "surp": 4000, "zlib": 20
    }  # fmt: skip
    assert set(scores["unit"]) == {"text"}
    assert set(scores["view"]) == {"original"}
    assert set(scores["start_token"]) == {"none"}
    assert set(scores["reference"]) == {""}
    assert scores["draw"].isna().all()
    assert scores["shots_used"].isna().all()
    assert str(scores["draw"].dtype) == "Int64"
    assert np.isfinite(scores["score"]).all()


def test_each_score_is_the_methods_own_of_the_stored_statistics(store: Store) -> None:
    scores = score_of(store, a_run("zlib", "min_k_pp", {"method": "surp", "parameters": {"eps": 3}}))
    for row in scores.itertuples():
        params = dict(part.split("=") for part in row.setting.split(";") if part)
        typed = {name: int(value) if name == "percentile" else float(value) for name, value in params.items()}
        expected = METHODS[row.method].function(statistics_of(store, row.id), **typed)
        assert row.score == pytest.approx(expected, abs=1e-12)


def test_lowercase_reads_the_companion_pass(store: Store) -> None:
    scores = score_of(store, a_run("lowercase")).set_index("id")["score"]
    for id, value in scores.items():
        lowered = np.mean(np.float32(store.row(id, "lowercase")["logprobs"]).astype(float))
        own = np.mean(np.float32(store.row(id)["logprobs"]).astype(float))
        assert value == pytest.approx(-own / lowered)


def test_ref_has_a_row_for_each_reference_model(store: Store) -> None:
    small = Store(store.folder, "small", store.benchmark).add()
    other = Store(store.folder, "other", store.benchmark).add()
    references = {"small": small.manifest, "other": other.manifest}
    scores = score_of(store, a_run("ref", "loss", references=["small", "other"]), references=references)
    ref = scores[scores["method"] == "ref"].set_index(["reference", "id"])["score"]
    assert len(ref) == 40
    for (reference, id), value in ref.items():
        theirs = np.mean(
            np.float32((small if reference == "small" else other).row(id)["logprobs"]).astype(float)
        )
        assert value == pytest.approx(np.mean(np.float32(store.row(id)["logprobs"]).astype(float)) - theirs)
    assert set(scores[scores["method"] == "loss"]["reference"]) == {""}


def test_dc_pdd_has_a_row_for_each_corpus_with_its_smoothed_frequencies(store: Store, tmp_path: Path) -> None:
    counted = {"web": {0: 5, 3: 2}, "books": {7: 100}}
    counts = {corpus: counts_file(tmp_path / f"{corpus}.parquet", found) for corpus, found in counted.items()}
    run = a_run({"method": "dc_pdd", "parameters": {"a": 10}}, corpora=["web", "books"])
    scores = score_of(store, run, counts=counts).set_index(["reference", "id"])["score"]
    assert len(scores) == 40
    for (corpus, id), value in scores.items():
        found = counted[corpus]
        text, seen, alphas = statistics_of(store, id), set(), []
        for token, logprob in zip(text.token_ids.tolist(), text.logprobs, strict=True):
            q = (found.get(token, 0) + 1) / (sum(found.values()) + VOCABULARY)
            if token not in seen:
                alphas.append(min(10, -np.exp(logprob) * np.log(q)))
            seen.add(token)
        assert value == pytest.approx(np.mean(alphas))


def test_overlapping_runs_give_each_score_once(tmp_path: Path) -> None:
    store = Store(tmp_path, "tiny", made_up_benchmark(lengths=(32, 64))).add()
    narrow = a_run({"method": "min_k", "parameters": {"k": [0.2, 0.25]}}, "loss", lengths=[32])
    scores = score_of(store, narrow, a_run("min_k", "loss"))
    keys = COLUMNS[:-1]
    assert not scores.duplicated(keys).any()
    settings = (
        scores[scores["method"] == "min_k"].groupby(scores["id"].str[:2])["setting"].nunique().to_dict()
    )
    assert settings == {"32": 11, "64": 10}


def test_the_table_does_not_depend_on_the_order_of_runs_methods_or_texts(tmp_path: Path) -> None:
    table = made_up_benchmark(lengths=(32, 64))
    store = Store(tmp_path, "tiny", table).add().add(companion="lowercase")
    runs = [a_run("loss", "surp", lengths=[64]), a_run("zlib", "lowercase", "loss")]
    straight = score_of(store, *runs)
    store.benchmark = table.iloc[::-1].reset_index(drop=True)
    turned = score_of(store, *[run | {"methods": run["methods"][::-1]} for run in runs[::-1]])
    pd.testing.assert_frame_equal(straight, turned)


def test_runs_choose_lengths_and_texts_without_a_length_are_a_cell_too(tmp_path: Path) -> None:
    mixed = Store(tmp_path, "tiny", made_up_benchmark(lengths=(32, 64))).add()
    assert set(score_of(mixed, a_run("loss", "blind", lengths=[64]))["id"].str[:2]) == {"64"}
    whole = Store(tmp_path, "tiny", made_up_benchmark(lengths=(None,))).add()
    assert len(score_of(whole, a_run("loss", "blind"))) == 40


def test_each_start_token_has_its_own_rows(store: Store) -> None:
    store.add(start_token="<|endoftext|>")
    scores = score_of(store, a_run("loss"), a_run("loss", start_token="<|endoftext|>"))
    assert scores.groupby("start_token").size().to_dict() == {"<|endoftext|>": 20, "none": 20}


def test_a_length_that_the_benchmark_lacks_is_an_error(store: Store) -> None:
    with pytest.raises(InputError, match=r"'tiny' on 'made_up'.*no 33 among its lengths.*'32'"):
        score_of(store, a_run("loss", lengths=[33]))


@pytest.mark.parametrize(
    ("method", "changes", "reason"),
    [
        ("ref", {}, "ref: no score of tiny on made_up: the run names no reference model"),
        ("dc_pdd", {}, "dc_pdd: no score of tiny on made_up: the run names no corpus"),
        (
            "ref",
            {"references": ["small"]},
            "ref (small): no score for 20 texts of made_up: missing: log-prob",
        ),
        (
            "dc_pdd",
            {"corpora": ["web"]},
            "dc_pdd (web): no score for 20 texts of made_up: missing: token freq",
        ),
        (
            "zlib",
            {"start_token": "<s>"},
            "zlib: no score for 20 texts of made_up: no pass over view original",
        ),
        ("neighbor", {}, "neighbor: no score of tiny on made_up: the run names no view of neighbours"),
        (
            "neighbor",
            {"neighbours": ["word_swaps-25"]},
            "neighbor (word_swaps-25): no score for 20 texts of made_up: missing: log-probabilities of the te",
        ),
        ("recall", {}, "recall: no score of tiny on made_up: no prefixes are drawn from the benchmark"),
        ("prefix_similarity", {}, "prefix_similarity: no score of tiny on made_up: no prefixes are drawn"),
    ],
)
def test_a_method_without_its_needs_has_no_row_and_one_line_in_the_log(
    store: Store, log_lines: pytest.LogCaptureFixture, method: str, changes: dict[str, Any], reason: str
) -> None:
    scores = score_of(store, a_run(method, **changes), a_run("loss"))
    assert set(scores["method"]) == {"loss"}
    assert log_lines.text.count(reason) == 1
    assert log_lines.text.count("no score") == 1


def test_lowercase_has_no_row_without_the_pass_over_the_lower_cased_text(
    tmp_path: Path, benchmark_table: pd.DataFrame, log_lines: pytest.LogCaptureFixture
) -> None:
    store = Store(tmp_path, "tiny", benchmark_table).add()
    assert set(score_of(store, a_run("loss", "lowercase"))["method"]) == {"loss"}
    assert (
        "lowercase: no score for 20 texts of made_up: missing: log-probabilities of the lower"
        in log_lines.text
    )


def test_without_any_row_the_table_still_has_its_columns(store: Store) -> None:
    scores = score_of(store, a_run("ref"))
    assert len(scores) == 0
    assert list(scores.columns) == COLUMNS
    assert scores.dtypes.equals(score_of(store, a_run("loss")).dtypes)


def test_lowercase_has_no_row_where_the_script_has_no_case(
    store: Store, log_lines: pytest.LogCaptureFixture
) -> None:
    assert len(score_of(store, a_run("lowercase"), language="zh")) == 0
    assert "the script of 'zh' has no lower case" in log_lines.text


def test_a_pass_of_log_probabilities_alone_scores_what_needs_no_more(
    tmp_path: Path, benchmark_table: pd.DataFrame, log_lines: pytest.LogCaptureFixture
) -> None:
    store = Store(tmp_path, "tiny", benchmark_table).add()
    for entry in store.manifest["views"]:
        rows = [store.row(id) for id in benchmark_table["text_id"]]
        write_parquet(tmp_path / entry["file"], _table(rows, full=False))
        entry["sha256"] = sha256_file(tmp_path / entry["file"])
    assert set(score_of(store, a_run("loss", "min_k", "min_k_pp", "surp"))["method"]) == {"loss", "min_k"}
    assert "surp: no score for 20 texts of made_up: missing: the entropies" in log_lines.text


def test_texts_without_scored_tokens_are_left_out_and_counted(
    tmp_path: Path, benchmark_table: pd.DataFrame, log_lines: pytest.LogCaptureFixture
) -> None:
    nothing = {name: [] for name in ("token_ids", "logprobs", "entropies", "variances")}
    changes = {
        "32-03": nothing | {"skipped": "one token and no start token"},
        "32-04": nothing | {"skipped": "one token and no start token"},
        "32-05": nothing,
        "32-06": {"absent": True},
    }
    store = Store(tmp_path, "tiny", benchmark_table).add(changes=changes)
    store.add(companion="lowercase", changes={"32-07": nothing | {"skipped": "too long"}})
    scores = score_of(store, a_run("loss", "lowercase", "blind"))
    present = {method: set(ids) for method, ids in scores.groupby("method")["id"]}
    every = set(benchmark_table["text_id"])
    assert present["blind"] == every
    assert every - present["loss"] == set(changes)
    assert every - present["lowercase"] == {*changes, "32-07"}
    assert "loss: no score for 2 texts of made_up: one token and no start token" in log_lines.text
    assert "loss: no score for 1 texts of made_up: no scored token" in log_lines.text
    assert "loss: no score for 1 texts of made_up: no pass over" in log_lines.text
    assert (
        "lowercase: no score for 1 texts of made_up: missing: log-probabilities of the lower"
        in log_lines.text
    )


def test_unlabelled_texts_are_scored(tmp_path: Path, benchmark_table: pd.DataFrame) -> None:
    unlabelled = benchmark_table.assign(label=benchmark_table["label"].where(benchmark_table.index > 3))
    scores = score_of(Store(tmp_path, "tiny", unlabelled).add(), a_run("loss", "blind"))
    assert scores.groupby("method").size().to_dict() == {"blind": 20, "loss": 20}


@pytest.mark.parametrize("value", [float("nan"), float("-inf")])
@pytest.mark.parametrize("column", ["logprobs", "entropies", "variances"])
def test_statistics_that_are_not_finite_are_an_error_that_names_the_text(
    tmp_path: Path, benchmark_table: pd.DataFrame, column: str, value: float
) -> None:
    """Not even surp, whose comparisons would pass over a NaN, scores them."""
    two = {"token_ids": [1, 2], "logprobs": [-1, -2], "entropies": [1, 1], "variances": [1, 1]}
    store = Store(tmp_path, "tiny", benchmark_table).add(changes={"32-05": two | {column: [1.0, value]}})
    with pytest.raises(InputError, match=rf"{column} of text '32-05' that are (nan|-inf)"):
        score_of(store, a_run("surp"))


def test_a_score_that_is_not_finite_names_method_setting_and_text(store: Store) -> None:
    """Perplexity overflows where the mean surprise is absurd."""
    shutil.rmtree(store.folder)
    absurd = {"token_ids": [1, 2], "logprobs": [-1, -9999], "entropies": [1, 1], "variances": [1, 1]}
    store = Store(store.folder, "tiny", store.benchmark).add(changes={"32-05": absurd})
    with pytest.raises(
        InputError, match=r"loss \(setting 'form=perplexity'\): the score of text '32-05' is -inf"
    ):
        score_of(store, a_run({"method": "loss", "parameters": {"form": "perplexity"}}))


def test_a_damaged_pass_file_is_an_error_not_a_score(store: Store) -> None:
    (store.folder / store.manifest["views"][0]["file"]).write_bytes(b"not parquet")
    with pytest.raises(InputError, match="damaged"):
        score_of(store, a_run("loss"))


def mean_logprob(store: Store, id: str, beside: str = "", variant: int = 0) -> float:
    return float(np.mean(np.float32(store.row(id, beside, variant)["logprobs"]).astype(float)))


def test_neighbor_has_a_row_for_each_generator_and_averages_its_first_neighbours(store: Store) -> None:
    store.add(companion="word_swaps-4", variants=4).add(companion="neighbours_by_bert-3", variants=3)
    run = a_run({"method": "neighbor", "parameters": {"neighbours": [2, 25]}},
                neighbours=["word_swaps-4", "neighbours_by_bert-3"])  # fmt: skip
    scores = score_of(store, run).set_index(["reference", "setting", "id"])["score"]
    assert len(scores) == 80
    for view, there in (("word_swaps-4", 4), ("neighbours_by_bert-3", 3)):
        for setting, used in (("neighbours=2", 2), ("", there)):
            for id in store.benchmark["text_id"]:
                theirs = np.mean([mean_logprob(store, id, view, variant) for variant in range(used)])
                assert scores[view, setting, id] == pytest.approx(mean_logprob(store, id) - theirs)


def test_neighbor_leaves_out_skipped_neighbours_and_texts_without_any(
    store: Store, log_lines: pytest.LogCaptureFixture
) -> None:
    nothing = {"token_ids": [], "logprobs": [], "skipped": "no tokens"}
    store.add(companion="word_swaps-2", variants=2, changes={"32-03": nothing, "32-04": {"absent": True}})
    scores = score_of(store, a_run("neighbor", neighbours=["word_swaps-2"]))
    assert set(store.benchmark["text_id"]) - set(scores["id"]) == {"32-03", "32-04"}
    assert "neighbor (word_swaps-2): no score for 2 texts of made_up: missing: log-prob" in log_lines.text


def drawn(benchmark: pd.DataFrame, *, pool: int = 3, draws: int = 2) -> pd.DataFrame:
    return draw_prefixes(benchmark, pool=pool, draws=draws, seed=0)


def with_prefixes(store: Store, *, draws: tuple[int, ...] = (0,), shots: tuple[int, ...] = (7,)) -> Store:
    for draw in draws:
        for count in shots:
            for prefix in ("nonmember", "member"):
                store.add(prefix=prefix, draw=draw, shots=count)
    return store


def test_prefix_methods_read_the_pass_of_their_draw_and_shots(store: Store) -> None:
    with_prefixes(store, draws=(0, 1), shots=(2, 7))
    run = a_run({"method": "recall", "parameters": {"shots": [2, 7]}},
                {"method": "con_recall", "parameters": {"shots": 2, "gamma": [0.3, 1]}}, draws=[0, 1])  # fmt: skip
    scores = score_of(store, run, prefixes=drawn(store.benchmark))
    assert list(scores.columns) == COLUMNS
    assert not scores.duplicated(COLUMNS[:-2]).any()
    assert scores.groupby(["method", "setting", "draw"]).size().to_dict() == {
        (method, setting, draw): 20
        for method, setting in [
            ("con_recall", "gamma=0.3;shots=2"), ("con_recall", "gamma=1;shots=2"),
            ("recall", "shots=2"), ("recall", "shots=7"),
        ] for draw in (0, 1)
    }  # fmt: skip
    for row in scores.itertuples():
        params = dict(part.split("=") for part in row.setting.split(";"))
        assert row.shots_used == int(params["shots"])
        passes = [f"{kind} {row.draw} {params['shots']}" for kind in ("nonmember", "member")]
        given = [mean_logprob(store, row.id, name) for name in passes]
        gamma = float(params.get("gamma", 0))
        assert row.score == pytest.approx((given[0] - gamma * given[1]) / mean_logprob(store, row.id))


def test_methods_without_a_prefix_have_no_draw(store: Store) -> None:
    scores = score_of(with_prefixes(store), a_run("loss", "recall"), prefixes=drawn(store.benchmark))
    assert scores[scores["method"] == "loss"]["draw"].isna().all()
    assert scores[scores["method"] == "loss"]["shots_used"].isna().all()
    assert set(scores[scores["method"] == "recall"]["draw"]) == {0}


def test_shots_used_is_that_of_the_shorter_prefix_and_without_a_shot_there_is_no_score(
    store: Store, log_lines: pytest.LogCaptureFixture
) -> None:
    store.add(prefix="nonmember", draw=0, shots=7, changes={"32-03": {"shots_used": 5}})
    store.add(prefix="member", draw=0, shots=7,
              changes={"32-03": {"shots_used": 6}, "32-04": {"shots_used": 4}, "32-05": {"shots_used": 0}})  # fmt: skip
    scores = score_of(store, a_run("recall", "con_recall"), prefixes=drawn(store.benchmark))
    used = scores[scores["setting"].isin(["shots=7", "gamma=0.5;shots=7"])].set_index(["method", "id"])[
        "shots_used"
    ]
    assert [used["recall", f"32-0{i}"] for i in (3, 4, 5)] == [5, 7, 7]
    assert [used["con_recall", f"32-0{i}"] for i in (2, 3, 4)] == [7, 5, 4]
    assert ("con_recall", "32-05") not in used.index
    assert "con_recall: no score for 1 texts of made_up: no shot of its prefix fits" in log_lines.text


def test_zero_access_takes_the_models_own_shots_for_the_members(store: Store) -> None:
    store.add(prefix="nonmember", draw=0, shots=7).add(prefix="zero_access", draw=0, shots=7)
    entry = {"method": "con_recall", "parameters": {"access": "zero", "gamma": 0.5}}
    scores = score_of(store, a_run(entry), prefixes=drawn(store.benchmark)).set_index("id")
    assert set(scores["setting"]) == {"gamma=0.5;shots=7;access=zero"}
    for id, value in scores["score"].items():
        contrast = mean_logprob(store, id, "nonmember 0 7") - 0.5 * mean_logprob(store, id, "zero_access 0 7")
        assert value == pytest.approx(contrast / mean_logprob(store, id))


def test_inner_start_reads_its_own_prefix_passes_and_runs_must_agree_on_it(store: Store) -> None:
    store.add(prefix="nonmember", draw=0, shots=7, inner_start=True)
    prefixes = drawn(store.benchmark)
    assert len(score_of(store, a_run("recall", inner_start=True), prefixes=prefixes)) == 20
    assert len(score_of(store, a_run("recall"), prefixes=prefixes)) == 0
    with pytest.raises(InputError, match="differ in inner_start"):
        score_of(store, a_run("loss"), a_run("recall", inner_start=True), prefixes=prefixes)


def test_prefix_similarity_ranks_by_likeness_to_the_shots_of_its_draw(store: Store) -> None:
    """Members say aye and non-members nay, so the control tells them apart without a model."""
    run = a_run({"method": "prefix_similarity", "parameters": {"shots": 2}}, draws=[0, 1])
    scores = score_of(store, run, prefixes=drawn(store.benchmark))
    assert set(scores["setting"]) == {"shots=2"}
    assert set(scores["shots_used"]) == {2}
    labels = store.benchmark.set_index("text_id")["label"]
    for _, of_draw in scores.groupby("draw"):
        member = of_draw["id"].map(labels).eq(1)
        assert of_draw.loc[member, "score"].min() > of_draw.loc[~member, "score"].max()
    first, second = (of_draw.set_index("id")["score"] for _, of_draw in scores.groupby("draw"))
    assert not np.allclose(first, second[first.index])


def test_zlib_and_blind_read_the_texts_as_the_view_has_them(store: Store) -> None:
    store.add(view="delete-20").add(view="paraphrase", changes={"32-03": {"absent": True}})
    texts = store.benchmark.set_index("text_id")["text"]
    stored = {id: [f"{text} indeed so"] for id, text in texts.items() if id != "32-03"}
    run = a_run("zlib", "blind", views=["original", "delete-20", "paraphrase"])
    scores = score_of(store, run, views={"paraphrase": stored}).set_index(["method", "view", "id"])["score"]
    for id, text in texts.items():
        shorter = VIEWS["delete-20"].variants(text, seed_of("delete-20", id))[0]
        assert scores["zlib", "delete-20", id] == pytest.approx(
            mean_logprob(store, id) / len(zlib.compress(shorter.encode()))
        )
    assert scores["zlib", "paraphrase", "32-04"] == pytest.approx(
        mean_logprob(store, "32-04") / len(zlib.compress(stored["32-04"][0].encode()))
    )
    assert scores["blind"].groupby("view").size().to_dict() == {
        "delete-20": 20,
        "original": 20,
        "paraphrase": 19,
    }


def test_a_stored_view_that_is_not_given_is_an_error(store: Store) -> None:
    with pytest.raises(InputError, match="'paraphrase' is a stored table, and it is not among"):
        score_of(store.add(view="paraphrase"), a_run("zlib", views=["paraphrase"]))
