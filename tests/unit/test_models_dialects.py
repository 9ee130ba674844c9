"""How a chat server takes requests is found out by the first one, once, and kept;
thoughts get room."""

import copy
import json
import sqlite3
from contextlib import closing

import pytest
from made_up_questions import letters_of, replies_of

from chat_servers import chat, limited, refusing, streaming, thinking, without
from loopback import Loopback, client_at, message
from pretrace.models.api.answers import body_of, check_answer, tokens_used
from pretrace.models.api.dialect import ROOMS
from pretrace.models.api.store import AnswerStore
from pretrace.questions.answering import Prompt, Reply
from pretrace.questions.over_api import ApiAnswerer, worded_reply_of
from pretrace.runtime.errors import InputError

PROMPTS = [Prompt(f"Which of {number}?") for number in range(6)]


def plain(prompt: str) -> str:
    return "B"


def letters_at(url, path, prompts=PROMPTS, **keys):
    with AnswerStore(path) as store:
        client = client_at(url, store, **{"endpoint": "chat", "attempts": 3} | keys)
        return letters_of(ApiAnswerer(client), prompts), client.dialect


def sent(server) -> list[dict]:
    return [json.loads(body) for body in server.answered]


@pytest.mark.parametrize("named", [True, False])
@pytest.mark.parametrize(
    "refused",
    [
        (),
        ("max_tokens",),
        ("temperature",),
        ("logprobs",),
        ("max_tokens", "temperature"),
        ("max_tokens", "temperature", "logprobs", "top_logprobs"),
        ("max_completion_tokens", "temperature"),
    ],
)
def test_what_a_server_refuses_is_found_out_by_the_first_request_and_never_sent_again(
    tmp_path, refused, named
):
    with Loopback(without(chat(plain), *refused, named=named)) as server:
        letters, dialect = letters_at(server.url, tmp_path / "a.sqlite", top_logprobs=5)
        tried = server.requests - len(PROMPTS)
        assert [letter.answer for letter in letters] == ["B"] * len(PROMPTS)
        assert tried <= 8
        more = [Prompt("Another?"), *PROMPTS]
        again, same = letters_at(
            server.url, tmp_path / "a.sqlite", more, top_logprobs=5
        )
        assert server.requests == tried + len(PROMPTS) + 1
        assert same == dialect
    assert [letter.answer for letter in again] == ["B"] * len(more)
    answered = [
        body for body in sent(server) if body["messages"][-1]["content"] == "Another?"
    ]
    assert answered
    for body in answered:
        for key in refused:
            assert key not in body


def test_a_server_that_gives_no_log_probabilities_is_read_in_its_text(tmp_path):
    """One that answers in words, too: the answer then has room for them."""

    def wordy(path, body):
        words = ["The", "correct", "answer", "is", "C."]
        return message(" ".join(words[: body["max_tokens"]]))

    with Loopback(wordy) as server:
        letters, dialect = letters_at(server.url, tmp_path / "a.sqlite", top_logprobs=5)
    assert [letter.answer for letter in letters] == ["C"] * len(PROMPTS)
    assert (dialect.logprobs, letters[0].probabilities) == (False, None)


@pytest.mark.parametrize("thoughts", [100, 5_000])
def test_thoughts_get_room_and_what_they_cost_is_put_aside(tmp_path, thoughts):
    price = {"input": 0.0, "output": 1_000_000.0}  # a dollar a token
    with Loopback(without(thinking(chat(plain), thoughts), "max_tokens")) as server:
        letters, dialect = letters_at(
            server.url, tmp_path / "a.sqlite", price=price, budget_usd=200_000
        )
        assert [letter.answer for letter in letters] == ["B"] * len(PROMPTS)
        assert dialect.room == min(room for room in ROOMS if room + 16 > thoughts)
        before = server.requests
        with pytest.raises(InputError, match="raise budget_usd"):
            letters_at(server.url, tmp_path / "b.sqlite", price=price, budget_usd=10)
        assert server.requests == before


@pytest.mark.parametrize(
    ("most", "thoughts", "answer"),
    [(4_096, 2_000, "B"), (8_192, 6_000, "B"), (2_048, 3_000, None)],
)
def test_a_server_that_gives_fewer_tokens_than_thoughts_get_is_asked_for_fewer(
    tmp_path, most, thoughts, answer
):
    """Where they do not suffice the question has no answer, and the job goes on."""
    respond = without(thinking(chat(plain), thoughts), "max_tokens")
    check_limited(tmp_path / "after", limited(respond, most), most, answer)
    # a server that says what it does not take where it has thought enough
    respond = limited(thinking(without(chat(plain), "max_tokens"), thoughts), most)
    check_limited(tmp_path / "before", respond, most, answer)


