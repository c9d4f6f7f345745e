"""The paper's statements about the two laws, as functions that can be run.

Each claim takes public numbers, works out both sides from the laws, and says elementwise whether it
holds; `CLAIMS` lists them by id. Where the paper's wording needed mending the docstring says how. The
reference is F. Liu, *Statistical properties of sanitized results from differentially private Laplace mechanism
with univariate bounding constraints*.
"""

import math
from collections.abc import Callable
from typing import Any, Final

import numpy as np
import numpy.typing as npt

from inbounds import _check
from inbounds._check import Array
from inbounds.laws.bounding import sight
from inbounds.laws.mechanism import Mechanism
from inbounds.laws.noise import Laplace

Verdict = npt.NDArray[np.bool_]

# Slack for rounding when two sides are equal on paper.
_ULPS = 64 * float(np.finfo(float).eps)


def _pair(scale: float, bounds: Any) -> tuple[Mechanism, Mechanism]:
    noise = Laplace(scale)
    return Mechanism(noise, "truncated", bounds), Mechanism(noise, "bit", bounds)


def _at_most(value: Array, limit: Array) -> Verdict:
    return np.asarray(value <= limit * (1 + _ULPS))


# claim:bias-a (Prop. 1(a))
def unbiased_only_at_the_midpoint(scale: float, bounds: Any, s: Any) -> Verdict:
    """Either release is unbiased for s if and only if the bounds are symmetric around s.

    Where the bias is too small for a double (s many scales away from both bounds) nothing can be told, and
    the claim counts as holding.
    """
    s = np.asarray(s, dtype=float)
    lower, upper = bounds
    symmetric = sight(lower, upper, s).gap == 0
    invisible = np.minimum(s - lower, upper - s) > 700 * scale
    unbiased = [law.bias(s) == 0 for law in _pair(scale, bounds)]
    return np.asarray(invisible | ((unbiased[0] == symmetric) & (unbiased[1] == symmetric)))


# claim:bias-b (Prop. 1(b))
def same_direction(scale: float, bounds: Any, s: Any) -> Verdict:
    """Both biases point the same way: away from the nearer bound."""
    s = np.asarray(s, dtype=float)
    truncated, bit = (law.bias(s) for law in _pair(scale, bounds))
    away = np.sign((bounds[1] - s) - (s - bounds[0]))
    return np.asarray((truncated * bit >= 0) & (truncated * away >= 0) & (bit * away >= 0))


# claim:bias-c (Prop. 1(c))
def truncated_is_no_less_biased(scale: float, bounds: Any, s: Any) -> Verdict:
    """|bias of truncated| ≥ |bias of BIT|; the text cites it as part (b)."""
    truncated, bit = (np.abs(law.bias(s)) for law in _pair(scale, bounds))
    return _at_most(bit, truncated)


# claim:bias-one-sided (Remark 3)
def one_sided_forms(scale: float, lower: float, s: Any) -> Verdict:
    """With only a lower bound and A = e^{-(s-c0)/λ} the biases are
    (λ + s - c0)(A/2)/(1 - A/2) for truncated and λA/2 for BIT; both are positive, the first is larger.

    The remark's "0 < 1 - A/2 < 1/2" should read 1/2 ≤ 1 - A/2 < 1.
    """
    s = np.asarray(s, dtype=float)
    half = np.exp(-(s - lower) / scale) / 2
    truncated, bit = (law.bias(s) for law in _pair(scale, (lower, math.inf)))
    expected = (scale + s - lower) * half / (1 - half), scale * half
    close = [np.isclose(bias, want, rtol=1e-12, atol=0) for bias, want in zip((truncated, bit), expected, strict=True)]
    return np.asarray(close[0] & close[1] & (1 - half >= 0.5) & ((bit > 0) | (half == 0)) & _at_most(bit, truncated))


# claim:mse-bound (Prop. 2)
def mse_below_laplace(scale: float, bounds: Any, s: Any) -> Verdict:
    """For s inside the bounds the MSE is at most 2λ², that of the noise alone.

    The paper's strict inequality fails one-sided at s = c0, where truncated attains 2λ². Outside the bounds there is
    no such limit.
    """
    limit = np.asarray(2 * scale**2)
    truncated, bit = (law.mse(s) for law in _pair(scale, bounds))
    return np.asarray(_at_most(truncated, limit) & _at_most(bit, limit))


