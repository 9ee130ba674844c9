"""Passes by an API that scores prompts: equal to the engine's own, and refused where they cannot be believed."""

import numpy as np
import pandas as pd
import pytest
from made_up_jobs import NAMES, benchmark_of, request

import tiny_models
from echo_server import EchoServer
from llama_server import llama_server
from loopback import Loopback
from pretrace import models, passes
from pretrace.methods import METHODS, score
from pretrace.models.api import AnswerStore, ApiClient, Endpoint
from pretrace.models.api import faults as faults_module
from pretrace.passes.alignment import Echo, after, span_of
from pretrace.passes.echo import echo_target
from pretrace.runtime.errors import InputError
from pretrace.runtime.files import read_table, write_parquet
from pretrace.views.prefixes import draw_prefixes, shots_reader

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
ECHOED = {"loss", "zlib", "lowercase", "min_k", "dc_pdd", "recall", "con_recall"}


@pytest.fixture(scope="module")
def checkpoints(tmp_path_factory):
    """Of a model whose tokenizer puts nothing before a text, and of one that puts a start token there."""
    root = tmp_path_factory.mktemp("checkpoints")
    for kind in ("gpt_neox", "llama"):
        models.register_local(tiny_models.tiny_model(kind, root / kind), root / f"{kind}.json")
    return {kind: root / f"{kind}.json" for kind in ("gpt_neox", "llama")}


@pytest.fixture(autouse=True)
def quick(monkeypatch):
    monkeypatch.setattr(faults_module, "_FIRST_WAIT", 0.001)


@pytest.fixture
def run(checkpoints, tmp_path):
    """Runs passes of a kind of model, here or by an API at `url`; `known`: whether its tokenizer is."""

    def passes_of(kind, requests, *, url="", known=True, texts=TEXTS, shots=None):
        local = models.load_checkpoint(checkpoints[kind], dtype="float32", device="cpu")
        where = tmp_path / ("api" if url else "local") / str(known)
        store = AnswerStore(tmp_path / "answers.sqlite")
        if url:
            free = {"input": 0, "output": 0}
            api = {"base_url": url, "model": kind, "endpoint": "completions", "price": free, "echo": True}
            client = ApiClient(Endpoint.of("echoing", api), store, budget_usd=0)
            local = echo_target(client, local if known else None)
        try:
            manifest = passes.run(
                requests, benchmark=benchmark_of(texts), names=NAMES, target=local, store=where / "store",
                manifest=where / "manifest.json", batch_tokens=64, threads=1, shots=shots,
            )  # fmt: skip
        finally:
            store.close()
        return manifest, where / "store"

    return passes_of


def rows_of(manifest, store, number=0):
    return read_table(store / manifest["views"][number]["file"]).to_pylist()


def some_shots(at):
    return ["A number of texts.", "120 members were there.\n"][: at["shots"]]


def assert_equal_rows(found, expected, *, ids):
    assert [row["text_id"] for row in found] == [row["text_id"] for row in expected]
    for one, other in zip(found, expected, strict=True):
        assert one["skipped"] == other["skipped"]
        assert one["n_tokens"] == other["n_tokens"]
        assert one["shots_used"] == other["shots_used"]
        np.testing.assert_allclose(one["logprobs"], other["logprobs"], atol=1e-4)
        assert one["token_ids"] == (other["token_ids"] if ids else [-1] * len(other["token_ids"]))
        assert one["entropies"] is None


@pytest.mark.parametrize("kind", ["gpt_neox", "llama"])
@pytest.mark.parametrize("known", [True, False], ids=["ids", "texts"])
def test_echoed_passes_are_those_of_the_engine(run, checkpoints, kind, known):
    asked = [request(), request(prefix="nonmember;separator=newline", draw=0, shots=2)]
    texts = [text for text in TEXTS if text.isascii()]
    expected = run(kind, asked, texts=texts, shots=some_shots)
    with Loopback(EchoServer(checkpoints[kind])) as server:
        found = run(kind, asked, url=server.url, known=known, texts=texts, shots=some_shots)
    assert len(found[0]["views"]) == 2
    for number in range(2):
        assert_equal_rows(rows_of(*found, number), rows_of(*expected, number), ids=known)


@pytest.mark.parametrize("garbled", [False, True])
@pytest.mark.parametrize("known", [True, False], ids=["ids", "texts"])
def test_characters_of_several_tokens_are_scored_whole(run, checkpoints, known, garbled):
    expected = run("llama", [request()])
    with Loopback(EchoServer(checkpoints["llama"], garbled=garbled)) as server:
        found = run("llama", [request()], url=server.url, known=known)
    assert_equal_rows(rows_of(*found), rows_of(*expected), ids=known)


def test_a_named_start_token_and_one_between_prefix_and_text(run, checkpoints):
    asked = [
        request(start_token="<|endoftext|>"),
        request(start_token="<|endoftext|>", prefix="nonmember", draw=0, shots=1, inner_start=True),
    ]
    expected = run("gpt_neox", asked, shots=some_shots)
    with Loopback(EchoServer(checkpoints["gpt_neox"])) as server:
        found = run("gpt_neox", asked, url=server.url, shots=some_shots)
    for number in range(2):
        assert_equal_rows(rows_of(*found, number), rows_of(*expected, number), ids=True)


