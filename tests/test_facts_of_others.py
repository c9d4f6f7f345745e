"""Facts that the tests of diffprivlib and OpenDP, and two papers, state of mechanisms which we have, too.

Nothing is taken from them but the fact: each is written down anew, exactly where they simulate, with a control that
must fail. The revisions are 5d9c9d8 of diffprivlib and bc6e18b86 of OpenDP; docs/auditors.md has the list.
"""

from math import exp, inf, log

import mpmath
import numpy as np
import pytest

import inbounds as ib
from inbounds import sensitivity

KEPT = ("bit", "truncated")


def calibrated(bounding, width=1.0, move=1.0, epsilon=1.0):
    return ib.calibrate("laplace", bounding, bounds=(0, width), sensitivity=move, epsilon=epsilon)


# diffprivlib: LaplaceTruncated (which clamps) and LaplaceBoundedDomain (which renormalises)


@pytest.mark.parametrize("bounding", KEPT)
def test_the_bias_points_inwards(bounding):
    """bias(0) > 0 > bias(1), and a variance above 0."""
    law = calibrated(bounding)
    assert law.bias(0) > 0 > law.bias(1)
    assert law.variance(0) > 0
    assert law.bias(0.5) == pytest.approx(0, abs=1e-12)
    assert ib.Mechanism(law.noise, "unbounded", bounds=(0, 1)).bias(0) == 0


@pytest.mark.parametrize("bounding", KEPT)
def test_neighbours_are_told_apart_no_better_than_promised(bounding):
    """P(at most ½) at 0 is larger than at 1, by a factor of at most e^ε; theirs is a simulation with 0.1 to spare."""
    law = calibrated(bounding)
    low, high = float(law.cdf(0.5, at=0)), float(law.cdf(0.5, at=1))
    assert high < low <= exp(1) * high * (1 + 1e-12)
    less = ib.Mechanism(ib.Laplace(law.noise.scale / 3), bounding, bounds=(0, 1))
    assert less.cdf(0.5, at=0) > exp(1) * less.cdf(0.5, at=1)


@pytest.mark.parametrize("bounding", KEPT)
def test_the_median_of_the_middle_is_the_middle_and_all_is_within(bounding):
    law = calibrated(bounding)
    assert law.quantile(0.5, at=0.5) == pytest.approx(0.5)
    drawn = law.sample(0.5, 1000, rng=np.random.default_rng(1))
    assert drawn.min() >= 0
    assert drawn.max() <= 1
    free = ib.Mechanism(law.noise, "unbounded", bounds=(0, 1)).sample(0.5, 1000, rng=np.random.default_rng(1))
    assert free.min() < 0
    assert free.max() > 1


def test_truncation_is_free_where_one_record_spans_the_bounds():
    """Their effective ε is ε itself for (0, 1) and a sensitivity of 1, and no more than ε for (0, 10)."""
    whole = calibrated("truncated")
    assert whole.noise.scale == pytest.approx(1)
    assert ib.privacy_loss(whole, 1) == pytest.approx(1)
    wide = calibrated("truncated", width=10.0)
    assert ib.privacy_loss(wide, 1) == pytest.approx(1)
    assert ib.privacy_loss(ib.Mechanism(ib.Laplace(1), "truncated", bounds=(0, 10)), 1) > 1.4


@pytest.mark.parametrize("bounds", [(3, 1), ("0", "2")])
@pytest.mark.parametrize("bounding", KEPT)
def test_wrong_bounds_are_refused(bounds, bounding):
    with pytest.raises((TypeError, ValueError)):
        ib.calibrate("laplace", bounding, bounds=bounds, sensitivity=1, epsilon=1)


@pytest.mark.parametrize("epsilon", [1 + 2j, "Two", -1, float("nan")])
def test_wrong_epsilons_are_refused(epsilon):
    with pytest.raises((TypeError, ValueError)):
        ib.calibrate("laplace", "bit", bounds=(0, 1), sensitivity=1, epsilon=epsilon)


# OpenDP: what one record moves, what Laplace noise costs, and how far off it is


def test_sensitivities_of_sums_and_means():
    """The mean of 5 numbers within (0, 10): 2 for a substituted record. A sum of numbers within (1, 10): 9, or 10."""
    assert sensitivity.mean(bounds=(0, 10), n=5, neighbours="substitute") == 2
    assert sensitivity.sum((1, 10), neighbours="substitute") == 9
    assert sensitivity.sum((1, 10), neighbours="add-remove") == 10
    assert sensitivity.mean(bounds=(0, 10), n=6, neighbours="substitute") < 2


