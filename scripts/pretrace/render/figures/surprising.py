"""The tokens of a panel and the surprising ones among them, with what their mean log-probability rests on."""

from dataclasses import dataclass

import numpy as np
import pandas as pd

from pretrace.evaluation.resampling import text_weights
from pretrace.render.figures.drawing import interval_of
from pretrace.render.figures.log_likelihoods import Reader, passes_of
from pretrace.render.names import where
from pretrace.render.registry import Artifact
from pretrace.render.results import Results
from pretrace.render.selecting import Panel
from pretrace.runtime.errors import InputError
from pretrace.runtime.files import seed_of

RESAMPLES = 2000


@dataclass(frozen=True)
class Tokens:
    """All scored tokens of a class, a row each: `text` (its number), `entropy`, `logprob`, `surprising`.

    `weights` has shape (texts of the class, resamples): how often each text was drawn, in resamples of both classes.
    """

    label: int
    frame: pd.DataFrame
    weights: np.ndarray

    @property
    def surprising(self) -> pd.DataFrame:
        return self.frame[self.frame["surprising"]]


def tokens_of(
    artifact: Artifact, results: Results, panel: Panel, read: Reader | None, *, eps: float, percentile: float
) -> dict[int, Tokens]:
    """Tokens of members (1) and non-members (0); raises where either class has none.

    A token is surprising where its entropy is below `eps` (nats) and its log-probability below the given
    percentile of its own text (Zhang et al., SURP): both strict.
    """
    frame = passes_of(artifact, results, panel, read, prefix="", statistics="full")
    texts = results.texts(artifact, panel).set_index("text_id")
    frame = frame[frame["text_id"].isin(texts.index) & (frame["logprobs"].map(len) > 0)]
    if frame["entropies"].isna().any():
        raise InputError(f"{where(artifact, panel)}: the pass holds no entropies")
    scored = texts.loc[frame["text_id"]]
    seed = seed_of("surprising", artifact["artifact"], panel["model"], panel["benchmark"])
    weights = text_weights(scored, RESAMPLES, seed)
    tokens = {}
    for label in (1, 0):
        of = scored["label"].eq(label).to_numpy(dtype=bool)
        if not of.any():
            kind = "member" if label else "non-member"
            raise InputError(f"{where(artifact, panel)}: no {kind} has tokens")
        tokens[label] = Tokens(label, _token_frame(frame[of], eps, percentile), weights[of])
    return tokens


def _token_frame(texts: pd.DataFrame, eps: float, percentile: float) -> pd.DataFrame:
    logprobs = [np.asarray(values, dtype=np.float64) for values in texts["logprobs"]]
    entropies = [np.asarray(values, dtype=np.float64) for values in texts["entropies"]]
    surprising = [
        (entropy < eps) & (logprob < np.percentile(logprob, percentile))
        for entropy, logprob in zip(entropies, logprobs, strict=True)
    ]
    return pd.DataFrame(
        {
            "text": np.repeat(np.arange(len(logprobs)), [len(values) for values in logprobs]),
            "entropy": np.concatenate(entropies),
            "logprob": np.concatenate(logprobs),
            "surprising": np.concatenate(surprising),
        }
    )


def resampled_means(tokens: Tokens, groups: np.ndarray, count: int) -> np.ndarray:
    """Mean log-probability of surprising tokens by group, first as they are, then resampling documents (or texts).

    `groups` gives each surprising token's group, 0..count-1. Shape (1 + RESAMPLES, count), NaN where a
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


def estimate_of(means: np.ndarray) -> tuple[float, float | None, float | None]:
    """Value and 95 % interval of a column of `resampled_means`; no interval where a resample had no token."""
    if np.isnan(means[1:]).any():
        return float(means[0]), None, None
    return (float(means[0]), *interval_of(means[1:]))
