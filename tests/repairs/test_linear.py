"""Linear constraints: bounds as tight as they can be, the nearest numbers, and contradictions named."""

import itertools
import math

import numpy as np
import pytest

from inbounds.repairs.linear import Constraint, Contradiction, System
from inbounds.repairs.simplex import project

UNIT = (0, 1)


def both(**bounds):
    return System.of(bounds, [Constraint.of({"s1": 1, "s2": 1}, equals=1)])


@pytest.mark.claim("linear-tightened")
def test_the_papers_remark():
    """s1 + s2 = c: each is bounded by c minus the other's bounds."""
    system = both(s1=(0.2, 1), s2=(0.3, 0.9))
    assert system.tighten() == {"s1": pytest.approx((0.2, 0.7)), "s2": pytest.approx((0.3, 0.8))}


@pytest.mark.claim("linear-tightened")
def test_tightened_bounds_by_brute_force():
    """On a grid of all numbers that obey."""
    system = System.of(
        {"a": (0, 1), "b": (0, 1), "c": (-1, 2)},
        [
            Constraint.of({"a": 2, "b": -1}, bounds=(0.5, 1.5)),
            Constraint.of({"a": 1, "b": 1, "c": 1}, bounds=(-math.inf, 0.4)),
        ],
    )
    grid = np.linspace(0, 1, 41)
    points = np.array(list(itertools.product(grid, grid, np.linspace(-1, 2, 61))))
    a, b, c = points.T
    good = points[(2 * a - b >= 0.5) & (2 * a - b <= 1.5) & (a + b + c <= 0.4)]
    for place, (low, high) in enumerate(system.tighten().values()):
        assert low <= good[:, place].min() + 1e-9
        assert high >= good[:, place].max() - 1e-9
        assert low >= good[:, place].min() - 0.06
        assert high <= good[:, place].max() + 0.06


@pytest.mark.claim("linear-tightened")
def test_open_sides_stay_open():
    system = System.of({"a": (0, math.inf), "b": (0, math.inf)}, [Constraint.of({"a": 1, "b": -1}, equals=2)])
    assert system.tighten() == {"a": (2.0, math.inf), "b": (0.0, math.inf)}


@pytest.mark.claim("linear-nearest")
def test_the_nearest_on_the_simplex():
    names = [f"p{i}" for i in range(6)]
    system = System.of(dict.fromkeys(names, UNIT), [Constraint.of(dict.fromkeys(names, 1), equals=1)])
    for noisy in np.random.default_rng(0).normal(0.2, 0.4, (20, 6)):
        found = system.nearest(dict(zip(names, noisy, strict=True)))
        assert list(found.values()) == pytest.approx(project(noisy), abs=1e-7)
        assert system.obeys(found)


@pytest.mark.claim("linear-nearest")
def test_errors_decide_who_moves():
    """Two numbers with errors 1 and 3 share what is lacking as 1 to 9."""
    system = both(s1=(-9, 9), s2=(-9, 9))
    found = system.nearest({"s1": 0.0, "s2": 0.0}, {"s1": 1.0, "s2": 3.0})
    assert found == {"s1": pytest.approx(0.1, abs=1e-7), "s2": pytest.approx(0.9, abs=1e-7)}
    fixed = system.nearest({"s1": 0.25, "s2": 5.0}, {"s1": 0.0, "s2": 1.0})
    assert fixed["s1"] == pytest.approx(0.25, abs=1e-6)


@pytest.mark.claim("linear-nearest")
@pytest.mark.parametrize("scale", [0.01, 1.0, 100.0])
def test_every_result_obeys(scale):
    rng = np.random.default_rng(1)
    names = list("abcde")
    constraints = [
        Constraint.of({"a": 1, "b": 1, "c": 1}, equals=1),
        Constraint.of({"c": 1, "d": -2}, bounds=(-0.5, 0.25)),
        Constraint.of({"d": 1, "e": 1}, bounds=(0.1, math.inf)),
    ]
    system = System.of(dict.fromkeys(names, UNIT), constraints)
    for noisy in rng.laplace(0.3, scale, (60, 5)):
        found = system.nearest(dict(zip(names, noisy, strict=True)))
        assert system.obeys(found)
        # Nothing on the way to another point that obeys is nearer.
        x = np.array(list(found.values()))
        other = np.array(list(system.nearest(dict(zip(names, rng.random(5), strict=True))).values()))
        for share in (1e-3, 0.1, 1.0):
            mixed = x + share * (other - x)
            assert ((x - noisy) ** 2).sum() <= ((mixed - noisy) ** 2).sum() * (1 + 1e-9) + 1e-9


