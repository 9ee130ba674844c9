"""Package files come whole and right, or not at all, from where pip is configured to look."""

import os
import zipfile
from pathlib import Path

import pytest

from pretrace.runtime.downloads import fetch_package
from pretrace.runtime.errors import InputError
from pretrace.runtime.files import sha256_file

WHEEL = "some_speeches-1.0-py3-none-any.whl"


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with a wheel, the only place where pip looks."""
    for variable in [name for name in os.environ if name.upper().startswith("PIP_")]:
        monkeypatch.delenv(variable)
    (tmp_path / "packages").mkdir()
    about = "some_speeches-1.0.dist-info"
    with zipfile.ZipFile(tmp_path / "packages" / WHEEL, "w") as wheel:
        wheel.writestr(f"{about}/WHEEL", "Wheel-Version: 1.0\nRoot-Is-Purelib: true\nTag: py3-none-any\n")
        wheel.writestr(f"{about}/METADATA", "Metadata-Version: 2.1\nName: some-speeches\nVersion: 1.0\n")
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


def test_another_file_of_that_name_is_refused_and_leaves_what_was_there(folder, tmp_path):
    out = tmp_path / "new" / WHEEL
    out.parent.mkdir()
    out.write_bytes(b"from before")
    with pytest.raises(InputError, match=rf"{WHEEL} \(sha256 {'0' * 64}\)(?s:.*)DO NOT MATCH") as error:
        fetch_package("some-speeches", "1.0", WHEEL, "0" * 64, out)
    assert sha256_file(folder / WHEEL) in str(error.value)
    assert out.read_bytes() == b"from before"
    assert list(out.parent.iterdir()) == [out]


def test_a_file_that_no_place_offers_is_named_and_no_password_is_shown(folder, tmp_path, monkeypatch):
    monkeypatch.delenv("PIP_NO_INDEX")
    monkeypatch.setenv("PIP_INDEX_URL", "http://reader:p%40ss@127.0.0.1:9/simple")
    with pytest.raises(InputError, match=r"some_speeches-2\.0\.tar\.gz(?s:.*)PIP_FIND_LINKS") as error:
        fetch_package(
            "some-speeches", "2.0", "some_speeches-2.0.tar.gz", "0" * 64, tmp_path / "x", attempts=1
        )
    assert "127.0.0.1" in str(error.value)
    assert "p%40ss" not in str(error.value)
