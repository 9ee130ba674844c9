"""The fetcher of plain web files, against a server on loopback; package files, from
where pip is configured to look."""

import os
import time
import zipfile
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from hub_server import Hub
from local_server import LocalServer
from pretrace.runtime.downloads import fetch_package
from pretrace.runtime.errors import InputError
from pretrace.runtime.files import sha256_file
from pretrace.runtime.http import Fetcher, NotFoundError, asked_wait

DATA = bytes(range(256)) * 2000


@pytest.fixture
def server():
    with Hub() as hub:
        hub.pages["/book.txt"] = DATA
        yield hub


def fetcher(slept, attempts=3, pause=0.0):
    return Fetcher(attempts, pause, slept.append)


def test_a_pause_stands_between_two_requests(server, tmp_path):
    slept: list[float] = []
    fetching = fetcher(slept, pause=2.0)
    for name in ("a", "b", "c"):
        fetching.save(f"{server.url}/book.txt", tmp_path / name)
        assert (tmp_path / name).read_bytes() == DATA
    assert slept == [2.0, 2.0]


def test_what_broke_off_is_continued_and_a_changed_file_is_started_anew(
    server, tmp_path
):
    server.cut["book.txt"] = 1
    fetcher([]).save(f"{server.url}/book.txt", tmp_path / "a")
    assert (tmp_path / "a").read_bytes() == DATA
    spans = [span for _, _, span in server.asked]
    assert spans[0] == ""
    assert spans[1] == f"bytes={len(DATA) // 2}-"
    server.cut["book.txt"] = 1
    with pytest.raises(InputError, match="run again to continue"):
        fetcher([], attempts=1).save(f"{server.url}/book.txt", tmp_path / "b")
    assert not (tmp_path / "b").exists()
    server.pages["/book.txt"] = DATA[::-1]
    fetcher([]).save(f"{server.url}/book.txt", tmp_path / "b")
    assert (tmp_path / "b").read_bytes() == DATA[::-1], (
        "the mark of the first file no longer fits"
    )


def test_a_limit_is_waited_for_and_a_missing_file_is_not_tried_again(server, tmp_path):
    slept: list[float] = []
    server.limited = 1
    fetcher(slept).save(f"{server.url}/book.txt", tmp_path / "a")
    assert slept == [2.0], "Retry-After is 0, so the usual wait"
    before = len(server.asked)
    with pytest.raises(NotFoundError, match=r"none\.txt is not there"):
        fetcher(slept).save(f"{server.url}/none.txt", tmp_path / "b")
    assert len(server.asked) == before + 1
    assert [path.name for path in tmp_path.iterdir()] == ["a"]


class Odd(LocalServer):
    """Continues another file than the one that had begun, or sends a few bytes now and
    then."""

    drips = False

    def answer(self, request):
        if self.drips:
            request.send_response(200)
            request.end_headers()
            request.close_connection = True
            for _ in range(20):
                request.wfile.write(b"a")
                time.sleep(0.05)
        elif span := request.headers.get("Range"):
            start = int(span.removeprefix("bytes=").removesuffix("-"))
            about = {
                "ETag": '"other"',
                "Content-Range": f"bytes {start}-{len(DATA) - 1}/{len(DATA)}",
            }
            request.reply(206, DATA[::-1][start:], about)
        else:
            request.reply(
                200, DATA, {"ETag": '"one"'}, None if self.whole else len(DATA) // 2
            )
            self.whole = True

    whole = False


def test_a_part_of_another_file_is_not_joined(tmp_path):
    with Odd() as server:
        fetcher([]).save(f"http://127.0.0.1:{server.port}/a", tmp_path / "a")
    assert (tmp_path / "a").read_bytes() == DATA


def test_a_slow_drip_ends(tmp_path, monkeypatch):
    monkeypatch.setattr("pretrace.runtime.http._SLOW_FOR", 0.2)
    monkeypatch.setattr(Odd, "drips", True)
    with (
        Odd() as server,
        pytest.raises(InputError, match="less than 10000 bytes came in"),
    ):
        fetcher([], attempts=1).save(
            f"http://127.0.0.1:{server.port}/a", tmp_path / "a"
        )


