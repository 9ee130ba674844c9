"""Stored passes stay valid: a store that an earlier version filled is found again, whatever the code looks like."""

from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pandas as pd
import pytest
from made_up_jobs import NAMES, benchmark_of, request

from pretrace.passes import job
from pretrace.runtime.files import read_json, sha256_file, write_json

BENCHMARK = pd.concat([
    benchmark_of(["In 1934 it was", "A", ""], 32, "b"),
    benchmark_of(["The people of the United States know the state of the Union.", "In 1934"], 64, "a")
    .assign(text_id=["u0", "u1"]),
])  # fmt: skip


class Characters:
    """A tokenizer whose ids are code points; its start token is 1."""

    def __call__(self, texts: list[str], **_: Any) -> dict[str, Any]:
        return {"input_ids": [[ord(character) for character in text] for text in texts]}

    def get_vocab(self) -> dict[str, int]:
        return {"<s>": 1}


KEYS: list[tuple[str, dict[str, Any], list[str]]] = [
    (
        "float32",
        {"statistics": "top40"},
        [
            "43673e65be313d9f53c6260899fb4abecc8685609c6de09fa4e8caec3e57631b",
            "baaf7e27483d83484bcbcabafda39264f19bbc48044ecbfd1caa80239f590964",
        ],
    ),
    (
        "float32",
        {"statistics": "full", "start_token": "<s>"},
        [
            "c4b7de65f090faf1f1c3ea8c65c5d663c6eeb22b20ac214848c5e9006b59a69e",
            "d8515d6c2a80a12dad57774ffaaa14529f4efc707e8a660e5bd26897603cb75a",
        ],
    ),
    (
        "float32",
        {"altered": "lowercase"},
        [
            "c5e3c7574b9ab3e97934236881ec9e9999619477fb97c9a2914869c631f92435",
            "6d1416df5ec4ae2ffd3421674867a500ec80a821084b56fb96a495a797a6631d",
        ],
    ),
    (
        "float32",
        {"view": "delete-20"},
        [
            "a28667339e74c22aa2dbff942dad4bb4925fb5f2392732b0576a08de84eefddb",
            "8430f8982a850ebd4361512ae38a71a1b38315275dd620768a24374c35f48ccc",
        ],
    ),
    (
        "float32",
        {"windows": [6, 4, 3], "statistics": "top40"},
        [
            "36043598125c82b7129f46a5c7ce0c7d55d68436fed9dfb9eb90155ff03be82d",
            "2b0e83a7e5b06d144ca364019a227d9c31235b51c6f329c86b759f0bf8b2d847",
        ],
    ),
    (
        "float32",
        {"windows": "past_context", "statistics": "top40", "lengths": [64]},
        ["45938b886f5d81975ba97f13b407b125ef6e4892db6a1d85686af56cb649b8bc"],
    ),
    (
        "float32",
        {"prefix": "nonmember", "draw": 0, "shots": 1},
        [
            "0067f1db94ca2cbbf151d39c344fba6b37fe6c97ee7746640c88460a43cea009",
            "0802d01b7849a729ee0c0a9b225fc82eb37d4c59c36e6c566e3a0caa6189494d",
        ],
    ),
    (
        "float32",
        {"prefix": "nonmember", "draw": 1, "shots": 2},
        [
            "0067f1db94ca2cbbf151d39c344fba6b37fe6c97ee7746640c88460a43cea009",
            "07ec680654aa16144dcd9b8d82103c1f23cdbff37b206d9ea104e8e3b06a3f4f",
        ],
    ),
    (
        "float32",
        {
            "prefix": "member;separator=space",
            "draw": 0,
            "shots": 1,
            "start_token": "<s>",
            "inner_start": True,
        },
        [
            "e410e0ac45fde29fd4fc3d2124825be78bb9e2c981c57cd30c9b4d9d785c441d",
            "824af8f7d130248fdd211f250e7ced3c6727eb8875f802e2d71dfe9e12788595",
        ],
    ),
    (
        "float32",
        {"prefix": "zero_access;separator=start_token", "draw": 0, "shots": 1, "start_token": "<s>"},
        [
            "e410e0ac45fde29fd4fc3d2124825be78bb9e2c981c57cd30c9b4d9d785c441d",
            "f03b2f52e64340db5d265fdd07258b1ca11f15b7f88b0d7b376205bcb1981b85",
        ],
    ),
    (
        "bfloat16",
        {"statistics": "full", "start_token": "<s>"},
        [
            "acebd8389d4a6acaba711b599d0e7cfec5b762a068a8cc93a8141e9a52473c35",
            "2e8a4ead175d8dd651ded65500d35fa6364e0587475ef615bbb4cda8947eab81",
        ],
    ),
]
"""Number format, request -> keys of its passes in the store, as version 2 of the engine gave them before the identity
of a pass was one type. Should one change, users compute their passes again: GPU hours."""


@pytest.mark.parametrize(("dtype", "changes", "keys"), KEYS)
def test_a_store_that_exists_is_still_found(
    tmp_path: Path, dtype: str, changes: dict[str, Any], keys: list[str]
) -> None:
    store = tmp_path / "store"
    store.mkdir()
    for key in keys:
        (store / f"{key}.parquet").write_bytes(b"a stored pass")
        write_json(store / f"{key}.json", {"sha256": sha256_file(store / f"{key}.parquet")})
    target: Any = SimpleNamespace(  # without weights: nothing can be computed
        tokenizer=Characters(), digest="d" * 64, dtype=dtype, device="cpu", vocabulary=200, context=48
    )
    job.run(
        [request(**{"start_token": "none"} | changes)], benchmark=BENCHMARK, names=NAMES, target=target,
        store=store, manifest=tmp_path / "manifest.json", batch_tokens=64, threads=1,
        shots=lambda key: [shot + changes["prefix"][:3] for shot in ("first shot", "second")],
    )  # fmt: skip
    written = read_json(tmp_path / "manifest.json")["views"]
    assert {row["file"] for row in written} == {f"{key}.parquet" for key in keys}


def test_the_manifest_keeps_its_columns(tmp_path: Path) -> None:
    written = request(prefix="member", draw=1, shots=3, inner_start=True).to_json()
    assert list(written) == [
        "view", "altered", "prefix", "draw", "shots", "start_token", "inner_start", "windows", "statistics",
        "subsets", "lengths",
    ]  # fmt: skip
    assert request(windows=[6, 4, 3]).to_json()["windows"] == [6, 4, 3]
