"""The rehearsal: the paper study from an empty folder to its report, as near to the
real one as two cores can come.

    PYTHONPATH=tests python tests/workflow/rehearsal.py

runs the whole study. `--only surp_table1` runs one artifact. `--kills 3` runs all a
second time, killed every three minutes: it must end in the same bytes.

A hub on loopback serves every model of the study with the settings, number types, files
and tokenizer of the released one, but tiny and random, and every data set in its true
layout with made-up texts. The two models that are spread over GPUs run on two simulated
ones. WikiMIA and PatentMIA have their released numbers of rows, the others `--share` of
them.

It prints the wall time, peak memory and bytes of each rule, and what failed. Killed or
not, a run gives the same bytes.
"""

import argparse
import base64
import json
import os
import re
import shutil
import socket
import subprocess
import tempfile
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from threading import Event, Thread

import paper_hub
import psutil
import transformers
import yaml
from faults import end
from projects import ROOT, Project, copy_project
from small_study import results

import hub_datasets as made
from hub_server import Hub
from paper_models import PICKLED, write_paper_model
from small_wordnet import write_wordnet

CONVERTED = ("baichuan-7b", "baichuan-13b")
"""Models that are read from a folder: their own code fits no transformers of today."""
SPREAD = ("llama-2-70b", "mixtral-8x7b")
NO_RESULT = "de_cop_figure7"
TIMED = re.compile(r"de_cop_table1[34]")
"""Files that show how long something took."""
SCRIPT = re.compile(r"\.snakemake/scripts/\w+\.(\w+)\.py")
MEGABYTE = 1e6

# appended to the library of the copied project
SIMULATED = '''


def _on_two_gpus(load):
    """Have a model that `device_map` spreads find two simulated GPUs, until its process ends."""

    def loaded(*arguments, **options):
        if options.get("device_map"):
            from simulated_gpu import SimulatedGPUs

            SimulatedGPUs().__enter__()
            options["device"] = "auto"
        return load(*arguments, **options)

    return loaded


load_checkpoint = _on_two_gpus(load_checkpoint)
'''


@dataclass
class Usage:
    """What the jobs of a rule took: their seconds by log file, and the bytes of their
    outputs that are still there."""

    seconds: dict[str, float] = field(default_factory=dict)
    bytes: int = 0


class Watch:
    """Looks at the processes of a run once a second, also where a machine has other
    work.

    `peaks`: rule -> most bytes of memory of one of its jobs. `most`: of all processes
    at once. `computed`: process -> its rule ("" of Snakemake's own) and the seconds
    that it computed.
    """

    def __init__(self) -> None:
        self.peaks: Counter[str] = Counter()
        self.most = 0
        self.computed: dict[psutil.Process, tuple[str, float]] = {}

    @contextmanager
    def over(self, snakemake: int) -> Iterator[None]:
        ended = Event()

        def look() -> None:
            while not ended.wait(1):
                with suppress(psutil.NoSuchProcess):
                    self._look(psutil.Process(snakemake))

        thread = Thread(target=look)
        thread.start()
        try:
            yield
        finally:
            ended.set()
            thread.join()

    def _look(self, snakemake: psutil.Process) -> None:
        total = 0
        for process in [snakemake, *snakemake.children(recursive=True)]:
            with suppress(psutil.NoSuchProcess):
                memory, times = process.memory_info().rss, process.cpu_times()
                total += memory
                script = SCRIPT.search(" ".join(process.cmdline()))
                rule = script[1] if script else ""
                self.peaks[rule] = max(self.peaks[rule], memory)
                self.computed[process] = rule, times.user + times.system
        self.most = max(self.most, total)

    def seconds(self) -> Counter[str]:
        """Return the seconds that the processes of each rule computed."""
        rules: Counter[str] = Counter()
        for rule, seconds in self.computed.values():
            rules[rule] += seconds
        return rules


