"""The order in which several quantiles are drawn: the middle one first, then those on either side of it."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from fractions import Fraction

# Of the share of a draw among the records between two others.
LARGEST_DENOMINATOR = 1 << 20
# When a draw leans inward, a point at an end weighs e to the power of minus this, about a quarter.
INWARD = Fraction(7, 5)


@dataclass(frozen=True, slots=True)
class Node:
    """One draw: of which quantile, between which two others (None is an end), and with which share of their records.

    ``inner`` says that other draws depend on this one. A draw has the budget of its own ``depth`` and of all depths up
    to ``last``. If it is not inner, ``tilt`` is how steep scores are above the wanted rank, as a part of the slopes on
    both sides. Nodes that are drawn ``together`` are one draw. With a ``shift`` the wanted rank is that many records
    higher, and the ends of the grid stand for all ranks beyond them. In a draw that leans ``inward``, points weigh less
    the nearer they are to an end of the grid, whatever the records are.
    """

    place: int
    below: int | None
    above: int | None
    depth: int
    share: Fraction
    inner: bool = False
    last: int = 0
    tilt: Fraction = Fraction(1, 2)
    together: bool = False
    shift: int = 0
    inward: bool = False


def halve(shares: Sequence[Fraction]) -> tuple[Node, ...]:
    """The draws for increasing shares in (0, 1), each after those that it depends on.

    >>> [(node.place, node.depth, str(node.share)) for node in halve([Fraction(k, 4) for k in (1, 2, 3)])]
    [(1, 0, '1/2'), (0, 1, '1/2'), (2, 1, '1/2')]
    """
    nodes: list[Node] = []
    waiting: list[tuple[int, int, int]] = [(0, len(shares), 0)]
    while waiting:
        first, last, depth = waiting.pop(0)
        place = (first + last) // 2
        low, high = shares[first - 1] if first else Fraction(0), shares[last] if last < len(shares) else Fraction(1)
        node = Node(
            place,
            first - 1 if first else None,
            last if last < len(shares) else None,
            depth,
            (shares[place] - low) / (high - low),
            inner=last - first > 1,
            last=depth,
        )
        nodes.append(node)
        waiting += [part for part in ((first, place, depth + 1), (place + 1, last, depth + 1)) if part[0] < part[1]]
    # A draw that nothing depends on has the further depths to itself.
    deepest = max(node.depth for node in nodes)
    return tuple(node if node.inner else replace(node, last=deepest) for node in nodes)


def keep_apart(
    shares: Sequence[Fraction], tilts: Sequence[Fraction] = (), shifts: Sequence[int] = (), *, inward: bool = False
) -> tuple[Node, ...]:
    """Independent draws for shares, each with its tilt and its shift."""
    slopes, offsets = tilts or [Fraction(1, 2)] * len(shares), shifts or [0] * len(shares)
    each = enumerate(zip(shares, slopes, offsets, strict=True))
    return tuple(
        Node(place, None, None, place, share, last=place, tilt=tilt, shift=shift, inward=inward)
        for place, (share, tilt, shift) in each
    )


def join(shares: Sequence[Fraction]) -> tuple[Node, ...]:
    """One draw of all shares together."""
    return tuple(Node(place, None, None, 0, share, together=True) for place, share in enumerate(shares))


def find_rate(node: Node, spreads: Sequence[Fraction]) -> Fraction:
    """One over the scale of a draw's scores: the draw has the precision of all its depths together."""
    return sum((1 / spread for spread in spreads[node.depth : node.last + 1]), start=Fraction(0))


def list_parts(nodes: Sequence[Node]) -> dict[int, dict[int, Fraction]]:
    """The error of each draw's rank, as parts of the errors of other draws and of its own, by their places.

    Errors of the cuts on either side move the rank that is wanted between them.

    >>> list_parts(halve([Fraction(1, 4), Fraction(1, 2)]))[0]
    {0: Fraction(1, 1), 1: Fraction(1, 2)}
    """
    parts: dict[int, dict[int, Fraction]] = {}
    for node in nodes:
        errors = {node.place: Fraction(1)}
        for other, weight in ((node.below, 1 - node.share), (node.above, node.share)):
            for place, part in parts.get(other, {}).items() if other is not None else ():
                errors[place] = errors.get(place, Fraction(0)) + (weight * part).limit_denominator(1000)
        parts[node.place] = errors
    return parts
