"""Score texts by a server that returns the 40 likeliest tokens at each place, as extraction and `ez_mia` need them.

`prompt_logprobs` (vLLM): one request for a text gives, at each place, token id -> {logprob, rank, decoded_token} of the
40 likeliest tokens and of the text's own.

`next_token` (llama.cpp): one request for each token, which a bias forces; the server gives its log-probability and
the likeliest tokens before the bias. It keeps what it has read, so that a request costs it one token.
"""

import math
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from functools import partial
from itertools import islice
from typing import Any

import numpy as np

from pretrace.models.api.client import ApiClient, MalformedAnswerError, choice_of
from pretrace.models.api.endpoint import ApiRequest
from pretrace.models.api.logprobs import check_likeliest
from pretrace.passes.prompt_prefix import Ids
from pretrace.passes.requests import TOP
from pretrace.runtime.errors import InputError

CountTexts = Callable[[int], None]
LikeliestTokens = tuple[dict[int, float], int]
"""Token id -> log-probability (nats) of the likeliest tokens and the token at a place; and that token's id."""

FORCED = 100  # the highest bias that an API takes
_CANDIDATES = 3  # tokens after each text of the probe; the likeliest would be written without a bias too
_TEXTS_AT_ONCE = 4  # for each request in flight; an answer about 500 tokens takes 2 MB


def score_texts(
    client: ApiClient,
    texts: Iterable[tuple[Sequence[int], int]],
    progress: CountTexts,
    vocabulary: int | None = None,
) -> Iterator[np.ndarray]:
    """Yield for each text, its token ids and the place of the first to score, float32 [4, scored tokens].

    The rows are the statistics `likeliest`. A rank is at most 40: the server says nothing of further tokens.
    `progress` counts texts. `vocabulary`: the number of the model's tokens. Raises `InputError` where the server scores
    other tokens than it was sent.
    """
    read = _from_prompts if client.endpoint.top40 == "prompt_logprobs" else _token_by_token
    texts = iter(texts)
    while some := list(islice(texts, _TEXTS_AT_ONCE * client.endpoint.concurrency)):
        for places in read(client, some, progress, vocabulary):
            yield np.array([of_place(*place) for place in places], dtype=np.float32).reshape(-1, 4).T


def of_place(values: Mapping[int, float], id: int) -> tuple[float, float, int, float]:
    """Return ln p of the token `id` and of the likeliest, how many are likelier, and ln of the likeliest 40's mass.

    `values`: token id -> log-probability (nats). A server gives the text's own token as a 41st, if it is none of them.
    """
    top = sorted(values.values(), reverse=True)[:TOP]
    mass = top[0] + math.log(math.fsum(math.exp(value - top[0]) for value in top))
    return values[id], top[0], sum(value > values[id] for value in top), min(mass, 0.0)


def _from_prompts(
    client: ApiClient,
    texts: Sequence[tuple[Sequence[int], int]],
    progress: CountTexts,
    vocabulary: int | None,
) -> Iterator[list[LikeliestTokens]]:
    requests = [_request(ids, extra_body={"prompt_logprobs": TOP}) for ids, _ in texts]
    told = client.ask(requests, partial(prompt_logprobs, vocabulary=vocabulary), progress)
    for (ids, first), places in zip(texts, told, strict=True):
        pairs = list(zip(places, ids, strict=False))[first:]
        if len(places) != len(ids) or not all(id in values for values, id in pairs):
            raise InputError(
                f"{client.endpoint.name}: {client.endpoint.base_url} scores other tokens than the {len(ids)} that it "
                "was sent. Check the tokenizer of the model's entry."
            )
        yield pairs


