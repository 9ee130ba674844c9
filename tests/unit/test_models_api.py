"""The API client: every answer stored once, none asked twice, the budget never passed,
the key nowhere.

A store of answers that cannot be used is named with the remedy, and what is in it
stays.
"""

import os
import random
import signal
import sqlite3
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from dataclasses import replace
from threading import Timer
from unittest import mock

import httpcore2
import pytest

from loopback import Loopback, client_at, completion
from pretrace.models.api.answers import MalformedAnswerError
from pretrace.models.api.client import _Asking
from pretrace.models.api.endpoint import ApiRequest
from pretrace.models.api.faults import FailedRequestError
from pretrace.models.api.store import AnswerStore
from pretrace.runtime.errors import InputError
from pretrace.runtime.http import certificates

KEY = "sk-a-very-secret-key-4711"


@pytest.fixture(autouse=True)
def with_key(monkeypatch, quick_retries):
    monkeypatch.setenv("TEST_API_KEY", KEY)


def echoed(path, body):
    return completion(f"answer to {body['prompt']}")


def paid_client(url, store, budget_usd, **keys):
    paid = {"key_env": "TEST_API_KEY", "price": {"input": 1.0, "output": 2.0}}
    return client_at(url, store, budget_usd=budget_usd, **paid | keys)


def asked_for(count, first=0):
    numbers = range(first, first + count)
    return [
        ApiRequest({"prompt": f"question {number}", "max_tokens": 4})
        for number in numbers
    ]


def text_of(body):
    try:
        return body["choices"][0]["text"]
    except (KeyError, IndexError, TypeError) as error:
        raise MalformedAnswerError("no text") from error


def ask(url, path, count=20, budget_usd=1.0, progress=lambda n: None, **changes):
    with AnswerStore(path) as store:
        client = paid_client(url, store, budget_usd, **changes)
        return client.ask(asked_for(count), text_of, progress)


EXPECTED = [f"answer to question {number}" for number in range(20)]


def test_answers_stand_in_the_order_of_the_requests_and_are_never_asked_for_again(
    tmp_path,
):
    seen = []
    with Loopback(echoed) as server:
        for _ in range(2):
            assert (
                ask(server.url, tmp_path / "a.sqlite", progress=seen.append) == EXPECTED
            )
            assert server.requests == 20
        assert server.authorization == {f"Bearer {KEY}"}
    assert sum(seen) == 40


def test_equal_requests_are_asked_once_unless_they_are_wanted_again(tmp_path):
    (request,), progress = asked_for(1), []
    with Loopback(echoed) as server, AnswerStore(tmp_path / "a.sqlite") as store:
        client = paid_client(server.url, store, 1)
        client.ask([request] * 3, text_of, progress.append)
        assert server.requests == 1
        assert sum(progress) == 3
        client.ask([replace(request, again=1)], text_of)
        assert server.requests == 2


def test_certificates_are_read_once_whatever_is_asked(tmp_path, monkeypatch):
    reading = mock.Mock(wraps=httpcore2.default_ssl_context)
    monkeypatch.setattr(httpcore2, "default_ssl_context", reading)
    certificates.cache_clear()
    with Loopback(echoed) as server:
        for count in (1, 2):
            ask(server.url, tmp_path / "a.sqlite", count=count)
    assert server.requests == 2
    assert reading.call_count == 1


@pytest.mark.parametrize("fault", ["429", "500", "cut", "malformed", "no choices"])
def test_a_passing_fault_loses_nothing(tmp_path, fault):
    generator = random.Random(0)
    with Loopback(
        echoed, lambda number, body: fault if generator.random() < 0.4 else None
    ) as server:
        assert ask(server.url, tmp_path / "a.sqlite", attempts=20) == EXPECTED
        assert set(server.answered.values()) == {1}
        assert server.requests > 20


