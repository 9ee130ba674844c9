"""Documents are cut into passages of one length, as a user types it."""

import gzip
import json
import os
from itertools import pairwise
from pathlib import Path

import pytest
from command_line import run_pretrace

import hub_datasets as made
from made_up_books import epub
from pretrace.audit.file_checks import check_audit
from pretrace.documents.passages import passages


def numbered(words: int, name: str = "w") -> str:
    return " \n".join(f"{name}{number}" for number in range(words))


WORDS = 64 * 15 + 63


@pytest.mark.parametrize("most", [1, 2, 3, 6, 7, 8, 12, 13, None])
def test_passages_are_whole_do_not_overlap_and_are_spread_over_the_document_without_its_margins(
    most,
):
    cut = passages(numbered(WORDS), 64, most)
    starts = [start for start, _ in cut]
    assert len(cut) == (15 if most is None else min(12, most)), (
        "twelve are in the middle 80 %"
    )
    for start, passage in cut:
        assert passage == " \n".join(
            f"w{number}" for number in range(start, start + 64)
        ), "its own white space"
    gaps = [second - first for first, second in pairwise(starts)]
    for gap in gaps:
        assert gap >= 64
    assert not gaps or max(gaps) - min(gaps) <= 1, "equal, up to a word"
    before = starts[0]
    after = WORDS - (starts[-1] + 64)
    if most is None:
        assert before == 0
        assert after == 63
    else:
        assert abs(before - after) <= 1
        assert before >= round(WORDS / 10)


def test_a_document_without_a_whole_passage_has_none():
    assert passages(numbered(63), 64) == []
    assert passages(numbered(64), 64) == [(0, numbered(64))]


@pytest.fixture
def folder(tmp_path) -> Path:
    (tmp_path / "books").mkdir()
    for name in ("one", "two", "three"):
        (tmp_path / "books" / f"{name}.txt").write_text(
            numbered(200, name), encoding="utf-8"
        )
    (tmp_path / "books" / "short.txt").write_text("a few words", encoding="utf-8")
    drafts = [{"text": numbered(200, f"dr{n}-"), "id": n} for n in range(6)]
    (tmp_path / "drafts.jsonl").write_bytes(made.jsonl(drafts))
    return tmp_path


def test_the_rows_are_those_of_an_audit_and_short_documents_are_counted(folder):
    suspects = run_pretrace(
        folder, "cut", "--words", "32", "--most", "4", "--label", "none", "books"
    )
    known = run_pretrace(
        folder, "cut", "--words", "32", "--most", "4", "--label", "0", "drafts.jsonl"
    )
    assert (
        "12 passages of 32 words from 3 documents\n1 document is shorter and has"
        in suspects.stderr
    )
    assert "short (3 words)" in suspects.stderr
    rows = [json.loads(line) for line in suspects.stdout.splitlines()]
    expected = {
        "id": "one-000024",
        "text": " \n".join(f"one{n}" for n in range(24, 56)),
        "label": None,
        "document": "one",
        "length": 32,
        "title": "one",
        "author": "",
    }
    assert rows[0] == expected
    assert {row["document"] for row in rows} == {"one", "two", "three"}
    texts = folder / "texts.jsonl"
    texts.write_text(suspects.stdout + known.stdout, encoding="utf-8")
    (remark,) = check_audit(texts, texts)
    assert "3 documents in question and 6 known documents" in remark, (
        "of lengths, repeats and labels there is nothing to say"
    )
    assert (
        run_pretrace(
            folder, "cut", "--words", "32", "--most", "4", "--label", "none", "books"
        ).stdout
        == suspects.stdout
    )


def test_passages_have_the_title_and_the_author_of_their_work(tmp_path):
    """Of a book's own description, and of columns; else the document's name."""
    about = "<dc:title>The Road</dc:title><dc:creator>A. Writer</dc:creator>"
    epub(tmp_path / "road.epub", [numbered(40)], about=about)
    told = {"text": numbered(40), "title": "A Draft", "author": "B. Writer"}
    rows = [told | {"id": "one"}]
    for name in ({"id": "two"}, {"id": 0}, {"document": 1.0, "id": "row"}):
        rows.append({"text": numbered(40)} | name)
    (tmp_path / "drafts.jsonl").write_bytes(made.jsonl(rows))
    done = run_pretrace(
        tmp_path,
        "cut",
        "--words",
        "8",
        "--most",
        "1",
        "--label",
        "1",
        "road.epub",
        "drafts.jsonl",
    )
    named = [json.loads(line) for line in done.stdout.splitlines()]
    expected = [("The Road", "A. Writer"), ("A Draft", "B. Writer")]
    expected += [("two", ""), ("0", ""), ("1", "")]
    assert [(row["title"], row["author"]) for row in named] == expected


