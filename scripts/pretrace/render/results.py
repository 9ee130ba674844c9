"""What a study produced, read from explicit paths, and the one way to select from it."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any

import pandas as pd

from pretrace.render.names import panel_label, place_label, where
from pretrace.render.registry import Artifact
from pretrace.runtime.errors import InputError
from pretrace.runtime.files import read_json, read_parquet

Panel = Mapping[str, Any]
Record = Mapping[str, Any]
"""A row of metrics or tests by column."""

Pair = tuple[str, str]

FREE_KEYS = ("unit", "view", "start_token", "draw", "reference")


@dataclass(frozen=True)
class Results:
    """Paths by (model, benchmark), or by benchmark for `benchmarks`; files are read once, when asked for.

    `store` is the folder of the passes' store files; `entries` are the benchmarks' registry entries by slug.
    """

    metrics: Mapping[Pair, Path] = field(default_factory=dict)
    tests: Mapping[Pair, Path] = field(default_factory=dict)
    scores: Mapping[Pair, Path] = field(default_factory=dict)
    benchmarks: Mapping[str, Path] = field(default_factory=dict)
    manifests: Mapping[Pair, Path] = field(default_factory=dict)
    store: Path | None = None
    entries: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)

    @cached_property
    def _frames(self) -> dict[Path, pd.DataFrame]:
        return {}

    def _read(self, what: str, paths: Mapping[Any, Path], key: Any) -> pd.DataFrame:
        if key not in paths:
            there = ", ".join(_slashed(known) for known in sorted(paths)) or "none"
            raise InputError(f"no {what} of {_slashed(key)} were given; there are: {there}")
        path = Path(paths[key])
        if path not in self._frames:
            self._frames[path] = read_parquet(path)
        return self._frames[path]

    def benchmark(self, benchmark: str) -> pd.DataFrame:
        return self._read("texts", self.benchmarks, benchmark)

    def entry(self, panel: Panel) -> Mapping[str, Any]:
        """The registry entry of a panel's benchmark."""
        if panel["benchmark"] not in self.entries:
            raise InputError(f"no registry entry of the benchmark {panel['benchmark']} was given")
        return self.entries[panel["benchmark"]]

    def is_placebo(self, panel: Panel) -> bool:
        """Whether both classes of the panel's benchmark are known to the model alike (`placebo: true`)."""
        return bool(self.entry(panel).get("placebo", False))

    def placebo_of(self, panel: Panel, panels: Sequence[Panel]) -> Panel | None:
        """The placebo among `panels` of the same model, length and source; None for a placebo itself."""
        if self.is_placebo(panel):
            return None
        for other in panels:
            same = all(other.get(key) == panel.get(key) for key in ("model", "length"))
            if same and self.is_placebo(other) and self.entry(other)["source"] == self.entry(panel)["source"]:
                return other
        return None

    def panels(self, artifact: Artifact) -> list[Panel]:
        """The artifact's panels, each with one subset ("" for none) and one length (None for none)."""
        return [place for panel in artifact["panels"] for place in self._expanded(panel)]

    def _expanded(self, panel: Panel) -> list[Panel]:
        pair = (panel.get("model"), panel["benchmark"])
        frame = self._read("metrics", self.metrics, pair) if pair in self.metrics else self.benchmark(pair[1])
        there = frame[["subset", "length"]].drop_duplicates().sort_values(["subset", "length"])
        places: list[Panel] = [
            {**panel, "subset": subset, "length": None if pd.isna(length) else int(length)}
            for subset, length in there.itertuples(index=False)
            if subset == panel.get("subset", subset) and ("length" not in panel or length == panel["length"])
        ]
        if len(places) > 1 and "label" in panel:
            return [{**place, "label": f"{panel['label']}{place_label(place)}"} for place in places]
        return places or [{"subset": "", "length": None, **panel}]

    def rows(self, artifact: Artifact, panel: Panel, *, what: str = "metrics") -> pd.DataFrame:
        """Metrics or tests of an artifact's metric and evaluation set on a panel, of every selection.

        Raises `InputError` where none is there, or where rows of one method differ in a key that the artifact
        does not fix.
        """
        paths = self.metrics if what == "metrics" else self.tests
        frame = self._read(what, paths, (panel["model"], panel["benchmark"]))
        metric, evaluation_set = artifact.get("metric", "auc"), artifact.get("evaluation_set", "all")
        chosen = _at(frame, artifact, panel)
        chosen = chosen[(chosen["metric"] == metric) & (chosen["evaluation_set"] == evaluation_set)]
        if "methods" in artifact:
            chosen = chosen[chosen["method"].isin(list(artifact["methods"]))]
        if chosen.empty and what == "metrics":
            raise InputError(_nothing(artifact, panel, frame, metric, evaluation_set))
        _check_unambiguous(chosen, artifact, panel)
        return chosen

    def selected(self, artifact: Artifact, panel: Panel, selection: str) -> dict[str, Record]:
        """The metrics row of each method; empty where the selection has none."""
        rows = self.rows(artifact, panel)
        rows = rows[rows["selection"] == selection]
        return _by(rows, "method", artifact, panel, selection)

    def grid(self, artifact: Artifact, panel: Panel, method: str) -> dict[str, Record]:
        """The metrics row of each setting of one method; raises where there is none."""
        rows = self.rows({**artifact, "methods": [method]}, panel)
        rows = rows[rows["selection"] == "grid"]
        if rows.empty:
            raise InputError(
                f"{where(artifact, panel)}: {method} has no grid rows; a run must score its grid"
            )
        return _by(rows, "setting", artifact, panel, "grid")

    def default_setting(self, artifact: Artifact, panel: Panel, method: str) -> str:
        """The method's default setting on that panel; raises where it has none."""
        rows = self.selected({**artifact, "methods": [method]}, panel, "default")
        if method not in rows:
            raise InputError(f"{where(artifact, panel)}: {method} has no row with selection 'default'")
        return str(rows[method]["setting"])

    def bootstrap_tests(self, artifact: Artifact, panel: Panel, baseline: str) -> dict[str, Record]:
        """Each method's paired-bootstrap test on held-out settings against a baseline; may be empty."""
        rows = self.rows(artifact, panel, what="tests")
        held_out = (rows["selection"] == "held_out") & (rows["test"] == "bootstrap")
        rows = rows[held_out & (rows["baseline"] == baseline)]
        return _by(rows, "method", artifact, panel, f"tests against {baseline}")

    def scores_of(self, artifact: Artifact, panel: Panel) -> pd.DataFrame:
        """Scores of the panel's labelled texts: the columns of the scores file and `label`."""
        frame = self._read("scores", self.scores, (panel["model"], panel["benchmark"]))
        frame = frame[_fixed(frame, artifact, panel)]
        if "methods" in artifact:
            frame = frame[frame["method"].isin(list(artifact["methods"]))]
        _check_unambiguous(frame, artifact, panel)
        texts = self.texts(artifact, panel)
        joined = frame.merge(texts[["text_id", "label"]], left_on="id", right_on="text_id", how="inner")
        return joined.drop(columns="text_id")

    def texts(self, artifact: Artifact, panel: Panel) -> pd.DataFrame:
        """The panel's labelled texts; raises where there are none."""
        texts = self.every_text(panel)
        labelled = texts[texts["label"].notna()]
        if labelled.empty:
            raise InputError(f"{where(artifact, panel)}: no text has a label")
        return labelled

    def every_text(self, panel: Panel) -> pd.DataFrame:
        """The panel's texts, unlabelled ones too; raises where there are none."""
        frame = self.benchmark(panel["benchmark"])
        texts = frame[_places(frame, panel)]
        if texts.empty:
            there = _listing(frame[["subset", "length"]])
            raise InputError(
                f"panel {panel_label(panel)}: the benchmark has no such text; there are: {there}"
            )
        return texts

    def manifest(self, panel: Panel) -> Any:
        """The manifest of the passes of a panel's model over its benchmark."""
        key = (panel["model"], panel["benchmark"])
        if key not in self.manifests:
            raise InputError(f"no passes of {_slashed(key)} were given")
        return read_json(self.manifests[key])


