"""Tables, the data of figures, and pictures of made-up studies are as they were last
agreed on, character by character and pixel by pixel.

After an intended change, write the files again with `PYTHONPATH=src:tests:tests/unit
python tests/unit/test_render_golden.py`, and read what differs: `git diff
tests/unit/golden`.
"""

import io
import re
import sys
import tempfile
from collections.abc import Callable, Iterable, Mapping
from functools import partial
from pathlib import Path
from typing import Any
from xml.etree.ElementTree import fromstring

import made_up_answers
import made_up_prefixes
import made_up_results
import numpy as np
import pandas as pd
import pytest
import test_evaluation_audit
import test_render_reproduction
from made_up_results import BENCHMARK, MODEL
from PIL import Image
from test_extraction import EXTRACTION, texts_of, windows_table

from pretrace.audit.analysis import audit
from pretrace.audit.scores import ScoredBenchmark
from pretrace.evaluation.extraction import summarise
from pretrace.render.catalogue import RENDERERS
from pretrace.render.figures.drawing import style
from pretrace.render.frames import csv_text
from pretrace.render.results import Results
from pretrace.render.tables.table import Table, markdown
from pretrace.runtime.files import write_json, write_parquet
from pretrace.runtime.schema import read_yaml

ROOT = Path(__file__).parents[2]
GOLDEN = Path(__file__).parent / "golden"
REGISTERED = read_yaml(ROOT / "config" / "artifacts.yaml")
PAIR = (MODEL, BENCHMARK)


def new(folder: Path) -> Path:
    folder.mkdir(parents=True)
    return folder


def results_of(
    folder: Path, frames: Mapping[str, pd.DataFrame], **entry: Any
) -> Results:
    folder.mkdir(parents=True, exist_ok=True)
    paths: dict[str, dict[Any, Path]] = {}
    for kind, frame in frames.items():
        write_parquet(folder / f"{kind}.parquet", frame)
        paths[kind] = {
            BENCHMARK if kind == "benchmarks" else PAIR: folder / f"{kind}.parquet"
        }
    entries = {BENCHMARK: {**made_up_results.ENTRIES[BENCHMARK], **entry}}
    return Results(paths, entries)


def audited(
    folder: Path,
    documents: int,
    known: int,
    *,
    wordy: bool = False,
    positive: Any = None,
    **given: Any,
) -> Results:
    """An audit of made-up scores; `wordy`: the audited texts differ in their words and
    sizes too."""
    scored = test_evaluation_audit.made_up(documents, known, **given)
    texts = scored.benchmark
    if wordy:
        longer = texts["text"] + "longer words than usual " * 9
        texts = texts.assign(text=texts["text"].where(texts["label"].notna(), longer))
    scored = ScoredBenchmark("texts", scored.scores, texts)
    frame = audit(scored, scored, [test_evaluation_audit.RUN], positive=positive)
    return results_of(folder, {"audit": frame, "benchmarks": texts})


def extracted(
    folder: Path,
    *documents: tuple[str, int | None, list[float]],
    repeats: bool = False,
    short: Iterable[tuple[str, int]] = (),
    **settings: Any,
) -> Results:
    windows = windows_table(*documents)
    windows["passage"] = [f"passage  {number}\n" for number in range(len(windows))]
    windows.loc[0, "repeats"] = repeats
    return mapped(folder, windows, *short, **settings)


def mapped(
    folder: Path, windows: pd.DataFrame, *short: tuple[str, int], **settings: Any
) -> Results:
    """The results of an extraction from its windows, and texts (document, label)
    without a window."""
    texts = texts_of(windows, *short)
    frames = {
        "windows": windows,
        "extraction": summarise(windows, texts, EXTRACTION | settings),
        "benchmarks": texts,
    }
    return results_of(folder, frames, caution="all books were read")


