"""Artifacts of methods with prefixes, on real metrics of made-up scores: sets, draws, subsets, variants, lines."""

import hashlib
from dataclasses import replace
from pathlib import Path

import made_up_prefixes as made_up
import made_up_results
import numpy as np
import pandas as pd
import pytest
from sklearn.metrics import roc_auc_score

from pretrace.evaluation.averages import average, difference
from pretrace.evaluation.sets import evaluation_sets
from pretrace.render.estimates import over_draws
from pretrace.render.registry import outputs
from pretrace.render.results import Results
from pretrace.render.tables.controls import blind_audit, null_audit
from pretrace.render.tables.material import pass_costs
from pretrace.render.tables.methods import method_table, pairwise_tests, selection_gap
from pretrace.render.tables.table import Table
from pretrace.runtime.errors import InputError
from pretrace.runtime.files import read_parquet
from pretrace.views.prefixes import draw_prefixes

EACH = [made_up.PANEL | {"subset": "*"}]
FIGURES = {
    "method_lines": made_up.artifact("method_lines", options={"x": "shots"}),
    "score_densities": made_up.artifact("score_densities", methods=["loss", "recall", "con_recall"]),
    "prefix_shifts": made_up.artifact("prefix_shifts"),
    "loss_curves": made_up.artifact("loss_curves"),
    "roc": made_up.artifact("roc"),
}


@pytest.fixture(scope="module")
def results(tmp_path_factory: pytest.TempPathFactory) -> Results:
    return made_up.make_study(tmp_path_factory.mktemp("study"))


@pytest.fixture(scope="module")
def metrics(results: Results) -> pd.DataFrame:
    return read_parquet(results.metrics[made_up.MODEL, made_up.BENCHMARK])


def draw(name: str, results: Results, **other):
    return made_up_results.draw(FIGURES[name] | other, results)


def table(results: Results, **other) -> Table:
    return method_table(made_up.artifact("method_table", selection=["held_out"]) | other, results)


def one(metrics: pd.DataFrame, **wanted) -> pd.Series:
    wanted = {
        "metric": "auc",
        "selection": "held_out",
        "evaluation_set": "without_prefixes",
        "draw": 0,
    } | wanted
    for key, value in wanted.items():
        metrics = metrics[metrics[key] == value]
    assert len(metrics) == 1, metrics
    return metrics.iloc[0]


@pytest.mark.parametrize("name", FIGURES)
def test_equal_data_give_equal_bytes(name: str, results: Results, tmp_path: Path):
    digests = []
    for folder in ("first", "second"):
        files = outputs(FIGURES[name], tmp_path / folder)
        draw(name, results).write(files)
        digests.append([hashlib.sha256(path.read_bytes()).hexdigest() for path in files.values()])
    assert digests[0] == digests[1]


def test_a_panel_without_a_subset_is_the_whole_benchmark_and_a_star_every_subset(results: Results, metrics):
    whole = table(results).frame.set_index("method").loc["loss"]
    assert (whole["subset"], whole["value"]) == ("", one(metrics, method="loss", subset="")["value"])
    each = table(results, panels=EACH).frame
    assert list(each.loc[each["method"] == "loss", "subset"]) == ["early", "late"]


def test_average_over_subsets_has_the_interval_of_independent_estimates(results: Results):
    averaged = table(results, panels=EACH, options={"average": "subset"})
    assert [lines[2] for lines in averaged.blocks[0].columns] == ["early", "late", "average"]
    early, late, mean = averaged.blocks[0].rows[0].cells
    assert mean.value == pytest.approx((early.value + late.value) / 2)
    below = [cell.value - cell.low for cell in (early, late)]
    assert mean.low == pytest.approx(mean.value - np.hypot(*below) / 2)
    record = averaged.frame[(averaged.frame["average"] == "subset") & (averaged.frame["method"] == "loss")]
    assert list(record["subset"]) == ["average"]


def test_average_over_draws_has_a_standard_deviation_and_no_interval(results: Results, metrics):
    shown = table(results, options={"across": {"draw": [0, 1]}, "average": "draw"})
    of = next(row for row in shown.blocks[0].rows if row.label == "ReCall")
    values = [one(metrics, method="recall", subset="", draw=at)["value"] for at in (0, 1)]
    assert [cell.value for cell in of.cells[:2]] == pytest.approx(values)
    assert of.cells[2].sd == pytest.approx(np.std(values, ddof=1))
    assert of.cells[2].low is None
    assert of.cells[2].rest.startswith(" ± 0.0")


