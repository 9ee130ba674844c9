"""Passes by an API that scores prompts: equal to the engine's own, and refused where
they cannot be believed."""

import subprocess
import sys
from pathlib import Path

import made_up_jobs
import numpy as np
import pytest
import transformers
from made_up_jobs import NAMES, benchmark_of, request, target_of
from tokenizers import Tokenizer, models

from echo_server import EchoServer
from llama_server import llama_server
from loopback import Loopback, client_at
from paper_models import put_blank_first
from pretrace.models.api.logprobs import check_likeliest
from pretrace.models.api.store import AnswerStore
from pretrace.passes import job
from pretrace.passes.echo import Echo, Probe, echo_target, span_of
from pretrace.runtime.errors import InputError
from pretrace.runtime.files import read_json, read_table

TEXTS = [*made_up_jobs.TEXTS, "", "The number of Texts is 12, the model has seen them."]

pytestmark = pytest.mark.usefixtures("quick_retries")


SHOTS = ["A number of texts.", "120 members were there.\n"]


@pytest.fixture
def run(tiny_checkpoint, tmp_path):
    """Runs passes of a kind of model, here or by an API at `url`."""

    def passes_of(kind, requests, *, url="", texts=TEXTS, **keys):
        record = kind if isinstance(kind, Path) else tiny_checkpoint(kind)
        target = target_of(record)
        where = tmp_path / ("api" if url else "local")
        with AnswerStore(tmp_path / "answers.sqlite") as store:
            if url:
                client = client_at(url, store, **(keys or {"echo": True}))
                target = echo_target(client, record)
            manifest = job.run(
                requests,
                benchmark=benchmark_of(texts),
                names=NAMES,
                target=target,
                store=where / "store",
                manifest=where / "manifest.json",
                batch_tokens=64,
                threads=1,
                shots=lambda key: SHOTS[: key.reading.shots.count],
            )
        return manifest, where / "store"

    return passes_of


@pytest.fixture
def serving(tiny_checkpoint):
    """Gives a server of a kind of model, of which EchoServer's options say how it
    errs."""
    return lambda kind, **errs: Loopback(EchoServer(tiny_checkpoint(kind), **errs))


EQUAL = ("text_id", "variant", "token_ids", "skipped", "n_tokens", "shots_used")


def assert_equal_rows(rows, expected):
    """Every pass by an API has the rows of the engine's."""
    manifest, store = rows
    own_manifest, own_store = expected
    for view, own in zip(manifest["views"], own_manifest["views"], strict=True):
        echoed = read_table(store / view["files"][0]["file"]).to_pylist()
        local = read_table(own_store / own["files"][0]["file"]).to_pylist()
        assert echoed
        for row, other in zip(echoed, local, strict=True):
            for key in EQUAL:
                assert row[key] == other[key]
            np.testing.assert_allclose(row["logprobs"], other["logprobs"], atol=1e-4)
            assert row["entropies"] is row["variances"] is None
            if view["statistics"] == "likeliest":
                for key in ("highest", "top40"):
                    np.testing.assert_allclose(row[key], other[key], atol=1e-4)
                assert row["ranks"] == np.minimum(other["ranks"], 40).tolist()


WITH_SHOTS = {"prefix": "nonmember;separator=newline", "draw": 0, "shots": 2}
NAMED = {"start_token": "<|endoftext|>"}
INNER = {"prefix": "nonmember", "draw": 0, "shots": 1, "inner_start": True}


# without and with a start token of the tokenizer's
@pytest.mark.parametrize("kind", ["gpt_neox", "llama"])
def test_echoed_passes_are_those_of_the_engine(run, serving, kind):
    requests = [request(), request(altered="lowercase"), request(**WITH_SHOTS)]
    texts = [text for text in TEXTS if text.isascii()]
    with serving(kind) as server:
        rows = run(kind, requests, url=server.url, texts=texts)
    assert_equal_rows(rows, run(kind, requests, texts=texts))


@pytest.mark.parametrize(
    ("kind", "errs", "requests"),
    [
        *(("llama", {"garbled": garbled}, [request()]) for garbled in (True, False)),
        ("gpt_neox", {}, [request(**NAMED), request(**NAMED, **INNER)]),
    ],
)
def test_characters_of_several_tokens_and_named_start_tokens_are_scored_too(
    run, serving, kind, errs, requests
):
    with serving(kind, **errs) as server:
        rows = run(kind, requests, url=server.url)
    assert_equal_rows(rows, run(kind, requests))


