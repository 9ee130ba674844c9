"""Malformed checkpoints and answers of APIs: an error for users or a counted skip,
never a traceback."""

import copy
import json
import math
import random
import re
import shutil
from contextlib import suppress
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
import pyarrow.parquet as pq
import pytest
import safetensors.torch
import torch
from made_up_jobs import NAMES, benchmark_of, request, target_of
from spoiling import JUNK, damaged, limited, refuses, seeds, spoiled, tiers

import tiny_models
from loopback import Loopback, client_at
from pretrace.models.api.answers import MalformedAnswerError, tokens_used
from pretrace.models.api.store import AnswerStore
from pretrace.models.checkpoint import register_local
from pretrace.passes.echo import echo_of
from pretrace.passes.job import run
from pretrace.questions.answering import Prompt, Question
from pretrace.questions.over_api import (
    ApiAnswerer,
    letter_of_logprobs,
    letter_of_text,
    reply_of,
)
from pretrace.runtime.errors import InputError

ODD_TEXTS = [
    "a",
    "שלום",
    "e" + "\u0301" * 40,
    "👩‍👩‍👧‍👦",
    "two\u2028lines",
    "\x1b[31mred",
    "word " * 400,
    "the same",
    "the same",
]


@pytest.fixture(scope="module")
def good(tiny_checkpoint) -> Path:
    return tiny_checkpoint("gpt_neox").parent / "model"


@pytest.fixture
def folder(good, tmp_path) -> Path:
    return Path(shutil.copytree(good, tmp_path / "tiny"))


def used(
    folder: Path, *, start_token: str = "none", max_length: int | None = None
) -> dict:
    """Register a checkpoint, load it and read odd texts with it; the manifest."""
    record = folder.parent / "checkpoint.json"
    register_local(folder, record)
    return run(
        [request(statistics="full", start_token=start_token)],
        benchmark=benchmark_of(ODD_TEXTS),
        names=NAMES,
        target=target_of(record, max_length=max_length),
        store=folder.parent / "store",
        manifest=folder.parent / "manifest.json",
        batch_tokens=512,
        threads=1,
    )


def refused(folder: Path) -> str:
    said = refuses(lambda: used(folder))
    if said:
        assert not (folder.parent / "manifest.json").exists(), (
            "a job that fails has no output"
        )
        assert not list((folder.parent / "store").glob("*.parquet")), (
            "and stores nothing"
        )
    return said


def edit(folder: Path, name: str, **changes: object) -> None:
    value = json.loads((folder / name).read_text(encoding="utf-8"))
    (folder / name).write_text(json.dumps(value | changes), encoding="utf-8")


def test_odd_texts_are_read_and_what_does_not_fit_is_cut_marked_and_counted(folder):
    manifest = used(folder)
    view = manifest["views"][0]
    rows = pq.read_table(folder.parent / "store" / view["files"][0]["file"]).to_pylist()
    by_text = dict(zip(ODD_TEXTS, rows, strict=True))
    assert by_text["a"]["skipped"], "one token without a start token has no prediction"
    long = by_text["word " * 400]
    assert long["truncated"]
    assert len(long["token_ids"]) < tiny_models.CONTEXT < long["n_tokens"]
    for row in by_text.values():
        assert row["skipped"] or np.isfinite(row["logprobs"]).all()
    assert view["skipped"] == sum(bool(row["skipped"]) for row in by_text.values())
    assert view["truncated"] == sum(row["truncated"] for row in by_text.values())


@pytest.mark.parametrize(
    "lacking",
    [
        ["bos_token"],
        ["pad_token"],
        ["eos_token"],
        ["bos_token", "pad_token", "eos_token"],
    ],
)
def test_a_tokenizer_without_special_tokens_is_used_or_refused(folder, lacking):
    for name in ("tokenizer_config.json", "special_tokens_map.json"):
        if (folder / name).exists():
            edit(folder, name, **dict.fromkeys(lacking))
    assert used(folder)["views"]


@pytest.mark.parametrize("value", [math.nan, math.inf, 1e38])
def test_weights_that_give_no_finite_number_end_the_job(folder, value):
    weights = safetensors.torch.load_file(folder / "model.safetensors")
    name = next(name for name in weights if "embed_in" in name)
    weights[name] = torch.full_like(weights[name], value)
    safetensors.torch.save_file(
        weights, folder / "model.safetensors", metadata={"format": "pt"}
    )
    assert re.search(
        r"tiny/texts gives .* not a number for text 't00\d'.*dtype: float32",
        refused(folder),
    )


def test_a_tokenizer_of_more_tokens_than_the_model_has_is_refused(tmp_path):
    folder = tiny_models.tiny_model("gpt_neox", tmp_path / "tiny", vocabulary=64)
    assert "vocabulary" in refused(folder)


