"""Unlabelled texts against known non-members: units, p-values, controls, design, and the verdict on all of it."""

from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from evaluation_tables import scores, texts
from scipy.stats import binom, false_discovery_control
from test_evaluation_document_test import of_slice

from bench.bench_audit import real_audits
from pretrace.evaluation.audit import COLUMNS, COMBINED, audit, low_shares
from pretrace.evaluation.audit_controls import CLASSIFIER, SIZES, WORDING
from pretrace.evaluation.audit_scores import ScoredBenchmark
from pretrace.evaluation.document_test import comparisons
from pretrace.evaluation.significance import empirical_p
from pretrace.evaluation.verdict import verdict
from pretrace.runtime.errors import InputError

RUN = {
    "start_token": "none", "corpora": [], "references": [], "neighbours": [], "questions": [], "paraphraser": None,
}  # fmt: skip
RESULTS = Path(__file__).parents[2] / "results" / "embedded"
WORDS = [f"word{n}" for n in range(300)]


def made_up(
    audited: int, known: int, *, methods: int = 3, shift: float = 0.0, texts_each: int = 4, seed: int = 0
) -> ScoredBenchmark:
    """Documents of `texts_each` texts; scores of methods that are alike, and of the texts of one document too."""
    rng = np.random.default_rng(seed)
    count = audited + known
    document = np.arange(count) // texts_each
    shared = rng.normal(size=count // texts_each + 1)[document] * 0.3 + rng.normal(size=count)
    label = np.where(np.arange(count) < audited, np.nan, 0)
    columns = {
        (name, ""): 0.7 * shared + np.sqrt(1 - 0.7**2) * rng.normal(size=count) + shift * np.isnan(label)
        for name in ["loss", "zlib", "lowercase", "ref", "recall"][:methods]
    }
    words = [" ".join(rng.choice(WORDS, 30)) for _ in range(count)]
    names = [f"d{number}" for number in document]
    benchmark = texts(label, fold=document % 5, document=names, length=32, text=words)
    benchmark["text_id"] = [f"t{number:05d}" for number in range(count)]
    return ScoredBenchmark("texts", scores(benchmark, columns, start_token="none"), benchmark)


def audited(scored: ScoredBenchmark, known: ScoredBenchmark | None = None, **given) -> pd.DataFrame:
    return audit(scored, known or scored, [RUN], **given)


def rows(frame: pd.DataFrame, unit: str, method: str = COMBINED) -> pd.DataFrame:
    return frame[(frame["unit"] == unit) & (frame["method"] == method)].set_index("id")


def design(frame: pd.DataFrame) -> dict[str, float]:
    own = frame[frame["unit"] == "design"]
    return dict(zip(own["id"], own["score"], strict=True))


def test_a_p_value_counts_the_non_members_that_score_as_high():
    rng = np.random.default_rng(1)
    scored, known = rng.integers(0, 9, 40).astype(float), rng.integers(0, 9, 25).astype(float)
    expected = [(1 + sum(other >= score for other in known)) / (1 + len(known)) for score in scored]
    assert empirical_p(scored, known) == pytest.approx(expected)
    assert empirical_p([99.0], known)[0] == 1 / 26, "never 0"
    assert np.isnan(empirical_p([np.nan], known)[0])
    assert empirical_p([5.0], [np.nan, 4.0, 6.0])[0] == pytest.approx(2 / 3)


def test_members_are_found_and_non_members_are_not():
    alarms = sum(verdict(audited(made_up(24, 80, seed=seed))).kind == "evidence" for seed in range(8))
    assert alarms <= binom.ppf(0.999, 8, 0.05)
    frame = audited(made_up(24, 80, shift=2.5))
    assert list(frame.columns) == COLUMNS
    assert rows(frame, "document")["flagged"].all()
    assert (
        rows(frame, "document")["effect"].mean()
        > rows(audited(made_up(24, 80)), "document")["effect"].mean() + 1
    )
    assert rows(frame, "text")["flagged"].mean() > 0.5
    assert verdict(frame).kind == "evidence"
    assert len(rows(frame, "document", "zlib")) == 6


def test_each_unit_is_compared_with_the_known_documents_by_the_document_test():
    scored = made_up(8, 60, methods=2, seed=5)
    frame = audited(scored)
    wide = scored.scores.pivot(index="id", columns="method", values="score").to_numpy()
    known = of_slice(wide[8:], np.arange(8, 68) // 4)
    for unit, id, inside in (
        ("document", "d0", slice(0, 4)),
        ("text", "t00005", slice(5, 6)),
        ("all", "", slice(0, 8)),
    ):
        expected = comparisons(known, of_slice(wide[inside], np.arange(8)[inside] // 4), [0, 1])
        for method, result in zip(("loss", "zlib", COMBINED), expected, strict=True):
            row = rows(frame, unit, method).loc[id]
            assert row["p"] == pytest.approx(result.p)
            assert row["effect"] == pytest.approx(result.effect)
            assert row["n"] == 15
    q = rows(frame, "document", "loss")
    assert q["q"].to_numpy() == pytest.approx(false_discovery_control(q["p"]))
    (expected,) = comparisons(
        of_slice(wide[8:, :1], known.document), of_slice(wide[8:12, :1], np.full(4, 2)), []
    )
    assert rows(frame, "known_document", "loss").loc["d2", "p"] == pytest.approx(expected.p)


def test_known_texts_of_a_suspect_document_take_no_part():
    scored = made_up(8, 60, methods=1)
    mixed = scored.benchmark.assign(document=scored.benchmark["document"].replace("d2", "d0"))
    frame = audited(ScoredBenchmark("texts", scored.scores, mixed))
    assert rows(frame, "document", "loss")["n"].to_dict() == {"d0": 15, "d1": 15}
    wide = scored.scores["score"].to_numpy()[:, None]
    known = of_slice(wide[12:], np.arange(12, 68) // 4)
    (expected,) = comparisons(known, of_slice(wide[:4], np.zeros(4, int)), [])
    assert rows(frame, "document", "loss").loc["d0", "p"] == pytest.approx(expected.p)


def test_controls_take_no_part_in_the_combined_evidence():
    scored = made_up(20, 60, methods=1)
    words = scored.scores.assign(method="blind", score=np.where(scored.scores["id"] < "t00020", 9.0, 0.0))
    frame = audited(ScoredBenchmark(scored.name, pd.concat([scored.scores, words]), scored.benchmark), scored)
    assert rows(frame, "text", "loss")["p"].to_numpy() == pytest.approx(rows(frame, "text")["p"].to_numpy())


def test_a_method_whose_highest_score_many_known_texts_share_is_not_combined():
    scored = made_up(20, 60, methods=2)
    tied = scored.scores.assign(
        score=scored.scores["score"].where(
            scored.scores["method"] == "loss", scored.scores["score"].clip(upper=0)
        )
    )
    frame = audited(ScoredBenchmark("texts", tied, scored.benchmark))
    assert rows(frame, "document", "loss")["p"].to_numpy() == pytest.approx(
        rows(frame, "document")["p"].to_numpy()
    )


def test_a_unit_is_compared_with_its_own_length_alone():
    scored = made_up(20, 60)
    known = scored.benchmark["label"].notna().to_numpy()
    longer = scored.benchmark.assign(length=np.where(known, 64, 32)).astype({"length": "Int64"})
    with pytest.raises(InputError, match=r"20 texts without a label.*subset and length.*calibrate_on"):
        audited(ScoredBenchmark("texts", scored.scores, longer))


def test_texts_without_known_non_members_of_their_kind_are_counted(caplog):
    scored = made_up(20, 60)
    table = scored.benchmark.assign(subset=np.where(np.arange(80) < 5, "elsewhere", ""))
    frame = audited(ScoredBenchmark("texts", scored.scores, table))
    assert (frame["unit"] == "text").sum() == 15 * 4
    assert "5 units cannot be audited" in caplog.text


def test_shots_and_draws(caplog):
    """Of two draws the mean counts, and no shot is compared with anything."""
    scored = made_up(20, 60, methods=1)
    recall = [scored.scores.assign(method="recall", setting="shots=7", draw=pd.array([draw] * 80, "Int64"),
                                 score=scored.scores["score"] + draw) for draw in (0, 1)]  # fmt: skip
    shots = pd.DataFrame({"draw": [0, 1], "subset": "", "length": 32, "kind": "nonmember", "position": 0,
                          "text_id": ["t00020", "t00024"]})  # fmt: skip
    with_recall = ScoredBenchmark("texts", pd.concat([scored.scores, *recall]), scored.benchmark, shots)
    frame = audited(with_recall)
    expected = scored.scores.set_index("id")["score"]["t00003"] + 0.5
    assert rows(frame, "text", "recall").loc["t00003", "score"] == pytest.approx(expected)
    checked = rows(frame, "known_document", "recall")["texts"]
    assert checked["d5"] == 4
    mean = scored.scores.set_index("id")["score"][["t00021", "t00022", "t00023"]].mean() + 0.5
    assert rows(frame, "known_document", "recall").loc["d5", "score"] == pytest.approx(mean), (
        "without the shot"
    )


def test_texts_without_a_document_are_documents_of_their_own():
    scored = made_up(20, 60, methods=1)
    alone = ScoredBenchmark("texts", scored.scores, scored.benchmark.assign(document=""))
    frame = audited(alone)
    assert design(frame)["known_documents"] == 60
    text, document = rows(frame, "text", "loss"), rows(frame, "document", "loss")
    assert text["p"].to_dict() == pytest.approx(document["p"].to_dict())
    assert set(text["document"]) == {""}


def test_wording_and_sizes_that_differ_are_told():
    frame = audited(made_up(60, 200))
    controls = frame[frame["unit"] == "control"].set_index("method")
    assert not controls["flagged"].any()
    assert controls.loc[[WORDING, SIZES, CLASSIFIER], "p"].notna().all()
    scored = made_up(60, 200)
    rng = np.random.default_rng(0)
    other = [f"other{n}" for n in range(60)]
    unknown = scored.benchmark["label"].isna()
    words = [" ".join(rng.choice(other, 40)) if mine else text
             for mine, text in zip(unknown, scored.benchmark["text"], strict=True)]  # fmt: skip
    frame = audited(ScoredBenchmark("texts", scored.scores, scored.benchmark.assign(text=words)))
    controls = frame[frame["unit"] == "control"].set_index("method")
    assert controls["flagged"].all()
    assert verdict(frame).kind == "invalid"
    assert len(verdict(frame).reasons) == 3


def test_one_document_of_other_words_is_told_without_a_classifier():
    """The words of one document always differ from others'; what counts is that they differ more than usual."""
    rng = np.random.default_rng(3)
    scored = made_up(8, 160, methods=1)
    topics = {name: rng.choice(WORDS, 60) for name in scored.benchmark["document"].unique()}
    words = [" ".join(rng.choice(topics[name], 30)) for name in scored.benchmark["document"]]
    usual = audited(ScoredBenchmark("texts", scored.scores, scored.benchmark.assign(text=words)))
    assert not usual.loc[usual["unit"] == "control", "flagged"].any()
    strange = [f"{text} {'strange ' * 5}" if n < 8 else text for n, text in enumerate(words)]
    strange = [
        " ".join(f"x{word}" for word in text.split()) if n < 8 else text for n, text in enumerate(strange)
    ]
    frame = audited(ScoredBenchmark("texts", scored.scores, scored.benchmark.assign(text=strange)))
    controls = frame[frame["unit"] == "control"].set_index("method")
    assert controls.loc[WORDING, "flagged"]
    assert np.isnan(controls.loc[CLASSIFIER, "p"]), "two documents are too few for a classifier"


def test_another_benchmarks_non_members_leave_out_what_learns_from_the_own_one():
    scored, other = made_up(20, 60, methods=1), made_up(4, 60, methods=1, seed=9)
    blind = [side.scores.assign(method="blind") for side in (scored, other)]
    frame = audit(
        ScoredBenchmark("mine", pd.concat([scored.scores, blind[0]]), scored.benchmark),
        ScoredBenchmark("theirs", pd.concat([other.scores, blind[1]]), other.benchmark),
        [RUN],
    )
    assert set(frame.loc[frame["unit"] == "text", "method"]) == {"loss", COMBINED}


def positive(effect: float) -> ScoredBenchmark:
    """Thirty passages that a model surely read and a hundred others."""
    scored = made_up(0, 130, methods=3, texts_each=1, seed=8)
    label = (np.arange(130) < 30).astype(int)
    shifted = scored.scores.assign(score=scored.scores["score"] + effect * np.tile(label, 3))
    return ScoredBenchmark("famous", shifted, scored.benchmark.assign(label=pd.array(label, "Int64")))


def test_an_audit_that_does_not_find_what_the_model_surely_read_could_find_nothing():
    strong, weak = (audited(made_up(24, 80, seed=2), positive=positive(effect)) for effect in (1.5, 0.0))
    assert rows(strong, "positive").loc["famous", "p"] < 0.001
    assert rows(strong, "positive").loc["famous", "texts"] == 30
    assert verdict(strong).kind == "none"
    assert verdict(weak).kind == "impossible"
    assert "surely read" in verdict(weak).reasons[0]
    strong = audited(made_up(24, 80, shift=2.5), positive=positive(0.0))
    assert verdict(strong).kind == "evidence", "what was found is not taken back"


def test_too_few_known_documents_have_no_p_and_say_how_many_are_needed():
    frame = audited(made_up(8, 36, shift=9.0))
    assert rows(frame, "document")["p"].isna().all()
    answer = verdict(frame)
    assert answer.kind == "impossible"
    assert "9 known documents" in answer.reasons[0]
    assert "at least 10" in answer.repairs[0]


def test_an_audit_that_cannot_reach_a_low_p_says_so():
    """Ten known texts, and thirty suspects of one text each."""
    rng = np.random.default_rng(0)
    scored = made_up(30, 10, methods=1, texts_each=1)
    near = scored.scores.assign(score=rng.normal(size=40))
    frame = audited(ScoredBenchmark("texts", near, scored.benchmark))
    numbers = design(frame)
    known = of_slice(near["score"].to_numpy()[30:, None], np.arange(10))
    (best,) = comparisons(known, of_slice(np.full((1, 1), 9e9), np.full(1, 10)), [])
    assert numbers["least_p"] == pytest.approx(best.p)
    assert numbers["documents"] == 30


def test_the_p_of_the_whole_audit_is_valid_and_adds_up():
    frame = audited(made_up(24, 80, seed=3))
    least = min(rows(frame, "document")["q"].min(), rows(frame, "all")["p"].item())
    assert design(frame)["verdict_p"] == pytest.approx(min(1, 2 * least))
    single = audited(made_up(4, 80, seed=3))
    assert design(single)["verdict_p"] == pytest.approx(rows(single, "document")["p"].item())


def test_known_documents_are_checked_against_each_other():
    (row,) = low_shares(audited(made_up(24, 200)))
    assert row["n"] == 50
    assert row["low_p"] <= 7
    assert not row["too_many"]
    assert list(low_shares(audited(made_up(8, 36)))) == []


@pytest.mark.full
@pytest.mark.skipif(not (RESULTS / "report.html").exists(), reason="the embedded study has not run here")
def test_audits_of_the_studys_own_models_find_what_was_trained_on_and_nothing_else():
    """Five addresses against 24 others, eight times: the scores of a model that read them, and of one that did not."""
    evidence = {
        model: sum(verdict(frame).kind == "evidence" for frame in real_audits(RESULTS.parent, model, 24, 8))
        for model in ("pico-en-medium", "pico-en-small-null")
    }
    assert evidence["pico-en-medium"] >= 6
    assert evidence["pico-en-small-null"] <= 3
