"""Models that could not be asked: a column of dashes and the reason, in tables and readings."""

import pytest
from made_up_results import BENCHMARK, LENGTH, OTHER_PANEL, PANEL, artifact, make_study

from pretrace.render.registry import render

GONE = {
    "model": "gpt-old",
    "benchmark": "speeches_2",
    "length": LENGTH,
    "subset": "*",
    "reason": "it was retired",
}


@pytest.fixture
def results(tmp_path):
    return make_study(tmp_path / "study")


def test_a_table_of_methods_has_a_column_of_dashes(results, tmp_path):
    shown = artifact("method_table", panels=[PANEL, OTHER_PANEL], missing=[GONE], selection=["held_out"])
    files = render(shown, results, tmp_path)
    lines = files["md"].read_text(encoding="utf-8").splitlines()
    loss = next(line for line in lines if line.startswith("| Loss"))
    cells = [cell.strip() for cell in loss.strip("|").split("|")]
    assert len(cells) == 4
    assert cells[-1] == "\N{EN DASH}"
    assert "gpt-old" in "\n".join(lines)
    assert "gpt-old is left out: it was retired." in "\n".join(lines)


def test_the_data_hold_only_what_was_measured(results, tmp_path):
    import pandas as pd

    shown = artifact("method_table", panels=[PANEL], missing=[GONE], selection=["held_out"])
    data = pd.read_csv(render(shown, results, tmp_path)["csv"])
    assert set(data["benchmark"]) == {BENCHMARK}
    assert data["value"].notna().all()


def test_an_average_is_that_of_the_models_that_were_asked(results, tmp_path):
    other = PANEL | {"model": "tiny-135m", "label": "again"}
    shown = artifact(
        "method_table", panels=[PANEL, other], missing=[GONE], selection=["held_out"], baseline="min_k"
    )
    shown["options"] = {"average": "panel"}
    text = render(shown, results, tmp_path)["md"].read_text(encoding="utf-8")
    loss = next(line for line in text.splitlines() if line.startswith("| Loss"))
    cells = [cell.strip() for cell in loss.strip("|").split("|")]
    assert cells[-1] == "\N{EN DASH}"
    assert "\N{EN DASH}" not in cells[-2]


def test_a_figure_says_so_in_its_reading(results, tmp_path):
    shown = artifact("roc", panels=[PANEL], missing=[GONE], methods=["loss", "min_k", "blind"])
    assert "gpt-old is left out" in render(shown, results, tmp_path)["txt"].read_text(encoding="utf-8")
