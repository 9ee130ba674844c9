"""A stored view of a benchmark, made in any of the four ways: from a file, from data of
this machine, written by a model that is asked, or by a model that replaces words."""

from pathlib import Path
from typing import TYPE_CHECKING

from pretrace.benchmarks import benchmark_entry
from pretrace.questions.answerers import answerer_of
from pretrace.questions.written_views import ParaphrasePrompts, paraphrase
from pretrace.runtime.files import JsonObject
from pretrace.runtime.schema import read_keys
from pretrace.views import stored

if TYPE_CHECKING:
    import pandas as pd

WRITTEN = "paraphrase_by_"
"""How the view of a model's own paraphrases begins; its name follows."""


def make_table(
    way: str,
    *,
    name: str,
    benchmark: str,
    texts: "pd.DataFrame",
    entry: JsonObject,
    source: str,
    checkpoint: str,
    prompts: str,
    threads: int,
    device: str,
    answering: JsonObject,
) -> "pd.DataFrame":
    """Make the table of a view in one of the ways that `studies.stages.views` names:
    `file`, `data`, `prompts` (a model writes three paraphrases of each passage) or
    `model` (it puts words in place of others).

    Args:
        way: how it is made.
        name: of the view.
        benchmark: the name of the benchmark.
        texts: the benchmark's table.
        entry: the benchmark's entry for a view of a file, else what the model's answers
            depend on.
        source: the file of the view, for the way `file`.
        checkpoint: of the model that makes or writes it; empty without one, as
            `prompts` is.
        prompts: the instructions to that model.
        threads: of the model's computations.
        device: of the same.
        answering: further options of `answerer_of`.
    """
    match way:
        case "file":
            path = Path(source)
            if name in benchmark_entry(entry).views:
                return stored.imported_view(name, texts, path)
            return stored.view_of_source(name, texts, entry, [path])
        case "data":
            return stored.computed_view(name, texts)
        case "prompts":
            writer = name.removeprefix(WRITTEN)
            about = f"paraphrases of {benchmark} by {writer}"
            wording = read_keys(Path(prompts), ParaphrasePrompts)
            with answerer_of(
                entry,
                about,
                model=writer,
                checkpoint_json=checkpoint,
                threads=threads,
                device=device,
                **answering,
            ) as answerer:
                return paraphrase(texts, answerer, wording, about)
        case "model":
            from pretrace.models.devices import torch_settings

            with torch_settings(threads):
                return stored.make_view(name, texts, Path(checkpoint), device=device)
    raise ValueError(f"no view is made by '{way}'")
