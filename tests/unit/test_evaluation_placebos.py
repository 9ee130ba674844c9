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
from pretrace.questions import method_facts
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
    labels = table["label"].astype(int)
    columns = [table["text_id"], table["text"], labels, table["fold"]]
    return blind(LabelledTexts(*map(list, columns), "en"))


def computed(
    table: pd.DataFrame, benchmark: pd.DataFrame, prefixes: pd.DataFrame | None = None
) -> pd.DataFrame:
    sets = evaluation_sets(benchmark, prefixes)
    read = scores_of([table], benchmark)
    return placebos(read, benchmark, name="b", evaluation_sets=sets)


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
    usual = {"metric": "auc", "selection": "default", "evaluation_set": "all"}
    for key, value in (usual | keys).items():
        table = table[table[key] == value]
    return table.set_index("document")


def scores_by_id(scores: pd.DataFrame, method: str, draw: Any = None) -> pd.Series:
    rows = scores[scores["method"] == method]
    if draw is not None:
        rows = rows[rows["draw"] == draw]
    return rows.set_index("id")["score"]


@pytest.fixture(scope="module")
def table(texts_table: pd.DataFrame) -> pd.DataFrame:
    return computed(scored(texts_table), texts_table)


def test_each_documents_value_is_the_auc_of_the_other_members_against_it(
    texts_table, table
):
    """What learns from labels learns from the placebo's labels."""
    scores = {"loss": scores_by_id(scored(texts_table), "loss")}
    assert set(values_of(table, method="loss").index) == set(DOCUMENTS)
    for document in DOCUMENTS[1:]:
        placebo = placebo_table(texts_table, document)
        scores["blind"] = pd.Series(learned(placebo))
        for method, score in scores.items():
            row = values_of(table, method=method).loc[document]
            expected = roc_auc_score(placebo["label"], score[placebo["text_id"]])
            assert row["value"] == pytest.approx(expected, abs=1e-12)
            assert row["n_members"] == 5 * OF_EACH
            assert row["n_nonmembers"] == OF_EACH


def test_the_real_documents_rows_are_those_of_the_metrics(texts_table, table):
    metrics, _ = run(
        scored(texts_table), texts_table, resamples=10, settings=method_facts
    )
    keys = [key for key in PLACEBO_KEYS if key != "length"]
    real = table[~table["placebo"]].set_index(keys)["value"]
    assert len(real) > 10
    chosen = metrics[metrics["selection"] != "grid"]
    expected = chosen.set_index(keys)["value"].loc[real.index]
    pd.testing.assert_series_equal(expected, real)


def test_rank_mean_and_spread_are_of_the_placebos(table):
    rows = values_of(table, method="loss")
    real = rows.loc["new"]
    placebos = rows.drop("new")
    values = placebos["value"].to_numpy(dtype=float)
    assert real["placebos"] == len(placebos) == 6
    assert real["mean"] == pytest.approx(values.mean())
    assert real["sd"] == pytest.approx(values.std(ddof=1))
    assert real["rank"] == 1 + (values >= real["value"]).sum()
    assert placebos["rank"].isna().all()


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
    rows = computed(given, texts_table, prefixes)
    assert set(rows["document"]) == set(documents.values()), "in sets without shots too"
    rows = values_of(rows, method="recall", evaluation_set="without_prefixes")
    assert set(rows.index) == set(documents.values())
    for draw, document in documents.items():
        own = texts_table if document == "new" else placebo_table(texts_table, document)
        own = own[own["text_id"].isin(ids[draw])]
        recall = scores_by_id(given, "recall", draw)[own["text_id"]]
        row = rows.loc[document]
        expected = roc_auc_score(own["label"].astype(int), recall)
        assert row["value"] == pytest.approx(expected)
        assert row["n_members"] == 8
        assert row["n_nonmembers"] == 8
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
    says = "benchmark 'b': placebos need non-members of one document"
    with pytest.raises(InputError, match=says):
        computed(scored(texts_table), several)
    says = "7 placebos are asked for, and the members come from 6 documents"
    with pytest.raises(InputError, match=says):
        draw_prefixes(texts_table, pool=3, draws=1, seed=0, placebos=7)


def test_how_many_documents_are_first_for_at_least_one_method():
    values = {"loss": [3, 2, 1], "min_k": [3, 1, 2], "zlib": [1, 3, 3]}
    wide = pd.DataFrame({"document": ["d0", "d1", "d2"]} | values)
    assert first_of_any(by_method(wide)) == (3, 3), "a tie counts for both"
    assert first_of_any(by_method(wide.drop(columns="zlib"))) == (1, 3)


def by_method(wide: pd.DataFrame) -> pd.DataFrame:
    return wide.melt("document", var_name="method")


def test_the_ends_of_time_are_the_first_and_the_last_document():
    assert ends_of_time(["2008-b", "2005-a", "2020-c"]) == ("2005-a", "2020-c")
