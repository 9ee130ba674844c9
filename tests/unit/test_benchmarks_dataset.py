"""Any data set of the hub by an entry alone: configurations, splits, columns, labels,
formats; mistakes are named."""

import bz2
import gzip
import io
import json
import lzma
import os
import random
import subprocess
import sys
import zipfile
from decimal import Decimal
from itertools import product
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import yaml
import zstandard

import hub_datasets as made
from pretrace.benchmarks import build
from pretrace.benchmarks.fetching import fetch_dataset
from pretrace.benchmarks.loaders.dataset import DataSet, check_splits
from pretrace.benchmarks.sources import BENCHMARKS
from pretrace.runtime.errors import InputError
from pretrace.runtime.files import read_json
from pretrace.runtime.schema import parse_entries

ROOT = Path(__file__).parents[2]
NAME = "someone/books"
CARD = """---
configs:
- config_name: snippets
  data_files:
  - split: train
    path: all/part-*
  - split: test
    path: all/held_out.*
- config_name: pages
  data_files:
  - split: members
    path: pages/known.*
  - split: nonmembers
    path: pages/new.*
---
# Books
"""


def rows(count, seed):
    draw = random.Random(seed)
    made_rows = []
    for number in range(count):
        snippet = made.words(draw, 12)
        book = f"book {number // 3}"
        made_rows.append({"snippet": snippet, "seen": number % 2, "book": book})
    return made_rows


def snippets(rows):
    return [row["snippet"] for row in rows]


PARTS = [rows(5, 0), rows(4, 1), rows(6, 2)]
KNOWN_PAGES = [{"snippet": snippet} for snippet in snippets(rows(4, 3))]
NEW_PAGES = [{"snippet": snippet} for snippet in snippets(rows(3, 4))]
COLUMNS = {"text": "snippet", "label": "seen"}


ENCODED = {
    "parquet": made.parquet,
    "jsonl.gz": lambda rows: gzip.compress(made.jsonl(rows)),
}
FORMATS = ENCODED | {
    "csv.xz": lambda rows: lzma.compress(made.comma_separated(rows)),
    "csv.bz2": lambda rows: bz2.compress(made.comma_separated(rows)),
    "tsv": lambda rows: made.comma_separated(rows, "\t"),
    "json.gz": lambda rows: gzip.compress(json.dumps(rows, indent=1).encode()),
    "jsonl": made.jsonl,
    "jsonl.zst": lambda rows: zstandard.compress(made.jsonl(rows)),
    "json": lambda rows: json.dumps(rows).encode(),
    "csv": made.comma_separated,
}


def books(ending="parquet"):
    """Two configurations, one of them in parts; only the README says what is what."""
    parts = {"all/part-0": PARTS[0], "all/part-1": PARTS[1], "all/held_out": PARTS[2]}
    parts |= {"pages/known": KNOWN_PAGES, "pages/new": NEW_PAGES}
    files = {"README.md": CARD.encode(), "picture.png": b"not asked for"}
    for name, part in parts.items():
        files[f"{name}.{ending}"] = ENCODED[ending](part)
    return files


def table_of(folder, **keys):
    """The table of an entry, fetched from the hub where it names one, else read from
    `folder`."""
    entry = {"source": "dataset"} | keys
    if "hub" not in keys:
        entry["path"] = str(folder)
    parse_entries({"mine": entry}, BENCHMARKS, "test")
    if "hub" in keys:
        fetch_dataset(entry, "texts", folder / "texts", seed=0, attempts=2)
        folder = folder / "texts" / "files.json"
    return build("mine", entry, [folder])


def written(folder, files):
    for name, data in files.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(data)
    return folder


@pytest.mark.parametrize("ending", ENCODED)
def test_a_split_of_a_configuration_is_what_the_readme_says(hub, tmp_path, ending):
    sha = hub.add("datasets", NAME, books(ending))
    columns = COLUMNS | {"document": "book"}
    table = table_of(
        tmp_path, hub=NAME, hub_config="snippets", splits=["train"], columns=columns
    )
    wanted = PARTS[0] + PARTS[1]  # in the parts' order
    assert len(table) == len(wanted) == 9
    for number, row in table.iterrows():
        assert row["text_id"] == f"{number + 1:06d}", "as in a local file"
        assert row["text"] == wanted[number]["snippet"]
        assert row["label"] == wanted[number]["seen"]
        assert row["document"] == wanted[number]["book"]
    (repository,) = read_json(tmp_path / "texts" / "files.json")["repositories"]
    assert repository["commit"] == sha
    assert "picture.png" not in repository["files"]


