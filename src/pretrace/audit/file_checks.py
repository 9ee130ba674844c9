"""Look at the texts of an audit before any job: what makes a result wrong or weak is in
the files.

An error stops the run; a remark is printed once, with its count and its remedy. Needs
neither pandas nor torch.
"""

import unicodedata
from collections import Counter, defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from math import comb
from pathlib import Path
from statistics import fmean, median

from pretrace.audit.design import (
    FEWEST_WAYS,
    LEVEL,
    WHOLE_WORKS,
    WITHOUT_OTHERS,
    checks_can_fail,
    documents_for_checks,
    has_p,
    known_for_p,
    names_of_parts,
    never_evidence,
)
from pretrace.benchmarks.loaders.local import texts_of
from pretrace.benchmarks.ngrams import (
    COPIED,
    RUN,
    NGram,
    near_copies,
    ngrams,
    ngrams_of_all,
    overlap,
)
from pretrace.benchmarks.sources import Text
from pretrace.benchmarks.subsets_and_lengths import Slice
from pretrace.benchmarks.user_rows import given_rows
from pretrace.documents.languages import unit_of, units
from pretrace.documents.passages import Cut
from pretrace.documents.typesetting import kinds_apart, typeset_shares
from pretrace.runtime.errors import InputError, count_noun

OVERLAPPING = (
    # share of a text's n-grams in the other class, as in the strictest split of Duan et
    # al., COLM 2024
    0.2
)
MOSTLY_OVERLAPPING = (
    # if more than half of the suspects share this much, the classes hold the same
    # material
    0.5
)
# ratio of the classes' median lengths from which on length alone may separate the
# scores
MEDIANS_APART = 1.1
# ratio of the shortest text of one class to the longest of the other: not comparable
RANGES_APART = 1.25
# ratio of the longest to the shortest text from which on the texts do not have one
# length
SPREAD = 1.5
# ratio of the classes' mean characters from which on a check of sizes may fail
CHARACTERS_APART = 1.1
# ratio of the classes' median passages from which on known documents have too few
PASSAGES_APART = 2
# difference of the classes' shares of typeset signs from which on a check may fail
SIGNS_APART = 0.1
SIGNS_COUNTED = 1000  # texts of a class, about, whose signs are counted
# mean characters of a word from which on a text is not cut into words by its spaces
LONGEST_WORD = 40
# ratio of a text's length to its column length from which on one of the two is wrong
LENGTH_APART = 5
CUT = "Cut all texts to one length with `pretrace cut` (docs/audit.md)."


@dataclass(frozen=True)
class ClassTexts:
    """The texts of one class; the file; the language of the texts."""

    name: str
    file: Path
    texts: Sequence[Text]
    language: str

    @property
    def documents(self) -> set[str]:
        """The documents that the texts name."""
        return {*self.passages()}

    @property
    def number_of_documents(self) -> int:
        """Their number; a text that names none is one of its own."""
        return len({text.document or text.text_id for text in self.texts})

    def passages(self) -> Counter[str]:
        """Return how many texts each named document has."""
        return Counter(text.document for text in self.texts if text.document)

    def characters(self) -> float:
        """Return the mean number of characters of a text."""
        return fmean(len(text.text) for text in self.texts)

    def place_of(self, document: str) -> str:
        """Return the place of the first text of a document."""
        return next(text.where for text in self.texts if text.document == document)

    @property
    def unit(self) -> str:
        return unit_of(self.language)

    def units(self, text: Text) -> Sequence[str]:
        return units(text.text, self.unit)

    def spaced(self, text: Text) -> str:
        return " ".join(self.units(text))

    def lengths(self) -> dict[int | None, list[int]]:
        """Return how many units each text has, by the column `length`."""
        numbers: dict[int | None, list[int]] = defaultdict(list)
        for text in self.texts:
            numbers[text.length].append(len(self.units(text)))
        return numbers


