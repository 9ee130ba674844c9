"""Scores that stand on more than the text: neighbours, prefixes, and what a view has in
its place."""

import zlib
from itertools import product

import numpy as np
import pandas as pd
import pytest
from made_up_stores import a_run, mean_logprob, score_of

from pretrace.methods.scoring import SCORE_COLUMNS
from pretrace.passes.prompt_prefix import NO_SHOT
from pretrace.runtime.files import write_parquet
from pretrace.seeds import seed_of
from pretrace.views import VIEWS
from pretrace.views.prefixes import draw_prefixes


def test_neighbor_has_a_row_for_each_generator_and_averages_its_first_neighbours(store):
    store.add(altered="transpositions-4", variants=4).add(
        altered="neighbours_by_bert-3", variants=3
    )
    run = a_run({"method": "neighbor", "parameters": {"neighbours": [2, 25]}},
                neighbours=["transpositions-4", "neighbours_by_bert-3"])  # fmt: skip
    scores = score_of(store, run).set_index(["reference", "setting", "id"])["score"]
    assert len(scores) == 80
    for view, there in (("transpositions-4", 4), ("neighbours_by_bert-3", 3)):
        for setting, used in (("neighbours=2", 2), ("", there)):
            for id in store.benchmark["text_id"]:
                theirs = [mean_logprob(store, id, view, n) for n in range(used)]
                expected = mean_logprob(store, id) - np.mean(theirs)
                assert scores[view, setting, id] == pytest.approx(expected)


def test_neighbor_leaves_out_skipped_neighbours_and_texts_without_any(store, log_lines):
    nothing = {"token_ids": [], "logprobs": [], "skipped": "no tokens"}
    store.add(
        altered="transpositions-2",
        variants=2,
        changes={"32-03": nothing, "32-04": {"absent": True}},
    )
    scores = score_of(store, a_run("neighbor", neighbours=["transpositions-2"]))
    assert set(store.benchmark["text_id"]) - set(scores["id"]) == {"32-03", "32-04"}
    assert (
        "neighbor (transpositions-2): no score for 2 texts of made_up: missing: "
        "log-prob" in log_lines.text
    )


def test_rmia_compares_with_the_shadow_models_that_the_run_names(
    store, tmp_path, log_lines
):
    ids = store.benchmark["text_id"].tolist()
    rows = []
    for shadow in range(4):
        for place, id in enumerate(ids[:-1]):
            rows.append(
                {
                    "text_id": id,
                    "shadow": shadow,
                    "in": (place + shadow) % 2 == 0,
                    "log_likelihood": -1.0 - shadow - place / 9,
                }
            )
    write_parquet(tmp_path / "shadows.parquet", pd.DataFrame(rows))
    files = {"shadows": {"pico": tmp_path / "shadows.parquet"}}
    scores = score_of(store, a_run("rmia", shadows=["pico"]), files=files)
    assert set(scores["reference"]) == {"pico"}
    assert (
        "rmia (pico): no score for 1 texts of made_up: missing: log-likelihoods"
        in log_lines.text
    )
    for id, value in scores.set_index("id")["score"].items():
        likelihoods = {True: [], False: []}
        for row in rows:
            if row["text_id"] == id:
                likelihoods[row["in"]].append(np.exp(row["log_likelihood"]))
        mean_of_kinds = np.mean([np.mean(own) for own in likelihoods.values()])
        expected = mean_logprob(store, id) - np.log(mean_of_kinds)
        assert value == pytest.approx(expected)


def drawn(benchmark: pd.DataFrame) -> pd.DataFrame:
    return draw_prefixes(benchmark, pool=3, draws=2, seed=0)


def test_prefix_methods_read_the_pass_of_their_draw_and_shots(store):
    for draw, shots, prefix in product((0, 1), (2, 7), ("nonmember", "member")):
        store.add(prefix=prefix, draw=draw, shots=shots)
    run = a_run(
        {"method": "recall", "parameters": {"shots": [2, 7]}},
        {"method": "con_recall", "parameters": {"shots": 2, "gamma": [0.3, 1]}},
        draws=[0, 1],
    )
    prefixes = drawn(store.benchmark)
    scores = score_of(store, run, prefixes=prefixes)
    assert list(scores.columns) == SCORE_COLUMNS
    assert not scores.duplicated(SCORE_COLUMNS[:-2]).any()
    without_prefix = score_of(store, a_run("loss"), prefixes=prefixes)
    assert without_prefix["draw"].isna().all()
    expected = {}
    for draw in (0, 1):
        expected["con_recall", "gamma=0.3;shots=2", draw] = 20
        expected["con_recall", "gamma=1;shots=2", draw] = 20
        expected["recall", "shots=2", draw] = 20
        expected["recall", "shots=7", draw] = 20
    assert scores.groupby(["method", "setting", "draw"]).size().to_dict() == expected
    for row in scores.itertuples():
        params = dict(part.split("=") for part in row.setting.split(";"))
        shots = params["shots"]
        assert row.shots_used == int(shots)
        nonmember = mean_logprob(store, row.id, f"nonmember {row.draw} {shots}")
        member = mean_logprob(store, row.id, f"member {row.draw} {shots}")
        gamma = float(params.get("gamma", 0))
        expected = (nonmember - gamma * member) / mean_logprob(store, row.id)
        assert row.score == pytest.approx(expected)


