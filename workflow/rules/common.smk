# The study, resolved, and the functions that turn it into paths. No rules here.
import hashlib
import re
import sys
from functools import cache
from pathlib import Path

from snakemake.exceptions import WorkflowError

ROOT = Path(workflow.current_basedir).parents[1]
sys.path.insert(0, str(ROOT / "scripts"))

from pretrace.benchmarks.local import check as check_texts
from pretrace.questions.collected import check as check_answers
from pretrace.render.registry import RENDERERS
from pretrace.runtime.errors import InputError
from pretrace.studies import load_study, plan
from pretrace.studies.api_work import api_work
from pretrace.studies.profiles import check_profile
from pretrace.studies.revisions import asked_for, load_revisions
from pretrace.views import VIEWS

try:
    if workflow.is_main_process:
        check_profile(sys.argv[1:], Path(workflow.main_snakefile), ROOT / "workflow" / "profiles")
    STUDY = load_study(config)
    PINS = load_revisions(config.get("revisions"), (STUDY.models, STUDY.benchmarks, STUDY.corpora))
    if workflow.is_main_process:
        for slug in sorted({run["benchmark"] for run in STUDY.runs}):
            entry = STUDY.benchmarks.entries[slug]
            if entry["source"] == "local":
                check_texts(Path(entry["path"]), metrics=plan.asks_metrics(STUDY, slug))
        for model, benchmark in plan.question_pairs(STUDY):
            entry = STUDY.models.entries[model]
            if entry["source"] == "answers":
                check_answers(Path(entry["path"]), metrics=plan.asks_metrics(STUDY, benchmark))
except InputError as error:
    raise WorkflowError(str(error)) from None

MODELS = STUDY.models.by_shared_name()
BENCHMARKS = STUDY.benchmarks.by_shared_name()
CORPORA = STUDY.corpora.by_shared_name()
OF_SOURCES = r"paraphrase|neighbours-\d+"  # the views that a benchmark's source may hold beside its texts
PUBLISHED = [*sorted(Path("config/published").glob("*.csv")), Path("config/published/names.yaml")]


def alternatives(names):
    """A wildcard constraint that matches exactly these names (nothing, where there are none)."""
    return "|".join(re.escape(name) for name in sorted(names)) or "(?!)"


wildcard_constraints:
    study=re.escape(STUDY.name),
    model=alternatives({*MODELS, *STUDY.models.entries}),
    tokenizer=alternatives(MODELS),
    benchmark=alternatives({*BENCHMARKS, *STUDY.benchmarks.entries}),
    corpus=alternatives(CORPORA),
    shard=r"\d+",
    artifact=alternatives(STUDY.artifacts),


@cache
def sources(*rooms):
    """A digest of the library files that a stage stands on: editing one reruns the stage, touching one does not.

    A parameter, and not a list of inputs, so that a dry run stays readable.
    """
    digest = hashlib.sha256()
    for room in ("runtime", *rooms):
        for path in sorted((ROOT / "scripts" / "pretrace" / room).rglob("*")):
            if path.suffix in (".py", ".jinja"):
                digest.update(path.read_bytes())
    return digest.hexdigest()[:16]


def manifest_of(model, benchmark):
    shared = STUDY.models.shared[model], STUDY.benchmarks.shared[benchmark]
    return f"results/passes/{shared[0]}/{shared[1]}/{STUDY.name}.json"


def manifest_for_scores(wildcards):
    """The pair's passes, where one of its methods scores token statistics."""
    pair = (wildcards.model, wildcards.benchmark)
    return manifest_of(*pair) if plan.pass_requests(STUDY, *pair) else []


def answers_of(model, benchmark):
    """The answers to the questions that the study's runs of a pair ask, if any."""
    if not plan.asks_questions(STUDY, model, benchmark):
        return []
    return f"results/answers/{STUDY.models.shared[model]}/{STUDY.benchmarks.shared[benchmark]}/{STUDY.name}.parquet"


