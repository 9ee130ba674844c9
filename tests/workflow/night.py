"""The night: a part of the rehearsal of the paper study on a real Slurm of one node,
whose machine fails while nobody watches.

    PYTHONPATH=tests python tests/workflow/night.py

runs the part once undisturbed, and once through the `slurm` profile with `--faults`
random faults, one every `--every` seconds or so: the node's daemon is killed and the
node lost, the controller restarts, the storage of results is full for a while, a job
is killed. One command, which nobody gives again, must end with the same bytes.

Three faults an hour are one in 20 minutes. A tiny model needs seconds where a real one
needs hours, so the default is one in 40 seconds.
"""

import argparse
import os
import random
import signal
import subprocess
import tempfile
import time
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

import paper_hub
import psutil
from faults import end
from rehearsal import SCRIPT, Rehearsal, fill, port_of

import hub_datasets as made
from hub_server import Hub
from slurm_cluster import Cluster, NotStartedError, cluster, lacking, told

LASTS = 8
"""Seconds that a fault lasts."""
THROUGH_SLURM = (
    "--workflow-profile", "profiles/slurm", "--jobs", "4", "--latency-wait", "5",
    "--slurm-init-seconds-before-status-checks", "4",
)  # fmt: skip
MEMORY = 400_000
"""MB that the node says it has: what the registry's models ask for, with retries."""


class Night(Rehearsal):
    """A rehearsal through Slurm, with faults drawn by `seed`."""

    def disturb(
        self, slurm: Cluster, *, faults: int, every: float, seed: int
    ) -> list[str]:
        """Run the study to its end in one command, and return the faults that came;
        `AssertionError` with what Snakemake printed if it failed."""
        draw = random.Random(seed)
        kinds = [lost_node, restarted_controller, full_storage, killed_job]
        came = []
        running = self._start(*THROUGH_SLURM)
        try:
            for number in range(faults):
                if number % len(kinds) == 0:  # each kind once before any twice
                    draw.shuffle(kinds)
                with suppress(subprocess.TimeoutExpired):
                    running.wait(draw.uniform(0.5, 1.5) * every)
                    break
                kind = kinds[number % len(kinds)]
                if kind(self, slurm, draw):
                    came.append(kind.__name__)
                    print(f"{time.strftime('%X')} {kind.__name__}", flush=True)
            running.wait()
        finally:
            end(running)
        assert running.returncode == 0, self.printed
        return came


Fault = Callable[[Night, Cluster, random.Random], bool]


def lost_node(night: Night, slurm: Cluster, draw: random.Random) -> bool:
    """The node's daemon dies, and Slurm gives the node and its jobs up."""
    slurm.stop("slurmd", signal.SIGKILL)
    state = ("scontrol", "update", f"nodename={slurm.host}", "reason=fault")
    told(*state, "state=down")
    time.sleep(LASTS)
    slurm.start("slurmd", "-D")
    told(*state, "state=resume")
    slurm.wait_until_idle()
    return True


def restarted_controller(night: Night, slurm: Cluster, draw: random.Random) -> bool:
    """The controller is away for a while, and goes on with what it had saved.

    It is not killed: one that had no time to save takes a job that ended meanwhile for
    running, until the node registers again.
    """
    slurm.stop("slurmctld", signal.SIGTERM)
    time.sleep(LASTS)
    slurm.start("slurmctld", "-D")
    slurm.wait_until_idle()
    return True


def full_storage(night: Night, slurm: Cluster, draw: random.Random) -> bool:
    """Somebody else fills the storage of results."""
    other = night.project.path / "results" / "others.bin"
    space = os.statvfs(other.parent)
    with other.open("wb") as file, suppress(OSError):
        os.posix_fallocate(file.fileno(), 0, space.f_bavail * space.f_frsize)
    time.sleep(LASTS)
    other.unlink()
    return True


def killed_job(night: Night, slurm: Cluster, draw: random.Random) -> bool:
    """A job is killed, as one that took too much memory; false if none ran for a
    minute."""
    for _ in range(60):
        jobs = []
        for process in psutil.process_iter():
            with suppress(psutil.Error):
                is_of_night = process.cwd() == str(night.project.path)
                if is_of_night and SCRIPT.search(" ".join(process.cmdline())):
                    jobs.append(process)
        if jobs:
            with suppress(psutil.NoSuchProcess):
                draw.choice(jobs).kill()
            return True
        time.sleep(1)
    return False


def in_two_shares(slug: str, entry: paper_hub.Entry) -> paper_hub.Entry:
    """Return a model's entry with two jobs that share what it reads: no byte of a
    result depends on them."""
    return entry | {"resources": entry.get("resources", {}) | {"jobs": 2}}


def compare(folder: Path, hub: Hub, given: argparse.Namespace) -> None:
    """Run the part twice, and print the faults; `AssertionError` if a file differs."""
    rows = made.as_released(given.share, given.rows)
    settings = ["resamples=100", f"only=[{','.join(given.only)}]"]
    settings.append(f"max_parameters={given.most:g}")
    settings += fill(hub, folder / "models", rows)
    whole = Rehearsal(folder / "whole", hub, rows.gutenberg, settings)
    night = Night(folder / "night", hub, rows.gutenberg, settings)
    paper_hub.change_registry(night.project, "models", in_two_shares)
    results = night.project.path / "results"
    results.mkdir()
    subprocess.run(
        ["mount", "-t", "tmpfs", "-o", "size=1g", "tmpfs", str(results)], check=True
    )
    try:
        began = time.monotonic()
        with cluster(folder / "slurm", MEMORY) as slurm:
            came = night.disturb(
                slurm, faults=given.faults, every=given.every, seed=given.seed
            )
            jobs = told("scontrol", "show", "job", "--oneliner").splitlines()
        seconds = time.monotonic() - began
        made_at_night = night.results()
    finally:
        subprocess.run(["umount", "--lazy", str(results)], check=True)
    assert whole.run(), whole.printed
    expected = whole.results()
    names = expected.keys() | made_at_night.keys()
    differing = sorted(
        name for name in names if expected.get(name) != made_at_night.get(name)
    )
    assert not differing, f"other bytes: {differing}"
    print(
        f"{len(came)} faults ({', '.join(came)}), {len(jobs)} jobs of Slurm, "
        f"{len(expected)} files of the same bytes, {seconds:.0f} s"
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n")[0])
    parser.add_argument("--only", nargs="+", default=["con_recall_table7"])
    parser.add_argument("--most", type=float, default=1e12, help="parameters")
    parser.add_argument("--rows", type=float, default=0.1, help="as of rehearsal.py")
    parser.add_argument("--share", type=float, default=0.01, help="as of rehearsal.py")
    parser.add_argument("--faults", type=int, default=12)
    parser.add_argument("--every", type=float, default=40, help="seconds")
    parser.add_argument("--seed", type=int, default=0)
    given = parser.parse_args()
    if why := lacking():
        print(f"!!! NO NIGHT ON SLURM HERE: {why} !!!")
        return
    with tempfile.TemporaryDirectory(prefix="night-") as temporary:
        folder = Path(temporary).resolve()
        try:
            with Hub(port_of(folder)) as hub:
                compare(folder, hub, given)
        except NotStartedError as error:
            print(f"!!! NO NIGHT ON SLURM HERE: {error} !!!")


if __name__ == "__main__":
    main()
