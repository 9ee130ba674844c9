"""Read the costs of a study's forward passes and questions from their manifests."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import pandas as pd

from pretrace.methods import METHODS, altered_views
from pretrace.methods.needs import FULL_VOCABULARY

BY_ITSELF = {"text", "token_ids", "logprobs", "lowercase", *FULL_VOCABULARY}
"""What the passes over a text and its lower-cased form answer."""

KEPT = (
    "view", "altered", "prefix", "draw", "shots", "subset", "length", "statistics", "texts", "skipped", "truncated",
    "tokens", "seconds", "cpu_seconds", "tokens_per_second", "peak_memory_mb",
    "prefix_way",
)  # fmt: skip


def passes_of(manifest: Mapping[str, Any]) -> pd.DataFrame:
    """Return a row per pass of a manifest: the device, the number format, and `KEPT`."""
    about = {key: manifest[key] for key in ("dtype", "device")}
    frame = pd.DataFrame([about | {key: entry.get(key) for key in KEPT} for entry in manifest["views"]])
    return frame.astype(dict.fromkeys(["draw", "shots", "length"], "Int64"))


def summed(passes: pd.DataFrame, keys: Sequence[str]) -> pd.DataFrame:
    """Sum the passes that agree in `keys`: `passes, texts, tokens, seconds, cpu_seconds, peak_memory_mb`, and the
    tokens per second. CPU seconds are missing if a pass has none.
    """
    typed = passes.astype(dict.fromkeys(["cpu_seconds", "peak_memory_mb"], "float64"))
    typed["computed"] = passes["tokens_per_second"] * passes["seconds"]
    sums = typed.groupby(list(keys), sort=False).agg(
        passes=("view", "size"),
        texts=("texts", "sum"),
        tokens=("tokens", "sum"),
        seconds=("seconds", "sum"),
        cpu_seconds=("cpu_seconds", lambda own: own.sum(skipna=False)),
        computed=("computed", "sum"),
        peak_memory_mb=("peak_memory_mb", "max"),
    )
    per_second = sums["computed"].div(sums["seconds"]).where(sums["seconds"] > 0, 0)
    return sums.assign(tokens_per_second=per_second).drop(columns="computed").reset_index()


def seconds_by_passes(
    manifest: Mapping[str, Any], methods: Iterable[str], subset: str, length: int | None
) -> dict[str, float]:
    """Return the seconds of the passes that each method reads over some texts, as if it alone were run.

    Methods that read more than these passes, or passes that were not run, are left out.
    """
    seconds = {}
    for method in methods:
        if (
            method in METHODS
            and METHODS[method].scope == "text"
            and BY_ITSELF.issuperset(METHODS[method].needs)
        ):
            altered = ("", *sorted(altered_views([method])))
            read = [_seconds(manifest["views"], view, subset, length) for view in altered]
            if all(read):  # every one has a pass
                seconds[method] = sum(map(sum, read))
    return seconds


def _seconds(
    views: Iterable[Mapping[str, Any]], altered: str, subset: str, length: int | None
) -> list[float]:
    """Return the seconds of each pass over the original texts, or over an altered form of them."""
    return [
        view["seconds"]
        for view in views
        if view["view"] == "original" and view["altered"] == altered
        if not view["prefix"] and not view["windows"]
        if view.get("length") in (length, None) and view.get("subset") in (subset, "", None)
    ]


def class_counts(texts: pd.DataFrame) -> dict[str, int]:
    """Count the texts, and the named documents, of each class, and the texts without a label."""
    label, documents = texts["label"], texts["document"].where(texts["document"] != "")
    return {
        "n_members": int((label == 1).sum()),
        "n_nonmembers": int((label == 0).sum()),
        "n_unlabelled": int(label.isna().sum()),
        "member_documents": documents[label.eq(1).fillna(False)].nunique(),
        "nonmember_documents": documents[label.eq(0).fillna(False)].nunique(),
    }
