"""Which passages a model gives back: the windows of texts, which are extractable, and
as many of known non-members.

Hayes et al., Measuring memorization in language models via probabilistic extraction,
2024 (arXiv 2410.19482); Cooper et al., Extracting memorized pieces of (copyrighted)
books from open-weight language models, 2025 (arXiv 2505.12546). Both cut texts into
prefix and suffix, 50 tokens each. Here the model reads the whole text before a window,
so that every window is a sum over the tokens of one pass.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict
from itertools import pairwise
from math import log
from typing import Any

import numpy as np
import pandas as pd
from numpy.lib.stride_tricks import sliding_window_view

from pretrace.benchmarks.subsets_and_lengths import Slice, slices_of
from pretrace.evaluation.averages import Record
from pretrace.evaluation.significance import empirical_p
from pretrace.passes.index import PassIndex
from pretrace.passes.requests import TOP
from pretrace.runtime.errors import InputError
from pretrace.runtime.logs import log as logger
from pretrace.views.readings import PassKey, Reading

WINDOWS = [
    "subset", "length", "document", "label", "text_id", "tokens", "at", "suffix",
    "log_p", "log_p_top", "greedy",
    "log_p_fifty", "repeats", "token", "passage",
]  # fmt: skip
"""A row a window: the `tokens` of the text, where in it the suffix begins (`at`), and
the tokens of the `suffix`; ln of the probability that the suffix is emitted after what
is read before it, at temperature 1 and with top-40 sampling (missing where that is 0);
whether greedy decoding emits it; the same ln with top-40 sampling for the `FIFTY`
tokens from there on, where as many are before them and they do not repeat the text;
whether it `repeats` its own text, so that a model that never saw the text could copy
it; its first `token` in words; the suffix in words (`passage`; of windows that overlap,
the likeliest's, else "")."""

FIFTY = 50
"""Tokens of prefix and of suffix in the literature."""

SHARES = ["extractable", "in_tries", "sampled", "greedy", "fifty"]
SUMMARY = [
    "subset", "length", "unit", "document", "label", "texts", "short", "tokens",
    "measured", *SHARES, "longest_run",
    "nonmembers", "p", "known", "windows", "extractable_windows", "repeats", "suffix",
    "least", "threshold",
    "tries",
]  # fmt: skip
"""A row a class (`unit`) and a row a document: its texts, those of them too `short` for
a window, the tokens of the others. Shares of these tokens: those in a window that does
not repeat the text (`measured`), and those in such a window with a probability above
the threshold with top-40 sampling (`extractable`) or at temperature 1 (`sampled`), that
comes at least once in `tries` top-40 samples with a probability of one half, that
greedy decoding emits, or of `FIFTY` tokens after as many (missing where no text has
one). Tokens of the longest stretch of extractable windows; the share of known
non-members' tokens that are extractable; a document's p, the share of known
non-members' documents with at least its share, itself counted, and how many such
documents are `known`; its windows that do not repeat the text, those of them that are
extractable, those that repeat it; and the run's settings (`least`: the tokens that a
window takes)."""

Extraction = Mapping[str, Any]
"""The keys of a run's `extraction`, and its start token."""

Decode = Callable[[Sequence[Sequence[int]]], Sequence[str]]
"""Token ids of several passages -> the passages."""

BROKEN = "\ufffd"
"""What decoders give for a part of a character."""

# texts of a pass that are read together: of millions, all would not fit into memory
_ROWS_AT_ONCE = 5_000
_TYPES = {
    "text_id": "O", "tokens": "i8", "at": "i8", "suffix": "i8", "log_p": "f8",
    "log_p_top": "f8", "greedy": "?",
    "log_p_fifty": "f8", "repeats": "?", "token": "O", "passage": "O",
}  # fmt: skip
COPIED_RUNS = ((3, 1_000), (5, np.inf))
"""(tokens of a run that a model copies, at most this many tokens after the same run).
The first pair finds lists that count; without its bound, a book would repeat itself
everywhere (tests/bench/bench_repeats.py)."""

_NUMBERS = {
    "logprobs": np.float64, "top40": np.float64, "ranks": np.int32,
    "token_ids": np.int32,
}  # fmt: skip


def windows_of(
    index: PassIndex,
    benchmark: pd.DataFrame,
    extraction: Extraction,
    decode: Decode,
) -> pd.DataFrame:
    """Return the table of `WINDOWS` from stored passes, in the order of the texts.

    Texts that are too short for a window have none.
    """
    texts = benchmark.set_index("text_id")[["subset", "length", "document", "label"]]
    parts = list(_windows_in_context(index, extraction, decode))
    if parts:
        windows = pd.concat(parts, ignore_index=True)
    else:
        windows = pd.DataFrame(columns=[*_TYPES]).astype(_TYPES)
        logger.warning(
            "%s: no text has the %d tokens that a window takes: give longer texts, or "
            "lower the run's extraction.",
            index.manifest["benchmark"],
            window_tokens(extraction),
        )
    windows = _with_named_documents(windows.join(texts, on="text_id"))
    order = ["subset", "length", "document", "text_id", "at"]
    windows = windows.sort_values(order, ignore_index=True)[WINDOWS]
    logger.info(
        "%s: %d windows in %d texts; %d windows repeat their own text",
        index.manifest["benchmark"],
        len(windows),
        windows["text_id"].nunique(),
        windows["repeats"].sum(),
    )
    return windows


def _with_named_documents(texts: pd.DataFrame) -> pd.DataFrame:
    """Return texts, of which one without a document is a document of its own name."""
    document = texts["document"]
    document = document.where(document.ne(""), texts["text_id"])
    return texts.assign(document=document)


def window_tokens(extraction: Extraction) -> int:
    """Return the tokens that a window and what is read before it take at least."""
    return int(extraction["suffix"] + extraction["context"])


def _windows_in_context(
    index: PassIndex, extraction: Extraction, decode: Decode
) -> Iterator[pd.DataFrame]:
    """Yield the windows of texts that were read whole: each follows all tokens before
    it."""
    reading = Reading("original", extraction["start_token"])
    for key in index.rows:
        if key.reading != reading or not _is_read(key.slice, extraction):
            continue
        beyond = _past_context(index, key.with_changes(past_context=True), extraction)
        for batch in index.batches(key, _ROWS_AT_ONCE):
            for row in batch.to_pandas().to_dict("records"):
                stretches = [row, *beyond.get(row["text_id"], [])]
                windows = _windows_of_text(stretches, extraction, decode)
                if len(windows):
                    yield windows


def _is_read(part: Slice, extraction: Extraction) -> bool:
    """Tell whether a run with `extraction` reads a slice of the benchmark."""
    return any(part.is_among(**read) for read in extraction["parts"])


def _past_context(
    index: PassIndex, past: PassKey, extraction: Extraction
) -> dict[str, list[Record]]:
    """Return text id -> the stretches of texts that are longer than the model's
    context, in order, of the pass `past`.

    Raises `InputError` where they have fewer tokens before them than the run asks for.
    """
    rows: dict[str, list[Record]] = {}
    batches = index.batches(past, _ROWS_AT_ONCE) if past in index.rows else ()
    for batch in batches:
        for row in batch.to_pandas().to_dict("records"):
            rows.setdefault(row["text_id"], []).append(row)
    context = index.manifest["context"]
    if rows and extraction["context"] > context // 2:
        raise InputError(
            f"extraction: context is {extraction['context']}, and texts of "
            f"{index.manifest['benchmark']} exceed the model's context of {context} "
            "tokens: past it a token has half of that before it. Give context: "
            f"{context // 2} at most."
        )
    return rows


def _windows_of_text(
    rows: Sequence[Mapping[str, Any]], extraction: Extraction, decode: Decode
) -> pd.DataFrame:
    """Return the windows of one text from the rows of its passes, which follow each
    other."""
    size, stride = extraction["suffix"], extraction["stride"]
    numbers = {}
    for key, kind in _NUMBERS.items():
        stretches = [row[key] for row in rows]
        numbers[key] = np.concatenate(stretches).astype(kind)
    ids = numbers["token_ids"]
    tokens = int(rows[0]["n_tokens"])
    first = tokens - len(ids)  # 1 without a start token
    context = extraction["context"] - (first == 0)
    start = max(context, first) - first
    chosen = slice(start, max(len(ids) - size + 1, 0), stride)
    places = np.arange(len(ids))[chosen]
    if not len(places):
        return pd.DataFrame()
    sums = {}
    for name, values in _sums_of(numbers, size).items():
        sums[name] = values[chosen]
    repeats = has_repeats(ids, size)[chosen]
    passages = np.full(len(places), "", dtype=object)
    log_p = np.where(repeats, np.nan, sums["log_p_top"])
    likeliest = _likeliest(log_p, size, stride)
    suffixes = [ids[place : place + size].tolist() for place in places[likeliest]]
    passages[likeliest] = decode(suffixes)
    columns = {
        "text_id": rows[0]["text_id"],
        "tokens": tokens,
        "at": places + first,
        "suffix": size,
        "log_p_fifty": _log_p_fifty(numbers, first)[places],
        "repeats": repeats,
        "token": pieces(ids, decode)[chosen],
        "passage": passages,
    }
    return pd.DataFrame(columns | sums)


def _log_p_fifty(numbers: Mapping[str, np.ndarray], first: int) -> np.ndarray:
    """Return the column `log_p_fifty` of windows that begin at each token of a text
    whose tokens are numbered from `first`."""
    ids = numbers["token_ids"]
    log_p = np.full(len(ids), np.nan)
    if len(ids) >= FIFTY:
        of_fifty = _sums_of(numbers, FIFTY)["log_p_top"]
        of_fifty[has_repeats(ids, FIFTY)] = np.nan
        start = FIFTY - first
        log_p[start : len(of_fifty)] = of_fifty[start:]
    return log_p


def _sums_of(numbers: Mapping[str, np.ndarray], size: int) -> dict[str, np.ndarray]:
    """Return the columns `log_p`, `log_p_top` and `greedy` of every window of `size`
    tokens of a text."""
    logprobs, ranks = numbers["logprobs"], numbers["ranks"]
    among_top = np.minimum(logprobs - numbers["top40"], 0)
    log_p_top = sliding_window_view(among_top, size).sum(axis=1)
    is_outside = sliding_window_view(ranks >= TOP, size).any(axis=1)
    log_p_top[is_outside] = np.nan
    return {
        "log_p": sliding_window_view(logprobs, size).sum(axis=1),
        "log_p_top": log_p_top,
        "greedy": sliding_window_view(ranks == 0, size).all(axis=1),
    }


def has_repeats(ids: np.ndarray, size: int) -> np.ndarray:
    """Tell whether half the tokens or more of each window of `size` tokens are in runs
    that the text had before.

    A model that reads the whole text copies such runs, with changes: chants, formulas
    of a contract, tables, lists. They tell nothing of training.
    """
    copied = np.zeros(len(ids), dtype=bool)
    for run, within in COPIED_RUNS:
        runs = pd.DataFrame(sliding_window_view(ids, min(run, len(ids))))
        places = pd.Series(runs.index)
        # the tokens since the same run was there before
        since = places.groupby([runs[column] for column in runs]).diff()
        is_copy = since.le(within).to_numpy()
        for column in range(runs.shape[1]):
            copied[column : column + len(runs)] |= is_copy
    number_copied = sliding_window_view(copied, size).sum(axis=1)
    return 2 * number_copied >= size


def pieces(ids: np.ndarray, decode: Decode) -> np.ndarray:
    """Decode each token as it follows the one before it: decoders drop the space before
    a text's first word.

    Of a character that takes several tokens, the first has it, and the others have
    nothing.
    """
    alone = decode([[id] for id in ids.tolist()])
    is_broken = np.array([BROKEN in words for words in alone])
    goes_on = np.append(False, is_broken[1:] & is_broken[:-1])
    begins = np.flatnonzero(~goes_on).tolist()
    # each with the token before it, whose words are taken off again
    with_last = []
    for begin, end in pairwise([*begins, len(ids)]):
        with_last.append(ids[max(begin - 1, 0) : end].tolist())
    words_of_tokens = np.full(len(ids), "", dtype=object)
    for begin, words in zip(begins, decode(with_last), strict=True):
        length_of_last = len(alone[begin - 1]) if begin else 0
        words_of_tokens[begin] = words[length_of_last:]
    return words_of_tokens


def _likeliest(log_p: np.ndarray, size: int, stride: int) -> list[int]:
    """Return the numbers of the windows that overlap no likelier one, in order, without
    windows of no probability."""
    covered = np.zeros(len(log_p) * stride + size, dtype=bool)
    falling = np.argsort(-log_p, kind="stable")
    chosen = []
    for number in falling[: np.isfinite(log_p).sum()].tolist():
        begin = number * stride
        tokens = slice(begin, begin + size)
        if not covered[tokens].any():
            covered[tokens] = True
            chosen.append(number)
    return sorted(chosen)


def summarise(
    windows: pd.DataFrame,
    texts: pd.DataFrame,
    extraction: Extraction,
    elsewhere: pd.DataFrame | None = None,
) -> pd.DataFrame:
    """Return the table of `SUMMARY`: classes, then documents.

    `texts` is the benchmark's table. The known non-members (label 0) are those of the
    same subset and length, or all of `elsewhere`, windows of another benchmark. Without
    any, `nonmembers` and `p` are missing. Shares of what has no window are missing.
    """
    texts = _with_named_documents(texts)
    texts = texts.join(_counts_of_texts(windows, extraction), on="text_id")
    settings = {key: extraction.get(key) for key in ("suffix", "threshold", "tries")}
    settings["least"] = window_tokens(extraction)
    known, rows = texts, []
    if elsewhere is not None:
        about = elsewhere[["text_id", "document", "label"]].drop_duplicates()
        known = about.join(_counts_of_texts(elsewhere, extraction), on="text_id")
    for part in slices_of(texts):
        if not _is_read(part, extraction):
            continue
        here = texts[part.rows(texts)]
        nonmembers = here if elsewhere is None else known
        is_nonmember = nonmembers["label"].eq(0).fillna(False)
        nonmembers = nonmembers[is_nonmember & nonmembers["measured"].gt(0)]
        sums = nonmembers.groupby("document")[["extractable", "tokens"]].sum()
        shares = sums["extractable"] / sums["tokens"]
        keys = asdict(part) | settings
        if len(sums):
            of_all = sums.sum()
            keys["nonmembers"] = of_all["extractable"] / of_all["tokens"]
        for unit in _units(here, ["label"]):
            rows.append(keys | unit | {"unit": "class"})
        for unit in _units(here, ["document", "label"]):
            others = shares
            label = unit["label"]
            is_known = bool(pd.notna(label) and label == 0)
            if elsewhere is None and is_known:
                # a known document is not compared with itself
                others = shares.drop(unit["document"], errors="ignore")
            row = keys | unit | {"unit": "document", "known": len(others), "p": None}
            if len(others):
                row["p"] = float(empirical_p(unit["extractable"], others))
            rows.append(row)
    whole = dict.fromkeys(("label", "length", "known"), "Int64")
    return pd.DataFrame(rows).reindex(columns=SUMMARY).astype(whole)


_COUNTS = [
    "tokens", "measured", *SHARES, "windows", "extractable_windows", "repeats",
    "longest_run",
]  # fmt: skip


def _counts_of_texts(windows: pd.DataFrame, extraction: Extraction) -> pd.DataFrame:
    """Return `_COUNTS` of each text with windows: its tokens, those that windows of
    each kind cover, and windows."""
    least = log(extraction["threshold"])
    p = np.exp(windows["log_p_top"].fillna(-np.inf))
    # the logarithm of (1 - p) ** tries, which a p of 1 would make infinite
    log_never = extraction["tries"] * np.log1p(-np.minimum(p, 1 - 1e-16))
    windows = windows.assign(
        measured=True,
        extractable=windows["log_p_top"] > least,
        in_tries=log_never <= log(0.5),
        sampled=windows["log_p"] > least,
        fifty=windows["log_p_fifty"] > least,
    )
    rows = {}
    for text_id, own in windows.groupby("text_id"):
        size, tokens = own["suffix"].iloc[0], own["tokens"].iloc[0]
        counts = {"tokens": tokens}
        counted = own[~own["repeats"]]
        for name in ("measured", *SHARES):
            begins = counted.loc[counted[name], "at"]
            counts[name] = count_covered(begins, size)
        # windows of `FIFTY` tokens, of which one that repeats the text has no value
        begins = own.loc[own["fifty"], "at"]
        has_fifty = tokens >= 2 * FIFTY
        counts["fifty"] = count_covered(begins, FIFTY) if has_fifty else np.nan
        extractable = counted.loc[counted["extractable"], "at"]
        rows[text_id] = counts | {
            "windows": len(counted),
            "extractable_windows": len(extractable),
            "repeats": len(own) - len(counted),
            "longest_run": longest_run(extractable, size),
        }
    counts_of_texts = pd.DataFrame.from_dict(rows, orient="index")
    return counts_of_texts.reindex(columns=_COUNTS).astype(float)


def _units(texts: pd.DataFrame, keys: list[str]) -> list[Record]:
    """Return the numbers of each class or document of a slice: members first, then by
    document."""
    units = []
    for key, own in texts.groupby(keys, dropna=False, sort=True):
        counts = own[_COUNTS].sum(min_count=1)
        counts["longest_run"] = own["longest_run"].max()
        shares = counts[["measured", *SHARES]] / counts["tokens"]
        if not counts["measured"] > 0:
            shares[SHARES] = np.nan
        unit = dict(zip(keys, key, strict=True))
        unit |= {"texts": len(own), "short": own["tokens"].isna().sum()}
        unit.update(counts.fillna(0).astype(int))
        unit.update(shares)
        units.append(unit)

    def place(unit: Record) -> float:
        return -unit["label"] if pd.notna(unit["label"]) else 1

    return sorted(units, key=place)


def count_covered(places: "pd.Series[int]", size: int) -> int:
    """Count the tokens that windows of `size` tokens cover which begin at `places`, in
    ascending order."""
    if not len(places):
        return 0
    return int(np.diff(places).clip(max=size).sum() + size)


def longest_run(places: "pd.Series[int]", size: int) -> int:
    """Count the tokens of the longest stretch that windows of `size` tokens cover
    without gap; see `count_covered`."""
    gaps = np.flatnonzero(np.diff(places) > size) + 1
    longest = 0
    for begin, end in pairwise([0, *gaps.tolist(), len(places)]):
        longest = max(longest, count_covered(places[begin:end], size))
    return longest
