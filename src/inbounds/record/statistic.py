"""The interface of a statistic, and the register of all statistics.

A statistic is a frozen value: its columns with their public rules, and how its value is made. It drafts its release,
and makes intervals from the record of one. The rest of the library only uses this interface.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from importlib import import_module
from typing import TYPE_CHECKING, ClassVar, Literal, Protocol, TypeAlias, TypeVar

from inbounds import _check
from inbounds._mistakes import find_name
from inbounds.privacy.terms import Terms
from inbounds.tables.schema import Column

if TYPE_CHECKING:
    from inbounds.inference.result import Interval
    from inbounds.record.draft import Draft
    from inbounds.record.release import Release


Meaning: TypeAlias = Literal["centre", "total", "spread", "squared spread", "matrix"]
Columns: TypeAlias = Literal[
    "number", "numbers", "ordered", "cells", "table", "level", "level or none", "free", "outcome"
]


@dataclass(frozen=True, slots=True)
class Traits:
    """The properties of a statistic, for code that shows it or computes with it.

    Attributes
    ----------
    columns
        Which columns it takes: one or several of numbers, several whose values have an order, one or several with
        levels or intervals, one of which a level is counted (or none at all), one without a rule of its own, or one of
        numbers and others that explain it.
    counted
        Whether its noisy numbers are counts of cells.
    shares
        Whether it is divided by the number of records.
    whole
        Whether its values are whole numbers.
    matrix, unit_diagonal
        Whether it is a symmetric matrix of columns, and whether that has ones on its diagonal.
    mean, variance
        Whether it is a mean or a variance, which can be combined for a shorter interval.
    means_above
        Whether its table has a line of means above such a matrix.
    needs_truth
        Whether its error depends strongly on the true value.
    meaning
        What one number says about its column, for plausible means and spreads.
    """

    columns: Columns = "number"
    counted: bool = False
    shares: bool = False
    whole: bool = False
    matrix: bool = False
    unit_diagonal: bool = False
    mean: bool = False
    variance: bool = False
    means_above: bool = False
    needs_truth: bool = False
    meaning: Meaning | None = None


class Statistic(Protocol):
    """A statistic, as a value.

    Its fields are the keywords that a user writes, so that ``type(statistic)(**fields)`` is the same value again.
    """

    name: ClassVar[str]
    traits: ClassVar[Traits]

    @property
    def inputs(self) -> tuple[Column, ...]:
        """The columns that it reads, with their rules."""
        ...

    @property
    def title(self) -> str:
        """The statistic with its columns and groups, as text."""
        ...

    @property
    def least_rows(self) -> int:
        """The smallest number of rows that it needs."""
        ...

    def numbers(self, terms: Terms) -> int:
        """The number of noisy numbers that it is computed from. It is known before a law is made."""
        ...

    def draft(self, terms: Terms) -> "Draft":
        """Draft the release: its law, its certificate, and the record without its numbers."""
        ...

    def interval(self, release: "Release", level: float, kind: str, variance: "Release | None") -> "Interval":
        """The confidence interval, from the record of a release alone."""
        ...


_REGISTER: dict[str, type[Statistic]] = {}
_Class = TypeVar("_Class", bound=type[Statistic])


def register(made: _Class) -> _Class:
    """Register a statistic by its name, for plans, previews and records. It is used as a class decorator.

    Parameters
    ----------
    made
        The class of the statistic.

    Returns
    -------
    type
        The same class.

    Raises
    ------
    ValueError
        If another statistic has this name.
    """
    name = made.name
    if name in _REGISTER:
        raise ValueError(f"a statistic {name!r} is already registered")
    _REGISTER[name] = made
    return made


def registered() -> Mapping[str, type[Statistic]]:
    """All statistics by name.

    Returns
    -------
    Mapping
        The classes of the statistics, sorted by name.

    Examples
    --------
    >>> "mean" in registered()
    True
    """
    # The statistics of the library are registered when they are loaded, which reading a record alone does not do.
    import_module("inbounds.statistics")
    return {name: _REGISTER[name] for name in sorted(_REGISTER)}


def find_statistic(name: object) -> type[Statistic]:
    """The class of the statistic with that name. Raises a `ValueError` if there is none."""
    statistics = registered()
    try:
        return statistics[_check.choice(name, "statistic", tuple(statistics))]
    except ValueError as error:
        if not (isinstance(name, str) and (meant := find_name(name, list(statistics)))):
            raise
        message = f"{error}; did you mean {meant!r}?"
    raise ValueError(message)
