"""A checkpoint directory and its record `checkpoint.json`: its files and their
SHA-256."""

import tempfile
from collections import Counter
from collections.abc import Container, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass, fields
from pathlib import Path
from typing import Any, NamedTuple

from pretrace.runtime.errors import InputError, message_of
from pretrace.runtime.files import (
    digest,
    hash_files,
    move_finished,
    read_json,
    write_json,
)
from pretrace.runtime.logs import log

VOCABULARIES = (
    "tokenizer.json",
    "tokenizer.model",
    "vocab.json",
    "vocab.txt",
    "spiece.model",
)
BESIDE = (
    "merges.txt", "tokenizer_config.json", "special_tokens_map.json",
    "added_tokens.json", "chat_template.jinja",
)  # fmt: skip
RECORD = "checkpoint.json"
ADAPTER = "adapter_config.json"
ADAPTER_WEIGHTS = "adapter_model.safetensors"
CHAT_TEMPLATES = ("chat_template.jinja", "tokenizer_config.json")
"""The files that may have a chat template; the first one counts."""
IN_ADAPTER = "adapter/"
"""Before the names of the files of an adapter in a record."""
_VERIFIED = "verified.json"
_PICKLED = ("*.bin", "*.pt", "*.pth", "*.ckpt")
_WEIGHTS = "model.safetensors"
INDEX = f"{_WEIGHTS}.index.json"


class Tensor(NamedTuple):
    """A tensor in a file of weights; `dtype` as safetensors writes it."""

    file: str
    name: str
    dtype: str
    shape: list[int]


@dataclass(frozen=True, slots=True)
class Checkpoint:
    """The contents of `checkpoint.json`. `files`: name -> SHA-256 hex; `digest`:
    SHA-256 over `files`.

    `remote_code`: whether the model's own Python files, which are then among `files`,
    may run. `revision`: the requested revision of a model of the hub; `source` has its
    commit. `adapter`: the folder of a LoRA adapter that the model is read with; its
    files are among `files`, as `IN_ADAPTER`.
    """

    path: Path
    files: dict[str, str]
    digest: str
    source: str
    remote_code: bool = False
    revision: str = ""
    adapter: Path | None = None

    @property
    def weights(self) -> list[str]:
        return [name for name in self.files if name.endswith(".safetensors")]

    @property
    def settings(self) -> list[str]:
        """Return the files of configuration and tokenizer: all but the weights."""
        return [name for name in self.files if not name.endswith(".safetensors")]

    def verify(self, names: Iterable[str], folder: Path | None = None) -> None:
        """Raise `InputError` if a file is not the one that the record names.

        Large weights take a minute. With `folder` a file is hashed once: verified.json
        in it keeps its hash, size and times, and counts as long as all are equal.
        """
        refuse_adapter(self.path)
        refuse_second_weights(self.path)
        memory = None if folder is None else folder / _VERIFIED
        files = {name: self._file(name) for name in names}
        for name, sha256 in hash_files(files, memory).items():
            if sha256 != self.files[name]:
                raise InputError(
                    f"{files[name]} is not the file that checkpoint.json records "
                    f"(sha256). {_REMEDY}"
                )

    def tensors(self) -> Iterator[Tensor]:
        """Yield each tensor of the weights' files, without those of an adapter."""
        for file in self.weights:
            if not file.startswith(IN_ADAPTER):
                yield from tensors_in(self._file(file))

    def values(self, tensor: Tensor) -> Any:
        """Return the values of a tensor as a torch tensor."""
        from safetensors import safe_open

        with safe_open(self._file(tensor.file), framework="pt") as tensors:
            return tensors.get_tensor(tensor.name)

    def matrix_shapes(self) -> Counter[tuple[int, int]]:
        """Count the weights that are matrices by their shape [rows, columns]."""
        counts: Counter[tuple[int, int]] = Counter()
        for tensor in self.tensors():
            if len(tensor.shape) == 2:
                rows, columns = tensor.shape
                counts[rows, columns] += 1
        return counts

    def matrix_weights(self) -> int:
        """Count the weights in all matrices."""
        weights = 0
        for (rows, columns), count in self.matrix_shapes().items():
            weights += rows * columns * count
        return weights

    def _file(self, name: str) -> Path:
        file = self.path / name
        if self.adapter is not None and name.startswith(IN_ADAPTER):
            file = self.adapter / name.removeprefix(IN_ADAPTER)
        if not file.is_file():
            raise InputError(f"{file} is missing from the checkpoint. {_REMEDY}")
        return file