FILES = ("config.json", "tokenizer.json", "tokenizer_config.json", "model.safetensors")


@pytest.mark.parametrize("name", FILES)
@pytest.mark.parametrize(
    "content",
    [
        b"",
        b"\0" * 100,
        b"{}",
        b"[]",
        b"null",
        b'{"a": ',
        b"\xff\xfe",
        b"PK\x03\x04",
        b"5",
    ],
)
def test_a_checkpoint_with_a_foreign_file_is_refused_or_read(folder, name, content):
    (folder / name).write_bytes(content)
    said = refused(folder)
    assert said or name == "tokenizer_config.json"


@pytest.mark.parametrize(
    "changes",
    [{"vocab_size": 1}, {"vocab_size": -5}, {"hidden_size": 31},
     {"num_hidden_layers": 3}, {"num_hidden_layers": "two"},
     {"model_type": "no_such_type"}, {"model_type": "t5"}, {"model_type": 5},
     {"architectures": 7}, {"dtype": "int8"},
     {"max_position_embeddings": 0}, {"max_position_embeddings": -1},
     {"max_position_embeddings": "many"},
     {"auto_map": {"AutoConfig": "evil.Config"}}, {"hidden_act": "no_such"},
     {"num_attention_heads": 0},
     {"text_config": {"a": 1}}, {"text_config": 5}, {"text_config": [1]}],
)  # fmt: skip
def test_a_configuration_that_does_not_fit_is_refused_or_read(folder, changes):
    edit(folder, "config.json", **changes)
    refused(folder)


VALUES = (
    10**9, -(10**9), 2**63, "1000000000", 1e30, "2048", [1], {"content": "<x>"},
    {"content": 5}, [["a", "b"]],
    {"1000000000": {"content": "<big>"}}, {"-1": {"content": "<x>"}},
    {"type": "linear", "factor": "x"}, *JUNK,
)  # fmt: skip
KEYS = {
    "config.json": ["quantization_config", "rope_parameters", "text_config",
                    "sliding_window", "vocab_size", "dtype"],
    "tokenizer.json": ["added_tokens", "truncation", "normalizer", "post_processor",
                       "decoder", "model"],
    "tokenizer_config.json": ["model_max_length", "added_tokens_decoder",
                              "extra_special_tokens", "tokenizer_class"],
    "special_tokens_map.json": ["eos_token", "additional_special_tokens"],
    "added_tokens.json": ["<x>", "<s>"],
}  # fmt: skip


OLDER = {"eos_token": {"content": "<e>", "lstrip": False}, "<x>": 5}
"""What older versions write into files of their own."""


def tried(folder: Path, name: str, content: bytes) -> None:
    """Use a copy of a checkpoint with another file; a refusal fits on a screen."""
    with TemporaryDirectory() as place:
        copied = Path(shutil.copytree(folder, Path(place, "tiny")))
        (copied / name).write_bytes(content)
        assert len(refused(copied)) < 2000


@pytest.mark.parametrize("name", KEYS)
@tiers(10, 100)
def test_a_spoiled_setting_of_a_checkpoint_is_refused_or_read(good, name, seeds):
    file = good / name
    written = json.loads(file.read_text(encoding="utf-8")) if file.is_file() else OLDER
    for seed in seeds:
        with limited(seed) as draw:
            settings = spoiled(written, draw, VALUES)
            if draw.randrange(2):
                settings[draw.choice(KEYS[name])] = draw.choice(VALUES)
            tried(good, name, json.dumps(settings).encode())


@pytest.mark.parametrize("name", FILES)
@tiers(5, 50)
def test_a_damaged_checkpoint_is_refused_or_read(good, name, seeds):
    content = (good / name).read_bytes()
    for seed in seeds:
        with limited(seed) as draw:
            tried(good, name, damaged(content, draw))


CHAT = {"choices": [{"message": {"content": "B"}, "finish_reason": "stop",
                     "logprobs": {"content": [
    {"token": "B", "logprob": -0.5,
     "top_logprobs": [{"token": "B", "logprob": -0.5},
                      {"token": "A", "logprob": -1.5}]}]}}],
    "usage": {"prompt_tokens": 3, "completion_tokens": 1}}  # fmt: skip
COMPLETION = {"choices": [{"text": "B",
                           "logprobs": {"tokens": ["a", "b"],
                                        "token_logprobs": [None, -1.0],
    "text_offset": [0, 1], "top_logprobs": [{"B": -0.5, " A": -1.5}]}}]}  # fmt: skip
READERS = (reply_of, letter_of_text, letter_of_logprobs, echo_of)


def read(reader, body):
    """What a reader makes of an answer, or None where it asks for another."""
    try:
        return reader(body)
    except MalformedAnswerError:
        return None


