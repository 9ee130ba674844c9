"""Check the files of texts and answers that a study's user gives, before any job."""

import os
from pathlib import Path

from pretrace.benchmarks.audit_checks import check_audit, check_corpus
from pretrace.benchmarks.loaders.local import check as check_texts
from pretrace.models.entries import AnswersModel
from pretrace.questions.collected import check as check_answers
from pretrace.studies import plan
from pretrace.studies.registries import files_of
from pretrace.studies.study import Study

CHECKED = "PRETRACE_CHECKED"
"""The environment variable with the path of the study whose files are checked. The processes of its jobs inherit it."""


def check_user_files(study: Study) -> list[str]:
    """Read every file of texts or answers of the study's runs, once for the process that plans and those of its jobs.

    Returns:
        The remarks about audits and corpus tests.

    Raises:
        InputError: the first thing that is wrong, with file, line and remedy.
    """
    if os.environ.get(CHECKED) == str(study.path):
        return []
    for slug in sorted({run.benchmark for run in study.runs}):
        if files := files_of(study.benchmarks.entries[slug]):
            check_texts(*files, metrics=plan.needs_classes(study, slug))
    for model, benchmark in plan.question_pairs(study):
        entry = study.models.entries[model]
        if isinstance(entry, AnswersModel) and entry.path is not None:
            check_answers(Path(entry.path), metrics=plan.needs_classes(study, benchmark))
    os.environ[CHECKED] = str(study.path)
    return [*_remarks_of_audits(study), *_remarks_of_corpus_tests(study)]


def _remarks_of_audits(study: Study) -> list[str]:
    """The remarks about each pair of an audited benchmark and the benchmark with its known non-members."""
    audited = {
        (benchmark, plan.calibrates_on(study, model, benchmark) or benchmark)
        for model, benchmark in _shown_by(study, "audit")
    }
    return [
        remark
        for benchmark, known in sorted(audited)
        if (path := _local(study, benchmark))
        for remark in check_audit(path, _known(study, known), _language(study, benchmark))
    ]


def _remarks_of_corpus_tests(study: Study) -> list[str]:
    return [
        remark
        for benchmark in sorted({benchmark for _, benchmark in _shown_by(study, "corpus_test")})
        if (path := _local(study, benchmark))
        for remark in check_corpus(path, _language(study, benchmark))
    ]


def _shown_by(study: Study, renderer: str) -> set[plan.Pair]:
    """The pairs of model and benchmark that artifacts with this renderer show."""
    return {
        pair
        for slug, artifact in study.artifacts.items()
        if artifact.renderer == renderer and artifact.unavailable is None
        for pair in plan.artifact_pairs(study, slug)
    }


def _local(study: Study, slug: str) -> Path | None:
    """The user's file of a benchmark's texts; None for other sources."""
    return next(iter(files_of(study.benchmarks.entries[slug])), None)


def _known(study: Study, slug: str) -> Path | None:
    """The user's file of a benchmark's known non-members: a second one, where its entry names one."""
    return next(reversed(files_of(study.benchmarks.entries[slug])), None)


def _language(study: Study, slug: str) -> str:
    return study.benchmarks.entries[slug].language
