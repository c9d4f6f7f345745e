"""Drafts: releases before the data are read."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, TypeAlias

from inbounds import _check
from inbounds.errors import DataError
from inbounds.grid.geometric import Integers
from inbounds.grid.nodes import Node
from inbounds.privacy.terms import Terms
from inbounds.record.release import Release
from inbounds.record.statistic import Statistic
from inbounds.tables.answers import Cells
from inbounds.tables.request import MOST_ROWS, Request
from inbounds.tables.schema import Column

# Exact numbers of a table: vectors, each of which is drawn together, or counts in one array.
Exact: TypeAlias = Sequence[Sequence[Fraction]] | Integers


@dataclass(frozen=True, slots=True)
class Draft:
    """A release before any data are read: its record without the numbers, what to count, and what to release.

    ``exact`` takes the exact cells of each request, in order, and computes the coordinates from them; the record's
    certificate has their law. With ``squared`` it returns the square of the one number that is drawn. ``find_refusal``
    returns the refusal of cells that a rule does not allow and that the engine let pass. ``nodes`` are the draws of
    chosen points. ``second`` takes the cells and the drawn value of the one number of ``exact``, and returns one or
    more numbers that are drawn after it, together if there are several.
    """

    record: Release
    requests: tuple[Request, ...]
    exact: Callable[..., Exact]
    squared: bool = False
    find_refusal: Callable[..., DataError | None] | None = None
    nodes: tuple[Node, ...] = ()
    second: Callable[[Cells, Fraction], list[Fraction]] | None = None

    @property
    def columns(self) -> tuple[Column, ...]:
        """The columns that are read, each once."""
        return tuple(dict.fromkeys(column for request in self.requests for column in request.columns))

    @property
    def terms(self) -> Terms:
        """What the release promises."""
        return self.record.terms


class Unnamed(str):
    """The name of a column that has no name."""

    __slots__ = ()


# The name of the column if the data are a plain list of values.
UNNAMED = Unnamed("x")


def check_rows(rows: Any, terms: Terms) -> int | None:
    """Check the number of rows that a user gives."""
    if rows is None:
        return None
    if terms.protects_rows:
        raise ValueError(
            "rows= cannot be combined with neighbours='add-remove', where the number of rows is protected. Use "
            "neighbours='substitute', or denominator= for a fixed public number to divide by"
        )
    if _check.integer(rows, "rows", least=1) > MOST_ROWS:
        raise ValueError("rows must not exceed 2^31")
    return int(rows)


def size_terms(statistic: Statistic, terms: Terms, size: int | None) -> Terms:
    """The terms with the public number of rows, after checking that the statistic can have so many."""
    if terms.protects_rows:
        return terms
    if size is None:
        raise TypeError("with neighbours='substitute' the number of rows is public: give it, as in rows=1000")
    least = statistic.least_rows
    if size < least:
        needs = "no rows" if least == 1 else f"fewer rows than the {least} that this statistic needs"
        raise DataError(f"the table has {needs}")
    if size > MOST_ROWS:
        raise DataError("the table has more than 2^31 rows, the limit here; release it in parts")
    return terms.with_rows(size)
