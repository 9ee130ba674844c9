"""What the process that runs the workflow says: the checks of a user's files before any
job, and the conclusion."""

import gc
import os
import sys
import time
from collections.abc import Collection, Iterator, Mapping, Sequence
from functools import lru_cache
from pathlib import Path
from typing import Any

from pretrace.benchmarks.audit_checks import check_audit
from pretrace.benchmarks.audit_design import (
    FEWEST_DOCUMENTS,
    TUNED_TOLD,
    has_p,
    known_for_p,
)
from pretrace.benchmarks.loaders.dataset import DataSet, check_splits
from pretrace.benchmarks.loaders.local import check_texts
from pretrace.benchmarks.passages import first_names
from pretrace.benchmarks.slices import Slice
from pretrace.benchmarks.sources import BenchmarkEntry, Text
from pretrace.models.adapters import read_adapter
from pretrace.models.bases import check_same_tokens
from pretrace.models.checkpoint import ADAPTER
from pretrace.models.entries import AdapterModel, AnswersModel, ApiModel, ModelEntry
from pretrace.questions.alignment import CONTEXT
from pretrace.questions.collected import check_answers, released_scores
from pretrace.runtime.code import scripts_folder
from pretrace.runtime.errors import InputError, printable, shorten
from pretrace.runtime.files import read_json, sha256_file, write_json
from pretrace.runtime.logs import prepare_terminal, say, warnings_since
from pretrace.runtime.names import check_path
from pretrace.studies.audit_study import (
    TEXTS_SLUG,
    WORKS_SLUG,
    base_named,
    has_gpu,
    slug_of,
)
from pretrace.studies.before_scores import told_before_scores
from pretrace.studies.books import plan_of_works, side_of
from pretrace.studies.estimate import BYTES_A_TOKEN, counted, jobs_of, tokenizer_here
from pretrace.studies.keys import Config
from pretrace.studies.machine import lacks, small_partitions
from pretrace.studies.pairs import Pair
from pretrace.studies.plan import Plan
from pretrace.studies.registries import cut_of, left_out_of, path_of, text_files_of
from pretrace.studies.stages.models import Model
from pretrace.studies.study import Study, load_study

CHECKED = "PRETRACE_CHECKED"
"""The environment variable with the path of the study whose files are checked. The
processes of its jobs inherit it."""


_STARTED = time.time()
# different warnings that end a run; of more it says how many there are, and where
WARNINGS_SHOWN = 3


def fill_defaults(config: dict[str, Any]) -> None:
    """Add the keys that a configuration leaves out: rules ask for them by name.

    That of a workflow which uses this one as a module may have `study` alone.
    """
    for key, field in Config.model_fields.items():
        if isinstance(field.default, bool | int | float | str):
            config.setdefault(key, field.default)


def plan_workflow(config: Mapping[str, Any], folder: Path) -> Plan:
    """Plan the study that `config` names, print the remarks about its files, and end
    the process at a user's error."""
    # the bars of libraries that jobs call would tear Snakemake's; what jobs do is in
    # their logs
    os.environ.setdefault("TQDM_DISABLE", "1")
    os.environ["PRETRACE_JOB"] = "1"  # in the processes that this one starts
    # a study is many objects that all stay: to search them for garbage takes a sixth of
    # the time of planning
    gc.disable()
    try:
        prepare_terminal()
        # scripts of rules, and prompts, which are inputs of rules
        for own in (scripts_folder(), folder):
            check_path(own)
        plan = Plan(load_study(config, folder))
        check_study_file(plan.study)
        for remark in check_user_files(plan, config):
            say(remark, to=sys.stderr)
    except InputError as error:
        sys.exit(f"error: {error}")
    gc.freeze()
    gc.enable()
    return plan


def announce(plan: Plan, partitions: str | Path | None = None) -> None:
    """Print the first lines of a run: the study, its measured time if known, and what
    is made first.

    Where jobs go to a cluster, `partitions` is the file of its partitions: what none of
    them takes is told.
    """
    study = plan.study
    record_study_file(study)
    about = (
        f"about {study.minutes:g} minutes from an empty results/ on 2 cores; "
        if study.minutes
        else ""
    )
    say(f"{study.title}; {about}results in results/{study.name}/")
    for path in plan.first:
        say(f"made first: {path}")
    for sentence in small_partitions(plan, Path(partitions)) if partitions else ():
        say(sentence, to=sys.stderr)


def study_file(study: Study) -> str:
    """Return the name of a study of config/, else its file, relative to the working
    directory if it lies there."""
    file = study.path.resolve()
    if file.parent == (study.folder / "studies").resolve():
        return file.stem
    return str(
        file.relative_to(Path.cwd()) if file.is_relative_to(Path.cwd()) else file
    )


