"""A test of a corpus: its p is exact, its power grows with documents, and a shift of date shows in the controls."""

from itertools import combinations

import numpy as np
import pandas as pd
import pytest
from scipy.stats import binom, binomtest

from pretrace.evaluation.audit_scores import ScoredBenchmark
from pretrace.evaluation.corpus_power import corpus_power
from pretrace.evaluation.corpus_test import corpus_test, effects, p_values, sizes, smallest_effects
from pretrace.evaluation.corpus_units import Units, ensemble
from pretrace.runtime.errors import InputError

ASKED = {"subset": None, "length": 64, "start_token": "none", "references": [], "methods": ["loss", "min_k"],
         "redraws": 0}  # fmt: skip
OLD, NEW = ([f"{kind}{n}" for n in range(200)] for kind in ("old", "new"))


def side(
    documents: int = 40, texts: int = 4, *, effect: float = 0.0, within: bool = False, dated: float = 0.0, seed: int = 0
) -> ScoredBenchmark:  # fmt: skip
    """Documents of `texts` texts, suspected ones (or, `within`, half of each one's texts) by `effect` more familiar.

    `dated`: by so much also under the reference model, and in their words.
    """
    rng = np.random.default_rng(seed)
    document = np.repeat(np.arange(documents), texts)
    suspect = (np.tile(np.arange(texts), documents) if within else document) % 2 == 0
    ids = [f"t{n:04d}" for n in range(len(document))]
    style = rng.normal(size=documents)[document] + dated * suspect
    reference = style + rng.normal(size=len(ids))
    found = effect * suspect
    scores = {
        "loss": style + rng.normal(size=len(ids)) + found,
        "min_k": style + rng.normal(size=len(ids)) + found,
    }
    scores["ref"] = scores["loss"] - reference
    words = [rng.choice(NEW if old else OLD, 20) for old in suspect & (dated > 0)]
    frames = [
        pd.DataFrame({"unit": "text", "id": ids, "method": method, "setting": "k=0.2" if method == "min_k" else "",
                      "view": "original", "start_token": "none", "draw": pd.array([pd.NA] * len(ids), "Int64"),
                      "reference": "other" if method == "ref" else "", "score": values})
        for method, values in scores.items()
    ]  # fmt: skip
    benchmark = pd.DataFrame(
        {"text_id": ids, "text": [" ".join(of) for of in words], "label": pd.array(suspect.astype(int), "Int64"),
         "subset": "", "length": pd.array([64] * len(ids), "Int64"),
         "document": [f"d{n:03d}" for n in document], "fold": document % 5}
    )  # fmt: skip
    return ScoredBenchmark("speeches", pd.concat(frames, ignore_index=True), benchmark)


def numbers(of: ScoredBenchmark, quantity: str = "corpus_p") -> dict[str, float]:
    """By score."""
    rows = corpus_test(of, ASKED | {"references": ["other"]}, "en", 400)
    return {row["method"]: row["value"] for row in rows if row["quantity"] == quantity}


def units(
    rng: np.random.Generator, strata: int, suspected: int, held_out: int, scores: int = 3, effect: float = 0.0
) -> Units:
    """Strata of as many units each, with skewed scores that are alike within a stratum."""
    label = np.tile(np.arange(suspected + held_out) < suspected, strata)
    stratum = np.repeat(np.arange(strata), suspected + held_out)
    values = rng.exponential(size=(len(label), scores)) + rng.normal(size=(strata, 1))[stratum]
    document = stratum if strata > 1 else np.arange(len(label))
    return Units(
        label,
        stratum,
        document,
        document % 2 == 0 if strata > 1 else document // 2 % 2 == 0,
        tuple(f"method{n}" for n in range(scores)),
        values + effect * label[:, None],
    )


def test_a_p_value_is_that_of_all_relabellings():
    of = units(np.random.default_rng(0), 1, 4, 5, scores=1, effect=0.7)
    gaps = []
    for chosen in combinations(range(9), 4):
        ours = np.isin(np.arange(9), chosen)
        gaps.append(of.scores[ours, 0].mean() - of.scores[~ours, 0].mean())
    observed = of.scores[of.suspect, 0].mean() - of.scores[~of.suspect, 0].mean()
    exact = np.mean(np.array(gaps) >= observed - 1e-9)
    assert p_values(of, 19_999, seed=1)[0] == pytest.approx(exact, abs=0.012)
    spread = of.scores[~of.suspect, 0].std(ddof=1)
    assert effects(of, np.ones((9, 1)))[0, 0] == pytest.approx(observed / spread)


def test_a_canary_has_its_rank_among_its_twins():
    of = units(np.random.default_rng(0), 1, 1, 19, scores=1)
    of.scores[0] = np.sort(of.scores[:, 0])[-2] + 1e-6  # the second highest of twenty
    of.scores[np.argmax(of.scores[1:]) + 1] += 1
    assert p_values(of, 20_000, seed=1)[0] == pytest.approx(2 / 20, abs=0.01)


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
        of = units(rng, strata, suspected, held_out)
        fitted = ensemble(of)
        assert fitted is not None or min(of.of(of.second).counts) < 10
        p.append([p_values(one, 99, seed)[0] for one in (of, fitted) if one is not None])
    most = binom.ppf(0.999, len(p), 0.05)
    assert (np.array(p) <= 0.05).sum(axis=0).max() <= most
    assert (np.array(p) <= 0.05).sum(axis=0).min() > 0, "it is not merely silent"


