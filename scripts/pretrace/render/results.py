"""A study's results, read from explicit paths, and the one way to select from them."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any, cast

import pandas as pd

from pretrace.evaluation.averages import Record, averages_of, number, over_draws, test_record
from pretrace.evaluation.grids import along, named_variant
from pretrace.evaluation.metrics import EACH, KEYS
from pretrace.evaluation.statistics import STATISTICS
from pretrace.methods.settings import written_parameters
from pretrace.questions.known import is_control
from pretrace.render.names import BLIND, ordered, panel_label, place_label, where
from pretrace.render.phrases import joined
from pretrace.render.registry import Artifact
from pretrace.render.rows import (
    STAR_LEVEL,
    Panel,
    long_frame,
    metrics_of,
    number_record,
    one_setting,
    panel_record,
    records_of,
)
from pretrace.runtime.errors import InputError
from pretrace.runtime.files import read_json, read_parquet

Pair = tuple[str, str]


@dataclass(frozen=True)
class Results:
    """Paths by (model, benchmark), by benchmark for `benchmarks`, by model for `training`, by paper for `published`.

    Files are read once, when needed. `statistics` are those of `evaluation.statistics` by name, `entries` the registry
    entries of the benchmarks by slug.
    """

    scores: Mapping[Pair, Path] = field(default_factory=dict)
    metrics: Mapping[Pair, Path] = field(default_factory=dict)
    tests: Mapping[Pair, Path] = field(default_factory=dict)
    placebos: Mapping[Pair, Path] = field(default_factory=dict)
    statistics: Mapping[str, Mapping[Pair, Path]] = field(default_factory=dict)
    benchmarks: Mapping[str, Path] = field(default_factory=dict)
    passes: Mapping[Pair, Path] = field(default_factory=dict)
    times: Mapping[Pair, Path] = field(default_factory=dict)
    audit: Mapping[Pair, Path] = field(default_factory=dict)
    windows: Mapping[Pair, Path] = field(default_factory=dict)
    extraction: Mapping[Pair, Path] = field(default_factory=dict)
    training: Mapping[str, Path] = field(default_factory=dict)
    published: Mapping[str, Path] = field(default_factory=dict)
    entries: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)

    @cached_property
    def _frames(self) -> dict[Path, pd.DataFrame]:
        return {}

    def _path(self, kind: str, key: Pair | str) -> Path:
        paths: Mapping[Any, Path] = (
            self.statistics.get(kind, {}) if kind in STATISTICS else getattr(self, kind)
        )
        if key not in paths:
            raise InputError(f"no {kind} of {key} were given: the renderer has to name {kind} under needs")
        return Path(paths[key])

    def read(self, kind: str, key: Pair | str, /) -> pd.DataFrame:
        """Read a whole table, as `read("metrics", (model, benchmark))` or `read("training", model)`."""
        path = self._path(kind, key)
        if path not in self._frames:
            self._frames[path] = read_parquet(path)
        return self._frames[path]

    def in_panel(self, kind: str, panel: Panel) -> pd.DataFrame:
        """Return the rows of a panel's subset and length in the table of its model and benchmark."""
        frame = self.read(kind, pair_of(panel))
        return frame[in_place(frame, panel)]

    def estimates_of(
        self, artifact: Artifact, panel: Panel, statistic: str, *quantities: str, hint: str = ""
    ) -> pd.DataFrame:
        """Return a panel's rows of a statistic, of some quantities and of one reference; raises if there is none."""
        rows = self.in_panel(statistic, panel)
        if quantities:
            rows = rows[rows["quantity"].isin(quantities)]
        what = " and ".join(quantities or [statistic]).replace("_", " ")
        if "reference" in rows:
            rows = rows[_referred(rows, panel)]
            _check_one_reference(what, rows, artifact, panel)
        if rows.empty:
            raise InputError(f"{where(artifact, panel)}: {hint or f'there is no {what}'}")
        return rows

    def tests_of(self, artifact: Artifact, panel: Panel, statistic: str, *, hint: str = "") -> pd.DataFrame:
        """Return rows at a panel's start token and references, of the subset and length as it is written.

        A panel without a subset is of all subsets together, one without a length of all lengths.
        """
        frame = self.read(statistic, pair_of(panel))
        lengths = frame["length"].unique()
        only = None if len(lengths) != 1 or pd.isna(lengths[0]) else int(lengths[0])
        place: Panel = {**panel, "subset": panel.get("subset", ""), "length": panel.get("length", only)}
        rows = frame[in_place(frame, place) & frame["start_token"].eq(panel["start_token"])]
        if "reference" in rows:
            rows = rows[rows["reference"] == ", ".join(panel.get("references", ()))]
        if rows.empty and hint:
            raise InputError(f"{where(artifact, panel)}: {hint}")
        return rows

    def curve_of(self, artifact: Artifact, panel: Panel, row: Record, curve: str) -> pd.DataFrame:
        """Return the points of a metrics row's curve, `roc` or `density`; raises if there are none."""
        frame = self.read(curve, pair_of(panel))
        for key in KEYS:
            frame = frame[frame[key].isna() if pd.isna(row[key]) else frame[key].eq(row[key]).fillna(False)]
        if frame.empty:
            raise InputError(
                f"{where(artifact, panel)}: there is no {curve} of {row['method']} at setting '{row['setting']}'; its "
                "scores are all equal"
            )
        return frame

    def tokens_of(self, artifact: Artifact, panel: Panel) -> pd.DataFrame:
        """Return the points of a panel's surprising tokens (`evaluation.tokens`); raises if there are none."""
        frame = self.in_panel("tokens", panel)
        frame = frame[frame["view"] == panel.get("view", "original")]
        if panel.get("start_token") is not None:
            frame = frame[frame["start_token"] == panel["start_token"]]
        if frame.empty:
            raise InputError(f"{where(artifact, panel)}: there are no tokens of a pass with entropies")
        return frame

    def cautions(self, panels: Sequence[Panel]) -> list[str]:
        """Return the cautions in benchmarks' entries, printed under every table and figure of their documents."""
        entries = {panel["benchmark"]: self.entries[panel["benchmark"]] for panel in panels}
        return [
            f"{name}: {entry['caution'].rstrip('.')}."
            for name, entry in entries.items()
            if "caution" in entry
        ]

    def placebos_of(self, panel: Panel, row: Record) -> pd.DataFrame:
        """Return the rows of `evaluation.placebos` beside a metrics row of a panel; empty if it has no placebos."""
        if pair_of(panel) not in self.placebos:
            return pd.DataFrame()
        rows = self.in_panel("placebos", panel)
        for key in ("method", "view", "start_token", "reference", "evaluation_set", "selection", "metric"):
            rows = rows[rows[key] == row[key]]
        return rows

    def among_placebos(self, panel: Panel, row: Record) -> dict[str, Any]:
        """Return mean and SD of a row's placebos, its z and rank among them, and their number, else None."""
        rows = records_of(self.placebos_of(panel, row))
        names = {"mean": "placebo_mean", "sd": "placebo_sd", "z": "z", "rank": "rank", "placebos": "placebos"}
        real = next((candidate for candidate in rows if not candidate["placebo"]), dict.fromkeys(names))
        return {shown: number(real[key]) for key, shown in names.items()}

    def panels(self, artifact: Artifact) -> list[Panel]:
        """Return the artifact's panels, each with one subset ("" for none) and one length (None for none).

        `options.across` maps one of view, draw, reference, separator to values; each panel is repeated for each value.
        """
        expanded = [place for panel in artifact["panels"] for place in self._expanded(panel)]
        for key, values in artifact.get("options", {}).get("across", {}).items():
            expanded = [cast("Panel", {**panel, key: value}) for panel in expanded for value in values]
        return expanded

    def _expanded(self, panel: Panel) -> list[Panel]:
        """Expand a panel without a subset to the whole benchmark if that was evaluated, else to every subset."""
        pair = (panel.get("model", ""), panel["benchmark"])
        frame = self.read("metrics", pair) if pair in self.metrics else self.read("benchmarks", pair[1])
        there = frame[["subset", "length"]].drop_duplicates().sort_values(["subset", "length"])
        if "subset" in panel:
            meant = there["subset"].ne("") if panel["subset"] == EACH else there["subset"].eq(panel["subset"])
            there = there[meant]
        elif there["subset"].eq("").any():
            there = there[there["subset"] == ""]
        panels: list[Panel] = [
            {**panel, "subset": subset, "length": None if pd.isna(length) else int(length)}
            for subset, length in there.itertuples(index=False)
            if panel.get("length", length) in (length, None)
        ]
        if len(panels) > 1 and "label" in panel:
            return [{**place, "label": f"{panel['label']}{place_label(place)}"} for place in panels]
        return panels or [{"length": None, **panel, "subset": panel.get("subset", "")}]

    def rows(self, artifact: Artifact, panel: Panel, *, what: str = "metrics") -> pd.DataFrame:
        """Return metrics or tests of an artifact's metric and evaluation set on a panel, of every selection, with
        `benchmark`.

        A method whose parameters outside its grid are off their default is called `method;parameter=value`,
        but in rows of the grid, where each setting stands for itself. Raises `InputError` where none is there,
        or where rows of one method differ in a key that the artifact does not fix.
        """
        frame = self.read(what, pair_of(panel))
        metric = artifact.get("metric", "auc")
        rows = frame[(frame["metric"] == metric) & in_place(frame, panel)]
        evaluation_set = artifact.get("evaluation_set", "all")
        if not rows["evaluation_set"].eq(evaluation_set).any() and rows["evaluation_set"].eq("all").any():
            evaluation_set = "all"  # no method has a prefix, so that there are no other sets
        rows = rows[rows["evaluation_set"] == evaluation_set].assign(benchmark=panel["benchmark"])
        rows = rows[_fixed(rows, artifact, panel)]
        chosen = rows[rows["selection"] != "grid"]
        pairs = zip(chosen["method"], chosen["setting"], strict=True)
        chosen = chosen.assign(
            method=[named_variant(method, setting.split("|")[0]) for method, setting in pairs]
        )
        rows = pd.concat([rows[rows["selection"] == "grid"], chosen])
        if "methods" in artifact:
            rows = rows[rows["method"].isin(list(artifact["methods"]))]
        else:
            rows = rows[~rows["method"].str.contains(";")]
        if rows.empty and what == "metrics":
            raise InputError(_nothing(artifact, panel, frame, metric, evaluation_set))
        for method, own in rows.groupby("method"):
            _check_one_reference(str(method), own, artifact, panel)
        return rows

    def along_parameter(
        self, artifact: Artifact, panel: Panel, parameter: str
    ) -> list[tuple[str, str, Record]]:
        """Return (value, method, row): methods with the parameter at each value, other methods with value "".

        Every other parameter is at its default or, where the artifact's selection is `best_on_test`, at its best for
        each value.
        """
        selection = one_setting(artifact)
        chosen = self.selected(artifact, panel, selection)
        curves: list[tuple[str, str, Record]] = []
        for method in ordered(artifact, chosen):
            if parameter in written_parameters(chosen[method]["setting"]):
                default = chosen[method]["setting"] if selection == "default" else None
                rows = along(self.grid(artifact, panel, method), parameter, method, default)
                curves += [(value, method, row) for value, row in rows]
        if not curves:
            raise InputError(f"{where(artifact, panel)}: no method has a parameter '{parameter}'")
        along_it = {method for _, method, _ in curves}
        return curves + [("", method, row) for method, row in chosen.items() if method not in along_it]

    def selected(self, artifact: Artifact, panel: Panel, selection: str) -> dict[str, Record]:
        """Return the metrics row of each method; empty if the selection has none."""
        rows = self.rows(artifact, panel)
        return _by(rows[rows["selection"] == selection], "method", artifact, panel)

    def grid(self, artifact: Artifact, panel: Panel, method: str) -> dict[str, Record]:
        """Return the metrics row of each setting of one method, or of a variant's; raises if there is none."""
        rows = self.rows({**artifact, "methods": [method.split(";")[0]]}, panel)
        rows = rows[rows["selection"] == "grid"]
        if rows.empty:
            raise InputError(
                f"{where(artifact, panel)}: {method} has no grid rows; a run must score its grid"
            )
        return _by(rows, "setting", artifact, panel)

    def held_out_tests(
        self, artifact: Artifact, panel: Panel, baseline: str, test: str = "bootstrap"
    ) -> dict[str, Record]:
        """Return each method's test on held-out settings against a baseline, paired bootstrap or permutation; may be
        empty.
        """
        rows = self.rows(artifact, panel, what="tests")
        held_out = (rows["selection"] == "held_out") & (rows["test"] == test)
        return _by(rows[held_out & (rows["baseline"] == baseline)], "method", artifact, panel)

    def every_text(self, panel: Panel) -> pd.DataFrame:
        """Return the panel's texts, unlabelled ones too; raises if there are none."""
        frame = self.read("benchmarks", panel["benchmark"])
        texts = frame[in_place(frame, panel)]
        if texts.empty:
            there = _listing(frame[["subset", "length"]])
            raise InputError(
                f"panel {panel_label(panel)}: the benchmark has no such text; there are: {there}"
            )
        return texts

    def times_of(self, panel: Panel) -> list[Record]:
        """Return the seconds of a panel's questions, by task, setting, subset and length; empty if not timed."""
        pair = pair_of(panel)
        return list(read_json(self.times[pair])) if pair in self.times else []

    def manifest(self, pair: Pair) -> Any:
        """Return the manifest of the passes of a model over a benchmark."""
        return read_json(self._path("passes", pair))


