"""ρ-zero-concentrated differential privacy: certificates against Rényi divergences that are computed without them."""

import hashlib
import json
import random
from dataclasses import replace
from fractions import Fraction
from functools import cache

import mpmath as mp
import pytest

from inbounds.errors import CertificateError
from inbounds.grid.gaussian import GaussianMechanism
from inbounds.grid.law import GridMechanism
from inbounds.grid.scale import Scale
from inbounds.privacy.certificate import certify, verify
from inbounds.privacy.certified import counts_law, single_law
from inbounds.privacy.exact import choose_grid
from inbounds.privacy.families import GaussianFamily, LaplaceFamily, family_of
from inbounds.privacy.guarantee import ZCDP, Pure, compose_parallel, parse_guarantee, require_pure
from inbounds.privacy.terms import Terms, read_promise

ONE = Fraction(1)


def cases(count=200):
    """Guarantees, moves and numbers of draws, and an order that is an integer in one case of two."""
    rng = random.Random(37)
    for number in range(count):
        rho = Fraction(rng.randint(1, 400), rng.choice([7, 100, 1000]))
        order = Fraction(rng.randint(2, 12)) if number % 2 else Fraction(rng.randint(101, 900), 100)
        yield rho, rng.randint(1, 4), rng.choice([1, 2]), order


def renyi(variance, move, order):
    """D_α between the noise and the noise moved by so many steps, summed at 60 digits."""
    with mp.workdps(60):
        twice, alpha = (
            2 * mp.mpf(variance.numerator) / variance.denominator,
            mp.mpf(order.numerator) / order.denominator,
        )
        # The terms are a Gaussian about (1-α) times the move, up to a factor.
        centre, reach = float((1 - order) * move), int(18 * float(variance) ** 0.5) + 8
        places = range(int(centre) - reach - 1, int(centre) + reach + 2)
        total = mp.fsum(mp.exp(-mp.mpf(k * k) / twice) for k in range(-reach, reach + 1))
        terms = (mp.exp(-(alpha * k * k + (1 - alpha) * (k - move) ** 2) / twice) for k in places)
        return mp.log(mp.fsum(terms) / total) / (alpha - 1)


def certified(rho, move, draws, bounding="bit"):
    family = family_of(ZCDP(rho), bounding, choose_grid(Fraction(0), Fraction(100), Fraction(move), ONE, step=ONE))
    law = ZCDP(rho).share(Fraction(1, draws)).calibrate(family, move)
    facts = {"statistic": "count", "neighbours": "substitute", "sensitivity": Fraction(move), "draws": draws}
    return certify(law, guarantee=ZCDP(rho), **facts)


@pytest.mark.claim("gaussian-rho")
@pytest.mark.claim("gaussian-calibrate")
def test_the_loss_is_that_of_numerical_renyi_divergences():
    tight = 0
    for rho, move, draws, order in cases():
        made = certified(rho, move, draws)
        assert made.loss <= rho
        # Rounding to more noise costs less than 2^-60 of ρ.
        assert made.loss > rho * (1 - Fraction(1, 1 << 60))
        with mp.workdps(60):
            true = draws * renyi(made.law.variance, move, order)
            claimed = mp.mpf(made.loss.numerator) / made.loss.denominator * order.numerator / order.denominator
            assert true <= claimed * (1 + mp.mpf(10) ** -50)
            # Where the order makes α·0 + (1-α)·move an integer, nothing is given away.
            if (order * move).denominator == 1:
                assert abs(true / claimed - 1) < mp.mpf(10) ** -50
                tight += 1
            # The same claim for a variance that is 1% smaller would be false.
            assert draws * renyi(made.law.variance * Fraction(99, 100), move, Fraction(2)) > 2 * claimed / order
    assert tight > 100


def sign(body):
    body = {name: value for name, value in body.items() if name != "digest"}
    text = json.dumps(body, sort_keys=True, separators=(",", ":"))
    return body | {"digest": hashlib.sha256(text.encode("ascii")).hexdigest()}


@pytest.mark.claim("certificate")
def test_a_smaller_rho_is_refused():
    for rho, move, draws, _ in cases(40):
        made = certified(rho, move, draws)
        assert verify(made.to_dict()) == made
        assert verify(json.dumps(made.to_dict())) == made
        less = made.loss * (1 - Fraction(1, 10**6))
        with pytest.raises(CertificateError, match="exceeds the rho claimed"):
            certify(
                made.law,
                guarantee=ZCDP(less),
                statistic="count",
                neighbours="substitute",
                sensitivity=made.sensitivity,
                draws=draws,
            )
        for change in ({"rho": str(less)}, {"rho": str(less), "loss": str(less)}):
            with pytest.raises(CertificateError, match="exceeds the rho claimed"):
                verify(sign(made.to_dict() | change))


EDITS = {
    "less noise": {"variance": "1/2"},
    "another loss": {"loss": "1/3"},
    "a smaller move": {"move": 0},
    "another noise": {"noise": "laplace"},
    "truncated": {"bounding": "truncated"},
    "an epsilon": {"epsilon": "1"},
    "no variance": {"variance": None},
    "a variance beyond all limits": {"variance": "0"},
    "of the first format": {"format": "inbounds-certificate/1"},
}


@pytest.mark.claim("certificate")
@pytest.mark.parametrize("edit", EDITS)
def test_edited_certificates_are_refused(edit):
    body = certified(Fraction(1, 2), 1, 1).to_dict()
    assert body["format"] == "inbounds-certificate/2"
    assert (body["rho"], body["variance"], body["loss"], body["noise"]) == ("1/2", "1", "1/2", "gaussian")
    assert "epsilon" not in body
    with pytest.raises(CertificateError):
        verify(sign(body | EDITS[edit]))
    with pytest.raises(CertificateError, match="does not fit its text"):
        verify(body | EDITS[edit])
    for name in body.keys() - {"digest", "format"}:
        with pytest.raises(CertificateError):
            verify(sign({other: value for other, value in body.items() if other != name}))


