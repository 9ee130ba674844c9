"""Letters by a tree of prompts are those of each prompt alone; texts by batches are
those of each alone."""

from dataclasses import replace
from functools import cache
from itertools import permutations, product

import numpy as np
import pytest
import torch
from made_up_jobs import target_of
from made_up_questions import answerer_on, letters_of, replies_of

import tiny_models
from pretrace.passes.attention import SHARED_PREFIX
from pretrace.passes.features import Features
from pretrace.questions import local, prompt_tree
from pretrace.questions.answering import OPTION_LETTERS, Prompt, split_units
from pretrace.questions.prompt_tree import Reader, tree_of
from pretrace.runtime.errors import InputError

TOLERANCE = 1e-4
GENERATOR = np.random.default_rng(0)
ORDERS = list(permutations(range(4)))
SHARING = [
    kind for kind in tiny_models.CACHES if kind not in ("mamba", "jamba", "rwkv")
]


def drawn(size):
    return tuple(GENERATOR.integers(4, 300, size).tolist())


HEADER = drawn(9)
END = drawn(3)
OPTIONS = [drawn(size) for size in (21, 17, 20, 21)]
PROMPTS = [
    HEADER + sum((OPTIONS[place] for place in order), ()) + END for order in ORDERS
]


@pytest.fixture(scope="module")
def target(tiny_checkpoint):
    return cache(lambda kind: target_of(tiny_checkpoint(kind)))


def alone(model, ids):
    """Logits of the token after each prompt: one at a time, nothing cached."""
    with torch.no_grad():
        return np.array(
            [
                model(torch.tensor([row]), use_cache=False).logits[0, -1].numpy()
                for row in ids
            ]
        )


def read(model, root, prompts, batch_tokens=10_000, attention=None):
    reader = Reader(Features(model, attention), "tiny", batch_tokens)
    logits_of = {}
    every = torch.arange(reader.features.vocabulary)

    with torch.inference_mode():
        for places, logits in reader.answers(
            root, lambda features: reader.features.logits(features[None], every)[0]
        ):
            logits_of.update(dict.fromkeys(places, logits.numpy()))
    return np.array([logits_of[place] for place in range(len(prompts))])


def test_answers_of_batches_are_not_taken_for_those_of_a_model_that_reads_alone(target):
    in_batches = target("llama")
    alone = replace(in_batches, reads_alone=True)
    how = local.answered_how(in_batches, 64, threads=1)
    assert how != local.answered_how(alone, 64, threads=1)


def paths_of(branch, before=()):
    ids = before + branch.ids
    assert branch.ids or not before  # an empty branch would be read for nothing
    if not branch.branches:
        return dict.fromkeys(branch.prompts, ids)
    paths = {}
    for below in branch.branches:
        for place, path in paths_of(below, ids).items():
            paths[place] = path
    return paths


@pytest.mark.parametrize("worth", [2, 5, 16])
def test_every_path_through_a_tree_is_a_prompt(monkeypatch, worth):
    monkeypatch.setattr(prompt_tree, "WORTH", worth)
    few = np.random.default_rng(1)
    for _ in range(200):
        prompts = []
        for _ in range(few.integers(1, 9)):
            prompts.append(tuple(few.integers(0, 2, few.integers(1, 14)).tolist()))
        root = tree_of(prompts)
        assert paths_of(root) == dict(enumerate(prompts))
        assert root.tokens <= sum(map(len, prompts))


def greedy(model, ids, count, end=None):
    """The prompt and the next tokens, one at a time and nothing cached, up to the token
    `end`."""
    ids = list(ids)
    for _ in range(count):
        with torch.no_grad():
            ids.append(
                int(model(torch.tensor([ids]), use_cache=False).logits[0, -1].argmax())
            )
        if ids[-1] == end:
            break
    return tuple(ids)


@pytest.mark.parametrize(
    ("kind", "written"),
    [*((kind, 0) for kind in SHARING), *product(("llama", "gemma2"), (1, 2))],
)
def test_a_tree_gives_what_each_prompt_gives_alone_and_goes_on_with_what_the_model_writes(
    target, kind, written
):
    model = target(kind).load()
    # six begin with one option, pairs of them with two
    prompts = [*PROMPTS[:8], PROMPTS[2], (7, *PROMPTS[0][:40]), (9,), PROMPTS[0][:30]]
    expected = alone(model, [greedy(model, prompt, written) for prompt in prompts])
    for batch_tokens, attention in product((10_000, 50, 1), (None, SHARED_PREFIX)):
        logits = read(
            model, tree_of(prompts, written), prompts, batch_tokens, attention
        )
        np.testing.assert_allclose(logits, expected, atol=TOLERANCE, rtol=1e-5)


