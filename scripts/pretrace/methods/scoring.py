"""Scores of every text for every method and setting that the runs of one model and benchmark ask for."""

import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from pretrace.methods.needs import COMPANIONS
from pretrace.methods.plan import Cell, Settings, Wanted, plan, whole_numbers
from pretrace.methods.registry import NEEDS, Method, find
from pretrace.methods.sources import Sources
from pretrace.methods.statistics import Floats, LabelledTexts, TokenStatistics
from pretrace.methods.tables import PassRow
from pretrace.runtime.errors import InputError
from pretrace.runtime.logs import log

if TYPE_CHECKING:
    import pandas as pd

SORTED_BY = ["unit", "method", "setting", "view", "start_token", "reference", "id"]


def score(
    runs: Sequence[Mapping[str, Any]],
    *,
    manifest: dict[str, Any],
    store: Path,
    benchmark: "pd.DataFrame",
    references: Mapping[str, dict[str, Any]] | None = None,
    counts: Mapping[str, Path] | None = None,
    language: str = "",
) -> "pd.DataFrame":
    """The scores table: a row is a text, method, setting, view, start token and reference; higher = member.

    `runs` are the resolved runs of one model and benchmark; `manifest`, `store` its passes; `benchmark` its
    table; `references` the manifests of reference models by slug; `counts` the token counts of corpora by
    slug, by this model's tokenizer; `language` the benchmark's language tag.

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
    )
    cells = plan(runs, benchmark, language)
    frame = _frame([block for cell, wanted in cells.items() for block in _blocks(cell, wanted, sources)])
    sources.log_unscored()
    log.info("%d scores of %d texts in %.1f s", len(frame), frame["id"].nunique(), time.monotonic() - start)
    return frame


@dataclass(frozen=True)
class Block:
    """Scores [texts, settings] of one method in one cell."""

    cell: Cell
    method: str
    reference: str
    ids: list[str]
    settings: list[str]
    scores: np.ndarray


def _blocks(cell: Cell, wanted: Wanted, sources: Sources) -> Iterator[Block]:
    methods = {id: find(id) for id, _ in wanted}
    texts = _statistics(cell, [m for m in methods.values() if m.scope == "text"], sources)
    for (id, reference), named in wanted.items():
        if methods[id].scope == "benchmark":
            block = _benchmark_block(methods[id], cell, named, sources)
        else:
            block = _text_block(methods[id], cell, reference, named, texts, sources)
        _check_finite(block)
        yield block


def _statistics(cell: Cell, methods: Sequence[Method], sources: Sources) -> dict[str, TokenStatistics | str]:
    """Text id -> its statistics with the companions that the methods need, or why it has none."""
    if not methods:
        return {}
    frame = sources.texts(cell)
    rows = sources.rows(cell)
    companions = {
        need: sources.rows(cell, companion=COMPANIONS[need])
        for need in sorted({need for method in methods for need in method.needs if need in COMPANIONS})
    }
    texts: dict[str, TokenStatistics | str] = {}
    for id, text in zip(frame["text_id"], frame["text"], strict=True):
        row = rows.get(id)
        if row is None or row.skipped:
            absent = f"no pass over view {cell.view}, start token {cell.start_token}"
            texts[id] = row.skipped if row else absent
            continue
        texts[id] = TokenStatistics(
            text=text if cell.view == "original" else None,
            token_ids=row.token_ids,
            logprobs=row.logprobs,
            entropies=row.entropies,
            variances=row.variances,
            **{need: _logprobs(companion.get(id)) for need, companion in companions.items()},
        )
    return texts


def _logprobs(row: PassRow | None) -> Floats | None:
    return row.logprobs if row is not None and not row.skipped else None


def _text_block(
    method: Method,
    cell: Cell,
    reference: str,
    named: Settings,
    texts: Mapping[str, TokenStatistics | str],
    sources: Sources,
) -> Block:
    complete = _reference_added(method, cell, reference, sources)
    label = f"{method.id} ({reference})" if reference else method.id
    ids, scores = [], []
    with np.errstate(all="ignore"):  # what is not finite is an error of its own below
        for id, text in texts.items():
            if isinstance(text, str):
                sources.unscored[label, text] += 1
                continue
            text = complete(id, text)
            lacking = [need for need in method.needs if getattr(text, _FIELDS.get(need, need)) is None]
            if lacking:
                sources.unscored[label, f"missing: {NEEDS[lacking[0]]}"] += 1
                continue
            ids.append(id)
            scores.append([method.function(text, **params) for params in named.values()])
    return Block(cell, method.id, reference, ids, list(named), np.array(scores, dtype=float))


_FIELDS = {"frequencies": "log_frequencies"}


def _reference_added(
    method: Method, cell: Cell, reference: str, sources: Sources
) -> Callable[[str, TokenStatistics], TokenStatistics]:
    """What adds the corpus' or the reference model's part, as far as it is there, to a text's statistics."""
    if "reference" in method.needs:
        rows = sources.rows(cell, reference=reference)
        return lambda id, text: replace(text, reference=_logprobs(rows.get(id)))
    if "frequencies" in method.needs and (frequencies := sources.frequencies(reference)) is not None:
        return lambda id, text: replace(text, log_frequencies=frequencies[text.token_ids])
    return lambda id, text: text


