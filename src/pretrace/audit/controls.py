"""Are texts in question and known ones of the same kind? Checks by exchanges of whole
documents."""

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from pretrace.audit.design import CHECK_LEVEL, LEVEL, names_of_parts
from pretrace.audit.documents import FORM_FEATURES, Documents, Terms, stratum_means
from pretrace.audit.exchange_test import SUMMING
from pretrace.audit.form_features import SIZE
from pretrace.audit.rows import AuditRow
from pretrace.benchmarks.ngrams import RUN, near_copies, ngrams
from pretrace.documents.languages import unit_of, units
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
    stratum = documents.stratum
    names = set()
    for place in np.flatnonzero(documents.suspect).tolist():
        known = ~documents.suspect & (stratum == stratum[place])
        is_as_far = greatest[known] >= greatest[place] - SUMMING
        if 1 + is_as_far.sum() <= LEVEL * (1 + known.sum()):
            names.add(documents.names[place])
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
        labels = documents.suspect[:, None].astype(np.float64)
        return left_out(hat, labels)[:, 0]
    if method == WORD:
        return documents.words.presence_of(feature)
    if method == SIZES:
        return documents.size[:, [*SIZE].index(feature)]
    return documents.form[:, FORM_FEATURES.index(feature)]


def _apart(values: Floats, ours: Flags) -> Floats:
    """Return how far each of `values` (documents,) lies on its own side of the middle,
    in standard deviations."""
    mean, mean_of_others = values[ours].mean(), values[~ours].mean()
    from_middle = values - np.mean([mean, mean_of_others])
    outwards = np.where(ours, 1, -1) * np.sign(mean - mean_of_others)
    return ratio(from_middle * outwards, values.std(), empty=0.0)


def _telling_words(documents: Documents) -> Iterator[AuditRow]:
    """Yield the words whose weights differ most between the sides.

    `effect`: how much more a word weighs in question, in standard deviations over
    documents; `texts` and `n`: the documents in question, and the known ones, that have
    it.
    """
    weights, names = documents.words.weights, documents.words.names
    ours = weights[documents.suspect]
    theirs = weights[~documents.suspect]
    difference = _means(ours) - _means(theirs)
    variance = _means(weights.multiply(weights)) - _means(weights) ** 2
    spread = np.sqrt(np.maximum(variance, 0))
    effects = ratio(difference, spread, empty=0.0)
    with_word = ours.getnnz(axis=0)
    known_with_word = theirs.getnnz(axis=0)
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
        """Return how far the labels depart more than relabelled ones do, in standard
        deviations of these; 0 where all depart alike."""
        spread = self.departures.std()
        more = self.departures[0] - self.departures.mean()
        return float(more / spread) if spread else 0.0


def _exchanged(documents: Documents) -> list[AuditRow]:
    """Return the rows of the checks by exchange."""
    seed = seed_of("comparable", *documents.names)
    labels = all_relabellings(documents, seed)
    words = documents.words.likeness
    by_words = leave_one_out(words, documents.stratum)
    by_letters = leave_one_out(documents.letters.likeness, documents.stratum)
    distances = _distances(documents.form, words)
    checks_made = [
        Exchanged(WORDS, separation(by_words, labels)),
        Exchanged(LETTERS, separation(by_letters, labels)),
        single_word(documents, labels),
        _greatest(FORM, FORM_FEATURES, documents.form, labels),
        _greatest(SIZES, [*SIZE], documents.size, labels),
        Exchanged(SPREAD, energy(distances, labels)),
    ]
    least = np.min([check.shares for check in checks_made], axis=0)
    rows = []
    for check in checks_made:
        is_as_low = least <= check.shares[0] + SUMMING
        p = float(is_as_low.mean())
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


def all_relabellings(documents: Documents, seed: int) -> Floats:
    """Return the labels and relabellings, shape (documents, relabellings)."""
    parts = relabellings(documents.suspect, documents.stratum, seed, RELABELLINGS)
    return np.concatenate([*parts], axis=1)


