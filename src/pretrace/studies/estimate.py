"""Estimate what a study takes: tokens, GPU hours, the longest job, time, disk, and US
dollars for APIs.

Nothing is fetched, run or asked. Sizes of benchmarks are those that their entries
state; the user's own files and texts that go to APIs are counted, by the model's
tokenizer if it is here.
"""

import math
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import pairwise
from pathlib import Path
from typing import NamedTuple

from pretrace.benchmarks.sources import Text
from pretrace.models.abilities import can
from pretrace.models.entries import ApiModel, HubModel, ModelEntry
from pretrace.studies.pairs import Pair
from pretrace.studies.plan import Plan
from pretrace.studies.priorities import FIRST
from pretrace.studies.registries import path_of
from pretrace.studies.stages.models import Model
from pretrace.studies.workload import (
    ASSUMED_TEXTS,
    TOKENS_OF_A_TEXT,
    WORDING,
    Amounts,
    Sizes,
    amounts_of_answers,
    amounts_of_given_back,
    amounts_of_passes,
    slices_read,
)
from pretrace.views import PARAPHRASES

CARDS = {"A100": 250e12, "H100": 790e12, "H200": 790e12}
"""Operations a second of large products of matrices in bfloat16. Measured on an H200;
an H100 computes as fast, and an A100 has 312 of the H200's 989 by their data sheets."""
IN_FLOAT32 = {"A100": 19.5e12, "H100": 67e12, "H200": 67e12}
"""Operations a second in float32, by their data sheets: what models of this type reach
at most. torch computes them without TF32."""
SHARES_OF_PEAK = ((160e6, 0.06), (1.1e9, 0.22), (7e9, 0.57), (30e9, 0.64))
"""(parameters, share of these operations that plain passes over short texts reach),
measured on an H200."""
BYTES_A_TOKEN = 4, 1.5
"""Bytes of UTF-8 of a token, about, where no tokenizer is here: of ASCII letters, and
of others. SmolLM2's tokens have 5.1 in speeches, 4.1 in licences, 3.8 in docstrings,
and 1.6 in Chinese news."""
GB_A_SECOND = 1.0
"""GB of weights that are loaded in a second. A disk was measured at 1.5 to 1.9; each
file is hashed too, at 1.3."""
FORWARD = 2
"""Floating-point operations of a forward pass, per parameter and token."""


class Job(NamedTuple):
    """The passes, answers or paraphrases of a model on a benchmark, or its passes on
    several that it is loaded once for: tokens that it reads and writes, and bytes
    stored.

    `shares`: how many jobs of a scheduler share it.
    """

    what: str
    model: Model
    benchmarks: tuple[str, ...]
    read: float
    written: float = 0
    stored: float = 0
    shares: int = 1

    def __str__(self) -> str:
        return f"{self.what} of {self.model.slug} on {', '.join(self.benchmarks)}"

    @property
    def operations(self) -> float:
        """Floating-point operations; 0 behind an API, and for a model whose entry
        states no size."""
        if not self.model.is_local:
            return 0
        parameters = self.model.entry.parameters or 0
        return FORWARD * parameters * (self.read + self.written)

    @property
    def gpus(self) -> int:
        return self.model.resources.gpu

    @property
    def dollars(self) -> float:
        entry = self.model.entry
        if not isinstance(entry, ApiModel):
            return 0
        price = entry.api.price
        return (self.read * price.input + self.written * price.output) / 1e6

    def hours(self, card: str) -> float:
        """Return the hours of each of its shares on a card. A model on several GPUs
        computes on one at a time."""
        seconds = self.operations / operations_a_second(card, self.model)
        return seconds / 3600 / self.shares

    def reserved(self, card: str) -> float:
        """Return the hours of GPUs that are reserved for it."""
        return self.hours(card) * self.shares * self.gpus

    @property
    def loaded(self) -> float:
        """GB of weights that its jobs load, once for each of the GPUs that wait."""
        if not self.model.is_local:
            return 0
        return gigabytes(self.model.entry) * self.shares * self.gpus


