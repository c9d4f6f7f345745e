"""Intervals of Kendall's tau: coverage over laws of the records, with ties and without, and the bound they rest on."""

import math

import numpy as np
import pytest
from scipy import stats

import inbounds as ib
from inbounds.inference.ranks import _sampled, _true
from inbounds.privacy.terms import Terms

RUNS = 5_000


def tau_of(tables):
    """Concordant less discordant pairs of shares or counts of cells, as a sum over ordered pairs; tables run along."""

    def above(cells):
        later = cells[..., ::-1, ::-1].cumsum(axis=-2).cumsum(axis=-1)[..., ::-1, ::-1]
        return (cells[..., :-1, :-1] * later[..., 1:, 1:]).sum(axis=(-2, -1))

    return 2 * (above(tables) - above(tables[..., ::-1]))


def gaussian(tau, levels):
    """A Gaussian copula in so many cells a side, each column in cells of one size."""
    r = math.sin(math.pi * tau / 2)
    ends = np.clip(stats.norm.ppf(np.linspace(0, 1, levels + 1)), -8, 8)
    inner = np.array([[stats.multivariate_normal.cdf((a, b), cov=[[1, r], [r, 1]]) for b in ends] for a in ends])
    return np.maximum(np.diff(np.diff(inner, axis=0), axis=1), 0)


def clayton(theta, levels):
    u = np.linspace(1e-9, 1, levels + 1)
    inner = (u[:, None] ** -theta + u[None, :] ** -theta - 1) ** (-1 / theta)
    return np.maximum(np.diff(np.diff(inner, axis=0), axis=1), 0)


LAWS = {
    "independent": np.full((12, 12), 1.0),
    "Gaussian, .3": gaussian(0.3, 12),
    "Gaussian, -.9": gaussian(-0.9, 12),
    "Clayton": clayton(3.0, 12),
    "binary": np.array([[0.5, 0.1], [0.1, 0.3]]),
    "rare binary": np.array([[0.985, 0.005], [0.0, 0.01]]),
    "three levels": np.array([[0.3, 0.1, 0.0], [0.1, 0.2, 0.05], [0.0, 0.05, 0.2]]),
    "in order": np.eye(40),
}
# Without ties: a share of the records in opposite order to all others, and each of the two parts in order. Of all laws
# these have nearly the largest variance of tau, the more so the smaller the share.
BLOCKS = {"blocks, .2": 0.2, "blocks, .03": 0.03, "blocks, .003": 0.003}


def law(name):
    shares = np.asarray(LAWS[name], dtype=float)
    return shares / shares.sum()


def samples(name, rows, rng, runs=RUNS):
    """The population's tau, and those of samples."""
    if name in BLOCKS:
        apart = rng.binomial(rows, BLOCKS[name], runs)
        return (1 - 2 * BLOCKS[name]) ** 2, 1 - 4 * apart * (rows - apart) / (rows * (rows - 1))
    shares = law(name)
    counts = rng.multinomial(rows, shares.ravel(), size=runs).reshape(runs, *shares.shape)
    return float(tau_of(shares)), tau_of(counts.astype(np.int64)) / (rows * (rows - 1))


def part_of(columns, rows, epsilon, bounding="bit"):
    bounds = {f"c{i}": (0, 1) for i in range(columns)}
    draft = ib.Kendall(bounds=bounds).draft(Terms.of(epsilon, rows=rows, bounding=bounding))
    return draft.record.parts[0], float(draft.record.units[0])


def noise_of(part, worth, rng, size):
    if part.dimension == 1:
        return rng.laplace(0, float(part.spread) * worth, size)
    return float(part.spread) * worth * rng.gamma(part.dimension + 1, 1, size) * rng.uniform(-1, 1, size)


def coverage(limits, tau, released):
    """How many of the released values have an interval with tau in it: limits move up with what was released."""
    values = np.unique(released)

    def first(holds):
        """The first of the values for which something holds that holds for all above it."""
        low, high = 0, len(values)
        while low < high:
            middle = (low + high) // 2
            low, high = (low, middle) if holds(limits(values[middle])) else (middle + 1, high)
        return values[low] if low < len(values) else math.inf

    from_, beyond = first(lambda ends: ends[1] >= tau), first(lambda ends: ends[0] > tau)
    return float(np.mean((released >= from_) & (released < beyond)))


