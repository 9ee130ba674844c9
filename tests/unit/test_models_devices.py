"""Jobs of one machine share its GPUs out among themselves."""

import math
import subprocess
import sys
from contextlib import contextmanager
from pathlib import Path

import pytest
import torch
import yaml

import tiny_models
from pretrace.models import devices, load_checkpoint, register_local, target
from pretrace.runtime.errors import InputError

HOLD = """
import sys
from pathlib import Path

from pretrace.models import devices

devices._POLL = 0.02
names, count, folder = sys.argv[1:]
print(*devices.lock_free(names.split(","), int(count), Path(folder)), flush=True)
sys.stdin.read()
"""
SCRIPTS = Path(__file__).parents[2] / "scripts"


def job(folder: Path, gpus: int, names: str = "a,b,c") -> subprocess.Popen[str]:
    """Another job of the machine, which holds GPUs until it is killed."""
    return subprocess.Popen(
        [sys.executable, "-c", HOLD, names, str(gpus), str(folder)], env={"PYTHONPATH": str(SCRIPTS)}, text=True,
        stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
    )  # fmt: skip


def held_by(one: subprocess.Popen[str]) -> str:
    return one.stdout.readline().strip()


@contextmanager
def ended(jobs):
    try:
        yield
    finally:
        for one in jobs:
            one.kill()
            one.communicate()


@pytest.mark.parametrize("freed", ["0", "1", "2"])
def test_each_job_has_a_gpu_and_one_more_waits_for_whichever_is_free_first(tmp_path, freed):
    jobs = [job(tmp_path, 1) for _ in range(3)]
    with ended(jobs):
        holder = {held_by(one): one for one in jobs}
        assert sorted(holder) == ["0", "1", "2"]
        jobs.append(job(tmp_path, 1))
        holder[freed].kill()
        assert held_by(jobs[-1]) == freed


def test_a_job_of_two_gpus_holds_neither_until_it_has_both(tmp_path):
    single = [job(tmp_path, 1), job(tmp_path, 1)]
    jobs = list(single)
    with ended(jobs):
        assert sorted(map(held_by, single)) == ["0", "1"]
        jobs.append(pair := job(tmp_path, 2))
        jobs.append(third := job(tmp_path, 1))
        assert held_by(third) == "2", "the one that waits for two keeps none from others"
        for one in (*single, third):
            one.kill()
        assert len(held_by(pair).split()) == 2


def test_a_machine_of_fewer_gpus_gives_all_that_it_has(tmp_path):
    jobs = [job(tmp_path, 4)]
    with ended(jobs):
        assert held_by(jobs[0]) == "0 1 2"


@pytest.fixture
def no_locks(monkeypatch):
    monkeypatch.setattr(devices, "_held", held := {})
    yield held
    for lock in held.values():
        lock.close()


def test_the_lock_ends_with_the_process_that_holds_it(tmp_path, no_locks):
    assert devices.lock_free(["a", "b"], 1, tmp_path) == [0]
    assert devices.lock_free(["a", "b"], 1, tmp_path) == [1], "another file handle is refused the first"
    for lock in no_locks.values():
        lock.close()
    assert devices.lock_free(["a", "b"], 1, tmp_path) == [0]


@pytest.fixture
def four_gpus(tmp_path, monkeypatch, no_locks):
    """A machine with four GPUs of 10 bytes each, as torch tells it."""

    class Properties:
        def __init__(self, index: int) -> None:
            self.uuid = f"GPU-{index}"

    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    for name, value in {
        "is_available": lambda: True,
        "device_count": lambda: 4,
        "get_device_properties": Properties,
        "set_device": lambda index: None,
        "mem_get_info": lambda index: (10, 10),
        "is_bf16_supported": lambda **_: True,
    }.items():
        monkeypatch.setattr(torch.cuda, name, value)