def test_a_column_over_draws_is_their_mean_with_their_standard_deviation(results: Results, metrics):
    shown = table(results, options={"draws": [0, 1]})
    (column,) = shown.blocks[0].columns
    (cell,) = next(row for row in shown.blocks[0].rows if row.label == "ReCall").cells
    values = [one(metrics, method="recall", subset="", draw=at)["value"] for at in (0, 1)]
    assert cell.value == pytest.approx(np.mean(values))
    assert cell.rest == f" ± {np.std(values, ddof=1):.3f}"
    assert not any("draw" in line for line in column)
    record = shown.frame.set_index("method").loc["recall"]
    assert record["sd"] == pytest.approx(np.std(values, ddof=1))
    assert "mean over 2 draws of shots" in " ".join(shown.notes)


def test_a_star_over_draws_holds_in_every_draw():
    def row(method: str, gain: float, p: float) -> dict:
        keys = {
            "panel": 0,
            "metric": "auc",
            "selection": "held_out",
            "method": method,
            "setting": "",
            "marks": "",
        }
        test = {"baseline": "loss", "difference": gain, "p": p, "p_holm": p}
        return keys | test | {"value": 0.5, "low": None, "high": None, "star": gain > 0 and p <= 0.05}

    first = [row("a", 0.1, 0.01), row("b", 0.1, 0.01), row("c", 0.1, 0.01), row("d", 0.1, 0.01)]
    second = [row("a", 0.1, 0.04), row("b", 0.1, 0.2), row("c", -0.1, 0.01)]
    merged = over_draws([*first, *second], 2)
    assert [(one["method"], one["star"], one["p_holm"]) for one in merged] == [
        ("a", True, 0.04), ("b", False, 0.2), ("c", False, 0.01),
    ]  # fmt: skip


def test_difference_of_independent_intervals_is_the_recovered_variance():
    value, low, high = difference((0.7, 0.6, 0.75), (0.5, 0.45, 0.58))
    assert value == pytest.approx(0.2)
    assert low == pytest.approx(0.2 - np.sqrt(0.1**2 + 0.08**2))
    assert high == pytest.approx(0.2 + np.sqrt(0.05**2 + 0.05**2))
    assert difference((0.7, None, None), (0.5, 0.4, 0.6))[1:] == (None, None)


def test_an_average_without_every_interval_has_none():
    assert average([(0.5, 0.4, 0.6), (0.75, None, None)], "subset") == ((0.625, None, None), None)
    assert average([(0.5, 0.4, 0.6), (0.75, 0.6, 0.8)], "model") == ((0.625, None, None), None)


def test_metrics_stand_side_by_side_and_blocks_part_the_models(results: Results):
    options = {"metrics": ["auc", "tpr_at_5_fpr"], "blocks": "model"}
    (block,) = table(results, panels=EACH, options=options).blocks
    assert block.title.startswith("tiny-small. Held out")
    assert [lines[-1].split(" (")[0] for lines in block.columns] == ["AUC", "TPR@5%FPR"] * 2
    assert all("tiny-small" not in lines for lines in block.columns)


def test_a_variant_is_shown_only_where_it_is_named(results: Results, metrics):
    plain = table(results)
    assert not [row for row in plain.blocks[0].rows if "zero" in row.label]
    named = table(results, methods=["con_recall", "con_recall;access=zero"])
    labels = {row.label: row.cells[0].value for row in named.blocks[0].rows}
    assert list(labels) == ["Con-ReCall", "Con-ReCall, zero access"]
    zero = metrics[metrics["setting"].str.contains("access=zero")]
    assert labels["Con-ReCall, zero access"] == one(zero, subset="")["value"]


def test_what_has_no_prefix_draw_falls_back_to_all_texts_and_says_so(results: Results, tmp_path: Path):
    pair = (made_up.MODEL, made_up.BENCHMARK)
    frame = read_parquet(results.metrics[pair])
    only_all = frame[frame["evaluation_set"] == "all"]
    only_all.to_parquet(tmp_path / "metrics.parquet")
    without = Results(metrics={pair: tmp_path / "metrics.parquet"}, entries=results.entries)
    shown = table(without)
    assert "evaluation set all (all texts)" in shown.notes[0]
    assert {row.label for row in shown.blocks[0].rows} == {"Loss", "Blind (control, no model)"}


