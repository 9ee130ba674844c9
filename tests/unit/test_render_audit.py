"""The page of an audit says what may be concluded and what may not, and why; the power of one is drawn."""

from pathlib import Path

import made_up_results as made_up
import numpy as np
import pandas as pd
import pytest

from pretrace.evaluation.audit import COMBINED
from pretrace.evaluation.audit_power import power
from pretrace.evaluation.audit_scores import ScoredBenchmark
from pretrace.evaluation.estimates import frame_of
from pretrace.render.registry import render
from pretrace.render.results import Results
from pretrace.runtime.errors import InputError
from pretrace.runtime.files import write_parquet

PAIR = (made_up.MODEL, made_up.BENCHMARK)
ARTIFACT = made_up.artifact("audit", panels=[{"model": PAIR[0], "benchmark": PAIR[1]}])


def audited(folder: Path, *, p: float = 0.001, words: float = 0.51, flagged_words: bool = False) -> Results:
    """Three texts of two documents, of which one text and one document are flagged where p is small."""
    rows = []
    for unit, ids in (("text", ["t0", "<b>t1", "t2"]), ("document", ["d0", "d1"])):
        for place, id in enumerate(ids):
            for method in ("loss", COMBINED):
                of = p if place == 0 else 0.5
                rows.append((unit, id, method, "", -2.5 if method == "loss" else np.nan, of, of, of <= 0.05))
    rows += [("nonmember", f"n{i}", COMBINED, "", np.nan, (i + 1) / 100, np.nan, i < 5) for i in range(100)]
    rows += [("control", "", "word_shift", "", words, 0.01 if flagged_words else 0.4, np.nan, flagged_words),
             ("control", "", "size_shift", "", 0.5, 0.9, np.nan, False)]  # fmt: skip
    names = ["unit", "id", "method", "setting", "score", "p", "q", "flagged"]
    write_parquet(folder / "audit.parquet", pd.DataFrame(rows, columns=names))
    texts = pd.DataFrame({"text_id": ["t0", "<b>t1", "t2", "t3"], "label": pd.array([pd.NA] * 4, "Int64")})
    write_parquet(folder / "texts.parquet", texts)
    return Results(
        audit={PAIR: folder / "audit.parquet"},
        benchmarks={PAIR[1]: folder / "texts.parquet"},
        entries=made_up.ENTRIES,
    )


def page(folder: Path, **given) -> tuple[str, str]:
    files = render(ARTIFACT, audited(folder, **given), folder)
    return files["md"].read_text(), files["html"].read_text()


def test_the_page_tells_scores_p_q_and_what_is_flagged(tmp_path: Path):
    table, reading = page(tmp_path)
    row = next(line for line in table.splitlines() if line.startswith("| t0 "))
    assert [cell.strip() for cell in row.split("|")[1:-1]] == [
        "t0",
        "**yes**",
        "0.001",
        "0.001",
        "-2.500",
        "0.001",
    ]
    assert "1 of 3 texts and 1 of 2 documents flagged, compared with 100 known non-members" in reading
    assert "1 further texts without a label could not be audited" in reading
    assert "evidence, not proof" in reading
    assert "What may not: that a text that is not flagged was not in the training data" in reading
    assert "5 of 100: 0.050" in table


def test_where_words_alone_tell_the_texts_apart_nothing_is_concluded(tmp_path: Path):
    _, reading = page(tmp_path, words=0.84, flagged_words=True)
    assert "nothing about training, because their words alone tell" in reading
    assert "(AUC 0.84)" in reading
    assert "evidence, not proof" not in reading


def test_where_nothing_is_flagged_that_is_no_evidence_of_absence(tmp_path: Path):
    _, reading = page(tmp_path, p=0.3)
    assert "does not show that it was left out" in reading


def test_the_power_of_an_audit_grows_and_its_false_alarms_stay(tmp_path: Path):
    rng = np.random.default_rng(0)
    count, texts = 640, 8
    member = (np.arange(count) // texts) % 2 == 0
    ids = [f"t{i:04d}" for i in range(count)]
    frames = [
        pd.DataFrame({"unit": "text", "id": ids, "method": method, "setting": setting, "view": "original",
                      "start_token": "none", "draw": pd.array([pd.NA] * count, "Int64"), "reference": "",
                      "score": rng.normal(size=count) + 1.8 * member})
        for method, setting in (("loss", ""), ("min_k", "k=0.2"))
    ]  # fmt: skip
    benchmark = pd.DataFrame(
        {"text_id": ids, "text": ids, "label": pd.array(member.astype(int), "Int64"), "subset": "",
         "length": pd.array([64] * count, "Int64"), "document": [f"d{i // texts}" for i in range(count)],
         "fold": np.arange(count) // texts // 2 % 5}
    )  # fmt: skip
    asked = {"length": 64, "start_token": "none", "references": [], "methods": [COMBINED, "loss"]}
    rows = power(ScoredBenchmark(PAIR[1], pd.concat(frames), benchmark), asked)
    write_parquet(tmp_path / "estimates.parquet", frame_of(rows))
    results = Results(estimates={PAIR: tmp_path / "estimates.parquet"})
    panel = {"model": PAIR[0], "benchmark": PAIR[1], "length": 64, "start_token": "none", "references": []}
    artifact = made_up.artifact("audit_power", panels=[panel], methods=[COMBINED, "loss"])
    files = render(artifact, results, tmp_path)
    frame = pd.read_csv(files["csv"])
    of = frame[frame["method"] == COMBINED].set_index(["label", "texts"])["value"]
    assert of[1, 8] > of[1, 1] > 0.3
    assert of[0].max() <= 0.09
    assert set(frame["method"]) == {COMBINED, "loss"}
    assert frame["texts"].max() == 8
    assert set(frame["documents"]) == {40}


def test_too_few_documents_have_no_power_to_show(tmp_path: Path):
    write_parquet(tmp_path / "estimates.parquet", frame_of([]))
    results = Results(estimates={(made_up.MODEL, made_up.BENCHMARK): tmp_path / "estimates.parquet"})
    panel = made_up.PANEL | {"start_token": made_up.TOKEN, "references": ["old_speeches"]}
    with pytest.raises(InputError, match="too few documents"):
        render(made_up.artifact("audit_power", panels=[panel]), results, tmp_path)
