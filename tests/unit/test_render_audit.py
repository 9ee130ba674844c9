"""The page of an audit: the verdict first, honest cells, passages by their first words; its power is drawn."""

from pathlib import Path

import made_up_results as made_up
import numpy as np
import pandas as pd
import pytest
from test_evaluation_audit import RUN, positive
from test_evaluation_audit import made_up as texts_of

from pretrace.evaluation.audit import COMBINED, audit
from pretrace.evaluation.audit_power import power
from pretrace.evaluation.audit_scores import ScoredBenchmark
from pretrace.render.results import Results
from pretrace.render.tables.audit import first_words, lines
from pretrace.runtime.errors import InputError
from pretrace.runtime.files import write_parquet

PAIR = (made_up.MODEL, made_up.BENCHMARK)
ARTIFACT = made_up.artifact("audit", panels=[{"model": PAIR[0], "benchmark": PAIR[1]}])


def page(folder: Path, scored: ScoredBenchmark, **given) -> dict[str, str]:
    """The files of an audit's page by suffix."""
    write_parquet(folder / "audit.parquet", audit(scored, scored, [RUN], **given))
    write_parquet(folder / "texts.parquet", scored.benchmark)
    results = Results(
        audit={PAIR: folder / "audit.parquet"},
        benchmarks={PAIR[1]: folder / "texts.parquet"},
        entries=made_up.ENTRIES,
    )
    return {suffix: path.read_text() for suffix, path in made_up.render(ARTIFACT, results, folder).items()}


def csv_of(folder: Path) -> Path:
    return next(folder.rglob("*.csv"))


def test_the_verdict_comes_first_and_ends_the_run(tmp_path: Path):
    files = page(tmp_path, texts_of(24, 80, shift=2.5), positive=positive(1.5))
    verdict = "Evidence of training: target finds 6 of 6 documents more familiar".replace("target", PAIR[0])
    assert files["html"].index(verdict) < files["html"].index("<table")
    assert files["md"].index(verdict) < files["md"].index("| Known documents")
    assert verdict in files["tex"]
    (line,) = lines(pd.read_csv(csv_of(tmp_path)))
    assert line.startswith(verdict)
    assert "likeliest reason" in line
    assert "yes: above by" in files["md"], "the positive control"


def test_an_audit_without_evidence_says_what_it_would_have_found(tmp_path: Path):
    files = page(tmp_path, texts_of(24, 80, seed=2))
    assert "No evidence of training found (p = " in files["md"]
    assert (
        "This does not show that the texts were left out: in four of five cases it finds a document of 4"
        in files["md"]
    )
    assert "That the texts were not in the training data." in files["md"]
    assert "surely read?" in files["md"]
    assert "not tested |" in files["md"], "no positive control"


def test_an_audit_with_few_known_documents_says_how_many_are_needed(tmp_path: Path):
    files = page(tmp_path, texts_of(8, 36, shift=9.0))
    assert "This audit could not have found anything" in files["md"]
    assert "at least 10, each with several texts" in files["md"]
    row = next(line for line in files["md"].splitlines() if line.startswith("| d0 "))
    assert row.split("|")[2].strip() == "not tested: too few"
    assert "not tested: too few" in files["md"].split("Checks")[1]


def test_a_flag_with_failed_controls_says_so(tmp_path: Path):
    scored = texts_of(60, 200, shift=2.5)
    words = [f"{text} {'longer words than usual ' * 9}" if pd.isna(label) else text
             for text, label in zip(scored.benchmark["text"], scored.benchmark["label"], strict=True)]  # fmt: skip
    files = page(tmp_path, ScoredBenchmark("texts", scored.scores, scored.benchmark.assign(text=words)))
    assert "The comparison is invalid, because" in files["md"]
    assert "yes, but the controls failed" in files["md"]
    assert "**yes**" not in files["md"].split("Checks")[0]


def test_nothing_on_the_page_needs_statistics_of_benchmarks(tmp_path: Path):
    files = page(tmp_path, texts_of(24, 80, shift=2.5))
    for word in ("AUC", "fold", "held-out", "Held-out"):
        assert word not in files["md"]


def test_passages_are_called_by_their_first_words_and_open_on_a_click(tmp_path: Path):
    scored = texts_of(24, 80, shift=2.5)
    text = scored.benchmark["text"].iloc[0].replace("word", "<b>w")
    table = scored.benchmark.assign(text=[text, *scored.benchmark["text"].iloc[1:]])
    files = page(tmp_path, ScoredBenchmark("texts", scored.scores, table))
    words = text.split()
    escaped = " ".join(words[:10]).replace("<", "&lt;").replace(">", "&gt;")
    assert f"<summary>{escaped} ...</summary>" in files["html"]
    assert text.replace("<", "&lt;").replace(">", "&gt;") in files["html"]
    assert "<b>w" not in files["html"]
    order = pd.read_csv(csv_of(tmp_path))
    best = (
        order[(order["unit"] == "text") & (order["method"] == COMBINED)]
        .sort_values(["p", "id"])["id"]
        .iloc[0]
    )
    first = table.set_index("text_id")["text"][best]
    shown = files["html"].split("Passages:")[-1]
    assert shown.index(" ".join(first.split()[:3]).replace("<", "&lt;").replace(">", "&gt;")) < shown.index(
        "</details>"
    )


def test_chinese_passages_are_called_by_their_first_characters():
    assert first_words("\u4e2d" * 90) == "\u4e2d" * 20 + " ..."
    assert first_words("one two") == "one two"


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
    conditions = {"start_token": "none", "references": []}
    rows = power(ScoredBenchmark(PAIR[1], pd.concat(frames), benchmark), conditions)
    write_parquet(tmp_path / "power.parquet", made_up.statistic("power", rows))
    results = Results(statistics={"power": {PAIR: tmp_path / "power.parquet"}})
    panel = {"model": PAIR[0], "benchmark": PAIR[1], "length": 64, "start_token": "none", "references": []}
    artifact = made_up.artifact("audit_power", panels=[panel], methods=[COMBINED, "min_k"])
    files = made_up.render(artifact, results, tmp_path)
    frame = pd.read_csv(files["csv"])
    of = frame[frame["method"] == COMBINED].set_index(["label", "texts"])["value"]
    assert of[1, 8] > of[1, 1] > 0.3
    assert of[0].max() <= 0.15
    assert set(frame["method"]) == {COMBINED, "min_k"}
    assert frame["texts"].max() == 8
    assert set(frame["documents"]) == {40}


def test_too_few_documents_have_no_power_to_show(tmp_path: Path):
    write_parquet(tmp_path / "power.parquet", made_up.statistic("power", []))
    results = Results(statistics={"power": {PAIR: tmp_path / "power.parquet"}})
    panel = made_up.PANEL | {"start_token": made_up.TOKEN, "references": ["old_speeches"]}
    with pytest.raises(InputError, match="too few documents"):
        made_up.render(made_up.artifact("audit_power", panels=[panel]), results, tmp_path)