def questions(count=24):
    options = [
        "the state of the union",
        "a number of tokens",
        "people of Congress",
        "what it has seen",
    ]
    prompts = []
    for order in ORDERS[:count]:
        prompts.append(
            Prompt(
                "Which?\n"
                + "\n".join(
                    f"{a}. {options[p]}"
                    for a, p in zip(OPTION_LETTERS, order, strict=True)
                )
                + "\n:",
                "Choose.",
            )
        )
    return prompts


@pytest.fixture
def answerer(tmp_path):
    """Makes the answerer of a target with these batches."""
    return lambda target, batch_tokens=300: answerer_on(target, tmp_path, batch_tokens)


FRAME = Prompt("Which?\nA. A\nB. B\nC. C\nD. D\n:", "Choose.")


def expected_letters(loaded, prompts, spelled):
    """p of the letters from whole softmaxes in float64, one prompt at a time, and the
    tokens each is read as."""
    tokenizer = loaded.tokenizer
    model = loaded.load()
    start = (
        [tokenizer.bos_token_id]
        if tokenizer("a")["input_ids"][0] == tokenizer.bos_token_id
        else []
    )
    rows = []
    for prompt in prompts:
        ids = (
            start
            + tokenizer(f"{prompt.system}\n\n{prompt.user}", add_special_tokens=False)[
                "input_ids"
            ]
        )
        with torch.no_grad():
            p = model(torch.tensor([ids])).logits[0, -1].double().softmax(0).numpy()
        masses = []
        for a in OPTION_LETTERS:
            masses.append(
                sum(
                    p[tokenizer.convert_tokens_to_ids(spelling)]
                    for spelling in spelled(a)
                )
            )
        mass = np.array(masses)
        rows.append(mass / mass.sum())
    return np.array(rows)


@pytest.mark.parametrize("kind", ["llama", "gpt_neox", "gemma2", "mamba", "rwkv"])
def test_letters_are_those_of_each_prompt_alone(target, answerer, short_branches, kind):
    """One spelling a letter here: the tiny tokenizer never merges a space with one."""
    loaded = target(kind)
    done = []
    answers = letters_of(answerer(loaded), questions(), done.append, frame=FRAME)
    expected = expected_letters(loaded, questions(), lambda letter: [letter])
    np.testing.assert_allclose(
        [letters.probabilities for letters in answers], expected, atol=TOLERANCE
    )
    assert [letters.answer for letters in answers] == [
        OPTION_LETTERS[row.argmax()] for row in expected
    ]
    assert sum(done) == 24
    assert {letters.reason for letters in answers} == {None}


def test_the_letter_at_the_second_token_is_read_in_one_spelling(
    target, answerer, monkeypatch, short_branches
):
    """As DE-COP's code reads LLaMA-2: whatever the first token is; another spelling of
    A counts for nothing."""
    loaded = target("llama")
    tokenizer = loaded.tokenizer
    model = loaded.load()
    spelled = tokenizer.batch_decode([[id] for id in range(len(tokenizer))])
    spelled[5] = " A"
    monkeypatch.setattr(tokenizer, "batch_decode", lambda ids: spelled)
    prompts = [replace(question, written=1) for question in questions(4)]
    model_here = answerer(loaded)
    letters = []
    for letter in OPTION_LETTERS:
        letters.append(tokenizer(letter, add_special_tokens=False)["input_ids"][-1])
    ids = [greedy(model, model_here._ids(prompt), 1) for prompt in prompts]
    expected = torch.tensor(alone(model, ids))[:, letters].double().softmax(1)
    answers = letters_of(model_here, prompts)
    np.testing.assert_allclose(
        [question.probabilities for question in answers], expected, atol=TOLERANCE
    )


def test_a_model_that_cannot_go_on_is_not_asked_for_a_later_token(target, answerer):
    prompts = [replace(question, written=1) for question in questions(2)]
    with pytest.raises(
        InputError,
        match=r"tiny cannot continue .* after 1 tokens that the model writes",
    ):
        letters_of(answerer(target("mamba")), prompts)


