"""Noise of certified laws in double precision, and how it changes values: with a fixed seed, the same for everyone."""

import math
from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from itertools import combinations_with_replacement
from typing import Any

import numpy as np

from inbounds._check import Array
from inbounds.grid.entropy import SeededEntropy
from inbounds.laws import Laplace, Mechanism, Noise, Staircase
from inbounds.laws.vectors import Part, vector_noise
from inbounds.privacy.certificate import Certificate
from inbounds.privacy.norms import make_norm
from inbounds.repairs.moments import triangle_size

DRAWS = 4000


def simulate(
    values: Callable[[Array, Any], Array],
    at: Array,
    parts: tuple[Certificate, ...],
    units: tuple[Fraction, ...],
    limits: Any,
    draws: int | None = None,
    noise: "Callable[[tuple[Certificate, ...], Array, np.random.Generator, int], Array] | None" = None,
    places: tuple[int, ...] = (),
) -> Array:
    """Values of noisy coordinates minus those of ``at``, a row for each draw: noise of the certified laws, fixed seed.

    ``noise`` is for laws that depend on each other; ``places`` are the places of numbers that were drawn with others.
    """
    rng = np.random.default_rng(0)
    draws = affordable_draws(len(at), 1) if draws is None else draws
    if places:
        errors = draw_noise(parts, units, rng, draws, places)
    else:
        errors = _noise(parts, at, units, rng, draws) if noise is None else noise(parts, at, rng, draws)
    return values(at + errors, limits) - values(at, limits.exact())


# Sums over a grid cancel: up to a scale of this many steps, doubles keep nine digits.
COARSE = 1 << 9


@dataclass(frozen=True, slots=True)
class Doubles:
    """Powers of q = e^(-1/steps) in double precision."""

    steps: float

    def power(self, k: int) -> float:
        return math.exp(-k / self.steps)

    def gap(self, k: int) -> float:
        return -math.expm1(-k / self.steps)


