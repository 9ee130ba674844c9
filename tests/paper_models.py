"""The paper study's models, tiny: the configuration, types, files and tokenizers of the
released ones, random weights.

A tiny model keeps what code meets: the architecture and its settings, one key head for
as many query heads, the number type, rows of the vocabulary without a token, several
files of weights, old checkpoints' masks beside the weights, the tokenizer's files and
the token that it puts first. Widths, layers, heads and vocabularies are smaller.
"""

import json
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from functools import cache
from pathlib import Path
from typing import Any

import hub_datasets as made

HEAD = 8
"""Width of a tiny model's head."""
MOST_ROWS = 1200
"""Of a tiny vocabulary: the output layer is most of a tiny model's work."""
FILE = 5e9
"""Bytes of a released file of weights, at most."""
PICKLED = "pytorch_model.bin"


@dataclass(frozen=True)
class Shape:
    """What a released config.json says: `width` of a layer, `inner` of its feed-forward
    part, `rows` of the vocabulary, `key_heads` where they are fewer than the heads.

    `settings`: further keys, as released. `masks`: whose buffers the checkpoint holds
    beside its weights. `chat`: the template of tokenizer_config.json.
    """

    kind: str
    tokenizer: str
    width: int
    heads: int
    inner: int
    rows: int
    context: int
    key_heads: int = 0
    settings: dict[str, Any] = field(default_factory=dict)
    masks: str = ""
    chat: str = ""


LLAMA_CHAT = (
    "{% if messages[0]['role'] == 'system' %}{% set loop_messages = messages[1:] %}{% "
    "set system_message = messages[0]['content'] %}{% else %}{% set loop_messages = "
    "messages %}{% set system_message = false %}{% endif %}{% for message in "
    "loop_messages %}{% if (message['role'] == 'user') != (loop.index0 % 2 == 0) %}{{ "
    "raise_exception('Conversation roles must alternate "
    "user/assistant/user/assistant/...') }}{% endif %}{% if loop.index0 == 0 and "
    "system_message != false %}{% set content = '<<SYS>>\\n' + system_message + "
    "'\\n<</SYS>>\\n\\n' + message['content'] %}{% else %}{% set content = "
    "message['content'] %}{% endif %}{% if message['role'] == 'user' %}{{ bos_token + "
    "'[INST] ' + content.strip() + ' [/INST]' }}{% elif message['role'] == 'assistant' "
    "%}{{ ' ' + content.strip() + ' ' + eos_token }}{% endif %}{% endfor %}"
)
MISTRAL_CHAT = (
    "{{ bos_token }}{% for message in messages %}{% if (message['role'] == 'user') != "
    "(loop.index0 % 2 == 0) %}{{ raise_exception('Conversation roles must alternate "
    "user/assistant/user/assistant/...') }}{% endif %}{% if message['role'] == 'user' "
    "%}{{ '[INST] ' + message['content'] + ' [/INST]' }}{% elif message['role'] == "
    "'assistant' %}{{ message['content'] + eos_token }}{% else %}{{ "
    "raise_exception('Only user and assistant roles are supported!') }}{% endif %}{% "
    "endfor %}"
)
"""It refuses a system's message."""


def _neox(width: int, heads: int, *, rows: int = 50304, **settings: Any) -> Shape:
    settings = {
        "rotary_pct": 0.25,
        "use_parallel_residual": True,
        "tie_word_embeddings": False,
        **settings,
    }
    return Shape(
        "gpt_neox",
        "gpt_neox",
        width,
        heads,
        4 * width,
        rows,
        2048,
        settings=settings,
        masks="gpt_neox",
    )


def _opt(width: int, heads: int, **settings: Any) -> Shape:
    return Shape("opt", "opt", width, heads, 4 * width, 50272, 2048, settings=settings)


def _gpt_neo(width: int, heads: int) -> Shape:
    return Shape(
        "gpt_neo", "gpt2", width, heads, 4 * width, 50257, 2048, masks="gpt_neo"
    )


def _llama_2(width: int, heads: int, inner: int, key_heads: int = 0) -> Shape:
    shape = _llama(
        width, heads, inner, context=4096, key_heads=key_heads, rms_norm_eps=1e-5
    )
    return replace(shape, chat=LLAMA_CHAT)


