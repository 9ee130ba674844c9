"""Scores of every text for every method and setting that the runs of one model and benchmark ask for."""

import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

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

SORTED_BY = ["unit", "method", "setting", "view", "start_token", "draw", "reference", "id"]


def score(
    runs: Sequence[Mapping[str, Any]],
    *,
    manifest: dict[str, Any],
    store: Path,
    benchmark: "pd.DataFrame",
    references: Mapping[str, dict[str, Any]] | None = None,
    counts: Mapping[str, Path] | None = None,
    prefixes: "pd.DataFrame | None" = None,
    views: Mapping[str, StoredView] | None = None,
    language: str = "",
) -> "pd.DataFrame":
    """The scores table, a row for each text and each of SORTED_BY's other columns; higher = member.

    `runs` are the resolved runs of one model and benchmark; `manifest`, `store` its passes; `benchmark` its
    table; `references` the manifests of reference models by slug; `counts` the token counts of corpora by
    slug, by this model's tokenizer; `prefixes` the shots drawn from the benchmark; `views` the stored views
    among the runs' target views, by name; `language` the benchmark's language tag.

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
        language=language,
        prefixes=prefixes,
        views=views or {},
    )
    cells = plan(runs, benchmark, language, has_prefixes=prefixes is not None)
    frame = _frame([block for cell, wanted in cells.items() for block in _blocks(cell, wanted, sources)])
    sources.log_unscored()
    log.info("%d scores of %d texts in %.1f s", len(frame), frame["id"].nunique(), time.monotonic() - start)
    return frame


@dataclass(frozen=True)
class Block:
    """Scores [texts, settings] of one method in one cell; `shots_used` by text, None without a prefix."""

    cell: Cell
    key: Key
    settings: list[str]
    ids: list[str]
    shots_used: list[int | None]
    scores: np.ndarray


def _blocks(cell: Cell, wanted: Wanted, sources: Sources) -> Iterator[Block]:
    methods = {key.method: find(key.method) for key in wanted}
    texts = statistics_of(cell, [m for m in methods.values() if m.scope == "text"], sources)
    for key, named in wanted.items():
        method = methods[key.method]
        for group in _by_prefix(method, named):
            if method.scope == "benchmark":
                block = _benchmark_block(method, cell, key, group, sources)
            else:
                block = _text_block(method, cell, key, group, texts, sources)
            _check_finite(block)
            yield block


def _by_prefix(method: Method, named: Settings) -> list[Settings]:
    """The settings in groups that read the same passes."""
    groups: dict[tuple[tuple[str, int], ...], Settings] = {}
    for name, params in named.items():
        groups.setdefault(tuple(prefix_passes(method.id, params).values()), {})[name] = params
    return list(groups.values())


def _text_block(
    method: Method,
    cell: Cell,
    key: Key,
    named: Settings,
    texts: Mapping[str, TokenStatistics | str],
    sources: Sources,
) -> Block:
    passes = prefix_passes(method.id, next(iter(named.values())))
    complete = completion(method, cell, key, passes, sources)
    label = f"{method.id} ({key.reference})" if key.reference else method.id
    ids, used, scores = [], [], []
    with np.errstate(all="ignore"):  # what is not finite is an error of its own below
        for id, text in texts.items():
            if isinstance(text, str):
                sources.unscored[label, text] += 1
                continue
            text = complete(id, text)
            need = lacking(method, text)
            if need or text.shots_used == 0:
                sources.unscored[label, f"missing: {NEEDS[need]}" if need else NO_SHOT] += 1
                continue
            ids.append(id)
            used.append(text.shots_used)
            scores.append([method.function(text, **params) for params in named.values()])
    return Block(cell, key, list(named), ids, used, np.array(scores, dtype=float))


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


def _frame(blocks: Sequence[Block]) -> "pd.DataFrame":
    import pandas as pd

    sizes = [block.scores.size for block in blocks]

    def of_block(values: Sequence[Any], dtype: Any = str) -> Any:
        return np.repeat(np.array(values, dtype=object), sizes).astype(dtype)

    def of_text(values: Sequence[list[Any]]) -> np.ndarray:
        parts = [
            np.repeat(np.array(one, dtype=object), len(block.settings))
            for one, block in zip(values, blocks, strict=True)
        ]
        return np.concatenate(parts) if parts else np.array([], dtype=object)

    scores = [block.scores.ravel() for block in blocks]
    names = [np.tile(np.array(block.settings, dtype=object), len(block.ids)) for block in blocks]
    frame = pd.DataFrame(
        {
            "unit": "text",
            "id": of_text([block.ids for block in blocks]),
            "method": of_block([block.key.method for block in blocks]),
            "setting": np.concatenate(names) if names else [],
            "view": of_block([block.cell.view for block in blocks]),
            "start_token": of_block([block.cell.start_token for block in blocks]),
            "draw": pd.array(of_block([block.key.draw for block in blocks], object), dtype="Int64"),
            "reference": of_block([block.key.reference for block in blocks]),
            "shots_used": pd.array(of_text([block.shots_used for block in blocks]), dtype="Int64"),
            "score": np.concatenate(scores).astype(float) if scores else np.array([], dtype=float),
        }
    )
    frame = frame.astype(dict.fromkeys([name for name in SORTED_BY if name != "draw"], str))
    return frame.sort_values(SORTED_BY, ignore_index=True)