@pytest.mark.parametrize("ending", ENCODED)
def test_splits_may_be_the_classes(hub, tmp_path, ending):
    hub.add("datasets", NAME, books(ending))
    splits = {
        "members": {"label": 1, "subset": "a", "length": 12},
        "nonmembers": {"label": 0, "subset": "b"},
    }
    table = table_of(
        tmp_path,
        hub=NAME,
        hub_config="pages",
        columns={"text": "snippet"},
        splits=splits,
    )
    members, nonmembers = table[table["label"] == 1], table[table["label"] == 0]
    assert members["text"].tolist() == snippets(KNOWN_PAGES)
    assert nonmembers["text"].tolist() == snippets(NEW_PAGES)
    assert len(table) == 7
    assert table["text_id"].tolist()[:2] == ["members-000001", "members-000002"]
    assert table.groupby("subset")["label"].first().to_dict() == {"a": 1, "b": 0}
    assert table["length"].dropna().tolist() == [12] * 4


def test_nonmembers_stand_in_every_subset_of_the_members(hub, tmp_path):
    hub.add("datasets", NAME, made.hubble(3))
    labels = {"0": 0, "1": 1, "4": 1, "16": 1, "64": None, "256": None}
    table = table_of(
        tmp_path,
        hub=NAME,
        splits=["train", "test"],
        columns={"text": "text", "label": "duplicates", "subset": "duplicates"},
        labels=labels,
        shared_nonmembers=True,
    )
    members = table[table["label"] == 1]
    assert members["subset"].value_counts().to_dict() == {"1": 3, "4": 3, "16": 3}
    nonmembers = table[table["label"] == 0]
    assert nonmembers["subset"].value_counts().to_dict() == {"1": 3, "4": 3, "16": 3}
    assert nonmembers["text"].nunique() == 3
    for row in nonmembers.itertuples():
        assert row.text_id.startswith(f"{row.subset}-test-")


@pytest.mark.parametrize("ending", FORMATS)
def test_every_format_gives_the_same_table(tmp_path, ending):
    given = []
    for row, label in zip(PARTS[0], (1, 0, None, 1, 0), strict=True):
        given.append(row | {"label": label})
    folder = written(tmp_path, {f"test.{ending}": FORMATS[ending](given)})
    table = table_of(folder, columns={"text": "snippet", "label": "label"})
    assert table["text"].tolist() == snippets(given)
    assert table["label"].fillna(-1).tolist() == [1, 0, -1, 1, 0]


def test_classes_with_names_are_not_taken_by_their_numbers(tmp_path):
    import datasets

    classes = datasets.ClassLabel(names=["member", "nonmember"])
    features = datasets.Features({"text": datasets.Value("string"), "label": classes})
    given = {"text": ["a b", "c d", "e f"], "label": [0, 1, None]}
    table = datasets.Dataset.from_dict(given, features=features)
    table.to_parquet(str(tmp_path / "train.parquet"))
    says = r"row 1: label is 'member'; say under labels what it means"
    with pytest.raises(InputError, match=says):
        table_of(tmp_path)
    table = table_of(tmp_path, labels={"member": 1, "nonmember": 0})
    assert table["label"].fillna(-1).tolist() == [1, 0, -1]
    says = r"row 2: label is 'nonmember', .*did you mean 'non-member'"
    with pytest.raises(InputError, match=says):
        table_of(tmp_path, labels={"member": 1, "non-member": 0})
    for first, second in ((True, False), (2, 3), ("yes", "no")):
        given = []
        for label in (first, second, first, second):
            given.append({"text": f"text {len(given)}", "label": label})
        folder = written(tmp_path / str(first), {"train.jsonl": made.jsonl(given)})
        labels = {first: 0, second: 1}
        assert table_of(folder, labels=labels)["label"].tolist() == [0, 1, 0, 1]


