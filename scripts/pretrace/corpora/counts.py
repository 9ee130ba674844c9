"""Token counts of a corpus, exactly those of encoding every document, from its segments.

Each distinct segment is encoded once and weighed with its count; segments of equal counts are encoded as one
text, because the join of two segments is itself a cut. Documents that a tokenizer does not treat as the sum
of their segments are encoded whole in exchange for their segments.
"""

from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from pretrace.corpora.cutting import Cutting
from pretrace.corpora.encoding import Encoder
from pretrace.corpora.segments import METASPACE, WHITE_SPACE, read_documents, segments_of
from pretrace.runtime.errors import InputError
from pretrace.runtime.files import open_parquet, read_table, write_parquet
from pretrace.runtime.logs import Progress, log

_JOINED = 1 << 12  # bytes of segments in one text
_STRINGS = 1 << 14  # Arrow strings made Python strings at a time


def count_tokens(
    segments: Path, documents: Path, tokenizer: Any, out: Path, max_tokens: int | None = None
) -> None:
    """Write the token counts of one shard: Parquet with `token_id`, `count` (int64, only non-zero, by token
    id).

    Counts tokens, not documents, without special tokens: neither those that a tokenizer adds nor those that a
    text spells. `segments` and `documents` are the files of the same shard. `tokenizer`: as
    `models.load_encoder` gives it. `max_tokens` cuts every document after that many tokens. Every document is
    encoded if segments are not exact for the tokenizer, or with `max_tokens`.
    """
    encoder = Encoder(tokenizer, max_tokens)
    if encoder.cutting is None:
        log.info(
            "%s: every document is encoded: segments are not known to be exact for this tokenizer", out.stem
        )
        counts = direct_counts(documents, encoder)
    else:
        counts = _from_segments(segments, documents, encoder, encoder.cutting)
    _write(counts, out)


def direct_counts(documents: Path, encoder: Encoder) -> np.ndarray:
    """The counts by encoding every document of a shard: (encoder.size,) int64."""
    counts = np.zeros(encoder.size, np.int64)
    with Progress(f"documents of {documents.stem}", total=None, unit="documents") as progress:
        for texts in read_documents(documents):
            counts += encoder.count(_strings(texts))
            progress.update(len(texts))
    return counts


def reduce_counts(paths: Iterable[Path], out: Path) -> None:
    """Add up the counts of a corpus's shards."""
    tables = [read_table(path, ["token_id", "count"]) for path in paths]
    size = 1 + max((pc.max(table["token_id"]).as_py() or 0 for table in tables), default=0)
    total = np.zeros(size, np.int64)
    for table in tables:
        total[table["token_id"].to_numpy()] += table["count"].to_numpy()
    if not total.any():
        raise InputError(f"{out}: the corpus has no token; check that its documents hold text")
    _write(total, out)


def log_frequencies(counts: Path, vocabulary: int) -> np.ndarray:
    """ln q(v) = ln((count(v) + 1) / (N + V)), natural logarithm: (V,) float64.

    N: all counted tokens; V = `vocabulary`: the size of the model's output layer. Zhang et al., Pretraining
    Data Detection for Large Language Models: A Divergence-based Calibration Method, EMNLP 2024, equation 5.
    """
    table = read_table(counts, ["token_id", "count"])
    ids, found = table["token_id"].to_numpy(), table["count"].to_numpy()
    if len(ids) and ids.max() >= vocabulary:
        raise InputError(
            f"{counts}: token {ids.max()} is beyond the model's {vocabulary} outputs; "
            "count the corpus with the tokenizer of this model"
        )
    smoothed = np.ones(vocabulary)
    smoothed[ids] += found
    return np.log(smoothed) - np.log(found.sum() + vocabulary)