def _token_by_token(
    client: ApiClient,
    texts: Sequence[tuple[Sequence[int], int]],
    progress: CountTexts,
    vocabulary: int | None,
) -> Iterator[list[LikeliestTokens]]:
    requests = [_forced(ids[:place], ids[place]) for ids, first in texts for place in range(first, len(ids))]
    answers = iter(client.ask(requests, partial(next_token, vocabulary=vocabulary)))
    for ids, first in texts:
        places = []
        for id, (written, values) in zip(ids[first:], answers, strict=False):
            if written != id:
                raise InputError(
                    f"{client.endpoint.name}: {client.endpoint.base_url} wrote token {written} where a bias asks for "
                    f"{id}. Check the tokenizer of the model's entry."
                )
            places.append((values, id))
        progress(1)
        yield places


def _request(ids: Sequence[int], **options: Any) -> ApiRequest:
    return ApiRequest({"prompt": list(ids), "max_tokens": 1, "temperature": 0, **options})


def _forced(ids: Sequence[int], id: int) -> ApiRequest:
    return _request(ids, logprobs=TOP, logit_bias={str(id): FORCED})


def prompt_logprobs(body: Mapping[str, Any], vocabulary: int | None = None) -> list[dict[int, float]]:
    """Read token id -> log-probability at each place of a prompt; none at the first.

    Raises:
        MalformedAnswerError: they are missing, fewer than 40, or not log-probabilities.
    """
    try:
        listed = choice_of(body)["prompt_logprobs"]
        places = [{int(id): float(told["logprob"]) for id, told in (place or {}).items()} for place in listed]
    except (KeyError, TypeError, ValueError, AttributeError) as error:
        raise MalformedAnswerError("no prompt_logprobs") from error
    for place in places[1:]:
        _check(place.values(), vocabulary)
    return places


def next_token(body: Mapping[str, Any], vocabulary: int | None = None) -> tuple[int, dict[int, float]]:
    """Read the token that was written, and token id -> log-probability of it and of the likeliest tokens.

    Raises:
        MalformedAnswerError: they are missing, fewer than 40, or not log-probabilities.
    """
    try:
        written = choice_of(body)["logprobs"]["content"][0]
        values = {int(told["id"]): float(told["logprob"]) for told in (written, *written["top_logprobs"])}
        id = int(written["id"])
    except (KeyError, IndexError, TypeError, ValueError) as error:
        raise MalformedAnswerError("no ids and log-probabilities of the likeliest next tokens") from error
    _check(values.values(), vocabulary)
    return id, values


def _check(values: Collection[float], vocabulary: int | None) -> None:
    if len(values) < TOP:
        raise MalformedAnswerError(
            f"{len(values)} likeliest tokens instead of {TOP}; start vLLM with --max-logprobs {TOP}"
        )
    check_likeliest(values, vocabulary)


def agree(logprob: float, other: float) -> bool:
    """Return whether a server means the same probability by two log-probabilities (nats) of a token."""
    # reduced precision differs between batches
    return math.isclose(logprob, other, abs_tol=0.1, rel_tol=0.02)


def check_bias(client: ApiClient, prompts: Iterable[Ids]) -> int:
    """Find out whether a server tells of a token that a bias forces what it tells without a bias; count the tokens.

    `prompts` are ids of texts. Raises `InputError` with what is wrong; the answers are then forgotten, so that the
    server is asked again when it is mended. `prompt_logprobs` need no check: they have the token of each number.
    """
    compared, requests = 0, []
    try:
        for ids in prompts:
            requests.append(_request(ids, logprobs=TOP))
            [(_, values)] = client.ask(requests[-1:], next_token)
            for id in sorted(values, key=lambda id: -values[id])[:_CANDIDATES]:
                requests.append(_forced(ids, id))
                [(written, forced)] = client.ask(requests[-1:], next_token)
                if written != id or not agree(values[id], forced.get(id, 1)):
                    raise InputError(
                        f"{client.endpoint.name}: {client.endpoint.base_url} does not tell a token's probability "
                        f"before a bias: token {id} has log-probability {values[id]:.3f}, and where a bias forces it "
                        f"the server writes {written} with {forced[written]:.3f}. Use a server with prompt_logprobs, "
                        "or leave top40 out of the entry."
                    )
                compared += 1
    except InputError:
        client.forget(requests)
        raise
    return compared
