"""A pair of a study, one model on one benchmark: what is asked of it, its files, and
the parameters of its jobs.

A file that is not needed is [], as an input of a rule takes it. Parameters are plain
JSON values in a fixed order.
"""

from collections.abc import Collection, Iterable
from dataclasses import dataclass, replace
from functools import cache, cached_property
from typing import Any, Literal

from pretrace.evaluation.statistics import STATISTICS
from pretrace.methods import INPUTS, METHODS, altered_views, setting_name
from pretrace.models.abilities import can
from pretrace.questions.method_facts import QUESTION_METHODS, question_settings
from pretrace.render.artifact import PairSlugs
from pretrace.studies.audit.study import POSITIVE_CONTROL, WORKS_SLUG
from pretrace.studies.priorities import place_among_first, priority
from pretrace.studies.runs import Run, draws_of, view_writer
from pretrace.studies.stages.benchmarks import Benchmark
from pretrace.studies.stages.corpora import Corpus
from pretrace.studies.stages.models import Model
from pretrace.studies.stages.registered import File, Parameters
from pretrace.studies.study import Study
from pretrace.views import VIEWS
from pretrace.views.readings import ZERO_ACCESS, PassRequest, Prefix, Reading, Shots

Stage = Literal["passes", "answers"]
"""The stages that several jobs of a pair may share."""


