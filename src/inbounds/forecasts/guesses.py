"""Read what a user states as plausible, as the forecast of a release needs it, and refuse what cannot be read.

A forecast reads its statement with these functions, and a plan is checked with them before anything is spent.
"""

from dataclasses import replace
from fractions import Fraction

from inbounds.derivations import plausible
from inbounds.derivations.truths import of_one_number
from inbounds.forecasts.wanted import Wanted
from inbounds.laws import Mechanism
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
    if not way.knows_error(record.certificate):
        way.check_plausible(situation)
    elif not way.single:
        span_with_square(wanted, record)
    elif record.axes:
        plausible_cells(wanted, record)
    else:
        span_of_number(wanted, record)


def span_of_number(wanted: Wanted, record: Release) -> tuple[float, float]:
    """The plausible range of one released number. An open side ends where noise from the other end does not reach."""
    (bounds,) = record.limits_of_coordinates()
    far = 40 * float(record.mechanism.spread * record.mechanism.step)
    statement = of_one_number(record.situation(wanted.guess, wanted.size))
    return plausible.span(statement, *record.derivation.span(*bounds), far)


def law_with_square(record: Release) -> Mechanism:
    """The law of a mean whose sum is drawn with the sum of its squares."""
    law = record.derivation.law(replace(record, noisy=record.units).coordinates())
    assert law is not None
    return law


def span_with_square(wanted: Wanted, record: Release) -> tuple[float, float]:
    """The plausible range of a mean whose sum is drawn with the sum of its squares."""
    bounds = law_with_square(record).bounds
    return plausible.span(of_one_number(record.situation(wanted.guess, wanted.size)), *bounds)


def plausible_cells(wanted: Wanted, record: Release) -> tuple[Fraction, ...]:
    """The plausible counts of cells with independent noise."""
    size = wanted.size if wanted.size is not None else record.denominator
    return record.derivation.plausible(record.situation(wanted.plausible, size))
