"""Exponentials as rationals, for tests that compare with e^ε."""

from inbounds.grid.interval import exp_minus


def exp_lower(x):
    """A rational below e^x, for any rational x, by less than one part in 2^180."""
    return exp_minus(-x).lower if x <= 0 else 1 / exp_minus(x).upper
