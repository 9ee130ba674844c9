"""Estimate what a study takes, by model: tokens, GPU hours, weights, disk of results, and US dollars for APIs.

Nothing is fetched, run or asked. Sizes of benchmarks are those that their entries state; the user's own files and texts
that go to APIs are counted, by the model's tokenizer if it is here.
"""

import math
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from pretrace.benchmarks.sources import BenchmarkEntry
from pretrace.models.entries import AnswersModel, Api, ApiModel, HubModel, ModelEntry
from pretrace.questions.answering import ORDERS
from pretrace.questions.known import QUESTION_METHODS
from pretrace.studies.pairs import Pair
from pretrace.studies.plan import Plan
from pretrace.studies.registries import path_of
from pretrace.studies.runs import WRITTEN
from pretrace.views import PARAPHRASES, VIEWS

TOKENS_A_WORD = {"en": 1.35, "zh": 1.4}
"""About; Chinese words are jieba's."""
BYTES_A_TOKEN = 4, 1.5
"""Bytes of UTF-8 of a token, about, where no tokenizer is here: of ASCII letters, and of others. SmolLM2's tokens have
5.1 in speeches, 4.1 in licences, 3.8 in docstrings, and 1.6 in Chinese news."""
TOKENS_OF_A_TEXT = 250
"""Of benchmarks without lengths, about: MIMIR's texts have 100 to 200 words, code and mathematics more tokens."""
ASSUMED_TEXTS = 2000
"""Number of texts assumed for a subset if the registry does not state it."""
ENCODINGS = 64
"""Options that the 24 orders of a DE-COP question encode, those of a common beginning once."""
PROMPT = 120
"""Tokens of a question's wording."""
WORDING = {"de_cop": 120, "completion": 50, "name_cloze": 190, "paraphrase": 90}
"""Tokens of the prompts to APIs without a passage, about."""
WHOLE: dict[str, Any] = {"subsets": None, "lengths": None}
"""The part of a benchmark that a request reads if it names none."""
FORWARD = 2
"""Floating-point operations of a forward pass, per parameter and token."""
STORED = 30
"""Bytes of results for each token that passes read: 141 MB for 4.6 million in the embedded study."""


class SizedSlice(NamedTuple):
    """A subset and length of a benchmark. `stated`: its texts, None if not known; `tokens` of each, about."""

    subset: str
    length: int | None
    stated: int | None
    tokens: float

    @property
    def texts(self) -> int:
        return ASSUMED_TEXTS if self.stated is None else self.stated


class Workload(NamedTuple):
    """The tokens that a model reads and writes for a place of a benchmark; `passed`: those that passes read."""

    model: str
    benchmark: str
    place: SizedSlice
    read: float
    written: float = 0
    passed: float = 0


class Line(NamedTuple):
    """The work of a model, or of all. `weights` and `results` in GB; `gpus` at once."""

    name: str
    read: float
    written: float
    hours: float
    gpus: int
    weights: float
    results: float
    dollars: float


Sizes = Mapping[tuple[str, int | None], Sequence[float]]
"""The tokens of each text of a benchmark, by subset and length."""
Counted = Mapping[str, Sizes]
"""Sizes of the benchmarks whose texts were counted, by slug."""


def counted(plan: Plan, benchmark: str, texts: Iterable[tuple[str, str, int | None]]) -> Sizes:
    """Return the tokens of texts (text, subset, length), counted by the tokenizer of a model that reads them, if one is
    here, else by their bytes."""
    sizes: dict[tuple[str, int | None], list[float]] = defaultdict(list)
    if file := tokenizer_here(plan, benchmark):
        from tokenizers import Tokenizer

        encoder = Tokenizer.from_file(str(file))
    for text, subset, length in texts:
        plain = sum(map(str.isascii, text))
        others = len(text.encode()) - plain
        sizes[subset, length].append(
            len(encoder.encode(text, add_special_tokens=False).ids)
            if file
            else plain / BYTES_A_TOKEN[0] + others / BYTES_A_TOKEN[1]
        )
    return sizes


