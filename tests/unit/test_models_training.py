"""Controlled models: what is in the training stream, how it is packed, and that
training repeats itself."""

from collections import Counter
from collections.abc import Callable
from itertools import pairwise
from pathlib import Path
from typing import Any

import pandas as pd
import pytest
import torch
from made_up_jobs import target_of
from made_up_speeches import numbered, split_benchmark

import tiny_models
from pretrace.models.checkpoint import read_checkpoint, register_local
from pretrace.models.entries import Training
from pretrace.models.tokens import start_token_ids
from pretrace.models.training import build, loop
from pretrace.models.training.build import (
    continue_model,
    fit,
    tokenizer_of,
    train_model,
)
from pretrace.models.training.loop import CONTEXT, mean_loss, new_model
from pretrace.models.training.stream import held_out, training_stream, windows
from pretrace.models.training.tokenizer import SEPARATOR, train_tokenizer
from pretrace.runtime.errors import InputError
from pretrace.runtime.files import read_json, read_parquet
from pretrace.runtime.schema import read_yaml

ROOT = Path(__file__).parents[2]
REGISTRY = {
    kind: read_yaml(ROOT / "config" / f"{kind}.yaml")
    for kind in ("models", "benchmarks", "corpora", "downloads")
}
TRAINED = {
    slug: entry
    for slug, entry in REGISTRY["models"].items()
    if entry["source"] == "trained" and "from" not in entry["training"]
}
TRAINING: dict[str, Any] = {
    "benchmark": "sotu_split", "tokenizer_corpus": "old", "vocabulary": 300,
    "width": 32, "layers": 1,
    "learning_rate": 0.004, "epochs": 2, "window": 64, "seed": 0,
}  # fmt: skip
OLD = [numbered(f"{year}-Old-1", 400) for year in range(1800, 1820)]


@pytest.fixture(scope="module")
def table(tmp_path_factory: pytest.TempPathFactory) -> pd.DataFrame:
    folder = tmp_path_factory.mktemp("sotu")
    return split_benchmark(folder, range(2000, 2012), lengths=[4, 8, 16], texts=12)


@pytest.fixture(scope="module")
def tokenizer(tmp_path_factory: pytest.TempPathFactory) -> Path:
    out = tmp_path_factory.mktemp("tokenizer") / "old-300.json"
    train_tokenizer(OLD, 300, out)
    return out


def texts_of(table: pd.DataFrame, label: int, length: int | None = None) -> list[str]:
    chosen = (table["label"] == label) & (
        table["length"] == (length or table["length"])
    )
    return list(table["text"][chosen])


def test_the_stream_is_every_member_of_the_longest_length_and_nothing_else(table):
    stream = training_stream(table)
    assert sorted(stream) == sorted(texts_of(table, 1, 16))
    everything = "\n".join(stream)
    for text in texts_of(table, 1):
        assert text in everything, "shorter members are inside"
    for text in texts_of(table, 0):
        assert text not in everything


def test_a_member_listed_twice_is_one_text(table):
    once = training_stream(table)
    doubled = pd.concat([table, table[table["label"] == 1]])
    assert sorted(training_stream(doubled)) == sorted(once)


def test_a_members_repetitions_are_how_often_it_stands_in_the_stream(table):
    numbers = table["text_id"].str.rsplit("-", n=1).str[1].astype(int)
    times = (numbers % 3 + 1).where(table["label"] == 1, 0)
    table = table.assign(repetitions=times)
    counted = Counter(training_stream(table))
    members = table[(table["label"] == 1) & (table["length"] == 16)]
    assert counted == members.set_index("text")["repetitions"].to_dict()
    assert len(set(counted.values())) == 3


