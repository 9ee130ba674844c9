"""Default, best on test and held out: what is chosen, where it is measured, and that nothing leaks."""

import numpy as np
import pandas as pd
import pytest
from evaluation_tables import LABEL, auc, noise, only, run, scores, texts

from pretrace.evaluation import selection
from pretrace.evaluation.metrics import METRICS
from pretrace.evaluation.scores import EvaluationSet
from pretrace.questions import known


def test_every_setting_has_a_grid_row_with_an_interval():
    columns = {("tuned", f"k={k}"): noise(200, seed=k) for k in (1, 2, 3)} | {("plain", ""): noise(200)}
    metrics, _ = run(columns)
    grid = metrics[metrics["selection"] == "grid"]
    assert sorted(grid.groupby(["method", "setting"]).size().items()) == [
        (("plain", ""), 7), (("tuned", "k=1"), 7), (("tuned", "k=2"), 7), (("tuned", "k=3"), 7),
    ]  # fmt: skip
    assert metrics[["low", "high"]].notna().all(axis=None)
    row = only(grid, method="tuned", setting="k=3", metric="auc")
    assert row["value"] == pytest.approx(auc(noise(200, seed=3), LABEL))
    assert (row["n_members"], row["n_nonmembers"]) == (100, 100)


def edge_marks(tried, best):
    """Whether best on test and held out are marked where `best` of the values of k that were tried tells all."""
    columns = {("tuned", f"k={k}"): noise(200, seed=k) + (9.0 * LABEL if k == best else 0) for k in tried}
    metrics, _ = run(columns)
    of = metrics[metrics["metric"] == "auc"].set_index("selection")
    marked = {
        name: "at_grid_edge" in of.loc[name, "marks"] for name in ("default", "best_on_test", "held_out")
    }
    assert not marked.pop("default")
    assert not of.loc["grid", "marks"].str.contains("edge").any()
    return list(marked.values())


@pytest.mark.parametrize(
    ("tried", "best", "marked"),
    [
        ((1, 2, 3, 4), 1, True),
        ((1, 2, 3, 4), 4, True),
        ((1, 2, 3, 4), 3, False),
        ((1, 3), 3, False),  # two values have no inside
        ((2, 5, 20), 20, False),  # the parameter's range ends there
    ],
)
def test_a_choice_at_an_edge_that_a_wider_grid_could_pass_is_marked(tried, best, marked):
    assert edge_marks(tried, best) == [marked, marked]


@pytest.mark.parametrize(("first", "rest", "chosen"), [(3, 1, "33311"), (1, 3, "11133")])
def test_held_out_is_marked_where_more_than_half_of_the_folds_choose_an_edge(first, rest, chosen):
    """One setting tells the classes apart in folds 0 to 2, another, and better, in 3 and 4; k=1 is the edge."""
    benchmark = texts(LABEL)
    first_folds = (benchmark["fold"] < 3).to_numpy()
    signal = {rest: 2.0 * first_folds, first: 4.0 * ~first_folds, 9: 0.0}
    columns = {("tuned", f"k={k}"): noise(200, seed=k) + of * LABEL for k, of in signal.items()}
    row = only(run(columns, benchmark)[0], selection="held_out", metric="auc")
    assert row["setting"] == "|".join(f"k={k}" for k in chosen)
    assert ("at_grid_edge" in row["marks"]) == (chosen.count("1") > 2)


def test_limits_of_ranges_are_no_edges():
    """A share of all tokens, all percentiles and one shot have nothing beyond; a weight of 1 has."""
    limits = {
        ("min_k", "k", 1.0): True, ("min_k", "k", 0.1): False, ("surp", "percentile", 100): True,
        ("surp", "percentile", 10): False, ("surp", "eps", 10.0): False, ("recall", "shots", 1): True,
        ("recall", "shots", 10): False, ("con_recall", "gamma", 0.1): False,
        ("con_recall", "gamma", 1.0): False, ("dc_pdd", "a", 0.001): False, ("completion", "k", 50): False,
    }  # fmt: skip
    assert {at: known.is_limit(*at) for at in limits} == limits


def test_default_is_the_methods_or_the_first_that_the_run_has():
    for tried, default in (((10, 2, 3), "k=2"), ((10, 3), "k=3")):
        metrics, _ = run({("tuned", f"k={k}"): noise(200, seed=k) for k in tried})
        assert only(metrics, selection="default", metric="auc")["setting"] == default


def test_a_setting_scored_on_other_texts_than_the_default_is_not_chosen(log_lines):
    """A sweep over a subset, as of shots: the best number of all, on a quarter of the texts."""
    perfect = np.where(np.arange(len(LABEL)) % 8 < 2, LABEL * 10.0, np.nan)
    values = {2: noise(200), 3: perfect, 4: noise(200, seed=4)}
    metrics, _ = run({("tuned", f"k={k}"): of for k, of in values.items()})
    assert only(metrics, selection="grid", setting="k=3", metric="auc")["value"] == 1
    for selected in ("default", "best_on_test", "held_out"):
        row = only(metrics, selection=selected, metric="auc")
        assert (row["n_members"], row["n_nonmembers"]) == (100, 100)
        assert "k=3" not in row["setting"]
    assert "tuned: 1 of 3 settings are not candidates" in log_lines.text


