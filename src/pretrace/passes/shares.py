"""The share of a job that does a model's work on a benchmark together with others."""

from collections.abc import Callable, Sequence
from typing import NamedTuple, TypeVar

Item = TypeVar("Item")


class JobShare(NamedTuple):
    """One of several jobs that do the same work together: `number` from 1 to
    `total`."""

    number: int
    total: int

    @classmethod
    def from_name(cls, name: str) -> "JobShare | None":
        """Return the share of a name like `2of4`, None for an empty name: the whole."""
        return cls(*map(int, name.split("of"))) if name else None

    def of(self, items: Sequence[Item], size: Callable[[Item], int]) -> list[Item]:
        """Return the share's own items: neighbours, whose sizes sum to about as much as
        the other shares'."""
        whole = sum(map(size, items)) or 1
        own = []
        before = 0
        for item in items:
            middle = before + size(item) / 2
            # an item belongs to the share that its middle lies in; items without a size
            # may come last
            place = min(int(middle * self.total / whole), self.total - 1)
            if place == self.number - 1:
                own.append(item)
            before += size(item)
        return own


WHOLE = JobShare(1, 1)
"""The share of a job that does all the work by itself."""
