"""Look at the texts of an audit or a corpus test before any job: what makes a result wrong or weak is in the files.

An error stops the run; a remark is printed once, with its count and its remedy. Needs neither pandas nor torch.
"""

from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from math import comb, prod
from pathlib import Path
from statistics import median

from pretrace.benchmarks.loaders.local import located
from pretrace.benchmarks.ngrams import ngrams, ngrams_of_all, overlap
from pretrace.benchmarks.slices import Slice
from pretrace.benchmarks.sources import Text
from pretrace.runtime.errors import InputError

WITHOUT_SPACES = frozenset({"ja", "km", "lo", "my", "th", "zh"})
"""Languages that put no space between words. Their texts are measured in characters."""

RUN = {"words": 8, "characters": 16}
"""Length of the n-grams that two texts are compared by."""

OVERLAPPING = 0.2
"""Share of a text's n-grams in texts of the other class from which on it counts as overlapping (as in the strictest
split of Duan et al., COLM 2024)."""

MOSTLY_OVERLAPPING = 0.5
"""If more than half of the suspects share at least this much, the two classes hold the same material."""

MEDIANS_APART = 1.1
"""Ratio of the classes' median lengths from which on length alone may separate the scores."""

RANGES_APART = 1.25
"""Ratio of the shortest text of one class to the longest of the other from which on the classes cannot be compared."""

SPREAD = 1.5
"""Ratio of the longest to the shortest text from which on the texts do not have one length."""

FEWEST_TEXTS = 20
"""With fewer known non-members, a text has p <= 0.05 only if it scores above all of them."""

FEWEST_DOCUMENTS = 10
"""With fewer known documents an audit has no p (evaluation.document_test)."""

FEWEST_OF_CORPUS = 20
"""Documents of each class that docs/corpus.md asks for."""

LEVEL = 0.05

CUT = "Cut all texts to one length with scripts/cut_passages.py (docs/audit.md)."


@dataclass(frozen=True)
class Side:
    """The texts of one class, each with its position in its file, and the file."""

    name: str
    file: Path
    rows: Sequence[tuple[str, Text]]

    @property
    def texts(self) -> list[Text]:
        return [text for _, text in self.rows]

    @property
    def documents(self) -> set[str]:
        """The documents that the texts name."""
        return {text.document for text in self.texts} - {""}


def check_audit(texts: Path, known: Path | None, language: str = "en") -> list[str]:
    """Check the suspects (label null) of the file `texts` against the known non-members (label 0) of `known`.

    `known` may be the same file; None if the non-members are in no file of the user's. Returns the remarks. Raises
    `InputError` if a class is missing, if the same text is in both classes, if most suspects overlap with known
    non-members, or if lengths or subsets leave nothing to compare.
    """
    rows = list(located(texts))
    suspects = _side("suspects (label null)", texts, rows, None)
    if not suspects.rows:
        raise InputError(
            f"{texts}: the audit has no text to ask about: {_labels(rows)}. Give the texts in question label null (in "
            "CSV: empty). To test suspected documents with label 1 together, name artifacts: [corpus_test] "
            "(docs/corpus.md)."
        )
    if known is None:
        return [*_repeats(suspects), *_spread(suspects, language)]
    nonmembers = _side("known non-members (label 0)", known, rows if known == texts else _as_known(known), 0)
    if not nonmembers.rows:
        raise InputError(
            f"{known}: the audit has no known non-members: {_labels(rows if known == texts else list(located(known)))}."
            " Add texts of the same kind that the model cannot have read, with label 0, or name a benchmark that has "
            "such texts under the run's key calibrate_on (docs/audit.md)."
        )
    return [
        *_shared(suspects, nonmembers, language),
        *_repeats(suspects),
        *_repeats(nonmembers),
        *_without_counterpart(suspects, nonmembers),
        *_lengths(suspects, nonmembers, language),
        *_in_both(suspects, nonmembers),
        *_too_few(suspects, nonmembers),
    ]


