"""The units of a corpus test: documents, or texts within documents, with scores that are stored or fitted here."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
import pandas as pd

from pretrace.evaluation.audit_scores import ScoredBenchmark, audit_scores
from pretrace.evaluation.roc import Flags, Floats, Whole
from pretrace.methods.bag_of_words import word_counts
from pretrace.methods.blind import decision_values
from pretrace.methods.statistics import LabelledTexts
from pretrace.questions.known import is_control
from pretrace.runtime.errors import InputError
from pretrace.runtime.files import seed_of
from pretrace.runtime.logs import log

METHODS = ("loss", "zlib", "ref", "min_k", "min_k_pp", "dc_pdd")
"""Methods that a corpus is tested by, where a run scores them: the first is the score fixed beforehand, all together
are the ensemble."""

ENSEMBLE, BLIND = "ensemble", "blind"
CHARACTERS, REFERENCE = "characters", "reference"
"""Scores beside stored methods: several combined; two that see no model; the loss of the reference model."""

RANK = "rank of "
"""Before the name of a method: the texts' ranks by it, which the ensemble combines."""


RIDGE = 0.1
"""The penalty on the weights of standardised ranks: methods are alike, and documents few."""

FEWEST = 10
"""Fewer units of a class teach nothing: nothing is fitted on them."""


def standardised_ranks(scores: pd.DataFrame) -> pd.DataFrame:
    """Rank each column, with mean near 0 and variance near 1: a rare extreme score cannot outweigh the others."""
    return (scores.rank(pct=True) - 0.5) * np.sqrt(12)


def fitted_weights(ranks: Floats, labels: Floats) -> Floats:
    """Fit a ridge regression of centred `labels` (texts,) on centred `ranks` (texts, methods): shape (methods,)."""
    penalty = RIDGE * len(ranks) * np.eye(ranks.shape[1])
    return np.asarray(np.linalg.solve(ranks.T @ ranks + penalty, ranks.T @ labels))


@dataclass(frozen=True)
class Units:
    """Hold the documents or texts that exchange their label, suspected or held out, with others of their stratum.

    `suspect`, `stratum` and `document` (codes) and `second`, whether its document is in the half that is tested where
    something is fitted on the other one, have shape (units,), as have `texts`, how many texts a unit's score is the
    mean of. `scores` (units, names) have mean 0 and variance 1 within a subset and length. `within` (names, names) is
    the covariance of the texts' scores within a unit.
    """

    suspect: Flags
    stratum: Whole
    document: Whole
    second: Flags
    texts: Whole
    names: tuple[str, ...]
    scores: Floats
    within: Floats

    def of(self, rows: Flags) -> "Units":
        return replace(self, **{
            name: getattr(self, name)[rows]
            for name in ("suspect", "stratum", "document", "second", "texts", "scores")
        })  # fmt: skip

    def of_scores(self, names: Sequence[str]) -> "Units":
        """Return the units with these of their scores."""
        columns = [self.names.index(name) for name in names]
        within = self.within[np.ix_(columns, columns)]
        return replace(self, names=tuple(names), scores=self.scores[:, columns], within=within)

    def scored(self, name: str, scores: Floats, within: float) -> "Units":
        """Return the units with another score, shape (units,), whose texts have the variance `within` a unit."""
        return replace(self, names=(name,), scores=scores[:, None], within=np.array([[within]]))

    def scored_all(self, scores: Floats) -> "Units":
        """Return the units with other values of their scores, shape (units, names)."""
        return replace(self, scores=scores)

    @property
    def exchangeable(self) -> bool:
        """Tell whether all units of a stratum have as many texts, so that their labels can be exchanged."""
        numbers = np.unique(np.stack([self.stratum, self.texts]), axis=1)
        return numbers.shape[1] == len(np.unique(self.stratum))

    @cached_property
    def centred(self) -> Floats:
        """Return the scores less their mean in the stratum."""
        means = pd.DataFrame(self.scores).groupby(self.stratum).transform("mean")
        return np.asarray(self.scores - means)

    @property
    def shared(self) -> Floats:
        """Return each stratum's weight n1 n0 / (n1 + n0), of n1 suspected and n0 held-out units."""
        n0, n1 = (np.bincount(self.stratum, self.suspect == kind) for kind in (False, True))
        return np.asarray(n0 * n1 / np.maximum(n0 + n1, 1))

    @property
    def counts(self) -> tuple[int, int]:
        """Count held-out and suspected units."""
        return int((~self.suspect).sum()), int(self.suspect.sum())


