"""Norms of blocks, the certificates of noise in them, and that rounding to the lattice is paid for."""

import json
from fractions import Fraction

import numpy as np
import pytest

from inbounds.grid.law import GridMechanism
from inbounds.grid.scale import Scale
from inbounds.privacy.certificate import CertificateError, _digest, certify, verify
from inbounds.privacy.certified import norm_law
from inbounds.privacy.norms import (
    MOST_COORDINATES,
    Block,
    count_coordinates,
    list_ranges,
    make_norm,
    norm_rounding,
)
from inbounds.privacy.terms import Terms
from inbounds.tables.coordinates import MomentSums
from inbounds.tables.schema import Numeric, quantise_column
from tests import moments

ONE = Fraction(1)


def terms(epsilon=1, contributions=1, neighbours="substitute"):
    return Terms.of(epsilon, neighbours, contributions, "bit").with_rows(100 if neighbours == "substitute" else None)


def law(blocks=("moments 2",), epsilon=1, contributions=1, neighbours="substitute"):
    return norm_law("covariance", terms(epsilon, contributions, neighbours), ONE * contributions, tuple(blocks))


def test_blocks_are_written_and_read():
    for text, dimension, counted in (("box 3", 3, False), ("moments 2", 5, False), ("counted moments 4", 15, True)):
        block = Block.parse(text)
        assert (str(block), block.dimension, block.counted) == (text, dimension, counted)
    assert count_coordinates(["box 3", "moments 2", "box 1"]) == 9
    for junk in (
        "box",
        "box 0",
        "box 03",
        "ball 3",
        "moments -1",
        " box 3",
        "box 3 ",
        "box 100000",
        3,
        None,
        ["box 3"],
    ):
        with pytest.raises(ValueError, match="a block of a norm is written as"):
            Block.parse(junk)
    with pytest.raises(ValueError, match=f"at most {MOST_COORDINATES:,} coordinates"):
        make_norm(("box 20000", "box 20000"))
    with pytest.raises(ValueError, match="coordinates in all"):
        make_norm(())


def test_blocks_follow_each_other():
    """A vector has the largest norm of its parts."""
    norm, rng = make_norm(("box 2", "moments 1", "counted moments 1")), np.random.default_rng(0)
    for z in rng.integers(-20, 21, (200, 7)):
        parts = [np.abs(z[:2]).max(), *moments.norm(z[2:4], 1, counted=False), *moments.norm(z[4:], 1, counted=True)]
        assert norm.measure(z.tolist()) == np.ceil(max(parts) - 1e-9)


@pytest.mark.parametrize(
    "blocks", [("moments 1",), ("moments 3",), ("counted moments 2",), ("box 4",), ("box 1", "moments 2")]
)
def test_what_rounding_adds(blocks):
    """The norm of a vector within one step in each coordinate, at its worst: over all signs for few of them."""
    worst = Fraction(0)
    for text in blocks:
        block = Block.parse(text)
        if block.kind == "box":
            worst = max(worst, ONE)
            continue
        rows = moments.forms(block.size, block.counted)
        worst = max(worst, Fraction(float(np.abs(rows).sum(axis=1).max())).limit_denominator(1000))
    assert norm_rounding(blocks) == worst


def test_ranges_name_what_they_rest_on():
    assert list_ranges(("moments 1",)) == (
        "u1 + u1^2 from -1/4 to 2",
        "2u1 + u1^2 from -1 to 3",
        "u1 from -1 to 1",
        "u1^2 from 0 to 1",
    )
    assert list_ranges(("box 3",)) == ()
    assert list_ranges(("moments 7",)) == ("u1 from -1 to 1", "u1^2 from 0 to 1", "u1u2 from -1 to 1")
    assert set(list_ranges(("moments 1", "moments 3"))) == set(list_ranges(("moments 3",)))
    for text in list_ranges(("moments 3",)):
        form, low, high = text.replace("^2", "").replace("from", "to").split(" to ")
        assert Fraction(low) < Fraction(high)
        assert form


