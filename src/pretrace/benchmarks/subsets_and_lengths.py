"""Slices of a benchmark: its texts of one subset and one length."""

from collections.abc import Collection, Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from pretrace.runtime.errors import require_name

if TYPE_CHECKING:
    import pandas as pd


@dataclass(frozen=True, slots=True)
class Slice:
    """The texts of one subset and one length in words; `length` None: the texts have
    none."""

    subset: str
    length: int | None

    def __lt__(self, other: "Slice") -> bool:
        return (self.subset, self.length or 0) < (other.subset, other.length or 0)

    def rows(self, table: "pd.DataFrame") -> "pd.Series[bool]":
        """Return which rows of a table with the columns `subset` and `length` are of
        the slice."""
        return table["subset"].eq(self.subset) & of_length(table, self.length)

    def is_among(
        self, subsets: Collection[str] | None, lengths: Collection[int] | None
    ) -> bool:
        """Return whether a run or request that names these, None for all, has the
        slice."""
        return (subsets is None or self.subset in subsets) and (
            lengths is None or self.length in lengths
        )


def of_length(table: "pd.DataFrame", length: int | None) -> "pd.Series[bool]":
    """Return which rows have the length; None selects rows without one."""
    return (
        table["length"].isna()
        if length is None
        else table["length"].eq(length).fillna(False)
    )


def slices_of(benchmark: "pd.DataFrame") -> list[Slice]:
    """Return the slices of a benchmark's table, sorted."""
    places = benchmark[["subset", "length"]].drop_duplicates()
    pairs = zip(places["subset"], whole_numbers(places["length"]), strict=True)
    return sorted(Slice(subset, length) for subset, length in pairs)


def whole_numbers(column: "pd.Series[Any]") -> list[int | None]:
    """Return a nullable column of whole numbers as Python values, None for a missing
    one."""
    numbers = []
    for value, gap in zip(column, column.isna(), strict=True):
        numbers.append(None if gap else int(value))
    return numbers


def chosen_slices(
    slices: Iterable[Slice],
    subsets: Collection[str] | None,
    lengths: Collection[int] | None,
) -> list[Slice]:
    """Select slices by subset and length; None selects all.

    Raises:
        InputError: one of the subsets or lengths has no slice.
    """
    chosen = list(slices)
    for key, wanted, available in (
        ("subset", subsets, {each.subset for each in chosen}),
        ("length", lengths, {str(each.length) for each in chosen}),
    ):
        for value in wanted or ():
            require_name(str(value), available, f"the benchmark has no {key} '{value}'")
    return [each for each in chosen if each.is_among(subsets, lengths)]
