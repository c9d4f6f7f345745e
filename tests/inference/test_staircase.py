"""Intervals, posteriors and errors of numbers with staircase noise, against quadrature, enumeration and simulation."""

import itertools
import math
from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest
from scipy import integrate, stats

import inbounds as ib
from inbounds.expected import continuous, root_error
from inbounds.inference import simulated
from inbounds.inference.counts import Averaged, Binomial, Sampled
from inbounds.inference.inversion import interval
from inbounds.inference.laws import Law, noise_of
from inbounds.inference.numbers import ChiSquare, Integrated, NormalMixture, noise_only
from inbounds.inference.posterior import posterior, unbiased
from inbounds.laws import Laplace, Mechanism, Staircase

SHAPE = (2.0, 0.335)


def kinks(noise, y):
    return [y + s * x for s in (-1, 1) for x in noise.breaks[:20]]


def pieces(places, low, high):
    ends = sorted({low, high, *(x for x in places if low < x < high)})
    return itertools.pairwise(ends)


@pytest.mark.parametrize("scale", [0.01, 0.1, 1.0])
def test_noise_alone_is_covered(scale):
    """For each true value the probability of all released values whose interval has it, on a fine grid."""

    def coverage(law, used):
        y = np.concatenate([[0.0], (np.arange(400) + 0.5) / 400, [1.0]])
        made = np.array([interval(noise_only(used, v, 0.0, 1.0), v, 0.05) for v in y])
        edges = np.concatenate([[-1], np.arange(401) / 400, [2]])
        found = []
        for s in (0.0, 0.003, 0.31, 0.5, 0.98, 1.0):
            inside = (made[:, 0] <= s) & (s <= made[:, 1])
            cdf = np.array([float(law.at_most(e, s)) for e in edges])
            cdf[-2] = float(law.below(1.0, s))
            mass = np.diff(cdf)
            # Cells where coverage ends count as not covered: at most two.
            found.append(mass[inside].sum() + 2 * mass[1:-1].max())
        return min(found)

    law = Law(Staircase(scale, *SHAPE), 0.0, 1.0)
    assert coverage(law, law) >= 0.95
    if scale < 0.1:
        assert coverage(law, Law(Staircase(scale / 3, *SHAPE), 0.0, 1.0)) < 0.95


@pytest.mark.parametrize("scale", [0.02, 0.3])
@pytest.mark.parametrize("freedom", [2, 40])
def test_a_noisy_variance_of_normal_records(freedom, scale):
    """The same probability as an integral over the law of the variance, between the ends of levels."""
    noise = Staircase(scale, *SHAPE)
    law, theta = Law(noise, 0.0, 9.0), 1.3
    family, chi = Integrated(ChiSquare(freedom), law, 0.0, 9.0), stats.chi2(freedom, scale=theta / freedom)
    for y in (0.0, 0.3, 1.3, 2.5):
        wanted = sum(
            integrate.quad(lambda v, y=y: chi.pdf(v) * float(law.inside(y, v)), a, b, epsabs=1e-10)[0]
            for a, b in pieces([theta, *kinks(noise, y)], 0.0, 40.0)
        )
        assert family.at_most(y, theta) == pytest.approx(wanted, abs=1e-7)


def test_a_noisy_mean_of_normal_records():
    noise = Staircase(0.05, *SHAPE)
    law, normal = Law(noise, 0.0, 1.0), stats.norm(0.3, 0.04)
    family = Integrated(NormalMixture((0.04,), (1.0,)), law, 0.0, 1.0)
    for y in (0.0, 0.2, 0.31, 0.6):
        wanted = sum(
            integrate.quad(lambda s, y=y: normal.pdf(s) * float(law.inside(y, s)), a, b, epsabs=1e-11)[0]
            for a, b in pieces([0.3, *kinks(noise, y)], -0.1, 0.7)
        )
        assert family.at_most(y, 0.3) == pytest.approx(wanted, abs=1e-7)


@pytest.mark.claim("largest-variance")
@pytest.mark.parametrize("width", [0.5, 1.0, 3.0])
def test_a_noisy_mean_of_records_at_the_bounds(width):
    """Straight lines between whole records, averaged at many points."""
    records = Sampled(Binomial(60), Law(Staircase(width / 2, *SHAPE), 0.0, 60.0), step=0)
    shares = (np.arange(4000) + 0.5) / 4000
    for y, theta in ((20.3, 0.3), (31.0, 0.5)):
        wanted = np.mean([records.inside(y - u, theta) for u in shares])
        assert Averaged(records).below(y, theta) == pytest.approx(wanted, abs=2e-7)