def check_limited(folder, respond, most, answer) -> None:
    folder.mkdir()
    with Loopback(respond) as server:
        letters, dialect = letters_at(server.url, folder / "a.sqlite")
        assert [letter.answer for letter in letters] == [answer] * len(PROMPTS)
        assert dialect.is_full
        assert most / 2 < dialect.room < most
        before = server.requests
        letters_at(server.url, folder / "a.sqlite", [Prompt("Another?")])
        assert server.requests == before + 1


@pytest.mark.parametrize(
    "said",
    [
        "<think>A? No.</think>\nB",
        "<thought>A? No.</thought> B",
        "<|channel|>analysis<|message|>A? No.<|end|><|channel|>final<|message|>B",
    ],
)
def test_thoughts_in_an_answer_are_no_part_of_it(tmp_path, said):
    with (
        AnswerStore(tmp_path / "a.sqlite") as store,
        Loopback(chat(lambda p: said)) as server,
    ):
        answerer = ApiAnswerer(client_at(server.url, store, endpoint="chat"))
        [reply] = replies_of(answerer, PROMPTS[:1], 5)
        assert reply.text.strip() == "B"


def said(**choice):
    """A chat's answer whose choice has these keys alone."""
    return message("B") | {"choices": [choice]}


def flagged(**error):
    return {"error": {"message": "Bad request."} | error}


NO_TEXT = Reply(None, "no text in the answer")
FILTERED = Reply(None, "filtered by the API")
REFUSED = Reply(None, "the model refused")
PARTS = [
    {"type": "thinking", "thinking": [{"type": "text", "text": "A? No."}]},
    {"type": "text", "text": "B"},
]
ANSWERS = {
    "text in parts": (said(message={"content": PARTS}), Reply("B")),
    "half a character at the end": (
        said(message={"content": "B \ud83d"}),
        Reply("B \ufffd"),
    ),
    "no content": (said(message={"role": "assistant"}, finish_reason="stop"), NO_TEXT),
    "no choice but a filter": (
        {"choices": [], "promptFeedback": {"blockReason": "SAFETY"}},
        FILTERED,
    ),
    "a filter beside a choice": (
        said(finish_reason="error") | {"error": {"code": "content_filter"}},
        FILTERED,
    ),
    "a refusal": (said(message={"content": None, "refusal": "No."}), REFUSED),
    "a filter without a message": (said(finish_reason="content_filter"), FILTERED),
    "Google's": (
        said(message={"role": "assistant"}, finish_reason="content_filter: RECITATION"),
        FILTERED,
    ),
    "Anthropic's": (said(message={"content": ""}, finish_reason="refusal"), FILTERED),
    "a filtered prompt": (flagged(code="content_filter"), FILTERED),
    "OpenAI's": (flagged(code="invalid_prompt"), FILTERED),
    "Alibaba's": (flagged(code="data_inspection_failed"), FILTERED),
    "in words": ([flagged(code=403, message="Your input was flagged.")], FILTERED),
}


@pytest.mark.parametrize("way", ANSWERS)
def test_what_a_server_says_in_its_own_way_is_an_answer_and_the_job_goes_on(
    tmp_path, way
):
    """It shows nothing of how the server takes requests, and is never asked again."""
    answer, reply = ANSWERS[way]
    strict = without(chat(plain), "max_tokens")

    def respond(path, body):
        is_first = body["messages"][-1]["content"] == PROMPTS[0].user
        # a filter sees a prompt before anything else
        is_seen = reply.text is None or "max_tokens" not in body
        return answer if is_first and is_seen else strict(path, body)

    with AnswerStore(tmp_path / "a.sqlite") as store, Loopback(respond) as server:
        answerer = ApiAnswerer(client_at(server.url, store, endpoint="chat"))
        told = answerer.go_on(PROMPTS, 20, 0, lambda done: None)
        assert [each.reply for each in told] == [reply] + [Reply("B")] * 5
        assert told[0].refused == (reply in (FILTERED, REFUSED))
        before = server.requests
        assert answerer.go_on(PROMPTS, 20, 0, lambda done: None) == told
        assert server.requests == before