def record_study_file(study: Study) -> None:
    """Write down whose results those under a study's name are."""
    write_json(
        _record_of(study),
        {"study_file": study_file(study), "sha256": sha256_file(study.path)},
    )


def check_study_file(study: Study) -> None:
    """Check that the results under a study's name are not those of another study file.

    An edited file is the same, and so is one that was moved. Raises `InputError` with
    both files.
    """
    record, file = _record_of(study), study_file(study)
    known = read_json(record) if record.is_file() else {"study_file": file}
    if not isinstance(known, dict) or not isinstance(known.get("study_file"), str):
        raise InputError(
            f"{record} is damaged. Delete it, if the results beside it are those of "
            f"{study.path}."
        )
    was_moved = not Path(known["study_file"]).exists() and known.get(
        "sha256"
    ) == sha256_file(study.path)
    if known["study_file"] != file and not was_moved:
        raise InputError(
            f"{study.path}: study: results/{study.name}/ has the results of another "
            f"study file of that name, {known['study_file']}. Give this study another "
            f"name; or, if it is the same study, delete {record}."
        )


def _record_of(study: Study) -> Path:
    return Path(f"results/{study.name}/study.json")


def print_conclusion(plan: Plan) -> None:
    """Print the conclusion, the number of warnings and the path of the report, if this
    run wrote them.

    The report may be there although a figure failed.
    """
    folder = f"results/{plan.study.name}"
    headline = Path(folder, "headline.txt")
    if headline.exists() and headline.stat().st_mtime >= _STARTED:
        print(printable(headline.read_text(encoding="utf-8")), end="")
        folders = ["results/logs", f"{folder}/logs"]
        warned = warnings_since(_STARTED, folders)
        for warning in warned[:WARNINGS_SHOWN]:
            say(f"warning: {warning}")
        if len(warned) > WARNINGS_SHOWN:
            say(
                f"{len(warned)} different warnings in the logs: grep -rh WARNING "
                f"{' '.join(folders)}"
            )
        say(f"the report is {folder}/report.html")


def check_user_files(plan: Plan, config: Mapping[str, Any]) -> list[str]:
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
    for slug in sorted({run.benchmark for run in study.runs}):
        entry = study.benchmarks.entries[slug]
        files = text_files_of(entry)
        if files:
            texts = read_texts(plan, slug)
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
        reasons = "; ".join(
            f"{slug}: {reason}" for slug, reason in study.left_out.items()
        )
        told.append(f"left out of tables and figures: {reasons}")
    told += [*lacks(plan), *_remarks(plan), *about_books]
    read_texts.cache_clear()
    return told


# an audit reads two benchmarks, of passages and of whole works, or of both sides: each
# once, because works take seconds
@lru_cache(maxsize=2)
def read_texts(plan: Plan, slug: str) -> list[Text]:
    """Return the texts of a benchmark's files, which are the user's, checked."""
    entry = plan.study.benchmarks.entries[slug]
    return check_texts(
        *text_files_of(entry),
        metrics=plan.needs_classes(slug),
        cut=cut_of(entry),
        left_out=left_out_of(entry),
    )


def _check_chosen(
    study: Study, slug: str, slices: Collection[Slice], model: str | None = None
) -> None:
    """Check that the user's own texts, or a model's answers, have the subsets and
    lengths that runs and panels choose.

    With `model`, only its runs and panels count: each model has answers of its own.
    """
    chosen: list[tuple[str, Sequence[str], Sequence[int | None]]] = []
    for run in study.runs:
        if run.benchmark == slug and model in (None, run.model):
            chosen.append(
                (f"runs: {run.model} on {slug}", run.subsets or [], run.lengths or [])
            )
    for name, artifact in study.artifacts.items():
        for panel in artifact.panels:
            if panel.benchmark == slug and model in (None, panel.model):
                where = f"artifacts.{name}: the panel {panel.model} on {slug}"
                chosen.append((where, [panel.subset or ""], [panel.length]))
    subsets = {part.subset for part in slices}
    lengths = {part.length for part in slices}
    for where, named_subsets, named_lengths in chosen:
        for key, named, there in (
            ("subset", named_subsets, subsets),
            ("length", named_lengths, lengths),
        ):
            for value in named:
                if value not in {"", "*", None, *there}:
                    known = sorted(map(str, there - {"", None})) or f"no {key}s"
                    raise InputError(
                        f"{study.path}: {where}: its texts have no {key} "
                        f"{shorten(repr(value))}; they have {known}."
                    )


