"""A LoRA adapter is read on its base, not merged; one that does not fit is refused, and
so is a base that a model cannot be compared with."""

import json
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest
import torch
import transformers
from peft import LoraConfig, PeftModel, get_peft_model
from safetensors.torch import load_file, save_file

from pretrace.models.adapters import read_adapter, register_adapter
from pretrace.models.bases import check_base
from pretrace.models.checkpoint import (
    ADAPTER,
    ADAPTER_WEIGHTS,
    CHAT_TEMPLATES,
    Checkpoint,
    register_local,
)
from pretrace.models.target import load_checkpoint
from pretrace.runtime.errors import InputError
from tiny_models import tiny_model

IDS = torch.tensor([[5, 17, 40, 101, 7, 250, 33]])
MODULE = "base_model.model.model.layers.0.self_attn.q_proj.lora_B.weight"


@pytest.fixture(scope="module")
def made(tmp_path_factory) -> Path:
    """A folder with a base and an adapter of it, whose matrices are random."""
    folder = tmp_path_factory.mktemp("adapters")
    base = tiny_model("llama", folder / "base")
    torch.manual_seed(0)
    settings = LoraConfig(
        r=4,
        lora_alpha=16,
        target_modules=["q_proj", "down_proj"],
        init_lora_weights=False,
        task_type="CAUSAL_LM",
    )
    whole = transformers.AutoModelForCausalLM.from_pretrained(base)
    get_peft_model(whole, settings).save_pretrained(folder / "lora")
    return folder


@pytest.fixture
def folder(made: Path, tmp_path: Path) -> Path:
    shutil.copytree(made, tmp_path / "made")
    return tmp_path / "made"


def registered(folder: Path) -> Checkpoint:
    base = register_local(folder / "base", folder / "records" / "base.json")
    return register_adapter(folder / "lora", base, folder / "records" / "lora.json")


def logits(model) -> torch.Tensor:
    with torch.inference_mode():
        return model(input_ids=IDS).logits


def test_an_adapter_gives_what_peft_gives_when_it_is_merged(folder):
    checkpoint = registered(folder)
    record = folder / "records" / "lora.json"
    read = logits(load_checkpoint(record, dtype="float32", device="cpu").load())
    load = transformers.AutoModelForCausalLM.from_pretrained
    alone = logits(load(folder / "base"))
    merged = PeftModel.from_pretrained(load(folder / "base"), str(folder / "lora"))
    expected = logits(merged.merge_and_unload())
    assert (read - expected).abs().max() < 1e-4 * expected.abs().max()
    assert (read - alone).abs().max() > 0.01 * expected.abs().max()
    assert load_checkpoint(record, device="cpu").digest == checkpoint.digest


def test_the_digest_is_of_the_adapter_and_of_its_base(folder):
    first = registered(folder).digest
    changed(folder, lambda weights: weights | {MODULE: weights[MODULE] + 1})
    second = registered(folder).digest
    shutil.rmtree(folder / "base")
    tiny_model("llama", folder / "base", seed=1)
    assert len({first, second, registered(folder).digest}) == 3


def changed(folder: Path, change: Callable) -> None:
    file = folder / "lora" / ADAPTER_WEIGHTS
    save_file(change(load_file(file)), file)


def configured(folder: Path, **keys) -> None:
    file = folder / "lora" / ADAPTER
    file.write_text(json.dumps(json.loads(file.read_text()) | keys))


def pickled(folder: Path) -> None:
    (folder / "lora" / ADAPTER_WEIGHTS).rename(folder / "lora" / "adapter_model.bin")


def narrower(folder: Path) -> None:
    changed(folder, lambda weights: weights | {MODULE: weights[MODULE][:8].clone()})


def of_another_kind(folder: Path) -> None:
    shutil.rmtree(folder / "base")
    tiny_model("gpt_neox", folder / "base")


FAULTS = {
    "no LoRA": (
        lambda folder: configured(folder, peft_type="IA3"),
        "peft_type is 'IA3'",
    ),
    "no settings": (
        lambda folder: (folder / "lora" / ADAPTER).write_text("[]"),
        "peft_type is None",
    ),
    "no file of settings": (
        lambda folder: (folder / "lora" / ADAPTER).unlink(),
        "has no adapter_config.json",
    ),
    "a pickle": (pickled, "save the adapter as safetensors.*Pickled weights"),
    "a damaged file": (
        lambda folder: (folder / "lora" / ADAPTER_WEIGHTS).write_bytes(b"{}"),
        "not a safetensors file",
    ),
    "an activated LoRA": (
        lambda folder: configured(folder, alora_invocation_tokens=[5]),
        "adapter_config.json: .*alora_invocation_tokens",
    ),
}


