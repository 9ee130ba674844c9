"""A checkpoint's tokenizer: one reading everywhere, tokenizer.json's; and the start
token of a run."""

import json
import re
import resource
from base64 import b64encode
from types import SimpleNamespace

import pytest
import sentencepiece
import tokenizers
import transformers
from tokenizers import normalizers, pre_tokenizers, processors

import tiny_models
from pretrace.models.checkpoint import register_local
from pretrace.models.tokens import (
    bos_contradiction,
    decoder_of,
    load_encoder,
    load_tokenizer,
    start_in_words,
    start_token_ids,
    witness_of,
)
from pretrace.passes.text_check import TextCheck
from pretrace.runtime.errors import InputError

TEXTS = [
    "In 1934 the Congress met 120 members",
    "cafe\u0301 ﬁne",
    " a <s>b</s>\n\n  c",
    "数据集",
]


@pytest.fixture
def registered(tmp_path):
    """Records a checkpoint whose tokenizer.json and tokenizer_config.json are changed;
    returns it and its record. `beside` has the contents of further files by name."""

    def make(kind="gpt_neox", change=lambda tokenizer: None, beside=(), **settings):
        folder = tiny_models.tiny_model(kind, tmp_path / "model")
        if kind == "qwen2":  # a tokenizer of its own, which transformers would rebuild
            tiny_models.tiny_tokenizer().save_pretrained(folder)
        tokenizer = tokenizers.Tokenizer.from_file(str(folder / "tokenizer.json"))
        change(tokenizer)
        tokenizer.save(str(folder / "tokenizer.json"))
        written = json.loads((folder / "tokenizer_config.json").read_text())
        (folder / "tokenizer_config.json").write_text(json.dumps(written | settings))
        for name, content in dict(beside).items():
            (folder / name).write_text(json.dumps(content))
        return register_local(
            folder, tmp_path / "checkpoint.json"
        ), tmp_path / "checkpoint.json"

    return make


def plain_cut(tokenizer):
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)


def dropping(tokenizer):
    tokenizer.model.dropout = 0.5


def filling(tokenizer):
    tokenizer.enable_truncation(3)
    tokenizer.enable_padding(length=64)


def folding(tokenizer):
    tokenizer.normalizer = normalizers.NFKC()


@pytest.mark.parametrize(
    ("kind", "change", "settings", "differs"),
    [
        ("gpt_neox", lambda tokenizer: None, {}, ""),
        ("qwen2", lambda tokenizer: None, {}, "text '0' has .* by Qwen2Tokenizer"),
        (
            "gpt_neox",
            plain_cut,
            {"tokenizer_class": "GPTNeoXTokenizer"},
            "text '1' .* by GPTNeoXTokenizer",
        ),
        (
            "gpt_neox",
            folding,
            {"tokenizer_class": "CohereTokenizer"},
            "text '0' .* by CohereTokenizer",
        ),
        ("gpt_neox", dropping, {}, ""),
        ("gpt_neox", filling, {}, ""),
        ("gpt_neox", lambda tokenizer: None, {"pad_token": "[PAD]"}, ""),
    ],
)
def test_texts_are_read_by_tokenizer_json_and_another_reading_is_an_error(
    registered, kind, change, settings, differs
):
    checkpoint, record = registered(kind, change, **settings)
    tokenizer = load_tokenizer(checkpoint)
    right = tokenizers.Tokenizer.from_file(str(checkpoint.path / "tokenizer.json"))
    right.no_truncation()
    right.no_padding()
    right.model.dropout, right.encode_special_tokens = None, True
    ids = [right.encode(text, add_special_tokens=False).ids for text in TEXTS]
    assert tokenizer(TEXTS, add_special_tokens=False)["input_ids"] == ids
    assert [
        each.ids
        for each in load_encoder(record).encode_batch(TEXTS, add_special_tokens=False)
    ] == ids
    check = checking(checkpoint)
    if differs:
        with pytest.raises(InputError, match=f"(?s){differs}.* tokenizer_from: file"):
            check([(str(number), 0, text) for number, text in enumerate(TEXTS)], ids)
        assert witness_of(checkpoint, tokenizer, "file") == (None, "")
        chosen = load_tokenizer(checkpoint, tokenizer_from="class")
        assert type(chosen).__name__ == settings.get(
            "tokenizer_class", "Qwen2Tokenizer"
        )
        of_class = load_encoder(record, tokenizer_from="class").encode_batch(
            TEXTS, add_special_tokens=False
        )
        assert (
            [each.ids for each in of_class]
            == chosen(TEXTS, add_special_tokens=False)["input_ids"]
            != ids
        )
    else:
        check([(str(number), 0, text) for number, text in enumerate(TEXTS)], ids)


