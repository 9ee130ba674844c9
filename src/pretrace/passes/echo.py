"""Score prompts by an API: the log-probability of each token of a text, from `echo`
with log-probabilities.

The completions endpoint, asked to repeat its prompt, gives `choices[0].logprobs` =
{tokens, text_offset, token_logprobs: [null, ...], top_logprobs}. Token ids are sent,
exactly those that a local pass reads, by the tokenizer that the model's entry names.
"""

import math
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from pretrace.models.api.answers import (
    ImpossibleAnswerError,
    MalformedAnswerError,
    choice_of,
)
from pretrace.models.api.client import OF_MODEL, ApiClient
from pretrace.models.api.endpoint import ApiRequest
from pretrace.models.api.logprobs import (
    BLANKS,
    BY_ID,
    STALE,
    agree,
    check_likeliest,
    check_logprobs,
    check_own,
)
from pretrace.models.api.target import ApiTarget
from pretrace.models.checkpoint import read_checkpoint
from pretrace.models.tokens import load_config, load_tokenizer
from pretrace.passes import likeliest
from pretrace.passes.prompt_prefix import Ids, PromptPrefix
from pretrace.passes.requests import TOKEN_STATISTICS, Request
from pretrace.runtime.errors import InputError
from pretrace.runtime.files import JsonObject
from pretrace.runtime.logs import log

_BYTES = re.compile(r"\\x([0-9a-f]{2})")
_GARBLED = "\ufffd"  # what servers put for a token that is a part of a character

PROBE_TEXTS = (
    "The quick brown fox jumps over the lazy dog. The capital of France is",
    "One, two, three, four, five,",
    "It was the best of times, it was the",
)
_LONG_TEXT = (  # several blocks of a server's prefix cache
    "Four score and seven years ago our fathers brought forth on this continent, a new "
    "nation, conceived in Liberty, and dedicated to the proposition that all men are "
    "created equal. Now we are engaged in a great civil war, testing whether that "
    "nation, or any nation so conceived and so dedicated, can long endure. We are met "
    "on a great battle-field of that war. We have come to dedicate a portion of that "
    "field, as a final resting place for those who here gave their lives that that "
    "nation might live."
)
_ENDINGS = (" It is altogether fitting", " The brave men, living and dead")
# of the most probable next tokens, so that an unlikely one is compared as well
_CANDIDATES = 2
_TOP = 5  # as many as every API gives


class Echo(NamedTuple):
    """Hold the tokens as text (`pieces`) and `logprobs` in nats, NaN for the first
    token."""

    pieces: list[str]
    logprobs: list[float]


def echo_of(
    body: JsonObject, vocabulary: int | None = None, *, compared: bool = True
) -> Echo:
    """Return the tokens and log-probabilities of an answer of the completions endpoint.

    `vocabulary`: the number of the model's tokens, if it is known. `compared`: the
    text's own tokens are compared with the likeliest of their places.

    Raises:
        MalformedAnswerError: they are missing, or one but the first is not a number.
        ImpossibleAnswerError: they cannot be log-probabilities.
    """
    try:
        echoed = body["choices"][0]["logprobs"]
        pieces = list(echoed["tokens"])
        logprobs = echoed["token_logprobs"]
        values = [math.nan if value is None else float(value) for value in logprobs]
        tops = [_likeliest_of(top) for top in echoed.get("top_logprobs") or []]
    except (KeyError, IndexError, TypeError, ValueError) as error:
        raise MalformedAnswerError(
            "no log-probabilities of the prompt's tokens"
        ) from error
    are_texts = all(isinstance(piece, str) for piece in pieces)
    if len(values) != len(pieces) or not are_texts:
        raise MalformedAnswerError("tokens and log-probabilities do not pair")
    if not all(map(math.isfinite, values[1:])):
        raise MalformedAnswerError("a token after the first has no log-probability")
    check_logprobs(values[1:])
    for own, top in zip(values[1:], tops[1:], strict=False):
        if top:
            check_likeliest(top, vocabulary)
            if compared:
                check_own(own, top)
    return Echo(pieces, values)


