"""The parameters of each stage's jobs as plain JSON values, in a fixed order."""

from collections.abc import Mapping
from dataclasses import replace
from functools import cache
from typing import Any, Literal, TypeVar

from pretrace.methods import METHODS, altered_views, prefix_needs, setting_name
from pretrace.models.entries import AnswersModel, ApiModel
from pretrace.questions.known import QUESTION_METHODS, question_settings
from pretrace.render.catalogue import RENDERERS
from pretrace.studies import audit_study
from pretrace.studies.runs import Run, runs_by_pair
from pretrace.studies.study import Study
from pretrace.views import VIEWS
from pretrace.views.readings import PAST_CONTEXT, ZERO_ACCESS, PassRequest, Reading, Shots, Windows

Request = dict[str, Any]
Asked = TypeVar("Asked")
Pair = tuple[str, str]
"""A model and a benchmark, as the study's own slugs."""


def pairs(study: Study) -> list[Pair]:
    """The (model, benchmark) pairs of the study's runs, as its own slugs."""
    return sorted(_runs_of_pairs(study))


def runs_of(study: Study, model: str, benchmark: str) -> list[Run]:
    return _runs_of_pairs(study).get((model, benchmark), [])


# looked up once a study: a dry run asks for each of its thousands of jobs
@cache
def _runs_of_pairs(study: Study) -> dict[Pair, list[Run]]:
    return runs_by_pair(study.runs)


@cache
def _runs_with_passes(study: Study) -> dict[Pair, list[Run]]:
    """The runs with passes by each of the models that read, reference models among them, and the benchmark."""
    found: dict[Pair, list[Run]] = {}
    for run in study.runs:
        if _scores_texts(run) or run.extraction:
            for model in {run.model, *(run.references if _scores_texts(run) else [])}:
                found.setdefault((model, run.benchmark), []).append(run)
    return found


@cache
def pass_requests(study: Study, model: str, benchmark: str) -> tuple[PassRequest, ...]:
    """Return every reading of `benchmark` by `model`, as a target and as another target's reference model.

    A target's own text gets full statistics, so a method added later costs no model time. Companion views, a reference
    model's passes, and all passes of an API have log-probabilities only. A run without methods that score single
    texts needs no pass. The mass of the 40 likeliest tokens is stored where a method asks for it: it takes a sort.
    """
    requests: list[PassRequest] = []
    for run in _runs_with_passes(study).get((model, benchmark), []):
        if run.model == model:
            if _scores_texts(run):
                requests += [request for view in run.views for request in _requests_of(run, view)]
            requests += _requests_of_extraction(run)
        else:
            requests += [_request(run, Reading(view, run.start_token)) for view in run.views]
    if isinstance(study.models.entries[model], ApiModel):
        requests = [replace(request, statistics="logprobs") for request in requests]
    return tuple(dict.fromkeys(requests))


def _scores_texts(run: Run) -> bool:
    return any(METHODS[item.method].reads_passes for item in run.methods)


def _requests_of(run: Run, view: str) -> list[PassRequest]:
    """The passes that a run's methods need for one view: the text, its altered forms, the text after shots."""
    methods = [item.method for item in run.methods]
    beside = [
        name
        for name in sorted(altered_views(methods, run.neighbours))
        # a stored altered text is made of the benchmark's own texts
        if view == "original" or not VIEWS[name].materialised
    ]
    prefixes = sorted(prefix_needs(run.methods), key=lambda need: (need[0].name, need[1]))
    sorts_out = any("top40" in METHODS[method].needs for method in methods)
    plain = Reading(view, run.start_token)
    return [
        _request(run, plain, statistics="top40" if sorts_out else "full"),
        *(_request(run, replace(plain, altered=name)) for name in beside),
        *(
            _request(run, replace(plain, shots=Shots(prefix, draw, count, run.inner_start)))
            for draw in run.draws
            for prefix, count in prefixes
        ),
    ]


