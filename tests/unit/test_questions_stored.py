"""A local model's answers are stored as they come: none is asked for twice, or depends
on what was asked before."""

from contextlib import suppress
from itertools import product

import pandas as pd
import pytest
from made_up_jobs import target_of
from made_up_questions import answerer_on

import tiny_models
from pretrace.models.checkpoint import register_local
from pretrace.passes.shares import WHOLE, JobShare
from pretrace.questions import stored
from pretrace.questions.answering import ORDERS
from pretrace.questions.job import answer_questions
from pretrace.questions.local import LocalAnswerer
from pretrace.questions.prompts import Wording

WORDING = {
    "de_cop": {
        "system": "Choose.",
        "user": "{question}\n{A}\n{B}\n{C}\n{D}\n:",
        "question": {"book": "{title} by {author}?", "paper": "{title}?"},
    },
    "completion": {"system": "", "chat": "{prefix}", "plain": "{prefix}"},
    "name_cloze": {
        "system": "",
        "user": "{kind} {passage}",
        "name": "name",
        "noun": "noun",
    },
}
WORDS = ["state", "union", "people", "Congress", "law"]
MODES = [("float32", 300), ("bfloat16", 300), ("bfloat16", 40)]
pytestmark = pytest.mark.usefixtures("short_branches", "short_chunks")


@pytest.fixture
def short_chunks(monkeypatch):
    """So that every question is a chunk."""
    monkeypatch.setattr(stored, "SECONDS_OF_A_CHUNK", 0)


def passages(documents=3, each=2):
    """Texts of several documents, in the columns of a benchmark's table."""
    rows = []
    for document, number in product(range(documents), range(each)):
        rows.append(
            {
                "text_id": f"{document}-{number}",
                "text": f"In {document} the {WORDS[number]} of Alice is {document} and "
                f"{number}",
                "document": f"d{document}",
                "passage": number,
                "title": f"Title {document}",
            }
        )
    frame = pd.DataFrame(rows).assign(label=1, length=8, subset="", author="A", fold=0)
    return frame.astype({"label": "Int64", "length": "Int64", "passage": "Int64"})


def view_of(benchmark):
    answers = {}
    for id, text in zip(benchmark["text_id"], benchmark["text"], strict=True):
        answers[id] = [f"{text} {place}" for place in ("so", "it is", "now")]
    return answers


def request(method, setting="", **parameters):
    options = method in ("de_cop", "longest_option")
    return {
        "method": method,
        "parameters": parameters,
        "setting": setting,
        "paraphraser": "p" if options else "",
        "subsets": None,
        "lengths": None,
    }


EVERY = [
    request("de_cop"),
    request("completion", "k=4", k=4),
    request("name_cloze"),
    request("longest_option"),
]


class Job:
    """Asks a tiny model; `asked` lists the prompts that it read; `dies_at` = n: the
    n-th question kills the job."""

    def __init__(self, folder, checkpoint, monkeypatch):
        self.folder, self.checkpoint = folder, checkpoint
        self.asked, self.dies_at, self.questions = [], None, 0
        for name in ("_read", "_replies"):
            monkeypatch.setattr(
                LocalAnswerer, name, self.watched(getattr(LocalAnswerer, name))
            )

    def watched(self, ask):
        def asking(answerer, *arguments):
            *_, question = arguments
            if self.questions == self.dies_at:
                raise KeyboardInterrupt
            self.questions += 1
            self.asked += getattr(question, "prompts", question)
            return ask(answerer, *arguments)

        return asking

    def __call__(
        self,
        requests=EVERY,
        *,
        benchmark=None,
        kind="book",
        wording=WORDING,
        share=WHOLE,
        batch=300,
        **how,
    ):
        benchmark = passages() if benchmark is None else benchmark
        self.asked, self.questions = [], 0
        answerer = answerer_on(target_of(self.checkpoint, **how), self.folder, batch)
        table, _ = answer_questions(
            requests,
            benchmark=benchmark,
            kind=kind,
            views={"p": view_of(benchmark)},
            answerer=answerer,
            wording=Wording(**wording),
            name="tiny",
            share=share,
        )
        return table

    def anew(self, *arguments, **changes):
        """The table of a job whose store is empty."""
        before, self.folder = (
            self.folder,
            self.folder.with_name(f"{self.folder.name}-anew"),
        )
        table = self(*arguments, **changes)
        self.folder = before
        return table

    @property
    def chunks(self):
        return sorted(self.folder.rglob("*.parquet"))


@pytest.fixture
def job(tmp_path, tiny_checkpoint, monkeypatch):
    return Job(tmp_path / "store", tiny_checkpoint("llama"), monkeypatch)


