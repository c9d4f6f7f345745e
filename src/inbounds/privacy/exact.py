"""Exact privacy on a grid: losses as rationals and certified intervals, scales rounded to more noise.

With D the sensitivity in steps, N the steps between the bounds, T the scale in steps and q = e^(-1/T):

    BIT, unbounded, joint sup-norm    D/T, a rational
    the same with staircase noise     ⌈D/width⌉/T, with T in levels
    truncated                         D/T + log(1 + q Γ(D) Γ(N-D) / Γ(N+1)),   Γ(k) = 1 - q^k, 1 on an open side.
"""

from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from typing import Literal

from inbounds import _check
from inbounds.grid.interval import Interval, as_interval, exp_minus, log1p_interval, one_minus_exp
from inbounds.grid.law import GridMechanism
from inbounds.grid.scale import LARGEST_EXPONENT, LARGEST_INDEX, LOG_PIECES, Scale
from inbounds.laws.bounding import BOUNDINGS
from inbounds.privacy.guarantee import LOCATIONS
from inbounds.privacy.guess import guess_divisor, last_that_holds

# With a scale of this many steps, rounding to the grid does not matter.
_FINE = 1 << 20
# If a sensitivity must be rounded up, steps are chosen so that this costs at most this share of ε.
_ROUNDING = Fraction(1, 1 << 20)


