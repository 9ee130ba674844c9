"""The text that a loaded checkpoint writes after a prompt, with the project's decoding and not the checkpoint's."""

from collections.abc import Sequence
from typing import Any


def written(
    model: Any,
    tokenizer: Any,
    prompts: Sequence[Sequence[int]],
    most: int,
    *,
    temperature: float = 0.0,
    top_k: int = 0,
) -> list[list[int]]:
    """The token ids that the model adds to each of `prompts`, token ids of one length: at most `most`.

    Greedy, or, with a `temperature`, drawn by torch's generator from the whole vocabulary, or
    from the `top_k` likeliest tokens. Of the checkpoint's
    generation_config.json only the tokens that end a text count: its penalties and filters, which no digest of
    a checkpoint names, do not. A text that ends before the longest is padded.
    """
    import torch
    import transformers

    ends = model.generation_config.eos_token_id
    # generate() fills from here whatever it is not told
    model.generation_config = transformers.GenerationConfig(eos_token_id=ends)
    padding = tokenizer.pad_token_id
    drawing = (
        {"do_sample": True, "temperature": temperature, "top_k": top_k}
        if temperature
        else {"do_sample": False}
    )
    inputs = torch.tensor(prompts, device=model.device)
    with torch.inference_mode():
        texts = model.generate(
            inputs,
            attention_mask=torch.ones_like(inputs),
            generation_config=transformers.GenerationConfig(
                max_new_tokens=most,
                pad_token_id=padding
                if padding is not None
                else (ends[0] if isinstance(ends, list) else ends),
                **drawing,
            ),
        )
    added: list[list[int]] = texts[:, inputs.shape[1] :].tolist()
    return added
