"""What a study computes is shown: every run, and in the embedded study every method and variant."""

from pathlib import Path

import pytest
import yaml

from pretrace.evaluation.grids import named_variant
from pretrace.methods.settings import setting_name, settings
from pretrace.studies import load_study
from pretrace.studies.artifacts import Artifact

ROOT = Path(__file__).parents[2]
CONFIG = yaml.safe_load((ROOT / "config" / "config.yaml").read_text(encoding="utf-8"))
EVERY_METHOD = {"method_table", "headline", "blind_audit"}
"""Renderers that show all methods of their panels, but no variants, if the artifact names none."""
OF_EVERY_RUN = {"reproduction", "reproduction_figure"}
"""Artifacts about all runs, whatever else shows them."""


def shows(artifact: Artifact, model: str, benchmark: str, method: str) -> bool:
    if artifact.unavailable or (model, benchmark) not in {panel.pair for panel in artifact.panels}:
        return False
    if "metrics" not in artifact.needs:
        return False
    if artifact.options.method == method.split(";")[0]:  # with each setting that the artifact names
        return True
    if not artifact.methods:
        return artifact.renderer in EVERY_METHOD and ";" not in method
    return method in artifact.methods


def test_every_computed_method_has_a_row():
    study = load_study(CONFIG, ROOT / "config")
    computed: dict[str, set[tuple[str, str]]] = {}
    for run in study.runs:
        for chosen in (*run.methods, *run.questions):
            for setting in settings(chosen.method, chosen.parameters):
                name = named_variant(chosen.method, setting_name(chosen.method, setting))
                computed.setdefault(name, set()).add((run.model, run.benchmark))
    assert {"neighbor;neighbours=10", "ref;form=ratio", "rmia", "de_cop"} <= computed.keys()
    unshown = {
        method
        for method, pairs in computed.items()
        if not any(shows(artifact, *pair, method) for artifact in study.artifacts.values() for pair in pairs)
    }
    assert unshown == set()


@pytest.mark.parametrize("name", ["embedded", "paper"])
def test_every_run_is_in_a_panel(name):
    study = load_study(CONFIG | {"study": name}, ROOT / "config")
    shown = {
        panel.pair
        for slug, artifact in study.artifacts.items()
        if slug not in OF_EVERY_RUN and not artifact.unavailable
        for panel in artifact.panels
    }
    assert {(run.model, run.benchmark) for run in study.runs} <= shown
