"""Faults of one request: whether to try again, after how long, and whether it may have
been paid."""

import random
from dataclasses import dataclass
from typing import Any

import openai

from pretrace.models.api.answers import message_of, names_filter
from pretrace.runtime.files import JsonObject
from pretrace.runtime.http import asked_wait

_FIRST_WAIT, _LONGEST_WAIT = 0.5, 60.0  # seconds; doubled at every attempt
_TOO_MANY = 429
_BUSY = {503, 529}
_OF_PROMPTS = {400, 403, 422}
_TRIED_AGAIN = {408, 409, _TOO_MANY}  # and every 5xx
_NOT_OVER_SOON = {"insufficient_quota", "billing_hard_limit_reached"}


@dataclass
class FailedRequestError(Exception):
    """A request without a usable answer.

    temporary  whether asking again can help
    paid       whether the server may have counted it: it was received, and what came
               back was lost
    after      seconds that the server asks to wait, None if it does not say
    limited    whether the server asks for fewer requests: by 429, or by saying when it
               will be less busy (503, 529)
    """

    message: str
    temporary: bool = True
    paid: bool = False
    after: float | None = None
    limited: bool = False

    def __str__(self) -> str:
        return self.message

    @property
    def is_attempt(self) -> bool:
        """Return whether the request failed: one that the server wants later has
        not."""
        return not self.limited or self.after is None

    def wait(self, attempt: int) -> float:
        """Return the seconds before attempt number `attempt` + 1: exponential with
        jitter, or the server's and more."""
        longest = min(_LONGEST_WAIT, _FIRST_WAIT * 2**attempt)
        backed_off = longest * random.uniform(0.5, 1)
        if self.after is None:
            return backed_off
        return self.after + random.uniform(0, 0.1) * backed_off


def fault_of(error: openai.OpenAIError) -> FailedRequestError:
    """Translate an error of the client; the fault's message may contain the server's
    text."""
    if isinstance(error, openai.APITimeoutError):
        return FailedRequestError("timed out", paid=True)
    if isinstance(error, openai.APIConnectionError):
        cause = error.__cause__ or error
        # refused or not found: nothing was sent; anything later may have been received
        sent = "Connect" not in type(cause).__name__
        return FailedRequestError(
            f"the connection failed ({type(cause).__name__}: {cause})", paid=sent
        )
    if isinstance(error, openai.APIStatusError) and 300 <= error.status_code < 400:
        place = error.response.headers.get("location", "another address")
        return FailedRequestError(
            f"status {error.status_code}: it redirects to {place}, and requests are "
            "not sent to other addresses; if that one is right, give it as base_url",
            temporary=False,
        )
    if isinstance(error, openai.APIStatusError):
        details = _details(error)
        after = asked_wait(error.response.headers)
        if after is None:
            after = _wait_in(details)
        is_busy = error.status_code in _BUSY and after is not None
        passing = error.status_code in _TRIED_AGAIN or error.status_code >= 500
        return FailedRequestError(
            f"status {error.status_code}: {message_of(details)}",
            temporary=passing and error.code not in _NOT_OVER_SOON,
            after=after,
            limited=error.status_code == _TOO_MANY or is_busy,
        )
    return FailedRequestError(f"{type(error).__name__}: {error}", temporary=False)


def fault_told(details: JsonObject, message: str) -> FailedRequestError:
    """Translate an error that came with status 200, by its object."""
    after = _wait_in(details)
    code = str(details.get("code"))
    is_limit = after is not None or code == str(_TOO_MANY)
    is_over_soon = code not in _NOT_OVER_SOON
    return FailedRequestError(
        message,
        temporary=is_over_soon,
        paid=is_over_soon and not is_limit,
        after=after,
        limited=is_limit,
    )


def is_filter(error: openai.APIStatusError) -> bool:
    """Return whether a server refuses to have a prompt answered for what it says: an
    answer, too."""
    return error.status_code in _OF_PROMPTS and names_filter(_details(error))


def _details(error: openai.APIStatusError) -> JsonObject:
    """Return the object in which a server says what is wrong; Google's is in a list."""
    body: Any = error.body
    if isinstance(body, list) and body:
        body = body[0]
    if isinstance(body, dict):
        inner = body.get("error")
        return inner if isinstance(inner, dict) else body
    return {"message": error.message}


def _wait_in(details: JsonObject) -> float | None:
    """Read the seconds to wait in the body of an error, None if it does not say:
    Google's `retryDelay` ("34s"), or the headers that OpenRouter repeats there."""
    metadata = details.get("metadata")
    headers = metadata.get("headers") if isinstance(metadata, dict) else None
    if isinstance(headers, dict):
        return asked_wait({str(name): str(value) for name, value in headers.items()})
    parts = details.get("details")
    for part in parts if isinstance(parts, list) else []:
        if isinstance(part, dict) and "retryDelay" in part:
            return asked_wait({"retry-after": str(part["retryDelay"])})
    return None
