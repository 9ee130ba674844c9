"""Tables: who is starred, what is a dash, what is counted, what notes say, what is
missing, and what is refused."""

import re
from pathlib import Path

import made_up_results as made_up
import pandas as pd
import pytest
from made_up_results import changed, row_of

from pretrace.render.artifact import Artifact, Panel
from pretrace.render.frames import csv_text, read_csv
from pretrace.render.phrases import decimals
from pretrace.render.results import Results
from pretrace.render.tables.methods import also_in_parts
from pretrace.render.tables.table import (
    Table,
    best,
    beyond_chance,
    cell_of,
    latex,
    markdown,
    rows_of,
    table_of,
    words_tell_apart,
)
from pretrace.runtime.errors import InputError

BOTH = [made_up.PANEL, made_up.OTHER_PANEL]
GONE = {
    "name": "gpt-old",
    "model": "gpt-old",
    "benchmark": "speeches_2",
    "reason": "it was retired",
}
DASH = "\N{EN DASH}"


def table(results: Results, renderer: str = "method_table", **other) -> Table:
    return made_up.draw(made_up.artifact(renderer, **other), results)


def test_star_needs_a_higher_value_and_holm_p_of_at_most_5_percent_by_the_bootstrap_on_held_out(
    results, tmp_path
):
    def change(tests: pd.DataFrame) -> pd.DataFrame:
        is_min_k = tests["baseline"] == "min_k"
        for method, gain, p in (
            ("loss", 0.1, 0.01),
            ("zlib", 0.1, 0.051),
            ("surp", -0.1, 0.001),
        ):
            row = is_min_k & (tests["method"] == method)
            tests.loc[row, "difference"] = gain
            tests.loc[row, "p"] = p
        sure = tests[tests["method"] == "lowercase"].assign(difference=0.3, p=0.0)
        others = [sure.assign(test="t_as_published"), sure.assign(selection="default")]
        return pd.concat([tests[tests["method"] != "lowercase"], *others])

    methods = ["loss", "zlib", "surp", "lowercase", "min_k", "blind"]
    given = changed(results, tmp_path, "tests", change)
    shown = table(given, baseline="min_k", methods=methods[:3])
    of_three = shown.frame.set_index("method")["p_holm"].dropna()
    expected = {"surp": 0.003, "loss": 0.02, "zlib": 0.051}
    assert of_three.to_dict() == pytest.approx(expected)
    shown = table(given, baseline="min_k", methods=methods)
    starred = {row.label for row in shown.blocks[0].rows if row.cells[0].star}
    assert "Loss" in starred
    assert not {"Zlib", "SURP", "Lowercase", "Bag of words (no model)"} & starred
    for block in shown.blocks[1:]:
        for row in block.rows:
            for cell in row.cells:
                assert not cell.star


def test_a_missing_method_is_a_dash_and_never_a_zero(results, tmp_path):
    fewer = changed(
        results,
        tmp_path,
        "metrics",
        lambda frame: frame[frame["method"] != "lowercase"],
    )
    shown = table(fewer, panels=BOTH)
    missing, measured = row_of(shown, "Lowercase").cells
    assert missing.value is None
    assert measured.value is not None
    line = re.search(r"^\| Lowercase.*?\|(.*?)\|", markdown(shown), re.MULTILINE)
    assert line[1].strip() == DASH
    assert re.search(r"^Lowercase & -- & 0\.\d", latex(shown), re.MULTILINE)
    lowercase = shown.frame[shown.frame["method"] == "lowercase"]
    assert set(lowercase["benchmark"]) == {made_up.OTHER}
    assert shown.frame["value"].notna().all()


def test_a_name_that_reads_as_a_number_or_as_nothing_stays_a_name(tmp_path):
    frame = pd.DataFrame(
        {"document": ["1984", "007"], "base": ["null", "NA"], "title": ["", "None"]}
    ).assign(p=[0.25, float("nan")])
    (tmp_path / "t.csv").write_text(csv_text(frame))
    data = read_csv(tmp_path / "t.csv")
    assert data["document"].tolist() == ["1984", "007"]
    assert data["base"].tolist() == ["null", "NA"]
    assert data["title"].fillna("").tolist() == ["", "None"]
    assert data["p"].isna().tolist() == [False, True]


