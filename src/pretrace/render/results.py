"""A study's results, read from explicit paths, the one way to select from them, and
rows as records and frames."""

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any, NamedTuple, cast

import pandas as pd

from pretrace.benchmarks.subsets_and_lengths import whole_numbers
from pretrace.evaluation.averages import (
    EstimateRow,
    Record,
    averages_of,
    number,
    over_draws,
    test_record,
)
from pretrace.evaluation.method_settings import along, named_variant
from pretrace.evaluation.metrics import EACH, METRIC_KEYS, marks_in, rows_like
from pretrace.evaluation.placebos import PLACEBO_KEYS
from pretrace.evaluation.significance import holm, simultaneous
from pretrace.methods.settings import written_parameters
from pretrace.questions.answering import PROBABILITIES, WITHOUT_TEXT
from pretrace.questions.method_facts import METHODS, is_control, is_question
from pretrace.render.artifact import Artifact, PairSlugs, Panel
from pretrace.render.names import BLIND, PUBLISHED_TEST, join_words, method_label
from pretrace.runtime.errors import InputError
from pretrace.runtime.files import read_parquet

STAR_LEVEL = 0.05


class UnmadeView(NamedTuple):
    """A stored view of a benchmark that could not be made: its file, and why."""

    benchmark: str
    view: str
    path: str
    reason: str