@dataclass(frozen=True, eq=False)
class Pair:
    """One model on one benchmark, by their slugs in the study."""

    study: Study
    model_slug: str
    benchmark_slug: str

    @property
    def slugs(self) -> PairSlugs:
        return self.model_slug, self.benchmark_slug

    @cached_property
    def model(self) -> Model:
        return Model(self.study, self.model_slug)

    @cached_property
    def benchmark(self) -> Benchmark:
        return Benchmark(self.study, self.benchmark_slug)

    @property
    def runs(self) -> list[Run]:
        return self.study.runs_by_pair.get(self.slugs, [])

    @cached_property
    def run_parameters(self) -> list[Parameters]:
        """The runs as jobs get them: everything that results depend on."""
        return [run.for_jobs() for run in self.runs]

    # the texts, and what is read before or in place of them

    @property
    def prefix_kinds(self) -> set[str]:
        """The kinds of shots (`member`, `nonmember`, `zero_access`) that the passes ask
        for."""
        kinds = set()
        for request in self.requests:
            if request.reading.shots:
                kinds.add(request.reading.shots.prefix.kind)
        return kinds

    @property
    def draws_shots(self) -> bool:
        """Whether the passes read texts after shots that are drawn from the
        benchmark."""
        return bool(self.prefix_kinds - {ZERO_ACCESS})

    @property
    def prefixes_read(self) -> File:
        return self.benchmark.prefixes if self.draws_shots else []

    @property
    def completions(self) -> File:
        """The openings that the model completes to the lengths of the texts that it
        reads after them."""
        if ZERO_ACCESS not in self.prefix_kinds:
            return []
        return self._in_shared("completions", "parquet")

    @property
    def completed_lengths(self) -> list[int]:
        """The lengths of the texts that are read after openings which the model
        completed itself."""
        completed: set[int] = set()
        for request in self.requests:
            shots = request.reading.shots
            if shots and shots.prefix.kind == ZERO_ACCESS:
                completed.update(request.lengths or self.benchmark.entry.lengths)
        return sorted(completed)

    @cached_property
    def stored_views(self) -> list[str]:
        """The views of its readings that are stored tables, not functions of the
        text."""
        names = set()
        for request in self.requests:
            names |= request.reading.views
        return sorted(name for name in names if VIEWS[name].materialised)

    @property
    def views_read(self) -> list[str]:
        return self._views(self.stored_views)

    @property
    def views_of_options(self) -> list[str]:
        """The stored views that the questions take their options from."""
        return self._views(self.paraphrasers)

    @property
    def methods(self) -> set[str]:
        """The methods of its runs, those that ask questions too."""
        methods = set()
        for run in self.runs:
            for item in run.methods + run.questions:
                methods.add(item.method)
        return methods

    @property
    def methods_left_out(self) -> dict[str, list[str]]:
        """The methods that a run leaves out and no other run computes, by the reason,
        in the order of the runs."""
        computed = self.methods
        reasons: dict[str, list[str]] = {}
        for run in self.runs:
            for method, reason in run.left_out.items():
                if method in computed:
                    continue
                methods = reasons.setdefault(reason, [])
                if method not in methods:
                    methods.append(method)
        return reasons

    def views_compared(self, methods: Collection[str]) -> set[str]:
        """Return the stored views that these methods compare texts with: neighbours,
        and options of questions."""
        views = set()
        for method in methods:
            if method in METHODS and METHODS[method].input is INPUTS["neighbours"]:
                views.update(self.stored_views)
            if method in QUESTION_METHODS and QUESTION_METHODS[method].options:
                views.update(self.paraphrasers)
        return views

    def _views(self, names: Iterable[str]) -> list[str]:
        return [view_path(self.study, self.benchmark_slug, name) for name in names]

    # passes

    @cached_property
    def requests(self) -> tuple[PassRequest, ...]:
        """Every reading of the benchmark by the model, as a target and as another
        target's reference model.

        A target's own text gets full statistics, so a method added later costs no model
        time. Companion views, a reference model's passes, and all passes of an API have
        log-probabilities only; of the text itself an API may give the 40 likeliest
        tokens too. A run without methods that score single texts needs no pass.
        """
        requests = []
        for run in self.study.runs_by_reader.get(self.slugs, []):
            if run.model != self.model_slug:
                for view in run.views:
                    requests.append(_request(run, Reading(view, run.start_token)))
                continue
            if run.scores_texts:
                for view in run.views:
                    requests += requests_of_methods(run, view)
            requests += _requests_of_extraction(run)
        entry = self.model.entry
        if not can(entry, "whole_predictions"):
            most = "likeliest" if can(entry, "likeliest_tokens") else "logprobs"
            for place, request in enumerate(requests):
                if request.statistics != "logprobs":
                    requests[place] = replace(request, statistics=most)
        return tuple(dict.fromkeys(requests))

    @cached_property
    def pass_requests(self) -> list[Parameters]:
        return [request.to_json() for request in self.requests]

    @property
    def passes(self) -> File:
        """The manifest of the passes, if a method or a reference needs any."""
        return self.output("passes") if self.requests else []

    @property
    def turn(self) -> str:
        """When its texts are read: the pairs of a model that one job reads have the
        same.

        It is `first` with the place of the study's first artifact that waits for it,
        else `rest`.
        """
        place = place_among_first(self.study).get(self.slugs)
        return "rest" if place is None else f"first{place}"

    def filling(self, share: str = "") -> Parameters:
        """What a job takes that fills the store for it, or for a `share` of it, as
        `passes.filling` reads it."""
        table = self.benchmark.table
        return {
            "benchmark": self.benchmark.name,
            "manifest": self.output("passes"),
            "note": self.output("passes", share),
            "read": [table, self.model.checkpoint],
            "requests": self.pass_requests,
            "inputs": {
                "benchmark": table,
                "prefixes": self.prefixes_read,
                "completions": self.completions,
                "views": self.views_read,
            },
        }

    @cached_property
    def method_inputs(self) -> dict[str, dict[str, str]]:
        """The file of each input that the runs name, by kind (`methods.INPUTS`) and
        name; neighbours have none."""
        files: dict[str, dict[str, str]] = {}
        for need, kind in INPUTS.items():
            names = set()
            for run in self.run_parameters:
                names.update(kind.names(run))
            files[need] = {}
            for name in sorted(names):
                path = self._input_file(need, name)
                if isinstance(path, str):
                    files[need][name] = path
        return files

    def _input_file(self, need: str, name: str) -> File:
        """Return the file of an input that runs name: of a reference model, a corpus or
        another stage of a model."""
        if need == "neighbours":
            return []
        if need == "frequencies":
            return Corpus(self.study, name).counts(self.model.counting.name)
        beside = pair_of(self.study, name, self.benchmark_slug)
        return beside.passes if need == "reference" else beside.stage_file(need)

    @property
    def method_input_files(self) -> list[str]:
        paths: list[str] = []
        for by_name in self.method_inputs.values():
            paths += by_name.values()
        return paths

    @property
    def shadowed_lengths(self) -> list[int] | None:
        """The lengths of the texts that the shadow models of the model read, None for
        all."""
        lengths = set()
        for run in self.study.runs:
            if self.model_slug in run.shadows and run.benchmark == self.benchmark_slug:
                if run.lengths is None:
                    return None
                lengths.update(run.lengths)
        return sorted(lengths)

    @property
    def extraction(self) -> Parameters | None:
        """The windows of the texts that are measured, with their start token; None if
        no run asks for it."""
        windows: Parameters = {}
        parts = []
        for run in self.runs:
            if run.extraction:
                # the runs of a pair agree on all but the parts
                if not windows:
                    windows = run.extraction.to_json()
                    windows["start_token"] = run.start_token
                parts.append({"subsets": run.subsets, "lengths": run.lengths})
        return windows | {"parts": _without_repeats(parts)} if windows else None

    @property
    def given_back(self) -> Parameters | None:
        """The places where the model is asked to go on; None if no run asks for it."""
        given_back = self._given_once("given_back")
        return given_back.to_json() if given_back else None

    @property
    def priority(self) -> int:
        return priority(self.study, *self.slugs)

    # questions

    @property
    def asks_questions(self) -> bool:
        return any(run.questions for run in self.runs)

    @property
    def answer_requests(self) -> list[Parameters]:
        """The questions: each question method in each of its settings, with its
        paraphraser ("" if it needs none)."""
        requests = []
        for run in self.runs:
            for item in run.questions:
                has_options = QUESTION_METHODS[item.method].options
                paraphraser = run.paraphraser if has_options else ""
                for parameters in question_settings(item.method, item.parameters):
                    request = {
                        "method": item.method,
                        "parameters": parameters,
                        "setting": setting_name(item.method, parameters),
                        "paraphraser": paraphraser,
                        "subsets": run.subsets,
                        "lengths": run.lengths,
                    }
                    requests.append(request)
        return _without_repeats(requests)

    @property
    def paraphrasers(self) -> list[str]:
        """The views that the questions' options come from; none if the answers come
        from elsewhere."""
        if not can(self.model.entry, "answers"):
            return []
        names = {request["paraphraser"] for request in self.answer_requests}
        return sorted(names - {""})

    @property
    def answers(self) -> File:
        return self.output("answers") if self.asks_questions else []

    @property
    def answer_shares(self) -> list[str]:
        """The records of the jobs that share the questions, if several do."""
        return self.shares_of("answers")

    @property
    def answer_times(self) -> File:
        """The measured seconds of the questions; none if the answers were collected
        elsewhere."""
        is_asked = self.asks_questions and can(self.model.entry, "answers")
        return self._in_shared("answers", "times.parquet") if is_asked else []

    @property
    def calibration(self) -> File:
        return self.stage_file("calibration") if self.asks_questions else []

    @property
    def deltas(self) -> dict[str, float] | None:
        """The calibration deltas of the letters A to D that the runs give, None if they
        give none."""
        calibration = self._given_once("calibration")
        return calibration.to_json() if calibration else None

    # other pairs that it is compared with

    @property
    def held(self) -> "Pair | None":
        """The model on the benchmark whose non-members calibrate its answers and its
        unlabelled texts."""
        benchmark = self._given_once("calibrate_on")
        return pair_of(self.study, self.model_slug, benchmark) if benchmark else None

    @property
    def known(self) -> "Pair":
        """The same, or itself if its own non-members do."""
        return self.held or self

    @property
    def positive(self) -> "Pair | None":
        """The model on passages that most models of the web have read, beside an
        audit."""
        if self.benchmark_slug == POSITIVE_CONTROL:
            return None
        control = pair_of(self.study, self.model_slug, POSITIVE_CONTROL)
        return control if control.runs else None

    @property
    def answers_before(self) -> list[str]:
        """The answers of the audit that are told before whole works are read, which
        takes most of its time."""
        is_of_works = self.benchmark_slug == WORKS_SLUG
        if self.study.settings.texts is None or not is_of_works:
            return []
        folder = f"results/{self.study.name}/tables"
        return [f"{folder}/{slug}.md" for slug in self.study.first]

    # results

    @property
    def scores(self) -> str:
        return self.stage_file("scores")

    @property
    def windows(self) -> str:
        return self.stage_file("windows")

    @property
    def draws(self) -> list[int]:
        """The draws of shots that are evaluated."""
        return sorted(draws_of(self.runs))

    def read_by(self, statistic: str) -> dict[str, File]:
        """Return the files that a statistic reads, by kind."""
        shared = {
            "prefixes": self.benchmark.prefixes,
            "passes": self.passes,
            "answers": self.answers,
            "calibration": self.calibration,
        }
        files: dict[str, File] = {"benchmark": self.benchmark.table}
        for kind in STATISTICS[statistic].reads:
            files[kind] = shared.get(kind, self.stage_file(kind))
        return files

    @property
    def statistic_options(self) -> Parameters:
        """What statistics depend on beside their files: fields of
        `evaluation.statistics.StatisticInputs`."""
        return {
            "draws": self.draws,
            "pooled": self.benchmark.entry.pooled,
            "language": self.benchmark.entry.language,
        }

    def stage_file(self, stage: str) -> str:
        """Return the pair's file of a stage of the study's own: scores, shadows,
        metrics, tests, audit ..."""
        return f"results/{self.study.name}/{stage}/{self.model_slug}/{self.benchmark_slug}.parquet"

    def output(self, stage: Stage, share: str = "") -> str:
        """Return the first output of the job of its passes or answers, or of a `share`
        of them, as `2of4`."""
        if share:
            return self._in_shared(stage, f"{share}.json")
        return self._in_shared(stage, "json" if stage == "passes" else "parquet")

    def shares_of(self, stage: Stage) -> list[str]:
        """Return the outputs of the jobs that share its passes or answers, if several
        do."""
        count = self.model.jobs
        if count == 1:
            return []
        shares = []
        for number in range(1, count + 1):
            shares.append(self.output(stage, f"{number}of{count}"))
        return shares

    def _given_once(self, key: str) -> Any:
        """Return the value of one of the keys `runs.KEPT_ONCE`; None if no run has
        it."""
        return next(filter(None, (getattr(run, key) for run in self.runs)), None)

    def _in_shared(self, stage: str, suffix: str) -> str:
        return f"results/{stage}/{self.model.name}/{self.benchmark.name}/{self.study.name}.{suffix}"


