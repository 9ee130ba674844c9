"""The papers' own benchmarks in their true layouts, fetched from a hub on loopback, and
real files."""

import fnmatch
import io
import random
from pathlib import Path

import pyarrow.parquet as pq
import pytest

import hub_datasets as made
from pretrace.benchmarks import LOADERS, benchmark_entry, build, released_view
from pretrace.benchmarks.fetching import fetch_dataset
from pretrace.runtime.errors import InputError
from pretrace.runtime.schema import read_yaml
from pretrace.views.stored import view_of_source

ROOT = Path(__file__).parents[2]
ENTRIES = read_yaml(ROOT / "config" / "benchmarks.yaml")


def fetched(name, folder, part="texts", **changes):
    """(the registry's own entry, the file that its loader reads) after fetching."""
    entry = ENTRIES[name] | changes
    fetch_dataset(entry, part, folder / part, seed=0, attempts=2)
    return entry, folder / part / "files.json"


def test_wikimia_has_a_length_for_each_split_and_rows_that_are_numbered_and_counted(
    hub, tmp_path, warnings
):
    hub.add("datasets", "swj0419/WikiMIA", made.wikimia(8))
    entry, source = fetched("wikimia", tmp_path)
    build("wikimia", entry | {"expected": {"32": 8, "all": 32}}, [source])
    assert not warnings()
    table = build("wikimia", entry, [source])
    assert table.groupby("length").size().to_dict() == dict.fromkeys(made.LENGTHS, 8)
    assert set(table["label"]) == {0, 1}
    assert (table["text"].str.split().str.len() == table["length"]).all()
    assert table["text_id"].iloc[0] == "032-00000"
    assert "wikimia: 8 texts of 32, where 776 are published: -768" in warnings()


def read_views(hub, folder, name, *views):
    """The texts of an entry's data set, and of each view of them: text id -> its
    variants."""
    entry, texts = fetched(name, folder)
    _, source = fetched(name, folder, "views")
    table = build(name, entry, [texts])
    variants = []
    for view in views:
        rows = view_of_source(view, table, entry, [source])
        variants.append(rows.groupby("text_id")["text"].agg(list).to_dict())
    return variants


def test_wikimias_paraphrased_and_perturbed_sets_are_views_of_its_texts(
    hub, tmp_path, warnings
):
    hub.add("datasets", "swj0419/WikiMIA", made.wikimia(8))
    hub.add(
        "datasets",
        "zjysteven/WikiMIA_paraphrased_perturbed",
        made.wikimia_views(8, neighbours=10),
    )
    paraphrases, neighbours = read_views(
        hub, tmp_path, "wikimia", "paraphrase", "neighbours-10"
    )
    assert len(paraphrases) == len(neighbours) == 24, "length 256 has none"
    assert paraphrases["064-00003"][0].startswith("paraphrased 3 0 ")
    expected = [["perturbed", "3", str(number)] for number in range(10)]
    assert [text.split()[:3] for text in neighbours["064-00003"]] == expected, (
        "ten in a row belong to one text"
    )
    entry, source = fetched("wikimia", tmp_path, "views", neighbours=12)
    with pytest.raises(
        InputError,
        match=r"10 perturbed texts of each .* neighbours is 12; write neighbours: 10",
    ):
        released_view("neighbours-12", entry, [source])


def by_label(rows):
    return sorted(rows, key=lambda row: row["label"])


