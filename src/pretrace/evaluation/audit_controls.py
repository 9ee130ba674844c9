"""Are texts in question and known ones of the same kind? Checks by exchanges of whole
documents."""

from collections import defaultdict
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

import numpy as np

from pretrace.benchmarks.audit_design import CHECK_LEVEL, LEVEL, names_of_parts
from pretrace.benchmarks.languages import unit_of, units
from pretrace.benchmarks.ngrams import RUN, near_copies, ngrams
from pretrace.evaluation.audit_documents import Documents, Terms, stratum_means
from pretrace.evaluation.audit_rows import AuditRow
from pretrace.evaluation.exchange import SUMMING
from pretrace.evaluation.forms import FORM as FEATURES
from pretrace.evaluation.forms import SIZE, Measure
from pretrace.evaluation.resampling import relabellings
from pretrace.evaluation.roc import Flags, Floats, Whole, ratio
from pretrace.seeds import seed_of

WORDS, LETTERS, WORD = "words", "letters", "word"
"""Checks by exchange: a classifier of words; one of letters and signs; the single word
that differs most."""

FORM, SIZES, SPREAD = "form", "size", "spread"
"""Checks by exchange: the greatest difference in form; in size; how documents of a side
scatter about one another."""

PARTS, COPIES = "parts", "copies"
"""Documents that are called chapters; documents of a side that are copies of each
other."""

RELABELLINGS = 1_999
"""Of a check, at most."""

TELLING = 20
"""Words that are told where the sides differ in words or letters."""

FEWEST_WITH_WORD = 2
"""Documents that have a word: one that a single document has tells no side."""

FEW = 0.1
"""Share of outlying documents, at most."""

FEWEST_USUAL = 8
"""Fewer documents do not show what is usual."""

FAR = 6.0
"""An outlying document is this much less like the others than usual, in robust standard
deviations."""

CELLS_AT_ONCE = 1 << 22
"""Of a matrix of words and relabellings."""


def checks(documents: Documents) -> list[AuditRow]:
    """Return a row `control` for each check: p and effect of those by exchange alone.

    `id` names the feature or the word that differs most, or two documents. p is
    adjusted: that of the greatest departure among the checks by exchange (Westfall and
    Young, Resampling-Based Multiple Testing, 1993); a check fails at `CHECK_LEVEL`.
    `effect`: how much more the sides differ than relabelled ones do, in standard
    deviations of these. Of checks by exchange that fail, there are rows of `_causes`
    too.
    """
    first = documents.table.groupby("document", sort=True)["text"].first()
    parts = names_of_parts(zip(documents.names, first, strict=True))
    copies = _copies(documents, suspect=True) or _copies(documents, suspect=False)
    rows: list[AuditRow] = [_named(PARTS, parts[:2]), _named(COPIES, copies)]
    compared = documents.where(documents.compared)
    exchanged = _exchanged(compared)
    failed = {row.method: row.id for row in exchanged if row.flagged}
    return [*rows, *exchanged, *_causes(compared, failed)]


def _named(method: str, names: list[str]) -> AuditRow:
    return AuditRow("control", " / ".join(names), method=method, flagged=bool(names))


def unusual(documents: Documents) -> set[str]:
    """Return the documents in question that look unlike the known ones, so that naming
    them would mean nothing.

    The greatest departure of any feature of their form has a rank of at most `LEVEL`
    among those of the known documents of the same stratum.
    """
    greatest = np.abs(documents.form).max(axis=1, initial=0)
    names = set()
    for own in np.flatnonzero(documents.suspect).tolist():
        known = ~documents.suspect & (documents.stratum == documents.stratum[own])
        as_far = (greatest[known] >= greatest[own] - SUMMING).sum()
        if 1 + as_far <= LEVEL * (1 + known.sum()):
            names.add(documents.names[own])
    return names


def _causes(documents: Documents, failed: Mapping[str, str]) -> Iterator[AuditRow]:
    """Yield how far each document lies on its own side where checks fail (`failed`:
    method -> feature), and words.

    `effect` of a `cause`: how far it lies from the middle between both sides, by its
    prediction or by the feature, in standard deviations; `flagged`, if it is in
    question.
    """
    for method, feature in failed.items():
        if method == SPREAD:
            continue  # no document lies on its side by how its side scatters
        values = _on_a_line(documents, method, feature)
        apart = _apart(values, documents.suspect)
        for place, name in enumerate(documents.names):
            yield AuditRow(
                "cause",
                name.lstrip("\0"),
                method=method,
                effect=apart[place],
                flagged=bool(documents.suspect[place]),
            )
    if failed.keys() & {WORDS, LETTERS, WORD}:
        yield from _telling_words(documents)


