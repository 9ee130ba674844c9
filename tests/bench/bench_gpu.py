"""How well a GPU is used: one command, random weights in the shapes of large models, nothing downloaded.

python tests/bench/bench_gpu.py [--models llama-7b pythia-6.9b] [--tiny] [--device cpu]

Prints Markdown tables for RESULTS.md, in about ten minutes on a GPU of 80 GB. For each model and length of text: tokens
a second of the bare forward and of the statistics pass, their ratio, the share of the roofline, how often the CPU waits
in a batch, peak memory; for ReCall (one prefix) and Con-ReCall (two) with 3 and 7 shots of that length, seconds a text
with a shared prefix and with the prefix put before every text. Then parity: GPU against CPU, bfloat16 against float32.
The roofline is the device's own: matrix products as fast as a large one, weights read as fast as a large copy,
whichever takes longer in a batch; attention is not counted. `--tiny` has the same models with two narrow layers, to see
the command work on a CPU.
"""

import argparse
import gc
import resource
import time
import warnings
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
import transformers
from bench_pass import RecordedBatches, bare, texts
from bench_prefix import START, shared
from tabulate import tabulate

from pretrace.passes.engine import Engine
from pretrace.passes.prompt_prefix import Ids, PromptPrefix
from pretrace.passes.requests import Request
from pretrace.runtime.provenance import processor

SHOTS = (3, 7)
PREFIXES = {"ReCall": 1, "Con-ReCall": 2}
TINY = (64, 128, 2, 4)


# kind of configuration, then vocabulary, width, inner width, layers and heads
MODELS = {
    "llama-7b": (transformers.LlamaConfig, 32000, 4096, 11008, 32, 32),
    "pythia-6.9b": (transformers.GPTNeoXConfig, 50432, 4096, 16384, 32, 32),
    "llama-13b": (transformers.LlamaConfig, 32000, 5120, 13824, 40, 40),
    "qwen-14b": (transformers.Qwen2Config, 152064, 5120, 13696, 40, 40),
    "llama-30b": (transformers.LlamaConfig, 32000, 6656, 17920, 60, 52),
}


def config_of(name: str, tiny: bool) -> Any:
    """The configuration of a model; `tiny`: with two narrow layers."""
    kind, vocabulary, *shape = MODELS[name]
    width, inner, layers, heads = TINY if tiny else shape
    grouped = {"num_key_value_heads": heads} if kind is transformers.Qwen2Config else {}
    return kind(
        vocab_size=vocabulary,
        hidden_size=width,
        intermediate_size=inner,
        num_hidden_layers=layers,
        num_attention_heads=heads,
        max_position_embeddings=8192,
        **grouped,
    )


class Device:
    """Where it runs: its clock, its memory, and how fast it multiplies and copies."""

    def __init__(self, name: str, dtype: torch.dtype, tiny: bool) -> None:
        self.gpu = name.startswith("cuda")
        self.torch, self.dtype = torch.device(name), dtype
        self.title = torch.cuda.get_device_name(self.torch) if self.gpu else processor()
        side = 256 if tiny else 8192
        square = torch.randn(side, side, device=self.torch).to(dtype)
        self.flops = 2 * side**3 / self.best(lambda: square @ square, 10)
        self.bandwidth = 2 * square.nbytes / self.best(square.clone, 10)

    def seconds(self, compute: Callable[[], Any]) -> float:
        begin = time.perf_counter()
        compute()
        if self.gpu:
            torch.cuda.synchronize(self.torch)
        return time.perf_counter() - begin

    def best(self, compute: Callable[[], Any], repetitions: int) -> float:
        compute()
        return min(self.seconds(compute) for _ in range(repetitions))

    def waits(self, compute: Callable[[], Any]) -> int | None:
        """How often the CPU waited for the GPU; None where there is none."""
        if not self.gpu:
            return None
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            torch.cuda.set_sync_debug_mode("warn")
            compute()
            torch.cuda.set_sync_debug_mode("default")
        return sum("synchroniz" in str(warning.message) for warning in caught)

    def peak_memory(self) -> float:
        """In GB, since the model was made (of the whole process where there is no GPU)."""
        if self.gpu:
            return torch.cuda.max_memory_allocated(self.torch) / 1e9
        return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1e6

    def free(self) -> float:
        return float(torch.cuda.mem_get_info(self.torch)[0]) if self.gpu else np.inf


