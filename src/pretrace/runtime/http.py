"""Files of the web outside the hub, politely: one request at a time, pauses, waiting if
a server asks for it; and how servers ask."""

import re
import time
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING

from pretrace.runtime.errors import InputError, remedy
from pretrace.runtime.logs import Progress, log

if TYPE_CHECKING:
    import ssl

    import httpx2

USER_AGENT = "pretrace (research on pretraining data; one request at a time)"
# too slow, too many, or the server's own fault: may pass
_TRY_AGAIN = (408, 429, 500, 502, 503, 504)
_LONGEST_WAIT = 900.0  # seconds; a server that asks for more is given up on
_MEGABYTE = 1_000_000
# seconds in which at least this many bytes must come
_SLOW_FOR, _LEAST_BYTES = 60.0, 10_000


_UNITS = {"ms": 0.001, "s": 1.0, "m": 60.0, "h": 3600.0, "d": 86400.0}
_SPAN = re.compile(r"(?:[\d.]+(?:ms|[smhd]))+")
_SPAN_PART = re.compile(r"([\d.]+)(ms|[smhd])")
_USED_UP = re.compile(r"\b(?:r|remaining)=0\b", re.IGNORECASE)
_RESET = re.compile(r"\b(?:t|reset)=(\d+)", re.IGNORECASE)
_POLICIES = re.compile(r',\s*(?=")')
_EPOCH = 10**9  # a larger number of seconds is a moment since 1970
_EPOCH_MS = 10**11


def asked_wait(headers: Mapping[str, str]) -> float | None:
    """Read the seconds that a server asks to wait; None if it does not say.

    In `Retry-After` (seconds or a date) and `retry-after-ms`; where a limit is used up,
    in `RateLimit` (r=0;t=255) and in `...ratelimit-reset...` (seconds, 6m0s, a date or
    a moment), beside which `...ratelimit-remaining...` is 0: the longest of these.
    """
    told = {name.lower(): value for name, value in headers.items()}
    milliseconds = told.get("retry-after-ms", "")
    if milliseconds:
        told["retry-after"] = f"{milliseconds}ms"
    after = _seconds(told.get("retry-after", ""))
    if after is not None:
        return after
    waits = []
    for name, value in told.items():
        remaining = told.get(name.replace("reset", "remaining"), "0")
        is_used_up = remaining.strip() == "0"
        if "ratelimit" in name and "reset" in name and is_used_up:
            waits.append(_seconds(value))
    for policy in _POLICIES.split(told.get("ratelimit", "")):
        reset = _RESET.search(policy)
        if reset and _USED_UP.search(policy):
            waits.append(float(reset[1]))
    return max((wait for wait in waits if wait is not None), default=None)


def _seconds(value: str) -> float | None:
    """Read a number of seconds, a span (6m0s), a date, or a moment in seconds or
    milliseconds since 1970, as seconds from now; None if it is nothing of these."""
    value = value.strip()
    now = time.time()
    with suppress(ValueError):
        if _SPAN.fullmatch(value):
            parts = _SPAN_PART.findall(value)
            return sum(float(number) * _UNITS[unit] for number, unit in parts)
        number = float(value)
        if number > _EPOCH_MS:
            number /= 1000
        if number > _EPOCH:
            number -= now
        return max(0.0, number) if number < _EPOCH else None
    for read in (parsedate_to_datetime, datetime.fromisoformat):
        with suppress(ValueError, OverflowError):
            moment = read(value)
            if moment.tzinfo is None:
                moment = moment.replace(tzinfo=UTC)
            return max(0.0, moment.timestamp() - now)
    return None


@cache
def certificates() -> "ssl.SSLContext":
    """Read the certificates that this machine trusts, once a process: each client would
    read them again, which takes longer than its requests on loopback."""
    import httpx2

    return httpx2.create_ssl_context()


class NotFoundError(InputError):
    """The server has no such file (HTTP 404)."""


def _client() -> "httpx2.Client":
    import httpx2

    return httpx2.Client(follow_redirects=True, timeout=60, verify=certificates())


def check_address(url: str) -> int:
    """Ask for the headers of the file at `url`; return its size in bytes, 0 if the
    server does not say.

    Raises `InputError` if the file is not there or the server cannot be reached.
    """
    import httpx2

    try:
        with _client() as client:
            answer = client.head(url, headers={"User-Agent": USER_AGENT})
    except httpx2.HTTPError as error:
        raise InputError(
            f"{url} is not reached: {type(error).__name__}: {error}"
        ) from error
    if answer.status_code == 404:
        raise NotFoundError(f"{url} is not there (HTTP 404): check the address.")
    if answer.status_code not in (200, 405):  # 405: the server gives no headers alone
        raise InputError(f"{url} cannot be fetched: HTTP {answer.status_code}.")
    return int(answer.headers.get("Content-Length", 0))


