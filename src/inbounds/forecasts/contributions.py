"""Forecast how errors fall and rise with the number of rows that are kept of each person.

More rows have more noise, and leave out less. What is left out has two parts, both for the statistic of all rows. Here
n of R rows are kept, and v is the standard deviation of what one row adds to an average.

- *choice*: which rows are kept is random, and so is who has many. If rows of a person are no more alike than those of
  different persons, that is v √(1/n - 1/R), which is typical. If all rows of a person are equal, the choice changes
  nothing, but the weight of each person changes by some d: over many such tables that is v √(Σ d²). For a total it is n
  times the first figure.
- *shift*: persons who had many rows weigh less. Counts and sums are too small by what is not counted. Averages move by
  the weight that goes to other persons, times the difference of these: up to half of v, typically a quarter, unless
  ``plausible_shift`` says something else. The rows of a total that are not counted differ from the rest by as much.

Ranges are over shifts, over plausible standard deviations and sizes of groups, and over those of the noise. In a single
table, persons with many rows differ by more or less by chance, and releases of it do not average over that: so the
larger of both figures for choice is added to a shift twice, or subtracted twice.
"""

import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from inbounds._check import Array
from inbounds.derivations.base import Situation
from inbounds.derivations.truths import find_truths, is_plain, plausible_sizes, typical_truth
from inbounds.forecasts.figures import one_figure
from inbounds.forecasts.forecast import at_plausible_truth, forecast_errors
from inbounds.forecasts.rows import RowsPerPerson, read_shift
from inbounds.forecasts.wanted import Wanted
from inbounds.record.release import Release
from inbounds.record.selection import is_selection, plain_statistic

# The share of records that a selection, or a level about which nothing is known, typically has.
_SOME, _HALF = 1 / 4, 1 / 2
# How many standard deviations of what happens by chance are plausible in one table.
_REACH = 2
ASSUMED = (
    "choice is by chance, as rows are kept; shift is by persons with many rows, who differ from others by {shift}; "
    "sums and counts miss what is left out"
)


def say_assumed(wanted: Wanted) -> str:
    """What errors by rows of each person assume, in words."""
    shift = wanted.plausible_shift
    low, high = read_shift(shift)
    span = f"{low:g} to {high:g}" if low < high else f"{low:g}"
    middle = (
        f" (typically {(low + high) / 2:g}; state plausible_shift if you know more)"
        if shift is None
        else " (as stated)"
    )
    return ASSUMED.format(shift=f"{span} standard deviations{middle}")


@dataclass(frozen=True, slots=True)
class Kept:
    """The typical error where at most so many rows are kept of each person, for the statistic of all rows.

    Attributes
    ----------
    contributions
        The rows that are kept of each person, or of each person in one group.
    left_out
        The share of rows that are not kept.
    noise, choice, shift
        The parts of the typical RMSE: noise, the random choice of rows, and what is left out for good.
    rmse_range
        The smallest and the largest plausible RMSE.
    """

    contributions: int
    left_out: float
    noise: float
    choice: float
    shift: float
    rmse_range: tuple[float, float]

    @property
    def rmse(self) -> float:
        """The typical RMSE, of noise and of what is left out."""
        return math.sqrt(self.noise**2 + self.choice**2 + self.shift**2)

    def to_dict(self) -> dict[str, Any]:
        """The figures as plain values, for JSON."""
        names = ("contributions", "left_out", "noise", "choice", "shift", "rmse")
        return {name: getattr(self, name) for name in names} | {"rmse_range": list(self.rmse_range)}


# claim:forecast-kept
def forecast_contributions(
    wanted: Wanted, draft: Callable[[Wanted], Release] | None = None, limits: tuple[int, ...] = ()
) -> tuple[Kept, ...]:
    """The errors at several numbers of rows of each person; none if nothing is stated of them.

    Parameters
    ----------
    wanted
        The release; its ``plausible_rows`` say how many rows persons have.
    draft
        Makes the record of the release with other contributions; by default as it would be drawn alone.
    limits
        The numbers of rows; by default 1, 2, 5, 10 and so on.

    Returns
    -------
    tuple of Kept
        The errors by number of rows. Numbers for which the release would be refused are left out.
    """
    rows = wanted.plausible_rows
    if not isinstance(rows, RowsPerPerson) or wanted.keywords.get("fold") is not None:
        return ()
    errors = []
    for k in limits or rows.list_limits(wanted.keywords.get("contributions", 1)):
        variant = wanted.but(contributions=k)
        try:
            record = variant.draft().record if draft is None else draft(variant)
        except ValueError:
            # Some statistics need exactly one row of each person.
            continue
        most, noise = record.terms.contributions, forecast_errors(variant, record)
        losses = [(math.nan, math.nan)] * 3 if variant.persons is None else _lose(variant, record, rows, most)
        (least, most_noise), (_, low), (chance, high) = noise.typical_range, losses[0], losses[2]
        ends = math.hypot(least, max(low - _REACH * chance, 0.0)), math.hypot(most_noise, high + _REACH * chance)
        errors.append(Kept(k, rows.left_out(most), noise.typical, *losses[1], ends))
    return tuple(errors)


def find_least(kept: tuple[Kept, ...]) -> Kept:
    """The entry with the smallest error; the one with the fewest rows if there are several."""
    return min(kept, key=lambda entry: (round(entry.rmse, 12), entry.contributions))


