"""The hub's client behind `runtime.hub`, against a hub on loopback."""

from pathlib import Path

import pytest
from huggingface_hub import constants

from pretrace.runtime.errors import InputError
from pretrace.runtime.hub import fetch_file, list_files, names_in, snapshot

FILES = {
    "data/a.parquet": b"first",
    "data/b.parquet": b"second",
    "README.md": b"read me",
    "run.py": b"raise",
}


def test_files_that_match_are_fetched_with_the_commit_that_the_revision_names(hub):
    sha = hub.add("datasets", "a/b", FILES)
    fetched = snapshot("a/b", "dataset", "main", ["data/*"])
    assert fetched.commit == sha
    assert fetched.files == ("data/a.parquet", "data/b.parquet")
    assert (fetched.folder / "data/a.parquet").read_bytes() == b"first"
    for _, path, _ in hub.asked:
        assert not path.endswith("run.py")
    assert names_in("a/b", "dataset", "main") == sorted(FILES)
    sha = hub.add(
        "datasets", "a/b", {"data/a.parquet": b"other"}, revision="refs/pr/31"
    )
    fetched = snapshot("a/b", "dataset", "refs/pr/31", ["data/*"])
    assert fetched.commit == sha
    assert (fetched.folder / "data/a.parquet").read_bytes() == b"other"


def test_what_is_in_the_cache_is_taken_without_a_network(hub, monkeypatch):
    hub.add("datasets", "a/b", FILES)
    first = snapshot("a/b", "dataset", "main", ["data/*"])
    monkeypatch.setattr(constants, "HF_HUB_OFFLINE", True)
    before = len(hub.asked)
    assert snapshot("a/b", "dataset", "main", ["data/*"]) == first
    assert len(hub.asked) == before
    with pytest.raises(InputError, match=r"HF_HUB_OFFLINE.*paths"):
        snapshot("a/c", "dataset", "main", ["data/*"])


def test_a_gated_repository_says_how_to_get_in(hub, monkeypatch):
    hub.add("datasets", "a/b", FILES, token="hf_right")
    with pytest.raises(
        InputError,
        match=r"a/b is gated: accept its terms at .*/datasets/a/b and set HF_TOKEN",
    ):
        snapshot("a/b", "dataset", "main", ["data/*"])
    monkeypatch.setenv("HF_TOKEN", "hf_wrong")
    with pytest.raises(InputError, match="gated"):
        snapshot("a/b", "dataset", "main", ["data/*"])
    monkeypatch.setenv("HF_TOKEN", "hf_right")
    assert len(snapshot("a/b", "dataset", "main", ["data/*"]).files) == 2


def test_a_missing_repository_and_revision_are_named(hub):
    with pytest.raises(InputError, match=r"datasets/a/b is not there, or private"):
        snapshot("a/b", "dataset", "main", ["*"])
    hub.add("datasets", "a/b", FILES)
    with pytest.raises(InputError, match="no revision 'v2'"):
        snapshot("a/b", "dataset", "v2", ["*"])


def test_bytes_that_are_not_the_hubs_are_refused_and_not_kept(hub, tmp_path):
    hub.add("datasets", "a/b", {"c4.json.gz": b"right" * 100})
    hub.corrupted["c4.json.gz"] = 1
    with pytest.raises(InputError, match=r"differs from the hub's \(sha256\)"):
        fetch_file("a/b", "dataset", "main", "c4.json.gz", tmp_path / "here")
    path, _ = fetch_file("a/b", "dataset", "main", "c4.json.gz", tmp_path / "here")
    assert path.read_bytes() == b"right" * 100


@pytest.mark.parametrize(
    "page",
    [
        b"<html>Please log in</html>",
        b"[3]",
        b"null",
        b'{"sha": 7}',
        b'{"siblings": [3]}',
    ],
)
def test_a_page_of_a_proxy_is_not_a_defect(hub, monkeypatch, page):
    json_type = {"Content-Type": "application/json"}
    monkeypatch.setattr(
        hub, "answer", lambda request: request.reply(200, page, json_type)
    )
    hub._server.answer = hub.answer
    for ask in (
        lambda: snapshot("a/b", "dataset", "main", ["*"]),
        lambda: list_files("a/b", "model", "main"),
        lambda: names_in("a/b", "dataset", "main"),
    ):
        with pytest.raises(InputError, match=r"a/b at 'main'"):
            ask()


def test_a_limit_of_the_hub_is_waited_for_as_it_says_and_then_named(hub, monkeypatch):
    """Its window is five minutes, and it says so in RateLimit alone."""
    slept = []
    monkeypatch.setattr("pretrace.runtime.hub.time.sleep", slept.append)
    hub.add("datasets", "a/b", FILES)
    hub.limits = {"RateLimit": '"api";r=0;t=255'}
    hub.limited = 2
    assert len(list_files("a/b", "dataset", "main").files) == len(FILES)
    assert slept == [255, 255]
    hub.limited = 10**6
    for ask in (
        lambda: list_files("a/b", "dataset", "main"),
        lambda: fetch_file("a/b", "dataset", "main", "run.py", Path("here")),
    ):
        with pytest.raises(InputError, match=r"limits requests .* or set HF_TOKEN"):
            ask()
