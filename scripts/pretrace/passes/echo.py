"""Prompt scoring by an API: the log-probability of each token of a text, from `echo` with log-probabilities.

The completions endpoint, asked to repeat its prompt, gives `choices[0].logprobs` = {tokens, text_offset,
token_logprobs: [null, ...], top_logprobs}. Where the entry names the model's tokenizer, token ids are sent,
exactly those that a local pass reads; else the text itself is, and the tokens' ids stay unknown (-1).
"""

from collections.abc import Callable, Sequence

import numpy as np

from pretrace.models.api.client import ApiClient
from pretrace.models.api.target import ApiTarget, CodePoints
from pretrace.models.target import Target
from pretrace.models.tokens import SERVER_START
from pretrace.passes.alignment import Echo, after, echo_of, span_of
from pretrace.passes.probe import Probe, Prompt, echo_request
from pretrace.passes.prompt_prefix import Ids, PromptPrefix
from pretrace.passes.requests import Request
from pretrace.runtime.errors import InputError

_UNKNOWN = -1  # the id of a token whose tokenizer is not known


def echo_target(client: ApiClient, tokenizer: Target | None, max_length: int | None = None) -> ApiTarget:
    """The target of passes by an API.

    `tokenizer`: the local model that has the same one. Where none is known, a probe finds out whether the server
    puts a start token first.
    """
    if tokenizer is None:
        starts = Probe(client, None).check()
        return ApiTarget(
            client, CodePoints(client.endpoint.name, starts), f"none, starts {starts}", None, None
        )
    # one token is generated, and thrown away, with every text that is scored
    context = None if max_length is None else max_length - 1
    return ApiTarget(client, tokenizer.tokenizer, tokenizer.digest, tokenizer.vocabulary, context)


class EchoScorer:
    """Takes the engine's place for a model behind an API; `batch_tokens` is the job's, and changes nothing."""

    def __init__(self, target: ApiTarget, batch_tokens: int) -> None:
        self._target, self.batch_tokens = target, batch_tokens
        self._checked: set[Ids] = set()

    def statistics(
        self,
        window: list[Request],
        prompt_prefix: PromptPrefix,
        *,
        statistics: str,
        progress: Callable[[int, int], None] = lambda texts, tokens: None,
    ) -> list[np.ndarray]:
        """For each request, float32 [1, scored tokens]: log-probabilities in nats.

        Raises `InputError` where full-vocabulary statistics are asked for, and where a probe shows that the
        server does not score prompts, or shifts what it gives.
        """
        if statistics != "logprobs":
            raise InputError(f"{self._name}: an API gives no full-vocabulary statistics; ask for logprobs.")
        asked = [index for index, request in enumerate(window) if request.skipped(prompt_prefix) is None]
        progress(len(window) - len(asked), 0)
        values = [np.zeros((1, 0), dtype=np.float32)] * len(window)
        if asked:
            self._check(prompt_prefix.start)
            prompts = [echo_request(self._prompt(window[index], prompt_prefix)) for index in asked]
            echoes = self._target.client.ask(prompts, echo_of, lambda answers: progress(answers, 0))
            for index, echo in zip(asked, echoes, strict=True):
                values[index] = self._values(echo, window[index], prompt_prefix)
            progress(0, sum(value.shape[1] for value in values))
        return values

    def tokenised(
        self, window: list[Request], values: list[np.ndarray], prompt_prefix: PromptPrefix
    ) -> list[Request]:
        """The requests in the API's tokens, where only it knows them: their number is that of the values."""
        if self._target.knows_ids:
            return window
        found = []
        for request, value in zip(window, values, strict=True):
            size = value.shape[1] + (not prompt_prefix.ids) if request.n_tokens else 0
            unknown = np.full(size, _UNKNOWN, dtype=np.int32)
            found.append(Request(request.text_id, request.variant, unknown, size))
        return found

    @property
    def _name(self) -> str:
        return self._target.client.endpoint.name

    def _check(self, start: Ids) -> None:
        """Once for each start: some servers are right only with a start token."""
        if start in self._checked:
            return
        tokenizer = self._target.tokenizer if self._target.knows_ids else None
        starts = Probe(self._target.client, tokenizer).check(start if tokenizer else ())
        if tokenizer is None and starts and start != (SERVER_START,):
            raise InputError(
                f"{self._name}: the server puts a start token before every text by itself; set start_token: "
                "tokenizer in the run."
            )
        self._checked.add(start)

    def _prompt(self, request: Request, prompt_prefix: PromptPrefix) -> Prompt:
        ids = [*prompt_prefix.ids, *request.tokens.tolist()]
        return ids if self._target.knows_ids else _text(ids)

    def _values(self, echo: Echo, request: Request, prompt_prefix: PromptPrefix) -> np.ndarray:
        if self._target.knows_ids:
            first = self._first_of_ids(echo, request, prompt_prefix)
            values = echo.logprobs[first : len(prompt_prefix.ids) + len(request.tokens)]
        else:
            span = self._span(echo, _text([*prompt_prefix.ids, *request.tokens.tolist()]))
            first = max(
                1, after(echo, span, _text(request.tokens.tolist())) if prompt_prefix.shots else span.start
            )
            values = echo.logprobs[first : span.stop]
        return np.array([values], dtype=np.float32)

    def _first_of_ids(self, echo: Echo, request: Request, prompt_prefix: PromptPrefix) -> int:
        """The place of the first scored token, once the echo is seen to be of the ids that were sent."""
        ids = [*prompt_prefix.ids, *request.tokens.tolist()][len(prompt_prefix.start) :]
        text = self._target.tokenizer.decode(ids, clean_up_tokenization_spaces=False)
        if self._span(echo, text, len(ids)).start != len(prompt_prefix.start):
            raise InputError(f"{self._name}: the server drops or adds a start token: {echo.pieces[:5]} ...")
        return max(1, len(prompt_prefix.ids))

    def _span(self, echo: Echo, text: str, tokens: int | None = None) -> slice:
        span = span_of(echo, text, tokens=tokens)
        if span is None:
            what = f"the {tokens} tokens that were sent" if tokens else "the text that was sent"
            raise InputError(
                f"{self._name}: the server does not echo {what}, '{text[:40]}...', but {echo.pieces[:8]} ... "
                "Check the tokenizer of the model's entry."
            )
        return span


def _text(ids: Sequence[int]) -> str:
    """The text that code points stand for; the server's own start token is not sent."""
    return "".join(chr(id) for id in ids if id != SERVER_START)
