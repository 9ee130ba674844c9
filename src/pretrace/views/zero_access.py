"""Con-ReCall without access to members: the target completes the openings of well-known
events.

Wang et al., Con-ReCall: Detecting Pre-training Data in LLMs via Contrastive Decoding,
2024, section 5.2 and appendix C. Decoding is not stated there; it is greedy here, after
what the tokenizer itself puts first.
"""

from collections.abc import Sequence
from typing import Annotated, Any

import pandas as pd
from pydantic import Field

from pretrace.models.generation import generate
from pretrace.runtime.schema import Keys, Some


class Openings(Keys):
    """A file of openings."""

    prompts: Some[list[Annotated[str, Field(pattern=r"\S")]]]
    """Write a list of texts that are not empty, one for each shot."""


def complete(
    target: Any, prompts: Sequence[str], lengths: Sequence[int]
) -> pd.DataFrame:
    """Make the shots for texts of each length in words: columns `length`, `position`,
    `text`.

    `target` is a `models.Target`. A completion has as many tokens as a text has words
    (the paper's rule), or fewer if the model ends it. Greedy, so a shorter completion
    is the beginning of a longer one.
    """
    tokenizer = target.tokenizer
    openings = [list(tokenizer(prompt)["input_ids"]) for prompt in prompts]
    completions = generate(target.load(), tokenizer, openings, max(lengths))
    rows = []
    shots = zip(prompts, openings, completions, strict=True)
    for position, (prompt, ids, added) in enumerate(shots):
        prompt_text = tokenizer.decode(ids, skip_special_tokens=True)
        for length in lengths:
            whole = tokenizer.decode(ids + added[:length], skip_special_tokens=True)
            # a completion brings its own leading space
            text = prompt + whole[len(prompt_text) :]
            rows.append({"length": length, "position": position, "text": text})
    frame = pd.DataFrame(rows).astype({"length": "Int64"})
    return frame.sort_values(["length", "position"], ignore_index=True)