def gigabytes(entry: ModelEntry) -> float:
    """Return the GB that a model's weights take in memory, by its entry; `dtype: auto`
    is taken as bfloat16."""
    bits = 16 if entry.dtype in ("auto", "bfloat16", "float16") else 32
    return (entry.parameters or 0) * (entry.quantise or bits) / 8e9


def operations_a_second(card: str, model: Model) -> float:
    """Return the operations a second of a model on a card: by its size, between the
    measured ones by its logarithm; in float32 at most those of the card."""
    parameters = model.entry.parameters or 1
    (_, share), *_, (largest, most) = SHARES_OF_PEAK
    if parameters > largest:
        share = most
    for (small, low), (large, high) in pairwise(SHARES_OF_PEAK):
        if small <= parameters <= large:
            way = math.log(parameters / small) / math.log(large / small)
            share = low + (high - low) * way
    reached = CARDS[card] * share
    if model.entry.dtype == "float32" and not model.entry.quantise:
        return min(reached, IN_FLOAT32[card])
    return reached


Counted = Mapping[str, Sizes]
"""Sizes of the benchmarks whose texts were counted, by slug."""


def counted(plan: Plan, benchmark: str, texts: Iterable[Text]) -> Sizes:
    """Return the tokens of texts, or of rows of a benchmark's table, counted by the
    tokenizer of a model that reads them, if one is here, else by their bytes."""
    sizes: dict[tuple[str, int | None], list[float]] = defaultdict(list)
    if file := tokenizer_here(plan, benchmark):
        from tokenizers import Tokenizer

        encoder = Tokenizer.from_file(str(file))
    for row in texts:
        if file is None:
            letters = sum(map(str.isascii, row.text))
            others = len(row.text.encode()) - letters
            tokens = letters / BYTES_A_TOKEN[0] + others / BYTES_A_TOKEN[1]
        else:
            tokens = len(encoder.encode(row.text, add_special_tokens=False).ids)
        sizes[row.subset, row.length].append(tokens)
    return sizes


def tokenizer_here(plan: Plan, benchmark: str) -> Path | None:
    """Return the file of a tokenizer of the models that read a benchmark, if one is at
    hand."""
    models = set()
    for pair in plan.reading_pairs:
        if pair.benchmark_slug == benchmark:
            models.add(pair.model_slug)
    for slug in sorted(models):
        folder = path_of(plan.study.models.entries[slug]) or f"results/models/{slug}"
        file = Path(folder, "tokenizer.json")
        if file.is_file():
            return file
    return None


def measured(plan: Plan) -> dict[str, str]:
    """Return the tables of the benchmarks of the user's own files and of those whose
    texts go to APIs, by slug."""
    slugs: set[str] = set()
    for job in jobs_of(plan, {}):
        if not job.model.is_local:
            slugs.update(job.benchmarks)
    for pair in plan.reading_pairs:
        if pair.benchmark.entry.path:
            slugs.add(pair.benchmark_slug)
    return {slug: plan.benchmark(slug).table for slug in sorted(slugs)}


def jobs_of(plan: Plan, known: Counted) -> list[Job]:
    """Return the jobs in which models read or are asked, those of the most GPU hours
    first."""
    jobs = []
    for pairs in plan.read_together:
        together = []
        for pair in pairs:
            sizes = known.get(pair.benchmark_slug)
            amounts = amounts_of_passes(pair, pair.requests, sizes)
            together.append(job_of("passes", pair, amounts))
        jobs.append(_one_job(together))
    for pair in plan.asking_pairs:
        if can(pair.model.entry, "answers"):
            amounts = amounts_of_answers(
                pair, pair.answer_requests, known.get(pair.benchmark_slug)
            )
            jobs.append(job_of("answers", pair, amounts))
    for pair in plan.pairs:
        if pair.given_back is not None:
            amounts = amounts_of_given_back(pair, known.get(pair.benchmark_slug))
            jobs.append(job_of("places given back", pair, amounts))
    jobs += _paraphrases(plan, known)
    return sorted(jobs, key=lambda job: (-job.reserved("H100"), -job.dollars, str(job)))


