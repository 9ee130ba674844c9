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

_FILTER = re.compile(
    "content_?filter|content_policy|data_?inspection|invalid_prompt|flagged"
    "|block_?reason",
    re.I,
)
"""What servers call a prompt that they have no model answer, in an error."""

_FAULTS = re.compile(
    "error|insufficient|abort|cancel|time_?d?_?out|fail|overload|unavailable|interrupt",
    re.I,
)
"""Words of a `finish_reason` of an answer that the server could not end: OpenRouter's
`error`, z.AI's `network_error`, DeepSeek's `insufficient_system_resource`, vLLM's
`abort`."""

_CUT = re.compile("(max_|model_)?length|max_(.+_)?tokens", re.I)
"""Words of a `finish_reason` of an answer whose tokens were used up."""

_TAG = "(?:think|thinking|thought|reasoning)"
_THOUGHTS = re.compile(rf"\s*(?:<{_TAG}>|<\|channel\|>analysis)")
_END_OF_THOUGHTS = re.compile(rf"</{_TAG}>|<\|channel\|>final<\|message\|>")
"""How servers mark thoughts that they leave in an answer."""

_THOUGHT_KEYS = ("reasoning_content", "reasoning")
"""Where servers put thoughts beside an answer's content."""

_EVENT, _LAST_EVENT = "data:", "[DONE]"
_LINE_END = re.compile("\r\n?|\n")
"""Of events. Texts in JSON may have other ends of lines, such as U+2028."""

Body = JsonObject


class MalformedAnswerError(ValueError):
    """An answer that lacks what every answer to its request has; it is asked for
    again."""


class ErrorAnswerError(MalformedAnswerError):
    """An error in place of an answer, or beside it; `details`: what it says."""

    def __init__(self, error: Any) -> None:
        super().__init__(f"an error: {shorten(message_of(error))}")
        self.details = _object(error)


class ImpossibleAnswerError(MalformedAnswerError):
    """An answer with numbers that cannot be what they stand for; asking again does not
    help."""


class NoLogprobsError(MalformedAnswerError):
    """An answer without the log-probabilities that were asked for."""


def body_of(raw: str) -> Body:
    """Parse an answer: JSON, or the events of a stream, put together.

    Raises:
        MalformedAnswerError: it is neither.
    """
    raw = raw.removeprefix("\ufeff")
    lines = _LINE_END.split(raw)
    events = [line[len(_EVENT) :].strip() for line in lines if line.startswith(_EVENT)]
    try:
        body: Any = _put_together(events) if events else json.loads(raw)
    except json.JSONDecodeError:
        raise MalformedAnswerError(
            f"no JSON: it begins with {shorten(repr(raw[:40]))}"
        ) from None
    if not isinstance(body, dict):
        raise MalformedAnswerError("no JSON object")
    return body


def _put_together(events: Sequence[str]) -> Body:
    """Return the answer that a stream's events make, as one that comes at once: of
    either endpoint, with the log-probabilities of its first token."""
    whole = {}
    message = dict.fromkeys(("content", "refusal", *_THOUGHT_KEYS), "")
    text = ""
    reason = None
    logprobs = None
    for event in events:
        if event == _LAST_EVENT:
            has_text = bool((text + message["content"]).strip())
            reason = reason or ("stop" if has_text else None)
            break
        part = json.loads(event)
        about = _object(part)
        choices = about.get("choices")
        # the last event has the usage alone
        is_usage = choices == [] or (not choices and bool(about.get("usage")))
        choice = {} if is_usage else choice_of(part)
        delta = _object(choice.get("delta"))
        if not delta and not message["content"]:
            # of a server that does not stream; MiniMax repeats the whole at the end
            delta = _object(choice.get("message"))
        for key in message:
            message[key] += text_in(delta.get(key)) or ""
        text += text_in(choice.get("text")) or ""
        reason = choice.get("finish_reason") or reason
        told = _object(choice.get("logprobs"))
        if logprobs is None and any(told.values()):
            logprobs = told
        whole.update({key: value for key, value in about.items() if value})
    if reason is None:
        raise MalformedAnswerError("a stream that breaks off")
    message["content"] += text
    choice = {"finish_reason": reason, "message": message, "logprobs": logprobs}
    return whole | {"choices": [choice]}