def timed(folder: Path) -> Results:
    """Passes over two lengths, and the seconds of a question method on both."""
    results = made_up_answers.make_study(folder)
    own = {
        "view": "original",
        "altered": "",
        "prefix": "",
        "past_context": False,
        "subset": "",
        "length": 64,
    }
    views = [own | {"seconds": 8.0}, own | {"altered": "lowercase", "seconds": 4.0},
             own | {"length": 32, "seconds": 100.0}]  # fmt: skip
    times = dict.fromkeys(("setting", "subset"), "") | {
        "paraphraser": "paraphrase",
        "length": 64,
    }
    times |= {"documents": 16, "task": "de_cop"}
    write_json(folder / "passes.json", {"views": views})
    rows = [times | {"seconds": 48.0}, times | {"length": 32, "seconds": 9.0}]
    write_parquet(folder / "times.parquet", pd.DataFrame(rows))
    pair = (made_up_answers.MODEL, made_up_answers.BENCHMARK)
    of_pair = {
        "passes": {pair: folder / "passes.json"},
        "times": {pair: folder / "times.parquet"},
    }
    return Results(
        {"benchmarks": results.paths["benchmarks"]} | of_pair, results.entries
    )


BOOKS = [
    ("book", 1, [0.9, 0.0, 0.02, 1e-5]),
    ("other book", 1, [0.0, 0.0]),
    ("draft", 0, [0.0, 1e-8]),
]
DRAFTS = [(f"draft {number}", 0, [0.0]) for number in range(19)]

STUDIES: dict[str, Callable[[Path], Results]] = {
    "plain": made_up_results.make_study,
    "prefixes": made_up_prefixes.make_study,
    "questions": made_up_answers.make_study,
    "questions_without_controls": partial(made_up_answers.make_study, more=False),
    "times": timed,
    "audit_evidence": lambda folder: audited(
        folder, 28, 80, shift=2.5, positive=test_evaluation_audit.positive(1.5)
    ),
    "audit_none": lambda folder: audited(folder, 28, 80, seed=2,
                                         positive=test_evaluation_audit.positive(1.5)),
    "audit_weak": partial(audited, documents=28, known=80, seed=2),
    "audit_untested": partial(audited, documents=8, known=80, shift=9.0),
    "audit_few": partial(audited, documents=4, known=36, shift=9.0),
    "audit_invalid": partial(audited, documents=60, known=200, shift=2.5, wordy=True),
    "extraction": lambda folder: extracted(folder, *BOOKS, *DRAFTS),
    "extraction_few": lambda folder: extracted(folder, *BOOKS, repeats=True,
                                               short=[("other book", 1)],
                                               threshold=0.01),
    "reproduction": lambda folder: test_render_reproduction.make_study(new(folder)),
    "extraction_unknown": lambda folder: extracted(folder, ("book", None, [0.0])),
}  # fmt: skip

BOTH = [made_up_results.PANEL, made_up_results.OTHER_PANEL]
EACH = [made_up_prefixes.PANEL | {"subset": "*"}]
PARTS = {"CLD": "a=0.01;upper_bound=false;first_occurrence=false", "with SFO": "a=0.01"}
BARS = [
    BOTH[0],
    BOTH[0] | {"label": "own", "settings": {"CLD": "a=10", "with SFO": "a=1"}},
]
APART = [
    made_up_prefixes.PANEL | {"subset": subset, "label": subset}
    for subset in ("early", "late")
]
HELD_OUT = {"selection": ["held_out"]}
ANSWERED = {"model": made_up_answers.MODEL, "benchmark": made_up_answers.BENCHMARK}
OWN = {"model": MODEL, "benchmark": BENCHMARK}
EVERY_NUMBER = test_render_reproduction.ARTIFACT | {
    "options": test_render_reproduction.ARTIFACT["options"] | {"every": True}
}


def plain(renderer: str, **other: Any) -> tuple[str, dict[str, Any]]:
    return "plain", made_up_results.artifact(renderer, **{"panels": BOTH} | other)


def prefixes(renderer: str, **other: Any) -> tuple[str, dict[str, Any]]:
    return "prefixes", made_up_prefixes.artifact(renderer, **other)


def questions(
    slug: str, study: str = "questions", **options: Any
) -> tuple[str, dict[str, Any]]:
    entry = REGISTERED[slug]
    return study, entry | {
        "panels": [ANSWERED],
        "options": entry.get("options", {}) | options,
    }


def of_study(study: str, renderer: str, **panel: Any) -> tuple[str, dict[str, Any]]:
    return study, made_up_results.artifact(renderer, panels=[OWN | panel])


