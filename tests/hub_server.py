"""A Hugging Face hub on loopback for tests: repositories of small files behind the hub's own protocol.

What the hub's client asks for is there: repository information and trees at a revision, files by `resolve` (large
ones by a redirect to a store of blobs, with `X-Linked-Etag` and `X-Linked-Size`), ETag and Range, discussions, gated
and missing repositories (401, 403, 404 with `X-Error-Code`), 429 with `Retry-After`. `pages` holds plain web files.
"""

import hashlib
import json
import re
import threading
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from types import MappingProxyType
from typing import Any
from urllib.parse import parse_qs, unquote, urlsplit

LARGE = (".parquet", ".safetensors", ".gz", ".csv", ".jsonl", ".bin", ".zip")
"""Endings of files that the hub keeps apart (LFS): their ETag is the SHA-256, and `resolve` redirects to them."""

Files = Mapping[str, bytes]


@dataclass
class Repository:
    """`commits`: sha -> files; `revisions`: branch, tag or refs/pr/N -> sha. `token`: what a gated one lets in."""

    name: str
    commits: dict[str, Files] = field(default_factory=dict)
    revisions: dict[str, str] = field(default_factory=dict)
    token: str = ""
    discussions: list[dict[str, Any]] = field(default_factory=list)


class Hub:
    """Serves at `url` while used as a context manager.

    `asked` has every request: method, path and Range header. `limited`: how many of the next requests are
    answered by 429. `cut` and `corrupted`: file name -> how many of its next deliveries break off in the middle, or
    hold other bytes of the same length.
    """

    def __init__(self) -> None:
        self.repositories: dict[tuple[str, str], Repository] = {}
        self.pages: dict[str, bytes] = {}
        self.asked: list[tuple[str, str, str]] = []
        self.limited = 0
        self.cut: Counter[str] = Counter()
        self.corrupted: Counter[str] = Counter()
        self._lock = threading.Lock()
        self._server = _Server(("127.0.0.1", 0), _Handler)
        self._server.hub = self
        self.url = f"http://127.0.0.1:{self._server.server_port}"
        # another host, as the hub's store of blobs is
        self.store = f"http://localhost:{self._server.server_port}"

    def __enter__(self) -> "Hub":
        threading.Thread(target=self._server.serve_forever, args=(0.05,), daemon=True).start()
        return self

    def __exit__(self, *error: object) -> None:
        self._server.shutdown()
        self._server.server_close()

    def add(self, kind: str, name: str, files: Files, *, revision: str = "main", token: str = "") -> str:
        """Put a commit with these files at `revision` of a repository (`kind`: models, datasets); its sha."""
        repository = self.repositories.setdefault((kind, name), Repository(name))
        repository.token = token
        content = [(path, hashlib.sha256(data).hexdigest()) for path, data in sorted(files.items())]
        sha = hashlib.sha1(json.dumps([kind, name, revision, content]).encode()).hexdigest()
        repository.commits[sha] = dict(files)
        repository.revisions[revision] = sha
        return sha

    def add_folder(self, kind: str, name: str, folder: Path, **options: str) -> str:
        """The same with the files of a folder, as `save_pretrained` leaves them."""
        files = {path.relative_to(folder).as_posix(): path for path in folder.rglob("*") if path.is_file()}
        return self.add(kind, name, {path: file.read_bytes() for path, file in files.items()}, **options)

    def propose(
        self, name: str, number: int, files: Files, *, title: str, author: str, status: str = "open"
    ) -> None:
        """A pull request to a model, with its files at refs/pr/{number}."""
        self.add("models", name, files, revision=f"refs/pr/{number}")
        self.repositories["models", name].discussions.append(
            {"num": number, "title": title, "author": {"name": author}, "status": status, "isPullRequest": True,
             "createdAt": "2024-01-01T00:00:00.000Z", "repo": {"name": name, "type": "model"}}
        )  # fmt: skip

    def environment(self, home: Path) -> dict[str, str]:
        """What makes the hub's client, in another process, use this hub and a cache of its own."""
        return {"HF_ENDPOINT": self.url, "HF_HOME": str(home), "HF_HUB_DISABLE_XET": "1"}

    def use_here(self, monkeypatch: Any, folder: Path) -> None:
        """The same for this process, which may have read its environment already; no token is left."""
        from huggingface_hub import constants

        for name, value in {
            "ENDPOINT": self.url,
            "HUGGINGFACE_CO_URL_TEMPLATE": self.url + "/{repo_id}/resolve/{revision}/{filename}",
            "HF_HUB_CACHE": str(folder / "cache"),
            "HF_TOKEN_PATH": str(folder / "token"),
            "HF_HUB_DISABLE_XET": True,
        }.items():
            monkeypatch.setattr(constants, name, value)
        monkeypatch.delenv("HF_TOKEN", raising=False)

    def take(self, counter: Counter[str], path: str) -> bool:
        """Whether this delivery of a file is one that goes wrong."""
        with self._lock:
            name = next((name for name in counter if path.endswith(name) and counter[name]), None)
            if name:
                counter[name] -= 1
            return name is not None

    def note(self, method: str, path: str, span: str) -> bool:
        """Write the request down; whether it is one too many."""
        with self._lock:
            self.asked.append((method, path, span))
            too_many = self.limited > 0
            self.limited -= too_many
            return too_many


