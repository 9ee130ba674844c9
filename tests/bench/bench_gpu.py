"""What passes, shots, questions and generation take on this machine's GPU, the first
time and the second.

python tests/bench/bench_gpu.py [--shape 7b] [--out gpu.json]
python tests/bench/bench_gpu.py --device cpu --shape tiny

Makes a LLaMA of the shape with random weights on the device and fetches nothing. A job
reads each shape of a batch once, so the first time of each row counts for a study; the
second is what the device can do. Prints a table and README's sentence, and writes the
rows as JSON. `compare_machines.py ONE.json OTHER.json` puts two of them side by side.
"""

import argparse
import datetime
import json
import time
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from itertools import permutations
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import torch
import transformers
from bench_pass import RecordedBatches, bare, one_at_a_time, texts

from pretrace.models.devices import torch_settings
from pretrace.models.generation import generate
from pretrace.passes.engine import Engine
from pretrace.passes.features import Features
from pretrace.passes.prompt_prefix import PromptPrefix
from pretrace.passes.requests import BATCH_TOKENS, Request
from pretrace.questions.prompt_tree import Reader
from pretrace.runtime.provenance import processor


@dataclass(frozen=True)
class Shape:
    """A LLaMA, and how much of the work it is given: a smaller one has fewer texts."""

    width: int
    inner: int
    layers: int
    heads: int
    key_heads: int
    vocabulary: int
    texts: int = 776
    few: int = 64
    questions: int = 8
    written: int = 64


SHAPES = {
    "tiny": Shape(64, 128, 2, 4, 2, 2000, texts=24, few=4, questions=1, written=4),
    "160m": Shape(768, 3072, 12, 12, 12, 50304),
    "1b": Shape(2048, 5632, 22, 32, 4, 32000),
    "7b": Shape(4096, 11008, 32, 32, 32, 32000),
    "30b": Shape(6656, 17920, 60, 52, 52, 32000),
}
START = PromptPrefix((1,))
TEXT_TOKENS = 46  # of WikiMIA's texts of 32 words
SHOTS = 10
BUDGETS = (2048, 8192, 32768)
OPTION_TOKENS = 85  # of DE-COP's passages of 64 words
HEADER_TOKENS = 60


@dataclass(frozen=True)
class Row:
    """What was done, how long it took, how many tokens were scored, read or written,
    and the peak of the GPU's memory.

    Without tokens there is no speed. `of_bare`: share of the bare forward's speed;
    `mfu`: share of the operations a second of one large product.
    """

    shape: str
    what: str
    seconds: float
    tokens: int
    tokens_per_second: float | None
    of_bare: float | None
    mfu: float | None
    peak_gb: float | None


def made(shape: Shape, device: str, dtype: torch.dtype) -> Any:
    """Make the model on the device, with random weights."""
    config = transformers.LlamaConfig(
        hidden_size=shape.width,
        intermediate_size=shape.inner,
        num_hidden_layers=shape.layers,
        num_attention_heads=shape.heads,
        num_key_value_heads=shape.key_heads,
        vocab_size=shape.vocabulary,
        max_position_embeddings=4096,
        bos_token_id=1,
        eos_token_id=2,
    )
    with torch.device(device):
        return transformers.AutoModelForCausalLM.from_config(config, dtype=dtype).eval()


def peak_operations(device: str, dtype: torch.dtype) -> float:
    """Measure the operations a second of one large product of matrices."""
    size = 8192 if device == "cuda" else 512
    left, right = torch.randn(2, size, size, device=device).to(dtype).unbind()
    times = []
    for _ in range(4):
        begin = time.perf_counter()
        left @ right
        synchronise()
        times.append(time.perf_counter() - begin)
    return 2 * size**3 / min(times)


def synchronise() -> None:
    if torch.cuda.is_available():
        torch.cuda.synchronize()