def test_shots_used_is_that_of_the_shorter_prefix_and_without_a_shot_there_is_no_score(
    store, log_lines
):
    store.add(prefix="nonmember", draw=0, shots=7, changes={"32-03": {"shots_used": 5}})
    store.add(prefix="member", draw=0, shots=7,
              changes={"32-03": {"shots_used": 6}, "32-04": {"shots_used": 4},
                       "32-05": {"skipped": NO_SHOT}})  # fmt: skip
    scores = score_of(
        store, a_run("recall", "con_recall"), prefixes=drawn(store.benchmark)
    )
    of_seven = scores[scores["setting"].isin(["shots=7", "gamma=0.5;shots=7"])]
    used = of_seven.set_index(["method", "id"])["shots_used"]
    assert used["recall", "32-03"] == 5
    assert used["recall", "32-04"] == 7
    assert used["recall", "32-05"] == 7
    assert used["con_recall", "32-02"] == 7
    assert used["con_recall", "32-03"] == 5
    assert used["con_recall", "32-04"] == 4
    assert ("con_recall", "32-05") not in used.index
    assert (
        "con_recall: no score for 1 texts of made_up: no shot of its prefix fits"
        in log_lines.text
    )


def test_zero_access_takes_the_models_own_shots_for_the_members(store):
    store.add(prefix="nonmember", draw=0, shots=7).add(
        prefix="zero_access", draw=0, shots=7
    )
    entry = {"method": "con_recall", "parameters": {"access": "zero", "gamma": 0.5}}
    scores = score_of(store, a_run(entry), prefixes=drawn(store.benchmark)).set_index(
        "id"
    )
    assert set(scores["setting"]) == {"gamma=0.5;shots=7;access=zero"}
    for id, value in scores["score"].items():
        contrast = mean_logprob(store, id, "nonmember 0 7") - 0.5 * mean_logprob(
            store, id, "zero_access 0 7"
        )
        assert value == pytest.approx(contrast / mean_logprob(store, id))


def test_inner_start_reads_its_own_prefix_passes(store):
    store.add(prefix="nonmember", draw=0, shots=7, inner_start=True)
    prefixes = drawn(store.benchmark)
    assert (
        len(score_of(store, a_run("recall", inner_start=True), prefixes=prefixes)) == 20
    )
    assert len(score_of(store, a_run("recall"), prefixes=prefixes)) == 0


def test_prefix_similarity_ranks_by_likeness_to_the_shots_of_its_draw(store):
    """Members say aye and non-members nay, so the control tells them apart without a
    model."""
    run = a_run(
        {"method": "prefix_similarity", "parameters": {"shots": 2}}, draws=[0, 1]
    )
    scores = score_of(store, run, prefixes=drawn(store.benchmark))
    assert set(scores["setting"]) == {"shots=2"}
    assert set(scores["shots_used"]) == {2}
    labels = store.benchmark.set_index("text_id")["label"]
    for _, of_draw in scores.groupby("draw"):
        member = of_draw["id"].map(labels).eq(1)
        assert of_draw.loc[member, "score"].min() > of_draw.loc[~member, "score"].max()
    first, second = (
        of_draw.set_index("id")["score"] for _, of_draw in scores.groupby("draw")
    )
    assert not np.allclose(first, second[first.index])


def test_zlib_and_blind_read_the_texts_as_the_view_has_them(store):
    store.add(view="delete-20").add(
        view="paraphrase", changes={"32-03": {"absent": True}}
    )
    texts = store.benchmark.set_index("text_id")["text"]
    stored = {id: [f"{text} indeed so"] for id, text in texts.items() if id != "32-03"}
    run = a_run("zlib", "blind", views=["original", "delete-20", "paraphrase"])
    frame = score_of(store, run, views={"paraphrase": stored})
    scores = frame.set_index(["method", "view", "id"])["score"]
    for id, text in texts.items():
        shorter = VIEWS["delete-20"].variants(text, seed_of("delete-20", id))[0]
        expected = mean_logprob(store, id) / len(zlib.compress(shorter.encode()))
        assert scores["zlib", "delete-20", id] == pytest.approx(expected)
    paraphrase = stored["32-04"][0]
    expected = mean_logprob(store, "32-04") / len(zlib.compress(paraphrase.encode()))
    assert scores["zlib", "paraphrase", "32-04"] == pytest.approx(expected)
    of_blind = scores["blind"].groupby("view").size().to_dict()
    assert of_blind == {"delete-20": 20, "original": 20, "paraphrase": 19}
