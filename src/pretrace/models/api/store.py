"""Every answer of every API model, in one SQLite file, and what they cost.

An answer is written at once, in a transaction of its own, and never changed.
Write-ahead logging keeps the file whole when a process is killed, and lets jobs share
it. Before a request is sent, the most that it can cost is put aside in the same file:
together, jobs cannot pass the budget, and what a killed process had sent stays counted,
because it may have been paid for.
"""

import hashlib
import json
import sqlite3
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple, Self

from pretrace.runtime.errors import InputError
from pretrace.runtime.files import JsonObject
from pretrace.runtime.logs import log

_TABLES = """
CREATE TABLE IF NOT EXISTS answers (
    key TEXT PRIMARY KEY,
    model TEXT NOT NULL,
    request TEXT NOT NULL,
    answer TEXT NOT NULL,
    prompt_tokens INTEGER NOT NULL,
    completion_tokens INTEGER NOT NULL,
    cost INTEGER NOT NULL
) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS digests (key TEXT PRIMARY KEY, sha256 TEXT NOT NULL) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS servers (key TEXT PRIMARY KEY, takes TEXT) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS money (one INTEGER PRIMARY KEY CHECK (one = 1), spent INTEGER, aside INTEGER);
INSERT OR IGNORE INTO money VALUES (1, 0, 0);
"""
_WAIT = 60.0  # seconds for another job's transaction
_POLL = 0.05
# keys of one SQL statement: old builds of SQLite take 999 at most
_LOOKED_UP_AT_ONCE = 500
_REMEDIES = {
    sqlite3.SQLITE_FULL: "Make room on that disk and run the same command again.",
    sqlite3.SQLITE_BUSY: "Another program holds it: end that, or run fewer jobs at "
    "once, and start "
    "again.",
    sqlite3.SQLITE_READONLY: "Make it and its folder writable and run the same "
    "command again.",
    sqlite3.SQLITE_CANTOPEN: "Make it and its folder accessible to you and run the "
    "same command again.",
    sqlite3.SQLITE_IOERR: "Put results/ on a disk that keeps and locks files, and "
    "run the same command "
    "again.",
}
_DAMAGED = (
    "Move it away to start a new one: the answers in it would be asked, and paid for, "
    "again."
)


class BudgetUsedUpError(InputError):
    """The budget does not cover the next request."""


class StoredAnswer(NamedTuple):
    """`request` and `answer`: JSON texts as sent and received; `cost` in billionths of
    a dollar."""

    key: str
    model: str
    request: str
    answer: str
    prompt_tokens: int
    completion_tokens: int
    cost: int


def _is_whole(key: str, answer: bytes | None, sha256: str | None) -> bool:
    """Return whether a stored answer is as it came; one that was stored without a
    digest, whether it is an object."""
    if answer is None or sha256 is not None:
        return answer is not None and _sha256(key, answer) == sha256
    try:
        return isinstance(json.loads(answer), dict)
    except (ValueError, RecursionError):
        return False


def _sha256(key: str, answer: bytes) -> str:
    return hashlib.sha256(key.encode() + answer).hexdigest()


