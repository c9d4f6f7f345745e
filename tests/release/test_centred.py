"""Variances around a noisy centre: two numbers that are drawn one after the other."""

import itertools
from fractions import Fraction

import numpy as np
import pytest
from bench.error import SpreadLaws

import inbounds as ib
from inbounds.errors import RecordError
from inbounds.grid.entropy import SeededEntropy
from inbounds.privacy.certificate import CertificateError, Composition
from inbounds.privacy.terms import Terms
from inbounds.record.release import Release
from inbounds.road import draw
from inbounds.statistics.base import quantise
from inbounds.statistics.centred import find_share, is_better
from inbounds.statistics.spreads import choose_method
from inbounds.tables.centred import CentredSquares, find_centre
from inbounds.tables.engine import tally
from inbounds.tables.sources import read
from tests.records import body_of, record_with

# Centres at the ends, in the middle and in between, as what was drawn for the first number of four records.
DRAWN = [Fraction(k, 7) for k in (-30, -14, -9, -3, 0, 1, 5, 11, 14, 25)]


def terms(rows, epsilon=1, contributions=1):
    return Terms.of(epsilon, contributions=contributions, rows=rows)


def numbers_of(records, drawn, bounds=(0, 8)):
    """Both numbers of a table by the library, the second after ``drawn``."""
    column = quantise(ib.Variance("x", bounds, integer=True)._column, terms(len(records)))
    made = CentredSquares(column, len(records))
    (cells,) = tally(read({"x": list(records)}, made.request.columns), [made.request])
    (second,) = made.second(cells, drawn)
    return made, made.first(cells), second


@pytest.mark.claim("statistic-centred-squares")
def test_no_neighbour_moves_a_number_by_more():
    """All tables of three records with five values, all that differ in one record, whatever was drawn first."""
    values = (0, 1, 4, 7, 8)
    for drawn in DRAWN:
        centre = find_centre(drawn, 3)
        assert centre == max(-1, min(1, 2 * drawn / 3))
        found = {}
        for records in itertools.combinations_with_replacement(values, 3):
            made, first, second = numbers_of(records, drawn)
            us = [Fraction(x, 4) - 1 for x in records]
            assert first == sum(us) / 2
            assert second == sum(((u - centre) / (1 + abs(centre))) ** 2 for u in us)
            found[records] = first, second
        assert made.sensitivities == (1, 1)
        moves = [
            [abs(a - b) for a, b in zip(found[one], found[tuple(sorted((*one[:i], x, *one[i + 1 :])))], strict=True)]
            for one in found
            for i in range(3)
            for x in values
        ]
        largest = [max(move[place] for move in moves) for place in range(2)]
        assert largest[0] == 1
        # Attained where a value lies at the centre; and never more.
        assert largest[1] <= 1
        if centre in (-1, 0, 1):
            assert largest[1] == 1


def test_the_brute_force_would_see_too_small_a_weight():
    """The control: squares over 1 + |c|, and not over its square, move by more than 1."""
    centre = find_centre(Fraction(3), 4)
    squares = [(Fraction(x, 4) - 1 - centre) ** 2 / (1 + abs(centre)) for x in (0, 8)]
    assert max(squares) - min(squares) > 1


@pytest.mark.claim("release-after")
def test_the_second_number_follows_the_first(monkeypatch):
    """With equal noise for both the second is the exact one around the centre that was drawn, and the same noise."""
    statistic = ib.Variance("x", (0, 8), integer=True, method="centred")
    draft = statistic.draft(terms(6))
    certificate = draft.record.certificate
    assert isinstance(certificate, Composition)
    assert draft.record.certificate.loss <= 1
    assert [part.epsilon for part in certificate.parts] == [Fraction(1, 4), Fraction(3, 4)]
    noise = {}
    for records in ([0, 1, 4, 7, 8, 8], [0, 1, 4, 7, 8, 0], [8] * 6):
        (cells,) = tally(read({"x": records}, draft.columns), list(draft.requests))
        monkeypatch.setattr(draw, "entropy_source", lambda entropy=SeededEntropy(3): entropy)  # noqa: B008
        made = draw.draw(draft, [cells])
        _, first, second = numbers_of(records, made.noisy[0])
        exact = first, second
        for place, part in enumerate(certificate.parts):
            steps = round((made.noisy[place] - exact[place]) / part.step)
            noise.setdefault(place, set()).add(steps)
    # Rounding to the grid may differ by a step.
    assert all(max(steps) - min(steps) <= 1 for steps in noise.values()), noise


def test_a_record_that_was_edited_is_refused():
    made = ib.variance(list(range(100)) * 20, bounds=(0, 100), epsilon=1)
    assert made.method == "variance around a noisy centre"
    assert Release.from_json(made.to_json()) == made == Release.from_json(record_with(body_of(made)))

    def swap(other):
        other["certificate"]["parts"].reverse()

    def cheapen(other):
        other["certificate"]["parts"][1]["epsilon"] = "1/2"

    def move(other):
        other["noisy"][1] = str(Fraction(other["noisy"][1]) + Fraction(1, 3**40))

    def shorten(other):
        other["noisy"].pop()

    def rename(other):
        other["statistic"]["method"] = "moments"

    for change in (swap, cheapen, move, shorten, rename):
        body = body_of(made)
        change(body)
        with pytest.raises((RecordError, CertificateError)):
            Release.from_json(record_with(body))


