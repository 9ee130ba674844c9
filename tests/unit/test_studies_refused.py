"""A study file is checked before any job: every message says what is wrong, where, and
what would be right.

Each row is a study file and what is said of it; ` ... ` stands for other words.
"""

import json
import os
import re
from itertools import pairwise

import pytest
from made_up_studies import CONFIG, FREE, ROOT, checkpoint, load_written
from made_up_studies import RUN as AT
from made_up_studies import study as study_of

from pretrace.runtime.errors import InputError
from pretrace.studies import Plan, load_study
from pretrace.studies.user_files import CHECKED, check_user_files

MODELS = {
    "far": {"source": "openai", "api": FREE},
    "chatgpt": {"source": "answers", "path": "answers.csv"},
}
SCORED = {"source": "openai", "api": FREE | {"endpoint": "completions", "echo": True}}
LOCAL = {"source": "local", "path": "texts.jsonl"}
BENCHMARKS = {
    "texts": LOCAL,
    "short": LOCAL | {"prefix": {"pool": 7}},
    "asking": LOCAL | {"question": "book"},
    "brings": LOCAL | {"question": "book",
                       "views": {"paraphrase": "texts.jsonl",
                                 "neighbours-3": "texts.jsonl"}},
    "books": {"source": "answers"},
    "others": {"source": "answers"},
}  # fmt: skip
DELTAS = {"A": 0.1, "B": -0.1, "C": 0.0, "D": 0.0}
SHADOWED = {"model": "pico-en-small-null", "benchmark": "sotu_split",
            "start_token": "<|endoftext|>",
            "methods": ["loss", "rmia"], "shadows": ["pico-en-small"]}  # fmt: skip
FURTHER = {"from": "smollm2-135m", "benchmark": "sotu_split", "learning_rate": 0.0001,
           "epochs": 1, "window": 512,
           "seed": 0}  # fmt: skip
BOMB = "study: &a [x,x,x,x,x,x,x,x,x,x]\n" + "".join(
    f"{name}: &{name} [{','.join([f'*{before}'] * 10)}]\n"
    for before, name in pairwise("abcdefgh")
)


def study(**keys):
    own = {"models": MODELS, "benchmarks": BENCHMARKS}
    return study_of(**keys | {kind: own[kind] | (keys.get(kind) or {}) for kind in own})


def run(*others, **keys):
    return study(runs=[AT | keys, *(AT | keys | other for other in others)])


def text(**keys):
    return run(benchmark="texts", **keys)


def answers(*others, **keys):
    return run(*others, **{"model": "chatgpt", "benchmark": "books"} | keys)


def shadowed(**keys):
    return run(**SHADOWED | keys)


def model(**keys):
    return study(models={"m": keys})


def local(path, **keys):
    return study(benchmarks={"b": {"source": "local", "path": path} | keys})


def further(**keys):
    return study(models={"m": {"source": "trained", "training": FURTHER | keys}})


def shown(slug="results_auc", **keys):
    return study(artifacts={slug: {"panels": [AT]} | keys})


def panel(*written, **keys):
    """A study with a table of one panel; its run has the id `own`."""
    return study(
        runs=[AT | {"id": "own"}], artifacts={"results_auc": [*written] or [AT | keys]}
    )


EMBEDDED = load_study(CONFIG | {"study": "embedded"}, ROOT / "config").models.entries


def registered(slug):
    return EMBEDDED[slug].to_json(defaults=False)


