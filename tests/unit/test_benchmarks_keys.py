"""What a book publishes is drawn at random, its key is written once, and the test of
the key is exact."""

import hashlib
import json
import random
import re
import stat
from collections import Counter
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from command_line import run_pretrace
from scipy.stats import binom, binomtest

import hub_datasets as made
from pretrace.audit.analysis import audit
from pretrace.audit.canary_keys import (
    draw_canaries,
    draw_wordings,
    words_of_text,
    write_key,
)
from pretrace.audit.file_checks import check_audit
from pretrace.audit.scores import ScoredBenchmark
from pretrace.audit.verdict import Verdict, verdict
from pretrace.benchmarks import build
from pretrace.runtime.errors import InputError
from pretrace.seeds import seed_of

WORDS = [
    f"{first}{last}"
    for first in "abcdefghij"
    for last in ("lm", "nd", "rst", "st", "wl")
]


def rows(path: Path) -> list[dict]:
    return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]


@pytest.fixture
def folder(tmp_path) -> Path:
    (tmp_path / "words.txt").write_text("\n".join(WORDS), encoding="utf-8")
    (tmp_path / "templates.txt").write_text(
        "The {word} of {word} met {word} and {word}.\n\nno {word}, {word} or {word}\n",
        encoding="utf-8",
    )
    passages = []
    for n in range(9):
        passages.append(
            {
                "document": f"page {n}",
                **{f"wording_{k}": f"passage {n} in words {k}" for k in range(3)},
            }
        )
    (tmp_path / "passages.jsonl").write_bytes(made.jsonl(passages))
    (tmp_path / "passages.csv").write_bytes(made.comma_separated(passages))
    return tmp_path


def wording(**columns) -> str:
    return json.dumps({"document": "p"} | columns) + "\n"


TEMPLATES = ("--templates", "templates.txt")
PASSAGES = ("wordings", "passages.jsonl")
CANARIES = ("canaries", "--count", "6", "--twins", "4", "--words", "words.txt")


def test_the_key_has_each_canary_and_its_twins_and_only_canaries_are_published(folder):
    done = run_pretrace(folder, "key", *CANARIES, *TEMPLATES, "--out", "mine")
    key = folder / "mine" / "key.jsonl"
    publish = folder / "mine" / "publish.txt"
    texts = rows(key)
    assert len(texts) == 30
    assert len({row["text"] for row in texts}) == 30
    expected = Counter(f"canary-{number:03d}" for number in range(1, 7))
    assert Counter(row["document"] for row in texts if row["label"] == 1) == expected
    shapes = (r"The \w+ of \w+ met \w+ and \w+\.", r"No \w+, \w+ or \w+")
    for row in texts:
        assert re.fullmatch(shapes[(int(row["document"][-3:]) - 1) % 2], row["text"])
        assert (row["text"] in publish.read_text(encoding="utf-8").splitlines()) == (
            row["label"] == 1
        )
    digest = hashlib.sha256(key.read_bytes()).hexdigest()
    assert f"SHA-256 of the key: {digest}" in done.stdout
    assert digest in publish.read_text(encoding="utf-8")
    assert stat.S_IMODE(key.stat().st_mode) == 0o600
    assert "[canary-003, after about 43 % of the book]" in publish.read_text(
        encoding="utf-8"
    )
    check_audit(key, key, randomised=True)


@pytest.mark.parametrize("passages", ["passages.jsonl", "passages.csv"])
def test_one_wording_of_each_passage_is_published(folder, passages):
    run_pretrace(folder, "key", "wordings", passages, "--out", "mine")
    texts = rows(folder / "mine" / "key.jsonl")
    assert Counter(row["label"] for row in texts) == {1: 9, 0: 18}
    published = {row["document"]: row["text"] for row in texts if row["label"] == 1}
    assert published.keys() == {f"page {n}" for n in range(9)}
    told = (folder / "mine" / "publish.txt").read_text(encoding="utf-8")
    for page, text in published.items():
        assert f"[{page}]\n{text}\n" in told
    for row in texts:
        if row["label"] == 0:
            assert row["text"] not in told


