"""How torch computes wherever a model runs: with configured threads and deterministic kernels."""

import contextlib
import os
from collections.abc import Iterator

import torch


@contextlib.contextmanager
def torch_settings(threads: int) -> Iterator[None]:
    """Have torch use this many threads and deterministic kernels, for equal bytes, then its old settings again."""
    os.environ.setdefault("CUBLAS_WORKSPACE_CONFIG", ":4096:8")
    before = torch.get_num_threads(), torch.get_deterministic_debug_mode()
    torch.set_num_threads(threads)
    torch.set_deterministic_debug_mode("warn")  # use_deterministic_algorithms imports a compiler for a second
    try:
        yield
    finally:
        torch.set_num_threads(before[0])
        torch.set_deterministic_debug_mode(before[1])
