"""Tiny random models with their tokenizers, as checkpoints on disk."""

from collections.abc import Sequence
from pathlib import Path

import torch
import transformers
from tokenizers import (
    Tokenizer,
    decoders,
    models,
    normalizers,
    pre_tokenizers,
    processors,
)

from pretrace.models.checkpoint import register_local

SPECIAL = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"]


def masked_model(
    folder: Path, words: Sequence[str], *, context: int = 64, seed: int = 0
) -> tuple[transformers.BertForMaskedLM, transformers.PreTrainedTokenizerFast]:
    """A BERT of 2 layers over lower-cased words (`##` pieces among them), saved to
    `folder`."""
    vocabulary = {word: id for id, word in enumerate([*SPECIAL, *words])}
    tokenizer = Tokenizer(models.WordPiece(vocabulary, unk_token="[UNK]"))
    tokenizer.normalizer = normalizers.BertNormalizer()
    tokenizer.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
    tokenizer.decoder = decoders.WordPiece()
    tokenizer.post_processor = processors.TemplateProcessing(
        single="[CLS] $A [SEP]",
        special_tokens=[("[CLS]", vocabulary["[CLS]"]), ("[SEP]", vocabulary["[SEP]"])],
    )
    fast = transformers.PreTrainedTokenizerFast(
        tokenizer_object=tokenizer,
        model_max_length=context,
        unk_token="[UNK]",
        pad_token="[PAD]",
        cls_token="[CLS]",
        sep_token="[SEP]",
        mask_token="[MASK]",
    )
    torch.manual_seed(seed)
    model = transformers.BertForMaskedLM(
        transformers.BertConfig(
            vocab_size=len(vocabulary),
            hidden_size=32,
            num_hidden_layers=2,
            num_attention_heads=4,
            intermediate_size=32,
            max_position_embeddings=context,
            initializer_range=0.5,
        )
    ).eval()
    model.save_pretrained(folder)
    fast.save_pretrained(folder)
    return model, fast


def word_tokenizer(
    words: Sequence[str], **special: str
) -> transformers.PreTrainedTokenizerFast:
    """A token for each word, in order, the unknown one among them as `[UNK]`."""
    ids = {word: id for id, word in enumerate(words)}
    tokenizer = Tokenizer(models.WordLevel(ids, unk_token="[UNK]"))
    tokenizer.pre_tokenizer = pre_tokenizers.Whitespace()
    return transformers.PreTrainedTokenizerFast(
        tokenizer_object=tokenizer, unk_token="[UNK]", **special
    )


def causal_checkpoint(folder: Path, words: Sequence[str], *, seed: int = 0) -> Path:
    """A Llama of 1 layer over whole words, saved to `folder`; returns its
    checkpoint.json."""
    tokenizer = word_tokenizer(["[UNK]", "</s>", *words], eos_token="</s>")
    torch.manual_seed(seed)
    model = transformers.LlamaForCausalLM(
        transformers.LlamaConfig(
            vocab_size=len(tokenizer),
            hidden_size=16,
            num_hidden_layers=1,
            num_attention_heads=2,
            intermediate_size=16,
            max_position_embeddings=64,
            initializer_range=1.0,
            eos_token_id=1,
            bos_token_id=None,
        )
    )
    model.save_pretrained(folder)
    tokenizer.save_pretrained(folder)
    record = folder.parent / f"{folder.name}.json"
    register_local(folder, record)
    return record
