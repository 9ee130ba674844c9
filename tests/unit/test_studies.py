"""A study file is checked before any job: every message says what is wrong, where, and what would be right."""

import json
import re
from itertools import pairwise, product
from pathlib import Path

import pytest
from made_up_studies import CONFIG, ROOT, RUN, load_written, study
from made_up_studies import checkpoint as made_up_checkpoint

from pretrace.methods import METHODS
from pretrace.runtime.errors import InputError
from pretrace.studies import Plan, load_study
from pretrace.studies.keys import SHARED_FOLDERS
from pretrace.studies.user_files import CHECKED, check_user_files

BOMB = "study: &a [x,x,x,x,x,x,x,x,x,x]\n" + "".join(
    f"{name}: &{name} [{','.join([f'*{before}'] * 10)}]\n" for before, name in pairwise("abcdefgh")
)
SHOTS = RUN | {"benchmark": "sotu_shots"}
FREE = {"base_url": "http://h/v1", "model": "m", "endpoint": "chat", "price": {"input": 0, "output": 0}}
FAR = {"source": "openai", "api": FREE}


@pytest.fixture
def load(tmp_path):
    return lambda given, **config: load_written(tmp_path, given, **config)


@pytest.fixture
def checkpoint(tmp_path):
    return made_up_checkpoint(tmp_path / "tiny")


@pytest.mark.parametrize("name", sorted(path.stem for path in (ROOT / "config" / "studies").glob("*.yaml")))
def test_what_is_asked_of_each_pair_is_what_a_plain_walk_over_the_runs_finds(name, tmp_path):
    (tmp_path / "texts.jsonl").write_text('{"text": "one", "label": null}\n{"text": "two", "label": 0}\n')
    audited = {"texts": str(tmp_path / "texts.jsonl"), "model": "smollm2-135m"} if name == "audit" else {}
    loaded = load_study(CONFIG | {"study": name} | audited, ROOT / "config")
    assert loaded.artifacts
    assert [pair.slugs for pair in Plan(loaded).pairs] == sorted(
        {(run.model, run.benchmark) for run in loaded.runs}
    )
    for model, benchmark in [pair.slugs for pair in Plan(loaded).pairs]:
        own = [run for run in loaded.runs if (run.model, run.benchmark) == (model, benchmark)]
        assert Plan(loaded).pair(model, benchmark).runs == own
    reading = [run for run in loaded.runs if any(METHODS[one.method].reads_passes for one in run.methods)]
    readers = {(model, run.benchmark) for run in reading for model in (run.model, *run.references)}
    readers |= {(run.model, run.benchmark) for run in loaded.runs if run.extraction}
    assert [pair.slugs for pair in Plan(loaded).reading_pairs] == sorted(readers)


def test_defaults_of_a_run_are_filled_in(load):
    (run,) = load(study(runs=[SHOTS])).runs
    assert (run.start_token, run.views, run.lengths) == ("tokenizer", ["original"], None)
    assert run.draws == [0, *range(3, 9)]
    methods = {item.method for item in run.methods}
    assert {"loss", "zlib", "lowercase", "min_k", "blind"} <= methods
    assert not methods & {"dc_pdd", "ref"}, "without a corpus or a reference model these have no row"


def test_inline_entries_are_named_apart_in_the_shared_stages(load, checkpoint):
    own = {"tiny": {"source": "local", "path": checkpoint}}
    loaded = load(study(models=own, runs=[RUN | {"model": "tiny"}]))
    assert loaded.models.shared["tiny"] == "mine~tiny"
    assert loaded.models.shared["smollm2-135m"] == "smollm2-135m"
    assert Path(loaded.models.entries["tiny"].path).is_dir(), "paths are relative to the study file"


def test_altered_views_are_read_only_where_a_method_needs_them(load):
    runs = [RUN | {"methods": ["loss"]}, RUN | {"methods": ["lowercase"], "lengths": [32]}]
    loaded = load(study(runs=runs))
    assert [item.method for item in loaded.runs[0].methods] == ["loss", "blind"], (
        "a control always stands beside"
    )
    requests = Plan(loaded).pair("smollm2-135m", "sotu").requests
    assert [request.statistics for request in requests if not request.reading.altered] == ["full", "full"]
    lowered = [request for request in requests if request.reading.altered == "lowercase"]
    assert [request.lengths for request in lowered] == [(32,)]
    assert {request.statistics for request in lowered} == {"logprobs"}