def test_best_on_test_is_best_for_each_metric():
    metrics, _ = run({("tuned", f"k={k}"): noise(200, seed=k) + 0.2 * LABEL for k in range(1, 9)})
    for metric in METRICS:
        of_metric = metrics[metrics["metric"] == metric]
        grid = of_metric[of_metric["selection"] == "grid"].set_index("setting")["value"]
        best = only(of_metric, selection="best_on_test")
        assert best["value"] == grid.max() == grid[best["setting"]]
    assert metrics.loc[metrics["selection"] == "best_on_test", "setting"].nunique() > 1


def test_a_variant_off_the_grid_chooses_for_itself_and_enters_no_test():
    variant = {("tuned", f"k={k};upper=0"): LABEL * (10.0 if k == 3 else 0.1) + noise(200) for k in (2, 3)}
    metrics, tests = run({("tuned", "k=2"): noise(200), ("other", ""): noise(200, seed=1)} | variant)
    best = metrics[(metrics["selection"] == "best_on_test") & (metrics["metric"] == "auc")]
    assert set(best["setting"]) == {"k=2", "", "k=3;upper=0"}
    held_out = metrics[(metrics["selection"] == "held_out") & metrics["setting"].str.contains("upper")]
    assert set(held_out.loc[held_out["metric"] == "auc", "setting"]) == {"|".join(["k=3;upper=0"] * 5)}
    assert held_out[["low", "high"]].notna().all(axis=None)
    assert not tests["setting"].str.contains("upper").any()
    assert set(tests["baseline"]) == {"chance", "tuned", "other"}


def test_values_beyond_the_methods_own_grid_are_never_chosen():
    beyond = {("tuned", "k=-1"): LABEL * 10.0, ("tuned", "k=0"): LABEL * 10.0}
    metrics, _ = run({("tuned", "k=2"): noise(200), ("tuned", "k=4"): noise(200, seed=1)} | beyond)
    chosen = metrics.loc[metrics["selection"] != "grid", "setting"].str.split("|").explode()
    assert set(chosen) <= {"k=2", "k=4"}
    assert {"k=-1", "k=0"} <= set(metrics.loc[metrics["selection"] == "grid", "setting"])
    assert only(run(beyond)[0], selection="default", metric="auc")["setting"] == "k=-1"


def test_held_out_is_chosen_on_other_folds_and_measured_inside_each():
    fold = np.arange(200) * 7 % 5
    columns = {("tuned", f"k={k}"): noise(200, seed=k) + 0.3 * LABEL for k in range(1, 7)}
    benchmark = texts(LABEL, fold=fold)
    metrics, _ = run(columns, benchmark)
    held_out = only(metrics, selection="held_out", metric="auc")
    chosen, numerator, weight = [], 0.0, 0
    for one in range(5):
        inside = fold == one
        by_setting = {setting: auc(v[~inside], LABEL[~inside]) for (_, setting), v in columns.items()}
        chosen.append(max(by_setting, key=by_setting.__getitem__))
        pairs = (LABEL[inside] == 1).sum() * (LABEL[inside] == 0).sum()
        numerator += pairs * auc(columns["tuned", chosen[-1]][inside], LABEL[inside])
        weight += pairs
    assert held_out["setting"] == "|".join(chosen)
    assert held_out["value"] == pytest.approx(numerator / weight)


