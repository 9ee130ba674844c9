"""Words for numbers: the pieces that readings and notes are made of."""

import unicodedata
from collections.abc import Iterable, Sequence
from statistics import mode

import pandas as pd

from pretrace.evaluation.averages import Estimate
from pretrace.questions.method_facts import is_control, is_question
from pretrace.render.artifact import Artifact, Panel
from pretrace.render.estimates import STAR_LEVEL
from pretrace.render.frames import records_of
from pretrace.render.names import (
    EVALUATION_SET_LABELS,
    join_words,
    method_label,
    metric_label,
)

MINUS = "\N{MINUS SIGN}"
DASH = "\N{EN DASH}"


def is_wide(character: str) -> bool:
    """Return whether a character is as wide as high: Chinese, or its punctuation."""
    return unicodedata.east_asian_width(character) in "WF"


def format_signed(value: float, digits: int) -> str:
    """Format a number as `+0.031`, `-0.020` with a true minus, and 0 without a sign."""
    text = f"{value:+.{digits}f}"
    return text.lstrip("+-") if float(text) == 0 else text.replace("-", MINUS)


def beginning(text: str, most: int) -> str:
    """Return a text, or the first `most` characters of a longer one."""
    return text if len(text) <= most else f"{text[:most]} ..."


STEADY = 0.005  # a standard error below this leaves the third decimal something to say


def decimals(low: float | None, high: float | None, sd: float | None = None) -> int:
    """Return how many decimals the noise of an estimate allows: its SD, or a quarter of
    its 95 % interval."""
    noise = sd
    if sd is None and low is not None and high is not None:
        noise = (high - low) / 4
    return 3 if noise is not None and noise < STEADY else 2


def with_interval(estimate: Estimate) -> str:
    """Format a value with the decimals that its interval allows; the interval has
    two."""
    value, low, high = estimate
    written = f"{value:.{decimals(low, high)}f}"
    if low is None or high is None:
        return written
    return f"{written} [{low:.2f}, {high:.2f}]"


def exceeding_placebos(panel: Panel, frame: pd.DataFrame) -> str:
    """Name the methods that rank first among their placebos, of rows `method, control,
    rank, placebos`."""
    first = frame.loc[~frame["control"] & frame["rank"].eq(1), "method"]
    names = join_words([method_label(method) for method in first] or ["none"])
    count = int(frame["placebos"].max())
    return (
        f"On {panel.name}, methods above all {count} placebos: {names}. If the "
        "non-members' document were like the others, each method would be above them "
        f"with probability {1 / (count + 1):.2f}."
    )


def multiplicity_note(families: int, what: str = "column") -> list[str]:
    """Note what Holm's correction inside each of several families leaves to chance."""
    if families < 2:
        return []
    return [
        f"The correction holds within a {what}, not over all of them: if nothing "
        f"differed anywhere, up to {STAR_LEVEL * families:.2g} of these {families} "
        f"{what}s would be expected to have a star by chance."
    ]


def false_alarms(found: int, tested: int, what: str, level: float) -> str:
    """Count what is found in models that read neither class beside its expectation, at
    the `level` of one finding."""
    return (
        f"False alarms in models that read neither class: {found} of {tested} {what} "
        f"(at most {level * tested:.2g} expected)."
    )


def other_texts_note(panels: Sequence[Panel], frame: pd.DataFrame) -> list[str]:
    """Note the methods evaluated on another number of texts than most of their panel,
    if there are any."""
    counts = frame["n_members"] + frame["n_nonmembers"]
    of_panel = [frame[key] for key in ("panel", "metric", "selection")]
    usual = counts.groupby(of_panel).transform(mode)
    others = frame.assign(count=counts, usual=usual)[counts != usual]
    methods: dict[str, None] = {}
    for row in records_of(others):
        where = f"{method_label(row['method'])} on {panels[row['panel']].name}"
        methods[f"{where} ({row['count']:,}, not {row['usual']:,})"] = None
    if not methods:
        return []
    return [f"On another number of texts than most methods: {'; '.join(methods)}."]


