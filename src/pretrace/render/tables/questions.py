"""Tables of answers to questions, over documents: DE-COP tables 1, 3, 4, 11 and 12."""

from collections.abc import Iterable, Sequence
from typing import Any

import pandas as pd

from pretrace.benchmarks.audit_design import FEWEST_DOCUMENTS
from pretrace.evaluation.averages import (
    Record,
    averages_of,
    difference,
    estimate,
    group_records,
)
from pretrace.evaluation.documents import MEAN_SCORE
from pretrace.evaluation.grids import named_variant
from pretrace.evaluation.metrics import ACCURACIES
from pretrace.methods import parse_setting
from pretrace.questions.answering import OPTION_LETTERS
from pretrace.questions.calibration import DELTAS, MEANS, RANGE
from pretrace.questions.known import QUESTION_METHODS, is_control
from pretrace.render.artifact import Artifact, Panel
from pretrace.render.names import (
    CALIBRATION_LABELS,
    CLASSES,
    marked_label,
    method_label,
)
from pretrace.render.phrases import (
    DASHES,
    INTERVALS,
    conditions,
    multiplicity_note,
    without_controls,
)
from pretrace.render.results import (
    STAR_LEVEL,
    Results,
    corrected,
    estimate_record,
    keys_of,
    long_frame,
    number_record,
    of_panels,
    records_of,
)
from pretrace.render.tables.table import (
    Cell,
    Table,
    as_printed,
    best,
    by_method,
    cell_of,
    p_text,
    rows_of,
    table_of,
)

SHOWN_ACCURACIES = [*ACCURACIES, "gap"]


def accuracy_table(artifact: Artifact, results: Results) -> Table:
    """Lay out a row a question method and setting: each panel's accuracy of members, of
    non-members, and the gap.

    Bold is the widest gap. `options.average: panel` adds the means over the panels.
    """
    panels = results.panels(artifact)
    records = [
        row
        for place, panel in enumerate(panels)
        for row in _accuracies(artifact, results, panel, place)
    ]
    if not records:
        raise artifact.empty("its panels have no answers to questions")
    records.sort(key=_order)
    average, given = artifact.options.average, [panel.to_json() for panel in panels]
    averages = averages_of(records, given, average, by=("method", "setting"))
    frame = long_frame([*records, *averages]).assign(sd=None)
    gap = (frame["metric"] == "gap") & (as_printed(frame) > 0)
    frame["bold"] = best(frame, ["panel", "average", "metric"]) & gap
    blocks = by_method(
        frame, panels, SHOWN_ACCURACIES, label=setting_label, by=("method", "setting")
    )
    notes = [
        conditions(artifact, records, INTERVALS, SHOWN_ACCURACIES),
        "Gap: members minus non-members; bold is the widest. Chance is not a fixed "
        "share: the controls show how much the options give away without a model.",
        f"Average: mean over the {average.replace('panel', 'column')}s, without an "
        "interval." * bool(averages),
        " ".join([*without_controls(frame["method"]), *results.cautions(panels)]),
    ]
    return table_of(artifact, blocks, notes, frame)


def _accuracies(
    artifact: Artifact, results: Results, panel: Panel, place: int
) -> Iterable[Record]:
    """Yield the accuracies of each method and setting, and their difference as the
    metric `gap`."""
    keys: dict[str, Any] = {"selection": "grid", "method": [*QUESTION_METHODS]}
    rows = [
        results.rows(artifact.replaced(metric=metric), panel, **keys)
        for metric in ACCURACIES
    ]
    for own in group_records(records_of(pd.concat(rows)), "method", "setting"):
        about = {"selection": "grid", "star": False}
        named = [
            row | {"method": named_variant(row["method"], row["setting"])}
            for row in own
        ]
        shown = [
            estimate_record(place, panel, row, **about, metric=row["metric"])
            for row in named
        ]
        yield from shown
        if len(own) == len(ACCURACIES):
            by_metric = {row["metric"]: estimate(row) for row in own}
            value, low, high = difference(*(by_metric[metric] for metric in ACCURACIES))
            gap = {
                "metric": "gap",
                "value": value,
                "low": low,
                "high": high,
                "marks": "",
            }
            yield shown[0] | gap | dict.fromkeys(("n_members", "n_nonmembers"))


