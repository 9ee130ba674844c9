"""The cells of a benchmark that runs name, and the settings to score in each cell."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple

from pretrace.benchmarks.sources import Part, chosen_parts
from pretrace.methods.needs import PREFIXES, obstacle
from pretrace.methods.registry import REFERENCES, Value, find
from pretrace.methods.settings import setting_name, settings
from pretrace.runtime.logs import log

if TYPE_CHECKING:
    import pandas as pd

Settings = dict[str, dict[str, Value]]
"""Name of a setting -> its parameters."""


class Key(NamedTuple):
    """A method, the reference it uses ("" without) and the draw of its prefixes (None without)."""

    method: str
    reference: str
    draw: int | None


Wanted = dict[Key, Settings]


@dataclass(frozen=True)
class TextGroup:
    """One view of the texts of one (subset, length), scored with one start token.

    `inner_start`: after a prefix, the start token is repeated before the text and scored.
    """

    view: str
    start_token: str
    subset: str
    length: int | None
    inner_start: bool = False


def plan(
    runs: Sequence[Mapping[str, Any]], benchmark: "pd.DataFrame", language: str, *, has_prefixes: bool = False
) -> dict[TextGroup, Wanted]:
    """The settings to score in each cell, sorted and without repeats.

    A method that needs a corpus, a reference model or neighbours is scored with each that its run names, and
    one that needs prefixes with each draw. A method that cannot apply to a run has no place here, and the log
    says why.
    """
    found = _subset_lengths(benchmark)
    cells: dict[TextGroup, Wanted] = {}
    for run in runs:
        wanted = _wanted(run, language, has_prefixes)
        for cell in _cells(run, found):
            for key, named in wanted.items():
                cells.setdefault(cell, {}).setdefault(key, {}).update(named)
    return {
        cell: {key: dict(sorted(named.items())) for key, named in sorted(cells[cell].items())}
        for cell in sorted(
            cells, key=lambda cell: (cell.view, cell.start_token, cell.subset, cell.length or 0)
        )
    }


def _wanted(run: Mapping[str, Any], language: str, has_prefixes: bool) -> Wanted:
    wanted: Wanted = {}
    for request in run["methods"]:
        id = request["method"]
        hindered = obstacle(id, run, language=language, has_prefixes=has_prefixes)
        if hindered:
            log.info("%s: no score of %s on %s: %s", id, run["model"], run["benchmark"], hindered.reason)
            continue
        named = {setting_name(id, one): one for one in settings(id, request.get("parameters"))}
        needs = find(id).needs
        references = next((run[key] for need, key in REFERENCES.items() if need in needs), [""])
        for reference in references:
            for draw in run["draws"] if PREFIXES.keys() & set(needs) else [None]:
                wanted.setdefault(Key(id, reference, draw), {}).update(named)
    return wanted


def _cells(run: Mapping[str, Any], found: list[Part]) -> Iterator[TextGroup]:
    for view in run["views"]:
        for subset, length in chosen_parts(found, run):
            yield TextGroup(view, run["start_token"], subset, length, bool(run.get("inner_start")))


def _subset_lengths(benchmark: "pd.DataFrame") -> list[Part]:
    """The (subset, length) cells of a benchmark table, sorted; length None where the texts have none."""
    found = set(zip(benchmark["subset"], whole_numbers(benchmark["length"]), strict=True))
    return sorted(found, key=lambda pair: (pair[0], pair[1] or 0))


def whole_numbers(column: "pd.Series[Any]") -> list[int | None]:
    """A nullable column of whole numbers as Python values, None where there is none."""
    return [None if gap else int(value) for value, gap in zip(column, column.isna(), strict=True)]
