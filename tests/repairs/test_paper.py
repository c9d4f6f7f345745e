"""The paper's four proportions, and what joint noise gains: coverage, RMSE and MSE with their figures."""

import numpy as np
import pytest

import inbounds as ib
from inbounds.grid.entropy import SeededEntropy
from inbounds.grid.joint import zero_sum
from inbounds.grid.scale import Scale
from inbounds.repairs.simplex import all_but_one, project, rescale
from inbounds.repairs.tree import consistent, grow, leaves_of

SHARES = np.array([0.1, 0.2, 0.3, 0.4])
TREE = grow((("1", "2"), ("3", "4")), ("1", "2", "3", "4"))
RUNS = 10_000


def released(procedure, bounding, epsilon, n, rng):
    """Shares of multinomial samples, with noise at the paper's scale and repaired by the paper's procedure."""
    sample = rng.multinomial(n, SHARES, RUNS) / n
    levels = 2 if procedure == "tree" else 1
    law = ib.Mechanism(ib.Laplace(levels / (n * epsilon)), bounding, bounds=(0, 1))
    if procedure == "tree":
        nodes = np.stack([sample[:, list(members)].sum(axis=1) for members in TREE.leaves], axis=1)
        return leaves_of(TREE, consistent(TREE, law.sample(nodes.clip(0, 1), rng=rng), 1.0, weights="hay"))
    noisy = law.sample(sample, rng=rng)
    if procedure == "rescale":
        return rescale(noisy)
    # As the reference figures have it: the others stay as they are where they leave less than nothing.
    first = np.maximum(1 - noisy[:, 1:].sum(axis=1), 0)
    return np.column_stack([first, noisy[:, 1:]])


def coverage(shares, n):
    half = 1.96 * np.sqrt(np.maximum(shares * (1 - shares), 0) / n)
    return (np.abs(shares - SHARES) <= half).mean(axis=0)


REFERENCE = [
    ("rescale", "truncated", 0.1, 50, (0.56, 0.58, 0.58, 0.56)),
    ("rescale", "bit", 0.1, 50, (0.36, 0.43, 0.47, 0.48)),
    ("rescale", "truncated", 0.1, 500, (0.69, 0.77, 0.80, 0.80)),
    ("rescale", "bit", 0.5, 200, (0.89, 0.92, 0.93, 0.93)),
    ("rescale", "truncated", 1.0, 50, (0.87, 0.91, 0.92, 0.92)),
    ("all-but-one", "truncated", 0.1, 50, (0.19, 0.49, 0.50, 0.49)),
    ("all-but-one", "truncated", 0.1, 500, (0.43, 0.75, 0.78, 0.80)),
    ("all-but-one", "truncated", 0.5, 200, (0.80, 0.91, 0.92, 0.93)),
    ("all-but-one", "truncated", 1.0, 50, (0.77, 0.90, 0.91, 0.92)),
    ("tree", "truncated", 0.1, 50, (0.37, 0.46, 0.45, 0.47)),
    ("tree", "truncated", 0.1, 500, (0.51, 0.60, 0.64, 0.66)),
    ("tree", "truncated", 0.5, 200, (0.83, 0.88, 0.89, 0.90)),
    ("tree", "truncated", 1.0, 50, (0.83, 0.86, 0.88, 0.89)),
]


@pytest.mark.parametrize(("procedure", "bounding", "epsilon", "n", "expected"), REFERENCE)
def test_coverage_of_the_papers_procedures(procedure, bounding, epsilon, n, expected):
    """Within 0.02 of an independent run: both have standard errors up to 0.005, and those figures two digits."""
    shares = released(procedure, bounding, epsilon, n, np.random.default_rng(7))
    assert coverage(shares, n) == pytest.approx(expected, abs=0.02)


def test_a_repaired_remainder_covers_better():
    """Where the others leave less than nothing, rescaling them is better than leaving them: .56 against .49."""
    rng = np.random.default_rng(7)
    sample = rng.multinomial(50, SHARES, RUNS) / 50
    noisy = ib.Mechanism(ib.Laplace(0.2), "truncated", bounds=(0, 1)).sample(sample, rng=rng)
    assert coverage(all_but_one(noisy, 0), 50)[1:] == pytest.approx([0.56, 0.57, 0.57], abs=0.025)


def test_noise_that_keeps_the_sum_gains_a_quarter():
    """Four cells, total MSE in units of 1/ε²: 16.7 against 24 for independent noise projected onto the sum."""
    entropy = SeededEntropy(1)
    scale = Scale.at_least(2 * Scale(20, 1).steps)
    joint = np.array([zero_sum(scale, 4, entropy) for _ in range(8000)]) / 2.0**20
    apart = np.random.default_rng(0).laplace(0, 2.0, (200_000, 4))
    apart -= apart.mean(axis=1, keepdims=True)
    gain = 1 - (joint**2).sum(axis=1).mean() / (apart**2).sum(axis=1).mean()
    assert gain > 0.25


@pytest.mark.parametrize("epsilon", [0.1, 0.5])
def test_a_sparse_vector(epsilon):
    """Shares .01, .02, .07, .9 of 500 records: joint noise and projection against BIT and rescaling, at equal ε."""
    shares, n = np.array([0.01, 0.02, 0.07, 0.9]), 500
    entropy, rng = SeededEntropy(2), np.random.default_rng(2)
    scale = Scale.at_least(2 / Scale(6, 64).steps * int(1 / epsilon))
    noise = np.array([zero_sum(scale, 4, entropy) for _ in range(4000)])
    joint = project(shares + noise / n)
    law = ib.Mechanism(ib.Laplace(2 / (n * epsilon)), "bit", bounds=(0, 1))
    apart = rescale(law.sample(np.broadcast_to(shares, (40_000, 4)), rng=rng))
    total = [((x - shares) ** 2).sum(axis=1).mean() for x in (joint, apart)]
    assert total[0] < 0.8 * total[1]