@dataclass(frozen=True)
class Results:
    """Files of a study's results, by kind (`catalogue.READ_KINDS`) and then by (model,
    benchmark), or by benchmark for `benchmarks`, by model for `training`, by paper for
    `published`.

    Files are read once, when needed. `entries` are the registry entries of the
    benchmarks by slug, `unmade` the views that could not be made.
    """

    paths: Mapping[str, Mapping[Any, Path]]
    entries: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    unmade: Sequence[UnmadeView] = ()

    @cached_property
    def _frames(self) -> dict[Path, pd.DataFrame]:
        return {}

    def has(self, kind: str, key: PairSlugs | str) -> bool:
        return key in self.paths.get(kind, {})

    def path(self, kind: str, key: PairSlugs | str) -> Path:
        if not self.has(kind, key):
            raise InputError(
                f"no {kind} of {key} were given: the renderer has to name {kind} under "
                "needs"
            )
        return Path(self.paths[kind][key])

    def read(self, kind: str, key: PairSlugs | str) -> pd.DataFrame:
        """Read a whole table, as `read("metrics", (model, benchmark))` or
        `read("training", model)`."""
        path = self.path(kind, key)
        if path not in self._frames:
            self._frames[path] = read_parquet(path)
        return self._frames[path]

    def rows(
        self, artifact: Artifact, panel: Panel, kind: str = "metrics", **keys: Any
    ) -> pd.DataFrame:
        """Return the rows of a panel in a table of its model and benchmark whose
        columns have these values, or one of each list.

        Metrics and tests are those of the artifact's metric, unit, evaluation set and
        methods. A method whose parameters outside its grid are off their default is
        called `method;parameter=value`, but in rows of the grid, where each setting
        stands for itself.

        Raises:
            InputError: the panel has no row at all (of tests it may have none), or rows
                of one method differ in their reference, which the panel does not name.
        """
        frame = self.read(kind, panel.pair)
        rows = frame[in_place(frame, panel)]
        if kind in ("metrics", "tests"):
            rows = _of_artifact(rows, artifact).assign(benchmark=panel.benchmark)
        rows = rows[_rows_of_panel(rows, panel)]
        if rows.empty and panel.length is None:
            lengths = [place.length for place in self.expand(panel)]
            if any(lengths):
                several = "this panel stands for every length"
                hint = "a renderer takes its panels from results.panels(artifact)"
                raise artifact.error(f"{several}: {hint}", panel)
        if rows.empty and kind != "tests":
            raise artifact.empty(_no_rows_message(artifact, panel, kind, frame), panel)
        for key, value in keys.items():
            values = value if isinstance(value, list) else [value]
            rows = rows[rows[key].isin(values)]
        _check_references(artifact, panel, kind, rows)
        return rows

    def by(
        self,
        key: str,
        artifact: Artifact,
        panel: Panel,
        kind: str = "metrics",
        **keys: Any,
    ) -> dict[str, Record]:
        """Return `rows` by a column in which no value may occur twice."""
        rows = self.rows(artifact, panel, kind, **keys)
        twice = records_of(rows[rows[key].duplicated()])
        if twice:
            raise artifact.error(
                f"{twice[0]['selection']} has two rows of {twice[0][key]}; the file is "
                "not as evaluate writes it: delete it and run again",
                panel,
            )
        return {str(row[key]): row for row in records_of(rows)}

    def grid(self, artifact: Artifact, panel: Panel, method: str) -> dict[str, Record]:
        """Return the metrics row of each setting of one method, or of a variant's;
        raises if there is none."""
        own = artifact.replaced(methods=[method.split(";")[0]])
        rows = self.by("setting", own, panel, selection="grid")
        if not rows:
            raise artifact.error(
                f"{method} has no grid rows; a run must score its grid", panel
            )
        return rows

    def along_parameter(
        self, artifact: Artifact, panel: Panel, parameter: str
    ) -> list[tuple[str, str, Record]]:
        """Return (value, method, row): methods with the parameter at each value, other
        methods with value "".

        Every other parameter is at its default or, where the artifact's selection is
        `best_on_test`, at its best for each value.
        """
        selection = artifact.one_setting
        chosen = self.by("method", artifact, panel, selection=selection)
        curves: list[tuple[str, str, Record]] = []
        level: list[tuple[str, str, Record]] = []
        for method, row in chosen.items():
            if parameter not in written_parameters(row["setting"]):
                level.append(("", method, row))
        without = {method for _, method, _ in level}
        for method in artifact.order_methods(chosen.keys() - without):
            default = chosen[method]["setting"] if selection == "default" else None
            rows = along(self.grid(artifact, panel, method), parameter, method, default)
            for value, row in rows:
                curves.append((value, method, row))
        if len(without) == len(chosen):
            raise artifact.empty(
                f"no method that was scored here has a parameter '{parameter}'", panel
            )
        return curves + level

    def like(self, kind: str, panel: Panel, row: Record | EstimateRow) -> pd.DataFrame:
        """Return the rows of a table, `roc`, `density` or `placebos`, beside a metrics
        row of a panel; none without the table.
        """
        if not self.has(kind, panel.pair):
            return pd.DataFrame()
        keys = PLACEBO_KEYS if kind == "placebos" else METRIC_KEYS
        return rows_like(self.read(kind, panel.pair), row, keys)

    def texts(self, panel: Panel) -> pd.DataFrame:
        """Return the panel's texts, unlabelled ones too; raises if there are none."""
        frame = self.read("benchmarks", panel.benchmark)
        texts = frame[in_place(frame, panel)]
        if texts.empty:
            there = _list_values(frame[["subset", "length"]])
            raise InputError(
                f"panel {panel.name}: the benchmark has no such text; there are: "
                f"{there}"
            )
        return texts

    def cautions(self, panels: Sequence[Panel]) -> list[str]:
        """Return the cautions in benchmarks' entries, printed under every table and
        figure of their documents."""
        cautions = {}
        for panel in panels:
            entry = self.entries[panel.benchmark]
            if "caution" in entry:
                cautions[panel.title_of(panel.benchmark)] = entry["caution"].rstrip(".")
        return [f"{name}: {caution}." for name, caution in cautions.items()]

    def draws_of(self, panel: Panel, method: str) -> list[int]:
        """Return the draws of shots that a method was evaluated in on a panel; none
        without shots, or of one draw."""
        name = method.split(";")[0]
        if panel.draw is not None or "shots" not in METHODS[name].defaults:
            return []
        frame = self.read("metrics", panel.pair)
        is_default = frame["method"].eq(name) & frame["selection"].eq("default")
        rows = frame[is_default & in_place(frame, panel)]
        rows = rows[_rows_of_panel(rows, panel, "draw") & rows["draw"].notna()]
        draws = set()
        for row in records_of(rows):
            if named_variant(name, row["setting"]) == method:
                draws.add(int(row["draw"]))
        return sorted(draws)

    def panels(self, artifact: Artifact) -> list[Panel]:
        """Return the artifact's panels, each with one subset ("" for none) and one
        length (None for none).

        `options.across` maps one of view, draw, reference, separator to values; each
        panel is repeated for each value, but not for a view that could not be made.
        """
        expanded = []
        for panel in artifact.panels:
            expanded += self.expand(panel)
        unmade = {(lacking.benchmark, lacking.view) for lacking in self.unmade}
        for key, values in artifact.options.across.items():
            repeated = []
            for panel in expanded:
                for value in values:
                    if (panel.benchmark, value) not in unmade:
                        repeated.append(panel.replaced(**{key: value}))
            if not repeated:
                raise artifact.empty(f"no {key} that it shows could be made")
            expanded = repeated
        return expanded

    def expand(self, panel: Panel) -> list[Panel]:
        """Expand a panel without a subset to the whole benchmark if that was evaluated,
        else to every subset."""
        if self.has("metrics", panel.pair):
            frame = self.read("metrics", panel.pair)
        else:
            frame = self.read("benchmarks", panel.benchmark)
        keys = ["subset", "length"]
        there = frame[keys].drop_duplicates().sort_values(keys)
        subsets = there["subset"]
        if panel.subset == EACH:
            there = there[subsets != ""]
        elif panel.subset is not None:
            there = there[subsets == panel.subset]
        elif subsets.eq("").any():
            there = there[subsets == ""]
        panels = []
        lengths = whole_numbers(there["length"])
        for subset, length in zip(there["subset"], lengths, strict=True):
            if panel.length in (length, None):
                panels.append(panel.replaced(subset=subset, length=length))
        if not panels:
            return [panel.replaced(subset=panel.subset or "")]
        if len(panels) == 1 or panel.label is None:
            return panels
        return [own.replaced(label=f"{panel.label}{own.place}") for own in panels]


