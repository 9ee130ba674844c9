#!/usr/bin/env bash
# A LoRA trained on the single experts of Qwen2-MoE loads without an error, and none of it acts
#
# Versions: peft 0.21.2, transformers 5.23.0, torch 2.13.0 (CPU).
# Source: made here: a tiny random model of each architecture, and an adapter file with a pair of matrices for each
# expert, named as adapters were named while transformers kept an expert as three modules (before release 5).
# Behaviour: transformers 5 keeps the experts of a layer as one tensor. peft converts such files for some architectures:
# OLMoE's adapter changes the model's output. It does so for Qwen2-MoE, too, by its own table, but the adapter of
# Qwen2-MoE changes nothing: loading raises nothing and the logits are equal to the base model's, bit by bit. Who scores
# texts with such an adapter scores the base model. (A file with a pair of matrices for the attention acts in both.)
#
# Seen:
#   olmoe: experts change the logits: True, attention changes them: True
#   qwen2_moe: experts change the logits: False, attention changes them: True
set -euo pipefail
folder=$(mktemp --directory)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
python3 -m venv .venv
.venv/bin/pip install --quiet peft==0.21.2 transformers==5.23.0 torch==2.13.0 2> pip.log || { cat pip.log; exit 1; }

cat > try.py <<'PYTHON'
import json
import sys
import warnings
from pathlib import Path

import torch
from peft import PeftModel
from safetensors.torch import save_file
from transformers import AutoConfig, AutoModelForCausalLM

warnings.simplefilter("ignore")
SIZES = dict(
    vocab_size=32,
    hidden_size=16,
    intermediate_size=16,
    moe_intermediate_size=16,
    shared_expert_intermediate_size=16,
    num_hidden_layers=1,
    num_attention_heads=2,
    num_key_value_heads=2,
    num_experts=4,
    num_experts_per_tok=4,
)


def adapter(folder, modules):
    """Write a LoRA of rank 2 with a pair of matrices for each module."""
    folder = Path(folder)
    folder.mkdir()
    tensors = {}
    for module in modules:
        name = f"base_model.model.model.layers.0.{module}"
        tensors[f"{name}.lora_A.weight"] = torch.randn(2, 16)
        tensors[f"{name}.lora_B.weight"] = torch.randn(16, 2)
    save_file(tensors, folder / "adapter_model.safetensors")
    settings = {
        "peft_type": "LORA",
        "task_type": "CAUSAL_LM",
        "r": 2,
        "lora_alpha": 16,
        "target_modules": sorted({module.split(".")[-1] for module in modules}),
    }
    (folder / "adapter_config.json").write_text(json.dumps(settings))
    return folder


for kind in ("olmoe", "qwen2_moe"):
    torch.manual_seed(0)
    config = AutoConfig.for_model(kind, **SIZES)
    base = AutoModelForCausalLM.from_config(config).eval()
    base.save_pretrained(kind)
    tokens = torch.arange(1, 20)[None]
    with torch.no_grad():
        before = base(tokens).logits
    changed = {}
    for part, modules in {
        "experts": [
            f"mlp.experts.{expert}.{projection}"
            for expert in range(4)
            for projection in ("gate_proj", "up_proj", "down_proj")
        ],
        "attention": ["self_attn.q_proj", "self_attn.v_proj"],
    }.items():
        folder = adapter(f"{kind}-{part}", modules)
        fresh = AutoModelForCausalLM.from_pretrained(kind).eval()
        loaded = PeftModel.from_pretrained(fresh, folder).eval()
        with torch.no_grad():
            after = loaded(tokens).logits
        changed[part] = not torch.equal(before, after)
    print(
        f"{kind}: experts change the logits: {changed['experts']}, "
        f"attention changes them: {changed['attention']}"
    )
PYTHON

printed=$(.venv/bin/python try.py 2> python.log) || { cat python.log; exit 1; }
echo "$printed"
expected=${EXPECTED:-"olmoe: experts change the logits: True, attention changes them: True
qwen2_moe: experts change the logits: False, attention changes them: True"}
[ "$printed" = "$expected" ] || { echo "this is not what was seen; expected:"; echo "$expected"; exit 1; }
