"""Models behind an OpenAI-compatible API: bounded concurrency, retries, a budget, and a store of every answer.

Keys come from environment variables and go nowhere but into the request's header.
"""

from pretrace.models.api.client import ApiClient, MalformedAnswerError, choice_of, connected
from pretrace.models.api.endpoint import ApiRequest, Endpoint
from pretrace.models.api.store import AnswerStore

__all__ = [
    "AnswerStore",
    "ApiClient",
    "ApiRequest",
    "Endpoint",
    "MalformedAnswerError",
    "choice_of",
    "connected",
]
