"""Counts of groups and of their members, adjusted until they agree: trees of any shape and depth.

A tree is written as nested groups of leaves: ``(("a", "b"), ("c", "d", "e"))``. Every node but the root has a noisy
count; the root is known. Two passes give the weighted least-squares solution (Hay et al. 2010 for uniform trees and
equal noise; Honaker 2015 for any):

- upwards, a node's own count and the sum of its children are averaged by their variances;
- downwards, the difference between the *corrected* parent and the sum of its children is shared among these by their
  variances; negative counts are repaired before the next level.

All of it is post-processing of released numbers; arrays are handled along their last axis.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from itertools import pairwise
from math import isqrt
from typing import Any, TypeAlias

import numpy as np

from inbounds._check import Array
from inbounds.repairs.simplex import project

# Nested tuples of leaves.
Groups: TypeAlias = tuple[Any, ...]
WEIGHTS = ("variance", "hay")
# Groups within groups.
DEEPEST = 50
_EACH_ONCE = "the tree must hold every level exactly once, in nested groups such as (('a', 'b'), ('c', 'd'))"


@dataclass(frozen=True, slots=True)
class Tree:
    """Nodes except the root, parents before children, each with its leaves; node -1 is the root.

    ``order`` are the leaves, ``children[i]`` the nodes below node i, ``children[-1]`` those of the root.
    """

    order: tuple[str, ...]
    leaves: tuple[tuple[int, ...], ...]
    children: tuple[tuple[int, ...], ...]

    @property
    def depth(self) -> int:
        """Nodes on the longest way from the root to a leaf: the number of counts that one record is in."""
        heights = self.heights
        return max(heights[child] for child in self.children[-1])

    @property
    def heights(self) -> tuple[int, ...]:
        """Levels below each node, 1 for a leaf."""
        heights = [1] * len(self.leaves)
        for node in reversed(range(len(self.leaves))):
            heights[node] = 1 + max((heights[child] for child in self.children[node]), default=0)
        return tuple(heights)

    @property
    def depths(self) -> tuple[int, ...]:
        """Levels above each node, 0 for those of the root."""
        depths = [0] * len(self.leaves)
        for node, below in enumerate(self.children[:-1]):
            for child in below:
                depths[child] = depths[node] + 1
        return tuple(depths)


def count_nodes(groups: Groups) -> int:
    """Nodes of the tree of nested groups, without the root. Raises a `ValueError` if they are nested too deep."""
    layer, nodes = list(groups), 0
    for _ in range(DEEPEST):
        nodes += len(layer)
        layer = [member for group in layer if isinstance(group, tuple | list) for member in group]
        if not layer:
            return nodes
    raise ValueError(f"groups must not be nested more than {DEEPEST} deep")


# claim:tree-partition
@lru_cache(maxsize=64)
def grow(groups: Groups, leaves: tuple[str, ...]) -> Tree:
    """The tree of nested groups. They must contain every leaf exactly once.

    >>> grow((("a", "b"), "c"), ("a", "b", "c")).depth
    2
    """
    if not isinstance(groups, tuple | list) or not groups:
        raise ValueError(_EACH_ONCE)
    count_nodes(groups)
    place = {label: i for i, label in enumerate(leaves)}
    nodes: list[tuple[int, ...]] = []
    children: list[tuple[int, ...]] = []

    def add(group: Any) -> tuple[int, ...]:
        """Numbers of the nodes made for the members of a group."""
        numbers = range(len(nodes), len(nodes) + len(group))
        nodes.extend([()] * len(group))
        children.extend([()] * len(group))
        for number, member in zip(numbers, group, strict=True):
            if isinstance(member, tuple | list):
                if not member:
                    raise ValueError("a group of the tree must not be empty")
                children[number] = add(member)
                nodes[number] = tuple(leaf for child in children[number] for leaf in nodes[child])
            else:
                nodes[number] = (place.get(str(member), -1),)
        return tuple(numbers)

    top = add(groups)
    if sorted(leaf for node in top for leaf in nodes[node]) != list(range(len(leaves))) or len(place) < len(leaves):
        raise ValueError(_EACH_ONCE)
    return Tree(leaves, tuple(nodes), (*children, top))


def balanced(leaves: Sequence[str], branching: int = 2) -> Groups:
    """Nested groups of neighbours, of sizes that are as equal as possible.

    >>> balanced(["a", "b", "c", "d", "e"])
    (('a', 'b'), ('c', ('d', 'e')))
    """
    if branching < 2:
        raise ValueError(f"branching must be >= 2, got {branching}")
    if len(leaves) <= branching:
        return tuple(leaves)
    edges = [len(leaves) * i // branching for i in range(branching + 1)]
    parts = [tuple(leaves[a:b]) for a, b in pairwise(edges)]
    return tuple(balanced(part, branching) if len(part) > 1 else part[0] for part in parts)


def two_levels(leaves: Sequence[str]) -> Groups:
    """About √K groups of about √K neighbours each; single leaves if there are fewer than four.

    >>> two_levels(["a", "b", "c", "d", "e"])
    (('a', 'b'), ('c', 'd', 'e'))
    """
    below = isqrt(len(leaves))
    groups = below if len(leaves) - below * below <= below else below + 1
    if len(leaves) < 4:
        return tuple(leaves)
    return tuple(tuple(leaves[a:b]) for a, b in pairwise(len(leaves) * i // groups for i in range(groups + 1)))


# claim:tree-shares
def share_levels(groups: int, members: int) -> tuple[Fraction, Fraction]:
    """Shares of ε for groups and for members, in hundredths, that are best for sums over ranges.

    They have the least mean variance over all ranges of neighbours, in a tree of ``groups`` groups with as many
    ``members`` each, whose total is known. Noise has variances v₁ ∝ 1/s² and v₂ ∝ 1/(1-s)². A group that is estimated
    from its own count and from its b members has the variance u = 1/(1/v₁ + 1/(b v₂)), and a range with c_g members of
    group g has v₂ Σ(c_g - c_g²/b) + u (Σ c_g² - (Σ c_g)²/G)/b². All of it is in whole numbers and fractions.

    >>> share_levels(32, 32)
    (Fraction(43, 100), Fraction(57, 100))
    """
    within, between = _sum_over_ranges(groups, members)

    def variance(share: Fraction) -> Fraction:
        variance_of_group, each = 1 / share**2, 1 / (1 - share) ** 2
        return each * within + between / (1 / variance_of_group + 1 / (members * each))

    best = min((Fraction(k, 100) for k in range(1, 100)), key=variance)
    return best, 1 - best


def _sum_over_ranges(groups: int, members: int) -> tuple[Fraction, Fraction]:
    """Σ(c_g - c_g²/b) and (Σ c_g² - (Σ c_g)²/G)/b², summed over all ranges of neighbours."""
    b, size = members, groups * members
    whole = sum((i * b + 1) * (size - (i + 1) * b + 1) for i in range(groups))
    # Ranges that hold all of a group, those that end or begin in it, and those that lie within it.
    ends = (size - b + 2) * (b - 1) * b * (2 * b - 1) // 6
    inside = sum(c * c * (b - 1 - c) for c in range(1, b - 1))
    squares = b * b * whole + groups * (ends + inside)
    lengths, squared = size * (size + 1) * (size + 2) // 6, size * (size + 1) ** 2 * (size + 2) // 12
    return lengths - Fraction(squares, b), (squares - Fraction(squared, groups)) / b**2


# claim:tree-consistent
def consistent(
    tree: Tree,
    noisy: Array,
    total: float,
    *,
    weights: str = "variance",
    variances: Sequence[float] = (),
    repair: bool = True,
) -> Array:
    """Counts of all nodes that agree, from noisy ones; the least-squares solution.

    ``variances`` are those of the noise of each level of the tree, from the top; none for equal ones. The result has
    the nodes of the tree along its last axis; `leaves_of` picks the leaves. With ``repair`` negative children are
    replaced by the nearest ones with the same sum before descending; without, the estimate is linear.
    """
    if weights not in WEIGHTS:
        raise ValueError(f"weights must be one of {', '.join(map(repr, WEIGHTS))}; got {weights!r}")
    counts = np.array(noisy, dtype=np.float64)
    if counts.shape[-1] != len(tree.leaves):
        raise ValueError(f"noisy must have {len(tree.leaves)} counts, one for each node, got {counts.shape[-1]}")
    spreads = _node_variances(tree, variances)
    heights = tree.heights
    for nodes, below in _families(tree, heights):
        sums = spreads[below].sum(axis=-1)
        weight = _weigh_node(weights, heights[nodes[0]], below.shape[-1], spreads[nodes], sums)
        counts[..., nodes] = weight * counts[..., nodes] + (1 - weight) * counts[..., below].sum(axis=-1)
        # The variance of the weighted mean of two independent numbers.
        spreads[nodes] = weight**2 * spreads[nodes] + (1 - weight) ** 2 * sums
    root = np.full((*counts.shape[:-1], 1), float(total)), np.array([tree.children[-1]])
    for nodes, below in (root, *_families(tree, tree.depths)):
        parent = nodes if nodes is root[0] else counts[..., nodes]
        even = np.full(below.shape, 1 / below.shape[-1])
        share = spreads[below] / spreads[below].sum(axis=-1, keepdims=True) if weights == "variance" else even
        lacking = parent - counts[..., below].sum(axis=-1)
        children = counts[..., below] + lacking[..., None] * share
        counts[..., below] = _non_negative(children, parent) if repair else children
    return counts


def _families(tree: Tree, level: Sequence[int]) -> list[tuple[Any, Any]]:
    """Nodes with their members, level by level. Nodes with the same number of members are handled together."""
    alike: dict[tuple[int, int], list[int]] = {}
    for node, below in enumerate(tree.children[:-1]):
        if below:
            alike.setdefault((level[node], len(below)), []).append(node)
    return [(np.array(nodes), np.array([tree.children[node] for node in nodes])) for _, nodes in sorted(alike.items())]


def _node_variances(tree: Tree, variances: Sequence[float]) -> Array:
    """The variance of the count of each node, in units of the largest."""
    if not len(variances):
        return np.ones(len(tree.leaves))
    values = np.asarray(variances, dtype=np.float64)
    if values.shape != (tree.depth,) or not (values > 0).all():
        raise ValueError(f"variances must be > 0, one for each of the {tree.depth} levels of the tree")
    return np.asarray(values[list(tree.depths)] / values.max())


def _weigh_node(weights: str, height: int, branching: int, variances: Array, below: Array) -> Any:
    """The weight of a node's count relative to the sum of its children, for each of several nodes."""
    if weights == "variance":
        return below / (variances + below)
    # Hay et al. (2010), theorem 3, for uniform trees.
    return float((branching**height - branching ** (height - 1)) / (branching**height - 1)) if branching > 1 else 0.5


