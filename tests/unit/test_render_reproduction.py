"""Published and measured numbers joined, on metrics whose differences from the
published ones are made up here.

test_render_golden.py has the tables: the summary, every number with its verdict, and
the notes.
"""

from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from made_up_results import beside, metric_row

from pretrace.render.artifact import Artifact
from pretrace.render.published import (
    PAPERS_FILE,
    Number,
    compare_published,
    judge,
    read_published,
)
from pretrace.render.results import Results
from pretrace.render.tables import reproduction
from pretrace.runtime.errors import InputError
from pretrace.runtime.files import write_parquet

PUBLISHED = Path("config/published")
OURS = {
    "view": "original",
    "start_token": "tokenizer",
    "evaluation_set": "all",
    "unit": "text",
    "our_length": "32",
}
EMPTY = dict.fromkeys(read_published(PUBLISHED / "surp.csv")[0], "")


def number(artifact, model, method, metric, value, protocol="", **keys):
    """A published number of WikiMIA at length 32; `keys` are the columns that differ
    from the usual."""
    named = {"model": model, "method": method, "metric": metric}
    row = EMPTY | OURS | named | {f"our_{key}": word for key, word in named.items()}
    row |= {
        "artifact": artifact,
        "benchmark": "wikimia",
        "our_benchmark": "wikimia",
        "length": "32",
    }
    return row | {"value": value, "protocol": protocol} | keys


PPL = {"our_method": "loss"}
MIN_K = {"our_setting": r"k=0\.\d"}
BEST = {"our_setting": r"eps=\d;percentile=\d+", "setting": "eps_e=tuned;k=tuned"}
EMPTY_TEXTS = {"our_setting": r"eps=\d;percentile=\d+;empty=-100"}
SURP = [
    number("table1", "pythia-2.8b", "ppl", "auc", "0.600", **PPL),
    number("table1", "pythia-2.8b", "min_k", "auc", "0.620", **MIN_K),
    number("table1", "pythia-2.8b", "surp", "auc", "0.640", "paper", **BEST),
    number("table1", "pythia-2.8b", "surp", "auc", "0.640", "code",
           **BEST | EMPTY_TEXTS),
    number("table1", "pythia-12b", "ppl", "auc", "0.700",
           setting="model_source=inferred", **PPL),
    number("table1", "average", "ppl", "auc", "0.650"),
    number("table1", "claude-2.1", "zlib", "auc", "0.500"),
    number("table1", "", "best", "seconds_per_book", "3",
           skip="a time on the authors' machine"),
    number("table2", "olmo-7b", "ppl", "auc", "0.500", subset="middle",
           our_subset="middle", our_benchmark="dolma_book",
           our_length="1024", **PPL),
    number("text", "pythia-2.8b", "surp", "best_eps_e", "2.5",
           unjudged="the best of a grid", **BEST),
]  # fmt: skip
PAPER = {"evaluation_set": "without_prefixes"}
CODE = {"evaluation_set": "balanced"}
STRICT = {"our_metric": "tpr_at_5_fpr_strict"}
NOT_4 = {"our_setting": r"k=0\.[1-35-9]"}
CON_RECALL = [
    number("table2", "pythia-6.9b", "min_k", "auc", "0.610", "paper", **MIN_K, **PAPER),
    number("table2", "pythia-6.9b", "min_k", "auc", "0.610", "code", **NOT_4, **CODE),
    number("table2", "pythia-6.9b", "min_k", "tpr_at_5_fpr", "0.200", "paper", **MIN_K,
           **PAPER),
    number("table2", "pythia-6.9b", "min_k", "tpr_at_5_fpr", "0.200", "code", **NOT_4,
           **CODE | STRICT),
    number("table2", "pythia-6.9b", "ref", "auc", "0.640", "paper",
           reference="pythia-70m", **PAPER),
    number("table2", "pythia-6.9b", "ref", "auc", "0.640", "code",
           our_setting="form=con_recall_code", **CODE),
    number("table5", "", "", "n_texts", "6"),
    number("table5", "", "", "member_ratio", "0.500"),
]  # fmt: skip


def row(
    method,
    setting,
    value,
    *,
    selection="grid",
    reference="",
    evaluation_set="all",
    **other,
):
    made = metric_row(
        method, setting, selection, value, interval=selection != "grid", **other
    )
    keys = {
        "start_token": "tokenizer",
        "length": 32,
        "reference": reference,
        "evaluation_set": evaluation_set,
    }
    return made | keys


