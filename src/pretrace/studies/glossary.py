"""Descriptions of the names on a page: models, benchmarks, reference corpora, evaluation sets. No pandas here."""

from collections.abc import Callable, Collection, Mapping, Sequence
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
from pretrace.render.artifact import Artifact
from pretrace.render.names import EVALUATION_SET_LABELS
from pretrace.studies.artifacts import slugs_shown
from pretrace.studies.registries import Benchmarks, Corpora, E, Entry, Models, Registry

Glossary = Sequence[tuple[str, Sequence[tuple[str, str]]]]
"""Names with what they stand for, under headings."""


def glossary(
    artifacts: Collection[Artifact], models: Models, benchmarks: Benchmarks, corpora: Corpora
) -> Glossary:
    """Return the names that the artifacts' panels show, in the order of the registries, under headings with names.

    A name is the title, which tables and figures show; what it stands for begins with the slug, which CSV files hold.
    """
    shown: set[str] = set()
    for artifact in artifacts:
        shown |= slugs_shown(artifact)
    titles = models.titles | benchmarks.titles | corpora.titles
    sets = {"all", *(artifact.evaluation_set for artifact in artifacts)}
    parts: Glossary = [
        ("Models", _describe_entries(models, shown, lambda entry: _model(entry, titles))),
        ("Benchmarks", _describe_entries(benchmarks, shown, _texts)),
        ("Reference corpora", _describe_entries(corpora, shown, _texts)),
        ("Evaluation sets", [(name, words) for name, words in EVALUATION_SET_LABELS.items() if name in sets]),
    ]
    return [(heading, names) for heading, names in parts if names]


def _describe_entries(
    registry: Registry[E], shown: Collection[str], described: Callable[[E], str]
) -> Sequence[tuple[str, str]]:
    """Return title, and slug with description, of the entries that are shown; without a title the slug is the name."""
    names = []
    for slug, entry in registry.entries.items():
        if slug in shown:
            parts = [described(entry)] if entry.title is None else [f"{slug} in CSV files", described(entry)]
            names.append((entry.title or slug, "; ".join(filter(None, parts))))
    return names


def _texts(entry: Entry) -> str:
    return "a file of your own" if entry.source == "local" else ""


def _model(entry: ModelEntry, titles: Mapping[str, str]) -> str:
    """Return size, and where the weights are from."""
    size = "" if entry.parameters is None else f"{entry.parameters:,.0f} parameters; "
    return size + _origin(entry, titles)


def _origin(entry: ModelEntry, titles: Mapping[str, str]) -> str:
    match entry:
        case HubModel():
            bits = f", in {entry.quantise} bits" if entry.quantise else ""
            return f"{entry.hub} of the Hugging Face hub{bits}"
        case GgufModel():
            return f"dequantised from the GGUF file {PurePosixPath(entry.member).name}"
        case TrainedModel():
            return _training(entry.training, titles)
        case ApiModel():
            return f"{entry.api.model} behind an API"
        case AnswersModel():
            return "answers that were collected elsewhere"
        case _:
            return "a local checkpoint"


def _training(training: Training, titles: Mapping[str, str]) -> str:
    benchmark, corpus = (
        titles.get(slug or "", slug) for slug in (training.benchmark, training.tokenizer_corpus)
    )
    text = f"the members of {benchmark}"
    if not training.members:
        text = f"{corpus}, neither class of {benchmark}"
    how = (
        f"{titles.get(training.start, training.start)}, trained further here"
        if training.start
        else "trained here"
    )
    times = training.epochs
    return f"{how} on {text}, read {'once' if times == 1 else f'{times} times'}"
