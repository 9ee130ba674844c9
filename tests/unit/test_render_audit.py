"""The page of an audit: the verdict ends the run too, and passages are called by their first words."""

from pathlib import Path

import made_up_results as made_up
import pandas as pd
import pytest
import test_render_golden as golden

from pretrace.evaluation.audit import COMBINED
from pretrace.render.tables.audit import audit_lines, first_words
from pretrace.runtime.files import read_parquet, write_parquet

ARTIFACT = made_up.artifact("audit", panels=[golden.OWN])


def test_the_verdict_ends_the_run_and_passages_open_on_a_click_as_text(tmp_path: Path):
    results = golden.STUDIES["audit_evidence"](tmp_path / "in")
    texts = read_parquet(results.path("benchmarks", made_up.BENCHMARK))
    hostile = texts["text"].iloc[0].replace("word", "<b>w")
    write_parquet(
        results.path("benchmarks", made_up.BENCHMARK), texts.assign(text=[hostile, *texts["text"].iloc[1:]])
    )
    files = made_up.render(ARTIFACT, results, tmp_path)
    page, data = files["html"].read_text(), pd.read_csv(files["csv"])
    verdict = (
        f"Evidence of training: {made_up.MODEL} finds your 6 documents together (6 of 6 also alone) more"
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
    passages = data[(data["unit"] == "text") & (data["method"] == COMBINED)].sort_values(["p", "id"])
    best = texts.set_index("text_id")["text"][passages["id"].iloc[0]]
    first = page.split("Passages:")[-1].split("</details>")[0]
    assert " ".join(best.split()[1:3]) in first.replace("&lt;b&gt;w", "word"), "the lowest p comes first"


@pytest.mark.parametrize(
    ("study", "said"),
    [
        ("audit_evidence", "If the known texts are unread and of the same kind"),
        (
            "audit_untested",
            "Have at least 5 documents in question, each a whole work, and 20 known documents.",
        ),
        ("audit_few", "Have at least 19 known documents"),
        ("audit_invalid", "by their words alone"),
        ("audit_none", "a difference only if"),
    ],
)
def test_the_box_says_what_the_answer_rests_on_or_lacks(study: str, said: str, tmp_path: Path):
    page = made_up.render(ARTIFACT, golden.STUDIES[study](tmp_path / "in"), tmp_path)["html"].read_text()
    assert said in page.split("<table")[0]


def test_chinese_passages_are_called_by_their_first_characters():
    assert first_words("\u4e2d" * 90) == "\u4e2d" * 20 + " ..."
    assert first_words("one two") == "one two"
