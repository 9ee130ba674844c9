"""A user's own file: what is read, and that each mistake in it is named with its file,
line and remedy."""

import bz2
import datetime
import gzip
import io
import json
import lzma
import re
import tracemalloc
import zipfile

import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import zstandard

import hub_datasets as made
from pretrace.benchmarks import build
from pretrace.benchmarks.loaders.dataset import DataSet, load
from pretrace.benchmarks.loaders.local import check_texts, texts_of
from pretrace.benchmarks.rows import Settings
from pretrace.benchmarks.rows import rows as rows_of_file
from pretrace.benchmarks.user_rows import given_rows
from pretrace.runtime.errors import InputError

ROWS = [
    {
        "id": "x",
        "input": "first text, of two",
        "label": 1,
        "subset": "a",
        "length": 4,
        "document": "d1",
    },
    {
        "id": "y",
        "input": "second text\nin two lines",
        "label": 0,
        "subset": "b",
        "document": "d2",
    },
    {
        "id": "z",
        "input": "第三段文字 🙂",
        "label": None,
        "subset": None,
        "length": 1,
        "document": None,
    },
]


def zipped(**members: bytes) -> bytes:
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in members.items():
            archive.writestr(name, content)
    return packed.getvalue()


FORMATS = {
    "texts.csv.zip": zipped(
        **{"folder/any name": made.comma_separated(ROWS), "__MACOSX/._x": b"x"}
    ),
    "texts.JSONL.ZIP": zipped(rows=made.jsonl(ROWS)),
    "texts.jsonl": made.jsonl(ROWS),
    "marked_with_blank_lines.JSONL": (
        "\n\n".join(map(json.dumps, ROWS)) + "\n \n"
    ).encode("utf-8-sig"),
    "texts.jsonl.gz": gzip.compress(made.jsonl(ROWS)),
    "texts.NDJSON": made.jsonl(ROWS),
    "texts.json.zst": zstandard.compress(made.jsonl(ROWS)),
    "texts.csv": made.comma_separated(ROWS),
    "texts.tsv.gz": gzip.compress(made.comma_separated(ROWS, "\t")),
    "texts.csv.bz2": bz2.compress(made.comma_separated(ROWS)),
    "texts.jsonl.xz": lzma.compress(made.jsonl(ROWS)),
    "marked.csv": b"\xef\xbb\xbf" + made.comma_separated(ROWS),
    "texts.parquet": made.parquet(ROWS),
    # pandas has whole numbers with gaps as floats
    "with_floats.parquet": pd.DataFrame(ROWS).to_parquet(),
}


def written(path, *rows):
    path.write_bytes(made.jsonl(rows))
    return path


@pytest.mark.parametrize("name", FORMATS)
def test_every_format_gives_the_same_table(tmp_path, name):
    path = tmp_path / name
    path.write_bytes(FORMATS[name])
    check_texts(path, metrics=True)
    table = build("mine", {"source": "local", "path": "texts"}, [path])
    columns = ["text_id", "text", "label", "subset", "length", "document"]
    expected = [
        ("z", "第三段文字 🙂", None, "", 1, ""),
        ("x", "first text, of two", 1, "a", 4, "d1"),
        ("y", "second text\nin two lines", 0, "b", None, "d2"),
    ]
    built = []
    for row in pa.Table.from_pandas(table).to_pylist():
        built.append(tuple(row[c] for c in columns))
    assert built == expected


def test_texts_without_ids_are_numbered_and_without_lengths_have_none(tmp_path):
    path = written(
        tmp_path / "t.jsonl",
        {"text": "two words", "label": 1},
        {"text": "b", "label": 0},
    )
    table = build("mine", {"source": "local", "path": "mine.jsonl"}, [path])
    assert list(table["text_id"]) == ["000001", "000002"]
    assert table["length"].isna().all()


