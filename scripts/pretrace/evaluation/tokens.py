"""Results read from passes: how far a prefix shifts log-likelihoods, and which tokens are surprising."""

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike

from pretrace.evaluation.cells import EvaluationSet
from pretrace.evaluation.curves import nothing
from pretrace.evaluation.resampling import text_weights
from pretrace.evaluation.roc import Floats
from pretrace.evaluation.significance import percentile_interval
from pretrace.methods.settings import parse_setting
from pretrace.methods.statistics import ABSENT, TokenStatistics
from pretrace.methods.surp import surprising
from pretrace.passes.index import PassIndex
from pretrace.runtime.errors import InputError
from pretrace.runtime.files import seed_of
from pretrace.views.readings import PassKey, Prefix, Shots

BINS = 5
"""Equally filled bins of entropy, each with a mean."""

FEWEST = 20
"""A class of fewer surprising tokens has no mean."""

HEXAGONS = (34, 17)
"""How many hexagons cover all tokens, across and up."""

Row = dict[str, Any]
Asked = Mapping[str, Any]
"""`subset` and `length` (None: every one), `view`, `start_token` (None: the passes' one); of shifts `evaluation_set`,
`draw` and `separator`, of surprising tokens `eps` and `percentile`."""


ShotsFilter = Callable[[Shots | None], bool]


def without_shots(shots: Shots | None) -> bool:
    return shots is None


@dataclass(frozen=True)
class Passes:
    """The passes of a model over a benchmark; `name` begins errors, `seed` the seeds of resamples."""

    index: PassIndex
    benchmark: pd.DataFrame
    sets: Mapping[tuple[str, int | None], EvaluationSet]
    resamples: int
    name: str

    def places(self, asked: Asked) -> Iterator[tuple[Row, pd.DataFrame]]:
        """Subset and length of each place that is asked for, and its texts."""
        table = self.benchmark
        for key in ("subset", "length"):
            if asked[key] is not None and not (key == "subset" and asked[key] == ""):
                table = table[table[key].eq(asked[key]).fillna(False)]
        if asked["subset"] == "":
            table = table.assign(subset="")
        for (subset, length), texts in table.groupby(["subset", "length"], dropna=False, sort=True):
            yield {"subset": subset, "length": length}, self.benchmark.loc[texts.index]

    def evaluated(self, asked: Asked, texts: pd.DataFrame) -> pd.DataFrame:
        """The labelled texts of an evaluation set; all of them where the benchmark has no shots."""
        labelled = texts[texts["label"].notna()]
        if asked["evaluation_set"] == "all" or len(self.sets) == 1:
            return labelled
        return labelled[labelled["text_id"].isin(self.sets[asked["evaluation_set"], asked["draw"]].ids or ())]

    def entries(self, asked: Asked, texts: pd.DataFrame, *, full: bool = False) -> list[PassKey]:
        """Return the passes over the texts as the view has them, one for each subset and shots.

        `full`: only passes with more than log-probabilities.
        """
        length = texts["length"].iloc[0]
        return [
            key
            for key, row in self.index.rows.items()
            for reading, slice in [key]
            if slice.subset in set(texts["subset"])
            and slice.length == (None if pd.isna(length) else int(length))
            and (reading.view, reading.altered, reading.windows) == (asked["view"], "", None)
            and asked["start_token"] in (None, reading.start_token)
            and (not full or row["statistics"] != "logprobs")
        ]

    def rows(
        self, asked: Asked, texts: pd.DataFrame, after: ShotsFilter = without_shots, *, full: bool = False
    ) -> pd.DataFrame:
        """Return the stored rows of the one pass of each subset; raises where there is none, or several.

        `after` selects the shots before the texts.
        """
        keys = [key for key in self.entries(asked, texts, full=full) if after(key.reading.shots)]
        subsets = [slice.subset for _, slice in keys]
        if not keys or len(set(subsets)) < len(subsets):
            tokens = ", ".join(sorted({reading.start_token for reading, _ in keys}))
            there = f"several passes, with start tokens {tokens}; name one" if keys else "no such pass"
            raise InputError(f"{self.name}: there is {there} (view {asked['view']})")
        frame = pd.concat([self.index.read(key).to_pandas() for key in keys], ignore_index=True)
        return frame[frame["logprobs"].map(len) > 0]

    def log_likelihoods(
        self, asked: Asked, texts: pd.DataFrame, after: ShotsFilter = without_shots
    ) -> "pd.Series[float]":
        """Return the mean log-probability (nats) of each text that has tokens, by text id."""
        frame = self.rows(asked, texts, after)
        means = [float(np.mean(values, dtype=np.float64)) for values in frame["logprobs"]]
        return pd.Series(means, index=pd.Index(frame["text_id"]), dtype="float64")


