"""What a process computes with: torch's threads and kernels, and GPUs, which Snakemake
counts but does not name."""

import contextlib
import os
import tempfile
import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import torch
from filelock import FileLock, Timeout

from pretrace.runtime.logs import log

_POLL = 1.0  # seconds between two looks at GPUs that are taken
_held: dict[int, FileLock] = {}  # GPU -> its lock, which lives as long as the process


@contextlib.contextmanager
def torch_settings(threads: int) -> Iterator[None]:
    """Have torch use this many threads and deterministic kernels, for equal bytes, then
    its old settings again."""
    os.environ.setdefault("CUBLAS_WORKSPACE_CONFIG", ":4096:8")
    deterministic: Any = torch.utils.deterministic
    before = torch.get_num_threads(), torch.get_deterministic_debug_mode()
    cudnn = torch.backends.cuda.cudnn_sdp_enabled()
    filled = deterministic.fill_uninitialized_memory
    cores = os.cpu_count() or threads
    if threads > cores:
        log.warning(
            "%d threads and %d cores: more threads are slower and take memory",
            threads,
            cores,
        )
    torch.set_num_threads(threads)
    # use_deterministic_algorithms imports a compiler for a second
    torch.set_deterministic_debug_mode("warn")
    # nothing reads memory before it is written, and filling it would take up to 5 % of
    # a pass
    deterministic.fill_uninitialized_memory = False
    # on compute capability 9 and 10 it plans each new shape of a batch, and a job sees
    # each shape once
    torch.backends.cuda.enable_cudnn_sdp(False)
    try:
        yield
    finally:
        torch.set_num_threads(before[0])
        torch.set_deterministic_debug_mode(before[1])
        deterministic.fill_uninitialized_memory = filled
        torch.backends.cuda.enable_cudnn_sdp(cudnn)


def hold_gpus(count: int = 1) -> list[int]:
    """Take `count` GPUs that no other job of this user on this machine holds; their
    indices, in order.

    The first becomes the process's `cuda`. They are held until the process ends,
    however it ends. The process waits while too few are free, and takes all of a
    machine that has fewer. A scheduler that hands out GPUs shows a job only its own, so
    that these are free. A second call keeps the first one's GPUs.
    """
    if not _held:
        names = []
        for index in range(torch.cuda.device_count()):
            names.append(str(torch.cuda.get_device_properties(index).uuid))
        taken = lock_free(names, count, Path(tempfile.gettempdir()))
        torch.cuda.set_device(taken[0])
    return sorted(_held)


def lock_free(names: Sequence[str], count: int, folder: Path) -> list[int]:
    """Lock the first `count` free GPUs of `names` (all of fewer) by files in `folder`;
    return their places.

    Waits until enough are free. The locks end with the process.
    """
    wanted = min(count, len(names))
    prefix = f"pretrace-{os.getuid()}"
    choice = FileLock(folder / f"{prefix}-gpus.lock")
    locks = [FileLock(folder / f"{prefix}-gpu-{name}.lock") for name in names]
    logged = False
    while len(taken := _take(locks, wanted, choice)) < wanted:
        if not logged:
            log.info(
                "of %d GPUs %d are needed, and other jobs have too many; waiting. "
                "Start fewer at once (--resources gpu=%d), or share one on purpose "
                "(--config device=cuda:0)",
                len(names),
                wanted,
                len(names),
            )
            logged = True
        time.sleep(_POLL)
    for index in taken:
        _held[index] = locks[index]
    return taken


def _take(locks: Sequence[FileLock], wanted: int, choice: FileLock) -> list[int]:
    """Lock `wanted` of the locks and return their places, or none if too few are free.

    One job at a time chooses, so that jobs which wait for each other's GPUs never hold
    a part of them each.
    """
    taken: list[int] = []
    with choice:
        for index, lock in enumerate(locks):
            with contextlib.suppress(Timeout):
                if len(taken) < wanted:
                    lock.acquire(blocking=False)
                    taken.append(index)
        if len(taken) == wanted:
            return taken
        for index in taken:
            locks[index].release()
    return []
