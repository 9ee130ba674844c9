"""Stored passes stay valid: a store that an earlier version filled is found again,
whatever the code looks like."""

import json
from pathlib import Path
from types import SimpleNamespace
from typing import Any
from unittest.mock import Mock

import pandas as pd
import pytest
from made_up_jobs import NAMES, benchmark_of, request

from pretrace.passes import job, requests
from pretrace.passes.cost import Cost
from pretrace.runtime.files import read_json, sha256_file, write_json

BENCHMARK = pd.concat([
    benchmark_of(["In 1934 it was", "A", ""], 32, "b"),
    benchmark_of(["The people of the United States know the state of the Union.",
                  "In 1934"], 64, "a")
    .assign(text_id=["u0", "u1"]),
])  # fmt: skip


class Characters:
    """A tokenizer whose ids are code points; its start token is 1."""

    def __call__(self, texts: list[str], **_: Any) -> dict[str, Any]:
        return {"input_ids": [[ord(character) for character in text] for text in texts]}

    def get_vocab(self) -> dict[str, int]:
        return {"<s>": 1}


KEYS = [
    json.loads(line)
    for line in (Path(__file__).parent / "pass_keys.jsonl")
    .read_text("utf-8")
    .splitlines()
]
"""Number format, request, and the keys of its passes in the store, as version 6 of the
engine gives them. Should one change, users compute their passes again: GPU hours."""


@pytest.mark.parametrize(
    ("device", "dtype", "version"),
    [
        ("cpu", "bfloat16", requests.ENGINE_VERSION),
        ("cuda", "float32", requests.ENGINE_VERSION),
        ("api", "api", requests.ENGINE_VERSION),
        ("cuda", "bfloat16", f"{requests.ENGINE_VERSION}, GPU {requests.GPU_VERSION}"),
        (
            "cuda:1",
            "float16-int8",
            f"{requests.ENGINE_VERSION}, GPU {requests.GPU_VERSION}",
        ),
    ],
)
def test_another_kernel_of_gpus_takes_no_pass_from_those_who_have_none(
    device, dtype, version
):
    assert requests.engine_of(SimpleNamespace(device=device, dtype=dtype)) == version


@pytest.mark.parametrize(
    ("asked", "device", "tokens"),
    [
        ("auto", "cuda", 8192),
        ("auto", "cuda:3", 8192),
        ("auto", "cpu", 2048),
        ("auto", "api", 2048),
        (64, "cuda", 64),
    ],
)
def test_batches_are_as_large_as_suits_the_device_unless_a_number_is_set(
    asked, device, tokens
):
    assert requests.batch_tokens_of(asked, device) == tokens


@pytest.mark.parametrize("golden", KEYS)
def test_a_store_that_exists_is_still_found(tmp_path, golden, monkeypatch):
    # the made-up tokenizer has no files to check
    check = Mock(facts=lambda starts: {"remarks": []})
    monkeypatch.setattr(job, "TextCheck", lambda target: check)
    keys = golden["keys"]
    changes = golden["request"]
    store = tmp_path / "store"
    store.mkdir()
    for key in keys:
        (store / f"{key}.parquet").write_bytes(b"a stored pass")
        cost = Cost().record() | {"batch_tokens": 64, "gpu": None}
        cost["sha256"] = sha256_file(store / f"{key}.parquet")
        write_json(store / f"{key}.json", cost)
    target: Any = SimpleNamespace(  # without weights: nothing can be computed
        tokenizer=Characters(),
        digest="d" * 64,
        dtype=golden["dtype"],
        device="cpu",
        vocabulary=200,
        context=48,
        reads_alone=False,
    )
    job.run(
        [request(**{"start_token": "none"} | changes)],
        benchmark=BENCHMARK,
        names=NAMES,
        target=target,
        store=store,
        manifest=tmp_path / "manifest.json",
        batch_tokens=64,
        threads=1,
        shots=lambda key: [
            shot + changes["prefix"][:3] for shot in ("first shot", "second")
        ],
    )
    written = read_json(tmp_path / "manifest.json")["views"]
    files = {row["files"][0]["file"] for row in written}
    assert files == {f"{key}.parquet" for key in keys}
