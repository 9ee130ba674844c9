"""Tables of scores and texts for the tests of the evaluation room, and methods with a
small grid."""

from types import SimpleNamespace
from unittest import mock

import numpy as np
import pandas as pd

from pretrace.evaluation.evaluate import evaluate
from pretrace.evaluation.scores import scores_of
from pretrace.questions import method_facts

GRIDS = {"tuned": 2, "surprised": 1}
"""Methods with a grid, 1..20, and the default of its one parameter k; any other method
has none."""


def parse_setting(method, setting):
    params = {"k": float(GRIDS[method])} if method in GRIDS else {}
    if setting:
        for part in setting.split(";"):
            name, value = part.split("=")
            params[name] = float(value)
    return params


def method(default=None, convention=()):
    if default is None:
        return SimpleNamespace(convention=convention, grid={}, defaults={})
    grid = {"k": tuple(range(1, 21))}
    return SimpleNamespace(convention=convention, grid=grid, defaults={"k": default})


SETTINGS = SimpleNamespace(
    parse_setting=parse_setting,
    empty_score=lambda method, setting: 0.0 if method == "surprised" else None,
    cross_fitted=lambda method: False,
    is_limit=lambda method, name, value: value == 20,
    METHODS={
        "tuned": method(GRIDS["tuned"]),
        "surprised": method(GRIDS["surprised"], convention=("k",)),
        "plain": method(),
        "other": method(),
        "third": method(),
    },
)


def texts(label, *, fold=None, document=None, subset="", length=64, text=None):
    label = np.asarray(label, dtype=float)
    ids = [f"{subset}{length}-{number:05d}" for number in range(len(label))]
    table = pd.DataFrame(
        {
            "text_id": ids,
            "text": ids if text is None else text,
            "label": label,
            "subset": subset,
            "length": length,
            "document": "" if document is None else document,
            "fold": np.arange(len(ids)) % 5 if fold is None else fold,
        }
    )
    return table.astype({"label": "Int64", "length": "Int64"})


def scores(
    benchmark, columns, *, view="original", start_token="", draw=None, reference=""
):
    """One block of rows for each (method, setting) of `columns`; NaN: no row."""
    own = pd.DataFrame(
        {
            "unit": "text",
            "id": benchmark["text_id"],
            "view": view,
            "start_token": start_token,
            "draw": draw,
            "reference": reference,
            "shots_used": None,
        }
    ).astype({"draw": "Int64", "shots_used": "Int64"})
    blocks = []
    for (method, setting), values in columns.items():
        score = np.asarray(values, dtype=float)
        blocks.append(own.assign(method=method, setting=setting, score=score))
    table = pd.concat(blocks, ignore_index=True)
    return table.dropna(subset="score").reset_index(drop=True)


def run(given, benchmark=None, *, resamples=50, settings=SETTINGS, **options):
    """The tables metrics and tests of a table of scores, of its parts, or of columns as
    `scores` takes them; `settings` in place of the facts about the registered methods."""
    benchmark = texts(LABEL) if benchmark is None else benchmark
    table = scores(benchmark, given) if isinstance(given, dict) else given
    names = {"study": "study", "model": "model", "benchmark_name": "benchmark"}
    parts = [table] if isinstance(table, pd.DataFrame) else table
    given = scores_of(parts, benchmark)
    facts = {name: getattr(settings, name) for name in vars(SETTINGS)}
    with mock.patch.multiple(method_facts, **facts):
        return evaluate(given, benchmark, resamples=resamples, **names, **options)


def only(frame, **wanted):
    for name, value in wanted.items():
        frame = frame[frame[name] == value]
    assert len(frame) == 1, frame
    return frame.iloc[0]


LABEL = np.arange(200) % 2


def noise(*shape, seed=0):
    return np.random.default_rng(seed).normal(size=shape)


def auc(values, label):
    """By the definition: the share of pairs in which the member scores higher, ties by
    half."""
    values = np.asarray(values)
    gaps = np.subtract.outer(values[label == 1], values[label == 0])
    return (gaps > 0).mean() + 0.5 * (gaps == 0).mean()
