"""Plan an audit of works: how they are cut, what it would find, and what was read of
each, before any job."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from math import inf
from pathlib import Path
from statistics import fmean

from pretrace.benchmarks.audit_design import count_noun, detectable_effect, has_p
from pretrace.benchmarks.languages import unit_of
from pretrace.benchmarks.layout import LineEnds
from pretrace.benchmarks.passages import (
    MARGIN,
    Cut,
    first_names,
    not_read,
    whole_passages,
    written_alike,
)
from pretrace.benchmarks.signs import SignKind, kinds_apart
from pretrace.benchmarks.works import (
    Report,
    Work,
    report_of,
    stored_work,
    unreadable_works,
    works_in,
)
from pretrace.runtime.errors import InputError, shorten
from pretrace.runtime.names import check_path

WORDS, MOST = 64, 20
"""Words of a passage, and passages of a work at most."""

UNSPACED = 2 * WORDS  # characters of a passage, if no work has spaces between words
# ratio of two works' letters a word from which on passages are matched in characters
LETTERS_APART = 1.2
SIDES_APART = 1.05  # the same of the two sides' means
ALIKE = 0.1
"""Share of the variance of scores that lies between works, assumed before any score."""
SHOWN = 10  # works of a side that are listed

LINE_ENDS: dict[LineEnds, str] = {
    "print": "of PDF pages", "wrapped": "wrapped", "lines": "a line a paragraph",
    "paragraphs": "an empty line between paragraphs",
}  # fmt: skip
SIGNS_TOLD: dict[SignKind, str] = {
    "quotes": "quotes, as \" and '", "dashes": "dashes, as --", "dots": "dots, as ...",
    "blanks": "blanks without a break or of no width, as blanks or none",
    "double blanks": "double blanks, as one",
    "letters": "decomposed letters, as one sign each",
}  # fmt: skip
"""What is written alike, and how."""


@dataclass(frozen=True)
class Side:
    """The works of one side of an audit, with what was read of each, and the files that
    are left out.

    `unread` are the names of works that are left out because they cannot be read.
    """

    path: Path
    reports: Mapping[Work, Report]
    left_out: Sequence[Path]
    unread: Sequence[str] = ()

    def lengths(self, cut: Cut) -> dict[Work, int]:
        """Return how many words, or characters, each work has as its passages are cut
        from it."""
        if not (cut.unwrap or cut.alike):
            return {
                work: _length(report, cut.unit) for work, report in self.reports.items()
            }
        return {
            work: _length_alike(work, cut.unit, cut.unwrap, tuple(cut.alike))
            for work in self.reports
        }

    def count_of_works(self, cut: Cut, each: int) -> int:
        """Return how many works have so many passages."""
        return sum(
            whole_passages(length, cut.size) >= each
            for length in self.lengths(cut).values()
        )


def _length(report: Report, unit: str) -> int:
    return report.words if unit == "words" else report.letters


@cache
def _length_alike(
    work: Work, unit: str, unwrap: bool, alike: tuple[SignKind, ...]
) -> int:
    # the size plays no part
    text = written_alike(
        stored_work(work).text, Cut(size=1, each=1, unwrap=unwrap, alike=list(alike))
    )
    words = text.split()
    return len(words) if unit == "words" else sum(map(len, words))


def side_of(path: Path, left_out: Sequence[str] = ()) -> Side:
    """Return the works of a folder, or of a document, but those whose names are
    `left_out`.

    Raises `InputError` with every work that cannot be read.
    """
    works, not_read = works_in(path)
    for work in works:
        for file in work.files:
            check_path(file)
    kept = [work for work in works if work.name not in left_out]
    unread = [work.name for work in works if work.name in left_out]
    return Side(path, {work: report_of(work) for work in kept}, not_read, unread)


def check_readable(paths: Sequence[Path]) -> None:
    """Raise `InputError` with every work of the folders and documents that cannot be
    read."""
    errors = unreadable_works(paths)
    if len(errors) == 1:
        [error] = errors.values()
        raise InputError(f"{error} Or leave the work out: unreadable=leave_out")
    if errors:
        listed = "".join(f"\n  {error}" for error in errors.values())
        raise InputError(
            f"{len(errors)} works cannot be read. Mend them, or leave all of them out: "
            f"unreadable=leave_out{listed}"
        )


def smallest_effect(suspects: int, known: int, passages: int) -> float:
    """Return the difference that an exchange of whole works finds at a level of 0.05 in
    four of five audits, about.

    It is in standard deviations of a passage, for `passages` of each work, by the
    t-test of two samples of means, whose power an exchange of means has; infinite where
    the exchange has too few values for such a p.
    """
    if not has_p(suspects, known):
        return inf
    return detectable_effect(
        (ALIKE + (1 - ALIKE) / passages) * (1 / suspects + 1 / known),
        suspects + known - 2,
    )


def cut_of_sides(ours: Side, theirs: Side) -> Cut:
    """Return how the works of an audit are cut: with as many passages of each as find
    the smallest effect.

    Passages have one number of words, or of characters where words have other lengths,
    or none. Raises `InputError` if a side has no work of a passage, or a work of both
    sides' names.
    """
    for work in ours.reports:
        if other := next(
            (other for other in theirs.reports if other.name == work.name), None
        ):
            raise InputError(
                f"{work.path} and {other.path}: the work '{work.name}' is in question "
                "and known; decide which it is, or rename one of the two."
            )
    cut = _unit_of_sides(ours, theirs)

    def order(each: int) -> tuple[float, int, int]:
        suspects, known = (side.count_of_works(cut, each) for side in (ours, theirs))
        both = bool(suspects and known)
        return (
            -smallest_effect(suspects, known, each) if both else -inf,
            both * (suspects + known),
            each,
        )

    each = max(range(1, MOST + 1), key=order)
    for side in (ours, theirs):
        if not side.count_of_works(cut, each):
            raise InputError(
                f"{side.path}: no work is as long as a passage of {cut.size} "
                f"{cut.unit}; give longer works."
            )
    return cut.model_copy(update={"each": each})


def _unit_of_sides(ours: Side, theirs: Side) -> Cut:
    """Return the size and unit of passages, and what is written alike in them; of one
    passage each."""
    reports = [*ours.reports.values(), *theirs.reports.values()]
    line_ends = {report.line_ends for report in reports}
    cut = Cut(
        size=WORDS,
        each=1,
        unwrap=len(line_ends) > 1,
        alike=kinds_apart(report.typeset for report in reports),
    )
    letters = [report.letters / report.words for report in reports]
    means = [
        fmean(report.letters / report.words for report in side.reports.values())
        for side in (ours, theirs)
    ]
    is_apart = max(letters) >= LETTERS_APART * min(letters) or max(
        means
    ) >= SIDES_APART * min(means)
    spaced = [
        own
        for own, report in zip(letters, reports, strict=True)
        if unit_of(report.language) == "words"
    ]
    if is_apart or len(spaced) < len(reports):
        size = round(WORDS * fmean(spaced)) if spaced else UNSPACED
        return cut.model_copy(update={"unit": "characters", "size": size})
    return cut


def plan_of_works(ours: Side, theirs: Side, cut: Cut) -> Iterator[str]:
    """Yield the lines that say what was read of each work, how works are cut, and what
    would be found."""
    for side, which in ((ours, "in question"), (theirs, "given as unread")):
        yield from _plan_of_side(side, which, cut)
    why = (
        ", matched in characters because words have other lengths"
        if cut.unit == "characters"
        else ""
    )
    yield (
        f"cut: {count_noun(cut.each, 'passage')} of {cut.size} {cut.unit} of each "
        f"work{why}, spread alike over each without its first and last {MARGIN:.0%}"
    )
    yield from _told_alike(ours, theirs, cut)
    yield (
        "an audit finds in four of five cases, in standard deviations of a passage, if "
        "a tenth of their variance lies between works:"
    )
    for each in sorted({cut.each, 5, 10, 20, 40}):
        counts = [side.count_of_works(cut, each) for side in (ours, theirs)]
        if all(counts):
            now, more = (
                _effect(smallest_effect(counts[0], known, each))
                for known in (counts[1], 2 * counts[1])
            )
            yield (
                f"  {count_noun(each, 'passage')} of {counts[0]} works in question and "
                f"{counts[1]} unread: {now}; with {2 * counts[1]} unread works: "
                f"{more}{' (this audit)' * (each == cut.each)}"
            )


def _plan_of_side(side: Side, which: str, cut: Cut) -> Iterator[str]:
    """Yield what was read of the works of a side, which are not compared, and which
    files are not read."""
    yield f"{which}, {side.path}: {count_noun(len(side.reports), 'work')}"
    lengths = side.lengths(cut)
    listed = [
        _told(work, report, lengths[work], cut) for work, report in side.reports.items()
    ]
    yield from [f"  {line}" for line in listed[:SHOWN]]
    if len(listed) > SHOWN:
        yield f"  and {len(listed) - SHOWN} more"
    short = [
        f"{work.name} ({length:,} {cut.unit})"
        for work, length in lengths.items()
        if whole_passages(length, cut.size) < cut.each
    ]
    if short:
        yield (
            f"  shorter than {cut.each} passages and not compared: {first_names(short)}"
        )
    if side.unread:
        yield (
            "  left out, because they cannot be read: "
            f"{', '.join(map(shorten, side.unread))}"
        )
    for line in not_read(str(path.relative_to(side.path)) for path in side.left_out):
        yield f"  not read: {line}"


def _told_alike(ours: Side, theirs: Side, cut: Cut) -> Iterator[str]:
    """Yield in what the files of works differ, and what is done about it."""
    if cut.unwrap:
        ends = [
            f"{sum(report.line_ends == kind for report in ours.reports.values())} + "
            f"{sum(report.line_ends == kind for report in theirs.reports.values())} "
            f"{label}"
            for kind, label in LINE_ENDS.items()
        ]
        told = ", ".join(end for end in ends if not end.startswith("0 + 0 "))
        yield (
            "  written alike: line ends, each passage in one line (works in question + "
            f"unread: {told})"
        )
    for kind in cut.alike:
        means = [
            fmean([report.typeset.get(kind, 0.0) for report in side.reports.values()])
            for side in (ours, theirs)
        ]
        yield (
            f"  written alike: {SIGNS_TOLD[kind]} (typeset in works in question: "
            f"{means[0]:.0%}, in unread ones: {means[1]:.0%})"
        )


def _told(work: Work, report: Report, length: int, cut: Cut) -> str:
    passages = whole_passages(length, cut.size)
    parts = f" in {len(work.files)} files" if len(work.files) > 1 else ""
    told = [
        f"{report.words:,} words{parts}, {count_noun(passages, 'passage')}, "
        f"{report.encoding}"
    ]
    if report.removed:
        told.append(
            "removed: "
            + ", ".join(f"{what} ({count:,})" for what, count in report.removed.items())
        )
    if report.left_out:
        told.append(
            "left out: "
            + ", ".join(
                f"{what} ({count:,} words)" for what, count in report.left_out.items()
            )
        )
    named = ", ".join(filter(None, (report.title, report.author)))
    return f"{shorten(work.name)}{f' ({named})' * bool(named)}: {'; '.join(told)}"


def _effect(effect: float) -> str:
    return "nothing, no p can be low" if effect == inf else f"{effect:.2f}"
