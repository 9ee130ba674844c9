"""Unlabelled texts against known non-members: units, p-values, controls, design, and
the verdict on all of it."""

from dataclasses import replace
from itertools import combinations
from math import comb, log10

import numpy as np
import pandas as pd
import pytest
from evaluation_tables import scores, texts
from scipy.sparse import csr_matrix
from scipy.stats import binom, false_discovery_control
from sklearn.linear_model import Ridge

from pretrace.audit.adjusted_scores import (
    EXPLAINED,
    Column,
    alone,
    explained,
    in_groups,
    may_explain,
    reliability_of_order,
    two_groups,
)
from pretrace.audit.analysis import audit, checks_before_scores
from pretrace.audit.controls import (
    COPIES,
    FORM,
    LETTERS,
    PARTS,
    SIZES,
    SPREAD,
    WORD,
    WORDS,
)
from pretrace.audit.documents import FORM_FEATURES, Documents
from pretrace.audit.exchange_test import AuditedTexts, exchanged_p, units_of
from pretrace.audit.own_features import (
    ORDER,
    OWN_PHRASE,
    OWN_WORD,
    order_of_words,
    own_share,
    own_term,
)
from pretrace.audit.rows import AUDIT_COLUMNS, COMBINED, AuditRow, audit_table
from pretrace.audit.scores import ScoredBenchmark
from pretrace.audit.verdict import invalid, repairs, verdict
from pretrace.evaluation.significance import empirical_p
from pretrace.runtime.errors import InputError

RUN = {
    "start_token": "none", "corpora": [], "references": [], "neighbours": [],
    "questions": [], "paraphraser": None,
}  # fmt: skip
VOCABULARY = [f"word{n}" for n in range(300)]


