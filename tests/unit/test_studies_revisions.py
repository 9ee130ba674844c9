"""Pinned commits: what a file of them may say, what is then fetched, and that pinning
what is there runs nothing."""

import json
from pathlib import Path

import pytest
import yaml

import hub_datasets as made
from pretrace.benchmarks.fetching import fetch_dataset
from pretrace.benchmarks.loaders.mimir import Mimir
from pretrace.benchmarks.loaders.wikimia import WikiMia
from pretrace.corpora.readers.shards import stream_shard
from pretrace.corpora.sources import corpus_entry as corpus_of
from pretrace.models.entries import HubModel
from pretrace.models.fetching import fetch_model
from pretrace.runtime.errors import InputError
from pretrace.runtime.files import read_json, write_json
from pretrace.runtime.hub import names_in, pins_of, repositories_of, use_pins
from pretrace.runtime.provenance import repositories
from pretrace.runtime.schema import read_keys
from pretrace.studies.keys import Revisions
from pretrace.studies.registries import Registry, check_pins
from pretrace.studies.stages.registered import entry_to_fetch
from tiny_models import tiny_model

PYTHIA = "EleutherAI/pythia-70m"
WIKIMIA = "swj0419/WikiMIA"
VIEWS = "someone/views"
C4 = "allenai/c4"
MODEL = {"source": "hub", "hub": PYTHIA, "revision": "main"}
BENCHMARK = WikiMia(
    source="wikimia", hub=WIKIMIA, revision="main", views_hub=VIEWS, lengths=[32]
)
CORPUS = {
    "source": "hub",
    "hub": C4,
    "files": "en/c4-train.{shard:05d}-of-01024.json.gz",
    "field": "text",
}
OLD = "a" * 40
NEW = "b" * 40


def registries(**models):
    registered = {}
    for slug, entry in ({"pythia": MODEL} | models).items():
        registered[slug] = HubModel(**entry)
    return (
        Registry("models", registered),
        Registry("benchmarks", {"wikimia": BENCHMARK}),
        Registry("corpora", {"c4": corpus_of(CORPUS)}),
    )


def written(path: Path, value) -> str:
    path.write_text(yaml.safe_dump(value), encoding="utf-8")
    return str(path)


def load_revisions(path: str, known):
    pins = read_keys(Path(path), Revisions).to_json()
    check_pins(pins, known, path)
    return pins


def test_a_file_of_pins_is_read_by_kind(tmp_path):
    given = {"models": {PYTHIA: OLD}, "datasets": {VIEWS: NEW, C4: "v1.0"}}
    pins = load_revisions(written(tmp_path / "pins.yaml", given), registries())
    assert pins == {"models": {PYTHIA: OLD}, "datasets": {VIEWS: NEW, C4: "v1.0"}}


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"models": {"EleutherAI/pythia-7m": OLD}},
         r"models.*no entry reads.*did you mean 'EleutherAI/pythia-70m'"),
        ({"models": {WIKIMIA: OLD}}, "no entry reads swj0419/WikiMIA"),
        ({"datasets": {WIKIMIA: OLD[:12]}}, "does not have the right form"),
        ({"datasets": {WIKIMIA: "main"}}, "40 hex digits of a commit, or a tag"),
        ({"datasets": {WIKIMIA: 7}}, "where text is needed"),
        ({"datasets": {"wikimia": OLD}}, "'wikimia' does not have the right form"),
        ({"model": {PYTHIA: OLD}}, "unknown key 'model': did you mean 'models'"),
    ],
)  # fmt: skip
def test_a_wrong_pin_is_named(tmp_path, given, message):
    with pytest.raises(InputError, match=message):
        load_revisions(written(tmp_path / "pins.yaml", given), registries())


def test_one_commit_cannot_stand_for_two_revisions(tmp_path):
    path = written(tmp_path / "pins.yaml", {"models": {PYTHIA: OLD}})
    with pytest.raises(
        InputError,
        match=r"different revisions: pythia \(main\), early \(step1000\)\. Leave it out",
    ):
        load_revisions(path, registries(early=MODEL | {"revision": "step1000"}))


