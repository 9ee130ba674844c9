"""Score texts by a server that returns the 40 likeliest tokens at each place, as
extraction and `ez_mia` need them.

`prompt_logprobs` (vLLM): one request for a text gives, at each place, token id ->
{logprob, rank, decoded_token} of the 40 likeliest tokens and of the text's own.
"""

import math
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import partial
from itertools import islice
from typing import Any

import numpy as np

from pretrace.models.api.answers import MalformedAnswerError, choice_of
from pretrace.models.api.client import ApiClient
from pretrace.models.api.endpoint import ApiRequest
from pretrace.models.api.logprobs import check_likeliest
from pretrace.passes.requests import TOP
from pretrace.runtime.errors import InputError

_TEXTS_AT_ONCE = 4  # for each request in flight; an answer about 500 tokens takes 2 MB


def score_texts(
    client: ApiClient,
    texts: Iterable[tuple[Sequence[int], int]],
    progress: Callable[[int], None],
    vocabulary: int | None = None,
) -> Iterator[np.ndarray]:
    """Yield for each text, its token ids and the place of the first to score, float32
    [4, scored tokens].

    The rows are the statistics `likeliest`. A rank is at most 40: the server says
    nothing of further tokens. `progress` counts texts. `vocabulary`: the number of the
    model's tokens. Raises `InputError` where the server scores other tokens than it was
    sent.
    """
    texts = iter(texts)
    while some := list(islice(texts, _TEXTS_AT_ONCE * client.endpoint.concurrency)):
        requests = [request_of(ids) for ids, _ in some]
        told = client.ask(
            requests, partial(prompt_logprobs, vocabulary=vocabulary), progress
        )
        for (ids, first), places in zip(some, told, strict=True):
            pairs = list(zip(places, ids, strict=False))[first:]
            if len(places) != len(ids) or not all(id in values for values, id in pairs):
                raise InputError(
                    f"{client.endpoint.name}: {client.endpoint.base_url} scores other "
                    f"tokens than the {len(ids)} that it was sent. Check the tokenizer "
                    "of the model's entry."
                )
            yield (
                np.array([of_place(*pair) for pair in pairs], dtype=np.float32)
                .reshape(-1, 4)
                .T
            )


def request_of(ids: Sequence[int]) -> ApiRequest:
    """Ask for the likeliest tokens at each place of a prompt."""
    options = {
        "max_tokens": 1,
        "temperature": 0,
        "extra_body": {"prompt_logprobs": TOP},
    }
    return ApiRequest({"prompt": list(ids), **options})


def own_logprobs(
    body: Mapping[str, Any], ids: Sequence[int], vocabulary: int | None = None
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
    top = sorted(values.values(), reverse=True)[:TOP]
    mass = top[0] + math.log(math.fsum(math.exp(value - top[0]) for value in top))
    return values[id], top[0], sum(value > values[id] for value in top), min(mass, 0.0)


def prompt_logprobs(
    body: Mapping[str, Any], vocabulary: int | None = None
) -> list[dict[int, float]]:
    """Read token id -> log-probability at each place of a prompt; none at the first.

    Raises:
        MalformedAnswerError: they are missing, fewer than 40, or not log-probabilities.
    """
    try:
        listed = choice_of(body)["prompt_logprobs"]
        places = [
            {int(id): float(told["logprob"]) for id, told in (place or {}).items()}
            for place in listed
        ]
    except (KeyError, TypeError, ValueError, AttributeError) as error:
        raise MalformedAnswerError("no prompt_logprobs") from error
    for place in places[1:]:
        if len(place) < TOP:
            raise MalformedAnswerError(
                f"{len(place)} likeliest tokens instead of {TOP}; start vLLM with "
                f"--max-logprobs {TOP}"
            )
        check_likeliest(place.values(), vocabulary)
    return places
