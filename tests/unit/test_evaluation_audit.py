"""Unlabelled texts against known non-members: p-values, their combination, and how many of nothing are flagged."""

import numpy as np
import pandas as pd
import pytest
from evaluation_tables import scores, texts

from pretrace.evaluation.audit import COLUMNS, COMBINED, audit
from pretrace.evaluation.audit_power import power
from pretrace.evaluation.audit_scores import ScoredBenchmark
from pretrace.evaluation.evidence import cauchy_p, cauchy_variable, empirical_p
from pretrace.runtime.errors import InputError

RUN = {
    "start_token": "none", "corpora": [], "references": [], "neighbours": [], "questions": [], "paraphraser": None,
}  # fmt: skip
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
    names = [f"d{at}" for at in document]
    benchmark = texts(label, fold=document % 5, document=names, length=32, text=words)
    benchmark["text_id"] = [f"t{at:05d}" for at in range(count)]
    return ScoredBenchmark("texts", scores(benchmark, columns, start_token="none"), benchmark)


def test_a_p_value_counts_the_non_members_that_score_as_high():
    rng = np.random.default_rng(1)
    scored, known = rng.integers(0, 9, 40).astype(float), rng.integers(0, 9, 25).astype(float)
    expected = [(1 + sum(other >= score for other in known)) / (1 + len(known)) for score in scored]
    assert empirical_p(scored, known) == pytest.approx(expected)
    assert empirical_p([99.0], known)[0] == 1 / 26, "never 0"
    assert np.isnan(empirical_p([np.nan], known)[0])
    assert empirical_p([5.0], [np.nan, 4.0, 6.0])[0] == pytest.approx(2 / 3)


def test_cauchy_keeps_one_p_value_and_agrees_with_its_formula():
    p = np.array([0.004, 0.05, 0.6])
    assert cauchy_p(cauchy_variable(p)) == pytest.approx(p)
    by_hand = 0.5 - np.arctan((np.tan((0.5 - 0.004) * np.pi) + np.tan((0.5 - 0.6) * np.pi)) / 2) / np.pi
    assert cauchy_p(cauchy_variable(p[[0, 2]]).mean()) == pytest.approx(by_hand)
    assert cauchy_p(cauchy_variable([1.0, 0.001]).mean()) < 0.01, (
        "one hopeless method does not outvote the rest"
    )


def test_an_audit_of_non_members_flags_about_nobody_and_one_of_members_flags_them():
    runs = [RUN]
    flagged = [audit(s, s, runs)[lambda f: f["unit"].eq("text")]["flagged"].any()
               for s in (made_up(80, 200, seed=seed) for seed in range(12))]  # fmt: skip
    assert sum(flagged) <= 3
    scored = made_up(80, 200, shift=2.5)
    frame = audit(scored, scored, runs)
    assert list(frame.columns) == COLUMNS
    by = frame.groupby(["unit", "method"])["flagged"].mean()
    assert by["text", COMBINED] > 0.5
    assert by["document", COMBINED] > by["text", COMBINED]
    assert by["nonmember", COMBINED] < 0.09
    assert frame.groupby(["unit", "method"]).size()["document", "zlib"] == 20