def _object(value: Any) -> JsonObject:
    """Return a JSON object, an empty one in place of anything else."""
    return value if isinstance(value, dict) else {}


def choice_of(body: Any) -> JsonObject:
    """Return the first choice of an answer of either endpoint, or of a stream's event.

    An error in its place or beside it makes the answer malformed, whatever text came
    before. One that names a filter is an answer: a choice that was filtered.

    Raises:
        MalformedAnswerError: there is no choice, or an error, which it repeats, or the
            server could not end it.
    """
    body = _object(body)
    choices = body.get("choices")
    first = choices[0] if isinstance(choices, list) and choices else None
    choice = _object(first)
    error = body.get("error") or choice.get("error")
    if not choice:
        # Google's, where a prompt is not answered
        error = error or body.get("promptFeedback") or body.get("prompt_feedback")
    if names_filter(error):
        return {**choice, "finish_reason": "content_filter"}
    if error:
        raise ErrorAnswerError(error)
    if not choice:
        raise MalformedAnswerError("no choices")
    reason = str(choice.get("finish_reason") or "")
    if _FAULTS.search(reason) and not is_filtered(choice):
        raise MalformedAnswerError(f"it ended by {shorten(reason)}")
    return choice


def check_answer(body: Any) -> None:
    """Raise `MalformedAnswerError` unless a whole answer has a text, or scores of the
    prompt, or a reason why it has none; as `choice_of` does."""
    choice = choice_of(body)
    has_refusal = bool(_object(choice.get("message")).get("refusal"))
    has_reason = has_refusal or is_filtered(choice) or is_cut(choice)
    if has_reason or choice.get("prompt_logprobs"):
        return
    if not (text_of(choice) or "").strip():
        counted = _object(_object(body).get("usage")).get("completion_tokens")
        used = tokens_used(body)
        is_ended = isinstance(choice.get("finish_reason"), str)
        holder = choice if "text" in choice else _object(choice.get("message"))
        content = holder.get("text", holder.get("content"))
        is_text = isinstance(content, str | list | None)
        if not is_text or not is_ended or (used[1] if used else counted) == 0:
            raise MalformedAnswerError("no text and no token of an answer")


def message_of(error: Any) -> str:
    """Return what a server says of an error in the body of its answer."""
    message = error.get("message") if isinstance(error, dict) else None
    return str(message or error)


def names_filter(error: Any) -> bool:
    """Return whether an error in an answer says that a prompt or an answer was
    filtered: an answer, too."""
    details = _object(error)
    said = f"{details.get('code')} {details.get('type')} {message_of(error)}"
    return bool(error) and _FILTER.search(said) is not None


def text_in(content: Any) -> str | None:
    """Return the text of a message's content: a string, or parts of which some are
    text; None if it has none."""
    if isinstance(content, list):
        texts = []
        for part in content:
            if isinstance(part, str):
                texts.append(part)
            elif isinstance(part, dict) and part.get("type") == "text":
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


def has_thoughts(body: Body) -> bool:
    """Return whether a model thought before the first word of its answer."""
    choice = choice_of(body)
    message = _object(choice.get("message"))
    text = text_of(choice) or ""
    is_marked = any(message.get(key) for key in _THOUGHT_KEYS)
    return is_marked or thought_tokens(body) > 0 or without_thoughts(text) != text


def is_cut(choice: JsonObject) -> bool:
    """Return whether a choice ends because its tokens were used up."""
    return _CUT.fullmatch(str(choice.get("finish_reason"))) is not None


def is_cut_in_thought(choice: JsonObject) -> bool:
    """Return whether a choice of a chat's answer has no word yet where its tokens were
    used up."""
    return is_cut(choice) and not without_thoughts(text_of(choice) or "").strip()


def thought_tokens(body: Body) -> int:
    """Return how many tokens of an answer the server counts as thoughts."""
    details = _object(_object(body.get("usage")).get("completion_tokens_details"))
    tokens = details.get("reasoning_tokens")
    return tokens if isinstance(tokens, int) else 0


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
