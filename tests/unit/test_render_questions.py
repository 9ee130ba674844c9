"""DE-COP's tables and figures: cautions and controls, unknown documents, means over
panels, its own measure."""

from typing import Any

import made_up_answers as made_up
import made_up_results
import pytest
from test_render_golden import ANSWERED, REGISTERED

from pretrace.questions.answering import FILTERED, PROBABILITIES
from pretrace.render.artifact import Artifact
from pretrace.render.results import Results, answer_notes
from pretrace.render.tables.questions import de_cop_lines
from pretrace.runtime.errors import InputError
from pretrace.runtime.files import read_parquet, write_parquet

PAIR = (made_up.MODEL, made_up.BENCHMARK)


@pytest.fixture(scope="module")
def results(tmp_path_factory: pytest.TempPathFactory) -> Results:
    return made_up.make_study(tmp_path_factory.mktemp("study"))


def artifact(slug: str, *panels: dict[str, Any], **options: Any) -> dict[str, Any]:
    entry = REGISTERED[slug]
    own = {
        "slug": slug,
        "panels": [ANSWERED, *panels],
        "options": entry.get("options", {}) | options,
    }
    return entry | own


@pytest.mark.parametrize(
    "slug", ["de_cop_figure1", "de_cop_figure6", "de_cop_table1", "de_cop_table4"]
)
def test_what_rests_on_the_questions_carries_their_caution_and_controls(
    slug, results, tmp_path
):
    files = made_up_results.render(artifact(slug), results, tmp_path)
    shown = files["md" if "md" in files else "txt"].read_text(encoding="utf-8")
    assert made_up.CAUTION in shown
    assert ("Longest option (no model)" in shown) == ("md" in files)


@pytest.mark.parametrize("slug", ["de_cop_figure1", "de_cop_figure8", "de_cop_figure9"])
def test_a_document_of_another_name_is_refused_with_the_nearest(slug, results):
    with pytest.raises(
        InputError, match=r"unknown options\.document 'd99': did you mean 'd09'\?"
    ):
        made_up_results.draw(artifact(slug, document="d99"), results)
    drawing = made_up_results.draw(artifact(slug, document="d03"), results)
    (axis, *_) = drawing.figure.axes
    if slug != "de_cop_figure1":
        assert axis.get_title(loc="left").endswith("d03")
        return
    # all documents are drawn; this one and the highest of each class are named
    frame = drawing.frame.set_index("document")
    told = "{:.2f} [{:.2f}, {:.2f}]".format(*frame.loc["d03", ["value", "low", "high"]])
    assert f"right answers about d03: {told}." in drawing.reading
    highest = frame.groupby("label")["value"].idxmax()
    names = {text.get_text().split("\n")[0] for text in axis.texts}
    assert names == {"d03", *highest}


def test_the_table_of_accuracies_has_the_mean_of_its_panels(results, tmp_path):
    metrics = read_parquet(results.path("metrics", PAIR))
    better = metrics["method"].eq("de_cop") & metrics["metric"].eq("accuracy_members")
    write_parquet(
        tmp_path / "m.parquet", metrics.assign(value=metrics["value"] + 0.1 * better)
    )
    other = ("better", made_up.BENCHMARK)
    both = made_up_results.beside(results, "metrics", {other: tmp_path / "m.parquet"})
    both = made_up_results.beside(both, "tests", {other: results.path("tests", PAIR)})
    given = artifact("de_cop_table3", ANSWERED | {"model": "better"}, average="panel")
    table = made_up_results.draw(given, both)
    assert [column[0] for column in table.blocks[0].columns][-1] == "average"
    row = made_up_results.row_of(table, "DE-COP").cells
    assert row[6].value == pytest.approx(row[0].value + 0.05)
    assert row[6].low is None
    assert row[8].value == pytest.approx(row[6].value - row[7].value)
    expected = table.frame["model"].eq("better").sum()
    assert table.frame["average"].eq("panel").sum() == expected
    assert "Average: mean over the columns, without an interval." in table.notes
    alone = made_up_results.draw(artifact("de_cop_table3", average="panel"), results)
    for note in alone.notes:
        assert not note.startswith("Average")


def test_lines_over_models_show_the_papers_own_measure_beside_the_roc(results):
    bigger = {("bigger", made_up.BENCHMARK): results.path("metrics", PAIR)}
    both = made_up_results.beside(results, "metrics", bigger)
    drawing = made_up_results.draw(
        artifact("de_cop_figure4", ANSWERED | {"model": "bigger"}), both
    )
    metrics = read_parquet(results.path("metrics", PAIR))
    own = metrics[
        metrics["method"].eq("de_cop")
        & metrics["setting"].eq("")
        & metrics["selection"].eq("default")
    ]
    by_metric = (
        drawing.frame[drawing.frame["method"] == "de_cop"]
        .groupby("metric")["value"]
        .unique()
    )
    assert set(by_metric.index) == {"auc", "auc_as_published"}
    for metric, values in by_metric.items():
        assert list(values) == own.loc[own["metric"] == metric, "value"].tolist(), (
            metric
        )
    labels = [axis.get_ylabel() for axis in drawing.figure.axes[:2]]
    assert labels == ["AUC, 95 % interval", "AUC as published, 95 % interval"]


def test_what_de_cop_found_is_said_in_words_and_without_effect_where_options_tell(
    results,
):
    """Of too few books it says how many a p takes."""
    frame = made_up_results.draw(artifact("de_cop_table1"), results).frame
    [line] = de_cop_lines(frame)
    assert "DE-COP ranks a book in question above one that the model cannot" in line
    assert "in 100% of pairs (p = " in line
    assert "Longest option 0.50, Odd one out 0.50. One half is chance." in line
    is_p = frame["metric"].eq("p_value")
    [few] = de_cop_lines(frame[~is_p])
    assert "(no p: it takes 5 books of each class)" in few
    control = is_p & frame["method"].eq("odd_one_out")
    [telling] = de_cop_lines(frame.assign(value=frame["value"].mask(control, 0.001)))
    assert telling.endswith("so nothing follows.") == control.any()


@pytest.mark.parametrize(
    ("without", "verdict"), [(3, "These are not judged."), (40, "That is no result.")]
)
def test_answers_without_text_or_probabilities_are_counted_under_tables_and_figures(
    results, tmp_path, without, verdict
):
    rows = made_up.rows(documents=2, passages=1)
    answers = made_up.answers_of(tmp_path / "asked", rows)
    answers.loc[: without - 1, ["reason", "correct"]] = [FILTERED, None]
    if without > 3:
        answers["correct"] = None
    answers.loc[10:, "answer"] = "A"
    answers.loc[10:15, PROBABILITIES] = None
    write_parquet(tmp_path / "answers.parquet", answers)
    pair = (made_up.MODEL, made_up.BENCHMARK)
    paths = {**results.paths, "answers": {pair: tmp_path / "answers.parquet"}}
    own = Results(paths, results.entries)
    for slug in ("de_cop_figure6", "de_cop_table12"):
        given = Artifact.model_validate(artifact(slug))
        [counted, alone] = answer_notes(given, own)
        reasons = f"have no text ({without} {FILTERED}). {verdict}"
        assert counted.endswith(f": {without} of 96 answers to DE-COP {reasons}")
        assert "6 of 96 answers to DE-COP are letters of a text" in alone
        files = made_up_results.render(artifact(slug), own, tmp_path / slug)
        said = files["txt" if "txt" in files else "md"].read_text(encoding="utf-8")
        assert verdict in said
        assert "are not calibrated" in said
    of_texts = given.replaced(methods=["loss"])
    assert answer_notes(of_texts, own) == []