# each once: a dry run asks for the requests of a pair in many jobs
@cache
def pair_of(study: Study, model: str, benchmark: str) -> Pair:
    return Pair(study, model, benchmark)


def view_path(study: Study, benchmark: str, view: str) -> str:
    """Return the file of a stored view, in the shared stages."""
    folder = f"results/views/{study.benchmarks.shared[benchmark]}"
    return f"{folder}/{shared_view(study, benchmark, view)}.parquet"


def shared_view(study: Study, benchmark: str, view: str) -> str:
    """Return a view's name in the shared stages: with the shared name of the model that
    makes it, if one does."""
    writer = view_writer(view, study.benchmarks.entries[benchmark])
    if not writer:
        return view
    return view.replace(f"_by_{writer}", f"_by_{study.models.shared[writer]}", 1)


def requests_of_methods(run: Run, view: str) -> list[PassRequest]:
    """Return the passes that a run's methods need for a view: the text, its altered
    forms, the text after shots."""
    methods = [item.method for item in run.methods]
    plain = Reading(view, run.start_token)
    # the mass of the 40 likeliest tokens takes a sort
    sorts = any("top40" in METHODS[method].needs for method in methods)
    requests = [_request(run, plain, statistics="top40" if sorts else "full")]
    for name in sorted(altered_views(methods, run.neighbours)):
        # a stored altered text is made of the benchmark's own texts
        if view == "original" or not VIEWS[name].materialised:
            requests.append(_request(run, replace(plain, altered=name)))
    needed: set[tuple[Prefix, int]] = set()
    for item in run.methods:
        needed.update(item.prefixes)
    prefixes = sorted(needed, key=lambda need: (need[0].name, need[1]))
    for draw in run.draws:
        for prefix, count in prefixes:
            shots = Shots(prefix, draw, count, run.inner_start)
            requests.append(_request(run, replace(plain, shots=shots)))
    return requests


def _requests_of_extraction(run: Run) -> list[PassRequest]:
    """Return the whole texts, which methods read too, and what longer texts have past
    the model's context."""
    if run.extraction is None:
        return []
    whole = Reading("original", run.start_token)
    beyond = replace(whole, past_context=True)
    return [_request(run, whole, "top40"), _request(run, beyond, "top40")]


def _request(run: Run, reading: Reading, statistics: str = "logprobs") -> PassRequest:
    subsets = None if run.subsets is None else tuple(run.subsets)
    lengths = None if run.lengths is None else tuple(run.lengths)
    return PassRequest(reading, statistics, subsets, lengths)


def _without_repeats(items: Iterable[Parameters]) -> list[Parameters]:
    different = []
    for item in items:
        if item not in different:
            different.append(item)
    return different
