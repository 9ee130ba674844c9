"""The minutes that a job of passes or answers asks a scheduler for."""

import math
from collections.abc import Sequence

from pretrace.runtime.errors import InputError
from pretrace.runtime.identity import digest_of
from pretrace.runtime.work_left import Note, read_note
from pretrace.studies.estimate import CARDS, job_of
from pretrace.studies.pairs import Pair, Stage
from pretrace.studies.workload import (
    Amounts,
    amounts_of_answers,
    amounts_of_passes,
    slices_read,
)
from pretrace.views.readings import PassRequest

STARTING = 30
"""Minutes that a job has at least, in which it loads its model."""


def minutes_of(pair: Pair, stage: Stage, share: str, attempt: int) -> int:
    """Return the minutes to ask for an attempt at a pair's passes or answers, or at a
    `share` of them, as `2of4`.

    What was done is stored, so a job asks for what is left, and within the limit of a
    cluster it goes on from attempt to attempt.
    """
    whole = whole_minutes(pair, stage)
    return _minutes(pair, share_left(pair, stage, share) * whole, whole, attempt)


def minutes_of_fill(pairs: Sequence[Pair], attempt: int) -> int:
    """Return the minutes to ask for an attempt of one job at the passes of several
    pairs of a model."""
    whole = left = 0.0
    for pair in pairs:
        minutes = whole_minutes(pair, "passes")
        whole += minutes
        left += share_left(pair, "passes", "") * minutes
    return _minutes(pairs[0], left, whole, attempt)


def _minutes(pair: Pair, left: float, whole: float, attempt: int) -> int:
    wanted = attempt * max(left, min(whole, STARTING))
    return min(math.ceil(wanted), pair.study.settings.max_runtime)


def whole_minutes(pair: Pair, stage: Stage) -> int:
    """Return the minutes of all that one job of a pair's passes or answers does: those
    of its model's entry; else, on GPUs, twice the estimate, and the default at least
    where the entries do not state the sizes of model and texts.

    Twice, because questions, float32 and older cards were not measured.
    """
    entry = pair.model.entry
    is_on_gpus = entry.resources.gpu > 0 and pair.study.settings.device != "cpu"
    runtime = pair.model.resources.runtime
    if entry.resources.runtime or not is_on_gpus:
        return runtime
    job = job_of(stage, pair, _amounts_asked(pair, stage))
    minutes = STARTING + math.ceil(2 * 60 * max(map(job.hours, CARDS)))
    places = slices_read(pair.benchmark.entry)
    has_sizes = entry.parameters and all(place.stated for place in places)
    return minutes if has_sizes else max(minutes, runtime)


def share_left(pair: Pair, stage: Stage, share: str) -> float:
    """Return the share of a job's work that is left, by what its last run noted, from 1
    to 0.

    What has been asked for since is left. All is left if no run noted anything, or if
    it read other texts or weights.
    """
    if pair.shares_of(stage) and not share:  # it joins what the shares have stored
        return 0.0
    note = read_note(pair.output(stage, share))
    if note is None or any(digest_of(path) != held for path, held in note.read.items()):
        return 1.0
    try:
        before = _amounts_noted(pair, stage, note)
    except (KeyError, TypeError, InputError):  # the note of another version
        return 1.0
    total = done = 0.0
    for key, amount in _amounts_asked(pair, stage).items():
        total += amount.read
        if key in before:
            done += (1 - note.left) * amount.read
    return round(1 - done / total, 3) if total else note.left


def _amounts_asked(pair: Pair, stage: Stage) -> Amounts:
    if stage == "passes":
        return amounts_of_passes(pair, pair.requests)
    return amounts_of_answers(pair, pair.answer_requests)


def _amounts_noted(pair: Pair, stage: Stage, note: Note) -> Amounts:
    if stage == "passes":
        return amounts_of_passes(pair, map(PassRequest.from_json, note.requests))
    return amounts_of_answers(pair, note.requests)