def of_set(rows: pd.DataFrame, artifact: Artifact) -> pd.DataFrame:
    """Return the rows of an artifact's evaluation set; where no text was drawn as a
    shot, there is `all` alone."""
    own = rows[rows["evaluation_set"] == artifact.evaluation_set]
    return own if len(own) else rows[rows["evaluation_set"] == "all"]


def _check_references(
    artifact: Artifact, panel: Panel, kind: str, rows: pd.DataFrame
) -> None:
    """Raise if rows of one method differ in their reference."""
    if "reference" not in rows:
        return
    methods = rows["method"] if "method" in rows else pd.Series(kind, rows.index)
    for method, own in rows.groupby(methods):
        references = sorted(own["reference"].dropna().unique())
        if len(references) > 1:
            several = f"{method} has rows of several references"
            hint = "name one under the panel's references"
            raise artifact.error(f"{several}: {', '.join(references)}; {hint}", panel)


def _of_artifact(rows: pd.DataFrame, artifact: Artifact) -> pd.DataFrame:
    """Return the rows of metrics or tests of an artifact's metric, unit, evaluation set
    and methods."""
    is_metric = rows["metric"] == artifact.metric
    is_unit = rows["unit"] == artifact.options.unit
    rows = with_variants_named(of_set(rows[is_metric & is_unit], artifact))
    if artifact.methods:
        rows = rows[rows["method"].isin(artifact.methods)]
    else:
        is_plain = [";" not in method for method in rows["method"]]
        rows = rows.loc[is_plain]
    return rows.sort_values(
        "selection", key=lambda column: column != "grid", kind="stable"
    )


def with_variants_named(rows: pd.DataFrame) -> pd.DataFrame:
    """Return rows of metrics or tests with variants named `method;parameter=value`, but
    in rows of the grid."""
    names = []
    chosen = rows[["method", "setting", "selection"]]
    for method, setting, selection in chosen.itertuples(index=False):
        if selection != "grid":
            method = named_variant(method, setting.split("|")[0])
        names.append(method)
    return rows.assign(method=names)


CONDITIONS = ("unit", "start_token", "evaluation_set", "reference")
"""Further columns that identify an estimate; notes name them once."""