def _greatest(
    method: str, names: Sequence[str], features: Floats, labels: Floats
) -> Exchanged:
    """Return the greatest difference of any feature for each relabelling (documents,
    relabellings)."""
    differences = np.abs(features.T @ labels)
    column = int(differences[:, 0].argmax())
    # each feature has two columns: as it is, and as normal scores
    feature = names[column % len(names)]
    return Exchanged(method, differences.max(axis=0, initial=0), feature)


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
        of_words = presence[:, places]
        differences = np.abs(of_words.T @ centred)
        differences = differences / documents.scatter(of_words)[:, None]
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
    scatter_of_ours = within / ours**2
    scatter_of_theirs = within_theirs / theirs**2
    apart = 2 * between / (ours * theirs)
    return apart - scatter_of_ours - scatter_of_theirs


def leave_one_out(likeness: Floats, stratum: Whole) -> tuple[Floats, Floats]:
    """Return the hat matrix of kernel ridge regression, less stratum means, and its
    leverages.

    With them, `separation` gives every document the prediction of the regression on all
    other documents' labels.
    """
    centred = likeness - stratum_means(likeness, stratum)
    centred = centred - stratum_means(centred.T, stratum).T
    count = len(centred)
    penalty = max(np.trace(centred) / count, 1e-12)
    hat = np.linalg.solve(centred + penalty * np.eye(count), centred).T
    same = stratum[:, None] == stratum
    hat = hat + same / same.sum(axis=1, keepdims=True)
    leverages = np.minimum(np.diag(hat), 1 - 1e-6)
    return hat, leverages


def left_out(hat: tuple[Floats, Floats], labels: Floats) -> Floats:
    """Return each document's prediction from all others, for each relabelling
    (documents, relabellings)."""
    matrix, leverages = hat
    residuals = labels - matrix @ labels
    return labels - residuals / (1 - leverages)[:, None]


def separation(hat: tuple[Floats, Floats], labels: Floats) -> Floats:
    """Return how much higher suspects' left-out predictions lie, for each relabelling
    (documents, relabellings)."""
    predicted = left_out(hat, labels)
    ours = labels.sum(axis=0)
    theirs = len(labels) - ours
    mean = (labels * predicted).sum(axis=0) / ours
    mean_of_others = ((1 - labels) * predicted).sum(axis=0) / theirs
    return mean - mean_of_others


def outliers(documents: Documents) -> Flags:
    """Mark documents that are far less like all others than usual: another language or
    script, another kind of text.

    None if these are more than `FEW`: then the kinds differ. Labels play no part, so
    that an exchange of the other documents stays exact.
    """
    count = len(documents.names)
    is_out = np.zeros(count, dtype=bool)
    if count < FEWEST_USUAL:
        return is_out
    for terms in (documents.words, documents.letters):
        likeness = _likeness_to_others(terms)
        middle = np.median(likeness)
        spread = 1.4826 * np.median(np.abs(likeness - middle))
        is_out |= (middle - likeness) > FAR * max(spread, 1e-12)
    return is_out & (is_out.mean() <= FEW)


def _likeness_to_others(terms: Terms) -> Floats:
    """Return how alike each document is to all others, in the mean, shape
    (documents,)."""
    weights = terms.weights
    to_itself = np.asarray(weights.multiply(weights).sum(axis=1)).ravel()
    of_all = np.asarray(weights.sum(axis=0)).ravel()
    to_others = weights @ of_all - to_itself
    return np.asarray(to_others / (len(to_itself) - 1))


def _copies(documents: Documents, *, suspect: bool) -> list[str]:
    """Return the names of two documents of one side that are near-copies."""
    unit = unit_of(documents.language)
    is_of_side = documents.suspect == suspect
    runs: dict[str, set[tuple[str, ...]]] = defaultdict(set)
    codes = documents.of_text.tolist()
    for code, text in zip(codes, documents.table["text"], strict=True):
        if is_of_side[code]:
            words = " ".join(units(text, unit))
            runs[documents.names[code]].update(ngrams(words, RUN[unit]))
    return near_copies(runs)
