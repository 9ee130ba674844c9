"""Shared prefixes: equal to the prefix put before each text, encoded once, and never
copied for a batch."""

import gc
import re

import numpy as np
import pytest
import torch
import transformers
from made_up_jobs import expected_statistics, requests_of

import tiny_models
from pretrace.passes import attention, sharing
from pretrace.passes.attention import SHARED_PREFIX, put_ahead
from pretrace.passes.engine import Engine
from pretrace.passes.features import Features
from pretrace.passes.prompt_prefix import PromptPrefix
from pretrace.passes.sharing import SharedCache, SteppedState

TOLERANCE = 1e-4
WAYS = dict.fromkeys(tiny_models.CACHES, SharedCache)
WAYS |= {"mamba": SteppedState, "jamba": SteppedState, "rwkv": None}
GENERATOR = np.random.default_rng(0)


def token_ids(*sizes):
    return [GENERATOR.integers(4, 300, size).tolist() for size in sizes]


SHOTS = tuple(map(tuple, token_ids(17, 9, 1, 14)))
TEXTS = token_ids(23, 5, 1, 12, 12, 30, 2)


def logprobs(engine, prompt_prefix):
    """Log-probabilities [1, tokens] of each text."""
    requests = requests_of(TEXTS, prompt_prefix.inner)
    return engine.statistics(requests, prompt_prefix, statistics="logprobs")


def check(engine, model, prompt_prefix):
    for text, computed in zip(TEXTS, logprobs(engine, prompt_prefix), strict=True):
        tokens = [*prompt_prefix.inner, *text]
        expected = expected_statistics(model, prompt_prefix.ids, tokens)[:1]
        assert computed.shape == expected.shape == (1, len(tokens))
        np.testing.assert_allclose(computed, expected, atol=TOLERANCE, rtol=0)


@pytest.mark.parametrize("kind", tiny_models.CACHES)
def test_equal_to_the_prefix_before_each_text(tiny_model, kind):
    model = tiny_model(kind)
    assert sum(map(len, SHOTS)) > 3 * tiny_models.WINDOW
    for start, batch_tokens in [((0,), 40), ((), 10_000), ((1, 2), 1)]:
        engine = Engine(model, "tiny", batch_tokens)
        check(engine, model, PromptPrefix(start, SHOTS))
        assert engine.sharing is WAYS[kind]


@pytest.mark.parametrize("kind", tiny_models.CACHES)
def test_a_pass_leaves_nothing_that_waits_for_the_garbage_collector(tiny_model, kind):
    """`pretrace` has it run seldom: tensors of earlier batches in circles of references
    would fill a GPU."""
    engine = Engine(tiny_model(kind), "tiny", 60)
    for prompt_prefix in (PromptPrefix((0,)), PromptPrefix((0,), SHOTS)):
        logprobs(engine, prompt_prefix)  # verifies the way
        gc.freeze()  # to walk through all that was there takes a second
        gc.disable()
        try:
            logprobs(engine, prompt_prefix)
            gc.set_debug(gc.DEBUG_SAVEALL)
            gc.collect()
            assert not [left for left in gc.garbage if isinstance(left, torch.Tensor)]
        finally:
            gc.set_debug(0)
            gc.garbage.clear()
            gc.enable()


@pytest.mark.parametrize("kind", tiny_models.CACHES)
def test_equal_with_the_attention_of_bfloat16_on_a_cpu(tiny_model, kind, monkeypatch):
    """In float32, where rounding hides nothing; a layer whose window is shorter than
    the prefix is left to torch."""
    model = tiny_model(kind)
    computed = []
    monkeypatch.setattr(attention, "_BLOCK", 300)  # several blocks of queries

    def watched(*states, read=attention._read):
        computed.append(len(states[1]))
        return read(*states)

    monkeypatch.setattr(attention, "_read", watched)
    engine = Engine(model, "tiny", 60)
    engine.features = Features(model, SHARED_PREFIX)
    prompt_prefix = PromptPrefix((0,), SHOTS)
    check(engine, model, prompt_prefix)
    assert engine.sharing is WAYS[kind]
    takes_sdpa = model.config._attn_implementation == "sdpa"
    is_read_here = takes_sdpa and WAYS[kind] is SharedCache and kind != "mistral"
    assert (len(prompt_prefix.ids) in computed) == is_read_here


