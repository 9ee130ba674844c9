"""Words replaced by the nearest of an embedding table; neighbours by a masked language
model, on a tiny random one."""

import random
from itertools import product
from typing import Any

import made_up_tokenizers
import numpy as np
import pytest
import torch
import transformers
from tiny_checkpoints import SPECIAL, causal_checkpoint, masked_model, word_tokenizer
from tokenizers import pre_tokenizers

from pretrace.models.checkpoint import read_checkpoint, register_local
from pretrace.views import masked
from pretrace.views.embeddings import (
    NEAREST,
    neighbours_by_embeddings,
    synonyms_by_embeddings,
)
from pretrace.views.masked import (
    DROPOUT,
    candidates_of,
    dropout_noise,
    encode_words,
    is_masked,
    load_masked_model,
    neighbours_by_masked_model,
)
from pretrace.views.words import core, word_spans

WORDS = list(map("".join, product("bdfgklmnprstvz", ("ado", "emi", "oru", "ula"))))
VOCABULARY = [*WORDS, "##s", "##ing", "##ed", ",", "."]


@pytest.fixture(scope="module")
def tiny(tmp_path_factory: pytest.TempPathFactory) -> tuple[Any, Any]:
    return masked_model(tmp_path_factory.mktemp("bert"), VOCABULARY)


def texts(
    count: int, words: int, marks: tuple[str, ...] = ("", "", ",", ".")
) -> list[str]:
    rng = random.Random(3)
    made = []
    for _ in range(count):
        drawn = [rng.choice(WORDS) + rng.choice(marks) for _ in range(words)]
        made.append(" ".join(drawn))
    return made


def neighbours(
    tiny: tuple[Any, Any],
    given: list[str],
    count: int = 25,
    seeds: list[int] | None = None,
) -> list[list[str]]:
    return neighbours_by_masked_model(
        given, *tiny, count, seeds or list(range(len(given)))
    )


def test_neighbours_depend_on_their_text_and_seed_alone(tiny, monkeypatch):
    given = texts(3, words=30)
    together = neighbours(tiny, given, seeds=[7, 8, 9])
    for batch_tokens in (1, 150):
        monkeypatch.setattr(masked, "BATCH_TOKENS", batch_tokens)
        assert neighbours(tiny, given, seeds=[7, 8, 9]) == together
    assert neighbours(tiny, given[2:], seeds=[9]) == together[2:]
    assert neighbours(tiny, given[2:], seeds=[10]) != together[2:]


def test_neighbours_differ_from_the_text_in_a_twentieth_of_its_tokens(tiny):
    given = texts(2, words=40, marks=("",))
    for text, near in zip(given, neighbours(tiny, given), strict=True):
        assert len(near) == len(set(near)) == 25
        for neighbour in near:
            assert len(changes(text, neighbour)) == 2


def test_the_text_around_the_swaps_is_untouched_and_never_doubled(tiny):
    """MIMIR's code swaps at the closing special token, whose place is (0, 0): the whole
    text came twice."""
    text = "Bado   emi-Demi\t(foru)  lula."
    tokens = tiny[1](text)
    assert len(tokens["input_ids"]) == 11
    around = [(text[:start], text[end:]) for start, end in tokens.encodings[0].offsets]
    around = around[1:-1]  # without the special tokens
    [near] = neighbours(tiny, [text], count=1000)
    assert 5 <= len(near) <= len(around)  # one swap each
    for neighbour in near:
        is_around = [
            neighbour.startswith(before) and neighbour.endswith(after)
            for before, after in around
        ]
        assert any(is_around)
        for special in (*SPECIAL, "##"):
            assert special not in neighbour
        if neighbour.endswith(text[4:]):
            assert not neighbour[0].islower()


def test_candidates_are_what_the_model_gives_for_one_noisy_token_at_a_time(tiny):
    """Plain loop: forward pass of the text with one input embedding dropped out and the
    others as they are."""
    model, tokenizer = tiny
    [text] = texts(1, words=12)
    encoded = encode_words(text, tokenizer, model)
    ids = torch.tensor([tokenizer(text)["input_ids"]])
    noise = dropout_noise(len(encoded.indices), 32, seed=5)
    assert noise.float().mean().item() == pytest.approx(1 - DROPOUT, abs=0.1)
    found = candidates_of(encoded, model, 5)
    # the first token is [CLS]
    for place, candidates in enumerate(found, 1):
        embedded = model.bert.embeddings.word_embeddings(ids).detach().clone()
        left = embedded[0, place] / 0.3
        embedded[0, place] = torch.where(noise[place - 1], left, torch.zeros(32))
        with torch.no_grad():
            logits = model(inputs_embeds=embedded).logits[0, place]
        expected = logits.softmax(dim=-1)
        best = expected.topk(6)
        own = ids[0, place].item()
        ids_found = [candidate.id for candidate in candidates]
        probabilities = [candidate.probability for candidate in candidates]
        assert ids_found == [own, *best.indices.tolist()]
        likeliest = [expected[own].item(), *best.values.tolist()]
        assert probabilities == pytest.approx(likeliest, abs=1e-5)


def test_tokens_beyond_the_context_are_not_swapped(tiny):
    [text] = texts(1, words=100)
    tokens = tiny[1](text)
    assert len(tokens["input_ids"]) > 64
    _, end = tokens.encodings[0].offsets[61]
    for neighbour in neighbours(tiny, [text])[0]:
        assert neighbour.endswith(text[end:])
        assert neighbour != text