REFUSED = [
    # keys and names
    (study(artefacts=[]),
     "my_study.yaml ... unknown key 'artefacts' ... did you mean 'artifacts'"),
    (run(lenghts=[64]), "unknown key 'runs.0.lenghts' ... did you mean 'lengths'"),
    (run(**{"x" * 900: 1}), f"unknown key 'runs.0.{'x' * 60}... (900 characters)'"),
    (run(model="smollm2-153m"), "runs.0.model ... did you mean 'smollm2-135m'"),
    (run(model="EleutherAI/pythia-6.9b"),
     "runs.0.model: ... that id of the hub has the name 'pythia-6.9b'"),
    (run(model="me/Mine"),
     "add models: {mine: {source: hub, hub: me/Mine}} to the study and name it mine in the run"),
    (run(benchmark="soto"), "runs.0.benchmark ... did you mean 'sotu'"),
    (run(views=["orignal"]), "runs.0.views ... did you mean 'original'"),
    (run(inputs={"reference": ["x"]}),
     "runs.0.inputs.reference ... references: [MODEL]"),
    (run(lengths=[65]), "runs.0.lengths ... 65 ... [32]"),
    (run(lengths="64"), "runs.0.lengths ... '64' ... a list is needed"),
    (run(subsets=["nope"]),
     "runs.0.subsets: the entry of sotu has no subsets to choose from"),
    (text(subsets=["nope"]), "texts have no subset 'nope'; ... ['a']"),
    (run(references=["smollm2-135m"]),
     "runs.0.references: smollm2-135m is the model of the"),
    (run(references=["far"]),
     "runs.0.references: far is behind an API (source: openai) and cannot give "
     "log-probabilities ... without api.echo or api.top40 ... Use a local model"),
    (run(references=["chatgpt"]),
     "chatgpt has only answers ... (source: answers) and cannot give log-probabilities"),
    (run(views=["synonym_by_davinci-002-10"]),
     "views: synonym_by_davinci-002-10: davinci-002 is behind an API ... cannot put words in place of others"),
    (run(views=["paraphrase_by_chatgpt-released"]),
     "chatgpt-released has only answers ... cannot write paraphrases"),
    (run(given_back={}),
     "runs.0.given_back: smollm2-135m runs here ... cannot be asked to go on in a chat. Use extraction"),
    (study(models={"scored": SCORED | {"tokenizer": "davinci-002"}},
           runs=[AT | {"model": "scored", "methods": ["loss"]}]),
     "models.scored.tokenizer: davinci-002 is behind an API ... cannot lend a tokenizer"),
    (run(paraphraser="paraphrase_by_nobody"), "unknown model 'nobody'"),
    (run(calibrate_on="sotu_temporal", methods=["loss"]),
     "calibrate_on: no run has smollm2-135m read sotu_temporal"),
    (study(runs=[]), "runs: [] is not valid: it has 0 entries and needs at least 1"),
    (study(study="my study"), "study ... my study ... right form"),
    ("study: 2024\nruns: [{model: smollm2-135m, benchmark: sotu}]",
     "study: the number 2024 ... Put it in quotes."),
    (study(study="passes"), "study ... reserved"),
    (study(study="Works"), "study ... reserved"),
    (study(study="x" * 300),
     "(302 characters) is not valid: it has more than 100 characters"),
    (study(study="书" * 34),
     "study: ... has 102 bytes in UTF-8; give a name of at most 100"),
    (study(study="embedded"),
     "'embedded' is the study of ... embedded.yaml; choose another name"),
    (study(title="x" * 1_000_000), "a text of 1,000,000 characters"),
    (study(minutes=float("inf")),
     "minutes: inf is not valid: it must be a finite number"),
    (study(first=["results_auk"]),
     "first: unknown artifact 'results_auk': ... results_auc"),
    # YAML
    ({"runs": [AT]}, "missing key 'study'"),
    ("study: mine\nruns: [", "my_study.yaml, line ... not valid YAML"),
    ("study: mine\nstudy: yours\n", "line 2 ... 'study' is given twice"),
    ("study: mine\ntitle: Mine: part two\n",
     "line 2: not valid YAML ... Put a text with a colon in quotes"),
    ("study: mine\nruns:\n\t- model: m\n",
     "line 3: not valid YAML ... Indent by blanks, not tabs"),
    ("", "nothing ... a mapping of keys is needed"),
    (f"study: mine\nruns: {'[' * 3000}{']' * 3000}",
     "line 2: not valid YAML (nested more than 30 levels deep"),
    (BOMB, "its aliases stand for more than 1,000,000 values"),
    ("study: &a [*a]", "the alias *a comes before the end of its anchor"),
    ("study: mine\nruns: [{null: 3}]", "runs.0: the key None is not text"),
    (study(models={"m": None}), "models: m: nothing where a mapping is needed"),
    # methods
    (run(methods=["min-k"]), "runs.0.methods.0: unknown method 'min-k' ... min_k"),
    (run(methods=["perplexity"]),
     "unknown method 'perplexity': write loss: {form: [perplexity]}"),
    (run(methods=[{5: 1}]), "runs.0.methods.0: the key 5 is not text; write a name"),
    (run(methods=[{"surp": {"epsilon": 1}}]),
     "methods.0 ... epsilon ... did you mean 'eps'"),
    (run(methods=[{"surp": {None: 1}}]), "method 'surp' has no parameter ... valid: "),
    (run(methods=["loss", "ref"]),
     "runs.0.methods: ref cannot ... add references: [MODEL] to the run"),
    (run(methods=["neighbor"]),
     "neighbor ... add neighbours: [neighbours_by_MODEL-25] to the run"),
    (text(methods=["loss", "de_cop"]),
     "de_cop cannot be computed: texts asks no questions. ... key question"),
    (run(methods=["lowercase"], benchmark="peoples_daily"),
     "'zh' has no lower case. Leave lowercase out"),
    # shots
    (run(benchmark="sotu_shots", methods=[{"recall": {"shots": 9}}]),
     "9 shots are asked for, and prefix.pool of sotu_shots is 7"),
    (run(benchmark="short", methods=[{"con_recall": {"access": "zero"}}]),
     "runs.0.methods: access: zero ... give short lengths"),
    (run(benchmark="sotu_split", methods=["recall"], draws=[0, 5]),
     "runs.0.draws: draw 5 ... sotu_split has draws 0 to 4"),
    (run({"inner_start": True, "lengths": [64]}, methods=["recall"],
         benchmark="sotu_split", lengths=[32, 64]),
     "runs.1.inner_start: another run of smollm2-135m on sotu ... the same"),
    # shadow models
    (shadowed(shadows=["pico-en-medium"]),
     "runs.0.shadows: pico-en-medium is trained here ... without shadows ... (pico-en-"),
    (shadowed(benchmark="sotu_split-s1"),
     "is trained on sotu_split, and this run is about sotu_split-s1"),
    (shadowed(start_token="none"), "give the run start_token: <|endoftext|>"),
    (model(**registered("pico-en-small-null") | {"shadows": 2}), "training.members"),
    (model(**registered("smollm2-135m") | {"shadows": 2}), "source"),
    # models
    (study(models={"..": {"source": "local", "path": "x"}}), "models ... '..'"),
    (study(models={"smollm2-135m": {"source": "local", "path": "."}}),
     "already in ... another slug"),
    (model(source="local"), "models ... m ... missing key 'path'"),
    (model(source="local", path=".", api={}),
     "unknown key 'm.api' ... of source 'openai' ... this source is 'local'"),
    (model(source="local", path="gone"), "models.m.path ... gone ... does not exist"),
    (model(source="local", path="."), "models.m.path: ... has no config.json"),
    (model(source="local", path=""), "m.path: '' is not valid: it is empty"),
    (model(source="local", path="<v>"),
     "models.m.path: ... <v>: the name has <v>, which Snakemake takes for"),
    (model(source="local", path="odd"),
     "models.m.path: ... odd/{1}.bin: the name has braces, which Snakemake takes"),
    (model(source="answers", path="<x>.jsonl"),
     "models.m.path: ... <x>.jsonl: the name has <x>"),
    (model(source="answers", path="answers.csv", scores="<x>.jsonl"),
     "models.m.scores: ... the name has <x>"),
    (model(source="answers", path="answers.csv", scores="gone"),
     "models.m.scores: ... gone does not exist"),
    (model(source="local", path="tiny", dtype="float23"),
     "dtype ... did you mean 'float32'"),
    (model(source="hubb", path="."),
     "m.source ... 'hubb' is not valid ... did you mean 'hub'"),
    (model(source="openai", api=FREE | {"top40": "prompt_logprobs"}),
     "models: m: api.top40 needs the key 'tokenizer'"),
    (model(source="openai", api=FREE | {"echo": True}),
     "models: m: api.echo needs the key 'tokenizer'"),
    (model(source="openai", api=FREE | {"key_env": "sk-a-key"}),
     "api.key_env: what is given does not have the right"),
    (further(**{"from": "davinci-002"}),
     "models.m.training.from: davinci-002 is behind an API ... cannot be the start ... Name a model"),
    (further(**{"from": "m"}),
     "models.m.training.from: m is trained here ... cannot be the start of a training with training.from"),
    (further(width=32), "models.m.training.width: a model that is trained further"),
    (further(members=False), "models.m.training.members: ... remove this key"),
    # benchmarks and corpora
    (study(benchmarks={"b": {"source": "dataset"}}),
     "b: missing key 'hub' or 'path', which source dataset needs"),
    (local("gone"), "benchmarks.b.path ... does not exist"),
    (local(""), "b.path: '' is not valid"),
    (local("{x}.jsonl"),
     "benchmarks.b.path: ... {x}.jsonl: the name has braces, which Snakemake takes"),
    (local("<x>.jsonl"),
     "benchmarks.b.path: ... <x>.jsonl: the name has <x>, which Snakemake takes"),
    (local("texts.jsonl", known="<x>.jsonl"),
     "benchmarks.b.known: ... the name has <x>"),
    (local("texts.jsonl", known="gone"), "benchmarks.b.known: ... gone does not exist"),
    (local("texts.jsonl", views={"paraphrase": "<x>.jsonl"}),
     "benchmarks.b.views.paraphrase: ... the name has <x>"),
    (local("works"), r"works/caf\udce9.txt: the name is not UTF-8; rename"),
    (local("<v>", source="dataset"), "benchmarks.b.path: ... <v>: the name has <v>"),
    (study(corpora={"c": {"source": "local", "path": "<x>.jsonl"}}),
     "corpora.c.path: ... the name has <x>"),
    (local("x\0"), "b.path: ... does not exist"),
    (local("texts.jsonl", source="dataset"),
     "path: ... texts.jsonl is a file; give a folder"),
    (local("texts.jsonl", language="zz"),
     "b.language: 'zz' is not a language of ISO 639-1"),
    # questions
    (run(benchmark="books"), "runs.0.model: books holds no texts"),
    (answers(benchmark="sotu"),
     "runs.0.benchmark: chatgpt has answers ... sotu asks none"),
    (answers(benchmark="sotu_questions", methods=["loss", "de_cop"]),
     "loss cannot ... gives no log-probabilities"),
    (answers(calibration={"A": 0.1}), "calibration: missing key 'B', 'C', 'D'"),
    (answers(calibrate_on="others"),
     "no run asks chatgpt de_cop's questions on others"),
    (answers({"calibration": DELTAS | {"A": 0.2}}, calibration=DELTAS),
     "runs.1.calibration: another run of chatgpt on books gives a different one"),
    (run(benchmark="sotu_questions", calibration=DELTAS,
         paraphraser="substitution_by_smollm2-135m-20"),
     "runs.0.calibration: smollm2-135m runs here ... cannot take calibration deltas "
     "... Take calibration out ... cross-fitted ... source: answers"),
    (run(benchmark="asking"),
     "runs.0.paraphraser: paraphrase: asking has no such view; give a file"),
    (run(benchmark="brings", neighbours=["neighbours-4"]),
     "neighbours: neighbours-4: brings has no such view"),
    # extraction
    (run({"extraction": {"suffix": 30}}, extraction={}),
     "runs.1.extraction: another run ... gives a different one"),
    (run({"start_token": "none"}, extraction={}), "another start_token; give the same"),
    (run(extraction={}, calibrate_on="sotu_segments"),
     "calibrate_on: no run has smollm2-135m read sotu_segments with the same extraction; add one"),
    (run(extraction={"prefix": 50}), "unknown key 'runs.0.extraction.prefix'"),
    (run(extraction={}, model="far"),
     "runs.0.extraction: far is behind an API ... cannot give the 40 most likely tokens"),
    # artifacts
    (study(artifacts=[]), "artifacts is empty ... as artifacts: [results_auc]"),
    (study(artifacts=["dc_pdd_tabel2"]), "dc_pdd_tabel2 ... dc_pdd_table"),
    (study(artifacts={"own": {"title": "Own"}}), "unknown artifact 'own'"),
    (study(artifacts={"own": {"title": "Own", "renderer": "metod_table"}}),
     "own.renderer: ... 'method_table'"),
    (shown(options={"metrcs": ["auc"]}), "metrcs ... did you mean 'metrics'"),
    (shown(options={"artifacts": []}),
     "results_auc.options.artifacts: method_table has no such option"),
    (shown(options={"draws": 0}), "options.draws: the number 0 where a list is needed"),
    (shown(options={"draws": [7]}),
     "options.draws: no run of smollm2-135m on sotu has 7: valid: 0"),
    (shown(options={"runner_up": "maybe"}),
     "options.runner_up: the text 'maybe' where true or false is needed"),
    (shown(options={"across": {"view": "original"}}),
     "options.across.view: the text 'original' where a list"),
    (shown(options={"across": {"view": [["original"]]}}),
     "across.view.0: a list ['original'] where text or a whole"),
    (shown(options={"across": {"view": ["orignal"]}}),
     "options.across.view: ... did you mean 'original'"),
    (shown("dc_pdd_figure2", options={"settings": "a=0.01"}),
     "options.settings: the text 'a=0.01' where a mapping"),
    (study(runs=[AT | {"corpora": ["docstrings"], "methods": ["dc_pdd"]}],
           artifacts={"dc_pdd_figure2": {
        "panels": [AT], "options": {"settings": {"CLD": "a=0.02"}}}}),
        "options.settings: ... 'a=0.02': did you mean"),
    (shown("dc_pdd_figure2"),
     "options.method: no run of smollm2-135m on sotu has 'dc_pdd'"),
    (shown("surp_figure4", options={"y": "model"}),
     "options.y: no parameter is called 'model'"),
    (shown("dc_pdd_table5", options={"x": ["a", "k"]}),
     "options.x: a list where one parameter is needed"),
    (shown(options={"metrics": ["acu"]}),
     "unknown metric 'acu' ... did you mean 'auc'"),
    (shown(options={"average": "subsets"}),
     "options.average ... did you mean 'subset'"),
    (shown("surp_figure4", options={"x": "epss"}),
     "options.x ... 'epss' ... did you mean 'eps'"),
    (shown(methods=["los"]), "results_auc.methods: ... 'los' ... did you mean 'loss'"),
    (shown(methods=["surp;eps=2"]), "no variant 'eps=2' ... did you mean 'empty'"),
    (shown("dc_pdd_table1", panels=[AT | {"model": "smollm2"}]),
     "dc_pdd_table1.panels.0.model: unknown model ... 'smollm2-135m'"),
    (shown("blind_audit", panels=[AT | {"benchmark": "sotu_temporal"}]),
     "artifacts.blind_audit.panels.0: no run has"),
    (panel(model=["smollm2-135m", "smollm2-135m"]),
     "results_auc.0.model: 'smollm2-135m' is given twice"),
    (study(first=["blind_audit"]),
     "first: the study does not show blind_audit: valid: headline"),
    (panel(references=["nope"]),
     "panels.0.references: no run of smollm2-135m on sotu has 'nope'"),
    (panel(length=65),
     "panels.0.length: no run of smollm2-135m on sotu has 65: valid: 32"),
    (panel(subset="nope"),
     "panels.0.subset: no run of smollm2-135m on sotu has 'nope'"),
    (panel(start_token="<s>"),
     "panels.0.start_token: no run ... has '<s>': valid: tokenizer"),
    (panel("onw"), "results_auc.0.run: no run has the id 'onw': did you mean 'own'"),
    (panel({"run": "own", "model": "smollm2"}),
     "results_auc.0.model: own has no run of 'smollm2': did you mean"),
    (panel({"length": 64}),
     "results_auc.0: missing key 'model' and 'benchmark' or 'run'"),
    (study(runs=[AT | {"corpora": ["docstrings"]}],
           artifacts={"results_auc": [AT | {"references": ["docstring"]}]}),
     "did you mean 'docstrings'"),
    (study(runs=[AT | {"benchmark": "texts"}],
           artifacts={"results_auc": [AT | {"benchmark": "texts", "subset": "b"}]}),
     "no subset 'b'"),
]  # fmt: skip