def test_each_number_of_an_audit_by_hand():
    scored = made_up(8, 40, methods=2, seed=5)
    frame = audit(scored, scored, [RUN]).set_index(["unit", "method", "id"])
    score = scored.scores.set_index(["method", "id"])["score"]
    p = {}
    for method in ("loss", "zlib"):
        known = score[method][[f"t{i:05d}" for i in range(8, 48)]]
        for i in range(4):
            text = f"t{i:05d}"
            p[method, text] = (1 + (known >= score[method, text]).sum()) / 41
            assert frame.loc[("text", method, text), "p"] == pytest.approx(p[method, text])
            assert frame.loc[("text", method, text), "score"] == score[method, text]
    tangents = {key: np.tan((0.5 - min(one, 0.99)) * np.pi) for key, one in p.items()}
    together = 0.5 - np.arctan(np.mean(list(tangents.values()))) / np.pi
    assert frame.loc[("document", COMBINED, "d0"), "p"] == pytest.approx(together)
    other = [f"t{i:05d}" for i in range(8, 48) if i // 4 % 5 != 2]  # document 2 is in fold 2
    expected = (1 + (score["loss"][other] >= score["loss", "t00008"]).sum()) / (1 + len(other))
    assert frame.loc[("nonmember", "loss", "t00008"), "p"] == pytest.approx(expected)


def test_controls_take_no_part_in_the_combined_evidence():
    scored = made_up(20, 60, methods=1)
    words = scored.scores.assign(method="blind", score=np.where(scored.scores["id"] < "t00020", 9.0, 0.0))
    frame = audit(
        ScoredBenchmark(scored.name, pd.concat([scored.scores, words]), scored.benchmark), scored, [RUN]
    )
    of = frame[frame["unit"] == "text"].set_index(["method", "id"])["p"]
    assert of["loss"].clip(upper=0.99).to_numpy() == pytest.approx(of[COMBINED].to_numpy())


def test_a_unit_is_compared_with_its_own_length_alone():
    scored = made_up(20, 60)
    known = scored.benchmark["label"].notna().to_numpy()
    longer = scored.benchmark.assign(length=np.where(known, 64, 32)).astype({"length": "Int64"})
    both = ScoredBenchmark("texts", scored.scores, longer)
    with pytest.raises(InputError, match=r"20 texts without a label.*subset and length.*calibrate_on"):
        audit(both, both, [RUN])


def test_texts_without_known_non_members_of_their_kind_are_counted(caplog):
    scored = made_up(20, 60)
    table = scored.benchmark.assign(subset=np.where(np.arange(80) < 5, "elsewhere", ""))
    both = ScoredBenchmark("texts", scored.scores, table)
    found = audit(both, both, [RUN])
    assert (found["unit"] == "text").sum() == 15 * 4
    assert "5 units cannot be audited" in caplog.text


def test_shots_and_draws(caplog):
    """Of two draws the mean counts, and no shot is compared with anything."""
    scored = made_up(20, 60, methods=1)
    recall = [scored.scores.assign(method="recall", setting="shots=7", draw=pd.array([draw] * 80, "Int64"),
                                 score=scored.scores["score"] + draw) for draw in (0, 1)]  # fmt: skip
    shots = pd.DataFrame({"draw": [0, 1], "subset": "", "length": 32, "kind": "nonmember", "position": 0,
                          "text_id": ["t00020", "t00024"]})  # fmt: skip
    with_recall = ScoredBenchmark("texts", pd.concat([scored.scores, *recall]), scored.benchmark, shots)
    frame = audit(with_recall, with_recall, [RUN]).set_index(["unit", "method", "id"])
    assert frame.loc[("text", "recall", "t00003"), "score"] == pytest.approx(
        scored.scores.set_index("id")["score"]["t00003"] + 0.5
    )
    assert ("nonmember", "recall", "t00020") not in frame.index
    assert ("nonmember", "recall", "t00024") not in frame.index
    assert ("nonmember", "loss", "t00020") in frame.index


def test_words_and_sizes_that_differ_are_told():
    same = made_up(60, 200)
    controls = audit(same, same, [RUN])[lambda f: f["unit"].eq("control")].set_index("method")
    assert not controls["flagged"].any()
    rng = np.random.default_rng(0)
    unknown = same.benchmark["label"].isna()
    words = [" ".join(rng.choice(WORDS[:60], 40)) if one else text
             for one, text in zip(unknown, same.benchmark["text"], strict=True)]  # fmt: skip
    other = ScoredBenchmark("texts", same.scores, same.benchmark.assign(text=words))
    controls = audit(other, other, [RUN])[lambda f: f["unit"].eq("control")].set_index("method")
    assert controls["flagged"].all()
    assert (controls["score"] > 0.9).all()


def test_another_benchmarks_non_members_leave_out_what_learns_from_the_own_one():
    scored, other = made_up(20, 60, methods=1), made_up(4, 60, methods=1, seed=9)
    blind = [one.scores.assign(method="blind") for one in (scored, other)]
    frame = audit(
        ScoredBenchmark("mine", pd.concat([scored.scores, blind[0]]), scored.benchmark),
        ScoredBenchmark("theirs", pd.concat([other.scores, blind[1]]), other.benchmark),
        [RUN],
    )
    assert set(frame.loc[frame["unit"] == "text", "method"]) == {"loss", COMBINED}


def test_members_that_tie_at_the_top_do_not_mute_a_method_of_the_power() -> None:
    """An audit knows the ties of its non-members alone, and so does what is said of its power."""
    rng = np.random.default_rng(0)
    scored = made_up(0, 400, methods=2, texts_each=8)
    label = np.repeat(np.arange(50) % 2, 8)
    benchmark = scored.benchmark.assign(label=pd.array(label, "Int64"), fold=np.arange(50).repeat(8) // 2 % 5)
    loss = scored.scores["method"] == "loss"
    top = np.where((label == 1) & (rng.random(400) < 0.4), 9.0, rng.normal(size=400) / 10)
    scores = scored.scores.assign(score=np.where(loss, np.concatenate([top, top]), scored.scores["score"]))
    asked = {"length": 32, "start_token": "none", "references": [], "methods": []}
    found = pd.DataFrame(power(ScoredBenchmark("texts", scores, benchmark), asked))
    at = found[(found["label"] == 1) & (found["texts"] == 1)].set_index("method")["value"]
    assert at[COMBINED] > 0.3
