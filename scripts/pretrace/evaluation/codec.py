"""CoDeC: the share of texts that context of their own class makes less likely, as a description without a p."""

from collections.abc import Iterator, Sequence
from dataclasses import replace

import numpy as np
import pandas as pd

from pretrace.evaluation.roc import Floats
from pretrace.evaluation.tokens import Passes, Row
from pretrace.views.readings import KINDS, Prefix, Reading, Shots

CODEC = "codec"

LEFT_OUT = 10
"""First tokens of a text that are not compared, as in the authors' code; neither is the last one."""


def hurt_texts(passes: Passes) -> Iterator[Row]:
    """Yield the share of `n` texts of a label that are less likely after `shots`, by place and start token.

    Shots are texts of the same label: the fewest of the first draw that passes of both labels have. Without such passes
    there is no row. Texts that the context cuts, or that have no token to compare, do not take part. Length missing
    stands for all of several lengths.
    Zawalski et al., Detecting Data Contamination in LLMs via In-Context Learning, ICLR 2026 (arXiv 2510.27055), who put
    one text of the data set before each.
    """
    of_subset: dict[str, list[tuple[Row, pd.DataFrame]]] = {}
    for place, texts in passes.places():
        of_subset.setdefault(place["subset"], []).append((place, texts))
    for subset, parts in of_subset.items():
        groups = [(place, [texts]) for place, texts in parts]
        if len(parts) > 1:
            groups.append(({"subset": subset, "length": None}, [texts for _, texts in parts]))
        for place, tables in groups:
            readings = [
                {reading for reading in passes.readings(texts) if reading.view == "original"}
                for texts in tables
            ]
            shared = set.intersection(*readings)
            for reading in sorted(shared, key=lambda reading: reading.start_token):
                for row in _hurt_of(passes, tables, reading):
                    yield place | {"start_token": reading.start_token} | row


def _hurt_of(passes: Passes, tables: Sequence[pd.DataFrame], reading: Reading) -> Iterator[Row]:
    stored = [_stored(passes, texts, reading, kind) for texts in tables for kind in KINDS]
    if not (common := set.intersection(*stored)):
        return
    count, separator = min(common)
    for kind, label in KINDS.items():
        given = replace(reading, shots=Shots(Prefix(kind, separator), draw=0, count=count))
        hurt = [value for texts in tables for value in _hurt(passes, texts, label, reading, given)]
        if hurt:
            yield {"label": label, "shots": count, "n": len(hurt), "value": sum(hurt) / len(hurt)}


def is_hurt(alone: Floats, given: Floats) -> bool:
    """Tell whether the tokens compared have a lower mean log-probability after the context; both of shape (tokens,)."""
    return bool(given[LEFT_OUT:-1].mean() < alone[LEFT_OUT:-1].mean())


def _stored(passes: Passes, texts: pd.DataFrame, reading: Reading, kind: str) -> set[tuple[int, str]]:
    """Return (number of shots, separator) of the passes after shots of this kind."""
    readings = {key.reading for key in passes.keys(texts)}
    drawn = [other.shots for other in readings if other.shots and replace(other, shots=None) == reading]
    return {
        (shots.count, shots.prefix.separator)
        for shots in drawn
        if shots == Shots(Prefix(kind, shots.prefix.separator), draw=0, count=shots.count)
    }


def _hurt(passes: Passes, texts: pd.DataFrame, label: int, reading: Reading, given: Reading) -> list[bool]:
    """Return `is_hurt` of each text of this label after the shots of the reading `given`."""
    frames = [passes.rows(texts, how) for how in (reading, given)]
    whole = [frame[~frame["truncated"]].set_index("text_id")["logprobs"] for frame in frames]
    pairs = pd.concat(whole, axis=1, keys=["alone", "given"], join="inner")
    pairs = pairs[pairs.index.isin(texts.loc[texts["label"].eq(label).fillna(False), "text_id"])]
    pairs = pairs[pairs["alone"].map(len) > LEFT_OUT + 1].map(np.float64)
    # without a start token, a text's first token has a probability only after the prefix
    return [is_hurt(alone, given[-len(alone) :]) for alone, given in pairs.to_numpy()]
