"""How long planning takes: parsing the Snakefile, and a dry run.

python tests/bench/bench_planning.py [--study embedded] [--repetitions 5]

Parsing is what every job of a cluster pays again: `snakemake --list-rules` less `snakemake --version`, which is
Snakemake itself. Best of the repetitions, ways taking turns.
"""

import argparse
import subprocess
import sys
import time


def seconds(*arguments: str) -> float:
    start = time.perf_counter()
    subprocess.run([sys.executable, "-m", "snakemake", *arguments], check=True, capture_output=True)
    return time.perf_counter() - start


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--study", default="embedded")
    parser.add_argument("--repetitions", type=int, default=5)
    given = parser.parse_args()
    study = ("--config", f"study={given.study}")
    ways = {
        "snakemake --version": ("--version",),
        "snakemake --list-rules": ("--list-rules", *study),
        "snakemake -n": ("--dry-run", "--cores", "2", *study),
        "snakemake -n --forceall": ("--dry-run", "--forceall", "--cores", "2", *study),
    }
    best = dict.fromkeys(ways, float("inf"))
    for _ in range(given.repetitions):
        for way, arguments in ways.items():
            best[way] = min(best[way], seconds(*arguments))
    for way, taken in best.items():
        print(f"{way:28} {taken:6.2f} s")
    print(f"{'parse':28} {best['snakemake --list-rules'] - best['snakemake --version']:6.2f} s")


if __name__ == "__main__":
    main()
