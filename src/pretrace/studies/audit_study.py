"""The study `audit`, filled in with the files and the model of the command line, and
its positive control."""

import hashlib
import os
import re
from collections.abc import Iterable, Mapping, Sequence
from itertools import islice
from pathlib import Path
from typing import Any

from pretrace.benchmarks.documents import DOCUMENT_FORMATS
from pretrace.benchmarks.languages import guessed_language
from pretrace.benchmarks.opening import FORMATS, stem_of
from pretrace.benchmarks.passages import Cut
from pretrace.benchmarks.rows import rows
from pretrace.benchmarks.works import are_works, unreadable_works
from pretrace.methods import METHODS
from pretrace.models.adapters import is_adapter, read_adapter
from pretrace.models.checkpoint import ADAPTER
from pretrace.models.entries import GgufModel, HubModel, LocalModel
from pretrace.render.artifact import Artifact
from pretrace.runtime.errors import InputError, nearest, shorten
from pretrace.runtime.files import kind_of
from pretrace.runtime.names import check_path, make_name
from pretrace.runtime.schema import read_yaml
from pretrace.studies.books import check_readable, cut_of_sides, side_of
from pretrace.studies.keys import Config, WrittenRun
from pretrace.studies.registries import Benchmarks, Models
from pretrace.studies.runs import Run

BY_CHAT = "given_back_by_chat"
"""The artifact of a model behind an API."""

NAME, TEXTS_SLUG, WORKS_SLUG = "audit", "texts", "works"
"""The study, its benchmark, and the one of whole works."""

GIVEN = ("texts", "model", "base", "known", "language", "unreadable", "whole_works")
"""Keys of the configuration that fill it in."""

WITH_BASE = ["ref", "wbc", "ez_mia"]
"""The methods of an audit with a base model: by how much its tokens are likelier than
there. docs/size_and_power.md has the simulations by which they were chosen."""

_PARAMETERS = re.compile(
    r"(?<![A-Za-z0-9.])(\d+(?:\.\d+)?)([mb])(?![A-Za-z0-9])", re.IGNORECASE
)


def fill_audit(given: Any, path: Path, config: Config, folder: Path) -> Any:
    """Return what the study file at `path` holds, that of the study audit filled in
    with keys of `config`.

    Raises:
        InputError: a key is missing or names nothing, or `config` has one and runs
            another study.
    """
    named = [key for key in GIVEN if getattr(config, key) is not None]
    if path != folder / "studies" / f"{NAME}.yaml":
        if named:
            raise InputError(
                f"config: {named[0]} belongs to the study audit, and this run is of "
                f"{path}. Add study={NAME} after the same --config, or leave "
                f"{named[0]} out."
            )
        return given
    if config.texts is None or config.model is None:
        missing = "model" if config.texts else "texts"
        raise InputError(
            f"config: the study audit needs {missing}=...: snakemake --cores all "
            "--config study=audit texts=my_texts.jsonl model=EleutherAI/pythia-1.4b"
        )
    inputs = {"texts": config.texts, "known": config.known or "", "model": config.model}
    if config.base is not None:
        inputs["base"] = config.base
    kinds = {key: kind_of(value) if value else "" for key, value in inputs.items()}
    files = {"texts": config.texts} | (
        {} if config.known is None else {"known": config.known}
    )
    for key, file in files.items():
        if kinds[key] not in ("file", "folder"):
            place = "" if Path(file).is_absolute() else f" in {Path.cwd()}"
            raise InputError(
                f"config: {key}: {shorten(file)} does not exist{place}; give works (a "
                f"folder, or a file: {DOCUMENT_FORMATS}), or a file of passages: "
                f"{FORMATS}."
            )
    for key, value in inputs.items():
        if kinds[key]:
            check_path(value, f"config: {key}")
    slug, base, models = _models(config.model, config.base, folder)
    here = "\n".join(_here(value, kinds[key]) for key, value in inputs.items())
    short = hashlib.sha256(os.fsencode(here)).hexdigest()[:6]
    texts, known = (
        Path(config.texts),
        None if config.known is None else Path(config.known),
    )
    # the folder of Slurm's log of a job is named by the job's model and benchmark, that
    # is, with the study's name twice
    made = [
        make_name(stem_of(texts), 45, "texts"),
        make_name(slug_of(config.model), 25, "model"),
    ]
    name = "-".join([NAME, *made, short])
    runs = [{"model": slug, **run} for run in given["runs"]]
    if base:
        for run in runs:
            run |= {"methods": WITH_BASE, "references": [base]}
    located = {
        "path" if key == "texts" else key: _seen_from(folder, file)
        for key, file in files.items()
    }
    works = [path for path in (texts, known) if path is not None and are_works(path)]
    left_out = [*unreadable_works(works)] if config.unreadable == "leave_out" else []
    if not left_out:
        check_readable(works)
    cut = _cut(texts, known, left_out)
    entry = (
        given["benchmarks"][TEXTS_SLUG]
        | located
        | {"title": texts.name or config.texts}
    )
    entry |= {"language": config.language or _language(texts, left_out)}
    if left_out:
        entry |= {"left_out": left_out}
    benchmarks = {TEXTS_SLUG: entry}
    if is_behind_api(config.model, folder):
        if config.base is not None:
            raise InputError(
                f"config: base: {config.model} is behind an API and gives no "
                "probabilities to compare with those of a base; leave base out."
            )
        if cut is None:
            raise InputError(
                f"config: texts: {config.model} is behind an API and is asked to go on "
                f"in whole works, and {config.texts} has passages; give a folder of "
                "works, or a document."
            )
        runs = [{"model": slug, "benchmark": TEXTS_SLUG, "given_back": {}}]
        title = "How much of these works does the model give back?"
        given = {**given, "title": title, "artifacts": [BY_CHAT], "first": [BY_CHAT]}
        cut = None  # they are read whole
    if cut is not None:
        benchmarks[TEXTS_SLUG] = entry | {"cut": cut.to_json()}
    if config.whole_works is False:
        for run in runs:
            run.pop("extraction", None)
        shown = [
            name for name in given["artifacts"] if not name.startswith("extraction")
        ]
        given = {**given, "artifacts": shown}
    elif cut is not None:
        # passages are scored, and whole works are read for what the model gives back
        benchmarks[WORKS_SLUG] = entry | {"title": f"{entry['title']}, whole"}
        reading = [run for run in runs if "extraction" in run]
        for run in reading:
            runs.append(
                {
                    "model": slug,
                    "benchmark": WORKS_SLUG,
                    "extraction": run.pop("extraction"),
                }
            )
    return {
        **given,
        "study": name,
        "models": models,
        "runs": runs,
        "benchmarks": benchmarks,
    }


