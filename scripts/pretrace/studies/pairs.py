"""A pair of a study, one model on one benchmark: the files that its stages read, and the parameters of their jobs.

A file that is not needed is [], as an input of a rule takes it. Parameters are plain JSON values in a fixed order.
"""

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from pretrace.evaluation.statistics import STATISTICS
from pretrace.methods import INPUTS
from pretrace.models.entries import AnswersModel
from pretrace.studies import plan
from pretrace.studies.artifacts import first_of_runs
from pretrace.studies.priorities import SOON, priority, size
from pretrace.studies.questions import view_writer
from pretrace.studies.runs import Run
from pretrace.studies.shared import Benchmark, Corpus, File, Model
from pretrace.studies.study import Study


@dataclass(frozen=True, eq=False)
class Pair:
    """One model on one benchmark, by their slugs in the study."""

    study: Study
    model_slug: str
    benchmark_slug: str

    @property
    def _names(self) -> tuple[Study, str, str]:
        """The arguments of the functions of `plan`."""
        return self.study, self.model_slug, self.benchmark_slug

    @cached_property
    def model(self) -> Model:
        return Model(self.study, self.model_slug)

    @cached_property
    def benchmark(self) -> Benchmark:
        return Benchmark(self.study, self.benchmark_slug)

    @cached_property
    def runs(self) -> list[Run]:
        return plan.runs_of(*self._names)

    @property
    def run_parameters(self) -> list[dict[str, Any]]:
        """The runs as jobs are told of them: everything that results depend on."""
        return [run.for_jobs() for run in self.runs]

    def beside(self, *, model: str | None = None, benchmark: str | None = None) -> "Pair":
        """The pair with another model or another benchmark."""
        return Pair(self.study, model or self.model_slug, benchmark or self.benchmark_slug)

    # the texts, and what is read before or in place of them

    @property
    def texts(self) -> str:
        return self.benchmark.table

    @property
    def language(self) -> str:
        return self.benchmark.entry.language

    @property
    def prefixes(self) -> File:
        return self.benchmark.prefixes

    @property
    def prefixes_read(self) -> File:
        """The shots drawn from the benchmark, if the passes read texts after them."""
        kinds = plan.drawn_kinds(*self._names)
        return self.benchmark.prefixes if kinds else []

    @property
    def completions(self) -> File:
        """The openings that the model completes to the lengths of the texts that it reads after them."""
        kinds = plan.prefix_kinds(*self._names)
        return self._in_shared("completions", "parquet") if "zero_access" in kinds else []

    @property
    def completed_lengths(self) -> list[int]:
        return plan.completed_lengths(*self._names)

    @property
    def views_read(self) -> list[str]:
        """The stored views that the passes read."""
        return self._views(plan.stored_views(*self._names))

    @property
    def views_of_options(self) -> list[str]:
        """The stored views that the questions take their options from."""
        return self._views(self.paraphrasers)

    def _views(self, names: Iterable[str]) -> list[str]:
        shared = [shared_view(self.study, self.benchmark_slug, name) for name in names]
        return [f"results/views/{self.benchmark.name}/{name}.parquet" for name in shared]

    # passes

    @cached_property
    def pass_requests(self) -> list[dict[str, Any]]:
        return [request.to_json() for request in plan.pass_requests(*self._names)]

    @property
    def passes(self) -> File:
        """The manifest of the passes, if a method or a reference needs any."""
        return self._in_shared("passes", "json") if plan.pass_requests(*self._names) else []

    @cached_property
    def method_inputs(self) -> dict[str, dict[str, str]]:
        """The file of each input that the runs name, by kind (`methods.INPUTS`) and name; neighbours have none."""
        tokenizer = self.model.counting.name
        special: dict[str, Callable[[str], File]] = {
            "reference": lambda model: self.beside(model=model).passes,
            "frequencies": lambda corpus: Corpus(self.study, corpus).counts(tokenizer),
            "neighbours": lambda view: [],
            "continuations": lambda view: self._views([view])[0],
        }
        runs = self.run_parameters
        files: dict[str, dict[str, str]] = {}
        for need, kind in INPUTS.items():
            file_of = special.get(need, lambda name, need=need: self.beside(model=name).own(need))
            paths = {
                name: file_of(name) for name in sorted({name for run in runs for name in kind.names(run)})
            }
            files[need] = {name: path for name, path in paths.items() if isinstance(path, str)}
        return files

    @property
    def method_input_files(self) -> list[str]:
        return [path for by_name in self.method_inputs.values() for path in by_name.values()]

    @property
    def shadowed_lengths(self) -> list[int] | None:
        """The lengths of the texts that the shadow models of the model read, None for all."""
        runs = [
            run
            for run in self.study.runs
            if self.model_slug in run.shadows and run.benchmark == self.benchmark_slug
        ]
        if any(run.lengths is None for run in runs):
            return None
        return sorted({length for run in runs for length in run.lengths or ()})

    @property
    def extraction(self) -> dict[str, Any] | None:
        """The windows of the texts that are measured, with their start token; None if no run asks for it."""
        return plan.extraction_of(*self._names)

    @property
    def checkpoint(self) -> File:
        return self.model.checkpoint

    @property
    def priority(self) -> float:
        """The priority of passes and answers."""
        return priority(self.study, size(self.study, self.model_slug), self.model_slug, self.benchmark_slug)

    @property
    def priority_of_results(self) -> float:
        """The priority of scores and of what is computed of them."""
        return priority(self.study, SOON, self.model_slug, self.benchmark_slug)

    # questions

    @property
    def asks_questions(self) -> bool:
        return plan.asks_questions(*self._names)

    @property
    def answer_requests(self) -> list[dict[str, Any]]:
        return plan.answer_requests(*self._names)

    @property
    def paraphrasers(self) -> list[str]:
        """The views that the questions' options come from; none if the answers come from elsewhere."""
        return plan.paraphrasers_of(*self._names)

    @property
    def answers(self) -> File:
        return self._in_shared("answers", "parquet") if self.asks_questions else []

    @property
    def answer_times(self) -> File:
        """The measured seconds of the questions; none if the answers were collected elsewhere."""
        elsewhere = isinstance(self.model.entry, AnswersModel)
        return self._in_shared("answers", "json") if self.asks_questions and not elsewhere else []

    @property
    def calibration(self) -> File:
        return self.own("calibration") if self.asks_questions else []

    @property
    def deltas(self) -> dict[str, float] | None:
        """The calibration deltas of the letters A to D that the runs give, None if they give none."""
        return plan.calibration_of(*self._names)

    # the benchmark whose non-members calibrate the pair's answers and its unlabelled texts

    @property
    def calibrates_on(self) -> str | None:
        return plan.calibrates_on(*self._names)

    @property
    def known(self) -> str:
        return self.calibrates_on or self.benchmark_slug

    @property
    def known_texts(self) -> str:
        return self.beside(benchmark=self.known).texts

    @property
    def known_prefixes(self) -> File:
        return self.beside(benchmark=self.known).prefixes

    @property
    def known_scores(self) -> str:
        return self.beside(benchmark=self.known).scores

    @property
    def held_texts(self) -> File:
        return self.known_texts if self.calibrates_on else []

    @property
    def held_answers(self) -> File:
        return self.beside(benchmark=self.known).answers if self.calibrates_on else []

    @property
    def held_windows(self) -> File:
        return self.beside(benchmark=self.known).own("windows") if self.calibrates_on else []

    # the passages that the model surely read, beside an audit

    @property
    def positive(self) -> str | None:
        return plan.positive_control_of(*self._names)

    @property
    def positive_texts(self) -> File:
        return self.beside(benchmark=self.positive).texts if self.positive else []

    @property
    def positive_scores(self) -> File:
        return self.beside(benchmark=self.positive).scores if self.positive else []

    # results

    @property
    def scores(self) -> str:
        return self.own("scores")

    @property
    def draws(self) -> list[int]:
        """The draws of shots that are evaluated."""
        return sorted({draw for run in self.runs for draw in run.draws})

    def read_by(self, statistic: str) -> dict[str, File]:
        """Return the files that a statistic reads, by kind."""
        files: dict[str, File] = {
            "metrics": self.own("metrics"),
            "scores": self.scores,
            "prefixes": self.prefixes,
            "passes": self.passes,
            "answers": self.answers,
            "calibration": self.calibration,
        }
        return {"benchmark": self.texts} | {kind: files[kind] for kind in STATISTICS[statistic].reads}

    @property
    def statistic_options(self) -> dict[str, Any]:
        """What statistics depend on beside their files: fields of `evaluation.statistics.StatisticInputs`."""
        ids = dict.fromkeys(run.id for run in self.runs)
        panels = [first_of_runs(self.runs)]
        panels += [first_of_runs([run for run in self.runs if run.id == id]) for id in ids]
        conditions = [
            {"start_token": panel["start_token"], "references": panel.get("references", [])}
            for panel in panels
        ]
        return {
            "conditions": [panel for at, panel in enumerate(conditions) if panel not in conditions[:at]],
            "draws": self.draws,
            "pooled": self.benchmark.entry.pooled,
            "language": self.language,
        }

    def own(self, stage: str) -> str:
        """The pair's file of a stage of the study's own: scores, shadows, metrics, tests, statistics, audit ..."""
        return f"results/{self.study.name}/{stage}/{self.model_slug}/{self.benchmark_slug}.parquet"

    def _in_shared(self, stage: str, suffix: str) -> str:
        return f"results/{stage}/{self.model.name}/{self.benchmark.name}/{self.study.name}.{suffix}"


def shared_view(study: Study, benchmark: str, view: str) -> str:
    """Return a view's name in the shared stages: with the shared name of the model that makes it, if one does."""
    writer = view_writer(view, study.benchmarks.entries[benchmark])
    return view.replace(f"_by_{writer}", f"_by_{study.models.shared[writer]}", 1) if writer else view
