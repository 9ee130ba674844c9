"""A run, resolved: the model, the part of a benchmark that it reads, and what is asked
and computed; and its checks."""

from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any, Literal, get_args, get_origin

from pretrace.benchmarks.sources import VIEW_LOADERS, BenchmarkEntry, PrefixDraws
from pretrace.methods import INPUTS, METHODS, Chosen, obstacle, settings
from pretrace.methods.registry import FULL_VOCABULARY, OF_WHOLE_PREDICTIONS
from pretrace.methods.settings import Obstacle
from pretrace.models.abilities import ABILITIES, can, require_ability
from pretrace.models.entries import ApiModel, ModelEntry, TrainedModel
from pretrace.models.training.tokenizer import SEPARATOR
from pretrace.questions.method_facts import (
    QUESTION_METHODS,
    controls_of,
    question_settings,
)
from pretrace.render.artifact import PairSlugs
from pretrace.runtime.errors import InputError, nearest, require_name, shorten
from pretrace.studies.keys import Extraction, GivenBack, RunKeys, WrittenRun
from pretrace.studies.registries import Benchmarks, Models, Registries
from pretrace.views import PARAPHRASING, VIEWS
from pretrace.views.readings import ZERO_ACCESS

PARAPHRASER = "paraphrase"
"""The view of the paraphrases released with a benchmark; the default of a run."""

WRITTEN = "paraphrase_by_"
"""How the view of a model's own paraphrases begins; its slug follows."""


class Run(RunKeys):
    """A run of one model and benchmark, with the defaults of `keys.WrittenRun`; None
    chooses all."""

    model: str
    benchmark: str
    serves: list[str] = []
    draws: list[int] = [0]
    corpora: list[str] = []
    extraction: Extraction | None = None
    given_back: GivenBack | None = None
    methods: list[Chosen] = []
    """The methods that score texts, the controls among them."""
    questions: list[Chosen] = []
    """The methods that ask questions, the controls among them."""
    paraphraser: str | None = None
    """None where the answers come from elsewhere, whatever paraphraser they name."""
    left_out: dict[str, str] = {}
    """Methods that cannot be computed -> why."""

    @property
    def pair(self) -> PairSlugs:
        return self.model, self.benchmark

    @property
    def scores_texts(self) -> bool:
        """Whether a method scores single texts, which takes passes."""
        return any(METHODS[item.method].scope == "text" for item in self.methods)

    def for_jobs(self) -> dict[str, Any]:
        """Return everything that results depend on as plain values, None for all."""
        left_out = ["id", "serves", "left_out"]
        if not self.inputs:
            left_out.append("inputs")
        keys = [key for key in type(self).model_fields if key not in left_out]
        return dict.fromkeys(keys) | self.to_json(*left_out)


RunsByPair = dict[PairSlugs, list[Run]]


def runs_by_pair(runs: Iterable[Run]) -> RunsByPair:
    """Group runs by their model and benchmark."""
    pairs: RunsByPair = {}
    for run in runs:
        pairs.setdefault(run.pair, []).append(run)
    return pairs


def draws_of(runs: Iterable[Run]) -> set[int]:
    """Return the draws of shots that runs read."""
    draws = set()
    for run in runs:
        draws.update(run.draws)
    return draws


def references_of(runs: Sequence[Run]) -> list[list[str]]:
    """Return the names that runs give of each kind of input, as corpora or reference
    models, and the paraphraser; none of kinds without names."""
    references = []
    for kind in INPUTS.values():
        names: dict[str, None] = {}  # in the order of the runs
        for run in runs:
            of_run = run.inputs.get(kind.need, [])
            names |= dict.fromkeys(getattr(run, kind.key) if kind.key else of_run)
        if names:
            references.append(list(names))
    asking = [run.paraphraser for run in runs if run.questions]
    if asking and asking[0]:
        references.append([asking[0]])
    return references