@pytest.mark.parametrize(
    ("way", "pieces"),
    [("as_spelled", ["<", "s", ">", "a"]), ("as_control", ["<s>", "a"])],
)
def test_special_tokens_of_a_text_are_read_as_the_entry_says(registered, way, pieces):
    checkpoint, record = registered("llama")
    tokenizer = load_tokenizer(checkpoint, way)
    encoder = load_encoder(record, way)
    assert (
        tokenizer.convert_ids_to_tokens(
            tokenizer("<s>a", add_special_tokens=False)["input_ids"]
        )
        == pieces
    )
    assert encoder.encode("<s>a", add_special_tokens=False).tokens == pieces
    assert start_token_ids(tokenizer, "tokenizer") == (1,), (
        "its own start token stays one"
    )
    assert "split_special_tokens" not in tokenizer.init_kwargs, (
        "saved with no model that is trained further"
    )
    assert decoder_of(tokenizer)([[1, 37]]) == decoder_of(encoder)([[1, 37]])


def checking(checkpoint, way="as_spelled", vocabulary=tiny_models.VOCABULARY):
    tokenizer = load_tokenizer(checkpoint, way)
    return TextCheck(
        SimpleNamespace(
            tokenizer=tokenizer,
            vocabulary=vocabulary,
            checkpoint=checkpoint,
            tokenizer_from=None,
        )
    )


def checked(check, tokenizer, texts):
    ids = tokenizer(list(texts.values()), add_special_tokens=False)["input_ids"]
    check([(id, 0, text) for id, text in texts.items()], ids)
    return check.facts(["none"])["remarks"]


def without_bytes(tokenizer):
    """Of the alphabet only Latin letters: other characters vanish, as in a tokenizer
    without byte fallback."""
    tokenizer.pre_tokenizer = pre_tokenizers.Whitespace()
    tokenizer.decoder = tokenizers.decoders.Fuse()


@pytest.mark.parametrize(
    ("change", "way", "texts", "remarks"),
    [
        (plain_cut, "as_spelled", {"a": "The state 数据 🙂", "b": " e\u0301 "}, []),
        (folding, "as_spelled", {"a": "ﬁne", "b": "fine"},
         ["case or letters .* in 1 text \\('a'\\)"]),
        (plain_cut, "as_spelled", {"a": "x</s>"},
         ["special tokens such as </s> in 1 text .* as they are spelled"]),
        (plain_cut, "as_control", {"a": "x</s>"},
         ["special tokens such as </s> in 1 text .* as control tokens"]),
        (
            without_bytes, "as_spelled", {"a": "数据 x", "b": "The state", "c": "数据"},
            ["does not know or drops in 2 texts \\('a', 'c'\\).* most in 'c', 100%",
             "white space.* 1 text \\('b'\\)"],
        ),
    ],
)  # fmt: skip
def test_what_a_tokenizer_makes_of_texts_is_counted_and_named(
    registered, change, way, texts, remarks
):
    checkpoint, _ = registered("gpt_neox", change)
    check = checking(checkpoint, way)
    written = checked(check, load_tokenizer(checkpoint, way), texts)
    assert len(written) == len(remarks), written
    for pair in zip(remarks, written, strict=True):
        assert re.search(*pair), written
    if change is without_bytes:
        with pytest.raises(
            InputError, match=r"more than 10% of the characters of 2 texts .*2 of 3"
        ):
            check.refuse(list(texts))
        check.refuse(["b"] * 30 + ["a"])


