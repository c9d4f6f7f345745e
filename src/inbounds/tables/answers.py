"""The answers of engines, read as exact integers: counts and sums of the cells of a table.

Engines return whole numbers as integers, doubles or decimals, and labels as numbers or text. Here they become places in
a table, and what a rule refuses is refused, in words that hold no data.

What sees exact numbers returns a refusal and does not raise it: an exception keeps the variables of the functions that
it goes through.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, TypeAlias, TypeVar

import numpy as np
import numpy.typing as npt

from inbounds.tables.schema import (
    MISSING,
    OTHER,
    AnyKey,
    Column,
    Condition,
    DataError,
    Edges,
    Levels,
    Place,
    Steps,
    to_hexadecimal,
)

# Number of records, sum of each column's integers, and sum of each product, for one cell of a table.
Cell: TypeAlias = tuple[int, tuple[int, ...], tuple[int, ...]]
Cells: TypeAlias = Mapping[tuple[int, ...], Cell]
_Answer = TypeVar("_Answer")
# The place of a label that the engine has not returned as it was asked to.
_MIXED = -3


class Counts(Mapping[tuple[int, ...], Cell]):
    """Cells of which only the records were counted, in eight bytes each: there may be a million of them."""

    __slots__ = ("_table",)

    def __init__(self, table: npt.NDArray[np.int64]) -> None:
        self._table = table

    def __getitem__(self, place: tuple[int, ...]) -> Cell:
        count = int(self._table[place])
        if not count:
            raise KeyError(place)
        return count, (), ()

    def __iter__(self) -> Iterator[tuple[int, ...]]:
        yield from zip(*(axis.tolist() for axis in np.nonzero(self._table)), strict=True)

    def __len__(self) -> int:
        return int(np.count_nonzero(self._table))

    def __repr__(self) -> str:
        return "Counts(...)"

    def within(self, shape: tuple[int, ...]) -> npt.NDArray[np.int64]:
        """The counts of the first cells along each axis, one after another."""
        return self._table[tuple(slice(size) for size in shape)].ravel()


def counts_of(cells: Cells, shape: tuple[int, ...]) -> npt.NDArray[np.int64]:
    """The number of records in each cell of a table of this shape, one after another; others are left out."""
    if isinstance(cells, Counts):
        return cells.within(shape)
    table = np.zeros(shape, dtype=np.int64)
    for place, (count, _, _) in cells.items():
        if all(i < size for i, size in zip(place, shape, strict=True)):
            table[place] = count
    return table.ravel()


def require(answer: _Answer | DataError) -> _Answer:
    """An answer that is no refusal; a refusal is raised here, where no number is a variable."""
    if isinstance(answer, DataError):
        raise answer
    return answer


def records(cells: Cells) -> int:
    """The number of records in all cells."""
    if isinstance(cells, Counts):
        return int(cells.within(cells._table.shape).sum())
    return sum(count for count, _, _ in cells.values())


def make_refusal(column: Column | Steps, what: str) -> DataError:
    """The error for a table with values that a column's rule refuses."""
    other, missing = column.keywords if isinstance(column, Levels) else ("", "missing")
    if what == "missing":
        unreadable = "" if isinstance(column, Levels) else ", or values that are no numbers"
        first = "" if isinstance(column, Levels) else "; convert text with percent signs, units or decimal commas first"
        first += (
            "" if isinstance(column, Levels) else ", or declare the commas of a CSV file: decimal = ',' under [data]"
        )
        if getattr(column, "clock", None):
            unreadable = ", or values that are no dates or times"
            first = "; convert dates in other forms to that of 1970-01-31 first"
            # An instant without a declared clock is missing where types are made from values.
            unreadable += "" if getattr(column, "zone", None) else " (those with a zone need time_zone=)"
        return DataError(
            f"column {column.name!r} has missing values{unreadable}; say what they count as with {missing}=, or leave "
            f"them out with {missing}='skip' (not of regression and kendall){first}"
        )
    if other == "level":
        return DataError(f"column {column.name!r} holds values other than 0 and 1; name the one to count with level=")
    return DataError(
        f"column {column.name!r} holds values that are none of its levels; say where they belong with {other}=, or add "
        "them to the levels"
    )


