"""Tables: who is starred, what is a dash, what is counted, and what is refused."""

import re
from pathlib import Path

import made_up_results as made_up
import numpy as np
import pandas as pd
import pytest
from made_up_results import changed, row_of

from pretrace.render.names import method_label
from pretrace.render.registry import render
from pretrace.render.results import Results
from pretrace.render.tables.controls import blind_audit
from pretrace.render.tables.methods import method_table, selection_gap, setting_table
from pretrace.render.tables.table import latex, markdown
from pretrace.runtime.errors import InputError
from pretrace.runtime.files import read_parquet

BOTH = [made_up.PANEL, made_up.OTHER_PANEL]


@pytest.fixture(scope="module")
def results(tmp_path_factory: pytest.TempPathFactory) -> Results:
    return made_up.make_study(tmp_path_factory.mktemp("study"))


def test_star_needs_a_higher_value_and_holm_p_of_at_most_5_percent_on_held_out(
    results: Results, tmp_path: Path
):
    def change(tests: pd.DataFrame) -> pd.DataFrame:
        is_min_k = tests["baseline"] == "min_k"
        for method, gain, p in (("loss", 0.1, 0.05), ("zlib", 0.1, 0.051), ("surp", -0.1, 0.001)):
            tests.loc[is_min_k & (tests["method"] == method), ["difference", "p_holm"]] = [gain, p]
        return tests

    artifact = made_up.artifact("method_table", baseline="min_k")
    table = method_table(artifact, changed(results, tmp_path, "tests", change))
    starred = [row.label for row in table.blocks[0].rows if row.cells[0].star]
    assert "Loss" in starred
    assert not {"Zlib", "SURP"} & set(starred)
    assert not any(cell.star for block in table.blocks[1:] for row in block.rows for cell in row.cells)
    assert not any("control" in label for label in starred)


def test_delong_and_other_selections_never_star(results: Results, tmp_path: Path):
    def change(tests: pd.DataFrame) -> pd.DataFrame:
        tests = tests[tests["method"] != "loss"]
        other = tests[tests["method"] == "zlib"].assign(method="loss", difference=0.3, p_holm=0.0)
        return pd.concat([tests, other.assign(test="delong"), other.assign(selection="default")])

    artifact = made_up.artifact("method_table", baseline="min_k")
    table = method_table(artifact, changed(results, tmp_path, "tests", change))
    assert not row_of(table, "Loss").cells[0].star


def test_a_missing_method_is_a_dash_and_never_a_zero(results: Results, tmp_path: Path):
    fewer = changed(results, tmp_path, "metrics", lambda frame: frame[frame["method"] != "lowercase"])
    table = method_table(made_up.artifact("method_table", panels=BOTH), fewer)
    assert [cell.value is None for cell in row_of(table, "Lowercase").cells] == [True, False]
    line = next(line for line in markdown(table).splitlines() if line.startswith("| Lowercase"))
    assert line.split("|")[2].strip() == "–"  # noqa: RUF001
    assert re.search(r"^Lowercase & -- & 0\.\d", latex(table), re.MULTILINE)
    shown = table.frame[table.frame["method"] == "lowercase"]
    assert set(shown["benchmark"]) == {made_up.OTHER}
    assert shown["value"].notna().all()


def test_controls_stand_apart(results: Results):
    table = method_table(made_up.artifact("method_table", panels=BOTH), results)
    assert [row.control for row in table.blocks[0].rows] == [False] * 7 + [True]
    assert table.blocks[0].rows[-1].label == "Blind (control, no model)"


def test_methods_stand_in_the_artifacts_order_with_controls_last(results: Results):
    artifact = made_up.artifact("method_table", methods=["blind", "zlib", "dc_pdd", "loss"])
    labels = [row.label for row in method_table(artifact, results).blocks[0].rows]
    assert labels == ["Zlib", "DC-PDD", "Loss", "Blind (control, no model)"]


def test_long_csv_keeps_every_number_of_the_metrics(results: Results):
    frame = method_table(made_up.artifact("method_table", baseline="min_k"), results).frame
    metrics = read_parquet(results.metrics[made_up.MODEL, made_up.BENCHMARK])
    of = metrics[(metrics["metric"] == "auc") & (metrics["selection"] == "held_out")].set_index("method")
    row = frame[(frame["selection"] == "held_out") & (frame["method"] == "dc_pdd")].iloc[0]
    for column in ("value", "low", "high", "n_members", "setting"):
        assert row[column] == of.loc["dc_pdd", column]
    assert {"p", "p_holm", "star", "bold", "marks"} <= set(frame.columns)


def test_a_mark_has_its_sign_in_the_cell_and_its_note_below(results: Results):
    table = method_table(made_up.artifact("method_table"), results)
    assert row_of(table, "SURP", block=1).cells[0].signs == ("b",)
    assert any(note.startswith("b: ") and "convention" in note for note in table.notes)
    assert not any(note.startswith("a: ") for note in table.notes)


def test_the_blind_audit_ranks_each_method_among_its_placebos(results: Results):
    table = blind_audit(made_up.artifact("blind_audit", panels=BOTH), results)
    frame = table.frame.set_index(["benchmark", "method"])
    values = np.array(made_up.PLACEBO_VALUES)
    for method in ("loss", "dc_pdd", "blind"):
        row = frame.loc[made_up.BENCHMARK, method]
        assert row["placebo_mean"] == pytest.approx(values.mean())
        assert row["z"] == pytest.approx((row["value"] - values.mean()) / values.std(ddof=1))
        assert row["rank"] == 1 + (values >= row["value"]).sum()
        cell = row_of(
            table, method_label(method) + (" (control, no model)" if method == "blind" else "")
        ).cells[3]
        assert cell.words == f"{row['rank']:.0f} of 5"
        assert cell.bold == (row["rank"] == 1 and method != "blind")
    assert frame.loc[made_up.OTHER, "rank"].isna().all()


