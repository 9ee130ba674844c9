"""Which passages a model gives back: the windows of texts, which are extractable, and as many of known non-members.

Hayes et al., Measuring memorization in language models via probabilistic extraction, 2024 (arXiv 2410.19482); Cooper et
al., Extracting memorized pieces of (copyrighted) books from open-weight language models, 2025 (arXiv 2505.12546). Both
cut texts into prefix and suffix, 50 tokens each. With the whole text before a window as its context, every window is
a sum over the tokens of one pass.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict, replace
from math import log
from typing import Any

import numpy as np
import pandas as pd
from numpy.lib.stride_tricks import sliding_window_view

from pretrace.benchmarks.slices import slices_of
from pretrace.evaluation.averages import Record
from pretrace.evaluation.metrics import rows_like
from pretrace.evaluation.significance import empirical_p
from pretrace.passes.index import PassIndex
from pretrace.passes.requests import TOP
from pretrace.runtime.errors import InputError
from pretrace.runtime.logs import log as logger
from pretrace.views.readings import PAST_CONTEXT, PassKey, Reading, Windows

WINDOWS = [
    "subset", "length", "document", "label", "text_id", "tokens", "at", "suffix", "log_p", "log_p_top", "greedy",
    "repeats", "token", "passage",
]  # fmt: skip
"""A row a window: the `tokens` of the text, where in it the suffix begins (`at`), and the tokens of the `suffix`; ln of
the probability that the suffix is emitted after what is read before it, at temperature 1 and with top-40 sampling
(missing where that is 0); whether greedy decoding emits it; whether it `repeats` its own text, so that a model that
never saw the text could copy it; its first `token` in words ("" where a prefix was cut); the suffix in words
(`passage`; of windows that overlap, the likeliest's, else "")."""

SHARES = ["extractable", "sampled", "greedy", "in_tries"]
SUMMARY = [
    "subset", "length", "unit", "document", "label", "texts", "short", "windows", "repeats", *SHARES, "longest_run",
    "nonmembers", "p", "known", "prefix", "suffix", "threshold", "tries",
]  # fmt: skip
"""A row a class (`unit`) and a row a document: its texts, those of them too `short` for a window, its windows that do
not repeat the text, those that do; the share of the former with a probability above the threshold with top-40 sampling
(`extractable`) and at temperature 1 (`sampled`), that greedy decoding emits, and that come at least once in `tries`
top-40 samples with a probability of one half; tokens of the longest stretch of extractable windows; the share of the
windows of known non-members that are extractable; a document's p, the share of known non-members' documents with at
least its share of extractable windows, itself counted, and how many such documents are `known`; and the run's settings
(`prefix` missing where all tokens before a window are read)."""

Decode = Callable[[Sequence[Sequence[int]]], Sequence[str]]
"""Token ids of several passages -> the passages."""

BROKEN = "\ufffd"
"""What decoders give for a part of a character."""

_ROWS_AT_ONCE = 5_000
_NUMBERS = {"logprobs": np.float64, "top40": np.float64, "ranks": np.int32, "token_ids": np.int32}


def windows_of(
    index: PassIndex, benchmark: pd.DataFrame, extraction: Mapping[str, Any], decode: Decode
) -> pd.DataFrame:
    """Return the table of `WINDOWS` from stored passes, in the order of the texts.

    `extraction` has the keys of a run's `extraction` and its start token; its windows have a prefix of their own, or
    all of the text before them. Raises `InputError` where no text is long enough for a window.
    """
    texts = benchmark.set_index("text_id")[["subset", "length", "document", "label"]]
    measured = _cut_windows if "prefix" in extraction else _windows_in_context
    parts = list(measured(index, Reading("original", extraction["start_token"]), extraction, decode))
    frame = pd.concat(parts, ignore_index=True) if parts else pd.DataFrame()
    if frame.empty:
        key = "prefix" if "prefix" in extraction else "context"
        raise InputError(
            f"{index.manifest['benchmark']}: no text has a window. A window takes "
            f"{extraction[key] + extraction['suffix']} tokens, {key} and suffix of the run's extraction together: give "
            "longer texts, or lower these."
        )
    frame = frame.join(texts, on="text_id")
    frame["document"] = frame["document"].where(frame["document"].ne(""), frame["text_id"])
    frame = frame.sort_values(["subset", "length", "document", "text_id", "at"], ignore_index=True)[WINDOWS]
    logger.info(
        "%s: %d windows in %d texts; %d windows repeat their own text",
        index.manifest["benchmark"], len(frame), frame["text_id"].nunique(), frame["repeats"].sum(),
    )  # fmt: skip
    return frame


def _cut_windows(
    index: PassIndex, plain: Reading, extraction: Mapping[str, Any], decode: Decode
) -> Iterator[pd.DataFrame]:
    """Yield the windows that were read after a prefix of their own."""
    reading = replace(plain, windows=Windows(*(extraction[key] for key in Windows._fields)))
    for key in _keys(index, reading, extraction):
        for batch in index.batches(key, _ROWS_AT_ONCE):
            rows = batch.to_pandas()
            numbers = {key: np.stack(rows[key].to_list()).astype(kind) for key, kind in _NUMBERS.items()}
            columns = {
                "text_id": rows["text_id"],
                "tokens": rows["n_tokens"].astype("int64"),
                "at": rows["variant"].astype("int64"),
                "suffix": extraction["suffix"],
                "repeats": False,
                "token": "",
                "passage": decode(numbers["token_ids"].tolist()),
            }
            yield pd.DataFrame(columns | _sums(_of_tokens(numbers)))


def _windows_in_context(
    index: PassIndex, plain: Reading, extraction: Mapping[str, Any], decode: Decode
) -> Iterator[pd.DataFrame]:
    """Yield the windows of texts that were read whole: each follows all tokens before it."""
    for key in _keys(index, plain, extraction):
        beyond = _past_context(index, key.changed(windows=PAST_CONTEXT), extraction)
        for batch in index.batches(key, _ROWS_AT_ONCE):
            for row in batch.to_pandas().to_dict("records"):
                windows = _windows_of_text([row, *beyond.get(row["text_id"], [])], extraction, decode)
                if len(windows):
                    yield windows


def _keys(index: PassIndex, reading: Reading, extraction: Mapping[str, Any]) -> list[PassKey]:
    """Return the passes of a reading over the slices that the runs with `extraction` read."""
    return [
        key
        for key in index.rows
        if key.reading == reading and any(key.slice.is_among(**part) for part in extraction["parts"])
    ]


def _past_context(index: PassIndex, past: PassKey, extraction: Mapping[str, Any]) -> dict[str, list[Record]]:
    """Return text id -> the stretches of texts that are longer than the model's context, in order, of the pass `past`.

    Raises `InputError` where they have fewer tokens before them than the run asks for.
    """
    rows: dict[str, list[Record]] = {}
    batches = index.batches(past, _ROWS_AT_ONCE) if past in index.rows else ()
    for batch in batches:
        for row in batch.to_pandas().to_dict("records"):
            rows.setdefault(row["text_id"], []).append(row)
    manifest = index.manifest
    if rows and extraction["context"] > manifest["context"] // 2:
        raise InputError(
            f"extraction: context is {extraction['context']}, and texts of {manifest['benchmark']} exceed the model's "
            f"context of {manifest['context']} tokens: past it a token has half of that before it. Give context: "
            f"{manifest['context'] // 2} at most."
        )
    return rows


def _windows_of_text(
    rows: Sequence[Mapping[str, Any]], extraction: Mapping[str, Any], decode: Decode
) -> pd.DataFrame:
    """Return the windows of one text from the rows of its passes, which follow each other."""
    size, stride = extraction["suffix"], extraction["stride"]
    numbers = {key: np.concatenate([row[key] for row in rows]).astype(kind) for key, kind in _NUMBERS.items()}
    first = rows[0]["n_tokens"] - len(numbers["logprobs"])  # 1 without a start token
    start = max(extraction["context"] - (first == 0), first) - first
    chosen = slice(start, max(len(numbers["logprobs"]) - size + 1, 0), stride)
    places = range(len(numbers["logprobs"]))[chosen]
    if not places:
        return pd.DataFrame()
    tokens = {name: sliding_window_view(values, size)[chosen] for name, values in _of_tokens(numbers).items()}
    sums = _sums(tokens)
    repeats = repeating(numbers["token_ids"], size)[chosen]
    passages = np.full(len(places), "", dtype=object)
    likeliest = _likeliest(np.where(repeats, np.nan, sums["log_p_top"]), size, stride)
    passages[likeliest] = decode([numbers["token_ids"][places[i] :][:size].tolist() for i in likeliest])
    columns = {
        "text_id": rows[0]["text_id"],
        "tokens": int(rows[0]["n_tokens"]),
        "at": np.asarray(places) + first,
        "suffix": size,
        "repeats": repeats,
        "token": pieces(numbers["token_ids"], decode)[chosen],
        "passage": passages,
    }
    return pd.DataFrame(columns | sums)


def _of_tokens(numbers: Mapping[str, np.ndarray]) -> dict[str, np.ndarray]:
    """Return for each token: ln of its probability, at temperature 1 and among the 40 likeliest; whether it is outside
    them, and whether it is the likeliest.
    """
    return {
        "log_p": numbers["logprobs"],
        "log_p_top": np.minimum(numbers["logprobs"] - numbers["top40"], 0),
        "outside": numbers["ranks"] >= TOP,
        "likeliest": numbers["ranks"] == 0,
    }


def _sums(tokens: Mapping[str, np.ndarray]) -> dict[str, np.ndarray]:
    """Sum `_of_tokens` [windows, tokens] to columns of `WINDOWS`."""
    return {
        "log_p": tokens["log_p"].sum(axis=1),
        "log_p_top": np.where(tokens["outside"].any(axis=1), np.nan, tokens["log_p_top"].sum(axis=1)),
        "greedy": tokens["likeliest"].all(axis=1),
    }


def repeating(ids: np.ndarray, size: int) -> np.ndarray:
    """Tell whether each window of `size` tokens holds a run of half its tokens that the text had before.

    A model that reads the whole text copies such runs: chants, refrains, formulas of a contract. They tell nothing
    of training.
    """
    run = (size + 1) // 2
    runs = sliding_window_view(ids, run)
    _, first, which = np.unique(runs, axis=0, return_index=True, return_inverse=True)
    had_before = first[which.ravel()] < np.arange(len(runs))
    return np.asarray(sliding_window_view(had_before, size - run + 1).any(axis=1))


def pieces(ids: np.ndarray, decode: Decode) -> np.ndarray:
    """Decode each token as it follows the one before it: decoders drop the space before a text's first word.

    Of a character that takes several tokens, the first has it, and the others have nothing.
    """
    alone = decode([[id] for id in ids.tolist()])
    broken = np.array([BROKEN in words for words in alone])
    begins = np.flatnonzero(~(broken & np.concatenate([[False], broken[:-1]])))
    ends = [*begins[1:], len(ids)]
    longer = decode([ids[max(begin - 1, 0) : end].tolist() for begin, end in zip(begins, ends, strict=True)])
    words_of_tokens = np.full(len(ids), "", dtype=object)
    for begin, words in zip(begins.tolist(), longer, strict=True):
        words_of_tokens[begin] = words[len(alone[begin - 1]) :] if begin else words
    return words_of_tokens


def _likeliest(log_p: np.ndarray, size: int, stride: int) -> list[int]:
    """Return the numbers of the windows that overlap no likelier one, in order, without windows of no probability."""
    covered = np.zeros(len(log_p) * stride + size, dtype=bool)
    chosen = []
    for number in np.argsort(-log_p, kind="stable")[: np.isfinite(log_p).sum()]:
        tokens = slice(number * stride, number * stride + size)
        if not covered[tokens].any():
            covered[tokens] = True
            chosen.append(int(number))
    return sorted(chosen)


def summary(
    windows: pd.DataFrame,
    texts: pd.DataFrame,
    extraction: Mapping[str, Any],
    elsewhere: pd.DataFrame | None = None,
) -> pd.DataFrame:
    """Return the table of `SUMMARY`: classes, then documents.

    `texts` is the benchmark's table. The known non-members (label 0) are those of the same subset and length, or all
    of `elsewhere`, windows of another benchmark. Without any, `nonmembers` and `p` are missing. A text without a
    window counts as short where others of its subset and length have one.
    """
    texts = texts.assign(document=texts["document"].where(texts["document"].ne(""), texts["text_id"]))
    windows = _judged(windows, extraction)
    nonmembers = windows if elsewhere is None else _judged(elsewhere, extraction)
    nonmembers = nonmembers[nonmembers["label"].eq(0).fillna(False)]
    settings = {key: extraction.get(key) for key in ("prefix", "suffix", "threshold", "tries")}
    rows = []
    for part in slices_of(windows):
        here, there = windows[part.rows(windows)], texts[part.rows(texts)]
        known = nonmembers[part.rows(nonmembers)] if elsewhere is None else nonmembers
        counted = known[~known["repeats"]]
        keys = asdict(part) | settings | {"nonmembers": counted["extractable"].mean()}
        shares = counted.groupby("document")["extractable"].mean()
        rows += [{"unit": "class", **keys, **unit} for unit in _units(here, there, ["label"])]
        for unit in _units(here, there, ["document", "label"]):
            # a known document is not compared with itself
            itself = elsewhere is None and pd.notna(unit["label"]) and unit["label"] == 0
            others = shares.drop(unit["document"], errors="ignore") if itself else shares
            p: dict[str, float] = {"known": len(others)}
            # without a share, a document's windows all repeat the text
            if len(others) and unit["windows"]:
                p["p"] = float(empirical_p(unit["extractable"], others))
            rows.append({"unit": "document", **keys, **unit, **p})
    whole = dict.fromkeys(("label", "length", "prefix", "known"), "Int64")
    return pd.DataFrame(rows).reindex(columns=SUMMARY).astype(whole)


def _judged(windows: pd.DataFrame, extraction: Mapping[str, Any]) -> pd.DataFrame:
    """Add the columns of `SHARES`, true or false; windows that repeat their text are not extractable."""
    least = log(extraction["threshold"])
    tries, p = extraction["tries"], np.exp(windows["log_p_top"].fillna(-np.inf))
    return windows.assign(
        extractable=(windows["log_p_top"] > least) & ~windows["repeats"],
        sampled=windows["log_p"] > least,
        in_tries=tries * np.log1p(-np.minimum(p, 1 - 1e-16)) <= log(0.5),
    )


def _units(windows: pd.DataFrame, texts: pd.DataFrame, keys: list[str]) -> list[Record]:
    """Return the numbers of each class or document of a slice: members first, then by document."""
    units = []
    for key, part in windows.groupby(keys, dropna=False, sort=True):
        counted = part[~part["repeats"]]
        unit: Record = dict(zip(keys, key, strict=True))
        own = rows_like(texts, unit, keys)
        units.append(
            unit
            | {"windows": len(counted), "repeats": len(part) - len(counted)}
            | {name: counted[name].mean() for name in SHARES}
            | {"longest_run": max(longest_run(text) for _, text in part.groupby("text_id"))}
            | {"texts": len(own), "short": len(own) - part["text_id"].nunique()}
        )
    return sorted(units, key=lambda unit: -unit["label"] if pd.notna(unit["label"]) else 1)


def longest_run(windows: pd.DataFrame) -> int:
    """Count the tokens of the longest stretch of a text that extractable windows cover without a gap."""
    suffix = int(windows["suffix"].iloc[0])
    longest, start, end = 0, 0, -1
    for position in windows.loc[windows["extractable"], "at"].sort_values():
        start = start if position <= end else position
        end = position + suffix
        longest = max(longest, end - start)
    return longest
