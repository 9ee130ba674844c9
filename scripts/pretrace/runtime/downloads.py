"""One file of a Python package, fetched from the package index that pip is configured for, and checked.

pip itself is not asked to download: for a source archive it would run the package's own build code to learn
its metadata. Instead the index is read directly (the simple repository API, PEP 503), one way for wheels and
source archives, and pip is asked only for its configuration. So its index, extra indexes, folders of files
(find-links), proxy, certificate, time-out and credentials in URLs hold here too; its keyring, client-cert and
trusted-host do not. What a file holds is vouched for by the caller's sha256, not by the index.
"""

import ast
import hashlib
import re
import ssl
import subprocess
import sys
import time
import urllib.error
import urllib.parse
import urllib.request
from base64 import b64encode
from collections.abc import Mapping
from html.parser import HTMLParser
from http.client import HTTPException
from pathlib import Path
from typing import IO

import certifi

from pretrace.runtime.errors import InputError
from pretrace.runtime.files import atomic_path
from pretrace.runtime.logs import Progress, log

_CHUNK = 1 << 20
_MEGABYTE = 1_000_000
_FAILURES = (OSError, HTTPException)  # URLError, HTTPError, time-outs and TLS errors are OSErrors


class _WrongFileError(Exception):
    """A place does not have the file that was asked for, or sent another."""


def fetch_package(name: str, version: str, filename: str, sha256: str, out: Path, attempts: int = 3) -> None:
    """Fetch `filename` of the package `name` to `out`, which appears whole and right or not at all.

    Each attempt tries every place that offers the file; before the next one it waits 1, 2, 4 ... seconds.
    Raises `InputError` with the file's name, each place and what went wrong there.
    """
    package_index = _PackageIndex(pip_configuration())
    for attempt in range(attempts):
        if attempt:
            time.sleep(2 ** (attempt - 1))
        failures = _fetch_once(package_index, name, filename, sha256, out)
        if not failures:
            return
        log.warning("fetching %s, attempt %d of %d: %s", filename, attempt + 1, attempts, "; ".join(failures))
    raise InputError(
        f"{filename} (sha256 {sha256}) of {name} {version} could not be fetched in {attempts} attempts. "
        f"The last: {'; '.join(failures)}. Run again when the network is back, give pip an index with the "
        f"file (PIP_INDEX_URL), or name a folder that holds it in PIP_FIND_LINKS."
    )


def _fetch_once(
    package_index: "_PackageIndex", name: str, filename: str, sha256: str, out: Path
) -> list[str]:
    """What went wrong at each place, in pip's order; nothing where one of them gave the file."""
    failures = []
    for page in package_index.pages(name):
        place = page
        try:
            place = package_index.link(page, filename)
            with atomic_path(out) as part:
                package_index.save(place, part, filename, sha256)
        except (*_FAILURES, _WrongFileError) as error:
            failures.append(f"{_without_password(place)}: {error}")
        else:
            log.info("fetched %s from %s", filename, _without_password(place))
            return []
    return failures or ["pip is configured to look nowhere (no-index without find-links)"]


def pip_configuration() -> dict[str, str]:
    """pip's settings by their long option names, environment over files; empty where pip is not installed."""
    listed = subprocess.run(
        [sys.executable, "-m", "pip", "config", "list"], capture_output=True, text=True, check=False
    )
    if listed.returncode:
        log.warning("pip does not tell its configuration, so PyPI is taken: %s", listed.stderr.strip())
    settings: dict[str, str] = {}
    for section in ("global", "download", ":env:"):
        for line in listed.stdout.splitlines():
            key, separator, value = line.partition("=")
            if separator and key.startswith(f"{section}."):
                settings[key.removeprefix(f"{section}.")] = str(ast.literal_eval(value))
    return settings


