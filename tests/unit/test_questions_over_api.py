"""Questions over an API: letters by log-probabilities in both shapes, by text, with a
bias; replies; a real server."""

import math

import pytest
from made_up_questions import letters_of, replies_of

import tiny_models
from llama_server import llama_server
from loopback import Loopback, client_at, completion, message
from pretrace.models.api.store import AnswerStore
from pretrace.questions.answering import OPTION_LETTERS, Letters, Prompt, Reply
from pretrace.questions.over_api import ApiAnswerer
from pretrace.runtime.errors import InputError

PROMPTS = [Prompt("Which?\nAnswer:", "Be concise."), Prompt("Who?\nAnswer:")]
BIAS = {"A": [32], "B": [33], "C": [34, 350], "D": [35]}


@pytest.fixture
def answerer(tmp_path, quick_retries):
    with AnswerStore(tmp_path / "answers.sqlite") as store:
        usual = {"endpoint": "chat", "attempts": 2}
        yield lambda url, tokenizer=None, **keys: ApiAnswerer(
            client_at(url, store, **usual | keys), tokenizer
        )


def chat_logprobs(**tokens):
    listed = [
        {"token": token, "logprob": math.log(share)} for token, share in tokens.items()
    ]
    return {"content": [{"token": "x", "logprob": 0.0, "top_logprobs": listed}]}


def recording(bodies, answer):
    def respond(path, body):
        bodies.append((path, body))
        return answer

    return respond


def test_letters_of_a_chat_endpoint_are_the_shares_of_their_spellings(answerer):
    bodies = []
    logprobs = chat_logprobs(
        **{"A": 0.1, " A": 0.2, "B": 0.3, " c": 0.1, "\nD": 0.15, "The": 0.15}
    )
    with Loopback(recording(bodies, message("B", logprobs=logprobs))) as server:
        first, second = letters_of(answerer(server.url, top_logprobs=6), PROMPTS)
    assert first == second
    assert first.probabilities == pytest.approx((0.4, 0.4, 0, 0.2))
    assert first.answer in ("A", "B")
    path, body = next(sent for sent in bodies if len(sent[1]["messages"]) == 2)
    assert path == "/v1/chat/completions"
    expected = {
        "model": "m",
        "max_tokens": 1,
        "temperature": 0,
        "logprobs": True,
        "top_logprobs": 6,
        "messages": [
            {"role": "system", "content": "Be concise."},
            {"role": "user", "content": "Which?\nAnswer:"},
        ],
    }
    assert body == expected


@pytest.mark.parametrize(
    ("prompt", "says"),
    [
        (Prompt("Which?", written=1), r"asks for a later one; use another"),
        (PROMPTS[0], "leave top_logprobs out of its entry"),
    ],
)
def test_letters_at_a_later_token_or_without_log_probabilities_are_an_error(
    answerer, prompt, says
):
    with Loopback(lambda path, body: completion("B")) as server:
        model = answerer(server.url, endpoint="completions", top_logprobs=5)
        with pytest.raises(InputError, match=says):
            letters_of(model, [prompt])


def test_letters_of_a_completions_endpoint_with_a_bias(answerer):
    bodies = []
    top = {
        "A": math.log(0.2),
        "B": math.log(0.5),
        "C": math.log(0.2),
        "D": math.log(0.1),
    }
    answer = completion(
        "B",
        logprobs={"tokens": ["B"], "token_logprobs": [top["B"]], "top_logprobs": [top]},
    )
    with Loopback(recording(bodies, answer)) as server:
        model = answerer(
            server.url, endpoint="completions", top_logprobs=4, logit_bias=BIAS
        )
        letters = letters_of(model, PROMPTS[:1])
    assert letters[0].probabilities == pytest.approx((0.2, 0.5, 0.2, 0.1))
    assert letters[0].answer == "B"
    assert bodies[0][0] == "/v1/completions"
    expected = {
        "model": "m",
        "max_tokens": 1,
        "temperature": 0,
        "logprobs": 4,
        "prompt": "Be concise.\n\nWhich?\nAnswer:",
        "logit_bias": {"32": 100, "33": 100, "34": 100, "350": 100, "35": 100},
    }
    assert bodies[0][1] == expected
    assert {type(bias) for bias in bodies[0][1]["logit_bias"].values()} == {float}


RAW = {" the": -4.5, "stack": -5.1, "The": -5.3, "L": -5.4,
       "A": -11.770, "B": -12.278, "C": -13.170, "D": -13.078}  # fmt: skip
