"""Repairs onto the simplex: every result is on it, and the nearest is the nearest."""

import itertools

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import optimize

from inbounds.repairs.simplex import all_but_one, likeliest, project, rescale, round_sums, whole

REPAIRS = {
    "rescale": rescale,
    "project": project,
    "all but the first": lambda x: all_but_one(x, 0),
    "all but the last": lambda x: all_but_one(x, x.shape[-1] - 1),
}


@pytest.mark.claim("simplex-rescale")
@pytest.mark.claim("simplex-project")
@pytest.mark.claim("simplex-all-but-one")
@pytest.mark.parametrize("name", REPAIRS)
@pytest.mark.parametrize("size", [1, 2, 4, 30, 1000])
@pytest.mark.parametrize("scale", [0.001, 0.1, 10.0, 1e6])
def test_every_result_is_on_the_simplex(name, size, scale):
    rng = np.random.default_rng(size)
    true = rng.dirichlet(np.ones(size))
    noisy = true + rng.laplace(0, scale, (200, size))
    noisy[0], noisy[1] = -1.0, 0.0
    repaired = REPAIRS[name](noisy)
    assert (repaired >= 0).all()
    assert repaired.sum(axis=-1) == pytest.approx(np.ones(200), abs=1e-12)
    assert repaired == pytest.approx(np.array([REPAIRS[name](row) for row in noisy]), abs=1e-15)


vectors = st.lists(st.floats(-3, 3, allow_nan=False), min_size=1, max_size=8)


@pytest.mark.claim("simplex-project")
@settings(max_examples=60)
@given(vectors)
def test_the_projection_is_the_nearest(x):
    x = np.array(x)
    nearest = project(x)
    found = optimize.minimize(
        lambda y: ((y - x) ** 2).sum(),
        np.full(len(x), 1 / len(x)),
        bounds=[(0, 1)] * len(x),
        constraints={"type": "eq", "fun": lambda y: y.sum() - 1},
        method="SLSQP",
        options={"ftol": 1e-14, "maxiter": 300},
    )
    assert ((nearest - x) ** 2).sum() <= found.fun + 1e-7
    assert project(nearest) == pytest.approx(nearest, abs=1e-12)


@pytest.mark.claim("simplex-whole")
@pytest.mark.parametrize("total", [0, 1, 4, 6])
def test_whole_numbers_are_the_nearest_of_all(total):
    """Against every vector of whole numbers with that sum."""
    rng = np.random.default_rng(total)
    every = np.array([v for v in itertools.product(range(total + 1), repeat=3) if sum(v) == total])
    for x in (*rng.integers(-5, 9, (40, 3)).astype(float), *rng.normal(2, 3, (40, 3))):
        found = whole(x, total)
        assert found.sum() == total
        assert (found >= 0).all()
        assert (found == np.rint(found)).all()
        assert ((found - x) ** 2).sum() == pytest.approx(((every - x) ** 2).sum(axis=1).min())


def test_whole_vectors_of_many_cells():
    rng = np.random.default_rng(0)
    noisy = rng.integers(-40, 60, (100, 1000)).astype(float)
    for total in (1, 999, 123_456):
        found = whole(noisy, total)
        assert (found.sum(axis=-1) == total).all()
        assert (found >= 0).all()


@pytest.mark.claim("simplex-whole")
def test_which_counts_get_one_more():
    """All choices are equally near: the largest where what is at stake mirrors negative counts, else the smallest."""
    # Two too many. One count of -1 beside three of 1: the largest lose.
    assert whole(np.array([9.0, 1, 1, 1, -1, 8]), 18).tolist() == [8.0, 1, 1, 1, 0, 7]
    # Two of -1 beside three of 1: these lose, at even distances.
    assert whole(np.array([9.0, 1, 1, 1, -1, -1, 8]), 18).tolist() == [9.0, 0, 0, 1, 0, 0, 8]
    assert whole(np.array([3.0] * 8), 20).tolist() == [2, 3, 2, 3, 2, 3, 2, 3]
    # Nothing is lacking, or everything is.
    assert whole(np.array([4.0, 0, -3]), 4).tolist() == [4, 0, 0]
    assert whole(np.array([-5.0, -5, -7]), 1).tolist() == [0, 1, 0]


def test_whole_counts_are_found_in_integers():
    """Beside 2^52 a third has no digits left: in doubles the sum would be missed."""
    far = 2.0**52
    assert whole(np.array([far, far + 1, far, -far]), 4).tolist() == [1, 2, 1, 0]
    rng = np.random.default_rng(5)
    x = rng.integers(-30, 90, (50, 37)).astype(float)
    for row, found in zip(x, whole(x, 500), strict=True):
        assert ((found - row) ** 2).sum() == ((whole(row + 2**40, 500) - row) ** 2).sum()
    large = whole(np.array([2.0**31 - 1] * 3 + [-(2.0**58)]), 2**31 - 1)
    assert large.sum() == 2**31 - 1