def made_up(
    audited: int,
    known: int,
    *,
    methods: int = 3,
    shift: float = 0.0,
    texts_each: int = 4,
    seed: int = 0,
) -> ScoredBenchmark:
    """Documents of `texts_each` texts; scores of methods that are alike, and of the
    texts of one document too."""
    rng = np.random.default_rng(seed)
    count = audited + known
    document = np.arange(count) // texts_each
    of_document = rng.normal(size=count // texts_each + 1)[document] * 0.3
    shared = of_document + rng.normal(size=count)
    label = np.where(np.arange(count) < audited, np.nan, 0)
    columns = {}
    for name in ["loss", "zlib", "lowercase", "ref", "recall"][:methods]:
        own = np.sqrt(1 - 0.7**2) * rng.normal(size=count)
        columns[name, ""] = 0.7 * shared + own + shift * np.isnan(label)
    words = [" ".join(rng.choice(VOCABULARY, 30)) for _ in range(count)]
    names = [f"d{number}" for number in document]
    benchmark = texts(label, fold=document % 5, document=names, length=32, text=words)
    benchmark["text_id"] = [f"t{number:05d}" for number in range(count)]
    frame = scores(benchmark, columns, start_token="none")
    return ScoredBenchmark("texts", frame, benchmark)


def audited(
    scored: ScoredBenchmark, known: ScoredBenchmark | None = None, **given
) -> pd.DataFrame:
    return audit(scored, known or scored, [RUN], **given)


def rows(frame: pd.DataFrame, unit: str, method: str = COMBINED) -> pd.DataFrame:
    return frame[(frame["unit"] == unit) & (frame["method"] == method)].set_index("id")


def design(frame: pd.DataFrame) -> dict[str, float]:
    return frame[frame["unit"] == "design"].set_index("id")["score"].to_dict()


def changed(scored: ScoredBenchmark, score=None, **columns) -> ScoredBenchmark:
    """The same with other scores, or with other columns of the texts."""
    table = scored.scores if score is None else scored.scores.assign(score=score)
    return ScoredBenchmark("texts", table, scored.benchmark.assign(**columns))


def test_a_p_value_counts_the_non_members_that_score_as_high():
    rng = np.random.default_rng(1)
    scored = rng.integers(0, 9, 40).astype(float)
    known = rng.integers(0, 9, 25).astype(float)
    expected = []
    for score in scored:
        higher = sum(other >= score for other in known)
        expected.append((1 + higher) / (1 + len(known)))
    assert empirical_p(scored, known) == pytest.approx(expected)
    assert empirical_p([99.0], known)[0] == 1 / 26, "never 0"
    assert np.isnan(empirical_p([np.nan], known)[0])
    assert empirical_p([5.0], [np.nan, 4.0, 6.0])[0] == pytest.approx(2 / 3)


def test_members_are_found_and_non_members_are_not():
    alarms = 0
    for seed in range(8):
        unread = audited(made_up(28, 80, seed=seed))
        alarms += verdict(unread).kind == "evidence"
    assert alarms <= binom.ppf(0.999, 8, 0.05)
    frame = audited(made_up(28, 80, shift=2.5))
    assert list(frame.columns) == AUDIT_COLUMNS
    assert rows(frame, "all")["p"].item() < 0.001
    effect = rows(frame, "document")["effect"].mean()
    assert effect > rows(unread, "document")["effect"].mean() + 1
    assert verdict(frame).kind == "evidence"
    of_zlib = rows(frame, "document", "zlib")
    assert len(of_zlib) == 7
    assert of_zlib["p"].isna().all(), "single methods are no evidence"


@pytest.mark.full
def test_more_ways_than_a_float_holds_are_an_audit_as_any():
    frame = audited(made_up(515, 515, methods=1, texts_each=1, shift=0.5))
    assert design(frame)["log10_ways"] == pytest.approx(log10(comb(1030, 515)))
    assert rows(frame, "all")["p"].item() < 0.001
    assert verdict(frame).kind == "evidence"


def test_each_unit_is_compared_with_the_known_documents():
    scored = made_up(8, 60, methods=2, seed=5)
    frame = audited(scored)
    wide = scored.scores.pivot(index="id", columns="method", values="score").to_numpy()
    document = np.arange(68) // 4
    given = AuditedTexts(wide, document, np.zeros_like(document), document < 2)
    ranks = given.ranks([0, 1])[:, -1]
    expected = units_of(given, ranks)
    together = rows(frame, "all").loc[""]
    assert together["p"] == pytest.approx(expected.p(0))
    assert together["effect"] == pytest.approx(expected.effect)
    own = rows(frame, "document")
    assert own["p"].to_numpy() == pytest.approx(expected.conformal_p[:2])
    assert own["q"].to_numpy() == pytest.approx(false_discovery_control(own["p"]))
    assert own["n"].tolist() == [15, 15]
    higher = 0
    for known in range(2, 17):
        higher += (ranks[document == known] >= ranks[5]).mean()
    p_of_text = rows(frame, "text").loc["t00005", "p"]
    assert p_of_text == pytest.approx((1 + higher) / 16)


def test_label_1_is_in_question_where_no_text_is_without_a_label():
    scored = made_up(28, 80, shift=2.5)
    labelled = changed(scored, label=scored.benchmark["label"].fillna(1))
    pd.testing.assert_frame_equal(audited(scored), audited(labelled))


def test_labels_drawn_within_documents_are_exchanged_there():
    scored = made_up(0, 80, seed=3)
    label = (np.arange(80) % 4 == 1).astype(int)
    as_drawn = changed(scored, label=pd.array(label, "Int64"))
    higher = changed(as_drawn, scored.scores["score"] + 2 * np.tile(label, 3))
    frame = audited(higher, randomised=True)
    assert 10 ** design(frame)["log10_ways"] == pytest.approx(4.0**20)
    assert verdict(frame).kind == "evidence"
    assert set(frame["unit"]).isdisjoint({"control", "document"})
    assert verdict(audited(as_drawn, randomised=True)).kind != "evidence"
    first = higher.benchmark.head(40)
    longer = first.assign(length=64, text_id=first["text_id"] + "x")
    more = higher.scores[higher.scores["id"].isin(first["text_id"])]
    all_scores = pd.concat([higher.scores, more.assign(id=more["id"] + "x")])
    all_texts = pd.concat([higher.benchmark, longer])
    both = ScoredBenchmark("texts", all_scores, all_texts)
    assert design(audited(both, randomised=True))["texts"] == 20, "one length"


def test_known_texts_of_a_suspect_document_take_no_part():
    scored = made_up(8, 60, methods=1)
    mixed = changed(scored, document=scored.benchmark["document"].replace("d2", "d0"))
    documents = rows(audited(mixed), "document")
    assert documents["n"].to_dict() == {"d0": 14, "d1": 14}
    wide = scored.scores["score"].to_numpy()[np.r_[0:8, 12:68], None]
    document = np.repeat(np.arange(16), 4)
    given = AuditedTexts(wide, document, np.zeros_like(document), document < 2)
    expected = units_of(given, given.ranks([0])[:, -1])
    assert documents["p"].to_numpy() == pytest.approx(expected.conformal_p[:2])


def test_controls_and_a_method_whose_highest_score_many_known_texts_share_are_not_combined():
    one = made_up(20, 60, methods=1)
    two = made_up(20, 60, methods=2)
    of_words = np.where(one.scores["id"] < "t00020", 9.0, 0.0)
    words = one.scores.assign(method="blind", score=of_words)
    with_words = pd.concat([one.scores, words])
    own = two.scores["score"]
    score = own.where(two.scores["method"] == "loss", own.clip(upper=0))
    tied = two.scores.assign(score=score)
    for table, known in ((with_words, one), (tied, None)):
        frame = audited(ScoredBenchmark("texts", table, one.benchmark), known)
        combined = rows(frame, "document")["effect"].to_numpy()
        alone = rows(frame, "document", "loss")["effect"].to_numpy()
        assert combined == pytest.approx(alone)


def test_a_unit_is_compared_with_its_own_length_alone():
    scored = made_up(20, 60)
    length = np.where(scored.benchmark["label"].notna(), 64, 32)
    longer = changed(scored, length=pd.array(length, "Int64"))
    says = r"20 texts in question.*subset and length.*calibrate_on"
    with pytest.raises(InputError, match=says):
        audited(longer)


def test_texts_without_known_non_members_of_their_kind_are_counted(caplog):
    scored = made_up(20, 60)
    subset = ["elsewhere"] * 5 + [""] * 75
    frame = audited(changed(scored, subset=subset))
    assert (frame["unit"] == "text").sum() == 15
    assert "5 units cannot be audited" in caplog.text


def test_shots_and_draws(caplog):
    """Of two draws the mean counts, and no shot is compared with anything."""
    caplog.set_level("INFO")
    scored = made_up(20, 60, methods=1)
    loss = scored.scores
    recall = loss.assign(method="recall", setting="shots=7")
    first = recall.assign(draw=pd.array([0] * 80, "Int64"))
    second = first.assign(draw=first["draw"] + 1, score=loss["score"] + 1)
    shots = pd.DataFrame(
        {
            "draw": [0, 1],
            "subset": "",
            "length": 32,
            "kind": "nonmember",
            "position": 0,
            "text_id": ["t00020", "t00024"],
        }
    )
    table = pd.concat([loss, first, second])
    frame = audited(ScoredBenchmark("texts", table, scored.benchmark, shots))
    of_d0 = loss.loc[loss["id"] <= "t00003", "score"]
    expected = of_d0.mean() + 0.5
    score = rows(frame, "document", "recall").loc["d0", "score"]
    assert score == pytest.approx(expected)
    assert "methods with shots leave out 2 texts" in caplog.text


def test_texts_without_a_document_are_documents_of_their_own():
    """They name no length either, as in a file of texts alone."""
    scored = made_up(20, 60, methods=1)
    frame = audited(changed(scored, document="", length=np.nan))
    assert design(frame)["known_documents"] == 60
    text = rows(frame, "text")
    document = rows(frame, "document")
    assert text["p"].to_dict() == pytest.approx(document["p"].to_dict())
    assert set(text["document"]) == {""}


def controls(frame: pd.DataFrame) -> pd.DataFrame:
    return frame[frame["unit"] == "control"].set_index("method")


def worded(scored: ScoredBenchmark, change) -> ScoredBenchmark:
    """The same with other texts in question: `change` makes them of a text and its
    number."""
    new = scored.benchmark["text"].tolist()
    for number in np.flatnonzero(scored.benchmark["label"].isna()):
        new[number] = change(new[number], number)
    return changed(scored, text=new)


CHANGES = {
    WORDS: lambda text, number: text.replace("word1", "other1"),
    LETTERS: lambda text, number: text.replace("or", "0r"),
    WORD: lambda text, number: (
        text.replace(" word7 ", " ") if number % 4 else f"{text} applause"
    ),
    FORM: lambda text, number: text.replace(" word2", "-\nword2"),
    SIZES: lambda text, number: f"{text} word1 word2 word3",
}


def test_texts_of_one_kind_pass_every_check():
    found = controls(audited(made_up(60, 200)))
    assert not found["flagged"].any()
    assert set(found.index) == {*CHANGES, SPREAD, PARTS, COPIES}
    assert found.loc[[*CHANGES, SPREAD], "p"].between(0.01, 1, inclusive="right").all()


@pytest.mark.parametrize("check", CHANGES)
def test_texts_that_differ_without_a_model_are_told(check):
    frame = audited(worded(made_up(28, 80, shift=2.5), CHANGES[check]))
    assert controls(frame).loc[check, "p"] <= 0.01
    answer = verdict(frame)
    assert answer.kind == "invalid"
    assert answer.p < 0.001, "which would be evidence otherwise"


@pytest.mark.parametrize("check", [None, *CHANGES])
@pytest.mark.parametrize("based", [False, True])
def test_what_is_said_before_any_score_is_what_the_result_says(check, based):
    """Scores are those of texts that the model finds less familiar, so that the result
    has no further check."""
    scored = made_up(28, 80, shift=-2.5)
    if check:
        scored = worded(scored, CHANGES[check])
    if based:
        one_method = scored.scores.drop_duplicates("id")
        of_base = one_method.assign(method="ref")
        scored = ScoredBenchmark("texts", of_base, scored.benchmark)
    table = scored.benchmark
    ours = table["label"].isna()
    before = checks_before_scores(table[ours], table[~ours], based=based)
    after = audited(scored)
    assert bool(design(after).get("based")) == based
    for unit in ("control", "cause", "word"):
        pd.testing.assert_frame_equal(
            before[before["unit"] == unit].reset_index(drop=True),
            after[after["unit"] == unit].reset_index(drop=True),
        )
    numbers = design(before)
    assert numbers.items() <= design(after).items()
    reasons = invalid(before)
    assert invalid(after) == reasons
    assert verdict(after).reasons[: len(reasons)] == reasons
    assert bool(reasons) == (check is not None and not based)


def test_a_subset_does_not_avoid_the_checks():
    scored = worded(made_up(28, 80, shift=2.5), CHANGES[WORDS])
    frame = audited(changed(scored, subset=["0", "1", "2", "0"] * 27))
    assert controls(frame).loc[WORDS, "flagged"]


def test_checks_are_exact_where_nothing_differs():
    """The words of a document are of few topics, so that any document differs from the
    others."""
    rng = np.random.default_rng(0)
    low = 0
    scored = made_up(24, 64, methods=1)
    for _ in range(20):
        topics = {}
        for name in scored.benchmark["document"].unique():
            topics[name] = rng.choice(VOCABULARY, 60)
        words = []
        for name in scored.benchmark["document"]:
            words.append(" ".join(rng.choice(topics[name], 30)))
        table = scored.benchmark.assign(text=words)
        is_ours = table["label"].isna()
        frame = checks_before_scores(table[is_ours], table[~is_ours], based=False)
        low += controls(frame)["p"].min() <= 0.05
    assert low <= binom.ppf(0.999, 20, 0.05)


def documents_with_digits(
    count: int, suspects: int, seed: int
) -> tuple[Documents, np.ndarray]:
    """Return documents of three texts, of which each has numbers of its own, and how
    many; the first are suspects."""
    rng = np.random.default_rng(seed)
    digits = rng.integers(2, 12, count)
    texts = []
    for n in range(3 * count):
        words = [*rng.choice(["a", "bee", "cedar"], 20)]
        words += ["7"] * digits[n // 3]
        texts.append(" ".join(words))
    names = np.repeat([f"d{n:02d}" for n in range(count)], 3)
    table = pd.DataFrame(
        {
            "text": texts,
            "document": names,
            "slice": "",
            "suspect": np.arange(3 * count) < 3 * suspects,
        }
    )
    return Documents.of(table, "en"), digits.astype(float)


def test_what_all_form_leaves_of_scores_is_exchanged():
    """Few documents: what each feature leaves is asked where so many could be
    evidence."""
    documents, digits = documents_with_digits(10, 4, seed=0)
    scores = digits + np.random.default_rng(1).normal(size=10)
    form = documents.form
    left = []
    for out in range(10):
        others = np.arange(10) != out
        alpha = np.square(form).sum() / 10
        ridge = Ridge(alpha=alpha).fit(form[others], scores[others])
        left.append(scores[out] - ridge.predict(form[[out]])[0])
    sums = np.array([sum(chosen) for chosen in combinations(left, 4)])
    row = explained(documents, scores)
    # The first choice is that of the documents in question.
    assert row.p == pytest.approx((sums >= sums[0] - 1e-9).mean())
    assert row.flagged == (row.p > 0.05)


@pytest.mark.parametrize("several", [False, True])
def test_what_features_leave_is_the_partial_t_beside_them(several):
    documents, digits = documents_with_digits(9, 4, seed=3)
    values = np.stack([digits, np.sqrt(digits)], axis=1) if several else digits
    scores = digits + np.random.default_rng(2).normal(size=9)
    # the first choice is that of the documents in question
    chosen = list(combinations(range(9), 4))
    labels = np.zeros((9, len(chosen)))
    for column, own in enumerate(chosen):
        labels[list(own), column] = 1
    t = []
    freedom = 5 if several else 6
    for own in labels.T:
        design = np.column_stack([own, values, np.ones(9)])
        slopes, squares, *_ = np.linalg.lstsq(design, scores)
        variance = squares[0] / freedom * np.linalg.inv(design.T @ design)[0, 0]
        t.append(slopes[0] / np.sqrt(variance))
    left = alone(Column("digits", values), documents, scores, labels)
    assert left.p == pytest.approx(np.mean(np.array(t) >= t[0] - 1e-9))
    same = Column("the label", labels[:, 0])
    nothing_left = alone(same, documents, scores, labels)
    assert nothing_left.p == 1


def test_what_a_feature_explains_counts_more_where_it_is_partly_chance():
    documents, digits = documents_with_digits(9, 4, seed=3)
    scores = digits + np.random.default_rng(2).normal(size=9)
    labels = np.zeros((9, 126))
    for column, own in enumerate(combinations(range(9), 4)):
        labels[list(own), column] = 1
    x, y = digits - digits.mean(), scores - scores.mean()
    slopes = []
    for own in labels.T:
        true_square = 0.6 * x @ x
        left = own @ (own - own.mean()) - (own @ x) ** 2 / true_square
        above = own @ y - (own @ x) * (x @ y) / true_square
        slopes.append(above / np.sqrt(left) if left > 1e-9 else -np.inf)
    noisy = alone(Column("digits", digits, 0.6), documents, scores, labels)
    assert noisy.p == pytest.approx(np.mean(np.array(slopes) >= slopes[0] - 1e-9))
    goes_along = labels[:, 0] + np.linspace(-0.5, 0.5, 9)
    unsure = alone(Column("digits", goes_along, 0.5), documents, scores, labels)
    assert unsure.p == 1, "the labels may be all that it shows"


def test_order_is_taken_off_where_known_texts_with_a_less_usual_one_score_lower():
    documents, _ = documents_with_digits(9, 4, seed=3)
    usual = documents.suspect + np.linspace(0, 0.1, 9)
    assert may_explain(usual, documents, usual)
    assert not may_explain(usual, documents, -usual), "the lower, the more usual"
    assert not may_explain(-usual, documents, -usual), "theirs is the more usual one"


def test_more_words_show_order_better():
    documents, _ = documents_with_digits(9, 4, seed=3)
    reliable = []
    for words in (20, 191, 860):
        table = documents.table.assign(text="a " * words)
        reliable.append(reliability_of_order(Documents.of(table, "en")))
    assert reliable == pytest.approx([0.4, 0.4, 0.75], abs=1e-3), "of three texts each"
    uneven = ["a " * (860 if place < 15 else 430) for place in range(27)]
    documents = Documents.of(documents.table.assign(text=uneven), "en")
    words = 9 / (5 / 2580 + 4 / 1290)
    assert reliability_of_order(documents) == pytest.approx(words / (words + 860))


@pytest.mark.parametrize(
    ("digits", "makes_groups"),
    [([1, 3, 4, 5, 5, 5, 6, 7, 9], False), ([1, 1, 2, 2, 2, 8, 8, 9, 9], True)],
)
def test_what_differs_by_degrees_makes_no_two_groups(digits, makes_groups):
    documents, _ = documents_with_digits(9, 4, seed=3)
    texts = []
    for place in range(27):
        of_digits = digits[place // 3]
        texts.append(" ".join(["7"] * of_digits + ["bee"] * (20 - of_digits)))
    documents = Documents.of(documents.table.assign(text=texts), "en")
    grouped = {left.feature for left in in_groups(documents, np.arange(9.0), seed=0)}
    assert ("characters a word" in grouped) == makes_groups, "as digits do"


def test_documents_of_two_forms_exchange_labels_among_their_own():
    """Two of four in question and two of five known ones have many digits."""
    documents, _ = documents_with_digits(9, 4, seed=3)
    many = np.array([1, 1, 0, 0, 1, 1, 0, 0, 0])
    texts = [f"a bee cedar {'7 ' * (1 + 8 * many[place // 3])}" for place in range(27)]
    documents = Documents.of(documents.table.assign(text=texts), "en")
    scores = np.random.default_rng(6).normal(size=9) - 2 * many
    sums = []
    for high in combinations(np.flatnonzero(many), 2):
        for low in combinations(np.flatnonzero(1 - many), 2):
            sums.append(scores[[*high, *low]].sum())
    (left, *others) = in_groups(documents, scores, seed=0)
    expected = np.mean(np.array(sums) >= scores[:4].sum() - 1e-9)
    assert left.p == pytest.approx(expected)
    ungrouped = exchanged_p(scores, documents.suspect, np.zeros(9, int), 0)
    for other in others:
        assert other.p in (left.p, ungrouped)


@pytest.mark.parametrize(
    ("with_word", "of_texts", "is_cue"),
    [
        ([6, 8, 9], 3, True),
        ([6, 8, 9], 2, True),
        ([0, 1, 6, 8, 9], 3, True),
        ([6, 8], 3, False),
        ([6, 8, 9], 0, False),
        ([*range(12)], 3, False),
    ],
)
def test_documents_with_a_cue_exchange_labels_among_their_own(
    with_word, of_texts, is_cue
):
    """Five of twelve documents are in question; some have a word in so many of their
    three texts, in another's place."""
    documents, _ = documents_with_digits(12, 5, seed=3)
    texts = []
    for place in range(36):
        document, text = divmod(place, 3)
        has_word = document in with_word and text < of_texts
        texts.append("a cedar bravo" if has_word else "a cedar delta")
    documents = Documents.of(documents.table.assign(text=texts), "en")
    scores = np.random.default_rng(6).normal(size=12)
    scores[with_word] -= 1
    found = {left.feature: left.p for left in in_groups(documents, scores, seed=0)}
    if not is_cue:
        assert found.keys().isdisjoint({"the word 'bravo'", "the word 'delta'"})
    else:
        others = [place for place in range(12) if place not in with_word]
        ours = [place for place in with_word if place < 5]
        sums = []
        for high in combinations(with_word, len(ours)):
            for low in combinations(others, 5 - len(ours)):
                sums.append(scores[[*high, *low]].sum())
        expected = np.mean(np.array(sums) >= scores[:5].sum() - 1e-9)
        assert pytest.approx(expected) in [*found.values()]


@pytest.mark.parametrize(
    ("values", "groups"),
    [
        ([0, 0, 0, 4, 5], [0, 0, 0, 1, 1]),
        ([3, 1, 9, 2], [0, 0, 1, 0]),
        ([2, 2, 2], [0, 0, 0]),
        ([1], [0]),
    ],
)
def test_two_groups_lie_as_far_apart_as_can_be(values, groups):
    assert two_groups(np.array(values, dtype=float)).tolist() == groups


def test_a_term_is_of_one_work_where_hardly_another_has_it():
    """Of the terms all works have one, two share one, and each of two has one alone.
    The seven works without them show that only a few share the second."""
    few = [[1, 0.9, 0, 0], [1, 0.4, 0.5, 0], [1, 0, 0, 0.2], [0.6, 0, 0, 0]]
    shares = csr_matrix(few + [[1, 0, 0, 0]] * 7)
    assert own_term(shares).tolist() == pytest.approx([0.9, 0.5, 0.2, *[0] * 8])
    own = [0, 0.5 / 1.9, 0.2 / 1.2, *[0] * 8]
    assert own_share(shares).tolist() == pytest.approx(own)


def test_a_cue_of_up_to_six_works_is_of_each_of_them():
    for sharing in (3, 6, 7):
        cue = [[1.0]] * sharing + [[0.0]] * 6
        expected = [float(sharing < 7)] * sharing + [0.0] * 6
        assert own_term(csr_matrix(cue)).tolist() == expected


def test_a_sign_beside_words_is_of_one_work_where_no_other_has_it():
    documents, _ = documents_with_digits(9, 4, seed=0)
    texts = []
    for number in range(27):
        sign = ("\u00a7\u00b6" + 7 * "*")[number // 3]
        texts.append(f"bee{number % 2}{sign} cedar{number % 3}")
    documents = Documents.of(documents.table.assign(text=texts), "en")
    of_one_work = documents.measured_form[:, FORM_FEATURES.index(OWN_WORD)]
    assert (of_one_work == 1).tolist() == [True] * 2 + [False] * 7


@pytest.mark.parametrize(("language", "blank"), [("en", " "), ("zh", "")])
def test_the_order_of_words_is_less_usual_where_lines_are_read_across(language, blank):
    """Words follow one another by a rule, but for a fifth; the last six works are
    broken after each eight words."""
    rng = np.random.default_rng(0)
    words = [chr(0x4E00 + place) for place in range(60)]
    texts = []
    for number in range(120):
        places = [0]
        for place in range(1, 64):
            is_broken = number >= 60 and place % 8 == 0
            follows = rng.random() > 0.2 and not is_broken
            places.append((places[-1] + 1) % 60 if follows else rng.integers(60))
        texts.append(blank.join(words[place] for place in places))
    usual = order_of_words(texts, language).reshape(12, 10).mean(axis=1)
    assert usual[:6].min() > usual[6:].max()


@pytest.mark.parametrize("language", ["ja", "th"])
def test_texts_without_a_space_are_compared(language):
    """Each of them is one word: none has a neighbour."""
    documents, _ = documents_with_digits(20, 10, seed=0)
    letters = documents.table["text"].str.replace(" ", "")
    documents = Documents.of(documents.table.assign(text=letters), language)
    scores = np.linspace(1, 0, 20)
    assert 0 < explained(documents, scores).p < 1


HALF = {
    "lines": lambda words, work: "\n".join(
        [" ".join(words[:15]), " ".join(words[15:])]
    ),
    "double blanks": lambda words, work: "  ".join(words),
    "brackets": lambda words, work: " ".join([*words[:-1], f"[{words[-1]}]"]),
    "exclamation marks": lambda words, work: " ".join([*words[:-1], f"{words[-1]}!"]),
    "a word": lambda words, work: " ".join([*words[:-1], f"own{work}"]),
    "a phrase": lambda words, work: " ".join(words[:-2] + VOCABULARY[work : work + 2]),
}
"""What half of the known works look like, beside the others and those in question."""


@pytest.mark.parametrize("feature", HALF)
def test_what_a_few_known_works_look_like_does_not_make_a_score_higher(feature):
    """The model knows none of the texts, and scores those lower that look otherwise."""
    scored = made_up(40, 80, methods=2, seed=4)
    document = np.arange(120) // 4
    few = document >= 20
    texts = scored.benchmark["text"].tolist()
    for number in np.flatnonzero(few):
        texts[number] = HALF[feature](texts[number].split(), document[number])
    score = scored.scores["score"] - 3 * np.tile(few, 2)
    frame = audited(changed(scored, score, text=texts))
    assert verdict(frame).p <= 0.05
    assert verdict(frame).kind == "invalid"
    assert controls(frame).loc[EXPLAINED, "p"] > 0.05
    score += 3 * np.tile(scored.benchmark["label"].isna(), 2)
    frame = audited(changed(scored, score, text=texts))
    assert controls(frame).loc[EXPLAINED, "p"] <= 0.05, "what was read is still higher"


def with_capitals(texts, counts) -> list[str]:
    """The texts with as many of their first words in capitals."""
    changed_texts = []
    for text, count in zip(texts, counts, strict=True):
        words = text.split()
        upper = " ".join(words[:count]).upper().split()
        changed_texts.append(" ".join(upper + words[count:]))
    return changed_texts


def test_form_that_explains_a_higher_score_is_told_where_no_other_check_sees_it():
    """Capitals raise the score, and documents in question have a few more."""
    scored = made_up(40, 80, methods=1)
    document = np.arange(120) // 4
    capitals = np.random.default_rng(7).integers(0, 15, 30) + 3 * (np.arange(30) < 10)
    score = 0.3 * scored.scores["score"] + 0.15 * capitals[document]
    texts = with_capitals(scored.benchmark["text"], capitals[document])
    frame = audited(changed(scored, score, text=texts))
    failed = controls(frame)["flagged"]
    assert failed[failed].index.tolist() == [EXPLAINED]
    answer = verdict(frame)
    assert answer.p <= 0.05
    assert answer.kind == "invalid"
    assert "no longer surely higher once form is taken off" in answer.reasons[0]
    no_higher = audited(made_up(40, 80))
    assert EXPLAINED not in controls(no_higher).index


def of_base(scored: ScoredBenchmark) -> ScoredBenchmark:
    """The same, by methods that compare the model with a base."""
    names = {"loss": "ref", "zlib": "wbc", "lowercase": "ez_mia"}
    renamed = scored.scores["method"].map(lambda name: names.get(name, name))
    scores = scored.scores.assign(method=renamed)
    return ScoredBenchmark("texts", scores, scored.benchmark)


@pytest.mark.parametrize("check", [WORDS, LETTERS, WORD, SIZES])
def test_with_a_base_what_differs_is_taken_off_and_no_reason_by_itself(check):
    frame = audited(of_base(worded(made_up(28, 80, shift=2.5), CHANGES[check])))
    row = controls(frame).loc[check]
    assert row["p"] <= 0.01
    assert not row["flagged"]
    assert design(frame)["based"] == 1
    assert "based" not in design(audited(made_up(28, 80)))
    assert {*frame["unit"]}.isdisjoint({"cause", "word"})


def kinds_of_documents(
    count: int, suspects: int, seed: int
) -> tuple[Documents, np.ndarray]:
    """Documents of two vocabularies mixed, and the share of the first in each: more of
    it in suspects, as in works of an earlier time."""
    rng = np.random.default_rng(seed)
    suspect = np.arange(count) < suspects
    share = np.clip(np.where(suspect, 0.65, 0.35) + rng.normal(0, 0.12, count), 0, 1)
    rows = []
    for number in range(count):
        for _ in range(4):
            first = rng.random(40) < share[number]
            words = [f"{'old' if old else 'new'}{rng.integers(60)}" for old in first]
            rows.append({"text": " ".join(words), "document": f"d{number:02d}"})
    table = pd.DataFrame(rows).assign(slice="")
    table["suspect"] = np.repeat(suspect, 4)
    return Documents.of(table, "en"), share


def test_a_model_tuned_on_one_sides_kind_is_told_and_one_tuned_on_its_texts_is_not():
    """Sides of two kinds that overlap, as works of two times do."""
    told = evidence = unaware = 0
    for seed in range(10):
        documents, share = kinds_of_documents(24, 12, seed)
        noise = np.random.default_rng(seed + 100).normal(0, 0.1, 24)
        told += explained(documents, share + noise, kinds=True).flagged
        unaware += not explained(documents, share + noise).flagged
        read = documents.suspect + noise
        evidence += not explained(documents, read, kinds=True).flagged
    assert unaware >= 5, "without kinds, most would be evidence"
    assert told >= 9
    assert evidence >= 7


def test_nothing_found_with_a_base_says_what_a_gentle_tuning_shows():
    large = of_base(made_up(80, 80))
    small = of_base(made_up(16, 16))
    assert verdict(audited(large)).kind == "none"
    answer = verdict(audited(small))
    assert answer.kind == "weak"
    assert "tuned on once, gently, lie" in answer.reasons[0]


@pytest.mark.parametrize("check", [FORM, EXPLAINED])
def test_words_out_of_order_say_that_columns_may_be_read_across(check):
    frame = audit_table([AuditRow("control", ORDER, method=check, flagged=True)])
    assert "two columns" in repairs(frame)[0]


@pytest.mark.parametrize("feature", ["repeated lines", OWN_WORD, OWN_PHRASE, ORDER])
def test_what_one_side_repeats_says_to_look_for_running_heads(feature):
    assert feature in FORM_FEATURES
    failed = {"method": FORM, "flagged": True}
    frame = audit_table([AuditRow("control", feature, **failed)])
    assert any("running heads" in advice for advice in repairs(frame))
    other = audit_table([AuditRow("control", "colons", **failed)])
    assert not any("running heads" in advice for advice in repairs(other))


def test_copies_and_chapters_are_told():
    scored = made_up(28, 80, shift=2.5)
    first, *others = np.array_split(scored.benchmark["text"].to_numpy(), 27)
    copied = np.concatenate([first, first, *others[1:]])
    frame = audited(changed(scored, text=copied))
    assert controls(frame).loc[COPIES, "id"] == "d0 / d1"
    assert "same document" in verdict(frame).repairs[0]
    chapters = scored.benchmark["document"].str.replace("d", "Walden, chapter ")
    answer = verdict(audited(changed(scored, document=chapters)))
    assert answer.kind == "invalid"
    assert "called parts of a work" in answer.reasons[0]


def test_a_document_unlike_all_others_takes_no_part_on_either_side():
    scored = made_up(28, 80, seed=2)
    document = scored.benchmark["document"]
    texts = scored.benchmark["text"].tolist()
    for number in np.flatnonzero(document.isin(["d0", "d10"])):
        texts[number] = (
            f"\u0442\u0435\u043a\u0441\u0442{number} \u043d\u043e\u043c\u0435\u0440"
        )
    score = scored.scores["score"].where(scored.scores["id"] >= "t00004", 50.0)
    unlike = changed(scored, score, text=texts)
    frame = audited(unlike)
    numbers = design(frame)
    assert numbers["outliers"] == 1
    assert numbers["known_outliers"] == 1
    assert numbers["documents"] == 6
    assert numbers["known_documents"] == 19
    assert rows(frame, "document", "")["texts"].to_dict() == {"d0": 4}
    assert not controls(frame)["flagged"].any()
    label = scored.benchmark["label"].where(document == "d0", 0)
    alone = changed(unlike, label=label)
    assert verdict(audited(alone)).kind == "invalid"


def test_a_document_that_looks_unlike_the_known_ones_is_not_named():
    """A few capitals in each document, and most words of the first one in capitals."""
    scored = made_up(8, 160, shift=9.0)
    counts = np.where(scored.benchmark["document"] == "d0", 9, 4)
    texts = with_capitals(scored.benchmark["text"], counts)
    own = rows(audited(changed(scored, text=texts)), "document")
    assert (own["q"] <= 0.05).all()
    assert own["flagged"].to_dict() == {"d0": False, "d1": True}


def test_another_benchmarks_non_members_leave_out_what_learns_from_the_own_one():
    scored = made_up(20, 60, methods=1)
    other = made_up(4, 60, methods=1, seed=9)
    with_blind = []
    for name, side in (("mine", scored), ("theirs", other)):
        both = pd.concat([side.scores, side.scores.assign(method="blind")])
        with_blind.append(ScoredBenchmark(name, both, side.benchmark))
    frame = audited(*with_blind)
    methods = set(frame.loc[frame["unit"] == "document", "method"])
    assert methods == {"loss", COMBINED}


def positive(effect: float) -> ScoredBenchmark:
    """Thirty passages that most models of the web have read and a hundred others."""
    scored = made_up(0, 130, methods=3, texts_each=1, seed=8)
    label = (np.arange(130) < 30).astype(int)
    shifted = scored.scores["score"] + effect * np.tile(label, 3)
    labelled = changed(scored, shifted, label=pd.array(label, "Int64"))
    return replace(labelled, name="famous")


@pytest.mark.parametrize(
    ("effect", "kind", "why"),
    [
        (1.5, "none", ""),
        (0.4, "weak", "every day lie only 0."),
        (0.0, "weak", "do not find verses that the web quotes every day"),
        (None, "weak", "no positive control shows how far"),
    ],
)
def test_a_p_that_is_not_low_says_nothing_where_what_was_read_is_not_found_so_far_above(
    effect, kind, why
):
    """Whether such an audit could have found anything is not known."""
    control = None if effect is None else positive(effect)
    frame = audited(made_up(28, 80, seed=2), positive=control)
    result = verdict(frame)
    assert result.kind == kind
    assert why in " ".join(result.reasons)


def test_a_positive_control_takes_nothing_back_that_was_found():
    scored = made_up(28, 80, seed=2)
    control = rows(audited(scored, positive=positive(1.5)), "positive").loc["famous"]
    assert control["p"] < 0.001
    assert control["texts"] == 30
    strong = audited(made_up(28, 80, shift=2.5), positive=positive(0.0))
    assert verdict(strong).kind == "evidence", "what was found is not taken back"


@pytest.mark.parametrize(
    ("documents", "known", "kind", "needed"),
    [
        (1, 18, "impossible", "at least 19 known documents"),
        (
            1,
            19,
            "untested",
            "at least 6 documents in question, each a whole work, and 30 known "
            "documents",
        ),
        (5, 60, "untested", "at least 6 documents in question"),
        (7, 17, "untested", "and 18 known documents"),
        (7, 18, "evidence", None),
        (10, 10, "evidence", None),
    ],
)
def test_few_documents_say_what_would_allow_an_answer(documents, known, kind, needed):
    scored = made_up(2 * documents, 2 * known, shift=9.0, texts_each=2)
    answer = verdict(audited(scored))
    assert answer.kind == kind
    assert needed is None or needed in answer.repairs[0]
