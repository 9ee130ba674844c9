"""Shots put together: as the joined text is tokenised where a tokenizer puts a space before all that it is given."""

from itertools import chain
from typing import Any

import pytest
from tokenizers import Tokenizer, decoders, models, normalizers, pre_tokenizers, trainers
from transformers import PreTrainedTokenizerFast

from pretrace.passes.lead import lead_of

SHOTS = ["the house of state", "people of the union", "the state"]
TEXT = ["the house of the state and the people of the union. " * 20]


def sentencepiece() -> Any:
    """As Llama's: a space is prepended to every text, and spaces are letters; words are never merged here."""
    made = Tokenizer(models.BPE(unk_token="<unk>"))
    made.normalizer = normalizers.Sequence([normalizers.Prepend("▁"), normalizers.Replace(" ", "▁")])
    made.pre_tokenizer = pre_tokenizers.Split("▁", "merged_with_next")
    made.decoder = decoders.Sequence([decoders.Replace("▁", " "), decoders.Fuse()])
    return trained(
        made, trainers.BpeTrainer(vocab_size=200, initial_alphabet=["\n"], special_tokens=["<unk>"])
    )


def byte_level() -> Any:
    made = Tokenizer(models.BPE())
    made.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    made.decoder = decoders.ByteLevel()
    alphabet = pre_tokenizers.ByteLevel.alphabet()
    return trained(made, trainers.BpeTrainer(vocab_size=400, initial_alphabet=alphabet))


def trained(made: Any, trainer: Any) -> Any:
    made.train_from_iterator(TEXT, trainer)
    return PreTrainedTokenizerFast(tokenizer_object=made)


def ids_of(tokenizer: Any, text: str) -> list[int]:
    return list(tokenizer(text, add_special_tokens=False)["input_ids"])


def lead(tokenizer: Any, prefix: str, *, context: int | None = None) -> tuple[tuple[int, ...], ...]:
    at = {"prefix": prefix, "draw": 0, "shots": 3, "inner_start": False}
    found = lead_of(at, (), tokenizer=tokenizer, shots=lambda _: SHOTS, context=context, longest=1)
    assert found.shots is not None
    return found.shots


@pytest.mark.parametrize(("prefix", "separator"), [("nonmember", ""), ("nonmember;separator=space", " ")])
def test_no_space_is_added_before_later_shots(prefix: str, separator: str) -> None:
    tokenizer = sentencepiece()
    shots = lead(tokenizer, prefix)
    assert tokenizer.decode(list(chain.from_iterable(shots))).strip() == separator.join(SHOTS)
    assert list(shots[0]) == ids_of(tokenizer, SHOTS[0])
    if separator:  # with a space between, words end where shots do
        assert list(chain.from_iterable(shots)) == ids_of(tokenizer, separator.join(SHOTS))


def test_the_first_shot_that_stays_has_the_space() -> None:
    tokenizer = sentencepiece()
    whole = lead(tokenizer, "nonmember")
    fitting = lead(tokenizer, "nonmember", context=sum(map(len, whole)))
    assert len(fitting) == 2
    assert list(fitting[0]) == ids_of(tokenizer, SHOTS[1])
    assert fitting[1] == whole[2]


@pytest.mark.parametrize("separator", ["", " ", "\n"])
def test_shots_are_tokenised_as_they_are_where_nothing_is_put_before_them(separator: str) -> None:
    tokenizer = byte_level()
    name = {"": "", " ": ";separator=space", "\n": ";separator=newline"}[separator]
    expected = [SHOTS[0], *(separator + shot for shot in SHOTS[1:])]
    assert [list(one) for one in lead(tokenizer, f"nonmember{name}")] == [
        ids_of(tokenizer, text) for text in expected
    ]
