"""Text that a loaded checkpoint writes after a prompt, with the project's decoding and
not the checkpoint's."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import torch
import transformers

from pretrace.runtime.files import read_json


def generate(
    model: Any,
    tokenizer: Any,
    prompts: Sequence[Sequence[int]],
    most: int,
    temperature: float = 0,
) -> list[list[int]]:
    """Generate at most `most` token ids after each of `prompts`, token ids that are
    read as one batch.

    Greedy, or, with a `temperature`, drawn by torch's generator from the whole
    vocabulary. Only the tokens that end a text are taken from the checkpoint's
    generation_config.json, not its penalties and filters, which no digest of a
    checkpoint covers. A text that ends before the longest is padded.
    """
    ends = model.generation_config.eos_token_id
    # generate() fills from here whatever it is not told
    model.generation_config = transformers.GenerationConfig(eos_token_id=ends)
    padding = tokenizer.pad_token_id
    if padding is None:
        padding = ends[0] if isinstance(ends, list) else ends
    # top_k 0: transformers' own default is the 50 likeliest tokens
    drawing = {"temperature": temperature, "top_k": 0} if temperature else {}
    longest = max(map(len, prompts))
    rows = []
    seen = []
    for prompt in prompts:
        missing = longest - len(prompt)
        rows.append([padding or 0] * missing + list(prompt))
        seen.append([0] * missing + [1] * len(prompt))
    settings = transformers.GenerationConfig(
        max_new_tokens=most,
        pad_token_id=padding,
        do_sample=bool(drawing),
        **drawing,
    )
    with torch.inference_mode():
        texts = model.generate(
            torch.tensor(rows, device=model.device),
            attention_mask=torch.tensor(seen, device=model.device),
            generation_config=settings,
        )
    return texts[:, longest:].tolist()


def stated_ends(folder: Path) -> int | list[int] | None:
    """Return the ids of the tokens that end a text by a checkpoint's
    generation_config.json, None if it states none.

    A checkpoint's digest does not cover this file. Without it they are those of
    config.json, which the digest covers.
    """
    file = folder / "generation_config.json"
    if not file.is_file():
        return None
    return read_json(file).get("eos_token_id")
