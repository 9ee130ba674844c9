"""CoDeC's share, against values by hand and the example of the authors' code."""

from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from made_up_results import IndexOf

from pretrace.evaluation.scores import EvaluationSet
from pretrace.evaluation.tokens import Passes, hurt_texts, is_hurt
from pretrace.views.readings import PassKey

ALONE = [-3, -2.5, -2, -1.8, -1.5, -1.2, -2.2, -1, -0.9, -0.8, -0.5, -0.4, -2]
GIVEN = [-2, -2, -1.5, -1, -1, -1, -2, -0.9, -0.8, -0.7, -0.6, -0.7, -0.1]
"""Less likely at positions 10 and 11 alone, which are the compared ones (-0.65 < -0.45); more likely elsewhere."""

LOWER, HIGHER = [-2.0] * 13, [-0.1] * 13
GIVEN_OWN = {
    "member1": GIVEN,
    "member2": ALONE,  # as likely as before, which is not less
    "member3": LOWER,
    "member4": HIGHER,
    "short": LOWER[:11],
    "cut": LOWER,
    "other1": LOWER,
    "other2": HIGHER,
    "unlabelled": LOWER,
}
"""After seven texts of the own class."""


def rows(stored: dict[str, tuple[int, ...]], seen: dict[str, int]) -> list[dict[str, Any]]:
    """Of passes after so many `stored` shots of each kind; without a start token, a text alone has a value less."""
    labels = [{"m": 1, "s": 1, "c": 1, "o": 0}.get(name[0]) for name in GIVEN_OWN]
    benchmark = pd.DataFrame(
        {"text_id": list(GIVEN_OWN), "label": pd.array(labels, "Int64"), "subset": "late"}
    )
    benchmark = benchmark.assign(length=pd.array([64] * 5 + [32] * 4, "Int64"))
    kinds = [("", None, None), *((kind, n, 0) for kind, numbers in stored.items() for n in numbers)]
    views = [
        {"view": "original", "altered": "", "prefix": kind, "draw": draw, "shots": shots, "start_token": "none",
         "inner_start": False, "windows": None, "subset": "late", "length": length, "statistics": "logprobs"}
        for kind, shots, draw in kinds for length in (64, 32)
    ]  # fmt: skip

    def read(key: PassKey) -> pa.Table:
        prefix = key.reading.shots.prefix.name if key.reading.shots else ""
        seen[prefix] = key.reading.shots.count if key.reading.shots else 0
        here = benchmark[benchmark["length"].eq(key.slice.length)]
        values = []
        for name, label in zip(here["text_id"], here["label"], strict=True):
            own = {"member": 1, "nonmember": 0}.get(prefix) == (None if pd.isna(label) else label)
            values.append(
                [-9.0, *(GIVEN_OWN[name] if own else HIGHER)] if prefix else ALONE[: len(GIVEN_OWN[name])]
            )
        cut = here["text_id"].eq("cut") & (prefix != "")
        return pa.table({"text_id": here["text_id"], "logprobs": values, "truncated": cut})

    passes = Passes(IndexOf({"views": views}, read), benchmark, [EvaluationSet()], 100, "tiny on eras")
    return [row for row in hurt_texts(passes) if row["length"] is None]


def test_the_first_ten_tokens_and_the_last_one_are_not_compared():
    assert is_hurt(np.array(ALONE), np.array(GIVEN))
    assert not is_hurt(np.array(ALONE), np.array(ALONE))


def test_each_class_is_read_after_its_own_texts_the_fewest_stored_for_both():
    shots: dict[str, int] = {}
    shares = {row["label"]: row for row in rows({"member": (7, 10), "nonmember": (1, 7, 10)}, shots)}
    assert shots == {"": 0, "member": 7, "nonmember": 7}
    assert (shares[1]["n"], shares[1]["value"]) == (4, 2 / 4), "one is too short, one is cut by the context"
    assert (shares[0]["n"], shares[0]["value"]) == (2, 1 / 2)
    assert {row["shots"] for row in shares.values()} == {7}


@pytest.mark.parametrize("stored", [{}, {"nonmember": (1, 7)}, {"member": (1,), "nonmember": (7,)}])
def test_without_passes_after_shots_of_both_classes_there_is_no_share(stored: dict[str, tuple[int, ...]]):
    assert rows(stored, {}) == []
