"""The checks of a user's files before any job, and the remarks about them."""

import os
from collections import defaultdict
from collections.abc import Collection, Iterator, Sequence, Set
from pathlib import Path

from pretrace.audit.file_checks import check_audit
from pretrace.benchmarks.loaders.dataset import DataSet, check_splits
from pretrace.benchmarks.sources import Text
from pretrace.benchmarks.subsets_and_lengths import Slice
from pretrace.evaluation.metrics import EACH, FEWEST_DOCUMENTS
from pretrace.models.entries import AnswersModel
from pretrace.questions.collected import check_answers, released_scores
from pretrace.runtime.errors import InputError, shorten
from pretrace.runtime.files import JsonObject
from pretrace.studies.audit.announcement import description
from pretrace.studies.audit.checks_before_scores import told_before_scores
from pretrace.studies.audit.user_texts import read_texts, texts_of_runs
from pretrace.studies.machine import lacks
from pretrace.studies.pairs import Pair
from pretrace.studies.plan import Plan
from pretrace.studies.registries import cut_of, left_out_of, text_files_of
from pretrace.studies.study import Study
from pretrace.studies.workload import slices_read
from pretrace.views.prefixes import check_pool, texts_of_kind
from pretrace.views.readings import PREFIX_KINDS

CHECKED = "PRETRACE_CHECKED"
"""The environment variable with the path of the study whose files are checked. The
processes of its jobs inherit it."""


def check_user_files(plan: Plan, config: JsonObject) -> list[str]:
    """Read every file of texts or answers of the study's runs, once for the process
    that plans and those of its jobs.

    Returns:
        What the audit of the command line will compare, and the remarks about audits.

    Raises:
        InputError: the first thing that is wrong, with file, line and remedy.
    """
    study = plan.study
    if os.environ.get(CHECKED) == str(study.path):
        return []
    about_books = []
    for slug in study.benchmarks_of_runs:
        entry = study.benchmarks.entries[slug]
        files = text_files_of(entry)
        texts = read_texts(plan, slug) if files else []
        _check_shots(plan, slug, texts)
        if files:
            _check_chosen(study, slug, {text.slice for text in texts})
            if _asks_de_cop(plan, slug):
                about_books.append(_books_of_de_cop(texts, files[0]))
        if isinstance(entry, DataSet) and entry.path is not None:
            check_splits(entry, Path(entry.path))
    for pair in plan.asking_pairs:
        model = pair.model.entry
        if isinstance(model, AnswersModel) and model.path is not None:
            metrics = plan.needs_classes(pair.benchmark_slug)
            slices = check_answers(Path(model.path), model.column, metrics=metrics)
            _check_chosen(study, pair.benchmark_slug, slices, pair.model_slug)
            if model.column is not None and model.scores is not None:
                released_scores(Path(model.scores), model.column)
    os.environ[CHECKED] = str(study.path)
    told = [] if study.settings.texts is None else description(plan, config)
    if study.left_out:
        reasons = [f"{slug}: {reason}" for slug, reason in study.left_out.items()]
        told.append(f"left out of tables and figures: {'; '.join(reasons)}")
    told += [*lacks(plan), *_remarks(plan), *about_books]
    read_texts.cache_clear()
    return told


def _check_chosen(
    study: Study, slug: str, slices: Collection[Slice], model: str | None = None
) -> None:
    """Check that the user's own texts, or a model's answers, have the subsets and
    lengths that runs and panels choose.

    With `model`, only its runs and panels count: each model has answers of its own.
    """
    subsets = {part.subset for part in slices}
    lengths = {part.length for part in slices}
    for run in study.runs:
        if run.benchmark == slug and model in (None, run.model):
            where = f"{study.path}: runs: {run.model} on {slug}"
            _require_parts(where, "subset", run.subsets or [], subsets)
            _require_parts(where, "length", run.lengths or [], lengths)
    for name, artifact in study.artifacts.items():
        where = f"{study.path}: artifacts.{name}: the panel"
        for panel in artifact.panels:
            if panel.benchmark == slug and model in (None, panel.model):
                place = f"{where} {panel.model} on {slug}"
                _require_parts(place, "subset", [panel.subset], subsets)
                _require_parts(place, "length", [panel.length], lengths)


