"""A study's results, read from explicit paths, and the one way to select from them."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any

import pandas as pd

from pretrace.evaluation.averages import Record, averages_of, number, over_draws, test_record
from pretrace.evaluation.grids import along, named_variant
from pretrace.evaluation.metrics import EACH, KEYS, rows_like
from pretrace.evaluation.placebos import KEYS as PLACEBO_KEYS
from pretrace.evaluation.statistics import STATISTICS
from pretrace.methods.settings import written_parameters
from pretrace.questions.known import METHODS, is_control
from pretrace.render.names import BLIND, PUBLISHED_TEST, joined
from pretrace.render.registry import Artifact, Panel
from pretrace.render.rows import STAR_LEVEL, long_frame, number_record, records_of
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
        """Return the rows of a panel in the table of its model and benchmark."""
        frame = self.read(kind, panel.pair)
        return frame[in_place(frame, panel) & _fixed(frame, panel)]

    def estimates_of(
        self, artifact: Artifact, panel: Panel, statistic: str, *quantities: str
    ) -> pd.DataFrame:
        """Return a panel's rows of a statistic, of some quantities and of one reference; raises if there is none."""
        rows = self.in_panel(statistic, panel)
        if quantities:
            rows = rows[rows["quantity"].isin(quantities)]
        what = " and ".join(quantities or [statistic]).replace("_", " ")
        if rows.empty:
            there = self.read(statistic, panel.pair)
            keys = dict.fromkeys(["subset", "length", "reference", *panel.fixed])
            listed = _listing(there[[key for key in keys if key in there]])
            raise artifact.empty(f"there is no {what}; there are: {listed}", panel)
        if "reference" in rows:
            _check_one_reference(what, rows, artifact, panel)
        return rows

    def tests_of(self, artifact: Artifact, panel: Panel, statistic: str, *, hint: str = "") -> pd.DataFrame:
        """Return a panel's rows of a test of whole benchmarks, of the subset and length as it is written.

        A panel without a subset is of all subsets together, one without a length of all lengths.
        """
        frame = self.read(statistic, panel.pair)
        lengths = frame["length"].unique()
        only = None if len(lengths) != 1 or pd.isna(lengths[0]) else int(lengths[0])
        length = only if panel.length is None else panel.length
        place = panel.replaced(subset=panel.subset or "", length=length, references=None)
        rows = frame[in_place(frame, place) & _fixed(frame, place)]
        if "reference" in rows:
            # a panel need not name a reference of each kind: the first rows that have those that it names
            named = {*(panel.references or ())}
            fitting = [names for names in rows["reference"].unique() if named <= {*names.split(", ")}]
            rows = rows[rows["reference"].isin(fitting[:1])]
        if rows.empty and hint:
            raise artifact.empty(hint, panel)
        return rows

    def curve_of(self, artifact: Artifact, panel: Panel, row: Record, curve: str) -> pd.DataFrame:
        """Return the points of a metrics row's curve, `roc` or `density`; raises if there are none."""
        frame = rows_like(self.read(curve, panel.pair), row, KEYS)
        if frame.empty:
            setting = f"{row['method']} at setting '{row['setting']}'"
            raise artifact.empty(f"there is no {curve} of {setting}; its scores are all equal", panel)
        return frame

    def cautions(self, panels: Sequence[Panel]) -> list[str]:
        """Return the cautions in benchmarks' entries, printed under every table and figure of their documents."""
        entries = {panel.called(panel.benchmark): self.entries[panel.benchmark] for panel in panels}
        return [
            f"{name}: {entry['caution'].rstrip('.')}."
            for name, entry in entries.items()
            if "caution" in entry
        ]

    def draws_of(self, panel: Panel, method: str) -> list[int]:
        """Return the draws of shots that a method was evaluated in on a panel; none without shots, or of one draw."""
        name = method.split(";")[0]
        if panel.draw is not None or "shots" not in METHODS[name].defaults:
            return []
        frame = self.read("metrics", panel.pair)
        rows = frame[(frame["method"] == name) & (frame["selection"] == "default") & in_place(frame, panel)]
        rows = rows[_fixed(rows, panel, "draw") & rows["draw"].notna()]
        variants = [named_variant(name, setting) for setting in rows["setting"]]
        return sorted(
            {int(draw) for draw, variant in zip(rows["draw"], variants, strict=True) if variant == method}
        )

    def placebos_of(self, panel: Panel, row: Record) -> pd.DataFrame:
        """Return the rows of `evaluation.placebos` beside a metrics row of a panel; empty if it has no placebos."""
        if panel.pair not in self.placebos:
            return pd.DataFrame()
        return rows_like(self.read("placebos", panel.pair), row, PLACEBO_KEYS)

    def among_placebos(self, panel: Panel, row: Record) -> Record:
        """Return mean and SD of a row's placebos, its z and rank among them, and their number, else None."""
        rows = records_of(self.placebos_of(panel, row))
        names = {"mean": "placebo_mean", "sd": "placebo_sd", "z": "z", "rank": "rank", "placebos": "placebos"}
        real = next((candidate for candidate in rows if not candidate["placebo"]), dict.fromkeys(names))
        return {shown: number(real[key]) for key, shown in names.items()}

    def panels(self, artifact: Artifact) -> list[Panel]:
        """Return the artifact's panels, each with one subset ("" for none) and one length (None for none).

        `options.across` maps one of view, draw, reference, separator to values; each panel is repeated for each value.
        """
        expanded = [place for panel in artifact.panels for place in self.expanded(panel)]
        for key, values in artifact.options.across.items():
            expanded = [panel.replaced(**{key: value}) for panel in expanded for value in values]
        return expanded

    def expanded(self, panel: Panel) -> list[Panel]:
        """Expand a panel without a subset to the whole benchmark if that was evaluated, else to every subset."""
        evaluated = panel.pair in self.metrics
        frame = self.read("metrics", panel.pair) if evaluated else self.read("benchmarks", panel.benchmark)
        there = frame[["subset", "length"]].drop_duplicates().sort_values(["subset", "length"])
        if panel.subset is not None:
            meant = there["subset"].ne("") if panel.subset == EACH else there["subset"].eq(panel.subset)
            there = there[meant]
        elif there["subset"].eq("").any():
            there = there[there["subset"] == ""]
        panels = [
            panel.replaced(subset=subset, length=None if pd.isna(length) else int(length))
            for subset, length in there.itertuples(index=False)
            if panel.length in (length, None)
        ]
        if len(panels) > 1 and panel.label is not None:
            return [place.replaced(label=f"{panel.label}{place.place}") for place in panels]
        return panels or [panel.replaced(subset=panel.subset or "")]

    def rows(self, artifact: Artifact, panel: Panel, *, what: str = "metrics") -> pd.DataFrame:
        """Return metrics or tests of an artifact's metric and evaluation set on a panel, of every selection, with
        `benchmark`.

        A method whose parameters outside its grid are off their default is called `method;parameter=value`,
        but in rows of the grid, where each setting stands for itself. Raises `InputError` where none is there,
        or where rows of one method differ in a key that the artifact does not fix.
        """
        frame = self.read(what, panel.pair)
        rows = frame[(frame["metric"] == artifact.metric) & in_place(frame, panel)]
        rows = rows[rows["unit"] == artifact.options.unit]
        evaluation_set = artifact.evaluation_set
        if not rows["evaluation_set"].eq(evaluation_set).any() and rows["evaluation_set"].eq("all").any():
            evaluation_set = "all"  # no method has a prefix, so that there are no other sets
        rows = rows[rows["evaluation_set"] == evaluation_set].assign(benchmark=panel.benchmark)
        rows = rows[_fixed(rows, panel)]
        chosen = rows[rows["selection"] != "grid"]
        pairs = zip(chosen["method"], chosen["setting"], strict=True)
        chosen = chosen.assign(
            method=[named_variant(method, setting.split("|")[0]) for method, setting in pairs]
        )
        rows = pd.concat([rows[rows["selection"] == "grid"], chosen])
        if artifact.methods:
            rows = rows[rows["method"].isin(artifact.methods)]
        else:
            rows = rows[~rows["method"].str.contains(";")]
        if rows.empty and what == "metrics":
            raise artifact.empty(_nothing(artifact, panel, frame, evaluation_set), panel)
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
        selection = artifact.one_setting
        chosen = self.selected(artifact, panel, selection)
        curves: list[tuple[str, str, Record]] = []
        for method in artifact.ordered(chosen):
            if parameter in written_parameters(chosen[method]["setting"]):
                default = chosen[method]["setting"] if selection == "default" else None
                rows = along(self.grid(artifact, panel, method), parameter, method, default)
                curves += [(value, method, row) for value, row in rows]
        if not curves:
            raise artifact.empty(f"no method that was scored here has a parameter '{parameter}'", panel)
        along_it = {method for _, method, _ in curves}
        return curves + [("", method, row) for method, row in chosen.items() if method not in along_it]

    def selected(self, artifact: Artifact, panel: Panel, selection: str) -> dict[str, Record]:
        """Return the metrics row of each method; empty if the selection has none."""
        rows = self.rows(artifact, panel)
        return _by(rows[rows["selection"] == selection], "method", artifact, panel)

    def grid(self, artifact: Artifact, panel: Panel, method: str) -> dict[str, Record]:
        """Return the metrics row of each setting of one method, or of a variant's; raises if there is none."""
        rows = self.rows(artifact.replaced(methods=[method.split(";")[0]]), panel)
        rows = rows[rows["selection"] == "grid"]
        if rows.empty:
            raise artifact.error(f"{method} has no grid rows; a run must score its grid", panel)
        return _by(rows, "setting", artifact, panel)

    def tests_against(
        self,
        artifact: Artifact,
        panel: Panel,
        baseline: str,
        test: str = "bootstrap",
        selection: str = "held_out",
    ) -> dict[str, Record]:
        """Return each method's test against a baseline: paired bootstrap, permutation, ...; may be empty."""
        rows = self.rows(artifact, panel, what="tests")
        rows = rows[(rows["selection"] == selection) & (rows["test"] == test)]
        return _by(rows[rows["baseline"] == baseline], "method", artifact, panel)

    def every_text(self, panel: Panel) -> pd.DataFrame:
        """Return the panel's texts, unlabelled ones too; raises if there are none."""
        frame = self.read("benchmarks", panel.benchmark)
        texts = frame[in_place(frame, panel)]
        if texts.empty:
            there = _listing(frame[["subset", "length"]])
            raise InputError(f"panel {panel.name}: the benchmark has no such text; there are: {there}")
        return texts

    def times_of(self, panel: Panel) -> list[Record]:
        """Return the seconds of a panel's questions, by task, setting, subset and length; empty if not timed."""
        return list(read_json(self.times[panel.pair])) if panel.pair in self.times else []

    def manifest(self, pair: Pair) -> Any:
        """Return the manifest of the passes of a model over a benchmark."""
        return read_json(self._path("passes", pair))


