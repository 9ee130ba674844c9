# The study, resolved, and the functions that turn it into paths. No rules here.
import re
import sys
from functools import cache
from pathlib import Path
from time import time

from snakemake.exceptions import WorkflowError

from pretrace import config_folder
from pretrace.runtime.code import code_digest
from pretrace.runtime.errors import InputError
from pretrace.studies import load_study, paths, plan
from pretrace.studies.api_work import api_work
from pretrace.studies.audit_announcement import description
from pretrace.studies.glossary import glossary
from pretrace.studies.priorities import SOON, priorities
from pretrace.studies.revisions import asked_for, load_revisions
from pretrace.studies.user_files import check_user_files
from pretrace.views import VIEWS

STARTED = time()
CONFIG = config_folder()
try:
    STUDY = load_study(config, CONFIG)
    PINS = load_revisions(config.get("revisions"), (STUDY.models, STUDY.benchmarks, STUDY.corpora))
    for remark in check_user_files(STUDY):
        print(f"pretrace: {remark}", file=sys.stderr)
except InputError as error:
    raise WorkflowError(str(error)) from None


pathvars:
    config=str(CONFIG),


MODELS = STUDY.models.by_shared_name()
BENCHMARKS = STUDY.benchmarks.by_shared_name()
CORPORA = STUDY.corpora.by_shared_name()
PUBLISHED = [*sorted(CONFIG.glob("published/*.csv")), CONFIG / "published" / "names.yaml"]
TABLES = paths.rendered(STUDY, "table")
FIGURES = paths.rendered(STUDY, "figure")


def alternatives(names):
    """A wildcard constraint that matches exactly these names, or nothing if there are none."""
    return "|".join(re.escape(name) for name in sorted(names)) or "(?!)"


wildcard_constraints:
    study=re.escape(STUDY.name),
    model=alternatives({*MODELS, *STUDY.models.entries}),
    tokenizer=alternatives(MODELS),
    benchmark=alternatives({*BENCHMARKS, *STUDY.benchmarks.entries}),
    corpus=alternatives(CORPORA),
    shard=r"\d+",
    artifact=alternatives(STUDY.artifacts),


def of_pair(looked_up):
    """The value of a function of `plan` or `paths` for the wildcards' model and benchmark, in the study's own stages."""
    return lambda wildcards: looked_up(STUDY, wildcards.model, wildcards.benchmark)


def of_shared_pair(looked_up):
    """The same for the shared stages, whose names differ from the study's slugs."""
    return lambda wildcards: looked_up(STUDY, *pair_of(wildcards))


def pair_of(wildcards):
    """The study's slugs of a pair of shared names."""
    benchmark = paths.slug_of(STUDY.benchmarks, wildcards.benchmark)
    return paths.slug_of(STUDY.models, wildcards.model), benchmark


def seal_of_study():
    """The sealed plan that every pass of an audit waits for, or [] for other studies."""
    return ancient(paths.seals(STUDY)) if plan.is_sealed(STUDY) else []


def priority_of(step):
    """The priority of a step's jobs; shared names of models and benchmarks become the study's slugs."""
    registries = {"model": STUDY.models, "benchmark": STUDY.benchmarks, "corpus": STUDY.corpora}

    def priority(wildcards):
        named = [key for key in registries if key in wildcards.keys()]
        slugs = [paths.slug_of(registries[key], wildcards[key]) for key in named]
        return priorities(STUDY).of(step, *slugs)

    return priority


def priority_of_evaluation(wildcards):
    return priorities(STUDY).of_evaluation(wildcards.model, wildcards.benchmark)


def priority_of_artifact(wildcards):
    return priorities(STUDY).of_artifact(wildcards.artifact)


def calibration_input(wildcards, path_of):
    """A file of the benchmark that calibrates the pair's answers, or [] if the runs name none."""
    other = plan.calibrates_on(STUDY, wildcards.model, wildcards.benchmark)
    return path_of(STUDY, wildcards.model, other) if other else []


def windows_of_pair(study, model, benchmark):
    """The windows of a pair's texts."""
    return paths.own(study, "windows", model, benchmark)


def positive_input(wildcards, path_of):
    """A file of the passages that the pair's model surely read, or [] if the audit has no positive control."""
    other = plan.positive_control_of(STUDY, wildcards.model, wildcards.benchmark)
    return path_of(STUDY, wildcards.model, other) if other else []


def known_benchmark(wildcards):
    """The benchmark whose non-members are compared with the pair's unlabelled texts."""
    return plan.calibrates_on(STUDY, wildcards.model, wildcards.benchmark) or wildcards.benchmark


def pairs_on(benchmark):
    """The study's pairs that answer questions of a benchmark, given by its shared name."""
    slug = paths.slug_of(STUDY.benchmarks, benchmark)
    return [pair for pair in plan.question_pairs(STUDY) if pair[1] == slug]


def fetched_benchmarks():
    return alternatives(name for name, entry in BENCHMARKS.items() if paths.is_fetched(entry))


def streamed_corpora(keep):
    """The corpora of the hub whose documents are kept after counting (`keep`), or deleted."""
    return alternatives(
        name
        for name, entry in CORPORA.items()
        if entry["source"] == "hub" and entry.get("keep", False) == keep
    )


def may_run_code(entry):
    """Whether a model's own Python files may run: its entry and the configuration must both allow it."""
    return bool(entry.get("remote_code") and config.get("trust_remote_code"))


def loading_of(wildcards):
    """The keys of a model's entry that say how to load it."""
    return loading(MODELS[wildcards.model])


def loading(entry):
    return {key: entry[key] for key in ("dtype", "max_length", "device_map", "quantise") if key in entry}


# a parameter that depends on an output reruns no job; the job records the commit that it read
def pins(wildcards, output):
    """The commits that replace the entries' revisions."""
    return PINS


