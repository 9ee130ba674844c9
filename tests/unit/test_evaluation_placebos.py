"""Placebos: each member document as the non-members, against an oracle; ranks; what learns from labels learns anew."""

from typing import Any

import numpy as np
import pandas as pd
import pytest
from evaluation_tables import run, scores, texts
from sklearn.metrics import roc_auc_score

from pretrace.benchmarks.folds import assign_folds
from pretrace.benchmarks.sources import Text
from pretrace.evaluation import scores as scores_table
from pretrace.evaluation.placebos import KEYS, ends_of_time, first_of_any, placebos
from pretrace.evaluation.scores import evaluation_sets
from pretrace.methods.blind import blind
from pretrace.methods.statistics import LabelledTexts
from pretrace.questions import known
from pretrace.runtime.errors import InputError
from pretrace.runtime.files import seed_of
from pretrace.views.prefixes import draw_prefixes, excluded

DOCUMENTS = ("new", *(f"old{number}" for number in range(6)))
OF_EACH = 20


@pytest.fixture(scope="module")
def benchmark() -> pd.DataFrame:
    rng = np.random.default_rng(0)
    document = np.repeat(DOCUMENTS, OF_EACH)
    words = [[name] * int(rng.integers(0, 3)) + [f"{name}w{at % OF_EACH}n{n}" for n in range(30)]
             for at, name in enumerate(document)]  # fmt: skip
    fold = np.arange(len(document)) % OF_EACH % 5
    return texts(document != "new", fold=fold, document=document, length=32, text=list(map(" ".join, words)))


def scores_of(benchmark: pd.DataFrame, draws: tuple[int, ...] = ()) -> pd.DataFrame:
    """`loss` of every text, `blind`, and `recall` for each draw: random, with an effect of documents."""
    rng = np.random.default_rng(1)
    effect = benchmark["document"].map(dict(zip(DOCUMENTS, rng.normal(size=len(DOCUMENTS)), strict=True)))

    def values() -> np.ndarray:
        return effect + rng.normal(size=len(benchmark))

    learned = benchmark["text_id"].map(blind_scores(benchmark))
    plain = scores(benchmark, {("loss", ""): values(), ("blind", ""): learned})
    return pd.concat([plain, *(scores(benchmark, {("recall", ""): values()}, draw=draw) for draw in draws)])


def placebos_of(
    table: pd.DataFrame, benchmark: pd.DataFrame, prefixes: pd.DataFrame | None = None
) -> pd.DataFrame:
    sets = evaluation_sets(benchmark, prefixes)
    given = scores_table.scores_of([table], benchmark)
    return placebos(given, benchmark, name="b", evaluation_sets=sets, settings=known)


def blind_scores(table: pd.DataFrame) -> dict[str, float]:
    texts = LabelledTexts(
        table["text_id"].tolist(), table["text"].tolist(), table["label"].astype(int).tolist(),
        table["fold"].tolist(), "en",
    )  # fmt: skip
    return blind(texts)


def placebo_table(benchmark: pd.DataFrame, document: str) -> pd.DataFrame:
    members = benchmark[benchmark["label"].eq(1)]
    members = members.assign(label=members["document"].ne(document).astype(int))
    texts = [
        Text(of.text_id, of.text, of.label, of.subset, of.length, of.document) for of in members.itertuples()
    ]
    return members.assign(fold=assign_folds(texts, seed_of("placebo_folds", "b", document)).numbers)


def values_of(found: pd.DataFrame, **keys: Any) -> pd.DataFrame:
    keys = {"metric": "auc", "selection": "default", "evaluation_set": "all"} | keys
    for key, value in keys.items():
        found = found[found[key] == value]
    return found.set_index("document")


@pytest.fixture(scope="module")
def found(benchmark: pd.DataFrame) -> pd.DataFrame:
    return placebos_of(scores_of(benchmark), benchmark)


def test_each_documents_value_is_the_auc_of_the_other_members_against_it(benchmark, found):
    table = scores_of(benchmark)
    loss = table[table["method"] == "loss"].set_index("id")["score"]
    rows = values_of(found, method="loss")
    assert set(rows.index) == set(DOCUMENTS)
    for document in DOCUMENTS[1:]:
        table = placebo_table(benchmark, document)
        expected = roc_auc_score(table["label"], loss[table["text_id"]])
        assert rows.loc[document, "value"] == pytest.approx(expected, abs=1e-12)
        assert (rows.loc[document, "n_members"], rows.loc[document, "n_nonmembers"]) == (5 * OF_EACH, OF_EACH)