def prepared(scored: ScoredBenchmark, place: Mapping[str, Any]) -> tuple[pd.DataFrame, Units, str]:
    """Return the texts compared (`id`, `text`, `label`, `unit`: the row of `Units`), the units, and the fixed score."""
    table = _scored_texts(scored, place)
    methods = [name for name in METHODS if name in table] or [str(name) for name in table if name not in KEYS]
    names = [*methods, *(["ref"] if "ref" in table else [])]
    complete = table[[*KEYS, *dict.fromkeys(names)]].dropna(subset=names)
    if len(complete) < len(table):
        log.warning("%s: %d of %d texts take no part in the corpus test: they lack a score of one of %s",
                    scored.name, len(table) - len(complete), len(table), ", ".join(names))  # fmt: skip
    table = complete.merge(scored.benchmark.rename(columns={"text_id": "id"})[["id", "text"]], on="id")
    table[CHARACTERS] = table["text"].str.len().astype(float)
    if {"loss", "ref"} <= {*table}:
        table[REFERENCE] = table["loss"] - table["ref"]
    named = [*methods, *(name for name in (REFERENCE, CHARACTERS) if name in table)]
    cells = table.groupby(["subset", "length"])
    for name in named:
        spread = cells[name].transform("std").replace(0, np.nan)
        table[name] = ((table[name] - cells[name].transform("mean")) / spread).fillna(0)
    if not table[CHARACTERS].any():
        named.remove(CHARACTERS)
    table = table.join(standardised_ranks(table[methods]).add_prefix(RANK))
    named += [RANK + name for name in methods]
    table, units = _units(scored.name, table, named)
    compared = units.shared[units.stratum] > 0
    if not compared.any():
        raise InputError(
            f"corpus test of {scored.name}: no suspected text (label 1) has a held-out one (label 0) of its subset and "
            "length to be compared with; give both classes texts of the same subsets and lengths"
        )
    if not compared.all():
        log.warning("%s: %d of %d units take no part in the corpus test: none of the other class has texts of the same "
                    "subsets and lengths", scored.name, (~compared).sum(), len(compared))  # fmt: skip
        table = table[compared[table["unit"]]]
        table = table.assign(unit=(np.cumsum(compared) - 1)[table["unit"]])
        units = units.of(compared)
    return table, units, methods[0]


KEYS = ["id", "document", "subset", "length", "label"]


def of_methods(scored: ScoredBenchmark) -> ScoredBenchmark:
    """Return the benchmark with the scores of `METHODS` alone, or with all if none of them is there."""
    own = scored.scores["method"].isin(METHODS)
    return replace(scored, scores=scored.scores[own]) if own.any() and not own.all() else scored


def model_scores(scored: ScoredBenchmark, conditions: Mapping[str, Any]) -> pd.DataFrame:
    """Return the scores of labelled texts by the methods of `METHODS`, or if there are none by all that see the model.

    `conditions` hold `start_token` and `references`.
    """
    chosen = {"start_token": conditions["start_token"], "references": {*conditions["references"], ""}}
    rows = audit_scores(of_methods(scored), chosen | {"paraphraser": None})
    rows = rows[(rows["unit"] == "text") & rows["label"].notna()]
    return rows[~rows["method"].map(is_control).astype(bool)]


def _scored_texts(scored: ScoredBenchmark, place: Mapping[str, Any]) -> pd.DataFrame:
    """Return `KEYS` and a column a method: the labelled texts of a place's subset ("" for all) and length (None)."""
    rows = model_scores(scored, place)
    if place["subset"]:
        rows = rows[rows["subset"] == place["subset"]]
    if place["length"] is not None:
        rows = rows[rows["length"] == place["length"]]
    if rows.empty:
        raise InputError(
            f"corpus test of {scored.name}: there is no score of a labelled text of subset '{place['subset']}', "
            f"length {place['length']} and start token {place['start_token']}; check the artifact's panel"
        )
    rows = rows.assign(document=rows["document"].where(rows["document"] != "", rows["id"]))
    return rows.pivot(index=KEYS, columns="method", values="score").reset_index().rename_axis(columns=None)


