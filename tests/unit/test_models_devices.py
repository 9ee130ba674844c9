"""Jobs of one machine share its GPUs out among themselves."""

import multiprocessing
import time
from pathlib import Path

import pytest
import torch

from pretrace.models import devices, target
from pretrace.models.target import load_checkpoint
from pretrace.runtime.errors import InputError

FORKED = multiprocessing.get_context("fork")


class Job:
    """Another job of the machine: a process that holds GPUs until it is killed."""

    def __init__(self, names: str, count: int, folder: Path) -> None:
        self.told, told = FORKED.Pipe(duplex=False)
        self.process = FORKED.Process(target=self.hold, args=(names, count, folder, told), daemon=True)
        self.process.start()

    @staticmethod
    def hold(names: str, count: int, folder: Path, told) -> None:
        devices._POLL = 0.02
        told.send(" ".join(map(str, devices.lock_free(names.split(","), count, folder))))
        time.sleep(600)

    def held(self) -> str:
        assert self.told.poll(60), "no GPU came free"
        return self.told.recv()

    def kill(self) -> None:
        self.process.kill()
        self.process.join()


@pytest.fixture
def job(tmp_path):
    """Starts another job of the machine, which holds GPUs until it is killed or the test ends."""
    jobs = []

    def start(gpus: int, names: str = "a,b,c") -> Job:
        jobs.append(Job(names, gpus, tmp_path))
        return jobs[-1]

    yield start
    for started in jobs:
        started.kill()


def test_each_job_has_a_gpu_and_one_more_waits_for_whichever_is_free_first(job):
    jobs = [job(1) for _ in range(3)]
    holder = {started.held(): started for started in jobs}
    assert sorted(holder) == ["0", "1", "2"]
    waiting = job(1)
    holder["1"].kill()
    assert waiting.held() == "1"


def test_a_job_of_two_gpus_holds_neither_until_it_has_both(job):
    single = [job(1), job(1)]
    assert sorted(started.held() for started in single) == ["0", "1"]
    pair, third = job(2), job(1)
    assert third.held() == "2", "the one that waits for two keeps none from others"
    for started in (*single, third):
        started.kill()
    assert len(pair.held().split()) == 2


def test_a_machine_of_fewer_gpus_gives_all_that_it_has(job):
    assert job(4).held() == "0 1 2"


@pytest.fixture
def no_locks(monkeypatch):
    monkeypatch.setattr(devices, "_held", held := {})
    yield held
    for lock in held.values():
        lock.release()


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


@pytest.fixture
def placed(tiny_checkpoint):
    """Gives what transformers is told when a model is loaded on this machine."""
    return lambda **how: load_checkpoint(tiny_checkpoint("gpt_neox"), **how)._placement()


@pytest.mark.parametrize(
    ("how", "taken", "told", "held"),
    [
        ({"device_map": "auto", "gpus": 2}, "", {"device_map": "auto", "max_memory": {0: 9, 1: 9}}, [0, 1]),
        (
            {"device_map": "auto", "gpus": 3},
            "GPU-0",
            {"device_map": "auto", "max_memory": {1: 9, 2: 9, 3: 9}},
            [1, 2, 3],
        ),
        ({"gpus": 2}, "GPU-0", {"device_map": {"": "cuda:1"}}, [1]),  # nothing is spread: one is enough
        (  # a GPU that is named is shared on purpose
            {"device": "cuda:3", "device_map": "auto", "gpus": 2},
            "",
            {"device_map": "auto", "max_memory": {3: 9}},
            [],
        ),
        ({"device": "cpu", "device_map": "auto", "gpus": 2}, "", {}, []),
    ],
)
def test_a_model_lies_on_as_many_free_gpus_as_its_job_asked_for(
    job, placed, four_gpus, no_locks, how, taken, told, held
):
    if taken:
        assert job(1, taken).held() == "0"
    assert placed(**how) == told
    assert list(no_locks) == held


def test_quantised_weights_compute_in_their_own_type(placed, four_gpus, monkeypatch):
    monkeypatch.setattr(target, "find_spec", lambda package: package == "bitsandbytes")
    how = placed(quantise=4, dtype="float16")
    assert how["device_map"] == {"": "cuda:0"}
    quantisation = how["quantization_config"]
    assert (quantisation.load_in_4bit, quantisation.bnb_4bit_quant_type, quantisation.bnb_4bit_compute_dtype) == (
        True, "nf4", torch.float16,
    )  # fmt: skip
    quantisation = placed(quantise=8)["quantization_config"]
    assert (quantisation.load_in_8bit, quantisation.load_in_4bit) == (True, False)


def test_a_job_that_asked_for_gpus_and_finds_none_ends_unless_the_cpu_is_asked_for(placed, monkeypatch):
    monkeypatch.setattr(torch.cuda, "is_available", lambda: False)
    with pytest.raises(InputError, match=r"asks for 2 GPU\(s\) .* finds none here.* --config device=cpu"):
        placed(gpus=2)
    assert placed(device="cpu", gpus=2) == placed(gpus=0) == {}