def test_what_the_server_asks_to_wait_holds_for_every_worker(tmp_path):
    with Loopback(
        echoed, lambda number, body: "429" if number == 0 else None, retry_after="0.6"
    ) as server:
        ask(server.url, tmp_path / "a.sqlite", count=12, concurrency=2)
    first = server.moments[0]
    early = [moment for moment in server.moments[1:] if moment - first < 0.55]
    # what the other worker had in flight, and one it took before the answer came
    assert len(early) <= 2
    assert max(server.moments) - first >= 0.6


def test_a_wait_has_a_line_in_the_log_once_and_not_for_each_request(tmp_path, caplog):
    with AnswerStore(tmp_path / "a.sqlite") as store:
        client = paid_client("http://127.0.0.1:9", store, 1.0)
        asking = _Asking(client, {}, text_of, {}, lambda n: None)
        for after in (30.0, 30.5, 31.0, 300.0, 1.0):
            assert asking._should_retry(
                FailedRequestError("status 429", after=after, limited=True), 0
            )
    assert [record.args[1] for record in caplog.records] == [30.0, 300.0], (
        "a wait that is much longer is another one"
    )


@pytest.mark.parametrize("status", ["429", "503"])
def test_a_request_that_comes_too_early_is_no_attempt_and_fewer_are_in_flight_then(
    tmp_path, caplog, status
):
    # by number and not by time, which a busy machine stretches
    def two_of_three(number, body):
        return status if number % 3 else None

    with Loopback(echoed, two_of_three, retry_after="0.01") as server:
        answers = ask(server.url, tmp_path / "a.sqlite", concurrency=8, attempts=2)
    assert answers == EXPECTED
    assert server.requests > 2 * 20, "else attempts would have sufficed"
    assert f"requests (status {status}); 1 at once from now on" in caplog.text


@pytest.mark.parametrize("status", ["429", "503"])
def test_a_server_that_does_not_say_when_is_asked_less_and_less_often(tmp_path, status):
    with (
        Loopback(echoed, lambda number, body: status, retry_after="soon") as server,
        pytest.raises(InputError, match=f"failed 10 times, .* status {status}"),
    ):
        ask(server.url, tmp_path / "a.sqlite", count=1, attempts=10)
    # at least half of 0.001 s, doubled eight times
    assert server.moments[-1] - server.moments[-2] > 0.1


def test_a_server_that_answers_nothing_but_wait_ends_the_job(tmp_path, monkeypatch):
    monkeypatch.setattr("pretrace.models.api.client._LONGEST_WAIT", 0.3)
    with (
        Loopback(echoed, lambda number, body: "429") as server,
        pytest.raises(InputError, match=r"has answered nothing for \d+ s \(status 429"),
    ):
        ask(server.url, tmp_path / "a.sqlite", attempts=2)
    with (
        Loopback(echoed, lambda number, body: "429", retry_after="soon") as server,
        pytest.raises(
            InputError, match="failed 2 times, the last time with status 429"
        ),
    ):
        ask(server.url, tmp_path / "b.sqlite", attempts=2)


def test_a_wait_that_is_told_is_kept_and_else_grows():
    assert FailedRequestError("", after=30.0).wait(0) >= 30
    for attempt in range(8):
        waits = {FailedRequestError("").wait(attempt) for _ in range(50)}
        assert len(waits) == 50
        for wait in waits:
            assert 0.5 <= wait / (0.001 * 2**attempt) <= 1


def test_a_failing_server_ends_the_job_and_what_was_answered_stays(tmp_path):
    with Loopback(
        echoed, lambda number, body: "500" if number >= 7 else None
    ) as server:
        with pytest.raises(
            InputError, match=r"failed 3 times.*500.*7 answers.*13 missing"
        ):
            ask(server.url, tmp_path / "a.sqlite", concurrency=1, attempts=3)
        assert server.requests == 7 + 3
    with AnswerStore(tmp_path / "a.sqlite") as store:
        assert store.counts() == {"tested": (7, 7 * 12_000)}