def test_a_key_is_never_overwritten(folder):
    assert run_pretrace(folder, "key", *CANARIES, "--out", "mine").returncode == 0
    before = (folder / "mine" / "key.jsonl").read_bytes()
    again = run_pretrace(folder, "key", *CANARIES, "--out", "mine")
    assert again.returncode == 1
    assert re.match(
        r"error: mine/key\.jsonl exists, and a key is drawn once: .*--out", again.stderr
    )
    assert (folder / "mine" / "key.jsonl").read_bytes() == before
    (folder / "mine" / "key.jsonl").unlink()
    assert (
        "publish.txt exists"
        in run_pretrace(folder, "key", *CANARIES, "--out", "mine").stderr
    )
    assert not (folder / "mine" / "key.jsonl").exists()


def test_two_draws_differ_and_no_seed_can_be_given(folder):
    for name in ("a", "b"):
        run_pretrace(folder, "key", *CANARIES, "--out", name)
    assert (folder / "a" / "key.jsonl").read_bytes() != (
        folder / "b" / "key.jsonl"
    ).read_bytes()
    assert (
        "unrecognized arguments: --seed"
        in run_pretrace(folder, "key", *CANARIES, "--out", "c", "--seed", "5").stderr
    )


@pytest.mark.parametrize(
    ("arguments", "content", "said"),
    [
        (CANARIES, {"words.txt": "\n"}, "words.txt has no words; write one a line."),
        (CANARIES, {"words.txt": "only\nthirteen\n" + "\n".join("abcdefghijk")}, None),
        (("canaries", "--count", "240", "--words", "words.txt"), {}, None),
        (CANARIES, {"words.txt": "too\nfew"},
         "2 words for the 12 places of '{word} {word}"),
        ((*CANARIES, *TEMPLATES), {"templates.txt": "The {word}.\n"},
         "too few for 30 different"),
        ((*CANARIES, *TEMPLATES), {"templates.txt": "A {word} b {word}\nA cat"},
         "templates.txt:2: the template"),
        ((*CANARIES, *TEMPLATES), {"templates.txt": ""},
         "templates.txt has no templates"),
        (("canaries", "--count", "1", "--twins", "18", "--words", "words.txt"), {},
         "could have no p below 1/19"),
        (("canaries", "--count", "2", "--words-from", "book.txt"),
         {"book.txt": "An Oak, a tin"}, "has no words of 4"),
        (("canaries", "--count", "2", "--words-from", "none.txt"), {},
         "none.txt: cannot be read"),
        (PASSAGES, {"passages.jsonl": ""}, "passages.jsonl holds no rows"),
        (PASSAGES, {"passages.jsonl": '{"wording_1": "a"}'},
         "passages.jsonl:1: there is no column 'document'"),
        (PASSAGES, {"passages.jsonl": wording(wording_1="a")},
         "needs two or more different texts"),
        (PASSAGES, {"passages.jsonl": wording(wording_1="a b", wording_2="a  b")},
         "two or more different texts"),
        (PASSAGES, {"passages.jsonl": wording(wording_1="a", wording_2=5)},
         "needs two or more different texts"),
        (PASSAGES, {"passages.jsonl": wording(wording_1="a", wording_2="\ud800")},
         "holds half a surrogate"),
        (PASSAGES, {"passages.jsonl": 2 * wording(wording_1="a", wording_2="b")},
         "the passage 'p' was given before"),
        (PASSAGES, {"passages.jsonl": wording(wording_1="a", wording_2="b")},
         "could have no p below 1/2,"),
    ],
)  # fmt: skip
def test_each_mistake_is_named_before_anything_is_written(
    folder, arguments, content, said
):
    for name, text in content.items():
        (folder / name).write_text(text, encoding="utf-8")
    done = run_pretrace(folder, "key", *arguments, "--out", "mine")
    if said is None:
        assert done.returncode == 0, done.stderr
        return
    assert done.returncode == 1
    assert done.stderr.startswith("error: ")
    assert said in done.stderr
    assert not (folder / "mine").exists()


def test_words_of_a_text_are_no_names_and_no_short_words(tmp_path):
    (tmp_path / "b.txt").write_text(
        "Rome fell; the walls of Rome fell, and 3 walls_ stood über Nacht.",
        encoding="utf-8",
    )
    assert words_of_text(tmp_path / "b.txt") == ["fell", "stood", "walls", "über"]


