"""Scores of every text for every method and setting that the runs of one model and
benchmark ask for."""

import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from operator import attrgetter
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from pretrace.benchmarks.subsets_and_lengths import (
    chosen_slices,
    slices_of,
    whole_numbers,
)
from pretrace.methods.inputs import FIELDS, Inputs, ScoreKey, TextStatistics
from pretrace.methods.registry import (
    FULL_VOCABULARY,
    NEEDS,
    PREFIXES,
    Method,
    RunKeys,
    Value,
)
from pretrace.methods.settings import (
    Column,
    find,
    obstacle,
    prefix_passes,
    setting_name,
    settings,
)
from pretrace.methods.statistics import LabelledTexts, TokenStatistics
from pretrace.runtime.errors import InputError
from pretrace.runtime.logs import log
from pretrace.views.readings import PassKey, Prefix, Reading, Shots

if TYPE_CHECKING:
    import pandas as pd

SCORE_COLUMNS = ["unit", "id", *Column._fields, "shots_used", "score"]
"""The columns of the scores table."""

_WORDS = dict.fromkeys(
    ("unit", "id", "method", "setting", "view", "start_token", "reference"), str
)
"""Columns that hold words, in a table without rows too."""

_ROWS = 1 << 18
"""Of one part of the table, if a setting has fewer texts."""

NamedSettings = dict[str, dict[str, Value]]
"""Name of a setting -> its parameters."""

WantedSettings = dict[ScoreKey, NamedSettings]


def score(runs: Sequence[RunKeys], inputs: Inputs) -> Iterator["pd.DataFrame"]:
    """Yield the scores table of the resolved runs of one model and benchmark, a row for
    each text and `Column`.

    It comes in parts, at least one, each with all texts of some settings in one subset
    and length: of 10^6 texts the rows would not fit into memory. The order is as in
    `plan`. A method whose needs are not met has no row, and neither has a text without
    a scored token; the log counts them. A score that is not finite raises `InputError`.
    """
    start = time.monotonic()
    scores, texts = 0, set[str]()
    planned = plan(
        runs,
        inputs.benchmark,
        inputs.language,
        has_prefixes=inputs.prefixes is not None,
    )
    for plain, wanted in planned.items():
        for block in _blocks(plain, wanted, inputs):
            if block.ids:
                yield from _frames(block)
            scores += block.scores.size
            texts.update(block.ids)
    for (method, reason), count in sorted(inputs.unscored.items()):
        log.info(
            "%s: no score for %d texts of %s: %s",
            method,
            count,
            runs[0]["benchmark"],
            reason,
        )
    if not scores:
        log.info("no text is scored by what the model reads")
        without_texts = ScoreBlock([Column()], [], [], np.empty((0, 1)))
        yield from _frames(without_texts)
        return
    log.info(
        "%d scores of %d texts in %.1f s", scores, len(texts), time.monotonic() - start
    )


def plan(
    runs: Sequence[RunKeys],
    benchmark: "pd.DataFrame",
    language: str,
    *,
    has_prefixes: bool = False,
) -> dict[PassKey, WantedSettings]:
    """Return the settings to score for each plain pass over the texts, sorted and
    without repeats.

    A method that needs a corpus, a reference model or neighbours is scored with each
    that its run names, and one that needs prefixes with each draw. A method that cannot
    apply to a run is left out, and the log says why.
    """
    slices = slices_of(benchmark)
    planned: dict[PassKey, WantedSettings] = {}
    for run in runs:
        wanted = _wanted_settings(run, language, has_prefixes)
        for view in run["views"]:
            for slice in chosen_slices(slices, run.get("subsets"), run.get("lengths")):
                plain = PassKey(Reading(view, run["start_token"]), slice)
                for key, named in wanted.items():
                    planned.setdefault(plain, {}).setdefault(key, {}).update(named)
    in_order: dict[PassKey, WantedSettings] = {}
    order = attrgetter("reading.view", "reading.start_token", "slice")
    for plain in sorted(planned, key=order):
        in_order[plain] = {}
        for key, named in sorted(planned[plain].items()):
            in_order[plain][key] = dict(sorted(named.items()))
    return in_order


