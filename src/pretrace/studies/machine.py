"""What a machine or a cluster lacks for a study: said while planning, before weights
are fetched or a GPU is held."""

import re
import shutil
import subprocess
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import yaml

from pretrace.models.sentencepiece_files import lacking_package
from pretrace.runtime.errors import InputError, count_noun
from pretrace.runtime.schema import read_yaml
from pretrace.studies.estimate import gigabytes
from pretrace.studies.job_minutes import whole_minutes
from pretrace.studies.plan import Plan
from pretrace.studies.stages.models import Model
from pretrace.views.wordnet import require_wordnet


def lacks(plan: Plan, partitions: Path | None = None) -> list[str]:
    """Return what a machine lacks for a study's jobs, a sentence each: data of views,
    packages, memory of GPUs.

    Where jobs go to a cluster, `partitions` is the file of its partitions.
    """
    if partitions:
        too_small = small_partitions(plan, partitions)
    else:
        too_small = _small_gpus(plan, gpu_gigabytes())
    return [*_lacking_data(plan), *_lacking_packages(plan), *too_small]


def _lacking_data(plan: Plan) -> Iterator[str]:
    """Yield which views cannot be made here for lack of data, as WordNet's, and what
    will not be complete."""
    unmade = set()
    for view in plan.stored_views:
        if view.is_computed and not Path(view.file).is_file():
            unmade.add((view.benchmark.slug, view.name))
    if not unmade:
        return
    try:
        require_wordnet()
    except InputError as error:
        incomplete = []
        for slug in plan.artifacts_of("table", "figure"):
            shown_views = {tuple(view) for *view, _ in plan.rendering(slug).views}
            if shown_views & unmade:
                incomplete.append(slug)
        shown = ""
        if incomplete:
            shown = f"; these will not be complete: {', '.join(incomplete)}"
        benchmarks = ", ".join(sorted({benchmark for benchmark, _ in unmade}))
        names = ", ".join(sorted({name for _, name in unmade}))
        yield f"{names} of {benchmarks} cannot be made{shown}: {error}"


def _lacking_packages(plan: Plan) -> Iterator[str]:
    """Yield which checkpoints of the user's have tokenizers that need a package which
    is not installed."""
    for model in plan.models_read:
        folder = Path(model.path) if model.path else None
        if folder and folder.is_dir():
            names = {path.name for path in folder.iterdir()}
            if reason := lacking_package(names):
                yield f"{model.slug}: {folder} has its tokenizer as {reason}"


def gpu_gigabytes() -> list[float]:
    """Return the memory in GB of each NVIDIA GPU of this machine; [] if there is none,
    or nothing tells."""
    command = [
        "nvidia-smi",
        "--query-gpu=memory.total",
        "--format=csv,noheader,nounits",
    ]
    if not Path("/dev/nvidia0").exists() or shutil.which(command[0]) is None:
        return []
    answer = subprocess.run(
        command, capture_output=True, text=True, check=False, timeout=30
    )
    memory = []
    for word in answer.stdout.split():
        if word.isdigit():
            memory.append(int(word) * 2**20 / 1e9)
    return memory


def _small_gpus(plan: Plan, memory: list[float]) -> Iterator[str]:
    """Yield a sentence on the models that are larger than the GPUs that they ask for, if
    there are any; `memory` of each GPU of this machine in GB."""
    if not memory or plan.study.settings.device == "cpu":
        return
    too_large = []
    for model in plan.models_read:
        gpus = model.resources.gpu
        weights = gigabytes(model.entry)
        if gpus and weights > sum(sorted(memory)[-gpus:]):
            too_large.append(
                f"{model.slug} ({weights:.0f} GB on {count_noun(gpus, 'GPU')})"
            )
    if too_large:
        sizes = ", ".join(f"{size:.0f} GB" for size in memory)
        yield (
            f"the GPUs of this machine ({sizes}) do not hold the weights of "
            f"{', '.join(too_large)}. Give their entries resources: {{gpu: N}} with "
            "more GPUs and device_map: auto, quantise: 8 or 4, or set max_parameters "
            "lower."
        )