CONDITIONS = ("unit", "start_token", "evaluation_set", "reference")
"""Further columns that identify an estimate; notes name them once."""


def estimates(
    artifact: Artifact, results: Results, selections: Sequence[str], *, placebos: bool = False
) -> pd.DataFrame:
    """Return a row a panel (`panel`, its number), metric, selection and method, with its test against the baseline.

    `star`: above the artifact's `baseline` by the paired bootstrap on held-out settings, Holm-corrected p <= 0.05.
    Of `options.draws` each row is the mean over draws of shots; of `options.average` there are means over panels
    (`average`). Methods come in their order, panels in theirs.
    """
    options, panels = artifact.options, results.panels(artifact)
    records = [
        keys_of(place, drawn, row) | numbers
        for place, panel in enumerate(panels)
        for metric in artifact.metrics
        for drawn in [panel.replaced(draw=draw) for draw in options.draws] or [panel]
        for row, numbers in _tested(artifact.replaced(metric=metric), results, drawn, selections, placebos)
    ]
    if not records:
        raise artifact.empty(f"no method has a value at {joined(selections)} settings")
    if options.draws:
        records = over_draws(records, len(options.draws))
    records += averages_of(records, [panel.to_json() for panel in panels], options.average, options.blocks)
    frame = long_frame(records)
    frame["star"] = above_baseline(frame).fillna(False) & ~frame["control"]
    order = {method: place for place, method in enumerate(artifact.ordered(frame["method"]))}
    return frame.sort_values(
        "method", key=lambda methods: methods.map(order), kind="stable", ignore_index=True
    )