def check_audit(
    texts: Path,
    known: Path | None,
    language: str = "en",
    cut: Cut | None = None,
    left_out: Sequence[str] = (),
    *,
    randomised: bool = False,
) -> list[str]:
    """Check the suspects (label null; without any, label 1) of the file `texts` against
    the known non-members (label 0) of `known`.

    `known` may be the same file; None if the non-members are in no file of the user's.
    `randomised`: labels were drawn at random within documents, which share words and
    lengths by design, so that only the p that is possible is checked. Returns the
    remarks. Raises `InputError` if a class is missing, if the same text or document is
    in both classes, if most suspects overlap with known non-members, or if lengths or
    subsets leave nothing to compare.
    """
    own = texts_of(given_rows(texts, cut, left_out))
    label = None if any(text.label is None for text in own) else 1
    suspects = _side(
        f"suspects (label {'null' if label is None else label})",
        texts,
        own,
        label,
        language,
    )
    if not suspects.texts:
        raise InputError(
            f"{texts}: the audit has no text to ask about: {_labels(own)}. Give the "
            "texts in question label null (in CSV: empty)."
        )
    _refuse_nonsense(suspects)
    if known is None:
        return [*_repeats(suspects), *_remark_on_lengths(suspects)]
    if known != texts:  # texts without a label are known there
        own = texts_of(given_rows(known, cut, left_out))
        given = [replace(text, label=text.label or 0) for text in own]
    else:
        given = own
    nonmembers = _side("known non-members (label 0)", known, given, 0, language)
    if not nonmembers.texts:
        raise InputError(
            f"{known}: the audit has no known non-members: {_labels(own)}. Add texts "
            "of the same kind that the model cannot have read, with label 0 or in a "
            "second file (known=FILE), or name a benchmark that has such texts under "
            "the run's key calibrate_on (docs/audit.md)."
        )
    _refuse_nonsense(nonmembers)
    if randomised and suspects.documents & nonmembers.documents:
        return [
            *_equal_within(suspects, nonmembers),
            *_too_few_drawn(suspects, nonmembers),
        ]
    remarks = _check_overlap(suspects, nonmembers)
    _refuse_documents_of_both(suspects, nonmembers)
    remarks += _repeats(suspects)
    remarks += _repeats(nonmembers)
    remarks += _without_counterpart(suspects, nonmembers)
    if cut is None or cut.unit == "words":
        remarks += _lengths(suspects, nonmembers) or _characters(suspects, nonmembers)
    remarks += _forms(suspects, nonmembers)
    remarks += _signs(suspects, nonmembers)
    remarks += _without_documents(suspects, nonmembers)
    remarks += _uneven_documents(suspects, nonmembers)
    for side in (suspects, nonmembers):
        remarks += _parts(side)
        remarks += _copies(side)
    return remarks + _too_few(suspects, nonmembers)


def _side(
    name: str, file: Path, texts: Iterable[Text], label: int | None, language: str
) -> ClassTexts:
    return ClassTexts(
        name, file, [text for text in texts if text.label == label], language
    )


def _labels(texts: Iterable[Text]) -> str:
    counts = Counter(text.label for text in texts)
    told = (
        f"it has {counts[1]} texts with label 1, {counts[0]} with label 0 and "
        f"{counts[None]} with label null"
    )
    return told if counts[0] or counts[1] else f"{told} (is the column label missing?)"


def _fold(text: Text) -> str:
    return " ".join(units(text.text, "words"))


def _refuse_nonsense(side: ClassTexts) -> None:
    """Raise `InputError` if words are far too long, or if texts have another length
    than their column says."""
    for text in side.texts:
        count = len(side.units(text))
        characters = len("".join(text.text.split()))
        # long words in ASCII are addresses of the web, as at the beginning of a README
        not_ascii = len(text.text) - len(text.text.encode("ascii", "ignore"))
        if side.unit == "words" and not_ascii > LONGEST_WORD * count:
            raise InputError(
                f"{text.where}: the text has {characters} characters and {count} "
                f"word{'s' * (count != 1)}. Is its language written without spaces? "
                "Say which: language=zh in the command, or language: zh in the "
                f"benchmark's entry; and cut passages by --characters. {CUT}"
            )
        if text.length and not 1 / LENGTH_APART <= count / text.length <= LENGTH_APART:
            raise InputError(
                f"{text.where}: the column length says {text.length}, and the text has "
                f"{count} {side.unit}. {CUT}"
            )


def _forms(suspects: ClassTexts, known: ClassTexts) -> list[str]:
    """Remark on one class in another normal form of Unicode: equal letters have other
    tokens."""
    decomposed = _decomposed(suspects), _decomposed(known)
    if all(decomposed) or not any(decomposed):
        return []
    side = suspects if decomposed[0] else known
    return [
        f"{side.file}: {max(decomposed)} of {len(side.texts)} {side.name} have "
        "decomposed letters (Unicode NFD), and the texts of the other class have none. "
        "A model reads them as other tokens. Write all texts in one form (NFC)."
    ]