def resolve_runs(
    listed: Sequence[WrittenRun], path: Path, registries: Registries
) -> list[Run]:
    """Return the runs of the study file at `path`, one for each model and benchmark,
    filled in and checked.

    A benchmark whose entry draws no shots gets as many as the methods that runs name
    take.

    Raises:
        InputError: a run names something that is not there or asks for something that
            cannot be had, or two disagree.
    """
    written: list[tuple[str, WrittenRun]] = []
    for number, lists in enumerate(listed):
        for run in lists.expand(("model", "benchmark")):
            written.append((f"{path}: runs.{number}", run))
    benchmarks = registries.benchmarks
    for slug, prefix in _shots_drawn(written, benchmarks).items():
        entry = benchmarks.entries[slug]
        benchmarks.entries[slug] = entry.model_copy(update={"prefix": prefix})
    located = []
    for where, run in written:
        located.append((where, resolve_run(run, where, registries)))
    _check_agreement(located)
    return [run for _, run in located]


def _shots_drawn(
    written: Iterable[tuple[str, WrittenRun]], benchmarks: Benchmarks
) -> dict[str, PrefixDraws]:
    """Return how many shots runs take of benchmarks whose entries draw none, by slug.

    `written`: file and key of each run, and the run.
    """
    drawn: dict[str, PrefixDraws] = {}
    for where, run in written:
        slug = str(run.benchmark)
        entry = benchmarks.require(slug, f"{where}.benchmark")
        named = _named_methods(run, where)[0] if run.methods else []
        shots = max((item.shots for item in named), default=0)
        if shots and entry.prefix is None and entry.source != "answers":
            known = drawn.get(slug, PrefixDraws(pool=1))
            pool = max(shots, known.pool)
            draws = max(max(run.draws or [0]) + 1, known.draws)
            drawn[slug] = PrefixDraws(pool=pool, draws=draws)
    return drawn


def resolve_run(run: WrittenRun, where: str, registries: Registries) -> Run:
    """Return a run of one model and benchmark with everything filled in, checked."""
    models, benchmarks = registries.models, registries.benchmarks
    model = models.require(str(run.model), f"{where}.model")
    benchmark = benchmarks.require(str(run.benchmark), f"{where}.benchmark")
    _check_names(run, where, registries)
    _check_part(run, where, benchmark)
    texts, questions = _named_methods(run, where)
    is_asked = can(model, "answers")
    if is_asked:
        _check_paraphraser(run, where, questions, models, benchmark)
    scored, left_out = _resolve_methods(run, where, models, benchmark, texts)
    _check_abilities(run, where, models)
    asked, not_asked = _resolve_questions(run, where, model, benchmark, questions)
    keys: dict[str, Any] = {}
    for key, value in run.set_fields().items():
        if key in Run.model_fields:
            keys[key] = value
    keys["draws"] = _draws(run, benchmark)
    keys["methods"] = scored
    keys["left_out"] = left_out | not_asked
    keys["questions"] = asked
    keys["paraphraser"] = run.paraphraser or (PARAPHRASER if is_asked else None)
    return Run.model_validate(keys)


def _draws(run: WrittenRun, benchmark: BenchmarkEntry) -> list[int]:
    """Return the draws of shots that a run reads: those that it names, else the first
    and the placebos."""
    if run.draws is not None:
        return run.draws
    prefix = benchmark.prefix
    if prefix is None:
        return [0]
    return [0, *range(prefix.draws, prefix.draws + prefix.placebos)]


def _check_names(run: WrittenRun, where: str, registries: Registries) -> None:
    """Check that the models, benchmarks, corpora, views and kinds of input that a run
    names are there, and fit it."""
    models, benchmarks, corpora, *_ = registries
    if run.calibrate_on is not None:
        benchmarks.require(run.calibrate_on, f"{where}.calibrate_on")
    if run.start_token.lower() in ("bos", "eos"):
        raise InputError(
            f"{where}.start_token: '{run.start_token}' would be read as these three "
            "letters; write tokenizer for the token that the model's tokenizer puts "
            "first, none, or the token itself, as <s>."
        )
    for corpus in run.corpora:
        corpora.require(corpus, f"{where}.corpora")
    for reference in run.references:
        models.require(reference, f"{where}.references")
        if reference == run.model:
            raise InputError(
                f"{where}.references: {reference} is the model of the run; name "
                "another model."
            )
    for slug in run.shadows:
        models.require(slug, f"{where}.shadows")
        _check_shadows(run, models, slug, f"{where}.shadows")
    for need in run.inputs:
        require_name(need, INPUTS, f"{where}.inputs: no method has the input '{need}'")
        if INPUTS[need].key:
            raise InputError(
                f"{where}.inputs.{need}: write it as a key of the run, "
                f"{INPUTS[need].remedy}."
            )
    benchmark = benchmarks.entries[str(run.benchmark)]
    for key in ("views", "neighbours"):
        for view in getattr(run, key):
            require_name(view, VIEWS, f"{where}.{key}: unknown view '{view}'")
            _check_view(
                view, f"{where}.{key}: {view}", str(run.benchmark), benchmark, models
            )