def test_faults_change_nothing_and_a_second_run_asks_nothing(run, checkpoints):
    expected = run("gpt_neox", [request()])
    kinds = [None, "429", None, "500", None, "cut", None, "malformed", None, "no choices"]
    with Loopback(EchoServer(checkpoints["gpt_neox"]), lambda number, body: kinds[number % 10]) as server:
        found = run("gpt_neox", [request()], url=server.url)
        assert_equal_rows(rows_of(*found), rows_of(*expected), ids=True)
        assert set(server.answered.values()) <= {0, 1}
        before = server.requests
        (found[1] / found[0]["views"][0]["file"]).unlink()
        again, _ = run("gpt_neox", [request()], url=server.url)
        assert again["views"][0]["sha256"] == found[0]["views"][0]["sha256"]
        assert server.requests == before


@pytest.mark.parametrize("known", [True, False], ids=["ids", "texts"])
def test_a_shifted_list_is_refused_and_asked_for_again_once_it_is_mended(run, checkpoints, known):
    server_of = EchoServer(checkpoints["gpt_neox"], shifted=True)
    with Loopback(server_of) as server:
        for _ in range(2):
            before = server.requests
            with pytest.raises(InputError, match=r"shifted by a token, as llama-cpp-python.*set start_token"):
                run("gpt_neox", [request()], url=server.url, known=known)
            assert server.requests > before
        server_of.shifted = False
        run("gpt_neox", [request()], url=server.url, known=known)


def test_a_server_that_ignores_echo_is_refused(run, checkpoints):
    with (
        Loopback(EchoServer(checkpoints["gpt_neox"], ignored=True)) as server,
        pytest.raises(InputError, match="does not echo"),
    ):
        run("gpt_neox", [request()], url=server.url)


def test_a_real_server_without_prompt_scoring_is_refused(run, tmp_path):
    with llama_server(tmp_path) as url, pytest.raises(InputError, match="leave `echo` out of its entry"):
        run("gpt_neox", [request()], url=url, known=False)


def test_another_tokenizer_than_the_servers_is_refused(run, checkpoints):
    server_of = EchoServer(checkpoints["gpt_neox"])
    pieces = server_of._piece
    server_of._piece = lambda id: pieces(id)[::-1]
    with Loopback(server_of) as server, pytest.raises(InputError, match="does not echo"):
        run("gpt_neox", [request()], url=server.url)


def test_full_vocabulary_statistics_and_unknown_start_tokens_are_refused(run, checkpoints):
    with Loopback(EchoServer(checkpoints["llama"])) as server:
        with pytest.raises(InputError, match="no full-vocabulary statistics"):
            run("llama", [request(statistics="full")], url=server.url)
        with pytest.raises(InputError, match="whose entry names no tokenizer"):
            run("llama", [request(start_token="<s>")], url=server.url, known=False)
        with pytest.raises(InputError, match="puts a start token before every text by itself"):
            run("llama", [request(start_token="none")], url=server.url, known=False)


def test_scores_by_an_api_are_those_by_the_engine_and_the_full_vocabulary_has_none(
    run, checkpoints, tmp_path
):
    texts = [
        f"The State of the union, number {number}, is strong; {number * 7} people know."
        for number in range(12)
    ]
    table = benchmark_of(texts)
    prefixes = draw_prefixes(table, pool=2, draws=1, seed=0)
    write_parquet(tmp_path / "prefixes.parquet", prefixes)
    counts = {"web": tmp_path / "counts.parquet"}
    write_parquet(counts["web"], pd.DataFrame({"token_id": range(300), "count": range(1, 301)}))
    shots = shots_reader(table, tmp_path / "prefixes.parquet", [], {})
    needed = [request(), request(companion="lowercase")]
    needed += [request(prefix=kind, draw=0, shots=2) for kind in ("member", "nonmember")]
    methods = [
        {"method": id, "parameters": {"shots": [2]} if id in ("recall", "con_recall") else {}}
        for id, method in METHODS.items() if method.scope == "text"
    ]  # fmt: skip
    runs = [{"model": "tiny", "benchmark": "texts", "subsets": None, "lengths": None, "start_token": "tokenizer",
             "inner_start": False, "views": ["original"], "draws": [0], "corpora": ["web"], "references": [],
             "neighbours": [], "methods": methods}]  # fmt: skip

    def scores(passed):
        manifest, store = passed
        return pd.concat(score(runs, manifest=manifest, store=store, benchmark=table, counts=counts,
                               prefixes=prefixes, language="en"), ignore_index=True)  # fmt: skip

    local = scores(run("llama", needed, texts=texts, shots=shots))
    with Loopback(EchoServer(checkpoints["llama"])) as server:
        echoed = scores(run("llama", needed, url=server.url, texts=texts, shots=shots))
    assert set(echoed["method"]) == ECHOED
    local = local[local["method"].isin(ECHOED)].reset_index(drop=True)
    pd.testing.assert_frame_equal(echoed, local, check_exact=False, rtol=0, atol=1e-4)


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
