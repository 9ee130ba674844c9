"""Which way to compute is faster is measured once, and what was found is kept."""

import itertools
import shutil
from functools import partial
from pathlib import Path

import pytest
import torch
from made_up_jobs import target_of

from pretrace.models import speeds, target
from pretrace.models.target import load_checkpoint
from pretrace.runtime.files import read_json

ABOUT = {"width": 8}


def taking(*seconds):
    """A way that takes these seconds, again and again."""
    return partial(next, itertools.cycle(seconds))


def types(float32, bfloat16):
    return {"float32": taking(float32), "bfloat16": taking(bfloat16)}


@pytest.fixture
def registered(tiny_checkpoint, tmp_path, monkeypatch):
    """A checkpoint under a record of the test's own, which nothing was measured for; it counts as large."""
    monkeypatch.setattr(target, "MEASURABLE", 0)
    return Path(shutil.copy(tiny_checkpoint("llama"), tmp_path))


@pytest.mark.parametrize(
    ("float32", "bfloat16", "chosen"),
    [(1.0, 1.6, "float32"), (1.4, 1.0, "float32"), (1.5, 1.0, "bfloat16"), (2.0, 1.0, "bfloat16")],
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
    monkeypatch.setattr(target, "products", lambda shapes, dtype: taking(1.0 if dtype == faster else 2.0))
    for _ in range(2):
        assert load_checkpoint(registered, device="cpu").dtype == faster
        monkeypatch.setattr(target, "products", lambda shapes, dtype: taking(1.0))


def test_a_small_model_is_not_measured(tiny_checkpoint, monkeypatch):
    """A new folder would measure it again, and noise would decide on its numbers."""
    monkeypatch.setattr(target, "faster", None)
    small = load_checkpoint(tiny_checkpoint("llama"), device="cpu")
    assert small.dtype == "float32"


def test_a_type_that_is_given_is_not_measured_and_nor_is_a_gpu(registered, monkeypatch):
    assert load_checkpoint(registered, dtype="bfloat16", device="cpu").dtype == "bfloat16"
    monkeypatch.setattr(torch.cuda, "is_available", lambda: True)
    for supported, dtype in ((True, "bfloat16"), (False, "float32")):
        monkeypatch.setattr(torch.cuda, "is_bf16_supported", lambda including_emulation, s=supported: s)
        assert load_checkpoint(registered, device="cuda").dtype == dtype
    assert not (registered.parent / "speeds").exists()


def test_the_products_are_those_of_the_checkpoint(registered, monkeypatch):
    loaded = target_of(registered)
    shapes = loaded.checkpoint.matrix_shapes()
    matrices = [tuple(weight.shape) for weight in loaded.load().parameters() if weight.dim() == 2]
    assert sorted(shapes.elements()) == sorted(matrices)
    assert loaded.checkpoint.matrix_weights() == sum(rows * columns for rows, columns in matrices)
    monkeypatch.setattr(speeds, "timed", lambda compute: compute() is not None)
    assert speeds.products(shapes, "bfloat16")() == len(matrices)
    assert speeds.products({(8192, 4): 3}, "float32")() == 12, "a quarter of its rows is timed"