@pytest.mark.parametrize(
    ("fault", "says"),
    [
        ("refused", "refuses a request"),
        ("quota", "refuses a request"),
        (
            "redirect",
            r"redirects to http://127\.0\.0\.2:9/v1/completions.*give it as base_url",
        ),
    ],
)
def test_a_refusal_is_not_tried_again_and_a_redirect_takes_no_text_to_another_address(
    tmp_path, fault, says
):
    with Loopback(echoed, lambda number, body: fault) as server:
        with pytest.raises(InputError, match=says):
            ask(server.url, tmp_path / "a.sqlite", concurrency=1)
        assert server.requests == 1


def test_a_server_that_sends_a_byte_now_and_then_times_out(tmp_path):
    begin = time.monotonic()
    with (
        Loopback(echoed, lambda number, body: "drip") as server,
        pytest.raises(InputError, match="failed 2 times, the last time with timed out"),
    ):
        ask(server.url, tmp_path / "a", count=1, timeout=0.5, attempts=2)
    assert time.monotonic() - begin < 3


def test_what_a_server_counts_beyond_a_requests_tokens_is_put_aside_for_the_next(
    tmp_path, caplog
):
    def reasons(path, body):
        return completion("a") | {
            "usage": {"prompt_tokens": 10, "completion_tokens": 2000}
        }

    with Loopback(reasons) as server, AnswerStore(tmp_path / "a") as store:
        client = paid_client(server.url, store, 0.01, concurrency=16)
        with pytest.raises(InputError, match="the budget is used up"):
            client.ask(asked_for(40), text_of)
    assert client.tally["cost"] <= 0.01 * 1e9
    assert server.requests == 2, "each costs 0.004 dollars"


def test_a_missing_key_is_named_before_anything_is_asked(tmp_path, monkeypatch):
    monkeypatch.delenv("TEST_API_KEY")
    with Loopback(echoed) as server:
        with pytest.raises(InputError, match="TEST_API_KEY"):
            ask(server.url, tmp_path / "a.sqlite")
        assert server.requests == 0


# an answer costs 10 x 1 + 1 x 2 = 12 microdollars; at most len("question 0") + 16 + 4 x
# 2 = 34 are put aside
def test_the_budget_stops_before_it_is_passed(tmp_path):
    with Loopback(echoed) as server:
        with pytest.raises(
            InputError, match=r"budget_usd = 0\.0001.*7\.2e-05.*3\.4e-05.*6 answers"
        ):
            ask(server.url, tmp_path / "a.sqlite", budget_usd=100e-6, concurrency=4)
        # 6 x 12 + 34 > 100 >= 5 x 12 + 34
        with AnswerStore(tmp_path / "a.sqlite") as store:
            assert store.money() == (72_000, 0)
        assert server.requests == 6
        assert ask(server.url, tmp_path / "a.sqlite", budget_usd=1) == EXPECTED
        assert server.requests == 20


def test_jobs_that_share_a_store_share_the_budget(tmp_path):
    def job(first):
        with AnswerStore(tmp_path / "a.sqlite") as store:
            client = paid_client(server.url, store, 200e-6, concurrency=4)
            with pytest.raises(InputError, match="raise budget_usd"):
                client.ask(asked_for(20, first), text_of)

    with Loopback(echoed, delay=0.002) as server, ThreadPoolExecutor(3) as jobs:
        list(jobs.map(job, (100, 200, 300)))
        with AnswerStore(tmp_path / "a.sqlite") as store:
            spent, aside = store.money()
        assert aside == 0
        assert spent == 12_000 * server.requests
        assert 200_000 - 4 * 34_000 < spent <= 200_000