@pytest.mark.claim("compose-rho")
def test_guarantees_add_up_and_are_split():
    half = ZCDP(0.5)
    assert half.plus(ZCDP("1/4")) == ZCDP(0.75)
    assert half.minus(ZCDP("1/4")) == ZCDP(0.25)
    assert half.minus(half) is None
    assert half.covers(ZCDP(0.5))
    assert not half.covers(ZCDP("0.500000001"))
    assert half.split([1, 3]) == (ZCDP("1/8"), ZCDP("3/8"))
    assert Pure(1).split([1, 3]) == (Pure(0.25), Pure(0.75))
    third = ZCDP("1/3")
    assert third.round_up().covers(third)
    assert third.covers(third.round_down())
    assert third.round_up().rho - third.round_down().rho == Fraction(1, 10**9)
    assert ZCDP("1/10000000000").round_down() is None
    assert parse_guarantee(half.to_dict()) == half
    assert (str(half), half.describe(), Pure(0.5).describe()) == ("rho 0.5", "ρ = 0.5", "ε = 0.5")
    with pytest.raises(ValueError, match="rho must be > 0"):
        ZCDP(0)
    for mixed in (half.plus, half.minus, half.covers):
        with pytest.raises(TypeError, match=r"guarantees of different kinds do not add up: rho 0\.5 and epsilon 1"):
            mixed(Pure(1))


@pytest.mark.claim("gaussian-calibrate")
def test_a_guarantee_calibrates_the_least_noise():
    grid = choose_grid(Fraction(0), Fraction(100), ONE, ONE, step=ONE)
    law = ZCDP(0.5).calibrate(GaussianFamily("bit", grid), 3)
    assert law == GaussianMechanism("bit", Fraction(9), 0, 100)
    assert ZCDP(0.5).loss(law, 3) == Fraction(1, 2)
    plain = Pure(0.5).calibrate(LaplaceFamily("bit", grid), 3)
    assert plain == GridMechanism("bit", Scale.at_least(Fraction(6)), 0, 100)
    assert Pure(0.5).loss(plain, 3) <= Fraction(1, 2)
    for guarantee, other in ((ZCDP(0.5), plain), (Pure(0.5), law)):
        with pytest.raises(ValueError, match="is known for this noise"):
            guarantee.loss(other, 3)


@cache
def counted(neighbours, contributions, promise):
    rows = 100 if neighbours == "substitute" else None
    return counts_law("count", Terms.of(promise, neighbours, contributions, rows=rows))


@pytest.mark.parametrize("neighbours", ["substitute", "add-remove"])
@pytest.mark.parametrize("contributions", [1, 3])
def test_counts_of_groups_pay_for_the_worst_person(neighbours, contributions):
    """A person moves some counts by whole numbers, of which those that fall add up to at most ``contributions``."""
    rho = Fraction(1, 2)
    law = counted(neighbours, contributions, ZCDP(rho))
    places = 2 if neighbours == "substitute" else 1
    worst = max(
        sum(x * x for x in down) + (sum(x * x for x in up) if places == 2 else 0)
        for down in partitions(contributions)
        for up in partitions(contributions)
    )
    assert worst == places * contributions**2
    assert Fraction(worst) / (2 * law.law.variance) == law.loss == rho
    pure = counted(neighbours, contributions, 1)
    assert (pure.sensitivity, pure.draws) == (1, places * contributions)


def partitions(total, most=None):
    """Ways to write a number as a sum."""
    most = total if most is None else most
    if not total:
        return [[]]
    return [[first, *rest] for first in range(min(total, most), 0, -1) for rest in partitions(total - first, first)]


def test_what_cannot_be_promised_is_refused_in_words():
    terms = Terms.of(ZCDP(0.5), rows=10)
    with pytest.raises(ValueError, match=r"rho= is offered so far for inbounds\.count"):
        _ = terms.epsilon
    with pytest.raises(ValueError, match=r"rho= is offered so far for inbounds\.count"):
        single_law("mean", terms, (Fraction(0), Fraction(9)), ONE)
    cut = replace(terms, bounding="truncated")
    with pytest.raises(ValueError, match=r"bounding='truncated' is not offered with rho= yet; use bounding='bit'"):
        single_law("count", cut, (Fraction(0), Fraction(10)), ONE, step=ONE)
    with pytest.raises(ValueError, match="no noise can be drawn for this rho"):
        single_law("count", Terms.of(ZCDP("1e-30"), rows=10), (Fraction(0), Fraction(10)), ONE, step=ONE)
    for keywords in ({"epsilon": 1, "rho": 1}, {"epsilon": None, "rho": None}):
        with pytest.raises(TypeError, match="give either epsilon= or rho="):
            read_promise(**keywords)
    with pytest.raises(ValueError, match="rho must be > 0 and at most 1e6"):
        read_promise(None, 0)
    assert require_pure(Pure(2)) == 2
    with pytest.raises(TypeError, match="pure"):
        compose_parallel([ZCDP(1)])


def test_terms_are_written_and_read():
    terms = Terms.of(ZCDP("1/3"), rows=10)
    assert terms.to_dict()["rho"] == "1/3"
    assert "epsilon" not in terms.to_dict()
    assert Terms.from_dict(terms.to_dict()) == terms
    with pytest.raises(ValueError, match="rho must be at most 1e6"):
        Terms.from_dict(terms.to_dict() | {"rho": "10000000"})
