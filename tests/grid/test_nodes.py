"""The order of draws: which quantiles stand between which, with what share of their records, and at what depth."""

from dataclasses import astuple, replace
from fractions import Fraction

import pytest

from inbounds.grid.nodes import Node, find_rate, halve, join, keep_apart, list_parts


def shares(*tenths):
    return [Fraction(k, 10) for k in tenths]


def test_halves_are_between_what_was_drawn_before():
    """Nine deciles: written by hand, with the share that each has of the records between its neighbours."""
    drawn = [
        (node.place, node.below, node.above, node.depth, str(node.share), node.inner, node.last)
        for node in halve(shares(*range(1, 10)))
    ]
    assert drawn == [
        (4, None, None, 0, "1/2", True, 0),
        (2, None, 4, 1, "3/5", True, 1),
        (7, 4, None, 1, "3/5", True, 1),
        (1, None, 2, 2, "2/3", True, 2),
        (3, 2, 4, 2, "1/2", False, 3),
        (6, 4, 7, 2, "2/3", True, 2),
        (8, 7, None, 2, "1/2", False, 3),
        (0, None, 1, 3, "1/2", False, 3),
        (5, 4, 6, 3, "1/2", False, 3),
    ]


@pytest.mark.parametrize("count", range(1, 12))
def test_each_quantile_is_drawn_once_after_those_on_either_side(count):
    asked = [Fraction(k + 1, count + 3) for k in range(count)]
    nodes, seen = halve(asked), {}
    for node in nodes:
        low = Fraction(0) if node.below is None else asked[node.below]
        high = Fraction(1) if node.above is None else asked[node.above]
        assert low + node.share * (high - low) == asked[node.place]
        neighbours = [one for one in (node.below, node.above) if one is not None]
        assert all(one in seen for one in neighbours)
        assert node.depth == 1 + max((seen[one].depth for one in neighbours), default=-1)
        assert all(seen[one].inner for one in neighbours)
        seen[node.place] = node
    assert sorted(seen) == list(range(count))
    deepest = max(node.depth for node in nodes)
    assert deepest == count.bit_length() - 1
    assert all(node.last == (node.depth if node.inner else deepest) for node in nodes)
    # Draws that nothing depends on are those that no other is next to.
    used = {one for node in nodes for one in (node.below, node.above)}
    assert all(node.inner == (node.place in used) for node in nodes)
    assert all((node.tilt, node.together, node.shift) == (Fraction(1, 2), False, 0) for node in nodes)
    assert not any(node.inward for node in nodes)


def test_draws_that_stand_alone_have_the_whole_table():
    asked = shares(3, 5, 9)
    plain = keep_apart(asked)
    assert [astuple(node) for node in plain] == [
        (place, None, None, place, share, False, place, Fraction(1, 2), False, 0, False)
        for place, share in enumerate(asked)
    ]
    tilts, shifts = shares(1, 5, 8), [-2, 0, 7]
    moved = keep_apart(asked, tilts, shifts)
    assert [(node.tilt, node.shift) for node in moved] == list(zip(tilts, shifts, strict=True))
    assert [(node.place, node.depth, node.share, node.last) for node in moved] == [
        (node.place, node.depth, node.share, node.last) for node in plain
    ]
    assert [node.shift for node in keep_apart(asked, tilts)] == [0, 0, 0]
    assert keep_apart(asked, tilts, shifts, inward=True) == tuple(replace(node, inward=True) for node in moved)
    assert [node.tilt for node in keep_apart(asked, shifts=shifts)] == [Fraction(1, 2)] * 3
    for wrong in ({"tilts": tilts[:2]}, {"shifts": [1]}, {"shifts": [1, 2, 3, 4]}):
        with pytest.raises(ValueError):
            keep_apart(asked, **wrong)


def test_draws_together_are_one_of_the_first_depth():
    asked = shares(2, 5, 6)
    assert [astuple(node) for node in join(asked)] == [
        (place, None, None, 0, share, False, 0, Fraction(1, 2), True, 0, False) for place, share in enumerate(asked)
    ]


def test_a_rate_adds_up_the_depths_of_a_draw():
    spreads = [Fraction(2), Fraction(3), Fraction(5), Fraction(7)]
    node = Node(0, None, None, 1, Fraction(1, 2), last=2)
    assert find_rate(node, spreads) == Fraction(1, 3) + Fraction(1, 5)
    assert type(find_rate(node, spreads)) is Fraction
    assert [find_rate(one, spreads) for one in halve(shares(1, 2, 3, 4))] == [
        Fraction(1, 2),
        Fraction(1, 3),
        Fraction(1, 3) + Fraction(1, 5),
        Fraction(1, 5),
    ]
    # Depths that it has none of give nothing, which is still a fraction.
    assert find_rate(Node(0, None, None, 3, Fraction(1, 2), last=2), spreads) == Fraction(0)


def test_an_error_of_a_cut_moves_the_ranks_between():
    """Each draw misses its rank by an error of its own and by its share of what the cuts on either side miss theirs."""
    nodes = halve(shares(*range(1, 10)))
    parts = list_parts(nodes)
    assert list(parts) == [node.place for node in nodes]
    # The fourth decile lies half way from the third one's neighbours, the second and the fifth.
    assert parts[4] == {4: 1}
    assert parts[2] == {2: 1, 4: Fraction(3, 5)}
    assert parts[7] == {7: 1, 4: Fraction(2, 5)}
    assert parts[3] == {3: 1, 2: Fraction(1, 2), 4: Fraction(1, 2) * Fraction(3, 5) + Fraction(1, 2)}
    assert parts[0] == {0: 1, 1: Fraction(1, 2), 2: Fraction(1, 3), 4: Fraction(1, 5)}
    # By errors themselves: a rank is asked for between two cuts that miss theirs.
    errors = {place: Fraction(place * place + 1, 7) for place in range(9)}
    missed = {}
    for node in nodes:
        low = missed.get(node.below, Fraction(0)) if node.below is not None else Fraction(0)
        high = missed.get(node.above, Fraction(0)) if node.above is not None else Fraction(0)
        missed[node.place] = errors[node.place] + (1 - node.share) * low + node.share * high
        assert sum(part * errors[place] for place, part in parts[node.place].items()) == missed[node.place]
    assert all(
        part.denominator <= 1000
        for own in list_parts(halve([Fraction(k, 1009) for k in (1, 2, 5)])).values()
        for part in own.values()
    )


def test_draws_apart_miss_their_own_ranks_alone():
    assert list_parts(keep_apart(shares(2, 5))) == {0: {0: 1}, 1: {1: 1}}
