"""What a machine or a cluster lacks for a study is said while it is planned."""

import re
import sys

import pytest
from made_up_studies import RUN, checkpoint, load_written, study

from pretrace.runtime.errors import InputError
from pretrace.studies import Plan, machine
from pretrace.views import wordnet
from slurm_cluster import needs_plugin
from small_wordnet import write_wordnet

RUNS = [
    RUN | {"methods": ["loss"]},
    RUN | {"views": ["synonym-10", "synonym-20"], "methods": ["loss"]},
]
ACROSS = {"panels": [RUN], "options": {"across": {"view": ["original", "synonym-10"]}}}


@pytest.fixture
def no_wordnet(monkeypatch, tmp_path):
    monkeypatch.setattr(wordnet, "synonym_places", lambda: [tmp_path / "wordnet"])
    monkeypatch.chdir(tmp_path)


def plan_of(folder, **keys):
    return Plan(load_written(folder, study(**keys)))


def test_without_wordnet_the_plan_names_the_views_and_what_shows_them(
    tmp_path, no_wordnet
):
    plan = plan_of(
        tmp_path,
        runs=RUNS,
        artifacts={"results_auc": None, "con_recall_table3": ACROSS},
    )
    [sentence] = machine.lacks(plan)
    assert sentence.startswith(
        "synonym-10, synonym-20 of sotu cannot be made; these will not be complete: "
        "con_recall_table3: the synonym views need WordNet's data"
    )
    assert not machine.lacks(
        plan_of(tmp_path, runs=RUNS[:1], artifacts=["results_auc"])
    )
    for view in plan.stored_views:
        tmp_path.joinpath(view.file).parent.mkdir(parents=True, exist_ok=True)
        tmp_path.joinpath(view.file).touch()
    assert not machine.lacks(plan), "made before, as on the nodes of a cluster"


def test_with_wordnet_nothing_is_lacking(tmp_path, no_wordnet):
    write_wordnet(tmp_path / "wordnet")
    assert not machine.lacks(plan_of(tmp_path, runs=RUNS))


def test_a_checkpoint_of_ones_own_with_a_tokenizer_of_sentencepiece_alone(
    tmp_path, monkeypatch
):
    monkeypatch.setattr(
        "pretrace.models.sentencepiece_files.find_spec", lambda name: None
    )
    checkpoint(tmp_path / "mine")
    (tmp_path / "mine" / "tokenizer.model").touch()
    models = {"mine": {"source": "local", "path": "mine"}}
    plan = plan_of(
        tmp_path, models=models, runs=[RUN | {"model": "mine", "methods": ["loss"]}]
    )
    [sentence] = machine.lacks(plan)
    assert (
        "tokenizer.model alone, which needs the packages sentencepiece and protobuf"
        in sentence
    )
    (tmp_path / "mine" / "tokenizer.json").touch()
    assert not machine.lacks(plan)


LARGE = {"source": "hub", "hub": "a/large", "parameters": 30e9, "dtype": "bfloat16"}


@pytest.mark.parametrize(
    ("memory", "gpus", "told"),
    [
        ([80.0], 1, False),
        ([24.0], 1, True),
        ([48.0] * 2, 2, False),
        ([24.0] * 4, 2, True),
        ([], 1, False),
    ],
)
def test_weights_of_60_gb_need_gpus_of_as_much(
    tmp_path, monkeypatch, memory, gpus, told
):
    monkeypatch.setattr(machine, "gpu_gigabytes", lambda: memory)
    models = {"large": LARGE | {"resources": {"gpu": gpus}}}
    plan = plan_of(
        tmp_path, models=models, runs=[RUN | {"model": "large", "methods": ["loss"]}]
    )
    lines = machine.lacks(plan)
    assert len(lines) == told
    amount = "1 GPU" if gpus == 1 else f"{gpus} GPUs"
    assert all(f"large (60 GB on {amount})" in line for line in lines)


