"""Jobs of one machine share its GPUs; torch repeats itself; which way is faster is
measured once and kept."""

import itertools
import multiprocessing
import re
import shutil
import time
from functools import partial
from pathlib import Path

import pytest
import torch
from made_up_jobs import target_of

from pretrace.models import devices, speeds, target
from pretrace.models.devices import torch_settings
from pretrace.models.target import load_checkpoint
from pretrace.runtime.errors import InputError
from pretrace.runtime.files import read_json

FORKED = multiprocessing.get_context("fork")


class Job:
    """Another job of the machine: a process that holds GPUs until it is killed."""

    def __init__(self, names: str, count: int, folder: Path) -> None:
        self.told, told = FORKED.Pipe(duplex=False)
        self.process = FORKED.Process(
            target=self.hold, args=(names, count, folder, told), daemon=True
        )
        self.process.start()

    @staticmethod
    def hold(names: str, count: int, folder: Path, told) -> None:
        devices._POLL = 0.02
        told.send(
            " ".join(map(str, devices.lock_free(names.split(","), count, folder)))
        )
        time.sleep(600)

    def held(self) -> str:
        assert self.told.poll(60), "no GPU came free"
        return self.told.recv()

    def kill(self) -> None:
        self.process.kill()
        self.process.join()


@pytest.fixture
def job(tmp_path):
    """Starts another job of the machine, which holds GPUs until it is killed or the
    test ends."""
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
    pair = job(2)
    third = job(1)
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
    return lambda **how: load_checkpoint(
        tiny_checkpoint("gpt_neox"), **how
    )._placement()


@pytest.mark.parametrize(
    ("how", "taken", "over", "held"),
    [
        ({"device_map": "auto", "gpus": 2}, "", [0, 1], [0, 1]),
        ({"device_map": "auto", "gpus": 3}, "GPU-0", [1, 2, 3], [1, 2, 3]),
        ({"gpus": 2}, "GPU-0", "cuda:1", [1]),  # nothing is spread: one is enough
        # a GPU that is named is shared on purpose
        ({"device": "cuda:3", "device_map": "auto", "gpus": 2}, "", [3], []),
        ({"device": "cpu", "device_map": "auto", "gpus": 2}, "", None, []),
    ],
)
def test_a_model_lies_on_as_many_free_gpus_as_its_job_asked_for(
    job, placed, four_gpus, no_locks, how, taken, over, held
):
    if taken:
        assert job(1, taken).held() == "0"
    spread = {"device_map": "auto", "max_memory": dict.fromkeys(over or (), 9)}
    told = (
        {"device_map": {"": over}} if isinstance(over, str) else spread if over else {}
    )
    assert placed(**how) == told
    assert list(no_locks) == held


def test_quantised_weights_compute_in_their_own_type(placed, four_gpus, monkeypatch):
    monkeypatch.setattr(target, "find_spec", lambda package: package == "bitsandbytes")
    how = placed(quantise=4, dtype="float16")
    assert how["device_map"] == {"": "cuda:0"}
    quantisation = how["quantization_config"]
    assert (
        quantisation.load_in_4bit,
        quantisation.bnb_4bit_quant_type,
        quantisation.bnb_4bit_compute_dtype,
    ) == (True, "nf4", torch.float16)
    quantisation = placed(quantise=8)["quantization_config"]
    assert (quantisation.load_in_8bit, quantisation.load_in_4bit) == (True, False)


def test_a_job_that_asked_for_gpus_and_finds_none_ends_unless_the_cpu_is_asked_for(
    placed, monkeypatch
):
    monkeypatch.setattr(torch.cuda, "is_available", lambda: False)
    with pytest.raises(
        InputError,
        match=r"asks for 2 GPU\(s\) .* finds none here.* --config device=cpu",
    ):
        placed(gpus=2)
    assert placed(device="cpu", gpus=2) == placed(gpus=0) == {}


SCRIPTS = sorted((Path(__file__).parents[2] / "scripts").glob("*.py"))


def now() -> tuple[int, bool, bool]:
    """Threads, whether kernels are deterministic, and whether cuDNN's attention may be
    taken."""
    deterministic = torch.are_deterministic_algorithms_enabled()
    return (
        torch.get_num_threads(),
        deterministic,
        torch.backends.cuda.cudnn_sdp_enabled(),
    )


def test_threads_and_kernels_are_set_within_and_put_back_however_it_ends():
    before = now()
    with torch_settings(before[0] + 1):
        assert now() == (before[0] + 1, True, False)
    assert now() == before
    with pytest.raises(KeyError), torch_settings(before[0] + 1):
        raise KeyError
    assert now() == before