def _from_segments(segments: Path, documents: Path, encoder: Encoder, cutting: Cutting) -> np.ndarray:
    counts = np.zeros(encoder.size, np.int64)
    traced = 0
    with open_parquet(segments) as file, Progress(
        f"segments of {segments.stem}", total=file.metadata.num_rows, unit="segments"
    ) as progress:  # fmt: skip
        for group in range(file.num_row_groups):
            table = file.read_row_group(group)
            traced += pc.sum(_holds(table["segment"], cutting.traces, cutting)).as_py() or 0
            counts += _segment_counts(table, encoder, cutting)
            progress.update(table.num_rows)
    return counts + _corrections(documents, encoder, cutting) if traced else counts


def _corrections(documents: Path, encoder: Encoder, cutting: Cutting) -> np.ndarray:
    """Documents that are not the sum of their segments: their counts, less those of their segments."""
    counts = np.zeros(encoder.size, np.int64)
    whole = 0
    for texts in read_documents(documents):
        foreign = texts.filter(_holds(texts, cutting.foreign, cutting))
        whole += len(foreign)
        if len(foreign):
            counts += encoder.count(_strings(foreign))
            counts -= _segment_counts(segments_of(foreign), encoder, cutting)
    log.info("%d documents are encoded whole (they hold an added token's text or U+2581)", whole)
    return counts


def _segment_counts(table: pa.Table, encoder: Encoder, cutting: Cutting) -> np.ndarray:
    """Token counts of segments (`segments.SCHEMA`), each weighed with its count."""
    texts = table["segment"]
    if cutting.prepends:
        texts = pc.if_else(table["initial"], texts, pc.utf8_slice_codeunits(texts, 1))
    alone = pc.or_(pc.or_(table["initial"], _holds(table["segment"], cutting.traces, cutting)), _open(table))
    counts = encoder.count(_strings(texts.filter(alone)), table["count"].filter(alone).to_pylist())
    return counts + encoder.count(*_joined(table.filter(pc.invert(alone)), cutting))


def _joined(table: pa.Table, cutting: Cutting) -> tuple[Iterator[str], list[int]]:
    """Texts of several segments that occur equally often, and how often."""
    order = np.argsort(table["count"].to_numpy(), kind="stable")
    segments, weights = table["segment"].take(order).combine_chunks(), table["count"].to_numpy()[order]
    page = np.cumsum(pc.binary_length(segments).to_numpy(zero_copy_only=False)) // _JOINED
    first = np.flatnonzero(np.diff(weights, prepend=-1) | np.diff(page, prepend=-1))
    groups = pa.ListArray.from_arrays(np.append(first, len(segments)).astype(np.int32), segments)
    texts = _strings(pc.binary_join(groups, ""))
    return (text[cutting.prepends :] for text in texts), weights[first].tolist()


def _open(table: pa.Table) -> pa.ChunkedArray:
    """Segments that no cut may follow: they end a document in white space or U+2581."""
    return pc.match_substring_regex(table["segment"], f"[{WHITE_SPACE}{METASPACE}]\\z")


def _holds(texts: pa.Array, parts: tuple[str, ...], cutting: Cutting) -> pa.Array:
    """Whether each text contains one of the parts, unchanged or composed as the tokenizer composes it."""
    if not parts:
        return pa.repeat(False, len(texts))
    pattern = "|".join("".join(f"\\x{{{ord(character):x}}}" for character in part) for part in parts)
    held = pc.match_substring_regex(texts, pattern)
    if not cutting.composes:
        return held
    return pc.or_(held, pc.match_substring_regex(pc.utf8_normalize(texts, "NFC"), pattern))


def _strings(texts: pa.Array) -> Iterator[str]:
    for start in range(0, len(texts), _STRINGS):
        yield from texts.slice(start, _STRINGS).to_pylist()


def _write(counts: np.ndarray, out: Path) -> None:
    ids = np.flatnonzero(counts)
    write_parquet(out, pa.table({"token_id": pa.array(ids, pa.int64()), "count": pa.array(counts[ids])}))