def test_a_reference_model_reads_the_benchmark_of_its_run(load, checkpoint):
    models = {"tiny": {"source": "local", "path": checkpoint}}
    loaded = load(study(models=models, runs=[RUN | {"references": ["tiny"], "methods": ["ref"]}]))
    assert [pair.slugs for pair in Plan(loaded).reading_pairs] == [("smollm2-135m", "sotu"), ("tiny", "sotu")]
    (request,) = Plan(loaded).pair("tiny", "sotu").requests
    assert request.statistics == "logprobs"


@pytest.mark.parametrize(
    ("broken", "told"),
    [
        (study(artefacts=[]), ["my_study.yaml", "unknown key 'artefacts'", "did you mean 'artifacts'"]),
        (study(runs=[RUN | {"lenghts": [64]}]), ["runs.0", "'runs.0.lenghts'", "did you mean 'lengths'"]),
        (study(runs=[RUN | {"model": "smollm2-153m"}]), ["runs.0.model", "did you mean 'smollm2-135m'"]),
        (study(runs=[RUN | {"benchmark": "soto"}]), ["runs.0.benchmark", "did you mean 'sotu'"]),
        (study(runs=[RUN | {"corpus": "docstring"}]), ["runs.0.corpora", "did you mean 'docstrings'"]),
        (study(runs=[RUN | {"methods": ["min-k"]}]), ["runs.0.methods.0", "unknown method 'min-k'", "min_k"]),
        (study(runs=[RUN | {"methods": [{"surp": {"epsilon": 1}}]}]), ["methods.0", "epsilon", "mean 'eps'"]),
        (study(runs=[RUN | {"methods": [{"surp": {"eps": "two"}}]}]), ["methods.0", "'eps'", "a number"]),
        (study(runs=[RUN | {"views": ["orignal"]}]), ["runs.0.views", "did you mean 'original'"]),
        (study(runs=[RUN | {"inputs": {"shadow": ["x"]}}]), ["runs.0.inputs", "did you mean 'shadows'"]),
        (study(runs=[RUN | {"inputs": {"reference": ["x"]}}]), ["inputs.reference", "references: [MODEL]"]),
        (study(runs=[RUN | {"lengths": [65]}]), ["runs.0.lengths", "65", "[32]"]),
        (study(runs=[RUN | {"lengths": "64"}]), ["runs.0.lengths", "'64'", "a list is needed"]),
        (study(study="my study"), ["study", "my study", "right form"]),
        (study(study="passes"), ["study", "reserved"]),
        (study(models={"..": {"source": "local", "path": "x"}}), ["models", "'..'"]),
        ({"runs": [RUN]}, ["missing key 'study'"]),
        (study(artifacts=["dc_pdd_tabel2"]), ["dc_pdd_tabel2", "dc_pdd_table"]),
        (
            study(artifacts={"blind_audit": [RUN | {"benchmark": "sotu_temporal"}]}),
            ["artifacts.blind_audit.panels.0", "no run has"],
        ),
        (study(models={"m": {"source": "local"}}), ["models", "m", "missing key 'path'"]),
        (
            study(models={"m": {"source": "local", "path": ".", "api": {}}}),
            ["unknown key 'm.api'", "a key of source 'openai'", "this source is 'local'"],
        ),
        (
            study(benchmarks={"b": {"source": "dataset"}}),
            ["b: missing key 'hub' or 'path', which source dataset needs"],
        ),
        (
            study(models={"m": {"source": "local", "path": "gone"}}),
            ["models.m.path", "gone", "does not exist"],
        ),
        (
            study(models={"m": {"source": "hubb", "path": "."}}),
            ["m.source", "'hubb' is not valid", "mean 'hub'"],
        ),
        (study(models={"smollm2-135m": {"source": "local", "path": "."}}), ["already in", "another slug"]),
        (
            study(benchmarks={"b": {"source": "local", "path": "gone"}}),
            ["benchmarks.b.path", "does not exist"],
        ),
        (
            study(models={"far": FAR}, runs=[RUN | {"references": ["far"]}]),
            ["far gives no log-probabilities of a text's tokens"],
        ),
        (study(runs=[RUN | {"paraphraser": "paraphrase_by_nobody"}]), ["unknown model 'nobody'"]),
        (
            study(models={"m": {"source": "local", "path": ".", "dtype": "float23"}}),
            ["dtype", "mean 'float32'"],
        ),
        ("study: mine\nruns: [", ["my_study.yaml, line", "not valid YAML"]),
        ("study: mine\nstudy: yours\n", ["line 2", "'study' is given twice"]),
        ("", ["nothing", "a mapping of keys is needed"]),
    ],
)
def test_a_mistake_is_named_with_its_place_and_remedy(load, broken, told):
    with pytest.raises(InputError) as error:
        load(broken)
    for words in told:
        assert words in str(error.value)


