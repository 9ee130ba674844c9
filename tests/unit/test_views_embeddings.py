"""Words replaced by the nearest ones of an embedding table."""

import logging
from typing import Any

import made_up_tokenizers
import numpy as np
import pytest
import transformers
from tiny_checkpoints import word_tokenizer
from tokenizers import pre_tokenizers

from pretrace.views.embeddings import NEAREST, neighbours_by_embeddings, synonyms_by_embeddings
from pretrace.views.words import core, word_spans

GROUPS = {
    "ruler": ["king", "queen", "prince", "duke", "czar", "sultan"],
    "place": ["city", "town", "village", "county", "state", "port"],
}
KIND = {word: kind for kind, words in GROUPS.items() for word in words}
TEXT = "The King of our city met a duke, the QUEEN and her village; no county or prince-like czar: Zanzibar."


@pytest.fixture(scope="module")
def table() -> tuple[np.ndarray, Any]:
    """Words of a kind lie close together; a common part, larger than both, would hide that."""
    words = ["[UNK]", "a", "the", "of", "our", "her", "and", "no", "or", *KIND]
    rng = np.random.default_rng(0)
    centre = {"ruler": np.eye(8)[0], "place": np.eye(8)[1]}
    rows = [centre[KIND[word]] if word in KIND else -np.ones(8) for word in words]
    return np.array(rows) + rng.normal(0, 0.05, (len(words), 8)) + 100 * np.eye(8)[7], word_tokenizer(words)


def changes(before: str, after: str) -> list[tuple[str, str]]:
    return [(a, b) for a, b in zip(before.split(), after.split(), strict=True) if a != b]


@pytest.mark.parametrize("percent", [10, 15, 20])
def test_the_share_of_words_is_replaced_by_near_ones_in_their_case(table, percent):
    for seed in range(10):
        [[changed]] = synonyms_by_embeddings([TEXT], *table, percent, [seed], 1)
        pairs = changes(TEXT, changed)
        assert len(pairs) == len(TEXT.split()) * percent // 100
        for before, after in pairs:
            old, new = (word[slice(*core(word, (0, len(word))))] for word in (before, after))
            assert KIND[new.lower()] == KIND[old.lower()]
            assert (new.isupper(), new[0].isupper()) == (old.isupper(), old[0].isupper())
            assert after == before.replace(old, new)


def test_function_words_and_words_of_several_tokens_stay(table, caplog):
    with caplog.at_level(logging.WARNING, logger="pretrace"):
        [[changed]] = synonyms_by_embeddings([TEXT], *table, 99, [0], 1)
    assert [before.strip(",;:.") for before, _ in changes(TEXT, changed)] == [
        "King", "city", "duke", "QUEEN", "village", "county", "czar"
    ]  # fmt: skip
    assert "1 of 1 texts have too few words to replace" in caplog.text


def test_replacements_are_the_nearest_by_cosine_without_the_tables_mean(table):
    embeddings, tokenizer = table
    ids = tokenizer.get_vocab()
    words = sorted(KIND)
    centred = embeddings[[ids[word] for word in words]]
    centred = centred - centred.mean(axis=0)
    unit = centred / np.linalg.norm(centred, axis=1, keepdims=True)
    likeness = dict(zip(words, unit @ unit[words.index("queen")], strict=True))
    expected = sorted(set(words) - {"queen"}, key=lambda word: -likeness[word])[:NEAREST]
    seen = {synonyms_by_embeddings(["queen"], *table, 99, [0], 1)[0][0]} - {"queen"}
    seen |= {text for seed in range(40) for text in neighbours_by_embeddings(["queen"], *table, 5, [seed])[0]}
    assert seen == set(expected)


def test_neighbours_differ_in_a_twentieth_of_the_words_and_at_least_one(table):
    long = " ".join([TEXT] * 3)
    short, longer, none = neighbours_by_embeddings([TEXT, long, "nothing here"], *table, 25, [0, 1, 2])
    assert len(short) == len(longer) == 25
    assert {len(changes(TEXT, neighbour)) for neighbour in short} == {1}
    assert {len(changes(long, neighbour)) for neighbour in longer} == {len(long.split()) * 5 // 100}
    assert none == []


def test_chinese_words_are_replaced_by_chinese_words(tmp_path):
    pytest.importorskip("jieba")
    text = "我们的国家正在快速发展。人民生活水平不断提高。大家都很高兴。我们的国家正在快速发展。人民生活水平不断提高。"
    words = [text[slice(*span)] for span in word_spans(text)]
    lines = [f"\n{word}\n" for word in [*words, "english", "words"] * 50]
    tokenizer = made_up_tokenizers.byte_level(lines, pre_tokenizers.ByteLevel(add_prefix_space=False))
    fast = transformers.PreTrainedTokenizerFast(tokenizer_object=tokenizer)
    embeddings = np.random.default_rng(0).normal(size=(len(fast), 8))
    [[changed]] = synonyms_by_embeddings([text], embeddings, fast, 20, [0], 1)
    assert changed != text
    rest = changed
    for word in sorted(words, key=len, reverse=True):
        rest = rest.replace(word, "")
    assert rest == ""
