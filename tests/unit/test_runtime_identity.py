"""What a result carries of what it was made from, and the times by which Snakemake then
runs a job or does not."""

import json
import os
import shutil
import time
from pathlib import Path

import pandas as pd
import pyarrow.parquet as pq
import pytest

from pretrace.runtime.errors import InputError
from pretrace.runtime.files import (
    add_to_footer,
    content_of,
    note_in_footer,
    read_json,
    read_parquet,
    write_json,
    write_parquet,
)
from pretrace.runtime.identity import (
    Identities,
    Identity,
    Job,
    identity_file,
    identity_now,
    mark_outputs,
    read_identity,
    write_identity,
)

TABLE = pd.DataFrame({"id": ["a", "b"], "score": [0.5, 0.25]})
IDENTITY = Identity(
    "0" * 64, {"texts/a b.jsonl": "1" * 64, "ü.csv": "2" * 64}, {"drawn.svg": "3" * 64}
)
BUILD = Job(
    "code",
    {"seed": 1, "entry": {"path": "t.jsonl"}},
    ["t.jsonl"],
    ["results/built.parquet"],
)
SCORE = Job(
    "code of scores",
    {"k": 0.2},
    ["results/built.parquet"],
    ["results/scores.json", "results/more.parquet", "results/plain.txt"],
)

OTHER_SEED = BUILD._replace(settings={"seed": 2})


@pytest.fixture(autouse=True)
def finished(tmp_path, monkeypatch) -> None:
    """A working directory in which two jobs, the second on the first's output, have
    run."""
    monkeypatch.chdir(tmp_path)
    Path("t.jsonl").write_text('{"text": "a"}\n')
    for job in (BUILD, SCORE):
        run(job)


def run(job: Job) -> None:
    """Make a job's outputs as its script would, after a plan."""
    content_of.cache_clear()
    file = Identities().plan(job)
    identity = identity_now(file, job.settings)
    for path in job.outputs:
        if path.endswith(".parquet"):
            write_parquet(path, TABLE)
        elif path.endswith(".json"):
            write_json(path, {"job": job.code})
        else:
            Path(path).write_text("a line\n")
    mark_outputs(identity, job.outputs)


def planned(*jobs: Job) -> list[bool]:
    """Whether Snakemake would run each job, planned from the last to the first as it
    does."""
    content_of.cache_clear()
    identities = Identities()
    for job in reversed(jobs):
        identities.plan(job)
    return [is_older(job) for job in jobs]


def is_older(job: Job) -> bool:
    inputs = [*job.inputs, identity_file(job.outputs)]
    newest = max(Path(path).stat().st_mtime for path in inputs)
    return any(Path(path).stat().st_mtime < newest for path in job.outputs)


@pytest.mark.parametrize("name", ["a.parquet", "a.json", "list.json", "page.html"])
def test_a_result_keeps_what_it_holds_beside_its_identity(name):
    if name.endswith(".parquet"):
        write_parquet(name, TABLE)
    else:
        write_json(
            name, [{"first": 1}, {"last": 2}] if name == "list.json" else {"key": 1}
        )
    assert read_identity(name) is None
    for identity in (IDENTITY, IDENTITY._replace(job="4" * 64)):
        write_identity(name, identity)
        assert read_identity(name) == identity
    if name.endswith(".parquet"):
        pd.testing.assert_frame_equal(read_parquet(name), TABLE)
        assert pq.read_metadata(name).num_rows == 2
    elif name.endswith(".json"):
        value = read_json(name)
        assert (value[0] if isinstance(value, list) else {"first": value["key"]}) == {
            "first": 1
        }


def test_a_note_behind_a_footer_is_lost_with_an_edit_and_no_other_reader_sees_it():
    add_to_footer("results/built.parquet", b"note " * 1000)
    assert note_in_footer("results/built.parquet") == b"note " * 1000
    table = pq.read_table("results/built.parquet")
    assert table.schema.metadata is None
    pq.write_table(table, "results/built.parquet")
    assert note_in_footer("results/built.parquet") == b""


def edit_texts() -> None:
    Path("t.jsonl").write_text('{"text": "b"}\n')
    os.utime("t.jsonl", (1, 1))


def damage() -> None:
    Path("results/more.parquet").write_bytes(
        Path("results/more.parquet").read_bytes()[:-30] + b"x" * 30
    )


def put_other_in_place() -> None:
    """An output of the same job under another setting, put in place with a later
    time."""
    shutil.copytree("results", "kept")
    run(SCORE._replace(settings={"k": 0.4}))
    shutil.copy("results/more.parquet", "other.parquet")
    shutil.rmtree("results")
    shutil.copytree("kept", "results")
    shutil.copy("other.parquet", "results/more.parquet")