def estimates(
    artifact: Artifact,
    results: Results,
    selections: Sequence[str],
    *,
    placebos: bool = False,
) -> pd.DataFrame:
    """Return a row a panel (`panel`, its number), metric, selection and method, with
    its test against the baseline.

    `star`: above the artifact's `baseline` by the paired bootstrap on held-out settings
    (`with_stars`). Of `options.draws` each row is the mean over draws of shots; of
    `options.average` there are means over panels (`average`). Methods come in their
    order, panels in theirs.
    """
    options = artifact.options
    panels = results.panels(artifact)
    records: list[EstimateRow] = []
    for place, panel in enumerate(panels):
        drawn = [panel.replaced(draw=draw) for draw in options.draws]
        for metric in artifact.metrics:
            own = artifact.replaced(metric=metric)
            for of_draw in drawn or [panel]:
                records += _tested_rows(
                    own, results, place, of_draw, selections, placebos
                )
    if not records:
        raise artifact.empty(
            f"no method has a value at {join_words(selections)} settings"
        )
    if options.draws:
        records = over_draws(records, len(options.draws))
    given = [panel.to_json() for panel in panels]
    records += averages_of(records, given, options.average, options.blocks)
    frame = with_stars(long_frame(records))
    order = artifact.order_methods(frame["method"])
    return frame.sort_values(
        "method",
        key=lambda methods: methods.map(order.index),
        kind="stable",
        ignore_index=True,
    )


def _tested_rows(
    artifact: Artifact,
    results: Results,
    place: int,
    panel: Panel,
    selections: Sequence[str],
    placebos: bool,
) -> Iterator[EstimateRow]:
    """Yield a panel's estimates, each with its test against the baseline."""

    def tests_against(test: str, selection: str) -> dict[str, Record]:
        keys = {"test": test, "selection": selection, "baseline": artifact.baseline}
        return results.by("method", artifact, panel, "tests", **keys)

    tests = {}
    published = {}
    if artifact.baseline:
        tests = tests_against("bootstrap", "held_out")
    if artifact.options.published_test:
        published = tests_against(PUBLISHED_TEST, "default")
    for selection in selections:
        rows = results.by("method", artifact, panel, selection=selection)
        for method, row in rows.items():
            test = tests.get(method) if selection == "held_out" else None
            record = estimate_record(
                place, panel, row, selection=selection, metric=artifact.metric
            )
            record |= {"sd": None, **test_record(test), "star": False}
            if selection == "default" and method in published:
                record |= _published_test(row, published[method])
            if placebos:
                record |= _among_placebos(results.like("placebos", panel, row))
            yield record


def _among_placebos(placebos: pd.DataFrame) -> EstimateRow:
    """Return mean and SD of a row's placebos, its z and rank among them, and their
    number, else None."""
    real: Record = {}
    for row in records_of(placebos):
        if not row["placebo"]:
            real = row
            break
    return {
        "placebo_mean": number(real.get("mean")),
        "placebo_sd": number(real.get("sd")),
        "z": number(real.get("z")),
        "rank": number(real.get("rank")),
        "placebos": number(real.get("placebos")),
    }


def _published_test(row: Record, test: Record) -> EstimateRow:
    """Return the p of the t-test that a paper's star probably is, and the marks of the
    row with that of a low p."""
    marks = marks_in(row["marks"])
    if test["difference"] > 0 and test["p"] < STAR_LEVEL:
        marks.append(PUBLISHED_TEST)
    return {"p_as_published": test["p"], "marks": ";".join(sorted(marks))}


OVER_ALL_DRAWS = ("headline", "blind_audit")
"""Renderers that show the mean over all draws of shots (`beside_controls`); others show
one draw."""


