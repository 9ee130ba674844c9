"""A study, resolved: every run with its defaults filled in, every artifact with its
panels."""

import os
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

from pretrace.render.artifact import Artifact
from pretrace.runtime.errors import InputError, nearest, shorten
from pretrace.runtime.hub import Pins
from pretrace.runtime.schema import parse, read_yaml
from pretrace.studies.artifacts.selection import resolve_artifacts
from pretrace.studies.audit.study import fill_audit
from pretrace.studies.keys import Config, Download, StudyFile
from pretrace.studies.registries import Benchmarks, Corpora, Models, load_registries
from pretrace.studies.runs import Run, RunsByPair, resolve_runs, runs_by_pair


@dataclass(frozen=True, eq=False)
class Study:
    """What a study runs. Slugs are the study's own; `models.shared[slug]` is the name
    in the shared stages.

    A study equals itself alone, so that what was looked up in it can be kept.
    """

    name: str
    title: str
    minutes: float | None
    path: Path
    folder: Path
    """The folder of the registries."""
    settings: Config
    pins: Pins
    """The commits that replace the entries' revisions."""
    first: tuple[str, ...]
    """The artifacts that are made before all others."""
    models: Models
    benchmarks: Benchmarks
    corpora: Corpora
    downloads: dict[str, Download]
    runs: tuple[Run, ...]
    artifacts: dict[str, Artifact]
    left_out: dict[str, str]
    """Models and benchmarks of runs, and methods of artifacts, that are left out ->
    why."""

    # grouped once a study: a dry run asks for each of its thousands of jobs
    @cached_property
    def runs_by_pair(self) -> RunsByPair:
        """The runs by (model, benchmark)."""
        return runs_by_pair(self.runs)

    @cached_property
    def runs_by_reader(self) -> RunsByPair:
        """The runs with passes by (model, benchmark) of each model that reads,
        reference models among them."""
        runs: RunsByPair = {}
        for run in self.runs:
            readers = set()
            if run.scores_texts:
                readers = {run.model, *run.references}
            elif run.extraction:
                readers = {run.model}
            for model in readers:
                runs.setdefault((model, run.benchmark), []).append(run)
        return runs

    @cached_property
    def benchmarks_of_runs(self) -> list[str]:
        """The benchmarks that runs name, sorted."""
        return sorted({run.benchmark for run in self.runs})


def load_study(config: Mapping[str, Any], folder: Path = Path("config")) -> Study:
    """Read, check and resolve the study that `config` names.

    Args:
        config: the run-wide settings (config/config.yaml and `--config`).
        folder: the folder of the registries and of `studies/`.

    Raises:
        InputError: a file, key, slug, type or path is wrong; nothing has run yet.
    """
    if own := {"runs", "artifacts"} & config.keys():
        raise InputError(
            f"config: the key '{min(own)}' belongs into a study file; name that file "
            "by --config study=FILE, not by --configfile."
        )
    settings = parse(config, Config, "config/config.yaml or --config")
    path = study_path(settings.study, folder)
    written = read_yaml(path)
    file = parse(fill_audit(written, path, settings, folder), StudyFile, str(path))
    registered = folder / "studies" / f"{file.study}.yaml"
    if registered.is_file() and not registered.samefile(path):
        raise InputError(
            f"{path}: study: '{file.study}' is the study of {registered}; choose "
            "another name."
        )
    registries = load_registries(file, path, settings, folder)
    runs = resolve_runs(file.runs, path, registries)
    selected = resolve_artifacts(file, path, runs, registries, settings, folder)
    return Study(
        name=file.study,
        title=file.title or f"The study {file.study}",
        minutes=file.minutes,
        path=path,
        folder=folder,
        settings=settings,
        first=tuple(slug for slug in file.first if slug in selected.artifacts),
        **registries._asdict(),
        **selected._asdict(),
    )


def study_path(name: str, folder: Path) -> Path:
    """Return config/studies/{name}.yaml for a registered name, else `name` as the path
    of a study file."""
    registered = {path.stem: path for path in (folder / "studies").glob("*.yaml")}
    if name in registered:
        return registered[name]
    # false for a device, which would be read for ever, and for what no system takes as
    # a path
    if os.path.isfile(name):  # noqa: PTH113  (`Path.is_file` raises for a path that is too long)
        return Path(name)
    if name.endswith((".yaml", ".yml")):
        where = "" if Path(name).is_absolute() else f" in {Path.cwd()}"
        raise InputError(
            f"config: study: there is no file {shorten(name)}{where}; give the path of "
            "a study file."
        )
    hint = nearest(name, registered).rstrip("?")
    raise InputError(
        f"config: study: '{shorten(name)}' is neither a file nor one of "
        f"config/studies/ ({hint}). A study file is given by its path, as --config "
        "study=my_study.yaml."
    )
