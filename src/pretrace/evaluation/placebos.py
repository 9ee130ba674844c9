"""Put each member document in the non-members' place: a method's values where all texts
were open to the model.

If all non-members come from one document (an address given after the model's release),
a method may recognise that document by its content. Each member document in its place
shows how far such a document differs from the others. If the non-members' document is
exchangeable with them, every rank among them is equally likely.
"""

from collections.abc import Iterable, Sequence

import numpy as np
import pandas as pd

from pretrace.benchmarks.folds import assign_folds
from pretrace.benchmarks.slices import whole_numbers
from pretrace.benchmarks.sources import Text
from pretrace.evaluation import metrics
from pretrace.evaluation.averages import Record
from pretrace.evaluation.scores import (
    EvaluationSet,
    Scores,
    ScoresByColumn,
    UnitScores,
    parts_of,
)
from pretrace.evaluation.selection import Rankings, Settings, choose
from pretrace.methods.settings import find
from pretrace.methods.statistics import LabelledTexts
from pretrace.runtime.errors import InputError
from pretrace.runtime.logs import Progress
from pretrace.seeds import seed_of
from pretrace.views.prefixes import with_nonmembers

PLACEBO_KEYS = [
    *(key for key in metrics.METRIC_KEYS if key not in ("unit", "setting", "draw")),
    "metric",
]
PLACEBO_COLUMNS = [
    *PLACEBO_KEYS, "document", "placebo", "n_members", "n_nonmembers", "value", "mean",
    "sd", "z", "rank", "placebos",
]  # fmt: skip
"""In the row of the non-members' own document (`placebo` False): `mean` and `sd` of the
placebos' values, `z`, how many sd the value lies above the mean, its `rank` from the
top (ties count against), and how many `placebos` there are; NaN in the placebos'
rows."""


def placebos(
    scores: Scores,
    benchmark: pd.DataFrame,
    *,
    name: str,
    evaluation_sets: Sequence[EvaluationSet],
    settings: Settings,
    language: str = "en",
) -> pd.DataFrame:
    """Return a row for each metric of each document that takes the non-members' place;
    columns: PLACEBO_COLUMNS.

    `scores` and the sets are those of `evaluate`. A set without a draw is used for
    every document; a draw of prefixes only for the document of its non-member shots.
    Settings are chosen again for each document, and methods that learn from labels
    (`cross_fitted`) learn from the placebo's labels, over folds that are dealt for it.
    The real document is treated alike, so its row equals that of the metrics. Raises
    InputError if the non-members come from several documents.
    """
    real, documents = _documents(benchmark, name)
    of_texts = scores["text"]
    rows: list[Record] = []
    with Progress(
        f"placebos of {name}", total=1 + len(documents), unit="documents"
    ) as progress:
        for document in [real, *documents]:
            placebo = document != real
            table = (
                _placebo(benchmark, document, name)
                if placebo
                else benchmark[benchmark["label"].notna()]
            )
            by_id, ids = table.set_index("text_id"), of_texts.units["id"]
            units = of_texts.units.assign(
                # no set holds label -1
                label=ids.map(by_id["label"]).fillna(-1).astype(np.int64),
                fold=ids.map(by_id["fold"])
                .fillna(of_texts.units["fold"])
                .astype(np.int64),
            )
            columns = (
                _retrain(of_texts, table, language) if placebo else of_texts.scores
            )
            sets = _sets_of(document if placebo else "", table, evaluation_sets)
            for part in parts_of("text", UnitScores(units, columns, {}), sets):
                ranked = part.ranked()
                rankings = Rankings(ranked)
                estimands = choose(ranked, rankings, settings).estimands
                values = rankings.values(estimands, np.ones((len(ranked.label), 1)))[
                    :, 0
                ]
                of_all = {
                    "subset": ranked.slice.subset,
                    "length": ranked.slice.length,
                    "evaluation_set": ranked.evaluation_set,
                    "document": document,
                    "placebo": placebo,
                    "n_members": int(ranked.label.sum()),
                    "n_nonmembers": int((~ranked.label).sum()),
                }
                for estimand, value in zip(estimands, values.tolist(), strict=True):
                    column = ranked.columns[estimand.ranking.columns[0]]
                    chosen = {
                        "selection": estimand.selection,
                        "metric": metrics.METRICS[estimand.metric],
                    }
                    rows.append(of_all | column._asdict() | chosen | {"value": value})
            progress.update()
    return _summarise(pd.DataFrame(rows))


def empty_placebos() -> pd.DataFrame:
    """Return the empty table, of a benchmark without placebos."""
    return pd.DataFrame(columns=PLACEBO_COLUMNS).astype(
        {"length": "Int64", "value": float, "placebo": bool}
    )


