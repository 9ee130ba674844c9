"""Shadow models: the training of a controlled model, repeated on other halves of the
same texts."""

import random
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import numpy.typing as npt
import pandas as pd
import torch

from pretrace.models.entries import Training
from pretrace.models.training.build import fit, tokenizer_of
from pretrace.models.training.loop import mean_loss
from pretrace.runtime.errors import InputError
from pretrace.seeds import seed_of

Booleans = npt.NDArray[np.bool_]


def train_shadows(
    name: str,
    training: Training,
    *,
    benchmark: pd.DataFrame,
    lengths: Sequence[int] | None,
    shadows: int,
    tokenizer_json: Path,
    threads: int,
) -> pd.DataFrame:
    """Compute the benchmark's log-likelihoods under `shadows` models that are trained
    as the model `name` is.

    Each is trained on half of the texts of both classes (`halves`), with a seed of its
    own; everything else is as `training`, the entry of the model, says. Gives one row
    for each text of these `lengths` (None: all) and shadow: `text_id`; `shadow` (from
    0); `in`, whether the text was in its half; `log_likelihood`, the mean
    log-probability of the text's tokens after the separator (nats). Deterministic as
    `build.train_model`. Raises `InputError` if a text is not part of a text of the
    longest length.
    """
    torch.set_num_threads(threads)
    tokenizer = tokenizer_of(tokenizer_json)
    chosen = benchmark["length"] if lengths is None else lengths
    read = benchmark["length"].isin(chosen).to_numpy(bool)
    rows = benchmark[read]
    texts = []
    for ids in tokenizer(rows["text"].tolist())["input_ids"]:
        texts.append([tokenizer.eos_token_id, *ids])
    drawn = halves(benchmark, shadows, seed_of("shadows", training.seed))
    frames = []
    for shadow, half in enumerate(drawn):
        seed = seed_of("shadow", training.seed, shadow)
        own = training.model_copy(update={"seed": seed})
        trained = benchmark.assign(label=pd.array(half.astype(int), dtype="Int64"))
        model, _ = fit(f"shadow {shadow} of {name}", own, trained, tokenizer)
        model.eval()
        with torch.no_grad():
            scores = [-mean_loss(model, text).item() for text in texts]
        columns = {
            "text_id": rows["text_id"],
            "shadow": shadow,
            "in": half[read],
            "log_likelihood": scores,
        }
        frames.append(pd.DataFrame(columns))
    return pd.concat(frames, ignore_index=True)


def halves(benchmark: pd.DataFrame, count: int, seed: int) -> list[Booleans]:
    """Draw for each of `count` shadows (even) the half of the texts that it is trained
    on, as a split draws members.

    Of a document with texts of both classes half of the texts of the longest length;
    documents of one class are whole in or out, in turn. A shorter text goes with the
    longest one that it is a part of. Shadows 2i and 2i + 1 have the opposite halves, so
    that each text is in half of the shadows and out of the others.
    """
    place = _containing_text(benchmark)
    drawn = []
    for pair in range(count // 2):
        chosen = _half(benchmark, random.Random(seed_of(seed, pair)))
        half = np.isin(place, sorted(chosen))
        drawn += [half, ~half]
    return drawn


def _longest(benchmark: pd.DataFrame) -> list[int]:
    length = benchmark["length"].fillna(0)
    return [int(place) for place in np.flatnonzero(length == length.max())]


def _half(benchmark: pd.DataFrame, rng: random.Random) -> set[int]:
    """Draw half of the texts of the longest length; their places."""
    documents: dict[str, list[int]] = {}
    names = benchmark["document"].tolist()
    labels = benchmark["label"].tolist()
    for place in _longest(benchmark):
        documents.setdefault(names[place], []).append(place)
    whole = []
    for own in documents.values():
        if len({labels[place] for place in own}) == 1:
            whole.append(own)
    rng.shuffle(whole)
    first = rng.randrange(2)
    chosen = set()
    for own in whole[first::2]:
        chosen.update(own)
    for own in documents.values():
        if own not in whole:
            size = (len(own) + rng.randrange(2)) // 2
            chosen.update(rng.sample(own, size))
    return chosen


def _containing_text(benchmark: pd.DataFrame) -> npt.NDArray[np.int64]:
    """Return for each text the place of the first text of the longest length that it is
    a part of."""
    texts = benchmark["text"].tolist()
    longest = _longest(benchmark)
    places = []
    for text, id in zip(texts, benchmark["text_id"], strict=True):
        place = next((place for place in longest if text in texts[place]), None)
        if place is None:
            raise InputError(
                f"shadow models: the text '{id}' is not part of a text of the longest "
                "length, so it is unknown whether a shadow model was trained on it; "
                "use a benchmark whose shorter texts are parts of longer."
            )
        places.append(place)
    return np.array(places)