def _cut(texts: Path, known: Path | None, left_out: Sequence[str]) -> Cut | None:
    """Return how works are cut into passages, None for files of passages."""
    if not are_works(texts) and (known is None or not are_works(known)):
        return None
    if known is None:
        raise InputError(
            f"config: known: an audit compares the works of {texts} with works of the "
            "same kind that the model cannot have read; give them as known=FOLDER "
            "(docs/audit.md)."
        )
    if not (are_works(texts) and are_works(known)):
        works, file = (texts, known) if are_works(texts) else (known, texts)
        raise InputError(
            f"config: {works} has works and {file} has passages, which are cut in "
            "another way. Give folders or documents for both, or cut the works to the "
            "same length: pretrace cut --words 64 --most 20 --label "
            f"{'none' if works == texts else '0'} {works} > passages.jsonl"
        )
    return cut_of_sides(side_of(texts, left_out), side_of(known, left_out))


def _seen_from(folder: Path, path: str) -> str:
    """Return a path as seen from the studies in `folder`; an absolute one as it is, so
    that errors repeat it."""
    return (
        path if Path(path).is_absolute() else os.path.relpath(path, folder / "studies")
    )


def _here(path: str, kind: str) -> str:
    """Return a file's or folder's path as one of the working directory where it lies
    there; else what is given."""
    inside = os.path.relpath(path) if kind else ""
    return (
        path
        if not kind
        else inside
        if not inside.startswith("..")
        else str(Path(path).resolve())
    )


def _language(path: Path, left_out: Sequence[str]) -> str:
    """Return the language that the first texts' script shows; what cannot be read is
    told when the file is checked."""
    if are_works(path):
        return next(iter(side_of(path, left_out).reports.values())).language
    try:
        texts = [
            str(row.get("text") or row.get("input"))
            for _, row in islice(rows(path), 50)
        ]
    except InputError:
        return "en"
    return guessed_language(" ".join(texts))


def is_behind_api(model: str, folder: Path) -> bool:
    """Return whether a name is that of a registered model that an API answers for."""
    entry = read_yaml(folder / "models.yaml").get(model, {})
    return bool(entry.get("source") == "openai")


def slug_of(model: str) -> str:
    """Return the last part of a model's name or path."""
    return model.rstrip("/").split("/")[-1]


def base_named(model: str, base: str | None) -> str | None:
    """Return the model that `model` is compared with: `base` or, of an adapter without
    it, the one that it names."""
    if base is not None or kind_of(model) != "folder" or not is_adapter(Path(model)):
        return base
    named = read_adapter(Path(model)).base
    if not named:
        raise InputError(
            f"config: model: {model}/{ADAPTER} names no base_model_name_or_path; name "
            "the model that it was trained on: base=..."
        )
    return named


