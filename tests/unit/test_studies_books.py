"""An audit of books: what was read is told, works are cut alike, and whole works are
read for what is given back."""

import hashlib
import json
import os
import random
import re
from collections import Counter
from math import comb, inf
from pathlib import Path

import numpy as np
import pytest
from made_up_studies import CONFIG, ROOT

from made_up_books import docx, folders_of_books, prose
from pretrace.benchmarks.loaders.local import texts_of
from pretrace.benchmarks.user_rows import given_rows
from pretrace.documents.works import report_of
from pretrace.runtime.errors import InputError
from pretrace.runtime.files import content_of
from pretrace.studies import Plan, load_study
from pretrace.studies.audit.announcement import description
from pretrace.studies.audit.study import TEXTS_SLUG, WORKS_SLUG
from pretrace.studies.audit.works import ALIKE, smallest_effect
from pretrace.studies.user_files import CHECKED, check_user_files


@pytest.fixture
def folder(tmp_path, monkeypatch) -> Path:
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv(CHECKED, raising=False)
    content_of.cache_clear()
    report_of.cache_clear()
    folders_of_books(tmp_path)
    return tmp_path


def loaded(**given):
    paths = {"texts": "books/", "known": "drafts", "model": "smollm2-135m"} | given
    named = {key: path for key, path in paths.items() if path is not None}
    return load_study(CONFIG | {"study": "audit"} | named, ROOT / "config")


def passages(study) -> list:
    entry = study.benchmarks.entries[TEXTS_SLUG]
    given = []
    for path in (entry.path, entry.known):
        given.append(given_rows(Path(path), entry.cut, entry.left_out))
    return texts_of(*given)


def test_as_many_passages_of_each_work_come_from_the_same_places_and_whole_works_stay(
    folder,
):
    study = loaded()
    texts = passages(study)
    cut = study.benchmarks.entries[TEXTS_SLUG].cut
    assert (cut.size, cut.unit, cut.each, cut.unwrap) == (64, "words", 17, True), (
        "1,400 words have 17 in their middle"
    )
    assert set(Counter(text.document for text in texts).values()) == {17}
    assert {len(text.text.split()) for text in texts} == {64}
    assert not any(re.search(r"\w\n\w", text.text) for text in texts), (
        "line ends that only some works have"
    )
    entry = study.benchmarks.entries[WORKS_SLUG]
    whole = {}
    for text in texts_of(given_rows(Path(entry.path)), given_rows(Path(entry.known))):
        whole[text.document] = text
    for text in texts:
        words = " ".join(whole[text.document].text.split())
        place = words.index(" ".join(text.text.split()))
        end = place + len(text.text)
        assert 0.09 < place / len(words) < end / len(words) < 0.91
    labels = {text.document: text.label for text in texts}
    assert {name for name, label in labels.items() if label is None} == {
        "novel",
        "parts",
        "memoir",
        "essays",
    }
    expected = {
        (TEXTS_SLUG, True, False),
        (WORKS_SLUG, False, True),
        ("famous_passages", True, False),
    }
    planned = set()
    for run in study.runs:
        planned.add((run.benchmark, bool(run.methods), run.extraction is not None))
    assert planned == expected


def test_what_was_read_and_what_would_be_found_is_told(folder):
    study = loaded()
    told = "\n".join(description(Plan(study), CONFIG | {"model": "smollm2-135m"}))
    assert "in question, books: 4 works" in told.replace(f"{folder}/", "")
    assert (
        "novel: 1,804 words, 22 passages, EPUB; left out: contents (2 words), front "
        "matter (2 words)" in told
    )
    assert "parts: 1,506 words in 3 files, 18 passages, EPUB" in told
    assert (
        "memoir: 1,500 words, 18 passages, DOCX; left out: contents (2 words)" in told
    )
    assert re.search(
        r"essays: 2,500 words, .*, PDF; removed: hyphens at line ends \(\d+\), page headers \(\d+\)",
        told,
    )
    assert "not read: 1 file: cover.jpg" in told
    assert "and 2 more" in told, "ten of twelve drafts"
    assert "cut: 17 passages of 64 words of each work, spread alike" in told
    assert (
        f"4 works in question and 12 unread: {smallest_effect(4, 12, 17):.2f}; with 24 "
        "unread" in told
    )


