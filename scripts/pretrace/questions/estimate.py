"""About how many tokens a study asks of models behind APIs, and what they cost, before anything is asked."""

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import pandas as pd

from pretrace.models.api.endpoint import NANO, Endpoint
from pretrace.questions.cloze import UNITS
from pretrace.questions.job import ORDERS
from pretrace.questions.over_api import LETTER_TOKENS, TOKENS_A_WORD
from pretrace.views import PARAPHRASES

_BYTES_A_TOKEN = 4  # of English; of Chinese, whose characters have three, about right as well
_WORDING = {"de_cop": 120, "completion": 50, "name_cloze": 190, "paraphrase": 90, "continuation": 50}
"""Tokens of the prompts without a passage, about."""


class Line(NamedTuple):
    """The requests of one model, benchmark and task; `cost` in US dollars."""

    model: str
    benchmark: str
    task: str
    requests: int
    prompt_tokens: int
    completion_tokens: int
    cost: float


def estimate(
    work: Sequence[Mapping[str, Any]],
    endpoints: Mapping[str, Endpoint],
    benchmarks: Mapping[str, pd.DataFrame],
) -> list[Line]:
    """A line for each model, benchmark and task of `studies.api_work`; answers already stored are not taken off."""
    totals: dict[tuple[str, str, str], tuple[int, int, int]] = {}
    for one in work:
        key = one["model"], one["benchmark"], one["task"]
        asked, prompt, completion = totals.get(key, (0, 0, 0))
        more = _counted(one, _tokens(one, benchmarks[one["benchmark"]]), endpoints[one["model"]])
        totals[key] = asked + more[0], prompt + more[1], completion + more[2]
    return [
        Line(*key, *counted, endpoints[key[0]].cost(*counted[1:]) / NANO) for key, counted in totals.items()
    ]


def _tokens(one: Mapping[str, Any], benchmark: pd.DataFrame) -> list[int]:
    """About the tokens of each text that is asked about."""
    chosen = benchmark
    for key, column in (("subsets", "subset"), ("lengths", "length")):
        if one[key] is not None:
            chosen = chosen[chosen[column].isin(one[key])]
    return [-(-len(text.encode()) // _BYTES_A_TOKEN) for text in chosen["text"]]


def _counted(one: Mapping[str, Any], tokens: list[int], endpoint: Endpoint) -> tuple[int, int, int]:
    """(requests, prompt tokens, completion tokens)."""
    wording, texts, whole = _WORDING.get(one["task"], 0), len(tokens), sum(tokens)
    match one["task"]:
        case "de_cop":
            asked = texts * len(ORDERS)
            prompt = asked * wording + len(ORDERS) * (1 + PARAPHRASES) * whole
            return asked, prompt, asked * (1 if endpoint.top_logprobs else LETTER_TOKENS)
        case "completion":
            k = one["k"]
            asked = sum(count >= 2 * k for count in tokens)
            return asked, asked * (wording + k), asked * k * TOKENS_A_WORD
        case "name_cloze":
            return texts, texts * wording + whole, texts * UNITS
        case "paraphrase":
            return texts, texts * wording + whole, PARAPHRASES * whole
        case "continuation":
            asked = texts * one["samples"]
            # a sample may have TOKENS_A_WORD for each word of the second half: about as many as the text has
            return asked, asked * wording + one["samples"] * whole // 2, one["samples"] * whole
        case _:
            asked = texts * one["variants"]
            before = one["shots"] * (whole // max(texts, 1))
            return asked, one["variants"] * whole + asked * before, asked


def table(
    lines: Sequence[Line], stored: Mapping[str, tuple[int, int]], *, spent: int, budget_usd: float
) -> list[str]:
    """The estimate as lines of Markdown; `stored`: model -> (answers stored, their cost), `spent`: in all, both in
    billionths of a dollar.
    """
    if not lines:
        return ["No model of this study is behind an API: nothing to pay for."]
    rows = [
        "| model | benchmark | task | requests | tokens read | tokens written | US dollars |",
        "|---|---|---|--:|--:|--:|--:|",
    ]
    rows += [
        f"| {one.model} | {one.benchmark} | {one.task} | {one.requests:,} | {one.prompt_tokens:,} | "
        f"{one.completion_tokens:,} | {one.cost:.2f} |"
        for one in lines
    ]
    total = sum(one.cost for one in lines)
    rows += [
        "",
        f"Estimate, at {_BYTES_A_TOKEN} bytes a token, of everything from the start: {total:.2f} US dollars.",
    ]
    for model, (answers, cost) in sorted(stored.items()):
        rows.append(
            f"Stored already, and not asked again: {answers:,} answers of {model}, for {cost / NANO:.2f}."
        )
    left = budget_usd - spent / NANO
    rows.append(f"Of budget_usd = {budget_usd:g}, {spent / NANO:.2f} are spent and {left:.2f} are left.")
    if total - spent / NANO > left:
        rows.append(
            "That may not suffice: the run would stop before it passes the budget, and go on once it is raised."
        )
    return rows
