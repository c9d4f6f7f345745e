"""What benchmarks of intervals and tests share: laws of records, noisy sums in arrays, and score intervals of them.

Intervals and tests of thousands of records are found at once, by the same formulas as those of the library, which
`check_limits` compares with it.
"""

import csv
import re
from dataclasses import replace
from fractions import Fraction
from functools import cache
from pathlib import Path

import numpy as np
import scipy
from scipy import stats

from inbounds.expected import norm_parts
from inbounds.inference import score
from inbounds.laws.vectors import vector_noise
from inbounds.privacy.norms import make_norm

PAGE = Path(__file__).parents[1] / "docs" / "intervals.md"
ALPHA = 0.05
_EVEN = (np.arange(200) + 0.5) / 200
NORMAL = stats.norm.ppf(_EVEN)
# Points in [-1, 1], half-widths from the middle of the bounds, and their probabilities.
LAWS = {
    "two points, .1%": ([-1, 1], [0.999, 0.001]),
    "two points, 1%": ([-1, 1], [0.99, 0.01]),
    "two points, 10%": ([-1, 1], [0.9, 0.1]),
    "two points, 50%": ([-1, 1], [0.5, 0.5]),
    "middle and end, 2%": ([0, 1], [0.98, 0.02]),
    "normal, sd .05": (NORMAL * 0.05, None),
    "normal, sd .2": (NORMAL * 0.2, None),
    "even": (2 * _EVEN - 1, None),
    "U-shaped": (-np.cos(np.pi * _EVEN), None),
    "lognormal": (np.minimum(-1 + np.exp(NORMAL) / 10, 1), None),
    "exponential": (np.minimum(-1 + stats.expon.ppf(_EVEN) / 5, 1), None),
    "mixture": (np.concatenate([np.linspace(-0.1, 0.1, 20), [1.0]]), [*[0.995 / 20] * 20, 0.005]),
}


def find_laws(folder):
    """All laws as arrays of points and probabilities; records of real tables in 400 cells of the bounds."""
    made = {}
    for name, (points, chances) in LAWS.items():
        points = np.asarray(points, float)
        made[name] = points, np.full(len(points), 1 / len(points)) if chances is None else np.asarray(chances)
    for name, file, (low, high) in (
        ("real delays", "flights.csv", (-60, 600)),
        ("real costs", "costs.csv", (0, 5000)),
    ):
        if folder is not None and (folder / file).exists():
            with (folder / file).open() as lines:
                values = np.array([float(row[0]) for row in csv.reader(lines) if _is_number(row[0])])
            u = np.clip(2 * (values - low) / (high - low) - 1, -1, 1)
            cells = np.bincount(np.rint((u + 1) * 200).astype(int), minlength=401)
            seen = np.flatnonzero(cells)
            made[name] = seen / 200 - 1, cells[seen] / cells.sum()
    return made


def _is_number(text):
    return re.fullmatch(r"-?[0-9.]+", text) is not None


def power_sums(points, chances, rows, runs, rng, powers):
    """Sums of powers of the values of samples, one row for each sample."""
    table = np.stack([points**power for power in powers], axis=1)
    blocks = [min(2000, runs - start) for start in range(0, runs, 2000)]
    return np.concatenate([rng.multinomial(rows, chances, size=block) @ table for block in blocks])


def laplace_tail(x, deviation, scale):
    """P(normal + Laplace ≥ x) of arrays, as `score.normal_laplace_tail` of numbers."""
    ratio, place = deviation / scale, x / deviation
    log_ndtr = scipy.special.log_ndtr
    above = np.exp(np.minimum(ratio**2 / 2 - x / scale + log_ndtr(place - ratio), 0))
    below = np.exp(np.minimum(ratio**2 / 2 + x / scale + log_ndtr(-place - ratio), 0))
    return scipy.special.ndtr(-place) + (above - below) / 2


def _score(mean, count, total, squares, off):
    """How far scores are from 0, and the standard deviations of their sampling errors, as `score` has them."""
    gap = total - mean * count
    spread = np.maximum(squares - 2 * mean * total + mean**2 * count, 0) + off / 3
    spread = spread + score.rare(ALPHA) * np.where(gap > 0, 1 + mean, 1 - mean) ** 2
    return np.abs(gap), np.sqrt(spread)


def score_p_values(mean, rows, total, squares, scale, off):
    """`score.p_value` of arrays, for Laplace noise of the sum."""
    return 2 * laplace_tail(*_score(mean, rows, total, squares, off), scale)


def score_limits(rows, total, squares, scale, off):
    """`score.limits` of arrays, for Laplace noise of the sum."""

    def keeps(mean):
        return score_p_values(mean, rows, total, squares, scale, off) >= ALPHA

    return find_limits(keeps, np.clip(total / rows, -1, 1))


def group_limits(count, total, squares, scale):
    """`score.limits` of arrays of groups, whose numbers of records have noise too."""
    off = scale * (known_noise()[:, 2] + known_noise()[:, 0]).std() / 2

    def keeps(mean):
        gap, deviation = _score(mean, count, total, squares, off)
        return gap <= scale * critical_values(mean, deviation / scale)

    lower, upper = find_limits(keeps, np.where(count > 0, np.clip(total / np.where(count > 0, count, 1), -1, 1), 0))
    return np.where(count > 0, lower, -1), np.where(count > 0, upper, 1)