def _order(record: Record) -> tuple[Any, ...]:
    """Order rows by the registry of methods, controls last; a method comes before its
    variants."""
    method = record["method"].split(";")[0]
    values = [str(value) for value in parse_setting(method, record["setting"]).values()]
    return (
        is_control(method),
        list(QUESTION_METHODS).index(method),
        record["method"] != method,
        values,
    )


def setting_label(row: Record) -> str:
    """Name a question method, with the number of tokens that its setting gives, if
    any."""
    method, label = row["method"].split(";")[0], marked_label(row["method"])
    given = (
        parse_setting(method, row["setting"]).get("k")
        if method in QUESTION_METHODS
        else None
    )
    return f"{label}, {given} tokens given" if given else label


P_VALUE = "p_value"


def welch_table(artifact: Artifact, results: Results) -> Table:
    """Lay out a row a method, default settings: each panel's `options.metrics`, and p
    of the difference of mean scores.

    p is that of one test; a star says that it holds Holm's correction over the panel's
    methods.
    """
    panels = results.panels(artifact)
    metrics = [*artifact.options.metrics, P_VALUE]
    records: list[Record] = []
    for place, panel in enumerate(panels):
        records += _tested_rows(artifact, results, panel, place, metrics[:-1])
    order = artifact.order_methods(row["method"] for row in records)
    frame = long_frame(sorted(records, key=lambda row: order.index(row["method"])))
    tested = frame[frame["metric"] == P_VALUE]
    frame["p_holm"] = corrected(tested, ("panel",), p="value").reindex(frame.index)
    frame["star"] = frame["p_holm"] <= STAR_LEVEL
    notes = [
        conditions(
            artifact,
            records,
            f"Default settings. {INTERVALS if len(metrics) > 1 else DASHES}",
            metrics,
        ),
        "p: Welch's t-test of the mean scores of members' and of non-members' "
        "documents (two-sided, uncorrected); * where Holm's correction over the "
        f"methods leaves p ≤ {STAR_LEVEL:g}. None where every document has the same "
        "score. The CSV has the differences, in each method's own unit, with their "
        "intervals.",
        *multiplicity_note(len(panels), "panel"),
        " ".join([*without_controls(order), *results.cautions(panels)]),
    ]
    return table_of(artifact, by_method(frame, panels, metrics), notes, frame)


def de_cop_lines(frame: pd.DataFrame) -> list[str]:
    """Return of each model and benchmark of `de_cop_table1`'s data what DE-COP found,
    in words, for a terminal."""
    lines = []
    for (model, benchmark), own in frame.groupby(["model", "benchmark"], sort=False):
        aucs = own[own["metric"] == "auc"].set_index("method")["value"].dropna()
        if "de_cop" not in aucs:
            continue
        tests = own[own["metric"] == P_VALUE].set_index("method")["value"].dropna()
        p = tests.get("de_cop")
        told = (
            f"no p: it takes {FEWEST_DOCUMENTS} books of each class"
            if p is None
            else f"p = {p_text(p)}"
        )
        blind = [
            f"{method_label(name)} {aucs[name]:.2f}"
            for name in aucs.index
            if is_control(name)
        ]
        lines.append(
            f"{model} on {benchmark}: DE-COP ranks a book in question above one that "
            f"the model cannot have read in {aucs['de_cop']:.0%} of pairs ({told})"
            + f"; without a model: {', '.join(blind)}" * bool(blind)
            + ". One half is chance."
        )
        if any(
            tests.get(name, 1) <= STAR_LEVEL for name in tests.index if is_control(name)
        ):
            lines[-1] += " The options alone tell the books apart, so nothing follows."
    return lines


