"""Many panels in one block: a row each, a column a method."""

from collections.abc import Callable, Sequence

import pandas as pd

from pretrace.questions.known import is_control
from pretrace.render.names import method_label, ordered, panel_label
from pretrace.render.registry import Artifact
from pretrace.render.selecting import Panel, Record, records_of
from pretrace.render.tables.table import Block, Cell, Row


def by_panel(
    artifact: Artifact,
    panels: Sequence[tuple[Panel, pd.DataFrame]],
    title: str,
    cell: Callable[[Record], Cell],
    *,
    extra: Sequence[Row] = (),
) -> Block:
    """Panels with their records by method; a dash where a panel has no such method. `extra` rows stand last."""
    by_method = [{row["method"]: row for row in records_of(of)} for _, of in panels]
    methods = ordered(artifact, (method for rows in by_method for method in rows))
    rows = [
        Row(panel_label(panel), tuple(cell(of[m]) if m in of else Cell() for m in methods))
        for (panel, _), of in zip(panels, by_method, strict=True)
    ]
    columns = tuple((method_label(m), *(["no model"] if is_control(m) else [])) for m in methods)
    return Block(title, (*rows, *extra), columns=columns, stub="Panel")
