"""The units of a corpus test: documents, or texts within documents, with scores that are stored or fitted here."""

from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass, replace
from functools import cached_property
from itertools import product
from typing import Any

import numpy as np
import pandas as pd

from pretrace.benchmarks.slices import Slice
from pretrace.evaluation.audit_scores import Conditions, ScoredBenchmark, audit_scores
from pretrace.evaluation.averages import Record
from pretrace.evaluation.roc import Flags, Floats, Whole
from pretrace.methods.blind import decision_values
from pretrace.methods.statistics import LabelledTexts
from pretrace.questions.known import is_control
from pretrace.runtime.errors import InputError
from pretrace.runtime.logs import log
from pretrace.seeds import seed_of

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

KEYS = ["id", "document", "subset", "length", "label"]


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

    def where(self, rows: Flags) -> "Units":
        return replace(self, **{
            name: getattr(self, name)[rows]
            for name in ("suspect", "stratum", "document", "second", "texts", "scores")
        })  # fmt: skip

    def of_scores(self, names: Sequence[str]) -> "Units":
        columns = [self.names.index(name) for name in names]
        within = self.within[np.ix_(columns, columns)]
        return replace(self, names=tuple(names), scores=self.scores[:, columns], within=within)

    def scored(self, name: str, scores: Floats, within: float) -> "Units":
        """Return the units with another score, shape (units,), whose texts have the variance `within` a unit."""
        return replace(self, names=(name,), scores=scores[:, None], within=np.array([[within]]))

    @cached_property
    def exchangeable(self) -> bool:
        """Tell whether all units of a stratum have as many texts, so that their labels can be exchanged."""
        pairs = self.stratum * (self.texts.max(initial=0) + 1) + self.texts
        return len(np.unique(pairs)) == len(np.unique(self.stratum))

    @cached_property
    def centred(self) -> Floats:
        """Return the scores less their mean in the stratum."""
        return _centred(self.scores, self.stratum)

    @property
    def shared(self) -> Floats:
        """Return each stratum's weight n1 n0 / (n1 + n0), of n1 suspected and n0 held-out units."""
        n0, n1 = (np.bincount(self.stratum, self.suspect == kind) for kind in (False, True))
        return np.asarray(n0 * n1 / np.maximum(n0 + n1, 1))

    @property
    def counts(self) -> tuple[int, int]:
        """Count held-out and suspected units."""
        return int((~self.suspect).sum()), int(self.suspect.sum())


def _centred(scores: Floats, groups: Whole) -> Floats:
    """Return scores (rows, names) less their mean in the group of their row."""
    # called thousands of times; a groupby of pandas takes ten times as long
    sizes = np.maximum(np.bincount(groups), 1)
    means = np.stack([np.bincount(groups, score) / sizes for score in scores.T], axis=1)
    return np.asarray(scores - means[groups])


@dataclass(frozen=True)
class Compared:
    """The texts of a slice that a corpus test compares, and their units.

    `texts` has a row a text: `id`, `label`, `unit` (the row of `units`) and `row` (that of the benchmark's table).
    `fixed`: the score fixed beforehand. `name`: the benchmark.
    """

    name: str
    slice: Slice
    texts: pd.DataFrame
    units: Units
    fixed: str

    def seed(self, word: str) -> int:
        return seed_of(word, self.name, self.slice.subset, self.slice.length or 0)

    @property
    def tested_alone(self) -> list[str]:
        """Return the scores that are not fitted: the fixed one, the reference's and the number of characters."""
        return [name for name in (self.fixed, REFERENCE, CHARACTERS) if name in self.units.names]


