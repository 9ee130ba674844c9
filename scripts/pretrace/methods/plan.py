"""The passes over the texts that runs name, and the settings to score for each."""

from collections.abc import Mapping, Sequence
from itertools import product
from typing import TYPE_CHECKING, Any, NamedTuple

from pretrace.benchmarks.slices import chosen_slices, slices_of
from pretrace.methods.needs import PREFIXES, obstacle
from pretrace.methods.registry import Value, find
from pretrace.methods.settings import setting_name, settings
from pretrace.runtime.logs import log
from pretrace.views.readings import PassKey, Reading

if TYPE_CHECKING:
    import pandas as pd

Settings = dict[str, dict[str, Value]]
"""Name of a setting -> its parameters."""


class Key(NamedTuple):
    """A method, the reference it uses ("" without) and the draw of its shots (None without).

    `inner_start`: the start token is repeated between shots and text, and is scored.
    """

    method: str
    reference: str
    draw: int | None
    inner_start: bool = False


Wanted = dict[Key, Settings]


def plan(
    runs: Sequence[Mapping[str, Any]], benchmark: "pd.DataFrame", language: str, *, has_prefixes: bool = False
) -> dict[PassKey, Wanted]:
    """Return the settings to score for each plain pass over the texts, sorted and without repeats.

    A method that needs a corpus, a reference model or neighbours is scored with each that its run names, and
    one that needs prefixes with each draw. A method that cannot apply to a run is left out, and the log says why.
    """
    slices = slices_of(benchmark)
    planned: dict[PassKey, Wanted] = {}
    for run in runs:
        wanted = _wanted(run, language, has_prefixes)
        for view in run["views"]:
            for slice in chosen_slices(slices, run.get("subsets"), run.get("lengths")):
                plain = PassKey(Reading(view, run["start_token"]), slice)
                for key, named in wanted.items():
                    planned.setdefault(plain, {}).setdefault(key, {}).update(named)
    return {
        plain: {key: dict(sorted(named.items())) for key, named in sorted(planned[plain].items())}
        for plain in sorted(planned, key=lambda key: (key.reading.view, key.reading.start_token, key.slice))
    }


def _wanted(run: Mapping[str, Any], language: str, has_prefixes: bool) -> Wanted:
    wanted: Wanted = {}
    for request in run["methods"]:
        id = request["method"]
        hindered = obstacle(id, run, language=language, has_prefixes=has_prefixes)
        if hindered:
            log.info("%s: no score of %s on %s: %s", id, run["model"], run["benchmark"], hindered.reason)
            continue
        named = {setting_name(id, values): values for values in settings(id, request.get("parameters"))}
        method = find(id)
        references = method.input.names(run) if method.input else [""]
        draws = [(None, False)]
        if PREFIXES.keys() & set(method.needs):
            draws = [(draw, bool(run.get("inner_start"))) for draw in run["draws"]]
        for reference, (draw, inner_start) in product(references, draws):
            wanted.setdefault(Key(id, reference, draw, inner_start), {}).update(named)
    return wanted