def _tested(
    artifact: Artifact, results: Results, panel: Panel, selections: Sequence[str], placebos: bool
) -> Iterator[tuple[Record, Record]]:
    """Yield a panel's rows of metrics, with their numbers and the test of each against the baseline."""
    tests, published = {}, {}
    if artifact.baseline:
        tests = results.tests_against(artifact, panel, artifact.baseline)
        if artifact.options.published_test:
            given = (artifact, panel, artifact.baseline, PUBLISHED_TEST, "default")
            published = results.tests_against(*given)
    for selection in selections:
        for method, row in results.selected(artifact, panel, selection).items():
            test = test_record(tests.get(method) if selection == "held_out" else None)
            numbers: Record = {"average": "", "selection": selection, "metric": artifact.metric}
            numbers |= {**number_record(row), "sd": None, **test, "star": False}
            if selection == "default" and method in published:
                numbers |= _published_test(row, published[method])
            yield row, numbers | (results.among_placebos(panel, row) if placebos else {})


def _published_test(row: Record, test: Record) -> Record:
    """Return the p of the t-test that a paper's star probably is, and the marks of the row with that of a low p."""
    starred = test["difference"] > 0 and test["p"] < STAR_LEVEL
    marks = [*filter(None, row["marks"].split(";")), *[PUBLISHED_TEST] * starred]
    return {"p_as_published": test["p"], "marks": ";".join(sorted(marks))}