def _wanted_settings(run: RunKeys, language: str, has_prefixes: bool) -> WantedSettings:
    """Return the settings that a run asks for, in each pass that its views, subsets and
    lengths name."""
    wanted: WantedSettings = {}
    for request in run["methods"]:
        id = request["method"]
        hindered = obstacle(id, run, language=language, has_prefixes=has_prefixes)
        if hindered:
            log.info(
                "%s: no score of %s on %s: %s",
                id,
                run["model"],
                run["benchmark"],
                hindered.reason,
            )
            continue
        method = find(id)
        named = {}
        for values in settings(id, request.get("parameters")):
            named[setting_name(id, values)] = values
        references = method.input.names(run) if method.input else [""]
        draws, inner_start = [-1], False
        if PREFIXES.keys() & set(method.needs):
            draws, inner_start = run["draws"], bool(run.get("inner_start"))
        for reference in references:
            for draw in draws:
                key = ScoreKey(id, reference, draw, inner_start)
                wanted.setdefault(key, {}).update(named)
    return wanted


class ScoreBlock(NamedTuple):
    """Scores [texts, columns] of one method over a slice; `shots_used` by text, None
    without a prefix."""

    columns: list[Column]
    ids: list[str]
    shots_used: list[int | None]
    scores: np.ndarray


