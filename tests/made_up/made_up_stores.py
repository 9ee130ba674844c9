"""Made-up passes of a benchmark in a store, as run_passes leaves them, and their
scores."""

from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa

from pretrace.methods import Inputs, TokenStatistics, score
from pretrace.passes.index import PassIndex
from pretrace.runtime.files import sha256_file, write_json, write_parquet

VOCABULARY = 20


def made_up_benchmark(
    count: int = 20, *, lengths: tuple[int | None, ...] = (32,)
) -> pd.DataFrame:
    rows = []
    for length in lengths:
        for i in range(count):
            rows.append(
                {
                    "text_id": f"{length or 'x'}-{i:02d}",
                    "text": f"Text {i} says {('nay', 'aye')[i % 2]} {length}.",
                    "label": i % 2,
                    "subset": "",
                    "length": length,
                    "document": "",
                    "fold": i // 2 % 5,
                }
            )
    return pd.DataFrame(rows).astype({"length": "Int64", "label": "Int64"})


class Store:
    """Pass files as the engine writes them, with made-up statistics drawn from the text
    id."""

    def __init__(self, folder: Path, model: str, benchmark: pd.DataFrame) -> None:
        self.folder, self.model, self.benchmark = folder, model, benchmark
        self.manifest: dict[str, Any] = {
            "study": "test",
            "model": model,
            "benchmark": "made_up",
            "vocabulary": VOCABULARY,
            "views": [],
        }

    @property
    def passes(self) -> PassIndex:
        return PassIndex(self.manifest, self.folder)

    def manifest_file(self) -> Path:
        path = self.folder / f"{self.model}.json"
        write_json(path, self.manifest)
        return path

    def row(self, id: str, altered: str = "", variant: int = 0) -> dict[str, Any]:
        seed = [*id.encode(), *self.model.encode(), *altered.encode(), variant]
        rng = np.random.default_rng(seed)
        n = int(rng.integers(5, 12))
        return {
            "text_id": id,
            "variant": variant,
            "token_ids": rng.integers(VOCABULARY, size=n).tolist(),
            "logprobs": (-rng.exponential(3, n)).tolist(),
            "entropies": rng.gamma(2, 1, n).tolist(),
            "variances": rng.gamma(3, 1, n).tolist(),
            "n_tokens": n,
            "truncated": False,
            "shots_used": None,
            "skipped": None,
            "highest": (-rng.exponential(1, n)).tolist(),
            "ranks": rng.integers(0, 5, n).tolist(),
            "top40": [],
        }

    def add(self, *, altered: str = "", start_token: str = "none",
            view: str = "original",
            changes: dict[str, dict[str, Any]] | None = None, variants: int = 1,
            prefix: str = "",
            draw: int | None = None, shots: int | None = None,
            inner_start: bool = False,
            full: bool | None = None) -> "Store":  # fmt: skip
        """A pass over every cell of the benchmark; `changes` overwrites columns by text
        id."""
        beside = altered or (f"{prefix} {draw} {shots}" if prefix else "")
        full = not beside if full is None else full
        changes = changes or {}
        name = f"{self.model}-{view}-{beside}-{start_token.strip('<|>')}"
        for length, texts in self.benchmark.groupby("length", dropna=False):
            words = None if pd.isna(length) else int(length)
            rows = []
            for id in texts["text_id"]:
                changed = {"shots_used": shots} | changes.get(id, {})
                if "absent" not in changed:
                    for variant in reversed(range(variants)):
                        rows.append(self.row(id, beside, variant) | changed)
            path = self.folder / f"{name}-{words}.parquet"
            write_parquet(path, _table(rows, full))
            self.manifest["views"].append(
                {
                    "view": view,
                    "altered": altered,
                    "prefix": prefix,
                    "draw": draw,
                    "shots": shots,
                    "start_token": start_token,
                    "inner_start": inner_start,
                    "past_context": False,
                    "subset": "",
                    "length": words,
                    "statistics": "full" if full else "logprobs",
                    "files": [{"file": path.name, "sha256": sha256_file(path)}],
                }
            )
        return self


def _table(rows: list[dict[str, Any]], full: bool) -> pa.Table:
    floats = pa.list_(pa.float32())
    types = {
        "text_id": pa.string(),
        "variant": pa.int32(),
        "token_ids": pa.list_(pa.int32()),
        "logprobs": floats,
        "n_tokens": pa.int32(),
        "truncated": pa.bool_(),
        "shots_used": pa.int32(),
        "skipped": pa.string(),
    }
    of_full_passes = {
        "entropies": floats,
        "variances": floats,
        "highest": floats,
        "ranks": pa.list_(pa.int32()),
    }
    columns = {"top40": pa.nulls(len(rows), floats)}
    for name, kind in (types | of_full_passes).items():
        is_shown = full or name in types
        values = [row[name] if is_shown else None for row in rows]
        columns[name] = pa.array(values, type=kind)
    return pa.table(columns)


def a_run(*methods: str | dict[str, Any], **changes: Any) -> dict[str, Any]:
    chosen = []
    for method in methods:
        if isinstance(method, str):
            method = {"method": method, "parameters": {}}
        chosen.append(method)
    return {
        "model": "tiny",
        "benchmark": "made_up",
        "subsets": None,
        "lengths": None,
        "start_token": "none",
        "inner_start": False,
        "views": ["original"],
        "draws": [0],
        "corpora": [],
        "references": [],
        "methods": chosen,
    } | changes


def score_of(store: Store, *runs: dict[str, Any], **more: Any) -> pd.DataFrame:
    parts = score(list(runs), Inputs(store.passes, store.benchmark, **more))
    return pd.concat(parts, ignore_index=True)


def statistics_of(store: Store, id: str, **more: Any) -> TokenStatistics:
    """What the store holds of a text, in float32 as written."""
    row = store.row(id)
    text = store.benchmark.set_index("text_id")["text"][id]
    return TokenStatistics(
        text=text,
        token_ids=np.array(row["token_ids"]),
        logprobs=as_written(row["logprobs"]),
        entropies=as_written(row["entropies"]),
        variances=as_written(row["variances"]),
        **more,
    )


def as_written(values: list[float]) -> np.ndarray:
    return np.float32(values).astype(float)


def mean_logprob(store: Store, id: str, beside: str = "", variant: int = 0) -> float:
    """Of a text of a pass, in float32 as written."""
    logprobs = store.row(id, beside, variant)["logprobs"]
    return float(as_written(logprobs).mean())


def counts_file(path: Path, counts: dict[int, int]) -> Path:
    columns = {"token_id": list(counts), "count": list(counts.values())}
    write_parquet(path, pa.table(columns))
    return path
