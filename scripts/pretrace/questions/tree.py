"""Prompts that begin alike, read as a tree: what they share goes through the model once.

The 24 orders of four options share the header and, branch by branch, the first options: per passage 4 + 12 + 24 + 24
options are read instead of 96, and one header instead of 24. Prompts are compared token by token, so nothing
has to say where a header ends, and a tree gives what each prompt gives alone.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

import torch
from transformers.cache_utils import Cache, DynamicCache

from pretrace.passes.features import Features
from pretrace.passes.lead import Ids
from pretrace.passes.memory import is_out_of_memory, smaller_budget
from pretrace.passes.sharing import PrefixLayer

WORTH = 16
"""Tokens that prompts must share further to be read as one branch: less is quicker read again. Two at least, of
which one stays for the prompt that ends first."""

Past = list[tuple[torch.Tensor, torch.Tensor]] | None
"""Keys and values [1, heads, tokens, width] of each layer, of all that stands before a branch."""


@dataclass
class Branch:
    """Tokens that `prompts` (their places in a list) have in common, and how they go on; none: they end here.

    Where they end, the model first writes `written` tokens, each the most probable of the vocabulary.
    """

    ids: Ids
    prompts: list[int]
    branches: list["Branch"] = field(default_factory=list)
    written: int = 0

    @property
    def tokens(self) -> int:
        """Tokens that go through the model for the whole of it."""
        return len(self.ids) + sum(branch.tokens for branch in self.branches)


def tree_of(prompts: Sequence[Ids], written: int = 0) -> Branch:
    """The tree of these token sequences, none of them empty; equal ones end in one branch, with `written`.

    Every other branch that ends has at least one token, whose features predict the answer.
    """
    order = sorted(range(len(prompts)), key=lambda place: prompts[place])
    return _branch(prompts, order, 0, written)


def separate(prompts: Sequence[Ids]) -> Branch:
    """Each prompt a branch of its own, for models that cannot go on from what was read."""
    return Branch((), list(range(len(prompts))), [Branch(ids, [place]) for place, ids in enumerate(prompts)])


def _branch(prompts: Sequence[Ids], places: list[int], start: int, written: int) -> Branch:
    """`places` in the order of their tokens, so that the first and the last share what all do."""
    first, last = prompts[places[0]], prompts[places[-1]]
    if first == last:
        return Branch(first[start:], places, written=written)
    end = start
    most = min(len(prompts[place]) for place in places) - 1
    while end < most and first[end] == last[end]:
        end += 1
    groups: dict[Ids, list[int]] = {}
    for place in places:
        following = prompts[place][end : end + WORTH]
        groups.setdefault(following if len(following) == WORTH else prompts[place][end:], []).append(place)
    return Branch(
        first[start:end], places, [_branch(prompts, group, end, written) for group in groups.values()]
    )


class _Remembering(PrefixLayer):
    """As `PrefixLayer`, and remembers what it gave last: the past of the branches that follow."""

    seen: tuple[torch.Tensor, torch.Tensor]

    def update(
        self, key_states: torch.Tensor, value_states: torch.Tensor, *args: Any, **kwargs: Any
    ) -> tuple[torch.Tensor, torch.Tensor]:
        self.seen = super().update(key_states, value_states)
        return self.seen


class Reader:
    """Reads trees; of each prompt the features of its last token.

    `batch_tokens` bounds the tokens read at a time, padding counted and what stands before a branch not; it is
    halved when memory does not suffice, and only ever falls.
    """

    def __init__(self, features: Features, name: str, batch_tokens: int) -> None:
        self.features, self.name, self.batch_tokens = features, name, batch_tokens

    def last(self, root: Branch, read: Callable[[list[int], torch.Tensor], None]) -> None:
        """Calls `read(places, features [width])` once for each branch that ends, in no particular order."""
        if not root.ids and not any(branch.branches or branch.written for branch in root.branches):
            self._read(root.branches, read, None)
            return
        with self.features.after_prefix():
            self._read([root] if root.ids else root.branches, read, None)

    def _read(
        self, branches: list[Branch], read: Callable[[list[int], torch.Tensor], None], past: Past
    ) -> None:
        todo = sorted(branches, key=lambda branch: -len(branch.ids))
        while todo:
            longest = len(todo[0].ids)
            size = max(1, self.batch_tokens // longest)
            batch = todo[: min(size, self.features.texts_at_once(longest) or size)]
            computed = self._attempt(batch, past)
            if computed is None:
                self._back_off(len(batch), longest)
                continue
            last, after = computed
            del todo[: len(batch)]
            for row, branch in enumerate(batch):
                if branch.branches or branch.written:
                    end = (0 if past is None else past[0][0].shape[-2]) + len(branch.ids)
                    own = [
                        (keys[row : row + 1, :, :end], values[row : row + 1, :, :end])
                        for keys, values in after
                    ]
                    self._read(branch.branches or [self._next(branch, last[row])], read, own)
                else:
                    read(branch.prompts, last[row])

    def _next(self, branch: Branch, features: torch.Tensor) -> Branch:
        """What follows a branch that ends in these features [width]: the token that the model writes."""
        every = torch.arange(self.features.vocabulary, device=features.device)
        id = int(self.features.logits(features[None], every)[0].argmax())
        return Branch((id,), branch.prompts, written=branch.written - 1)

    def _attempt(
        self, batch: list[Branch], past: Past
    ) -> tuple[torch.Tensor, list[tuple[torch.Tensor, torch.Tensor]]] | None:
        try:
            return self._forward(batch, past)
        except (RuntimeError, MemoryError) as error:
            if not is_out_of_memory(error):
                raise
            return None

    def _back_off(self, branches: int, longest: int) -> None:
        self.batch_tokens = smaller_budget(
            self.batch_tokens,
            items=branches,
            longest=longest,
            device=self.features.device,
            name=self.name,
            alone=f"{longest} tokens of one question do not fit into memory",
        )

    def _forward(
        self, batch: list[Branch], past: Past
    ) -> tuple[torch.Tensor, list[tuple[torch.Tensor, torch.Tensor]]]:
        """Features [branches, width] of the last tokens, and keys and values up to there where branches follow.

        Right padding under causal attention needs no mask: what follows a branch is read from before it.
        """
        inputs = torch.zeros(len(batch), max(len(branch.ids) for branch in batch), dtype=torch.long)
        for row, branch in zip(inputs, batch, strict=True):
            row[: len(branch.ids)] = torch.tensor(branch.ids)
        ends = torch.tensor([len(branch.ids) - 1 for branch in batch], device=self.features.device)
        goes_on = any(branch.branches or branch.written for branch in batch)
        cache = _cache(past, goes_on)
        read = self.features(
            inputs.to(self.features.device),
            **({"use_cache": False} if cache is None else {"past_key_values": cache, "use_cache": True}),
        )
        last = read[torch.arange(len(batch), device=read.device), ends]
        if cache is None or not goes_on:
            return last, []
        if past is None:
            return last, [(layer.keys, layer.values) for layer in cache.layers]
        return last, [layer.seen for layer in cache.layers]


def _cache(past: Past, goes_on: bool) -> Cache | None:
    if past is not None:
        layer = _Remembering if goes_on else PrefixLayer
        return Cache(layers=[layer(keys, values) for keys, values in past])
    # Explicit: the default of a sliding-window model drops what the first branches still need to see.
    return DynamicCache() if goes_on else None
