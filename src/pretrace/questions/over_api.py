"""A model behind an API that answers and writes: letters by their log-probabilities or
in text, texts by requests."""

import math
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import partial
from itertools import islice
from typing import Any, TypeVar

from pretrace.models.api.answers import (
    Body,
    MalformedAnswerError,
    NoLogprobsError,
    choice_of,
    is_cut,
    is_cut_in_thought,
    is_filtered,
    text_of,
    without_thoughts,
)
from pretrace.models.api.client import ApiClient
from pretrace.models.api.dialect import LETTER_TOKENS
from pretrace.models.api.endpoint import ApiRequest
from pretrace.models.api.logprobs import check_likeliest
from pretrace.questions.answering import (
    OPTION_LETTERS,
    Advance,
    Letters,
    Prompt,
    Question,
    Reply,
    letter_in,
)
from pretrace.questions.written_views import PARAPHRASE_TEMPERATURE
from pretrace.runtime.errors import InputError

T = TypeVar("T")

MOST_TOKENS_A_WORD = 3  # more than any word of running English text takes
_BIAS = 100  # bans or forces a token: the highest that an API takes
_LATEST = 2**33  # seconds since 1970 that a date is read of
_REFUSED, _FILTERED = "the model refused", "filtered by the API"
_NO_TEXT, _THOUGHTS = "no text in the answer", "its tokens were used up in thoughts"


@dataclass(frozen=True, slots=True)
class Told:
    """A reply with the model's name and the date of the answer (YYYY-MM-DD) as the
    server told them, else ""."""

    reply: Reply
    model: str
    date: str

    @property
    def refused(self) -> bool:
        """Return whether the server says that the model refused, or has filtered the
        answer."""
        return self.reply.reason in (_REFUSED, _FILTERED)


class ApiAnswerer:
    """An `answering.Answerer`. `tokenizer` is the model's own; without it texts are cut
    in words."""

    def __init__(self, client: ApiClient, tokenizer: Any = None) -> None:
        self._client = client
        self._endpoint = client.endpoint
        self.tokenizer = tokenizer
        self.seconds = 0.0

    @property
    def chat(self) -> bool:
        return self._endpoint.chat

    def letters(
        self, questions: Sequence[Question], progress: Advance
    ) -> list[list[Letters]]:
        """Choose letters by the probabilities of the first token if the entry gives the
        number of `top_logprobs`.

        A letter counts in every spelling among them ("A", " A"); one that is not among
        them has probability 0.
        """
        if any(prompt.written for prompt in _prompts_of(questions)):
            raise InputError(
                "an API gives the probabilities of the first token that it writes, and "
                "the benchmark's question asks for a later one; use another question "
                "of config/prompts/de_cop.yaml."
            )
        top = self._endpoint.top_logprobs
        if not top:
            options: dict[str, Any] = {"max_tokens": LETTER_TOKENS}
            return self._greedy(questions, options, letter_of_text, progress)
        options = {"max_tokens": 1}
        if self.chat:
            options |= {"logprobs": True, "top_logprobs": top}
        else:
            options["logprobs"] = top
        if self._endpoint.logit_bias:
            biases: dict[str, int] = {}
            for _, ids in self._endpoint.logit_bias:
                biases |= dict.fromkeys(map(str, ids), _BIAS)
            options["logit_bias"] = biases
        return self._greedy(questions, options, self._letter_of, progress)

    def _letter_of(self, body: Body) -> Letters:
        """Read a letter by its probability, or in the text where the server gives
        none."""
        if self._client.dialect.logprobs:
            return letter_of_logprobs(body)
        return letter_of_text(body)

    def replies(
        self, questions: Sequence[Question], units: int, progress: Advance
    ) -> list[list[Reply]]:
        tokens = units if self.tokenizer else units * MOST_TOKENS_A_WORD
        read = reply_of if self.tokenizer else partial(_cut_reply_of, units)
        return self._greedy(questions, {"max_tokens": tokens}, read, progress)

    def _greedy(
        self,
        questions: Sequence[Question],
        options: Body,
        read: Callable[[Body], T],
        progress: Advance,
    ) -> list[list[T]]:
        requests = []
        for prompt in _prompts_of(questions):
            requests.append(self._request(prompt, temperature=0, **options))
        begin = time.monotonic()
        answers = iter(self._client.ask(requests, read, progress))
        self.seconds += time.monotonic() - begin
        by_question = []
        for question in questions:
            count = len(question.prompts)
            by_question.append(list(islice(answers, count)))
        return by_question

    def write(
        self,
        prompts: Sequence[Prompt],
        most: Sequence[int],
        again: int,
        progress: Advance,
    ) -> list[Reply]:
        requests = []
        for prompt, tokens in zip(prompts, most, strict=True):
            options = {"temperature": PARAPHRASE_TEMPERATURE, "max_tokens": tokens}
            requests.append(self._request(prompt, again, **options))
        return self._client.ask(requests, _whole_reply, progress)

    def go_on(
        self, prompts: Sequence[Prompt], most: int, again: int, progress: Advance
    ) -> list[Told]:
        """Sample a text of at most `most` tokens for each prompt, at the server's own
        temperature.

        `again` as for `write`.
        """
        requests = [self._request(prompt, again, max_tokens=most) for prompt in prompts]
        return self._client.ask(requests, told_of, progress)

    def _request(self, prompt: Prompt, again: int = 0, **options: Any) -> ApiRequest:
        """Make a request of a prompt as a chat endpoint (messages) or a completions
        endpoint (one text) takes it."""
        if not self.chat:
            return ApiRequest({"prompt": prompt.plain, **options}, again)
        messages = []
        if prompt.system:
            messages.append({"role": "system", "content": prompt.system})
        messages.append({"role": "user", "content": prompt.user})
        return ApiRequest({"messages": messages, **options}, again)