def _check_part(run: WrittenRun, where: str, benchmark: BenchmarkEntry) -> None:
    """Check that the benchmark has the subsets and lengths that the run names."""
    for key in ("lengths", "subsets"):
        named: Sequence[object] = getattr(run, key) or []
        declared: Sequence[object] = getattr(benchmark, key)
        # the user's own files say it themselves: `user_files`
        if not declared and named and benchmark.source not in ("local", "answers"):
            raise InputError(
                f"{where}.{key}: the entry of {run.benchmark} has no {key} to choose "
                f"from; take {key} out of the run, or give the entry {key}: "
                f"{list(named)}, if the benchmark has them."
            )
        for value in named:
            if declared and value not in declared:
                raise InputError(
                    f"{where}.{key}: {run.benchmark} has no {shorten(repr(value))}; it "
                    f"has {declared}."
                )


def _check_shadows(run: WrittenRun, models: Models, slug: str, where: str) -> None:
    """Check that the model `slug` has shadow models, and that they read what the run's
    model reads."""
    model = models.entries[slug]
    entries = models.entries.items()
    having = [name for name, entry in entries if can(entry, "shadows")]
    advice = (
        f"Name a model that has them ({', '.join(having)}), or give the entry of a "
        "model that is trained here shadows: 4."
    )
    require_ability("shadows", slug, model, where, advice)
    assert isinstance(model, TrainedModel)
    if model.training.benchmark != run.benchmark:
        raise InputError(
            f"{where}: {slug} is trained on {model.training.benchmark}, and this run "
            f"is about {run.benchmark}; name a model that is trained on it."
        )
    if run.start_token != SEPARATOR:
        raise InputError(
            f"{where}: shadow models read every text after {SEPARATOR}; give the run "
            f"start_token: {SEPARATOR}."
        )


def _check_paraphraser(
    run: WrittenRun,
    where: str,
    questions: list[Chosen],
    models: Models,
    benchmark: BenchmarkEntry,
) -> None:
    """Check that the run's paraphraser is a view of three other texts, released or by a
    registered model.

    The one that a run does not name matters only where a method of `questions` takes
    options from it.

    Raises:
        InputError: it is none; names the nearest that is.
    """
    name = PARAPHRASER if run.paraphraser is None else run.paraphraser
    if name not in VIEWS or VIEWS[name].family not in PARAPHRASING:
        raise InputError(
            f"{where}.paraphraser: '{name}' is not a view of paraphrases; use "
            "paraphrase (the benchmark's own), paraphrase_by_NAME or "
            "substitution_by_MODEL-PERCENT."
        )
    options = benchmark.question is not None and any(
        QUESTION_METHODS[item.method].options for item in questions
    )
    if run.paraphraser is not None or options:
        _check_view(
            name, f"{where}.paraphraser: {name}", str(run.benchmark), benchmark, models
        )


def _check_view(
    view: str, where: str, slug: str, benchmark: BenchmarkEntry, models: Models
) -> None:
    """Check that a view comes from the text itself, the benchmark `slug`, or a
    registered model.

    Raises:
        InputError: it does not come from any of these.
    """
    if VIEWS[view].source in ("text", "data") or view in benchmark.views:
        return
    writer = view_writer(view, benchmark)
    if writer:
        is_written = view.startswith(WRITTEN)
        ability = "paraphrases" if is_written else "replacements"
        models.require(writer, where)
        _require(ability, writer, models, where)
    if not writer and benchmark.source not in VIEW_LOADERS:
        raise InputError(
            f"{where}: {slug} has no such view; give a file of it in its entry, as "
            f"views: {{{view}: FILE}}, or name a view that a model makes."
        )


