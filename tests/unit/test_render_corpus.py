"""The page of a corpus test says what is believed and what may be concluded; its power is drawn."""

from pathlib import Path

import made_up_results as made_up
import pandas as pd
import pytest
from test_evaluation_corpus import PLACE, short_of_texts, side

from pretrace.evaluation.audit_scores import ScoredBenchmark
from pretrace.evaluation.corpus_power import corpus_power
from pretrace.evaluation.corpus_test import coordinates, corpus_sizes, corpus_test
from pretrace.render.phrases import DASH
from pretrace.render.results import Results
from pretrace.runtime.errors import InputError
from pretrace.runtime.files import write_parquet

PAIR = (made_up.MODEL, made_up.BENCHMARK)
PANEL = {"model": PAIR[0], "benchmark": PAIR[1], "length": 64, "start_token": "none", "references": ["other"]}
REFERRED = PLACE | {"references": ["other"]}


def files_of(
    folder: Path, of: ScoredBenchmark, artifact: str, *codec: dict, size: bool = False, **entry: object
) -> dict[str, Path]:
    computed = {
        "corpus": corpus_test(of, REFERRED, "en", 200),
        "corpus_power": corpus_power(of, REFERRED),
        "corpus_size": corpus_sizes(of, REFERRED) if size else [],
        "codec": codec,
    }
    for name, rows in computed.items():
        frame = pd.DataFrame([coordinates(REFERRED) | row for row in rows])
        write_parquet(folder / f"{name}.parquet", made_up.statistic(name, frame))
    entries = {PAIR[1]: made_up.ENTRIES[PAIR[1]] | entry}
    results = Results(
        statistics={name: {PAIR: folder / f"{name}.parquet"} for name in computed}, entries=entries
    )
    panel = PANEL | ({"size": True} if size else {})
    return made_up.render(made_up.artifact(artifact, panels=[panel]), results, folder)


@pytest.mark.parametrize(
    ("given", "entry", "said"),
    [
        ({"effect": 1.5}, {}, "the controls find no other difference: evidence of training, if what is believed holds"),
        ({"effect": 1.5, "within": True}, {"randomised": True}, "The split was drawn at random"),
        ({"effect": 3.0, "dated": 1.5}, {}, "differ in words as well. The effect on the reference model is smaller"),
        ({"dated": 1.5}, {}, "differ in words as well: the effect may come from that alone"),
        ({}, {}, "Nothing was found. That does not show that the documents were left out of training"),
    ],
)  # fmt: skip
def test_the_page_says_what_may_be_concluded(tmp_path: Path, given: dict, entry: dict, said: str):
    assert said in files_of(tmp_path, side(**given), "corpus_test", **entry)["md"].read_text()


def test_what_is_believed_is_beside_every_p(tmp_path: Path):
    files = files_of(tmp_path, side(effect=1.5), "corpus_test")
    frame = pd.read_csv(files["csv"]).set_index("method")
    assert list(frame.index) == ["loss", "reference", "difference", "ensemble", "blind", "characters"]
    assert frame.loc["loss", "believed"].startswith("had the model read none, documents of one subset")
    assert frame["believed"].notna().all()
    assert frame.drop(index="difference")["p"].between(0, 1).all()
    assert frame.loc["ensemble", ["suspected", "held_out", "documents"]].tolist() == [10, 10, 20]
    written = files["md"].read_text()
    assert "20 documents suspected, 20 held out" in written
    within = files_of(tmp_path, side(within=True), "corpus_test")["md"].read_text()
    assert "80 texts suspected, 80 held out, within 40 documents" in within
    assert "had the model read none, the texts of a document would score alike" in within


def test_the_size_is_a_column_where_labels_are_redrawn(tmp_path: Path):
    files = files_of(tmp_path, side(60), "corpus_test", size=True)
    frame = pd.read_csv(files["csv"]).set_index("method")
    measured = frame.loc[["loss", "reference", "ensemble", "characters"], ["size_low", "size", "size_high"]]
    assert measured.apply(lambda row: row.is_monotonic_increasing and row.notna().all(), axis=1).all(), (
        measured
    )
    assert frame.loc[["difference", "blind"], "size"].isna().all()
    written = files["md"].read_text()
    assert "Size: how often p ≤ 0.05 where the labels are redrawn at random" in written
    assert "Size" not in files_of(tmp_path, side(60), "corpus_test")["md"].read_text()


def test_codec_is_a_share_of_each_class_without_a_p(tmp_path: Path):
    shares = [
        {"shots": 7, "label": 1, "n": 50, "value": 0.62},
        {"shots": 7, "label": 0, "n": 40, "value": 0.4},
    ]
    files = files_of(tmp_path, side(), "corpus_test", *shares)
    row = pd.read_csv(files["csv"]).set_index("method").loc["codec"]
    assert row[["suspected", "suspected_share", "held_out", "held_out_share", "shots"]].tolist() == [
        50,
        0.62,
        40,
        0.4,
        7,
    ]
    assert row[["value", "p", "smallest_effect"]].isna().all()
    [line] = [line for line in files["md"].read_text().splitlines() if "CoDeC" in line and "|" in line]
    cells = [cell.strip() for cell in line.split("|")[2:-1]]
    assert cells[:5] == ["62 % of 50", "40 % of 40", DASH, DASH, DASH], line


def test_power_is_drawn_by_number_of_documents(tmp_path: Path):
    frame = pd.read_csv(files_of(tmp_path, side(80, effect=1.2), "corpus_power")["csv"])
    assert set(frame["method"]) == {"loss", "min_k", "ref", "ensemble"}
    assert list(frame.loc[frame["method"] == "loss", "documents"]) == [1, 2, 4, 8, 16]
    with pytest.raises(InputError, match="the power of a corpus test needs two of each class"):
        files_of(tmp_path, side(2), "corpus_power")


def test_without_a_p_the_page_says_how_many_documents_are_needed(tmp_path: Path):
    written = files_of(tmp_path, short_of_texts(12), "corpus_test")["md"].read_text()
    assert (
        "and there is no p. Documents have different numbers of texts; then at least 10 documents" in written
    )
    assert "there are 6 and 6" in written
    assert "It needs 10 documents of each class" in written
    written = files_of(tmp_path, short_of_texts(60, effect=1.5), "corpus_test", size=True)["md"].read_text()
    assert "evidence of training, if what is believed holds" in written
    assert "as much alike within every document" in written
    assert "Where documents have different numbers of texts, scores are redrawn" in written
    assert (
        "different numbers of texts"
        not in files_of(tmp_path, side(), "corpus_test", size=True)["md"].read_text()
    )
