"""The laws of points that are chosen for several shares: together, by recursive halving, or separately."""

import math
from bisect import bisect_right
from collections.abc import Sequence
from fractions import Fraction
from itertools import pairwise

from inbounds.grid.nodes import LARGEST_DENOMINATOR, Node, halve, keep_apart, list_parts
from inbounds.grid.together import Sizes
from inbounds.inference import quantiles
from inbounds.privacy.certificate import Certificate, Composition, compose
from inbounds.privacy.certified import choice_law
from inbounds.privacy.terms import Terms
from inbounds.record.statistic import Statistic
from inbounds.tables.request import MOST_ROWS

# Quantiles that are drawn together, and steps of that draw (about a second): beyond these, by recursive halving.
MOST_TOGETHER = 16
_MOST_WORK = 1_000_000


def is_together(shares: tuple[Fraction, ...], terms: Terms, points: int, groups: int) -> bool:
    """Whether several shares are drawn together. The reason is public: that it does not take long."""
    if not 2 <= len(shares) <= MOST_TOGETHER:
        return False
    move, draws = _find_joint_move(shares, terms, grouped=groups > 1)
    spread = 2 * move * draws * terms.contributions / terms.epsilon
    return groups * Sizes(len(shares), points, spread, terms.rows or MOST_ROWS).work <= _MOST_WORK


def _find_joint_move(shares: tuple[Fraction, ...], terms: Terms, *, grouped: bool) -> tuple[Fraction, int]:
    """The most that a record moves the score, and in how many draws it may do so."""
    if terms.neighbours == "substitute" and not grouped:
        return Fraction(1), 1
    gaps = [b - a for a, b in pairwise((Fraction(0), *shares, Fraction(1)))]
    return 1 - min(gaps), 2 if terms.neighbours == "substitute" else 1


# claim:together-sensitivity
def law_together(
    statistic: Statistic,
    terms: Terms,
    grid: tuple[Fraction, Fraction, int],
    shares: tuple[Fraction, ...],
    *,
    grouped: bool,
) -> Certificate:
    """The law of points that are drawn together.

    The score is half of the sum over gaps of |records in it - p n|, where p is its share. A
    substituted record moves the ranks of the places between its two places by one. These are next to each other, so two
    gaps change by one, and the score by at most 1. A record that is added or removed changes its own gap by 1 - p and
    all others by their p, half of which is 1 - p together. A record that enters or leaves a selection moves the score
    by less than a substituted one; a record that changes its group is removed from one and added to another.
    """
    if any(share.denominator > LARGEST_DENOMINATOR for share in shares):
        raise ValueError("q has too many digits: use shares with a few decimals, as in 0.25")
    move, draws = _find_joint_move(shares, terms, grouped=grouped)
    return choice_law(statistic.name, terms, grid, move * terms.contributions, draws)


# claim:quantile-sensitivity
def choice_laws(
    statistic: Statistic,
    terms: Terms,
    grid: tuple[Fraction, Fraction, int],
    shares: tuple[Fraction, ...],
    *,
    middle: Fraction | None = None,
    grouped: bool = False,
) -> Certificate | Composition:
    """The laws of points for some shares, one for each depth of their draws; separate laws around a ``middle`` share.

    With a share q of the records of a draw, a record that is added or removed moves the
    score of every place by at most max(q, 1-q), or by as large a part of that as the draw has of the record. At one
    depth a record is in one draw, or its parts in several draws add up to one; a substituted record leaves one and
    enters another. In the first draw, and without groups, a substituted record stays in the draw, and moves scores by
    at most 1; so does a record that enters or leaves a selection. Tilted scores are for one draw from all of a public
    number of records: ranks move one way by at most 1, so scores go up on one side and down on the other, by at most 2
    together, and the loss is the same. Of k records some may move the other way; the two sides still move by at most 2k
    together.
    """
    nodes = halve(shares) if middle is None else keep_apart(shares)
    if any(node.share.denominator > LARGEST_DENOMINATOR for node in nodes):
        raise ValueError("q has too many digits: use shares with a few decimals, as in 0.25")
    moves: list[tuple[Fraction, int]] = []
    for depth in range(1 + max(node.depth for node in nodes)):
        move, draws = _find_largest_move(nodes, depth), 2 if terms.neighbours == "substitute" else 1
        if (depth == 0 or middle is not None) and terms.neighbours == "substitute" and not grouped:
            move, draws = Fraction(1), 1
        moves.append((move, draws))
    split = share_flanks(shares, middle) if middle is not None else share_depths(nodes, [a * b for a, b in moves])
    parts = [
        choice_law(statistic.name, terms, grid, move * terms.contributions, draws, part)
        for (move, draws), part in zip(moves, split, strict=True)
    ]
    return parts[0] if len(parts) == 1 else compose(parts, terms.epsilon)


def find_flanks(
    share: Fraction, cover: Fraction, terms: Terms, points: int, *, size: int, grouped: bool
) -> tuple[tuple[Fraction, ...], tuple[int, ...]]:
    """A share with one more on either side, and by how many records their ranks are further out.

    Their intervals hold whatever the number of records is, and are shortest for ``size`` records.
    """

    def scale(flank: float) -> float:
        move, draws = max(flank, 1 - flank), 2 if terms.neighbours == "substitute" else 1
        if terms.neighbours == "substitute" and not grouped:
            move, draws = 1.0, 1
        return 2 * move * draws * terms.contributions / float(terms.epsilon * (1 - quantiles.OWN_SHARE) / 2)

    alpha, reach = float(1 - cover) / 2, math.log(points)
    below, down = quantiles.find_secret_flank(float(share), scale, reach, size, alpha)
    above, up = quantiles.find_secret_flank(float(1 - share), scale, reach, size, alpha)
    return (below, share, 1 - above), (-down, 0, up)


def _find_largest_move(nodes: Sequence[Node], depth: int) -> Fraction:
    """The most that a record moves scores at some depth, in a draw of that depth or one that has further depths."""
    draws = [node for node in nodes if node.depth <= depth <= node.last]
    return max(max(node.share, 1 - node.share) for node in draws)


def share_depths(nodes: Sequence[Node], moves: Sequence[Fraction]) -> list[Fraction]:
    """How the depths share ε, so that the mean squared error of all ranks is about as small as it can be.

    A depth with a share w adds c/w² to the error, and the sum is least at w ∝ c^(1/3). Here c is the square of what a
    record moves, for each draw of that depth and each later draw that inherits a part of its error.

    >>> [str(share) for share in share_depths(halve([Fraction(k, 4) for k in (1, 2, 3)]), [Fraction(1)] * 2)]
    ['1144/2403', '1259/2403']
    """
    depths, costs = {node.place: node.depth for node in nodes}, [Fraction(0)] * len(moves)
    for parts in list_parts(nodes).values():
        for place, part in parts.items():
            costs[depths[place]] += part**2 * moves[depths[place]] ** 2
    weights = [_cube_root(cost) for cost in costs]
    return [Fraction(weight, sum(weights)) for weight in weights]


def _cube_root(number: Fraction) -> int:
    """The largest integer whose cube is at most 10^9 times a number: a thousand times its root."""
    return bisect_right(range(1 << 24), int(number * 10**9), key=lambda root: root**3) - 1


def share_flanks(shares: Sequence[Fraction], middle: Fraction) -> list[Fraction]:
    """How a quantile shares all of ε with the points that are drawn for its interval, however many there are."""
    weights = [quantiles.OWN_SHARE if share == middle else (1 - quantiles.OWN_SHARE) / 2 for share in shares]
    return [weight / sum(weights) for weight in weights]
