"""Figures: bytes that do not change, what is drawn, marked and hatched; and what a
study found, on one page."""

import re

import made_up_results as made_up
import matplotlib as mpl
import numpy as np
import pandas as pd
import pytest

from pretrace.render.artifact import Panel
from pretrace.render.figures import lines
from pretrace.render.figures.bars import draw_bars
from pretrace.render.figures.dots import LINES, headline_lines
from pretrace.render.figures.drawing import Facet, legend_columns, line_styles
from pretrace.runtime.errors import InputError

SETTINGS = {
    "CLD": "a=0.01;upper_bound=false;first_occurrence=false",
    "with LUP": "a=0.01;first_occurrence=false",
    "with SFO": "a=0.01",
}
ABLATION = made_up.artifact(
    "ablation_bars", options={"method": "dc_pdd", "settings": SETTINGS}
)
HEATMAP = made_up.artifact(
    "heatmap", options={"method": "surp", "x": "eps", "y": "percentile"}
)
ROC = made_up.artifact("roc")
HEADLINE = made_up.artifact("headline")


def test_a_user_matplotlibrc_changes_nothing(results, tmp_path):
    plain = made_up.written(made_up.draw(ABLATION, results), tmp_path / "plain")
    with mpl.rc_context({"font.size": 20, "axes.facecolor": "red", "savefig.dpi": 50}):
        assert (
            made_up.written(made_up.draw(ABLATION, results), tmp_path / "own")["png"]
            == plain["png"]
        )


def test_a_roc_figure_says_how_many_texts_tie_at_the_highest_score(
    monkeypatch, tmp_path
):
    drawn = made_up.scores_frame
    row = made_up.metric_row

    def with_ties(separation, seed):
        frame = drawn(separation, seed)
        number = frame["id"].str[1:].astype(int)
        empty = np.where(number < made_up.MEMBERS, number % 4 == 0, number % 2 == 0)
        score = frame["score"].where(
            frame["method"] != "surp", np.where(empty, 0.0, -1 - number)
        )
        return frame.assign(score=score)

    def with_mark(method, *others, **named):
        return row(
            method,
            *others,
            **named | ({"marks": "over_5_percent_empty"} if method == "surp" else {}),
        )

    monkeypatch.setattr(made_up, "scores_frame", with_ties)
    monkeypatch.setattr(made_up, "metric_row", with_mark)
    drawing = made_up.draw(ROC, made_up.make_study(tmp_path))
    assert drawing.reading.startswith("tiny-135m on speeches, ")
    assert (
        ": 25 % of the members and 50 % of the non-members have no surprising token "
        "and tie at SURP's highest score, 0" in drawing.reading
    )
    assert not made_up.draw(
        ROC | {"methods": ["loss"]}, made_up.make_study(tmp_path)
    ).reading


@pytest.mark.parametrize("facets", [1, 2, 3, 4])
def test_a_title_is_within_its_own_column_and_breaks_only_where_it_has_no_room(facets):
    long = "SmolLM2-135M on addresses of 2026 against 2005-2020 (with shots), 32 words"
    points = pd.DataFrame({"series": "loss", "x": [1.0, 2.0], "value": -0.4})
    points = points.assign(low=-0.5, high=-0.3, told="Loss")
    facet = Facet(long, points, "shift of the log-likelihood (nats)", "shots")
    names = {"loss": "Loss"}
    figure = lines.draw_lines([facet] * facets, line_styles(["loss"]), names)
    columns = figure.axes[0].get_gridspec().ncols
    starts = [axis.get_window_extent().x0 for axis in figure.axes]
    for number, axis in enumerate(figure.axes):
        is_last = (number + 1) % columns == 0
        limit = figure.bbox.width if is_last else starts[number + 1]
        title = axis._left_title
        assert title.get_window_extent().x1 < limit
        assert title.get_text().count("\n") == (columns > 1) + (columns > 2)


def test_a_figure_names_the_models_that_could_not_be_asked(results, tmp_path):
    gone = {"name": "gpt-old", "model": "gpt-old", "reason": "it was retired"}
    files = made_up.render(
        ROC | {"missing": [gone], "methods": ["loss", "blind"]}, results, tmp_path
    )
    assert (
        files["txt"].read_text(encoding="utf-8").strip()
        == "gpt-old is left out: it was retired."
    )