AT = {"model": "smollm2-135m", "benchmark": "sotu"}
TEXTS = {"texts": {"source": "local", "path": "texts.jsonl"}}
OF_TEXTS = RUN | {"benchmark": "texts"}


def shown(**panel):
    return {"results_auc": [AT | panel]}


@pytest.mark.parametrize(
    ("broken", "told"),
    [
        (study(artifacts=shown(references=["nope"])), "panels.0.references: unknown reference 'nope'"),
        (study(runs=[RUN | {"corpus": "docstrings"}], artifacts=shown(references=["docstring"])), "mean 'docstrings'"),
        (study(artifacts=shown(length=65)), "panels.0.length: no run of smollm2-135m on sotu has 65: valid: 32"),
        (study(artifacts=shown(subset="nope")), "panels.0.subset: no run of smollm2-135m on sotu has 'nope'"),
        (study(artifacts=shown(start_token="<s>")), "panels.0.start_token: no run .* has '<s>': valid: tokenizer"),
        (study(runs=[RUN | {"subsets": ["nope"]}]), "runs.0.subsets: the entry of sotu has no subsets to choose from"),
        (study(benchmarks=TEXTS, runs=[OF_TEXTS | {"subsets": ["nope"]}]), r"texts have no subset 'nope'; .* \['a'\]"),
        (study(benchmarks=TEXTS, runs=[OF_TEXTS | {"lengths": [7]}]), "texts have no length 7; they have no lengths"),
        (study(benchmarks=TEXTS, runs=[OF_TEXTS], artifacts=shown(benchmark="texts", subset="b")), "no subset 'b'"),
        (study(runs=[RUN | {"references": ["smollm2-135m"]}]), "runs.0.references: smollm2-135m is the model of the"),
        (study(models={"m": {"source": "local", "path": "."}}), "models.m.path: .* has no config.json"),
        (study(models={"m": {"source": "local", "path": ""}}), "m.path: '' is not valid: it is empty"),
        (study(models={"m": {"source": "local", "path": "texts.jsonl"}}), "models.m.path: .* has no config.json"),
        (study(models={"m": {"source": "answers", "path": "."}}), "models.m.path: .* is a folder; give a file"),
        (study(benchmarks={"b": {"source": "local", "path": "{x}.jsonl"}}), "has braces, which Snakemake takes"),
        (study(benchmarks={"b": {"source": "local", "path": "x" * 300}}), "b.path: .* characters\\) does not exist"),
        (study(benchmarks={"b": {"source": "local", "path": "x\0"}}), "b.path: .* does not exist"),
        (study(study="smoke\n"), "ends with a line break"),
        (study(study="README.md"), "'README.md' is reserved"),
        (study(study="x" * 300), r"\(302 characters\) is not valid: it has more than 100 characters"),
        (study(study="embedded"), "'embedded' is the study of .*embedded.yaml; choose another name"),
        (f"study: mine\nruns: {'[' * 3000}{']' * 3000}", "line 2: not valid YAML .nested more than 30 levels deep"),
        (BOMB, "its aliases stand for more than 1,000,000 values"),
        ("study: &a [*a]", "the alias .a comes before the end of its anchor"),
        (study(title="x" * 1_000_000), "a text of 1,000,000 characters"),
        (study(runs=[RUN | {"model": "x" * 9000}]), "runs.0.model: unknown model .{60,100}... .9,00. characters"),
        (study(runs=[RUN | {"x" * 900: 1}]), r"unknown key 'runs.0.x{60}... \(900 characters\)'"),
        (study(runs=[RUN | {"methods": [{"gap_k": {"window": [1000000]}}]}]), "must be above 0 and at most 10000"),
        (study(runs=[RUN | {"methods": [{"con_recall": {"gamma": [1e308]}}]}]), "above -100 and at most 100"),
        (study(runs=[RUN | {"methods": ["MIN_K"]}]), "unknown method 'MIN_K': did you mean 'min_k'"),
        (study(runs=[RUN | {"methods": [{5: 1}]}]), "runs.0.methods.0: the key 5 is not text; write a name"),
        ("study: mine\nruns: [{null: 3}]", "runs.0: the key None is not text"),
        (study(models={None: {}}), "models: the key None is not text"),
        (study(models={"m": None}), "models: m: nothing where a mapping is needed"),
        (study(runs=[]), "runs: .. is not valid: it has 0 entries and needs at least 1"),
        (study(minutes=float("inf")), "minutes: inf is not valid: it must be a finite number"),
    ],
)  # fmt: skip
def test_what_could_only_fail_in_a_job_is_refused_in_plain_words(load, tmp_path, monkeypatch, broken, told):
    monkeypatch.delenv(CHECKED, raising=False)
    rows = [{"text": f"a text {label}", "label": label, "subset": "a"} for label in (0, 1)]
    for name in ("texts.jsonl", "{x}.jsonl"):
        (tmp_path / name).write_text("".join(f"{json.dumps(row)}\n" for row in rows))
    with pytest.raises(InputError, match=told) as error:
        check_user_files(Plan(load(broken)))
    assert len(str(error.value)) < 3000, "a screen"