def test_a_token_that_the_model_has_no_place_for_is_named_with_its_text(registered):
    checkpoint, _ = registered()
    with pytest.raises(InputError, match="text 'a' holds 'A', token"):
        checked(
            checking(checkpoint, vocabulary=5), load_tokenizer(checkpoint), {"a": "A"}
        )


TEMPLATE = (
    "{% for m in messages %}<|im_start|>{{ m['role'] }}\n{{ m['content'] "
    "}}<|im_end|>\n{% endfor %}"
)
TURNS = ["<|im_start|>", "<|im_end|>"]
BY_ID = {
    str(300 + place): {"content": token, "special": True}
    for place, token in enumerate(TURNS)
}
OLD_MAP = "special_tokens_map.json"
NOT_SPECIAL = {id: token | {"special": False} for id, token in BY_ID.items()}


@pytest.mark.parametrize(
    "settings",
    [{"added_tokens_decoder": BY_ID}, {"added_tokens_decoder": NOT_SPECIAL},
     {"extra_special_tokens": TURNS},
     {"additional_special_tokens": TURNS},
     {"extra_special_tokens": {"turn": TURNS[0], "end": TURNS[1]}},
     {"beside": {OLD_MAP: {"additional_special_tokens": TURNS}}},
     {"beside": {OLD_MAP: {"eos_token": TURNS[0], "unk_token": {"content": TURNS[1]}}}},
     {"beside": {"added_tokens.json": {TURNS[1]: 301, TURNS[0]: 300}}},
     {"beside": {"added_tokens.json": {TURNS[0]: 300, TURNS[1]: 301},
                 OLD_MAP: {"eos_token": TURNS[1]}}}],
)  # fmt: skip
def test_a_chat_templates_tokens_that_a_file_beside_alone_names_are_one_token_each(
    registered, settings
):
    checkpoint, record = registered("llama", chat_template=TEMPLATE, **settings)
    tokenizer = load_tokenizer(checkpoint)
    encoder = load_encoder(record)
    text = tokenizer.apply_chat_template(
        [{"role": "user", "content": "the state"}], tokenize=False
    )
    plain = transformers.AutoTokenizer.from_pretrained(checkpoint.path)
    ids = tokenizer(text, add_special_tokens=False, split_special_tokens=False)[
        "input_ids"
    ]
    assert ids == plain(text, add_special_tokens=False)["input_ids"]
    assert {300, 301} <= set(ids)
    assert encoder.get_vocab() == tokenizer.get_vocab()


def test_a_token_of_tokenizer_config_with_another_number_is_told(registered, warnings):
    checkpoint, _ = registered(
        "llama",
        added_tokens_decoder={"310": {"content": "<|im_start|>", "special": True}},
    )
    assert "<|im_start|>" not in load_tokenizer(checkpoint).get_vocab()
    assert "no place for <|im_start|>" in warnings()


def without_decoder(tokenizer):
    tokenizer.decoder = None


def with_byte_fallback(decoder):
    def change(tokenizer):
        characters = "▁" + "".join(
            sorted({*"".join(READABLE.values()).replace(" ", "")} - {*"数据🙂é"})
        )
        tokens = [
            "<|endoftext|>",
            "<s>",
            "</s>",
            "<pad>",
            *(f"<0x{byte:02X}>" for byte in range(256)),
            *characters,
        ]
        ids = {token: id for id, token in enumerate(tokens)}
        tokenizer.model = tokenizers.models.BPE(ids, [], byte_fallback=True)
        tokenizer.pre_tokenizer, tokenizer.decoder = None, decoder
        tokenizer.normalizer = normalizers.Replace(" ", "▁")

    return change


READABLE = {"a": "The state", "b": "数据 🙂", "c": "é a"}