def find_limits(keeps, centre):
    """The outermost means that are kept, and nothing but the centre where that is not."""
    return [np.where(keeps(centre), _outermost(keeps, end, centre), centre) for end in (-1.0, 1.0)]


def _outermost(keeps, end, centre):
    grid = end + (centre - end) * np.linspace(0, 1, 24)[:, None]
    kept = np.array([keeps(mean) for mean in grid])
    kept[-1] = True
    first, runs = kept.argmax(axis=0), np.arange(len(centre))
    inside, outside = grid[first, runs], grid[np.maximum(first - 1, 0), runs]
    for _ in range(26):
        middle = (inside + outside) / 2
        here = keeps(middle)
        inside, outside = np.where(here, middle, inside), np.where(here, outside, middle)
    return np.where(first == 0, end, outside)


@cache
def known_noise():
    """Draws of noise of scale 1 of a number, a sum and a sum of 2u² - 1, with radii that are quantiles of their law."""
    rng, draws = np.random.default_rng(0), 4096
    radii = scipy.special.gammaincinv(4, (rng.permutation(draws) + 0.5) / draws)
    return vector_noise(3, make_norm(("counted moments 1",)).parts, rng, (draws,), range(3), radii)


@cache
def _critical_table():
    """The size that noise of scale 1 and a normal error exceed with probability ALPHA, by mean and deviation."""
    means, deviations = np.linspace(-1, 1, 21), np.geomspace(0.01, 3000, 64)
    made = []
    for mean in means:
        noise = (known_noise()[:, 1] - mean * known_noise()[:, 0])[:, None]
        low, high = np.zeros(64), np.abs(noise).max() + 10 * deviations
        for _ in range(26):
            middle, ndtr = (low + high) / 2, scipy.special.ndtr
            tail = np.mean(ndtr((noise - middle) / deviations) + ndtr((-noise - middle) / deviations), axis=0)
            low, high = np.where(tail > ALPHA, middle, low), np.where(tail > ALPHA, high, middle)
        made.append(np.log(high))
    return scipy.interpolate.RegularGridInterpolator((means, np.log(deviations)), np.array(made))


def critical_values(mean, deviation):
    points = np.stack(np.broadcast_arrays(mean, np.log(deviation)), axis=-1)
    return np.exp(_critical_table()(points))


def noisy_group(points, chances, rows, epsilon, runs, rng):
    """Noisy numbers, sums and sums of squares of a group, and the scale of their noise.

    A substituted record leaves a group and enters another: half of ε for each.
    """
    scale = 2 / epsilon
    noise = vector_noise(3, make_norm(("counted moments 1",)).parts, rng, (runs,), range(3)) * scale
    sums = power_sums(points, chances, rows, runs, rng, (1, 2))
    count = rows + noise[:, 0]
    return count, sums[:, 0] + noise[:, 1], sums[:, 1] + (noise[:, 2] + noise[:, 0]) / 2, scale


def noisy_mean(points, chances, rows, epsilon, runs, rng):
    """Noisy sums and sums of squares of a public number of records, the scale of the sum's noise, and the other's."""
    sums, scale = power_sums(points, chances, rows, runs, rng, (1, 2)), 2 / epsilon
    total, squares = sums[:, 0] + rng.laplace(0, scale, runs), sums[:, 1] + rng.laplace(0, 2 * scale, runs)
    return rows, total, squares, scale, 2 * scale * 2**0.5


def with_numbers(made, numbers):
    return replace(made, noisy=tuple(map(Fraction, numbers)))


def noisy_moments(made, points, chances, rows, runs, rng, *, counted):
    """Simulated numbers of a record of one mean or group, and the means and squared errors without noise."""
    sums = power_sums(points, chances, rows, runs, rng, (1, 2))
    part, size = made.parts[0], 3 if counted else 2
    worth = np.column_stack([*([np.full(runs, float(rows))] if counted else []), sums[:, 0], 2 * sums[:, 1] - rows])
    units = np.array([float(unit) for unit in made.units[:size]])
    noise = vector_noise(part.dimension, norm_parts(part), rng, (runs,), range(size)) * float(part.spread)
    mean = sums[:, 0] / rows
    return worth / units + noise, mean, (sums[:, 1] / rows - mean**2) / (rows - 1)


def show(rate):
    return "1.00" if rate >= 0.9995 else f"{rate:.3f}"[1:]


def write(part, lines, said):
    """Put a table between its marks in the page."""
    text = PAGE.read_text("utf-8")
    mark = re.compile(rf"(<!-- {part}: made by bench/[a-z]+.py -->\n).*?(<!-- end -->)", re.DOTALL)
    body = "\n".join(["", *lines, "", f"({said}.)", ""])
    PAGE.write_text(mark.sub(lambda found: found[1] + body + found[2], text), "utf-8")