class _PackageIndex:
    """The places where pip would look for a file, and the connection to them."""

    def __init__(self, settings: Mapping[str, str]) -> None:
        self._folders = [_as_url(place) for place in settings.get("find-links", "").split()]
        self._indexes: list[str] = []
        if settings.get("no-index", "").lower() not in ("1", "true", "yes", "on"):
            self._indexes.append(settings.get("index-url", "https://pypi.org/simple"))
            self._indexes += settings.get("extra-index-url", "").split()
        self._timeout = float(settings.get("timeout") or settings.get("default-timeout") or 60)
        self._credentials = dict(filter(None, map(_credentials, self._indexes + self._folders)))
        proxy = settings.get("proxy")
        self._opener = urllib.request.build_opener(
            urllib.request.ProxyHandler({"http": proxy, "https": proxy} if proxy else None),
            urllib.request.HTTPSHandler(context=_trust(settings.get("cert"))),
        )

    def pages(self, name: str) -> list[str]:
        """Where the package's files may be listed: folders first, then its page of each index."""
        project = re.sub(r"[-_.]+", "-", name).lower()
        return self._folders + [f"{_as_url(index).rstrip('/')}/{project}/" for index in self._indexes]

    def link(self, page: str, filename: str) -> str:
        """Where the page says that the file is."""
        for link in self._links(page):
            if _filename(link) == filename:
                return link
        raise _WrongFileError("does not offer it")

    def _links(self, page: str) -> list[str]:
        parts = urllib.parse.urlsplit(page)
        if parts.scheme == "file":
            folder = Path(urllib.request.url2pathname(parts.path))
            if folder.is_dir() and not (folder / "index.html").exists():
                return [path.as_uri() for path in sorted(folder.iterdir())]
            if folder.is_dir():
                page = f"{page.rstrip('/')}/index.html"
        with self._open(page, accept="text/html") as answer:
            parser = _Links(answer.url)
            parser.feed(answer.read().decode("utf-8", errors="replace"))
        return parser.links

    def _open(self, url: str, accept: str) -> "urllib.response.addinfourl":
        parts = urllib.parse.urlsplit(url)
        host = parts.netloc.rpartition("@")[2]
        request = urllib.request.Request(parts._replace(netloc=host, fragment="").geturl())
        request.add_header("Accept", accept)
        request.add_header("Accept-Encoding", "identity")
        if host in self._credentials:
            request.add_unredirected_header("Authorization", f"Basic {self._credentials[host]}")
        return self._opener.open(request, timeout=self._timeout)

    def save(self, url: str, part: Path, filename: str, sha256: str) -> None:
        """Write what `url` gives to `part`; `_WrongFileError` where it is cut short or another file."""
        with self._open(url, accept="*/*") as answer, part.open("wb") as file:
            size = answer.headers.get("Content-Length")
            received, found = _copy(answer, file, filename, int(size) if size else None)
        if size and received != int(size):
            raise _WrongFileError(f"cut short: {received} of {size} bytes came")
        if found != sha256:
            raise _WrongFileError(f"another file: expected sha256 {sha256}, found {found} ({received} bytes)")


def _copy(answer: IO[bytes], file: IO[bytes], filename: str, size: int | None) -> tuple[int, str]:
    """Bytes copied and their sha256."""
    digest = hashlib.sha256()
    received = 0
    with Progress(f"fetch {filename}", -(-size // _MEGABYTE) if size else None, "MB") as progress:
        while chunk := answer.read(_CHUNK):
            file.write(chunk)
            digest.update(chunk)
            received += len(chunk)
            progress.update(-(-received // _MEGABYTE) - progress.done)
    return received, digest.hexdigest()


class _Links(HTMLParser):
    """The targets of a page's links, absolute."""

    def __init__(self, page: str) -> None:
        super().__init__()
        self._base = page
        self.links: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        target = dict(attrs).get("href")
        if tag == "base" and target:
            self._base = urllib.parse.urljoin(self._base, target)
        elif tag == "a" and target:
            self.links.append(urllib.parse.urljoin(self._base, target))


def _filename(link: str) -> str:
    return urllib.parse.unquote(urllib.parse.urlsplit(link).path.rpartition("/")[2])


def _as_url(place: str) -> str:
    return (
        place if "://" in place or place.startswith("file:") else Path(place).expanduser().absolute().as_uri()
    )


def _credentials(url: str) -> tuple[str, str] | None:
    """(host, user and password as HTTP's basic authentication writes them)."""
    user, separator, host = urllib.parse.urlsplit(url).netloc.rpartition("@")
    return (host, b64encode(urllib.parse.unquote(user).encode()).decode()) if separator else None


def _without_password(url: str) -> str:
    parts = urllib.parse.urlsplit(url)
    return parts._replace(netloc=parts.netloc.rpartition("@")[2], fragment="").geturl()


def _trust(certificate: str | None) -> ssl.SSLContext:
    """The machine's certificates, certifi's, and the file or folder that pip is told to trust."""
    context = ssl.create_default_context()
    context.load_verify_locations(cafile=certifi.where())
    if certificate and Path(certificate).is_dir():
        context.load_verify_locations(capath=certificate)
    elif certificate:
        context.load_verify_locations(cafile=certificate)
    return context
