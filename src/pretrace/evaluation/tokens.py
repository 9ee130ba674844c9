"""Results read from passes: how far shots shift log-likelihoods, what context hurts,
which tokens are surprising."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from operator import attrgetter
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike

from pretrace.benchmarks.subsets_and_lengths import Slice, slices_of
from pretrace.evaluation.averages import Record
from pretrace.evaluation.resampling import text_weights
from pretrace.evaluation.roc import Floats, Whole
from pretrace.evaluation.scores import EvaluationSet
from pretrace.evaluation.significance import interval, percentile_interval
from pretrace.methods.settings import parse_setting
from pretrace.methods.statistics import ABSENT, TokenStatistics
from pretrace.methods.surp import is_surprising
from pretrace.passes.index import PassIndex
from pretrace.runtime.errors import InputError
from pretrace.seeds import seed_of
from pretrace.views.readings import PREFIX_KINDS, PassKey, Reading, Shots

BINS = 5
"""Equally filled bins of entropy, each with a mean."""

FEWEST = 20
"""A class of fewer surprising tokens has no mean."""

HEXAGONS = (34, 17)
"""How many hexagons cover all tokens, across and up."""


@dataclass(frozen=True)
class Passes:
    """The passes of a model over a benchmark; `name` begins errors, `resamples` are
    those of intervals."""

    index: PassIndex
    benchmark: pd.DataFrame
    sets: Sequence[EvaluationSet]
    resamples: int
    name: str

    def slices(self) -> Iterator[tuple[Slice, pd.DataFrame]]:
        """Yield each slice of the benchmark and its texts; of several subsets, each
        length of all ("") too."""
        tables = [self.benchmark]
        if self.benchmark["subset"].nunique() > 1:
            tables.append(self.benchmark.assign(subset=""))
        for table in tables:
            for part in slices_of(table):
                yield part, self.benchmark[part.rows(table)]

    def keys(self, texts: pd.DataFrame) -> list[PassKey]:
        """Return the passes over the slices of the texts as their views have them."""
        slices = set(slices_of(texts))
        keys = []
        for key in self.index.rows:
            is_plain = not (key.reading.altered or key.reading.past_context)
            if is_plain and key.slice in slices:
                keys.append(key)
        return keys

    def complete(self, texts: pd.DataFrame) -> list[Reading]:
        """Return the readings of every slice of the texts that the model read in any
        way."""
        slices: dict[Reading, set[Slice]] = {}
        for key in self.keys(texts):
            slices.setdefault(key.reading, set()).add(key.slice)
        every = set()
        for read in slices.values():
            every |= read
        return [reading for reading, read in slices.items() if read == every]

    def readings(self, texts: pd.DataFrame) -> list[Reading]:
        """Return the complete readings without shots, by view and start token."""
        plain = [reading for reading in self.complete(texts) if reading.shots is None]
        return sorted(plain, key=lambda reading: [*reading.columns.values()])

    def drawn_shots(self, texts: pd.DataFrame, reading: Reading) -> list[Shots]:
        """Return the shots drawn from the benchmark that a pass puts before all the
        texts, in a fixed order."""
        drawn = []
        for other in self.complete(texts):
            shots = other.shots
            if shots is None or replace(other, shots=None) != reading:
                continue
            prefix = shots.prefix
            is_plain = not (shots.inner_start or prefix.manipulated)
            if is_plain and prefix.kind in PREFIX_KINDS:
                drawn.append(shots)
        order = attrgetter("prefix.kind", "prefix.separator", "draw", "count")
        return sorted(drawn, key=order)

    def rows(self, texts: pd.DataFrame, reading: Reading) -> pd.DataFrame:
        """Return the stored rows of the passes over the texts that have tokens; raises
        if there is no pass."""
        parts = []
        for key in self.keys(texts):
            if key.reading == reading:
                parts.append(self.index.read(key).to_pandas())
        if not parts:
            raise InputError(f"{self.name}: there is no such pass ({reading})")
        frame = pd.concat(parts, ignore_index=True)
        return frame[frame["logprobs"].map(len) > 0]

    def log_likelihoods(
        self, texts: pd.DataFrame, reading: Reading
    ) -> "pd.Series[float]":
        """Return the mean log-probability (nats) of each text that has tokens, by text
        id."""
        frame = self.rows(texts, reading)
        means = []
        for logprobs in frame["logprobs"]:
            means.append(float(np.mean(logprobs, dtype=np.float64)))
        return pd.Series(means, index=pd.Index(frame["text_id"]), dtype="float64")


def shifts(passes: Passes) -> Iterator[Record]:
    """Yield how far a prefix shifts the log-likelihoods of each class of texts.

    A row for each slice, view, start token, prefix (kind, separator, draw and number of
    shots), evaluation set and label. Log-likelihoods are means over a text's tokens, in
    nats. `value` is their mean difference; its interval resamples texts (documents
    where texts share one). `distance` is the paper's measure, a signed Wasserstein
    distance: the same number where all texts shift one way.
    """
    for part, texts in passes.slices():
        evaluated = [*_evaluated(passes, part, texts)]
        for reading in passes.readings(texts):
            plain = passes.log_likelihoods(texts, reading)
            for shots in passes.drawn_shots(texts, reading):
                with_shots = replace(reading, shots=shots)
                given = passes.log_likelihoods(texts, with_shots)
                about = {
                    **asdict(part),
                    **reading.columns,
                    "prefix": shots.prefix.kind,
                    "separator": shots.prefix.separator,
                    "draw": shots.draw,
                    "shots": shots.count,
                }
                for own in evaluated:
                    if own.draw in (None, shots.draw):
                        about["evaluation_set"] = own.name
                        for row in _shift_of_classes(own, plain, given):
                            yield about | row


class _Evaluated(NamedTuple):
    """The labelled texts of an evaluation set, with weights (texts, resamples)."""

    name: str
    draw: int | None
    texts: pd.DataFrame
    weights: Floats


def _evaluated(
    passes: Passes, part: Slice, texts: pd.DataFrame
) -> Iterator[_Evaluated]:
    length = str(pd.NA if part.length is None else part.length)
    seed = seed_of("shift", passes.name, part.subset, length)
    labelled = texts[texts["label"].notna()]
    for chosen in passes.sets:
        own = labelled
        if chosen.ids is not None:
            own = labelled[labelled["text_id"].isin(chosen.ids)]
        weights = text_weights(own, passes.resamples, seed)
        yield _Evaluated(chosen.name, chosen.draw, own, weights)


def _shift_of_classes(
    evaluated: _Evaluated, plain: "pd.Series[float]", given: "pd.Series[float]"
) -> Iterator[Record]:
    """Yield the shift of each class of texts from log-likelihoods without a prefix to
    those given one."""
    texts = evaluated.texts
    scored = texts["text_id"].isin(plain.index.intersection(given.index))
    for label in (1, 0):
        is_scored = scored & texts["label"].eq(label)
        rows = is_scored.to_numpy(dtype=bool)
        ids = texts.loc[rows, "text_id"]
        if ids.empty:
            continue
        values = np.asarray(given[ids], np.float64)
        before = np.asarray(plain[ids], np.float64)
        weights = evaluated.weights[rows]
        drawn = (values - before) @ weights / weights.sum(axis=0)
        row = {"label": label, "n": len(ids), "value": (values - before).mean()}
        row["distance"] = signed_wasserstein(values, before)
        yield row | interval(drawn)


def signed_wasserstein(values: ArrayLike, reference: ArrayLike) -> float:
    """Return sign(mean(values) - mean(reference)) W1(reference, values); both of shape
    (texts,), in their own unit.

    W1 is the area between the two distribution functions. Wang et al., Con-ReCall,
    2024, section 3.2.
    """
    from scipy.stats import wasserstein_distance

    values = np.asarray(values, dtype=np.float64)
    reference = np.asarray(reference, dtype=np.float64)
    sign = np.sign(values.mean() - reference.mean())
    return float(sign * wasserstein_distance(reference, values))


@dataclass(frozen=True)
class Tokens:
    """All scored tokens of a class, a row each: `text` (its number), `entropy`,
    `logprob`, `surprising`.

    `weights` has shape (texts of the class, resamples): how often each text was drawn,
    in resamples of both classes.
    """

    frame: pd.DataFrame
    weights: Floats

    @property
    def surprising(self) -> pd.DataFrame:
        return self.frame[self.frame["surprising"]]


def token_curves(passes: Passes) -> pd.DataFrame:
    """Compute the tokens that SURP calls surprising at its default setting, of each
    slice, view and start token.

    A row is a point of a `curve`, by entropy `x` and log-probability `y` (nats) of a
    token:

    share       `weight` percent of the tokens of a label lie in the hexagon around the
                point
    token       a surprising token
    mean        mean log-probability of the surprising tokens around an entropy, with
                its 95 % interval
    """
    frames = [pd.DataFrame()]
    for part, texts in passes.slices():
        for reading in passes.readings(texts):
            if not _has_entropies(passes, texts, reading):
                continue
            tokens = class_tokens(passes, texts, reading)
            about = asdict(part) | reading.columns
            for curves in (_shares, _surprising, _means):
                for curve in curves(tokens):
                    frames.append(curve.assign(**about))
    return pd.concat(frames, ignore_index=True)


def _has_entropies(passes: Passes, texts: pd.DataFrame, reading: Reading) -> bool:
    for key in passes.keys(texts):
        stored = passes.index.rows[key]
        if key.reading == reading and stored["statistics"] == "logprobs":
            return False
    return True


def _surprising(tokens: Mapping[int, Tokens]) -> Iterator[pd.DataFrame]:
    """Yield the surprising tokens of each class."""
    for label, own in tokens.items():
        points = own.surprising[["entropy", "logprob"]].set_axis(["x", "y"], axis=1)
        yield points.assign(curve="token", label=label)


def class_tokens(
    passes: Passes, texts: pd.DataFrame, reading: Reading
) -> dict[int, Tokens]:
    """Return the tokens of members (1) and non-members (0); raises if either class has
    none.

    Which tokens are surprising `methods.surp.is_surprising` says, at SURP's default
    setting.
    """
    frame = passes.rows(texts, reading)
    texts = texts[texts["label"].notna()].set_index("text_id")
    frame = frame[frame["text_id"].isin(texts.index)]
    if frame["entropies"].isna().any():
        raise InputError(f"{passes.name}: the pass holds no entropies")
    scored = texts.loc[frame["text_id"]]
    seed = seed_of("surprising", passes.name)
    weights = text_weights(scored, passes.resamples, seed)
    setting = parse_setting("surp", "")
    tokens = {}
    for label, kind in ((1, "member"), (0, "non-member")):
        here = scored["label"].eq(label).to_numpy(dtype=bool)
        if not here.any():
            raise InputError(f"{passes.name}: no {kind} has tokens")
        tokens[label] = Tokens(_token_frame(frame[here], setting), weights[here])
    return tokens


def _token_frame(texts: pd.DataFrame, setting: Mapping[str, Any]) -> pd.DataFrame:
    """Return the tokens of texts, in the columns of `Tokens.frame`."""
    eps, percentile = setting["eps"], setting["percentile"]
    columns: dict[str, list[np.ndarray]] = {}
    rows = zip(texts["logprobs"], texts["entropies"], strict=True)
    for text, (stored_logprobs, stored_entropies) in enumerate(rows):
        logprobs = np.asarray(stored_logprobs, dtype=np.float64)
        entropies = np.asarray(stored_entropies, dtype=np.float64)
        ids = np.arange(len(logprobs))
        statistics = TokenStatistics(ABSENT, ids, logprobs, entropies)
        part = {
            "text": np.full(len(ids), text),
            "entropy": entropies,
            "logprob": logprobs,
            "surprising": is_surprising(statistics, eps, percentile),
        }
        for name, values in part.items():
            columns.setdefault(name, []).append(values)
    return pd.DataFrame({name: np.concatenate(columns[name]) for name in columns})


def _shares(tokens: Mapping[int, Tokens]) -> Iterator[pd.DataFrame]:
    """Yield the share of each class's tokens (percent) in hexagons that cover the
    tokens of both."""
    everything = pd.concat([own.frame for own in tokens.values()])
    # a few tokens of tiny probability would stretch the axis; entropy has a maximum
    # anyway
    highest_entropy = float(everything["entropy"].max())
    lowest_logprob = float(everything["logprob"].quantile(0.0005))
    extent = (0, highest_entropy, lowest_logprob, 0)
    for label, own in tokens.items():
        entropies = own.frame["entropy"].to_numpy()
        logprobs = own.frame["logprob"].to_numpy()
        x, y = hexagons(entropies, logprobs, extent)
        in_hexagon = pd.DataFrame({"x": x, "y": y}).value_counts(sort=False)
        counts = in_hexagon.rename("weight").reset_index()
        counts["weight"] *= 100 / len(own.frame)
        yield counts.assign(curve="share", label=label)


def hexagons(
    x: Floats, y: Floats, extent: tuple[float, float, float, float]
) -> tuple[Floats, Floats]:
    """Return the centre of each point's hexagon within `extent` (x from, to, y from,
    to), as in matplotlib's hexbin.

    Centres lie on two grids, one shifted by half a step both ways; a point belongs to
    the nearer one, where squared steps of y count three times.
    """
    # as hexbin, so that the greatest x lies inside the last hexagon
    x_from, x_to, y_from, y_to = extent
    padding = 1e-9 * (x_to - x_from)
    start = np.array([[x_from - padding], [y_from]])
    end = np.array([[x_to + padding], [y_to]])
    number = np.array(HEXAGONS)[:, None]
    step = (end - start) / number
    steps = (np.stack([x, y]) - start) / step
    whole = np.round(steps)
    half = np.floor(steps) + 0.5
    x_off, y_off = steps - whole
    of_whole = x_off**2 + 3 * y_off**2
    x_off, y_off = steps - half
    of_half = x_off**2 + 3 * y_off**2
    centre = np.where(of_whole < of_half, whole, half)
    inside = np.all((centre >= 0) & (centre <= number), axis=0)
    x, y = centre[:, inside] * step + start
    return x, y


def _means(tokens: Mapping[int, Tokens]) -> Iterator[pd.DataFrame]:
    """Yield the mean log-probability of surprising tokens in equally filled entropy
    bins, a row a class and bin."""
    entropies = {}
    for label, own in tokens.items():
        if len(own.surprising) >= FEWEST:
            entropies[label] = own.surprising["entropy"].to_numpy()
    if not entropies:
        return
    of_both = np.concatenate([*entropies.values()])
    shares = np.linspace(0, 1, BINS + 1)[1:-1]
    edges = np.quantile(of_both, shares)
    bins = np.searchsorted(edges, of_both, side="right")
    centres = []
    for number in range(BINS):
        of_bin = of_both[bins == number]
        centres.append(float(np.median(of_bin)))
    for label, of_class in entropies.items():
        groups = np.searchsorted(edges, of_class, side="right")
        mean, *resampled = resampled_means(tokens[label], groups, BINS)
        drawn = np.array(resampled).T
        low, high = percentile_interval(drawn)
        # no interval where a resample had no token
        without_token = np.isnan(drawn).any(axis=1)
        low[without_token] = high[without_token] = np.nan
        frame = pd.DataFrame({"x": centres, "y": mean, "low": low, "high": high})
        yield frame.assign(curve="mean", label=label).dropna(subset="y")


def resampled_means(tokens: Tokens, groups: Whole, count: int) -> Floats:
    """Return the mean log-probability of surprising tokens by group: as they are, then
    resampling documents (or texts).

    `groups` gives each surprising token's group, 0..count-1. Shape (1 + resamples,
    count), NaN where a resample has no token in a group.
    """
    frame = tokens.surprising
    texts = len(tokens.weights)
    cells = (frame["text"].to_numpy(), groups)
    sums = np.zeros((texts, count))
    np.add.at(sums, cells, frame["logprob"].to_numpy())
    sizes = np.zeros((texts, count))
    np.add.at(sizes, cells, 1)
    weights = np.vstack([np.ones(texts), tokens.weights.T])
    with np.errstate(invalid="ignore"):
        return (weights @ sums) / (weights @ sizes)
