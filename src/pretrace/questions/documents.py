"""The documents of a benchmark of questions, which accuracies belong to."""

from collections.abc import Hashable, Mapping, Sequence
from typing import Any

import numpy as np
import pandas as pd

from pretrace.benchmarks.sources import Text
from pretrace.benchmarks.table import finish
from pretrace.methods import setting_name
from pretrace.questions.method_facts import question_settings
from pretrace.runtime.errors import InputError
from pretrace.runtime.files import JsonObject
from pretrace.seeds import seed_of

DOCUMENT_KEYS = ["document", "subset", "length"]


def document_units(benchmark: pd.DataFrame) -> pd.DataFrame:
    """Make one row for each document, subset and length: `id, document, label, subset,
    length, fold`, sorted by id.

    `id` is the document's name; where it has passages in several subsets or lengths,
    these follow after bars. `label` and `length` (-1: none) are whole numbers, label
    missing where unknown. The fold is the fold of most of its passages. Raises
    `InputError` where passages of one document have different labels.
    """
    passages = benchmark[benchmark["document"] != ""]
    passages = passages.assign(length=passages["length"].fillna(-1).astype(np.int64))
    grouped = passages.groupby(DOCUMENT_KEYS, sort=True)
    units = grouped["label"].first().reset_index()
    labels = grouped["label"].nunique(dropna=False).to_numpy()
    is_mixed = labels > 1
    if is_mixed.any():
        document = units.loc[is_mixed, "document"].iloc[0]
        raise InputError(
            f"the document '{document}' has passages of both labels; a document is a "
            "member or a non-member as a whole."
        )
    folds = grouped["fold"].agg(lambda folds: folds.mode().iloc[0])
    units["fold"] = folds.to_numpy(np.int64)
    has_subset = units["subset"] != ""
    subset = ("|" + units["subset"]).where(has_subset, "")
    is_repeated = units["document"].duplicated(keep=False)
    full = units["document"] + subset + "|" + units["length"].astype(str)
    units["id"] = units["document"].where(~is_repeated, full)
    columns = ["id", *DOCUMENT_KEYS, "label", "fold"]
    return units[columns].sort_values("id", ignore_index=True)


def unit_ids(rows: pd.DataFrame, units: pd.DataFrame, where: str) -> "pd.Series[str]":
    """Look up each row's unit by its document, subset and length.

    Raises `InputError`, which begins with `where`, if a row's document is not the
    benchmark's.
    """
    keys = rows[DOCUMENT_KEYS].assign(length=rows["length"].fillna(-1).astype(np.int64))
    of_units = units[[*DOCUMENT_KEYS, "id"]]
    merged = keys.merge(of_units, on=DOCUMENT_KEYS, how="left")
    ids = merged["id"].to_numpy(object)
    strange = pd.isna(ids)
    if strange.any():
        row = keys[strange].iloc[0]
        length = f", {row['length']} words" if row["length"] >= 0 else ""
        raise InputError(
            f"{where}: '{row['document']}'{length} is not a document of the benchmark."
        )
    return pd.Series(ids, index=rows.index)


def benchmark_of_answers(
    answers: Mapping[str, pd.DataFrame], name: str, seed: int
) -> pd.DataFrame:
    """Make the table of a benchmark without texts from the answers of all its models:
    one row for each passage.

    Columns as a benchmark's, `text` empty, and `passage`. Raises `InputError` if two
    models' answers give a document different labels.
    """
    columns = [*DOCUMENT_KEYS, "passage", "label"]
    frames = [frame[columns].assign(model=model) for model, frame in answers.items()]
    passages = pd.concat(frames)
    labels = passages.drop_duplicates(["document", "label"])
    twice = labels[labels["document"].duplicated(keep=False)]
    if len(twice):
        twice = twice.sort_values("document", kind="stable")
        models = sorted(set(twice["model"]))
        raise InputError(
            f"benchmark {name}: the answers of {' and '.join(models)} give the "
            f"document '{twice['document'].iloc[0]}' different labels."
        )
    passages = passages.drop_duplicates([*DOCUMENT_KEYS, "passage"])
    texts = []
    number_of_text = {}
    for row in passages.to_dict("records"):
        text = _stand_in(row)
        texts.append(text)
        number_of_text[text.text_id] = row["passage"]
    frame = finish(texts, name=name, seed=seed_of("folds", name, seed))
    numbers = frame["text_id"].map(number_of_text)
    return frame.assign(text="", passage=numbers.astype("Int64"))


def _stand_in(row: Mapping[Hashable, Any]) -> Text:
    """Make a passage without its text; its id takes the place of the text when folds
    are assigned."""
    document = str(row["document"])
    subset = str(row["subset"])
    length = None if pd.isna(row["length"]) else int(row["length"])
    label = None if pd.isna(row["label"]) else int(row["label"])
    parts = [document]
    if subset:
        parts.append(subset)
    if length is not None:
        parts.append(str(length))
    parts.append(str(row["passage"]))
    text_id = "|".join(parts)
    return Text(text_id, text_id, label, subset, length, document)


def wanted_answers(answers: pd.DataFrame, runs: Sequence[JsonObject]) -> pd.DataFrame:
    """Select the answers that the runs of one model and benchmark ask for, in their
    order."""
    keep = np.zeros(len(answers), bool)
    for run in runs:
        named = []
        for item in run["questions"]:
            method = item["method"]
            for setting in question_settings(method, item["parameters"]):
                named.append((method, setting_name(method, setting)))
        tasks = pd.MultiIndex.from_frame(answers[["task", "setting"]])
        mask = tasks.isin(named)
        for key, column in (("subsets", "subset"), ("lengths", "length")):
            if run.get(key):
                mask &= answers[column].isin(run[key]).fillna(False).to_numpy(bool)
        if run["paraphraser"] is not None:
            mask &= answers["paraphraser"].isin([run["paraphraser"], ""]).to_numpy(bool)
        keep |= mask
    return answers[keep]
