"""A test of a corpus: its p is exact, and a shift of date shows in the controls."""

from dataclasses import replace
from itertools import combinations
from typing import Any

import numpy as np
import pandas as pd
import pytest
from evaluation_tables import scores, texts
from scipy.stats import binom, binomtest, t

from pretrace.benchmarks.slices import Slice
from pretrace.evaluation.audit_scores import Conditions, ScoredBenchmark
from pretrace.evaluation.corpus_test import (
    SHARES,
    corpus_test,
    documents_needed,
    effects,
    fit,
    p_values,
    sizes,
    smallest_effects,
    t_p_values,
)
from pretrace.evaluation.corpus_units import RANK, Compared, Units, ensemble, prepared, standardised_ranks
from pretrace.methods.bag_of_words import word_counts
from pretrace.runtime.errors import InputError

CONDITIONS = Conditions("none", ["other"])
OLD, NEW = ([f"{kind}{n}" for n in range(200)] for kind in ("old", "new"))


def side(
    documents: int = 40, of_each: int = 4, *, effect: float = 0.0, within: bool = False, dated: float = 0.0,
    seed: int = 0,
) -> ScoredBenchmark:  # fmt: skip
    """Documents of `of_each` texts, suspected ones (or, `within`, half of each one's texts) by `effect` more familiar.

    `dated`: by so much also under the reference model, and in their words.
    """
    rng = np.random.default_rng(seed)
    document = np.repeat(np.arange(documents), of_each)
    count = len(document)
    suspect = (np.tile(np.arange(of_each), documents) if within else document) % 2 == 0
    style = rng.normal(size=documents)[document] + dated * suspect
    reference = style + rng.normal(size=count)
    loss, min_k = (style + rng.normal(size=count) + effect * suspect for _ in range(2))
    words = [" ".join(rng.choice(NEW if new else OLD, 20)) for new in suspect & (dated > 0)]
    benchmark = texts(suspect, fold=document % 5, document=[f"d{n:03d}" for n in document], text=words)
    benchmark["text_id"] = [f"t{n:04d}" for n in range(count)]
    own = scores(benchmark, {("loss", ""): loss, ("min_k", "k=0.2"): min_k}, start_token="none")
    ref = scores(benchmark, {("ref", ""): loss - reference}, start_token="none", reference="other")
    return ScoredBenchmark("speeches", pd.concat([own, ref], ignore_index=True), benchmark)


def compared(scored: ScoredBenchmark, subset: str = "", length: int | None = 64) -> Compared:
    return prepared(scored, CONDITIONS, Slice(subset, length))


def rows_of(scored: ScoredBenchmark, resamples: int = 100) -> pd.DataFrame:
    words = word_counts(scored.benchmark["text"].tolist(), "en")
    return pd.DataFrame(corpus_test(compared(scored), words, resamples))


def numbers(scored: ScoredBenchmark, quantity: str = "p") -> dict[str, float]:
    """By score."""
    rows = rows_of(scored, 400).query(f"quantity == '{quantity}'")
    return dict(zip(rows["method"], rows["value"], strict=True))


def units(
    rng: np.random.Generator, strata: int, suspected: int, held_out: int, scores: int = 3, effect: float = 0.0
) -> Units:
    """Strata of as many units each, with skewed scores that are alike within a stratum."""
    label = np.tile(np.arange(suspected + held_out) < suspected, strata)
    stratum = np.repeat(np.arange(strata), suspected + held_out)
    values = rng.exponential(size=(len(label), scores)) + rng.normal(size=(strata, 1))[stratum]
    document = stratum if strata > 1 else np.arange(len(label))
    names, shown = [f"method{n}" for n in range(scores)], values + effect * label[:, None]
    return Units(
        suspect=label,
        stratum=stratum,
        document=document,
        second=document % 2 == 0 if strata > 1 else document // 2 % 2 == 0,
        texts=np.ones(len(label), dtype=int),
        names=(*names, *(RANK + name for name in names)),
        scores=np.concatenate([shown, standardised_ranks(pd.DataFrame(shown)).to_numpy()], axis=1),
        within=np.zeros((2 * scores, 2 * scores)),
    )


