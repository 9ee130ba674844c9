"""The profile of a run, which Snakemake ignores without a word where it finds none of that name."""

from collections.abc import Sequence
from pathlib import Path

from pretrace.runtime.errors import InputError, nearest

_OPTION = "--workflow-profile"


def check_profile(arguments: Sequence[str], snakefile: Path, profiles: Path) -> None:
    """Raise `InputError` where the command line names a workflow profile that Snakemake does not find.

    It would go on without one and run on this machine what was meant for a cluster. `arguments` are the command
    line's, `snakefile` is the entry of the workflow and `profiles` the folder of this project's profiles.
    Snakemake 9 looks for `NAME`, `profiles/NAME` and `profiles/NAME` beside the entry.
    """
    name = _named(arguments)
    if name in (None, "none"):
        return
    found = (Path(name), Path("profiles") / name, snakefile.parent / "profiles" / name)
    if any(path.exists() for path in found):
        return
    have = sorted(path.parent.name for path in profiles.glob("*/profile.yaml"))
    given = Path(name).name
    hint = f"{_OPTION} workflow/profiles/{given}" if given in have else nearest(given, have)
    raise InputError(
        f"the profile '{name}' is not found, and Snakemake would run everything on this machine without it. Give "
        f"the folder of a profile, as {_OPTION} workflow/profiles/slurm (there are: {', '.join(have)}): {hint}"
    )


def _named(arguments: Sequence[str]) -> str | None:
    """The last value of the option; `None` where it is not there."""
    named = None
    for place, argument in enumerate(arguments):
        option, equals, value = argument.partition("=")
        if len(option) > len("--workflow") and _OPTION.startswith(option):
            named = value if equals else next(iter(arguments[place + 1 :]), None)
    return named
