"""Variances around a noisy centre: when they have less error than others, and how they are drafted.

Let N = nε, m the mean in half-widths from the middle of the bounds, and ρ the share of ε that the centre is drawn with.
In units in which noise on the variance itself has the variance 32, a centred one has 2(1 + |m|)⁴/(1 - ρ)² + 320/(ρ⁴N²).
One from moments has 3.54 + 47.9 m². If m is spread evenly over the bounds, that is 12.4/(1 - ρ)² + 320/(ρ⁴N²) on
average, beside 19.5.
"""

from collections.abc import Sequence
from fractions import Fraction

from inbounds.derivations import CentredSpread
from inbounds.expected import continuous
from inbounds.laws import least_variance
from inbounds.privacy.certificate import compose
from inbounds.privacy.certified import Bound, open_law
from inbounds.privacy.terms import Terms
from inbounds.record.draft import Draft
from inbounds.record.statistic import Statistic
from inbounds.statistics.drafts import make_draft
from inbounds.tables.coordinates import CentredSquares
from inbounds.tables.schema import Quantised

# From an N on: the share of ε for the centre, and the variance of the noise in those of a variance from moments, both
# rounded. Below the second N one from moments is as good.
_SHARES = tuple(
    (Fraction(n), Fraction(share), Fraction(ratio))
    for n, share, ratio in (
        (0, "0.25", "1"),
        (500, "0.18", "1"),
        (1000, "0.14", "0.9"),
        (2500, "0.1", "0.81"),
        (5000, "0.08", "0.77"),
        (10_000, "0.06", "0.73"),
        (50_000, "0.035", "0.69"),
        (1_000_000, "0.015", "0.66"),
    )
)
# From these N on a centred variance is the default. From ε = 1 on one number may have staircase noise, which moments
# do not have.
_LEAST, _LEAST_WITH_STAIRS = 1000, 500


def _strength(terms: Terms) -> Fraction:
    """N = nε for one record."""
    assert terms.rows is not None
    return terms.rows * terms.epsilon / terms.unit.contributions


def is_better(terms: Terms) -> bool:
    """Whether a centred variance has less error than one from moments, as far as public numbers say."""
    large = terms.epsilon >= terms.unit.contributions
    return terms.rows is not None and _strength(terms) >= (_LEAST_WITH_STAIRS if large else _LEAST)


def find_share(terms: Terms) -> Fraction:
    """The share of ε that the centre is drawn with."""
    return next(share for n, share, _ in reversed(_SHARES) if _strength(terms) >= n)


def compare_alone(terms: Terms) -> Fraction:
    """The variance of the noise of a variance that is drawn alone, as a share of that of one from moments."""
    if not is_better(terms):
        return Fraction(1)
    return next(ratio for n, _, ratio in reversed(_SHARES) if _strength(terms) >= n)


def noise_at(mean: float, terms: Terms) -> float:
    """The variance of the noise times ε² for a mean in half-widths from the middle; direct noise has 32 or less."""
    spent, share = float(terms.epsilon / terms.unit.contributions), float(find_share(terms))
    rest = least_variance((1 - share) * spent) * spent**2
    return (1 + abs(mean)) ** 4 * rest + 320 / share**4 / float(_strength(terms)) ** 2


def draft_centred(
    statistic: Statistic, terms: Terms, column: Quantised, bounds: Sequence[Bound], *, root: bool = False
) -> Draft:
    """Draft a variance from two numbers that are drawn one after the other, each with its share of ε."""
    assert terms.rows is not None
    share, numbers = find_share(terms), CentredSquares(column, terms.rows)
    moved = [one * terms.unit.contributions for one in numbers.sensitivities]
    spent = share * terms.epsilon, (1 - share) * terms.epsilon
    laws = [open_law(statistic.name, terms, most, own) for most, own in zip(moved, spent, strict=True)]
    surplus = float(continuous(laws[0], numbers.units[0]).mse(0.0)) / terms.rows
    return make_draft(
        statistic,
        terms,
        CentredSpread(terms.rows, float(f"{surplus:.12g}"), root=root),
        compose(laws, terms.epsilon),
        numbers.request,
        lambda cells: [[numbers.first(cells)]],
        bounds=bounds,
        columns=[column],
        units=numbers.units,
        second=numbers.second,
    )
