"""DE-COP's tables and figures: what stands in them, what is starred, and that equal results give equal bytes."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import made_up_answers as made_up
import made_up_results
import pytest
import yaml

from pretrace.render.results import Results
from pretrace.render.tables.table import Table
from pretrace.runtime.errors import InputError
from pretrace.runtime.files import read_parquet, write_json, write_parquet

ROOT = Path(__file__).parents[2]
REGISTERED = yaml.safe_load((ROOT / "config" / "artifacts.yaml").read_text(encoding="utf-8"))
PANEL = {"model": made_up.MODEL, "benchmark": made_up.BENCHMARK}
NEED_MORE = {"de_cop_figure4", "de_cop_figure5"}
"""Those that draw lines over several models or lengths."""

WITH_CONTROLS = {f"de_cop_table{number}" for number in (1, 2, 3, 4, 11)}
"""Tables of scores."""


@pytest.fixture(scope="module")
def results(tmp_path_factory: pytest.TempPathFactory) -> Results:
    return made_up.make_study(tmp_path_factory.mktemp("study"))


def artifact(slug: str, **options: Any) -> dict[str, Any]:
    entry = REGISTERED[slug]
    return entry | {"artifact": slug, "panels": [PANEL], "options": entry.get("options", {}) | options}


def rows_of(table: Table) -> dict[str, list[str]]:
    return {row.label: [cell.number for cell in row.cells] for block in table.blocks for row in block.rows}


@pytest.mark.parametrize(
    "slug",
    sorted(
        slug
        for slug, entry in REGISTERED.items()
        if slug.startswith("de_cop") and "unavailable" not in entry and entry["renderer"] != "document_times"
        if slug not in NEED_MORE
    ),
)
def test_every_artifact_of_questions_renders_to_the_same_bytes_twice_with_caution_and_controls(
    slug, results, tmp_path
):
    first, second = (
        made_up_results.render(artifact(slug), results, tmp_path / folder) for folder in ("a", "b")
    )
    for suffix, path in first.items():
        assert path.read_bytes() == second[suffix].read_bytes()
        assert path.stat().st_size > 0
    shown = first["md" if "md" in first else "txt"].read_text(encoding="utf-8")
    assert made_up.CAUTION in shown
    if slug in WITH_CONTROLS:
        assert "Longest option (no model)" in shown
    if slug in ("de_cop_table2", "de_cop_table3"):  # without any spread there is nothing to test
        assert "Odd one out (no model)" in shown


def test_a_table_without_controls_says_so(tmp_path):
    alone = made_up.make_study(tmp_path, more=False)
    for slug in ("de_cop_table1", "de_cop_table3"):
        table = made_up_results.draw(artifact(slug), alone)
        assert any(note.startswith("No control is shown") for note in table.notes)


def test_seconds_a_document_count_every_pass_that_a_method_reads(results, tmp_path):
    own = {"view": "original", "prefix": "", "windows": None, "subset": "", "length": 64}
    views = [own | {"altered": "", "seconds": 8.0}, own | {"altered": "lowercase", "seconds": 4.0},
             own | {"altered": "", "length": 32, "seconds": 100.0}]  # fmt: skip
    about = {"setting": "", "paraphraser": "paraphrase", "subset": "", "length": 64, "documents": 16}
    times = [
        about | {"task": "de_cop", "seconds": 48.0},
        about | {"task": "de_cop", "length": 32, "seconds": 9.0},
    ]
    write_json(tmp_path / "passes.json", {"views": views})
    write_json(tmp_path / "times.json", times)
    pair = (made_up.MODEL, made_up.BENCHMARK)
    timed = Results(
        benchmarks=results.benchmarks,
        entries=results.entries,
        passes={pair: tmp_path / "passes.json"},
        times={pair: tmp_path / "times.json"},
    )
    rows = rows_of(made_up_results.draw(artifact("de_cop_table13"), timed))
    assert rows == {
        "Loss": ["0.500"],
        "Zlib": ["0.500"],
        "Lowercase": ["0.750"],
        "Min-K%": ["0.500"],
        "DE-COP": ["3.000"],
    }


@pytest.mark.parametrize("slug", ["de_cop_figure8", "de_cop_figure9"])
def test_a_document_of_another_name_is_refused_with_the_nearest(slug, results):
    with pytest.raises(InputError, match=r"unknown options\.document 'd99': did you mean 'd09'\?"):
        made_up_results.draw(artifact(slug, document="d99"), results)
    axis = made_up_results.draw(artifact(slug, document="d03"), results).figure.axes[0]
    assert axis.get_title(loc="left").endswith("d03")


def test_the_table_of_accuracies_has_the_mean_of_its_panels(results, tmp_path):
    metrics = read_parquet(results.metrics[made_up.MODEL, made_up.BENCHMARK])
    better = metrics["method"].eq("de_cop") & metrics["metric"].eq("accuracy_members")
    write_parquet(tmp_path / "m.parquet", metrics.assign(value=metrics["value"] + 0.1 * better))
    other = ("better", made_up.BENCHMARK)
    both = replace(
        results,
        metrics=results.metrics | {other: tmp_path / "m.parquet"},
        tests=results.tests | {other: results.tests[made_up.MODEL, made_up.BENCHMARK]},
    )
    given = artifact("de_cop_table3", average="panel") | {"panels": [PANEL, PANEL | {"model": "better"}]}
    table = made_up_results.draw(given, both)
    assert [column[0] for column in table.blocks[0].columns][-1] == "average"
    row = next(row for row in table.blocks[0].rows if row.label == "DE-COP").cells
    assert row[6].value == pytest.approx(row[0].value + 0.05)
    assert row[6].low is None
    assert row[8].value == pytest.approx(row[6].value - row[7].value)
    assert table.frame["average"].eq("panel").sum() == table.frame["model"].eq("better").sum()


def test_lines_over_models_show_the_papers_own_measure_beside_the_roc(results):
    other = ("bigger", made_up.BENCHMARK)
    pair = (made_up.MODEL, made_up.BENCHMARK)
    both = replace(results, metrics=results.metrics | {other: results.metrics[pair]})
    given = artifact("de_cop_figure4") | {"panels": [PANEL, PANEL | {"model": "bigger"}]}
    drawing = made_up_results.draw(given, both)
    metrics = read_parquet(results.metrics[pair])
    own = metrics[
        metrics["method"].eq("de_cop") & metrics["setting"].eq("") & metrics["selection"].eq("default")
    ]
    by_metric = drawing.frame[drawing.frame["method"] == "de_cop"].groupby("metric")["value"].unique()
    assert set(by_metric.index) == {"auc", "auc_as_published"}
    for metric, values in by_metric.items():
        assert list(values) == own.loc[own["metric"] == metric, "value"].tolist(), metric
    labels = [axis.get_ylabel() for axis in drawing.figure.axes[:2]]
    assert labels == ["AUC, with 95 % interval", "AUC as published, with 95 % interval"]
