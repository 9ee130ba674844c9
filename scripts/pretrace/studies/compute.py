"""About how many tokens a study's local models read and how many GPU hours that takes, from the registries alone."""

import math
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from pretrace.benchmarks.sources import BenchmarkEntry
from pretrace.models.entries import ApiModel, ModelEntry
from pretrace.questions.known import QUESTION_METHODS
from pretrace.studies.pairs import Pair
from pretrace.studies.plan import Plan
from pretrace.studies.questions import WRITTEN, view_writer
from pretrace.studies.study import load_study
from pretrace.views import VIEWS
from pretrace.views.readings import PAST_CONTEXT, PassRequest, Windows

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


class Place(NamedTuple):
    """A subset and length of a benchmark. `stated`: the texts that its entry states; `tokens` of each, about."""

    subset: str
    length: int | None
    stated: int | None
    tokens: float

    @property
    def texts(self) -> int:
        return TEXTS if self.stated is None else self.stated


class Read(NamedTuple):
    """The tokens that a local model reads of a place of a benchmark."""

    model: str
    benchmark: str
    place: Place
    tokens: float


class Line(NamedTuple):
    """The work of an artifact's or study's local models. `gpus`: those of the largest model.

    `largest` is the model whose weights take most memory, `gigabytes` what they take.
    """

    name: str
    models: int
    tokens: float
    hours: float
    gpus: int
    largest: str
    gigabytes: float


def compute_lines(config: Mapping[str, Any]) -> list[Line]:
    """Return a line for each artifact of the study, as if it alone were run, and one for all, which share passes."""
    study = load_study(dict(config))
    studies = {slug: load_study({**config, "only": [slug]}) for slug in study.artifacts} | {"all": study}
    return [_line(name, Plan(each), float(config["gpu_flops"])) for name, each in studies.items()]


def _line(name: str, plan: Plan, flops: float) -> Line:
    tokens: Counter[str] = Counter()
    for read in work(plan):
        tokens[read.model] += read.tokens  # type: ignore[assignment]
    entries = {model: plan.study.models.entries[model] for model in tokens}
    operations = sum(FORWARD * (entry.parameters or 0) * tokens[model] for model, entry in entries.items())
    gpus = max((entry.resources.gpu for entry in entries.values()), default=0)
    sizes = {model: gigabytes(entry) for model, entry in entries.items()}
    largest = max(sorted(sizes), key=sizes.__getitem__, default="")
    hours = operations / flops / 3600
    return Line(name, len(tokens), sum(tokens.values()), hours, gpus, largest, sizes.get(largest, 0.0))


def gigabytes(entry: ModelEntry) -> float:
    """Return the GB that a model's weights take on a GPU, by its entry; `dtype: auto` is taken as bfloat16."""
    bits = entry.quantise or (16 if entry.dtype in ("auto", "bfloat16", "float16") else 32)
    return (entry.parameters or 0) * bits / 8e9


def assumptions(config: Mapping[str, Any]) -> list[str]:
    """Return the values assumed for models and benchmarks whose entries do not state them, as sentences."""
    plan = Plan(load_study(dict(config)))
    reads = [*work(plan)]
    entries = plan.study.models.entries
    lacking = {
        "`parameters` count as 0": {read.model for read in reads if entries[read.model].parameters is None},
        f"`expected` count as {TEXTS:,} texts of each subset and length": {
            read.benchmark for read in reads if read.place.stated is None
        },
        f"`lengths` count as {TOKENS_OF_A_TEXT} tokens a text": {
            read.benchmark for read in reads if read.place.length is None
        },
    }
    return [f"Entries without {key}: {', '.join(sorted(slugs))}." for key, slugs in lacking.items() if slugs]


def work(plan: Plan) -> Iterator[Read]:
    """Return what the local models read: passes, questions and continuations, of each place once."""
    for pair in plan.reading_pairs:
        if pair.model.is_local:
            yield from _passes(pair)
    for pair in plan.asking_pairs:
        if pair.model.is_local:
            yield from _questions(pair)
    for benchmark, view in plan.continued_views:
        entry = plan.study.benchmarks.entries[benchmark]
        writer = view_writer(view, entry)
        if writer and plan.model(writer).is_local:
            # a sample reads half of a text and writes the rest
            for place in places(entry, WHOLE):
                samples = VIEWS[view].number or 1
                yield Read(writer, benchmark, place, place.texts * samples * place.tokens)