def test_faults_change_nothing_and_a_second_run_asks_nothing(run, tiny_checkpoint):
    expected = run("gpt_neox", [request()])
    kinds = ["429", "500", "cut", "malformed", "no choices"]

    def fault(number, body):
        """Return the fault of every second answer."""
        return kinds[number // 2 % 5] if number % 2 else None

    with Loopback(EchoServer(tiny_checkpoint("gpt_neox")), fault) as server:
        rows = run("gpt_neox", [request()], url=server.url)
        assert_equal_rows(rows, expected)
        assert sorted(server.answered.values())[-3:] == [1, 2, 2], (
            "the probe asks two prompts again"
        )
        before = server.requests
        manifest, store = rows
        [stored] = manifest["views"][0]["files"]
        (store / stored["file"]).unlink()
        again, _ = run("gpt_neox", [request()], url=server.url)
        assert again["views"][0]["files"][0]["sha256"] == stored["sha256"]
        assert server.requests == before


@pytest.mark.parametrize(
    "offers", [{"echo": True}, {"top40": "prompt_logprobs"}], ids=str
)
@pytest.mark.parametrize(
    ("told", "says"),
    [
        (lambda value: value + 8, "a log-probability is .*, and none is above 0"),
        (lambda value: value - 100,
         r"the likeliest token has log-probability -\d+.\d+, less than chance"),
        (lambda value: value * 0, r"the probabilities of \d+ tokens sum to \d+.00"),
    ],
)  # fmt: skip
def test_numbers_that_are_no_log_probabilities_are_refused_at_the_first_answer(
    run, serving, offers, told, says
):
    """Logits and other scores of a server were stored as log-probabilities."""
    with serving("llama", told=told) as server, pytest.raises(InputError, match=says):
        run(
            "llama",
            [request(statistics="likeliest" if "top40" in offers else "logprobs")],
            url=server.url,
            attempts=3,
            **offers,
        )
    assert server.requests <= len(TEXTS), "none is asked again"


@pytest.mark.parametrize(
    "values", [[-5.7, -6.0], [-0.6932, -0.6932], [0.004], [-13.0, -9999.0]]
)
def test_rounded_and_unlikely_log_probabilities_are_accepted(values):
    check_likeliest(values)


def test_a_shifted_list_is_refused_and_asked_for_again_once_it_is_mended(
    run, tiny_checkpoint
):
    responder = EchoServer(tiny_checkpoint("gpt_neox"), shifted=True)
    with Loopback(responder) as server:
        for _ in range(2):
            before = server.requests
            with pytest.raises(
                InputError,
                match=r"shifted by a token, as llama-cpp-python.*set start_token",
            ):
                run("gpt_neox", [request()], url=server.url)
            assert server.requests > before
        responder.shifted = False
        run("gpt_neox", [request()], url=server.url)


class StaleServer(EchoServer):
    """Numbers of tokens that it has read before are those of another place, or zeros;
    in blocks of 16 tokens.

    `probed`: it is right until it has answered so many requests.
    """

    zeros = False
    probed = 0
    likeliest = True

    def _stale(self, ids, values):
        others = (
            self._common(ids, other["prompt"])
            for other in self.bodies[self.probed : -1]
        )
        cached = max(others, default=0) // 16 * 16
        wrong = [0.0] * len(values) if self.zeros else values[::-1]
        return [*wrong[:cached], *values[cached:]]

    @staticmethod
    def _common(ids, other):
        pairs = enumerate(zip(ids, other, strict=False))
        return next(
            (place for place, (one, two) in pairs if one != two),
            min(len(ids), len(other)),
        )

    def _answer(self, body):
        self.bodies = [*getattr(self, "bodies", []), body]
        answer = super()._answer(body)
        choice = answer["choices"][0]
        if body.get("echo"):
            told = choice["logprobs"]
            own = told["token_logprobs"]
            size = len(body["prompt"])
            told["token_logprobs"] = [
                None,
                *self._stale(body["prompt"], own[1:size]),
                *own[size:],
            ]
        elif "prompt_logprobs" in body:
            places = choice["prompt_logprobs"]
            choice["prompt_logprobs"] = [None, *self._stale(body["prompt"], places[1:])]
        return answer


ALIKE = [
    f"The state of the union is strong, and the people know it, in 19{year}."
    for year in (34, 52, 70)
]


@pytest.mark.parametrize("zeros", [False, True])
def test_a_stale_prefix_cache_is_seen_by_asking_again_in_another_order(
    run, tiny_checkpoint, zeros
):
    responder = StaleServer(tiny_checkpoint("llama"))
    responder.zeros = zeros
    with Loopback(responder) as server:
        with pytest.raises(
            InputError,
            match=r"other log-probabilities when it is asked again.*prefix cache",
        ):
            run(
                "llama",
                [request()],
                url=server.url,
                texts=ALIKE,
                echo=True,
                concurrency=1,
            )
        responder.probed = 10**9
        rows = run(
            "llama", [request()], url=server.url, texts=ALIKE, echo=True, concurrency=1
        )
    assert_equal_rows(rows, run("llama", [request()], texts=ALIKE))


def test_a_token_likelier_than_the_likeliest_of_its_place_is_refused_after_the_probe(
    run, tiny_checkpoint
):
    """A cache that is stale only under load passes the probe."""
    responder = StaleServer(tiny_checkpoint("llama"))
    responder.zeros, responder.probed = True, 13
    with (
        Loopback(responder) as server,
        pytest.raises(
            InputError,
            match=r"own token has log-probability 0\.00, and the likeliest token of its place",
        ),
    ):
        run("llama", [request()], url=server.url, texts=ALIKE, echo=True, concurrency=1)


def test_the_likeliest_tokens_of_a_stale_cache_are_refused_too(run, tiny_checkpoint):
    with (
        Loopback(StaleServer(tiny_checkpoint("llama"))) as server,
        pytest.raises(
            InputError,
            match=r"tested: .*(scores other tokens|nothing of token|asked again)",
        ),
    ):
        run(
            "llama",
            [request(statistics="likeliest")],
            url=server.url,
            texts=ALIKE,
            top40="prompt_logprobs",
            attempts=2,
        )


def test_a_server_that_ignores_echo_or_has_another_tokenizer_is_refused(
    run, tiny_checkpoint, monkeypatch
):
    ignoring = EchoServer(tiny_checkpoint("gpt_neox"), ignored=True)
    foreign = EchoServer(tiny_checkpoint("gpt_neox"), ignored=False)
    pieces = foreign._piece
    foreign._piece = lambda id: pieces(id)[::-1]
    for responder in (ignoring, foreign):
        with (
            Loopback(responder) as server,
            pytest.raises(InputError, match="does not echo what it is sent"),
        ):
            run("gpt_neox", [request()], url=server.url)
    # it does not see every difference
    monkeypatch.setattr(Probe, "check", lambda *_: False)
    with (
        Loopback(foreign) as server,
        pytest.raises(InputError, match=r"does not echo the \d+ tokens that were"),
    ):
        run("gpt_neox", [request()], url=server.url)


def test_a_real_server_without_prompt_scoring_is_refused(run, tmp_path):
    with (
        llama_server(tmp_path) as url,
        pytest.raises(InputError, match="leave `echo` out of its entry"),
    ):
        run("gpt_neox", [request()], url=url)


def test_what_an_api_cannot_score_is_refused(run, serving):
    with (
        serving("llama") as server,
        pytest.raises(InputError, match="no full-vocabulary statistics"),
    ):
        run("llama", [request(statistics="full")], url=server.url)
    with pytest.raises(
        InputError, match="name a local model that has the same tokenizer"
    ):
        echo_target(client_at(server.url, None), None)


WORDS = ["\u2581The", "\u2581un", "ion", "\u2581is", "The", "\u2581", "<0x0A>"]
NAMED_AS = {
    "stripped": lambda word: word.replace("\u2581", ""),
    "restored": lambda word: word.replace("\u2581", " "),
    "raw": lambda word: word,
    "by id": lambda word: f"token_id:{WORDS.index(word) + 3}",
}


@pytest.fixture(scope="module")
def with_blank_first():
    """A tokenizer of SentencePiece's kind, which puts a blank before a text: LLaMA's,
    Mistral's."""
    vocabulary = ["<unk>", "<s>", "</s>", *WORDS, *"Theunios."]
    pieces = [(piece, -1.0 * number) for number, piece in enumerate(vocabulary)]
    tokenizer = Tokenizer(models.Unigram(pieces, unk_id=0))
    put_blank_first(tokenizer)
    return transformers.PreTrainedTokenizerFast(
        tokenizer_object=tokenizer, bos_token="<s>", unk_token="<unk>"
    )


@pytest.mark.parametrize("way", NAMED_AS)
def test_spans_are_found_by_the_names_of_the_tokens(with_blank_first, way):
    """A server strips the blank of a word, restores it, or leaves it as spelled."""
    words = ["\u2581The", "\u2581un", "ion", "\u2581is"]
    ids = [WORDS.index(word) + 3 for word in words]
    pieces = ["<s>", *map(NAMED_AS[way], words)]
    echo = Echo(pieces, [np.nan, -1, -2, -3, -4])
    assert span_of(echo, ids[:3], with_blank_first) == slice(1, 4)
    assert span_of(echo, ids, with_blank_first) == slice(1, 5)  # nothing was generated
    assert span_of(echo, ids[:2], with_blank_first) is None
    assert span_of(echo, [*ids[:2], ids[0]], with_blank_first) is None


@pytest.mark.parametrize("way", ["stripped", "restored", "raw"])
def test_the_probe_finds_the_token_of_a_name_whatever_its_blank(with_blank_first, way):
    class Target:
        client = tokenizer = vocabulary = context = None

    Target.tokenizer = with_blank_first
    ids = Probe(Target)._ids_named(NAMED_AS[way]("\u2581The"))
    assert WORDS.index("\u2581The") + 3 in ids


@pytest.mark.parametrize("kind", ["gpt_neox", "llama"])
def test_the_likeliest_tokens_of_a_server_give_the_engines_statistics(
    run, serving, kind
):
    beside = [request(altered="lowercase"), request(**WITH_SHOTS)]
    few = [TEXTS[0], *TEXTS[3:5], ""]
    served_requests = [request(statistics="likeliest"), *beside]
    own_requests = [request(statistics="top40"), *beside]
    with serving(kind) as server:
        served = run(
            kind, served_requests, url=server.url, texts=few, top40="prompt_logprobs"
        )
    assert served[0]["views"][0]["statistics"] == "likeliest"
    assert_equal_rows(served, run(kind, own_requests, texts=few))


@pytest.mark.parametrize(
    ("errs", "says"),
    [
        (
            {"most": 20},
            "malformed answer .* instead of 40; start vLLM with --max-logprobs 40",
        ),
        ({"ignored": True}, "malformed answer .*no prompt_logprobs"),
    ],
)
def test_a_server_without_the_likeliest_tokens_is_refused(run, serving, errs, says):
    with serving("llama", **errs) as server, pytest.raises(InputError, match=says):
        run(
            "llama",
            [request(statistics="likeliest")],
            url=server.url,
            top40="prompt_logprobs",
            attempts=2,
        )


WITHOUT_TORCH = """
import sys
sys.modules["torch"] = None
import subprocess
import sys
from pathlib import Path
import pandas as pd
from loopback import client_at
from pretrace.models.api.store import AnswerStore
from pretrace.passes import job
from pretrace.passes.echo import echo_target
from pretrace.views.readings import PassRequest, Reading

folder = Path(sys.argv[2])
columns = {"text_id": ["t"], "text": ["the people of the United States"], "subset": "", "length": None}
names = {"study": "study", "model": "tiny", "benchmark": "texts"}
with AnswerStore(folder / "a.sqlite") as store:
    job.run(
        [PassRequest(Reading("original", "tokenizer"), "logprobs")], benchmark=pd.DataFrame(columns), names=names,
        target=echo_target(client_at(sys.argv[1], store, echo=True), Path(sys.argv[3])), store=folder / "store",
        manifest=folder / "manifest.json", batch_tokens=64, threads=1,
    )
"""


def test_scoring_by_an_api_needs_no_torch(serving, tiny_checkpoint, tmp_path):
    with serving("llama") as server:
        command = [
            sys.executable,
            "-c",
            WITHOUT_TORCH,
            server.url,
            str(tmp_path),
            str(tiny_checkpoint("llama")),
        ]
        subprocess.run(command, check=True, env={"PYTHONPATH": ":".join(sys.path)})
    assert read_json(tmp_path / "manifest.json")["views"][0]["tokens"] > 0
