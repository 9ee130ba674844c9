"""On one GPU and on two, simulated, passes and questions give what the CPU gives, and do not wait for the GPU."""

import copy
from dataclasses import replace
from functools import cache
from itertools import permutations

import numpy as np
import pytest
import torch
from made_up_jobs import target_of

from pretrace.passes import sharing
from pretrace.passes.engine import Engine
from pretrace.passes.features import Features
from pretrace.passes.memory import is_out_of_memory
from pretrace.passes.prompt_prefix import PromptPrefix
from pretrace.passes.requests import Request
from pretrace.passes.sharing import SharedCache, SteppedState
from pretrace.passes.statistics import Head
from pretrace.questions import tree
from pretrace.questions.answering import LETTERS, Prompt
from pretrace.questions.local import LocalAnswerer
from pretrace.questions.tree import Reader
from pretrace.runtime.errors import InputError
from simulated_gpu import SimulatedGPUs, spread

TOLERANCE = {"atol": 2e-5, "rtol": 0}
# of config/models.yaml, but for Baichuan's, whose code is its own; and kinds that differ from them where devices matter
KINDS = ("gpt_neox", "llama", "opt", "gpt_neo", "qwen2", "olmo", "mistral", "mixtral", "mamba", "gemma2")
QUICK = (("gpt_neox", 1), ("gpt_neox", 2), ("mamba", 1))
# a batch; all but one are in transformers' code: of the positions for each kind of layer, and in each layer of GPT-Neo
WAITS = {"gemma2": 3, "gpt_neo": 100}
STEPPED = ("mamba",)
BUDGET = 60
GENERATOR = np.random.default_rng(0)
PROMPT_PREFIXES = {
    "plain": PromptPrefix((0,)),
    "prefix": PromptPrefix((0,), tuple(tuple(GENERATOR.integers(4, 300, size).tolist()) for size in (17, 6))),
}
WINDOW = [
    Request(f"t{size}", 0, GENERATOR.integers(4, 300, size).astype(np.int32), size)
    for size in (15, 9, 1, 11, 14)
]
OPTIONS = ("the state of the union", "a number of tokens", "people of Congress", "what it has seen")
PROMPTS = [
    Prompt("Which?" + "".join(f"\n{a}. {OPTIONS[at]}" for a, at in zip(LETTERS, order, strict=True)) + "\n:")
    for order in list(permutations(range(4)))[::5]
]


@pytest.fixture(scope="module")
def load(tiny_checkpoint, tiny_model):
    """A kind's target, its model on so many GPUs, each test's own, and what it gives on the CPU; made once."""

    @cache
    def made(kind):
        # what is faster on this CPU is not asked
        model, target = tiny_model(kind), replace(target_of(tiny_checkpoint(kind)), device="cuda")
        passes = {name: Engine(model, kind, BUDGET).statistics(WINDOW, prompt_prefix, statistics="full")
                  for name, prompt_prefix in PROMPT_PREFIXES.items()}  # fmt: skip
        return target, passes, letters(answerer(target, model), kind)

    def of(kind, number=0):
        target, *expected = made(kind)
        model = copy.deepcopy(tiny_model(kind))
        return target, spread(model, number) if number else model, *expected

    return of


@pytest.fixture(autouse=True)
def short_branches(monkeypatch):
    """So that the short prompts of tiny models share what they begin with."""
    monkeypatch.setattr(tree, "WORTH", 2)


@pytest.fixture
def gpus():
    with SimulatedGPUs() as machine:
        yield machine


def answerer(target, model):
    made = LocalAnswerer(target, "tiny", BUDGET)
    made._model = model
    return made


def letters(made, kind):
    """Of the first token and, where a tree goes on, of the one after it."""
    counts = (0,) if kind in STEPPED else (0, 1)
    asked = [[replace(prompt, written=count) for prompt in PROMPTS] for count in counts]
    return [one.probabilities for prompts in asked for one in made.letters(prompts, lambda _: None)]


def same(computed, expected):
    for values, others in zip(computed, expected, strict=True):
        np.testing.assert_allclose(values, others, **TOLERANCE)


def test_a_gpu_keeps_the_sums_of_narrow_weights_in_float32(gpus):
    torch.manual_seed(0)
    hidden, weight = torch.randn(9, 32).bfloat16(), torch.randn(320, 32).bfloat16()
    targets = torch.arange(9)
    expected = Head(weight, None).statistics(hidden, targets, "full")
    computed = Head(weight.to("cuda:0"), None).statistics(hidden.to("cuda:0"), targets, "full")
    np.testing.assert_allclose(computed.cpu(), expected, **TOLERANCE)


