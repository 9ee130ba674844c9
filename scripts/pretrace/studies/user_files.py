"""What the process that runs the workflow says: the checks of a user's files before any job, and the conclusion."""

import gc
import os
import sys
import time
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from pretrace.benchmarks.audit_checks import check_audit
from pretrace.benchmarks.loaders.local import check_texts, texts_of
from pretrace.benchmarks.passages import first_names
from pretrace.benchmarks.slices import Slice
from pretrace.benchmarks.sources import BenchmarkEntry, Text
from pretrace.models.entries import AnswersModel, ModelEntry
from pretrace.questions.collected import check_answers, released_scores
from pretrace.runtime.errors import InputError, printable, shorten
from pretrace.runtime.logs import prepare_terminal, say, warnings_since
from pretrace.studies.audit_study import TEXTS_SLUG, WORKS_SLUG, has_gpu
from pretrace.studies.books import plan_of_works, side_of
from pretrace.studies.estimate import FORWARD
from pretrace.studies.pairs import Pair
from pretrace.studies.plan import Plan
from pretrace.studies.registries import cut_of, path_of, text_files_of
from pretrace.studies.study import Study, load_study

CHECKED = "PRETRACE_CHECKED"
"""The environment variable with the path of the study whose files are checked. The processes of its jobs inherit it."""


_STARTED = time.time()


def plan_workflow(config: Mapping[str, Any], folder: Path) -> Plan:
    """Plan the study that `config` names, print the remarks about its files, and end the process at a user's error."""
    # the bars of libraries that jobs call would tear Snakemake's; what jobs do is in their logs
    os.environ.setdefault("TQDM_DISABLE", "1")
    # a study is many objects that all stay: to search them for garbage takes a sixth of the time of planning
    gc.disable()
    try:
        prepare_terminal()
        plan = Plan(load_study(config, folder))
        for remark in check_user_files(plan, config):
            say(remark, to=sys.stderr)
    except InputError as error:
        sys.exit(f"error: {error}")
    gc.freeze()
    gc.enable()
    return plan


def announce(plan: Plan) -> None:
    """Print the first lines of a run: the study, its measured time if known, and what is made first."""
    study = plan.study
    about = f"about {study.minutes:g} minutes from an empty results/ on 2 cores; " if study.minutes else ""
    say(f"{study.title}; {about}results in results/{study.name}/")
    for path in plan.first:
        say(f"made first: {path}")


def print_conclusion(plan: Plan) -> None:
    """Print the conclusion, the number of warnings and the path of the report, if this run wrote them.

    The report may be there although a figure failed.
    """
    folder = f"results/{plan.study.name}"
    headline = Path(folder, "headline.txt")
    if headline.exists() and headline.stat().st_mtime >= _STARTED:
        print(printable(headline.read_text(encoding="utf-8")), end="")
        folders = ["results/logs", f"{folder}/logs"]
        if warned := len(warnings_since(_STARTED, folders)):
            say(f"{warned} different warnings in the logs: grep -rh WARNING {' '.join(folders)}")
        say(f"the report is {folder}/report.html")


def check_user_files(plan: Plan, config: Mapping[str, Any]) -> list[str]:
    """Read every file of texts or answers of the study's runs, once for the process that plans and its jobs'.

    Returns:
        What the audit of the command line will compare, and the remarks about audits.

    Raises:
        InputError: the first thing that is wrong, with file, line and remedy.
    """
    study = plan.study
    if os.environ.get(CHECKED) == str(study.path):
        return []
    for slug in sorted({run.benchmark for run in study.runs}):
        if files := text_files_of(study.benchmarks.entries[slug]):
            texts = check_texts(
                *files, metrics=plan.needs_classes(slug), cut=cut_of(study.benchmarks.entries[slug])
            )
            _check_chosen(study, slug, texts)
            if plan.needs_classes(slug):
                _check_slices(files[0], texts)
    for pair in plan.asking_pairs:
        entry = pair.model.entry
        if isinstance(entry, AnswersModel) and entry.path is not None:
            check_answers(Path(entry.path), entry.column, metrics=plan.needs_classes(pair.benchmark_slug))
            if entry.column is not None and entry.scores is not None:
                released_scores(Path(entry.scores), entry.column)
    os.environ[CHECKED] = str(study.path)
    told = [] if study.settings.texts is None else description(study, config)
    if study.left_out:
        reasons = "; ".join(f"{slug}: {reason}" for slug, reason in study.left_out.items())
        told.append(f"left out of tables and figures: {reasons}")
    return [*told, *_remarks(plan)]


def _check_chosen(study: Study, slug: str, texts: Sequence[Text]) -> None:
    """Check that the user's own texts have the subsets and lengths that runs and panels choose of them."""
    subsets, lengths = {text.subset for text in texts}, {text.length for text in texts}
    chosen: list[tuple[str, Sequence[str], Sequence[int | None]]] = [
        (f"runs: {run.model} on {slug}", run.subsets or [], run.lengths or [])
        for run in study.runs
        if run.benchmark == slug
    ]
    chosen += [
        (f"artifacts.{name}: the panel {panel.model} on {slug}", [panel.subset or ""], [panel.length])
        for name, artifact in study.artifacts.items()
        for panel in artifact.panels
        if panel.benchmark == slug
    ]
    for where, named_subsets, named_lengths in chosen:
        for key, named, there in (("subset", named_subsets, subsets), ("length", named_lengths, lengths)):
            for value in named:
                if value not in {"", "*", None, *there}:
                    known = sorted(map(str, there - {"", None})) or f"no {key}s"
                    raise InputError(
                        f"{study.path}: {where}: its texts have no {key} {shorten(repr(value))}; they have {known}."
                    )


