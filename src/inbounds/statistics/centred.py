"""Variances around a noisy centre: when they have less error than other variances, and how they are drafted.

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
from inbounds.privacy.certified import Bound, norm_law, open_law
from inbounds.privacy.norms import Block
from inbounds.privacy.terms import Terms
from inbounds.record.draft import Draft
from inbounds.record.statistic import Statistic
from inbounds.statistics.drafts import make_draft
from inbounds.tables.centred import CentredSquares
from inbounds.tables.schema import Numeric, Quantised, quantise_column

# For each N and above: the share of ε for the centre, and the variance of the noise relative to that of a variance from
# moments, both rounded. Below the second N, a variance from moments is as good.
_SHARES = tuple(
    (Fraction(n), Fraction(share), Fraction(ratio))
    for n, share, ratio in (
        (0, "0.25", "1"),
        (500, "0.17", "1"),
        (1000, "0.14", "0.9"),
        (2500, "0.1", "0.81"),
        (5000, "0.08", "0.77"),
        (10_000, "0.06", "0.73"),
        (50_000, "0.035", "0.69"),
        (1_000_000, "0.015", "0.66"),
    )
)
# From this N on a centred variance is the default.
_LEAST = 500
# Steps of a column whose records are counted step by step.
_STEPS = 1 << 14


def _strength(terms: Terms) -> Fraction:
    """N = nε for one record."""
    assert terms.rows is not None
    return terms.rows * terms.epsilon / terms.unit.contributions


def is_better(terms: Terms) -> bool:
    """Whether a centred variance has less error than one from moments, as far as public numbers say."""
    return terms.rows is not None and _strength(terms) >= _LEAST


def find_share(terms: Terms) -> Fraction:
    """The share of ε that the centre is drawn with."""
    return next(share for n, share, _ in reversed(_SHARES) if _strength(terms) >= n)


def compare_alone(terms: Terms) -> Fraction:
    """The variance of the noise of a variance that is drawn alone, as a share of that of one from moments."""
    if not is_better(terms):
        return Fraction(1)
    return next(ratio for n, _, ratio in reversed(_SHARES) if _strength(terms) >= n)


def noise_at(mean: float, terms: Terms) -> float:
    """The variance of the noise times ε² for a mean in half-widths from the middle; direct noise has 32 or less.

    With several records of a person it is in units of the square of their number.
    """
    epsilon, share = float(terms.epsilon), float(find_share(terms))
    rest = least_variance((1 - share) * epsilon) * epsilon**2
    return (1 + abs(mean)) ** 4 * rest + 320 / share**4 / float(_strength(terms)) ** 2


def quantise_in_cells(column: Numeric) -> Quantised:
    """A column in so few steps that the records of each can be counted; rounding is at most 1/16,384 of its bounds.

    Whole numbers stay as they are, if the bounds are at most four times that many steps apart.
    """
    if column.integer and column.width > 4 * _STEPS:
        raise ValueError(
            f"method='robust' counts whole numbers of {column.name!r} one by one, and its bounds are more than "
            f"{4 * _STEPS:,} apart; leave out integer"
        )
    quantised = quantise_column(column, resolution=_STEPS)
    return quantised if quantised.count <= 4 * _STEPS else Quantised(column, _STEPS)


def draft_centred(
    statistic: Statistic,
    terms: Terms,
    column: Quantised,
    bounds: Sequence[Bound],
    *,
    root: bool = False,
    fourth: bool = False,
) -> Draft:
    """Draft a variance from numbers that are drawn one after the other, each with its share of ε.

    With ``fourth`` the sum of fourth powers is drawn with that of squares, whose noise stays the same.
    """
    assert terms.rows is not None
    share, numbers = find_share(terms), CentredSquares(column, terms.rows, fourth)
    moves = [sensitivity * terms.unit.contributions for sensitivity in numbers.sensitivities]
    rest = (1 - share) * terms.epsilon
    laws = [open_law(statistic.name, terms, moves[0], share * terms.epsilon)]
    if fourth:
        laws.append(norm_law(statistic.name, terms, moves[1], (str(Block("mean moments", 1)),), epsilon=rest))
    else:
        laws.append(open_law(statistic.name, terms, moves[1], rest))
    surplus = float(continuous(laws[0], numbers.units[0]).mse(0.0)) / terms.rows
    return make_draft(
        statistic,
        terms,
        CentredSpread(terms.rows, float(f"{surplus:.12g}"), root=root, fourth=fourth),
        compose(laws, terms.epsilon),
        numbers.request,
        lambda cells: [[numbers.first(cells)]],
        bounds=bounds,
        columns=[column],
        units=numbers.units,
        second=numbers.second,
    )
