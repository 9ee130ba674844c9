"""Which of two ways to compute is faster on this processor: measured once for each model, written down and kept.

Processor flags do not say it: with avx512_bf16 bfloat16 is twice as fast as float32 on one processor and slower on
another. The record stays beside the model's checkpoint.json. A new folder measures again, so what decides is far from
both outcomes: the second way must be clearly faster, and small models, whose times are noise, are not measured.
"""

import os
import time
import uuid
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pretrace.runtime.files import digest, read_json, write_json
from pretrace.runtime.logs import log
from pretrace.runtime.provenance import processor

if TYPE_CHECKING:
    import torch

Seconds = Callable[[], float]
"""Computes once, and gives the seconds that it took."""

REPETITIONS = 5
CLEARLY = 1.5
"""How many times as fast the second way must be: what it loses (digits, memory) must pay, and noise must not decide."""
MEASURABLE = 20_000_000
"""Weights in matrices from which on a model is measured. A smaller one computes for a millisecond or less."""
_TOKENS = 128  # that a probe reads
_PAST = 512  # tokens before them, for attention after a shared prefix
_WIDEST = 2048  # rows and columns of a larger matrix are timed in part
_clock = time.thread_time  # other work on the machine does not count


def faster(question: str, ways: Mapping[str, Seconds], about: Mapping[str, Any], folder: Path) -> str:
    """The name of one of two `ways`: the second where it is at least `CLEARLY` times as fast as the first.

    Measured where `folder`/speeds has no record of the `question` about this processor, these threads and what
    `about` names. The first record that is written counts, also for a job that measured at the same time.
    """
    import torch

    here = {"processor": processor(), "threads": torch.get_num_threads(), "torch": torch.__version__}
    asked = {**about, **here}
    record = folder / "speeds" / f"{question}-{digest(asked)[:12]}.json"
    measured = not record.is_file()
    if measured:
        _write_first(record, {"about": asked, **_compared(ways)})
    found = read_json(record)
    times = ", ".join(f"{way} {1000 * seconds:.3g} ms" for way, seconds in found["seconds"].items())
    when = f"{'measured now' if measured else 'as measured before'} on {here['processor']}"
    log.info(
        "%s: %s (%s, %s with %d threads: %s)", question, found["chosen"], times, when, here["threads"], record
    )
    chosen: str = found["chosen"]
    return chosen


def _compared(ways: Mapping[str, Seconds]) -> dict[str, Any]:
    """The least seconds of each way; they take turns, because a machine's speed drifts."""
    (first, usual), (second, other) = ways.items()
    usual(), other()  # the first time is slow: kernels are made, pages are touched
    times = [(usual(), other()) for _ in range(REPETITIONS)]
    best = dict(zip(ways, map(min, zip(*times, strict=True)), strict=True))
    return {"seconds": best, "chosen": second if best[first] >= CLEARLY * best[second] else first}


def _write_first(path: Path, value: Any) -> None:
    """Write a record, whole, unless another job has."""
    part = path.with_suffix(f".{uuid.uuid4().hex}")
    write_json(part, value)
    try:
        os.link(part, path)
    except OSError:  # it is there, or the disk knows no links
        if not path.exists():
            write_json(path, value)
    part.unlink()


def products(shapes: Mapping[tuple[int, int], int], dtype: str) -> Seconds:
    """The matrix products of a forward pass over 128 tokens: `shapes` [out, in] -> how many matrices have it."""
    import torch

    drawn = torch.Generator().manual_seed(0)

    def product(rows: int, columns: int) -> Seconds:
        weight = torch.randn(rows, columns, generator=drawn).to(getattr(torch, dtype))
        inputs = torch.randn(_TOKENS, columns, generator=drawn).to(weight.dtype)
        return lambda: timed(lambda: torch.nn.functional.linear(inputs, weight))

    parts = []
    for (rows, columns), count in sorted(shapes.items()):
        cut = min(rows, _WIDEST), min(columns, _WIDEST)
        parts.append((count * (rows * columns) / (cut[0] * cut[1]), product(*cut)))
    return lambda: sum(times * once() for times, once in parts)


def attention(heads: int, key_heads: int, width: int, dtype: str) -> dict[str, Seconds]:
    """One layer's attention of 128 tokens of two texts over 512 tokens before them: torch's kernel, plain products."""
    import torch

    drawn = torch.Generator().manual_seed(0)
    kind = getattr(torch, dtype)

    def of(count: int, tokens: int) -> "torch.Tensor":
        return torch.randn(2, count, tokens, width, generator=drawn).to(kind)

    own = _TOKENS // 2
    queries, keys, values = of(heads, own), of(key_heads, _PAST + own), of(key_heads, _PAST + own)
    seen = torch.ones(own, _PAST + own, dtype=torch.bool).tril(_PAST)
    hidden = torch.zeros(seen.shape, dtype=kind).masked_fill(~seen, torch.finfo(kind).min)

    def sdpa() -> "torch.Tensor":
        return torch.nn.functional.scaled_dot_product_attention(
            queries, keys, values, attn_mask=seen, enable_gqa=heads != key_heads
        )

    def eager() -> "torch.Tensor":
        of_each = [one.repeat_interleave(heads // key_heads, dim=1) for one in (keys, values)]
        scores = queries @ of_each[0].transpose(2, 3) * width**-0.5 + hidden
        return scores.softmax(dim=-1, dtype=torch.float32).to(kind) @ of_each[1]

    return {"sdpa": lambda: timed(sdpa), "eager": lambda: timed(eager)}


def timed(compute: Callable[[], object]) -> float:
    """The seconds that a call takes this process's main thread."""
    begin = _clock()
    compute()
    return _clock() - begin
