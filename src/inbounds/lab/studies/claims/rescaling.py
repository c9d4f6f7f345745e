"""The paper's findings about shares that are re-scaled to sum to one, and about intervals that ignore the noise."""

from collections.abc import Sequence
from itertools import pairwise

from inbounds.lab.studies.claims.judge import Claim, Part, above, below, between, everywhere
from inbounds.lab.studies.claims.shares import CELLS, FIRST, LAST, SMALL, each, gaps, original, ratios, sizes
from inbounds.lab.studies.evidence import Evidence, Measured, largest, mean, smallest
from inbounds.lab.studies.paper import BOUNDINGS, EPSILONS, SHARE_SIZES


def _minimal_bias(e: Evidence) -> Sequence[Part]:
    parts = []
    for epsilon in (0.5, 1.0):
        for m in BOUNDINGS:
            worst = largest(x for n in SHARE_SIZES for x in sizes(e, n=n, epsilon=epsilon, mechanism=m))
            text = f"{m}, ε = {epsilon:g}: |bias| at most 0.01 at every n; largest"
            parts.append(below(text, worst, 0.01))
    return parts


def _bias_signs(e: Evidence) -> Sequence[Part]:
    parts = []
    for m in BOUNDINGS:
        up = smallest(e("p1", "bias", n=n, epsilon=0.1, mechanism=m) for n in SMALL)
        down = largest(e("p4", "bias", n=n, epsilon=0.1, mechanism=m) for n in SMALL)
        parts.append(above(f"{m}, ε = 0.1, n = 50, 100: p1 biased up; least", up, 0))
        parts.append(below(f"{m}, ε = 0.1, n = 50, 100: p4 biased down; least", down, 0))
    return parts


def _less_biased(e: Evidence) -> Sequence[Part]:
    by_size = {n: gaps(*(sizes(e, n=n, epsilon=0.1, mechanism=m) for m in BOUNDINGS)) for n in SHARE_SIZES}
    parts = []
    for i, cell in enumerate(CELLS):
        text = (
            f"{cell}, ε = 0.1: |bias| of truncated minus BIT's above 0 on average over n, nowhere clearly below; least"
        )
        # Samples of other sizes are other samples.
        parts.append(everywhere(text, [by_size[n][i] for n in SHARE_SIZES], 0, independent=True))
    return parts


def _inflated(e: Evidence) -> Sequence[Part]:
    def inflation(n: int, epsilon: float, m: str) -> list[Measured]:
        errors = each(e, "rmse", n=n, epsilon=epsilon, mechanism=m)
        return ratios(errors, [original(e, cell, "rmse", n) for cell in CELLS])

    cases = [(n, epsilon, m) for n in SHARE_SIZES for epsilon in EPSILONS for m in BOUNDINGS]
    means = {case: mean(inflation(*case)) for case in cases}
    by_epsilon = [
        means[n, a, m] - means[n, b, m] for n in SHARE_SIZES for m in BOUNDINGS for a, b in pairwise(EPSILONS)
    ]
    by_size = [means[FIRST, epsilon, m] - means[LAST, epsilon, m] for epsilon in EPSILONS for m in BOUNDINGS]
    return [
        everywhere(
            "RMSE over the original's, mean of shares: above 1, nowhere clearly below; least", means.values(), 1
        ),
        everywhere("that ratio falls as ε grows, nowhere rises clearly; least fall", by_epsilon, 0),
        everywhere(f"that ratio falls from n = {FIRST} to {LAST}, nowhere rises clearly; least fall", by_size, 0),
    ]


def _same_as_original(e: Evidence) -> Sequence[Part]:
    parts = []
    for n in SHARE_SIZES:
        plain = [original(e, cell, "rmse", n) for cell in CELLS]
        worst = largest(mean(ratios(each(e, "rmse", n=n, epsilon=1.0, mechanism=m), plain)) for m in BOUNDINGS)
        text = f"n = {n}, ε = 1: RMSE at most 5% above the original's, mean of shares; larger ratio"
        parts.append(below(text, worst, 1.05))
    return parts


def _bit_larger_rmse(e: Evidence) -> Sequence[Part]:
    parts = []
    for n in SMALL:
        truncated, bit = (each(e, "rmse", n=n, epsilon=0.1, mechanism=m) for m in BOUNDINGS)
        ratio = mean(ratios(bit, truncated))
        parts.append(above(f"n = {n}, ε = 0.1: RMSE of BIT over truncated's above 1, mean of shares", ratio, 1))
    return parts


