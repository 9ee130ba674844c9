"""Results of a model and benchmark other than metrics and tests: one tidy table of estimates."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

import pandas as pd

from pretrace.evaluation.answers import answer_estimates
from pretrace.evaluation.audit_power import power
from pretrace.evaluation.audit_scores import ScoredBenchmark
from pretrace.evaluation.cells import EvaluationSet, Scores
from pretrace.evaluation.codec import codec_estimates
from pretrace.evaluation.corpus_power import corpus_power
from pretrace.evaluation.corpus_test import corpus_test
from pretrace.evaluation.curves import score_curves
from pretrace.evaluation.tokens import Passes, shift_estimates, token_curves
from pretrace.passes.index import PassIndex
from pretrace.runtime.errors import InputError

COORDINATES = [
    "quantity", "method", "view", "start_token", "draw", "reference", "subset", "length", "evaluation_set",
    "label", "document", "calibration", "letter", "order", "prefix", "separator", "shots", "texts",
    "documents",
]  # fmt: skip
COLUMNS = [*COORDINATES, "n", "answers", "value", "low", "high"]
"""A row an estimate with its 95 % interval (NaN where none is drawn), over `n` units, at its coordinates.

A coordinate that means nothing to a quantity is "" or missing. Quantities: those of `answers.answer_estimates`; `shift`
(`tokens.shift_estimates`); `power` (`audit_power.power`); those of `corpus_test`, `corpus_power` and `codec`. `label`
is 1 for members, 0 for non-members."""

_WHOLE = ("draw", "length", "label", "order", "shots", "texts", "documents", "n", "answers")
_NUMBERS = ("value", "low", "high")


def estimates_and_curves(
    asked: Sequence[Mapping[str, Any]],
    *,
    model: str,
    benchmark_name: str,
    benchmark: pd.DataFrame,
    metrics: pd.DataFrame,
    scores: Scores,
    table: Callable[[], pd.DataFrame],
    prefixes: pd.DataFrame | None,
    evaluation_sets: Sequence[EvaluationSet],
    answers: pd.DataFrame | None,
    calibrations: pd.DataFrame | None,
    manifest: Mapping[str, Any] | None,
    store: Path,
    resamples: int,
    pooled: bool,
    language: str = "en",
) -> tuple[pd.DataFrame, pd.DataFrame]:
    """The tables `COLUMNS` and `curves.COLUMNS`: what `asked` says (`studies.plan.estimates_asked`); of answers, all.

    `scores` as `cells.scores_of` gives them; `table` reads the scores table, for an audit's power and for corpus tests.
    The passes of `manifest` are read for shifts, tokens and CoDeC.
    """

    def of(statistic: str) -> list[Mapping[str, Any]]:
        return [one for one in asked if one["statistic"] == statistic]

    rows: list[dict[str, Any]] = []
    if answers is not None and calibrations is not None:
        rows += answer_estimates(
            answers, calibrations, model=model, benchmark=benchmark_name, resamples=resamples, pooled=pooled,
            orders_of=sorted({one["document"] for one in of("accuracy_by_order")}),
        )  # fmt: skip
    if of("power") + of("corpus") + of("corpus_power"):
        scored = ScoredBenchmark(benchmark_name, table(), benchmark, prefixes)
        rows += [row for one in of("power") for row in power(scored, one)]
        rows += [row for one in of("corpus") for row in corpus_test(scored, one, language, resamples)]
        rows += [row for one in of("corpus_power") for row in corpus_power(scored, one)]
    sets = {(one.name, one.draw): one for one in evaluation_sets}
    passes = Passes(
        PassIndex(manifest or {"views": []}, store),
        benchmark,
        sets,
        resamples,
        f"{model} on {benchmark_name}",
    )
    rows += shift_estimates(passes, of("shift")) + codec_estimates(passes, of("corpus"))
    curves = [score_curves(metrics, scores, evaluation_sets, of("roc") + of("density"))]
    curves.append(token_curves(passes, of("tokens")))
    return frame_of(rows), pd.concat(curves, ignore_index=True)


def frame_of(rows: Iterable[Mapping[str, Any]]) -> pd.DataFrame:
    """Rows as the table of `COLUMNS`, in its types. Raises `InputError` if two rows have the same coordinates."""
    frame = pd.DataFrame(list(rows)).reindex(columns=COLUMNS).drop_duplicates()
    words = [name for name in COLUMNS if name not in (*_WHOLE, *_NUMBERS)]
    frame[words] = frame[words].astype(object).where(frame[words].notna(), "")
    twice = frame[frame.duplicated(COORDINATES)]
    if len(twice):
        raise InputError(
            f"two artifacts ask for the {twice['quantity'].iloc[0]} of one place, of different methods: name the same "
            "methods in both"
        )
    return frame.astype(dict.fromkeys(_WHOLE, "Int64") | dict.fromkeys(_NUMBERS, float))
