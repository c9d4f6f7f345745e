"""Matrices whose elements are truncated one by one: each covariance within the limits of the released variances."""

from collections.abc import Sequence
from fractions import Fraction
from itertools import combinations_with_replacement
from math import isqrt

from inbounds.privacy.certificate import Certificate, Composition, compose
from inbounds.privacy.certified import Bound, cut_law
from inbounds.tables.coordinates import root_below


def list_places(elements: int) -> list[tuple[int, int]]:
    """The row and column of each element on and above the diagonal of a matrix, row by row."""
    size = (isqrt(8 * elements + 1) - 1) // 2
    return list(combinations_with_replacement(range(size), 2))


def within_variances(
    law: Certificate, bound: Bound, variance: Fraction, other_variance: Fraction
) -> tuple[Certificate, Bound]:
    """The truncated law of a covariance and its bounds, given the two released variances.

    The bounds are plus and minus the root of the product of the variances, rounded down. If that is 0, the bounds are
    not changed.
    """
    reach = root_below(variance * other_variance)
    return (cut_law(law, (-reach, reach)), (-reach, reach)) if reach > 0 else (law, bound)


def laws_in_turn(
    laws: Composition, bounds: Sequence[Bound], noisy: Sequence[Fraction]
) -> tuple[Composition, tuple[Bound, ...]]:
    """The laws and bounds of all elements, given that ``noisy`` was drawn: variances first, then covariances."""
    places = list_places(len(noisy))
    variances = {i: noisy[place] for place, (i, j) in enumerate(places) if i == j}
    pairs = [
        (law, bound) if i == j else within_variances(law, bound, variances[i], variances[j])
        for law, bound, (i, j) in zip(laws.parts, bounds, places, strict=True)
    ]
    return compose([law for law, _ in pairs], laws.epsilon), tuple(bound for _, bound in pairs)
