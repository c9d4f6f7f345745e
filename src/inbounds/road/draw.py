"""Noise from the system's randomness for the exact numbers of a table: where they become public.

The law of every number was fixed and certified when the release was drafted. Here the table's exact numbers come as
arguments, noisy ones are returned, and nothing is kept.
"""

from collections.abc import Sequence
from dataclasses import replace
from fractions import Fraction
from math import isqrt

import numpy as np

from inbounds.grid.entropy import SYSTEM, Entropy, require_system
from inbounds.grid.geometric import Integers
from inbounds.grid.joint import supnorm, zero_sum
from inbounds.grid.law import GridMechanism
from inbounds.grid.polyhedral import polyhedral
from inbounds.privacy.certificate import Certificate, Composition, compose
from inbounds.privacy.norms import make_norm
from inbounds.record.draft import Draft
from inbounds.record.release import Bound, Release
from inbounds.record.sequential import list_places, within_variances
from inbounds.tables.answers import Cells


def entropy_source() -> Entropy:
    """The system's randomness; nothing else is fit for a release."""
    return require_system(SYSTEM)


def draw(draft: Draft, tables: Sequence[Cells]) -> Release:
    """The release of a draft from the exact cells of its requests: noise by the certified law, and nothing else."""
    exact, certificate = draft.exact(*tables), draft.record.certificate
    if isinstance(certificate, Composition) and isinstance(exact, np.ndarray):
        made = replace(draft.record, noisy=draw_levels(exact, draft.record.parts))
    elif isinstance(certificate, Composition):
        assert not isinstance(exact, np.ndarray)
        drawn = _draw_in_turn(exact[0], certificate, draft.record.bounds, truncated=draft.terms.bounding == "truncated")
        made = replace(draft.record, noisy=drawn[0], certificate=drawn[1], bounds=drawn[2])
    elif isinstance(exact, np.ndarray):
        noisy = (draw_zero_sum if certificate.noise == "zero-sum" else draw_counts)(exact, certificate)
        made = replace(draft.record, noisy=noisy)
    elif certificate.dimension > 1 or len(exact) > 1:
        made = replace(draft.record, noisy=draw_joint(exact, certificate))
        if made.group is not None:
            return made
    else:
        ((number,),) = exact
        made = replace(draft.record, noisy=(draw_single(number, certificate, squared=draft.squared),))
    return replace(made, notes=made.own_notes())


def take(drawn: Release, draft: Draft) -> Release:
    """The release of one member of a group from the whole vector that was drawn; of others what was drawn."""
    if draft.record.group is None:
        return drawn
    made = replace(draft.record, noisy=tuple(drawn.noisy[place] for place in draft.record.places))
    return replace(made, notes=made.own_notes())


def draw_single(number: Fraction, certificate: Certificate, *, squared: bool = False) -> Fraction:
    """claim:release-single. A number with noise of the certified law; with ``squared`` the root of the one given."""
    law = certificate.mechanism
    at = _root_index(law, number) if squared else law.locate(number)
    return law.value(law.draw(at, entropy_source()))


def _root_index(law: GridMechanism, square: Fraction) -> int:
    """⌊√square/step + ½⌋ = ⌊(⌊2√square/step⌋ + 1)/2⌋, on a grid from 0."""
    scaled = 4 * square / law.step**2
    return (isqrt(scaled.numerator // scaled.denominator) + 1) // 2


def draw_joint(vectors: Sequence[Sequence[Fraction]], certificate: Certificate) -> tuple[Fraction, ...]:
    """claim:release-joint. Vectors with noise of one norm, one after another."""
    law, entropy = certificate.grid, entropy_source()
    noisy = []
    for vector in vectors:
        if certificate.blocks:
            noise = polyhedral(law.scale, make_norm(certificate.blocks), entropy)
        else:
            noise = supnorm(law.scale, len(vector), entropy)
        noisy += [law.value(law.locate(x) + int(z)) for x, z in zip(vector, noise, strict=True)]
    return tuple(noisy)


def draw_zero_sum(counts: Integers, certificate: Certificate) -> tuple[Fraction, ...]:
    """claim:release-zero-sum. Counts of a table's cells with noise that adds up to nothing."""
    return _fractions(counts + zero_sum(certificate.grid.scale, counts.size, entropy_source()))


def draw_counts(counts: Integers, certificate: Certificate) -> tuple[Fraction, ...]:
    """claim:release-counts. Counts of a table's cells, each with noise of its own."""
    return _fractions(certificate.mechanism.draw_each(counts, entropy_source()))


def draw_levels(counts: Integers, laws: Sequence[Certificate]) -> tuple[Fraction, ...]:
    """claim:release-levels. Counts of the nodes of a tree, each with noise of the law of its level."""
    noisy = np.zeros_like(counts)
    for law in dict.fromkeys(laws):
        own = [node for node, one in enumerate(laws) if one == law]
        noisy[own] = law.mechanism.draw_each(counts[own], entropy_source())
    return _fractions(noisy)


def _fractions(noisy: Integers) -> tuple[Fraction, ...]:
    """Noisy counts as fractions, one object for all that are equal: of a million, few are different."""
    made: dict[int, Fraction] = {}
    blocks = (noisy[start : start + _BLOCK].tolist() for start in range(0, noisy.size, _BLOCK))
    return tuple(made[x] if x in made else made.setdefault(x, Fraction(x)) for block in blocks for x in block)


# Numbers that are made Python's own at a time.
_BLOCK = 65536


def _draw_in_turn(
    numbers: Sequence[Fraction], laws: Composition, bounds: Sequence[Bound], *, truncated: bool
) -> tuple[tuple[Fraction, ...], Composition, tuple[Bound, ...]]:
    """The elements of a matrix one by one: variances first; then, truncated, each covariance within what they allow.

    Clamped ones need no second step: clamping is post-processing and comes with the repair.
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
