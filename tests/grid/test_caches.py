"""Caches of samplers hold functions of public numbers alone: not what was drawn, nor what noise is added to."""

from fractions import Fraction

import numpy as np
import pytest

from inbounds.grid.entropy import SeededEntropy
from inbounds.grid.joint import zero_sum
from inbounds.grid.polyhedral import polyhedral
from inbounds.grid.scale import Scale
from inbounds.grid.stirling import log_factorial
from inbounds.grid.together import draw_together
from inbounds.privacy.norms import make_norm
from tests import leftovers

NORM = make_norm(("moments 2",))
SHARES = [Fraction(1, 4), Fraction(1, 2)]


def draw_from(counts):
    return lambda seed: draw_together(np.array(counts), SHARES, Fraction(2), 1 << 31, SeededEntropy(seed))


DRAWS = {
    "polyhedral": [lambda seed: polyhedral(Scale.at_least(Fraction(3)), NORM, SeededEntropy(seed))] * 2,
    "zero-sum": [lambda seed: zero_sum(Scale.at_least(Fraction(3)), 200, SeededEntropy(seed))] * 2,
    "factorials": [lambda _: log_factorial(70), lambda _: log_factorial(10**9)],
    "quantiles": [draw_from([3, 5, 9]), draw_from([30, 51, 90])],
    "as many, elsewhere": [draw_from([3, 5, 9]), draw_from([9, 4, 4])],
}


@pytest.mark.parametrize("draws", DRAWS.values(), ids=DRAWS)
def test_caches_hold_the_same_whatever_was_drawn(draws):
    """Other noise, other numbers of records, other places of them."""
    first, second = draws
    found = leftovers.contents_after(lambda: first(1))
    assert all(leftovers.contents_after(lambda s=seed: second(s)) == found for seed in range(2, 22))