def test_a_legend_is_below_the_axes_and_reasons_are_below_it(results, tmp_path):
    """A figure that is saved with reasons is larger than it was laid out."""
    drawing = made_up.draw(HEADLINE, results).with_missing(["No model."])
    distances = []

    def note_places(event):
        figure = drawing.figure
        legend = figure.legends[0].get_window_extent(event.renderer)
        lowest = min(axis.get_tightbbox(event.renderer).y0 for axis in figure.axes)
        reason = figure.texts[-1].get_window_extent(event.renderer)
        distances.extend([lowest - legend.y1, legend.y0 - reason.y1])

    drawing.figure.canvas.mpl_connect("draw_event", note_places)
    made_up.written(drawing, tmp_path)
    assert distances
    assert min(distances) > 0


def test_the_headline_counts_what_no_control_explains_and_a_null_model_is_no_test(
    tmp_path,
):
    study = made_up.make_study(
        tmp_path, separation=made_up.SEPARATION | {"min_k_pp": 2.5, "blind": 0.05}
    )
    reading = made_up.draw(HEADLINE, study).reading
    assert "In 1 of 1 tests a method found training that no control explains" in reading
    null = HEADLINE | {"null_models": [made_up.MODEL]}
    reading = made_up.draw(null, study).reading
    assert reading == (
        "In no test did a method find training that no control explains. False alarms "
        "in models that read neither class: 1 of 1 tests (at most 0.025 expected)."
    )
    table = made_up.draw(
        null | {"renderer": "blind_audit", "panels": [made_up.OTHER_PANEL]}, study
    )
    counted = (
        "False alarms in models that read neither class: 1 of 1 columns (at most 0.05 "
        "expected)."
    )
    assert table.reading == counted
    for row in table.blocks[0].rows:
        for cell in row.cells:
            assert not cell.star
            assert not cell.bold
    assert table.frame["p_holm"].lt(0.05).any()
    given = {"renderer": "method_table", "selection": ["held_out"], "baseline": "blind"}
    shown = made_up.draw(null | given, study)
    marked = []
    for row in shown.blocks[0].rows:
        for cell in row.cells:
            if "j" in cell.signs:
                marked.append(row.label)
    assert "Min-K%++" in marked
    for row in shown.blocks[0].rows:
        for cell in row.cells:
            assert not cell.star
            assert not cell.bold
    assert counted in " ".join(shown.notes)
    beside = made_up.draw(null | {"renderer": "blind_audit"}, study)
    assert "yes: a false alarm" in [
        cell.words for row in beside.blocks[0].rows for cell in row.cells
    ]
    assert "(false alarms: the model read neither class)" in beside.reading


def test_a_panel_of_the_headline_has_a_row_for_each_of_its_own_methods_under_its_label(
    results,
):
    panels = [made_up.PANEL | {"label": "new against old"}, made_up.OTHER_PANEL]
    axes = made_up.draw(
        HEADLINE | {"panels": panels, "methods": ["loss", "recall", "blind"]}, results
    ).figure.axes
    assert [
        [label.get_text() for label in axis.get_yticklabels()] for axis in axes
    ] == [["Loss", "Bag of words"]] * 2
    titles = [axis.get_title(loc="left") for axis in axes]
    assert titles == ["(a) new against old", "(b) other_speeches, 64 words, tiny-135m"]


def test_a_terminal_gets_a_line_a_panel_and_no_more_than_fit(results):
    frame = made_up.draw(HEADLINE, results).frame
    heading, name, *found = headline_lines(frame)
    best = frame[frame["best"]].iloc[0]
    blind = frame[frame["method"] == "blind"].iloc[0]
    assert heading == "best of up to 7 methods:"
    assert name == "speeches, 64 words, tiny-135m"
    said = " ".join(" ".join(found).split())
    for words in (
        f"AUC {best['value']:.2f} [{best['best_low']:.2f}, {best['best_high']:.2f}]",
        f"bag of words {blind['value']:.2f} [{blind['low']:.2f}, {blind['high']:.2f}]",
        f"rank among placebos {best['rank']:.0f} of 5, mean {best['placebo_mean']:.2f}",
    ):
        assert words in said
    long = frame.assign(
        label="address of 2026 against those of 2005-2020, with shots, 32 words, "
        "SmolLM2-135M"
    )
    assert max(map(len, headline_lines(long))) <= 60
    many = pd.concat(
        [frame.assign(label=f"panel {number}") for number in range(LINES + 3)]
    )
    assert sum(line.startswith("panel") for line in headline_lines(many)) == LINES
    assert headline_lines(many)[-1] == "and 3 more, in the report"