class Rehearsal:
    """The study in a project of its own, with `settings` of --config.

    A folder in which it was begun goes on, with the code of that time.
    """

    def __init__(self, folder: Path, hub: Hub, books: int, settings: list[str]) -> None:
        self.project, self.hub, self.watch = Project(folder), hub, Watch()
        self.settings = tuple(settings)
        self.kills = 0
        if (folder / "started.log").is_file():
            self._start("--unlock").wait()
            return
        shutil.rmtree(folder, ignore_errors=True)  # stopped while it was copied
        copy_project(folder)
        write_wordnet(folder / "nltk" / "corpora" / "wordnet", made.synonyms())
        paper_hub.read_elsewhere(self.project, hub, books)
        target = folder / "src" / "pretrace" / "models" / "target.py"
        target.write_text(
            target.read_text(encoding="utf-8") + SIMULATED, encoding="utf-8"
        )

    def run(self, minutes: float | None = None) -> bool:
        """Run the study to its end, and say whether every job succeeded.

        With `minutes`, everything that runs is killed each time that so many have
        passed, and the command given again.
        """
        seconds = None if minutes is None else 60 * minutes
        while True:
            running = self._start("--keep-going", "--rerun-incomplete")
            try:
                with self.watch.over(running.pid), suppress(subprocess.TimeoutExpired):
                    running.wait(seconds)
            # which does not reach the run: it has a process group of its own
            except KeyboardInterrupt:
                end(running)
                raise
            if running.returncode is not None:
                return running.returncode == 0
            end(running)
            self.kills += 1
            self._start("--unlock").wait()

    def _start(self, *arguments: str) -> subprocess.Popen[str]:
        library = os.pathsep.join((str(self.project.path / "src"), str(ROOT / "tests")))
        environment = paper_hub.environment(self.project, self.hub) | {
            "PYTHONPATH": library
        }
        return self.project.start(
            *paper_hub.command(*arguments, settings=self.settings), **environment
        )

    @property
    def printed(self) -> str:
        """What Snakemake printed since it was last started."""
        return (self.project.path / "started.log").read_text(encoding="utf-8")

    def results(self) -> dict[str, bytes]:
        """Return the study's result files by name, but for those that show times."""
        files = results(self.project, "paper")
        return {
            name: content for name, content in files.items() if not TIMED.search(name)
        }

    def usage(self) -> dict[str, Usage]:
        """Return what each rule took, by the records that Snakemake keeps of
        outputs."""
        rules: dict[str, Usage] = {}
        records = self.project.path / ".snakemake" / "metadata"
        for path in filter(Path.is_file, records.rglob("*")):
            record = json.loads(path.read_text(encoding="utf-8"))
            name = "".join(part.lstrip("@") for part in path.relative_to(records).parts)
            output = self.project.path / base64.urlsafe_b64decode(name).decode()
            usage = rules.setdefault(record["rule"], Usage())
            usage.seconds[str(record["log"])] = record["endtime"] - record["starttime"]
            usage.bytes += bytes_of(output)
        return rules

    def table(self) -> str:
        """Return the table of rules, the one that took longest first."""
        lines = [
            "| rule | jobs | wall (s) | computed (s) | longest (s) | peak (MB) | "
            "output (MB) |",
            "|---|--:|--:|--:|--:|--:|--:|",
        ]
        computed = self.watch.seconds()
        usages = sorted(
            self.usage().items(), key=lambda item: -sum(item[1].seconds.values())
        )
        for rule, usage in usages:
            taken = usage.seconds.values()
            cells = (
                len(taken),
                sum(taken),
                computed[rule],
                max(taken),
                self.watch.peaks[rule] / MEGABYTE,
            )
            shown = " | ".join(f"{cell:.0f}" for cell in cells)
            lines.append(f"| `{rule}` | {shown} | {usage.bytes / MEGABYTE:.1f} |")
        return "\n".join(lines)

    def disk(self) -> str:
        """Return the sizes of the folders that no rule names as its output, and of all
        results."""
        folders = {
            "store of passes": "results/passes/store",
            "cache of the hub": "hub",
            "results": "results",
        }
        sizes = {
            name: bytes_of(self.project.path / folder)
            for name, folder in folders.items()
        }
        return ", ".join(
            f"{name} {size / MEGABYTE:.0f} MB" for name, size in sizes.items()
        )

    def faults(self, artifacts: list[str]) -> list[str]:
        """Return what is not as it must be: jobs that failed, artifacts without a file,
        models on the wrong devices."""
        study = self.project.path / "results" / "paper"
        failed = re.findall(
            r"^Error in rule (\w+):.*?^\s+log: (\S+)",
            self.printed,
            re.MULTILINE | re.DOTALL,
        )
        faults = [
            f"{rule}: {last_line(self.project.path / log)}" for rule, log in failed
        ]
        files = [
            path
            for folder in ("tables", "figures")
            for path in (study / folder).glob("*.csv")
        ]
        missing = set(artifacts) - {NO_RESULT} - {path.stem for path in files}
        faults += [f"no artifact {slug}" for slug in sorted(missing)]
        for log in sorted((self.project.path / "results" / "logs").rglob("*.log")):
            text = log.read_text(encoding="utf-8")
            is_spread = "cuda:0" in text and "cuda:1" in text
            if log.parent.parent.name in SPREAD and "loaded" in text and not is_spread:
                faults.append(f"{log}: the model was not spread over two GPUs")
        faults += [
            f"a pickle was fetched: {path}"
            for _, path, _ in self.hub.asked
            if path.endswith(PICKLED)
        ]
        return faults


def bytes_of(path: Path) -> int:
    """Return the size of a file, or of all files in a folder; 0 of what is gone. A link
    counts as nothing."""
    if path.is_dir():
        return sum(
            file.lstat().st_size
            for file in path.rglob("*")
            if file.is_file() and not file.is_symlink()
        )
    return path.lstat().st_size if path.is_file() else 0


def last_line(log: Path) -> str:
    lines = (
        log.read_text(encoding="utf-8").strip().splitlines() if log.is_file() else []
    )
    return lines[-1] if lines else f"{log} is empty"


