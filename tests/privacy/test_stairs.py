"""Which single numbers have staircase noise, and that certificates of it prove what they claim."""

import json
import math
from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest

import inbounds as ib
from inbounds.errors import InboundsError
from inbounds.grid.law import GridMechanism
from inbounds.grid.scale import Scale
from inbounds.grid.staircase import StaircaseLaw, Stairs
from inbounds.privacy.certificate import CertificateError, _digest, certify, verify
from inbounds.privacy.certified import single_law
from inbounds.privacy.exact import choose_grid, exact_loss, grid_mechanism
from inbounds.privacy.stairs import best_core, take_stairs
from inbounds.privacy.terms import Terms

WIDE = (Fraction(0), Fraction(100))


def law_at(epsilon, bounding="bit", bounds=WIDE, sensitivity=Fraction(1, 10), **keywords):
    return single_law("mean", Terms.of(epsilon, bounding=bounding, rows=1000), bounds, sensitivity, **keywords)


@pytest.mark.claim("staircase-choice")
@pytest.mark.parametrize(("epsilon", "gain"), [(1, 1.0), ("1.5", 1.0), ("1.6", 1.1133), (2, 1.1828), (4, 1.9237)])
def test_it_is_taken_where_its_error_is_clearly_smaller(epsilon, gain):
    """Gains are those of Geng and others on the real line: (2/ε²) / {[2^(-2/3) b^(2/3) (1+b)^(2/3) + b]/(1-b)²}."""
    law, plain = law_at(epsilon), law_at(epsilon, "truncated")
    assert plain.noise == "laplace"
    assert law.noise == ("staircase" if gain > 1 else "laplace")
    variance = float(replace(law.mechanism, bounding="unbounded").mse(0).upper) * 100
    b = math.exp(-float(law.epsilon))
    best = (2 ** (-2 / 3) * (b * (1 + b)) ** (2 / 3) + b) / (1 - b) ** 2
    laplace = 2 / float(law.epsilon) ** 2
    assert variance == pytest.approx(best if gain > 1 else laplace, rel=1e-5)
    assert laplace / variance == pytest.approx(gain, rel=1e-4)


@pytest.mark.claim("staircase-choice")
def test_counts_and_shares_keep_laplace_noise():
    assert law_at(
        4, step=Fraction(1, 1000), sensitivity=Fraction(5, 1000), bounds=(Fraction(0), Fraction(1))
    ).noise == ("laplace")
    table = {"x": [0, 1, 1, 0, 1] * 20}
    for release in (ib.proportion(table, "x", epsilon=5), ib.count(table, "x", level=1, epsilon=5)):
        assert release.certificate.noise == "laplace"
        assert release.certificate.width is None


@pytest.mark.claim("staircase-choice")
def test_the_choice_has_no_steps_back():
    """Errors fall as ε rises, also where the noise changes and far beyond any useful ε."""
    errors = [
        float(law_at(e).mechanism.mse(5 << 19).upper) for e in ("0.5", 1, "1.5", "1.52", 2, 8, 38, 40, 1000, 10**6)
    ]
    assert errors == sorted(errors, reverse=True)
    assert law_at(10**6).noise == "staircase"


