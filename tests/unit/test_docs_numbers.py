"""Numbers in the documents are found and compared with those of a run; tests/bench/compare_documents.py does it."""

import sys
from pathlib import Path

import pandas as pd
import pytest

sys.path.insert(0, str(Path(__file__).parents[1] / "bench"))
import compare_documents


def printed() -> pd.DataFrame:
    """The tables of a run that gave exactly what the documents print."""
    rows = []
    for document, text, sentence, numbers in compare_documents.checks():
        match = compare_documents.match_of(sentence, text)
        assert match, f"{document} does not say {sentence!r}: change both"
        values = iter(map(float, match.groups()))
        for found in numbers:
            row = found._asdict()
            row |= {column: next(values) for column in row.pop("columns")}
            rows.append({"metric": "auc"} | row)
    return pd.DataFrame(rows)


@pytest.mark.parametrize(("changed", "told"), [(0.04, 0), (0.06, 1)])
def test_every_number_is_compared_with_its_own_in_the_run(tmp_path, changed, told):
    tables = printed()
    (tmp_path / "tables").mkdir()
    rows = tables["method"].eq("gap_k") & tables["benchmark"].eq("sotu") & tables["value"].notna()
    assert rows.sum() > 1, "README, a sentence and a table"
    tables.loc[rows, "value"] += changed
    tables.to_csv(tmp_path / "tables" / "a.csv", index=False)
    differ = list(compare_documents.differences(tmp_path))
    assert bool(differ) == bool(told), differ
    assert all("Gap-K%" in line for line in differ)
