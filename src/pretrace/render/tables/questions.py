"""Tables of answers to questions, over documents: DE-COP tables 1, 3, 4, 11 and 12."""

import math
from collections.abc import Iterable, Sequence
from typing import Any

import pandas as pd

from pretrace.evaluation.averages import (
    Record,
    averages_of,
    difference,
    estimate,
    group_records,
)
from pretrace.evaluation.documents import MEAN_SCORE
from pretrace.evaluation.method_settings import named_variant
from pretrace.evaluation.metrics import ACCURACIES, FEWEST_DOCUMENTS
from pretrace.methods import parse_setting
from pretrace.questions.answering import OPTION_LETTERS
from pretrace.questions.calibration import DELTAS, MEANS, RANGE
from pretrace.questions.method_facts import QUESTION_METHODS, is_control
from pretrace.render.artifact import Artifact, Panel
from pretrace.render.estimates import STAR_LEVEL, corrected, estimate_record, keys_of
from pretrace.render.frames import long_frame, number_record, of_panels, records_of
from pretrace.render.names import (
    CALIBRATION_LABELS,
    CLASSES,
    marked_label,
    method_label,
)
from pretrace.render.phrases import (
    brackets_and_dashes,
    conditions,
    multiplicity_note,
    without_controls,
)
from pretrace.render.results import Results
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
    records: list[Record] = []
    for place, panel in enumerate(panels):
        records += _accuracies(artifact, results, panel, place)
    if not records:
        raise artifact.empty("its panels have no answers to questions")
    records.sort(key=_order)
    average = artifact.options.average
    by = ("method", "setting")
    averages = averages_of(records, panels, average, by=by)
    frame = long_frame([*records, *averages]).assign(sd=None)
    single = frame[frame["average"] == ""]
    is_gap = (frame["metric"] == "gap") & (as_printed(frame) > 0)
    frame["bold"] = best(frame, ["panel", "average", "metric"]) & is_gap
    blocks = by_method(frame, panels, SHOWN_ACCURACIES, label=setting_label, by=by)
    notes = [
        conditions(artifact, single, brackets_and_dashes(single), SHOWN_ACCURACIES),
        "Gap: members minus non-members; bold is the widest. Chance is not a fixed "
        "share: the controls show how much the options give away without a model.",
    ]
    if averages:
        over = average.replace("panel", "column")
        notes.append(f"Average: mean over the {over}s, without an interval.")
    cautions = [*without_controls(frame["method"]), *results.cautions(panels)]
    notes.append(" ".join(cautions))
    return table_of(artifact, blocks, notes, frame)


def _accuracies(
    artifact: Artifact, results: Results, panel: Panel, place: int
) -> Iterable[Record]:
    """Yield the accuracies of each method and setting, and their difference as the
    metric `gap`."""
    keys: dict[str, Any] = {"selection": "grid", "method": [*QUESTION_METHODS]}
    rows = []
    for metric in ACCURACIES:
        own = artifact.replaced(metric=metric)
        rows += records_of(results.rows(own, panel, **keys))
    for of_setting in group_records(rows, "method", "setting"):
        shown = {}
        for row in of_setting:
            variant = named_variant(row["method"], row["setting"])
            named = row | {"method": variant}
            about = {"selection": "grid", "star": False, "metric": row["metric"]}
            shown[row["metric"]] = estimate_record(place, panel, named, **about)
        yield from shown.values()
        if len(shown) == len(ACCURACIES):
            members, nonmembers = ACCURACIES
            yield _gap(shown[members], shown[nonmembers])


def _gap(members: Record, nonmembers: Record) -> Record:
    """Return how much higher the accuracy of members is, as a row of the metric
    `gap`."""
    value, low, high = difference(estimate(members), estimate(nonmembers))
    return members | {
        "metric": "gap",
        "value": value,
        "low": low,
        "high": high,
        "marks": "",
        "n_members": None,
        "n_nonmembers": None,
    }


def _order(record: Record) -> tuple[Any, ...]:
    """Order rows by the registry of methods, controls last; a method comes before its
    variants."""
    method = record["method"].split(";")[0]
    setting = parse_setting(method, record["setting"])
    values = [*map(str, setting.values())]
    place = list(QUESTION_METHODS).index(method)
    return is_control(method), place, record["method"] != method, values


def setting_label(row: Record) -> str:
    """Name a question method, with the number of tokens that its setting gives, if
    any."""
    method = row["method"].split(";")[0]
    label = marked_label(row["method"])
    if method not in QUESTION_METHODS:
        return label
    given = parse_setting(method, row["setting"]).get("k")
    return f"{label}, {given} tokens given" if given else label


P_VALUE = "p_value"


