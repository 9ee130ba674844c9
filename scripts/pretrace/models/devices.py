"""Which GPUs of a machine a process computes on: Snakemake counts GPUs, but does not say which a job may have."""

import fcntl
import os
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path
from typing import IO

import torch

from pretrace.runtime.logs import log

_POLL = 1.0  # seconds between two looks at GPUs that are taken
_held: dict[int, IO[str]] = {}  # GPU -> its lock, which lives as long as the process


def hold_gpus(count: int = 1) -> list[int]:
    """Take `count` GPUs that no other job of this user on this machine holds; their indices, in order.

    The first becomes the process's `cuda`. They are held until the process ends, however it ends. Where too few
    are free the process waits; where the machine has fewer, it takes all. A scheduler that hands out GPUs shows
    a job only its own, so that these are free. A second call keeps the first one's GPUs.
    """
    if not _held:
        names = [
            str(torch.cuda.get_device_properties(index).uuid) for index in range(torch.cuda.device_count())
        ]
        torch.cuda.set_device(lock_free(names, count, Path(tempfile.gettempdir()))[0])
    return sorted(_held)


def lock_free(names: Sequence[str], count: int, folder: Path) -> list[int]:
    """The places of the first `count` of `names` (all, if there are fewer) whose lock files in `folder` are
    free, in order; waits until there are enough. The locks end with the process."""
    wanted = min(count, len(names))
    locks = [_opened(folder, f"gpu-{name}") for name in names]
    told = False
    with _opened(folder, "gpus") as choice:
        while len(found := _locked(locks, wanted, choice)) < wanted:
            if not told:
                log.info(
                    "of %d GPUs %d are needed, and other jobs have too many; waiting. Start fewer at once "
                    "(--resources gpu=%d), or share one on purpose (--config device=cuda:0)",
                    len(names), wanted, len(names),
                )  # fmt: skip
                told = True
            time.sleep(_POLL)
    _held.update((index, locks[index]) for index in found)
    for index in set(range(len(locks))) - set(found):
        locks[index].close()
    return found


def _opened(folder: Path, name: str) -> IO[str]:
    return (folder / f"pretrace-{os.getuid()}-{name}.lock").open("a")


def _locked(locks: Sequence[IO[str]], wanted: int, choice: IO[str]) -> list[int]:
    """The places of `wanted` locks that are now held; of fewer, and then none is held, where too few are free.

    One job at a time chooses, so that jobs which wait for each other's GPUs never hold a part of them each.
    """
    fcntl.flock(choice, fcntl.LOCK_EX)
    try:
        found: list[int] = []
        for index, lock in enumerate(locks):
            if len(found) < wanted and _is_free(lock):
                found.append(index)
        for index in found if len(found) < wanted else ():
            fcntl.flock(locks[index], fcntl.LOCK_UN)
        return found
    finally:
        fcntl.flock(choice, fcntl.LOCK_UN)


def _is_free(lock: IO[str]) -> bool:
    """Lock it, unless another has."""
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True
