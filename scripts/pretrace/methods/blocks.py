"""Blocks of scores, and the rows of the scores table that they are."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import groupby
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from pretrace.methods.plan import Cell, Key

if TYPE_CHECKING:
    import pandas as pd

SORTED_BY = ["unit", "method", "setting", "view", "start_token", "draw", "reference", "id"]

_ROWS = 1 << 18
"""Of one part of the table, where its columns have fewer."""


@dataclass(frozen=True)
class Block:
    """Scores [texts, settings] of one method in one cell; `shots_used` by text, None without a prefix."""

    cell: Cell
    key: Key
    settings: list[str]
    ids: list[str]
    shots_used: list[int | None]
    scores: np.ndarray


class _Column(NamedTuple):
    """All scores of one method, setting, view, start token, draw and reference: a column of each of some blocks."""

    method: str
    setting: str
    view: str
    start_token: str
    draw: int | None
    reference: str
    parts: list[tuple[Block, int]]

    @property
    def place(self) -> tuple[Any, ...]:
        """Where its rows stand: in the order of SORTED_BY, without a draw last."""
        draw = (self.draw is None, self.draw or 0)
        return self.method, self.setting, self.view, self.start_token, draw, self.reference

    @property
    def rows(self) -> int:
        return sum(len(block.ids) for block, _ in self.parts)


def frames(blocks: Sequence[Block]) -> Iterator["pd.DataFrame"]:
    """The rows of the blocks as parts of a table sorted by SORTED_BY, at least one; no column is torn apart."""
    columns = _columns(blocks)
    waiting: list[_Column] = []
    for column in columns:
        if waiting and sum(one.rows for one in waiting) + column.rows > _ROWS:
            yield _frame(waiting)
            waiting = []
        waiting.append(column)
    if waiting or not columns:
        yield _frame(waiting)


def _columns(blocks: Sequence[Block]) -> list[_Column]:
    every = [
        _Column(block.key.method, setting, block.cell.view, block.cell.start_token, block.key.draw,
                block.key.reference, [(block, at)])
        for block in blocks if block.ids for at, setting in enumerate(block.settings)
    ]  # fmt: skip
    every.sort(key=lambda column: column.place)
    return [
        first._replace(parts=[part for one in [first, *others] for part in one.parts])
        for first, *others in (list(same) for _, same in groupby(every, key=lambda column: column.place))
    ]


def _frame(columns: Sequence[_Column]) -> "pd.DataFrame":
    import pandas as pd

    sizes = [column.rows for column in columns]
    orders = [_order(column) for column in columns]

    def of_column(values: Sequence[Any], dtype: Any = str) -> Any:
        return np.repeat(np.array(values, dtype=object), sizes).astype(dtype)

    def of_text(values: Sequence[np.ndarray], dtype: Any) -> np.ndarray:
        ordered = [one[order] for one, order in zip(values, orders, strict=True)]
        return np.concatenate([np.array([], dtype), *ordered])

    frame = pd.DataFrame(
        {
            "unit": "text",
            "id": of_text([_ids(column) for column in columns], object),
            "method": of_column([column.method for column in columns]),
            "setting": of_column([column.setting for column in columns], object),
            "view": of_column([column.view for column in columns]),
            "start_token": of_column([column.start_token for column in columns]),
            "draw": pd.array(of_column([column.draw for column in columns], object), dtype="Int64"),
            "reference": of_column([column.reference for column in columns]),
            "shots_used": pd.array(
                of_text([_shots_used(column) for column in columns], object), dtype="Int64"
            ),
            "score": of_text([_scores(column) for column in columns], float),
        }
    )
    return frame.astype(dict.fromkeys([name for name in SORTED_BY if name != "draw"], str))


def _ids(column: _Column) -> np.ndarray:
    return np.concatenate([np.array(block.ids, dtype=object) for block, _ in column.parts])


def _shots_used(column: _Column) -> np.ndarray:
    return np.concatenate([np.array(block.shots_used, dtype=object) for block, _ in column.parts])


def _scores(column: _Column) -> np.ndarray:
    return np.concatenate([block.scores[:, at] for block, at in column.parts])


def _order(column: _Column) -> np.ndarray:
    """The places of a column's texts by id: those of one block are ordered."""
    ids = _ids(column)
    return np.argsort(ids, kind="stable")