def answer_requests_of(wildcards):
    return plan.answer_requests(STUDY, *pair_of(wildcards))


def views_for_answers(wildcards):
    views = plan.paraphrasers_of(STUDY, *pair_of(wildcards))
    return [f"results/views/{wildcards.benchmark}/{view}.parquet" for view in views]


def times_of(model, benchmark):
    """What asking took, as measured; nothing where the answers come from elsewhere."""
    if STUDY.models.entries[model]["source"] == "answers" or not answers_of(model, benchmark):
        return []
    return answers_of(model, benchmark).replace(".parquet", ".json")


def calibration_of(model, benchmark):
    if not plan.asks_questions(STUDY, model, benchmark):
        return []
    return f"results/{STUDY.name}/calibration/{model}/{benchmark}.parquet"


def held_for_calibration(wildcards, path_of):
    """A file about the benchmark whose clean documents calibrate the pair's answers, where the runs name one."""
    other = plan.calibrates_on(STUDY, wildcards.model, wildcards.benchmark)
    return path_of(wildcards.model, other) if other else []


def known_benchmark(wildcards):
    """The benchmark whose non-members the pair's unlabelled texts are compared with."""
    return plan.calibrates_on(STUDY, wildcards.model, wildcards.benchmark) or wildcards.benchmark


def pairs_on(benchmark):
    """The study's pairs that answer questions of a benchmark, which the shared stages know by that name."""
    slug = slug_of(STUDY.benchmarks, benchmark)
    return [pair for pair in plan.question_pairs(STUDY) if pair[1] == slug]


def table_of(benchmark):
    return f"results/benchmarks/{STUDY.benchmarks.shared[benchmark]}.parquet"


def counts_of(corpus, model):
    tokenizer = STUDY.models.shared[plan.tokenizer_of(STUDY, model)]
    return f"results/corpora/{STUDY.corpora.shared[corpus]}/counts/{tokenizer}.parquet"


def download_of(entry):
    """The downloaded file that a registry entry reads, if any."""
    if "download" not in entry:
        return []
    return f"results/downloads/{STUDY.downloads[entry['download']]['file']}"


def source_of(entry, benchmark=""):
    """What a registry entry reads: the user's own path, what is fetched for a benchmark, a downloaded file, or
    nothing."""
    if "path" in entry:
        return entry["path"]
    return fetched_for(benchmark, "texts") if benchmark and is_fetched(entry) else download_of(entry)


def is_fetched(entry):
    """Whether a benchmark is fetched from the hub, or from the web."""
    return "hub" in entry or "url" in entry


def fetched_for(benchmark, part):
    return f"results/downloads/{benchmark}/{part}/files.json"


def fetched_benchmarks():
    return alternatives(name for name, entry in BENCHMARKS.items() if is_fetched(entry))


def streamed_corpora(keep):
    """The corpora of the hub whose documents are kept after counting, or are not."""
    return alternatives(
        name
        for name, entry in CORPORA.items()
        if entry["source"] == "hub" and entry.get("keep", False) == keep
    )


def runs_code_of(entry):
    """Whether a model's own Python files may run: where its entry asks for it and the configuration agrees."""
    return bool(entry.get("remote_code") and config.get("trust_remote_code"))


def loading_of(wildcards):
    """How a model is loaded, as its entry says it."""
    return loading(MODELS[wildcards.model])


def loading(entry):
    return {key: entry[key] for key in ("dtype", "max_length", "device_map", "quantise") if key in entry}


# a parameter that depends on an output starts no job again: which commit is there is in what the job recorded
def pins(wildcards, output):
    """The commits that are read in place of the entries' revisions."""
    return PINS


def model_to_fetch(wildcards):
    record = f"results/models/{wildcards.model}/checkpoint.json"
    entry = asked_for(MODELS[wildcards.model], "model", record, PINS)
    return {key: entry.get(key) for key in ("hub", "revision", "access")}


