"""How fast prefixed passes are, against the prefix put before every text, one text at a time.

python tests/bench/bench_prefix.py results/models/smollm2-135m/checkpoint.json [--texts 54] [--no-sweep]

Prints seconds a text and ratios for ReCall and Con-ReCall with 7 shots and for the sweep over 1 to 10 shots, the best
repetitions of ways that take turns. `passes`: the passes with a prefix alone. `method`: with the pass over the
text itself too; in the sweep the public code repeats it in each of its ten runs. CPU seconds are those of this
process: where other work keeps the machine busy, they are the steadier ones.
"""

from typing import Any

import numpy as np
import torch
from bench_pass import texts
from measuring import Clock, loaded, parser_of

from pretrace.passes.engine import Engine
from pretrace.passes.prompt_prefix import Ids, PromptPrefix
from pretrace.passes.requests import Request

START = (0,)
SWEEP = range(1, 11)
TARGETS = {"recall, 7 shots": 4.5, "con_recall, 7 shots": 5, "recall, 1..10 shots": 6}


def shared(engine: Engine, window: list[Request], prefixes: list[tuple[Ids, ...]]) -> None:
    """The passes after these prefixes as a job runs them, the longest encoding included."""
    engine._encoded = None
    for shots in sorted(prefixes, reverse=True):
        engine.statistics(window, PromptPrefix(START, shots), statistics="logprobs")


def plain(engine: Engine, window: list[Request]) -> None:
    engine.statistics(window, PromptPrefix(START), statistics="logprobs")


def one_at_a_time(model: Any, window: list[Request], before: Ids) -> list[tuple[float, torch.Tensor]]:
    """ReCall's and Con-ReCall's public way: one input, the library's loss over the text's tokens (its logits in
    float32), and the log-softmax of every position once more.
    """
    results = []
    with torch.no_grad():
        for text in window:
            ids = torch.tensor([[*before, *text.tokens.tolist()]], device=model.device)
            labels = ids.clone()
            labels[:, : len(before)] = -100
            output = model(ids, labels=labels)
            log_probs = torch.nn.functional.log_softmax(output.logits, dim=-1)
            results.append((-output.loss.item(), log_probs[0, -1, ids[0, -1]]))
    return results


def ratios(best: dict[str, np.ndarray]) -> None:
    """`best` of each way -> public / ours, wall and CPU, for the passes and for the whole method."""
    runs = {name: 10 if "1..10" in name else 1 for name in TARGETS}
    for name, target in TARGETS.items():
        if f"public {name}" not in best:
            continue
        passes = best[f"public {name}"] / best[f"shared {name}"]
        method = (best[f"public {name}"] + runs[name] * best["public text itself"]) / (
            best[f"shared {name}"] + best["shared text itself"]
        )
        print(
            f"{name}: passes {passes[0]:.2f} (CPU {passes[1]:.2f}), method {method[0]:.2f} (CPU {method[1]:.2f}), "
            f"target {target}"
        )


def main() -> None:
    parser = parser_of(__doc__, texts=54, repetitions=3)
    parser.add_argument("--public-texts", type=int, default=6, help="of them, for the way one at a time")
    parser.add_argument("--no-sweep", action="store_true", help="leave out 1 to 10 shots, most of the time")
    options = parser.parse_args()
    target, model = loaded(options)
    drawn = texts(options.texts + 20, options.tokens, target.vocabulary)
    pools = [tuple(tuple(shot.tokens.tolist()) for shot in drawn[start : start + 10]) for start in (0, 10)]
    window, few = drawn[20:], drawn[20 : 20 + options.public_texts]
    prefixes = {
        "recall, 7 shots": [pools[0][:7]],
        "con_recall, 7 shots": [pool[:7] for pool in pools],
        "recall, 1..10 shots": [pools[0][:count] for count in SWEEP],
    }
    if options.no_sweep:
        del prefixes["recall, 1..10 shots"]
    print(f"{len(window)} and {len(few)} texts")
    engine, clock = Engine(model, "bench", options.batch_tokens), Clock()
    shared(engine, window[:4], [pools[0][:1]])  # decides how prefixes are shared
    for _ in range(options.repetitions):
        clock.take("shared text itself", len(window), lambda: plain(engine, window))
        clock.take("public text itself", len(few), lambda: one_at_a_time(model, few, START))
        for name, its in prefixes.items():
            clock.take(f"shared {name}", len(window), lambda its=its: shared(engine, window, its))
            clock.take(
                f"public {name}",
                len(few),
                lambda its=its: [one_at_a_time(model, few, PromptPrefix(START, shots).ids) for shots in its],
            )
    ratios(clock.best)


if __name__ == "__main__":
    main()
