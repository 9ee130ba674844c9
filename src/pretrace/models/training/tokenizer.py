"""A tokenizer of texts of neither class: a vocabulary fitted to the members would leak
who they are."""

from collections.abc import Iterable
from pathlib import Path

from pretrace.runtime.files import write_text

SEPARATOR = "<|endoftext|>"
"""Precedes every text of the training stream; evaluation uses it as the start token."""


def train_tokenizer(texts: Iterable[str], vocabulary: int, out: Path) -> None:
    """Write a byte-level BPE tokenizer of `vocabulary` tokens, `SEPARATOR` among them,
    as tokenizer.json.

    The same texts in the same order give the same bytes.
    """
    from tokenizers import Tokenizer, decoders, models, pre_tokenizers, trainers

    tokenizer = Tokenizer(models.BPE())
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    tokenizer.decoder = decoders.ByteLevel()
    trainer = trainers.BpeTrainer(
        vocab_size=vocabulary,
        special_tokens=[SEPARATOR],
        initial_alphabet=pre_tokenizers.ByteLevel.alphabet(),
        show_progress=False,
    )
    tokenizer.train_from_iterator(texts, trainer)
    write_text(out, tokenizer.to_str(pretty=True))
