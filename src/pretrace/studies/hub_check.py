"""Ask for everything that a study fetches, without fetching it: what would fail, and
the bytes of all."""

from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextvars import copy_context
from functools import partial
from pathlib import Path
from typing import NamedTuple

from pretrace.benchmarks.fetching import check_dataset
from pretrace.corpora.readers.shards import GIGABYTE, HubCorpus, check_shards
from pretrace.models.entries import HubModel
from pretrace.models.fetching import check_model
from pretrace.runtime.errors import InputError
from pretrace.runtime.hub import Listing, use_pins
from pretrace.studies.machine import lacks
from pretrace.studies.plan import Plan

AT_ONCE = 8
"""Requests in flight; the hub answers hundreds a minute."""


class HubFiles(NamedTuple):
    """What the hub says of an entry: its files with their size in bytes, or what will
    fail."""

    entry: str
    place: str
    files: int = 0
    size: int = 0
    problem: str = ""


def check_hub(plan: Plan) -> list[HubFiles]:
    """Ask for every model, benchmark and corpus that the study's jobs fetch, in that
    order."""
    answers = []
    with use_pins(plan.study.settings.revisions), ThreadPoolExecutor(AT_ONCE) as pool:
        for check in _checks(plan):
            # the pins are a variable of the context, which a thread does not inherit
            ask = partial(_answer, *check)
            answers.append(pool.submit(copy_context().run, ask))
        return [answer.result() for answer in answers]


def _checks(plan: Plan) -> Iterable[tuple[str, str, Callable[[], Listing]]]:
    """Yield (entry, place, what lists its files)."""
    for model in plan.models_read:
        if isinstance(entry := model.entry, HubModel):
            ask = partial(
                check_model, entry.hub, entry.revision, remote_code=entry.remote_code
            )
            yield f"model {model.slug}", f"{entry.hub}@{entry.revision}", ask
    for benchmark, part in plan.parts_fetched:
        texts = benchmark.entry
        place = str(getattr(texts, "url", None) or getattr(texts, "hub", ""))
        ask = partial(check_dataset, texts, part)
        yield f"{part} of {benchmark.slug}", place, ask
    for corpus in plan.corpora_read:
        if isinstance(source := corpus.entry, HubCorpus) and source.path is None:
            yield f"corpus {corpus.slug}", source.hub, partial(check_shards, source)


def _answer(entry: str, place: str, ask: Callable[[], Listing]) -> HubFiles:
    try:
        files = ask().files.values()
    except InputError as error:
        return HubFiles(entry, place, problem=str(error))
    return HubFiles(entry, place, len(files), sum(file.size for file in files))


def report(
    plan: Plan, answers: Sequence[HubFiles], partitions: Path | None = None
) -> tuple[list[str], list[str]]:
    """Return the lines that say what can be fetched and what is left out, and those
    that say what will fail.

    `partitions`: the file of a cluster's partitions, if jobs go to one.
    """
    fetchable = [answer for answer in answers if not answer.problem]
    lines = []
    if fetchable:
        lines += ["| entry | repository | files | GB |", "|---|---|--:|--:|"]
    for answer in fetchable:
        lines.append(
            f"| {answer.entry} | {answer.place} | {answer.files} | "
            f"{answer.size / GIGABYTE:.2f} |"
        )
    if lines:
        lines.append("")
    left_out: dict[str, None] = {}  # each once, in the order of the artifacts
    for artifact in plan.study.artifacts.values():
        for missing in artifact.missing:
            left_out[f"Left out: {missing.name}: {missing.reason}."] = None
    lines += left_out
    total = sum(answer.size for answer in fetchable) / GIGABYTE
    lines.append(f"{len(fetchable)} of {len(answers)} can be fetched, {total:,.1f} GB.")
    problems = []
    for answer in answers:
        if answer.problem:
            problems.append(f"{answer.entry}: {answer.problem}")
    if len(problems) > 1 and not fetchable:
        # most likely the network's fault
        others = ", ".join(answer.entry for answer in answers[1:])
        problems = [
            *problems[:1],
            f"and all others: {others}. Without a network run this where there is one. "
            "HF_ENDPOINT names a mirror of the hub; with HF_HUB_OFFLINE=1 a study "
            "reads what is in the hub's cache.",
        ]
    return lines, [*problems, *lacks(plan, partitions)]