def affordable_draws(numbers: int, columns: int) -> int:
    """How often to draw so many numbers: fewer times if they would not fit in memory, or come from many columns."""
    most = max(_LEAST_DRAWS, _MOST_NUMBERS // numbers)
    draws = DRAWS if columns <= 2 else max(100, min(2 * DRAWS // columns, 6 * DRAWS // columns**2))
    return min(draws, most)


def affordable_counts(cells: int) -> int:
    """The same for whole counts, where each row has to be sorted; cells with equal counts share their draws."""
    return min(DRAWS, max(_LEAST_DRAWS, _MOST_NUMBERS // 10 // cells))


def affordable_matrices(numbers: int, columns: int, repair: str) -> int:
    """The same for matrices, which have to be repaired: 60 matrices of 100 columns by a repair in steps take 2 s."""
    if repair == "clip":
        return affordable_draws(numbers, columns)
    return min(100, max(_LEAST_DRAWS, min(_MOST_NUMBERS // numbers, _MOST_REPAIRED // columns**3)))


# How many numbers are simulated at once (160 MB), and the fewest draws of each.
_MOST_NUMBERS, _LEAST_DRAWS = 20_000_000, 20
# The time of a repair in steps grows with the cube of the number of columns.
_MOST_REPAIRED = 60_000_000
# From how many numbers, of at most how many laws, numbers are drawn together and not one after another.
_MANY, _FEW = 1000, 50


def _noise(
    parts: tuple[Certificate, ...], at: Array, units: tuple[Fraction, ...], rng: np.random.Generator, draws: int
) -> Array:
    """Draws from the certified laws, in units; the coordinates of a vector are drawn together."""
    if parts[0].noise == "zero-sum":
        spread = float(parts[0].spread)
        few = len(at) <= MANY_CELLS
        noise = seeded_zero_sum(len(at), spread, draws) if few else draw_zero_sum(len(at), spread, rng, draws)
        return np.asarray(noise * float(units[0]))
    if parts[0].dimension == 1:
        kinds = list({id(part): part for part in parts}.values())
        if len(at) > _MANY and len(kinds) <= _FEW and all(part.noise == "laplace" for part in kinds):
            values = np.empty((draws, len(at)))
            for law in kinds:
                places = [i for i, part in enumerate(parts) if part is law]
                values[:, places] = _draw_alike(law, at[places], units[0], rng, draws)
            return values - at
        columns = [
            _draw(part, x, unit, seed, rng, draws)
            for seed, (part, x, unit) in enumerate(zip(parts, at, units, strict=True))
        ]
        return np.array(columns).T - at
    return draw_noise(parts, units, rng, draws)


def draw_noise(
    parts: tuple[Certificate, ...],
    units: tuple[Fraction, ...],
    rng: np.random.Generator,
    draws: int,
    places: tuple[int, ...] = (),
) -> Array:
    """Draws of the noise of vectors, in units; with ``places`` only those numbers of one vector."""
    dimension = parts[0].dimension
    scales = np.array([float(part.spread * unit) for part, unit in zip(parts, units, strict=True)])
    shape = (draws, 1 if places else len(parts) // dimension)
    noise = vector_noise(dimension, norm_parts(parts[0]), rng, shape, places or range(dimension))
    return np.asarray(noise.reshape(draws, -1) * scales)


def norm_parts(part: Certificate) -> tuple[Part, ...]:
    """The rows that bound several coordinates of a joint draw together; empty for sup-norm noise."""
    return make_norm(part.blocks).parts if part.blocks else ()


def _draw_alike(part: Certificate, at: Array, unit: Fraction, rng: np.random.Generator, draws: int) -> Array:
    """Releases of many numbers by one law, in steps of its grid where that is coarse."""
    law, shape = part.mechanism, (draws, len(at))
    start, step, spread = (float(x * unit) for x in (law.origin, law.step, part.spread))
    lower = -math.inf if law.first is None else start + law.first * step
    upper = math.inf if law.last is None else start + law.last * step
    coarse = is_coarse(part)
    if law.bounding == "truncated":
        # Half a step beyond the ends, all of which is rounded to them.
        room = 0.499 * step if coarse else 0.0
        values = truncated_laplace(rng.random(shape), at, spread, lower - room, upper + room)
        return np.clip(lower + np.rint((values - lower) / step) * step, lower, upper) if coarse else values
    noise = _independent(float(law.scale.steps), shape, rng) * step if coarse else rng.laplace(0.0, spread, shape)
    return np.clip(at + noise, lower, upper) if law.bounding == "bit" else at + noise


def _independent(scale: float, shape: tuple[int, int], rng: np.random.Generator) -> Array:
    """Discrete Laplace noise, the difference of two geometric variables; wide noise does not show its steps."""
    if scale >= COARSE:
        return rng.laplace(0.0, scale, shape)
    q = math.exp(-1 / scale)
    return np.asarray(rng.geometric(1 - q, shape) - rng.geometric(1 - q, shape), float)


def _draw(part: Certificate, at: float, unit: Fraction, seed: int, rng: np.random.Generator, draws: int) -> Array:
    """Releases of one number: on its own grid where that is coarse, on the line otherwise."""
    if part.dimension > 1:
        # A mean and its square, each of which has its own Laplace noise.
        return np.asarray(at + rng.laplace(0.0, float(part.spread * unit), draws))
    law = part.mechanism
    if not is_coarse(part):
        return continuous(part, unit).sample(at, draws, rng=rng)
    index = law.locate(Fraction(float(at)) / unit)
    indices = law.draw_alike(index, SeededEntropy(seed), draws)
    return np.asarray((float(law.origin) + float(law.step) * indices) * float(unit))


def is_coarse(part: Certificate) -> bool:
    """Whether a grid shows: few steps to a scale, or few between the bounds. Staircases only have fine grids."""
    law = part.mechanism
    if law.stairs is not None:
        return False
    return bool(law.scale.steps < COARSE) or (law.span is not None and law.span < 8 * COARSE)


def truncated_in_turn(parts: tuple[Certificate, ...], at: Array, rng: np.random.Generator, draws: int) -> Array:
    """Noise of variances, then of covariances that are truncated to what the noisy variances allow, as in a release."""
    pairs = list(combinations_with_replacement(range(triangle_size(len(parts))), 2))
    values = np.zeros((draws, len(parts)))
    diagonal = {i: place for place, (i, j) in enumerate(pairs) if i == j}
    for place in diagonal.values():
        values[:, place] = continuous(parts[place]).sample(at[place], draws, rng=rng)
    for place, (i, j) in enumerate(pairs):
        if i != j:
            reach = np.sqrt(values[:, diagonal[i]] * values[:, diagonal[j]])
            scale = float(parts[place].spread)
            values[:, place] = truncated_laplace(rng.random(draws), at[place], scale, -reach, reach)
    return values - at


def truncated_laplace(u: Array, at: Any, scale: float, lower: Any, upper: Any) -> Array:
    """Truncated Laplace variables from uniform ones; each may have its own bounds."""
    at = np.clip(at, lower, upper)
    start, end = (_laplace_cdf((bound - at) / scale) for bound in (lower, upper))
    p = start + u * (end - start)
    with np.errstate(divide="ignore"):
        noise = np.where(p < 0.5, np.log(2 * p), -np.log(np.maximum(2 * (1 - p), 1e-300)))
    return np.asarray(np.clip(at + scale * noise, lower, upper))


def _laplace_cdf(t: Array) -> Array:
    tail = np.exp(-np.abs(t)) / 2
    return np.asarray(np.where(t < 0, tail, 1 - tail))


# Beyond this many cells zero-sum noise is simulated by independent noise.
MANY_CELLS = 50


def discrete_variance(scale: float) -> float:
    """The variance of discrete Laplace noise, 2q/(1 - q)² with q = e^(-1/scale), which is 1/(2 sinh²(1/(2 scale)))."""
    return 0.5 / math.sinh(min(0.5 / scale, 300.0)) ** 2


def draw_zero_sum(size: int, scale: float, rng: np.random.Generator, draws: int) -> Array:
    """Zero-sum noise: independent noise on the integers, given that it adds up to zero.

    Beyond fifty elements, where few draws would be kept, it is independent noise minus its sum: the same amount for
    each element, and one more for some, from a random place on.
    """
    if size > MANY_CELLS:
        noise = np.rint(_independent(scale, (draws, size), rng))
        each, rest = np.divmod(noise.sum(axis=1, keepdims=True), size)
        place = (np.arange(size) + rng.integers(size, size=(draws, 1))) % size
        return np.asarray(noise - each - (place < rest))
    batches: list[Array] = []
    while sum(map(len, batches)) < draws:
        first = _independent(scale, (4 * draws, size - 1), rng)
        rest = -first.sum(axis=1, keepdims=True)
        batches.append(np.hstack([first, rest])[rng.random(len(rest)) < np.exp(-np.abs(rest[:, 0]) / scale)])
    return np.concatenate(batches)[:draws]


@lru_cache(maxsize=4)
def seeded_zero_sum(size: int, scale: float, draws: int) -> Array:
    """Zero-sum noise with a fixed seed, the same for everyone. The last draws are kept, since they are used twice."""
    noise = draw_zero_sum(size, scale, np.random.default_rng(0), draws)
    noise.flags.writeable = False
    return noise


def continuous(part: Certificate, unit: Fraction = Fraction(1)) -> Mechanism:
    """A certified law on the real line, for a grid that is so fine that its step does not show."""
    law = part.mechanism
    low, high = (
        infinite if end is None or law.bounding == "unbounded" else float(law.value(end) * unit)
        for end, infinite in ((law.first, -math.inf), (law.last, math.inf))
    )
    scale = float(part.spread * unit)
    noise: Noise = Laplace(scale) if law.stairs is None else staircase_of(part, scale)
    return Mechanism(noise, law.bounding, bounds=(low, high))


def staircase_of(part: Certificate, scale: float) -> Staircase:
    """Certified staircase noise on the real line, at a scale. Its core is as long as the 2r - 1 integers of the law."""
    stairs = part.grid.stairs
    assert stairs is not None
    return Staircase(scale, float(1 / part.grid.scale.steps), float(Fraction(2 * stairs.core - 1, 2 * stairs.width)))
