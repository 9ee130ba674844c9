"""Passes by an API that scores prompts: equal to the engine's own, and refused where they cannot be believed."""

import numpy as np
import pytest
from made_up_jobs import NAMES, benchmark_of, request, target_of

from echo_server import EchoServer
from llama_server import llama_server
from loopback import Loopback
from pretrace.models.api import faults as faults_module
from pretrace.models.api.client import ApiClient
from pretrace.models.api.endpoint import Endpoint
from pretrace.models.api.store import AnswerStore
from pretrace.passes import job
from pretrace.passes.echo import Echo, Probe, after, echo_target, span_of
from pretrace.runtime.errors import InputError
from pretrace.runtime.files import read_table

TEXTS = [
    "The state of the union is strong.",
    "In 1934 the Congress received this message; 120 members were there.",
    "def mean(values):\n    return sum(values) / len(values)\n",
    "多语言 and 🙂 emoji",
    "A",
    "",
    "the people of the United States",
    "The number of Texts is 12, the model has seen them.",
]


def some_shots(key):
    return ["A number of texts.", "120 members were there.\n"][: key.reading.shots.count]


@pytest.fixture(autouse=True)
def quick(monkeypatch):
    monkeypatch.setattr(faults_module, "_FIRST_WAIT", 0.001)


@pytest.fixture
def run(tiny_checkpoint, tmp_path):
    """Runs passes of a kind of model, here or by an API at `url`; `known`: whether its tokenizer is."""

    def passes_of(kind, requests, *, url="", known=True, texts=TEXTS):
        local = target_of(tiny_checkpoint(kind))
        where = tmp_path / ("api" if url else "local") / str(known)
        with AnswerStore(tmp_path / "answers.sqlite") as store:
            if url:
                free = {"input": 0, "output": 0}
                api = {"base_url": url, "model": kind, "endpoint": "completions", "price": free, "echo": True}
                client = ApiClient(Endpoint(name="echoing", **api), store, budget_usd=0)
                local = echo_target(client, local if known else None)
            manifest = job.run(
                requests, benchmark=benchmark_of(texts), names=NAMES, target=local, store=where / "store",
                manifest=where / "manifest.json", batch_tokens=64, threads=1, shots=some_shots,
            )  # fmt: skip
        return manifest, where / "store"

    return passes_of


@pytest.fixture
def serving(tiny_checkpoint):
    """Gives a server of a kind of model, of which EchoServer's options say how it errs."""
    return lambda kind, **errs: Loopback(EchoServer(tiny_checkpoint(kind), **errs))


def assert_equal_rows(found, expected, *, ids):
    """Every pass by an API has the rows of the engine's, and token ids where they are known."""
    assert len(found[0]["views"]) == len(expected[0]["views"])
    for views in zip(found[0]["views"], expected[0]["views"], strict=True):
        echoed, local = (
            read_table(store / view["file"]).to_pylist()
            for view, (_, store) in zip(views, (found, expected), strict=True)
        )
        for row, other in zip(echoed, local, strict=True):
            equal = ("text_id", "skipped", "n_tokens", "shots_used")
            assert [row[key] for key in equal] == [other[key] for key in equal]
            np.testing.assert_allclose(row["logprobs"], other["logprobs"], atol=1e-4)
            assert row["token_ids"] == (other["token_ids"] if ids else [-1] * len(other["token_ids"]))
            assert row["entropies"] is None


WITH_SHOTS = {"prefix": "nonmember;separator=newline", "draw": 0, "shots": 2}
NAMED = {"start_token": "<|endoftext|>"}
INNER = {"prefix": "nonmember", "draw": 0, "shots": 1, "inner_start": True}


@pytest.mark.parametrize("known", [True, False], ids=["ids", "texts"])
@pytest.mark.parametrize("kind", ["gpt_neox", "llama"])  # without and with a start token of the tokenizer's
def test_echoed_passes_are_those_of_the_engine(run, serving, kind, known):
    asked = [request(), request(altered="lowercase"), request(**WITH_SHOTS)]
    texts = [text for text in TEXTS if text.isascii()]
    with serving(kind) as server:
        found = run(kind, asked, url=server.url, known=known, texts=texts)
    assert_equal_rows(found, run(kind, asked, texts=texts), ids=known)


