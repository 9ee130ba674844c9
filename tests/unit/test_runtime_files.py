"""A table that was written is read back as it was, or not at all."""

import hashlib
import os
from itertools import pairwise
from pathlib import Path

import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from pretrace.runtime import files
from pretrace.runtime.errors import InputError
from pretrace.runtime.files import (
    read_parquet,
    read_parquet_parts,
    read_table,
    remove_unfinished,
    write_parquet,
    write_parquet_parts,
)

TABLE = pa.table(
    {
        "id": [f"t{n}" for n in range(30)],
        "score": [n / 7 for n in range(30)],
        "subset": [""] * 30,
    }
)


def test_no_flipped_bit_changes_a_value_without_an_error(tmp_path):
    path = tmp_path / "t.parquet"
    write_parquet(path, TABLE)
    assert read_table(path).equals(TABLE)
    whole = path.read_bytes()
    noticed = 0
    for place in range(len(whole)):
        path.write_bytes(whole[:place] + bytes([whole[place] ^ 4]) + whole[place + 1 :])
        try:
            tables = [
                read_table(path).to_pylist(),
                next(read_parquet_parts(path)).to_dict("records"),
            ]
        except InputError:
            noticed += 1
        else:
            assert tables == [TABLE.to_pylist()] * 2, f"byte {place}"
    assert noticed > 100


def test_a_large_file_is_read_once_and_again_when_it_is_replaced(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(files, "LARGE", 4)
    path = Path("model.safetensors")
    reads = []
    sha256_file = files.sha256_file
    monkeypatch.setattr(
        files, "sha256_file", lambda path: reads.append(path) or sha256_file(path)
    )

    def told() -> str:
        files.content_of.cache_clear()
        return files.content_of(str(path))

    path.write_bytes(b"first")
    os.utime(path, (1e9, 1e9))  # a file of this moment may yet change within its time
    first = told()
    assert told() == first == hashlib.sha256(b"first").hexdigest()
    assert len(reads) == 1
    times = path.stat()
    path.write_bytes(b"other")
    os.utime(path, ns=(times.st_atime_ns, times.st_mtime_ns))
    assert told() == hashlib.sha256(b"other").hexdigest(), "of the same size and time"


def test_a_large_file_is_read_once_in_a_folder_whose_name_is_not_utf8(
    tmp_path, monkeypatch
):
    folder = tmp_path / os.fsdecode(b"caf\xe9")
    folder.mkdir()
    monkeypatch.chdir(folder)
    monkeypatch.setattr(files, "LARGE", 4)
    path = Path("model.safetensors")
    path.write_bytes(b"first")
    os.utime(path, (1e9, 1e9))
    files.content_of.cache_clear()
    assert files.content_of(str(path)) == hashlib.sha256(b"first").hexdigest()
    assert len(files.read_json(files.CONTENTS)) == 1


@pytest.mark.parametrize("content", ["", "[]", "null", '{"key": 1}', '{"a'])
def test_hashes_of_large_files_that_are_damaged_are_one_line_with_the_remedy(
    content, tmp_path, monkeypatch
):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(files, "LARGE", 4)
    files.CONTENTS.parent.mkdir()
    files.CONTENTS.write_text(content)
    Path("model.safetensors").write_bytes(b"weights")
    files.content_of.cache_clear()
    with pytest.raises(InputError, match=rf"^{files.CONTENTS} is .*[Dd]elete it"):
        files.content_of("model.safetensors")


def test_every_truncated_table_is_refused(tmp_path):
    path = tmp_path / "t.parquet"
    write_parquet(path, TABLE)
    whole = path.read_bytes()
    for size in range(len(whole)):
        path.write_bytes(whole[:size])
        with pytest.raises(InputError, match="same command"):
            read_table(path)


@pytest.mark.parametrize("cuts", [[], [3], [7], [14, 14], [1, 2, 9, 29], [0, 30]])
def test_a_table_in_parts_has_the_bytes_of_the_table_as_a_whole(
    tmp_path, monkeypatch, cuts
):
    monkeypatch.setattr(files, "ROW_GROUP", 7)
    frame = TABLE.to_pandas().assign(draw=pd.array([1, None] * 15, dtype="Int64"))
    write_parquet(tmp_path / "whole.parquet", frame)
    edges = [0, *cuts, len(frame)]
    parts = [frame[start:end] for start, end in pairwise(edges)]
    write_parquet_parts(tmp_path / "parts.parquet", iter(parts))
    assert (tmp_path / "parts.parquet").read_bytes() == (
        tmp_path / "whole.parquet"
    ).read_bytes()
    assert pq.ParquetFile(tmp_path / "parts.parquet").num_row_groups == 5
    pq.write_table(TABLE, tmp_path / "other.parquet")
    assert read_table(tmp_path / "other.parquet").equals(TABLE), (
        "files of others are read"
    )


def test_a_table_is_read_in_parts_as_it_is_read_at_once(tmp_path, monkeypatch):
    path = tmp_path / "t.parquet"
    draw = pd.array([1, None] * 15, dtype="Int64")
    write_parquet(path, TABLE.to_pandas().assign(draw=draw))
    monkeypatch.setattr(files, "ROW_GROUP", 16)
    parts = list(read_parquet_parts(path))
    assert [len(part) for part in parts] == [4] * 7 + [2]
    pd.testing.assert_frame_equal(
        pd.concat(parts, ignore_index=True), read_parquet(path)
    )


def test_what_cannot_be_read_in_parts_is_an_error(tmp_path):
    with pytest.raises(InputError, match="does not exist"):
        next(read_parquet_parts(tmp_path / "none.parquet"))


def test_no_part_of_a_table_stays_where_a_later_one_fails(tmp_path):
    def parts():
        yield TABLE
        raise InputError("a score is not finite")

    with pytest.raises(InputError, match="not finite"):
        write_parquet_parts(tmp_path / "t.parquet", parts())
    assert list(tmp_path.iterdir()) == []


def test_what_a_killed_process_left_of_a_file_is_removed_and_nothing_else(tmp_path):
    kept = ["a.parquet", ".a.parquet.part", ".b.parquet.x1.part", ".a.parquet.x1"]
    for name in [*kept, ".a.parquet.x1.part", ".a.parquet.y_2.part"]:
        (tmp_path / name).touch()
    remove_unfinished(tmp_path / "a.parquet")
    assert sorted(file.name for file in tmp_path.iterdir()) == sorted(kept)
    remove_unfinished(tmp_path / "not there" / "a.parquet")