GOOD = '{"input": "a text", "label": 1}\n'
MISTAKES = {
    "t.jsonl": {
        GOOD
        + "{not json}\n": r":2: this line is not valid JSON \(.*\); write one object a line",
        "text,label\na b,1\n": r":1: .* looks like CSV with ',' between .*; end the name of the file in \.csv",
        '"id";"Text"\n1;a\n': r":1: .* looks like CSV with ';' between .*; save it as CSV with commas",
        '[\n{"text": "a", "label": 1}\n]\n': r":1: .* one JSON value over many lines; write one object a",
        GOOD + "[1]\n": r":2: this line is not a JSON object",
        GOOD.encode()
        + b'{"input": "caf\xe9", "label": 1}\n': r":2: .* not UTF-8 .*save the file as UTF-8",
        GOOD
        + "\n"
        + '{"inptu": "a", "label": 1}': r":3: .*'input' or 'text'.*; found: inptu, label",
        '{"input": "a", "text": "b", "label": 1}': r":1: one column must be 'input' or 'text'",
        GOOD
        + '{"input": " \\n", "label": 1}': r":2: input is empty; fill it, or drop the row",
        '{"text": null, "label": 1}': r":1: text is empty; it must be a text with at least one word",
        '{"Text": "a", "label": 1}': r":1: the column 'Text' would be ignored; name it 'text'",
        '{"text": "a", " label": 1}': r":1: the column ' label' would be ignored; name it 'label'",
        GOOD
        + '{"text": "a", "documents": 1}': r":2: the column 'documents' .* name it 'document'",
        '{"text": ["a"], "label": 1}': r":1: text is \['a'\]; it must be a text",
        '{"text": "a", "text": "b", "label": 1}': r":1: .*key 'text' is given twice",
        '{"text": "a", "subset": '
        + "[" * 3000
        + "]" * 3000
        + "}": r":1: values are nested too deep",
        '{"text": "\\u200b\\ufeff", "label": 1}': r":1: text shows nothing, it holds .* zero-width",
        '{"text": "a", "id": "'
        + "x" * 501
        + '"}': r":1: id has 501 characters, more than 500",
        '{"text": "a", "length": 1'
        + "0" * 400
        + "}": r":1: length is 10000.* 1 to 10\^9",
        '{"text": "a\\u0000b", "label": 1}': r":1: text holds a NUL character",
        '{"text": "a\\ud800b", "label": 1}': r":1: text holds half a surrogate pair",
        '{"text": "a", "label": 2}': r":1: label is 2; it must be 1 \(member\), 0 \(non-member\)",
        '{"text": "a", "label": 0.5}': r":1: label is 0\.5; it must be",
        '{"text": "a", "label": true}': r":1: label is True; it must be",
        '{"text": "a", "label": "member"}': r":1: label is 'member'; it must be",
        '{"text": "a", "label": 1, "length": 0}': r":1: length is 0; .* whole number of words",
        '{"text": "a", "label": 1, "length": Infinity}': r":1: length is inf",
        '{"text": "a", "label": 1, "subset": ["s"]}': r":1: subset is \['s'\]; it must be a name",
        '{"text": "a", "label": 1, "id": ""}': r":1: id is empty; fill it",
        '{"text": "a", "label": 1, "id": 7}\n'
        * 2: r":2: the id '7' was given before, at .*t\.jsonl:1;",
        "": r" holds no rows",
    },
    "t.csv": {
        'text,label\n"two\nlines",1\nb,x\n': r":4: label is 'x'; .*in CSV: empty",
        "text,label\na,1\n,0\n": r":3: text is empty; it must be a text",
        "text,label\ra,1\r": r":1: a line ends in a carriage return alone; save it with line ends",
        "text,label\n".encode(
            "utf-16"
        ): r":1: the file is UTF-16 .*save the file as UTF-8 \(in Excel",
        "text,label\na,1,2\n": r":2: 3 cells where the header has 2",
        'text,label\n"a,1\n': r":2: this is not valid CSV",
        "text,text,label\na,b,1\n": r":1: the header names 'text' twice",
        "passage,label\na,1\n": r", header: one column must be 'input' or 'text'.*; found: passage, label",
        "text;label\na, b;1\n": r":1: the columns are separated by ';'; separate them by commas",
        "id\ttext\tlabel\n1\ta\t0\n": r":1: the columns are separated by tabs",
        GOOD: r":1: the first line is a JSON object.*; end the name of the file in \.jsonl",
        "text,label\n": r" holds no rows",
        "": r" holds no rows",
    },
    "t.tsv": {
        'text\tlabel\n"So it began\t1\nb c\t0\nand "so" it"\t1\n': r":4: this is not valid CSV",
        'text\tlabel\n"So it began\t1\nb c\t0\nso it ended"\t1\n': r":2: the cell of 'text' .* holds 2 further",
        'id\ttext\n1\t"So it began\n2\tb c\n3\tso it ended"\n': r":2: the cell of 'text' .* holds 2 further",
    },
    "t.csv.xz": {
        lzma.compress(
            b'label,text\n1,"So it began\n0,b c\n1,so it ended"\n'
        ): r":2: the cell of 'text' begins",
        lzma.compress(b"text,label\n" + b"a,1\n" * 9000)[
            :-20
        ]: r": cannot be read after line",
    },
    "two.parquet": {
        made.parquet_of(
            ["text", "label", "text"], ["a"], [1], ["b"]
        ): r": the header names 'text' twice"
    },
    "t.parquet": {
        made.parquet(
            [{"text": "a", "label": 1}, {"text": "b", "label": 3}]
        ): r", row 2: label is 3",
        b"PAR1 no": r": cannot be read",
    },
    "t.jsonl.gz": {gzip.compress(GOOD.encode() * 1000)[:-20]: r": cannot be read"},
    "t.csv.zip": {
        zipped(
            a=b"", b=b""
        ): ": the archive has 2 files, and is read if it has one; unpack it",
        zipped(): ": the archive has 0 files",
        zipped(a=GOOD.encode() * 1000)[:-20]: ": cannot be read after line 0",
    },
}