CONDITIONS = ("unit", "start_token", "evaluation_set", "reference")
"""Further columns that identify an estimate; notes name them once."""


def estimates(
    artifact: Artifact,
    results: Results,
    selections: Sequence[str],
    *,
    placebos: bool = False,
) -> pd.DataFrame:
    """Return a row a panel (`panel`, its number), metric, selection and method, with its test against the baseline.

    `star`: above the artifact's `baseline` by the paired bootstrap on held-out settings, Holm-corrected p <= 0.05.
    Of `options.draws` each row is the mean over draws of shots; of `options.average` there are means over panels
    (`average`). Methods come in their order, panels in theirs.
    """
    options = artifact.get("options", {})
    draws = options.get("draws")
    panels = results.panels(artifact)
    records = [
        record
        for number, panel in enumerate(panels)
        for metric in metrics_of(artifact)
        for shown in _of_draws(panel, draws)
        for record in _of_panel({**artifact, "metric": metric}, results, shown, selections, number, placebos)
    ]
    if not records:
        raise InputError(
            f"artifact {artifact['artifact']}: no method has a value at {joined(selections)} settings"
        )
    records = over_draws(records, len(draws)) if draws else records
    records += averages_of(records, panels, options.get("average", ""), options.get("blocks", ""))
    frame = long_frame(records)
    frame["star"] = above_baseline(frame).fillna(False) & ~frame["control"]
    order = {method: place for place, method in enumerate(ordered(artifact, frame["method"]))}
    return frame.sort_values(
        "method", key=lambda methods: methods.map(order), kind="stable", ignore_index=True
    )


