"""A target model: its tokenizer and facts at once, its weights when `load` is called."""

import os
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from pretrace.models.checkpoint import Checkpoint, blamed_on, read_checkpoint
from pretrace.models.devices import hold_gpu
from pretrace.models.tokens import load_tokenizer
from pretrace.runtime.errors import InputError, nearest
from pretrace.runtime.logs import log

DTYPES = ("auto", "bfloat16", "float16", "float32")
_CONTEXT_KEYS = ("max_position_embeddings", "n_positions", "max_seq_len", "seq_length")


@dataclass(frozen=True)
class Target:
    """`vocabulary`: size of the output layer; `context`: tokens that fit with the start token, or None.

    `dtype` of quantised weights ends in `-int8` or `-int4`, after the type that they compute in.
    """

    checkpoint: Checkpoint
    tokenizer: Any
    dtype: str
    device: str
    vocabulary: int
    context: int | None
    device_map: str | None = None

    @property
    def digest(self) -> str:
        return self.checkpoint.digest

    def load(self) -> Any:
        """The model on its device, in evaluation mode; the weights' files are verified first."""
        import torch
        import transformers

        self.checkpoint.verify(self.checkpoint.weights)
        if self.device == "cuda" and self.device_map is None:
            hold_gpu()
        transformers.utils.logging.disable_progress_bar()
        with blamed_on(self.checkpoint.path, "load"):
            model, loading = transformers.AutoModelForCausalLM.from_pretrained(
                self.checkpoint.path,
                dtype=getattr(torch, self.dtype.partition("-")[0]),
                local_files_only=True,
                use_safetensors=True,
                trust_remote_code=self.checkpoint.remote_code,
                output_loading_info=True,
                **self._placement(),
            )
        unset = sorted(loading["missing_keys"]) + sorted(str(key) for key in loading["mismatched_keys"])
        if unset:
            raise InputError(
                f"{self.checkpoint.path} lacks weights of its architecture ({', '.join(unset[:3])}): they "
                "would be random. Save the whole causal language model there."
            )
        if not self._placement():
            model = model.to(self.device)
        elif any(weight.device.type == "meta" for weight in model.parameters()):
            raise InputError(
                f"{self.checkpoint.path} does not fit on the GPUs of this job: ask for more of them (resources: gpu) "
                "or set quantise: 8 or 4 for this model."
            )
        log.info(
            "loaded %s: %s on %s",
            self.checkpoint.path,
            self.dtype,
            getattr(model, "hf_device_map", self.device),
        )
        return model.eval()

    def _placement(self) -> dict[str, Any]:
        """What tells transformers to place, and quantise, the weights while it loads them."""
        import transformers

        bits = self.dtype.partition("-int")[2]
        if not bits:
            return {"device_map": self.device_map} if self.device_map else {}
        quantised = transformers.BitsAndBytesConfig(load_in_8bit=bits == "8", load_in_4bit=bits == "4")
        return {"device_map": self.device_map or {"": self.device}, "quantization_config": quantised}


def load_checkpoint(
    checkpoint_json: Path,
    *,
    dtype: str = "auto",
    device: str = "auto",
    max_length: int | None = None,
    device_map: str | None = None,
    quantise: int | None = None,
) -> Target:
    """The target that `checkpoint_json` records, its weights not loaded yet.

    `dtype` auto is bfloat16 where the hardware computes in it, else float32; `device` auto is cuda where
    there is one, else cpu. `max_length` lowers the context. `device_map` auto spreads the weights over all GPUs;
    `quantise` loads them in 8 or 4 bits (bitsandbytes, on a GPU). Raises `InputError` for a checkpoint that cannot
    be used.
    """
    import transformers

    checkpoint = read_checkpoint(checkpoint_json)
    tokenizer = load_tokenizer(checkpoint)
    with blamed_on(checkpoint.path / "config.json", "read"):
        config = transformers.AutoConfig.from_pretrained(
            checkpoint.path, local_files_only=True, trust_remote_code=checkpoint.remote_code
        )
    if config.is_encoder_decoder:
        raise InputError(
            f"{checkpoint.path} is an encoder-decoder model ({config.model_type}); a causal one is needed"
        )
    text = config.get_text_config()
    _check_vocabulary(checkpoint.path, tokenizer, text.vocab_size)
    device = _device(device)
    limits = [getattr(text, key) for key in _CONTEXT_KEYS if getattr(text, key, None)][:1]
    limits += [max_length] if max_length else []
    return Target(
        checkpoint=checkpoint,
        tokenizer=tokenizer,
        dtype=_dtype(dtype, device) + _quantised(quantise, device),
        device=device,
        vocabulary=text.vocab_size,
        context=min(limits, default=None),
        device_map=device_map,
    )


def _check_vocabulary(path: Path, tokenizer: Any, size: int) -> None:
    """Tokens added to a tokenizer, as a [PAD], may lack a place in the model: no text holds them."""
    added = tokenizer.get_added_vocab()
    highest = max((id for token, id in tokenizer.get_vocab().items() if token not in added), default=-1)
    if highest >= size:
        raise InputError(
            f"{path}: the tokenizer has tokens up to number {highest}, and the model's vocabulary has {size}: they "
            "are not of one model. Put the tokenizer there that the model was trained with."
        )


def _device(device: str) -> str:
    import torch

    if device == "auto":
        return "cuda" if torch.cuda.is_available() else "cpu"
    if device.startswith("cuda") and not torch.cuda.is_available():
        raise InputError(f"device '{device}' is asked for, but torch finds no GPU here; use 'auto' or 'cpu'")
    return device


def _dtype(dtype: str, device: str) -> str:
    if dtype not in DTYPES:
        raise InputError(f"dtype '{dtype}' is unknown: {nearest(dtype, DTYPES)}")
    if dtype != "auto":
        return dtype
    return "bfloat16" if computes_in_bfloat16(device) else "float32"


def _quantised(bits: int | None, device: str) -> str:
    if bits is None:
        return ""
    if not device.startswith("cuda") or find_spec("bitsandbytes") is None:
        lacking = (
            "no GPU"
            if not device.startswith("cuda")
            else "no package bitsandbytes (pip install bitsandbytes)"
        )
        raise InputError(
            f"quantise: {bits} needs a GPU and bitsandbytes, and there is {lacking}; leave it out."
        )
    return f"-int{bits}"


def computes_in_bfloat16(device: str) -> bool:
    import torch

    if device.startswith("cuda"):
        return torch.cuda.is_bf16_supported(including_emulation=False)
    if not os.access("/proc/cpuinfo", os.R_OK):
        return False
    return not {"avx512_bf16", "amx_bf16"}.isdisjoint(Path("/proc/cpuinfo").read_text().split())
