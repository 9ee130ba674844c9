"""Malformed files, by hand and mutated by a seed: each is refused with file and place,
or read with all that it holds.

A traceback, a hang and a text that is missing without a word fail the test.
"""

import csv
import gzip
import io
import json
import random
import resource
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import spoiling
import yaml
from made_up_studies import ROOT
from spoiling import damaged, limited, refuses, repacked, respelled, spoiled, tiers

import hub_datasets as made
from made_up_books import docx, epub, packed_pdf, pages_of, pdf, prose
from pretrace import benchmarks
from pretrace.audit.file_checks import check_audit
from pretrace.benchmarks.loaders.local import check_texts
from pretrace.corpora.readers.local import LocalCorpus, local
from pretrace.documents.works import Work, read_work
from pretrace.questions.collected import check_answers
from pretrace.questions.prompts import Wording
from pretrace.questions.written_views import ParaphrasePrompts
from pretrace.runtime.schema import read_keys
from pretrace.views.stored import imported_view
from pretrace.views.zero_access import Openings

VALUES: tuple[Any, ...] = (
    "\u200b\u200d\ufeff", "\u202eabc", "=HYPERLINK(1)", "+1", "@SUM(A1)", "-1", "a\0b",
    "\ud800", "", " \n\t ",
    "x" * 600, "word " * 20_000, "a\nb,c\"d", "NaN", "null", "true", "-0", "1e999",
    1e308, 10**400, float("nan"),
    True, None, 2, -1, 0.5, "0", "1", "yes", [], {}, [["a"]], {"text": "b"}, "../../x",
    "a" * 40 + "\u0301" * 400,
)  # fmt: skip
KEYS = (
    *[
        "input",
        "text",
        "label",
        "subset",
        "length",
        "document",
        "id",
        "title",
        "author",
        "Input",
    ],
    "",
    "\ufeffid",
)


def good_rows(label: int | None = None) -> list[dict[str, Any]]:
    """Rows of two classes in twelve documents, or of one class."""
    rows = []
    for n in range(24):
        rows.append(
            {
                "id": f"t{n}",
                "input": f"text number {n} of {n * n} in all",
                "label": n % 2 if label is None else label,
                "subset": "a",
                "length": 7,
                "document": f"d{n % 12}",
            }
        )
    return rows


def changed(rows: list[dict[str, Any]], draw: random.Random) -> list[Any]:
    """A copy of the rows with one to three mistakes."""
    rows = [dict(row) for row in rows]
    for _ in range(draw.randint(1, 3)):
        row = draw.choice([row for row in rows if isinstance(row, dict)])
        match draw.randrange(6):
            case 0:
                rows = spoiled(rows, draw)
            case 1:
                row[draw.choice(KEYS)] = draw.choice(VALUES)
            case 2:
                row.pop(draw.choice(list(row) or ["id"]), None)
            case 3:
                rows.insert(
                    draw.randrange(len(rows)),
                    draw.choice((dict(row), {}, [], "text", 3, None)),
                )
            case 4:
                column = draw.choice(KEYS)
                value = draw.choice(VALUES)
                rows = [
                    {**row, column: value} if isinstance(row, dict) else row
                    for row in rows
                ]
            case 5:
                row["id"] = draw.choice(good_rows())["id"]
    return rows


def as_lines(rows: list[Any], draw: random.Random) -> bytes:
    """JSON lines, one of them perhaps with a key twice, deeply nested, or with blanks
    around it."""
    lines = [json.dumps(row) for row in rows]
    place = draw.randrange(len(lines))
    lines[place] = draw.choice(
        (
            lines[place],
            lines[place],
            lines[place].replace("{", '{"input": "another", ', 1),
            "[" * 3000 + "]" * 3000,
            lines[place].replace(
                '"subset": "a"', '"subset": ' + "[" * 3000 + "]" * 3000
            ),
            f"  {lines[place]}\t",
            "",
        )
    )
    return ("\n".join(lines) + "\n").encode()


def as_csv(rows: list[Any], draw: random.Random) -> bytes:
    keys = []
    for row in rows:
        if isinstance(row, dict):
            for key in row:
                if key is not None:
                    keys.append(key)
    columns = list(dict.fromkeys(keys))
    out = io.StringIO(newline="")
    writer = csv.writer(
        out,
        delimiter=draw.choice(",,,,;\t"),
        lineterminator=draw.choice(("\n", "\r\n")),
    )
    writer.writerow(columns)
    for row in rows:
        writer.writerow(
            [row.get(column) for column in columns] if isinstance(row, dict) else [row]
        )
    return out.getvalue().encode(
        draw.choice(("utf-8", "utf-8", "utf-8-sig", "utf-16")), "surrogatepass"
    )


