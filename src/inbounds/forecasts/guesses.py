"""Read what a user states as plausible, as the forecast of a release needs it, and refuse what cannot be read.

A forecast reads its statement with these functions, and a plan is checked with them before anything is spent.
"""

from dataclasses import replace
from fractions import Fraction

from inbounds.derivations import Direct, MeanOfMoments, Points, plausible
from inbounds.derivations.truths import of_one_number
from inbounds.forecasts.wanted import Wanted
from inbounds.record.release import Release


# claim:one-checker
def check_guess(wanted: Wanted, record: Release) -> None:
    """Refuse a plausible truth that the forecast of this release cannot use. Nothing is simulated.

    Raises
    ------
    TypeError, ValueError
        With what ``plausible`` must be for this statistic.
    """
    way = record.derivation
    situation = record.situation(wanted.guess, wanted.size)
    if isinstance(way, Points):
        way.find_truths(situation)
    elif isinstance(way, MeanOfMoments) and way.knows_error(record.certificate):
        span_with_square(wanted, record, way)
    elif not isinstance(way, Direct):
        way.assume(situation)
        way.plausible(situation)
    elif record.axes:
        plausible_cells(wanted, record)
    else:
        span_of_number(wanted, record, way)


def span_of_number(wanted: Wanted, record: Release, way: Direct) -> tuple[float, float]:
    """The plausible range of one released number. An open side ends where noise from the other end does not reach."""
    (bounds,) = record.limits_of_coordinates()
    far = 40 * float(record.mechanism.spread * record.mechanism.step)
    statement = of_one_number(record.situation(wanted.guess, wanted.size))
    return plausible.span(statement, *way.span(*bounds), far)


def span_with_square(wanted: Wanted, record: Release, way: MeanOfMoments) -> tuple[float, float]:
    """The plausible range of a mean whose sum is drawn with the sum of its squares."""
    law = way.law(replace(record, noisy=record.units).coordinates())
    return plausible.span(of_one_number(record.situation(wanted.guess, wanted.size)), *law.bounds)


def plausible_cells(wanted: Wanted, record: Release) -> tuple[Fraction, ...]:
    """The plausible counts of cells with independent noise."""
    size = wanted.size if wanted.size is not None else record.denominator
    return record.derivation.plausible(record.situation(wanted.plausible, size))
