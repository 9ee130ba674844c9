"""What forward passes ran on: stored beside each, listed for the study."""

import pytest
import torch

from pretrace.passes.cost import gpu_name
from pretrace.runtime import provenance


@pytest.fixture
def manifest(job):
    """Of a pass over one text that ran on the CPU."""
    return job(texts=["one two"])


def test_a_pass_on_the_cpu_names_no_gpu(manifest):
    assert [view["gpu"] for view in manifest["views"]] == [None]
    (listed,) = provenance.passes([manifest])
    assert (listed["device"], listed["gpu"], listed["texts"]) == ("cpu", "", 1)


def test_a_pass_names_the_gpu_that_computed_it(monkeypatch):
    monkeypatch.setattr(torch.cuda, "get_device_name", lambda device: f"the GPU of {device}")
    assert gpu_name("cuda:1") == "the GPU of cuda:1"
    assert gpu_name("cpu") is gpu_name("api") is None


def test_shots_that_do_not_fit_are_said_by_length_and_number(manifest):
    (view,) = manifest["views"]
    used = [(64, 7, 1), (64, 7, 3), (32, 7, 7), (128, 1, 0), (32, None, None)]
    views = [view | {"length": words, "shots": shots, "shots_used": fit} for words, shots, fit in used]
    (listed,) = provenance.passes([manifest | {"views": views}])
    assert listed["remarks"] == [
        "128 words: 0 of 1 shots fit into the model's context, so methods with 1 shots have a dash",
        "64 words: 1 of 7 shots fit into the model's context, so methods with 7 shots are marked",
    ]


def test_every_gpu_of_a_model_is_listed_once(manifest):
    (view,) = manifest["views"]
    gpus = ["H200", "H100", None, "H100"]
    (listed,) = provenance.passes([manifest | {"views": [view | {"gpu": gpu} for gpu in gpus]}])
    assert listed["gpu"] == "H100, H200"
    before = {key: value for key, value in view.items() if key != "gpu"}  # a record of an older version
    assert provenance.passes([manifest | {"views": [before]}])[0]["gpu"] == ""
