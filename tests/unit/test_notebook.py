"""Scores and results from Python, and the notebook of docs/notebook.md."""

import contextlib
import io
import json
import re
import subprocess
import sys
import zlib
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
import torch
from made_up_jobs import TEXTS, benchmark_of, expected_statistics, target_of
from made_up_studies import CONFIG, ROOT

import pretrace
from pretrace.evaluation.evaluate import evaluate
from pretrace.evaluation.scores import evaluation_sets, scores_of
from pretrace.methods import METHODS, Inputs
from pretrace.methods import score as scores_table
from pretrace.models.checkpoint import register_local
from pretrace.passes import job
from pretrace.passes.index import PassIndex
from pretrace.runtime import logs
from pretrace.runtime.errors import InputError
from pretrace.runtime.files import write_json, write_parquet
from pretrace.studies import Plan, load_study
from pretrace.views.readings import PassRequest
from tiny_models import tiny_model

GUIDE = (ROOT / "docs" / "notebook.md").read_text(encoding="utf-8")
PAIR = "smollm2-135m", "sotu"


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """A working directory with a tiny model, as a folder and in place of SmolLM2-135M's
    checkpoint.

    Scores are compared with those of float32, which `score` takes on a CPU and not on a
    GPU.
    """
    monkeypatch.setattr(torch.cuda, "is_available", lambda: False)
    monkeypatch.chdir(tmp_path)
    tiny_model("gpt_neox", tmp_path / "tiny")
    register_local(
        tmp_path / "tiny", tmp_path / "results/models/smollm2-135m/checkpoint.json"
    )
    return tmp_path


@pytest.fixture
def embedded(folder):
    """The embedded study as finished, with made-up texts of `sotu`: by the calls of the
    scripts of its rules."""
    plan = Plan(load_study(CONFIG, ROOT / "config"))
    pair = plan.pair(*PAIR)
    texts = [f"{TEXTS[number % 6]} {number}" for number in range(40)]
    benchmark = benchmark_of(texts, length=32)
    benchmark["document"] = benchmark["text_id"]
    benchmark["fold"] = benchmark.index // 2 % 5
    target = target_of(Path(pair.model.checkpoint))
    names = {"study": "embedded", "model": PAIR[0], "benchmark": PAIR[1]}
    store = Path("results/passes/store")
    manifest = job.run(
        [PassRequest.from_json(request) for request in pair.pass_requests],
        benchmark=benchmark,
        names=names,
        target=target,
        store=store,
        manifest=Path(pair.passes),
        batch_tokens=256,
        threads=1,
    )
    files = {}
    for need, named in pair.method_inputs.items():
        files[need] = {name: Path(path) for name, path in named.items()}
    counts = pd.DataFrame({"token_id": [9], "count": [3]})
    for path in files["frequencies"].values():
        write_parquet(path, counts)
    passes = PassIndex(manifest, store)
    inputs = Inputs(passes, benchmark, files=files, language="en")
    scores = pd.concat(scores_table(pair.run_parameters, inputs))
    metrics, _ = evaluate(
        scores_of([scores], benchmark),
        benchmark,
        study="embedded",
        model=PAIR[0],
        benchmark_name=PAIR[1],
        resamples=100,
        evaluation_sets=evaluation_sets(benchmark, None),
        pooled=False,
    )
    write_parquet(pair.benchmark.table, benchmark)
    write_parquet(pair.scores, scores)
    write_parquet(pair.stage_file("metrics"), metrics)
    is_shown = (metrics["metric"] == "auc") & (metrics["selection"] == "default")
    table = Path("results/embedded/tables/results_auc.csv")
    table.parent.mkdir(parents=True)
    named = metrics[is_shown].assign(model=PAIR[0], benchmark=PAIR[1])
    named.to_csv(table, index=False)
    write_json("results/embedded/provenance.json", {"config": CONFIG})
    return benchmark, target