@needs_plugin
def test_all_that_is_too_large_is_one_line(tmp_path, monkeypatch):
    monkeypatch.setattr(machine, "gpu_gigabytes", lambda: [24.0])
    models = {}
    for name, runtime in (("large", 1300), ("larger", 1400)):
        models[name] = LARGE | {"resources": {"gpu": 2, "runtime": runtime}}
    runs = [RUN | {"model": name, "methods": ["loss"]} for name in models]
    plan = plan_of(tmp_path, models=models, runs=runs)
    [of_gpus] = machine.lacks(plan)
    assert of_gpus.startswith("the GPUs of this machine (24 GB) do not hold")
    assert "large (60 GB on 2 GPUs), larger (60 GB on 2 GPUs)" in of_gpus
    (tmp_path / "partitions.yaml").write_text(PARTITIONS)
    [of_partitions] = machine.lacks(plan, tmp_path / "partitions.yaml")
    assert "large (1300 minutes," in of_partitions
    assert "larger (1400 minutes," in of_partitions


PARTITIONS = """
partitions:
  cpu: {max_runtime: 2880, cluster: x}
  gpu: {max_runtime: 1200, max_mem_mb: 512000, max_gpu: 8}
"""


@pytest.mark.parametrize(
    ("resources", "told"),
    [
        ({"gpu": 1, "runtime": 1200}, False),
        ({"gpu": 1, "runtime": 1300}, True),
        ({"runtime": 1500}, False),
        ({"gpu": 9}, True),
        ({"gpu": 1, "mem_mb": 600000}, True),
    ],
)
@needs_plugin
def test_a_job_that_no_partition_takes_is_told(tmp_path, resources, told):
    path = tmp_path / "partitions.yaml"
    path.write_text(PARTITIONS)
    models = {"large": LARGE | {"resources": resources}}
    plan = plan_of(
        tmp_path, models=models, runs=[RUN | {"model": "large", "methods": ["loss"]}]
    )
    lines = [line for line in machine.lacks(plan, path) if "jobs of large (" in line]
    assert len(lines) == told


def test_partitions_are_not_read_without_the_plugin(tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "snakemake_executor_plugin_slurm.partitions", None)
    path = tmp_path / "partitions.yaml"
    path.write_text(PARTITIONS)
    plan = plan_of(tmp_path, models={"large": LARGE}, runs=[RUN | {"model": "large"}])
    [told] = machine.small_partitions(plan, path)
    assert "pip install -r envs/clusters.txt" in told


@pytest.mark.parametrize(
    ("limits", "told"),
    [
        ("{max_runtime: 1-00:00:00, max_gpu: 8}", []),
        ("{max_runtime: 24h, max_gpu: 8}", []),
        ("{max_runtime: 1439.6, max_gpu: 8, cluster: x}", []),
        ('{max_runtime: "12:00:00", max_gpu: 8}', ["no partition of"]),
        ("{max_runtime: 08:00:00, max_gpu: 8}", ["no partition of"]),
        (
            "{max_runtime: 12:00:00, max_gpu: 8}",
            ["line 2: YAML reads .* 43,200, which"],
        ),
        ("\n    max_runtime: 10:30:00  # sinfo\n    max_gpu: 8", ["line 3: .* 37,800"]),
        ("{max_runtime: soon}", "yaml: .*soon"),
        ("{max_memory: 5}", "yaml: .*'max_memory'"),
        ("{max_mem_mb: 250G, max_gpu: 8}", "a limit of the partition all is no number"),
        ("", "the partition all has no limits"),
    ],
)
@needs_plugin
def test_limits_of_partitions_are_read_as_the_plugin_reads_them(tmp_path, limits, told):
    path = tmp_path / "partitions.yaml"
    path.write_text(f"partitions:\n  all: {limits}\n")
    models = {"large": LARGE | {"resources": {"gpu": 1, "runtime": 1000}}}
    runs = [RUN | {"model": "large", "methods": ["loss"]}]
    plan = plan_of(tmp_path, models=models, runs=runs)
    if isinstance(told, str):
        with pytest.raises(InputError, match=told):
            list(machine.small_partitions(plan, path))
        return
    lines = [*machine.small_partitions(plan, path)]
    assert len(lines) == len(told)
    assert all(map(re.search, told, lines)), lines