WORDS = [
    {"text": "null", "label": "1", "document": "007", "id": "001"},
    {"text": "a text; of words", "label": "0", "document": "7", "id": "1"},
    {"text": "None", "label": "1", "document": "1.10", "id": "0012"},
    {"text": "caf\u00e9", "label": "0", "document": "1.1", "id": "12"},
    {"text": "1999-05-03", "label": "1", "document": "1e5", "id": "x"},
]
"""Rows whose cells are no words, numbers or days to whoever guesses their types."""


def zipped(name, data, notes=("deep/notes.txt",)):
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w") as archive:
        archive.writestr(name, data)
        for note in notes:
            archive.writestr(note, b"By hand.")
    return out.getvalue()


def cells(separator=",", header=True, encoding="utf-8"):
    lines = made.comma_separated(WORDS, separator).decode().splitlines()
    if not header:
        del lines[0]
    return ("\n".join(lines) + "\n").encode(encoding)


NAMES = [*WORDS[0]]
BY_COLUMN = {name: [row[name] for row in WORDS] for name in NAMES}
AS_WRITTEN = {
    "tabs": ("train.tsv", cells("\t"), {}),
    "packed": ("train.csv.xz", lzma.compress(cells()), {}),
    "in an archive": ("train.zip", zipped("train.csv", cells()), {}),
    "tabs in an archive": ("train.zip", zipped("deep/train.tsv", cells("\t")), {}),
    "sep": ("train.csv", cells(";"), {"sep": ";"}),
    "delimiter and packed": ("train.csv.bz2", bz2.compress(cells("|")),
                             {"delimiter": "|"}),
    "sep of two letters": ("train.csv", cells("\x01").replace(b"\x01", b"||"),
                           {"sep": r"\|\|"}),
    "tabs in a csv": ("train.csv", cells("\t"), {"sep": "\t"}),
    "commas in a tsv": ("train.tsv", cells(), {"sep": ","}),
    "names": ("train.csv", cells(header=False), {"names": NAMES}),
    "names in place of a header": ("train.csv", cells().replace(b"text", b"t", 1),
                                   {"names": NAMES, "header": 0}),
    "encoding": ("train.csv", cells(encoding="latin-1"), {"encoding": "latin-1"}),
    "encoding of sixteen bits": ("train.csv", cells(encoding="utf-16"),
                                 {"encoding": "utf-16"}),
    "skiprows": ("train.csv", b"made by hand\n" + cells(), {"skiprows": 1}),
    "comment": ("train.csv", b"# made by hand\n" + cells(), {"comment": "#"}),
    "nrows": ("train.csv", cells() + b"one more,1,z,z\n", {"nrows": 5}),
    "quotechar": ("train.csv", cells(";").replace(b'"', b"'"),
                  {"sep": ";", "quotechar": "'"}),
    "quoting": ("train.csv", cells("\t").replace(b"null", b'"null'),
                {"sep": "\t", "quoting": 3}),
    "usecols": ("train.csv", cells().replace(b"\n", b",1\n"),
                {"usecols": [0, 1, 2, 3]}),
    "a column as index": ("train.csv", cells(), {"index_col": "id"}),
    "the first column as index": ("train.csv", cells(), {"index_col": 0}),
    "missing values": ("train.csv", cells() + b"-,0,y,y\n", {"na_values": ["-"]}),
    "thousands": ("train.csv", cells(), {"thousands": ",", "keep_default_na": True}),
    "an array": ("train.json", json.dumps(WORDS).encode(), {}),
    "an array by field": ("train.json", json.dumps({"rows": WORDS}).encode(),
                          {"field": "rows"}),
    "an array of columns": ("train.json", json.dumps({"d": BY_COLUMN}).encode(),
                            {"field": "d"}),
    "lines in an archive": ("train.zip", zipped("train.jsonl", made.jsonl(WORDS)), {}),
}  # fmt: skip


def readme(data_files, **settings):
    configs = [{"config_name": "default", "data_files": data_files, **settings}]
    return f"---\n{yaml.safe_dump({'configs': configs})}---\n".encode()