def _likeliest_of(top: Any) -> list[float]:
    """Return the log-probabilities of the tokens told of a place; none if two may have
    one garbled name."""
    if not isinstance(top, Mapping) or any(_GARBLED in piece for piece in top):
        return []
    return [float(value) for value in top.values()]


def span_of(echo: Echo, ids: Sequence[int], tokenizer: Any) -> slice | None:
    """Return the tokens that are named as `ids`, without a start token before them and
    the one generated after them; None if none are."""
    size = len(echo.pieces)
    for first in (0, 1):
        for stop in (size - 1, size):
            if stop - first == len(ids):
                named = zip(echo.pieces[first:stop], ids, strict=True)
                if all(_is_named(piece, id, tokenizer) for piece, id in named):
                    return slice(first, stop)
    return None


def _is_named(piece: str, id: int, tokenizer: Any) -> bool:
    """Return whether a server's name of a token is that of this id: the id itself, as
    the vocabulary spells it, or its text, up to blanks, which servers strip or restore.

    A part of a character is written as `bytes:\\xe2\\x80`, or garbled: then its other
    characters are compared.
    """
    if piece.startswith(BY_ID):
        return piece == f"{BY_ID}{id}"
    spelled = str(tokenizer.convert_ids_to_tokens(int(id)))
    text = str(tokenizer.decode([int(id)], clean_up_tokenization_spaces=False))
    if piece in (spelled, text):
        return True
    if piece.startswith("bytes:\\x"):
        data = bytes(int(value, 16) for value in _BYTES.findall(piece))
        return _GARBLED in text or data.decode(errors="replace") == text
    if _GARBLED in piece or _GARBLED in text:
        return _ascii(piece) == _ascii(text)
    return _bare(piece) == _bare(text)


def _ascii(text: str) -> str:
    return "".join(character for character in text if character.isascii()).lstrip(" ")


def _bare(name: str) -> str:
    """Return a token's name without the blanks at its ends, in any spelling."""
    return name.translate(BLANKS).strip()


def echo_request(prompt: list[int]) -> ApiRequest:
    """Ask for the echo of a prompt; one token is generated and not used, because not
    every server takes none."""
    return ApiRequest(
        {
            "prompt": prompt,
            "max_tokens": 1,
            "temperature": 0,
            "logprobs": 1,
            "echo": True,
        }
    )