def surp_rows(shift: float):
    yield row("loss", "", 0.600 + shift)
    yield row("loss", "", 0.600 + shift, selection="default")
    for k, value in ((0.1, 0.61), (0.2, 0.60), (0.3, 0.65), (0.35, 0.9)):
        yield row("min_k", f"k={k:g}", value)
    yield row("min_k", "k=0.3", 0.65, selection="best_on_test")
    yield row("surp", "eps=2;percentile=40", 0.66)
    yield row("surp", "eps=3;percentile=40", 0.63)
    yield row("surp", "eps=3;percentile=40;empty=-100", 0.62)


def con_recall_rows():
    for evaluation_set, more in (("without_prefixes", 0.0), ("balanced", 0.02)):
        its = {"evaluation_set": evaluation_set, "draw": 0}
        yield row("min_k", "k=0.4", 0.69 + more, **its)
        yield row("min_k", "k=0.5", 0.63 + more, **its)
        yield row("min_k", "k=0.5", 0.30, metric="tpr_at_5_fpr", **its)
        yield row("min_k", "k=0.5", 0.25, metric="tpr_at_5_fpr_strict", **its)
        yield row("ref", "", 0.70 + more, reference="pythia-70m", **its)
        yield row(
            "ref", "form=con_recall_code", 0.645 + more, reference="pythia-70m", **its
        )


@pytest.fixture
def results(tmp_path) -> Results:
    return make_study(tmp_path)


def make_study(tmp_path: Path) -> Results:
    for paper, rows in (("surp", SURP), ("con_recall", CON_RECALL)):
        pd.DataFrame(rows).assign(paper=paper).to_csv(
            tmp_path / f"{paper}.csv", index=False
        )
    metrics = {
        ("pythia-2.8b", "wikimia"): list(surp_rows(0.01)),
        ("pythia-12b", "wikimia"): list(surp_rows(0.05)),
        ("pythia-6.9b", "wikimia"): list(con_recall_rows()),
    }
    paths = {}
    for pair, rows in metrics.items():
        paths[pair] = tmp_path / f"{pair[0]}.parquet"
        write_parquet(
            paths[pair], pd.DataFrame(rows).astype({"draw": "Int64", "length": "Int64"})
        )
    texts = pd.DataFrame(
        {
            "text_id": list("abcdef"),
            "label": pd.array([1, 0] * 3, "Int64"),
            "subset": "",
            "length": pd.array([32] * 6, "Int64"),
        }
    )
    write_parquet(tmp_path / "texts.parquet", texts)
    published = {name: tmp_path / f"{name}.csv" for name in ("surp", "con_recall")}
    published[PAPERS_FILE] = PUBLISHED / "papers.yaml"
    texts = {"wikimia": tmp_path / "texts.parquet"}
    return Results({"metrics": paths, "benchmarks": texts, "published": published})


ARTIFACT = {
    "slug": "reproduction",
    "title": "Published and measured",
    "renderer": "reproduction",
    "options": {"artifacts": ["surp_table1", "con_recall_table2", "con_recall_table5"]},
    "missing": [{"name": "claude-2.1", "reason": "it was retired"}],
    "panels": [{"model": "pythia-2.8b", "benchmark": "wikimia"}],
}


def table_of(results):
    table = reproduction.reproduction(Artifact(**ARTIFACT), results)
    return table, table.frame.set_index(
        ["paper", "protocol", "model", "method", "metric"]
    )