@pytest.mark.parametrize(("dtype", "batch"), MODES)
def test_a_job_killed_at_every_question_goes_on_with_it_and_gives_the_same_answers(
    job, dtype, batch
):
    expected = job.anew(dtype=dtype, batch=batch)
    whole = job.asked
    questions = job.questions
    asked = []
    assert len(whole) == 6 * len(ORDERS) + 6 + 6
    job.dies_at = 1
    for _ in range(questions):
        with suppress(KeyboardInterrupt):
            job(dtype=dtype, batch=batch)
        asked += job.asked
    job.dies_at = None
    assert job(dtype=dtype, batch=batch).equals(expected)
    assert asked == whole
    assert job.asked == []


@pytest.mark.parametrize(("dtype", "batch"), MODES[1:])
@pytest.mark.parametrize("count", [2, 3, 20])
def test_jobs_share_the_questions_and_one_more_finds_all_answers(
    job, dtype, batch, count
):
    expected = job.anew(dtype=dtype, batch=batch)
    whole = job.asked
    asked = []
    for number in range(count, 0, -1):
        job(share=JobShare(number, count), dtype=dtype, batch=batch)
        if count < 4:
            assert len(job.asked) > 20
        asked = job.asked + asked
    assert asked == whole
    assert job(dtype=dtype, batch=batch).equals(expected)
    assert job.asked == []


def added_document(frame):
    return pd.concat([frame, passages(4)[6:]])


def added_passage(frame):
    return passages(3, 3).query("document != 'd1' and passage < 2 or document == 'd1'")


@pytest.mark.parametrize(
    ("first", "then", "new"),
    [
        ({"requests": EVERY[2:]}, {}, 6 * 24 + 6),
        ({"requests": EVERY[:1]}, {}, 12),
        ({"benchmark": passages(2)}, {}, 2 * 24 + 2 + 2),
        ({}, {"benchmark": added_document(passages())}, 2 * 24 + 2 + 2),
        # texts of a document are written together: the added one's are asked with those
        # beside it
        ({}, {"benchmark": added_passage(passages())}, 24 + 3 + 3),
        ({}, {"requests": [*EVERY, request("completion", "k=5", k=5)]}, 6),
        ({}, {"kind": "paper"}, 6 * 24),
        ({},
         {"wording": WORDING | {"name_cloze": WORDING["name_cloze"] | {"name": "proper name"}}}, 6),
    ],
)  # fmt: skip
def test_what_a_study_adds_is_asked_alone_and_no_answer_depends_on_what_was_asked_before(
    job, first, then, new
):
    how = {"dtype": "bfloat16", "batch": 40}
    job(**first, **how)
    table = job(**then, **how)
    assert len(job.asked) == new
    assert table.equals(job.anew(**then, **how))


def test_the_store_is_asked_by_everything_that_answers_depend_on(job, tmp_path):
    def asks(**changes):
        job(EVERY[:1], **changes)
        return len(job.asked)

    assert asks() == 6 * 24
    assert asks() == asks(batch=40) == 0  # float32 does not depend on its batch
    assert asks(dtype="bfloat16") == asks(dtype="bfloat16", batch=40) == 6 * 24
    assert asks(max_length=100) == asks(special_tokens="as_control") == 6 * 24
    reseeded = tiny_models.tiny_model("llama", tmp_path / "reseeded", seed=1)
    register_local(reseeded, tmp_path / "reseeded.json")
    job.checkpoint = tmp_path / "reseeded.json"
    assert asks() == 6 * 24
    (reseeded / "generation_config.json").write_text('{"eos_token_id": 5}')
    assert asks() == 6 * 24
    assert asks() == 0


@pytest.mark.parametrize("damage", ["cut", "flipped", "gone", "record"])
def test_a_damaged_chunk_is_asked_again(job, damage, log_lines):
    expected = job()
    chunk = job.chunks[0]
    whole = chunk.read_bytes()
    if damage == "record":
        chunk.with_suffix(".json").write_text("{}")
    elif damage == "gone":
        chunk.unlink()
    else:
        chunk.write_bytes(
            whole[:-9]
            if damage == "cut"
            else whole[:60] + bytes([whole[60] ^ 1]) + whole[61:]
        )
    assert job().equals(expected)
    assert 0 < len(job.asked) <= 24
    assert "damaged" in log_lines.text


def test_answers_of_ten_seconds_are_one_chunk(job, monkeypatch):
    monkeypatch.setattr(stored, "SECONDS_OF_A_CHUNK", 1000)
    benchmark = passages()
    with answerer_on(target_of(job.checkpoint), job.folder).answers as answers:
        answerer = LocalAnswerer(target_of(job.checkpoint), "tiny", 64, answers)
        answer_questions(
            EVERY[:1],
            benchmark=benchmark,
            kind="book",
            views={"p": view_of(benchmark)},
            answerer=answerer,
            wording=Wording(**WORDING),
            name="tiny",
        )
        assert job.chunks == []
    assert len(job.chunks) == 1
