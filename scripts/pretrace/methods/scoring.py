"""Scores of every text for every method and setting that the runs of one model and benchmark ask for."""

import time
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from pretrace.methods.blocks import Block, frames
from pretrace.methods.inputs import FIELDS, NO_SHOT, completion, lacking, statistics_of
from pretrace.methods.needs import prefix_passes
from pretrace.methods.plan import Cell, Key, Settings, Wanted, plan, whole_numbers
from pretrace.methods.registry import NEEDS, Method, find
from pretrace.methods.sources import Sources
from pretrace.methods.statistics import LabelledTexts, TokenStatistics
from pretrace.runtime.errors import InputError
from pretrace.runtime.logs import log
from pretrace.views.stored import StoredView

if TYPE_CHECKING:
    import pandas as pd


def score(
    runs: Sequence[Mapping[str, Any]],
    *,
    manifest: dict[str, Any],
    store: Path,
    benchmark: "pd.DataFrame",
    references: Mapping[str, dict[str, Any]] | None = None,
    counts: Mapping[str, Path] | None = None,
    shadows: Mapping[str, Path] | None = None,
    prefixes: "pd.DataFrame | None" = None,
    views: Mapping[str, StoredView] | None = None,
    language: str = "",
) -> Iterator["pd.DataFrame"]:
    """The scores table, a row for each text and each of SORTED_BY's other columns; higher = member.

    It comes sorted and in parts, at least one, each with all texts of some of those columns: of 10^6 texts the rows
    would not fit into memory. `runs` are the resolved runs of one model and benchmark; `manifest`, `store` its passes;
    `benchmark` its table; `references` the manifests of reference models by slug; `counts` the token counts of corpora
    by slug, by this model's tokenizer; `shadows` tables of `models.training.train_shadows` by the slug of the model;
    `prefixes` the shots drawn from the benchmark; `views` the stored views among the runs' target views, by name;
    `language` the benchmark's language tag.

    A method whose needs are not met has no row, and neither has a text without a scored token; the log counts
    them. A score that is not finite raises `InputError`.
    """
    start = time.monotonic()
    sources = Sources(
        manifest=manifest,
        store=store,
        benchmark=benchmark,
        references=references or {},
        counts=counts or {},
        shadows=shadows or {},
        language=language,
        prefixes=prefixes,
        views=views or {},
    )
    cells = plan(runs, benchmark, language, has_prefixes=prefixes is not None)
    blocks = [block for cell, wanted in cells.items() for block in _blocks(cell, wanted, sources)]
    sources.log_unscored()
    scores = sum(block.scores.size for block in blocks)
    texts = len(set().union(*(block.ids for block in blocks)))
    log.info("%d scores of %d texts in %.1f s", scores, texts, time.monotonic() - start)
    yield from frames(blocks)


def _blocks(cell: Cell, wanted: Wanted, sources: Sources) -> Iterator[Block]:
    methods = {key.method: find(key.method) for key in wanted}
    groups = [
        (key, group) for key, named in wanted.items() for group in _by_prefix(methods[key.method], named)
    ]
    scored = [
        None if methods[key.method].scope == "benchmark"
        else _TextScores(methods[key.method], cell, key, group, sources)
        for key, group in groups
    ]  # fmt: skip
    for texts in statistics_of(cell, [m for m in methods.values() if m.scope == "text"], sources):
        for one in scored:
            if one:
                one.add(texts)
    for (key, group), one in zip(groups, scored, strict=True):
        block = one.block() if one else _benchmark_block(methods[key.method], cell, key, group, sources)
        _check_finite(block)
        yield block


def _by_prefix(method: Method, named: Settings) -> list[Settings]:
    """The settings in groups that read the same passes."""
    groups: dict[tuple[tuple[str, int], ...], Settings] = {}
    for name, params in named.items():
        groups.setdefault(tuple(prefix_passes(method.id, params).values()), {})[name] = params
    return list(groups.values())


class _TextScores:
    """The scores of a method, in settings that read the same passes, of the texts of a cell that were added."""

    def __init__(self, method: Method, cell: Cell, key: Key, named: Settings, sources: Sources) -> None:
        passes = prefix_passes(method.id, next(iter(named.values())))
        self._complete = completion(method, cell, key, passes, sources)
        self._label = f"{method.id} ({key.reference})" if key.reference else method.id
        self._method, self._cell, self._key, self._named, self._sources = method, cell, key, named, sources
        self._ids: list[str] = []
        self._used: list[int | None] = []
        self._scores: list[np.ndarray] = []

    def add(self, texts: Mapping[str, TokenStatistics | str]) -> None:
        scores = []
        with np.errstate(all="ignore"):  # what is not finite is an error of its own below
            for id, text in texts.items():
                if isinstance(text, str):
                    self._sources.unscored[self._label, text] += 1
                    continue
                text = self._complete(id, text)
                need = lacking(self._method, text)
                if need or text.shots_used == 0:
                    self._sources.unscored[self._label, f"missing: {NEEDS[need]}" if need else NO_SHOT] += 1
                    continue
                self._ids.append(id)
                self._used.append(text.shots_used)
                scores.append([self._method.function(text, **params) for params in self._named.values()])
        self._scores.append(np.array(scores, dtype=float).reshape(len(scores), len(self._named)))

    def block(self) -> Block:
        nothing = np.empty((0, len(self._named)))
        scores = np.concatenate([nothing, *self._scores])
        return Block(self._cell, self._key, list(self._named), self._ids, self._used, scores)


def _benchmark_block(method: Method, cell: Cell, key: Key, named: Settings, sources: Sources) -> Block:
    """A method without a model reads the texts as the cell's view has them, and the shots as they are."""
    frame = sources.texts(cell)
    if absent := int(frame["text"].eq("").sum()):
        sources.unscored[method.id, f"no text of view {cell.view}"] += absent
        frame = frame[frame["text"].ne("")]
    passes = prefix_passes(method.id, next(iter(named.values())))
    texts = LabelledTexts(
        ids=frame["text_id"].tolist(),
        texts=frame["text"].tolist(),
        labels=whole_numbers(frame["label"]),
        folds=frame["fold"].astype(int).tolist(),
        language=sources.language,
        stream=sources.stream() if "stream" in method.needs else (),
        **{FIELDS[need]: sources.shots(cell, key.draw or 0, *wanted) for need, wanted in passes.items()},
    )
    columns = [method.function(texts, **params) for params in named.values()]
    ids = [id for id in texts.ids if all(id in column for column in columns)]
    if len(ids) < len(frame):
        sources.unscored[method.id, "nothing to learn from in the other folds"] += len(frame) - len(ids)
    scores = np.array([[column[id] for column in columns] for id in ids], dtype=float)
    shots = max((count for _, count in passes.values()), default=None)
    return Block(cell, key, list(named), ids, [shots] * len(ids), scores)


def _check_finite(block: Block) -> None:
    for row, column in np.argwhere(~np.isfinite(block.scores))[:1]:
        raise InputError(
            f"{block.key.method} (setting '{block.settings[column]}'): the score of text '{block.ids[row]}' "
            f"is {block.scores[row, column]} (view {block.cell.view}, start token {block.cell.start_token}). "
            "A method must give every text a finite number."
        )
