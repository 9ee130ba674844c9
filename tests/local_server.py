"""A web server on loopback for tests; a subclass of `LocalServer` says what it
answers."""

import sys
import threading
from collections.abc import Mapping
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from types import MappingProxyType
from typing import Any, Self

NONE: Mapping[str, str] = MappingProxyType({})


class Request(BaseHTTPRequestHandler):
    """A request that came; `reply` answers it."""

    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True

    def do_GET(self) -> None:
        self.server.answer(self)

    do_HEAD = do_POST = do_GET  # noqa: N815

    def reply(
        self,
        status: int,
        data: bytes,
        headers: Mapping[str, str] = NONE,
        sent: int | None = None,
    ) -> None:
        """Answer with these bytes; only the first `sent` of them go out before the
        connection breaks off."""
        self.send_response(status)
        for name, value in {**headers, "Content-Length": str(len(data))}.items():
            self.send_header(name, value)
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(data[:sent])
        self.close_connection |= sent is not None

    def log_message(self, format: str, *args: Any) -> None:
        pass


class _Server(ThreadingHTTPServer):
    daemon_threads = True
    request_queue_size = 128

    def handle_error(self, request: Any, client_address: Any) -> None:
        """A client that was killed, or gave up waiting, is none of the server's
        concern."""
        if not isinstance(sys.exception(), ConnectionError):
            super().handle_error(request, client_address)


class LocalServer:
    """Serves while used as a context manager; `lock` is for what its threads share.

    `port` 0 is any free one.
    """

    def __init__(self, port: int = 0) -> None:
        self.lock = threading.Lock()
        self._server = _Server(("127.0.0.1", port), Request)
        self._server.answer = self.answer
        self.port = self._server.server_port

    def __enter__(self) -> Self:
        threading.Thread(
            target=self._server.serve_forever, args=(0.05,), daemon=True
        ).start()
        return self

    def __exit__(self, *error: object) -> None:
        self._server.shutdown()
        self._server.server_close()

    def answer(self, request: Request) -> None:
        raise NotImplementedError