def _as_known(file: Path) -> Iterator[tuple[str, Text]]:
    """The rows of a second file: texts without a label there are known."""
    for where, text in located(file):
        yield where, replace(text, label=0) if text.label is None else text


def check_corpus(texts: Path, language: str = "en") -> list[str]:
    """Check the suspected texts (label 1) of a corpus test against the held-out ones (label 0) of the same file.

    Where documents hold texts of both classes (canaries and twins, wordings, orders), classes share words and lengths
    by design, and only the p that is possible is checked. Returns the remarks. Raises `InputError` if a class is
    missing, and at what `check_audit` raises it at.
    """
    rows = list(located(texts))
    suspects = _side("suspected texts (label 1)", texts, rows, 1)
    held_out = _side("held-out texts (label 0)", texts, rows, 0)
    if not (suspects.rows and held_out.rows):
        missing = "held-out texts with label 0" if suspects.rows else "suspected texts with label 1"
        raise InputError(
            f"{texts}: a corpus test compares suspected texts (label 1) with held-out ones (label 0): {_labels(rows)}. "
            f"Add {missing} (docs/corpus.md)."
        )
    if suspects.documents & held_out.documents:
        return [*_equal_within(suspects, held_out), *_least_p(suspects, held_out)]
    return [
        *_shared(suspects, held_out, language),
        *_repeats(suspects),
        *_repeats(held_out),
        *_without_counterpart(suspects, held_out),
        *_lengths(suspects, held_out, language),
        *_least_p(suspects, held_out),
    ]


def _side(name: str, file: Path, rows: Iterable[tuple[str, Text]], label: int | None) -> Side:
    return Side(name, file, [row for row in rows if row[1].label == label])


def _labels(rows: Iterable[tuple[str, Text]]) -> str:
    counts = Counter(text.label for _, text in rows)
    return (
        f"it has {counts[1]} texts with label 1, {counts[0]} with label 0 and {counts[None]} with label null"
    )


def _folded(text: str) -> str:
    return " ".join(text.split())


def _unit(language: str) -> str:
    return "characters" if language.lower()[:2] in WITHOUT_SPACES else "words"


def _spaced(text: str, language: str) -> str:
    """The text with a space between its units."""
    return text if _unit(language) == "words" else " ".join("".join(text.split()))


def _shared(suspects: Side, known: Side, language: str) -> list[str]:
    """The remark about suspects that overlap with known texts; an error if a text is in both or most overlap."""
    place_of = {_folded(text.text): where for where, text in reversed(known.rows)}
    equal = [
        (where, place_of[folded])
        for where, text in suspects.rows
        if (folded := _folded(text.text)) in place_of
    ]
    if equal:
        (suspect, other), more = equal[0], len(equal) - 1
        others = f" ({more} more such text{'s' * (more > 1)})" if more else ""
        raise InputError(
            f"{suspect} and {other} hold the same text, once among the {suspects.name}, once among the {known.name}"
            f"{others}. Decide which it is, and remove the other row."
        )
    n = RUN[_unit(language)]
    stream = ngrams_of_all((_spaced(text.text, language) for text in known.texts), n)
    shares = [overlap(_spaced(text.text, language), stream, n) for text in suspects.texts]
    count = sum(share >= OVERLAPPING for share in shares)
    if not count:
        return []
    worst = max(range(len(shares)), key=shares.__getitem__)
    where, text = suspects.rows[worst]
    own = set(ngrams(_spaced(text.text, language), n))
    other = max(known.rows, key=lambda row: len(own.intersection(ngrams(_spaced(row[1].text, language), n))))[
        0
    ]
    found = (
        f"{suspects.file}: {count} of {len(shares)} {suspects.name} share at least {OVERLAPPING:.0%} of their runs of "
        f"{n} {_unit(language)} with {known.name}; most of all {where}, {shares[worst]:.0%}, mostly with {other}. "
    )
    if sum(share >= MOSTLY_OVERLAPPING for share in shares) > len(shares) / 2:
        raise InputError(
            f"{found}More than half share at least {MOSTLY_OVERLAPPING:.0%}, so the two classes hold the same material "
            "and cannot be compared. Take texts that the model cannot have read."
        )
    return [
        f"{found}If the model read a suspect, it read these runs too. Remove the overlapping texts of one class."
    ]