UPSTREAM = {"code": 502, "message": "Upstream error"}
NOTHING = {"prompt_tokens": 9, "completion_tokens": 0, "total_tokens": 9}
FAULTY = {
    "no choices": message("B") | {"choices": None},
    "no choice": message("B") | {"choices": []},
    "an empty choice": said(),
    "no object": [5],
    "an error alone": {"id": "x", "object": "error", "message": "Upstream error"},
    "an error beside a choice": message("The cor") | {"error": UPSTREAM},
    "an error in a choice": message("The cor", error=UPSTREAM),
    "no text and no token": message("") | {"usage": NOTHING},
    "no text, and no token alone": message("") | {"usage": {"completion_tokens": 0}},
    "no text and no reason": message(" ", finish_reason=None),
    **{
        reason: message("The cor", finish_reason=reason)
        for reason in (
            "error",
            "network_error",
            "insufficient_system_resource",
            "abort",
            "server_overloaded",
        )
    },
}


def at_the_other_endpoint(answer):
    """A chat's answer as one of the completions endpoint."""
    answer = copy.deepcopy(answer)
    choices = answer.get("choices") if isinstance(answer, dict) else None
    for choice in choices or ():
        told = choice.pop("message", None)
        if told:
            choice["text"] = told["content"]
    return answer


def as_events(answer):
    """A chat's answer as a stream, which a server may send to any request; its last
    event tells the error and the usage."""
    events = [answer]
    if isinstance(answer, dict) and "choices" in answer:
        answer = copy.deepcopy(answer)
        for choice in answer["choices"] or ():
            choice["delta"] = choice.pop("message", {})
        last = {key: answer.pop(key) for key in ("error", "usage") if key in answer}
        events = [answer, {"choices": []} | last]
    lines = [f"data: {json.dumps(event)}" for event in events]
    return "\n\n".join([": PROCESSING", *lines, "data: [DONE]", ""])


WAYS = {
    "chat": lambda answer: answer,
    "completions": at_the_other_endpoint,
    "stream": as_events,
}


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("fault", FAULTY)
def test_an_error_with_status_200_is_asked_again_and_never_stored(
    tmp_path, quick_retries, fault, way
):
    """Gateways answer so; a store of before, which has one, is asked again, too."""
    spoken = WAYS["completions" if way == "completions" else "chat"]
    first = WAYS[way](FAULTY[fault])
    if not isinstance(first, str):
        first = json.dumps(first)
    asked = []

    def respond(path, body):
        asked.append(body)
        return first if len(asked) <= 2 else spoken(message("B"))

    path = tmp_path / "a.sqlite"
    keys = {"endpoint": "completions" if way == "completions" else "chat"}
    with Loopback(respond) as server:
        letters, _ = letters_at(server.url, path, PROMPTS[:1], attempts=4, **keys)
        assert [letter.answer for letter in letters] == ["B"]
        assert len(asked) == 3
        if way == "stream" or fault == "no object":
            return
        with closing(sqlite3.connect(path)) as database:
            database.execute("UPDATE answers SET answer = ?", [first])
            database.execute("DELETE FROM digests")
            database.commit()
        letters, _ = letters_at(server.url, path, PROMPTS[:1], **keys)
        assert [letter.answer for letter in letters] == ["B"]
        assert len(asked) == 4


@pytest.mark.parametrize("endpoint", ["chat", "completions"])
@pytest.mark.parametrize("told", [{"Server": "llama.cpp"}, {}])
def test_what_llama_cpp_keeps_of_other_prompts_is_not_read(tmp_path, endpoint, told):
    """It tells itself by a header, and behind a proxy by its times."""
    spoken = at_the_other_endpoint if endpoint == "completions" else dict

    class Server(Loopback):
        def _reply(self, request, fault, body):
            answer = spoken(message("B") | {"timings": {"cache_n": 0}})
            if told:
                del answer["timings"]
                request.version_string = lambda: told["Server"]
            request.reply(200, json.dumps(answer).encode())

    with Server(lambda *asked: None) as server:
        keys = {"endpoint": endpoint, "concurrency": 1}
        letters, dialect = letters_at(server.url, tmp_path / "a.sqlite", **keys)
        assert [letter.answer for letter in letters] == ["B"] * len(PROMPTS)
        assert dialect.uncached
        whole = [body.get("cache_prompt") for body in sent(server)]
        assert whole.count(False) == len(PROMPTS)
        assert server.requests == len(PROMPTS) + 1