def _lose(wanted: Wanted, record: Release, rows: RowsPerPerson, most: int) -> list[tuple[float, float]]:
    """The errors by choice and by shift, with one figure for all numbers of the release: least, typical and largest."""
    persons, (low, high) = wanted.persons or 0.0, read_shift(wanted.plausible_shift)
    n, total = persons * rows.kept(most), persons * rows.mean
    traits, situation = record.statistic.traits, record.situation(wanted.guess, wanted.size)
    if (traits.counted and traits.whole) or traits.meaning == "total":
        share, mean, spread = _describe_total(wanted, record, total)
        choice = one_figure(spread * np.sqrt(n * share * (1 - n / total)))
        # For a count the spread is that of an indicator, for each record that is counted.
        apart = high * spread / (np.sqrt(np.maximum(share, 1e-12)) if traits.counted else 1.0)
        means = [np.maximum(np.abs(mean) - apart, 0.0), np.abs(mean), np.abs(mean) + apart]
        shortfall = [one_figure(each * share * (total - n)) for each in means]
        return [(choice, shortfall[0]), (choice, shortfall[1]), (choice, shortfall[2])]
    way, unit = record.derivation, _spread_of_row(wanted, record)
    groups = situation.groups if way.as_points is None else way.as_points.groups
    apart = groups > 1 and not traits.matrix and bool(record.axes) and len(record.axes[0]) == groups
    one_part = not apart and not is_selection(record.statistic)
    sizes = [np.array([n])] * 3 if one_part else plausible_sizes(situation, groups)
    alone, alike = 1 / n - 1 / total, rows.spread_weights(most) / persons
    if most >= rows.most:
        alone = alike = 0.0
    errors = []
    for size, times, chance, differ in zip(
        sizes[::-1],
        _spreads_of_column(situation, traits.meaning, way),
        (alone, alone, max(alone, alike)),
        (low, (low + high) / 2, high),
        strict=True,
    ):
        part = np.repeat(size, max(len(unit) // len(size), 1)) / n if len(unit) % len(size) == 0 else size.mean() / n
        errors.append(
            (one_figure(times * unit * np.sqrt(chance / part)), times * one_figure(unit) * differ * rows.moved(most))
        )
    return errors


def _spreads_of_column(situation: Situation, meaning: Any, way: Any) -> tuple[float, float, float]:
    """The least, typical and largest spread of what a row adds, relative to the typical one."""
    if len(situation.columns) == 0 or (meaning is None and way.as_points is None):
        return 1.0, 1.0, 1.0
    plain = is_plain(situation.plausible)
    if meaning == "matrix" and plain:
        return 1.0, 1.0, 1.0
    situation = (
        replace(situation, plausible=None) if plain and meaning not in ("spread", "squared spread") else situation
    )
    truths = find_truths(
        situation, "squared spread" if meaning == "squared spread" else "spread", depends_on_means=False
    )
    middle = truths.typical.matrix[0, 0]
    ratios = [truth.matrix[0, 0] / middle for truth in truths.corners] if middle > 0 else [1.0]
    # To a variance or a covariance, a row adds a square.
    power = 1.0 if meaning in ("squared spread", "matrix") else 0.5
    return min([1.0, *ratios]) ** power, 1.0, max([1.0, *ratios]) ** power


def _describe_total(wanted: Wanted, record: Release, total: float) -> tuple[Any, Any, Any]:
    """The share of rows that count in a total, and the mean and spread of what each of them adds to it."""
    statistic, guess = record.statistic, wanted.guess
    plain = guess if isinstance(guess, int | float | tuple | list) and not record.axes else None
    guessed_total = None if plain is None else float(np.mean(plain))
    some = _SOME if is_selection(statistic) else 1.0
    if statistic.traits.counted:
        if record.axes:
            cells = np.ravel(np.asarray(at_plausible_truth(record, wanted).table, float))
            share = cells / max(cells.sum(), 1e-9)
        else:
            counts_all = not plain_statistic(statistic).inputs
            share = (
                min(guessed_total / total, 1.0) if guessed_total is not None else some if counts_all else some * _HALF
            )
        return share, 1.0, np.sqrt(1 - share)
    truth = typical_truth(record.situation(None if plain is not None else guess, wanted.size), "total")
    mean, spread = float(truth.means[0]), math.sqrt(truth.matrix[0, 0])
    groups = max(math.prod(len(axis) for axis in record.axes), 1)
    return some / groups, mean if guessed_total is None else guessed_total / total, spread


def _spread_of_row(wanted: Wanted, record: Release) -> Array:
    """The standard deviation of what one row adds to each number, where the number is an average or nearly one."""
    traits, way, situation = record.statistic.traits, record.derivation, record.situation(wanted.guess, wanted.size)
    values = np.ravel(np.asarray(at_plausible_truth(record, wanted).table, float))
    if traits.counted:
        p = np.clip(values, 0.0, 1.0)
        return np.asarray(np.sqrt(p * (1 - p)))
    if way.as_points is not None:
        return way.as_points.spread_of_row(situation)
    if way.unit:
        # For a correlation; for Kendall's tau two thirds of this.
        return (1 - values**2) * (2 / 3 if traits.columns == "ordered" else 1.0)
    if traits.matrix or traits.meaning is None:
        matrix = values.reshape(-1, round(len(record.axes[-1])))
        means, matrix = (matrix[:0], matrix) if traits.matrix else (matrix[:1], matrix[1:])
        variances = np.maximum(matrix.diagonal(), 0.0)
        spreads = np.sqrt(np.outer(variances, variances) + matrix**2)
        return np.concatenate([np.sqrt(variances)[: means.size], spreads.ravel()])
    sd = math.sqrt(typical_truth(situation, traits.meaning).matrix[0, 0])
    spreads = {"spread": sd / math.sqrt(2), "squared spread": sd**2 * math.sqrt(2)}
    return np.full(max(len(values), 1), spreads.get(traits.meaning, sd))
