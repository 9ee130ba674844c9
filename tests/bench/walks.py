"""How many files of the library a reader enters who follows a call, by a trace.

    python tests/bench/walks.py

Prints a Markdown row for each call: the files that its functions are in, the stays in a
file, and how often a stay is in a file that was left before (`call_trace.py` says how
they are counted). The calls are real, with a tiny model and made-up texts: what a study
plans for a figure, and what the jobs of one text run. CONTRIBUTING.md has the table.
"""

import argparse
import sys
import tempfile
from collections.abc import Iterator
from contextlib import chdir
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[2]
sys.path[:0] = [str(ROOT / "tests"), str(ROOT / "tests" / "made_up")]

import pandas as pd  # noqa: E402
from made_up_results import artifact, make_study, render  # noqa: E402
from made_up_studies import CONFIG  # noqa: E402

from call_trace import Walk, walk_of  # noqa: E402
from pretrace import notebook  # noqa: E402
from pretrace.benchmarks.loaders.local import check_texts  # noqa: E402
from pretrace.benchmarks.table import finish  # noqa: E402
from pretrace.evaluation.evaluate import evaluate  # noqa: E402
from pretrace.evaluation.scores import evaluation_sets, scores_of  # noqa: E402
from pretrace.methods.scoring import score  # noqa: E402
from pretrace.passes.job import run  # noqa: E402
from pretrace.studies import Plan, load_study  # noqa: E402
from tiny_models import tiny_model  # noqa: E402

FIGURE = "dc_pdd_figure2"
METHODS = ["loss", "min_k"]


def walks_of_a_figure(folder: Path) -> Iterator[tuple[str, Walk]]:
    """Yield the walks from the study file to the bars of one figure."""
    results = make_study(folder)
    options = {"method": "dc_pdd", "settings": {"with SFO": "a=0.01"}}
    drawn = artifact("ablation_bars", options=options)
    with walk_of() as loading:
        study = load_study(
            CONFIG | {"study": "paper", "only": [FIGURE]}, ROOT / "config"
        )
    yield "`load_study`", loading
    with walk_of() as planning:
        Plan(study).rendering(FIGURE)
    yield "`Plan.rendering` of a figure", planning
    with walk_of() as rendering:
        render(drawn, results, folder)
    yield "`render` of a figure", rendering


def walks_of_a_text(folder: Path) -> Iterator[tuple[str, Walk]]:
    """Yield the walks of a user's text: read, run through a model, scored, evaluated."""
    model = tiny_model("gpt_neox", folder / "model")
    lines = []
    for number in range(40):
        about = {"text": f"Text {number} says {['nay', 'aye'][number % 2]} to all."}
        lines.append(about | {"label": number % 2})
    rows = folder / "texts.jsonl"
    pd.DataFrame(lines).to_json(rows, orient="records", lines=True)
    with walk_of() as reading:
        texts = check_texts(rows, metrics=True)
    yield "`check_texts`, of a file", reading
    works = folder / "works"
    works.mkdir()
    (works / "first.txt").write_text("One two three. " * 40, encoding="utf-8")
    with walk_of() as reading_works:
        check_texts(works, metrics=False)
    yield "`check_texts`, of a folder of works", reading_works
    listed = [line["text"] for line in lines]
    for name, function in (("`run`", run), ("`score`", score)):
        with walk_of(function) as walk:
            scores = notebook.score(
                listed, model=str(model), methods=METHODS, start_token="none"
            )
        yield name, walk
    yield "`evaluate`", _walk_of_evaluation(texts, scores)


def _walk_of_evaluation(texts: Any, scores: pd.DataFrame) -> Walk:
    benchmark = finish(texts, name="texts", seed=0)
    columns = {"loss": "", "min_k": "k=0.2"}
    parts = []
    for column, setting in columns.items():
        part = pd.DataFrame({"id": benchmark["text_id"], "score": scores[column]})
        keys = {"method": column, "setting": setting, "view": "original"}
        keys |= {"unit": "text", "reference": "", "start_token": "tokenizer"}
        keys |= {"inner_start": False, "draw": pd.NA, "shots_used": pd.NA}
        parts.append(part.assign(**keys))
    table = pd.concat(parts).astype({"draw": "Int64", "shots_used": "Int64"})
    with walk_of() as walk:
        evaluate(
            scores_of([table], benchmark),
            benchmark,
            study="walks",
            model="tiny",
            benchmark_name="texts",
            resamples=100,
            evaluation_sets=evaluation_sets(benchmark, None, [0]),
            pooled=False,
        )
    return walk


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--files", action="store_true", help="print the files, too")
    options = parser.parse_args()
    print("| call | files | stays | returns |", "|---|--:|--:|--:|", sep="\n")
    # elsewhere, so that nothing that was read before is found
    with tempfile.TemporaryDirectory() as folder, chdir(folder):
        for part in (walks_of_a_figure, walks_of_a_text):
            own = Path(folder, part.__name__)
            own.mkdir()
            for name, walk in part(own):
                counts = f"{len(walk.files)} | {len(walk.stays)} | {walk.returns}"
                print(f"| {name} | {counts} |")
                if options.files:
                    print("", *sorted(walk.files), sep="\n  ", file=sys.stderr)


if __name__ == "__main__":
    main()