def test_a_job_reads_nothing_of_the_configuration_that_would_not_start_it_again():
    """Snakemake compares a job's parameters, not the configuration; a higher budget
    alone changes no answer, and a revision that was read stays.

    Estimates and the check of the hub have no output, and so always run.
    """
    making = []
    for path in SCRIPTS:
        if path.stem not in ("estimate", "check_hub"):
            making.append(path.read_text())
    read = set()
    for text in making:
        for key in re.findall(
            r"snakemake\.config\b(?!\[\"budget_usd\"\]|\.get\(\"revisions\"\)).*", text
        ):
            read.add(key)
    assert not read


ABOUT = {"width": 8}


def taking(*seconds):
    """A way that takes these seconds, again and again."""
    return partial(next, itertools.cycle(seconds))


def types(float32, bfloat16):
    return {"float32": taking(float32), "bfloat16": taking(bfloat16)}


@pytest.fixture
def registered(tiny_checkpoint, tmp_path, monkeypatch):
    """A checkpoint under a record of the test's own, which nothing was measured for; it
    counts as large."""
    monkeypatch.setattr(target, "MEASURABLE", 0)
    return Path(shutil.copy(tiny_checkpoint("llama"), tmp_path))


@pytest.mark.parametrize(
    ("float32", "bfloat16", "chosen"),
    [
        (1.0, 1.6, "float32"),
        (1.4, 1.0, "float32"),
        (1.5, 1.0, "bfloat16"),
        (2.0, 1.0, "bfloat16"),
    ],
)
def test_bfloat16_must_be_clearly_faster(tmp_path, float32, bfloat16, chosen):
    assert speeds.faster(types(float32, bfloat16), ABOUT, tmp_path) == chosen
    (record,) = (tmp_path / "speeds").iterdir()
    assert read_json(record)["seconds"] == {"float32": float32, "bfloat16": bfloat16}


def test_what_was_chosen_is_kept_in_a_noisy_minute(tmp_path, log_lines):
    assert speeds.faster(types(2.0, 1.0), ABOUT, tmp_path) == "bfloat16"
    assert speeds.faster(types(1.0, 2.0), ABOUT, tmp_path) == "bfloat16"
    first, second = log_lines.messages
    assert "bfloat16 1e+03 ms, float32 2e+03 ms, measured now" in first
    assert "bfloat16 1e+03 ms, float32 2e+03 ms, as measured before" in second


@pytest.mark.parametrize("faster", ["float32", "bfloat16"])
def test_dtype_auto_is_what_is_faster_here(registered, monkeypatch, faster):
    monkeypatch.setattr(
        target,
        "products",
        lambda shapes, dtype: taking(1.0 if dtype == faster else 2.0),
    )
    for _ in range(2):
        assert load_checkpoint(registered, device="cpu").dtype == faster
        monkeypatch.setattr(target, "products", lambda shapes, dtype: taking(1.0))


def test_a_small_model_is_not_measured(tiny_checkpoint, monkeypatch):
    """A new folder would measure it again, and noise would decide on its numbers."""
    monkeypatch.setattr(target, "faster", None)
    small = load_checkpoint(tiny_checkpoint("llama"), device="cpu")
    assert small.dtype == "float32"


def test_a_type_that_is_given_is_not_measured_and_nor_is_a_gpu(registered, monkeypatch):
    assert (
        load_checkpoint(registered, dtype="bfloat16", device="cpu").dtype == "bfloat16"
    )
    monkeypatch.setattr(torch.cuda, "is_available", lambda: True)
    for supported, dtype in ((True, "bfloat16"), (False, "float32")):
        monkeypatch.setattr(
            torch.cuda, "is_bf16_supported", lambda including_emulation, s=supported: s
        )
        assert load_checkpoint(registered, device="cuda").dtype == dtype
    assert not (registered.parent / "speeds").exists()


def test_the_products_are_those_of_the_checkpoint(registered, monkeypatch):
    loaded = target_of(registered)
    shapes = loaded.checkpoint.matrix_shapes()
    matrices = []
    for weight in loaded.load().parameters():
        if weight.dim() == 2:
            matrices.append(tuple(weight.shape))
    assert sorted(shapes.elements()) == sorted(matrices)
    assert loaded.checkpoint.matrix_weights() == sum(
        rows * columns for rows, columns in matrices
    )
    monkeypatch.setattr(speeds, "time_call", lambda compute: compute() is not None)
    assert speeds.products(shapes, "bfloat16")() == len(matrices)
    assert speeds.products({(8192, 4): 3}, "float32")() == 12, (
        "a quarter of its rows is timed"
    )
