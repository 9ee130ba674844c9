"""On one GPU and on two, simulated, passes and questions give what the CPU gives, also
where memory runs out."""

import copy
from dataclasses import replace
from itertools import permutations

import numpy as np
import pytest
import torch
from made_up_jobs import target_of
from made_up_questions import answerer_on, letters_of

import tiny_models
from pretrace.models.checkpoint import register_local
from pretrace.models.target import load_checkpoint
from pretrace.passes import attention, cost, sharing
from pretrace.passes.attention import SHARED_PREFIX
from pretrace.passes.engine import Engine
from pretrace.passes.features import Features
from pretrace.passes.memory import is_out_of_memory
from pretrace.passes.prompt_prefix import PromptPrefix
from pretrace.passes.requests import Request
from pretrace.passes.sharing import SharedCache, SteppedState
from pretrace.passes.statistics import OutputHead, chunk_rows
from pretrace.questions.answering import OPTION_LETTERS, Prompt
from pretrace.questions.prompt_tree import Reader
from pretrace.runtime.errors import InputError
from simulated_gpu import SimulatedGPUs, spread

TOLERANCE = {"atol": 2e-5, "rtol": 0}
# of config/models.yaml, but for Baichuan's, whose code is its own; and kinds that
# differ from them where devices matter
KINDS = (
    "gpt_neox",
    "llama",
    "opt",
    "gpt_neo",
    "qwen2",
    "olmo",
    "mistral",
    "mixtral",
    "mamba",
    "gemma2",
)
QUICK = (("gpt_neox", 1), ("gpt_neox", 2), ("mamba", 1))
BUDGET = 60
GENERATOR = np.random.default_rng(0)
PLAIN = PromptPrefix((0,))
PREFIX = PromptPrefix(
    (0,), tuple(tuple(GENERATOR.integers(4, 300, size).tolist()) for size in (17, 6))
)
WINDOW = [
    Request(f"t{size}", 0, GENERATOR.integers(4, 300, size).astype(np.int32), size)
    for size in (15, 9, 1, 11, 14)
]
OPTIONS = (
    "the state of the union",
    "a number of tokens",
    "people of Congress",
    "what it has seen",
)
PROMPTS = [
    Prompt(
        "Which?"
        + "".join(
            f"\n{a}. {OPTIONS[i]}" for a, i in zip(OPTION_LETTERS, order, strict=True)
        )
        + "\n:"
    )
    for order in list(permutations(range(4)))[::5]
]


pytestmark = pytest.mark.usefixtures("short_branches")


@pytest.fixture
def gpus():
    with SimulatedGPUs() as machine:
        yield machine


@pytest.fixture
def on_gpu(tiny_model):
    """Gives a kind's model on so many GPUs, each test its own."""
    return lambda kind="llama", number=1: spread(
        copy.deepcopy(tiny_model(kind)), number
    )


def passes(engine, prompt_prefix):
    return engine.statistics(WINDOW, prompt_prefix, statistics="full")


def letters(target, model, folder, counts=(0, 1)):
    """Of the first token and, where a tree goes on, of the one after it."""
    # what is faster on a CPU is not asked
    answerer = answerer_on(replace(target, device="cuda"), folder, BUDGET)
    answerer._model = model
    prompts = [
        [replace(prompt, written=count) for prompt in PROMPTS] for count in counts
    ]
    probabilities = []
    for part in prompts:
        for answer in letters_of(answerer, part):
            probabilities.append(answer.probabilities)
    return probabilities


def same(computed, expected):
    for values, others in zip(computed, expected, strict=True):
        np.testing.assert_allclose(values, others, **TOLERANCE)


def test_a_gpu_keeps_the_sums_of_narrow_weights_in_float32(gpus):
    torch.manual_seed(0)
    hidden = torch.randn(9, 32).bfloat16()
    weight = torch.randn(320, 32).bfloat16()
    targets = torch.arange(9)
    expected = OutputHead(weight, None).statistics(hidden, targets, "full")
    computed = OutputHead(weight.to("cuda:0"), None).statistics(
        hidden.to("cuda:0"), targets, "full"
    )
    np.testing.assert_allclose(computed.cpu(), expected, **TOLERANCE)


