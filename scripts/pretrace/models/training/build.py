"""From a benchmark's members to a checkpoint that is loaded like any other."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pretrace.models.checkpoint import RECORD, Checkpoint, placed, write_checkpoint
from pretrace.models.training.stream import held_out, training_stream, windows
from pretrace.models.training.tokenizer import SEPARATOR
from pretrace.runtime.errors import InputError
from pretrace.runtime.files import seed_of, write_parquet
from pretrace.runtime.logs import log

if TYPE_CHECKING:
    import pandas as pd


def train_model(
    name: str,
    training: Mapping[str, Any],
    *,
    benchmark: "pd.DataFrame",
    other: Sequence[str],
    tokenizer_json: Path,
    out_dir: Path,
    threads: int,
) -> Checkpoint:
    """Train the model `name` as its entry's `training` says and write it to `out_dir`.

    `benchmark`: the table whose members it learns; `other`: documents of neither class, the tokenizer's
    source, read only by a null model. On the CPU, with `threads` torch threads: the same machine, threads and
    inputs give the same bytes. training.parquet holds the loss curve; checkpoint.json comes last, so that
    where it stands the checkpoint is whole. Raises `InputError` where the benchmark has no members.
    """
    import torch
    import transformers

    from pretrace.models.training.loop import new_model, train

    torch.set_num_threads(threads)
    texts = training_stream(benchmark, training, other)
    if not texts:
        raise InputError(f"{name}: the benchmark {training['benchmark']} has no members to train on")
    tokenizer = transformers.PreTrainedTokenizerFast(
        tokenizer_file=str(tokenizer_json), bos_token=SEPARATOR, eos_token=SEPARATOR
    )
    seed = seed_of("training", training["seed"])
    packing = {"separator": tokenizer.eos_token_id, "window": training["window"]}
    encoded = tokenizer(texts)["input_ids"]
    steps = list(windows(encoded, **packing, epochs=training["epochs"], seed=seed))
    watched = list(windows(tokenizer(held_out(benchmark, seed))["input_ids"], **packing, epochs=1, seed=seed))
    model = new_model(
        vocabulary=len(tokenizer),
        width=training["width"],
        layers=training["layers"],
        seed=seed,
    )
    log.info(
        "%s: %d parameters, %d texts of %d tokens, %d windows in %d epochs",
        name, model.num_parameters(), len(texts), sum(map(len, encoded)), len(steps), training["epochs"],
    )  # fmt: skip
    curve = train(
        model,
        steps,
        watched,
        learning_rate=training["learning_rate"],
        what=f"train {name}",
    )
    return _write(model, tokenizer, curve, Path(out_dir), f"trained:{training['benchmark']}")


def _write(model: Any, tokenizer: Any, curve: "pd.DataFrame", out_dir: Path, source: str) -> Checkpoint:
    with placed(out_dir) as built:
        model.config.use_cache = True
        model.save_pretrained(built)
        tokenizer.save_pretrained(built)
    write_parquet(out_dir / "training.parquet", curve)
    return write_checkpoint(out_dir, out_dir / RECORD, source)