@pytest.mark.parametrize("case", AS_WRITTEN)
def test_cells_are_text_as_written_whatever_the_format_and_the_settings(tmp_path, case):
    name, data, settings = AS_WRITTEN[case]
    files = {name: data}
    if settings:
        files["README.md"] = readme([{"split": "train", "path": name}], **settings)
    table = table_of(written(tmp_path, files)).set_index("text_id")
    assert set(table.index) == {row["id"] for row in WORDS}
    for row in WORDS:
        is_quoted = case == "quoting" and row["text"] == "null"
        text = '"null' if is_quoted else row["text"]
        expected = [text, int(row["label"]), row["document"]]
        assert table.loc[row["id"], ["text", "label", "document"]].tolist() == expected
    assert len(table) == len(WORDS)


NOT_READ = {
    "fewer cells": ({"sep": ";"}, b"text;label;document\na b;1\n",
                    r"row 1: the row has fewer cells than the 3"),
    "more cells": ({"sep": ";"}, b"text;label\na b;1;c\n",
                   r"rows have more cells than the 2 of the header"),
    "a column twice": ({"sep": ";"}, b"text;label;text\na b;1;c\n",
                       r"the header names 'text' twice"),
    "an encoding": ({"encoding": "utf-8", "sep": ";"}, b"text;label\ncaf\xe9;1\n",
                    r"train\.csv: cannot be read with"),
}  # fmt: skip


@pytest.mark.parametrize("case", NOT_READ)
def test_a_row_that_does_not_fit_its_header_is_refused_with_any_settings(
    tmp_path, case
):
    settings, data, message = NOT_READ[case]
    files = {"train.csv": data, "README.md": readme("train.csv", **settings)}
    with pytest.raises(InputError, match=message):
        table_of(written(tmp_path, files))


def test_files_of_a_split_have_the_same_columns_and_those_of_another_format_are_read_or_named(
    tmp_path, warnings
):
    files = {
        "b.jsonl": made.jsonl([{"text": "from lines", "label": 0}]),
        "meta.json": b'{\n"by": "hand"}',
        "LICENSE.txt": b"Free.",
        "d.jsonl": b'{"words": 1}\n',
    }
    for name in "acef":
        files[f"{name}.csv"] = f"text,label\nfrom {name},1\n".encode()
    written(tmp_path / "mixed" / "train", files)
    table = table_of(tmp_path / "mixed")
    own = ["from a", "from c", "from e", "from f"]
    assert sorted(table["text"]) == [*own, "from lines"]
    assert "1 files are not read: train/LICENSE.txt. " in warnings()
    assert "2 files are not read, because they are not CSV" in warnings()
    for name in ("meta.json", "d.jsonl"):
        assert name in warnings()


BESIDE = {
    "notes": ["LICENSE.md", "CHANGELOG.md"],
    "texts": ["LICENSE.txt", "NOTES.txt"],
    "files of agents": ["task.toml", "instruction.md"],
    "logs": ["one.eval", "two.eval"],
    "pictures": ["a.png", "b.jpg", "c.png"],
    "papers": ["a.pdf", "b.pdf", "c.xml", "d.xml"],
    "scripts": ["a.py", "b.py", "c.yaml"],
    "archives": ["a.tar", "b.tar", "c.wav", "d.wav"],
}


ENDINGS = ["jsonl", "csv", "parquet", "zip"]
# each kind once, each ending twice
IN_TURN = [*zip(BESIDE, ENDINGS * 2, strict=True)]
REST = [case for case in product(BESIDE, ENDINGS) if case not in IN_TURN]


@pytest.mark.parametrize(
    ("beside", "ending"),
    [*IN_TURN, *(pytest.param(*case, marks=pytest.mark.full) for case in REST)],
)
def test_rows_are_read_whatever_is_beside_them(hub, tmp_path, warnings, beside, ending):
    """In a folder, in a zip archive, on the hub, and while planning."""
    others = dict.fromkeys(BESIDE[beside], b"Some note.")
    rows = [{"text": f"text {number}", "label": 1} for number in range(4)]
    if ending == "zip":
        data = zipped("data/rows.jsonl", made.jsonl(rows), BESIDE[beside])
        files = {"rows.zip": data}
    else:
        files = {f"rows.{ending}": FORMATS[ending](rows)}
    files |= others
    folder = written(tmp_path / "own", files)
    check_splits(DataSet(source="dataset", path=str(folder)), folder)
    assert len(table_of(folder)) == 4
    names = ", ".join(sorted(others))
    assert f"own: {len(others)} files are not read: {names}. If" in warnings()
    hub.add("datasets", NAME, files)
    keys = {"files": "rows.zip"} if ending == "zip" else {}
    assert len(table_of(tmp_path, hub=NAME, **keys)) == 4


