"""How methods, metrics, selections and panels are called in print. Imports neither pandas nor matplotlib."""

from collections.abc import Iterable, Mapping
from typing import Any

METHOD_LABELS = {
    "loss": "Loss",
    "zlib": "Zlib",
    "lowercase": "Lowercase",
    "ref": "Ref",
    "neighbor": "Neighbor",
    "min_k": "Min-K%",
    "min_k_pp": "Min-K%++",
    "recall": "ReCall",
    "con_recall": "Con-ReCall",
    "surp": "SURP",
    "dc_pdd": "DC-PDD",
    "de_cop": "DE-COP",
    "completion": "Completion",
    "name_cloze": "Name cloze",
    "blind": "Blind",
    "prefix_similarity": "Prefix similarity",
    "longest_option": "Longest option",
    "odd_one_out": "Odd one out",
}
"""In the order of METHODS.md, which is the order of every table and legend."""

CONTROLS = ("blind", "prefix_similarity", "longest_option", "odd_one_out")
"""Methods that see no model: what they reach shows nothing about one."""

SELECTION_LABELS = {
    "held_out": "Held out",
    "default": "Default",
    "best_on_test": "Best on test",
}
SELECTION_NOTES = {
    "held_out": "settings chosen on the other folds; the headline",
    "default": "each method's default setting",
    "best_on_test": "settings chosen on the evaluated texts themselves, as papers report it; optimistic",
}

EVALUATION_SET_LABELS = {
    "all": "all texts",
    "without_prefixes": "all texts but those a prefix was drawn from, and their overlaps",
    "balanced": "as many of each class, without the texts a prefix was drawn from",
}

MARK_NOTES = {
    "conditional_on_documents": "a class has fewer than 5 documents: texts were resampled, not documents",
    "convention_default": "the default is this project's convention; the paper fixes none",
    "cross_fitted": "cross-fitted",
    "level_below_resolution": "the false-positive level is below one non-member",
    "over_5_percent_empty": "over 5 % of the texts have no such token and score the maximum",
}
MARK_SIGNS = {
    "conditional_on_documents": "a",
    "convention_default": "b",
    "cross_fitted": "c",
    "level_below_resolution": "d",
    "over_5_percent_empty": "e",
}

PARAMETER_LABELS = {
    ("dc_pdd", "a"): "upper bound a",
    ("surp", "eps"): "entropy threshold (nats)",
    ("surp", "percentile"): "log-probability percentile (%)",
    ("min_k", "k"): "share of tokens k",
    ("min_k_pp", "k"): "share of tokens k",
    ("con_recall", "gamma"): "weight gamma",
}


def method_label(method: str) -> str:
    return METHOD_LABELS.get(method, method)


def is_control(method: str) -> bool:
    return method in CONTROLS


def in_order(methods: Iterable[str]) -> list[str]:
    """Distinct methods in the order of METHODS.md, controls last, unknown ones between by name."""
    order = {method: place for place, method in enumerate(METHOD_LABELS)}
    return sorted(
        set(methods), key=lambda method: (is_control(method), order.get(method, len(order)), method)
    )


def ordered(artifact: Mapping[str, Any], methods: Iterable[str]) -> list[str]:
    """Distinct methods in the artifact's own order where it names them, else `in_order`; controls last."""
    there = in_order(methods)
    if "methods" not in artifact:
        return there
    named = [method for method in artifact["methods"] if method in there]
    return sorted(named, key=is_control)


def metric_label(metric: str) -> str:
    if metric == "auc":
        return "AUC"
    if metric.startswith("tpr_at_"):
        level = metric.split("_")[2]
        return f"TPR@{level}%FPR" + (" (FPR < level)" if metric.endswith("_strict") else "")
    return metric.replace("_", " ")


def chance_level(metric: str) -> float | None:
    """What a score that knows nothing reaches: 0.5 for AUC, the level for a TPR, else None."""
    if metric == "auc":
        return 0.5
    return int(metric.split("_")[2]) / 100 if metric.startswith("tpr_at_") else None


def parameter_label(method: str, parameter: str) -> str:
    return PARAMETER_LABELS.get((method, parameter), parameter)


def parse_setting(setting: str) -> dict[str, str]:
    """`a=0.01;upper_bound=false` as a mapping of strings, empty for the empty setting."""
    return dict(part.split("=", 1) for part in setting.split(";")) if setting else {}


def format_value(value: Any) -> str:
    """A parameter's value as settings spell it: booleans lower case, numbers by `format(x, "g")`."""
    if isinstance(value, bool):
        return str(value).lower()
    return format(value, "g") if isinstance(value, int | float) else str(value)


def place_label(panel: Mapping[str, Any]) -> str:
    """The subset and length of a panel as they follow a name: ` arxiv, 64 words`; none, nothing."""
    subset = f" {panel['subset']}" if panel.get("subset") else ""
    return subset + (f", {panel['length']} words" if panel.get("length") is not None else "")


def where(artifact: Mapping[str, Any], panel: Mapping[str, Any]) -> str:
    """How an error message about a panel begins."""
    return f"artifact {artifact['artifact']}, panel {panel_label(panel)}"


def panel_lines(panel: Mapping[str, Any], *, control: bool = False) -> tuple[str, ...]:
    """A column's header, one line each: model, benchmark with subset, length, and whether it is a control."""
    if "label" in panel:
        lines = [str(panel["label"])]
    else:
        lines = [panel["model"], panel["benchmark"] + (f" {panel['subset']}" if panel.get("subset") else "")]
        if panel.get("length") is not None:
            lines.append(f"{panel['length']} words")
    return (*lines, "placebo (control)") if control else tuple(lines)


def panel_label(panel: Mapping[str, Any]) -> str:
    """A panel in running text: `smollm2-135m on sotu, 64 words`."""
    return (
        str(panel["label"])
        if "label" in panel
        else f"{panel['model']} on {panel['benchmark']}{place_label(panel)}"
    )
