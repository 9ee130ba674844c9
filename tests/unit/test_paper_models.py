"""The paper study's models are read as they are released: types, files, old masks,
tokenizers; here tiny and random."""

from pathlib import Path

import numpy as np
import pytest
import torch
import transformers
from made_up_jobs import expected_statistics
from made_up_questions import answerer_on

from paper_models import SHAPES, STARTS, write_paper_model
from pretrace.models.checkpoint import register_local
from pretrace.models.target import load_checkpoint
from pretrace.models.tokens import bos_contradiction, start_token_ids
from pretrace.passes.engine import Engine
from pretrace.passes.prompt_prefix import PromptPrefix
from pretrace.passes.requests import Request
from pretrace.questions.answering import Prompt
from pretrace.runtime.schema import read_yaml
from simulated_gpu import SimulatedGPUs

REGISTRY = Path(__file__).parents[2] / "config" / "models.yaml"
ENTRIES = {
    slug: entry
    for slug, entry in read_yaml(REGISTRY).items()
    if entry["source"] == "hub"
}
READ = (
    "opt-350m", "opt-6.7b", "pythia-70m", "gpt-neo-125m", "llama-7b", "mamba-130m",
    "olmo-1b", "baichuan-7b",
    "qwen1.5-1.8b", "llama-2-70b", "mistral-7b", "mixtral-8x7b",
)  # fmt: skip
"""A model of each architecture, number type and number of GPUs."""
GENERATOR = np.random.default_rng(0)
TEXTS = [GENERATOR.integers(8, 480, size).astype(np.int32) for size in (3, 17, 60, 150)]
SHOTS = tuple(tuple(GENERATOR.integers(8, 480, 40).tolist()) for _ in range(7))
TEXT = "Words of 1934, café 汉字 and\n  spaces."


def test_every_model_of_the_registry_has_a_shape():
    assert SHAPES.keys() == ENTRIES.keys()


@pytest.mark.parametrize("slug", SHAPES)
def test_a_released_layout_loads_in_its_type_and_starts_texts_as_released(
    slug, tmp_path
):
    folder = write_paper_model(slug, ENTRIES[slug], tmp_path / slug)
    checkpoint = register_local(folder, tmp_path / "checkpoint.json")
    assert "pytorch_model.bin" not in checkpoint.files
    target = load_checkpoint(
        tmp_path / "checkpoint.json", device="cpu", dtype=ENTRIES[slug]["dtype"]
    )
    model = target.load()
    assert {weight.dtype for weight in model.parameters()} == {
        getattr(torch, ENTRIES[slug]["dtype"])
    }
    tokenizer = target.tokenizer
    start = STARTS.get(SHAPES[slug].tokenizer)
    prepended = tokenizer.convert_ids_to_tokens(
        list(start_token_ids(tokenizer, "tokenizer"))
    )
    assert prepended == ([] if start is None else [start])
    assert not bos_contradiction(tokenizer)
    assert (tokenizer.chat_template or "") == SHAPES[slug].chat
    ids = tokenizer(TEXT, add_special_tokens=False)["input_ids"]
    assert tokenizer.decode(ids).strip() == TEXT
    with torch.inference_mode():
        assert model(torch.tensor([ids])).logits.isfinite().all()


@pytest.mark.parametrize(
    ("slug", "expected"),
    [
        ("llama-2-7b", "<s> [INST] <<SYS>>\nBe brief.\n<</SYS>>\n\nWhich? [/INST]"),
        ("mistral-7b", "<s> [INST] Be brief.\n\nWhich? [/INST]"),
    ],
)
def test_a_system_text_reaches_a_chat_model_that_takes_none(slug, expected, tmp_path):
    folder = write_paper_model(slug, ENTRIES[slug], tmp_path / slug)
    register_local(folder, tmp_path / "checkpoint.json")
    target = load_checkpoint(
        tmp_path / "checkpoint.json", device="cpu", dtype=ENTRIES[slug]["dtype"]
    )
    answerer = answerer_on(target, tmp_path / "answers", 2048)
    ids = answerer._ids(Prompt("Which?", "Be brief."))
    assert ids.count(1) == 1
    assert target.tokenizer.decode(ids) == expected


def distance(read, plain, prompt_prefix):
    """The largest distance, in nats, of the texts' log-probabilities from those of a
    model in float32.

    Of a mixture of experts it is the median: any rounding may send a token to another
    expert, which moves that token by a hundred times the others, whoever computes.
    """
    distances = []
    for text, computed in zip(TEXTS, read, strict=True):
        expected = expected_statistics(plain, prompt_prefix.ids, text.tolist())
        distances.append(np.abs(computed[0] - expected[0]))
    has_experts = hasattr(plain.config, "num_local_experts")
    return (
        np.median(np.concatenate(distances))
        if has_experts
        else max(each.max() for each in distances)
    )


PREFIXES = [PromptPrefix((1,)), PromptPrefix((1,), SHOTS)]


@pytest.mark.parametrize("slug", READ)
def test_narrow_types_and_two_gpus_lose_no_more_than_plain_transformers(slug, tmp_path):
    entry = ENTRIES[slug]
    folder = write_paper_model(slug, entry, tmp_path / slug)
    register_local(folder, tmp_path / "checkpoint.json")
    requests = [
        Request(str(number), 0, text, len(text)) for number, text in enumerate(TEXTS)
    ]

    def read():
        placement = (
            {"device": "cuda", "device_map": "auto", "gpus": 2}
            if "device_map" in entry
            else {"device": "cpu"}
        )
        target = load_checkpoint(
            tmp_path / "checkpoint.json", dtype=entry["dtype"], **placement
        )
        model = target.load()
        assert len({weight.device for weight in model.parameters()}) == placement.get(
            "gpus", 1
        )
        engine = Engine(model, slug, 4096)
        return [
            engine.statistics(requests, prefix, statistics="full")
            for prefix in PREFIXES
        ]

    if "device_map" in entry:
        with SimulatedGPUs():
            computed = read()
    else:
        computed = read()
    exact = transformers.AutoModelForCausalLM.from_pretrained(
        folder, dtype=torch.float32
    ).eval()
    narrow = transformers.AutoModelForCausalLM.from_pretrained(
        folder, dtype=getattr(torch, entry["dtype"])
    ).eval()
    for prefix, own in zip(PREFIXES, computed, strict=True):
        plain = [
            expected_statistics(narrow, prefix.ids, text.tolist()) for text in TEXTS
        ]
        lost = distance(plain, exact, prefix)
        assert distance(own, exact, prefix) <= 1.5 * lost + 1e-4, prefix
