"""What a scheduler reserves for the jobs of a model."""

from typing import NamedTuple

MEMORY, TRAINING_MEMORY = 4000, 8000
"""MB for a model's jobs, and for the training of a whole language model, if its entry
does not say."""

RUNTIME = 240
"""Minutes for a model's jobs if its entry does not say."""


class JobResources(NamedTuple):
    """What a scheduler reserves for a job; memory in MB, time in minutes."""

    threads: int = 1
    gpu: int = 0
    mem_mb: int = MEMORY
    runtime: int = RUNTIME