def test_a_file_that_the_name_of_another_one_hides_is_named(tmp_path, warnings):
    """`datasets` takes test for the name of a split, and then reads no other file."""
    files = {}
    for name in ("members", "nonmembers-test"):
        files[f"{name}.jsonl"] = made.jsonl([{"text": name, "label": 1}])
    folder = written(tmp_path, files)
    assert table_of(folder)["text"].tolist() == ["nonmembers-test"]
    assert "1 files are not read: members.jsonl. " in warnings()


UNUSED = {
    "uuid": pa.array([bytes(16)], pa.uuid()),
    "map": pa.array([[("a", 1)]], pa.map_(pa.string(), pa.int64())),
    "decimal32": pa.array([Decimal("1.5")], pa.decimal32(3, 1)),
}


@pytest.mark.parametrize("kind", UNUSED)
def test_a_column_that_is_not_read_may_have_any_type(tmp_path, kind):
    columns = {"text": ["a b"], "label": [1], "more": UNUSED[kind]}
    pq.write_table(pa.table(columns), tmp_path / "t.parquet")
    assert len(table_of(tmp_path)) == 1


@pytest.mark.parametrize("ending", ["csv", "jsonl", "parquet"])
def test_a_column_that_another_file_of_the_split_lacks_is_named(tmp_path, ending):
    first = FORMATS[ending]([{"text": "a b", "label": 1}])
    second = FORMATS[ending]([{"text": "c d", "labels": 0}])
    files = {f"train/a.{ending}": first, f"train/b.{ending}": second}
    told = rf"a\.{ending} has 'label', and b\.{ending} has not|b\.{ending}: no column is called label"
    with pytest.raises(InputError, match=told):
        table_of(written(tmp_path, files))


def test_what_links_of_a_data_set_lead_to_is_read_or_named(tmp_path, warnings):
    elsewhere = tmp_path / "elsewhere"
    written(elsewhere, {"b.csv": b"text,label\nfrom elsewhere,1\n"})
    train = tmp_path / "own" / "train"
    written(train, {"a.csv": b"text,label\nfrom here,0\n"})
    (train / "linked.csv").symlink_to(elsewhere / "b.csv")
    (train / "series").symlink_to(elsewhere)
    (train / "broken.csv").symlink_to(tmp_path / "nowhere")
    texts = table_of(tmp_path / "own")["text"]
    assert sorted(texts) == ["from elsewhere", "from elsewhere", "from here"]
    assert "1 files are not read: train/broken.csv" in warnings()


def test_rows_that_the_readme_skips_are_counted(tmp_path, warnings):
    card = readme("train.csv", sep=";", on_bad_lines="skip")
    data = b"text;label\na b;1\nc;d;0\ne f;0\n"
    folder = written(tmp_path, {"train.csv": data, "README.md": card})
    assert len(table_of(folder)) == 2
    assert "1 rows have more cells than the header: left out" in warnings()


CLASSES = {
    "label": ["member", "nonmember"],
    "other order": ["nonmember", "member"],
    "numbers": ["1", "0"],
}
WRITTEN_CLASSES = {
    "csv": made.comma_separated, "tsv": lambda rows: made.comma_separated(rows, "\t"),
    "jsonl": made.jsonl,
    "csv.gz": lambda rows: gzip.compress(made.comma_separated(rows)),
    "parquet": made.parquet,
    "json": lambda rows: json.dumps(rows).encode(),
}  # fmt: skip


def write_classes(folder, ending, rows):
    return written(folder, {f"train.{ending}": WRITTEN_CLASSES[ending](rows)})


