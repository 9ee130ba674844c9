"""How methods, metrics, views and marks are called in print. Imports neither pandas nor
matplotlib."""

from collections.abc import Iterable, Mapping, Sequence

from pretrace.evaluation.metrics import FEW_TEXTS, RANKS_AS
from pretrace.questions.method_facts import control_of, is_control

PAPERS = {
    "dc_pdd": "DC-PDD",
    "con_recall": "Con-ReCall",
    "surp": "SURP",
    "de_cop": "DE-COP",
}
"""The papers whose tables and figures there are, which begin an artifact's slug."""

METHOD_LABELS = {
    "loss": "Loss",
    "zlib": "Zlib",
    "lowercase": "Lowercase",
    "ref": "Ref",
    "rmia": "RMIA (shadow models)",
    "neighbor": "Neighbor",
    "min_k": "Min-K%",
    "min_k_pp": "Min-K%++",
    "recall": "ReCall",
    "con_recall": "Con-ReCall",
    "surp": "SURP",
    "dc_pdd": "DC-PDD",
    "gap_k": "Gap-K%",
    "max_renyi": "Max-R\N{LATIN SMALL LETTER E WITH ACUTE}nyi-K%",
    "pac": "PAC",
    "wbc": "WBC",
    "ez_mia": "EZ-MIA",
    "de_cop": "DE-COP",
    "option_likelihood": "Option likelihood",
    "completion": "Completion",
    "name_cloze": "Name cloze",
    "blind": "Bag of words",
    "prefix_similarity": "Prefix similarity",
    "unigram": "Unigram count",
    "longest_option": "Longest option",
    "odd_one_out": "Odd one out",
    "combined": "All methods together",
}
"""In the order of every table and legend."""

VARIANT_LABELS = {
    "con_recall;access=zero": "Con-ReCall, zero access",
    "min_k;window=3": "Min-K%, windows of 3 tokens",
    "max_renyi;entropy=min": "Max-R\N{LATIN SMALL LETTER E WITH ACUTE}nyi-K%, "
    "min-entropy",
    "neighbor;neighbours=10": "Neighbor, 10 neighbours",
    "loss;form=perplexity": "Perplexity",
    "ref;form=ratio": "Ref, ratio of losses",
    "ref;form=con_recall_code": "Ref, as Con-ReCall's code",
    "option_likelihood;form=likeliest": "Option likelihood, likeliest of four",
    "de_cop;calibration=given": "DE-COP, calibrated (given)",
    "de_cop;calibration=held": "DE-COP, calibrated (held out)",
    "de_cop;calibration=cross_fitted": "DE-COP, calibrated (cross-fitted)",
}
"""Methods with a parameter outside their grid off its default; any other shows that
parameter."""

READ_NEITHER = "read neither class"
"""What follows the name of a null model wherever it is printed."""

CLASSES = {1: "members", 0: "non-members"}
"""By label; a text without a label is unlabelled."""

EVALUATION_SET_LABELS = {
    "all": "all texts",
    "without_prefixes": "all texts but the shots of prefixes and what overlaps them",
    "balanced": "as many of each class, without the shots of prefixes and what "
    "overlaps them",
}

BLIND = "blind"
EMPTY = "over_5_percent_empty"
AT_EDGE = "at_grid_edge"
PUBLISHED_TEST = "t_as_published"
FALSE_ALARM = "false_alarm"

MARK_NOTES = {
    "conditional_on_documents": "fewer than 5 documents in a class: texts were "
    "resampled, not documents",
    "convention_default": "our own default; the paper has none",
    "cross_fitted": "learned from the texts of the other folds",
    "level_below_resolution": "this false-positive rate is less than one non-member",
    EMPTY: "over 5 % of the texts have no such token and share the highest score",
    AT_EDGE: "the setting that was chosen, in most folds, is the last of its grid; a "
    "better one may lie beyond",
    "few_documents": "fewer than 10 documents in a class: the default setting, and "
    "no test "
    "between methods",
    PUBLISHED_TEST: (
        "above the baseline by what the paper's star probably is, a t-test over ten "
        "resamples; more resamples alone would give it more stars"
    ),
    FEW_TEXTS: "fewer than 5 texts in a class: no interval and no test",
    FALSE_ALARM: "a false alarm: found in a model that read neither class",
}
MARK_SIGNS = dict(zip(MARK_NOTES, "abcdefghij", strict=True))