def _requests_of_extraction(run: Run) -> list[PassRequest]:
    """Windows of their own where a prefix is given; else the whole texts, which methods read too, and the rest of
    texts that are longer than the model's context.
    """
    if run.extraction is None:
        return []
    asked = run.extraction
    every: tuple[Windows | Literal["past_context"] | None, ...] = (None, PAST_CONTEXT)
    if asked.prefix is not None and asked.suffix is not None and asked.stride is not None:
        every = (Windows(asked.prefix, asked.suffix, asked.stride),)
    return [
        _request(run, Reading("original", run.start_token, windows=windows), statistics="top40")
        for windows in every
    ]


def _request(run: Run, reading: Reading, statistics: str = "logprobs") -> PassRequest:
    subsets, lengths = run.subsets, run.lengths
    return PassRequest(
        reading,
        statistics,
        None if subsets is None else tuple(subsets),
        None if lengths is None else tuple(lengths),
    )


def _without_repeats(requests: list[Asked]) -> list[Asked]:
    kept: list[Asked] = []
    for request in requests:
        if request not in kept:
            kept.append(request)
    return kept


def pass_pairs(study: Study) -> list[Pair]:
    """The pairs with forward passes: those of the runs, and each reference model on its run's benchmark."""
    return sorted(_runs_with_passes(study))


def question_pairs(study: Study) -> list[Pair]:
    """The pairs whose runs ask questions."""
    return [pair for pair in pairs(study) if asks_questions(study, *pair)]


def asks_questions(study: Study, model: str, benchmark: str) -> bool:
    return any(run.questions for run in runs_of(study, model, benchmark))


def answer_requests(study: Study, model: str, benchmark: str) -> list[Request]:
    """The questions of a pair: each question method in each of its settings, with its paraphraser ("" where it
    needs none) and the part of the benchmark.
    """
    requests = [
        {
            "method": item.method,
            "parameters": parameters,
            "setting": setting_name(item.method, parameters),
            "paraphraser": run.paraphraser if QUESTION_METHODS[item.method].options else "",
            "subsets": run.subsets,
            "lengths": run.lengths,
        }
        for run in runs_of(study, model, benchmark)
        for item in run.questions
        for parameters in question_settings(item.method, item.parameters)
    ]
    return _without_repeats(requests)


def paraphrasers_of(study: Study, model: str, benchmark: str) -> list[str]:
    """The views that the options of a pair's questions come from; none where the answers come from elsewhere."""
    if isinstance(study.models.entries[model], AnswersModel):
        return []
    return sorted({one["paraphraser"] for one in answer_requests(study, model, benchmark)} - {""})


def calibration_of(study: Study, model: str, benchmark: str) -> dict[str, float] | None:
    """The deltas of the letters A to D that the pair's runs give, None where they give none."""
    given = (run.calibration for run in runs_of(study, model, benchmark) if run.calibration)
    return next((deltas.plain() for deltas in given), None)


def calibrates_on(study: Study, model: str, benchmark: str) -> str | None:
    """The benchmark whose clean documents calibrate the pair's answers, None where the runs name none."""
    return next((run.calibrate_on for run in runs_of(study, model, benchmark) if run.calibrate_on), None)


def is_sealed(study: Study) -> bool:
    """Whether the study's plan is sealed before its first pass: it audits texts of the user's own."""
    return any(
        artifact.renderer == "audit" and study.benchmarks.entries[panel.benchmark].source == "local"
        for artifact in study.artifacts.values()
        if artifact.unavailable is None
        for panel in artifact.panels
    )


def sealed_plan(study: Study, config: Mapping[str, Any]) -> dict[str, Any]:
    """What an audit's numbers follow from, files and versions aside: runs, models, texts, seeds, precision."""
    keys = ("seed", "resamples", "threads", "batch_tokens", "device")
    models = sorted({run.model for run in study.runs})
    benchmarks = sorted({run.benchmark for run in study.runs})
    return {
        "study": study.name,
        "runs": [run.for_jobs() for run in study.runs],
        "models": {slug: study.models.entries[slug].written() for slug in models},
        "benchmarks": {slug: study.benchmarks.entries[slug].written() for slug in benchmarks},
        "settings": {key: config[key] for key in keys},
    }


def positive_control_of(study: Study, model: str, benchmark: str) -> str | None:
    """The benchmark of passages that a model surely read, where an audit scores them beside its texts."""
    other = audit_study.POSITIVE_CONTROL
    return other if benchmark != other and runs_of(study, model, other) else None