def _benchmark_block(method: Method, cell: Cell, named: Settings, sources: Sources) -> Block:
    """A method without a model reads the benchmark's own texts: it has rows of the original view alone."""
    frame = sources.texts(cell)
    if cell.view != "original":
        sources.unscored[method.id, f"missing: {NEEDS['texts']}, of view {cell.view}"] += len(frame)
        return Block(cell, method.id, "", [], list(named), np.empty((0, len(named))))
    texts = LabelledTexts(
        ids=frame["text_id"].tolist(),
        texts=frame["text"].tolist(),
        labels=whole_numbers(frame["label"]),
        folds=frame["fold"].astype(int).tolist(),
        language=sources.language,
    )
    columns = [method.function(texts, **params) for params in named.values()]
    ids = [id for id in texts.ids if all(id in column for column in columns)]
    if len(ids) < len(frame):
        sources.unscored[method.id, "nothing to learn from in the other folds"] += len(frame) - len(ids)
    scores = np.array([[column[id] for column in columns] for id in ids], dtype=float)
    return Block(cell, method.id, "", ids, list(named), scores)


def _check_finite(block: Block) -> None:
    for row, column in np.argwhere(~np.isfinite(block.scores))[:1]:
        raise InputError(
            f"{block.method} (setting '{block.settings[column]}'): the score of text '{block.ids[row]}' is "
            f"{block.scores[row, column]} (view {block.cell.view}, start token {block.cell.start_token}). "
            "A method must give every text a finite number."
        )


def _frame(blocks: Sequence[Block]) -> "pd.DataFrame":
    import pandas as pd

    sizes = [block.scores.size for block in blocks]

    def of_block(values: Sequence[str]) -> np.ndarray:
        return np.repeat(np.array(values, dtype=object), sizes)

    def joined(arrays: Sequence[np.ndarray]) -> np.ndarray:
        return np.concatenate(arrays) if arrays else np.array([])

    none = pd.array([pd.NA] * sum(sizes), dtype="Int64")
    frame = pd.DataFrame(
        {
            "unit": "text",
            "id": joined([np.repeat(np.array(b.ids, dtype=object), len(b.settings)) for b in blocks]),
            "method": of_block([block.method for block in blocks]),
            "setting": joined([np.tile(np.array(b.settings, dtype=object), len(b.ids)) for b in blocks]),
            "view": of_block([block.cell.view for block in blocks]),
            "start_token": of_block([block.cell.start_token for block in blocks]),
            "draw": none,
            "reference": of_block([block.reference for block in blocks]),
            "shots_used": none,
            "score": joined([block.scores.ravel() for block in blocks]).astype(float),
        }
    )
    frame = frame.astype(dict.fromkeys(SORTED_BY, str))
    return frame.sort_values(SORTED_BY, ignore_index=True)
