"""Forecast the error of a release: exactly for one noisy number, by simulation if several are combined."""

import math
from collections.abc import Callable, Sequence
from dataclasses import replace
from fractions import Fraction
from typing import Any

import numpy as np

from inbounds._check import Array
from inbounds.expected import (
    Doubles,
    continuous,
    is_coarse,
    lattice_moments,
    lattice_of,
    root_error,
)
from inbounds.forecasts.choices import forecast_choices, typical_choice_error
from inbounds.forecasts.figures import Forecast as Forecast
from inbounds.forecasts.figures import one_figure
from inbounds.forecasts.guesses import law_with_square, plausible_cells, span_of_number, span_with_square
from inbounds.forecasts.wanted import Wanted
from inbounds.grid.law import moments
from inbounds.inference.laws import Laplace as LaplaceNoise
from inbounds.inference.laws import Law, law_of, noise_of
from inbounds.laws.noise import unit_legendre
from inbounds.privacy.certificate import Certificate
from inbounds.record.release import Release
from inbounds.repairs.moments import beside_diagonal, symmetric

# The number of draws at each end of the plausible range: a quarter of those at the typical value, within these limits.
_LEAST_DRAWS, _DRAWS = 20, 1000


def forecast_errors(wanted: Wanted, record: Release | None = None) -> Forecast:
    """Forecast the errors of one way to make a release."""
    record = wanted.draft().record if record is None else record
    way = record.derivation
    if way.as_points is not None:
        return forecast_choices(record, record.situation(wanted.guess, wanted.size), wanted.confidence)
    if not way.knows_error(record.certificate):
        return _several(wanted, record)
    return _one_number(wanted, record) if is_one_number(record) else _many_alike(wanted, record)


def at_plausible_truth(record: Release, wanted: Wanted) -> Release:
    """The record that a release would have if its noisy numbers were equal to the plausible true value."""
    way = record.derivation
    if way.single and not record.axes:
        low, high = span_of_number(wanted, record)
        value = (low + high) / 2
        law = record.mechanism
        noisy = value**2 if way.root else value
        return replace(record, noisy=(law.value(law.locate(Fraction(noisy))),))
    return replace(record, noisy=way.plausible(record.situation(wanted.guess, wanted.size)))


def typical_error(wanted: Wanted, record: Release | None = None) -> float:
    """The typical RMSE. This is faster than a whole forecast."""
    record = wanted.draft().record if record is None else record
    way = record.derivation
    if way.as_points is not None:
        return typical_choice_error(record, record.situation(wanted.guess, wanted.size))
    if not way.knows_error(record.certificate):
        errors, _ = way.simulate(at_plausible_truth(record, wanted).coordinates())
        return one_figure(np.sqrt(np.mean(errors**2, axis=0)).reshape([len(axis) for axis in record.axes]))
    if not way.single or way.root or record.axes:
        return forecast_errors(wanted, record).typical
    part = record.certificate
    assert isinstance(part, Certificate)
    points, weights = _spread_out(*span_of_number(wanted, record), float(part.spread))
    rmse, _ = _moments_at(part, points)
    return float(np.sqrt(weights @ rmse**2))


def is_one_number(record: Release) -> bool:
    """Whether the release is one number with a law of its own, so that `errors_over_span` is exact."""
    return record.derivation.knows_error(record.certificate) and not record.axes


def errors_over_span(wanted: Wanted, record: Release, values: Array | None = None) -> tuple[Array, Array, Array, Array]:
    """RMSE, bias and half-width of one number at several true values, and the weight of each in an average.

    The true values are those of the plausible range, unless others are given.
    """
    way = record.derivation
    if not way.single:
        return _mean_with_square(wanted, record)
    part = record.certificate
    assert isinstance(part, Certificate)
    scale = math.sqrt(float(part.spread)) if way.root else float(part.spread)
    if values is None:
        points, weights = _spread_out(*span_of_number(wanted, record), scale)
    else:
        points, weights = values, np.full(len(values), 1 / len(values))
    find_figures = _of_roots if way.root else _of_points
    return *find_figures(part, points, wanted.confidence), weights


def _mean_with_square(wanted: Wanted, record: Release) -> tuple[Array, Array, Array, Array]:
    """The same for a mean whose sum has Laplace noise, drawn with that of its squares."""
    law = law_with_square(record)
    points, weights = _spread_out(*span_with_square(wanted, record), law.noise.scale)
    moments_at = law.moments(points)
    half = _half_widths(Law(LaplaceNoise(law.noise.scale), *law.bounds), points, wanted.confidence)
    return np.sqrt(moments_at.mse), moments_at.bias, half, weights


def _one_number(wanted: Wanted, record: Release) -> Forecast:
    """The forecast of one number: averages over the plausible range."""
    rmse, bias, half, weights = errors_over_span(wanted, record)
    confidence = wanted.confidence
    return Forecast(
        rmse=float(np.sqrt(weights @ rmse**2)),
        bias=float(weights @ np.abs(bias)),
        half_width=float(weights @ half),
        worst_rmse=float(rmse.max()),
        worst_bias=float(np.abs(bias).max()),
        worst_half_width=float(half.max()),
        confidence=confidence,
        simulated=False,
        rmse_range=(float(rmse.min()), float(rmse.max())),
        half_width_range=(float(half.min()), float(half.max())),
    )


