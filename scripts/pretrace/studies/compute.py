"""About how many tokens a study's local models read and how many GPU hours that takes, from the registries alone."""

import math
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from pretrace.benchmarks.sources import BenchmarkEntry
from pretrace.models.entries import AnswersModel, ApiModel, TrainedModel
from pretrace.questions.known import QUESTION_METHODS
from pretrace.studies import plan
from pretrace.studies.questions import WRITTEN, view_writer
from pretrace.studies.study import Study, load_study
from pretrace.views import VIEWS
from pretrace.views.readings import PAST_CONTEXT, Windows

TOKENS_A_WORD = {"en": 1.35, "zh": 1.4}
"""About; Chinese words are jieba's."""
TOKENS_OF_A_TEXT = 250
"""Of benchmarks without lengths, about: MIMIR's texts have 100 to 200 words, code and mathematics more tokens."""
TEXTS = 2000
"""Number of texts assumed for a subset if the registry does not state it."""
ENCODINGS = 64
"""Options that the 24 orders of a DE-COP question encode, those of a common beginning once."""
PROMPT = 120
"""Tokens of a question's wording."""
WHOLE: dict[str, Any] = {"subsets": None, "lengths": None}
"""The part of a benchmark that a request reads if it names none."""
FORWARD = 2
"""Floating-point operations of a forward pass, per parameter and token."""


class Line(NamedTuple):
    """The work of an artifact's or study's local models. `gpus`: those of the largest model."""

    name: str
    models: int
    tokens: float
    hours: float
    gpus: int


def compute_lines(config: Mapping[str, Any]) -> list[Line]:
    """A line for each artifact of the study, as if it alone were run, and one for all; what they share counts once."""
    study = load_study(dict(config))
    flops = float(config["gpu_flops"])
    alone = [(slug, load_study({**config, "only": [slug]})) for slug in study.artifacts]
    return [_line(slug, of, flops) for slug, of in alone] + [_line("all", study, flops)]


def assumptions(config: Mapping[str, Any]) -> list[str]:
    """The values assumed for models and benchmarks whose entries do not state them."""
    study = load_study(dict(config))
    read = {model for model, *_ in _work(study)}
    asked: list[tuple[str, Mapping[str, Any]]] = [
        (benchmark, request.to_json())
        for model, benchmark in plan.pass_pairs(study)
        if _is_local(study, model)
        for request in plan.pass_requests(study, model, benchmark)
    ]
    asked += [
        (benchmark, request)
        for model, benchmark in plan.question_pairs(study)
        if _is_local(study, model)
        for request in plan.answer_requests(study, model, benchmark)
    ]
    asked += [(benchmark, WHOLE) for _, benchmark, _ in continuations(study)]
    entries = study.benchmarks.entries
    found = [
        (benchmark, _stated(entries[benchmark], subset, length), length)
        for benchmark, request in asked
        for subset, length in _cells(entries[benchmark], request)
    ]
    lacking = {
        "`parameters` count as 0": {slug for slug in read if study.models.entries[slug].parameters is None},
        f"`expected` count as {TEXTS:,} texts of each subset and length": {
            slug for slug, texts, _ in found if texts is None
        },
        f"`lengths` count as {TOKENS_OF_A_TEXT} tokens a text": {
            slug for slug, _, length in found if length is None
        },
    }
    return [
        f"Entries without {what}: {', '.join(sorted(slugs))}." for what, slugs in lacking.items() if slugs
    ]


def _line(name: str, study: Study, flops: float) -> Line:
    read: dict[str, float] = {}
    for model, _, tokens in _work(study):
        read[model] = read.get(model, 0) + tokens
    entries = study.models.entries
    work = sum(FORWARD * (entries[model].parameters or 0) * tokens for model, tokens in read.items())
    gpus = max((entries[model].resources.gpu for model in read), default=0)
    return Line(name, len(read), sum(read.values()), work / flops / 3600, gpus)


def _work(study: Study) -> Iterator[tuple[str, str, float]]:
    yield from passes(study)
    yield from questions(study)
    yield from continuations(study)


def _is_local(study: Study, model: str) -> bool:
    return not isinstance(study.models.entries[model], AnswersModel | ApiModel)


