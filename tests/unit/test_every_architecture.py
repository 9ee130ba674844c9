"""Every causal class of transformers, tiny: read as plain transformers reads it, one
text at a time, or refused."""

import shutil
from pathlib import Path

import numpy as np
import pytest
import torch
import transformers
from made_up_jobs import expected_statistics, target_of
from transformers.models.auto.configuration_auto import CONFIG_MAPPING
from transformers.models.auto.modeling_auto import MODEL_FOR_CAUSAL_LM_MAPPING_NAMES

import tiny_models
from pretrace.models.checkpoint import register_local
from pretrace.passes.engine import Engine
from pretrace.passes.prompt_prefix import PromptPrefix
from pretrace.passes.requests import Request
from pretrace.runtime.errors import InputError

GUIDE = Path(__file__).parents[2] / "docs" / "add_a_model.md"
TOLERANCE = 1e-4
# weights: a class whose tiny configuration has more has sizes of other names
LARGEST = 1e8
SMALL = {
    **dict.fromkeys(
        ("hidden_size", "n_embd", "d_model", "embedding_size", "word_embed_proj_dim",
         "lru_width",
         "moe_intermediate_size", "shared_expert_intermediate_size"), 32),
    **dict.fromkeys(
        ("intermediate_size", "ffn_dim", "d_ff", "ffn_hidden_size", "encoder_ffn_dim",
         "decoder_ffn_dim",
         "attention_hidden_size"), 64),
    **dict.fromkeys(
        ("num_hidden_layers", "n_layer", "n_layers", "num_layers", "encoder_layers",
         "decoder_layers",
         "num_key_value_heads", "num_experts_per_tok", "linear_num_key_heads",
         "mamba_expand",
         "global_attn_every_n_layers"), 2),
    **dict.fromkeys(
        ("num_attention_heads", "n_head", "n_heads", "num_heads",
         "encoder_attention_heads", "num_experts",
         "decoder_attention_heads", "num_local_experts", "n_routed_experts",
         "moe_num_experts", "mamba_d_conv",
         "linear_num_value_heads", "linear_num_heads", "use_mem_rank", "adapter_rank"),
         4),
    **dict.fromkeys(
        ("head_dim", "state_size", "qk_rope_head_dim", "qk_nope_head_dim", "v_head_dim",
         "rotary_dim",
         "linear_head_dim", "linear_key_head_dim", "linear_value_head_dim",
         "mamba_n_heads", "mamba_d_head",
         "mamba_d_state",
         "mamba_num_heads", "mamba_head_dim", "mamba_headdim", "ssm_state_size",
         "time_step_rank",
         "hidden_size_per_layer_input"), 8),
    **dict.fromkeys(
        ("q_lora_rank", "kv_lora_rank", "attention_window", "attention_chunk_size",
         "local_attention", "chunk_size",
         "mamba_chunk_size", "attention_head_dim"), 16),
    **dict.fromkeys(
        ("n_group", "topk_group", "first_k_dense_replace", "mamba_n_groups", "n_groups",
         "num_memory_blocks",
         "expert_interval", "n_mamba_heads", "mamba_ngroups", "bos_token_id"), 1),
    **dict.fromkeys(("vocab_size", "vocab_size_per_layer_input"),
                    tiny_models.VOCABULARY),
    **dict.fromkeys(("max_position_embeddings", "n_positions", "max_seq_len"),
                    tiny_models.CONTEXT),
    **dict.fromkeys(("sliding_window", "attention_window_size"), tiny_models.WINDOW),
    **dict.fromkeys(("use_kernels", "use_mamba_kernels"), False),
    "eos_token_id": 0, "pad_token_id": 3, "is_decoder": True,
}  # fmt: skip
"""The sizes of a tiny model, by every name that an architecture has for them; relatives
of BERT as decoders."""
KINDS = ["sliding_attention", "full_attention"]
OWN = {
    "falcon_h1": {"mamba_d_ssm": 64},
    "gemma3n_text": {
        "num_hidden_layers": 4, "layer_types": KINDS * 2, "num_kv_shared_layers": 2,
        "laurel_rank": 4,
        "altup_num_inputs": 2, "activation_sparsity_pattern": [0.0] * 4,
    },
    "gemma4_text": {"global_head_dim": 8, "layer_types": KINDS,
                    "num_kv_shared_layers": 0},
    "gpt_neo": {"attention_types": [[["global", "local"], 1]],
                "window_size": tiny_models.WINDOW},
    "lfm2_moe": {"num_dense_layers": 1, "layer_types": ["conv", "full_attention"]},
    "mamba2": {"num_heads": 8},
    "xmod": {"default_language": "en_XX"},
    "zamba2": {
        "num_hidden_layers": 3, "layers_block_type": ["mamba", "hybrid", "mamba"],
        "num_key_value_heads": 4,
        "n_mamba_heads": 8, "num_mem_blocks": 1, "use_mem_rope": True,
    },
}  # fmt: skip
"""What some configurations need besides."""
GENERATOR = np.random.default_rng(0)
TEXTS = [GENERATOR.integers(4, 299, size).tolist() for size in (3, 9, 17, 30, 47, 60)]
SHOTS = (tuple(range(5, 19)), tuple(GENERATOR.integers(4, 299, 23).tolist()))
READINGS = (PromptPrefix(()), PromptPrefix((1,)), PromptPrefix((1,), SHOTS))


