"""Expected errors: against quadrature and simulation, and never at the true value."""

import math
from fractions import Fraction

import mpmath
import numpy as np
import pytest

import inbounds as ib
from inbounds.expected import affordable_draws, noise, root_error, worst_root_error
from inbounds.laws import Staircase
from tests.release.cases import BOTH, every_call, table


@pytest.mark.claim("worst-root")
@pytest.mark.parametrize("bounding", ["bit", "truncated"])
@pytest.mark.parametrize("scale", [1e-4, 0.01, 0.3, 5.0])
def test_the_error_of_a_root_by_quadrature(bounding, scale):
    law = ib.Mechanism(ib.Laplace(scale), bounding, bounds=(0, 0.25))
    for variance in (0.0, scale / 100, 0.03, 0.2499, 0.25):
        rmse, bias = root_error(law, min(variance, 0.25))
        mse_, bias_ = _by_mpmath(law, min(variance, 0.25))
        assert rmse == pytest.approx(math.sqrt(mse_), rel=1e-8)
        assert bias == pytest.approx(bias_, rel=1e-6, abs=1e-10 * rmse)


def _by_mpmath(law, variance):
    """E(√X - √v)² and E(√X - √v), straight from the density and the atoms."""
    root, top = mpmath.sqrt(variance), law.bounds[1]
    scale = law.noise.scale
    points = sorted({0.0, top, variance, *(min(max(variance + k * scale, 0.0), top) for k in (-30, -5, -1, 1, 5, 30))})

    def integral(power):
        def integrand(x):
            return (mpmath.sqrt(x) - root) ** power * float(law.pdf(float(x), at=variance))

        return mpmath.quad(integrand, points)

    below, above = (float(atom) for atom in law.atoms(at=variance))
    edges = [(below, -root), (above, mpmath.sqrt(top) - root)]
    return tuple(float(integral(k) + sum(p * off**k for p, off in edges)) for k in (2, 1))


@pytest.mark.claim("worst-root")
def test_the_worst_error_of_a_root():
    for scale in (0.001, 0.05, 2.0):
        law = ib.Mechanism(ib.Laplace(scale), "bit", bounds=(0, 1))
        worst, worst_bias = worst_root_error(law)
        errors = [root_error(law, float(v)) for v in np.linspace(0, 1, 501) ** 3]
        assert max(rmse for rmse, _ in errors) <= worst * 1.002
        assert worst <= max(rmse for rmse, _ in errors) * 1.002
        assert max(abs(bias) for _, bias in errors) <= worst_bias * 1.002


def test_the_better_way_to_a_standard_deviation():
    """Root of the variance for everyday ε, noise of its own for a very large one: each has the smaller average MSE."""
    x = np.linspace(0, 10, 200)
    deviations = (np.arange(4000) + 0.5) / 800

    def noise(moved, epsilon):
        """The better of the two: a staircase, with its best core as the paper that proposes it has it."""
        if epsilon < 1.5:
            return ib.Laplace(moved / epsilon)
        b = math.exp(-epsilon)
        core = ((b - 2 * b**2 + 2 * b**4 - b**5) / 2) ** (1 / 3) / (1 - b) ** 2 - b / (1 - b)
        return Staircase(moved / epsilon, epsilon, core)

    for epsilon, method in ((1, "root of a released variance"), (4, "root of a released variance"), (20, "direct")):
        assert ib.standard_deviation(x, bounds=(0, 10), epsilon=epsilon, method="direct").method == method
        own = ib.Mechanism(noise(10 / math.sqrt(200), epsilon), "bit", bounds=(0, 5.0125))
        root = ib.Mechanism(noise(100 / 200, epsilon), "bit", bounds=(0, 25.125))
        by_root = np.mean([root_error(root, sd**2)[0] ** 2 for sd in deviations])
        assert (np.mean(own.mse(deviations)) < by_root) == (method == "direct")


CALLS = every_call()


