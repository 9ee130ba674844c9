"""CPU seconds and peak memory of an audit's check, table and evaluation, and of a
study's check and metrics, by the number of texts; no model.

    python tests/bench/bench_size.py [--texts 1000 20000 100000] [--parts check build
        evaluate labelled metrics] [--texts-of-document 100]

Prints the Markdown table of RESULTS.md. Each text has 60 made-up words; 100 texts are
of one document, half of the documents are audited, or members in the study. Each number
is of a process of its own. The scores of the evaluation are made up.
"""

import argparse
import json
import resource
import tempfile
import time
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context
from pathlib import Path

import numpy as np
import pandas as pd

from pretrace import benchmarks
from pretrace.audit.analysis import audit
from pretrace.audit.file_checks import check_audit
from pretrace.audit.scores import ScoredBenchmark
from pretrace.benchmarks.loaders.local import check_texts
from pretrace.evaluation.evaluate import evaluate
from pretrace.evaluation.scores import scores_of as units_of

WORDS_OF_TEXT = 60
METHODS = ("loss", "zlib", "lowercase")
OF_STUDY = ("labelled", "metrics")
RESAMPLES = 1000
RUN: dict[str, object] = {
    "start_token": "none", "corpora": [], "references": [], "neighbours": [],
    "questions": [], "paraphraser": None,
}  # fmt: skip


def write_texts(
    file: Path, count: int, texts_of_document: int, in_question: int | None = None
) -> None:
    """Write a file whose documents have the label 0 and `in_question` by turns."""
    rng = np.random.default_rng(0)
    words = np.array([f"word{number}" for number in range(20_000)])
    with file.open("w", encoding="utf-8") as lines:
        for number in range(count):
            document = number // texts_of_document
            row = {
                "id": f"t{number:06d}",
                "text": " ".join(rng.choice(words, WORDS_OF_TEXT)),
                "label": in_question if document % 2 else 0,
                "document": f"d{document:06d}",
            }
            lines.write(f"{json.dumps(row)}\n")


def build(file: Path) -> pd.DataFrame:
    return benchmarks.build(
        "made_up", {"source": "local", "path": file.name}, [file], seed=0
    )


def scores_of(table: pd.DataFrame) -> pd.DataFrame:
    rng = np.random.default_rng(1)
    own = pd.DataFrame(
        {
            "unit": "text",
            "id": table["text_id"],
            "view": "original",
            "start_token": "none",
        }
    )
    own = own.assign(draw=None, reference="", shots_used=None).astype(
        {"draw": "Int64", "shots_used": "Int64"}
    )
    blocks = [
        own.assign(method=method, setting="", score=rng.normal(size=len(own)))
        for method in METHODS
    ]
    return pd.concat(blocks, ignore_index=True)


def measure(part: str, file: Path) -> tuple[float, int]:
    """Do one part; return its CPU seconds and the peak of the process's memory in
    MB."""
    if part == "evaluate":
        table = build(file)
        scored = ScoredBenchmark("made_up", scores_of(table), table)
    if part == "metrics":
        table = build(file)
        scores = scores_of(table)
    begin = time.process_time()
    if part == "check":
        check_texts(file, metrics=False)
        check_audit(file, None)
    elif part == "labelled":
        check_texts(file, metrics=True)
    elif part == "metrics":
        names = {"study": "size", "model": "none", "benchmark_name": "made_up"}
        evaluate(units_of([scores], table), table, resamples=RESAMPLES, **names)
    elif part == "build":
        build(file)
    else:
        audit(scored, scored, [RUN])
    return time.process_time() - begin, resource.getrusage(
        resource.RUSAGE_SELF
    ).ru_maxrss >> 10


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n")[0])
    parser.add_argument("--texts", type=int, nargs="+", default=[1000, 20_000, 100_000])
    parts = ["check", "build", "evaluate", *OF_STUDY]
    parser.add_argument("--parts", nargs="+", choices=parts, default=parts)
    parser.add_argument("--texts-of-document", type=int, default=100)
    given = parser.parse_args()
    share = given.texts_of_document
    print("| texts | documents | part | CPU s | peak MB |\n|--:|--:|---|--:|--:|")
    with tempfile.TemporaryDirectory() as folder:
        for count in given.texts:
            audited = Path(folder, f"{count}-audited.jsonl")
            labelled = Path(folder, f"{count}-labelled.jsonl")
            write_texts(audited, count, share)
            write_texts(labelled, count, share, in_question=1)
            for part in given.parts:
                file = labelled if part in OF_STUDY else audited
                with ProcessPoolExecutor(1, get_context("spawn")) as process:
                    seconds, memory = process.submit(measure, part, file).result()
                documents = count // share
                print(
                    f"| {count:,} | {documents:,} | {part} | {seconds:.1f} | "
                    f"{memory:,} |",
                    flush=True,
                )


if __name__ == "__main__":
    main()
