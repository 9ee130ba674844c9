"""Score texts by a server that returns the 40 likeliest tokens at each place, as
extraction and `ez_mia` need them.

`prompt_logprobs` (vLLM): one request for a text gives, at each place, token id ->
{logprob, rank, decoded_token} of the 40 likeliest tokens and of the text's own.
"""

import math
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import partial
from itertools import islice
from typing import NamedTuple

import numpy as np

from pretrace.models.api.answers import MalformedAnswerError, choice_of
from pretrace.models.api.client import ApiClient
from pretrace.models.api.endpoint import ApiRequest
from pretrace.models.api.logprobs import check_likeliest
from pretrace.passes.requests import TOP
from pretrace.runtime.errors import InputError
from pretrace.runtime.files import JsonObject

_TEXTS_AT_ONCE = 4  # for each request in flight; an answer about 500 tokens takes 2 MB


class SentText(NamedTuple):
    """The token ids of a text with all before it, and the place of the first to
    score."""

    ids: list[int]
    first: int


def score_texts(
    client: ApiClient,
    texts: Iterable[SentText],
    progress: Callable[[int], None],
    vocabulary: int | None,
) -> Iterator[np.ndarray]:
    """Yield float32 [4, scored tokens] for each text.

    The rows are the statistics `likeliest`. A rank is at most 40: the server says
    nothing of further tokens. `progress` counts texts. `vocabulary`: the number of the
    model's tokens. Raises `InputError` where the server scores other tokens than it was
    sent.
    """
    texts = iter(texts)
    at_once = _TEXTS_AT_ONCE * client.endpoint.concurrency
    read = partial(prompt_logprobs, vocabulary=vocabulary)
    while some := list(islice(texts, at_once)):
        requests = [request_of(text.ids) for text in some]
        answers = client.ask(requests, read, progress)
        for text, places in zip(some, answers, strict=True):
            is_of_text = len(places) == len(text.ids)
            rows = []
            for values, id in list(zip(places, text.ids, strict=False))[text.first :]:
                if id in values:
                    rows.append(of_place(values, id))
                else:
                    is_of_text = False
            if not is_of_text:
                raise InputError(
                    f"{client.endpoint.name}: {client.endpoint.base_url} scores other "
                    f"tokens than the {len(text.ids)} that it was sent. Check the "
                    "tokenizer of the model's entry."
                )
            yield np.array(rows, dtype=np.float32).reshape(-1, 4).T


def request_of(ids: Sequence[int]) -> ApiRequest:
    """Ask for the likeliest tokens at each place of a prompt."""
    return ApiRequest(
        {
            "prompt": list(ids),
            "max_tokens": 1,
            "temperature": 0,
            "extra_body": {"prompt_logprobs": TOP},
        }
    )


def own_logprobs(
    body: JsonObject, ids: Sequence[int], vocabulary: int | None
) -> list[float]:
    """Read ln p of each token of a prompt but the first; `MalformedAnswerError` if they
    are not of these `ids`."""
    places = prompt_logprobs(body, vocabulary)
    if len(places) != len(ids):
        raise MalformedAnswerError(f"{len(places)} places of {len(ids)} tokens")
    try:
        return [values[id] for values, id in zip(places[1:], ids[1:], strict=True)]
    except KeyError as error:
        raise MalformedAnswerError(f"nothing of token {error}") from error


def of_place(values: Mapping[int, float], id: int) -> tuple[float, float, int, float]:
    """Return ln p of the token `id` and of the likeliest, how many are likelier, and ln
    of the likeliest 40's mass.

    `values`: token id -> log-probability (nats). A server gives the text's own token as
    a 41st, if it is none of them.
    """
    own = values[id]
    top = sorted(values.values(), reverse=True)[:TOP]
    highest = top[0]
    rank = sum(value > own for value in top)
    mass = highest + math.log(math.fsum(math.exp(value - highest) for value in top))
    return own, highest, rank, min(mass, 0.0)


def prompt_logprobs(body: JsonObject, vocabulary: int | None) -> list[dict[int, float]]:
    """Read token id -> log-probability at each place of a prompt; none at the first.

    Raises:
        MalformedAnswerError: they are missing, fewer than 40, or not log-probabilities.
    """
    places = []
    try:
        for tokens in choice_of(body)["prompt_logprobs"]:
            values = {}
            for id, token in (tokens or {}).items():
                values[int(id)] = float(token["logprob"])
            places.append(values)
    except (KeyError, TypeError, ValueError, AttributeError) as error:
        raise MalformedAnswerError("no prompt_logprobs") from error
    for values in places[1:]:
        if len(values) < TOP:
            raise MalformedAnswerError(
                f"{len(values)} likeliest tokens instead of {TOP}; start vLLM with "
                f"--max-logprobs {TOP}"
            )
        check_likeliest(values.values(), vocabulary)
    return places
