"""A table that was written is read back as it was, or not at all."""

import pyarrow as pa
import pytest

from pretrace.runtime.errors import InputError
from pretrace.runtime.files import read_table, write_parquet

TABLE = pa.table(
    {"id": [f"t{n}" for n in range(30)], "score": [n / 7 for n in range(30)], "subset": [""] * 30}
)


def test_no_flipped_bit_changes_a_table_without_an_error(tmp_path):
    path = tmp_path / "t.parquet"
    write_parquet(path, TABLE)
    assert read_table(path).equals(TABLE)
    whole = path.read_bytes()
    noticed = 0
    for at in range(len(whole)):
        path.write_bytes(whole[:at] + bytes([whole[at] ^ 4]) + whole[at + 1 :])
        try:
            found = read_table(path)
        except InputError:
            noticed += 1
        else:
            assert found.equals(TABLE), f"byte {at}"
    assert noticed > len(whole) - 40, "all but the name of the seal"


def test_every_truncated_table_is_refused(tmp_path):
    path = tmp_path / "t.parquet"
    write_parquet(path, TABLE)
    whole = path.read_bytes()
    for size in range(len(whole)):
        path.write_bytes(whole[:size])
        with pytest.raises(InputError, match="same command"):
            read_table(path)


def test_equal_tables_give_equal_bytes_and_files_of_others_are_read(tmp_path):
    import pyarrow.parquet as pq

    for name in "ab":
        write_parquet(tmp_path / name, TABLE)
    assert (tmp_path / "a").read_bytes() == (tmp_path / "b").read_bytes()
    pq.write_table(TABLE, tmp_path / "other.parquet")
    assert read_table(tmp_path / "other.parquet").equals(TABLE)
