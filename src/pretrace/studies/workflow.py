"""What the process that runs the workflow does and says, first and last: it plans the
study, checks whose results are there, and prints the conclusion."""

import gc
import os
import sys
import time
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from pretrace.runtime.code import scripts_folder
from pretrace.runtime.errors import InputError, printable
from pretrace.runtime.files import JsonObject, read_json, sha256_file, write_json
from pretrace.runtime.logs import prepare_terminal, say, warnings_since
from pretrace.runtime.names import check_path
from pretrace.studies.keys import Config
from pretrace.studies.machine import small_partitions
from pretrace.studies.plan import Plan
from pretrace.studies.study import Study, load_study
from pretrace.studies.user_files import check_user_files

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


def plan_workflow(config: JsonObject, folder: Path) -> Plan:
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
    them takes is told, and a file that cannot be used ends the process.
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
    try:
        for sentence in small_partitions(plan, Path(partitions)) if partitions else ():
            say(sentence, to=sys.stderr)
    except InputError as error:
        sys.exit(f"error: {error}")


def tell_what_is_left(handlers: Iterable[Any]) -> None:
    """Let the bars of rules say how many jobs are left, in place of a percentage.

    `handlers` are Snakemake's; one without bars stays as it is.
    """
    for handler in handlers:
        bars = getattr(handler, "progress", None)
        if bars is not None:
            from rich.progress import TextColumn

            *before, _, elapsed = bars.columns
            bars.columns = (*before, TextColumn("{task.remaining:.0f} left"), elapsed)


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
    record = _record_of(study)
    file = study_file(study)
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
