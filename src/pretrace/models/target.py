"""A target model: its tokenizer and facts at once, its weights when `load` is
called."""

from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import torch
import transformers

from pretrace.models.adapters import with_adapter
from pretrace.models.architecture import (
    check_causal,
    check_rotary,
    check_saved_frequencies,
    check_weights,
    context_of,
    loader_of,
    read_config,
)
from pretrace.models.checkpoint import Checkpoint, read_checkpoint
from pretrace.models.devices import hold_gpus
from pretrace.models.speeds import MEASURABLE, faster, products
from pretrace.models.tokens import load_config, load_tokenizer
from pretrace.runtime.errors import InputError, explain_failure
from pretrace.runtime.logs import log

# of a GPU's free memory, where several hold a model; the rest is for its work
_SHARE_FOR_WEIGHTS = 0.9
_TABLES = ("embed_tokens", "embed_in", "wte", "word_embeddings", "embeddings")
_EMBEDDINGS = tuple(f"{name}.weight" for name in _TABLES)
_WHOLE = ("F64", "F32", "F16", "BF16")


@dataclass(frozen=True)
class Target:
    """`vocabulary`: size of the output layer; `context`: tokens that fit with the start
    token, or None.

    `dtype` of quantised weights ends in `-int8` or `-int4`, after the type that they
    compute in. `gpus`: number of GPUs that `device_map` spreads the weights over.
    `measured`: the folder with the records of `speeds`. `tokenizer_from` as in the
    model's entry. `reads_alone`: every text is a batch, because in 8 bits its numbers
    follow the others.
    """

    checkpoint: Checkpoint
    tokenizer: Any
    dtype: str
    device: str
    vocabulary: int
    context: int | None
    measured: Path
    device_map: str | None = None
    gpus: int = 1
    tokenizer_from: str | None = None
    reads_alone: bool = False

    @property
    def digest(self) -> str:
        return self.checkpoint.digest

    def load(self) -> Any:
        """Load the model on its device, in evaluation mode; the weights' files are
        verified first."""
        self.checkpoint.verify(self.checkpoint.weights, self.measured)
        path = self.checkpoint.path
        placement = self._placement()
        config = read_config(path, remote_code=self.checkpoint.remote_code)
        transformers.utils.logging.disable_progress_bar()
        options = {
            "local_files_only": True,
            "use_safetensors": True,
            "trust_remote_code": self.checkpoint.remote_code,
            "output_loading_info": True,
        }
        too_large = InputError(
            f"{path} does not fit on the GPUs of this job: ask for more of them "
            "(resources: gpu) or set quantise: 8 or 4 for this model."
        )
        with explain_failure(f"transformers cannot load {path}"):
            load = loader_of(config, path).from_pretrained
            try:
                model, loading = load(
                    path, config=config, dtype=self._computes_in, **options, **placement
                )
            except ValueError as error:
                # what is left over goes to the disk: of a mixture of experts
                # transformers refuses that
                if "offload_folder" in str(error):
                    raise too_large from error
                raise
        check_weights(model, loading, self.checkpoint)
        if any(weight.device.type == "meta" for weight in model.parameters()):
            raise too_large
        devices = getattr(model, "hf_device_map", self.device)
        check_rotary(model, path)
        check_saved_frequencies(model, self.checkpoint)
        if self.checkpoint.adapter is not None:
            model = with_adapter(model, self.checkpoint)
        check_causal(model.eval(), path)
        log.info("loaded %s: %s on %s", path, self.dtype, devices)
        return model

    def embeddings(self) -> npt.NDArray[np.float32]:
        """Read the input embedding table [vocabulary, width], and all other weights
        only if its name is unknown."""
        self.checkpoint.verify(self.checkpoint.weights, self.measured)
        tables = []
        for tensor in self.checkpoint.tensors():
            is_named = tensor.name.endswith(_EMBEDDINGS)
            # numbers of other types need their scales
            is_whole = is_named and tensor.dtype in _WHOLE
            if is_whole and tensor.shape[0] == self.vocabulary:
                tables.append(tensor)
        if len(tables) != 1:
            return self.load().get_input_embeddings().weight.detach().float().numpy()
        return self.checkpoint.values(tables[0]).float().numpy()

    @property
    def _computes_in(self) -> torch.dtype:
        return getattr(torch, self.dtype.partition("-")[0])

    def _placement(self) -> dict[str, Any]:
        bits = self.dtype.partition("-int")[2]
        # `cuda` takes GPUs for this process, `cuda:N` is shared on purpose
        index = torch.device(self.device).index
        gpus = [] if index is None else [index]
        if self.device == "cuda":
            gpus = hold_gpus(self.gpus if self.device_map else 1)
        placement = {}
        if self.device_map and gpus:
            most = {}
            for gpu in gpus:
                free, _ = torch.cuda.mem_get_info(gpu)
                most[gpu] = int(_SHARE_FOR_WEIGHTS * free)
            placement = {"device_map": self.device_map, "max_memory": most}
        elif self.device != "cpu":
            device = f"cuda:{gpus[0]}" if gpus else self.device
            placement = {"device_map": {"": device}}
        if bits:
            placement["quantization_config"] = transformers.BitsAndBytesConfig(
                load_in_8bit=bits == "8",
                load_in_4bit=bits == "4",
                bnb_4bit_quant_type="nf4",
                bnb_4bit_compute_dtype=self._computes_in,
            )
        return placement


