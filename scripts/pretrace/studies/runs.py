"""A run, resolved: the model, the part of a benchmark that it reads, and what is asked and computed."""

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any

Chosen = dict[str, Any]
"""A method of a run (`method`) with the parameters that the run narrows (`parameters`)."""

Extraction = dict[str, Any]
"""The keys of `keys.Windows`, with their defaults: `prefix`, or `context` where the whole text before a window is
read."""


@dataclass(frozen=True, kw_only=True)
class Run:
    """A run of one model and benchmark, with the defaults of `keys.WrittenRun`; None chooses all."""

    id: str = ""
    serves: list[str]
    model: str
    benchmark: str
    subsets: list[str] | None = None
    lengths: list[int] | None = None
    start_token: str = "tokenizer"
    inner_start: bool = False
    views: list[str] = field(default_factory=lambda: ["original"])
    draws: list[int]
    corpora: list[str]
    references: list[str] = field(default_factory=list)
    neighbours: list[str] = field(default_factory=list)
    continuations: list[str] = field(default_factory=list)
    shadows: list[str] = field(default_factory=list)
    inputs: dict[str, list[str]] = field(default_factory=dict)
    """The names of further inputs, by the kind that methods ask for."""
    extraction: Extraction | None
    methods: list[Chosen]
    """Those that score texts, the controls among them."""
    questions: list[Chosen]
    """Those that ask questions, the controls among them."""
    paraphraser: str | None
    """None where the answers come from elsewhere, whatever paraphraser they name."""
    calibration: dict[str, float] | None
    calibrate_on: str | None
    left_out: dict[str, str]
    """Methods that cannot be computed -> why."""

    def for_jobs(self) -> dict[str, Any]:
        """The parameters of the jobs as plain values: everything that results depend on."""
        left_out = ["id", "serves", "left_out", *([] if self.inputs else ["inputs"])]
        return {key: value for key, value in vars(self).items() if key not in left_out}


def runs_by_pair(runs: Iterable[Run]) -> dict[tuple[str, str], list[Run]]:
    """The runs of each model and benchmark."""
    found: dict[tuple[str, str], list[Run]] = {}
    for run in runs:
        found.setdefault((run.model, run.benchmark), []).append(run)
    return found
