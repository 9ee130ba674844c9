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
    "other shapes": (narrower, r"of another model.*q_proj of 8 x 32.*32 x 32 there"),
    "other modules": (of_another_kind, r"of another model.*which has no model\.layers"),
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


def test_weights_that_peft_would_leave_out_are_told(folder):
    changed(folder, lambda weights: weights | {"base_model.model.no.lora_A.bias": IDS})
    registered(folder)
    target = load_checkpoint(folder / "records" / "lora.json", device="cpu")
    with pytest.raises(InputError, match=r"does not fit.*no\.lora_A\.bias"):
        target.load()


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