def test_differences_are_those_that_were_made_up(results):
    _, frame = table_of(results)
    expected = {
        ("surp", "paper", "pythia-2.8b", "ppl", "auc"): 0.01,
        ("surp", "paper", "pythia-12b", "ppl", "auc"): -0.05,
        ("surp", "paper", "average", "ppl", "auc"): 0.63 - 0.65,
        # the best of the grid, which 0.35 is not of
        ("surp", "paper", "pythia-2.8b", "min_k", "auc"): 0.03,
        ("surp", "paper", "pythia-2.8b", "surp", "auc"): 0.66 - 0.64,
        ("surp", "code", "pythia-2.8b", "surp", "auc"): 0.62 - 0.64,  # empty=-100
        ("surp", "paper", "pythia-2.8b", "surp", "best_eps_e"): 2 - 2.5,
        ("con_recall", "paper", "pythia-6.9b", "min_k", "auc"): 0.69 - 0.61,
        # balanced, without 0.4
        ("con_recall", "code", "pythia-6.9b", "min_k", "auc"): 0.65 - 0.61,
        ("con_recall", "paper", "pythia-6.9b", "min_k", "tpr_at_5_fpr"): 0.30 - 0.20,
        # strict
        ("con_recall", "code", "pythia-6.9b", "min_k", "tpr_at_5_fpr"): 0.25 - 0.20,
        ("con_recall", "paper", "pythia-6.9b", "ref", "auc"): 0.70 - 0.64,
        ("con_recall", "code", "pythia-6.9b", "ref", "auc"): 0.665 - 0.64,
        ("con_recall", "paper", "", "", "n_texts"): 0,
        ("con_recall", "paper", "", "", "member_ratio"): 0,
    }
    for key, difference in expected.items():
        assert frame.loc[key, "difference"] == pytest.approx(difference, abs=1e-9), key


def agreement(
    value,
    *,
    published="0.600",
    sd="",
    rebuilt=False,
    low=None,
    high=None,
    draws=(),
    unjudged="",
):
    row = number("table1", "m", "ppl", "auc", published, std=sd, unjudged=unjudged)
    return judge(row, Number(value, low, high, draws=draws), rebuilt=rebuilt)


DRAWS = (0.60, 0.62, 0.64)  # standard deviation 0.02
OF_OURS = {"value": 0.65, "high": 0.70, "rebuilt": True}


@pytest.mark.parametrize(
    ("given", "criterion", "agrees"),
    [
        # 0.005 and half of the third digit; an interval of 0.2 around it changes
        # nothing
        ({"value": 0.6055, "low": 0.5, "high": 0.7}, "tolerance", True),
        ({"value": 0.6056, "low": 0.5, "high": 0.7}, "tolerance", False),
        ({"value": 0.5945}, "tolerance", True),
        ({"value": 0.5944}, "tolerance", False),
        # fewer printed digits leave more room
        ({"value": 0.609, "published": "0.6"}, "tolerance", True),
        # the standard deviation of draws decides; draws that agree are no narrower than
        # numbers of no draw
        ({"value": 0.62, "draws": DRAWS, "published": "0.640"}, "draws", True),
        ({"value": 0.62, "draws": DRAWS, "published": "0.641"}, "draws", False),
        ({"value": 0.62, "draws": (0.62, 0.62), "published": "0.625"}, "draws", True),
        # resamples of the paper bring their own standard deviation
        ({"value": 0.619, "sd": "0.0192"}, "draws", True),
        ({"value": 0.620, "sd": "0.0192"}, "draws", False),
        # a rebuilt benchmark is judged by our interval
        (OF_OURS | {"low": 0.6005}, "interval", True),
        (OF_OURS | {"low": 0.6006}, "interval", False),
    ],
)
def test_a_number_agrees_by_what_its_kind_allows(given, criterion, agrees):
    verdict = agreement(**given)
    assert verdict.criterion == criterion
    assert verdict.agrees == str(agrees).lower()
    assert verdict.unjudged == ""


@pytest.mark.parametrize(
    ("given", "why"),
    [
        ({"draws": (0.60,)}, "one draw"),
        ({"rebuilt": True}, "without an interval"),
        ({"unjudged": "neighbours are drawn once"}, "neighbours are drawn once"),
    ],
)
def test_what_cannot_be_told_is_not_judged_and_says_why(given, why):
    verdict = agreement(0.600, **given)
    assert verdict.criterion == ""
    assert verdict.agrees == ""
    assert verdict.tolerance is None
    assert why in verdict.unjudged