def passes(study: Study) -> Iterator[tuple[str, str, float]]:
    """(model, benchmark, tokens) of every pass over a subset and length; what several runs ask for once."""
    for model, benchmark in plan.pass_pairs(study):
        if not _is_local(study, model):
            continue
        asked = {
            (place, request.reading)
            for request in plan.pass_requests(study, model, benchmark)
            # no entry says how long texts are that exceed the context
            if request.reading.windows != PAST_CONTEXT
            for place in places(study.benchmarks.entries[benchmark], request.to_json())
        }
        prefix = study.benchmarks.entries[benchmark].prefix
        most_after_shots = math.inf if prefix is None or prefix.texts is None else 2 * prefix.texts
        for (_, _, texts, tokens), reading in sorted(asked, key=str):
            variants = (VIEWS[reading.altered].number or 1) if reading.altered else 1
            if isinstance(reading.windows, Windows):
                length, stride = sum(reading.windows[:2]), reading.windows.stride
                tokens = length * max(0, (tokens - length) // stride + 1)
            shots = reading.shots.count if reading.shots else 0
            read = min(texts, most_after_shots) if shots else texts
            yield model, benchmark, read * tokens * variants + shots * tokens


def questions(study: Study) -> Iterator[tuple[str, str, float]]:
    """(model, benchmark, tokens) of every method's questions about a subset and length."""
    for model, benchmark in plan.question_pairs(study):
        if not _is_local(study, model):
            continue
        for request in plan.answer_requests(study, model, benchmark):
            if QUESTION_METHODS[request["method"]].control:
                continue
            for _, _, texts, tokens in places(study.benchmarks.entries[benchmark], request):
                if request["method"] == "de_cop":
                    yield model, benchmark, texts * (ENCODINGS * tokens + PROMPT)
                else:
                    yield model, benchmark, texts * (2 * request["parameters"].get("k", tokens / 2) + PROMPT)


def continuations(study: Study) -> Iterator[tuple[str, str, float]]:
    """(model, benchmark, tokens) of each view of continued texts. A sample reads half of a text and writes the rest."""
    for benchmark, view in sorted(plan.continued_views(study)):
        entry = study.benchmarks.entries[benchmark]
        writer = view_writer(view, entry)
        if writer and _is_local(study, writer):
            for _, _, texts, tokens in places(entry, WHOLE):
                yield writer, benchmark, texts * (VIEWS[view].number or 1) * tokens


def trainings(study: Study) -> Iterator[tuple[str, float]]:
    """(model, tokens) of the steps of each model that is trained here and read: the longest texts of one class."""
    entries = study.models.entries
    for model in sorted({model for model, _ in plan.pass_pairs(study) + plan.question_pairs(study)}):
        trained = entries[model]
        if isinstance(trained, TrainedModel):
            entry = study.benchmarks.entries[trained.training.benchmark]
            longest = [max(entry.lengths)] if entry.lengths else None
            of_texts = places(entry, {"subsets": None, "lengths": longest})
            once = sum(texts * tokens for _, _, texts, tokens in of_texts) / 2
            yield model, once * trained.training.epochs


def places(entry: BenchmarkEntry, request: Mapping[str, Any]) -> list[tuple[str, int | None, int, float]]:
    """(subset, length, texts, tokens of each) that a request reads of a benchmark, by what its entry states."""
    found = []
    for subset, length in _cells(entry, request):
        texts = _stated(entry, subset, length)
        words = TOKENS_A_WORD.get(entry.language, 1.35)
        tokens = TOKENS_OF_A_TEXT if length is None else length * words
        found.append((subset, length, TEXTS if texts is None else texts, tokens))
    return found


def _cells(entry: BenchmarkEntry, request: Mapping[str, Any]) -> Iterator[tuple[str, int | None]]:
    for subset in request["subsets"] or entry.subsets or [""]:
        for length in request["lengths"] or entry.lengths or [None]:
            yield subset, length


def _stated(entry: BenchmarkEntry, subset: str, length: int | None) -> int | None:
    """The number of texts of a subset and length, if the entry states it."""
    expected = entry.expected
    if entry.texts_of_a_length:
        expected = {str(length): entry.texts_of_a_length // len(entry.subsets or [""])} | expected
    keys = (f"{subset}/{length}", str(length), subset, "all")
    return next((expected[key] for key in keys if key in expected), None)


def table(lines: list[Line], flops: float, assumed: Sequence[str] = ()) -> list[str]:
    """The lines as Markdown, and below them what they rest on."""
    rows = [
        "| artifact | models | tokens (millions) | GPU hours | GPUs of the largest model |",
        "|---|--:|--:|--:|--:|",
    ]
    rows += [
        f"| {one.name} | {one.models} | {one.tokens / 1e6:,.1f} | {one.hours:,.2f} | {one.gpus} |"
        for one in lines
    ]
    rests_on = (
        f"At {flops:.2g} FLOP/s of a GPU (gpu_flops) and {FORWARD} operations per parameter and token; loading models "
        "and counting corpora, which no GPU does, are not in it. Each artifact is counted as if it were run alone; all "
        "share passes."
    )
    return [*rows, "", rests_on, *assumed]


Work = dict[str, Any]


def api_work(study: Study) -> list[Work]:
    """One entry a task, for `questions.estimate`: `model`, `benchmark` (slugs), `task`, `subsets`, `lengths` and what
    the number of tokens depends on.

    `task`: a question method; `scoring`, a pass with `shots` before and `variants` of each text; `paraphrase`; or
    `continuation`, with a number of `samples`.
    """
    behind_apis = {slug for slug, entry in study.models.entries.items() if isinstance(entry, ApiModel)}
    work: list[Work] = []

    def add(pair: plan.Pair, task: str, request: Mapping[str, Any], **about: Any) -> None:
        model, benchmark = pair
        if model in behind_apis:
            part = {key: request.get(key) for key in ("subsets", "lengths")}
            work.append({"model": model, "benchmark": benchmark, "task": task} | about | part)

    for pair in plan.question_pairs(study):
        for request in plan.answer_requests(study, *pair):
            if not QUESTION_METHODS[request["method"]].control:
                add(pair, request["method"], request, k=request["parameters"].get("k", 0))
    for pair in plan.pass_pairs(study):
        for read in plan.pass_requests(study, *pair):
            altered, shots = read.reading.altered, read.reading.shots
            variants = (VIEWS[altered].number or 1) if altered else 1
            add(pair, "scoring", read.to_json(), shots=shots.count if shots else 0, variants=variants)
    for pair in _paraphrases(study):
        add(pair, "paraphrase", {})
    for benchmark, view in plan.continued_views(study):
        writer = view_writer(view, study.benchmarks.entries[benchmark])
        add((writer, benchmark), "continuation", {}, samples=VIEWS[view].number)
    return sorted(work, key=lambda one: (one["model"], one["benchmark"], one["task"], str(one)))


def _paraphrases(study: Study) -> set[plan.Pair]:
    """(model, benchmark) whose questions take the model's paraphrases, which the benchmark does not bring."""
    return {
        (view.removeprefix(WRITTEN), benchmark)
        for model, benchmark in plan.question_pairs(study)
        for view in plan.paraphrasers_of(study, model, benchmark)
        if view.startswith(WRITTEN) and view not in study.benchmarks.entries[benchmark].views
    }
