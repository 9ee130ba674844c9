"""An audit with weights fitted on known members, and with an estimate of the share that was trained on."""

from pathlib import Path

import made_up_results
import numpy as np
import pandas as pd
import pytest
from scipy.stats import false_discovery_control
from test_evaluation_audit import RUN, made_up

from pretrace.evaluation.audit import COMBINED, FITTED_ON, audit
from pretrace.evaluation.audit_scores import ScoredBenchmark
from pretrace.evaluation.evidence import LEVEL, empirical_p, share_of_nonmembers
from pretrace.evaluation.weights import WEIGHTED
from pretrace.render.registry import render
from pretrace.render.results import Results
from pretrace.runtime.files import write_parquet


def labelled(*effects: float) -> ScoredBenchmark:
    """200 texts to audit, half of them members, and 600 known texts of both classes; independent scores by effect."""
    scored = made_up(200, 600, methods=len(effects))
    document = np.arange(800) // 4
    member = np.where(document < 50, document < 25, document % 2 == 0)
    label = [pd.NA if n < 50 else int(trained) for n, trained in zip(document, member, strict=True)]
    noise = np.random.default_rng(0).normal(size=(len(effects), 800))
    score = (noise + np.outer(effects, member)).ravel()
    benchmark = scored.benchmark.assign(label=pd.array(label, "Int64"), fold=document // 2 % 5)
    return ScoredBenchmark("texts", scored.scores.assign(score=score), benchmark)


def test_weights_fitted_on_known_members_find_more_than_equal_evidence():
    scored = labelled(2.5, 0.0, 0.0, 0.0)
    frame = audit(scored, scored, [RUN])
    found = frame.groupby(["unit", "method"])["p"].agg(lambda p: (p <= LEVEL).mean())
    assert found["text", WEIGHTED] > found["text", COMBINED] + 0.1
    assert found["nonmember", WEIGHTED] < 0.1
    fitted_on = scored.benchmark.loc[scored.benchmark["fold"].isin(FITTED_ON), "text_id"]
    checked = frame[(frame["unit"] == "nonmember") & (frame["method"] == WEIGHTED)]
    assert len(checked) > 100
    assert not checked["id"].isin(fitted_on).any(), "what weights are fitted on is compared with nothing"
    without = made_up(80, 200)
    assert WEIGHTED not in set(audit(without, without, [RUN])["method"]), "no member is known"


def test_another_benchmarks_texts_may_have_the_same_ids():
    scored = labelled(2.5, 0.0)
    known = scored.benchmark["label"].notna()
    other = ScoredBenchmark(
        "others", scored.scores, scored.benchmark.assign(label=scored.benchmark["label"].fillna(0))
    )
    mine = ScoredBenchmark(
        "mine", scored.scores, scored.benchmark.assign(label=scored.benchmark["label"].mask(known))
    )
    frame = audit(mine, other, [RUN])
    assert (frame[frame["unit"] == "text"]["method"] == WEIGHTED).sum() == len(scored.benchmark)


def test_the_share_trained_on_is_estimated_and_q_falls_with_it():
    assert share_of_nonmembers([0.01] * 7 + [0.6] * 3) == pytest.approx((1 + 3) / (10 * 0.5))
    assert share_of_nonmembers([0.9, 0.8]) == 1
    frame = audit(*[labelled(2.5, 0.0)] * 2, [RUN])
    share = frame[(frame["unit"] == "share") & (frame["method"] == "loss")]["score"].item()
    assert share == pytest.approx(0.5, abs=0.15)
    texts = frame[(frame["unit"] == "text") & (frame["method"] == "loss")]
    assert texts["q_storey"].to_numpy() == pytest.approx(
        np.where(texts["p"] <= 0.5, texts["q"] * (1 - share), 1)
    )
    assert frame.loc[frame["method"] == COMBINED, "q_storey"].isna().all()


def test_of_what_storey_finds_one_in_twenty_is_false_although_all_are_compared_with_the_same_non_members():
    rng = np.random.default_rng(5)
    false = []
    for _ in range(300):
        member = np.arange(100) < 50
        p = empirical_p(rng.normal(size=100) + 3 * member, rng.normal(size=200))
        flagged = (false_discovery_control(p) * share_of_nonmembers(p) <= LEVEL) & (p <= 0.5)
        false.append((flagged & ~member).sum() / max(flagged.sum(), 1))
    assert 0.02 < np.mean(false) < 0.055


def test_the_page_of_an_audit_shows_both_beside_the_rest(tmp_path: Path):
    scored = labelled(2.5, 0.0)
    write_parquet(tmp_path / "audit.parquet", audit(scored, scored, [RUN]))
    write_parquet(tmp_path / "texts.parquet", scored.benchmark)
    pair = (made_up_results.MODEL, made_up_results.BENCHMARK)
    results = Results(
        audit={pair: tmp_path / "audit.parquet"},
        benchmarks={pair[1]: tmp_path / "texts.parquet"},
        entries=made_up_results.ENTRIES,
    )
    artifact = made_up_results.artifact("audit", panels=[{"model": pair[0], "benchmark": pair[1]}])
    written = render(artifact, results, tmp_path)["md"].read_text()
    assert "All methods weighted · q" in written
    assert "Loss: estimated share of the audited texts that were trained on" in written
    assert "All methods weighted: known non-members, each as if audited" in written
