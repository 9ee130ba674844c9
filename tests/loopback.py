"""An OpenAI-compatible server on loopback for tests: answers by a function, with faults
where a test wants them."""

import json
import socket
import struct
import time
from collections import Counter
from collections.abc import Callable
from typing import Any

from local_server import LocalServer, Request
from pretrace.models.api.client import ApiClient
from pretrace.models.api.endpoint import Endpoint

Responder = Callable[[str, dict[str, Any]], Any]
"""(path, body) -> the JSON answer, which is an error of status 400 if it has that key,
and one of the code that it names if it is a list, as Google's are; the events of a
stream, or JSON of status 200 whatever it holds, as text."""

Faults = Callable[[int, dict[str, Any]], str | None]
"""(how many requests came before, body) -> a fault as `Loopback` knows it, or None for
a good answer."""


class Loopback(LocalServer):
    """Serves an API at `url`.

    `answered` counts good answers by body, `authorization` holds each header that came,
    `moments` when; `most_at_once` is the highest number of requests that were open
    together. Faults: 429, 503, 500, cut, malformed, no choices, refused, quota, hang,
    redirect, drip.
    """

    def __init__(
        self,
        responder: Responder,
        faults: Faults = lambda number, body: None,
        *,
        retry_after: str = "0.05",
        delay: float = 0,
    ) -> None:
        super().__init__()
        self.responder, self.faults, self.retry_after, self.delay = (
            responder,
            faults,
            retry_after,
            delay,
        )
        self.answered: Counter[str] = Counter()
        self.authorization: set[str] = set()
        self.moments: list[float] = []
        self.most_at_once = self._open = 0
        self.url = f"http://127.0.0.1:{self.port}/v1"

    @property
    def requests(self) -> int:
        return len(self.moments)

    def answer(self, request: Request) -> None:
        body = json.loads(request.rfile.read(int(request.headers["Content-Length"])))
        with self.lock:
            fault = self.faults(self.requests, body)
            self._open += 1
            self.most_at_once = max(self.most_at_once, self._open)
            self.authorization.add(request.headers.get("Authorization", ""))
            self.moments.append(time.monotonic())
        try:
            time.sleep(3 if fault == "hang" else self.delay)
            self._reply(request, fault, body)
        finally:
            with self.lock:
                self._open -= 1
                self.answered[json.dumps(body, sort_keys=True)] += fault is None

    def _reply(self, request: Request, fault: str | None, body: dict[str, Any]) -> None:
        errors = {
            "429": (429, {"message": "slow down"}, {"Retry-After": self.retry_after}),
            "503": (503, {"message": "busy"}, {"Retry-After": self.retry_after}),
            "quota": (
                429,
                {"message": "no credit left", "code": "insufficient_quota"},
                {},
            ),
            "redirect": (
                307,
                {"message": "elsewhere"},
                {"Location": "http://127.0.0.2:9/v1/completions"},
            ),
            "500": (500, {"message": "out of order"}, {}),
            # as careless servers do, it repeats what it was sent
            "refused": (
                400,
                {"message": f"not with {request.headers.get('Authorization')}"},
                {},
            ),
        }
        json_type = {"Content-Type": "application/json"}
        if fault in errors:
            status, error, headers = errors[fault]
            request.reply(
                status, json.dumps({"error": error}).encode(), json_type | headers
            )
        elif fault == "drip":
            request.send_response(200)
            request.send_header("Content-Length", "1000")
            request.end_headers()
            for _ in range(40):
                request.wfile.write(b" ")
                time.sleep(0.1)
        elif fault == "cut":
            request.connection.setsockopt(
                socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0)
            )
            request.close_connection = True
            request.connection.close()
        elif fault == "malformed":
            request.reply(200, b'{"choices": [{"text": "B", "logp', json_type)
        else:
            answer = (
                {"id": "1"}
                if fault == "no choices"
                else self.responder(request.path, body)
            )
            has_error = not isinstance(answer, str) and "error" in answer
            status = 400 if has_error else 200
            if isinstance(answer, list):
                status = answer[0]["error"]["code"]
            told = answer if isinstance(answer, str) else json.dumps(answer)
            request.reply(status, told.encode(), json_type)


def api_at(url: str, **keys: Any) -> dict[str, Any]:
    """The key `api` of a free model at this server, by these keys."""
    free = {"input": 0, "output": 0}
    return {
        "base_url": url,
        "model": "m",
        "endpoint": "completions",
        "price": free,
    } | keys


def client_at(url: str, store: Any, *, budget_usd: float = 0, **keys: Any) -> ApiClient:
    return ApiClient(
        Endpoint(name="tested", **api_at(url, **keys)), store, budget_usd=budget_usd
    )


def completion(
    text: str, *, prompt_tokens: int = 10, completion_tokens: int = 1, **choice: Any
) -> dict[str, Any]:
    usage = {"prompt_tokens": prompt_tokens, "completion_tokens": completion_tokens,
             "total_tokens": prompt_tokens + completion_tokens}  # fmt: skip
    return {
        "id": "x",
        "object": "completion",
        "created": 0,
        "model": "m",
        "usage": usage,
        "choices": [{"index": 0, "text": text, "finish_reason": "stop", **choice}],
    }


def message(text: str, **more: Any) -> dict[str, Any]:
    """An answer of the chat endpoint; `more` as for `completion`."""
    answer = completion("", message={"role": "assistant", "content": text}, **more)
    del answer["choices"][0]["text"]
    return answer