def test_roc_curves_are_of_the_texts_without_prefixes(results: Results):
    drawing = draw("roc", results)
    texts = made_up.texts()
    prefixes = draw_prefixes(texts, pool=made_up.POOL, draws=2, seed=3)
    (ids,) = [
        one.ids for one in evaluation_sets(texts, prefixes) if (one.name, one.draw) == ("without_prefixes", 0)
    ]
    assert len(ids) == len(texts) - 2 * made_up.POOL * len(made_up.SUBSETS)
    scores = made_up.scores(texts)
    of = scores[(scores["method"] == "loss") & scores["id"].isin(ids)].merge(
        texts, left_on="id", right_on="text_id"
    )
    curve = drawing.frame[drawing.frame["method"] == "loss"]
    assert np.trapezoid(curve["tpr"], curve["fpr"]) == pytest.approx(
        roc_auc_score(of["label"].astype(int), of["score"])
    )


@pytest.mark.parametrize("name", ["roc", "score_densities"])
def test_curves_may_be_of_the_settings_that_papers_print(name: str, results: Results, metrics):
    frame = draw(name, results, selection=["best_on_test"]).frame
    best = metrics[
        (metrics["selection"] == "best_on_test") & (metrics["metric"] == "auc") & (metrics["subset"] == "")
        & (metrics["evaluation_set"] == "without_prefixes") & metrics["draw"].eq(0)
        & ~metrics["setting"].str.contains("access")
    ].set_index("method")  # fmt: skip
    shown = frame.groupby("method")["setting"].unique().map(list)
    assert shown["con_recall"] == [best.loc["con_recall", "setting"]] != ["gamma=0.5;shots=7"]
    if name == "roc":
        curve = frame[frame["method"] == "con_recall"]
        area = np.trapezoid(curve["tpr"], curve["fpr"])
        assert area == pytest.approx(best.loc["con_recall", "value"])
    with pytest.raises(InputError, match="'held_out' has a setting for each fold"):
        draw(name, results, selection=["held_out"])


def test_shifts_stand_for_every_class_kind_and_number_of_shots(results: Results):
    frame = draw("prefix_shifts", results).frame
    assert len(frame) == 2 * 2 * len(made_up.SHOTS)
    given = read_parquet(results.estimates[made_up.MODEL, made_up.BENCHMARK])
    assert sorted(frame["value"]) == sorted(given["value"])
    with pytest.raises(InputError, match="there is no shift"):
        draw("prefix_shifts", results, panels=[made_up.PANEL | {"subset": "late"}])


def test_pairs_are_mirrored_and_long_data_has_every_p(results: Results):
    shown = pairwise_tests(made_up.artifact("pairwise_tests"), results)
    block = shown.blocks[0]
    columns = [lines[0] for lines in block.columns]
    cells = {
        (row.label.split(" (")[0], name): cell
        for row in block.rows
        for name, cell in zip(columns, row.cells, strict=True)
    }
    assert cells["Loss", "ReCall"].value == pytest.approx(-cells["ReCall", "Loss"].value)
    assert cells["Loss", "Loss"].value is None
    assert len(shown.frame) == 4 * 4  # four methods against chance and each other
    assert shown.frame[["low", "high", "p", "p_holm"]].notna().all(axis=None)


@pytest.mark.parametrize(("p_holm", "starred"), [(0.05, True), (0.051, False)])
def test_only_what_survives_holm_is_called_different(
    results: Results, tmp_path: Path, p_holm: float, starred: bool
):
    pair = (made_up.MODEL, made_up.BENCHMARK)
    tests = read_parquet(results.tests[pair])
    tests.assign(p_holm=p_holm).to_parquet(tmp_path / "tests.parquet")
    names = ("metrics", "benchmarks", "entries")
    changed = Results(
        tests={pair: tmp_path / "tests.parquet"}, **{name: getattr(results, name) for name in names}
    )
    shown = pairwise_tests(made_up.artifact("pairwise_tests"), changed)
    assert any(cell.star for row in shown.blocks[0].rows for cell in row.cells) is starred


