"""What benches share: their options, made-up texts, the best of ways that take turns, and what a process took."""

import argparse
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

ROOT = Path(__file__).parents[2]
sys.path += [
    str(ROOT / "tests"),
    str(ROOT / "tests" / "workflow"),
]  # for the servers and projects of the tests


def parser_of(description: str | None, *, texts: int, repetitions: int) -> argparse.ArgumentParser:
    """The options of every bench of passes: which model, how many `texts`, how often."""
    formatter = argparse.RawDescriptionHelpFormatter
    parser = argparse.ArgumentParser(description=description, formatter_class=formatter)
    parser.add_argument("checkpoint", type=Path, help="checkpoint.json")
    parser.add_argument("--texts", type=int, default=texts)
    parser.add_argument("--tokens", type=int, default=76, help="of a text; 64 English words are about 76")
    parser.add_argument("--batch-tokens", type=int, default=2048)
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--repetitions", type=int, default=repetitions)
    parser.add_argument("--dtype", default="auto")
    parser.add_argument("--device", default="auto")
    return parser


def loaded(options: argparse.Namespace) -> tuple[Any, Any]:
    """The checkpoint that the options name, and its model; torch has the threads that they give."""
    import torch

    from pretrace.models.target import load_checkpoint

    torch.set_num_threads(options.threads)
    target = load_checkpoint(options.checkpoint, dtype=options.dtype, device=options.device)
    print(f"{target.dtype} on {target.device}, {options.threads} threads")
    return target, target.load()


class Clock:
    """Best wall and CPU seconds of each way; the ways take turns, because the machine's speed drifts."""

    def __init__(self) -> None:
        self.best: dict[str, np.ndarray] = {}

    def take(self, name: str, items: int, way: Callable[[], Any]) -> None:
        """Run a way once; its time is divided by the items (texts, passages) that it does."""
        import torch

        begin = time.perf_counter(), time.process_time()
        way()
        if torch.cuda.is_available():
            torch.cuda.synchronize()
        took = np.array([time.perf_counter() - begin[0], time.process_time() - begin[1]]) / items
        self.best[name] = np.minimum(self.best.get(name, took), took)
        print(f"{name:36} {took[0]:.4f} s each, {took[1]:.4f} s of CPU", flush=True)


def process_took(command: list[str], folder: Path = ROOT) -> tuple[float, float, float, str]:
    """Wall and CPU seconds, the largest process's peak memory in GB (10^9 bytes), and what was printed."""
    with tempfile.TemporaryFile("w+") as printed:
        start = time.perf_counter()
        process = subprocess.Popen(command, cwd=folder, stdout=printed, stderr=subprocess.STDOUT)
        _, status, used = os.wait4(process.pid, 0)
        taken = time.perf_counter() - start
        printed.seek(0)
        shown = printed.read()
    if status:
        raise SystemExit(f"{' '.join(command)}:\n{shown[-2000:]}")
    return taken, used.ru_utime + used.ru_stime, used.ru_maxrss * 1024 / 1e9, shown
