"""Laws of noisy means and variances against other ways to compute them, and simulated pieces against known laws."""

import itertools
import math

import numpy as np
import pytest
from scipy import integrate, stats

import inbounds as ib
from inbounds.expected import truncated_laplace
from inbounds.inference import simulated
from inbounds.inference.inversion import interval
from inbounds.inference.laws import DiscreteLaplace, Laplace, Law, SupNorm
from inbounds.inference.numbers import ChiSquare, Integrated, NoiseOnly, NormalMixture, noise_only


@pytest.mark.claim("sup-norm-marginal")
@pytest.mark.parametrize("dimension", [1, 2, 3, 10, 55])
def test_one_coordinate_of_sup_norm_noise(dimension):
    """Given the radius it is uniform: an integral over the gamma law of the radius."""
    noise, radius = SupNorm(1.7, dimension), stats.gamma(dimension + 1, scale=1.7)
    for t in (0.0, 0.4, 3.0, 20.0, 60.0):
        tail, _ = integrate.quad(
            lambda r, t=t: radius.pdf(r) * (r - t) / (2 * r), t, t + 400, limit=400, epsabs=1e-13, epsrel=1e-11
        )
        assert 1 - noise.cdf(t) == pytest.approx(tail, abs=1e-10)
        assert noise.cdf(-t) == pytest.approx(tail, abs=1e-10)
    width = 1e-4
    slope = (noise.cdf(2.0 + width) - noise.cdf(2.0 - width)) / (2 * width)
    assert noise.density(2.0) == pytest.approx(slope, rel=1e-6)
    assert noise.cdf(-noise.reach) < 1e-15


def test_sup_norm_noise_of_one_dimension_is_laplace():
    t = np.linspace(-5, 5, 21)
    assert SupNorm(0.6, 1).cdf(t) == pytest.approx(stats.laplace(scale=0.6).cdf(t), abs=1e-15)


FREEDOMS, SCALES = [1, 2, 5, 40, 999], [1e-4, 0.02, 0.4, 8.0]
# Every freedom with every scale, truncated or clamped, of a variance or of its root: in turn, so that all pairs meet.
VARIANCES = [
    (freedom, scale, root, (i + j + root) % 2 == 0)
    for i, freedom in enumerate(FREEDOMS)
    for j, scale in enumerate(SCALES)
    for root in (False, True)
]


@pytest.mark.parametrize(("freedom", "scale", "root", "truncated"), VARIANCES)
def test_a_noisy_variance_of_normal_records(freedom, scale, root, truncated):
    """The same probability as an integral over u of the quantiles of the chi-squared law."""
    law = Law(Laplace(scale), 0.0, 9.0, (0.0, 9.0) if truncated else None)
    family = Integrated(ChiSquare(freedom, root), law, 0.0, 9.0)
    chi, theta = stats.chi2(freedom), 1.3

    def at(u):
        square = theta ** (2 if root else 1) * chi.ppf(u) / freedom
        return math.sqrt(square) if root else square

    for y in (0.0, 0.3, 1.3, 2.5):
        kink = float(chi.cdf(freedom * (y / theta) ** (2 if root else 1)))
        pieces = [1e-12, max(kink - 0.05, 1e-11), kink, min(kink + 0.05, 1 - 1e-11), 1 - 1e-12]
        pieces = sorted(set(pieces))
        expected = sum(
            integrate.quad(lambda u, y=y: float(law.inside(y, at(u))), a, b, limit=200, epsabs=1e-9)[0]
            for a, b in itertools.pairwise(pieces)
        )
        assert family.at_most(y, theta) == pytest.approx(expected, abs=2e-6)


def test_a_noisy_mean_with_an_uncertain_standard_error():
    law = Law(Laplace(0.05), 0.0, 1.0)
    family = Integrated(NormalMixture((0.004, 0.1), (0.25, 0.75)), law, 0.0, 1.0)
    for y in (0.0, 0.2, 0.31, 0.8):
        expected = 0.0
        for spread, weight in ((0.004, 0.25), (0.1, 0.75)):
            normal = stats.norm(0.3, spread)
            value, _ = integrate.quad(
                lambda s, y=y, normal=normal: normal.pdf(s) * float(law.inside(y, s)),
                0.3 - 9 * spread,
                0.3 + 9 * spread,
                points=[0.3, min(max(y, 0.3 - 8 * spread), 0.3 + 8 * spread)],
                epsabs=1e-11,
            )
            expected += weight * value
        assert family.at_most(y, 0.3) == pytest.approx(expected, abs=1e-8)


@pytest.mark.parametrize("truncated", [False, True])
@pytest.mark.parametrize("scale", [0.01, 0.1, 1.0, 30.0])
def test_noise_alone_is_covered_exactly(scale, truncated):
    """For each true value the probability of all released values whose interval has it, on a fine grid."""
    law = Law(Laplace(scale), 0.0, 1.0, (0.0, 1.0) if truncated else None)
    y = np.concatenate([[0.0], (np.arange(2000) + 0.5) / 2000, [1.0]])
    made = np.array([interval(noise_only(law, v, 0.0, 1.0), v, 0.05) for v in y])
    assert (made[:, 0] >= 0).all()
    assert (made[:, 1] <= 1).all()
    edges = np.concatenate([[-1], np.arange(2001) / 2000, [2]])
    for s in (0.0, 0.003, 0.05, 0.31, 0.5, 0.98, 1.0):
        inside = (made[:, 0] <= s) & (s <= made[:, 1])
        cdf = np.array([float(law.at_most(e, s)) for e in edges])
        cdf[-2] = float(law.below(1.0, s))
        # Cells where coverage ends count as not covered: at most two, of 1/2000 each.
        mass = np.diff(cdf)
        assert mass[inside].sum() >= 0.95 - 2 * mass[1:-1].max()


