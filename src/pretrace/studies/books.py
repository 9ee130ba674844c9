"""Plan an audit of works: how they are cut, what it would find, and what was read of each, before any job."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from math import inf
from pathlib import Path
from statistics import fmean

from pretrace.benchmarks.audit_design import count_noun, detectable_effect, has_p
from pretrace.benchmarks.languages import unit_of
from pretrace.benchmarks.passages import MARGIN, Cut, first_names, whole_passages
from pretrace.benchmarks.works import Report, Work, report_of, works_in
from pretrace.runtime.errors import InputError, shorten
from pretrace.runtime.names import check_path

WORDS, MOST = 64, 20
"""Words of a passage, and passages of a work at most."""

UNSPACED = 2 * WORDS  # characters of a passage, if no work has spaces between words
LETTERS_APART = 1.2  # ratio of two works' letters a word from which on passages are matched in characters
SIDES_APART = 1.05  # the same of the two sides' means
ALIKE = 0.1
"""Share of the variance of scores that lies between works, assumed before any score."""
SHOWN = 10  # works of a side that are listed


@dataclass(frozen=True)
class Side:
    """The works of one side of an audit, with what was read of each, and the files that are left out."""

    path: Path
    reports: Mapping[Work, Report]
    left_out: Sequence[Path]

    def long_enough(self, size: int, unit: str, each: int) -> int:
        return sum(whole_passages(_length(report, unit), size) >= each for report in self.reports.values())


def _length(report: Report, unit: str) -> int:
    return report.words if unit == "words" else report.letters


def side_of(path: Path) -> Side:
    works, left_out = works_in(path)
    for work in works:
        for file in work.files:
            check_path(file)
    return Side(path, {work: report_of(work) for work in works}, left_out)


def smallest_effect(suspects: int, known: int, passages: int) -> float:
    """Return the difference that an exchange of whole works finds at a level of 0.05 in four of five audits, about.

    It is in standard deviations of a passage, for `passages` of each work, by the t-test of two samples of means, whose
    power an exchange of means has; infinite where the exchange has too few values for such a p.
    """
    if not has_p(suspects, known):
        return inf
    return detectable_effect(
        (ALIKE + (1 - ALIKE) / passages) * (1 / suspects + 1 / known), suspects + known - 2
    )


def cut_of_sides(ours: Side, theirs: Side) -> Cut:
    """Return how the works of an audit are cut: with as many passages of each as find the smallest effect.

    Passages have one number of words, or of characters where words have other lengths, or none. Raises `InputError`
    if a side has no work of a passage, or a work of both sides' names.
    """
    for work in ours.reports:
        if other := next((other for other in theirs.reports if other.name == work.name), None):
            raise InputError(
                f"{work.path} and {other.path}: the work '{work.name}' is in question and known; decide which "
                "it is, or rename one of the two."
            )
    sides = [[*ours.reports.values()], [*theirs.reports.values()]]
    reports = [report for side in sides for report in side]
    letters = [report.letters / report.words for report in reports]
    means = [fmean(report.letters / report.words for report in side) for side in sides]
    unspaced = [unit_of(report.language) == "characters" for report in reports]
    apart = max(letters) >= LETTERS_APART * min(letters) or max(means) >= SIDES_APART * min(means)
    unit, size = "words", WORDS
    if any(unspaced) or apart:
        spaced = [own for own, none in zip(letters, unspaced, strict=True) if not none]
        unit, size = "characters", round(WORDS * fmean(spaced)) if spaced else UNSPACED

    def order(each: int) -> tuple[float, int, int]:
        suspects, known = (side.long_enough(size, unit, each) for side in (ours, theirs))
        both = bool(suspects and known)
        return -smallest_effect(suspects, known, each) if both else -inf, both * (suspects + known), each

    each = max(range(1, MOST + 1), key=order)
    for side in (ours, theirs):
        if not side.long_enough(size, unit, each):
            raise InputError(
                f"{side.path}: no work is as long as a passage of {size} {unit}; give longer works."
            )
    wrapped = {report.wrapped for report in reports}
    return Cut(size=size, each=each, unit=unit, unwrap=len(wrapped) > 1)  # type: ignore[arg-type]


def plan_of_works(ours: Side, theirs: Side, cut: Cut) -> Iterator[str]:
    """Yield the lines that say what was read of each work, how works are cut, and what would be found."""
    for side, which in ((ours, "in question"), (theirs, "given as unread")):
        yield f"{which}, {side.path}: {count_noun(len(side.reports), 'work')}"
        listed = [_told(work, report, cut) for work, report in side.reports.items()]
        yield from [f"  {line}" for line in listed[:SHOWN]]
        if len(listed) > SHOWN:
            yield f"  and {len(listed) - SHOWN} more"
        short = [
            f"{work.name} ({_length(report, cut.unit):,} {cut.unit})" for work, report in side.reports.items()
            if whole_passages(_length(report, cut.unit), cut.size) < cut.each
        ]  # fmt: skip
        if short:
            yield f"  shorter than {cut.each} passages and not compared: {first_names(short)}"
        if side.left_out:
            named = first_names([str(path.relative_to(side.path)) for path in side.left_out])
            yield f"  not read: {count_noun(len(side.left_out), 'file')}: {named}"
    why = ", matched in characters because words have other lengths" if cut.unit == "characters" else ""
    lines = "; line ends are taken out of paragraphs, because some works have none" if cut.unwrap else ""
    yield (
        f"cut: {count_noun(cut.each, 'passage')} of {cut.size} {cut.unit} of each work{why}, spread alike over each "
        f"without its first and last {MARGIN:.0%}{lines}"
    )
    yield (
        "an audit finds in four of five cases, in standard deviations of a passage, if a tenth of their variance lies "
        "between works:"
    )
    for each in sorted({cut.each, 5, 10, 20, 40}):
        counts = [side.long_enough(cut.size, cut.unit, each) for side in (ours, theirs)]
        if all(counts):
            now, more = (
                _effect(smallest_effect(counts[0], known, each)) for known in (counts[1], 2 * counts[1])
            )
            yield (
                f"  {count_noun(each, 'passage')} of {counts[0]} works in question and {counts[1]} unread: {now}; with "
                f"{2 * counts[1]} unread works: {more}{' (this audit)' * (each == cut.each)}"
            )


def _told(work: Work, report: Report, cut: Cut) -> str:
    passages = whole_passages(_length(report, cut.unit), cut.size)
    parts = f" in {len(work.files)} files" if len(work.files) > 1 else ""
    told = [f"{report.words:,} words{parts}, {count_noun(passages, 'passage')}, {report.encoding}"]
    if report.removed:
        told.append("removed: " + ", ".join(f"{what} ({count:,})" for what, count in report.removed.items()))
    if report.left_out:
        told.append(
            "left out: " + ", ".join(f"{what} ({count:,} words)" for what, count in report.left_out.items())
        )
    named = ", ".join(filter(None, (report.title, report.author)))
    return f"{shorten(work.name)}{f' ({named})' * bool(named)}: {'; '.join(told)}"


def _effect(effect: float) -> str:
    return "nothing, no p can be low" if effect == inf else f"{effect:.2f}"