@pytest.mark.parametrize(
    ("kind", "number"),
    [
        pytest.param(
            kind, number, marks=() if (kind, number) in QUICK else pytest.mark.full
        )
        for kind in KINDS
        for number in (1, 2)
    ],
)
def test_gpus_give_what_the_cpu_gives(
    tiny_checkpoint, tiny_model, on_gpu, tmp_path, kind, number
):
    here = tiny_model(kind)
    target = target_of(tiny_checkpoint(kind))
    counts = (0,) if kind == "mamba" else (0, 1)
    expected = []
    for prompt_prefix in (PLAIN, PREFIX):
        expected.append(passes(Engine(here, kind, BUDGET), prompt_prefix))
    expected_letters = letters(target, here, tmp_path / "cpu", counts)
    with SimulatedGPUs():
        model = on_gpu(kind, number)
        engine = Engine(model, kind, BUDGET)
        assert engine.features.gpus == number
        for prompt_prefix, values in zip((PLAIN, PREFIX), expected, strict=True):
            same(passes(engine, prompt_prefix), values)
        assert engine.sharing is (SteppedState if kind == "mamba" else SharedCache)
        assert engine.batch_tokens == BUDGET
        same(letters(target, model, tmp_path / "gpu", counts), expected_letters)


def copies_of(monkeypatch):
    """The shapes of prefixes that are copied for a batch on a GPU."""
    shapes = []

    def watched(shared, own, copied=attention.copied_ahead):
        if shared.device.type == "cuda":
            shapes.append(shared.shape)
        return copied(shared, own)

    for module in (attention, sharing):
        monkeypatch.setattr(module, "copied_ahead", watched)
    return shapes


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16])
@pytest.mark.parametrize("kind", ["gpt_neox", "qwen2", "mistral"])
def test_a_gpu_copies_a_shared_prefix_for_no_batch(
    tiny_model, gpus, monkeypatch, dtype, kind
):
    """But for windows that are shorter than the prefix."""
    model = copy.deepcopy(tiny_model(kind)).to(dtype)
    expected = passes(Engine(model, kind, BUDGET), PREFIX)
    engine = Engine(spread(model, 1), kind, BUDGET)
    assert engine.sharing is SharedCache
    copies = copies_of(monkeypatch)
    computed = passes(engine, PREFIX)
    assert engine.features.attention == SHARED_PREFIX
    assert bool(copies) == (kind == "mistral")
    off = []
    for values, others in zip(computed, expected, strict=True):
        off.append(np.abs(values[0] - others[0]).mean())
    assert max(off) < (1e-5 if dtype == torch.float32 else 0.2)


def no_such_kernel(*_, **__):
    raise RuntimeError("no kernel image is available for execution on the device")


def wrong_sums(query, key, value, scaling, *, is_causal, kernel=attention._kernel):
    part = kernel(query, key, value, scaling, is_causal=is_causal)
    return replace(
        part, log_sums=part.log_sums + (query.device.type == "cuda" and is_causal)
    )


@pytest.mark.parametrize("kernel", [no_such_kernel, wrong_sums])
def test_a_gpu_whose_kernels_do_not_serve_copies_the_prefix(
    tiny_model, on_gpu, monkeypatch, kernel
):
    expected = passes(Engine(tiny_model("llama"), "llama", BUDGET), PREFIX)
    monkeypatch.setattr(attention, "_kernel", kernel)
    with SimulatedGPUs():
        engine = Engine(on_gpu(), "llama", BUDGET)
        same(passes(engine, PREFIX), expected)
        assert engine.sharing == SharedCache
        assert engine.features.attention == "sdpa"


def a_pass(model):
    engine = Engine(model, "tiny", 200)
    return engine, lambda: passes(engine, PREFIX)


def questions(model):
    """Here no branch is read alone."""
    options = [request.tokens.tolist() for request in WINDOW if len(request.tokens) > 9]
    prompts = [sum(map(tuple, order), ()) for order in permutations(options)]
    reader = Reader(Features(model), "tiny", 200)
    answers = [None] * len(prompts)

    def read():
        with torch.inference_mode():
            root, past = reader.tree(prompts, 0, prompts[0][:3])
            for places, numbers in reader.answers(
                root, lambda read: read[:3] * 1, past
            ):
                for place in places:
                    answers[place] = numbers.tolist()
        return answers

    return reader, read


@pytest.mark.parametrize("work", [a_pass, questions])
def test_memory_that_does_not_suffice_anywhere_halves_the_budget(on_gpu, gpus, work):
    model = on_gpu()
    worker, compute = work(model)
    before = gpus.operations
    expected = compute()
    total = gpus.operations - before
    assert worker.batch_tokens == 200
    for number in sorted({5, 20, 40, *np.linspace(1, total, 5).astype(int).tolist()}):
        worker, compute = work(model)
        gpus.full = {gpus.operations + number}
        same(compute(), expected)
        assert worker.batch_tokens <= 100


def test_a_budget_that_fell_after_one_prefix_is_whole_again_for_other_passes(
    on_gpu, gpus
):
    engine, compute = a_pass(on_gpu())
    compute()
    gpus.full = {gpus.operations + 20}
    compute()
    assert engine.batch_tokens <= 100
    passes(engine, PLAIN)
    assert engine.batch_tokens == 200
    compute()
    assert engine.batch_tokens <= 100


