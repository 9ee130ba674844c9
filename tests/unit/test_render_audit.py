"""The page of an audit: the verdict ends the run too, and passages are called by their
first words."""

import re

import made_up_results as made_up
import pandas as pd
import pytest
import test_evaluation_audit
import test_render_golden as golden

from pretrace.audit.rows import COMBINED
from pretrace.audit.tables.audit import (
    answer,
    audit_lines,
    first_words,
    named_cell,
    none_can_be_named,
    one_in,
    works_compared,
)
from pretrace.render.tables.table import BOXED
from pretrace.runtime.files import read_parquet, write_parquet

ARTIFACT = made_up.artifact("audit", panels=[golden.OWN])


def test_the_verdict_ends_the_run_and_passages_open_on_a_click_as_text(tmp_path):
    results = golden.STUDIES["audit_evidence"](tmp_path / "in")
    texts = read_parquet(results.path("benchmarks", made_up.BENCHMARK))
    hostile = texts["text"].iloc[0].replace("word", "<b>w")
    text = [hostile, *texts["text"].iloc[1:]]
    write_parquet(
        results.path("benchmarks", made_up.BENCHMARK), texts.assign(text=text)
    )
    files = made_up.render(ARTIFACT, results, tmp_path)
    page = files["html"].read_text()
    data = pd.read_csv(files["csv"])
    verdict = (
        f"Evidence of training: {made_up.MODEL} finds your 7 documents together (7 of "
        "7 also alone) more"
    )
    (line,) = audit_lines(data)
    assert line.startswith(verdict)
    assert "likeliest reason" in line
    assert page.index(verdict) < page.index("<table")
    assert verdict in files["tex"].read_text()
    escaped = hostile.replace("<", "&lt;").replace(">", "&gt;")
    assert f"<summary><bdi>{' '.join(escaped.split()[:10])} ...</bdi></summary>" in page
    assert escaped in page
    assert "<b>w" not in page
    passages = data[
        (data["unit"] == "text") & (data["method"] == COMBINED)
    ].sort_values(["p", "id"])
    best = texts.set_index("text_id")["text"][passages["id"].iloc[0]]
    first = page.split("Passages:")[-1].split("</details>")[0]
    assert " ".join(best.split()[1:3]) in first.replace("&lt;b&gt;w", "word"), (
        "the lowest p comes first"
    )


@pytest.mark.parametrize(
    ("study", "said"),
    [
        ("audit_evidence", "If the known texts are unread and of the same kind"),
        (
            "audit_untested",
            "Have at least 6 documents in question, each a whole work, and 30 known "
            "documents.",
        ),
        ("audit_few", "Have at least 19 known documents"),
        ("audit_invalid", "by their words alone"),
        ("audit_none", "a difference only if"),
        ("audit_weak", "may be too weak to find any, because no positive control"),
    ],
)
def test_the_box_says_what_the_answer_rests_on_or_lacks(study, said, tmp_path):
    page = made_up.render(ARTIFACT, golden.STUDIES[study](tmp_path / "in"), tmp_path)[
        "html"
    ].read_text()
    assert said in page.split("<table")[0]


def test_evidence_in_a_model_that_read_neither_class_is_a_false_alarm(tmp_path):
    """On the page, on the terminal, and counted beside its expectation."""
    null = ARTIFACT | {"null_models": [made_up.MODEL]}
    files = made_up.render(
        null, golden.STUDIES["audit_evidence"](tmp_path / "in"), tmp_path
    )
    page, (line, counted) = (
        files["html"].read_text(),
        audit_lines(pd.read_csv(files["csv"])),
    )
    assert line.startswith(
        f"A false alarm: {made_up.MODEL} finds your 7 documents together"
    )
    assert (
        counted
        == "False alarms in models that read neither class: 1 of 1 audits (at most "
        "0.05 expected)."
    )
    for sentence in (line.split(" (p =")[0], counted):
        assert sentence in page
    assert "Evidence of training" not in page + line
    assert "were read" not in page + line
    assert "it read neither side" in page


def test_an_invalid_answer_names_the_words_and_the_documents_that_tell_the_sides_apart(
    tmp_path,
):
    page = made_up.render(
        ARTIFACT, golden.STUDIES["audit_invalid"](tmp_path / "in"), tmp_path
    )["html"].read_text()
    box = page.partition(BOXED)[0]
    assert (
        "<dt>Told apart by words</dt><dd>15 of 15 in question and 50 of 50 known lie "
        "on their own side" in box
    )
    words = []
    for own in re.findall(
        r"<dt>Words more frequent in .*?<dd>(.*?)\.(?: In brackets|</dd>)", box
    ):
        words.append(own.split("), "))
    assert [sum(map(len, words)), len(words)] == [20, 2]
    assert set(words[0][:4]) == {
        "longer (15, 0",
        "than (15, 0",
        "usual (15, 0",
        "words (15, 0",
    }
    assert "What p means" not in box