def _documents(benchmark: pd.DataFrame, name: str) -> tuple[str, list[str]]:
    """Return the non-members' one document, and the members'."""
    documents = {
        label: sorted(set(benchmark.loc[benchmark["label"].eq(label), "document"]))
        for label in (0, 1)
    }
    if len(documents[0]) != 1 or "" in documents[0] + documents[1]:
        raise InputError(
            f"benchmark '{name}': placebos need non-members of one document and "
            f"members of named documents; "
            f"there are {len(documents[0])} documents of non-members. Leave "
            f"`placebos` out of its entry."
        )
    return documents[0][0], documents[1]


def _placebo(benchmark: pd.DataFrame, document: str, name: str) -> pd.DataFrame:
    """Return `with_nonmembers` with new folds: the document that plays the non-members
    is cut as they are."""
    table = with_nonmembers(benchmark, document)
    keys = (table[key] for key in ("text_id", "text", "label", "subset"))
    texts = [
        Text(*row)
        for row in zip(
            *keys, whole_numbers(table["length"]), table["document"], strict=True
        )
    ]
    return table.assign(
        fold=assign_folds(texts, seed_of("placebo_folds", name, document)).numbers
    )


def _sets_of(
    document: str, table: pd.DataFrame, sets: Sequence[EvaluationSet]
) -> list[EvaluationSet]:
    """Return the evaluation sets of a document ("": the real one, first draw), without
    texts outside the table."""
    ids = set(table["text_id"])
    return [
        EvaluationSet(
            real.name, real.draw, ids if real.ids is None else ids & set(real.ids)
        )
        for real in sets
        if real.draw is None
        or (real.nonmembers == document and (document or real.draw == 0))
    ]


def _retrain(
    of_texts: UnitScores, table: pd.DataFrame, language: str
) -> ScoresByColumn:
    """Return the scores; methods that learn from labels learn from the table's."""
    scores = dict(of_texts.scores)
    learning = [column for column in scores if find(column.method).cross_fitted]
    scores |= {column: np.full(len(of_texts.units), np.nan) for column in learning}
    ids = pd.Index(of_texts.units["id"])
    for _, part in table.groupby(["subset", "length"], dropna=False, sort=True):
        texts = LabelledTexts(
            part["text_id"].tolist(),
            part["text"].tolist(),
            list(part["label"].astype(int)),
            part["fold"].astype(int).tolist(),
            language,
        )
        for column in learning:
            learned = find(column.method).function(texts)
            scores[column][ids.get_indexer(pd.Index(list(learned)))] = list(
                learned.values()
            )
    return scores


def _summarise(rows: pd.DataFrame) -> pd.DataFrame:
    if rows.empty:
        return empty_placebos()
    rows = rows.assign(length=rows["length"].astype("Int64"))
    of_placebos = rows[rows["placebo"]]
    summaries = of_placebos.groupby(PLACEBO_KEYS, dropna=False)["value"].agg(
        mean="mean", sd="std", placebos="size"
    )
    pairs = of_placebos.merge(
        rows.loc[~rows["placebo"], [*PLACEBO_KEYS, "value"]],
        on=PLACEBO_KEYS,
        suffixes=("", "_real"),
    )
    pairs = pairs.assign(rank=pairs["value"] >= pairs["value_real"])
    summaries["rank"] = 1 + pairs.groupby(PLACEBO_KEYS, dropna=False)["rank"].sum()
    table = rows.merge(summaries.reset_index(), on=PLACEBO_KEYS, how="left")
    table["z"] = (table["value"] - table["mean"]) / table["sd"].where(table["sd"] > 0)
    table.loc[table["placebo"], ["mean", "sd", "z", "rank", "placebos"]] = np.nan
    return table[PLACEBO_COLUMNS].sort_values(
        [*PLACEBO_KEYS, "placebo", "document"], kind="stable", ignore_index=True
    )


def first_of_any(frame: pd.DataFrame) -> tuple[int, int]:
    """Return how many documents are first for at least one method, and the number of
    documents.

    `frame`: rows `method, document, value`, a row for each document that plays the
    non-members. If the documents are alike, the share is an estimate of the chance that
    some method ranks a given one of them first. Ties count for all.
    """
    highest = frame.groupby("method")["value"].transform("max")
    return int(frame.loc[frame["value"] >= highest, "document"].nunique()), int(
        frame["document"].nunique()
    )


def ends_of_time(documents: Iterable[str]) -> tuple[str, str]:
    """Return the first and the last of the documents, whose names begin with their
    date."""
    ordered = sorted(documents)
    return ordered[0], ordered[-1]
