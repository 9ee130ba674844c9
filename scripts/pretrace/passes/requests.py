"""Pass requests -> cells of one subset and length -> exact requests, token by token, and their key."""

import hashlib
import json
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from itertools import islice
from typing import TYPE_CHECKING, Any

import numpy as np

from pretrace.models import Target
from pretrace.runtime.errors import InputError, nearest
from pretrace.runtime.files import seed_of
from pretrace.views import VIEWS

if TYPE_CHECKING:
    import pandas as pd

ENGINE_VERSION = (
    1  # raise when the same request would give other numbers: every stored pass is then recomputed
)
WINDOW = 50_000  # requests that are alive at one time
Group = tuple[str, int | None]  # subset and length
_TOKENIZED_AT_ONCE = 2_000  # the tokenizer's own records take 20 times the room of the ids
COORDINATES = (
    "view",
    "companion",
    "prefix",
    "draw",
    "shots",
    "start_token",
    "inner_start",
    "subset",
    "length",
)


@dataclass(frozen=True, slots=True)
class Cell:
    """The texts of one subset and length under one request: one entry of the manifest, one file of the
    store.
    """

    coordinates: dict[str, Any]
    statistics: str
    text_ids: list[str]
    texts: list[str]

    @property
    def full(self) -> bool:
        return self.statistics == "full"

    @property
    def name(self) -> str:
        """As in a log: `lowercase(original), start token <s>, main, 64 words`."""
        at = self.coordinates
        view = f"{at['companion']}({at['view']})" if at["companion"] else at["view"]
        length = "" if at["length"] is None else f", {at['length']} words"
        return f"{view}, start token {at['start_token']}{', ' if at['subset'] else ''}{at['subset']}{length}"


@dataclass(frozen=True, slots=True)
class Request:
    """One text as the model is asked. `tokens`: int32, cut to the context, start token not among them."""

    text_id: str
    variant: int
    tokens: np.ndarray
    n_tokens: int

    @property
    def truncated(self) -> bool:
        return len(self.tokens) < self.n_tokens

    def scored(self, start: tuple[int, ...]) -> np.ndarray:
        """The tokens that have a probability: all after a start token, else all but the first."""
        return self.tokens if start else self.tokens[1:]

    def skipped(self, start: tuple[int, ...]) -> str | None:
        """Why there is nothing to score, or None."""
        if len(self.tokens) == 0:
            return "no tokens"
        return "one token and no start token" if len(self.scored(start)) == 0 else None


def expand(requests: list[dict[str, Any]], benchmark: "pd.DataFrame") -> list[Cell]:
    """One cell a request, subset and length, sorted; where two differ in statistics alone, the full one."""
    groups = _groups(benchmark)
    cells: dict[str, Cell] = {}
    for request in requests:
        for subset, length in _chosen(request, groups):
            at = {**{key: request[key] for key in COORDINATES[:-2]}, "subset": subset, "length": length}
            place = json.dumps(at)
            if request["statistics"] == "full" or place not in cells:
                cells[place] = Cell(at, request["statistics"], *groups[subset, length])
    return sorted(cells.values(), key=lambda cell: _order(cell.coordinates))


def _groups(benchmark: "pd.DataFrame") -> dict[Group, tuple[list[str], list[str]]]:
    """(subset, length) -> text ids in order, and their texts."""
    ordered = benchmark.sort_values("text_id")
    lengths = ordered["length"].astype("Int64").astype(object).where(ordered["length"].notna(), None)
    groups: dict[Group, tuple[list[str], list[str]]] = {}
    for text_id, text, subset, length in zip(
        ordered["text_id"], ordered["text"], ordered["subset"], lengths, strict=True
    ):
        ids, texts = groups.setdefault((subset, length), ([], []))
        ids.append(text_id)
        texts.append(text)
    return groups


def _order(at: dict[str, Any]) -> list[tuple[bool, Any]]:
    return [(at[key] is not None, at[key]) for key in COORDINATES]


def _chosen(request: dict[str, Any], groups: Iterable[Group]) -> list[Group]:
    if request["prefix"]:
        raise InputError(f"a pass has the prefix '{request['prefix']}', but this engine has no prefixes yet")
    for key, position in (("subsets", 0), ("lengths", 1)):
        present = {str(group[position]) for group in groups}
        for value in request[key] or ():
            if str(value) not in present:
                raise InputError(f"the benchmark has no {key[:-1]} '{value}': {nearest(str(value), present)}")
    return [
        (subset, length)
        for subset, length in groups
        if (request["subsets"] is None or subset in request["subsets"])
        and (request["lengths"] is None or length in request["lengths"])
    ]


def windows(
    cell: Cell, target: Target, start: tuple[int, ...], size: int = WINDOW
) -> Iterator[list[Request]]:
    """The cell's exact requests, by text id and variant, at most `size` of them alive at a time."""
    sent = _sent(cell)
    room = None if target.context is None else target.context - len(start)
    while True:
        window = _tokenized(islice(sent, size), target.tokenizer, room)
        if not window:
            return
        yield window
        del window  # the next is made only when the last is gone: here, and where windows are used


def _sent(cell: Cell) -> Iterator[tuple[str, int, str]]:
    """(text id, variant, text) as sent: the companion of the view of the text."""
    view = VIEWS[cell.coordinates["view"]]
    companion = VIEWS[cell.coordinates["companion"] or "original"]
    for text_id, text in zip(cell.text_ids, cell.texts, strict=True):
        variant = 0
        for seen in view.variants(text, seed_of(view.name, text_id)):
            for sent in companion.variants(seen, seed_of(companion.name, view.name, text_id)):
                yield text_id, variant, sent
                variant += 1


def _tokenized(sent: Iterable[tuple[str, int, str]], tokenizer: Any, room: int | None) -> list[Request]:
    requests: list[Request] = []
    sent = iter(sent)
    while part := list(islice(sent, _TOKENIZED_AT_ONCE)):
        encoded = tokenizer(
            [text for _, _, text in part],
            add_special_tokens=False,
            return_attention_mask=False,
            return_token_type_ids=False,
            verbose=False,
        )["input_ids"]
        requests += [
            Request(text_id, variant, np.asarray(ids[:room], dtype=np.int32), len(ids))
            for (text_id, variant, _), ids in zip(part, encoded, strict=True)
        ]
    return requests


def key_of(
    cell: Cell, asked: Iterable[list[Request]], *, target: Target, start: tuple[int, ...], batch_tokens: int
) -> tuple[str, int]:
    """The key, hex SHA-256 of all that the numbers depend on, and how many requests it stands for.

    The token budget counts below float32 only, where a number depends on its batch.
    """
    how = {
        "engine": ENGINE_VERSION,
        "checkpoint": target.digest,
        "dtype": target.dtype,
        "batch_tokens": None if target.dtype == "float32" else batch_tokens,
        "statistics": cell.statistics,
        "start": start,
    }
    count = 0
    hasher = hashlib.sha256(json.dumps(how, sort_keys=True).encode())
    for window in asked:
        count += len(window)
        for request in window:
            about = (request.text_id, request.variant, request.n_tokens, len(request.tokens))
            hasher.update(json.dumps(about).encode() + request.tokens.astype("<i4").tobytes())
        del window, request
    return hasher.hexdigest(), count