"""What a model finds likeliest before a bias, in nats."""
SHARES = (0.472, 0.284, 0.116, 0.128)
BIASED = {letter: math.log(share) for letter, share in zip("ABCD", SHARES, strict=True)}
LISTS = {
    "vLLM: the made token, then raw ones": ({"A": RAW["A"]} | RAW, "A", None, "A"),
    "llama.cpp: raw ones": (RAW, "A", None, "A"),
    "raw ones, and no letter in the text": (RAW, "The", None, None),
    "after the bias": (BIASED, "A", SHARES, "A"),
    "two of four, and much that is not listed": (
        {"A": -0.6, "Th": -1.6, "D": -3.3, "I": -4.0},
        "A",
        None,
        "A",
    ),
    "two of four, and nothing else": (
        {"A": math.log(0.75), "D": math.log(0.25)},
        "A",
        (0.75, 0, 0, 0.25),
        "A",
    ),
}


def in_shape(endpoint, tops, text, mark=""):
    """An answer of an endpoint that lists these tokens, a letter as `mark` and it."""
    named = {mark * (len(name) == 1) + name: value for name, value in tops.items()}
    made = mark + text
    if endpoint == "completions":
        shape = {"tokens": [made], "top_logprobs": [named]}
        return completion(text, logprobs=shape | {"token_logprobs": [-1.0]})
    listed = [{"token": name, "logprob": value} for name, value in named.items()]
    entry = {"token": made, "logprob": -1.0, "top_logprobs": listed}
    return message(text, logprobs={"content": [entry]})


@pytest.mark.parametrize("mark", ["", " ", "\u0120", "\u2581"])
@pytest.mark.parametrize("endpoint", ["chat", "completions"])
@pytest.mark.parametrize("way", LISTS)
def test_a_letter_that_a_list_leaves_out_is_unknown(
    answerer, caplog, way, endpoint, mark
):
    """Names are text, or as the vocabulary spells them."""
    tops, text, probabilities, letter = LISTS[way]
    tops = dict([*tops.items()][:4])
    with Loopback(lambda *asked: in_shape(endpoint, tops, text, mark)) as server:
        model = answerer(server.url, endpoint=endpoint, top_logprobs=4, logit_bias=BIAS)
        [read] = letters_of(model, PROMPTS[:1])
        model.finish()
    assert read.answer == letter
    expected = probabilities and pytest.approx(probabilities, abs=1e-3)
    assert read.probabilities == expected
    is_told = "does not list all four letters" in caplog.text
    assert is_told == (probabilities is None and letter is not None)


@pytest.mark.parametrize(
    "said",
    [
        {"id": 32},
        {"bytes": [32, 65]},
        {"bytes": [*"\u0120A".encode()]},
        {"name": "token_id:32"},
    ],
)
def test_the_id_or_the_bytes_of_a_token_decide_what_it_is(answerer, said):
    listed = [{"token": name, "logprob": value} for name, value in BIASED.items()]
    listed[0] |= {"token": said.pop("name", "?")} | said
    entry = {"token": "?", "logprob": -1.0, "top_logprobs": listed}
    answer = message("A", logprobs={"content": [entry]})
    with Loopback(lambda *asked: answer) as server:
        model = answerer(server.url, top_logprobs=4, logit_bias=BIAS)
        [read] = letters_of(model, PROMPTS[:1])
    assert read.probabilities == pytest.approx(SHARES, abs=1e-3)


OF_A_THOUGHT = chat_logprobs(**{"<think>": 1.0, "A": 1e-9})
READ_IN_THE_TEXT = {
    "thoughts in the text": ({"content": "<think>A? No.</think>B"}, OF_A_THOUGHT, "B"),
    "thoughts beside it": ({"reasoning_content": "A? No."}, OF_A_THOUGHT, "B"),
    "an empty list": ({}, chat_logprobs(), "B"),
    "no list and no text": ({"content": ""}, None, None),
}


@pytest.mark.parametrize("way", READ_IN_THE_TEXT)
def test_a_letter_is_the_texts_where_the_list_is_not_of_its_place(answerer, way):
    told, logprobs, letter = READ_IN_THE_TEXT[way]
    answer = message("B", logprobs=logprobs)
    answer["choices"][0]["message"] |= told
    with Loopback(lambda *asked: answer) as server:
        [read] = letters_of(answerer(server.url, top_logprobs=4), PROMPTS[:1])
    reason = None if letter else "no text in the answer"
    assert read == Letters(None, letter, reason)