@pytest.mark.parametrize(
    ("name", "content", "said"),
    [
        (name, content, said)
        for name, mistakes in MISTAKES.items()
        for content, said in mistakes.items()
    ],
)
def test_each_mistake_is_named_with_its_place(tmp_path, name, content, said):
    path = tmp_path / name
    path.write_bytes(content if isinstance(content, bytes) else content.encode())
    with pytest.raises(InputError, match=rf"{re.escape(name)}{said}"):
        check_texts(path, metrics=False)


def test_the_empty_rows_that_a_spreadsheet_appends_are_skipped(tmp_path):
    (path := tmp_path / "t.csv").write_text(
        "text,label\r\na b,1\r\n,\r\nc d,0\r\n,\r\n\r\n"
    )
    assert [text.text for text in texts_of(given_rows(path))] == ["a b", "c d"]


def test_a_csv_cell_may_be_long(tmp_path):
    path = tmp_path / "t.csv"
    path.write_text(f"text,label\n{'word ' * 100_000},1\n", encoding="utf-8")
    check_texts(path, metrics=False)
    assert [len(text.text) for text in texts_of(given_rows(path))] == [500_000]


LONG = {"text": "ab " * 4000, "label": 1}
LINES = [{"text": "a line", "label": 1}] * 1500
TOO_LARGE = {
    "jsonl.gz": ("t.jsonl.gz", gzip.compress(made.jsonl([ROWS[0], LONG])), Settings(),
                 ":2: this line is"),
    "other encoding": (
        "t.jsonl", made.jsonl([ROWS[0], LONG]).decode().encode("utf-16"),
        Settings(encoding="utf-16"),
        ":2: this line is",
    ),
    "csv": ("t.csv", made.comma_separated([LONG]), Settings(), ":2: this line is"),
    "cell of lines": ("t.tsv", b'text\tlabel\n"' + b"a\n" * 6000 + b'"\t1\n',
                      Settings(), ":2: a cell is"),
    "csv of a README": ("t.csv", made.comma_separated([LONG], ";"),
                        Settings({"sep": ";"}), ":2: this line is"),
    "array in a line": ("t.json", json.dumps([LONG]).encode(), Settings(arrays=True),
                        ":1: this line is"),
    "array of lines": ("t.json", json.dumps(LINES, indent=1).encode(),
                       Settings(arrays=True), ": the text is"),
    "field": ("t.json", json.dumps({"data": LINES}, indent=1).encode(),
              Settings(field="data"), ": the text is"),
    "parquet": ("t.parquet", made.parquet([LONG]), Settings(),
                ", row group 1: a row is"),
    "text": ("t.txt", b"a line\n" * 2000, Settings(), ": the text is"),
}  # fmt: skip


@pytest.mark.parametrize("case", TOO_LARGE)
def test_a_row_that_is_too_large_is_named_before_it_is_all_in_memory(
    tmp_path, monkeypatch, case
):
    for module in ("documents.unpacking", "benchmarks.rows", "benchmarks.delimited"):
        monkeypatch.setattr(f"pretrace.{module}.LARGEST_ROW", 10_000)
    name, content, settings, said = TOO_LARGE[case]
    (tmp_path / name).write_bytes(content)
    with pytest.raises(
        InputError, match=rf"{re.escape(str(tmp_path / name) + said)} larger than"
    ):
        list(rows_of_file(tmp_path / name, settings=settings))


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("t.jsonl", b'{"input": "a b"}\n' + b" \n" * 1001 + b'{"input": "c d"}\n'),
        ("t.csv.gz", b"input,label\n" + b"\r\n" * 1001 + b"c d,1\n"),
        ("t.txt", b"a b" + b"\n" * 1002),
    ],
)
def test_many_blank_lines_are_no_text(tmp_path, monkeypatch, name, content):
    (tmp_path / name).write_bytes(
        gzip.compress(content) if name.endswith(".gz") else content
    )
    assert list(rows_of_file(tmp_path / name))
    monkeypatch.setattr("pretrace.documents.unpacking.MOST_BLANK_LINES", 1000)
    with pytest.raises(
        InputError,
        match=rf"{re.escape(name)}:100\d: more than 1,000 blank lines; remove them",
    ):
        list(rows_of_file(tmp_path / name))


