"""Figures: bytes that do not change, what is drawn, marked and hatched."""

import hashlib
from pathlib import Path

import made_up_results as made_up
import numpy as np
import pandas as pd
import pytest
from matplotlib.patches import Rectangle

from pretrace.methods import METHODS
from pretrace.questions.known import is_control
from pretrace.render.figures.drawing import legend_columns, letter, line_styles
from pretrace.render.names import METHOD_LABELS
from pretrace.render.registry import RENDERERS, check, outputs, render, renderer
from pretrace.render.results import Results
from pretrace.runtime.errors import InputError

SETTINGS = {
    "CLD": "a=0.01;upper_bound=false;first_occurrence=false",
    "+LUP": "a=0.01;first_occurrence=false",
    "+SFO": "a=0.01",
}
ABLATION = made_up.artifact("ablation_bars", options={"method": "dc_pdd", "settings": SETTINGS})
HEATMAP = made_up.artifact("heatmap", options={"method": "surp", "x": "eps", "y": "percentile"})
ROC = made_up.artifact("roc")
SCATTER = made_up.artifact("entropy_scatter")


@pytest.fixture(scope="module")
def results(tmp_path_factory: pytest.TempPathFactory) -> Results:
    return made_up.make_study(tmp_path_factory.mktemp("study"))


@pytest.fixture(scope="module")
def heat(results: Results):
    return made_up.draw(HEATMAP, results)


@pytest.mark.parametrize(
    "artifact", [ABLATION, HEATMAP, ROC, SCATTER], ids=lambda artifact: artifact["renderer"]
)
def test_equal_data_give_equal_bytes_without_dates(artifact, results: Results, tmp_path: Path):
    digests = []
    for name in ("first", "second"):
        files = outputs(artifact, tmp_path / name)
        made_up.draw(artifact, results).write(files)
        digests.append(
            {suffix: hashlib.sha256(path.read_bytes()).hexdigest() for suffix, path in files.items()}
        )
    assert digests[0] == digests[1]
    assert set(digests[0]) == {"pdf", "png", "svg", "csv", "txt"}
    assert b"CreationDate" not in files["pdf"].read_bytes()
    assert b"/Type3" not in files["pdf"].read_bytes()
    assert "<dc:date>" not in files["svg"].read_text()


def test_a_user_matplotlibrc_changes_nothing(results: Results, tmp_path: Path):
    import matplotlib as mpl

    files = [outputs(ABLATION, tmp_path / name) for name in ("plain", "own")]
    made_up.draw(ABLATION, results).write(files[0])
    with mpl.rc_context({"font.size": 20, "axes.facecolor": "red", "savefig.dpi": 50}):
        made_up.draw(ABLATION, results).write(files[1])
    assert files[0]["png"].read_bytes() == files[1]["png"].read_bytes()


def test_heatmap_hatches_the_marked_cells_and_no_other(heat):
    axis = heat.figure.axes[0]
    hatched = {(patch.get_x() + 0.5, patch.get_y() + 0.5) for patch in axis.patches if patch.get_hatch()}
    assert hatched == {(x, y) for x in (0, 1) for y in (0, 1, 2)}  # eps 0.5, 1; percentile 10, 20, 30
    assert int(heat.frame["hatched"].sum()) == 6


def test_heatmap_boxes_the_best_and_the_default_and_writes_every_value(heat):
    axis = heat.figure.axes[0]
    boxes = {
        (round(patch.get_x() + 0.45), round(patch.get_y() + 0.45)): patch.get_linestyle()
        for patch in axis.patches
        if isinstance(patch, Rectangle) and not patch.get_hatch()
    }
    assert set(boxes) == {(4, 3), (3, 3)}  # eps 2.5 and 2, percentile 40
    assert boxes[4, 3] != boxes[3, 3]
    best = heat.frame[heat.frame["best"]].iloc[0]
    assert best["setting"] == "eps=2.5;percentile=40"
    assert best["value"] == heat.frame["value"].max()
    assert len([text for text in axis.texts if text.get_text().startswith(".")]) == 30


def test_bars_stand_for_the_named_settings_with_their_intervals(results: Results):
    drawing = made_up.draw(ABLATION, results)
    assert list(drawing.frame["group"]) == list(SETTINGS)
    assert list(drawing.frame["setting"]) == list(SETTINGS.values())
    assert drawing.frame[["low", "high"]].notna().all(axis=None)
    assert drawing.figure.axes[0].get_ylim()[0] == 0


