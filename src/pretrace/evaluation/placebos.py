"""Put each member document in the non-members' place: a method's values where all texts
were open to the model.

If all non-members come from one document (an address given after the model's release),
a method may recognise that document by its content. Each member document in its place
shows how far such a document differs from the others. If the non-members' document is
exchangeable with them, every rank among them is equally likely.
"""

from collections.abc import Iterable, Iterator, Sequence

import numpy as np
import pandas as pd

from pretrace.benchmarks.folds import assign_folds
from pretrace.benchmarks.sources import Text
from pretrace.benchmarks.subsets_and_lengths import whole_numbers
from pretrace.evaluation import metrics
from pretrace.evaluation.averages import Record
from pretrace.evaluation.scores import (
    EvaluationSet,
    RankedUnits,
    Scores,
    ScoresByColumn,
    UnitScores,
    parts_of,
)
from pretrace.evaluation.selection import Rankings, choose
from pretrace.methods.settings import find
from pretrace.methods.statistics import LabelledTexts
from pretrace.runtime.errors import InputError
from pretrace.runtime.logs import Progress
from pretrace.seeds import seed_of
from pretrace.views.prefixes import with_nonmembers

PLACEBO_KEYS = [*metrics.METRIC_KEYS, "metric"]
for key in ("unit", "setting", "draw"):
    PLACEBO_KEYS.remove(key)
PLACEBO_COLUMNS = [
    *PLACEBO_KEYS, "document", "placebo", "n_members", "n_nonmembers", "value", "mean",
    "sd", "rank", "placebos",
]  # fmt: skip
"""In the row of the non-members' own document (`placebo` False): `mean` and `sd` of the
placebos' values, its `rank` from the top (ties count against), and how many `placebos`
there are; NaN in the placebos' rows."""


def placebos(
    scores: Scores,
    benchmark: pd.DataFrame,
    *,
    name: str,
    evaluation_sets: Sequence[EvaluationSet],
    language: str = "en",
) -> pd.DataFrame:
    """Return a row for each metric of each document that takes the non-members' place;
    columns: PLACEBO_COLUMNS.

    `scores` and the sets are those of `evaluate`. A set without a draw is used for
    every document; a draw of prefixes only for the document of its non-member shots.
    Where shots were drawn for placebos, only their documents take the place.
    Settings are chosen again for each document, and methods that learn from labels
    (`cross_fitted`) learn from the placebo's labels, over folds that are dealt for it.
    The real document is treated alike, so its row equals that of the metrics. Raises
    InputError if the non-members come from several documents.
    """
    real, documents = _documents(benchmark, name)
    with_shots = {chosen.nonmembers for chosen in evaluation_sets} - {""}
    if with_shots:  # the real document has shots too, so others are no match for it
        documents = sorted(with_shots)
    of_texts = scores["text"]
    units = of_texts.units
    rows = []
    with Progress(f"placebos of {name}", 1 + len(documents), "documents") as progress:
        for document in [real, *documents]:
            if document == real:
                table = benchmark[benchmark["label"].notna()]
                columns = of_texts.scores
                sets = _sets_of("", table, evaluation_sets)
            else:
                table = _placebo(benchmark, document, name)
                columns = _retrain(of_texts, table, language)
                sets = _sets_of(document, table, evaluation_sets)
            # units outside the table have the label -1, which is in no set
            by_id = table.set_index("text_id")
            label = units["id"].map(by_id["label"]).fillna(-1)
            fold = units["id"].map(by_id["fold"]).fillna(units["fold"])
            own = units.assign(label=label.astype(int), fold=fold.astype(int))
            relabelled = UnitScores(own, columns, {})
            about = {"document": document, "placebo": document != real}
            for part in parts_of("text", relabelled, sets):
                for row in _rows(part.ranked()):
                    rows.append(about | row)
            progress.update()
    return _summarise(pd.DataFrame(rows))


def _rows(ranked: RankedUnits) -> Iterator[Record]:
    """Yield a row for each metric of each method at each selection of a setting."""
    rankings = Rankings(ranked)
    estimands = choose(ranked, rankings).estimands
    once = np.ones((len(ranked.label), 1))
    values = rankings.values(estimands, once)[:, 0].tolist()
    about = {
        "subset": ranked.slice.subset,
        "length": ranked.slice.length,
        "evaluation_set": ranked.evaluation_set,
        "n_members": int(ranked.label.sum()),
        "n_nonmembers": int((~ranked.label).sum()),
    }
    for estimand, value in zip(estimands, values, strict=True):
        yield ranked.columns[estimand.column]._asdict() | {
            **about,
            "selection": estimand.selection,
            "metric": metrics.METRICS[estimand.metric],
            "value": value,
        }