def _frames(block: ScoreBlock) -> Iterator["pd.DataFrame"]:
    """Yield the block's rows, column by column, in parts of whole columns."""
    import pandas as pd

    texts = len(block.ids)
    at_once = max(1, _ROWS // max(1, texts))
    for start in range(0, len(block.columns), at_once):
        end = start + at_once
        columns = block.columns[start:end]
        keys = pd.DataFrame(columns).astype({"draw": "Int64"})
        keys["draw"] = keys["draw"].mask(keys["draw"] < 0)
        rows = keys.loc[keys.index.repeat(texts)].reset_index(drop=True)
        rows["unit"] = "text"
        rows["id"] = block.ids * len(columns)
        rows["shots_used"] = pd.array(block.shots_used * len(columns), dtype="Int64")
        rows["score"] = block.scores[:, start:end].T.ravel()
        yield rows[SCORE_COLUMNS].astype(_WORDS)


def _blocks(
    plain: PassKey, wanted: WantedSettings, inputs: Inputs
) -> Iterator[ScoreBlock]:
    # with pandas, which planning does without
    from pretrace.passes.requests import TOKEN_STATISTICS

    stored = inputs.passes.rows.get(plain, {}).get("statistics", "full")
    lacking = {*FULL_VOCABULARY} - {*TOKEN_STATISTICS[stored]}
    scorers: list[_TextScores | _BenchmarkScores] = []
    for key, named in wanted.items():
        scorers += _scorers(plain, key, named, inputs, lacking)
    of_texts = [scorer for scorer in scorers if isinstance(scorer, _TextScores)]
    methods = [scorer.method for scorer in of_texts]
    for texts in inputs.statistics(plain, methods):
        for text_scorer in of_texts:
            text_scorer.add(texts)
    for scorer in scorers:
        block = scorer.block()
        _check_finite(block)
        yield block


def _scorers(
    plain: PassKey,
    key: ScoreKey,
    named: NamedSettings,
    inputs: Inputs,
    lacking: set[str],
) -> "list[_TextScores] | list[_BenchmarkScores]":
    """Return a scorer for each group of a method's settings that read the same passes
    and need the same of the statistics that are lacking."""
    method = find(key.method)
    groups: dict[Any, NamedSettings] = {}
    for name, params in named.items():
        absent = method.needs_of(params) & lacking
        passes = tuple(prefix_passes(key.method, params).values())
        groups.setdefault((absent, passes), {})[name] = params
    if method.scope == "text":
        return [_TextScores(plain, key, group, inputs) for group in groups.values()]
    return [_BenchmarkScores(plain, key, group, inputs) for group in groups.values()]


@dataclass
class _Scorer:
    """Settings of a method, by name, that read the same passes over the texts of a
    plain pass."""

    plain: PassKey
    key: ScoreKey
    named: NamedSettings
    inputs: Inputs

    @property
    def method(self) -> Method:
        return find(self.key.method)

    @property
    def passes(self) -> dict[str, tuple[Prefix, int]]:
        """Return need -> (prefix, number of shots), the same for all of its
        settings."""
        return prefix_passes(self.key.method, next(iter(self.named.values())))

    def block_of(
        self, ids: list[str], shots_used: list[int | None], scores: np.ndarray
    ) -> ScoreBlock:
        reading = self.plain.reading
        columns = []
        for setting in self.named:
            column = Column(
                self.key.method,
                setting,
                reading.view,
                reading.start_token,
                self.key.draw,
                self.key.reference,
            )
            columns.append(column)
        return ScoreBlock(columns, ids, shots_used, scores)


@dataclass
class _TextScores(_Scorer):
    """The scores of a method of the texts of a slice that were added."""

    def __post_init__(self) -> None:
        method, key = self.method, self.key
        needs: set[str] = set()
        for params in self.named.values():
            needs |= method.needs_of(params)
        # in the method's order: the first that a text lacks is its reason
        self._needs = [need for need in method.needs if need in needs]
        self._complete = self.inputs.completion(method, self.plain, key, self.passes)
        self._label = f"{key.method} ({key.reference})" if key.reference else key.method
        self._ids: list[str] = []
        self._used: list[int | None] = []
        self._scores: list[np.ndarray] = []

    def add(self, texts: Mapping[str, TextStatistics]) -> None:
        function = self.method.function
        settings = self.named.values()
        scores = []
        # what is not finite is an error of its own
        with np.errstate(all="ignore"):
            for id, text in texts.items():
                if not isinstance(text, str):
                    text = self._complete(id, text)
                reason = self._obstacle(text)
                if reason:
                    self.inputs.unscored[self._label, reason] += 1
                    continue
                assert isinstance(text, TokenStatistics)
                self._ids.append(id)
                self._used.append(text.shots_used)
                scores.append([function(text, **params) for params in settings])
        table = np.array(scores, dtype=float)
        self._scores.append(table.reshape(len(scores), len(settings)))

    def _obstacle(self, text: TextStatistics) -> str:
        """Return why the method cannot score a text, or ""."""
        if isinstance(text, str):
            return text
        for need in self._needs:
            field = getattr(text, FIELDS.get(need, need), None)
            if field is None and text.inputs.get(need) is None:
                return f"missing: {NEEDS[need]}"
        return ""

    def block(self) -> ScoreBlock:
        of_no_text = np.empty((0, len(self.named)))
        scores = np.concatenate([of_no_text, *self._scores])
        return self.block_of(self._ids, self._used, scores)


class _BenchmarkScores(_Scorer):
    """The scores of a method, which sees no model, of the texts of a slice, as the view
    has them.

    Shots are as they are.
    """

    def block(self) -> ScoreBlock:
        id = self.method.id
        unscored = self.inputs.unscored
        frame = self.inputs.texts(self.plain)
        has_text = frame["text"].ne("")
        absent = len(frame) - int(has_text.sum())
        if absent:
            unscored[id, f"no text of view {self.plain.reading.view}"] += absent
        frame = frame[has_text]
        texts = self._labelled_texts(frame)

        columns = []
        scored = set(texts.ids)
        for params in self.named.values():
            scores = self.method.function(texts, **params)
            columns.append(scores)
            scored &= scores.keys()
        ids = [id for id in texts.ids if id in scored]
        lacking = len(frame) - len(ids)
        if lacking:
            unscored[id, "nothing to learn from in the other folds"] += lacking
        table = np.empty((len(ids), len(columns)))
        for place, scores in enumerate(columns):
            table[:, place] = [scores[id] for id in ids]
        used = max([count for _, count in self.passes.values()], default=None)
        return self.block_of(ids, [used] * len(ids), table)

    def _labelled_texts(self, frame: "pd.DataFrame") -> LabelledTexts:
        further = {}
        for need, (prefix, count) in self.passes.items():
            shots = Shots(prefix, self.key.draw, count)
            further[FIELDS[need]] = self.inputs.shot_texts(self.plain, shots)
        return LabelledTexts(
            ids=frame["text_id"].tolist(),
            texts=frame["text"].tolist(),
            labels=whole_numbers(frame["label"]),
            folds=frame["fold"].astype(int).tolist(),
            language=self.inputs.language,
            stream=self.inputs.stream() if "stream" in self.method.needs else (),
            **further,
        )


def _check_finite(block: ScoreBlock) -> None:
    bad = np.argwhere(~np.isfinite(block.scores))
    if not len(bad):
        return
    row, place = bad[0]
    column = block.columns[place]
    raise InputError(
        f"{column.method} (setting '{column.setting}'): the score of text "
        f"'{block.ids[row]}' is {block.scores[row, place]} (view {column.view}, "
        f"start token {column.start_token}). A method must give every text a "
        "finite number."
    )