def test_the_answer_waits_for_no_whole_work_and_whole_works_may_be_left_out(folder):
    plan = Plan(loaded())
    assert plan.first == [f"results/{plan.study.name}/tables/audit.md"]
    assert plan.tells_first("audit")
    for *_, path in plan.rendering("audit").reads:
        assert WORKS_SLUG not in path
    assert any(WORKS_SLUG in path for *_, path in plan.rendering("extraction").reads)
    works = plan.pair("smollm2-135m", WORKS_SLUG)
    assert works.answers_before == plan.first
    for benchmark in (TEXTS_SLUG, "famous_passages"):
        waited = plan.pair("smollm2-135m", benchmark)
        assert waited.priority > works.priority, "the answer needs it"
        assert waited.answers_before == []
    alone = Plan(loaded(only=["extraction"])).pair("smollm2-135m", WORKS_SLUG)
    assert alone.answers_before == []
    for given in ({}, {"texts": "rows.jsonl", "known": None}):
        rows = []
        for number in range(40):
            label = 0 if number % 2 else None
            rows.append(
                {
                    "text": prose(60, str(number)),
                    "label": label,
                    "document": f"d{number}",
                }
            )
        Path("rows.jsonl").write_text("\n".join(map(json.dumps, rows)))
        study = loaded(whole_works=False, **given)
        assert [*study.artifacts] == ["audit"]
        assert {run.benchmark for run in study.runs} == {TEXTS_SLUG, "famous_passages"}
        for run in study.runs:
            assert not run.extraction
        told = "\n".join(description(Plan(study), CONFIG | {"model": "smollm2-135m"}))
        assert ("passages of 64 words of each work" in told) == (not given), (
            "the plan of works"
        )


def test_all_works_that_cannot_be_read_are_named_at_once_and_may_be_left_out(folder):
    Path("books/broken.pdf").write_bytes(b"%PDF-1.4 broken")
    Path("drafts/empty.docx").write_text("x")
    Path("books/old.mobi").write_text("x")
    Path("books/._novel.epub").write_text("x")
    with pytest.raises(
        InputError,
        match=r"^2 works cannot be read.*unreadable=leave_out\n.*broken\.pdf.*\n.*empty\.docx",
    ):
        loaded()
    study = loaded(unreadable="leave_out")
    assert study.benchmarks.entries[TEXTS_SLUG].left_out == ["broken", "empty"]
    assert {text.document for text in passages(study)} >= {
        "novel",
        "parts",
        "memoir",
        "essays",
    }
    plan = Plan(study)
    assert not {"books/broken", "drafts/empty"} & plan.sealed(CONFIG)["works"].keys()
    told = "\n".join(description(plan, CONFIG | {"model": "smollm2-135m"}))
    assert told.count("left out, because they cannot be read: ") == 2
    assert "not read: old.mobi. Convert it: ebook-convert FILE book.epub" in told
    assert re.search(r"not read: 2 files: cover\.jpg, \._novel\.epub", told), (
        "hidden files last"
    )


def test_the_check_of_an_audit_remarks_on_few_books_and_not_on_their_kind(folder):
    *_, sides, few = check_user_files(
        Plan(loaded()), CONFIG | {"model": "smollm2-135m"}
    )
    assert sides.startswith(
        "in question (label null): essays, memoir, novel, parts; given as unread"
    )
    assert (
        "Have at least 6 documents in question, each a whole work, and 30 known "
        "documents." in few
    )


def test_longer_words_are_matched_in_characters(folder):
    for number in range(12):
        Path(f"drafts/draft {number:02d}.txt").write_text(
            prose(1500, f"d{number}", letters=8)
        )
    study = loaded()
    cut = study.benchmarks.entries[TEXTS_SLUG].cut
    assert cut.unit == "characters"
    letters = {None: [], 0: []}
    for text in passages(study):
        letters[text.label].append(len("".join(text.text.split())))
    means = [np.mean(own) for own in letters.values()]
    assert means == pytest.approx([cut.size, cut.size], rel=0.02)
    assert {text.length for text in passages(study)} == {None}
    told = check_user_files(Plan(study), CONFIG | {"model": "smollm2-135m"})
    for line in told:
        assert "medians" not in line
        assert "Length alone" not in line
    assert any(
        "matched in characters because words have other lengths" in line
        for line in told
    )


def test_a_language_without_spaces_is_cut_in_characters(folder):
    for file in [*Path("books").glob("*.*"), *Path("drafts").iterdir()]:
        file.unlink()
    signs = "天地玄黄宇宙洪荒日月盈昃辰宿列张寒来暑往秋收冬藏"
    for number, side in enumerate(["books"] * 2 + ["drafts"] * 12):
        text = "".join(random.Random(number).choices(signs, k=3000))
        Path(side, f"{number}.txt").write_text(text, encoding="gb18030")
    for file in Path("books/parts").iterdir():
        file.unlink()
    study = loaded()
    assert study.benchmarks.entries[TEXTS_SLUG].language == "zh"
    assert {len(text.text) for text in passages(study)} == {128}


def test_a_short_work_is_named_and_does_not_shorten_the_others(folder):
    Path("books/poem.txt").write_text(prose(100, "poem"))
    study = loaded()
    assert study.benchmarks.entries[TEXTS_SLUG].cut.each == 17
    told = description(Plan(study), CONFIG | {"model": "smollm2-135m"})
    assert any(
        "shorter than 17 passages and not compared: poem (100 words)" in line
        for line in told
    )


