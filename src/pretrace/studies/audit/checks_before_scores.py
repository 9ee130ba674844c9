"""What an audit's texts say before any model reads one: the checks that need no score.

They are those of the result (`audit.analysis`), of the same texts. Their libraries
take a second to import, so that only the plan of an audit imports them.
"""

from collections.abc import Collection, Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from pretrace.audit.design import checks_can_fail, documents_for_checks
from pretrace.benchmarks.sources import Text
from pretrace.runtime.errors import count_noun, first_names, shorten

if TYPE_CHECKING:
    import pandas as pd

MOST_TEXTS = 10_000
"""Of both sides, up to which texts are checked while planning: more take a minute."""

TOLD_APART = 3
"""Documents that are named where a check fails."""


def told_before_scores(
    ours: Sequence[Text],
    theirs: Sequence[Text],
    file: Path,
    language: str,
    *,
    methods: Collection[str],
) -> Iterator[str]:
    """Yield what the checks of an audit find in texts in question and known ones,
    without a score.

    `file`: what lines begin with. `methods`: those of the audit; where they compare the
    model with a base, differences of texts will be taken off the scores.
    """
    ours, theirs = _of_both_slices(ours, theirs)
    if not ours or not theirs:
        return
    if len(ours) + len(theirs) > MOST_TEXTS:
        yield (
            f"{file}: whether the {len(ours) + len(theirs):,} texts of both sides are "
            "of one kind is checked after scores; up to "
            f"{MOST_TEXTS:,} texts are checked before"
        )
        return

    from pretrace.audit.analysis import checks_before_scores
    from pretrace.audit.controls import COPIES, PARTS
    from pretrace.audit.scores import see_base
    from pretrace.audit.verdict import invalid, repairs

    based = see_base(methods)
    checked = checks_before_scores(_table(ours), _table(theirs), language, based=based)
    yield from _left_out(checked, file)
    # of chapters and copies the check of the files remarks
    checked = checked[~checked["method"].isin([PARTS, COPIES])]
    if reasons := invalid(checked):
        apart = _told_apart(checked)
        yield (
            f"{file}: the answer will be that the comparison is invalid, whatever the "
            f"model scores: {'; '.join(reasons)}.{apart} {' '.join(repairs(checked))}"
        )
    elif not based and checks_can_fail(*_numbers(checked)):
        p = checked[checked["unit"] == "control"]["p"].min()
        yield (
            f"{file}: words, letters, form and size of both sides were compared, before "
            f"any score: no check fails (the lowest p is {p:.2g}; one fails at 0.01)"
        )


def _of_both_slices(
    ours: Sequence[Text], theirs: Sequence[Text]
) -> tuple[list[Text], list[Text]]:
    """Return the texts that are compared: in question with known ones of their subset
    and length; known ones of other documents."""
    documents = {text.document for text in ours} - {""}
    known = [text for text in theirs if text.document not in documents]
    slices = {text.slice for text in known}
    return [text for text in ours if text.slice in slices], known


def _table(texts: Sequence[Text]) -> "pd.DataFrame":
    """Return the columns of a benchmark's table that are compared."""
    import pandas as pd

    columns = ["text_id", "text", "document", "subset", "length"]
    return pd.DataFrame(texts)[columns].astype({"length": "Int64"})


def _numbers(checked: "pd.DataFrame") -> tuple[int, int]:
    """Return how many documents in question, and known ones, take part."""
    design = checked[checked["unit"] == "design"].set_index("id")["score"]
    return int(design["documents"]), int(design["known_documents"])


def _left_out(checked: "pd.DataFrame", file: Path) -> Iterator[str]:
    """Yield how many documents are left out as outlying, and what that costs."""
    design = checked[checked["unit"] == "design"].set_index("id")["score"]
    outliers, known_outliers = int(design["outliers"]), int(design["known_outliers"])
    if not outliers + known_outliers:
        return
    ours, theirs = _numbers(checked)
    names = checked[checked["unit"] == "document"]["id"].map(shorten).tolist()
    named = f" ({first_names(names)})" if names else ""
    before = checks_can_fail(ours + outliers, theirs + known_outliers)
    costs = ""
    if before and not checks_can_fail(ours, theirs):
        costs = (
            " Then whether the sides are comparable cannot be tested, and the answer "
            f"cannot be evidence. Have {documents_for_checks(ours)}."
        )
    yield (
        f"{file}: {count_noun(outliers, 'document')} in question{named} and "
        f"{known_outliers} known ones are far less like all others than usual in words "
        f"or letters, and will be left out.{costs}"
    )


def _told_apart(checked: "pd.DataFrame") -> str:
    """Name the documents that lie apart most."""
    causes = checked[checked["unit"] == "cause"].sort_values(
        ["effect", "id"], ascending=[False, True]
    )
    documents = causes["id"].drop_duplicates().map(shorten).tolist()
    return f" Most of all: {', '.join(documents[:TOLD_APART])}." if documents else ""
