"""How torch computes wherever a model runs: with threads that are configured, and kernels that repeat themselves."""

import contextlib
import os
from collections.abc import Iterator

import torch


@contextlib.contextmanager
def torch_settings(threads: int) -> Iterator[None]:
    """Within, torch uses this many threads and deterministic kernels, for equal bytes; then the old settings
    return."""
    os.environ.setdefault("CUBLAS_WORKSPACE_CONFIG", ":4096:8")
    before = torch.get_num_threads(), torch.get_deterministic_debug_mode()
    torch.set_num_threads(threads)
    torch.set_deterministic_debug_mode("warn")  # use_deterministic_algorithms imports a compiler for a second
    try:
        yield
    finally:
        torch.set_num_threads(before[0])
        torch.set_deterministic_debug_mode(before[1])