def view_writer(view: str, benchmark: BenchmarkEntry) -> str:
    """Return the slug of the model that makes or writes a stored view; "" for a view
    released with the benchmark."""
    if view in benchmark.views:
        return ""
    model = VIEWS[view].model
    if not model and view.startswith(WRITTEN):
        return view.removeprefix(WRITTEN)
    return model


def _nearest_method(name: str) -> str:
    """The hint for an unknown method: the method whose form it is, as `perplexity`, or
    the nearest name."""
    for method in METHODS.values():
        for parameter, kind in method.types.items():
            if get_origin(kind) is Literal and name.casefold() in get_args(kind):
                return f"write {method.id}: {{{parameter}: [{name.casefold()}]}}"
    return nearest(name, [*METHODS, *QUESTION_METHODS])


def _named_methods(run: WrittenRun, where: str) -> tuple[list[Chosen], list[Chosen]]:
    """Return the methods that a run names, or all: those that score texts, and those
    that ask questions.

    Raises:
        InputError: an unknown method, or parameters that it does not take.
    """
    given: list[Any] = []
    if run.methods is not None:
        given = run.methods
    elif run.extraction is None and run.given_back is None:
        given = [*METHODS]
        given += [id for id, method in QUESTION_METHODS.items() if not method.control]
    texts: list[Chosen] = []
    questions: list[Chosen] = []
    for number, item in enumerate(given):
        if isinstance(item, str):
            name, parameters = item, {}
        else:
            name, parameters = next(iter(item.items()))
        place = f"{where}.methods.{number}"
        if name not in METHODS and name not in QUESTION_METHODS:
            raise InputError(
                f"{place}: unknown method '{name}': {_nearest_method(name)}"
            )
        if not isinstance(parameters, dict | None):
            raise InputError(
                f"{place}: {name} takes a mapping of parameters, as {name}: {{...}}"
            )
        among, check = (
            (texts, settings) if name in METHODS else (questions, question_settings)
        )
        try:
            check(name, parameters or {})
        except InputError as error:
            raise InputError(f"{place}: {error}") from error
        among.append(Chosen(method=name, parameters=parameters or {}))
    return texts, questions


def _resolve_methods(
    run: WrittenRun,
    where: str,
    models: Models,
    benchmark: BenchmarkEntry,
    chosen: list[Chosen],
) -> tuple[list[Chosen], dict[str, str]]:
    """Return the run's methods that score texts, the controls among them; and the
    methods left out -> why.

    Raises:
        InputError: a method that the run names cannot be computed; with what to add.
    """
    model = models.entries[str(run.model)]
    hindered = _obstacles(run, model, benchmark, chosen)
    # answers or a server that the configuration puts in a model's place cannot have all
    # that its weights have
    is_replaced = not can(model, "weights") and run.model in models.overridden
    if run.methods is not None and not is_replaced:
        for id, (reason, remedy) in hindered.items():
            to_have_it = f"To have it, {remedy}; else leave {id} out."
            raise InputError(
                f"{where}.methods: {id} cannot be computed: {reason}. "
                + (to_have_it if remedy else f"Leave {id} out.")
            )
    left_out = {id: obstacle.reason for id, obstacle in hindered.items()}
    is_measured = run.extraction is not None or run.given_back is not None
    if not can(model, "answers") or (is_measured and not chosen):
        return [], left_out
    computed = [item for item in chosen if item.method not in hindered]
    shots = 0
    needs_openings = False
    for item in computed:
        for prefix, count in item.prefixes:
            shots = max(shots, count)
            needs_openings |= prefix.kind == ZERO_ACCESS
    if needs_openings:
        if not (run.lengths or benchmark.lengths):
            raise InputError(
                f"{where}.methods: access: zero completes openings to the length of "
                f"the texts; give {run.benchmark} lengths (in words), in its entry or "
                "in the run."
            )
        require_ability("openings", str(run.model), model, f"{where}.methods")
    if shots and benchmark.prefix is not None:
        _check_prefix(run, where, shots, benchmark.prefix)
    return computed + _controls(computed, shots), left_out


