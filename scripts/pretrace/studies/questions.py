"""The part of a run that asks questions, and who can answer them."""

from typing import Any

from pretrace.benchmarks.sources import VIEW_LOADERS
from pretrace.methods import METHODS, settings
from pretrace.questions.methods import QUESTION_METHODS, controls_of, question_settings
from pretrace.runtime.errors import InputError, nearest
from pretrace.studies.registries import Registry
from pretrace.views import PARAPHRASING, VIEWS

Entry = dict[str, Any]
Asked = dict[str, Any]
"""A method of a run with the parameters that it narrows: `method`, `parameters`."""

PARAPHRASER = "paraphrase"
"""The view of the paraphrases released with a benchmark; the default of a run."""

WRITTEN = "paraphrase_by_"
"""How the view of a model's own paraphrases begins; its slug follows."""


def has_questions(benchmark: Entry) -> bool:
    """Whether a benchmark's passages can be asked about."""
    return "question" in benchmark or benchmark["source"] == "answers"


def resolve_questions(
    run: dict[str, Any], where: str, model: Entry, benchmark: Entry, asked: list[Asked]
) -> dict[str, Any]:
    """A run's keys about questions: `questions`, `paraphraser`, `calibration`, `calibrate_on`.

    `asked` are the question methods that the run names, checked, or all of them. Where the answers come from
    elsewhere, the paraphraser is None unless the run names one of theirs.

    Raises:
        InputError: nobody can answer, or deltas are given to a model that answers itself.
    """
    elsewhere = model["source"] == "answers"
    if "calibration" in run and not elsewhere:
        raise InputError(
            f"{where}.calibration: {run['model']} answers itself, and deltas that were read from other answers do not "
            "fit its own: another prompt, or another place or spelling of the letters, shifts them. Take calibration "
            "out, and its answers are cross-fitted on the benchmark's own non-members, or name a benchmark of known "
            "non-members under calibrate_on. Given deltas are for answers collected elsewhere (source: answers)."
        )
    if benchmark["source"] == "answers" and not elsewhere:
        raise InputError(
            f"{where}.model: {run['benchmark']} holds no texts, only answers from elsewhere; {run['model']} cannot "
            "read it. Use a model with source: answers, or a benchmark with texts."
        )
    if elsewhere and not has_questions(benchmark):
        raise InputError(
            f"{where}.benchmark: {run['model']} has answers to questions, and {run['benchmark']} asks none. Use a "
            "benchmark with source: answers, or one with questions."
        )
    asked = asked if has_questions(benchmark) else []
    beside = controls_of(item["method"] for item in asked)
    return {
        "questions": asked + [{"method": name, "parameters": {}} for name in beside],
        "paraphraser": run.get("paraphraser", None if elsewhere else PARAPHRASER),
        "calibration": run.get("calibration"),
        "calibrate_on": run.get("calibrate_on"),
    }


def questions_left_out(
    run: dict[str, Any], where: str, benchmark: Entry, asked: list[Asked]
) -> dict[str, str]:
    """The question methods that the run would ask and its benchmark cannot -> why.

    Raises:
        InputError: the run names one of them.
    """
    if has_questions(benchmark) or not asked:
        return {}
    if "methods" in run:
        raise InputError(
            f"{where}.methods: {asked[0]['method']} cannot be computed: {run['benchmark']} asks no questions. To have "
            f"it, add the key question to the benchmark's entry; else leave {asked[0]['method']} out."
        )
    return {item["method"]: "the benchmark asks no questions" for item in asked}


def check_paraphraser(
    run: dict[str, Any], where: str, asked: list[Asked], models: Registry, benchmark: Entry
) -> None:
    """Whether the run's paraphraser is a view of three other texts, by a model that there is, or brought.

    The one that a run does not name matters only where a method of `asked` takes options from it.

    Raises:
        InputError: it is not; names the nearest that is.
    """
    name = run.get("paraphraser", PARAPHRASER)
    if name not in VIEWS or VIEWS[name].family not in PARAPHRASING:
        raise InputError(
            f"{where}.paraphraser: '{name}' is not a view of paraphrases; use paraphrase (the benchmark's own), "
            "paraphrase_by_NAME or substitution_by_MODEL-PERCENT."
        )
    options = "question" in benchmark and any(QUESTION_METHODS[item["method"]].options for item in asked)
    if "paraphraser" in run or options:
        check_view(name, f"{where}.paraphraser: {name}", run["benchmark"], benchmark, models)


def check_view(view: str, where: str, slug: str, benchmark: Entry, models: Registry) -> None:
    """Whether a view comes from somewhere: the text itself, the benchmark `slug`, or a model that there is.

    Raises:
        InputError: it does not.
    """
    if VIEWS[view].source == "text" or view in benchmark.get("views", {}):
        return
    writer = view_writer(view, benchmark)
    if writer and models.entries[models.require(writer, where)]["source"] == "answers":
        raise InputError(
            f"{where}: {writer} has collected answers only and cannot write; give its paraphrases as a view of {slug}, "
            "or name a model that can be asked."
        )
    if not writer and benchmark["source"] not in VIEW_LOADERS:
        raise InputError(
            f"{where}: {slug} has no such view; give a file of it in its entry, as views: {{{view}: FILE}}, or name "
            "a view that a model makes."
        )


def view_writer(view: str, benchmark: Entry) -> str:
    """The slug of the model that makes or writes a stored view; "" for a view released with the benchmark."""
    if view in benchmark.get("views", {}):
        return ""
    return VIEWS[view].model or (view.removeprefix(WRITTEN) if view.startswith(WRITTEN) else "")


def named_methods(run: dict[str, Any], where: str) -> tuple[list[Asked], list[Asked]]:
    """The methods that a run names, or all: those that score texts, and those that ask questions.

    Raises:
        InputError: an unknown method, or parameters that it does not take.
    """
    every = [*METHODS, *(id for id, one in QUESTION_METHODS.items() if not one.control)]
    given = run.get("methods", [] if "extraction" in run else every)
    texts: list[Asked] = []
    asked: list[Asked] = []
    for number, item in enumerate(given):
        name, parameters = (item, {}) if isinstance(item, str) else next(iter(item.items()))
        at = f"{where}.methods.{number}"
        if name not in METHODS and name not in QUESTION_METHODS:
            raise InputError(f"{at}: unknown method '{name}': {nearest(name, [*METHODS, *QUESTION_METHODS])}")
        if not isinstance(parameters, dict | None):
            raise InputError(f"{at}: {name} takes a mapping of parameters, as {name}: {{...}}")
        among, check = (texts, settings) if name in METHODS else (asked, question_settings)
        try:
            check(name, parameters or {})
        except InputError as error:
            raise InputError(f"{at}: {error}") from error
        among.append({"method": name, "parameters": parameters or {}})
    return texts, asked