ARTIFACTS = {
    "methods": plain("method_table",
                     methods=["blind", "zlib", "dc_pdd", "min_k", "surp"],
                     baseline="min_k"),
    "blind_audit": plain("blind_audit"),
    "settings": plain("setting_table", methods=["dc_pdd", "blind"], options={"x": "a"}),
    "selection_gap": plain("selection_gap"),
    "statistics": plain("benchmark_statistics"),
    "headline": plain("headline", methods=["loss", "min_k_pp", "blind"]),
    "placebos": plain("placebo_ranks", methods=["loss", "blind"], panels=BOTH[:1]),
    "heatmap": plain("heatmap",
                     options={"method": "surp", "x": "eps", "y": "percentile"},
                     panels=BOTH[:1]),
    "parts": plain("ablation_bars", options={"method": "dc_pdd", "settings": PARTS},
                   panels=BARS),
    "subsets": prefixes("method_table", panels=EACH, options={"average": "subset"},
                        **HELD_OUT),
    "draws": prefixes("method_table", options={"draws": [0, 1]}, **HELD_OUT),
    "each_draw": prefixes("method_table",
                          options={"across": {"draw": [0, 1]}, "average": "draw"},
                          **HELD_OUT),
    "metrics": prefixes("method_table", panels=EACH,
                        options={"metrics": ["auc", "tpr_at_5_fpr"],
                                 "blocks": "model"}),
    "variants": prefixes("method_table",
                         methods=["con_recall", "con_recall;access=zero"], **HELD_OUT),
    "pairs": prefixes("pairwise_tests"),
    "without_placebos": prefixes("blind_audit", panels=APART),
    "shifts": prefixes("prefix_shifts"),
    "over_shots": prefixes("method_lines", options={"x": "shots"}),
    "over_subsets": prefixes("method_lines", panels=APART, options={"x": "subset"}),
    "over_gamma": prefixes("method_lines", methods=["recall", "con_recall"],
                           options={"x": "gamma"}),
    "documents": questions("de_cop_table2"),
    "differences": questions("de_cop_table11"),
    "accuracies": questions("de_cop_table3"),
    "accuracies_without_controls": questions("de_cop_table3",
                                             "questions_without_controls"),
    "calibration": questions("de_cop_table12"),
    "letters": questions("de_cop_figure9", document="d10"),
    "positions": questions("de_cop_figure8"),
    "positions_of_one": questions("de_cop_figure8", document="d03"),
    "seconds": questions("de_cop_table13", "times"),
    **{name: of_study(name, "audit") for name in STUDIES if name.startswith("audit")},
    **{name: of_study(name,
                      "extraction") for name in STUDIES if name.startswith("extraction")},
    "reproduction": ("reproduction", test_render_reproduction.ARTIFACT),
    "reproduction_every": ("reproduction", EVERY_NUMBER),
    "reproduction_figure": ("reproduction",
                            test_render_reproduction.ARTIFACT | {"renderer": "reproduction_scatter"}),
    "extraction_map": of_study("extraction", "extraction_map"),
    "extraction_map_unknown": of_study("extraction_unknown", "extraction_map"),
}  # fmt: skip