def _on_a_line(documents: Documents, method: str, feature: str) -> Floats:
    """Return a number of each document by which a check tells the sides apart, shape
    (documents,)."""
    if method in (WORDS, LETTERS):
        terms = documents.words if method == WORDS else documents.letters
        hat = leave_one_out(terms.likeness, documents.stratum)
        return left_out(hat, documents.suspect[:, None].astype(np.float64))[:, 0]
    if method == WORD:
        return documents.words.presence_of(feature)
    measures = {**FEATURES, **SIZE}
    return documents.features(documents.measured({feature: measures[feature]}))[:, 0]


def _apart(values: Floats, ours: Flags) -> Floats:
    """Return how far each of `values` (documents,) lies on its own side of the middle,
    in standard deviations."""
    means = values[ours].mean(), values[~ours].mean()
    from_middle = values - np.mean(means)
    outwards = np.where(ours, 1, -1) * np.sign(means[0] - means[1])
    return np.asarray(ratio(from_middle * outwards, values.std(), empty=0.0))


def _telling_words(documents: Documents) -> Iterator[AuditRow]:
    """Yield the words whose weights differ most between the sides.

    `effect`: how much more a word weighs in question, in standard deviations over
    documents; `texts` and `n`: the documents in question, and the known ones, that have
    it.
    """
    weights, names = documents.words.weights, documents.words.names
    ours, theirs = weights[documents.suspect], weights[~documents.suspect]
    difference = _means(ours) - _means(theirs)
    variance = _means(weights.multiply(weights)) - _means(weights) ** 2
    effects = ratio(difference, np.sqrt(np.maximum(variance, 0)), empty=0.0)
    with_word, known_with_word = ours.getnnz(axis=0), theirs.getnnz(axis=0)
    falling = np.argsort(-np.abs(effects), kind="stable").tolist()
    with_name = [place for place in falling if names[place]]
    for place in with_name[:TELLING]:
        yield AuditRow(
            "word",
            str(names[place]),
            method=WORDS,
            effect=effects[place],
            texts=int(with_word[place]),
            n=int(known_with_word[place]),
        )


def _means(weights: object) -> Floats:
    """Return the mean of each column of a sparse matrix."""
    return np.asarray(weights.mean(axis=0)).ravel()  # type: ignore[attr-defined]


@dataclass(frozen=True)
class Exchanged:
    """A check's `departures`, how much the sides differ for each relabelling (first of
    which are the labels as they are), and the name of what differs most."""

    method: str
    departures: Floats
    feature: str = ""

    @property
    def shares(self) -> Floats:
        """Return for each relabelling the share of all that depart as far."""
        ordered = np.sort(self.departures)
        below = np.searchsorted(ordered, self.departures - SUMMING, side="left")
        return 1 - below / len(ordered)

    @property
    def effect(self) -> float:
        own = self.departures
        return float(
            ratio(np.asarray(own[0] - own.mean()), np.asarray(own.std()), empty=0.0)
        )


def _exchanged(documents: Documents) -> list[AuditRow]:
    seed = seed_of("comparable", *documents.names)
    parts = relabellings(documents.suspect, documents.stratum, seed, RELABELLINGS)
    labels = np.concatenate([*parts], axis=1)
    words, letters = documents.words.likeness, documents.letters.likeness
    by_words = leave_one_out(words, documents.stratum)
    by_letters = leave_one_out(letters, documents.stratum)
    made = [
        Exchanged(WORDS, separation(by_words, labels)),
        Exchanged(LETTERS, separation(by_letters, labels)),
        single_word(documents, labels),
        _greatest(FORM, FEATURES, documents.form, labels),
        _greatest(SIZES, SIZE, documents.size, labels),
        Exchanged(SPREAD, energy(_distances(documents.form, words), labels)),
    ]
    least = np.min([check.shares for check in made], axis=0)
    rows = []
    for check in made:
        p = float((least <= check.shares[0] + SUMMING).mean())
        row = AuditRow(
            "control",
            check.feature,
            method=check.method,
            effect=check.effect,
            p=p,
            flagged=p <= CHECK_LEVEL,
        )
        rows.append(row)
    return rows


def _greatest(
    method: str, of: dict[str, Measure], features: Floats, labels: Floats
) -> Exchanged:
    """Return the greatest difference of any feature for each relabelling (documents,
    relabellings)."""
    differences = np.abs(features.T @ labels)
    names = [*of]
    # each measure has two columns: as it is, and as normal scores
    feature = names[int(differences[:, 0].argmax()) % len(names)]
    return Exchanged(method, np.asarray(differences.max(axis=0, initial=0)), feature)


