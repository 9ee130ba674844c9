"""Mistakes in an entry of a data set, and data sets that would lead elsewhere, are named and refused."""

import pytest
import yaml
from test_benchmarks_dataset import COLUMNS, NAME, books, entry_of, table_of, written

import hub_datasets as made
from pretrace.runtime.errors import InputError

MISTAKES = [
    ({"hub_config": "snipets"}, r"no configuration 'snipets' \(hub_config\): did you mean 'snippets'"),
    ({}, r"set hub_config to one of its configurations: snippets, pages"),
    ({"hub_config": "pages", "splits": ["member"]}, r"no split 'member': did you mean 'members'"),
    ({"hub_config": "pages"}, r"name the ones to read under splits: members, nonmembers"),
    ({"hub_config": "snippets", "splits": ["test"]}, r"split test: set columns.text .*snippet, seen, book"),
    ({"hub_config": "snippets", "splits": ["test"], "columns": {"text": "snipet"}},
     r"no column 'snipet' \(columns.text\): did you mean 'snippet'"),
    ({"hub_config": "snippets", "splits": ["test"], "columns": {"text": "snippet"}},
     r"no column is called label: set columns.label"),
    ({"hub_config": "snippets", "splits": {"test": {"label": 1}}, "columns": COLUMNS},
     r"label is given by both columns and splits"),
    ({"hub_config": "snippets", "splits": ["test"], "columns": {"text": "seen", "label": "seen"}},
     r"split test, row 1: input is 0|split test, row 1: text is 0; it must be"),
    ({"hub_config": "snippets", "splits": ["test"], "columns": COLUMNS | {"length": "book"}},
     r"split test, row 1: length is 'book 0'; it must be a whole number"),
]  # fmt: skip


@pytest.mark.parametrize(("keys", "message"), MISTAKES)
def test_a_mistake_is_named_with_what_there_is(tmp_path, keys, message):
    with pytest.raises(InputError, match=message):
        table_of(written(tmp_path, books()), **keys)


@pytest.mark.parametrize(
    ("keys", "message"),
    [
        ({"columns": {"texts": "a"}}, "did you mean 'text'"),
        ({"splits": {"a": {"label": 2}}}, r"mine\.splits\.a\.label: 2 is not valid"),
        ({"labels": {"yes": "member"}}, r"mine\.labels\.yes: 'member' is not valid"),
    ],
)
def test_the_schema_refuses_wrong_keys(keys, message):
    with pytest.raises(InputError, match=message):
        entry_of(hub=NAME, **keys)
    with pytest.raises(InputError, match="missing key 'hub' or 'path'"):
        entry_of()


def test_files_that_differ_in_type_or_are_broken_are_named(tmp_path):
    folder = written(tmp_path, books() | {"all/held_out.parquet": b"PAR1 broken"})
    with pytest.raises(InputError, match=r"datasets cannot read .*Arrow"):
        table_of(folder, hub_config="snippets", splits=["train"], columns=COLUMNS)


@pytest.mark.parametrize("place", ["../outside.jsonl", "{folder}/outside.jsonl"])
def test_a_readme_leads_to_no_other_files(tmp_path, place):
    (tmp_path / "outside.jsonl").write_bytes(made.jsonl([{"text": "secret", "label": 1}]))
    configs = [{"config_name": "a", "data_files": place.format(folder=tmp_path)}]
    card = f"---\n{yaml.safe_dump({'configs': configs})}---\n"
    folder = written(tmp_path / "data", {"README.md": card.encode()})
    with pytest.raises(InputError, match=r"its configs name .*outside\.jsonl, which is not in it"):
        table_of(folder)


def test_a_repository_of_a_script_alone_is_refused_and_its_code_not_fetched(hub, tmp_path):
    hub.add("datasets", NAME, {"README.md": b"# hi", "books.py": b"raise SystemExit"})
    with pytest.raises(
        InputError, match=r"only a script \(books.py\), and scripts are never run.*refs/convert"
    ):
        table_of(tmp_path, hub=NAME)
    assert not any("resolve" in path and path.endswith(".py") for _, path, _ in hub.asked)
    hub.add("datasets", "someone/empty", {"README.md": b"# hi"})
    with pytest.raises(InputError, match="has no file like"):
        table_of(tmp_path, hub="someone/empty")


def test_a_path_that_is_no_folder_is_refused(tmp_path):
    (tmp_path / "a.csv").write_text("text,label\na,1\n")
    with pytest.raises(InputError, match="is not a folder"):
        table_of(tmp_path / "a.csv")
    with pytest.raises(InputError, match=r"cannot read a folder with \[ \] in its path"):
        table_of(written(tmp_path / "a[1]", books()))
