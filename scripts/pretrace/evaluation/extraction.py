"""Which passages a model gives back: the windows of texts, which are extractable, and as many of known non-members.

Hayes et al., Measuring memorization in language models via probabilistic extraction, 2024 (arXiv 2410.19482); Cooper et
al., Extracting memorized pieces of (copyrighted) books from open-weight language models, 2025 (arXiv 2505.12546).
"""

from collections.abc import Callable, Mapping, Sequence
from math import log
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from pretrace.evaluation.evidence import empirical_p
from pretrace.passes.manifest import PLAIN, read_batches
from pretrace.passes.requests import TOP
from pretrace.runtime.errors import InputError

WINDOWS = [
    "subset", "length", "document", "label", "text_id", "tokens", "at", "suffix", "log_p", "log_p_top", "greedy",
    "passage",
]  # fmt: skip
"""A row a window: the `tokens` of the text, where in it the suffix begins (`at`), and the tokens of the `suffix`; ln of
the probability that the suffix is emitted after its prefix, at temperature 1 and with top-40 sampling (missing where
that is 0); whether greedy decoding emits it; the suffix in words (`passage`)."""

SHARES = ["extractable", "sampled", "greedy", "in_tries"]
SUMMARY = [
    "subset", "length", "unit", "document", "label", "windows", *SHARES, "longest_run", "nonmembers", "p",
]  # fmt: skip
"""A row a class (`unit`) and a row a document: its windows, the share of them with a probability above the threshold
with top-40 sampling (`extractable`) and at temperature 1 (`sampled`), that greedy decoding emits, and that come at
least once in `tries` top-40 samples with a probability of one half; tokens of the longest stretch of extractable
windows; the share of the windows of known non-members that are extractable; and a document's p, the share of known
non-members' documents with at least its share of extractable windows, itself counted."""

CELL = ["subset", "length"]
Decode = Callable[[Sequence[Sequence[int]]], Sequence[str]]
"""Token ids of several passages -> the passages."""

_ROWS_AT_ONCE = 5_000


def windows_of(
    manifest: dict[str, Any], store: Path, benchmark: pd.DataFrame, start_token: str, decode: Decode
) -> pd.DataFrame:
    """The table of `WINDOWS` from the passes over windows that a manifest names, in the order of the texts.

    Raises `InputError` where no text is long enough for a window.
    """
    texts = benchmark.set_index("text_id")[[*CELL, "document", "label"]]
    parts = []
    for entry in manifest["views"]:
        if entry["windows"] and entry["start_token"] == start_token:
            at = {key: entry[key] for key in (*PLAIN, "view", "start_token", *CELL)}
            for batch in read_batches(manifest, store, at, _ROWS_AT_ONCE):
                parts.append(_measured(batch.to_pandas(), decode))
    frame = pd.concat(parts, ignore_index=True) if parts else pd.DataFrame()
    if frame.empty:
        raise InputError(
            f"{manifest['benchmark']}: no text has a window. A window is as many tokens as prefix and suffix of the "
            "run's extraction together: give longer texts, or a smaller prefix or suffix."
        )
    frame = frame.join(texts, on="text_id")
    frame["document"] = frame["document"].where(frame["document"].ne(""), frame["text_id"])
    return frame.sort_values([*CELL, "document", "text_id", "at"], ignore_index=True)[WINDOWS]


def _measured(rows: pd.DataFrame, decode: Decode) -> pd.DataFrame:
    logprobs, top_mass = (np.stack(rows[key].to_list()).astype(np.float64) for key in ("logprobs", "top40"))
    ranks = np.stack(rows["ranks"].to_list())
    in_top = (ranks < TOP).all(axis=1)
    return pd.DataFrame(
        {
            "text_id": rows["text_id"],
            "tokens": rows["n_tokens"].astype("int64"),
            "at": rows["variant"].astype("int64"),
            "suffix": logprobs.shape[1],
            "log_p": logprobs.sum(axis=1),
            "log_p_top": np.where(in_top, np.minimum(logprobs - top_mass, 0).sum(axis=1), np.nan),
            "greedy": (ranks == 0).all(axis=1),
            "passage": decode([ids.tolist() for ids in rows["token_ids"]]),
        }
    )


def summary(
    windows: pd.DataFrame, extraction: Mapping[str, Any], elsewhere: pd.DataFrame | None = None
) -> pd.DataFrame:
    """The table of `SUMMARY`: classes, then documents.

    `extraction` has the threshold and the tries. The known non-members (label 0) are those of the same subset
    and length, or all of `elsewhere`, windows of another benchmark. Without any, `nonmembers` and `p` are missing.
    """
    windows = _judged(windows, extraction)
    known_elsewhere = None if elsewhere is None else _nonmembers(_judged(elsewhere, extraction))
    rows = []
    for place, here in windows.groupby(CELL, dropna=False, sort=True):
        known = _nonmembers(here) if known_elsewhere is None else known_elsewhere
        share = known["extractable"].mean() if len(known) else np.nan
        about = dict(zip(CELL, place, strict=True)) | {"nonmembers": share}
        of_class = [about | one for one in _units(here, ["label"])]
        documents = _units(here, ["document", "label"])
        compared = _units(known, ["document"])
        of_documents = [
            about | one | {"p": _p(one, compared, itself=known_elsewhere is None)} for one in documents
        ]
        rows += [{"unit": "class", **one} for one in of_class]
        rows += [{"unit": "document", **one} for one in of_documents]
    return pd.DataFrame(rows).reindex(columns=SUMMARY).astype({"label": "Int64", "length": "Int64"})


def _judged(windows: pd.DataFrame, extraction: Mapping[str, Any]) -> pd.DataFrame:
    """The windows with the columns of `SHARES`, true or false."""
    least = log(extraction["threshold"])
    tries, p = extraction["tries"], np.exp(windows["log_p_top"].fillna(-np.inf))
    return windows.assign(
        extractable=windows["log_p_top"] > least,
        sampled=windows["log_p"] > least,
        in_tries=tries * np.log1p(-np.minimum(p, 1 - 1e-16)) <= log(0.5),
    )


def _nonmembers(windows: pd.DataFrame) -> pd.DataFrame:
    return windows[windows["label"].eq(0).fillna(False)]


def _units(windows: pd.DataFrame, keys: list[str]) -> list[dict[str, Any]]:
    """The windows of each class or document: members first, then by document."""
    found = []
    for key, of in windows.groupby(keys, dropna=False, sort=True):
        shares = {name: of[name].mean() for name in SHARES}
        run = max(longest_run(one) for _, one in of.groupby("text_id"))
        found.append(dict(zip(keys, key, strict=True)) | {"windows": len(of), **shares, "longest_run": run})
    return sorted(found, key=lambda one: -one["label"] if pd.notna(one.get("label")) else 1)


def longest_run(windows: pd.DataFrame) -> int:
    """Tokens of the longest stretch of a text that extractable windows cover without a gap."""
    suffix = int(windows["suffix"].iloc[0])
    longest, start, end = 0, 0, -1
    for at in windows.loc[windows["extractable"], "at"].sort_values():
        start = start if at <= end else at
        end = at + suffix
        longest = max(longest, end - start)
    return longest


def _p(document: Mapping[str, Any], known: list[dict[str, Any]], *, itself: bool) -> float:
    """Of a document among the documents of known non-members: itself left out where it is one of them."""
    is_known = itself and pd.notna(document["label"]) and document["label"] == 0
    left_out = document["document"] if is_known else None
    shares = [one["extractable"] for one in known if one["document"] != left_out]
    return float(empirical_p(document["extractable"], shares)) if shares else np.nan