@pytest.mark.claim("staircase-core")
@pytest.mark.parametrize("epsilon", [Fraction(1, 2), Fraction(3, 2), Fraction(2), Fraction(5)])
def test_no_other_core_has_less_variance(epsilon):
    width = 400
    found = best_core(width, epsilon)
    variance = {
        core: StaircaseLaw(Stairs(width, core), Scale.at_least(1 / epsilon)).moments(None, None)[1].upper
        for core in {*range(max(1, found - 4), min(width, found + 4) + 1), 1, width // 2, width}
    }
    assert variance[found] <= min(variance.values()) * (1 + Fraction(1, 10_000))
    assert abs(min(variance, key=variance.get) - found) <= 1
    assert variance[width] > variance[found] * Fraction(101, 100)


@pytest.mark.claim("staircase-loss")
def test_the_loss_counts_levels():
    for move, levels in ((1, 1), (5, 1), (6, 2), (10, 2), (11, 3)):
        assert exact_loss("bit", Scale(6, 128), move, 100, width=5).upper == 2 * levels


@pytest.mark.claim("certificate")
def test_certificates_are_made_verified_and_not_edited():
    made = law_at(2)
    record = json.loads(json.dumps(made.to_dict()))
    assert verify(record) == made
    assert (made.loss, made.epsilon, made.width) == (2, 2, made.move)
    assert made.mechanism.stairs == Stairs(made.width, made.core)
    assert made.spread == Fraction(1, 20)

    def edited(**changes):
        body = {name: value for name, value in (record | changes).items() if name != "digest"}
        return body | {"digest": _digest(body)}

    refused = {
        "exceeds the epsilon": edited(width=made.width - 1),
        "does not have this shape": edited(noise="laplace"),
        "malformed": edited(core=made.width + 1),
        "does not have 1 dimensions": edited(noise="sup-norm"),
    }
    refused |= {"exceeds": edited(divisor=made.divisor + 1), "malformed ": edited(bounding="truncated")}
    for words, wrong in refused.items():
        with pytest.raises(CertificateError, match=words.strip()):
            verify(wrong)
    for wrong in (
        edited(width=None, core=None),
        edited(width=None),
        edited(core=None),
        edited(core=1.5),
        edited(width="3"),
    ):
        with pytest.raises(CertificateError):
            verify(wrong)
    with pytest.raises(CertificateError, match="it was edited"):
        verify(record | {"core": made.core + 1})


@pytest.mark.claim("certificate")
def test_too_little_noise_gets_no_certificate():
    """A scale a millionth too small, levels a step too narrow, a sensitivity a step too large."""
    epsilon = Fraction(2)
    grid = choose_grid(*WIDE, Fraction(1, 10), epsilon)
    law = take_stairs(grid_mechanism("bit", grid, epsilon), grid.move, epsilon)
    keywords = {"statistic": "mean", "neighbours": "substitute", "sensitivity": Fraction(1, 10), "epsilon": epsilon}
    certify(law, **keywords)
    thinner = replace(law, scale=Scale(30, (law.scale.divisor << (30 - law.scale.exponent)) + (1 << 12)))
    narrower = replace(law, stairs=Stairs(grid.move - 1, law.stairs.core))
    for wrong in (thinner, narrower):
        with pytest.raises(CertificateError, match="exceeds"):
            certify(wrong, **keywords)
    with pytest.raises(CertificateError, match="exceeds"):
        certify(law, **(keywords | {"sensitivity": Fraction(1, 10) + law.step}))
    assert isinstance(law, GridMechanism)


@pytest.fixture(scope="module")
def table():
    rng = np.random.default_rng(3)
    return {"x": rng.uniform(0, 100, 200), "y": rng.uniform(0, 10, 200), "g": ["a", "b"] * 100}


def test_all_continuous_numbers_have_it(table):
    one = {"bounds": (0, 100), "epsilon": 4}
    two = {"bounds": {"x": (0, 100), "y": (0, 10)}, "method": "split"}
    releases = [
        ib.sum(table, "x", **one),
        *(way(table, "x", method="direct", **one) for way in (ib.mean, ib.variance, ib.standard_deviation)),
        ib.sum(table, "x", neighbours="add-remove", **one),
        ib.pooled_variance(table, "x", by="g", levels=["a", "b"], **one),
        ib.covariance(table, epsilon=6, **two),
    ]
    for release in releases:
        assert {part.noise for part in release.parts} == {"staircase"}, release.title
        assert ib.Release.from_json(release.to_json()).value == pytest.approx(release.value)
        assert np.max(release.error.worst_rmse) > 0
        assert "staircase" in release.to_json()
    assert {part.noise for part in ib.covariance(table, epsilon=4, **two).parts} == {"laplace"}
    assert ib.mean(table, "x", bounding="truncated", **one).certificate.noise == "laplace"


def test_a_record_with_another_staircase_is_refused(table):
    """A wider level costs no more, and would be certified; but it is not the law of this statistic."""
    release = ib.mean(table, "x", bounds=(0, 100), epsilon=4, method="direct")
    other = certify(
        replace(release.mechanism, stairs=Stairs(2 * release.certificate.width, release.certificate.core)),
        statistic="mean",
        neighbours="substitute",
        sensitivity=release.certificate.sensitivity,
        epsilon=release.certificate.epsilon,
    )
    assert verify(other.to_dict()) == other
    with pytest.raises(InboundsError):
        ib.Release.from_json(replace(release, certificate=other).to_json())
