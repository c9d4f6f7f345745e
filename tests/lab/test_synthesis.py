"""Multiple synthesis: formulas against a straightforward computation, edge cases, and the paper's coverage."""

import math
from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest
from scipy import stats

import inbounds as ib
from inbounds.inference import combine
from inbounds.lab.synthesis import pool_copies, t_quantile

N = 200


def copies(*values):
    template = ib.proportion([1] * N, epsilon="1/5")
    return [replace(template, noisy=(Fraction(round(v * N), N),)) for v in values]


@pytest.mark.claim("synthesis")
def test_the_rules_of_combination():
    values = [0.1, 0.16, 0.12, 0.2, 0.145]
    made = combine(copies(*values))
    q, between = np.mean(values), np.var(values, ddof=1)
    within = np.mean([v * (1 - v) / N for v in values])
    total, freedom = within + between / 5, 4 * (1 + 5 * within / between) ** 2
    half = stats.t(freedom).ppf(0.975) * math.sqrt(total)
    assert (made.value, made.within, made.between) == pytest.approx((q, within, between))
    assert made.freedom == pytest.approx(freedom)
    assert tuple(made.interval) == pytest.approx((q - half, q + half))
    assert made.epsilon == 1.0


def test_copies_that_agree_have_a_normal_interval():
    made = combine(copies(0.3, 0.3, 0.3))
    assert made.freedom == math.inf
    assert made.interval.width == pytest.approx(2 * stats.norm.ppf(0.975) * math.sqrt(0.21 / N))
    nothing = combine(copies(0, 0, 0))
    assert tuple(nothing.interval) == (0.0, 0.0)


def test_shares_of_several_levels_are_combined_each():
    releases = [ib.proportions(list("aabc") * 20, levels=list("abc"), epsilon=0.2) for _ in range(5)]
    made = combine(releases, 0.9)
    assert made.value.shape == made.interval.lower.shape == (3,)
    assert (made.interval.lower >= 0).all()
    assert (made.interval.upper <= 1).all()
    assert made.value == pytest.approx(np.mean([r.value for r in releases], axis=0))


def test_what_does_not_belong_together_is_refused():
    with pytest.raises(ValueError, match="two or more different releases"):
        combine(copies(0.1))
    with pytest.raises(ValueError, match="releases of the same share"):
        combine([*copies(0.1), ib.proportion([1] * 7, epsilon=1)])
    with pytest.raises(ValueError, match="releases of the same share"):
        combine([ib.mean([1.0], bounds=(0, 1), epsilon=1) for _ in range(2)])
    with pytest.raises(ValueError, match="releases of the same share"):
        combine([ib.proportion(["a", "b"], level=level, epsilon=1) for level in "ab"])
    with pytest.raises(ValueError, match="with the same epsilon"):
        combine([ib.proportion([1] * N, epsilon=e) for e in (1, 2)])
    with pytest.raises(ValueError, match="two or more different releases"):
        combine(copies(0.1) * 2)
    with pytest.raises(TypeError, match=r"releases\[1\] must be a Release"):
        combine([*copies(0.1), 0.2])
    with pytest.raises(TypeError, match="list of Release"):
        combine(copies(0.1)[0])
    with pytest.raises(ValueError, match="level"):
        t_quantile(1.0, 3.0)


@pytest.mark.parametrize(
    ("epsilon", "n", "bounding", "reference"),
    [
        (0.1, 50, "truncated", (0.80, 0.98, 0.94, 0.72)),
        (0.1, 50, "bit", (0.93, 0.93, 0.89, 0.83)),
        (0.5, 200, "bit", (0.94, 0.95, 0.95, 0.95)),
        (1.0, 50, "truncated", (0.98, 0.96, 0.95, 0.94)),
    ],
)
def test_coverage_in_the_papers_study(epsilon, n, bounding, reference):
    """Shares (.1, .2, .3, .4), five copies at ε/5 and scale 5/(nε), rescaled to sum to one: independent figures."""
    rng, runs, truth = np.random.default_rng(17), 10_000, np.array([0.1, 0.2, 0.3, 0.4])
    law = ib.Mechanism(ib.Laplace(5 / (n * epsilon)), bounding, bounds=(0, 1))
    shares = rng.multinomial(n, truth, runs) / n
    noisy = np.array([law.sample(shares, rng=rng) for _ in range(5)])
    sums = noisy.sum(axis=-1, keepdims=True)
    values = np.where(sums > 0, noisy / np.where(sums > 0, sums, 1), 0.25)
    point, total, freedom, _, _ = pool_copies(values, n)
    half = t_quantile(0.95, freedom) * np.sqrt(total)
    covered = ((point - half <= truth) & (truth <= point + half)).mean(axis=0)
    assert covered == pytest.approx(reference, abs=0.02)


def test_copies_over_other_denominators_are_not_alike():
    how = {"levels": list("ab"), "epsilon": 1, "neighbours": "add-remove"}
    copies = [ib.proportions(list("aab"), denominator=d, **how) for d in (3, 30)]
    with pytest.raises(ValueError, match="releases of the same share"):
        combine(copies)