class Studies(dict[str, Results]):
    """Makes each study when it is first needed."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def __missing__(self, name: str) -> Results:
        self[name] = STUDIES[name](self.folder / name)
        return self[name]


def drawing(name: str, studies: Studies, **changes: Any) -> Any:
    """The table or figure of an artifact, before it is written."""
    study, artifact = (ARTIFACTS | LARGE)[name]
    return made_up_results.draw({**artifact, "slug": name, **changes}, studies[study])


def shown(name: str, studies: Studies) -> str:
    """The Markdown of a table; the reading of a figure and its data, with four
    digits."""
    drawn = drawing(name, studies)
    if isinstance(drawn, Table):
        return markdown(drawn)
    data = pd.read_csv(io.StringIO(csv_text(drawn.frame)))
    # the rest is the panel
    varying = [column for column in data if data[column].nunique(dropna=False) > 1]
    return f"{drawn.reading}\n" + data[varying].round(4).to_csv(
        index=False, lineterminator="\n"
    )


@pytest.fixture(scope="module")
def studies(tmp_path_factory: pytest.TempPathFactory) -> Studies:
    return Studies(tmp_path_factory.mktemp("studies"))


@pytest.mark.parametrize("name", ARTIFACTS)
def test_an_artifact_is_as_it_was(name, studies):
    assert shown(name, studies) == (GOLDEN / f"{name}.md").read_text(encoding="utf-8")


LARGE = {
    "densities": prefixes("score_densities"),
    "losses": prefixes("loss_curves"),
    "curves": plain("roc", panels=BOTH[:1]),
    "tokens": plain("entropy_scatter", panels=BOTH[:1]),
    "books": questions("de_cop_figure1"),
}
"""Figures with too much data for a golden file."""
FIGURES = [
    name
    for name, (_, entry) in ARTIFACTS.items()
    if RENDERERS[entry["renderer"]].kind == "figure"
]


@pytest.mark.parametrize(
    "name",
    [
        FIGURES[0],
        "densities",
        *(
            pytest.param(name, marks=pytest.mark.full)
            for name in FIGURES[1:] + [*LARGE][1:]
        ),
    ],
)
def test_equal_data_give_equal_bytes(name, studies, tmp_path):
    first = made_up_results.written(drawing(name, studies), tmp_path)
    second = made_up_results.written(drawing(name, studies), tmp_path)
    assert first == second
    for mark in (b"CreationDate", b"/Type3"):
        assert mark not in first["pdf"]
    assert b"<dc:date>" not in first["svg"]


VALUES = {
    "headline": (9, "Min-K%++: AUC at held-out settings 0.60 [0.54, 0.67]"),
    "placebos": (10, "Loss, old1 as the non-members: AUC 0.55"),
    "heatmap": (30, "eps 0.5, percentile 10: AUC 0.54"),
    "parts": (4, "CLD: AUC 0.60 [0.54, 0.66]"),
    "shifts": (
        16,
        "members, shots: 7: shift of the log-likelihood (nats) 0.16 [0.14, 0.19]",
    ),
    "over_shots": (16, "Loss: AUC 0.71 [0.64, 0.76]"),
    "positions": (
        4,
        "members, true text at A: share of right answers 0.58 [0.46, 0.67]",
    ),
    "reproduction_figure": (
        16,
        "con_recall table2 pythia-6.9b wikimia 32 words Ref AUC, published 0.64: "
        "measured 0.70",
    ),
    "extraction_map": (3, "book, token 50: probability 0.9. passage 0"),
    "densities": (96, "Loss, members, score 0.00: density 0.02"),
    "losses": (48, "tiny-small, 7 thousand tokens: loss (nats a token) 7.52"),
    "curves": (192, "Loss: true positive rate 0.03 at false positive rate 0.013"),
    "tokens": (70, "members, entropy 1.46, log-probability -0.99: 2.3 % of the tokens"),
    "books": (16, "d01: share of right answers 0.74 [0.71, 0.79]"),
}
"""How many values the SVG of a figure of each renderer tells, and one of them."""
PIXELS_PER_INCH = 60
SAME = 32  # two pixels whose colours differ by no more than this, of 255


def picture_of(name: str, studies: Studies) -> np.ndarray:
    """The pixels of a figure, shape (rows, columns, 3)."""
    figure = drawing(name, studies).figure
    figure.set_dpi(PIXELS_PER_INCH)
    with style():
        figure.canvas.draw()
    return np.asarray(figure.canvas.buffer_rgba())[..., :3]


def changes(name: str, old: np.ndarray, new: np.ndarray, folder: Path) -> str:
    """What differs between two pictures of a figure, and where it can be seen; "" if
    nothing does."""
    if old.shape != new.shape:
        different = np.ones(new.shape[:2], dtype=bool)
    else:
        different = np.abs(old.astype(int) - new).max(axis=-1) > SAME
    if not different.any():
        return ""
    difference = np.where(
        different[..., None], np.uint8([213, 94, 0]), 255 - (255 - new) // 4
    )
    for kind, pixels in {"old": old, "new": new, "difference": difference}.items():
        Image.fromarray(pixels.astype(np.uint8)).save(folder / f"{name}_{kind}.png")
    rows, columns = np.nonzero(different)
    return (
        f"{name}: {different.sum():,} of {different.size:,} pixels differ, in columns "
        f"{columns.min()} to {columns.max()} and rows {rows.min()} to {rows.max()}; the "
        f"old picture has {old.shape[1]} x {old.shape[0]}, the new one {new.shape[1]} x "
        f"{new.shape[0]}. See {folder}/{name}_old.png, _new.png and _difference.png."
    )


@pytest.mark.parametrize("name", VALUES)
def test_names_in_an_svg_do_not_follow_the_last_bits_of_a_layout(name, studies):
    for axes in drawing(name, studies).figure.axes:
        place = axes.get_position(original=True).get_points()
        np.testing.assert_array_equal(place, place.round(9))


@pytest.mark.parametrize("name", VALUES)
def test_a_figure_looks_as_it_did(name, studies, tmp_path):
    old = np.asarray(Image.open(GOLDEN / f"{name}.png"))
    told = changes(name, old, picture_of(name, studies), tmp_path)
    assert not told, told


def test_a_changed_picture_says_how_many_pixels_differ_and_where(tmp_path):
    old = np.full((20, 30, 3), 255, dtype=np.uint8)
    new = old.copy()
    new[4:6, 10:13] = 0
    told = changes("bars", old, new, tmp_path)
    assert told.startswith(
        "bars: 6 of 600 pixels differ, in columns 10 to 12 and rows 4 to 5; the old "
        "picture has 30 x 20, the new one 30 x 20. See "
    )
    difference = np.asarray(Image.open(tmp_path / "bars_difference.png"))
    assert (difference == (213, 94, 0)).all(axis=-1).sum() == 6
    assert not changes("bars", old, np.clip(old, 0, 250), tmp_path)
    assert "600 pixels differ" in changes("bars", old[:9], new, tmp_path)


@pytest.mark.parametrize("name", VALUES)
def test_an_svg_says_each_value_where_a_reader_points(name, studies):
    file = io.BytesIO()
    with style():
        drawing(name, studies).figure.savefig(file, format="svg")
    told = re.findall("<title>(.+?)</title>", file.getvalue().decode())
    count, text = VALUES[name]
    assert len(told) == count
    assert text in told


@pytest.mark.parametrize("name", ["books", "heatmap", "parts"])
def test_a_pointer_is_on_one_value_where_values_stand_side_by_side(name, studies):
    file = io.BytesIO()
    with style():
        drawing(name, studies).figure.savefig(file, format="svg")
    for group in fromstring(file.getvalue()).iterfind(".//*[@pointer-events]"):
        boxes = []
        for box in group:
            x, y, width, height = (
                float(box.get(side)) for side in ("x", "y", "width", "height")
            )
            boxes.append((x, x + width, y, y + height))
        for place, (left, right, top, bottom) in enumerate(boxes):
            for other in boxes[:place]:
                across = min(right, other[1]) - max(left, other[0])
                down = min(bottom, other[3]) - max(top, other[2])
                assert min(across, down) < 0.2, "but for rounded digits"


TITLES = {
    MODEL: "Tiny model",
    BENCHMARK: "Old talks",
    made_up_results.OTHER: "New talks",
    made_up_prefixes.MODEL: "Small model",
    made_up_prefixes.BENCHMARK: "Periods",
}
PRINTED = ["label"]
"""The column of data that holds what is printed; every other one holds slugs."""


@pytest.mark.parametrize(
    "name",
    [
        *(
            "audit_evidence",
            "blind_audit",
            "extraction_map",
            "methods",
            "metrics",
            "pairs",
            "placebos",
        ),
        "statistics",
    ],
)
def test_titles_are_printed_and_the_data_hold_slugs(name, studies):
    panels = [{**panel, "names": TITLES} for panel in ARTIFACTS[name][1]["panels"]]
    titled = drawing(name, studies, panels=panels, names=TITLES)
    plain = drawing(name, studies)
    text = markdown(titled) if isinstance(titled, Table) else titled.reading
    assert any(title in text for title in TITLES.values())
    assert not [slug for slug in TITLES if re.search(rf"\b{slug}\b", text)]
    data = [
        drawn.frame.drop(columns=PRINTED, errors="ignore") for drawn in (titled, plain)
    ]
    pd.testing.assert_frame_equal(*data)


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as made:
        given = Studies(Path(made))
        for name in sys.argv[1:] or [*ARTIFACTS, *LARGE]:
            if name in ARTIFACTS:
                (GOLDEN / f"{name}.md").write_text(shown(name, given), encoding="utf-8")
            if name in VALUES:
                pixels = Image.fromarray(picture_of(name, given))
                pixels.save(GOLDEN / f"{name}.png", optimize=True)