def job_of(what: str, pair: Pair, amounts: Amounts) -> Job:
    """Return the job of a pair that reads, writes and stores these amounts."""
    read = sum(amount.read for amount in amounts.values())
    written = sum(amount.written for amount in amounts.values())
    stored = sum(amount.stored for amount in amounts.values())
    return Job(
        what, pair.model, (pair.benchmark_slug,), read, written, stored, pair.model.jobs
    )


def _one_job(jobs: Sequence[Job]) -> Job:
    """Return the jobs of a model on several benchmarks as one."""
    benchmarks: tuple[str, ...] = ()
    for job in jobs:
        benchmarks += job.benchmarks
    return jobs[0]._replace(
        benchmarks=benchmarks,
        read=sum(job.read for job in jobs),
        written=sum(job.written for job in jobs),
        stored=sum(job.stored for job in jobs),
    )


def order_of_length(plan: Plan) -> dict[tuple[str, str], int]:
    """Return the place of each model and benchmark, and (model, "") of each model, in
    the order of their longest jobs.

    The place is 0 for the shortest and below `FIRST` for the longest, so that it can be
    added to a job's priority.
    """
    hours: dict[tuple[str, str], float] = defaultdict(float)
    for job in jobs_of(plan, {}):
        own = job.hours("H100")
        for benchmark in (*job.benchmarks, ""):
            key = job.model.slug, benchmark
            hours[key] = max(hours[key], own)
    ordered = sorted(hours, key=lambda key: (hours[key], key))
    places = {}
    for place, key in enumerate(ordered):
        places[key] = place * (FIRST - 1) // len(ordered)
    return places


def _paraphrases(plan: Plan, known: Counted) -> Iterator[Job]:
    """Yield the paraphrases that models behind APIs write and the benchmarks do not
    bring."""
    for view in plan.stored_views:
        writer = view.writer
        if writer is None or writer.is_local:
            continue
        slug = view.benchmark.slug
        places = slices_read(view.benchmark.entry, sizes=known.get(slug))
        texts = sum(place.texts for place in places)
        tokens = sum(place.texts * place.tokens for place in places)
        read = WORDING["paraphrase"] * texts + tokens
        yield Job("paraphrases", writer, (slug,), read, PARAPHRASES * tokens)


def assumptions(plan: Plan, known: Counted) -> list[str]:
    """Return the values assumed for models and benchmarks whose entries do not state
    them, as sentences."""
    jobs = jobs_of(plan, known)
    sizeless = set()
    for job in jobs:
        if job.model.is_local and job.model.entry.parameters is None:
            sizeless.add(job.model.slug)
    uncounted = set()
    unmeasured = set()
    read: set[str] = set()
    for job in jobs:
        read.update(job.benchmarks)
    for slug in read - known.keys():
        for place in slices_read(plan.benchmark(slug).entry):
            if place.stated is None:
                uncounted.add(slug)
            if place.length is None:
                unmeasured.add(slug)
    lacking = {
        "`parameters` count as 0": sizeless,
        f"`expected` count as {ASSUMED_TEXTS:,} texts of each subset and length": uncounted,
        f"`lengths` count as {TOKENS_OF_A_TEXT} tokens a text": unmeasured,
    }
    sentences = []
    for key, slugs in lacking.items():
        if slugs:
            sentences.append(f"Entries without {key}: {', '.join(sorted(slugs))}.")
    by_bytes = [slug for slug in sorted(known) if not tokenizer_here(plan, slug)]
    if by_bytes:
        ratio = (
            f"{BYTES_A_TOKEN[0]:g} bytes a token of ASCII letters, "
            f"{BYTES_A_TOKEN[1]:g} of others"
        )
        sentences.append(f"Counted by bytes ({ratio}): {', '.join(by_bytes)}.")
    return sentences