@pytest.mark.parametrize("name", CALLS)
def test_errors_follow_from_the_record(name):
    release = CALLS[name](table(210), epsilon=1)
    error, again = release.error, ib.Release.from_json(release.to_json()).error
    for field in ("rmse", "bias", "worst_rmse", "worst_bias"):
        figure = np.asarray(getattr(error, field))
        assert np.shape(figure) == np.shape(release.table)
        # Of what is not available there is no error.
        figure = figure[~np.ma.getmaskarray(release.table)]
        # Columns that hardly vary may have any slopes.
        boundless = "worst" in field and release.statistic.name == "regression"
        assert np.isposinf(figure).all() if boundless else np.isfinite(figure).all()
        other = np.asarray(getattr(again, field))[~np.ma.getmaskarray(release.table)]
        assert (figure == other).all()
    assert str(error).startswith("expected RMSE")
    shown = ~np.ma.getmaskarray(release.table)
    rmse, bias, worst_rmse, worst_bias = (
        np.asarray(figure)[shown] for figure in (error.rmse, error.bias, error.worst_rmse, error.worst_bias)
    )
    assert (rmse <= worst_rmse * 1.05 + 1e-12).all()
    assert (np.abs(bias) <= worst_bias * 1.1 + 0.1 * rmse).all()


def test_simulated_errors_are_those_of_releases():
    """Where the true value is the released one: joint covariances far from their bounds, by the noise's variance."""
    t = table(5000)
    release = ib.covariance(t, bounds=BOTH, epsilon=1, method="elements")
    scale = np.array([100.0**2, 100 * 120.0, 120.0**2]) / 5000
    expected = scale * math.sqrt(4 * 5 / 3)
    assert release.error.rmse.ravel()[[0, 1, 3]] == pytest.approx(expected, rel=0.05)
    # That of the noise, or what was simulated if that is more.
    worst = release.error.worst_rmse.ravel()[[0, 1, 3]]
    assert worst == pytest.approx(np.maximum(expected, release.error.rmse.ravel()[[0, 1, 3]]), rel=1e-9)


def test_exact_errors_are_in_the_units_of_the_value():
    count, share = (f(["a", "b"] * 50, level="a", epsilon=0.5) for f in (ib.count, ib.proportion))
    assert share.error.worst_rmse == pytest.approx(count.error.worst_rmse / 100)
    q = math.exp(-0.5)
    assert count.error.worst_rmse == pytest.approx(math.sqrt(2 * q) / (1 - q), rel=1e-6)
    shares = ib.proportions(["a", "b"] * 50, levels=["a", "b"], epsilon=1)
    assert shares.units == (Fraction(1, 100),) * 2


def test_a_projection_is_no_further_off_than_the_noise():
    """Zero-sum noise of four cells has a total MSE of 16.7/ε²."""
    x = ["a", "b", "c", "d"] * 250
    shares = ib.proportions(x, levels=["a", "b", "c", "d"], epsilon=0.1)
    assert shares.error.worst_rmse == pytest.approx([math.sqrt(16.7) / 0.1 / 1000] * 4, rel=0.05)
    assert shares.error.rmse == pytest.approx([math.sqrt(16.7 / 4) / 0.1 / 1000] * 4, rel=0.05)
    counts = ib.histogram(x, levels=["a", "b", "c", "d"], epsilon=0.1)
    assert counts.error.worst_rmse == pytest.approx([math.sqrt(16.7) / 0.1 + 1] * 4, rel=0.05)
    assert counts.error.rmse == pytest.approx([math.sqrt(16.7 / 4) / 0.1] * 4, rel=0.05)
    exact = ib.histogram(x, levels=["a", "b", "c", "d"], epsilon=20)
    assert exact.error.worst_rmse == pytest.approx(2 * exact.error.rmse * 2, rel=0.2)
    rescaled = ib.proportions(x, levels=["a", "b", "c", "d"], epsilon=0.1, repair="rescale")
    assert rescaled.error.worst_rmse.tolist() == [1.0] * 4
    many = ib.proportions([str(i % 80) for i in range(4000)], levels=[str(i) for i in range(80)], epsilon=1)
    assert many.error.rmse.mean() < math.sqrt(8) / 4000


