"""What is wrong or weak in the texts of an audit is said before any job, with its
remedy."""

import random
import re
from itertools import product
from math import comb
from pathlib import Path

import pytest

import hub_datasets as made
from pretrace.audit.design import has_p
from pretrace.audit.file_checks import check_audit
from pretrace.runtime.errors import InputError

WORDS = [f"word{number}" for number in range(5000)]


def row(
    label: int | None, document: str, *, seed: str, words: int = 64, **more
) -> dict:
    """A text of random words: no two share a run of eight."""
    text = " ".join(random.Random(seed).choices(WORDS, k=words))
    return {"text": text, "label": label, "document": document, **more}


def texts(label: int | None, documents: int, each: int, **more) -> list[dict]:
    rows = []
    for number in range(documents):
        document = f"{label}-{number}"
        for passage in range(each):
            rows.append(row(label, document, seed=f"{document}-{passage}", **more))
    return rows


SUSPECTS = texts(None, 12, 1)
KNOWN = texts(0, 10, 5)
PUBLISHED = texts(1, 20, 2)
WITHHELD = texts(0, 20, 2)


def changed(rows: list[dict], *numbers: int, **values) -> list[dict]:
    changed_rows = [*rows]
    for number in numbers:
        changed_rows[number] = rows[number] | values
    return changed_rows


def overlapping(words: int, *numbers: int) -> list[dict]:
    """The suspects, some of which begin with the first words of the known text of the
    same number."""
    rows = SUSPECTS
    for number in numbers:
        known = KNOWN[number]["text"].split()
        own = rows[number]["text"].split()
        rows = changed(rows, number, text=" ".join(known[:words] + own[words:]))
    return rows


def written(path: Path, rows: list[dict]) -> Path:
    path.write_bytes(made.jsonl(rows))
    return path


def audited(folder: Path, rows: list[dict], language: str = "en") -> list[str]:
    path = written(folder / "t.jsonl", rows)
    return check_audit(path, path, language)


def test_good_files_have_no_remark(tmp_path):
    assert audited(tmp_path, SUSPECTS + KNOWN) == []
    suspects = written(tmp_path / "a.jsonl", SUSPECTS)
    known = written(tmp_path / "b.jsonl", KNOWN)
    assert check_audit(suspects, known) == []
    assert check_audit(suspects, None) == []
    label_1_is_in_question = PUBLISHED + WITHHELD
    assert audited(tmp_path, label_1_is_in_question) == []


def test_links_are_long_words(tmp_path):
    links = [f"[![{'badge' * 9}](https://img.example.org/{n})" for n in range(20)]
    rows = changed(SUSPECTS, 0, text=" ".join(links))
    for remark in audited(tmp_path, rows + KNOWN):
        assert "without spaces" not in remark


AUDIT_ERRORS = {
    "no text in question": (
        KNOWN,
        r"t\.jsonl: the audit has no text to ask about: it has 0 texts with label 1, 50 with label 0 and 0 with label "
        r"null\. Give the texts in question label null",
    ),
    "no known text": (
        SUSPECTS,
        r"t\.jsonl: the audit has no known non-members: it has 0 texts with label 1, 0 with label 0 and 12 with label "
        r"null \(is the column label missing\?\)\. Add texts of the same kind .* label 0 or in a second file "
        r"\(known=FILE\), or .* calibrate_on",
    ),
    "the same text twice, folded": (
        [
            KNOWN[3] | {"label": None, "text": KNOWN[3]["text"].replace(" ", " \n")},
            *SUSPECTS,
            *KNOWN,
        ],
        r"t\.jsonl:1 and .*t\.jsonl:17 hold the same text, once among the suspects \(label null\), once among the "
        r"known non-members \(label 0\)\. Decide which it is, and remove the other row\.",
    ),
    "three such texts": (
        changed(KNOWN, 0, 1, 2, label=None)[:3] + KNOWN,
        r"t\.jsonl:1 and .*t\.jsonl:4 hold the same text.* \(2 more such texts\)\.",
    ),
    "most suspects overlap": (
        overlapping(40, *range(7)) + KNOWN,
        r"t\.jsonl: 7 of 12 suspects .* share at least 20% of their runs of 8 words with known .*More than half share "
        r"at least 50%",
    ),
    "lengths that do not meet": (
        texts(None, 12, 1, words=80) + KNOWN,
        r"t\.jsonl: the suspects \(label null\) have 80 words, the known non-members \(label 0\) 64\. .*cannot be "
        r"compared.*pretrace cut",
    ),
    "a document of both classes": (
        changed(SUSPECTS, 1, document="0-3") + KNOWN,
        r"t\.jsonl:2 and .*t\.jsonl:28: the document '0-3' has suspects .* and known non-members .*"
        r"under another name.*randomised: true",
    ),
    "words that are paragraphs": (
        [{"text": "甲乙丙丁戊" * 200, "label": None, "document": "x"}, *KNOWN],
        r"t\.jsonl:1: the text has 1000 characters and 1 word\. Is its language written without spaces\?",
    ),
    "a length of characters": (
        changed(SUSPECTS, 3, length=400) + KNOWN,
        r"t\.jsonl:4: the column length says 400, and the text has 64 words",
    ),
    "a text of both classes in two normal forms": (
        [
            *changed(SUSPECTS, 2, text="caf\u00e9 " * 64),
            *changed(KNOWN, 0, text="cafe\u0301 " * 64),
        ],
        r"t\.jsonl:3 and .*t\.jsonl:13 hold the same text",
    ),
    "no length in common": (
        changed(SUSPECTS, *range(12), length=64) + KNOWN,
        r"none of the 12 suspects .* can be compared: there are no known .* of their subset and length\. They are of "
        r"length 64, and the known .* are without length",
    ),
}


