"""How fast 24 orders of four options are answered by one tree of prompts.

python tests/bench/bench_questions.py results/models/smollm2-135m/checkpoint.json [--passages 2] [--public 4]

Against the same prompts read apart in the same batches, and against the public way: one prompt at a time through
generate(), two new tokens, all scores kept. Prints seconds a passage and ratios, the best repetitions of ways that take
turns. CPU seconds are those of this process: where other work keeps the machine busy, they are the steadier ones.
"""

from itertools import permutations
from typing import Any

import torch
from bench_pass import texts
from measuring import Clock, loaded, parser_of

from pretrace.passes.features import Features
from pretrace.passes.prompt_prefix import Ids
from pretrace.questions.tree import Branch, Reader, separate, tree_of

TARGETS = {"tokens": 1.6, "tree": 1.5, "generate": 4.0}


def prompts_of(passages: int, option: int, header: int, vocabulary: int) -> list[Ids]:
    """24 prompts a passage: a header, four options in every order, an end; random tokens, alike nowhere else."""
    drawn = [tuple(request.tokens.tolist()) for request in texts(4 * passages, option, vocabulary)]
    [top] = [tuple(request.tokens.tolist()) for request in texts(1, header, vocabulary)]
    return [
        (*top, *(token for place in order for token in drawn[4 * number + place]), *top[:8])
        for number in range(passages)
        for order in permutations(range(4))
    ]


def read(reader: Reader, root: Branch, stored: dict[int, torch.Tensor]) -> None:
    with torch.inference_mode():
        for places, features in reader.answers(root, torch.Tensor.float):
            stored.update(dict.fromkeys(places, features))


def generated(model: Any, prompts: list[Ids]) -> None:
    """The public code's way."""
    for ids in prompts:
        inputs = torch.tensor([ids], device=model.device)
        with torch.no_grad():
            model.generate(
                inputs, attention_mask=torch.ones_like(inputs), do_sample=False, max_new_tokens=2, min_new_tokens=2,
                output_scores=True, return_dict_in_generate=True, pad_token_id=0,
            )  # fmt: skip


def main() -> None:
    parser = parser_of(__doc__, repetitions=3)
    parser.add_argument("--passages", type=int, default=2)
    parser.add_argument("--public", type=int, default=4, help="prompts for the way one at a time")
    parser.add_argument(
        "--option", type=int, default=85, help="tokens of an option; 64 English words are about 85"
    )
    parser.add_argument("--header", type=int, default=90, help="tokens before the options")
    options = parser.parse_args()
    target, model = loaded(options)
    prompts = prompts_of(options.passages, options.option, options.header, target.vocabulary)
    together, apart = tree_of(prompts), separate(prompts)
    print(
        f"{options.passages} passages, {len(prompts)} prompts: {apart.tokens} tokens apart, {together.tokens} by a tree"
    )
    reader, clock = Reader(Features(model), "bench", options.batch_tokens), Clock()
    by_tree: dict[int, torch.Tensor] = {}
    alone: dict[int, torch.Tensor] = {}
    few = prompts[:: len(prompts) // options.public][: options.public]
    for _ in range(options.repetitions):
        clock.take("tree", options.passages, lambda: read(reader, together, by_tree))
        clock.take("apart", options.passages, lambda: read(reader, apart, alone))
        clock.take("generate, a prompt", len(few), lambda: generated(model, few))
    off = max(float((by_tree[n] - alone[n]).norm() / alone[n].norm()) for n in alone)
    print(f"features of the answer positions differ by {off:.2g} of their norm at most")
    best = {name: took * (24 if name.startswith("generate") else 1) for name, took in clock.best.items()}
    for name, baseline in (("tree", "apart"), ("generate", "generate, a prompt")):
        ratio = best[baseline] / best["tree"]
        print(
            f"against {baseline}: {ratio[0]:.2f} times faster (CPU {ratio[1]:.2f}), target {TARGETS[name]:g}"
        )
    print(f"tokens: {apart.tokens / together.tokens:.2f} times fewer, target {TARGETS['tokens']:g}")


if __name__ == "__main__":
    main()
