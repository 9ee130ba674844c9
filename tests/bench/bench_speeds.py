"""Whether what `dtype: auto` measures is true of the whole model: the probe's ratio beside that of forward passes.

python tests/bench/bench_speeds.py results/models/smollm2-135m/checkpoint.json [--texts 8] [--threads 1]

Prints the seconds that the probes of the type and of attention after a prefix take, what they choose, and tokens a
second of the model in both types, the best repetitions of types that take turns. All of the main thread's CPU time,
so that other work on the machine does not count.
"""

import tempfile
from pathlib import Path

import numpy as np
import torch
from measuring import parser_of

from pretrace.models.speeds import attention, faster, products, timed
from pretrace.models.target import load_checkpoint
from pretrace.runtime.files import read_json


def main() -> None:
    options = parser_of(__doc__, texts=8, repetitions=3).parse_args()
    torch.set_num_threads(options.threads)
    kinds = ("float32", "bfloat16")
    target = load_checkpoint(options.checkpoint, dtype=options.dtype, device="cpu")
    shapes = target.checkpoint.matrix_shapes()
    with tempfile.TemporaryDirectory() as folder:
        took = timed(
            lambda: faster("dtype", {kind: products(shapes, kind) for kind in kinds}, {}, Path(folder))
        )
        also = timed(lambda: faster("attention", attention(*target.heads, target.dtype), {}, Path(folder)))
        print(f"measured in {took:.2f} s (type) and {also:.2f} s (attention)")
        for found in map(read_json, sorted(Path(folder, "speeds").iterdir())):
            print(found)
    loaded = [load_checkpoint(options.checkpoint, dtype=kind, device="cpu").load() for kind in kinds]
    drawn = np.random.default_rng(0).integers(0, target.vocabulary, (options.texts, options.tokens))
    ids = torch.from_numpy(drawn)
    with torch.inference_mode():
        turns = [
            [timed(lambda model=model: model(input_ids=ids, use_cache=False)) for model in loaded]
            for _ in range(1 + options.repetitions)
        ]
    best = [min(of) for of in zip(*turns[1:], strict=True)]
    for kind, seconds in zip(kinds, best, strict=True):
        print(f"{kind:10} {ids.numel() / seconds:8.0f} tokens/s")
    print(f"the model is {best[0] / best[1]:.2f} times as fast in bfloat16")


if __name__ == "__main__":
    main()
