"""Estimate the tokens that a study asks of models behind APIs, and their cost, before anything is asked."""

from collections.abc import Mapping, Sequence
from typing import NamedTuple

import pandas as pd

from pretrace.models.api.endpoint import NANO, Endpoint
from pretrace.questions.answering import ORDERS
from pretrace.questions.cloze import ANSWER_UNITS
from pretrace.questions.over_api import LETTER_TOKENS, TOKENS_A_WORD
from pretrace.runtime.files import JsonObject
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
    work: Sequence[JsonObject],
    endpoints: Mapping[str, Endpoint],
    benchmarks: Mapping[str, pd.DataFrame],
) -> list[Line]:
    """Count a line for each model, benchmark and task of `studies.api_work`; stored answers are not taken off."""
    totals: dict[tuple[str, str, str], tuple[int, int, int]] = {}
    for item in work:
        key = item["model"], item["benchmark"], item["task"]
        requests, read, written = totals.get(key, (0, 0, 0))
        more = _counts(item, benchmarks[item["benchmark"]], endpoints[item["model"]])
        totals[key] = requests + more[0], read + more[1], written + more[2]
    return [Line(*key, *counts, endpoints[key[0]].cost(*counts[1:]) / NANO) for key, counts in totals.items()]


def _counts(item: JsonObject, benchmark: pd.DataFrame, endpoint: Endpoint) -> tuple[int, int, int]:
    for key, column in (("subsets", "subset"), ("lengths", "length")):
        if item[key] is not None:
            benchmark = benchmark[benchmark[column].isin(item[key])]
    tokens = [-(-len(text.encode()) // _BYTES_A_TOKEN) for text in benchmark["text"]]
    wording, texts, whole = _WORDING.get(item["task"], 0), len(tokens), sum(tokens)
    match item["task"]:
        case "de_cop":
            requests = texts * len(ORDERS)
            prompt = requests * wording + len(ORDERS) * (1 + PARAPHRASES) * whole
            return requests, prompt, requests * (1 if endpoint.top_logprobs else LETTER_TOKENS)
        case "completion":
            k = item["k"]
            requests = sum(count >= 2 * k for count in tokens)
            return requests, requests * (wording + k), requests * k * TOKENS_A_WORD
        case "name_cloze":
            return texts, texts * wording + whole, texts * ANSWER_UNITS
        case "paraphrase":
            return texts, texts * wording + whole, PARAPHRASES * whole
        case "continuation":
            samples = item["samples"]
            requests = texts * samples
            # a sample may have TOKENS_A_WORD for each word of the second half: about as many as the text has
            return requests, requests * wording + samples * whole // 2, samples * whole
        case _:
            variants, before = item["variants"], item["shots"] * (whole // max(texts, 1))
            requests = variants * texts
            if endpoint.top40 == "next_token":  # each token is a request, and reads what is before it
                read = sum(count * (before + count // 2) for count in tokens)
                return variants * whole, variants * read, variants * whole
            return requests, variants * whole + requests * before, requests


def table(
    lines: Sequence[Line], stored: Mapping[str, tuple[int, int]], *, spent: int, budget_usd: float
) -> list[str]:
    """Write the estimate as lines of Markdown.

    `stored`: model -> (answers stored, their cost); `spent`: by all. Both costs are in billionths of a dollar.
    """
    if not lines:
        return ["No model of this study is behind an API: nothing to pay for."]
    rows = [
        "| model | benchmark | task | requests | tokens read | tokens written | US dollars |",
        "|---|---|---|--:|--:|--:|--:|",
    ]
    rows += [
        f"| {line.model} | {line.benchmark} | {line.task} | {line.requests:,} | {line.prompt_tokens:,} | "
        f"{line.completion_tokens:,} | {line.cost:.2f} |"
        for line in lines
    ]
    total = sum(line.cost for line in lines)
    rows += [
        "",
        f"Estimate, at {_BYTES_A_TOKEN} bytes a token, of everything from the start: {total:.2f} US dollars.",
    ]
    rows += [
        f"Stored already, and not asked again: {answers:,} answers of {model}, for {cost / NANO:.2f}."
        for model, (answers, cost) in sorted(stored.items())
    ]
    left = budget_usd - spent / NANO
    rows.append(f"Of budget_usd = {budget_usd:g}, {spent / NANO:.2f} are spent and {left:.2f} are left.")
    if total - spent / NANO > left:
        rows.append(
            "That may not suffice: the run would stop before it passes the budget, and go on once it is raised."
        )
    return rows
