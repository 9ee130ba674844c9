"""Which GPU of a machine a process computes on: Snakemake counts GPUs, but does not say which a job may have."""

import fcntl
import os
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import IO

from pretrace.runtime.logs import log

_held: list[IO[str]] = []  # locks that live as long as the process


def hold_gpu() -> int:
    """Make a GPU that no other job of this user on this machine holds the process's `cuda`; its index.

    It is held until the process ends, however it ends. Where all are taken the process waits for the first.
    A scheduler that hands out GPUs shows a job only its own, so that the first one is free. A second call
    keeps the first one's GPU.
    """
    import torch

    if not _held:
        names = [
            str(torch.cuda.get_device_properties(index).uuid) for index in range(torch.cuda.device_count())
        ]
        torch.cuda.set_device(lock_first_free(names, Path(tempfile.gettempdir())))
    return torch.cuda.current_device()


def lock_first_free(names: Sequence[str], folder: Path) -> int:
    """The place of the first of `names` whose lock file in `folder` nobody has locked; waits for the first one
    where all are taken. The lock ends with the process."""
    locks = [(folder / f"pretrace-{os.getuid()}-gpu-{name}.lock").open("a") for name in names]
    for index, lock in enumerate(locks):
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            continue
        _held.append(lock)
        return index
    log.info(
        "all %d GPUs are taken by other jobs; waiting for the first. Start fewer at once (--resources gpu=%d), or "
        "share one on purpose (--config device=cuda:0)", len(names), len(names),
    )  # fmt: skip
    fcntl.flock(locks[0], fcntl.LOCK_EX)
    _held.append(locks[0])
    return 0
