"""Estimates from a record beside the released value: without bias, or with the least error on average over a prior."""

import math

import numpy as np

from inbounds import _check
from inbounds._check import Figures
from inbounds.inference.posterior import posterior
from inbounds.inference.posterior import unbiased as invert
from inbounds.inference.result import require_release
from inbounds.privacy.certificate import Certificate
from inbounds.record.release import Release

KINDS = ("unbiased", "posterior", "inversion")


# claim:unbiased-estimate
def estimate(release: Release, kind: str = "unbiased", prior: tuple[float, float] = (1.0, 1.0)) -> Figures:
    """Estimate the statistic of the table from the record of a release. It costs nothing.

    Parameters
    ----------
    release
        The release.
    kind
        ``"unbiased"`` has exactly no bias, whatever the truth. If noise was drawn without bounds and only the value was
        clamped or repaired (means with their squares, joint counts), it is the noisy number. For clamped discrete
        Laplace noise it is the released number, moved beyond a bound if it lies at one. For a variance or covariance
        from moments, or a variance around a centre, it has hardly any bias: what the square of a noisy mean adds on
        average is subtracted, up to a hundredth of it. It may be outside of the bounds. ``"posterior"`` is the
        posterior mean, which has the least mean squared error on average over the prior. ``"inversion"`` is `unbiased`:
        within the bounds, and only nearly without bias.
    prior
        The exponents of the beta prior on the bounds, for ``"posterior"``.

    Returns
    -------
    float or array
        The estimate. An array in the shape of the value if there are several.

    Raises
    ------
    ValueError
        If the release has no estimate of that kind.

    Notes
    -----
    Discrete Laplace noise with P(j) proportional to a^|j|, clamped to 0..N: from a truth k, the part of the noise
    beyond 0 has mean a^(k+1)/(1 - a²), and 0 is released with probability a^k/(1 + a). So a/(1 - a) less at 0, and as
    much more at N, makes up for it at every k. Truncated and staircase noise have no such property.

    Examples
    --------
    >>> import inbounds as ib
    >>> release = ib.proportion([0] * 500, epsilon=1)
    >>> release.value >= 0, release.estimate() > -0.002
    (True, True)
    """
    require_release(release, "release")
    _check.choice(kind, "kind", KINDS)
    if kind == "posterior":
        return posterior(release, prior).mean
    if kind == "inversion":
        return invert(release)
    unbiased = release.derivation.unbiased(release.coordinates())
    if unbiased is not None:
        return unbiased.reshape(release.shape) if release.axes else float(unbiased[0])
    if not release.derivation.keeps_numbers:
        raise ValueError(
            f"a {release.statistic.name} by {release.method!r} is no linear function of noisy numbers, so it has no "
            "unbiased estimate"
        )
    numbers = zip(release.parts, release.noisy, release.units, strict=True)
    values = [(float(x) + _move(part, float(x))) * float(unit) for part, x, unit in numbers]
    return np.array(values).reshape(release.shape) if release.axes else values[0]


def _move(part: Certificate, released: float) -> float:
    """How far the estimate is from a noisy number: 0, except at a bound that the number was clamped to."""
    if part.bounding == "unbounded":
        return 0.0
    if part.bounding == "truncated" or part.noise != "laplace":
        raise ValueError(
            f"{part.bounding} {part.noise} noise has no unbiased estimate in closed form; kind='inversion' is nearly "
            "so, and kind='posterior' has less error"
        )
    law = part.grid
    beyond = float(part.step) / math.expm1(1 / float(law.scale.steps))
    if law.first is not None and released == float(law.value(law.first)):
        return -beyond
    return beyond if law.last is not None and released == float(law.value(law.last)) else 0.0
