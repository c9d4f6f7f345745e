"""A column's rule as a record shows it."""

from dataclasses import dataclass
from fractions import Fraction


@dataclass(frozen=True, slots=True)
class ColumnRule:
    """How the records of a column were counted.

    Numbers are clipped to [lower, upper] and rounded to multiples of ``step`` from lower. ``cells`` are the names of
    levels or intervals. ``missing`` and ``other`` are what such values count as; None means that they are refused.
    ``sizes`` are the public sizes of the cells. If they are given, ε does not cover a change of the cell.
    """

    name: str
    lower: Fraction | None = None
    upper: Fraction | None = None
    step: Fraction | None = None
    cells: tuple[str, ...] = ()
    missing: str | None = None
    other: str | None = None
    sizes: tuple[int, ...] = ()
