"""Placebos: each member document as the non-members, against scikit-learn; ranks; what
learns learns anew."""

from typing import Any

import numpy as np
import pandas as pd
import pytest
from evaluation_tables import run, scores, texts
from sklearn.metrics import roc_auc_score

from pretrace.benchmarks.folds import assign_folds
from pretrace.benchmarks.sources import Text
from pretrace.evaluation.placebos import (
    PLACEBO_KEYS,
    ends_of_time,
    first_of_any,
    placebos,
)
from pretrace.evaluation.scores import evaluation_sets, scores_of
from pretrace.methods.blind import blind
from pretrace.methods.statistics import LabelledTexts
from pretrace.questions import known
from pretrace.runtime.errors import InputError
from pretrace.seeds import seed_of
from pretrace.views.prefixes import draw_prefixes, excluded_ids

DOCUMENTS = ("new", *(f"old{number}" for number in range(6)))
OF_EACH = 20


@pytest.fixture(scope="module")
def texts_table() -> pd.DataFrame:
    rng = np.random.default_rng(0)
    document = np.repeat(DOCUMENTS, OF_EACH)
    words = []
    for row, name in enumerate(document):
        own = [f"{name}w{row % OF_EACH}n{n}" for n in range(30)]
        words.append(" ".join([name] * int(rng.integers(0, 3)) + own))
    fold = np.arange(len(document)) % OF_EACH % 5
    return texts(document != "new", fold=fold, document=document, length=32, text=words)


def scored(benchmark: pd.DataFrame, draws: tuple[int, ...] = ()) -> pd.DataFrame:
    """`loss` of every text, `blind`, and `recall` for each draw: random, with an effect
    of documents."""
    rng = np.random.default_rng(1)
    effects = pd.Series(rng.normal(size=len(DOCUMENTS)), index=DOCUMENTS)
    effect = benchmark["document"].map(effects)
    loss = effect + rng.normal(size=len(benchmark))
    of_words = benchmark["text_id"].map(learned(benchmark))
    tables = [scores(benchmark, {("loss", ""): loss, ("blind", ""): of_words})]
    for draw in draws:
        recall = effect + rng.normal(size=len(benchmark))
        tables.append(scores(benchmark, {("recall", ""): recall}, draw=draw))
    return pd.concat(tables)


def learned(table: pd.DataFrame) -> dict[str, float]:
    labels = table["label"].astype(int).tolist()
    return blind(
        LabelledTexts(
            table["text_id"].tolist(),
            table["text"].tolist(),
            labels,
            table["fold"].tolist(),
            "en",
        )
    )


def computed(
    table: pd.DataFrame, benchmark: pd.DataFrame, prefixes: pd.DataFrame | None = None
) -> pd.DataFrame:
    sets = evaluation_sets(benchmark, prefixes)
    return placebos(
        scores_of([table], benchmark),
        benchmark,
        name="b",
        evaluation_sets=sets,
        settings=known,
    )


def placebo_table(benchmark: pd.DataFrame, document: str) -> pd.DataFrame:
    """The benchmark with a member document in the non-members' place, folds dealt
    anew."""
    members = benchmark[benchmark["label"].eq(1)]
    members = members.assign(label=members["document"].ne(document).astype(int))
    columns = ["text_id", "text", "label", "subset", "length", "document"]
    own = [Text(*row) for row in members[columns].itertuples(index=False)]
    folds = assign_folds(own, seed_of("placebo_folds", "b", document))
    return members.assign(fold=folds.numbers)


def values_of(table: pd.DataFrame, **keys: Any) -> pd.DataFrame:
    keys = {"metric": "auc", "selection": "default", "evaluation_set": "all"} | keys
    return table[
        np.logical_and.reduce([table[key] == value for key, value in keys.items()])
    ].set_index("document")


@pytest.fixture(scope="module")
def table(texts_table: pd.DataFrame) -> pd.DataFrame:
    return computed(scored(texts_table), texts_table)


def test_each_documents_value_is_the_auc_of_the_other_members_against_it(
    texts_table, table
):
    """What learns from labels learns from the placebo's labels."""
    loss = scored(texts_table).query("method == 'loss'").set_index("id")["score"]
    rows = {method: values_of(table, method=method) for method in ("loss", "blind")}
    assert set(rows["loss"].index) == set(DOCUMENTS)
    for document in DOCUMENTS[1:]:
        placebo = placebo_table(texts_table, document)
        for method, own in (("loss", loss), ("blind", pd.Series(learned(placebo)))):
            row = rows[method].loc[document]
            expected = roc_auc_score(placebo["label"], own[placebo["text_id"]])
            assert row["value"] == pytest.approx(expected, abs=1e-12)
            assert row["n_members"] == 5 * OF_EACH
            assert row["n_nonmembers"] == OF_EACH


