"""What a table of methods against panels says, in sentences computed from it."""

from collections import Counter
from collections.abc import Sequence

from pretrace.questions.known import is_control
from pretrace.render.names import (
    chance_level,
    method_label,
    metric_label,
    panel_label,
    place_label,
)
from pretrace.render.phrases import (
    Estimate,
    against_chance,
    joined,
    with_interval,
)
from pretrace.render.records import estimate, is_starred
from pretrace.render.registry import Artifact
from pretrace.render.tables.method_columns import Column

FEW = 3
"""As many columns are named one by one; of more, the reading counts."""


def reading(artifact: Artifact, columns: Sequence[Column]) -> list[str]:
    """Up to three sentences: the best method, the blind classifier, the baseline."""
    there = [one for one in columns[0].selected if any(column.selected[one] for column in columns)]
    selection = there[0] if there else next(iter(columns[0].selected))
    metric = columns[0].metric
    found = [(column, best) for column in columns if (best := _best(column, selection))]
    sentences = [_first_sentence(found, metric, selection)] if found else []
    sentences += _blind(found, selection)
    tested = [column for column in columns if column.tests]
    if tested and selection == "held_out":
        sentences.append(_baseline(artifact["baseline"], tested))
    return sentences


Best = tuple[str, Estimate]
"""A method and what it reaches."""


def _best(column: Column, selection: str) -> Best | None:
    values = {
        method: row["value"] for method, row in column.selected[selection].items() if not is_control(method)
    }
    if not values:
        return None
    method = max(values, key=lambda method: float(values[method]))
    return method, estimate(column.selected[selection][method])


def _first_sentence(found: Sequence[tuple[Column, Best]], metric: str, selection: str) -> str:
    methods = {m for column, _ in found for m in column.selected[selection] if not is_control(m)}
    if len(methods) == 1:
        return _one_method(found, metric, selection)
    return (_leaders if len(found) <= FEW else _many_leaders)(found, metric, selection)


def _one_method(found: Sequence[tuple[Column, Best]], metric: str, selection: str) -> str:
    """Where the only method of a table is highest and where lowest."""
    rising = sorted(found, key=lambda item: item[1][1][0])
    parts = [
        f"{with_interval(best[1])} on {panel_label(column.panel)}{against_chance(best[1], metric)}"
        for column, best in (rising[-1], *rising[:-1][:1])
    ]
    start = f"The {selection.replace('_', '-')} {metric_label(metric)} of {method_label(found[0][1][0])} is "
    return (
        f"{start}{parts[0]}." if len(parts) == 1 else f"{start}highest, {parts[0]}, and lowest, {parts[1]}."
    )


def _leaders(found: Sequence[tuple[Column, Best]], metric: str, selection: str) -> str:
    parts = [
        f"{method_label(best[0])} on {panel_label(column.panel)} ({with_interval(best[1])}"
        f"{against_chance(best[1], metric)})"
        for column, best in found
    ]
    return f"The highest {selection.replace('_', '-')} {metric_label(metric)} is that of {joined(parts)}."


def _many_leaders(found: Sequence[tuple[Column, Best]], metric: str, selection: str) -> str:
    """How often each method leads, how many of the leaders hold chance, and the highest of all."""
    led = Counter(method_label(best[0]) for _, best in found)
    counts = joined([f"{method} in {count}" for method, count in led.most_common()])
    column, top = max(found, key=lambda item: item[1][1][0])
    level = [best for _, best in found if against_chance(best[1], metric)]
    chosen = selection.replace("_", "-")
    text = (
        f"Of {len(found)} columns, the highest {chosen} {metric_label(metric)} is that of {counts}; the largest "
        f"is {with_interval(top[1])} ({method_label(top[0])} on {panel_label(column.panel)})"
    )
    if level:
        text += f". In {len(level)} of them its interval includes chance ({chance_level(metric):g})"
    return f"{text}."


def _blind(found: Sequence[tuple[Column, Best]], selection: str) -> list[str]:
    """Where the blind classifier stands beside the best method."""
    parts = []
    for column, best in found:
        rows = column.selected[selection]
        if "blind" in rows:
            blind = estimate(rows["blind"])
            verdict = (
                "more than every method" if blind[0] >= best[1][0] else f"less than {method_label(best[0])}"
            )
            where = f"{column.panel['benchmark']}{place_label(column.panel)}"
            parts.append(f"{with_interval(blind)} on {where}, {verdict}")
    distinct = list(dict.fromkeys(parts))
    if not distinct:
        return []
    if len(distinct) > FEW:
        beaten = sum(part.endswith("more than every method") for part in parts)
        return [
            f"The blind classifier, which sees no model, reaches more than every method in {beaten} of "
            f"{len(parts)} columns."
        ]
    return [f"The blind classifier, which sees no model, reaches {'; '.join(distinct)}."]


def _baseline(baseline: str, columns: Sequence[Column]) -> str:
    starred = {
        panel_label(column.panel): [
            method_label(method)
            for method in column.tests
            if is_starred(column.tests, method) and not is_control(method)
        ]
        for column in columns
    }
    parts = [f"{joined(methods)} on {panel}" for panel, methods in starred.items() if methods]
    if len(parts) > FEW:
        counts = Counter(method for methods in starred.values() for method in methods)
        named = joined([f"{method} in {count}" for method, count in counts.most_common()])
        return f"Significantly above {method_label(baseline)}, of {len(columns)} columns: {named}."
    if not parts:
        return f"No method is significantly above {method_label(baseline)} on any benchmark here."
    return f"Significantly above {method_label(baseline)}: {'; '.join(parts)}."
