"""Tables and the data of figures of three made-up studies are as they were last agreed on, character by character.

After an intended change, write the files again with `PYTHONPATH=scripts:tests:tests/unit python
tests/unit/test_render_golden.py`, and read what differs: `git diff tests/unit/golden`.
"""

import tempfile
from pathlib import Path
from typing import Any

import made_up_answers
import made_up_prefixes
import made_up_results
import pandas as pd
import pytest
import yaml

from pretrace.render.results import Results

ROOT = Path(__file__).parents[2]
GOLDEN = Path(__file__).parent / "golden"
REGISTERED = yaml.safe_load((ROOT / "config" / "artifacts.yaml").read_text(encoding="utf-8"))
STUDIES = {"plain": made_up_results, "prefixes": made_up_prefixes, "questions": made_up_answers}

BOTH = [made_up_results.PANEL, made_up_results.OTHER_PANEL]
EACH = [made_up_prefixes.PANEL | {"subset": "*"}]
PARTS = {"CLD": "a=0.01;upper_bound=false;first_occurrence=false", "+SFO": "a=0.01"}
BARS = [BOTH[0], BOTH[0] | {"label": "own", "settings": {"CLD": "a=10", "+SFO": "a=1"}}]
APART = [made_up_prefixes.PANEL | {"subset": subset, "label": subset} for subset in ("early", "late")]
HELD_OUT = {"selection": ["held_out"]}
ANSWERED = {"model": made_up_answers.MODEL, "benchmark": made_up_answers.BENCHMARK}


def plain(renderer: str, **other: Any) -> tuple[str, dict[str, Any]]:
    return "plain", made_up_results.artifact(renderer, **{"panels": BOTH} | other)


def prefixes(renderer: str, **other: Any) -> tuple[str, dict[str, Any]]:
    return "prefixes", made_up_prefixes.artifact(renderer, **other)


def questions(slug: str, **options: Any) -> tuple[str, dict[str, Any]]:
    entry = REGISTERED[slug]
    return "questions", entry | {"panels": [ANSWERED], "options": entry.get("options", {}) | options}


ARTIFACTS = {
    "methods": plain("method_table", methods=["blind", "zlib", "dc_pdd", "min_k", "surp"], baseline="min_k"),
    "blind_audit": plain("blind_audit"),
    "settings": plain("setting_table", methods=["dc_pdd", "blind"], options={"x": "a"}),
    "selection_gap": plain("selection_gap"),
    "statistics": plain("benchmark_statistics"),
    "headline": plain("headline", methods=["loss", "min_k_pp", "blind"]),
    "placebos": plain("placebo_ranks", methods=["loss", "blind"], panels=BOTH[:1]),
    "heatmap": plain("heatmap", options={"method": "surp", "x": "eps", "y": "percentile"}, panels=BOTH[:1]),
    "parts": plain("ablation_bars", options={"method": "dc_pdd", "settings": PARTS}, panels=BARS),
    "subsets": prefixes("method_table", panels=EACH, options={"average": "subset"}, **HELD_OUT),
    "draws": prefixes("method_table", options={"draws": [0, 1]}, **HELD_OUT),
    "each_draw": prefixes("method_table", options={"across": {"draw": [0, 1]}, "average": "draw"}, **HELD_OUT),
    "metrics": prefixes("method_table", panels=EACH, options={"metrics": ["auc", "tpr_at_5_fpr"], "blocks": "model"}),
    "variants": prefixes("method_table", methods=["con_recall", "con_recall;access=zero"], **HELD_OUT),
    "pairs": prefixes("pairwise_tests"),
    "null_audit": prefixes("null_audit"),
    "without_placebos": prefixes("blind_audit", panels=APART),
    "costs": prefixes("pass_costs"),
    "shifts": prefixes("prefix_shifts"),
    "over_shots": prefixes("method_lines", options={"x": "shots"}),
    "over_gamma": prefixes("method_lines", methods=["recall", "con_recall"], options={"x": "gamma"}),
    "documents": questions("de_cop_table2"),
    "differences": questions("de_cop_table11"),
    "accuracies": questions("de_cop_table3"),
    "calibration": questions("de_cop_table12"),
    "letters": questions("de_cop_figure9", document="d10"),
    "positions": questions("de_cop_figure8"),
    "positions_of_one": questions("de_cop_figure8", document="d03"),
}  # fmt: skip


def studies(folder: Path) -> dict[str, Results]:
    return {name: module.make_study(folder / name) for name, module in STUDIES.items()}


def shown(name: str, results: dict[str, Results], folder: Path) -> str:
    """The Markdown of a table; the reading of a figure and its data, with four digits."""
    study, artifact = ARTIFACTS[name]
    files = made_up_results.render({**artifact, "artifact": name}, results[study], folder)
    if "md" in files:
        return files["md"].read_text(encoding="utf-8")
    data = pd.read_csv(files["csv"])
    data = data[
        [column for column in data if data[column].nunique(dropna=False) > 1]
    ]  # the rest is the panel
    return files["txt"].read_text(encoding="utf-8") + data.round(4).to_csv(index=False, lineterminator="\n")


@pytest.fixture(scope="module")
def results(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Results]:
    return studies(tmp_path_factory.mktemp("studies"))


@pytest.mark.parametrize("name", ARTIFACTS)
def test_an_artifact_is_as_it_was(name: str, results: dict[str, Results], tmp_path: Path):
    assert shown(name, results, tmp_path) == (GOLDEN / f"{name}.md").read_text(encoding="utf-8")


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as made:
        given = studies(Path(made))
        for name in ARTIFACTS:
            (GOLDEN / f"{name}.md").write_text(shown(name, given, Path(made) / "out"), encoding="utf-8")
