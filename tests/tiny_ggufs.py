"""Tiny models as GGUF files, with any metadata, and what llama.cpp makes of them."""

import json
import urllib.request
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import gguf
import numpy as np
import pytest


def write_gguf(
    file: Path,
    facts: Mapping[str, Any],
    *,
    architecture: str = "llama",
    further: Mapping[str, Sequence[float]] | None = None,
) -> dict[str, np.ndarray]:
    """Write a random model of one layer, and return its weights by their names there.

    `facts`: metadata besides the sizes, as `tokenizer.ggml.tokens`; None leaves one of
    the sizes out. `further`: more tensors.
    """
    tokens = len(facts["tokenizer.ggml.tokens"])
    writer = gguf.GGUFWriter(file, architecture)
    sizes = {
        "context_length": 64,
        "embedding_length": 32,
        "block_count": 1,
        "feed_forward_length": 64,
        "attention.head_count": 4,
        "attention.head_count_kv": 2,
        "attention.layer_norm_rms_epsilon": 1e-6,
        "rope.dimension_count": 8,
        "vocab_size": tokens,
    }
    whole = {f"{architecture}.{key}": value for key, value in sizes.items()}
    for key, value in (whole | {"general.name": "tiny"} | dict(facts)).items():
        if value is not None:
            _add(writer, key, value)
    shapes = {"token_embd": (tokens, 32), "output": (tokens, 32), "output_norm": (32,)}
    shapes |= {"blk.0.attn_q": (32, 32), "blk.0.attn_output": (32, 32)}
    shapes |= {"blk.0.attn_k": (16, 32), "blk.0.attn_v": (16, 32)}
    shapes |= {"blk.0.ffn_gate": (64, 32), "blk.0.ffn_up": (64, 32)}
    shapes |= {"blk.0.ffn_down": (32, 64)}
    shapes |= {"blk.0.attn_norm": (32,), "blk.0.ffn_norm": (32,)}
    draw = np.random.default_rng(0)
    weights = {}
    for name, shape in shapes.items():
        # eighths are exact in bfloat16
        eighths = draw.integers(-6, 7, shape).astype(np.float32) / 8
        weights[f"{name}.weight"] = eighths + name.endswith("norm")
    for name, values in (further or {}).items():
        weights[name] = np.array(values, np.float32)
    for name, values in weights.items():
        writer.add_tensor(name, values)
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()
    return weights


def _add(writer: gguf.GGUFWriter, key: str, value: Any) -> None:
    kinds = {bool: "bool", int: "uint32", float: "float32", str: "string"}
    name = kinds.get(type(value), "array")
    getattr(writer, f"add_{name}")(key, value)


def bytes_vocabulary(texts: Sequence[str], size: int = 1500) -> dict[str, Any]:
    """Return the metadata of a vocabulary of bytes whose merges cross all words, so that
    its tokens show where a text is cut."""
    from tokenizers import Tokenizer, models, pre_tokenizers, trainers

    encoder = Tokenizer(models.BPE())
    encoder.pre_tokenizer = pre_tokenizers.ByteLevel(
        add_prefix_space=False, use_regex=False
    )
    trainer = trainers.BpeTrainer(
        vocab_size=size,
        min_frequency=1,
        show_progress=False,
        initial_alphabet=pre_tokenizers.ByteLevel.alphabet(),
    )
    encoder.train_from_iterator(texts, trainer)
    model = json.loads(encoder.to_str())["model"]
    tokens = sorted(model["vocab"], key=model["vocab"].get)
    return {
        "tokenizer.ggml.model": "gpt2",
        "tokenizer.ggml.tokens": tokens,
        "tokenizer.ggml.token_type": [1] * len(tokens),
        "tokenizer.ggml.merges": [" ".join(merge) for merge in model["merges"]],
        "tokenizer.ggml.bos_token_id": 5,
        "tokenizer.ggml.eos_token_id": 6,
    }


class LlamaCpp:
    """llama.cpp with a GGUF file, behind a server on loopback."""

    def __init__(self, address: str) -> None:
        self.address = address

    def ids(self, text: str, *, is_whole: bool = False) -> list[int]:
        """Return a text's tokens, of a whole one with what is put around it."""
        body = {"content": text, "add_special": is_whole, "parse_special": False}
        return list(self._post("tokenize", body)["tokens"])

    def logprobs(self, ids: Sequence[int]) -> dict[int, float]:
        """Return ln p of each token after the given ones."""
        body = {
            "prompt": list(ids),
            "n_predict": 1,
            "n_probs": 10_000,
            # the server tells nothing of a token that is no whole letter
            "logit_bias": [[64, 1000.0]],
            "cache_prompt": False,
        }
        [step] = self._post("completion", body)["completion_probabilities"]
        return {row["id"]: row["logprob"] for row in step["top_logprobs"]}

    def _post(self, path: str, body: dict[str, Any]) -> dict[str, Any]:
        request = urllib.request.Request(
            f"{self.address}/{path}",
            data=json.dumps(body).encode(),
            headers={"Content-Type": "application/json"},
        )
        with urllib.request.urlopen(request) as answer:
            return dict(json.load(answer))


@contextmanager
def llama_cpp(file: Path) -> Iterator[LlamaCpp]:
    """Run llama.cpp with a file; the test is skipped without the package xllamacpp."""
    xllamacpp = pytest.importorskip(
        "xllamacpp", reason="xllamacpp, the witness of this test, is not installed"
    )
    parameters = xllamacpp.CommonParams()
    parameters.model.path = str(file)
    parameters.n_ctx = 64
    parameters.n_parallel = 1
    parameters.cpuparams.n_threads = 1
    parameters.warmup = False
    server = xllamacpp.Server(parameters)
    try:
        yield LlamaCpp(server.listening_address)
    finally:
        del server
