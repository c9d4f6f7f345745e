"""The possible values of each number of a release, from its public record. Its interval is compared with them."""

import math
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from inbounds.record.release import Release

Range = tuple[float, float]
_OPEN: Range = (-math.inf, math.inf)


def list_possible(release: "Release") -> list[Range]:
    """The smallest and largest possible value of each number, in the order of the flat value.

    Parameters
    ----------
    release
        The record of a release, also without its numbers.

    Returns
    -------
    list of tuple
        A pair for each number. An end that is not known is infinite.
    """
    traits, count = release.statistic.traits, math.prod(release.shape)
    rows = release.rows
    if release.derivation.unit:
        return [(-1.0, 1.0)] * count
    if traits.shares:
        return [(0.0, 1.0)] * count
    if traits.counted and traits.whole:
        # A selection has no more records than the table, and each person has at most so many rows.
        unit = release.terms.unit
        each = 1 if unit.persons is None else unit.contributions
        most = math.inf if release.terms.rows is None else float(release.terms.rows) * each
        return [(0.0, most)] * count
    ends = [(float(low), float(high)) for low, high in release.numeric_ends()]
    if traits.columns == "numbers":
        return _list_moments(release, ends, rows)
    if not ends:
        return [_OPEN] * count
    low, high = ends[0]
    # The variance of numbers that lie at both ends in equal parts, and its root.
    widest = (high - low) ** 2 / 4 * _correction(rows)
    ranges: dict[str | None, Range] = {
        "centre": (low, high),
        "spread": (0.0, math.sqrt(widest)),
        "squared spread": (0.0, widest),
        "total": _range_of_sum(low, high, rows, whole_table=not release.axes),
    }
    return [ranges.get(traits.meaning, _OPEN)] * count


def _list_moments(release: "Release", ends: list[Range], rows: int | None) -> list[Range]:
    """The ranges of a covariance matrix, with those of the means in a row above it if the table has one row more.

    A covariance is at most the root of the product of both variances: of those that were released, or, before a
    release, of the largest that the bounds allow.
    """
    shape, size = release.shape, len(ends)
    if len(shape) != 2 or shape[1] != size or shape[0] - size not in (0, 1):
        return [_OPEN] * math.prod(shape)
    above = (shape[0] - size) * size
    largest = [((high - low) / 2) ** 2 * _correction(rows) for low, high in ends]
    variances = largest
    if release.released:
        flat = release.flat_values()[above :: size + 1]
        variances = [most if x is None else min(max(x, 0.0), most) for x, most in zip(flat, largest, strict=True)]
    reach = [[math.sqrt(variance * other) for other in variances] for variance in variances]
    matrix = [(0.0, largest[i]) if i == j else (-reach[i][j], reach[i][j]) for i in range(size) for j in range(size)]
    return [*ends[:above], *matrix]


def _range_of_sum(low: float, high: float, rows: int | None, *, whole_table: bool) -> Range:
    if rows is None:
        return (0.0 if low >= 0 else -math.inf, 0.0 if high <= 0 else math.inf)
    return (rows * low, rows * high) if whole_table else (min(rows * low, 0.0), max(rows * high, 0.0))


def _correction(rows: int | None) -> float:
    """The factor by which the denominator n - 1 increases the largest variance."""
    return rows / (rows - 1) if rows is not None and rows > 1 else 1.0