def as_parquet(rows: list[Any], draw: random.Random) -> bytes:
    """Parquet of the rows; values that one column cannot hold together become texts."""
    tables = [row for row in rows if isinstance(row, dict)]
    try:
        return made.parquet(tables)
    except (pa.ArrowException, OverflowError, ValueError, TypeError):
        texts = []
        for row in tables:
            texts.append({str(key): json.dumps(value) for key, value in row.items()})
        return made.parquet(texts)


WRITERS: dict[str, Callable[[list[Any], random.Random], bytes]] = {
    "t.jsonl": as_lines,
    "t.jsonl.gz": lambda rows, draw: gzip.compress(as_lines(rows, draw), mtime=0),
    "t.csv": as_csv,
    "t.parquet": as_parquet,
}


def texts_in(path: Path) -> int:
    """Number of rows of a file, counted without the library."""
    if path.suffix == ".parquet":
        return int(pq.read_metadata(path).num_rows)
    content = path.read_bytes()
    if path.suffix == ".gz":
        content = gzip.decompress(content)
    if path.suffix == ".csv":
        # a row of empty cells, as spreadsheets leave them at the end, is no text
        return (
            sum(
                any(row)
                for row in csv.reader(
                    io.StringIO(content.decode("utf-8-sig"), newline="")
                )
            )
            - 1
        )
    return sum(bool(line.strip()) for line in content.decode("utf-8-sig").split("\n"))


def read(path: Path, *, metrics: bool, known: Path | None = None) -> str:
    """Check and build a benchmark of the files as a study does; the refusal, or "" if
    every text is there."""
    files = [path] if known is None else [path, known]
    tables: list[Any] = []
    entry = {"source": "local", "path": path.name} | (
        {} if known is None else {"known": known.name}
    )
    refused = refuses(lambda: check_texts(*files, metrics=metrics))
    job_refused = refuses(lambda: tables.append(benchmarks.build("mine", entry, files)))
    assert refused or not job_refused, (
        f"the job refuses what the check let pass: {job_refused}"
    )
    assert not refused or any(file.name in refused for file in files), refused
    assert len(refused) < 2000, "a refusal fits on a screen"
    if not refused:
        assert len(tables[0]) == sum(map(texts_in, files)), "every row is a text"
        assert tables[0]["text_id"].is_unique
    return refused


def written(
    folder: Path, name: str, rows: list[dict[str, Any]], draw: random.Random
) -> Path:
    """A file with mistakes in its rows, or in its bytes."""
    path = folder / name
    if draw.randrange(4):
        path.write_bytes(WRITERS[name](changed(rows, draw), draw))
    else:
        path.write_bytes(damaged(WRITERS[name](rows, random.Random(0)), draw))
    return path


@tiers(15, 400)
@pytest.mark.parametrize("name", WRITERS)
def test_a_changed_file_of_texts_is_refused_or_read_whole(tmp_path, name, seeds):
    for seed in seeds:
        with limited(seed) as draw:
            read(
                written(tmp_path, name, good_rows(), draw), metrics=draw.random() < 0.5
            )


@tiers(15, 400)
@pytest.mark.parametrize("name", WRITERS)
def test_changed_files_of_an_audit_are_refused_or_read_whole(tmp_path, name, seeds):
    suspects = [row | {"label": None, "id": f"s{row['id']}"} for row in good_rows()]
    paths = tmp_path / name, tmp_path / f"known_{name}"
    for seed in seeds:
        with limited(seed) as draw:
            for path, rows in zip(paths, (suspects, good_rows(0)), strict=True):
                path.write_bytes(WRITERS[name](changed(rows, draw), draw))
            if not read(paths[0], metrics=False, known=paths[1]):
                refuses(lambda: check_audit(*paths))


@tiers(15, 400)
@pytest.mark.parametrize("name", ["t.jsonl", "t.csv"])
def test_a_changed_file_of_a_view_is_refused_or_read_whole(tmp_path, name, seeds):
    texts = pd.DataFrame({"text_id": [row["id"] for row in good_rows()]})
    rows = [
        {"id": row["id"], "text": f"{row['input']} {variant}", "variant": variant}
        for row in good_rows() for variant in range(2)
    ]  # fmt: skip
    for seed in seeds:
        with limited(seed) as draw:
            path = written(tmp_path, name, rows, draw)
            tables: list[pd.DataFrame] = []

            def read(path=path, tables=tables):
                tables.append(imported_view("paraphrase", texts, path))

            refused = refuses(read)
            assert name in refused or len(tables[0]) == texts_in(path)