def _repeats(side: Side) -> list[str]:
    """The remark about texts that are in a class more than once."""
    first: dict[str, str] = {}
    pairs = []
    for where, text in side.rows:
        earlier = first.setdefault(_folded(text.text), where)
        if earlier != where:
            pairs.append((earlier, where))
    if not pairs:
        return []
    return [
        f"{side.file}: {len(pairs)} of {len(side.rows)} {side.name} repeat an earlier text, the first {pairs[0][1]} "
        f"that of {pairs[0][0]}. Each repeat counts as one more text. Remove the repeats."
    ]


def _without_counterpart(suspects: Side, known: Side) -> list[str]:
    """The remark about suspects whose subset and length no known text has; an error if that leaves none."""
    there = {text.slice for text in known.texts}
    lost = [text for text in suspects.texts if text.slice not in there]
    if not lost:
        return []
    places = _named({text.slice for text in lost})
    said = f"there are no {known.name} of their subset and length"
    if len(lost) == len(suspects.rows):
        raise InputError(
            f"{suspects.file}: none of the {len(lost)} {suspects.name} can be compared: {said}. They are {places}, and "
            f"the {known.name} are {_named(there)}. Give the columns subset and length the same values in both."
        )
    return [
        f"{suspects.file}: {len(lost)} of {len(suspects.rows)} {suspects.name} take no part: {said} ({places}). "
        "Give the columns subset and length the same values in both."
    ]


def _named(places: Iterable[Slice]) -> str:
    listed = sorted(places, key=str)
    named = [
        f"{'without length' if place.length is None else f'of length {place.length}'}"
        f"{f' in subset {place.subset!r}' if place.subset else ''}"
        for place in listed[:5]
    ]
    return ", ".join([*named, *(["..."] if len(listed) > 5 else [])])


def _measured(side: Side, language: str) -> dict[int | None, list[int]]:
    """The lengths of the texts, in words or characters, by the column `length`."""
    found: dict[int | None, list[int]] = defaultdict(list)
    for text in side.texts:
        found[text.length].append(len(_spaced(text.text, language).split()))
    return found


def _range(lengths: Sequence[int]) -> str:
    low, high = min(lengths), max(lengths)
    return str(low) if low == high else f"{low} to {high}"


def _lengths(suspects: Side, known: Side, language: str) -> list[str]:
    """The remarks about texts of several lengths; an error if no suspect is about as long as any known text."""
    ours, theirs = _measured(suspects, language), _measured(known, language)
    remarks = []
    for length in [length for length in ours if length in theirs]:
        a, b = ours[length], theirs[length]
        named = "" if length is None else f" of length {length}"
        measured = f"have {_range(a)} {_unit(language)}, the {known.name} {_range(b)}"
        found = f"{suspects.file}: the {suspects.name}{named} {measured}"
        if max(a) * RANGES_APART <= min(b) or max(b) * RANGES_APART <= min(a):
            raise InputError(f"{found}. Scores depend on length, so these cannot be compared. {CUT}")
        medians = sorted([median(a), median(b)])
        if medians[1] >= medians[0] * MEDIANS_APART:
            remarks.append(
                f"{found} (medians {median(a):g} and {median(b):g}). Length alone may separate their scores. {CUT}"
            )
        elif max(*a, *b) >= min(*a, *b) * SPREAD:
            remarks.append(
                f"{found}. Scores of longer texts vary less, so p-values of texts are not exact. {CUT}"
            )
    return remarks


