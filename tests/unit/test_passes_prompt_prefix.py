"""Shots put together: as the joined text is tokenised where a tokenizer puts a space
before all that it is given."""

from itertools import chain
from typing import Any

import made_up_tokenizers
import pytest
from tokenizers import AddedToken, normalizers
from transformers import PreTrainedTokenizerFast

from pretrace.passes.prompt_prefix import prompt_prefix_of
from pretrace.runtime.errors import InputError
from pretrace.views.readings import Prefix, Shots

SHOTS = ["the state of house", "people of the Union", "the state"]


@pytest.fixture(scope="module")
def prepending() -> Any:
    """As Llama's: a space is prepended to every text, and spaces are letters."""
    return PreTrainedTokenizerFast(tokenizer_object=made_up_tokenizers.llama())


def ids_of(tokenizer: Any, text: str) -> list[int]:
    return list(tokenizer(text, add_special_tokens=False)["input_ids"])


def prompt_prefix(
    tokenizer: Any, prefix: str, *, context: int | None = None
) -> tuple[tuple[int, ...], ...]:
    shots = Shots(Prefix.from_name(prefix), draw=0, count=3)
    made = prompt_prefix_of(
        shots, (), tokenizer=tokenizer, texts=SHOTS, context=context, longest=1
    )
    assert made.shots is not None
    return made.shots


@pytest.mark.parametrize(
    ("prefix", "separator"), [("nonmember", ""), ("nonmember;separator=space", " ")]
)
def test_no_space_is_added_before_later_shots(prepending, prefix, separator):
    shots = prompt_prefix(prepending, prefix)
    assert prepending.decode(
        list(chain.from_iterable(shots))
    ).strip() == separator.join(SHOTS)
    assert list(shots[0]) == ids_of(prepending, SHOTS[0])
    if separator:  # with a space between, words end where shots do
        assert list(chain.from_iterable(shots)) == ids_of(
            prepending, separator.join(SHOTS)
        )


@pytest.mark.parametrize("joined", ["\n\n", "\n\n\n", "x\n"])
def test_a_newline_stays_where_a_tokenizer_joins_newlines(joined):
    """Behind a newline, the token of two newlines was cut away as if it were one."""
    tokenizer = made_up_tokenizers.llama([AddedToken(joined, normalized=False)])
    wrapped = PreTrainedTokenizerFast(tokenizer_object=tokenizer)
    shots = prompt_prefix(wrapped, "nonmember;separator=newline")
    assert wrapped.decode(list(chain.from_iterable(shots))).strip() == "\n".join(SHOTS)


def test_a_tokenizer_without_newlines_takes_no_newline_between_shots():
    tokenizer = made_up_tokenizers.llama()
    tokenizer.normalizer = normalizers.Sequence(
        [normalizers.Replace("\n", " "), tokenizer.normalizer]
    )
    with pytest.raises(InputError, match="drops newlines"):
        prompt_prefix(
            PreTrainedTokenizerFast(tokenizer_object=tokenizer),
            "nonmember;separator=newline",
        )


def test_the_first_shot_that_stays_has_the_space(prepending):
    whole = prompt_prefix(prepending, "nonmember")
    fitting = prompt_prefix(prepending, "nonmember", context=sum(map(len, whole)))
    expected = [ids_of(prepending, SHOTS[1]), list(whole[2])]
    assert [list(shot) for shot in fitting] == expected