def empty_placebos() -> pd.DataFrame:
    """Return the empty table, of a benchmark without placebos."""
    types = {"length": "Int64", "value": "float64", "placebo": "bool"}
    return pd.DataFrame(columns=PLACEBO_COLUMNS).astype(types)


def _documents(benchmark: pd.DataFrame, name: str) -> tuple[str, list[str]]:
    """Return the non-members' one document, and the members'."""
    by_label = benchmark.groupby("label")["document"].unique()
    of_nonmembers = sorted(by_label.get(0, []))
    of_members = sorted(by_label.get(1, []))
    if len(of_nonmembers) != 1 or "" in [*of_nonmembers, *of_members]:
        raise InputError(
            f"benchmark '{name}': placebos need non-members of one document and "
            f"members of named documents; there are {len(of_nonmembers)} documents of "
            "non-members. Leave `placebos` out of its entry."
        )
    return of_nonmembers[0], of_members


def _placebo(benchmark: pd.DataFrame, document: str, name: str) -> pd.DataFrame:
    """Return `with_nonmembers` with new folds: the document that plays the non-members
    is cut as they are."""
    table = with_nonmembers(benchmark, document)
    lengths = whole_numbers(table["length"])
    texts = []
    for row, length in zip(table.to_dict("records"), lengths, strict=True):
        text = Text(
            row["text_id"],
            row["text"],
            row["label"],
            row["subset"],
            length,
            row["document"],
        )
        texts.append(text)
    folds = assign_folds(texts, seed_of("placebo_folds", name, document))
    return table.assign(fold=folds.numbers)


def _sets_of(
    document: str, table: pd.DataFrame, sets: Sequence[EvaluationSet]
) -> list[EvaluationSet]:
    """Return the evaluation sets of a document ("": the real one, first draw), without
    texts outside the table."""
    ids = set(table["text_id"])
    chosen = []
    for real in sets:
        is_drawn_for_it = real.nonmembers == document
        is_first = bool(document) or real.draw == 0
        if real.draw is None or (is_drawn_for_it and is_first):
            own = ids if real.ids is None else ids & set(real.ids)
            chosen.append(EvaluationSet(real.name, real.draw, own))
    return chosen


def _retrain(
    of_texts: UnitScores, table: pd.DataFrame, language: str
) -> ScoresByColumn:
    """Return the scores; methods that learn from labels learn from the table's."""
    scores = dict(of_texts.scores)
    learning = [column for column in scores if find(column.method).cross_fitted]
    for column in learning:
        scores[column] = np.full(len(of_texts.units), np.nan)
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
            learned = pd.Series(find(column.method).function(texts))
            scores[column][ids.get_indexer(learned.index)] = learned
    return scores


def _summarise(rows: pd.DataFrame) -> pd.DataFrame:
    if rows.empty:
        return empty_placebos()
    rows = rows.assign(length=rows["length"].astype("Int64"))
    of_placebos = rows[rows["placebo"]]
    values = of_placebos.groupby(PLACEBO_KEYS, dropna=False)["value"]
    summaries = values.agg(mean="mean", sd="std", placebos="size")
    real = rows.loc[~rows["placebo"], [*PLACEBO_KEYS, "value"]]
    pairs = of_placebos.merge(real, on=PLACEBO_KEYS, suffixes=("", "_real"))
    is_as_high = pairs["value"] >= pairs["value_real"]
    by_key = pairs.assign(as_high=is_as_high).groupby(PLACEBO_KEYS, dropna=False)
    summaries["rank"] = 1 + by_key["as_high"].sum()
    table = rows.merge(summaries.reset_index(), on=PLACEBO_KEYS, how="left")
    table.loc[table["placebo"], ["mean", "sd", "rank", "placebos"]] = np.nan
    order = [*PLACEBO_KEYS, "placebo", "document"]
    table = table.sort_values(order, kind="stable", ignore_index=True)
    return table[PLACEBO_COLUMNS]


def first_of_any(frame: pd.DataFrame) -> tuple[int, int]:
    """Return how many documents are first for at least one method, and the number of
    documents.

    `frame`: rows `method, document, value`, a row for each document that plays the
    non-members. If the documents are alike, the share is an estimate of the chance that
    some method ranks a given one of them first. Ties count for all.
    """
    highest = frame.groupby("method")["value"].transform("max")
    first = frame.loc[frame["value"] >= highest, "document"].nunique()
    return int(first), int(frame["document"].nunique())


def ends_of_time(documents: Iterable[str]) -> tuple[str, str]:
    """Return the first and the last of the documents, whose names begin with their
    date."""
    ordered = sorted(documents)
    return ordered[0], ordered[-1]
