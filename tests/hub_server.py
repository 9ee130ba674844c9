"""A Hugging Face hub on loopback for tests: repositories of small files behind the
hub's own protocol.

What the hub's client asks for is there: repository information and trees at a revision,
files by `resolve` (large ones by a redirect to a store of blobs, with `X-Linked-Etag`
and `X-Linked-Size`), ETag and Range, discussions, gated and missing repositories (401,
403, 404 with `X-Error-Code`), 429 with `Retry-After`. `pages` holds plain web files.
"""

import hashlib
import json
import re
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, unquote, urlsplit

from local_server import LocalServer, Request

LARGE = (".parquet", ".safetensors", ".gz", ".csv", ".jsonl", ".bin", ".zip")
"""Endings of files that the hub keeps apart (LFS): their ETag is the SHA-256, and
`resolve` redirects to them."""

Files = Mapping[str, bytes]


@dataclass
class Repository:
    """`commits`: sha -> files; `revisions`: branch, tag or refs/pr/N -> sha. `token`:
    what a gated one lets in."""

    commits: dict[str, Files] = field(default_factory=dict)
    revisions: dict[str, str] = field(default_factory=dict)
    token: str = ""
    discussions: list[dict[str, Any]] = field(default_factory=list)

    def place(self, written: str) -> tuple[str, str] | None:
        """(sha, path) of `{revision}/{path}`, whose revision may hold slashes."""
        for name in (*self.commits, *sorted(self.revisions, key=len, reverse=True)):
            if written == name or written.startswith(f"{name}/"):
                return self.revisions.get(name, name), written[len(name) + 1 :]
        return None


