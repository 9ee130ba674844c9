"""What a machine or a cluster lacks for a study: said while planning, before weights
are fetched or a GPU is held."""

import shutil
import subprocess
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path
from typing import Annotated

from pydantic import Field

from pretrace.models.entries import ModelEntry
from pretrace.models.sentencepiece_files import lacking_package
from pretrace.runtime.errors import InputError, count_noun
from pretrace.runtime.schema import Keys, read_yaml
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
            if plan.views_of(slug) & unmade:
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


def gigabytes(entry: ModelEntry) -> float:
    """Return the GB that a model's weights take in memory, by its entry; `dtype: auto`
    is taken as bfloat16."""
    bits = 16 if entry.dtype in ("auto", "bfloat16", "float16") else 32
    return (entry.parameters or 0) * (entry.quantise or bits) / 8e9


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


class Partition(Keys):
    """The limits of a partition of Slurm that decide whether a job fits; None: no
    limit."""

    max_runtime: Annotated[int, Field(ge=1)] | None = None
    max_mem_mb: Annotated[int, Field(ge=1)] | None = None
    max_threads: Annotated[int, Field(ge=1)] | None = None
    max_gpu: Annotated[int, Field(ge=0)] | None = None

    def takes(self, model: Model) -> bool:
        """Return whether the partition takes the first attempt of a model's job;
        without `max_gpu` it has no GPU."""
        job = model.resources
        asked = {
            "max_runtime": model.longest_attempt,
            "max_mem_mb": job.mem_mb,
            "max_threads": job.threads,
        }
        for key, amount in asked.items():
            limit = getattr(self, key)
            if limit is not None and amount > limit:
                return False
        return job.gpu <= (self.max_gpu or 0)


def small_partitions(plan: Plan, path: Path) -> Iterator[str]:
    """Yield a sentence on the models that no partition of a cluster takes, if there are
    any, by the file of its partitions (`slurm-partition-config`)."""
    partitions = []
    for keys in (read_yaml(path).get("partitions") or {}).values():
        limits = {}
        for key in Partition.model_fields:
            if key in (keys or {}):
                limits[key] = keys[key]
        partitions.append(Partition.model_validate(limits))
    refused: dict[str, list[str]] = defaultdict(list)
    for model in plan.models_read:
        job = model.resources
        if not any(partition.takes(model) for partition in partitions):
            asked = (
                f"{model.longest_attempt} minutes, {job.mem_mb} MB, {job.threads} "
                f"threads, {count_noun(job.gpu, 'GPU')}"
            )
            refused[asked].append(model.slug)
    jobs = [f"{', '.join(slugs)} ({asked})" for asked, slugs in refused.items()]
    if jobs:
        yield (
            f"no partition of {path} takes the jobs of {'; '.join(jobs)}: lower "
            "`resources` in the models' entries or max_runtime, or give the "
            "partitions' limits as the cluster has them (sinfo)."
        )
