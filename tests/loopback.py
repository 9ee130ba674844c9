"""An OpenAI-compatible server on loopback for tests: answers by a function, with faults where a test wants them."""

import json
import socket
import struct
import sys
import threading
import time
from collections import Counter
from collections.abc import Callable
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

Responder = Callable[[str, dict[str, Any]], dict[str, Any]]
"""(path, body) -> the JSON answer."""

Faults = Callable[[int, dict[str, Any]], str | None]
"""(how many requests came before, body) -> one of FAULTS, or None for a good answer."""

FAULTS = ("429", "500", "cut", "malformed", "no choices", "refused", "quota", "hang")


class Loopback:
    """Serves at `url` while used as a context manager.

    `asked` counts requests by body, `answered` those with a good answer, `authorization` holds each header
    that came, `moments` when; `most_at_once` is the highest number of requests that were open together.
    """

    def __init__(
        self,
        responder: Responder,
        faults: Faults = lambda number, body: None,
        *,
        retry_after: str = "0.05",
        delay: float = 0,
    ) -> None:
        self.responder, self.faults, self.retry_after, self.delay = responder, faults, retry_after, delay
        self.asked: Counter[str] = Counter()
        self.answered: Counter[str] = Counter()
        self.authorization: set[str] = set()
        self.moments: list[float] = []
        self.requests = self.most_at_once = self._open = 0
        self._lock = threading.Lock()
        self._server = _Server(("127.0.0.1", 0), _Handler)
        self._server.loopback = self
        self.url = f"http://127.0.0.1:{self._server.server_port}/v1"

    def __enter__(self) -> "Loopback":
        threading.Thread(target=self._server.serve_forever, args=(0.05,), daemon=True).start()
        return self

    def __exit__(self, *error: object) -> None:
        self._server.shutdown()
        self._server.server_close()

    def received(self, body: dict[str, Any], authorization: str) -> str | None:
        with self._lock:
            number = self.requests
            self.requests += 1
            self._open += 1
            self.most_at_once = max(self.most_at_once, self._open)
            self.asked[_name(body)] += 1
            self.authorization.add(authorization)
            self.moments.append(time.monotonic())
            return self.faults(number, body)

    def done(self, body: dict[str, Any], fault: str | None) -> None:
        with self._lock:
            self._open -= 1
            self.answered[_name(body)] += fault is None


def _name(body: dict[str, Any]) -> str:
    return json.dumps(body, sort_keys=True)


class _Server(ThreadingHTTPServer):
    daemon_threads = True
    request_queue_size = 128
    loopback: Loopback

    def handle_error(self, request: Any, client_address: Any) -> None:
        """A client that was killed, or gave up waiting, is none of the server's concern."""
        if not isinstance(sys.exception(), ConnectionError):
            super().handle_error(request, client_address)


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True
    server: _Server

    def do_POST(self) -> None:
        loopback = self.server.loopback
        body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        fault = loopback.received(body, self.headers.get("Authorization", ""))
        try:
            time.sleep(3 if fault == "hang" else loopback.delay)
            self._reply(fault, body)
        finally:
            loopback.done(body, fault)

    def _reply(self, fault: str | None, body: dict[str, Any]) -> None:
        loopback = self.server.loopback
        errors = {
            "429": (429, {"message": "slow down"}, {"Retry-After": loopback.retry_after}),
            "quota": (429, {"message": "no credit left", "code": "insufficient_quota"}, {}),
            "500": (500, {"message": "out of order"}, {}),
            # as careless servers do, it repeats what it was sent
            "refused": (400, {"message": f"not with {self.headers.get('Authorization')}"}, {}),
        }
        if fault in errors:
            status, error, headers = errors[fault]
            self._send(status, {"error": error}, headers)
        elif fault == "cut":
            self.connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
            self.close_connection = True
            self.connection.close()
        elif fault == "malformed":
            self._send_bytes(200, b'{"choices": [{"text": "B", "logp')
        else:
            self._send(200, {"id": "1"} if fault == "no choices" else loopback.responder(self.path, body))

    def _send(self, status: int, value: dict[str, Any], headers: dict[str, str] | None = None) -> None:
        self._send_bytes(status, json.dumps(value).encode(), headers)

    def _send_bytes(self, status: int, data: bytes, headers: dict[str, str] | None = None) -> None:
        self.send_response(status)
        for name, value in {"Content-Type": "application/json", **(headers or {})}.items():
            self.send_header(name, value)
        self.send_header("Content-Length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)

    def log_message(self, format: str, *args: Any) -> None:
        pass


def completion(
    text: str, *, prompt_tokens: int = 10, completion_tokens: int = 1, **choice: Any
) -> dict[str, Any]:
    """An answer of the completions endpoint."""
    return _answer({"text": text, "finish_reason": "stop", **choice}, prompt_tokens, completion_tokens)


def message(
    text: str, *, prompt_tokens: int = 10, completion_tokens: int = 1, **choice: Any
) -> dict[str, Any]:
    """An answer of the chat endpoint."""
    said = {"message": {"role": "assistant", "content": text}, "finish_reason": "stop", **choice}
    return _answer(said, prompt_tokens, completion_tokens)


def _answer(choice: dict[str, Any], prompt_tokens: int, completion_tokens: int) -> dict[str, Any]:
    total = prompt_tokens + completion_tokens
    counts = {"prompt_tokens": prompt_tokens, "completion_tokens": completion_tokens, "total_tokens": total}
    return {"id": "x", "object": "completion", "created": 0, "model": "m", "choices": [{"index": 0, **choice}],
            "usage": counts}  # fmt: skip