@pytest.mark.parametrize(
    ("change", "jobs", "expected"),
    [
        (lambda: None, (BUILD, SCORE), [False, False]),
        (lambda: os.utime("t.jsonl"), (BUILD, SCORE), [False, False]),
        (lambda: os.utime("results/built.parquet"), (BUILD, SCORE), [False, False]),
        (lambda: os.utime("results/plain.txt", (1, 1)), (BUILD, SCORE), [False, False]),
        (lambda: shutil.rmtree("results/identity"), (BUILD, SCORE), [False, False]),
        (lambda: Path("results/identity/scores.json").write_text("[]"), (BUILD, SCORE),
         [False, False]),
        (edit_texts, (BUILD, SCORE), [True, False]),
        (lambda: None, (OTHER_SEED, SCORE), [True, False]),
        (lambda: None, (BUILD, SCORE._replace(code="edited")), [False, True]),
        (lambda: None, (BUILD, SCORE._replace(inputs=[*SCORE.inputs, "t.jsonl"])),
         [False, True]),
        (lambda: Path("results/plain.txt").write_text("another line\n"), (BUILD, SCORE),
         [False, True]),
        (lambda: write_json("results/scores.json", {"job": "by hand"}), (BUILD, SCORE),
         [False, True]),
        (put_other_in_place, (BUILD, SCORE), [False, True]),
        (damage, (BUILD, SCORE), [False, True]),
        (lambda: run(OTHER_SEED), (OTHER_SEED, SCORE), [False, True]),
    ],
)  # fmt: skip
def test_a_job_is_planned_if_its_outputs_were_made_from_something_else(
    change, jobs, expected
):
    change()
    assert planned(*jobs) == expected
    assert planned(*jobs) == expected, "a second plan says the same"


def test_a_plan_with_other_settings_and_back_runs_nothing():
    other = (OTHER_SEED, SCORE._replace(settings={"k": 0.4}))
    assert planned(*other) == [True, True]
    assert planned(BUILD, SCORE) == [False, False]


def test_a_file_put_in_place_again_changes_the_identity_file_again():
    """Snakemake takes an input for unchanged that has the bytes of the last run."""
    told = []
    for _ in range(2):
        Path("results/plain.txt").write_text("another line\n")
        planned(SCORE)
        told.append(Path(identity_file(SCORE.outputs)).read_text())
        run(SCORE)
        time.sleep(0.05)  # a file system's clock has steps
    assert told[0] != told[1]


def test_copies_without_times_are_not_made_again():
    third = Job("c", {}, ["results/scores.json", "t.jsonl"], ["results/last.json"])
    run(third)
    for number, path in enumerate(
        ["results/last.json", *SCORE.outputs, *BUILD.outputs, "t.jsonl"]
    ):
        os.utime(path, (1000 + number, 1000 + number))
    assert planned(BUILD, SCORE, third) == [False, False, False]


def test_documents_that_were_deleted_after_they_were_counted_rerun_nothing():
    Path("results/built.parquet").unlink()
    identities = Identities()
    identities.plan(SCORE)
    assert (
        Path(identity_file(SCORE.outputs)).stat().st_mtime
        <= Path("results/scores.json").stat().st_mtime
    )


def test_a_job_is_marked_with_the_settings_that_it_ran_with():
    """A dry run with other settings may have rewritten its identity file meanwhile."""
    file = identity_file(SCORE.outputs)
    Identities().plan(SCORE._replace(settings={"k": 0.4}))
    mark_outputs(identity_now(file, SCORE.settings), SCORE.outputs)
    assert planned(SCORE) == [False]


def test_a_process_of_a_job_writes_nothing():
    before = Path(identity_file(SCORE.outputs)).read_bytes()
    assert Identities(is_job=True).plan(SCORE._replace(code="edited")) == identity_file(
        SCORE.outputs
    )
    assert Path(identity_file(SCORE.outputs)).read_bytes() == before


def test_an_identity_file_that_cannot_be_written_is_named_with_a_remedy():
    shutil.rmtree("results/identity")
    Path("results/identity").write_text("a file where a folder belongs")
    with pytest.raises(
        InputError, match=r"^results/identity/built\.json cannot be written .*\."
    ):
        Identities().plan(BUILD)


def test_settings_may_be_whatever_json_holds_and_a_tuple_is_a_list():
    assert (
        Job("", {"a": (1, None, "ü")}, [], ["results/x.json"]).about()
        == Job("", {"a": [1, None, "ü"]}, [], ["results/x.json"]).about()
    )
    assert json.dumps(BUILD.about())