@dataclass
class Fetcher:
    """Fetches files to disk, each whole or not at all; a later run continues what broke
    off.

    `pause`: seconds between the end of a request and the next; `attempts`: how often a
    file is tried.
    """

    attempts: int
    pause: float = 0.0
    sleep: Callable[[float], None] = time.sleep
    _is_first: bool = True

    def save(self, url: str, out: Path) -> None:
        """Write the file at `url` to `out`. Raises `InputError` with the server's last
        answer; 404: `NotFoundError`."""
        out.parent.mkdir(parents=True, exist_ok=True)
        for attempt in range(1, self.attempts + 1):
            if self.pause and not self._is_first:
                self.sleep(self.pause)
            self._is_first = False
            wait, problem = self._once(url, out)
            if not problem:
                return
            log.warning(
                "%s, attempt %d of %d: %s", url, attempt, self.attempts, problem
            )
            if wait is None or wait > _LONGEST_WAIT:
                break
            if attempt < self.attempts:
                self.sleep(max(wait, 2.0**attempt))
        kept = "The received part is kept; run again to continue."
        raise InputError(f"{url} could not be fetched: {problem}. {kept}")

    def _once(self, url: str, out: Path) -> tuple[float | None, str]:
        """Try once; return the seconds before the next attempt, None if none can help,
        and what went wrong, or ""."""
        import httpx2

        part = out.with_name(f".{out.name}.part")
        mark = out.with_name(f".{out.name}.etag")
        start = part.stat().st_size if part.exists() and mark.exists() else 0
        headers = {"User-Agent": USER_AGENT, "Accept-Encoding": "identity"}
        if start:
            headers["Range"] = f"bytes={start}-"
            headers["If-Range"] = mark.read_text(encoding="utf-8")
        try:
            with (
                _client() as client,
                client.stream("GET", url, headers=headers) as answer,
            ):
                if answer.status_code == 416:
                    part.unlink()
                    return 0.0, "what had come before does not fit the file any more"
                if answer.status_code == 404:
                    raise NotFoundError(
                        f"{url} is not there (HTTP 404): check the address."
                    )
                if answer.status_code not in (200, 206):
                    wait = asked_wait(answer.headers) or 0.0
                    again = answer.status_code in _TRY_AGAIN
                    return wait if again else None, f"HTTP {answer.status_code}"
                goes_on = answer.status_code == 206
                if goes_on and not _continues(answer, start, headers["If-Range"]):
                    part.unlink()
                    problem = (
                        "the server continued another file than the one that had begun"
                    )
                    return 0.0, problem
                # without a strong ETag, a later request could not continue the file
                etag = answer.headers.get("ETag", "")
                if etag and not etag.startswith("W/"):
                    mark.write_text(etag, encoding="utf-8")
                else:
                    mark.unlink(missing_ok=True)
                size = _copy(answer, part, append=goes_on)
        except (httpx2.HTTPError, OSError) as error:
            advice = remedy(error)
            if advice:
                raise InputError(
                    f"{url} cannot be saved as {out}: {error}. {advice}"
                ) from error
            return 0.0, f"{type(error).__name__}: {error}"
        if part.stat().st_size != size:
            return 0.0, f"cut short: received {part.stat().st_size} of {size} bytes"
        part.replace(out)
        mark.unlink(missing_ok=True)
        return None, ""


def _continues(answer: "httpx2.Response", start: int, etag: str) -> bool:
    """Return whether a part of a file begins where the last one ended, in the same
    file."""
    begins = answer.headers.get("Content-Range", "").startswith(f"bytes {start}-")
    return begins and answer.headers.get("ETag", etag) == etag


def _copy(answer: "httpx2.Response", part: Path, *, append: bool) -> int:
    """Write what comes to `part`; return the size in bytes of the whole file, as the
    server says or as it came."""
    before = part.stat().st_size if append else 0
    length = answer.headers.get("Content-Length")
    megabytes = _megabytes(int(length)) if length else None
    with (
        part.open("ab" if append else "wb") as file,
        Progress(f"fetch {part.name}", megabytes, "MB") as progress,
    ):
        since = time.monotonic()
        counted = before
        for chunk in answer.iter_raw():
            file.write(chunk)
            # the limits of a request are those of one read: a byte now and then would
            # hold the job for ever
            if time.monotonic() - since > _SLOW_FOR:
                if file.tell() - counted < _LEAST_BYTES:
                    raise TimeoutError(
                        f"less than {_LEAST_BYTES} bytes came in {_SLOW_FOR:.0f} "
                        "seconds"
                    )
                since = time.monotonic()
                counted = file.tell()
            progress.update(_megabytes(file.tell() - before) - progress.done)
    return before + int(length) if length else part.stat().st_size


def _megabytes(size: int) -> int:
    """Return a number of bytes in megabytes, rounded up."""
    return -(-size // _MEGABYTE)