def _signs(suspects: ClassTexts, known: ClassTexts) -> list[str]:
    """Remark on classes whose signs are set in other ways: a model reads them as other
    tokens, and a check finds it."""
    shares = []
    for side in (suspects, known):
        step = 1 + len(side.texts) // SIGNS_COUNTED
        shares.append(
            typeset_shares("\n".join(text.text for text in side.texts[::step]))
        )
    told = []
    for kind in kinds_apart(shares, SIGNS_APART):
        if kind not in ("letters", "blanks"):
            own, held = shares[0].get(kind, 0), shares[1].get(kind, 0)
            told.append(
                f"{kind} ({own:.0%} typeset in question, {held:.0%} in known texts)"
            )
    if not told:
        return []
    return [
        f"{suspects.file}: the two classes have signs that are set in other ways: "
        f"{', '.join(told)}. A check will probably say that the comparison is invalid. Cut both "
        "from their files by pretrace cut --alike, which writes signs in one way."
    ]


def _decomposed(side: ClassTexts) -> int:
    """Return how many texts of a class have decomposed letters."""
    composed = [unicodedata.is_normalized("NFC", text.text) for text in side.texts]
    return composed.count(False)


def _check_overlap(suspects: ClassTexts, known: ClassTexts) -> list[str]:
    """Remark on suspects that overlap with known texts; raise an error if a text is in
    both or most overlap."""
    place_of = {_fold(text): text.where for text in reversed(known.texts)}
    equal = []
    for text in suspects.texts:
        place = place_of.get(_fold(text))
        if place is not None:
            equal.append((text.where, place))
    if equal:
        (suspect, other), more = equal[0], len(equal) - 1
        others = f" ({more} more such text{'s' * (more > 1)})" if more else ""
        raise InputError(
            f"{suspect} and {other} hold the same text, once among the "
            f"{suspects.name}, once among the {known.name}{others}. Decide which it "
            "is, and remove the other row."
        )
    n = RUN[known.unit]
    stream = ngrams_of_all(map(known.spaced, known.texts), n)
    shares = [overlap(known.spaced(text), stream, n) for text in suspects.texts]
    count = sum(share >= OVERLAPPING for share in shares)
    if not count:
        return []
    share = max(shares)
    text = suspects.texts[shares.index(share)]
    own = set(ngrams(known.spaced(text), n))

    def shared(held: Text) -> int:
        return len(own.intersection(ngrams(known.spaced(held), n)))

    nearest = max(known.texts, key=shared)
    remark = (
        f"{suspects.file}: {count} of {len(shares)} {suspects.name} share at least "
        f"{OVERLAPPING:.0%} of their runs of {n} {known.unit} with {known.name}; most "
        f"of all {text.where}, {share:.0%}, mostly with {nearest.where}. "
    )
    if sum(share >= MOSTLY_OVERLAPPING for share in shares) > len(shares) / 2:
        raise InputError(
            f"{remark}More than half share at least {MOSTLY_OVERLAPPING:.0%}, so the "
            "two classes hold the same material and cannot be compared. Take texts "
            "that the model cannot have read."
        )
    return [
        f"{remark}If the model read a suspect, it read these runs too. Remove the "
        "overlapping texts of one class."
    ]


def _repeats(side: ClassTexts) -> list[str]:
    """Remark on texts that are in a class more than once."""
    first: dict[str, str] = {}
    repeats = []
    for text in side.texts:
        earlier = first.setdefault(_fold(text), text.where)
        if earlier != text.where:
            repeats.append((text.where, earlier))
    if not repeats:
        return []
    where, earlier = repeats[0]
    return [
        f"{side.file}: {len(repeats)} of {len(side.texts)} {side.name} repeat an "
        f"earlier text, the first {where} that of {earlier}. Each repeat counts as one "
        "more text. Remove the repeats."
    ]