def _models(
    model: str, base: str | None, folder: Path
) -> tuple[str, str, dict[str, Any]]:
    """Return the slugs of the run's model and of its base ("": none), and the study's
    own entries of both."""
    named = base_named(model, base)
    if named is None:
        slug, models = _model("model", model, folder)
        return slug, "", models
    kinds = kind_of(model), kind_of(named)
    if model == named or ("" not in kinds and Path(model).samefile(named)):
        raise InputError(
            f"config: base: {shorten(named)} is the model itself; name the model that "
            "it was tuned from."
        )
    base_slug, models = _model("base", named, folder)
    slug, own = _model("model", model, folder, base_slug)
    if slug == base_slug:
        # folders of one name, or a folder and an id of the hub
        slug = f"{slug}-tuned"
        own = {slug: own.popitem()[1]}
    return slug, base_slug, models | own


def _model(
    key: str, named: str, folder: Path, base: str = ""
) -> tuple[str, dict[str, Any]]:
    """Return the slug of a model, and the study's own entry for it where the registry
    has none.

    `key` of the command line names it. `base`: the slug of the model that it changes,
    if it is an adapter.
    """
    registered = read_yaml(folder / "models.yaml")
    if named in registered:
        gives_no_answer = registered[named]["source"] == "answers"
        is_asked = registered[named]["source"] == "openai"
        if gives_no_answer or (is_asked and key == "base"):
            raise InputError(
                f"config: {key}: {named} does not run here and gives no probabilities "
                "of whole texts. Name another model, or ask it questions: "
                "docs/audit.md, 'A model behind a chat API'."
            )
        return named, {}
    # an entry's name has no other letters
    slug = make_name(re.sub(r"[^A-Za-z0-9._-]", " ", slug_of(named)), 60, "model")
    slug = f"{slug}-given" if slug in registered else slug
    entry: dict[str, Any] = {"source": "hub", "hub": named}
    if kind_of(named) == "folder":
        entry = {"source": "local", "path": _seen_from(folder, named)}
        if base and is_adapter(Path(named)):
            read_adapter(Path(named))
            entry |= {"source": "adapter", "base": base}
        elif not Path(named, "config.json").is_file():
            raise InputError(
                f"config: {key}: {named} has no config.json; name the folder with "
                "config.json, the weights and the tokenizer."
            )
    elif not re.fullmatch(r"[^/\s]+/[^/\s]+", named):
        hub_id = re.search(r"huggingface\.co/([^/\s]+/[^/\s?#]+)", named)
        hint = f"write {key}={hub_id[1]}" if hub_id else nearest(named, registered)
        raise InputError(
            f"config: {key}: '{shorten(named)}' is not a name of config/models.yaml, a "
            "folder, or an id of the Hugging Face hub such as "
            f"EleutherAI/pythia-1.4b{'' if hint.startswith('valid') else f': {hint}'}"
        )
    elif parameters := parameters_in(named):
        entry["parameters"] = parameters
    gpu = {"resources": {"gpu": 1}} if has_gpu() else {}
    return slug, {slug: entry | {"dtype": "auto"} | gpu}


def has_gpu() -> bool:
    """Return whether this machine has an NVIDIA GPU; asked without torch, which takes
    seconds to import."""
    return Path("/dev/nvidia0").exists()


def parameters_in(name: str) -> float | None:
    """Return the number of parameters that a model's name tells, as 1.4e9 of
    `pythia-1.4b`."""
    if not (match := _PARAMETERS.search(name)):
        return None
    return float(match[1]) * {"m": 1e6, "b": 1e9}[match[2].lower()]


POSITIVE_CONTROL = "famous_passages"
PLAIN_STATISTICS = {"logprobs", "entropies", "variances", "highest", "ranks", "top40"}
"""What the pass over a text itself gives."""


def positive_runs(
    runs: Iterable[Run],
    artifacts: Mapping[str, Artifact],
    models: Models,
    benchmarks: Benchmarks,
) -> list[WrittenRun]:
    """Return a run on `POSITIVE_CONTROL` for each model that an artifact `audit` shows,
    where it applies.

    It applies to models that were trained elsewhere, on text of the web as far as
    anyone knows, and to English texts: English verses say nothing of what a model shows
    of another language or script. The methods are those of the audited run that need
    the text alone.
    """
    if POSITIVE_CONTROL not in benchmarks.entries:
        return []
    audited = {
        (panel.model, panel.benchmark)
        for artifact in artifacts.values()
        if artifact.renderer == "audit"
        for panel in artifact.panels
    }
    added: dict[tuple[str, str], WrittenRun] = {}
    for run in runs:
        of_web_text = isinstance(
            models.entries[run.model], HubModel | LocalModel | GgufModel
        )
        applies = of_web_text and benchmarks.entries[run.benchmark].language == "en"
        methods: list[str | dict[str, Any]] = [
            {item.method: item.parameters} if item.parameters else item.method
            for item in run.methods
            if {*METHODS[item.method].needs} <= PLAIN_STATISTICS
        ]
        if (run.model, run.benchmark) in audited and applies and methods:
            written = WrittenRun(
                model=run.model,
                benchmark=POSITIVE_CONTROL,
                start_token=run.start_token,
                methods=methods,
            )
            added.setdefault((run.model, run.start_token), written)
    return list(added.values())