def test_scores_are_those_of_one_text_at_a_time_in_the_order_of_the_texts(folder):
    texts = pd.Series([TEXTS[5], TEXTS[0], TEXTS[1]], index=["b", "a", "c"])
    methods = ["loss", "zlib", "min_k_pp", {"min_k": {"k": 0.5}}, {"min_k": {"k": 1.0}}]
    shown = pretrace.score(texts, model="tiny", methods=methods)
    assert [*shown.columns] == [
        "loss",
        "zlib",
        "min_k_pp",
        "min_k(k=0.5)",
        "min_k(k=1)",
    ]
    assert [*shown.index] == ["b", "a", "c"]
    target = target_of(folder / "results/models/smollm2-135m/checkpoint.json")
    model = target.load()
    for name, text in texts.items():
        logprobs, entropies, variances, *_ = expected_statistics(
            model, (), target.tokenizer.encode(text)
        )
        z = np.sort((logprobs + entropies) / np.sqrt(variances))
        min_k_pp = z[: max(1, len(z) // 5)].mean()
        min_half = np.sort(logprobs)[: len(logprobs) // 2].mean()
        loss = logprobs.mean()
        per_byte = loss / len(zlib.compress(text.encode()))
        expected = [loss, per_byte, min_k_pp, min_half, loss]
        assert shown.loc[name].tolist() == pytest.approx(expected, abs=1e-4)


def test_texts_that_are_cut_are_warned_of(folder, warnings):
    pretrace.score(
        ["A number of tokens " * 60, "A number"], model="tiny", methods=["loss"]
    )
    assert (
        warnings() == "score: 1 texts are longer than the model's context and were cut"
    )


def test_a_store_keeps_the_passes_for_a_second_call(folder):
    first = pretrace.score(TEXTS[:2], model="tiny", methods=["loss"], store="kept")
    written = {path: path.stat().st_mtime_ns for path in Path("kept").iterdir()}
    second = pretrace.score(
        TEXTS[:2], model="tiny", methods=["loss", "surp"], store="kept"
    )
    assert written == {path: path.stat().st_mtime_ns for path in Path("kept").iterdir()}
    assert second["loss"].tolist() == first["loss"].tolist()


def test_every_method_that_needs_nothing_more_is_the_default_and_the_guide_names_the_others(
    folder,
):
    labelled = {"labels": [0, 1] * 20}
    texts = [f"{TEXTS[number % 6]} {number}" for number in range(40)]
    shown = pretrace.score(
        texts, model="smollm2-135m", start_token="<|endoftext|>", **labelled
    )
    assert {"loss", "surp", "gap_k", "lowercase", "blind"} <= {*shown.columns}
    _, _, needing = GUIDE.partition("## Methods that need more")
    assert {name for name in METHODS if f"`{name}`" in needing} == METHODS.keys() - {
        *shown.columns
    } | {"blind"}


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"methods": ["lss"]}, "unknown method 'lss': did you mean 'loss'"),
        ({"methods": ["dc_pdd"]},
         r"dc_pdd needs more .* names no corpus; in a study, add corpora: \[CORPUS\] to"),
        ({"methods": ["recall"]},
         "recall needs more than the texts: no prefixes are drawn"),
        ({"methods": ["ref"]}, "no reference model"),
        ({"methods": ["blind"]}, "no text has a label; give labels"),
        ({"methods": ["unigram"]}, "training stream"),
        ({"methods": ["de_cop"]}, "de_cop asks questions"),
        ({"methods": [{"min_k": {"q": 1}}]}, "no parameter 'q'"),
        ({"methods": [{"min_k": {"k": [0.1, 0.2]}}]},
         "one value for each parameter of min_k"),
        ({"model": "smol"}, "'smol' is not a folder in .*did you mean 'smollm2-135m'"),
        ({"model": "pythia-70m"},
         "pythia-70m/checkpoint.json is not there yet: snakemake"),
        ({"texts": ["A"]},
         r"texts\[0\] has no score of loss .*one token and no start token"),
        ({"texts": "A text"}, "one string; give a list of texts"),
        ({"texts": b"A text"}, "one string; give a list of texts"),
        ({"texts": {"a": "A text"}},
         "texts is a dict; give a list, an array, a generator or a Series"),
        ({"texts": None}, "texts is a NoneType; give a list"),
        ({"texts": pd.DataFrame({"text": TEXTS[:2]})},
         r"is a DataFrame; give one of its columns"),
        ({"texts": []}, "holds no rows"),
        ({"texts": [TEXTS[0], None]}, r"texts\[1\]: text is empty; it must be a text"),
        ({"texts": pd.Series([TEXTS[0], np.nan], ["a", "b"])},
         r"texts\['b'\]: text is empty"),
        ({"texts": pd.Series([TEXTS[0], pd.NA], dtype="string")},
         r"texts\[1\]: text is empty"),
        ({"texts": np.array([[TEXTS[0]], [TEXTS[1]]])}, r"texts\[0\]: text is \['"),
        ({"texts": np.array(TEXTS[0])}, "texts is an array without a dimension"),
        ({"texts": np.ma.array(TEXTS[:2], mask=[0, 1])}, r"texts\[1\]: text is empty"),
        ({"methods": []}, "methods names none; give ids of methods"),
        ({"methods": 3}, "methods is a int; give ids of methods"),
        ({"methods": ["loss", 3]}, "methods has 3; give ids of methods"),
        ({"methods": [{"min_k": None}]},
         r"methods has {'min_k': None}; give ids of methods, or {ID: {PARAMETER"),
        ({"model": ""}, "model is empty; give a name"),
        ({"start_token": None}, "start_token is a NoneType; give 'tokenizer'"),
        ({"store": __file__}, "store is .*test_notebook.py, a file; give a folder"),
        ({"store": 3}, "store is a int; give a folder"),
        ({"texts": [TEXTS[0], 3.5]}, r"texts\[1\]: text is 3.5"),
        ({"texts": [b"A text"]}, r"texts\[0\]: text is b'A text'"),
        ({"texts": ["a\ud800b"]}, r"texts\[0\]: text holds half a surrogate pair"),
        ({"texts": ["a\0b"]}, r"texts\[0\]: text holds a NUL character"),
        ({"texts": ["a", "\u200b"]}, r"texts\[1\]: text shows nothing"),
        ({"labels": [1]}, "2 texts and 1 labels"),
        ({"labels": 1}, "labels is a int; give a list"),
        ({"labels": [1, 2]}, r"texts\[1\]: label is 2; it must be 1 \(member\)"),
        ({"texts": pd.Series(TEXTS[:2]), "labels": pd.Series([1, 0], index=[1, 0])},
         "labels has another index"),
        ({"model": 7}, "model is a int; give a name"),
    ],
)  # fmt: skip
def test_what_cannot_be_scored_is_refused_with_what_to_do(folder, changes, message):
    given = {"texts": TEXTS[:2], "model": "tiny", "methods": ["loss"]} | changes
    with pytest.raises(InputError, match=message):
        pretrace.score(given.pop("texts"), **given)


