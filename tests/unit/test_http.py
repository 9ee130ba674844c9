"""The polite fetcher of plain web files, against a server on loopback."""

import pytest

from hub_server import Hub
from pretrace.runtime.errors import InputError
from pretrace.runtime.http import Fetcher, NotFoundError

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


def test_what_broke_off_is_continued_and_a_changed_file_is_started_anew(server, tmp_path):
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
    assert (tmp_path / "b").read_bytes() == DATA[::-1], "the mark of the first file no longer fits"


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