def _without_counterpart(suspects: ClassTexts, known: ClassTexts) -> list[str]:
    """Remark on suspects whose subset and length no known text has; raise an error if
    that leaves none."""
    known_slices = {text.slice for text in known.texts}
    lost = [text.slice for text in suspects.texts if text.slice not in known_slices]
    if not lost:
        return []
    reason = f"there are no {known.name} of their subset and length"
    advice = "Give the columns subset and length the same values in both."
    if len(lost) == len(suspects.texts):
        raise InputError(
            f"{suspects.file}: none of the {len(lost)} {suspects.name} can be "
            f"compared: {reason}. They are {_name_slices(lost)}, and the {known.name} "
            f"are {_name_slices(known_slices)}. {advice}"
        )
    return [
        f"{suspects.file}: {len(lost)} of {len(suspects.texts)} {suspects.name} take "
        f"no part: {reason} ({_name_slices(lost)}). {advice}"
    ]


def _name_slices(slices: Iterable[Slice]) -> str:
    listed = sorted(set(slices), key=str)
    named = []
    for slice in listed[:5]:
        name = "without length" if slice.length is None else f"of length {slice.length}"
        named.append(f"{name} in subset {slice.subset!r}" if slice.subset else name)
    if len(listed) > 5:
        named.append("...")
    return ", ".join(named)


def _range(lengths: Sequence[int]) -> str:
    low, high = min(lengths), max(lengths)
    return str(low) if low == high else f"{low} to {high}"


def _lengths(suspects: ClassTexts, known: ClassTexts) -> list[str]:
    """Remark on texts of several lengths; raise an error if no suspect is about as long
    as any known text."""
    remarks = []
    known_lengths = known.lengths()
    for length, a in suspects.lengths().items():
        if length not in known_lengths:
            continue
        b = known_lengths[length]
        suffix = "" if length is None else f" of length {length}"
        start = (
            f"{suspects.file}: the {suspects.name}{suffix} have {_range(a)} "
            f"{known.unit}, the {known.name} {_range(b)}"
        )
        if max(a) * RANGES_APART <= min(b) or max(b) * RANGES_APART <= min(a):
            raise InputError(
                f"{start}. Scores depend on length, so these cannot be compared. {CUT}"
            )
        medians = median(a), median(b)
        if max(medians) >= min(medians) * MEDIANS_APART:
            remarks.append(
                f"{start} (medians {medians[0]:g} and {medians[1]:g}). Length alone "
                f"may separate their scores. {CUT}"
            )
        elif max(*a, *b) >= min(*a, *b) * SPREAD:
            remarks.append(
                f"{start}. Scores of longer texts vary less, so p-values of texts are "
                f"not exact. {CUT}"
            )
    return remarks


def _characters(suspects: ClassTexts, known: ClassTexts) -> list[str]:
    """Remark on texts of as many words with longer words: other kinds of text, which a
    check of the audit finds."""
    means = suspects.characters(), known.characters()
    if max(means) < min(means) * CHARACTERS_APART:
        return []
    return [
        f"{suspects.file}: the {suspects.name} have {means[0]:.0f} characters on "
        f"average, the {known.name} {means[1]:.0f}. The check of sizes will probably "
        "say that the comparison is invalid. Take known texts of the same kind: genre, "
        "author, time."
    ]


def _remark_on_lengths(side: ClassTexts) -> list[str]:
    """Remark on texts of one class that have several lengths."""
    remarks = []
    for lengths in side.lengths().values():
        if max(lengths) >= min(lengths) * SPREAD:
            remarks.append(
                f"{side.file}: the {side.name} have {_range(lengths)} {side.unit}. "
                f"Known non-members need the same lengths. {CUT}"
            )
    return remarks


def _refuse_documents_of_both(suspects: ClassTexts, known: ClassTexts) -> None:
    """Raise `InputError` if a document has texts of both classes: its known texts would
    be left out."""
    if shared := sorted(suspects.documents & known.documents):
        document = shared[0]
        first, second = suspects.place_of(document), known.place_of(document)
        raise InputError(
            f"{first} and {second}: the document {document!r} has {suspects.name} and "
            f"{known.name}. An audit asks of whole documents whether they were read. "
            "Give known texts that the model cannot have read a document of their own, "
            "under another name; or, if what is published was drawn at random within "
            "documents, write randomised: true in the benchmark's entry "
            "(docs/canaries.md)."
        )


def _without_documents(suspects: ClassTexts, known: ClassTexts) -> list[str]:
    """Remark on texts that name no document: each counts as a document."""
    without = [
        side for side in (suspects, known) if not side.documents and len(side.texts) > 1
    ]
    if not without:
        return []
    whose = "" if len(without) > 1 else f" of the {without[0].name}"
    return [
        f"{without[0].file}: no text{whose} names a document: each passage counts as a "
        "document of its own; passages of one document do not. Name each text's "
        "document in the column document (docs/audit.md)."
    ]


