"""Noise in a polyhedral norm: each step by enumeration, the whole by counting, and what a move costs."""

import itertools
import math
from collections import Counter
from fractions import Fraction

import numpy as np
import pytest

from inbounds.grid import polyhedral as module
from inbounds.grid.entropy import SeededEntropy, words
from inbounds.grid.geometric import geometric_many
from inbounds.grid.polyhedral import Norm, draw_points, draw_radii, polyhedral
from inbounds.grid.scale import Scale
from inbounds.privacy.norms import make_norm
from tests import moments
from tests.grid.test_joint import next_to
from tests.grid.test_sampler import Numbers, g_test

SIZE = Scale.at_least(Fraction(3, 2))
# Each block with its norm by other means: of vectors along the last axis.
NORMS = {
    "moments 1": lambda z: moments.norm(z, 1, counted=False),
    "counted moments 1": lambda z: moments.norm(z, 1, counted=True),
    "box 2": lambda z: np.abs(z).max(axis=1),
}


def ceiling(norms):
    """⌈N⌉ of norms in double precision, which are exact to 1e-12."""
    return np.ceil(np.asarray(norms) - 1e-9).astype(int)


def cube(reach, dimension):
    return np.array(list(itertools.product(range(-reach, reach + 1), repeat=dimension)))


def masses(block, steps, reach):
    """P(z) ∝ e^(-⌈N(z)⌉/T) by its definition for all z of a small cube, normalised over a large one."""
    dimension = make_norm((block,)).dimension
    wide = ceiling(NORMS[block](cube(60 if dimension == 2 else 30, dimension)))
    near = cube(reach, dimension)
    return near, np.exp(-ceiling(NORMS[block](near)) / steps) / np.exp(-wide / steps).sum()


def fits(points, block, steps):
    """P-value of points as draws of the law at a scale."""
    near, expected = masses(block, steps, 3)
    seen = Counter(map(tuple, np.asarray(points).tolist()))
    counts = [seen[tuple(z)] for z in near.tolist()]
    return g_test([*counts, len(points) - sum(counts)], [*expected, 1 - expected.sum()])


def proposals(block, size, count, entropy):
    """Proposals as the sampler makes them, and whether the norm of `tests.moments` keeps them."""
    dimension = make_norm((block,)).dimension
    radii = draw_radii(size, dimension, count, entropy)
    points = draw_points(radii, dimension, entropy)
    return points, NORMS[block](points) <= radii + 1e-9


@pytest.mark.claim("polyhedral-exact")
@pytest.mark.parametrize("block", NORMS)
def test_proposals_follow_the_law_point_by_point(block):
    points, kept = proposals(block, SIZE, 120_000, SeededEntropy(3))
    assert fits(points[kept], block, 1.5) > 1e-9
    assert fits(points[kept], block, 1.6) < 1e-9
    # What is not kept makes the difference between this norm and the cube.
    assert block == "box 2" or fits(points, block, 1.5) < 1e-9


