"""Statistics equal a plain float32 oracle, one text at a time, whatever the batch they
were computed in."""

import numpy as np
import pytest
import torch
import transformers
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from made_up_jobs import expected_statistics, of_predictions, requests_of

import tiny_models
from pretrace.passes.engine import Engine
from pretrace.passes.prompt_prefix import PromptPrefix
from pretrace.passes.requests import TOKEN_STATISTICS
from pretrace.passes.statistics import OutputHead, Reduction

TOLERANCE = 1e-4
RANKS = TOKEN_STATISTICS["top40"].index("ranks")


def check(model, texts, start, batch_tokens):
    engine = Engine(model, "tiny", batch_tokens)
    computed = engine.statistics(
        requests_of(texts), PromptPrefix(start), statistics="top40"
    )
    for tokens, values in zip(texts, computed, strict=True):
        assert values.dtype == np.float32
        if len(tokens) + len(start) < 2:
            assert values.shape == (6, 0)
        else:
            expected = expected_statistics(model, start, tokens)
            lowest, highest = rank_bounds(model, start, tokens)
            ranks = values[RANKS]
            assert ((lowest <= ranks) & (ranks <= highest)).all()
            expected[RANKS] = ranks
            np.testing.assert_allclose(values, expected, atol=TOLERANCE, rtol=0)


def rank_bounds(model, start, tokens):
    """The tokens that are likelier than each one, and those that are not less likely,
    for float32 cannot tell which of two tokens within 1e-5 is the likelier one."""
    ids = torch.tensor([[*start, *tokens]])
    first = max(len(start), 1)
    with torch.no_grad():
        logits = model(input_ids=ids, use_cache=False).logits[0, first - 1 : -1]
    logp = logits.double().log_softmax(-1)
    own = logp.gather(1, ids[0, first:, None])
    likelier = (logp > own + 1e-5).sum(-1)
    as_likely = (logp > own - 1e-5).sum(-1)
    # without itself
    return likelier.numpy(), as_likely.numpy() - 1


@pytest.fixture(scope="module", params=tiny_models.KINDS)
def model(request, tiny_model):
    return tiny_model(request.param)


@settings(max_examples=15, deadline=None, suppress_health_check=list(HealthCheck))
@given(
    texts=st.lists(st.lists(st.integers(0, 299), max_size=40), min_size=1, max_size=12),
    start=st.sampled_from([(), (0,), (1, 2)]),
    batch_tokens=st.sampled_from([1, 33, 100, 10_000]),
)
def test_equal_to_the_oracle_in_any_batch_and_order(model, texts, start, batch_tokens):
    check(model, texts, start, batch_tokens)


def test_more_positions_than_a_chunk(model):
    generator = np.random.default_rng(0)
    texts = [
        generator.integers(0, 300, size).tolist() for size in (127, 100, 120, 90, 127)
    ]
    check(model, texts, (0,), 10_000)


def test_fewer_statistics_are_the_first_of_all(model):
    window = requests_of([[5, 6, 7, 8], [9, 10]])
    engine = Engine(model, "tiny", 100)
    most = engine.statistics(window, PromptPrefix((0,)), statistics="top40")
    five = engine.statistics(window, PromptPrefix((0,)), statistics="full")
    least = engine.statistics(window, PromptPrefix((0,)), statistics="logprobs")
    for place in range(len(window)):
        np.testing.assert_array_equal(five[place], most[place][:5])
        np.testing.assert_array_equal(least[place], most[place][:1])


SMALL = tiny_models.SIZES | {
    "vocab_size": 320,
    "num_key_value_heads": 2,
    "intermediate_size": 64,
}
OTHERS = {
    "Phi": {},  # a bias in the head
    "Mistral": {"sliding_window": 5},
    "Gemma2": {"head_dim": 8, "final_logit_softcapping": 0.5, "sliding_window": 5},
    "Granite": {"logits_scaling": 4.0},
    "Mamba": {},
    "GPT2": {},
}


@pytest.mark.parametrize("name", OTHERS)
def test_other_ways_from_hidden_states_to_logits(name):
    torch.manual_seed(0)
    config = getattr(transformers, f"{name}Config")(**SMALL | OTHERS[name])
    model = transformers.AutoModelForCausalLM.from_config(config).eval()
    with torch.no_grad():
        for parameter in model.parameters():
            parameter.add_(0.2 * torch.randn_like(parameter))
    assert Engine(model, "tiny", 60).features.has_separate_head
    generator = np.random.default_rng(0)
    texts = [
        generator.integers(0, 300, size).tolist() for size in (30, 1, 12, 25, 7, 7, 2)
    ]
    check(model, texts, (0,), 60)
    check(model, texts, (), 60)


