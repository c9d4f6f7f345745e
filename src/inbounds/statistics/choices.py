"""The laws of points that are chosen for several shares: together, by recursive halving, or apart from each other."""

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
    """Whether several shares are drawn together: for a public reason, that it does not take long."""
    if not 2 <= len(shares) <= MOST_TOGETHER:
        return False
    moved, draws = _moved_together(shares, terms, grouped=groups > 1)
    spread = 2 * moved * draws * terms.contributions / terms.epsilon
    return groups * Sizes(len(shares), points, spread, terms.rows or MOST_ROWS).work <= _MOST_WORK


def _moved_together(shares: tuple[Fraction, ...], terms: Terms, *, grouped: bool) -> tuple[Fraction, int]:
    """The most that a record moves the score, and in how many draws it may do so."""
    if terms.neighbours == "substitute" and not grouped:
        return Fraction(1), 1
    gaps = [b - a for a, b in pairwise((Fraction(0), *shares, Fraction(1)))]
    return 1 - min(gaps), 2 if terms.neighbours == "substitute" else 1


def law_together(
    statistic: Statistic,
    terms: Terms,
    grid: tuple[Fraction, Fraction, int],
    shares: tuple[Fraction, ...],
    *,
    grouped: bool,
) -> Certificate:
    """The law of points that are drawn together.

    claim:together-sensitivity. The score is half of the sum over gaps of |records in it - p n|, where p is its share. A
    substituted record moves the ranks of the places between its two by one, which are next to each other, so that two
    gaps change by one, and the score by at most 1. A record that comes or goes changes its own gap by 1 - p and all
    others by their p, half of which is 1 - p together. One that enters a selection or leaves it moves the score by less
    than one that is substituted; one that changes its group does the former in two of them.
    """
    if any(share.denominator > LARGEST_DENOMINATOR for share in shares):
        raise ValueError("q has too many digits: use shares with a few decimals, as in 0.25")
    moved, draws = _moved_together(shares, terms, grouped=grouped)
    return choice_law(statistic.name, terms, grid, moved * terms.contributions, draws)


def choice_laws(
    statistic: Statistic,
    terms: Terms,
    grid: tuple[Fraction, Fraction, int],
    shares: tuple[Fraction, ...],
    *,
    own: Fraction | None = None,
    grouped: bool = False,
) -> Certificate | Composition:
    """The laws of points for some shares, one for each depth of their draws; apart from each other around an ``own``.

    claim:quantile-sensitivity. With a share q of the records of a draw, a record that comes or goes moves the score of
    every place by at most max(q, 1-q), or by that part of it that the draw has of the record. At one depth a record is
    in one draw, or its parts in several add up to one; a substituted record leaves one and enters another. In the first
    draw, and without groups, a substituted record stays where it is, and moves scores by at most 1; so does one that
    comes into a selection or leaves it. Tilted scores are for one draw of all of a public number of records: ranks move
    one way by at most 1, so that scores on one side go up and on the other down, by at most 2 together, and the loss is
    the same. Of k records some may move the other way; the two sides are then still at most 2k together.
    """
    nodes = halve(shares) if own is None else keep_apart(shares)
    if any(node.share.denominator > LARGEST_DENOMINATOR for node in nodes):
        raise ValueError("q has too many digits: use shares with a few decimals, as in 0.25")
    moves: list[tuple[Fraction, int]] = []
    for depth in range(1 + max(node.depth for node in nodes)):
        moved, draws = _most_moved(nodes, depth), 2 if terms.neighbours == "substitute" else 1
        if (depth == 0 or own is not None) and terms.neighbours == "substitute" and not grouped:
            moved, draws = Fraction(1), 1
        moves.append((moved, draws))
    split = share_flanks(shares, own) if own is not None else share_depths(nodes, [a * b for a, b in moves])
    parts = [
        choice_law(statistic.name, terms, grid, moved * terms.contributions, draws, part)
        for (moved, draws), part in zip(moves, split, strict=True)
    ]
    return parts[0] if len(parts) == 1 else compose(parts, terms.epsilon)


def find_flanks(
    share: Fraction, cover: Fraction, terms: Terms, points: int, *, size: int, grouped: bool
) -> tuple[tuple[Fraction, ...], tuple[int, ...]]:
    """A share with one on either side, and the records by which their ranks are further out, for intervals that hold
    whatever the number of records is. They are shortest for a ``size``."""

    def scale(drawn: float) -> float:
        moved, draws = max(drawn, 1 - drawn), 2 if terms.neighbours == "substitute" else 1
        if terms.neighbours == "substitute" and not grouped:
            moved, draws = 1.0, 1
        return 2 * moved * draws * terms.contributions / float(terms.epsilon * (1 - quantiles.OWN_SHARE) / 2)

    alpha, reach = float(1 - cover) / 2, math.log(points)
    below, down = quantiles.find_secret_flank(float(share), scale, reach, size, alpha)
    above, up = quantiles.find_secret_flank(float(1 - share), scale, reach, size, alpha)
    return (below, share, 1 - above), (-down, 0, up)


def _most_moved(nodes: Sequence[Node], depth: int) -> Fraction:
    """The most that a record moves scores at some depth, in a draw of that depth or one that has it to itself."""
    used = [node for node in nodes if node.depth <= depth <= node.last]
    return max(max(node.share, 1 - node.share) for node in used)


def share_depths(nodes: Sequence[Node], moves: Sequence[Fraction]) -> list[Fraction]:
    """How the depths share ε: so that the mean squared error of all ranks is about as small as it can be.

    A depth with a share w adds c/w² to it, of which the sum is least at w ∝ c^(1/3): c has the square of what a record
    moves there, for each draw of that depth and each later one that inherits a part of its error.

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
    """The largest whole number whose cube is at most 10^9 times a number: a thousand times its root."""
    return bisect_right(range(1 << 24), int(number * 10**9), key=lambda root: root**3) - 1


def share_flanks(shares: Sequence[Fraction], own: Fraction) -> list[Fraction]:
    """How a quantile shares ε with the points that are drawn for its interval; none is left where there are fewer."""
    weights = [quantiles.OWN_SHARE if share == own else (1 - quantiles.OWN_SHARE) / 2 for share in shares]
    return [weight / sum(weights) for weight in weights]
