"""What is given back of works in question, against known works: whole works exchange
their labels."""

import numpy as np
import pandas as pd

from pretrace.audit.continuations import WORKS
from pretrace.audit.design import has_p
from pretrace.audit.exchange_test import AuditedTexts, units_of
from pretrace.evaluation.resampling import DRAWN
from pretrace.questions.answering import MOST_WITHOUT_TEXT

SUMMARY = [
    "unit", *WORKS, "p", "server", "models", "first", "last", "cut_short",
]  # fmt: skip
"""A row of all works together, then a row a work: the columns of
`continuations.WORKS`, and a p. The p of all is that of the exchange of works by
the words that are given back of each; of a work in question, its rank among the known
ones. The row of all has the `server`, the names of the models that it told, the `first`
and the `last` date of answers, and whether the budget `cut_short` how far the model
went on."""


def is_unanswered(works: pd.DataFrame) -> bool:
    """Return whether so many requests about works had no word of an answer that what is
    given back is not known."""
    unanswered = int(works["unanswered"].sum())
    return unanswered > MOST_WITHOUT_TEXT * int(works["requests"].sum())


def summarise(
    works: pd.DataFrame,
    continuations: pd.DataFrame,
    *,
    server: str,
    cut_short: bool,
    seed: int,
    drawn: int = DRAWN,
) -> pd.DataFrame:
    """Return the table of `SUMMARY`. A work is not compared if it has no place, or if
    every request was refused or unanswered; none is if too many are `unanswered`.

    Its own requests alone decide that, so that works that are compared can still
    exchange their labels.
    """
    silent = works["refused"] + works["unanswered"]
    rows = np.flatnonzero(works["requests"].gt(silent).to_numpy(dtype=bool))
    compared = works.iloc[rows]
    suspect = ~compared["label"].eq(0).fillna(False).to_numpy(dtype=bool)
    p = np.full(len(works), np.nan)
    together = np.nan
    if suspect.any() and not suspect.all() and not is_unanswered(works):
        given_back = compared["given_back"].to_numpy(dtype=np.float64)
        alone = np.arange(len(rows))
        texts = AuditedTexts(given_back[:, None], alone, np.zeros_like(alone), suspect)
        units = units_of(texts, texts.ranks([0])[:, -1])
        p[rows] = units.conformal_p
        if has_p(int(suspect.sum()), int((~suspect).sum())):
            together = units.p(seed, drawn)
    dates = continuations["date"]
    dates = dates[dates.ne("")]
    models = sorted({*filter(None, continuations["model"])})
    whole = {
        "unit": "all",
        "p": together,
        "server": server,
        "models": ", ".join(models),
        "first": dates.min(),
        "last": dates.max(),
        "cut_short": cut_short,
    }
    documents = works.assign(unit="document", p=p)
    by_words = ["given_back", "document"]
    documents = documents.sort_values(by_words, ascending=[False, True])
    summary = pd.concat([pd.DataFrame([whole]), documents], ignore_index=True)
    return summary.reindex(columns=SUMMARY)