def _obstacles(
    run: WrittenRun,
    model: ModelEntry,
    benchmark: BenchmarkEntry,
    chosen: list[Chosen],
) -> dict[str, Obstacle]:
    """Return why methods cannot be computed for a run, by id; without those that
    can."""
    inputs: dict[str, Any] = {"inputs": run.inputs}
    for kind in INPUTS.values():
        if kind.key:
            inputs[kind.key] = getattr(run, kind.key)
    hindered = {}
    for item in chosen:
        found = obstacle(
            item.method,
            inputs,
            item.parameters,
            language=benchmark.language,
            has_prefixes=benchmark.prefix is not None,
            lacking=lacking_statistics(model),
            log_probabilities=can(model, "log_probabilities"),
        )
        if found:
            hindered[item.method] = found
    return hindered


def _check_prefix(run: WrittenRun, where: str, shots: int, prefix: PrefixDraws) -> None:
    """Check that what is drawn from the run's benchmark holds the shots and the draws
    that the run asks for."""
    if shots > prefix.pool:
        raise InputError(
            f"{where}.methods: {shots} shots are asked for, and prefix.pool of "
            f"{run.benchmark} is {prefix.pool}; raise it, or ask for fewer shots."
        )
    draws = prefix.draws + prefix.placebos
    if beyond := [draw for draw in run.draws or () if draw >= draws]:
        raise InputError(
            f"{where}.draws: draw {beyond[0]} is asked for, and {run.benchmark} has "
            f"draws 0 to {draws - 1} (prefix.draws, then prefix.placebos); raise "
            "these, or ask for one of its draws."
        )


def _controls(chosen: list[Chosen], shots: int) -> list[Chosen]:
    """Return the controls to add to the chosen methods; `shots`: the most that one of
    these takes, 0 without a prefix.

    `prefix_similarity` is added only with methods that have a prefix. A control
    `on_request` must be named: one knows the members of a trained model.
    """
    named = {item.method for item in chosen}
    controls = []
    for id, method in METHODS.items():
        is_wanted = method.scope == "benchmark" and not method.on_request
        if not is_wanted or id in named:
            continue
        if id != "prefix_similarity":
            controls.append(Chosen(method=id))
        elif shots:
            controls.append(Chosen(method=id, parameters={"shots": shots}))
    return controls


def _resolve_questions(
    run: WrittenRun,
    where: str,
    model: ModelEntry,
    benchmark: BenchmarkEntry,
    questions: list[Chosen],
) -> tuple[list[Chosen], dict[str, str]]:
    """Return a run's methods that ask questions, the controls among them; and those
    left out -> why.

    `questions` are the question methods that the run names, checked, or all of them.

    Raises:
        InputError: the run names a method, and its benchmark asks no questions; no
            model answers; or deltas are given to a model that answers itself.
    """
    asked_about = benchmark.question is not None or benchmark.source == "answers"
    if questions and not asked_about and run.methods is not None:
        raise InputError(
            f"{where}.methods: {questions[0].method} cannot be computed: "
            f"{run.benchmark} asks no questions. To have it, add the key question to "
            f"the benchmark's entry; else leave {questions[0].method} out."
        )
    if run.calibration is not None:
        place = f"{where}.calibration"
        require_ability("released_answers", str(run.model), model, place)
    elsewhere = not can(model, "answers")
    if benchmark.source == "answers" and not elsewhere:
        raise InputError(
            f"{where}.model: {run.benchmark} holds no texts, only answers from "
            f"elsewhere; {run.model} cannot read it. Use a model with source: answers, "
            "or a benchmark with texts."
        )
    if elsewhere and not asked_about:
        raise InputError(
            f"{where}.benchmark: {run.model} has answers to questions, and "
            f"{run.benchmark} asks none. Use a benchmark with source: answers, or one "
            "with questions."
        )
    if not asked_about:
        return [], {
            item.method: "the benchmark asks no questions" for item in questions
        }
    controls = controls_of(item.method for item in questions)
    return questions + [Chosen(method=name) for name in controls], {}


def lacking_statistics(model: ModelEntry) -> tuple[str, ...]:
    """Return the statistics of tokens that the model does not give."""
    if can(model, "whole_predictions"):
        return ()
    if can(model, "likeliest_tokens"):
        return OF_WHOLE_PREDICTIONS
    return FULL_VOCABULARY


