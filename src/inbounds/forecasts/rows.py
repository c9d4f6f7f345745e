"""How many rows persons plausibly have, and what keeping a few of them leaves out: a guess for previews."""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from inbounds import _check
from inbounds.privacy.persons import MOST_RECORDS

# How much persons with many rows differ from others, in standard deviations of what is averaged, if nothing is stated.
SHIFT = (0.0, 1 / 2)
_EXAMPLE = "{1: 0.5, 2: 0.3, 5: 0.2}"


@dataclass(frozen=True, slots=True)
class RowsPerPerson:
    """The plausible distribution of rows per person: ``shares`` are pairs (rows, share of persons), by rows.

    Examples
    --------
    >>> rows = RowsPerPerson.of({1: 0.5, 2: 0.3, 5: 0.2})
    >>> rows.mean
    2.1
    >>> round(rows.left_out(1), 3)
    0.524
    """

    shares: tuple[tuple[int, float], ...]

    @classmethod
    def of(cls, rows_per_person: Any) -> "RowsPerPerson | None":
        """Read what a user states: shares that sum to one, or numbers of persons, by numbers of rows."""
        if rows_per_person is None or isinstance(rows_per_person, cls):
            return rows_per_person
        if not isinstance(rows_per_person, Mapping) or not rows_per_person:
            raise TypeError(f"plausible_rows must be shares of persons by numbers of rows, as in {_EXAMPLE}")
        numbers = {_read_rows(rows): _check.finite(share, "plausible_rows") for rows, share in rows_per_person.items()}
        if len(numbers) < len(rows_per_person) or min(numbers.values()) < 0 or not sum(numbers.values()) > 0:
            raise ValueError(f"plausible_rows must have one share >= 0 for each number of rows, as in {_EXAMPLE}")
        total = sum(numbers.values())
        if abs(total - 1) > 0.005 and not all(share == int(share) for share in numbers.values()):
            raise ValueError(f"plausible_rows must be shares that sum to one, or numbers of persons; got {total:g}")
        return cls(tuple((rows, numbers[rows] / total) for rows in sorted(numbers) if numbers[rows] > 0))

    @property
    def mean(self) -> float:
        """The mean number of rows of a person."""
        return sum(rows * share for rows, share in self.shares)

    @property
    def most(self) -> int:
        """The largest number of rows of a person."""
        return self.shares[-1][0]

    def kept(self, most: int) -> float:
        """The mean number of rows that are kept of a person, if at most ``most`` are kept."""
        return sum(min(rows, most) * share for rows, share in self.shares)

    def left_out(self, most: int) -> float:
        """The share of rows that are not kept."""
        return 1 - self.kept(most) / self.mean

    def moved(self, most: int) -> float:
        """The weight that goes from persons with many rows to persons with few: half the sum of all changes."""
        mean_kept, mean = self.kept(most), self.mean
        return sum(abs(min(rows, most) / mean_kept - rows / mean) * share for rows, share in self.shares) / 2

    def spread_weights(self, most: int) -> float:
        """The sum of the squared changes of the weights of persons in an average, times the number of persons."""
        mean_kept, mean = self.kept(most), self.mean
        return sum((min(rows, most) / mean_kept - rows / mean) ** 2 * share for rows, share in self.shares)

    def list_limits(self, limit: int) -> tuple[int, ...]:
        """Numbers of rows to compare: 1, 2, 5, 10 and so on until nothing is left out, and the given limit."""
        limits, power = {limit}, 1
        while power <= self.most:
            limits |= {power * step for step in (1, 2, 5) if power * step < self.most}
            power *= 10
        return tuple(sorted(limits | {self.most}))


def read_shift(shift: Any) -> tuple[float, float]:
    """Read how much persons with many rows differ: a number or a pair; by default up to half a deviation.

    Examples
    --------
    >>> read_shift([0, 0.1])
    (0.0, 0.1)
    >>> read_shift(None)
    (0.0, 0.5)
    """
    if shift is None:
        return SHIFT
    ends = shift if isinstance(shift, tuple | list) else (shift, shift)
    if len(ends) != 2:
        raise ValueError("plausible_shift must be a number or a pair (low, high), as in (0, 0.1)")
    low, high = (_check.finite(end, "plausible_shift") for end in ends)
    if not 0 <= low <= high:
        raise ValueError("plausible_shift must be a number >= 0 or a pair (low, high) with 0 <= low <= high")
    return low, high


def _read_rows(rows: Any) -> int:
    """Read a number of rows; in TOML keys are text."""
    if isinstance(rows, str) and re.fullmatch("[0-9]{1,10}", rows):
        rows = int(rows)
    if _check.integer(rows, "a number of rows in plausible_rows", least=1) > MOST_RECORDS:
        raise ValueError("a number of rows in plausible_rows must not exceed 2^31")
    return int(rows)
