"""The token statistics of each text, and what a method needs besides: a reference, neighbours, prefixes."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from pretrace.methods.needs import COMPANIONS
from pretrace.methods.plan import Cell, Key
from pretrace.methods.registry import Method
from pretrace.methods.sources import Sources
from pretrace.methods.statistics import Floats, TokenStatistics
from pretrace.methods.tables import ROWS_AT_ONCE, Beside, PassRow, Walk

if TYPE_CHECKING:
    import pandas as pd

Complete = Callable[[str, TokenStatistics], TokenStatistics]
"""Adds to a text's statistics, by its id, what a method needs besides, as far as it is there."""

FIELDS = {
    "frequencies": "log_frequencies",
    "nonmember_prefix": "given_nonmember",
    "member_prefix": "given_member",
}
"""Needs -> the field of TokenStatistics or LabelledTexts, where it has another name."""

NO_SHOT = "no shot of its prefix fits into the model's context"


def statistics_of(
    cell: Cell, methods: Sequence[Method], sources: Sources
) -> Iterator[dict[str, TokenStatistics | str]]:
    """Text id -> its statistics with the companions that the methods need, or why it has none.

    Some texts at a time, by id; the passes of `sources` that are open go along.
    """
    if not methods:
        return
    frame = sources.texts(cell)
    rows = sources.rows(cell)
    companions = {
        need: sources.rows(cell, Beside(companion=COMPANIONS[need]))
        for need in sorted({need for method in methods for need in method.needs if need in COMPANIONS})
    }
    for start in range(0, len(frame), ROWS_AT_ONCE):
        part = frame.iloc[start : start + ROWS_AT_ONCE]
        sources.step(part["text_id"].iloc[-1])
        yield _statistics(cell, part, rows, companions)
    sources.leave()


def _statistics(
    cell: Cell, part: "pd.DataFrame", rows: Walk, companions: Mapping[str, Walk]
) -> dict[str, TokenStatistics | str]:
    texts: dict[str, TokenStatistics | str] = {}
    for id, text in zip(part["text_id"], part["text"], strict=True):
        row = rows.one(id)
        if row is None or row.skipped:
            absent = f"no pass over view {cell.view}, start token {cell.start_token}"
            texts[id] = row.skipped if row else absent
            continue
        beside: dict[str, Any] = {need: _logprobs(found.one(id)) for need, found in companions.items()}
        texts[id] = TokenStatistics(
            text=text or None,
            token_ids=row.token_ids,
            logprobs=row.logprobs,
            entropies=row.entropies,
            variances=row.variances,
            **beside,
        )
    return texts


def completion(
    method: Method, cell: Cell, key: Key, passes: Mapping[str, tuple[str, int]], sources: Sources
) -> Complete:
    """What completes a text's statistics for a method; `passes` as `needs.prefix_passes` gives them."""
    if "reference" in method.needs:
        rows = sources.rows(cell, reference=key.reference)
        return lambda id, text: replace(text, reference=_logprobs(rows.one(id)))
    if "neighbours" in method.needs:
        variants = sources.rows(cell, Beside(companion=key.reference))
        return lambda id, text: replace(text, neighbours=_all_logprobs(variants.get(id, [])))
    if "frequencies" in method.needs and (frequencies := sources.frequencies(key.reference)) is not None:
        return lambda id, text: replace(text, log_frequencies=frequencies[text.token_ids])
    if "shadows" in method.needs:
        found = sources.under_shadows(key.reference)
        return lambda id, text: replace(text, shadows=found.get(id))
    if passes:
        return _after_prefixes(cell, key, passes, sources)
    return lambda id, text: text


def _after_prefixes(
    cell: Cell, key: Key, passes: Mapping[str, tuple[str, int]], sources: Sources
) -> Complete:
    given = {
        FIELDS[need]: sources.rows(cell, Beside(prefix=prefix, draw=key.draw, shots=shots))
        for need, (prefix, shots) in passes.items()
    }

    def complete(id: str, text: TokenStatistics) -> TokenStatistics:
        found = {field: walk.one(id) for field, walk in given.items()}
        rows = {field: row for field, row in found.items() if row and not row.skipped}
        used = [row.shots_used for row in rows.values() if row.shots_used is not None]
        logprobs: dict[str, Any] = {field: row.logprobs for field, row in rows.items()}
        return replace(text, shots_used=min(used, default=None), **logprobs)

    return complete


def lacking(method: Method, text: TokenStatistics) -> str:
    """The first need of the method that the text's statistics do not answer, or ""."""
    return next((need for need in method.needs if getattr(text, FIELDS.get(need, need)) is None), "")


def _logprobs(row: PassRow | None) -> Floats | None:
    return row.logprobs if row is not None and not row.skipped else None


def _all_logprobs(rows: Sequence[PassRow]) -> tuple[Floats, ...] | None:
    return tuple(row.logprobs for row in rows if not row.skipped) or None
