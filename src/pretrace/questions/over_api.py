"""A model behind an API that answers and writes: letters by their log-probabilities or
in text, texts by requests."""

import math
import time
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from datetime import UTC, datetime
from functools import partial
from itertools import islice
from typing import Any, NamedTuple, TypeVar

from pretrace.models.api.answers import (
    Body,
    MalformedAnswerError,
    NoLogprobsError,
    choice_of,
    has_thoughts,
    is_cut,
    is_cut_in_thought,
    is_filtered,
    text_of,
    without_thoughts,
)
from pretrace.models.api.client import ApiClient
from pretrace.models.api.dialect import LETTER_TOKENS
from pretrace.models.api.endpoint import ApiRequest
from pretrace.models.api.logprobs import (
    BLANKS,
    BY_ID,
    STALE,
    agree,
    check_likeliest,
)
from pretrace.questions.answering import (
    CUT,
    FILTERED,
    IN_THOUGHTS,
    NO_TEXT,
    OPTION_LETTERS,
    REFUSED,
    Advance,
    Letters,
    Prompt,
    Question,
    Reply,
    letter_in,
)
from pretrace.questions.written_views import PARAPHRASE_TEMPERATURE
from pretrace.runtime.errors import InputError
from pretrace.runtime.logs import tell

T = TypeVar("T")

MOST_TOKENS_A_WORD = 3  # more than any word of running English text takes
_BIAS = 100  # bans or forces a token: the highest that an API takes
_LATEST = 2**33  # seconds since 1970 that a date is read of
_NEXT_TO_NOTHING = 0.001
"""Share of the letters' probability below which a letter that is not listed has none."""
_ALIKE = 0.5  # of two lists of tokens, the least share that both have


class Told(NamedTuple):
    """A reply with the model's name and the date of the answer (YYYY-MM-DD) as the
    server told them, else ""."""

    reply: Reply
    model: str
    date: str

    @property
    def refused(self) -> bool:
        """Return whether the server says that the model refused, or has filtered the
        answer."""
        return self.reply.reason in (REFUSED, FILTERED)


