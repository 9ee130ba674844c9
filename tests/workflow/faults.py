"""The fault campaign: break a run or its files, run the documented command, and compare
with an undisturbed run.

    PYTHONPATH=tests python tests/workflow/faults.py [--full]

Five kills and one fault in ten, as the gate does; `--full`: forty kills and every
fault. After each fault there must be either a resumed run whose scores, metrics, tests,
tables and figures are the same bytes, or an error that names the file and the remedy,
and the same bytes once the remedy is done. Seeded: `--seed`.
"""

import argparse
import os
import random
import shutil
import signal
import subprocess
import tempfile
import time
from collections import Counter
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

import psutil
from projects import Project, copy_project
from small_study import results, small

COMMAND = ("all", "--cores", "2", "--config", "study=smoke/smoke.yaml", "resamples=100")
STORE = "results/passes/store"


class Campaign:
    def __init__(self, folder: Path, seed: int) -> None:
        self.folder, self.draw = folder, random.Random(seed)
        self.outcomes: Counter[tuple[str, str]] = Counter()
        self.undisturbed = small(copy_project(folder / "undisturbed"))
        began = time.monotonic()
        self.undisturbed.run(*COMMAND)
        self.seconds = time.monotonic() - began
        self.expected = results(self.undisturbed)
        assert len(self.expected) > 8, sorted(self.expected)

    def note(self, fault: str, outcome: str) -> None:
        self.outcomes[fault, outcome] += 1
        print(f"{fault}: {outcome}", flush=True)

    def compare(self, fault: str, project: Project, outcome: str) -> None:
        """Note the outcome if the project has the undisturbed run's bytes."""
        made = results(project)
        names = self.expected.keys() | made.keys()
        odd = sorted(
            name for name in names if self.expected.get(name) != made.get(name)
        )
        assert not odd, f"{fault}: other bytes in {odd}, in {project.path}"
        self.note(fault, outcome)

    def finish(self, fault: str, project: Project) -> None:
        project.run(*COMMAND)
        self.compare(fault, project, "error with remedy, then same bytes")

    def table(self) -> str:
        rows = [
            f"| {fault} | {times} | {outcome} |"
            for (fault, outcome), times in sorted(self.outcomes.items())
        ]
        return "\n".join(["| fault | times | outcome |", "|---|---|---|", *rows])


def kills(campaign: Campaign, times: int) -> None:
    """Kill Snakemake, a running job or both at random moments, again and again, and
    carry on each time."""
    project, done = small(copy_project(campaign.folder / "killed")), 0
    while done < times:
        victim = campaign.draw.choice(("Snakemake", "a job", "both"))
        running = project.start(*COMMAND)
        try:
            running.wait(campaign.draw.uniform(1, campaign.seconds / 3))
        except subprocess.TimeoutExpired:
            done += kill(running, victim, campaign)
        end(running)
        project.run("--unlock", "--config", "study=smoke/smoke.yaml", "resamples=100")
        if running.returncode == 0:
            campaign.compare(
                "kill -9, until the run was through", project, "same bytes"
            )
            shutil.rmtree(project.path / "results")
    project.run(*COMMAND)
    campaign.compare("kill -9, until the run was through", project, "same bytes")
    shutil.rmtree(project.path)


def kill(running: subprocess.Popen[str], victim: str, campaign: Campaign) -> bool:
    """Kill the victim; false if it is a job and none was running."""
    jobs = psutil.Process(running.pid).children(recursive=True)
    if victim == "a job":
        if not jobs:
            return False
        campaign.draw.choice(jobs).kill()
        running.wait(120)
    else:
        running.kill()
        running.wait()
        if victim == "both":
            end(running)
        # what it had started goes on to its end without it
        psutil.wait_procs(jobs, timeout=60)
    campaign.note(f"kill -9 of {victim}", "carried on")
    return True


def end(running: subprocess.Popen[str]) -> None:
    with suppress(ProcessLookupError):
        os.killpg(running.pid, signal.SIGKILL)
    running.wait()


Fault = Callable[[Campaign, Project], None]


def broken_file(
    pattern: str,
    spoil: Callable[[bytes, random.Random], bytes],
    *,
    before: tuple[str, ...],
) -> Fault:
    """One file of the finished study is spoiled without a trace in its time, and the
    work after it is asked for."""

    def fault(campaign: Campaign, project: Project) -> None:
        file = campaign.draw.choice(sorted(project.path.glob(pattern)))
        whole, times = file.read_bytes(), (file.stat().st_atime, file.stat().st_mtime)
        file.write_bytes(spoil(whole, campaign.draw))
        os.utime(file, times)
        for path in [path for glob in before for path in project.path.glob(glob)]:
            shutil.rmtree(path) if path.is_dir() else path.unlink()
        name = f"{spoil.__name__} {pattern}"
        done = project.run(*COMMAND, check=False)
        generated = file.is_relative_to(project.path / "results")
        if done.returncode == 0:
            # a bit of a page's header is in no checksum, and changes no value where
            # nothing fails
            file.write_bytes(whole)
            return campaign.compare(name, project, "same bytes")
        assert file.name in done.stdout, done.stdout
        assert "Traceback" not in done.stdout, done.stdout
        assert ("same command" if generated else "Restore it") in done.stdout, (
            done.stdout
        )
        file.unlink(missing_ok=True)
        if not generated:
            file.write_bytes(whole)
            os.utime(file, times)
        return campaign.finish(name, project)

    return fault


def truncated(content: bytes, draw: random.Random) -> bytes:
    return content[: draw.randrange(len(content))]


