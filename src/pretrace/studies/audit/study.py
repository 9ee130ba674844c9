"""The study `audit`, filled in with the files and the model of the command line, and
its positive control."""

import hashlib
import os
import re
from collections.abc import Iterable, Mapping, Sequence
from itertools import islice
from pathlib import Path
from typing import Any

from pretrace.benchmarks.rows import rows
from pretrace.benchmarks.texts import columns_of_texts
from pretrace.documents.formats import DOCUMENT_FORMATS
from pretrace.documents.languages import guessed_language
from pretrace.documents.passages import Cut
from pretrace.documents.unpacking import FORMATS, stem_of
from pretrace.documents.works import are_works, unreadable_works
from pretrace.methods import METHODS
from pretrace.models.abilities import ABILITIES, refusal
from pretrace.models.adapters import is_adapter, read_adapter
from pretrace.models.checkpoint import ADAPTER
from pretrace.models.entries import GgufModel, HubModel, LocalModel
from pretrace.render.artifact import Artifact, PairSlugs
from pretrace.runtime.errors import InputError, nearest, shorten
from pretrace.runtime.files import kind_of
from pretrace.runtime.names import check_path, make_name
from pretrace.runtime.schema import read_yaml
from pretrace.studies.audit.works import check_readable, cut_of_sides, side_of
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
    if path != folder / "studies" / f"{NAME}.yaml":
        for key in GIVEN:
            if getattr(config, key) is not None:
                raise InputError(
                    f"config: {key} belongs to the study audit, and this run is of "
                    f"{path}. Add study={NAME} after the same --config, or leave {key} "
                    "out."
                )
        return given
    if config.texts is None or config.model is None:
        missing = "model" if config.texts else "texts"
        raise InputError(
            f"config: the study audit needs {missing}=...: snakemake --cores all "
            "--config study=audit texts=my_texts.jsonl model=EleutherAI/pythia-1.4b"
        )
    # in the order in which they make the study's name
    inputs = {"texts": config.texts, "known": config.known or "", "model": config.model}
    if config.base is not None:
        inputs["base"] = config.base
    kinds = _kinds_of_inputs(inputs)
    slug, base, models = _models(config.model, config.base, folder)
    texts = Path(config.texts)
    known = None if config.known is None else Path(config.known)
    sides = [texts] if known is None else [texts, known]
    works = [side for side in sides if are_works(side)]
    left_out = [*unreadable_works(works)] if config.unreadable == "leave_out" else []
    if not left_out:
        check_readable(works)
    cut = _cut(texts, known, left_out)
    language = config.language or _language(texts, left_out)
    own_keys = _keys_of_texts(inputs, language, folder, left_out)
    entry = given["benchmarks"][TEXTS_SLUG] | own_keys
    study = {**given, "study": _name(inputs, kinds), "models": models}

    if is_behind_api(config.model, folder):
        _check_asked(config, cut)
        run = {"model": slug, "benchmark": TEXTS_SLUG, "given_back": {}}
        study["title"] = "How much of these works does the model give back?"
        study["artifacts"] = study["first"] = [BY_CHAT]
        # works are read whole
        return study | {"runs": [run], "benchmarks": {TEXTS_SLUG: entry}}

    runs = [{"model": slug, **run} for run in given["runs"]]
    if base:
        for run in runs:
            run |= {"methods": WITH_BASE, "references": [base]}
    benchmarks = {TEXTS_SLUG: entry}
    if cut is not None:
        benchmarks[TEXTS_SLUG] = entry | {"cut": cut.to_json()}
    extractions = []
    if config.whole_works is False:
        for run in runs:
            run.pop("extraction", None)
        study["artifacts"] = []
        for name in given["artifacts"]:
            if not name.startswith("extraction"):
                study["artifacts"].append(name)
    elif cut is not None:
        # passages are scored, and whole works are read for what the model gives back
        benchmarks[WORKS_SLUG] = entry | {"title": f"{entry['title']}, whole"}
        of_works = {"model": slug, "benchmark": WORKS_SLUG}
        for run in runs:
            if "extraction" in run:
                extractions.append(of_works | {"extraction": run.pop("extraction")})
    return study | {"runs": runs + extractions, "benchmarks": benchmarks}


def _files(inputs: Mapping[str, str]) -> dict[str, str]:
    """Return the files or folders of texts among the inputs of an audit, by key."""
    return {key: inputs[key] for key in ("texts", "known") if inputs[key]}