def test_a_budget_of_nothing_serves_only_what_is_free(tmp_path):
    with Loopback(echoed) as server:
        with pytest.raises(InputError, match="raise budget_usd"):
            ask(server.url, tmp_path / "a.sqlite", budget_usd=0)
        assert server.requests == 0
        free = {"input": 0, "output": 0}
        assert (
            ask(server.url, tmp_path / "b.sqlite", budget_usd=0, price=free) == EXPECTED
        )


def test_an_answer_that_was_lost_counts_as_paid(tmp_path):
    with Loopback(
        echoed, lambda number, body: ["cut", "malformed", "500", None][number]
    ) as server:
        ask(server.url, tmp_path / "a.sqlite", count=1)
    with AnswerStore(tmp_path / "a.sqlite") as store:
        assert store.money() == (34_000 + 34_000 + 12_000, 0)


def test_the_key_is_nowhere_but_in_the_request(tmp_path, caplog):
    def repeats(path, body):
        return completion(f"you sent Bearer {KEY}")

    with Loopback(repeats) as server:
        assert ask(server.url, tmp_path / "a.sqlite", count=1) == [
            "you sent Bearer ***"
        ]
    refusing = Loopback(echoed, lambda number, body: "refused")
    with (
        refusing as server,
        pytest.raises(InputError, match=r"not with Bearer \*\*\*") as raised,
    ):
        ask(server.url, tmp_path / "b.sqlite", count=1)
    chain = []
    error = raised.value
    while error is not None:
        chain.append(repr(error) + str(error))
        error = error.__cause__ or error.__context__
    assert KEY not in "".join(chain)
    assert KEY not in caplog.text
    files = [path for path in tmp_path.rglob("*") if path.is_file()]
    assert files
    assert all(KEY.encode() not in path.read_bytes() for path in files)
    assert KEY not in repr(paid_client("http://x", None, 0).endpoint)


def test_no_part_of_the_key_is_in_an_error_that_repeats_an_answer(tmp_path, caplog):
    """The error repeats the page's beginning, which ends within the key."""
    page = f"<html>you sent Bearer {KEY}</html>"
    with (
        Loopback(lambda path, body: page) as server,
        pytest.raises(InputError, match=r"you sent Bearer \*\*\*") as raised,
    ):
        ask(server.url, tmp_path / "a.sqlite", count=1)
    assert KEY[:6] not in str(raised.value)
    assert KEY[:6] not in caplog.text


ASKING = """
import sys
from pathlib import Path
sys.path[:0] = sys.argv[3:]
from test_models_api import ask
ask(sys.argv[1], Path(sys.argv[2]), count=200, concurrency=4)
"""


def test_a_killed_run_asks_only_for_what_is_missing(tmp_path):
    path = tmp_path / "a.sqlite"
    with Loopback(echoed, delay=0.01) as server:
        env = {**os.environ, "TEST_API_KEY": KEY}
        process = subprocess.Popen(
            [sys.executable, "-c", ASKING, server.url, path, *sys.path], env=env
        )
        while server.requests < 80 and process.poll() is None:
            time.sleep(0.005)
        process.send_signal(signal.SIGKILL)
        process.wait()
        stored = (
            sqlite3.connect(path).execute("SELECT COUNT(*) FROM answers").fetchone()[0]
        )
        before = server.requests
        assert 70 <= stored < 200
        assert before - stored <= 4  # in flight
        ask(server.url, path, count=200)
        assert server.requests - before == 200 - stored
    with AnswerStore(path) as store:
        assert store.counts()["tested"][0] == 200


def test_a_file_that_is_no_store_or_cannot_be_opened_is_named_with_its_remedy(tmp_path):
    (tmp_path / "a.sqlite").write_text(
        "this is no database, but long enough to be taken for one " * 20
    )
    with pytest.raises(InputError, match=r"a\.sqlite.*Move it away"):
        AnswerStore(tmp_path / "a.sqlite")
    (tmp_path / "b.sqlite").mkdir()
    with pytest.raises(
        InputError, match=r"b\.sqlite.*unable to open.*accessible to you"
    ):
        AnswerStore(tmp_path / "b.sqlite")