@pytest.mark.parametrize(
    ("lows", "average_low", "is_bold"),
    [
        ((0.6, 0.55), None, True),
        # a mean of one value above chance and one that is not
        ((0.9, 0.45), None, False),
        # its own interval decides
        ((0.9, 0.45), 0.6, True),
        ((0.9, 0.55), 0.45, False),
    ],
)
def test_an_average_is_bold_by_its_interval_or_by_all_of_its_columns(
    lows, average_low, is_bold
):
    panels = [
        Panel(model=model, benchmark="speeches", length=32) for model in ("a", "b")
    ]
    rows = []
    for place, (panel, low) in enumerate(zip(panels, lows, strict=True)):
        rows.append({"panel": place, "model": panel.model, "average": "", "low": low})
    average = {"panel": 1, "model": "average", "average": "model", "low": average_low}
    frame = pd.DataFrame([*rows, average]).assign(
        selection="default", method="loss", metric="auc", value=0.92, high=0.95
    )
    frame = frame.assign(n_nonmembers=100, marks="", control=False)
    artifact = Artifact.model_validate(
        made_up.artifact("method_table", options={"average": "model"})
    )
    column = ["selection", "panel", "average", "metric"]
    is_beyond = also_in_parts(artifact, panels, frame, beyond_chance(frame, column))
    assert is_beyond.tolist()[-1] == is_bold


def test_words_that_tell_the_classes_apart_take_the_bold_of_their_column_alone():
    """Also where the rows are in another order than their index."""
    rows = []
    for panel, low in ((0, 0.55), (1, 0.45)):
        for method, value, lowest in (("loss", 0.9, 0.8), ("blind", 0.6, low)):
            rows.append((panel, method, value, lowest, method == "blind"))
    columns = ["panel", "method", "value", "low", "control"]
    frame = pd.DataFrame(rows, columns=columns).assign(
        average="", metric="auc", high=0.95, n_nonmembers=100, marks=""
    )
    shuffled = frame.loc[[3, 0, 2, 1]]
    assert words_tell_apart(shuffled)[frame.index].tolist() == [
        True,
        True,
        False,
        False,
    ]
    is_beyond = beyond_chance(shuffled, ["panel", "method"])
    assert is_beyond[frame.index].tolist() == [True, True, True, False]


def test_a_setting_that_ranks_as_another_method_is_named_after_it_and_never_bold():
    frame = pd.DataFrame(
        {"value": [0.8, 0.7, 0.6], "marks": ["ranks_as_min_k", "", ""]}
    ).assign(panel=0, control=False)
    assert best(frame, ["panel"]).tolist() == [False, True, False]
    row = {"value": 0.8, "marks": "at_grid_edge;ranks_as_min_k"}
    assert cell_of(row).rest == " (= Min-K%) (f)"
    block = rows_of("", [("SURP", [("panel", cell_of(row))], False)])
    table = table_of(
        Artifact.model_validate(made_up.artifact("audit")), block, [], frame
    )
    assert "(= Min-K%) the setting that was chosen" in table.notes[0]


def test_texts_that_a_spreadsheet_would_run_as_formulas_are_quoted_in_csv():
    ids = ["=HYPERLINK(1)", "+1", "@SUM", "-a", "\tb", "-0.5", "plain"]
    rows = csv_text(pd.DataFrame({"id": ids, "value": [-1.0] * len(ids)})).splitlines()[
        1:
    ]
    assert [row.rpartition(",")[0] for row in rows] == [
        "'=HYPERLINK(1)", "'+1", "'@SUM", "'-a", "'\tb", "-0.5", "plain",
    ]  # fmt: skip
    for row in rows:
        assert row.endswith(",-1.0")