def _llama(
    width: int,
    heads: int,
    inner: int,
    *,
    rows: int = 32000,
    context: int = 2048,
    key_heads: int = 0,
    **settings: Any,
) -> Shape:
    settings = {"tie_word_embeddings": False, "rms_norm_eps": 1e-6, **settings}
    return Shape(
        "llama",
        "llama",
        width,
        heads,
        inner,
        rows,
        context,
        key_heads,
        settings,
        masks="llama",
    )


def _qwen(width: int, heads: int, inner: int, *, rows: int = 151936) -> Shape:
    settings = {
        "tie_word_embeddings": False,
        "use_sliding_window": False,
        "rope_theta": 1e6,
    }
    return Shape("qwen2", "qwen2", width, heads, inner, rows, 32768, settings=settings)


def _olmo(width: int, heads: int, inner: int, **settings: Any) -> Shape:
    return Shape(
        "olmo", "gpt_neox", width, heads, inner, 50304, 2048, settings=settings
    )


def _mamba(width: int) -> Shape:
    settings = {"state_size": 16, "conv_kernel": 4, "expand": 2}
    return Shape("mamba", "gpt_neox", width, 0, 0, 50280, 0, settings=settings)


def _mistral(kind: str, **settings: Any) -> Shape:
    settings = {"tie_word_embeddings": False, **settings}
    return Shape(
        kind, "llama", 4096, 32, 14336, 32000, 32768, 8, settings, chat=MISTRAL_CHAT
    )


SHAPES = {
    # embeddings of half the width, and norms after the layers
    "opt-350m": _opt(1024, 16, word_embed_proj_dim=512, do_layer_norm_before=False),
    "opt-6.7b": _opt(4096, 32, word_embed_proj_dim=4096),
    "pythia-70m": _neox(512, 8),
    "pythia-2.8b": _neox(2560, 32),
    "pythia-2.8b-deduped": _neox(2560, 32),
    "pythia-6.9b": _neox(4096, 32, rows=50432),
    "pythia-12b": _neox(5120, 40, rows=50688),
    "gpt-neox-20b": _neox(6144, 64, rows=50432),
    "gpt-neo-125m": _gpt_neo(768, 12),
    "gpt-neo-2.7b": _gpt_neo(2560, 20),
    "llama-160m": _llama(768, 12, 3072),
    "llama-7b": _llama(4096, 32, 11008),
    "llama-13b": _llama(5120, 40, 13824),
    "llama-30b": _llama(6656, 52, 17920),
    "mamba-130m": _mamba(768),
    "mamba-1.4b": _mamba(2048),
    "olmo-1b": _olmo(2048, 16, 8192, tie_word_embeddings=True),
    "olmo-7b": _olmo(4096, 32, 11008, tie_word_embeddings=False),
    # converted to the type that config.yaml's `paths` needs
    "baichuan-7b": _llama(4096, 32, 11008, rows=125696, context=4096),
    "baichuan-13b": _llama(5120, 40, 13696, rows=125696, context=4096),
    "qwen1.5-1.8b": _qwen(2048, 16, 5504),
    "qwen1.5-4b": _qwen(2560, 20, 6912),
    "qwen1.5-7b": _qwen(4096, 32, 11008),
    "qwen1.5-14b": _qwen(5120, 40, 13696, rows=152064),
    "llama-2-7b": _llama_2(4096, 32, 11008),
    "llama-2-13b": _llama_2(5120, 40, 13824),
    "llama-2-70b": _llama_2(8192, 64, 28672, key_heads=8),
    "mistral-7b": _mistral("mistral", sliding_window=4096),
    "mixtral-8x7b": _mistral("mixtral", num_local_experts=8, num_experts_per_tok=2,
                             rope_theta=1e6),
}  # fmt: skip

STARTS = {"opt": "</s>", "llama": "<s>"}
"""What a kind of tokenizer puts before a text; the others put nothing."""