def small_partitions(plan: Plan, path: Path) -> Iterator[str]:
    """Yield a sentence on the models that no partition of a cluster takes, if there are
    any, by the file of its partitions (`slurm-partition-config`), and one on each time
    in the file that YAML takes for a number.

    Raises `InputError` if the plugin for Slurm cannot use the file.
    """
    for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), 1):
        if found := _BASE_60.search(line):
            yield (
                f"{path}, line {number}: YAML reads {found[0]} as the number "
                f"{yaml.safe_load(found[1]):,}, which are minutes. Put it in quotes: "
                f'"{found[1]}" is a time of Slurm.'
            )
    try:
        partitions = _partitions(path)
    except ImportError:
        yield (
            f"{path} is not checked, because the plugin for Slurm is not installed: "
            "pip install -r envs/clusters.txt"
        )
        return
    refused: dict[str, list[str]] = defaultdict(list)
    for model in plan.models_read:
        job = model.resources
        minutes = _longest_attempt(plan, model)
        wanted = {"runtime": minutes, "mem_mb": job.mem_mb, "gpu": job.gpu}
        asking = SimpleNamespace(threads=job.threads, resources=wanted)
        if not any(_takes(path, partition, asking) for partition in partitions):
            asked = (
                f"{minutes} minutes, {job.mem_mb} MB, {job.threads} threads, "
                f"{count_noun(job.gpu, 'GPU')}"
            )
            refused[asked].append(model.slug)
    jobs = [f"{', '.join(slugs)} ({asked})" for asked, slugs in refused.items()]
    if jobs:
        yield (
            f"no partition of {path} takes the jobs of {'; '.join(jobs)}: lower "
            "`resources` in the models' entries or max_runtime, or give the "
            "partitions' limits as the cluster has them (sinfo)."
        )


_BASE_60 = re.compile(r"\bmax_runtime:\s+([1-9]\d*(?::[0-5]?\d){2,})(?=[\s,}]|$)")
"""An hour, a minute and a second without quotes: a number to the base 60."""


def _partitions(path: Path) -> list[Any]:
    """Return a cluster's partitions as the plugin for Slurm reads them."""
    from snakemake_executor_plugin_slurm.partitions import read_partition_file

    named = read_yaml(path).get("partitions")
    for name, limits in named.items() if isinstance(named, dict) else ():
        if not isinstance(limits, dict):
            raise InputError(
                f"{path}: the partition {name} has no limits. Give it some, as "
                "profiles/slurm/partitions.yaml does."
            )
    try:
        partitions = read_partition_file(path)
    except Exception as error:  # of the key or value that it does not know
        raise InputError(
            f"{path}: {error} (the words of the plugin for Slurm). "
            "profiles/slurm/partitions.yaml is an example."
        ) from error
    for partition in partitions:
        partition.partition_cluster = None  # which cluster jobs go to, a profile says
    return partitions


def _takes(path: Path, partition: Any, job: SimpleNamespace) -> bool:
    """Return whether the plugin would send a job to a partition."""
    try:
        return partition.score_job_fit(job) is not None
    except TypeError as error:
        raise InputError(
            f"{path}: a limit of the partition {partition.name} is no number ({error})."
        ) from error


def _longest_attempt(plan: Plan, model: Model) -> int:
    """Return the most minutes that the first attempt of a model's passes or answers
    asks for; it goes on in the next attempt."""
    minutes = []
    for pair in plan.reading_pairs:
        if pair.model_slug == model.slug:
            minutes.append(whole_minutes(pair, "passes"))
    for pair in plan.asking_pairs:
        if pair.model_slug == model.slug:
            minutes.append(whole_minutes(pair, "answers"))
    longest = max(minutes, default=model.resources.runtime)
    return min(longest, plan.study.settings.max_runtime)