def beside_controls(artifact: Artifact, results: Results) -> pd.DataFrame:
    """Return `estimates` at held-out settings, with each row's placebos and whether it beats the blind classifier."""
    frame = estimates({**artifact, "baseline": BLIND}, results, ["held_out"], placebos=True)
    return frame.assign(beats_blind=above_baseline(frame))


def above_baseline(frame: pd.DataFrame) -> "pd.Series[bool]":
    """Tell whether each estimate is significantly above the baseline; missing without a test."""
    above = (frame["difference"] > 0) & (frame["p_holm"] <= STAR_LEVEL)
    return above.astype("boolean").mask(frame["p_holm"].isna())


def keys_of(number: int, panel: Panel, row: Record) -> dict[str, Any]:
    """Return the coordinates of a row of metrics or tests: its panel with its number, conditions and method."""
    about = {"method": row["method"], "control": is_control(row["method"])}
    return {"panel": number} | {key: row[key] for key in CONDITIONS} | panel_record(panel) | about


def _of_panel(
    artifact: Artifact,
    results: Results,
    panel: Panel,
    selections: Sequence[str],
    number: int,
    placebos: bool,
) -> Iterable[dict[str, Any]]:
    baseline = artifact.get("baseline")
    tests = results.held_out_tests(artifact, panel, baseline) if baseline else {}
    for selection in selections:
        tested = tests if selection == "held_out" else {}
        for method, row in results.selected(artifact, panel, selection).items():
            yield (
                keys_of(number, panel, row)
                | {"average": "", "selection": selection}
                | {"metric": artifact.get("metric", "auc"), **number_record(row), "sd": None}
                | test_record(tested.get(method))
                | {"star": False}
                | (results.among_placebos(panel, row) if placebos else {})
            )