# Fewer numbers are read one by one: PyArrow imports pandas to make an array, which takes longer than a small query.
_FEW = 10_000


def to_whole(column: Any) -> npt.NDArray[np.int64]:
    """Whole numbers as an engine returns them: 64-bit integers, or doubles, decimals or None."""
    import narwhals as nw

    if len(column) <= _FEW:
        return np.array([integer(value) for value in column.to_list()], dtype=np.int64)
    if column.dtype == nw.Int64 and not column.null_count():
        return np.asarray(column.to_numpy(), dtype=np.int64)
    if isinstance(column.dtype, nw.Decimal | nw.Int128) and not column.null_count() and _is_small(column):
        # Sums of DuckDB are of 128 bits.
        return np.asarray(column.cast(nw.Int64).to_numpy(), dtype=np.int64)
    return np.array([integer(value) for value in column], dtype=np.int64)


def _is_small(column: Any) -> bool:
    """Whether whole numbers of more than 64 bits all fit into 64."""
    return len(column) > 0 and abs(int(column.min())) < 1 << 62 and abs(int(column.max())) < 1 << 62


def places_of(key: AnyKey, labels: Any, *, hexadecimal: bool = False) -> npt.NDArray[np.int64]:
    """The cell of each group by the label that an engine returned; below 0 for values that the rule has no cell for."""
    if isinstance(key, Condition):
        return to_whole(labels)
    if isinstance(key, Edges | Steps):
        places = to_whole(labels)
        if isinstance(key.missing, Place):
            places = np.where(places == MISSING, key.refused, places)
    elif not labels.dtype.is_numeric():
        places = _by_text(key, labels, to_hexadecimal if hexadecimal else str)
    elif isinstance(key.levels[0], str):
        places = _with_strays(key, to_whole(labels).copy())
    else:
        places = _by_number(key, to_whole(labels))
    return places


def find_refusal(key: AnyKey, places: npt.NDArray[np.int64]) -> DataError | None:
    """The refusal of a table some of whose groups have no cell."""
    if isinstance(key, Condition):
        return None
    if np.any(places == _MIXED):
        return DataError(f"the table's engine mixed up levels of {key.name!r}; use another engine")
    refusals = (what for place, what in ((OTHER, "other"), (MISSING, "missing")) if np.any(places == place))
    return next((make_refusal(key, what) for what in refusals), None)


def _by_number(key: Levels, labels: npt.NDArray[np.int64]) -> npt.NDArray[np.int64]:
    size = len(key.levels)
    levels = np.fromiter(key.levels, dtype=np.int64, count=size)
    if np.all(levels[1:] - levels[:-1] == 1):
        # Consecutive levels: strays have the numbers right below them, as the engine counts them.
        return _with_strays(key, labels - levels[0])
    labels_of_cells, places = np.append(levels, key.stray_numbers), np.append(np.arange(size), _refusals(key))
    order = np.argsort(labels_of_cells)
    return places[order[np.searchsorted(labels_of_cells, labels, sorter=order)]]


def _with_strays(key: Levels, numbers: npt.NDArray[np.int64]) -> npt.NDArray[np.int64]:
    """The numbers of levels, with other and missing values where the rule puts them."""
    other, missing = numbers == OTHER, numbers == MISSING
    numbers[other], numbers[missing] = _refusals(key)
    return numbers


def _by_text(key: Levels, labels: Any, write: Callable[[str], str]) -> npt.NDArray[np.int64]:
    places = zip((*key.texts, *key.strays), (*range(len(key.levels)), *_refusals(key)), strict=True)
    place_of = {write(label): place for label, place in places}
    return np.array([place_of.get(str(label), _MIXED) for label in labels], dtype=np.int64)


def _refusals(key: Levels) -> list[int]:
    strays = zip((OTHER, MISSING), key.places, strict=True)
    return [stray if place is None else place for stray, place in strays]


def integer(value: Any) -> int:
    """A sum as an engine returns it: None if there were no rows at all."""
    return 0 if value is None else int(value)


def add_cells(a: Cell, b: Cell) -> Cell:
    def plus(x: Sequence[int], y: Sequence[int]) -> tuple[int, ...]:
        return tuple(i + j for i, j in zip(x, y, strict=True))

    return a[0] + b[0], plus(a[1], b[1]), plus(a[2], b[2])
