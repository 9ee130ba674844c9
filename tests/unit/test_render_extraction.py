"""The table and the map of extraction: what is printed, and which passages stand under the map."""

from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from test_extraction import EXTRACTION, texts_of, windows_table

from pretrace.evaluation.extraction import summary
from pretrace.render.registry import render
from pretrace.render.results import Results
from pretrace.runtime.files import write_parquet

DOCUMENTS = [
    ("book", 1, [0.9, 0.0, 0.02, 1e-5]),
    ("other book", 1, [0.0, 0.0]),
    ("draft", 0, [0.0, 1e-8]),
]
PANEL = {"model": "tiny", "benchmark": "books"}


@pytest.fixture
def rendered(tmp_path):
    """Renders the artifact of a renderer; the folder with its files."""
    windows = windows_table(*DOCUMENTS).assign(length=pd.array([pd.NA] * 8, "Int64"))
    windows["passage"] = [f"passage  {number}\n" for number in range(len(windows))]
    texts = pd.DataFrame({"text_id": ["book"], "subset": "", "length": pd.array([pd.NA], "Int64")})
    frames = {
        "windows": windows,
        "extraction": summary(windows, texts_of(windows), EXTRACTION),
        "benchmarks": texts,
    }
    for name, frame in frames.items():
        write_parquet(tmp_path / f"{name}.parquet", frame)
    pair = ("tiny", "books")
    paths = {
        name: {pair if name != "benchmarks" else "books": tmp_path / f"{name}.parquet"} for name in frames
    }

    def draw(renderer: str) -> dict[str, Path]:
        artifact = {"artifact": renderer, "renderer": renderer, "title": "Extraction", "panels": [PANEL]}
        return render(artifact | {"options": {}}, Results(**paths), tmp_path)

    return draw


def test_the_table_has_classes_and_the_documents_with_an_extractable_window(rendered):
    files = rendered("extraction")
    printed = files["md"].read_text(encoding="utf-8")
    assert "| tiny on books: members     |         6 |            0.333 |" in printed
    assert "1 of 3: tiny on books" in printed
    assert "| book, members |" in printed
    assert "| other book" not in printed
    table = pd.read_csv(files["csv"])
    assert table["document"].dropna().tolist() == ["book", "other book", "draft"]
    assert table.loc[table["document"] == "book", "extractable"].tolist() == [0.5]


def test_under_the_map_are_the_likeliest_passages_of_each_class(rendered):
    files = rendered("extraction_map")
    said = files["txt"].read_text(encoding="utf-8").splitlines()
    assert said[0] == "The passages that are likeliest to be emitted:"
    assert said[1] == "tiny on books, members, book, token 50, probability 0.9: passage 0"
    assert [line.split("probability ")[1] for line in said[1:]] == [
        "0.9: passage 0", "0.02: passage 2", "1e-05: passage 3", "1e-08: passage 7"
    ]  # fmt: skip
    table = pd.read_csv(files["csv"])
    assert table.groupby("document")["start"].min().eq(50).all()
    assert table.groupby(["label", "document"])["row"].nunique().eq(1).all()
    assert np.isclose(table["log_p_top"].max(), np.log(0.9))
