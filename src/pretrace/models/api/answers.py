"""What a server's answer holds, in whichever way servers say it: the first choice, its
text, whether it was filtered, and the tokens that the server counts."""

import json
import re
from collections.abc import Sequence
from typing import Any

from pretrace.runtime.errors import shorten
from pretrace.runtime.files import JsonObject

MOST_TOKENS = 10**9  # of one answer; a server that counts more is not believed

_FILTERS = (
    "content_filter", "safety", "recitation", "prohibited_content", "blocklist",
    "sensitive", "refusal",
)  # fmt: skip
"""Words of a `finish_reason` of an answer that was filtered: OpenAI's, Google's and
other providers'."""

_CUT = ("length", "max_tokens")
"""Words of a `finish_reason` of an answer whose tokens were used up."""

_TAG = "(?:think|thinking|thought|reasoning)"
_THOUGHTS = re.compile(rf"\s*(?:<{_TAG}>|<\|channel\|>analysis)")
_END_OF_THOUGHTS = re.compile(rf"</{_TAG}>|<\|channel\|>final<\|message\|>")
"""How servers mark thoughts that they leave in an answer."""

_EVENT, _LAST_EVENT = "data:", "[DONE]"

Body = JsonObject


class MalformedAnswerError(ValueError):
    """An answer that lacks what every answer to its request has; it is asked for
    again."""


class ImpossibleAnswerError(MalformedAnswerError):
    """An answer with numbers that cannot be what they stand for; asking again does not
    help."""


class NoLogprobsError(MalformedAnswerError):
    """An answer without the log-probabilities that were asked for."""


def body_of(raw: str) -> Body:
    """Parse an answer: JSON, or the events of a stream, put together. One without any
    choice has an empty one.

    Raises:
        MalformedAnswerError: it is neither.
    """
    lines = raw.splitlines()
    events = [line[len(_EVENT) :].strip() for line in lines if line.startswith(_EVENT)]
    try:
        body: Any = _put_together(events) if events else json.loads(raw)
    except json.JSONDecodeError:
        raise MalformedAnswerError(
            f"no JSON: it begins with {shorten(repr(raw[:40]))}"
        ) from None
    if isinstance(body, dict) and body.get("choices", "") in (None, []):
        body["choices"] = [{}]
    return body


def _put_together(events: Sequence[str]) -> Body:
    """Return the answer that a stream's events make, as one that comes at once."""
    whole = {}
    message = {"content": "", "refusal": ""}
    reason = None
    for event in events:
        if event == _LAST_EVENT:
            reason = reason or "stop"
            break
        part = json.loads(event)
        choice = choice_of(part) if part.get("choices") != [] else {}
        delta = choice.get("delta") or {}
        for key in message:
            message[key] += text_in(delta.get(key)) or ""
        reason = choice.get("finish_reason") or reason
        # the last event has the usage alone
        whole.update({key: value for key, value in part.items() if value})
    if reason is None:
        raise MalformedAnswerError("a stream that breaks off")
    whole["choices"] = [{"finish_reason": reason, "message": message}]
    return whole


def choice_of(body: Any) -> JsonObject:
    """Return the first choice of an answer of either endpoint.

    Raises:
        MalformedAnswerError: there is none; repeats the error that some servers have
        in its place.
    """
    choices = body.get("choices") if isinstance(body, dict) else None
    if not isinstance(choices, list) or not choices or not isinstance(choices[0], dict):
        error = body.get("error") if isinstance(body, dict) else None
        said = f": {shorten(message_of(error))}" if error else ""
        raise MalformedAnswerError(f"no choices{said}")
    return choices[0]


def message_of(error: Any) -> str:
    """Return what a server says of an error in the body of its answer."""
    message = error.get("message") if isinstance(error, dict) else None
    return str(message or error)


def text_in(content: Any) -> str | None:
    """Return the text of a message's content: a string, or parts of which some are
    text; None if it has none."""
    if isinstance(content, list):
        texts = []
        for part in content:
            if isinstance(part, dict) and part.get("type") == "text":
                texts.append(str(part.get("text") or ""))
        return "".join(texts)
    return content if isinstance(content, str) else None


def text_of(choice: JsonObject) -> str | None:
    """Return the text of a choice of either endpoint; None if it has none."""
    message = choice.get("message")
    if isinstance(message, dict):
        return text_in(message.get("content"))
    return text_in(choice.get("text"))


def is_filtered(choice: JsonObject) -> bool:
    """Return whether a choice was filtered, by the reason why it ended."""
    reason = str(choice.get("finish_reason") or "").lower()
    return any(word in reason for word in _FILTERS)


def without_thoughts(text: str) -> str:
    """Return an answer without the thoughts that some servers leave in it; "" of one
    that is cut within them."""
    answer = _END_OF_THOUGHTS.split(text)[-1]
    return "" if _THOUGHTS.match(answer) else answer


def is_cut(choice: JsonObject) -> bool:
    """Return whether a choice ends because its tokens were used up."""
    return str(choice.get("finish_reason")).lower() in _CUT


def is_cut_in_thought(choice: JsonObject) -> bool:
    """Return whether a choice of a chat's answer has no word yet where its tokens were
    used up."""
    return is_cut(choice) and not without_thoughts(text_of(choice) or "").strip()


def tokens_used(body: Body) -> tuple[int, int] | None:
    """Return the (prompt, completion) tokens that the server counted; None if it does
    not say.

    What is in the total alone is of the completion: some servers count thoughts there.
    """
    try:
        usage = body["usage"]
        prompt = int(usage["prompt_tokens"])
        completion = int(usage.get("completion_tokens") or 0)
        total = int(usage.get("total_tokens") or 0)
    except (KeyError, TypeError, ValueError, OverflowError, AttributeError):
        return None
    completion = max(completion, total - prompt)
    used = prompt, completion
    return used if min(used) >= 0 and max(used) < MOST_TOKENS else None
