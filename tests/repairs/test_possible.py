"""Ten thousand noisy draws, ε from 0.01 to 10: everything that comes out of a repair is possible."""

import math

import numpy as np
import pytest

from inbounds.derivations import Limits, Matrix
from inbounds.repairs.linear import Constraint, System
from inbounds.repairs.simplex import all_but_one, project, rescale, whole
from inbounds.repairs.tree import balanced, consistent, grow, leaves_of

DRAWS = 10_000
EPSILONS = (0.01, 0.1, 1.0, 10.0)
N = 1000


@pytest.mark.parametrize("cells", [2, 4, 30, 1000])
def test_shares(cells):
    rng = np.random.default_rng(cells)
    counts = rng.multinomial(N, rng.dirichlet(np.ones(cells)))
    for epsilon in EPSILONS:
        draws = DRAWS // 4 if cells == 1000 else DRAWS
        noisy = counts + rng.laplace(0, 2 / epsilon, (draws, cells))
        for made in (project(noisy / N), rescale(np.clip(noisy, 0, N) / N), all_but_one(noisy / N, cells - 1)):
            assert (made >= 0).all()
            assert np.abs(made.sum(axis=1) - 1).max() < 1e-12
        made = whole(np.rint(noisy), N)
        assert (made >= 0).all()
        assert (made.sum(axis=1) == N).all()
        assert (made == np.rint(made)).all()


def test_trees_of_depth_ten():
    labels = tuple(f"{i:04d}" for i in range(1024))
    tree = grow(balanced(labels), labels)
    rng = np.random.default_rng(0)
    sizes = rng.multinomial(N, np.full(1024, 1 / 1024))
    counts = np.array([sizes[list(members)].sum() for members in tree.leaves])
    for epsilon in EPSILONS:
        for _ in range(DRAWS // 4 // 500):
            noisy = np.clip(counts + rng.laplace(0, 20 / epsilon, (500, len(counts))), 0, N) / N
            nodes = consistent(tree, noisy, 1.0)
            leaves = leaves_of(tree, nodes)
            assert (leaves >= 0).all()
            assert np.abs(leaves.sum(axis=1) - 1).max() < 1e-12
            for node in (0, 1, 500, 1500):
                members = list(tree.leaves[node])
                assert np.abs(nodes[:, node] - leaves[:, members].sum(axis=1)).max() < 1e-12


@pytest.mark.parametrize(("columns", "draws"), [(2, DRAWS), (5, DRAWS), (10, DRAWS), (50, DRAWS)])
def test_matrices(columns, draws):
    rng = np.random.default_rng(columns)
    rows, cols = np.triu_indices(columns)
    factors = rng.normal(0, 1, (columns, columns))
    true = (factors @ factors.T / columns)[rows, cols]
    limits = np.full(len(rows), -9.0), np.full(len(rows), 9.0), np.zeros((columns, 2))
    limits[0][rows == cols] = 0.0
    for epsilon in EPSILONS:
        count = draws // (4 if columns < 50 else 10)
        radius = rng.gamma(len(rows) + 1, 36 / N / epsilon, (count, 1))
        noisy = true + radius * rng.uniform(-1, 1, (count, len(rows)))
        for unit in (False, True):
            made = Matrix("clip", unit=unit).values(noisy, Limits(*limits)).reshape(-1, columns, columns)
            scale = np.maximum(np.trace(made, axis1=1, axis2=2), 1e-9)
            assert (np.linalg.eigvalsh(made)[:, 0] >= -1e-12 * scale).all()
            assert (made == made.transpose(0, 2, 1)).all()
            if unit:
                assert (np.abs(made) <= 1).all()
                assert (np.diagonal(made, axis1=1, axis2=2) == 1).all()


def test_linear_constraints():
    names = list("abcde")
    constraints = [
        Constraint.of({"a": 1, "b": 1, "c": 1}, equals=1),
        Constraint.of({"c": 1, "d": -2}, bounds=(-0.5, 0.25)),
        Constraint.of({"d": 1, "e": 1}, bounds=(0.1, math.inf)),
    ]
    system = System.of(dict.fromkeys(names, (0, 1)), constraints)
    rng = np.random.default_rng(1)
    for epsilon in EPSILONS:
        for noisy in rng.laplace(0.3, 1 / (100 * epsilon), (DRAWS // 4, 5)):
            assert system.obeys(system.nearest(dict(zip(names, noisy.tolist(), strict=True))))