def test_the_real_documents_rows_are_those_of_the_metrics(texts_table, table):
    metrics, _ = run(scored(texts_table), texts_table, resamples=10, settings=known)
    keys = [key for key in PLACEBO_KEYS if key != "length"]
    real = table[~table["placebo"]].set_index(keys)["value"]
    assert len(real) > 10
    expected = (
        metrics[metrics["selection"] != "grid"].set_index(keys)["value"].loc[real.index]
    )
    pd.testing.assert_series_equal(expected, real)


def test_rank_mean_and_spread_are_of_the_placebos(table):
    rows = values_of(table, method="loss")
    placebo = rows.loc[list(DOCUMENTS[1:]), "value"].to_numpy(dtype=float)
    own = rows.loc["new"]
    assert own["placebos"] == 6
    assert own["mean"] == pytest.approx(placebo.mean())
    assert own["sd"] == pytest.approx(placebo.std(ddof=1))
    assert own["rank"] == 1 + (placebo >= own["value"]).sum()
    assert rows.loc[list(DOCUMENTS[1:]), "rank"].isna().all()


def test_a_draw_of_prefixes_belongs_to_the_document_of_its_shots(texts_table):
    prefixes = draw_prefixes(texts_table, pool=3, draws=1, seed=0, placebos=2, texts=8)
    of_draws = prefixes.drop_duplicates("draw").set_index("draw")["nonmembers"]
    documents = of_draws.replace("", "new").to_dict()
    assert documents[0] == "new"
    assert len(set(documents.values())) == 3
    ids = {}
    for chosen in evaluation_sets(texts_table, prefixes):
        if chosen.name == "without_prefixes":
            ids[chosen.draw] = chosen.ids
    given = scored(texts_table, draws=(0, 1, 2))
    of_recall = given[given["method"] == "recall"]
    recall = of_recall.set_index(["draw", "id"])["score"]
    rows = computed(given, texts_table, prefixes)
    rows = values_of(rows, method="recall", evaluation_set="without_prefixes")
    assert set(rows.index) == set(documents.values())
    for draw, document in documents.items():
        own = texts_table if document == "new" else placebo_table(texts_table, document)
        own = own[own["text_id"].isin(ids[draw])]
        expected = roc_auc_score(own["label"].astype(int), recall[draw][own["text_id"]])
        assert rows.loc[document, "value"] == pytest.approx(expected)
        assert rows.loc[document, "n_members"] == 8
        assert rows.loc[document, "n_nonmembers"] == 8
        assert not set(own["text_id"]) & excluded_ids(prefixes, texts_table, draw)


def test_shots_of_a_placebo_come_from_its_document_and_from_the_other_members(
    texts_table,
):
    prefixes = draw_prefixes(texts_table, pool=3, draws=1, seed=0, placebos=6, texts=8)
    document = texts_table.set_index("text_id")["document"]
    for (_, placebo), rows in prefixes.groupby(["draw", "nonmembers"]):
        sources = document[rows["text_id"]].to_numpy()
        nonmembers = placebo or "new"
        assert set(sources[rows["kind"] == "nonmember"]) == {nonmembers}
        assert not {nonmembers, "new"} & set(sources[rows["kind"] == "member"])


def test_too_many_documents_of_non_members_or_placebos_are_refused(texts_table):
    several = texts_table.assign(document=texts_table["text_id"])
    with pytest.raises(
        InputError, match="benchmark 'b': placebos need non-members of one document"
    ):
        computed(scored(texts_table), several)
    with pytest.raises(
        InputError,
        match="7 placebos are asked for, and the members come from 6 documents",
    ):
        draw_prefixes(texts_table, pool=3, draws=1, seed=0, placebos=7)


def test_how_many_documents_are_first_for_at_least_one_method():
    values = pd.DataFrame(
        {"loss": [3, 2, 1], "zlib": [1, 3, 3], "min_k": [3, 1, 2]},
        index=["d0", "d1", "d2"],
    )
    frame = (
        values.rename_axis("document").reset_index().melt("document", var_name="method")
    )
    assert first_of_any(frame) == (3, 3), "a tie counts for both"
    assert first_of_any(frame[frame["method"] != "zlib"]) == (1, 3)
    assert ends_of_time(["2008-b", "2005-a", "2020-c"]) == ("2005-a", "2020-c")
