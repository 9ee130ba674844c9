"""Artifacts of methods with prefixes, on real metrics of made-up scores: sets, draws,
subsets, variants, lines."""

import made_up_prefixes as made_up
import made_up_results
import numpy as np
import pandas as pd
import pytest
from sklearn.metrics import roc_auc_score

from pretrace.evaluation.averages import average, difference, over_draws
from pretrace.evaluation.scores import evaluation_sets
from pretrace.methods import METHODS
from pretrace.render.estimates import with_stars
from pretrace.render.figures import lines
from pretrace.render.frames import long_frame
from pretrace.render.results import Results
from pretrace.runtime.errors import InputError
from pretrace.runtime.files import read_parquet
from pretrace.views.prefixes import draw_prefixes

PAIR = (made_up.MODEL, made_up.BENCHMARK)
FIGURES = {
    "method_lines": {"options": {"x": "shots"}},
    "score_densities": {"methods": ["loss", "recall", "con_recall"]},
    "prefix_shifts": {},
    "loss_curves": {},
    "roc": {},
}


@pytest.fixture(scope="module")
def results(tmp_path_factory):
    return made_up.make_study(tmp_path_factory.mktemp("study"))


@pytest.fixture(scope="module")
def metrics(results):
    return read_parquet(results.path("metrics", PAIR))


def draw(renderer: str, results: Results, **other):
    """What a renderer gives; of a table of methods, at held-out settings unless
    told."""
    usual = dict(FIGURES.get(renderer, {}))
    if renderer == "method_table":
        usual["selection"] = ["held_out"]
    return made_up_results.draw(made_up.artifact(renderer, **usual | other), results)


def only(metrics: pd.DataFrame, **wanted) -> pd.DataFrame:
    """The rows with these values, unless told held-out AUCs of the first draw without
    the texts of prefixes."""
    usual = {
        "metric": "auc",
        "selection": "held_out",
        "evaluation_set": "without_prefixes",
        "draw": 0,
    }
    for key, value in (usual | wanted).items():
        metrics = metrics[metrics[key] == value]
    return metrics


def test_a_star_over_draws_holds_in_every_draw():
    def row(method: str, gain: float, p: float) -> dict:
        return {
            "panel": 0,
            "metric": "auc",
            "selection": "held_out",
            "method": method,
            "setting": "",
            "marks": "",
            "value": 0.5,
            "low": None,
            "high": None,
            "baseline": "loss",
            "difference": gain,
            "p": p,
        }

    first = [row(method, 0.1, 0.01) for method in "abcd"]
    second = [row("a", 0.1, 0.04), row("b", 0.1, 0.2), row("c", -0.1, 0.01)]
    records = []
    merged = []
    for record in over_draws([*first, *second], 2):
        merged.append((record["method"], record["difference"], record["p"]))
        records.append(record | {"average": "", "control": False})
    assert merged == [("a", 0.1, 0.04), ("b", 0.1, 0.2), ("c", -0.1, 0.01)]
    frame = with_stars(long_frame(records))
    assert frame["p_holm"].tolist() == pytest.approx([0.08, 0.2, 0.03])
    assert not frame["star"].any()
    alone = with_stars(frame[frame["method"] == "a"])
    assert alone[["p_holm", "star"]].values.tolist() == [[0.04, True]]


@pytest.mark.parametrize("renderer", ["headline", "blind_audit"])
def test_methods_with_shots_are_shown_as_the_mean_over_all_draws(
    renderer, results, metrics
):
    frame = draw(renderer, results).frame
    draws = {"blind": 1, "con_recall": 2, "loss": 1, "recall": 2}
    assert frame.groupby("method")["draws"].first().to_dict() == draws
    for row in frame[frame["draws"] == 2].to_dict("records"):
        own = {"method": row["method"], "subset": row["subset"]}
        first = only(metrics, draw=0, **own)
        second = only(metrics, draw=1, **own)
        drawn = pd.concat([first, second])
        drawn = drawn[~drawn["setting"].str.contains("access")]
        assert row["value"] == pytest.approx(drawn["value"].mean())
        assert row["sd"] == pytest.approx(drawn["value"].std())
        assert row["low"] == drawn["low"].min()