def table(plan: Plan, jobs: Sequence[Job]) -> list[str]:
    """Return a row for each model, then the sums, disk and times, as Markdown."""
    by_model: dict[str, list[Job]] = defaultdict(list)
    for job in jobs:
        by_model[job.model.slug].append(job)
    for model in plan.models_read:  # those that lend a tokenizer are fetched too
        by_model.setdefault(model.slug, [])
    columns = ["million tokens read", "written", "GPUs", "weights (GB)"]
    columns += [f"GPU hours on {card}" for card in CARDS] + ["US dollars"]
    lines = [f"| model | {' | '.join(columns)} |", f"|---|{'--:|' * len(columns)}"]
    for slug, own in by_model.items():
        model = plan.model(slug)
        gpus = model.resources.gpu if model.is_local else 0
        weights = gigabytes(model.entry) if model.is_local else 0
        lines.append(_row(slug, own, str(gpus), weights))
    fetched = 0.0
    for model in plan.models_read:
        if isinstance(model.entry, HubModel):
            fetched += gigabytes(model.entry)
    stored = sum(job.stored for job in jobs) / 1e9
    lines += [
        _row("all", jobs, "", fetched),
        "",
        f"Disk: {fetched:,.0f} GB of weights to fetch and {stored:,.0f} GB of passes, "
        "without data sets and corpora; check_hub asks the hub for their sizes.",
    ]
    for card in CARDS:
        lines += _times(jobs, card)
    lines += _loading(jobs)
    lines.append(
        "Times: as measured on an H200 for passes over short texts in 16 bits, without "
        "loading models and counting corpora. Questions, float32 and other cards were "
        "not measured: float32 is taken to reach what data sheets say. A model on N "
        "GPUs holds all and computes on one at a time. Weights need a few GB more in "
        "memory; batches shrink until they fit."
    )
    return lines


def _row(name: str, jobs: Sequence[Job], gpus: str, weights: float) -> str:
    read = sum(job.read for job in jobs) / 1e6
    written = sum(job.written for job in jobs) / 1e6
    cells = [name, f"{read:,.2f}", f"{written:,.2f}", gpus, f"{weights:,.1f}"]
    for card in CARDS:
        hours = sum(job.reserved(card) for job in jobs)
        cells.append(f"{hours:,.2f}")
    dollars = sum(job.dollars for job in jobs)
    return f"| {' | '.join(cells)} | {dollars:,.2f} |"


def _times(jobs: Sequence[Job], card: str) -> Iterator[str]:
    """Yield the longest job on a card, and the time of all with several numbers of
    cards."""
    on_gpus = [job for job in jobs if job.reserved(card)]
    if not on_gpus:
        return
    longest = max(on_gpus, key=lambda job: job.hours(card))
    fewest = max(job.gpus for job in on_gpus)
    reserved = sum(job.reserved(card) for job in on_gpus)
    times = []
    for count in (fewest, 2 * fewest, 4 * fewest, 8 * fewest):
        hours = max(reserved / count, longest.hours(card))
        times.append(f"{hours:,.1f} with {count}")
    yield (
        f"{card}: {reserved:,.1f} GPU hours; the longest job, {longest}, takes "
        f"{longest.hours(card):,.1f} hours on {longest.gpus}, and all takes no less. "
        f"Hours in all: {', '.join(times)}."
    )


def _loading(jobs: Sequence[Job]) -> Iterator[str]:
    """Yield what it takes to load models on GPUs for passes."""
    loaded = sum(job.loaded for job in jobs if job.what == "passes")
    if loaded:
        hours = loaded / GB_A_SECOND / 3600
        yield (
            f"Loading models for passes takes {hours:.2f} GPU hours more at "
            f"{GB_A_SECOND:g} GB a second."
        )


def budget(
    dollars: float,
    stored: Mapping[str, tuple[int, float]],
    *,
    spent: float,
    budget_usd: float,
) -> list[str]:
    """Return what is stored of models behind APIs (model -> answers, their cost), and
    whether the budget suffices."""
    left = budget_usd - spent
    lines = []
    for model, (answers, cost) in sorted(stored.items()):
        lines.append(
            f"Stored already, and not asked again: {answers:,} answers of {model}, for "
            f"{cost:.2f}."
        )
    lines.append(
        f"Of budget_usd = {budget_usd:g}, {spent:.2f} are spent and {left:.2f} are "
        "left."
    )
    if dollars - spent > left:
        lines.append(
            "That may not suffice: the run would stop before it passes the budget, and "
            "go on once it is raised."
        )
    return lines
