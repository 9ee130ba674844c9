"""Write envs/pretrace.yaml, the environment of the jobs, from the pins of
envs/requirements.txt.

envs/lock.sh runs it with the Python that it made the lock with: what a package needs is
read of the installed one.
"""

import sys
import tomllib
from importlib.metadata import requires
from pathlib import Path

from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

FOLDER = Path(__file__).parent

HEAD = """\
# What jobs import, for snakemake --sdm conda: pins of requirements.txt without Snakemake and tests. By envs/lock.sh.
channels:
  - conda-forge
  - nodefaults
dependencies:
  - python={python}
  - pip
  - pip:
"""


def pins() -> dict[str, str]:
    """Return the lines of the lock by the normalised name of the package."""
    lines = (FOLDER / "requirements.txt").read_text(encoding="utf-8").splitlines()
    return {
        canonicalize_name(line.split("==")[0]): line
        for line in lines
        if not line.startswith("#")
    }


def names_needed(wanted: list[str]) -> set[str]:
    """Return the normalised names of these requirements' packages, and of all that they
    need here."""
    waiting = [Requirement(line) for line in wanted]
    seen = set()
    while waiting:
        requirement = waiting.pop()
        for extra in ["", *sorted(requirement.extras)]:
            if (requirement.name, extra) in seen:
                continue
            seen.add((requirement.name, extra))
            for line in requires(requirement.name) or []:
                needed = Requirement(line)
                if needed.marker is None or needed.marker.evaluate({"extra": extra}):
                    waiting.append(needed)
    return {canonicalize_name(name) for name, _ in seen}


def main() -> None:
    """Write the file."""
    project = tomllib.loads(
        (FOLDER.parent / "pyproject.toml").read_text(encoding="utf-8")
    )["project"]
    extras = project["optional-dependencies"]
    needed = names_needed(
        [
            *project["dependencies"],
            *extras["hf"],
            *extras["adapters"],
            *extras["documents"],
        ]
    )
    python = f"{sys.version_info.major}.{sys.version_info.minor}"
    lines = [f"      - {pin}\n" for name, pin in pins().items() if name in needed]
    text = HEAD.format(python=python) + "".join(lines)
    (FOLDER / "pretrace.yaml").write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main()
