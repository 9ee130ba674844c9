"""A study's results, read from explicit paths, the one way to select from them, and
rows as records and frames."""

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from itertools import product
from pathlib import Path
from typing import Any, NamedTuple

import pandas as pd

from pretrace.benchmarks.slices import whole_numbers
from pretrace.evaluation.averages import (
    Record,
    averages_of,
    number,
    over_draws,
    test_record,
)
from pretrace.evaluation.grids import along, named_variant
from pretrace.evaluation.metrics import EACH, METRIC_KEYS, rows_like
from pretrace.evaluation.placebos import PLACEBO_KEYS
from pretrace.evaluation.significance import holm, simultaneous
from pretrace.methods.settings import written_parameters
from pretrace.questions.known import METHODS, is_control
from pretrace.render.artifact import Artifact, Panel
from pretrace.render.names import BLIND, PUBLISHED_TEST, join_words, method_label
from pretrace.runtime.errors import InputError
from pretrace.runtime.files import read_parquet

PairSlugs = tuple[str, str]

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
        if (
            rows.empty
            and panel.length is None
            and any(place.length for place in self.expand(panel))
        ):
            several = "this panel stands for every length"
            raise artifact.error(
                f"{several}: a renderer takes its panels from results.panels(artifact)",
                panel,
            )
        if rows.empty and kind != "tests":
            raise artifact.empty(_no_rows_message(artifact, panel, kind, frame), panel)
        for key, value in keys.items():
            rows = rows[rows[key].isin(value if isinstance(value, list) else [value])]
        if "reference" in rows:
            for what, own in (
                rows.groupby("method") if "method" in rows else [(kind, rows)]
            ):
                if own["reference"].nunique() > 1:
                    several = (
                        f"{what} has rows of several references: "
                        f"{', '.join(sorted(own['reference'].unique()))}"
                    )
                    raise artifact.error(
                        f"{several}; name one under the panel's references", panel
                    )
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
        if twice := records_of(rows[rows[key].duplicated()]):
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
        along_it = [
            method
            for method in artifact.order_methods(chosen)
            if parameter in written_parameters(chosen[method]["setting"])
        ]
        if not along_it:
            raise artifact.empty(
                f"no method that was scored here has a parameter '{parameter}'", panel
            )
        curves: list[tuple[str, str, Record]] = []
        for method in along_it:
            default = chosen[method]["setting"] if selection == "default" else None
            rows = along(self.grid(artifact, panel, method), parameter, method, default)
            curves += [(value, method, row) for value, row in rows]
        return curves + [
            ("", method, row)
            for method, row in chosen.items()
            if method not in along_it
        ]

    def like(self, kind: str, panel: Panel, row: Record) -> pd.DataFrame:
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
        entries = {
            panel.title_of(panel.benchmark): self.entries[panel.benchmark]
            for panel in panels
        }
        said = {
            name: entry["caution"]
            for name, entry in entries.items()
            if "caution" in entry
        }
        return [f"{name}: {caution.rstrip('.')}." for name, caution in said.items()]

    def draws_of(self, panel: Panel, method: str) -> list[int]:
        """Return the draws of shots that a method was evaluated in on a panel; none
        without shots, or of one draw."""
        name = method.split(";")[0]
        if panel.draw is not None or "shots" not in METHODS[name].defaults:
            return []
        frame = self.read("metrics", panel.pair)
        rows = frame[
            (frame["method"] == name)
            & (frame["selection"] == "default")
            & in_place(frame, panel)
        ]
        rows = rows[_rows_of_panel(rows, panel, "draw") & rows["draw"].notna()]
        variants = [named_variant(name, setting) for setting in rows["setting"]]
        return sorted(
            {
                int(draw)
                for draw, variant in zip(rows["draw"], variants, strict=True)
                if variant == method
            }
        )

    def panels(self, artifact: Artifact) -> list[Panel]:
        """Return the artifact's panels, each with one subset ("" for none) and one
        length (None for none).

        `options.across` maps one of view, draw, reference, separator to values; each
        panel is repeated for each value, but not for a view that could not be made.
        """
        expanded = [place for panel in artifact.panels for place in self.expand(panel)]
        unmade = {(lacking.benchmark, lacking.view) for lacking in self.unmade}
        for key, values in artifact.options.across.items():
            repeated = []
            for panel in expanded:
                made = [
                    value for value in values if (panel.benchmark, value) not in unmade
                ]
                repeated += [panel.replaced(**{key: value}) for value in made]
            if not repeated:
                raise artifact.empty(f"no {key} that it shows could be made")
            expanded = repeated
        return expanded

    def expand(self, panel: Panel) -> list[Panel]:
        """Expand a panel without a subset to the whole benchmark if that was evaluated,
        else to every subset."""
        evaluated = self.has("metrics", panel.pair)
        frame = (
            self.read("metrics", panel.pair)
            if evaluated
            else self.read("benchmarks", panel.benchmark)
        )
        there = (
            frame[["subset", "length"]]
            .drop_duplicates()
            .sort_values(["subset", "length"])
        )
        if panel.subset is not None:
            meant = (
                there["subset"].ne("")
                if panel.subset == EACH
                else there["subset"].eq(panel.subset)
            )
            there = there[meant]
        elif there["subset"].eq("").any():
            there = there[there["subset"] == ""]
        panels = []
        for subset, length in zip(
            there["subset"], whole_numbers(there["length"]), strict=True
        ):
            if panel.length in (length, None):
                panels.append(panel.replaced(subset=subset, length=length))
        if len(panels) > 1 and panel.label is not None:
            return [
                place.replaced(label=f"{panel.label}{place.place}") for place in panels
            ]
        return panels or [panel.replaced(subset=panel.subset or "")]


