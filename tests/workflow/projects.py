"""A fresh copy of the project in an empty folder, a smoke study in it, and Snakemake as
a user runs it."""

import json
import os
import random
import re
import shutil
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

import yaml
from dry_runs import dry_run

from tiny_models import tiny_model

ROOT = Path(__file__).parents[2]
PARTS = (
    "Snakefile",
    "config",
    "envs",
    "profiles",
    "pyproject.toml",
    "scripts",
    "src",
    "workflow",
)
NOTHING = "Nothing to be done"
NOUNS = "nation congress people state union power peace law budget border school"
VERBS = "must will can shall may did has keeps gives asks builds finds"


@dataclass(frozen=True)
class Project:
    """A copy of the project's files; `run` is the command line."""

    path: Path

    def run(
        self, *arguments: str, check: bool = True, **environment: str
    ) -> subprocess.CompletedProcess[str]:
        variables = self.environment(**environment)
        if {"--dry-run", "-n"} & {*arguments}:
            done = dry_run(arguments, self.path, variables)
        else:
            done = subprocess.run(
                self.command(*arguments),
                cwd=self.path,
                env=variables,
                text=True,
                stdout=subprocess.PIPE,
                stderr=subprocess.STDOUT,
            )
        if check:
            assert done.returncode == 0, done.stdout
        return done

    def start(self, *arguments: str, **environment: str) -> subprocess.Popen[str]:
        """The same in the background, in a process group of its own."""
        return subprocess.Popen(
            self.command(*arguments),
            cwd=self.path,
            env=self.environment(**environment),
            text=True,
            stdout=(self.path / "started.log").open("w"),
            stderr=subprocess.STDOUT,
            start_new_session=True,
        )

    def command(self, *arguments: str) -> list[str]:
        return [sys.executable, "-m", "snakemake", *arguments]

    def environment(self, **changes: str) -> dict[str, str]:
        # the copy's library, not the installed one: tests edit it
        library = {"PYTHONPATH": str(self.path / "src")}
        cache = {
            "XDG_CACHE_HOME": str(self.path / ".cache"),
            "MPLCONFIGDIR": str(self.path / ".cache"),
        }
        # see tests/unit/conftest.py
        settings = {"OMP_NUM_THREADS": "1"}
        # as in a cell of Jupyter, where it is set and its backend not installed
        settings["MPLBACKEND"] = "module://matplotlib_inline.backend_inline"
        return os.environ | settings | library | cache | changes

    def smoke(self, *arguments: str, **options) -> subprocess.CompletedProcess[str]:
        return self.run(
            "--cores",
            "2",
            *arguments,
            "--config",
            "study=smoke/smoke.yaml",
            "resamples=200",
            **options,
        )

    def study(self) -> dict:
        return yaml.safe_load(
            (self.path / "smoke" / "smoke.yaml").read_text(encoding="utf-8")
        )

    def write_study(self, study: dict, name: str = "smoke/smoke.yaml") -> None:
        (self.path / name).write_text(
            yaml.safe_dump(study, sort_keys=False), encoding="utf-8"
        )

    def manifest(self, model: str = "target") -> dict:
        path = (
            self.path
            / "results"
            / "passes"
            / f"smoke~{model}"
            / "smoke~texts"
            / "smoke.json"
        )
        return json.loads(path.read_text(encoding="utf-8"))

    def stored(self) -> dict[str, int]:
        """Every stored view and when it was written: an unchanged entry had no second
        forward pass."""
        store = self.path / "results" / "passes" / "store"
        return {
            path.name: path.stat().st_mtime_ns
            for path in sorted(store.glob("[!.]*.parquet"))
        }


def jobs_of(planned: str) -> dict[str, int]:
    """The number of planned jobs by rule, and the total, of what Snakemake prints."""
    (stats,) = re.findall(r"^job +count\n-+ +-+\n((?:\w+ +\d+\n)+)", planned, re.M)[:1]
    return {name: int(number) for name, number in re.findall(r"(\w+) +(\d+)", stats)}