def _remarks(plan: Plan) -> Iterator[str]:
    """Yield the remarks about audits, with the files of their known non-members."""
    entries = plan.study.benchmarks.entries
    audited: dict[tuple[str, str], list[Pair]] = {}
    for pair in _shown_by(plan, "audit"):
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
        own = _texts_of_runs(plan, pair)
        known = _texts_of_runs(plan, pair.known)
        unlabelled = [text for text in own if text.label is None]
        methods = {item.method for run in pair.runs for item in run.methods}
        lines = told_before_scores(
            unlabelled or [text for text in own if text.label == 1],
            [text for text in known if text.label == 0],
            file,
            pair.benchmark.entry.language,
            methods=methods,
        )
        told |= dict.fromkeys(lines)
    yield from told


def _texts_of_runs(plan: Plan, pair: Pair) -> list[Text]:
    """Return the texts of a benchmark's files that the runs of a pair read."""
    read = []
    for text in read_texts(plan, pair.benchmark_slug):
        if any(text.slice.is_among(run.subsets, run.lengths) for run in pair.runs):
            read.append(text)
    return read


def _asks_de_cop(plan: Plan, slug: str) -> bool:
    """Tell whether DE-COP asks a model about a benchmark."""
    for pair in plan.asking_pairs:
        if pair.benchmark_slug == slug and "de_cop" in pair.methods:
            return True
    return False


def _books_of_de_cop(texts: Sequence[Text], file: Path) -> str:
    """Say how many whole books DE-COP compares, and how many it takes."""
    suspects = len({text.document for text in texts if text.label == 1})
    known = len({text.document for text in texts if text.label == 0})
    said = (
        f"{file}: DE-COP compares whole books: {suspects} in question (label 1) with "
        f"{known} that the model cannot have read (label 0). A p takes "
        f"{FEWEST_DOCUMENTS} of each"
    )
    is_enough = min(suspects, known) >= FEWEST_DOCUMENTS
    return said if is_enough else f"{said}: add books"


def _shown_by(plan: Plan, renderer: str) -> list[Pair]:
    """Return the pairs that artifacts with this renderer show."""
    pairs: list[Pair] = []
    for artifact in plan.study.artifacts.values():
        if artifact.renderer == renderer and not artifact.unavailable:
            pairs += plan.pairs_of(artifact)
    return pairs


CPU_FLOPS = 2.5e11
"""Operations a second on two quiet cores: two jobs of a thread that read 470 tokens a
second each with SmolLM2-135M."""


def description(plan: Plan, config: Mapping[str, Any]) -> list[str]:
    """Return what an audit will compare, on which device and for about how long, and
    what was read of works."""
    study, entries = plan.study, plan.study.benchmarks.entries
    entry = entries[TEXTS_SLUG]
    for pair in plan.pairs:
        if pair.given_back:
            return [*_sent(plan, pair.model.entry)]
    slugs = [slug for slug in (TEXTS_SLUG, WORKS_SLUG) if slug in entries]
    read = {slug: read_texts(plan, slug) for slug in slugs}
    texts = read[TEXTS_SLUG]
    suspects, known = _sides(texts)
    told = [*_works_told(entry)] if cut_of(entry) is not None else []
    told.append(
        f"was {config['model']} trained on {_count(suspects)}? They are compared with "
        f"{_count(known)} given as unread: {_cost_told(plan, config, read)}. The "
        f"answer will be in results/{study.name}/report.html"
    )
    if any(text.document for text in texts):
        told.append(
            f"in question (label null): {_name_documents(suspects)}; given as unread "
            f"(label 0): {_name_documents(known)}"
        )
    return [*told, *_base_told(plan, config, suspects)]


def _sides(texts: Sequence[Text]) -> tuple[list[Text], list[Text]]:
    """Return the texts in question, and the known ones."""
    suspects = [text for text in texts if text.label != 0]
    known = [text for text in texts if text.label == 0]
    return suspects, known


def _cost_told(
    plan: Plan, config: Mapping[str, Any], read: Mapping[str, Sequence[Text]]
) -> str:
    """Say how many tokens are read, on which device, and for about how long."""
    sizes = {}
    for slug, texts in read.items():
        parts = ((text.text, text.subset, text.length) for text in texts)
        sizes[slug] = counted(plan, slug, parts)
    jobs = jobs_of(plan, sizes)
    tokens = f"{sum(job.read for job in jobs):,.0f} tokens in all"
    if not tokenizer_here(plan, TEXTS_SLUG):
        latin, other = BYTES_A_TOKEN
        tokens += f", counted as {latin:g} bytes each, of other scripts {other:g}"
    device = config["device"]
    if device.startswith("cuda") or (device == "auto" and has_gpu()):
        hours = sum(job.hours("A100") for job in jobs)
        return f"{tokens}, on the GPU, {_time(hours)}"
    hours = sum(job.operations for job in jobs) / CPU_FLOPS / 3600
    return f"{tokens}, on the CPU, with two cores, {_time(hours)}"