ACCEPTED = [
    study(artifacts={"own": {"title": "Own", "renderer": "method_table",
                             "panels": [AT]}}),
    run(benchmark="sotu_split", methods=["recall"], draws=[0, 4]),
    run(benchmark="sotu_split", methods=["loss"], draws=[0, 5]),
    run({"inner_start": True, "lengths": [128]}, methods=["recall"],
        benchmark="sotu_split", lengths=[32, 64]),
    run({"inner_start": True, "views": ["delete-10"]}, methods=["recall"],
        benchmark="sotu_split"),
    run({"inner_start": True, "start_token": "none"}, methods=["recall"],
        benchmark="sotu_split"),
    shadowed(),
    further(),
    run(benchmark="asking", methods=["loss", "completion"]),
    run(benchmark="asking", paraphraser="paraphrase_by_smollm2-135m"),
    run(benchmark="brings"),
    run(benchmark="brings", neighbours=["neighbours-3"]),
    shown(methods=["ref;form=ratio", "con_recall;access=zero",
                   "de_cop;calibration=held"]),
    shown("dc_pdd_figure3", options={"x": "model"}),
]  # fmt: skip
"""Beside those that are refused."""


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """A folder with the files that the studies name."""
    monkeypatch.delenv(CHECKED, raising=False)
    rows = [
        {"text": f"a text {label}", "label": label, "subset": "a"} for label in (0, 1)
    ]
    for name in ("texts.jsonl", "{x}.jsonl", "<x>.jsonl"):
        (tmp_path / name).write_text("".join(f"{json.dumps(row)}\n" for row in rows))
    (tmp_path / "answers.csv").write_text("document,label\n")
    for name in ("tiny", "<v>", "odd"):
        checkpoint(tmp_path / name)
    (tmp_path / "odd" / "{1}.bin").touch()
    (tmp_path / "works").mkdir()
    (tmp_path / "works" / os.fsdecode(b"caf\xe9.txt")).write_text("a work")
    return tmp_path


