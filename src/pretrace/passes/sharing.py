"""A prompt prefix encoded once and read by every batch: by its keys and values, or from
a copy of its state.

What the model is decides which way: attention in every layer, or a state. A few layers
of its class, in float32 on the CPU, then verify the way against plain concatenation: no
rounding of the model's own type can tip the choice.
"""

import copy
import math
from itertools import chain, product
from typing import Any, ClassVar

import torch
from torch import Tensor
from transformers.cache_utils import (
    Cache,
    DynamicCache,
    DynamicLayer,
    LinearAttentionCacheLayerMixin,
)

from pretrace.passes.attention import (
    SHARED_PREFIX,
    copied_ahead,
    gpu_reads_apart,
    heads_of,
    put_ahead,
)
from pretrace.passes.features import Features
from pretrace.passes.memory import is_out_of_memory
from pretrace.passes.prompt_prefix import Ids
from pretrace.runtime.logs import log

_TOLERANCE = 1e-3
"""Relative to the features' norm. Float32 rounds by 1e-6; a position that is off by one
changes features by 0.1."""

_SMALL = {
    "vocab_size": 512,
    "sliding_window": 8,
    "window_size": 8,
    "intermediate_size": 256, "ffn_dim": 256, "n_inner": 256, "ffn_hidden_size": 256,
    "moe_intermediate_size": 256,
}  # fmt: skip
"""The largest sizes of the verified layers. Windows are so short that the
verification's tokens do not fit into one."""

# of keys in narrow layers, and of queries that share one, at most
_KEY_HEADS = 2
_GROUP = 4


class PrefixLayer(DynamicLayer):
    """One layer's keys and values [1, heads, tokens, width] of a prompt prefix, as a
    cache that keeps nothing else.

    A batch sees them before its own. They are copied for it, as long as the layer's
    attention takes, unless the attention reads them `apart`. With `remembers`, `seen`
    has what the last batch saw.
    """

    def __init__(
        self, keys: Tensor, values: Tensor, *, apart: bool, remembers: bool = False
    ) -> None:
        super().__init__()
        self.keys = keys
        self.values = values
        self._ahead = put_ahead if apart else copied_ahead
        self._remembers = remembers
        self.dtype = keys.dtype
        self.device = keys.device
        self.is_initialized = True

    def update(
        self,
        key_states: Tensor,
        value_states: Tensor,
        *args: Any,
        **kwargs: Any,
    ) -> tuple[Tensor, Tensor]:
        keys = self._ahead(self.keys, key_states)
        values = self._ahead(self.values, value_states)
        if self._remembers:
            self.seen = keys, values
        return keys, values


class SharedCache:
    """Attention models: the prefix's keys and values, encoded part by part, so that
    they do not depend on what follows.
    """

    way: ClassVar[str] = "keys and values"

    def __init__(self, features: Features, parts: tuple[Ids, ...]) -> None:
        self.parts = parts
        self._features = features
        # Explicit: the default of a sliding-window model drops what its first texts
        # still need to see.
        cache = DynamicCache()
        self._last = []
        self._ends = []
        for part in parts:
            ids = torch.tensor([part], device=features.device)
            read = features(ids, past_key_values=cache, use_cache=True)
            self._last.append(read[0, -1].clone())
            self._ends.append(cache.get_seq_length())
        self._layers = [(layer.keys, layer.values) for layer in cache.layers]

    def serves(self, parts: tuple[Ids, ...]) -> bool:
        return self.parts[: len(parts)] == parts

    def last(self, parts: tuple[Ids, ...]) -> Tensor:
        """Return the features [width] of the last token of these parts, which predict a
        text's first token."""
        return self._last[len(parts) - 1]

    def read(self, inputs: Tensor, parts: tuple[Ids, ...]) -> Tensor:
        """Return features [texts, tokens, width] of `inputs` [texts, tokens] after
        these parts."""
        with self._features.after_prefix():
            cache = self.cache(parts)
            return self._features(inputs, past_key_values=cache, use_cache=True)

    def cache(self, parts: tuple[Ids, ...]) -> Cache:
        """Return the first of the encoded positions, as views."""
        end = self._ends[len(parts) - 1]
        apart = self._features.reads_apart
        layers = []
        for keys, values in self._layers:
            layer = PrefixLayer(keys[..., :end, :], values[..., :end, :], apart=apart)
            layers.append(layer)
        return Cache(layers=layers)