@pytest.mark.parametrize(
    ("name", "content", "said"),
    [
        ("empty.txt", b" \n",
         "empty.txt: the document has no words; fill it, or leave it out."),
        ("scan.pdf", b"%PDF-1.4", "scan.pdf cannot be read as PDF"),
        ("short.txt", b"a few words",
         "the document is shorter than a passage of 8 words: short (3 words)."),
        ("none.jsonl", b"", "none.jsonl holds no rows"),
        ("columns.jsonl", b'{"words": "a"}',
         "columns.jsonl:1: there is no text in a column 'text' or 'input'"),
        ("twice.jsonl", b'{"id": "a", "text": "b"}\n' * 2,
         "twice.jsonl:2: the document 'a' was given before, at"),
        ("zh.txt", "甲乙丙丁。".encode() * 9,
         "zh: the document has no spaces between words (language zh), so its words "
         "cannot be counted; give --characters 16 in place of --words 8."),
        ("notes.doc", b"a", "notes.doc: the file name must end in"),
        (os.fsdecode(b"caf\xe9.txt"), b"a few words",
         r"caf\udce9.txt: the name is not UTF-8; rename the file"),
        (None, b"", "missing.txt does not exist"),
        ("folder/", b"",
         "folder: the folder has no document; give files or folders of .epub, .docx"),
    ],
)  # fmt: skip
def test_each_mistake_is_named_without_a_traceback(tmp_path, name, content, said):
    if name and name.endswith("/"):
        (tmp_path / name).mkdir()
    elif name:
        (tmp_path / name).write_bytes(content)
    done = run_pretrace(
        tmp_path,
        "cut",
        "--words",
        "8",
        "--label",
        "0",
        (name or "missing.txt").rstrip("/"),
    )
    assert done.returncode == 1
    assert done.stdout == ""
    assert done.stderr.startswith("error: ")
    assert said in done.stderr


def test_a_folder_in_a_folder_is_a_work_and_what_is_left_out_is_named(tmp_path):
    (tmp_path / "books" / "part").mkdir(parents=True)
    for name in (
        "a.txt",
        "B.TXT",
        "part/10.txt.gz",
        "part/9.md",
        "._a.txt",
        "notes.doc",
    ):
        content = numbered(8, name).encode()
        path = tmp_path / "books" / name
        path.write_bytes(gzip.compress(content) if name.endswith(".gz") else content)
    done = run_pretrace(tmp_path, "cut", "--words", "8", "--label", "0", "books")
    rows = [json.loads(line) for line in done.stdout.splitlines()]
    assert [row["document"] for row in rows] == ["B", "a", "part", "part"]
    assert [row["text"].split()[0] for row in rows[2:]] == [
        "part/9.md0",
        "part/10.txt.gz0",
    ], "in natural order"
    assert (
        "left out of folders: books/notes.doc. Convert it: soffice --headless "
        "--convert-to docx" in done.stderr
    )
    assert "left out of folders: 1 file: books/._a.txt" in done.stderr
    whole = run_pretrace(
        tmp_path, "cut", "--words", "8", "--label", "0", "--document", "books"
    )
    assert {json.loads(line)["document"] for line in whole.stdout.splitlines()} == {
        "books"
    }
    assert len(whole.stdout.splitlines()) == len(rows)


def test_passages_of_characters_begin_and_end_between_words():
    text = " ".join(["extraordinarily"] * 50 + ["a"] * 50)
    cut = passages(text, 64, unit="characters")
    expected = [{"extraordinarily"}] * 11 + [{"extraordinarily", "a"}]
    assert [set(passage.split()) for _, passage in cut] == expected
    assert all(abs(len(passage.replace(" ", "")) - 64) < 15 for _, passage in cut)
    [(_, whole)] = passages("x" * 70, 64, unit="characters")
    assert whole == "x" * 64, "a word that is longer than a passage is cut"


@pytest.mark.parametrize(
    "text",
    ["吾輩は猫である。" * 9, "สวัสดีครับผมชื่อสมชาย" * 4, "天地玄黃。宇宙洪荒。\n" * 8],
    ids=["ja", "th", "zh"],
)
def test_characters_cut_languages_without_spaces(tmp_path, text):
    (tmp_path / "text.txt").write_text(text, encoding="utf-8")
    done = run_pretrace(
        tmp_path, "cut", "--characters", "32", "--label", "none", "text.txt"
    )
    row, *_ = [json.loads(line) for line in done.stdout.splitlines()]
    assert len("".join(row["text"].split())) == row["length"] == 32
    assert text.startswith(row["text"])
