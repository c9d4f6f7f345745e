"""Trees: every result agrees, and the passes are weighted least squares."""

import numpy as np
import pytest

from inbounds.repairs.tree import balanced, consistent, grow, leaves_of, range_variance, share_levels, two_levels

LABELS = list("abcdefghij")
SHAPES = {
    "four": (("a", "b"), ("c", "d")),
    "uneven": (("a", ("b", "c", "d")), "e", ("f", "g")),
    "flat": ("a", "b", "c"),
    "a chain": ((("a", "b"), "c"), "d"),
    "one leaf below a group": (("a",), ("b", "c")),
}


def design(tree):
    """Nodes as sums of leaves."""
    matrix = np.zeros((len(tree.leaves), len(tree.order)))
    for node, members in enumerate(tree.leaves):
        matrix[node, list(members)] = 1
    return matrix


def labels_of(groups):
    return tuple(sorted("".join(c for c in str(groups) if c.isalpha())))


@pytest.mark.claim("tree-consistent")
@pytest.mark.parametrize("name", SHAPES)
def test_the_passes_are_least_squares(name):
    """Against the normal equations with the sum of leaves fixed, by Lagrange's multiplier."""
    tree = grow(SHAPES[name], labels_of(SHAPES[name]))
    x, size = design(tree), len(tree.order)
    rng = np.random.default_rng(0)
    for _ in range(5):
        noisy = rng.normal(10, 5, len(x))
        system = np.block([[x.T @ x, np.ones((size, 1))], [np.ones((1, size)), np.zeros((1, 1))]])
        solution = np.linalg.solve(system, np.append(x.T @ noisy, 100.0))[:size]
        found = consistent(tree, noisy, 100.0, repair=False)
        assert leaves_of(tree, found) == pytest.approx(solution)
        assert found == pytest.approx(x @ solution)


@pytest.mark.claim("tree-consistent")
@pytest.mark.parametrize("name", SHAPES)
def test_levels_of_different_noise_are_weighted_least_squares(name):
    """Against the weighted normal equations; other weights give another answer where levels matter."""
    tree = grow(SHAPES[name], labels_of(SHAPES[name]))
    x, size = design(tree), len(tree.order)
    rng = np.random.default_rng(0)
    variances = [2.5, 0.3, 7.0][: tree.depth]
    weights = np.diag(1 / np.array(variances)[list(tree.depths)])
    noisy = rng.normal(10, 5, len(x))
    system = np.block([[x.T @ weights @ x, np.ones((size, 1))], [np.ones((1, size)), np.zeros((1, 1))]])
    solution = np.linalg.solve(system, np.append(x.T @ weights @ noisy, 100.0))[:size]
    found = consistent(tree, noisy, 100.0, variances=variances, repair=False)
    assert found == pytest.approx(x @ solution)
    assert found == pytest.approx(consistent(tree, noisy, 100.0, variances=[3 * v for v in variances], repair=False))
    if tree.depth > 1:
        assert not np.allclose(found, consistent(tree, noisy, 100.0, repair=False))


def mean_over_ranges(tree, variances):
    """The mean variance over all ranges, from the covariance of the least-squares estimate."""
    x, size = design(tree), len(tree.order)
    information = x.T @ np.diag(1 / np.array(variances)[list(tree.depths)]) @ x
    inverse = np.linalg.inv(information)
    # Given the total.
    covariance = inverse - np.outer(inverse.sum(0), inverse.sum(0)) / inverse.sum()
    sums = np.zeros((size + 1, size + 1))
    sums[1:, 1:] = covariance.cumsum(0).cumsum(1)
    spread = np.diagonal(sums)
    ranges = spread[:, None] + spread - 2 * sums
    return ranges[np.triu_indices(size + 1, 1)].mean()


def best_hundredth(tree):
    at = [mean_over_ranges(tree, [(100 / k) ** 2, (100 / (100 - k)) ** 2]) for k in range(1, 100)]
    return int(np.argmin(at)) + 1