def shots_notes(artifact: Artifact, results: Results) -> list[str]:
    """Say of methods that were evaluated in several draws of shots whether the first
    draw is shown, or the mean."""
    options = artifact.options
    shows_metrics = "metrics" in artifact.needs and "published" not in artifact.needs
    if not shows_metrics or options.draws:
        return []
    methods = artifact.methods
    if not methods and options.method:
        methods = [options.method]
    if not methods:
        methods = [name for name in METHODS if "shots" in METHODS[name].defaults]
    by_draws: dict[int, dict[str, None]] = {}
    for panel in results.panels(artifact):
        for method in methods:
            draws = len(results.draws_of(panel, method))
            if draws > 1:
                by_draws.setdefault(draws, {})[method_label(method)] = None
    shown = "mean over all" if artifact.renderer in OVER_ALL_DRAWS else "the first of"
    notes = []
    for draws, labels in by_draws.items():
        notes.append(f"{join_words([*labels])}: {shown} {draws} draws of shots.")
    return notes


def answer_notes(artifact: Artifact, results: Results) -> list[str]:
    """Say of models that were asked over an API how many answers have no text, and how
    many no probabilities of the letters."""
    if artifact.methods and not any(map(is_question, artifact.methods)):
        return []
    notes = []
    panels = {panel.pair: panel for panel in artifact.panels}
    for pair, panel in panels.items():
        if not results.has("answers", pair):
            continue
        answers = results.read("answers", pair)
        name = f"{panel.title_of(panel.model)} on {panel.title_of(panel.benchmark)}"
        for (task, setting), rows in answers.groupby(["task", "setting"]):
            asked = f"{len(rows):,} answers to {method_label(task)} {setting}".strip()
            without = rows["reason"].isin(WITHOUT_TEXT)
            if without.any():
                verdict = "These are not judged"
                if rows["correct"].isna().all():
                    verdict = "That is no result"
                counts = rows["reason"][without].value_counts().sort_index()
                reasons = "; ".join(f"{count:,} {why}" for why, count in counts.items())
                notes.append(
                    f"{name}: {without.sum():,} of {asked} have no text ({reasons}). "
                    f"{verdict}."
                )
            alone = rows["answer"].notna() & rows[PROBABILITIES[0]].isna()
            if task == "de_cop" and alone.any():
                notes.append(
                    f"{name}: {alone.sum():,} of {asked} are letters of a text, without "
                    "probabilities, and are not calibrated."
                )
    return notes


def beside_controls(artifact: Artifact, results: Results) -> pd.DataFrame:
    """Return `estimates` at held-out settings, with each row's placebos and whether it
    beats the bag of words.

    Of methods with shots each row is the mean over the draws that were evaluated
    (`draws`, their number; else 1).
    """
    artifact = artifact.replaced(baseline=BLIND)
    frame = estimates(artifact, results, ["held_out"], placebos=True).assign(draws=1)
    panels = results.panels(artifact)
    rows = []
    for row in estimate_rows(frame):
        rows.append(_over_all_draws(artifact, results, panels[row["panel"]], row))
    frame = with_stars(long_frame(rows))
    return frame.assign(beats_blind=above_baseline(frame))


def _over_all_draws(
    artifact: Artifact, results: Results, panel: Panel, row: EstimateRow
) -> EstimateRow:
    """Return a method's row as the mean over all draws of shots, with its place among
    the placebos of one draw each."""
    draws = results.draws_of(panel, row["method"])
    if len(draws) < 2 or row["average"]:
        return row
    options = artifact.options.replaced(draws=draws, average="")
    one = artifact.replaced(
        panels=[panel], methods=[row["method"]], metric=row["metric"], options=options
    )
    [mean] = estimate_rows(estimates(one, results, ["held_out"]))
    averaged = row | mean | {"panel": row["panel"], "draws": len(draws)}
    if row["placebos"]:
        of_view = row | {"view": panel.view or "original"}
        placebos = results.like("placebos", panel, of_view)
        others = placebos.loc[placebos["placebo"].astype(bool), "value"]
        placebo_mean, placebo_sd = row["placebo_mean"], row["placebo_sd"]
        assert placebo_mean is not None
        assert placebo_sd is not None
        averaged["z"] = (mean["value"] - placebo_mean) / placebo_sd
        averaged["rank"] = 1 + int((others >= mean["value"]).sum())
    return averaged


COLUMN = ("panel", "metric", "selection", "average")
"""What the rows of one column of a table of methods have in common."""