@pytest.mark.parametrize(
    ("artifact", "said"),
    [
        (
            HEATMAP | {"renderer": "heatmaps"},
            "unknown renderer 'heatmaps': did you mean 'heatmap'?",
        ),
        (HEATMAP | {"options": {"method": "surp", "x": "eps"}}, "needs the option 'y'"),
        (
            ABLATION | {"options": {"method": "dc_pdd", "settings": {"X": "a=7"}}},
            "does not score dc_pdd with a=7; it scores: a=0.001, a=0.01",
        ),
        (
            made_up.artifact("placebo_ranks", panels=[made_up.OTHER_PANEL]),
            "the benchmark has no placebos",
        ),
    ],
)
def test_what_cannot_be_drawn_is_an_error_that_says_why(artifact, said, results):
    with pytest.raises(InputError, match=re.escape(said)):
        made_up.draw(artifact, results)


def _named(axis):
    """Values over bars, and names along x."""
    return [*axis.texts, *axis.get_xticklabels()]


@pytest.mark.parametrize("facets", [3, 4])
def test_names_and_values_do_not_lie_on_one_another(results, facets):
    names = ("LLaMA-2-7B", "LLaMA-2-13B", "LLaMA-2-70B")
    points = pd.DataFrame(
        {"series": "loss", "x": [0, 1, 2], "value": 0.5, "low": 0.4, "high": 0.6}
    )
    points = points.assign(told="Loss")
    facet = Facet("answers", points, "AUC", "model", dict(enumerate(names)))
    styles = line_styles(["loss"])
    bars = []
    for group in ("members", "non-members"):
        for place in range(4):
            bars.append({"group": group, "series": f"way {place}", "value": 0.25})
    frame = pd.DataFrame(bars).assign(low=0.24, high=0.26)
    drawn = (
        lines.draw_lines([facet] * facets, styles, {"loss": "Loss"}),
        draw_bars(
            results, [Panel(**made_up.PANEL)] * facets, [frame] * facets, "share", {}
        ).figure,
    )
    for figure in drawn:
        for axis in figure.axes:
            shown = [text for text in _named(axis) if text.get_text()]
            # of turned names the boxes overlap, and the letters do not
            boxes = [
                text.get_window_extent()
                for text in shown
                if text.get_rotation() in (0, 90)
            ]
            for place, box in enumerate(boxes):
                assert not any(box.overlaps(other) for other in boxes[:place])


def test_four_axes_are_two_by_two():
    points = pd.DataFrame({"series": "loss", "x": [0, 1], "value": 0.5})
    points = points.assign(low=0.4, high=0.6, told="Loss")
    facet = Facet("answers", points, "AUC", "model")
    figure = lines.draw_lines([facet] * 4, line_styles(["loss"]), {"loss": "Loss"})
    grid = figure.axes[0].get_gridspec()
    assert (grid.nrows, grid.ncols) == (2, 2)


def test_a_legend_is_as_wide_as_its_figure_allows():
    assert legend_columns(["Loss", "Zlib", "Min-K%", "Blind"], 6.8) == 4
    assert legend_columns(["Loss", "Zlib", "Min-K%", "Blind"], 2.0) == 2
    assert legend_columns(["a very long name of a method"] * 4, 3.3) == 1


@pytest.mark.parametrize(
    ("drawn", "told"),
    [
        (
            {"a": [0.5, 0.6], "b": [0.5, 0.6], "c": [0.5, 0.7]},
            ["speeches: A and B lie on one line."],
        ),
        ({name: [0.5, 0.6] for name in "abcd"}, []),  # so many are drawn side by side
        # level lines
        ({"a": [0.5], "b": [0.5], "c": [0.4]}, ["speeches: A and B lie on one line."]),
    ],
)
def test_lines_that_hide_each_other_are_told(drawn, told):
    rows = []
    for name, values in drawn.items():
        for place, value in enumerate(values):
            rows.append(
                {
                    "series": name,
                    "x": float(place) if len(values) > 1 else float("nan"),
                    "value": value,
                }
            )
    facet = Facet("speeches", pd.DataFrame(rows), "x")
    assert lines.hidden_lines(facet, {name: name.upper() for name in drawn}) == told
