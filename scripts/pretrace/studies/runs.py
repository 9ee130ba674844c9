"""A run, resolved: the model, the part of a benchmark that it reads, and what is asked and computed; and its checks."""

from collections.abc import Iterable, Sequence
from typing import Any

from pretrace.methods import METHODS, Chosen, prefix_needs
from pretrace.methods.needs import FULL_VOCABULARY, OF_WHOLE_PREDICTIONS
from pretrace.models.entries import AnswersModel, ApiModel, ModelEntry
from pretrace.runtime.errors import InputError
from pretrace.studies.keys import Extraction, RunKeys, WrittenRun
from pretrace.studies.registries import Models
from pretrace.views.readings import ZERO_ACCESS


class Run(RunKeys):
    """A run of one model and benchmark, with the defaults of `keys.WrittenRun`; None chooses all."""

    model: str
    benchmark: str
    serves: list[str] = []
    draws: list[int] = [0]
    corpora: list[str] = []
    extraction: Extraction | None = None
    methods: list[Chosen] = []
    """The methods that score texts, the controls among them."""
    questions: list[Chosen] = []
    """The methods that ask questions, the controls among them."""
    paraphraser: str | None = None
    """None where the answers come from elsewhere, whatever paraphraser they name."""
    left_out: dict[str, str] = {}
    """Methods that cannot be computed -> why."""

    @property
    def scores_texts(self) -> bool:
        """Tell whether a method scores single texts, which takes passes."""
        return any(METHODS[item.method].reads_passes for item in self.methods)

    def for_jobs(self) -> dict[str, Any]:
        """Return everything that results depend on as plain values, None for all."""
        left_out = ["id", "serves", "left_out", *([] if self.inputs else ["inputs"])]
        keys = [key for key in type(self).model_fields if key not in left_out]
        return dict.fromkeys(keys) | self.to_json(*left_out)


def runs_by_pair(runs: Iterable[Run]) -> dict[tuple[str, str], list[Run]]:
    pairs: dict[tuple[str, str], list[Run]] = {}
    for run in runs:
        pairs.setdefault((run.model, run.benchmark), []).append(run)
    return pairs


KEPT_ONCE = ("calibration", "calibrate_on", "extraction")
"""Keys that have one value for a model and benchmark; None gives none."""


def check_agreement(located: list[tuple[str, Run]]) -> None:
    """Check that the runs of a model and benchmark agree, and that its model reads each `calibrate_on` as they do.

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


def _share(first: list[Any] | None, second: list[Any] | None) -> bool:
    """Tell whether two choices have something in common; None chooses all."""
    return first is None or second is None or not set(first).isdisjoint(second)


def _check_known(where: str, run: Run, known: list[Run]) -> None:
    """Check that the `known` runs on the benchmark of known non-members do what the run does."""
    key, other = f"{where}.calibrate_on", run.calibrate_on
    if _asks_de_cop(run) and not any(map(_asks_de_cop, known)):
        raise InputError(f"{key}: no run asks {run.model} de_cop's questions on {other}; add one.")
    if run.methods and not any(other.methods for other in known):
        raise InputError(f"{key}: no run has {run.model} read {other}; add one with the same methods.")
    if run.extraction and run.extraction not in [other.extraction for other in known]:
        raise InputError(f"{key}: no run has {run.model} read {other} with the same extraction; add one.")


def _asks_de_cop(run: Run) -> bool:
    return any(item.method == "de_cop" for item in run.questions)


def scores_prompts(model: ModelEntry) -> bool:
    """Tell whether the model gives log-probabilities of a text's own tokens."""
    if isinstance(model, ApiModel):
        return model.api.echo or model.api.top40 is not None
    return not isinstance(model, AnswersModel)


def lacking(model: ModelEntry) -> tuple[str, ...]:
    """Return the statistics of tokens that the model does not give."""
    if isinstance(model, ApiModel):
        return OF_WHOLE_PREDICTIONS if model.api.top40 else FULL_VOCABULARY
    return FULL_VOCABULARY if isinstance(model, AnswersModel) else ()


def check_api_run(where: str, run: WrittenRun, models: Models, *, methods: Sequence[Chosen]) -> None:
    """Check that a run asks an API for nothing that it cannot give; `methods` are the run's that score texts.

    Raises:
        InputError: with what is asked for, and what would be right.
    """
    for reference in run.references:
        if not scores_prompts(models.entries[reference]):
            raise InputError(
                f"{where}.references: {reference} gives no log-probabilities of a text's tokens; use a local model, or "
                "one behind an API that scores prompts (echo: true)."
            )
    model = models.entries[str(run.model)]
    if not isinstance(model, ApiModel):
        return
    if run.corpora and model.tokenizer is None:
        raise InputError(
            f"{where}.corpora: {run.model} is behind an API, and its entry names no tokenizer, so that no corpus "
            "can be counted in its tokens. Name a model with the same tokenizer there, or leave the corpora out."
        )
    if any(prefix.kind == ZERO_ACCESS for prefix, _ in prefix_needs(methods)):
        raise InputError(
            f"{where}.methods: access: zero has the target itself complete known openings, which is done for local "
            f"models only; {run.model} is behind an API. Use access: partial."
        )
