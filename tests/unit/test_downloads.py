"""Package files come whole and right, or not at all, from the index that pip is configured for."""

import base64
import hashlib
import os
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest

from pretrace.runtime import downloads
from pretrace.runtime.downloads import fetch_package
from pretrace.runtime.errors import InputError

WHEEL = "some_speeches-1.0-py3-none-any.whl"
CONTENT = b"a wheel, as far as the index knows" * 1000
SHA256 = hashlib.sha256(CONTENT).hexdigest()


class Index(ThreadingHTTPServer):
    """A simple index on the loopback that answers each request for the file with the next of `answers`."""

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), Handler)
        self.answers: list[str] = []
        self.asked: list[str] = []
        self.password = ""
        self.url = f"http://127.0.0.1:{self.server_port}/simple"


class Handler(BaseHTTPRequestHandler):
    server: Index

    def do_GET(self) -> None:
        self.server.asked.append(self.path)
        login = base64.b64encode(f"reader:{self.server.password}".encode()).decode()
        if self.server.password and self.headers.get("Authorization") != f"Basic {login}":
            self.send_error(401)
        elif self.path == "/simple/some-speeches/":
            self.answer(f'<a href="../../files/{WHEEL}#sha256={SHA256}">{WHEEL}</a>'.encode(), "text/html")
        elif self.path == f"/files/{WHEEL}":
            self.send_file(self.server.answers.pop(0) if self.server.answers else "good")
        else:
            self.send_error(404)

    def send_file(self, how: str) -> None:
        if how == "fails":
            self.send_error(503)
        elif how == "truncated":
            self.answer(CONTENT[:-10], "application/octet-stream", length=len(CONTENT))
        elif how == "wrong":
            self.answer(b"another file", "application/octet-stream")
        else:
            self.answer(CONTENT, "application/octet-stream")

    def answer(self, body: bytes, kind: str, length: int | None = None) -> None:
        self.send_response(200)
        self.send_header("Content-Type", kind)
        self.send_header("Content-Length", str(len(body) if length is None else length))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, format: str, *args: object) -> None:
        pass


@pytest.fixture
def index(monkeypatch: pytest.MonkeyPatch) -> Iterator[Index]:
    for variable in os.environ:
        if variable.upper().startswith("PIP_") or variable.lower().endswith("_proxy"):
            monkeypatch.delenv(variable)
    server = Index()
    monkeypatch.setenv("PIP_CONFIG_FILE", os.devnull)
    monkeypatch.setenv("PIP_INDEX_URL", server.url)
    threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01}, daemon=True).start()
    yield server
    server.shutdown()
    server.server_close()


@pytest.fixture
def waits(monkeypatch: pytest.MonkeyPatch) -> list[float]:
    waited: list[float] = []
    monkeypatch.setattr(downloads.time, "sleep", waited.append)
    return waited


def fetch(out: Path, filename: str = WHEEL) -> None:
    fetch_package("Some.Speeches", "1.0", filename, SHA256, out)


def test_a_file_comes_from_the_index_that_pip_is_configured_for(index: Index, tmp_path: Path) -> None:
    out = tmp_path / "new" / WHEEL
    fetch(out)
    assert out.read_bytes() == CONTENT
    assert index.asked == ["/simple/some-speeches/", f"/files/{WHEEL}"]
    assert list(out.parent.iterdir()) == [out]


@pytest.mark.parametrize("first", ["fails", "truncated", "wrong"])
def test_a_download_that_breaks_is_tried_again(
    index: Index, waits: list[float], tmp_path: Path, first: str
) -> None:
    index.answers = [first]
    fetch(tmp_path / WHEEL)
    assert (tmp_path / WHEEL).read_bytes() == CONTENT
    assert waits == [1]