def test_two_reference_corpora_need_one_to_be_named_and_a_row_twice_is_refused(
    results, tmp_path
):
    def change(frame: pd.DataFrame) -> pd.DataFrame:
        dc_pdd = frame[frame["method"] == "dc_pdd"]
        return pd.concat(
            [frame, dc_pdd.assign(reference="new_speeches", value=0.99)],
            ignore_index=True,
        )

    both = changed(results, tmp_path, "metrics", change)
    with pytest.raises(
        InputError,
        match="dc_pdd has rows of several references: new_speeches, old_speeches",
    ):
        table(both)
    named = table(both, panels=[made_up.PANEL | {"references": ["new_speeches"]}])
    assert row_of(named, "DC-PDD").cells[0].value == 0.99
    twice = changed(
        results, tmp_path, "metrics", lambda frame: pd.concat([frame, frame])
    )
    with pytest.raises(InputError, match="held_out has two rows of"):
        table(twice)


@pytest.mark.parametrize("renderer", ["method_table", "blind_audit"])
def test_notes_name_a_method_on_other_texts_and_what_chance_leaves_of_stars(
    results, tmp_path, renderer
):
    def change(frame: pd.DataFrame) -> pd.DataFrame:
        return frame.assign(
            n_members=frame["n_members"].mask(frame["method"] == "zlib", 100)
        )

    of_one = " ".join(table(results, renderer, baseline="min_k").notes)
    assert "number of texts" not in of_one
    assert "not over all of them" not in of_one
    fewer = changed(results, tmp_path, "metrics", change)
    assert "Zlib on tiny-135m on speeches, 64 words (260, not 320)." in " ".join(
        table(fewer, renderer).notes
    )
    twice = [made_up.PANEL, made_up.PANEL | {"label": "again"}]
    assert "up to 0.1 of these 2" in " ".join(
        table(results, renderer, baseline="min_k", panels=twice).notes
    )


@pytest.mark.parametrize(
    ("p", "said"),
    [
        (0.001, "methods that beat it: Loss."),
        (0.2, "methods that beat it: none of the 7 tested."),
        (None, "methods that beat it: none could be tested."),
    ],
)
def test_the_blind_audit_says_who_beats_blind(results, tmp_path, p, said):
    def change(tests: pd.DataFrame) -> pd.DataFrame:
        row = (tests["baseline"] == "blind") & (tests["method"] == "loss")
        tests.loc[row, ["difference", "p"]] = [0.1, p]
        return tests if p else tests[tests["baseline"] != "blind"]

    shown = table(changed(results, tmp_path, "tests", change), "blind_audit")
    assert said in shown.reading
    verdict = row_of(shown, "Loss").cells[3].words
    assert verdict == ("no test" if p is None else "yes" if p <= 0.001 else "no")


def test_a_model_that_could_not_be_asked_has_a_reason_and_no_data(results, tmp_path):
    shown = made_up.artifact(
        "method_table", panels=BOTH, missing=[GONE], inferred="the model."
    )
    files = made_up.render(shown, results, tmp_path)
    text = files["md"].read_text(encoding="utf-8")
    assert "gpt-old is left out: it was retired." in text
    assert "- Inferred, not printed in the paper: the model." in text
    data = pd.read_csv(files["csv"])
    assert not data["benchmark"].eq(GONE["benchmark"]).any()
    assert data["value"].notna().all()


@pytest.mark.parametrize(
    ("ends", "digits"),
    [
        ((0.70, 0.76), 2),
        ((0.985, 0.999), 3),
        ((None, None), 2),
        ((0.1, 0.9, 0.002), 3),
        ((None, None, 0.03), 2),
    ],
)
def test_a_number_has_the_decimals_that_its_standard_error_allows(ends, digits):
    assert decimals(*ends) == digits


def test_no_table_has_more_than_five_notes():
    tables = sorted((Path(__file__).parent / "golden").glob("*.md"))
    many = []
    for table in tables:
        if table.read_text(encoding="utf-8").count("\n- ") > 5:
            many.append(table.name)
    assert len(tables) > 10
    assert many == []
