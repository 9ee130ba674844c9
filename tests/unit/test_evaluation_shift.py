"""Whether audited texts differ from the known ones in words and sizes: seen where they do, seldom where they do not."""

import numpy as np
import pandas as pd
import pytest
from scipy.stats import binom, mannwhitneyu

from pretrace.evaluation import shift
from pretrace.evaluation.shift import SIZES, WORDS, shifts

LENGTHS = (32, 64, 128)


def nested(documents: int, seed: int, *, texts: int = 6) -> pd.DataFrame:
    """Texts of documents that each have a way with long words, cut to three lengths: the first words of one text."""
    rng = np.random.default_rng(seed)
    rows = []
    for document in range(documents):
        letters = rng.integers(4, 8)
        for text in range(texts):
            words = ["x" * max(1, size) for size in rng.poisson(letters, LENGTHS[-1])]
            for length in LENGTHS:
                id, cut = f"{document}-{text}-{length}", " ".join(words[:length])
                rows.append((id, cut, "", length, f"d{document}", document))
    return pd.DataFrame(rows, columns=["text_id", "text", "subset", "length", "document", "half"])


def halves(texts: pd.DataFrame) -> tuple[pd.DataFrame, pd.DataFrame]:
    """Whole documents, which are no other than the rest."""
    ours = texts["half"] % 2 == 0
    return texts[ours], texts[~ours]


def p_of(found: pd.DataFrame, control: str) -> float:
    return float(found.set_index("method").loc[control, "p"])


@pytest.mark.full
def test_sizes_of_exchangeable_documents_seldom_differ(monkeypatch: pytest.MonkeyPatch) -> None:
    """Nested lengths and texts of one document, taken as independent, would flag a quarter to a half."""
    monkeypatch.setattr(shift, "_of_words", lambda *_: {"method": WORDS})  # which take long
    times = 200
    flagged = sum(p_of(shifts(*halves(nested(20, seed)), "en"), SIZES) <= 0.05 for seed in range(times))
    assert flagged <= binom.ppf(0.999, times, 0.05)


def test_one_text_a_document_and_one_length_are_tested_as_mann_and_whitney_do() -> None:
    texts = nested(80, 0, texts=1)
    ours, theirs = halves(texts[texts["length"] == 64])
    sizes = [side["text"].str.len() for side in (ours, theirs)]
    expected = mannwhitneyu(*sizes, method="asymptotic", use_continuity=False)
    found = shifts(ours, theirs, "en").set_index("method").loc[SIZES]
    assert found["score"] == pytest.approx(expected.statistic / (40 * 40))
    assert found["p"] == pytest.approx(expected.pvalue, abs=0.03)


def test_other_sizes_and_other_words_are_seen() -> None:
    texts = nested(40, 1)
    ours, theirs = halves(texts)
    longer = ours.assign(text=ours["text"] + " again: " + ours["text"])
    found = shifts(longer, theirs, "en")
    assert p_of(found, SIZES) < 0.001
    assert p_of(found, WORDS) < 0.001


def test_too_few_texts_tell_nothing() -> None:
    ours, theirs = halves(nested(8, 0, texts=1))
    found = shifts(ours, theirs, "en")
    assert found[["score", "p"]].isna().all(axis=None)