class ApiAnswerer:
    """An `answering.Answerer`. `tokenizer` is the model's own; without it texts are cut
    in words."""

    def __init__(self, client: ApiClient, tokenizer: Any = None) -> None:
        self._client = client
        self._endpoint = client.endpoint
        self.tokenizer = tokenizer
        self.seconds = 0.0
        self._is_checked = False
        self._letters: Counter[bool] = Counter()
        """How many letters have come with probabilities, and without."""

    @property
    def chat(self) -> bool:
        return self._endpoint.chat

    def letters(
        self, questions: Sequence[Question], progress: Advance
    ) -> list[list[Letters]]:
        """Choose letters by the probabilities of the first token if the entry gives the
        number of `top_logprobs`.

        A letter counts in every spelling among them ("A", " A").
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
        self._check_repetition(questions, options)
        answers = self._greedy(questions, options, self._letter_of, progress)
        for letters in answers:
            for letter in letters:
                if letter.answer is not None:
                    self._letters[letter.probabilities is not None] += 1
        return answers

    def _check_repetition(self, questions: Sequence[Question], options: Body) -> None:
        """Ask a server of the user's own two prompts, which begin alike, again in the
        other order.

        Raises `InputError` if the log-probabilities that it lists are others then; its
        answers are forgotten, so that it is asked again when it is mended.
        """
        if self._is_checked or self._endpoint.cost(1, 1) or not questions:
            return
        requests = []
        for prompt in questions[0].prompts[:2]:
            requests.append(self._request(prompt, temperature=0, **options))
        repeated = [ApiRequest(request.body, again=1) for request in requests[::-1]]
        self._is_checked = True
        lists = []
        for request in [*requests, *repeated]:  # one after the other
            lists += self._client.ask([request], self._listed_of)
            if not lists[-1]:  # the server lists nothing
                return
        for first, again in zip(lists, lists[::-1], strict=True):
            names = [name for name in first if name in again]
            is_other = len(names) < _ALIKE * min(len(first), len(again))
            before = [first[name] for name in names]
            if is_other or not agree(before, [again[name] for name in names]):
                self._is_checked = False
                self._client.forget([*requests, *repeated])
                raise InputError(
                    f"{self._endpoint.name}: {self._endpoint.base_url} gives the first "
                    "token of one prompt other log-probabilities when it is asked "
                    f"again, or after a prompt that begins alike: {STALE}."
                )

    def _listed_of(self, body: Body) -> dict[str, float]:
        """Return token -> log-probability (nats) of the first position, as listed."""
        text = reply_of(body).text
        if text is None or not self._client.dialect.logprobs:
            return {}
        _, tops = _first_logprobs(choice_of(body), text)
        return {top.name: top.logprob for top in tops}

    def _letter_of(self, body: Body) -> Letters:
        """Read a letter by its probability, or in the text where the server gives
        none."""
        if not self._client.dialect.logprobs:
            return letter_of_text(body)
        letter_ids: dict[int, str] = {}
        for letter, ids in self._endpoint.logit_bias or ():
            letter_ids |= dict.fromkeys(ids, letter)
        return letter_of_logprobs(body, self.tokenizer, letter_ids)

    def finish(self) -> None:
        """Say on the terminal how many letters have no probabilities, though the entry
        asks for them."""
        if self._letters[False]:
            tell(
                "%s: %d of %d letters were read in the text of the answer and have no "
                "probabilities: the server does not list all four letters. Raise "
                "top_logprobs; with logit_bias, start vLLM with --logprobs-mode "
                "processed_logprobs, and leave it out for llama.cpp.",
                self._endpoint.name,
                self._letters[False],
                self._letters.total(),
            )

    def replies(
        self, questions: Sequence[Question], units: int, progress: Advance
    ) -> list[list[Reply]]:
        tokens = units if self.tokenizer else units * MOST_TOKENS_A_WORD
        read = worded_reply_of
        if not self.tokenizer:
            read = partial(_cut_reply_of, units)
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
        return Reply(None, REFUSED)
    if is_filtered(choice):
        return Reply(None, FILTERED)
    text = text_of(choice)
    if text is not None:
        return Reply(without_thoughts(text))
    if isinstance(message, dict):
        return Reply(None, NO_TEXT)
    raise MalformedAnswerError("no text")


def worded_reply_of(body: Body) -> Reply:
    """Read the text of an answer as `reply_of`: one without a word has none."""
    reply = reply_of(body)
    if reply.text is None or reply.text.strip():
        return reply
    is_in_thoughts = is_cut_in_thought(choice_of(body))
    return Reply(None, IN_THOUGHTS if is_in_thoughts else NO_TEXT)


def told_of(body: Body) -> Told:
    """Read an answer with the model's name and its date. Raises as `reply_of`."""
    made = body.get("created")
    date = ""
    if isinstance(made, int | float) and 0 < made < _LATEST:
        date = datetime.fromtimestamp(made, UTC).strftime("%Y-%m-%d")
    return Told(worded_reply_of(body), str(body.get("model") or ""), date)


def _cut_reply_of(words: int, body: Body) -> Reply:
    reply = worded_reply_of(body)
    if reply.text is None:
        return reply
    return Reply(" ".join(reply.text.split()[:words]))


def _whole_reply(body: Body) -> Reply:
    reply = reply_of(body)
    if is_cut(choice_of(body)):
        return Reply(None, CUT)
    return reply


def letter_of_text(body: Body) -> Letters:
    """Read the letter in the text of an answer, without probabilities."""
    reply = worded_reply_of(body)
    letter = letter_in(reply.text or "")
    if letter is None:
        return Letters(None, None, reply.reason or "no letter in the answer")
    return Letters(None, letter)


class _Listed(NamedTuple):
    """A token that a server lists for a place: its name, log-probability (nats), and
    its id and bytes where the server tells them."""

    name: str
    logprob: float
    id: int | None = None
    data: bytes | None = None

    def text(self, tokenizer: Any = None) -> str:
        """Return what the token writes: by its bytes, by its id if the model's
        tokenizer is there, else by its name, as text or as the vocabulary spells it."""
        if self.data is not None:
            text = self.data.decode(errors="replace")
        elif self.id is not None and tokenizer is not None:
            text = str(tokenizer.decode([self.id]))
        else:
            text = self.name
        return text.translate(BLANKS)


