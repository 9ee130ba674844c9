"""Plan an audit of works: how they are cut, what it would find, and what was read of
each, before any job."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from math import inf
from pathlib import Path
from statistics import fmean

from pretrace.audit.design import detectable_effect, has_p
from pretrace.documents.formats import not_read
from pretrace.documents.languages import unit_of
from pretrace.documents.layout import LineEnds
from pretrace.documents.passages import MARGIN, Cut, whole_passages, written_alike
from pretrace.documents.typesetting import SignKind, kinds_apart
from pretrace.documents.works import (
    Report,
    Work,
    report_of,
    stored_work,
    unreadable_works,
    works_in,
)
from pretrace.runtime.errors import InputError, count_noun, first_names, shorten
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
        alike = tuple(cut.alike)
        lengths = {}
        for work, report in self.reports.items():
            if cut.unwrap or alike:
                lengths[work] = _length_alike(work, cut.unit, cut.unwrap, alike)
            else:
                lengths[work] = _length(report, cut.unit)
        return lengths

    def count_of_works(self, cut: Cut, each: int) -> int:
        """Return how many works have so many passages."""
        lengths = self.lengths(cut).values()
        return sum(whole_passages(length, cut.size) >= each for length in lengths)

    def letters_of_a_word(self) -> list[float]:
        """Return the mean letters of a word of each work."""
        return [report.letters / report.words for report in self.reports.values()]

    def share_typeset(self, kind: SignKind) -> float:
        """Return the mean over works of the share of signs of a kind that are
        typeset."""
        return fmean(report.typeset.get(kind, 0.0) for report in self.reports.values())

    def count_with_line_ends(self, kind: LineEnds) -> int:
        return sum(report.line_ends == kind for report in self.reports.values())


def _length(report: Report, unit: str) -> int:
    return report.words if unit == "words" else report.letters


@cache
def _length_alike(
    work: Work, unit: str, unwrap: bool, alike: tuple[SignKind, ...]
) -> int:
    # the size plays no part
    cut = Cut(size=1, each=1, unwrap=unwrap, alike=list(alike))
    words = written_alike(stored_work(work).text, cut).split()
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
    reports = {}
    unread = []
    for work in works:
        if work.name in left_out:
            unread.append(work.name)
        else:
            reports[work] = report_of(work)
    return Side(path, reports, not_read, unread)


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
    of_a_work = ALIKE + (1 - ALIKE) / passages
    variance = of_a_work * (1 / suspects + 1 / known)
    return detectable_effect(variance, suspects + known - 2)


def cut_of_sides(ours: Side, theirs: Side) -> Cut:
    """Return how the works of an audit are cut: with as many passages of each as find
    the smallest effect.

    Passages have one number of words, or of characters where words have other lengths,
    or none. Raises `InputError` if a side has no work of a passage, or a work of both
    sides' names.
    """
    known_by_name = {work.name: work for work in theirs.reports}
    for work in ours.reports:
        other = known_by_name.get(work.name)
        if other is not None:
            raise InputError(
                f"{work.path} and {other.path}: the work '{work.name}' is in question "
                "and known; decide which it is, or rename one of the two."
            )
    cut = _unit_of_sides(ours, theirs)

    def order(each: int) -> tuple[float, int, int]:
        suspects = ours.count_of_works(cut, each)
        known = theirs.count_of_works(cut, each)
        if not suspects or not known:
            return -inf, 0, each
        return -smallest_effect(suspects, known, each), suspects + known, each

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
    spaced = []
    for report in reports:
        if unit_of(report.language) == "words":
            spaced.append(report.letters / report.words)
    if len(spaced) == len(reports) and not _words_differ(ours, theirs):
        return cut
    size = round(WORDS * fmean(spaced)) if spaced else UNSPACED
    return cut.model_copy(update={"unit": "characters", "size": size})


def _words_differ(ours: Side, theirs: Side) -> bool:
    """Tell whether two works, or the two sides, have words of other lengths."""
    of_ours, of_theirs = ours.letters_of_a_word(), theirs.letters_of_a_word()
    letters = [*of_ours, *of_theirs]
    means = fmean(of_ours), fmean(of_theirs)
    works_differ = max(letters) >= LETTERS_APART * min(letters)
    return works_differ or max(means) >= SIDES_APART * min(means)


def plan_of_works(ours: Side, theirs: Side, cut: Cut) -> Iterator[str]:
    """Yield the lines that say what was read of each work, how works are cut, and what
    would be found."""
    for side, which in ((ours, "in question"), (theirs, "given as unread")):
        yield from _plan_of_side(side, which, cut)
    why = ""
    if cut.unit == "characters":
        why = ", matched in characters because words have other lengths"
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
        suspects = ours.count_of_works(cut, each)
        known = theirs.count_of_works(cut, each)
        if suspects and known:
            now = _effect(smallest_effect(suspects, known, each))
            more = _effect(smallest_effect(suspects, 2 * known, each))
            this = " (this audit)" if each == cut.each else ""
            yield (
                f"  {count_noun(each, 'passage')} of {suspects} works in question and "
                f"{known} unread: {now}; with {2 * known} unread works: {more}{this}"
            )


def _plan_of_side(side: Side, which: str, cut: Cut) -> Iterator[str]:
    """Yield what was read of the works of a side, which are not compared, and which
    files are not read."""
    yield f"{which}, {side.path}: {count_noun(len(side.reports), 'work')}"
    lengths = side.lengths(cut)
    for work in list(lengths)[:SHOWN]:
        yield f"  {_told(work, side.reports[work], lengths[work], cut)}"
    if len(lengths) > SHOWN:
        yield f"  and {len(lengths) - SHOWN} more"
    short = []
    for work, length in lengths.items():
        if whole_passages(length, cut.size) < cut.each:
            short.append(f"{work.name} ({length:,} {cut.unit})")
    if short:
        yield (
            f"  shorter than {cut.each} passages and not compared: {first_names(short)}"
        )
    if side.unread:
        names = ", ".join(map(shorten, side.unread))
        yield f"  left out, because they cannot be read: {names}"
    for line in not_read(str(path.relative_to(side.path)) for path in side.left_out):
        yield f"  not read: {line}"


def _told_alike(ours: Side, theirs: Side, cut: Cut) -> Iterator[str]:
    """Yield in what the files of works differ, and what is done about it."""
    if cut.unwrap:
        ends = []
        for kind, label in LINE_ENDS.items():
            suspects = ours.count_with_line_ends(kind)
            known = theirs.count_with_line_ends(kind)
            if suspects or known:
                ends.append(f"{suspects} + {known} {label}")
        yield (
            "  written alike: line ends, each passage in one line (works in question + "
            f"unread: {', '.join(ends)})"
        )
    for signs in cut.alike:
        yield (
            f"  written alike: {SIGNS_TOLD[signs]} (typeset in works in question: "
            f"{ours.share_typeset(signs):.0%}, in unread ones: "
            f"{theirs.share_typeset(signs):.0%})"
        )


def _told(work: Work, report: Report, length: int, cut: Cut) -> str:
    """Say what was read of a work, and how many passages it has."""
    parts = f" in {len(work.files)} files" if len(work.files) > 1 else ""
    passages = count_noun(whole_passages(length, cut.size), "passage")
    told = [f"{report.words:,} words{parts}, {passages}, {report.encoding}"]
    removed = [f"{what} ({count:,})" for what, count in report.removed.items()]
    left_out = [f"{what} ({count:,} words)" for what, count in report.left_out.items()]
    if removed:
        told.append(f"removed: {', '.join(removed)}")
    if left_out:
        told.append(f"left out: {', '.join(left_out)}")
    name = shorten(work.name)
    title = ", ".join(filter(None, (report.title, report.author)))
    if title:
        name = f"{name} ({title})"
    return f"{name}: {'; '.join(told)}"


def _effect(effect: float) -> str:
    return "nothing, no p can be low" if effect == inf else f"{effect:.2f}"
