"""Cut documents where no tokenizer of the usual kinds joins the text before and after; count the pieces.

The cut: before a run of U+0020 that follows a character which is neither white space nor U+2581 and that
precedes another character, `(?<=[^\\s▁\\x1c-\\x1f\\x85])(?= +[^ ])`. Pre-tokenizers join at most the last
space of a run to the text after it and none to the text before it, so a segment's tokens do not depend on its
neighbours (`pretrace.corpora.cutting` says for which tokenizers).
"""

from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from pretrace.runtime.files import atomic_path, open_parquet
from pretrace.runtime.logs import Progress

WHITE_SPACE = (
    "\t\n\x0b\x0c\r\x1c\x1d\x1e\x1f \x85\xa0\u1680\u2000\u2001\u2002\u2003\u2004\u2005\u2006"
    "\u2007\u2008\u2009\u200a\u2028\u2029\u202f\u205f\u3000"
)
METASPACE = "\u2581"
SCHEMA = pa.schema([("segment", pa.string()), ("initial", pa.bool_()), ("count", pa.int64())])

_SPACE = 0x20
_ENCODED = [character.encode() for character in WHITE_SPACE + METASPACE]
_BLANK = {size: [int.from_bytes(code) for code in _ENCODED if len(code) == size] for size in (1, 2, 3)}
_ROWS, _BYTES = (
    1 << 22,
    1 << 28,
)  # merge partial counts above this many rows, write them above this many bytes


def cut_positions(data: np.ndarray, offsets: np.ndarray) -> np.ndarray:
    """Where documents are cut: byte positions, ascending, the documents' own ends not included.

    `data`: the documents' UTF-8, one after the other, (bytes,) uint8; `offsets`: (documents + 1,), where each
    begins.
    """
    space = data == _SPACE
    starts = np.flatnonzero(space[1:] & ~space[:-1]) + 1
    starts = starts[~_after_blank(data, starts)]
    keep = np.ones(len(starts), bool)
    for ends in (offsets, _trailing(data, offsets)):
        place = np.searchsorted(starts, ends)
        keep[place[np.append(starts, -1)[place] == ends]] = False
    return starts[keep]


def _after_blank(data: np.ndarray, starts: np.ndarray) -> np.ndarray:
    """Whether each position follows white space or U+2581."""
    last = data[starts - 1]
    blank = np.isin(np.arange(256), _BLANK[1])[last]
    wide = np.flatnonzero(last >= 0x80)
    ends = starts[wide]
    code = (data[ends - 3].astype(np.int64) << 16) | (data[ends - 2].astype(np.int64) << 8) | data[ends - 1]
    blank[wide] = np.isin(code, _BLANK[3]) | np.isin(code & 0xFFFF, _BLANK[2])
    return blank


def _trailing(data: np.ndarray, offsets: np.ndarray) -> np.ndarray:
    """Where the run of spaces at a document's end begins, for the documents that end in one."""
    filled = np.flatnonzero(np.diff(offsets))
    filled = filled[data[offsets[filled + 1] - 1] == _SPACE]
    texts = (data[offsets[i] : offsets[i + 1]].tobytes() for i in filled)
    return np.array(
        [offsets[i] + len(text.rstrip(b" ")) for i, text in zip(filled, texts, strict=True)], np.int64
    )


def segments_of(documents: pa.Array) -> pa.Table:
    """The segments of documents (string array) with their counts, as `SCHEMA`, each (segment, initial) once.

    The concatenated segments of a document are the document; a segment that is not `initial` begins with
    U+0020.
    """
    documents = pa.concat_arrays([documents])  # drops a slice's offset
    _, offset_buffer, data_buffer = documents.buffers()
    offsets = np.frombuffer(offset_buffer, np.int32, len(documents) + 1)
    data = np.frombuffer(data_buffer or b"", np.uint8, offsets[-1])
    cuts = cut_positions(data, offsets)
    bounds = np.sort(np.concatenate([offsets, cuts.astype(np.int32)]), kind="stable")
    initial = np.zeros(len(bounds) - 1, bool)
    initial[np.arange(len(documents)) + np.searchsorted(cuts, offsets[:-1])] = True
    segments = pa.StringArray.from_buffers(len(bounds) - 1, pa.py_buffer(bounds), data_buffer)
    return pa.concat_tables(
        _counted(segments.filter(pa.array(initial == first)), first) for first in (True, False)
    )


def _counted(segments: pa.Array, initial: bool) -> pa.Table:
    counted = pc.value_counts(segments)
    columns = [counted.field("values"), pa.repeat(initial, len(counted)), counted.field("counts")]
    return pa.Table.from_arrays(columns, schema=SCHEMA)


def merged(tables: list[pa.Table]) -> pa.Table:
    """Partial counts added up, sorted by segment, then initial."""
    table = pa.concat_tables(tables).group_by(["segment", "initial"]).aggregate([("count", "sum")])
    table = table.rename_columns({"count_sum": "count"}).select(SCHEMA.names)
    return table.sort_by([("segment", "ascending"), ("initial", "ascending")])


def read_documents(path: Path) -> Iterator[pa.Array]:
    """The documents of a shard, a row group at a time."""
    with open_parquet(path) as file:
        for group in range(file.num_row_groups):
            yield file.read_row_group(group, columns=["text"]).column("text").combine_chunks()


def count_segments(documents: Path, out: Path) -> None:
    """Write the segments of a shard's documents: Parquet with `segment`, `initial` (opens a document),
    `count`.

    Memory is bounded: above 256 MB of distinct segments the counts are written as a row group and counting starts
    again, so a segment of such a shard can occur in several row groups. Text without
    spaces (Chinese) is one segment a document and comes through as it is.
    """
    with (
        atomic_path(out) as part,
        pq.ParquetWriter(part, SCHEMA, compression="zstd", write_page_checksum=True) as writer,
        Progress(f"segments of {documents.stem}", total=None, unit="documents") as progress,
    ):
        for table in _bounded(documents, progress):
            writer.write_table(table)


def _bounded(documents: Path, progress: Progress) -> Iterator[pa.Table]:
    parts: list[pa.Table] = []
    for texts in read_documents(documents):
        parts.append(segments_of(texts))
        progress.update(len(texts))
        if sum(part.num_rows for part in parts) > _ROWS or sum(part.nbytes for part in parts) > _BYTES:
            parts = [merged(parts)]
            if parts[0].nbytes > _BYTES // 2:
                yield parts.pop()
    yield merged(parts) if parts else SCHEMA.empty_table()