@pytest.mark.parametrize("released", [0.0, 0.07, 0.5])
def test_a_number_under_a_prior(released):
    template = ib.mean([0.5] * 20, bounds=(0, 1), epsilon=2)
    law = continuous(template.certificate)
    assert isinstance(law.noise, Staircase)
    mine = posterior(replace(template, noisy=(Fraction(released),)), (2, 3))

    def weight(s):
        likelihood = float(law.atoms(at=s)[0]) if released == 0 else float(law.pdf(released, at=s))
        return likelihood * stats.beta.pdf(s, 2, 3)

    parts = list(pieces(kinks(law.noise, released), 0.0, 1.0))
    total = sum(integrate.quad(weight, a, b)[0] for a, b in parts)
    mean = sum(integrate.quad(lambda s: s * weight(s), a, b)[0] for a, b in parts) / total
    assert mine.mean == pytest.approx(mean, abs=1e-6)
    assert mine.lower <= mine.median <= mine.upper
    wrong = replace(template, noisy=(Fraction(1, 4),))
    assert posterior(wrong, (2, 3)).mean != pytest.approx(mean, abs=1e-3)


def test_numbers_are_turned_back():
    template = ib.mean([0.5] * 30, bounds=(0, 1), epsilon=2)
    law = continuous(template.certificate)
    for true in (0.01, 0.3, 0.99):
        assert unbiased(replace(template, noisy=(Fraction(float(law.mean(true))),))) == pytest.approx(true, abs=1e-6)


@pytest.mark.parametrize("scale", [1e-3, 0.05, 2.0])
def test_the_error_of_a_root(scale):
    law = Mechanism(Staircase(scale, *SHAPE), "bit", bounds=(0, 0.25))
    drawn = np.random.default_rng(1)
    for variance in (0.0, scale / 100, 0.03, 0.25):
        variance = min(variance, 0.25)
        off = np.sqrt(law.sample(variance, 10**6, rng=drawn)) - math.sqrt(variance)
        rmse, bias = root_error(law, variance)
        assert rmse**2 == pytest.approx((off**2).mean(), abs=6 * (off**2).std() / 1e3)
        assert bias == pytest.approx(off.mean(), abs=6 * off.std() / 1e3)
    plain = root_error(Mechanism(Laplace(scale), "bit", bounds=(0, 0.25)), 0.03)
    assert plain[0] > root_error(law, 0.03)[0]


@pytest.mark.parametrize("true", [0.0, 0.2, 0.5])
def test_the_law_on_the_line_is_that_on_the_grid(true):
    """Errors, probabilities and previews agree to six digits."""
    release = ib.mean([0.5] * 10, bounds=(0, 1), epsilon=3)
    grid, line = release.mechanism, continuous(release.certificate)
    at = grid.locate(Fraction(true))
    assert float(line.mse(true)) == pytest.approx(float(grid.mse(at).upper), rel=1e-5)
    assert float(line.bias(true)) == pytest.approx(float(grid.bias(at).upper), rel=1e-5, abs=1e-12)
    noise = noise_of(release.certificate)
    for t in (-0.2, -0.01, 0.003, 0.05, 0.31):
        steps = int(t / float(grid.step))
        unbounded = replace(grid, bounding="unbounded")
        on_grid = float(unbounded.cumulative(steps, 0).upper)
        assert float(noise.cdf((steps + 0.5) * float(grid.step))) == pytest.approx(on_grid, rel=1e-6)
    wider = replace(line, noise=replace(line.noise, scale=line.noise.scale * 1.01))
    assert float(wider.mse(true)) != pytest.approx(float(grid.mse(at).upper), rel=1e-3)


def test_simulated_noise_has_the_staircase():
    noise = Staircase(0.7, *SHAPE)
    drawn = simulated.unit_noise(noise, range(3), np.random.default_rng(1)) * 0.7
    assert drawn.shape == (simulated.DRAWS, 3)
    square = (drawn**2).ravel()
    assert abs(square.mean() - noise.variance) < 6 * square.std() / math.sqrt(square.size)
    assert abs(square.mean() - 2 * 0.7**2) > 6 * square.std() / math.sqrt(square.size)


@pytest.mark.parametrize("way", [ib.mean, ib.variance])
def test_whole_releases_are_covered(way):
    """Of 120 releases each at level 90%, fewer than 84 cover by chance less than once in 1e9."""
    rng = np.random.default_rng(8)
    covered = 0
    for _ in range(120):
        table = np.clip(rng.normal(0.5, 0.1, 60), 0, 1)
        release = way(table, bounds=(0, 1), epsilon=3, method="direct")
        assert release.certificate.noise == "staircase"
        truth = table.mean() if way is ib.mean else table.var(ddof=1)
        lower, upper = release.interval(0.9, kind="noise")
        covered += lower - 1e-9 <= truth <= upper + 1e-9
    assert covered >= 84
    assert stats.binom.cdf(83, 120, 0.9) < 1e-9


def test_previews_foresee_it():
    ahead = ib.preview("mean", bounds=(0, 1), epsilon=2, rows=100, method="direct").options[0]
    release = ib.mean({"x": [0.5] * 100}, "x", bounds=(0, 1), epsilon=2, method="direct")
    assert ahead.forecast.rmse == pytest.approx(release.error.rmse, rel=0.05)
    assert release.error.rmse == pytest.approx(math.sqrt(0.42273) / 100, rel=1e-3)