def _passes(pair: Pair) -> Iterator[Read]:
    entry = pair.benchmark.entry
    readings = {
        (place, request.reading)
        for request in pair.requests
        # no entry says how long texts are that exceed the context
        if request.reading.windows != PAST_CONTEXT
        for place in places(entry, request.to_json())
    }
    drawn = None if entry.prefix is None else entry.prefix.texts
    most_after_shots = math.inf if drawn is None else 2 * drawn
    for place, reading in sorted(readings, key=str):
        tokens, shots = place.tokens, reading.shots.count if reading.shots else 0
        if isinstance(reading.windows, Windows):
            length, stride = sum(reading.windows[:2]), reading.windows.stride
            tokens = length * max(0, (tokens - length) // stride + 1)
        texts = min(place.texts, most_after_shots) if shots else place.texts
        variants = (VIEWS[reading.altered].number or 1) if reading.altered else 1
        yield Read(*pair.slugs, place, texts * tokens * variants + shots * tokens)


def _questions(pair: Pair) -> Iterator[Read]:
    for request in pair.answer_requests:
        if QUESTION_METHODS[request["method"]].control:
            continue
        for place in places(pair.benchmark.entry, request):
            if request["method"] == "de_cop":
                tokens = ENCODINGS * place.tokens
            else:
                tokens = 2 * request["parameters"].get("k", place.tokens / 2)
            yield Read(*pair.slugs, place, place.texts * (tokens + PROMPT))


def places(entry: BenchmarkEntry, request: Mapping[str, Any]) -> list[Place]:
    """Return the places that a request reads of a benchmark, by what its entry states."""
    words = TOKENS_A_WORD.get(entry.language, 1.35)
    return [
        Place(
            subset,
            length,
            _stated(entry, subset, length),
            TOKENS_OF_A_TEXT if length is None else length * words,
        )
        for subset in request["subsets"] or entry.subsets or [""]
        for length in request["lengths"] or entry.lengths or [None]
    ]


def _stated(entry: BenchmarkEntry, subset: str, length: int | None) -> int | None:
    """Return the number of texts of a subset and length, if the entry states it."""
    expected = entry.expected
    if entry.texts_of_a_length:
        expected = {str(length): entry.texts_of_a_length // len(entry.subsets or [""])} | expected
    keys = (f"{subset}/{length}", str(length), subset, "all")
    return next((expected[key] for key in keys if key in expected), None)


def table(lines: list[Line], flops: float, assumed: Sequence[str] = ()) -> list[str]:
    """Return the lines as Markdown, and below them what they rest on."""
    rows = [
        "| artifact | models | tokens (millions) | GPU hours | largest model | its weights (GB) | its GPUs |",
        "|---|--:|--:|--:|---|--:|--:|",
    ]
    rows += [
        f"| {line.name} | {line.models} | {line.tokens / 1e6:,.1f} | {line.hours:,.2f} | {line.largest} | "
        f"{line.gigabytes:,.0f} | {line.gpus} |"
        for line in lines
    ]
    rests_on = (
        f"At {flops:.2g} FLOP/s of a GPU (gpu_flops) and {FORWARD} operations per parameter and token; loading models "
        "and counting corpora, which no GPU does, are not in it. Each artifact is counted as if it were run alone; all "
        "share passes. Have a few GB more than the weights: batches shrink until they fit."
    )
    return [*rows, "", rests_on, *assumed]


Work = dict[str, Any]


def api_work(plan: Plan) -> list[Work]:
    """Return an entry a task for `questions.estimate`: `model`, `benchmark` (slugs), `task`, `subsets`, `lengths` and
    what the number of tokens depends on.

    `task`: a question method; `scoring`, a pass with `shots` before and `variants` of each text; `paraphrase`; or
    `continuation`, with a number of `samples`.
    """
    behind_apis = {slug for slug, entry in plan.study.models.entries.items() if isinstance(entry, ApiModel)}
    work: list[Work] = []
    for pair in plan.asking_pairs:
        if pair.model_slug in behind_apis:
            work += [
                _task(pair.slugs, request["method"], request, k=request["parameters"].get("k", 0))
                for request in pair.answer_requests
                if not QUESTION_METHODS[request["method"]].control
            ]
    for pair in plan.reading_pairs:
        if pair.model_slug in behind_apis:
            work += [_scoring(pair, request) for request in pair.requests]
    # paraphrases that a model writes for its own questions and the benchmark does not bring
    paraphrases = {
        (view.removeprefix(WRITTEN), pair.benchmark_slug)
        for pair in plan.asking_pairs
        for view in pair.paraphrasers
        if view.startswith(WRITTEN) and view not in pair.benchmark.entry.views
    }
    work += [_task(slugs, "paraphrase", WHOLE) for slugs in paraphrases if slugs[0] in behind_apis]
    for benchmark, view in plan.continued_views:
        writer = view_writer(view, plan.study.benchmarks.entries[benchmark])
        if writer in behind_apis:
            work.append(_task((writer, benchmark), "continuation", WHOLE, samples=VIEWS[view].number))
    return sorted(work, key=lambda item: (item["model"], item["benchmark"], item["task"], str(item)))


def texts_of_apis(plan: Plan) -> dict[str, str]:
    """Return the tables of the benchmarks whose texts go to models behind APIs, by slug."""
    slugs = sorted({task["benchmark"] for task in api_work(plan)})
    return {slug: plan.benchmark(slug).table for slug in slugs}


def _scoring(pair: Pair, request: PassRequest) -> Work:
    altered, shots = request.reading.altered, request.reading.shots
    variants = (VIEWS[altered].number or 1) if altered else 1
    return _task(
        pair.slugs, "scoring", request.to_json(), shots=shots.count if shots else 0, variants=variants
    )


def _task(slugs: tuple[str, str], task: str, request: Mapping[str, Any], **about: Any) -> Work:
    model, benchmark = slugs
    part = {key: request[key] for key in ("subsets", "lengths")}
    return {"model": model, "benchmark": benchmark, "task": task} | about | part