def odt(text: str) -> bytes:
    spaces = " ".join(
        f'xmlns:{name}="urn:oasis:names:tc:opendocument:xmlns:{name}:1.0"'
        for name in ("office", "text", "manifest")
    )
    blocks = "".join(
        f'<text:p>{own}<text:s text:c="3"/></text:p>' for own in text.split("\n\n")
    )
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w") as archive:
        archive.writestr("META-INF/manifest.xml", f"<manifest:manifest {spaces}/>")
        body = f"<office:body><office:text>{blocks}</office:text></office:body>"
        archive.writestr(
            "content.xml",
            f"<office:document-content {spaces}>{body}</office:document-content>",
        )
    return packed.getvalue()


@pytest.fixture(scope="module")
def documents(tmp_path_factory) -> dict[str, bytes]:
    """Documents of all formats, by name."""
    folder = tmp_path_factory.mktemp("documents")
    text = prose(300, "a")
    blocks = "".join(f"<p class='a'>{own}</p>" for own in text.split("\n\n"))
    lines = "".join(
        rf"\pard\f0 {own}{{\footnote n}}\u8217?\'e9\par" for own in text.split("\n\n")
    )
    pages = pages_of(text, "H", lines=10)
    plain = pdf(folder / "a.pdf", pages)
    packed = packed_pdf(folder / "b.pdf", pages, "<< /Title (A title) >>")
    return {
        "a.epub": epub(
            folder / "a.epub", [text, text], front="F", about="<dc:title>A</dc:title>"
        ).read_bytes(),
        "a.docx": docx(folder / "a.docx", text, ["One\t1"]).read_bytes(),
        "a.odt": odt(text),
        "a.pdf": plain.read_bytes(),
        "b.pdf": packed.read_bytes(),
        "a.html": f"<html><head><title>x</title></head><body>{blocks}<ul><li>a<li>b</ul></body></html>".encode(),
        "a.rtf": rf"{{\rtf1\ansi{{\fonttbl{{\f0 T;}}}}{{\info{{\title T}}}}{lines}}}".encode(),
        "a.md": f"---\ntitle: x\n---\n# Contents\n- a\n{text}[^1]\n\n[^1]: note\n".encode(
            "utf-16"
        ),
    }


@tiers(15, 400)
@pytest.mark.parametrize(
    "name", ["a.epub", "a.docx", "a.odt", "a.pdf", "b.pdf", "a.html", "a.rtf", "a.md"]
)
@pytest.mark.filterwarnings("ignore:Duplicate name")
def test_a_changed_document_is_refused_or_read(tmp_path, documents, name, seeds):
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    path = tmp_path / name
    ways = [damaged, respelled]
    if zipfile.is_zipfile(io.BytesIO(documents[name])):
        ways += [repacked, repacked]
    if name.endswith(".pdf"):
        seeds = seeds[:120]  # a process reads each
    for seed in seeds:
        with limited(seed) as draw:
            path.write_bytes(draw.choice(ways)(documents[name], draw))
            refused = refuses(lambda: read_work(Work("a", path, (path,))))
            assert not refused or (name in refused and "\n" not in refused), refused
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before < 500_000, (
        "KB of memory"
    )


@tiers(15, 400)
@pytest.mark.parametrize("name", ["t.jsonl", "t.jsonl.gz"])
def test_a_changed_corpus_is_refused_or_read_whole(tmp_path, name, seeds):
    entry = LocalCorpus(source="local", path="mine", field="input")
    for seed in seeds:
        with limited(seed) as draw:
            path = written(tmp_path, name, good_rows(), draw)
            documents: list[str] = []

            def read(path=path, documents=documents):
                documents.extend(local(entry, [path]))

            if not refuses(read):
                assert len(documents) == texts_in(path)


