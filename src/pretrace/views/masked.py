"""Neighbours by a masked language model, as MIMIR makes them.

Mattern et al., Membership Inference Attacks against Language Models via Neighbourhood
Comparison, ACL 2023. Unlike MIMIR's code: the closing special token is never swapped,
noise is added to the word's input embedding (MIMIR's code adds positions and their
normalisation twice), special tokens are not candidates, and a capital first letter is
kept.
"""

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from pretrace.models.checkpoint import Checkpoint
from pretrace.models.devices import hold_gpus
from pretrace.runtime.errors import explain_failure
from pretrace.runtime.files import read_json
from pretrace.runtime.logs import Progress, log
from pretrace.views.words import (
    NEIGHBOUR_PERCENT,
    Span,
    in_case_of,
    replace_spans,
    share_of,
)

if TYPE_CHECKING:
    import torch

DROPOUT = 0.7
"""Share of the swapped token's input embedding that is set to 0, so that the model half
forgets the token."""
BATCH_TOKENS = 16384
"""Tokens that go through the model at a time; another number changes neighbours by
rounding alone."""
CANDIDATES = 6
TRIALS = 1000
"""Random choices of places a text; those with the likeliest swaps become its
neighbours."""


def is_masked(checkpoint: Checkpoint) -> bool:
    """Return whether the checkpoint's configuration says that it is a masked language
    model."""
    config = read_json(checkpoint.path / "config.json")
    architectures = config.get("architectures") or []
    return any(name.endswith("ForMaskedLM") for name in architectures)


def load_masked_model(checkpoint: Checkpoint, device: str = "auto") -> Any:
    """Load the model in float32, in evaluation mode, its files verified; device auto is
    cuda if it works.

    Raises `InputError` if transformers cannot load it, or if weights would be random.
    """
    import torch
    import transformers

    from pretrace.models.architecture import check_filled

    checkpoint.verify(checkpoint.files)
    load = transformers.AutoModelForMaskedLM.from_pretrained
    with explain_failure(f"transformers cannot load {checkpoint.path}"):
        model, loading = load(
            checkpoint.path,
            dtype=torch.float32,
            output_loading_info=True,
            local_files_only=True,
            use_safetensors=True,
            trust_remote_code=False,
        )
    check_filled(model, loading, checkpoint)
    if device == "auto":
        device = "cuda" if torch.cuda.is_available() else "cpu"
    if device == "cuda":
        hold_gpus()
    return model.to(device).eval()


class Swap(NamedTuple):
    """The best other token at a place of the text; `weight` is p(other) / (1 -
    p(own))."""

    place: Span
    word: str
    weight: float


def neighbours_by_masked_model(
    texts: Sequence[str], model: Any, tokenizer: Any, count: int, seeds: Sequence[int]
) -> list[list[str]]:
    """Make at most `count` different neighbours of each text, each with 5 % of the
    tokens (at least one) swapped.

    `model` is a masked language model in evaluation mode, `tokenizer` its fast
    tokenizer; `seeds` has one seed a text. Tokens beyond the model's context are not
    swapped. A text with few tokens has fewer neighbours.
    """
    neighbours, cut = [], 0
    with Progress("neighbours", total=len(texts), unit="texts") as progress:
        for text, seed in zip(texts, seeds, strict=True):
            encoded = encode_words(text, tokenizer, model)
            end = encoded.places[-1][1] if encoded.places else 0
            cut += end < len(text.rstrip())
            swaps = _swaps(text, encoded, model, tokenizer, seed)
            rng = np.random.default_rng(seed)
            neighbours.append(_likeliest(text, swaps, count, rng))
            progress.update(1)
    if cut:
        log.info(
            "neighbours: %d of %d texts are longer than the model's context",
            cut,
            len(texts),
        )
    return neighbours


class _Encoded(NamedTuple):
    """A text's token ids with special tokens, and the indices and places in the text of
    the others."""

    ids: list[int]
    indices: list[int]
    places: list[Span]


