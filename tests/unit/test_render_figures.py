"""Figures: bytes that do not change, what is marked and hatched, and what the readings say."""

import hashlib
from pathlib import Path

import made_up_results as made_up
import numpy as np
import pandas as pd
import pytest
from matplotlib.patches import Rectangle

from pretrace.evaluation.resampling import text_weights
from pretrace.methods import METHODS
from pretrace.questions.known import is_control
from pretrace.render.figures import ablation_bars, entropy_scatter, heatmap, roc
from pretrace.render.figures.drawing import letter, line_styles
from pretrace.render.figures.surprising import Tokens, resampled_means, tokens_of
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
    return draw(HEATMAP, results)


def draw(artifact, results: Results):
    if artifact is SCATTER:
        return entropy_scatter.render(SCATTER, results, lambda *_, **__: made_up.pass_table())
    return {"ablation_bars": ablation_bars, "heatmap": heatmap, "roc": roc}[artifact["renderer"]].render(
        artifact, results
    )


@pytest.mark.parametrize(
    "artifact", [ABLATION, HEATMAP, ROC, SCATTER], ids=lambda artifact: artifact["renderer"]
)
def test_equal_data_give_equal_bytes_without_dates(artifact, results: Results, tmp_path: Path):
    digests = []
    for name in ("first", "second"):
        files = outputs(artifact, tmp_path / name)
        draw(artifact, results).write(files)
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
    draw(ABLATION, results).write(files[0])
    with mpl.rc_context({"font.size": 20, "axes.facecolor": "red", "savefig.dpi": 50}):
        draw(ABLATION, results).write(files[1])
    assert files[0]["png"].read_bytes() == files[1]["png"].read_bytes()


def test_heatmap_hatches_the_marked_cells_and_no_other(heat):
    axis = heat.figure.axes[0]
    hatched = {(patch.get_x() + 0.5, patch.get_y() + 0.5) for patch in axis.patches if patch.get_hatch()}
    assert hatched == {(x, y) for x in (0, 1) for y in (0, 1, 2)}  # eps 0.5, 1; percentile 10, 20, 30
    assert int(heat.frame["hatched"].sum()) == 6
    assert "In 6 settings" in heat.reading


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
    drawing = draw(ABLATION, results)
    assert list(drawing.frame["part"]) == list(SETTINGS)
    assert list(drawing.frame["setting"]) == list(SETTINGS.values())
    assert drawing.frame[["low", "high"]].notna().all(axis=None)
    assert drawing.figure.axes[0].get_ylim()[0] == 0
    assert "rises by 0.060" in drawing.reading


def test_a_setting_that_no_run_scores_is_an_error_that_lists_what_is_there(results: Results):
    artifact = ABLATION | {"options": {"method": "dc_pdd", "settings": {"X": "a=7"}}}
    with pytest.raises(InputError, match=r"does not score dc_pdd with a=7; it scores: a=0.001, a=0.01"):
        ablation_bars.render(artifact, results)


def test_roc_curves_enclose_the_auc_of_the_metrics(results: Results):
    drawing = draw(ROC, results)
    for method, of in drawing.frame.groupby("method"):
        area = np.trapezoid(of["tpr"], of["fpr"])
        scores = pd.read_parquet(results.scores[made_up.MODEL, made_up.BENCHMARK])
        assert area == pytest.approx(made_up.auc_of(scores, method))
    assert set(drawing.frame["method"]) == set(made_up.SEPARATION)


def test_lines_differ_in_colour_or_dashes_and_a_method_keeps_its_own():
    styles = line_styles(list(METHOD_LABELS))
    shown = [(style.color, str(style.dashes)) for method, style in styles.items() if not is_control(method)]
    assert len(set(shown)) == len(shown)
    assert line_styles(["surp"])["surp"] == styles["surp"]


def test_surprising_tokens_are_those_below_both_thresholds(results: Results):
    table = pd.DataFrame(
        {
            "text_id": ["t0000", "t0200", "unknown"],
            "logprobs": [[-1.0, -2.0, -3.0, -4.0, -5.0], [-1.0, -9.0], [-1.0]],
            "entropies": [[0.5, 0.5, 2.0, 3.0, 1.9], [0.1, 0.1], [0.1]],
        }
    )
    (panel,) = results.panels(SCATTER)
    tokens = tokens_of(SCATTER, results, panel, lambda *_, **__: table, eps=2.0, percentile=50)
    assert list(tokens[1].frame["surprising"]) == [False, False, False, False, True]
    assert list(tokens[0].surprising["logprob"]) == [-9.0]
    means = resampled_means(tokens[1], np.zeros(1, dtype=int), 1)
    assert set(means[:, 0]) == {-5.0}