def _non_negative(children: Array, parent: Array) -> Array:
    """The nearest children without negatives that add up to their parent; all 0 below a parent of 0."""
    sums = np.maximum(parent, 0.0)[..., None]
    positive = sums > 0
    scaled = project(np.where(positive, children / np.where(positive, sums, 1.0), 1.0))
    return np.where(positive, scaled * sums, 0.0)


def leaf_nodes(tree: Tree) -> list[int]:
    """The node of each leaf, in the order that the levels have."""
    nodes = [0] * len(tree.order)
    for node, members in enumerate(tree.leaves):
        if not tree.children[node]:
            nodes[members[0]] = node
    return nodes


def leaves_of(tree: Tree, counts: Array) -> Array:
    """The leaves, in the order that the levels have."""
    return np.asarray(np.asarray(counts)[..., leaf_nodes(tree)])


# claim:tree-range
def range_variance(
    tree: Tree, members: Sequence[int], *, weights: str = "variance", variances: Sequence[float] = ()
) -> float:
    """Variance of the sum of some leaves, before negatives are repaired.

    In units of one node's, or with the ``variances`` of each level.

    The estimate is linear in the noisy counts: its weights are found by estimating from each count alone.
    """
    size = len(tree.leaves)
    alone = consistent(tree, np.eye(size), 0.0, weights=weights, variances=variances, repair=False)
    loads = leaves_of(tree, alone)[:, list(members)].sum(axis=1)
    each = np.asarray(variances)[list(tree.depths)] if len(variances) else 1.0
    return float((each * loads**2).sum())