@pytest.mark.parametrize("fault", FAULTS)
def test_an_adapter_that_does_not_fit_is_refused_in_a_sentence(folder, fault):
    change, says = FAULTS[fault]
    change(folder)
    with pytest.raises(InputError, match=says) as refused:
        registered(folder)
    assert len(str(refused.value)) < 500


@pytest.mark.parametrize("name", ["lora/" + ADAPTER_WEIGHTS, "base/model.safetensors"])
def test_an_adapter_or_base_that_is_replaced_later_is_not_read(folder, name):
    registered(folder)
    file = folder / name
    weights = load_file(file)
    save_file({key: value + 1 for key, value in weights.items()}, file)
    target = load_checkpoint(folder / "records" / "lora.json", device="cpu")
    with pytest.raises(InputError, match="not the file that checkpoint"):
        target.load()


def grown(folder: Path) -> None:
    configured(folder, modules_to_save=["embed_tokens"])
    table = {"base_model.model.model.embed_tokens.weight": torch.zeros(330, 32)}
    changed(folder, lambda weights: weights | table)


def without_effect(folder: Path) -> None:
    def zeros(weights):
        return {name: value * ("lora_A" in name) for name, value in weights.items()}

    changed(folder, zeros)


MISFITS = {
    "other shapes": (narrower, r"not an adapter of .*base=.*size mismatch.*q_proj"),
    "other modules": (of_another_kind, r"not an adapter of .*base=.*q_proj"),
    "a weight too many": (
        lambda folder: changed(
            folder, lambda weights: weights | {"base_model.model.no.lora_A.bias": IDS}
        ),
        r"does not fit.*no\.lora_A",
    ),
    "a weight too few": (
        lambda folder: changed(
            folder,
            lambda weights: {name: weights[name] for name in weights if name != MODULE},
        ),
        r"does not fit.*q_proj\.lora_B",
    ),
    "more tokens": (grown, r"for 330 tokens.*has 320\. .*resize_token_embeddings\(330"),
    "untrained": (without_effect, "changes no prediction of .*lora_B are zero"),
    "switched off": (
        lambda folder: configured(folder, lora_alpha=0),
        "changes no prediction of ",
    ),
}


@pytest.mark.parametrize("fault", MISFITS)
def test_an_adapter_that_peft_would_misread_or_leave_out_is_refused(folder, fault):
    change, says = MISFITS[fault]
    change(folder)
    registered(folder)
    target = load_checkpoint(folder / "records" / "lora.json", device="cpu")
    with pytest.raises(InputError, match=says) as refused:
        target.load()
    assert len(str(refused.value)) < 700


SIZES = {
    "vocab_size": 320,
    "hidden_size": 32,
    "num_hidden_layers": 1,
    "num_attention_heads": 4,
}
KINDS = {
    "embeddings": {"target_modules": ["embed_tokens"]},
    "tied embeddings": {
        "target_modules": ["embed_tokens"],
        "ensure_weight_tying": True,
        "tied": True,
    },
    "output of tied embeddings": {"target_modules": ["lm_head"], "tied": True},
    "all matrices": {"target_modules": "all-linear"},
    "patterns": {
        "target_modules": ["q_proj", "down_proj"],
        "rank_pattern": {"q_proj": 2},
        "use_rslora": True,
    },
    "DoRA": {"target_modules": ["q_proj"], "use_dora": True},
    "a few tokens": {"target_modules": ["q_proj"], "trainable_token_indices": [5, 7]},
    "saved whole": {"target_modules": ["q_proj"], "modules_to_save": ["lm_head"]},
    "PiSSA": {"target_modules": ["q_proj"], "init_lora_weights": "pissa"},
    "experts": {"target_parameters": ["mlp.experts.gate_up_proj"], "experts": True},
}


def adapted(folder: Path, *, tied=False, experts=False, **settings) -> Path:
    """An adapter with random numbers on a base of its kind, and its base; the record of
    both."""
    kind = transformers.OlmoeConfig if experts else transformers.LlamaConfig
    # twice as wide as an expert, so that shapes do not tell rows from columns
    sizes = SIZES | {"intermediate_size": 16, "tie_word_embeddings": tied}
    if experts:
        sizes |= {"num_experts": 4, "num_experts_per_tok": 2}
    torch.manual_seed(0)
    model = transformers.AutoModelForCausalLM.from_config(kind(**sizes))
    tiny_model("llama", folder / "base")
    model.save_pretrained(folder / "base")
    changed_model = get_peft_model(model, LoraConfig(r=4, **settings))
    with torch.no_grad():
        for weight in changed_model.parameters():
            if weight.requires_grad:
                weight.add_(0.3 * torch.randn_like(weight))
    changed_model.save_pretrained(folder / "lora")
    registered(folder)
    return folder / "records" / "lora.json"