def test_the_mean_over_draws_is_compared_with_their_spread(results, tmp_path):
    """Each draw's best setting, whichever that is; of the authors' code the draw that
    is its own."""
    pair = ("pythia-6.9b", "wikimia")
    values = {0: (0.69, 0.63), 1: (0.58, 0.60), 2: (0.57, 0.54)}
    rows = []
    for evaluation_set in ("without_prefixes", "balanced"):
        for draw, pair_of_values in values.items():
            for k, value in zip((0.4, 0.5), pair_of_values, strict=True):
                rows.append(
                    row(
                        "min_k",
                        f"k={k}",
                        value,
                        evaluation_set=evaluation_set,
                        draw=draw,
                    )
                )
    path = tmp_path / "draws.parquet"
    write_parquet(path, pd.DataFrame(rows).astype({"draw": "Int64", "length": "Int64"}))
    _, frame = table_of(beside(results, "metrics", {pair: path}))
    compared = frame.loc[("con_recall", "paper", "pythia-6.9b", "min_k", "auc")]
    best = [0.69, 0.60, 0.57]
    assert compared["measured"] == pytest.approx(np.mean(best))
    assert compared["sd"] == pytest.approx(np.std(best, ddof=1))
    # 0.010 of 0.062
    assert compared[["draws", "criterion", "agrees"]].tolist() == [3, "draws", "true"]
    of_code = frame.loc[("con_recall", "code", "pythia-6.9b", "min_k", "auc")]
    # the first draw alone, and without k = 0.4
    assert of_code["measured"] == 0.63
    assert of_code["draws"] == 0
    assert of_code["criterion"] == "tolerance"
    assert of_code["agrees"] == "false"  # 0.020 of 0.0055


def test_what_is_not_measured_says_why(results):
    table, frame = table_of(results)
    assert (
        frame.loc[("surp", "paper", "claude-2.1", "zlib", "auc"), "reason"]
        == "it was retired"
    )
    assert np.isnan(
        frame.loc[("surp", "paper", "claude-2.1", "zlib", "auc"), "measured"]
    )
    assert "it was retired (1)" in " ".join(table.notes)
    assert "a time on the authors' machine (1)" in " ".join(table.notes)
    # its table is not shown
    assert not frame.reset_index()["model"].eq("olmo-7b").any()


def test_the_share_of_calibrated_documents_is_that_of_the_letters(results, tmp_path):
    keys = dict.fromkeys(("document", "reference", "subset"), "") | {
        "quantity": "in_range",
        "length": pd.NA,
    }
    keys |= {"low": 0.5, "high": 0.8}
    shares = {("none", 0): 0.0, ("given", 0): 0.65, ("given", 1): 0.79}
    letters = []
    for (name, label), value in shares.items():
        letters.append(keys | {"calibration": name, "label": label, "value": value})
    write_parquet(
        tmp_path / "letters.parquet", pd.DataFrame(letters).astype({"length": "Int64"})
    )
    row = number(
        "table12",
        "pythia-2.8b",
        "de_cop",
        "proportion",
        "0.65",
        unit="document",
        view="",
        start_token="",
        our_length="",
        our_setting="calibration=given",
    )
    pd.DataFrame([row]).assign(paper="surp").to_csv(
        results.path("published", "surp"), index=False
    )
    given = beside(
        results, "letters", {("pythia-2.8b", "wikimia"): tmp_path / "letters.parquet"}
    )
    compared = compare_published(given, ["surp_table12"], {}).iloc[0]
    assert compared["measured"] == 0.65
    assert compared["low"] == 0.5
    assert compared["agrees"] == "true"


def test_a_broken_file_is_named_with_its_line(tmp_path):
    row = number("table1", "m", "ppl", "auc", "much")
    for broken, message in (
        (row, "line 2: value 'much'"),
        (
            {key: word for key, word in row.items() if key != "our_setting"},
            "line 2: column 'our_setting' is missing",
        ),
    ):
        pd.DataFrame([broken]).to_csv(tmp_path / "surp.csv", index=False)
        with pytest.raises(InputError, match=message):
            read_published(tmp_path / "surp.csv")


def test_a_line_of_a_published_file_has_a_cell_for_each_column(tmp_path):
    path = tmp_path / "surp.csv"
    row = number("table1", "m", "ppl", "auc", "0.5")
    pd.DataFrame([row, row]).to_csv(path, index=False)
    head, first, second = path.read_text().splitlines()
    path.write_text("\n".join([head, f"{first},", f"{second},"]))
    assert [read["value"] for read in read_published(path)] == ["0.5", "0.5"]
    path.write_text("\n".join([head, first, second.rpartition(",")[0]]))
    with pytest.raises(InputError, match=r"line 3: column '.*' is missing"):
        read_published(path)


def test_a_study_without_papers_has_nothing_to_compare(results):
    assert compare_published(results, ["blind_audit"], {}).empty
    with pytest.raises(InputError, match="no table or figure of a paper"):
        reproduction.reproduction(
            Artifact(**ARTIFACT | {"options": {"artifacts": []}}), results
        )