@pytest.mark.parametrize(
    ("refusing", "says"),
    [
        (
            "PRAGMA max_page_count = 1",
            "database or disk is full.*Make room on that disk",
        ),
        ("PRAGMA query_only = 1", "readonly.*Make it and its folder writable"),
    ],
)
def test_a_store_that_takes_no_more_ends_the_job_with_its_remedy_and_keeps_what_it_has(
    tmp_path, refusing, says
):
    path = tmp_path / "a.sqlite"

    def long(path, body):
        return completion("a long answer " * 10_000)

    with Loopback(long) as server, AnswerStore(path) as store:
        # a smaller number of pages than there are means: no more of them
        store._database.execute(refusing)
        with pytest.raises(
            InputError, match=rf"a\.sqlite, the store of API answers, .*{says}"
        ):
            paid_client(server.url, store, 1.0).ask(asked_for(20), text_of)
    with Loopback(echoed) as server:
        assert ask(server.url, path) == EXPECTED


def test_a_store_that_another_program_holds_is_no_defect(tmp_path):
    path = tmp_path / "a.sqlite"
    with (
        AnswerStore(path) as store,
        closing(sqlite3.connect(path, isolation_level=None)) as other,
    ):
        store._database.execute("PRAGMA busy_timeout = 1")
        other.execute("BEGIN IMMEDIATE")
        with pytest.raises(
            InputError, match=r"a\.sqlite.*is locked.*Another program holds it"
        ):
            store.reserve(1, budget=10)
        other.execute("ROLLBACK")
        assert store.reserve(1, budget=10)


def test_a_new_store_waits_for_another_job_that_writes_it(tmp_path):
    path = tmp_path / "a.sqlite"
    with closing(
        sqlite3.connect(path, isolation_level=None, check_same_thread=False)
    ) as other:
        other.execute("CREATE TABLE another (one INTEGER)")
        other.execute("BEGIN IMMEDIATE")
        ends = Timer(0.2, other.execute, ["COMMIT"])
        ends.start()
        with AnswerStore(path) as store:
            assert store.money() == (0, 0)
        ends.join()


DAMAGE = {
    "no JSON": '{"choices":[{"mess',
    "another letter": "SELECT REPLACE(answer, 'answer to', 'answer so') FROM answers "
    "ORDER BY key "
    "LIMIT 1",
    "another shape": "[1]",
    "a number": 7,
    "no UTF-8": b"\xff\xfe{}",
    "another's": "SELECT answer FROM answers ORDER BY key DESC LIMIT 1",
}


@pytest.mark.parametrize("kind", DAMAGE)
@pytest.mark.parametrize("with_digest", [True, False])
def test_a_damaged_answer_is_named_and_asked_for_again(
    tmp_path, log_lines, kind, with_digest
):
    path = tmp_path / "a.sqlite"
    value = DAMAGE[kind]
    with Loopback(echoed) as server:
        expected = ask(server.url, path)
        before = server.requests
        with closing(sqlite3.connect(path, isolation_level=None)) as store:
            [key] = store.execute(
                "SELECT key FROM answers ORDER BY key LIMIT 1"
            ).fetchone()
            if str(value).startswith("SELECT"):
                [value] = store.execute(value).fetchone()
            store.execute("UPDATE answers SET answer = ? WHERE key = ?", (value, key))
            if not with_digest:
                store.execute("DELETE FROM digests")
        again = ask(server.url, path)
    # what an earlier version stored has no digest: a changed letter of it cannot be
    # told
    is_told = with_digest or kind not in ("another letter", "another's")
    assert (again == expected) == is_told
    assert server.requests - before == int(is_told)
    assert (
        f"the stored answer {key} is damaged and is asked for again" in log_lines.text
    ) == is_told
    with AnswerStore(path) as store:
        assert store.known([key]) == {key}
