"""The standard table and its folds: columns, unique ids, an order; nothing of a fold is
in another."""

import random
from collections import Counter, defaultdict
from itertools import combinations, groupby

import pandas as pd
import pytest

from pretrace.benchmarks.folds import assign_folds, classes_with_few_documents
from pretrace.benchmarks.sources import Text
from pretrace.benchmarks.table import TEXT_SCHEMA, finish
from pretrace.runtime.errors import InputError
from pretrace.runtime.files import read_parquet, write_parquet


def text(number: int, label: int | None, **more: object) -> Text:
    return Text(
        text_id=f"{number:05d}", text=f"words of text {number}", label=label, **more
    )  # type: ignore[arg-type]


def counts(
    texts: list[Text], folds: list[int], *keys: str
) -> dict[tuple[object, ...], list[int]]:
    """Texts of each fold, by the given fields."""
    numbers: dict[tuple[object, ...], list[int]] = defaultdict(lambda: [0] * 5)
    for item, fold in zip(texts, folds, strict=True):
        numbers[tuple(getattr(item, key) for key in keys)][fold] += 1
    return numbers


def test_texts_without_documents_are_stratified_by_label_subset_and_length():
    rng = random.Random(0)
    texts = []
    for i in range(997):
        label = rng.choice([0, 0, 1, None])
        subset = rng.choice("ab")
        length = rng.choice([32, 64])
        texts.append(text(i, label, subset=subset, length=length))
    folds = assign_folds(texts, seed=1)
    assert folds.unit == "document"
    slack = {("label", "subset", "length"): 2, ("label", "subset"): 2, ("label",): 4}
    for keys, most in slack.items():
        for sizes in counts(texts, folds.numbers, *keys).values():
            assert max(sizes) - min(sizes) <= most


def test_folds_depend_on_seed_and_ids_and_not_on_the_order_of_the_texts():
    texts = [text(i, i % 2, document=f"d{i % 30}") for i in range(300)]
    shuffled = random.Random(1).sample(texts, len(texts))

    def folds_by_id(order: list[Text], seed: int) -> dict[str, int]:
        ids = [item.text_id for item in order]
        return dict(zip(ids, assign_folds(order, seed=seed).numbers, strict=True))

    first = folds_by_id(texts, 1)
    assert folds_by_id(shuffled, 1) == first
    assert folds_by_id(texts, 2) != first


