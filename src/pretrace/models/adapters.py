"""A LoRA adapter in a folder: which model it changes, whether it fits, and that model
with it."""

import warnings
from collections.abc import Iterable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from pretrace.models.checkpoint import (
    ADAPTER,
    ADAPTER_WEIGHTS,
    IN_ADAPTER,
    Checkpoint,
    Tensor,
    record_checkpoint,
    tensors_in,
)
from pretrace.runtime.errors import InputError, explain_failure, shorten
from pretrace.runtime.files import digest, read_json, sha256_file
from pretrace.runtime.logs import log

_OF_PEFT = "base_model.model."
"""What peft puts before the name of each module that an adapter changes."""


@dataclass(frozen=True)
class Adapter:
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
    base = settings.get("base_model_name_or_path") or ""
    revision = settings.get("revision") or ""
    return Adapter(str(base), str(revision))


def register_adapter(
    folder: Path, base: Checkpoint, checkpoint_json: Path
) -> Checkpoint:
    """Record a LoRA adapter together with the checkpoint that it changes: the digest is
    of the files of both.

    Raises:
        InputError: `read_adapter` refuses it, or its matrices do not fit the model's.
    """
    read_adapter(folder)
    _check_shapes(folder, tensors_in(folder / ADAPTER_WEIGHTS), base)
    files = dict(base.files)
    for name in (ADAPTER, ADAPTER_WEIGHTS):
        files[IN_ADAPTER + name] = sha256_file(folder / name)
    checkpoint = replace(
        base,
        files=files,
        digest=digest(files),
        source=f"adapter on {base.source}",
        adapter=folder,
    )
    record_checkpoint(checkpoint, checkpoint_json)
    log.info("%s on %s: digest %s", folder, base.path, checkpoint.digest[:12])
    return checkpoint


def _check_shapes(folder: Path, adapter: Iterable[Tensor], base: Checkpoint) -> None:
    """Raise `InputError` unless each pair of low-rank matrices fits the matrix of that
    name in the base."""
    wide = {}
    high = {}
    for tensor in adapter:
        module, _, matrix = tensor.name.removeprefix(_OF_PEFT).partition(".lora_")
        if matrix == "A.weight":
            wide[module] = tensor.shape[1]
        elif matrix == "B.weight":
            high[module] = tensor.shape[0]
    shapes = {tensor.name: tensor.shape for tensor in base.tensors()}
    met = 0
    for module in sorted(wide.keys() & high.keys()):
        # a checkpoint's file may leave out, or add, the first part of a name
        names = [
            f"{module}.weight",
            f"{module.partition('.')[2]}.weight",
            f"model.{module}.weight",
        ]
        shape = next((shapes[name] for name in names if name in shapes), None)
        if shape is None:
            continue
        met += 1
        if sorted(shape) != sorted([high[module], wide[module]]):
            raise InputError(
                f"{folder} is an adapter of another model than {base.path}: it changes "
                f"{module} of {high[module]} x {wide[module]}, which has "
                f"{' x '.join(map(str, shape))} there. Name the model that it was "
                "trained on: base=..."
            )
    if wide and not met:
        raise InputError(
            f"{folder} is an adapter of another model than {base.path}, which has no "
            f"{min(wide)}. Name the model that it was trained on: base=..."
        )


def with_adapter(model: Any, checkpoint: Checkpoint) -> Any:
    """Return a model of transformers with the checkpoint's adapter in its layers, not
    merged.

    Raises:
        InputError: peft is missing, or cannot put every weight of the adapter into the
        model.
    """
    folder = checkpoint.adapter
    assert folder is not None
    try:
        from peft import PeftModel, get_peft_model_state_dict
    except ModuleNotFoundError as error:
        raise InputError(
            f"{folder} is an adapter, and the package {error.name} is not here: pip "
            "install 'pretrace[adapters]', or merge it into its model (peft: "
            "merge_and_unload) and name the merged folder."
        ) from error
    with explain_failure(f"peft cannot put the adapter {folder} on {checkpoint.path}"):
        with warnings.catch_warnings():
            # peft uses names that transformers will give up
            warnings.simplefilter("ignore", FutureWarning)
            wrapped = PeftModel.from_pretrained(model, str(folder), is_trainable=False)
        applied = set(get_peft_model_state_dict(wrapped))
    saved = {tensor.name for tensor in tensors_in(folder / ADAPTER_WEIGHTS)}
    lost = sorted(saved ^ applied)
    if lost:
        raise InputError(
            f"{folder} does not fit {checkpoint.path}: {shorten(lost[0])} and "
            f"{len(lost) - 1} more weights are in one of the two alone. Name the model "
            "that it was trained on: base=..."
        )
    return wrapped.get_base_model()