def _of_draws(panel: Panel, draws: Sequence[int] | None) -> list[Panel]:
    return [{**panel, "draw": draw} for draw in draws] if draws else [panel]


def pair_of(panel: Panel) -> Pair:
    return panel["model"], panel["benchmark"]


def in_place(frame: pd.DataFrame, panel: Panel) -> "pd.Series[bool]":
    """Tell which rows have the panel's subset and length; subset "" is all of a benchmark that has subsets."""
    length, subset = frame["length"], frame["subset"].eq(panel["subset"])
    if panel["subset"] == "" and not subset.any():
        subset = frame["subset"].notna()
    at_length = length.isna() if panel["length"] is None else length.eq(panel["length"])
    return (subset & at_length).fillna(False).astype(bool)


def _fixed(frame: pd.DataFrame, artifact: Artifact, panel: Panel) -> "pd.Series[bool]":
    """Tell which rows agree with what the panel or else the artifact fixes; "" and null: the key does not apply."""
    fixed = {"draw": 0, "view": "original", "start_token": None, **panel}
    keep = frame["unit"] == artifact.get("options", {}).get("unit", "text")
    keep &= frame["view"].isin([fixed["view"], ""])
    keep &= frame["draw"].isna() | (frame["draw"] == fixed["draw"])
    if fixed["start_token"] is not None:
        keep &= frame["start_token"].isin([fixed["start_token"], ""])
    return (keep & _referred(frame, panel)).fillna(False).astype(bool)