def tiny_config(kind):
    sizes = SMALL | OWN.get(kind, {})
    config = CONFIG_MAPPING[kind]()
    text = config.get_text_config()
    names = {*vars(text), *text.attribute_map}
    known = {}
    for name, value in sizes.items():
        if name in names and (
            name in OWN.get(kind, {})
            or not isinstance(vars(text).get(name), (list, dict))
        ):
            known[name] = value
    if text is config:
        return CONFIG_MAPPING[kind](**known)
    part = next(name for name, value in vars(config).items() if value is text)
    return CONFIG_MAPPING[kind](**{part: type(text)(**known).to_dict()})


def build(kind, folder):
    """Save a tiny model of the kind; whatever a class raises that needs other settings
    than these."""
    torch.manual_seed(0)
    config = tiny_config(kind)
    made = transformers.AutoModelForCausalLM.from_config
    with torch.device("meta"):
        weights = sum(weight.numel() for weight in made(config).parameters())
    assert weights < LARGEST, f"{weights} weights"
    model = made(tiny_config(kind), dtype=torch.float32)
    with torch.no_grad():
        for weight in model.parameters():
            if weight.dim() > 1:
                weight.mul_(3.0)
    model.save_pretrained(folder)
    tiny_models.tiny_tokenizer().save_pretrained(folder)


def farthest(folder):
    """The largest distance, in nats, of a log-probability from plain transformers', in
    batches of all lengths."""
    record = folder.parent / "checkpoint.json"
    register_local(folder, record)
    target = target_of(record)
    engine = Engine(target.load(), folder.parent.name, 4096)
    plain = (
        type(engine.features.model).from_pretrained(folder, dtype=torch.float32).eval()
    )
    off = []
    for prompt_prefix in READINGS:
        texts = list(TEXTS)
        if target.context == tiny_models.CONTEXT and not prompt_prefix.shots:
            # every place is one
            texts.append(GENERATOR.integers(4, 299, target.context - 1).tolist())
        requests = []
        for size, text in enumerate(texts):
            requests.append(Request(str(size), 0, np.array(text, np.int32), len(text)))
        computed = engine.statistics(requests, prompt_prefix, statistics="full")
        for text, values in zip(texts, computed, strict=True):
            expected = expected_statistics(plain, prompt_prefix.ids, text)[0]
            off.append(float(np.abs(values[0] - expected).max()))
    return max(off)


def outcome(kind, folder):
    try:
        build(kind, folder)
    except Exception as error:
        return f"not built: {type(error).__name__}: {' '.join(str(error).split())[:90]}"
    try:
        off = farthest(folder)
    except InputError as error:
        return (
            f"refused: {error}"
            if len(str(error)) < 500
            else f"refused at length: {error}"
        )
    return "equal" if off <= TOLERANCE else f"off by {off:.2g} nats"


def names(kinds):
    return ", ".join(f"`{kind}`" for kind in kinds)


@pytest.mark.full
def test_every_causal_class_is_read_as_transformers_reads_it_or_refused(tmp_path):
    """And the guide says how many are, of the installed version: renew its sentence
    with a new transformers."""
    outcomes = {}
    for kind in sorted(MODEL_FOR_CAUSAL_LM_MAPPING_NAMES):
        try:
            outcomes[kind] = outcome(kind, tmp_path / kind / "model")
        except Exception as error:
            outcomes[kind] = f"{type(error).__name__}: {error}"
        shutil.rmtree(tmp_path / kind, ignore_errors=True)
    for kind, said in outcomes.items():
        print(f"{kind}: {said}")
    of = {}
    for result in ("equal", "refused", "not built"):
        of[result] = [
            kind for kind, said in outcomes.items() if said.partition(":")[0] == result
        ]
    wrong = outcomes.keys() - {kind for kinds in of.values() for kind in kinds}
    assert not wrong, {kind: outcomes[kind] for kind in wrong}
    sentence = (
        f"Of the {len(outcomes)} causal language models of transformers "
        f"{transformers.__version__}, {len(of['equal'])} give log-probabilities within "
        f"0.0001 nats of plain transformers', {len(of['refused'])} are refused "
        f"({names(of['refused'])}), and {len(of['not built'])} are not tried, because "
        f"the test has no tiny configuration of them ({names(of['not built'])})."
    )
    assert sentence in " ".join(GUIDE.read_text(encoding="utf-8").split()), sentence
