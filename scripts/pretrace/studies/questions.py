"""The part of a run that asks questions, and who can answer them."""

from typing import Any, Literal, get_args, get_origin

from pretrace.benchmarks.sources import VIEW_LOADERS, BenchmarkEntry
from pretrace.methods import METHODS, Chosen, settings
from pretrace.models.entries import AnswersModel, ModelEntry
from pretrace.questions.known import QUESTION_METHODS, controls_of, question_settings
from pretrace.runtime.errors import InputError, nearest
from pretrace.studies.keys import WrittenRun
from pretrace.studies.registries import Models
from pretrace.views import PARAPHRASING, VIEWS

PARAPHRASER = "paraphrase"
"""The view of the paraphrases released with a benchmark; the default of a run."""

WRITTEN = "paraphrase_by_"
"""How the view of a model's own paraphrases begins; its slug follows."""


def has_questions(benchmark: BenchmarkEntry) -> bool:
    """Tell whether a benchmark's passages can be asked about."""
    return benchmark.question is not None or benchmark.source == "answers"


def resolve_questions(
    run: WrittenRun, where: str, model: ModelEntry, benchmark: BenchmarkEntry, questions: list[Chosen]
) -> dict[str, Any]:
    """Return a run's `questions` and its `paraphraser`.

    `questions` are the question methods that the run names, checked, or all of them. Where the answers come from
    elsewhere, the paraphraser is None unless the run names one of theirs.

    Raises:
        InputError: nobody can answer, or deltas are given to a model that answers itself.
    """
    elsewhere = isinstance(model, AnswersModel)
    if run.calibration is not None and not elsewhere:
        raise InputError(
            f"{where}.calibration: {run.model} answers itself, and deltas that were read from other answers do not "
            "fit its own: another prompt, or another place or spelling of the letters, shifts them. Take calibration "
            "out, and its answers are cross-fitted on the benchmark's own non-members, or name a benchmark of known "
            "non-members under calibrate_on. Given deltas are for answers collected elsewhere (source: answers)."
        )
    if benchmark.source == "answers" and not elsewhere:
        raise InputError(
            f"{where}.model: {run.benchmark} holds no texts, only answers from elsewhere; {run.model} cannot "
            "read it. Use a model with source: answers, or a benchmark with texts."
        )
    if elsewhere and not has_questions(benchmark):
        raise InputError(
            f"{where}.benchmark: {run.model} has answers to questions, and {run.benchmark} asks none. Use a "
            "benchmark with source: answers, or one with questions."
        )
    questions = questions if has_questions(benchmark) else []
    beside = controls_of(item.method for item in questions)
    return {
        "questions": questions + [Chosen(method=name) for name in beside],
        "paraphraser": run.paraphraser or (None if elsewhere else PARAPHRASER),
    }


def questions_left_out(
    run: WrittenRun, where: str, benchmark: BenchmarkEntry, questions: list[Chosen]
) -> dict[str, str]:
    """Return the question methods that the run would ask and its benchmark cannot -> why.

    Raises:
        InputError: the run names one of them.
    """
    if has_questions(benchmark) or not questions:
        return {}
    if run.methods is not None:
        raise InputError(
            f"{where}.methods: {questions[0].method} cannot be computed: {run.benchmark} asks no questions. To have "
            f"it, add the key question to the benchmark's entry; else leave {questions[0].method} out."
        )
    return {item.method: "the benchmark asks no questions" for item in questions}


def check_paraphraser(
    run: WrittenRun, where: str, questions: list[Chosen], models: Models, benchmark: BenchmarkEntry
) -> None:
    """Check that the run's paraphraser is a view of three other texts, brought or by a model that there is.

    The one that a run does not name matters only where a method of `questions` takes options from it.

    Raises:
        InputError: it is none; names the nearest that is.
    """
    name = PARAPHRASER if run.paraphraser is None else run.paraphraser
    if name not in VIEWS or VIEWS[name].family not in PARAPHRASING:
        raise InputError(
            f"{where}.paraphraser: '{name}' is not a view of paraphrases; use paraphrase (the benchmark's own), "
            "paraphrase_by_NAME or substitution_by_MODEL-PERCENT."
        )
    options = benchmark.question is not None and any(
        QUESTION_METHODS[item.method].options for item in questions
    )
    if run.paraphraser is not None or options:
        check_view(name, f"{where}.paraphraser: {name}", str(run.benchmark), benchmark, models)


def check_view(view: str, where: str, slug: str, benchmark: BenchmarkEntry, models: Models) -> None:
    """Check that a view comes from the text itself, the benchmark `slug`, or a model that there is.

    Raises:
        InputError: it does not come from any of these.
    """
    if VIEWS[view].source == "text" or view in benchmark.views:
        return
    writer = view_writer(view, benchmark)
    if writer and isinstance(models.entries[models.require(writer, where)], AnswersModel):
        raise InputError(
            f"{where}: {writer} has collected answers only and cannot write; give its paraphrases as a view of {slug}, "
            "or name a model that can be asked."
        )
    if not writer and benchmark.source not in VIEW_LOADERS:
        raise InputError(
            f"{where}: {slug} has no such view; give a file of it in its entry, as views: {{{view}: FILE}}, or name "
            "a view that a model makes."
        )


def view_writer(view: str, benchmark: BenchmarkEntry) -> str:
    """Return the slug of the model that makes or writes a stored view; "" for a view released with the benchmark."""
    if view in benchmark.views:
        return ""
    return VIEWS[view].model or (view.removeprefix(WRITTEN) if view.startswith(WRITTEN) else "")


def _nearest_method(name: str) -> str:
    """The hint for an unknown method: the method whose form it is, as `perplexity`, or the nearest name."""
    for method in METHODS.values():
        for parameter, kind in method.types.items():
            if get_origin(kind) is Literal and name.casefold() in get_args(kind):
                return f"write {method.id}: {{{parameter}: [{name.casefold()}]}}"
    return nearest(name, [*METHODS, *QUESTION_METHODS])


def named_methods(run: WrittenRun, where: str) -> tuple[list[Chosen], list[Chosen]]:
    """Return the methods that a run names, or all: those that score texts, and those that ask questions.

    Raises:
        InputError: an unknown method, or parameters that it does not take.
    """
    every = [*METHODS, *(id for id, method in QUESTION_METHODS.items() if not method.control)]
    given = (every if run.extraction is None else []) if run.methods is None else run.methods
    texts: list[Chosen] = []
    questions: list[Chosen] = []
    for number, item in enumerate(given):
        name, parameters = (item, {}) if isinstance(item, str) else next(iter(item.items()))
        place = f"{where}.methods.{number}"
        if name not in METHODS and name not in QUESTION_METHODS:
            raise InputError(f"{place}: unknown method '{name}': {_nearest_method(name)}")
        if not isinstance(parameters, dict | None):
            raise InputError(f"{place}: {name} takes a mapping of parameters, as {name}: {{...}}")
        among, check = (texts, settings) if name in METHODS else (questions, question_settings)
        try:
            check(name, parameters or {})
        except InputError as error:
            raise InputError(f"{place}: {error}") from error
        among.append(Chosen(method=name, parameters=parameters or {}))
    return texts, questions