@pytest.mark.parametrize("name", ["t.parquet", "t.jsonl.gz"])
def test_few_bytes_that_are_many_texts_are_refused_before_all_are_in_memory(
    tmp_path, monkeypatch, name
):
    monkeypatch.setattr("pretrace.benchmarks.texts.LARGEST_TEXTS", 2_000_000)
    count = 1000
    text = "a word " * 1000
    if name.endswith(".parquet"):
        values = pa.DictionaryArray.from_arrays(
            pa.array([0] * count, pa.int32()), pa.array([text])
        )
        pq.write_table(pa.table({"input": values}), tmp_path / name, compression="zstd")
    else:
        (tmp_path / name).write_bytes(
            gzip.compress(f"{json.dumps({'input': text})}\n".encode() * count)
        )
    assert (tmp_path / name).stat().st_size < 50_000
    tracemalloc.start()
    with pytest.raises(
        InputError,
        match=r"(:|row )286: the texts until here have more than 2,000,000 characters",
    ):
        check_texts(tmp_path / name, metrics=False)
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert peak < 6e6, "all texts have 7 MB"


def test_a_missing_file_a_folder_and_another_format_say_what_to_give(tmp_path):
    (tmp_path / "texts.doc").write_text("[]")
    for path, said in (
        (
            tmp_path / "none.jsonl",
            r"none\.jsonl does not exist; give a file: \.jsonl, \.ndjson, ",
        ),
        (tmp_path, "the folder has no document; give files or folders of"),
        (tmp_path / ("a" * 300), r"File name too long; give a file: \.jsonl"),
        (tmp_path / "texts.doc", r"texts\.doc: the file name must end in \.jsonl"),
    ):
        with pytest.raises(InputError, match=said):
            check_texts(path, metrics=False)


@pytest.mark.parametrize("label", [0, 1, None])
def test_one_class_is_an_error_only_where_metrics_are_asked_for(tmp_path, label):
    path = written(
        tmp_path / "t.jsonl",
        {"text": "a", "label": label},
        {"text": "b", "label": None},
    )
    check_texts(path, metrics=False)
    with pytest.raises(
        InputError,
        match=r"t\.jsonl: metrics and shots need members .* and non-members .* it has",
    ) as error:
        check_texts(path, metrics=True)
    assert "artifacts: [audit]" in str(error.value)


def test_equal_texts_share_a_fold_and_those_of_both_classes_are_warned_of(
    tmp_path, warnings
):
    labels = (("a", 1), ("a", 1), ("b", 1), ("b", 0), ("c", 0))
    path = written(
        tmp_path / "t.jsonl",
        *({"text": text, "label": label} for text, label in labels),
    )
    check_texts(path, metrics=True)
    table = build("mine", {"source": "local", "path": "mine.jsonl"}, [path])
    assert len(table) == 5
    assert table.groupby("text")["fold"].nunique().max() == 1
    assert "mine: 1 texts are labelled both member and non-member" in warnings()


def test_a_text_file_is_one_text_without_a_label(tmp_path):
    (tmp_path / "my book.txt").write_text(
        "\ufeffChapter one.\n\nChapter two.\n", encoding="utf-8"
    )
    [text] = texts_of(given_rows(tmp_path / "my book.txt"))
    assert text.text_id == "my book"
    assert text.text == "Chapter one.\n\nChapter two."
    assert text.label is None
    check_texts(tmp_path / "my book.txt", metrics=False)


def test_a_second_file_holds_known_texts(tmp_path):
    mine = tmp_path / "mine.jsonl"
    known = tmp_path / "known.jsonl"
    mine.write_text('{"text": "mine"}\n{"text": "read", "label": 1}\n')
    known.write_text('{"text": "known"}\n{"text": "too", "label": 0, "id": "k"}\n')
    expected = [("000001", None), ("000002", 1), ("known-000001", 0), ("k", 0)]
    labels = []
    for text in texts_of(given_rows(mine), given_rows(known)):
        labels.append((text.text_id, text.label))
    assert labels == expected
    for row, said in (
        ({"label": 1}, r"known\.jsonl:1: the label is 1, and .* known non-members"),
        ({"id": "000001"}, r"the id '000001' is also one of .*mine\.jsonl"),
    ):
        written(known, {"text": "known"} | row)
        with pytest.raises(InputError, match=said):
            texts_of(given_rows(mine), given_rows(known))