def encode_words(text: str, tokenizer: Any, model: Any) -> _Encoded:
    """Encode the beginning of a text that the model reads, with the place of each
    token."""
    context = min(tokenizer.model_max_length, model.config.max_position_embeddings)
    encoding = tokenizer(
        text,
        truncation=True,
        max_length=context,
        return_offsets_mapping=True,
        return_special_tokens_mask=True,
    )
    indices, places = [], []
    for i, special in enumerate(encoding["special_tokens_mask"]):
        if not special:
            indices.append(i)
            places.append(tuple(encoding["offset_mapping"][i]))
    return _Encoded(encoding["input_ids"], indices, places)


def _swaps(
    text: str, encoded: _Encoded, model: Any, tokenizer: Any, seed: int
) -> list[Swap]:
    """Return one swap for each place at which the model has a candidate that is not the
    token itself."""
    special = set(tokenizer.all_special_ids)
    swaps = []
    candidates = candidates_of(encoded, model, seed)
    for place, (own, *others) in zip(encoded.places, candidates, strict=True):
        # the authors' floor, where the model is certain of the token
        p_not_own = 1 - own.probability if own.probability < 1 else 0.1
        for other in others:
            if other.id == own.id or other.id in special:
                continue
            written = tokenizer.decode([other.id]).replace("##", "").strip()
            first_letter = text[slice(*place)][:1]
            word = in_case_of(written, first_letter)
            swaps.append(Swap(place, word, other.probability / p_not_own))
            break
    return swaps


class Candidate(NamedTuple):
    """A token at a place, and its probability there."""

    id: int
    probability: float


def candidates_of(
    encoded: _Encoded, model: Any, seed: int
) -> Iterator[list[Candidate]]:
    """Yield for each place the token itself, and then the likeliest ones, likeliest
    first.

    Row i of a batch is the text with noise on its i-th token alone; each token's noise
    depends on the seed.
    """
    import torch

    device = next(model.parameters()).device
    ids = torch.tensor(encoded.ids, device=device)
    with torch.inference_mode():
        embedded = model.get_input_embeddings()(ids)
        noise = dropout_noise(len(encoded.indices), embedded.shape[1], seed)
        noise = noise.to(device, embedded.dtype)
        at_once = max(1, BATCH_TOKENS // len(encoded.ids))
        for start in range(0, len(encoded.indices), at_once):
            end = start + at_once
            places = torch.tensor(encoded.indices[start:end], device=device)
            each = torch.arange(len(places), device=device)
            batch = embedded.repeat(len(places), 1, 1)
            batch[each, places] *= noise[start:end] / (1 - DROPOUT)
            logits = model(inputs_embeds=batch).logits[each, places].float()
            probabilities = torch.softmax(logits, dim=-1)
            number = min(CANDIDATES, probabilities.shape[1])
            best = probabilities.topk(number, dim=-1).indices
            candidates = torch.cat([ids[places, None], best], dim=1)
            of_candidates = probabilities.gather(1, candidates)
            of_places = zip(candidates.tolist(), of_candidates.tolist(), strict=True)
            for tokens, values in of_places:
                yield list(map(Candidate, tokens, values))


def dropout_noise(places: int, width: int, seed: int) -> "torch.Tensor":
    """Draw the parts of each token's embedding that stay, bool [places, width]; on the
    CPU everywhere."""
    import torch

    generator = torch.Generator().manual_seed(seed)
    return torch.rand(places, width, generator=generator) >= DROPOUT


def _likeliest(
    text: str, swaps: list[Swap], count: int, rng: np.random.Generator
) -> list[str]:
    """Return the `count` different texts of the highest summed weight, of TRIALS random
    choices of places."""
    if not swaps:
        return []
    size = max(1, share_of(len(swaps), NEIGHBOUR_PERCENT))
    places = np.tile(np.arange(len(swaps)), (TRIALS, 1))
    orders = rng.permuted(places, axis=1)
    choices = np.unique(np.sort(orders[:, :size], axis=1), axis=0)
    weights = np.array([swap.weight for swap in swaps])
    summed = weights[choices].sum(axis=1)
    neighbours = []
    for row in np.argsort(-summed, kind="stable"):
        replacements = {}
        for number in choices[row]:
            swap = swaps[number]
            replacements[swap.place] = swap.word
        neighbour = replace_spans(text, replacements)
        if neighbour not in neighbours:
            neighbours.append(neighbour)
        if len(neighbours) == count:
            break
    return neighbours
