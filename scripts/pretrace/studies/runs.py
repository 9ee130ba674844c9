"""A run, resolved: the model, the part of a benchmark that it reads, and what is asked and computed."""

from collections.abc import Iterable
from typing import Any

from pretrace.methods import Chosen
from pretrace.studies.keys import RunKeys, Windows


class Run(RunKeys):
    """A run of one model and benchmark, with the defaults of `keys.WrittenRun`; None chooses all."""

    model: str
    benchmark: str
    serves: list[str] = []
    draws: list[int] = [0]
    corpora: list[str] = []
    extraction: Windows | None = None
    methods: list[Chosen] = []
    """The methods that score texts, the controls among them."""
    questions: list[Chosen] = []
    """The methods that ask questions, the controls among them."""
    paraphraser: str | None = None
    """None where the answers come from elsewhere, whatever paraphraser they name."""
    left_out: dict[str, str] = {}
    """Methods that cannot be computed -> why."""

    def for_jobs(self) -> dict[str, Any]:
        """Return everything that results depend on as plain values, None for all."""
        left_out = ["id", "serves", "left_out", *([] if self.inputs else ["inputs"])]
        keys = [key for key in type(self).model_fields if key not in left_out]
        return dict.fromkeys(keys) | self.plain(*left_out)


def runs_by_pair(runs: Iterable[Run]) -> dict[tuple[str, str], list[Run]]:
    """Return the runs of each model and benchmark."""
    pairs: dict[tuple[str, str], list[Run]] = {}
    for run in runs:
        pairs.setdefault((run.model, run.benchmark), []).append(run)
    return pairs