@pytest.mark.parametrize(
    ("method", "says"),
    [
        ("__init__",
         r"tiny: the prefix of 2 shots \(24 tokens, 1\.2e-05 GB\) does not fit into memory; set fewer"),
        ("read",
         r"text 't15' \(15 tokens\) alone does not fit into memory after the prefix of 2 shots \(24 tokens"),
    ],
)  # fmt: skip
def test_a_prefix_that_fills_the_gpu_is_named_with_its_size(
    on_gpu, gpus, monkeypatch, method, says
):
    computed = getattr(SharedCache, method)

    def full(cache, *arguments):
        features = arguments[0] if method == "__init__" else cache._features
        if features.device.type == "cuda":
            raise torch.OutOfMemoryError("CUDA out of memory.")
        return computed(cache, *arguments)

    monkeypatch.setattr(SharedCache, method, full)
    engine = Engine(on_gpu(), "tiny", 200)
    with pytest.raises(InputError, match=says):
        passes(engine, PREFIX)


def test_more_rows_of_the_head_go_together_on_a_gpu_unless_the_vocabulary_is_large():
    rows = {}
    for size in (320, 50_304, 152_064, 512_000):
        rows[size] = chunk_rows(size, torch.device("cuda"))
    assert rows == {320: 1024, 50_304: 1024, 152_064: 441, 512_000: 256}
    assert chunk_rows(320, torch.device("cpu")) == 256


def test_a_probe_that_never_has_memory_is_an_error_that_says_what_to_do(
    tiny_checkpoint, on_gpu, gpus, tmp_path, monkeypatch
):
    def full(*_):
        raise RuntimeError(
            "CUDA error: CUBLAS_STATUS_ALLOC_FAILED when calling `cublasCreate(handle)`"
        )

    model = on_gpu()
    target = target_of(tiny_checkpoint("llama"))
    monkeypatch.setattr(SharedCache, "__init__", full)
    with pytest.raises(InputError, match="does not fit into memory; set max_length"):
        passes(Engine(model, "tiny", 200), PREFIX)
    with pytest.raises(InputError, match="do not fit into memory; set max_length"):
        letters(target, model, tmp_path)


def test_a_probe_that_mixes_devices_is_an_error_and_no_slow_way(
    on_gpu, gpus, monkeypatch
):
    monkeypatch.setattr(sharing, "gpu_reads_apart", lambda *_: False)
    monkeypatch.setattr(
        sharing,
        "copied_ahead",
        lambda shared, own: torch.cat(
            [shared.cpu().expand(len(own), -1, -1, -1), own], dim=-2
        ),
    )
    with pytest.raises(RuntimeError, match="same device"):
        passes(Engine(on_gpu(), "tiny", BUDGET), PREFIX)


@pytest.mark.parametrize(
    ("error", "lacks"),
    [
        (torch.OutOfMemoryError("CUDA out of memory."), True),
        (
            RuntimeError(
                "CUDA error: CUBLAS_STATUS_ALLOC_FAILED when calling "
                "`cublasCreate(handle)`"
            ),
            True,
        ),
        (
            RuntimeError("[enforce fail] DefaultCPUAllocator: can't allocate memory"),
            True,
        ),
        (MemoryError(), True),
        (RuntimeError("CUDA error: device-side assert triggered"), False),
    ],
)
def test_out_of_memory_is_told_from_other_errors(error, lacks):
    assert is_out_of_memory(error) == lacks


@pytest.mark.parametrize("kind", ["llama", "mixtral"])
def test_a_model_too_large_for_its_gpus_is_refused_with_the_remedy(kind, tmp_path):
    folder = tiny_models.tiny_model(kind, tmp_path / kind)
    register_local(folder, tmp_path / "checkpoint.json")
    with SimulatedGPUs(free=10_000):
        target = load_checkpoint(
            tmp_path / "checkpoint.json", dtype="float32", device_map="auto", gpus=2
        )
        with pytest.raises(
            InputError,
            match="does not fit on the GPUs of this job: ask for more of them",
        ):
            target.load()


def test_the_recorded_peak_is_that_of_the_fullest_gpu(monkeypatch):
    used = {0: 2**20, 1: 3 * 2**20}
    monkeypatch.setattr(torch.cuda, "is_initialized", lambda: True)
    monkeypatch.setattr(torch.cuda, "device_count", lambda: len(used))
    monkeypatch.setattr(torch.cuda, "max_memory_allocated", lambda gpu=0: used[gpu])
    assert cost.Cost().record()["peak_gpu_memory_mb"] == 3