@pytest.mark.parametrize("effect", [0.0, 2.0])
def test_the_size_is_nominal_whatever_the_labels_are(effect: float):
    of = units(np.random.default_rng(5), 30, 3, 3, effect=effect)
    rows = {row["method"]: row for row in sizes(of, ["method0", "method1"], 300, seed=1)}
    assert set(rows) == {"method0", "method1", "ensemble"}
    least, most = binom.ppf([0.001, 0.999], 300, 0.05) / 300
    for row in rows.values():
        assert (row["quantity"], row["n"]) == ("corpus_size", 300)
        assert least <= row["value"] <= most
        interval = binomtest(round(300 * row["value"]), 300).proportion_ci(0.95, method="wilson")
        assert (row["low"], row["high"]) == pytest.approx(tuple(interval))


def test_a_p_that_cannot_be_low_has_size_0():
    rng = np.random.default_rng(0)
    nine_twins = units(rng, 1, 1, 9, scores=1)  # p is about 0.1 at least
    tied = units(rng, 30, 1, 1, scores=1)
    tied.scores[:] = 1.0
    for of in (nine_twins, tied):
        [row] = sizes(of, ["method0"], 100, seed=1)
        assert row["value"] <= 0.02
    assert sizes(tied, ["method0"], 0, seed=1) == []


@pytest.mark.parametrize(("strata", "size"), [(1, 60), (30, 2)])
def test_the_smallest_effect_is_found_four_times_in_five(strata: int, size: int):
    rng = np.random.default_rng(3)
    least = float(np.mean([smallest_effects(units(rng, strata, size // 2, size // 2, 1)) for _ in range(50)]))
    found = []
    for seed in range(200):
        of = units(rng, strata, size // 2, size // 2, 1)
        shift = least * of.scores[~of.suspect].std(ddof=1)
        found.append(p_values(of.scored("loss", of.scores[:, 0] + shift * of.suspect), 199, seed)[0] <= 0.05)
    assert np.mean(found) == pytest.approx(0.8, abs=0.1)


@pytest.mark.parametrize("within", [False, True])
def test_training_is_found_and_nothing_is_not(within: bool):
    p = numbers(side(effect=1.5, within=within))
    assert p["loss"] < 0.01
    assert p["ensemble"] < 0.01
    assert min(p["blind"], p["reference"]) > 0.01
    effect = numbers(side(effect=1.5, within=within), "corpus_effect")
    assert effect["difference"] == pytest.approx(effect["loss"] - effect["reference"])
    assert numbers(side(within=within))["loss"] > 0.05


def test_a_shift_of_date_shows_in_the_words_and_leaves_the_difference_of_both_models():
    dated = side(dated=1.5)
    p = numbers(dated)
    assert p["loss"] < 0.01, "the date alone is enough"
    assert p["blind"] < 0.01
    rows = pd.DataFrame(corpus_test(dated, ASKED | {"references": ["other"]}, "en", 400))
    row = rows[(rows["method"] == "difference") & (rows["quantity"] == "corpus_effect")].iloc[0]
    assert row["low"] < 0 < row["high"]


@pytest.mark.parametrize("within", [False, True])
def test_power_grows_with_documents_and_false_alarms_do_not(within: bool):
    def curve(effect: float) -> pd.Series:
        rows = pd.DataFrame(corpus_power(side(80, effect=effect, within=within), ASKED))
        return rows[rows["method"] == "loss"].set_index("documents")["value"]

    power = curve(1.2)
    assert power.loc[16] > power.loc[4] + 0.2 > 0.2
    assert power.loc[16] > 0.8
    assert list(power.index) == ([1, 2, 4, 8, 16, 32] if within else [1, 2, 4, 8, 16])
    assert curve(0.0).max() < 0.15


def test_documents_of_one_class_do_not_take_part_where_others_have_both(caplog: pytest.LogCaptureFixture):
    mixed = side(within=True)
    mixed.benchmark.loc[mixed.benchmark["document"] == "d003", "label"] = 1
    rows = pd.DataFrame(corpus_test(mixed, ASKED, "en", 100))
    assert set(rows.loc[rows["quantity"].eq("corpus_effect") & rows["method"].eq("loss"), "n"]) == {39}
    assert "4 texts take no part in the corpus test: their document has one class" in caplog.text


def test_documents_without_a_counterpart_are_counted_and_left_out(caplog: pytest.LogCaptureFixture):
    scored = side(effect=1.5)
    alone = scored.benchmark["document"].isin(["d000", "d002"])
    whole = corpus_test(
        ScoredBenchmark("speeches", scored.scores, scored.benchmark[~alone]), ASKED, "en", 100
    )
    scored.benchmark.loc[alone, "subset"] = "elsewhere"
    assert corpus_test(scored, ASKED, "en", 100) == whole
    assert "2 of 40 units take no part in the corpus test" in caplog.text


def test_what_cannot_be_compared_is_refused():
    several = side(within=True)
    several.benchmark.loc[::3, "length"] = 32
    with pytest.raises(
        InputError, match=r"at several lengths, 32, 64.*Name one length in the artifact's panel"
    ):
        corpus_test(several, ASKED | {"length": None}, "en", 100)
    apart = side()
    apart.benchmark["subset"] = np.where(apart.benchmark["label"] == 1, "ours", "theirs")
    with pytest.raises(InputError, match=r"no suspected text .* has a held-out one"):
        corpus_test(apart, ASKED, "en", 100)
    with pytest.raises(InputError, match="no score of a labelled text of subset 'x', length 64"):
        corpus_test(side(), ASKED | {"subset": "x"}, "en", 100)