def shift_estimates(of: Passes, asked: Iterable[Asked]) -> list[Row]:
    """Rows of `estimates.COLUMNS`: signed Wasserstein distances between log-likelihoods with a prefix and without.

    Of each class of texts by kind and number of `shots`. Log-likelihoods are means over a text's tokens, in nats.
    Intervals resample texts (documents where texts share one), both of a text's log-likelihoods together.
    """
    rows: list[Row] = []
    for one in asked:
        for place, every in of.places(one):
            texts = of.evaluated(one, every)
            seed = seed_of("shift", of.name, place["subset"], str(place["length"]))
            weights = text_weights(texts, of.resamples, seed)
            plain = of.log_likelihoods(one, every)
            about = place | {key: one[key] for key in ("view", "evaluation_set", "draw", "separator")}
            about |= {"start_token": one["start_token"] or "", "quantity": "shift"}
            for kind in ("member", "nonmember"):
                drawn = (Prefix(kind, one["separator"]), one["draw"])
                read = [reading.shots for reading, _ in of.entries(one, every) if reading.shots]
                counts = {shots.count for shots in read if (shots.prefix, shots.draw) == drawn}
                if not counts:
                    raise InputError(
                        f"{of.name}: there is no pass with {drawn[0].name} shots of draw {one['draw']}"
                    )
                for count in sorted(counts):
                    given = of.log_likelihoods(one, every, partial(_are, *drawn, count))
                    scored = texts["text_id"].isin(plain.index.intersection(given.index))
                    for label in (1, 0):
                        here = (scored & texts["label"].eq(label)).to_numpy(dtype=bool)
                        ids = texts.loc[here, "text_id"]
                        values, before = (np.asarray(side[ids], np.float64) for side in (given, plain))
                        low, high = percentile_interval(
                            resampled_distances(values, before, weights[here])[None]
                        )
                        found = {"n": len(ids), "value": signed_wasserstein(values, before)}
                        ends = {"low": float(low[0]), "high": float(high[0])}
                        rows.append(about | {"label": label, "prefix": kind, "shots": count} | found | ends)
    return rows


def _are(prefix: Prefix, draw: int, count: int, shots: Shots | None) -> bool:
    return shots is not None and (shots.prefix, shots.draw, shots.count) == (prefix, draw, count)


def signed_wasserstein(values: ArrayLike, reference: ArrayLike) -> float:
    """sign(mean(values) - mean(reference)) W1(reference, values); both of shape (texts,), in their own unit.

    W1 is the area between the two distribution functions. Wang et al., Con-ReCall, 2024, section 3.2.
    """
    from scipy.stats import wasserstein_distance

    values, reference = np.asarray(values, dtype=np.float64), np.asarray(reference, dtype=np.float64)
    return float(np.sign(values.mean() - reference.mean()) * wasserstein_distance(reference, values))


