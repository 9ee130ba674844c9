"""Descriptions of the names on a page: models, benchmarks, reference corpora, evaluation sets. No pandas here."""

from collections.abc import Collection, Sequence
from pathlib import PurePosixPath

from pretrace.models.entries import (
    AnswersModel,
    ApiModel,
    GgufModel,
    HubModel,
    ModelEntry,
    TrainedModel,
    Training,
)
from pretrace.render.names import EVALUATION_SET_LABELS
from pretrace.studies.artifacts import Artifact, slugs_shown
from pretrace.studies.registries import Benchmarks, Corpora, Entry, Models

Glossary = Sequence[tuple[str, Sequence[tuple[str, str]]]]
"""Names with what they stand for, under headings."""


def glossary(
    artifacts: Collection[Artifact], models: Models, benchmarks: Benchmarks, corpora: Corpora
) -> Glossary:
    """Return the names that the artifacts' panels show, in the order of the registries, under headings with names."""
    shown: set[str] = set()
    for artifact in artifacts:
        shown |= slugs_shown(artifact)
    sets = {"all", *(artifact.evaluation_set for artifact in artifacts)}
    parts: Glossary = [
        ("Models", [(name, _model(entry)) for name, entry in models.entries.items() if name in shown]),
        (
            "Benchmarks",
            [(name, _title(entry)) for name, entry in benchmarks.entries.items() if name in shown],
        ),
        (
            "Reference corpora",
            [(name, _title(entry)) for name, entry in corpora.entries.items() if name in shown],
        ),
        ("Evaluation sets", [(name, words) for name, words in EVALUATION_SET_LABELS.items() if name in sets]),
    ]
    return [(heading, names) for heading, names in parts if names]


def _title(entry: Entry) -> str:
    source = "a file of your own" if entry.source == "local" else f"source {entry.source}"
    return source if entry.title is None else entry.title


def _model(entry: ModelEntry) -> str:
    """Return title, size, and where the weights are from."""
    size = "" if entry.parameters is None else f"{entry.parameters:,.0f} parameters"
    return "; ".join(filter(None, [entry.title, size, _origin(entry)]))


def _origin(entry: ModelEntry) -> str:
    match entry:
        case HubModel():
            bits = f", in {entry.quantise} bits" if entry.quantise else ""
            return f"{entry.hub} of the Hugging Face hub{bits}"
        case GgufModel():
            return f"dequantised from the GGUF file {PurePosixPath(entry.member).name}"
        case TrainedModel():
            return _training(entry.training)
        case ApiModel():
            return f"{entry.api.model} behind an API"
        case AnswersModel():
            return "answers that were collected elsewhere"
        case _:
            return "a local checkpoint"


def _training(training: Training) -> str:
    text = f"the members of {training.benchmark}"
    if not training.members:
        text = f"{training.tokenizer_corpus}, neither class of {training.benchmark}"
    how = f"{training.start}, trained further here" if training.start else "trained here"
    times = training.epochs
    return f"{how} on {text}, read {'once' if times == 1 else f'{times} times'}"
