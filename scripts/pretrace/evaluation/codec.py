"""CoDeC: the share of texts that context of their own class makes less likely, as a description without a p."""

from collections.abc import Iterable

import numpy as np
import pandas as pd

from pretrace.evaluation.corpus_test import coordinates
from pretrace.evaluation.roc import Floats
from pretrace.evaluation.tokens import Asked, Passes, Row
from pretrace.views.readings import KINDS, Prefix, Shots

CODEC = "codec"

LEFT_OUT = 10
"""First tokens of a text that are not compared, as in the authors' code; neither is the last one."""


def codec_estimates(of: Passes, asked: Iterable[Asked]) -> list[Row]:
    """Rows of `estimates.COLUMNS`: `corpus_hurt`, the share of `n` texts of a label that are less likely after `shots`.

    Shots are texts of the same label: the fewest of the first draw that passes of both labels have. Without such passes
    there is no row. Texts that the context cuts, or that have no token to compare, do not take part.
    Zawalski et al., Detecting Data Contamination in LLMs via In-Context Learning, ICLR 2026 (arXiv 2510.27055), who put
    one text of the data set before each.
    """
    rows: list[Row] = []
    for one in asked:
        place = {**one, "subset": one["subset"] or "", "view": "original"}
        texts = [of_length for _, of_length in of.places(place)]
        stored = [_stored(of, place, part, kind) for part in texts for kind in KINDS]
        if not (common := set.intersection(*stored)):
            continue
        shots, separator = min(common)
        for kind, label in KINDS.items():
            given = Shots(Prefix(kind, separator), draw=0, count=shots)
            found = [value for part in texts for value in _hurt(of, place, part, label, given)]
            about = coordinates("corpus_hurt", one) | {"method": CODEC, "label": label, "shots": shots}
            if found:
                rows.append(about | {"n": len(found), "value": sum(found) / len(found)})
    return rows


def is_hurt(alone: Floats, given: Floats) -> bool:
    """Whether the tokens compared have a lower mean log-probability after the context; both of shape (tokens,)."""
    return bool(given[LEFT_OUT:-1].mean() < alone[LEFT_OUT:-1].mean())


def _stored(of: Passes, asked: Asked, texts: pd.DataFrame, kind: str) -> set[tuple[int, str]]:
    """(count, separator) of the passes after shots of this kind."""
    found = [reading.shots for reading, _ in of.entries(asked, texts) if reading.shots]
    return {
        (shots.count, shots.prefix.separator)
        for shots in found
        if shots == Shots(Prefix(kind, shots.prefix.separator), draw=0, count=shots.count)
    }


def _hurt(of: Passes, asked: Asked, texts: pd.DataFrame, label: int, given: Shots) -> list[bool]:
    """`is_hurt` of each text of this label after the shots."""
    frames = [of.rows(asked, texts), of.rows(asked, texts, lambda shots: shots == given)]
    whole = [frame[~frame["truncated"]].set_index("text_id")["logprobs"] for frame in frames]
    pairs = pd.concat(whole, axis=1, keys=["alone", "given"], join="inner")
    pairs = pairs[pairs.index.isin(texts.loc[texts["label"].eq(label).fillna(False), "text_id"])]
    pairs = pairs[pairs["alone"].map(len) > LEFT_OUT + 1].map(np.float64)
    # without a start token, a text's first token has a probability only after the prefix
    return [is_hurt(alone, given[-len(alone) :]) for alone, given in pairs.to_numpy()]