def test_every_spelling_of_a_letter_counts(target, answerer, monkeypatch):
    loaded = target("llama")
    written = loaded.tokenizer.batch_decode(
        [[id] for id in range(len(loaded.tokenizer))]
    )
    written[5:9] = [" A", "A\n", "A.", "AB"]
    monkeypatch.setattr(loaded.tokenizer, "batch_decode", lambda ids: written)
    also = [loaded.tokenizer.convert_ids_to_tokens(id) for id in (5, 6)]
    expected = expected_letters(
        loaded, questions(3), lambda letter: [letter, *(also if letter == "A" else [])]
    )
    probabilities = [
        letters.probabilities for letters in letters_of(answerer(loaded), questions(3))
    ]
    np.testing.assert_allclose(probabilities, expected, atol=TOLERANCE)


def test_a_prompt_beyond_the_context_is_unusable_and_says_so(target, answerer):
    long = Prompt("word " * 200)
    model = answerer(target("llama"))
    first, second = letters_of(model, [long, questions(1)[0]])
    assert first.probabilities is None
    assert first.answer is None
    assert first.reason == local.TOO_LONG
    assert second.answer in OPTION_LETTERS
    assert replies_of(model, [long], 4)[0].reason == local.TOO_LONG


@pytest.mark.parametrize("kind", ["llama", "mamba"])
def test_replies_are_greedy_and_those_of_each_prompt_alone(target, answerer, kind):
    loaded = target(kind)
    prompts = []
    for text in ("The state", "A number of", "In 1934 the", "The union", "x"):
        prompts.append(Prompt(text))
    done = []
    replies = replies_of(answerer(loaded, 60), prompts, 6, done.append)
    assert sum(done) == len(prompts)
    model = loaded.load()
    tokenizer = loaded.tokenizer
    for prompt, reply in zip(prompts, replies, strict=True):
        ids = tokenizer(prompt.user)["input_ids"]
        written = greedy(model, ids, 6, model.generation_config.eos_token_id)[
            len(ids) :
        ]
        assert reply.text == tokenizer.decode(written, skip_special_tokens=True)


def test_a_text_is_split_by_the_models_own_tokens(target, answerer):
    loaded = target("llama")
    tokenizer = answerer(loaded).tokenizer
    text = "The state of the union is strong."
    ids = loaded.tokenizer(text, add_special_tokens=False)["input_ids"]
    first, second = split_units(text, 5, tokenizer)
    assert first + second == loaded.tokenizer.decode(ids[:10])
    assert loaded.tokenizer(first, add_special_tokens=False)["input_ids"] == ids[:5]
    assert split_units(text, len(ids) // 2 + 1, tokenizer) is None


TEMPLATE = (
    "{% for m in messages %}<{{ m['role'] }}>{{ m['content'] }}\n{% endfor %}{% if "
    "add_generation_prompt %}<assistant>{% endif %}"
)
NO_SYSTEM = (
    "{% if messages[0]['role'] == 'system' %}{{ raise_exception('no system') }}{% "
    "endif %}" + TEMPLATE
)
SILENT = TEMPLATE.replace(
    "{% for m in messages %}", "{% for m in messages if m['role'] == 'user' %}"
)


@pytest.mark.parametrize(
    ("template", "expected"),
    [
        (None, "<s>Choose.\n\nWhich?"),
        (TEMPLATE, "<system>Choose.\n<user>Which?\n<assistant>"),
        (NO_SYSTEM, "<user>Choose.\n\nWhich?\n<assistant>"),
        (SILENT, "<user>Choose.\n\nWhich?\n<assistant>"),
    ],
)
def test_a_chat_model_is_asked_by_its_template(
    target, answerer, monkeypatch, template, expected
):
    loaded = target("llama")
    monkeypatch.setattr(loaded.tokenizer, "chat_template", template)
    asked = answerer(loaded)
    assert asked.chat is (template is not None)
    assert loaded.tokenizer.decode(asked._ids(Prompt("Which?", "Choose."))) == expected
    assert (
        loaded.tokenizer.decode(asked._ids(Prompt("[Which?]", templated=True)))
        == "<s>[Which?]"
    )


def test_bfloat16_letters_are_summed_in_float32(target):
    model = target("llama").load().to(torch.bfloat16)
    features = Features(model)
    rows = torch.randn(3, 32).bfloat16()
    ids = torch.tensor([40, 41, 42])
    expected = rows.double() @ model.get_output_embeddings().weight[ids].double().T
    torch.testing.assert_close(
        features.logits(rows, ids).double(), expected, atol=1e-5, rtol=1e-5
    )