def _referred(frame: pd.DataFrame, panel: Panel) -> "pd.Series[bool]":
    """Tell which rows have a reference that the panel names, or need none."""
    named = [panel["reference"]] if "reference" in panel else panel.get("references", frame["reference"])
    return frame["reference"].isin([*named, ""])


def _check_one_reference(what: str, rows: pd.DataFrame, artifact: Artifact, panel: Panel) -> None:
    """Raise `InputError` where rows have several references."""
    there = sorted(rows["reference"].unique())
    if len(there) > 1:
        raise InputError(
            f"{where(artifact, panel)}: {what} has rows of several references: {', '.join(there)}; name one under the "
            "panel's references"
        )


def _by(rows: pd.DataFrame, key: str, artifact: Artifact, panel: Panel) -> dict[str, Record]:
    """Return rows by a column in which no value may occur twice."""
    if twice := records_of(rows[rows[key].duplicated()]):
        row = twice[0]
        raise InputError(
            f"{where(artifact, panel)}: {row['selection']} has two rows of {row[key]}; "
            "the file is not as evaluate writes it: delete it and run again"
        )
    return {str(row[key]): row for row in records_of(rows)}


def _nothing(artifact: Artifact, panel: Panel, frame: pd.DataFrame, metric: str, evaluation_set: str) -> str:
    """Return the message if no row matches."""
    keys = ["unit", "view", "start_token", "subset", "length", "evaluation_set", "metric"]
    wanted = f"metric {metric}, evaluation set {evaluation_set}"
    wanted += f", start token {panel['start_token']}" if "start_token" in panel else ""
    wanted += f", methods {', '.join(artifact['methods'])}" if "methods" in artifact else ""
    return f"{where(artifact, panel)}: no row with {wanted}; there are: {_listing(frame[keys])}"


def _listing(frame: pd.DataFrame) -> str:
    """List each column with its distinct values, for an error message."""
    parts = []
    for column in frame.columns:
        values = [str(value) if value != "" else "''" for value in frame[column].dropna().unique()]
        parts.append(f"{column} {', '.join(sorted(values)) or 'none'}")
    return "; ".join(parts)