def test_means_of_surprising_tokens_are_resampled_by_document():
    """Ten texts of each of eight documents, which all their tokens are like: eight numbers, not eighty."""
    document = np.repeat(np.arange(8), 10)
    texts = pd.DataFrame(
        {"text": [str(n) for n in range(80)], "label": 1, "document": [f"d{n}" for n in document]}
    )
    frame = pd.DataFrame(
        {"text": np.arange(80), "entropy": 0.0, "logprob": -1.0 * document, "surprising": True}
    )
    groups = np.zeros(80, dtype=int)

    def spread(texts: pd.DataFrame) -> float:
        weights = text_weights(texts, 2000, seed=1)
        return float(resampled_means(Tokens(1, frame, weights), groups, 1)[1:].std())

    assert spread(texts) == pytest.approx(np.arange(8).std() / np.sqrt(8), rel=0.1)
    assert spread(texts.assign(document="")) == pytest.approx(np.arange(8).std() / np.sqrt(80), rel=0.1)


def test_axes_are_lettered_beyond_z():
    assert [letter(place) for place in (0, 25, 26, 52)] == ["(a) ", "(z) ", "(aa) ", "(ba) "]


def test_a_control_of_ones_own_is_grey(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setitem(METHODS, "words", METHODS["blind"])
    styles = line_styles(["blind", "words", "loss"])
    assert styles["words"].color == styles["blind"].color != styles["loss"].color
    assert styles["words"].dashes != styles["blind"].dashes


def test_reader_gets_the_coordinates_of_the_manifest(results: Results):
    seen = {}

    def read(manifest, store, **coordinates):
        seen.update(coordinates)
        return made_up.pass_table()

    entropy_scatter.render(SCATTER, results, read)
    assert seen == {
        "view": "original", "companion": "", "prefix": "", "start_token": made_up.TOKEN, "inner_start": False,
        "subset": "", "length": made_up.LENGTH,
    }  # fmt: skip
    with pytest.raises(InputError, match="no such pass"):
        entropy_scatter.render(SCATTER | {"start_token": "none"}, results, read)


def test_reading_of_tokens_says_when_the_interval_includes_zero(results: Results):
    told_apart = draw(SCATTER, results).reading
    assert "is higher than" in told_apart
    assert "includes 0" not in told_apart

    table = made_up.pass_table()
    half = len(table) // 2
    same = pd.concat([table.iloc[:half], table.iloc[:half]]).assign(text_id=table["text_id"].to_numpy())
    assert "includes 0" in entropy_scatter.render(SCATTER, results, lambda *_, **__: same).reading


def test_a_handful_of_surprising_tokens_has_no_mean_line(results: Results):
    table = made_up.pass_table()
    first = table["text_id"] == f"t{made_up.MEMBERS:04d}"  # a non-member; nothing else is certain of anything
    table["entropies"] = table["entropies"].where(first, table["entropies"] + 2.0)
    drawing = entropy_scatter.render(SCATTER, results, lambda *_, **__: table)
    shown = drawing.frame[drawing.frame["drawn"] == "token"]
    assert 0 < len(shown) < entropy_scatter.FEWEST
    assert set(shown["label"]) == {0}
    assert "mean" not in set(drawing.frame["drawn"])
    assert f"none of 12,800 tokens of members and {len(shown)} of 12,800 tokens" in drawing.reading
    assert "too few to compare the classes" in drawing.reading
    low, high = drawing.figure.axes[2].get_ylim()
    assert low < shown["logprob"].min() < shown["logprob"].max() < high


def test_roc_says_which_curve_is_one_large_tie(results: Results):
    rows = {"surp": {"marks": "convention_default;over_5_percent_empty"}, "loss": {"marks": ""}}
    assert roc._ties(rows, ["surp", "loss"]).startswith(" By SURP, over 5 % of the texts")
    assert roc._ties(rows, ["loss"]) == ""
    assert "straight" not in draw(ROC, results).reading


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
    frame = draw(ABLATION | {"panels": panels}, results).frame
    assert list(frame["setting"]) == [*SETTINGS.values(), *own.values()]