def test_works_are_called_by_title_and_author_and_p_by_odds(tmp_path):
    results = golden.STUDIES["audit_evidence"](tmp_path / "in")
    path = results.path("benchmarks", made_up.BENCHMARK)
    texts = read_parquet(path)
    title = texts["document"].map({"d0": "A Novel"}).fillna("")
    about = texts.assign(title=title, author="A. Writer", passage=pd.NA)
    write_parquet(path, about.astype({"passage": "Int64"}))
    page = made_up.render(ARTIFACT, results, tmp_path)["html"].read_text()
    assert (
        "<dt>In question</dt><dd>A Novel, A. Writer (d0); d1, A. Writer; d2, A. Writer;"
        in page
    )
    assert "(p = 0.00005, 1 in 20,000)" in page
    assert [one_in(p) for p in (2.3e-05, 0.05, 0.034)] == [
        "1 in 43,000",
        "1 in 20",
        "1 in 29",
    ]
    passed = (
        "words, letters and signs, single words, form, size, spread of form and words, "
        "higher without form, parts given as works, copies"
    )
    assert f"<dt>Checked</dt><dd>passed: {passed}</dd>" in page
    assert "famous" not in page.replace("famous as yours", "").replace("are famous", "")


def test_of_a_draw_within_documents_the_published_texts_are_in_question_and_their_twins_are_known():
    rows = []
    for place in range(1, 21):
        for number in range(20):
            rows.append((f"canary-{place:03d}", number == place))
    texts = pd.DataFrame(rows, columns=["document", "label"]).assign(
        title="", author=""
    )
    labelled = texts.assign(label=texts["label"].astype("Int64"), length=64)
    design = {"randomised": 1, "texts": 19, "known_texts": 381, "documents": 19}
    lines = dict(works_compared(labelled, design))
    assert (
        lines["In question"]
        == "19 texts published in 19 places: "
        + "; ".join(f"canary-{number:03d}" for number in range(1, 17))
        + "; and 3 more"
    )
    assert (
        lines["Compared with"]
        == "381 private texts of the same places, drawn in the same way"
    )


def test_the_first_of_many_places_are_named_and_the_others_counted():
    names = [f"canary-{number:03d}" for number in range(1, 41)]
    about = {"title": "", "author": "", "length": 64}
    texts = pd.DataFrame({"document": [*names, *names]} | about)
    texts["label"] = pd.array([True] * 40 + [False] * 40, dtype="Int64")
    design = {"randomised": 1, "texts": 40, "known_texts": 40, "documents": 40}
    lines = dict(works_compared(texts, design))
    listed = "; ".join(names[:16])
    assert lines["In question"].endswith(f"40 places: {listed}; and 24 more")
    few = dict(works_compared(texts[texts["document"].isin(names[:4])], design))
    assert few["In question"].endswith("; ".join(names[:4]))


def test_chinese_passages_are_called_by_their_first_characters():
    assert first_words("\u4e2d" * 90) == "\u4e2d" * 20 + " ..."
    assert first_words("one two") == "one two"


@pytest.mark.parametrize(("effect", "is_said"), [(0.0, True), (1.5, False)])
def test_a_control_that_was_not_found_is_said_beside_evidence(effect, is_said):
    given = test_evaluation_audit.positive(effect)
    scored = test_evaluation_audit.made_up(28, 80, shift=2.5)
    frame = test_evaluation_audit.audited(scored, positive=given).assign(
        null_model=False
    )
    first, second = answer("m", frame)
    assert first.startswith("Evidence of training"), "it blocks nothing"
    assert (
        "do not find passages that most models of the web have read (p = 0." in second
    ) == is_said


@pytest.mark.parametrize(
    ("even", "said"), [(1.0, "It is exact if"), (0.0, "It is nearly exact if")]
)
def test_p_is_called_exact_where_documents_have_as_many_passages(even, said, tmp_path):
    results = golden.STUDIES["audit_evidence"](tmp_path / "in")
    path = results.path("audit", golden.PAIR)
    frame = read_parquet(path)
    write_parquet(
        path, frame.assign(score=frame["score"].where(frame["id"] != "even", even))
    )
    page = made_up.render(ARTIFACT, results, tmp_path)["html"].read_text()
    assert said in page


