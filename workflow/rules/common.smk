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
from pretrace.runtime.errors import InputError
from pretrace.studies import load_study, plan

try:
    STUDY = load_study(config)
    if workflow.is_main_process:
        for slug in sorted({run["benchmark"] for run in STUDY.runs}):
            entry = STUDY.benchmarks.entries[slug]
            if entry["source"] == "local":
                check_texts(Path(entry["path"]), metrics=plan.asks_metrics(STUDY, slug))
except InputError as error:
    raise WorkflowError(str(error)) from None

MODELS = STUDY.models.by_shared_name()
BENCHMARKS = STUDY.benchmarks.by_shared_name()
CORPORA = STUDY.corpora.by_shared_name()


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
        for path in sorted((ROOT / "scripts" / "pretrace" / room).rglob("*.py")):
            digest.update(path.read_bytes())
    return digest.hexdigest()[:16]


def manifest_of(model, benchmark):
    shared = STUDY.models.shared[model], STUDY.benchmarks.shared[benchmark]
    return f"results/passes/{shared[0]}/{shared[1]}/{STUDY.name}.json"


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


def source_of(entry):
    """What a registry entry reads: a downloaded file, the user's own path, or nothing."""
    return entry["path"] if entry["source"] == "local" else download_of(entry)


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
