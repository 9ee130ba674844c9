"""Token counts of a corpus: every document is encoded, and its tokens are counted."""

from collections.abc import Iterable, Iterator
from itertools import chain
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from pretrace.corpora.sources import by_size
from pretrace.runtime.errors import InputError
from pretrace.runtime.files import open_parquet, read_table, write_parquet
from pretrace.runtime.logs import Progress

_BATCH = 1 << 21  # characters encoded at a time


def count_tokens(
    documents: Path, tokenizer: Any, out: Path, max_tokens: int | None = None
) -> None:
    """Write the token counts of one shard: Parquet with `token_id`, `count` (int64,
    only non-zero, by token id).

    Counts tokens without special tokens: neither those that a tokenizer adds nor those
    that a text spells. `tokenizer`: as `models.load_encoder` gives it. `max_tokens`
    cuts every document after that many tokens.
    """
    special = _special_ids(tokenizer)
    size = 1 + max([*tokenizer.get_vocab().values(), *special])
    counts = np.zeros(size, np.int64)
    what = f"counting tokens of shard {documents.stem}"
    with (
        open_parquet(documents) as file,
        Progress(what, file.metadata.num_rows, "documents") as progress,
    ):
        for group in range(file.num_row_groups):
            texts = file.read_row_group(group, columns=["text"])["text"]
            for batch in by_size(texts.to_pylist(), _BATCH):
                encoded = _encoded(tokenizer, batch)
                ids = chain.from_iterable(ids[:max_tokens] for ids in encoded)
                counts += np.bincount(np.fromiter(ids, np.int64), minlength=size)
                progress.update(len(batch))
    counts[special] = 0
    _write(counts, out)


def _is_fast(tokenizer: Any) -> bool:
    """Tell a `tokenizers.Tokenizer`, of Rust, from a slow tokenizer of transformers."""
    return hasattr(tokenizer, "encode_batch_fast")


def _encoded(tokenizer: Any, texts: list[str]) -> Iterator[list[int]]:
    """Yield the token ids of each text."""
    if _is_fast(tokenizer):
        for encoding in tokenizer.encode_batch_fast(texts, add_special_tokens=False):
            yield encoding.ids
    else:
        for text in texts:
            yield tokenizer(text, add_special_tokens=False)["input_ids"]


def _special_ids(tokenizer: Any) -> list[int]:
    if not _is_fast(tokenizer):
        return list(tokenizer.all_special_ids)
    special = []
    for id, token in tokenizer.get_added_tokens_decoder().items():
        if token.special:
            special.append(id)
    return special


def reduce_counts(paths: Iterable[Path], out: Path) -> None:
    """Add up the counts of a corpus's shards; `InputError` if they have no token."""
    tables = [read_table(path, ["token_id", "count"]) for path in paths]
    highest = 0
    for table in tables:
        highest = max(highest, pc.max(table["token_id"]).as_py() or 0)
    total = np.zeros(1 + highest, np.int64)
    for table in tables:
        total[table["token_id"].to_numpy()] += table["count"].to_numpy()
    if not total.any():
        raise InputError(
            f"{out}: the corpus has no token; check that its documents hold text"
        )
    _write(total, out)


def _write(counts: np.ndarray, out: Path) -> None:
    ids = np.flatnonzero(counts)
    columns = {"token_id": pa.array(ids, pa.int64()), "count": pa.array(counts[ids])}
    write_parquet(out, pa.table(columns))


def log_frequencies(counts: Path, vocabulary: int) -> np.ndarray:
    """Return ln q(v) = ln((count(v) + 1) / (N + V)), natural logarithm: (V,) float64.

    N: all counted tokens; V = `vocabulary`: the size of the model's output layer. Zhang
    et al., Pretraining Data Detection for Large Language Models: A Divergence-based
    Calibration Method, EMNLP 2024, equation 5.
    """
    table = read_table(counts, ["token_id", "count"])
    ids = table["token_id"].to_numpy()
    numbers = table["count"].to_numpy()
    if len(ids) and ids.max() >= vocabulary:
        raise InputError(
            f"{counts}: token {ids.max()} is beyond the model's {vocabulary} outputs; "
            "count the corpus with the tokenizer of this model"
        )
    smoothed = np.ones(vocabulary)
    smoothed[ids] += numbers
    return np.log(smoothed) - np.log(numbers.sum() + vocabulary)
