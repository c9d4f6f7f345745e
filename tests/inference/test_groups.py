"""Intervals of the means of many groups at once, against each group alone."""

import numpy as np
import pytest

import inbounds as ib
from inbounds.inference import critical, fieller, means, score, simulated
from inbounds.inference.laws import noise_of

LEVELS = (0.05, 0.3, 0.002)


def release_groups(groups, rows, epsilon, seed=0, levels=None):
    """The means of groups of about so many rows each."""
    rng = np.random.default_rng(seed)
    names = rng.integers(0, groups, groups * rows)
    table = {"x": 10 * rng.random(len(names)) ** (1 + names % 5), "g": names}
    return ib.mean(table, "x", bounds=(0, 10), by="g", levels=levels or list(range(groups)), epsilon=epsilon)


def with_edges(groups):
    """The same groups, the first of which have no, one or two records, all their records at a bound, or no law."""
    counts, totals, squares = (np.array(x) for x in (groups.counts, groups.totals, groups.squares))
    counts[:9] = [0.0, 1.0, 2.0, -3.0, 1.0, 100.0, 100.0, 100.0, 1e-9]
    totals[:9] = [0.0, 1.0, -2.0, 5.0, 0.2, 100.0, -100.0, 400.0, 1.0]
    squares[:9] = [0.0, 1.0, 2.0, 1.0, -4.0, 100.0, 100.0, 100.0, 0.0]
    return critical.Groups(counts, totals, squares, groups.noise, groups.off, groups.alpha)


def one_by_one(groups):
    return np.array([score.limits_of_draws(groups.one(place), groups.alpha) for place in range(len(groups))]).T


def how_much_wider(found, alone):
    """How much farther out each limit is, as a part of the interval's width."""
    width = np.maximum(alone[1] - alone[0], 1e-6)
    return np.concatenate([(alone[0] - found[0]) / width, (found[1] - alone[1]) / width])


@pytest.mark.claim("score-of-groups")
@pytest.mark.parametrize("alpha", LEVELS)
@pytest.mark.parametrize(("rows", "epsilon"), [(100, 1), (2000, 0.1), (20, 50), (5, 1000)])
def test_limits_of_many_groups_are_those_of_each(rows, epsilon, alpha):
    """Never shorter, and hardly wider."""
    release = release_groups(critical.MANY, rows, epsilon)
    groups = with_edges(means.collect_groups(release, alpha))
    wider = how_much_wider(critical.limits_of_groups(groups), one_by_one(groups))
    assert wider.min() > -1e-6
    assert wider.max() < 5e-4


@pytest.mark.claim("score-of-groups")
def test_groups_with_little_sampling_error_are_done_alone(monkeypatch):
    """Where each draw of the noise shows, no table is fine enough; and a coarser one would be seen by these tests."""
    groups = means.collect_groups(release_groups(critical.MANY, 2000, 0.1), 0.05)
    tiny = critical.Groups(groups.counts, groups.totals, groups.squares, 30 * groups.noise, 0.0, 0.05)
    assert how_much_wider(critical.limits_of_groups(tiny), one_by_one(tiny)) == pytest.approx(0, abs=1e-9)
    monkeypatch.setattr(critical, "_RAISED", -1e-3)
    assert how_much_wider(critical.limits_of_groups(groups), one_by_one(groups)).min() < -1e-6


def test_many_groups_are_found_together_and_few_one_by_one(monkeypatch):
    asked = []
    real = score.limits_of_draws
    for module in (score, critical):
        monkeypatch.setattr(module, "limits_of_draws", lambda *given: asked.append(given) or real(*given))
    release_groups(critical.MANY, 100, 1).interval()
    assert not asked
    release_groups(critical.MANY - 1, 100, 1).interval()
    assert len(asked) == critical.MANY - 1


def test_an_interval_of_many_groups_says_what_it_said():
    """The limits are in units of the column, and those of other groups do not matter."""
    release = release_groups(critical.MANY, 100, 2)
    found = release.interval()
    alone = one_by_one(means.collect_groups(release, 1 - 0.95))
    assert found.method == score.METHOD
    assert found.lower == pytest.approx(5 + 5 * alone[0], abs=1e-4)
    assert found.upper == pytest.approx(5 + 5 * alone[1], abs=1e-4)
    with pytest.raises(ValueError, match="level"):
        release.interval(0.99999)


