from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from pretrace.methods.inputs import Complete, Inputs
from pretrace.methods.registry import input_kind, method
from pretrace.methods.statistics import Floats, TokenStatistics
from pretrace.runtime.files import read_parquet
from pretrace.views.readings import PassKey

if TYPE_CHECKING:
    import pandas as pd


@input_kind(
    "shadows", "log-likelihoods of the text under shadow models, trained on it and not",
    noun="model with shadow models", example="MODEL", key="shadows",
)  # fmt: skip
def shadows(inputs: Inputs, plain: PassKey, model: str) -> Complete:
    """Add [in, out] float64: LL(x) under the shadow models that were trained on the
    text, and under the others."""
    by_text = inputs.opened("shadows", model, _by_text) or {}
    return lambda id, text: replace(text, inputs={"shadows": by_text.get(id)})


def _by_text(path: Path) -> Mapping[str, tuple[Floats, Floats]]:
    """Read a table of `models.training.shadows`: text id -> [in, out]."""
    table = read_parquet(path)
    trained_on_it = _by_text_of(table[table["in"]])
    not_trained = _by_text_of(table[~table["in"]])
    by_text = {}
    for id, log_likelihoods in trained_on_it.items():
        by_text[id] = (log_likelihoods, not_trained[id])
    return by_text


def _by_text_of(table: "pd.DataFrame") -> dict[str, Floats]:
    return dict(table.groupby("text_id")["log_likelihood"].agg(np.array))


@method("rmia", needs=("logprobs", "shadows"))
def rmia(text: TokenStatistics) -> float:
    """ln p(x | theta) - ln p(x), nats a token; p(x) is the mean likelihood under models
    trained on x and models not.

    A likelihood is a mean token's, exp LL(x); both kinds of shadow models count alike.
    RMIA itself is the share of population texts z with ratio(x) / ratio(z) >= gamma.
    With gamma = 1 and every text as z it ranks texts as this ratio does, so that the
    ROC curve is the same; with fewer z texts tie, and another gamma gives other ties.

    Zarifzadeh, Liu and Shokri, Low-Cost High-Power Membership Inference Attacks, ICML
    2024.
    """
    trained_on_it, not_trained = text.inputs["shadows"]
    # p(x) = (mean p(x | trained) + mean p(x | not trained)) / 2
    both = np.logaddexp(_log_mean(trained_on_it), _log_mean(not_trained))
    return text.log_likelihood - float(both - np.log(2))


def _log_mean(log_likelihoods: Floats) -> float:
    """Return the logarithm of the mean of likelihoods."""
    log_sum = np.logaddexp.reduce(log_likelihoods)
    return float(log_sum - np.log(len(log_likelihoods)))