def load_checkpoint(
    checkpoint_json: Path,
    *,
    dtype: str = "auto",
    device: str = "auto",
    max_length: int | None = None,
    device_map: str | None = None,
    quantise: int | None = None,
    gpus: int = 0,
    special_tokens: str = "as_spelled",
    tokenizer_from: str | None = None,
) -> Target:
    """Make the target that `checkpoint_json` records, its weights not loaded yet.

    `dtype` auto is bfloat16 on a GPU that computes in it, and on a CPU if a model that
    is not small is clearly faster in it, measured with torch's present threads
    (`speeds`); else float32. `device` auto is cuda on a machine with a GPU, else cpu.
    `max_length` lowers the context. `gpus`: the number that the job asked for, over
    which `device_map` auto spreads the weights. `quantise` loads them in 8 or 4 bits
    (bitsandbytes, on a GPU). `special_tokens` and `tokenizer_from` as in a model's
    entry. Raises `InputError` for a checkpoint that cannot be used, and if the job
    asked for GPUs, `device` is auto and the machine has none.
    """
    checkpoint = read_checkpoint(checkpoint_json)
    tokenizer = load_tokenizer(checkpoint, special_tokens, tokenizer_from)
    config = read_config(checkpoint.path, remote_code=checkpoint.remote_code)
    text = load_config(checkpoint, tokenizer)
    device = _device(device, gpus)
    folder = Path(checkpoint_json).parent
    own_context = context_of(config, loader_of(config, checkpoint.path))
    computes_in = _dtype(dtype, device, checkpoint, folder)
    return Target(
        checkpoint=checkpoint,
        tokenizer=tokenizer,
        dtype=computes_in + _quantisation(quantise, device),
        device=device,
        vocabulary=text.vocab_size,
        context=min(filter(None, (own_context, max_length)), default=None),
        measured=folder,
        device_map=device_map,
        gpus=max(gpus, 1),
        tokenizer_from=tokenizer_from,
        reads_alone=quantise == 8 or _is_saved_in_8_bits(config),
    )


def _device(device: str, gpus: int) -> str:
    if device == "auto":
        if torch.cuda.is_available():
            return "cuda"
        if gpus:
            raise InputError(
                f"the model asks for {gpus} GPU(s) (resources: gpu), and torch finds "
                "none here. Have the scheduler give the job a GPU, or compute on the "
                "CPU on purpose: --config device=cpu"
            )
        return "cpu"
    if device.startswith("cuda") and not torch.cuda.is_available():
        raise InputError(
            f"device '{device}' is asked for, but torch finds no GPU here; use 'auto' "
            "or 'cpu'"
        )
    return device


def _dtype(dtype: str, device: str, checkpoint: Checkpoint, folder: Path) -> str:
    if dtype != "auto":
        return dtype
    if device.startswith("cuda"):
        has_bfloat16 = torch.cuda.is_bf16_supported(including_emulation=False)
        return "bfloat16" if has_bfloat16 else "float32"
    if checkpoint.matrix_weights() < MEASURABLE:
        return "float32"
    shapes = checkpoint.matrix_shapes()
    ways = {kind: products(shapes, kind) for kind in ("float32", "bfloat16")}
    return faster(ways, {"config": checkpoint.files["config.json"]}, folder)


def _is_saved_in_8_bits(config: Any) -> bool:
    """Return whether the weights are saved in 8 bits by bitsandbytes."""
    saved = getattr(config, "quantization_config", None)
    if not isinstance(saved, dict):
        return False
    return bool(saved.get("load_in_8bit") or saved.get("_load_in_8bit"))


def _quantisation(bits: int | None, device: str) -> str:
    if bits is None:
        return ""
    if device.startswith("cuda") and find_spec("bitsandbytes") is not None:
        return f"-int{bits}"
    package = "no package bitsandbytes (pip install bitsandbytes)"
    lacking = package if device.startswith("cuda") else "no GPU"
    raise InputError(
        f"quantise: {bits} needs a GPU and bitsandbytes, and there is {lacking}; leave "
        "it out."
    )
