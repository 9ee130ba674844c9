"""Windows of unread texts that a model emits, under several rules about what repeats a
text.

    python tests/bench/bench_repeats.py --model results/models/smollm2-135m [--tokens
        1000] FILE...

Prints a Markdown row for each rule: all windows of 20 tokens that have 20 before them,
those that the rule leaves out, and those of the others with a probability above 0.001
with top-40 sampling. The texts are templates that are filled here, and the files, by
kind; the model must not have read these. A rule lists (tokens of a run, at most so many
tokens after the same run).
"""

import argparse
import random
from collections.abc import Iterator
from itertools import product
from math import inf, log
from pathlib import Path
from unittest.mock import patch

import numpy as np
import torch
import transformers
from numpy.lib.stride_tricks import sliding_window_view

from pretrace.evaluation import extraction

SIZE, LEAST = 20, log(0.001)
RULES = (
    (),
    ((10, inf),),
    ((5, inf),),
    ((4, inf),),
    ((3, 500), (5, inf)),
    ((3, 1_000), (5, inf)),
    ((3, inf),),
)
WORDS = (
    "river",
    "copper",
    "lantern",
    "orchard",
    "quarry",
    "saddle",
    "thistle",
    "granite",
    "anvil",
    "pewter",
    "ferry",
    "chapel",
)
TEMPLATES = {
    "nodes in YAML": "  - name: {0}-{n}\n    address: 10.4.{n}.{m}\n    rack: {1}\n    enabled: true\n",
    "services in YAML": "  {0}-{1}:\n    image: {2}.net/{0}:{m}\n    ports:\n      - {k}:80\n    restart: no\n",
    "Markdown table": "| {0} {1} | {k} | 0.{m} | {2} and {3} |\n",
    "CSV": "{n},{0} {1},2026-03-{m},{k}.50,open\n",
    "numbered list": "{n}. The {0} of {1} is {m} feet long and was built by {2} {3}.\n",
    "clauses": "{n}. The Keeper shall not, without the prior written consent of the Owner, sell or assign the {0} to "
    "{1} {2} Limited, and shall indemnify the Owner against any loss arising from the {3}.\n\n",
    "log": "2026-03-01T08:{m}:07 INFO [{0}-{1}] request {k} took {m} ms\n",
    "accessors": "    def get_{0}_{1}(self):\n        return self._{0}_{1}\n\n    def set_{0}_{1}(self, value):\n"
    "        self._{0}_{1} = value\n\n",
    "products": "{n} x {m} = {product}\n",
}  # fmt: skip


def templated(seed: int) -> Iterator[str]:
    """Yield a text of 100 items for each template; its words and numbers are drawn, `n`
    counts."""
    draw = random.Random(seed)
    for template in TEMPLATES.values():
        items = []
        for n in range(11, 111):
            m, k = draw.randint(11, 59), draw.randint(1_000, 9_999)
            items.append(
                template.format(*draw.sample(WORDS, 4), n=n, m=m, k=k, product=n * m)
            )
        yield "".join(items)


def scored(model, tokenizer, text: str, tokens: int) -> tuple[np.ndarray, np.ndarray]:
    """Return token ids of a text and ln of each one's probability among the 40
    likeliest (-inf: outside)."""
    ids = tokenizer(text, add_special_tokens=False)["input_ids"][:tokens]
    start = tokenizer.convert_tokens_to_ids("<|endoftext|>")
    with torch.no_grad():
        logits = model(torch.tensor([[start, *ids]])).logits[0, :-1].float()
    own, likeliest = logits[torch.arange(len(ids)), ids], logits.topk(40).values
    log_p = (own - likeliest.logsumexp(-1)).masked_fill(own < likeliest[:, -1], -inf)
    return np.array(ids), log_p.double().numpy()


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--model", required=True)
    parser.add_argument("--tokens", type=int, default=1_000)
    parser.add_argument("files", nargs="*", type=Path)
    given = parser.parse_args()
    model = transformers.AutoModelForCausalLM.from_pretrained(
        given.model, dtype=torch.bfloat16
    ).eval()
    tokenizer = transformers.PreTrainedTokenizerFast(
        tokenizer_file=f"{given.model}/tokenizer.json"
    )
    kinds = {"templates": list(templated(0))}
    for file in given.files:
        kind = {".py": "code", ".md": "prose"}.get(
            file.suffix, "configuration and tables"
        )
        kinds.setdefault(kind, []).append(file.read_text(encoding="utf-8"))
    print(
        "| texts | rule | windows | left out | emitted | share | highest p "
        "|\n|---|---|--:|--:|--:|--:|--:|"
    )
    read = [
        (kind, [scored(model, tokenizer, text, given.tokens) for text in texts])
        for kind, texts in kinds.items()
    ]
    for (kind, texts), rule in product(read, RULES):
        kept = []
        for ids, log_p in texts:
            if len(ids) < 2 * SIZE:
                continue
            with patch.object(extraction, "COPIED_RUNS", rule):
                repeats = extraction.has_repeats(ids, SIZE)[SIZE - 1 :]
            kept.append(
                np.where(
                    repeats,
                    np.nan,
                    sliding_window_view(log_p, SIZE).sum(axis=1)[SIZE - 1 :],
                )
            )
        windows = np.concatenate(kept or [np.empty(0)])
        counted = windows[~np.isnan(windows)]
        emitted, highest = (
            int((counted > LEAST).sum()),
            np.exp(counted.max(initial=-inf)),
        )
        print(
            f"| {kind} | {rule} | {len(windows):,} | {len(windows) - len(counted):,} | "
            f"{emitted:,} | {emitted / max(len(counted), 1):.5f} | {highest:.2g} |"
        )


if __name__ == "__main__":
    main()
