"""Lines over a hyperparameter or a length: what is drawn."""

from types import SimpleNamespace

import made_up_prefixes as made_up
import pandas as pd
import pytest

from pretrace.methods import METHODS
from pretrace.render.figures.drawing import Drawing
from pretrace.render.figures.lines import facet_over, over_x
from pretrace.render.results import Results
from pretrace.runtime.errors import InputError
from pretrace.runtime.files import read_parquet


@pytest.fixture(scope="module")
def results(tmp_path_factory: pytest.TempPathFactory) -> Results:
    return made_up.make_study(tmp_path_factory.mktemp("study"))


def draw(results: Results, **other) -> Drawing:
    return over_x(made_up.artifact("method_lines", options={"x": "shots"}) | other, results)


def test_lines_over_shots_are_the_grid_and_others_are_level(results: Results):
    drawing = draw(results)
    lines = drawing.frame[drawing.frame["drawn"] == "line"]
    assert set(lines["method"]) == {"recall", "con_recall"}
    assert set(drawing.frame.loc[drawing.frame["drawn"] == "level", "method"]) == {"loss", "blind"}
    con = lines[lines["method"] == "con_recall"]
    assert list(con["setting"]) == [f"gamma=0.5;shots={shots}" for shots in made_up.SHOTS]
    assert con[["low", "high"]].notna().all(axis=None)
    metrics = read_parquet(results.metrics[made_up.MODEL, made_up.BENCHMARK])
    chosen = {
        "method": "recall",
        "setting": "shots=3",
        "selection": "grid",
        "subset": "",
        "metric": "auc",
        "draw": 0,
    }
    at_setting = (metrics[list(chosen)] == pd.Series(chosen)).all(axis=1)
    recall = metrics[at_setting & metrics["evaluation_set"].eq("without_prefixes")].squeeze()
    at_3 = lines[(lines["method"] == "recall") & (lines["x_value"] == 3)].iloc[0]
    assert (at_3["value"], at_3["low"]) == (recall["value"], recall["low"])


def test_con_recall_without_weight_of_members_is_recall(results: Results):
    drawing = draw(
        results,
        methods=["recall", "con_recall"],
        options={"x": "gamma", "vertical": {0: "ReCall"}},
    )
    frame = drawing.frame.set_index(["method", "x_value"])
    assert frame.loc[("con_recall", 0.0), "value"] == pytest.approx(
        float(drawing.frame.loc[drawing.frame["method"] == "recall", "value"].iloc[0])
    )
    assert [text.get_text() for text in drawing.figure.axes[0].texts] == ["ReCall"]


def test_a_parameter_that_no_method_has_is_an_error(results: Results):
    with pytest.raises(InputError, match="no method has a parameter 'eps'"):
        draw(results, options={"x": "eps"})


def test_lines_over_lengths_need_panels_that_differ_in_length_alone(results: Results):
    with pytest.raises(InputError, match="no two of its panels differ in length alone"):
        draw(results, options={"x": "length"})


def selected(value_of):
    """Results whose one method, `loss`, has this value on a panel."""
    keys = dict.fromkeys(("setting", "n_members", "n_nonmembers", "low", "high", "marks"))
    return SimpleNamespace(
        selected=lambda artifact, panel, selection: {"loss": keys | {"value": value_of(panel)}}
    )


def test_lines_over_subsets_keep_the_order_of_the_panels():
    panels = [made_up.PANEL | {"subset": subset} for subset in ("1x", "3x", "10x")]
    found = selected(lambda panel: len(panel["subset"]) / 10)
    facet = facet_over(made_up.artifact("method_lines"), found, "subset", panels)
    assert facet.ticks == {0.0: "1x", 1.0: "3x", 2.0: "10x"}
    assert list(facet.frame["value"]) == [0.2, 0.2, 0.3]
    assert facet.title == f"{made_up.MODEL} on {made_up.BENCHMARK}, {panels[0]['length']} words"


def test_lines_over_lengths_go_from_the_shortest_to_the_longest():
    lengths = (128, 32, 64)
    panels = [made_up.PANEL | {"length": length} for length in lengths]
    found = selected(lambda panel: panel["length"] / 1000)
    facet = facet_over(made_up.artifact("method_lines"), found, "length", panels)
    assert list(facet.frame["x"]) == [5.0, 6.0, 7.0]
    assert list(facet.frame["value"]) == [0.032, 0.064, 0.128]
    assert facet.ticks == {5.0: "32", 6.0: "64", 7.0: "128"}


def test_lines_may_be_tuned_at_every_place_as_papers_print_them(results: Results):
    tuned = draw(results, selection=["best_on_test"]).frame
    metrics = read_parquet(results.metrics[made_up.MODEL, made_up.BENCHMARK])
    grid = metrics[
        (metrics[["method", "selection", "subset", "metric", "evaluation_set"]]
         == ["con_recall", "grid", "", "auc", "without_prefixes"]).all(axis=1)
        & metrics["draw"].eq(0) & ~metrics["setting"].str.contains("access")
    ]  # fmt: skip
    settings = grid["setting"].str.extract(r"^gamma=(?P<gamma>.+);shots=(?P<shots>\d+)$").astype(float)
    inside = grid[settings["gamma"].isin(METHODS["con_recall"].grid["gamma"])]
    highest = inside.groupby(settings["shots"])["value"].max()
    con = tuned[(tuned["method"] == "con_recall") & (tuned["drawn"] == "line")].set_index("x_value")
    assert con["value"].to_dict() == highest.to_dict()
    assert con[["low", "high"]].notna().all(axis=None)
    assert con["setting"].ne("gamma=0.5;shots=7").any()


def test_held_out_settings_are_not_drawn_over_a_parameter(results: Results):
    with pytest.raises(InputError, match="'held_out' has a setting for each fold"):
        draw(results, selection=["held_out"])
