"""Forms of moments: their ranges by other algorithms, and that no record moves all moments by more than a norm of 1."""

import itertools
import random

import numpy as np
import pytest

from inbounds.privacy.forms import FORMS, Form, find_range, list_forms, moment_rows
from tests import moments

BOTH = pytest.mark.parametrize("counted", [False, True])
MOVES = {False: "moments", True: "counted moments"}


def terms(form):
    """A form as coefficients of products of columns, read from its own fields."""
    linear = [(c, [j]) for j, c in enumerate(form.linear)]
    return [(c, list(names)) for c, names in [*linear, *zip(form.products, form.pairs, strict=True)] if c]


def value(made, point):
    return sum(c * np.prod([point[j] for j in names]) for c, names in made)


def is_at_most(made, columns, most):
    """Whether a form is at most ``most`` on the whole cube, by branch and bound.

    On a box of half-width h about c: f ≤ f(c) + Σ_j |∂f/∂u_j(c)| h + Σ |b_jk| h². Centres are multiples of powers of
    two, so that doubles are exact.
    """
    curved = sum(abs(c) for c, names in made if len(names) == 2)
    signs = np.array(list(itertools.product((1.0, -1.0), repeat=columns)))
    centres, half = np.zeros((1, columns)), 1.0
    while len(centres):
        at = sum(c * centres[:, names].prod(axis=1) for c, names in made)
        if (at > most).any():
            return False
        slopes = np.zeros_like(centres)
        for c, names in made:
            for k, j in enumerate(names):
                slopes[:, j] += c * centres[:, names[:k] + names[k + 1 :]].prod(axis=1)
        open_ones = centres[at + np.abs(slopes).sum(axis=1) * half + curved * half**2 > most]
        half /= 2
        centres = (open_ones[:, None, :] + half * signs).reshape(-1, columns)
        assert len(centres) < 4_000_000, "not decided"
    return True


@pytest.mark.claim("form-range")
@pytest.mark.parametrize("form", FORMS, ids=str)
def test_ranges_from_both_sides(form):
    """Attained on a grid of records, and by branch and bound nowhere exceeded by a sixteenth."""
    low, high = find_range(form)
    found = moments.extremes(_spelled(form))
    assert found == pytest.approx((float(low), float(high)), abs=1e-12)
    made, room = terms(form), 1 / 16
    assert is_at_most(made, form.columns, float(high) + room)
    assert is_at_most([(-c, names) for c, names in made], form.columns, -float(low) + room)
    # A range that is too small by as much is caught.
    assert not is_at_most(made, form.columns, float(high) - room)
    assert not is_at_most([(-c, names) for c, names in made], form.columns, -float(low) - room)


def _spelled(form):
    return " ".join(f"{c:+d}" + "".join(f"u{j + 1}" for j in names) for c, names in terms(form))


