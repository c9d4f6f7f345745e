"""The exact pure loss of discrete Laplace and staircase noise, as rationals and certified intervals.

With D the sensitivity in steps, N the steps between the bounds, T the scale in steps and q = e^(-1/T):

    BIT, unbounded, joint sup-norm    D/T, a rational
    the same with staircase noise     ⌈D/width⌉/T, with T in levels
    truncated                         D/T + log(1 + q Γ(D) Γ(N-D) / Γ(N+1)),   Γ(k) = 1 - q^k, 1 on an open side.
"""

from fractions import Fraction
from functools import lru_cache

from inbounds import _check
from inbounds.grid.interval import Interval, as_interval, exp_minus, log1p_interval, one_minus_exp
from inbounds.grid.scale import Scale
from inbounds.laws.bounding import BOUNDINGS


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