def of_set(rows: pd.DataFrame, artifact: Artifact) -> pd.DataFrame:
    """Return the rows of an artifact's evaluation set; where no text was drawn as a
    shot, there is `all` alone."""
    own = rows[rows["evaluation_set"] == artifact.evaluation_set]
    return own if len(own) else rows[rows["evaluation_set"] == "all"]


def _of_artifact(rows: pd.DataFrame, artifact: Artifact) -> pd.DataFrame:
    """Return the rows of metrics or tests of an artifact's metric, unit, evaluation set
    and methods."""
    rows = of_set(
        rows[
            (rows["metric"] == artifact.metric)
            & (rows["unit"] == artifact.options.unit)
        ],
        artifact,
    )
    rows = with_variants_named(rows)
    shown = [
        name in artifact.methods if artifact.methods else ";" not in name
        for name in rows["method"]
    ]
    rows = rows.loc[shown]
    return rows.sort_values(
        "selection", key=lambda column: column != "grid", kind="stable"
    )


def with_variants_named(rows: pd.DataFrame) -> pd.DataFrame:
    """Return rows of metrics or tests with variants named `method;parameter=value`, but
    in rows of the grid."""
    names = []
    for method, setting, selection in rows[
        ["method", "setting", "selection"]
    ].itertuples(index=False):
        names.append(
            method
            if selection == "grid"
            else named_variant(method, setting.split("|")[0])
        )
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
    options, panels = artifact.options, results.panels(artifact)
    records: list[Record] = []
    for (place, panel), metric in product(enumerate(panels), artifact.metrics):
        own = artifact.replaced(metric=metric)
        drawn = [panel.replaced(draw=draw) for draw in options.draws]
        for of_draw in drawn or [panel]:
            records += _tested_rows(own, results, place, of_draw, selections, placebos)
    if not records:
        raise artifact.empty(
            f"no method has a value at {join_words(selections)} settings"
        )
    if options.draws:
        records = over_draws(records, len(options.draws))
    records += averages_of(
        records, [panel.to_json() for panel in panels], options.average, options.blocks
    )
    frame = with_stars(long_frame(records))
    order = {
        method: place
        for place, method in enumerate(artifact.order_methods(frame["method"]))
    }
    return frame.sort_values(
        "method",
        key=lambda methods: methods.map(order),
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
) -> Iterator[Record]:
    """Yield a panel's estimates, each with its test against the baseline."""

    def tests_against(test: str, selection: str) -> dict[str, Record]:
        keys = {"test": test, "selection": selection, "baseline": artifact.baseline}
        return results.by("method", artifact, panel, "tests", **keys)

    tests = tests_against("bootstrap", "held_out") if artifact.baseline else {}
    published = (
        tests_against(PUBLISHED_TEST, "default")
        if artifact.options.published_test
        else {}
    )
    for selection in selections:
        for method, row in results.by(
            "method", artifact, panel, selection=selection
        ).items():
            test = test_record(tests.get(method) if selection == "held_out" else None)
            record = estimate_record(
                place, panel, row, selection=selection, metric=artifact.metric
            )
            record |= {"sd": None, **test, "star": False}
            if selection == "default" and method in published:
                record |= _published_test(row, published[method])
            yield record | (
                _among_placebos(results.like("placebos", panel, row))
                if placebos
                else {}
            )