def _tested_rows(
    artifact: Artifact,
    results: Results,
    panel: Panel,
    place: int,
    metrics: Sequence[str],
) -> Iterable[Record]:
    """Yield the metrics of each method, and its test of the difference of means; one
    without a test has no p."""
    for metric in metrics:
        chosen = results.by(
            "method", artifact.replaced(metric=metric), panel, selection="default"
        )
        for row in chosen.values():
            yield estimate_record(place, panel, row, metric=metric, star=False)
    tested = results.by(
        "method", artifact.replaced(metric=MEAN_SCORE), panel, "tests", test="welch"
    )
    scored = results.by(
        "method", artifact.replaced(metric="auc"), panel, selection="default"
    )
    for method, row in (scored | tested).items():
        test = tested.get(method, {})
        numbers = {key: test.get(key) for key in ("difference", "low", "high")} | {
            "p_holm": None
        }
        about = {
            "average": "",
            "metric": P_VALUE,
            **number_record(None),
            "setting": row["setting"],
        }
        yield (
            keys_of(place, panel, row)
            | about
            | numbers
            | {"value": test.get("p"), "star": False}
        )


def calibration_table(artifact: Artifact, results: Results) -> Table:
    """Lay out a row a panel, class and calibration: mean probability of each letter,
    what is added, share in range."""
    panels = results.panels(artifact)
    frames, blocks = [], []
    for panel in panels:
        own = _calibrations(artifact, results, panel)
        frames.append(own)
        rows = (
            (
                f"{row['class']}, {CALIBRATION_LABELS[row['calibration']]}",
                _calibration_cells(row),
                False,
            )
            for row in records_of(own)
        )
        blocks += rows_of(panel.name, rows, "Documents")
    notes = [
        "In range: every letter's mean probability over the document's answers lies "
        f"within {RANGE[0]:g} and {RANGE[1]:g}. Brackets hold 95 % intervals of a "
        "share (Wilson). Added: mean over documents; cross-fitted, each gets what the "
        "non-members of other folds say. Longest option and odd one out choose without "
        "probabilities and are not shown here; their accuracies are next to DE-COP's.",
        *results.cautions(panels),
    ]
    return table_of(artifact, blocks, notes, of_panels(frames, panels))


def _calibrations(artifact: Artifact, results: Results, panel: Panel) -> pd.DataFrame:
    """Return a row a class and calibration."""
    table = results.rows(artifact, panel, "letters")
    table = table[table["label"].notna() & (table["document"] == "")]
    if not table["label"].eq(0).any():
        raise artifact.empty("no clean document", panel)
    calibrations = pd.Categorical(table["calibration"], list(CALIBRATION_LABELS))
    records = []
    for _, own in table.groupby(["label", calibrations], observed=True):
        values = own.set_index(["quantity", "letter"])["value"]
        (share,) = records_of(own[own["quantity"] == "in_range"])
        records.append(
            {
                "class": CLASSES[int(own["label"].iloc[0])],
                "calibration": own["calibration"].iloc[0],
            }
            | dict(
                zip(MEANS, values["letter_probability"][[*OPTION_LETTERS]], strict=True)
            )
            | dict(zip(DELTAS, values["letter_added"][[*OPTION_LETTERS]], strict=True))
            | {"documents": share["n"], "in_range": round(share["value"] * share["n"])}
            | {key: share[key] for key in ("value", "low", "high")}
        )
    return pd.DataFrame(records)


def _calibration_cells(record: Record) -> Iterable[tuple[tuple[str, str], Cell]]:
    plain = record["calibration"] == "none"
    for letter, mean in zip(OPTION_LETTERS, MEANS, strict=True):
        yield ("mean probability", letter), Cell(record[mean])
    for letter, delta in zip(OPTION_LETTERS, DELTAS, strict=True):
        yield ("added", letter), Cell() if plain else Cell(record[delta], signed=True)
    yield (
        ("in range", "documents"),
        Cell(words=f"{record['in_range']} of {record['documents']}"),
    )
    yield ("in range", "share"), cell_of(record)