def _check_slices(path: Path, texts: Sequence[Text]) -> None:
    """Refuse a column `length` that cuts the texts into slices too small to evaluate, as each text's characters do."""
    classes: dict[Slice, set[int]] = defaultdict(set)
    for text in texts:
        if text.label is not None:
            classes[text.slice].add(text.label)
    lengths = {part.length for part in classes} - {None}
    lacking = sum(len(labels) < 2 for labels in classes.values())
    if len(lengths) > MOST_LENGTHS and lacking > len(classes) / 4:
        raise InputError(
            f"{path}: the column length has {len(lengths)} values for {len(texts)} texts, and {lacking} of "
            f"{len(classes)} slices (texts of one length and subset) have one class alone. Is it each text's number of "
            "characters, words or tokens? Leave the column out, or give texts that are compared the same length."
        )


MOST_LENGTHS = 5
"""More lengths than a benchmark has by design, where slices lack a class."""


def _remarks(plan: Plan) -> Iterator[str]:
    """Yield the remarks about audits, with the files of their known non-members."""
    entries = plan.study.benchmarks.entries
    audited = {(pair.benchmark_slug, pair.known.benchmark_slug) for pair in _shown_by(plan, "audit")}
    for slug, known in sorted(audited):
        if files := text_files_of(entries[slug]):
            known_texts = next(reversed(text_files_of(entries[known])), None)
            entry = entries[slug]
            yield from check_audit(
                files[0], known_texts, entry.language, cut_of(entry), randomised=entry.randomised
            )


def _shown_by(plan: Plan, renderer: str) -> list[Pair]:
    """Return the pairs that artifacts with this renderer show."""
    return [
        pair
        for artifact in plan.study.artifacts.values()
        if artifact.renderer == renderer and not artifact.unavailable
        for pair in plan.pairs_of(artifact)
    ]


CPU_FLOPS = 3e11
"""Operations a second of a forward pass on two cores: SmolLM2-135M in bfloat16, AMD EPYC, 1,100 tokens a second."""

ROUGH = 2.0
"""A pass takes up to this number of times the time of its operations alone; starts of jobs add a minute."""


def description(study: Study, config: Mapping[str, Any]) -> list[str]:
    """Return what an audit will compare, on which device and for about how long, and what was read of works."""
    entry = study.benchmarks.entries[TEXTS_SLUG]
    texts = texts_of(*text_files_of(entry), cut=cut_of(entry))
    suspects, known = (
        [text for text in texts if (text.label == 0) == is_known] for is_known in (False, True)
    )
    model = study.models.entries[study.runs[0].model]
    whole = (
        texts_of(*text_files_of(study.benchmarks.entries[WORKS_SLUG]))
        if WORKS_SLUG in study.benchmarks.entries
        else []
    )
    read = [text.text for text in [*texts, *whole]]
    tokens, counted = _tokens(read, model, study)
    characters = sum(map(len, read))
    gpu = config["device"].startswith("cuda") or (config["device"] == "auto" and has_gpu())
    time = _time(tokens, model.parameters, config["gpu_flops"] if gpu else CPU_FLOPS)
    unread = _name_documents(known)
    named = f"in question (label null): {_name_documents(suspects)}; given as unread (label 0): {unread}"
    return [
        *(_works_told(entry) if whole else []),
        f"was {config['model']} trained on {_count(suspects)}? They are compared with {_count(known)} "
        f"given as unread: {characters:,} characters, {'' if counted else 'about '}{tokens:,.0f} tokens on the "
        f"{'GPU' if gpu else 'CPU'}, {time}. "
        f"The answer will be in results/{study.name}/report.html",
        *[named] * any(text.document for text in texts),
    ]


def _works_told(entry: BenchmarkEntry) -> Iterator[str]:
    cut = cut_of(entry)
    assert cut is not None
    ours, theirs = map(side_of, text_files_of(entry))
    return plan_of_works(ours, theirs, cut)


BYTES_OF_A_TOKEN = 4, 1.5
"""Bytes of UTF-8 of a token where no tokenizer is at hand: of ASCII, and of other scripts, which take more tokens."""


def _tokens(texts: Sequence[str], model: ModelEntry, study: Study) -> tuple[float, bool]:
    """Return the number of tokens of the texts, and whether the model's tokenizer counted them."""
    folder = path_of(model) or f"results/models/{study.runs[0].model}"
    file = Path(folder, "tokenizer.json")
    if file.is_file():
        from tokenizers import Tokenizer

        encodings = Tokenizer.from_file(str(file)).encode_batch(texts, add_special_tokens=False)
        return sum(len(encoding.ids) for encoding in encodings), True
    ascii_bytes, others = BYTES_OF_A_TOKEN
    plain = sum(character.isascii() for text in texts for character in text)
    return plain / ascii_bytes + (sum(len(text.encode()) for text in texts) - plain) / others, False


def _name_documents(texts: Sequence[Text]) -> str:
    """Return the names of the first documents, so that swapped labels are noticed."""
    names = dict.fromkeys(shorten(text.document) for text in texts if text.document)
    return first_names(list(names)) or "no document is named"


def _count(texts: Sequence[Text]) -> str:
    documents = len({text.document or text.text_id for text in texts})
    return f"{len(texts)} text{'s' * (len(texts) != 1)} of {documents} document{'s' * (documents != 1)}"


def _time(tokens: float, parameters: float | None, flops: float) -> str:
    if parameters is None:
        return "for a time that depends on the model's size"
    minutes = 1 + ROUGH * tokens * FORWARD * parameters / flops / 60
    return f"about {max(2, minutes):.0f} minutes" if minutes < 90 else f"about {minutes / 60:.0f} hours"