def write_paper_model(
    slug: str, entry: dict[str, Any], folder: Path, *, seed: int = 0
) -> Path:
    """Write the tiny model of an entry of config/models.yaml under `folder`, as it
    would lie on the hub; return it."""
    import torch
    import transformers

    shape = SHAPES[slug]
    tokenizer = _tokenizer(shape.tokenizer, _rows(shape))
    torch.manual_seed(seed)
    dtype = getattr(torch, entry["dtype"])
    # accelerate puts whole layers on a GPU, and puts all of a model with two on one
    layers = 3 if "device_map" in entry else 2
    config = _config(shape, layers, dtype, _ids(tokenizer, shape.tokenizer))
    model = transformers.AutoModelForCausalLM.from_config(config, dtype=torch.float32)
    with torch.no_grad():
        for parameter in model.parameters():
            if parameter.dim() > 1:
                # drawn wide, so that predictions differ from token to token and errors
                # show
                parameter.mul_(2.0 if shape.kind == "mamba" else 4.0)
        # some tokens are predicted as surely as a trained model does: entropies from 0.2
        # to 4 nats
        head = model.get_output_embeddings().weight
        head.mul_(3.0 if shape.kind == "mamba" else 8.0)
    model = model.to(dtype)
    size = sum(
        parameter.numel() * parameter.element_size() for parameter in model.parameters()
    )
    released = entry["parameters"] * dtype.itemsize
    files = -(-released // FILE)
    largest = max(
        parameter.numel() * parameter.element_size() for parameter in model.parameters()
    )
    model.save_pretrained(folder, max_shard_size=int(max(size / files, largest)))
    _add_masks(folder, shape, config)
    _write_tokenizer(tokenizer, shape, folder)
    (folder / PICKLED).write_bytes(b"a pickle, which is never fetched")
    return folder


def _rows(shape: Shape) -> int:
    """Rows of the tiny vocabulary: as many for each released one, and a multiple of 8
    as released ones are."""
    return min(shape.rows // 64, MOST_ROWS) // 8 * 8


def _config(shape: Shape, layers: int, dtype: Any, ids: dict[str, int | None]) -> Any:
    import transformers

    heads = max(shape.heads // 8, 1)
    width = heads * HEAD if shape.heads else max(shape.width // 64, 16)
    inner = max(shape.inner * width // max(shape.width, 1) // 8, 1) * 8
    key_heads = max(shape.key_heads // 8, 1) if shape.key_heads else heads
    settings = shape.settings | ids | {"vocab_size": _rows(shape), "dtype": dtype}
    if "word_embed_proj_dim" in settings:
        settings["word_embed_proj_dim"] = (
            settings["word_embed_proj_dim"] * width // shape.width
        )
    if shape.kind == "mamba":
        return transformers.MambaConfig(
            hidden_size=width, num_hidden_layers=layers, **settings
        )
    settings |= {"hidden_size": width, "max_position_embeddings": shape.context}
    if shape.kind == "gpt_neo":
        attention = [[["global", "local"], layers // 2]]
        return transformers.GPTNeoConfig(
            num_layers=layers,
            num_heads=heads,
            attention_types=attention,
            window_size=256,
            **settings,
        )
    settings |= {"num_hidden_layers": layers, "num_attention_heads": heads}
    if shape.kind == "opt":
        return transformers.OPTConfig(ffn_dim=inner, **settings)
    settings["intermediate_size"] = inner
    if shape.kind != "gpt_neox":
        settings["num_key_value_heads"] = key_heads
    return transformers.AutoConfig.for_model(shape.kind, **settings)


def _ids(tokenizer: Any, kind: str) -> dict[str, int | None]:
    """The special tokens' numbers as config.json has them."""
    names = {
        "gpt_neox": ("<|endoftext|>", "<|endoftext|>", None),
        "gpt2": ("<|endoftext|>", "<|endoftext|>", None),
        "opt": ("</s>", "</s>", "<pad>"),
        "llama": ("<s>", "</s>", None),
        "qwen2": ("<|endoftext|>", "<|endoftext|>", None),
    }[kind]
    keys = ("bos_token_id", "eos_token_id", "pad_token_id")
    return {
        key: None if name is None else tokenizer.token_to_id(name)
        for key, name in zip(keys, names, strict=True)
    }


def _add_masks(folder: Path, shape: Shape, config: Any) -> None:
    """Add the masks and rotary frequencies that the released files hold beside the
    weights."""
    import torch
    from safetensors.torch import load_file, save_file

    path = min(folder.glob("model*.safetensors"))
    tensors = load_file(path)
    added = dict(_masks(shape, config.num_hidden_layers, torch))
    save_file(tensors | added, path, metadata={"format": "pt"})
    index = folder / "model.safetensors.index.json"
    if index.is_file():
        content = json.loads(index.read_text(encoding="utf-8"))
        content["weight_map"] |= dict.fromkeys(added, path.name)
        index.write_text(
            json.dumps(content, indent=2, sort_keys=True), encoding="utf-8"
        )


def _masks(shape: Shape, layers: int, torch: Any) -> Iterator[tuple[str, Any]]:
    # what LLaMA computes: theta ** (-2i / d), theta 10,000
    rotary = 10_000.0 ** (-torch.arange(0, HEAD, 2) / HEAD)
    for layer in range(layers):
        if shape.masks == "gpt_neox":
            place = f"gpt_neox.layers.{layer}.attention"
            causal = torch.ones(shape.context, shape.context, dtype=torch.bool).tril()
            yield f"{place}.bias", causal[None, None].contiguous()
            yield f"{place}.masked_bias", torch.tensor(-1e9)
            yield f"{place}.rotary_emb.inv_freq", torch.ones(1)
        elif shape.masks == "gpt_neo":
            place = f"transformer.h.{layer}.attn.attention"
            causal = torch.ones(shape.context, shape.context, dtype=torch.bool).tril()
            yield f"{place}.bias", causal[None, None].contiguous()
            yield f"{place}.masked_bias", torch.tensor(-1e9)
        elif shape.masks == "llama":
            yield f"model.layers.{layer}.self_attn.rotary_emb.inv_freq", rotary.clone()


@cache
def _corpus() -> list[str]:
    """Text that the tokenizers learn from, of the made-up kinds that the data sets
    hold."""
    import random

    draw = random.Random(11)
    english = [made.words(draw, 60) for _ in range(200)]
    chinese = [made.chinese(draw, 60) for _ in range(100)]
    code = [
        "def mean(values):\n    return sum(values) / len(values)\n",
        "Question: Which?\nA. B. C. D.\nAnswer:",
    ]
    return english + chinese + code


@cache
def _tokenizer(kind: str, rows: int) -> Any:
    """A `tokenizers.Tokenizer` of the kind, of fewer tokens than the model's vocabulary
    has rows."""
    if kind == "llama":
        return _sentencepiece(rows - 4)
    return _byte_level(kind, rows - 4)


def _byte_level(kind: str, size: int) -> Any:
    from tokenizers import (
        Tokenizer,
        decoders,
        models,
        normalizers,
        pre_tokenizers,
        processors,
        trainers,
    )
    from transformers import Qwen2Tokenizer

    first = {
        "gpt_neox": ["<|endoftext|>", "<|padding|>"],
        "opt": ["<s>", "<pad>", "</s>", "<unk>"],
    }.get(kind, [])
    last = {
        "gpt2": ["<|endoftext|>"],
        "qwen2": ["<|endoftext|>", "<|im_start|>", "<|im_end|>"],
    }.get(kind, [])
    tokenizer = Tokenizer(models.BPE())
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    if kind == "gpt_neox":
        tokenizer.normalizer = normalizers.NFC()
    elif kind == "qwen2":
        its = Qwen2Tokenizer().backend_tokenizer
        tokenizer.normalizer, tokenizer.pre_tokenizer = (
            its.normalizer,
            its.pre_tokenizer,
        )
    tokenizer.decoder = decoders.ByteLevel()
    tokenizer.post_processor = processors.ByteLevel(trim_offsets=False)
    trainer = trainers.BpeTrainer(
        vocab_size=size - len(last), special_tokens=first, show_progress=False,
        initial_alphabet=sorted(pre_tokenizers.ByteLevel.alphabet()),
    )  # fmt: skip
    tokenizer.train_from_iterator(_corpus(), trainer)
    tokenizer.add_special_tokens(last)
    return tokenizer


def put_blank_first(tokenizer: Any) -> None:
    """Have a tokenizer write blanks as `▁` and put one before a text, as SentencePiece
    does for LLaMA and Mistral."""
    from tokenizers import decoders, normalizers

    tokenizer.normalizer = normalizers.Sequence(
        [normalizers.Prepend("▁"), normalizers.Replace(" ", "▁")]
    )
    tokenizer.decoder = decoders.Sequence(
        [
            decoders.Replace("▁", " "),
            decoders.ByteFallback(),
            decoders.Fuse(),
            decoders.Strip(" ", 1, 0),
        ]
    )


def _sentencepiece(size: int) -> Any:
    """Llama's: SentencePiece's BPE with bytes for what it does not know, and <s> before
    a text."""
    from tokenizers import (
        Tokenizer,
        models,
        pre_tokenizers,
        processors,
        trainers,
    )

    special, bytes_ = (
        ["<unk>", "<s>", "</s>"],
        [f"<0x{byte:02X}>" for byte in range(256)],
    )
    tokenizer = Tokenizer(models.BPE())
    tokenizer.pre_tokenizer = pre_tokenizers.Metaspace()
    # of a small vocabulary, as Llama's, Chinese characters are bytes
    characters = 600 if size > 1000 else 60
    trainer = trainers.BpeTrainer(
        vocab_size=size,
        special_tokens=special + bytes_,
        limit_alphabet=characters,
        show_progress=False,
    )
    tokenizer.train_from_iterator(_corpus(), trainer)
    parts = json.loads(tokenizer.to_str())
    parts["added_tokens"] = [
        token for token in parts["added_tokens"] if token["content"] in special
    ]
    parts["model"] |= {"byte_fallback": True, "fuse_unk": True, "unk_token": "<unk>"}
    parts["pre_tokenizer"] = None
    tokenizer = Tokenizer.from_str(json.dumps(parts))
    put_blank_first(tokenizer)
    tokenizer.post_processor = processors.TemplateProcessing(
        single="<s> $A", pair="<s> $A <s> $B", special_tokens=[("<s>", 1)]
    )
    return tokenizer


_CLASSES: dict[str, dict[str, Any]] = {
    "gpt_neox": {"tokenizer_class": "GPTNeoXTokenizer", "bos_token": "<|endoftext|>",
                 "eos_token": "<|endoftext|>",
                 "unk_token": "<|endoftext|>", "add_prefix_space": False},
    "gpt2": {"tokenizer_class": "GPT2Tokenizer", "bos_token": "<|endoftext|>",
             "eos_token": "<|endoftext|>",
             "unk_token": "<|endoftext|>", "add_bos_token": False,
             "add_prefix_space": False, "errors": "replace",
             "model_max_length": 2048},
    "opt": {"tokenizer_class": "GPT2Tokenizer", "bos_token": "</s>",
            "eos_token": "</s>", "unk_token": "</s>",
            "pad_token": "<pad>", "add_bos_token": True, "add_prefix_space": False,
            "errors": "replace"},
    "llama": {"tokenizer_class": "LlamaTokenizer", "bos_token": "<s>",
              "eos_token": "</s>", "unk_token": "<unk>",
              "add_bos_token": True, "add_eos_token": False,
              "clean_up_tokenization_spaces": False,
              "model_max_length": 10**30, "sp_model_kwargs": {}},
    "qwen2": {"tokenizer_class": "Qwen2Tokenizer", "bos_token": None,
              "eos_token": "<|endoftext|>", "unk_token": None,
              "pad_token": "<|endoftext|>", "add_prefix_space": False,
              "errors": "replace",
              "model_max_length": 32768, "split_special_tokens": False},
}  # fmt: skip
"""tokenizer_config.json of each kind."""


def _write_tokenizer(tokenizer: Any, shape: Shape, folder: Path) -> None:
    """Write the files that the kind's repositories have; those of GPT-2's kind have no
    tokenizer.json."""
    kind = shape.tokenizer
    if kind not in ("gpt2", "opt"):
        tokenizer.save(str(folder / "tokenizer.json"))
    if kind in ("gpt2", "opt", "qwen2"):
        tokenizer.model.save(str(folder))
    settings = _CLASSES[kind]
    if shape.chat:
        settings = settings | {"chat_template": shape.chat}
    (folder / "tokenizer_config.json").write_text(
        json.dumps(settings, indent=2), encoding="utf-8"
    )
    tokens = {
        key: value
        for key, value in settings.items()
        if key.endswith("_token") and isinstance(value, str)
    }
    (folder / "special_tokens_map.json").write_text(
        json.dumps(tokens), encoding="utf-8"
    )