class Hub(LocalServer):
    """Serves at `url`.

    `asked` has every request: method, path and Range header. `limited`: how many of the
    next requests are answered by 429, with the headers `limits`. `cut` and `corrupted`: file name -> how many of
    its next deliveries break off in the middle, or hold other bytes of the same length.
    """

    def __init__(self, port: int = 0) -> None:
        super().__init__(port)
        self.repositories: dict[tuple[str, str], Repository] = {}
        self.pages: dict[str, bytes] = {}
        self.asked: list[tuple[str, str, str]] = []
        self.limited = 0
        self.limits = {"Retry-After": "0"}
        self.cut: Counter[str] = Counter()
        self.corrupted: Counter[str] = Counter()
        self.url = f"http://127.0.0.1:{self.port}"

    def add(
        self,
        kind: str,
        name: str,
        files: Files,
        *,
        revision: str = "main",
        token: str = "",
    ) -> str:
        """Put a commit with these files at `revision` of a repository (`kind`: models,
        datasets); its sha."""
        repository = self.repositories.setdefault((kind, name), Repository())
        repository.token = token
        content = [(path, _sha256(data)) for path, data in sorted(files.items())]
        sha = hashlib.sha1(
            json.dumps([kind, name, revision, content]).encode()
        ).hexdigest()
        repository.commits[sha] = dict(files)
        repository.revisions[revision] = sha
        return sha

    def add_folder(self, kind: str, name: str, folder: Path, **options: str) -> str:
        """The same with the files of a folder, as `save_pretrained` leaves them."""
        files = {
            path.relative_to(folder).as_posix(): path
            for path in folder.rglob("*")
            if path.is_file()
        }
        return self.add(
            kind,
            name,
            {path: file.read_bytes() for path, file in files.items()},
            **options,
        )

    def propose(
        self,
        name: str,
        number: int,
        files: Files,
        *,
        title: str,
        author: str,
        status: str = "open",
    ) -> None:
        """A pull request to a model, with its files at refs/pr/{number}."""
        self.add("models", name, files, revision=f"refs/pr/{number}")
        self.repositories["models", name].discussions.append(
            {
                "num": number,
                "title": title,
                "author": {"name": author},
                "status": status,
                "isPullRequest": True,
                "createdAt": "2024-01-01T00:00:00.000Z",
                "repo": {"name": name, "type": "model"},
            }
        )

    def environment(self, home: Path) -> dict[str, str]:
        """What makes the hub's client, in another process, use this hub and a cache of
        its own."""
        return {
            "HF_ENDPOINT": self.url,
            "HF_HOME": str(home),
            "HF_HUB_DISABLE_XET": "1",
        }

    def use_here(self, monkeypatch: Any, folder: Path) -> None:
        """The same for this process, which may have read its environment already; no
        token is left."""
        from huggingface_hub import constants

        for name, value in {
            "ENDPOINT": self.url,
            "HUGGINGFACE_CO_URL_TEMPLATE": self.url
            + "/{repo_id}/resolve/{revision}/{filename}",
            "HF_HUB_CACHE": str(folder / "cache"),
            "HF_TOKEN_PATH": str(folder / "token"),
            "HF_HUB_DISABLE_XET": True,
        }.items():
            monkeypatch.setattr(constants, name, value)
        monkeypatch.delenv("HF_TOKEN", raising=False)

    def answer(self, request: Request) -> None:
        parts = urlsplit(request.path)
        path = unquote(parts.path)
        with self.lock:
            self.asked.append((request.command, path, request.headers.get("Range", "")))
            too_many = self.limited > 0
            self.limited -= too_many
        if too_many:
            request.reply(429, b"slow down", self.limits)
        elif path.startswith("/blobs/"):
            kind, owner, name, sha, file = path.removeprefix("/blobs/").split("/", 4)
            data = self.repositories[kind, f"{owner}/{name}"].commits[sha][file]
            self._file(
                request,
                path,
                data,
                {"ETag": f'"{_sha256(data)}"', "Accept-Ranges": "bytes"},
            )
        elif path in self.pages:
            self._file(
                request,
                path,
                self.pages[path],
                {"ETag": f'"{_sha256(self.pages[path])}"'},
            )
        elif api := re.fullmatch(
            r"/api/(models|datasets)/([^/]+/[^/]+)(?:/(revision|tree|discussions|paths-info|auth-check)(?:/(.*))?)?",
            path,
        ):
            self._api(
                request,
                (api[1], api[2]),
                api[3] or "revision",
                api[4] or "main",
                parse_qs(parts.query),
            )
        elif file := re.fullmatch(r"(?:/(datasets))?/([^/]+/[^/]+)/resolve/(.+)", path):
            self._resolve(request, (file[1] or "models", file[2]), file[3])
        else:
            request.reply(404, b"nothing here")

    def _api(
        self,
        request: Request,
        key: tuple[str, str],
        what: str,
        revision: str,
        query: dict[str, list[str]],
    ) -> None:
        """Information, tree or discussions, which the hub shows of a gated repository
        to everybody."""
        body = parse_qs(
            request.rfile.read(int(request.headers.get("Content-Length", 0))).decode()
        )
        repository = self.repositories.get(key)
        if repository is None:
            return _refuse_unknown(request)
        place = repository.place(revision)
        if what == "auth-check":
            if self._is_closed(request, repository, key):
                return None
            value: Any = {}
        elif what == "discussions":
            author = query.get("author", [None])[0]
            shown = [
                item
                for item in repository.discussions
                if author in (None, item["author"]["name"])
            ]
            value = {"discussions": shown, "count": len(shown), "start": 0}
        elif place is None:
            return _refuse(request, 404, "RevisionNotFound", "Invalid rev id")
        else:
            files = sorted(repository.commits[place[0]].items())
            about = {"private": False, "tags": [], "downloads": 0, "likes": 0}
            about |= {
                "gated": bool(repository.token),
                # the hub leaves out all but the name unless it is asked for blobs
                "siblings": [
                    {"rfilename": path, "size": len(data), "blobId": _git_blob(data)}
                    for path, data in files
                ],
            }
            value = {"id": key[1], "sha": place[0], **about}
            if what == "tree":
                value = [_described(path, data) for path, data in files]
            elif what == "paths-info":
                value = [
                    _described(path, data)
                    for path, data in files
                    if path in body["paths"]
                ]
            elif "expand" in query:
                del value["siblings"]
        return request.reply(
            200, json.dumps(value).encode(), {"Content-Type": "application/json"}
        )

    def _resolve(self, request: Request, key: tuple[str, str], written: str) -> None:
        repository = self.repositories.get(key)
        if repository is None:
            return _refuse_unknown(request)
        if self._is_closed(request, repository, key):
            return None
        place = repository.place(written)
        if place is None:
            return _refuse(request, 404, "RevisionNotFound", "Invalid rev id")
        sha, path = place
        about = {"X-Repo-Commit": sha, "Accept-Ranges": "bytes"}
        data = repository.commits[sha].get(path)
        if data is None:
            return _refuse(request, 404, "EntryNotFound", "Entry not found", **about)
        if not path.endswith(LARGE):
            return self._file(
                request, path, data, about | {"ETag": f'"{_git_blob(data)}"'}
            )
        # another host, as the hub's store of blobs is
        location = f"http://localhost:{self.port}/blobs/{'/'.join(key)}/{sha}/{path}"
        about |= {
            "X-Linked-Etag": f'"{_sha256(data)}"',
            "X-Linked-Size": str(len(data)),
        }
        return request.reply(302, b"", about | {"Location": location})

    def _is_closed(
        self, request: Request, repository: Repository, key: tuple[str, str]
    ) -> bool:
        """Whether the repository is gated for the account that asks; that is then the
        answer."""
        given = request.headers.get("Authorization", "").removeprefix("Bearer ")
        closed = bool(repository.token) and given != repository.token
        if closed:
            _refuse(
                request,
                403 if given else 401,
                "GatedRepo",
                f"Access to {key[1]} is restricted",
            )
        return closed

    def _file(
        self, request: Request, path: str, data: bytes, headers: dict[str, str]
    ) -> None:
        """A whole file or a range of it; broken off or changed where the hub is told
        to."""
        if self._goes_wrong(self.corrupted, request, path):
            data = bytes(byte ^ 0x55 for byte in data)
        span = re.fullmatch(r"bytes=(\d+)-(\d*)", request.headers.get("Range", ""))
        status = 200
        if span and request.headers.get("If-Range") in (None, headers["ETag"]):
            start, end = int(span[1]), min(int(span[2] or len(data) - 1), len(data) - 1)
            if start >= len(data):
                return request.reply(
                    416, b"", {"Content-Range": f"bytes */{len(data)}"}
                )
            headers = headers | {"Content-Range": f"bytes {start}-{end}/{len(data)}"}
            data, status = data[start : end + 1], 206
        cut = self._goes_wrong(self.cut, request, path)
        return request.reply(
            status, data, headers, sent=len(data) // 2 if cut else None
        )

    def _goes_wrong(self, counter: Counter[str], request: Request, path: str) -> bool:
        """Whether this delivery of a file is one that goes wrong."""
        with self.lock:
            name = next(
                (name for name in counter if path.endswith(name) and counter[name]),
                None,
            )
            if name is None or request.command == "HEAD":
                return False
            counter[name] -= 1
            return True


def _refuse(
    request: Request, status: int, code: str, about: str, **headers: str
) -> None:
    request.reply(
        status, b"", {"X-Error-Code": code, "X-Error-Message": about, **headers}
    )


def _refuse_unknown(request: Request) -> None:
    status = 404 if request.headers.get("Authorization") else 401
    _refuse(request, status, "RepoNotFound", "Repository not found")


def _described(path: str, data: bytes) -> dict[str, Any]:
    described: dict[str, Any] = {
        "type": "file",
        "path": path,
        "size": len(data),
        "oid": _git_blob(data),
    }
    if path.endswith(LARGE):
        described["lfs"] = {"oid": _sha256(data), "size": len(data), "pointerSize": 130}
    return described


def _sha256(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()


def _git_blob(data: bytes) -> str:
    return hashlib.sha1(b"blob %d\0" % len(data) + data).hexdigest()