def tokenizer_here(plan: Plan, benchmark: str) -> Path | None:
    """Return the file of a tokenizer of the models that read a benchmark, if one is at hand."""
    models = {pair.model_slug for pair in plan.reading_pairs if pair.benchmark_slug == benchmark}
    folders = (
        path_of(plan.study.models.entries[slug]) or f"results/models/{slug}" for slug in sorted(models)
    )
    files = (Path(folder, "tokenizer.json") for folder in folders)
    return next((file for file in files if file.is_file()), None)


def measured(plan: Plan) -> dict[str, str]:
    """Return the tables of the benchmarks of the user's own files and of those whose texts go to APIs, by slug."""
    entries = plan.study.benchmarks.entries
    asked = {work.benchmark for work in works(plan) if _api(plan, work.model)}
    own = {pair.benchmark_slug for pair in plan.reading_pairs if entries[pair.benchmark_slug].path}
    return {slug: plan.benchmark(slug).table for slug in sorted(asked | own)}


def estimate_study(plan: Plan, flops: float, known: Counted) -> list[Line]:
    """Return a line for each model that reads, writes or is fetched, the longest first, and one for all."""
    done: dict[str, list[Workload]] = defaultdict(list)
    for model in plan.models_read:
        if isinstance(model.entry, HubModel):
            done[model.slug] = []
    for work in works(plan, known):
        done[work.model].append(work)
    lines = sorted(
        (_line(slug, plan.study.models.entries[slug], done[slug], flops) for slug in sorted(done)),
        key=lambda line: (-line.hours, -line.dollars),
    )
    sums = [sum(getattr(line, field) for line in lines) for field in Line._fields[1:]]
    total = Line("all", *sums)
    return [*lines, total._replace(gpus=max((line.gpus for line in lines), default=0))]


def _line(slug: str, entry: ModelEntry, done: Sequence[Workload], flops: float) -> Line:
    read, written, passed = (
        sum(getattr(work, key) for work in done) for key in ("read", "written", "passed")
    )
    results = passed * STORED / 1e9
    if isinstance(entry, ApiModel):
        price = entry.api.price
        dollars = (read * price.input + written * price.output) / 1e6
        return Line(slug, read, written, 0, 0, 0, results, dollars)
    hours = FORWARD * (entry.parameters or 0) * (read + written) / flops / 3600
    return Line(slug, read, written, hours, entry.resources.gpu, gigabytes(entry), results, 0)


def gigabytes(entry: ModelEntry) -> float:
    """Return the GB that a model's weights take on a GPU, by its entry; `dtype: auto` is taken as bfloat16."""
    bits = entry.quantise or (16 if entry.dtype in ("auto", "bfloat16", "float16") else 32)
    return (entry.parameters or 0) * bits / 8e9


def _api(plan: Plan, model: str) -> Api | None:
    entry = plan.study.models.entries[model]
    return entry.api if isinstance(entry, ApiModel) else None


def works(plan: Plan, counted: Counted | None = None) -> Iterator[Workload]:
    """Yield what the models read and write: passes, questions and paraphrases, of each place once."""
    known = counted or {}
    for pair in plan.reading_pairs:
        yield from _passes(pair, _api(plan, pair.model_slug), known.get(pair.benchmark_slug))
    for pair in plan.asking_pairs:
        if not isinstance(pair.model.entry, AnswersModel):
            yield from _questions(pair, _api(plan, pair.model_slug), known.get(pair.benchmark_slug))
    # paraphrases that a model behind an API writes for its own questions and the benchmark does not bring
    paraphrases = {
        (pair.benchmark_slug, view.removeprefix(WRITTEN))
        for pair in plan.asking_pairs
        for view in pair.paraphrasers
        if view.startswith(WRITTEN) and view not in pair.benchmark.entry.views
    }
    for benchmark, writer in sorted(paraphrases):
        if _api(plan, writer):
            for place in slices_read(plan.benchmark(benchmark).entry, WHOLE, known.get(benchmark)):
                read, written = WORDING["paraphrase"] + place.tokens, PARAPHRASES * place.tokens
                yield Workload(writer, benchmark, place, place.texts * read, place.texts * written)