@pytest.mark.parametrize(
    ("renderer", "methods", "said"),
    [
        ("headline", [], "Con-ReCall and ReCall: mean over all 2 draws of shots."),
        ("blind_audit", [], "Con-ReCall and ReCall: mean over all 2 draws of shots."),
        ("method_table", [], "Con-ReCall and ReCall: the first of 2 draws of shots."),
        ("method_table", ["loss", "recall"], "ReCall: the first of 2 draws of shots."),
        ("method_table", ["loss"], None),
        ("roc", [], "Con-ReCall and ReCall: the first of 2 draws of shots."),
    ],
)
def test_it_is_said_which_draws_of_shots_are_shown(
    results, tmp_path, renderer, methods, said
):
    given = made_up.artifact(renderer, **FIGURES.get(renderer, {}), methods=methods)
    files = made_up_results.render(given, results, tmp_path)
    caption = files.get("txt") or files["md"]
    words = caption.read_text(encoding="utf-8").replace("\\", "")
    if said:
        assert said in words
    else:
        assert "draws of shots" not in words


def test_the_t_test_of_the_papers_is_marked_at_default_settings_where_asked(results):
    table = draw(
        "method_table",
        results,
        baseline="blind",
        selection=["default"],
        options={"published_test": True},
    )
    tests = only(
        read_parquet(results.path("tests", PAIR)),
        selection="default",
        test="t_as_published",
        baseline="blind",
    )
    tests = tests[tests["subset"] == ""].set_index("method")
    tests["is_marked"] = (tests["p"] < 0.05) & (tests["difference"] > 0)
    assert tests["is_marked"].any()
    rows = table.frame[table.frame["method"] != "blind"]
    assert set(rows["method"]) <= set(tests.index)
    for row in rows.itertuples():
        test = tests.loc[row.method]
        assert row.p_as_published == test["p"]
        assert ("t_as_published" in row.marks) == test["is_marked"]
    assert any("a t-test over ten resamples" in note for note in table.notes)


def test_difference_of_independent_intervals_is_the_recovered_variance():
    value, low, high = difference((0.7, 0.6, 0.75), (0.5, 0.45, 0.58))
    assert value == pytest.approx(0.2)
    assert low == pytest.approx(0.2 - np.hypot(0.1, 0.08))
    assert high == pytest.approx(0.2 + np.hypot(0.05, 0.05))
    _, low, high = difference((0.7, None, None), (0.5, 0.4, 0.6))
    assert low is None
    assert high is None


def test_an_average_over_subsets_has_an_interval_and_one_over_draws_a_standard_deviation():
    values = [(0.5, 0.4, 0.6), (0.7, 0.65, 0.8)]
    low = 0.6 - np.hypot(0.1, 0.05) / 2
    high = 0.6 + np.hypot(0.1, 0.1) / 2
    assert average(values, "subset") == (pytest.approx((0.6, low, high)), None)
    estimate, spread = average(values, "draw")
    assert estimate == (pytest.approx(0.6), None, None)
    assert spread == pytest.approx(np.std([0.5, 0.7], ddof=1))
    without_interval = [(0.5, 0.4, 0.6), (0.75, None, None)]
    assert average(without_interval, "subset") == ((0.625, None, None), None)
    of_models = [(0.5, 0.4, 0.6), (0.75, 0.6, 0.8)]
    assert average(of_models, "model") == ((0.625, None, None), None)
    with_a_gap = [(0.5, 0.4, 0.6), (float("nan"), None, None)]
    (value, low, high), spread = average(with_a_gap, "draw")
    assert np.isnan(value)
    assert low is high is spread is None


def test_roc_curves_are_of_the_texts_without_prefixes(results):
    texts = made_up.texts()
    prefixes = draw_prefixes(texts, pool=made_up.POOL, draws=2, seed=3)
    for chosen in evaluation_sets(texts, prefixes):
        if (chosen.name, chosen.draw) == ("without_prefixes", 0):
            ids = chosen.ids
    assert len(ids) == len(texts) - 2 * made_up.POOL * len(made_up.SUBSETS)
    scores = made_up.scores(texts)
    loss = scores[(scores["method"] == "loss") & scores["id"].isin(ids)]
    loss = loss.merge(texts, left_on="id", right_on="text_id")
    frame = draw("roc", results).frame
    curve = frame[frame["method"] == "loss"]
    auc = roc_auc_score(loss["label"].astype(int), loss["score"])
    assert np.trapezoid(curve["tpr"], curve["fpr"]) == pytest.approx(auc)