def _spread(side: Side, language: str) -> list[str]:
    """The remarks about texts of one class that have several lengths."""
    return [
        f"{side.file}: the {side.name} have {_range(lengths)} {_unit(language)}. Known non-members need the same "
        f"lengths. {CUT}"
        for lengths in _measured(side, language).values()
        if max(lengths) >= min(lengths) * SPREAD
    ]


def _in_both(suspects: Side, known: Side) -> list[str]:
    """The remark about documents with texts of both classes."""
    both = sorted(suspects.documents & known.documents)
    if not both:
        return []
    return [
        f"{suspects.file}: {len(both)} documents have {suspects.name} and {known.name}, the first is {both[0]!r}. A "
        "document was read or not: give texts that the model cannot have read a document of their own."
    ]


def _too_few(suspects: Side, known: Side) -> list[str]:
    """The remarks about too few known texts or documents."""
    texts, documents = len(known.rows), len(known.documents)
    remarks = []
    if texts < FEWEST_TEXTS:
        remarks.append(
            f"{known.file}: only {texts} {known.name}: no text can have a p below 1/{texts + 1} = "
            f"{1 / (texts + 1):.2g}. Have at least 200."
        )
    if documents < FEWEST_DOCUMENTS and (suspects.documents or known.documents):
        remarks.append(
            f"{known.file}: the {known.name} come from {documents} documents (column document). How much documents "
            f"differ is then hardly known. Have at least {FEWEST_DOCUMENTS}, better 20."
        )
    return remarks


def _least_p(suspects: Side, held_out: Side) -> list[str]:
    """The remark about a test whose least possible p is above `LEVEL`, or that has few documents."""
    if both := suspects.documents & held_out.documents:
        texts = [Counter(text.document for text in side.texts) for side in (suspects, held_out)]
        ways = prod(comb(texts[0][name] + texts[1][name], texts[0][name]) for name in both)
        few, remedy = "", "Have more documents with texts of both classes, or more held-out texts in each."
    else:
        strata = [_strata(side) for side in (suspects, held_out)]
        ways = prod(comb(strata[0][of] + strata[1][of], strata[0][of]) for of in strata[0])
        few, remedy = _few_documents(*strata), f"Have at least {FEWEST_OF_CORPUS} documents of each."
    if ways * LEVEL < 1:
        few = f"the corpus test cannot have a p below 1/{ways} = {1 / ways:.2g}, so it can find nothing"
    return [f"{suspects.file}: {few}. {remedy}"] if few else []


def _strata(side: Side) -> Counter[frozenset[Slice]]:
    """Number of documents by their subsets and lengths; a text without a document is one."""
    places: dict[str, set[Slice]] = defaultdict(set)
    for text in side.texts:
        places[text.document or text.text_id].add(text.slice)
    return Counter(map(frozenset, places.values()))


def _few_documents(suspected: Counter[frozenset[Slice]], held_out: Counter[frozenset[Slice]]) -> str:
    counts = suspected.total(), held_out.total()
    if min(counts) >= FEWEST_OF_CORPUS:
        return ""
    return f"{counts[0]} documents are suspected and {counts[1]} held out, so only large effects are found"


def _equal_within(suspects: Side, held_out: Side) -> list[str]:
    """The remark about suspected texts that equal a held-out one of their document."""
    there = {(text.document, _folded(text.text)): where for where, text in reversed(held_out.rows)}
    equal = [
        (where, there[key])
        for where, text in suspects.rows
        if (key := (text.document, _folded(text.text))) in there
    ]
    if not equal:
        return []
    return [
        f"{suspects.file}: {len(equal)} of {len(suspects.rows)} {suspects.name} equal a held-out text of their "
        f"document, the first {equal[0][0]} that of {equal[0][1]}. The test stays valid and finds less. Remove the "
        "equal held-out texts."
    ]