def _passes(pair: Pair, api: Api | None, sizes: Sizes | None) -> Iterator[Workload]:
    entry = pair.benchmark.entry
    readings = {
        (place, request.reading)
        for request in pair.requests
        # no entry says how long texts are that exceed the context
        if not request.reading.past_context
        for place in slices_read(entry, request.to_json(), sizes)
    }
    drawn = None if entry.prefix is None else entry.prefix.texts
    most_after_shots = math.inf if drawn is None else 2 * drawn
    for place, reading in sorted(readings, key=str):
        tokens, shots = place.tokens, reading.shots.count if reading.shots else 0
        texts = min(place.texts, most_after_shots) if shots else place.texts
        texts *= (VIEWS[reading.altered].number or 1) if reading.altered else 1
        if api is None:  # the shots are read once
            read, written = texts * tokens + shots * tokens, 0.0
        else:
            read, written = texts * (tokens + shots * tokens), texts
        yield Workload(*pair.slugs, place, read, written, texts * tokens)


def _questions(pair: Pair, api: Api | None, sizes: Sizes | None) -> Iterator[Workload]:
    for request in pair.answer_requests:
        if QUESTION_METHODS[request["method"]].control:
            continue
        for place in slices_read(pair.benchmark.entry, request, sizes):
            k = request["parameters"].get("k", place.tokens / 2)
            read, written = _question(request["method"], place.tokens, k, api)
            yield Workload(*pair.slugs, place, place.texts * read, place.texts * written)


def _question(method: str, tokens: float, k: float, api: Api | None) -> tuple[float, float]:
    """Return the tokens that are read and written for the questions about one text."""
    if api is None:
        return (ENCODINGS * tokens if method == "de_cop" else 2 * k) + PROMPT, 0
    from pretrace.questions import cloze, over_api

    match method:
        case "de_cop":
            read = len(ORDERS) * (WORDING[method] + (1 + PARAPHRASES) * tokens)
            return read, len(ORDERS) * (1 if api.top_logprobs else over_api.LETTER_TOKENS)
        case "completion":
            return WORDING[method] + k, k * over_api.MOST_TOKENS_A_WORD
        case _:
            return WORDING[method] + tokens, cloze.ANSWER_UNITS


def slices_read(
    entry: BenchmarkEntry, request: Mapping[str, Any], sizes: Sizes | None = None
) -> list[SizedSlice]:
    """Return the places that a request reads of a benchmark, by its texts, or by what its entry states."""
    if sizes is not None:
        return [
            SizedSlice(subset, length, len(tokens), sum(tokens) / len(tokens))
            for (subset, length), tokens in sizes.items()
            if request["subsets"] is None or subset in request["subsets"]
            if request["lengths"] is None or length in request["lengths"]
        ]
    words = TOKENS_A_WORD.get(entry.language, 1.35)
    return [
        SizedSlice(
            subset,
            length,
            _stated_texts(entry, subset, length),
            TOKENS_OF_A_TEXT if length is None else length * words,
        )
        for subset in request["subsets"] or entry.subsets or [""]
        for length in request["lengths"] or entry.lengths or [None]
    ]


