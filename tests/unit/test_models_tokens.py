"""The start token of a run: what the tokenizer puts first by itself, none, or a named one."""

import pytest

import tiny_models
from pretrace.models.tokens import start_token_ids
from pretrace.runtime.errors import InputError


@pytest.mark.parametrize("kind", tiny_models.KINDS)
def test_tokenizer_means_what_the_tokenizer_itself_prepends(kind):
    tokenizer = tiny_models.tiny_tokenizer(tiny_models.STARTS[kind])
    start = start_token_ids(tokenizer, "tokenizer")
    assert tokenizer.convert_ids_to_tokens(start) == [tiny_models.STARTS[kind]][: len(start)]
    assert bool(start) == (kind != "gpt_neox")


def test_an_end_token_that_a_tokenizer_appends_is_no_start_token():
    from tokenizers import processors

    tokenizer = tiny_models.tiny_tokenizer()
    tokenizer.backend_tokenizer.post_processor = processors.TemplateProcessing(
        single="$A </s>", special_tokens=[("</s>", 2)]
    )
    assert tokenizer("a")["input_ids"][-1] == 2
    assert start_token_ids(tokenizer, "tokenizer") == ()


def test_none_and_named_tokens_and_one_that_the_vocabulary_lacks():
    tokenizer = tiny_models.tiny_tokenizer("<s>")
    assert start_token_ids(tokenizer, "none") == ()
    assert start_token_ids(tokenizer, "<|endoftext|>") == (0,)
    with pytest.raises(InputError, match=r"did you mean '<\|endoftext\|>'"):
        start_token_ids(tokenizer, "<|endoftxt|>")