def _at(frame: pd.DataFrame, artifact: Artifact, panel: Panel) -> pd.DataFrame:
    return frame[_fixed(frame, artifact, panel) & _places(frame, panel)]


def _fixed(frame: pd.DataFrame, artifact: Artifact, panel: Panel) -> "pd.Series[bool]":
    """Rows that agree with what the artifact or panel fixes; "" and null mean that a key does not apply."""
    options = artifact.get("options", {})
    keep = frame["unit"] == options.get("unit", "text")
    keep &= frame["view"].isin([options.get("view", "original"), ""])
    keep &= frame["draw"].isna() | (frame["draw"] == options.get("draw", 0))
    start_token = panel.get("start_token", artifact.get("start_token"))
    if start_token is not None:
        keep &= frame["start_token"].isin([start_token, ""])
    references = panel.get("references", options.get("references"))
    if references is not None:
        keep &= frame["reference"].isin([*references, ""])
    return keep.fillna(False).astype(bool)


def _places(frame: pd.DataFrame, panel: Panel) -> "pd.Series[bool]":
    length = frame["length"]
    at_length = length.isna() if panel["length"] is None else length.eq(panel["length"])
    return (frame["subset"].eq(panel["subset"]) & at_length).fillna(False).astype(bool)


def _check_unambiguous(rows: pd.DataFrame, artifact: Artifact, panel: Panel) -> None:
    for key in FREE_KEYS:
        values = rows.groupby("method")[key].agg(lambda column: sorted(map(str, column.dropna().unique())))
        for method, found in values.items():
            if len(found) > 1:
                raise InputError(
                    f"{where(artifact, panel)}: {method} has rows of "
                    f"several {key}: {', '.join(found)}; name one {_WHERE_TO_FIX[key]}"
                )