def _stated_texts(entry: BenchmarkEntry, subset: str, length: int | None) -> int | None:
    """Return the number of texts of a subset and length, if the entry states it."""
    expected = entry.expected
    if entry.texts_of_a_length:
        expected = {str(length): entry.texts_of_a_length // len(entry.subsets or [""])} | expected
    keys = (f"{subset}/{length}", str(length), subset, "all")
    return next((expected[key] for key in keys if key in expected), None)


def assumptions(plan: Plan, known: Counted) -> list[str]:
    """Return the values assumed for models and benchmarks whose entries do not state them, as sentences."""
    done = [*works(plan, known)]
    entries = plan.study.models.entries
    local = {work.model for work in done if not _api(plan, work.model)}
    lacking = {
        "`parameters` count as 0": {model for model in local if entries[model].parameters is None},
        f"`expected` count as {ASSUMED_TEXTS:,} texts of each subset and length": {
            work.benchmark for work in done if work.place.stated is None
        },
        f"`lengths` count as {TOKENS_OF_A_TEXT} tokens a text": {
            work.benchmark for work in done if work.place.length is None and work.benchmark not in known
        },
    }
    told = [f"Entries without {key}: {', '.join(sorted(slugs))}." for key, slugs in lacking.items() if slugs]
    by_bytes = [slug for slug in sorted(known) if not tokenizer_here(plan, slug)]
    ratio = f"{BYTES_A_TOKEN[0]:g} bytes a token of ASCII letters, {BYTES_A_TOKEN[1]:g} of others"
    return [*told, *[f"Counted by bytes ({ratio}): {', '.join(by_bytes)}."] * bool(by_bytes)]


def table(lines: Sequence[Line], flops: float, fetched: float) -> list[str]:
    """Return the lines as Markdown, then disk, days and what they rest on. `fetched`: GB of weights to download."""
    rows = [
        "| model | million tokens read | written | GPU hours | GPUs | weights (GB) | results (GB) | US dollars |",
        "|---|--:|--:|--:|--:|--:|--:|--:|",
    ]
    rows += [
        f"| {line.name} | {line.read / 1e6:,.2f} | {line.written / 1e6:,.2f} | {line.hours:,.2f} | {line.gpus} | "
        f"{line.weights:,.1f} | {line.results:,.2f} | {line.dollars:,.2f} |"
        for line in lines
    ]
    rests_on = (
        f"GPU hours: at {flops:.2g} FLOP/s of a GPU (gpu_flops) and {FORWARD} operations per parameter and token, "
        "without loading models and counting corpora. Weights: in memory; have a few GB more, batches shrink until "
        f"they fit. To download: {fetched:,.0f} GB of weights from the hub, by their parameters and types; check_hub "
        "asks the hub for the sizes of all files, also of data sets and corpora. "
        f"Results: {STORED} bytes for each token of passes."
    )
    return [*rows, "", *_disk_and_days(lines, fetched), rests_on]


def _disk_and_days(lines: Sequence[Line], fetched: float) -> Iterator[str]:
    """Yield what all takes on disk and, if models need GPUs, in days with several numbers of them.

    A model spread over GPUs computes on one at a time and holds them all.
    """
    *models, total = lines
    yield f"Disk: about {fetched + total.results:,.0f} GB for weights and results, without data sets and corpora."
    held = sum(line.hours * max(line.gpus, 1) for line in models)
    if total.gpus:
        counts = [total.gpus * 2**doubled for doubled in range(4)]
        days = ", ".join(f"{held / 24 / count:,.1f} with {count}" for count in counts)
        yield f"Days with GPUs that are never idle: {days}."


def budget(
    dollars: float, stored: Mapping[str, tuple[int, float]], *, spent: float, budget_usd: float
) -> list[str]:
    """Return what is stored of models behind APIs (model -> answers, their cost), and whether the budget suffices."""
    left = budget_usd - spent
    lines = [
        f"Stored already, and not asked again: {answers:,} answers of {model}, for {cost:.2f}."
        for model, (answers, cost) in sorted(stored.items())
    ]
    lines.append(f"Of budget_usd = {budget_usd:g}, {spent:.2f} are spent and {left:.2f} are left.")
    if dollars - spent > left:
        lines.append(
            "That may not suffice: the run would stop before it passes the budget, and go on once it is raised."
        )
    return lines