@pytest.mark.parametrize(
    ("shift", "said"),
    [
        (2.5, "more familiar than plain does, by more than the known texts"),
        (
            0.0,
            "are not, or no longer, more familiar to tuned than to plain, beside the",
        ),
    ],
)
def test_the_answer_names_the_base_that_the_model_is_compared_with(shift, said):
    scored = test_evaluation_audit.made_up(80, 80, shift=shift)
    frame = test_evaluation_audit.audited(test_evaluation_audit.of_base(scored))
    frame = frame.assign(model="tuned", benchmark="mine", null_model=False)
    assert said in " ".join(answer("tuned", frame.assign(base="plain")))
    assert "plain" not in " ".join(answer("tuned", frame))
    drawn = frame.assign(score=frame["score"].where(frame["id"] != "randomised", 1.0))
    by_chance = "drawn at random" in " ".join(
        answer("tuned", drawn.assign(base="plain"))
    )
    assert by_chance == (shift > 0)


def test_a_draw_within_documents_is_asked_of_published_and_private_texts(
    tmp_path,
):
    """Nothing is assumed of their kind, and no whole documents are compared."""
    results = golden.STUDIES["audit_weak"](tmp_path / "in")
    path = results.path("audit", golden.PAIR)
    frame = read_parquet(path)
    is_draw = frame["id"] == "randomised"
    write_parquet(path, frame.assign(score=frame["score"].mask(is_draw, 1.0)))
    page = made_up.render(ARTIFACT, results, tmp_path)["html"].read_text()
    for said in (
        "trained on 28 published texts of",
        "80 private texts, drawn like the published ones",
        "It is exact if the model read none of them.",
        "Places, with private texts",
    ):
        assert said in page


@pytest.fixture
def check(monkeypatch):
    """The script that compares every number of a box with its table."""
    monkeypatch.syspath_prepend(golden.ROOT / "tests" / "bench")
    import check_boxes

    return check_boxes.check


@pytest.mark.parametrize(
    "study", [name for name in golden.STUDIES if name.startswith("audit")]
)
def test_every_number_in_a_box_is_that_of_its_table(study, check, tmp_path):
    results = golden.STUDIES[study](tmp_path / "in")
    files = made_up.render(ARTIFACT, results, tmp_path)
    page, data = files["md"].read_text(), pd.read_csv(files["csv"])
    assert check(page, data) == []
    other = page.replace(" passages)", "1 passages)", 1)
    assert "should have" in " ".join(check(other, data))
    assert "not explained" in " ".join(check(page + "> _What_ 7 of 9\n", data))


def test_of_several_lengths_the_box_counts_the_texts_of_the_compared_one(
    check, tmp_path
):
    """Published and private texts come at two lengths, of which one is compared."""
    scored = test_evaluation_audit.made_up(40, 40, shift=2.5)
    texts = scored.benchmark
    label = (texts.index % 2).astype("Int64")
    length = pd.array([32, 32, 64, 64] * 20, dtype="Int64")
    drawn = test_evaluation_audit.changed(scored, label=label, length=length)
    frame = test_evaluation_audit.audited(drawn, randomised=True)
    frames = {"audit": frame, "benchmarks": drawn.benchmark}
    files = made_up.render(
        ARTIFACT, golden.results_of(tmp_path / "in", frames), tmp_path
    )
    page = files["md"].read_text()
    for said in (
        "trained on 20 published texts of",
        "_In question_ 20 texts published in 20 places",
        "_Compared with_ 20 private texts",
        "_Length_ 64, of 32 and 64.",
        "20 private texts, drawn like the published ones",
    ):
        assert said in page
    assert check(page, pd.read_csv(files["csv"])) == []


def test_where_no_document_can_be_named_the_page_says_so_and_not_no():
    for known, is_said in ((72, True), (76, False)):
        scored = test_evaluation_audit.made_up(28, known, shift=2.5)
        frame = test_evaluation_audit.audited(scored)
        numbers = frame[frame["unit"] == "design"].set_index("id")["score"]
        assert none_can_be_named(numbers.to_dict()) == is_said
        documents = frame[frame["unit"].eq("document") & frame["method"].eq(COMBINED)]
        cell = named_cell(documents.iloc[0].to_dict(), failed=False)
        assert (cell.words == "too few known ones") == is_said


@pytest.mark.parametrize(("times", "is_said"), [(1, True), (100, False)])
def test_short_documents_are_said_not_to_show_the_order_of_words(
    times, is_said, tmp_path
):
    scored = test_evaluation_audit.made_up(28, 80)
    longer = scored.benchmark["text"].add(" ").mul(times)
    scored = test_evaluation_audit.changed(scored, text=longer)
    frame = test_evaluation_audit.audited(scored)
    frames = {"audit": frame, "benchmarks": scored.benchmark}
    results = golden.results_of(tmp_path / "in", frames)
    page = made_up.render(ARTIFACT, results, tmp_path)["md"].read_text()
    said = "_Not checked_ the order of words (documents this short hardly show it)"
    assert (said in page) == is_said
