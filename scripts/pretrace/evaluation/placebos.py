"""Put each member document in the non-members' place: a method's values where all texts were open to the model.

If all non-members come from one document (an address given after the model's release), a method may recognise that
document by its content. Each member document in its place shows how far such a document differs from the others. If
the non-members' document is exchangeable with them, every rank among them is equally likely.
"""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np
import pandas as pd

from pretrace.benchmarks.folds import assign_folds
from pretrace.benchmarks.sources import Text
from pretrace.evaluation.cells import EvaluationSet, Scores, ScoresByColumn, UnitScores, cells
from pretrace.evaluation.metrics import METRICS
from pretrace.evaluation.selection import Rankings, Settings, choose
from pretrace.methods.registry import find
from pretrace.methods.statistics import LabelledTexts
from pretrace.runtime.errors import InputError
from pretrace.runtime.files import seed_of
from pretrace.runtime.logs import Progress
from pretrace.views.prefixes import with_nonmembers

KEYS = [
    "method", "view", "start_token", "reference", "subset", "length", "evaluation_set", "selection", "metric",
]  # fmt: skip
COLUMNS = [
    *KEYS, "document", "placebo", "n_members", "n_nonmembers", "value", "mean", "sd", "z", "rank", "placebos",
]  # fmt: skip
"""In the row of the non-members' own document (`placebo` False): `mean` and `sd` of the placebos' values, `z`, how many
sd the value lies above the mean, its `rank` from the top (ties count against), and how many `placebos` there are; NaN
in the placebos' rows."""


def placebos(
    scores: Scores,
    benchmark: pd.DataFrame,
    *,
    name: str,
    evaluation_sets: Sequence[EvaluationSet],
    settings: Settings,
    language: str = "en",
) -> pd.DataFrame:
    """Return a row for each metric of each document that takes the non-members' place; columns: COLUMNS.

    `scores` and the sets are those of `evaluate`. A set without a draw is used for every document; a draw of
    prefixes only for the document of its non-member shots. Settings are chosen again for each document, and methods
    that learn from labels (`cross_fitted`) learn from the placebo's labels, over folds that are dealt for it. The real
    document is treated alike, so its row equals that of the metrics. Raises InputError if the non-members come from
    several documents.
    """
    real, documents = _documents(benchmark, name)
    of_texts = scores["text"]
    rows: list[dict[str, Any]] = []
    with Progress(f"placebos of {name}", total=1 + len(documents), unit="documents") as progress:
        for document in [real, *documents]:
            placebo = document != real
            table = _placebo(benchmark, document, name) if placebo else benchmark[benchmark["label"].notna()]
            by_id = table.set_index("text_id")
            label = (
                of_texts.units["id"].map(by_id["label"]).fillna(-1).astype(np.int64)
            )  # no set holds label -1
            fold = of_texts.units["id"].map(by_id["fold"]).fillna(of_texts.units["fold"]).astype(np.int64)
            units = of_texts.units.assign(label=label, fold=fold)
            columns = _retrained(of_texts, table, language) if placebo else of_texts.scores
            sets = _sets_of(document if placebo else "", table, evaluation_sets)
            for cell in cells("text", units, columns, sets):
                rankings = Rankings(cell)
                estimates = choose(cell, rankings, settings).estimates
                values = rankings.values(estimates, np.ones((len(cell.label), 1)))[:, 0]
                place = {"subset": cell.subset, "length": cell.length, "evaluation_set": cell.evaluation_set}
                place |= {"document": document, "placebo": placebo}
                place |= {"n_members": int(cell.label.sum()), "n_nonmembers": int((~cell.label).sum())}
                for estimate, value in zip(estimates, values, strict=True):
                    column = cell.columns[estimate.parts[0].column]
                    keys = {key: value for key, value in column._asdict().items() if key in KEYS}
                    chosen = {"selection": estimate.selection, "metric": METRICS[estimate.metric]}
                    rows.append(place | keys | chosen | {"value": float(value)})
            progress.update()
    return _summarised(pd.DataFrame(rows))


def empty_placebos() -> pd.DataFrame:
    """Return the empty table, of a benchmark without placebos."""
    return pd.DataFrame(columns=COLUMNS).astype({"length": "Int64", "value": float, "placebo": bool})