def _check_shots(plan: Plan, slug: str, texts: Sequence[Text]) -> None:
    """Check that a benchmark has more texts than shots drawn from them, if a model
    reads any after shots; `texts` are the user's own, else its entry states their
    number."""
    entry = plan.study.benchmarks.entries[slug]
    prefix = entry.prefix
    pairs = [pair for pair in plan.reading_pairs if pair.benchmark_slug == slug]
    if prefix is None or not any(pair.draws_shots for pair in pairs):
        return
    for place in [] if texts else slices_read(entry):
        if place.stated and place.stated < 2 * (prefix.pool + 1):
            raise InputError(
                f"a pool of {prefix.pool} texts of each class leaves none of the "
                f"{place.stated} of {slug} to evaluate; lower `pool` under its key "
                "prefix, or ask for fewer shots."
            )
    different: dict[tuple[Slice, int | None], set[str]] = defaultdict(set)
    for text in texts:
        different[text.slice, text.label].add(text.text)
    for (part, known), own in different.items():
        for kind, label in PREFIX_KINDS.items():
            if label == known:
                where = f"{texts_of_kind(kind, part.subset)} of {slug}"
                check_pool(prefix.pool, len(own), where, part.length)


def _require_parts(
    where: str, key: str, chosen: Sequence[object], there: Set[object]
) -> None:
    """Raise `InputError` if texts do not have a subset or length that is chosen."""
    for value in chosen:
        if value not in {"", EACH, None, *there}:
            known = sorted(map(str, there - {"", None})) or f"no {key}s"
            raise InputError(
                f"{where}: its texts have no {key} {shorten(repr(value))}; they have "
                f"{known}."
            )


def _remarks(plan: Plan) -> Iterator[str]:
    """Yield the remarks about audits, with the files of their known non-members."""
    entries = plan.study.benchmarks.entries
    audited: dict[tuple[str, str], list[Pair]] = {}
    for artifact in plan.study.artifacts.values():
        if artifact.renderer != "audit" or artifact.unavailable:
            continue
        for pair in plan.pairs_of(artifact):
            slugs = pair.benchmark_slug, pair.known.benchmark_slug
            audited.setdefault(slugs, []).append(pair)
    for (slug, known), pairs in sorted(audited.items()):
        entry = entries[slug]
        if files := text_files_of(entry):
            known_texts = next(reversed(text_files_of(entries[known])), None)
            yield from check_audit(
                files[0],
                known_texts,
                entry.language,
                cut_of(entry),
                left_out_of(entry),
                randomised=entry.randomised,
            )
            if known_texts is not None and not entry.randomised:
                yield from _checked_before_scores(plan, files[0], pairs)


def _checked_before_scores(
    plan: Plan, file: Path, pairs: Sequence[Pair]
) -> Iterator[str]:
    """Yield what the checks of audits of one benchmark find without a score, each line
    once."""
    told: dict[str, None] = {}
    for pair in pairs:
        own = _by_label(texts_of_runs(plan, pair))
        known = _by_label(texts_of_runs(plan, pair.known))
        methods = set()
        for run in pair.runs:
            for item in run.methods:
                methods.add(item.method)
        lines = told_before_scores(
            own[None] or own[1],
            known[0],
            file,
            pair.benchmark.entry.language,
            methods=methods,
        )
        told |= dict.fromkeys(lines)
    yield from told


def _by_label(texts: Sequence[Text]) -> dict[int | None, list[Text]]:
    """Return the texts of each label; [] for a label that none has."""
    by_label: dict[int | None, list[Text]] = defaultdict(list)
    for text in texts:
        by_label[text.label].append(text)
    return by_label


def _asks_de_cop(plan: Plan, slug: str) -> bool:
    """Tell whether DE-COP asks a model about a benchmark."""
    for pair in plan.asking_pairs:
        if pair.benchmark_slug == slug and "de_cop" in pair.methods:
            return True
    return False


def _books_of_de_cop(texts: Sequence[Text], file: Path) -> str:
    """Say how many whole books DE-COP compares, and how many it takes."""
    by_label = _by_label(texts)
    suspects = len({text.document for text in by_label[1]})
    known = len({text.document for text in by_label[0]})
    said = (
        f"{file}: DE-COP compares whole books: {suspects} in question (label 1) with "
        f"{known} that the model cannot have read (label 0). A p takes "
        f"{FEWEST_DOCUMENTS} of each"
    )
    is_enough = min(suspects, known) >= FEWEST_DOCUMENTS
    return said if is_enough else f"{said}: add books"
