"""Prompts that begin alike, read as a tree: shared tokens go through the model once.

The 24 orders of four options share the header and, branch by branch, the first options:
per passage 4 + 12 + 24 + 24 options are read instead of 96, and one header for all
passages of a document. Prompts are compared token by token, so no mark ends a header,
and a tree gives what each prompt gives alone.

A tree holds one question. Where a header ends follows from the question alone, too: it
is what its prompts share with the same question about other options. So no number
depends on which questions were asked before.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property

import numpy as np
import torch
from torch import Tensor
from transformers.cache_utils import Cache, DynamicCache

from pretrace.passes.attention import whole_row
from pretrace.passes.features import Features, to_device
from pretrace.passes.memory import attempt, smaller_budget
from pretrace.passes.prompt_prefix import Ids
from pretrace.passes.sharing import PrefixLayer, SharedCache, sharing_of
from pretrace.runtime.errors import InputError

WORTH = 16
"""Further tokens that prompts must share to be read as one branch: fewer are quicker
read again. At least two, because one stays for the prompt that ends first."""

Layers = list[tuple[Tensor, Tensor]]
"""Keys and values [1, heads, tokens, width] of each layer."""

Past = Layers | None
"""The same for all tokens before a branch."""

Readout = Callable[[Tensor], Tensor]
"""Features [width] of a prompt's last token -> its answer, on the same device."""


@dataclass
class Branch:
    """Tokens that `prompts` (their places in a list) share, and the branches that
    follow; none: the prompts end here.

    At their end the model first writes `written` tokens, each the most probable of the
    vocabulary.
    """

    ids: Ids
    prompts: list[int]
    branches: list["Branch"] = field(default_factory=list)
    written: int = 0

    @property
    def tokens(self) -> int:
        """Return how many tokens go through the model for it and all below it."""
        return len(self.ids) + sum(branch.tokens for branch in self.branches)


def tree_of(prompts: Sequence[Ids], written: int = 0) -> Branch:
    """Build the tree of these token sequences, none of them empty; equal ones end in
    one branch, with `written`.

    Every other branch that ends has at least one token, whose features predict the
    answer.
    """
    order = sorted(range(len(prompts)), key=lambda place: prompts[place])
    return _branch(prompts, order, 0, written)


def separate(prompts: Sequence[Ids]) -> Branch:
    """Give each prompt a branch of its own, for models that cannot continue from cached
    tokens."""
    branches = [Branch(ids, [place]) for place, ids in enumerate(prompts)]
    return Branch((), list(range(len(prompts))), branches)


def _branch(
    prompts: Sequence[Ids], places: list[int], start: int, written: int
) -> Branch:
    """Build a branch; `places` are in the order of their tokens: the first and the last
    share only what all share."""
    first = prompts[places[0]]
    last = prompts[places[-1]]
    if first == last:
        return Branch(first[start:], places, written=written)
    end = start
    most = min(len(prompts[place]) for place in places) - 1
    while end < most and first[end] == last[end]:
        end += 1
    groups: dict[Ids, list[int]] = {}
    for place in places:
        following = prompts[place][end : end + WORTH]
        groups.setdefault(following, []).append(place)
    branches = [_branch(prompts, group, end, written) for group in groups.values()]
    return Branch(first[start:end], places, branches)


def common_length(prompts: Sequence[Ids]) -> int:
    """Return how many tokens these sequences all begin with."""
    first = min(prompts)
    last = max(prompts)
    length = 0
    while length < min(len(first), len(last)) and first[length] == last[length]:
        length += 1
    return length


def _opened(root: Branch) -> Branch:
    """Put a root of few tokens before its branches, where they are quicker read
    again."""
    if not root.branches or len(root.ids) >= WORTH:
        return root
    branches = [replace(branch, ids=root.ids + branch.ids) for branch in root.branches]
    return Branch((), root.prompts, branches)