def tokenizer_of(study: Study, model: str) -> str:
    """The model whose tokenizer stands for this model's in reference counts."""
    return study.models.entries[model].tokenizer or model


def extraction_of(study: Study, model: str, benchmark: str) -> Request | None:
    """The windows that are measured of a pair's texts, with their start token; None where no run asks for it."""
    asking = [run for run in runs_of(study, model, benchmark) if run.extraction]
    windows = asking[0].extraction if asking else None
    if windows is None:
        return None
    parts = _without_repeats([{"subsets": run.subsets, "lengths": run.lengths} for run in asking])
    return {**windows.plain(), "start_token": asking[0].start_token, "parts": parts}


def artifact_pairs(study: Study, artifact: str) -> list[Pair]:
    """The (model, benchmark) pairs that the artifact's panels show."""
    return sorted({panel.pair for panel in study.artifacts[artifact].panels})


def artifacts_of_kind(study: Study, kind: str) -> list[str]:
    """Return the artifacts of a kind that can be rendered."""
    rendered = {slug for slug, artifact in study.artifacts.items() if artifact.unavailable is None}
    return sorted(slug for slug in rendered if study.artifacts[slug].kind == kind)


def left_out(study: Study) -> list[Request]:
    """The methods that runs without a choice of methods could not have: model, benchmark, methods, reason."""
    lines: list[Request] = []
    for model, benchmark in pairs(study):
        runs = runs_of(study, model, benchmark)
        computed = {item.method for run in runs for item in run.methods + run.questions}
        reasons: dict[str, list[str]] = {}
        for method, reason in {pair: None for run in runs for pair in run.left_out.items()}:
            if method not in computed:
                reasons.setdefault(reason, []).append(method)
        lines += [
            {"model": model, "benchmark": benchmark, "methods": methods, "reason": reason}
            for reason, methods in reasons.items()
        ]
    return lines


def benchmarks_with_shots(study: Study) -> list[str]:
    """The benchmarks whose texts are read after shots that are drawn from them."""
    return sorted(
        {benchmark for model, benchmark in pass_pairs(study) if drawn_kinds(study, model, benchmark)}
    )


def drawn_kinds(study: Study, model: str, benchmark: str) -> set[str]:
    """The kinds of shots that the pair's passes ask for and that are drawn from the benchmark."""
    return prefix_kinds(study, model, benchmark) - {ZERO_ACCESS}


def needs_classes(study: Study, benchmark: str) -> bool:
    """Whether a benchmark must hold texts of both classes: an artifact shows its metrics, or shots are drawn."""
    return benchmark in benchmarks_with_shots(study) or any(
        panel.benchmark == benchmark and "metrics" in RENDERERS[artifact.renderer].needs
        for artifact in study.artifacts.values()
        if artifact.unavailable is None
        for panel in artifact.panels
    )


def stored_views(study: Study, model: str, benchmark: str) -> list[str]:
    """Return the views of the pair's readings that are stored tables, not functions of the text."""
    readings = [request.reading for request in pass_requests(study, model, benchmark)]
    names = {name for reading in readings for name in (reading.view, reading.altered) if name}
    return sorted(name for name in names if VIEWS[name].materialised)


def continued_views(study: Study) -> set[Pair]:
    """(benchmark, view) of each view of continued texts: of a whole benchmark, whatever part of it the runs score."""
    return {
        (benchmark, view)
        for model, benchmark in pairs(study)
        for run in runs_of(study, model, benchmark)
        for view in run.continuations
    }


def prefix_kinds(study: Study, model: str, benchmark: str) -> set[str]:
    """Return the kinds of shots (`member`, `nonmember`, `zero_access`) that the pair's passes ask for."""
    shots = [request.reading.shots for request in pass_requests(study, model, benchmark)]
    return {each.prefix.kind for each in shots if each}


def completed_lengths(study: Study, model: str, benchmark: str) -> list[int]:
    """Return the lengths of the pair's texts that are read after openings which the model completed itself."""
    every = study.benchmarks.entries[benchmark].lengths
    return sorted({
        length
        for request in pass_requests(study, model, benchmark)
        if request.reading.shots and request.reading.shots.prefix.kind == ZERO_ACCESS
        for length in request.lengths or every
    })  # fmt: skip