def _uneven_documents(suspects: ClassTexts, known: ClassTexts) -> list[str]:
    """Remark on suspect documents with more passages than known ones have, and on known
    documents of one passage."""
    own, given = suspects.passages(), known.passages()
    if not own or not given:
        return []
    if max(given.values()) == 1 < max(own.values()):
        return [
            f"{known.file}: each of the {len(given)} documents of the {known.name} has "
            "one passage. If several are of one work, give them the same document: "
            "passages of a work are not independent."
        ]
    passages = median(own.values()), median(given.values())
    if passages[0] < passages[1] * PASSAGES_APART:
        return []
    return [
        f"{suspects.file}: a document of the {suspects.name} has {passages[0]:g} "
        f"passages, one of the {known.name} {passages[1]:g} (medians). Give more "
        "passages of the known documents: how much these differ is what p-values rest "
        "on."
    ]


def _parts(side: ClassTexts) -> list[str]:
    """Remark on documents that are called chapters."""
    first: dict[str, str] = {}
    for text in side.texts:
        first.setdefault(text.document, text.text)
    first.pop("", None)
    named = names_of_parts(first.items())
    if not named:
        return []
    return [
        f"{side.file}: {len(named)} documents of the {side.name} are called parts of a "
        f"work ({named[0]!r}, {named[1]!r}), which are not independent: the answer "
        f"will be invalid. {WHOLE_WORKS} If they are whole works, rename them."
    ]


def _copies(side: ClassTexts) -> list[str]:
    """Remark on two documents of a side that are near-copies."""
    documents: dict[str, set[NGram]] = defaultdict(set)
    for text in side.texts:
        runs = ngrams(side.spaced(text), RUN[side.unit])
        documents[text.document or text.text_id].update(runs)
    pair = near_copies(documents)
    if not pair:
        return []
    return [
        f"{side.file}: the documents {pair[0]!r} and {pair[1]!r} of the {side.name} "
        f"share at least {COPIED:.0%} of their runs of {RUN[side.unit]} {side.unit}: "
        f"the answer will be invalid. {WHOLE_WORKS}"
    ]


def _too_few(suspects: ClassTexts, known: ClassTexts) -> list[str]:
    """Remark on too few documents for a p, or for a test of whether the two sides are
    comparable."""
    ours, theirs = suspects.number_of_documents, known.number_of_documents
    start = (
        f"{known.file}: {count_noun(ours, 'document')} in question and "
        f"{count_noun(theirs, 'known document')}"
    )
    if not has_p(ours, theirs):
        return [f"{start}: no p can be as low as {LEVEL:g}. Have {known_for_p(ours)}."]
    if not checks_can_fail(ours, theirs):
        others = f" {WITHOUT_OTHERS}" if never_evidence(ours) else ""
        return [
            f"{start}: whether the two sides are comparable cannot be tested, so that "
            f"the answer cannot be evidence. Have {documents_for_checks(ours)}.{others}"
        ]
    return []


def _too_few_drawn(suspects: ClassTexts, known: ClassTexts) -> list[str]:
    """Remark on a draw within documents whose least possible p is above `LEVEL`."""
    own, held = suspects.passages(), known.passages()
    ways = 1
    for document in own.keys() & held.keys():
        ways *= comb(own[document] + held[document], own[document])
    if ways >= FEWEST_WAYS:
        return []
    return [
        f"{suspects.file}: no p can be below 1/{ways} = {1 / ways:.2g}, so the audit "
        "can find nothing. Have more documents with texts of both labels, or more "
        "known texts in each."
    ]


def _equal_within(suspects: ClassTexts, held_out: ClassTexts) -> list[str]:
    """Remark on suspected texts that equal a held-out one of their document."""
    place_of = {}
    for text in reversed(held_out.texts):
        place_of[text.document, _fold(text)] = text.where
    equal = []
    for text in suspects.texts:
        place = place_of.get((text.document, _fold(text)))
        if place is not None:
            equal.append((text.where, place))
    if not equal:
        return []
    where, other = equal[0]
    return [
        f"{suspects.file}: {len(equal)} of {len(suspects.texts)} {suspects.name} equal "
        f"a held-out text of their document, the first {where} that of {other}. The "
        "test stays valid and finds less. Remove the equal held-out texts."
    ]
