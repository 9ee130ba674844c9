"""Requests -> statistics: length-sorted batches under a token budget that halves when
memory runs out."""

from collections import deque
from collections.abc import Callable, Iterable, Iterator
from functools import cached_property
from typing import Any, TypeVar

import numpy as np
import torch
from torch import Tensor

from pretrace.passes.features import Features, to_device
from pretrace.passes.memory import attempt, smaller_budget
from pretrace.passes.prompt_prefix import Ids, PromptPrefix
from pretrace.passes.requests import TOKEN_STATISTICS, Request
from pretrace.passes.sharing import (
    EncodedPrefix,
    PrefixSharing,
    SharedCache,
    keys_and_values_gb,
    sharing_of,
    way_name,
)
from pretrace.passes.statistics import spans
from pretrace.runtime.errors import InputError
from pretrace.runtime.logs import log

_Started = tuple[list[list[int]], Tensor]
"""A batch, each text by its places in the window, and its statistics, which a GPU may
still be computing."""

Work = TypeVar("Work")


class Engine:
    """A loaded model, the prompt prefix it has encoded, and the token budget of its
    batches.

    The budget counts padding and the ids before each text, but not a shared prompt
    prefix. That of each prefix only ever falls; `batch_tokens` is that of the last one.
    """

    def __init__(self, model: Any, name: str, batch_tokens: int) -> None:
        self.name = name
        self.batch_tokens = batch_tokens
        self._given_budget = batch_tokens
        self._budgets: dict[tuple[Ids, ...], int] = {}
        self.features = Features(model)
        self._encoded: EncodedPrefix | None = None
        if not self.features.has_separate_head:
            log.info(
                "%s: the output layer is not plain linear; its logits are taken from "
                "the whole model",
                name,
            )

    def statistics(
        self,
        window: list[Request],
        prompt_prefix: PromptPrefix,
        *,
        statistics: str,
        progress: Callable[[int, int], None] = lambda texts, tokens: None,
    ) -> list[np.ndarray]:
        """Return for each request float32 [numbers, scored tokens], rows as in
        `requests.TOKEN_STATISTICS`.

        Equal requests run once. Batches form within the window, longest first, so that
        memory is at its peak at the start. `progress(texts, tokens)` is told of each
        batch. Raises `InputError` for a number that is not finite. Of leads that begin
        with each other the longest should come first: it is encoded once for all.
        """
        self.batch_tokens = self._budgets.get(prompt_prefix.parts, self._given_budget)
        if not prompt_prefix.shots:
            self._encoded = None  # an earlier prefix would only take memory
        empty = np.zeros((len(TOKEN_STATISTICS[statistics]), 0), dtype=np.float32)
        results = [empty] * len(window)
        todo = self._to_read(window, prompt_prefix)
        progress(len(window) - sum(len(places) for places in todo), 0)
        started = self._started(todo, window, prompt_prefix, statistics)
        for batch, computed in collected_late(started, self.features.gpus):
            requests = [window[places[0]] for places in batch]
            arrays = self._arrays(requests, prompt_prefix, computed)
            for places, values in zip(batch, arrays, strict=True):
                for place in places:
                    results[place] = values
            progress(sum(len(places) for places in batch), computed.shape[1])
        return results

    def _to_read(
        self, window: list[Request], prompt_prefix: PromptPrefix
    ) -> list[list[int]]:
        """Return the places in the window of each text that is read, the longest text
        first; equal texts are one."""
        copies: dict[bytes, list[int]] = {}
        for place, request in enumerate(window):
            copies.setdefault(request.tokens.tobytes(), []).append(place)
        todo = []
        # the tokens decide among equally long texts: batches do not depend on the
        # texts' ids
        for _, places in sorted(copies.items()):
            request = window[places[0]]
            if request.skip_reason(prompt_prefix) is None:
                highest = request.tokens.max()
                if highest >= self.features.vocabulary:
                    raise InputError(
                        f"{self.name}: text '{request.text_id}' has token {highest}, "
                        "and the model has embeddings of "
                        f"{self.features.vocabulary} tokens. Put the tokenizer there "
                        "that the model was trained with."
                    )
                todo.append(places)
        todo.sort(key=lambda places: -len(window[places[0]].tokens))
        return todo

    def _started(
        self,
        todo: list[list[int]],
        window: list[Request],
        prompt_prefix: PromptPrefix,
        statistics: str,
    ) -> Iterator[_Started]:
        """Yield the batches of `todo`, texts by their places in the window, which is
        emptied from its beginning."""
        while todo:
            first = window[todo[0][0]]
            shares = attempt(self._shares, prompt_prefix)
            ahead = 0 if shares else len(prompt_prefix.ids)
            longest = ahead + len(first.tokens)
            batch = todo[: max(1, self.batch_tokens // longest)]
            lengths = [ahead + len(window[places[0]].tokens) for places in batch]
            batch = batch[: self.features.alike(lengths)]
            requests = [window[places[0]] for places in batch]
            computed = None
            try:
                if shares is not None:
                    computed = attempt(self._run, requests, prompt_prefix, statistics)
            except IndexError as error:
                raise InputError(
                    f"{self.name} has no place for {longest} tokens, as text "
                    f"'{first.text_id}' has ({error}): set a lower max_length for this "
                    "model."
                ) from error
            if computed is None:
                self._back_off(requests, longest, prompt_prefix)
                continue
            del todo[: len(batch)]
            yield batch, computed

    def _back_off(
        self, batch: list[Request], longest: int, prompt_prefix: PromptPrefix
    ) -> None:
        """Halve the budget of this prefix because a batch did not fit into memory
        beside it, or the prefix itself."""
        text = f"text '{batch[0].text_id}' ({longest} tokens) alone"
        alone = f"{text} does not fit into memory"
        lower = "max_length"
        # a way that could not be verified for lack of memory says nothing of the prefix
        way = vars(self).get("sharing")
        if prompt_prefix.shots and way is not None:
            lower = "fewer shots or a lower max_length"
            prefix = self._said_of(prompt_prefix)
            if self._encoded is not None:
                alone = f"{alone} after {prefix}"
            else:
                alone = f"{prefix} does not fit into memory"
        self.batch_tokens = smaller_budget(
            self, self.features.device, len(batch), longest, alone, lower
        )
        self._budgets[prompt_prefix.parts] = self.batch_tokens

    def _said_of(self, prompt_prefix: PromptPrefix) -> str:
        """Write how long a shared prefix is and what it takes of memory, for an
        error."""
        tokens = len(prompt_prefix.ids)
        size = None
        if self.sharing is SharedCache:
            size = keys_and_values_gb(self.features, tokens)
        memory = "" if size is None else f", {size:.2g} GB"
        return (
            f"the prefix of {prompt_prefix.shots_used} shots ({tokens:,} "
            f"tokens{memory})"
        )

    def _arrays(
        self, batch: list[Request], prompt_prefix: PromptPrefix, computed: Tensor
    ) -> list[np.ndarray]:
        """Return the statistics of each text of a batch, once the device has computed
        them."""
        lengths = [len(request.scored_tokens(prompt_prefix)) for request in batch]
        ends = np.cumsum(lengths)[:-1]
        arrays = np.split(computed.cpu().numpy(), ends, axis=1)
        for request, values in zip(batch, arrays, strict=True):
            if not np.isfinite(values).all():
                raise InputError(
                    f"{self.name} gives a probability that is not a number for text "
                    f"'{request.text_id}': weights or activations overflow. Set dtype: "
                    "float32 for this model; if it is float32, its weights are "
                    "damaged: fetch or save the checkpoint again."
                )
        return arrays

    @cached_property
    def sharing(self) -> PrefixSharing | None:
        """Return how this model shares a prompt prefix; None if it is put before every
        text."""
        with torch.inference_mode():
            return sharing_of(self.features, self.name)

    def prefix_way(self, prompt_prefix: PromptPrefix) -> str | None:
        """Return how texts are read after this prompt prefix; None without shots."""
        return way_name(self.sharing) if prompt_prefix.shots else None

    def _shares(self, prompt_prefix: PromptPrefix) -> bool:
        return bool(prompt_prefix.shots) and self.sharing is not None

    def _encoding(self, prompt_prefix: PromptPrefix) -> EncodedPrefix | None:
        """Return the shared prompt prefix, encoded; the last one is reused if it begins
        with this one."""
        if not prompt_prefix.shots or self.sharing is None:
            return None
        if self._encoded is None or not self._encoded.serves(prompt_prefix.parts):
            self._encoded = None  # never two at a time
            self._encoded = self.sharing(self.features, prompt_prefix.parts)
        return self._encoded

    def _run(
        self, batch: list[Request], prompt_prefix: PromptPrefix, statistics: str
    ) -> Tensor:
        """Return statistics [numbers, tokens of all texts], which a GPU may not have
        computed yet.

        Right padding under causal attention needs no mask; the last token need not be
        read, but where positions are read by the length of the whole text.
        """
        with torch.inference_mode():
            encoded = self._encoding(prompt_prefix)
            ids_ahead = prompt_prefix.ids if encoded is None else ()
            ahead = np.asarray(ids_ahead, np.int32)
            unread = 0 if self.features.stretches else 1
            longest = len(ahead) + max(len(request.tokens) for request in batch)
            inputs = np.zeros((len(batch), longest - unread), dtype=np.int64)
            targets = []
            ends = []
            for row, request in zip(inputs, batch, strict=True):
                tokens = np.concatenate([ahead, request.tokens])
                read = len(tokens) - unread
                row[:read] = tokens[:read]
                targets.append(request.scored_tokens(prompt_prefix).astype(np.int64))
                # one behind the position that predicts the text's last token
                ends.append(len(tokens) - (encoded is None))
            step = self.features.texts_at_once(inputs.shape[1]) or len(batch)
            values = []
            for part in spans(len(batch), step):
                # no name holds the features: they are freed before the next are read
                values.append(
                    self._reduced(
                        self._read(inputs[part], prompt_prefix, encoded),
                        targets[part],
                        ends[part],
                        statistics,
                    )
                )
            return torch.cat(values, dim=1)

    def _reduced(
        self,
        read: Tensor,
        targets: list[np.ndarray],
        ends: list[int],
        statistics: str,
    ) -> Tensor:
        """Return float32 [numbers, all targets] of features [texts, tokens, width];
        each text's targets are its last tokens."""
        width = read.shape[1]
        places = []
        before = 0  # positions of the texts before this one
        for ids, end in zip(targets, ends, strict=True):
            places.append(before + np.arange(end - len(ids), end))
            before += width
        scored = to_device(np.concatenate(places), read.device)
        rows = read.flatten(0, 1).index_select(0, scored)
        tokens = to_device(np.concatenate(targets), read.device)
        return self.features.statistics(rows, tokens, statistics)

    def _read(
        self,
        inputs: np.ndarray,
        prompt_prefix: PromptPrefix,
        encoded: EncodedPrefix | None,
    ) -> Tensor:
        """Compute features of each input token [texts, tokens], after the features of
        the last token of a shared prompt prefix."""
        ids = to_device(inputs, self.features.device)
        if encoded is None:
            return self.features(ids, use_cache=False)
        last = encoded.last(prompt_prefix.parts).expand(len(ids), 1, -1)
        if ids.shape[1] == 0:
            return last
        read = encoded.read(ids, prompt_prefix.parts)
        return torch.cat([last, read], dim=1)


def collected_late(started: Iterable[Work], count: int) -> Iterator[Work]:
    """Yield each piece of work when `count` more have been started, so that no GPU
    waits for the next one."""
    waiting: deque[Work] = deque()
    for piece in started:
        waiting.append(piece)
        if len(waiting) > count:
            yield waiting.popleft()
    yield from waiting