class Bench:
    """One model, and the rows that were measured of it."""

    def __init__(self, name: str, device: str) -> None:
        self.name, self.device, self.shape = name, device, SHAPES[name]
        dtype = torch.bfloat16 if device == "cuda" else torch.float32
        self.peak = peak_operations(device, dtype)
        self.model = made(self.shape, device, dtype)
        weights = sum(weight.numel() for weight in self.model.parameters())
        # looking an embedding up takes no product
        self.weights = weights - self.model.get_input_embeddings().weight.numel()
        self.window = texts(self.shape.texts, TEXT_TOKENS, self.shape.vocabulary)
        self.drawn = np.random.default_rng(1)
        self.bare_speed: float | None = None
        self.rows: list[Row] = []

    def take(
        self, what: str, tokens: int, way: Callable[[], Any], share: float = 1.0
    ) -> Row:
        """Time `way`, which is done once, on this `share` of the `tokens`."""
        on_gpu = self.device == "cuda"
        if on_gpu:
            torch.cuda.reset_peak_memory_stats()
        synchronise()
        begin = time.perf_counter()
        way()
        synchronise()
        seconds = (time.perf_counter() - begin) / share
        peak_gb = torch.cuda.max_memory_allocated() / 1e9 if on_gpu else None
        speed = of_bare = mfu = None
        if tokens:
            speed = tokens / seconds
            of_bare = speed / self.bare_speed if self.bare_speed else None
            mfu = 2 * self.weights * speed / self.peak
        row = Row(self.name, what, seconds, tokens, speed, of_bare, mfu, peak_gb)
        self.rows.append(row)
        print(line_of(row), flush=True)
        return row

    def twice(self, what: str, tokens: int, way: Callable[[], Any]) -> None:
        for when in ("first", "second"):
            self.take(f"{what}, {when} time", tokens, way)

    def run(self, budgets: Sequence[int]) -> None:
        budget = BATCH_TOKENS.get(self.device, budgets[0])
        tokens = tokens_of(self.window)
        recorded = RecordedBatches(self.model, self.name, budget)
        engine = Engine(self.model, self.name, budget)
        self.twice("pass, full statistics", tokens, self._pass(engine, START, "full"))
        recorded.statistics(self.window, START, statistics="logprobs")
        bare(self.model, recorded.inputs)
        row = self.take(
            "bare forward, logits alone",
            tokens,
            lambda: bare(self.model, recorded.inputs),
        )
        self.bare_speed = row.tokens_per_second
        for statistics in ("logprobs", "full", "top40"):
            self.take(
                f"pass, {statistics}", tokens, self._pass(engine, START, statistics)
            )
        few = self.window[: self.shape.few]
        share = tokens_of(few) / tokens
        self.take(
            "one text at a time",
            tokens,
            lambda: one_at_a_time(self.model, few, 1),
            share,
        )
        self._shots(engine, tokens)
        for other in budgets:
            resized = Engine(self.model, self.name, other)
            self.twice(
                f"pass, batches of {other} tokens",
                tokens,
                self._pass(resized, START, "full"),
            )
        self._questions(budget)
        self._generation()

    def _pass(
        self, engine: Engine, prefix: PromptPrefix, statistics: str
    ) -> Callable[[], Any]:
        return lambda: engine.statistics(self.window, prefix, statistics=statistics)

    def _shots(self, engine: Engine, tokens: int) -> None:
        shots = tuple(self._ids(TEXT_TOKENS) for _ in range(SHOTS))
        seven = PromptPrefix((1,), shots[:7])
        self.take("check of the prefix's way", 0, lambda: engine.sharing)
        self.twice("pass after 7 shots", tokens, self._pass(engine, seven, "logprobs"))

        def sweep() -> None:
            for count in range(SHOTS, 0, -1):
                prefix = PromptPrefix((1,), shots[:count])
                engine.statistics(self.window, prefix, statistics="logprobs")

        self.take("passes after 10 to 1 shots", SHOTS * tokens, sweep)

    def _questions(self, budget: int) -> None:
        """DE-COP's 24 orders of four options after a header, for several questions;
        tokens that were read."""
        reader = Reader(Features(self.model), self.name, budget)
        asked = []
        for _ in range(self.shape.questions):
            header = self._ids(HEADER_TOKENS)
            options = [self._ids(OPTION_TOKENS) for _ in range(4)]
            asked.append([sum(order, header) for order in permutations(options)])

        def ask() -> None:
            with torch.inference_mode():
                for prompts in asked:
                    root, past = reader.tree(prompts, 0)
                    for _ in reader.answers(root, lambda features: features, past):
                        pass

        ask()
        read = reader.read
        self.take("questions, tokens read", read, ask)

    def _generation(self) -> None:
        """Greedy continuations of as many tokens as are written, of prompts that are
        one batch."""
        prompts = [self._ids(TEXT_TOKENS) for _ in range(self.shape.few)]
        self.model.generation_config.eos_token_id = None
        tokenizer = SimpleNamespace(pad_token_id=0)
        written = self.shape.written

        def write() -> None:
            generate(self.model, tokenizer, prompts, written)

        self.twice("generation, tokens written", len(prompts) * written, write)

    def _ids(self, count: int) -> tuple[int, ...]:
        ids: list[int] = self.drawn.integers(3, self.shape.vocabulary, count).tolist()
        return tuple(ids)