@pytest.mark.claim("simplex-round-sums")
def test_rounded_sums_over_ranges():
    rng = np.random.default_rng(8)
    counts = 1000 * rng.dirichlet(np.full(60, 0.2), 50)
    found = round_sums(counts, 1000)
    assert (found >= 0).all()
    assert (found == np.rint(found)).all()
    assert (found.sum(axis=-1) == 1000).all()
    off = np.cumsum(found - counts, axis=-1)
    assert np.abs(off).max() <= 0.5 + 1e-8
    # Rounded one by one, sums drift away.
    assert np.abs(np.cumsum(np.rint(counts) - counts, axis=-1)).max() > 1
    halves = np.array([0.5, 0.5 - 1e-14, 0.5 + 1e-14, 0.5])
    assert round_sums(halves, 2).tolist() == round_sums(np.full(4, 0.5), 2).tolist() == [1, 0, 1, 0]


def test_rules_by_hand():
    assert rescale(np.array([0.25, 0.75])).tolist() == rescale(np.array([0.5, 1.5])).tolist() == [0.25, 0.75]
    assert rescale(np.array([-0.2, 0.0, -1.0, 0.0])).tolist() == [0.25] * 4
    assert all_but_one(np.array([9.0, 0.25, 0.5]), 0).tolist() == [0.25, 0.25, 0.5]
    assert all_but_one(np.array([9.0, 0.75, 0.75]), 0).tolist() == [0.0, 0.5, 0.5]
    assert all_but_one(np.array([-0.5, 0.3]), 1).tolist() == [0.0, 1.0]
    assert project(np.array([5.0])).tolist() == [1.0]


@pytest.mark.parametrize(
    ("call", "error", "words"),
    [
        (lambda: rescale(np.array([])), ValueError, "an element or more"),
        (lambda: rescale(np.array(0.5)), ValueError, "an element or more"),
        (lambda: project(np.array([np.nan, 1.0])), ValueError, "must be finite"),
        (lambda: all_but_one(np.ones(3), 3), ValueError, "derived must be the place of a share, below 3"),
        (lambda: all_but_one(np.ones(3), -1), ValueError, "derived must be >= 0"),
        (lambda: whole(np.ones(3), -1), ValueError, "total must be >= 0"),
    ],
)
def test_bad_input_is_named(call, error, words):
    with pytest.raises(error, match=words):
        call()


def test_projections_of_what_is_far_away():
    """Elements of 1e17 beside a sum of one: to move all of them alike changes nothing."""
    near = np.array([0.9, 0.5, -0.2])
    for far in (-1e6, 1e6, 2.0**40):
        assert project(near + far) == pytest.approx(project(near), abs=1e-16 * abs(far) * 8)
    assert project(np.array([3e17, -1e17, 2e17])).tolist() == [1.0, 0.0, 0.0]
    assert project(np.array([1e300, 1e300])).tolist() == [0.5, 0.5]


@pytest.mark.claim("simplex-likeliest")
def test_the_likeliest_counts_are_nearest_in_sum():
    """Over all whole counts with the sum: no other is nearer in Σ|x - c|, on which alone the chance depends."""
    rng = np.random.default_rng(4)
    for _ in range(200):
        noisy = rng.integers(-4, 7, 4)
        total = int(noisy.sum())
        if total < 0:
            continue
        made = likeliest(noisy.astype(float), total)
        assert made.sum() == total
        assert (made >= 0).all()
        assert (made <= np.maximum(noisy, 0)).all()
        every = [x for x in itertools.product(range(total + 1), repeat=3) if sum(x) <= total]
        least = min(np.abs(np.array([*x, total - sum(x)]) - noisy).sum() for x in every)
        assert np.abs(made - noisy).sum() == least
        # Only the smallest of the others are touched, and doing it twice changes nothing.
        touched = noisy[(made < noisy) & (made > 0)]
        assert len(touched) <= 1
        assert all(made[k] == 0 for k in range(4) if len(touched) and noisy[k] < touched[0])
        assert (likeliest(made, total) == made).all()


@pytest.mark.claim("simplex-likeliest")
def test_the_likeliest_counts_favour_neither_end():
    assert likeliest(np.array([3.0, 1, 1, -1, 1, 1, 4]), 10).tolist() == [3, 0, 1, 0, 1, 1, 4]
    assert likeliest(np.array([3.0, 1, 1, -2, 1, 1, 4]), 9).tolist() == [3, 0, 1, 0, 1, 0, 4]
    many = np.array([[5.0, -1.0, 2.0], [0.4, 0.4, 0.3]])
    assert likeliest(many, 6).tolist() == [[5, 0, 1], [0, 6, 0]]
    with pytest.raises(ValueError, match="total must be"):
        likeliest(many, -1)