def fill(hub: Hub, folder: Path, rows: made.PaperRows) -> list[str]:
    """Put every data set and model on the hub, and return the settings for the models
    that are read from `folder`."""
    transformers.utils.logging.disable_progress_bar()
    made.paper_study(hub, rows)
    models = yaml.safe_load(
        (ROOT / "config" / "models.yaml").read_text(encoding="utf-8")
    )
    hub_models = {
        slug: entry for slug, entry in models.items() if entry["source"] == "hub"
    }
    for seed, (slug, entry) in enumerate(hub_models.items()):
        path = folder / slug
        if not (path / PICKLED).is_file():  # the file that is written last
            write_paper_model(slug, entry, path, seed=seed)
        hub.add_folder(
            "models", entry["hub"], path, revision=entry.get("revision", "main")
        )
    paths = ", ".join(f"{slug}: {folder / slug}" for slug in CONVERTED)
    return [f"paths={{{paths}}}"]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n")[0])
    parser.add_argument(
        "--only", nargs="+", metavar="ARTIFACT", help="these tables and figures alone"
    )
    parser.add_argument(
        "--share",
        type=float,
        default=0.05,
        help="of the rows of the large data sets (0.05)",
    )
    parser.add_argument(
        "--rows",
        type=float,
        default=1.0,
        help="of the rows of WikiMIA and PatentMIA (1)",
    )
    parser.add_argument(
        "--kills",
        type=float,
        metavar="MINUTES",
        help="run again, killed each time so many have passed",
    )
    parser.add_argument(
        "--folder",
        type=Path,
        help="a folder to work in, which is kept; a rehearsal that was stopped goes on",
    )
    given = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="rehearsal-") as temporary:
        folder = (given.folder or Path(temporary)).resolve()
        try:
            with Hub(port_of(folder)) as hub:
                rehearse(given, folder, hub)
        except KeyboardInterrupt:
            raise SystemExit("stopped") from None


def port_of(folder: Path) -> int:
    """Return the hub's port, which stays: addresses of the hub are in the
    registries."""
    file = folder / "port"
    if not file.is_file():
        folder.mkdir(parents=True, exist_ok=True)
        with socket.create_server(("127.0.0.1", 0)) as free:
            file.write_text(str(free.getsockname()[1]), encoding="utf-8")
    return int(file.read_text(encoding="utf-8"))


def rehearse(given: argparse.Namespace, folder: Path, hub: Hub) -> None:
    began = time.monotonic()
    rows = made.as_released(given.share, given.rows)
    settings = [
        "resamples=100",
        "available=[dolma_book]",
        *fill(hub, folder / "models", rows),
    ]
    print(f"hub: {time.monotonic() - began:.0f} s", flush=True)
    study = yaml.safe_load(
        (ROOT / "config" / "studies" / "paper.yaml").read_text(encoding="utf-8")
    )
    artifacts = list(study["artifacts"])
    if given.only:
        settings.append(f"only=[{','.join(given.only)}]")
        artifacts = [slug for slug in given.only if slug in artifacts]
    whole = Rehearsal(folder / "whole", hub, rows.gutenberg, settings)
    faults = report("undisturbed", whole, None, artifacts)
    if given.kills:
        killed = Rehearsal(folder / "killed", hub, rows.gutenberg, settings)
        faults += report(
            f"killed every {given.kills:g} minutes", killed, given.kills, artifacts
        )
        expected, got = whole.results(), killed.results()
        names = sorted(
            name
            for name in expected.keys() | got.keys()
            if expected.get(name) != got.get(name)
        )
        faults += [f"other bytes after kills: {name}" for name in names]
        print(
            f"killed {killed.kills} times, {len(expected)} files compared, "
            f"{len(names)} differ"
        )
    if faults:
        raise SystemExit("\n".join(["", "What broke:", *faults]))


def report(
    title: str, rehearsal: Rehearsal, minutes: float | None, artifacts: list[str]
) -> list[str]:
    """Run a rehearsal, print what it took, and return its faults. One that is stopped
    by Ctrl-C says what it took."""
    began = time.monotonic()
    try:
        succeeded = rehearsal.run(minutes)
    finally:
        _print_usage(title, rehearsal, began)
    faults = rehearsal.faults(artifacts)
    return (
        faults
        if succeeded
        else [*faults, f"Snakemake failed: {rehearsal.project.path / 'started.log'}"]
    )


def _print_usage(title: str, rehearsal: Rehearsal, began: float) -> None:
    wall = (time.monotonic() - began) / 60
    computed = rehearsal.watch.seconds().total() / 60
    most = rehearsal.watch.most / MEGABYTE
    print(
        f"\n{title}: {wall:.1f} minutes, {computed:.1f} minutes of a core, at most "
        f"{most:.0f} MB of memory in all"
    )
    print(f"{rehearsal.table()}\n{rehearsal.disk()}", flush=True)


if __name__ == "__main__":
    main()