def words(told):
    """A pattern of what is said."""
    return "(?s)" + ".*".join(map(re.escape, told.split(" ... ")))


@pytest.mark.parametrize("given", ACCEPTED)
def test_what_is_near_to_a_mistake_and_right_is_planned(folder, given):
    assert load_written(folder, given).artifacts


@pytest.mark.parametrize(
    ("given", "told"), REFUSED, ids=[f"{told[:60]}" for _, told in REFUSED]
)
def test_a_mistake_is_named_with_its_place_and_remedy_on_one_screen(
    folder, given, told
):
    with pytest.raises(InputError) as error:
        check_user_files(Plan(load_written(folder, given)), CONFIG)
    said = str(error.value)
    assert re.search(words(told), said), said
    assert len(said) < 3000


def files(rows, **keys):
    """(file name, its lines, a study of it), of texts or of collected answers."""
    return (
        "texts.jsonl",
        [json.dumps(row) for row in rows],
        text(methods=["loss"]) | keys,
    )


HALVES = [json.dumps({"text": f"a text {n}", "label": n % 2}) for n in range(240)]
WITHHELD = {"text": "a  page of a book", "label": 0}
ASKED = {"text": "a page of a book", "label": None}
PANEL_OF_ANSWERS = {"model": "chatgpt", "benchmark": "books"}
COLUMNS = "document,label,passage,permutation,true_answer,answer"
BOTH = [AT | {"benchmark": "texts", "calibrate_on": "short", "methods": ["loss"]},
        AT | {"benchmark": "short", "methods": ["loss"]}]  # fmt: skip