def test_contradictions_are_named():
    """The two that clash, not the one that does not matter."""
    constraints = [
        Constraint.of({"a": 1, "b": 1}, equals=1),
        Constraint.of({"a": 1, "c": 1}, bounds=(0, 2)),
        Constraint.of({"a": 2, "b": 2}, bounds=(3, 4)),
    ]
    with pytest.raises(Contradiction) as caught:
        System.of({"a": UNIT, "b": UNIT, "c": UNIT}, constraints)
    assert str(caught.value) == "no numbers within the bounds obey all of: a + b = 1; 3 ≤ 2 a + 2 b ≤ 4"


@pytest.mark.parametrize(
    ("call", "error", "words"),
    [
        (lambda: Constraint.of({}, equals=1), TypeError, "weights must be a dictionary"),
        (lambda: Constraint.of({"a": 1}), TypeError, "either equals= or bounds="),
        (lambda: Constraint.of({"a": 1}, equals=1, bounds=(0, 1)), TypeError, "either equals= or bounds="),
        (lambda: Constraint.of({"a": 0}, equals=1), ValueError, "a weight other than 0"),
        (lambda: Constraint.of({"a": float("nan")}, equals=1), ValueError, r"weights\['a'\] must be a number"),
        (lambda: System.of({"a": UNIT}, [Constraint.of({"b": 1}, equals=1)]), ValueError, "names 'b', which has no"),
        (lambda: System.of({"a": (2, 1)}, []), ValueError, "bounds of 'a' must satisfy"),
        (lambda: both(s1=UNIT, s2=UNIT).nearest({"s1": math.inf, "s2": 0}), ValueError, "must be finite"),
        (
            lambda: both(s1=UNIT, s2=UNIT).nearest({"s1": 0, "s2": 0}, {"s1": -1, "s2": 0}),
            ValueError,
            "errors must be >= 0",
        ),
    ],
)
def test_bad_input_is_named(call, error, words):
    with pytest.raises(error, match=words):
        call()


def test_without_constraints_numbers_are_clipped():
    system = System.of({"a": UNIT, "b": (0, 5)}, [])
    assert system.nearest({"a": 7.0, "b": -1.0}) == pytest.approx({"a": 1.0, "b": 0.0}, abs=1e-9)
    assert system.tighten() == {"a": (0.0, 1.0), "b": (0.0, 5.0)}


def test_numbers_of_very_different_size():
    """Shares that add up to one, beside an income in millions with an error to match."""
    system = System.of({"a": UNIT, "b": UNIT, "income": (0, 1e7)}, [Constraint.of({"a": 1, "b": 1}, equals=1)])
    found = system.nearest({"a": 0.5, "b": 0.6, "income": 5e6}, {"a": 0.01, "b": 0.01, "income": 1e5})
    assert found == pytest.approx({"a": 0.45, "b": 0.55, "income": 5e6}, rel=1e-9)
    # A number without an error stays as it is.
    found = system.nearest({"a": 0.5, "b": 0.6, "income": 5e6}, {"a": 0.0, "b": 0.01, "income": 1e5})
    assert found == pytest.approx({"a": 0.5, "b": 0.5, "income": 5e6}, rel=1e-9)
    assert system.nearest({"a": 0.5, "b": 0.6, "income": 1.0}, dict.fromkeys(("a", "b", "income"), 0.0)) == (
        pytest.approx({"a": 0.45, "b": 0.55, "income": 1.0}, rel=1e-9)
    )