def _require(ability: str, slug: str, models: Models, where: str) -> None:
    """Check that a model can do what a run asks of it. Where the configuration put a
    server or answers in its place, the error names that, which the user wrote, and not
    the study alone."""
    entry = models.entries[slug]
    if slug in models.overridden and not can(entry, ability):
        kind = "servers" if isinstance(entry, ApiModel) else "paths"
        raise InputError(
            f"config: {kind}.{slug}: the study asks this model to "
            f"{ABILITIES[ability].verb} ({where}), and what you put in its place "
            "cannot. Take it out there, or run a study of your own without that key."
        )
    require_ability(ability, slug, entry, where)


def _check_abilities(run: WrittenRun, where: str, models: Models) -> None:
    """Check that the models of a run can do what its keys ask of them."""
    slug = str(run.model)
    model = models.entries[slug]
    for reference in run.references:
        _require("log_probabilities", reference, models, f"{where}.references")
    # answers from elsewhere have no tokens, and need none
    if run.corpora and can(model, "answers"):
        _require("tokens", slug, models, f"{where}.corpora")
    if model.tokenizer is not None and (run.corpora or can(model, "log_probabilities")):
        place = f"{models.places[slug]}.tokenizer"
        lender = models.require(model.tokenizer, place)
        require_ability("own_tokenizer", model.tokenizer, lender, place)
    if run.extraction is not None:
        _require("likeliest_tokens", slug, models, f"{where}.extraction")
    if run.given_back is not None:
        _require("going_on", slug, models, f"{where}.given_back")


KEPT_ONCE = ("calibration", "calibrate_on", "extraction", "given_back")
"""Keys that have one value for a model and benchmark; None gives none."""


def _check_agreement(located: list[tuple[str, Run]]) -> None:
    """Check that the runs of a model and benchmark agree, and that its model reads each
    `calibrate_on` as they do.

    `located`: file and key of each run, and the run.

    Raises:
        InputError: two runs disagree, or a run on the benchmark of known non-members is
            missing.
    """
    alike: RunsByPair = {}
    for where, run in located:
        others = alike.setdefault(run.pair, [])
        for other in others:
            _check_two(where, run, other)
        others.append(run)
    for where, run in located:
        if run.calibrate_on is not None:
            _check_known(where, run, alike.get((run.model, run.calibrate_on), []))


def _check_two(where: str, run: Run, other: Run) -> None:
    another = f"another run of {run.model} on {run.benchmark}"
    for key in KEPT_ONCE:
        ours, theirs = getattr(run, key), getattr(other, key)
        if None not in (ours, theirs) and ours != theirs:
            raise InputError(
                f"{where}.{key}: {another} gives a different one; give one, or put "
                "them into two studies."
            )
    if run.extraction and other.extraction and run.start_token != other.start_token:
        raise InputError(
            f"{where}.extraction: {another} has another start_token; give the same."
        )
    same = run.start_token == other.start_token
    for key in ("views", "subsets", "lengths"):
        same = same and _share(getattr(run, key), getattr(other, key))
    if run.methods and other.methods and same and run.inner_start != other.inner_start:
        raise InputError(
            f"{where}.inner_start: {another} differs in it on the same texts, but "
            "scores do not record it; put them into two studies."
        )


def _share(first: list[Any] | None, second: list[Any] | None) -> bool:
    """Return whether two choices have something in common; None chooses all."""
    return first is None or second is None or not set(first).isdisjoint(second)


def _check_known(where: str, run: Run, known: list[Run]) -> None:
    """Check that the `known` runs on the benchmark of known non-members do what the run
    does."""
    key, other = f"{where}.calibrate_on", run.calibrate_on
    if _asks_de_cop(run) and not any(map(_asks_de_cop, known)):
        raise InputError(
            f"{key}: no run asks {run.model} de_cop's questions on {other}; add one."
        )
    if run.methods and not any(other.methods for other in known):
        raise InputError(
            f"{key}: no run has {run.model} read {other}; add one with the same "
            "methods."
        )
    if run.extraction and run.extraction not in [other.extraction for other in known]:
        raise InputError(
            f"{key}: no run has {run.model} read {other} with the same extraction; add "
            "one."
        )


def _asks_de_cop(run: Run) -> bool:
    return any(item.method == "de_cop" for item in run.questions)
