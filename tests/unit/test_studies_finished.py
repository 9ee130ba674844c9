"""What a finished study says on the terminal and on its first page."""

from pathlib import Path

import made_up_results as made_up
import pytest
import test_render_golden as golden
from test_studies_audit import PLAN, seal_of

from pretrace.render.artifact import Artifact
from pretrace.studies.conclusion import FinishedStudy

CITATION = Path(__file__).parents[2] / "CITATION.cff"
AUDIT = made_up.artifact("audit", panels=[golden.OWN])


@pytest.fixture
def study(tmp_path) -> FinishedStudy:
    folder = tmp_path / "results" / "study"
    folder.mkdir(parents=True)
    made_up.render(AUDIT, golden.STUDIES["audit_evidence"](tmp_path / "in"), folder)
    plan = PLAN | {"versions": {"pretrace": "c1", "code": "ab"}}
    seals = seal_of(plan)
    seals = seal_of(plan | {"settings": {"seed": 1}}, seals, scores_existed=True)
    return FinishedStudy([Artifact.model_validate(AUDIT)], folder, seals)


def test_a_run_ends_with_the_answer_then_with_what_makes_it_doubtful(study):
    answer, *others = study.conclusion
    assert answer.startswith("Evidence of training")
    assert study.doubts
    assert others[-len(study.doubts) :] == study.doubts


def test_only_an_audit_has_a_cover(study):
    cover = study.cover(CITATION, "2026-01-02")
    headings = [heading for heading, _ in cover]
    assert headings == ["Model", "Sealed plan", "This page", "Cite as"]
    without_seals = FinishedStudy(study.artifacts, study.folder)
    assert without_seals.cover(Path("not there"), "2026-01-02") == []
    assert without_seals.doubts == without_seals.sealed == []
