"""How fast a pass is: against the bare forward of the same batches, and against one
text at a time.

python tests/bench/bench_pass.py results/models/smollm2-135m/checkpoint.json [--texts
96] [--repetitions 5]

Prints tokens/s of each way and ratios of wall and CPU time, the best repetitions of
ways that take turns: the pass with full statistics, and with the 40 likeliest tokens,
against `model(x).logits` of the same batches, from which nothing is computed; and
against a loop over texts with softmax, log_softmax and per-text statistics, as public
code has it.
"""

import argparse
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import torch

from pretrace.models.devices import torch_settings
from pretrace.models.target import load_checkpoint
from pretrace.passes.engine import Engine
from pretrace.passes.prompt_prefix import PromptPrefix
from pretrace.passes.requests import Request


def texts(count: int, tokens: int, vocabulary: int) -> list[Request]:
    """Texts of about `tokens` tokens, seeded; which tokens they are does not change the
    cost."""
    generator = np.random.default_rng(0)
    sizes = generator.integers(int(tokens * 0.85), int(tokens * 1.25), count)
    drawn = [generator.integers(0, vocabulary, size).astype(np.int32) for size in sizes]
    return [Request(f"t{number}", 0, ids, len(ids)) for number, ids in enumerate(drawn)]


class RecordedBatches(Engine):
    """The engine, keeping the inputs of its batches, so that the bare forward runs on
    exactly the same."""

    def __init__(self, *arguments: Any) -> None:
        super().__init__(*arguments)
        self.inputs: list[torch.Tensor] = []

    def _forward(self, inputs: np.ndarray, *rest: Any) -> torch.Tensor:
        self.inputs.append(torch.from_numpy(inputs).to(self.features.device))
        return super()._forward(inputs, *rest)


def bare(model: Any, batches: list[torch.Tensor]) -> None:
    with torch.inference_mode():
        for inputs in batches:
            model(input_ids=inputs, use_cache=False).logits  # noqa: B018


def one_at_a_time(
    model: Any, window: list[Request], start: int
) -> list[tuple[np.ndarray, ...]]:
    """Min-K%++'s public loop: both whole softmaxes of one text, then the mean and
    variance over the vocabulary.
    """
    results = []
    with torch.no_grad():
        for text in window:
            ids = torch.tensor([[start, *text.tokens.tolist()]], device=model.device)
            logits = model(ids).logits[0, :-1].float()
            probs = torch.nn.functional.softmax(logits, dim=-1)
            log_probs = torch.nn.functional.log_softmax(logits, dim=-1)
            token_log_probs = log_probs.gather(-1, ids[0, 1:, None]).squeeze(-1)
            mu = (probs * log_probs).sum(-1)
            sigma = (probs * torch.square(log_probs)).sum(-1) - torch.square(mu)
            results.append(
                (token_log_probs.cpu().numpy(), mu.cpu().numpy(), sigma.cpu().numpy())
            )
    return results


class Clock:
    """Best wall and CPU seconds of each way; the ways take turns, because the machine's
    speed drifts."""

    def __init__(self) -> None:
        self.best: dict[str, np.ndarray] = {}

    def take(self, name: str, way: Callable[[], Any]) -> None:
        begin = time.perf_counter(), time.process_time()
        way()
        if torch.cuda.is_available():
            torch.cuda.synchronize()
        took = np.array(
            [time.perf_counter() - begin[0], time.process_time() - begin[1]]
        )
        self.best[name] = np.minimum(self.best.get(name, took), took)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n")[0])
    parser.add_argument("checkpoint", type=Path, help="checkpoint.json")
    parser.add_argument(
        "--tokens",
        type=int,
        default=76,
        help="of a text; 64 English words are about 76",
    )
    for name, count in (
        ("texts", 96),
        ("batch-tokens", 2048),
        ("threads", 2),
        ("repetitions", 5),
    ):
        parser.add_argument(f"--{name}", type=int, default=count)
    for name in ("dtype", "device"):
        parser.add_argument(f"--{name}", default="auto")
    options = parser.parse_args()
    target = load_checkpoint(
        options.checkpoint, dtype=options.dtype, device=options.device
    )
    model = target.load()
    window = texts(options.texts, options.tokens, target.vocabulary)
    recorded = RecordedBatches(model, "bench", options.batch_tokens)
    recorded.statistics(window, PromptPrefix((0,)), statistics="full")
    engine, clock = Engine(model, "bench", options.batch_tokens), Clock()
    tokens = sum(len(text.tokens) for text in window)
    print(f"{target.dtype} on {target.device}: {len(window)} texts, {tokens} tokens")
    ways = {
        "full": lambda: engine.statistics(
            window, PromptPrefix((0,)), statistics="full"
        ),
        "top40": lambda: engine.statistics(
            window, PromptPrefix((0,)), statistics="top40"
        ),
        "bare forward": lambda: bare(model, recorded.inputs),
        "one text at a time": lambda: one_at_a_time(model, window, 0),
    }
    with torch_settings(options.threads):
        for _ in range(options.repetitions):
            for name, way in ways.items():
                clock.take(name, way)
    for name, best in clock.best.items():
        print(
            f"{name:26} {tokens / best[0]:8.0f} tokens/s, {tokens / best[1]:8.0f} "
            "tokens a CPU second"
        )
    for name, against, aim in (
        ("full", "bare forward", "0.99 in float32, 0.94 in bfloat16"),
        ("top40", "bare forward", "0.85"),
        ("full", "one text at a time", "1.2"),
    ):
        ratio = clock.best[against] / clock.best[name]
        print(
            f"{name} against {against}: {ratio[0]:.2f} (CPU {ratio[1]:.2f}; target "
            f"{aim})"
        )


if __name__ == "__main__":
    main()