def resampled_distances(values: Floats, reference: Floats, weights: Floats) -> Floats:
    """The same of resamples, shape (resamples,): `weights` (texts, resamples) says how often each text was drawn.

    A text is drawn with both of its values, so that either side has as many: W1 is then the mean distance
    between values of equal rank.
    """
    by_value, by_reference = np.argsort(values, kind="stable"), np.argsort(reference, kind="stable")
    distances = []
    for times in weights.T.astype(np.intp):
        ours = np.repeat(values[by_value], times[by_value])
        theirs = np.repeat(reference[by_reference], times[by_reference])
        distances.append(np.sign(ours.mean() - theirs.mean()) * np.abs(ours - theirs).mean())
    return np.array(distances)


@dataclass(frozen=True)
class Tokens:
    """All scored tokens of a class, a row each: `text` (its number), `entropy`, `logprob`, `surprising`.

    `weights` has shape (texts of the class, resamples): how often each text was drawn, in resamples of both classes.
    """

    frame: pd.DataFrame
    weights: np.ndarray

    @property
    def surprising(self) -> pd.DataFrame:
        return self.frame[self.frame["surprising"]]


def token_curves(of: Passes, asked: Iterable[Asked]) -> pd.DataFrame:
    """The curves `share`, `token` and `mean` of `curves.COLUMNS`, of members and non-members."""
    frames, seen = [nothing()], set()
    for one in asked:
        setting = f"eps={one['eps']:g};percentile={one['percentile']:g}"
        for place, texts in of.places(one):
            at = (setting, one["view"], one["start_token"], place["subset"], str(place["length"]))
            if at in seen:
                continue
            seen.add(at)
            tokens = tokens_of(of, one, texts)
            about = place | {"unit": "text", "method": "surp", "setting": setting, "view": one["view"]}
            about |= {"start_token": one["start_token"] or "", "draw": pd.NA, "reference": ""}
            about |= {"evaluation_set": "all", "selection": "grid"}
            frames += [part.assign(**about) for part in (*_shares(tokens), *_points(tokens), *_means(tokens))]
    return pd.concat(frames, ignore_index=True)


def tokens_of(of: Passes, asked: Asked, texts: pd.DataFrame) -> dict[int, Tokens]:
    """Tokens of members (1) and non-members (0); raises where either class has none.

    Which tokens are surprising `methods.surp.surprising` says, at the `eps` and `percentile` that are asked for.
    """
    frame = of.rows(asked, texts, full=True)
    texts = texts[texts["label"].notna()].set_index("text_id")
    frame = frame[frame["text_id"].isin(texts.index)]
    if frame["entropies"].isna().any():
        raise InputError(f"{of.name}: the pass holds no entropies")
    scored = texts.loc[frame["text_id"]]
    weights = text_weights(scored, of.resamples, seed_of("surprising", of.name))
    setting = parse_setting("surp", f"eps={asked['eps']:g};percentile={asked['percentile']:g}")
    tokens = {}
    for label, kind in ((1, "member"), (0, "non-member")):
        here = scored["label"].eq(label).to_numpy(dtype=bool)
        if not here.any():
            raise InputError(f"{of.name}: no {kind} has tokens")
        tokens[label] = Tokens(_token_frame(frame[here], setting), weights[here])
    return tokens


def _token_frame(texts: pd.DataFrame, setting: Mapping[str, Any]) -> pd.DataFrame:
    logprobs = [np.asarray(values, dtype=np.float64) for values in texts["logprobs"]]
    entropies = [np.asarray(values, dtype=np.float64) for values in texts["entropies"]]
    pairs = zip(logprobs, entropies, strict=True)
    statistics = [TokenStatistics(ABSENT, np.arange(len(one)), one, entropy) for one, entropy in pairs]
    found = [surprising(text, setting["eps"], setting["percentile"]) for text in statistics]
    return pd.DataFrame(
        {
            "text": np.repeat(np.arange(len(logprobs)), [len(values) for values in logprobs]),
            "entropy": np.concatenate(entropies),
            "logprob": np.concatenate(logprobs),
            "surprising": np.concatenate(found),
        }
    )


