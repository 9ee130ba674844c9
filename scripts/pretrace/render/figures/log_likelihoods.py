"""The log-likelihood of each text of a panel, plain or after a prefix, from its passes."""

from collections.abc import Callable
from typing import Any, cast

import numpy as np
import pandas as pd

from pretrace.passes.requests import COORDINATES
from pretrace.render.names import where
from pretrace.render.registry import Artifact
from pretrace.render.results import Results
from pretrace.render.selecting import Panel
from pretrace.runtime.errors import InputError

Reader = Callable[..., Any]
"""`pretrace.passes.read`, or what stands in for it: an Arrow table or data frame with token statistics."""


def entries_of(artifact: Artifact, results: Results, panel: Panel, **wanted: Any) -> list[dict[str, Any]]:
    """The manifest's entries of the panel's texts, as it is seen (its view, no companion), and as `wanted`.

    One for each subset that the panel stands for.
    """
    wanted |= {"view": panel.get("view", artifact.get("options", {}).get("view", "original"))}
    wanted |= {"companion": "", "length": panel["length"]}
    start_token = panel.get("start_token", artifact.get("start_token"))
    if start_token is not None:
        wanted["start_token"] = start_token
    subsets = set(results.every_text(panel)["subset"])
    return [
        entry
        for entry in results.manifest(panel)["views"]
        if entry["subset"] in subsets and all(entry.get(key) == value for key, value in wanted.items())
    ]


def passes_of(
    artifact: Artifact, results: Results, panel: Panel, read: Reader | None, **wanted: Any
) -> pd.DataFrame:
    """The stored rows of the one pass of each subset; raises where there is none, or several."""
    if read is None:
        from pretrace import passes

        read = cast("Reader", passes.read)
    entries = entries_of(artifact, results, panel, **wanted)
    subsets = [entry["subset"] for entry in entries]
    if not entries or len(set(subsets)) < len(subsets):
        tokens = sorted({str(entry.get("start_token")) for entry in entries})
        there = (
            f"several passes, with start tokens {', '.join(tokens)}; name one" if entries else "no such pass"
        )
        raise InputError(f"{where(artifact, panel)}: there is {there} ({wanted})")
    frames = []
    for entry in entries:
        at = {key: entry[key] for key in COORDINATES if key in entry}
        table: Any = read(results.manifest(panel), results.store, **at)
        frames.append(table.to_pandas() if hasattr(table, "to_pandas") else table)
    return pd.concat(frames, ignore_index=True)


def log_likelihoods(
    artifact: Artifact, results: Results, panel: Panel, read: Reader | None, **wanted: Any
) -> "pd.Series[float]":
    """Mean log-probability (nats) of each text that has tokens, by text id."""
    frame = passes_of(artifact, results, panel, read, **wanted)
    frame = frame[frame["logprobs"].map(len) > 0]
    means = [float(np.mean(values, dtype=np.float64)) for values in frame["logprobs"]]
    return pd.Series(means, index=pd.Index(frame["text_id"]), dtype="float64")


def shots_of(artifact: Artifact, results: Results, panel: Panel, prefix: str, draw: int) -> list[int]:
    """How many shots of a prefix were passed, ascending; raises where none were."""
    found = sorted(
        {entry["shots"] for entry in entries_of(artifact, results, panel, prefix=prefix, draw=draw)}
    )
    if not found:
        raise InputError(f"{where(artifact, panel)}: there is no pass with {prefix} shots of draw {draw}")
    return found
