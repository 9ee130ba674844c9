"""Requests -> answers: stored ones first, the missing ones over the net, each asked
until it is answered once."""

import asyncio
import json
import math
import time
from collections import Counter
from collections.abc import AsyncIterator, Callable, Iterator, Mapping, Sequence
from contextlib import asynccontextmanager, contextmanager
from pathlib import Path
from typing import Any, TypeVar

import openai

from pretrace.models.api.answers import (
    Body,
    ErrorAnswerError,
    ImpossibleAnswerError,
    MalformedAnswerError,
    NoLogprobsError,
    body_of,
    check_answer,
    choice_of,
    is_cut,
    is_cut_in_thought,
    text_of,
    thought_tokens,
    tokens_used,
)
from pretrace.models.api.dialect import Dialect
from pretrace.models.api.endpoint import NANO, ApiRequest, Endpoint
from pretrace.models.api.faults import (
    FailedRequestError,
    fault_of,
    fault_told,
    is_filter,
)
from pretrace.models.api.store import AnswerStore, BudgetUsedUpError, StoredAnswer
from pretrace.runtime.errors import InputError
from pretrace.runtime.files import JsonObject, digest, writable
from pretrace.runtime.http import certificates
from pretrace.runtime.logs import log

OF_MODEL = (
    "Set up the server to give the log-probabilities of the model itself (vLLM: "
    "--logprobs-mode raw_logprobs), not logits, and leave out temperature and "
    "penalties."
)

T = TypeVar("T")

_NOT_TAKEN = {400, 422}
"""Statuses of requests in another dialect than the server's."""
_NOTED_WAIT = 10  # seconds a server asks to wait that are worth a line in the log
# a server that asks for more, or answers nothing for so long, ends the job
_LONGEST_WAIT = 3600
# after so many answers one more request is in flight, where the server asked for fewer
_ANSWERS_A_WORKER = 50


class ApiClient:
    """Asks one endpoint. `budget_usd` bounds what all API models of this store cost
    together, ever.

    `tally` counts answers that were `stored` before and `asked` for, `failed` requests,
    those that the server sent back to come again later (`limited`), and the `cost`.
    """

    def __init__(
        self, endpoint: Endpoint, store: AnswerStore, *, budget_usd: float
    ) -> None:
        self.endpoint = endpoint
        self.store = store
        self.budget = int(budget_usd * NANO)
        self.tally: Counter[str] = Counter()
        self.dialect = Dialect()
        self.is_known = False
        """Whether an answer has shown how the server takes requests."""

    @property
    def _server(self) -> str:
        return digest(self.endpoint.identity)

    def speak(self, dialect: Dialect) -> None:
        """Take a dialect for the server's from now on, and keep it."""
        if dialect != self.dialect:
            log.info("%s: %s", self.endpoint.name, dialect)
        self.dialect = dialect
        self.store.take_down(self._server, dialect._asdict())

    def ask(
        self,
        requests: Sequence[ApiRequest],
        read: Callable[[Body], T],
        progress: Callable[[int], None] = lambda answered: None,
    ) -> list[T]:
        """Return the result of `read` for each answer, in the order of the requests;
        `progress` counts requests.

        Equal requests are asked once. `read` raises `MalformedAnswerError` for an
        answer to ask for again. Raises `InputError` if the key is not set, the server
        refuses a request or keeps failing, or the budget does not suffice; the answers
        until then are stored, and the message counts them.
        """
        dialect = self.store.taken(self._server)
        if dialect:
            self.dialect = Dialect(**dialect)
            self.is_known = True
        keys = [self.endpoint.key_of(request) for request in requests]
        answers = self._stored(list(dict.fromkeys(keys)), read)
        stored = len(answers)
        missing = {}
        for key, request in zip(keys, requests, strict=True):
            if key not in answers:
                missing[key] = request
        progress(sum(key in answers for key in keys))
        if missing:
            asking = _Asking(self, missing, read, Counter(keys), progress)
            try:
                asking.run()
            finally:
                self.tally += Counter(
                    asked=len(asking.answers),
                    failed=asking.failed,
                    limited=asking.limited,
                    cost=asking.cost,
                )
            answers |= asking.answers
        self.tally["stored"] += stored
        return [answers[key] for key in keys]

    def _stored(self, keys: Sequence[str], read: Callable[[Body], T]) -> dict[str, T]:
        """Return the result of `read` by key. What was stored and is no answer, such as
        an error of a gateway, is taken out to be asked for again; its cost stays
        counted."""
        answers = {}
        taken_out: Counter[str] = Counter()
        for key in sorted(self.store.known(keys)):
            body = self.store.answer(key)
            try:
                check_answer(body)
                answers[key] = read(body)
            except MalformedAnswerError as error:
                taken_out[str(error)] += 1
                self.store.remove(key)
        for problem, count in taken_out.items():
            log.warning(
                "%s: %d stored answers are no answers (%s) and are asked for again",
                self.endpoint.name,
                count,
                problem,
            )
        return answers

    def forget(self, requests: Sequence[ApiRequest]) -> None:
        """Take the answers of these requests out of the store; their cost stays
        counted."""
        for request in requests:
            self.store.remove(self.endpoint.key_of(request))