def with_stars(frame: pd.DataFrame) -> pd.DataFrame:
    """Return estimates with the `p_holm` of their column, and `star` where a method
    with a model is above the baseline.

    Holm's family is what the column shows: a method that was evaluated and is not shown
    changes no star.
    """
    frame = frame.assign(p_holm=corrected(frame, COLUMN))
    return frame.assign(star=above_baseline(frame).fillna(False) & ~frame["control"])


def corrected(
    frame: pd.DataFrame, family: Sequence[str], p: str = "p"
) -> "pd.Series[float]":
    """Return the column `p` after Holm's correction over the rows that agree in
    `family`; NaN without a test."""
    tests = frame[p].astype(float).groupby([frame[key] for key in family], dropna=False)
    return tests.transform(lambda own: holm(own.to_numpy()))


def above_baseline(frame: pd.DataFrame) -> "pd.Series[bool]":
    """Tell whether each estimate is significantly above the baseline; missing without a
    test."""
    above = (frame["difference"] > 0) & (frame["p_holm"] <= STAR_LEVEL)
    return above.astype("boolean").mask(frame["p_holm"].isna())


def keys_of(place: int, panel: Panel, row: Record) -> EstimateRow:
    """Return the coordinates of a row of metrics or tests: its panel with its number,
    conditions and method."""
    record: Record = {"panel": place}
    for key in CONDITIONS:
        record[key] = row[key]
    record |= panel.record
    record["method"] = row["method"]
    record["control"] = is_control(row["method"])
    return cast(EstimateRow, record)


def estimate_record(place: int, panel: Panel, row: Record, **about: Any) -> EstimateRow:
    """Return a row of metrics as an estimate: its coordinates, what is said `about` it,
    its numbers."""
    record = {**keys_of(place, panel, row), "average": "", **about}
    return cast(EstimateRow, record | number_record(row))


def in_place(frame: pd.DataFrame, panel: Panel) -> "pd.Series[bool]":
    """Tell which rows have the panel's subset and length; subset "" is all of a
    benchmark that has subsets."""
    length = frame["length"]
    subset = frame["subset"]
    is_subset = subset.eq(panel.subset or "")
    if not panel.subset and not is_subset.any():
        is_subset = subset.notna()
    of_length = length.isna() if panel.length is None else length.eq(panel.length)
    return (is_subset & of_length).fillna(False).astype(bool)


def _rows_of_panel(
    frame: pd.DataFrame, panel: Panel, but: str = ""
) -> "pd.Series[bool]":
    """Tell which rows agree with what the panel fixes, `but` for one key; "" and null:
    the key does not apply."""
    fixed = pd.Series(True, frame.index)
    for key, values in panel.fixed.items():
        if key in frame and key != but:
            fixed &= frame[key].isna() | frame[key].isin([*values, ""]).astype(bool)
    return fixed


def _no_rows_message(
    artifact: Artifact, panel: Panel, kind: str, frame: pd.DataFrame
) -> str:
    """Return the message if a panel has no row in a table."""
    wanted = {}
    if kind == "metrics":
        wanted["metric"] = artifact.metric
        wanted["evaluation set"] = artifact.evaluation_set
    wanted["start token"] = panel.start_token or ""
    wanted["methods"] = ", ".join(artifact.methods)
    said = [f"{key} {value}" for key, value in wanted.items() if value]
    keys = dict.fromkeys(
        (
            "unit",
            "start_token",
            "subset",
            "length",
            "reference",
            "evaluation_set",
            "metric",
            *panel.fixed,
        )
    )
    there = _list_values(frame[[key for key in keys if key in frame]])
    what = f"with {', '.join(said)}" if said else f"of {kind.replace('_', ' ')}"
    return f"no row {what}; there are: {there}"


def _list_values(frame: pd.DataFrame) -> str:
    """List each column with its distinct values, for an error message."""
    parts = []
    for column in frame.columns:
        values = []
        for value in frame[column].dropna().unique():
            values.append("''" if value == "" else str(value))
        parts.append(f"{column} {', '.join(sorted(values)) or 'none'}")
    return "; ".join(parts)