class AnswerStore:
    """Use as a context manager. Raises `InputError` with the remedy if the file cannot
    be read or written."""

    def __init__(self, path: Path) -> None:
        self.path = Path(path)
        self.path.parent.mkdir(parents=True, exist_ok=True)
        with self._explained():
            self._database = sqlite3.connect(
                self.path, timeout=_WAIT, isolation_level=None
            )
            self._write_ahead()
            # A killed process loses nothing; a power failure may lose the last answers,
            # never the file.
            self._database.execute("PRAGMA synchronous = NORMAL")
            self._database.executescript(_TABLES)

    def _write_ahead(self) -> None:
        """Turn on write-ahead logging. Where jobs do so at once with a new file, SQLite
        refuses all but one without a wait, lest they wait for each other."""
        end = time.monotonic() + _WAIT
        while True:
            try:
                self._database.execute("PRAGMA journal_mode = WAL")
                return
            except sqlite3.OperationalError as error:
                is_busy = error.sqlite_errorcode & 0xFF == sqlite3.SQLITE_BUSY
                if not is_busy or time.monotonic() > end:
                    raise
            time.sleep(_POLL)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *error: object) -> None:
        self._database.close()

    @contextmanager
    def _explained(self) -> Iterator[None]:
        try:
            yield
        except sqlite3.DatabaseError as error:
            # the lowest byte is the kind of error, the others say more of it
            kind = getattr(error, "sqlite_errorcode", 0) & 0xFF
            remedy = _REMEDIES.get(kind, _DAMAGED)
            problem = (
                f"{self.path}, the store of API answers, cannot be used ({error}). "
                f"{remedy}"
            )
            raise InputError(problem) from error

    def _rows(self, statement: str, values: Sequence[Any] = ()) -> list[Any]:
        with self._explained():
            return self._database.execute(statement, values).fetchall()

    @contextmanager
    def _transaction(self) -> Iterator[None]:
        self._rows("BEGIN IMMEDIATE")
        try:
            yield
            self._rows("COMMIT")
        except BaseException:
            if self._database.in_transaction:  # a full disk ends it by itself
                self._rows("ROLLBACK")
            raise

    def known(self, keys: Sequence[str]) -> set[str]:
        """Return the keys with a stored answer.

        A damaged answer is taken out, so that it is asked for again, and a warning
        names it; its cost stays counted.
        """
        stored = set()
        for start in range(0, len(keys), _LOOKED_UP_AT_ONCE):
            part = keys[start : start + _LOOKED_UP_AT_ONCE]
            marks = ",".join("?" * len(part))
            statement = (
                "SELECT key, CAST(answer AS BLOB), sha256 FROM answers "
                f"LEFT JOIN digests USING (key) WHERE key IN ({marks})"
            )
            for key, answer, sha256 in self._rows(statement, part):
                if _is_whole(key, answer, sha256):
                    stored.add(key)
                    continue
                log.warning(
                    "%s: the stored answer %s is damaged and is asked for again",
                    self.path,
                    key,
                )
                self.remove(key)
        return stored

    def answer(self, key: str) -> JsonObject:
        """Return the parsed answer; `KeyError` if none is stored."""
        rows = self._rows("SELECT answer FROM answers WHERE key = ?", (key,))
        if not rows:
            raise KeyError(key)
        return json.loads(rows[0][0])

    def reserve(self, cost: int, budget: int) -> bool:
        """Put the most that a request can cost aside; false, and nothing done, if the
        budget lacks it.

        Both in billionths of a dollar. A request without a cost always passes.
        """
        if cost == 0:
            return True
        with self._transaction():
            spent, aside = self.money()
            if spent + aside + cost > budget:
                return False
            self._rows("UPDATE money SET aside = aside + ?", (cost,))
        return True

    def release(self, cost: int, *, paid: bool) -> None:
        """End a request without an answer; `paid`: it may have cost all that was put
        aside."""
        if cost:
            with self._transaction():
                self._move(cost, cost if paid else 0)

    def add(self, answer: StoredAnswer, aside: int) -> None:
        """Store an answer, for whose request `aside` was put aside. The first answer of
        a key stays."""
        with self._transaction():
            self._rows(
                "INSERT OR IGNORE INTO answers VALUES (?, ?, ?, ?, ?, ?, ?)", answer
            )
            sha256 = _sha256(answer.key, answer.answer.encode())
            self._rows(
                "INSERT OR IGNORE INTO digests VALUES (?, ?)", (answer.key, sha256)
            )
            if aside or answer.cost:
                self._move(aside, answer.cost)

    def remove(self, key: str) -> None:
        with self._transaction():
            self._rows("DELETE FROM answers WHERE key = ?", (key,))
            self._rows("DELETE FROM digests WHERE key = ?", (key,))

    def _move(self, aside: int, spent: int) -> None:
        self._rows(
            "UPDATE money SET aside = aside - ?, spent = spent + ?", (aside, spent)
        )

    def money(self) -> tuple[int, int]:
        """Return (spent, put aside) in billionths of a dollar."""
        [(spent, aside)] = self._rows("SELECT spent, aside FROM money")
        return spent, aside

    def taken(self, server: str) -> JsonObject | None:
        """Return what was found out about a server (its key); None if nothing was."""
        rows = self._rows("SELECT takes FROM servers WHERE key = ?", (server,))
        return json.loads(rows[0][0]) if rows else None

    def take_down(self, server: str, takes: JsonObject) -> None:
        """Keep what was found out about a server."""
        with self._transaction():
            self._rows(
                "INSERT OR REPLACE INTO servers VALUES (?, ?)",
                (server, json.dumps(takes)),
            )

    def counts(self) -> dict[str, tuple[int, int]]:
        """Count the stored answers of each model: model -> (answers, their cost in
        billionths of a dollar)."""
        rows = self._rows(
            "SELECT model, COUNT(*), SUM(cost) FROM answers GROUP BY model"
        )
        return {model: (answers, cost) for model, answers, cost in rows}