@pytest.mark.claim("polyhedral-exact")
@pytest.mark.parametrize("block", ["moments 1", "box 2"])
def test_a_million_proposals_follow_the_law(block):
    """In squares of five by five, at a scale of twelve steps."""
    points, kept = proposals(block, Scale.at_least(Fraction(12)), 1_000_000, SeededEntropy(4))
    squares = [tuple(z) for z in (points[kept] // 5).clip(-13, 12).tolist()]
    wide = cube(300, 2)
    levels, cells = ceiling(NORMS[block](wide)), ((wide // 5).clip(-13, 12) + 13) @ [26, 1]
    counts = np.bincount([26 * (a + 13) + b + 13 for a, b in squares], minlength=26 * 26)

    def law(steps):
        weights = np.bincount(cells, np.exp(-levels / steps), 26 * 26)
        return weights / weights.sum()

    assert counts.sum() > 700_000
    assert g_test(counts, law(12)) > 1e-9
    assert g_test(counts, law(12.3)) < 1e-9


@pytest.mark.claim("polyhedral-exact")
@pytest.mark.parametrize("block", ["moments 1", "counted moments 1"])
def test_draws_follow_the_law(block):
    entropy, norm = SeededEntropy(6), make_norm((block,))
    points = [polyhedral(SIZE, norm, entropy) for _ in range(4000)]
    assert fits(points, block, 1.5) > 1e-9
    assert fits(points, block, 2.1) < 1e-9


@pytest.mark.claim("polyhedral-exact")
@pytest.mark.parametrize("block", ["moments 1", "counted moments 1", "moments 2"])
def test_every_point_of_every_radius_is_kept_or_not(block, monkeypatch):
    """All proposals up to a radius, one at a time: kept where the norm by other means is at most the radius."""
    norm = make_norm((block,))
    columns, counted = int(block[-1]), block.startswith("counted")
    most = {2: 7, 3: 4, 5: 2}[norm.dimension]
    for radius in range(most + 1):
        points = cube(radius, norm.dimension)
        expected = moments.norm(points, columns, counted=counted) <= radius + 1e-9
        marks = np.zeros(norm.dimension, dtype=np.int64)
        for z, kept in zip(points, expected, strict=True):
            # After the proposal one that is always kept: the origin, of radius 0.
            proposals = iter([z, marks])
            monkeypatch.setattr(module, "draw_radii", lambda *_, r=radius: np.array([r, 0]))
            monkeypatch.setattr(module, "draw_points", lambda *_, own=proposals: np.array(list(own)))
            assert (polyhedral(SIZE, norm, None).tolist() == z.tolist()) == (bool(kept) or not z.any())
        assert 0 < expected.sum() <= len(points)
    assert expected.sum() < len(points)


@pytest.mark.claim("polyhedral-exact")
@pytest.mark.parametrize("dimension", [1, 2, 5])
def test_radii_follow_their_law(dimension):
    """P(r) ∝ e^(-r/T) (2r+1)^d; with d + 1 in place of d they would not."""
    radii = draw_radii(SIZE, dimension, 80_000, SeededEntropy(dimension))
    counts = np.bincount(radii, minlength=400)

    def law(power):
        weights = np.array([math.exp(-r / 1.5) * (2 * r + 1) ** power for r in range(400)])
        return weights / weights.sum()

    assert g_test(counts, law(dimension)) > 1e-9
    assert g_test(counts, law(dimension + 1)) < 1e-9
    assert g_test(counts, law(dimension - 0.2)) < 1e-9


@pytest.mark.claim("polyhedral-exact")
@pytest.mark.parametrize("dimension", [1, 2, 14, 300])
def test_a_radius_is_kept_by_the_share_of_its_box(dimension):
    """Word by word next to the chance; what is kept at once has a chance above its first 32 bits."""
    for radius in (0, 1, 7, 100, 10**6, 10**12):
        boxes = 2**dimension * math.prod(range(radius + 1, radius + dimension + 1))
        share = Fraction((2 * radius + 1) ** dimension, boxes)
        for word, kept in next_to(share) if share * 2**64 > 1 else ():
            assert module._is_kept(radius, dimension, word, None) == kept
        leads = np.array([0, 1 << 31, (1 << 32) - 2, (1 << 32) - 1, int(share * 2**32)], dtype=np.uint64)
        words = (leads.clip(0, (1 << 32) - 1) << np.uint64(32)) | np.uint64((1 << 32) - 1)
        sure = module._surely_kept(np.full(len(words), radius), dimension, words)
        assert all(Fraction(int(word) + 1, 1 << 64) <= share for word, yes in zip(words, sure, strict=True) if yes)
        assert sure[0] or radius < dimension**2


@pytest.mark.claim("polyhedral-exact")
@pytest.mark.parametrize("radius", [0, 1, 2, 3])
def test_points_are_uniform_word_by_word(radius):
    """Every pair of words of the bits that count: each point of the square comes from one, the rest is drawn anew."""
    width = (2 * radius + 1).bit_length()
    found = Counter()
    for first, second in itertools.product(range(1 << width), repeat=2):
        # What is drawn anew comes as zeros, which is the first corner; bits beyond do not count.
        given = Numbers([first | 5 << 60 | second << 64, 0, 0])
        found[tuple(draw_points(np.array([radius]), 2, given)[0].tolist())] += 1
    inside = {(a, b) for a, b in itertools.product(range(-radius, radius + 1), repeat=2)}
    assert set(found) == inside
    # A word that is too large takes that coordinate to the first place.
    spare = (1 << width) - 2 * radius - 1
    for a, b in inside:
        assert found[a, b] == (1 + spare * (a == -radius)) * (1 + spare * (b == -radius))


def test_points_of_many_radii():
    radii = np.array([0, 1, 2**40] * 3000)
    points = draw_points(radii, 2, SeededEntropy(1))
    assert (np.abs(points) <= radii[:, None]).all()
    assert g_test(np.bincount(points[1::3, 0] + 1), np.full(3, 1 / 3)) > 1e-9
    assert abs(points[2::3].mean()) < 6 * 2**40 / math.sqrt(3 * 6000)


@pytest.mark.claim("polyhedral-exact")
@pytest.mark.parametrize("block", ["moments 1", "counted moments 1"])
def test_a_move_costs_what_it_measures(block):
    """Over all outputs of a window and all moves of at most D: ⌈N⌉ changes by D at most, and by D somewhere."""
    norm = make_norm((block,))
    reach = 8 if norm.dimension == 2 else 4
    window = cube(reach, norm.dimension)
    levels = {tuple(z): norm.measure(z) for z in window.tolist()}
    assert list(levels.values()) == ceiling(NORMS[block](window)).tolist()
    moves = cube(3, norm.dimension)
    sizes = NORMS[block](moves)
    for most in (1, 2, 3):
        worst = 0
        for move in moves[sizes <= most + 1e-9].tolist():
            for z, level in levels.items():
                moved = tuple(a + b for a, b in zip(z, move, strict=True))
                worst = max(worst, abs(level - levels.get(moved, level)))
        assert worst == most
    # The control: a move that is longer costs more.
    longer = moves[sizes > 3 + 1e-9].tolist()
    assert any(abs(norm.measure(z) - norm.measure(np.add(z, m).tolist())) > 3 for m in longer for z in window.tolist())


def test_wide_noise_is_refused_and_not_wrapped():
    norm = make_norm(("moments 2",))
    assert np.abs(polyhedral(Scale(48, 1), norm, SeededEntropy(1))).max() > 1 << 40
    with pytest.raises(OverflowError, match="use a coarser step"):
        polyhedral(Scale(52, 1), norm, SeededEntropy(1))
    with pytest.raises(ValueError, match="too small for 25 dimensions"):
        polyhedral(Scale(6, 64), Norm(25), SeededEntropy(1))


@pytest.mark.parametrize(
    ("dimension", "parts", "words"),
    [
        (2, ((0, (((1, 1, 1), 2),)),), "a weight for each"),
        (3, ((2, (((1, 1), 2),)),), "a weight for each"),
        (3, ((0, (((1, 1), 2), ((1, 1, 1), 2))),), "a weight for each"),
        (3, ((-1, (((1, 1), 2),)),), "a weight for each"),
        (2, ((0, (((1, 1), 0),)),), "limits > 0"),
    ],
)
def test_norms_that_are_none(dimension, parts, words):
    with pytest.raises(ValueError, match=words):
        Norm(dimension, parts)


def test_bytes_depend_on_the_seed_alone():
    """Nothing is told to the sampler but scale and norm: the same bytes, the same noise."""
    norm = make_norm(("moments 3",))
    made = []
    for _ in range(2):
        entropy = SeededEntropy(9)
        made.append(([polyhedral(Scale(30, 7), norm, entropy).tolist() for _ in range(5)], entropy.handed_out))
    assert made[0] == made[1]
    assert len({tuple(z) for z in made[0][0]}) == 5


@pytest.mark.claim("polyhedral-exact")
@pytest.mark.parametrize("block", ["moments 1", "moments 3", "counted moments 3"])
def test_no_row_of_a_norm_is_left_out(block):
    norm = make_norm((block,))
    stages, _ = module._make_stages(norm)
    tried = [one for _, weights, limits in stages for one in zip(weights.T.tolist(), limits.tolist(), strict=True)]
    rows = [(tuple(weights), limit) for _, rows in norm.parts for weights, limit in rows]
    assert sorted((tuple(weights), limit) for weights, limit in tried) == sorted(rows)
    assert len(rows) > 48 or block == "moments 1"


@pytest.mark.claim("polyhedral-exact")
def test_small_radii_are_kept_by_their_share_word_by_word():
    scale, dimension, count = Scale(6, 8), 3, 60
    made, entropy = draw_radii(scale, dimension, count, SeededEntropy(1)), SeededEntropy(1)
    radii = geometric_many(scale, entropy, count * (dimension + 1))[0].reshape(count, -1).sum(axis=1).tolist()
    kept = []
    for radius, word in zip(radii, words(entropy, count).tolist(), strict=True):
        share = math.prod(Fraction(2 * radius + 1, 2 * (radius + k)) for k in range(1, dimension + 1))
        kept += [radius] * (Fraction(word, 1 << 64) < share)
    assert made.tolist() == kept
    assert len(kept) < count