@pytest.mark.parametrize("ending", WRITTEN_CLASSES)
@pytest.mark.parametrize("names", CLASSES)
def test_a_number_in_a_column_of_classes_is_the_place_of_its_name_in_every_format(
    tmp_path, ending, names
):
    first, second = CLASSES[names]
    classes = {"class_label": {"names": {0: first, 1: second}}}
    text = {"name": "text", "dtype": "string"}
    features = [text, {"name": "label", "dtype": classes}]
    info = {"dataset_info": {"features": features}}
    card = f"---\n{yaml.safe_dump(info)}---\n".encode()
    folder = written(tmp_path, {"README.md": card})
    given = [{"text": f"text {number}", "label": number % 2} for number in range(4)]
    write_classes(folder, ending, given)
    if names == "numbers":
        assert table_of(folder)["label"].tolist() == [1, 0, 1, 0]
        return
    says = rf"label is '{first}'; say under labels what it means"
    with pytest.raises(InputError, match=says):
        table_of(folder)
    meaning = {"member": 1, "nonmember": 0}
    expected = [meaning[first], meaning[second]] * 2
    assert table_of(folder, labels=meaning)["label"].tolist() == expected
    given[0]["label"] = 2
    write_classes(folder, ending, given)
    with pytest.raises(InputError, match=r"label is 2, and the classes are 0 to 1"):
        table_of(folder, labels=meaning)


@pytest.mark.parametrize("ending", WRITTEN_CLASSES)
def test_characters_under_length_and_names_that_are_missing_are_checked_as_in_a_file_of_ones_own(
    tmp_path, ending
):
    given = []
    for n in range(40):
        row = {"text": f"text {n}", "label": n % 2, "length": 50 + n}
        given.append(row | {"document": "A " if n % 2 else "A"})
    write_classes(tmp_path, ending, given)
    says = r"the column length has 40 values for 40 texts"
    with pytest.raises(InputError, match=says):
        table_of(tmp_path)
    write_classes(tmp_path, ending, [row | {"length": 2} for row in given])
    assert set(table_of(tmp_path)["document"]) == {"A"}


@pytest.mark.parametrize("ending", ["parquet", "saved"])
def test_only_columns_that_are_asked_for_are_read(tmp_path, ending):
    import datasets
    import pyarrow as pa
    import pyarrow.parquet as pq

    when = pa.array([4 * 10**11] * 2, pa.timestamp("s"))  # in the year 14645
    table = pa.table({"text": ["a b", "c d"], "label": [1, 0], "when": when})
    if ending == "saved":
        datasets.Dataset(table).save_to_disk(str(tmp_path))
    else:
        pq.write_table(table, tmp_path / "a-train.parquet")
        odd = table.set_column(2, "when", pa.array(["a", "b"]))
        pq.write_table(odd, tmp_path / "b-train.parquet")
    assert len(table_of(tmp_path)) == (2 if ending == "saved" else 4)


@pytest.mark.parametrize("splits", [False, True])
def test_a_folder_that_save_to_disk_wrote_is_read(tmp_path, splits):
    import datasets

    saved = datasets.Dataset.from_list(PARTS[0])
    keys = {"columns": COLUMNS}
    if splits:
        keys["splits"] = ["test"]
        saved = datasets.DatasetDict(test=saved, train=saved.select([0]))
    saved.save_to_disk(str(tmp_path))
    before = set(tmp_path.rglob("*"))
    table = table_of(tmp_path, **keys)
    assert table["text"].tolist() == snippets(PARTS[0])
    assert set(tmp_path.rglob("*")) == before, "nothing is written there"


def test_rows_without_words_are_left_out_and_other_columns_than_the_named_are_not_read(
    tmp_path, warnings
):
    given = [row | {"length": -1.5, "id": "same"} for row in PARTS[0]]
    given += [{"snippet": " \n", "seen": 1}, {"snippet": None, "seen": 0}]
    written(tmp_path, {"train.jsonl": made.jsonl(given)})
    table = table_of(tmp_path, columns=COLUMNS)
    assert len(table) == 5
    assert "split train: 2 of 7 rows have no words: left out" in warnings()
    assert table["length"].isna().all()
    assert table["text_id"].is_unique