def test_texts_of_unknown_length_or_label_are_no_obstacle(table):
    unknown = table[table["length"] == 16].assign(
        length=pd.array([pd.NA] * 24, "Int64")
    )
    unlabelled = unknown.assign(label=pd.array([pd.NA] * 24, "Int64"), text="whose?")
    assert training_stream(pd.concat([unknown, unlabelled])) == training_stream(table)
    assert held_out(unlabelled, seed=0) == []


def test_a_null_model_reads_as_much_of_neither_class(table):
    stream = training_stream(table, OLD)
    assert [len(text) for text in stream] == [
        len(text) for text in training_stream(table)
    ]
    words = set()
    for text in stream:
        words.update(text.split()[1:-1])
    assert words <= {word for document in OLD for word in document.split()}
    with pytest.raises(InputError, match="tokenizer_corpus has 9"):
        training_stream(table, ["too short"])


def test_windows_hold_every_text_whole_after_a_separator_once_an_epoch():
    texts = [[number] * (3 + number % 5) for number in range(1, 40)]
    packed = list(windows(texts, separator=0, window=16, epochs=2, seed=0))
    epochs: list[list[int]] = [[]]
    for window in packed:
        assert len(window) <= 17
        if epochs[-1] and window[0] != epochs[-1][-1]:
            epochs.append([])
        epochs[-1] += window[1:] if epochs[-1] else window
    assert len(epochs) == 2
    for stream in epochs:
        separators = [place for place, token in enumerate(stream) if token == 0] + [
            len(stream)
        ]
        packed_texts = [stream[start + 1 : end] for start, end in pairwise(separators)]
        assert sorted(packed_texts) == sorted(texts)
    assert epochs[0] != epochs[1], "each epoch has its own order"


def test_an_epochs_last_window_is_not_dropped_and_no_window_is_empty():
    for tokens in range(1, 40):
        packed = list(windows([[1] * tokens], separator=0, window=8, epochs=1, seed=0))
        assert sum(len(window) - 1 for window in packed) == tokens
        assert min(len(window) for window in packed) >= 2


@pytest.fixture
def trained(
    table: pd.DataFrame, tokenizer: Path, tmp_path: Path
) -> Callable[..., Path]:
    def train_named(name: str, **changes: Any) -> Path:
        train_model(
            name,
            Training.model_validate(TRAINING | changes),
            benchmark=table,
            other=OLD,
            tokenizer_json=tokenizer,
            out_dir=tmp_path / name,
            threads=1,
        )
        return tmp_path / name

    return train_named


def test_training_twice_gives_the_same_bytes_and_another_seed_others(trained):
    first = trained("first")
    again = trained("again")
    other = trained("other", seed=1)
    assert (
        read_checkpoint(first / "checkpoint.json").files
        == read_checkpoint(again / "checkpoint.json").files
    )
    assert (first / "training.parquet").read_bytes() == (
        again / "training.parquet"
    ).read_bytes()
    assert (first / "model.safetensors").read_bytes() != (
        other / "model.safetensors"
    ).read_bytes()


def test_a_point_of_the_held_out_loss_is_of_few_tokens_however_long_the_texts(
    table, trained, monkeypatch
):
    longer = table["text"].where(table["label"] == 1, table["text"] + " word" * 400)
    monkeypatch.setitem(table, "text", longer)
    watched = []

    def train(model, steps, held_out, **options):
        watched.extend(held_out)
        return loop.train(model, steps, held_out[:1], **options)

    monkeypatch.setattr(build, "train", train)
    trained("tiny", window=512)
    assert [len(window) for window in watched] == [513] * 8


