"""Scores that come in parts are evaluated as the table that they make."""

import numpy as np
import pandas as pd
import pytest
from evaluation_tables import LABEL, noise, scores, texts

from pretrace.evaluation.scores import Column, scores_of, text_units

BENCHMARK = texts(np.where(np.arange(200) == 5, np.nan, LABEL))
TABLE = pd.concat(
    [
        scores(BENCHMARK, {("tuned", f"k={k}"): noise(200, seed=k) + LABEL / 3 for k in (1, 2, 3)}),
        scores(BENCHMARK, {("plain", ""): np.where(np.arange(200) < 9, np.nan, noise(200))}),
        scores(BENCHMARK, {("plain", ""): noise(200, seed=9)}, view="delete-10"),
        scores(BENCHMARK, {("other", ""): noise(200, seed=8)}, draw=1),
    ],
    ignore_index=True,
)


def parts_of(table: pd.DataFrame, rows: int) -> list[pd.DataFrame]:
    return [table[start : start + rows] for start in range(0, len(table), rows)]


@pytest.mark.parametrize("rows", [1, 37, 400, 10_000])
def test_a_column_holds_each_labelled_texts_own_score_wherever_the_parts_end(rows):
    shuffled = TABLE.sample(frac=1, random_state=0)
    given = shuffled[:300] if rows == 1 else shuffled
    found = scores_of(parts_of(given, rows), BENCHMARK)["text"]
    units = text_units(BENCHMARK)
    pd.testing.assert_frame_equal(found.units, units)
    expected = {
        (row.method, row.setting, row.view, row.start_token, -1 if pd.isna(row.draw) else row.draw,
         row.reference, row.id): row.score
        for row in given.itertuples() if row.id != BENCHMARK["text_id"][5]
    }  # fmt: skip
    held = {
        (*column, id): value
        for column, values in found.scores.items()
        for id, value in zip(units["id"], values, strict=True)
        if not np.isnan(value)
    }
    assert held == expected
    assert set(map(type, found.scores)) == {Column}