def tokens_of(window: Sequence[Request]) -> int:
    return sum(len(request.tokens) for request in window)


def line_of(row: Row) -> str:
    speed = (
        ""
        if row.tokens_per_second is None
        else f" {row.tokens_per_second:9,.0f} tokens/s, MFU {row.mfu:.2f}"
    )
    share = "" if row.of_bare is None else f", {row.of_bare:.2f} of the bare forward"
    memory = "" if row.peak_gb is None else f", peak {row.peak_gb:.1f} GB"
    return f"{row.shape:5} {row.what:46} {row.seconds:8.3f} s{speed}{share}{memory}"


def machine(device: str) -> dict[str, str]:
    """Return what a reader must know of where the rows come from."""
    card = torch.cuda.get_device_name() if device == "cuda" else processor()
    return {
        "card": card,
        "torch": torch.__version__,
        "transformers": transformers.__version__,
        "date": datetime.date.today().isoformat(),
    }


def sentence(rows: Sequence[Row], about: dict[str, str]) -> str:
    """Write README's sentence about a machine."""
    seconds = {row.what: row.seconds for row in rows}
    recall = (
        seconds["pass, full statistics, first time"]
        + seconds["pass after 7 shots, first time"]
    )
    alone = seconds["one text at a time"]
    return (
        f"On an {about['card']} (torch {about['torch']}, transformers "
        f"{about['transformers']}, {about['date']}) the {rows[0].shape} shape reads "
        f"{rows[0].tokens:,} tokens in {seconds['pass, full']:.2f} s ({alone:.1f} one "
        f"text at a time), ReCall's two passes take {recall:.2f} s the first time."
    )


def main(arguments: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n")[0])
    parser.add_argument("--shape", choices=SHAPES, nargs="+", default=["7b"])
    parser.add_argument("--device", choices=["cuda", "cpu"], default="cuda")
    parser.add_argument(
        "--budgets", type=int, nargs="+", default=BUDGETS, help="tokens of a batch"
    )
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--out", type=Path, help="a file of JSON")
    options = parser.parse_args(arguments)
    if options.device == "cuda" and not torch.cuda.is_available():
        parser.error(
            "torch finds no GPU here; --device cpu --shape tiny only shows that the "
            "bench runs"
        )
    about = machine(options.device)
    rows: list[Row] = []
    with torch_settings(options.threads):
        for name in options.shape:
            bench = Bench(name, options.device)
            bench.run(options.budgets)
            rows += bench.rows
            print(sentence(bench.rows, about), flush=True)
            del bench
            if options.device == "cuda":
                torch.cuda.empty_cache()
    if options.out:
        written = {"machine": about, "rows": [asdict(row) for row in rows]}
        options.out.write_text(json.dumps(written, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