def benchmark_to_fetch(wildcards):
    record = fetched_for(wildcards.benchmark, wildcards.part)
    return asked_for(BENCHMARKS[wildcards.benchmark], "dataset", record, PINS, wildcards.part)


def shard_to_fetch(wildcards):
    record = commit_of_shard(wildcards.corpus, wildcards.shard)
    return asked_for(CORPORA[wildcards.corpus], "dataset", record, PINS)


def checkpoints_of_study():
    """The local models that read or are asked, and those of the hub that lend a tokenizer or make a view."""
    models = {model for model, _ in plan.pass_pairs(STUDY) + plan.question_pairs(STUDY)}
    local = {model for model in models if STUDY.models.entries[model]["source"] not in ("answers", "openai")}
    beside = {
        plan.tokenizer_of(STUDY, run["model"])
        for run in STUDY.runs
        if run["corpora"] or "api" in STUDY.models.entries[run["model"]]
    }
    beside |= {VIEWS[view].model for _, view in stored_views_of_study() if VIEWS[view].model}
    local |= {model for model in beside if STUDY.models.entries[model]["source"] == "hub"}
    return [f"results/models/{STUDY.models.shared[model]}/checkpoint.json" for model in sorted(local)]


def stored_views_of_study():
    """(benchmark, view) of each stored view that is read, or that questions take their options from."""
    read = {
        (benchmark, view)
        for model, benchmark in plan.pass_pairs(STUDY)
        for view in plan.stored_views(STUDY, model, benchmark)
    }
    return read | {
        (benchmark, view)
        for model, benchmark in plan.question_pairs(STUDY)
        for view in plan.paraphrasers_of(STUDY, model, benchmark)
    }


def fetched_of_study():
    """What was fetched for the benchmarks of the study's runs, and for the views that they bring."""
    shared, entries = STUDY.benchmarks.shared, STUDY.benchmarks.entries
    wanted = {(run["benchmark"], "texts") for run in STUDY.runs}
    wanted |= {
        (slug, "views")
        for slug, view in stored_views_of_study()
        if re.fullmatch(OF_SOURCES, view)
        and brings_beside(entries[slug])
        and view not in entries[slug].get("views", {})
    }
    return [
        fetched_for(shared[slug], part)
        for slug, part in sorted(wanted)
        if is_fetched(entries[slug]) and "path" not in entries[slug]
    ]


def brings_beside(entry):
    """Whether a benchmark's views are fetched beside its texts."""
    return "neighbours" in entry and "path" not in entry


def streamed_of_study():
    """What says which files of the hub the corpora of the study's runs are."""
    corpora = sorted({corpus for run in STUDY.runs for corpus in run["corpora"]})
    streamed = [slug for slug in corpora if STUDY.corpora.entries[slug]["source"] == "hub"]
    return [
        commit_of_shard(STUDY.corpora.shared[slug], shard)
        for slug in streamed
        for shard in range(shards_of(STUDY.corpora.shared[slug]))
    ]


def commit_of_shard(corpus, shard):
    return f"results/corpora/{corpus}/commits/{shard}.json"


def tables_of_study(wildcards):
    return [
        f"results/{STUDY.name}/tables/{artifact}.{ending}"
        for artifact in plan.artifacts_of_kind(STUDY, "table")
        for ending in ("csv", "md", "tex")
    ]


def figures_of_study(wildcards):
    return [
        f"results/{STUDY.name}/figures/{artifact}.{ending}"
        for artifact in plan.artifacts_of_kind(STUDY, "figure")
        for ending in ("csv", "pdf", "png", "svg")
    ]


def download_named(wildcards):
    return next(entry for entry in STUDY.downloads.values() if entry["file"] == wildcards.file)


def benchmarks_from(*sources):
    return alternatives(name for name, entry in BENCHMARKS.items() if entry["source"] in sources)


def bringing_benchmarks():
    """The benchmarks, each before a view that it may bring: other benchmarks may ask a model for that view."""
    return "|".join(
        rf"{re.escape(name)}(?=/({alternatives(entry.get('views', {}))}|{OF_SOURCES})\.parquet)"
        for name, entry in BENCHMARKS.items()
    )


