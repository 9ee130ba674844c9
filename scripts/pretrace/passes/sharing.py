"""A prompt prefix encoded once and read by every batch: by its keys and values, or from a copy of its state.

Which way a model allows is decided by comparing it with plain concatenation on a few tokens.
"""

import copy
from typing import Any, ClassVar

import torch
from transformers.cache_utils import Cache, DynamicCache, DynamicLayer

from pretrace.passes.features import Features
from pretrace.passes.memory import is_out_of_memory
from pretrace.passes.prompt_prefix import Ids
from pretrace.runtime.logs import log

_TOLERANCE = {torch.float32: 1e-4, torch.bfloat16: 0.1, torch.float16: 0.02}
"""Relative to the features' norm; a model that ignores the prompt prefix is off by about 1."""

_OF_DEVICES = ("same device", "CUDA")
"""In the words of a RuntimeError that tells of the devices, not of the model."""

_STRETCHED = {"dynamic", "longrope"}
"""Rotary embeddings whose angles depend on how long the input is: what was read before would change."""


class PrefixLayer(DynamicLayer):
    """One layer's keys and values [1, heads, tokens, width] of a prompt prefix, as a cache that keeps nothing else.

    A batch sees them before its own; the concatenation lives as long as the layer's attention.
    """

    def __init__(self, keys: torch.Tensor, values: torch.Tensor) -> None:
        super().__init__()
        self.keys, self.values = keys, values
        self.dtype, self.device = keys.dtype, keys.device
        self.is_initialized = True

    def update(
        self, key_states: torch.Tensor, value_states: torch.Tensor, *args: Any, **kwargs: Any
    ) -> tuple[torch.Tensor, torch.Tensor]:
        return _after(self.keys, key_states), _after(self.values, value_states)


def _after(shared: torch.Tensor, own: torch.Tensor) -> torch.Tensor:
    return torch.cat([shared.expand(len(own), *shared.shape[1:]), own], dim=-2)


class SharedCache:
    """Attention models: the prefix's keys and values, encoded part by part, so that they do not depend on what
    follows.
    """

    way: ClassVar[str] = "by its keys and values"

    def __init__(self, features: Features, parts: tuple[Ids, ...]) -> None:
        self.parts = parts
        self._features = features
        # Explicit: the default of a sliding-window model drops what its first texts still need to see.
        cache = DynamicCache()
        self._last, self._ends = [], []
        for part in parts:
            ids = torch.tensor([part], device=features.device)
            self._last.append(features(ids, past_key_values=cache, use_cache=True)[0, -1].clone())
            self._ends.append(cache.get_seq_length())
        self._layers = [(layer.keys, layer.values) for layer in cache.layers]

    def serves(self, parts: tuple[Ids, ...]) -> bool:
        return self.parts[: len(parts)] == parts

    def last(self, parts: tuple[Ids, ...]) -> torch.Tensor:
        """Features [width] of the last token of these parts, which predict a text's first token."""
        return self._last[len(parts) - 1]

    def read(self, inputs: torch.Tensor, parts: tuple[Ids, ...]) -> torch.Tensor:
        """Features [texts, tokens, width] of `inputs` [texts, tokens] after these parts."""
        with self._features.after_prefix():
            return self._features(inputs, past_key_values=self.cache(parts), use_cache=True)

    def cache(self, parts: tuple[Ids, ...]) -> Cache:
        """The first of the encoded positions, as views."""
        end = self._ends[len(parts) - 1]
        return Cache(
            layers=[PrefixLayer(keys[..., :end, :], values[..., :end, :]) for keys, values in self._layers]
        )


class SteppedState:
    """Recurrent and hybrid models: a snapshot of the state; texts continue token by token from a copy of it.

    More tokens at a time would silently ignore the state. A state cannot be cropped, so each prefix has its own.
    """

    way: ClassVar[str] = "token by token from a copy of its state"

    def __init__(self, features: Features, parts: tuple[Ids, ...]) -> None:
        self.parts = parts
        self._features = features
        ids = torch.tensor([[token for part in parts for token in part]], device=features.device)
        read, self._name, self._state = features.with_state(ids)
        self._last = read[0, -1].clone()

    def serves(self, parts: tuple[Ids, ...]) -> bool:
        return self.parts == parts

    def last(self, parts: tuple[Ids, ...]) -> torch.Tensor:
        return self._last

    def read(self, inputs: torch.Tensor, parts: tuple[Ids, ...]) -> torch.Tensor:
        state = copy.deepcopy(self._state)
        state.reorder_cache(torch.zeros(len(inputs), dtype=torch.long, device=inputs.device))
        return torch.cat(
            [
                self._features(token, use_cache=True, **{self._name: state})
                for token in inputs.split(1, dim=1)
            ],
            dim=1,
        )


Encoded = SharedCache | SteppedState
PrefixSharing = type[SharedCache] | type[SteppedState]


def sharing_of(features: Features, name: str) -> PrefixSharing | None:
    """How this model shares a prompt prefix, or None if every text must be sent with it."""
    chosen = next((way for way in (SharedCache, SteppedState) if _agrees(way, features, name)), None)
    how = f"shared {chosen.way}" if chosen else "put before every text: this model cannot share it"
    log.info("%s: a prefix is %s", name, how)
    return chosen


def _agrees(way: PrefixSharing, features: Features, name: str) -> bool:
    """Whether texts after a shared prompt prefix have the same features as texts that begin with it.

    An error of the device is raised, because it says nothing about the model.
    """
    if features.rope_type in _STRETCHED:
        return False
    ids = torch.arange(24, device=features.device).remainder(features.vocabulary)
    parts = (tuple(ids[:5].tolist()), tuple(ids[5:12].tolist()), tuple(ids[12:16].tolist()))
    texts = torch.stack([ids[16:], ids[:8]])
    try:
        encoded = way(features, parts)
        asked = [parts[:2], parts] if encoded.serves(parts[:2]) else [parts]
        return all(_close(encoded, of, texts, features) for of in asked)
    except (AttributeError, IndexError, KeyError, RuntimeError, TypeError, ValueError) as error:
        # what a model says that has no such cache differs from one to the next
        if is_out_of_memory(error) or any(words in str(error) for words in _OF_DEVICES):
            raise
        log.info("%s: a prefix is not shared %s (%s: %s)", name, way.way, type(error).__name__, error)
        return False


def _close(encoded: Encoded, parts: tuple[Ids, ...], texts: torch.Tensor, features: Features) -> bool:
    prompt_prefix = torch.tensor([[token for part in parts for token in part]], device=features.device)
    whole = features(torch.cat([prompt_prefix.expand(len(texts), -1), texts], dim=1), use_cache=False)
    last, after = whole[0, prompt_prefix.shape[1] - 1], whole[:, prompt_prefix.shape[1] :]
    off = max(_distance(encoded.last(parts), last), _distance(encoded.read(texts, parts), after))
    return off < _TOLERANCE[features.dtype]


def _distance(found: torch.Tensor, expected: torch.Tensor) -> float:
    """Euclidean, relative to the norm of what is expected."""
    return float((found.float() - expected.float()).norm() / expected.float().norm())
