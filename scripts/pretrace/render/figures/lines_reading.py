"""What lines over a hyperparameter, a size or a length say, in sentences computed from them."""

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from pretrace.questions.known import is_control
from pretrace.render.names import method_label, metric_label
from pretrace.render.phrases import Estimate, against_chance, joined, with_interval
from pretrace.render.records import estimate

if TYPE_CHECKING:
    from pretrace.render.figures.method_lines import Facet


def reading(facets: Sequence["Facet"]) -> str:
    """A sentence a facet: whether methods rise or fall over it, or where they are best; its metric, of several."""
    several = len({facet.metric for facet in facets}) > 1
    return " ".join(
        (f"{metric_label(facet.metric)}: " if several else "")
        + (_trend if facet.ticks else _best)(facet, facet.metric)
        for facet in facets
    )


def _trend(facet: "Facet", metric: str) -> str:
    """Which methods rise from the first place to the last beyond their intervals, which fall, which neither."""
    moves: dict[str, list[str]] = {"rise": [], "fall": [], "do neither": []}
    spans = {method: _ends(line) for method, line in facet.lines.items() if _whole(line, facet, method)}
    if not spans:
        return f"On {facet.title} no method has values at every place."
    for method, (first, last) in spans.items():
        moves[_move(first, last)].append(method_label(method))
    names = list(facet.ticks.values())
    unit = " words" if facet.x == "length" else ""
    parts = [f"{joined(methods)} {_verb(move, methods)}" for move, methods in moves.items() if methods]
    method = max(spans, key=lambda one: abs(spans[one][1][0] - spans[one][0][0]))
    first, last = spans[method]
    subject = "the benchmark " if facet.x == "model" else ""
    return (
        f"On {subject}{facet.title.removeprefix('on ')}, from {names[0]} to {names[-1]}{unit} {'; '.join(parts)}. "
        f"The largest change is that of {method_label(method)}, from {with_interval(first)}"
        f"{against_chance(first, metric)} to {with_interval(last)}{against_chance(last, metric)}."
    )


def _whole(line: Mapping[float, Any], facet: "Facet", method: str) -> bool:
    return not is_control(method) and len(line) == len(facet.ticks)


def _ends(line: Mapping[float, Any]) -> tuple[Estimate, Estimate]:
    rows = [row for _, row in line.values()]
    return estimate(rows[0]), estimate(rows[-1])


def _move(first: Estimate, last: Estimate) -> str:
    if None in (*first, *last):
        return "do neither"
    if last[1] > first[2]:  # type: ignore[operator]
        return "rise"
    return "fall" if last[2] < first[1] else "do neither"  # type: ignore[operator]


def _verb(move: str, methods: Sequence[str]) -> str:
    one = len(methods) == 1
    if move == "do neither":
        return f"{'stays' if one else 'stay'} within overlapping intervals"
    return f"{move}{'s' if one else ''} beyond {'its interval' if one else 'their intervals'}"


def _best(facet: "Facet", metric: str) -> str:
    """Where each line is highest, what its default reaches, and the highest of the level lines."""
    sentences = []
    for method, line in facet.lines.items():
        place = max(line, key=lambda at: float(line[at][1]["value"]))
        best = estimate(line[place][1])
        text = (
            f"{method_label(method)} has its highest {metric_label(metric)} at {facet.x_label} = {place:g}, "
        )
        text += with_interval(best)
        text += against_chance(best, metric)
        if facet.default is not None and facet.default in line and place != facet.default:
            default = estimate(line[facet.default][1])
            text += f" (at the default {facet.default:g}, {with_interval(default)})"
        sentences.append(text)
    text = f"On {facet.title}, {'; '.join(sentences)}"
    levels = {method: estimate(row) for method, (_, row) in facet.levels.items() if not is_control(method)}
    if levels:
        top = max(levels, key=lambda method: levels[method][0])
        text += f". Of the methods that this does not change, {method_label(top)} has the highest "
        text += f"{metric_label(metric)}, {with_interval(levels[top])}"
    return f"{text}."