@pytest.mark.parametrize("kind", KINDS)
def test_each_kind_of_adapter_gives_what_peft_gives(kind, tmp_path):
    record = adapted(tmp_path, **KINDS[kind])
    read = logits(load_checkpoint(record, dtype="float32", device="cpu").load())
    base = transformers.AutoModelForCausalLM.from_pretrained(tmp_path / "base")
    expected = logits(PeftModel.from_pretrained(base, str(tmp_path / "lora")))
    assert (read - expected).abs().max() < 1e-4 * expected.abs().max()


@pytest.mark.parametrize("version", ["0.18.1", None])
def test_matrices_of_experts_in_the_older_layout_are_refused(version, tmp_path):
    record = adapted(tmp_path, **KINDS["experts"])
    configured(tmp_path, peft_version=version)
    registered(tmp_path)
    with pytest.raises(InputError, match=rf"peft_version is {version}.*gate_up_proj"):
        load_checkpoint(record, device="cpu").load()


def test_low_rank_matrices_of_each_expert_are_read_as_peft_reads_them(tmp_path):
    record = adapted(tmp_path, **KINDS["experts"])
    weights = {}
    for expert in range(4):
        for name, (rows, columns) in {
            "gate_proj": (16, 32),
            "up_proj": (16, 32),
            "down_proj": (32, 16),
        }.items():
            module = f"base_model.model.model.layers.0.mlp.experts.{expert}.{name}"
            weights[f"{module}.lora_A.weight"] = torch.randn(4, columns)
            weights[f"{module}.lora_B.weight"] = torch.randn(rows, 4)
    changed(tmp_path, lambda _: weights)
    targets = ["gate_proj", "up_proj", "down_proj"]
    configured(tmp_path, target_modules=targets, target_parameters=None)
    registered(tmp_path)
    read = logits(load_checkpoint(record, dtype="float32", device="cpu").load())
    base = transformers.AutoModelForCausalLM.from_pretrained(tmp_path / "base")
    expected = logits(PeftModel.from_pretrained(base, str(tmp_path / "lora")))
    assert (read - expected).abs().max() < 1e-4 * expected.abs().max()


@pytest.mark.parametrize("name", CHAT_TEMPLATES)
def test_a_chat_template_beside_the_adapter_is_used_and_hashed(folder, name):
    before = registered(folder)
    template = "{{ messages[0].content }}"
    text = (
        template if name.endswith("jinja") else json.dumps({"chat_template": template})
    )
    (folder / "lora" / name).write_text(text)
    assert registered(folder).digest != before.digest
    target = load_checkpoint(folder / "records" / "lora.json", device="cpu")
    assert target.tokenizer.chat_template == template


def test_a_base_with_other_tokens_or_the_same_weights_is_refused(folder):
    registered(folder)
    tiny_model("llama", folder / "other", seed=1)
    shutil.copytree(folder / "other", folder / "upper")
    tokenizer = json.loads((folder / "upper" / "tokenizer.json").read_text())
    tokenizer["normalizer"] = {"type": "Lowercase"}
    (folder / "upper" / "tokenizer.json").write_text(json.dumps(tokenizer))
    for name in ("other", "upper"):
        register_local(folder / name, folder / "records" / f"{name}.json")
    records = {path.stem: path for path in (folder / "records").glob("*.json")}
    texts = ["", "lower case", "The people of the United States"]
    check_base(records["lora"], records["base"], ("tuned", "base"), texts)
    check_base(records["other"], records["base"], ("tuned", "base"), texts)
    with pytest.raises(InputError, match="base has the same weights as tuned"):
        check_base(records["base"], records["base"], ("tuned", "base"), texts)
    with pytest.raises(InputError, match="begins with 'The people of the"):
        check_base(records["upper"], records["base"], ("tuned", "base"), texts)


def test_an_adapter_says_what_it_was_trained_on(folder):
    assert Path(read_adapter(folder / "lora").base).name == "base"
    configured(folder, base_model_name_or_path=None, revision="abc")
    assert read_adapter(folder / "lora").base == ""
    assert read_adapter(folder / "lora").revision == "abc"
