"""The standard table keeps its promises: columns and types, unique ids, no empty text, an order."""

from pathlib import Path

import pandas as pd
import pytest

from pretrace.benchmarks import LOADERS, build
from pretrace.benchmarks.sources import BENCHMARKS, Text, loader
from pretrace.benchmarks.table import SCHEMA, finish
from pretrace.runtime.errors import InputError
from pretrace.runtime.files import read_parquet, write_parquet


def test_rows_are_sorted_by_subset_length_and_id_and_survive_the_file(tmp_path: Path) -> None:
    keys = [("b", 32, "1"), ("a", 64, "2"), ("a", 32, "3"), ("a", None, "4"), ("", 32, "5"), ("a", 32, "0")]
    texts = [Text(text_id, f"text {text_id}", None, subset, length) for subset, length, text_id in keys]
    table = finish(texts, name="any", seed=0)
    assert list(table["text_id"]) == ["5", "0", "3", "2", "4", "1"]
    write_parquet(tmp_path / "t.parquet", table, SCHEMA)
    again = read_parquet(tmp_path / "t.parquet")
    assert list(again.columns) == SCHEMA.names
    assert again["length"].tolist() == [32, 32, 32, 64, pd.NA, 32]
    assert again["label"].isna().all()
    assert set(again["fold"]) <= {0, 1, 2, 3, 4}


@pytest.mark.parametrize(
    ("texts", "said"),
    [
        ([], "benchmark mine has no texts"),
        ([Text("a", "x", 1), Text("a", "y", 0)], "benchmark mine: the id 'a' is given to 2 texts"),
        ([Text("a", " \n", 1)], "benchmark mine: the text 'a' is empty"),
        ([Text("a", "x", 2)], "benchmark mine: 'a' has label 2, not 0, 1 or null"),
    ],
)
def test_a_loader_that_breaks_the_promises_is_stopped(texts: list[Text], said: str) -> None:
    with pytest.raises(InputError, match=said):
        finish(texts, name="mine", seed=0)


def test_a_new_loader_is_one_decorated_function() -> None:
    try:
        loader("two_texts")(lambda entry, sources, seed: [Text("a", entry.access, 1), Text("b", "no", 0)])
        assert list(build("any", {"source": "two_texts", "access": "yes"}, [])["text"]) == ["yes", "no"]
        with pytest.raises(ValueError, match="two functions read 'two_texts'"):
            loader("two_texts")(lambda entry, sources, seed: [])
    finally:
        LOADERS.pop("two_texts")
        BENCHMARKS.pop("two_texts")