_REMEDY = (
    "Restore it, or delete the model's checkpoint.json and run the same command to "
    "take it as it is now."
)


def read_checkpoint(checkpoint_json: Path) -> Checkpoint:
    """Read the record; `InputError` if it is missing or was edited. Hashes no file: see
    `Checkpoint.verify`."""
    if not Path(checkpoint_json).is_file():
        raise InputError(
            f"{checkpoint_json} does not exist: no checkpoint was built or registered "
            "there."
        )
    record = read_json(checkpoint_json)
    is_whole = isinstance(record, dict)
    if not is_whole or record.get("digest") != digest(record.get("files")):
        raise InputError(
            f"{checkpoint_json} is not a whole checkpoint record. Delete it and run "
            "again."
        )
    known = {}
    for field in fields(Checkpoint):
        if field.name in record:
            known[field.name] = record[field.name]
    for key in ("path", "adapter"):
        if key in known:
            known[key] = Path(known[key])
    return Checkpoint(**known)


@contextmanager
def checkpoint_folder(out_dir: Path) -> Iterator[Path]:
    """Give an empty folder to build a checkpoint in; its files move to `out_dir` when
    the block ends without error.

    The record in `out_dir` is removed first and must be written afterwards: a
    checkpoint with a record is complete.
    """
    out_dir = Path(out_dir)
    (out_dir / RECORD).unlink(missing_ok=True)
    out_dir.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(
        ".part", f".{out_dir.name}.", out_dir.parent
    ) as folder:
        yield Path(folder)
        for file in sorted(Path(folder).iterdir()):
            move_finished(file, out_dir / file.name)


def write_checkpoint(
    path: Path,
    checkpoint_json: Path,
    source: str,
    *,
    remote_code: bool = False,
    revision: str = "",
) -> Checkpoint:
    """Hash the checkpoint in directory `path` and write its record; `InputError` if it
    is not complete.

    With `remote_code` its Python files are part of it.
    """
    code = [file.name for file in path.glob("*.py")] if remote_code else []
    names = sorted(_settings_of(path) + _weights_of(path) + code)
    # it is kept, so that the first job does not hash the weights again
    memory = Path(checkpoint_json).parent / _VERIFIED
    files = hash_files({name: path / name for name in names}, memory)
    checkpoint = Checkpoint(path, files, digest(files), source, remote_code, revision)
    record_checkpoint(checkpoint, checkpoint_json)
    return checkpoint


def record_checkpoint(checkpoint: Checkpoint, checkpoint_json: Path) -> None:
    """Write the record of a checkpoint; what is empty is left out."""
    record = {}
    for key, value in asdict(checkpoint).items():
        if value:
            record[key] = str(value) if isinstance(value, Path) else value
    write_json(checkpoint_json, record)
    place = checkpoint.adapter or checkpoint.path
    count = len(checkpoint.files)
    log.info("%s: %d files, digest %s", place, count, checkpoint.digest[:12])


def register_local(
    path: Path, checkpoint_json: Path, *, remote_code: bool = False
) -> Checkpoint:
    """Record a user's checkpoint directory in place.

    It needs config.json, a tokenizer and safetensors weights; pickled weights alone are
    refused, because loading a pickle runs whatever code it holds. Its Python files may
    run only with `remote_code`. Raises `InputError` with the remedy.
    """
    path = Path(path)
    if not path.is_dir():
        raise InputError(
            f"the checkpoint directory {path} does not exist (source: local, key path)"
        )
    return write_checkpoint(path, checkpoint_json, "local", remote_code=remote_code)


def refuse_adapter(path: Path) -> None:
    """Raise `InputError` for an adapter beside the model, which transformers applies
    where peft is installed."""
    if (path / ADAPTER).is_file():
        raise InputError(
            f"{path} has an adapter beside the model ({ADAPTER}): whether it is "
            "applied would depend on the packages of a machine. Merge it into the "
            "model (peft: merge_and_unload) and save that, or remove the adapter."
        )