def test_reductions_are_float32_whatever_the_dtype_of_the_logits():
    torch.manual_seed(0)
    logits = (torch.randn(20, 5000) * 4).bfloat16()
    targets = torch.randint(0, 5000, (20,))
    out = torch.empty(6, 20)
    Reduction(5000, logits.device)(logits, targets, out)
    expected = of_predictions(logits.double().log_softmax(-1), targets)
    torch.testing.assert_close(out.double(), expected, atol=1e-5, rtol=0)


@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float16])
def test_logits_of_narrow_weights_are_not_rounded(dtype):
    """Rounded to bfloat16, these log-probabilities are off by 0.02 nats, and some ranks
    by hundreds."""
    torch.manual_seed(0)
    hidden = torch.randn(30, 64).to(dtype)
    weight = torch.randn(5000, 64).to(dtype)
    bias = torch.randn(5000).to(dtype)
    targets = torch.randint(0, 5000, (30,))
    precision = torch.backends.mkldnn.matmul.fp32_precision
    computed = OutputHead(weight, bias).statistics(hidden, targets, "top40")
    logits = hidden.double() @ weight.double().t() + bias.double()
    expected = of_predictions(logits.log_softmax(-1), targets)
    torch.testing.assert_close(computed.double()[:4], expected[:4], atol=1e-4, rtol=0)
    torch.testing.assert_close(computed.double()[4:], expected[4:], atol=1, rtol=0)
    assert torch.backends.mkldnn.matmul.fp32_precision == precision


@pytest.mark.parametrize("bias", [False, True])
def test_slices_of_the_vocabulary_give_what_whole_rows_give(bias):
    """Also where tokens of several slices tie with the target, and more than 40 are the
    likeliest."""
    torch.manual_seed(0)
    hidden = torch.randn(150, 64).bfloat16()
    weight = torch.randn(5000, 64).bfloat16()
    weight[torch.randperm(5000)[:300]] = weight[7].clone()
    shift = torch.randn(5000).bfloat16()
    shift[(weight == weight[7]).all(1)] = 0.5
    targets = torch.randint(0, 5000, (150,))
    targets[::3] = 7
    hidden[1::3] = 3 * weight[7]
    head = OutputHead(weight, shift if bias else None)
    for statistics in TOKEN_STATISTICS:
        in_slices = head.statistics(hidden, targets, statistics)
        whole = torch.empty_like(in_slices)
        for start in range(0, 150, 50):
            part = slice(start, start + 50)
            head._whole(hidden[part], targets[part], whole[:, part])
        torch.testing.assert_close(in_slices, whole, atol=2e-5, rtol=0)
        if statistics == "top40":
            logits = hidden.double() @ weight.double().t()
            if bias:
                logits += shift.double()
            expected = of_predictions(logits.log_softmax(-1), targets)
            likeliest = in_slices[5].double()
            torch.testing.assert_close(likeliest, expected[5], atol=1e-4, rtol=0)
            own = logits.gather(1, targets[:, None])
            assert torch.equal(in_slices[RANKS], (logits > own).sum(-1).float())


def test_tokens_that_tie_with_the_40th_count_among_the_likeliest_and_have_one_rank():
    logits = torch.zeros(1, 64).repeat(2, 1)
    logits[:, :30] = 3.0
    out = torch.empty(6, 2)
    Reduction(64, logits.device)(logits, torch.tensor([7, 50]), out)
    assert out[4].tolist() == [0, 30]
    # all 34 others tie with the 40th
    assert out[5].tolist() == pytest.approx([0, 0], abs=1e-6)


def test_a_certain_prediction_has_no_negative_variance():
    logits = torch.full((3, 64), -80.0)
    logits[:, 7] = 30.0
    out = torch.empty(6, 3)
    Reduction(64, logits.device)(logits, torch.tensor([7, 7, 8]), out)
    assert torch.isfinite(out).all()
    assert (out[1:3] >= 0).all()
    assert out[0].tolist() == [0.0, 0.0, -110.0]
    expected = [[0, 0, 0], [0, 0, 1], [0, 0, 0]]
    assert out[3:].tolist() == expected