def test_a_setting_that_no_run_scores_is_an_error_that_lists_what_is_there(results: Results):
    artifact = ABLATION | {"options": {"method": "dc_pdd", "settings": {"X": "a=7"}}}
    with pytest.raises(InputError, match=r"does not score dc_pdd with a=7; it scores: a=0.001, a=0.01"):
        made_up.draw(artifact, results)


def test_roc_curves_enclose_the_auc_of_the_metrics(results: Results):
    drawing, scores = made_up.draw(ROC, results), made_up.scores_frame(made_up.SEPARATION, 1)
    for method, of in drawing.frame.groupby("method"):
        area = np.trapezoid(of["tpr"], of["fpr"])
        assert area == pytest.approx(made_up.auc_of(scores, method))
    assert set(drawing.frame["method"]) == set(made_up.SEPARATION)


def test_lines_differ_in_colour_or_dashes_and_a_method_keeps_its_own():
    styles = line_styles(list(METHOD_LABELS))
    shown = [(style.color, str(style.dashes)) for method, style in styles.items() if not is_control(method)]
    assert len(set(shown)) == len(shown)
    assert line_styles(["surp"])["surp"] == styles["surp"]


def test_a_legend_is_as_wide_as_its_figure_allows():
    assert legend_columns(["Loss", "Zlib", "Min-K%", "Blind"], 6.8) == 4
    assert legend_columns(["Loss", "Zlib", "Min-K%", "Blind"], 2.0) == 2
    assert legend_columns(["a very long name of a method"] * 4, 3.3) == 1


def test_tokens_of_few_surprises_are_counted_in_the_title(results: Results):
    curves = pd.read_parquet(results.curves[made_up.MODEL, made_up.BENCHMARK])
    titles = [axis.get_title(loc="left") for axis in made_up.draw(SCATTER, results).figure.axes[:3]]
    assert titles[2] == "(b) surprising tokens\nand their mean by entropy"
    frame = made_up.draw(SCATTER, results).frame
    assert (
        frame.groupby("drawn").size().to_dict()
        == curves[curves["curve"] != "roc"].groupby("curve").size().to_dict()
    )
    shares = frame[frame["drawn"] == "share"].groupby("label")["share"].sum()
    assert shares.between(99.5, 100).all()


def test_axes_are_lettered_beyond_z():
    assert [letter(place) for place in (0, 25, 26, 52)] == ["(a) ", "(z) ", "(aa) ", "(ba) "]


def test_a_control_of_ones_own_is_grey(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setitem(METHODS, "words", METHODS["blind"])
    styles = line_styles(["blind", "words", "loss"])
    assert styles["words"].color == styles["blind"].color != styles["loss"].color
    assert styles["words"].dashes != styles["blind"].dashes


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"renderer": "heatmaps"}, "unknown renderer 'heatmaps': did you mean 'heatmap'?"),
        ({"options": {"method": "surp", "x": "eps"}}, "needs the option 'y'"),
        ({"options": {"method": "surp", "x": "eps", "y": "k", "colour": "red"}}, "has no option 'colour'"),
        ({"panels": []}, "it has no panel"),
        ({"selection": ["heldout"]}, "did you mean 'held_out'?"),
    ],
)
def test_a_wrong_artifact_is_an_error_before_anything_is_read(change, said: str):
    with pytest.raises(InputError) as error:
        check(HEATMAP | change)
    assert said in str(error.value)


def test_every_renderer_has_its_module_and_needs_what_a_study_makes():
    import importlib

    for name in RENDERERS:
        assert callable(getattr(importlib.import_module(renderer(name).module), renderer(name).function))


def test_registry_imports_neither_pandas_nor_matplotlib():
    import subprocess
    import sys

    heavy = "{'pandas', 'matplotlib', 'numpy'} & set(sys.modules)"
    code = f"import sys, pretrace.render.registry; print({heavy} or 'light')"
    scripts = Path(__file__).parents[2] / "scripts"
    done = subprocess.run(
        [sys.executable, "-c", code], cwd=scripts, capture_output=True, text=True, check=True
    )
    assert done.stdout.strip() == "light"


def test_a_failed_artifact_leaves_nothing_behind(results: Results, tmp_path: Path):
    with pytest.raises(InputError):
        render(ROC | {"methods": ["recall"]}, results, tmp_path)
    assert not list(tmp_path.iterdir())


def test_a_panels_own_settings_stand_in_place_of_the_figures(results: Results):
    own = {"CLD": "a=10", "+LUP": "a=0.1", "+SFO": "a=1"}
    panels = [made_up.PANEL, made_up.PANEL | {"label": "own", "settings": own}]
    frame = made_up.draw(ABLATION | {"panels": panels}, results).frame
    assert list(frame["setting"]) == [*SETTINGS.values(), *own.values()]
