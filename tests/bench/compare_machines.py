"""How far two runs of one study lie apart: on two machines, in two number formats or
with two counts of threads.

Run the study in two checkouts, then:
python tests/bench/compare_machines.py ONE/results/embedded OTHER/results/embedded

For each model and each way of choosing settings: how many AUCs both runs have, the
median, the 95th percentile and the largest of their distances, and the method of the
largest. A claim that rests on less than this does not survive another machine.

python tests/bench/compare_machines.py ONE.json OTHER.json puts two files of
bench_gpu.py side by side.
"""

import argparse
import json
from pathlib import Path

import pandas as pd

from pretrace.evaluation.method_settings import named_variant

KEYS = [
    "unit", "method", "view", "start_token", "draw", "reference", "subset", "length",
    "evaluation_set", "selection",
]  # fmt: skip


def aucs(folder: Path) -> pd.DataFrame:
    """The AUC of every chosen setting of a study's metrics, with the model and
    benchmark."""
    frames = [
        pd.read_parquet(path).assign(model=path.parent.name, benchmark=path.stem)
        for path in sorted((folder / "metrics").rglob("*.parquet"))
    ]
    metrics = pd.concat(frames, ignore_index=True)
    chosen = metrics[metrics["selection"].ne("grid") & metrics["metric"].eq("auc")]
    pairs = zip(chosen["method"], chosen["setting"], strict=True)
    return chosen.assign(
        method=[
            named_variant(method, setting.split("|")[0]) for method, setting in pairs
        ]
    )


def distances(first: Path, other: Path) -> pd.DataFrame:
    """A row for each AUC that both runs have, with its two values and their
    distance."""
    keys = ["model", "benchmark", *KEYS]
    both = aucs(first).merge(aucs(other), on=keys, suffixes=("", "_other"))
    return both.assign(distance=(both["value"] - both["value_other"]).abs()).dropna(
        subset=["distance"]
    )


def table(both: pd.DataFrame) -> pd.DataFrame:
    groups = both.groupby(["model", "selection"])["distance"]
    summary = groups.agg(
        aucs="size",
        median="median",
        p95=lambda aucs: aucs.quantile(0.95),
        largest="max",
    )
    largest = both.loc[groups.idxmax()]
    return summary.reset_index().assign(
        where=[
            f"{m}, {b}, {s or 'all'}, {n} words"
            for m, b, s, n in zip(
                largest["method"],
                largest["benchmark"],
                largest["subset"],
                largest["length"],
                strict=True,
            )
        ]
    )


def speeds(first: Path, other: Path) -> pd.DataFrame:
    """A row for each measurement that both files of `bench_gpu.py` have: seconds on
    each card, and their ratio."""
    measured = [json.loads(path.read_text(encoding="utf-8")) for path in (first, other)]
    tables = [
        pd.DataFrame(file["rows"])[["shape", "what", "seconds"]] for file in measured
    ]
    both = tables[0].merge(tables[1], on=["shape", "what"], suffixes=("", "_other"))
    both["times as fast"] = both["seconds"] / both["seconds_other"]
    cards = [file["machine"]["card"] for file in measured]
    return both.rename(
        columns={"seconds": cards[0], "seconds_other": f"{cards[1]} (second file)"}
    )


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n")[0])
    parser.add_argument(
        "first", type=Path, help="ONE/results/embedded, or a file of JSON"
    )
    parser.add_argument("other", type=Path, help="OTHER/results/embedded")
    given = parser.parse_args()
    compared = (
        speeds(given.first, given.other)
        if given.first.suffix == ".json"
        else table(distances(given.first, given.other))
    )
    print(compared.to_markdown(index=False, floatfmt=".4f"))
