"""Answers of a server that fails every tenth request: all stored once, none lost, none asked for twice.

    python tests/bench/bench_api.py [--requests 10000] [--concurrency 16]

Three runs against a server on loopback whose faults (429 with Retry-After, 500, a cut connection, malformed JSON, an
answer without choices) come at random: undisturbed; killed (SIGKILL) when half the answers are stored; and the same
command again.
"""

import argparse
import os
import random
import signal
import sqlite3
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parents[2] / "scripts"))
sys.path.insert(0, str(Path(__file__).parents[1]))

from loopback import Loopback, completion
from pretrace.models.api import ApiRequest, MalformedAnswerError, connected

FAULTS = ("429", "500", "cut", "malformed", "no choices")
SHARE = 0.1


def respond(path: str, body: dict[str, Any]) -> dict[str, Any]:
    return completion(f"answer to {body['prompt']}")


def text_of(body: Any) -> str:
    try:
        return str(body["choices"][0]["text"])
    except (KeyError, IndexError, TypeError) as error:
        raise MalformedAnswerError("no text") from error


def ask(url: str, store: Path, count: int, concurrency: int) -> list[str]:
    api = {"base_url": url, "model": "m", "endpoint": "completions", "price": {"input": 1, "output": 1},
           "concurrency": concurrency}  # fmt: skip
    requests = [ApiRequest({"prompt": f"question {number}", "max_tokens": 1}) for number in range(count)]
    with connected("bench", api, store=store, budget_usd=100) as client:
        return client.ask(requests, text_of)


def stored(path: Path) -> int:
    try:
        with sqlite3.connect(f"file:{path}?mode=ro", uri=True) as database:
            return int(database.execute("SELECT COUNT(*) FROM answers").fetchone()[0])
    except sqlite3.OperationalError:
        return 0


def failing(seed: int) -> Any:
    generator = random.Random(seed)
    return lambda number, body: generator.choice(FAULTS) if generator.random() < SHARE else None


def check(answers: list[str], server: Loopback, count: int, path: Path, lost: int = 0) -> None:
    """Each answer is there, right, and was given once; `lost` were given to a process that was killed."""
    assert answers == [f"answer to question {number}" for number in range(count)]
    assert stored(path) == count
    given = sum(server.answered.values())
    assert count <= given <= count + lost, (given, count, lost)


def row(run: str, asked: int, given: int, kept: int, seconds: float) -> None:
    print(
        f"| {run} | {asked} | {asked - given} | {given} | {kept} | {seconds:.1f} | {given / seconds:.0f} |",
        flush=True,
    )


def undisturbed(count: int, concurrency: int, folder: Path) -> None:
    path = folder / "whole.sqlite"
    with Loopback(respond, failing(0), retry_after="0.02") as server:
        start = time.monotonic()
        check(ask(server.url, path, count, concurrency), server, count, path)
        assert set(server.answered.values()) == {1}
        row(
            "undisturbed",
            server.requests,
            sum(server.answered.values()),
            stored(path),
            time.monotonic() - start,
        )
        before = server.requests
        ask(server.url, path, count, concurrency)
        assert server.requests == before


def killed(count: int, concurrency: int, folder: Path) -> None:
    path = folder / "killed.sqlite"
    with Loopback(respond, failing(1), retry_after="0.02") as server:
        start = time.monotonic()
        command = [sys.executable, __file__, "--url", server.url, "--store", str(path)]
        process = subprocess.Popen(
            [*command, f"--requests={count}", f"--concurrency={concurrency}"], env=os.environ
        )
        while stored(path) < count // 2 and process.poll() is None:
            time.sleep(0.02)
        process.send_signal(signal.SIGKILL)
        process.wait()
        time.sleep(0.2)  # what the server was still answering
        kept, first, given = stored(path), server.requests, sum(server.answered.values())
        assert given - kept <= concurrency
        row("killed at half", first, given, kept, time.monotonic() - start)
        start = time.monotonic()
        answers = ask(server.url, path, count, concurrency)
        check(answers, server, count, path, lost=concurrency)
        again = sum(server.answered.values()) - given
        assert again == count - kept
        row("run again", server.requests - first, again, stored(path), time.monotonic() - start)


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--requests", type=int, default=10_000)
    parser.add_argument("--concurrency", type=int, default=16)
    parser.add_argument("--url")
    parser.add_argument("--store", type=Path)
    given = parser.parse_args()
    if given.url:
        ask(given.url, given.store, given.requests, given.concurrency)
        return
    print("| run | requests sent | failed | answered | answers stored | s | answers/s |")
    print("|---|---|---|---|---|---|---|")
    with tempfile.TemporaryDirectory() as folder:
        undisturbed(given.requests, given.concurrency, Path(folder))
        killed(given.requests, given.concurrency, Path(folder))


if __name__ == "__main__":
    main()