def _prompts_of(questions: Sequence[Question]) -> list[Prompt]:
    prompts: list[Prompt] = []
    for question in questions:
        prompts += question.prompts
    return prompts


def reply_of(body: Body) -> Reply:
    """Read the text of an answer; none if the server filtered it, the model refused, or
    the answer has none.

    Raises:
        MalformedAnswerError: the answer is none of a chat or of completions.
    """
    choice = choice_of(body)
    message = choice.get("message")
    if isinstance(message, dict) and message.get("refusal"):
        return Reply(None, _REFUSED)
    if is_filtered(choice):
        return Reply(None, _FILTERED)
    text = text_of(choice)
    if text is not None:
        return Reply(without_thoughts(text))
    # a choice without any key says nothing, either
    if isinstance(message, dict) or not choice:
        return Reply(None, _NO_TEXT)
    raise MalformedAnswerError("no text")


def told_of(body: Body) -> Told:
    """Read an answer with the model's name and its date: one without a word has no
    text. Raises as `reply_of`."""
    made = body.get("created")
    date = ""
    if isinstance(made, int | float) and 0 < made < _LATEST:
        date = datetime.fromtimestamp(made, UTC).strftime("%Y-%m-%d")
    reply = reply_of(body)
    if reply.text is not None and not reply.text.strip():
        is_in_thought = is_cut_in_thought(choice_of(body))
        reply = Reply(None, _THOUGHTS if is_in_thought else _NO_TEXT)
    return Told(reply, str(body.get("model") or ""), date)


def _cut_reply_of(words: int, body: Body) -> Reply:
    reply = reply_of(body)
    if reply.text is None:
        return reply
    return Reply(" ".join(reply.text.split()[:words]))


def _whole_reply(body: Body) -> Reply:
    reply = reply_of(body)
    if is_cut(choice_of(body)):
        return Reply(None, "cut at the highest number of tokens")
    return reply


def letter_of_text(body: Body) -> Letters:
    """Read the letter in the text of an answer, without probabilities."""
    reply = reply_of(body)
    letter = letter_in(reply.text or "")
    if letter is None:
        return Letters(None, None, reply.reason or "no letter in the answer")
    return Letters(None, letter)


def letter_of_logprobs(body: Body) -> Letters:
    """Read the letters' probabilities, from 0 to 1, among the first token's
    likeliest."""
    reply = reply_of(body)
    if reply.text is None:
        return Letters(None, None, reply.reason)
    shares = dict.fromkeys(OPTION_LETTERS, 0.0)
    for token, logprob in _first_logprobs(choice_of(body), reply.text):
        letter = token.strip()
        if letter in shares:
            shares[letter] += math.exp(logprob)
    total = sum(shares.values())
    if total == 0:
        return Letters(None, None, "no letter among the most probable tokens")
    a, b, c, d = (share / total for share in shares.values())
    return Letters((a, b, c, d), max(shares, key=lambda letter: shares[letter]))


def _first_logprobs(choice: Body, text: str) -> list[tuple[str, float]]:
    """Return (token, log-probability in nats) of the most probable tokens at the
    answer's first position.

    In the shape of the chat endpoint, `content[0].top_logprobs`, which some servers
    give from both, or of the completions endpoint, `top_logprobs[0]`.
    """
    logprobs: Any = choice.get("logprobs")
    tops = []
    try:
        if logprobs and "content" in logprobs:
            positions = logprobs["content"] or []
            for top in positions[0]["top_logprobs"]:
                tops.append((top["token"], float(top["logprob"])))
        else:
            for token, value in logprobs["top_logprobs"][0].items():
                tops.append((token, float(value)))
    except (KeyError, IndexError, TypeError, ValueError, AttributeError):
        if not text:
            return []
        raise NoLogprobsError(
            "no top log-probabilities; if the API gives none, leave top_logprobs out "
            "of its entry"
        ) from None
    if not all(isinstance(token, str) for token, _ in tops):
        raise MalformedAnswerError("a log-probability without a token")
    if tops:
        check_likeliest([logprob for _, logprob in tops])
    return tops
