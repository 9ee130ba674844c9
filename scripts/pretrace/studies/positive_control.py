"""The runs that score passages which a model surely read, beside every audit."""

from collections.abc import Iterable, Mapping
from typing import Any

from pretrace.methods import METHODS
from pretrace.models.entries import GgufModel, HubModel, LocalModel
from pretrace.studies.artifacts import Artifact
from pretrace.studies.keys import WrittenRun
from pretrace.studies.registries import Benchmarks, Models
from pretrace.studies.runs import Run

BENCHMARK = "famous_passages"
PLAIN = {"logprobs", "entropies", "variances", "highest", "ranks", "top40"}
"""What the pass over a text itself gives."""


def positive_runs(
    runs: Iterable[Run], artifacts: Mapping[str, Artifact], models: Models, benchmarks: Benchmarks
) -> list[WrittenRun]:
    """Return a run on `BENCHMARK` for each model that an artifact `audit` shows, where it applies.

    It applies to models that were trained elsewhere, on text of the web as far as anyone knows, and to English texts.
    The methods are those of the audited run that need the text alone.
    """
    if BENCHMARK not in benchmarks.entries:
        return []
    audited = {
        (panel.model, panel.benchmark)
        for artifact in artifacts.values()
        if artifact.renderer == "audit"
        for panel in artifact.panels
    }
    added: dict[tuple[str, str], WrittenRun] = {}
    for run in runs:
        of_web_text = isinstance(models.entries[run.model], HubModel | LocalModel | GgufModel)
        applies = of_web_text and benchmarks.entries[run.benchmark].language == "en"
        methods: list[str | dict[str, Any]] = [
            {item.method: item.parameters} if item.parameters else item.method
            for item in run.methods
            if {*METHODS[item.method].needs} <= PLAIN
        ]
        if (run.model, run.benchmark) in audited and applies and methods:
            written = WrittenRun(
                model=run.model, benchmark=BENCHMARK, start_token=run.start_token, methods=methods
            )
            added.setdefault((run.model, run.start_token), written)
    return list(added.values())
