"""A LoRA adapter in a folder: which model it changes, whether it fits, and that model
with it."""

import warnings
from dataclasses import replace
from pathlib import Path
from typing import Any, NamedTuple

from packaging.version import Version

from pretrace.models.checkpoint import (
    ADAPTER,
    ADAPTER_WEIGHTS,
    CHAT_TEMPLATES,
    IN_ADAPTER,
    Checkpoint,
    record_checkpoint,
    tensors_in,
)
from pretrace.runtime.errors import InputError, explain_failure, shorten
from pretrace.runtime.files import digest, read_json, sha256_file

_OF_PEFT = "base_model.model."
"""What peft puts before the name of each module that an adapter changes."""
_ADAPTER_NAME = ".default"
"""How peft calls the one adapter of a model in the names of its weights."""
_OF_EXPERTS = Version("0.19.0")
_PROBE = 8  # tokens


class Adapter(NamedTuple):
    """What a folder's adapter_config.json says: the model that it changes, an id of the
    hub or a folder ("": it names none), and the model's revision ("": any)."""

    base: str
    revision: str


def is_adapter(folder: Path) -> bool:
    """Return whether a folder holds an adapter alone, without a model beside it."""
    whole = [*folder.glob("model*.safetensors"), *folder.glob("pytorch_model*")]
    return (folder / ADAPTER).is_file() and not whole


def read_adapter(folder: Path) -> Adapter:
    """Read what a LoRA adapter's configuration says.

    Raises:
        InputError: the folder has no LoRA adapter with weights as safetensors; says
        what would be right.
    """
    file = folder / ADAPTER
    if not file.is_file():
        raise InputError(
            f"{folder} has no {ADAPTER}; name the folder of a LoRA adapter as peft "
            "saves it."
        )
    settings = read_json(file)
    kind = settings.get("peft_type") if isinstance(settings, dict) else None
    if kind != "LORA":
        raise InputError(
            f"{file}: peft_type is {shorten(repr(kind))}, and LORA alone is read. "
            "Merge the adapter into its model (peft: merge_and_unload), save that, and "
            "name its folder."
        )
    if not (folder / ADAPTER_WEIGHTS).is_file():
        pickled = ""
        if (folder / "adapter_model.bin").is_file():
            pickled = (
                " Pickled weights (adapter_model.bin) run any code that they hold."
            )
        raise InputError(
            f"{folder} has no {ADAPTER_WEIGHTS}: save the adapter as safetensors "
            f"(peft: save_pretrained).{pickled}"
        )
    if settings.get("alora_invocation_tokens"):
        raise InputError(
            f"{file}: an adapter with alora_invocation_tokens (activated LoRA) acts "
            "from those tokens on alone, and texts are scored from their first token. "
            "Name its model without the adapter, or an adapter of the usual kind."
        )
    base = settings.get("base_model_name_or_path") or ""
    revision = settings.get("revision") or ""
    return Adapter(str(base), str(revision))


def register_adapter(
    folder: Path, base: Checkpoint, checkpoint_json: Path
) -> Checkpoint:
    """Record a LoRA adapter together with the checkpoint that it changes: the digest is
    of the files of both.

    Raises:
        InputError: `read_adapter` refuses it, or its weights are damaged.
    """
    read_adapter(folder)
    tensors_in(folder / ADAPTER_WEIGHTS)
    files = dict(base.files)
    for name in (ADAPTER, ADAPTER_WEIGHTS, *CHAT_TEMPLATES):
        if (folder / name).is_file():
            files[IN_ADAPTER + name] = sha256_file(folder / name)
    checkpoint = replace(
        base,
        files=files,
        digest=digest(files),
        source=f"adapter on {base.source}",
        adapter=folder,
    )
    record_checkpoint(checkpoint, checkpoint_json)
    return checkpoint