def simulate(x, epsilon, share, rng, draws):
    """Variances of values within [0, 1], by NumPy: Laplace noise and the formula of the page."""
    n, u = len(x), 2 * x - 1
    first, second = rng.laplace(0, 2 / share / epsilon, draws), rng.laplace(0, 1 / (1 - share) / epsilon, draws)
    centre = np.clip((u.sum() + first) / n, -1, 1)
    squares = (u**2).sum() - 2 * centre * u.sum() + n * centre**2 + (1 + np.abs(centre)) ** 2 * second
    made = (squares - 2 * (2 / share / epsilon) ** 2 / n) / 4 / (n - 1)
    return np.clip(made, 0, n * n // 4 / n / (n - 1))


@pytest.mark.parametrize("place", [0.5, 0.15, 0.02])
def test_errors_are_those_of_the_law(place):
    """Releases, and the error that a record expects, beside simulated ones. Noise of another ε is seen."""
    n, epsilon = 1000, Fraction(9, 10)
    x = np.random.default_rng(3).beta(5 * place, 5 * (1 - place), n)
    statistic = ib.Variance("x", (0, 1), method="centred")
    draft = statistic.draft(terms(n, epsilon))
    (cells,) = tally(read({"x": x}, draft.columns), list(draft.requests))
    values = np.array([draw.draw(draft, [cells]).value for _ in range(3000)])
    share, rng = float(find_share(terms(n, epsilon))), np.random.default_rng(4)
    wanted = simulate(x, float(epsilon), share, rng, 200_000) - x.var(ddof=1)
    errors = values - x.var(ddof=1)
    mse = (wanted**2).mean()
    # Squares of Laplace noise vary by √5 times their mean, and are further off than this once in 10^9 samples.
    assert (errors**2).mean() == pytest.approx(mse, rel=0.45)
    assert abs(errors.mean() - wanted.mean()) < 7 * np.sqrt(mse / 3000)
    expected = draw.draw(draft, [cells]).error
    assert expected.rmse == pytest.approx(np.sqrt(mse), rel=0.25)
    assert expected.worst_rmse >= 0.95 * expected.rmse
    assert abs(wanted.mean()) <= expected.worst_bias
    control = simulate(x, float(epsilon) / 2, share, rng, 200_000) - x.var(ddof=1)
    assert (errors**2).mean() != pytest.approx((control**2).mean(), rel=0.45)


@pytest.mark.claim("centred-interval")
@pytest.mark.parametrize("name", ["normal", "near a bound"])
def test_intervals_cover(name):
    """Those of the table itself cover about as often as they say, and shorter ones do not."""
    n, rng = 2000, np.random.default_rng(5)
    x = rng.normal(0.5, 0.1, n) if name == "normal" else rng.beta(1, 20, n)
    x = np.clip(x, 0, 1)
    draft = ib.Variance("x", (0, 1), method="centred").draft(terms(n))
    (cells,) = tally(read({"x": x}, draft.columns), list(draft.requests))
    truth, inside, short = x.var(ddof=1), 0, 0
    runs = 400
    for _ in range(runs):
        made = draw.draw(draft, [cells])
        lower, upper = made.interval(0.9, kind="noise")
        assert lower <= made.value <= upper
        inside += lower <= truth <= upper
        middle, half = (lower + upper) / 2, (upper - lower) / 8
        short += middle - half <= truth <= middle + half
    # Six standard errors of the share.
    assert inside / runs > 0.9 - 6 * (0.09 / runs) ** 0.5
    assert short / runs < 0.9 - 6 * (0.09 / runs) ** 0.5


def test_intervals_of_the_population_hold_those_of_the_table():
    x = np.clip(np.random.default_rng(6).normal(50, 10, 3000), 0, 100)
    for statistic in (ib.variance, ib.standard_deviation):
        made = statistic(x, bounds=(0, 100), epsilon=1)
        noise, normal, wide = (
            made.interval(0.95, kind="noise"),
            made.interval(0.95, method="normal"),
            made.interval(0.95),
        )
        assert wide.lower < normal.lower < noise.lower < made.value < noise.upper < normal.upper < wide.upper
        assert "around a noisy centre" in made.method


@pytest.mark.claim("centred-bound")
def test_rare_values_are_covered():
    """New samples of 0 and 1 with few 1; intervals of normal records are much too short."""
    n, share, runs, rng = 1000, 0.03, 120, np.random.default_rng(7)
    draft = ib.Variance("x", (0, 1), method="centred").draft(terms(n, 4))
    inside, normal = 0, 0
    for _ in range(runs):
        x = (rng.random(n) < share).astype(float)
        (cells,) = tally(read({"x": x}, draft.columns), list(draft.requests))
        made = draw.draw(draft, [cells])
        for method, held in ((None, True), ("normal", False)):
            lower, upper = made.interval(0.95, method=method) if method else made.interval(0.95)
            covers = lower <= share * (1 - share) <= upper
            inside, normal = inside + (covers and held), normal + (covers and not held)
    # Six standard errors.
    assert inside / runs > 0.95 - 6 * (0.0475 / runs) ** 0.5
    assert normal / runs < 0.95 - 6 * (0.0475 / runs) ** 0.5


def test_what_is_taken_by_default():
    """By public numbers alone: many records for their ε, a public number of them, and no truncation."""
    for rows, epsilon, better in ((499, 1, False), (500, 1, True), (4999, "0.1", False), (5000, "0.1", True)):
        assert is_better(terms(rows, epsilon)) is better
        method = ib.Variance("x", (0, 1)).draft(terms(rows, epsilon)).record.method
        assert method == ("variance around a noisy centre" if better else "variance from noisy moments")
    assert not is_better(terms(1000, 1, contributions=4))
    assert ib.Variance("x", (0, 1)).draft(Terms.of(1, "add-remove")).record.method.endswith("sums and count")
    assert ib.Variance("x", (0, 1)).draft(Terms.of(1, bounding="truncated", rows=1000)).record.method == "direct"
    with pytest.raises(ValueError, match="method='centred' needs a public number of records"):
        ib.variance([1.0] * 9, bounds=(0, 2), epsilon=1, method="centred", neighbours="add-remove")
    with pytest.raises(ValueError, match="bounding='truncated' needs method='direct'"):
        ib.variance([1.0] * 9, bounds=(0, 2), epsilon=1, method="centred", bounding="truncated")
    with pytest.raises(ValueError, match="method must be one of"):
        ib.mean([1.0] * 9, bounds=(0, 2), epsilon=1, method="centred")


@pytest.mark.claim("spread-method")
def test_the_chosen_way_is_near_the_best_of_all_three():
    """For a stated mean, or a range around it: simulated noise of the ways, of so many records that none is clamped."""
    rng, epsilon, draws = np.random.default_rng(8), 0.5, 100_000
    for rows in (5_000, 40_000):
        share = float(find_share(terms(rows, Fraction(1, 2))))
        for place in (0.0, 0.4, 0.7, 0.85, 0.97):
            x = (np.arange(rows) < round((1 + place) / 2 * rows)).astype(float)
            centred = ((simulate(x, epsilon, share, rng, draws) - x.var(ddof=1)) ** 2).mean() * (4 * rows) ** 2
            noise = {
                "centred": centred * epsilon**2,
                "moments": 3.54 + 47.9 * place**2,
                "direct": 32.0,
            }
            mean = float(x.mean())
            for stated in (mean, (max(mean - 0.05, 0.0), min(mean + 0.05, 1.0))):
                chosen = choose_method((0, 1), {"mean": stated}, epsilon, rows)
                assert noise[chosen] <= 1.1 * min(noise.values()), (rows, place, chosen, noise)


@pytest.mark.claim("spread-method")
def test_the_way_where_one_half_of_the_noise_is_clamped():
    """The variance of as many records at either bound is the largest there is: there the centred one is preferred."""
    rows, epsilon = 2000, "0.5"
    x, laws, known = np.arange(rows) % 2.0, SpreadLaws(200_000), Terms.of(epsilon, rows=rows)
    errors = {way: laws.mse(x, way, known) for way in ("direct", "moments", "centred")}
    assert errors["centred"] < 0.95 * errors["moments"]
    assert choose_method((0, 1), {"mean": (0.45, 0.55)}, epsilon, rows) == "centred"
    # Where nothing is clamped it has more noise, and away from the middle of the bounds no variance is so large.
    spread = np.linspace(0.2, 0.8, rows)
    assert laws.mse(spread, "centred", known) > laws.mse(spread, "moments", known)
    assert choose_method((0, 1), {"mean": (0.4, 0.5)}, epsilon, rows) == "moments"


def test_a_plan_draws_spreads_with_others():
    """Moments are shared where that has less noise; a spread that is drawn alone has a centre."""
    columns = {"x": {"bounds": [0, 100]}, "y": {"bounds": [0, 100]}}
    items = [{"name": "spread", "statistic": "variance", "columns": ["x"]}]
    body = {"data": {"rows": 3000}, "budget": {"epsilon": 1}, "columns": columns, "release": items}
    t = {"x": np.arange(3000) % 100, "y": np.arange(3000) % 90}
    assert ib.release(ib.Plan.of(body), t)["spread"].method == "variance around a noisy centre"
    items.append({"name": "centre", "statistic": "mean", "columns": ["x"]})
    both = ib.release(ib.Plan.of(body), t)
    assert both["spread"].method == "variance from noisy moments"
    assert both["spread"].group == both["centre"].group is not None
