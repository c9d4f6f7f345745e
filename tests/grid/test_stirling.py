"""What Stirling's series leaves out lies within its next term, on the side of its sign."""

from fractions import Fraction

import mpmath as mp
import pytest

from inbounds.grid import stirling
from inbounds.grid.stirling import log_factorial


@pytest.mark.claim("log-factorial")
@pytest.mark.parametrize("bits", [4, 14, 25, 35, 60, 70])
@pytest.mark.parametrize("n", [64, 65, 100, 777])
def test_what_the_series_leaves_out_is_enclosed(n, bits, monkeypatch):
    """With a rest that is far larger than all that is lost by rounding: both ends are those of the next term."""
    monkeypatch.setattr(stirling, "_REST", Fraction(1, 1 << bits))
    with mp.workdps(120):
        found, true = log_factorial(n), mp.loggamma(n + 1) - mp.log(2 * mp.pi) / 2
        low, high = (mp.mpf(end.numerator) / end.denominator for end in (found.lower, found.upper))
        # The terms that are taken, and the first that is not.
        terms = [mp.bernoulli(2 * k) / (2 * k * (2 * k - 1) * mp.mpf(n) ** (2 * k - 1)) for k in range(1, 30)]
        left = next(k for k, term in enumerate(terms) if abs(term) <= mp.mpf(2) ** -bits)
        taken = (n + mp.mpf(1) / 2) * mp.log(n) - n + mp.fsum(terms[:left])
        lost = mp.mpf(10) ** -60
        assert low < true < high
        assert abs(low - (taken + min(terms[left], 0))) < lost
        assert abs(high - (taken + max(terms[left], 0))) < lost


def test_both_signs_are_tried():
    signs = {(64, 4): 1, (64, 14): -1}
    for (n, bits), sign in signs.items():
        terms = [mp.bernoulli(2 * k) / (2 * k * (2 * k - 1) * mp.mpf(n) ** (2 * k - 1)) for k in range(1, 30)]
        assert mp.sign(next(term for term in terms if abs(term) <= mp.mpf(2) ** -bits)) == sign