def _placebo(benchmark: pd.DataFrame, document: str, name: str) -> pd.DataFrame:
    """`with_nonmembers`, with folds dealt for it: the document that plays the non-members is cut as they are."""
    table = with_nonmembers(benchmark, document)
    texts = [
        Text(
            str(row["text_id"]), str(row["text"]), int(row["label"]), str(row["subset"]),
            None if pd.isna(row["length"]) else int(row["length"]), str(row["document"]),
        )
        for row in table.to_dict("records")
    ]  # fmt: skip
    return table.assign(fold=assign_folds(texts, seed_of("placebo_folds", name, document)).of)


def first_of_any(frame: pd.DataFrame) -> tuple[int, int]:
    """Return how many documents are first for at least one method, and the number of documents.

    `frame`: rows `method, document, value`, a row for each document that plays the non-members. If the documents are
    alike, the share is an estimate of the chance that some method ranks a given one of them first. Ties count for all.
    """
    highest = frame.groupby("method")["value"].transform("max")
    return int(frame.loc[frame["value"] >= highest, "document"].nunique()), int(frame["document"].nunique())


def ends_of_time(documents: Iterable[str]) -> tuple[str, str]:
    """Return the first and the last of the documents, whose names begin with their date."""
    ordered = sorted(documents)
    return ordered[0], ordered[-1]


def _documents(benchmark: pd.DataFrame, name: str) -> tuple[str, list[str]]:
    """Return the non-members' one document, and the members'."""
    documents = {
        label: sorted(set(benchmark.loc[benchmark["label"].eq(label), "document"])) for label in (0, 1)
    }
    if len(documents[0]) != 1 or "" in documents[0] + documents[1]:
        raise InputError(
            f"benchmark '{name}': placebos need non-members of one document and members of named documents; "
            f"there are {len(documents[0])} documents of non-members. Leave `placebos` out of its entry."
        )
    return documents[0][0], documents[1]


def _sets_of(document: str, table: pd.DataFrame, sets: Sequence[EvaluationSet]) -> list[EvaluationSet]:
    """Return the evaluation sets of a document ("": the real one, first draw), without texts outside the table."""
    ids = set(table["text_id"])
    return [
        EvaluationSet(real.name, real.draw, ids if real.ids is None else ids & set(real.ids))
        for real in sets
        if real.draw is None or (real.nonmembers == document and (document or real.draw == 0))
    ]


def _retrained(of_texts: UnitScores, table: pd.DataFrame, language: str) -> ScoresByColumn:
    """Return the scores; methods that learn from labels learn from the table's."""
    learning = [column for column in of_texts.scores if find(column.method).cross_fitted]
    unchanged = {column: values for column, values in of_texts.scores.items() if column not in learning}
    learned = {column: np.full(len(of_texts.units), np.nan) for column in learning}
    place = pd.Index(of_texts.units["id"])
    for _, cell in table.groupby(["subset", "length"], dropna=False, sort=True):
        texts = LabelledTexts(
            cell["text_id"].tolist(), cell["text"].tolist(), list(cell["label"].astype(int)),
            cell["fold"].astype(int).tolist(), language,
        )  # fmt: skip
        for column, values in learned.items():
            scored: Mapping[str, float] = find(column.method).function(texts)
            values[place.get_indexer(pd.Index(list(scored)))] = list(scored.values())
    return unchanged | learned


def _summarised(rows: pd.DataFrame) -> pd.DataFrame:
    if rows.empty:
        return empty_placebos()
    rows = rows.assign(length=rows["length"].astype("Int64"))
    grouped = rows[rows["placebo"]].groupby(KEYS, dropna=False)["value"]
    summaries = grouped.agg(mean="mean", sd="std", placebos="size").reset_index()
    joined = rows.merge(summaries, on=KEYS, how="left")
    real = rows.loc[~rows["placebo"], [*KEYS, "value"]]
    above = rows[rows["placebo"]].merge(real, on=KEYS, suffixes=("", "_real"))
    above = above.assign(rank=above["value"] >= above["value_real"])
    ranks = 1 + above.groupby(KEYS, dropna=False)["rank"].sum()
    joined = joined.merge(ranks.reset_index(), on=KEYS, how="left")
    joined["z"] = (joined["value"] - joined["mean"]) / joined["sd"].where(joined["sd"] > 0)
    joined.loc[joined["placebo"], ["mean", "sd", "z", "rank", "placebos"]] = np.nan
    return joined[COLUMNS].sort_values([*KEYS, "placebo", "document"], kind="stable", ignore_index=True)