def without_controls(methods: Iterable[str]) -> list[str]:
    """Return the note of a table of questions without controls on its options."""
    questions = [method for method in methods if is_question(method)]
    if not questions or any(map(is_control, questions)):
        return []
    return [
        "No control is shown: longest option and odd one out need the texts of the "
        "options, which these answers do not have. How much of an accuracy the options "
        "give away is unknown."
    ]


def conditions(
    artifact: Artifact, frame: pd.DataFrame, more: str, metrics: Sequence[str] = ()
) -> str:
    """Note what every number of a frame rests on: metrics (default, the artifact's),
    texts, start token, reference, and `more`."""
    named = join_words([metric_label(metric) for metric in metrics or artifact.metrics])
    texts = _evaluation_sets(artifact, frame)
    if frame["unit"].eq("document").all():
        texts = OVER_DOCUMENTS
    start_tokens = frame["start_token"].str.replace("tokenizer", "the tokenizer's own")
    is_asked = frame["method"].map(is_question).astype(bool)
    options = set(frame.loc[is_asked, "reference"])
    references = set(frame.loc[~is_asked, "reference"])
    inputs = {
        "Start token": set(start_tokens),
        "Wrong options": set(map(artifact.title_of, options)),
        "Reference corpus or model": set(map(artifact.title_of, references - options)),
    }
    notes = [f"{named}; {texts}"]
    for what, names in inputs.items():
        if names - {""}:
            notes.append(f"{what}: {_listed(names - {''})}.")
    return " ".join([*notes, more])


def _listed(names: Iterable[str]) -> str:
    """Join names in order: by commas, or by semicolons where a name has a comma."""
    ordered = sorted(names)
    if any("," in name for name in ordered):
        return "; ".join(ordered)
    return join_words(ordered)


def _evaluation_sets(artifact: Artifact, frame: pd.DataFrame) -> str:
    """Describe the evaluation sets; of several, each with its benchmarks, or its models
    on them where sets share a benchmark."""
    evaluated = frame[["model", "benchmark", "evaluation_set"]].drop_duplicates()
    of_benchmark = evaluated.groupby("benchmark")["evaluation_set"]
    is_shared = of_benchmark.nunique().gt(1).any()
    benchmarks: dict[str, set[str]] = {}
    for row in records_of(evaluated):
        name = artifact.title_of(row["benchmark"])
        if is_shared:
            name = f"{artifact.title_of(row['model'])} on {name}"
        benchmarks.setdefault(row["evaluation_set"], set()).add(name)
    named = []
    for name in sorted(benchmarks):
        text = f"{name} ({EVALUATION_SET_LABELS.get(name, name)})"
        if len(benchmarks) == 1:
            return f"evaluation set {text}."
        named.append(f"{text} of {join_words(sorted(benchmarks[name]))}")
    return f"evaluation sets {join_words(named)}."


DASHES = (
    "A dash means that a method does not apply, was not run, or lacks shots that fit "
    "into the model's context; the report's warnings name such shots."
)


def brackets_and_dashes(frame: pd.DataFrame) -> str:
    """Return what a dash means, after what brackets hold if a row has an interval and
    no SD in its place."""
    ends = frame.reindex(columns=["low", "sd"])
    if (ends["low"].notna() & ends["sd"].isna()).any():
        return f"Brackets hold 95 % intervals by stratified bootstrap. {DASHES}"
    return DASHES


OF_THIS_SIZE = (
    "A true positive rate and its interval are for test sets of this size: with few "
    "non-members the rate is on average higher than with many."
)
OVER_DOCUMENTS = (
    "over documents. A document's score is the share of its answers that are right "
    "(DE-COP: over 24 orders of the options of each passage), or the mean over its "
    "passages."
)