def _settings_of(path: Path) -> list[str]:
    refuse_adapter(path)
    if not (path / "config.json").is_file():
        raise InputError(
            f"{path} has no config.json: a checkpoint as `save_pretrained` writes it "
            "is needed"
        )
    vocabularies = [name for name in VOCABULARIES if (path / name).is_file()]
    if not vocabularies:
        raise InputError(
            f"{path} has no tokenizer ({', '.join(VOCABULARIES)}): save the model's "
            "tokenizer there with `tokenizer.save_pretrained`"
        )
    beside = [name for name in BESIDE if (path / name).is_file()]
    return ["config.json", *vocabularies, *beside]


def refuse_second_weights(path: Path, files: Container[str] | None = None) -> None:
    """Raise `InputError` for whole weights beside an index of other files: transformers
    reads the former, other programs the latter.

    `files`: what the folder is going to have, by default what it has.
    """
    index = path / INDEX
    both = index.is_file() and (
        (path / _WEIGHTS).is_file() if files is None else _WEIGHTS in files
    )
    if both and _shards_of(index) != [_WEIGHTS]:
        raise InputError(
            f"{path} has {_WEIGHTS} and {INDEX}, which names other files "
            f"({_shards_of(index)[0]}, ...): which weights count is not clear. "
            "Remove the file that is not the model's."
        )


def _weights_of(path: Path) -> list[str]:
    refuse_second_weights(path)
    # a damaged file is named before anything else is done with it
    if (path / _WEIGHTS).is_file():
        tensors_in(path / _WEIGHTS)
        return [_WEIGHTS]
    if not (path / INDEX).is_file():
        raise _lack_of_weights(path)
    shards = _shards_of(path / INDEX)
    for name in shards:
        if Path(name).name != name:
            raise InputError(
                f"{path / INDEX} names a file outside of the checkpoint: {name!r}"
            )
        if not (path / name).is_file():
            raise InputError(f"{path / name} is missing although {INDEX} names it")
    _refuse_second_tensors(path, shards)
    return [*shards, INDEX]


def _refuse_second_tensors(path: Path, shards: Iterable[str]) -> None:
    """Raise `InputError` for a tensor in two files: transformers reads that of the last
    name, whatever the index says."""
    first: dict[str, str] = {}
    for shard in shards:
        for tensor in tensors_in(path / shard):
            other = first.setdefault(tensor.name, shard)
            if other != shard:
                raise InputError(
                    f"{path} has {tensor.name} in {other} and in {shard}: which of the "
                    f"two counts is not clear. {INDEX} says it: save the model again "
                    "with that one alone."
                )


def _lack_of_weights(path: Path) -> InputError:
    pickled = []
    for pattern in _PICKLED:
        pickled += [file.name for file in path.glob(pattern)]
    if pickled:
        return InputError(
            f"{path} has pickled weights only ({min(pickled)}). Loading a pickle runs "
            "any code that it holds, so it is refused. Convert it once where you trust "
            "it: load it with transformers and call `model.save_pretrained(path)`, "
            "which writes safetensors."
        )
    return InputError(
        f"{path} has no {_WEIGHTS} (nor {INDEX}): the weights are missing"
    )


def _shards_of(index: Path) -> list[str]:
    """Read the names of the files that an index of weights names."""
    content = read_json(index)
    shards = content.get("weight_map") if isinstance(content, dict) else None
    names = [*shards.values()] if isinstance(shards, dict) else []
    if not names or not all(isinstance(name, str) for name in names):
        raise InputError(
            f"{index} has no weight_map from the names of weights to files: save the "
            "model again."
        )
    return sorted(set(names))


def tensors_in(file: Path) -> list[Tensor]:
    """Read the names, types and shapes in a safetensors file; `InputError` if it is
    damaged."""
    from safetensors import SafetensorError, safe_open

    try:
        with safe_open(file, framework="numpy") as tensors:
            listed = []
            for name in tensors.offset_keys():
                part = tensors.get_slice(name)
                dtype, shape = part.get_dtype(), part.get_shape()
                listed.append(Tensor(file.name, name, dtype, shape))
            return listed
    except SafetensorError as error:
        raise InputError(
            f"{file} is not a safetensors file, or cut short ({message_of(error)}); "
            "replace it by a whole one"
        ) from error