def test_methods_come_in_a_list_or_by_their_names_with_their_parameters(folder):
    parameters = {"min_k": {"k": 0.1}, "loss": {}}
    expected = pretrace.score(
        TEXTS[:3], model="tiny", methods=[{"min_k": {"k": 0.1}}, "loss"]
    )
    for methods in (parameters, [parameters]):
        assert pretrace.score(TEXTS[:3], model="tiny", methods=methods).equals(expected)


def test_texts_come_in_any_list_with_labels_as_pandas_has_them_and_a_model_by_its_path(
    folder,
):
    expected = pretrace.score(TEXTS[:3], model="tiny", methods=["loss"])
    as_given = [
        (list, [1, 0, np.nan]),
        (tuple, pd.Series([1, 0, pd.NA], dtype="Int64")),
        (iter, ["1", "0", None]),
        (np.array, np.array([1, 0, 1])),
        (pd.Series, [True, False, None]),
        (pd.Index, np.array([1, 0, 1]) == 1),
        (list, pd.Series([True, False, pd.NA], dtype="boolean")),
    ]
    for given, labels in as_given:
        shown = pretrace.score(
            given(TEXTS[:3]), model=Path("tiny"), methods=["loss"], labels=labels
        )
        assert shown["loss"].tolist() == expected["loss"].tolist(), given


def test_a_long_list_says_how_far_it_is_and_a_table_of_scores_what_it_is_of(
    folder, monkeypatch, capsys
):
    shown = pretrace.score(TEXTS[:2], model="tiny", methods=["loss"])
    assert capsys.readouterr().err == ""
    record = register_local(folder / "tiny", folder / "again.json")
    assert shown.attrs == {
        "model": "tiny",
        "checkpoint": f"{record.source}, sha256:{record.digest}",
        "dtype": "float32",
        "device": "cpu",
    }
    monkeypatch.setattr(logs, "EVERY", 0.0)
    pretrace.score(TEXTS[:2], model="tiny", methods=["loss"])
    assert "2 of 2 texts" in capsys.readouterr().err