@pytest.mark.parametrize(("scale", "move", "loss"), [(1, 1, 1), (2, 1, 0.5), (1, 2, 2)])
def test_laplace_noise_costs_the_move_over_the_scale(scale, move, loss):
    law = ib.Mechanism(ib.Laplace(scale), "unbounded", bounds=(-inf, inf))
    assert ib.privacy_loss(law, move) == pytest.approx(loss, rel=1e-12)
    assert ib.privacy_loss(law, move * 1.01) > loss


@pytest.mark.parametrize(("scale", "alpha"), [(1.0, 0.05), (2.0, 0.05), (3.0, 0.1)])
def test_accuracy_of_laplace_noise(scale, alpha):
    """|noise| exceeds scale · ln(1/α) with probability α."""
    law = ib.Mechanism(ib.Laplace(scale), "unbounded", bounds=(-inf, inf))
    far = scale * log(1 / alpha)
    assert law.cdf(-far, at=0) + 1 - law.cdf(far, at=0) == pytest.approx(alpha)
    assert law.quantile(1 - alpha / 2, at=0) == pytest.approx(far)
    assert law.cdf(-0.9 * far, at=0) > alpha / 2 * 1.1


def test_accuracy_of_gaussian_noise():
    """1.96 standard deviations at α = 0.05."""
    law = ib.Mechanism(ib.Gaussian(1), "unbounded", bounds=(-inf, inf))
    assert law.quantile(0.975, at=0) == pytest.approx(float(mpmath.sqrt(2) * mpmath.erfinv("0.95")), rel=1e-9)


# Holohan et al., The bounded Laplace mechanism in differential privacy (2018)


def mass(s, scale, width):
    """C_q: the probability that Laplace noise at s stays within (0, width)."""
    return 1 - (mpmath.exp(-s / scale) + mpmath.exp(-(width - s) / scale)) / 2


def fixed_point(width, move, epsilon):
    """The scale b with b = Δ / (ε - log ΔC(b)), ΔC(b) = C_Δ(b) / C_0(b), for δ = 0, in 40 digits."""
    with mpmath.workdps(40):
        return mpmath.findroot(
            lambda b: epsilon - mpmath.log(mass(move, b, width) / mass(0, b, width)) - move / b,
            (mpmath.mpf(move) / epsilon, 3 * mpmath.mpf(move) / epsilon),
            solver="anderson",
        )


@pytest.mark.parametrize("epsilon", [0.1, 0.5, 1, 2, 5])
@pytest.mark.parametrize(("width", "move"), [(1, 0.01), (1, 0.1), (1, 0.5), (10, 1)])
def test_the_fixed_point_of_bounded_laplace_noise_is_the_least_scale(width, move, epsilon):
    """Their sufficient scale is necessary as well: it is what `calibrate` finds. Δ/ε alone is not private."""
    scale = float(fixed_point(width, move, epsilon))
    assert calibrated("truncated", width, move, epsilon).noise.scale == pytest.approx(scale, rel=1e-6)
    naive = ib.Mechanism(ib.Laplace(move / epsilon), "truncated", bounds=(0, width))
    assert ib.privacy_loss(naive, move) > epsilon * 1.001


# Chen and Hale, The bounded Gaussian mechanism for differential privacy (2022)


def gaussian_loss(width, move, scale):
    """The largest log ratio of two renormalised Gaussian densities on (0, width), over a grid of neighbours."""
    root = scale * np.sqrt(2)
    s = np.linspace(0, width - move, 401)
    at = np.array([float(mpmath.erf((width - x) / root) + mpmath.erf(x / root)) for x in s])
    moved = np.array([float(mpmath.erf((width - x - move) / root) + mpmath.erf((x + move) / root)) for x in s])
    x = np.array([[0.0], [width]])
    ratio = ((x - s - move) ** 2 - (x - s) ** 2) / (2 * scale**2) + np.log(moved / at)
    return float(np.abs(ratio).max())


@pytest.mark.parametrize("epsilon", [0.5, 1, 2])
@pytest.mark.parametrize(("width", "move"), [(1, 0.05), (1, 0.5), (4, 1)])
def test_renormalised_gaussian_noise_is_purely_private(width, move, epsilon):
    """On a bounded interval it has a finite ε without δ, and the least scale for it meets ε; less does not."""
    law = ib.calibrate("gaussian", "truncated", bounds=(0, width), sensitivity=move, epsilon=epsilon)
    assert gaussian_loss(width, move, law.noise.scale) == pytest.approx(epsilon, rel=1e-4)
    assert gaussian_loss(width, move, law.noise.scale * 0.99) > epsilon * 1.001
    assert ib.privacy_loss(ib.Mechanism(law.noise, "unbounded", bounds=(-inf, inf)), move) == inf