def noisy_sums(rows, epsilon, count, seed):
    """Noisy numbers and sums of groups, some of them of no, one or two records, and the noise that they have."""
    release = release_groups(2, 3, epsilon, levels=[0, 1])
    noise, worth = noise_of(release.parts[0]), float(release.units[1])
    rng = np.random.default_rng(seed)
    records = rng.poisson(rows, count)
    records[:30] = np.arange(30) % 3
    counts = records + rng.laplace(0, noise.scale, count)
    totals = records * rng.uniform(-1, 1, count) + rng.laplace(0, noise.scale * worth, count)
    totals[30:40] = records[30:40]
    counts[40] = totals[40] = 0.0
    return counts, totals, noise, worth


def is_a_limit(count, total, noise, worth, alpha, sampled, at, end):
    """Whether a mean is where the test ends to keep, or as near to it as limits are bracketed."""
    z, sampling = simulated.draw_errors(noise, sampled=sampled, worth=worth)
    size = max(count, 1.0) + float(np.std(z[:, 0]))

    def kept(mean):
        errors = np.abs(z[:, 1] - mean * z[:, 0] + np.sqrt(size * max(1 - mean**2, 0.0)) * sampling)
        place = simulated.quantile_place(len(errors), alpha)
        return np.partition(errors, place)[place] >= abs(total - mean * count)

    step = np.copysign(2e-5, end)
    return kept(at - step) != kept(min(max(at + step, -1.0), 1.0))


@pytest.mark.claim("fieller-of-groups")
@pytest.mark.parametrize("sampled", [True, False])
@pytest.mark.parametrize(("rows", "epsilon"), [(10, 1), (100, 0.1), (3000, 0.1), (5, 20), (50, 0.001)])
def test_fiellers_limits_of_many_groups_are_those_of_each(rows, epsilon, sampled):
    """The same numbers, as near as each is bracketed. Where a test keeps means, then not, and then again, another of
    its ends may be found.
    """
    counts, totals, noise, worth = noisy_sums(rows, epsilon, 250, rows)
    for alpha in (0.05, 0.3, 0.006):
        found = fieller.mean_limits(counts, totals, noise, alpha, sampled=sampled, worth=worth)
        how = {"sampled": sampled, "worth": worth}
        alone = np.array(
            [
                simulated.mean_limits(count, total, noise, alpha, **how)
                for count, total in zip(counts.tolist(), totals.tolist(), strict=True)
            ]
        ).T
        different = np.argwhere(np.abs(np.array(found) - alone) > 1.5e-5)
        assert len(different) <= 10
        for side, place in different:
            given = float(counts[place]), float(totals[place]), noise, worth, alpha, sampled
            assert is_a_limit(*given, found[side][place], (-1, 1)[side])


def test_fiellers_limits_of_thousands_of_groups_are_found_together(monkeypatch):
    asked = []
    real = simulated.limits_of_errors
    monkeypatch.setattr(simulated, "limits_of_errors", lambda *given: asked.append(given) or real(*given))
    release = release_groups(fieller.MANY, 10, 5)
    assert not release.derivation.square
    release.interval()
    assert len(asked) < fieller.MANY / 5


def test_few_of_the_drawn_errors_are_near_the_quantile():
    _, _, noise, worth = noisy_sums(100, 0.5, 250, 0)
    drawn, sampling = simulated.draw_errors(noise, sampled=True, worth=worth)
    errors = fieller.Errors(drawn, sampling, 200)
    table = fieller._make_table(errors)
    means_nearby, deviations = np.array([0.1, 0.11]), np.array([8.0, 8.1])
    few = errors.near(table, means_nearby, deviations)
    assert 10 < len(few.noise) < 800
    assert (few.quantiles(means_nearby, deviations) == errors.quantiles(means_nearby, deviations)).all()
