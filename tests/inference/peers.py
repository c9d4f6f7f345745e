"""What intervals are compared with: brute force, the Tulap interval, and seeded releases."""

import math
from dataclasses import replace
from fractions import Fraction

import numpy as np
from scipy import optimize, stats

from inbounds import Laplace, Mechanism


def discrete_laplace_cdf(t, q):
    """P(Z ≤ t) for integer t, straight from the sum of q^|k|."""
    return np.where(t < 0, q ** -np.minimum(t, 0.0) / (1 + q), 1 - q ** (np.maximum(t, 0.0) + 1) / (1 + q))


def released_pmf(n, scale, *, truncated=False):
    """P(released = y | true count k), rows y, columns k, from weights q^|y-k|."""
    y, k = np.arange(n + 1)[:, None], np.arange(n + 1)[None, :]
    if truncated:
        weights = np.exp(-np.abs(y - k) / scale)
        return weights / weights.sum(axis=0)
    cdf = discrete_laplace_cdf(y - k, math.exp(-1 / scale))
    cdf[-1] = 1
    return np.diff(np.vstack([np.zeros(n + 1), cdf]), axis=0)


def binomial(n, p):
    return stats.binom.pmf(np.arange(n + 1), n, p)


def tulap_cdf(t, q):
    """Discrete Laplace plus uniform on (-½, ½): linear between half-integers."""
    step = np.floor(t + 0.5)
    below, above = discrete_laplace_cdf(step - 1, q), discrete_laplace_cdf(step, q)
    return below + (t + 0.5 - step) * (above - below)


def tulap_width(n, epsilon, alpha, shares, points=101):
    """Expected width of the UMAU interval of Awan and Slavković (2020), and how often it is not empty.

    For each share the most powerful unbiased test accepts between two ends whose tails add up to alpha and leave the
    mean of the count where it is. The expected width is the integral of the probability of acceptance (Pratt), over
    points that lie closer together near 0 and 1, where intervals are short.
    """
    q, k = math.exp(-epsilon), np.arange(n + 1)
    tested = np.clip(np.sin(np.linspace(0, np.pi / 2, points)) ** 2, 1e-7, 1 - 1e-7)
    reach = 60 / epsilon + 50
    ends = []
    for share in tested:
        pmf = binomial(n, share)
        kept = np.flatnonzero(pmf > 1e-18)
        pmf, near = pmf[kept], k[kept]

        def cdf(z, pmf=pmf, near=near):
            return pmf @ tulap_cdf(z - near, q)

        def quantile(u, cdf=cdf, near=near):
            return optimize.brentq(lambda z: cdf(z) - u, near[0] - reach, near[-1] + reach, xtol=1e-7)

        def moved(tail, pmf=pmf, near=near, quantile=quantile, share=share):
            low, high = quantile(tail), quantile(1 - alpha + tail)
            return (pmf * (near - n * share)) @ (tulap_cdf(high - near, q) - tulap_cdf(low - near, q))

        tail = optimize.brentq(moved, 1e-9, alpha - 1e-9, xtol=1e-6)
        ends.append((quantile(tail), quantile(1 - alpha + tail)))
    low, high = np.array(ends).T
    widths, filled = [], []
    for share in shares:
        pmf = binomial(n, share)
        accepted = (tulap_cdf(high[:, None] - k, q) - tulap_cdf(low[:, None] - k, q)) @ pmf
        widths.append(np.trapezoid(accepted, tested))
        filled.append(pmf @ (tulap_cdf(high.max() - k, q) - tulap_cdf(low.min() - k, q)))
    return np.array(widths), np.array(filled)


def seeded(template, at, rng):
    """A release like ``template`` with noise of its law about ``at``, from a seeded generator: for studies only."""
    part, law = template.certificate, template.certificate.mechanism
    bounds = template.limits_of_coordinates()[0]
    noise = Mechanism(Laplace(float(part.spread)), part.bounding, bounds=bounds)
    drawn = float(noise.sample(float(np.clip(at, *bounds)), rng=rng))
    index = min(max(law.locate(Fraction(drawn)), law.first), law.last)
    return replace(template, noisy=(law.value(index),))


def seeded_matrix(template, elements, rng):
    """A joint release of a triangle of elements."""
    part, size = template.certificate, len(elements)
    noise = float(part.spread) * rng.gamma(size + 1) * rng.uniform(-1, 1, size)
    values = [x / float(unit) + z for x, unit, z in zip(elements, template.units, noise, strict=True)]
    return replace(template, noisy=tuple(part.grid.value(part.grid.locate(Fraction(x))) for x in values))