def single_word(documents: Documents, labels: Floats) -> Exchanged:
    """Return the greatest difference of any word: in the share of a document's texts
    that have it."""
    words = documents.words
    presence = words.presence.tocsc()
    shared = np.flatnonzero(presence.getnnz(axis=0) >= FEWEST_WITH_WORD)
    centred = documents.centred(labels)
    greatest = np.zeros(labels.shape[1])
    feature, most = "", 0.0
    at_once = max(1, CELLS_AT_ONCE // labels.shape[1])
    for start in range(0, len(shared), at_once):
        places = shared[start : start + at_once]
        differences = np.abs(presence[:, places].T @ centred)
        differences = differences / documents.scatter(presence[:, places])[:, None]
        greatest = np.maximum(greatest, differences.max(axis=0))
        place = int(differences[:, 0].argmax())
        if differences[place, 0] > most:
            feature = str(words.names[places[place]])
            most = float(differences[place, 0])
    return Exchanged(WORD, greatest, feature)


def _distances(form: Floats, likeness: Floats) -> Floats:
    """Return how far documents lie apart (documents, documents): in form and in words,
    each by its mean distance."""
    total = np.zeros(likeness.shape)
    for product in (form @ form.T, likeness):
        own = np.diag(product)
        squares = own[:, None] + own[None] - 2 * product
        distances = np.sqrt(np.maximum(squares, 0))
        total += distances / max(distances.mean(), SUMMING)
    return total


def energy(distances: Floats, labels: Floats) -> Floats:
    """Return the energy distance of the sides for each relabelling (documents,
    relabellings).

    Twice the mean distance between the sides less the mean distances within each: it is
    greater, too, where one side scatters more or has a few documents of another kind.
    G. Szekely and M. Rizzo, Energy statistics, Journal of Statistical Planning and
    Inference 2013.
    """
    ours = labels[:, 0].sum()
    theirs = len(labels) - ours
    to_ours = distances @ labels
    within = (labels * to_ours).sum(axis=0)
    between = to_ours.sum(axis=0) - within
    within_theirs = distances.sum() - within - 2 * between
    return np.asarray(
        2 * between / (ours * theirs) - within / ours**2 - within_theirs / theirs**2
    )


def leave_one_out(likeness: Floats, stratum: Whole) -> tuple[Floats, Floats]:
    """Return the hat matrix of kernel ridge regression, less stratum means, and its
    leverages.

    With them, `separation` gives every document the prediction of the regression on all
    other documents' labels.
    """
    centred = likeness - stratum_means(likeness, stratum)
    centred = centred - stratum_means(centred.T, stratum).T
    penalty = max(np.trace(centred) / len(centred), 1e-12)
    hat = np.linalg.solve(centred + penalty * np.eye(len(centred)), centred).T
    same = stratum[:, None] == stratum[None]
    hat = hat + same / same.sum(axis=1, keepdims=True)
    return hat, np.minimum(np.diag(hat), 1 - 1e-6)


def left_out(hat: tuple[Floats, Floats], labels: Floats) -> Floats:
    """Return each document's prediction from all others, for each relabelling
    (documents, relabellings)."""
    matrix, leverage = hat
    return np.asarray(labels - (labels - matrix @ labels) / (1 - leverage)[:, None])


def separation(hat: tuple[Floats, Floats], labels: Floats) -> Floats:
    """Return how much higher suspects' left-out predictions lie, for each relabelling
    (documents, relabellings)."""
    predicted = left_out(hat, labels)
    ours = labels.sum(axis=0)
    mean = (labels * predicted).sum(axis=0) / ours
    others = ((1 - labels) * predicted).sum(axis=0) / (len(labels) - ours)
    return np.asarray(mean - others)


def outliers(documents: Documents) -> Flags:
    """Mark documents that are far less like all others than usual: another language or
    script, another kind of text.

    None if these are more than `FEW`: then the kinds differ. Labels play no part, so
    that an exchange of the other documents stays exact.
    """
    count = len(documents.names)
    out = np.zeros(count, dtype=bool)
    if count < FEWEST_USUAL:
        return out
    for terms in (documents.words, documents.letters):
        likeness = _likeness_to_others(terms)
        middle = np.median(likeness)
        spread = 1.4826 * np.median(np.abs(likeness - middle))
        out |= (middle - likeness) > FAR * max(spread, 1e-12)
    return out & (out.mean() <= FEW)


def _likeness_to_others(terms: Terms) -> Floats:
    """Return how alike each document is to all others, in the mean, shape
    (documents,)."""
    weights = terms.weights
    own = np.asarray(weights.multiply(weights).sum(axis=1)).ravel()
    together = np.asarray(weights.sum(axis=0)).ravel()
    return np.asarray((weights @ together - own) / (len(own) - 1))


def _copies(documents: Documents, *, suspect: bool) -> list[str]:
    """Return the names of two documents of one side that are near-copies."""
    unit = unit_of(documents.language)
    runs: dict[str, set[tuple[str, ...]]] = defaultdict(set)
    codes = documents.of_text.tolist()
    for code, text in zip(codes, documents.table["text"], strict=True):
        if documents.suspect[code] == suspect:
            words = " ".join(units(text, unit))
            runs[documents.names[code]].update(ngrams(words, RUN[unit]))
    return near_copies(runs)
