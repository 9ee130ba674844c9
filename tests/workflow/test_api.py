"""A study of models behind an API, from the texts to the report, and its key, its
budget and its estimate."""

import json
import math
import random
import re
import shutil

import pandas as pd
import pytest
from projects import ROOT

from chat_servers import chat, reciting, without
from echo_server import EchoServer
from llama_server import llama_server
from loopback import Loopback, message
from made_up_books import prose
from pretrace.models.checkpoint import register_local
from tiny_models import tiny_model

KEY = "sk-a-very-secret-key-0815"
WORDS = (
    "the state of a nation is strong and Congress must see that Lincoln spoke of peace "
    "with Grant"
)
SHARES = {"A": 0.2, "B": 0.4, "C": 0.3, "D": 0.1}
FAULTS = ("429", "500", "cut", "malformed")
DOCUMENTS, PASSAGES = 6, 2
WINDOWS = {"suffix": 2, "context": 3}


class Server:
    """The tiny model for prompts to be scored, and for chat a model that answers B and
    paraphrases."""

    def __init__(self, checkpoint_json) -> None:
        self.echo = EchoServer(checkpoint_json)

    def __call__(self, path, body):
        if path == "/v1/completions":
            return self.echo(path, body)
        prompt = body["messages"][-1]["content"]
        if prompt.startswith("Generate always 3"):
            text = prompt.rsplit("Example A: ", 1)[1]
            return message(
                "\n\n".join(f"Example {letter}: {text} {letter}" for letter in "BCD"),
                prompt_tokens=100,
            )
        if "Options:" in prompt:
            top = [
                {"token": letter, "logprob": math.log(share)}
                for letter, share in SHARES.items()
            ]
            return message("B", logprobs={"content": [top[1] | {"top_logprobs": top}]})
        return message("<name>Lincoln</name>")


@pytest.fixture
def served(project):
    """A project with a study of a local model and of the same model and another behind
    an API."""
    folder = project.path / "mine"
    folder.mkdir()
    tiny_model("llama", folder / "tiny")
    register_local(folder / "tiny", project.path / "tiny.json")
    draw = random.Random(0)
    rows = [
        {
            "id": f"d{document}-{passage}",
            "text": " ".join(draw.choices(WORDS.split(), k=24)) + f" {document}.",
            "label": document % 2,
            "document": f"d{document}",
            "title": f"Book {document}",
            "author": "Nobody",
        }
        for document in range(DOCUMENTS)
        for passage in range(PASSAGES)
    ]
    (folder / "texts.jsonl").write_text(
        "".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8"
    )
    generator = random.Random(1)

    def faults(number, body):
        return generator.choice(FAULTS) if generator.random() < 0.1 else None

    with Loopback(Server(project.path / "tiny.json"), faults) as server:
        write_study(project, server.url)
        yield project, server


def write_study(project, url) -> None:
    api = {
        "base_url": url,
        "model": "m",
        "key_env": "TEST_API_KEY",
        "price": {"input": 2.0, "output": 4.0},
    }
    gray = ["loss", "zlib", "lowercase", "min_k"]
    study = {
        "study": "mine",
        "models": {
            "tiny": {"source": "local", "path": "tiny", "dtype": "float32"},
            "scoring": {
                "source": "openai",
                "tokenizer": "tiny",
                "api": api | {"endpoint": "completions", "echo": True},
            },
            "telling": {
                "source": "openai",
                "tokenizer": "tiny",
                "api": api | {"endpoint": "completions", "top40": "prompt_logprobs"},
            },
            "chatting": {
                "source": "openai",
                "api": api | {"endpoint": "chat", "top_logprobs": 5},
            },
        },
        "benchmarks": {
            "books": {"source": "local", "path": "texts.jsonl", "question": "book"}
        },
        "runs": [
            {
                "model": "tiny",
                "benchmark": "books",
                "methods": gray,
                "extraction": WINDOWS,
            },
            {
                "model": "telling",
                "benchmark": "books",
                "methods": ["loss"],
                "extraction": WINDOWS,
            },
            {"model": "scoring", "benchmark": "books", "methods": gray},
            {
                "model": "chatting",
                "benchmark": "books",
                "paraphraser": "paraphrase_by_chatting",
                "methods": ["de_cop", {"completion": {"k": 5}}, "name_cloze"],
            },
        ],
        "artifacts": ["results_auc", "extraction"],
    }
    project.write_study(study, "mine/mine.yaml")


def run(project, *arguments, budget_usd=10, check=True):
    settings = (
        "--config",
        "study=mine/mine.yaml",
        "resamples=100",
        f"budget_usd={budget_usd}",
    )
    return project.run(
        "--cores", "2", *arguments, *settings, check=check, TEST_API_KEY=KEY
    )