def is_sound(answer) -> bool:
    shares = getattr(answer, "probabilities", None)
    values = shares if shares is not None else getattr(answer, "logprobs", ())[1:]
    return all(value is not None and math.isfinite(value) for value in values)


@pytest.mark.parametrize("reader", READERS)
@pytest.mark.parametrize(
    "body",
    [
        *JUNK,
        {"choices": []},
        {"choices": [5]},
        {"choices": [{"text": None}]},
        {"error": {"code": 1}},
    ],
)
def test_what_is_no_answer_is_asked_for_again(reader, body):
    assert read(reader, body) is None


@pytest.mark.parametrize(
    "logprob", [math.nan, math.inf, 1e9, -math.inf, 0.5, "x", None, [], True]
)
@pytest.mark.parametrize("good_answer", [CHAT, COMPLETION], ids=["chat", "completion"])
def test_log_probabilities_that_are_none_never_become_probabilities(
    good_answer, logprob
):
    body = copy.deepcopy(good_answer)
    positions = body["choices"][0]["logprobs"]
    if "content" in positions:
        positions["content"][0]["top_logprobs"][0]["logprob"] = logprob
    else:
        positions["top_logprobs"][0]["B"] = positions["token_logprobs"][1] = logprob
    for reader in READERS:
        assert is_sound(read(reader, body))


@pytest.mark.parametrize("reader", READERS)
@pytest.mark.parametrize("good_answer", [CHAT, COMPLETION], ids=["chat", "completion"])
@seeds(60)
def test_a_spoiled_answer_is_asked_for_again_or_read(reader, good_answer, seed):
    assert is_sound(read(reader, spoiled(good_answer, random.Random(seed))))


def is_kept_rightly(body) -> bool:
    """Whether what a store holds is an answer, judged by itself: one choice with a text
    or a reason for none, and no error."""
    [choice, *_] = body["choices"]
    reason = str(choice.get("finish_reason"))
    if "filter" in reason or "safety" in reason or "refusal" in reason:
        return True
    told = choice.get("message")
    text = told.get("content") if isinstance(told, dict) else choice.get("text")
    if isinstance(text, list):
        text = " ".join(map(str, text))
    has_refusal = isinstance(told, dict) and bool(told.get("refusal"))
    has_error = body.get("error") or choice.get("error") or "error" in reason
    is_ended = isinstance(choice.get("finish_reason"), str)
    is_said = bool((text or "").strip()) or is_ended or has_refusal
    return not has_error and is_said


WRONG = [None, [], {}, "", 0, -1, 1e400, True, "error", {"message": "x"}, [[]], [{}],
         "content_filter", "length", float("nan"), "\ud83d", 10**30]  # fmt: skip


def as_stream(answer) -> str:
    return f"data: {json.dumps(answer)}\n\ndata: [DONE]\n"


@pytest.mark.parametrize("spoken", [json.dumps, as_stream], ids=["whole", "stream"])
@pytest.mark.parametrize("good_answer", [CHAT, COMPLETION], ids=["chat", "completion"])
@tiers(25, 500)
def test_of_a_changed_answer_nothing_is_kept_that_is_no_answer(
    tmp_path, monkeypatch, quick_retries, good_answer, spoken, seeds
):
    """2,000 in the long tests: letters by log-probabilities and by text, and texts."""
    chat = good_answer is CHAT
    monkeypatch.setattr("pretrace.models.api.faults._FIRST_WAIT", 0.0)
    answers = []
    with Loopback(lambda path, body: answers[0]) as server:
        for seed in seeds:
            draw = random.Random(seed)
            answer = spoiled(good_answer, draw, WRONG)
            answers[:] = [spoken(answer)]
            if draw.randrange(4) == 0:
                answers[:] = [
                    damaged(answers[0].encode(), draw).decode(errors="replace")
                ]
            with AnswerStore(tmp_path / f"{seed}.sqlite") as store:
                keys = {"endpoint": "chat" if chat else "completions", "attempts": 2}
                if draw.randrange(2):
                    keys["top_logprobs"] = 2
                asking = ApiAnswerer(client_at(server.url, store, **keys))
                question = Question([Prompt("Which?")])
                with suppress(InputError):
                    asking.letters([question], lambda done: None)
                with suppress(InputError):
                    asking.go_on(question.prompts, 5, 0, lambda done: None)
                for (kept,) in store._rows("SELECT answer FROM answers"):
                    assert is_kept_rightly(json.loads(kept)), (seed, kept)


@pytest.mark.parametrize(
    "usage",
    [
        *JUNK,
        {"prompt_tokens": math.inf},
        {"prompt_tokens": -5},
        {"prompt_tokens": math.nan},
    ],
)
def test_a_count_of_tokens_that_is_none_is_not_paid_by(usage):
    assert tokens_used({"usage": usage}) is None