OF_DOCUMENTS = [text(i, int(i % 40 < 20), document=f"d{i % 40}") for i in range(400)]
MATCHED = [
    text(i, i // 4 % 2, document=f"d{i // 4}", matched=f"p{i // 8}") for i in range(160)
]
OF_BOTH_CLASSES = [text(i, i % 2, document=f"d{i // 10}") for i in range(100)]


@pytest.mark.parametrize(
    ("texts", "whole", "each"),
    [
        (OF_DOCUMENTS, "document", 40),
        (MATCHED, "matched", 16),
        (OF_BOTH_CLASSES, "document", 10),
    ],
)
def test_documents_and_matched_ones_stay_whole_where_each_class_has_five(
    texts, whole, each
):
    folds = assign_folds(texts, seed=1)
    assert folds.unit == "document"
    for sizes in counts(texts, folds.numbers, whole).values():
        assert sizes.count(0) == 4, "all texts lie in one fold"
    expected = {(0,): [each] * 5, (1,): [each] * 5}
    assert counts(texts, folds.numbers, "label") == expected


def test_blocks_of_matched_documents_share_a_fold_by_their_place():
    """Two documents of each class are too few to stay whole."""
    texts = []
    for i in range(40):
        document = i // 10
        pair = document // 2
        texts.append(text(i, document % 2, document=f"d{document}", matched=f"p{pair}"))
    folds = assign_folds(texts, seed=1)
    assert folds.unit == "block"
    first, second, third, fourth = (folds.numbers[i : i + 10] for i in (0, 10, 20, 30))
    assert first == second
    assert third == fourth
    assert set(first) == set(third) == {0, 1, 2, 3, 4}


def test_a_class_of_few_documents_means_blocks_in_the_order_of_the_document():
    texts = []
    for i in range(100):
        texts.append(text(i, int(i < 50), document="one" if i < 50 else f"d{i % 7}"))
    folds = assign_folds(texts, seed=1)
    assert folds.unit == "block"
    runs = [(fold, len([*same])) for fold, same in groupby(folds.numbers[:50])]
    assert sorted(runs) == [(fold, 10) for fold in range(5)]


def test_overlapping_spans_share_a_fold():
    """Lengths 30 and 50 do not nest: texts that share words must be found by their
    spans."""
    spans = [(start, start + 30) for start in range(0, 900, 30)]
    spans += [(start, start + 50) for start in range(1000, 1900, 50)]
    spans += [(start, start + 10) for start in range(1005, 1900, 100)]
    random.Random(3).shuffle(spans)
    texts = [text(i, 0, document="one", span=span) for i, span in enumerate(spans)]
    folds = assign_folds(texts, seed=1).numbers
    assert set(folds) == {0, 1, 2, 3, 4}
    for (a, fold_a), (b, fold_b) in combinations(zip(spans, folds, strict=True), 2):
        if a[0] < b[1] and b[0] < a[1]:
            assert fold_a == fold_b


def test_without_spans_a_text_shares_the_fold_of_the_longer_ones_that_contain_it():
    words = [f"w{i}" for i in range(448)]
    texts = []
    for length in (16, 32, 64):
        for start in range(0, 448, length):
            own = " ".join(words[start : start + length])
            id = f"{length}-{start}"
            texts.append(Text(id, own, 1, length=length, document="one"))
    folds = assign_folds(texts, seed=1)
    assert folds.unit == "block"
    assert set(folds.numbers) == {0, 1, 2, 3, 4}
    for shorter, fold in zip(texts, folds.numbers, strict=True):
        for longer, other in zip(texts, folds.numbers, strict=True):
            if f"{shorter.text} " in f"{longer.text} ":
                assert fold == other


@pytest.mark.parametrize("documents", [3, 40])
def test_equal_texts_share_a_fold_across_documents_and_classes(documents):
    texts = []
    for i in range(100):
        document = i % documents
        words = f"text {i % 90}"
        texts.append(Text(f"{i:05d}", words, document % 2, document=f"d{document}"))
    folds = assign_folds(texts, seed=1).numbers
    assert folds[90:] == folds[:10]


def test_unlabelled_texts_and_fewer_than_folds_get_folds_too():
    unlabelled = [text(i, None) for i in range(10)]
    folds = assign_folds(unlabelled, seed=1).numbers
    assert Counter(folds) == dict.fromkeys(range(5), 2)
    few = [text(0, 1), text(1, 0), text(2, None)]
    assert set(assign_folds(few, seed=1).numbers) <= {0, 1, 2, 3, 4}


def test_a_class_has_few_documents_below_five_and_a_text_without_one_counts_as_one():
    labels = [1] * 6 + [0] * 6 + [None]
    documents = [*"abcdee", *"vwxyyy", "z"]
    assert classes_with_few_documents(labels, documents) == {0}
    assert classes_with_few_documents([1] * 4 + [0] * 5, [""] * 9) == {1}
    assert classes_with_few_documents([None, None], ["a", "a"]) == set()


def test_rows_are_sorted_by_subset_length_and_id_and_survive_the_file(tmp_path):
    keys = [
        ("b", 32, "1"),
        ("a", 64, "2"),
        ("a", 32, "3"),
        ("a", None, "4"),
        ("", 32, "5"),
        ("a", 32, "0"),
    ]
    texts = []
    for subset, length, text_id in keys:
        texts.append(Text(text_id, f"text {text_id}", None, subset, length))
    table = finish(texts, name="any", seed=0)
    assert list(table["text_id"]) == ["5", "0", "3", "2", "4", "1"]
    write_parquet(tmp_path / "t.parquet", table, TEXT_SCHEMA)
    again = read_parquet(tmp_path / "t.parquet")
    assert list(again.columns) == TEXT_SCHEMA.names
    assert again["length"].tolist() == [32, 32, 32, 64, pd.NA, 32]
    assert again["label"].isna().all()
    assert set(again["fold"]) <= {0, 1, 2, 3, 4}


@pytest.mark.parametrize(
    ("texts", "said"),
    [
        ([], "benchmark mine has no texts"),
        (
            [Text("a", "x", 1), Text("a", "y", 0)],
            "benchmark mine: the id 'a' is given to 2 texts",
        ),
        ([Text("a", " \n", 1)], "benchmark mine: the text 'a' is empty"),
        ([Text("a", "x", 2)], "benchmark mine: 'a' has label 2, not 0, 1 or null"),
    ],
)
def test_a_loader_that_breaks_the_promises_is_stopped(texts, said):
    with pytest.raises(InputError, match=said):
        finish(texts, name="mine", seed=0)