def scores_of(project, model):
    scores = pd.read_parquet(
        project.path / "results" / "mine" / "scores" / model / "books.parquet"
    )
    return scores[scores["unit"].eq("text") & scores["method"].ne("blind")].reset_index(
        drop=True
    )


@pytest.mark.full
def test_a_study_behind_an_api(served):
    project, server = served
    estimated = run(project, "estimate")
    assert server.requests == 0
    assert re.search(
        r"^\| chatting \| 0\.\d\d \| 0\.\d\d \| 0 \| 0\.0 \| (0\.00 \| ){3}\d+\.\d\d \|$",
        estimated.stdout,
        re.MULTILINE,
    )
    assert (
        "of budget_usd = 10, 0.00 are spent"
        in (project.path / "results/mine/estimate.md").read_text().lower()
    )

    first = run(project, "all")
    assert (project.path / "results" / "mine" / "report.html").exists()
    local, scored = scores_of(project, "tiny"), scores_of(project, "scoring")
    assert set(scored["method"]) == {"loss", "zlib", "lowercase", "min_k"}
    local = local[local["method"].isin(set(scored["method"]))].reset_index(drop=True)
    pd.testing.assert_frame_equal(scored, local, check_exact=False, rtol=0, atol=1e-4)

    windows = project.path / "results" / "mine" / "windows"
    near, far = (
        pd.read_parquet(windows / model / "books.parquet")
        for model in ("tiny", "telling")
    )
    pd.testing.assert_frame_equal(far, near, check_exact=False, rtol=0, atol=1e-4)

    answers = pd.read_parquet(
        project.path / "results/answers/mine~chatting/mine~books/mine.parquet"
    )
    counts = answers["task"].value_counts()
    passages = DOCUMENTS * PASSAGES
    assert counts["de_cop"] == counts["longest_option"] == 24 * passages
    assert counts["completion"] == counts["name_cloze"] == passages
    chosen = answers[answers["task"].eq("de_cop")]
    assert set(chosen["answer"]) == {"B"}
    assert chosen["correct"].mean() == 0.25
    assert chosen["p_b"].tolist() == pytest.approx([0.4] * len(chosen))
    assert scores_of(project, "chatting").empty  # no log-probabilities of a text

    requests = server.requests
    for made in ("passes", "answers", "views"):
        shutil.rmtree(project.path / "results" / made)
    second = run(project, "all")
    assert server.requests == requests
    # twice: two prompts of each probe
    assert set(server.answered.values()) <= {0, 1, 2}
    assert list(server.answered.values()).count(2) <= 2 * 2
    assert "Nothing to be done" in run(project, "all").stdout
    told = run(project, "estimate").stdout
    assert "Stored already, and not asked again" in told

    assert server.authorization == {f"Bearer {KEY}"}
    written = [path for path in project.path.rglob("*") if path.is_file()]
    assert any(path.suffix == ".sqlite" for path in written)
    assert not [path for path in written if KEY.encode() in path.read_bytes()]
    assert KEY not in first.stdout + second.stdout + told


def test_only_the_machine_that_starts_the_workflow_asks(served):
    project, _ = served
    planned = set(re.findall(r"^rule (\w+):", run(project, "-n").stdout, re.MULTILINE))
    asking = {"score_prompts", "ask_questions", "get_view"}
    assert asking <= planned
    assert "make_view" not in planned
    local = set()
    for path in (project.path / "workflow" / "rules").glob("*.smk"):
        for rule in re.split(r"\n{2,}", path.read_text(encoding="utf-8")):
            if "    localrule: True\n" in rule:
                local |= set(re.findall(r"rule (?:\w+ as )?(\w+)(?: with)?:", rule))
    assert asking <= local


@pytest.mark.full
def test_nothing_is_asked_beyond_the_budget_and_a_refusal_says_so(served):
    project, server = served
    done = run(
        project,
        "results/passes/mine~scoring/mine~books/mine.json",
        budget_usd=0,
        check=False,
    )
    assert done.returncode != 0
    assert "raise budget_usd" in done.stdout
    assert server.requests == 0