def _among_placebos(placebos: pd.DataFrame) -> Record:
    """Return mean and SD of a row's placebos, its z and rank among them, and their
    number, else None."""
    names = {
        "mean": "placebo_mean",
        "sd": "placebo_sd",
        "z": "z",
        "rank": "rank",
        "placebos": "placebos",
    }
    real = next(
        (row for row in records_of(placebos) if not row["placebo"]),
        dict.fromkeys(names),
    )
    return {shown: number(real[key]) for key, shown in names.items()}


def _published_test(row: Record, test: Record) -> Record:
    """Return the p of the t-test that a paper's star probably is, and the marks of the
    row with that of a low p."""
    starred = test["difference"] > 0 and test["p"] < STAR_LEVEL
    marks = [*filter(None, row["marks"].split(";")), *[PUBLISHED_TEST] * starred]
    return {"p_as_published": test["p"], "marks": ";".join(sorted(marks))}


OVER_ALL_DRAWS = ("headline", "blind_audit")
"""Renderers that show the mean over all draws of shots (`beside_controls`); others show
one draw."""


def shots_notes(artifact: Artifact, results: Results) -> list[str]:
    """Say of methods that were evaluated in several draws of shots whether the first
    draw is shown, or the mean."""
    options = artifact.options
    if (
        "metrics" not in artifact.needs
        or "published" in artifact.needs
        or options.draws
    ):
        return []
    named = artifact.methods or ([options.method] if options.method else [])
    with_shots = [method for method in METHODS if "shots" in METHODS[method].defaults]
    several: dict[int, list[str]] = {}
    for panel in results.panels(artifact):
        for method in named or with_shots:
            draws = len(results.draws_of(panel, method))
            if draws > 1 and method_label(method) not in several.setdefault(draws, []):
                several[draws].append(method_label(method))
    shown = "mean over all" if artifact.renderer in OVER_ALL_DRAWS else "the first of"
    return [
        f"{join_words(labels)}: {shown} {draws} draws of shots."
        for draws, labels in several.items()
        if labels
    ]


def beside_controls(artifact: Artifact, results: Results) -> pd.DataFrame:
    """Return `estimates` at held-out settings, with each row's placebos and whether it
    beats the bag of words.

    Of methods with shots each row is the mean over the draws that were evaluated
    (`draws`, their number; else 1).
    """
    artifact = artifact.replaced(baseline=BLIND)
    frame = estimates(artifact, results, ["held_out"], placebos=True).assign(draws=1)
    panels = results.panels(artifact)
    rows = [
        _over_all_draws(artifact, results, panels[row["panel"]], row)
        for row in records_of(frame)
    ]
    frame = with_stars(long_frame(rows))
    return frame.assign(beats_blind=above_baseline(frame))


def _over_all_draws(
    artifact: Artifact, results: Results, panel: Panel, row: Record
) -> Record:
    """Return a method's row as the mean over all draws of shots, with its place among
    the placebos of one draw each."""
    draws = results.draws_of(panel, row["method"])
    if len(draws) < 2 or row["average"]:
        return row
    options = artifact.options.replaced(draws=draws, average="")
    one = artifact.replaced(
        panels=[panel], methods=[row["method"]], metric=row["metric"], options=options
    )
    [mean] = records_of(estimates(one, results, ["held_out"]))
    averaged = {key: mean[key] for key in mean.keys() - {"panel"}} | {
        "draws": len(draws)
    }
    if row["placebos"]:
        placebos = results.like(
            "placebos", panel, row | {"view": panel.view or "original"}
        )
        others = placebos.loc[placebos["placebo"].astype(bool), "value"]
        averaged["z"] = (mean["value"] - row["placebo_mean"]) / row["placebo_sd"]
        averaged["rank"] = 1 + int((others >= mean["value"]).sum())
    return row | averaged


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


def keys_of(place: int, panel: Panel, row: Record) -> Record:
    """Return the coordinates of a row of metrics or tests: its panel with its number,
    conditions and method."""
    about = {"method": row["method"], "control": is_control(row["method"])}
    return (
        {"panel": place} | {key: row[key] for key in CONDITIONS} | panel.record | about
    )


def estimate_record(place: int, panel: Panel, row: Record, **about: Any) -> Record:
    """Return a row of metrics as an estimate: its coordinates, what is said `about` it,
    its numbers."""
    return keys_of(place, panel, row) | {"average": "", **about} | number_record(row)