def keys_and_values_gb(features: Features, tokens: int) -> float | None:
    """Return the GB of memory that the keys and values of this many tokens take, about;
    None if no heads are stated."""
    config = features.model.config.get_text_config()
    heads = heads_of(config)
    if heads is None:
        return None
    of_layer = 2 * heads.of_keys * heads.width
    numbers = of_layer * config.num_hidden_layers * tokens
    return numbers * features.dtype.itemsize / 1e9


class SteppedState:
    """Recurrent and hybrid models: a snapshot of the state; texts continue token by
    token from a copy of it.

    More tokens at a time would silently ignore the state. A state cannot be cropped, so
    each prefix has its own.
    """

    way: ClassVar[str] = "state, token by token"

    def __init__(self, features: Features, parts: tuple[Ids, ...]) -> None:
        self.parts = parts
        self._features = features
        ids = torch.tensor([[*chain(*parts)]], device=features.device)
        read, self._name, self._state = features.with_state(ids)
        self._last = read[0, -1].clone()

    def serves(self, parts: tuple[Ids, ...]) -> bool:
        return self.parts == parts

    def last(self, parts: tuple[Ids, ...]) -> Tensor:
        return self._last

    def read(self, inputs: Tensor, parts: tuple[Ids, ...]) -> Tensor:
        state = copy.deepcopy(self._state)
        first = torch.zeros(len(inputs), dtype=torch.long, device=inputs.device)
        state.reorder_cache(first)
        read = []
        for token in inputs.split(1, dim=1):
            read.append(self._features(token, use_cache=True, **{self._name: state}))
        return torch.cat(read, 1)


EncodedPrefix = SharedCache | SteppedState
PrefixSharing = type[SharedCache] | type[SteppedState]


def way_name(sharing: PrefixSharing | None) -> str:
    """Return how texts are read after a prefix, as manifests have it."""
    return "put before every text" if sharing is None else sharing.way


def sharing_of(features: Features, name: str) -> PrefixSharing | None:
    """Choose how this model shares a prompt prefix; None if every text must be sent
    with it."""
    try:
        chosen = _way_of(features)
        if chosen is not None and not _is_exact(chosen, features, name):
            chosen = None
    except Exception as error:
        # the errors of models that have no such cache differ from one to the next
        if is_out_of_memory(error):
            raise
        log.warning(
            "%s: a prefix cannot be shared (%s: %s); it is put before every text, "
            "which takes many times as long",
            name,
            type(error).__name__,
            error,
        )
        chosen = None
    log.info("%s: how texts are read after a prefix: %s", name, way_name(chosen))
    return chosen


def _way_of(features: Features) -> PrefixSharing | None:
    """Return the way that suits the model's layers: keys and values in all of them, or
    a state in some."""
    if features.stretches or features.mixes_texts:  # what was read before would change
        return None
    model = features.model
    layers = DynamicCache(config=model.config).layers
    # the classes of transformers say so by `_is_stateful`, other classes by their
    # layers alone
    linear = LinearAttentionCacheLayerMixin
    if model._is_stateful or any(isinstance(layer, linear) for layer in layers):
        return SteppedState
    if all(isinstance(layer, DynamicLayer) for layer in layers):
        return SharedCache
    return None


def _is_exact(way: PrefixSharing, features: Features, name: str) -> bool:
    """Return whether texts after a shared prefix have the same features as texts that
    begin with it.

    Tries narrow layers first, which take a tenth of a second, and the layers' own width
    where a narrow model cannot be made. Of the attentions the first that is exact is
    left in `features`.
    """
    attentions = _attentions(features) if way is SharedCache else [features.attention]
    trials = [*product((True, False), attentions)]
    off = math.inf
    for number, (narrow, attention) in enumerate(trials, 1):
        try:
            small = _small(features.model, narrow=narrow)
            off = _off(way, Features(small, attention))
        except Exception as error:
            if is_out_of_memory(error) or number == len(trials):
                raise
            continue
        if off <= _TOLERANCE:
            features.attention = attention
            return True
    log.warning(
        "%s: a prefix that is shared by %s gives features that are off by %.2g of "
        "their norm from those of plain concatenation, in a few layers in float32 "
        "(tolerance %g); it is put before every text, which takes many times as long",
        name,
        way.way,
        off,
        _TOLERANCE,
    )
    return False


