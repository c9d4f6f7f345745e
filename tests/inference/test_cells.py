"""Intervals of quantiles from noisy counts: the law of sums of noise by enumeration, and coverage over laws."""

import itertools
import math
from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest
from scipy import stats

import inbounds as ib
from inbounds.expected.noise import draw_zero_sum
from inbounds.inference import cells, distribution
from inbounds.inference.cells import PrefixNoise
from inbounds.privacy.terms import Terms
from inbounds.record.draft import UNNAMED
from inbounds.record.selection import draft_statistic
from tests.inference.test_quantiles import LAWS

SHARES = ["1/10", "1/2", "7/10"]
LEVEL = 0.9


def sums_by_enumeration(size, first, scale, most):
    """P of each sum of the first numbers, over all vectors that add up to nothing and have none beyond ``most``."""
    chances = {}
    for head in itertools.product(range(-most, most + 1), repeat=size - 1):
        vector = (*head, -sum(head))
        total = sum(vector[:first])
        chances[total] = chances.get(total, 0.0) + math.exp(-sum(map(abs, vector)) / scale)
    whole = sum(chances.values())
    return {total: chance / whole for total, chance in chances.items()}


@pytest.mark.claim("prefix-noise")
@pytest.mark.parametrize(("size", "first", "scale", "most"), [(2, 1, 3.0, 60), (3, 1, 2.0, 60), (4, 2, 1.2, 25)])
def test_the_chance_of_sums_of_noise(size, first, scale, most):
    law = sums_by_enumeration(size, first, scale, most)
    wide = PrefixNoise(size, first, 3 * scale)
    for distance in (1, 2, 5, 9, 14):
        exact = sum(chance for total, chance in law.items() if total >= distance)
        said = PrefixNoise(size, first, scale).exceeds(distance)
        assert exact <= said <= exact + 2e-9
        assert PrefixNoise(size, size - first, scale).exceeds(distance) == said
        # Another scale is told apart.
        assert wide.exceeds(distance) > exact + 1e-3 * (distance < 5)


@pytest.mark.claim("prefix-noise")
def test_the_chance_of_sums_with_records():
    size, first, scale, rows, share = 3, 1, 2.0, 12, 0.4
    law, records = sums_by_enumeration(size, first, scale, 60), stats.binom(rows, share)
    for count in range(-6, 7):
        exact = sum(chance * records.cdf(count - total) for total, chance in law.items())
        said = PrefixNoise(size, first, scale).falls_to(count, rows, share)
        assert exact <= said <= exact + 2e-9
        # With more records in these cells a small sum is rarer.
        more = sum(chance * stats.binom(rows, share + 0.1).cdf(count - total) for total, chance in law.items())
        assert more <= said


