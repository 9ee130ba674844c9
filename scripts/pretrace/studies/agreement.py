"""What the runs of one model and benchmark must agree in, and which other runs they need."""

from typing import Any

from pretrace.runtime.errors import InputError
from pretrace.studies.runs import Run

KEPT_ONCE = ("calibration", "calibrate_on", "extraction")
"""Keys that have one value for a model and benchmark; None gives none."""


def check_agreement(located: list[tuple[str, Run]]) -> None:
    """Whether the runs of a model and benchmark agree, and runs of the same model read each `calibrate_on` as they do.

    `located`: file and key of each run, and the run.

    Raises:
        InputError: two runs disagree, or a run on the benchmark of known non-members is missing.
    """
    alike: dict[tuple[str, str], list[Run]] = {}
    for where, run in located:
        others = alike.setdefault((run.model, run.benchmark), [])
        for other in others:
            _check_two(where, run, other)
        others.append(run)
    for where, run in located:
        if run.calibrate_on is not None:
            _check_known(where, run, alike.get((run.model, run.calibrate_on), []))


def _check_two(where: str, run: Run, other: Run) -> None:
    another = f"another run of {run.model} on {run.benchmark}"
    for key in KEPT_ONCE:
        ours, theirs = getattr(run, key), getattr(other, key)
        if None not in (ours, theirs) and ours != theirs:
            raise InputError(
                f"{where}.{key}: {another} gives a different one; give one, or put them into two studies."
            )
    if run.extraction and other.extraction and run.start_token != other.start_token:
        raise InputError(f"{where}.extraction: {another} has another start_token; give the same.")
    same = run.start_token == other.start_token and all(
        _share(getattr(run, key), getattr(other, key)) for key in ("views", "subsets", "lengths")
    )
    if run.methods and other.methods and same and run.inner_start != other.inner_start:
        raise InputError(
            f"{where}.inner_start: {another} differs in it on the same texts, but scores do not record it; put them "
            "into two studies."
        )


def _share(one: list[Any] | None, other: list[Any] | None) -> bool:
    """Whether two choices have something in common; None chooses all."""
    return one is None or other is None or not set(one).isdisjoint(other)


def _check_known(where: str, run: Run, known: list[Run]) -> None:
    """Whether the `known` runs on the benchmark of known non-members do what the run does."""
    at, other = f"{where}.calibrate_on", run.calibrate_on
    if _asks_de_cop(run) and not any(map(_asks_de_cop, known)):
        raise InputError(f"{at}: no run asks {run.model} de_cop's questions on {other}; add one.")
    if run.methods and not any(one.methods for one in known):
        raise InputError(f"{at}: no run has {run.model} read {other}; add one with the same methods.")
    if run.extraction and run.extraction not in [one.extraction for one in known]:
        raise InputError(f"{at}: no run has {run.model} read {other} with the same extraction; add one.")


def _asks_de_cop(run: Run) -> bool:
    return any(item.method == "de_cop" for item in run.questions)