@pytest.mark.claim("tree-shares")
@pytest.mark.parametrize(("groups", "members"), [(4, 4), (10, 10), (16, 16), (8, 20), (20, 8)])
def test_shares_of_levels_are_the_best_for_ranges(groups, members):
    labels = tuple(f"{i:04d}" for i in range(groups * members))
    tree = grow(tuple(labels[i * members : (i + 1) * members] for i in range(groups)), labels)
    share, rest = share_levels(groups, members)
    assert share + rest == 1
    assert share * 100 == best_hundredth(tree)


@pytest.mark.claim("tree-shares")
def test_uneven_groups_have_nearly_the_best_shares():
    labels = tuple(f"{i:04d}" for i in range(250))
    groups = two_levels(labels)
    assert {len(group) for group in groups} == {15, 16}
    assert abs(share_levels(len(groups), 16)[0] * 100 - best_hundredth(grow(groups, labels))) <= 1


@pytest.mark.claim("tree-shares")
def test_ranges_of_a_thousand_leaves_are_better_than_flat_or_binary():
    """In units of the variance of a flat leaf: 171 flat, 189 in a binary tree, 58 in two levels."""
    labels = tuple(f"{i:04d}" for i in range(1024))
    flat, binary, two = (grow(groups, labels) for groups in (labels, balanced(labels), two_levels(labels)))
    assert [len(group) for group in two_levels(labels)] == [32] * 32
    share, rest = share_levels(32, 32)
    assert (share, rest) == (0.43, 0.57) or (float(share), float(rest)) == (0.43, 0.57)
    of_flat, of_binary = mean_over_ranges(flat, [1.0]), mean_over_ranges(binary, [100.0] * 10)
    of_two = mean_over_ranges(two, [float(1 / share**2), float(1 / rest**2)])
    assert (of_flat, of_binary, of_two) == (
        pytest.approx(170.83, abs=0.01),
        pytest.approx(189, abs=1),
        pytest.approx(57.98, abs=0.01),
    )
    assert of_flat / of_two > 2.9
    # The other way round the shares are worse, and equal ones are.
    assert mean_over_ranges(two, [float(1 / rest**2), float(1 / share**2)]) > 1.05 * of_two
    assert mean_over_ranges(two, [4.0, 4.0]) > of_two


def test_two_levels():
    for size, sizes in ((1, None), (3, None), (4, [2, 2]), (6, [3, 3]), (7, [2, 2, 3]), (12, [4, 4, 4])):
        labels = [str(i) for i in range(size)]
        made = two_levels(labels)
        assert made == tuple(labels) if sizes is None else [len(group) for group in made] == sizes


@pytest.mark.claim("tree-consistent")
@pytest.mark.parametrize("weights", ["variance", "hay"])
@pytest.mark.parametrize("name", SHAPES)
def test_every_result_agrees(name, weights):
    tree = grow(SHAPES[name], labels_of(SHAPES[name]))
    noisy = np.random.default_rng(1).laplace(5, 20, (500, len(tree.leaves)))
    found = consistent(tree, noisy, 40.0, weights=weights)
    leaves = leaves_of(tree, found)
    assert (leaves >= 0).all()
    assert leaves.sum(axis=1) == pytest.approx(np.full(500, 40.0))
    assert found == pytest.approx(leaves @ design(tree).T, abs=1e-9)


@pytest.mark.claim("tree-consistent")
def test_deep_trees():
    labels = [f"{i:04d}" for i in range(1024)]
    tree = grow(balanced(labels), tuple(labels))
    assert tree.depth == 10
    assert len(tree.leaves) == 2046
    noisy = np.random.default_rng(0).laplace(3, 30, (20, 2046))
    leaves = leaves_of(tree, consistent(tree, noisy, 1.0))
    assert (leaves >= 0).all()
    assert np.abs(leaves.sum(axis=1) - 1).max() < 1e-12