@pytest.mark.full
def test_an_audit_of_a_chat_model_ends_in_what_it_gives_back_and_asks_once(project):
    books = {f"book {number}": prose(1200, f"book {number}") for number in range(2)}
    drafts = {f"draft {number}": prose(700, f"draft {number}") for number in range(19)}
    for folder, works in (("books", books), ("drafts", drafts)):
        (project.path / folder).mkdir()
        for name, text in works.items():
            (project.path / folder / f"{name}.txt").write_text(text, encoding="utf-8")
    shutil.copy(ROOT / "CITATION.cff", project.path)
    recited = {"book 1": books["book 1"]}
    model = without(chat(reciting(recited, to=0.7)), "max_tokens", "temperature")
    with (
        Loopback(model) as server,
        (project.path / "config/models.yaml").open("a", encoding="utf-8") as registry,
    ):
        api = {"base_url": server.url, "model": "m", "endpoint": "chat"}
        api |= {"price": {"input": 1, "output": 2}, "key_env": "TEST_API_KEY"}
        registry.write(json.dumps({"reciter": {"source": "openai", "api": api}})[1:-1])
        registry.flush()
        given = ("--config", "study=audit", "texts=books", "known=drafts")
        given += ("model=reciter", "budget_usd=3", "resamples=100")
        told = project.run("--cores", "2", "-n", *given, TEST_API_KEY=KEY)
        told = " ".join((told.stdout).split())
        assert f"ARE SENT to {server.url} (model m)" in told
        assert "nothing is asked beyond budget_usd=3" in told
        estimated = project.run("--cores", "2", "estimate", *given, TEST_API_KEY=KEY)
        assert "| reciter | 0." in estimated.stdout
        assert server.requests == 0

        done = project.run("--cores", "2", *given, TEST_API_KEY=KEY)
        said = " ".join((done.stdout).split())
        assert "words of 'book 1' in blocks of 50 words or more" in said
        assert "such blocks of 1 of 2 works in question, and of 0 of 19 known" in said
        requests = server.requests
        assert requests
        again = project.run("--cores", "2", *given, TEST_API_KEY=KEY)
        assert "Nothing to be done" in again.stdout
        [folder] = (project.path / "results").glob("audit-books-reciter-*")
        for made in ("continuations", "given_back"):
            shutil.rmtree(folder / made)
        project.run("--cores", "2", *given, TEST_API_KEY=KEY)
        assert server.requests == requests
    page = (folder / "report.html").read_text(encoding="utf-8")
    assert "m-2026-11-01" in page
    assert server.url in page
    assert "gives back" in page
    written = [path for path in project.path.rglob("*") if path.is_file()]
    assert not [path for path in written if KEY.encode() in path.read_bytes()]


@pytest.mark.full
def test_de_cop_by_chat_on_a_real_server_comes_to_its_sentence(project, tmp_path):
    """llama.cpp's: every question has a letter, and the terminal says what was
    found."""
    folder = project.path / "mine"
    folder.mkdir()
    draw = random.Random(0)
    rows = []
    others = []
    for document in range(2):
        about = {"label": document, "document": f"d{document}"}
        about |= {"title": f"Book {document}", "author": "Nobody"}
        texts = [" ".join(draw.choices(WORDS.split(), k=4)) for _ in range(4)]
        rows.append(about | {"id": f"d{document}-0", "text": texts[0]})
        for variant, text in enumerate(texts[1:]):
            others.append({"id": f"d{document}-0", "text": text, "variant": variant})
    for name, written in (("texts", rows), ("paraphrases", others)):
        lines = "".join(json.dumps(row) + "\n" for row in written)
        (folder / f"{name}.jsonl").write_text(lines, encoding="utf-8")
    with llama_server(tmp_path) as url:
        api = {"base_url": url, "model": "m", "endpoint": "chat", "top_logprobs": 20}
        api |= {"price": {"input": 0, "output": 0}, "concurrency": 2}
        benchmark = {"source": "local", "path": "texts.jsonl", "question": "book"}
        benchmark["views"] = {"paraphrase": "paraphrases.jsonl"}
        run_keys = {"model": "asked", "benchmark": "books", "methods": ["de_cop"]}
        study = {
            "study": "mine",
            "models": {"asked": {"source": "openai", "api": api}},
            "benchmarks": {"books": benchmark},
            "runs": [run_keys | {"paraphraser": "paraphrase"}],
            "artifacts": ["de_cop_table1"],
        }
        project.write_study(study, "mine/mine.yaml")
        done = run(project, "all")
    said = " ".join(done.stdout.split())
    assert "DE-COP ranks a book in question above one that the model cannot" in said
    answers = pd.read_parquet(
        project.path / "results/answers/mine~asked/mine~books/mine.parquet"
    )
    asked = answers[answers["task"].eq("de_cop")]
    assert len(asked) == 2 * 24
    assert asked["reason"].isna().all()
    letters = asked[["p_a", "p_b", "p_c", "p_d"]].dropna()
    assert len(letters) > 0.9 * len(asked)
    assert letters.sum(axis=1).to_numpy() == pytest.approx(1)