def in_place(frame: pd.DataFrame, panel: Panel) -> "pd.Series[bool]":
    """Tell which rows have the panel's subset and length; subset "" is all of a
    benchmark that has subsets."""
    length, subset = frame["length"], frame["subset"].eq(panel.subset or "")
    if not panel.subset and not subset.any():
        subset = frame["subset"].notna()
    of_length = length.isna() if panel.length is None else length.eq(panel.length)
    return (subset & of_length).fillna(False).astype(bool)


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
    wanted = (
        {"metric": artifact.metric, "evaluation set": artifact.evaluation_set}
        if kind == "metrics"
        else {}
    )
    wanted |= {
        "start token": panel.start_token or "",
        "methods": ", ".join(artifact.methods),
    }
    keys = (
        "unit",
        "start_token",
        "subset",
        "length",
        "reference",
        "evaluation_set",
        "metric",
        *panel.fixed,
    )
    said = [f"{key} {value}" for key, value in wanted.items() if value]
    there = _list_values(frame[[key for key in dict.fromkeys(keys) if key in frame]])
    what = f"with {', '.join(said)}" if said else f"of {kind.replace('_', ' ')}"
    return f"no row {what}; there are: {there}"


def _list_values(frame: pd.DataFrame) -> str:
    """List each column with its distinct values, for an error message."""
    parts = []
    for column in frame.columns:
        values = [
            str(value) if value != "" else "''"
            for value in frame[column].dropna().unique()
        ]
        parts.append(f"{column} {', '.join(sorted(values)) or 'none'}")
    return "; ".join(parts)


def number_record(row: Record | None) -> Record:
    """Return the record of a metrics row; empty if there is none."""
    keys = ("setting", "n_members", "n_nonmembers", "value", "low", "high", "marks")
    if row is None:
        return dict.fromkeys(keys) | {"setting": "", "marks": ""}
    return {key: row[key] for key in keys}


def records_of(frame: pd.DataFrame) -> list[Record]:
    """Return the frame's rows by column name."""
    return [
        {str(name): value for name, value in row.items()}
        for row in frame.to_dict("records")
    ]


def long_frame(records: Sequence[Record] | pd.DataFrame) -> pd.DataFrame:
    """Make a frame of records; numbers stay numbers, and whole ones whole, if some or
    all are missing."""
    frame = pd.DataFrame(records)
    types = dict.fromkeys(("length", "n_members", "n_nonmembers"), "Int64")
    types |= dict.fromkeys(
        ("low", "high", "sd", "difference", "p", "p_holm"), "float64"
    )
    return frame.astype(
        {column: dtype for column, dtype in types.items() if column in frame}
    )


def for_the_best(frame: pd.DataFrame, by: Sequence[str]) -> pd.DataFrame:
    """Return the ends of intervals that pay for the choice of the best method of a
    group, controls aside."""
    groups = [frame[key] for key in by]
    methods = (
        (~frame["control"].astype(bool))
        .groupby(groups, dropna=False)
        .transform("sum")
        .clip(lower=1)
    )
    value = frame["value"].astype(float)
    return pd.DataFrame(
        {
            end: simultaneous(value, frame[end].astype(float), methods)
            for end in ("low", "high")
        }
    )


def of_panels(frames: Iterable[pd.DataFrame], panels: Iterable[Panel]) -> pd.DataFrame:
    """Join the frames of several panels, each row with its panel."""
    named = [
        frame.assign(**panel.record)
        for frame, panel in zip(frames, panels, strict=True)
    ]
    return long_frame(pd.concat(named, ignore_index=True))


def in_print(frame: pd.DataFrame, names: Mapping[str, str]) -> pd.DataFrame:
    """Return the frame with its models and benchmarks as `names` calls them in
    print."""
    known = frame.columns.intersection(["model", "benchmark"])
    return frame.assign(
        **{key: frame[key].map(lambda slug: names.get(slug, slug)) for key in known}
    )


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


def _no_formula(cell: Any) -> Any:
    """Return the cell, after an apostrophe if it begins like a formula, not a negative
    number; as OWASP advises."""
    if not isinstance(cell, str) or not cell.startswith(
        ("=", "+", "-", "@", "\t", "\r")
    ):
        return cell
    return cell if re.fullmatch(r"-[\d.]+(e[+-]?\d+)?", cell) else f"'{cell}"