def copy_project(target: Path) -> Project:
    target.mkdir(parents=True, exist_ok=True)
    for part in PARTS:
        if (ROOT / part).is_dir():
            # compiled code comes along, but for what another process is writing
            being_written = shutil.ignore_patterns("*.pyc.*")
            shutil.copytree(ROOT / part, target / part, ignore=being_written)
        else:
            shutil.copy2(ROOT / part, target / part)
    plain = yaml.safe_load(
        (target / "profiles/default/profile.yaml").read_text(encoding="utf-8")
    )
    for shown in ("logger", "quiet"):  # tests read what Snakemake prints of each job
        del plain[shown]
    (target / "profiles/default/profile.yaml").write_text(
        yaml.safe_dump(plain), encoding="utf-8"
    )
    return Project(target)


def write_smoke(project: Project) -> Project:
    """Two tiny random models, 60 made-up texts of two lengths, a corpus of 200 lines
    and a study over them."""
    folder = project.path / "smoke"
    folder.mkdir()
    tiny_model("gpt_neox", folder / "target")
    tiny_model("llama", folder / "reference", seed=1)
    draw = random.Random(0)
    texts = [
        {
            "id": f"{length}-{number:02d}",
            "input": sentence(draw, length),
            "label": number % 2,
            "length": length,
            "document": f"d{number % 12}",
        }
        for length in (8, 32)
        for number in range(60)
    ]
    (folder / "texts.jsonl").write_text(
        "".join(json.dumps(text) + "\n" for text in texts), encoding="utf-8"
    )
    (folder / "corpus.txt").write_text(
        "\n".join(sentence(draw, 40) for _ in range(200)) + "\n", encoding="utf-8"
    )
    panels = [
        {"model": "target", "benchmark": "texts", "length": length}
        for length in (8, 32)
    ]
    project.write_study(
        {
            "study": "smoke",
            "first": ["headline", "results_auc"],
            "models": {
                name: {
                    "source": "local",
                    "path": name,
                    "dtype": "float32",
                    "resources": {"threads": 1},
                }
                for name in ("target", "reference")
            },
            "benchmarks": {
                "texts": {
                    "source": "local",
                    "path": "texts.jsonl",
                    "lengths": [8, 32],
                    "prefix": {"pool": 3, "draws": 2},
                }
            },
            "corpora": {"web": {"source": "local", "path": "corpus.txt"}},
            "runs": [
                {
                    "model": "target",
                    "benchmark": "texts",
                    "corpora": ["web"],
                    "references": ["reference"],
                    "start_token": "<|endoftext|>",
                    "methods": [
                        "loss",
                        "zlib",
                        "ref",
                        "min_k",
                        "min_k_pp",
                        {"surp": {"eps": [1, 2]}},
                        "dc_pdd",
                    ],
                },
                {
                    "model": "target",
                    "benchmark": "texts",
                    "lengths": [8],
                    "start_token": "<|endoftext|>",
                    "neighbours": ["transpositions-2"],
                    "draws": [0, 1],
                    "methods": [
                        "neighbor",
                        {"recall": {"shots": [1, 2]}},
                        {"con_recall": {"gamma": [0.5], "shots": 2}},
                    ],
                },
                {
                    "model": "target",
                    "benchmark": "texts",
                    "lengths": [8],
                    "start_token": "<|endoftext|>",
                    "views": ["delete-50"],
                    "methods": ["loss"],
                },
            ],
            "artifacts": {
                "headline": {"panels": panels},
                "results_auc": {"panels": panels},
                "surp_figure3": {"panels": panels[:1]},
            },
        }
    )
    return project


def sentence(draw: random.Random, words: int) -> str:
    kinds = (NOUNS.split(), VERBS.split())
    return " ".join(
        draw.choice(kinds[place % 2]) + str(draw.randint(0, 9))
        for place in range(words)
    )


# appended to the store of the copied project: after PLANTED_AFTER finished passes, the
# next one hangs
PLANTED = """

import os as _os
import time as _time

_write = Store.write


def _planted(self, *chunk):
    if len(list(self.path.glob("*.json"))) >= int(_os.environ.get("PLANTED_AFTER", 10**6)):
        (self.path / ".held").write_text(str(_os.getpid()))
        _time.sleep(600)
    return _write(self, *chunk)


Store.write = _planted
"""


def plant(project: Project) -> None:
    """Let the project's store be made to fail. A result carries its code, so that equal
    bytes need it in both."""
    store = project.path / "src" / "pretrace" / "passes" / "store.py"
    store.write_text(store.read_text(encoding="utf-8") + PLANTED, encoding="utf-8")