def beside_controls(artifact: Artifact, results: Results) -> pd.DataFrame:
    """Return `estimates` at held-out settings, with each row's placebos and whether it beats the blind classifier.

    Of methods with shots each row is the mean over the draws that were evaluated (`draws`, their number; else 1).
    """
    artifact = artifact.replaced(baseline=BLIND)
    frame = estimates(artifact, results, ["held_out"], placebos=True).assign(draws=1)
    panels = results.panels(artifact)
    rows = [_over_all_draws(artifact, results, panels[row["panel"]], row) for row in records_of(frame)]
    frame = long_frame(rows)
    return frame.assign(beats_blind=above_baseline(frame))


def _over_all_draws(artifact: Artifact, results: Results, panel: Panel, row: Record) -> Record:
    """Return a method's row as the mean over all draws of shots, with its place among the placebos of one draw each."""
    draws = results.draws_of(panel, row["method"])
    if len(draws) < 2 or row["average"]:
        return row
    options = artifact.options.model_copy(update={"draws": draws, "average": ""})
    one = artifact.replaced(panels=[panel], methods=[row["method"]], metric=row["metric"], options=options)
    [mean] = records_of(estimates(one, results, ["held_out"]))
    averaged = {key: mean[key] for key in mean.keys() - {"panel"}} | {"draws": len(draws)}
    if row["placebos"]:
        placebos = results.placebos_of(panel, row | {"view": panel.view or "original"})
        others = placebos.loc[placebos["placebo"].astype(bool), "value"]
        averaged["z"] = (mean["value"] - row["placebo_mean"]) / row["placebo_sd"]
        averaged["rank"] = 1 + int((others >= mean["value"]).sum())
    return row | averaged


def above_baseline(frame: pd.DataFrame) -> "pd.Series[bool]":
    """Tell whether each estimate is significantly above the baseline; missing without a test."""
    above = (frame["difference"] > 0) & (frame["p_holm"] <= STAR_LEVEL)
    return above.astype("boolean").mask(frame["p_holm"].isna())


def keys_of(place: int, panel: Panel, row: Record) -> Record:
    """Return the coordinates of a row of metrics or tests: its panel with its number, conditions and method."""
    about = {"method": row["method"], "control": is_control(row["method"])}
    return {"panel": place} | {key: row[key] for key in CONDITIONS} | panel.record | about


def in_place(frame: pd.DataFrame, panel: Panel) -> "pd.Series[bool]":
    """Tell which rows have the panel's subset and length; subset "" is all of a benchmark that has subsets."""
    length, subset = frame["length"], frame["subset"].eq(panel.subset or "")
    if not panel.subset and not subset.any():
        subset = frame["subset"].notna()
    of_length = length.isna() if panel.length is None else length.eq(panel.length)
    return (subset & of_length).fillna(False).astype(bool)


def _fixed(frame: pd.DataFrame, panel: Panel, but: str = "") -> "pd.Series[bool]":
    """Tell which rows agree with what the panel fixes, `but` for one key; "" and null: the key does not apply."""
    fixed = pd.Series(True, frame.index)
    for key, values in panel.fixed.items():
        if key in frame and key != but:
            fixed &= frame[key].isna() | frame[key].isin([*values, ""]).astype(bool)
    return fixed


def _check_one_reference(what: str, rows: pd.DataFrame, artifact: Artifact, panel: Panel) -> None:
    """Raise `InputError` where rows have several references."""
    there = sorted(rows["reference"].unique())
    if len(there) > 1:
        several = f"{what} has rows of several references: {', '.join(there)}"
        raise artifact.error(f"{several}; name one under the panel's references", panel)


def _by(rows: pd.DataFrame, key: str, artifact: Artifact, panel: Panel) -> dict[str, Record]:
    """Return rows by a column in which no value may occur twice."""
    if twice := records_of(rows[rows[key].duplicated()]):
        raise artifact.error(
            f"{twice[0]['selection']} has two rows of {twice[0][key]}; the file is not as evaluate writes it: delete "
            "it and run again",
            panel,
        )
    return {str(row[key]): row for row in records_of(rows)}


def _nothing(artifact: Artifact, panel: Panel, frame: pd.DataFrame, evaluation_set: str) -> str:
    """Return the message if no row matches."""
    keys = ["unit", "view", "start_token", "subset", "length", "evaluation_set", "metric"]
    wanted = f"metric {artifact.metric}, evaluation set {evaluation_set}"
    wanted += f", start token {panel.start_token}" if panel.start_token is not None else ""
    wanted += f", methods {', '.join(artifact.methods)}" if artifact.methods else ""
    return f"no row with {wanted}; there are: {_listing(frame[keys])}"


def _listing(frame: pd.DataFrame) -> str:
    """List each column with its distinct values, for an error message."""
    parts = []
    for column in frame.columns:
        values = [str(value) if value != "" else "''" for value in frame[column].dropna().unique()]
        parts.append(f"{column} {', '.join(sorted(values)) or 'none'}")
    return "; ".join(parts)
