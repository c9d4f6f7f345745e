"""What to count in a table: public facts, which name columns and rules and hold no data."""

from dataclasses import dataclass
from fractions import Fraction
from itertools import combinations_with_replacement

from inbounds.tables.schema import AnyKey, Column, Quantised, list_read

# Doubles hold whole numbers up to here, and so does every partial sum.
EXACT = 1 << 53
# More rows than this are refused.
MOST_ROWS = 1 << 31


@dataclass(frozen=True, slots=True)
class Product:
    """How the products of two columns are counted: k_i k_j in units of ``unit``."""

    first: Quantised
    second: Quantised

    @property
    def unit(self) -> int:
        """1 where products are exact; otherwise the coarser column's M, so that they get the steps of the finer one."""
        exact = self.first.count * self.second.count <= EXACT
        return 1 if exact else min(self.first.count, self.second.count)

    @property
    def largest(self) -> int:
        """The largest integer that a product can become."""
        return self.first.count * self.second.count // self.unit

    @property
    def slack(self) -> Fraction:
        """The most that a counted product differs from k_i k_j, in units of k_i k_j."""
        return Fraction(5 * self.unit, 8) if self.unit > 1 else Fraction(0)


@dataclass(frozen=True, slots=True)
class Request:
    """What to count in every cell of a table: records, sums of columns and, if asked for, of their products.

    ``by`` are the columns that make the cells, in order; without any there is one cell, ``()``. A condition among them
    is a key of two cells, and a column of numbers, as `Steps`, has a cell for each step. ``some`` asks for only these
    products.
    """

    by: tuple[AnyKey, ...] = ()
    sums: tuple[Quantised, ...] = ()
    products: bool = False
    some: tuple[Product, ...] | None = None

    @property
    def pairs(self) -> tuple[Product, ...]:
        """Products of all pairs of columns, each with itself first: (1,1), (1,2), ..., (2,2), ..."""
        if self.some is not None:
            return self.some
        pairs = combinations_with_replacement(self.sums, 2) if self.products else ()
        return tuple(Product(a, b) for a, b in pairs)

    @property
    def columns(self) -> tuple[Column, ...]:
        """All columns of the table that it reads."""
        return list_read([*self.by, *(quantised.column for quantised in self.sums)])
