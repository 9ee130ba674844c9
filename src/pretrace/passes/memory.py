"""When memory runs out: how that is told from other errors, and the smaller batches
that follow."""

from collections.abc import Callable
from typing import ParamSpec, Protocol, TypeVar

import torch

from pretrace.runtime.errors import OF_GPU_MEMORY, InputError
from pretrace.runtime.logs import log

Arguments = ParamSpec("Arguments")
Computed = TypeVar("Computed")

_IN_WORDS = ("can't allocate memory", *OF_GPU_MEMORY)


def is_out_of_memory(error: BaseException) -> bool:
    """Return whether an error says that memory ran out."""
    # CUDA has an exception of its own; the CPU's allocator and cuBLAS say it in words
    if isinstance(error, (torch.OutOfMemoryError, MemoryError)):
        return True
    return any(words in str(error) for words in _IN_WORDS)


def attempt(
    compute: Callable[Arguments, Computed],
    *args: Arguments.args,
    **kwargs: Arguments.kwargs,
) -> Computed | None:
    """Return the result of `compute`, or None if memory runs out."""
    try:
        return compute(*args, **kwargs)
    except (RuntimeError, MemoryError) as error:
        if not is_out_of_memory(error):
            raise
        return None


class Budgeted(Protocol):
    """What reads batches of a model, called `name`, of at most `batch_tokens`
    tokens."""

    name: str
    batch_tokens: int


def smaller_budget(
    reader: Budgeted,
    device: torch.device,
    items: int,
    longest: int,
    alone: str,
    lower: str = "max_length",
) -> int:
    """Return the token budget that follows when `items`, the longest of `longest`
    tokens, did not fit into memory.

    Raises `InputError` where one item by itself does not fit, with `alone` as what is
    wrong and `lower` as what could be set for the model.
    """
    if device.type == "cuda":
        torch.cuda.empty_cache()
    if items == 1:
        raise InputError(
            f"{reader.name}: {alone}; set {lower} for this model, a narrower dtype, or "
            "run it on a larger device"
        )
    fewer = max(min(reader.batch_tokens, items * longest) // 2, 1)
    log.warning(
        "%s: out of memory; going on with %d tokens a batch", reader.name, fewer
    )
    return fewer