def test_threads_beyond_any_machine_are_refused(load):
    with pytest.raises(InputError, match="threads: 100000 is not valid: it must be at most 1024"):
        load(study(), threads=100_000)


def test_braces_in_a_title_are_a_title(load):
    assert load(study(title="of {model}")).title == "of {model}"


def test_no_study_is_called_as_a_folder_that_studies_share():
    rules = "".join(path.read_text(encoding="utf-8") for path in (ROOT / "workflow" / "rules").glob("*.smk"))
    shared = set(re.findall(r"results/([a-z]+)/", rules))
    assert sorted(shared) == list(SHARED_FOLDERS)


def test_a_study_that_is_no_name_and_no_file_says_what_there_is():
    with pytest.raises(InputError, match="did you mean 'embedded'"):
        load_study(CONFIG | {"study": "embeded"}, ROOT / "config")


@pytest.mark.parametrize(("key", "value"), [("threads", 0), ("device", "gpu"), ("resample", 5)])
def test_run_wide_settings_are_checked(load, key, value):
    with pytest.raises(InputError, match=key):
        load(study(), **{key: value})


def test_yaml_merge_keys_work(load):
    text = "study: mine\nruns:\n  - &first {model: smollm2-135m, benchmark: sotu}\n  - {<<: *first, lengths: [32]}\n"
    assert [run.lengths for run in load(text).runs] == [None, [32]]


def test_more_shots_than_are_drawn_are_refused(load):
    with pytest.raises(InputError, match=r"9 shots are asked for, and prefix.pool of sotu_shots is 7"):
        load(study(runs=[SHOTS | {"methods": [{"recall": {"shots": 9}}]}]))


@pytest.mark.parametrize("name", ["null", "3"])
def test_a_parameter_whose_name_is_no_word_is_refused(load, name):
    run = f"{{model: smollm2-135m, benchmark: sotu, methods: [{{surp: {{{name}: 1}}}}]}}"
    with pytest.raises(InputError, match=r"method .surp. has no parameter .* valid: "):
        load(f"study: mine\nruns: [{run}]\n")