@pytest.mark.parametrize("heads", [(4, 4), (6, 2), (8, 1)])
@pytest.mark.parametrize("window", [None, 9])
@pytest.mark.parametrize("reader", ["_read_in_products", "_read_as_one_text"])
def test_attention_to_a_shared_prefix_is_that_of_torch(
    heads, window, reader, monkeypatch
):
    """As a CPU reads the prefix, and as a GPU does."""
    monkeypatch.setattr(attention, "_BLOCK", 50)
    monkeypatch.setattr(attention, "_read_in_products", getattr(attention, reader))
    drawn = torch.Generator().manual_seed(0)
    texts = 3
    tokens = 7
    past = 20
    width = 16
    query = torch.randn(texts, heads[0], tokens, width, generator=drawn)
    sizes = (2, texts, heads[1], past + tokens, width)
    key, value = torch.randn(sizes, generator=drawn)
    own = []
    for states in (key, value):
        shared = states[:1, :, :past].clone()
        states[:, :, :past] = shared
        own.append(put_ahead(shared, states[:, :, past:]))
    seen = torch.ones(tokens, past + tokens, dtype=torch.bool).tril(past)
    if window:
        seen = seen.triu(past + 1 - window)
    mask = seen.expand(texts, 1, -1, -1)
    module = torch.nn.Module()
    module.num_key_value_groups = heads[0] // heads[1]
    computed, _ = attention.attention_to_shared_prefix(
        module, query, *own, mask if window else None, scaling=0.7
    )
    expected = torch.nn.functional.scaled_dot_product_attention(
        query.double(),
        key.double(),
        value.double(),
        attn_mask=mask,
        scale=0.7,
        enable_gqa=True,
    )
    torch.testing.assert_close(
        computed.double(), expected.transpose(1, 2), atol=1e-5, rtol=0
    )


@pytest.mark.parametrize("kind", ["llama", "mistral", "mamba", "rwkv"])
def test_fewer_shots_are_those_of_a_prefix_of_their_own(tiny_model, kind):
    model = tiny_model(kind)
    engine = Engine(model, "tiny", 60)
    for used in range(len(SHOTS), 0, -1):
        check(engine, model, PromptPrefix((0,), SHOTS[:used]))
    check(engine, model, PromptPrefix((0,), SHOTS[1:]))
    check(engine, model, PromptPrefix((0,)))


@pytest.mark.parametrize("kind", ["llama", "gemma2"])
def test_a_shot_without_tokens_changes_nothing(tiny_model, kind):
    engine = Engine(tiny_model(kind), "tiny", 60)
    plain = logprobs(engine, PromptPrefix((0,), SHOTS[:2]))
    empty = ()
    shots = (empty, SHOTS[0], empty, SHOTS[1])
    with_empty = logprobs(engine, PromptPrefix((0,), shots))
    for alone, other in zip(plain, with_empty, strict=True):
        np.testing.assert_array_equal(alone, other)
    check(engine, tiny_model(kind), PromptPrefix((0,), (empty,)))


@pytest.mark.parametrize("kind", ["llama", "jamba"])
def test_a_way_that_misleads_is_not_taken_and_the_warning_has_numbers(
    tiny_model, monkeypatch, log_lines, kind
):
    """As a sliding-window cache that forgets, or a state that is ignored: concatenation
    is right then."""

    def forget(shared, own):
        zeros = torch.zeros_like(shared).expand(len(own), -1, -1, -1)
        return torch.cat([zeros, own], -2)

    def ignore(self, inputs, parts):
        return self._features(inputs, use_cache=False)

    monkeypatch.setattr(sharing, "copied_ahead", forget)
    monkeypatch.setattr(SteppedState, "read", ignore)
    engine = Engine(tiny_model(kind), "tiny", 60)
    check(engine, tiny_model(kind), PromptPrefix((0,), SHOTS))
    assert engine.sharing is None
    warning = r"off by [\d.]+ of their norm .* \(tolerance 0.001\)"
    assert re.search(warning, log_lines.text)


ROPE = {"rope_type": "dynamic", "rope_theta": 10000.0, "factor": 2.0}


@pytest.mark.parametrize("kind", ["llama", "gemma3"])
def test_positions_that_stretch_with_the_input_are_not_shared(tiny_model, kind):
    config = tiny_model("gemma2" if kind == "gemma3" else kind).config
    keys = config.to_diff_dict()
    keys.pop("model_type")
    keys.pop("layer_types", None)
    keys["rope_parameters"] = ROPE
    if kind == "gemma3":  # one rotary embedding for each kind of layer
        plain = {"rope_type": "default", "rope_theta": 10000.0}
        keys["rope_parameters"] = {"sliding_attention": plain, "full_attention": ROPE}
        keys["layer_types"] = list(keys["rope_parameters"])
        config = transformers.Gemma3TextConfig(**keys)
    else:
        config = transformers.LlamaConfig(**keys)
    model = transformers.AutoModelForCausalLM.from_config(config).eval()
    engine = Engine(model, "tiny", 60)
    check(engine, model, PromptPrefix((0,), SHOTS))
    assert engine.sharing is None