def models_from(*sources):
    return alternatives(name for name, entry in MODELS.items() if entry["source"] in sources)


def models_but(*sources):
    return alternatives(name for name, entry in MODELS.items() if entry["source"] not in sources)


def tokenizer_of_api(wildcards):
    """The checkpoint whose tokenizer a model behind an API shares, where its entry names one."""
    entry = MODELS[wildcards.model]
    return (
        f"results/models/{STUDY.models.shared[entry['tokenizer']]}/checkpoint.json"
        if "tokenizer" in entry
        else []
    )


def makers(behind_api):
    """The models that can write, here or behind an API, by the study's own slugs."""
    return alternatives(
        slug
        for slug, entry in STUDY.models.entries.items()
        if entry["source"] != "answers" and ("api" in entry) == behind_api
    )


def checkpoint_of_maker(wildcards):
    """The checkpoint of a model that writes here, nothing for one behind an API."""
    model = STUDY.models.shared[wildcards.maker]
    return [] if "api" in MODELS[model] else f"results/models/{model}/checkpoint.json"


def writer(wildcards):
    """The entry of a model that writes."""
    return STUDY.models.entries[wildcards.maker]


def entry_of_maker(wildcards):
    """What of a writing model's entry its writing depends on."""
    entry = writer(wildcards)
    return loading(entry) | {key: entry[key] for key in ("api",) if key in entry}


def benchmarks_of_apis():
    """The benchmarks whose texts go to models behind APIs."""
    return sorted({one["benchmark"] for one in api_work(STUDY)})


def files_of_checkpoint(wildcards):
    return sorted(str(path) for path in Path(MODELS[wildcards.model]["path"]).glob("*") if path.is_file())


def training_of(wildcards):
    return MODELS[wildcards.model]["training"]


def documents_of(corpus):
    return [f"results/corpora/{corpus}/documents/{shard}.parquet" for shard in range(shards_of(corpus))]


def tokenizer_corpus_of(wildcards):
    return STUDY.corpora.shared[training_of(wildcards)["tokenizer_corpus"]]


def shards_of(corpus):
    return CORPORA[corpus].get("shards", 1)


def slug_of(registry, shared_name):
    """The study's own slug of an entry that the shared stages know as `shared_name`."""
    return next(slug for slug, shared in registry.shared.items() if shared == shared_name)


def requests_of(wildcards):
    model = slug_of(STUDY.models, wildcards.model)
    return plan.pass_requests(STUDY, model, slug_of(STUDY.benchmarks, wildcards.benchmark))


def asked(resource, default, entry=lambda wildcards: MODELS[wildcards.model]):
    """A resource as the `resources` of a model's entry ask for it."""
    return lambda wildcards: entry(wildcards).get("resources", {}).get(resource, default)


def growing(amount):
    """Memory or time that a retry gets more of: what killed an attempt should not kill the next."""
    return lambda wildcards, attempt: attempt * amount(wildcards)


def runs_of(wildcards):
    return plan.runs_of(STUDY, wildcards.model, wildcards.benchmark)


def references_of(wildcards):
    return plan.references_of(STUDY, wildcards.model, wildcards.benchmark)


def corpora_of(wildcards):
    return plan.corpora_of(STUDY, wildcards.model, wildcards.benchmark)