@pytest.mark.parametrize("by", [0.02, 1.0])
def test_a_cache_that_changes_the_letters_is_refused_and_asked_again_when_mended(
    answerer, by
):
    """A server of the user's own: what a paid one changes, nobody can set."""
    seen = []

    def respond(path, body):
        prompt = body["messages"][-1]["content"]
        off = by * seen.count(prompt) * (1 if len(seen) % 2 else -1)
        seen.append(prompt)
        tops = BIASED | {"A": math.log(SHARES[0] - 0.3 * (off < -0.5))}
        tops["B"] = math.log(SHARES[1] * math.exp(min(0, off)))
        return in_shape("chat", tops | {"The": -9.0}, "A")

    with Loopback(respond) as server:
        model = answerer(server.url, top_logprobs=5, concurrency=1)
        if by > 0.5:
            with pytest.raises(InputError, match="asked again, or after a prompt"):
                letters_of(model, PROMPTS)
            seen[:] = []
            by = 0.0
        assert [read.answer for read in letters_of(model, PROMPTS)] == ["A", "A"]
        assert len(seen) == 4
        paid = answerer(
            server.url, model="paid", top_logprobs=5, price={"input": 1, "output": 1}
        )
        with pytest.raises(InputError, match="budget"):
            letters_of(paid, PROMPTS)
        assert len(seen) == 4


def test_no_letter_among_the_log_probabilities_is_unusable(answerer):
    with Loopback(
        lambda path, body: message("The", logprobs=chat_logprobs(The=0.9, An=0.1))
    ) as server:
        letters = letters_of(answerer(server.url, top_logprobs=2), PROMPTS[:1])
    assert letters == [Letters(None, None, "no letter among the most probable tokens")]


@pytest.mark.parametrize(
    ("text", "letter"),
    [
        ("B", "B"),
        ("'c'", "C"),
        ("Answer: D.", "D"),
        ("I cannot say", None),
        (" ", None),
    ],
)
def test_answers_in_text_are_parsed_strictly(answerer, text, letter):
    with Loopback(lambda path, body: message(text)) as server:
        letters = letters_of(answerer(server.url), PROMPTS[:1])[0]
    reason = "no letter in the answer" if text.strip() else "no text in the answer"
    assert letters == Letters(None, letter, None if letter else reason)


def test_replies_are_cut_to_the_units_and_refusals_have_a_reason(answerer):
    bodies = []
    with Loopback(recording(bodies, message("one two three four five"))) as server:
        assert replies_of(answerer(server.url), PROMPTS[:1], 3) == [
            Reply("one two three")
        ]
        assert bodies[0][1]["max_tokens"] > 3
        assert replies_of(
            answerer(server.url, tiny_models.tiny_tokenizer()), PROMPTS[:1], 3
        ) == [Reply("one two three four five")]
        assert bodies[1][1]["max_tokens"] == 3
    refused = message("")
    refused["choices"][0]["message"] |= {"content": None, "refusal": "I will not."}
    filtered = message("so", finish_reason="content_filter")
    for answer, reason in (
        (filtered, "filtered by the API"),
        (refused, "the model refused"),
    ):
        with Loopback(lambda path, body, answer=answer: answer) as server:
            assert replies_of(answerer(server.url), PROMPTS[:1], 3) == [
                Reply(None, reason)
            ]


def test_a_real_server_gives_letters_that_agree_with_its_text(answerer, tmp_path):
    question = (
        "Which of the following is a colour?\nOptions:\nA. Stone\nB. Blue\nC. Run\nD. "
        "Seven\n\nAnswer:"
    )
    prompts = [
        Prompt(question, "Output only the letter of the correct answer."),
        Prompt(question),
    ]
    with llama_server(tmp_path) as url:
        for endpoint in ("chat", "completions"):
            model = answerer(url, endpoint=endpoint, top_logprobs=20)
            for letters in letters_of(model, prompts):
                assert sum(letters.probabilities) == pytest.approx(1)
                assert (
                    letters.answer
                    == OPTION_LETTERS[
                        letters.probabilities.index(max(letters.probabilities))
                    ]
                )
        replies = replies_of(answerer(url), prompts, 5)
        for reply in replies:
            assert reply.text
        assert replies_of(answerer(url), prompts, 5) == replies