def test_a_changed_book_is_read_again_and_every_file_is_sealed(folder):
    study = loaded()
    entry = study.benchmarks.entries[TEXTS_SLUG]
    known = content_of(entry.known)
    before = content_of(entry.path)
    names = [Path(file).name for file in Plan(study).user_texts]
    assert names == [
        "essays.pdf",
        "memoir.docx",
        "novel.epub",
        "1.epub",
        "2.epub",
        "10.epub",
        *(f"draft {number:02d}.txt" for number in range(12)),
    ]
    docx(Path("books/memoir.docx"), prose(1500, "another memoir"))
    os.utime("books/memoir.docx", (0, 0))
    content_of.cache_clear()
    report_of.cache_clear()
    assert content_of(entry.path) != before
    assert content_of(entry.known) == known


def test_the_text_that_was_read_of_each_work_is_sealed(folder):
    sealed = Plan(loaded()).sealed(CONFIG)["works"]
    assert len(sealed) == 16
    entry = loaded().benchmarks.entries[WORKS_SLUG]
    memoirs = []
    for text in texts_of(given_rows(Path(entry.path))):
        if text.document == "memoir":
            memoirs.append(text.text)
    [memoir] = memoirs
    assert sealed["books/memoir"] == hashlib.sha256(memoir.encode()).hexdigest()
    for kept in Path("results/works").glob("*.txt"):
        kept.write_text(
            kept.read_text(encoding="utf-8").replace("e", "FORGED", 1), encoding="utf-8"
        )
    report_of.cache_clear()
    assert Plan(loaded()).sealed(CONFIG)["works"] == sealed
    for text in texts_of(given_rows(Path(entry.path)), given_rows(Path(entry.known))):
        assert "FORGED" not in text.text


@pytest.mark.parametrize(
    ("given", "message"),
    [
        (
            {"known": None},
            r"config: known: an audit compares the works of books.* give them as known=FOLDER",
        ),
        (
            {"known": "known.jsonl"},
            r"books has works and known\.jsonl has passages.*--label none books > ",
        ),
        (
            {"texts": "known.jsonl"},
            r"drafts has works and known\.jsonl has passages.*--label 0 drafts > ",
        ),
        ({"known": "books"}, r"the work 'essays' is in question and known"),
        ({"texts": "short.txt"}, r"short\.txt: no work is as long as a passage of"),
        ({"texts": "{}"}, r"config: texts: \{\}: the name has braces"),
        (
            {"known": "<v>"},
            r"config: known: <v>: the name has <v>, which Snakemake takes for wildcards",
        ),
        ({"texts": "odd"}, r"^odd/The <title> of it\.txt: the name has <title>"),
        (
            {"texts": os.fsdecode(b"caf\xe9")},
            r"texts: 'caf\\udce9' is not valid: it is not UTF-8",
        ),
        ({"texts": "old"}, r"^old/caf\\udce9\.txt: the name is not UTF-8"),
        ({"texts": "empty"}, r"empty: the folder has no document"),
    ],
)
def test_mistakes_are_named_before_any_job(folder, given, message):
    Path("known.jsonl").write_text('{"text": "never read"}\n')
    Path("short.txt").write_text("A few words.")
    Path("{}").mkdir()
    Path("{}/a.txt").write_text("A few words.")
    for name in (
        "<v>/a.txt",
        "odd/The <title> of it.txt",
        os.fsdecode(b"old/caf\xe9.txt"),
    ):
        Path(name).parent.mkdir()
        Path(name).write_text("A few words.")
    Path("empty").mkdir()
    with pytest.raises(InputError, match=message):
        loaded(**given)


def test_an_exchange_of_works_finds_the_smallest_effect_in_four_of_five_cases():
    """Simulated: normal scores, of which a tenth of the variance is the work's, and
    exact exchanges of whole works."""
    rng = np.random.default_rng(0)
    suspects = 5
    known = 12
    each = 10
    times = 600
    draws = 400
    effect = smallest_effect(suspects, known, each)
    found = 0
    for _ in range(times):
        scores = rng.normal(0, np.sqrt(ALIKE), (suspects + known, 1)) + rng.normal(
            0, np.sqrt(1 - ALIKE), (suspects + known, each)
        )
        means = scores.mean(axis=1)
        means[:suspects] += effect
        exchanged = rng.permuted(np.tile(means, (draws, 1)), axis=1)[:, :suspects].mean(
            axis=1
        )
        found += (1 + (exchanged >= means[:suspects].mean()).sum()) / (
            draws + 1
        ) <= 0.05
    assert found / times == pytest.approx(0.8, abs=0.05)


@pytest.mark.parametrize(
    ("suspects", "known"), [(1, 18), (1, 19), (2, 5), (2, 4), (5, 2)]
)
def test_an_exchange_of_few_works_finds_nothing(suspects, known):
    assert (smallest_effect(suspects, known, 20) == inf) == (
        1 / comb(suspects + known, known) > 0.05
    )