def _kinds_of_inputs(inputs: Mapping[str, str]) -> dict[str, str]:
    """Return whether each input is a `file`, a `folder` or neither ("").

    `inputs`: files and models as the command line names them, "" for one without.

    Raises:
        InputError: texts do not exist, or a path has letters that Snakemake reads in
            another way.
    """
    kinds = {}
    for key, value in inputs.items():
        kinds[key] = kind_of(value) if value else ""
    for key, file in _files(inputs).items():
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
    return kinds


def _name(inputs: Mapping[str, str], kinds: Mapping[str, str]) -> str:
    """Return the name of the study, audit-TEXTS-MODEL-HASH: another one for other
    inputs."""
    located = [_here(value, kinds[key]) for key, value in inputs.items()]
    digest = hashlib.sha256(os.fsencode("\n".join(located)))
    short = digest.hexdigest()[:6]
    # the folder of Slurm's log of a job is named by the job's model and benchmark, that
    # is, with the study's name twice
    texts = make_name(stem_of(Path(inputs["texts"])), 45, "texts")
    model = make_name(slug_of(inputs["model"]), 25, "model")
    return f"{NAME}-{texts}-{model}-{short}"


def _keys_of_texts(
    inputs: Mapping[str, str], language: str, folder: Path, left_out: Sequence[str]
) -> dict[str, Any]:
    """Return the keys of the benchmark of texts: their files, title and language, and
    works that are not read."""
    keys: dict[str, Any] = {}
    for key, file in _files(inputs).items():
        keys["path" if key == "texts" else key] = _seen_from(folder, file)
    keys["title"] = Path(inputs["texts"]).name or inputs["texts"]
    keys["language"] = language
    if left_out:
        keys["left_out"] = left_out
    return keys


def _check_asked(config: Config, cut: Cut | None) -> None:
    """Check that a model behind an API is asked for what it can give: whole works that
    it continues."""
    assert config.model is not None
    if config.base is not None:
        raise refusal(
            "base_of_audit", config.model, "openai", "config: base", "Leave base out."
        )
    if cut is None:
        raise InputError(
            f"config: texts: {config.model} is behind an API and is asked to go on "
            f"in whole works, and {config.texts} has passages; give a folder of "
            "works, or a document."
        )


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
    if Path(path).is_absolute():
        return path
    return os.path.relpath(path, folder / "studies")


def _here(path: str, kind: str) -> str:
    """Return a file's or folder's path as one of the working directory where it lies
    there; else what is given."""
    if not kind:
        return path
    inside = os.path.relpath(path)
    return str(Path(path).resolve()) if inside.startswith("..") else inside


def _language(path: Path, left_out: Sequence[str]) -> str:
    """Return the language that the first texts' script shows; what cannot be read is
    told when the file is checked."""
    if are_works(path):
        return next(iter(side_of(path, left_out).reports.values())).language
    texts = []
    try:
        for _, row in islice(rows(path, columns_of_texts), 50):
            texts.append(str(row.get("text") or row.get("input")))
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
    try:
        base_slug, models = _model("base", named, folder)
    except InputError as error:
        if base is not None:
            raise
        raise InputError(
            f"{error}. It is what {model}/{ADAPTER} names; if the base is elsewhere, "
            "name it: base=..."
        ) from error
    entry = models.get(base_slug, {})
    if base is None and entry.get("source") == "hub":
        # the adapter fits the weights of that revision
        entry["revision"] = read_adapter(Path(model)).revision or "main"
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
        source = registered[named]["source"]
        ability = "base_of_audit" if key == "base" else "audit"
        if source not in ABILITIES[ability].sources:
            raise refusal(ability, named, source, f"config: {key}")
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
    audited: set[PairSlugs] = set()
    for artifact in artifacts.values():
        if artifact.renderer == "audit":
            audited.update(panel.pair for panel in artifact.panels)
    added: dict[tuple[str, str], WrittenRun] = {}
    for run in runs:
        if run.pair not in audited:
            continue
        is_english = benchmarks.entries[run.benchmark].language == "en"
        model = models.entries[run.model]
        if not is_english or not isinstance(model, HubModel | LocalModel | GgufModel):
            continue
        methods: list[str | dict[str, Any]] = []
        for item in run.methods:
            if PLAIN_STATISTICS.issuperset(METHODS[item.method].needs):
                parameters = item.parameters
                methods.append({item.method: parameters} if parameters else item.method)
        if methods:
            written = WrittenRun(
                model=run.model,
                benchmark=POSITIVE_CONTROL,
                start_token=run.start_token,
                methods=methods,
            )
            added.setdefault((run.model, run.start_token), written)
    return list(added.values())