PARAMETER_LABELS = {
    "a": "upper bound a",
    "eps": "entropy threshold (nats)",
    "percentile": "log-probability percentile (%)",
    "k": "share of tokens k",
    "gamma": "weight of the member prefix \N{GREEK SMALL LETTER GAMMA}",
    "shots": "shots in the prefix",
}

METRIC_LABELS = {
    "auc": "AUC",
    "auc_as_published": "AUC as published",
    "accuracy_members": "accuracy, members",
    "accuracy_nonmembers": "accuracy, non-members",
    "p_value": "p",
}

CALIBRATION_LABELS = {
    "none": "as asked",
    "given": "calibrated (given)",
    "held": "calibrated (held out)",
    "cross_fitted": "calibrated (cross-fitted)",
}

COUNTED = ("neighbours", "transpositions")
"""Views whose number counts variants; any other number is a share of the words in
percent."""

VIEW_LABELS = {
    "original": "original",
    "delete": "deletion",
    "lowercase": "lower case",
    "synonym": "synonyms",
    "synonym_by": "synonyms by",
    "substitution_by": "substitution by",
    "paraphrase": "paraphrase",
    "paraphrase_by": "paraphrase by",
}


def method_label(method: str) -> str:
    """Return the printed name of a method, or of a variant `method;parameter=value`."""
    if method in VARIANT_LABELS:
        return VARIANT_LABELS[method]
    name, *parameters = method.split(";")
    parts = [part.replace("=", " ") for part in parameters]
    return ", ".join([METHOD_LABELS.get(name, name), *parts])


def marked_label(method: str) -> str:
    """Return the name of a method in a row or a legend; a control's says what it does
    not see."""
    control = control_of(method)
    return f"{method_label(method)} ({control})" if control else method_label(method)


def mark_sign(mark: str) -> str:
    """Return what stands in brackets behind a marked number: a letter, `= Min-K%`, or
    the mark itself."""
    if mark.startswith(RANKS_AS):
        return f"= {method_label(mark.removeprefix(RANKS_AS))}"
    return MARK_SIGNS.get(mark, mark)


def view_label(view: str, names: Mapping[str, str]) -> str:
    """Return `deletion 10 %` for `delete-10`; a view that a model made has the model's
    name.

    Any other word is returned as `names` calls it, or unchanged.
    """
    if view in names:
        return names[view]
    name, _, number = view.rpartition("-")
    if not name or not number.isdigit():
        name, number = view, ""
    start, by, model = name.partition("_by_")
    model = names.get(model, model)
    if start in COUNTED:
        words = [number, start, "by" if by else "", model]
    else:
        label = VIEW_LABELS.get(start + by[:-1], start)
        words = [label, model, f"{number} %" if number else ""]
    return " ".join(filter(None, words))


def in_order(methods: Iterable[str]) -> list[str]:
    """Return distinct methods in the order of `METHOD_LABELS`, controls last, unknown
    ones between by name."""
    order = [*METHOD_LABELS]

    def place(method: str) -> tuple[bool, int, str]:
        name = method.split(";")[0]
        number = order.index(name) if name in order else len(order)
        return is_control(method), number, method

    return sorted(set(methods), key=place)


def metric_label(metric: str) -> str:
    if metric in METRIC_LABELS:
        return METRIC_LABELS[metric]
    if not metric.startswith("tpr_at_"):
        return metric.replace("_", " ")
    label = f"TPR@{metric.split('_')[2]}%FPR"
    return f"{label} (FPR < level)" if metric.endswith("_strict") else label


def chance_level(metric: str) -> float | None:
    """Return the expected value of an uninformative score: 0.5 for AUC, the level for a
    TPR, otherwise None.

    An accuracy has none, because the true text may differ visibly from its paraphrases.
    The AUC as published has none, because its threshold is the best on the same
    documents.
    """
    if metric == "auc":
        return 0.5
    if metric.startswith("tpr_at_"):
        return int(metric.split("_")[2]) / 100
    return None


def join_words(parts: Sequence[str]) -> str:
    """Join words: `a`, `a and b`, `a, b and c`."""
    *others, last = parts
    return f"{', '.join(others)} and {last}" if others else last
