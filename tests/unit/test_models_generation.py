"""What a checkpoint writes depends on its weights, and not on how it says that it
should be decoded."""

import json
import shutil
from pathlib import Path

import pytest
import torch
from made_up_jobs import target_of

from pretrace.models.checkpoint import register_local
from pretrace.models.generation import generate

MOST = 12
OWN_DECODING = {
    "none": {},
    "penalty": {"repetition_penalty": 1.8},
    "no repeats": {"no_repeat_ngram_size": 1},
    "suppressed": {"suppress_tokens": list(range(100, 300))},
    "sampled": {"do_sample": True, "temperature": 5.0, "top_p": 0.5, "min_p": 0.9},
    "beams": {"num_beams": 3, "length_penalty": 2.0},
    "least": {"min_new_tokens": MOST},
}


@pytest.fixture
def good(tiny_checkpoint) -> Path:
    return tiny_checkpoint("llama").parent / "model"


def target_with(good: Path, folder: Path, decoding: dict):
    """The checkpoint with a generation_config.json that says so."""
    tiny = Path(shutil.copytree(good, folder / "tiny"))
    config = json.loads((tiny / "generation_config.json").read_text())
    (tiny / "generation_config.json").write_text(json.dumps(config | decoding))
    register_local(tiny, folder / "checkpoint.json")
    return target_of(folder / "checkpoint.json")


def greedy(model, ids: list[int], ends: set[int]) -> list[int]:
    """The likeliest token, again and again, each read afresh."""
    added: list[int] = []
    while len(added) < MOST and not ends & set(added):
        with torch.no_grad():
            added.append(int(model(torch.tensor([ids + added])).logits[0, -1].argmax()))
    return added


@pytest.mark.parametrize("own", OWN_DECODING)
def test_greedy_is_the_likeliest_token_whatever_the_checkpoint_says_of_decoding(
    good, tmp_path, own
):
    target = target_with(good, tmp_path, OWN_DECODING[own])
    model = target.load()
    prompts = [[1, 50, 51, 52], [1, 80, 90, 100], [1, 60], [1, 70, 71, 72, 73, 74]]
    for _ in range(2):
        texts = generate(model, target.tokenizer, prompts, MOST)
        for ids, added in zip(prompts, texts, strict=True):
            expected = greedy(model, ids, {0})
            assert added[: len(expected)] == expected
            assert set(added[len(expected) :]) <= {target.tokenizer.pad_token_id}


def test_a_text_ends_where_the_checkpoint_says_that_texts_end(good, tmp_path):
    ids = [1, 50, 51, 52]
    plain = target_with(good, tmp_path / "plain", {})
    third = greedy(plain.load(), ids, {0})[2]
    target = target_with(good, tmp_path / "ends", {"eos_token_id": [0, third]})
    [added] = generate(target.load(), target.tokenizer, [ids], MOST)
    assert added == greedy(target.load(), ids, {0, third})
    assert added[-1] == third


@pytest.mark.parametrize("own", ["none", "sampled", "suppressed"])
def test_what_is_drawn_follows_the_seed_and_the_models_own_probabilities(
    good, tmp_path, own
):
    """The share of each first token among many draws is its probability at that
    temperature, over all tokens."""
    target = target_with(good, tmp_path, OWN_DECODING[own])
    model = target.load()
    ids = [1, 50, 51, 52]
    draws = 4000
    torch.manual_seed(0)
    first = generate(model, target.tokenizer, [ids] * draws, 1, temperature=3.0)
    torch.manual_seed(0)
    assert generate(model, target.tokenizer, [ids] * draws, 1, temperature=3.0) == first
    with torch.no_grad():
        expected = (model(torch.tensor([ids])).logits[0, -1] / 3.0).softmax(-1)
    shares = (
        torch.bincount(torch.tensor(first).flatten(), minlength=len(expected)) / draws
    )
    assert (shares - expected).abs().max() < 5 * (0.25 / draws) ** 0.5
    assert (shares > 0).sum() > 60, "more than the 50 likeliest"