@pytest.mark.parametrize(
    ("given", "told"),
    [
        (files([{"text": "a b", "label": 1}]), "texts.jsonl: ... non-member"),
        (files([WITHHELD], artifacts=["audit"]),
         "texts.jsonl: the audit has no text to ask about"),
        (("answers.csv", [COLUMNS, "d0,0,0,0,E,A"], answers()),
         "answers.csv:2: true_answer is 'E'"),
        (("known.jsonl", [json.dumps(WITHHELD)], study(
            runs=BOTH, artifacts={"audit": {"panels": [AT | {"benchmark": "texts"}]}},
            benchmarks={"short": {"source": "local", "path": "known.jsonl"}})),
         "texts.jsonl:1 and ... known.jsonl:1 hold the same text"),
        (("answers.csv", [COLUMNS, "d0,1,0,0,A,A", "d1,0,0,0,A,A"],
          answers() | {"artifacts": {"de_cop_table2": {"panels": [PANEL_OF_ANSWERS | {"length": 128}]}}}),
         "the panel chatgpt on books: its texts have no length 128; they have no lengths"),
        (("answers.csv", [f"{COLUMNS},length", "d0,1,0,0,A,A,64", "d1,0,0,0,A,A,64"],
          answers() | {"artifacts": {"de_cop_table2": {"panels": [PANEL_OF_ANSWERS | {"length": 128}]}}}),
         "its texts have no length 128; they have ['64']"),
        (("answers.csv", [COLUMNS, "d0,1,0,0,A,A", "d1,0,0,0,A,A"],
          answers() | {"artifacts": {"de_cop_table2": {"panels": [PANEL_OF_ANSWERS | {"subset": "x"}]}}}),
         "its texts have no subset 'x'"),
        (files([{"text": f"a text {n}", "label": n % 2,
                 "length": 100 + n} for n in range(12)]),
         "texts.jsonl: the column length has 12 values for 12 texts"),
        (("texts.jsonl", HALVES, text(methods=[{"recall": {"shots": 500}}])),
         "a pool of 500 nonmember texts of texts leaves none of the 120 to"),
        (("texts.jsonl", [], run(benchmark="sotu", methods=[{"recall": {"shots": 500}}])),
         "a pool of 500 texts of each class leaves none of the 680 of sotu"),
        (("texts.jsonl", HALVES, study(
            runs=[AT | {"benchmark": "mine", "methods": ["recall"]}],
            benchmarks={"mine": LOCAL | {"prefix": {"pool": 120}}})),
         "a pool of 120 nonmember texts of mine leaves none of the 120 to"),
        (files([ASKED | {"document": "Book\u00a0A "},
                {"text": "never read", "label": 0, "document": "Book  A"}],
               artifacts=["audit"]), "the document 'Book A' has suspects"),
    ],
)  # fmt: skip
def test_a_mistake_in_a_file_of_a_study_is_named_with_its_line(folder, given, told):
    name, lines, written = given
    (folder / "texts.jsonl").write_text(f"{json.dumps(ASKED)}\n", encoding="utf-8")
    (folder / name).write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")
    with pytest.raises(InputError, match=words(told)):
        check_user_files(Plan(load_written(folder, written)), CONFIG)