@pytest.mark.parametrize(
    ("kind", "number"),
    [
        (kind, number) if (kind, number) in QUICK else pytest.param(kind, number, marks=pytest.mark.full)
        for kind in KINDS
        for number in (1, 2)
    ],
)
def test_gpus_give_what_the_cpu_gives_and_wait_twice_a_batch_at_most(load, gpus, kind, number):
    target, model, passes, asked = load(kind, number)
    engine, batches = Engine(model, kind, BUDGET), []
    assert engine.features.gpus == number
    for name, prompt_prefix in PROMPT_PREFIXES.items():
        engine.statistics(WINDOW[:1], prompt_prefix, statistics="full")
        batches.clear()
        gpus.waits = 0
        same(
            engine.statistics(
                WINDOW, prompt_prefix, statistics="full", progress=lambda *done: batches.append(done)
            ),
            passes[name],
        )
        assert gpus.waits <= WAITS.get(kind, 2) * (len(batches) - 1), (
            "the first progress is of what needs no batch"
        )
    assert engine._sharing is (SteppedState if kind in STEPPED else SharedCache)
    assert engine.batch_tokens == BUDGET

    made = answerer(target, model)
    same(letters(made, kind), asked)
    gpus.waits = 0
    made.letters(PROMPTS, lambda _: None)
    assert gpus.waits <= 1 or kind == "gpt_neo", "letters are brought from the GPU together"


def test_the_tokens_that_prompts_go_on_with_are_brought_together(load, gpus):
    _, model, *_ = load("llama", 1)
    prompts = [tuple(request.tokens.tolist()) for request in WINDOW]
    with torch.inference_mode():
        reader = Reader(Features(model), "tiny", 200)
        root = reader.tree(prompts, 2)
        gpus.waits = 0
        assert len(list(reader.answers(root, lambda read: read[:3] * 1))) == len(prompts)
    assert gpus.waits <= 1 + len(prompts), "of the first token; then each goes on by itself"


def test_batches_are_started_before_the_first_is_collected(load, gpus, monkeypatch):
    """Else of a model's GPUs, each with some of its layers, one works at a time."""
    _, model, passes, _ = load("llama", 2)
    engine, told = Engine(model, "tiny", 15), []
    run, arrays = engine._run, engine._arrays
    monkeypatch.setattr(engine, "_run", lambda *given: told.append("started") or run(*given))
    monkeypatch.setattr(engine, "_arrays", lambda *given: told.append("collected") or arrays(*given))
    same(engine.statistics(WINDOW, PROMPT_PREFIXES["plain"], statistics="full"), passes["plain"])
    assert told[:5] == ["started", "started", "started", "collected", "started"]
    assert sorted(told) == ["collected"] * 5 + ["started"] * 5


def operations(gpus, compute):
    before = gpus.operations
    compute()
    return gpus.operations - before