def test_openings_of_no_length_cannot_be_completed(load, tmp_path):
    (tmp_path / "texts.jsonl").write_text('{"input": "a b", "label": 1}\n', encoding="utf-8")
    own = {"mine": {"source": "local", "path": "texts.jsonl", "prefix": {"pool": 7}}}
    run = {"model": "smollm2-135m", "benchmark": "mine", "methods": [{"con_recall": {"access": "zero"}}]}
    with pytest.raises(InputError, match=r"runs.0.methods: access: zero .* give mine lengths"):
        load(study(benchmarks=own, runs=[run]))
    own["mine"]["lengths"] = [2]
    loaded = load(study(benchmarks=own, runs=[run]))
    assert Plan(loaded).pair("smollm2-135m", "mine").completed_lengths == [2]


def test_prefix_passes_are_asked_for_by_kind_and_shots(load):
    runs = [SHOTS | {"lengths": [32], "methods": [{"con_recall": {"shots": [3, 7]}}]}]
    loaded = load(study(runs=runs))
    asked = Plan(loaded).pair("smollm2-135m", "sotu_shots").requests
    shots = [request.reading.shots for request in asked if request.reading.shots]
    prefixed = {(each.prefix.name, each.count, each.draw) for each in shots}
    # the first draw, and the six of the placebos behind three draws in all
    draws = (0, *range(3, 9))
    assert prefixed == set(product(("member", "nonmember"), (3, 7), draws))
    controls = [item for item in loaded.runs[0].methods if item.method == "prefix_similarity"]
    assert [item.parameters for item in controls] == [{"shots": 7}]


def test_unlabelled_texts_are_calibrated_on_a_benchmark_that_the_same_model_reads(load):
    run = RUN | {"calibrate_on": "sotu_temporal", "methods": ["loss"]}
    with pytest.raises(InputError, match=r"runs.0.calibrate_on: no run has smollm2-135m read sotu_temporal"):
        load(study(runs=[run]))
    loaded = load(study(runs=[run, run | {"benchmark": "sotu_temporal"}], artifacts=["audit"]))
    assert Plan(loaded).pair("smollm2-135m", "sotu").calibrates_on == "sotu_temporal"
    assert not Plan(loaded).needs_classes("sotu"), "an audit needs no members"


def test_a_draw_that_is_not_drawn_is_refused(load):
    run = {"model": "smollm2-135m", "benchmark": "sotu_split", "methods": ["recall"]}
    load(study(runs=[run | {"draws": [0, 4]}]))
    with pytest.raises(InputError, match=r"runs.0.draws: draw 5 .* sotu_split has draws 0 to 4"):
        load(study(runs=[run | {"draws": [0, 5]}]))
    load(study(runs=[run | {"draws": [0, 5], "methods": ["loss"]}]))


FURTHER = {
    "from": "smollm2-135m", "benchmark": "sotu_split", "learning_rate": 0.0001, "epochs": 1, "window": 512, "seed": 0,
}  # fmt: skip


@pytest.mark.parametrize(
    ("changes", "told"),
    [
        (
            {"from": "smollm"},
            r"models.more.training.from: unknown model 'smollm': did you mean 'smollm2-135m'",
        ),
        ({"from": "davinci-002"}, r"models.more.training.from: davinci-002 has no weights of its own"),
        ({"from": "more"}, r"models.more.training.from: more has no weights of its own"),
        ({"width": 32}, r"models.more.training.width: a model that is trained further"),
        ({"members": False}, r"models.more.training.members: .* remove this key"),
    ],
)
def test_what_a_model_cannot_be_trained_further_from_or_on_is_named(load, changes, told):
    def written(training):
        more = {"source": "trained", "training": training}
        return study(models={"more": more}, runs=[RUN | {"model": "more"}])

    load(written(FURTHER))
    with pytest.raises(InputError, match=told):
        load(written(FURTHER | changes))


def test_runs_of_the_same_texts_agree_in_inner_start(load):
    run = RUN | {"methods": ["recall"], "benchmark": "sotu_split", "lengths": [32, 64]}
    inner = run | {"inner_start": True}
    with pytest.raises(
        InputError, match=r"runs.1.inner_start: another run of smollm2-135m on sotu.* the same"
    ):
        load(study(runs=[run, inner | {"lengths": [64]}]))
    for other in ({"lengths": [128]}, {"views": ["delete-10"]}, {"start_token": "none"}):
        load(study(runs=[run, inner | other]))