WHEEL = "some_speeches-1.0-py3-none-any.whl"


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with a wheel, the only place where pip looks."""
    for variable in [name for name in os.environ if name.upper().startswith("PIP_")]:
        monkeypatch.delenv(variable)
    (tmp_path / "packages").mkdir()
    about = "some_speeches-1.0.dist-info"
    with zipfile.ZipFile(tmp_path / "packages" / WHEEL, "w") as wheel:
        wheel.writestr(
            f"{about}/WHEEL",
            "Wheel-Version: 1.0\nRoot-Is-Purelib: true\nTag: py3-none-any\n",
        )
        wheel.writestr(
            f"{about}/METADATA",
            "Metadata-Version: 2.1\nName: some-speeches\nVersion: 1.0\n",
        )
        wheel.writestr(f"{about}/RECORD", "")
    monkeypatch.setenv("PIP_CONFIG_FILE", os.devnull)
    monkeypatch.setenv("PIP_NO_INDEX", "1")
    monkeypatch.setenv("PIP_FIND_LINKS", str(tmp_path / "packages"))
    return tmp_path / "packages"


def test_a_file_comes_from_where_pip_is_configured_to_look(folder, tmp_path):
    out = tmp_path / "new" / "speeches.whl"
    fetch_package("Some.Speeches", "1.0", WHEEL, sha256_file(folder / WHEEL), out)
    assert out.read_bytes() == (folder / WHEEL).read_bytes()
    assert list(out.parent.iterdir()) == [out]


def test_another_file_of_that_name_is_refused_and_leaves_what_was_there(
    folder, tmp_path
):
    out = tmp_path / "new" / WHEEL
    out.parent.mkdir()
    out.write_bytes(b"from before")
    with pytest.raises(
        InputError, match=rf"{WHEEL} \(sha256 {'0' * 64}\)(?s:.*)DO NOT MATCH"
    ) as error:
        fetch_package("some-speeches", "1.0", WHEEL, "0" * 64, out)
    assert sha256_file(folder / WHEEL) in str(error.value)
    assert out.read_bytes() == b"from before"
    assert list(out.parent.iterdir()) == [out]


def test_a_file_that_no_place_offers_is_named_and_no_password_is_shown(
    folder, tmp_path, monkeypatch
):
    monkeypatch.delenv("PIP_NO_INDEX")
    monkeypatch.setenv("PIP_INDEX_URL", "http://reader:p%40ss@127.0.0.1:9/simple")
    with pytest.raises(
        InputError, match=r"some_speeches-2\.0\.tar\.gz(?s:.*)PIP_FIND_LINKS"
    ) as error:
        fetch_package(
            "some-speeches",
            "2.0",
            "some_speeches-2.0.tar.gz",
            "0" * 64,
            tmp_path / "x",
            attempts=1,
        )
    assert "127.0.0.1" in str(error.value)
    assert "p%40ss" not in str(error.value)


@pytest.mark.parametrize(
    ("headers", "wait"),
    [
        ({}, None),
        ({"Retry-After": "7"}, 7),
        ({"Retry-After": "34s"}, 34),
        ({"Retry-After": "Wed, 21 Oct 2015 07:28:00 GMT"}, 0),
        ({"Retry-After": "soon"}, None),
        ({"Retry-After": "inf"}, None),
        ({"retry-after-ms": "250", "Retry-After": "1"}, 0.25),
        # OpenAI's and Groq's: the limit that is used up counts
        ({"x-ratelimit-reset-requests": "6m0s"}, 360),
        (
            {
                "x-ratelimit-remaining-requests": "3",
                "x-ratelimit-reset-requests": "2h",
                "x-ratelimit-remaining-tokens": "0",
                "x-ratelimit-reset-tokens": "1m7.66s",
            },
            67.66,
        ),
        ({"x-ratelimit-remaining": "12", "x-ratelimit-reset": "60"}, None),
        # Anthropic's, and OpenRouter's in milliseconds since 1970
        (
            {
                "anthropic-ratelimit-tokens-remaining": "0",
                "anthropic-ratelimit-tokens-reset": "{date}",
            },
            90,
        ),
        ({"X-RateLimit-Reset": "{milliseconds}"}, 90),
        # the hub's, and the older form of the draft
        ({"RateLimit": '"api";r=0;t=255'}, 255),
        ({"RateLimit": '"pages";r=9;t=9, "api";r=0;t=255'}, 255),
        ({"RateLimit": '"api";t=255;r=0'}, 255),
        ({"RateLimit": "limit=10, remaining=0, reset=50"}, 50),
        ({"RateLimit": '"api";r=4;t=255'}, None),
    ],
)
def test_how_a_server_asks_to_wait(headers, wait):
    soon = datetime.now(UTC) + timedelta(seconds=90)
    about = {"date": soon.isoformat(), "milliseconds": int(soon.timestamp() * 1000)}
    told = asked_wait({name: value.format(**about) for name, value in headers.items()})
    assert told == (wait if wait is None else pytest.approx(wait, abs=2))