@pytest.mark.claim("form-range")
def test_ranges_of_any_form():
    """Random forms of one to three columns, also flat and singular ones, against a grid and what lies between it."""
    rng, parts = random.Random(5), 24
    caught = 0
    for _ in range(150):
        columns = rng.choice([1, 2, 3])
        linear = tuple(rng.randint(-2, 2) for _ in range(columns))
        products = tuple(rng.randint(-2, 2) for _ in range(columns * (columns + 1) // 2))
        form = Form(linear, products)
        if not (any(linear) or any(products)):
            continue
        low, high = map(float, find_range(form))
        grid = moments.extremes(_with_all(form), parts)
        # At an extreme the slope along its face is 0, and the faces are on the grid.
        between = sum(map(abs, products)) / parts**2
        assert grid[0] - between - 1e-12 <= low <= grid[0] + 1e-12
        assert grid[1] - 1e-12 <= high <= grid[1] + between + 1e-12
        corners = [value(terms(form), point) for point in itertools.product((-1, 1), repeat=columns)]
        caught += min(corners) > low + 1e-9 or max(corners) < high - 1e-9
    # Corners alone would often be wrong.
    assert caught > 40


def _with_all(form):
    """Spelled with a term of its last column, so that the grid has as many columns as the form."""
    return f"{_spelled(form)} +0u{form.columns}"


@pytest.mark.claim("form-range")
def test_columns_and_signs_change_no_range():
    """All images of a form have its extremes: each row's largest and least value over corners and halves."""
    points = np.array(list(itertools.product([-1, -0.5, 0, 0.5, 1], repeat=3)))
    sums = 2 * moments.moments_of(points, counted=False)
    rows = moment_rows(3, "moments")
    for weights, limit in rows:
        reached = sums @ np.array(weights)
        assert reached.max() - reached.min() == pytest.approx(2 * limit, abs=1e-12)


def extreme_records(columns, rng, count=4000):
    """Corners, faces, middles and halves of the cube, and random records."""
    special = rng.choice([-1.0, -0.5, 0.0, 0.5, 1.0], (count, columns), p=[0.3, 0.1, 0.2, 0.1, 0.3])
    mixed = np.where(rng.random((count, columns)) < 0.5, special, rng.uniform(-1, 1, (count, columns)))
    return np.concatenate([special, mixed])


def measure(rows, moves):
    """N of each move, by the library's rows."""
    found = np.abs(moves).max(axis=1)
    for weights, limit in rows:
        found = np.maximum(found, np.abs(moves @ np.array(weights, float)) / limit)
    return found


def moves_of(columns, counted, rng):
    one, two = (moments.moments_of(extreme_records(columns, rng), counted=counted) for _ in range(2))
    return np.concatenate([one, -two]) if counted else one - two


@pytest.mark.claim("moment-rows")
@BOTH
@pytest.mark.parametrize("columns", [1, 2, 3, 4, 5, 6, 7])
def test_no_record_moves_all_moments_by_more_than_one(columns, counted):
    moves = moves_of(columns, counted, np.random.default_rng(columns))
    rows = moment_rows(columns, MOVES[counted])
    assert measure(rows, moves).max() == pytest.approx(1, abs=1e-12)
    # The reference has the same rows, by other means.
    assert len(moments.forms(columns, counted)) == len(rows) + moves.shape[1]
    assert measure(rows, moves) == pytest.approx(moments.norm(moves, columns, counted=counted), abs=1e-9)


@pytest.mark.claim("moment-rows")
@BOTH
@pytest.mark.parametrize("columns", [1, 2, 3])
def test_every_row_is_attained_and_a_wrong_weight_is_caught(columns, counted):
    """Each bound is reached by a pair of records, so that none could be smaller."""
    points = np.array(list(itertools.product(np.linspace(-1, 1, 9), repeat=columns)))
    sums = moments.moments_of(points, counted=counted)
    caught = 0
    for weights, limit in moment_rows(columns, MOVES[counted]):
        reached = sums @ np.array(weights, float)
        span = np.abs(reached).max() if counted else reached.max() - reached.min()
        assert span == pytest.approx(limit, abs=1e-9)
        if counted:
            # From both sides: the form's middle is counted off.
            assert (reached.min(), reached.max()) == pytest.approx((-limit, limit), abs=1e-9)
        for place, weight in enumerate(weights):
            wrong = sums @ np.array([w + (i == place) * (1 if weight >= 0 else -1) for i, w in enumerate(weights)])
            caught += (np.abs(wrong).max() if counted else wrong.max() - wrong.min()) > limit + 1e-9
    assert caught > len(moment_rows(columns, MOVES[counted]))


@pytest.mark.claim("moment-rows")
def test_forms_end_where_too_few_draws_would_be_kept():
    for columns, counted in ((moments.MOST[False] + 1, False), (moments.MOST[True] + 1, True)):
        assert moment_rows(columns, MOVES[counted]) == ()
        assert all(form.is_single for form in list_forms(columns, MOVES[counted]))
        assert len(list_forms(columns, MOVES[counted])) == 3
        assert moment_rows(columns - 1, MOVES[counted])


def selected_moves(columns, *, products, rng):
    """Moves of a selection: a record in it takes another value, or comes in, or leaves; the count is not halved."""
    one, two = (moments.moments_of(extreme_records(columns, rng), counted=True) for _ in range(2))
    moves = np.concatenate([one - two, one, -two])
    moves[:, 1:] /= 2
    return moves if products else moves[:, : 1 + columns]


SELECTED = pytest.mark.parametrize(
    ("columns", "moves"),
    [*((d, "selected moments") for d in (1, 2, 3, 4, 5)), *((d, "selected sums") for d in (1, 2, 5, 13))],
)


@pytest.mark.claim("moment-rows")
@SELECTED
def test_no_record_moves_a_selection_by_more_than_one(columns, moves):
    rng = np.random.default_rng(columns)
    made = selected_moves(columns, products=moves == "selected moments", rng=rng)
    rows = moment_rows(columns, moves)
    assert measure(rows, made).max() == pytest.approx(1, abs=1e-12)
    # Two records at once go beyond it, as they should.
    assert measure(rows, made + made[rng.permutation(len(made))]).max() > 1.9


@pytest.mark.claim("moment-rows")
@pytest.mark.parametrize(("columns", "moves"), [(1, "selected moments"), (2, "selected moments"), (2, "selected sums")])
def test_every_row_of_a_selection_is_attained(columns, moves):
    """By a pair of records within it, and by one that comes or goes: so that no limit could be smaller."""
    points = np.array(list(itertools.product(np.linspace(-1, 1, 9), repeat=columns)))
    sums = moments.moments_of(points, counted=True)
    sums[:, 1:] /= 2
    sums = sums if moves == "selected moments" else sums[:, : 1 + columns]
    for weights, limit in moment_rows(columns, moves):
        reached = sums @ np.array(weights, float)
        assert reached.max() - reached.min() == pytest.approx(limit, abs=1e-9)
        assert np.abs(reached).max() == pytest.approx(limit, abs=1e-9)


@pytest.mark.claim("moment-rows")
def test_sums_of_a_selection_have_a_hexagon():
    """|c| ≤ 1 and |c| + |s| ≤ 2 for one column, s the change of its sum, drawn in halves."""
    assert set(moment_rows(1, "selected sums")) == {((1, 2), 2), ((-1, 2), 2)}
    assert moment_rows(13, "selected sums") == ()
    assert moment_rows(5, "selected moments") == ()
    assert len(list_forms(5, "selected moments")) == 3


def test_forms_are_written_as_polynomials():
    assert [str(form) for form in FORMS[:4]] == [
        "u1 + u1^2",
        "u1 + u2 + u1^2 - u1u2 + u2^2",
        "u1 + u2 + u1^2 - u1u2",
        "2u1^2 + 2u1u2 - u2^2",
    ]
    assert str(Form((-1, 0), (0, -2, 0))) == "- u1 - 2u1u2"
    assert len(set(map(str, FORMS))) == len(FORMS)
