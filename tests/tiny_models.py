"""Tiny random checkpoints, saved as a user's checkpoint directory is: safetensors,
config and tokenizer.

Weights are seeded and drawn wide, so that predictions differ from token to token and
errors show.
"""

from pathlib import Path

CONTEXT = 128
VOCABULARY = 320
SIZES = {
    "hidden_size": 32,
    "num_hidden_layers": 2,
    "num_attention_heads": 4,
    "pad_token_id": 3,
}
KINDS = ("gpt_neox", "llama", "opt")
WINDOW = 12  # tokens that a layer of the sliding-window kinds sees
# Kinds whose caches differ: plain, sliding windows (Gemma 2 mixes both), a state, a
# state beside attention.
CACHES = (
    *KINDS, "qwen2", "mistral", "mixtral", "gpt2", "gpt_neo", "olmo", "gemma2", "mamba",
    "jamba", "rwkv",
)  # fmt: skip
# What each kind's tokenizer puts before a text by itself, as Pythia's, Llama's and
# OPT's do.
STARTS = dict.fromkeys(CACHES, "") | {"llama": "<s>", "opt": "</s>", "mistral": "<s>"}
_SPECIAL = ("<|endoftext|>", "<s>", "</s>", "<pad>")
_CORPUS = (
    "The state of the union is strong, and the people of the United States know it.",
    "In 1934 the Congress of the United States received this message; 120 members were "
    "there.",
    "A number of tokens, a number of texts: what the model has seen it finds less "
    "surprising.",
    "def mean(values):\n    return sum(values) / len(values)\n",
)


def tiny_model(
    kind: str,
    directory: Path,
    *,
    seed: int = 0,
    vocabulary: int = VOCABULARY,
    context: int = CONTEXT,
) -> Path:
    """Save a random model of `kind` and its tokenizer under `directory`, and return
    it."""
    import torch

    torch.manual_seed(seed)
    model = _model(kind, vocabulary, context)
    with torch.no_grad():
        for parameter in model.parameters():
            if parameter.dim() > 1:
                # wider, and Mamba in float32 is itself off from float64 by more than
                # tests allow
                parameter.mul_(2.0 if kind == "mamba" else 4.0)
    directory = Path(directory)
    model.save_pretrained(directory)
    tiny_tokenizer(STARTS[kind], qwen2=kind == "qwen2").save_pretrained(directory)
    return directory


def tiny_tokenizer(start: str = "", *, qwen2: bool = False):
    """A byte-level BPE of at most 300 tokens that puts `start` before a text, where one
    is given.

    `qwen2`: texts are cut as by Qwen2Tokenizer, which transformers builds for every
    Qwen2 model.
    """
    from tokenizers import (
        Tokenizer,
        decoders,
        models,
        pre_tokenizers,
        processors,
        trainers,
    )
    from transformers import PreTrainedTokenizerFast, Qwen2Tokenizer

    tokenizer = Tokenizer(models.BPE())
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    if qwen2:
        its = Qwen2Tokenizer().backend_tokenizer
        tokenizer.normalizer = its.normalizer
        tokenizer.pre_tokenizer = its.pre_tokenizer
    tokenizer.decoder = decoders.ByteLevel()
    trainer = trainers.BpeTrainer(
        vocab_size=300,
        special_tokens=list(_SPECIAL),
        initial_alphabet=sorted(pre_tokenizers.ByteLevel.alphabet()),
        show_progress=False,
    )
    tokenizer.train_from_iterator(_CORPUS, trainer)
    if start:
        tokenizer.post_processor = processors.TemplateProcessing(
            single=f"{start} $A", special_tokens=[(start, tokenizer.token_to_id(start))]
        )
    end = start or "<|endoftext|>"
    return PreTrainedTokenizerFast(
        tokenizer_object=tokenizer,
        bos_token=end,
        eos_token=end,
        unk_token=end,
        pad_token="<pad>",
    )


_GROUPED = {"intermediate_size": 64, "num_key_value_heads": 2}
# The configuration of each kind, and what it has beside `SIZES`.
_CONFIGS = {
    "gpt_neox": ("GPTNeoXConfig", {"intermediate_size": 64}),
    "llama": ("LlamaConfig", {"intermediate_size": 64}),
    # As OPT-350m: embeddings narrower than the layers, so that a projection stands
    # before the head.
    "opt": ("OPTConfig", {"ffn_dim": 64, "word_embed_proj_dim": 16}),
    "qwen2": ("Qwen2Config", _GROUPED),
    "mistral": ("MistralConfig", _GROUPED | {"sliding_window": WINDOW}),
    "mixtral": ("MixtralConfig", _GROUPED | {"num_local_experts": 4}),
    "gpt_neo": (
        "GPTNeoConfig",
        {
            "num_layers": 2,
            "num_heads": 4,
            "attention_types": [[["global", "local"], 1]],
            "window_size": WINDOW,
        },
    ),
    "gpt2": ("GPT2Config", {}),
    "olmo": ("OlmoConfig", _GROUPED),
    "gemma2": ("Gemma2Config", _GROUPED | {"sliding_window": WINDOW, "head_dim": 8}),
    "mamba": ("MambaConfig", {"state_size": 8}),
    "jamba": (
        "JambaConfig",
        _GROUPED
        | {
            "attn_layer_period": 2,
            "attn_layer_offset": 1,
            "num_experts": 2,
            "mamba_d_state": 8,
            "use_mamba_kernels": False,
        },
    ),
    "rwkv": ("RwkvConfig", {}),
}


def _model(kind: str, vocabulary: int, context: int):
    import transformers

    name, own = _CONFIGS[kind]
    config = getattr(transformers, name)(
        vocab_size=vocabulary,
        max_position_embeddings=context,
        bos_token_id=1,
        eos_token_id=0,
        **SIZES,
        **own,
    )
    return transformers.AutoModelForCausalLM.from_config(config)