def _spread_out(low: float, high: float, scale: float) -> tuple[Array, Array]:
    """Points of a range, and their weights in an average over it. They are closer together near the ends.

    The ends and the middle are included with weight zero, since the largest values may be there.
    """
    if not high > low:
        return np.array([low]), np.ones(1)
    steps = scale * np.array([0.0, 1.0, 3.0, 8.0, 20.0])
    middle = (low + high) / 2
    ends = np.unique(np.concatenate([np.minimum(low + steps, middle), np.maximum(high - steps, middle)]))
    nodes, node_weights = unit_legendre(3)
    points = (ends[:-1, None] + np.diff(ends)[:, None] * nodes).ravel()
    weights = (np.diff(ends)[:, None] * node_weights).ravel() / (high - low)
    return np.concatenate([points, [low, middle, high]]), np.concatenate([weights, np.zeros(3)])


def _of_points(part: Certificate, points: Array, level: float) -> tuple[Array, Array, Array]:
    """RMSE, bias and half-width of one noisy number, at each of several true values."""
    rmse, bias = _moments_at(part, points)
    if not is_coarse(part):
        return rmse, bias, _half_widths(law_of(part, continuous(part).bounds), points, level)
    law = part.mechanism
    low, high = -math.inf if law.first is None else law.first, math.inf if law.last is None else law.last
    at = np.array([law.locate(Fraction(float(x))) for x in points], float)
    return rmse, bias, _half_widths(law_of(part, (low, high), counts=True), at, level) * float(law.step)


def _moments_at(part: Certificate, points: Array) -> tuple[Array, Array]:
    """RMSE and bias at several true values. On a coarse grid the steps of the grid are taken into account."""
    if not is_coarse(part):
        law_moments = continuous(part).moments(points)
        return np.sqrt(law_moments.mse), law_moments.bias
    if (noise := lattice_of(part)) is not None:
        return lattice_moments(noise, part.mechanism, [Fraction(float(x)) for x in points])
    law, step = part.grid, float(part.step)
    at = [law.locate(Fraction(float(x))) for x in points]
    if law.scale.steps >= 512 and law.first is not None and law.last is not None:
        # With wide noise on few points, closed forms in powers close to one lose digits. So sum over all points.
        y, k = np.arange(law.first, law.last + 1.0), np.array(at, float)
        exact = law_of(part, (float(law.first), float(law.last)), counts=True)
        errors, chances = y[:, None] - k, np.array([exact.likelihood(float(x), k) for x in y])
        return np.sqrt((chances * errors**2).sum(axis=0)) * step, (chances * errors).sum(axis=0) * step
    powers = Doubles(float(law.scale.steps))
    figures = np.array([moments(powers, law.bounding, law.first, law.last, k) for k in at]) * [step, step**2]
    return np.sqrt(np.maximum(figures[:, 1], 0.0)), figures[:, 0]


def _of_roots(part: Certificate, points: Array, level: float) -> tuple[Array, Array, Array]:
    """The same as `_of_points` for the root of a noisy variance."""
    wide = continuous(part)
    errors = np.array([root_error(wide, float(x) ** 2) for x in points])
    law = law_of(part, wide.bounds)

    def miss(t: Array) -> Array:
        above = np.where((points + t) ** 2 >= law.upper, 1.0, law.inside((points + t) ** 2, points**2))
        below = np.where(points - t <= 0, 0.0, law.inside(np.maximum(points - t, 0) ** 2, points**2))
        return 1 - (above - below)

    return errors[:, 0], errors[:, 1], _solve(miss, np.full(len(points), math.sqrt(law.upper)), 1 - level)


# claim:half-width
def _half_widths(law: Law, at: Array, level: float) -> Array:
    """The distance that |released - true| exceeds with probability 1 - level, at each true value."""
    alpha, step, reach = 1 - level, law.noise.step, law.noise.reach
    if law.cut is not None:

        def miss(t: Array) -> Array:
            above = np.where(at + t >= law.upper, 1.0, law.inside(at + t, at))
            below = np.where(at - t <= law.lower, 0.0, law.inside(at - t - step, at))
            return 1 - (above - below)

        widths = _solve(miss, np.full(len(at), min(law.upper - law.lower, 2 * reach)), alpha)
    else:
        # Both tails, or only one if the bound on the other side is closer than that.
        tails = np.array([alpha / 2, alpha])
        both_tails, one_tail = _solve(lambda t: (1 - law.noise.cdf(t)) / tails, np.full(2, 2 * reach), 1.0, halvings=44)
        near, far = np.minimum(at - law.lower, law.upper - at), np.maximum(at - law.lower, law.upper - at)
        widths = np.where(both_tails <= near, both_tails, np.minimum(np.maximum(near, one_tail), far))
    return np.ceil(widths - 1e-5) if step else widths