def model_to_fetch(wildcards):
    record = paths.checkpoint(wildcards.model)
    entry = asked_for(MODELS[wildcards.model], "model", record, PINS)
    return {key: entry.get(key) for key in ("hub", "revision", "access")}


def benchmark_to_fetch(wildcards):
    record = paths.fetched_for(wildcards.benchmark, wildcards.part)
    return asked_for(BENCHMARKS[wildcards.benchmark], "dataset", record, PINS, wildcards.part)


def shard_to_fetch(wildcards):
    record = paths.commit_of_shard(wildcards.corpus, wildcards.shard)
    return asked_for(CORPORA[wildcards.corpus], "dataset", record, PINS)


def download_named(wildcards):
    return next(entry for entry in STUDY.downloads.values() if entry["file"] == wildcards.file)


def benchmarks_from(*sources):
    return alternatives(name for name, entry in BENCHMARKS.items() if entry["source"] in sources)


def benchmarks_with_views():
    """The benchmarks, each followed by a view in its files; for other benchmarks a model may make that view."""
    return "|".join(
        rf"{re.escape(name)}(?=/({alternatives(entry.get('views', {}))}|{paths.OF_SOURCES})\.parquet)"
        for name, entry in BENCHMARKS.items()
    )


def models_from(*sources):
    return alternatives(name for name, entry in MODELS.items() if entry["source"] in sources)


def models_except(*sources):
    return alternatives(name for name, entry in MODELS.items() if entry["source"] not in sources)


def tokenizer_of_api(wildcards):
    """The checkpoint with the tokenizer of a model behind an API, or [] if its entry names none."""
    entry = MODELS[wildcards.model]
    return paths.checkpoint(STUDY.models.shared[entry["tokenizer"]]) if "tokenizer" in entry else []


def models_that_write(behind_api):
    """The models that can write: those behind an API, or those that run here."""
    return alternatives(
        name
        for name, entry in MODELS.items()
        if entry["source"] != "answers" and ("api" in entry) == behind_api
    )


def checkpoint_of_writer(wildcards):
    """The checkpoint of a writing model, or [] if it is behind an API."""
    return [] if "api" in writer_entry(wildcards) else paths.checkpoint(wildcards.writer)


def writer_entry(wildcards):
    """The entry of a writing model."""
    return MODELS[wildcards.writer]


def answering_settings(entry):
    """The keys of a model's entry that affect what it answers and writes."""
    return loading(entry) | {key: entry[key] for key in ("api",) if key in entry}


def benchmarks_of_apis():
    """The benchmarks whose texts go to models behind APIs."""
    return sorted({one["benchmark"] for one in api_work(STUDY)})


def files_of_checkpoint(wildcards):
    return sorted(str(path) for path in Path(MODELS[wildcards.model]["path"]).glob("*") if path.is_file())


def trained_models(further):
    """The models that are trained here: from another model's weights (`further`), or from random weights."""
    return alternatives(
        name
        for name, entry in MODELS.items()
        if entry["source"] == "trained" and ("from" in entry["training"]) == further
    )


def training_of(wildcards):
    return MODELS[wildcards.model]["training"]


def tokenizer_corpus_of(wildcards):
    """The corpus that a trained model's tokenizer is trained on, and its entry."""
    slug = training_of(wildcards)["tokenizer_corpus"]
    return STUDY.corpora.shared[slug], STUDY.corpora.entries[slug]


def tokenizer_trained_for(training):
    """The tokenizer of a model that is trained here."""
    return f"results/tokenizers/{STUDY.corpora.shared[training['tokenizer_corpus']]}-{training['vocabulary']}.json"


def resource_of(resource, default, entry=lambda wildcards: MODELS[wildcards.model]):
    """A resource from the `resources` of a model's entry, or the default."""
    return lambda wildcards: entry(wildcards).get("resources", {}).get(resource, default)


def more_each_attempt(amount):
    """Memory or time that grows with each attempt, in case a job was killed for lack of it."""
    return lambda wildcards, attempt: attempt * amount(wildcards)


@cache
def reads_of(artifact):
    """The files that an artifact's renderer reads: [kind, model or "", benchmark or "", path] each."""
    return paths.read_by(STUDY, artifact, [(path.stem, str(path)) for path in PUBLISHED])


def benchmark_entries(wildcards):
    pairs = plan.artifact_pairs(STUDY, wildcards.artifact)
    return {benchmark: STUDY.benchmarks.entries[benchmark] for _, benchmark in pairs}


def entry_for_view(wildcards):
    """The entry of the model that makes a stored view."""
    return MODELS[VIEWS[wildcards.view].model]


def announcement():
    """The first line of a run: what an audit does; otherwise the study, and its measured time if known."""
    if "texts" in config:
        return description(STUDY, config)
    if STUDY.minutes is None:
        return f"pretrace: {STUDY.title}; results in results/{STUDY.name}/"
    return (
        f"pretrace: {STUDY.title}; about {STUDY.minutes:g} minutes from an empty results/ on 2 cores; "
        f"results in results/{STUDY.name}/"
    )


def print_conclusion():
    """Print the conclusion and the path of the report, if this run wrote them."""
    headline = Path(f"results/{STUDY.name}/headline.txt")
    if headline.exists() and headline.stat().st_mtime >= STARTED:
        print(
            f"{headline.read_text(encoding='utf-8')}pretrace: the report is results/{STUDY.name}/report.html"
        )


def report_glossary(wildcards):
    """The report's descriptions of models, benchmarks and corpora."""
    registries = ("models", "benchmarks", "corpora")
    entries = {name: getattr(STUDY, name).entries for name in registries}
    return glossary(STUDY.artifacts.values(), **entries)