def placed(folder: Path, **how):
    """What transformers is told when a model is loaded on this machine."""
    record = folder / "checkpoint.json"
    if not record.exists():
        register_local(tiny_models.tiny_model("gpt_neox", folder / "tiny"), record)
    return load_checkpoint(record, **how)._placement()


def test_a_model_is_spread_over_as_many_gpus_as_its_job_asked_for_and_no_more(tmp_path, four_gpus, no_locks):
    assert placed(tmp_path, device_map="auto", gpus=2) == {"device_map": "auto", "max_memory": {0: 9, 1: 9}}
    assert list(no_locks) == [0, 1]


def test_a_job_takes_the_gpus_that_another_has_not(tmp_path, four_gpus, no_locks):
    jobs = [taken := job(tmp_path, 1, "GPU-0")]
    with ended(jobs):
        assert held_by(taken) == "0"
        assert placed(tmp_path, device_map="auto", gpus=3)["max_memory"] == {1: 9, 2: 9, 3: 9}


def test_one_gpu_is_enough_where_nothing_is_spread_and_weights_go_there_at_once(
    tmp_path, four_gpus, no_locks
):
    jobs = [taken := job(tmp_path, 1, "GPU-0")]
    with ended(jobs):
        assert held_by(taken) == "0"
        assert placed(tmp_path, gpus=2) == {"device_map": {"": "cuda:1"}}
    assert list(no_locks) == [1]


def test_quantised_weights_compute_in_their_own_type(tmp_path, four_gpus, monkeypatch):
    monkeypatch.setattr(target, "find_spec", lambda package: package == "bitsandbytes")
    how = placed(tmp_path, quantise=4, dtype="float16")
    assert how["device_map"] == {"": "cuda:0"}
    asked = how["quantization_config"]
    assert (asked.load_in_4bit, asked.bnb_4bit_quant_type, asked.bnb_4bit_compute_dtype) == (
        True, "nf4", torch.float16,
    )  # fmt: skip
    asked = placed(tmp_path, quantise=8)["quantization_config"]
    assert (asked.load_in_8bit, asked.load_in_4bit) == (True, False)


def test_a_gpu_that_is_named_is_shared_on_purpose(tmp_path, four_gpus, no_locks):
    how = placed(tmp_path, device="cuda:3", device_map="auto", gpus=2)
    assert how == {"device_map": "auto", "max_memory": {3: 9}}
    assert not no_locks


def test_the_cpu_is_the_cpu_even_where_there_are_gpus(tmp_path, four_gpus, no_locks):
    assert placed(tmp_path, device="cpu", device_map="auto", gpus=2) == {}
    assert not no_locks


def test_the_registrys_models_ask_for_as_many_gpus_of_80_gb_as_hold_their_weights():
    bytes_of = {"float32": 4, "float16": 2, "bfloat16": 2}
    registry = yaml.safe_load((SCRIPTS.parent / "config" / "models.yaml").read_text())
    found = {name: entry for name, entry in registry.items() if entry["source"] == "hub"}
    for name, entry in found.items():
        size = entry["parameters"] * bytes_of[entry["dtype"]]
        needed = math.ceil(size / (target._SHARE_FOR_WEIGHTS * 80e9))
        assert (name, entry["resources"]["gpu"]) == (name, needed)
        assert ("device_map" in entry) == (needed > 1), name
    assert {name for name, entry in found.items() if entry["resources"]["gpu"] > 1} == {
        "llama-2-70b",
        "mixtral-8x7b",
    }


def test_a_job_that_asked_for_gpus_and_finds_none_ends_unless_the_cpu_is_asked_for(tmp_path, monkeypatch):
    monkeypatch.setattr(torch.cuda, "is_available", lambda: False)
    with pytest.raises(InputError, match=r"asks for 2 GPU\(s\) .* finds none here.* --config device=cpu"):
        placed(tmp_path, gpus=2)
    assert placed(tmp_path, device="cpu", gpus=2) == placed(tmp_path, gpus=0) == {}