def letter_of_logprobs(
    body: Body, tokenizer: Any = None, letter_ids: Mapping[int, str] | None = None
) -> Letters:
    """Read the letters' probabilities, from 0 to 1, among the first token's likeliest.

    `letter_ids`: token id -> the letter that it writes, as far as known. A letter that
    is not listed has a probability of at most the least likely listed token's. Where
    that is not next to nothing, it is unknown: the answer is then the letter of the
    text, without probabilities. Servers that list what a model finds likeliest before a
    `logit_bias` (vLLM, llama.cpp) leave letters out; vLLM puts the token that was made
    before them, however unlikely. Of a model that thinks first, the letter is the
    text's, too.
    """
    reply = reply_of(body)
    if reply.text is None:
        return Letters(None, None, reply.reason)
    made, tops = _first_logprobs(choice_of(body), reply.text)
    if not tops or has_thoughts(body):  # the first token is then a thought's
        return letter_of_text(body)
    shares: dict[str, float] = {}
    for top in tops:
        letter = top.text(tokenizer).strip()
        if top.id is not None:
            letter = (letter_ids or {}).get(top.id, letter)
        if letter in OPTION_LETTERS:
            shares[letter] = shares.get(letter, 0.0) + math.exp(top.logprob)
    total = sum(shares.values())
    likeliest = max(shares, key=lambda letter: shares[letter], default=None)
    if len(shares) < len(OPTION_LETTERS):
        listed = sum(math.exp(top.logprob) for top in tops)
        others = [top.logprob for top in tops if top.name != made]
        least = math.exp(min(others)) if others else 1.0
        if min(least, 1 - listed) > _NEXT_TO_NOTHING * total:
            answer = letter_in(reply.text) or likeliest
            reason = None if answer else "no letter among the most probable tokens"
            return Letters(None, answer, reason)
    if likeliest is None:
        return Letters(None, None, "no letter among the most probable tokens")
    a, b, c, d = (shares.get(letter, 0.0) / total for letter in OPTION_LETTERS)
    return Letters((a, b, c, d), likeliest)


def _first_logprobs(choice: Body, text: str) -> tuple[str, list[_Listed]]:
    """Return the name of the token that was made, and the most probable tokens at the
    answer's first position.

    In the shape of the chat endpoint, `content[0].top_logprobs`, which some servers
    give from both, or of the completions endpoint, `top_logprobs[0]`.
    """
    logprobs: Any = choice.get("logprobs")
    made = ""
    tops = []
    try:
        if logprobs and "content" in logprobs:
            first = (logprobs["content"] or [])[0]
            made = first["token"]
            for top in first["top_logprobs"]:
                tops.append(_listed(top["token"], top))
        else:
            made = logprobs["tokens"][0]
            for token, value in logprobs["top_logprobs"][0].items():
                tops.append(_listed(token, {"logprob": value}))
    except (KeyError, IndexError, TypeError, ValueError, AttributeError, OverflowError):
        if not text:
            return "", []
        raise NoLogprobsError(
            "no top log-probabilities; if the API gives none, leave top_logprobs out "
            "of its entry"
        ) from None
    if not all(isinstance(top.name, str) for top in tops):
        raise MalformedAnswerError("a log-probability without a token")
    if tops:
        check_likeliest([top.logprob for top in tops])
    return made, tops


def _listed(name: Any, told: Mapping[str, Any]) -> _Listed:
    """Return a listed token; `told` holds its logprob and, from some servers, id and
    bytes. vLLM can name a token by its id alone."""
    id = told.get("id")
    if isinstance(name, str) and name.startswith(BY_ID):
        id = int(name.removeprefix(BY_ID))
    of_token = told.get("bytes")
    return _Listed(
        name,
        float(told["logprob"]),
        None if id is None else int(id),
        bytes(of_token) if isinstance(of_token, list) else None,
    )