def test_each_text_is_published_equally_often(folder):
    """By place in the key, over many draws: a test that favours the first or the last
    row finds nothing."""
    published = []
    for seed in range(300):
        for document in draw_canaries(
            WORDS, ["{word} {word} {word}"], 5, 3, random.Random(seed)
        ):
            published.append(document.published)
    places = Counter(published)
    for place in range(4):
        assert binomtest(places[place], 1500, 1 / 4).pvalue > 0.001
    wordings_published = []
    for seed in range(300):
        for document in draw_wordings(folder / "passages.jsonl", random.Random(seed)):
            wordings_published.append(document.texts[document.published][-1])
    given = Counter(wordings_published)
    for wording in "012":
        assert binomtest(given[wording], 2700, 1 / 3).pvalue > 0.001


def scored(path: Path, effect: float = 0.0) -> ScoredBenchmark:
    """The key as the workflow reads it, with heavy-tailed scores made of the texts
    alone, and length among them.

    With `effect`, the published texts of three in four documents score that much
    higher.
    """
    table = build("key", {"source": "local", "path": "mine.jsonl"}, [path])
    scores = []
    for row in table.itertuples():
        of_text = np.random.default_rng(seed_of("score", row.text)).standard_t(3)
        of_document = np.random.default_rng(seed_of("document", row.document)).normal()
        score = of_document + of_text + 0.3 * len(row.text)
        if row.label == 1 and seed_of(row.document) % 4:
            score += effect
        scores.append(score)
    frame = pd.DataFrame(
        {
            "unit": "text",
            "id": table["text_id"],
            "method": "loss",
            "setting": "",
            "view": "original",
            "start_token": "none",
            "draw": pd.array([pd.NA] * len(table), "Int64"),
            "reference": "",
            "score": scores,
        }
    )
    return ScoredBenchmark("key", frame, table)


RUN = {"start_token": "none"} | {
    key: [] for key in ("corpora", "references", "neighbours", "questions")
}


def answer(path: Path, effect: float = 0.0) -> Verdict:
    key = scored(path, effect)
    return verdict(audit(key, key, [RUN], randomised=True))


def canaries(folder: Path, seed: int, count: int = 8, twins: int = 4) -> Path:
    rng = random.Random(seed)
    drawn = draw_canaries(
        WORDS,
        ["{word} {word} {word} {word}", "one {word} of {word} or {word} {word}"],
        count,
        twins,
        rng,
    )
    write_key(drawn, folder / str(seed), [document.name for document in drawn])
    return folder / str(seed) / "key.jsonl"


def wordings(folder: Path, seed: int) -> Path:
    """Wordings of one fixed list, longer from one to the next: only the draw is
    random."""
    passages = folder / "wordings.jsonl"
    rows = []
    for n in range(8):
        rows.append(
            {
                "document": n,
                "wording_1": f"{n} short",
                "wording_2": f"{n} one that is longer",
            }
        )
    passages.write_bytes(made.jsonl(rows))
    drawn = draw_wordings(passages, random.Random(seed))
    write_key(drawn, folder / f"w{seed}", [document.name for document in drawn])
    return folder / f"w{seed}" / "key.jsonl"


@pytest.mark.full
@pytest.mark.parametrize("key", [canaries, wordings])
def test_p_of_a_key_is_exact_where_no_model_read_it(tmp_path, key):
    p = np.array([answer(key(tmp_path, seed)).p for seed in range(100)])
    for level in (0.05, 0.2, 0.5):
        assert (
            binom.ppf(0.001, len(p), level)
            <= (p <= level).sum()
            <= binom.ppf(0.999, len(p), level)
        )


def test_a_model_that_read_the_canaries_is_found(tmp_path):
    answers = []
    for seed in range(10):
        answers.append(answer(canaries(tmp_path, seed, count=20, twins=9), effect=3.0))
    assert max(found.p for found in answers) <= 0.05
    assert {found.kind for found in answers} == {"evidence"}
    with pytest.raises(InputError, match="exists"):
        canaries(tmp_path, 0)