@pytest.mark.claim("certificate")
@pytest.mark.parametrize("contributions", [1, 5])
@pytest.mark.parametrize("block", ["moments 1", "moments 4", "counted moments 2"])
def test_the_loss_is_at_most_epsilon(block, contributions):
    neighbours = "add-remove" if block.startswith("counted") else "substitute"
    for epsilon in np.geomspace(1e-9, 20, 25):
        made = law([block], Fraction(float(epsilon)), contributions, neighbours)
        assert made.loss <= made.epsilon
        # Hardly more noise than the norm asks for, but for an ε that leaves few steps.
        assert made.loss > made.epsilon * (Fraction(998, 1000) if epsilon > 1e-6 else Fraction(1, 2))
        assert float(made.spread) == pytest.approx(contributions / epsilon, rel=0.003 if epsilon > 1e-6 else 1)
        assert made.loss == made.draws * made.move / Scale(made.exponent, made.divisor).steps
        assert made.move >= made.sensitivity / made.step + norm_rounding((block,))
        assert verify(json.dumps(made.to_dict())) == made


@pytest.mark.claim("certificate")
def test_every_edit_of_a_joint_law_is_refused():
    """With the old digest and with a new one, whatever is edited alone."""
    record = law().to_dict()
    lies = {
        "statistic": 3,
        "neighbours": "add-remove",
        "bounding": "truncated",
        "first": 0.5,
        "last": "x",
        "step": str(2 * Fraction(record["step"])),
        "origin": "x",
        "exponent": record["exponent"] - 1,
        "divisor": record["divisor"] + 1,
        "dimension": 4,
        "draws": 2,
        "noise": "sup-norm",
        "width": 5,
        "core": 5,
        "location": "inside",
        "sensitivity": "2",
        "move": record["move"] - 1,
        "epsilon": "1/2",
        "loss": "1/2",
        "blocks": ["moments 1", "box 3"],
        "ranges": record["ranges"][1:],
        "format": "inbounds-certificate/2",
    }
    assert set(lies) == set(record) - {"digest"}
    for field, lie in lies.items():
        with pytest.raises(CertificateError):
            verify(record | {field: lie})
        if field == "location":
            continue  # without ends there is nothing to lie inside of
        body = {name: value for name, value in (record | {field: lie}).items() if name != "digest"}
        with pytest.raises(CertificateError):
            verify(body | {"digest": _digest(body)})
    for field in ("blocks", "ranges"):
        for junk in (
            None,
            "moments 2",
            {},
            ["x"],
            [None],
            [["moments 2"]],
            [3],
            ["moments 2"] * 2000,
            ["box 5", "box 0"],
        ):
            body = {name: value for name, value in (record | {field: junk}).items() if name != "digest"}
            with pytest.raises(CertificateError):
                verify(body | {"digest": _digest(body)})


@pytest.mark.claim("certificate")
def test_norms_that_do_not_fit_get_no_certificate():
    made = law()
    claim = {"statistic": "x", "sensitivity": ONE, "epsilon": ONE, "location": "anywhere"}
    own = {"neighbours": "substitute", "dimension": 5, "blocks": ("moments 2",)}
    assert certify(made.grid, **claim, **own).blocks == ("moments 2",)
    for change, words in (
        ({"neighbours": "add-remove"}, "moments without a count, and those of a selection, are for"),
        ({"neighbours": "add-remove", "blocks": ("box 1", "moments 1", "box 2")}, "moments without a count"),
        ({"dimension": 6}, "as many coordinates as the vector"),
        ({"blocks": ("moments 1",)}, "as many coordinates as the vector"),
        ({"blocks": ()}, None),
        ({"noise": "sup-norm"}, "polyhedral noise, and no other"),
        ({"noise": "polyhedral", "blocks": ()}, "polyhedral noise, and no other"),
        ({"sensitivity": Fraction(2)}, "exceeds the epsilon"),
        ({"epsilon": Fraction(999, 1000)}, "exceeds the epsilon"),
        ({"draws": 2}, "exceeds the epsilon"),
    ):
        if words is None:
            # The cube asks for no rounding, and holds less.
            assert certify(made.grid, **(claim | own | change)).noise == "sup-norm"
            continue
        with pytest.raises(CertificateError, match=words):
            certify(made.grid, **(claim | own | change))
    cramped = GridMechanism("unbounded", Scale(6, 64), None, None, Fraction(1000))
    with pytest.raises(CertificateError, match="so many dimensions"):
        certify(cramped, **(claim | own | {"epsilon": Fraction(100)}))