class _Server(ThreadingHTTPServer):
    daemon_threads = True
    hub: Hub


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    server: _Server

    def do_HEAD(self) -> None:
        self._answer(body=False)

    def do_GET(self) -> None:
        self._answer(body=True)

    def _answer(self, *, body: bool) -> None:
        self._body = body
        hub, parts = self.server.hub, urlsplit(self.path)
        path = unquote(parts.path)
        if hub.note(self.command, path, self.headers.get("Range", "")):
            self._send(429, b"slow down", {"Retry-After": "0"})
        elif path.startswith("/blobs/"):
            self._blob(path)
        elif path in hub.pages:
            self._file(path, hub.pages[path], {"ETag": f'"{hashlib.sha256(hub.pages[path]).hexdigest()}"'})
        elif found := re.fullmatch(
            r"/api/(models|datasets)/([^/]+/[^/]+)(?:/(revision|tree|discussions)(?:/(.*))?)?", path
        ):
            self._api(found[1], found[2], found[3] or "revision", found[4] or "main", parse_qs(parts.query))
        elif found := re.fullmatch(r"(?:/(datasets))?/([^/]+/[^/]+)/resolve/(.+)", path):
            self._resolve(found[1] or "models", found[2], found[3])
        else:
            self._send(404, b"nothing here")

    def _refuse(self, status: int, code: str, about: str, **headers: str) -> None:
        self._send(status, b"", {"X-Error-Code": code, "X-Error-Message": about, **headers})

    def _repository(self, kind: str, name: str) -> Repository | None:
        """The repository, where it is there and the token may read it; else the answer is sent."""
        repository = self.server.hub.repositories.get((kind, name))
        given = self.headers.get("Authorization", "").removeprefix("Bearer ")
        if repository is None:
            self._refuse(404 if given else 401, "RepoNotFound", "Repository not found")
        elif repository.token and given != repository.token:
            self._refuse(403 if given else 401, "GatedRepo", f"Access to {name} is restricted")
            return None
        return repository

    def _api(self, kind: str, name: str, what: str, rest: str, query: dict[str, list[str]]) -> None:
        repository = self.server.hub.repositories.get((kind, name))
        if repository is None:  # the hub shows a gated repository's information and tree to everybody
            self._repository(kind, name)
        elif what == "discussions":
            author = query.get("author", [None])[0]
            found = [one for one in repository.discussions if author in (None, one["author"]["name"])]
            self._json({"discussions": found, "count": len(found), "start": 0})
        elif (found_revision := _revision(repository, rest)) is None:
            self._refuse(404, "RevisionNotFound", "Invalid rev id")
        else:
            sha, _ = found_revision
            files = sorted(repository.commits[sha].items())
            if what == "tree":
                self._json([_described(path, data) for path, data in files])
            else:
                siblings = [{"rfilename": path} for path, _ in files]
                about = {
                    "private": False,
                    "gated": bool(repository.token),
                    "tags": [],
                    "downloads": 0,
                    "likes": 0,
                }
                self._json({"id": name, "sha": sha, "siblings": siblings, **about})

    def _resolve(self, kind: str, name: str, rest: str) -> None:
        repository = self._repository(kind, name)
        if repository is None:
            return
        found = _revision(repository, rest)
        if found is None:
            self._refuse(404, "RevisionNotFound", "Invalid rev id")
            return
        sha, path = found
        if path not in repository.commits[sha]:
            self._refuse(404, "EntryNotFound", "Entry not found", **{"X-Repo-Commit": sha})
            return
        data = repository.commits[sha][path]
        about = {"X-Repo-Commit": sha, "Accept-Ranges": "bytes"}
        if path.endswith(LARGE):
            digest = hashlib.sha256(data).hexdigest()
            about |= {"X-Linked-Etag": f'"{digest}"', "X-Linked-Size": str(len(data)),
                      "Location": f"{self.server.hub.store}/blobs/{kind}/{name}/{sha}/{path}"}  # fmt: skip
            self._send(302, b"", about)
        else:
            self._file(path, data, about | {"ETag": f'"{_git_blob(data)}"'})

    def _blob(self, path: str) -> None:
        kind, owner, name, sha, file = path.removeprefix("/blobs/").split("/", 4)
        data = self.server.hub.repositories[kind, f"{owner}/{name}"].commits[sha][file]
        self._file(path, data, {"ETag": f'"{hashlib.sha256(data).hexdigest()}"', "Accept-Ranges": "bytes"})

    def _file(self, path: str, data: bytes, headers: dict[str, str]) -> None:
        """A whole file or a range of it; broken off or changed where the hub is told to."""
        hub = self.server.hub
        if self._body and hub.take(hub.corrupted, path):
            data = bytes(byte ^ 0x55 for byte in data)
        span = re.fullmatch(r"bytes=(\d+)-(\d*)", self.headers.get("Range", ""))
        condition = self.headers.get("If-Range")
        status = 200
        if span and condition in (None, headers["ETag"]):
            start, end = int(span[1]), min(int(span[2] or len(data) - 1), len(data) - 1)
            if start >= len(data):
                self._send(416, b"", {"Content-Range": f"bytes */{len(data)}"})
                return
            headers = headers | {"Content-Range": f"bytes {start}-{end}/{len(data)}"}
            data, status = data[start : end + 1], 206
        if self._body and hub.take(hub.cut, path):
            self._send(status, data, headers, sent=len(data) // 2)
            self.close_connection = True
            return
        self._send(status, data, headers)

    def _json(self, value: Any) -> None:
        self._send(200, json.dumps(value).encode(), {"Content-Type": "application/json"})

    def _send(
        self,
        status: int,
        data: bytes,
        headers: Mapping[str, str] = MappingProxyType({}),
        sent: int | None = None,
    ) -> None:
        self.send_response(status)
        for name, value in headers.items():
            self.send_header(name, value)
        self.send_header("Content-Length", str(len(data)))
        self.end_headers()
        if self._body:
            self.wfile.write(data[:sent])

    def log_message(self, format: str, *args: Any) -> None:
        pass


def _revision(repository: Repository, rest: str) -> tuple[str, str] | None:
    """(sha, path) of `{revision}/{path}`, whose revision may hold slashes."""
    for name in (*repository.commits, *sorted(repository.revisions, key=len, reverse=True)):
        if rest == name or rest.startswith(f"{name}/"):
            return repository.revisions.get(name, name), rest[len(name) + 1 :]
    return None


def _described(path: str, data: bytes) -> dict[str, Any]:
    described: dict[str, Any] = {"type": "file", "path": path, "size": len(data), "oid": _git_blob(data)}
    if path.endswith(LARGE):
        described["lfs"] = {"oid": hashlib.sha256(data).hexdigest(), "size": len(data), "pointerSize": 130}
    return described


def _git_blob(data: bytes) -> str:
    return hashlib.sha1(b"blob %d\0" % len(data) + data).hexdigest()
