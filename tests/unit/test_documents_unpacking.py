"""A packed file that is cut off is refused as that by every reader, and a whole one is
read."""

import bz2
import gzip
import io
import json
import lzma
import random
import zipfile

import made_up_answers as made_up
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import zstandard

import hub_datasets as made
from pretrace.benchmarks.loaders.dataset import DataSet, load
from pretrace.benchmarks.loaders.local import check_texts
from pretrace.corpora.sources import read_documents
from pretrace.documents.formats import read_document
from pretrace.questions.collected import read_answers
from pretrace.runtime.errors import InputError

LINES = [made.words(random.Random(number), 12) for number in range(400)]
ROWS = [{"text": text, "label": number % 2} for number, text in enumerate(LINES)]
ANSWERS = made_up.rows(documents=2, passages=4)


def zipped(data):
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("t.jsonl" if data.startswith(b"{") else "t.txt", data)
    return packed.getvalue()


def with_long_window(data):
    """A frame that says that it refers 2 GB back, as those of `zstd --long=31`."""
    opener = zstandard.ZstdCompressor().compressobj()
    frame = opener.compress(data) + opener.flush()
    return frame[:5] + bytes([(31 - 10) << 3]) + frame[6:]


def in_frames(data):
    """Frames, with one between that is to be skipped, as pzstd writes them."""
    skipped = b"\x50\x2a\x4d\x18\x04\0\0\0abcd"
    middle = len(data) // 4
    return (
        zstandard.compress(data[:middle]) + skipped + zstandard.compress(data[middle:])
    )


PACKINGS = {
    "gz": gzip.compress, "bz2": bz2.compress, "xz": lzma.compress, "zip": zipped,
    "zst": zstandard.compress, "frames.zst": in_frames, "long.zst": with_long_window,
}  # fmt: skip


def corpus(path):
    return len([*read_documents({"source": "local", "path": str(path)}, [path])])


def of_data_set(path):
    entry = DataSet(
        source="dataset", path=str(path.parent), splits={"train": {"label": 1}}
    )
    return len(load(entry, [path.parent], 0))


PLAIN = "\n".join(LINES).encode()
READERS = {
    "benchmark": ("t.csv", made.comma_separated(ROWS), 400,
                  lambda path: len(check_texts(path, metrics=False))),
    "data set": ("t.jsonl", made.jsonl([{"text": text} for text in LINES]), 400, of_data_set),
    "data set of text": ("t.txt", PLAIN, 400, of_data_set),
    "corpus": ("t.txt", PLAIN, 400, corpus),
    "work": ("t.txt", PLAIN, 400 * 12, lambda path: len(read_document(path).text.split())),
    "answers": ("t.jsonl", made.jsonl(ANSWERS), len(ANSWERS), lambda path: len(read_answers(path))),
}  # fmt: skip


@pytest.mark.parametrize("packing", PACKINGS)
@pytest.mark.parametrize("reader", READERS)
def test_a_packed_file_is_read_whole_or_refused_as_cut_off(tmp_path, reader, packing):
    name, data, count, read = READERS[reader]
    if reader == "data set of text" and packing == "long.zst":
        pytest.skip("datasets unpacks text itself, and no such window")
    packed = PACKINGS[packing](data)
    path = tmp_path / f"{name}.{packing.rpartition('.')[2]}"
    path.write_bytes(packed)
    assert read(path) == count
    for share in (0, 0.3, 0.7, 0.999):
        path.write_bytes(packed[: int(share * len(packed))])
        with pytest.raises(
            InputError, match=r"t\..*: cannot be read.* \(the file is cut off\)"
        ):
            read(path)


@pytest.mark.parametrize("share", [0.3, 0.7, 0.999])
@pytest.mark.parametrize(
    "read", [corpus, lambda path: check_texts(path, metrics=False), read_answers]
)
def test_a_parquet_file_that_is_cut_off_is_refused_as_that(tmp_path, read, share):
    path = tmp_path / "t.parquet"
    data = made.parquet(ROWS)
    path.write_bytes(data[: int(share * len(data))])
    with pytest.raises(
        InputError, match=r"t\.parquet: cannot be read \(the file is cut off\)"
    ):
        read(path)


@pytest.mark.parametrize(
    ("name", "said"),
    [("t.jsonl", "the file ends within this line: is it cut off"),
     ("t.csv", "the file ends within a cell in quotes; is it cut off")],
)  # fmt: skip
def test_a_line_that_the_file_ends_in_is_told_as_that(tmp_path, name, said):
    rows = json.dumps(ROWS[0]) + "\n" + json.dumps(ROWS[1])[:30]
    cells = 'text,label\na b,1\n"c, d'
    (tmp_path / name).write_text(rows if name == "t.jsonl" else cells)
    with pytest.raises(InputError, match=said):
        check_texts(tmp_path / name, metrics=False)


COLUMNS = {
    "text in bytes": (pa.array([b"one", "zwei \u00fc".encode()], pa.binary()), None),
    "another layout": (pa.array(["one", "two"], pa.string_view()), None),
    "lists": ([["one"], ["two"]], r"row 1: .*'one'"),
    "numbers": ([1, 2], r"row 1: .*is 1"),
    "maps": ([{"body": "one"}, {"body": "two"}], r"row 1: .*'body'"),
    "latin bytes": ([b"one", "caf\u00e9".encode("latin-1")], r"row 2: .*caf"),
}  # fmt: skip


@pytest.mark.parametrize("column", COLUMNS)
@pytest.mark.parametrize(
    "read", [corpus, lambda path: check_texts(path, metrics=False)]
)
def test_a_column_of_parquet_is_text_for_corpora_as_for_benchmarks(
    tmp_path, read, column
):
    values, said = COLUMNS[column]
    path = tmp_path / "t.parquet"
    pq.write_table(pa.table({"text": values}), path)
    if said is None:
        read(path)
    else:
        with pytest.raises(InputError, match=rf"t\.parquet, {said}"):
            read(path)


def test_a_corpus_with_a_column_twice_is_refused(tmp_path):
    path = tmp_path / "t.parquet"
    path.write_bytes(made.parquet_of(["text", "text"], ["a"], ["b"]))
    with pytest.raises(InputError, match="names 'text' twice"):
        corpus(path)