def of_slices(
    scored: ScoredBenchmark,
    conditions: Sequence[Conditions],
    compute: Callable[[Compared], list[Record]],
    *,
    every: bool,
) -> list[Record]:
    """Return what `compute` gives for each slice, under each of the `conditions`.

    Slices are the whole benchmark ("") and each subset, at each length and at all of them (None). Not `every`: subsets
    only at all of their lengths, for what takes long. A slice whose texts cannot be compared is logged and left out;
    raises its InputError if there is no other.
    """
    rows: list[Record] = []
    errors: list[InputError] = []
    for chosen in conditions:
        scores = model_scores(scored, chosen)
        lengths = sorted({int(length) for length in scores["length"]} - {-1})
        subsets = sorted({*scores["subset"]})
        together = lengths if len(lengths) == 1 else [None]
        whole = product([""], dict.fromkeys([*together, *lengths]))
        parts = product(subsets * (len(subsets) > 1), dict.fromkeys([*together, *lengths * every]))
        for subset, length in [*whole, *parts]:
            texts = Slice(subset, length)
            try:
                compared = prepared(scored, chosen, texts, scores)
                rows += [asdict(texts) | chosen.record | row for row in compute(compared)]
            except InputError as error:
                log.info("subset '%s', length %s: %s", subset, length, error)
                errors.append(error)
    if errors and not rows:
        raise errors[0]
    return rows


def model_scores(scored: ScoredBenchmark, conditions: Conditions) -> pd.DataFrame:
    """Return the scores of labelled texts by `METHODS`; if there are none, by all methods that see the model."""
    own = scored.scores["method"].isin(METHODS)
    if own.any():
        scored = replace(scored, scores=scored.scores[own])
    rows = audit_scores(scored, conditions)
    controls = [method for method in rows["method"].unique() if is_control(method)]
    return rows[(rows["unit"] == "text") & rows["label"].notna() & ~rows["method"].isin(controls)]


def prepared(
    scored: ScoredBenchmark, conditions: Conditions, texts: Slice, scores: pd.DataFrame | None = None
) -> Compared:
    """Return what a corpus test compares of a slice; subset "" and length None stand for all.

    `scores`: `model_scores` under the conditions, if they are known. Raises InputError where suspected texts have no
    counterpart among held-out ones.
    """
    rows = model_scores(scored, conditions) if scores is None else scores
    if texts.subset:
        rows = rows[rows["subset"] == texts.subset]
    if texts.length is not None:
        rows = rows[rows["length"] == texts.length]
    if rows.empty:
        raise InputError(
            f"corpus test of {scored.name}: there is no score of a labelled text of subset '{texts.subset}', "
            f"length {texts.length} and start token {conditions.start_token}; check the artifact's panel"
        )
    rows = rows.assign(document=rows["document"].where(rows["document"] != "", rows["id"]))
    table = rows.pivot(index=KEYS, columns="method", values="score").reset_index().rename_axis(columns=None)
    methods = [name for name in METHODS if name in table] or [str(name) for name in table if name not in KEYS]
    names = [*methods, *(["ref"] if "ref" in table else [])]
    complete = table[[*KEYS, *dict.fromkeys(names)]].dropna(subset=names)
    if len(complete) < len(table):
        log.warning("%s: %d of %d texts take no part in the corpus test: they lack a score of one of %s",
                    scored.name, len(table) - len(complete), len(table), ", ".join(names))  # fmt: skip
    sizes = scored.benchmark["text"].str.len().astype(float)
    numbered = pd.DataFrame(
        {"id": scored.benchmark["text_id"], CHARACTERS: sizes, "row": np.arange(len(sizes))}
    )
    table = complete.merge(numbered, on="id")
    if {"loss", "ref"} <= {*table}:
        table[REFERENCE] = table["loss"] - table["ref"]
    named = [*methods, *(name for name in (REFERENCE, CHARACTERS) if name in table)]
    groups = table.groupby(["subset", "length"])
    for name in named:
        spread = groups[name].transform("std").replace(0, np.nan)
        table[name] = ((table[name] - groups[name].transform("mean")) / spread).fillna(0)
    if not table[CHARACTERS].any():
        named.remove(CHARACTERS)
    table = table.join(standardised_ranks(table[methods]).add_prefix(RANK))
    table, units = _units(scored.name, table, [*named, *(RANK + name for name in methods)])
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
        units = units.where(compared)
    return Compared(scored.name, texts, table, units, methods[0])


