"""Can a model be compared token by token with the base model that it was tuned from?"""

from collections.abc import Iterable
from pathlib import Path
from typing import Any

from pretrace.models.checkpoint import read_checkpoint
from pretrace.models.tokens import load_encoder
from pretrace.runtime.errors import InputError, shorten

PROBED = 2_000
"""Characters of each text whose tokens are compared: a tokenizer that differs does so
early."""


def check_base(
    model: Path, base: Path, names: tuple[str, str], texts: Iterable[str]
) -> None:
    """Check two records of checkpoints: they have other weights, and read the texts as
    the same tokens.

    Raises:
        InputError: with the `names` of the model and the base.
    """
    if read_checkpoint(model).digest == read_checkpoint(base).digest:
        raise InputError(
            f"config: base: {names[1]} has the same weights as {names[0]}, so that "
            "nothing was tuned: name the model that it was tuned from."
        )
    check_same_tokens(load_encoder(model), load_encoder(base), names, texts)


def check_same_tokens(
    model: Any, base: Any, names: tuple[str, str], texts: Iterable[str]
) -> None:
    """Raise `InputError` at the first text that two encoders read as other tokens."""
    for text in texts:
        beginning = text[:PROBED]
        ids = model.encode(beginning, add_special_tokens=False)
        others = base.encode(beginning, add_special_tokens=False)
        # of a tokenizers.Tokenizer an encoding, of a slow tokenizer the ids
        if getattr(ids, "ids", ids) != getattr(others, "ids", others):
            raise InputError(
                f"config: base: {names[1]} reads texts as other tokens than {names[0]} "
                "(first the one that begins with "
                f"'{shorten(beginning.strip()[:30])}'), so that no token's likelihood "
                "can be compared. Name the model that it was tuned from."
            )