@pytest.mark.claim("interval-kendall")
@pytest.mark.parametrize("name", [*LAWS, *BLOCKS])
@pytest.mark.parametrize(("rows", "epsilon", "columns"), [(500, 1, 4), (2000, 10, 2), (20_000, 1, 4)])
def test_population_intervals_cover(name, rows, epsilon, columns):
    rng = np.random.default_rng(rows + columns)
    tau, found = samples(name, rows, rng)
    part, worth = part_of(columns, rows, epsilon)
    released = np.clip(found + noise_of(part, worth, rng, RUNS), -1, 1)
    assert coverage(lambda y: _sampled(y, worth, part, rows, 0.05), tau, released) >= 0.945


def test_sampling_error_left_out_would_be_seen():
    """The control: intervals for noise alone do not cover the population's tau."""
    rng = np.random.default_rng(0)
    tau, found = samples("Gaussian, .3", 2000, rng)
    part, worth = part_of(2, 2000, 1)
    released = np.clip(found + noise_of(part, worth, rng, RUNS), -1, 1)
    assert coverage(lambda y: _true(y, worth, part, 0.05), tau, released) < 0.6


@pytest.mark.claim("interval-kendall")
@pytest.mark.parametrize("name", LAWS)
@pytest.mark.parametrize("rows", [2, 7, 50])
def test_the_variance_is_at_most_that_of_half_as_many_signs(name, rows):
    """Var ≤ (1 - τ²)/⌊n/2⌋, exactly: from the variances of h and of its mean given one record (Hoeffding 1948)."""
    shares = law(name)
    tau = float(tau_of(shares))
    cells = np.argwhere(shares > 0)
    p = shares[tuple(cells.T)]
    h = np.prod(np.sign(cells[:, None] - cells[None, :]), axis=2).astype(float)
    assert p @ h @ p == pytest.approx(tau, abs=1e-12)
    one, both = p @ (h @ p) ** 2 - tau**2, p @ h**2 @ p - tau**2
    variance = 2 / (rows * (rows - 1)) * (2 * (rows - 2) * one + both)
    assert variance <= (1 - tau**2) / (rows // 2) + 1e-12


@pytest.mark.claim("interval-kendall")
@pytest.mark.parametrize("name", BLOCKS)
def test_the_largest_variance_is_nearly_attained(name):
    tau, found = samples(name, 2000, np.random.default_rng(1), runs=10**6)
    attained = found.var() / ((1 - tau**2) / 1000)
    assert attained == pytest.approx(2 * tau / (1 + tau), rel=0.02)
    assert name != "blocks, .003" or attained > 0.95


@pytest.mark.claim("interval-kendall")
@pytest.mark.parametrize(("columns", "bounding"), [(2, "bit"), (2, "truncated"), (4, "bit")])
@pytest.mark.parametrize("tau", [-1.0, -0.4, 0.97])
def test_noise_intervals_are_exact(columns, bounding, tau):
    """Coverage of a table's own tau by quadrature of the law: no less than promised, and hardly more inside."""
    rng = np.random.default_rng(7)
    part, worth = part_of(columns, 400, 1, bounding)
    if bounding == "truncated":
        u = rng.random(200_000)
        scale = float(part.spread) * worth
        below, above = (stats.laplace.cdf((end - tau) / scale) for end in (-1, 1))
        released = np.clip(tau + scale * stats.laplace.ppf(below + u * (above - below)), -1, 1)
    else:
        released = np.clip(tau + noise_of(part, worth, rng, 200_000), -1, 1)
    covered = coverage(lambda y: _true(y, worth, part, 0.05), tau, released)
    assert covered >= 0.945
    assert covered <= 0.97 or abs(tau) > 0.9


def test_intervals_of_releases():
    """Whole releases: one for each pair, ones on the diagonal, and wider for the population."""
    rng = np.random.default_rng(2)
    table = {name: rng.normal(size=800) for name in "abc"}
    made = ib.kendall(table, bounds=dict.fromkeys("abc", (-4, 4)), epsilon=2)
    noise, population = made.interval(kind="noise"), made.interval(kind="population")
    for one in (noise, population):
        assert (one.lower.diagonal() == 1).all()
        assert (one.lower == one.lower.T).all()
        assert (one.lower >= -1).all()
        assert (one.upper <= 1).all()
    upper = np.triu_indices(3, 1)
    assert (population.width[upper] > noise.width[upper]).all()
    assert "independent draws" in population.assumption
    assert noise.assumption == "nothing beyond the certified law of the noise"
    with pytest.raises(ValueError, match="variance= shortens the population interval of a mean"):
        made.interval(variance=made)