@pytest.mark.parametrize(
    ("kind", "known", "errs", "asked"),
    [
        *(("llama", known, {"garbled": garbled}, [request()])
          for known in (True, False) for garbled in (True, False)),
        ("gpt_neox", True, {}, [request(**NAMED), request(**NAMED, **INNER)]),
    ],
)  # fmt: skip
def test_characters_of_several_tokens_and_named_start_tokens_are_scored_too(
    run, serving, kind, known, errs, asked
):
    with serving(kind, **errs) as server:
        found = run(kind, asked, url=server.url, known=known)
    assert_equal_rows(found, run(kind, asked), ids=known)


def test_faults_change_nothing_and_a_second_run_asks_nothing(run, tiny_checkpoint):
    expected = run("gpt_neox", [request()])
    kinds = [None, "429", None, "500", None, "cut", None, "malformed", None, "no choices"]
    with Loopback(EchoServer(tiny_checkpoint("gpt_neox")), lambda number, body: kinds[number % 10]) as server:
        found = run("gpt_neox", [request()], url=server.url)
        assert_equal_rows(found, expected, ids=True)
        assert set(server.answered.values()) <= {0, 1}
        before = server.requests
        (found[1] / found[0]["views"][0]["file"]).unlink()
        again, _ = run("gpt_neox", [request()], url=server.url)
        assert again["views"][0]["sha256"] == found[0]["views"][0]["sha256"]
        assert server.requests == before


@pytest.mark.parametrize("known", [True, False], ids=["ids", "texts"])
def test_a_shifted_list_is_refused_and_asked_for_again_once_it_is_mended(run, tiny_checkpoint, known):
    responder = EchoServer(tiny_checkpoint("gpt_neox"), shifted=True)
    with Loopback(responder) as server:
        for _ in range(2):
            before = server.requests
            with pytest.raises(InputError, match=r"shifted by a token, as llama-cpp-python.*set start_token"):
                run("gpt_neox", [request()], url=server.url, known=known)
            assert server.requests > before
        responder.shifted = False
        run("gpt_neox", [request()], url=server.url, known=known)


def test_a_server_that_ignores_echo_or_has_another_tokenizer_is_refused(run, tiny_checkpoint, monkeypatch):
    ignoring, foreign = (
        EchoServer(tiny_checkpoint("gpt_neox"), ignored=ignored) for ignored in (True, False)
    )
    pieces = foreign._piece
    foreign._piece = lambda id: pieces(id)[::-1]
    for responder in (ignoring, foreign):
        with Loopback(responder) as server, pytest.raises(InputError, match="does not echo what it is sent"):
            run("gpt_neox", [request()], url=server.url)
    monkeypatch.setattr(Probe, "check", lambda *_: False)  # it does not see every difference
    with (
        Loopback(foreign) as server,
        pytest.raises(InputError, match=r"does not echo the \d+ tokens that were"),
    ):
        run("gpt_neox", [request()], url=server.url)


def test_a_real_server_without_prompt_scoring_is_refused(run, tmp_path):
    with llama_server(tmp_path) as url, pytest.raises(InputError, match="leave `echo` out of its entry"):
        run("gpt_neox", [request()], url=url, known=False)


@pytest.mark.parametrize(
    ("changes", "known", "says"),
    [
        ({"statistics": "full"}, True, "no full-vocabulary statistics"),
        ({"start_token": "<s>"}, False, "whose entry names no tokenizer"),
        ({"start_token": "none"}, False, "puts a start token before every text by itself"),
    ],
)
def test_what_an_api_cannot_score_is_refused(run, serving, changes, known, says):
    with serving("llama") as server, pytest.raises(InputError, match=says):
        run("llama", [request(**changes)], url=server.url, known=known)


def test_spans_are_found_by_what_the_tokens_spell():
    pieces = ["<s>", " The", " un", "ion", " is"]
    echo = Echo(pieces, [np.nan, -1, -2, -3, -4])
    assert span_of(echo, "The union") == slice(1, 4)  # a space that the tokenizer puts first
    assert span_of(echo, " The union is") == slice(1, 5)  # nothing was generated
    assert span_of(echo, "The union", tokens=2) is None
    assert span_of(echo, "The uni") is None
    assert after(echo, slice(1, 4), "ion") == 3
    assert after(echo, slice(1, 4), "nion") == 2  # a token on the border is the text's
    with pytest.raises(InputError, match="garbles"):
        after(Echo(["\ufffd", "a"], [0, 0]), slice(0, 2), "a")