@pytest.mark.parametrize(("count", "columns"), [(40, ["loss", "blind"]), (3, ["loss"])])
def test_labels_add_the_bag_of_words_where_there_is_enough_to_learn_from(
    folder, warnings, count, columns
):
    texts = [f"{TEXTS[number % 6]} {number}" for number in range(count)]
    labels = [number % 2 for number in range(count)]
    shown = pretrace.score(texts, model="tiny", methods=["loss"], labels=labels)
    assert [*shown.columns] == columns
    assert ("no column blind" in warnings()) == (columns == ["loss"])


def test_a_finished_study_is_one_line_and_gives_its_tables_and_one_row_of_a_method(
    embedded,
):
    study = pretrace.load("embedded")
    assert (
        repr(study)
        == f"<pretrace study 'embedded': {len(study.pairs)} models on benchmarks, "
        f"listed by .pairs>"
    )
    metrics = study.metrics(*PAIR).query("metric == 'auc' and selection == 'default'")
    assert (
        len(metrics.query("method == 'min_k'"))
        == len(metrics.query("method == 'min_k;window=3'"))
        == 1
    )
    shown = study.table("results_auc").query("method == 'loss'")
    assert (
        shown["value"].tolist() == metrics.query("method == 'loss'")["value"].tolist()
    )
    Path("results/embedded/tables/results_auc.csv").unlink()
    with pytest.raises(
        InputError, match=r"results_auc\.csv is not there: snakemake --cores all"
    ):
        study.table("results_auc")
    with pytest.raises(
        InputError,
        match="has no table or figure 'result_auc': did you mean 'results_auc'",
    ):
        study.table("result_auc")


def test_a_finished_study_gives_its_scores_labels_lengths_and_tokens(embedded):
    benchmark, target = embedded
    study = pretrace.load("embedded")
    scores = study.scores(*PAIR).query("method == 'loss'")
    assert PAIR in study.pairs
    assert dict(zip(scores["id"], scores["label"], strict=True)) == dict(
        zip(benchmark["text_id"], benchmark["label"], strict=True)
    )
    assert set(scores["length"]) == {32}
    tokens = study.tokens(*PAIR).set_index("text_id")
    means = tokens["logprobs"].map(np.mean)
    assert scores["score"].tolist() == pytest.approx(
        means[scores["id"]].tolist(), abs=1e-6
    )
    first = benchmark["text"].iloc[0]
    start = target.tokenizer.convert_tokens_to_ids("<|endoftext|>")
    ids = target.tokenizer.encode(first)
    with torch.no_grad():
        expected = expected_statistics(target.load(), (start,), ids)
    assert tokens["logprobs"].iloc[0] == pytest.approx(expected[0], abs=1e-4)
    with pytest.raises(
        InputError, match=r"no pass with .*its passes: .*original, start token"
    ):
        study.tokens(*PAIR, altered="none")
    with pytest.raises(
        InputError,
        match=r"smollm2-135m on sot is no run of embedded; .*smollm2-135m on sotu",
    ):
        study.scores(PAIR[0], "sot")


def test_a_finished_study_gives_the_original_texts_and_none_twice(embedded):
    benchmark, target = embedded
    study = pretrace.load("embedded")
    pair = study.plan.pair(*PAIR)
    expected = {
        call: getattr(study, call)(*PAIR) for call in ("scores", "metrics", "tokens")
    }
    plain = next(row for row in pair.pass_requests if not row["altered"])

    def read_again(**changes):
        """Add passes, scores and metrics of another view or start token."""
        requests = [*pair.pass_requests, plain | changes]
        job.run(
            [PassRequest.from_json(request) for request in requests],
            benchmark=benchmark,
            names={"study": "embedded", "model": PAIR[0], "benchmark": PAIR[1]},
            target=target,
            store=Path("results/passes/store"),
            manifest=Path(pair.passes),
            batch_tokens=256,
            threads=1,
        )
        for file in (pair.scores, pair.stage_file("metrics")):
            table = pd.read_parquet(file)
            write_parquet(file, pd.concat([table, table.assign(**changes)]))

    read_again(view="delete-10")
    for call, table in expected.items():
        pd.testing.assert_frame_equal(
            getattr(study, call)(*PAIR), table, check_dtype=False
        )
        views = getattr(study, call)(*PAIR, view="delete-10")["view"]
        assert {*views} == {"delete-10"}
    read_again(start_token="none")
    for call in ("scores", "tokens"):
        with pytest.raises(InputError, match="more than once, by start_token; name"):
            getattr(study, call)(*PAIR)
        once = getattr(study, call)(*PAIR, start_token="<|endoftext|>")
        pd.testing.assert_frame_equal(once, expected[call], check_dtype=False)
    with pytest.raises(InputError, match="no column 'lenght': did you mean 'length'"):
        study.metrics(*PAIR, lenght=32)
    with pytest.raises(InputError, match="no row has method='los'; there are blind, "):
        study.scores(*PAIR, method="los")


