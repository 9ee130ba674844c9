"""What a study produced, read from explicit paths, and the one way to select from it."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any

import pandas as pd

from pretrace.evaluation.evaluate import KEYS as CURVE_KEYS
from pretrace.render.names import panel_label, place_label, where
from pretrace.render.registry import Artifact
from pretrace.render.rows import (
    Panel,
    Record,
    by,
    check_unambiguous,
    evaluation_set_of,
    fixed,
    is_meant,
    listing,
    nothing,
    number,
    of_methods,
    places,
    records_of,
    with_variants,
)
from pretrace.runtime.errors import InputError
from pretrace.runtime.files import read_json, read_parquet

Pair = tuple[str, str]


@dataclass(frozen=True)
class Results:
    """Paths by (model, benchmark), by benchmark for `benchmarks` and `prefixes`, by model for `training`.

    Files are read once, when asked for. `entries` are the benchmarks' registry entries by slug.
    """

    metrics: Mapping[Pair, Path] = field(default_factory=dict)
    tests: Mapping[Pair, Path] = field(default_factory=dict)
    placebos: Mapping[Pair, Path] = field(default_factory=dict)
    estimates: Mapping[Pair, Path] = field(default_factory=dict)
    curves: Mapping[Pair, Path] = field(default_factory=dict)
    benchmarks: Mapping[str, Path] = field(default_factory=dict)
    manifests: Mapping[Pair, Path] = field(default_factory=dict)
    times: Mapping[Pair, Path] = field(default_factory=dict)
    audit: Mapping[Pair, Path] = field(default_factory=dict)
    training: Mapping[str, Path] = field(default_factory=dict)
    published: Mapping[str, Path] = field(default_factory=dict)
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

    def every_row(self, pair: Pair, what: str = "metrics") -> pd.DataFrame:
        """All metrics or tests of a (model, benchmark)."""
        return self._read(what, self.metrics if what == "metrics" else self.tests, pair)

    def loss_curve(self, model: str) -> pd.DataFrame:
        """The columns step, tokens, loss, heldout_loss of a controlled model's training."""
        return self._read("loss curve", self.training, model)

    def audit_of(self, panel: Panel) -> pd.DataFrame:
        """The columns of `evaluation.audit`, of a panel's model and benchmark."""
        return self._read("audit", self.audit, (panel["model"], panel["benchmark"]))

    def estimates_of(
        self, artifact: Artifact, panel: Panel, *quantities: str, hint: str = ""
    ) -> pd.DataFrame:
        """A panel's rows of `evaluation.estimates`, of some quantities and one paraphraser; raises if none."""
        frame = self._read("estimates", self.estimates, (panel["model"], panel["benchmark"]))
        rows = frame[frame["quantity"].isin(quantities)]
        rows = rows[places(rows, panel)]
        named = [panel["reference"]] if "reference" in panel else panel.get("references")
        if named is not None:
            rows = rows[rows["reference"].isin([*named, ""])]
        what = " and ".join(quantities).replace("_", " ")
        if rows.empty:
            raise InputError(f"{where(artifact, panel)}: {hint or f'there is no {what}'}")
        there = sorted(rows["reference"].unique())
        if len(there) > 1:
            raise InputError(
                f"{where(artifact, panel)}: there is {what} of several paraphrasers: {', '.join(there)}; name one "
                "under the panel's references"
            )
        return rows

    def curve_of(self, artifact: Artifact, panel: Panel, row: Record, curve: str) -> pd.DataFrame:
        """The points of a metrics row's curve (`evaluation.curves`); raises where there are none."""
        frame = self._read("curves", self.curves, (panel["model"], panel["benchmark"]))
        frame = frame[frame["curve"] == curve]
        for key in CURVE_KEYS:
            frame = frame[frame[key].isna() if pd.isna(row[key]) else frame[key].eq(row[key]).fillna(False)]
        if frame.empty:
            raise InputError(
                f"{where(artifact, panel)}: there is no {curve} of {row['method']} at setting '{row['setting']}'; its "
                "scores are all equal"
            )
        return frame

    def token_curves_of(self, artifact: Artifact, panel: Panel, setting: str) -> pd.DataFrame:
        """The curves of a panel's surprising tokens (`evaluation.tokens`); raises where there are none."""
        frame = self._read("curves", self.curves, (panel["model"], panel["benchmark"]))
        frame = frame[frame["curve"].isin(["share", "token", "mean"]) & frame["setting"].eq(setting)]
        frame = frame[places(frame, panel) & fixed(frame, artifact, panel)]
        if frame.empty:
            raise InputError(f"{where(artifact, panel)}: there are no tokens with {setting}")
        return frame

    def cautions(self, panels: Sequence[Panel]) -> list[str]:
        """What the benchmarks' entries say must stand under every table and figure of their documents."""
        entries = {panel["benchmark"]: self.entry(panel) for panel in panels}
        return [
            f"{name}: {entry['caution'].rstrip('.')}."
            for name, entry in entries.items()
            if "caution" in entry
        ]

    def entry(self, panel: Panel) -> Mapping[str, Any]:
        """The registry entry of a panel's benchmark."""
        if panel["benchmark"] not in self.entries:
            raise InputError(f"no registry entry of the benchmark {panel['benchmark']} was given")
        return self.entries[panel["benchmark"]]

    def placebos_of(self, panel: Panel, row: Record) -> pd.DataFrame:
        """The rows of `evaluation.placebos` beside a metrics row of a panel; none where it has no placebos."""
        pair = (panel["model"], panel["benchmark"])
        if pair not in self.placebos:
            return pd.DataFrame()
        rows = self._read("placebos", self.placebos, pair)
        rows = rows[places(rows, panel)]
        for key in ("method", "view", "start_token", "reference", "evaluation_set", "selection", "metric"):
            rows = rows[rows[key] == row[key]]
        return rows

    def among_placebos(self, panel: Panel, row: Record) -> dict[str, Any]:
        """Mean and standard deviation of a row's placebos, its z and rank among them, and their number, else None."""
        rows = records_of(self.placebos_of(panel, row))
        names = {"mean": "placebo_mean", "sd": "placebo_sd", "z": "z", "rank": "rank", "placebos": "placebos"}
        real = next((one for one in rows if not one["placebo"]), dict.fromkeys(names))
        return {shown: number(real[key]) for key, shown in names.items()}

    def panels(self, artifact: Artifact) -> list[Panel]:
        """The artifact's panels, each with one subset ("" for none) and one length (None for none).

        `options.across` maps one of view, draw, reference, separator to the values for which each panel stands.
        """
        across = artifact.get("options", {}).get("across", {})
        expanded = [place for panel in artifact["panels"] for place in self._expanded(panel)]
        for key, values in across.items():
            expanded = [{**panel, key: value} for panel in expanded for value in values]
        return expanded

    def _expanded(self, panel: Panel) -> list[Panel]:
        pair = (panel.get("model"), panel["benchmark"])
        frame = self._read("metrics", self.metrics, pair) if pair in self.metrics else self.benchmark(pair[1])
        there = frame[["subset", "length"]].drop_duplicates().sort_values(["subset", "length"])
        found: list[Panel] = [
            {**panel, "subset": subset, "length": None if pd.isna(length) else int(length)}
            for subset, length in there.itertuples(index=False)
            if is_meant(subset, panel, set(there["subset"])) and panel.get("length", length) in (length, None)
        ]
        if len(found) > 1 and "label" in panel:
            return [{**place, "label": f"{panel['label']}{place_label(place)}"} for place in found]
        return found or [{"length": None, **panel, "subset": panel.get("subset", "")}]

    def rows(self, artifact: Artifact, panel: Panel, *, what: str = "metrics") -> pd.DataFrame:
        """Metrics or tests of an artifact's metric and evaluation set on a panel, of every selection, with `benchmark`.

        A method whose parameters outside its grid are off their default is called `method;parameter=value`,
        but in rows of the grid, where each setting stands for itself. Raises `InputError` where none is there,
        or where rows of one method differ in a key that the artifact does not fix.
        """
        frame = self.every_row((panel["model"], panel["benchmark"]), what)
        metric = artifact.get("metric", "auc")
        chosen = frame[(frame["metric"] == metric) & places(frame, panel)]
        evaluation_set = evaluation_set_of(artifact, chosen["evaluation_set"].unique())
        chosen = chosen[chosen["evaluation_set"] == evaluation_set].assign(benchmark=panel["benchmark"])
        chosen = chosen[fixed(chosen, artifact, panel)]
        grid = chosen["selection"] == "grid"
        chosen = of_methods(pd.concat([chosen[grid], with_variants(chosen[~grid])]), artifact)
        if chosen.empty and what == "metrics":
            raise InputError(nothing(artifact, panel, frame, metric, evaluation_set))
        check_unambiguous(chosen, artifact, panel)
        return chosen

    def selected(self, artifact: Artifact, panel: Panel, selection: str) -> dict[str, Record]:
        """The metrics row of each method; empty where the selection has none."""
        rows = self.rows(artifact, panel)
        rows = rows[rows["selection"] == selection]
        return by(rows, "method", artifact, panel, selection)

    def grid(self, artifact: Artifact, panel: Panel, method: str) -> dict[str, Record]:
        """The metrics row of each setting of one method, or of a variant's; raises where there is none."""
        rows = self.rows({**artifact, "methods": [method.split(";")[0]]}, panel)
        rows = rows[rows["selection"] == "grid"]
        if rows.empty:
            raise InputError(
                f"{where(artifact, panel)}: {method} has no grid rows; a run must score its grid"
            )
        return by(rows, "setting", artifact, panel, "grid")

    def default_setting(self, artifact: Artifact, panel: Panel, method: str) -> str:
        """The method's default setting on that panel; raises where it has none."""
        rows = self.selected({**artifact, "methods": [method]}, panel, "default")
        if method not in rows:
            raise InputError(f"{where(artifact, panel)}: {method} has no row with selection 'default'")
        return str(rows[method]["setting"])

    def bootstrap_tests(self, artifact: Artifact, panel: Panel, baseline: str) -> dict[str, Record]:
        """Each method's paired-bootstrap test on held-out settings against a baseline; may be empty."""
        return self._held_out_tests(artifact, panel, "bootstrap", baseline)

    def permutation_tests(self, artifact: Artifact, panel: Panel) -> dict[str, Record]:
        """Each method's permutation test on held-out settings; empty where the benchmark is not `randomised`."""
        return self._held_out_tests(artifact, panel, "permutation", "chance")

    def _held_out_tests(
        self, artifact: Artifact, panel: Panel, test: str, baseline: str
    ) -> dict[str, Record]:
        rows = self.rows(artifact, panel, what="tests")
        held_out = (rows["selection"] == "held_out") & (rows["test"] == test)
        rows = rows[held_out & (rows["baseline"] == baseline)]
        return by(rows, "method", artifact, panel, f"tests against {baseline}")

    def every_text(self, panel: Panel) -> pd.DataFrame:
        """The panel's texts, unlabelled ones too; raises where there are none."""
        frame = self.benchmark(panel["benchmark"])
        texts = frame[places(frame, panel)]
        if texts.empty:
            there = listing(frame[["subset", "length"]])
            raise InputError(
                f"panel {panel_label(panel)}: the benchmark has no such text; there are: {there}"
            )
        return texts

    def has_passes(self, panel: Panel) -> bool:
        return (panel["model"], panel["benchmark"]) in self.manifests

    def times_of(self, panel: Panel) -> list[Record]:
        """What asking a panel's model took, by task, setting, subset and length; empty where nobody timed it."""
        key = (panel["model"], panel["benchmark"])
        return list(read_json(self.times[key])) if key in self.times else []

    def manifest(self, panel: Panel) -> Any:
        """The manifest of the passes of a panel's model over its benchmark."""
        key = (panel["model"], panel["benchmark"])
        if key not in self.manifests:
            raise InputError(f"no passes of {_slashed(key)} were given")
        return read_json(self.manifests[key])


def _slashed(key: Any) -> str:
    return "/".join(key) if isinstance(key, tuple) else str(key)