def points(probe, total):
    """Three operations of the probe that says how a prefix is shared, and five of all."""
    return sorted({probe // 4, probe // 2, probe - 1, *np.linspace(1, total, 5).astype(int).tolist()})


def test_memory_that_does_not_suffice_anywhere_halves_the_budget_of_a_pass(load, gpus):
    _, model, passes, _ = load("llama", 1)

    def attempted(full):
        engine = Engine(model, "tiny", 200)
        gpus.full = {gpus.operations + at for at in full}
        before = gpus.operations
        same(engine.statistics(WINDOW, PROMPT_PREFIXES["prefix"], statistics="full"), passes["prefix"])
        assert engine._sharing is SharedCache
        return engine.batch_tokens, gpus.operations - before

    budget, total = attempted(())
    assert budget == 200
    probed = Engine(model, "tiny", 200)
    for at in points(operations(gpus, lambda: probed._sharing), total):
        assert attempted([at])[0] <= 100


def test_memory_that_does_not_suffice_anywhere_halves_the_budget_of_questions(load, gpus):
    """Here no branch is read alone."""
    _, model, *_ = load("llama", 1)
    features = Features(model)
    options = [request.tokens.tolist() for request in WINDOW if len(request.tokens) > 9]
    prompts = [sum(map(tuple, order), ()) for order in permutations(options)]

    def attempted(full):
        reader, found = Reader(features, "tiny", 200), [None] * len(prompts)
        gpus.full = {gpus.operations + at for at in full}
        before = gpus.operations
        with torch.inference_mode():
            for places, numbers in reader.answers(reader.tree(prompts, 0), lambda read: read[:3] * 1):
                for place in places:
                    found[place] = numbers.tolist()
        return reader.batch_tokens, gpus.operations - before, found

    budget, total, expected = attempted(())
    assert budget == 200
    with torch.inference_mode():
        probe = operations(gpus, lambda: Reader(features, "tiny", 200)._shares)
    for at in points(probe, total):
        budget, _, found = attempted([at])
        assert budget <= 100
        same(found, expected)


def test_a_probe_that_never_has_memory_is_an_error_that_says_what_to_do(load, gpus, monkeypatch):
    def full(*_):
        raise RuntimeError("CUDA error: CUBLAS_STATUS_ALLOC_FAILED when calling `cublasCreate(handle)`")

    target, model, *_ = load("llama", 1)
    monkeypatch.setattr(SharedCache, "__init__", full)
    with pytest.raises(InputError, match="does not fit into memory; set max_length"):
        Engine(model, "tiny", 200).statistics(WINDOW, PROMPT_PREFIXES["prefix"], statistics="full")
    with pytest.raises(InputError, match="do not fit into memory; set max_length"):
        answerer(target, model).letters(PROMPTS, lambda _: None)


def test_a_probe_that_mixes_devices_is_an_error_and_no_slow_way(load, gpus, monkeypatch):
    _, model, *_ = load("llama", 1)
    monkeypatch.setattr(sharing, "_after", lambda shared, own: torch.cat([shared.cpu(), own], dim=-2))
    with pytest.raises(RuntimeError, match="same device"):
        Engine(model, "tiny", BUDGET).statistics(WINDOW, PROMPT_PREFIXES["prefix"], statistics="full")


def test_what_a_model_says_that_shares_no_prefix_is_logged_once(load, caplog, monkeypatch):
    def refused(*_):
        raise TypeError("no such cache")

    _, model, passes, _ = load("llama")
    monkeypatch.setattr(SharedCache, "__init__", refused)
    monkeypatch.setattr(SteppedState, "__init__", refused)
    with caplog.at_level("INFO", logger="pretrace"):
        same(
            Engine(model, "tiny", 15).statistics(WINDOW, PROMPT_PREFIXES["prefix"], statistics="full"),
            passes["prefix"],
        )
    assert caplog.text.count("not shared by its keys and values (TypeError: no such cache)") == 1


@pytest.mark.parametrize(
    ("error", "lacks"),
    [
        (torch.OutOfMemoryError("CUDA out of memory."), True),
        (RuntimeError("CUDA error: CUBLAS_STATUS_ALLOC_FAILED when calling `cublasCreate(handle)`"), True),
        (
            RuntimeError("[enforce fail at alloc_cpu.cpp:124] DefaultCPUAllocator: can't allocate memory"),
            True,
        ),
        (MemoryError(), True),
        (RuntimeError("CUDA error: device-side assert triggered"), False),
    ],
)
def test_out_of_memory_is_told_from_other_errors(error, lacks):
    assert is_out_of_memory(error) == lacks


def test_the_simulation_refuses_what_cuda_refuses_and_counts_waits(gpus):
    here = torch.arange(6.0)
    first, second = here.to("cuda:0"), here.to("cuda:1")
    with pytest.raises(RuntimeError, match=r"same device.*cuda:0 and cuda:1"):
        first + second
    with pytest.raises(RuntimeError, match=r"same device.*cuda:0 and cpu"):
        torch.cat([first, here])
    with pytest.raises(RuntimeError, match="same device"):
        first.index_select(0, torch.tensor([1], device="cuda:1"))
    with pytest.raises(TypeError, match="cuda:0 device type tensor to numpy"):
        first.numpy()
    assert (first[torch.tensor([1])] * torch.tensor(2.0)).device == torch.device("cuda", 0)
    gpus.waits = 0
    assert here.to("cuda:0", non_blocking=True).to("cuda:1").sum().device == torch.device("cuda", 1)
    assert gpus.waits == 0
    assert (float(first.sum()), first.tolist(), first.cpu().numpy().sum()) == (15, here.tolist(), 15)
    assert gpus.waits == 3