def weights_of(config: Any) -> int:
    """The number of weights, without making them."""
    with torch.device("meta"):
        return sum(
            weight.numel() for weight in transformers.AutoModelForCausalLM.from_config(config).parameters()
        )


def made(config: Any, device: Device) -> Any:
    torch.manual_seed(0)
    if device.gpu:
        torch.cuda.reset_peak_memory_stats(device.torch)
    with device.torch:
        return transformers.AutoModelForCausalLM.from_config(config, dtype=device.dtype).eval()


def roofline(model: Any, batches: list[torch.Tensor], device: Device) -> float:
    """Seconds that these batches take at least: every weight but the embeddings' multiplies each token."""
    embeddings = model.get_input_embeddings().weight.numel()
    weights = sum(weight.numel() for weight in model.parameters()) - embeddings
    read = weights * model.dtype.itemsize / device.bandwidth
    return sum(max(2 * weights * batch.numel() / device.flops, read) for batch in batches)


def concatenated(engine: Engine, window: list[Request], prefixes: list[tuple[Ids, ...]]) -> None:
    """The passes with the prefix put before every text."""
    for shots in prefixes:
        ids = PromptPrefix(START, shots).ids
        engine.statistics(window, PromptPrefix(ids), statistics="logprobs")


@dataclass(frozen=True)
class Bench:
    """A model on its device; each method gives a row of a table."""

    name: str
    model: Any
    device: Device
    options: argparse.Namespace

    def texts(self, tokens: int, more: int = 0) -> list[Request]:
        count = max(4, self.options.tokens // tokens) + more
        return texts(count, tokens, self.model.config.vocab_size)

    def passes(self, tokens: int) -> dict[str, Any]:
        window, prompt_prefix = self.texts(tokens), PromptPrefix(START)
        recorded = RecordedBatches(self.model, self.name, self.options.batch_tokens)
        recorded.statistics(window, prompt_prefix, statistics="full")
        batches = recorded.inputs
        engine = Engine(self.model, self.name, self.options.batch_tokens)

        def statistics() -> None:
            engine.statistics(window, prompt_prefix, statistics="full")

        took = self.device.best(statistics, self.options.repetitions)
        forward = self.device.best(lambda: bare(self.model, batches), self.options.repetitions)
        waits = self.device.waits(statistics)
        scored = sum(len(text.tokens) for text in window)
        return {
            "model": self.name,
            "tokens a text": tokens,
            "bare forward, tokens/s": round(scored / forward),
            "statistics, tokens/s": round(scored / took),
            "ratio": f"{forward / took:.2f}",
            "of the roofline": f"{roofline(self.model, batches, self.device) / took:.2f}",
            "waits a batch": "" if waits is None else f"{waits / len(batches):.1f}",
            "peak GB": f"{self.device.peak_memory():.1f}",
        }

    def prefixed(self, tokens: int, method: str, shots: int) -> dict[str, Any]:
        drawn = self.texts(tokens, more=2 * shots)
        ids = [tuple(text.tokens.tolist()) for text in drawn[: 2 * shots]]
        prefixes = [tuple(ids[:shots]), tuple(ids[shots:])][: PREFIXES[method]]
        window = drawn[2 * shots :]
        few = window[: max(2, len(window) // (shots + 1))]  # that way reads the prefix once for every text
        engine = Engine(self.model, self.name, self.options.batch_tokens)
        times = self.options.repetitions
        ours = self.device.best(lambda: shared(engine, window, prefixes), times) / len(window)
        theirs = self.device.best(lambda: concatenated(engine, few, prefixes), times) / len(few)
        return {
            "model": self.name,
            "tokens a text": tokens,
            "method": method,
            "shots": shots,
            "shared, s a text": f"{ours:.2g}",
            "before every text, s a text": f"{theirs:.2g}",
            "times as fast": f"{theirs / ours:.1f}",
            "s for 776 texts": f"{776 * ours:.1f}",
        }


def parity(device: Device) -> Iterator[dict[str, Any]]:
    """How far the numbers of a tiny model lie apart, in nats."""
    torch.manual_seed(0)
    model = transformers.AutoModelForCausalLM.from_config(config_of("llama-7b", tiny=True)).eval()
    window = texts(8, 64, 32000)

    def log_probabilities(where: torch.device, dtype: torch.dtype) -> np.ndarray:
        engine = Engine(model.to(where, dtype), "parity", 512)
        return np.concatenate(engine.statistics(window, PromptPrefix(START), statistics="full"), axis=1)[0]

    expected = log_probabilities(torch.device("cpu"), torch.float32)
    for title, dtype in {"float32": torch.float32, "bfloat16": torch.bfloat16}.items():
        apart = np.abs(log_probabilities(device.torch, dtype) - expected)
        yield {
            "compared with float32 on the CPU": f"{title} on {device.title}",
            "mean": f"{apart.mean():.1e}",
            "largest": f"{apart.max():.1e}",
        }


def parsed() -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--models", nargs="+", choices=MODELS, default=list(MODELS))
    parser.add_argument("--device", default="cuda" if torch.cuda.is_available() else "cpu")
    parser.add_argument("--dtype", default="bfloat16", choices=["bfloat16", "float16", "float32"])
    parser.add_argument("--tiny", action="store_true", help="two narrow layers each")
    parser.add_argument("--lengths", type=int, nargs="+", default=[32, 128, 512], help="tokens of a text")
    parser.add_argument("--tokens", type=int, default=8192, help="tokens of texts in each measurement")
    parser.add_argument("--batch-tokens", type=int, default=2048)
    parser.add_argument("--repetitions", type=int, default=3)
    return parser.parse_args()


def main() -> None:
    options = parsed()
    device = Device(options.device, getattr(torch, options.dtype), options.tiny)
    print(
        f"{device.title}, {options.dtype}, torch {torch.__version__}: {device.flops / 1e12:.3g} TFLOP/s in a large "
        f"matrix product, {device.bandwidth / 1e9:.3g} GB/s in a large copy. Best of {options.repetitions}."
    )
    passes, prefixes = [], []
    for name in options.models:
        config = config_of(name, options.tiny)
        size = weights_of(config) * device.dtype.itemsize
        if size > 0.9 * device.free():
            print(f"{name}: left out, since its weights take {size / 1e9:.0f} GB")
            continue
        begin = time.perf_counter()
        bench = Bench(name, made(config, device), device, options)
        print(
            f"{name}: {size / 1e9:.2f} GB of weights, made in {time.perf_counter() - begin:.1f} s", flush=True
        )
        passes += [bench.passes(tokens) for tokens in options.lengths]
        prefixes += [
            bench.prefixed(tokens, method, shots)
            for tokens in options.lengths
            for method in PREFIXES
            for shots in SHOTS
        ]
        del bench
        gc.collect()
        torch.cuda.empty_cache()
    for table in (passes, prefixes, list(parity(device))):
        print(f"\n{tabulate(table, headers='keys', tablefmt='github', disable_numparse=True)}")
    print(
        "\nBeside it, Fast-MIA's published table (A100 80 GB, LLaMA-30B in 16 bits, 776 texts of 32 words): one-pass "
        "methods 12 s, ReCall with 3 shots 55 s, Con-ReCall 113 s."
    )


if __name__ == "__main__":
    main()
