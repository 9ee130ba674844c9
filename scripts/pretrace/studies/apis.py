"""Checks that a run asks a model behind an API only for things that it can do."""

from collections.abc import Sequence

from pretrace.methods import Chosen, prefix_needs
from pretrace.models.entries import AnswersModel, ApiModel, ModelEntry
from pretrace.runtime.errors import InputError
from pretrace.studies.keys import WrittenRun
from pretrace.studies.registries import Models
from pretrace.views.readings import ZERO_ACCESS


def scores_prompts(model: ModelEntry) -> bool:
    """Whether the model gives log-probabilities of a text's own tokens."""
    return model.api.echo if isinstance(model, ApiModel) else not isinstance(model, AnswersModel)


def check_api_run(where: str, run: WrittenRun, models: Models, *, methods: Sequence[Chosen]) -> None:
    """Whether a run asks an API for nothing that it cannot give: `methods` are the run's that score texts.

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