def test_held_out_rates_are_chosen_by_that_rate():
    """k=1 has the better AUC, k=2 the better TPR at low FPR, by much in every fold."""
    broad = noise(1000) + (np.arange(1000) % 2)
    narrow = noise(1000, seed=1) + 8.0 * (np.arange(1000) % 10 == 1)
    benchmark = texts(np.arange(1000) % 2, fold=np.arange(1000) % 50 // 10)
    metrics, _ = run({("tuned", "k=1"): broad, ("tuned", "k=2"): narrow}, benchmark)
    chosen = metrics[metrics["selection"] == "held_out"].set_index("metric")["setting"]
    assert chosen["auc"] == "|".join(["k=1"] * 5)
    assert chosen["tpr_at_1_fpr"] == chosen["tpr_at_1_fpr_strict"] == "|".join(["k=2"] * 5)


def test_held_out_never_pools_scores_of_different_folds():
    """Each fold has a perfect scale of its own: non-members of one outscore members of the one before."""
    fold = np.arange(200) % 10 // 2
    shifted = LABEL + 10.0 * fold
    benchmark = texts(LABEL, fold=fold)
    metrics, tests = run({("plain", ""): shifted, ("tuned", "k=1"): shifted}, benchmark)
    assert only(metrics, method="plain", selection="default", metric="auc")["value"] < 0.65
    for method in ("plain", "tuned"):
        row = only(metrics, method=method, selection="held_out", metric="auc")
        assert (row["value"], row["low"], row["high"]) == (1, 1, 1)
    row = only(tests, method="tuned", baseline="plain", selection="held_out", metric="auc")
    assert (row["difference"], row["low"], row["high"], row["p"]) == (0, 0, 0, 1)


def leaked_auc(seed):
    """Settings of noise, but each fold has one that is perfect there: only a peek at the fold finds it."""
    fold = np.arange(200) % 10 // 2
    rng = np.random.default_rng(seed)
    columns = {("tuned", f"k={k}"): rng.normal(size=200) for k in range(1, 6)}
    for one, values in enumerate(columns.values()):
        values[fold == one] = LABEL[fold == one] * 8.0 + rng.normal(size=(fold == one).sum()) - 4
    benchmark = texts(LABEL, fold=fold)
    metrics, _ = run(columns, benchmark, resamples=10)
    return only(metrics, selection="held_out", metric="auc")["value"]


def profits_from_leaks():
    return np.mean([leaked_auc(seed) for seed in range(8)]) > 0.6


def test_a_setting_that_is_perfect_on_the_test_fold_alone_brings_nothing(monkeypatch):
    assert not profits_from_leaks()
    leaky = lambda units: (units.fold[:, None] == np.array(units.folds)).astype(float)  # noqa: E731
    monkeypatch.setattr(selection, "training_weights", leaky)
    assert profits_from_leaks()


def test_a_fold_without_a_class_has_no_weight():
    fold = np.where(LABEL == 1, np.arange(200) % 10 // 2, np.arange(200) % 8 // 2)  # no non-member in fold 4
    values = noise(200) + LABEL
    benchmark = texts(LABEL, fold=fold)
    row = only(run({("plain", ""): values}, benchmark)[0], selection="held_out", metric="auc")
    sizes = [((LABEL == 1) & (fold == f), (LABEL == 0) & (fold == f)) for f in range(4)]
    weights = [m.sum() * n.sum() for m, n in sizes]
    inside = [auc(values[fold == f], LABEL[fold == f]) for f in range(4)]
    assert row["value"] == pytest.approx(np.average(inside, weights=weights))
    assert row["n_members"] == sum(m.sum() for m, _ in sizes)
    assert row["setting"] == ""


def test_ties_between_settings_go_to_the_default():
    same = noise(200)
    metrics, _ = run({("tuned", f"k={k}"): same for k in (1, 2, 3)})
    assert set(metrics.loc[metrics["selection"] == "best_on_test", "setting"]) == {"k=2"}
    assert set(metrics.loc[metrics["selection"] == "held_out", "setting"]) == {"k=2|k=2|k=2|k=2|k=2"}


def test_where_nothing_can_be_chosen_the_default_stands_and_is_logged(log_lines):
    columns = {("tuned", "k=1"): LABEL * 1.0, ("tuned", "k=2"): noise(200)}
    metrics, _ = run(columns, texts(LABEL, fold=np.zeros(200)))
    assert only(metrics, selection="held_out", metric="auc")["setting"] == "k=2"
    assert "in 1 of 1 folds the other folds lack a class" in log_lines.text


def test_shots_are_chosen_on_the_other_folds_for_each_draw():
    """Three shots tell most in the first draw and seven in the second; a draw's texts are its own set."""
    benchmark = texts(LABEL)
    ids = benchmark["text_id"]
    best = {0: 3, 1: 7}
    values = {
        (draw, shots): noise(200, seed=10 * draw + shots) + (1.5 if shots == best[draw] else 0.2) * LABEL
        for draw in best for shots in (1, 3, 7)
    }  # fmt: skip
    table = pd.concat([
        scores(benchmark, {("recall", f"shots={shots}"): of}, draw=draw) for (draw, shots), of in values.items()
    ])  # fmt: skip
    sets = [EvaluationSet("without_prefixes", draw, frozenset(ids[20 * (draw + 1) :])) for draw in best]
    metrics, _ = run(table, benchmark, settings=known, evaluation_sets=sets)
    for draw, shots in best.items():
        row = only(metrics, method="recall", selection="held_out", metric="auc", draw=draw)
        assert row["setting"] == "|".join([f"shots={shots}"] * 5)
        left = np.arange(200) >= 20 * (draw + 1)
        folds = [left & (benchmark["fold"] == fold) for fold in range(5)]
        inside = [auc(values[draw, shots][fold], LABEL[fold]) for fold in folds]
        pairs = [LABEL[fold].sum() * (1 - LABEL[fold]).sum() for fold in folds]
        assert row["value"] == pytest.approx(np.average(inside, weights=pairs))
        assert only(metrics, selection="default", metric="auc", draw=draw)["setting"] == "shots=7"