def test_a_study_that_has_not_finished_is_named_with_those_that_have(embedded):
    Path("results/mine").mkdir()
    for name, state in (("mine", "has not finished"), ("none", "is not there")):
        with pytest.raises(InputError, match=f"'{name}' {state} .*which has embedded"):
            pretrace.load(name)


@pytest.mark.parametrize("record", [[], {}, {"config": None}, "{"])
def test_a_damaged_record_of_a_study_is_named_and_does_not_narrow_a_plan(
    embedded, record
):
    table = "results/embedded/tables/results_auc.csv"
    plan = pretrace.load("embedded").plan
    path = Path("results/embedded/provenance.json")
    path.write_text(record if isinstance(record, str) else json.dumps(record))
    with pytest.raises(
        InputError,
        match=r"embedded/provenance\.json is (damaged\. Delete|not valid JSON)",
    ):
        pretrace.load("embedded")
    assert plan.artifacts_at([table]) == []
    path.unlink()
    assert plan.artifacts_at([table]) == ["results_auc"]


def run_blocks(document):
    """Run the blocks of a document, or the cells of a notebook, in one namespace, as
    Jupyter does; (what was printed, what the document says) where it does."""
    text = (ROOT / document).read_text(encoding="utf-8")
    if document.endswith(".ipynb"):
        blocks = []
        for cell in json.loads(text)["cells"]:
            if cell["cell_type"] == "code":
                blocks.append(("python", "".join(cell["source"])))
                blocks.append(("text", "".join(cell["outputs"][0]["text"])))
    else:
        blocks = re.findall(
            r"^```(python|text)\n(.*?)^```$", text, re.MULTILINE | re.DOTALL
        )
    namespace = {}
    printed = ""
    for language, content in blocks:
        if language == "python":
            with contextlib.redirect_stdout(io.StringIO()) as shown:
                exec(compile(content, document, "exec"), namespace)
            printed = shown.getvalue()
        else:
            yield printed, content


NUMBER = re.compile(r"-?\d+\.\d+")
DOCUMENTS = {"docs/notebook.md": 6, "docs/notebook.ipynb": 4, "results/README.md": 0}


@pytest.mark.parametrize("document", DOCUMENTS)
def test_every_block_of_the_documents_runs_on_a_study_with_made_up_texts(
    document, embedded
):
    shown = [*run_blocks(document)]
    assert len(shown) == DOCUMENTS[document]
    for printed, said in shown:
        assert NUMBER.sub("#", printed).split() == NUMBER.sub("#", said).split()
    if shown:
        check_recipes([printed for printed, _ in shown])


def check_recipes(printed):
    """Check that Loss by hand, from scores and from tokens, is what the study's table
    has."""
    *_, by_scores, table, by_tokens, _ = printed
    (shown,) = re.findall(r"loss +(\S+)", table)
    assert float(by_scores) == float(by_tokens)
    assert float(by_scores) == pytest.approx(float(shown), abs=0.0051)


@pytest.mark.skipif(
    not (ROOT / "results/embedded/provenance.json").is_file(),
    reason="the embedded study has not run here",
)
@pytest.mark.parametrize("document", ["docs/notebook.md", "docs/notebook.ipynb"])
def test_the_guide_prints_what_it_says_after_the_embedded_study(document, monkeypatch):
    """Within what machines and types of numbers change."""
    monkeypatch.chdir(ROOT)
    shown = [*run_blocks(document)]
    for printed, said in shown:
        values = [
            [float(value) for value in NUMBER.findall(text)] for text in (printed, said)
        ]
        assert values[0] == pytest.approx(values[1], abs=0.1)
    check_recipes([printed for printed, _ in shown])


def test_the_package_is_imported_without_any_library():
    heavy = (
        "import sys, pretrace; print({'numpy', 'pandas', 'pydantic', 'torch'} & "
        "{*sys.modules})"
    )
    done = subprocess.run(
        [sys.executable, "-c", heavy], capture_output=True, text=True, check=True
    )
    assert done.stdout.strip() == "set()"