def _shares(tokens: Mapping[int, Tokens]) -> Iterator[pd.DataFrame]:
    """The share of each class's tokens (percent) in hexagons that cover those of both."""
    everything = pd.concat([of.frame for of in tokens.values()])
    extent = (0, float(everything["entropy"].max()), float(everything["logprob"].quantile(0.0005)), 0)
    for label, of in tokens.items():
        x, y = hexagons(of.frame["entropy"].to_numpy(), of.frame["logprob"].to_numpy(), extent)
        counts = pd.DataFrame({"x": x, "y": y}).value_counts(sort=False).rename("weight").reset_index()
        counts["weight"] *= 100 / len(of.frame)
        yield counts.assign(curve="share", label=label)


def hexagons(x: Floats, y: Floats, extent: tuple[float, float, float, float]) -> tuple[Floats, Floats]:
    """The centre of the hexagon of each point within `extent` (x from, to, y from, to), as matplotlib's hexbin has.

    Centres lie on two grids, one shifted by half a step both ways; a point belongs to the nearer one, where squared
    steps of y count three times.
    """
    padding = 1e-9 * (extent[1] - extent[0])
    start = np.array([extent[0] - padding, extent[2]])
    step = (np.array([extent[1] + padding, extent[3]]) - start) / HEXAGONS
    at = (np.stack([x, y]) - start[:, None]) / step[:, None]
    whole, half = np.round(at), np.floor(at) + 0.5
    of_whole, of_half = ((one[0] ** 2 + 3 * one[1] ** 2) for one in (at - whole, at - half))
    centre = np.where(of_whole < of_half, whole, half)
    inside = np.all((centre >= 0) & (centre <= np.array(HEXAGONS)[:, None]), axis=0)
    x, y = centre[:, inside] * step[:, None] + start[:, None]
    return x, y


def _points(tokens: Mapping[int, Tokens]) -> Iterator[pd.DataFrame]:
    for label, of in tokens.items():
        points = of.surprising[["entropy", "logprob"]].set_axis(["x", "y"], axis=1)
        yield points.assign(curve="token", label=label)


def _means(tokens: Mapping[int, Tokens]) -> Iterator[pd.DataFrame]:
    """Mean log-probability of surprising tokens in equally filled entropy bins, a row a class and bin."""
    tokens = {label: of for label, of in tokens.items() if len(of.surprising) >= FEWEST}
    if not tokens:
        return
    entropy = np.concatenate([of.surprising["entropy"].to_numpy() for of in tokens.values()])
    edges = np.quantile(entropy, np.linspace(0, 1, BINS + 1)[1:-1])
    bins = np.searchsorted(edges, entropy, side="right")
    centres = [float(np.median(entropy[bins == at])) for at in range(BINS)]
    for label, of in tokens.items():
        groups = np.searchsorted(edges, of.surprising["entropy"].to_numpy(), side="right")
        means = resampled_means(of, groups, BINS)
        low, high = percentile_interval(means[1:].T)
        whole = ~np.isnan(means[1:]).any(axis=0)  # no interval where a resample had no token
        ends = {"low": np.where(whole, low, np.nan), "high": np.where(whole, high, np.nan)}
        frame = pd.DataFrame({"x": centres, "y": means[0]} | ends)
        yield frame.assign(curve="mean", label=label).dropna(subset="y")


def resampled_means(tokens: Tokens, groups: np.ndarray, count: int) -> np.ndarray:
    """Mean log-probability of surprising tokens by group, first as they are, then resampling documents (or texts).

    `groups` gives each surprising token's group, 0..count-1. Shape (1 + resamples, count), NaN where a
    resample has no token in a group.
    """
    frame = tokens.surprising
    texts = len(tokens.weights)
    sums, sizes = np.zeros((texts, count)), np.zeros((texts, count))
    np.add.at(sums, (frame["text"].to_numpy(), groups), frame["logprob"].to_numpy())
    np.add.at(sizes, (frame["text"].to_numpy(), groups), 1)
    weights = np.vstack([np.ones(texts), tokens.weights.T])
    with np.errstate(invalid="ignore"):
        return np.asarray((weights @ sums) / (weights @ sizes))
