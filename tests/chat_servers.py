"""Models behind a chat API as they behave today, for tests: what they answer, and what
of a request they refuse."""

import json
import re
from collections.abc import Callable, Mapping
from typing import Any

from loopback import Responder, message
from pretrace.questions.alignment import words_of

Answer = Callable[[str], str]
"""The prompt -> the answer."""

REFUSAL = "I'm sorry, but I can't provide verbatim text from this copyrighted book."


def reciting(
    books: Mapping[str, str],
    *,
    to: float = 1.0,
    words: int = 300,
    otherwise: str = "Nothing more.",
) -> Answer:
    """Recite a book whose words a prompt ends with, up to a share of it; of another,
    say something else."""
    indexed = {title: text.split() for title, text in books.items()}

    def answer(prompt: str) -> str:
        last = prompt.split()[-12:]
        for own in indexed.values():
            joined = " ".join(own)
            place = joined.find(" ".join(last))
            if place < 0:
                continue
            start = len(joined[:place].split()) + len(last)
            told = own[start : min(start + words, int(to * len(own)))]
            if told:
                return " ".join(told)
        return otherwise

    return answer


def refusing(prompt: str) -> str:
    return REFUSAL


def repeating(prompt: str) -> str:
    """Answer with the prompt, twice."""
    return f"{prompt}\n\n{prompt}"


def paraphrasing(books: Mapping[str, str]) -> Answer:
    """Recite, with every fourth word another."""
    recite = reciting(books)

    def answer(prompt: str) -> str:
        told = recite(prompt).split()
        return " ".join(
            "thing" if number % 4 == 3 else word for number, word in enumerate(told)
        )

    return answer


def chat(answer: Answer, **more: Any) -> Responder:
    """A chat endpoint of a model that answers in this way."""

    def respond(path: str, body: dict[str, Any]) -> dict[str, Any]:
        words = answer(body["messages"][-1]["content"])
        told = message(words, completion_tokens=len(words.split()), **more)
        return told | {"model": "m-2026-11-01", "created": 1_795_000_000}

    return respond


def without(responder: Responder, *keys: str, named: bool = True) -> Responder:
    """A server that refuses requests with any of these keys, as OpenAI words it, or
    without a name."""

    def respond(path: str, body: dict[str, Any]) -> dict[str, Any]:
        for key in keys:
            if key in body:
                told = (
                    f"Unsupported parameter: '{key}' is not supported with this model."
                    if named
                    else "Bad request."
                )
                return {
                    "error": {
                        "message": told,
                        "code": "unsupported_parameter",
                        "param": key if named else None,
                    }
                }
        return responder(path, body)

    return respond


def thinking(responder: Responder, tokens: int) -> Responder:
    """A reasoning model, whose thoughts take so many tokens of an answer before its
    first word."""

    def respond(path: str, body: dict[str, Any]) -> dict[str, Any]:
        limit = body.get("max_completion_tokens", body.get("max_tokens"))
        if limit > tokens:
            return responder(path, body)
        return message("", completion_tokens=limit, finish_reason="length")

    return respond


def limited(responder: Responder, most: int) -> Responder:
    """A server that refuses a request for more tokens than it gives, as OpenAI words
    it."""

    def respond(path: str, body: dict[str, Any]) -> dict[str, Any]:
        limit = body.get("max_completion_tokens", body.get("max_tokens"))
        if limit <= most:
            return responder(path, body)
        told = f"max_tokens is too large: {limit}. This model supports at most {most}."
        return {"error": {"message": told, "code": "invalid_value"}}

    return respond


def streaming(responder: Responder, *, to: int | None = None) -> Responder:
    """A server that gives answers as a stream of events alone, a word each, and says so
    where none is asked for; `to`: the events after which it breaks off."""

    def respond(path: str, body: dict[str, Any]) -> Any:
        if not body.get("stream"):
            told = "This model only supports stream mode."
            return {"error": {"message": told, "code": "invalid_parameter_error"}}
        answer = responder(path, body)
        [choice] = answer.pop("choices")
        usage = answer.pop("usage")
        words = choice["message"]["content"].split()
        # the end of a line in Unicode, and none of a stream
        deltas = [{"role": "assistant", "content": "\u2028"}]
        deltas += [{"content": f"{word} "} for word in words]
        choices = [{"delta": delta, "finish_reason": None} for delta in deltas]
        choices.append({"delta": {}, "finish_reason": choice["finish_reason"]})
        events = [answer | {"choices": [event]} for event in choices]
        events.append({"choices": [], "usage": usage})
        lines = [f"data: {json.dumps(event, ensure_ascii=False)}" for event in events]
        return "\n\n".join([*lines, "data: [DONE]", ""][:to])

    return respond


def title_in(prompt: str) -> str:
    """The title that a prompt has in quotes."""
    match = re.search('"([^"]+)"', prompt)
    return match[1] if match else ""


def words_in(text: str) -> int:
    return len(words_of(text))
