"""Whether an API's prompt scoring can be believed, by asking for one number in two ways.

The log-probability of a token after a text is what generation says before it makes a token, and what the
echo of text and token says of that token. A server whose list is shifted by a token (as llama-cpp-python's is
for a prompt without a start token), that ignores `echo`, or that scores another text gives two numbers.
"""

import math
from typing import Any

from pretrace.models.api.client import ApiClient, MalformedAnswerError, choice_of
from pretrace.models.api.endpoint import ApiRequest
from pretrace.passes.alignment import Echo, echo_of, span_of
from pretrace.passes.prompt_prefix import Ids
from pretrace.runtime.errors import InputError
from pretrace.runtime.logs import log

TEXTS = (
    "The quick brown fox jumps over the lazy dog. The capital of France is",
    "One, two, three, four, five,",
    "It was the best of times, it was the",
)
_CANDIDATES = 2  # of the most probable next tokens, so that an unlikely one is compared as well
_TOLERANCE = 0.1, 0.02  # nats, and relative: reduced precision differs between batches
_TOP = 5  # as many as every API gives

Prompt = str | list[int]


def echo_request(prompt: Prompt) -> ApiRequest:
    """One token is generated, and not used: not every server takes none."""
    return ApiRequest({"prompt": prompt, "max_tokens": 1, "temperature": 0, "logprobs": 1, "echo": True})


class Probe:
    """`tokenizer`: the model's own where token ids are sent, None where texts are."""

    def __init__(self, client: ApiClient, tokenizer: Any | None) -> None:
        self._client, self._tokenizer = client, tokenizer
        self._asked: list[ApiRequest] = []

    def check(self, start: Ids = ()) -> bool:
        """Whether the server itself puts a start token before a text; ids are sent after those of `start`.

        Raises `InputError` with what is wrong, where the server's numbers do not agree or cannot be compared;
        its answers are then forgotten, so that it is asked again when it is mended.
        """
        try:
            starts = [one for text in TEXTS for one in self._compared(text, start)]
            if not starts:
                raise InputError(self._says("gives no next token that could be compared."))
        except InputError:
            self._client.forget(self._asked)
            raise
        log.info("%s: echo and generation agree on %d tokens", self._client.endpoint.name, len(starts))
        return any(starts)

    def _compared(self, text: str, start: Ids) -> list[bool]:
        """For each token compared after the text, whether it follows a start token."""
        prompt: Prompt = text if self._tokenizer is None else [*start, *self._ids(text)]
        starts: list[bool] = []
        for piece, generated in self._following(prompt):
            longer = self._longer(prompt, piece)
            if longer is None or len(starts) == _CANDIDATES:
                continue
            echo = self._echo(longer)
            span = span_of(echo, text + piece, tokens=len(longer) - len(start) if self._tokenizer else None)
            if span is None:
                raise InputError(self._says(f"does not echo what it is sent, but the tokens {echo.pieces}."))
            if echo.pieces[span.stop - 1] == piece:  # else text and token became other tokens
                self._compare(text, piece, generated, echo.logprobs[span.stop - 1])
                starts.append(span.start > 0)
        return starts

    def _compare(self, text: str, piece: str, generated: float, echoed: float) -> None:
        absolute, relative = _TOLERANCE
        if math.isclose(generated, echoed, abs_tol=absolute, rel_tol=relative):
            return
        raise InputError(
            self._says(
                f"does not score prompts rightly: after '{text}' it generates '{piece}' with log-probability "
                f"{generated:.3f}, and echoes it with {echoed:.3f}. Its list is probably shifted by a token, as "
                "llama-cpp-python shifts it where a prompt has no start token: set start_token in the run, or use "
                "a server that scores prompts rightly."
            )
        )

    def _ids(self, text: str) -> list[int]:
        assert self._tokenizer is not None
        return list(self._tokenizer(text, add_special_tokens=False)["input_ids"])

    def _longer(self, prompt: Prompt, piece: str) -> Prompt | None:
        """The prompt with one more token, None where the tokenizer has no token of that text."""
        if isinstance(prompt, str):
            return prompt + piece
        ids = self._ids(piece)
        return [*prompt, *ids] if len(ids) == 1 else None

    def _following(self, prompt: Prompt) -> list[tuple[str, float]]:
        """(token, log-probability) of the most probable next tokens that are plain text, best first."""
        request = ApiRequest({"prompt": prompt, "max_tokens": 1, "temperature": 0, "logprobs": _TOP})
        choice = self._choice(request)
        try:
            top = {piece: float(value) for piece, value in choice["logprobs"]["top_logprobs"][0].items()}
        except (KeyError, IndexError, TypeError, ValueError, AttributeError):
            raise InputError(
                self._says(
                    "gives no `logprobs.top_logprobs` of the next token, so its echo cannot be checked."
                )
            ) from None
        plain = {piece: value for piece, value in top.items() if piece.strip() and piece.isascii()}
        return sorted(plain.items(), key=lambda one: (-one[1], one[0]))

    def _echo(self, prompt: Prompt) -> Echo:
        choice = self._choice(echo_request(prompt))
        try:
            return echo_of({"choices": [choice]})
        except MalformedAnswerError as error:
            raise InputError(self._says(f"ignores `echo`, or answers in another shape: {error}.")) from None

    def _choice(self, request: ApiRequest) -> dict[str, Any]:
        self._asked.append(request)
        (choice,) = self._client.ask([request], choice_of)
        return choice

    def _says(self, what: str) -> str:
        endpoint = self._client.endpoint
        return (
            f"{endpoint.name}: {endpoint.base_url} {what} Without scored prompts the model has no gray-box methods: "
            "leave `echo` out of its entry to ask it questions only."
        )