@pytest.mark.parametrize("name", AUDIT_ERRORS)
def test_each_mistake_of_an_audit_is_an_error_with_its_remedy(tmp_path, name):
    rows, said = AUDIT_ERRORS[name]
    with pytest.raises(InputError, match=said):
        audited(tmp_path, rows)


AUDIT_REMARKS = {
    "some suspects overlap": (
        # 40 of 64 words: 33 of 57 runs of eight; 18 words: 11 of 57, below a fifth
        overlapping(40, 5) + KNOWN,
        r"t\.jsonl: 1 of 12 suspects .*; most of all .*t\.jsonl:6, 58%, mostly with .*t\.jsonl:18\. .*Remove the "
        r"overlapping texts",
    ),
    "repeats": (
        [*SUSPECTS, *KNOWN, KNOWN[0], KNOWN[7]],
        r"t\.jsonl: 2 of 52 known non-members .* repeat an earlier text, the first .*t\.jsonl:63 that of .*:13\.",
    ),
    "repeats of suspects": (
        [SUSPECTS[0], *SUSPECTS, *KNOWN],
        r"t\.jsonl: 1 of 13 suspects .* repeat",
    ),
    "several lengths": (
        [*texts(None, 10, 1, words=30), *texts(None, 1, 4, words=400), *KNOWN],
        r"the suspects \(label null\) have 30 to 400 words, the known non-members \(label 0\) 64 \(medians 30 and "
        r"64\)\. Length alone may separate their scores\. Cut all texts .*pretrace cut",
    ),
    "several lengths in both": (
        [*SUSPECTS, *texts(None, 1, 1, words=100), *KNOWN],
        r"have 64 to 100 words, the known non-members \(label 0\) 64\. Scores of longer texts vary less",
    ),
    "a length that the column hides": (
        [
            *changed(SUSPECTS, *range(12), length=64),
            *changed(texts(0, 10, 5, words=58), *range(50), length=64),
        ],
        r"the suspects \(label null\) of length 64 have 64 words, the known non-members \(label 0\) 58 \(medians "
        r"64 and 58\)",
    ),
    "some cannot be compared": (
        changed(SUSPECTS, 1, 2, subset="poems") + KNOWN,
        r"2 of 12 suspects .* take no part: there are no known .* of their subset and length \(without length in "
        r"subset 'poems'\)",
    ),
    "another normal form": (
        [*SUSPECTS, *changed(KNOWN, 0, text=KNOWN[0]["text"] + "e\u0301")],
        r"1 of 50 known non-members .* have decomposed letters",
    ),
    "no document": (
        changed([*SUSPECTS, *KNOWN], *range(62), document=None),
        r"t\.jsonl: no text names a document: each passage counts as a document of its own; passages of one document "
        r"do not\. Name each .*column document",
    ),
    "no document of suspects": (
        [*changed(SUSPECTS, *range(12), document=None), *KNOWN],
        r"t\.jsonl: no text of the suspects \(label null\) names a document",
    ),
    "chapters": (
        changed(SUSPECTS, 0, document="Walden, chapter 1")
        + KNOWN
        + [row(None, "Walden, ch. 2", seed="x")],
        r"2 documents of the suspects .* are called parts of a work \('Walden, chapter 1', 'Walden, ch. 2'\)",
    ),
    "copies": (
        [
            *SUSPECTS,
            *KNOWN,
            KNOWN[0] | {"document": "x", "text": KNOWN[0]["text"] + " more"},
        ],
        r"the documents '0-0' and 'x' of the known .* share at least 50% of their runs of 8 words.* same document",
    ),
    "one work in question": (
        texts(None, 1, 4) + texts(0, 12, 4),
        r"1 document in question and 12 known documents: no p can be as low as 0\.05\. Have at least 19 known",
    ),
    "too few to compare": (
        texts(None, 2, 4) + texts(0, 12, 4),
        r"2 documents in question and 12 known .*cannot be evidence\. Have at least 6 documents in question, each a "
        r"whole work, and 30 known",
    ),
    "known documents of one passage": (
        texts(None, 6, 2) + texts(0, 30, 1),
        r"each of the 30 documents of the known non-members .* has one passage\. If several are of one work, give them",
    ),
    "known documents of few passages": (
        texts(None, 10, 12) + texts(0, 10, 4),
        r"a document of the suspects .* has 12 passages, one of the known .* 4 \(medians\)\. Give more passages of the",
    ),
    "longer words": (
        [row | {"text": row["text"].replace(" ", "s ")} for row in SUSPECTS] + KNOWN,
        r"the suspects .* have \d+ characters on average, the known non-members .* \d+\. The check of sizes will",
    ),
}