def test_a_p_value_is_that_of_all_relabellings():
    drawn = units(np.random.default_rng(0), 1, 4, 5, scores=1, effect=0.7)
    score = drawn.scores[:, 0]
    gaps = []
    for chosen in combinations(range(9), 4):
        ours = np.isin(np.arange(9), chosen)
        gaps.append(score[ours].mean() - score[~ours].mean())
    observed = score[drawn.suspect].mean() - score[~drawn.suspect].mean()
    exact = np.mean(np.array(gaps) >= observed - 1e-9)
    assert p_values(drawn, 19_999, seed=1)[0] == pytest.approx(exact, abs=0.012)
    spread = score[~drawn.suspect].std(ddof=1)
    assert effects(drawn, np.ones((9, 1)))[0, 0] == pytest.approx(observed / spread)


def test_a_canary_has_its_rank_among_its_twins():
    drawn = units(np.random.default_rng(0), 1, 1, 19, scores=1)
    drawn.scores[0] = np.sort(drawn.scores[:, 0])[-2] + 1e-6  # the second highest of twenty
    drawn.scores[np.argmax(drawn.scores[1:]) + 1] += 1
    assert p_values(drawn, 20_000, seed=1)[0] == pytest.approx(2 / 20, abs=0.01)


@pytest.mark.parametrize(
    ("strata", "suspected", "held_out"), [(1, 24, 24), (12, 1, 9), (30, 1, 1), (12, 3, 3)]
)
def test_where_there_is_nothing_to_find_about_one_in_twenty_is_found(
    strata: int, suspected: int, held_out: int
):
    """Documents, canaries, paired wordings, and texts within documents: fixed scores, and fitted on the other half."""
    rng = np.random.default_rng(strata)
    p = []
    for seed in range(300):
        drawn = units(rng, strata, suspected, held_out)
        fitted = ensemble(drawn)
        assert fitted is not None or min(drawn.where(drawn.second).counts) < 10
        p.append([p_values(scored, 99, seed)[0] for scored in (drawn, fitted) if scored is not None])
    low = (np.array(p) <= 0.05).sum(axis=0)
    assert 0 < low.min() <= low.max() <= binom.ppf(0.999, len(p), 0.05)


@pytest.mark.parametrize("effect", [0.0, 2.0])
def test_the_size_is_nominal_whatever_the_labels_are(effect: float):
    drawn = units(np.random.default_rng(5), 30, 3, 3, effect=effect)
    rows = {row["method"]: row for row in sizes(drawn, ["method0", "method1"], 300, seed=1)}
    assert set(rows) == {"method0", "method1", "ensemble"}
    least, most = binom.ppf([0.001, 0.999], 300, 0.05) / 300
    for row in rows.values():
        assert row["n"] == 300
        assert least <= row["value"] <= most
        interval = binomtest(round(300 * row["value"]), 300).proportion_ci(0.95, method="wilson")
        assert (row["low"], row["high"]) == pytest.approx(tuple(interval))


def test_a_p_that_cannot_be_low_has_size_0():
    rng = np.random.default_rng(0)
    nine_twins = units(rng, 1, 1, 9, scores=1)  # p is about 0.1 at least
    tied = units(rng, 30, 1, 1, scores=1)
    tied.scores[:] = 1.0
    for drawn in (nine_twins, tied):
        [row] = sizes(drawn, ["method0"], 100, seed=1)
        assert row["value"] <= 0.02
    assert sizes(tied, ["method0"], 0, seed=1) == []


