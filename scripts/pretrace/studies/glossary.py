"""Descriptions of the names on a page: models, benchmarks, reference corpora, evaluation sets. No pandas here."""

from collections.abc import Collection, Mapping, Sequence
from pathlib import PurePosixPath
from typing import Any

from pretrace.render.names import EVALUATION_SET_LABELS
from pretrace.render.registry import Artifact

Entries = Mapping[str, Mapping[str, Any]]
"""Registry entries by slug."""

Glossary = Sequence[tuple[str, Sequence[tuple[str, str]]]]
"""Names with what they stand for, under headings."""


def glossary(
    artifacts: Collection[Artifact], *, models: Entries, benchmarks: Entries, corpora: Entries
) -> Glossary:
    """Every name that the artifacts' panels show, in the order of the registries; headings without one are left out."""
    panels: list[Mapping[str, Any]] = [
        panel for one in artifacts for panel in (*one.get("panels", ()), *one.get("missing", ()))
    ]
    shown = {panel[key] for panel in panels for key in ("model", "benchmark") if key in panel}
    options = [artifact.get("options", {}) for artifact in artifacts]
    named = [
        *panels,
        *options,
        *({"references": one.get("across", {}).get("reference", ())} for one in options),
    ]
    shown |= {name for one in named for name in one.get("references", ())}
    sets = {"all", *(artifact.get("evaluation_set", "all") for artifact in artifacts)}
    parts: Glossary = [
        ("Models", [(name, _model(entry)) for name, entry in models.items() if name in shown]),
        ("Benchmarks", [(name, _title(entry)) for name, entry in benchmarks.items() if name in shown]),
        ("Reference corpora", [(name, _title(entry)) for name, entry in corpora.items() if name in shown]),
        ("Evaluation sets", [(name, words) for name, words in EVALUATION_SET_LABELS.items() if name in sets]),
    ]
    return [(heading, names) for heading, names in parts if names]


def _title(entry: Mapping[str, Any]) -> str:
    return str(entry.get("title", entry["source"]))


def _model(entry: Mapping[str, Any]) -> str:
    """Title, size, and where the weights are from."""
    parts: Sequence[str] = [
        _title(entry),
        *([f"{entry['parameters']:,.0f} parameters"] if "parameters" in entry else []),
        _origin(entry),
    ]
    return "; ".join(parts)


def _origin(entry: Mapping[str, Any]) -> str:
    match entry["source"]:
        case "hub":
            bits = f", in {entry['quantise']} bits" if "quantise" in entry else ""
            return f"{entry['hub']} of the Hugging Face hub{bits}"
        case "gguf_wheel":
            return f"dequantised from the GGUF file {PurePosixPath(entry['member']).name}"
        case "trained":
            return _training(entry["training"])
        case "openai":
            return f"{entry['api']['model']} behind an API"
        case "answers":
            return "answers that were collected elsewhere"
        case _:
            return "a local checkpoint"


def _training(training: Mapping[str, Any]) -> str:
    of_members = training.get("members", True)
    text = f"the members of {training['benchmark']}"
    if not of_members:
        text = f"{training['tokenizer_corpus']}, neither class of {training['benchmark']}"
    how = f"{training['from']}, trained further here" if "from" in training else "trained here"
    times = training["epochs"]
    return f"{how} on {text}, read {'once' if times == 1 else f'{times} times'}"