def number_record(row: Record | None) -> EstimateRow:
    """Return the record of a metrics row; empty if there is none."""
    keys = ("setting", "n_members", "n_nonmembers", "value", "low", "high", "marks")
    if row is None:
        none: Record = dict.fromkeys(keys)
        return cast(EstimateRow, none | {"setting": "", "marks": ""})
    return cast(EstimateRow, {key: row[key] for key in keys})


def records_of(frame: pd.DataFrame) -> list[Record]:
    """Return the frame's rows by column name."""
    records = []
    for row in frame.to_dict("records"):
        records.append({str(name): value for name, value in row.items()})
    return records


def estimate_rows(frame: pd.DataFrame) -> list[EstimateRow]:
    """Return the rows of a frame of estimates."""
    return cast(list[EstimateRow], records_of(frame))


WHOLE = ("length", "n_members", "n_nonmembers")


NUMBERS = ("low", "high", "sd", "difference", "p", "p_holm")


def long_frame(records: Sequence[Record | EstimateRow] | pd.DataFrame) -> pd.DataFrame:
    """Make a frame of records; numbers stay numbers, and whole ones whole, if some or
    all are missing."""
    frame = pd.DataFrame(records)
    types = {column: "Int64" for column in WHOLE if column in frame}
    types |= {column: "float64" for column in NUMBERS if column in frame}
    return frame.astype(types)


def for_the_best(frame: pd.DataFrame, by: Sequence[str]) -> pd.DataFrame:
    """Return the ends of intervals that pay for the choice of the best method of a
    group, controls aside."""
    groups = [frame[key] for key in by]
    is_method = ~frame["control"].astype(bool)
    methods = is_method.groupby(groups, dropna=False).transform("sum").clip(lower=1)
    value = frame["value"].astype(float)
    ends = {}
    for end in ("low", "high"):
        ends[end] = simultaneous(value, frame[end].astype(float), methods)
    return pd.DataFrame(ends)


def of_panels(frames: Iterable[pd.DataFrame], panels: Iterable[Panel]) -> pd.DataFrame:
    """Join the frames of several panels, each row with its panel."""
    named = []
    for frame, panel in zip(frames, panels, strict=True):
        named.append(frame.assign(**panel.record))
    return long_frame(pd.concat(named, ignore_index=True))


def in_print(frame: pd.DataFrame, names: Mapping[str, str]) -> pd.DataFrame:
    """Return the frame with its models and benchmarks as `names` calls them in
    print."""
    named = {}
    for key in frame.columns.intersection(["model", "benchmark"]):
        named[key] = frame[key].map(lambda slug: names.get(slug, slug))
    return frame.assign(**named)


def csv_text(frame: pd.DataFrame) -> str:
    """Write numbers in full (shortest form that reads back), booleans lower case,
    missing empty.

    A text that a spreadsheet would run as a formula, such as an id `=HYPERLINK(...)`,
    gets an apostrophe before it.
    """
    shown = frame.copy()
    for column, dtype in shown.dtypes.items():
        if pd.api.types.is_bool_dtype(dtype):
            shown[column] = shown[column].map({True: "true", False: "false"})
        elif not pd.api.types.is_numeric_dtype(dtype):
            shown[column] = shown[column].map(_no_formula)
    return str(shown.to_csv(index=False, lineterminator="\n"))


_NAMES = (
    "model", "benchmark", "subset", "base", "reference", "document", "id", "text_id",
    "title", "author",
)  # fmt: skip


def read_csv(path: Path) -> pd.DataFrame:
    """Read what `csv_text` wrote: a work called 1984 or a model called null has that
    name, and a missing value is empty."""
    names = dict.fromkeys(_NAMES, str)
    return pd.read_csv(path, dtype=names, keep_default_na=False, na_values=[""])


def _no_formula(cell: Any) -> Any:
    """Return the cell, after an apostrophe if it begins like a formula, not a negative
    number; as OWASP advises."""
    starts = ("=", "+", "-", "@", "\t", "\r")
    if not isinstance(cell, str) or not cell.startswith(starts):
        return cell
    is_number = re.fullmatch(r"-[\d.]+(e[+-]?\d+)?", cell)
    return cell if is_number else f"'{cell}"
