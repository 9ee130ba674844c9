"""Checks that a run asks a model behind an API only for things that it can do."""

from collections.abc import Mapping, Sequence
from typing import Any

from pretrace.methods import prefix_needs
from pretrace.runtime.errors import InputError
from pretrace.studies.registries import Registry
from pretrace.views.readings import ZERO_ACCESS

Entry = Mapping[str, Any]


def is_api(model: Entry) -> bool:
    return bool(model["source"] == "openai")


def scores_prompts(model: Entry) -> bool:
    """Whether the model gives log-probabilities of a text's own tokens."""
    return bool(model["api"].get("echo", False)) if is_api(model) else model["source"] != "answers"


def check_api_run(
    where: str,
    run: Mapping[str, Any],
    models: Registry,
    *,
    corpora: Sequence[str],
    methods: Sequence[Mapping[str, Any]],
) -> None:
    """Whether a run asks an API for nothing that it cannot give: `methods` are the run's that score texts.

    Raises:
        InputError: with what is asked for, and what would be right.
    """
    for reference in run.get("references", []):
        if not scores_prompts(models.entries[reference]):
            raise InputError(
                f"{where}.references: {reference} gives no log-probabilities of a text's tokens; use a local model, or "
                "one behind an API that scores prompts (echo: true)."
            )
    model = models.entries[run["model"]]
    if not is_api(model):
        return
    if corpora and "tokenizer" not in model:
        raise InputError(
            f"{where}.corpora: {run['model']} is behind an API, and its entry names no tokenizer, so that no corpus "
            "can be counted in its tokens. Name a model with the same tokenizer there, or leave the corpora out."
        )
    if any(prefix.kind == ZERO_ACCESS for prefix, _ in prefix_needs(methods)):
        raise InputError(
            f"{where}.methods: access: zero has the target itself complete known openings, which is done for local "
            f"models only; {run['model']} is behind an API. Use access: partial."
        )
