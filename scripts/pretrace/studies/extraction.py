"""The part of a run that measures which passages a model gives back."""

from typing import Any

from pretrace.runtime.errors import InputError
from pretrace.studies.runs import Extraction, Run


def resolve_extraction(run: dict[str, Any], where: str, model: dict[str, Any]) -> Extraction | None:
    """A run's key `extraction` with its defaults, None where the run has none.

    Raises:
        InputError: the model's predictions are not at hand.
    """
    if "extraction" not in run:
        return None
    if model["source"] in ("answers", "openai"):
        raise InputError(
            f"{where}.extraction: {run['model']} does not run here, and extraction needs the 40 most likely tokens at "
            "each position. Take extraction out, or name a model whose weights can be loaded."
        )
    windows = {"prefix": 50, "suffix": 50, "threshold": 0.001, "tries": 100} | run["extraction"]
    return {"stride": windows["suffix"]} | windows


def check_extraction(located: list[tuple[str, Run]]) -> None:
    """Whether a model and benchmark have one way of cutting, also of the known non-members of `calibrate_on`.

    `located`: file and key of each run, and the run.

    Raises:
        InputError: runs disagree, or the same model does not read the non-members in windows.
    """
    extracting: dict[tuple[str, str], Run] = {}
    for where, run in located:
        if run.extraction is None:
            continue
        first = extracting.setdefault((run.model, run.benchmark), run)
        if (first.extraction, first.start_token) != (run.extraction, run.start_token):
            raise InputError(
                f"{where}.extraction: another run of {run.model} on {run.benchmark} gives other values, or another "
                "start_token; give the same, or put them into two studies."
            )
    for where, run in located:
        other = run.calibrate_on
        if run.extraction is None or other is None:
            continue
        known = extracting.get((run.model, other))
        if known is None or known.extraction != run.extraction:
            raise InputError(
                f"{where}.calibrate_on: no run has {run.model} read {other} with the same extraction; add one."
            )
