"""From a benchmark's members to a checkpoint that is loaded like any other."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pandas as pd
import torch
import transformers

from pretrace.models.checkpoint import (
    RECORD,
    Checkpoint,
    checkpoint_folder,
    write_checkpoint,
)
from pretrace.models.entries import Training
from pretrace.models.target import load_checkpoint
from pretrace.models.tokens import start_token_ids
from pretrace.models.training.loop import new_model, train
from pretrace.models.training.stream import (
    HELD_OUT_TOKENS,
    held_out,
    training_stream,
    windows,
)
from pretrace.models.training.tokenizer import SEPARATOR
from pretrace.runtime.errors import InputError
from pretrace.runtime.files import write_parquet
from pretrace.runtime.logs import log
from pretrace.seeds import seed_of


def train_model(
    name: str,
    training: Training,
    *,
    benchmark: pd.DataFrame,
    other: Sequence[str],
    tokenizer_json: Path,
    out_dir: Path,
    threads: int,
) -> Checkpoint:
    """Train the model `name` from random weights as its entry's `training` says and
    write it to `out_dir`.

    `benchmark`: the table with the members; `other`: documents of neither class, which
    train the tokenizer and a null model. It runs on the CPU with `threads` torch
    threads: the same machine, threads and inputs give the same bytes. training.parquet
    has the loss curve. checkpoint.json is written last, so a checkpoint that has it is
    complete. Raises `InputError` if the benchmark has no members.
    """
    torch.set_num_threads(threads)
    tokenizer = tokenizer_of(tokenizer_json)
    model, curve = fit(name, training, benchmark, tokenizer, other)
    return _write(training, model, tokenizer, curve, Path(out_dir))


def tokenizer_of(tokenizer_json: Path) -> Any:
    """Load the tokenizer of a model that is trained here; it begins and ends no text by
    itself."""
    return transformers.PreTrainedTokenizerFast(
        tokenizer_file=str(tokenizer_json), bos_token=SEPARATOR, eos_token=SEPARATOR
    )


def fit(
    name: str,
    training: Training,
    benchmark: pd.DataFrame,
    tokenizer: Any,
    other: Sequence[str] = (),
) -> tuple[Any, pd.DataFrame]:
    """Train a model from random weights as `train_model` does; the model and its loss
    curve."""
    assert training.width is not None
    assert training.layers is not None
    seed = seed_of("training", training.seed)
    model = new_model(len(tokenizer), training.width, training.layers, seed)
    texts = training_stream(benchmark, None if training.members else other)
    return model, _train(name, training, model, benchmark, texts, tokenizer)


def continue_model(
    name: str,
    training: Training,
    *,
    benchmark: pd.DataFrame,
    start: Path,
    out_dir: Path,
    threads: int,
) -> Checkpoint:
    """Train the checkpoint that `start` records further, in float32, and write it to
    `out_dir`.

    Everything else as `train_model`. Raises `InputError` if the benchmark has no
    members, if the tokenizer has no `SEPARATOR`, and if the window is longer than the
    model's context.
    """
    torch.set_num_threads(threads)
    target = load_checkpoint(start, dtype="float32", device="cpu")
    if target.context is not None and training.window > target.context:
        raise InputError(
            f"models.{name}.training.window is {training.window}, and {training.start} "
            f"reads {target.context} tokens at most; lower it."
        )
    # an error before the weights are loaded
    start_token_ids(target.tokenizer, SEPARATOR)
    model = target.load().train()
    tokenizer = target.tokenizer
    texts = training_stream(benchmark)
    curve = _train(name, training, model, benchmark, texts, tokenizer)
    return _write(training, model, tokenizer, curve, Path(out_dir))


def _train(
    name: str,
    training: Training,
    model: Any,
    benchmark: pd.DataFrame,
    texts: list[str],
    tokenizer: Any,
) -> pd.DataFrame:
    seed = seed_of("training", training.seed)
    (separator,) = start_token_ids(tokenizer, SEPARATOR)

    def packed(texts: list[str], epochs: int) -> list[list[int]]:
        encoded = tokenizer(texts, add_special_tokens=False)["input_ids"]
        return list(windows(encoded, separator, training.window, epochs, seed))

    if not texts:
        raise InputError(
            f"{name}: the benchmark {training.benchmark} has no members to train on"
        )
    torch.manual_seed(seed)
    steps = packed(texts, training.epochs)
    log.info(
        "%s: %d parameters, %d texts, %d tokens in %d windows of %d epochs",
        name,
        model.num_parameters(),
        len(texts),
        sum(len(step) - 1 for step in steps),
        len(steps),
        training.epochs,
    )
    watched = packed(held_out(benchmark, seed), 1)
    watched = watched[: max(1, HELD_OUT_TOKENS // training.window)]
    return train(
        model,
        steps,
        watched,
        learning_rate=training.learning_rate,
        what=f"train {name}",
    )


def _write(
    training: Training, model: Any, tokenizer: Any, curve: pd.DataFrame, out_dir: Path
) -> Checkpoint:
    with checkpoint_folder(out_dir) as built:
        model.config.use_cache = True
        model.save_pretrained(built)
        tokenizer.save_pretrained(built)
    write_parquet(out_dir / "training.parquet", curve)
    return write_checkpoint(out_dir, out_dir / RECORD, f"trained:{training.benchmark}")
