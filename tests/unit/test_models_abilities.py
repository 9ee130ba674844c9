"""The table of what each kind of model can do, against the entries of models.yaml."""

import pytest
from made_up_studies import FREE

from pretrace.models.abilities import ABILITIES, KINDS, can, refusal
from pretrace.models.entries import MODELS
from pretrace.runtime.schema import key_texts

SCORING = FREE | {"endpoint": "completions"}
TRAINING = {
    "benchmark": "b",
    "window": 512,
    "learning_rate": 0.1,
    "epochs": 1,
    "seed": 0,
}
ENTRIES = {
    "hub": {"hub": "me/mine"},
    "gguf_wheel": {"download": "d", "member": "m"},
    "local": {"path": "p"},
    "adapter": {"path": "p", "base": "other"},
    "trained": {"training": TRAINING},
    "trained further": {"training": TRAINING | {"from": "other"}},
    "answers": {"path": "p"},
    "chat": {"api": FREE},
    "echo": {"api": SCORING | {"echo": True}, "tokenizer": "other"},
    "top40": {"api": SCORING | {"top40": "prompt_logprobs"}, "tokenizer": "other"},
}
SOURCES = {"trained further": "trained", "chat": "openai", "echo": "openai"}
SOURCES |= {"top40": "openai"}
RUN_HERE = {"hub", "gguf_wheel", "local", "adapter", "trained", "trained further"}


def entry(name):
    source = SOURCES.get(name, name)
    return MODELS[source].model_validate(ENTRIES[name] | {"source": source})


@pytest.mark.parametrize(
    ("ability", "kinds"),
    [
        ("weights", RUN_HERE),
        ("log_probabilities", RUN_HERE | {"echo", "top40"}),
        ("likeliest_tokens", RUN_HERE | {"top40"}),
        ("whole_predictions", RUN_HERE),
        ("answers", RUN_HERE | {"chat", "echo", "top40"}),
        ("going_on", {"chat", "echo", "top40"}),
        ("start", {"hub", "gguf_wheel", "local", "trained"}),
        ("base", RUN_HERE - {"adapter"}),
        ("released_answers", {"answers"}),
    ],
)
def test_a_kind_of_model_can_do_what_its_weights_or_its_server_give(ability, kinds):
    assert {name for name in ENTRIES if can(entry(name), ability)} == kinds


def test_the_table_names_sources_and_keys_that_there_are():
    assert KINDS.keys() == MODELS.keys()
    for ability in ABILITIES.values():
        assert {*ability.sources, *ability.keys} <= MODELS.keys()
        for source, keys in ability.keys.items():
            first = {key.removeprefix("no ").partition(".")[0] for key in keys}
            assert first <= key_texts(MODELS[source]).keys()


def test_a_refusal_says_where_which_model_what_and_what_would_be_right():
    error = refusal("likeliest_tokens", "far", "openai", "my.yaml: runs.0.extraction")
    assert str(error) == (
        "my.yaml: runs.0.extraction: far is behind an API (source: openai) and cannot "
        "give the 40 most likely tokens at each position without api.top40 in its "
        "entry. Use a model whose weights can be loaded, or a server that returns "
        "these tokens (top40 in its api)."
    )
    no_key_helps = refusal("released_answers", "near", "hub", "my.yaml: runs.0")
    assert "answers" in str(no_key_helps)
    assert "in its entry" not in str(no_key_helps)