@pytest.mark.parametrize("name", AUDIT_REMARKS)
def test_each_weakness_of_an_audit_is_one_remark_with_count_and_remedy(tmp_path, name):
    rows, said = AUDIT_REMARKS[name]
    (remark,) = audited(tmp_path, rows)
    assert re.search(said, remark), remark


def test_a_short_shared_run_is_not_remarked(tmp_path):
    assert audited(tmp_path, overlapping(18, 5) + KNOWN) == []


def test_the_known_texts_of_another_file_are_named_with_that_file(tmp_path):
    ours = written(tmp_path / "ours.jsonl", SUSPECTS)

    def with_known(rows: list[dict]) -> list[str]:
        return check_audit(ours, written(tmp_path / "theirs.jsonl", rows))

    (remark,) = with_known([*KNOWN, KNOWN[0]])
    assert "theirs.jsonl:51 that of" in remark
    says = r"ours\.jsonl:1 and .*theirs\.jsonl:51 hold the same text"
    with pytest.raises(InputError, match=says):
        with_known([*KNOWN, SUSPECTS[0] | {"label": 0}])
    says = r"theirs\.jsonl: the audit has no known non-members: it has 40 texts with"
    with pytest.raises(InputError, match=says):
        with_known(PUBLISHED)


def test_non_members_of_another_source_leave_the_checks_of_the_suspects(tmp_path):
    rows = [*SUSPECTS, SUSPECTS[0], row(None, "x", seed="long", words=200)]
    path = written(tmp_path / "t.jsonl", rows)
    repeats, lengths = check_audit(path, None)
    assert "1 of 14 suspects (label null) repeat" in repeats
    assert "have 64 to 200 words. Known non-members need the same" in lengths


def test_texts_without_spaces_are_measured_in_characters(tmp_path):
    draw = random.Random(0)

    def chinese(label, length):
        text = "".join(chr(draw.randint(0x4E00, 0x9FA5)) for _ in range(length))
        return {"text": text, "label": label, "document": text[:8]}

    longer = [chinese(None, 200) for _ in range(5)]
    known = [chinese(0, 64) for _ in range(30)]
    says = r"have 200 characters, the known non-members .* 64"
    with pytest.raises(InputError, match=says):
        audited(tmp_path, longer + known, "zh")
    first, *others = (chinese(None, 64) for _ in range(8))
    first["text"] = known[0]["text"][:40] + first["text"][40:]
    (remark,) = audited(tmp_path, [first, *known, *others], "zh")
    assert re.search(r"1 of 8 suspects .*20% of their runs of 16 characters", remark)
    assert re.search(r":1, 51%, mostly with .*:2\.", remark)


def twins(published: int, unpublished: int) -> list[dict]:
    """Canaries that are one word apart from their twins."""
    rows = []
    for document in range(published):
        for number in range(1 + unpublished):
            text = f"the same words of every canary, and then {WORDS[number]}"
            label = 1 if number == 0 else 0
            rows.append({"text": text, "label": label, "document": str(document)})
    return rows


def drawn(folder: Path, rows: list[dict]) -> list[str]:
    path = written(folder / "t.jsonl", rows)
    return check_audit(path, path, randomised=True)


@pytest.mark.parametrize(
    ("rows", "said"),
    [
        (
            twins(4, 1),
            r"no p can be below 1/16 = 0\.062, .*Have more documents with texts of both",
        ),
        (
            [*twins(3, 9), twins(3, 9)[0] | {"label": 0}],
            "1 of 3 suspects .* equal a held-out text of their doc",
        ),
    ],
)
def test_each_weakness_of_a_random_draw_is_one_remark(tmp_path, rows, said):
    (remark,) = drawn(tmp_path, rows)
    assert re.search(said, remark), remark


@pytest.mark.parametrize("rows", [twins(5, 1), twins(1, 19), twins(1100, 1)])
def test_twins_share_words_and_lengths_by_design(tmp_path, rows):
    assert drawn(tmp_path, rows) == []


@pytest.mark.parametrize(("suspects", "known"), [(515, 515), (200, 4000)])
def test_many_documents_are_checked_as_few_are(tmp_path, suspects, known):
    """Ways to exchange the labels of so many are more than the largest float."""
    assert audited(tmp_path, texts(None, suspects, 1) + texts(0, known, 1)) == []


def test_a_p_is_possible_from_twenty_ways_on():
    sizes = [*range(24), 515, 4000]
    for documents, known in product(sizes, sizes):
        assert has_p(documents, known) == (comb(documents + known, known) >= 20)


def test_thousands_of_texts_are_checked_as_few_are(tmp_path):
    """How long 100,000 take, tests/bench/bench_size.py measures."""
    path = written(tmp_path / "t.jsonl", texts(None, 40, 50) + texts(0, 40, 50))
    assert check_audit(path, path) == []