def _sent(plan: Plan, model: ModelEntry) -> Iterator[str]:
    """Yield what is sent of works, to whom, how many requests that takes, and the
    price."""
    assert isinstance(model, ApiModel)
    texts = read_texts(plan, TEXTS_SLUG)
    suspects, known = _sides(texts)
    parts = ((text.text, text.subset, text.length) for text in texts)
    sizes = counted(plan, TEXTS_SLUG, parts)
    [job] = jobs_of(plan, {TEXTS_SLUG: sizes})
    yield (
        f"how much does {plan.model(job.model.slug).slug} give back of "
        f"{_count(suspects)}, and of {_count(known)} given as unread? The answer will "
        f"be in results/{plan.study.name}/report.html"
    )
    yield (
        f"in question: {_name_documents(suspects)}; given as unread: "
        f"{_name_documents(known)}"
    )
    if not has_p(len(suspects), len(known)):
        yield f"no p can be as low as 0.05: it takes {known_for_p(len(suspects))}"
    yield (
        f"PASSAGES OF ALL THESE WORKS ARE SENT to {model.api.base_url} (model "
        f"{model.api.model}): the {CONTEXT} words before up to 20 places in each. Do "
        "not ask about confidential texts. A dry run and estimate send nothing"
    )
    yield (
        f"at most {job.read / 1e6:,.2f} million tokens are read and "
        f"{job.written / 1e6:,.2f} million written, for about {job.dollars:,.2f} US "
        "dollars at the entry's price, and more where the model goes on; nothing is "
        f"asked beyond budget_usd={plan.study.settings.budget_usd:g}"
    )


def _base_told(
    plan: Plan, config: Mapping[str, Any], suspects: Sequence[Text]
) -> Iterator[str]:
    """Say which base the model is compared with, and where an adapter names another
    one.

    Raises `InputError` if the two read a text as other tokens, where both tokenizers
    are here.
    """
    if plan.base is None:
        return
    model, base = plan.base
    name, base_name = config["model"], base_named(config["model"], config.get("base"))
    assert base_name is not None
    own, other = _tokenizer_file(model), _tokenizer_file(base)
    if own.is_file() and other.is_file():
        from tokenizers import Tokenizer

        check_same_tokens(
            Tokenizer.from_file(str(own)),
            Tokenizer.from_file(str(other)),
            (name, base_name),
            (text.text for text in suspects),
        )
    which = "" if config.get("base") else ", which the adapter names"
    yield (
        f"base: {base_name}{which}: a score is by how much likelier tokens are in "
        f"{name} than there. {TUNED_TOLD}"
    )
    if not isinstance(model.entry, AdapterModel):
        return
    adapter = read_adapter(Path(model.entry.path))
    trained = f"warning: {name} was trained on"
    if slug_of(adapter.base) != slug_of(base_name):
        yield (
            f"{trained} {adapter.base}, as its {ADAPTER} says, and is read on "
            f"{base_name}: if these differ, the answer means nothing"
        )
    revision = getattr(base.entry, "revision", adapter.revision)
    if adapter.revision and adapter.revision != revision:
        yield (
            f"{trained} revision {adapter.revision} of {adapter.base}, as its "
            f"{ADAPTER} says, and is read on {revision}"
        )


def _tokenizer_file(model: Model) -> Path:
    folder = path_of(model.entry) or f"results/models/{model.name}"
    return Path(folder, "tokenizer.json")


def _works_told(entry: BenchmarkEntry) -> Iterator[str]:
    cut = cut_of(entry)
    assert cut is not None
    ours, theirs = (side_of(path, left_out_of(entry)) for path in text_files_of(entry))
    return plan_of_works(ours, theirs, cut)


def _name_documents(texts: Sequence[Text]) -> str:
    """Return the names of the first documents, so that swapped labels are noticed."""
    names = dict.fromkeys(shorten(text.document) for text in texts if text.document)
    return first_names(list(names)) or "no document is named"


def _count(texts: Sequence[Text]) -> str:
    documents = len({text.document or text.text_id for text in texts})
    return (
        f"{len(texts)} text{'s' * (len(texts) != 1)} of {documents} "
        f"document{'s' * (documents != 1)}"
    )


def _time(hours: float) -> str:
    """Say how long passes take, with a minute for starts of jobs."""
    minutes = 1 + 60 * hours
    if not hours:
        return "for a time that depends on the model's size"
    if minutes < 90:
        return f"about {max(2, minutes):.0f} minutes"
    return f"about {minutes / 60:.0f} hours"