def _covered(e: Evidence, epsilon: float, among: Sequence[int], low: float, high: float) -> Sequence[Part]:
    """At each size, coverage of all shares by both procedures within limits."""
    parts = []
    for n in among:
        coverages = [x for m in BOUNDINGS for x in each(e, "coverage", n=n, epsilon=epsilon, mechanism=m)]
        parts.append(between(f"n = {n}, ε = {epsilon:g}: coverage of all shares", coverages, low, high))
    return parts


def _about_nominal(e: Evidence) -> Sequence[Part]:
    return _covered(e, 1.0, SHARE_SIZES, 0.93, 0.97)


def _coverage_at_half(e: Evidence) -> Sequence[Part]:
    return _covered(e, 0.5, [n for n in SHARE_SIZES if n <= 300], 0.835, 0.935)


def _coverage_at_tenth(e: Evidence) -> Sequence[Part]:
    parts = []
    for m in BOUNDINGS:
        coverages = [x for n in SHARE_SIZES for x in each(e, "coverage", n=n, epsilon=0.1, mechanism=m)]
        parts.append(between(f"{m}, ε = 0.1: coverage of all shares at every n", coverages, 0.475, 0.825))
    return parts


def _bit_covers_worse(e: Evidence) -> Sequence[Part]:
    def gap(cell: str, n: int, epsilon: float) -> Measured:
        truncated, bit = (e(cell, "coverage", n=n, epsilon=epsilon, mechanism=m) for m in BOUNDINGS)
        return truncated - bit

    elsewhere = [(n, epsilon) for n in SHARE_SIZES for epsilon in EPSILONS if n > 100 or epsilon > 0.1]
    parts = []
    for cell in CELLS:
        small = gap(cell, FIRST, 0.1)
        parts.append(above(f"{cell}, n = {FIRST}, ε = 0.1: coverage of truncated minus BIT's above 0.05", small, 0.05))
        ratio = largest(abs(gap(cell, *case)).over(small) for case in elsewhere)
        parts.append(
            below(f"{cell}, n > 100 or ε > 0.1: the difference less than half of that; largest ratio", ratio, 0.5)
        )
    return parts


CLAIMS = (
    Claim(
        "S2.1",
        "re-scaling",
        "minimal bias at ε = 0.5 and 1, for all n and both procedures",
        _minimal_bias,
        "reproduced",
    ),
    Claim("S2.2", "re-scaling", "ε = 0.1, small n: p1 biased up, p4 down", _bias_signs, "reproduced"),
    Claim("S2.3", "re-scaling", "BIT less biased than truncated", _less_biased, "reproduced"),
    Claim("S2.4", "re-scaling", "RMSE inflated; less with larger ε or n", _inflated, "reproduced"),
    Claim(
        "S2.5",
        "re-scaling",
        "ε = 1: RMSE basically that of the original data",
        _same_as_original,
        "partly",
        "Noise adds 2/(nε)² to a variance of p(1-p)/n: its part falls as 1/n.",
    ),
    Claim(
        "S2.6",
        "re-scaling",
        "ε = 0.1, small n: BIT's RMSE larger than truncated's",
        _bit_larger_rmse,
        "reproduced",
        "At the paper's scale truncation spends almost twice the ε. At equal true ε its noise is twice as wide, and "
        "from n = 100 on BIT has the smaller error.",
    ),
    Claim(
        "S2.7",
        "re-scaling",
        "coverage about 95% at all n for ε = 1",
        _about_nominal,
        "partly",
        "The interval ignores the noise, and at n = 50 it covers too little without any.",
    ),
    Claim("S2.8", "re-scaling", "coverage 85–92% for n from 50 to 300 at ε = 0.5", _coverage_at_half, "partly"),
    Claim(
        "S2.9",
        "re-scaling",
        "coverage 50–80% for n from 50 to 500 at ε = 0.1",
        _coverage_at_tenth,
        "partly",
        "BIT's shares of exactly 0 have intervals that are points.",
    ),
    Claim(
        "S2.10",
        "re-scaling",
        "BIT covers worse at small n and ε = 0.1; alike elsewhere",
        _bit_covers_worse,
        "reproduced",
    ),
)