def flipped(content: bytes, draw: random.Random) -> bytes:
    """One bit of the middle: of the data, not of the footer."""
    place = draw.randrange(8, max(9, len(content) // 2))
    return (
        content[:place]
        + bytes([content[place] ^ (1 << draw.randrange(8))])
        + content[place + 1 :]
    )


def mounted(
    name: str,
    gone: str,
    message: str,
    mounts: Callable[[random.Random, str], list[list[str]]],
) -> Fault:
    """A part of results/ is gone, and the folder is mounted in a way that refuses to
    have it written again."""

    def fault(campaign: Campaign, project: Project) -> None:
        folder = project.path / "results"
        shutil.rmtree(project.path / gone)
        folder.mkdir(exist_ok=True)
        first, *others = mounts(campaign.draw, str(folder))
        if subprocess.run(
            ["mount", *first], capture_output=True, check=False
        ).returncode:
            return campaign.note(name, "NOT RUN: this user may not mount")
        try:
            for arguments in others:
                subprocess.run(["mount", *arguments], check=True)
            done = project.run(*COMMAND, check=False)
        finally:
            subprocess.run(["umount", "--lazy", str(folder)], check=True)
        assert done.returncode != 0
        assert message in done.stdout, done.stdout
        assert "a defect of pretrace" not in done.stdout, done.stdout
        return campaign.finish(name, project)

    return fault


def full_disk(draw: random.Random, folder: str) -> list[list[str]]:
    return [
        ["-t", "tmpfs", "-o", f"size={draw.choice((16, 64, 256))}k", "tmpfs", folder]
    ]


def read_only(draw: random.Random, folder: str) -> list[list[str]]:
    return [["--bind", folder, folder], ["-o", "remount,bind,ro", folder]]


def clock_jumps(campaign: Campaign, project: Project) -> None:
    """Some files are from next year, some from 1990."""
    files = [
        path
        for path in sorted(project.path.rglob("*"))
        if path.is_file() and ".snakemake" not in path.parts
    ]
    for file in campaign.draw.sample(files, len(files) // 2):
        moment = campaign.draw.choice((time.time() + 365 * 86400, 631152000.0))
        os.utime(file, (moment, moment))
    done = project.run(*COMMAND, check=False)
    if done.returncode == 0:
        return campaign.compare("a clock that jumps", project, "same bytes")
    assert "could indicate a clock skew problem" in done.stdout, done.stdout
    for file in files:
        if file.exists() and file.stat().st_mtime > time.time():
            file.touch()
    return campaign.finish("a clock that jumps", project)


def two_at_once(campaign: Campaign, project: Project) -> None:
    shutil.rmtree(project.path / "results" / "smoke")
    first = project.start(*COMMAND)
    while (
        not list((project.path / ".snakemake" / "locks").glob("*.lock"))
        and first.poll() is None
    ):
        time.sleep(0.1)
    second = project.run(*COMMAND, check=False)
    assert first.wait() == 0
    assert "locked" in second.stdout.lower() or second.returncode == 0, second.stdout
    campaign.compare(
        "two Snakemakes in one folder", project, "the second is refused; same bytes"
    )


AFTER = ("results/smoke",)
AFTER_SCORES = ("results/smoke/[!s]*",)
FILES = {
    "benchmark": ("results/benchmarks/*.parquet", AFTER),
    "scores": ("results/smoke/scores/*/*.parquet", AFTER_SCORES),
    "metrics": (
        "results/smoke/metrics/*/*.parquet",
        ("results/smoke/tables", "results/smoke/report.html"),
    ),
    "counts": ("results/corpora/*/counts/*.parquet", AFTER),
    "pass": (f"{STORE}/*.parquet", AFTER),
    "record": (f"{STORE}/*.json", ("results/passes/smoke~*", *AFTER)),
    "manifest": ("results/passes/*/*/*.json", AFTER),
    "checkpoint": ("smoke/target/model.safetensors", ("results/passes", *AFTER)),
}
"""Where a file lies, and what is made after it."""

SPOILED = {
    truncated: FILES.keys() - {"checkpoint"},
    flipped: {"benchmark", "scores", "counts", "pass", "checkpoint"},
}
FAULTS: dict[str, Fault] = {
    f"{spoil.__name__} {file}": broken_file(
        FILES[file][0], spoil, before=FILES[file][1]
    )
    for spoil, files in SPOILED.items()
    for file in sorted(files)
} | {
    "full disk": mounted("full disk", "results", "No space left on device", full_disk),
    "read-only results": mounted(
        "read-only results", "results/smoke", "Read-only file system", read_only
    ),
    "a clock that jumps": clock_jumps,
    "two Snakemakes": two_at_once,
}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n")[0])
    parser.add_argument(
        "--full", action="store_true", help="forty kills and every fault three times"
    )
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument(
        "--only", choices=sorted(FAULTS), nargs="+", help="these faults alone, no kills"
    )
    given = parser.parse_args()
    began = time.monotonic()
    with tempfile.TemporaryDirectory(prefix="faults-") as folder:
        campaign = Campaign(Path(folder), given.seed)
        names = sorted(FAULTS) * (3 if given.full else 1)
        if not given.full:
            names = campaign.draw.sample(names, len(names) // 10)
        for number, name in enumerate(given.only or names):
            project = Project(campaign.folder / f"project-{number}")
            shutil.copytree(campaign.undisturbed.path, project.path, symlinks=True)
            FAULTS[name](campaign, project)
            shutil.rmtree(project.path)
        if not given.only:
            kills(campaign, 40 if given.full else 5)
        print(
            f"\n{campaign.table()}\n\nseed {given.seed}, "
            f"{time.monotonic() - began:.0f} s"
        )


if __name__ == "__main__":
    main()