def test_setting_table_varies_one_parameter_and_marks_the_default(results: Results):
    artifact = made_up.artifact("setting_table", options={"method": "dc_pdd", "parameter": "a"})
    table = setting_table(artifact, results)
    assert table.blocks[0].columns == (("0.001",), ("0.01 (default)",), ("0.1",), ("1",), ("10",))
    assert [cell.bold for cell in table.blocks[0].rows[0].cells] == [False, False, True, False, False]
    assert list(table.frame["setting"]) == [f"a={a:g}" for a in made_up.A_GRID]


def test_selection_gap_counts_the_grid_without_ablation_switches(results: Results):
    frame = selection_gap(made_up.artifact("selection_gap"), results).frame.set_index("method")
    assert dict(frame["settings"]) == {
        "loss": 1, "zlib": 1, "lowercase": 1, "min_k": 10, "min_k_pp": 10, "surp": 30, "dc_pdd": 5,
        "blind": 1,
    }  # fmt: skip
    assert frame.loc["dc_pdd", "gap"] == pytest.approx(0.016)


def test_statistics_count_texts_and_documents_by_class(results: Results, tmp_path: Path):
    artifact = made_up.artifact("benchmark_statistics", panels=BOTH)
    frame = pd.read_csv(render(artifact, results, tmp_path)["csv"])
    assert list(frame["n_members"]) == list(frame["n_nonmembers"]) == [160, 160]
    assert list(frame["member_documents"]) == [8, 8]
    assert list(frame["nonmember_documents"]) == [1, 1]
    text = (tmp_path / "tables" / "a_benchmark_statistics.md").read_text()
    assert "Unlabelled" not in text, "a column that would be empty"


def test_a_panel_without_a_length_stands_for_every_length(results: Results, tmp_path: Path):
    both = changed(
        results,
        tmp_path,
        "metrics",
        lambda frame: pd.concat([frame, frame.assign(length=32)], ignore_index=True),
    )
    panel = {key: made_up.PANEL[key] for key in ("model", "benchmark")}
    (block, *_) = method_table(made_up.artifact("method_table", panels=[panel]), both).blocks
    assert [column[-1] for column in block.columns] == ["32 words", "64 words"]


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"metric": "tpr_at_1_fpr"}, "metric auc, tpr_at_5_fpr"),
        ({"start_token": "tokenizer"}, f"start_token .*{re.escape(made_up.TOKEN)}"),
        ({"methods": ["ref"]}, "methods ref"),
        ({"panels": [made_up.PANEL | {"length": 999}]}, "length 64"),
        ({"panels": [made_up.PANEL | {"benchmark": "other"}]}, "other"),
    ],
)
def test_nothing_that_matches_is_an_error_that_says_what_is_there(
    results: Results, tmp_path: Path, change, said: str
):
    artifact = made_up.artifact("method_table") | change
    blind_left_out = {"methods": ["loss"]} if "start_token" in change else {}
    with pytest.raises(InputError, match=said):
        render(artifact | blind_left_out, results, tmp_path)
    assert not any(tmp_path.rglob("*.*"))


def test_two_reference_corpora_need_one_to_be_named(results: Results, tmp_path: Path):
    def change(frame: pd.DataFrame) -> pd.DataFrame:
        of = frame[frame["method"] == "dc_pdd"]
        return pd.concat([frame, of.assign(reference="new_speeches", value=0.99)], ignore_index=True)

    both = changed(results, tmp_path, "metrics", change)
    with pytest.raises(InputError, match="dc_pdd has rows of several reference: new_speeches, old_speeches"):
        method_table(made_up.artifact("method_table"), both)
    named = made_up.artifact("method_table", panels=[made_up.PANEL | {"references": ["new_speeches"]}])
    assert row_of(method_table(named, both), "DC-PDD").cells[0].value == 0.99


def test_a_setting_table_has_its_controls_in_columns_of_their_own(results: Results):
    options = {"method": "dc_pdd", "parameter": "a"}
    artifact = made_up.artifact("setting_table", methods=["blind"], options=options)
    table = setting_table(artifact, results)
    assert table.blocks[0].columns[-1] == ("Blind (control, no model)",)
    metrics = read_parquet(results.metrics[made_up.MODEL, made_up.BENCHMARK]).set_index(
        ["method", "selection", "metric"]
    )
    cells = table.blocks[0].rows[0].cells
    assert cells[-1].value == metrics.loc[("blind", "default", "auc"), "value"].item()
    assert [cell.bold for cell in cells] == [False, False, True, False, False, False]
    assert list(table.frame["method"]) == ["dc_pdd"] * 5 + ["blind"]


def marked_at_the_edge(frame: pd.DataFrame) -> pd.DataFrame:
    of = (frame["method"] == "dc_pdd") & frame["selection"].isin(["held_out", "best_on_test"])
    return frame.assign(marks=frame["marks"].mask(of, "at_grid_edge"))


@pytest.mark.parametrize("renderer", [method_table, blind_audit, selection_gap])
def test_choices_at_a_grids_edge_are_marked_in_every_table_that_shows_choices(
    results: Results, tmp_path: Path, renderer
):
    name = renderer.__name__
    edge = changed(results, tmp_path, "metrics", marked_at_the_edge)
    for panels in ([made_up.PANEL], [made_up.PANEL | {"label": f"{at}"} for at in range(5)]):
        artifact = made_up.artifact(name, panels=panels)
        text = markdown(renderer(artifact, edge))
        assert re.search(r"DC-PDD.*\(f\)", text)
        assert "- f: the chosen setting" in text
        assert "(f)" not in markdown(renderer(artifact, results))