def test_blocks_of_boxes_are_a_cube():
    assert norm_law("mean", terms(), ONE, ("box 3", "box 2")).noise == "sup-norm"
    assert norm_law("moments", terms(), ONE, ("moments 7",)).noise == "sup-norm"
    made = certify(
        law(("moments 2",)).grid,
        statistic="x",
        neighbours="add-remove",
        sensitivity=ONE,
        epsilon=ONE,
        location="anywhere",
        dimension=5,
        blocks=("box 5",),
    )
    assert verify(made.to_dict()) == made


def tables(columns, rng, rows, contributions):
    """A table of values within [-1, 1] and one in which some records take other values, often extreme ones."""
    one = rng.uniform(-1, 1, (rows, columns))
    other = one.copy()
    for record in rng.choice(rows, contributions, replace=False):
        for t in (one, other):
            t[record] = np.where(rng.random(columns) < 0.7, rng.choice([-1, -0.5, 0, 0.5, 1], columns), t[record])
        other[record] = np.where(rng.random(columns) < 0.8, -one[record], rng.uniform(-1, 1, columns))
    return one, other


def exact_sums(table, columns, request):
    """What the engine counts: whole numbers of steps, their sums and those of their products."""
    steps = [[int(np.floor((x + 1) / 2 * column.count + 0.5)) for x in table[:, i]] for i, column in enumerate(columns)]
    place = {column: i for i, column in enumerate(columns)}
    products = []
    for pair in request.pairs:
        i, j = place[pair.first], place[pair.second]
        products.append(
            sum((2 * a * b + pair.unit) // (2 * pair.unit) for a, b in zip(steps[i], steps[j], strict=True))
        )
    return len(table), [sum(one) for one in steps], products


@pytest.mark.claim("moment-rows")
@pytest.mark.claim("certificate")
@pytest.mark.parametrize("counted", [False, True])
@pytest.mark.parametrize(("columns", "resolution"), [(1, 1000), (2, 64), (3, 1 << 30)])
def test_neighbours_are_no_further_apart_on_the_lattice_than_certified(columns, resolution, counted):
    """Real values through `MomentSums` and `locate`, with products rounded or exact: N of the difference ≤ move."""
    own = tuple(quantise_column(Numeric.of(f"c{i}", (-1, 1), None), resolution=resolution) for i in range(columns))
    sums = MomentSums(own, products=True, counted=counted)
    assert (sums.sensitivity > 1) == (resolution == 1 << 30)
    rng, contributions, worst = np.random.default_rng(columns), 1 if counted else 2, 0.0
    for epsilon in (Fraction(1, 10**8), ONE, Fraction(20)):
        neighbours = "add-remove" if counted else "substitute"
        made = norm_law("x", terms(epsilon, contributions, neighbours), contributions * sums.sensitivity, (sums.block,))
        norm = make_norm((sums.block,))
        for _ in range(120):
            one, other = tables(columns, rng, 9, contributions)
            other = one[1:] if counted else other
            placed = [[made.grid.locate(x) for x in sums(exact_sums(t, own, sums.request))] for t in (one, other)]
            moved = [a - b for a, b in zip(*placed, strict=True)]
            assert norm.measure(moved) <= made.move
            worst = max(worst, norm.measure(moved) / made.move)
    assert worst > 0.9


def test_the_control_would_see_a_move_that_is_too_small():
    """Two lattice points of a norm can be further apart than what was rounded to them."""
    norm, rng = make_norm(("moments 2",)), np.random.default_rng(1)
    over = 0
    for _ in range(300):
        a = rng.uniform(0, 100, 5)
        move = rng.uniform(-1, 1, 5)
        move *= 10 / float(moments.norm(move, 2, counted=False)[0])
        lattice = (np.floor(a + move + 0.5) - np.floor(a + 0.5)).astype(int).tolist()
        assert norm.measure(lattice) <= 10 + norm_rounding(("moments 2",))
        over += norm.measure(lattice) > 10
    assert over > 50
