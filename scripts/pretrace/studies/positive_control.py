"""The runs that score passages which a model surely read, beside every audit."""

from collections.abc import Callable, Iterable, Mapping
from typing import Any

from pretrace.methods import METHODS
from pretrace.studies.artifacts import Artifact
from pretrace.studies.registries import Registry
from pretrace.studies.runs import Run

BENCHMARK = "famous_passages"
OF_WEB_TEXT = ("hub", "local", "gguf_wheel")
"""Sources of models that were trained elsewhere, on text of the web as far as anyone knows."""

PLAIN = {"logprobs", "entropies", "variances", "highest", "ranks", "top40"}
"""What the pass over a text itself gives."""


def positive_runs(
    runs: Iterable[Run],
    artifacts: Mapping[str, Artifact],
    models: Registry,
    benchmarks: Registry,
    resolve: Callable[[dict[str, Any]], Run],
) -> list[Run]:
    """Return a run on `BENCHMARK` for each model that an artifact `audit` shows, where it applies.

    It applies to models of `OF_WEB_TEXT` and to English texts. The methods are those of the audited run that need the
    text alone.
    """
    if BENCHMARK not in benchmarks.entries:
        return []
    audited = {
        (panel["model"], panel["benchmark"])
        for artifact in artifacts.values()
        if artifact["renderer"] == "audit"
        for panel in artifact["panels"]
    }
    added: dict[tuple[str, str], Run] = {}
    for run in runs:
        language = benchmarks.entries[run.benchmark].get("language", "en")
        applies = models.entries[run.model]["source"] in OF_WEB_TEXT and language == "en"
        methods = [
            {item["method"]: item["parameters"]} if item["parameters"] else item["method"]
            for item in run.methods
            if {*METHODS[item["method"]].needs} <= PLAIN
        ]
        if (run.model, run.benchmark) in audited and applies and methods:
            written = {
                "model": run.model,
                "benchmark": BENCHMARK,
                "start_token": run.start_token,
                "methods": methods,
            }
            added.setdefault((run.model, run.start_token), resolve(written))
    return list(added.values())