# claim:grid-loss
def exact_loss(bounding: str, scale: Scale, move: int, span: int | None, *, width: int = 1) -> Interval:
    """The privacy loss at a sensitivity of ``move`` steps, certified; a rational for BIT.

    ``span`` is the number of steps between the bounds, None with an open side. For BIT and unbounded noise the location
    may lie anywhere. Truncated noise takes a location outside as the bound next to it, so its move counts up to the
    span. ``width`` is that of the levels of staircase noise, which is not truncated.
    """
    _check.choice(bounding, "bounding", BOUNDINGS)
    move = _check.integer(move, "sensitivity in steps", least=1)
    span = None if span is None else _check.integer(span, "span", least=1)
    unit = 1 / scale.steps
    if bounding != "truncated":
        return as_interval(-(-move // width) * unit)
    return _truncated_loss(unit, move if span is None else min(move, span), span)


def _enclose_truncated_loss(unit: Fraction, move: int, span: int | None) -> Interval:
    rest = as_interval(1) if span is None else one_minus_exp((span - move) * unit)
    whole = as_interval(1) if span is None else one_minus_exp((span + 1) * unit)
    inflation = exp_minus(unit) * one_minus_exp(move * unit) * rest / whole
    return move * unit + log1p_interval(inflation)


# All arguments are public, so results may be cached.
_truncated_loss = lru_cache(maxsize=4096)(_enclose_truncated_loss)


# claim:grid-calibrate
def calibrate_scale(bounding: str, move: int, span: int | None, epsilon: Fraction) -> Scale:
    """The least scale 2^a/d, of 33 bits or so, whose exact loss is at most ε.

    The loss is less than ε by no more than 2^-19 of it. For truncated noise d is the largest whole number that is
    private, which two losses prove: those of d and of d + 1.
    """
    _check.choice(bounding, "bounding", BOUNDINGS)
    epsilon = _check.rational(epsilon, "epsilon")
    if not epsilon > 0:
        raise ValueError(f"epsilon must be > 0, got {epsilon}")
    move = _check.integer(move, "sensitivity in steps", least=1)
    span = None if span is None else _check.integer(span, "span", least=1)
    return _find_scale(bounding, move, span, epsilon)


def _search_scale(bounding: str, move: int, span: int | None, epsilon: Fraction) -> Scale:
    """The least scale, for arguments that are already checked."""
    if bounding == "truncated" and span is not None:
        move = min(move, span)
    least = Scale.at_least(move / epsilon)
    if bounding != "truncated":
        return least
    # A divisor of 33 bits, where there is room for one. Truncation costs at most twice as much as BIT, so half of the
    # divisor for BIT is private.
    finer = min(LARGEST_EXPONENT - least.exponent, max(0, 33 - least.divisor.bit_length()))
    exponent, high = least.exponent + finer, least.divisor << finer
    low = high // 2

    def private(divisor: int) -> bool:
        return exact_loss(bounding, Scale(exponent, divisor), move, span).upper <= epsilon

    guess = guess_divisor(low, high, exponent, move, span, epsilon)
    if not (private(guess) and not private(guess + 1)):
        if private(high):
            return least
        if not private(low):
            raise ValueError("epsilon is too small for so fine a grid; use a coarser step or a larger epsilon")
        guess = last_that_holds(low, high, private)
    low = guess
    while low % 2 == 0 and exponent > LOG_PIECES:
        exponent, low = exponent - 1, low // 2
    return Scale(exponent, low)


_find_scale = lru_cache(maxsize=1024)(_search_scale)


@dataclass(frozen=True, slots=True)
class Grid:
    """A step, the indices of the bounds, and the sensitivity in steps."""

    step: Fraction
    first: int | None
    last: int | None
    origin: Fraction
    move: int


def choose_grid(
    lower: Fraction | None,
    upper: Fraction | None,
    sensitivity: Fraction,
    epsilon: Fraction,
    *,
    step: Fraction | None = None,
    location: Literal["inside", "anywhere"] = "inside",
) -> Grid:
    """A grid on which a statistic can be released: its ends are the bounds, exactly.

    With ``step`` given (counts: 1) it is used. Otherwise the step divides both the width and the sensitivity, so that
    rounding costs nothing, and is fine enough for a scale of a million steps; where no such step fits 60 bits,
    rounding the sensitivity up costs about 2^-20 of ε (up to 2^-10 of it for ε below 3e-5).

    With ``location="inside"`` the true value lies within the bounds, as a statistic lies within its own, and a
    sensitivity above the width counts as the width. A value that may lie anywhere (a covariance within bounds that
    follow from released variances) has no such cap.
    """
    _check.choice(location, "location", LOCATIONS)
    lower = None if lower is None else _check.rational(lower, "lower")
    upper = None if upper is None else _check.rational(upper, "upper")
    sensitivity, epsilon = _check.rational(sensitivity, "sensitivity"), _check.rational(epsilon, "epsilon")
    step = None if step is None else _check.rational(step, "step")
    if not sensitivity > 0:
        raise ValueError(f"sensitivity must be > 0, got {sensitivity}")
    if not epsilon > 0:
        raise ValueError(f"epsilon must be > 0, got {epsilon}")
    if lower is not None and upper is not None and not lower < upper:
        raise ValueError(f"bounds must satisfy lower < upper, got ({lower}, {upper})")
    width = None if lower is None or upper is None else upper - lower
    if width is not None and location == "inside":
        sensitivity = min(sensitivity, width)
    if step is None:
        step = _fine_step(width, sensitivity, epsilon)
    elif not step > 0:
        raise ValueError(f"step must be > 0, got {step}")
    move = -(-sensitivity // step)
    origin = lower if lower is not None else upper if upper is not None else Fraction(0)
    span = None if width is None else width / step
    if span is not None and span.denominator != 1:
        raise ValueError(f"step {step} does not divide the bounds' width {width}")
    if span is not None and span > LARGEST_INDEX:
        raise ValueError(f"the bounds are {span} steps apart, more than 2^60: use a coarser step")
    first = None if lower is None else 0
    last = None if upper is None else 0 if span is None else int(span)
    return Grid(step, first, last, origin, move)


def _fine_step(width: Fraction | None, sensitivity: Fraction, epsilon: Fraction) -> Fraction:
    target = -(-_FINE * epsilon // 1)  # sensitivity in steps for a scale of 2^20 steps
    if width is None:
        # A sum over 2^31 records must fit an index.
        return sensitivity / min(target, 1 << 28)
    ratio = width / sensitivity  # = p/q: p j steps for the width are q j steps for the sensitivity
    times = -(-target // ratio.denominator)
    if ratio.numerator * times <= LARGEST_INDEX and ratio.denominator * times / epsilon < 1 << (LARGEST_EXPONENT - 20):
        return width / (ratio.numerator * times)
    # Rounded: the sensitivity takes 2^20 steps or a few more, rounded up; fewer for an ε so small that its scale would
    # not fit. Then rounding costs more, up to 2^-10.
    parts = min(1 / _ROUNDING, epsilon * (1 << (LARGEST_EXPONENT - 21)))
    if parts < 1 << 10:
        raise ValueError(
            "epsilon is too small for any grid here: use a larger one, or bounds whose ratio to the sensitivity is a "
            "simpler fraction"
        )
    span = -int(-ratio * parts // 1)
    if not 1 <= span <= LARGEST_INDEX:
        raise ValueError(
            f"no grid of at most 2^60 steps resolves a sensitivity of 1/{int(ratio)} of the bounds' width; "
            "use narrower bounds"
        )
    return width / span


def grid_mechanism(bounding: str, grid: Grid, epsilon: Fraction) -> GridMechanism:
    """The mechanism with the least noise on a grid that keeps ε."""
    span = None if grid.first is None or grid.last is None else grid.last - grid.first
    scale = calibrate_scale(bounding, grid.move, span, epsilon)
    return GridMechanism(bounding, scale, grid.first, grid.last, grid.step, grid.origin)