def welch_table(artifact: Artifact, results: Results) -> Table:
    """Lay out a row a method, default settings: each panel's `options.metrics`, and p
    of the difference of mean scores.

    p is that of one test; a star says that it holds Holm's correction over the panel's
    methods.
    """
    panels = results.panels(artifact)
    shown = artifact.options.metrics
    metrics = [*shown, P_VALUE]
    records: list[Record] = []
    for place, panel in enumerate(panels):
        records += _tested_rows(artifact, results, panel, place, shown)
    order = artifact.order_methods(row["method"] for row in records)
    records.sort(key=lambda row: order.index(row["method"]))
    frame = long_frame(records)
    tested = frame[frame["metric"] == P_VALUE]
    frame["p_holm"] = corrected(tested, ("panel",), p="value").reindex(frame.index)
    frame["star"] = frame["p_holm"] <= STAR_LEVEL
    estimated = frame[frame["metric"] != P_VALUE]
    more = f"Default settings. {brackets_and_dashes(estimated)}"
    notes = [
        conditions(artifact, frame, more, metrics),
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
        values = own.dropna(subset="value").set_index("method")
        aucs = values.loc[values["metric"] == "auc", "value"]
        if "de_cop" not in aucs:
            continue
        tests = values.loc[values["metric"] == P_VALUE, "value"]
        tested = f"no p: it takes {FEWEST_DOCUMENTS} books of each class"
        if "de_cop" in tests:
            tested = f"p = {p_text(tests['de_cop'])}"
        blind = []
        for name in filter(is_control, aucs.index):
            blind.append(f"{method_label(name)} {aucs[name]:.2f}")
        line = (
            f"{model} on {benchmark}: DE-COP ranks a book in question above one that "
            f"the model cannot have read in {aucs['de_cop']:.0%} of pairs ({tested})"
        )
        if blind:
            line += f"; without a model: {', '.join(blind)}"
        line += ". One half is chance."
        of_controls = [tests[name] for name in filter(is_control, tests.index)]
        if min(of_controls, default=1) <= STAR_LEVEL:
            line += " The options alone tell the books apart, so nothing follows."
        lines.append(line)
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

    def chosen(metric: str) -> dict[str, Record]:
        own = artifact.replaced(metric=metric)
        return results.by("method", own, panel, selection="default")

    for metric in metrics:
        for row in chosen(metric).values():
            yield estimate_record(place, panel, row, metric=metric, star=False)
    of_means = artifact.replaced(metric=MEAN_SCORE)
    tested = results.by("method", of_means, panel, "tests", test="welch")
    for method, row in (chosen("auc") | tested).items():
        test = tested.get(method, {})
        record = keys_of(place, panel, row) | {"average": "", "metric": P_VALUE}
        record |= number_record(None)
        record |= {
            "setting": row["setting"],
            "difference": test.get("difference"),
            "low": test.get("low"),
            "high": test.get("high"),
            "p_holm": None,
            "value": test.get("p", math.nan),
            "star": False,
        }
        yield record


def calibration_table(artifact: Artifact, results: Results) -> Table:
    """Lay out a row a panel, class and calibration: mean probability of each letter,
    what is added, share in range."""
    panels = results.panels(artifact)
    frames = []
    blocks = []
    for panel in panels:
        own = _calibrations(artifact, results, panel)
        frames.append(own)
        rows = []
        for row in records_of(own):
            label = f"{row['class']}, {CALIBRATION_LABELS[row['calibration']]}"
            rows.append((label, _calibration_cells(row), False))
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
        first = own.iloc[0]
        record = {
            "class": CLASSES[int(first["label"])],
            "calibration": first["calibration"],
        }
        for letter, mean in zip(OPTION_LETTERS, MEANS, strict=True):
            record[mean] = values["letter_probability", letter]
        for letter, delta in zip(OPTION_LETTERS, DELTAS, strict=True):
            record[delta] = values["letter_added", letter]
        in_range = round(share["value"] * share["n"])
        record |= {"documents": share["n"], "in_range": in_range}
        for key in ("value", "low", "high"):
            record[key] = share[key]
        records.append(record)
    return pd.DataFrame(records)


def _calibration_cells(record: Record) -> Iterable[tuple[tuple[str, str], Cell]]:
    is_plain = record["calibration"] == "none"
    for letter, mean in zip(OPTION_LETTERS, MEANS, strict=True):
        yield ("mean probability", letter), Cell(record[mean])
    for letter, delta in zip(OPTION_LETTERS, DELTAS, strict=True):
        added = None if is_plain else record[delta]
        yield ("added", letter), Cell(added, signed=True)
    in_range = f"{record['in_range']} of {record['documents']}"
    yield ("in range", "documents"), Cell(words=in_range)
    yield ("in range", "share"), cell_of(record)
