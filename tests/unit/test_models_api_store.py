"""A store of answers that cannot be used: the remedy is told, and what is in it stays."""

import sqlite3
from contextlib import closing

import pytest
from test_models_api import EXPECTED, ask, asked_for, echoed, endpoint_at, quick, text_of

from loopback import Loopback, completion
from pretrace.models.api import AnswerStore, ApiClient
from pretrace.runtime.errors import InputError

__all__ = ["quick"]  # a fixture for every test here


def test_a_file_that_is_no_store_is_named(tmp_path):
    path = tmp_path / "a.sqlite"
    path.write_text("this is no database, but a text that is long enough to be taken for one " * 20)
    with pytest.raises(InputError, match=r"a\.sqlite.*Move it away"):
        AnswerStore(path)


@pytest.mark.parametrize(
    ("refusing", "says"),
    [
        ("PRAGMA max_page_count = 1", "database or disk is full.*Make room on that disk"),
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
        store._database.execute(refusing)  # a smaller number of pages than there are means: no more of them
        with pytest.raises(InputError, match=rf"a\.sqlite, the store of API answers, .*{says}"):
            ApiClient(endpoint_at(server.url), store, budget_usd=1.0).ask(asked_for(20), text_of)
    with Loopback(echoed) as server:
        assert ask(server.url, path) == EXPECTED


def test_a_store_that_another_program_holds_is_no_defect(tmp_path):
    path = tmp_path / "a.sqlite"
    with AnswerStore(path) as store, closing(sqlite3.connect(path, isolation_level=None)) as other:
        store._database.execute("PRAGMA busy_timeout = 1")
        other.execute("BEGIN IMMEDIATE")
        with pytest.raises(InputError, match=r"a\.sqlite.*is locked.*Another program holds it"):
            store.put_aside(1, budget=10)
        other.execute("ROLLBACK")
        assert store.put_aside(1, budget=10)


def test_a_store_that_cannot_be_opened_is_named_with_its_remedy(tmp_path):
    (tmp_path / "a.sqlite").mkdir()
    with pytest.raises(InputError, match=r"a\.sqlite.*unable to open.*accessible to you"):
        AnswerStore(tmp_path / "a.sqlite")