def standardised_ranks(scores: pd.DataFrame) -> pd.DataFrame:
    """Rank each column, with mean near 0 and variance near 1: a rare extreme score cannot outweigh the others."""
    return (scores.rank(pct=True) - 0.5) * np.sqrt(12)


def _units(name: str, texts: pd.DataFrame, names: Sequence[str]) -> tuple[pd.DataFrame, Units]:
    """Return the texts that take part, with the row of their `unit`, and these units."""
    slices = texts["subset"] + "/" + texts["length"].astype(str)
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
    texts = texts.assign(slice=slices)[(classes == 2) | (not within)]
    grouped = texts.groupby(["document", "label", *(["slice", "id"] if within else [])], sort=True)
    table = grouped[list(names)].mean().reset_index()
    slices_of_unit = grouped["slice"].agg(lambda own: "|".join(sorted(set(own)))).to_numpy()
    stratum = table["document"] + "/" + slices_of_unit if within else slices_of_unit
    alike = "" if within else table["label"].astype(str) + slices_of_unit
    texts = texts.assign(unit=grouped.ngroup())
    units = Units(
        suspect=table["label"].eq(1).to_numpy(bool),
        stratum=np.unique(stratum, return_inverse=True)[1],
        document=np.unique(table["document"], return_inverse=True)[1],
        second=_second_half(table["document"].to_frame().assign(alike=alike)),
        texts=np.asarray(grouped.size(), dtype=np.intp),
        names=tuple(names),
        scores=table[list(names)].to_numpy(np.float64),
        within=_covariance_within(texts["unit"].to_numpy(), texts[list(names)].to_numpy(np.float64)),
    )
    return texts, units


def _covariance_within(unit: Whole, scores: Floats) -> Floats:
    """Return the covariance of the texts' scores around the mean of their unit; 0 if no unit has two texts."""
    left = _centred(scores, unit)
    return np.asarray(left.T @ left / max(len(unit) - len(np.unique(unit)), 1))


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
    ranks, first = ranked.centred, ~units.second
    labels = _centred(units.suspect[:, None].astype(float), units.stratum)[first, 0]
    penalty = RIDGE * len(labels) * np.eye(ranks.shape[1])
    weights = np.linalg.solve(ranks[first].T @ ranks[first] + penalty, ranks[first].T @ labels)
    within = float(weights @ ranked.within @ weights)
    return units.where(units.second).scored(ENSEMBLE, ranks[units.second] @ weights, within)


def blind(compared: Compared, words: Any) -> Units | None:
    """Score the second half by the method `blind`, fitted on the words of the first half's texts.

    `words`: the counts of words in the benchmark's texts, as `word_counts` gives them.
    """
    texts, units = compared.texts, compared.units
    if not _enough(units):
        return None
    labels: list[int | None] = [int(label) for label in texts["label"]]
    labelled = LabelledTexts(texts["id"].tolist(), [], labels, [], "")
    unit = texts["unit"].to_numpy()
    tested = units.second[unit]
    counts = words[texts["row"].to_numpy()]
    scores = decision_values(labelled, counts, np.flatnonzero(tested), np.flatnonzero(~tested))
    if not scores:
        return None
    learned = texts["id"].map(scores)[tested].to_numpy(np.float64)
    second = np.unique(unit[tested], return_inverse=True)[1]
    within = float(_covariance_within(second, learned[:, None])[0, 0])
    means = np.bincount(second, learned) / np.bincount(second)
    return units.where(units.second).scored(BLIND, means, within)


def _enough(units: Units) -> bool:
    """Tell whether both halves have at least `FEWEST` units of each class."""
    return np.bincount(2 * units.second + units.suspect, minlength=4).min() >= FEWEST