@pytest.mark.parametrize("bounding", ["bit", "truncated"])
@pytest.mark.parametrize("epsilon", [0.0001, 0.01, 1, 8])
def test_errors_of_many_counts_are_those_of_each(bounding, epsilon):
    """In double precision for tables, exactly for one number: the same to nine digits (seven on the real line)."""
    levels = ["a", "b", "c"]
    release = ib.histogram(["a", "b", "b"] * 40, levels=levels, epsilon=epsilon, bounding=bounding, repair="none")
    law = release.certificate.mechanism
    for noisy, rmse, bias in zip(release.noisy, release.error.rmse, release.error.bias, strict=True):
        at = law.locate(noisy)
        assert rmse == pytest.approx(math.sqrt(law.mse(at).upper), rel=1e-7)
        assert bias == pytest.approx(float(law.bias(at).upper), rel=1e-6, abs=1e-9)


def test_at_worst_is_never_less_than_what_is_expected():
    # Two equal columns: the repair moves the elements of a nearly singular matrix about.
    column = [float(i % 101) for i in range(1000)]
    for _ in range(5):
        error = ib.covariance({"x": column, "y": column}, bounds={"x": (0, 100), "y": (0, 100)}, epsilon=1).error
        assert (error.rmse <= error.worst_rmse).all()
        assert (abs(error.bias) <= error.worst_bias).all()


def test_truncated_covariances_at_worst():
    """The truth need not lie within what noisy variances allow, and then no draw comes near it."""
    x = [0.0] * 30 + [1.0] * 30
    made = ib.covariance(
        {"x": x, "y": x}, bounds={"x": (0, 1), "y": (0, 1)}, epsilon=0.3, method="split", bounding="truncated"
    )
    reach, largest = float(made.bounds[1][1]), 60 / 59 / 4
    assert made.error.worst_rmse[0, 1] >= largest + reach - 1e-9
    assert made.error.worst_bias[0, 1] >= largest + reach - 1e-9
    assert abs(made.value[0, 1] - np.cov(x, x)[0, 1]) <= made.error.worst_rmse[0, 1]


@pytest.mark.parametrize("how", [{}, {"bounding": "truncated"}, {"neighbours": "add-remove"}])
@pytest.mark.parametrize("epsilon", [0.005, 1])
def test_many_numbers_are_simulated_at_once_by_the_same_law(how, epsilon, monkeypatch):
    """Beyond a thousand cells draws are made together: errors are those of one cell after another."""
    from inbounds import expected

    counts = [i % 7 for i in range(40)]
    data = [f"l{i}" for i, count in enumerate(counts) for _ in range(count)]
    levels = [f"l{i}" for i in range(len(counts))]
    repair = {"repair": "rescale"} if "neighbours" not in how else {}
    made = ib.proportions(data, levels=levels, epsilon=epsilon, **repair, **how)
    one_by_one = made.error
    monkeypatch.setattr(expected.noise, "_MANY", 10)
    together = made.error
    assert together.rmse == pytest.approx(one_by_one.rmse, rel=0.12)
    assert np.sqrt((together.rmse**2).mean()) == pytest.approx(np.sqrt((one_by_one.rmse**2).mean()), rel=0.03)


def test_a_large_table_of_shares_has_an_error_within_memory(monkeypatch):
    """As many numbers are simulated at once as fit the memory; here a fifth of that, in a fifth of the time."""
    levels = list(range(200_000))
    made = ib.proportions([0, 1, 2] * 1000, levels=levels, epsilon=1, repair="rescale")
    assert affordable_draws(len(levels), 1) * len(levels) == 20_000_000
    monkeypatch.setattr(noise, "_MOST_NUMBERS", 4_000_000)
    assert affordable_draws(len(levels), 1) == 20
    assert made.error.rmse.shape == (200_000,)
    assert np.isfinite(made.error.rmse).all()
