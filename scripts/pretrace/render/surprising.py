"""The tokens of a panel and the surprising ones among them, with what their mean log-probability rests on."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd

from pretrace.render.drawing import interval_of
from pretrace.render.names import where
from pretrace.render.registry import Artifact
from pretrace.render.results import Results
from pretrace.render.selecting import Panel
from pretrace.runtime.errors import InputError

RESAMPLES = 2000

Reader = Callable[..., Any]
"""`pretrace.passes.read`, or what stands in for it: an Arrow table or data frame with token statistics."""


@dataclass(frozen=True)
class Tokens:
    """All scored tokens of a class, a row each: `text` (its number), `entropy`, `logprob`, `surprising`."""

    label: int
    frame: pd.DataFrame

    @property
    def surprising(self) -> pd.DataFrame:
        return self.frame[self.frame["surprising"]]


def tokens_of(
    artifact: Artifact, results: Results, panel: Panel, read: Reader, *, eps: float, percentile: float
) -> dict[int, Tokens]:
    """Tokens of members (1) and non-members (0); raises where either class has none.

    A token is surprising where its entropy is below `eps` (nats) and its log-probability below the given
    percentile of its own text (Zhang et al., SURP): both strict.
    """
    manifest = results.manifest(panel)
    table = read(manifest, results.store, **_coordinates(artifact, panel, manifest))
    frame = table.to_pandas() if hasattr(table, "to_pandas") else table
    labels = results.texts(artifact, panel).set_index("text_id")["label"]
    frame = frame[frame["text_id"].isin(labels.index) & (frame["logprobs"].map(len) > 0)]
    if frame["entropies"].isna().any():
        raise InputError(f"{where(artifact, panel)}: the pass holds no entropies")
    tokens = {}
    for label in (1, 0):
        of = frame[frame["text_id"].map(labels) == label]
        if of.empty:
            kind = "member" if label else "non-member"
            raise InputError(f"{where(artifact, panel)}: no {kind} has tokens")
        tokens[label] = Tokens(label, _token_frame(of, eps, percentile))
    return tokens


def _coordinates(artifact: Artifact, panel: Panel, manifest: Any) -> dict[str, Any]:
    """The one full pass of the text; artifact or panel say which start token where there are several."""
    wanted = {"view": artifact.get("options", {}).get("view", "original"), "companion": "", "prefix": ""}
    wanted |= {"statistics": "full", "subset": panel["subset"], "length": panel["length"]}
    start_token = panel.get("start_token", artifact.get("start_token"))
    if start_token is not None:
        wanted["start_token"] = start_token
    found = [
        view for view in manifest["views"] if all(view.get(key) == value for key, value in wanted.items())
    ]
    if len(found) != 1:
        tokens = sorted({str(view.get("start_token")) for view in found})
        there = (
            f"{len(found)} passes, with start tokens {', '.join(tokens)}; name one"
            if found
            else "no such pass"
        )
        raise InputError(f"{where(artifact, panel)}: there is {there}")
    return {key: found[0][key] for key in ("view", "start_token", "inner_start", "subset", "length")}


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


def resampled_means(tokens: Tokens, groups: np.ndarray, count: int, seed: int) -> np.ndarray:
    """Mean log-probability of surprising tokens by group, first as they are, then resampling texts.

    `groups` gives each surprising token's group, 0..count-1. Shape (1 + RESAMPLES, count), NaN where a
    resample has no token in a group.
    """
    frame = tokens.surprising
    texts = int(tokens.frame["text"].max()) + 1
    sums, sizes = np.zeros((texts, count)), np.zeros((texts, count))
    np.add.at(sums, (frame["text"].to_numpy(), groups), frame["logprob"].to_numpy())
    np.add.at(sizes, (frame["text"].to_numpy(), groups), 1)
    drawn = np.random.default_rng(seed).multinomial(texts, np.full(texts, 1 / texts), size=RESAMPLES)
    weights = np.vstack([np.ones(texts), drawn])
    with np.errstate(invalid="ignore"):
        return np.asarray((weights @ sums) / (weights @ sizes))


def estimate_of(means: np.ndarray) -> tuple[float, float | None, float | None]:
    """Value and 95 % interval of a column of `resampled_means`; no interval where a resample had no token."""
    if np.isnan(means[1:]).any():
        return float(means[0]), None, None
    return (float(means[0]), *interval_of(means[1:]))