@pytest.mark.claim("tree-consistent")
def test_hays_weights_are_the_same_in_uniform_trees():
    for branching, size in ((2, 8), (3, 9)):
        labels = LABELS[:size]
        tree = grow(balanced(labels, branching), tuple(labels))
        noisy = np.random.default_rng(2).normal(5, 9, (50, len(tree.leaves)))
        both = [consistent(tree, noisy, 30.0, weights=w, repair=False) for w in ("variance", "hay")]
        assert both[0] == pytest.approx(both[1])
    uneven = grow(SHAPES["uneven"], labels_of(SHAPES["uneven"]))
    noisy = np.random.default_rng(2).normal(5, 9, (5, len(uneven.leaves)))
    assert not np.allclose(*(consistent(uneven, noisy, 30.0, weights=w, repair=False) for w in ("variance", "hay")))


@pytest.mark.claim("tree-range")
def test_variances_of_ranges():
    """By the normal equations, by simulation, and against adding up flat leaves."""
    labels = [f"{i:02d}" for i in range(32)]
    tree = grow(balanced(labels), tuple(labels))
    rng = np.random.default_rng(3)
    draws = leaves_of(tree, consistent(tree, rng.normal(0, 1, (20_000, len(tree.leaves))), 0.0, repair=False))
    for start, stop in ((0, 1), (0, 16), (3, 29), (5, 12)):
        variance = range_variance(tree, range(start, stop))
        by_level = range_variance(tree, range(start, stop), variances=[4.0, 1.0, 1.0, 2.0, 1.0])
        assert variance < by_level < 4 * variance
        assert draws[:, start:stop].sum(axis=1).var() == pytest.approx(variance, rel=0.06)
    assert range_variance(tree, range(32)) == pytest.approx(0.0, abs=1e-18)
    assert range_variance(tree, range(16)) < 1


def test_a_parent_of_nothing():
    tree = grow((("a", "b"), ("c", "d")), tuple("abcd"))
    found = consistent(tree, np.array([-50.0, 10.0, 3.0, 4.0, 5.0, 6.0]), 10.0)
    leaves = leaves_of(tree, found)
    assert leaves[:2].tolist() == [0.0, 0.0]
    assert leaves[2:].sum() == pytest.approx(10.0)


@pytest.mark.claim("tree-partition")
@pytest.mark.parametrize(
    ("groups", "words"),
    [
        ((("a", "b"), ("b", "c")), "every level exactly once"),
        ((("a", "b"),), "every level exactly once"),
        ((("a", "b"), "c", ()), "must not be empty"),
        ("abc", "every level exactly once"),
        ((("a", "b"), "c", "z"), "every level exactly once"),
    ],
)
def test_what_is_no_partition(groups, words):
    with pytest.raises(ValueError, match=words):
        grow(groups, ("a", "b", "c"))


def test_bad_input_is_named():
    tree = grow(("a", "b"), ("a", "b"))
    with pytest.raises(ValueError, match="noisy must have 2 counts"):
        consistent(tree, np.ones(3), 1.0)
    for variances in ([1.0, 1.0], [0.0], [np.nan]):
        with pytest.raises(ValueError, match="variances must be > 0, one for each of the 1 levels"):
            consistent(tree, np.ones(2), 1.0, variances=variances)
    with pytest.raises(ValueError, match="weights must be one of"):
        consistent(tree, np.ones(2), 1.0, weights="equal")
    with pytest.raises(ValueError, match="branching must be >= 2"):
        balanced(["a", "b"], 1)
    with pytest.raises(ValueError, match="nested groups"):
        grow("a", ("a",))


def test_groups_of_next_to_nothing():
    """A group that should be empty comes out as 1e-17 of a record: its members are nothing, and no NaN."""
    tree = grow((("a", "b"), ("c", "d"), ("e", "f")), tuple("abcdef"))
    found = leaves_of(tree, consistent(tree, np.array([3.0, 2, 0, 3, 0, 0, 2, 0, 3]), 3.0))
    assert found == pytest.approx([2, 0, 0, 1, 0, 0], abs=1e-9)
    rng = np.random.default_rng(0)
    for n in (3, 10):
        made = leaves_of(tree, consistent(tree, rng.integers(0, n + 1, (20_000, 9)).astype(float), float(n)))
        assert np.isfinite(made).all()
        assert (made >= 0).all()
        assert np.abs(made.sum(axis=1) - n).max() < 1e-9
