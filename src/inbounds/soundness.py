"""Whether a record's certificate is for what the record says: its sensitivities follow from the rest of it.

A certificate proves that its noise is enough for its sensitivity. That the sensitivity is that of the statistic follows
from the statistic, the bounds of its columns, the number of rows and the unit, which are all in the record. The
formulas are those of `inbounds.privacy.sensitivity`, written once more in fractions; what is certified may be larger
(rounded products make it so by a hair), never smaller.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import combinations_with_replacement
from math import isqrt
from typing import Any

from inbounds import derive
from inbounds.privacy.certificate import Certificate


@dataclass(frozen=True, slots=True)
class Facts:
    """What a record says about itself.

    ``widths`` of its numeric columns; ``cells`` of its others; ``largest`` the size of the largest group where sizes
    are public; ``reach`` the largest number in size that a column may hold; ``levels`` of a tree, in each of which a
    record is counted.
    """

    statistic: str
    method: str
    changes: int
    contributions: int
    rows: int | None
    denominator: int | None
    widths: tuple[Fraction, ...]
    reach: Fraction
    cells: int
    largest: int | None
    levels: int = 1


def demanded(facts: Facts, units: Sequence[Fraction], parts: Sequence[Certificate]) -> bool:
    """Whether the certified parts have the sensitivity, the dimension and the number of draws that the facts demand.

    Noisy numbers times their units make the statistic, so that a unit that is too small would hide what a record does.
    """
    if facts.method not in _METHODS.get(facts.statistic, ()):
        return False
    if facts.method in derive.OF_SUMS:
        products = 0 if facts.method == derive.MEAN_OF_SUMS else len(facts.widths) * (len(facts.widths) + 1) // 2
        return set(units) == {1} and _agrees(parts, [Fraction(1)], 1 + len(facts.widths) + products, facts.changes)
    if facts.statistic in _TABLES:
        over = facts.rows or facts.denominator or 0
        shares = facts.statistic == "proportions" and facts.method != derive.SHARES
        if set(units) != ({Fraction(1, over) if over else None} if shares else {1}):
            return False
        dimension = len(units) if parts[0].noise == "zero-sum" else 1
        return _agrees(parts, [Fraction(1)], dimension, facts.changes * facts.levels)
    moved = _moves(facts)
    if moved is None:
        return False
    if len(moved) > 1 and len(parts) == 1:
        # Drawn together, in units of their own sensitivities.
        scaled = all(unit * parts[0].sensitivity >= move for unit, move in zip(units, moved, strict=True))
        return scaled and parts[0].dimension == len(moved) and parts[0].draws == 1
    return set(units) == {1} and _agrees(parts, moved, 1, 1)


# Counts of disjoint cells, whose changes are counted one by one.
_TABLES = ("histogram", "crosstab", "proportions", "counts")
# The ways in which each statistic is made.
_METHODS = {
    "count": (derive.DIRECT,),
    "counts": (derive.DIRECT,),
    "histogram": (derive.DIRECT, derive.WHOLE),
    "crosstab": (derive.DIRECT, derive.WHOLE),
    "proportion": (derive.DIRECT, derive.MEAN_OF_SUMS),
    "proportions": (derive.SHARES, derive.PROJECTED, derive.RESCALED, derive.ALL_BUT_ONE, derive.TREE),
    "sum": (derive.DIRECT,),
    "mean": (derive.DIRECT, derive.MEAN_OF_SUMS),
    "variance": (derive.DIRECT, derive.VARIANCE_OF_SUMS),
    "standard_deviation": (derive.DIRECT, derive.ROOT, derive.ROOT_OF_SUMS),
    "covariance": (derive.MATRIX, derive.MATRIX_OF_SUMS),
    "correlation": (derive.CORRELATION, derive.CORRELATION_OF_SUMS),
    "pooled_variance": (derive.DIRECT, derive.POOLED_OF_SUMS),
    "pooled_covariance": (derive.MATRIX, derive.POOLED_OF_SUMS),
}


def _agrees(parts: Sequence[Certificate], moved: Sequence[Fraction], dimension: int, draws: int) -> bool:
    return len(parts) == len(moved) and all(
        part.sensitivity >= move and part.dimension == dimension and part.draws >= draws
        for part, move in zip(parts, moved, strict=True)
    )


def _moves(facts: Facts) -> list[Fraction] | None:
    """What the unit can do to each released number; None where the record cannot be what it says."""
    unit, rows = facts.contributions, facts.rows
    pairs = list(combinations_with_replacement(facts.widths, 2))
    if facts.statistic == "count":
        return [Fraction(unit)]
    if facts.statistic == "proportion":
        over = rows or facts.denominator
        return [Fraction(unit, over)] if over else None
    if facts.statistic == "sum" and len(facts.widths) == 1:
        return [unit * (facts.reach if rows is None else facts.widths[0])]
    if facts.statistic == "mean" and len(facts.widths) == 1:
        if rows is None:
            return [unit * facts.widths[0] / 2 / facts.denominator] if facts.denominator else None
        return [unit * facts.widths[0] / rows]
    if rows is None or not pairs:
        return None
    if facts.statistic.startswith("pooled"):
        if rows <= facts.cells or not facts.cells:
            return None
        places = enumerate(combinations_with_replacement(range(len(facts.widths)), 2))
        free = unit / Fraction(rows - facts.cells)
        if facts.largest is not None:
            return [free * (1 - Fraction(1, facts.largest)) * a * b for a, b in pairs]
        return [free * (1 if i == j else 2) * pairs[place][0] * pairs[place][1] for place, (i, j) in places]
    moves = [unit * a * b / rows for a, b in pairs]
    if facts.statistic == "standard_deviation" and facts.method == derive.DIRECT:
        return [_root_below(moves[0])]
    return moves if facts.statistic in ("variance", "standard_deviation", "covariance", "correlation") else None


def _root_below(square: Fraction) -> Fraction:
    """A little less than √square."""
    bits = 64 + max(0, square.denominator.bit_length() - square.numerator.bit_length())
    return Fraction(isqrt((square.numerator << (2 * bits)) // square.denominator), 1 << bits)


def truncated_in_turn(noisy: Sequence[Fraction], bounds: Sequence[Any], parts: Sequence[Certificate]) -> bool:
    """Whether covariances that were truncated one by one lie within what the released variances allow.

    Each law ends at its bounds, and those of a covariance are plus and minus the root of the two variances' product,
    rounded down, where that is not 0.
    """
    size = derive.triangle_size(len(noisy))
    places = list(combinations_with_replacement(range(size), 2))
    variances = {i: noisy[place] for place, (i, j) in enumerate(places) if i == j}
    for (i, j), bound, part in zip(places, bounds, parts, strict=True):
        ends = tuple(None if end is None else part.origin + end * part.step for end in (part.first, part.last))
        reach = _root_below(variances[i] * variances[j])
        if ends != tuple(bound) or (i != j and reach > 0 and tuple(bound) != (-reach, reach)):
            return False
    return True
