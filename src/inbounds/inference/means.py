"""Intervals of means that were drawn with their second moments, of all records or of groups."""

from collections.abc import Callable
from functools import partial

import numpy as np

from inbounds._check import Array
from inbounds.inference import critical, intervals, proved, score
from inbounds.inference.critical import Groups
from inbounds.inference.laws import OF_MEAN, Laplace, noise_of
from inbounds.inference.score import Noisy
from inbounds.inference.simulated import enough_draws
from inbounds.inference.spreads import RawInterval
from inbounds.privacy.certificate import Certificate
from inbounds.record.release import Release

SCORE, WORST, PROVED = "score", "worst-case", "proved"
METHODS = (SCORE, WORST, PROVED)


def find_maker(release: Release, method: str | None = None) -> Callable[[Release, float, bool], RawInterval]:
    """Choose how to find the limits of a mean: by its noisy moments if it has them, otherwise by the worst case."""
    way = release.derivation
    plain = intervals.limit_means if way.of_sums else intervals.limit_mean
    if method == SCORE and not way.square:
        raise ValueError(
            "the score interval needs the second moment of the column, which was not drawn with this mean; "
            "release it with method='moments'"
        )
    if method == PROVED:
        return partial(_limit_by_proof, plain)
    if method == WORST or not way.square:
        return plain
    return partial(_limit_by_score, plain)


def _limit_by_proof(
    noise_only: Callable[[Release, float, bool], RawInterval], release: Release, alpha: float, population: bool
) -> RawInterval:
    """Limits of one mean that hold for every law, from its noisy sum, and sum of squares if that was drawn with it."""
    if not population:
        return noise_only(release, alpha, population)
    part, rows = release.parts[0], release.rows
    alone = part.dimension == 1 or part.blocks == OF_MEAN or part.noise == "sup-norm"
    if rows is None or release.derivation.of_sums or part.bounding == "truncated" or not alone:
        raise ValueError(
            "the proved interval is for one mean of a public number of records that is drawn by itself, with "
            "bounding='bit'; in a plan, give it joint = false"
        )
    ((low, high),) = release.numeric_ends().tolist()
    half, squares, worth = (high - low) / 2, None, float(release.units[0])
    if part.blocks == OF_MEAN:
        total, twice = (float(x * unit) for x, unit in zip(release.noisy, release.units, strict=True))
        squared, noise = float(release.units[1]) / 2, noise_of(part, worth)
        squares = (twice + rows) / 2 + 2 * squared * float(part.step), noise_of(part, squared)
    else:
        number, unit, _ = intervals.number_in_draw(release)
        total, worth = rows * (number - (low + high) / 2) / half, unit * rows / half
        noise = noise_of(part, worth)
    lower, upper = proved.limits(proved.Sums(rows, total, noise, squares, worth * float(part.step)), alpha)
    return (low + high) / 2 + half * lower, (low + high) / 2 + half * upper, proved.METHOD, ()


def _limit_by_score(
    noise_only: Callable[[Release, float, bool], RawInterval], release: Release, alpha: float, population: bool
) -> RawInterval:
    """Limits of each mean, from its noisy sum and sum of squares."""
    if not population:
        return noise_only(release, alpha, population)
    ((low, high),) = release.numeric_ends().tolist()
    lower, upper = (low + high) / 2 + (high - low) / 2 * np.array(_find_ends(release, alpha))
    return lower, upper, score.METHOD, (score.ASSUMPTION,)


def _find_ends(release: Release, alpha: float) -> tuple[Array, Array]:
    """Limits of each mean in [-1, 1]: of many groups together, of few one by one."""
    if len(release.noisy) >= 3 * critical.MANY:
        enough_draws(alpha, score.DRAWS)
        return critical.limits_of_groups(collect_groups(release, alpha))
    lower, upper = np.array([score.limits(cell, alpha) for cell in list_noisy(release)]).T
    return lower, upper


def collect_groups(release: Release, alpha: float) -> Groups:
    """The noisy sums of all groups of a mean that was drawn with its squares."""
    units = np.array([float(unit) for unit in release.units[:3]])
    count, total, squares = np.reshape(release.worth(), (-1, 3)).T
    noise = score.draw_joint(release.parts[0], (0, 1, 2)) * units
    return Groups(count, total, (squares + count) / 2, noise[:, :2], _deviation_of_squares(noise), alpha)


def list_noisy(release: Release) -> list[Noisy]:
    """The noisy sums of each group of a mean that was drawn with its squares; one entry for all records."""
    rows = release.derivation.rows
    worth = [float(x * unit) for x, unit in zip(release.noisy, release.units, strict=True)]
    units = np.array([float(unit) for unit in release.units])
    if rows is not None:
        places = release.places or (0, 1)
        part, both = release.parts[0], (places[0], places[1])
        return [of_public_number(part, rows, (worth[0], worth[1]), units[:2], both)]
    groups = collect_groups(release, 0.05)
    return [groups.one(place) for place in range(len(groups))]


def of_public_number(
    part: Certificate,
    rows: int,
    worth: tuple[float, float],
    units: Array,
    places: tuple[int, int],
) -> Noisy:
    """The noisy sums of a column, Σu and Σ(2u² - 1), for a public number of records."""
    squares = (worth[1] + rows) / 2
    if part.blocks == OF_MEAN:
        scales = float(part.spread) * units
        return Noisy(float(rows), worth[0], squares, Laplace(float(scales[0])), float(scales[1]) / 2**0.5)
    noise = score.draw_joint(part, places) * units
    total = np.stack([np.zeros(len(noise)), noise[:, 0]], axis=1)
    return Noisy(float(rows), worth[0], squares, total, float(noise[:, 1].std()) / 2)


def of_noisy_number(
    release: Release,
    worth: Array,
    units: Array,
    places: tuple[int, int, int],
) -> Noisy:
    """The same with a noisy number of records before them."""
    count, total, squares = worth.tolist()
    noise = score.draw_joint(release.parts[0], places) * units
    return Noisy(count, total, (squares + count) / 2, noise[:, :2], _deviation_of_squares(noise))


def _deviation_of_squares(noise: Array) -> float:
    """The standard deviation of the noise of Σu², from draws of the noise of the number, of Σu and of Σ(2u² - 1)."""
    return float((noise[:, 2] + noise[:, 0]).std()) / 2