@pytest.mark.parametrize(
    "encoding",
    [
        "utf-16",
        "utf-16-le",
        "utf-32",
        "cp1252",
        "gb18030",
        "shift_jis",
        "cp037",
        "utf-7",
    ],
)
@pytest.mark.parametrize("ending", ["jsonl", "csv"])
def test_another_encoding_is_refused_with_its_line(tmp_path, encoding, ending):
    text = "日本語" if encoding == "shift_jis" else "café"
    lines = [f'{{"input": "{text}", "label": 1}}', '{"input": "b", "label": 0}']
    if ending == "csv":
        lines = ["text,label", f"{text},1", "b,0"]
    (path := tmp_path / f"t.{ending}").write_bytes("\n".join(lines).encode(encoding))
    assert read(path, metrics=True) or encoding == "utf-7", (
        "UTF-7 is ASCII: it reads, as other words"
    )


@pytest.mark.parametrize(
    "text",
    [
        "a", "語", "\u202eright to left\u202c", "שלום עולם", "مرحبا بالعالم",
        "e" + "\u0301" * 500, "👩‍👩‍👧‍👦" * 50,
        "\ufeffmark", "a\u2028b", "\x1b[31mred", "<script>alert(1)</script>",
        "\\input{/etc/passwd}",
        "%s %d {0}", "\ufffd" * 20, "a" * 1_000_000, "word " * 200_000, "NaN",
        "\U0001d573\U0001d58a", "ﷺ" * 100, "a\rb", "=1+1", "\U0010ffff",
    ],
    ids=range(22),
)  # fmt: skip
def test_odd_but_honest_texts_are_kept_as_they_are(tmp_path, text):
    path = tmp_path / "t.jsonl"
    path.write_bytes(
        made.jsonl([{"input": text, "label": 1}, {"input": "another", "label": 0}])
    )
    assert not read(path, metrics=True)
    assert text in set(
        benchmarks.build("mine", {"source": "local", "path": "mine.jsonl"}, [path])[
            "text"
        ]
    )


WRONG_TYPES = {
    "label bytes": {"label": pa.array([b"\xff", b"1"])},
    "label booleans": {"label": pa.array([True, False])},
    "text bytes": {"text": pa.array([b"\xff", b"b"])},
    "text maps": {"text": pa.array([{"a": 1}, {"a": 2}])},
    "text nulls": {"text": pa.nulls(2, pa.string())},
    "text dates": {"text": pa.array([0, 1], pa.date32())},
    "length infinite": {"length": pa.array([float("inf"), 8.0])},
    "document times": {"document": pa.array([0, 1], pa.timestamp("ns"))},
    "id times": {"id": pa.array([0, 1], pa.duration("s"))},
    "no text": {"text": None},
}
"""What Parquet alone can hold; test_benchmarks_local.py has what JSON and CSV can."""


@pytest.mark.parametrize("name", WRONG_TYPES)
def test_parquet_of_wrong_types_is_refused(tmp_path, name):
    columns = {"text": pa.array(["a", "b"]), "label": pa.array([0, 1])} | WRONG_TYPES[
        name
    ]
    path = tmp_path / "t.parquet"
    pq.write_table(
        pa.table({key: value for key, value in columns.items() if value is not None}),
        path,
    )
    assert read(path, metrics=True)


ANSWERS = [
    {"document": f"d{number % 2}", "label": number % 2, "passage": number,
     "permutation": number, "true_answer": "A",
     "answer": "B", "p_a": 0.1, "p_b": 0.6, "p_c": 0.2,
     "p_d": 0.1} for number in range(6)
]  # fmt: skip


@spoiling.seeds(80)
def test_spoiled_answers_are_refused_or_read(tmp_path_factory, seed):
    path = tmp_path_factory.mktemp("answers") / "answers.jsonl"
    rows = spoiled(ANSWERS, random.Random(seed))
    path.write_bytes(made.jsonl(rows))
    refuses(lambda: check_answers(path, metrics=True))


PROMPTS = {
    "con_recall_zero_access": Openings,
    "de_cop": Wording,
    "paraphrase": ParaphrasePrompts,
}


@spoiling.seeds(60)
def test_a_spoiled_or_damaged_file_of_prompts_is_refused_or_read(
    tmp_path_factory, seed
):
    draw = random.Random(seed)
    path = tmp_path_factory.mktemp("prompts") / "given.yaml"
    for kind, keys in PROMPTS.items():
        good = (ROOT / "config" / "prompts" / f"{kind}.yaml").read_bytes()
        path.write_text(
            yaml.safe_dump(spoiled(yaml.safe_load(good), draw)), encoding="utf-8"
        )
        refuses(lambda keys=keys: read_keys(path, keys))
        path.write_bytes(damaged(good, draw))
        refuses(lambda keys=keys: read_keys(path, keys))