def _units(name: str, texts: pd.DataFrame, names: Sequence[str]) -> tuple[pd.DataFrame, Units]:
    """Return the texts that take part, with the row of their `unit`, and these units."""
    place = texts["subset"] + "/" + texts["length"].astype(str)
    classes = texts.groupby("document")["label"].transform("nunique")
    within = bool((classes == 2).any())
    if within and (left := int((classes == 1).sum())):
        log.warning("%s: %d texts take no part in the corpus test: their document has one class, others have both",
                    name, left)  # fmt: skip
    if within and texts["length"].nunique() > 1:
        raise InputError(
            f"corpus test of {name}: documents hold texts of both classes at several lengths, "
            f"{', '.join(map(str, sorted(texts['length'].unique())))}: shorter texts may be parts of longer ones. Name "
            "one length in the artifact's panel"
        )
    texts = texts.assign(place=place)[(classes == 2) | (not within)]
    grouped = texts.groupby(["document", "label", *(["place", "id"] if within else [])], sort=True)
    table = grouped[list(names)].mean().reset_index()
    places = grouped["place"].agg(lambda cell_places: "|".join(sorted(set(cell_places)))).to_numpy()
    stratum = table["document"] + "/" + places if within else places
    alike = "" if within else table["label"].astype(str) + places
    texts = texts.assign(unit=grouped.ngroup())
    units = Units(
        suspect=table["label"].eq(1).to_numpy(bool),
        stratum=np.unique(stratum, return_inverse=True)[1],
        document=np.unique(table["document"], return_inverse=True)[1],
        second=_second_half(table["document"].to_frame().assign(alike=alike)),
        texts=np.asarray(grouped.size(), dtype=np.intp),
        names=tuple(names),
        scores=table[list(names)].to_numpy(np.float64),
        within=_covariance_within(texts["unit"], texts[list(names)]),
    )
    return texts, units


def _covariance_within(unit: "pd.Series[int]", scores: pd.DataFrame) -> Floats:
    """Return the covariance of the texts' scores around the mean of their unit; 0 if no unit has two texts."""
    left = (scores - scores.groupby(unit).transform("mean")).to_numpy(np.float64)
    return np.asarray(left.T @ left / max(len(unit) - unit.nunique(), 1))


def _second_half(units: pd.DataFrame) -> Flags:
    """Mark units of every other `document` among `alike` units, in an order that depends on names alone."""
    documents = units.drop_duplicates("document")
    order = documents["document"].map(lambda name: seed_of("corpus_half", name))
    documents = documents.iloc[order.argsort(kind="stable")]
    odd = documents.groupby("alike").cumcount() % 2 == 1
    return units["document"].isin(documents.loc[odd, "document"]).to_numpy(bool)


def ensemble(units: Units) -> Units | None:
    """Score the second half by all methods combined: ridge regression of the first half's labels on the texts' ranks by
    the methods, averaged over a unit.

    None if there is one method, or a half has fewer than `FEWEST` units of a class.
    """
    ranked = units.of_scores([name for name in units.names if name.startswith(RANK)])
    if len(ranked.names) < 2 or not _enough(units):
        return None
    ranks, labels = ranked.centred, units.scored_all(units.suspect[:, None].astype(float)).centred
    weights = fitted_weights(ranks[~units.second], labels[~units.second, 0])
    within = float(weights @ ranked.within @ weights)
    return units.of(units.second).scored(ENSEMBLE, ranks[units.second] @ weights, within)


def blind(texts: pd.DataFrame, units: Units, language: str) -> Units | None:
    """Score the second half by the method `blind`, fitted on the words of the first half's texts."""
    if not _enough(units):
        return None
    labels: list[int | None] = [int(label) for label in texts["label"]]
    labelled = LabelledTexts(texts["id"].tolist(), texts["text"].tolist(), labels, [], language)
    tested = units.second[texts["unit"].to_numpy()]
    counts = word_counts(labelled.texts, language)
    scores = decision_values(labelled, counts, np.flatnonzero(tested), np.flatnonzero(~tested))
    if not scores:
        return None
    learned = texts["id"].map(scores)[tested].to_frame()
    of_unit = learned.groupby(texts["unit"][tested]).mean()
    within = float(_covariance_within(texts["unit"][tested], learned)[0, 0])
    return units.of(units.second).scored(BLIND, of_unit["id"].to_numpy(), within)


def _enough(units: Units) -> bool:
    return min(*units.of(units.second).counts, *units.of(~units.second).counts) >= FEWEST