def test_a_text_without_tokens_has_no_neighbour(tiny):
    assert neighbours(tiny, [" ", WORDS[0]])[0] == []


def test_the_checkpoint_says_whether_it_is_a_masked_model(tmp_path):
    model, _ = masked_model(tmp_path / "bert", VOCABULARY)
    checkpoint = register_local(tmp_path / "bert", tmp_path / "bert.json")
    assert is_masked(checkpoint)
    assert not is_masked(read_checkpoint(causal_checkpoint(tmp_path / "llama", WORDS)))
    loaded = load_masked_model(checkpoint, "cpu")
    assert not loaded.training
    ids = torch.tensor([[2, 7, 8, 3]])
    assert torch.equal(loaded(ids).logits, model(ids).logits)


GROUPS = {
    "ruler": ["king", "queen", "prince", "duke", "czar", "sultan"],
    "place": ["city", "town", "village", "county", "state", "port"],
}
KIND = dict.fromkeys(GROUPS["ruler"], "ruler") | dict.fromkeys(GROUPS["place"], "place")
TEXT = (
    "The King of our city met a duke, the QUEEN and her village; no county or "
    "prince-like czar: Zanzibar."
)


@pytest.fixture(scope="module")
def table() -> tuple[np.ndarray, Any]:
    """Words of a kind lie close together; a common part, larger than both, would hide
    that."""
    words = ["[UNK]", "a", "the", "of", "our", "her", "and", "no", "or", *KIND]
    rng = np.random.default_rng(0)
    rows = np.full((len(words), 8), -1.0)
    for place, word in enumerate(words):
        if word in KIND:
            rows[place] = np.eye(8)[0 if KIND[word] == "ruler" else 1]
    noise = rng.normal(0, 0.05, (len(words), 8))
    common = 100 * np.eye(8)[7]
    return rows + noise + common, word_tokenizer(words)


def changes(before: str, after: str) -> list[tuple[str, str]]:
    pairs = zip(before.split(), after.split(), strict=True)
    return [(old, new) for old, new in pairs if old != new]


def without_marks(word: str) -> str:
    start, end = core(word, (0, len(word)))
    return word[start:end]


@pytest.mark.parametrize("percent", [10, 15, 20])
def test_the_share_of_words_is_replaced_by_near_ones_in_their_case(table, percent):
    for seed in range(10):
        [[changed]] = synonyms_by_embeddings([TEXT], *table, percent, [seed], 1)
        pairs = changes(TEXT, changed)
        assert len(pairs) == len(TEXT.split()) * percent // 100
        for before, after in pairs:
            old = without_marks(before)
            new = without_marks(after)
            assert KIND[new.lower()] == KIND[old.lower()]
            assert new.isupper() == old.isupper()
            assert new[0].isupper() == old[0].isupper()
            assert after == before.replace(old, new)


def test_function_words_and_words_of_several_tokens_stay(table, warnings):
    [[changed]] = synonyms_by_embeddings([TEXT], *table, 99, [0], 1)
    replaced = [before.strip(",;:.") for before, _ in changes(TEXT, changed)]
    assert " ".join(replaced) == "King city duke QUEEN village county czar"
    assert "1 of 1 texts have fewer words to replace than asked" in warnings()


def test_replacements_are_the_nearest_by_cosine_without_the_tables_mean(table):
    embeddings, tokenizer = table
    ids = tokenizer.get_vocab()
    words = sorted(KIND)
    centred = embeddings[[ids[word] for word in words]]
    centred = centred - centred.mean(axis=0)
    unit = centred / np.linalg.norm(centred, axis=1, keepdims=True)
    cosine = dict(zip(words, unit @ unit[words.index("queen")], strict=True))
    queen, *nearest = sorted(words, key=cosine.get, reverse=True)
    assert queen == "queen"
    [[synonym]] = synonyms_by_embeddings(["queen"], *table, 99, [0], 1)
    seen = {synonym} - {"queen"}
    for seed in range(40):
        seen.update(neighbours_by_embeddings(["queen"], *table, 5, [seed])[0])
    assert seen == set(nearest[:NEAREST])


def test_neighbours_differ_in_a_twentieth_of_the_words_and_at_least_one(table):
    long = " ".join([TEXT] * 3)
    short, longer, none = neighbours_by_embeddings(
        [TEXT, long, "nothing here"], *table, 25, [0, 1, 2]
    )
    assert len(short) == len(longer) == 25
    assert {len(changes(TEXT, neighbour)) for neighbour in short} == {1}
    expected = {len(long.split()) * 5 // 100}
    assert {len(changes(long, neighbour)) for neighbour in longer} == expected
    assert none == []


def test_chinese_words_are_replaced_by_chinese_words(tmp_path):
    pytest.importorskip("jieba")
    text = "我们的国家正在快速发展。人民生活水平不断提高。大家都很高兴。我们的国家正在快速发展。人民生活水平不断提高。"
    words = [text[slice(*span)] for span in word_spans(text)]
    lines = [f"\n{word}\n" for word in [*words, "english", "words"] * 50]
    tokenizer = made_up_tokenizers.byte_level(
        lines, pre_tokenizers.ByteLevel(add_prefix_space=False)
    )
    fast = transformers.PreTrainedTokenizerFast(tokenizer_object=tokenizer)
    embeddings = np.random.default_rng(0).normal(size=(len(fast), 8))
    [[changed]] = synonyms_by_embeddings([text], embeddings, fast, 20, [0], 1)
    assert changed != text
    rest = changed
    for word in sorted(words, key=len, reverse=True):
        rest = rest.replace(word, "")
    assert rest == ""