def test_cells_arrive_as_written(tmp_path):
    written_cells = {"null": "007", "NA": "07", "None": "1.10", "nan": "1.100"}
    given = []
    for number, (text, document) in enumerate(written_cells.items()):
        given.append({"text": text, "label": number % 2, "document": document})
    table = table_of(written(tmp_path, {"train.csv": made.comma_separated(given)}))
    assert dict(zip(table["text"], table["document"], strict=True)) == written_cells
    assert table["label"].tolist() == [0, 1, 0, 1]


def test_files_narrows_what_is_fetched(hub, tmp_path):
    hub.add("datasets", NAME, books())
    table = table_of(tmp_path, hub=NAME, files="all/part-*", columns=COLUMNS)
    assert len(table) == 9
    for method, path, _ in hub.asked:
        if method == "GET":
            assert "pages" not in path


def test_patterns_of_files_make_splits_of_a_folder_of_ones_own(tmp_path):
    folder = written(
        tmp_path / "own",
        {
            "README.md": b"---\nconfigs: [{config_name: x, data_files: none.csv}]\n---\n",
            "member/test/a.jsonl": b'{"text": "one"}\n',
            "non-member/test/b.jsonl": b'{"text": "two"}\n',
        },
    )
    splits = {
        "members": {"label": 1, "files": "member/*/*.jsonl"},
        "others": {"label": 0, "files": "non-member/*/*"},
    }
    table = table_of(folder, splits=splits)
    assert dict(zip(table["text"], table["label"], strict=True)) == {"one": 1, "two": 0}
    splits["others"].pop("files")
    with pytest.raises(InputError, match=r"splits\.others: files is missing"):
        table_of(folder, splits=splits)


def test_nothing_is_asked_and_nothing_is_left_behind(tmp_path):
    """In a process of its own, whose home and temporary folder are watched, with the
    hub's variables for offline."""
    written(tmp_path / "data", books())
    (tmp_path / "home").mkdir()
    (tmp_path / "tmp").mkdir()
    program = (
        "import socket, sys\nfrom pathlib import Path\nfrom pretrace.benchmarks import "
        "build\n"
        "def refuse(*ignored): raise AssertionError('a connection')\n"
        "socket.socket.connect = refuse\n"
        "entry = {'source': 'dataset', 'path': '.', 'hub_config': 'snippets', "
        "'splits': ['test'], 'columns': {'text': 'snippet', 'label': 'seen'}}\n"
        "print(len(build('mine', entry, [Path(sys.argv[1])])))"
    )
    environment = {
        "HOME": str(tmp_path / "home"),
        "TMPDIR": str(tmp_path / "tmp"),
        "PYTHONPATH": str(ROOT / "src"),
    }
    for name, value in os.environ.items():
        if not name.startswith("HF_"):
            environment.setdefault(name, value)
    command = [sys.executable, "-c", program, str(tmp_path / "data")]
    for offline in ({}, {"HF_HUB_OFFLINE": "1", "HF_DATASETS_OFFLINE": "1"}):
        done = subprocess.run(
            command, env=environment | offline, capture_output=True, text=True
        )
        assert done.returncode == 0, done.stderr
        assert done.stdout.split()[-1] == "6"
        assert "it/s" not in done.stderr
    for name in ("home", "tmp"):
        for path in (tmp_path / name).rglob("*"):
            assert not path.is_file(), path


MISTAKES = [
    ({"hub_config": "snipets"},
     r"no configuration 'snipets' \(hub_config\): did you mean 'snippets'"),
    ({}, r"set hub_config to one of its configurations: snippets, pages"),
    ({"hub_config": "pages", "splits": ["member"]},
     r"no split 'member': did you mean 'members'"),
    ({"hub_config": "pages"},
     r"name the ones to read under splits: members, nonmembers"),
    ({"hub_config": "snippets", "splits": ["test"]},
     r"held_out\.parquet: set columns.text .*snippet, seen, book"),
    ({"hub_config": "snippets", "splits": ["test"], "columns": {"text": "snipet"}},
     r"no column 'snipet' \(columns.text\): did you mean 'snippet'"),
    ({"hub_config": "snippets", "splits": ["test"], "columns": {"text": "snippet"}},
     r"no column is called label: set columns.label"),
    ({"hub_config": "snippets", "splits": {"test": {"label": 1}}, "columns": COLUMNS},
     r"label is given by both columns and splits"),
    ({"hub_config": "snippets", "splits": ["test"],
      "columns": {"text": "seen", "label": "seen"}},
     r"held_out\.parquet, row 1: text is 0; it must be"),
    ({"hub_config": "snippets", "splits": ["test"],
      "columns": COLUMNS | {"length": "book"}},
     r"held_out\.parquet, row 1: length is 'book 0'; it must be a whole number"),
]  # fmt: skip