SPELLINGS = {
    "café": ["caf\u00e9", "cafe\u0301", " caf\u00e9", "caf\u00e9 "],
    "7": ["7.0", "7", " 7"],
    "007": ["007"], "1.10": ["1.10"], "1.1": ["1.1"], "NA": ["NA"], "null": ["null"],
    "Book A": ["Book A", "Book A ", "Book\u00a0A", "Book  A", "\tBook\u2003A"],
    "Book B": ["Book B", "\ufeffBook\u200b B\u200e", "Bo\u00adok B"],
    "": ["nan", "NaN", "<NA>", ""],
}  # fmt: skip


@pytest.mark.parametrize("column", ["document", "subset", "title", "author"])
@pytest.mark.parametrize(
    ("name", "write"),
    [("t.jsonl", made.jsonl), ("t.csv", made.comma_separated),
     ("t.parquet", made.parquet),
     ("t.tsv.bz2", lambda rows: bz2.compress(made.comma_separated(rows, "\t")))],
)  # fmt: skip
def test_a_name_is_one_in_all_its_spellings_and_a_missing_one_is_none(
    tmp_path, column, name, write
):
    names = []
    for form, spellings in SPELLINGS.items():
        for spelling in spellings:
            names.append((form, spelling))
    rows = []
    for number, (_, spelling) in enumerate(names):
        rows.append({"text": f"text {number}", "label": 1, column: spelling})
    (tmp_path / name).write_bytes(write(rows))
    assert [
        getattr(text, column) for text in texts_of(given_rows(tmp_path / name))
    ] == [form for form, _ in names]


NUMBERS = {"0": [0, 0.0, "0", "0.0"], "false": [False, "false"], "-1": [-1, -1.0]}


@pytest.mark.parametrize("column", ["document", "subset", "title", "author"])
@pytest.mark.parametrize("write", [made.jsonl, made.comma_separated, made.parquet])
def test_zero_and_false_are_names(tmp_path, column, write):
    endings = {
        made.jsonl: "jsonl",
        made.comma_separated: "csv",
        made.parquet: "parquet",
    }
    entry = DataSet(source="dataset", path=str(tmp_path))
    expected = {}
    for name, values in NUMBERS.items():
        for value in values:
            number = len(expected)
            shown = (
                "false" if value is False and write is made.comma_separated else value
            )
            rows = [{"text": f"text {number}", "label": 1, column: shown}]
            path = tmp_path / f"{number}.{endings[write]}"
            path.write_bytes(write(rows))
            expected[f"text {number}"] = name
            [text] = texts_of(given_rows(path))
            assert getattr(text, column) == name, value
    loaded = load(entry, [tmp_path], 0)
    assert {text.text: getattr(text, column) for text in loaded} == expected


def test_numbers_are_names_and_missing_values_of_any_type_are_none(tmp_path):
    nan = float("nan")
    text = {"text": "a b"}
    rows = [
        text | {"label": 1.0, "document": 7.0, "length": 2},
        text | {"label": 0.0, "document": 7, "length": 2.0},
        text | {"label": nan, "document": nan, "length": nan},
        text | {"label": None, "document": None, "length": None},
    ]
    expected = [(1, "7", 2), (0, "7", 2), (None, "", None), (None, "", None)]
    (tmp_path / "t.parquet").write_bytes(pd.DataFrame(rows).to_parquet())
    (tmp_path / "t.jsonl").write_bytes(made.jsonl(rows))
    for name in ("t.parquet", "t.jsonl"):
        own = texts_of(given_rows(tmp_path / name))
        read = [(text.label, text.document, text.length) for text in own]
        assert read == expected, name


def test_only_columns_that_are_needed_are_read(tmp_path):
    column = pa.array([4 * 10**11], pa.timestamp("s"))  # in the year 14645
    table = pa.table(
        {
            "text": ["a b"],
            "label": [1],
            "when": column,
            "nested": [[{"a": datetime.date.max}]],
        }
    )
    pa.parquet.write_table(table, tmp_path / "t.parquet")
    with pytest.raises(InputError, match=r"t\.parquet: cannot be read as Parquet"):
        list(rows_of_file(tmp_path / "t.parquet"))
    assert [text.text for text in texts_of(given_rows(tmp_path / "t.parquet"))] == [
        "a b"
    ]
