"""Add noise from the system's randomness to the exact numbers of a table.

The law of every number was fixed and certified when the release was drafted. The functions here take exact numbers as
arguments and return noisy ones. They keep nothing.
"""

from collections.abc import Callable, Sequence
from dataclasses import replace
from fractions import Fraction
from functools import partial
from math import isqrt

import numpy as np

from inbounds.grid.entropy import SYSTEM, Entropy, require_system
from inbounds.grid.geometric import Integers
from inbounds.grid.halving import draw_points
from inbounds.grid.joint import supnorm, zero_sum
from inbounds.grid.law import GridMechanism
from inbounds.grid.nodes import Node
from inbounds.grid.polyhedral import polyhedral
from inbounds.grid.together import draw_together
from inbounds.privacy.certificate import Certificate, Composition, compose
from inbounds.privacy.norms import make_norm
from inbounds.record.draft import Draft
from inbounds.record.release import Bound, Release
from inbounds.record.sequential import list_places, within_variances
from inbounds.tables.answers import Cells
from inbounds.tables.request import MOST_ROWS


def entropy_source() -> Entropy:
    """The system's randomness, which is the only source that a release may use."""
    return require_system(SYSTEM)


def draw_key() -> bytes:
    """A key from the system's randomness that decides between rows of one person. It is public and does not depend on
    the data."""
    return entropy_source().take(16)


def draw(draft: Draft, tables: Sequence[Cells]) -> Release:
    """Release a draft: add noise of the certified law to the exact cells of its requests."""
    exact, certificate = draft.exact(*tables), draft.record.certificate
    if draft.nodes:
        assert isinstance(exact, np.ndarray)
        release = replace(draft.record, noisy=draw_choices(exact, draft.nodes, certificate, draft.record.rows))
    elif draft.second is not None:
        assert isinstance(certificate, Composition)
        release = replace(draft.record, noisy=draw_after(exact[0][0], partial(draft.second, tables[0]), certificate))
    elif isinstance(certificate, Composition) and isinstance(exact, np.ndarray):
        release = replace(draft.record, noisy=draw_levels(exact, draft.record.parts))
    elif isinstance(certificate, Composition):
        assert not isinstance(exact, np.ndarray)
        matrix = _draw_in_turn(
            exact[0], certificate, draft.record.bounds, truncated=draft.terms.bounding == "truncated"
        )
        release = replace(draft.record, noisy=matrix[0], certificate=matrix[1], bounds=matrix[2])
    elif isinstance(exact, np.ndarray):
        noisy = (draw_zero_sum if certificate.noise == "zero-sum" else draw_counts)(exact, certificate)
        release = replace(draft.record, noisy=noisy)
    elif certificate.dimension > 1 or len(exact) > 1:
        release = replace(draft.record, noisy=draw_joint(exact, certificate))
        if release.group is not None:
            return release
    else:
        ((number,),) = exact
        release = replace(draft.record, noisy=(draw_single(number, certificate, squared=draft.squared),))
    return replace(release, notes=release.own_notes())


def take(joint: Release, draft: Draft) -> Release:
    """Take the numbers of one release from a joint draw. A release that was drawn alone is returned as it is."""
    if draft.record.group is None:
        return joint
    release = replace(draft.record, noisy=tuple(joint.noisy[place] for place in draft.record.places))
    return replace(release, notes=release.own_notes())


# claim:release-single
def draw_single(number: Fraction, certificate: Certificate, *, squared: bool = False) -> Fraction:
    """Add noise of the certified law to a number, or with ``squared`` to its root."""
    law = certificate.mechanism
    at = _root_index(law, number) if squared else law.locate(number)
    return law.value(law.draw(at, entropy_source()))


# claim:release-after
def draw_after(
    number: Fraction, second: Callable[[Fraction], list[Fraction]], laws: Composition
) -> tuple[Fraction, ...]:
    """Draw one number, and then one or more, together, that depend on what was drawn.

    The losses of both draws add up: whatever was drawn first, the second has the law that its certificate says.
    """
    first, then = laws.parts
    value = draw_single(number, first)
    numbers = second(value)
    if then.dimension > 1:
        return value, *draw_joint([numbers], then)
    (next_number,) = numbers
    return value, draw_single(next_number, then)


