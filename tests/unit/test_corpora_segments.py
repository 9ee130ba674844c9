"""Documents are cut where the rule says, whatever their bytes."""

import re
import sys
from collections import Counter

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pretrace.corpora.segments import METASPACE, WHITE_SPACE, count_segments, segments_of

RULE = re.compile(r"(?<=[^\s▁\x1c-\x1f\x85])(?= +[^ ])")
CHARACTERS = st.sampled_from(
    [*"    ab.1\n\t\r\x0b\x0c\x1c\x1f\x85\xa0▁é你🙂",
     "\u1680", "\u2000", "\u200a", "\u200b", "\u2028", "\u205f",
     "\u3000", "\u2580", "\u2582", "\u0080", "\u0300", "\x00"]
)  # fmt: skip
DOCUMENTS = st.lists(st.text(CHARACTERS | st.characters(codec="utf-8"), max_size=30), max_size=8)


def by_the_rule(texts):
    """Oracle: the rule as a regular expression."""
    counts = Counter()
    for text in texts:
        first, *others = RULE.split(text)
        counts[first, True] += 1
        counts.update((segment, False) for segment in others)
    return counts


def found(table):
    rows = zip(*(table[name].to_pylist() for name in ("segment", "initial", "count")), strict=True)
    return {(segment, initial): count for segment, initial, count in rows}


@settings(deadline=None)
@given(DOCUMENTS)
def test_cuts_of_documents_and_of_a_slice_of_them_are_those_of_the_rule(texts):
    assert found(segments_of(pa.array(texts, pa.string()))) == by_the_rule(texts)
    padded = pa.array(["x y", *texts, " z"], pa.string()).slice(1, len(texts))
    assert found(segments_of(padded)) == by_the_rule(texts)


def test_white_space_is_that_of_unicode():
    spaces = {character for character in map(chr, range(sys.maxunicode + 1)) if character.isspace()}
    assert spaces == set(WHITE_SPACE)
    assert re.fullmatch(f"[{WHITE_SPACE}]+", "".join(sorted(spaces)))
    assert METASPACE == "▁"


def test_the_file_is_sorted_and_its_bytes_repeat(tmp_path):
    documents, out = tmp_path / "0.parquet", tmp_path / "segments.parquet"
    texts = ["b a a", "a b", "", "c a b "] * 50
    pq.write_table(pa.table({"text": texts}), documents, row_group_size=9)
    count_segments(documents, out)
    first = out.read_bytes()
    pq.write_table(pa.table({"text": pa.array([], pa.string())}), documents.with_name("none.parquet"))
    count_segments(documents.with_name("none.parquet"), out)
    assert pq.read_table(out).num_rows == 0, "of no document"
    count_segments(documents, out)
    assert out.read_bytes() == first
    table = pq.read_table(out)
    assert table.schema.names == ["segment", "initial", "count"]
    assert found(table) == by_the_rule(texts)
    keys = list(zip(table["segment"].to_pylist(), table["initial"].to_pylist(), strict=True))
    assert keys == sorted(keys)


@pytest.mark.parametrize("limit", [1, 40])
def test_above_the_memory_limit_counts_are_written_in_parts_that_add_up(tmp_path, monkeypatch, limit):
    documents, out = tmp_path / "0.parquet", tmp_path / "segments.parquet"
    texts = [f"the {n} of {n % 3} parts" for n in range(40)]
    pq.write_table(pa.table({"text": texts}), documents, row_group_size=5)
    monkeypatch.setattr("pretrace.corpora.segments._BYTES", limit)
    count_segments(documents, out)
    total = Counter()
    with pq.ParquetFile(out) as file:
        assert file.num_row_groups > 1
        for group in range(file.num_row_groups):
            total.update(found(file.read_row_group(group)))
    assert total == by_the_rule(texts)