def test_audit_of_null_models_counts_methods_and_not_controls(results: Results):
    shown = null_audit(made_up.artifact("null_audit", methods=["blind", "con_recall;access=zero"]), results)
    assert "0 of 1 intervals miss 0.5, no more than chance allows" in shown.reading
    assert "no method differs from chance" in shown.reading
    leak = null_audit(made_up.artifact("null_audit"), results)
    assert "3 of 3 intervals miss 0.5, more than the 1 that chance allows" in leak.reading
    assert leak.blocks[0].rows[0].cells[1].bold
    assert leak.frame["p_holm"].notna().equals(~leak.frame["control"])
    assert "permutation tests" not in leak.reading
    assert leak.blocks[0].rows[0].cells[6].words is None


@pytest.mark.parametrize(
    ("p", "said"), [(0.2, "find no difference (least Holm p 0.60)"), (0.001, "find a difference")]
)
def test_audit_of_null_models_shows_permutation_tests(results: Results, tmp_path: Path, p: float, said: str):
    pair = (made_up.MODEL, made_up.BENCHMARK)
    tests = read_parquet(results.tests[pair])
    permuted = tests[
        tests["test"].eq("bootstrap") & tests["baseline"].eq("chance") & tests["method"].ne("blind")
    ]
    pd.concat([tests, permuted.assign(test="permutation", p=p)]).to_parquet(tmp_path / "tests.parquet")
    changed = replace(results, tests={pair: tmp_path / "tests.parquet"})
    shown = null_audit(made_up.artifact("null_audit"), changed)
    assert f"3 exact permutation tests within documents {said}" in shown.reading
    assert shown.blocks[0].rows[0].cells[6].words == f"{3 * p:.3f}"
    assert shown.frame["p_permutation"].notna().equals(~shown.frame["control"])


def test_costs_are_summed_and_name_what_was_read(results: Results):
    shown = pass_costs(made_up.artifact("pass_costs"), results)
    assert len(shown.frame) == 2 * (1 + 2 * len(made_up.SHOTS))
    by_read = {row.label: [cell.number for cell in row.cells] for row in shown.blocks[1].rows}
    assert by_read["tiny-small: the text"] == ["2", "240", "8,000", "4.0", "3.0", "2,000", "500"]
    assert "tiny-small: the text after shots of non-members" in by_read
    together = [cell.number for cell in shown.blocks[2].rows[0].cells]
    assert together[2:6] == ["72,000", "36.0", "27.0", "667"], "repeats are computed once"
    assert any("32 texts were truncated" in note for note in shown.notes)


def test_loss_curves_tell_training_from_held_out(results: Results):
    drawing = draw("loss_curves", results)
    assert len(drawing.frame) == 300
    assert drawing.frame["heldout_loss"].notna().sum() == 6


def test_many_panels_are_rows_of_one_block(results: Results):
    panels = [made_up.PANEL | {"subset": subset, "label": f"{subset or 'all'}{at}"} for at in range(2)
              for subset in ("", "early", "late")]  # fmt: skip
    audit = blind_audit(made_up.artifact("blind_audit", panels=panels), results)
    (block,) = audit.blocks
    assert [row.label for row in block.rows] == [panel["label"] for panel in panels]
    assert block.stub == "Panel"
    assert len(audit.frame) == 6 * 4
    gap = selection_gap(made_up.artifact("selection_gap", panels=panels), results)
    means, each = gap.blocks
    assert [row.cells[0].number for row in means.rows] == ["6"] * 4
    assert len(each.rows) == 6


def test_settings_beyond_the_methods_own_grid_are_no_choice(results: Results):
    frame = selection_gap(made_up.artifact("selection_gap"), results).frame.set_index("method")
    inside = sum(gamma >= 0.1 for gamma in made_up.GAMMAS) * len(made_up.SHOTS)
    assert dict(frame["settings"]) == {"loss": 1, "recall": 4, "con_recall": inside, "blind": 1}


def test_an_average_of_which_a_value_is_missing_is_missing():
    (value, low, high), spread = average([(0.5, 0.4, 0.6), (float("nan"), None, None)], "draw")
    assert np.isnan(value)
    assert (low, high, spread) == (None, None, None)