_WHERE_TO_FIX = {
    "unit": "as options.unit",
    "view": "as options.view",
    "draw": "as options.draw",
    "reference": "under the panel's references or options.references",
    "start_token": "as start_token",
}


def _by(rows: pd.DataFrame, key: str, artifact: Artifact, panel: Panel, what: str) -> dict[str, Record]:
    """Rows by a column in which none may come twice."""
    twice = rows[key][rows[key].duplicated()]
    if not twice.empty:
        raise InputError(
            f"{where(artifact, panel)}: {what} has two rows of {twice.iloc[0]}; "
            "the file is not as evaluate writes it: delete it and run again"
        )
    return {str(row[key]): row for row in records_of(rows)}


def records_of(frame: pd.DataFrame) -> list[dict[str, Any]]:
    """The frame's rows by column name."""
    return [{str(name): value for name, value in row.items()} for row in frame.to_dict("records")]


def _nothing(artifact: Artifact, panel: Panel, frame: pd.DataFrame, metric: str, evaluation_set: str) -> str:
    keys = ["unit", "view", "start_token", "subset", "length", "evaluation_set", "metric"]
    wanted = f"metric {metric}, evaluation set {evaluation_set}"
    if "start_token" in artifact:
        wanted += f", start token {artifact['start_token']}"
    return (
        f"{where(artifact, panel)}: no row with {wanted}"
        f"{_methods_note(artifact)}; there are: {_listing(frame[keys])}"
    )


def _methods_note(artifact: Artifact) -> str:
    return f", methods {', '.join(artifact['methods'])}" if "methods" in artifact else ""


def _listing(frame: pd.DataFrame) -> str:
    """Each column with its distinct values, for an error message."""
    parts = []
    for column in frame.columns:
        values = [str(value) if value != "" else "''" for value in frame[column].dropna().unique()]
        parts.append(f"{column} {', '.join(sorted(values)) or 'none'}")
    return "; ".join(parts)


def _slashed(key: Any) -> str:
    return "/".join(key) if isinstance(key, tuple) else str(key)