@pytest.mark.parametrize(
    ("given", "told"),
    [
        ({"threads": 0}, "threads"),
        ({"threads": 100_000}, "threads: 100000 is not valid: it must be at most 1024"),
        ({"device": "gpu"}, "device"),
        ({"resample": 5}, "resample"),
        ({"study": "embeded"}, "did you mean 'embedded'"),
        ({"study": "gone.yaml"},
         "study: there is no file gone.yaml in / ... give the path of a study file"),
        ({"runs": [], "artifacts": []},
         "'artifacts' belongs into a study file; name that file by --config study=FILE"),
        ({"only": ["surp_tabel1"]}, "did you mean 'surp_table1'"),
        ({"study": "paper", "only": ["surp_table1"], "papers": ["dc_pdd"]},
         "no artifact"),
        ({"papers": ["surpp"]}, "papers"),
        ({"study": "frontier", "max_parameters": 1e3},
         "max_parameters=1e+03 is below every model of ... frontier.yaml; the smallest, pythia-410m, has 4.1e+08"),
        ({"study": "paper", "max_parameters": 1e7},
         "max_parameters=1e+07 is below every model of ... paper.yaml; the smallest, ... parameters."),
        ({"trust_remote_code": "true"},
         "trust_remote_code ... On the command line, write True."),
        ({"trust_remote_code": "false"},
         "trust_remote_code ... On the command line, write False."),
    ],
)  # fmt: skip
def test_a_wrong_setting_is_explained(given, told):
    with pytest.raises(InputError, match=words(told)):
        load_study(CONFIG | given, ROOT / "config")