def test_what_is_fetched_is_the_pinned_commit_everywhere(hub, tmp_path):
    """Models, benchmarks, their views and corpora, after the branch has gone on."""
    first = tiny_model("gpt_neox", tmp_path / "first", seed=0)
    pins = {
        "models": {PYTHIA: hub.add_folder("models", PYTHIA, first)},
        "datasets": {
            WIKIMIA: hub.add("datasets", WIKIMIA, made.wikimia(4)),
            VIEWS: hub.add("datasets", VIEWS, made.wikimia_views(4)),
            C4: hub.add("datasets", C4, made.c4(1)),
        },
    }
    hub.add_folder(
        "models", PYTHIA, tiny_model("gpt_neox", tmp_path / "second", seed=1)
    )
    hub.add("datasets", WIKIMIA, made.wikimia(6))
    hub.add("datasets", VIEWS, made.wikimia_views(6))
    hub.add("datasets", C4, made.c4(2))
    assert len(names_in(C4, "dataset", "main")) == 2
    with use_pins(written(tmp_path / "pins.yaml", pins)):
        fetch_model(PYTHIA, "main", tmp_path / "checkpoint.json")
        for part in ("texts", "views"):
            fetch_dataset(
                BENCHMARK.to_json(defaults=False),
                part,
                tmp_path / part,
                seed=0,
                attempts=2,
            )
        shard = stream_shard(CORPUS, 0, 1, tmp_path / "0.parquet", attempts=1)
        assert len(names_in(C4, "dataset", "main")) == 1
    write_json(tmp_path / "shard.json", shard)
    names = ("checkpoint.json", "texts/files.json", "views/files.json", "shard.json")
    records = [tmp_path / name for name in names]
    read = []
    for record in records:
        read += repositories_of(record)
    pinned_there = {}
    for kind, commits in pins.items():
        for name, commit in commits.items():
            pinned_there[(kind.removesuffix("s"), name)] = commit
    assert {
        (repository.kind, repository.hub): repository.commit for repository in read
    } == pinned_there
    assert {repository.revision for repository in read} == {"main"}, (
        "what was asked for, in whose place the pin was read"
    )
    assert read_json(tmp_path / "checkpoint.json")["files"]["model.safetensors"]
    text, several = pins_of(repositories(records), {})
    assert not several
    again = load_revisions(
        written(tmp_path / "again.yaml", yaml.safe_load(text)), registries()
    )
    assert again == pins, "what a run writes pins what it read"


def record(path: Path, hub: str, **said) -> str:
    path.write_text(json.dumps({"repositories": [{"hub": hub, "files": {}, **said}]}))
    return str(path)


def test_pinning_what_is_there_changes_no_parameter(tmp_path):
    """A job runs again where its parameters differ from those that it last ran with."""
    pins = {"datasets": {WIKIMIA: OLD}}
    none = str(tmp_path / "none.json")
    assert entry_to_fetch(BENCHMARK, none, {}) == BENCHMARK
    assert entry_to_fetch(BENCHMARK, none, pins).revision == OLD
    for said, revision, why in (
        ({"revision": "main", "commit": OLD}, "main", "it is of the pinned commit"),
        ({"revision": "main", "commit": NEW}, OLD, "it is of another: fetch it again"),
        ({"revision": OLD, "commit": OLD}, OLD, "as it was then asked for"),
    ):
        there = record(tmp_path / "files.json", WIKIMIA, **said)
        assert entry_to_fetch(BENCHMARK, there, pins).revision == revision, why
    tag = record(tmp_path / "tag.json", WIKIMIA, revision="v1", commit=NEW)
    assert (
        entry_to_fetch(BENCHMARK, tag, {"datasets": {WIKIMIA: "v1"}}).revision == "v1"
    )


def test_texts_and_views_are_pinned_each_by_its_repository(tmp_path):
    pins = {"datasets": {VIEWS: NEW}}
    none = str(tmp_path / "none.json")
    assert entry_to_fetch(BENCHMARK, none, pins, "texts") == BENCHMARK
    assert entry_to_fetch(BENCHMARK, none, pins, "views") == BENCHMARK.model_copy(
        update={"views_revision": NEW}
    )
    mimir = Mimir(source="mimir", hub=WIKIMIA)
    pins = {"datasets": {WIKIMIA: OLD}, "models": {WIKIMIA: NEW}}
    assert entry_to_fetch(mimir, none, pins, "views") == mimir.model_copy(
        update={"revision": OLD}
    )


def test_what_a_part_of_a_study_did_not_read_keeps_its_pin():
    pins = {"models": {PYTHIA: OLD}, "datasets": {WIKIMIA: OLD, C4: OLD}}
    read = [{"kind": "dataset", "hub": hub, "commit": NEW} for hub in (WIKIMIA, VIEWS)]
    text, _ = pins_of(read, pins)
    kept = {"models": {PYTHIA: OLD}, "datasets": {WIKIMIA: NEW, VIEWS: NEW, C4: OLD}}
    assert yaml.safe_load(text) == kept
    read = [{"kind": "dataset", "hub": C4, "commit": commit} for commit in (OLD, NEW)]
    text, several = pins_of(
        [*read, {"kind": "model", "hub": PYTHIA, "commit": OLD}], {}
    )
    assert several == [C4], "read at several commits: left out and named"
    assert yaml.safe_load(text) == {"models": {PYTHIA: OLD}, "datasets": {}}


def test_a_missing_file_is_named(tmp_path):
    with pytest.raises(InputError, match=r"pins\.yaml does not exist"):
        load_revisions(str(tmp_path / "pins.yaml"), registries())