def _attentions(features: Features) -> list[str]:
    """Return the attentions after a prefix that may suit the model and its device, the
    quickest first."""
    if features.attention != SHARED_PREFIX:
        return [features.attention]
    config = features.model.config.get_text_config()
    on_gpu = features.device.type == "cuda"
    if on_gpu and not gpu_reads_apart(config, features.device, features.dtype):
        return ["sdpa"]
    return [SHARED_PREFIX, "sdpa"]


def _small(model: Any, *, narrow: bool) -> Any:
    """Make the first layers of the model's class, with random weights, in float32 on
    the CPU.

    At least two layers, and as many as it takes to have one of each kind. With `narrow`
    they have few heads.
    """
    kinds = [type(layer) for layer in DynamicCache(config=model.config).layers]
    last_first = max(kinds.index(kind) for kind in kinds)
    count = max(2, last_first + 1)
    config = copy.deepcopy(model.config)
    config.quantization_config = None
    text = config.get_text_config()
    for key, value in list(vars(text).items()):
        # a value for each layer
        if isinstance(value, list) and len(value) == text.num_hidden_layers:
            setattr(text, key, value[:count])
    text.num_hidden_layers = count
    for key, most in _SMALL.items():
        size = getattr(text, key, None)
        if isinstance(size, int):
            setattr(text, key, min(size, most))
    # some configurations take no other value
    if isinstance(getattr(text, "pad_token_id", None), int):
        text.pad_token_id = min(text.pad_token_id, text.vocab_size - 1)
    if narrow:
        _narrow(text)
    with torch.device("cpu"), torch.random.fork_rng(devices=[]):
        torch.manual_seed(0)
        small = type(model)._from_config(config, dtype=torch.float32).eval()
        for weight in small.parameters():
            # wide enough for attention to tell one token from another
            if weight.dim() > 1:
                wanted = 2 * weight.shape[-1] ** -0.5
                weight.mul_(wanted / weight.std().clamp(min=1e-12))
    return small


def _narrow(config: Any) -> None:
    """Leave a configuration few heads of their own width, grouped as they were, and
    hidden states to match."""
    heads = heads_of(config)
    if heads is None:
        return
    key_heads = min(heads.of_keys, _KEY_HEADS)
    # some embeddings are as wide as the layers, others have a width of their own
    embedded = getattr(config, "word_embed_proj_dim", None)
    is_projected = embedded != config.hidden_size
    group = min(heads.of_queries // heads.of_keys, _GROUP)
    config.num_attention_heads = key_heads * group
    if hasattr(config, "num_key_value_heads"):
        config.num_key_value_heads = key_heads
    config.hidden_size = config.num_attention_heads * heads.width
    if embedded is not None and not is_projected:
        config.word_embed_proj_dim = config.hidden_size


def _off(way: PrefixSharing, features: Features) -> float:
    """Return the largest distance between features after a shared prefix and after
    plain concatenation."""
    # three parts, so that a prefix is also shared in part; the second text repeats the
    # prefix's beginning
    ids = torch.arange(24).remainder(features.vocabulary)
    parts = tuple(tuple(part.tolist()) for part in ids[:16].split([5, 7, 4]))
    texts = torch.stack([ids[16:], ids[:8]])
    encoded = way(features, parts)
    off = _distance(encoded, parts, texts, features)
    some = parts[:2]
    if encoded.serves(some):
        off = max(off, _distance(encoded, some, texts, features))
    return off


def _distance(
    encoded: EncodedPrefix,
    parts: tuple[Ids, ...],
    texts: Tensor,
    features: Features,
) -> float:
    """Return the Euclidean distance, relative to the norm of the features that are
    expected."""
    prefix = [*chain(*parts)]
    ahead = torch.tensor(prefix).expand(len(texts), -1)
    whole = features(torch.cat([ahead, texts], dim=1), use_cache=False)
    of_last = _relative(encoded.last(parts), whole[0, len(prefix) - 1])
    of_texts = _relative(encoded.read(texts, parts), whole[:, len(prefix) :])
    return max(of_last, of_texts)


def _relative(shared: Tensor, expected: Tensor) -> float:
    return float((shared - expected).norm() / expected.norm())
