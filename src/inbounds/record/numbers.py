"""Computations with the numbers of a record, of which many may be equal."""

from collections.abc import Callable, Sequence
from fractions import Fraction
from typing import TYPE_CHECKING, Any

import numpy as np

from inbounds._check import Array
from inbounds.derivations import Situation
from inbounds.errors import RecordError
from inbounds.privacy.certificate import Certificate
from inbounds.privacy.certified import Bound
from inbounds.record.selection import is_selection

if TYPE_CHECKING:
    from inbounds.record.release import Release


def clip(x: Fraction, bound: Bound) -> Fraction:
    """Clip a number to its bounds. A bound that is None is open."""
    lower, upper = bound
    x = x if lower is None else max(x, lower)
    return x if upper is None else min(x, upper)


def for_each(make: Callable[..., Any], *columns: Sequence[Any]) -> list[Any]:
    """Call ``make`` for each row of some columns, but only once for rows of the same objects, since few may differ."""
    results: dict[tuple[int, ...], Any] = {}
    result = []
    for row in zip(*columns, strict=True):
        # The columns keep their objects alive, so an id is unique here.
        key = tuple(map(id, row))
        if key not in results:
            results[key] = make(*row)
        result.append(results[key])
    return result


def find_ends(bounds: Sequence[Bound]) -> tuple[Array, Array]:
    """Lower and upper bounds in double precision, infinite on an open side."""

    def both(bound: Bound) -> tuple[float, float]:
        lower, upper = bound
        return -np.inf if lower is None else float(lower), np.inf if upper is None else float(upper)

    ends = np.array(for_each(both, bounds)).reshape(-1, 2)
    return ends[:, 0], ends[:, 1]


def find_numeric_ends(release: "Release") -> Array:
    """A row (lower, upper) for each numeric column, those of 0 and 1 for the levels of a regression included."""
    numeric = [(float(rule.lower or 0), float(rule.upper or 0)) for rule in release.columns if rule.step is not None]
    if release.statistic.traits.columns == "outcome":
        numeric += [(0.0, 1.0)] * sum(len(rule.cells) - 1 for rule in release.columns if rule.cells)
    return np.array(numeric).reshape(-1, 2)


def list_numeric_names(release: "Release") -> tuple[str, ...]:
    """The name of each of these columns."""
    names = tuple(rule.name for rule in release.columns if rule.step is not None)
    # The columns of levels are the last regressors.
    return names + release.axes[-1][len(names) :] if release.statistic.traits.columns == "outcome" else names


def find_situation(release: "Release", plausible: Any, size: int | None) -> Situation:
    """What is known before the release, for a plausible true value and ``size`` records."""
    several = release.derivation.of_sums and not release.places
    groups = max(len(release.units) // max(release.parts[0].dimension, 1), 1) if several else 1
    ends, limits, selected = release.numeric_ends(), release.limits(), is_selection(release.statistic)
    names, meaning = list_numeric_names(release), release.statistic.traits.meaning
    return Situation(
        plausible,
        size,
        ends,
        names,
        release.units,
        release.axes,
        groups,
        release.statistic.name,
        limits,
        meaning,
        selected,
        _find_waves(release),
    )


def _find_waves(release: "Release") -> tuple[int, int] | None:
    """How many groups the column has in which a person is counted several times, and in how many of them at most."""
    persons = release.terms.unit.persons
    if persons is None or persons.groups is None:
        return None
    column, most = persons.groups
    levels = next((len(rule.cells) for rule in release.columns if rule.name == column and rule.cells), None)
    return None if levels is None else (levels, most)


# claim:drawn-together
def check_together(release: "Release") -> None:
    """Refuse numbers each of which could have been drawn, but not all of them together.

    Zero-sum noise keeps the public number of rows. Several points of a group that depend on each other are in order.
    """
    law, way, noisy = release.certificate, release.derivation, release.noisy
    if isinstance(law, Certificate) and law.noise == "zero-sum" and sum(x.numerator for x in noisy) != release.rows:
        raise RecordError("its noisy counts do not add up to the number of rows, as those do that are drawn")
    if not way.fits_together(noisy):
        raise RecordError("its points are not in order, as those are that are drawn")


def multiply(x: Fraction | int, unit: Fraction | int) -> float:
    """The product of two numbers, rounded once: a quotient of integers is rounded correctly."""
    return (x.numerator * unit.numerator) / (x.denominator * unit.denominator)


def derive_values(release: "Release") -> Sequence[float | None]:
    """The numbers that are published, from those that were drawn; None for those that are not available."""
    if not release.released:
        raise ValueError("nothing has been released yet: this is the record of a preview")
    whole = release.statistic.traits.whole
    if release.derivation.single and release.derivation.plain:
        # Each number is rounded correctly.
        kind = int if whole else float
        return for_each(
            lambda x, unit, bound: kind(clip(x * unit, bound)), release.noisy, release.units, release.bounds
        )
    values = release.derivation.values(release.worth(), release.limits())
    if whole:
        return [round(x) for x in values.tolist()]
    hidden = release.unavailable()
    if not any(hidden):
        numbers: list[float] = values.tolist()
        return numbers
    return [None if gone else x for x, gone in zip(values.tolist(), hidden, strict=True)]