def test_the_checkpoint_loads_as_a_target_with_the_separator_as_start_token(
    table, trained
):
    folder = trained("tiny")
    target = target_of(folder / "checkpoint.json")
    assert target.vocabulary == 300
    assert target.context == CONTEXT
    assert start_token_ids(target.tokenizer, SEPARATOR) == (0,)
    assert start_token_ids(target.tokenizer, "tokenizer") == ()
    text = texts_of(table, 1, 16)[0]
    assert target.tokenizer.decode(target.tokenizer(text)["input_ids"]) == text
    model = target.load()
    assert model.get_input_embeddings().weight is model.get_output_embeddings().weight
    curve = read_parquet(folder / "training.parquet")
    assert list(curve.columns) == ["step", "tokens", "loss", "heldout_loss"]
    assert list(curve["step"]) == list(range(1, len(curve) + 1))
    assert curve["tokens"].is_monotonic_increasing
    assert pd.notna(curve["heldout_loss"].iloc[-1])


CONTINUED = Training.model_validate(
    {
        "from": "tiny",
        "benchmark": "sotu_split",
        "learning_rate": 0.006,
        "epochs": 2,
        "window": 64,
        "seed": 0,
    }
)


def losses(record: Path, texts: list[str]) -> float:
    """Mean loss (nats a token) of the texts, each after the start token."""
    target = target_of(record)
    model, (start,) = target.load(), start_token_ids(target.tokenizer, SEPARATOR)
    rows = []
    for ids in target.tokenizer(texts, add_special_tokens=False)["input_ids"]:
        rows.append([start, *ids])
    with torch.no_grad():
        return sum(float(mean_loss(model, row)) for row in rows) / len(rows)


# Llama's tokenizer puts a token of its own before a text
@pytest.mark.parametrize("kind", ["gpt_neox", "llama"])
def test_a_model_that_is_trained_further_learns_the_members_and_does_so_twice_alike(
    table, tmp_path, tiny_checkpoint, kind
):
    start = tiny_checkpoint(kind)
    given = {"benchmark": table, "start": start, "threads": 1}
    first = continue_model("tiny", CONTINUED, **given, out_dir=tmp_path / "first")
    again = continue_model("tiny", CONTINUED, **given, out_dir=tmp_path / "again")
    assert first.files == again.files
    assert (
        first.files["tokenizer.json"] == read_checkpoint(start).files["tokenizer.json"]
    )
    assert read_json(first.path / "config.json")["dtype"] == "float32"
    members = texts_of(table, 1, 16)
    others = texts_of(table, 0, 16)
    (seen, unseen), (seen_after, unseen_after) = (
        [losses(record, texts) for texts in (members, others)]
        for record in (start, tmp_path / "first" / "checkpoint.json")
    )
    assert seen_after < 0.8 * seen
    assert seen - seen_after > unseen - unseen_after, (
        "members are learned better than the rest"
    )


def test_a_window_longer_than_the_models_context_is_refused(table, tmp_path):
    start = tmp_path / "start.json"
    register_local(
        tiny_models.tiny_model("llama", tmp_path / "start", context=32), start
    )
    with pytest.raises(
        InputError,
        match=r"models.more.training.window is 64, and tiny reads 32 tokens at most",
    ):
        continue_model(
            "more",
            CONTINUED,
            benchmark=table,
            start=start,
            out_dir=tmp_path / "more",
            threads=1,
        )


def test_a_benchmark_without_members_is_named(table, tokenizer):
    loaded = tokenizer_of(tokenizer)
    with pytest.raises(
        InputError, match="tiny: the benchmark sotu_split has no members"
    ):
        fit(
            "tiny",
            Training.model_validate(TRAINING),
            table[table["label"] == 0],
            loaded,
        )


def test_a_tokenizer_is_trained_the_same_way_twice(tokenizer, tmp_path):
    train_tokenizer(iter(OLD), 300, tmp_path / "again.json")
    assert (tmp_path / "again.json").read_bytes() == tokenizer.read_bytes()


@pytest.mark.parametrize("slug", sorted(TRAINED))
def test_every_registered_model_is_of_its_size(slug):
    training = TRAINED[slug]["training"]
    sizes = {key: training[key] for key in ("vocabulary", "width", "layers", "seed")}
    assert new_model(**sizes).num_parameters() == TRAINED[slug]["parameters"]