class Probe:
    """Finds out whether an API's prompt scoring can be believed, by asking for one
    number in two ways.

    The log-probability of a token after a text is what generation says before it makes
    a token, and what the echo of text and token says of that token. A server whose list
    is shifted by a token (as llama-cpp-python's is for a prompt without a start token),
    that ignores `echo`, or that scores another text gives two numbers. A server with a
    stale prefix cache gives a text other numbers once it has read one that begins
    alike.
    """

    def __init__(self, target: ApiTarget) -> None:
        self._client = target.client
        self._tokenizer = target.tokenizer
        self._vocabulary = target.vocabulary
        self._context = target.context
        self._asked: list[ApiRequest] = []

    def check(self, start: Ids) -> None:
        """Check what is sent after the ids of `start`, as the server offers it.

        Raises `InputError` with what is wrong, where the server's numbers do not agree
        or cannot be compared; its answers are then forgotten, so that it is asked again
        when it is mended.
        """
        try:
            if self._client.endpoint.top40 is None:
                self._check_generation(start)
            self._check_repetition(start)
        except InputError:
            self._client.forget(self._asked)
            raise

    def _check_generation(self, start: Ids) -> None:
        """Compare tokens of `PROBE_TEXTS` in echo and generation."""
        compared = sum(self._compared(text, start) for text in PROBE_TEXTS)
        if not compared:
            raise self._wrong("gives no next token that could be compared.")
        log.info(
            "%s: echo and generation agree on %d tokens",
            self._client.endpoint.name,
            compared,
        )

    def _check_repetition(self, start: Ids) -> None:
        """Compare two texts that begin alike with each other, and with themselves,
        asked again in the other order."""
        endings = [self._ids(ending) for ending in _ENDINGS]
        beginning = [*start, *self._ids(_LONG_TEXT)]
        if self._context is not None:
            longest = max(map(len, endings))
            beginning = beginning[: max(0, self._context - longest)]
        first, second = ([*beginning, *ending] for ending in endings)
        of_first = self._logprobs(first)
        of_second = self._logprobs(second)
        second_again = self._logprobs(second, again=1)
        first_again = self._logprobs(first, again=1)
        common = len(beginning) - 1  # the first token of all has no number
        are_stable = agree(of_first, first_again) and agree(of_second, second_again)
        if not are_stable or not agree(of_first[:common], of_second[:common]):
            raise self._wrong(
                "gives the tokens of one text other log-probabilities when it is asked "
                f"again, or after a text that begins alike: {STALE}."
            )

    def _logprobs(self, prompt: list[int], again: int = 0) -> list[float]:
        """Ask for the log-probability (nats) of each token of a prompt but the
        first."""
        if self._client.endpoint.top40 is None:
            return self._echo(prompt, again).logprobs[1 : len(prompt)]
        request = ApiRequest(likeliest.request_of(prompt).body, again)
        read = partial(likeliest.own_logprobs, ids=prompt, vocabulary=self._vocabulary)
        self._asked.append(request)
        [values] = self._client.ask([request], read)
        return values

    def _compared(self, text: str, start: Ids) -> int:
        """Return how many tokens were compared after the text."""
        prompt = [*start, *self._ids(text)]
        compared = 0
        for piece, generated in self._following(prompt):
            echoed = []
            for id in self._ids_named(piece):
                longer = [*prompt, id]
                echo = self._echo(longer)
                span = span_of(echo, longer[len(start) :], self._tokenizer)
                if span is None:
                    raise self._wrong(
                        f"does not echo what it is sent, but the tokens {echo.pieces}."
                    )
                echoed.append(echo.logprobs[span.stop - 1])
            if not echoed:  # the tokenizer may have no token of that name
                continue
            # precision differs by batch
            close = partial(math.isclose, generated, abs_tol=0.1, rel_tol=0.02)
            if not any(map(close, echoed)):
                raise self._wrong(
                    f"does not score prompts rightly: after '{text}' it generates "
                    f"'{piece}' with log-probability {generated:.3f}, and echoes it "
                    f"with {echoed[0]:.3f}. Its list is probably shifted by a token, "
                    "as llama-cpp-python shifts it where a prompt has no start token: "
                    "set start_token in the run, or use a server that scores prompts "
                    "rightly."
                )
            compared += 1
            if compared == _CANDIDATES:
                break
        return compared

    def _ids_named(self, piece: str) -> list[int]:
        """Return the tokens that a server may have named so: its text has one, or where
        servers strip the blank before a word, the one with it and the one without."""
        ids = []
        bare = _bare(piece)
        for spelled in dict.fromkeys((piece, f"\u2581{bare}", f"\u0120{bare}", bare)):
            id = self._tokenizer.convert_tokens_to_ids(spelled)
            if id is not None and id != self._tokenizer.unk_token_id:
                ids.append(int(id))
        alone = self._ids(piece)
        if len(alone) == 1:
            text = self._tokenizer.decode(alone, clean_up_tokenization_spaces=False)
            # a name with its blank is that of one token
            ids = alone if text == piece != bare else [*alone, *ids]
        return list(dict.fromkeys(ids))

    def _ids(self, text: str) -> list[int]:
        return list(self._tokenizer(text, add_special_tokens=False)["input_ids"])

    def _following(self, prompt: list[int]) -> list[tuple[str, float]]:
        """Return (token, log-probability) of the most probable next tokens that are
        plain text, best first."""
        request = ApiRequest(
            {"prompt": prompt, "max_tokens": 1, "temperature": 0, "logprobs": _TOP}
        )
        choice = self._choice(request)
        try:
            top = choice["logprobs"]["top_logprobs"][0]
            logprobs = {piece: float(value) for piece, value in top.items()}
            values = _likeliest_of(top)
            if values:
                check_likeliest(values, self._vocabulary)
        except ImpossibleAnswerError as error:
            raise self._wrong(
                f"gives impossible log-probabilities: {error}. {OF_MODEL}"
            ) from None
        except (KeyError, IndexError, TypeError, ValueError, AttributeError):
            problem = (
                "gives no `logprobs.top_logprobs` of the next token, so its echo "
                "cannot be checked."
            )
            raise self._wrong(problem) from None
        plain = {}
        for piece, value in logprobs.items():
            bare = _bare(piece)
            if bare and bare.isascii():
                plain[piece] = value
        return sorted(plain.items(), key=lambda item: (-item[1], item[0]))

    def _echo(self, prompt: list[int], again: int = 0) -> Echo:
        choice = self._choice(ApiRequest(echo_request(prompt).body, again))
        try:
            # a shifted list has unlikely tokens too, and is told as such
            return echo_of({"choices": [choice]}, self._vocabulary, compared=False)
        except ImpossibleAnswerError as error:
            raise self._wrong(
                f"gives impossible log-probabilities: {error}. {OF_MODEL}"
            ) from None
        except MalformedAnswerError as error:
            raise self._wrong(
                f"ignores `echo`, or answers in another shape: {error}."
            ) from None

    def _choice(self, request: ApiRequest) -> JsonObject:
        self._asked.append(request)
        (choice,) = self._client.ask([request], choice_of)
        return choice

    def _wrong(self, what: str) -> InputError:
        endpoint = self._client.endpoint
        return InputError(
            f"{endpoint.name}: {endpoint.base_url} {what} A server that gives "
            "prompt_logprobs (vLLM) can score by token ids: top40: prompt_logprobs in "
            "place of `echo`. Without scored prompts the model has no gray-box "
            "methods: leave `echo` out of its entry to ask it questions only."
        )