def with_table(results, name, frame, folder):
    """The results with another table in the place of the one of this name."""
    path = folder / f"{name}.parquet"
    frame.to_parquet(path)
    return made_up_results.beside(results, name, {PAIR: path})


@pytest.mark.parametrize(("p", "starred"), [(0.025, True), (0.0255, False)])
def test_pairs_are_called_different_by_holm_over_the_column(
    results, tmp_path, p, starred
):
    """Two of the three methods of the table have a test against the third, whatever
    else was evaluated."""
    tests = read_parquet(results.path("tests", PAIR)).assign(p=p)
    changed = with_table(results, "tests", tests, tmp_path)
    shown = draw("pairwise_tests", changed, methods=["loss", "recall", "con_recall"])
    stars = set()
    for row in shown.blocks[0].rows:
        stars |= {cell.star for cell in row.cells}
    assert (True in stars) is starred
    assert shown.frame[["low", "high", "p", "p_holm"]].notna().all(axis=None)


@pytest.mark.parametrize(
    ("renderer", "given", "said"),
    [
        ("method_lines", {"options": {"x": "eps"}},
         "no method that was scored here has a parameter 'eps'"),
        ("method_lines", {"options": {"x": "length"}},
         "no two of its panels differ in length alone"),
        ("prefix_shifts", {"panels": [made_up.PANEL | {"draw": 3}]},
         "no row of shift; there are: .* draw 0;"),
        *((name, {"selection": ["held_out"]}, "'held_out' has a setting for each fold")
          for name in ("roc", "score_densities", "method_lines")),
    ],
)  # fmt: skip
def test_what_cannot_be_drawn_is_an_error(renderer, given, said, results):
    with pytest.raises(InputError, match=said):
        draw(renderer, results, **given)


def test_lines_may_be_tuned_at_every_place_as_papers_print_them(results, metrics):
    tuned = draw("method_lines", results, selection=["best_on_test"]).frame
    plain = metrics[~metrics["setting"].str.contains("access")]
    grid = only(plain, method="con_recall", selection="grid", subset="")
    parameters = grid["setting"].str.extract(r"^gamma=(.+);shots=(\d+)$").astype(float)
    grid = grid.assign(gamma=parameters[0], shots=parameters[1])
    inside = grid[grid["gamma"].isin(METHODS["con_recall"].grid["gamma"])]
    highest = inside.groupby("shots")["value"].max()
    lines_drawn = tuned[tuned["drawn"] == "line"].set_index("x_value")
    con = lines_drawn[lines_drawn["method"] == "con_recall"]
    assert con["value"].to_dict() == highest.to_dict()
    assert con[["low", "high"]].notna().all(axis=None)
    assert con["setting"].ne("gamma=0.5;shots=7").any()


def test_with_more_methods_than_a_facet_holds_each_has_axes_of_its_own(
    results, monkeypatch
):
    monkeypatch.setattr(lines, "MOST_LINES", 1)
    drawing = draw("method_lines", results)
    named = []
    for axis in drawing.figure.axes:
        if axis.get_visible():
            named.append(axis.get_title(loc="left")[4:])
    assert named == ["Loss", "ReCall", "Con-ReCall", "Bag of words (no model)"]
    assert drawing.figure.get_suptitle() == "tiny-small on eras, 32 words"


def test_shifts_have_axes_for_each_kind_of_prefix_that_was_read(results, tmp_path):
    both = read_parquet(results.path("shift", PAIR))
    one = with_table(results, "shift", both[both["prefix"] == "nonmember"], tmp_path)
    for given, kinds in ((results, ["members", "non-members"]), (one, ["non-members"])):
        axes = draw("prefix_shifts", given).figure.axes
        titles = [axis.get_title(loc="left").split("\n")[1] for axis in axes]
        assert titles == [f"prefix of {kind}" for kind in kinds]


def test_what_has_no_prefix_draw_falls_back_to_all_texts_and_says_so(
    results, metrics, tmp_path
):
    of_all_texts = metrics[metrics["evaluation_set"] == "all"]
    shown = draw("method_table", with_table(results, "metrics", of_all_texts, tmp_path))
    assert "evaluation set all (all texts)" in shown.notes[0]
    labels = {row.label for row in shown.blocks[0].rows}
    assert labels == {"Loss", "Bag of words (no model)"}
