"""The figure of texts ranked by Loss: its numbers against enumeration, its sentences."""

from itertools import combinations, product

import made_up_results as made_up
import numpy as np
import pandas as pd
import pytest
import test_render_golden as golden

from pretrace.evaluation.significance import at_top
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


@pytest.mark.parametrize(
    ("control", "said"),
    [(0.6, "No control, which sees no model, reaches as much"), (0.9, "Word frequency sees no model and")],
)  # fmt: skip
def test_the_terminal_is_told_how_many_are_at_the_top_and_what_controls_reach(control: float, said: str):
    """Both of the first two of 20 are among the 3 of label 1: 3 of the 190 pairs, so p = 3 / 190."""
    ranks = range(1, 21)
    texts = pd.DataFrame({"kind": "text", "rank": ranks, "name": [f"Book {rank}" for rank in ranks], "group": "Book",
                          "label": [int(rank in (1, 2, 15)) for rank in ranks]})  # fmt: skip
    texts["class"] = np.where(texts["label"] == 1, "famous", "others")
    aucs = pd.DataFrame({"kind": "method", "method": ["loss", "word_frequency"], "value": [0.8, control]})
    aucs = aucs.assign(low=aucs["value"] - 0.1, high=aucs["value"] + 0.1)
    frame = pd.concat([texts, aucs], ignore_index=True).assign(model="tiny")
    (verdict,) = lines(frame)
    counted = "2 of the 3 famous are among the 2 of 20 texts that tiny predicts best; 0.3 would be"
    assert verdict.startswith(counted)
    assert f"exact p = {3 / 190:.2g}" in verdict
    assert said in verdict
    assert said in reading(frame)


def test_word_frequency_is_the_mean_log_share_of_the_words():
    texts = LabelledTexts(["x", "y"], ["A b", "a a"], [1, 0], [0, 0], "en")
    scores = METHODS["word_frequency"].function(texts)
    assert scores["x"] == pytest.approx((np.log(3 / 4) + np.log(1 / 4)) / 2)
    assert scores["y"] == pytest.approx(np.log(3 / 4))


@pytest.fixture
def results(tmp_path) -> Results:
    """Twenty texts `Book i`; Loss falls with i, so that i is the rank; label 1 for every fifth."""
    ids = [f"Book {i}" for i in range(1, 21)]
    texts = pd.DataFrame(
        {"text_id": ids, "text": ids, "label": [int(i % 5 == 1) for i in range(1, 21)], "subset": "",
         "length": made_up.LENGTH, "document": ids, "fold": 0}
    )  # fmt: skip
    scores, metrics = [], []
    for method, settings in (("loss", [""]), ("min_k", ["k=0.2", "k=0.9"]), ("blind", [""])):
        metrics.append(made_up.metric_row(method, settings[0], "default", 0.7))
        for setting in settings:
            row = made_up.keys(method, setting, "")
            keys = {
                key: row[key] for key in ("unit", "method", "setting", "view", "start_token", "reference")
            }
            score = [99.0 if setting == "k=0.9" else -float(place) for place in range(1, 21)]
            scores.append(pd.DataFrame({"id": ids, "score": score}).assign(**keys))
    frames = {
        "scores": pd.concat(scores),
        "metrics": pd.DataFrame(metrics),
        "benchmarks": texts.sample(frac=1),
    }
    return golden.results_of(tmp_path, frames, classes=["fifths", "others"], caution="all were read")


def test_the_figure_ranks_every_text_with_its_default_scores_and_names_the_classes(results, tmp_path):
    artifact = made_up.artifact("familiar_texts", methods=["loss", "min_k", "blind"])
    files = made_up.render(artifact, results, tmp_path / "out")
    frame = pd.read_csv(files["csv"])
    texts = frame[frame["kind"] == "text"]
    assert texts["name"].tolist() == [f"Book {i}" for i in range(1, 21)]
    assert texts["rank"].tolist() == list(range(1, 21))
    assert texts["loss"].tolist() == texts["min_k"].tolist() == [-float(i) for i in range(1, 21)]
    assert set(texts.loc[texts["class"] == "fifths", "rank"]) == {1, 6, 11, 16}
    assert frame.loc[frame["kind"] == "method", "method"].tolist() == artifact["methods"]
    told = files["txt"].read_text()
    assert told.startswith("1 of the 4 fifths are among the 2 of 20 texts")
    assert "all were read." in told
    with pytest.raises(InputError, match="ranked by loss; add it"):
        made_up.render(artifact | {"methods": ["min_k"]}, results, tmp_path / "out")