def echo_target(
    client: ApiClient,
    checkpoint_json: Path | None,
    max_length: int | None = None,
    special_tokens: str = "as_spelled",
    tokenizer_from: str | None = None,
) -> ApiTarget:
    """Return the target of passes by an API.

    `checkpoint_json`: the record of a local model that has the same tokenizer. The
    others as in a model's entry. Raises `InputError` without one.
    """
    if checkpoint_json is None:
        raise InputError(
            f"{client.endpoint.name}: texts are scored by their token ids; name a "
            "local model that has the same tokenizer as tokenizer in the model's entry."
        )
    # one token is generated, and thrown away, with every text that is scored
    context = None if max_length is None else max_length - 1
    checkpoint = read_checkpoint(checkpoint_json)
    tokenizer = load_tokenizer(checkpoint, special_tokens, tokenizer_from)
    vocabulary = load_config(checkpoint, tokenizer).vocab_size
    return ApiTarget(client, tokenizer, vocabulary, context, checkpoint, tokenizer_from)


class EchoScorer:
    """Takes the engine's place for a model behind an API; `batch_tokens` is the job's,
    and changes nothing."""

    def __init__(self, target: ApiTarget, batch_tokens: int) -> None:
        self._target = target
        self.batch_tokens = batch_tokens
        self._checked: set[Ids] = set()

    def statistics(
        self,
        window: list[Request],
        prompt_prefix: PromptPrefix,
        *,
        statistics: str,
        progress: Callable[[int, int], None] = lambda texts, tokens: None,
    ) -> list[np.ndarray]:
        """Return for each request float32 [kinds, scored tokens] in nats, by
        `requests.TOKEN_STATISTICS`.

        Raises `InputError` for statistics that the API does not give, and where a probe
        shows that the server does not score prompts, or shifts what it gives.
        """
        has_likeliest = self._target.client.endpoint.top40 is not None
        served = ["logprobs", "likeliest"] if has_likeliest else ["logprobs"]
        if statistics not in served:
            raise InputError(
                f"{self._name}: an API gives no full-vocabulary statistics; ask for "
                "logprobs."
            )
        size = len(TOKEN_STATISTICS[statistics])
        scored = []
        for index, request in enumerate(window):
            if request.skip_reason(prompt_prefix) is None:
                scored.append(index)
        progress(len(window) - len(scored), 0)
        values = [np.zeros((size, 0), dtype=np.float32)] * len(window)
        if scored:
            ask = self._likeliest if has_likeliest else self._echoed
            requests = [window[index] for index in scored]
            rows = ask(requests, prompt_prefix, lambda answers: progress(answers, 0))
            for index, row in zip(scored, rows, strict=True):
                values[index] = row[:size]
            progress(0, sum(value.shape[1] for value in values))
        return values

    def _echoed(
        self,
        requests: list[Request],
        prompt_prefix: PromptPrefix,
        progress: Callable[[int], None],
    ) -> Iterator[np.ndarray]:
        self._check(prompt_prefix.start)
        prompts = []
        for request in requests:
            prompts.append(echo_request(_sent_ids(request, prompt_prefix)))
        read = partial(echo_of, vocabulary=self._target.vocabulary)
        echoes = self._target.client.ask(prompts, read, progress)
        for echo, request in zip(echoes, requests, strict=True):
            first = self._first_of_ids(echo, request, prompt_prefix)
            last = len(prompt_prefix.ids) + len(request.tokens)
            yield np.array([echo.logprobs[first:last]], dtype=np.float32)

    def _likeliest(
        self,
        requests: list[Request],
        prompt_prefix: PromptPrefix,
        progress: Callable[[int], None],
    ) -> Iterator[np.ndarray]:
        self._check(prompt_prefix.start)
        texts = []
        for request in requests:
            ids = _sent_ids(request, prompt_prefix)
            first = len(ids) - len(request.scored_tokens(prompt_prefix))
            texts.append(likeliest.SentText(ids, first))
        return likeliest.score_texts(
            self._target.client, texts, progress, self._target.vocabulary
        )

    def prefix_way(self, prompt_prefix: PromptPrefix) -> None:
        """Return nothing: how a server shares a prefix is not known."""

    @property
    def _name(self) -> str:
        return self._target.client.endpoint.name

    def _check(self, start: Ids) -> None:
        """Probe once for each start: some servers are right only with a start token."""
        if start in self._checked:
            return
        Probe(self._target).check(start)
        self._checked.add(start)

    def _first_of_ids(
        self, echo: Echo, request: Request, prompt_prefix: PromptPrefix
    ) -> int:
        """Return the place of the first scored token; raises if the echo is not of the
        ids that were sent."""
        ids = _sent_ids(request, prompt_prefix)[len(prompt_prefix.start) :]
        tokenizer = self._target.tokenizer
        span = span_of(echo, ids, tokenizer)
        if span is None:
            text = tokenizer.decode(ids, clean_up_tokenization_spaces=False)
            raise InputError(
                f"{self._name}: the server does not echo the {len(ids)} tokens that "
                f"were sent, '{text[:40]}...', but {echo.pieces[:8]} ... Check the "
                "tokenizer of the model's entry; with a server that gives "
                "prompt_logprobs (vLLM), set top40: prompt_logprobs in place of `echo`."
            )
        if span.start != len(prompt_prefix.start):
            raise InputError(
                f"{self._name}: the server drops or adds a start token: "
                f"{echo.pieces[:5]} ..."
            )
        return max(1, len(prompt_prefix.ids))


def _sent_ids(request: Request, prompt_prefix: PromptPrefix) -> list[int]:
    return [*prompt_prefix.ids, *request.tokens.tolist()]
