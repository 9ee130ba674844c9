"""What a study found: the figure, the sentences that follow from it, and the lines for a terminal."""

import made_up_results as made_up
import pandas as pd
import pytest

from pretrace.render.figures.headline import LINES, lines
from pretrace.render.registry import render

PLACED = made_up.artifact("headline")


def found(folder, separation=None):
    """The long data and the sentences of a made-up study."""
    results = made_up.make_study(folder / "in", separation=made_up.SEPARATION | (separation or {}))
    files = render(PLACED, results, folder / "out")
    return pd.read_csv(files["csv"]), files["txt"].read_text().splitlines(), files


@pytest.fixture(scope="module")
def usual(tmp_path_factory):
    return found(tmp_path_factory.mktemp("headline"))


def test_every_method_stands_beside_its_placebos_and_the_best_is_the_highest_with_a_model(usual):
    frame, _, _ = usual
    assert set(frame["method"]) == set(made_up.SEPARATION)
    models = frame[~frame["control"]]
    assert list(models.loc[models["best"], "method"]) == [models.loc[models["value"].idxmax(), "method"]]
    assert (frame["placebos"] == len(made_up.PLACEBO_VALUES)).all()
    beaten = frame["value"].map(lambda value: all(value > other for other in made_up.PLACEBO_VALUES))
    assert (frame["above_placebos"] == beaten).all()
    assert (frame["above_chance"] == (frame["low"] > 0.5)).all()


def test_what_a_bag_of_words_finds_too_is_not_called_training(usual):
    _, sentences, _ = usual
    assert len(sentences) == 4
    assert "not clearly above the blind classifier" in sentences[1]
    assert sentences[3].startswith(
        "No method is above chance, the blind classifier and every placebo at once"
    )


def test_what_exceeds_chance_the_controls_and_the_placebos_is(tmp_path):
    frame, sentences, _ = found(tmp_path, {"min_k_pp": 2.5, "blind": 0.05})
    assert frame.loc[frame["best"], "method"].item() == "min_k_pp"
    assert sentences[1].startswith("It is above the blind classifier")
    assert sentences[-1].startswith("Above all of these, and so a sign of training")
    assert "Min-K%++" in sentences[-1]


def test_a_method_at_chance_is_said_to_be(tmp_path):
    separation = dict.fromkeys(made_up.SEPARATION, 0.0)
    _, sentences, _ = found(tmp_path, separation)
    assert "an interval that includes chance" in sentences[0]
    assert sentences[-1].startswith("No method is above chance")


def test_equal_results_give_equal_bytes(usual, tmp_path):
    _, _, files = usual
    _, _, again = found(tmp_path)
    for suffix, path in files.items():
        assert path.read_bytes() == again[suffix].read_bytes(), suffix


def test_a_terminal_gets_a_line_a_panel_and_no_more_than_fit(usual):
    frame, _, _ = usual
    (line,) = lines(frame)
    best = frame[frame["best"]].iloc[0]
    blind = frame[frame["method"] == "blind"].iloc[0]
    assert line.startswith("speeches, 64 words, tiny-135m: ")
    assert f"AUC {best['value']:.2f} [{best['low']:.2f}, {best['high']:.2f}]" in line
    assert f"{blind['value']:.2f} [{blind['low']:.2f}, {blind['high']:.2f}] without a model" in line
    assert f"rank {best['rank']:.0f} of 5 among placebos of mean {best['placebo_mean']:.2f}" in line
    many = pd.concat([frame.assign(label=f"panel {number}") for number in range(LINES + 3)])
    assert len(lines(many)) == LINES
    assert lines(many)[-1] == "and 4 more, in the report"