@dataclass
class Reader:
    """Reads trees, and answers each prompt from the features of its last token.

    `batch_tokens` bounds the tokens read at a time, including padding, without the
    tokens before a branch. It is halved when memory runs out, and only ever falls.
    `given` and `read` count the tokens of prompts, and those that went through the
    model.
    """

    features: Features
    name: str
    batch_tokens: int
    given: int = 0
    read: int = 0
    _encoded_ids: Ids = ()
    _encoded: Past = None

    def tree(
        self, prompts: Sequence[Ids], written: int, frame: Ids = ()
    ) -> tuple[Branch, Past]:
        """Build a tree of prompts, after what all of them and `frame` begin with, and
        give the past of that.

        The past is kept for the next tree with the same beginning. A model that cannot
        continue from cached keys and values has separate branches and no past. Raises
        `InputError` if it cannot, and tokens are to be `written`.
        """
        lengths = [len(ids) for ids in prompts]
        longest = max(lengths)
        while (shares := attempt(lambda: self._shares)) is None:
            at_once = max(1, self.batch_tokens // longest)
            self.back_off(min(len(prompts), at_once), longest)
        if not shares and written:
            raise InputError(
                f"{self.name} cannot continue from cached tokens, and the benchmark's "
                f"question asks for the letter after {written} tokens that the model "
                "writes; use another question of config/prompts/de_cop.yaml."
            )
        past = None
        if shares:
            # each prompt keeps a token, whose features predict the answer
            shared = min(common_length([frame, *prompts]), min(lengths) - 1)
            past = self._past(prompts[0][:shared])
            root = _opened(tree_of([ids[shared:] for ids in prompts], written))
        else:
            root = separate(prompts)
        self.given += sum(lengths)
        self.read += root.tokens
        return root, past

    def _past(self, ids: Ids) -> Past:
        """Return the keys and values of these ids; the last ones are kept, because
        questions about a document follow each other.
        """
        if not ids:
            return None
        if self._encoded_ids != ids:
            self._encoded_ids = ()
            self._encoded = None  # never two at a time
            past = attempt(self._encode, ids)
            if past is None:
                self.back_off(1, len(ids))
            self._encoded_ids = ids
            self._encoded = past
            self.read += len(ids)
        return self._encoded

    def _encode(self, ids: Ids) -> Layers:
        cache = DynamicCache()
        inputs = to_device(np.array([ids]), self.features.device)
        with torch.inference_mode():
            self.features(inputs, past_key_values=cache, use_cache=True)
        return [(layer.keys, layer.values) for layer in cache.layers]

    @cached_property
    def _shares(self) -> bool:
        with torch.inference_mode():
            return sharing_of(self.features, self.name) is SharedCache

    def answers(
        self, root: Branch, answer: Readout, past: Past = None
    ) -> Iterator[tuple[list[int], Tensor]]:
        """Yield (places, `answer` of the features) once for each branch that ends, in
        no particular order."""
        branches = [root] if root.ids else root.branches
        goes_on = any(branch.branches or branch.written for branch in branches)
        if past is None and not goes_on:
            yield from self._read(branches, answer, None)
            return
        with self.features.after_prefix():
            yield from self._read(branches, answer, past)

    def _read(
        self, branches: list[Branch], answer: Readout, past: Past
    ) -> Iterator[tuple[list[int], Tensor]]:
        todo = sorted(branches, key=lambda branch: -len(branch.ids))
        before = 0 if past is None else past[0][0].shape[-2]
        while todo:
            longest = len(todo[0].ids)
            size = max(1, self.batch_tokens // longest)
            batch = todo[: min(size, self.features.texts_at_once(longest) or size)]
            batch = batch[: self.features.alike([len(branch.ids) for branch in batch])]
            computed = attempt(self._forward, batch, answer, past)
            if computed is None:
                self.back_off(len(batch), longest)
                continue
            following, after = computed
            del todo[: len(batch)]
            for row, (branch, then) in enumerate(zip(batch, following, strict=True)):
                if isinstance(then, Tensor):
                    yield branch.prompts, then
                    continue
                end = before + len(branch.ids)
                own = []
                for layer in after:
                    keys, values = (whole_row(part, row) for part in layer)
                    own.append((keys[..., :end, :], values[..., :end, :]))
                yield from self._read(then, answer, own)

    def back_off(self, items: int, longest: int) -> None:
        """Halve the budget because `items`, the longest of `longest` tokens, did not
        fit into memory."""
        alone = f"{longest} tokens of one question do not fit into memory"
        self.batch_tokens = smaller_budget(
            self, self.features.device, items, longest, alone
        )

    def _forward(
        self, batch: list[Branch], answer: Readout, past: Past
    ) -> tuple[list[list[Branch] | Tensor], Layers]:
        """Run a batch; return each branch's children or answer, and the cache if a
        branch has children.

        Right padding under causal attention needs no mask: no token of a branch reads
        the padding after it.
        """
        width = max(len(branch.ids) for branch in batch)
        inputs = np.zeros((len(batch), width), dtype=np.int64)
        ends = []  # the place of each branch's last token in the flat batch
        for row, branch in enumerate(batch):
            inputs[row, : len(branch.ids)] = branch.ids
            ends.append(row * width + len(branch.ids) - 1)
        goes_on = any(branch.branches or branch.written for branch in batch)
        cache = None
        if past is not None:
            apart = self.features.reads_apart
            layers = []
            for keys, values in past:
                layer = PrefixLayer(keys, values, apart=apart, remembers=goes_on)
                layers.append(layer)
            cache = Cache(layers=layers)
        elif goes_on:
            # Explicit: the default of a sliding-window model drops what the first
            # branches still need to see.
            cache = DynamicCache()
        caching = {"use_cache": cache is not None}
        if cache is not None:
            caching["past_key_values"] = cache
        read = self.features(to_device(inputs, self.features.device), **caching)
        places = to_device(np.array(ends), read.device)
        last = read.flatten(0, 1).index_select(0, places)
        following = self._following(batch, last, answer)
        if cache is None or not goes_on:
            return following, []
        if past is None:
            return following, [(layer.keys, layer.values) for layer in cache.layers]
        return following, [layer.seen for layer in cache.layers]

    def _following(
        self, batch: list[Branch], last: Tensor, answer: Readout
    ) -> list[list[Branch] | Tensor]:
        vocabulary = torch.arange(self.features.vocabulary, device=last.device)
        likeliest = []
        for branch, features in zip(batch, last, strict=True):
            if branch.written and not branch.branches:
                logits = self.features.logits(features[None], vocabulary)[0]
                likeliest.append(logits.argmax())
        # all at once: each of them would wait for the device
        ids = iter(torch.stack(likeliest).tolist() if likeliest else [])
        following: list[list[Branch] | Tensor] = []
        for branch, features in zip(batch, last, strict=True):
            if branch.branches:
                following.append(branch.branches)
            elif branch.written:
                left = branch.written - 1
                following.append([Branch((next(ids),), branch.prompts, written=left)])
            else:
                following.append(answer(features))
        return following