@pytest.mark.parametrize(
    "change",
    [
        without_decoder,
        with_byte_fallback(None),
        with_byte_fallback(tokenizers.decoders.Fuse()),
    ],
)
def test_a_tokenizer_that_loses_nothing_needs_no_decoder(registered, change):
    checkpoint, _ = registered("gpt_neox", change)
    check = checking(checkpoint)
    tokenizer = load_tokenizer(checkpoint)
    assert not [
        remark for remark in checked(check, tokenizer, READABLE) if "drops" in remark
    ]
    check.refuse(list(READABLE))
    if change is without_decoder:
        ids = tokenizer(READABLE["b"], add_special_tokens=False)["input_ids"]
        assert decoder_of(tokenizer)([ids]) == [READABLE["b"]], (
            "and answers are written by the decoder that fits"
        )


@pytest.mark.parametrize(
    "name",
    ["MistralCommonBackend", "SpeechT5Tokenizer", "CTRLTokenizer", "T5Tokenizer"],
)
def test_a_class_that_cannot_be_built_here_is_a_remark(registered, name):
    checkpoint, _ = registered("gpt_neox", tokenizer_class=name)
    (checkpoint.path / "tekken.json").write_text("{}")
    [remark] = checked(
        checking(checkpoint), load_tokenizer(checkpoint), {"a": "The state"}
    )
    assert f"could not be compared with what {name} of transformers builds" in remark


@pytest.mark.parametrize(
    ("settings", "says"),
    [
        (
            {"model_max_length": "/etc/passwd"},
            r"_config\.json: model_max_length is '/etc/passwd', and a number",
        ),
        ({"model_max_length": [2048]}, r"model_max_length is '\[2048\]'"),
        ({"padding_side": "up"}, "cannot load the tokenizer in .*Padding side"),
        ({"bos_token": 5}, "cannot load the tokenizer in .*bos_token"),
        (
            {"added_tokens_decoder": {"x": "y"}},
            "cannot load the tokenizer in .*added_tokens_decoder",
        ),
    ],
)
def test_settings_that_no_tokenizer_can_have_are_named(registered, settings, says):
    checkpoint, _ = registered(**settings)
    with pytest.raises(InputError, match=says):
        load_tokenizer(checkpoint)


def test_a_tokens_number_beyond_every_embedding_is_refused_before_a_table_is_made(
    registered,
):
    checkpoint, record = registered()
    file = checkpoint.path / "tokenizer.json"
    parts = json.loads(file.read_text())
    parts["model"]["vocab"]["zzzz"] = 10**9
    file.write_text(json.dumps(parts))
    checkpoint = register_local(checkpoint.path, record)
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    for load in (lambda: load_tokenizer(checkpoint), lambda: load_encoder(record)):
        with pytest.raises(
            InputError,
            match="tokens up to number 1000000000, and the model's vocabulary has 320",
        ):
            load()
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before < 1_000_000, (
        "kilobytes"
    )


SPELLED = [
    "The state of the union.", "  two leading", "a  b   c\n\nd\te", "数据 and émigré 🙂",
    "x<s>y", "\u2581 block",
    "ﬁne ",
]  # fmt: skip


@pytest.fixture
def sentencepiece_alone(tmp_path):
    """Gives a checkpoint whose tokenizer is a SentencePiece file, trained with some
    settings, and its record."""

    def make(**settings):
        folder = tiny_models.tiny_model("llama", tmp_path / "model")
        for name in ("tokenizer.json", "tokenizer_config.json"):
            (folder / name).unlink()
        corpus = tmp_path / "corpus.txt"
        corpus.write_text("\n".join([*tiny_models._CORPUS, *SPELLED]), encoding="utf-8")
        sentencepiece.SentencePieceTrainer.train(
            input=str(corpus),
            model_prefix=str(folder / "tokenizer"),
            minloglevel=2,
            hard_vocab_limit=False,
            **{"vocab_size": 318, "byte_fallback": True} | settings,
        )
        (folder / "tokenizer.vocab").unlink()
        checkpoint = register_local(folder, tmp_path / "checkpoint.json")
        processor = sentencepiece.SentencePieceProcessor(
            model_file=str(folder / "tokenizer.model")
        )
        return checkpoint, tmp_path / "checkpoint.json", processor

    return make


IDENTITY = {"normalization_rule_name": "identity", "remove_extra_whitespaces": False}