@pytest.mark.parametrize(("keys", "message"), MISTAKES)
def test_a_mistake_is_named_with_what_there_is(tmp_path, keys, message):
    with pytest.raises(InputError, match=message):
        table_of(written(tmp_path, books()), **keys)


@pytest.mark.parametrize(("keys", "message"), MISTAKES[:4])
def test_a_configuration_or_a_split_that_a_folder_lacks_is_named_while_planning(
    tmp_path, keys, message
):
    entry = DataSet(source="dataset", path=str(tmp_path), **keys)
    with pytest.raises(InputError, match=message):
        check_splits(entry, written(tmp_path, books()))


@pytest.mark.parametrize("several", [True, False])
def test_the_splits_of_a_saved_folder_are_known_while_planning(tmp_path, several):
    from datasets import Dataset, DatasetDict

    table = Dataset.from_dict({"text": ["a b"], "label": [1]}, split="test")
    if several:
        table = DatasetDict({"test": table})
    table.save_to_disk(str(tmp_path))
    keys = {"source": "dataset", "path": str(tmp_path)}
    check_splits(DataSet(splits=["test"], **keys), tmp_path)
    with pytest.raises(InputError, match="has no split 'train': valid: test"):
        check_splits(DataSet(splits=["train"], **keys), tmp_path)


def test_a_broken_file_is_named_where_its_split_is_read(tmp_path):
    written(tmp_path, books() | {"all/held_out.parquet": b"broken"})
    keys = {"hub_config": "snippets", "columns": COLUMNS}
    says = r"held_out\.parquet: cannot be read as Parquet"
    with pytest.raises(InputError, match=says):
        table_of(tmp_path, splits=["test"], **keys)
    assert len(table_of(tmp_path, splits=["train"], **keys)) == 9


@pytest.mark.parametrize("place", ["../outside.jsonl", "{folder}/outside.jsonl"])
def test_a_readme_leads_to_no_other_files(tmp_path, place):
    secret = made.jsonl([{"text": "secret", "label": 1}])
    written(tmp_path, {"outside.jsonl": secret})
    card = readme(place.format(folder=tmp_path))
    folder = written(tmp_path / "data", {"README.md": card})
    says = r"its configs name .*outside\.jsonl, which is not in it|Unable to find '.*data/\.\./outside\.jsonl'$"
    with pytest.raises(InputError, match=says):
        table_of(folder)


def test_a_repository_of_a_script_alone_is_refused_and_its_code_not_fetched(
    hub, tmp_path
):
    hub.add("datasets", NAME, {"README.md": b"# hi", "books.py": b"raise SystemExit"})
    says = r"only a script \(books.py\), and scripts are never run.*refs/convert"
    with pytest.raises(InputError, match=says):
        table_of(tmp_path, hub=NAME)
    for _, path, _ in hub.asked:
        assert not ("resolve" in path and path.endswith(".py"))
    hub.add("datasets", "someone/empty", {"README.md": b"# hi"})
    with pytest.raises(InputError, match="has no file like"):
        table_of(tmp_path, hub="someone/empty")


def test_a_path_that_is_no_folder_is_refused(tmp_path):
    (tmp_path / "a.csv").write_text("text,label\na,1\n")
    with pytest.raises(InputError, match="is not a folder"):
        table_of(tmp_path / "a.csv")


def test_the_name_of_a_folder_is_no_pattern(tmp_path):
    files = {"b[2].jsonl": made.jsonl([{"text": "a b", "label": 1}])}
    assert len(table_of(written(tmp_path / "a[1]", files))) == 1
