"""The engine: texts -> per-token statistics. Only this room runs a model forward; reading needs no torch."""

from pretrace.passes.job import run
from pretrace.passes.manifest import read, read_batches

__all__ = ["read", "read_batches", "run"]