def test_thoughts_that_take_of_the_answers_room_get_room_of_their_own(tmp_path):
    def respond(path, body):
        left = body["max_tokens"] - 50
        usage = {"prompt_tokens": 5, "completion_tokens": body["max_tokens"],
                 "completion_tokens_details": {"reasoning_tokens": 50}}  # fmt: skip
        words = " ".join(["word"] * min(left, 60))
        return message(words, finish_reason="length") | {"usage": usage}

    with AnswerStore(tmp_path / "a.sqlite") as store, Loopback(respond) as server:
        answerer = ApiAnswerer(client_at(server.url, store, endpoint="chat"))
        [told] = answerer.go_on(PROMPTS[:1], 60, 0, lambda done: None)
    assert len(told.reply.text.split()) == 60


def test_a_server_that_only_streams_is_read_and_one_that_breaks_off_is_asked_again(
    tmp_path,
):
    broken = []

    def respond(path, body):
        is_broken = bool(body.get("stream")) and not broken
        broken.extend([body] * is_broken)
        whole = streaming(chat(lambda prompt: "The answer is D."))
        return (
            streaming(chat(plain), to=2)(path, body) if is_broken else whole(path, body)
        )

    with Loopback(respond) as server:
        letters, dialect = letters_at(server.url, tmp_path / "a.sqlite", top_logprobs=5)
        assert [letter.answer for letter in letters] == ["D"] * len(PROMPTS)
        assert dialect.stream
        again, _ = letters_at(
            server.url, tmp_path / "a.sqlite", [Prompt("More?")], top_logprobs=5
        )
        assert again[0].answer == "D"


PART = {"choices": [{"delta": {"content": "B"}}]}
LAST = {"choices": [{"delta": {}, "finish_reason": "stop"}]}
USAGE = {"usage": {"prompt_tokens": 9, "completion_tokens": 1}}
STREAMS = {
    "a mark of byte order": [PART, LAST],
    "usage beside no list of choices": [PART, LAST, {"choices": None} | USAGE],
    "usage alone": [PART, LAST, USAGE],
    "the whole message": [message("B")],
    "the whole message after its parts": [PART, message("B")],
}


@pytest.mark.parametrize("way", STREAMS)
def test_a_stream_is_one_answer_however_its_events_are_cut(way):
    mark = "\ufeff" * ("byte order" in way)
    lines = [f"data: {json.dumps(event)}" for event in STREAMS[way]]
    body = body_of(mark + "\r\n\r\n".join([*lines, "data: [DONE]", ""]))
    check_answer(body)
    assert worded_reply_of(body) == Reply("B")


@pytest.mark.parametrize("with_status_200", [False, True])
def test_what_google_says_of_a_wait_and_of_an_error_is_read(tmp_path, with_status_200):
    limit = {"code": 429, "message": "Quota.", "details": [{"retryDelay": "0.3s"}]}
    waits = [json.dumps({"error": limit}) if with_status_200 else [{"error": limit}]]
    waits *= 4
    answered = chat(plain)
    with Loopback(lambda *asked: waits.pop() if waits else answered(*asked)) as server:
        letters, _ = letters_at(server.url, tmp_path / "a.sqlite", attempts=2)
    assert [letter.answer for letter in letters] == ["B"] * len(PROMPTS)
    wrong = [{"error": {"code": 404, "message": "No such model."}}]
    says = r"refuses a request \(status 404: No such model\."
    if with_status_200:
        unpaid = {"code": "insufficient_quota", "message": "No credit."}
        wrong = json.dumps({"error": unpaid})
        says = r"refuses a request \(.*No credit\."
    with (
        Loopback(lambda *asked: wrong) as server,
        pytest.raises(InputError, match=says),
    ):
        letters_at(server.url, tmp_path / "b.sqlite")


def test_thoughts_that_only_the_total_counts_are_paid():
    usage = {"prompt_tokens": 5, "completion_tokens": 1, "total_tokens": 506}
    assert tokens_used({"usage": usage}) == (5, 501)


def test_a_request_that_is_refused_in_every_way_says_what_the_server_said_first(
    tmp_path,
):
    every = ("max_tokens", "max_completion_tokens")
    with (
        Loopback(without(chat(refusing), *every)) as server,
        pytest.raises(InputError, match="'max_tokens' is not"),
    ):
        letters_at(server.url, tmp_path / "a.sqlite")


def test_the_answers_of_an_older_store_are_read(tmp_path):
    path = tmp_path / "a.sqlite"
    with Loopback(chat(plain)) as server:
        letters_at(server.url, path)
        with closing(sqlite3.connect(path)) as database:
            database.execute("DROP TABLE servers")
            database.commit()
        before = server.requests
        letters_at(server.url, path)
        assert server.requests == before
