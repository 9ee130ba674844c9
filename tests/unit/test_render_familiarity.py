"""The figure of texts ranked by Loss: its numbers against enumeration, its sentences, its place in the report."""

from itertools import combinations, product

import made_up_results as made_up
import numpy as np
import pandas as pd
import pytest

from pretrace.evaluation.ranking import at_top
from pretrace.methods import METHODS, LabelledTexts
from pretrace.render.figures.familiarity import lines, reading
from pretrace.render.results import Results
from pretrace.runtime.errors import InputError


def test_the_p_value_is_the_share_of_all_draws_of_as_many_texts_from_the_same_groups():
    rng = np.random.default_rng(3)
    groups = ["a"] * 6 + ["b"] * 5 + ["c"]
    for _ in range(6):
        ranks = rng.permutation(12) + 1
        chosen = np.array([1, 1, 0, 0, 0, 0, 1, 1, 0, 0, 0, 0], dtype=bool)
        top = at_top(ranks.tolist(), chosen.tolist(), groups, 4)
        draws = product(combinations(range(6), 2), combinations(range(6, 11), 2))
        hits = np.array([sum(ranks[i] <= 4 for i in (*first, *second)) for first, second in draws])
        assert top.hits == int((ranks[chosen] <= 4).sum())
        assert top.expected == pytest.approx(hits.mean())
        assert top.p == pytest.approx((hits >= top.hits).mean())


def data(control: float) -> pd.DataFrame:
    texts = [
        {"kind": "text", "rank": rank, "name": f"Book {rank}", "group": "Book", "label": int(rank in (1, 2, 15)),
         "class": "famous" if rank in (1, 2, 15) else "others"}
        for rank in range(1, 21)
    ]  # fmt: skip
    values = {"loss": 0.8, "word_frequency": control}
    aucs = [
        {"kind": "method", "method": name, "value": value, "low": value - 0.1, "high": value + 0.1}
        for name, value in values.items()
    ]
    return pd.DataFrame([*texts, *aucs]).assign(model="tiny")


def test_the_terminal_is_told_how_many_are_at_the_top_and_what_controls_reach():
    """Both of the first two of 20 are among the 3 of label 1: 3 of the 190 pairs, so p = 3 / 190."""
    (verdict,) = lines(data(0.9))
    assert verdict.startswith(
        "2 of the 3 famous are among the 2 of 20 texts that tiny predicts best; 0.3 would be"
    )
    assert f"exact p = {3 / 190:.2g}" in verdict
    assert "Word frequency sees no model and reaches as much" in verdict


def test_the_reading_says_whether_a_control_reaches_as_much():
    assert "No control, which sees no model, reaches as much" in reading(data(0.6))
    assert "Word frequency sees no model and reaches as much" in reading(data(0.9))


def test_word_frequency_is_the_mean_log_share_of_the_words():
    texts = LabelledTexts(["x", "y"], ["A b", "a a"], [1, 0], [0, 0], "en")
    scores = METHODS["word_frequency"].function(texts)
    assert scores["x"] == pytest.approx((np.log(3 / 4) + np.log(1 / 4)) / 2)
    assert scores["y"] == pytest.approx(np.log(3 / 4))


PAIR = (made_up.MODEL, made_up.BENCHMARK)
METHODS_SHOWN = ("loss", "min_k", "blind")


@pytest.fixture
def results(tmp_path) -> Results:
    """Twenty texts `Book i`; Loss falls with i, so that i is the rank; label 1 for every fifth."""
    ids = [f"Book {i}" for i in range(1, 21)]
    texts = pd.DataFrame(
        {"text_id": ids, "text": ids, "label": [int(i % 5 == 1) for i in range(1, 21)], "subset": "",
         "length": made_up.LENGTH, "document": ids, "fold": 0}
    )  # fmt: skip
    scores, metrics = [], []
    for method in METHODS_SHOWN:
        setting = made_up.default_of(method)
        metrics.append(made_up.metric_row(method, setting, "default", 0.7))
        for other in {setting, "k=0.9"} if method == "min_k" else {setting}:
            row = made_up.keys(method, other, "")
            for place, id in enumerate(ids, start=1):
                score = -float(place) if other == setting else 99.0
                keys = ("unit", "method", "setting", "view", "start_token", "reference")
                scores.append({"id": id, "score": score} | {key: row[key] for key in keys})
    paths = {}
    for kind, frame in (("scores", pd.DataFrame(scores)), ("metrics", pd.DataFrame(metrics))):
        path = tmp_path / f"{kind}.parquet"
        frame.to_parquet(path)
        paths[kind] = {PAIR: path}
    texts.sample(frac=1, random_state=1).to_parquet(tmp_path / "texts.parquet")
    entries = {made_up.BENCHMARK: {"classes": ["fifths", "others"], "caution": "all were read"}}
    return Results(**paths, benchmarks={made_up.BENCHMARK: tmp_path / "texts.parquet"}, entries=entries)


def test_the_figure_ranks_every_text_with_its_default_scores_and_names_the_classes(results, tmp_path):
    artifact = made_up.artifact("familiar_texts", methods=list(METHODS_SHOWN), panels=[made_up.PANEL])
    files = made_up.render(artifact, results, tmp_path / "out")
    frame = pd.read_csv(files["csv"])
    texts = frame[frame["kind"] == "text"]
    assert texts["name"].tolist() == [f"Book {i}" for i in range(1, 21)]
    assert texts["rank"].tolist() == list(range(1, 21))
    assert texts["loss"].tolist() == texts["min_k"].tolist() == [-float(i) for i in range(1, 21)]
    assert set(texts.loc[texts["class"] == "fifths", "rank"]) == {1, 6, 11, 16}
    assert frame.loc[frame["kind"] == "method", "method"].tolist() == list(METHODS_SHOWN)
    told = files["txt"].read_text()
    assert told.startswith("1 of the 4 fifths are among the 2 of 20 texts")
    assert "all were read." in told
    assert files["png"].stat().st_size > 10_000


def test_without_loss_there_is_no_ranking(results, tmp_path):
    artifact = made_up.artifact("familiar_texts", methods=["min_k"], panels=[made_up.PANEL])
    with pytest.raises(InputError, match="ranked by loss; add it"):
        made_up.render(artifact, results, tmp_path / "out")