@pytest.mark.claim("prefix-noise")
@pytest.mark.parametrize(("size", "scale"), [(2, 0.5), (8, 5.0), (40, 1.5)])
def test_listed_sums_have_the_chances_of_convolutions(size, scale):
    """At every distance, far ones included: those of the first numbers and of the others, one number after another."""
    reach = int(40 * scale * math.sqrt(size)) + 60
    single = np.exp(-np.abs(np.arange(-reach, reach + 1)) / scale)
    laws = [np.eye(1, 2 * reach + 1, reach)[0]]
    for _ in range(size):
        laws.append(np.convolve(laws[-1], single / single.sum(), mode="same"))
    for first in {1, size // 2, size - 1}:
        chances = laws[first] * laws[size - first]
        beyond = np.cumsum((chances / chances.sum())[::-1])[::-1][reach:]
        noise = PrefixNoise(size, first, scale)
        for distance in range(1, int(12 * scale * math.sqrt(size))):
            assert beyond[distance] * (1 - 1e-9) <= noise.exceeds(distance) <= beyond[distance] + 1.1e-9


@pytest.mark.claim("prefix-noise")
@pytest.mark.parametrize(("size", "first", "scale"), [(8, 3, 20.0), (64, 32, 4.0), (1024, 100, 2.0)])
def test_the_bound_that_lists_no_sums_is_no_less(size, first, scale, monkeypatch):
    """Chernoff's inequality for a sum of independent numbers, of which the constrained one is nowhere wider."""
    noise, distances = PrefixNoise(size, first, scale), [1, *(int(k * scale * math.sqrt(first)) for k in (1, 3, 6))]
    sums, chances = cells._list_sums(size, first, scale)
    listed = [float(chances[sums >= distance].sum()) for distance in distances]
    with_records = [float(chances @ stats.binom.cdf(count - sums, 500, 0.3)) for count in (150, 100, 50, -50)]
    assert all(noise.exceeds(d) <= chance + 2e-9 for d, chance in zip(distances, listed, strict=True))
    drawn = draw_zero_sum(size, scale, np.random.default_rng(0), 4000)[:, :first].sum(axis=1)
    assert all(abs((drawn >= d).mean() - chance) < 0.04 for d, chance in zip(distances, listed, strict=True))
    monkeypatch.setattr(cells, "_list_sums", lambda *_: None)
    assert all(noise.exceeds(d) >= chance - 2e-9 for d, chance in zip(distances, listed, strict=True))
    assert all(
        noise.falls_to(count, 500, 0.3) >= chance - 2e-9
        for count, chance in zip((150, 100, 50, -50), with_records, strict=True)
    )


def test_sums_that_are_too_many_are_not_listed():
    assert cells._list_sums(64, 3, 1e6) is None
    assert PrefixNoise(64, 3, 1e6).exceeds(10**8) < 1e-20
    assert PrefixNoise(64, 3, 1e6).exceeds(10) > 0.9


def noisy_records(draft, counts, scale, runs, seed):
    """Records of so many draws about the same counts of cells, with simulated noise."""
    noise = draw_zero_sum(counts.shape[-1], scale, np.random.default_rng(seed), runs)
    for row in np.rint(counts + noise).astype(int):
        yield replace(draft.record, noisy=tuple(map(Fraction, row.tolist())))


@pytest.mark.claim("interval-of-counts")
@pytest.mark.parametrize("law", LAWS)
@pytest.mark.parametrize(("rows", "epsilon"), [(400, "0.2"), (3000, 2)])
def test_intervals_cover(law, rows, epsilon):
    """150 samples each, of all laws: the table's quantiles and the population's, with what is on the points of the
    grid. Failing by chance is rarer than 1e-9 if each is missed with the probability that is allowed."""
    statistic = ib.Quantile(UNNAMED, q=SHARES, bounds=(-20, 120), step="0.1", method="counts")
    draft = draft_statistic(statistic, Terms.of(epsilon, rows=rows))
    way, scale = draft.record.derivation, float(draft.record.certificate.grid.scale.steps)
    rng, runs = np.random.default_rng(11), 150
    shares = [float(Fraction(share)) for share in SHARES]

    def points(n):
        return np.rint((np.clip(LAWS[law](rng, n), -20, 120) + 20) * 10).astype(int)

    truth = np.quantile(points(2_000_000), shares, method="inverted_cdf") / 10 - 20
    missed = {"noise": np.zeros(3), "population": np.zeros(3)}
    for run in range(runs):
        x = points(rows)
        counts = np.add.reduceat(np.bincount(x, minlength=1401), way.firsts[:-1])
        (record,) = noisy_records(draft, counts, scale, 1, run)
        own = np.quantile(x, shares, method="inverted_cdf") / 10 - 20
        for kind, value in (("noise", own), ("population", truth)):
            low, high = record.interval(LEVEL, kind=kind)
            # What two million records say of the population is off by a step at most.
            room = 1e-9 if kind == "noise" else 0.1 + 1e-9
            missed[kind] += (value < low - room) | (value > high + room)
    most = stats.binom(runs, 1 - LEVEL).isf(1e-10)
    assert max(map(max, missed.values())) <= most


@pytest.mark.claim("interval-of-counts")
def test_intervals_are_missed_about_as_often_as_they_may_be_in_the_worst_case():
    """A quantile that has all records but one on its side of an edge: half of what may be missed is, and with noise
    of three times the scale far more."""
    statistic = ib.Quantile(UNNAMED, q=["1/4", "1/2"], bounds=(0, 7), step=1, method="counts")
    draft = draft_statistic(statistic, Terms.of(1, rows=20))
    way, scale = draft.record.derivation, float(draft.record.certificate.grid.scale.steps)
    assert len(way.firsts) == 5
    # The first two cells have the median's rank, 10, exactly: the median is their last record.
    counts, runs = np.array([0, 10, 10, 0]), 3000
    for times, few, many in ((1, 0.02, 0.051), (3, 0.15, 0.5)):
        above = sum(
            record.interval(LEVEL, kind="noise").lower[1] > 3
            for record in noisy_records(draft, counts, times * scale, runs, 7)
        )
        assert few < above / runs < many + 4 * math.sqrt(many / runs) * (times == 1)


@pytest.mark.claim("interval-of-counts")
@pytest.mark.parametrize("share", [Fraction(1, 4), Fraction(1, 2), Fraction(5, 9)])
@pytest.mark.parametrize("alpha", [0.05, 0.01])
def test_a_cell_is_left_behind_where_its_noise_is_rare_enough_and_nowhere_else(share, alpha):
    """By enumeration: for every noisy count of the first of two cells, the chance of one that is so small where the
    quantile lies in this cell. Twice the chance, and a noisy count one less or more, decide otherwise."""
    size, scale, rows = 2, 3.0, 11
    law = sums_by_enumeration(size, 1, scale, 120)
    rank, records = math.ceil(share * rows), stats.binom(rows, float(share))
    rare = {
        False: lambda count: sum(chance for total, chance in law.items() if total <= count - rank),
        True: lambda count: sum(chance * records.cdf(count - total) for total, chance in law.items()),
    }
    for population, chance_of in rare.items():
        counts = range(-40, rows + 1)
        found = [cells._count_outside([c], [share], rows, scale, alpha, population=population)[0] for c in counts]
        assert found == [int(chance_of(count) <= alpha) for count in counts]
        assert 1 in found
        for other in ([chance_of(c) <= 2 * alpha for c in counts], [chance_of(c - 1) <= alpha for c in counts]):
            assert found != [int(one) for one in other]


@pytest.mark.claim("interval-of-counts")
def test_only_cells_before_the_first_one_in_doubt_are_left_behind():
    half, asked = [Fraction(1, 2)], (100, 2.0, 0.05)
    for population in (False, True):
        assert cells._count_outside([0, 0, 60, 0, 100], half, *asked, population=population) == [2]
        assert cells._count_outside([0] * 10, half, *asked, population=population) == [10]


@pytest.mark.claim("interval-of-counts")
@pytest.mark.parametrize("population", [False, True])
def test_quantiles_in_one_go_have_the_limits_that_each_has_alone(population, monkeypatch):
    """Each cell is tested until one quantile is not beyond it, and not for each of them."""
    shares, asked = [Fraction(k, 40) for k in range(1, 40)], (200, 3.0, 0.05)
    sums = np.cumsum(np.random.default_rng(4).normal(200 / 64, 4, 63)).astype(int).tolist()
    alone = [cells._count_outside(sums, [share], *asked, population=population)[0] for share in shares]
    assert alone == sorted(alone)
    assert len(set(alone)) > 10
    tests, name = [], "falls_to" if population else "exceeds"
    own = getattr(PrefixNoise, name)
    monkeypatch.setattr(PrefixNoise, name, lambda *given: tests.append(given) or own(*given))
    assert cells._count_outside(sums, shares, *asked, population=population) == alone
    assert len(tests) <= len(sums) + len(shares)


@pytest.mark.claim("interval-of-counts")
@pytest.mark.parametrize("kind", ["noise", "population"])
def test_limits_are_the_first_and_the_last_point_of_a_cell_with_all_records(kind):
    statistic = ib.Quantile(UNNAMED, q=["1/4", "3/4"], bounds=(3, 13), step=1, method="counts")
    draft = draft_statistic(statistic, Terms.of(1, rows=60))
    firsts = draft.record.derivation.firsts
    assert len(firsts) == 9
    for cell, (first, after) in enumerate(itertools.pairwise(firsts)):
        noisy = tuple(Fraction(60 * (place == cell)) for place in range(8))
        low, high = replace(draft.record, noisy=noisy).interval(0.5, kind=kind)
        assert (low.tolist(), high.tolist()) == ([3 + first] * 2, [3 + after - 1] * 2)


def test_intervals_do_not_need_records_between_cells():
    """Each of the sides may be the bounds, and the released point is always inside."""
    statistic = ib.Quantile(UNNAMED, q=["1/100", "1/2", "99/100"], bounds=(0, 1), method="counts")
    draft = draft_statistic(statistic, Terms.of(1, rows=200))
    (record,) = noisy_records(draft, np.array([0] * 6 + [100, 100] + [0] * 8), 2.0, 1, 3)
    for kind in ("noise", "population"):
        low, high = record.interval(0.95, kind=kind)
        assert low[0] == 0 or low[0] < 0.3
        assert (low <= record.value).all()
        assert (record.value <= high).all()
        assert (np.diff(low) >= 0).all()
        assert (np.diff(high) >= 0).all()
        wider = record.interval(0.999, kind=kind)
        assert (wider.lower <= low).all()
        assert (wider.upper >= high).all()
    assert record.interval(0.95, kind="noise").method == cells.METHOD


def test_intervals_are_far_shorter_than_those_of_points_that_are_drawn():
    x = np.random.default_rng(0).normal(0.5, 0.1, 5000)
    q = [k / 10 for k in range(1, 10)]
    widths = {}
    for method in ("counts", "together"):
        made = ib.quantile(x, q=q, bounds=(0, 1), epsilon=1, method=method).interval(0.95)
        widths[method] = (made.upper - made.lower).mean()
    assert widths["counts"] < widths["together"] / 3


@pytest.mark.claim("band-of-counts")
@pytest.mark.parametrize("law", ["normal", "two points", "mostly zero", "constant"])
def test_the_band_of_counts_holds_everywhere(law):
    statistic = ib.Quantile(UNNAMED, q=SHARES, bounds=(-20, 120), step="0.1", method="counts")
    draft = draft_statistic(statistic, Terms.of(1, rows=1000))
    way, scale = draft.record.derivation, float(draft.record.certificate.grid.scale.steps)
    rng, at, missed, runs = np.random.default_rng(2), np.linspace(-20, 120, 281), 0, 60
    for run in range(runs):
        x = np.rint((np.clip(LAWS[law](rng, 1000), -20, 120) + 20) * 10).astype(int)
        counts = np.add.reduceat(np.bincount(x, minlength=1401), way.firsts[:-1])
        (record,) = noisy_records(draft, counts, scale, 1, run)
        band = distribution(record, LEVEL, kind="noise")
        low, high = band.at(at)
        share = np.searchsorted(np.sort(x / 10 - 20), at + 1e-9, side="right") / 1000
        missed += bool(((share < low - 1e-9) | (share > high + 1e-9)).any())
        wide = distribution(record, LEVEL)
        assert (wide.lower <= band.lower).all()
        assert (np.diff(band.lower) >= 0).all()
        assert (np.diff(band.upper) >= 0).all()
        assert len(band.points) == len(way.firsts) - 2
    assert missed <= stats.binom(runs, 1 - LEVEL).isf(1e-10)
    assert (band.upper - band.lower).mean() < 0.2


@pytest.mark.claim("band-of-counts")
def test_the_band_holds_where_noise_is_far_larger_than_the_number_of_records(monkeypatch):
    """What noise may be off by has nothing to do with how many records there are: with limits that are no further
    from the noisy counts than these, half of all bands missed."""
    statistic = ib.Quantile(UNNAMED, q=SHARES, bounds=(0, 7), step=1, method="counts")
    draft = draft_statistic(statistic, Terms.of("0.001", rows=20))
    scale, runs = float(draft.record.certificate.grid.scale.steps), 150
    assert len(draft.record.derivation.firsts) == 3

    def count_missed():
        made = (
            distribution(one, LEVEL, kind="noise") for one in noisy_records(draft, np.array([10, 10]), scale, runs, 1)
        )
        return sum(not (band.lower[0] <= 0.5 <= band.upper[0]) for band in made)

    most = stats.binom(runs, 1 - LEVEL).isf(1e-10)
    assert count_missed() <= most
    own = cells._find_distance
    monkeypatch.setattr(cells, "_find_distance", lambda noise, alpha: min(own(noise, alpha), 20))
    assert count_missed() > most


@pytest.mark.claim("band-of-counts")
@pytest.mark.parametrize("size", [2, 3])
@pytest.mark.parametrize("alpha", [0.6, 0.3, 0.1, 0.03])
def test_the_band_shares_what_may_be_missed_among_all_limits(size, alpha):
    """By enumeration: each of them is as near as half of its part of the chance allows, and no nearer."""
    rows = 40
    statistic = ib.Quantile(UNNAMED, q=SHARES, bounds=(0, size - 1), step=1, method="counts")
    draft = draft_statistic(statistic, Terms.of("0.8", rows=rows))
    assert len(draft.record.derivation.firsts) == size + 1
    counts = {2: (20, 20), 3: (14, 12, 14)}[size]
    record = replace(draft.record, noisy=tuple(map(Fraction, counts)))
    _, _, lower, upper = cells.bound_shares(record, alpha)
    scale, each = float(draft.record.certificate.grid.scale.steps), alpha / (2 * (size - 1))
    for place, count in enumerate(itertools.accumulate(counts[:-1])):
        law = sums_by_enumeration(size, place + 1, scale, 60)
        off = next(d for d in range(40) if sum(chance for total, chance in law.items() if total > d) <= each)
        assert 0 < off < count
        assert (lower[place] * rows, upper[place] * rows) == pytest.approx((count - off, count + off))


@pytest.mark.claim("band-of-counts")
@pytest.mark.claim("distribution-band")
@pytest.mark.parametrize("method", ["counts", "together", "halving"])
def test_half_of_what_a_band_may_miss_is_for_the_sample(method):
    """Wider than the table's by the distance that the sample's distribution function exceeds with a chance of α/2:
    2 e^(-2 n d²) (Massart 1990)."""
    rows, alpha = 4000, 0.1
    x = np.linspace(0, 1, rows)
    made = ib.quantile(x, q=["1/4", "1/2", "3/4"], bounds=(0, 1), epsilon=20, method=method)
    wide, own = distribution(made, 1 - alpha), distribution(made, 1 - alpha / 2, kind="noise")
    distance = math.sqrt(math.log(2 / (alpha / 2)) / (2 * rows))
    assert wide.lower == pytest.approx(np.maximum(own.lower - distance, 0), abs=1e-12)
    assert wide.upper == pytest.approx(np.minimum(own.upper + distance, 1), abs=1e-12)
    assert ((wide.lower > 0) & (wide.upper < 1)).any()


@pytest.mark.claim("band-of-counts")
def test_limits_of_a_band_never_cross():
    """Noisy counts that contradict each other are rarer than what may be missed; an empty band says nothing then."""
    statistic = ib.Quantile(UNNAMED, q=SHARES, bounds=(0, 2), step=1, method="counts")
    draft = draft_statistic(statistic, Terms.of(2, rows=50))
    record = replace(draft.record, noisy=(Fraction(50), Fraction(-50), Fraction(50)))
    for kind in ("noise", "population"):
        band = distribution(record, LEVEL, kind=kind)
        assert (band.lower <= band.upper).all()
        assert (np.diff(band.lower) >= 0).all()
        assert (np.diff(band.upper) >= 0).all()
        # Both of the limits that cross are in it.
        assert band.lower[0] < 0.3 < 0.7 < band.upper[1]