class _Asking:
    """One round over the missing requests: as many workers as the endpoint allows take
    the next one each."""

    def __init__(
        self,
        client: ApiClient,
        missing: Mapping[str, ApiRequest],
        read: Callable[[Body], Any],
        copies: Mapping[str, int],
        progress: Callable[[int], None],
    ) -> None:
        self.client = client
        self.endpoint = client.endpoint
        self.store = client.store
        self.budget = client.budget
        self._is_confirmed = False
        """Whether an answer of this round has confirmed the dialect."""
        self.missing = missing
        self.read = read
        self.copies = copies
        self.progress = progress
        self.key = self.endpoint.key()
        self.answers: dict[str, Any] = {}
        """Key -> what `read` made of its answer."""
        self.failed = 0
        self.limited = 0
        self.cost = 0
        self._placed = 0
        self._in_flight = 0
        self._workers = self.endpoint.concurrency
        """How many requests may be in flight: fewer where the server asked for
        fewer."""
        self._answers_since = 0
        """Answers since the number of workers changed."""
        self._resume_at = 0.0
        self._last_answer = time.monotonic()
        self._failure: str | None = None
        self._is_used_up = False
        # how much more an answer has cost than a request's tokens can
        self._dearer = 1.0

    def run(self) -> None:
        asyncio.run(self._run())
        if self._failure is not None:
            left = len(self.missing) - len(self.answers)
            failed = BudgetUsedUpError if self._is_used_up else InputError
            raise failed(
                f"{self.endpoint.name}: {self._failure} {len(self.answers)} answers were "
                f"stored in this run ({self.store.path}); running the same command "
                f"again asks for the {left} missing ones only."
            )

    async def _run(self) -> None:
        self._settled = asyncio.Condition()
        queue = iter(self.missing.items())
        async with openai.AsyncOpenAI(
            api_key=self.key or "none",  # the client insists on one
            base_url=self.endpoint.base_url,
            timeout=self.endpoint.timeout,
            max_retries=0,  # retries are counted, logged and paid for here
            # a redirect could take texts to another host
            http_client=openai.DefaultAsyncHttpxClient(
                follow_redirects=False, verify=certificates()
            ),
        ) as client:
            is_told = self.client.is_known or not self.endpoint.chat
            is_alone = self.endpoint.cost(1, 1) or not is_told
            # it tells how the server counts, and what it takes
            if is_alone and (first := next(queue, None)):
                await self._answer(client, *first)
            workers = min(self.endpoint.concurrency, len(self.missing))
            try:
                async with asyncio.TaskGroup() as group:
                    for _ in range(workers):
                        group.create_task(self._work(client, queue))
            except ExceptionGroup as failures:
                raise failures.exceptions[0] from None  # the first ends the others

    async def _work(
        self, client: openai.AsyncOpenAI, queue: Iterator[tuple[str, ApiRequest]]
    ) -> None:
        for key, request in queue:
            if self._failure is not None:
                return
            await self._answer(client, key, request)

    async def _answer(
        self, client: openai.AsyncOpenAI, key: str, request: ApiRequest
    ) -> None:
        """Ask until the server answers, or note the reason why not."""
        attempt = limits = 0
        while True:
            async with self._place():
                # once it may be sent: meanwhile the server may have asked for a pause
                await self._pause()
                most = math.ceil(self._bound(request) * self._dearer)
                if not await self._put_aside(most):
                    return
                fault = None
                is_over = False
                try:
                    text, body, result = await self._post(client, request)
                    self._take(key, request, text, body, most)
                    self.answers[key] = result
                except FailedRequestError as error:
                    fault = error
                    self.store.release(most, paid=fault.paid)
                    self._count(fault)
                    attempt += fault.is_attempt
                    limits += not fault.is_attempt
                    # before another request has this one's place
                    is_over = not self._should_retry(fault, attempt)
                await self._settle()
            if fault is None:
                self.progress(self.copies[key])
                return
            if is_over:
                return
            tries = attempt - 1 if fault.is_attempt else limits
            await asyncio.sleep(fault.wait(tries))

    def _spoken(self, request: ApiRequest, dialect: Dialect | None = None) -> Body:
        """Return a request's body as the server takes it, or in another dialect."""
        return (dialect or self.client.dialect).spoken(request.body)

    def _bound(self, request: ApiRequest) -> int:
        """Return the most that a request can cost, as it is sent."""
        return self.endpoint.cost(*self.endpoint.most(self._spoken(request)))

    @asynccontextmanager
    async def _place(self) -> AsyncIterator[None]:
        """Wait until fewer requests are in flight than there are workers."""
        async with self._settled:
            await self._settled.wait_for(lambda: self._placed < self._workers)
            self._placed += 1
        try:
            yield
        finally:
            async with self._settled:
                self._placed -= 1
                self._settled.notify_all()

    def _take(
        self, key: str, request: ApiRequest, text: str, body: Body, most: int
    ) -> None:
        """Store an answer, for whose request `most` was put aside."""
        spoken = self._spoken(request)
        prompt, completion = tokens_used(body) or self.endpoint.most(spoken)
        sent = json.dumps(spoken, ensure_ascii=False, sort_keys=True)
        cost = self.endpoint.cost(prompt, completion)
        name = self.endpoint.name
        answer = StoredAnswer(key, name, sent, text, prompt, completion, cost)
        self.store.add(answer, most)
        self.cost += cost
        self._last_answer = time.monotonic()
        bound = self._bound(request)
        if cost > bound * self._dearer:
            self._dearer = cost / bound
            log.warning(
                "%s: the server counts %.1f times the tokens that a request can have "
                "here; this much is put aside for each from now on",
                self.endpoint.name,
                self._dearer,
            )
        self._answers_since += 1
        has_fewer = self._workers < self.endpoint.concurrency
        if has_fewer and self._answers_since >= _ANSWERS_A_WORKER:
            self._workers += 1
            self._answers_since = 0

    def _count(self, fault: FailedRequestError) -> None:
        """Count a request without an answer, and have fewer in flight where the server
        asks for fewer."""
        self.failed += fault.is_attempt
        self.limited += not fault.is_attempt
        # what was in flight with the first that came too early says nothing new
        is_news = self._answers_since or self._workers == self.endpoint.concurrency
        if fault.limited and self._workers > 1 and is_news:
            self._workers = max(1, self._workers // 2)
            self._answers_since = 0
            log.warning(
                "%s: the server asks for fewer requests (%s); %d at once from now on",
                self.endpoint.name, str(fault).partition(":")[0], self._workers,
            )  # fmt: skip

    async def _pause(self) -> None:
        """Wait as long as the server has asked one of the workers to: its limits are
        for all of them."""
        while (wait := self._resume_at - time.monotonic()) > 0:
            await asyncio.sleep(wait)

    async def _put_aside(self, most: int) -> bool:
        """Put aside a request's highest cost; if the budget lacks it, wait for the
        requests in flight to cost less."""
        async with self._settled:
            while self._failure is None:
                if self.store.reserve(most, self.budget):
                    self._in_flight += 1
                    return True
                if not self._in_flight:
                    spent, aside = (amount / NANO for amount in self.store.money())
                    also = ""
                    if aside:
                        also = (
                            f" and {aside:.6g} put aside for requests without an answer"
                        )
                    self._fail(
                        "the budget is used up: of budget_usd = "
                        f"{self.budget / NANO:g} (config.yaml), {spent:.6g} dollars "
                        f"are spent{also}, and the next request can cost up to "
                        f"{most / NANO:.6g}. Nothing more was asked; raise budget_usd "
                        "to go on."
                    )
                    self._is_used_up = True
                    break
                await self._settled.wait()
        return False

    async def _settle(self) -> None:
        async with self._settled:
            self._in_flight -= 1
            self._settled.notify_all()

    async def _post(
        self, client: openai.AsyncOpenAI, request: ApiRequest
    ) -> tuple[str, Body, Any]:
        """Return the answer as text, parsed and read; any failure is a
        `FailedRequestError` whose message does not hold the key."""
        create: Any = client.completions
        if self.endpoint.chat:
            create = client.chat.completions
        try:
            # the client's own is a limit of one read
            async with asyncio.timeout(self.endpoint.timeout):
                raw, dialect = await self._send(create, request)
            # errors repeat parts of what was sent, and a part of a key is not found
            answer = body_of(self._without_key(raw))
            # as parsed: a key can be spelled by escapes, and a text end in half a
            # character
            parsed = json.dumps(answer, ensure_ascii=False)
            text = writable(self._without_key(parsed))
            body = json.loads(text)
            self._check_room(body, dialect)
            check_answer(body)
            result = self.read(body)
            # a filter may come before what takes a request
            if text_of(choice_of(body)):
                self._is_confirmed = self.client.is_known = True
        except NoLogprobsError as error:
            if self.endpoint.chat and not self._is_confirmed:
                self.client.speak(self.client.dialect._replace(logprobs=False))
            raise FailedRequestError(
                f"a malformed answer ({self._without_key(str(error))})", paid=True
            ) from None
        except TimeoutError:
            raise FailedRequestError("timed out", paid=True) from None
        except openai.OpenAIError as error:
            fault = fault_of(error)
            fault.message = self._without_key(fault.message)
            raise fault from None
        except ImpossibleAnswerError as error:
            raise FailedRequestError(
                self._without_key(str(error)), temporary=False, paid=True
            ) from None
        except ErrorAnswerError as error:
            problem = f"a malformed answer ({self._without_key(str(error))})"
            raise fault_told(error.details, problem) from None
        except (
            MalformedAnswerError,
            ValueError,
            OverflowError,
            RecursionError,
        ) as error:
            problem = f"a malformed answer ({self._without_key(str(error))})"
            raise FailedRequestError(problem, paid=True) from None
        return text, body, result

    async def _send(self, create: Any, request: ApiRequest) -> tuple[str, Dialect]:
        """Send a request and return the answer, and the dialect in which it was taken.

        Before an answer has confirmed the dialect, a request that the server refuses is
        sent in every other one, and as a stream if the server asks for one. One with
        room for thoughts is sent with less: the server may not answer at such length.
        """
        known = self.client.dialect
        dialects: list[Dialect] = []
        has_others = self.endpoint.chat and not self._is_confirmed
        for roomy in [known, *known.with_less_room()]:
            dialects += roomy.alternatives() if has_others else [roomy]
        sent: list[Body] = []
        refusal: openai.APIStatusError | None = None
        while dialects:
            dialect = dialects.pop(0)
            body = self._spoken(request, dialect)
            if body in sent:
                continue
            sent.append(body)
            try:
                raw = await create.with_raw_response.create(
                    model=self.endpoint.model, **body
                )
            except openai.APIStatusError as error:
                if is_filter(error):
                    return _filtered(error), dialect
                if error.status_code not in _NOT_TAKEN:
                    raise
                refusal = refusal or error
                if "stream" in error.message.lower():
                    dialects.insert(0, dialect._replace(stream=True))
                continue
            server = raw.headers.get("server", "")
            is_caching = server.startswith("llama.cpp") or '"cache_n"' in raw.text
            if is_caching and not dialect.uncached:
                # what it keeps of other prompts changes its numbers: the .41 of a
                # letter to .37 (xllamacpp 2026.10)
                dialects.insert(0, dialect._replace(uncached=True))
                continue
            is_less = dialect.is_full and dialect.room < self.client.dialect.room
            if is_less or not self._is_confirmed:
                self.client.speak(dialect)
            answer: str = raw.text
            return answer, dialect
        assert refusal is not None
        raise refusal

    def _check_room(self, body: Body, dialect: Dialect) -> None:
        """Have the next requests leave more room for thoughts if an answer to a request
        in this dialect was cut in them; raises for this one.

        An answer that is cut where there is no more room is one without a word.
        """
        choice = choice_of(body)
        has_less = is_cut(choice) and thought_tokens(body) > dialect.room
        if not self.endpoint.chat or not (has_less or is_cut_in_thought(choice)):
            return
        # another request in flight may have asked for more meanwhile
        if self.client.dialect.room <= dialect.room:
            roomier = self.client.dialect.with_more_room()
            if roomier is None:
                return
            self.client.speak(roomier)
        raise FailedRequestError(
            f"no word in {dialect.room} tokens of thoughts", paid=True
        )

    def _without_key(self, text: str) -> str:
        return text.replace(self.key, "***") if self.key else text

    def _should_retry(self, fault: FailedRequestError, attempts: int) -> bool:
        """Return whether to try again after this fault; else the round ends, and
        answers in flight are still taken."""
        idle = time.monotonic() + (fault.after or 0) - self._last_answer
        if not fault.temporary:
            impossible = f"gives impossible log-probabilities: {fault}. {OF_MODEL}"
            problem = impossible if fault.paid else f"refuses a request ({fault})."
            self._fail(f"{self.endpoint.base_url} {problem}")
        elif attempts == self.endpoint.attempts:
            self._fail(
                f"a request failed {attempts} times, the last time with {fault}."
            )
        elif fault.after is not None and fault.after > _LONGEST_WAIT:
            self._fail(
                f"{self.endpoint.base_url} asks to wait {fault.after:.0f} s ({fault})."
            )
        elif not fault.is_attempt and idle > _LONGEST_WAIT:
            self._fail(
                f"{self.endpoint.base_url} has answered nothing for {idle:.0f} s "
                f"({fault})."
            )
        if fault.after is not None:
            resume_at = time.monotonic() + fault.after
            # other requests in flight are told of the same wait
            if resume_at - max(self._resume_at, time.monotonic()) > _NOTED_WAIT:
                log.warning(
                    "%s: the server asks to wait %.0f s",
                    self.endpoint.name,
                    fault.after,
                )
            self._resume_at = max(self._resume_at, resume_at)
        return self._failure is None

    def _fail(self, why: str) -> None:
        self._failure = self._failure or why


def _filtered(error: openai.APIStatusError) -> str:
    """Return a server's refusal as an answer that was filtered."""
    choice = {"finish_reason": "content_filter", "message": {"content": None}}
    return json.dumps({"choices": [choice], "error": error.body})


@contextmanager
def connect(
    name: str, api: JsonObject, *, store: Path, budget_usd: float
) -> Iterator[ApiClient]:
    """Open a client of a registry entry's `api`, and its store."""
    with AnswerStore(store) as answers:
        client = ApiClient(Endpoint(name=name, **api), answers, budget_usd=budget_usd)
        try:
            yield client
        finally:
            tally = client.tally
            log.info(
                "%s: %d answers were stored before, %d were asked for (%d failed "
                "requests were repeated, and %d that the server wanted later), %.4f US "
                "dollars",
                name,
                tally["stored"],
                tally["asked"],
                tally["failed"],
                tally["limited"],
                tally["cost"] / NANO,
            )