def test_noise_alone_in_the_open_is_a_plain_quantile():
    law = Law(Laplace(2.0))
    lower, upper = interval(noise_only(law, 10.0, -math.inf, math.inf), 10.0, 0.05)
    assert (lower, upper) == pytest.approx((10 - 2 * math.log(20), 10 + 2 * math.log(20)), abs=1e-9)
    assert isinstance(noise_only(law, 0.0, -1.0, 1.0), NoiseOnly)


@pytest.mark.claim("bartlett")
def test_simulated_scatter_has_the_moments_of_a_wishart_matrix():
    freedom, (v, w), rho = 60, (4.0, 0.25), -0.6
    first, cross, second = simulated.Scatter.draw(freedom, np.random.default_rng(0), sampled=True).at((v, w), rho)
    c = rho * math.sqrt(v * w)
    known = {
        "mean": [(first.mean(), v), (cross.mean(), c), (second.mean(), w)],
        "variance": [
            (first.var(), 2 * v**2 / freedom),
            (cross.var(), (v * w + c**2) / freedom),
            (second.var(), 2 * w**2 / freedom),
        ],
        "covariance": [
            (np.cov(first, cross)[0, 1], 2 * v * c / freedom),
            (np.cov(first, second)[0, 1], 2 * c**2 / freedom),
        ],
    }
    for kind, pairs in known.items():
        for found, expected in pairs:
            assert found == pytest.approx(expected, rel=0.02 if kind == "mean" else 0.12)
    still = simulated.Scatter.draw(freedom, np.random.default_rng(0), sampled=False).at((v, w), rho)
    assert [x.std() for x in still] == pytest.approx([0, 0, 0], abs=1e-12)
    assert [x[0] for x in still] == pytest.approx([v, c, w])


@pytest.mark.claim("fieller")
@pytest.mark.parametrize("sampled", [True, False])
@pytest.mark.parametrize(
    ("size", "mean", "scale"), [(1000, 0.3, 4.0), (60, -0.9, 4.0), (25, 0.0, 10.0), (40, 0.95, 2.0)]
)
def test_means_from_noisy_sums_and_counts_are_covered(size, mean, scale, sampled):
    """Records at the bounds, the largest variance: 1,000 seeded releases; 0.95 less five standard errors."""
    rng, noise = np.random.default_rng(6), SupNorm(scale, 2)
    runs, covered = 1000, 0
    for _ in range(runs):
        z = scale * rng.gamma(3) * rng.uniform(-1, 1, 2)
        total = 2 * rng.binomial(size, (1 + mean) / 2) - size if sampled else size * mean
        lower, upper = simulated.mean_limits(size + z[0], total + z[1], noise, 0.05, sampled=sampled)
        assert -1 <= lower <= upper <= 1
        covered += lower <= mean <= upper
    assert covered / runs >= 0.95 - 5 * math.sqrt(0.05 * 0.95 / runs)


def test_that_coverage_fails_for_noise_half_as_wide():
    rng, covered = np.random.default_rng(6), 0
    for _ in range(500):
        z = 10.0 * rng.gamma(3) * rng.uniform(-1, 1, 2)
        lower, upper = simulated.mean_limits(100 + z[0], 30 + z[1], SupNorm(5.0, 2), 0.05, sampled=False)
        covered += lower <= 0.3 <= upper
    assert covered / 500 < 0.9


def test_truncated_variables_from_uniform_ones():
    u = (np.arange(20_000) + 0.5) / 20_000
    drawn = truncated_laplace(u, np.array(0.9), 0.5, 0.0, 1.0)
    from inbounds import Laplace as PublicLaplace
    from inbounds import Mechanism

    law = Mechanism(PublicLaplace(0.5), "truncated", bounds=(0, 1))
    assert drawn == pytest.approx(law.quantile(u, at=0.9), abs=1e-9)


def test_discrete_noise_and_binomial_numbers_from_uniform_ones():
    u = (np.arange(200_000) + 0.5) / 200_000
    noisy = simulated._release_counts(u, np.full(u.shape, 50.0), Law(DiscreteLaplace(1.3), 0.0)) - 50
    q = math.exp(-1 / 1.3)
    for j in (-4, -1, 0, 1, 4):
        assert np.mean(noisy == j) == pytest.approx((1 - q) / (1 + q) * q ** abs(j), abs=2e-5)
    for size, share in ((1, 0.0), (7, 0.01), (40, 0.5), (300, 0.998), (9, 1.0), (5000, 0.4)):
        drawn = simulated._binomial(u, size, share)
        for k in {0, 1, size // 2, size}:
            tolerance = 2e-5 if size < 1000 else 2e-3
            assert np.mean(drawn <= k) == pytest.approx(stats.binom.cdf(k, size, share), abs=tolerance)


@pytest.mark.parametrize("truncated", [False, True])
def test_the_number_of_records_that_explains_a_noisy_sum(truncated):
    """Bounding moves small counts up: from the mean of the noisy sum the true number is found again."""
    share, weights, total, scale = 0.8, np.array([0.5, 0.3, 0.2]), 100, 10.0
    law = ib.Mechanism(ib.Laplace(scale), "truncated" if truncated else "bit", bounds=(0, math.inf))
    true = total * np.array([share, *(1 - share) * weights])
    cut = (0.0, math.inf) if truncated else None
    found = simulated._find_size(share, weights, float(law.mean(true).sum()), Law(DiscreteLaplace(scale), 0.0, cut=cut))
    assert found == pytest.approx(total, abs=2)
