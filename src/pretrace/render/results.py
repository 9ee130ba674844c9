"""A study's results, read from explicit paths, and the one way to select from them."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NamedTuple

import pandas as pd

from pretrace.benchmarks.subsets_and_lengths import whole_numbers
from pretrace.evaluation.averages import Record
from pretrace.evaluation.method_settings import along, named_variant
from pretrace.evaluation.metrics import EACH, METRIC_KEYS, rows_like
from pretrace.evaluation.placebos import PLACEBO_KEYS
from pretrace.methods.settings import written_parameters
from pretrace.questions.answering import PROBABILITIES, WITHOUT_TEXT
from pretrace.questions.method_facts import METHODS, is_question
from pretrace.render.artifact import Artifact, PairSlugs, Panel
from pretrace.render.frames import records_of
from pretrace.render.names import method_label
from pretrace.runtime.errors import InputError
from pretrace.runtime.files import read_parquet


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
    _frames: dict[Path, pd.DataFrame] = field(default_factory=dict)

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
        curves = []
        level = []
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
            label = method_label(str(task))
            asked = f"{len(rows):,} answers to {label} {setting}".strip()
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
