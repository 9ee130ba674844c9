"""The single texts of a benchmark, each with its scores and ranks."""

from collections.abc import Iterable

import pandas as pd

from pretrace.methods.settings import setting_name
from pretrace.render.frames import records_of
from pretrace.render.names import CLASSES, in_order, method_label
from pretrace.render.phrases import beginning
from pretrace.render.tables.table import Block, Cell, Row, Table

MOST_TEXTS = 2_000
"""Texts of a page, as many as a browser sorts at once."""
BEGINNING = 120  # characters that a page shows of a text
SLICE = ("subset", "length")


def single_texts(
    parts: Iterable[pd.DataFrame], texts: pd.DataFrame, place: str, *, quoted: bool
) -> Table | None:
    """List the texts of a benchmark, the highest score by the first method first.

    `parts` of the table of scores and `texts` are those of `place`. A method has its
    default setting, or else its first; of several draws and references the first.
    `quoted`: a page shows how a text begins. None without scores of texts.
    """
    own = [part for part in _of_few_settings(parts) if len(part)]
    if not own:
        return None
    scores = pd.concat(own).sort_values("is_default", ascending=False, kind="stable")
    scores = scores.drop_duplicates(["id", "method"])
    methods = in_order(scores["method"])
    by_method = scores.pivot(index="id", columns="method", values="score")
    frame = texts.merge(by_method[methods], left_on="text_id", right_index=True)
    frame = frame.sort_values(methods[0], ascending=False, kind="stable")
    within = frame.groupby([*SLICE], dropna=False)
    ranks = within[methods].rank(ascending=False, method="min").add_prefix("rank_")
    frame = frame.join(ranks.astype("Int64")).head(MOST_TEXTS)
    told = [key for key in SLICE if frame[key].nunique(dropna=False) > 1]
    rows = []
    for record in records_of(frame):
        label = record["label"]
        kind: str = "unlabelled" if pd.isna(label) else CLASSES[int(label)].rstrip("s")
        cells = [Cell(words=kind)]
        cells += [Cell(words=str(record[key])) for key in told]
        for method in methods:
            score, rank = record[method], record[f"rank_{method}"]
            scored = Cell(words=f"{score:.4g}", signs=(f"{rank}",))
            cells.append(Cell() if pd.isna(score) else scored)
        text = record["text"] if quoted else ""
        begins = beginning(text, BEGINNING)
        rows.append(Row(record["text_id"], tuple(cells), detail=begins))
    heads = ["class", *told, *map(method_label, methods)]
    block = Block("", "text", tuple((head,) for head in heads), tuple(rows))
    columns = ["text_id", "label", *SLICE, *methods, *ranks]
    notes = [
        "In brackets: the rank among the texts of the same subset and length, 1 for the "
        "highest score. Each method has its default setting, or the first that was "
        "asked for."
    ]
    if len(texts) > MOST_TEXTS:
        notes.append(
            f"The {MOST_TEXTS:,} texts with the highest {heads[len(told) + 1]} of "
            f"{len(texts):,}."
        )
    title = f"Single texts: {place}"
    return Table(title, "single_texts", (block,), tuple(notes), frame[columns])


def _of_few_settings(parts: Iterable[pd.DataFrame]) -> Iterable[pd.DataFrame]:
    """Yield the scores of texts as they are, at the default and at the first setting of
    each method."""
    first: dict[str, str] = {}
    for part in parts:
        own = part[part["unit"].eq("text") & part["view"].eq("original")]
        for method, setting in zip(own["method"], own["setting"], strict=True):
            first.setdefault(method, setting)
        default = own["method"].map(lambda method: setting_name(method, {}))
        own = own.assign(is_default=own["setting"].eq(default))
        yield own[own["is_default"] | own["setting"].eq(own["method"].map(first))]
