"""README's two commands at two commits, in turn: seconds, first figure, jobs, and what
each rule takes.

    python tests/bench/bench_readme.py BASE [NEW] [--turns 2] [--environment .venv]
        [--command ".venv/bin/snakemake --cores 2 --config study=mine.yaml"]...

Each turn runs the commands of both commits, in the other order than the turn before,
each in a fresh clone. A clone makes its own environment as README says, which is not
measured; with `--environment` it uses the packages of that one. `--command` takes the
place of what README runs after that, for instance with a smaller study.

Prints a Markdown row for each run: CPU seconds of all its processes, wall seconds,
seconds to the first figure, jobs of the workflow, and the largest process; then a row
for each rule, means over the turns. A row of RESULTS.md names the machine and what else
ran on it.
"""

import argparse
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
import time
from collections import defaultdict
from collections.abc import Iterable
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).parents[2]
INSTALLS = re.compile(r"^python3 -m venv .* && (\S+/bin/.*)$", re.MULTILINE)
JOBS = re.compile(r"^(\d+) of \1 steps|^total +(\d+) *$", re.MULTILINE)

# at the end of each process of the clone's Python; a script of a rule runs as
# .snakemake/scripts/tmp....RULE.py, and what it started and waited for is its own
USAGE = """
import atexit, json, os, resource, sys

def write():
    name = os.path.basename(sys.argv[0]) if sys.argv else ""
    own = resource.getrusage(resource.RUSAGE_SELF)
    used = [own]
    if name.startswith("tmp"):
        name = name.split(".")[-2]
        used.append(resource.getrusage(resource.RUSAGE_CHILDREN))
    seconds = sum(part.ru_utime + part.ru_stime for part in used)
    megabytes = max(part.ru_maxrss for part in used) / 1024
    with open(os.environ["BENCH_USAGE"], "a") as file:
        file.write(json.dumps([name, seconds, megabytes]) + "\\n")

if "BENCH_USAGE" in os.environ:
    atexit.register(write)
"""


class Process(NamedTuple):
    """What a Python process used: the rule whose script it ran, or its program."""

    name: str
    seconds: float
    megabytes: float


class Run(NamedTuple):
    """One command at one commit."""

    commit: str
    command: str
    cpu: float
    wall: float
    first_figure: float | None
    jobs: int | None
    processes: list[Process]


def commands_of(clone: Path) -> list[str]:
    """Return what README's commands run once the environment is made."""
    return INSTALLS.findall((clone / "README.md").read_text(encoding="utf-8"))


def clone_of(commit: str, folder: Path, environment: Path | None) -> Path:
    """Make a fresh clone at a commit, with an environment that measures its
    processes."""
    run = {"check": True, "cwd": folder}
    subprocess.run(["git", "clone", "--quiet", str(ROOT), commit], **run)
    clone = folder / commit
    run["cwd"] = clone
    subprocess.run(["git", "checkout", "--quiet", commit], **run)
    make = [sys.executable, "-m", "venv", ".venv"]
    if environment is None:
        subprocess.run(make, **run)
        install = [".venv/bin/pip", "install", "--quiet", "-e", "."]
        subprocess.run([*install, "-r", "envs/requirements.txt"], **run)
    else:
        subprocess.run([*make, "--without-pip"], **run)
        borrow(environment, clone)
    [site] = (clone / ".venv" / "lib").glob("python3*/site-packages")
    (site / "bench_usage.py").write_text(USAGE, encoding="utf-8")
    (site / "bench_usage.pth").write_text("import bench_usage\n", encoding="utf-8")
    return clone


def borrow(environment: Path, clone: Path) -> None:
    """Give a clone the packages and commands of another environment."""
    [site] = (clone / ".venv" / "lib").glob("python3*/site-packages")
    [packages] = (environment / "lib").glob("python3*/site-packages")
    # the clone's library first: the environment may have one installed
    borrowed = f"{clone / 'src'}\n{packages}\n"
    for path in sorted(packages.glob("*.pth")):
        for line in path.read_text(encoding="utf-8").splitlines():
            if Path(line).is_absolute():
                borrowed += f"{line}\n"
    (site / "borrowed.pth").write_text(borrowed, encoding="utf-8")
    for command in (environment / "bin").iterdir():
        target = clone / ".venv" / "bin" / command.name
        if command.is_file() and not target.exists():
            shutil.copy2(command, target)
            start = f"#!{environment}".encode()
            script = command.read_bytes()
            if script.startswith(start):
                target.write_bytes(f"#!{clone}/.venv".encode() + script[len(start) :])


