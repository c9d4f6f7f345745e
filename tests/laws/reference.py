"""The laws by 40-digit quadrature of their densities: nothing here shares a formula with the library."""

from collections.abc import Iterable
from dataclasses import dataclass
from functools import cache
from itertools import pairwise

import mpmath as mp
import numpy as np

from inbounds import Gaussian, GeneralizedGaussian, Laplace, Mechanism
from inbounds.laws import Noise

NOISES = {
    "laplace": Laplace,
    "gaussian": Gaussian,
    "gg1": lambda scale: GeneralizedGaussian(scale, 1),
    "gg3": lambda scale: GeneralizedGaussian(scale, 3),
    "gg8": lambda scale: GeneralizedGaussian(scale, 8),
}


def exact_density(noise: Noise) -> tuple[mp.mpf, int, mp.mpf]:
    """efold, power and peak of the density as the parameters define them."""
    scale = mp.mpf(noise.scale)
    if isinstance(noise, Laplace):
        return scale, 1, 1 / (2 * scale)
    if isinstance(noise, Gaussian):
        return scale * mp.sqrt(2), 2, 1 / (scale * mp.sqrt(2 * mp.pi))
    return scale, noise.power, noise.power / (2 * scale * mp.gamma(mp.mpf(1) / noise.power))


@dataclass(frozen=True)
class Reference:
    """Moments and cdf of one mechanism at one true value, by quadrature."""

    mechanism: Mechanism
    at: float

    def _integral(self, order: int, low: mp.mpf, high: mp.mpf) -> mp.mpf:
        (found,) = self._integrals([order], low, high)
        return found

    def _integrals(self, orders: Iterable[int], low: mp.mpf, high: mp.mpf) -> list[mp.mpf]:
        """∫ z^k f(z) dz over [low, high] in panels no longer than a few local e-foldings."""
        efold, power, peak = exact_density(self.mechanism.noise)
        if low >= high:
            return [mp.mpf(0) for _ in orders]
        cuts = {mp.mpf(0)}
        for anchor in (mp.mpf(0), low, high):
            if not mp.isinf(anchor):
                # How far the exponent takes to change by one, seen from the anchor.
                slope = power * (abs(anchor) / efold) ** (power - 1) / efold
                reach = min(efold, 1 / slope) if slope > 0 else efold
                cuts |= {anchor + sign * k * reach for k in (0.5, 1, 2, 4, 8, 16, 32, 64, 130, 800) for sign in (-1, 1)}
        edges = [low, *sorted(c for c in cuts if low < c < high), high]
        edges = [e for e in edges if not mp.isinf(e)]
        # mpmath stops at an absolute error, so the largest value of the density is put to one first.
        closest = min(max(mp.mpf(0), low), high)
        offset = (abs(closest) / efold) ** power
        # All orders are asked for at the same points.
        density = cache(lambda z: mp.exp(offset - (abs(z) / efold) ** power) / efold)
        found = []
        for order in orders:
            unit = mp.mpf(max(abs(closest), efold)) ** order
            weighted = lambda z, order=order, unit=unit: z**order / unit * density(z)  # noqa: E731
            panels = pairwise(edges)
            total = mp.fsum(mp.quad(weighted, panel, method="gauss-legendre", maxdegree=6) for panel in panels)
            found.append(total * unit * efold * peak * mp.exp(-offset))
        return found

    @property
    def _limits(self) -> tuple[mp.mpf, mp.mpf]:
        return tuple(mp.mpf(bound) - mp.mpf(self.at) for bound in self.mechanism.bounds)

    def moments(self) -> dict[str, mp.mpf]:
        with mp.workdps(40 + self._digits()):
            return self._moments()

    def _digits(self) -> int:
        """Digits before the point of the largest exponent that matters."""
        efold, power, _ = exact_density(self.mechanism.noise)
        lower, upper = self.mechanism.bounds
        beyond = max(lower - self.at, self.at - upper, 1e-3 * self.mechanism.noise.scale)
        return max(0, int(power * mp.log10(beyond / efold)) + 1)

    def _moments(self) -> dict[str, mp.mpf]:
        low, high = self._limits
        m0, m1, m2 = self._integrals(range(3), low, high)
        if self.mechanism.bounding == "truncated":
            bias, mse = m1 / m0, m2 / m0
        elif self.mechanism.bounding == "bit":
            below, above = self._integral(0, -mp.inf, low), self._integral(0, high, mp.inf)
            clip = lambda bound, mass, k: mass * bound**k if mass else mp.mpf(0)  # noqa: E731
            bias = clip(low, below, 1) + m1 + clip(high, above, 1)
            mse = clip(low, below, 2) + m2 + clip(high, above, 2)
        else:
            bias, mse = mp.mpf(0), self._integral(2, -mp.inf, mp.inf)
        return {"mean": self.at + bias, "bias": bias, "variance": mse - bias**2, "mse": mse}

    def cdf(self, x: float) -> mp.mpf:
        with mp.workdps(40 + self._digits()):
            return self._cdf(x)

    def _cdf(self, x: float) -> mp.mpf:
        low, high = self._limits
        z = mp.mpf(x) - mp.mpf(self.at)
        if self.mechanism.bounding == "truncated":
            return self._integral(0, low, min(z, high)) / self._integral(0, low, high)
        if self.mechanism.bounding == "bit" and z >= high:
            return mp.mpf(1)
        return self._integral(0, -mp.inf, z)


def random_case(rng: np.random.Generator) -> tuple[Mechanism, float]:
    """A mechanism and a true value, with the awkward ones over-represented."""
    name = rng.choice(list(NOISES))
    bounding = rng.choice(["bit", "truncated", "unbounded"], p=[0.45, 0.45, 0.1])
    lower, upper = [(0.0, 1.0), (-3.0, 4.5), (0.1, 0.7), (-1e-3, 0.0), (1e4, 1e4 + 1)][rng.integers(5)]
    width = upper - lower
    scale = width * 10 ** rng.choice([rng.uniform(-9, 9), rng.uniform(-2, 2), -9.0, 9.0], p=[0.4, 0.5, 0.05, 0.05])
    middle = (lower + upper) / 2
    near = min(scale, width)
    s = [
        rng.uniform(lower, upper),
        lower,
        upper,
        np.nextafter(lower, upper),
        np.nextafter(upper, lower),
        lower + 1e-3 * near,
        upper - 3 * near,
        middle,
        middle + 1e-9 * width,
        np.nextafter(middle, upper),
        lower - rng.exponential() * near,
        upper + rng.exponential() * near,
        lower - 5 * width,
    ][rng.integers(13)]
    side = rng.integers(6)
    bounds = (lower, np.inf) if side == 0 else (-np.inf, upper) if side == 1 else (lower, upper)
    return Mechanism(NOISES[str(name)](float(scale)), str(bounding), bounds), float(s)
