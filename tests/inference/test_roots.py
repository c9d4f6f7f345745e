"""Roots: against SciPy's, on functions with flat parts, steps and steep ends."""

import math

import pytest
from scipy import optimize

from inbounds.inference.roots import bracket_root

FUNCTIONS = {
    "cubic": (lambda x: x**3 - 2, 0.0, 2.0),
    "flat": (lambda x: (x - 0.3) ** 9, -1.0, 4.0),
    "steep": (lambda x: math.tanh(1e6 * (x - 0.123)), -5.0, 7.0),
    "step": (lambda x: -1.0 if x < 0.7 else 2.0, 0.0, 1.0),
    "falling": (lambda x: math.exp(-x) - 0.01, 0.0, 30.0),
    "far from zero": (lambda x: x - 1e8 - 1 / 3, 0.0, 1e9),
    "at an end": (lambda x: x, 0.0, 1.0),
}


@pytest.mark.parametrize("name", FUNCTIONS)
def test_a_bracket_holds_the_root(name):
    function, low, high = FUNCTIONS[name]
    calls = []

    def counted(x):
        calls.append(x)
        return function(x)

    below, above = bracket_root(counted, low, high, 1e-12)
    assert low <= below <= above <= high
    assert above - below <= max(1e-12, 1e-15 * abs(above))
    assert function(below) * function(above) <= 0
    if name != "flat":
        theirs = optimize.brentq(function, low, high, xtol=1e-13)
        assert below - 1e-11 <= theirs <= above + 1e-11 or abs(theirs - below) <= 1e-15 * abs(theirs)
    # Bisection would take 45 for most of these.
    assert len(calls) <= 60