@pytest.mark.parametrize(
    ("how", "said"),
    [
        ("fails", "HTTP Error 503"),
        ("truncated", f"cut short: {len(CONTENT) - 10} of {len(CONTENT)} bytes"),
        ("wrong", f"found {hashlib.sha256(b'another file').hexdigest()}"),
    ],
)
def test_a_download_that_stays_broken_fails_by_name_and_leaves_nothing(
    index: Index, waits: list[float], tmp_path: Path, how: str, said: str
) -> None:
    index.answers = [how] * 9
    with pytest.raises(InputError) as error:
        fetch(tmp_path / WHEEL)
    for part in (WHEEL, said, SHA256, f"{index.url.removesuffix('/simple')}/files/{WHEEL}"):
        assert part in str(error.value)
    assert waits == [1, 2]
    assert len([path for path in index.asked if path.startswith("/files/")]) == 3
    assert list(tmp_path.iterdir()) == []


def test_a_broken_download_leaves_the_file_that_was_there(
    index: Index, waits: list[float], tmp_path: Path
) -> None:
    (tmp_path / WHEEL).write_bytes(b"from before")
    index.answers = ["wrong"] * 3
    with pytest.raises(InputError):
        fetch(tmp_path / WHEEL)
    assert (tmp_path / WHEEL).read_bytes() == b"from before"


def test_a_file_that_no_place_offers_is_named_with_the_places(
    index: Index, waits: list[float], tmp_path: Path
) -> None:
    with pytest.raises(
        InputError, match=r"some_speeches-2\.0\.tar\.gz.*/simple/some-speeches/: does not offer it"
    ):
        fetch(tmp_path / "x", "some_speeches-2.0.tar.gz")


def test_a_source_archive_comes_without_running_it(
    index: Index, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    folder = tmp_path / "archives"
    folder.mkdir()
    (folder / "some_speeches-1.0.tar.gz").write_bytes(CONTENT)  # no archive: building it would fail
    monkeypatch.setenv("PIP_FIND_LINKS", str(folder))
    fetch(tmp_path / "out.tar.gz", "some_speeches-1.0.tar.gz")
    assert (tmp_path / "out.tar.gz").read_bytes() == CONTENT


def test_no_index_is_asked_where_pip_is_told_so(
    index: Index, waits: list[float], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("PIP_NO_INDEX", "1")
    with pytest.raises(InputError, match="no-index"):
        fetch(tmp_path / WHEEL)
    assert index.asked == []


def test_the_next_place_is_tried_where_one_has_another_file_of_that_name(
    index: Index, waits: list[float], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    folder = tmp_path / "folder"
    folder.mkdir()
    (folder / WHEEL).write_bytes(b"another file")
    monkeypatch.setenv("PIP_FIND_LINKS", str(folder))
    fetch(tmp_path / WHEEL)
    assert (tmp_path / WHEEL).read_bytes() == CONTENT
    assert waits == []


def test_a_password_in_the_index_url_is_used_and_never_shown(
    index: Index, waits: list[float], monkeypatch: pytest.MonkeyPatch, tmp_path: Path,
    caplog: pytest.LogCaptureFixture,
) -> None:  # fmt: skip
    index.password = "p@ss"
    monkeypatch.setenv("PIP_INDEX_URL", index.url.replace("//", "//reader:p%40ss@"))
    fetch(tmp_path / WHEEL)
    assert (tmp_path / WHEEL).read_bytes() == CONTENT
    index.answers = ["fails"] * 3
    with pytest.raises(InputError) as error:
        fetch(tmp_path / "again")
    assert "p%40ss" not in str(error.value) + caplog.text


def test_the_environment_overrides_pips_files(
    index: Index, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    settings = tmp_path / "pip.conf"
    settings.write_text("[global]\nindex-url = http://127.0.0.1:9/simple\ntimeout = 7\n")
    monkeypatch.setenv("PIP_CONFIG_FILE", str(settings))
    found = downloads.pip_configuration()
    assert (found["index-url"], found["timeout"]) == (index.url, "7")