# claim:mse-sharper
def mse_below_its_limit(scale: float, bounds: Any, s: Any) -> Verdict:
    """With a = s - c0, b = c1 - s the MSE also stays below its limit for λ → ∞:
    (a³ + b³)/(3W) for truncated, (a² + b²)/2 for BIT."""
    lower, upper = _check.bounds(bounds, bounded=True)
    a, b = np.asarray(s, dtype=float) - lower, upper - np.asarray(s, dtype=float)
    truncated, bit = (law.mse(s) for law in _pair(scale, bounds))
    return np.asarray(_at_most(truncated, (a**3 + b**3) / (3 * (a + b))) & _at_most(bit, (a**2 + b**2) / 2))


# claim:limit-zero (Prop. 2)
def little_noise(bounds: Any, s: Any) -> Verdict:
    """As λ → 0 at an s strictly inside, bias/λ → 0 and MSE/(2λ²) → 1."""
    s = np.asarray(s, dtype=float)
    scale = float(np.minimum(s - bounds[0], bounds[1] - s).min()) / 60
    verdicts = []
    for law in _pair(scale, bounds):
        # Sixty scales away from either bound the bias is below 61 e^-60 λ.
        verdicts.append(np.abs(law.bias(s)) <= 61 * math.exp(-60) * scale * (1 + _ULPS))
        verdicts.append(np.isclose(law.mse(s), 2 * scale**2, rtol=1e-12, atol=0))
    return np.asarray(np.logical_and.reduce(verdicts))


# claim:limit-infinity (after Def. 2)
def much_noise(bounds: Any, s: Any) -> Verdict:
    """As λ → ∞ truncated becomes uniform, BIT a half on each bound."""
    s = np.asarray(s, dtype=float)
    lower, upper = _check.bounds(bounds, bounded=True)
    truncated, bit = _pair(1e15 * (upper - lower), bounds)
    x = np.linspace(lower, upper, 7)[1:-1]
    uniform = np.isclose(truncated.cdf(x, at=s[..., None]), (x - lower) / (upper - lower), rtol=1e-12).all(axis=-1)
    atoms = bit.atoms(at=s)
    halves = np.isclose(atoms[0], 0.5, rtol=1e-12) & np.isclose(atoms[1], 0.5, rtol=1e-12)
    return np.asarray(uniform & halves)


# claim:rate (Prop. 2)
def mse_rate(constant: float, k: float, epsilon: float, n: Any, bounds: Any, s: Any) -> Verdict:
    """A sensitivity of c n^-k gives an MSE of O(n^-2k): n^2k MSE ≤ 2 (c/ε)² at every n."""
    verdicts = []
    for size in np.atleast_1d(n):
        scale = constant * float(size) ** -k / epsilon
        limit = np.asarray(2 * (constant / epsilon) ** 2)
        verdicts += [_at_most(float(size) ** (2 * k) * law.mse(s), limit) for law in _pair(scale, bounds)]
    return np.asarray(np.logical_and.reduce(verdicts))


# claim:consistency (Prop. 3)
def consistent_for_the_parameter(n: int, theta: float, epsilon: float) -> Verdict:
    """A release of a consistent statistic is consistent for the parameter θ.

    Shown for a proportion: by the triangle inequality in L2, RMSE(S*, θ) ≤ RMSE(S, θ) + √2 λ with λ = 1/(nε), and both
    terms on the right go to zero. The expectation over S is the exact binomial one.
    """
    if not 0 < theta < 1:
        raise ValueError(f"theta must lie in (0, 1), got {theta}")
    k = np.arange(n + 1)
    log_weight = [math.lgamma(n + 1) - math.lgamma(i + 1) - math.lgamma(n - i + 1) for i in k]
    weight = np.exp(np.array(log_weight) + k * math.log(theta) + (n - k) * math.log1p(-theta))
    scale, s = 1 / (n * epsilon), k / n
    limit = math.sqrt(theta * (1 - theta) / n) + math.sqrt(2) * scale
    errors = [weight @ (law.variance(s) + (law.mean(s) - theta) ** 2) for law in _pair(scale, (0.0, 1.0))]
    return np.asarray([_at_most(np.sqrt(error), np.asarray(limit)) for error in errors])


CLAIMS: Final[dict[str, Callable[..., Verdict]]] = {
    "bias-a": unbiased_only_at_the_midpoint,
    "bias-b": same_direction,
    "bias-c": truncated_is_no_less_biased,
    "bias-one-sided": one_sided_forms,
    "mse-bound": mse_below_laplace,
    "mse-sharper": mse_below_its_limit,
    "limit-zero": little_noise,
    "limit-infinity": much_noise,
    "rate": mse_rate,
    "consistency": consistent_for_the_parameter,
}