def _solve(miss: Callable[[Array], Array], most: Array, alpha: float, halvings: int = 28) -> Array:
    """Find by bisection where decreasing functions reach alpha."""
    low, high = np.zeros_like(most), most.copy()
    for _ in range(halvings):
        middle = (low + high) / 2
        enough = miss(middle) <= alpha
        low, high = np.where(enough, low, middle), np.where(enough, middle, high)
    return high


def _many_alike(wanted: Wanted, record: Release) -> Forecast:
    """The forecast for counts with independent noise."""
    part = record.certificate
    assert isinstance(part, Certificate)
    noisy = plausible_cells(wanted, record)
    law, different, unit = part.mechanism, sorted(set(noisy)), float(record.units[0])
    ends = [float(law.value(end)) for end in (law.first, law.last) if end is not None]
    middle = sum(ends) / 2 if len(ends) == 2 else 40 * float(part.spread)
    points = np.array([*map(float, different), *ends, middle])
    figures = [np.abs(x) * unit for x in _of_points(part, points, wanted.confidence)]
    place, shape = [different.index(x) for x in noisy], [len(axis) for axis in record.axes]
    rmse, bias, half = (x[place].reshape(shape) for x in figures)
    worst = [float(x[len(different) :].max()) for x in figures]
    ranges: list[tuple[Any, Any]] = [(x, x) for x in (rmse, half)]
    if wanted.plausible is None:
        # Without a guess, a cell may have any number of records.
        ranges = [(np.full(shape, x.min()), np.full(shape, x.max())) for x in (figures[0], figures[2])]
    return Forecast(rmse, bias, half, worst[0], worst[1], worst[2], wanted.confidence, False, ranges[0], ranges[1])


def _figures(errors: Array, level: float) -> list[Array]:
    """RMSE, bias and half-width of each number, from simulated errors."""
    half = np.quantile(np.abs(errors), level, axis=0)
    return [np.sqrt((errors**2).mean(axis=0)), np.abs(errors.mean(axis=0)), half]


def errors_at(wanted: Wanted, record: Release, truths: Sequence[Any], draws: int) -> list[Array]:
    """Simulated errors at each of several plausible values. Noise that does not depend on them is drawn once."""
    if not truths:
        return []
    way, situation = record.derivation, record.situation(None, wanted.size)
    vectors = [way.plausible(replace(situation, plausible=truth)) for truth in truths]
    coordinates = replace(record, noisy=vectors[0]).coordinates()
    worth = [replace(coordinates, noisy=vector).worth for vector in vectors]
    return way.errors_at(coordinates, worth, draws)


def _several(wanted: Wanted, record: Release) -> Forecast:
    """The forecast for values computed from several noisy numbers: simulated at a typical value and at plausible ones.

    The worst half-widths of matrices are those of their noise. Those of a projection follow from the worst error by
    Chebyshev's inequality. For all others the worst error is the width of the bounds, and so is the worst half-width.
    """
    others, assumed = record.derivation.assume(record.situation(wanted.guess, wanted.size))
    errors, (worst_rmse, worst_bias) = record.derivation.simulate(at_plausible_truth(record, wanted).coordinates())
    figures = _figures(errors, wanted.confidence)
    draws = max(_LEAST_DRAWS, min(_DRAWS, len(errors) // 4))
    ends = [figures, *(_figures(each, wanted.confidence) for each in errors_at(wanted, record, others, draws))]
    least = [np.min([each[k] for each in ends], axis=0) for k in (0, 2)]
    most = [np.max([each[k] for each in ends], axis=0) for k in (0, 2)]
    worst_half = worst_rmse
    if record.derivation.tail == "chebyshev":
        top = float(record.limits_of_coordinates()[0][1])
        worst_half = np.minimum(worst_rmse / math.sqrt(1 - wanted.confidence), top)
    if record.derivation.tail == "noise":
        widths, size = _noise_widths(record, wanted.confidence), len(record.axes[0])
        # The widths are for the elements on and above the diagonal, or only for those above it.
        worst_half = symmetric(widths) if len(widths) > size * (size - 1) // 2 else beside_diagonal(widths, 0.0)
    worst = [np.broadcast_to(x, figures[0].shape) for x in (worst_rmse, np.abs(worst_bias), worst_half)]
    shape = [len(axis) for axis in record.axes]
    shaped: list[Any] = [x.reshape(shape) if shape else float(x[0]) for x in (*figures, *worst, *least, *most)]
    rmse, bias, half, worst_rmse, worst_bias, worst_half, low, near, high, far = shaped
    return Forecast(
        rmse,
        bias,
        half,
        worst_rmse,
        worst_bias,
        worst_half,
        wanted.confidence,
        simulated=True,
        rmse_range=(low, high),
        half_width_range=(near, far),
        assumed=assumed,
    )


def _noise_widths(record: Release, level: float) -> Array:
    """The half-width of the noise of each coordinate."""
    laws = [Law(noise_of(part, float(unit))) for part, unit in zip(record.parts, record.units, strict=True)]
    return np.array([_half_widths(law, np.zeros(1), level)[0] for law in laws])