def test_the_real_documents_rows_are_those_of_the_metrics(benchmark, found):
    metrics, _ = run(scores_of(benchmark), benchmark, resamples=10, settings=known)
    keys = [key for key in KEYS if key != "length"]
    real = found[~found["placebo"]].set_index(keys)["value"]
    assert len(real) > 10
    pd.testing.assert_series_equal(
        metrics[metrics["selection"] != "grid"].set_index(keys)["value"].loc[real.index], real
    )


def test_rank_mean_and_spread_are_of_the_placebos(found):
    rows = values_of(found, method="loss")
    placebo, own = rows.loc[list(DOCUMENTS[1:]), "value"].to_numpy(dtype=float), rows.loc["new"]
    assert own["placebos"] == 6
    assert own["mean"] == pytest.approx(placebo.mean())
    assert own["sd"] == pytest.approx(placebo.std(ddof=1))
    assert own["rank"] == 1 + (placebo >= own["value"]).sum()
    assert rows.loc[list(DOCUMENTS[1:]), "rank"].isna().all()


def test_what_learns_from_labels_learns_from_the_placebos_labels(benchmark, found):
    rows = values_of(found, method="blind")
    table = placebo_table(benchmark, "old3")
    learned = pd.Series(blind_scores(table))
    expected = roc_auc_score(table["label"], learned[table["text_id"]])
    assert rows.loc["old3", "value"] == pytest.approx(expected)


def test_a_draw_of_prefixes_stands_for_the_document_of_its_shots(benchmark):
    prefixes = draw_prefixes(benchmark, pool=3, draws=1, seed=0, placebos=2, texts=8)
    documents = prefixes.drop_duplicates("draw").set_index("draw")["nonmembers"].to_dict()
    assert documents[0] == ""
    assert len(set(documents.values()) - {""}) == 2
    sets = evaluation_sets(benchmark, prefixes)
    scored = scores_of(benchmark, draws=(0, 1, 2))
    found = placebos_of(scored, benchmark, prefixes)
    rows = values_of(found, method="recall", evaluation_set="without_prefixes")
    assert set(rows.index) == {"new", documents[1], documents[2]}
    of_draw = {"new": 0} | {document: draw for draw, document in documents.items() if document}
    for document, draw in of_draw.items():
        table = benchmark if document == "new" else placebo_table(benchmark, document)
        evaluated = next(one.ids for one in sets if one.draw == draw and one.name == "without_prefixes")
        table = table[table["text_id"].isin(evaluated)]
        score = scored[scored["method"].eq("recall") & scored["draw"].eq(draw)].set_index("id")["score"]
        expected = roc_auc_score(table["label"].astype(int), score[table["text_id"]])
        assert rows.loc[document, "value"] == pytest.approx(expected)
        assert (rows.loc[document, "n_members"], rows.loc[document, "n_nonmembers"]) == (8, 8)
        assert not set(table["text_id"]) & excluded(prefixes, benchmark, draw)


def test_shots_of_a_placebo_come_from_its_document_and_from_the_other_members(benchmark):
    prefixes = draw_prefixes(benchmark, pool=3, draws=1, seed=0, placebos=6, texts=8)
    document = benchmark.set_index("text_id")["document"]
    for (_, placebo), rows in prefixes.groupby(["draw", "nonmembers"]):
        own = rows.assign(document=document[rows["text_id"]].to_numpy())
        assert set(own.loc[own["kind"] == "nonmember", "document"]) == {placebo or "new"}
        assert not {placebo or "new", "new"} & set(own.loc[own["kind"] == "member", "document"])


def test_nonmembers_of_several_documents_are_refused(benchmark):
    several = benchmark.assign(document=benchmark["text_id"])
    with pytest.raises(InputError, match="benchmark 'b': placebos need non-members of one document"):
        placebos_of(scores_of(benchmark), several)


def test_more_placebos_than_documents_are_refused(benchmark):
    with pytest.raises(InputError, match="7 placebos are asked for, and the members come from 6 documents"):
        draw_prefixes(benchmark, pool=3, draws=1, seed=0, placebos=7)


def test_how_many_documents_are_first_for_at_least_one_method():
    values = {"loss": [3, 2, 1], "zlib": [1, 3, 3], "min_k": [3, 1, 2]}
    frame = pd.DataFrame(
        [(method, f"d{at}", value) for method, row in values.items() for at, value in enumerate(row)],
        columns=["method", "document", "value"],
    )
    assert first_of_any(frame) == (3, 3), "a tie counts for both"
    assert first_of_any(frame[frame["method"] != "zlib"]) == (1, 3)
    assert ends_of_time(["2008-b", "2005-a", "2020-c"]) == ("2005-a", "2020-c")
