"""What tables say of themselves, in notes and readings."""

from pathlib import Path

import made_up_results as made_up
import pandas as pd
import pytest
from made_up_results import changed, row_of

from pretrace.render.phrases import conditions
from pretrace.render.registry import render
from pretrace.render.results import Results
from pretrace.render.tables.controls import blind_audit
from pretrace.render.tables.methods import method_table

BOTH = [made_up.PANEL, made_up.OTHER_PANEL]


@pytest.fixture(scope="module")
def results(tmp_path_factory: pytest.TempPathFactory) -> Results:
    return made_up.make_study(tmp_path_factory.mktemp("study"))


def test_notes_speak_of_stars_and_bold_only_where_they_stand(results: Results, tmp_path: Path):
    weak = changed(results, tmp_path, "tests", lambda tests: tests.assign(p_holm=1.0))
    starred, plain = (
        method_table(made_up.artifact("method_table", baseline="min_k"), one) for one in (results, weak)
    )
    assert any(note.startswith("* above Min-K%") for note in starred.notes)
    assert not any(note.startswith("*") for note in plain.notes)
    alone = method_table(made_up.artifact("method_table", methods=["dc_pdd"]), results)
    assert any(note.startswith("Bold") for note in plain.notes)
    assert not any(note.startswith("Bold") for note in alone.notes)


def test_a_metric_that_no_method_has_at_a_selection_has_no_column_there(results: Results, tmp_path: Path):
    def change(frame: pd.DataFrame) -> pd.DataFrame:
        return frame[(frame["metric"] == "auc") | (frame["selection"] != "held_out")]

    artifact = made_up.artifact("method_table", options={"metrics": ["auc", made_up.TPR]})
    table = method_table(artifact, changed(results, tmp_path, "metrics", change))
    assert [len(block.columns) for block in table.blocks] == [1, 2, 2]
    assert not table.frame["value"].isna().any()
    assert any(note.startswith("Settings are chosen for each metric by itself") for note in table.notes)


def test_a_method_on_other_texts_than_the_rest_is_named(results: Results, tmp_path: Path):
    def change(frame: pd.DataFrame) -> pd.DataFrame:
        frame.loc[frame["method"] == "zlib", "n_members"] = 100
        return frame

    fewer = changed(results, tmp_path, "metrics", change)
    for renderer, name in ((method_table, "method_table"), (blind_audit, "blind_audit")):
        (note,) = [one for one in renderer(made_up.artifact(name), fewer).notes if "number of texts" in one]
        assert note.endswith(": Zlib on tiny-135m on speeches, 64 words (260, not 320).")
        assert not any("number of texts" in one for one in renderer(made_up.artifact(name), results).notes)


def test_several_evaluation_sets_are_said_with_their_benchmarks():
    rows = [
        {"evaluation_set": name, "benchmark": benchmark, "start_token": "", "reference": "", "method": "loss"}
        for name, benchmark in (("all", "news"), ("without_prefixes", "b"), ("without_prefixes", "a"))
    ]
    (note,) = conditions({"metric": "auc"}, rows)
    assert "all (all texts) of news and without_prefixes" in note
    assert note.endswith(") of a and b.")


@pytest.mark.parametrize(
    ("difference_to_blind", "p_holm", "said"),
    [(0.1, 0.01, "Loss beats it"), (0.1, 0.2, "none of the 7 methods beats it")],
)  # fmt: skip
def test_audit_says_who_beats_blind(results, tmp_path, difference_to_blind: float, p_holm: float, said: str):
    def change(tests: pd.DataFrame) -> pd.DataFrame:
        of = (tests["baseline"] == "blind") & (tests["method"] == "loss")
        tests.loc[of, ["difference", "p_holm"]] = [difference_to_blind, p_holm]
        return tests

    table = blind_audit(made_up.artifact("blind_audit"), changed(results, tmp_path, "tests", change))
    assert said in table.reading


def test_audit_without_tests_claims_nothing(results: Results, tmp_path: Path):
    untested = changed(results, tmp_path, "tests", lambda tests: tests[tests["baseline"] != "blind"])
    table = blind_audit(made_up.artifact("blind_audit"), untested)
    assert "no method was tested against it" in table.reading
    assert row_of(table, "Loss").cells[4].value is row_of(table, "Loss").cells[4].words is None


def test_stars_of_several_columns_say_what_chance_leaves(results: Results):
    for renderer in (method_table, blind_audit):
        name = renderer.__name__
        twice = [made_up.PANEL, made_up.PANEL | {"label": "again"}]
        of_one, of_two = (
            [
                note
                for note in renderer(made_up.artifact(name, baseline="min_k", panels=panels), results).notes
                if "not over all of them" in note
            ]
            for panels in (twice[:1], twice)
        )
        assert of_one == []
        assert "up to 0.1 of these 2" in of_two[0]


def test_what_a_paper_does_not_state_is_said_under_the_table(results: Results, tmp_path: Path):
    artifact = made_up.artifact("method_table", inferred="the model.")
    text = render(artifact, results, tmp_path)["md"].read_text(encoding="utf-8")
    assert "- Inferred, not printed in the paper: the model." in text