MISJOINED = [
    # splits that are changed, how, the view that reads them, what the error says
    ("length32_paraphrased", by_label, "paraphrase",
     r"paraphrased.*row 2: .*'032-00001' with label 0, .*label is 1"),
    ("length64_perturbed", by_label, "neighbours-10",
     r"perturbed.*row 11: .*'064-00001' with label 0, .*label is 1"),
    ("length32_paraphrased", lambda rows: rows[1:] + rows[:1], "paraphrase",
     r"row 1: .*'032-00000' with label 1"),
    ("length128_paraphrased length128_perturbed", lambda rows: rows[: len(rows) // 2],
     "neighbours-10",
     r"no row for '128-00004' \(4 of 8 texts"),
    ("length128_paraphrased length128_perturbed", lambda rows: rows + rows,
     "paraphrase",
     r"row 9: .*'128-00008', which is not a text of the benchmark"),
]  # fmt: skip


@pytest.mark.parametrize(("splits", "change", "view", "message"), MISJOINED)
def test_a_view_whose_rows_are_not_those_of_the_texts_is_refused(
    hub, tmp_path, splits, change, view, message
):
    files = made.wikimia_views(8, neighbours=10)
    for path, content in files.items():
        if path.split("WikiMIA_")[-1].partition("-")[0] in splits.split():
            rows = pq.read_table(io.BytesIO(content)).to_pylist()
            files[path] = made.parquet(change(rows))
    hub.add("datasets", "swj0419/WikiMIA", made.wikimia(8))
    hub.add("datasets", "zjysteven/WikiMIA_paraphrased_perturbed", files)
    with pytest.raises(InputError, match=message):
        read_views(hub, tmp_path, "wikimia", view)


def test_a_layout_that_changed_is_an_error_with_the_remedy(hub, tmp_path):
    hub.add("datasets", "swj0419/WikiMIA", {"new/layout.parquet": b"x"})
    with pytest.raises(
        InputError, match=r"has no file like .*its layout has changed.*paths"
    ):
        fetched("wikimia", tmp_path)


def test_wikimia_reads_a_folder_of_ones_own(tmp_path):
    for name, data in made.wikimia(4).items():
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_bytes(data)
    assert len(build("wikimia", ENTRIES["wikimia"], [tmp_path])) == 16


def test_bookmia_loses_its_control_characters_and_a_book_is_a_document(hub, tmp_path):
    hub.add("datasets", "swj0419/BookMIA", made.bookmia(6, 2))
    entry, source = fetched("bookmia", tmp_path)
    table = build("bookmia", entry, [source])
    expected = {str(book): 2 for book in range(6)}
    assert table.groupby("document").size().to_dict() == expected
    assert set(table["length"]) == {512}
    assert table.loc[table["text_id"] == "0-0000", "text"].item().startswith("ab")
    assert not table["text"].str.contains("[\x00-\x08\x0e-\x1f]").any()


def test_mimir_is_read_without_its_script_in_both_splits(hub, tmp_path, monkeypatch):
    hub.add("datasets", "iamgroot42/mimir", made.mimir(6), token=made.MIMIR_TOKEN)
    with pytest.raises(InputError, match=r"gated.*HF_TOKEN.*Access: gated"):
        fetched("mimir-ngram_7_0.2", tmp_path)
    monkeypatch.setenv("HF_TOKEN", made.MIMIR_TOKEN)
    for split in ("ngram_7_0.2", "ngram_13_0.8"):
        entry, source = fetched(f"mimir-{split}", tmp_path / split)
        table = build(f"mimir-{split}", entry, [source])
        expected = {}
        for subset in made.MIMIR_SETS:
            for label in (0, 1):
                expected[subset, label] = 6
        assert table.groupby(["subset", "label"]).size().to_dict() == expected
        member = table[table["text_id"] == "wikipedia_(en)-member-0002"]
        assert member["text"].item().startswith(f"wikipedia_(en)_{split} train 2 ")
        assert member["label"].item() == 1
    for _, path, _ in hub.asked:
        assert not path.endswith(".py")


def test_mimirs_25_stored_neighbours_are_a_view(hub, tmp_path):
    hub.add("datasets", "iamgroot42/mimir", made.mimir(4))
    [neighbours] = read_views(hub, tmp_path, "mimir-ngram_13_0.8", "neighbours-25")
    assert len(neighbours) == 7 * 2 * 4
    expected = [str(n) for n in range(25)]
    assert [text.split()[0] for text in neighbours["arxiv-nonmember-0003"]] == expected
    assert "near arxiv_ngram_13_0.8 test 3 " in neighbours["arxiv-nonmember-0003"][7]


@pytest.mark.parametrize(
    ("folder", "kept", "message"),
    [
        (
            "test_neighbors",
            slice(0, 3),
            r"no row for 'arxiv-nonmember-0003' \(1 of 8 texts",
        ),
        (
            "train",
            slice(0, 3),
            r"train_neighbors.*:4: .*'arxiv-member-0003', which is not a text",
        ),
    ],
)
def test_mimirs_neighbours_have_a_line_for_each_text(
    hub, tmp_path, folder, kept, message
):
    files = made.mimir(4)
    for path, content in files.items():
        if f"/{folder}/arxiv_ngram_13_0.8" in path:
            files[path] = b"".join(content.splitlines(keepends=True)[kept])
    hub.add("datasets", "iamgroot42/mimir", files)
    with pytest.raises(InputError, match=message):
        read_views(hub, tmp_path, "mimir-ngram_13_0.8", "neighbours-25")


def test_mimirs_temporal_sets(hub, tmp_path):
    hub.add("datasets", "iamgroot42/mimir", made.mimir(4))
    entry, source = fetched("mimir-temporal_arxiv", tmp_path / "arxiv")
    table = build("mimir-temporal_arxiv", entry, [source])
    assert table.groupby("subset").size().to_dict() == dict.fromkeys(
        made.MIMIR_MONTHS, 8
    )
    entry, source = fetched("mimir-temporal_wiki", tmp_path / "wiki")
    assert set(build("mimir-temporal_wiki", entry, [source])["text_id"].str[:6]) == {
        "member",
        "nonmem",
    }


OF_OLMO = [name for name in ENTRIES if name.startswith("olmo_detect")]


@pytest.mark.parametrize("name", OF_OLMO)
def test_the_folders_of_olmo_detect_say_what_a_text_is(hub, tmp_path, name):
    hub.add("datasets", "TedSSS/OLMo-Detect", made.olmo_detect(3))
    entry, source = fetched(name, tmp_path)
    table = build(name, entry, [source])
    part = "dev" if name.endswith("-dev") else "test"
    _, stage, kind, *_ = name.split("-")
    counts = table.groupby(["subset", "label"]).size()
    assert set(counts) == {3}
    assert {*counts.index} == {
        (subset, label) for subset in entry["subsets"] for label in (0, 1)
    }
    for row in table.itertuples():
        is_member = row.text.startswith(f"member_{stage}_")
        assert is_member == bool(row.label)
        assert is_member == (f"_{kind}_" in row.text)
        assert row.subset.removeprefix("dpo_") in row.text
        assert f"_{part} " in row.text
    requested = [path for _, path, _ in hub.asked if "/resolve/" in path]
    assert not any("results" in path or "_pair_" in path for path in requested)


def test_every_file_of_olmo_detect_but_pairs_is_in_an_entry():
    named = set()
    files = set(made.olmo_detect(1))
    for name in OF_OLMO:
        for split in ENTRIES[name]["splits"].values():
            named.update(fnmatch.filter(files, split["files"]))
    left = {file for file in files - named if "_pair_" not in file}
    assert left == {"README.md", "results/scores.jsonl"}


def test_patentmia_is_unpacked_and_cut_at_jieba_words(hub, tmp_path):
    from pretrace.benchmarks.loaders.chinese import jieba_words

    hub.pages["/data.zip"] = made.patents(4)
    entry, source = fetched("patentmia", tmp_path, url=f"{hub.url}/data.zip")
    texts = LOADERS["patentmia"](benchmark_entry(entry), [source], 0)
    assert [text.text_id for text in texts[:4]] == [
        "00000-064",
        "00000-128",
        "00000-256",
        "00000-512",
    ]
    whole = made.chinese(random.Random(5), 1200)
    for text in texts[:4]:
        assert text.text == "".join(jieba_words(whole)[: text.length])
    names = {path.name for path in (tmp_path / "texts").rglob("*.jsonl")}
    assert names == {"PatentMIA.jsonl", "BookMIA.jsonl"}, "what macOS adds is left out"