def run(clone: Path, command: str) -> Run:
    """Run a command in a clone and measure it."""
    usage = clone / "usage.jsonl"
    usage.unlink(missing_ok=True)
    usage.touch()
    environment = os.environ | {"BENCH_USAGE": str(usage)}
    log = clone / "command.log"
    started = time.time()
    with log.open("w") as output:
        process = subprocess.Popen(
            ["bash", "-c", command],
            cwd=clone,
            env=environment,
            stdout=output,
            stderr=subprocess.STDOUT,
        )
        _, status, used = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
    wall = time.time() - started
    text = log.read_text(encoding="utf-8")
    if process.returncode:
        sys.exit(f"{clone.name}: {command} failed:\n{text[-2000:]}")
    figures = clone.glob("results/*/figures/*.svg")
    drawn = [path.stat().st_mtime - started for path in figures]
    counts = [int(one or other) for one, other in JOBS.findall(text)]
    return Run(
        commit=clone.name,
        command=command,
        cpu=used.ru_utime + used.ru_stime,
        wall=wall,
        first_figure=min(drawn, default=None),
        jobs=max(counts, default=None),
        processes=[
            Process(*json.loads(line)) for line in usage.read_text().splitlines()
        ],
    )


def row_of(run: Run) -> str:
    """Lay out a run as a Markdown row."""
    largest = max((process.megabytes for process in run.processes), default=0.0)
    figure = "" if run.first_figure is None else f"{run.first_figure:.0f}"
    return (
        f"| {run.commit} | `{run.command}` | {run.cpu:.0f} | {run.wall:.0f} | {figure} "
        f"| {run.jobs or ''} | {largest:.0f} |"
    )


def rows_of_rules(runs: list[Run], commits: Iterable[str]) -> list[str]:
    """Lay out a row for each rule or program: processes and CPU seconds of a run, MB of
    its largest process, by commit."""
    turns = defaultdict(set)
    used = defaultdict(list)
    for number, run in enumerate(runs):
        turns[run.commit].add(number)
        for process in run.processes:
            used[process.name, run.commit].append(process)
    rows = []
    for name in sorted({name for name, _ in used}):
        cells = ""
        for commit in commits:
            own = used[name, commit]
            seconds = sum(process.seconds for process in own) / len(turns[commit])
            largest = max((process.megabytes for process in own), default=0.0)
            number = len(own) / len(turns[commit])
            cells += f" {number:.0f} | {seconds:.1f} | {largest:.0f} |"
        rows.append(f"| {name} |{cells}")
    return rows


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("base")
    parser.add_argument("new", nargs="?", default="HEAD")
    parser.add_argument("--turns", type=int, default=2)
    parser.add_argument("--environment", type=Path)
    parser.add_argument("--command", action="append", dest="commands")
    given = parser.parse_args()
    environment = given.environment.absolute() if given.environment else None
    commits = []
    for name in (given.base, given.new):
        show = ["git", "rev-parse", "--short", f"{name}^{{commit}}"]
        commits.append(
            subprocess.run(
                show, cwd=ROOT, check=True, capture_output=True, text=True
            ).stdout.strip()
        )
    print("| commit | command | CPU s | wall s | first figure | jobs | largest MB |")
    print("|---|---|--:|--:|--:|--:|--:|", flush=True)
    runs = []
    for turn in range(given.turns):
        for commit in commits if turn % 2 == 0 else reversed(commits):
            with tempfile.TemporaryDirectory() as folder:
                clone = clone_of(commit, Path(folder), environment)
                for command in given.commands or commands_of(clone):
                    runs.append(run(clone, command))
                    print(row_of(runs[-1]), flush=True)
    for command in dict.fromkeys(run.command for run in runs):
        print(f"\n`{command}`, by rule or program:\n")
        heads = "".join(f" {commit}: processes | CPU s | MB |" for commit in commits)
        print(f"| |{heads}\n|---|{'--:|' * 3 * len(commits)}")
        own = [run for run in runs if run.command == command]
        print("\n".join(rows_of_rules(own, commits)))


if __name__ == "__main__":
    main()