@pytest.mark.parametrize(("strata", "size"), [(1, 60), (30, 2)])
def test_the_smallest_effect_is_found_four_times_in_five(strata: int, size: int):
    rng = np.random.default_rng(3)
    effect = [smallest_effects(units(rng, strata, size // 2, size // 2, 1))[0] for _ in range(50)]
    p = []
    for seed in range(200):
        drawn = units(rng, strata, size // 2, size // 2, 1)
        shift = np.mean(effect) * drawn.scores[~drawn.suspect, 0].std(ddof=1)
        shifted = drawn.scored("loss", drawn.scores[:, 0] + shift * drawn.suspect, 0.0)
        p.append(p_values(shifted, 199, seed)[0])
    assert np.mean(np.array(p) <= 0.05) == pytest.approx(0.8, abs=0.1)


@pytest.mark.parametrize("within", [False, True])
def test_training_is_found_and_nothing_is_not(within: bool):
    p = numbers(side(effect=1.5, within=within))
    assert max(p["loss"], p["ensemble"]) < 0.01 < min(p["blind"], p["reference"])
    effect = numbers(side(effect=1.5, within=within), "effect")
    assert effect["difference"] == pytest.approx(effect["loss"] - effect["reference"])
    assert numbers(side(within=within))["loss"] > 0.05


def test_a_shift_of_date_shows_in_the_words_and_leaves_the_difference_of_both_models():
    rows = rows_of(side(dated=1.5), 400).set_index(["method", "quantity"])
    assert rows.loc[("loss", "p"), "value"] < 0.01, "the date alone is enough"
    assert rows.loc[("blind", "p"), "value"] < 0.01
    assert rows.loc[("difference", "effect"), "low"] < 0 < rows.loc[("difference", "effect"), "high"]


def test_documents_of_one_class_do_not_take_part_where_others_have_both(caplog: pytest.LogCaptureFixture):
    mixed = side(within=True)
    mixed.benchmark.loc[mixed.benchmark["document"] == "d003", "label"] = 1
    rows = rows_of(mixed)
    assert set(rows.loc[rows["quantity"].eq("effect") & rows["method"].eq("loss"), "n"]) == {39}
    assert "4 texts take no part in the corpus test: their document has one class" in caplog.text


def test_documents_without_a_counterpart_are_counted_and_left_out(caplog: pytest.LogCaptureFixture):
    scored = side(effect=1.5)
    alone = scored.benchmark["document"].isin(["d000", "d002"])
    without = rows_of(replace(scored, benchmark=scored.benchmark[~alone]))
    scored.benchmark.loc[alone, "subset"] = "elsewhere"
    pd.testing.assert_frame_equal(rows_of(scored), without)
    assert "2 of 40 units take no part in the corpus test" in caplog.text


def test_what_cannot_be_compared_is_refused():
    several = side(within=True)
    several.benchmark.loc[::3, "length"] = 32
    with pytest.raises(
        InputError, match=r"at several lengths, 32, 64.*Name one length in the artifact's panel"
    ):
        compared(several, length=None)
    apart = side()
    apart.benchmark["subset"] = np.where(apart.benchmark["label"] == 1, "ours", "theirs")
    with pytest.raises(InputError, match=r"no suspected text .* has a held-out one"):
        compared(apart)
    with pytest.raises(
        InputError, match="no score of a labelled text of subset 'x', length 64 and start token none"
    ):
        compared(side(), "x")


def unequal(
    rng: np.random.Generator, suspected: tuple[int, int], held_out: tuple[int, int], alike: float
) -> Units:
    """(documents, texts each) of a class; texts of variance 1 that have the share `alike` of it in common."""
    texts = np.repeat([suspected[1], held_out[1]], [suspected[0], held_out[0]])
    document = np.arange(len(texts))
    of_text = np.repeat(document, texts)
    values = alike**0.5 * rng.normal(size=len(texts))[of_text]
    values += (1 - alike) ** 0.5 * rng.normal(size=len(of_text))
    means = np.bincount(of_text, values) / texts
    within = ((values - means[of_text]) ** 2).sum() / (len(of_text) - len(texts))
    return Units(
        suspect=document < suspected[0], stratum=np.zeros_like(document), document=document, second=document % 2 == 0,
        texts=texts, names=("loss",), scores=means[:, None], within=np.array([[within]]),
    )  # fmt: skip


def test_where_texts_of_a_document_have_nothing_in_common_p_is_that_of_a_weighted_regression():
    """Where the likeliest correlation is 0, a document of m texts weighs m: statsmodels' WLS, within its class."""
    drawn = unequal(np.random.default_rng(1), (14, 2), (30, 20), 0.0)
    fitted = fit(drawn)
    ours, theirs = (drawn.scores[drawn.suspect == kind, 0] for kind in (True, False))
    residual = 2 * ((ours - ours.mean()) ** 2).sum() + 20 * ((theirs - theirs.mean()) ** 2).sum()
    error = (residual / 42 * (1 / 14 / 2 + 1 / 30 / 20)) ** 0.5
    assert fitted.error[0, 0] == pytest.approx(error)
    assert fitted.freedom == 42
    assert fitted.difference[0] == pytest.approx(ours.mean() - theirs.mean())
    only = replace(fitted, likely=np.arange(len(SHARES))[:, None] == 0)
    assert only.largest_error[0] == pytest.approx(error)
    assert t_p_values(drawn)[0] >= t.sf((ours.mean() - theirs.mean()) / error, 42) * fitted.likely[0, 0]


@pytest.mark.parametrize("alike", [0.0, 0.1, 0.7])
def test_the_likely_correlations_hold_the_true_one_about_two_times_in_three(alike: float):
    rng = np.random.default_rng(2)
    true = SHARES.index(alike)
    held = np.mean([fit(unequal(rng, (30, 3), (60, 10), alike)).likely[true, 0] for _ in range(300)])
    assert 0.55 < held < 0.9


@pytest.mark.parametrize(
    ("suspected", "held_out"),
    [((20, 3), (60, 30)), ((20, 1), (100, 20)), ((60, 30), (20, 3)), ((10, 30), (40, 1))],
)
def test_documents_with_different_numbers_of_texts_have_no_more_false_alarms_than_the_level(
    suspected: tuple[int, int], held_out: tuple[int, int]
):
    rng = np.random.default_rng(suspected[1])
    drawn = [unequal(rng, suspected, held_out, 0.1) for _ in range(300)]
    p = np.array([p_values(own, 99, 1)[0] for own in drawn])
    least, most = binom.ppf([0.0005, 0.9995], 300, 0.05) / 300
    assert 0.5 * least <= (p <= 0.05).mean() <= most
    effect = [smallest_effects(own)[0] * own.scores[~own.suspect, 0].std(ddof=1) for own in drawn[:200]]
    shifted = [replace(own, scores=own.scores + np.median(effect) * own.suspect[:, None]) for own in drawn]
    assert np.mean([p_values(own, 99, 1)[0] <= 0.05 for own in shifted]) == pytest.approx(0.8, abs=0.09)


def test_the_size_of_unequal_documents_is_that_of_scores_drawn_anew():
    drawn = unequal(np.random.default_rng(4), (20, 1), (100, 20), 0.1)
    for scored in (drawn, replace(drawn, scores=drawn.scores + 2.0 * drawn.suspect[:, None])):
        [row] = sizes(scored, ["loss"], 400, seed=1)
        assert 0.01 < row["value"] <= binom.ppf(0.999, 400, 0.05) / 400


def test_too_few_documents_with_different_numbers_of_texts_have_no_p():
    few, enough = (unequal(np.random.default_rng(5), (count, 3), (40, 5), 0.1) for count in (9, 10))
    assert (documents_needed(few), documents_needed(enough)) == (10, 0)
    assert documents_needed(replace(few, texts=np.full(49, 3))) == 0, "relabelling is exact at any number"


def short_of_texts(documents: int, **given: Any) -> ScoredBenchmark:
    """A side whose suspected documents lack a text."""
    whole = side(documents, **given)
    last = whole.benchmark["text_id"].str[1:].astype(int) % 4 == 3
    return replace(whole, benchmark=whole.benchmark[~(last & whole.benchmark["label"].eq(1))])


def test_a_missing_p_says_how_many_documents_are_needed():
    few, enough = (
        rows_of(scored).query("method == 'loss'").set_index("quantity")["value"]
        for scored in (short_of_texts(12), short_of_texts(40, effect=1.5))
    )
    assert few[["p", "smallest_effect"]].isna().all()
    assert (few["needed"], few["unequal"]) == (10, 1)
    assert enough["p"] < 0.01
    assert "needed" not in enough
