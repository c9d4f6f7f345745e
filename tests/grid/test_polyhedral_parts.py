"""The parts of a draw in a polyhedral norm: what is refused and from where on, and how many proposals are made."""

import math
from fractions import Fraction

import numpy as np
import pytest

from inbounds.grid import polyhedral as module
from inbounds.grid.entropy import SeededEntropy
from inbounds.grid.polyhedral import Norm, draw_radii, polyhedral
from inbounds.grid.scale import Scale
from tests.grid.test_sampler import Numbers

# |3 a + b| ≤ 2 r beside |a| ≤ r, |b| ≤ r, for the last two of three coordinates.
ROWS = ((1, (((3, 1), 2),)),)


def test_what_a_norm_must_be():
    assert Norm(2, ((0, (((1, 1), 1),)),)).measure((3, -5)) == 5
    for dimension, start, limit in ((1, 0, 1), (2, 1, 1), (2, -1, 1)):
        with pytest.raises(ValueError) as refused:
            Norm(dimension, ((start, (((1, 1), limit),)),))
        assert str(refused.value) == (
            "rows of a norm have a weight for each of their coordinates, which the norm must have"
        )
    for limit in (0, -1):
        with pytest.raises(ValueError, match=r"^rows of a norm have limits > 0$"):
            Norm(2, ((0, (((1, 1), limit),)),))
    # Coordinates after those of the rows do not count.
    norm = Norm(4, ROWS)
    assert [norm.measure(z) for z in ((0, 1, 1, 0), (0, 1, 0, 0), (0, 1, -1, 9), (-7, 0, 0, 0))] == [2, 2, 9, 7]


@pytest.mark.claim("polyhedral-exact")
@pytest.mark.parametrize("dimension", [1, 2, 6])
def test_scales_at_which_radii_could_pass_62_bits(dimension, monkeypatch):
    scale = Scale(6, 1)
    most = 256 * (dimension + 1) * 64
    monkeypatch.setattr(module, "_REACH", most + 1)
    assert len(polyhedral(scale, Norm(dimension), SeededEntropy(1))) == dimension
    monkeypatch.setattr(module, "_REACH", most)
    with pytest.raises(OverflowError) as refused:
        polyhedral(scale, Norm(dimension), SeededEntropy(1))
    assert str(refused.value) == (
        "radii of so many dimensions at this scale may take more than 62 bits; use a coarser step"
    )


@pytest.mark.claim("polyhedral-exact")
@pytest.mark.parametrize(
    ("norm", "largest"),
    [
        (Norm(3), 1),
        (Norm(3, ROWS), 4),
        (Norm(3, ((1, (((3, 1), 9),)),)), 9),
        (Norm(3, ((0, (((1, -5), 2), ((1, 1), 2))),)), 6),
    ],
)
def test_radii_that_pass_62_bits_with_their_weights(norm, largest, monkeypatch):
    assert module._make_stages(norm)[1] == largest
    reach = 10**7 * largest
    monkeypatch.setattr(module, "_REACH", reach)
    monkeypatch.setattr(module, "draw_points", lambda radii, dimension, _: np.zeros((len(radii), dimension), int))
    for radius, refused in ((10**7 - 1, False), (10**7, True), (10**7 + 1, True)):
        monkeypatch.setattr(module, "draw_radii", lambda *_, radius=radius: np.array([3, radius, 0]))
        if not refused:
            assert polyhedral(Scale(6, 1), norm, None).tolist() == [0, 0, 0]
            continue
        with pytest.raises(OverflowError, match=r"^a radius that takes more than 62 bits with its weights; use a coar"):
            polyhedral(Scale(6, 1), norm, None)


def test_rows_are_tried_some_at_a_time():
    rows = tuple(((k % 3 - 1, 2 - k % 5), k + 1) for k in range(900))
    stages, largest = module._make_stages(Norm(3, ((1, rows),)))
    assert [len(limits) for _, _, limits in stages] == [48, 52, 400, 400]
    assert largest == 900
    assert {start for start, _, _ in stages} == {1}
    for _, weights, limits in stages:
        assert (weights.dtype, limits.dtype, weights.shape) == (np.int64, np.int64, (2, len(limits)))
    assert module._make_stages(Norm(2)) == ([], 1)


def test_few_proposals_first_and_then_more(monkeypatch):
    asked = []

    def radii_of(scale, dimension, count, _):
        assert (scale, dimension) == (Scale(6, 1), 3)
        asked.append(count)
        return np.zeros(int(len(asked) == 12), dtype=np.int64)

    monkeypatch.setattr(module, "draw_radii", radii_of)
    assert polyhedral(Scale(6, 1), Norm(3), SeededEntropy(1)).tolist() == [0, 0, 0]
    assert asked == [8, 16, 32, 64, 128, 256, 512, 1024, 2048, 2048, 2048, 2048]


@pytest.mark.claim("polyhedral-exact")
@pytest.mark.parametrize(("more", "kept"), [(0, True), ((1 << 64) - 1, False)])
@pytest.mark.parametrize(("radius", "dimension"), [(2, 3), (5, 3), (1000, 14)])
def test_a_tie_with_the_share_of_a_box_takes_more_bits(radius, dimension, more, kept):
    boxes = 2**dimension * math.prod(range(radius + 1, radius + dimension + 1))
    share = Fraction((2 * radius + 1) ** dimension, boxes)
    assert module._is_kept(radius, dimension, int(share * 2**64), Numbers([more])) is kept


@pytest.mark.claim("polyhedral-exact")
def test_more_bits_are_of_the_same_source(monkeypatch):
    asked, entropy = [], SeededEntropy(2)
    monkeypatch.setattr(module, "_is_kept", lambda *words: asked.append(words) or True)
    radii = draw_radii(Scale(6, 8), 3, 40, entropy)
    assert len(radii) == 40
    assert len(asked) > 10
    assert all(source is entropy and dimension == 3 for _, dimension, _, source in asked)


@pytest.mark.claim("polyhedral-exact")
def test_masks_have_all_bits_up_to_the_first():
    numbers = [1, 2, 3, 5, *[1 << k for k in range(64)], *[(1 << k) + 1 for k in range(1, 64)], (1 << 64) - 1]
    filled = module._fill_bits(np.array(numbers, dtype=np.uint64))
    assert filled.tolist() == [(1 << number.bit_length()) - 1 for number in numbers]
