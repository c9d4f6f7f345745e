"""Figures of a study's table with their standard errors, and the words in which findings are judged."""

import math
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import polars

# Differences below this many standard errors are not called differences.
CLEAR = 3.0


@dataclass(frozen=True, slots=True)
class Measured:
    """A figure with its standard error; errors of two figures are taken as independent.

    Settings share samples, so that differences between them are known better than that: errors are on the safe side.
    """

    value: float
    error: float = 0.0

    def __sub__(self, other: "Measured") -> "Measured":
        return Measured(self.value - other.value, math.hypot(self.error, other.error))

    def __abs__(self) -> "Measured":
        return Measured(abs(self.value), self.error)

    def over(self, other: "Measured | float") -> "Measured":
        """The ratio, by the delta method."""
        below = other if isinstance(other, Measured) else Measured(other)
        if below.value == 0:
            return Measured(math.nan, math.inf)
        ratio = self.value / below.value
        return Measured(ratio, math.hypot(self.error, ratio * below.error) / abs(below.value))

    def above(self, limit: float) -> bool | None:
        """Whether it is clearly above a limit; None if that cannot be decided."""
        away = self.value - limit
        if abs(away) <= CLEAR * self.error:
            return None
        return away > 0

    def below(self, limit: float) -> bool | None:
        """Whether it is clearly below a limit; None if that cannot be decided."""
        return (-self).above(-limit)

    def __neg__(self) -> "Measured":
        return Measured(-self.value, self.error)

    def __str__(self) -> str:
        return f"{self.value:.3g} (s.e. {self.error:.1g})" if self.error else f"{self.value:.3g}"


def mean(figures: Iterable[Measured], *, independent: bool = False) -> Measured:
    """Their mean. Its standard error is on the safe side, as if all moved together, unless they are independent."""
    values = list(figures)
    error = math.hypot(*(x.error for x in values)) if independent else math.fsum(x.error for x in values)
    return Measured(math.fsum(x.value for x in values) / len(values), error / len(values))


def largest(figures: Iterable[Measured]) -> Measured:
    """The one with the largest value."""
    return max(figures, key=lambda figure: figure.value)


def smallest(figures: Iterable[Measured]) -> Measured:
    """The one with the smallest value."""
    return min(figures, key=lambda figure: figure.value)


_KEY = (
    "scenario",
    "n",
    "epsilon",
    "neighbours",
    "calibration",
    "mechanism",
    "repair",
    "estimator",
    "quantity",
    "measure",
)


@dataclass(frozen=True, slots=True)
class Evidence:
    """The figures of one study, looked up by their labels.

    ``base`` has the labels that hold unless a question says otherwise.
    """

    figures: dict[tuple[Any, ...], Measured]
    base: dict[str, Any] = field(default_factory=dict)

    @classmethod
    def of(cls, table: "polars.DataFrame", **base: Any) -> "Evidence":
        columns = [table[name].to_list() for name in (*_KEY, "value", "standard_error")]
        return cls({row[:-2]: Measured(*row[-2:]) for row in zip(*columns, strict=True)}, base)

    def at(self, **labels: Any) -> "Evidence":
        """The same figures with other labels assumed."""
        return Evidence(self.figures, self.base | labels)

    def __call__(self, quantity: str, measure: str, **labels: Any) -> Measured:
        question = self.base | labels | {"quantity": quantity, "measure": measure}
        key = tuple(question[name] for name in _KEY)
        if key not in self.figures:
            text = ", ".join(f"{name} {value}" for name, value in zip(_KEY, key, strict=True))
            raise ValueError(f"the table has no row for {text}; run the study again")
        return self.figures[key]