def _root_index(law: GridMechanism, square: Fraction) -> int:
    """⌊√square/step + ½⌋ = ⌊(⌊2√square/step⌋ + 1)/2⌋, on a grid from 0."""
    scaled = 4 * square / law.step**2
    return (isqrt(scaled.numerator // scaled.denominator) + 1) // 2


# claim:release-joint
def draw_joint(vectors: Sequence[Sequence[Fraction]], certificate: Certificate) -> tuple[Fraction, ...]:
    """Add noise of one norm to each of several vectors."""
    law, entropy = certificate.grid, entropy_source()
    noisy = []
    for vector in vectors:
        if certificate.blocks:
            noise = polyhedral(law.scale, make_norm(certificate.blocks), entropy)
        else:
            noise = supnorm(law.scale, len(vector), entropy)
        noisy += [law.value(law.locate(x) + int(z)) for x, z in zip(vector, noise, strict=True)]
    return tuple(noisy)


# claim:release-zero-sum
def draw_zero_sum(counts: Integers, certificate: Certificate) -> tuple[Fraction, ...]:
    """Add noise that sums to zero to the counts of a table."""
    return _fractions(counts + zero_sum(certificate.grid.scale, counts.size, entropy_source()))


# claim:release-counts
def draw_counts(counts: Integers, certificate: Certificate) -> tuple[Fraction, ...]:
    """Add independent noise to each count of a table."""
    return _fractions(certificate.mechanism.draw_each(counts, entropy_source()))


# claim:release-choices
def draw_choices(
    counts: Integers, nodes: Sequence[Node], certificate: Certificate | Composition, rows: int | None = None
) -> tuple[Fraction, ...]:
    """Choose the points of each group, a row of counts: together, or one by one by recursive
    halving. ``rows`` is the number of all records where it is public."""
    parts = (certificate,) if isinstance(certificate, Certificate) else certificate.parts
    spreads, entropy = [part.grid.scale.steps for part in parts], entropy_source()
    law = parts[0]

    def choose(row: Integers) -> list[int]:
        if nodes[0].together:
            return draw_together(row, [node.share for node in nodes], spreads[0], rows or MOST_ROWS, entropy)
        return draw_points(row, nodes, spreads, entropy)

    return tuple(law.origin + point * law.step for row in counts for point in choose(row))


# claim:release-levels
def draw_levels(counts: Integers, laws: Sequence[Certificate]) -> tuple[Fraction, ...]:
    """Add independent noise to each node of a tree, by the law of its depth."""
    noisy = np.zeros_like(counts)
    for law in dict.fromkeys(laws):
        level = [node for node, other in enumerate(laws) if other == law]
        noisy[level] = law.mechanism.draw_each(counts[level], entropy_source())
    return _fractions(noisy)


def _fractions(noisy: Integers) -> tuple[Fraction, ...]:
    """Noisy counts as fractions. Equal counts share one object, since of a million counts few differ."""
    fractions: dict[int, Fraction] = {}
    blocks = (noisy[start : start + _BLOCK].tolist() for start in range(0, noisy.size, _BLOCK))
    return tuple(
        fractions[x] if x in fractions else fractions.setdefault(x, Fraction(x)) for block in blocks for x in block
    )


# How many numbers are converted to Python integers at a time.
_BLOCK = 65536


def _draw_in_turn(
    numbers: Sequence[Fraction], laws: Composition, bounds: Sequence[Bound], *, truncated: bool
) -> tuple[tuple[Fraction, ...], Composition, tuple[Bound, ...]]:
    """Draw the elements of a matrix one by one: variances first, then each covariance.

    A truncated covariance is drawn within the limits that the noisy variances imply. Clamping is post-processing and is
    part of the repair.
    """
    places = list_places(len(numbers))
    parts, within, noisy = list(laws.parts), list(bounds), [Fraction(0)] * len(numbers)
    diagonal = {i: place for place, (i, j) in enumerate(places) if i == j}
    for place, (i, j) in sorted(enumerate(places), key=lambda item: item[1][0] != item[1][1]):
        if i != j and truncated:
            variances = noisy[diagonal[i]], noisy[diagonal[j]]
            parts[place], within[place] = within_variances(parts[place], within[place], *variances)
        noisy[place] = draw_single(_clip(numbers[place], within[place]), parts[place])
    return tuple(noisy), compose(parts, laws.epsilon), tuple(within)


def _clip(number: Fraction, bound: Bound) -> Fraction:
    lower, upper = bound
    number = number if lower is None else max(number, lower)
    return number if upper is None else min(number, upper)