@cache
def reads_of(artifact):
    """What an artifact's renderer reads: [kind, model or "", benchmark or "", path] of each file."""
    pairs = plan.artifact_pairs(STUDY, artifact)
    of_pair = [("passes", *pair, manifest_of(*pair)) for pair in pairs if plan.pass_requests(STUDY, *pair)]
    of_pair += [("answers", *pair, answers_of(*pair)) for pair in pairs]
    of_pair += [("times", *pair, times_of(*pair)) for pair in pairs]
    of_pair += [("calibration", *pair, calibration_of(*pair)) for pair in pairs]
    of_pair += [
        (kind, *pair, f"results/{STUDY.name}/{kind}/{pair[0]}/{pair[1]}.parquet")
        for kind in ("metrics", "tests", "scores", "audit")
        for pair in pairs
    ]
    benchmarks = sorted({benchmark for _, benchmark in pairs})
    of_benchmark = [("benchmarks", "", benchmark, table_of(benchmark)) for benchmark in benchmarks]
    of_benchmark += [("prefixes", "", benchmark, prefixes_of(benchmark)) for benchmark in benchmarks]
    of_model = [("training", model, "", curve_of(model)) for model in sorted({model for model, _ in pairs})]
    of_paper = [("published", "", path.stem, str(path)) for path in PUBLISHED]
    needs = RENDERERS[STUDY.artifacts[artifact]["renderer"]].needs
    return [[*read] for read in of_pair + of_benchmark + of_model + of_paper if read[0] in needs and read[3]]


def curve_of(model):
    """The loss curve of a model that is trained here."""
    trained = STUDY.models.entries[model]["source"] == "trained"
    return f"results/models/{STUDY.models.shared[model]}/training.parquet" if trained else []


def benchmark_entries(wildcards):
    pairs = plan.artifact_pairs(STUDY, wildcards.artifact)
    return {benchmark: STUDY.benchmarks.entries[benchmark] for _, benchmark in pairs}


def file_of_view(wildcards):
    """The file of a view that a benchmark brings: one of its own, one fetched beside its texts, else theirs."""
    entry = BENCHMARKS[wildcards.benchmark]
    if wildcards.view in entry.get("views", {}):
        return entry["views"][wildcards.view]
    if brings_beside(entry):
        return fetched_for(wildcards.benchmark, "views")
    return source_of(entry, wildcards.benchmark)


def maker_of(view):
    """The model, as the shared stages know it, that makes a stored view."""
    return STUDY.models.shared[VIEWS[view].model]


def entry_for_view(wildcards):
    """The entry of the model that makes a stored view."""
    return MODELS[maker_of(wildcards.view)]


def prefixes_of(benchmark):
    """The shots drawn from a benchmark, where its entry says that there are any."""
    if "prefix" not in STUDY.benchmarks.entries[benchmark]:
        return []
    return f"results/prefixes/{STUDY.benchmarks.shared[benchmark]}.parquet"


def pair_of(wildcards):
    """A pair of shared names as the study's own slugs."""
    return slug_of(STUDY.models, wildcards.model), slug_of(STUDY.benchmarks, wildcards.benchmark)


def prefixes_for_passes(wildcards):
    model, benchmark = pair_of(wildcards)
    drawn = plan.prefix_kinds(STUDY, model, benchmark) - {"zero_access"}
    return prefixes_of(benchmark) if drawn else []


def completions_for_passes(wildcards):
    if "zero_access" not in plan.prefix_kinds(STUDY, *pair_of(wildcards)):
        return []
    return f"results/completions/{wildcards.model}/{wildcards.benchmark}.parquet"


def views_for_passes(wildcards):
    views = plan.stored_views(STUDY, *pair_of(wildcards))
    return [f"results/views/{wildcards.benchmark}/{view}.parquet" for view in views]


def views_for_scores(wildcards):
    benchmark = STUDY.benchmarks.shared[wildcards.benchmark]
    views = plan.stored_views(STUDY, wildcards.model, wildcards.benchmark)
    return [f"results/views/{benchmark}/{view}.parquet" for view in views]


def announcement():
    """What starts, and how long that took where it was measured."""
    if STUDY.minutes is None:
        return f"pretrace: {STUDY.title}; results in results/{STUDY.name}/"
    return (
        f"pretrace: {STUDY.title}; about {STUDY.minutes:g} minutes from an empty results/ on 2 cores with bf16 "
        f"instructions, several times that without; results in results/{STUDY.name}/"
    )