def with_adapter(model: Any, checkpoint: Checkpoint) -> Any:
    """Return a model of transformers with the checkpoint's adapter in its layers, not
    merged.

    Raises:
        InputError: peft is missing, cannot put every weight of the adapter into the
        model, or the adapter changes no prediction.
    """
    folder = checkpoint.adapter
    assert folder is not None
    try:
        import peft
    except ModuleNotFoundError as error:
        raise InputError(
            f"{folder} is an adapter, and the package {error.name} is not here: pip "
            "install 'pretrace[adapters]', or merge it into its model (peft: "
            "merge_and_unload) and name the merged folder."
        ) from error
    _check_tokens(model, folder, checkpoint)
    _check_version(model, folder)
    with explain_failure(
        f"{folder} is not an adapter of {checkpoint.path}, or peft cannot read it "
        "(name the model that it was trained on: base=...)"
    ):
        with warnings.catch_warnings():
            # peft uses names that transformers will give up
            warnings.simplefilter("ignore", FutureWarning)
            wrapped = peft.PeftModel.from_pretrained(model, str(folder))
        # once more, because only this tells which weights found a place
        weights = peft.utils.load_peft_weights(str(folder), device="cpu")
        loading = peft.set_peft_model_state_dict(wrapped, weights)
    lacking = [name for name in loading.missing_keys if _ADAPTER_NAME in name]
    lost = sorted([*loading.unexpected_keys, *lacking])
    if lost:
        raise InputError(
            f"{folder} does not fit {checkpoint.path}: {shorten(lost[0])} and "
            f"{len(lost) - 1} more weights are in one of the two alone. Name the model "
            "that it was trained on: base=..."
        )
    _check_effect(wrapped, folder, checkpoint)
    return wrapped.get_base_model()


def _check_tokens(model: Any, folder: Path, checkpoint: Checkpoint) -> None:
    """Raise `InputError` for an adapter that has embeddings of more tokens than its
    model."""
    tables = [model.get_input_embeddings(), model.get_output_embeddings()]
    names = [name for name, module in model.named_modules() if module in tables]
    rows, width = tables[0].weight.shape
    for tensor in tensors_in(folder / ADAPTER_WEIGHTS):
        is_table = any(f"{_OF_PEFT}{name}." in tensor.name for name in names)
        most = max(tensor.shape)
        if is_table and most > rows and most != width:
            raise InputError(
                f"{folder} has {tensor.name} for {most} tokens, and {checkpoint.path} "
                f"has {rows}. Enlarge the model as it was for the training, merge the "
                "adapter, and name the merged folder: transformers' "
                f"model.resize_token_embeddings({most}), then peft's "
                "PeftModel.from_pretrained and merge_and_unload, then save_pretrained, "
                "the tokenizer's too."
            )


def _check_version(model: Any, folder: Path) -> None:
    """Raise `InputError` for low-rank matrices of experts in one tensor that an older
    peft saved with rows and columns exchanged."""
    settings = read_json(folder / ADAPTER)
    # older ones do not say it
    version = str(settings.get("peft_version") or "0").partition("@")[0]
    targets = tuple(settings.get("target_parameters") or ())
    if not targets or Version(version) >= _OF_EXPERTS:
        return
    for name, weight in model.named_parameters():
        module = model.get_submodule(name.rpartition(".")[0])
        is_exchanged = weight.dim() == 3 and not getattr(module, "is_transposed", False)
        if name.endswith(targets) and is_exchanged:
            raise InputError(
                f"{folder / ADAPTER}: peft_version is "
                f"{settings.get('peft_version')}, and peft {_OF_EXPERTS} changed the "
                f"layout of the matrices for {name}. Merge the adapter into its model "
                "with the peft that saved it (merge_and_unload), save that, and name "
                "its folder."
            )


def _check_effect(wrapped: Any, folder: Path, checkpoint: Checkpoint) -> None:
    """Raise `InputError` if the model predicts a few tokens as it does without the
    adapter."""
    import torch

    embed = wrapped.get_input_embeddings()
    common = torch.arange(wrapped.config.get_text_config().vocab_size)
    common = common.to(wrapped.device)
    with torch.inference_mode():
        own = embed(common)
        with wrapped.disable_adapter():
            changed = (embed(common) != own).any(-1)
        middle = common[len(common) // 3 :][:_PROBE]
        # an adapter may change the embeddings of a few tokens alone
        probe = torch.cat([common[changed][:_PROBE], middle])[None]
        logits = wrapped.get_base_model()(input_ids=probe, use_cache=False).logits
        with wrapped.disable_adapter():
            base = wrapped.get_base_model()(input_ids=probe, use_cache=False).logits
    if torch.equal(logits, base):
        raise InputError(
            f"{folder} changes no prediction of {checkpoint.path}: it is not trained "
            "(its matrices lora_A or lora_B are zero), or its settings switch it off. "
            "Name an adapter that acts, or the model alone."
        )
