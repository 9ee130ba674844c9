"""How long planning takes: parsing the Snakefile, and a dry run, of a study here or of a made-up one of many jobs.

python tests/bench/bench_planning.py [--study embedded] [--repetitions 5]
python tests/bench/bench_planning.py --models 60 --benchmarks 53 [--repetitions 1]

Parsing is what every job of a cluster pays again: `snakemake --list-rules` less `snakemake --version`, which is
Snakemake itself. Best of the repetitions, ways taking turns. The made-up study has two runs for each model on each
benchmark, a reference model and a corpus of two shards; it is planned in a copy of the project in a temporary folder.
"""

import argparse
import json
import sys
import tempfile
from pathlib import Path

import yaml
from measuring import ROOT, process_took
from projects import copy_project


def made_up_project(project: Path, models: int, benchmarks: int) -> Path:
    """A copy of the project with a study of about 3 x models x benchmarks jobs, whose file is returned."""
    copy_project(project)
    folder = project / "study"
    for model in range(models):
        checkpoint = folder / f"m{model}"
        checkpoint.mkdir(parents=True)
        (checkpoint / "config.json").write_text("{}", encoding="utf-8")
    for benchmark in range(benchmarks):
        rows = [{"input": f"text {row} of {benchmark}", "label": row % 2, "length": 8} for row in range(20)]
        text = "".join(json.dumps(row) + "\n" for row in rows)
        (folder / f"b{benchmark}.jsonl").write_text(text, encoding="utf-8")
    (folder / "corpus.txt").write_text("a line\n", encoding="utf-8")
    runs = [
        {"model": f"m{model}", "benchmark": f"b{benchmark}", "start_token": "none"} | own
        for model in range(models) for benchmark in range(benchmarks)
        for own in ({"corpus": "web", "references": ["m1" if model == 0 else "m0"],
                     "methods": ["loss", "zlib", "ref", "min_k", "min_k_pp", "dc_pdd"]},
                    {"views": ["delete-10", "delete-20"], "methods": ["loss", "min_k"]})
    ]  # fmt: skip
    study = {
        "study": "many",
        "models": {f"m{model}": {"source": "local", "path": f"m{model}"} for model in range(models)},
        "benchmarks": {
            f"b{number}": {"source": "local", "path": f"b{number}.jsonl", "lengths": [8]}
            for number in range(benchmarks)
        },
        "corpora": {"web": {"source": "local", "path": "corpus.txt", "shards": 2}},
        "runs": runs,
        "artifacts": ["results_auc", "results_tpr", "selection_gap", "surp_figure3"],
    }
    path = folder / "many.yaml"
    path.write_text(yaml.safe_dump(study, sort_keys=False), encoding="utf-8")
    return path


def compare(project: Path, study: str, repetitions: int) -> None:
    given = ("--config", f"study={study}")
    ways = {
        "snakemake --version": ("--version",),
        "snakemake --list-rules": ("--list-rules", *given),
        "snakemake -n --quiet": ("--dry-run", "--quiet", "--cores", "2", *given),
        "snakemake -n": ("--dry-run", "--cores", "2", *given),
        "snakemake -n --forceall": ("--dry-run", "--forceall", "--cores", "2", *given),
    }
    best = dict.fromkeys(ways, (float("inf"), float("inf"), 0.0))
    jobs = ""
    for _ in range(repetitions):
        for way, arguments in ways.items():
            *times, memory, printed = process_took([sys.executable, "-m", "snakemake", *arguments], project)
            wall, cpu = (min(pair) for pair in zip(best[way], times, strict=False))
            best[way] = wall, cpu, max(best[way][2], memory)
            jobs = next((line for line in printed.splitlines() if line.startswith("total ")), jobs)
    print(f"{' '.join(jobs.split())} jobs" if jobs else "nothing to be done")
    for way, (wall, cpu, memory) in best.items():
        print(f"{way:28} {wall:6.2f} s, CPU {cpu:6.2f} s, peak {memory:6.3f} GB")
    parse = (best["snakemake --list-rules"][kind] - best["snakemake --version"][kind] for kind in (0, 1))
    print("{:28} {:6.2f} s, CPU {:6.2f} s".format("parse", *parse))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--study", default="embedded")
    parser.add_argument("--models", type=int, default=0, help="of a made-up study, which stands for --study")
    parser.add_argument("--benchmarks", type=int, default=0)
    parser.add_argument("--repetitions", type=int, default=5)
    given = parser.parse_args()
    if not given.models:
        compare(ROOT, given.study, given.repetitions)
        return
    with tempfile.TemporaryDirectory() as folder:
        project = Path(folder) / "project"
        study = made_up_project(project, given.models, given.benchmarks)
        compare(project, str(study.relative_to(project)), given.repetitions)


if __name__ == "__main__":
    main()