@pytest.mark.parametrize(
    "settings",
    [{"model_type": "bpe"}, {"model_type": "bpe", **IDENTITY},
     {"model_type": "bpe", "add_dummy_prefix": False},
     {"model_type": "unigram"}, {"model_type": "unigram", **IDENTITY}],
)  # fmt: skip
def test_a_sentencepiece_file_alone_is_read_as_sentencepiece_reads_it_or_refused(
    sentencepiece_alone, settings
):
    checkpoint, record, processor = sentencepiece_alone(**settings)
    tokenizer = load_tokenizer(checkpoint)
    ids = tokenizer(SPELLED, add_special_tokens=False)["input_ids"]
    encoded = load_encoder(record).encode_batch(SPELLED, add_special_tokens=False)
    assert [each.ids for each in encoded] == ids
    right = [processor.encode(text) for text in SPELLED]
    texts = [(str(place), 0, text) for place, text in enumerate(SPELLED)]
    if settings["model_type"] == "bpe":
        assert ids == right
        checking(checkpoint)(texts, ids)
    else:  # a unigram model of `tokenizers` reads a control token that a text spells
        wrong = []
        for place, (own, other) in enumerate(zip(ids, right, strict=True)):
            if own != other:
                wrong.append(place)
        assert wrong == [SPELLED.index("x<s>y")]
        with pytest.raises(
            InputError,
            match=f"text '{wrong[0]}' has .* by sentencepiece.*tokenizer.json",
        ):
            checking(checkpoint)(texts, ids)


@pytest.mark.parametrize("named", ["LlamaTokenizer", None])
def test_a_file_of_tiktoken_alone_does_not_say_how_texts_are_cut(tmp_path, named):
    folder = tiny_models.tiny_model("llama", tmp_path / "model")
    (folder / "tokenizer.json").unlink()
    ranks = (f"{b64encode(bytes([byte])).decode()} {byte}\n" for byte in range(256))
    (folder / "tokenizer.model").write_text("".join(ranks))
    (folder / "tokenizer_config.json").write_text(
        json.dumps({"tokenizer_class": named})
    )
    checkpoint = register_local(folder, tmp_path / "checkpoint.json")
    with pytest.raises(InputError, match=r"tiktoken: .* cut .* with a tokenizer\.json"):
        load_tokenizer(checkpoint)


@pytest.mark.parametrize("kind", tiny_models.KINDS)
def test_tokenizer_means_what_the_tokenizer_itself_prepends(kind):
    tokenizer = tiny_models.tiny_tokenizer(tiny_models.STARTS[kind])
    start = start_token_ids(tokenizer, "tokenizer")
    assert (
        tokenizer.convert_ids_to_tokens(start)
        == [tiny_models.STARTS[kind]][: len(start)]
    )
    assert bool(start) == (kind != "gpt_neox")
    words = start_in_words(tokenizer, "tokenizer")
    assert (
        words
        == {
            "gpt_neox": "no start token",
            "llama": "starts with <s>",
            "opt": "starts with </s>",
        }[kind]
    )


@pytest.mark.parametrize(
    ("kind", "settings", "words"),
    [
        ("llama", {"add_bos_token": True}, None),
        ("gpt_neox", {"add_bos_token": False}, None),
        ("gpt_neox", {}, None),
        (
            "gpt_neox",
            {"add_bos_token": True, "bos_token": "<s>"},
            "puts no token first.* start_token: '<s>'",
        ),
        ("llama", {"add_bos_token": False}, "puts <s> first.* start_token: none"),
    ],
)
def test_a_key_that_contradicts_what_is_put_first_is_a_remark(
    registered, kind, settings, words
):
    checkpoint, _ = registered(kind, **settings)
    contradiction = bos_contradiction(load_tokenizer(checkpoint))
    assert bool(contradiction) == bool(words)
    assert re.search(words or "", contradiction), contradiction
    remarks = checking(checkpoint).facts(["tokenizer"])["remarks"]
    assert remarks == [contradiction] * bool(contradiction)
    assert not checking(checkpoint).facts(["<s>"])["remarks"], (
        "a run that names its token has chosen"
    )


def test_an_end_token_that_a_tokenizer_appends_is_no_start_token():
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
